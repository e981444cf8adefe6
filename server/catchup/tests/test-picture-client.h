/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A client that draws what it receives, for tests of its final screen. */
#ifndef TEST_PICTURE_CLIENT_H_
#define TEST_PICTURE_CLIENT_H_

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "test-image-decoder.h"
#include "test-link.h"

#include "push-visibility.h"

/* Beside the colour of a pixel: it came with losses, or was copied from there; or, of what a guest
 * drew, it may be. */
enum : uint32_t { TEST_LOSSY = 1u << 31 };

struct Box
{
    int left, top, width, height;

    /* both, be it nothing */
    Box operator&(const Box &other) const
    {
        const int x = std::max(left, other.left), y = std::max(top, other.top);

        return { x, y, std::max(std::min(left + width, other.left + other.width) - x, 0),
                 std::max(std::min(top + height, other.top + other.height) - y, 0) };
    }

    bool is_empty() const { return width == 0 || height == 0; }
};

struct Picture
{
    int width = 0, height = 0;
    std::vector<uint32_t> pixels;

    Picture() = default;
    Picture(int init_width, int init_height):
        width(init_width), height(init_height), pixels(init_width * init_height) {}

    uint32_t &at(int x,
                 int y) { return const_cast<uint32_t &>(const_cast<const Picture *>(this)->at(x, y)); }

    const uint32_t &at(int x, int y) const
    {
        g_assert_true(x >= 0 && x < width && y >= 0 && y < height);
        return pixels[y * width + x];
    }

    void fill(const Box &box, uint32_t colour, bool is_xor)
    {
        for (int y = box.top; y < box.top + box.height; ++y) {
            for (int x = box.left; x < box.left + box.width; ++x) {
                at(x, y) = is_xor ? at(x, y) ^ colour : colour;
            }
        }
    }

    void copy(const Box &box, const Picture &from, int left, int top)
    {
        const Picture kept = &from == this ? from : Picture();
        const Picture &before = &from == this ? kept : from;

        for (int y = 0; y < box.height; ++y) {
            for (int x = 0; x < box.width; ++x) {
                if (left < from.width - x && top < from.height - y) {
                    at(box.left + x, box.top + y) = before.at(left + x, top + y);
                }
            }
        }
    }

    void xor_with(const Box &box, const Picture &from, int left, int top)
    {
        for (int y = 0; y < box.height; ++y) {
            for (int x = 0; x < box.width; ++x) {
                at(box.left + x, box.top + y) ^=
                    from.pixels[(top + y) * from.width + left + x] & 0xffffff;
            }
        }
    }

    int num_lossy() const
    {
        return std::count_if(pixels.begin(), pixels.end(), [](uint32_t pixel) {
            return pixel & TEST_LOSSY;
        });
    }

    bool shows(const Picture &other) const
    {
        if (width != other.width || height != other.height) {
            return false;
        }
        /* from where it differed last: much is asked after each of many drawings */
        for (size_t i = 0; i < pixels.size(); ++i, ++differed) {
            if (differed >= pixels.size()) {
                differed = 0;
            }
            if ((pixels[differed] ^ other.pixels[differed]) & 0xffffff) {
                return false;
            }
        }
        return true;
    }

private:
    mutable size_t differed = 0;
};

using Pictures = std::map<uint32_t, Picture>;

/* What a message holds. */
struct Reader
{
    const std::vector<uint8_t> &body;
    size_t pos;

    uint8_t u8() { return number<uint8_t>(); }
    uint16_t u16() { return GUINT16_FROM_LE(number<uint16_t>()); }
    uint32_t u32() { return GUINT32_FROM_LE(number<uint32_t>()); }

    template <typename T> T number()
    {
        T value;

        g_assert_cmpuint(pos + sizeof(value), <=, body.size());
        memcpy(&value, &body[pos], sizeof(value));
        pos += sizeof(value);
        return value;
    }

    Box box()
    {
        const int top = u32(), left = u32(), bottom = u32(), right = u32();

        return { left, top, right - left, bottom - top };
    }
};

/* A client that knows the messages that this guest's drawings and pictures without compression
 * become. */
