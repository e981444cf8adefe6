/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <spice/qxl_dev.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * A ring of commands between producers, which may wait for free space, and the
 * server's worker, which never waits. It replaces the ring in a QXL device's
 * memory and its doorbell.
 *
 * No wake-up is lost, as both sides act under one lock: the worker checks for
 * an empty ring and requests a wake-up in one step, and a producer adds a
 * command and learns whether to wake the worker in one step.
 *
 * A waiting producer is woken when the ring is half empty: one thread switch for
 * many commands, and no system call in most calls of the worker.
 *
 * With a burst, a queue that has become empty shows nothing until it holds that
 * many commands again or is released: a guest draws in bursts, and the number of
 * commands that the worker finds must not depend on how fast a recording is
 * read. Release the queue before waiting, and before anything that needs the
 * worker to have caught up.
 */
typedef struct CommandQueue CommandQueue;

/* @burst: at most @capacity; 0: every command is shown at once. */
CommandQueue *command_queue_new(size_t capacity, size_t burst);

/* The queue must be empty. */
void command_queue_free(CommandQueue *queue);

/*
 * Appends; if there is no space, waits for it or gives up. Sets *wake if the worker has to be
 * woken. False if it gave up or the queue is closed: the command stays the caller's.
 */
bool command_queue_push(CommandQueue *queue, const QXLCommandExt *command, bool waits, bool *wake);

/* Takes the oldest command. False if none is shown. */
bool command_queue_pop(CommandQueue *queue, QXLCommandExt *command);

/* True if none is shown: then the push or release that shows one sets wake, once. */
bool command_queue_request_wake(CommandQueue *queue);

/* Shows all commands. Returns whether the worker has to be woken. */
bool command_queue_release(CommandQueue *queue);

/* From now on nothing can be pushed; a waiting push gives up. */
void command_queue_close(CommandQueue *queue);

size_t command_queue_length(CommandQueue *queue);
