/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "surface-numbers.h"

#include <glib.h>
#include <stdatomic.h>

struct SurfaceNumbers {
    ReplayText *text;
    GQueue destroys;            /* of the library's QXLCommandExt, each worth a number */
    unsigned int taken;         /* numbers the library has given and not had back */
    atomic_bool in_use[RECORDING_SURFACES_MAX];     /* by the server, as far as it has the commands */
};

static QXLSurfaceCmd *surface_command(const QXLCommandExt *command)
{
    return command->cmd.type == QXL_CMD_SURFACE ? (QXLSurfaceCmd *) (uintptr_t) command->cmd.data
                                                : NULL;
}

static bool destroys_surface(const QXLCommandExt *command)
{
    const QXLSurfaceCmd *surface = surface_command(command);

    return surface && surface->type == QXL_SURFACE_CMD_DESTROY;
}

SurfaceNumbers *surface_numbers_new(ReplayText *text)
{
    SurfaceNumbers *numbers = g_new0(SurfaceNumbers, 1);

    numbers->text = text;
    numbers->taken = 1;         /* the primary's */
    g_queue_init(&numbers->destroys);
    return numbers;
}

/* Gives the library's reader the number back that has been out of use for longest. */
static void give_back(SurfaceNumbers *numbers)
{
    replay_text_release(numbers->text, g_queue_pop_head(&numbers->destroys));
    numbers->taken--;
}

void surface_numbers_free(SurfaceNumbers *numbers)
{
    while (!g_queue_is_empty(&numbers->destroys)) {
        give_back(numbers);
    }
    g_free(numbers);
}

void surface_numbers_prepare(SurfaceNumbers *numbers, const RecordingEvent *event)
{
    if (!event->is_command || event->type != QXL_CMD_SURFACE ||
        event->subtype != QXL_SURFACE_CMD_CREATE) {
        return;
    }
    if (numbers->taken == RECORDING_SURFACES_MAX) {
        /* there is one: no more surfaces than this live at a time, that is checked */
        give_back(numbers);
    }
    numbers->taken++;
}

QXLCommandExt *surface_numbers_exchange(SurfaceNumbers *numbers, QXLCommandExt *command)
{
    QXLSurfaceCmd *surface;
    QXLCommandExt *copy;

    if (!destroys_surface(command)) {
        return command;
    }
    g_queue_push_tail(&numbers->destroys, command);
    surface = g_memdup2(surface_command(command), sizeof(*surface));
    copy = g_memdup2(command, sizeof(*copy));
    copy->cmd.data = (uintptr_t) surface;
    surface->release_info.id = (uintptr_t) copy;
    return copy;
}

bool surface_numbers_take(SurfaceNumbers *numbers, const QXLCommandExt *command)
{
    const QXLSurfaceCmd *surface = surface_command(command);

    return !surface || surface->type != QXL_SURFACE_CMD_CREATE ||
        !atomic_exchange(&numbers->in_use[surface->surface_id], true);
}

bool surface_numbers_release(SurfaceNumbers *numbers, QXLCommandExt *command)
{
    QXLSurfaceCmd *surface = surface_command(command);

    if (!destroys_surface(command)) {
        return false;
    }
    atomic_store(&numbers->in_use[surface->surface_id], false);
    g_free(surface);
    g_free(command);
    return true;
}