struct TestPictureClient: TestDisplayClient
{
    enum {
        /* bytes */
        BUFFER = 4096,
        /* seconds until it has caught up, while it takes none */
        LIMIT = 60,
    };

    Pictures pictures;
    std::map<uint16_t, unsigned> received;
    /* pixels of pictures that came as JPEG, of compressed ones that did not, and of others */
    int lossy_pixels = 0;
    int exact_pixels = 0;
    int plain_pixels = 0;
    /* pixels of pictures of two colours, which are none of those */
    int two_colour_pixels = 0;
    /* of images that GLZ compressed, and frames of videos */
    unsigned glz_images = 0;
    unsigned frames = 0;

    explicit TestPictureClient(SpiceServer *server, TestTransport transport=TEST_UNIX,
                               uint32_t caps=0, int32_t window=1 << 20, int buffer=BUFFER):
        TestDisplayClient(server, transport, buffer, caps, window)
    {
    }

    /* One that comes from another server. */
    TestPictureClient(SpiceServer *server, const std::vector<uint8_t> &known):
        TestDisplayClient(server, known, TEST_TCP, BUFFER)
    {
    }

    /* Reads until it shows this, or for long enough. */
    bool comes_to_show(const Pictures &expected)
    {
        return reads_until([&] { return shows(expected); });
    }

    /* Reads until that is so, or for long enough. */
    bool reads_until(const std::function<bool()> &is_so)
    {
        const int64_t end = g_get_monotonic_time() + LIMIT * G_USEC_PER_SEC;

        while (!is_so()) {
            if (g_get_monotonic_time() > end) {
                return false;
            }
            if (test_is_readable(display.socket, 10)) {
                take(display.next_message());
            }
        }
        return true;
    }

    /* Reads at most so many messages of those that are there, and does not wait for the rest of
     * one. Returns whether there was any. */
    bool read_some(int messages)
    {
        TestLinkMessage message;
        const bool waits = messages > 0;
        bool found = false;

        TestLink::run_events();
        while (messages-- > 0 && display.take_message(&message)) {
            take(message);
            found = true;
        }
        if (waits && !found) {
            num_taken += frame_delay;
            show_frames();
        }
        return found;
    }

    /* Reads a little, as @waits is done in another thread and may wait for what is being sent.
     * @answers: at once, so that more is sent */
    void read_while(const std::function<void()> &waits, bool answers=true)
    {
        std::atomic<bool> is_done(false);
        std::thread thread([&] {
            waits();
            is_done = true;
        });
        std::vector<TestLinkMessage> messages;

        while (!is_done) {
            if (answers) {
                read_some(1);
            } else if (test_is_readable(display.socket, 0)) {
                messages.push_back(display.next_message());
            }
            g_usleep(1000);
        }
        thread.join();
        for (const auto &message : messages) {
            take(message);
        }
    }

    /* Reads all that comes for so long. */
    void read_for(int milliseconds)
    {
        const int64_t end = g_get_monotonic_time() + milliseconds * 1000;

        while (g_get_monotonic_time() < end) {
            if (test_is_readable(display.socket, 10)) {
                take(display.next_message());
            }
        }
    }

    /* A client that came later need not know of surfaces that are not drawn on any more. */
    bool shows(const Pictures &expected) const
    {
        if (pictures.size() != expected.size() && !came_later) {
            return false;
        }
        for (const auto &picture : pictures) {
            const auto found = expected.find(picture.first);

            if (found == expected.end() || !found->second.shows(picture.second)) {
                return false;
            }
        }
        return pictures.count(0) != 0;
    }

    /* All that it has to. */
    void ack()
    {
        while (acks && ack_window && ack_count >= ack_window) {
            ack_count -= ack_window;
            display.send_message(SPICE_MSGC_ACK, nullptr, 0);
        }
    }

    bool has_just_acked() const { return ack_window != 0 && ack_count == 0; }

    bool came_later = false;
    bool acks = true;
    /* messages until a frame is shown, within the clip of then; spice-gtk has a time for each */
    uint64_t frame_delay = 0;
    /* whether it looks at what is drawn */
    bool draws = true;

private:
    struct Frame
    {
        Box dest;
        uint64_t when;
    };

    struct Stream
    {
        Box dest;
        std::vector<Box> clip;
        std::deque<Frame> waiting;
    };

