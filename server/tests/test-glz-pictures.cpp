/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The pictures of a surface that a client is sent are in the dictionary: one that is like one
 * before is small. What the dictionary holds has an end, and is given back.
 */
#include <config.h>

#include <memory>

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

/* Surfaces that look the same, of which the client is told when the screen is drawn from them. */
struct Surfaces
{
    enum { COUNT = 2 };

    std::vector<uint32_t> noise;
    QXLSurfaceCmd surfaces[COUNT] = {};
    QXLDrawable drawables[COUNT] = {};
    SurfaceImage images[COUNT];
    TestDevice device;

    Surfaces():
        noise(SIDE * SIDE)
    {
        fill_with_noise(&noise, 1);
        spice_server_set_image_compression(device.server, SPICE_IMAGE_COMPRESSION_AUTO_GLZ);
        g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
        device.run();
    }

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

/* Bytes of the next message that draws on this surface. */
static size_t picture_size(TestLink *display, uint32_t surface_id)
{
    for (;;) {
        const TestLinkMessage message = display->next_message();
        uint32_t id;

        if (message.type == SPICE_MSG_DISPLAY_DRAW_COPY) {
            memcpy(&id, message.body.data(), sizeof(id));
            if (GUINT32_FROM_LE(id) == surface_id) {
                return message.body.size();
            }
        }
    }
}

static void a_picture_like_another_is_small()
{
    Surfaces guest;
    TestLink main(guest.device.server, SPICE_CHANNEL_MAIN);

    g_assert_cmpint(main.authenticate(""), ==, SPICE_LINK_ERR_OK);
    TestLink display(guest.device.server, SPICE_CHANNEL_DISPLAY, main.session_id());
    g_assert_cmpint(display.authenticate(""), ==, SPICE_LINK_ERR_OK);
    display.say_display_init();
    picture_size(&display, 0);

    guest.draw_from(0);
    const size_t first = picture_size(&display, SURFACE);
    guest.draw_from(1);
    const size_t second = picture_size(&display, SURFACE + 1);

    g_assert_cmpuint(first, >, SIDE * SIDE * 3);
    g_assert_cmpuint(second, <, first / 8);
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

    Owner(uint32_t side, uint32_t seed):
        RedPipeItem(0),
        pixels(side * side)
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
static bool compress(ImageEncoders *enc, Owner *owner, uint32_t side)
{
    SpiceImage image = {};
    SpiceBitmap bitmap = {};
    compress_send_data_t out = {};

    bitmap.format = SPICE_BITMAP_FMT_32BIT;
    bitmap.flags = SPICE_BITMAP_FLAGS_TOP_DOWN;
    bitmap.x = bitmap.y = side;
    bitmap.stride = side * 4;
    bitmap.data = spice_chunks_new_linear(reinterpret_cast<uint8_t *>(owner->pixels.data()),
                                          side * side * 4);
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

enum { LARGE_SIDE = 512, LARGE = LARGE_SIDE * LARGE_SIDE };

/* What the client cannot look back to any more is given back, and at the end all of it. */
static void the_window_bounds_pictures()
{
    {
        Encoders encoders(4 * LARGE);

        for (int i = 0; i < 20; ++i) {
            red::shared_ptr<Owner> owner(new Owner(LARGE_SIDE, i));

            g_assert_true(compress(&encoders.enc, owner.get(), LARGE_SIDE));
        }
        g_assert_cmpuint(Owner::alive, >=, 1);
        g_assert_cmpuint(Owner::alive, <=, 4);
    }
    g_assert_cmpuint(Owner::alive, ==, 0);
}

/* A client may say that it looks back to more than is worth to be kept for it. */
static void memory_bounds_pictures()
{
    {
        Encoders encoders(LZ_MAX_WINDOW_SIZE);

        for (int i = 0; i < 48; ++i) {
            red::shared_ptr<Owner> owner(new Owner(LARGE_SIDE, i));

            g_assert_true(compress(&encoders.enc, owner.get(), LARGE_SIDE));
            g_assert_cmpuint(Owner::alive * LARGE * 4, <=, 32 * 1024 * 1024);
        }
    }
    g_assert_cmpuint(Owner::alive, ==, 0);
}

/* One that is as large as all that a client looks back to goes another way, and nobody keeps it. */
static void too_large_a_picture_is_refused()
{
    Encoders encoders(LARGE);
    red::shared_ptr<Owner> owner(new Owner(LARGE_SIDE, 0));

    g_assert_false(compress(&encoders.enc, owner.get(), LARGE_SIDE));
    owner.reset();
    g_assert_cmpuint(Owner::alive, ==, 0);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));

    g_test_add_func("/server/glz-pictures/alike", a_picture_like_another_is_small);
    g_test_add_func("/server/glz-pictures/window", the_window_bounds_pictures);
    g_test_add_func("/server/glz-pictures/memory", memory_bounds_pictures);
    g_test_add_func("/server/glz-pictures/too-large", too_large_a_picture_is_refused);

    return g_test_run();
}
