/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A guest draws much more than a client can receive. The guest is not delayed, and the client ends
 * with the same pixels on every surface, though most drawings were not sent to it.
 */
#include <config.h>

#include <atomic>
#include <memory>
#include <sys/mman.h>
#include <thread>

#include "dcc.h"
#include "migration-protocol.h"
#include "red-catch-up.h"
#include "test-picture-client.h"
#include "test-qxl-device.h"

#include "push-visibility.h"

/* In the place of libpixman's own: that is built without a sanitizer, which would not see what it
 * looks at. (Releases of pixman differ in the type of @region.) */
extern "C" int region_not_empty(const pixman_region32_t *region)
    __asm__("pixman_region32_not_empty");

int region_not_empty(const pixman_region32_t *region)
{
    return !region->data || region->data->numRects != 0;
}

enum {
    /* of the guest's other surfaces */
    SIDE = 40,
    SURFACES = 4,
    /* which become some hundred times as many bytes as a client's buffer has */
    COMMANDS = 3000,
    /* drawings that may wait for a large message; and more, so that they become damage */
    MOST_BEHIND_ONE = 8 * MAX_PIPE_SIZE,
    TOO_MANY = 10 * MAX_PIPE_SIZE,
};

using Client = TestPictureClient;

/* A guest, and what it has drawn. */
struct Guest
{
    /* the guest's memory, which is there as long as the device */
    std::vector<std::shared_ptr<void>> memory;
    TestDevice device;
    Pictures pictures;
    GRand *const rand = g_rand_new_with_seed(5);

    Guest()
    {
        g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
        spice_server_set_image_compression(device.server, SPICE_IMAGE_COMPRESSION_OFF);
        device.run();
        pictures[0] = Picture(TEST_QXL_WIDTH, TEST_QXL_HEIGHT);
    }

    ~Guest()
    {
        g_rand_free(rand);
    }

    void fill(uint32_t surface, const Box &box, uint32_t colour, bool is_xor)
    {
        QXLDrawable *drawable = draw(surface, box, QXL_DRAW_FILL,
                                     is_xor ? QXL_EFFECT_BLEND : QXL_EFFECT_OPAQUE);

        drawable->u.fill.brush.type = SPICE_BRUSH_TYPE_SOLID;
        drawable->u.fill.brush.u.color = colour;
        drawable->u.fill.rop_descriptor = is_xor ? SPICE_ROPD_OP_XOR : SPICE_ROPD_OP_PUT;
        device.push(QXL_CMD_DRAW, drawable);
        pictures[surface].fill(box, colour, is_xor);
    }

    void copy_bits(uint32_t surface, const Box &box, int left, int top)
    {
        QXLDrawable *drawable = draw(surface, box, QXL_COPY_BITS, QXL_EFFECT_OPAQUE);

        drawable->u.copy_bits.src_pos.x = left;
        drawable->u.copy_bits.src_pos.y = top;
        device.push(QXL_CMD_DRAW, drawable);
        pictures[surface].copy(box, pictures[surface], left, top);
    }

    void copy(uint32_t surface, const Box &box, uint32_t from, int left, int top)
    {
        QXLDrawable *drawable = draw(surface, box, QXL_DRAW_COPY, QXL_EFFECT_OPAQUE);
        QXLImage *image = keep<QXLImage>();

        image->descriptor.type = SPICE_IMAGE_TYPE_SURFACE;
        image->descriptor.width = pictures[from].width;
        image->descriptor.height = pictures[from].height;
        image->surface_image.surface_id = from;
        drawable->surfaces_dest[0] = from;
        drawable->surfaces_rects[0] = rect({ left, top, box.width, box.height });
        drawable->u.copy.src_bitmap = reinterpret_cast<uintptr_t>(image);
        drawable->u.copy.src_area = drawable->surfaces_rects[0];
        drawable->u.copy.rop_descriptor = SPICE_ROPD_OP_PUT;
        device.push(QXL_CMD_DRAW, drawable);
        pictures[surface].copy(box, pictures[from], left, top);
    }

    /* Something like a photo, with so many times the pixels each way. */
    void photo(const Box &box, uint32_t surface=0, int finer=1)
    {
        QXLDrawable *drawable = draw(surface, box, QXL_DRAW_COPY, QXL_EFFECT_OPAQUE);
        QXLImage *image = keep<QXLImage>();
        const int width = box.width * finer, height = box.height * finer;
        uint32_t *const pixels = keep<uint32_t>(width * height);

        for (int i = 0; i < width * height; ++i) {
            pixels[i] = 0x40404 * (i % width) + random(8);
        }
        image->descriptor.type = SPICE_IMAGE_TYPE_BITMAP;
        image->descriptor.width = image->bitmap.x = width;
        image->descriptor.height = image->bitmap.y = height;
        image->bitmap.format = SPICE_BITMAP_FMT_32BIT;
        image->bitmap.flags = QXL_BITMAP_DIRECT | QXL_BITMAP_TOP_DOWN;
        image->bitmap.stride = width * 4;
        image->bitmap.data = reinterpret_cast<uintptr_t>(pixels);
        drawable->u.copy.src_bitmap = reinterpret_cast<uintptr_t>(image);
        drawable->u.copy.src_area = rect({ 0, 0, width, height });
        drawable->u.copy.rop_descriptor = SPICE_ROPD_OP_PUT;
        device.push(QXL_CMD_DRAW, drawable);
    }

