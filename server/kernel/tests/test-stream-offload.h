/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A scripted kernel with an error queue, and a sender that keeps its messages while the kernel
 * reads them. */
#ifndef TEST_STREAM_OFFLOAD_H_
#define TEST_STREAM_OFFLOAD_H_

#include <common/marshaller.h>

#include "red-stream-offload.h"
#include "test-stream-egress.h"

#include "push-visibility.h"

/* What the kernel says of the bytes that a ScriptedKernel takes. One at a time, the last one
 * made. */
class ScriptedOffload
{
public:
    explicit ScriptedOffload(ScriptedKernel *init_kernel): kernel(init_kernel) { current() = this; }

    /* set_timestamps fails without; what it says is not acked, and what the kernel tells when
     * it is asked */
    bool has_timestamps = false;
    uint32_t unacked = 0;
    std::deque<RedStreamNotice> notices;
    /* how often that was asked for */
    int notices_read = 0;
    /* set_zerocopy fails without; send_kept fails with ENOBUFS so many times; and what it was
     * given, by number, and may read until the test has it complete */
    bool has_zerocopy = false;
    int no_buffers = 0;
    std::vector<std::vector<struct iovec>> kept;
    /* abort was called, and completes all that it is given */
    bool aborted = false;

    static const RedStreamOffloadSocket *ops()
    {
        static const RedStreamOffloadSocket table = {
            set_timestamps, set_zerocopy, send_kept, abort, read_notices,
        };

        return &table;
    }

    /* Tell that the byte with this number was acked. */
    void ack(uint32_t byte, int64_t time = g_get_real_time())
    {
        notices.push_back({ RedStreamNotice::ACKED, byte, time, 0, false });
    }

    /* Tell that the sends from @first to @last are over. Until now their memory was as it was
     * given. */
    void complete(uint32_t first, uint32_t last, bool copied = false)
    {
        for (uint32_t number = first; number <= last; ++number) {
            std::vector<uint8_t> bytes;

            for (const struct iovec &iov : kept[number]) {
                auto data = static_cast<const uint8_t *>(iov.iov_base);

                bytes.insert(bytes.end(), data, data + iov.iov_len);
            }
            if (!bytes.empty()) {
                g_assert_true(std::search(kernel->wire.begin(), kernel->wire.end(),
                                          bytes.begin(), bytes.end()) != kernel->wire.end());
            }
            kept[number].clear();
        }
        notices.push_back({ RedStreamNotice::COMPLETED, last, 0, first, copied });
    }

private:
    static ScriptedOffload *&current()
    {
        static ScriptedOffload *offload;

        return offload;
    }

    static bool set_timestamps(int fd, uint32_t *unacked)
    {
        *unacked = current()->unacked;
        return current()->has_timestamps;
    }

    static bool set_zerocopy(int fd)
    {
        return current()->has_zerocopy;
    }

    static ssize_t send_kept(int fd, const struct iovec *iov, int iovcnt, bool more)
    {
        ScriptedOffload *const offload = current();

        if (offload->no_buffers) {
            --offload->no_buffers;
            errno = ENOBUFS;
            return -1;
        }
        const ssize_t n = ScriptedKernel::ops()->send(fd, iov, iovcnt, more);
        if (n > 0) {
            std::vector<struct iovec> taken;

            for (size_t left = n; left; left -= taken.back().iov_len) {
                taken.push_back(*iov++);
                taken.back().iov_len = MIN(taken.back().iov_len, left);
            }
            offload->kept.push_back(taken);
        }
        return n;
    }

    static void abort(int fd)
    {
        current()->aborted = true;
        current()->complete(0, current()->kept.size() - 1);
    }

    static int read_notices(int fd, RedStreamNotice *notices, int room)
    {
        auto &told = current()->notices;
        ++current()->notices_read;
        const int n = MIN(static_cast<size_t>(room), told.size());

        std::copy(told.begin(), told.begin() + n, notices);
        told.erase(told.begin(), told.begin() + n);
        return n;
    }

    ScriptedKernel *const kernel;
};

/* Makes each message in a marshaller, and keeps that while the kernel reads it, see
 * RedStreamZerocopy. */
class KeepingSender: public TestSender
{
public:
    KeepingSender(RedStreamEgress *init_egress, RedStreamOffload *init_offload,
                  const ScriptedKernel *init_kernel = nullptr):
        TestSender(init_egress, init_kernel), offload(init_offload)
    {
        egress->set_sender(offload);
        offload->get_zerocopy()->start();
    }
    ~KeepingSender() { spice_marshaller_destroy(marshaller); }

    /* parts of messages that are not freed yet */
    size_t parts = 0;

    bool push() override
    {
        offload->read();
        return TestSender::push();
    }

    /* The message has gone, or the rest of it will not go. */
    void sent() override { marshaller = offload->get_zerocopy()->keep(marshaller); }

protected:
    bool write() override
    {
        struct iovec iov[IOV_MAX];

        if (!spice_marshaller_get_total_size(marshaller)) {
            make_message();
        }
        const int iovcnt = spice_marshaller_fill_iovec(marshaller, iov,
                                                       MIN(max_iovcnt, IOV_MAX), position);
        return give(iov, iovcnt, get_flags());
    }

private:
    /* The next message, in memory that is written to when it is given back. */
    void make_message()
    {
        uint64_t offset = accepted;

        for (size_t length : messages.front()) {
            auto data = static_cast<uint8_t *>(g_malloc(length + 1));
            auto *const part = new Part{ this, length };

            test_fill(data, length, offset);
            offset += length;
            ++parts;
            if (!spice_marshaller_add_by_ref_full(marshaller, data, length, free_part, part)) {
                free_part(data, part);
            }
        }
    }

    struct Part {
        KeepingSender *sender;
        size_t length;
    };

    static void free_part(uint8_t *data, void *opaque)
    {
        auto part = static_cast<Part *>(opaque);

        memset(data, 0xdd, part->length);
        g_free(data);
        --part->sender->parts;
        delete part;
    }

    RedStreamOffload *const offload;
    SpiceMarshaller *marshaller = spice_marshaller_new();
};

#include "pop-visibility.h"

#endif /* TEST_STREAM_OFFLOAD_H_ */