    uint64_t num_taken = 0;

    uint32_t ack_window = 0;
    uint32_t ack_count = 0;
    std::map<uint32_t, Stream> streams;
    TestImageDecoder decoder;
    uint32_t last_spoiled = 0;

    void take(const TestLinkMessage &message)
    {
        Reader reader = { message.body, 0 };

        ++received[message.type];
        if (!draws && message.type > SPICE_MSG_BASE_LAST) {
            ++ack_count;
            ack();
            return;
        }
        switch (message.type) {
        case SPICE_MSG_SET_ACK: {
            const uint32_t generation = GUINT32_TO_LE(reader.u32());

            ack_window = reader.u32();
            ack_count = 0;
            display.send_message(SPICE_MSGC_ACK_SYNC, &generation, sizeof(generation));
            return;
        }
        case SPICE_MSG_PING:
            display.send_message(SPICE_MSGC_PONG, message.body.data(),
                                 sizeof(uint32_t) + sizeof(uint64_t));
            break;
        case SPICE_MSG_DISPLAY_SURFACE_CREATE: {
            const uint32_t surface_id = reader.u32();
            const int width = reader.u32(), height = reader.u32();

            g_assert_true(pictures.find(surface_id) == pictures.end());
            pictures[surface_id] = Picture(width, height);
            break;
        }
        case SPICE_MSG_DISPLAY_SURFACE_DESTROY:
            g_assert_cmpuint(pictures.erase(reader.u32()), ==, 1);
            break;
        case SPICE_MSG_DISPLAY_MARK:
            g_assert_true(pictures.find(0) != pictures.end());
            break;
        case SPICE_MSG_DISPLAY_STREAM_CREATE: {
            begin(&reader);
            Stream &stream = streams[reader.u32()];

            /* flags, codec, stamp, two sizes */
            reader.pos += 2 + sizeof(uint64_t) + 4 * sizeof(uint32_t);
            stream.dest = reader.box();
            stream.clip = clip_rects(&reader);
            break;
        }
        case SPICE_MSG_DISPLAY_STREAM_CLIP: {
            Stream &stream = find_stream(&reader);

            stream.clip = clip_rects(&reader);
            break;
        }
        case SPICE_MSG_DISPLAY_STREAM_DATA:
        case SPICE_MSG_DISPLAY_STREAM_DATA_SIZED: {
            Stream &stream = find_stream(&reader);
            Box dest = stream.dest;

            if (message.type == SPICE_MSG_DISPLAY_STREAM_DATA_SIZED) {
                reader.pos += 3 * sizeof(uint32_t);
                dest = reader.box();
            }
            ++frames;
            stream.waiting.push_back({ dest, num_taken + frame_delay });
            break;
        }
        case SPICE_MSG_DISPLAY_STREAM_DESTROY:
            g_assert_cmpuint(streams.erase(reader.u32()), ==, 1);
            break;
        case SPICE_MSG_DISPLAY_STREAM_DESTROY_ALL:
            streams.clear();
            break;
        case SPICE_MSG_DISPLAY_DRAW_FILL: {
            Picture &picture = begin(&reader);
            const Box box = clip_none(&reader);

            g_assert_cmpuint(reader.u8(), ==, SPICE_BRUSH_TYPE_SOLID);
            const uint32_t colour = reader.u32();
            const uint16_t rop = reader.u16();

            picture.fill(box, rop == SPICE_ROPD_OP_INVERS ? 0xffffff : colour,
                         rop == SPICE_ROPD_OP_INVERS || rop == SPICE_ROPD_OP_XOR);
            break;
        }
        case SPICE_MSG_DISPLAY_COPY_BITS: {
            Picture &picture = begin(&reader);
            const Box box = clip_none(&reader);
            const int left = reader.u32();

            picture.copy(box, picture, left, reader.u32());
            break;
        }
        case SPICE_MSG_DISPLAY_DRAW_COPY:
            draw_copy(&reader);
            break;
        }
        ++ack_count;
        ack();
        ++num_taken;
        show_frames();
    }

