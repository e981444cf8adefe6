/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "replay-text.h"

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>

#include "recording.h"

/*
 * To skip white space the library always reads one byte past an event, and at
 * an end of file it gives up. So each text is followed by the byte that every
 * event begins with, and the next one is given without it.
 */
#define EVENT_BEGIN 'e'

struct ReplayText {
    SpiceReplay *replay;
    const uint8_t *bytes;
    size_t size, pos;
    bool has_begun_next;
};

static ssize_t text_read(void *cookie, char *buf, size_t size)
{
    ReplayText *text = cookie;

    if (text->pos == text->size) {
        if (text->has_begun_next) {
            return 0;
        }
        text->has_begun_next = true;
        *buf = EVENT_BEGIN;
        return 1;
    }
    size = MIN(size, text->size - text->pos);
    memcpy(buf, text->bytes + text->pos, size);
    text->pos += size;
    return size;
}

static void set_text(ReplayText *text, const uint8_t *bytes, size_t size)
{
    text->bytes = bytes;
    text->size = size;
    text->pos = 0;
    text->has_begun_next = false;
}

ReplayText *replay_text_new(void)
{
    static const cookie_io_functions_t functions = { .read = text_read };
    ReplayText *text = g_new0(ReplayText, 1);
    FILE *file = fopencookie(text, "r", functions);

    /* One thread reads it. The library reads field by field, and a lock for each shows. */
    __fsetlocking(file, FSETLOCKING_BYCALLER);
    set_text(text, (const uint8_t *) RECORDING_HEADER, strlen(RECORDING_HEADER));
    text->replay = spice_replay_new(file, RECORDING_SURFACES_MAX);
    if (!text->replay) {
        fclose(file);
        g_free(text);
        return NULL;
    }
    return text;
}

void replay_text_free(ReplayText *text)
{
    if (text) {
        spice_replay_free(text->replay);
        g_free(text);
    }
}

QXLCommandExt *replay_text_read(ReplayText *text, const uint8_t *bytes, size_t size,
                                QXLInstance *instance)
{
    g_assert(size > 0 && bytes[0] == EVENT_BEGIN);
    set_text(text, bytes + 1, size - 1);
    return spice_replay_next_cmd(text->replay, instance);
}

void replay_text_release(ReplayText *text, QXLCommandExt *command)
{
    spice_replay_free_cmd(text->replay, command);
}
