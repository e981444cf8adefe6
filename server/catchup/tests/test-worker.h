/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What belongs to the thread of a display's worker, for tests in another thread. */
#ifndef TEST_WORKER_H_
#define TEST_WORKER_H_

#include <functional>

#include "red-channel.h"
#include "red-qxl.h"
#include "red-worker.h"
#include "reds.h"
#include "test-qxl-device.h"

#include "push-visibility.h"

/* The message, which the dispatcher copies as bytes. */
struct TestLook
{
    const std::function<void()> *look;

    static void handle(void *, TestLook *self) { (*self->look)(); }
};

/* Have the worker call @look, between two of its events. */
static inline void test_in_worker(TestDevice *device, const std::function<void()> &look)
{
    TestLook message = { &look };

    red_qxl_get_dispatcher(&device->qxl)->send_message_custom(TestLook::handle, &message, true);
}

/* What waits for the client of the first display that is most behind, in items. */
static inline uint32_t test_max_pipe_size(TestDevice *device)
{
    RedChannel *const channel = reds_find_channel(device->server, SPICE_CHANNEL_DISPLAY, 0);
    uint32_t size;

    test_in_worker(device, [&] { size = channel->max_pipe_size(); });
    return size;
}

#include "pop-visibility.h"

#endif /* TEST_WORKER_H_ */