    void create(uint32_t surface, uint32_t format=SPICE_SURFACE_FMT_32_xRGB)
    {
        create_blank(surface, format);
        fill(surface, { 0, 0, SIDE, SIDE }, surface * 0x1234, false);
    }

    void create_blank(uint32_t surface, uint32_t format=SPICE_SURFACE_FMT_32_xRGB)
    {
        create_blank(surface, format, keep<uint32_t[SIDE * SIDE]>());
    }

    void create_blank(uint32_t surface, uint32_t format, void *pixels)
    {
        QXLSurfaceCmd *command = keep<QXLSurfaceCmd>();

        command->surface_id = surface;
        command->type = QXL_SURFACE_CMD_CREATE;
        command->u.surface_create.format = format;
        command->u.surface_create.width = SIDE;
        command->u.surface_create.height = SIDE;
        command->u.surface_create.stride = SIDE * 4;
        command->u.surface_create.data = reinterpret_cast<uintptr_t>(pixels);
        device.push(QXL_CMD_SURFACE, command);
        pictures[surface] = Picture(SIDE, SIDE);
    }

    void destroy(uint32_t surface)
    {
        QXLSurfaceCmd *command = keep<QXLSurfaceCmd>();

        command->surface_id = surface;
        command->type = QXL_SURFACE_CMD_DESTROY;
        device.push(QXL_CMD_SURFACE, command);
        pictures.erase(surface);
    }

    int random(int end)
    {
        return g_rand_int_range(rand, 0, end);
    }

    Box random_box(const Picture &picture)
    {
        const int width = 1 + random(SIDE / 2), height = 1 + random(SIDE / 2);

        return { random(picture.width - width), random(picture.height - height), width, height };
    }

    /* Anything. A number is used for one surface only: the server gives it back some time. */
    void draw_something()
    {
        if (random(100) == 0) {
            create(++last_surface);
        }
        uint32_t surface = random_surface();
        if (surface != 0 && pictures.size() > SURFACES) {
            destroy(surface);
            return;
        }
        const Picture &picture = pictures[surface];
        const Box box = random_box(picture);
        const int left = random(picture.width - box.width);
        const int top = random(picture.height - box.height);

        switch (random(4)) {
        case 0:
            fill(surface, box, random(1 << 24), false);
            break;
        case 1:
            fill(surface, box, random(1 << 24), true);
            break;
        case 2:
            copy_bits(surface, box, left, top);
            break;
        default: {
            const uint32_t from = random_surface();

            if (from != surface) {
                const Picture &source = pictures[from];

                copy(surface, box, from, random(source.width - box.width),
                     random(source.height - box.height));
            }
        }
        }
    }

private:
    uint32_t last_surface = 0;

    template <typename T> T *keep(size_t n=1)
    {
        void *const data = g_malloc0_n(n, sizeof(T));

        memory.push_back(std::shared_ptr<void>(data, g_free));
        return static_cast<T *>(data);
    }

    static QXLRect rect(const Box &box)
    {
        return { box.top, box.left, box.top + box.height, box.left + box.width };
    }

    QXLDrawable *draw(uint32_t surface, const Box &box, uint8_t type, uint8_t effect)
    {
        QXLDrawable *drawable = keep<QXLDrawable>();

        drawable->surface_id = surface;
        drawable->type = type;
        drawable->effect = effect;
        drawable->bbox = rect(box);
        drawable->clip.type = SPICE_CLIP_TYPE_NONE;
        for (int i = 0; i < 3; ++i) {
            drawable->surfaces_dest[i] = -1;
        }
        return drawable;
    }

    uint32_t random_surface()
    {
        auto picture = pictures.begin();

        std::advance(picture, random(pictures.size()));
        return picture->first;
    }
};

/* While the client reads nothing the worker takes all drawings. The client is not disconnected for
 * that, ends with the current screen, and was sent little. */
static void guest_goes_on()
{
    Guest guest;
    Client client(guest.device.server);

    g_assert_true(client.comes_to_show(guest.pictures));
    for (int round = 0; round < 3; ++round) {
        client.received.clear();
        for (int i = 0; i < COMMANDS; ++i) {
            guest.draw_something();
        }
        guest.device.run();
        g_assert_true(client.comes_to_show(guest.pictures));
        unsigned drawn = 0;
        for (const auto &messages : client.received) {
            drawn += messages.second;
        }
        g_assert_cmpuint(drawn, <, COMMANDS / 3);
    }

    /* once it has the current screen, it is sent drawings again */
    const unsigned fills = client.received[SPICE_MSG_DISPLAY_DRAW_FILL];
    for (int i = 0; client.received[SPICE_MSG_DISPLAY_DRAW_FILL] == fills; ++i) {
        g_assert_cmpint(i, <, COMMANDS);
        guest.fill(0, { 0, 0, 10, 10 }, 0x123456, true);
        guest.device.run();
        g_assert_true(client.comes_to_show(guest.pictures));
    }
}

