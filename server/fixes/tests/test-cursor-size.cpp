/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A guest may say that its cursor has gigabytes, made of the same bytes again and again. It is
 * refused then; of one that is taken no more is kept than it has.
 */
#include <config.h>

#include <vector>

#include "test-glib-compat.h"
#include "test-memslot.h"

#include "push-visibility.h"

enum { MEGABYTE = 1024 * 1024 };

/* A cursor command, and memory for its shape and the chunks of it. */
struct Cursor
{
    QXLCursorCmd command = {};
    std::vector<uint8_t> memory;

    explicit Cursor(size_t size, uint32_t data_size):
        memory(sizeof(QXLCursor) + size)
    {
        command.type = QXL_CURSOR_SET;
        command.u.set.shape = to_physical(memory.data());
        shape()->data_size = data_size;
        shape()->chunk.data_size = size;
        for (size_t i = 0; i < size; ++i) {
            shape()->chunk.data[i] = i % 251;
        }
    }

    QXLCursor *shape()
    {
        return reinterpret_cast<QXLCursor *>(memory.data());
    }

    red::shared_ptr<const RedCursorCmd> parse()
    {
        TestSlots slots;

        return red_cursor_cmd_new(nullptr, &slots, 0, to_physical(&command));
    }
};

static void check_taken(Cursor *cursor, uint32_t size)
{
    const auto taken = cursor->parse();

    g_assert_true(!!taken);
    g_assert_cmpuint(taken->u.set.shape.data_size, ==, size);
    for (uint32_t i = 0; i < size; ++i) {
        g_assert_cmpuint(taken->u.set.shape.data[i], ==, i % 251);
    }
}

static void check_refused(Cursor *cursor)
{
    g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, "*cursor of * bytes*");
    g_assert_false(!!cursor->parse());
    g_test_assert_expected_messages();
}

/* What it says is less than its chunk has, the same, or more. */
static void taken()
{
    for (const uint32_t size : { 0, 1000, 64 * 64 * 4, 64 * 64 * 4 + 1 }) {
        Cursor cursor(64 * 64 * 4, size);

        check_taken(&cursor, MIN(size, 64 * 64 * 4));
    }
}

/* Of the largest pixels, and a mask. */
static void large()
{
    Cursor cursor(5 * MEGABYTE, 5 * MEGABYTE);
    Cursor larger(5 * MEGABYTE + 1, 5 * MEGABYTE + 1);

    check_taken(&cursor, 5 * MEGABYTE);
    check_refused(&larger);
}

/* Each chunk is a part of the one before: what was allocated once is there many times. */
static void again_and_again()
{
    enum { CHUNKS = 100 };
    Cursor cursor(MEGABYTE, UINT32_MAX);
    QXLDataChunk *chunk = &cursor.shape()->chunk;

    for (unsigned i = 0; i < CHUNKS; ++i) {
        auto next = reinterpret_cast<QXLDataChunk *>(chunk->data);

        chunk->next_chunk = to_physical(next);
        next->next_chunk = 0;
        next->data_size = chunk->data_size - sizeof(*next);
        chunk = next;
    }
    check_refused(&cursor);
    cursor.shape()->data_size = sizeof(QXLDataChunk);
    const auto taken = cursor.parse();
    g_assert_true(!!taken);
    g_assert_cmpmem(taken->u.set.shape.data, taken->u.set.shape.data_size,
                    cursor.shape()->chunk.data, sizeof(QXLDataChunk));
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/cursor-size/taken", taken);
    g_test_add_func("/server/cursor-size/large", large);
    g_test_add_func("/server/cursor-size/again-and-again", again_and_again);
    return g_test_run();
}
