/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A message command of a recording: its text, which is recorded without its end, gets one,
 * and the command is given back as any other.
 */
#include <config.h>

#include "test-replay.h"

#include "push-visibility.h"

static std::string message(const std::string &text)
{
    return event(0, QXL_CMD_MESSAGE) + "binary 0 message " + std::to_string(text.length()) + ":" +
           text + "\n";
}

static void message_command()
{
    TestReplay f(message("hello") + message(""), 4);

    for (const char *text : { "hello", "" }) {
        QXLCommandExt *cmd = f.next();
        auto recorded = reinterpret_cast<QXLMessage *>(cmd->cmd.data);

        g_assert_cmpuint(cmd->cmd.type, ==, QXL_CMD_MESSAGE);
        g_assert_cmpstr(reinterpret_cast<char *>(recorded->data), ==, text);
        f.play(cmd);
    }
    f.run();
    g_assert_cmpuint(f.released.size(), ==, 2);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/replay/message", message_command);
    return g_test_run();
}
