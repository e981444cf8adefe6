/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recording.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "recording-commands.h"

/* The server's RedWorkerMessage, as far as a player has to know it. */
enum {
    MESSAGE_DESTROY_SURFACES = 19,
    MESSAGE_CREATE_PRIMARY = 20,
    MESSAGE_DESTROY_PRIMARY = 21,
    MESSAGE_DESTROY_SURFACES_ASYNC = 28,
    MESSAGE_CREATE_PRIMARY_ASYNC = 29,
    MESSAGE_DESTROY_PRIMARY_ASYNC = 30,
};

struct Recording {
    RecordingScan *scan;
    RecordingSurfaces surfaces;
    RecordedKind dying;         /* the destruction that waits for the next message */
    bool started;               /* the first line is read */
    uint64_t events;
};

Recording *recording_open(const char *path)
{
    int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
    Recording *recording;

    if (fd < 0) {
        return NULL;
    }
    recording = g_new0(Recording, 1);
    recording->scan = scan_new(fd);
    surfaces_init(&recording->surfaces);
    return recording;
}

void recording_rewind(Recording *recording)
{
    scan_rewind(recording->scan);
    surfaces_init(&recording->surfaces);
    recording->dying = RECORDED_NOTHING;
    recording->started = false;
    recording->events = 0;
}

void recording_free(Recording *recording)
{
    if (recording) {
        scan_free(recording->scan);
        g_free(recording);
    }
}

const char *recording_error(const Recording *recording, uint64_t *offset)
{
    return scan_error(recording->scan, offset);
}

/* What was dying is gone. Returns what has to be destroyed for that. */
static RecordedKind bury(Recording *recording)
{
    RecordedKind dying = recording->dying;

    if (dying != RECORDED_NOTHING) {
        surfaces_bury(&recording->surfaces);
        recording->dying = RECORDED_NOTHING;
    }
    return dying;
}

static void message(Recording *recording, uint32_t type, RecordingEvent *event)
{
    event->before = bury(recording);
    switch (type) {
    case MESSAGE_CREATE_PRIMARY:
    case MESSAGE_CREATE_PRIMARY_ASYNC:
        event->kind = RECORDED_CREATE_PRIMARY;
        event->command = recording_read_primary(recording->scan, &recording->surfaces);
        break;
    case MESSAGE_DESTROY_PRIMARY:
    case MESSAGE_DESTROY_PRIMARY_ASYNC:
        recording->dying = RECORDED_DESTROY_PRIMARY;
        surfaces_condemn(&recording->surfaces, false);
        break;
    case MESSAGE_DESTROY_SURFACES:
    case MESSAGE_DESTROY_SURFACES_ASYNC:
        recording->dying = RECORDED_DESTROY_SURFACES;
        surfaces_condemn(&recording->surfaces, true);
        break;
    }
}

static bool first_line(Recording *recording)
{
    RecordingScan *scan = recording->scan;
    uint32_t version = 0;

    recording->started = true;
    if (scan_at_end(scan)) {
        return scan_fail(scan, "the file is empty");
    }
    if (scan_peek(scan) != 'S') {
        return scan_fail(scan, "expected \"SPICE_REPLAY 1\"; a packed recording is unpacked first (xz -d, gzip -d)");
    }
    if (scan_lines(scan, "SPICE_REPLAY %u", &version) && version != 1) {
        scan_fail(scan, "only version 1 of the format is known");
    }
    return scan_lines(scan, "\n");
}

bool recording_next(Recording *recording, RecordingEvent *event)
{
    RecordingScan *scan = recording->scan;
    uint8_t is_message = 0;
    uint32_t type = 0;

    memset(event, 0, sizeof(*event));
    if ((!recording->started && !first_line(recording)) || scan_at_end(scan)) {
        return false;
    }
    event->number = recording->events++;
    event->start = scan_offset(scan);
    scan_lines(scan, "event %*u %hhu %u %" G_GUINT64_FORMAT "\n", &is_message, &type, &event->timestamp);
    if (is_message > 1) {
        scan_fail(scan, "event: %u is neither command nor message", is_message);
    }
    if (scan_failed(scan)) {
        return false;
    }
    if (is_message) {
        message(recording, type, event);
    } else {
        event->kind = RECORDED_COMMAND;
        event->command = recording_read_command(scan, &recording->surfaces, type);
    }
    event->end = scan_offset(scan);
    return !scan_failed(scan);
}
