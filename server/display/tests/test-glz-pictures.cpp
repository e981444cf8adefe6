/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Images of the screen that a client is sent go into the GLZ dictionary: one that resembles an
 * earlier one is small. The dictionary is bounded, and its memory is freed.
 */
#include <config.h>

#include <vector>

#include "image-encoders.h"
#include "test-drawing.h"
#include "test-link.h"

#include "push-visibility.h"

/* No line is like another, and none looks like a photo, which would not go into the dictionary. */
static void fill_with_noise(std::vector<uint32_t> *pixels, uint32_t seed)
{
    GRand *rand = g_rand_new_with_seed(seed);

    for (auto &pixel : *pixels) {
        pixel = g_rand_int(rand) & 0xffffff;
    }
    g_rand_free(rand);
}

struct Guest
{
    /* the guest's memory, which is there as long as the device */
    std::vector<uint32_t> screen;
    std::vector<uint32_t> noise;
    QXLSurfaceCmd surfaces[2] = {};
    QXLDrawable drawables[2] = {};
    SurfaceImage images[2];
    TestDevice device;

    Guest():
        screen(TEST_QXL_WIDTH * TEST_QXL_HEIGHT),
        noise(SIDE * SIDE)
    {
        fill_with_noise(&screen, 0);
        fill_with_noise(&noise, 1);
        spice_server_set_image_compression(device.server, SPICE_IMAGE_COMPRESSION_AUTO_GLZ);
        g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
        device.run();
    }

    /* The screen goes, and comes again with what it shows. */
    void show_screen()
    {
        QXLDevSurfaceCreate surface = {};

        spice_qxl_destroy_primary_surface(&device.qxl, 0);
        surface.width = TEST_QXL_WIDTH;
        surface.height = TEST_QXL_HEIGHT;
        surface.stride = TEST_QXL_WIDTH * 4;
        surface.format = SPICE_SURFACE_FMT_32_xRGB;
        surface.flags = QXL_SURF_FLAG_KEEP_DATA;
        surface.mem = reinterpret_cast<uintptr_t>(screen.data());
        spice_qxl_create_primary_surface(&device.qxl, 0, &surface);
    }

    /* A client is told of a surface when the screen is drawn from it. */
    void draw_from(int i)
    {
        QXLSurfaceCmd &surface = surfaces[i];
        QXLDrawable &drawable = drawables[i];
        const uint32_t id = SURFACE + i;

        surface.surface_id = id;
        surface.type = QXL_SURFACE_CMD_CREATE;
        surface.flags = QXL_SURF_FLAG_KEEP_DATA;
        surface.u.surface_create.format = SPICE_SURFACE_FMT_32_xRGB;
        surface.u.surface_create.width = surface.u.surface_create.height = SIDE;
        surface.u.surface_create.stride = SIDE * 4;
        surface.u.surface_create.data = reinterpret_cast<uintptr_t>(noise.data());

        images[i].surface_image.surface_id = id;
        drawable.type = QXL_DRAW_COPY;
        drawable.bbox = { 0, 0, SIDE, SIDE };
        drawable.u.copy.src_area = drawable.bbox;
        drawable.u.copy.src_bitmap = images[i].address();
        drawable.u.copy.rop_descriptor = SPICE_ROPD_OP_PUT;
        memset(drawable.surfaces_dest, 0xff, sizeof(drawable.surfaces_dest));
        drawable.surfaces_dest[0] = id;
        drawable.surfaces_rects[0] = drawable.bbox;

        device.push(QXL_CMD_SURFACE, &surface);
        device.push(QXL_CMD_DRAW, &drawable);
        device.run();
    }
};

struct Client: TestDisplayClient
{
    explicit Client(SpiceServer *server):
        TestDisplayClient(server)
    {
        next_picture(0);
    }

    /* Returns the size of the next message that draws on this surface. */
    size_t next_picture(uint32_t surface_id)
    {
        for (;;) {
            const TestLinkMessage message = display.next_message();
            uint32_t drawn_on;

            if (message.type == SPICE_MSG_DISPLAY_DRAW_COPY) {
                memcpy(&drawn_on, message.body.data(), sizeof(drawn_on));
                if (GUINT32_FROM_LE(drawn_on) == surface_id) {
                    return message.body.size();
                }
            }
        }
    }
};

static void a_screen_like_the_last_is_small()
{
    Guest guest;
    Client client(guest.device.server);

    guest.show_screen();
    const size_t first = client.next_picture(0);
    guest.show_screen();
    const size_t second = client.next_picture(0);

    g_assert_cmpuint(first, >, TEST_QXL_WIDTH * TEST_QXL_HEIGHT * 3);
    g_assert_cmpuint(second, <, first / 8);
}

/* The dictionary takes pixels for the same that differ in the high byte, which may be another
 * surface's alpha. */
static void another_surface_is_sent_as_it_is()
{
    Guest guest;
    Client client(guest.device.server);

    for (int i = 0; i < 2; ++i) {
        guest.draw_from(i);
        g_assert_cmpuint(client.next_picture(SURFACE + i), >, SIDE * SIDE * 3);
    }
}

/* The part of a display's client that compresses, with a dictionary of this many pixels. */
struct Encoders
{
    ImageEncoderSharedData shared_data = {};
    ImageEncoders enc = {};

    explicit Encoders(int window)
    {
        image_encoder_shared_init(&shared_data);
        image_encoders_init(&enc, &shared_data);
        g_assert_true(image_encoders_get_glz_dictionary(&enc, nullptr, 1, window));
        g_assert_true(image_encoders_glz_create(&enc, 1));
    }

