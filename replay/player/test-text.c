/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test-text.h"

#include <spice/enums.h>
#include <spice/qxl_dev.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recording.h"

RecordingInput *test_text_open(GString *text)
{
    int fd = memfd_create("text", MFD_CLOEXEC);
    RecordingInput *input;
    char path[32];

    g_assert_cmpint(write(fd, text->str, text->len), ==, text->len);
    g_snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    input = recording_input_open(path);
    close(fd);
    g_string_free(text, true);
    return input;
}

void test_text_add_surface_command(GString *text, unsigned int id, bool creates)
{
    g_string_append_printf(text, "event 0 0 %d 7\nsurface_cmd\nsurface_id %u\ntype %d\nflags 0\n",
                           QXL_CMD_SURFACE, id,
                           creates ? QXL_SURFACE_CMD_CREATE : QXL_SURFACE_CMD_DESTROY);
    if (creates) {
        g_string_append_printf(text, "u.surface_create.format %d\nu.surface_create.width 2\n"
                               "u.surface_create.height 2\nu.surface_create.stride 8\n",
                               SPICE_SURFACE_FMT_32_xRGB);
    }
}

GString *test_text_rounds(void)
{
    GString *text = g_string_new(RECORDING_HEADER);

    for (unsigned int round = 0; round < TEST_ROUNDS; round++) {
        for (unsigned int id = 1; id <= TEST_SURFACES; id++) {
            test_text_add_surface_command(text, id, true);
        }
        g_string_append(text, "event 0 1 2 7\n");      /* a wake-up, which changes nothing */
        g_string_append_printf(text, "event 0 1 %d 7\n", RECORDING_MESSAGE_DESTROY_SURFACES);
        test_text_add_surface_command(text, 3, false);
    }
    return text;
}
