/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A server with QXL devices and no client, for tests of what a guest or a recording may
 * give to it. */
#ifndef TEST_QXL_DEVICE_H_
#define TEST_QXL_DEVICE_H_

#include <deque>
#include <mutex>
#include <vector>

#include <spice.h>

#include "basic-event-loop.h"
#include "test-glib-compat.h"

#include "push-visibility.h"

enum { TEST_QXL_WIDTH = 64, TEST_QXL_HEIGHT = 48 };

struct TestDevice;

/* A bitmap from its top, in one piece: @data, which has @stride bytes a line. */
static inline void test_set_bitmap(QXLImage *image, uint8_t format, uint32_t width, uint32_t height,
                                   uint32_t stride, const void *data)
{
    image->descriptor.type = SPICE_IMAGE_TYPE_BITMAP;
    image->descriptor.width = image->bitmap.x = width;
    image->descriptor.height = image->bitmap.y = height;
    image->bitmap.format = format;
    image->bitmap.flags = QXL_BITMAP_DIRECT | QXL_BITMAP_TOP_DOWN;
    image->bitmap.stride = stride;
    image->bitmap.data = reinterpret_cast<uintptr_t>(data);
}

struct TestQxl: QXLInstance
{
    TestDevice *const device;

    explicit TestQxl(TestDevice *init_device): QXLInstance(), device(init_device) {}
};

struct TestDevice
{
    SpiceServer *const server;
    TestQxl qxl;
    /* what the worker has done; look only after run() */
    std::vector<uint32_t> updates;
    std::vector<uint64_t> released;
    /* called in the worker's thread with the id of what is released, may be null */
    void (*on_release)(uint64_t id) = nullptr;
    /* called there when it asks to be told of the next command, may be null */
    void (*on_request)() = nullptr;
    /* called there when what was asked for with a cookie is done, may be null */
    void (*on_async)(uint64_t cookie) = nullptr;

    TestDevice():
        server(new_server()), qxl(this), owns_server(true)
    {
        add();
    }

    /* Another one of the server of @first, which outlives it. @id: of its display, not in use */
    TestDevice(const TestDevice &first, int id):
        server(first.server), qxl(this), owns_server(false)
    {
        qxl.id = id;
        add();
    }

    ~TestDevice()
    {
        if (owns_server) {
            spice_server_destroy(server);
            basic_event_loop_destroy();
        } else {
            spice_server_remove_interface(&qxl.base);
        }
    }

    /* @command stays the caller's and lives until it is released. */
    void push(uint32_t type, void *command)
    {
        std::lock_guard<std::mutex> lock(mutex);
        QXLCommandExt ext = {};

        ext.cmd.type = type;
        ext.cmd.data = reinterpret_cast<uintptr_t>(command);
        commands.push_back(ext);
    }

    /* Returns when the worker has taken all that was pushed. */
    void run()
    {
        QXLRect area = { 0, 0, 1, 1 };
        QXLRect dirty;

        spice_qxl_update_area(&qxl, 0, &area, &dirty, 1, 0);
    }

    /* Commands that the worker has not taken. It takes none when a pipe is full, and run() would
     * wait for that. */
    int num_left()
    {
        std::lock_guard<std::mutex> lock(mutex);

        return commands.size();
    }

    /* The screen goes, and another one comes. */
    void new_screen()
    {
        spice_qxl_destroy_primary_surface(&qxl, 0);
        create_primary(&qxl);
    }

    /* Another screen comes, whether or not there is one. Its lines follow each other in @memory. */
    void create_screen(int width, int height, void *memory)
    {
        create_primary(&qxl, width, height, width * 4, memory);
    }

private:
    const bool owns_server;
    /* not GLib's queue: what that orders ThreadSanitizer does not see */
    std::mutex mutex;
    std::deque<QXLCommandExt> commands;
    uint32_t pixels[TEST_QXL_WIDTH * TEST_QXL_HEIGHT] = {};

