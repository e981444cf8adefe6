/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The displays of a client share a cache of images and a dictionary, which have places for four.
 * Those after them are sent their pictures without.
 */
#include <config.h>

#include <string>

#include "pixmap-cache.h"
#include "test-link.h"
#include "test-screen-guest.h"

#include "push-visibility.h"

struct Display: TestLink
{
    Display(const ScreenGuest &guest, uint32_t client, uint8_t id):
        TestLink(guest.device.server, { SPICE_CHANNEL_DISPLAY, id }, client, TEST_TCP)
    {
        g_assert_cmpint(authenticate(""), ==, SPICE_LINK_ERR_OK);
        say_display_init();
        next_message(SPICE_MSG_DISPLAY_MARK);
    }

    /* Returns the type of the next picture, and whether the client is to keep it. */
    uint8_t next_picture(bool *keep = nullptr)
    {
        /* surface, box, no clip, then where the image lies in the message */
        enum { OFFSET = 4 + 16 + 1 };
        const TestLinkMessage message = next_message(SPICE_MSG_DISPLAY_DRAW_COPY);
        uint32_t image;

        g_assert_cmpuint(message.body.size(), >=, OFFSET + sizeof(image));
        memcpy(&image, &message.body[OFFSET], sizeof(image));
        image = GUINT32_FROM_LE(image);
        g_assert_cmpuint(message.body.size(), >=, image + sizeof(uint64_t) + 2);
        if (keep) {
            *keep = message.body[image + sizeof(uint64_t) + 1] & SPICE_IMAGE_FLAGS_CACHE_ME;
        }
        return message.body[image + sizeof(uint64_t)];
    }
};

/* Others come and go before and after it, and each shows the same picture twice. */
static void shares_nothing(gconstpointer data)
{
    const uint8_t id = GPOINTER_TO_UINT(data);
    ScreenGuest guest;
    ScreenGuest other_guest(guest, id);

    spice_server_set_image_compression(guest.device.server, SPICE_IMAGE_COMPRESSION_GLZ);
    for (uint32_t round = 1; round <= 2; ++round) {
        TestLink main(guest.device.server, SPICE_CHANNEL_MAIN);
        const uint32_t client = main.let_in();
        Display first(guest, client, 0);
        Display other(guest, client, id);
        bool keep;

        guest.draw(ScreenGuest::noise(round), round);
        g_assert_cmpuint(first.next_picture(&keep), ==, SPICE_IMAGE_TYPE_GLZ_RGB);
        g_assert_true(keep);
        guest.draw(ScreenGuest::noise(round), round);
        g_assert_cmpuint(first.next_picture(), ==, SPICE_IMAGE_TYPE_FROM_CACHE);

        for (int i = 0; i < 2; ++i) {
            other_guest.draw(ScreenGuest::noise(round), round);
            const uint8_t type = other.next_picture(&keep);

            g_assert_cmpuint(type, !=, SPICE_IMAGE_TYPE_GLZ_RGB);
            g_assert_cmpuint(type, !=, SPICE_IMAGE_TYPE_FROM_CACHE);
            g_assert_false(keep);
        }
    }
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    for (const unsigned id : { MAX_CACHE_CLIENTS, MAX_CACHE_CLIENTS + 4, 255 }) {
        const std::string path = "/server/fifth-display/" + std::to_string(id);

        g_test_add_data_func(path.c_str(), GUINT_TO_POINTER(id), shares_nothing);
    }
    return g_test_run();
}
