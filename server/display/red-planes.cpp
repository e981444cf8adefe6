/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>
#include <numeric>

#include "red-planes.h"

/* Lines of which changes from pixel to pixel are counted. */
#define SAMPLE_LINES 32

static uint32_t get_colour(const uint8_t *line, int x)
{
    uint32_t pixel;

    memcpy(&pixel, line + static_cast<size_t>(x) * sizeof(pixel), sizeof(pixel));
    return GUINT32_FROM_LE(pixel) & 0xffffff;
}

/* Whether the eight pixels from @x on look like @colour. */
static bool are_eight(const uint8_t *line, int x, uint32_t colour)
{
    const uint64_t two = GUINT64_TO_LE(uint64_t{colour} << 32 | colour);
    uint64_t pixels[4];

    memcpy(pixels, line + static_cast<size_t>(x) * sizeof(uint32_t), sizeof(pixels));
    return !(((pixels[0] ^ two) | (pixels[1] ^ two) | (pixels[2] ^ two) | (pixels[3] ^ two)) &
             GUINT64_TO_LE(0x00ffffff00ffffff));
}

/* The end of the pixels from @x on that look like it. */
static int run_end(const uint8_t *line, int x, int width)
{
    const uint32_t colour = get_colour(line, x);

    /* runs are those of letters, which are short, and of what is between them */
    for (const int end = MIN(x + 4, width); ++x < end; ) {
        if (get_colour(line, x) != colour) {
            return x;
        }
    }
    while (x + 8 <= width && are_eight(line, x, colour)) {
        x += 8;
    }
    while (x < width && get_colour(line, x) == colour) {
        ++x;
    }
    return x;
}

namespace {

struct Colour {
    uint32_t colour;
    uint64_t pixels;
    SpiceRect where;
};

/* Pixels of one colour, from the end of the run before, or from the left of a line, on. */
struct Run {
    int end;
    /* in the order in which colours are met */
    uint8_t colour;
};

/* The colours of a picture, in the order in which they are met, and its runs. */
class Colours
{
public:
    /* Null if there are too many. */
    Colour *find(uint32_t colour)
    {
        /* text changes between two colours */
        if (before_last < colours.size() && colours[before_last].colour == colour) {
            return use(before_last);
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
            if (runs.size() == RED_PLANES_MAX_RUNS) {
                return false;
            }
            runs.push_back({ end, static_cast<uint8_t>(last) });
        }
        return true;
    }

    std::vector<Colour> colours;
    std::vector<Run> runs;

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

    const auto &colours = found.colours;
    std::vector<uint8_t> order(colours.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint8_t a, uint8_t b) {
        return colours[a].pixels > colours[b].pixels;
    });
    const uint32_t ground = colours[order[0]].colour;
    planes->push_back({ { 0, 0, width, height },
                        { ground, order.size() > 1 ? colours[order[1]].colour : ground }, {} });
    for (size_t i = 2; i < order.size(); ++i) {
        const Colour &colour = colours[order[i]];

        planes->push_back({ colour.where, { 0, ground ^ colour.colour }, {} });
    }
    /* which plane has a colour */
    RedPlane *plane_of[RED_PLANES_MAX_COLOURS] = {};
    for (size_t i = 0; i < planes->size(); ++i) {
        RedPlane *plane = &(*planes)[i];

        plane->bits.resize(plane->stride() * plane->height());
        if (i + 1 < order.size()) {
            plane_of[order[i + 1]] = plane;
        }
    }

    auto run = found.runs.begin();
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; x = run++->end) {
            RedPlane *plane = plane_of[run->colour];

            if (plane) {
                set_bits(&plane->bits[(y - plane->where.top) * plane->stride()],
                         x - plane->where.left, run->end - plane->where.left);
            }
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
    const int step = height / SAMPLE_LINES + 1;
    size_t changes = 0, lines = 0;

    for (int y = 0; y < height; y += step, ++lines) {
        for (int x = 0; (x = run_end(pixels + y * stride, x, width)) < width; ) {
            ++changes;
        }
    }
    return changes * height / lines;
}