    static SpiceServer *new_server()
    {
        SpiceCoreInterface *core = basic_event_loop_init();
        SpiceServer *server = spice_server_new();

        g_assert_cmpint(spice_server_init(server, core), ==, 0);
        return server;
    }

    void add()
    {
        static const QXLInterface functions = make_interface();

        qxl.base.sif = &functions.base;
        g_assert_cmpint(spice_server_add_interface(server, &qxl.base), ==, 0);
    }

    static TestDevice *of(QXLInstance *qin)
    {
        return static_cast<TestQxl *>(qin)->device;
    }

    static QXLInterface make_interface()
    {
        QXLInterface functions = {};

        functions.base.type = SPICE_INTERFACE_QXL;
        functions.base.description = "test";
        functions.base.major_version = SPICE_INTERFACE_QXL_MAJOR;
        functions.base.minor_version = SPICE_INTERFACE_QXL_MINOR;
        functions.attached_worker = attached_worker;
        functions.set_compression_level = [](QXLInstance *, int) {};
        functions.get_init_info = get_init_info;
        functions.get_command = get_command;
        functions.req_cmd_notification = [](QXLInstance *qin) {
            if (of(qin)->on_request) {
                of(qin)->on_request();
            }
            return 1;
        };
        functions.get_cursor_command = [](QXLInstance *, QXLCommandExt *) { return 0; };
        functions.req_cursor_notification = [](QXLInstance *) { return 1; };
        functions.release_resource = release_resource;
        functions.notify_update = [](QXLInstance *qin, uint32_t id) {
            of(qin)->updates.push_back(id);
        };
        functions.async_complete = [](QXLInstance *qin, uint64_t cookie) {
            if (of(qin)->on_async) {
                of(qin)->on_async(cookie);
            }
        };
        functions.flush_resources = [](QXLInstance *) { return 0; };
        return functions;
    }

    static void get_init_info(QXLInstance *, QXLDevInitInfo *info)
    {
        *info = {};
        info->num_memslots = info->num_memslots_groups = 1;
        info->memslot_id_bits = info->memslot_gen_bits = 1;
        info->n_surfaces = 1024;
    }

    static void attached_worker(QXLInstance *qin)
    {
        QXLDevMemSlot slot = {};

        slot.virt_end = ~0UL;
        slot.qxl_ram_size = ~0;
        spice_qxl_add_memslot(qin, &slot);
        create_primary(qin);
        spice_server_vm_start(of(qin)->server);
    }

    static void create_primary(QXLInstance *qin)
    {
        create_primary(qin, TEST_QXL_WIDTH, TEST_QXL_HEIGHT, -TEST_QXL_WIDTH * 4,
                       of(qin)->pixels);
    }

    static void create_primary(QXLInstance *qin, int width, int height, int stride, void *memory)
    {
        QXLDevSurfaceCreate surface = {};

        surface.width = width;
        surface.height = height;
        surface.stride = stride;
        surface.format = SPICE_SURFACE_FMT_32_xRGB;
        surface.mem = reinterpret_cast<uintptr_t>(memory);
        spice_qxl_create_primary_surface(qin, 0, &surface);
    }

    static int get_command(QXLInstance *qin, QXLCommandExt *ext)
    {
        TestDevice *const device = of(qin);
        std::lock_guard<std::mutex> lock(device->mutex);

        if (device->commands.empty()) {
            return 0;
        }
        *ext = device->commands.front();
        device->commands.pop_front();
        return 1;
    }

    static void release_resource(QXLInstance *qin, QXLReleaseInfoExt info)
    {
        of(qin)->released.push_back(info.info->id);
        if (of(qin)->on_release) {
            of(qin)->on_release(info.info->id);
        }
    }
};

#include "pop-visibility.h"

#endif /* TEST_QXL_DEVICE_H_ */
