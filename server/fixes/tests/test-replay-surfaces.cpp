/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The reader of recordings has surfaces numbered anew. A number is free again when nothing
 * holds the surface any more.
 */
#include <config.h>

#include "test-replay.h"

#include "push-visibility.h"

static std::string create(int surface)
{
    return event(0, QXL_CMD_SURFACE) + "surface_cmd\nsurface_id " + std::to_string(surface) +
           "\ntype 0\nflags 0\nu.surface_create.format 32\nu.surface_create.width 4\n"
           "u.surface_create.height 4\nu.surface_create.stride -16\n";
}

static std::string destroy(int surface)
{
    return event(0, QXL_CMD_SURFACE) + "surface_cmd\nsurface_id " + std::to_string(surface) +
           "\ntype 1\nflags 0\n";
}

static std::string destroy_all()
{
    return event(1, RED_WORKER_MESSAGE_DESTROY_SURFACES);
}

static uint32_t surface_of(const QXLCommandExt *cmd)
{
    return reinterpret_cast<QXLSurfaceCmd *>(cmd->cmd.data)->surface_id;
}

/* When all surfaces are destroyed their numbers are free, more often than there are. */
static void destroy_all_frees_numbers()
{
    std::string text;
    for (int i = 0; i < 5; ++i) {
        text += create(1) + create(2) + create(3) + destroy_all();
    }
    TestReplay f(text + create(1), 4);

    for (int i = 0; i < 16; ++i) {
        f.play(f.next());
    }
}

/* What a destroy command holds is not given away before it comes back. */
static void destroy_all_keeps_what_is_held()
{
    TestReplay f(create(1) + create(2) + destroy(1) + destroy_all() + create(3) + create(1), 4);
    QXLCommandExt *created = f.next();
    QXLCommandExt *other = f.next();
    QXLCommandExt *held = f.next();
    const uint32_t number = surface_of(held);

    g_assert_cmpuint(surface_of(created), ==, number);
    free_command(reinterpret_cast<uintptr_t>(created));
    free_command(reinterpret_cast<uintptr_t>(other));
    for (int i = 0; i < 2; ++i) {
        QXLCommandExt *cmd = f.next();
        g_assert_cmpuint(surface_of(cmd), !=, number);
        free_command(reinterpret_cast<uintptr_t>(cmd));
    }
    free_command(reinterpret_cast<uintptr_t>(held));
}

/* A damaged recording. */
static void destroy_twice()
{
    TestReplay f(create(1) + destroy(1) + destroy(1) + create(1), 4);

    free_command(reinterpret_cast<uintptr_t>(f.next()));
    free_command(reinterpret_cast<uintptr_t>(f.next()));
    free_command(reinterpret_cast<uintptr_t>(f.next()));
    QXLCommandExt *again = f.next();
    g_assert_cmpuint(surface_of(again), <, 4);
    free_command(reinterpret_cast<uintptr_t>(again));
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/replay/destroy-all-frees-numbers", destroy_all_frees_numbers);
    g_test_add_func("/server/replay/destroy-all-keeps-what-is-held",
                    destroy_all_keeps_what_is_held);
    g_test_add_func("/server/replay/destroy-twice", destroy_twice);
    return g_test_run();
}
