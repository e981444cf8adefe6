/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A SPICE server for the tests of spice-drain: draws a picture that the test can compute, plays
 * sound, records, writes to a port, moves the cursor. Serves one client, until SIGTERM.
 *
 * stdout: "listening", and at the end a line of JSON with what the client sent. */

#include <glib-unix.h>
#include <inttypes.h>
#include <signal.h>
#include <spice.h>
#include <spice/protocol.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test-server-core.h"

#define WIDTH 320
#define HEIGHT 240
#define MAX_DISPLAYS 4
#define SOUND_INTERVAL_MS 10
#define PORT_CHUNK 1000

/* All commands of a display, made before a client comes; the worker thread takes one after the
 * other as far as they are released. Nothing is freed: the server may keep any until the end. */
typedef struct TestDisplay {
    QXLInstance qxl;
    QXLDrawable *drawables;
    int num_drawables;
    gint released;   /* so many of them may be taken (atomic) */
    int taken;       /* worker thread only */
    gint moves_left; /* cursor moves (atomic) */
    bool cursor_set; /* worker thread only, as x */
    int x;
    uint8_t *memory;
} TestDisplay;

static int opt_port = 0;
static int opt_tls_port = 0;
static char *opt_cert = NULL;
static char *opt_key = NULL;
static char *opt_ca = NULL;
static char *opt_unix = NULL;
static char *opt_password = NULL;
static char *opt_format = "xrgb";
static int opt_displays = 1;
static int opt_fills = 20;
static gboolean opt_probes = FALSE;
static int opt_pause_at = -1;
static gboolean opt_no_end = FALSE;
static int opt_end_after_ms = 0;
static int opt_sound_packets = 0;
static gboolean opt_record = FALSE;
static int opt_port_bytes = 0;
static int opt_moves = 0;

static const GOptionEntry entries[] = {
    { "port", 0, 0, G_OPTION_ARG_INT, &opt_port, "Plain port", "N" },
    { "tls-port", 0, 0, G_OPTION_ARG_INT, &opt_tls_port, "TLS port", "N" },
    { "tls-cert", 0, 0, G_OPTION_ARG_FILENAME, &opt_cert, "Certificate", "FILE" },
    { "tls-key", 0, 0, G_OPTION_ARG_FILENAME, &opt_key, "Its key", "FILE" },
    { "tls-ca", 0, 0, G_OPTION_ARG_FILENAME, &opt_ca, "Its authority", "FILE" },
    { "unix", 0, 0, G_OPTION_ARG_FILENAME, &opt_unix, "Unix socket", "PATH" },
    { "password", 0, 0, G_OPTION_ARG_STRING, &opt_password, "Ask for a password", "TEXT" },
    { "format", 0, 0, G_OPTION_ARG_STRING, &opt_format, "xrgb, argb, 565, 555 or a8", "NAME" },
    { "displays", 0, 0, G_OPTION_ARG_INT, &opt_displays, "Number of displays", "N" },
    { "fills", 0, 0, G_OPTION_ARG_INT, &opt_fills, "Rectangles drawn on each", "N" },
    { "probes", 0, 0, G_OPTION_ARG_NONE, &opt_probes, "Probe marker after each", NULL },
    { "pause-at", 0, 0, G_OPTION_ARG_INT, &opt_pause_at, "Pause marker after this one", "N" },
    { "no-end", 0, 0, G_OPTION_ARG_NONE, &opt_no_end, "No END marker", NULL },
    { "end-after", 0, 0, G_OPTION_ARG_INT, &opt_end_after_ms, "END marker so late", "MS" },
    { "sound", 0, 0, G_OPTION_ARG_INT, &opt_sound_packets, "Play so many packets", "N" },
    { "record", 0, 0, G_OPTION_ARG_NONE, &opt_record, "Record", NULL },
    { "port-bytes", 0, 0, G_OPTION_ARG_INT, &opt_port_bytes, "Write to a port", "N" },
    { "moves", 0, 0, G_OPTION_ARG_INT, &opt_moves, "Cursor moves", "N" },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
};