    /* Those whose time has come. */
    void show_frames()
    {
        for (auto &one : streams) {
            Stream &stream = one.second;

            while (!stream.waiting.empty() && stream.waiting.front().when < num_taken) {
                g_assert_true(pictures.find(0) != pictures.end());
                for (const Box &part : parts_of(stream.waiting.front().dest, stream.clip)) {
                    spoil(&pictures[0], part);
                }
                stream.waiting.pop_front();
            }
        }
    }

    Picture &begin(Reader *reader)
    {
        const auto found = pictures.find(reader->u32());

        g_assert_true(found != pictures.end());
        return found->second;
    }

    Stream &find_stream(Reader *reader)
    {
        const auto found = streams.find(reader->u32());

        g_assert_true(found != streams.end());
        return found->second;
    }

    /* Empty if nothing is clipped. */
    static std::vector<Box> clip_rects(Reader *reader)
    {
        std::vector<Box> clip;

        if (reader->u8() == SPICE_CLIP_TYPE_NONE) {
            return clip;
        }
        for (uint32_t rects = reader->u32(); rects > 0; --rects) {
            clip.push_back(reader->box());
        }
        if (clip.empty()) {
            clip.push_back({ 0, 0, 0, 0 });
        }
        return clip;
    }

    /* The parts of @box that are drawn. */
    static std::vector<Box> parts_of(const Box &box, const std::vector<Box> &clip)
    {
        std::vector<Box> parts;

        if (clip.empty()) {
            parts.push_back(box);
        }
        for (const Box &rect : clip) {
            if (!(box & rect).is_empty()) {
                parts.push_back(box & rect);
            }
        }
        return parts;
    }

    /* Of what came with losses no two pixels are the same, nor as drawn: whatever is made of
     * them is seen. */
    void spoil(Picture *picture, const Box &box)
    {
        const Box all = { 0, 0, picture->width, picture->height };

        picture->fill(box & all, TEST_LOSSY | (0xbad000 + ++last_spoiled % 0x1000), false);
    }

    static Box clip_none(Reader *reader)
    {
        const Box box = reader->box();

        g_assert_cmpuint(reader->u8(), ==, SPICE_CLIP_TYPE_NONE);
        return box;
    }

    void draw_copy(Reader *reader)
    {
        Picture &picture = begin(reader);
        const Box box = reader->box();
        const std::vector<Box> parts = parts_of(box, clip_rects(reader));
        Reader image = { reader->body, reader->u32() };
        const Box area = reader->box();

        const uint16_t rop = reader->u16();
        g_assert_true(rop == SPICE_ROPD_OP_PUT || rop == SPICE_ROPD_OP_XOR);
        image.pos += sizeof(uint64_t);
        const uint8_t type = image.u8();
        image.pos += 1;
        const int width = image.u32(), height = image.u32();
        Picture from;
        switch (type) {
        case SPICE_IMAGE_TYPE_SURFACE:
            from = begin(&image);
            break;
        case SPICE_IMAGE_TYPE_JPEG:
        case SPICE_IMAGE_TYPE_JPEG_ALPHA:
            lossy_pixels += box.width * box.height;
            g_assert_cmpuint(rop, ==, SPICE_ROPD_OP_PUT);
            for (const Box &part : parts) {
                spoil(&picture, part);
            }
            return;
        case SPICE_IMAGE_TYPE_BITMAP: {
            const uint8_t format = image.u8();

            if (format == SPICE_BITMAP_FMT_1BIT_BE) {
                g_assert_cmpuint(parts.size(), ==, 1);
                draw_two_colours(&picture, box, area, &image, rop == SPICE_ROPD_OP_XOR);
                return;
            }
            g_assert_true(format == SPICE_BITMAP_FMT_32BIT || format == SPICE_BITMAP_FMT_RGBA);
            plain_pixels += box.width * box.height;
            from = read_bitmap(&image);
            break;
        }
        default:
            from = Picture(width, height);
            from.pixels = decode(type, &image, width, height);
            (type == SPICE_IMAGE_TYPE_LZ_PLT ? two_colour_pixels : exact_pixels) +=
                box.width * box.height;
        }
        for (const Box &part : parts) {
            const int left = area.left + part.left - box.left, top = area.top + part.top - box.top;

            if (rop == SPICE_ROPD_OP_PUT) {
                picture.copy(part, from, left, top);
            } else {
                picture.xor_with(part, from, left, top);
            }
        }
    }

