/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>

#include "red-motion.h"
#include "red-planes.h"

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

/* Set the bits of pixels @from to @end of a line. */
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

namespace {

/* The pixels of one colour, as bits of the whole image, and their bounds. */
struct Colour {
    uint32_t colour;
    uint64_t pixels;
    SpiceRect where;
    std::vector<uint8_t> bits;
};

/* The colours of an image, in the order in which they are met. */
class Colours
{
public:
    Colours(int width, int height):
        stride((static_cast<size_t>(width) + 7) / 8),
        max_colours(MIN(RED_PLANES_MAX_COLOURS, MAX(2, width * sizeof(uint32_t) / stride)))
    {
    }

    /* Adds a line. Returns false if there are too many colours. */
    bool add(const uint8_t *line, int y, int width)
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
            /* the lines up to this one: most images that have too many colours show them soon */
            found->bits.resize((y + 1) * stride);
            set_bits(&found->bits[y * stride], x, end);
        }
        return true;
    }

    std::vector<Colour> colours;
    /* bytes per line of their bits */
    const size_t stride;

private:
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
        if (colours.size() == max_colours) {
            return nullptr;
        }
        colours.push_back({ colour, 0, { G_MAXINT, G_MAXINT, 0, 0 }, {} });
        return use(colours.size() - 1);
    }

    Colour *use(size_t index)
    {
        if (index != last) {
            before_last = last;
            last = index;
        }
        return &colours[index];
    }

    /* so many that their bits take no more bytes than the pixels, of which a narrow image has
     * few per line */
    const size_t max_colours;
    size_t last = 0, before_last = 0;
};

} // namespace

bool red_planes_split(const uint8_t *pixels, size_t stride, int width, int height,
                      std::vector<RedPlane> *planes)
{
    Colours found(width, height);
    auto &colours = found.colours;

    planes->clear();
    for (int y = 0; y < height; ++y) {
        if (!found.add(pixels + y * stride, y, width)) {
            return false;
        }
    }
    std::stable_sort(colours.begin(), colours.end(), [](const Colour &a, const Colour &b) {
        return a.pixels > b.pixels;
    });

    const uint32_t ground = colours[0].colour;
    Colour *second = &colours[colours.size() > 1];
    if (second->colour == ground) {
        std::fill(second->bits.begin(), second->bits.end(), 0);
    }
    second->bits.resize(found.stride * height);
    planes->push_back({ { 0, 0, width, height }, { ground, second->colour },
                        std::move(second->bits) });
    for (size_t i = 2; i < colours.size(); ++i) {
        const Colour &colour = colours[i];
        const int first = colour.where.left / 8;
        RedPlane plane = { colour.where, { 0, ground ^ colour.colour }, {} };

        plane.where.left = first * 8;
        plane.bits.reserve(plane.stride() * plane.height());
        for (int y = plane.where.top; y < plane.where.bottom; ++y) {
            const auto line = colour.bits.begin() + y * found.stride + first;

            plane.bits.insert(plane.bits.end(), line, line + plane.stride());
        }
        planes->push_back(std::move(plane));
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

static size_t count_changes_16(const uint8_t *line, int width)
{
    size_t changes = 0;

    for (int x = 1; x < width; ++x) {
        changes += memcmp(line + x * 2, line + x * 2 - 2, 2) != 0;
    }
    return changes;
}

size_t red_planes_count_changes(const uint8_t *pixels, size_t stride, int width, int height,
                                int bytes)
{
    const int step = height / RED_MOTION_SAMPLES + 1;
    size_t changes = 0, lines = 0;

    for (int y = 0; y < height; y += step, ++lines) {
        if (bytes == 2) {
            changes += count_changes_16(pixels + y * stride, width);
            continue;
        }
        for (int x = 0; (x = run_end(pixels + y * stride, x, width)) < width; ) {
            ++changes;
        }
    }
    return changes * height / lines;
}
