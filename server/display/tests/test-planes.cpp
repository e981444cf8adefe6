/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An image of few colours is split into images of two. Drawn one after the other they give the same
 * pixels, whatever the size and colours, and none is larger than necessary.
 */
#include <config.h>

#include <vector>

#include "red-planes.h"
#include "test-glib-compat.h"

#include "push-visibility.h"

/* Pixels with something beside each line. */
struct Picture
{
    enum { BESIDE = 3 };

    const int width, height;
    std::vector<uint32_t> pixels;

    Picture(int init_width, int init_height):
        width(init_width), height(init_height), pixels((width + BESIDE) * height, 0xbadbad)
    {
    }

    uint32_t &at(int x, int y) { return pixels[y * (width + BESIDE) + x]; }

    const uint8_t *bytes() const { return reinterpret_cast<const uint8_t *>(pixels.data()); }
    size_t stride() const { return (width + BESIDE) * sizeof(uint32_t); }

    bool split(std::vector<RedPlane> *planes) const
    {
        return red_planes_split(bytes(), stride(), width, height, planes);
    }

    size_t changes() const { return red_planes_count_changes(bytes(), stride(), width, height); }
};

/* What a client makes of them. */
static void check(Picture *picture, const std::vector<RedPlane> &planes)
{
    std::vector<uint32_t> shown(picture->width * picture->height);

    for (const auto &plane : planes) {
        g_assert_true(plane.where.left >= 0 && plane.width() > 0 && plane.where.top >= 0 &&
                      plane.height() > 0 && plane.where.right <= picture->width &&
                      plane.where.bottom <= picture->height);
        g_assert_cmpuint(plane.bits.size(), ==, plane.stride() * plane.height());
        for (int y = 0; y < plane.height(); ++y) {
            for (int x = 0; x < plane.width(); ++x) {
                const bool bit = plane.bits[y * plane.stride() + x / 8] & 0x80 >> x % 8;
                uint32_t *pixel =
                    &shown[(y + plane.where.top) * picture->width + x + plane.where.left];

                *pixel = (&plane == &planes[0] ? 0 : *pixel) ^ plane.colours[bit];
            }
        }
    }
    for (int y = 0; y < picture->height; ++y) {
        for (int x = 0; x < picture->width; ++x) {
            g_assert_cmphex(shown[y * picture->width + x], ==, picture->at(x, y) & 0xffffff);
        }
    }
}

static void same_pixels()
{
    GRand *rand = g_rand_new_with_seed(5);

    for (int round = 0; round < 3000; ++round) {
        /* those of one line and one column, too */
        Picture picture(1 + g_rand_int_range(rand, 0, round % 5 ? 40 : 1),
                        1 + g_rand_int_range(rand, 0, round % 7 ? 20 : 1));
        const int n_colours =
            g_rand_int_range(rand, 1, MIN(RED_PLANES_MAX_COLOURS, 4 * picture.width) + 1);
        std::vector<uint32_t> colours;
        std::vector<RedPlane> planes;

        for (int i = 0; i < n_colours; ++i) {
            colours.push_back(round % 3 ? g_rand_int(rand) & 0xffffff : i * 0x10000);
        }
        for (int y = 0; y < picture.height; ++y) {
            for (int x = 0; x < picture.width; ++x) {
                const bool repeats = x > 0 && g_rand_int_range(rand, 0, 4);

                /* nobody may look at the highest byte */
                picture.at(x, y) = (repeats ? picture.at(x - 1, y) & 0xffffff :
                                    colours[g_rand_int_range(rand, 0, n_colours)]) |
                                   (g_rand_int(rand) & 0xff000000);
            }
        }
        g_assert_true(picture.split(&planes));
        g_assert_cmpuint(planes.size(), <=, MAX(1, n_colours - 1));
        check(&picture, planes);
        if (planes[0].colours[0] == planes[0].colours[1]) {
            /* one colour takes no bytes, also where a line ends within a byte */
            for (const auto byte : planes[0].bits) {
                g_assert_cmpint(byte, ==, 0);
            }
        }
    }
    g_rand_free(rand);
}

static void too_many_colours()
{
    Picture picture(30, 30);
    std::vector<RedPlane> planes;

    for (int y = 0; y < picture.height; ++y) {
        for (int x = 0; x < picture.width; ++x) {
            picture.at(x, y) = x % RED_PLANES_MAX_COLOURS;
        }
    }
    g_assert_true(picture.split(&planes));
    g_assert_cmpuint(planes.size(), ==, RED_PLANES_MAX_COLOURS - 1);
    check(&picture, planes);

    picture.at(29, 29) = RED_PLANES_MAX_COLOURS;
    g_assert_false(picture.split(&planes));
    g_assert_true(planes.empty());

    /* each colour takes a byte per line, the pixels take 4 */
    Picture narrow(1, 5);
    for (int y = 0; y < narrow.height; ++y) {
        narrow.at(0, y) = y;
    }
    g_assert_false(narrow.split(&planes));
}

/* The two colours that are most make the first one, a word in another colour one of its size. */
static void no_larger_than_need_be()
{
    Picture picture(200, 100);
    std::vector<RedPlane> planes;

    for (int y = 0; y < picture.height; ++y) {
        for (int x = 0; x < picture.width; ++x) {
            const bool is_word = x >= 50 && x < 70 && y >= 20 && y < 30;

            picture.at(x, y) = x % 3 ? 0 : is_word ? 0xaa0000 : 0xaaaaaa;
        }
    }
    g_assert_true(picture.split(&planes));
    g_assert_cmpuint(planes.size(), ==, 2);
    g_assert_cmphex(planes[0].colours[0], ==, 0);
    g_assert_cmphex(planes[0].colours[1], ==, 0xaaaaaa);
    /* whole bytes */
    g_assert_cmpint(planes[1].where.left, ==, 48);
    g_assert_cmpint(planes[1].where.right, ==, 70);
    g_assert_cmpint(planes[1].where.top, ==, 20);
    g_assert_cmpint(planes[1].where.bottom, ==, 30);
    check(&picture, planes);
    /* text gains, as GLZ takes more bytes than there are changes */
    g_assert_cmpuint(red_planes_estimate(planes) * 4, <, picture.changes());
}

static void counts_changes()
{
    Picture picture(5, 2);

    for (auto &pixel : picture.pixels) {
        pixel = 1;
    }
    g_assert_cmpuint(picture.changes(), ==, 0);
    picture.at(0, 0) = 2;
    picture.at(2, 1) = 2;
    picture.at(4, 1) = 0xff000001;
    g_assert_cmpuint(picture.changes(), ==, 3);

    const uint16_t line[] = { 1, 1, 2, 0x102, 0x102, 0x202 };
    g_assert_cmpuint(red_planes_count_changes(reinterpret_cast<const uint8_t *>(line), sizeof(line),
                                              G_N_ELEMENTS(line), 1, sizeof(line[0])), ==, 3);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/planes/same-pixels", same_pixels);
    g_test_add_func("/server/planes/too-many-colours", too_many_colours);
    g_test_add_func("/server/planes/no-larger-than-need-be", no_larger_than_need_be);
    g_test_add_func("/server/planes/counts-changes", counts_changes);
    return g_test_run();
}
