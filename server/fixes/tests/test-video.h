/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A guest that draws pictures on its screen, and plays a video there. */
#ifndef TEST_VIDEO_H_
#define TEST_VIDEO_H_

#include <deque>

#include "test-link.h"
#include "test-qxl-device.h"

#include "push-visibility.h"

/* Draws on the screen. It stays where it is until it is released. */
struct TestDrawing
{
    QXLDrawable drawable = {};

    TestDrawing(uint8_t type, uint8_t effect, const QXLRect &box)
    {
        drawable.type = type;
        drawable.effect = effect;
        drawable.bbox = box;
        memset(drawable.surfaces_dest, 0xff, sizeof(drawable.surfaces_dest));
    }

    TestDrawing(const TestDrawing &) = delete;
};

/* Draws a picture. */
struct TestFrame: public TestDrawing
{
    QXLImage image = {};

    /* @id: of the picture, which is @pixels without a gap between lines */
    TestFrame(uint64_t id, const uint32_t *pixels, const QXLRect &box):
        TestDrawing(QXL_DRAW_COPY, QXL_EFFECT_OPAQUE, box)
    {
        image.descriptor.id = id;
        test_set_bitmap(&image, SPICE_BITMAP_FMT_RGBA, box.right - box.left, box.bottom - box.top,
                        (box.right - box.left) * 4, pixels);
        drawable.mm_time = 1;
        drawable.u.copy.src_bitmap = reinterpret_cast<uintptr_t>(&image);
        drawable.u.copy.src_area.right = image.bitmap.x;
        drawable.u.copy.src_area.bottom = image.bitmap.y;
        drawable.u.copy.rop_descriptor = SPICE_ROPD_OP_PUT;
    }
};

/* It has to outlive the device. The server has to take whatever is drawn often for a video. */
struct TestVideo
{
    /* at least of a video's first frame */
    enum { FIRST_ID = 1000 };

    TestVideo(const uint32_t *pixels_, const QXLRect &box_):
        pixels(pixels_),
        box(box_) {}

    /* Until the client is shown a video, by the message that is returned. The channel's messages
     * are read from its first one on: what the client owes the server for them is sent. */
    TestLinkMessage play(TestDevice *device, TestLink *display)
    {
        uint32_t ack_window = 0, num_messages = 0;

        for (;;) {
            draw(device);
            g_usleep(20 * 1000);
            while (test_is_readable(display->socket, 0)) {
                const TestLinkMessage message = display->next_message();

                if (message.type == SPICE_MSG_DISPLAY_STREAM_CREATE) {
                    return message;
                }
                if (message.type == SPICE_MSG_SET_ACK) {
                    memcpy(&ack_window, &message.body[4], sizeof(ack_window));
                    ack_window = GUINT32_FROM_LE(ack_window);
                    display->send_message(SPICE_MSGC_ACK_SYNC, message.body.data(), 4);
                    num_messages = 0;
                } else if (ack_window && ++num_messages % ack_window == 0) {
                    display->send_message(SPICE_MSGC_ACK);
                }
            }
        }
    }

    /* Its next frame. */
    void draw(TestDevice *device)
    {
        frames.emplace_back(FIRST_ID + frames.size(), pixels, box);
        device->push(QXL_CMD_DRAW, &frames.back().drawable);
        device->run();
    }

private:
    const uint32_t *const pixels;
    const QXLRect box;
    std::deque<TestFrame> frames;
};

#include "pop-visibility.h"

#endif /* TEST_VIDEO_H_ */
