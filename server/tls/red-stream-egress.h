/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The output buffer of a stream ("egress" in names), its bottom layer: takes the bytes of
 * messages and passes them to the kernel, over TLS as records.
 *
 *   RedChannelClient -> red_stream_writev_flags -> [SASL] -> [WebSocket] -> egress
 *   egress [-> BIO, red-stream-bio.h: over TLS] [-> RedStreamSender ...] -> RedStreamSocket
 *
 * There is one in modes with batch (red-stream-policy.h); otherwise red-stream.cpp writes, as
 * upstream does.
 *
 * - Small messages are copied one behind the other. Large payloads are not copied: the
 *   kernel (plain: what the buffer has no room for) or the cipher (TLS, in full records)
 *   reads them from the caller's memory. A record may hold many messages.
 * - Bytes are sent when a buffer is full, when a call says that no message follows, or
 *   at flush(). No timer sends them.
 * - While another message is announced (RED_STREAM_MORE), the last bytes of the latest
 *   message stay here. There are two reasons. A flush needs bytes to send, as a send
 *   without MSG_MORE makes the kernel send all that it holds (else it takes a setsockopt).
 *   And over TLS only one message may end in the last record of a flush (see
 *   red_stream_policy_next_record).
 *
 * Back-pressure: accepted bytes may still be here when writev() returns; see pending().
 * While the kernel takes none, no further byte is accepted, so that messages wait in the
 * channel's pipe, where they can be merged and dropped. At most RED_STREAM_EGRESS_MAX
 * bytes are buffered.
 *
 * TLS hardly ever has to retry a write: an SSL_write is one record, unless the client has
 * negotiated smaller ones, and the BIO below it takes a record whole.
 *
 * Not thread safe; used from the thread of the channel.
 */
#ifndef RED_STREAM_EGRESS_H_
#define RED_STREAM_EGRESS_H_

#include <cerrno>

#include <openssl/ssl.h>

#include "red-common.h"
#include "red-stream-bio.h"
#include "red-stream-policy.h"
#include "red-stream-buffer.h"
#include "red-stream-counters.h"
#include "red-stream-observer.h"
#include "red-stream-socket.h"
#include "red-stream-tcp-info.h"
#include "utils.hpp"

#include "push-visibility.h"

/* Flags of a write. */
enum {
    /* another message or a flush follows at once */
    RED_STREAM_MORE = 1 << 0,
    /* the first byte is the first of a message */
    RED_STREAM_MESSAGE_START = 1 << 1,
};

/* Maximum number of bytes buffered. */
#define RED_STREAM_EGRESS_MAX (64 * 1024)

/* Maximum number of entries of a system call that sends. More are sent by several: messages have a
 * dozen. */
#define RED_STREAM_EGRESS_IOV 64

class RedStreamEgress;

/* Stands between an output buffer and its transport, to send less at once (RedStreamPacing) or in
 * another way (RedStreamOffload); red-stream.cpp installs them. Used from the thread of the
 * channel. */
class RedStreamSender
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    /* @egress outlives the last call. */
    explicit RedStreamSender(RedStreamEgress *init_egress): egress(init_egress) {}
    virtual ~RedStreamSender() {}
    RedStreamSender(const RedStreamSender &) = delete;
    RedStreamSender &operator=(const RedStreamSender &) = delete;

    /* Put @sender, which stays the caller's, between this one and the transport. Null: none. */
    void set_next(RedStreamSender *sender) { next = sender; }

    /* As RedStreamEgress::send_now(). The first @own bytes, one entry of @iov, are in the output
     * buffer, and the rest is the caller's. */
    virtual ssize_t send(const struct iovec *iov, int iovcnt, size_t own, bool more) = 0;
    /* TCP_INFO was read, which happens every RED_STREAM_LINK_PERIOD at most. */
    virtual void update(const RedStreamLink *) {}
    /* The kernel has taken all bytes of a flush. */
    virtual void flushed();

protected:
    /* Give it to the next sender or, if this is the last one, to the transport. As send(). */
    ssize_t pass(const struct iovec *iov, int iovcnt, size_t own, bool more);

    RedStreamEgress *const egress;

private:
    RedStreamSender *next = nullptr;
};

