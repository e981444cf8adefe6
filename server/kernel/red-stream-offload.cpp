/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include "red-stream-offload.h"

RedStreamOffload::RedStreamOffload(int init_fd, const RedStreamSocket *init_ops,
                                   RedStreamCounters *init_counters):
    counters(init_counters),
    errqueue(init_fd, init_ops->read_notices, &init_counters->notice_reads)
{
}

RedStreamOffload *RedStreamOffload::create(const RedStreamPolicy *policy, int fd,
                                           const RedStreamSocket *ops, int stream,
                                           RedStreamCounters *counters)
{
    uint32_t unacked;

    if (!policy->timestamps) {
        return nullptr;
    }
    auto offload = new RedStreamOffload(fd, ops, counters);
    if (ops->set_timestamps && ops->set_timestamps(fd, &unacked)) {
        offload->timestamps = new RedStreamTimestamps(unacked, stream, counters);
        offload->errqueue.add(offload->timestamps);
    }
    if (!offload->timestamps) {
        delete offload;
        return nullptr;
    }
    return offload;
}

RedStreamOffload::~RedStreamOffload()
{
    delete timestamps;
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
    return entry("delivered", counters->delivered) +
           entry("delivery_time", counters->delivery_time) +
           entry("timestamps", counters->timestamps) +
           entry("notice_reads", counters->notice_reads);
}