/* One large image takes a while, and what is drawn meanwhile is sent as drawings: its area is not
 * refreshed. @pause: microseconds after each drawing; 0: all are drawn at once. */
static void behind_one_picture(unsigned fills, unsigned long pause)
{
    const Box all = { 0, 0, TEST_QXL_WIDTH, TEST_QXL_HEIGHT };
    const int screen = TEST_QXL_WIDTH * TEST_QXL_HEIGHT;
    Guest guest;
    Client client(guest.device.server);

    g_assert_true(client.reads_until([&] { return client.plain_pixels == screen; }));
    guest.photo(all, 0, 8);
    guest.device.run();
    for (unsigned i = 0; i < fills; ++i) {
        guest.fill(0, all, i, true);
        if (pause) {
            guest.device.run();
            g_usleep(pause);
        }
    }
    if (!pause) {
        guest.device.run();
        g_usleep(2 * RED_CATCH_UP_LATE);
    }
    g_assert_true(client.reads_until([&] {
        return client.received[SPICE_MSG_DISPLAY_DRAW_FILL] == fills;
    }));
    g_assert_cmpint(client.plain_pixels, ==, 2 * screen);
}

static void little_behind_one_picture()
{
    behind_one_picture(5, RED_CATCH_UP_LATE / 2);
}

/* More than the pipe is to hold: the guest does not wait for the image either. */
static void more_behind_one_picture()
{
    behind_one_picture(MOST_BEHIND_ONE - MAX_PIPE_SIZE, 0);
}

/* It draws all the time, the client reads now and then. */
static void client_reads_now_and_then()
{
    Guest guest;
    Client client(guest.device.server);

    for (int round = 0; round < 40; ++round) {
        for (int i = 0; i < COMMANDS / 20; ++i) {
            guest.draw_something();
        }
        guest.device.run();
        client.read_some(guest.random(100));
    }
    g_assert_true(client.comes_to_show(guest.pictures));
}

/* The client copies what scrolls meanwhile as well: it is sent only the new pixels, and these only
 * at their last place. */
static void scrolled_meanwhile(gconstpointer data)
{
    enum { WIDTH = 64, HEIGHT = 200, LINE = 2 };
    const bool is_behind = GPOINTER_TO_INT(data);
    const int before = is_behind ? TOO_MANY : MOST_BEHIND_ONE - MAX_PIPE_SIZE;
    /* with what is new in each they fill the pipe */
    const int copies = is_behind ? 12 : MAX_PIPE_SIZE / 2 + 5;
    std::vector<uint32_t> memory(WIDTH * HEIGHT);
    Guest guest;

    spice_qxl_destroy_primary_surface(&guest.device.qxl, 0);
    guest.device.create_screen(WIDTH, HEIGHT, memory.data());
    guest.pictures[0] = Picture(WIDTH, HEIGHT);
    Client client(guest.device.server);
    for (int i = 0; i < COMMANDS / 100; ++i) {
        guest.fill(0, guest.random_box(guest.pictures[0]), guest.random(1 << 24), false);
    }
    guest.create(1);
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));
    client.received.clear();

    /* more than the socket takes of a client that reads nothing */
    guest.photo({ 0, 0, SIDE, SIDE }, 1, 32);
    guest.device.run();
    client.plain_pixels = -SIDE * SIDE;
    for (int i = 0; i < before; ++i) {
        guest.fill(0, { i % 10, HEIGHT / 2, 10, LINE }, 1 + i, true);
    }
    for (int i = 0; i < copies; ++i) {
        guest.copy_bits(0, { 0, 0, WIDTH, HEIGHT - LINE }, 0, LINE);
        guest.fill(0, { 0, HEIGHT - LINE, WIDTH, LINE }, guest.random(1 << 24), false);
    }
    guest.device.run();
    const auto shows = [&] { return client.pictures[0].shows(guest.pictures[0]); };
    g_assert_true(client.reads_until(shows));
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_DRAW_FILL], <, copies);
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_COPY_BITS], ==, copies);
    g_assert_cmpint(client.plain_pixels, <=, (copies + 2) * LINE * WIDTH);
}

