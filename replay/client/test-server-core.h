/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The event loop that a SPICE server needs, on GLib's main loop. For test-server. */

#ifndef TEST_SERVER_CORE_H_
#define TEST_SERVER_CORE_H_

#include <spice.h>

/* Called in the thread of the main loop when a client's channel is initialised. */
typedef void (*TestChannelUpFunc)(int type, int id);

/* There is one core in the process: call once. */
SpiceCoreInterface *test_core(TestChannelUpFunc on_channel_up);

#endif /* TEST_SERVER_CORE_H_ */
