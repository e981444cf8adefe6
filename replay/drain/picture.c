/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "picture.h"

#include <errno.h>
#include <png.h>
#include <stdio.h>
#include <string.h>

typedef struct PixelFormat {
    enum SpiceSurfaceFmt format;
    int bytes;    /* bytes of a pixel in memory */
    int channels; /* bytes of a pixel in a PNG */
    png_uint_32 png_format;
} PixelFormat;

static const PixelFormat pixel_formats[] = {
    { SPICE_SURFACE_FMT_32_xRGB, 4, 3, PNG_FORMAT_RGB },
    { SPICE_SURFACE_FMT_32_ARGB, 4, 4, PNG_FORMAT_RGBA },
    { SPICE_SURFACE_FMT_16_565, 2, 3, PNG_FORMAT_RGB },
    { SPICE_SURFACE_FMT_16_555, 2, 3, PNG_FORMAT_RGB },
    { SPICE_SURFACE_FMT_8_A, 1, 1, PNG_FORMAT_GRAY },
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

static void unpack_row(const Picture *picture, const PixelFormat *format, int y, uint8_t *row)
{
    const uint8_t *in = picture->pixels + (size_t)y * picture->stride;

    for (int x = 0; x < picture->width; x++, in += format->bytes, row += format->channels) {
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

/* As in a PNG, rows without padding. To be freed. */
static uint8_t *unpack(const Picture *picture, const PixelFormat *format)
{
    size_t row_bytes = (size_t)picture->width * format->channels;
    uint8_t *pixels = g_malloc(row_bytes * picture->height);

    for (int y = 0; y < picture->height; y++) {
        unpack_row(picture, format, y, pixels + y * row_bytes);
    }
    return pixels;
}

char *picture_blocks(const Picture *picture, int side)
{
    const PixelFormat *format = find_format(picture);

    if (format == NULL) {
        return NULL;
    }

    int channels = format->channels;
    int row_bytes = picture->width * channels;
    int blocks = (picture->width + side - 1) / side;
    uint8_t *pixels = unpack(picture, format);
    uint32_t *sums = g_new(uint32_t, (size_t)blocks * channels); /* of a row of blocks */
    GByteArray *means = g_byte_array_new();

    for (int top = 0; top < picture->height; top += side) {
        int rows = MIN(side, picture->height - top);
        const uint8_t *pixel = pixels + (size_t)top * row_bytes;

        memset(sums, 0, (size_t)blocks * channels * sizeof(*sums));
        for (int y = 0; y < rows; y++) {
            for (int x = 0; x < row_bytes; x++) {
                sums[x / (side * channels) * channels + x % channels] += *pixel++;
            }
        }
        for (int i = 0; i < blocks * channels; i++) {
            int columns = MIN(side, picture->width - i / channels * side);
            uint8_t mean = sums[i] / (uint32_t)(rows * columns);

            g_byte_array_append(means, &mean, 1);
        }
    }

    char *text = g_base64_encode(means->data, means->len);

    g_free(sums);
    g_free(pixels);
    g_byte_array_unref(means);
    return text;
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

    png_image image = {
        .version = PNG_IMAGE_VERSION,
        .width = picture->width,
        .height = picture->height,
        .format = format->png_format,
    };
    uint8_t *pixels = unpack(picture, format);
    bool written = png_image_write_to_stdio(&image, file, FALSE, pixels, 0, NULL);

    g_free(pixels);
    if (fclose(file) != 0 || !written) {
        g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_IO, "write error");
        return false;
    }
    return true;
}
