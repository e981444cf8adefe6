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

#include "red-stream-errqueue.h"

/* of one call */
#define READ_MAX 16

void RedStreamErrqueue::read()
{
    const bool expected = std::any_of(consumers.begin(), consumers.end(),
                                      [](const RedStreamErrqueueConsumer *consumer) {
        return consumer->expects_notices();
    });
    RedStreamNotice notices[READ_MAX];
    int n;

    if (!expected) {
        return;
    }
    do {
        n = read_notices(fd, notices, READ_MAX);
        ++*reads;
        for (int i = 0; i < n; ++i) {
            for (RedStreamErrqueueConsumer *consumer : consumers) {
                consumer->notice(notices[i]);
            }
        }
    } while (n == READ_MAX);
    for (RedStreamErrqueueConsumer *consumer : consumers) {
        consumer->no_more_notices();
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

int red_stream_errqueue_read(int fd, RedStreamNotice *notices, int room)
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
int red_stream_errqueue_read(int fd, RedStreamNotice *notices, int room)
{
    return 0;
}
#endif
