/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A connection that in the mode flow is paced, and what the kernel is told. */
#ifndef TEST_STREAM_PACING_H_
#define TEST_STREAM_PACING_H_

#include "red-stream-pacing.h"
#include "red-stream-path.h"
#include "test-stream-egress.h"

#include "push-visibility.h"

class PacedConnection: public TestConnection
{
public:
    explicit PacedConnection(int init_version, const char *mode = "flow"):
        TestConnection(mode, init_version), pacing(egress, ops())
    {
        use();
        if (policy.mode == &red_stream_mode_flow) {
            egress->set_sender(&pacing);
        }
    }
    void use()
    {
        current() = this;
        kernel.use();
    }
    ~PacedConnection() { egress->set_sender(nullptr); }

    RedStreamPacing pacing;
    /* the kernel can have limits */
    bool takes_limits = true;
    /* each limit that was set */
    std::vector<uint32_t> unsent_limits;
    /* each pacing rate that was set, bytes per second, 0: no limit */
    std::vector<uint64_t> paces;

private:
    /* the last one made */
    static PacedConnection *&current()
    {
        static PacedConnection *connection;

        return connection;
    }

    static bool set_unsent_limit(int, uint32_t bytes)
    {
        current()->unsent_limits.push_back(bytes);
        return current()->takes_limits;
    }

    static bool set_pace(int, uint64_t rate)
    {
        current()->paces.push_back(rate);
        return true;
    }

    static const RedStreamPacingSocket *ops()
    {
        static const RedStreamPacingSocket table = { set_unsent_limit, set_pace };

        return &table;
    }
};

#include "pop-visibility.h"

#endif /* TEST_STREAM_PACING_H_ */
