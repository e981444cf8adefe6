/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command line. */

#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Options {
    /* Where to connect: unix_path, or host with a port. */
    char *host;
    char *unix_path;
    int port;     /* 0: none */
    int tls_port; /* 0: none */
    char *ca_file;

    char *png;           /* file for the final picture, or NULL */
    char *screen;        /* log of the screen of display 0 (screen/tiles.h), or NULL */
    gboolean screen_at_probes; /* log it at each probe, not when it changes */
    double slow;         /* decode at 1/slow of this machine's speed; 1: full speed */
    double idle_seconds; /* give up after so long without data from the server */
    char *expect;        /* pictures to wait for at pauses (expect.h), or NULL */
    int settle_ms;       /* pictures at markers wait until nothing changes for so long */
    int settle_end_ms;   /* the same at the last one */
    gboolean no_end;     /* run until disconnected, and ignore the end marker */
    gboolean channels;   /* use every channel: mouse, keys, clipboard, ports, each move of the pointer */
    gboolean control;    /* obey orders on standard input: control.h */
    gboolean verbose;    /* the library's own messages on stderr */
} Options;

/* False and an error for invalid options. The strings belong to options: free them with options_clear(), also
 * after an error. */
bool options_parse(Options *options, int *argc, char ***argv, GError **error);
void options_clear(Options *options);
