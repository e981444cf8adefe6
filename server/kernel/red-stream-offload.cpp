/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include "red-stream-offload.h"

RedStreamOffload::RedStreamOffload(int init_fd, const RedStreamSocket *init_ops,
                                   RedStreamCounters *init_counters):
    fd(init_fd), ops(init_ops), counters(init_counters),
    errqueue(init_fd, init_ops->read_notices, &init_counters->notice_reads)
{
}

RedStreamOffload *RedStreamOffload::create(const RedStreamPolicy *policy, int fd,
                                           const RedStreamSocket *ops, bool tls, int stream,
                                           RedStreamCounters *counters)
{
    uint32_t unacked;

    if (!policy->timestamps && !policy->zerocopy) {
        return nullptr;
    }
    auto offload = new RedStreamOffload(fd, ops, counters);
    if (policy->timestamps && ops->set_timestamps && ops->set_timestamps(fd, &unacked)) {
        offload->timestamps = new RedStreamTimestamps(unacked, stream, counters);
        offload->errqueue.add(offload->timestamps);
    }
    if (policy->zerocopy) {
        offload->zerocopy = new RedStreamZerocopy(&offload->errqueue, fd, ops, policy->zerocopy,
                                                  tls, &counters->writes);
        offload->errqueue.add(offload->zerocopy);
    }
    if (!offload->timestamps && !offload->zerocopy) {
        delete offload;
        return nullptr;
    }
    return offload;
}

RedStreamOffload::~RedStreamOffload()
{
    end();
    delete zerocopy;
    delete timestamps;
}

void RedStreamOffload::end()
{
    if (zerocopy) {
        zerocopy->take_back();
    }
}

ssize_t RedStreamOffload::send(const struct iovec *iov, int iovcnt, size_t own, bool more)
{
    return zerocopy ? zerocopy->send(iov, iovcnt, own, more) : ops->send(fd, iov, iovcnt, more);
}

void RedStreamOffload::flushed()
{
    if (timestamps && timestamps->flushed()) {
        read();
    }
}

std::string RedStreamOffload::describe() const
{
    const auto entry = [](const char *name, uint64_t value) {
        return std::string(",\"") + name + "\":" + std::to_string(value);
    };
    std::string text = entry("delivered", counters->delivered) +
                       entry("delivery_time", counters->delivery_time) +
                       entry("timestamps", counters->timestamps) +
                       entry("notice_reads", counters->notice_reads);

    if (zerocopy) {
        const RedStreamZerocopyCounters &of_it = zerocopy->get_counters();

        text += std::string(",\"zerocopy\":\"") + zerocopy->get_state() + "\"" +
                entry("zerocopy_sends", of_it.sends) + entry("completions", of_it.completions) +
                entry("zerocopy_copies", of_it.copies) + entry("zerocopy_refused", of_it.refused) +
                entry("zerocopy_max", of_it.max_bytes);
    }
    return text;
}
