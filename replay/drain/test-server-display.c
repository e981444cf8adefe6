/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fills whose rectangle and colour depend on nothing but their number, and markers between. */

#include <spice/enums.h>
#include <stdbool.h>

#include "test-server.h"

#define WIDTH 320
#define HEIGHT 240
#define MAX_DISPLAYS 4
#define UNSEEN_SURFACE 1
#define UNSEEN_EVERY_MS 100

/* All commands of a display, made before a client comes; the worker thread takes one after the
 * other as far as they are released. Nothing is freed: the server may keep any until the end. */
typedef struct TestDisplay {
    QXLInstance qxl;
    QXLDrawable *drawables;
    int num_drawables;
    gint released;   /* so many of them may be taken (atomic) */
    int taken;       /* worker thread only */
    gint unseen_left; /* fills of the surface that is not shown (atomic) */
    int unseen_released;
    bool unseen_made; /* worker thread only */
    int moves_released;
    gint moves_left; /* cursor moves (atomic) */
    bool cursor_set; /* worker thread only, as x */
    int x;
    uint8_t *memory;
} TestDisplay;

static const TestOptions *options = NULL;
static TestDisplay displays[MAX_DISPLAYS];

static void init_fill(QXLDrawable *drawable, int left, int top, int width, int height,
                      uint32_t colour, int rop, int effect)
{
    drawable->type = QXL_DRAW_FILL;
    drawable->effect = effect;
    drawable->bbox = (QXLRect) { .left = left, .top = top,
                                 .right = left + width, .bottom = top + height };
    drawable->clip.type = SPICE_CLIP_TYPE_NONE;
    for (int i = 0; i < 3; i++) {
        drawable->surfaces_dest[i] = -1;
    }
    drawable->u.fill.brush.type = SPICE_BRUSH_TYPE_SOLID;
    drawable->u.fill.brush.u.color = colour;
    drawable->u.fill.rop_descriptor = rop;
}

static void add_fill(TestDisplay *display, int left, int top, int width, int height,
                     uint32_t colour, int rop, int effect)
{
    init_fill(&display->drawables[display->num_drawables++], left, top, width, height, colour, rop,
              effect);
}

static void add_marker(TestDisplay *display, int left, int width, int height)
{
    add_fill(display, left, 1, width, height, 0, SPICE_ROPD_OP_XOR, QXL_EFFECT_BLEND);
}

static void make_commands(TestDisplay *display, int number)
{
    display->drawables = g_new0(QXLDrawable, 2 * options->fills + 2);
    for (int i = 0; i < options->fills; i++) {
        add_fill(display, i * 37 % (WIDTH - 40), i * 23 % (HEIGHT - 30), 40, 30,
                 0x01020304u * (i + 1 + number), SPICE_ROPD_OP_PUT, QXL_EFFECT_OPAQUE);
        if (options->probes) {
            add_marker(display, 1, 2 + i % 60, 2 + i / 60 % 60);
        }
        if (i == options->pause_at) {
            add_marker(display, 5, 2 + i % 60, 63);
        }
    }
    add_marker(display, 3, 63, 61);
}

/* The first one makes the surface. Nothing of it is shown. */
static int get_unseen(TestDisplay *display, struct QXLCommandExt *ext)
{
    if (g_atomic_int_get(&display->unseen_left) == 0) {
        return FALSE;
    }
    if (!display->unseen_made) {
        QXLSurfaceCmd *surface = g_new0(QXLSurfaceCmd, 1);

        display->unseen_made = true;
        surface->surface_id = UNSEEN_SURFACE;
        surface->type = QXL_SURFACE_CMD_CREATE;
        surface->u.surface_create.format = SPICE_SURFACE_FMT_32_xRGB;
        surface->u.surface_create.width = WIDTH;
        surface->u.surface_create.height = HEIGHT;
        surface->u.surface_create.stride = WIDTH * 4;
        surface->u.surface_create.data = (uintptr_t)g_malloc0(WIDTH * HEIGHT * 4);
        ext->cmd = (QXLCommand) { .type = QXL_CMD_SURFACE, .data = (uintptr_t)surface };
        return TRUE;
    }

    QXLDrawable *fill = g_new0(QXLDrawable, 1);

    fill->surface_id = UNSEEN_SURFACE;
    init_fill(fill, 0, 0, WIDTH, HEIGHT, 0xff, SPICE_ROPD_OP_XOR, QXL_EFFECT_BLEND);
    g_atomic_int_add(&display->unseen_left, -1);
    ext->cmd = (QXLCommand) { .type = QXL_CMD_DRAW, .data = (uintptr_t)fill };
    return TRUE;
}

static int get_command(QXLInstance *qxl, struct QXLCommandExt *ext)
{
    TestDisplay *display = SPICE_CONTAINEROF(qxl, TestDisplay, qxl);

    *ext = (QXLCommandExt) { .flags = 0 };
    if (display->taken >= g_atomic_int_get(&display->released)) {
        return get_unseen(display, ext);
    }
    ext->cmd = (QXLCommand) {
        .type = QXL_CMD_DRAW,
        .data = (uintptr_t)&display->drawables[display->taken++],
    };
    return TRUE;
}

static int req_cmd_notification(QXLInstance *qxl)
{
    TestDisplay *display = SPICE_CONTAINEROF(qxl, TestDisplay, qxl);

    return display->taken >= g_atomic_int_get(&display->released) &&
           g_atomic_int_get(&display->unseen_left) == 0;
}