class RedStreamEgress final: public RedStreamRecordTaker
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    /* @socket stays the caller's and outlives the egress. */
    RedStreamEgress(int socket, const RedStreamPolicy *policy,
                    const RedStreamSocket *ops = &red_stream_kernel_socket);
    RedStreamEgress(const RedStreamEgress &) = delete;
    RedStreamEgress &operator=(const RedStreamEgress &) = delete;

    /* Null, which both are at first: none. The caller keeps them, and deletes them after this. */
    void set_observer(RedStreamObserver *new_observer) { observer = new_observer; }
    void set_sender(RedStreamSender *new_sender) { sender = new_sender; }
    /* Messages of more bytes are not copied. */
    void set_copy_limit(size_t bytes) { copy_limit = bytes; }

    /* Send everything from now on through @ssl. To be called before its handshake; creates
     * the BIO of @ssl. @ssl stays the caller's, and is freed before the egress.
     * Returns false if out of memory; then nothing can be sent. */
    bool set_ssl(SSL *ssl);
    /* The handshake failed and the caller freed the SSL. Every later write fails with
     * EPIPE; in particular nothing is sent without TLS. */
    void clear_ssl() {
        ssl = nullptr;
        error = EPIPE;
    }

    /* Accept the bytes of @iov or a part of them; the caller passes the rest again, from
     * the same or other memory. @flags: RED_STREAM_MORE, RED_STREAM_MESSAGE_START.
     * Returns the number of bytes accepted, 0 only if @iov is empty, or -1 with errno:
     * EAGAIN (the kernel takes nothing now) or the error that ended the connection, which
     * every later call returns again. */
    ssize_t writev(const struct iovec *iov, int iovcnt, unsigned flags);

    /* Send all buffered bytes, and have the kernel send incomplete segments as well.
     * Returns the number of bytes that the kernel did not take yet (call again when the
     * socket is writable), or -1 with the errno that ended the connection. */
    ssize_t flush();

    /* Bytes accepted that the kernel has not taken yet. Over TLS finished records count
     * with their overhead. */
    size_t pending() const { return wire.size() + clear.size(); }

    /* See red_stream_set_path. */
    void set_path(uint64_t rate, uint32_t delay) { tcp_info.set_path(rate, delay); }

    /* A copy of the counters since the egress was made. */
    RedStreamCounters get_counters() const { return counters; }

    /* For the BIO: accept bytes of the TLS library. Those of an SSL_write of the egress
     * may be buffered. Others, of a handshake or an alert, are accepted as far as the
     * kernel takes them, so that the TLS library waits as with a socket BIO.
     * Returns the number of bytes accepted, or -1 with errno. */
    ssize_t take_record(const void *data, size_t size) override;
    /* As take_record, but the bytes are not buffered to join other records. */
    ssize_t send_record(const void *data, size_t size);
    int get_socket() const override { return socket; }
    /* Change the transport for all later sends; @new_ops outlives this. */
    void set_ops(const RedStreamSocket *new_ops) { ops = new_ops; }
    const RedStreamSocket *get_ops() const { return ops; }
    /* Whether the current record is to share a segment with the next one. */
    bool is_more_encrypted() const { return encrypting_more; }
    /* Whether the kernel may hold an incomplete segment (MSG_MORE). */
    bool is_held() const { return held; }
    /* Whether the kernel took only a part of the last send. */
    bool is_blocked() const { return blocked; }

    /* For the sender: give the kernel the bytes of @iov.
     * Returns how many it took, 0 if it takes none now, or -1 with the errno that ended the
     * connection. */
    ssize_t send_now(const struct iovec *iov, int iovcnt, bool more);
    /* The same for a sender that has made the system call: @taken is its result, with errno. */
    ssize_t note_send(size_t size, bool more, ssize_t taken);
    /* Have the kernel send what it may still hold back (MSG_MORE). */
    void push_held();
    /* Fill @link. Returns false if TCP_INFO is not available. */
    bool get_link(RedStreamLink *link) const { return tcp_info.get_link(ops, link); }

private:
    ssize_t write_plain(const struct iovec *iov, int iovcnt, size_t size, bool more);
    ssize_t write_records(const struct iovec *iov, int iovcnt, size_t size, bool starts);
    bool unblock(bool more);
    ssize_t send(const struct iovec *iov, int iovcnt, bool more);
    bool encrypt(const void *data, size_t size, bool more);
    bool encrypt_clear(size_t size, bool more);
    ssize_t fail(int error_number);
    void note_flush();
    void note_buffered();

    const int socket;
    const RedStreamSocket *ops;
    SSL *ssl = nullptr;
    RedStreamObserver *observer = nullptr;
    RedStreamSender *sender = nullptr;

    /* bytes for the kernel */
    RedStreamBuffer wire;
    /* TLS: plaintext of the next record */
    RedStreamBuffer clear;
    /* where the last message begins in clear, 0 if it began before */
    size_t last_message = 0;
    RedStreamTcpInfo tcp_info;
    /* size of an SSL_write to retry, 0: none */
    size_t repeat_size = 0;
    size_t copy_limit = SIZE_MAX;

    /* the kernel took only a part of the last send */
    bool blocked = false;
    /* the kernel may hold an incomplete segment (MSG_MORE) */
    bool held = false;
    /* other records follow the one that take_record gets */
    bool encrypting_more = false;
    bool encrypting = false;
    /* bytes were accepted since the last flush */
    bool unflushed = false;
    /* errno that ended the connection, 0: none */
    int error = 0;

    RedStreamCounters counters = { };
};

#include "pop-visibility.h"

#endif /* RED_STREAM_EGRESS_H_ */