static TestDisplay displays[MAX_DISPLAYS];
static int port_sent = 0;
static int sound_sent = 0;
static int64_t recorded = 0;
static int64_t motions = 0;
static GMainLoop *loop = NULL;

/* Drawing: fills with a rectangle and a colour that depend on nothing but their number. */

static uint32_t surface_format(int *bytes)
{
    static const struct {
        const char *name;
        uint32_t format;
        int bytes;
    } formats[] = {
        { "xrgb", SPICE_SURFACE_FMT_32_xRGB, 4 },
        { "argb", SPICE_SURFACE_FMT_32_ARGB, 4 },
        { "565", SPICE_SURFACE_FMT_16_565, 2 },
        { "555", SPICE_SURFACE_FMT_16_555, 2 },
        { "a8", SPICE_SURFACE_FMT_8_A, 1 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
        if (g_str_equal(formats[i].name, opt_format)) {
            *bytes = formats[i].bytes;
            return formats[i].format;
        }
    }
    g_error("unknown format %s", opt_format);
}

static void add_fill(TestDisplay *display, int left, int top, int width, int height,
                     uint32_t colour, int rop, int effect)
{
    QXLDrawable *drawable = &display->drawables[display->num_drawables++];

    drawable->surface_id = 0;
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

static void add_marker(TestDisplay *display, int left, int width, int height)
{
    add_fill(display, left, 1, width, height, 0, SPICE_ROPD_OP_XOR, QXL_EFFECT_BLEND);
}

static void make_commands(TestDisplay *display, int number)
{
    display->drawables = g_new0(QXLDrawable, 2 * opt_fills + 2);
    for (int i = 0; i < opt_fills; i++) {
        add_fill(display, i * 37 % (WIDTH - 40), i * 23 % (HEIGHT - 30), 40, 30,
                 0x01020304u * (i + 1 + number), SPICE_ROPD_OP_PUT, QXL_EFFECT_OPAQUE);
        if (opt_probes) {
            add_marker(display, 1, 2 + i % 60, 2 + i / 60 % 60);
        }
        if (i == opt_pause_at) {
            add_marker(display, 5, 2 + i % 60, 63);
        }
    }
    add_marker(display, 3, 63, 61);
}

static int get_command(QXLInstance *qxl, struct QXLCommandExt *ext)
{
    TestDisplay *display = SPICE_CONTAINEROF(qxl, TestDisplay, qxl);

    if (display->taken >= g_atomic_int_get(&display->released)) {
        return FALSE;
    }
    *ext = (QXLCommandExt) {
        .cmd = { .type = QXL_CMD_DRAW,
                 .data = (uintptr_t)&display->drawables[display->taken++] },
    };
    return TRUE;
}

static int req_cmd_notification(QXLInstance *qxl)
{
    TestDisplay *display = SPICE_CONTAINEROF(qxl, TestDisplay, qxl);

    return display->taken >= g_atomic_int_get(&display->released);
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
        .n_surfaces = 1,
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
    int bytes;
    uint32_t format = surface_format(&bytes);
    QXLDevMemSlot slot = { .virt_end = ~(uintptr_t)0, .qxl_ram_size = ~0u };

    make_commands(display, number);
    display->memory = g_malloc0(WIDTH * HEIGHT * bytes);
    display->qxl.base.sif = &qxl_interface.base;
    display->qxl.id = number;
    spice_server_add_interface(server, &display->qxl.base);
    spice_qxl_add_memslot(&display->qxl, &slot);

    QXLDevSurfaceCreate surface = {
        .width = WIDTH,
        .height = HEIGHT,
        .stride = WIDTH * bytes,
        .format = format,
        .mem = (uintptr_t)display->memory,
    };

    spice_qxl_create_primary_surface(&display->qxl, 0, &surface);
}

static gboolean release_end(gpointer opaque)
{
    TestDisplay *display = opaque;

    g_atomic_int_set(&display->released, display->num_drawables);
    spice_qxl_wakeup(&display->qxl);
    return G_SOURCE_REMOVE;
}

static void start_display(TestDisplay *display)
{
    g_atomic_int_set(&display->released, display->num_drawables - 1);
    g_atomic_int_set(&display->moves_left, opt_moves);
    spice_qxl_wakeup(&display->qxl);
    if (display == &displays[0] && !opt_no_end) {
        g_timeout_add(opt_end_after_ms, release_end, display);
    }
}

/* Sound */

static const SpicePlaybackInterface playback_interface = {
    .base = { SPICE_INTERFACE_PLAYBACK, "test playback", SPICE_INTERFACE_PLAYBACK_MAJOR,
              SPICE_INTERFACE_PLAYBACK_MINOR },
};
static const SpiceRecordInterface record_interface = {
    .base = { SPICE_INTERFACE_RECORD, "test record", SPICE_INTERFACE_RECORD_MAJOR,
              SPICE_INTERFACE_RECORD_MINOR },
};
static SpicePlaybackInstance playback = { .base = { &playback_interface.base } };
static SpiceRecordInstance record = { .base = { &record_interface.base } };

static gboolean play(gpointer opaque G_GNUC_UNUSED)
{
    uint32_t *samples;
    uint32_t num_samples;

    spice_server_playback_get_buffer(&playback, &samples, &num_samples);
    if (samples == NULL) {
        return G_SOURCE_CONTINUE;
    }
    for (uint32_t i = 0; i < num_samples; i++) {
        samples[i] = i * 0x00400040;
    }
    spice_server_playback_put_samples(&playback, samples);
    if (++sound_sent < opt_sound_packets) {
        return G_SOURCE_CONTINUE;
    }
    spice_server_playback_stop(&playback);
    return G_SOURCE_REMOVE;
}

static gboolean take_samples(gpointer opaque G_GNUC_UNUSED)
{
    uint32_t samples[4096];

    recorded += spice_server_record_get_samples(&record, samples, G_N_ELEMENTS(samples));
    return G_SOURCE_CONTINUE;
}

/* Port and mouse */

static int port_read(SpiceCharDeviceInstance *sin G_GNUC_UNUSED, uint8_t *buffer, int size)
{
    int num_bytes = MIN(MIN(size, PORT_CHUNK), opt_port_bytes - port_sent);

    for (int i = 0; i < num_bytes; i++) {
        buffer[i] = port_sent++ % 251;
    }
    return num_bytes;
}

static int port_write(SpiceCharDeviceInstance *sin G_GNUC_UNUSED,
                      const uint8_t *buffer G_GNUC_UNUSED, int size)
{
    return size;
}

static void port_state(SpiceCharDeviceInstance *sin G_GNUC_UNUSED, int connected G_GNUC_UNUSED)
{
}

static void port_event(SpiceCharDeviceInstance *sin G_GNUC_UNUSED, uint8_t event G_GNUC_UNUSED)
{
}

static SpiceCharDeviceInterface port_interface = {
    .base = { SPICE_INTERFACE_CHAR_DEVICE, "test port", SPICE_INTERFACE_CHAR_DEVICE_MAJOR,
              SPICE_INTERFACE_CHAR_DEVICE_MINOR },
    .state = port_state,
    .read = port_read,
    .write = port_write,
    .event = port_event,
};
static SpiceCharDeviceInstance port = {
    .base = { &port_interface.base },
    .subtype = "port",
    .portname = "org.test.\"port\"",
};

static void on_motion(SpiceMouseInstance *sin G_GNUC_UNUSED, int dx, int dy G_GNUC_UNUSED,
                      int dz G_GNUC_UNUSED, uint32_t buttons G_GNUC_UNUSED)
{
    motions += dx;
}

static void on_buttons(SpiceMouseInstance *sin G_GNUC_UNUSED, uint32_t buttons G_GNUC_UNUSED)
{
}

static const SpiceMouseInterface mouse_interface = {
    .base = { SPICE_INTERFACE_MOUSE, "test mouse", SPICE_INTERFACE_MOUSE_MAJOR,
              SPICE_INTERFACE_MOUSE_MINOR },
    .motion = on_motion,
    .buttons = on_buttons,
};
static SpiceMouseInstance mouse = { .base = { &mouse_interface.base } };

static gboolean write_port(gpointer opaque G_GNUC_UNUSED)
{
    spice_server_char_device_wakeup(&port);
    return port_sent < opt_port_bytes ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

/* Everything begins when the client's channel for it is up. */
static void on_channel_up(int type, int id)
{
    switch (type) {
    case SPICE_CHANNEL_DISPLAY:
        start_display(&displays[id]);
        break;
    case SPICE_CHANNEL_PLAYBACK:
        spice_server_playback_start(&playback);
        g_timeout_add(SOUND_INTERVAL_MS, play, NULL);
        break;
    case SPICE_CHANNEL_RECORD:
        spice_server_record_start(&record);
        g_timeout_add(SOUND_INTERVAL_MS, take_samples, NULL);
        break;
    case SPICE_CHANNEL_PORT:
        spice_server_port_event(&port, SPICE_PORT_EVENT_OPENED);
        g_timeout_add(1, write_port, NULL);
        break;
    default:
        break;
    }
}

static gboolean stop(gpointer opaque G_GNUC_UNUSED)
{
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

static void add_interfaces(SpiceServer *server)
{
    for (int i = 0; i < opt_displays; i++) {
        add_display(server, &displays[i], i);
    }
    spice_server_add_interface(server, &mouse.base);
    if (opt_sound_packets > 0) {
        spice_server_add_interface(server, &playback.base);
    }
    if (opt_record) {
        spice_server_add_interface(server, &record.base);
    }
    if (opt_port_bytes > 0) {
        spice_server_add_interface(server, &port.base);
    }
}

static SpiceServer *new_server(void)
{
    SpiceServer *server = spice_server_new();

    if (opt_password != NULL) {
        spice_server_set_ticket(server, opt_password, 0, FALSE, FALSE);
    } else {
        spice_server_set_noauth(server);
    }
    if (opt_unix != NULL) {
        spice_server_set_addr(server, opt_unix, SPICE_ADDR_FLAG_UNIX_ONLY);
    } else {
        spice_server_set_addr(server, "127.0.0.1", SPICE_ADDR_FLAG_IPV4_ONLY);
    }
    if (opt_port != 0) {
        spice_server_set_port(server, opt_port);
    }
    if (opt_tls_port != 0) {
        spice_server_set_tls(server, opt_tls_port, opt_ca, opt_cert, opt_key, NULL, NULL, NULL);
    }
    if (spice_server_init(server, test_core(on_channel_up)) != 0) {
        exit(1);
    }
    return server;
}

int main(int argc, char **argv)
{
    GOptionContext *context = g_option_context_new(NULL);
    GError *error = NULL;

    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        g_printerr("%s\n", error->message);
        return 1;
    }
    g_option_context_free(context);
    opt_displays = CLAMP(opt_displays, 1, MAX_DISPLAYS);

    SpiceServer *server = new_server();

    add_interfaces(server);
    spice_server_vm_start(server);
    puts("listening");
    fflush(stdout);

    loop = g_main_loop_new(NULL, FALSE);
    g_unix_signal_add(SIGTERM, stop, NULL);
    g_main_loop_run(loop);
    printf("{\"motions\":%" PRId64 ",\"recorded\":%" PRId64 ",\"played\":%d}\n", motions,
           recorded, sound_sent);
    fflush(stdout);
    /* No spice_server_destroy(): the process ends as a killed one would. */
    _exit(0);
}
