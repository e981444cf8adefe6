/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Two displays of one VM, a thread each, and one client: both compress against the same dictionary,
 * and each uses and removes images that the other one added.
 */
#include <config.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "migration-protocol.h"
#include "test-link.h"
#include "test-screen-guest.h"

#include "push-visibility.h"

enum {
    /* pictures that the dictionary holds, so that it is full all the time, and which there are */
    WINDOW = 16,
    DIFFERENT = 40,
    /* drawn by each guest */
    PICTURES = 400,
    /* of both sides of a part of the screen */
    PART = 8,
};

/* The client's end of a display: reads in a thread of its own, and says what it has to. */
class Display
{
public:
    /* pictures that came, and those of them from the dictionary */
    std::atomic<unsigned> pictures{0};
    std::atomic<unsigned> compressed{0};
    /* of them, those of more than a part of the screen */
    std::atomic<unsigned> larger{0};
    /* bytes of the last message with a picture */
    std::atomic<size_t> last_size{0};
    /* what it got of the dictionary when the machine left, 0: nothing */
    std::atomic<uint32_t> window_left{0};
    /* microseconds that it takes for a message */
    std::atomic<unsigned> busy{0};
    /* whether the server has closed it */
    std::atomic<bool> ended{false};

    Display(const ScreenGuest &guest, uint32_t client, uint8_t id):
        link(guest.device.server, { SPICE_CHANNEL_DISPLAY, id }, client, TEST_TCP, 8192)
    {
        g_assert_cmpint(link.authenticate(""), ==, SPICE_LINK_ERR_OK);
        link.may_end = true;
        link.say_display_init(WINDOW * TEST_QXL_WIDTH * TEST_QXL_HEIGHT + 1);
        reader = std::thread([this] {
            TestLinkMessage message;

            while (receive(&message)) {
                take(message);
                g_usleep(busy);
            }
            ended = true;
        });
    }

    ~Display()
    {
        shutdown(link.socket, SHUT_RDWR);
        reader.join();
    }

private:
    TestLink link;
    std::thread reader;
    uint32_t ack_window = 0;
    uint32_t ack_count = 0;

    bool receive(void *data, size_t size) const
    {
        return recv(link.socket, data, size, MSG_WAITALL) == static_cast<ssize_t>(size);
    }

    /* False: there are no more. */
    bool receive(TestLinkMessage *message) const
    {
        SpiceDataHeader header;

        if (!receive(&header, sizeof(header))) {
            return false;
        }
        message->type = GUINT16_FROM_LE(header.type);
        message->body.resize(GUINT32_FROM_LE(header.size));
        return message->body.empty() || receive(message->body.data(), message->body.size());
    }

    void take(const TestLinkMessage &message)
    {
        switch (message.type) {
        case SPICE_MSG_SET_ACK:
            memcpy(&ack_window, &message.body[sizeof(uint32_t)], sizeof(ack_window));
            ack_window = GUINT32_FROM_LE(ack_window);
            ack_count = 0;
            link.send_message(SPICE_MSGC_ACK_SYNC, message.body.data(), sizeof(uint32_t));
            return;
        case SPICE_MSG_PING:
            link.send_message(SPICE_MSGC_PONG, message.body.data(),
                              sizeof(uint32_t) + sizeof(uint64_t));
            break;
        case SPICE_MSG_MIGRATE:
            link.send_message(SPICE_MSGC_MIGRATE_FLUSH_MARK);
            break;
        case SPICE_MSG_MIGRATE_DATA: {
            SpiceMigrateDataDisplay data;

            g_assert_cmpuint(message.body.size(), >=,
                             sizeof(SpiceMigrateDataHeader) + sizeof(data));
            memcpy(&data, &message.body[sizeof(SpiceMigrateDataHeader)], sizeof(data));
            window_left = data.glz_dict_data.size;
            break;
        }
        case SPICE_MSG_DISPLAY_DRAW_COPY:
            take_picture(message.body);
            break;
        }
        if (ack_window && ++ack_count == ack_window) {
            ack_count = 0;
            link.send_message(SPICE_MSGC_ACK);
        }
    }