    TestImageDecoder::Pixels decode(uint8_t type, Reader *image, int width, int height)
    {
        const uint8_t flags = type == SPICE_IMAGE_TYPE_LZ_PLT ? image->u8() : 0;
        const uint32_t size = image->u32();
        std::vector<uint32_t> palette;

        if (type == SPICE_IMAGE_TYPE_LZ_PLT) {
            g_assert_cmpuint(flags & (SPICE_BITMAP_FLAGS_PAL_FROM_CACHE |
                                      SPICE_BITMAP_FLAGS_PAL_CACHE_ME), ==, 0);
            Reader entries = { image->body, image->u32() };

            entries.pos += sizeof(uint64_t);
            for (uint32_t n = entries.u16(); n > 0; --n) {
                palette.push_back(entries.u32());
            }
        }
        g_assert_cmpuint(size, <=, image->body.size() - image->pos);
        const auto begin = image->body.begin() + image->pos;
        const std::vector<uint8_t> data(begin, begin + size);
        switch (type) {
        case SPICE_IMAGE_TYPE_QUIC:
            return decoder.decode_quic(data, width, height);
        case SPICE_IMAGE_TYPE_GLZ_RGB:
            ++glz_images;
            return decoder.decode_glz(data, width, height);
        case SPICE_IMAGE_TYPE_LZ_RGB:
            return decoder.decode_lz(data, width, height, {});
        default:
            g_assert_cmpuint(type, ==, SPICE_IMAGE_TYPE_LZ_PLT);
            return decoder.decode_lz(data, width, height, palette);
        }
    }

    /* @image: after its format */
    static Picture read_bitmap(Reader *image)
    {
        const bool top_down = image->u8() & SPICE_BITMAP_FLAGS_TOP_DOWN;
        const int width = image->u32(), height = image->u32();
        const int beside = image->u32() - width * 4;
        Picture picture(width, height);

        g_assert_cmpuint(image->u32(), ==, 0);
        for (int y = 0; y < height; ++y) {
            for (int x = 0; x < width; ++x) {
                picture.at(x, top_down ? y : height - 1 - y) = image->u32() & 0xffffff;
            }
            image->pos += beside;
        }
        return picture;
    }

    /* @image: after its format */
    void draw_two_colours(Picture *picture, const Box &box, const Box &area, Reader *image,
                          bool is_xor)
    {
        g_assert_cmpuint(image->u8(), ==, SPICE_BITMAP_FLAGS_TOP_DOWN);
        const int width = image->u32(), height = image->u32();
        const int stride = image->u32();
        Reader palette = { image->body, image->u32() };

        g_assert_cmpint(width, ==, box.width);
        g_assert_cmpint(height, ==, box.height);
        g_assert_cmpint(area.left, ==, 0);
        g_assert_cmpint(area.top, ==, 0);
        g_assert_cmpint(stride, ==, (width + 7) / 8);
        /* it is not kept */
        g_assert_cmpuint(palette.number<uint64_t>(), ==, 0);
        g_assert_cmpuint(palette.u16(), ==, 2);
        const uint32_t first = palette.u32();
        const uint32_t colours[] = { first, palette.u32() };

        two_colour_pixels += width * height;
        for (int y = 0; y < height; ++y) {
            for (int x = 0; x < width; ++x) {
                uint32_t *pixel = &picture->at(box.left + x, box.top + y);
                const size_t at = image->pos + y * stride + x / 8;

                g_assert_cmpuint(at, <, image->body.size());
                const uint32_t colour = colours[image->body[at] >> (7 - x % 8) & 1] & 0xffffff;
                *pixel = is_xor ? *pixel ^ colour : colour;
            }
        }
    }
};

/* The test that calls it, in a process of its own, as the policy is read once a process. */
static inline void run_with(const char *policy)
{
    g_setenv("SPICE_STREAM", policy, TRUE);
    g_test_trap_subprocess(nullptr, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
    g_setenv("SPICE_STREAM", "flow", TRUE);
    g_test_trap_assert_passed();
}

#include "pop-visibility.h"

#endif /* TEST_PICTURE_CLIENT_H_ */