static int get_cursor_command(QXLInstance *qxl, struct QXLCommandExt *ext)
{
    static struct {
        QXLCursor cursor;
        uint8_t pixels[32 * 32 * 4];
    } shape = {
        .cursor = { .header = { .type = SPICE_CURSOR_TYPE_ALPHA, .width = 32, .height = 32 },
                    .data_size = 32 * 32 * 4,
                    .chunk = { .data_size = 32 * 32 * 4 } },
    };
    TestDisplay *display = SPICE_CONTAINEROF(qxl, TestDisplay, qxl);

    if (g_atomic_int_get(&display->moves_left) == 0) {
        return FALSE;
    }

    QXLCursorCmd *command = g_new0(QXLCursorCmd, 1);

    if (!display->cursor_set) {
        display->cursor_set = true;
        command->type = QXL_CURSOR_SET;
        command->u.set.visible = TRUE;
        command->u.set.shape = (uintptr_t)&shape;
    } else {
        g_atomic_int_add(&display->moves_left, -1);
        command->type = QXL_CURSOR_MOVE;
        command->u.position = (QXLPoint16) { .x = ++display->x, .y = 7 };
    }
    command->release_info.id = (uintptr_t)command;
    *ext = (QXLCommandExt) { .cmd = { .type = QXL_CMD_CURSOR, .data = (uintptr_t)command } };
    return TRUE;
}

static int req_cursor_notification(QXLInstance *qxl)
{
    TestDisplay *display = SPICE_CONTAINEROF(qxl, TestDisplay, qxl);

    return g_atomic_int_get(&display->moves_left) == 0;
}

/* Only cursor commands have an id: drawables stay. */
static void release_resource(QXLInstance *qxl G_GNUC_UNUSED, struct QXLReleaseInfoExt release)
{
    g_free((void *)(uintptr_t)release.info->id);
}

static void get_init_info(QXLInstance *qxl G_GNUC_UNUSED, QXLDevInitInfo *info)
{
    *info = (QXLDevInitInfo) {
        .num_memslots_groups = 1,
        .num_memslots = 1,
        .memslot_gen_bits = 1,
        .memslot_id_bits = 1,
        .n_surfaces = UNSEEN_SURFACE + 1,
    };
}

static void attached_worker(QXLInstance *qxl G_GNUC_UNUSED)
{
}

static void set_compression_level(QXLInstance *qxl G_GNUC_UNUSED, int level G_GNUC_UNUSED)
{
}

static void notify_update(QXLInstance *qxl G_GNUC_UNUSED, uint32_t id G_GNUC_UNUSED)
{
}

static int flush_resources(QXLInstance *qxl G_GNUC_UNUSED)
{
    return FALSE;
}

static const QXLInterface qxl_interface = {
    .base = { .type = SPICE_INTERFACE_QXL,
              .description = "test display",
              .major_version = SPICE_INTERFACE_QXL_MAJOR,
              .minor_version = 1 },
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

static void add_display(SpiceServer *server, TestDisplay *display, int number)
{
    QXLDevMemSlot slot = { .virt_end = ~(uintptr_t)0, .qxl_ram_size = ~0u };

    make_commands(display, number);
    display->memory = g_malloc0(WIDTH * HEIGHT * 4);
    display->qxl.base.sif = &qxl_interface.base;
    display->qxl.id = number;
    spice_server_add_interface(server, &display->qxl.base);
    spice_qxl_add_memslot(&display->qxl, &slot);

    QXLDevSurfaceCreate surface = {
        .width = WIDTH,
        .height = HEIGHT,
        .stride = WIDTH * 4,
        .format = SPICE_SURFACE_FMT_32_xRGB,
        .mem = (uintptr_t)display->memory,
    };

    spice_qxl_create_primary_surface(&display->qxl, 0, &surface);
}

static gboolean release_unseen(gpointer opaque)
{
    TestDisplay *display = opaque;

    g_atomic_int_inc(&display->unseen_left);
    spice_qxl_wakeup(&display->qxl);
    return ++display->unseen_released < options->unseen;
}

static gboolean release_end(gpointer opaque)
{
    TestDisplay *display = opaque;

    if (options->moves_every_ms == 0 && g_atomic_int_get(&display->moves_left) > 0) {
        return G_SOURCE_CONTINUE;
    }
    g_atomic_int_set(&display->released, display->num_drawables);
    spice_qxl_wakeup(&display->qxl);
    if (options->unseen > 0) {
        g_timeout_add(UNSEEN_EVERY_MS, release_unseen, display);
    }
    return G_SOURCE_REMOVE;
}

static gboolean release_move(gpointer opaque)
{
    TestDisplay *display = opaque;

    g_atomic_int_inc(&display->moves_left);
    spice_qxl_wakeup(&display->qxl);
    return ++display->moves_released < options->moves;
}

void test_display_start(int id)
{
    TestDisplay *display = &displays[id];

    g_atomic_int_set(&display->released, display->num_drawables - 1);
    spice_qxl_wakeup(&display->qxl);
}

void test_cursor_start(int id)
{
    TestDisplay *display = &displays[id];

    if (options->moves == 0) {
        return;
    }
    if (options->moves_every_ms == 0) {
        g_atomic_int_set(&display->moves_left, options->moves);
        spice_qxl_wakeup(&display->qxl);
    } else {
        g_timeout_add(options->moves_every_ms, release_move, display);
    }
}

void test_end_start(void)
{
    g_timeout_add(options->end_after_ms, release_end, &displays[0]);
}

void test_displays_add(SpiceServer *server, const TestOptions *test_options)
{
    options = test_options;
    for (int i = 0; i < CLAMP(options->displays, 1, MAX_DISPLAYS); i++) {
        add_display(server, &displays[i], i);
    }
}