/* Copies on the screen among all else, while it reads a bit of it. */
static void copies_now_and_then()
{
    const uint32_t photos = 9999;
    Guest guest;
    Client client(guest.device.server);
    const auto shows = [&] { return client.pictures[0].shows(guest.pictures[0]); };

    guest.create(photos);
    guest.pictures.erase(photos);
    for (int round = 0; round < 20; ++round) {
        /* more than the socket takes */
        guest.photo({ 0, 0, SIDE, SIDE }, photos, 12);
        for (int i = 2 * MAX_PIPE_SIZE + guest.random(100); i > 0; --i) {
            if (guest.random(2)) {
                const Box box = guest.random_box(guest.pictures[0]);

                guest.copy_bits(0, box, guest.random(TEST_QXL_WIDTH - box.width),
                                guest.random(TEST_QXL_HEIGHT - box.height));
            } else {
                guest.draw_something();
            }
            if (guest.random(20) == 0) {
                guest.device.run();
                client.read_some(guest.random(3));
            }
        }
        guest.device.run();
        if (guest.random(2)) {
            g_assert_true(client.reads_until(shows));
            client.read_for(20);
            g_assert_true(shows());
        }
    }
    g_assert_true(client.reads_until(shows));
}

/* Of surfaces that come and go meanwhile the client hears little. */
static void surfaces_come_and_go()
{
    Guest guest;
    Client client(guest.device.server);

    g_assert_true(client.comes_to_show(guest.pictures));
    client.received.clear();
    for (uint32_t surface = 1; surface < 1000; ++surface) {
        guest.create(surface);
        guest.copy(0, { 5, 5, 20, 20 }, surface, 0, 0);
        guest.destroy(surface);
    }
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_SURFACE_CREATE], <, 300);
}

/* It does not get pictures of surfaces only because something is drawn from them meanwhile. */
static void surfaces_that_are_not_known()
{
    const uint32_t surfaces = 40;
    Guest guest;

    for (uint32_t surface = 1; surface <= surfaces; ++surface) {
        guest.create(surface);
    }
    guest.device.run();
    Client client(guest.device.server);
    client.came_later = true;
    g_assert_true(client.comes_to_show(guest.pictures));

    for (int i = 0; i < COMMANDS; ++i) {
        guest.fill(0, { i % 20, 0, 10, 10 }, i, false);
    }
    for (uint32_t surface = 1; surface <= surfaces; ++surface) {
        guest.copy(0, { 5, 5, 20, 20 }, surface, 0, 0);
    }
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_SURFACE_CREATE], <, surfaces / 2);
}

/* What is taken out of the pipe as its surface goes was the last user of another surface, which goes
 * with it, and out of the pipe, too. */
static void surface_goes_with_its_last_user()
{
    Guest guest;
    Client client(guest.device.server);

    g_assert_true(client.comes_to_show(guest.pictures));
    for (uint32_t surface = 1; surface < 1000; surface += 2) {
        guest.create(surface);
        guest.create_blank(surface + 1);
        guest.copy(surface, { 5, 5, 20, 20 }, surface + 1, 0, 0);
        /* for this the copy is drawn, after which only the pipe has it */
        guest.fill(surface + 1, { 0, 0, SIDE, SIDE }, 0x55, false);
        guest.destroy(surface + 1);
        guest.destroy(surface);
    }
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));
}

/* One client reads nothing, another one comes and goes, the first one goes as well. */
static void clients_of_their_own()
{
    /* looked at when the server is made */
    g_setenv("SPICE_DEBUG_ALLOW_MC", "1", TRUE);
    Guest guest;
    g_unsetenv("SPICE_DEBUG_ALLOW_MC");
    auto client = std::unique_ptr<Client>(new Client(guest.device.server));

    for (int i = 0; i < COMMANDS; ++i) {
        guest.draw_something();
    }
    guest.device.run();
    {
        Client other(guest.device.server);

        other.came_later = true;
        g_assert_true(other.comes_to_show(guest.pictures));
        for (int i = 0; i < COMMANDS; ++i) {
            guest.draw_something();
        }
        guest.device.run();
        g_assert_true(other.comes_to_show(guest.pictures));
    }
    g_assert_true(client->comes_to_show(guest.pictures));
    for (int i = 0; i < COMMANDS; ++i) {
        guest.draw_something();
    }
    guest.device.run();
    client.reset();
    guest.device.run();
}

/* The guest creates a new primary surface while the client has not received the last one. The
 * client reads a little, as the worker waits for the message that is being sent. */
static void another_screen()
{
    Guest guest;
    Client client(guest.device.server);

    g_assert_true(client.comes_to_show(guest.pictures));
    for (int i = 0; i < COMMANDS; ++i) {
        guest.draw_something();
    }
    guest.device.run();
    client.read_while([&] { guest.device.new_screen(); });
    guest.pictures[0] = Picture(TEST_QXL_WIDTH, TEST_QXL_HEIGHT);
    for (int i = 0; i < COMMANDS; ++i) {
        guest.draw_something();
    }
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));
}

/* Two of them come and go while so much waits that a surface which has gone is not told of any
 * more: a client is told nothing of a screen that it does not have. */
