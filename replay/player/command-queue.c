/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command-queue.h"

#include <glib.h>

struct CommandQueue {
    GMutex mutex;
    GCond has_room;
    bool is_closed;
    bool wake_requested;
    bool is_gathering;          /* nothing is shown yet */
    size_t capacity;
    size_t first, length;
    QXLCommandExt command[];
};

CommandQueue *command_queue_new(size_t capacity)
{
    CommandQueue *queue = g_malloc0(sizeof(*queue) + capacity * sizeof(queue->command[0]));

    g_mutex_init(&queue->mutex);
    g_cond_init(&queue->has_room);
    queue->capacity = capacity;
    queue->is_gathering = true;
    return queue;
}

void command_queue_free(CommandQueue *queue)
{
    g_assert(queue->length == 0);
    g_mutex_clear(&queue->mutex);
    g_cond_clear(&queue->has_room);
    g_free(queue);
}

/* Returns whether the worker has to be told. */
static bool show(CommandQueue *queue)
{
    bool wake = queue->wake_requested && queue->length > 0;

    if (queue->length > 0) {
        queue->is_gathering = false;
        queue->wake_requested = false;
    }
    return wake;
}

bool command_queue_push(CommandQueue *queue, const QXLCommandExt *command, bool *wake)
{
    bool pushed = false;

    *wake = false;
    g_mutex_lock(&queue->mutex);
    while (queue->length == queue->capacity && !queue->is_closed) {
        g_cond_wait(&queue->has_room, &queue->mutex);
    }
    if (!queue->is_closed) {
        queue->command[(queue->first + queue->length) % queue->capacity] = *command;
        queue->length++;
        if (!queue->is_gathering || queue->length == queue->capacity) {
            *wake = show(queue);
        }
        pushed = true;
    }
    g_mutex_unlock(&queue->mutex);
    return pushed;
}

bool command_queue_pop(CommandQueue *queue, QXLCommandExt *command)
{
    bool popped = false;

    g_mutex_lock(&queue->mutex);
    if (queue->length > 0 && !queue->is_gathering) {
        *command = queue->command[queue->first];
        queue->first = (queue->first + 1) % queue->capacity;
        queue->length--;
        queue->is_gathering = queue->length == 0;
        popped = true;
        g_cond_signal(&queue->has_room);
    }
    g_mutex_unlock(&queue->mutex);
    return popped;
}

bool command_queue_request_wake(CommandQueue *queue)
{
    bool is_empty;

    g_mutex_lock(&queue->mutex);
    is_empty = queue->is_gathering;
    queue->wake_requested |= is_empty;
    g_mutex_unlock(&queue->mutex);
    return is_empty;
}

bool command_queue_release(CommandQueue *queue)
{
    bool wake;

    g_mutex_lock(&queue->mutex);
    wake = show(queue);
    g_mutex_unlock(&queue->mutex);
    return wake;
}

void command_queue_close(CommandQueue *queue)
{
    g_mutex_lock(&queue->mutex);
    queue->is_closed = true;
    g_cond_broadcast(&queue->has_room);
    g_mutex_unlock(&queue->mutex);
}

size_t command_queue_length(CommandQueue *queue)
{
    size_t length;

    g_mutex_lock(&queue->mutex);
    length = queue->length;
    g_mutex_unlock(&queue->mutex);
    return length;
}
