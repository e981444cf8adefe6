/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A drawing whose QUIC image cannot be decoded is not drawn. The server goes on.
 */
#include <config.h>

#include <cstdlib>

#include <common/quic.h>

#include "test-drawing.h"

#include "push-visibility.h"

/* the header of a QUIC image */
enum { MAGIC_WORD, VERSION_WORD, TYPE_WORD, WIDTH_WORD, HEIGHT_WORD, HEADER_WORDS };

enum { MAX_WORDS = 2 * SIDE * SIDE };

/* Compresses an image with noise, which QUIC does not make much smaller. */
static std::vector<uint32_t> compress()
{
    struct Usr: QuicUsrContext
    {
        static void G_GNUC_NORETURN fail(QuicUsrContext *, const char *message, ...)
        {
            g_error("%s", message);
        }
    } usr;
    std::vector<uint32_t> pixels(SIDE * SIDE), words(MAX_WORDS);

    for (uint32_t i = 0; i < pixels.size(); ++i) {
        pixels[i] = (i + 1) * 2654435761u >> 8 | 0x808080;
    }
    usr.error = Usr::fail;
    usr.warn = usr.info = Usr::fail;
    usr.malloc = [](QuicUsrContext *, int size) { return malloc(size); };
    usr.free = [](QuicUsrContext *, void *memory) { free(memory); };
    usr.more_space = [](QuicUsrContext *, uint32_t **, int) { return 0; };
    usr.more_lines = [](QuicUsrContext *, uint8_t **) { return 0; };

    QuicContext *quic = quic_create(&usr);
    const int size =
        quic_encode(quic, QUIC_IMAGE_TYPE_RGB32, SIDE, SIDE,
                    reinterpret_cast<uint8_t *>(pixels.data()),
                                 SIDE, SIDE * 4, words.data(), words.size());
    g_assert_cmpint(size, >, SIDE * SIDE / 2);
    quic_destroy(quic);
    words.resize(size);
    return words;
}

/* The guest's image: @bytes of @words, in one chunk. */
struct QuicImage
{
    /* so that the words are aligned, which the decoder reads as such */
    enum {
        HEADERS = sizeof(QXLImageDescriptor) + sizeof(QXLQUICData) + sizeof(QXLDataChunk),
        PADDING = HEADERS % sizeof(uint32_t),
    };
    std::vector<uint8_t> memory;

    QuicImage(const std::vector<uint32_t> &words, size_t bytes):
        memory(PADDING + sizeof(QXLImage) + sizeof(QXLDataChunk) + words.size() * sizeof(uint32_t))
    {
        auto image = reinterpret_cast<QXLImage *>(memory.data() + PADDING);
        auto chunk = reinterpret_cast<QXLDataChunk *>(image->quic.data);

        image->descriptor.type = SPICE_IMAGE_TYPE_QUIC;
        image->descriptor.width = image->descriptor.height = SIDE;
        image->quic.data_size = chunk->data_size = bytes;
        memcpy(chunk->data, words.data(), bytes);
    }

    QXLPHYSICAL address() const
    {
        return reinterpret_cast<uintptr_t>(memory.data() + PADDING);
    }
};

static const QXLRect all = { 0, 0, SIDE, SIDE }, quarter = { 0, 0, SIDE / 2, SIDE / 2 };
/* of composites: the operator is in the lowest bits */
enum { OVER = 3 };

/* A line from corner to corner. */
static QXLPHYSICAL line()
{
    static struct
    {
        QXLPath path;
        uint32_t numbers[6];
    } line = {};
    static const uint32_t numbers[] =
        { SPICE_PATH_BEGIN | SPICE_PATH_END, 2, 0, 0, SIDE << 4, SIDE << 4 };

    line.path.data_size = line.path.chunk.data_size = sizeof(numbers);
    memcpy(line.path.chunk.data, numbers, sizeof(numbers));
    return reinterpret_cast<uintptr_t>(&line);
}

static const WhiteGlyph glyph;

static void set_brush(QXLBrush *brush, QXLPHYSICAL image)
{
    brush->type = SPICE_BRUSH_TYPE_PATTERN;
    brush->u.pattern.pat = image;
}

static void set_copy(QXLDrawable *drawable, QXLPHYSICAL image, const QXLRect &area,
                     uint16_t operation)
{
    drawable->u.copy.src_bitmap = image;
    drawable->u.copy.src_area = area;
    drawable->u.copy.rop_descriptor = operation;
}

typedef void Prepare(QXLDrawable *drawable, QXLPHYSICAL image);

