/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "display.h"

#include <glib.h>
#include <stdatomic.h>
#include <string.h>

#include "command-queue.h"
#include "marker.h"
#include "recording-surfaces.h"

/* Commands a burst, as upstream's replay utility makes them. A device's rings hold 32. */
#define BURST 50

/* Commands that wait when the recording is played as fast as the server takes it: a guest that always
 * has more to draw, and whose thread the server's need not wake for every few of them. */
#define AHEAD 512

struct Display {
    QXLInstance instance;
    CommandQueue *commands;
    CommandQueue *cursor_commands;
    ReplayStream *stream;
    atomic_uint_fast64_t taken;
    atomic_bool end_taken;
};

static Display *display_of(QXLInstance *instance)
{
    return SPICE_CONTAINEROF(instance, Display, instance);
}

/* A marker, or another command of the player's own. */
static bool is_ours(const QXLReleaseInfo *info)
{
    return info->id & MARKER_TAG;
}

static bool marker_is(const QXLReleaseInfo *info, MarkerKind kind)
{
    return info->id == marker_id(kind);
}

static void attached_worker(QXLInstance *instance G_GNUC_UNUSED)
{
}

static void set_compression_level(QXLInstance *instance G_GNUC_UNUSED, int level G_GNUC_UNUSED)
{
}

static void get_init_info(QXLInstance *instance G_GNUC_UNUSED, QXLDevInitInfo *info)
{
    memset(info, 0, sizeof(*info));
    info->num_memslots = 1;
    info->num_memslots_groups = 1;
    info->memslot_id_bits = 1;
    info->memslot_gen_bits = 1;
    info->n_surfaces = RECORDING_SURFACES_MAX;
}

static int get_command(QXLInstance *instance, QXLCommandExt *command)
{
    Display *display = display_of(instance);
    QXLReleaseInfo *info;

    if (!command_queue_pop(display->commands, command)) {
        return false;
    }
    info = (QXLReleaseInfo *) (uintptr_t) command->cmd.data;
    if (marker_is(info, MARKER_END)) {
        atomic_store(&display->end_taken, true);
    }
    /* a repeated marker is no progress */
    if (!is_ours(info) || marker_is(info, MARKER_PROBE)) {
        atomic_fetch_add(&display->taken, 1);
    }
    return true;
}

static int get_cursor_command(QXLInstance *instance, QXLCommandExt *command)
{
    Display *display = display_of(instance);

    if (!command_queue_pop(display->cursor_commands, command)) {
        return false;
    }
    if (!is_ours((QXLReleaseInfo *) (uintptr_t) command->cmd.data)) {
        atomic_fetch_add(&display->taken, 1);
    }
    return true;
}

static int req_cmd_notification(QXLInstance *instance)
{
    return command_queue_request_wake(display_of(instance)->commands);
}

static int req_cursor_notification(QXLInstance *instance)
{
    return command_queue_request_wake(display_of(instance)->cursor_commands);
}

static void release(Display *display, QXLReleaseInfo *info)
{
    if (is_ours(info)) {
        g_free(info);
    } else {
        replay_stream_release(display->stream, (QXLCommandExt *) (uintptr_t) info->id);
    }
}

static void release_resource(QXLInstance *instance, struct QXLReleaseInfoExt ext)
{
    release(display_of(instance), ext.info);
}

static void notify_update(QXLInstance *instance G_GNUC_UNUSED, uint32_t update_id G_GNUC_UNUSED)
{
}

static int flush_resources(QXLInstance *instance G_GNUC_UNUSED)
{
    return true;
}

static const QXLInterface interface = {
    .base = {
        .type = SPICE_INTERFACE_QXL,
        .description = "recorded display",
        .major_version = SPICE_INTERFACE_QXL_MAJOR,
        .minor_version = SPICE_INTERFACE_QXL_MINOR,
    },
    .attached_worker = attached_worker,
    .set_compression_level = set_compression_level,
    .get_init_info = get_init_info,
    .get_command = get_command,
    .req_cmd_notification = req_cmd_notification,
    .release_resource = release_resource,
    .get_cursor_command = get_cursor_command,
    .req_cursor_notification = req_cursor_notification,
    .notify_update = notify_update,
    .flush_resources = flush_resources,
};

Display *display_new(SpiceServer *server, int id, bool ahead)
{
    /* all addresses are the process's own */
    QXLDevMemSlot slot = {
        .virt_start = 0,
        .virt_end = ~(uintptr_t) 0,
        .qxl_ram_size = ~0u,
    };
    Display *display = g_new0(Display, 1);

    display->commands = command_queue_new(ahead ? AHEAD : BURST, BURST);
    /* pointer moves are not delayed for a burst */
    display->cursor_commands = command_queue_new(ahead ? AHEAD : QXL_CURSOR_RING_SIZE, 0);
    display->instance.base.sif = &interface.base;
    display->instance.id = id;
    if (spice_server_add_interface(server, &display->instance.base) != 0) {
        display_free(display);
        return NULL;
    }
    spice_qxl_add_memslot(&display->instance, &slot);
    spice_server_vm_start(server);
    return display;
}

static void drain(Display *display, CommandQueue *queue)
{
    QXLCommandExt command;

    command_queue_release(queue);
    while (command_queue_pop(queue, &command)) {
        release(display, (QXLReleaseInfo *) (uintptr_t) command.cmd.data);
    }
}

void display_free(Display *display)
{
    drain(display, display->commands);
    drain(display, display->cursor_commands);
    command_queue_free(display->commands);
    command_queue_free(display->cursor_commands);
    g_free(display);
}

QXLInstance *display_instance(Display *display)
{
    return &display->instance;
}

void display_set_stream(Display *display, ReplayStream *stream)
{
    display->stream = stream;
}

bool display_push(Display *display, const QXLCommandExt *command, bool waits)
{
    CommandQueue *queue = command->cmd.type == QXL_CMD_CURSOR ? display->cursor_commands
                                                              : display->commands;
    bool wake;
    bool is_pushed = command_queue_push(queue, command, waits, &wake);

    if (!is_pushed) {
        release(display, (QXLReleaseInfo *) (uintptr_t) command->cmd.data);
    } else if (wake) {
        spice_qxl_wakeup(&display->instance);
    }
    return is_pushed;
}

void display_release(Display *display)
{
    if (command_queue_release(display->commands)) {
        spice_qxl_wakeup(&display->instance);
    }
}

void display_settle(Display *display, QXLRect *area)
{
    display_release(display);
    spice_qxl_update_area(&display->instance, 0, area, NULL, 0, false);
}

void display_close(Display *display)
{
    command_queue_close(display->commands);
    command_queue_close(display->cursor_commands);
}

uint64_t display_taken(Display *display)
{
    return atomic_load(&display->taken);
}

bool display_is_empty(Display *display)
{
    return command_queue_length(display->commands) == 0 &&
        command_queue_length(display->cursor_commands) == 0;
}

bool display_end_taken(Display *display)
{
    return atomic_load(&display->end_taken);
}