    void take_picture(const std::vector<uint8_t> &body)
    {
        /* surface, box, then how many rectangles clip it if any do */
        size_t pos = 4 + 16;
        uint32_t number;
        /* top, left, bottom, right */
        int32_t box[4];

        memcpy(box, &body[4], sizeof(box));
        larger += GINT32_FROM_LE(box[2]) - GINT32_FROM_LE(box[0]) > PART ||
                  GINT32_FROM_LE(box[3]) - GINT32_FROM_LE(box[1]) > PART;
        if (body[pos++] == SPICE_CLIP_TYPE_RECTS) {
            memcpy(&number, &body[pos], sizeof(number));
            pos += sizeof(number) + GUINT32_FROM_LE(number) * 16;
        }
        /* where the image lies in the message; there its id and type */
        memcpy(&number, &body[pos], sizeof(number));
        const uint8_t type = body.at(GUINT32_FROM_LE(number) + sizeof(uint64_t));
        if (type == SPICE_IMAGE_TYPE_GLZ_RGB || type == SPICE_IMAGE_TYPE_ZLIB_GLZ_RGB) {
            ++compressed;
        }
        last_size = body.size();
        ++pictures;
    }
};

/* A machine with two displays, and a client that has both. */
struct Session
{
    ScreenGuest guest;
    std::unique_ptr<ScreenGuest> other_guest;
    std::unique_ptr<TestLink> main;
    uint32_t client;
    std::unique_ptr<Display> display;
    std::unique_ptr<Display> other;

    Session():
        other_guest(new ScreenGuest(guest, 1))
    {
        spice_server_set_image_compression(guest.device.server, SPICE_IMAGE_COMPRESSION_GLZ);
        main.reset(new TestLink(guest.device.server, SPICE_CHANNEL_MAIN, 0, TEST_UNIX, 0,
                                1 << SPICE_MAIN_CAP_SEMI_SEAMLESS_MIGRATE |
                                    1 << SPICE_MAIN_CAP_SEAMLESS_MIGRATE |
                                    1 << SPICE_MAIN_CAP_AGENT_CONNECTED_TOKENS));
        client = main->let_in();
        main->send_message(SPICE_MSGC_MAIN_ATTACH_CHANNELS);
        main->next_message(SPICE_MSG_MAIN_CHANNELS_LIST);
        display.reset(new Display(guest, client, 0));
        open_other();
    }

    /* Again, if it is open. It is refused as long as the server is not through with the last. */
    void open_other()
    {
        do {
            other.reset();
            other.reset(new Display(*other_guest, client, 1));
            wait_for([&] { return other->pictures > 0 || other->ended; });
        } while (other->ended);
    }

    static void wait_for(const std::function<bool()> &is_so)
    {
        while (!is_so()) {
            TestLink::run_events();
            g_usleep(1000);
        }
    }

    /* Does something while both guests draw: on the whole screen, or on its parts. */
    void while_they_draw(const std::function<void()> &something, bool in_parts = false)
    {
        std::atomic<bool> is_over{false};
        std::thread drawing([&] { draw(&guest, 1, in_parts); });
        std::thread other_drawing([&] { draw(other_guest.get(), 2, in_parts); });
        std::thread waiting([&] {
            drawing.join();
            other_drawing.join();
            is_over = true;
        });

        something();
        wait_for([&] { return is_over.load(); });
        waiting.join();
    }

private:
    static void draw(ScreenGuest *guest, uint32_t seed, bool in_parts)
    {
        GRand *rand = g_rand_new_with_seed(seed);

        for (int i = 0; i < PICTURES; ++i) {
            guest->drawings.emplace_back(ScreenGuest::noise(g_rand_int_range(rand, 0, DIFFERENT)),
                                         0);
            ScreenGuest::Drawing *drawing = &guest->drawings.back();
            if (in_parts) {
                const int left = i * PART % TEST_QXL_WIDTH;
                const int top = i * PART / TEST_QXL_WIDTH * PART % TEST_QXL_HEIGHT;
                drawing->bbox = drawing->u.copy.src_area = { top, left, top + PART, left + PART };
            }
            guest->device.push(QXL_CMD_DRAW, static_cast<QXLDrawable *>(drawing));
            if (i % 8 == 0) {
                guest->device.run();
            }
        }
        guest->device.run();
        g_rand_free(rand);
    }
};

/* A picture that one display has been sent is small on the other, be it drawn or what the screen
 * shows to a client that comes. */
