/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is given to the library's reader, and what is not. */
#include <glib.h>
#include <spice/enums.h>
#include <spice/qxl_dev.h>
#include <string.h>

#include "event-reader.h"

#define ROUNDS 3
#define SURFACES 5

typedef struct Text {
    GString *text;
    size_t pos;
} Text;

static ssize_t read_text(void *opaque, void *buf, size_t size)
{
    Text *text = opaque;

    size = MIN(size, text->text->len - text->pos);
    memcpy(buf, text->text->str + text->pos, size);
    text->pos += size;
    return size;
}

static void add_surface_command(GString *text, unsigned int id, bool creates)
{
    g_string_append_printf(text, "event 0 0 %d 7\nsurface_cmd\nsurface_id %u\ntype %d\nflags 0\n",
                           QXL_CMD_SURFACE, id,
                           creates ? QXL_SURFACE_CMD_CREATE : QXL_SURFACE_CMD_DESTROY);
    if (creates) {
        g_string_append_printf(text, "u.surface_create.format %d\nu.surface_create.width 2\n"
                               "u.surface_create.height 2\nu.surface_create.stride 8\n",
                               SPICE_SURFACE_FMT_32_xRGB);
    }
}

/* Rounds of surfaces that a message destroys, one of them again by a command in flight. */
static GString *rounds_of_surfaces(void)
{
    GString *text = g_string_new(RECORDING_HEADER);

    for (unsigned int round = 0; round < ROUNDS; round++) {
        for (unsigned int id = 1; id <= SURFACES; id++) {
            add_surface_command(text, id, true);
        }
        g_string_append(text, "event 0 1 2 7\n");      /* a wake-up, which changes nothing */
        g_string_append_printf(text, "event 0 1 %d 7\n", RECORDING_MESSAGE_DESTROY_SURFACES);
        add_surface_command(text, 3, false);
    }
    return text;
}

static void count_event(void *opaque, const RecordingEvent *event G_GNUC_UNUSED)
{
    ++*(unsigned int *) opaque;
}

/* The message that destroys all surfaces comes with their destroy commands; those in flight are
 * skipped. */
static void test_mends_what_destroys_all_surfaces(void)
{
    Text text = { rounds_of_surfaces(), 0 };
    RecordingInput *input = recording_input_new(read_text, &text);
    unsigned int read = 0, events = 0, added = 0, skipped = 0;
    EventReader *reader = event_reader_new(input, count_event, &read);
    ReadyEvent ready;

    while (event_reader_next(reader, &ready)) {
        events++;
        added += ready.is_added;
        skipped += ready.skipped;
    }
    g_assert_cmpuint(read, ==, ROUNDS * (SURFACES + 3));
    g_assert_cmpuint(events, ==, ROUNDS * (SURFACES + SURFACES + 1));
    g_assert_cmpuint(added, ==, ROUNDS * SURFACES);
    g_assert_cmpuint(skipped + ready.skipped, ==, ROUNDS);
    event_reader_free(reader);
    recording_input_free(input);
    g_string_free(text.text, true);
}

static void test_fault_is_the_end(void)
{
    Text text = { g_string_new(RECORDING_HEADER "event 0 1 21 7\nevent nonsense\n"), 0 };
    RecordingInput *input = recording_input_new(read_text, &text);
    EventReader *reader = event_reader_new(input, NULL, NULL);
    ReadyEvent ready;
    uint64_t offset;

    g_assert_true(event_reader_next(reader, &ready));
    g_assert_null(event_reader_error(reader, &offset));
    g_assert_false(event_reader_next(reader, &ready));
    g_assert_nonnull(event_reader_error(reader, &offset));
    g_assert_cmpuint(offset, ==, strlen(RECORDING_HEADER "event 0 1 21 7\nevent "));
    event_reader_free(reader);
    recording_input_free(input);
    g_string_free(text.text, true);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/event-reader/mends-what-destroys-all-surfaces",
                    test_mends_what_destroys_all_surfaces);
    g_test_add_func("/event-reader/fault-is-the-end", test_fault_is_the_end);
    return g_test_run();
}
