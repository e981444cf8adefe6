/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A server whose guest has a device behind a channel, for tests of what a client or the guest
 * says to it. */
#ifndef TEST_DEVICE_SERVER_H_
#define TEST_DEVICE_SERVER_H_

#include "test-link.h"
#include "vmc-emu.h"

#include "push-visibility.h"

/* @Base: TestServer, or TestDevice, which has a display as well. Without a password. At the end
 * whoever comes must be let in, whatever was said before. */
template<typename Base>
struct TestDeviceServer: public Base
{
    VmcEmu *const device;

    /* @type, @name: of the device, see vmc_emu_new() */
    TestDeviceServer(const char *type, const char *name):
        device(vmc_emu_new(type, name))
    {
        g_assert_cmpint(spice_server_set_noauth(this->server), ==, 0);
        g_assert_cmpint(spice_server_add_interface(this->server, &device->instance.base), ==, 0);
    }

    ~TestDeviceServer()
    {
        test_link_let_in(this->server);
        spice_server_remove_interface(&device->instance.base);
        vmc_emu_destroy(device);
    }
};

#include "pop-visibility.h"

#endif /* TEST_DEVICE_SERVER_H_ */
