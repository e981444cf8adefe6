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

static int check(const char *file)
{
    ReplayStream *stream = replay_stream_open(file);
    char *error = stream ? NULL : g_strdup(g_strerror(errno));
    int status = stream ? EXIT_GOOD : EXIT_UNREAD;

    if (stream && !replay_stream_check(stream, 0)) {
        status = EXIT_DAMAGED;
        error = replay_stream_error(stream);
    }
    if (error) {
        json_print(g_variant_new_parsed("{'file': <%@ms>, 'valid': <false>, 'error': <%@ms>}", json_text(file),
                                        json_text(error)));
        fprintf(stderr, "spice-player: %s: %s\n", file, error);
    } else {
        const ReplayTotals *totals = replay_stream_totals(stream);

        json_print(g_variant_new_parsed(
            "{'file': <%@ms>, 'valid': <true>, 'events': <%t>, 'commands': <%t>, 'bytes': <%t>, 'seconds': <%d>}",
            json_text(file), totals->events, totals->commands, totals->bytes,
            totals->length_ns / (double) NSEC_PER_SEC));
    }
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
