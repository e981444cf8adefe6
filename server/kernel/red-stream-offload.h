/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernel features of an output buffer: timestamps=on and zerocopy=N, with the error queue that
 * both need. It stands between the output buffer and the transport. Not thread safe; used from the
 * thread of the channel.
 */
#ifndef RED_STREAM_OFFLOAD_H_
#define RED_STREAM_OFFLOAD_H_

#include <memory>
#include <string>

#include "red-stream-egress.h"
#include "red-stream-errqueue.h"
#include "red-stream-timestamps.h"
#include "red-stream-zerocopy.h"

#include "push-visibility.h"

/* Measure when each flush was acked, see red-stream-timestamps.h. */
extern const RedStreamSetting red_stream_setting_timestamps;
/* Bytes: larger sends use MSG_ZEROCOPY, see red-stream-zerocopy.h; 0: off. */
extern const RedStreamSetting red_stream_setting_zerocopy;

/* Functions of a socket. A test can replace the kernel by a script. */
struct RedStreamOffloadSocket {
    /* Have the kernel report when each later send is acked. @unacked: bytes sent before that are
     * not acked yet; the kernel counts from the first of these. Returns false if not supported. */
    bool (*set_timestamps)(int fd, uint32_t *unacked);
    /* Enable MSG_ZEROCOPY for send_kept. Returns false if not supported. */
    bool (*set_zerocopy)(int fd);
    /* As RedStreamSocket::send, with MSG_ZEROCOPY: the memory must not change until the kernel
     * reports completion. ENOBUFS: too many completions are outstanding. */
    ssize_t (*send_kept)(int fd, const struct iovec *iov, int iovcnt, bool more);
    /* Reset the connection; unsent bytes are dropped. */
    void (*abort)(int fd);
    /* Read at most @room entries of the error queue. Returns how many, less than @room if the
     * queue is empty. */
    int (*read_notices)(int fd, RedStreamNotice *notices, int room);
};

extern const RedStreamOffloadSocket red_stream_offload_kernel;

class RedStreamOffload final: public RedStreamSender
{
public:
    /* Returns null if @policy asks for none of the features or the socket has none; it is the
     * caller who puts this into @egress. With ktls=on there are no timestamps: the kernel counts
     * bytes of records, whose number is not known here. */
    static RedStreamOffload *create(const RedStreamPolicy *policy, RedStreamEgress *egress,
                                    bool tls,
                                    RedStreamObserver *observer,
                                    const RedStreamOffloadSocket *ops = &red_stream_offload_kernel);
    /* Has the kernel release all memory, see RedStreamZerocopy::take_back. */
    ~RedStreamOffload() override;

    /* Sends with MSG_ZEROCOPY what RedStreamZerocopy may, the rest as without this. */
    ssize_t send(const struct iovec *iov, int iovcnt, size_t own, bool more) override;
    /* Has the ack of the flush measured. */
    void flushed() override;
    /* Read the error queue. To be called whenever the socket's watch is called. */
    void read() { errqueue.read(); }
    /* How often that was a system call. */
    uint64_t get_reads() const { return reads; }

    /* null if it is off */
    RedStreamTimestamps *get_timestamps() { return timestamps.get(); }
    RedStreamZerocopy *get_zerocopy() { return zerocopy.get(); }
    /* For the statistics: entries of a JSON object, each after a comma. */
    std::string describe() const;

private:
    RedStreamOffload(RedStreamEgress *egress, const RedStreamOffloadSocket *ops);

    uint64_t reads = 0;
    RedStreamErrqueue errqueue;
    /* each null if it is off */
    std::unique_ptr<RedStreamTimestamps> timestamps;
    std::unique_ptr<RedStreamZerocopy> zerocopy;
};

#include "pop-visibility.h"

#endif /* RED_STREAM_OFFLOAD_H_ */
