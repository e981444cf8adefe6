/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* spice-drain: a headless client. Opens every channel a server offers, takes in all that comes,
 * and says in JSON lines on stdout what it was. */

#include "diag.h"
#include "report.h"
#include "session.h"

typedef enum ExitStatus {
    EXIT_ENDED = 0,   /* the END marker came, or with --no-end the server closed */
    EXIT_NOTHING = 1, /* bad usage, no session, or the picture could not be saved */
    EXIT_GONE = 3,    /* the server closed before the END marker, or a signal came */
    EXIT_IDLE = 4,
} ExitStatus;

typedef struct Outcome {
    ExitStatus status;
    bool saved; /* whether every picture was saved */
} Outcome;

static ExitStatus judge(const Session *session)
{
    const Options *options = session->options;

    switch (session->end) {
    case SESSION_END_MARKER:
        return EXIT_ENDED;
    case SESSION_END_DISCONNECTED:
        if (options->no_end) {
            return EXIT_ENDED;
        }
        diag_error("the server closed the connection before the END marker");
        return EXIT_GONE;
    case SESSION_END_KILLED:
        diag_error("ended by a signal");
        return EXIT_GONE;
    case SESSION_END_IDLE:
        diag_error("nothing from the server for %g seconds", options->idle_seconds);
        return EXIT_IDLE;
    default:
        diag_error("%s", session->refusal);
        return EXIT_NOTHING;
    }
}

static bool save_png(const Session *session, const char *path)
{
    const Picture *picture = session_picture(session, 0);
    GError *error = NULL;

    if (picture == NULL) {
        diag_error("no picture for %s", path);
        return false;
    }
    if (!picture_save_png(picture, path, &error)) {
        diag_error("cannot save %s: %s", path, error->message);
        g_error_free(error);
        return false;
    }
    return true;
}

static void on_connected(const Session *session G_GNUC_UNUSED, void *opaque G_GNUC_UNUSED)
{
    report_connected();
}

static void on_reopened(const Session *session G_GNUC_UNUSED, void *opaque G_GNUC_UNUSED)
{
    report_reopened();
}

static void on_paused(const Session *session, int number, void *opaque G_GNUC_UNUSED)
{
    report_pause(session, number);
}

static void on_ended(const Session *session, void *opaque)
{
    Outcome *outcome = opaque;

    outcome->status = judge(session);
    if (session->end == SESSION_END_REFUSED) {
        return;
    }
    report_done(session);
    if (session->options->png != NULL) {
        outcome->saved &= save_png(session, session->options->png);
    }
}

static const SessionEvents session_events = {
    .connected = on_connected,
    .reopened = on_reopened,
    .paused = on_paused,
    .ended = on_ended,
};

int main(int argc, char **argv)
{
    Options options;
    Outcome outcome = { .status = EXIT_NOTHING, .saved = true };
    Expect *expect = NULL;
    GError *error = NULL;

    if (!options_parse(&options, &argc, &argv, &error)) {
        diag_error("%s", error->message);
        g_error_free(error);
        options_clear(&options);
        return EXIT_NOTHING;
    }
    if (options.expect != NULL) {
        expect = expect_new(options.expect, &error);
        if (expect == NULL) {
            diag_error("%s", error->message);
            g_error_free(error);
            options_clear(&options);
            return EXIT_NOTHING;
        }
    }
    diag_init(options.verbose);
    session_run(&options, expect, &session_events, &outcome);
    expect_free(expect);
    options_clear(&options);
    return outcome.status == EXIT_ENDED && !outcome.saved ? EXIT_NOTHING : outcome.status;
}