    ~Encoders()
    {
        image_encoders_free(&enc);
    }
};

/* A picture, and how many there are. */
struct Owner final: public RedPipeItem
{
    std::vector<uint32_t> pixels;

    Owner(uint32_t n_pixels, uint32_t seed):
        RedPipeItem(0),
        pixels(n_pixels)
    {
        fill_with_noise(&pixels, seed);
        ++alive;
    }

    ~Owner()
    {
        --alive;
    }

    static unsigned alive;
};

unsigned Owner::alive;

/* Returns false if it is not for the dictionary. */
static bool compress(ImageEncoders *enc, Owner *owner, uint32_t width, uint32_t height)
{
    SpiceImage image = {};
    SpiceBitmap bitmap = {};
    compress_send_data_t out = {};

    bitmap.format = SPICE_BITMAP_FMT_32BIT;
    bitmap.flags = SPICE_BITMAP_FLAGS_TOP_DOWN;
    bitmap.x = width;
    bitmap.y = height;
    bitmap.stride = width * 4;
    bitmap.data = spice_chunks_new_linear(reinterpret_cast<uint8_t *>(owner->pixels.data()),
                                          width * height * 4);
    const bool done = image_encoders_compress_glz_picture(enc, &image, &bitmap, owner, &out, FALSE);
    spice_chunks_destroy(bitmap.data);
    if (done) {
        g_assert_cmpuint(image.descriptor.type, ==, SPICE_IMAGE_TYPE_GLZ_RGB);
    }
    for (RedCompressBuf *buf = out.comp_buf; buf; ) {
        RedCompressBuf *next = buf->send_next;

        compress_buf_free(buf);
        buf = next;
    }
    return done;
}

/* Compresses pictures of noise, one after the other. */
static void compress_some(ImageEncoders *enc, int n, uint32_t width, uint32_t height)
{
    for (int i = 0; i < n; ++i) {
        red::shared_ptr<Owner> owner(new Owner(width * height, i));

        g_assert_true(compress(enc, owner.get(), width, height));
    }
}

enum {
    SMALL_SIDE = 128, SMALL = SMALL_SIDE * SMALL_SIDE,
    /* of more pixels times lines than 32 bits hold */
    WIDE = 2560, HIGH = 1440,
    /* of pictures that are kept, in bytes */
    LIMIT = 32 * 1024 * 1024,
};

/* What the client cannot look back to any more is given back, and at the end all of it. */
static void the_window_bounds_pictures()
{
    {
        Encoders encoders(4 * SMALL);

        compress_some(&encoders.enc, 20, SMALL_SIDE, SMALL_SIDE);
        g_assert_cmpuint(Owner::alive, >=, 1);
        g_assert_cmpuint(Owner::alive, <=, 4);
    }
    {
        Encoders encoders(WIDE * HIGH * 3 / 2);

        compress_some(&encoders.enc, 2, WIDE, HIGH);
        g_assert_cmpuint(Owner::alive, ==, 1);
    }
    g_assert_cmpuint(Owner::alive, ==, 0);
}

/* A client may say that it looks back to more than is worth to be kept for it. */
static void memory_bounds_pictures()
{
    {
        Encoders encoders(LZ_MAX_WINDOW_SIZE);
        const unsigned most = LIMIT / (SMALL * 4);

        compress_some(&encoders.enc, most + 4, SMALL_SIDE, SMALL_SIDE);
        g_assert_cmpuint(Owner::alive, ==, most);

        /* a large one takes the place of as many as it needs */
        compress_some(&encoders.enc, 1, WIDE, HIGH);
        g_assert_cmpuint(Owner::alive, ==, most - (WIDE * HIGH + SMALL - 1) / SMALL + 1);

        /* one that is too large takes nobody's */
        const unsigned before = Owner::alive;
        red::shared_ptr<Owner> owner(new Owner(LIMIT / 4 + HIGH, 0));
        g_assert_false(compress(&encoders.enc, owner.get(), LIMIT / 4 / HIGH + 1, HIGH));
        owner.reset();
        g_assert_cmpuint(Owner::alive, ==, before);
    }
    g_assert_cmpuint(Owner::alive, ==, 0);
}

/* A guest that is short of memory gets none of its own back by a picture. */
static void pictures_are_not_the_guests()
{
    Encoders encoders(16 * SMALL);

    compress_some(&encoders.enc, 8, SMALL_SIDE, SMALL_SIDE);
    g_assert_cmpint(image_encoders_free_some_independent_glz_drawables(&encoders.enc), ==, 0);
    g_assert_cmpuint(Owner::alive, ==, 8);
}

/* One that is as large as all that a client looks back to goes another way, and nobody keeps it. */
static void too_large_for_the_window()
{
    Encoders encoders(SMALL);
    red::shared_ptr<Owner> owner(new Owner(SMALL, 0));

    g_assert_false(compress(&encoders.enc, owner.get(), SMALL_SIDE, SMALL_SIDE));
    owner.reset();
    g_assert_cmpuint(Owner::alive, ==, 0);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));

    g_test_add_func("/server/glz-pictures/screen", a_screen_like_the_last_is_small);
    g_test_add_func("/server/glz-pictures/surface", another_surface_is_sent_as_it_is);
    g_test_add_func("/server/glz-pictures/window", the_window_bounds_pictures);
    g_test_add_func("/server/glz-pictures/memory", memory_bounds_pictures);
    g_test_add_func("/server/glz-pictures/guest", pictures_are_not_the_guests);
    g_test_add_func("/server/glz-pictures/too-large", too_large_for_the_window);

    return g_test_run();
}
