/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commands are made ahead of the server, whatever numbers its surfaces have. */
#include <glib.h>
#include <spice/qxl_dev.h>
#include <string.h>

#include "replay-stream.h"
#include "test-text.h"

#define ALL ((size_t) 1 << 30)
#define SURFACES (RECORDING_SURFACES_MAX - 1)       /* as many as there can be */
#define ROUNDS 2500

typedef struct Played {
    RecordingInput *input;
    EventReader *reader;
    ReplayStream *stream;
} Played;

/* Takes the text over. */
static Played *played_new(GString *text, size_t read_ahead)
{
    Played *played = g_new0(Played, 1);

    played->input = test_text_open(text);
    played->reader = event_reader_new(played->input, NULL, NULL);
    played->stream = replay_stream_new(played->reader);
    replay_stream_read_ahead(played->stream, read_ahead);
    return played;
}

static void played_free(Played *played)
{
    replay_stream_free(played->stream);
    event_reader_free(played->reader);
    recording_input_free(played->input);
    g_free(played);
}

/* Every number is taken, and then one surface after the other is replaced. */
static GString *many_surfaces(void)
{
    GString *text = g_string_new(RECORDING_HEADER);

    for (unsigned int id = 1; id <= SURFACES; id++) {
        test_text_add_surface_command(text, id, true);
    }
    for (unsigned int round = 0; round < ROUNDS; round++) {
        test_text_add_surface_command(text, 1 + round % SURFACES, false);
        test_text_add_surface_command(text, 1 + round % SURFACES, true);
    }
    return text;
}

static const QXLSurfaceCmd *surface_of(const QXLCommandExt *command)
{
    g_assert_cmpuint(command->cmd.type, ==, QXL_CMD_SURFACE);
    return (const QXLSurfaceCmd *) (uintptr_t) command->cmd.data;
}

/* What the server is told, which is not done with a destroyed surface before it has to be. */
static void test_numbers_are_not_given_twice(gconstpointer read_ahead)
{
    Played *played = played_new(many_surfaces(), GPOINTER_TO_SIZE(read_ahead));
    QXLCommandExt *creates[RECORDING_SURFACES_MAX] = { NULL };
    QXLCommandExt *destroys[RECORDING_SURFACES_MAX] = { NULL };
    unsigned int commands = 0, waits = 0;
    ReplayItem item;
    uint64_t offset;

    while (replay_stream_next(played->stream, &item)) {
        const QXLSurfaceCmd *surface = surface_of(item.command);
        uint32_t number = surface->surface_id;

        commands++;
        g_assert_cmpuint(number, >, 0);
        g_assert_cmpuint(number, <, RECORDING_SURFACES_MAX);
        if (surface->type == QXL_SURFACE_CMD_DESTROY) {
            g_assert_true(replay_stream_take(played->stream));
            g_assert_nonnull(creates[number]);
            g_assert_null(destroys[number]);
            destroys[number] = item.command;
            continue;
        }
        g_assert_true(replay_stream_take(played->stream) == (creates[number] == NULL));
        if (creates[number]) {
            waits++;
            g_assert_nonnull(destroys[number]);
            replay_stream_release(played->stream, creates[number]);
            g_assert_false(replay_stream_take(played->stream));
            replay_stream_release(played->stream, destroys[number]);
            g_assert_true(replay_stream_take(played->stream));
            destroys[number] = NULL;
        }
        creates[number] = item.command;
    }
    g_assert_cmpstr(replay_stream_error(played->stream, &offset), ==, NULL);
    g_assert_cmpuint(commands, ==, SURFACES + 2 * ROUNDS);
    g_assert_cmpuint(waits, ==, ROUNDS);
    for (unsigned int number = 0; number < RECORDING_SURFACES_MAX; number++) {
        if (creates[number]) {
            replay_stream_release(played->stream, creates[number]);
        }
        g_assert_null(destroys[number]);
    }
    played_free(played);
}

/* The oldest number comes first: a server that is a little behind is not waited for. */
static void test_no_wait_for_what_was_destroyed_long_ago(void)
{
    GString *text = g_string_new(RECORDING_HEADER);
    QXLCommandExt *pending = NULL;
    Played *played;
    ReplayItem item;

    for (unsigned int round = 0; round < ROUNDS; round++) {
        test_text_add_surface_command(text, 5, true);
        test_text_add_surface_command(text, 5, false);
    }
    played = played_new(text, ALL);
    while (replay_stream_next(played->stream, &item)) {
        g_assert_true(replay_stream_take(played->stream));
        if (surface_of(item.command)->type == QXL_SURFACE_CMD_CREATE) {
            replay_stream_release(played->stream, item.command);
            continue;
        }
        if (pending) {
            replay_stream_release(played->stream, pending);
        }
        pending = item.command;
    }
    replay_stream_release(played->stream, pending);
    played_free(played);
}

