/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A guest that draws much more than a client can receive, for tests of catch-up
 * (dcc-catch-up.h): it is not delayed, and the client ends with the same pixels on every
 * surface, though most drawings were not sent to it. */
#ifndef TEST_DCC_GUEST_H_
#define TEST_DCC_GUEST_H_

#include <memory>
#include <sys/mman.h>

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

/* Of clients with the canvas of spice-common, as opposed to browsers. */
static const uint32_t CANVAS = 1 << SPICE_DISPLAY_CAP_COMPOSITE | 1 << SPICE_DISPLAY_CAP_A8_SURFACE;

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

    /* What is like a photo is sent as JPEG, the rest as @exact. (With QUIC nothing is the rest.) */
    void use_jpeg(SpiceImageCompression exact=SPICE_IMAGE_COMPRESSION_QUIC)
    {
        spice_server_set_image_compression(device.server, exact);
        spice_server_set_jpeg_compression(device.server, SPICE_WAN_COMPRESSION_ALWAYS);
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

    /* Something like a photo, with so many times the pixels each way. @clip: where it is drawn,
     * all of @box if that is empty. @noise: with 1 << 24 it is not like a photo, so not JPEG. */
    void photo(const Box &box, uint32_t surface=0, int finer=1, const std::vector<Box> &clip={},
               int noise=8)
    {
        device.push(QXL_CMD_DRAW, make_photo(box, surface, finer, clip, noise));
    }

    /* Where nothing of it is to be seen: below alpha 0, or a mask without a bit. */
    void invisible_photo(const Box &box, bool is_masked)
    {
        QXLDrawable *const drawable = make_photo(box);

        if (is_masked) {
            QXLImage *const mask = keep<QXLImage>();
            const int stride = (box.width + 31) / 32 * 4;

            test_set_bitmap(mask, SPICE_BITMAP_FMT_1BIT_BE, box.width, box.height, stride,
                            keep<uint8_t>(stride * box.height));
            drawable->u.copy.mask.bitmap = reinterpret_cast<uintptr_t>(mask);
        } else {
            const QXLCopy photo = drawable->u.copy;

            drawable->type = QXL_DRAW_ALPHA_BLEND;
            drawable->u.alpha_blend = {};
            drawable->u.alpha_blend.src_bitmap = photo.src_bitmap;
            drawable->u.alpha_blend.src_area = photo.src_area;
        }
        drawable->effect = QXL_EFFECT_BLEND;
        device.push(QXL_CMD_DRAW, drawable);
    }

    /* What is below is combined with noise, or inverted. */
    void combine(const Box &box, bool is_inverted)
    {
        QXLDrawable *const drawable = is_inverted ?
            draw(0, box, QXL_DRAW_FILL, QXL_EFFECT_BLEND) : make_photo(box, 0, 1, {}, 1 << 24);

        if (is_inverted) {
            drawable->u.fill.brush.type = SPICE_BRUSH_TYPE_SOLID;
            drawable->u.fill.rop_descriptor = SPICE_ROPD_OP_INVERS;
        } else {
            drawable->u.copy.rop_descriptor = SPICE_ROPD_OP_XOR;
            drawable->effect = QXL_EFFECT_BLEND;
        }
        device.push(QXL_CMD_DRAW, drawable);
    }

    QXLDrawable *make_photo(const Box &box, uint32_t surface=0, int finer=1,
                            const std::vector<Box> &clip={}, int noise=8)
    {
        QXLDrawable *drawable = draw(surface, box, QXL_DRAW_COPY, QXL_EFFECT_OPAQUE);
        QXLImage *image = keep<QXLImage>();
        const int width = box.width * finer, height = box.height * finer;
        uint32_t *const pixels = keep<uint32_t>(width * height);

        for (int i = 0; i < width * height; ++i) {
            pixels[i] = 0x40404 * (i % width) + random(noise);
        }
        test_set_bitmap(image, SPICE_BITMAP_FMT_32BIT, width, height, width * 4, pixels);
        drawable->u.copy.src_bitmap = reinterpret_cast<uintptr_t>(image);
        drawable->u.copy.src_area = rect({ 0, 0, width, height });
        drawable->u.copy.rop_descriptor = SPICE_ROPD_OP_PUT;
        if (!clip.empty()) {
            drawable->clip.type = SPICE_CLIP_TYPE_RECTS;
            drawable->clip.data = reinterpret_cast<uintptr_t>(clip_rects(clip));
        }
        return drawable;
    }

    /* More than the socket takes of a client that reads nothing, on surface @large; then more
     * drawings than may wait, each on 10 columns of the first 19 of @box. */
    void fall_behind(uint32_t large, uint32_t surface, const Box &box)
    {
        photo({ 0, 0, SIDE, SIDE }, large, 32);
        device.run();
        for (int i = 0; i < TOO_MANY; ++i) {
            fill(surface, { box.left + i % 10, box.top, 10, box.height }, 1 + i, true);
        }
        device.run();
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

protected:
    uint32_t last_surface = 0;

    template <typename T> T *keep(size_t n=1)
    {
        void *const data = g_malloc0_n(n, sizeof(T));

        memory.push_back(std::shared_ptr<void>(data, g_free));
        return static_cast<T *>(data);
    }

    QXLClipRects *clip_rects(const std::vector<Box> &boxes)
    {
        const size_t size = boxes.size() * sizeof(QXLRect);
        void *const data = keep<uint8_t>(sizeof(QXLClipRects) + size);
        QXLClipRects *const clip = static_cast<QXLClipRects *>(data);
        QXLRect *next = reinterpret_cast<QXLRect *>(clip->chunk.data);

        clip->num_rects = boxes.size();
        clip->chunk.data_size = size;
        for (const Box &box : boxes) {
            *next++ = rect(box);
        }
        return clip;
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

/* A message MIGRATE_DATA of a display's: the client has a surface, which is not exact there, or
 * with @num_surfaces 0 it has none. */
static inline std::vector<uint8_t> make_known(uint32_t surface, const Box &lossy,
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

static inline void init_tests(int *argc, char ***argv)
{
    g_test_init(argc, argv, nullptr);
    if (!g_test_subprocess()) {
        g_setenv("SPICE_STREAM", "flow", TRUE);
    }
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
}

#include "pop-visibility.h"

#endif /* TEST_DCC_GUEST_H_ */
