/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of drain-test-server: options and displays. */

#ifndef TEST_SERVER_H_
#define TEST_SERVER_H_

#include <glib.h>
#include <spice.h>
#include <stdint.h>

typedef struct TestOptions {
    int port;
    int tls_port;
    char *cert;
    char *key;
    char *ca;
    char *unix_path;
    char *password;

    int displays;
    int fills;    /* on each display */
    gboolean probes;
    int pause_at; /* number of the fill with a pause marker after it, -1: none */
    gboolean no_end;
    int end_after_ms;
    int unseen; /* after END, one at a time, fills of a surface that is not shown */
    int moves; /* of the cursor, on each display */
    int moves_every_ms; /* 0: all at once */
} TestOptions;

/* display: draws and probes, from when the display channel is up. */
void test_displays_add(SpiceServer *server, const TestOptions *options);
void test_display_start(int id);

/* cursor: moves, from when the cursor channel is up. A move that nobody sees yet would be lost. */
void test_cursor_start(int id);

/* end: shows the END marker, options->end_after_ms from now, then as soon as all moves are taken
 * (without --moves-every). */
void test_end_start(void);

#endif /* TEST_SERVER_H_ */
