/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tiles.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define QUARTER (TILE_SIZE / 2)

struct Tiles {
    FILE *log;
    int columns, rows; /* of the screen when it was looked at last */
    bool touched[TILES];
    bool known[TILES];
    uint32_t means[TILES];
};

Tiles *tiles_new(const char *path)
{
    FILE *log = fopen(path, "wbe");
    Tiles *tiles = log ? calloc(1, sizeof(*tiles)) : NULL;

    if (tiles) {
        tiles->log = log;
    } else if (log) {
        fclose(log);
    }
    return tiles;
}

bool tiles_free(Tiles *tiles)
{
    bool written = !ferror(tiles->log);

    written = fclose(tiles->log) == 0 && written;
    free(tiles);
    return written;
}

static int clamp(int value)
{
    return value < 0 ? 0 : value >= TILES_A_ROW ? TILES_A_ROW - 1 : value;
}

void tiles_touch(Tiles *tiles, int left, int top, int width, int height)
{
    if (width <= 0 || height <= 0) {
        return;
    }
    for (int row = clamp(top / TILE_SIZE); row <= clamp((top + height - 1) / TILE_SIZE); row++) {
        int first = clamp(left / TILE_SIZE), last = clamp((left + width - 1) / TILE_SIZE);
        memset(&tiles->touched[row * TILES_A_ROW + first], true, (size_t) (last - first + 1));
    }
}

/* 0 for a quarter that is outside of the screen. */
static uint32_t mean_of(const TilePixels *screen, int left, int top)
{
    int right = left + QUARTER < screen->width ? left + QUARTER : screen->width;
    int bottom = top + QUARTER < screen->height ? top + QUARTER : screen->height;
    uint32_t sum = 0, count = 0;

    for (int y = top; y < bottom; y++) {
        const uint8_t *pixel = screen->pixels + (ptrdiff_t) y * screen->stride + 4 * left;
        for (int x = left; x < right; x++, pixel += 4) {
            sum += pixel[0] + 5 * pixel[1] + 2 * pixel[2];
            count += 8;
        }
    }
    return count ? (sum + count / 2) / count : 0;
}

static uint32_t look_at(const TilePixels *screen, int left, int top)
{
    uint32_t means = mean_of(screen, left, top) | mean_of(screen, left + QUARTER, top) << 8 |
        mean_of(screen, left, top + QUARTER) << 16 |
        mean_of(screen, left + QUARTER, top + QUARTER) << 24;

    return means == TILE_OUTSIDE ? means - 1 : means;
}

static int tiles_of(int length)
{
    int count = (length + TILE_SIZE - 1) / TILE_SIZE;

    return count < TILES_A_ROW ? count : TILES_A_ROW;
}

void tiles_look(Tiles *tiles, const TilePixels *screen, int64_t now_ns)
{
    int columns = tiles_of(screen->width), rows = tiles_of(screen->height);

    for (int row = 0; row < rows || row < tiles->rows; row++) {
        for (int column = 0; column < columns || column < tiles->columns; column++) {
            uint32_t tile = (uint32_t) (row * TILES_A_ROW + column);
            bool outside = row >= rows || column >= columns;
            if (outside ? !tiles->known[tile] : !tiles->touched[tile]) {
                continue;
            }
            tiles->touched[tile] = false;
            TileRecord record = {
                now_ns, tile,
                outside ? TILE_OUTSIDE : look_at(screen, column * TILE_SIZE, row * TILE_SIZE)
            };
            if (!tiles->known[tile] || tiles->means[tile] != record.means) {
                tiles->known[tile] = true;
                tiles->means[tile] = record.means;
                fwrite(&record, sizeof(record), 1, tiles->log);
            }
        }
    }
    tiles->columns = columns;
    tiles->rows = rows;
    fflush(tiles->log);
}
