/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef COMMAND_QUEUE_H_
#define COMMAND_QUEUE_H_

#include <spice/qxl_dev.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * A ring of commands between producers, which may wait for room, and the
 * server's worker, which never waits. Stands for the ring in a QXL device's
 * memory and its doorbell.
 *
 * No wake-up is lost because one lock covers both halves of each question: the
 * worker asks "is it empty, and if so tell me of the next one" in one step, and
 * a producer adds a command and learns whether it has to tell in one step.
 *
 * Who waits for room is woken when the ring is half empty: one switch of threads for
 * many commands, and no call to the kernel in most of the worker's.
 *
 * A queue with a burst shows nothing, once it has run empty, until it holds that
 * many commands again or is released: a guest draws in bursts, and how many
 * commands the worker finds should say nothing about how fast a recording is
 * read. Release it before whatever the worker has to have caught up with, and
 * before waiting.
 */
typedef struct CommandQueue CommandQueue;

/* @burst is at most @capacity, 0: what there is is shown at once. */
CommandQueue *command_queue_new(size_t capacity, size_t burst);

/* The queue must be empty. */
void command_queue_free(CommandQueue *queue);

/*
 * Waits for room and appends. Sets *wake when the worker has to be told. False
 * when the queue is closed: the command stays the caller's.
 */
bool command_queue_push(CommandQueue *queue, const QXLCommandExt *command, bool *wake);

/* As command_queue_push, but false, too, when there is no room. */
bool command_queue_offer(CommandQueue *queue, const QXLCommandExt *command, bool *wake);

/* Takes the oldest. False when none is shown. */
bool command_queue_pop(CommandQueue *queue, QXLCommandExt *command);

/* True when none is shown: the push or release that does will say wake, once. */
bool command_queue_request_wake(CommandQueue *queue);

/* Shows what there is. Returns whether the worker has to be told. */
bool command_queue_release(CommandQueue *queue);

/* From now on nothing can be pushed; a waiting push gives up. */
void command_queue_close(CommandQueue *queue);

size_t command_queue_length(CommandQueue *queue);

#endif /* COMMAND_QUEUE_H_ */
