/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads TCP_INFO of a connection, and keeps the record size. This file decides when to read; the
 * size is decided in red-stream-policy.h.
 *
 * Not thread safe; used from the thread of the channel.
 */
#ifndef RED_STREAM_TCP_INFO_H_
#define RED_STREAM_TCP_INFO_H_

#include "red-stream-policy.h"
#include "red-stream-socket.h"

#include "push-visibility.h"

class RedStreamTcpInfo
{
public:
    /* @socket outlives this. */
    RedStreamTcpInfo(int socket, const RedStreamPolicy *policy);

    /* See RedStreamLink::path_rate and path_delay. */
    void set_path(uint64_t rate, uint32_t delay) {
        path_rate = rate;
        path_delay = delay;
    }

    /* Fill @link with the current values. Returns false if TCP_INFO is not available. */
    bool get_link(const RedStreamSocket *ops, RedStreamLink *link) const;

    /* Read TCP_INFO, unless that was done less than RED_STREAM_LINK_PERIOD ago. To be called
     * before each send turn (one call of push()), or before each message if a channel has no send
     * turns. @ops: the transport; @encrypted: the stream uses TLS; @always: also if no record size
     * depends on it.
     * Returns whether it was read; then @link has the values. */
    bool update(const RedStreamSocket *ops, bool encrypted, bool always, RedStreamLink *link);

    /* Plaintext bytes per record, 1 to RED_STREAM_RECORD_MAX, as of the last update. */
    size_t get_record_size() const { return record_size; }

private:
    const int socket;
    /* as set, 0: by the link */
    const uint32_t fixed_size;

    size_t record_size = RED_STREAM_RECORD_MAX;
    /* bytes per second and microseconds, 0: unknown */
    uint64_t path_rate = 0;
    uint32_t path_delay = 0;
    /* when to read TCP_INFO again (microseconds), UINT64_MAX: never */
    uint64_t next_link = 0;
};

#include "pop-visibility.h"

#endif /* RED_STREAM_TCP_INFO_H_ */
