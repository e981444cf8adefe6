/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>

#include "red-planes.h"

static uint32_t get_colour(const uint8_t *line, int x)
{
    uint32_t pixel;

    memcpy(&pixel, line + static_cast<size_t>(x) * sizeof(pixel), sizeof(pixel));
    return GUINT32_FROM_LE(pixel) & 0xffffff;
}

/* The end of the pixels from @x on that look like it. */
static int run_end(const uint8_t *line, int x, int width)
{
    const uint32_t colour = get_colour(line, x);

    while (++x < width && get_colour(line, x) == colour) {
    }
    return x;
}

namespace {

struct Colour {
    uint32_t colour;
    uint64_t pixels;
    SpiceRect where;
};

/* The colours of a picture, in the order in which they are met. */
class Colours
{
public:
    /* Null if there are too many. */
    Colour *find(uint32_t colour)
    {
        /* text changes between two colours */
        for (const size_t index : { last, before_last }) {
            if (index < colours.size() && colours[index].colour == colour) {
                return use(index);
            }
        }
        for (size_t i = 0; i < colours.size(); ++i) {
            if (colours[i].colour == colour) {
                return use(i);
            }
        }
        if (colours.size() == RED_PLANES_MAX_COLOURS) {
            return nullptr;
        }
        colours.push_back({ colour, 0, { G_MAXINT, G_MAXINT, 0, 0 } });
        return use(colours.size() - 1);
    }

    bool count(const uint8_t *line, int y, int width)
    {
        for (int x = 0, end; x < width; x = end) {
            end = run_end(line, x, width);
            Colour *found = find(get_colour(line, x));
            if (!found) {
                return false;
            }
            SpiceRect *where = &found->where;
            where->left = MIN(where->left, x);
            where->right = MAX(where->right, end);
            where->top = MIN(where->top, y);
            where->bottom = y + 1;
            found->pixels += end - x;
        }
        return true;
    }

    std::vector<Colour> colours;

private:
    Colour *use(size_t index)
    {
        if (index != last) {
            before_last = last;
            last = index;
        }
        return &colours[index];
    }

    size_t last = 0, before_last = 0;
};

} // namespace

static void set_bits(uint8_t *line, int from, int end)
{
    for (; from < end && from % 8; ++from) {
        line[from / 8] |= 0x80 >> from % 8;
    }
    for (; from + 8 <= end; from += 8) {
        line[from / 8] = 0xff;
    }
    for (; from < end; ++from) {
        line[from / 8] |= 0x80 >> from % 8;
    }
}

bool red_planes_split(const uint8_t *pixels, size_t stride, int width, int height,
                      std::vector<RedPlane> *planes)
{
    Colours found;

    planes->clear();
    for (int y = 0; y < height; ++y) {
        if (!found.count(pixels + y * stride, y, width)) {
            return false;
        }
    }

    auto &colours = found.colours;
    std::stable_sort(colours.begin(), colours.end(), [](const Colour &a, const Colour &b) {
        return a.pixels > b.pixels;
    });
    const uint32_t ground = colours[0].colour;
    planes->push_back({ { 0, 0, width, height },
                        { ground, colours.size() > 1 ? colours[1].colour : ground }, {} });
    for (size_t i = 2; i < colours.size(); ++i) {
        planes->push_back({ colours[i].where, { 0, ground ^ colours[i].colour }, {} });
    }
    for (auto &plane : *planes) {
        plane.bits.resize(plane.stride() * plane.height());
    }

    for (int y = 0; y < height; ++y) {
        const uint8_t *line = pixels + y * stride;

        for (int x = 0, end; x < width; x = end) {
            const uint32_t colour = get_colour(line, x);
            size_t i = 0;

            end = run_end(line, x, width);
            if (colour == ground) {
                continue;
            }
            while (colours[i + 1].colour != colour) {
                ++i;
            }
            RedPlane *plane = &(*planes)[i];
            set_bits(&plane->bits[(y - plane->where.top) * plane->stride()],
                     x - plane->where.left, end - plane->where.left);
        }
    }
    return true;
}

size_t red_planes_estimate(const std::vector<RedPlane> &planes)
{
    size_t bytes = 0;

    for (const auto &plane : planes) {
        bytes += plane.bits.size() - std::count(plane.bits.begin(), plane.bits.end(), 0);
    }
    return bytes;
}

size_t red_planes_count_changes(const uint8_t *pixels, size_t stride, int width, int height)
{
    size_t changes = 0;

    for (int y = 0; y < height; ++y) {
        for (int x = 0; (x = run_end(pixels + y * stride, x, width)) < width; ) {
            ++changes;
        }
    }
    return changes;
}