static void screens_come_and_go()
{
    Guest guest;
    Client client(guest.device.server);

    g_assert_true(client.comes_to_show(guest.pictures));
    for (uint32_t surface = 1; surface < 1000; ++surface) {
        guest.create(surface);
    }
    guest.device.run();
    client.read_while([&] {
        for (int i = 0; i < 3; ++i) {
            guest.device.new_screen();
        }
    }, false);
    guest.pictures[0] = Picture(TEST_QXL_WIDTH, TEST_QXL_HEIGHT);
    guest.fill(0, { 0, 0, 10, 10 }, 0x123456, false);
    guest.device.run();
    g_assert_true(client.reads_until([&] {
        return client.pictures.count(0) && client.pictures[0].shows(guest.pictures[0]);
    }));
}

/* Memory of a screen, and behind it some that nobody may read. */
struct GuardedScreen
{
    enum { GUARD = 1024 * 1024 };
    const size_t size;
    uint8_t *const memory;
    void *const pixels;

    GuardedScreen(int width, int height):
        size(round_up(width * height * 4)),
        memory(static_cast<uint8_t *>(mmap(nullptr, size + GUARD, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))),
        pixels(memory + size - width * height * 4)
    {
        g_assert_true(memory != MAP_FAILED);
        g_assert_cmpint(mprotect(memory + size, GUARD, PROT_NONE), ==, 0);
    }

    ~GuardedScreen()
    {
        munmap(memory, size + GUARD);
    }

    static size_t round_up(size_t bytes)
    {
        const size_t page = sysconf(_SC_PAGESIZE);

        return (bytes + page - 1) / page * page;
    }
};

/* A smaller screen comes though the one before has not gone, of which the client has not been
 * shown all. Nothing is read from behind the new one. */
static void smaller_screen()
{
    enum { WIDTH = 16, HEIGHT = 16, TILE = 8 };
    GuardedScreen screen(WIDTH, HEIGHT);
    Guest guest;
    Client client(guest.device.server);

    g_assert_true(client.comes_to_show(guest.pictures));
    for (int i = 0; i < COMMANDS; ++i) {
        guest.fill(0, guest.random_box(guest.pictures[0]), guest.random(1 << 24), true);
    }
    /* these do not cover each other, and are not drawn before they have to be: for the first one
     * run() has that done with all before it */
    for (int top = 0; top < TEST_QXL_HEIGHT; top += TILE) {
        for (int left = 0; left < TEST_QXL_WIDTH; left += TILE) {
            guest.fill(0, { left, top, TILE, TILE }, guest.random(1 << 24), false);
        }
    }
    guest.device.run();
    client.read_while([&] { guest.device.create_screen(WIDTH, HEIGHT, screen.pixels); });

    /* what is on the screen comes first */
    guest.create(1);
    guest.device.run();
    g_assert_true(client.reads_until([&] {
        return client.pictures.count(1) && client.pictures[1].shows(guest.pictures[1]);
    }));

    /* if the one before is still there, it is for what was drawn on it */
    client.read_while([&] {
        spice_qxl_oom(&guest.device.qxl);
        guest.device.run();
    });
    guest.pictures[0] = Picture(WIDTH, HEIGHT);
    guest.fill(0, { 0, 0, TILE, TILE }, 0x123456, false);
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));
}

/* A message MIGRATE_DATA of a display's: the client has a surface, which is not exact there, or
 * with @num_surfaces 0 it has none. */
static std::vector<uint8_t> make_known(uint32_t surface, const Box &lossy,
                                       uint32_t num_surfaces = 1)
{
    struct SPICE_ATTR_PACKED {
        SpiceMigrateDataHeader header;
        SpiceMigrateDataDisplay display;
        uint32_t num_surfaces;
        MigrateDisplaySurfaceLossy surface;
    } data = { };

    data.header.magic = SPICE_MIGRATE_DATA_DISPLAY_MAGIC;
    data.header.version = SPICE_MIGRATE_DATA_DISPLAY_VERSION;
    data.display.pixmap_cache_id = 1;
    data.display.pixmap_cache_freezer = 1;
    data.display.pixmap_cache_size = 1 << 20;
    data.display.glz_dict_id = 1;
    data.display.glz_dict_data.size = 1 << 20;
    data.display.glz_dict_data.max_encoders = MIGRATE_DATA_DISPLAY_MAX_CACHE_CLIENTS;
    data.display.surfaces_at_client_ptr = sizeof(data.header) + sizeof(data.display);
    data.num_surfaces = num_surfaces;
    data.surface.id = surface;
    data.surface.lossy_rect = { lossy.left, lossy.top, lossy.left + lossy.width,
                                lossy.top + lossy.height };
    const auto begin = reinterpret_cast<const uint8_t *>(&data);
    return std::vector<uint8_t>(begin, begin + sizeof(data));
}

/* A client comes from another server, and it is the client that says where its picture is not
 * exact, be it of a surface that the guest makes later. Nothing is read from behind that, and what
 * is on it comes once. */
