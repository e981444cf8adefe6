/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* spice-drain: a headless client. Opens every channel a server offers, takes in all that comes,
 * and says in JSON lines on stdout what it was. */

#include "brake.h"
#include "control.h"
#include "diag.h"
#include "session.h"

typedef enum ExitStatus {
    EXIT_ENDED = 0,   /* the END marker came, or with --no-end the server closed */
    EXIT_NOTHING = 1, /* bad usage, no session, or the picture could not be saved */
    EXIT_GONE = 3,    /* the server closed before the END marker, or a signal came */
    EXIT_IDLE = 4,
} ExitStatus;

static ExitStatus judge(const Session *session)
{
    const Options *options = session->options;

    switch (session->end) {
    case SESSION_END_DISCONNECTED:
        if (options->no_end) {
            break;
        }
        diag_error("the server closed the connection before the END marker");
        return EXIT_GONE;
    case SESSION_END_KILLED:
        diag_error("ended by a signal");
        return EXIT_GONE;
    case SESSION_END_IDLE:
        diag_error("nothing from the server for %g seconds", options->idle_seconds);
        return EXIT_IDLE;
    case SESSION_END_REFUSED:
        diag_error("%s", session->refusal);
        return EXIT_NOTHING;
    default:
        break;
    }
    return session->unsaved ? EXIT_NOTHING : EXIT_ENDED;
}

static ExitStatus run(const Options *options, Expect *expect)
{
    Session *session = session_new(options, expect);
    GSource *brake = brake_new(options->slow);
    Control *control = options->control ? control_new(session) : NULL;
    ExitStatus status;

    session_run(session);
    status = judge(session);
    control_free(control);
    brake_free(brake);
    session_free(session);
    return status;
}

int main(int argc, char **argv)
{
    Options options;
    Expect *expect = NULL;
    GError *error = NULL;
    ExitStatus status = EXIT_NOTHING;

    if (options_parse(&options, &argc, &argv, &error) &&
        (options.expect == NULL || (expect = expect_new(options.expect, &error)) != NULL)) {
        diag_init(options.verbose);
        status = run(&options, expect);
    } else {
        diag_error("%s", error->message);
        g_error_free(error);
    }
    expect_free(expect);
    options_clear(&options);
    return status;
}
