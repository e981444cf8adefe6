/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commands are made ahead of the server, whatever numbers its surfaces have. */
#include <glib.h>
#include <spice/enums.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "replay-stream.h"

#define ALL ((size_t) 1 << 30)
#define SURFACES (RECORDING_SURFACES_MAX - 1)       /* as many as there can be */
#define ROUNDS 2500

enum { WAKE_UP = 2, DESTROY_SURFACES = 19 };

/* Takes the text over. */
static ReplayStream *played_new(GString *text, size_t read_ahead)
{
    int fd = memfd_create("text", MFD_CLOEXEC);
    ReplayStream *played;
    char path[32];

    g_assert_cmpint(write(fd, text->str, text->len), ==, text->len);
    g_snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    played = replay_stream_open(path);
    close(fd);
    g_string_free(text, true);
    if (read_ahead > 0) { /* else as standard input */
        replay_stream_check(played, read_ahead);
    }
    return played;
}

static void add_surface_command(GString *text, unsigned int id, bool creates)
{
    g_string_append_printf(text, "event 0 0 %d 7\nsurface_cmd\nsurface_id %u\ntype %d\nflags 0\n", QXL_CMD_SURFACE, id,
                           creates ? QXL_SURFACE_CMD_CREATE : QXL_SURFACE_CMD_DESTROY);
    if (creates) {
        g_string_append_printf(text, "u.surface_create.format %d\nu.surface_create.width 2\nu.surface_create.height 2\n"
                               "u.surface_create.stride 8\n", SPICE_SURFACE_FMT_32_xRGB);
    }
}

static void add_message(GString *text, unsigned int type)
{
    g_string_append_printf(text, "event 0 1 %u 7\n", type);
}

