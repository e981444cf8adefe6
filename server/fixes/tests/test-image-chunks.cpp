/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A guest may cut the data of a bitmap into chunks anywhere, also in the middle of a
 * line: each encoder takes such a bitmap, and makes the same of it as of a whole one.
 * What is in whole lines is not copied.
 */
#include <config.h>

#include <vector>

#include "image-encoders.h"
#include "test-glib-compat.h"
#include "test-memslot.h"

#include "push-visibility.h"

enum { WIDTH = 40, HEIGHT = 30, STRIDE = WIDTH * 4 };

/* The picture, cut into chunks of these sizes. */
struct Picture
{
    QXLDrawable drawable = {};
    QXLImage image = {};
    std::vector<QXLDataChunk *> chunks;
    TestSlots slots;
    red::shared_ptr<RedDrawable> red_drawable;

    explicit Picture(const std::vector<uint32_t> &sizes)
    {
        uint32_t at = 0;

        for (uint32_t size : sizes) {
            auto chunk = static_cast<QXLDataChunk *>(g_malloc0(sizeof(QXLDataChunk) + size));
            chunk->data_size = size;
            for (uint32_t i = 0; i < size; ++i, ++at) {
                chunk->data[i] = at % 4 == 3 ? 0 : at / STRIDE * 3 + at % 7;
            }
            if (!chunks.empty()) {
                chunks.back()->next_chunk = to_physical(chunk);
                chunk->prev_chunk = to_physical(chunks.back());
            }
            chunks.push_back(chunk);
        }
        g_assert_cmpuint(at, ==, STRIDE * HEIGHT);

        image.descriptor.type = SPICE_IMAGE_TYPE_BITMAP;
        image.descriptor.width = image.bitmap.x = WIDTH;
        image.descriptor.height = image.bitmap.y = HEIGHT;
        image.bitmap.format = SPICE_BITMAP_FMT_32BIT;
        image.bitmap.flags = QXL_BITMAP_TOP_DOWN;
        image.bitmap.stride = STRIDE;
        image.bitmap.data = to_physical(chunks[0]);
        drawable.type = QXL_DRAW_COPY;
        drawable.u.copy.src_bitmap = to_physical(&image);
        drawable.u.copy.src_area.right = WIDTH;
        drawable.u.copy.src_area.bottom = HEIGHT;

        red_drawable = slots.parse(drawable);
        g_assert_true(red_drawable);
    }

    ~Picture()
    {
        red_drawable.reset();
        for (QXLDataChunk *chunk : chunks) {
            g_free(chunk);
        }
    }

    SpiceBitmap *get_bitmap() { return &red_drawable->u.copy.src_bitmap->u.bitmap; }
};

using Compress = bool (*)(ImageEncoders *, SpiceImage *, SpiceBitmap *, compress_send_data_t *);

/* Returns a hash of the compressed data. */
static char *compress(Compress compress_image, SpiceBitmap *bitmap)
{
    ImageEncoderSharedData shared = {};
    ImageEncoders encoders = {};
    SpiceImage image = {};
    compress_send_data_t sent = {};

    image_encoder_shared_init(&shared);
    image_encoders_init(&encoders, &shared);
    encoders.jpeg_quality = 80;
    g_assert_true(compress_image(&encoders, &image, bitmap, &sent));

    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
    uint32_t left = sent.comp_buf_size;
    for (RedCompressBuf *buf = sent.comp_buf, *next; buf; buf = next) {
        const uint32_t size = MIN(left, sizeof(buf->buf));

        g_checksum_update(sum, buf->buf.bytes, size);
        left -= size;
        next = buf->send_next;
        compress_buf_free(buf);
    }
    g_assert_cmpuint(left, ==, 0);
    char *result = g_strdup(g_checksum_get_string(sum));
    g_checksum_free(sum);
    image_encoders_free(&encoders);
    return result;
}

static void check(gconstpointer data)
{
    const auto compress_image = *static_cast<const Compress *>(data);
    const uint32_t size = STRIDE * HEIGHT;
    Picture whole({ size });
    Picture lines({ STRIDE, STRIDE * 9, size - STRIDE * 10 });
    Picture cut({ 7, STRIDE - 1, STRIDE * 3, 2, size - STRIDE * 4 - 8 });

    char *expected = compress(compress_image, whole.get_bitmap());
    char *result = compress(compress_image, cut.get_bitmap());
    g_assert_cmpstr(result, ==, expected);
    g_free(result);

    /* the first chunk is empty */
    Picture late({ 0, size });
    result = compress(compress_image, late.get_bitmap());
    g_assert_cmpstr(result, ==, expected);
    g_free(result);
    g_free(expected);

    /* an encoder may make something else of chunks that it can use as they are */
    g_free(compress(compress_image, lines.get_bitmap()));
    g_assert_cmpuint(lines.get_bitmap()->data->num_chunks, ==, 3);
}

int main(int argc, char *argv[])
{
    static const Compress quic = image_encoders_compress_quic;
    static const Compress lz = image_encoders_compress_lz;
    static const Compress jpeg = image_encoders_compress_jpeg;

    g_test_init(&argc, &argv, nullptr);
    g_test_add_data_func("/server/image-chunks/quic", &quic, check);
    g_test_add_data_func("/server/image-chunks/lz", &lz, check);
    g_test_add_data_func("/server/image-chunks/jpeg", &jpeg, check);
#ifdef USE_LZ4
    static const Compress lz4 = image_encoders_compress_lz4;
    g_test_add_data_func("/server/image-chunks/lz4", &lz4, check);
#endif
    return g_test_run();
}