/* Some read ahead, some taken, some not: all of it is freed, which the sanitizers look at. */
static void test_can_be_left_at_any_time(void)
{
    for (unsigned int items = 0; items < 6; items++) {
        Played *played = played_new(many_surfaces(), 1 << 20);
        ReplayItem item;

        for (unsigned int i = 0; i < items; i++) {
            g_assert_true(replay_stream_next(played->stream, &item));
        }
        if (items % 2) {
            g_assert_true(replay_stream_take(played->stream));
            replay_stream_release(played->stream, item.command);
        }
        played_free(played);
    }
}

static void describe_item(Played *played, const ReplayItem *item, GString *seen)
{
    if (item->command) {
        const QXLSurfaceCmd *surface = surface_of(item->command);

        g_assert_true(replay_stream_take(played->stream));
        g_string_append_printf(seen, "%s type %d number %u", item->is_added ? "added" : "recorded",
                               surface->type, surface->surface_id);
        replay_stream_release(played->stream, item->command);
    } else {
        g_string_append_printf(seen, "message %d %d", item->waits_for_commands,
                               item->creates_primary);
    }
    g_string_append_printf(seen, " of event %" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT
                           " skipped\n", item->number, replay_stream_skipped(played->stream));
}

static GString *seen_with(size_t read_ahead)
{
    Played *played = played_new(test_text_rounds(), read_ahead);
    GString *seen = g_string_new(NULL);
    unsigned int items = 0;
    ReplayItem item;
    uint64_t offset;

    while (replay_stream_next(played->stream, &item)) {
        items++;
        describe_item(played, &item, seen);
    }
    g_assert_cmpuint(items, ==, TEST_ROUNDS * (TEST_SURFACES + TEST_SURFACES + 1));
    g_assert_cmpuint(replay_stream_skipped(played->stream), ==, TEST_ROUNDS);
    g_assert_cmpstr(replay_stream_error(played->stream, &offset), ==, NULL);
    played_free(played);
    return seen;
}

static void test_same_whatever_is_read_ahead(void)
{
    GString *none = seen_with(0);
    GString *some = seen_with(2000);
    GString *all = seen_with(ALL);

    g_assert_cmpstr(some->str, ==, none->str);
    g_assert_cmpstr(all->str, ==, none->str);
    g_string_free(none, true);
    g_string_free(some, true);
    g_string_free(all, true);
}

static void test_fault_comes_after_what_is_before_it(void)
{
    GString *text = g_string_new(RECORDING_HEADER);
    uint64_t offset, fault;
    ReplayItem item;
    Played *played;

    test_text_add_surface_command(text, 1, true);
    g_string_append(text, "event 0 0 5 7\nnonsense\n");
    fault = strstr(text->str, "nonsense") - text->str;
    played = played_new(text, ALL);
    g_assert_nonnull(replay_stream_error(played->stream, &offset));
    g_assert_cmpuint(offset, ==, fault);
    g_assert_true(replay_stream_next(played->stream, &item));
    g_assert_false(replay_stream_next(played->stream, &item));
    played_free(played);
}

/* A line for each event is too many. */
static void keep_quiet(const char *domain G_GNUC_UNUSED, GLogLevelFlags level G_GNUC_UNUSED,
                       const char *message G_GNUC_UNUSED, void *opaque G_GNUC_UNUSED)
{
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_log_set_handler("Spice", G_LOG_LEVEL_DEBUG, keep_quiet, NULL);
    g_test_add_data_func("/replay-stream/numbers-are-not-given-twice/all-ahead",
                         GSIZE_TO_POINTER(ALL), test_numbers_are_not_given_twice);
    g_test_add_data_func("/replay-stream/numbers-are-not-given-twice/some-ahead",
                         GSIZE_TO_POINTER(1 << 20), test_numbers_are_not_given_twice);
    g_test_add_data_func("/replay-stream/numbers-are-not-given-twice/none-ahead",
                         GSIZE_TO_POINTER(0), test_numbers_are_not_given_twice);
    g_test_add_func("/replay-stream/same-whatever-is-read-ahead", test_same_whatever_is_read_ahead);
    g_test_add_func("/replay-stream/no-wait-for-what-was-destroyed-long-ago",
                    test_no_wait_for_what_was_destroyed_long_ago);
    g_test_add_func("/replay-stream/can-be-left-at-any-time", test_can_be_left_at_any_time);
    g_test_add_func("/replay-stream/fault-comes-after-what-is-before-it",
                    test_fault_comes_after_what_is_before_it);
    return g_test_run();
}
