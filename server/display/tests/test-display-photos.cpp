/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The display stage, and clients that get JPEG: what a release sends exactly does not stay lossy.
 */
#include <config.h>

#include "test-display-guest.h"

#include "push-visibility.h"

static const int PHOTO = 256;

/* The guest shows a photo at the left, and text at the right. A client gets JPEG. */
struct PageGuest: Guest
{
    PageGuest()
    {
        spice_server_set_image_compression(device.server, SPICE_IMAGE_COMPRESSION_AUTO_GLZ);
        spice_server_set_jpeg_compression(device.server, SPICE_WAN_COMPRESSION_ALWAYS);
        draw_page(0);
    }

    void draw_page(int shift)
    {
        for (int y = 0; y < HEIGHT; ++y) {
            for (int x = 0; x < WIDTH; ++x) {
                const bool paper = y % 16 < 12 || random(2);

                screen.at(x, y) = x >= PHOTO ? (paper ? 0xffffff : 0x101010) :
                                  x % 2 ? screen.at(x - 1, y) :
                                  0x10101 * ((x + y) / 3 + shift + random(16));
            }
        }
    }

    /* The page as one image. */
    void send_page()
    {
        draw_page(10);
        send(all());
    }

    void send_text()
    {
        for (int x = PHOTO; x < WIDTH; x += 32) {
            send({ x, 0, 32, HEIGHT });
        }
    }

    /* Number of pixels with losses of the photo or the text. */
    static int num_lossy(Client *client, bool is_text)
    {
        int pixels = 0;

        for (int y = 0; y < HEIGHT; ++y) {
            for (int x = 0; x < WIDTH; ++x) {
                pixels += is_text == (x >= PHOTO) && (client->pictures[0].at(x, y) & TEST_LOSSY);
            }
        }
        return pixels;
    }
};

/* The columns that a guest sends of a photo and of text beside it do not become one image: the
 * photo comes as JPEG, the text does not. */
static void text_beside_a_photo()
{
    PageGuest guest;
    Client client(guest.device.server, TEST_TCP);

    client.read_for(500);
    for (int i = 1; i <= 2; ++i) {
        guest.draw_page(10 * i);
        guest.sweep();
        guest.device.run();
        client.read_for(500);
        g_assert_cmpint(PageGuest::num_lossy(&client, false), ==, PHOTO * HEIGHT);
        g_assert_cmpint(PageGuest::num_lossy(&client, true), ==, 0);
    }
}

/* Lines of a photo change, and fewer lines of text beside it: what becomes one image contains text
 * that the guest has not drawn. It comes as JPEG, and becomes exact; the photo stays JPEG. */
static void text_between_changes()
{
    const Box lines = { 0, 2, 160, 10 }, text = { 0, 2, 32, 3 }, between = { 0, 5, 32, 7 };
    PageGuest guest;
    Client client(guest.device.server, TEST_TCP);
    const auto num_lossy = [&](const Box &box) {
        Picture part(box.width, box.height);

        part.copy({ 0, 0, box.width, box.height }, client.pictures[0], box.left, box.top);
        return part.num_lossy();
    };

    client.read_for(500);
    std::fill(guest.screen.pixels.begin(), guest.screen.pixels.end(), 0xffffff);
    guest.send(guest.all());
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.shown));
    for (int y = lines.top; y < lines.top + lines.height; ++y) {
        for (int x = text.width; x < lines.width; ++x) {
            guest.screen.at(x, y) = 0x10101 * ((x + y) / 3 + guest.random(16));
        }
    }
    for (int y = text.top; y < text.top + text.height; ++y) {
        for (int x = 0; x < text.width; ++x) {
            guest.screen.at(x, y) ^= 0xefefef;
        }
    }
    guest.sweep();
    /* what is equal makes it worth while to send less than that */
    guest.send({ lines.width, 0, WIDTH - lines.width, HEIGHT });
    guest.device.run();
    g_assert_true(client.reads_until([&] { return num_lossy(between) > 0; }));
    g_assert_true(client.reads_until([&] { return num_lossy(between) + num_lossy(text) == 0; }));
    g_assert_cmpint(num_lossy(lines), ==, (lines.width - text.width) * lines.height);
}

/* A page with a photo is scrolled. Browsers get no copy from JPEG, so they get what the guest has
 * drawn. */
static void photo_scrolled(gconstpointer data)
{
    const uint32_t caps = GPOINTER_TO_UINT(data);
    PageGuest guest;
    Client client(guest.device.server, TEST_TCP, caps);

    client.read_for(500);
    guest.sweep();
    guest.device.run();
    client.read_for(500);
    const uint64_t before = guest.counters().moves;
    guest.scroll();
    guest.sweep();
    guest.device.run();
    client.read_for(500);
    g_assert_cmpint(guest.counters().moves > before, ==,
                    caps == SPICE_GTK);
    g_assert_cmpint(client.received[SPICE_MSG_DISPLAY_COPY_BITS] > 0, ==, caps == SPICE_GTK);
    g_assert_cmpint(PageGuest::num_lossy(&client, true), ==, 0);
}

/* Text that came as JPEG with a photo is exact after the guest has drawn it alone, though no pixel
 * has changed. */