/* Each draws @image, which is not black. */
static const struct
{
    uint8_t type;
    Prepare *prepare;
} drawings[] = {
    { QXL_DRAW_COPY, [](QXLDrawable *drawable, QXLPHYSICAL image) {
        set_copy(drawable, image, all, SPICE_ROPD_OP_PUT);
    } },
    { QXL_DRAW_COPY, [](QXLDrawable *drawable, QXLPHYSICAL image) {
        set_copy(drawable, image, quarter, SPICE_ROPD_OP_PUT);
    } },
    { QXL_DRAW_BLEND, [](QXLDrawable *drawable, QXLPHYSICAL image) {
        set_copy(drawable, image, all, SPICE_ROPD_OP_OR);
    } },
    { QXL_DRAW_OPAQUE, [](QXLDrawable *drawable, QXLPHYSICAL image) {
        drawable->u.opaque.src_bitmap = image;
        drawable->u.opaque.src_area = all;
        drawable->u.opaque.brush.type = SPICE_BRUSH_TYPE_SOLID;
        drawable->u.opaque.rop_descriptor = SPICE_ROPD_OP_OR;
    } },
    { QXL_DRAW_TRANSPARENT, [](QXLDrawable *drawable, QXLPHYSICAL image) {
        drawable->u.transparent.src_bitmap = image;
        drawable->u.transparent.src_area = all;
    } },
    { QXL_DRAW_ALPHA_BLEND, [](QXLDrawable *drawable, QXLPHYSICAL image) {
        drawable->u.alpha_blend.src_bitmap = image;
        drawable->u.alpha_blend.src_area = all;
        drawable->u.alpha_blend.alpha = 0xff;
    } },
    { QXL_DRAW_FILL, [](QXLDrawable *drawable, QXLPHYSICAL image) {
        set_brush(&drawable->u.fill.brush, image);
        drawable->u.fill.rop_descriptor = SPICE_ROPD_OP_PUT;
    } },
    { QXL_DRAW_STROKE, [](QXLDrawable *drawable, QXLPHYSICAL image) {
        drawable->u.stroke.path = line();
        set_brush(&drawable->u.stroke.brush, image);
        drawable->u.stroke.fore_mode = SPICE_ROPD_OP_PUT;
    } },
    { QXL_DRAW_ROP3, [](QXLDrawable *drawable, QXLPHYSICAL image) {
        drawable->u.rop3.src_bitmap = image;
        drawable->u.rop3.src_area = all;
        drawable->u.rop3.brush.type = SPICE_BRUSH_TYPE_SOLID;
        drawable->u.rop3.rop3 = 0xfe;   /* or */
    } },
    { QXL_DRAW_ROP3, [](QXLDrawable *drawable, QXLPHYSICAL image) {
        static const SurfaceImage surface;

        drawable->u.rop3.src_bitmap = surface.address();
        drawable->u.rop3.src_area = all;
        set_brush(&drawable->u.rop3.brush, image);
        drawable->u.rop3.rop3 = 0xfe;
    } },
    { QXL_DRAW_TEXT, [](QXLDrawable *drawable, QXLPHYSICAL image) {
        drawable->u.text.str = glyph.address();
        set_brush(&drawable->u.text.fore_brush, image);
        drawable->u.text.fore_mode = SPICE_ROPD_OP_PUT;
    } },
    { QXL_DRAW_TEXT, [](QXLDrawable *drawable, QXLPHYSICAL image) {
        drawable->u.text.str = glyph.address();
        drawable->u.text.fore_mode = SPICE_ROPD_OP_PUT;
        drawable->u.text.back_area = all;
        set_brush(&drawable->u.text.back_brush, image);
    } },
    { QXL_DRAW_COMPOSITE, [](QXLDrawable *drawable, QXLPHYSICAL image) {
        drawable->u.composite.src = image;
        drawable->u.composite.flags = OVER;
    } },
    { QXL_DRAW_COMPOSITE, [](QXLDrawable *drawable, QXLPHYSICAL image) {
        static const std::vector<uint8_t> white(SIDE * SIDE * 4, 0xff);
        static const BitmapImage source(SPICE_BITMAP_FMT_32BIT, white.data(), SIDE * 4);

        drawable->u.composite.src = source.address();
        drawable->u.composite.mask = image;
        drawable->u.composite.flags =
            OVER | SPICE_COMPOSITE_HAS_MASK | SPICE_COMPOSITE_COMPONENT_ALPHA;
    } },
};

static bool draws(uint8_t type, Prepare *prepare, const QuicImage &image)
{
    DrawingGuest guest;
    const uint32_t *pixels = guest.pixels();

    guest.drawable.type = type;
    prepare(&guest.drawable, image.address());
    guest.draw();
    return std::any_of(pixels, pixels + SIDE * SIDE,
                       [](uint32_t pixel) { return (pixel & 0xffffff) != 0; });
}

static void check_all(const QuicImage &image, bool expected)
{
    for (const auto &drawing : drawings) {
        g_assert_cmpint(draws(drawing.type, drawing.prepare, image), ==, expected);
    }
}

static void whole()
{
    const auto words = compress();

    check_all(QuicImage(words, words.size() * sizeof(uint32_t)), true);
}

static void truncated()
{
    const auto words = compress();
    const size_t bytes = words.size() * sizeof(uint32_t);

    for (size_t left :
         { size_t{0}, size_t{3}, size_t{4}, HEADER_WORDS * sizeof(uint32_t), bytes / 8 * 4 }) {
        check_all(QuicImage(words, left), false);
    }
}

static void other_header()
{
    const auto words = compress();

    for (int word = 0; word < HEADER_WORDS; ++word) {
        for (uint32_t value : { 0u, 1u, 7u, 0x7fffffffu, 0xffffffffu }) {
            auto changed = words;

            changed[word] = value;
            check_all(QuicImage(changed, changed.size() * sizeof(uint32_t)), changed == words);
        }
    }
}

/* A source smaller than what rop3 draws. */
static void small_source()
{
    const auto words = compress();
    const QuicImage image(words, words.size() * sizeof(uint32_t));

    g_assert_false(draws(QXL_DRAW_ROP3, [](QXLDrawable *drawable, QXLPHYSICAL source) {
        drawable->u.rop3.src_bitmap = source;
        drawable->u.rop3.src_area = { 1, 1, SIDE + 1, SIDE + 1 };
        drawable->u.rop3.brush.type = SPICE_BRUSH_TYPE_SOLID;
        drawable->u.rop3.rop3 = 0xfe;
    }, image));
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of images that it cannot decode */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/bad-images/whole", whole);
    g_test_add_func("/server/bad-images/truncated", truncated);
    g_test_add_func("/server/bad-images/other-header", other_header);
    g_test_add_func("/server/bad-images/small-source", small_source);
    return g_test_run();
}