/* Every number is taken, and then one surface after the other is replaced. */
static GString *many_surfaces(void)
{
    GString *text = g_string_new(RECORDING_HEADER);

    for (unsigned int id = 1; id <= SURFACES; id++) {
        add_surface_command(text, id, true);
    }
    for (unsigned int round = 0; round < ROUNDS; round++) {
        add_surface_command(text, 1 + round % SURFACES, false);
        add_surface_command(text, 1 + round % SURFACES, true);
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
    ReplayStream *played = played_new(many_surfaces(), GPOINTER_TO_SIZE(read_ahead));
    QXLCommandExt *creates[RECORDING_SURFACES_MAX] = { NULL };
    QXLCommandExt *destroys[RECORDING_SURFACES_MAX] = { NULL };
    unsigned int commands = 0, waits = 0;
    ReplayItem item;

    while (replay_stream_next(played, &item)) {
        const QXLSurfaceCmd *surface = surface_of(item.command);
        uint32_t number = surface->surface_id;

        commands++;
        g_assert_cmpuint(number, >, 0);
        g_assert_cmpuint(number, <, RECORDING_SURFACES_MAX);
        if (surface->type == QXL_SURFACE_CMD_DESTROY) {
            g_assert_true(replay_stream_take(played));
            g_assert_nonnull(creates[number]);
            g_assert_null(destroys[number]);
            destroys[number] = item.command;
            continue;
        }
        g_assert_true(replay_stream_take(played) == (creates[number] == NULL));
        if (creates[number]) {
            waits++;
            g_assert_nonnull(destroys[number]);
            replay_stream_release(played, creates[number]);
            g_assert_false(replay_stream_take(played));
            replay_stream_release(played, destroys[number]);
            g_assert_true(replay_stream_take(played));
            destroys[number] = NULL;
        }
        creates[number] = item.command;
    }
    g_assert_null(replay_stream_error(played));
    g_assert_cmpuint(commands, ==, SURFACES + 2 * ROUNDS);
    g_assert_cmpuint(waits, ==, ROUNDS);
    for (unsigned int number = 0; number < RECORDING_SURFACES_MAX; number++) {
        if (creates[number]) {
            replay_stream_release(played, creates[number]);
        }
        g_assert_null(destroys[number]);
    }
    replay_stream_free(played);
}

/* The oldest number comes first: a server that is a little behind is not waited for. */
static void test_no_wait_for_what_was_destroyed_long_ago(void)
{
    GString *text = g_string_new(RECORDING_HEADER);
    QXLCommandExt *pending = NULL;
    ReplayStream *played;
    ReplayItem item;

    for (unsigned int round = 0; round < ROUNDS; round++) {
        add_surface_command(text, 5, true);
        add_surface_command(text, 5, false);
    }
    played = played_new(text, ALL);
    while (replay_stream_next(played, &item)) {
        g_assert_true(replay_stream_take(played));
        if (surface_of(item.command)->type == QXL_SURFACE_CMD_CREATE) {
            replay_stream_release(played, item.command);
            continue;
        }
        if (pending) {
            replay_stream_release(played, pending);
        }
        pending = item.command;
    }
    replay_stream_release(played, pending);
    replay_stream_free(played);
}

/* Some read ahead, some taken, some not: all of it is freed, which the sanitizers look at. */
static void test_can_be_left_at_any_time(void)
{
    for (unsigned int items = 0; items < 6; items++) {
        ReplayStream *played = played_new(many_surfaces(), 1 << 20);
        ReplayItem item;

        for (unsigned int i = 0; i < items; i++) {
            g_assert_true(replay_stream_next(played, &item));
        }
        if (items % 2) {
            g_assert_true(replay_stream_take(played));
            replay_stream_release(played, item.command);
        }
        replay_stream_free(played);
    }
}

/*
 * A message that destroys all surfaces acts after the commands that were in
 * flight, when the next message comes. What ends the last screen is left out.
 */
static void test_destruction_comes_after_what_is_in_flight(gconstpointer read_ahead)
{
    static const RecordedKind expected[] = {
        RECORDED_COMMAND, RECORDED_COMMAND, RECORDED_DESTROY_SURFACES, RECORDED_COMMAND,
    };
    GString *text = g_string_new(RECORDING_HEADER);
    uint32_t first = 0;
    ReplayStream *played;
    ReplayItem item;

    add_surface_command(text, 1, true);
    add_message(text, DESTROY_SURFACES);
    add_surface_command(text, 1, false);
    add_message(text, WAKE_UP);
    add_surface_command(text, 1, true);
    add_message(text, DESTROY_SURFACES);
    played = played_new(text, GPOINTER_TO_SIZE(read_ahead));
    for (unsigned int i = 0; i < G_N_ELEMENTS(expected); i++) {
        g_assert_true(replay_stream_next(played, &item));
        g_assert_cmpuint(item.kind, ==, expected[i]);
        if (i == 0) {
            first = surface_of(item.command)->surface_id;
        } else if (item.command) {
            g_assert_true((surface_of(item.command)->surface_id == first) == (i == 1));
        }
    }
    g_assert_false(replay_stream_next(played, &item));
    g_assert_null(replay_stream_error(played));
    replay_stream_free(played);
}

static void test_fault_comes_after_what_is_before_it(void)
{
    GString *text = g_string_new(RECORDING_HEADER);
    char *wanted, *error;
    ReplayItem item;
    ReplayStream *played;

    add_surface_command(text, 1, true);
    wanted = g_strdup_printf("byte %zu: ", text->len + strlen("event 0 0 5 7\n"));
    g_string_append(text, "event 0 0 5 7\nnonsense\n");
    played = played_new(text, ALL);
    error = replay_stream_error(played);
    g_assert_true(g_str_has_prefix(error, wanted));
    g_free(error);
    g_free(wanted);
    g_assert_true(replay_stream_next(played, &item));
    g_assert_false(replay_stream_next(played, &item));
    replay_stream_free(played);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        size_t bytes;
    } ahead[] = { { "none", 0 }, { "some", 1 << 20 }, { "all", ALL } };

    g_test_init(&argc, &argv, NULL);
    for (unsigned int i = 0; i < G_N_ELEMENTS(ahead); i++) {
        char *twice = g_strdup_printf("/replay-stream/numbers-are-not-given-twice/%s-ahead", ahead[i].name);
        char *flight = g_strdup_printf("/replay-stream/destruction-comes-after-what-is-in-flight/%s-ahead", ahead[i].name);

        g_test_add_data_func(twice, GSIZE_TO_POINTER(ahead[i].bytes), test_numbers_are_not_given_twice);
        g_test_add_data_func(flight, GSIZE_TO_POINTER(ahead[i].bytes), test_destruction_comes_after_what_is_in_flight);
        g_free(twice);
        g_free(flight);
    }
    g_test_add_func("/replay-stream/no-wait-for-what-was-destroyed-long-ago", test_no_wait_for_what_was_destroyed_long_ago);
    g_test_add_func("/replay-stream/can-be-left-at-any-time", test_can_be_left_at_any_time);
    g_test_add_func("/replay-stream/fault-comes-after-what-is-before-it", test_fault_comes_after_what_is_before_it);
    return g_test_run();
}
