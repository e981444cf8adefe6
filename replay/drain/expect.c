/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "expect.h"

#include <stdlib.h>

/* One less than _CLOSE of bench/measure/pictures.py: a burst that JPEG changed more counts as missed. */
#define CLOSE 4

struct Expect {
    GPtrArray *pictures; /* GBytes */
};

static GBytes *decode(const char *line)
{
    gsize size;
    guchar *means = g_base64_decode(line, &size);

    return g_bytes_new_take(means, size);
}

Expect *expect_new(const char *path, GError **error)
{
    Expect *expect;
    char *text;
    char **lines;

    if (!g_file_get_contents(path, &text, NULL, error)) {
        return NULL;
    }
    expect = g_new0(Expect, 1);
    expect->pictures = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL && **line != '\0'; line++) {
        g_ptr_array_add(expect->pictures, decode(*line));
    }
    g_strfreev(lines);
    g_free(text);
    if (expect->pictures->len == 0) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s holds no picture", path);
        g_clear_pointer(&expect, expect_free);
    }
    return expect;
}

void expect_free(Expect *expect)
{
    if (expect != NULL) {
        g_ptr_array_unref(expect->pictures);
        g_free(expect);
    }
}

bool expect_is_shown(const Expect *expect, unsigned int number, const Picture *picture)
{
    char *text = picture_blocks(picture, PICTURE_BLOCK);
    bool is_shown = text != NULL && number < expect->pictures->len;

    if (is_shown) {
        GBytes *shown = decode(text);
        gsize size, wanted_size;
        const uint8_t *means = g_bytes_get_data(shown, &size);
        const uint8_t *wanted = g_bytes_get_data(expect->pictures->pdata[number], &wanted_size);

        is_shown = size == wanted_size;
        for (gsize i = 0; is_shown && i < size; i++) {
            is_shown = abs(means[i] - wanted[i]) <= CLOSE;
        }
        g_bytes_unref(shown);
    }
    g_free(text);
    return is_shown;
}
