/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When no drawing is delayed any more and the guest's ring is empty, the worker requests a
 * notification before it sleeps. Without it the guest's next drawing would wait until the worker
 * happens to look.
 */
#include <config.h>

#include <atomic>
#include <memory>

#include "test-link.h"
#include "test-qxl-device.h"

#include "push-visibility.h"

/* milliseconds; below the 10 after which the worker looks again, long for a busy machine */
#define HOLD 8
/* microseconds, longer than what counts as a pause */
#define PAUSE (HOLD * 1000 * 10)
/* milliseconds until a worker that is not woken goes on */
#define ENOUGH 10000
/* a busy machine may make a pause of what should be a burst */
#define ROUNDS 50

/* the last is taken when the time of the second is over */
enum { FIRST, SECOND, THIRD, DONE };

struct Guest
{
    /* before the device, which releases what is in it when it goes */
    std::vector<std::shared_ptr<QXLDrawable>> memory;
    TestDevice device;
    std::atomic<int> next = { DONE };
    /* the worker is told of the next */
    std::atomic<bool> asked = { false };
    /* times that what was held was so to its end, and sleeps from which no drawing wakes */
    std::atomic<int> held = { 0 };
    std::atomic<int> deaf = { 0 };
    /* with this, delayed drawings wait until something else wakes the worker */
    std::atomic<bool> clock_stops = { false };
    std::atomic<bool> is_stopped = { false };
    std::atomic<bool> is_woken = { false };
    bool has_poll = false;
};

static Guest *guest;

static void draw()
{
    auto drawable = std::make_shared<QXLDrawable>();
    const int at = guest->next++ * 10;

    *drawable = {};
    drawable->type = QXL_DRAW_FILL;
    drawable->effect = QXL_EFFECT_OPAQUE;
    drawable->bbox = { at, at, at + 5, at + 5 };
    drawable->clip.type = SPICE_CLIP_TYPE_NONE;
    for (int i = 0; i < 3; ++i) {
        drawable->surfaces_dest[i] = -1;
    }
    drawable->u.fill.brush.type = SPICE_BRUSH_TYPE_SOLID;
    drawable->u.fill.rop_descriptor = SPICE_ROPD_OP_PUT;
    guest->memory.push_back(drawable);
    guest->device.push(QXL_CMD_DRAW, drawable.get());
}

static gint worker_poll(GPollFD *fds, guint count, gint timeout)
{
    const bool sleeps_on = timeout < 0 || timeout > HOLD;

    if (guest->asked && guest->next < THIRD) {
        /* all before it has left */
        guest->asked = false;
        draw();
        timeout = 0;
    }
    guest->deaf += sleeps_on && timeout != 0 && !guest->asked;
    const bool holds = guest->next == THIRD && !guest->asked && timeout > 0 && !sleeps_on;
    if (holds && guest->clock_stops) {
        guest->clock_stops = false;
        guest->is_stopped = true;
        const gint ready = g_poll(fds, count, ENOUGH);
        guest->is_woken = ready > 0;
        guest->is_stopped = false;
        return ready;
    }
    const gint ready = g_poll(fds, count, timeout);
    if (holds && ready == 0) {
        ++guest->held;
        draw();
    }
    return ready;
}

/* The ring was found empty. */
static void request()
{
    if (!guest->has_poll) {
        guest->has_poll = true;
        g_main_context_set_poll_func(g_source_get_context(g_main_current_source()), worker_poll);
    }
    guest->asked = true;
}

struct Client: TestDisplayClient
{
    using TestDisplayClient::TestDisplayClient;

    void wait_for(uint16_t type)
    {
        TestLinkMessage message;

        do {
            message = display.next_message();
            if (message.type == SPICE_MSG_SET_ACK) {
                display.send_message(SPICE_MSGC_ACK_SYNC, message.body.data(), sizeof(uint32_t));
            }
        } while (message.type != type);
    }
};

static void drain(const TestLink &link)
{
    uint8_t bytes[4096];

    while (recv(link.socket, bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
        continue;
    }
}

static void wait_until_asked()
{
    while (!guest->asked) {
        g_usleep(1000);
    }
}

static void start()
{
    guest = new Guest;
    g_assert_cmpint(spice_server_set_noauth(guest->device.server), ==, 0);
    guest->device.on_request = request;
    guest->device.run();
}

static void begin_burst()
{
    wait_until_asked();
    g_usleep(PAUSE);
    guest->next = FIRST;
    spice_qxl_wakeup(&guest->device.qxl);
}

static void asks_before_it_sleeps()
{
    start();
    {
        Client client(guest->device.server);

        client.wait_for(SPICE_MSG_DISPLAY_SURFACE_CREATE);
        for (int round = 0; round < ROUNDS && guest->held == 0; ++round) {
            begin_burst();
            for (int i = 0; i < DONE; ++i) {
                client.wait_for(SPICE_MSG_DISPLAY_DRAW_FILL);
            }
        }
        wait_until_asked();
    }
    g_assert_cmpint(guest->held, >, 0);
    g_assert_cmpint(guest->deaf, ==, 0);
    delete guest;
}

/* The response to a key comes while something is held: the worker asks for it before that
 * leaves. */
static void asks_after_a_key()
{
    start();
    {
        Client client(guest->device.server);
        TestLink inputs(guest->device.server, SPICE_CHANNEL_INPUTS, client.id);
        const uint32_t space = GUINT32_TO_LE(0x39);

        g_assert_cmpint(inputs.authenticate(""), ==, SPICE_LINK_ERR_OK);
        client.wait_for(SPICE_MSG_DISPLAY_SURFACE_CREATE);
        guest->clock_stops = true;
        int drawings = 0;
        for (int round = 0; round < ROUNDS && !guest->is_stopped; ++round) {
            begin_burst();
            drawings += THIRD;
            while (!guest->is_stopped && !(guest->next == THIRD && guest->asked)) {
                g_usleep(1000);
            }
        }
        g_assert_true(guest->is_stopped);
        inputs.send_message(SPICE_MSGC_INPUTS_KEY_DOWN, &space, sizeof(space));
        while (guest->is_stopped) {
            g_main_context_iteration(basic_event_loop_get_context(), FALSE);
        }
        wait_until_asked();
        while (drawings-- > 0) {
            client.wait_for(SPICE_MSG_DISPLAY_DRAW_FILL);
        }
        /* what was not read when a socket is closed looks like an error to the server */
        drain(inputs);
        drain(client.main);
    }
    g_assert_true(guest->is_woken);
    delete guest;
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_setenv("SPICE_STREAM", "flow,hold=8000", TRUE);
    g_test_add_func("/server/worker-hold/sleep", asks_before_it_sleeps);
    g_test_add_func("/server/worker-hold/key", asks_after_a_key);
    return g_test_run();
}
