/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <spice/qxl_dev.h>
#include <stdbool.h>
#include <stdint.h>

#include "recording-surfaces.h"

/*
 * Reads what spice-server writes when SPICE_WORKER_RECORD_FILENAME is set, an
 * event at a time, and makes the commands that the guest's driver made. One
 * pass, and no more memory than one event takes.
 *
 * Checked is what would make a server read or write beyond what is made here
 * (sizes, counts), wait forever (surfaces) or read something else than was
 * written (the text). What a guest may put into a command is the server's to
 * check: it trusts no guest.
 *
 *     Recording *recording = recording_open(path);
 *     RecordingEvent event;
 *     while (recording_next(recording, &event)) {
 *         ...
 *         recorded_command_free(event.command);
 *     }
 *     if (recording_error(recording, &offset)) ...
 */
typedef struct Recording Recording;

#define RECORDING_HEADER "SPICE_REPLAY 1\n"

/* A command and all that it points to; for a primary surface, its pixels. */
typedef struct RecordedCommand {
    QXLCommandExt ext;
    QXLSurfaceCreate primary;           /* the one created, if the event creates one */
    struct RecordedBlock *blocks;       /* what is freed with it */
    size_t size;                        /* about what it takes in memory */
} RecordedCommand;

typedef enum {
    RECORDED_NOTHING,
    RECORDED_COMMAND,
    RECORDED_CREATE_PRIMARY,
    RECORDED_DESTROY_PRIMARY,
    RECORDED_DESTROY_SURFACES,          /* all, the primary too */
} RecordedKind;

typedef struct RecordingEvent {
    uint64_t number;            /* 0 for the first */
    RecordedKind kind;          /* NOTHING for a message that changes nothing */
    uint64_t timestamp;         /* nanoseconds of the recording machine's monotonic clock */
    uint64_t start, end;        /* bytes [start, end) of the recording */
    RecordedKind before;        /* NOTHING, or the destruction that has to come before it */
    RecordedCommand *command;   /* the caller's; NULL unless kind is COMMAND or CREATE_PRIMARY */
} RecordingEvent;

/* "-" is standard input. NULL with errno set when the file cannot be opened. */
Recording *recording_open(const char *path);

/* Reads a file from its beginning again. */
void recording_rewind(Recording *recording);

/* NULL is none. */
void recording_free(Recording *recording);

/* False at the end and at a fault, which recording_error tells apart. */
bool recording_next(Recording *recording, RecordingEvent *event);

/* NULL if there is none so far. */
const char *recording_error(const Recording *recording, uint64_t *offset);

/* NULL is none. */
void recorded_command_free(RecordedCommand *command);
