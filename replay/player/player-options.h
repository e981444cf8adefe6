/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct PlayerOptions {
    char **files;               /* one, unless they are only to be checked */
    int check;                  /* a gboolean */
    char *address;
    int port, tls_port;         /* 0 when not asked for */
    char *tls_cert, *tls_key, *tls_ca;
    char *unix_path;
    double pace;                /* as in feeder.h */
    unsigned int think_max_ms;  /* as in feeder.h; 0 unless the pace is the user's */
    int compression;            /* SPICE_IMAGE_COMPRESSION_* */
    int jpeg;                   /* SPICE_WAN_COMPRESSION_* */
    int streaming;              /* SPICE_STREAM_VIDEO_* */
    unsigned int probe_ms;
    int keep_probes;            /* as in feeder.h; a gboolean */
    uint64_t *pauses;           /* rising, no two alike */
    unsigned int n_pauses;
    int show_surfaces;          /* as in feeder.h; a gboolean */
    int ahead;                  /* write_ahead(); a gboolean */
    char *channels;             /* as in devices.h, or NULL for the display alone */
    unsigned int timeout;       /* seconds */
    size_t read_ahead;          /* bytes */
} PlayerOptions;

/* False with *error set, one line. Prints the help and exits when asked to. */
bool player_options_parse(PlayerOptions *options, int argc, char **argv, char **error);

void player_options_clear(PlayerOptions *options);
