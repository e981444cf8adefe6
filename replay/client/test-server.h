/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of drain-test-server: options, displays, other devices. */

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

    int sound_packets;
    gboolean record;
    int port_bytes;
} TestOptions;

/* display: draws and probes, from when the display channel is up. */
void test_displays_add(SpiceServer *server, const TestOptions *options);
void test_display_start(int id);

/* cursor: moves, from when the cursor channel is up. A move that nobody sees yet would be lost. */
void test_cursor_start(int id);
gboolean test_cursor_is_busy(int id); /* not all moves are taken; without --moves-every */

/* end: shows the END marker, options->end_after_ms from now, then as soon as no device is busy. */
void test_end_start(void);

/* devices: sound, port and mouse; start when the channel of that type is up. */
void test_devices_add(SpiceServer *server, const TestOptions *options);
void test_device_start(int type);
gboolean test_devices_are_busy(void); /* not all sound or port data has gone out */
void test_devices_print(void); /* what the client has sent, as one line of JSON */

#endif /* TEST_SERVER_H_ */
