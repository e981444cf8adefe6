/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is given to the library's reader, and what is not. */
#include <glib.h>
#include <string.h>

#include "event-reader.h"
#include "test-text.h"

static void count_event(void *opaque, const RecordingEvent *event G_GNUC_UNUSED)
{
    ++*(unsigned int *) opaque;
}

/* The message that destroys all surfaces comes with their destroy commands; those in flight are
 * skipped. */
static void test_mends_what_destroys_all_surfaces(void)
{
    RecordingInput *input = test_text_open(test_text_rounds());
    unsigned int read = 0, events = 0, added = 0, skipped = 0;
    EventReader *reader = event_reader_new(input, count_event, &read);
    ReadyEvent ready;

    while (event_reader_next(reader, &ready)) {
        events++;
        added += ready.is_added;
        skipped += ready.skipped;
    }
    g_assert_cmpuint(read, ==, TEST_ROUNDS * (TEST_SURFACES + 3));
    g_assert_cmpuint(events, ==, TEST_ROUNDS * (TEST_SURFACES + TEST_SURFACES + 1));
    g_assert_cmpuint(added, ==, TEST_ROUNDS * TEST_SURFACES);
    g_assert_cmpuint(skipped + ready.skipped, ==, TEST_ROUNDS);
    event_reader_free(reader);
    recording_input_free(input);
}

static void test_fault_is_the_end(void)
{
    RecordingInput *input = test_text_open(g_string_new(RECORDING_HEADER "event 0 1 21 7\n"
                                                        "event nonsense\n"));
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
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/event-reader/mends-what-destroys-all-surfaces",
                    test_mends_what_destroys_all_surfaces);
    g_test_add_func("/event-reader/fault-is-the-end", test_fault_is_the_end);
    return g_test_run();
}
