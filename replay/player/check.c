/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check.h"

#include <errno.h>
#include <stdio.h>

#include "../common/clock.h"
#include "../common/json.h"
#include "replay-stream.h"

enum {
    EXIT_GOOD = 0,
    EXIT_UNREAD = 1,
    EXIT_DAMAGED = 2,
};

static void put_totals(GVariantBuilder *found, const ReplayTotals *totals)
{
    json_put(found, "events", g_variant_new_uint64(totals->events));
    json_put(found, "commands", g_variant_new_uint64(totals->commands));
    json_put(found, "bytes", g_variant_new_uint64(totals->bytes));
    json_put(found, "seconds", g_variant_new_double(totals->length_ns / (double) NSEC_PER_SEC));
}

static int check(const char *file)
{
    ReplayStream *stream = replay_stream_open(file);
    char *error = stream ? NULL : g_strdup(g_strerror(errno));
    int status = stream ? EXIT_GOOD : EXIT_UNREAD;
    GVariantBuilder found;

    g_variant_builder_init(&found, G_VARIANT_TYPE_VARDICT);
    json_put(&found, "file", json_text(file));
    if (stream && replay_stream_check(stream, 0)) {
        put_totals(&found, replay_stream_totals(stream));
    } else if (stream) {
        status = EXIT_DAMAGED;
        error = replay_stream_error(stream);
    }
    json_put(&found, "valid", g_variant_new_boolean(!error));
    if (error) {
        json_put(&found, "error", json_text(error));
        fprintf(stderr, "spice-player: %s: %s\n", file, error);
    }
    json_print(g_variant_builder_end(&found));
    replay_stream_free(stream);
    g_free(error);
    return status;
}

int check_recordings(char **files)
{
    int status = EXIT_GOOD;

    for (char **file = files; *file; file++) {
        int one = check(*file);

        status = MAX(status, one);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "spice-player: standard output: %s\n", g_strerror(errno));
        return EXIT_UNREAD;
    }
    return status;
}
