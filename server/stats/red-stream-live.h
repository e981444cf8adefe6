/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stats files: what the streams of a running process are doing, for a reader outside.
 *
 * With SPICE_STREAM_STATS=FOLDER, a folder that is there, each stream that has a channel keeps
 * a file of RED_STREAM_LIVE_SIZE bytes in it, PID-STREAM, and removes it when it is freed. The
 * file is memory that both sides map: an update is a few stores, and what can be read is what
 * is so now. Integers are the machine's own; each is written at once, all of them are not.
 *
 * A file that can't be made is warned of once, and there is none. One that is there already, left by
 * a process of the same number, is replaced: whoever has it open could cut it short, and a store
 * behind its end would end this process. Any thread; what is said of
 * one stream comes from its thread.
 */
#ifndef RED_STREAM_LIVE_H_
#define RED_STREAM_LIVE_H_

#include <cstddef>
#include <cstdint>

#include "red-stream-counters.h"

#include "push-visibility.h"

class RedStreamFlow;

#define RED_STREAM_LIVE_SIZE 256
#define RED_STREAM_LIVE_MAGIC "spice-2"

/* The content of the file. What comes later goes to the end, with another magic. */
struct RedStreamLive {
    char magic[8];
    char mode[16];
    uint32_t tls;
    uint32_t channel_type;
    uint32_t channel_id;
    uint32_t unused;
    /* microseconds, CLOCK_MONOTONIC, of the latest change of what is said below, up to the phase */
    uint64_t time;
    /* as in RedStreamCounters */
    uint64_t messages;
    uint64_t records;
    uint64_t writes;
    uint64_t written_bytes;
    /* bytes that the kernel has not taken yet */
    uint64_t pending;
    /* of RedStreamFlow: bytes in flight and allowed, bytes a second, microseconds, and its
     * phase. Zeros in other modes. */
    uint64_t in_flight;
    uint64_t limit;
    uint64_t rate;
    uint64_t delay;
    char phase[16];
    /* of a display whose bitmaps are compared with the screen, since it began, and told to a client
     * from the next comparison on: copies, and pixels copied, equal and drawn */
    uint64_t moves;
    uint64_t moved;
    uint64_t equal;
    uint64_t drawn;
};

/* The folder, null if there is none to write to. */
const char *red_stream_live_folder();

void red_stream_live_open(int stream, int type, int id, const char *mode, bool tls);
void red_stream_live_update(int stream, const RedStreamCounters *counters, size_t pending);
void red_stream_live_flow(int stream, const RedStreamFlow *flow);
void red_stream_live_motion(int stream, uint64_t moves, uint64_t moved, uint64_t equal,
                            uint64_t drawn);
void red_stream_live_close(int stream);

#include "pop-visibility.h"

#endif /* RED_STREAM_LIVE_H_ */