static void lossy_beside_the_surface(gconstpointer data)
{
    enum { LINES = 8 };
    const uint32_t surface = GPOINTER_TO_UINT(data);
    const int width = surface ? int{SIDE} : TEST_QXL_WIDTH;
    const int height = surface ? int{SIDE} : TEST_QXL_HEIGHT;
    GuardedScreen memory(width, height);
    Guest guest;

    spice_server_set_image_compression(guest.device.server, SPICE_IMAGE_COMPRESSION_QUIC);
    spice_server_set_jpeg_compression(guest.device.server, SPICE_WAN_COMPRESSION_ALWAYS);
    if (!surface) {
        spice_qxl_destroy_primary_surface(&guest.device.qxl, 0);
        guest.device.create_screen(width, height, memory.pixels);
    }
    spice_server_vm_stop(guest.device.server);
    Client client(guest.device.server,
                  make_known(surface, { 0, height - LINES, width, 100 * 1000 }));
    spice_server_vm_start(guest.device.server);
    client.pictures[surface] = Picture(width, height);

    if (surface) {
        guest.create_blank(surface, SPICE_SURFACE_FMT_32_xRGB, memory.pixels);
    }
    guest.fill(surface, { 0, 0, 10, 10 }, 0x123456, false);
    guest.device.run();
    g_assert_true(client.reads_until([&] { return client.exact_pixels > 0; }));
    client.read_for(1000);
    g_assert_cmpint(client.exact_pixels, ==, width * LINES);
}

/* While a client migrates here no surface is created for it. Drawings on one that it is not said to
 * have are sent nevertheless, and not kept for later. */
static void drawn_while_it_comes()
{
    Guest guest;
    Client client(guest.device.server, make_known(0, { 0, 0, 0, 0 }, 0));

    client.pictures[0] = Picture(TEST_QXL_WIDTH, TEST_QXL_HEIGHT);
    guest.fill(0, { 0, 0, 10, 10 }, 0x123456, false);
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));
}

/* A lossy surface is destroyed and its number reused before the client is told of the new one:
 * nothing there is looked up for a lossless resend. Only a sanitizer notices. */
static void lossy_surface_comes_again()
{
    Guest guest;

    spice_server_set_image_compression(guest.device.server, SPICE_IMAGE_COMPRESSION_QUIC);
    spice_server_set_jpeg_compression(guest.device.server, SPICE_WAN_COMPRESSION_ALWAYS);
    Client client(guest.device.server, TEST_TCP);
    client.read_for(200);
    guest.create_blank(1);
    guest.photo({ 0, 0, SIDE / 3, SIDE }, 1);
    guest.photo({ SIDE / 2, 0, SIDE / 3, SIDE }, 1);
    guest.device.run();
    g_assert_true(client.reads_until([&] { return client.lossy_pixels == 2 * SIDE / 3 * SIDE; }));
    guest.destroy(1);
    guest.device.run();
    g_assert_true(client.reads_until([&] { return client.pictures.count(1) == 0; }));

    for (int i = 0; i < COMMANDS; ++i) {
        guest.fill(0, guest.random_box(guest.pictures[0]), guest.random(1 << 24), true);
    }
    guest.create(1);
    guest.device.run();
    /* as often as it is asked whether something is to be sent again */
    g_usleep(2 * 250 * 1000);
    g_assert_true(client.reads_until([&] { return client.pictures.count(1) != 0; }));
}

/* A VM that stops waits until a client has the current screen. Off-screen surfaces are sent when
 * something is drawn from them. */
static void stops_for_the_screen_only()
{
    const uint32_t surfaces = 200;
    Guest guest;
    Client client(guest.device.server);

    g_assert_true(client.comes_to_show(guest.pictures));
    for (int i = 0; i < COMMANDS; ++i) {
        guest.fill(0, guest.random_box(guest.pictures[0]), guest.random(1 << 24), true);
    }
    for (uint32_t surface = 1; surface <= surfaces; ++surface) {
        guest.create(surface);
    }
    guest.device.run();
    client.plain_pixels = 0;
    client.read_while([&] { spice_server_vm_stop(guest.device.server); });
    client.read_for(100);
    g_assert_true(client.pictures[0].shows(guest.pictures[0]));
    g_assert_cmpint(client.plain_pixels, <, static_cast<int>(surfaces * SIDE * SIDE / 4));

    spice_server_vm_start(guest.device.server);
    for (uint32_t surface = 1; surface <= surfaces; ++surface) {
        const int left = surface % (TEST_QXL_WIDTH - SIDE);

        guest.fill(surface, { 0, 0, 10, 10 }, 0x654321 + surface, true);
        guest.copy(0, { left, 0, SIDE, SIDE }, surface, 0, 0);
        if (surface % 10 == 0) {
            guest.device.run();
            g_assert_true(client.reads_until([&] {
                return client.pictures[0].shows(guest.pictures[0]);
            }));
        }
    }
    client.came_later = true;
    g_assert_true(client.comes_to_show(guest.pictures));
}

/* It waits until all that waits has been sent, in a mode in which that needs the client's acks,
 * too. */
