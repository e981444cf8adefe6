/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include "red-stream-ktls.h"
#include "red-stream-offload.h"

const RedStreamSetting red_stream_setting_timestamps("timestamps");
const RedStreamSetting red_stream_setting_zerocopy("zerocopy", RED_STREAM_ZEROCOPY_MIN,
                                                   RED_STREAM_ZEROCOPY_LIMIT, 0, "off", 0);

const RedStreamOffloadSocket red_stream_offload_kernel = {
    red_stream_timestamps_set,
    red_stream_zerocopy_set,
    red_stream_zerocopy_send,
    red_stream_zerocopy_abort,
    red_stream_errqueue_read,
};

RedStreamOffload::RedStreamOffload(RedStreamEgress *init_egress, const RedStreamOffloadSocket *ops):
    RedStreamSender(init_egress), errqueue(init_egress->get_socket(), ops->read_notices, &reads)
{
}

RedStreamOffload *RedStreamOffload::create(const RedStreamPolicy *policy, RedStreamEgress *egress,
                                           bool tls, RedStreamObserver *observer,
                                           const RedStreamOffloadSocket *ops)
{
    const uint32_t limit = red_stream_setting_zerocopy.get(policy);
    const bool wants_timestamps = red_stream_setting_timestamps.get(policy) &&
                                  !(tls && red_stream_setting_ktls.get(policy));
    uint32_t unacked;

    if (!wants_timestamps && !limit) {
        return nullptr;
    }
    std::unique_ptr<RedStreamOffload> offload(new RedStreamOffload(egress, ops));
    if (wants_timestamps && ops->set_timestamps(egress->get_socket(), &unacked)) {
        offload->timestamps.reset(new RedStreamTimestamps(unacked, egress, observer));
        offload->errqueue.add(offload->timestamps.get());
    }
    if (limit) {
        offload->zerocopy.reset(new RedStreamZerocopy(&offload->errqueue, egress, ops, limit, tls));
        offload->errqueue.add(offload->zerocopy.get());
        egress->set_copy_limit(limit);
    }
    return offload->timestamps || offload->zerocopy ? offload.release() : nullptr;
}

RedStreamOffload::~RedStreamOffload()
{
    if (zerocopy) {
        /* while all consumers of the error queue are there */
        zerocopy->take_back();
    }
}

ssize_t RedStreamOffload::send(const struct iovec *iov, int iovcnt, size_t own, bool more)
{
    return zerocopy ? zerocopy->send(iov, iovcnt, own, more) : pass(iov, iovcnt, own, more);
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
    const RedStreamTimestampCounters of_flushes = timestamps ? timestamps->get_counters() :
                                                  RedStreamTimestampCounters{};
    std::string text = entry("delivered", of_flushes.delivered) +
                       entry("delivery_time", of_flushes.delivery_time) +
                       entry("timestamps", of_flushes.timestamps) + entry("notice_reads", reads);

    if (zerocopy) {
        const RedStreamZerocopyCounters &of_it = zerocopy->get_counters();

        text += std::string(",\"zerocopy\":\"") + zerocopy->get_state() + "\"" +
                entry("zerocopy_sends", of_it.sends) + entry("completions", of_it.completions) +
                entry("zerocopy_copies", of_it.copies) + entry("zerocopy_refused", of_it.refused) +
                entry("zerocopy_max", of_it.max_bytes);
    }
    return text;
}
