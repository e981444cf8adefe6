/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Two displays whose guests run out of memory at once do not wait for each other, whatever
 * clients there are, in whatever order they came.
 */
#include <config.h>

#include <dlfcn.h>
#include <pthread.h>
#include <thread>

#include "test-link.h"
#include "test-qxl-device.h"

#include "push-visibility.h"

enum { OTHER = 1, ROUNDS = 50 };

/* Takes the place of libc's in the server: who has a lock takes its time before it asks for
 * another. */
extern "C" int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
    typedef int Function(pthread_rwlock_t *);
    static const auto real =
        reinterpret_cast<Function *>(dlsym(RTLD_NEXT, "pthread_rwlock_wrlock"));
    const int result = real(lock);

    g_usleep(1000);
    return result;
}

struct Display: TestLink
{
    Display(SpiceServer *server, uint32_t client, uint8_t id):
        TestLink(server, { SPICE_CHANNEL_DISPLAY, id }, client)
    {
        g_assert_cmpint(authenticate(""), ==, SPICE_LINK_ERR_OK);
        say_display_init();
        next_message(SPICE_MSG_DISPLAY_MARK);
    }
};

static void run_out_of_memory(TestDevice *device)
{
    for (int i = 0; i < ROUNDS; ++i) {
        spice_qxl_oom(&device->qxl);
        device->run();
    }
}

/* Each display's worker locks the dictionaries of all clients. */
static void at_once()
{
    TestDevice device;
    TestDevice other(device, OTHER);

    g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
    device.run();
    other.run();

    TestLink first(device.server, SPICE_CHANNEL_MAIN), second(device.server, SPICE_CHANNEL_MAIN);
    const uint32_t first_id = first.let_in(), second_id = second.let_in();
    Display first_here(device.server, first_id, 0), second_here(device.server, second_id, 0);
    Display second_there(device.server, second_id, OTHER),
        first_there(device.server, first_id, OTHER);

    std::thread thread(run_out_of_memory, &other);
    run_out_of_memory(&device);
    thread.join();
}

int main(int argc, char *argv[])
{
    g_setenv("SPICE_DEBUG_ALLOW_MC", "1", TRUE);
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of a second client */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/free-some/at-once", at_once);
    return g_test_run();
}