static void stops_when_all_is_sent()
{
    Guest guest;
    Client client(guest.device.server);
    const auto draw = [&](int fills) {
        for (int i = 0; i < fills; ++i) {
            guest.fill(0, { 0, 0, 10, 10 }, 1 + i, true);
        }
        guest.device.run();
    };
    const auto make_client_ack = [&] {
        client.acks = true;
        do {
            client.ack();
            g_assert_true(client.comes_to_show(guest.pictures));
            draw(1);
            g_assert_true(client.comes_to_show(guest.pictures));
        } while (!client.has_just_acked());
        client.acks = false;
    };

    /* how many are sent until the client has to ack; with flow all are */
    g_assert_true(client.comes_to_show(guest.pictures));
    make_client_ack();
    const unsigned before = client.received[SPICE_MSG_DISPLAY_DRAW_FILL];
    draw(MAX_PIPE_SIZE);
    client.read_for(300);
    const int sent = client.received[SPICE_MSG_DISPLAY_DRAW_FILL] - before;
    make_client_ack();

    /* and so many more fill the pipe, where they grow old */
    draw(sent + MAX_PIPE_SIZE + 1);
    g_usleep(2 * RED_CATCH_UP_LATE);
    std::atomic<bool> has_stopped(false);
    std::thread thread([&] {
        spice_server_vm_stop(guest.device.server);
        has_stopped = true;
    });
    client.read_for(300);
    g_assert_true(!has_stopped || client.pictures[0].shows(guest.pictures[0]));
    client.acks = true;
    client.ack();
    while (!has_stopped) {
        client.read_some(1);
        g_usleep(1000);
    }
    thread.join();
    client.read_for(100);
    g_assert_true(client.pictures[0].shows(guest.pictures[0]));
}

