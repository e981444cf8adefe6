/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>
#include <cstring>

#ifdef __linux__
#include <ctime>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#endif

#include <glib.h>

#include "red-stream-counters.h"
#include "red-stream-notices.h"
#include "red-stream-timestamps.h"
#include "red-stream-zerocopy.h"

/* of one call */
#define READ_MAX 16

RedStreamNotices *RedStreamNotices::create(const RedStreamPolicy *policy, int fd,
                                           const RedStreamSocket *ops, bool tls, int stream,
                                           RedStreamCounters *counters)
{
    uint32_t unacked;

    if (!policy->timestamps && !policy->zerocopy) {
        return nullptr;
    }
    auto notices = new RedStreamNotices(fd, ops, counters);
    if (policy->timestamps && ops->set_timestamps && ops->set_timestamps(fd, &unacked)) {
        notices->timestamps = new RedStreamTimestamps(unacked, stream, counters);
    }
    if (policy->zerocopy) {
        notices->zerocopy = new RedStreamZerocopy(notices, fd, ops, policy->zerocopy, tls,
                                                  &counters->writes);
    }
    if (!notices->timestamps && !notices->zerocopy) {
        delete notices;
        return nullptr;
    }
    return notices;
}

RedStreamNotices::~RedStreamNotices()
{
    delete zerocopy;
    delete timestamps;
}

const RedStreamZerocopy *RedStreamNotices::end()
{
    if (zerocopy) {
        zerocopy->take_back();
    }
    return zerocopy;
}

ssize_t RedStreamNotices::send(const struct iovec *iov, int iovcnt, size_t own, bool more)
{
    return zerocopy ? zerocopy->send(iov, iovcnt, own, more) : ops->send(fd, iov, iovcnt, more);
}

void RedStreamNotices::flushed()
{
    if (timestamps && timestamps->flushed()) {
        read();
    }
}

void RedStreamNotices::read()
{
    RedStreamNotice notices[READ_MAX];
    int n;

    if (!timestamps && !zerocopy->outstanding()) {
        return;
    }
    do {
        n = ops->read_notices(fd, notices, READ_MAX);
        ++counters->notice_reads;
        for (int i = 0; i < n; ++i) {
            if (notices[i].what == RedStreamNotice::ACKED && timestamps) {
                timestamps->acked(notices[i].last, notices[i].time);
            } else if (notices[i].what == RedStreamNotice::COMPLETED && zerocopy) {
                zerocopy->completed(notices[i].first, notices[i].last, notices[i].copied);
            }
        }
    } while (n == READ_MAX);
    if (timestamps) {
        /* a near client may have acked a flush before it was over */
        timestamps->settle();
    }
    if (zerocopy) {
        zerocopy->release();
    }
}

#ifdef __linux__
static RedStreamNotice parse(struct msghdr *msg)
{
    RedStreamNotice notice = { };

    for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
        if (cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SO_TIMESTAMPING) {
            struct scm_timestamping times;

            memcpy(&times, CMSG_DATA(cmsg), sizeof(times));
            notice.time = times.ts[0].tv_sec * INT64_C(1000000) + times.ts[0].tv_nsec / 1000;
        } else if ((cmsg->cmsg_level == SOL_IP && cmsg->cmsg_type == IP_RECVERR) ||
                   (cmsg->cmsg_level == SOL_IPV6 && cmsg->cmsg_type == IPV6_RECVERR)) {
            struct sock_extended_err error;

            memcpy(&error, CMSG_DATA(cmsg), sizeof(error));
            notice.last = error.ee_data;
            if (error.ee_origin == SO_EE_ORIGIN_TIMESTAMPING && error.ee_info == SCM_TSTAMP_ACK) {
                notice.what = RedStreamNotice::ACKED;
#ifdef SO_EE_ORIGIN_ZEROCOPY
            } else if (error.ee_origin == SO_EE_ORIGIN_ZEROCOPY) {
                notice.what = RedStreamNotice::COMPLETED;
                notice.first = error.ee_info;
                notice.copied = error.ee_code & SO_EE_CODE_ZEROCOPY_COPIED;
#endif
            }
        }
    }
    return notice;
}

int red_stream_notices_read(int fd, RedStreamNotice *notices, int room)
{
    union {
        char bytes[256];
        struct cmsghdr align;
    } control[READ_MAX];
    struct mmsghdr messages[READ_MAX];

    room = std::min(room, READ_MAX);
    memset(messages, 0, sizeof(messages));
    for (int i = 0; i < room; ++i) {
        messages[i].msg_hdr.msg_control = &control[i];
        messages[i].msg_hdr.msg_controllen = sizeof(control[i]);
    }
    const int n = recvmmsg(fd, messages, room, MSG_ERRQUEUE | MSG_DONTWAIT, nullptr);
    for (int i = 0; i < n; ++i) {
        notices[i] = parse(&messages[i].msg_hdr);
    }
    return std::max(n, 0);
}
#else
int red_stream_notices_read(int fd, RedStreamNotice *notices, int room)
{
    return 0;
}
#endif
