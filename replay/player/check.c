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
    static const ReplayTotals nothing;
    ReplayStream *stream = replay_stream_open(file);
    char *error = stream ? NULL : g_strdup(g_strerror(errno));
    int status = stream ? EXIT_GOOD : EXIT_UNREAD;
    const ReplayTotals *totals;

    if (stream && !replay_stream_check(stream, 0)) {
        status = EXIT_DAMAGED;
        error = replay_stream_error(stream);
    }
    totals = stream ? replay_stream_totals(stream) : &nothing; /* of a damaged one: of what comes before the damage */
    json_print(g_variant_new_parsed(
        "{'file': <%@ms>, 'valid': <%@b>, 'error': <%@ms>, 'events': <%t>, 'commands': <%t>, 'bytes': <%t>, 'seconds': <%d>}",
        json_text(file), g_variant_new_boolean(!error), json_text(error), totals->events, totals->commands, totals->bytes,
        totals->length_ns / (double) NSEC_PER_SEC));
    if (error) {
        fprintf(stderr, "spice-player: %s: %s\n", file, error);
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
