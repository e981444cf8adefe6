/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command-queue.h"

#include <glib.h>
#include <pthread.h>

struct CommandQueue {
    pthread_mutex_t mutex;
    pthread_cond_t has_room;
    bool is_closed;
    bool wake_requested;
    bool is_gathering;          /* nothing is shown yet */
    size_t capacity, burst;
    size_t first, length;
    QXLCommandExt command[];
};

CommandQueue *command_queue_new(size_t capacity, size_t burst)
{
    CommandQueue *queue = g_malloc0(sizeof(*queue) + capacity * sizeof(queue->command[0]));
    pthread_mutexattr_t spins;

    g_assert(burst <= capacity);
    /* held for nanoseconds, a hundred thousand times per second: too short to sleep */
    pthread_mutexattr_init(&spins);
    pthread_mutexattr_settype(&spins, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&queue->mutex, &spins);
    pthread_mutexattr_destroy(&spins);
    pthread_cond_init(&queue->has_room, NULL);
    queue->capacity = capacity;
    queue->burst = burst;
    queue->is_gathering = burst > 0;
    return queue;
}

void command_queue_free(CommandQueue *queue)
{
    g_assert(queue->length == 0);
    pthread_mutex_destroy(&queue->mutex);
    pthread_cond_destroy(&queue->has_room);
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

bool command_queue_push(CommandQueue *queue, const QXLCommandExt *command, bool waits, bool *wake)
{
    bool has_room;

    *wake = false;
    pthread_mutex_lock(&queue->mutex);
    while (waits && queue->length == queue->capacity && !queue->is_closed) {
        pthread_cond_wait(&queue->has_room, &queue->mutex);
    }
    has_room = queue->length < queue->capacity && !queue->is_closed;
    if (has_room) {
        queue->command[(queue->first + queue->length) % queue->capacity] = *command;
        queue->length++;
        if (!queue->is_gathering || queue->length >= queue->burst) {
            *wake = show(queue);
        }
    }
    pthread_mutex_unlock(&queue->mutex);
    return has_room;
}

bool command_queue_pop(CommandQueue *queue, QXLCommandExt *command)
{
    bool popped = false, has_room = false;

    pthread_mutex_lock(&queue->mutex);
    if (queue->length > 0 && !queue->is_gathering) {
        *command = queue->command[queue->first];
        queue->first = (queue->first + 1) % queue->capacity;
        queue->length--;
        queue->is_gathering = queue->burst > 0 && queue->length == 0;
        popped = true;
        has_room = queue->length == queue->capacity / 2;
    }
    pthread_mutex_unlock(&queue->mutex);
    if (has_room) {
        pthread_cond_broadcast(&queue->has_room);
    }
    return popped;
}

bool command_queue_request_wake(CommandQueue *queue)
{
    bool is_empty;

    pthread_mutex_lock(&queue->mutex);
    is_empty = queue->length == 0 || queue->is_gathering;
    queue->wake_requested |= is_empty;
    pthread_mutex_unlock(&queue->mutex);
    return is_empty;
}

bool command_queue_release(CommandQueue *queue)
{
    bool wake;

    pthread_mutex_lock(&queue->mutex);
    wake = show(queue);
    pthread_mutex_unlock(&queue->mutex);
    return wake;
}

void command_queue_close(CommandQueue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->is_closed = true;
    pthread_cond_broadcast(&queue->has_room);
    pthread_mutex_unlock(&queue->mutex);
}

size_t command_queue_length(CommandQueue *queue)
{
    size_t length;

    pthread_mutex_lock(&queue->mutex);
    length = queue->length;
    pthread_mutex_unlock(&queue->mutex);
    return length;
}
