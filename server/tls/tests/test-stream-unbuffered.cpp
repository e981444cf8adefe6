/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Without an output buffer a stream sends as releases do: over TLS each buffer of a message is a
 * record, which is sent at once, and TCP_CORK is set. With one it does neither. */
#include <config.h>

#include "test-stream-writes.h"

#include "push-visibility.h"

static void cork()
{
    {
        TlsStream t;

        g_assert_cmpint(test_records_at_once(&t), ==, 3);
        g_assert_cmpuint(red_stream_get_counters(t.stream).message_bytes, ==, 0);
    }
    test_check_auto_flush(true, true);
}

static void batch()
{
    {
        TlsStream t;

        g_assert_cmpint(test_records_at_once(&t), ==, 0);
    }
    test_check_auto_flush(true, false);
}

static const BatchTest tests[] = {
    { "cork", "cork", cork },
    { "batch", "batch", batch },
};

int main(int argc, char *argv[])
{
    return batch_test_main(argc, argv, "stream-unbuffered", tests);
}
