/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A server whose guest has a streaming agent, and clients of what that shows. */
#ifndef TEST_STREAMING_AGENT_H_
#define TEST_STREAMING_AGENT_H_

#include <spice/stream-device.h>

#include "test-channel-client.h"
#include "test-device-server.h"

#include "push-visibility.h"

/* The device is open. The agent says one message again and again. */
struct TestStreamingAgent: public TestDeviceServer<TestServer>
{
    TestStreamingAgent():
        TestDeviceServer("port", "org.spice-space.stream.0")
    {
        current() = this;
        device->vmc_interface.read = read;
        spice_server_vm_start(server);
        open();
    }

    /* As the guest does when a program opens its end. */
    void open()
    {
        pos = 0;
        spice_server_port_event(&device->instance, SPICE_PORT_EVENT_OPENED);
    }

    void close()
    {
        spice_server_port_event(&device->instance, SPICE_PORT_EVENT_CLOSED);
    }

    void say(const std::vector<uint8_t> &new_message, unsigned times = 1)
    {
        message = new_message;
        left = times;
        pos = 0;
        spice_server_char_device_wakeup(&device->instance);
        TestLink::run_events();
    }

    /* How often the message was not taken yet. */
    unsigned num_left() const
    {
        return left;
    }

    /* @body: bytes of a structure that the message begins with, and of all that follows */
    static std::vector<uint8_t> make(StreamMsgType type, const void *body, size_t size,
                                     size_t num_more = 0)
    {
        StreamDevHeader header = { };
        auto from = static_cast<const uint8_t *>(body);

        header.protocol_version = STREAM_DEVICE_PROTOCOL;
        header.type = GUINT16_TO_LE(type);
        header.size = GUINT32_TO_LE(size + num_more);
        auto start = reinterpret_cast<const uint8_t *>(&header);
        std::vector<uint8_t> made(start, start + sizeof(header));
        made.insert(made.end(), from, from + size);
        made.resize(made.size() + num_more);
        return made;
    }

    static std::vector<uint8_t> make_format()
    {
        StreamMsgFormat format = { };

        format.width = GUINT32_TO_LE(640);
        format.height = GUINT32_TO_LE(480);
        format.codec = SPICE_VIDEO_CODEC_TYPE_MJPEG;
        return make(STREAM_TYPE_FORMAT, &format, sizeof(format));
    }

    /* A format and a frame of that. */
    static std::vector<uint8_t> make_frame(size_t size)
    {
        std::vector<uint8_t> made = make_format();
        const std::vector<uint8_t> frame = make(STREAM_TYPE_DATA, nullptr, 0, size);

        made.insert(made.end(), frame.begin(), frame.end());
        return made;
    }

private:
    std::vector<uint8_t> message;
    size_t pos = 0;
    unsigned left = 0;

    static TestStreamingAgent *&current()
    {
        static TestStreamingAgent *agent;

        return agent;
    }

    static int read(SpiceCharDeviceInstance *, uint8_t *buf, int len)
    {
        TestStreamingAgent *const agent = current();

        if (agent->left == 0) {
            return 0;
        }
        const int num_bytes = MIN(agent->message.size() - agent->pos, size_t(len));

        memcpy(buf, &agent->message[agent->pos], num_bytes);
        agent->pos += num_bytes;
        if (agent->pos == agent->message.size()) {
            agent->pos = 0;
            --agent->left;
        }
        return num_bytes;
    }
};

/* A client that was let in, with a channel of the agent's. The kernel holds little of what it does
 * not read. */
struct TestStreamingClient
{
    TestLink main;
    TestLink channel;

    TestStreamingClient(const TestStreamingAgent &agent, uint8_t channel_type):
        main(agent.server, SPICE_CHANNEL_MAIN),
        channel(agent.server, channel_type, main.let_in(), TEST_UNIX, 4096)
    {
        g_assert_cmpint(channel.authenticate(""), ==, SPICE_LINK_ERR_OK);
        TestLink::run_events();
    }

    /* Waits for a message of this type, and lets the server know of all that come. */
    TestLinkMessage next_message(uint16_t type)
    {
        for (;;) {
            const TestLinkMessage message = channel.next_message();

            if (message.type == SPICE_MSG_SET_ACK) {
                channel.send_message(SPICE_MSGC_ACK_SYNC, message.body.data(), sizeof(uint32_t));
                memcpy(&window, &message.body[sizeof(uint32_t)], sizeof(window));
                window = GUINT32_FROM_LE(window);
                num_unanswered = 0;
            } else if (window > 0 && ++num_unanswered == window) {
                channel.send_message(SPICE_MSGC_ACK);
                num_unanswered = 0;
            }
            if (message.type == type) {
                return message;
            }
        }
    }

private:
    uint32_t window = 0, num_unanswered = 0;
};

#include "pop-visibility.h"

#endif /* TEST_STREAMING_AGENT_H_ */