static void one_dictionary()
{
    const std::vector<uint32_t> picture = ScreenGuest::noise(0);
    Session session;
    Display *display = session.display.get();

    Session::wait_for([&] { return display->pictures == 1; });
    session.guest.draw(picture);
    Session::wait_for([&] { return display->pictures == 2; });
    const size_t first = display->last_size;
    g_assert_cmpuint(first, >, picture.size() * 3);
    session.other_guest->draw(picture);
    Session::wait_for([&] { return session.other->pictures == 2; });
    g_assert_cmpuint(session.other->last_size, <, first / 8);

    session.open_other();
    g_assert_cmpuint(session.other->last_size, <, first / 8);
}

/* The client is quick, or slow with one of them. */
static void both_compress(gconstpointer data)
{
    Session session;

    session.other->busy = GPOINTER_TO_UINT(data);
    session.while_they_draw([] {});
    Session::wait_for([&] { return session.display->compressed && session.other->compressed; });
    g_assert_cmpint(session.guest.device.num_left(), ==, 0);
    g_assert_cmpint(session.other_guest->device.num_left(), ==, 0);
}

/* The client is slow with both, so it gets what the screens show instead of many drawings. */
static void both_catch_up()
{
    Session session;

    session.display->busy = session.other->busy = 5000;
    session.while_they_draw([] {}, true);
    Session::wait_for([&] { return session.display->larger > 1 && session.other->larger > 1; });
}

/* One leaves what it has put into the dictionary. */
static void one_comes_and_goes()
{
    Session session;

    session.while_they_draw([&] {
        for (int round = 0; round < 20; ++round) {
            session.open_other();
        }
    });
    Session::wait_for([&] { return session.display->compressed && session.other->compressed; });
}

/* A second channel of the same display is refused, or takes over: it comes just as the first one
 * closes. */
static void second_while_one_closes()
{
    Session session;

    session.while_they_draw([&] {
        for (int round = 0; round < 40; ++round) {
            Display second(*session.other_guest, session.client, 1);

            session.other.reset(new Display(*session.other_guest, session.client, 1));
        }
    });
    session.open_other();
}

/* The machine leaves for another host while the client has not got all of what it showed. */
static void they_migrate()
{
    static SpiceMigrateInterface functions = {};
    SpiceMigrateInstance migration = {};
    Session session;
    SpiceServer *const server = session.guest.device.server;
    TestLink *const main = session.main.get();

    functions.base.type = SPICE_INTERFACE_MIGRATION;
    functions.base.major_version = SPICE_INTERFACE_MIGRATION_MAJOR;
    functions.base.minor_version = SPICE_INTERFACE_MIGRATION_MINOR;
    functions.migrate_connect_complete = [](SpiceMigrateInstance *) {};
    functions.migrate_end_complete = [](SpiceMigrateInstance *) {};
    migration.base.sif = &functions.base;
    g_assert_cmpint(spice_server_add_interface(server, &migration.base), ==, 0);
    spice_server_set_seamless_migration(server, TRUE);
    session.other->busy = 1000;
    session.while_they_draw([&] {
        g_assert_cmpint(spice_server_migrate_connect(server, "nowhere", 1, 0, nullptr), ==, 0);
        main->next_message(SPICE_MSG_MAIN_MIGRATE_BEGIN_SEAMLESS);
        main->send_message(SPICE_MSGC_MAIN_MIGRATE_CONNECTED_SEAMLESS);
    });
    g_assert_cmpint(spice_server_migrate_end(server, TRUE), ==, 0);
    Session::wait_for([&] { return session.display->window_left && session.other->window_left; });
    g_assert_cmpuint(session.display->window_left, ==, session.other->window_left);
    session.other.reset();
    session.display.reset();
    session.main.reset();
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/two-displays/one-dictionary", one_dictionary);
    g_test_add_data_func("/server/two-displays/both-compress", GUINT_TO_POINTER(0), both_compress);
    g_test_add_data_func("/server/two-displays/one-is-slow", GUINT_TO_POINTER(5000), both_compress);
    g_test_add_func("/server/two-displays/both-catch-up", both_catch_up);
    g_test_add_func("/server/two-displays/one-comes-and-goes", one_comes_and_goes);
    g_test_add_func("/server/two-displays/second-while-one-closes", second_while_one_closes);
    g_test_add_func("/server/two-displays/they-migrate", they_migrate);
    return g_test_run();
}
