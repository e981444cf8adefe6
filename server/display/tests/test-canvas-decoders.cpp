/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A canvas allocates a decoder when it meets the first image that needs it, and draws the decoded
 * image.
 */
#include <config.h>

#include <malloc.h>
#include <vector>

#include <common/quic.h>
#include <common/sw_canvas.h>

#include "test-glib-compat.h"

#include "push-visibility.h"

enum { WIDTH = 16, HEIGHT = 8 };

using Pixels = std::vector<uint32_t>;

SPICE_GNUC_NORETURN SPICE_GNUC_PRINTF(2, 3)
static void fail(QuicUsrContext *usr, const char *format, ...)
{
    g_error("%s", format);
}

SPICE_GNUC_PRINTF(2, 3) static void say(QuicUsrContext *usr, const char *format, ...)
{
}

static void *take(QuicUsrContext *usr, int size)
{
    return g_malloc(size);
}

static void give_back(QuicUsrContext *usr, void *memory)
{
    g_free(memory);
}

static int no_more_space(QuicUsrContext *usr, uint32_t **space, int rows_completed)
{
    return 0;
}

static int no_more_lines(QuicUsrContext *usr, uint8_t **lines)
{
    return 0;
}

static uint32_t encode(Pixels picture, uint32_t *space, uint32_t words)
{
    QuicUsrContext usr = { fail, say, say, take, give_back, no_more_space, no_more_lines };
    QuicContext *encoder = quic_create(&usr);
    const int used = quic_encode(encoder, QUIC_IMAGE_TYPE_RGB32, WIDTH, HEIGHT,
                                 reinterpret_cast<uint8_t *>(picture.data()), HEIGHT, WIDTH * 4,
                                 space, words);

    g_assert_cmpint(used, >, 0);
    quic_destroy(encoder);
    return used * 4;
}

static Pixels make_picture(uint32_t seed)
{
    GRand *rand = g_rand_new_with_seed(seed);
    Pixels picture;

    for (int i = 0; i < WIDTH * HEIGHT; ++i) {
        picture.push_back(g_rand_int(rand) & 0xffffff);
    }
    g_rand_free(rand);
    return picture;
}

static SpiceCanvas *create_canvas(Pixels &pixels)
{
    return canvas_create_for_data(WIDTH, HEIGHT, SPICE_SURFACE_FMT_32_xRGB,
                                  reinterpret_cast<uint8_t *>(pixels.data()), WIDTH * 4,
                                  nullptr, nullptr, nullptr, nullptr, nullptr);
}

static void draw(SpiceCanvas *canvas, const Pixels &picture)
{
    uint32_t space[4 * WIDTH * HEIGHT];
    const uint32_t size = encode(picture, space, G_N_ELEMENTS(space));
    SpiceChunks *chunks = spice_chunks_new_linear(reinterpret_cast<uint8_t *>(space), size);
    SpiceRect box = { 0, 0, WIDTH, HEIGHT };
    SpiceClip clip = { SPICE_CLIP_TYPE_NONE, nullptr };
    SpiceImage image = {};
    SpiceCopy copy = {};

    image.descriptor.type = SPICE_IMAGE_TYPE_QUIC;
    image.descriptor.width = WIDTH;
    image.descriptor.height = HEIGHT;
    image.u.quic.data_size = size;
    image.u.quic.data = chunks;
    copy.src_bitmap = &image;
    copy.src_area = box;
    copy.rop_descriptor = SPICE_ROPD_OP_PUT;
    canvas->ops->draw_copy(canvas, &box, &clip, &copy);
    spice_chunks_destroy(chunks);
}

static void decodes()
{
    Pixels pixels(WIDTH * HEIGHT);
    SpiceCanvas *canvas = create_canvas(pixels);

    for (uint32_t seed : { 1, 2, 3 }) {
        const Pixels picture = make_picture(seed);

        draw(canvas, picture);
        for (int i = 0; i < WIDTH * HEIGHT; ++i) {
            g_assert_cmphex(pixels[i] & 0xffffff, ==, picture[i]);
        }
    }
    canvas->ops->destroy(canvas);
}

static void takes_little()
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    Pixels pixels(WIDTH * HEIGHT);
    const auto before = mallinfo2();
    SpiceCanvas *canvas = create_canvas(pixels);
    const auto after = mallinfo2();

    g_assert_cmpuint(after.uordblks + after.hblkhd, <, before.uordblks + before.hblkhd + 16384);
    canvas->ops->destroy(canvas);
#else
    g_test_skip("the C library does not tell what is allocated");
#endif
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/canvas-decoders/takes-little", takes_little);
    g_test_add_func("/server/canvas-decoders/decodes", decodes);
    return g_test_run();
}
