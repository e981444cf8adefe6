/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * At the end of a seamless migration the cache of images that the displays of a client share is
 * emptied: each display waits for what the others have been sent.
 */
#include <config.h>

#include "migration-protocol.h"
#include "test-link.h"
#include "test-screen-guest.h"

#include "push-visibility.h"

/* under which the client comes */
#define ID 42

struct Link: public TestLink
{
    Link(const ScreenGuest &guest, TestLinkChannel channel):
        TestLink(guest.device.server, channel, ID)
    {
        const uint32_t version = GUINT32_TO_LE(1);

        g_assert_cmpint(authenticate(""), ==, SPICE_LINK_ERR_OK);
        if (channel.type == SPICE_CHANNEL_MAIN) {
            send_message(SPICE_MSGC_MAIN_MIGRATE_DST_DO_SEAMLESS, &version, sizeof(version));
            next_message(SPICE_MSG_MAIN_MIGRATE_DST_SEAMLESS_ACK);
        }
    }

    /* What the former server is said to have sent of this display.
     * @serials: of all displays' last messages about the cache, 0: there was none
     * @empties: whether this display is the one that empties the cache */
    void migrate(const uint64_t (&serials)[MIGRATE_DATA_DISPLAY_MAX_CACHE_CLIENTS], bool empties)
    {
        struct SPICE_ATTR_PACKED {
            SpiceMigrateDataHeader header;
            SpiceMigrateDataDisplay display;
            /* the client has the screen */
            uint32_t num_surfaces;
            MigrateDisplaySurfaceLossless screen;
        } data = { };

        data.header.magic = SPICE_MIGRATE_DATA_DISPLAY_MAGIC;
        data.header.version = SPICE_MIGRATE_DATA_DISPLAY_VERSION;
        data.display.pixmap_cache_id = 1;
        data.display.pixmap_cache_freezer = empties;
        data.display.pixmap_cache_size = 1 << 20;
        memcpy(data.display.pixmap_cache_clients, serials, sizeof(serials));
        data.display.glz_dict_id = 1;
        data.display.glz_dict_data.size = 1 << 20;
        data.display.glz_dict_data.max_encoders = MIGRATE_DATA_DISPLAY_MAX_CACHE_CLIENTS;
        data.display.surfaces_at_client_ptr = sizeof(data.header) + sizeof(data.display);
        data.num_surfaces = 1;
        send_message(SPICE_MSGC_MIGRATE_DATA, &data, sizeof(data));
    }
};

#include <spice/start-packed.h>
struct SPICE_ATTR_PACKED Wait
{
    uint8_t channel_type;
    uint8_t channel_id;
    uint64_t serial;
};
#include <spice/end-packed.h>

/* The message is that the client waits for these. */
static void check_waits(const TestLinkMessage &message, const std::vector<Wait> &expected)
{
    g_assert_cmpuint(message.body.size(), >=, 1 + expected.size() * sizeof(Wait));
    g_assert_cmpuint(message.body[0], ==, expected.size());
    if (!expected.empty()) {
        g_assert_cmpint(memcmp(&message.body[1], expected.data(), expected.size() * sizeof(Wait)),
                        ==, 0);
    }
}

/* All displays that there may be. What they have been sent is for the client to say. */
static void waits_for_all()
{
    const uint64_t serials[] = { 1, UINT64_MAX, 0x0123456789abcdef, 7 };
    ScreenGuest guest;
    Link main(guest, SPICE_CHANNEL_MAIN);
    Link display(guest, SPICE_CHANNEL_DISPLAY);

    display.migrate(serials, true);
    check_waits(display.next_message(SPICE_MSG_DISPLAY_INVAL_ALL_PIXMAPS), {
        { SPICE_CHANNEL_DISPLAY, 1, GUINT64_TO_LE(serials[1]) },
        { SPICE_CHANNEL_DISPLAY, 2, GUINT64_TO_LE(serials[2]) },
        { SPICE_CHANNEL_DISPLAY, 3, GUINT64_TO_LE(serials[3]) },
    });
}

/* One display empties the cache, the other one puts nothing into it before the client knows. */
static void the_other_waits()
{
    const uint64_t serials[] = { 0, 0, 0, 0 };
    ScreenGuest guest;
    ScreenGuest other_guest(guest, 1);
    Link main(guest, SPICE_CHANNEL_MAIN);
    Link display(guest, SPICE_CHANNEL_DISPLAY);
    Link other(guest, { SPICE_CHANNEL_DISPLAY, 1 });

    other.migrate(serials, false);
    display.migrate(serials, true);
    const TestLinkMessage emptied = display.next_message(SPICE_MSG_DISPLAY_INVAL_ALL_PIXMAPS);
    check_waits(emptied, { });

    other_guest.draw(ScreenGuest::noise(1), 1);
    other.next_message(SPICE_MSG_DISPLAY_DRAW_COPY);
    const TestLinkMessage wait = other.next_message(SPICE_MSG_WAIT_FOR_CHANNELS);
    check_waits(wait, { { SPICE_CHANNEL_DISPLAY, 0, GUINT64_TO_LE(emptied.serial) } });
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/cache-reset/waits-for-all", waits_for_all);
    g_test_add_func("/server/cache-reset/the-other-waits", the_other_waits);
    return g_test_run();
}
