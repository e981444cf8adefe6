/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "picture.h"

#include <errno.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

typedef struct PixelFormat {
    enum SpiceSurfaceFmt format;
    int bytes;      /* bytes of a pixel in memory */
    int png_colour; /* PNG_COLOR_TYPE_ */
    int png_bytes;  /* bytes of a pixel in a PNG row */
} PixelFormat;

static const PixelFormat pixel_formats[] = {
    { SPICE_SURFACE_FMT_32_xRGB, 4, PNG_COLOR_TYPE_RGB, 3 },
    { SPICE_SURFACE_FMT_32_ARGB, 4, PNG_COLOR_TYPE_RGB_ALPHA, 4 },
    { SPICE_SURFACE_FMT_16_565, 2, PNG_COLOR_TYPE_RGB, 3 },
    { SPICE_SURFACE_FMT_16_555, 2, PNG_COLOR_TYPE_RGB, 3 },
    { SPICE_SURFACE_FMT_8_A, 1, PNG_COLOR_TYPE_GRAY, 1 },
};

static const PixelFormat *find_format(const Picture *picture)
{
    for (size_t i = 0; i < G_N_ELEMENTS(pixel_formats); i++) {
        if (pixel_formats[i].format == picture->format) {
            return &pixel_formats[i];
        }
    }
    return NULL;
}

Picture *picture_copy(const Picture *picture)
{
    Picture *copy = g_new(Picture, 1);

    *copy = *picture;
    copy->pixels = g_memdup2(picture->pixels, (gsize)picture->stride * picture->height);
    return copy;
}

void picture_free(Picture *picture)
{
    if (picture == NULL) {
        return;
    }
    g_free((void *)picture->pixels);
    g_free(picture);
}

/* One row as the hash wants it. Pixels are in the order of the machine, which is little-endian
 * wherever spice runs. */
static void normal_row(const Picture *picture, const PixelFormat *format, int y, uint8_t *row)
{
    memcpy(row, picture->pixels + (size_t)y * picture->stride,
           (size_t)picture->width * format->bytes);
    if (format->format == SPICE_SURFACE_FMT_32_xRGB) {
        for (int x = 0; x < picture->width; x++) {
            row[x * 4 + 3] = 0;
        }
    } else if (format->format == SPICE_SURFACE_FMT_16_555) {
        for (int x = 0; x < picture->width; x++) {
            row[x * 2 + 1] &= 0x7f;
        }
    }
}

char *picture_sha256(const Picture *picture)
{
    const PixelFormat *format = find_format(picture);

    if (format == NULL) {
        return NULL;
    }

    GChecksum *checksum = g_checksum_new(G_CHECKSUM_SHA256);
    size_t row_bytes = (size_t)picture->width * format->bytes;
    uint8_t *row = g_malloc(row_bytes);

    for (int y = 0; y < picture->height; y++) {
        normal_row(picture, format, y, row);
        g_checksum_update(checksum, row, row_bytes);
    }

    char *hex = g_strdup(g_checksum_get_string(checksum));

    g_free(row);
    g_checksum_free(checksum);
    return hex;
}

static uint8_t widen(unsigned value, int bits)
{
    unsigned most = (1u << bits) - 1;

    return ((value & most) * 255 + most / 2) / most;
}

static void png_row(const Picture *picture, const PixelFormat *format, int y, uint8_t *row)
{
    const uint8_t *in = picture->pixels + (size_t)y * picture->stride;

    for (int x = 0; x < picture->width; x++, in += format->bytes, row += format->png_bytes) {
        unsigned pixel = in[0] | (format->bytes > 1 ? in[1] << 8 : 0);

        switch (format->format) {
        case SPICE_SURFACE_FMT_16_565:
            row[0] = widen(pixel >> 11, 5);
            row[1] = widen(pixel >> 5, 6);
            row[2] = widen(pixel, 5);
            break;
        case SPICE_SURFACE_FMT_16_555:
            row[0] = widen(pixel >> 10, 5);
            row[1] = widen(pixel >> 5, 5);
            row[2] = widen(pixel, 5);
            break;
        case SPICE_SURFACE_FMT_8_A:
            row[0] = in[0];
            break;
        case SPICE_SURFACE_FMT_32_ARGB:
            row[3] = in[3];
            /* fall through */
        default:
            row[0] = in[2];
            row[1] = in[1];
            row[2] = in[0];
            break;
        }
    }
}

/* Adds the rows from y on that one row of blocks has; then its means. */
static void block_row(const Picture *picture, const PixelFormat *format, int side, int y, uint8_t *row,
                      GByteArray *means)
{
    int rows = MIN(side, picture->height - y);
    int channels = format->png_bytes;
    int blocks = (picture->width + side - 1) / side;
    uint32_t *sums = g_new0(uint32_t, (size_t)blocks * channels);

    for (int i = 0; i < rows; i++) {
        png_row(picture, format, y + i, row);
        for (int x = 0; x < picture->width * channels; x++) {
            sums[x / (side * channels) * channels + x % channels] += row[x];
        }
    }
    for (int i = 0; i < blocks * channels; i++) {
        int columns = MIN(side, picture->width - i / channels * side);
        uint8_t mean = sums[i] / (uint32_t)(rows * columns);

        g_byte_array_append(means, &mean, 1);
    }
    g_free(sums);
}

char *picture_blocks(const Picture *picture, int side)
{
    const PixelFormat *format = find_format(picture);

    if (format == NULL) {
        return NULL;
    }

    GByteArray *means = g_byte_array_new();
    uint8_t *row = g_malloc((size_t)picture->width * format->png_bytes);

    for (int y = 0; y < picture->height; y += side) {
        block_row(picture, format, side, y, row, means);
    }

    char *text = g_base64_encode(means->data, means->len);

    g_free(row);
    g_byte_array_unref(means);
    return text;
}

/* libpng reports an error by a jump back here: nothing set after setjmp may be read then. */
static bool write_png(const Picture *picture, const PixelFormat *format, FILE *file, uint8_t *row)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);

    if (setjmp(png_jmpbuf(png))) {
        png_destroy_write_struct(&png, &info);
        return false;
    }
    png_init_io(png, file);
    png_set_IHDR(png, info, picture->width, picture->height, 8, format->png_colour,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int y = 0; y < picture->height; y++) {
        png_row(picture, format, y, row);
        png_write_row(png, row);
    }
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return true;
}

bool picture_save_png(const Picture *picture, const char *path, GError **error)
{
    const PixelFormat *format = find_format(picture);

    if (format == NULL) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "unknown pixel format %d",
                    picture->format);
        return false;
    }

    FILE *file = fopen(path, "wb");

    if (file == NULL) {
        g_set_error_literal(error, G_FILE_ERROR, g_file_error_from_errno(errno),
                            g_strerror(errno));
        return false;
    }

    uint8_t *row = g_malloc((size_t)picture->width * format->png_bytes);
    bool written = write_png(picture, format, file, row);

    g_free(row);
    if (fclose(file) != 0 || !written) {
        g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_IO, "write error");
        return false;
    }
    return true;
}