static void text_drawn_again(gconstpointer mode)
{
    if (!g_test_subprocess()) {
        run_with(static_cast<const char *>(mode));
        return;
    }
    PageGuest guest;
    Client client(guest.device.server, TEST_TCP);

    client.read_for(500);
    guest.send_page();
    guest.device.run();
    client.read_for(3000);
    g_assert_cmpint(PageGuest::num_lossy(&client, true), ==, (WIDTH - PHOTO) * HEIGHT);
    for (int i = 0; i < 30 && PageGuest::num_lossy(&client, true) > 0; ++i) {
        /* it may do so all the time */
        guest.send_text();
        guest.device.run();
        client.read_for(100);
    }
    g_assert_cmpint(PageGuest::num_lossy(&client, true), ==, 0);
    g_assert_cmpint(PageGuest::num_lossy(&client, false), ==, PHOTO * HEIGHT);
}

/* The same, if the page has not been sent yet when its text is drawn. */
static void text_drawn_at_once(gconstpointer mode)
{
    if (!g_test_subprocess()) {
        run_with(static_cast<const char *>(mode));
        return;
    }
    PageGuest guest;
    Client client(guest.device.server, TEST_TCP);

    client.read_for(500);
    guest.send_page();
    guest.send_text();
    guest.device.run();
    client.read_for(3000);
    g_assert_cmpint(PageGuest::num_lossy(&client, true), ==, 0);
    g_assert_cmpint(PageGuest::num_lossy(&client, false), ==, PHOTO * HEIGHT);
}

/* A client is shown a video, on its page. */
struct VideoGuest: PageGuest
{
    const Box box = { 16, 16, 200, 150 };

    void play(Client *client)
    {
        spice_server_set_streaming_video(device.server, SPICE_STREAM_VIDEO_FILTER);
        client->read_for(500);
        for (int i = 0; i < 40; ++i) {
            for (int y = box.top; y < box.top + box.height; ++y) {
                for (int x = box.left; x < box.left + box.width; ++x) {
                    screen.at(x, y) = 0x10101 * (((x + y) / 4 + 3 * i + random(4)) & 0xff);
                }
            }
            send(box);
            device.run();
            client->read_for(20);
        }
        g_assert_cmpuint(client->received[SPICE_MSG_DISPLAY_STREAM_CREATE], >, 0);
    }
};

/* A second after the last frame of a video the client gets it as an image, and a little later
 * without losses; where nothing would be sent later, without losses at once. */
static void last_frame(gconstpointer mode)
{
    if (!g_test_subprocess()) {
        run_with(static_cast<const char *>(mode));
        return;
    }
    VideoGuest guest;
    Client client(guest.device.server, TEST_TCP);

    guest.play(&client);
    client.lossy_pixels = 0;
    g_assert_true(client.reads_until([&] {
        return client.received[SPICE_MSG_DISPLAY_STREAM_DESTROY] > 0;
    }));
    client.read_for(2000);
    const bool is_resent = strcmp(static_cast<const char *>(mode), "flow") == 0;
    g_assert_cmpint(client.lossy_pixels > 0, ==, is_resent);
    g_assert_cmpint(client.pictures[0].num_lossy(), ==, 0);
}

/* The server to which the client migrates may not resend what is lossy. */
static void last_frame_before_migration()
{
    RedChannelClient *rcc;
    VideoGuest guest;
    Client client(guest.device.server, TEST_TCP);
    RedChannel *const channel = reds_find_channel(guest.device.server, SPICE_CHANNEL_DISPLAY, 0);

    guest.play(&client);
    client.read_while([&] { spice_server_vm_stop(guest.device.server); });
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_STREAM_DESTROY], ==, 0);
    GLIST_FOREACH(channel->get_clients(), RedChannelClient, rcc) {
        channel->migrate_client(rcc);
    }
    g_assert_true(client.reads_until([&] { return client.received[SPICE_MSG_MIGRATE] != 0; }));
    g_assert_cmpint(client.pictures[0].num_lossy(), ==, 0);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    if (!g_test_subprocess()) {
        g_setenv("SPICE_STREAM", "flow", TRUE);
    }
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));

    g_test_add_func("/server/display-photos/text-beside-a-photo", text_beside_a_photo);
    g_test_add_func("/server/display-photos/text-between-changes", text_between_changes);
    g_test_add_data_func("/server/display-photos/photo-scrolled", GUINT_TO_POINTER(SPICE_GTK),
                         photo_scrolled);
    g_test_add_data_func("/server/display-photos/photo-scrolled-in-a-browser",
                         GUINT_TO_POINTER(SPICE_HTML5), photo_scrolled);
    g_test_add_data_func("/server/display-photos/text-drawn-again", "flow", text_drawn_again);
    g_test_add_data_func("/server/display-photos/text-drawn-again-without-catch-up",
                         "flow,catchup=off", text_drawn_again);
    g_test_add_data_func("/server/display-photos/text-drawn-at-once", "flow", text_drawn_at_once);
    g_test_add_data_func("/server/display-photos/text-drawn-at-once-without-catch-up",
                         "flow,catchup=off", text_drawn_at_once);
    g_test_add_data_func("/server/display-photos/last-frame", "flow", last_frame);
    g_test_add_data_func("/server/display-photos/last-frame-without-catch-up", "flow,catchup=off",
                         last_frame);
    g_test_add_data_func("/server/display-photos/last-frame-in-mode-cork", "cork", last_frame);
    g_test_add_func("/server/display-photos/last-frame-before-migration",
                    last_frame_before_migration);

    return g_test_run();
}
