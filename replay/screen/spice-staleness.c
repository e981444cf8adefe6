/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares two logs of tiles: what was to be seen, and what was. See usage_text. */
#include <err.h>
#include <inttypes.h>
#include <stdlib.h>

#include "staleness.h"

static const char usage_text[] =
    "usage: spice-staleness DUE START PACE SEEN END\n"
    "DUE and SEEN are logs of spice-drain --screen. DUE's times count from START (ns) on, and pass PACE times as\n"
    "fast; END is the last ns that is known. Prints a list of [begin, end, since]: from begin to end something\n"
    "was not on the screen that was due at since, and nothing older. The last has null, and is all of the time.\n";

static TileRecord *read_log(const char *path, size_t *count)
{
    FILE *file = fopen(path, "rbe");
    TileRecord *records = NULL;
    size_t room = 0, got;

    *count = 0;
    if (!file) {
        err(EXIT_FAILURE, "%s", path);
    }
    do {
        room += 65536;
        records = realloc(records, room * sizeof(*records));
        if (!records) {
            err(EXIT_FAILURE, "%s", path);
        }
        got = fread(records + *count, sizeof(*records), room - *count, file);
        *count += got;
    } while (*count == room);
    if (ferror(file)) {
        err(EXIT_FAILURE, "%s", path);
    }
    fclose(file);
    return records;
}

int main(int argc, char **argv)
{
    size_t n_due, n_seen;

    if (argc != 6 || strtod(argv[3], NULL) <= 0) {
        fputs(usage_text, stderr);
        return EXIT_FAILURE;
    }
    TileRecord *due = read_log(argv[1], &n_due), *seen = read_log(argv[4], &n_seen);
    for (size_t i = 0; i < n_due; i++) {
        due[i].when = strtoll(argv[2], NULL, 10) + (int64_t) ((double) due[i].when / strtod(argv[3], NULL));
    }
    Staleness *found = staleness_new(due, n_due, seen, n_seen, strtoll(argv[5], NULL, 10));
    int64_t end = found->begin;

    putchar('[');
    for (size_t i = 0, from = 0; i <= found->steps; i++) {
        end = found->begin + (int64_t) i * STALENESS_STEP;
        if (i < found->steps && found->since[i] == found->since[from]) {
            continue;
        }
        if (i > from && found->since[from] != INT64_MAX) {
            printf("[%" PRId64 ",%" PRId64 ",%" PRId64 "],",
                   found->begin + (int64_t) from * STALENESS_STEP, end, found->since[from]);
        }
        from = i;
    }
    printf("[%" PRId64 ",%" PRId64 ",null]]\n", found->begin, end);
    staleness_free(found);
    free(due);
    free(seen);
    return EXIT_SUCCESS;
}
