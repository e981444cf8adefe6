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
    /* @socket and @policy outlive this. */
    RedStreamTcpInfo(int socket, const RedStreamPolicy *policy);

    /* Read TCP_INFO, unless that was done less than get_link_period() ago. To be called before
     * each send turn (one call of push()), or before each message if a channel has no send
     * turns. @ops: the transport; @encrypted: the stream uses TLS. */
    void update(const RedStreamSocket *ops, bool encrypted);

    /* Plaintext bytes per record, 1 to RED_STREAM_RECORD_MAX, as of the last update. */
    size_t get_record_size() const { return record_size; }

private:
    const int socket;
    const RedStreamPolicy *const policy;

    size_t record_size = RED_STREAM_RECORD_MAX;
    /* when to read TCP_INFO again (microseconds), UINT64_MAX: never */
    uint64_t next_link = 0;
};

#include "pop-visibility.h"

#endif /* RED_STREAM_TCP_INFO_H_ */
