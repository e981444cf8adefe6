/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A device that plays a recording, for tests of the reader of recordings. */
#ifndef TEST_REPLAY_H_
#define TEST_REPLAY_H_

#include <cstdio>
#include <string>
#include <unistd.h>

#include <spice.h>
#include <spice-replay.h>

#include "red-worker.h"
#include "test-qxl-device.h"
#include "win-alarm.h"

#include "push-visibility.h"

/* the one that is played, for the worker to give commands back to */
static SpiceReplay *replay;

static inline void free_command(uint64_t id)
{
    spice_replay_free_cmd(replay, reinterpret_cast<QXLCommandExt *>(id));
}

/* A device that plays @text with at most @surfaces surfaces alive. */
struct TestReplay: public TestDevice
{
    TestReplay(const std::string &text, int surfaces)
    {
        FILE *file = tmpfile();

        g_assert_nonnull(file);
        fputs(("SPICE_REPLAY 1\n" + text).c_str(), file);
        rewind(file);
        replay = spice_replay_new(file, surfaces);
        on_release = free_command;
        alarm(60);
    }

    ~TestReplay()
    {
        /* the worker gives back what it holds before the reader goes */
        spice_qxl_destroy_surfaces(&qxl);
        spice_replay_free(replay);
        alarm(0);
    }

    QXLCommandExt *next()
    {
        QXLCommandExt *cmd = spice_replay_next_cmd(replay, &qxl);

        g_assert_nonnull(cmd);
        return cmd;
    }

    void play(QXLCommandExt *cmd)
    {
        push(cmd->cmd.type, reinterpret_cast<void *>(cmd->cmd.data));
    }
};

/* The line that a command (@what 0) or a call of the device (1) starts with. */
static inline std::string event(int what, int type)
{
    static int counter;

    return "event " + std::to_string(counter++) + " " + std::to_string(what) + " " +
           std::to_string(type) + " 0\n";
}

#include "pop-visibility.h"

#endif /* TEST_REPLAY_H_ */
