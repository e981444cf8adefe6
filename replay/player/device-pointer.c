/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The guest's pointer, moved in real time whatever the display's commands wait
 * for: a user who moves it sees at once when something stands in its way.
 */
#include "device.h"

#include "../common/clock.h"
#include "../common/json.h"
#include "marker.h"

#define INTERVAL_MS 20          /* a mouse reports 60 to 125 times a second */
#define NUMBERS 30000           /* numbers of moves, their x coordinate, */
#define TOP (-20000)            /* at this y coordinate, where no recording moves the pointer */

typedef struct DevicePointer {
    Device device;
    Display *display;
    guint timer;
    int64_t due_ns;             /* due time of a move for which the ring had no room; 0: none */
    GArray *stamps;             /* due times of moves that are or were in the ring */
} DevicePointer;

static QXLCommandExt move_to(unsigned int number)
{
    QXLCursorCmd *move = g_new0(QXLCursorCmd, 1);

    move->release_info.id = marker_id(MARKER_NONE);
    move->type = QXL_CURSOR_MOVE;
    move->u.position.x = number;
    move->u.position.y = TOP;
    return (QXLCommandExt) { .cmd = { .type = QXL_CMD_CURSOR, .data = (uintptr_t) move } };
}

/* A move without room is not queued: the next one goes there instead, later than it was due. */
static gboolean move(gpointer opaque)
{
    DevicePointer *pointer = opaque;
    unsigned int number = pointer->stamps->len % NUMBERS;
    QXLCommandExt command = move_to(number);

    if (pointer->due_ns == 0) {
        pointer->due_ns = clock_ns();
    }
    if (display_push(pointer->display, &command, false)) {
        Stamp stamp = { number, pointer->due_ns };

        g_array_append_val(pointer->stamps, stamp);
        pointer->due_ns = 0;
    }
    return G_SOURCE_CONTINUE;
}

static void start(Device *device)
{
    DevicePointer *pointer = (DevicePointer *) device;

    pointer->timer = g_timeout_add(INTERVAL_MS, move, pointer);
}

static void stop(Device *device)
{
    g_clear_handle_id(&((DevicePointer *) device)->timer, g_source_remove);
}

static bool is_finished(const Device *device)
{
    return ((const DevicePointer *) device)->stamps->len > 0;
}

static GVariant *report(const Device *device)
{
    const DevicePointer *pointer = (const DevicePointer *) device;

    return g_variant_new_parsed("{'moves': <%u>, 'top': <%i>, 'stamps': <%@a(ux)>}", pointer->stamps->len,
                                TOP, json_rows("(ux)", pointer->stamps));
}

static void clear(Device *device)
{
    g_array_unref(((DevicePointer *) device)->stamps);
}

static void add(Device *device, const Guest *guest, uint64_t bytes G_GNUC_UNUSED)
{
    DevicePointer *pointer = (DevicePointer *) device;

    pointer->display = guest->display;
    pointer->stamps = g_array_new(false, false, sizeof(Stamp));
}

const DeviceKind device_pointer = {
    .name = "pointer",
    .reported = "pointer",
    .in_all = true,
    .size = sizeof(DevicePointer),
    .add = add,
    .start = start,
    .stop = stop,
    .is_finished = is_finished,
    .report = report,
    .clear = clear,
};
