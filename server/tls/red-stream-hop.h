/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TCP_INFO of a connection, which is that of its first hop only: what it says of rate and
 * delay, the record size from it, and what the kernel is told: TCP_NOTSENT_LOWAT and the
 * pacing rate.
 *
 * When TCP is asked and told, nothing else: what follows from it is decided in
 * red-stream-policy.h. The egress owns one.
 *
 * Not thread safe; used from the thread of the channel.
 */
#ifndef RED_STREAM_HOP_H_
#define RED_STREAM_HOP_H_

#include "red-stream-policy.h"
#include "red-stream-socket.h"

#include "push-visibility.h"

class RedStreamHop
{
public:
    /* @socket and @policy outlive this. */
    RedStreamHop(int socket, const RedStreamPolicy *policy);

    /* What the channel has learnt of the path, see RedStreamLink::path_rate and path_delay. */
    void set_path(uint64_t rate, uint32_t delay) {
        path_rate = rate;
        path_delay = delay;
    }

    /* Have the kernel send at about @rate bytes a second, see red_stream_policy_pace; 0: as it
     * likes. @ops: the table of the socket, here and below. */
    void set_pace(const RedStreamSocket *ops, uint64_t rate);

    /* See what TCP has learnt, before a drain. A channel without drains calls for each message,
     * so TCP is not asked more often than it tells something new. @encrypted: records are made. */
    void update(const RedStreamSocket *ops, bool encrypted);

    /* How many bytes the kernel is to be given now, SIZE_MAX: all. To be called before each
     * send. What is left the next acks make room for, and the socket is writable then. */
    size_t get_room(const RedStreamSocket *ops);

    /* Plaintext bytes of a record, 1 to RED_STREAM_RECORD_MAX, as of the last update. */
    size_t get_record_size() const { return record_size; }

private:
    bool get_link(const RedStreamSocket *ops, RedStreamLink *link) const;
    void update_pace(const RedStreamSocket *ops, const RedStreamLink *link);
    void update_unsent_limit(const RedStreamSocket *ops, const RedStreamLink *link);

    const int socket;
    const RedStreamPolicy *const policy;

    size_t record_size = RED_STREAM_RECORD_MAX;
    /* what the kernel was told to hold unsent, bytes, 0: all that it takes */
    uint32_t unsent_limit = 0;
    /* bytes a second that set_pace wants, and that the kernel was told, 0: as it likes */
    uint64_t pace = 0;
    uint64_t kernel_pace = 0;
    /* bytes a second and microseconds, 0: not known */
    uint64_t path_rate = 0;
    uint32_t path_delay = 0;
    /* when TCP is to be asked again (microseconds), UINT64_MAX: never */
    uint64_t next_link = 0;
};

#include "pop-visibility.h"

#endif /* RED_STREAM_HOP_H_ */