/* The test that calls it, in a process of its own, as the policy is read once a process. */
static void run_with(const char *policy)
{
    g_setenv("SPICE_STREAM", policy, TRUE);
    g_test_trap_subprocess(nullptr, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
    g_setenv("SPICE_STREAM", "flow", TRUE);
    g_test_trap_assert_passed();
}

static void stops_when_all_is_sent_without_flow()
{
    if (g_test_subprocess()) {
        stops_when_all_is_sent();
        return;
    }
    run_with("batch,catchup=on");
}

/* What went as JPEG, as upstream would have sent it, is sent once more if that is asked for, when it is
 * still, though a text cursor blinks elsewhere; not in between while it is drawn again and again. */
static void exact_once(bool is_asked_for)
{
    const Box box = { 0, 0, 40, 40 };
    const int pixels = box.width * box.height;
    Guest guest;

    spice_server_set_image_compression(guest.device.server, SPICE_IMAGE_COMPRESSION_QUIC);
    spice_server_set_jpeg_compression(guest.device.server, SPICE_WAN_COMPRESSION_ALWAYS);
    /* to a Unix socket nothing is compressed */
    Client client(guest.device.server, TEST_TCP);
    client.read_for(500);
    client.exact_pixels = 0;

    int64_t drawn = g_get_monotonic_time();
    for (int i = 1; i <= 4; ++i) {
        const int64_t before = drawn;

        drawn = g_get_monotonic_time();
        guest.photo(box);
        guest.device.run();
        const int64_t replaced = g_get_monotonic_time();
        client.read_for(500);
        if (replaced - before > RED_CATCH_UP_STILL ||
            g_get_monotonic_time() - drawn > RED_CATCH_UP_STILL) {
            g_test_skip("so busy a machine that a photo was still for a second");
            return;
        }
        g_assert_cmpint(client.lossy_pixels, ==, i * pixels);
        g_assert_cmpint(client.exact_pixels, ==, 0);
    }
    for (int i = 0; i < 8; ++i) {
        guest.fill(0, { 50, 0, 2, 10 }, 0xffffff, true);
        guest.device.run();
        client.read_for(400);
    }
    g_assert_cmpint(client.lossy_pixels, ==, 4 * pixels);
    g_assert_cmpint(client.exact_pixels, ==, is_asked_for ? pixels : 0);
}

static void exact_when_asked_for()
{
    if (g_test_subprocess()) {
        exact_once(true);
        return;
    }
    run_with("flow,exact=on");
}

static void lossy_as_upstream_leaves_it()
{
    exact_once(false);
}

/* What a client that is behind was shown as JPEG would have come exactly, so it is sent once more, and
 * so is what was copied from there. */
static void exact_what_was_behind()
{
    const int screen = TEST_QXL_WIDTH * TEST_QXL_HEIGHT;
    const Box corner = { 0, 0, 8, 8 };
    Guest guest;

    spice_server_set_image_compression(guest.device.server, SPICE_IMAGE_COMPRESSION_QUIC);
    spice_server_set_jpeg_compression(guest.device.server, SPICE_WAN_COMPRESSION_ALWAYS);
    Client client(guest.device.server, TEST_TCP);
    client.read_for(300);
    /* more than the socket takes of a client that reads nothing */
    guest.photo({ 0, 0, TEST_QXL_WIDTH, TEST_QXL_HEIGHT }, 0, 32);
    guest.device.run();
    for (int i = 0; i < TOO_MANY; ++i) {
        guest.fill(0, { 0, 0, TEST_QXL_WIDTH, TEST_QXL_HEIGHT }, 1 + i, true);
    }
    guest.device.run();
    client.lossy_pixels = 0;
    client.exact_pixels = 0;
    g_assert_true(client.reads_until([&] { return client.lossy_pixels >= 2 * screen; }));
    g_assert_cmpint(client.exact_pixels, ==, 0);
    guest.copy_bits(0, { 16, 16, corner.width, corner.height }, corner.left, corner.top);
    guest.device.run();
    g_assert_true(client.reads_until([&] { return client.exact_pixels >= screen; }));
    client.read_for(1000);
    g_assert_cmpint(client.exact_pixels, ==, screen);
}

/* Pictures have no format for pixels of 565 or of one bit, which the guest's surfaces may have. */
static void surface_of_another_format(gconstpointer data)
{
    Guest guest;
    Client client(guest.device.server);

    g_assert_true(client.comes_to_show(guest.pictures));
    guest.create(1, GPOINTER_TO_UINT(data));
    for (int i = 0; i < COMMANDS; ++i) {
        guest.fill(0, guest.random_box(guest.pictures[0]), guest.random(1 << 24), true);
        guest.fill(1, { 0, 0, SIDE, SIDE }, i % 2 ? 0xffffff : 0, false);
    }
    guest.device.run();
    if (GPOINTER_TO_UINT(data) == SPICE_SURFACE_FMT_1_A) {
        /* fills do not draw on it, and it has no colours */
        guest.pictures[1] = Picture(SIDE, SIDE);
    }
    g_assert_true(client.comes_to_show(guest.pictures));
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    if (!g_test_subprocess()) {
        g_setenv("SPICE_STREAM", "flow", TRUE);
    }
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));

    g_test_add_func("/server/dcc-refresh/guest-goes-on", guest_goes_on);
    g_test_add_func("/server/dcc-refresh/little-behind-one-picture", little_behind_one_picture);
    g_test_add_func("/server/dcc-refresh/more-behind-one-picture", more_behind_one_picture);
    g_test_add_func("/server/dcc-refresh/client-reads-now-and-then", client_reads_now_and_then);
    g_test_add_data_func("/server/dcc-refresh/scrolled-when-behind", GINT_TO_POINTER(true),
                         scrolled_meanwhile);
    g_test_add_data_func("/server/dcc-refresh/scrolled-until-behind", GINT_TO_POINTER(false),
                         scrolled_meanwhile);
    g_test_add_func("/server/dcc-refresh/copies-now-and-then", copies_now_and_then);
    g_test_add_func("/server/dcc-refresh/surfaces-come-and-go", surfaces_come_and_go);
    g_test_add_func("/server/dcc-refresh/surfaces-that-are-not-known",
                    surfaces_that_are_not_known);
    g_test_add_func("/server/dcc-refresh/surface-goes-with-its-last-user",
                    surface_goes_with_its_last_user);
    g_test_add_func("/server/dcc-refresh/clients-of-their-own", clients_of_their_own);
    g_test_add_func("/server/dcc-refresh/another-screen", another_screen);
    g_test_add_func("/server/dcc-refresh/screens-come-and-go", screens_come_and_go);
    g_test_add_func("/server/dcc-refresh/smaller-screen", smaller_screen);
    g_test_add_data_func("/server/dcc-refresh/lossy-beside-the-screen", GUINT_TO_POINTER(0),
                         lossy_beside_the_surface);
    g_test_add_data_func("/server/dcc-refresh/lossy-beside-a-surface", GUINT_TO_POINTER(1),
                         lossy_beside_the_surface);
    g_test_add_func("/server/dcc-refresh/drawn-while-it-comes", drawn_while_it_comes);
    g_test_add_func("/server/dcc-refresh/lossy-surface-comes-again", lossy_surface_comes_again);
    g_test_add_func("/server/dcc-refresh/stops-for-the-screen-only", stops_for_the_screen_only);
    g_test_add_func("/server/dcc-refresh/stops-when-all-is-sent", stops_when_all_is_sent);
    g_test_add_func("/server/dcc-refresh/stops-when-all-is-sent-without-flow",
                    stops_when_all_is_sent_without_flow);
    g_test_add_func("/server/dcc-refresh/exact-when-asked-for", exact_when_asked_for);
    g_test_add_func("/server/dcc-refresh/lossy-as-upstream-leaves-it",
                    lossy_as_upstream_leaves_it);
    g_test_add_func("/server/dcc-refresh/exact-what-was-behind", exact_what_was_behind);

    g_test_add_data_func("/server/dcc-refresh/surface-of-565",
                         GUINT_TO_POINTER(SPICE_SURFACE_FMT_16_565), surface_of_another_format);
    g_test_add_data_func("/server/dcc-refresh/surface-of-1-bit",
                         GUINT_TO_POINTER(SPICE_SURFACE_FMT_1_A), surface_of_another_format);

    return g_test_run();
}
