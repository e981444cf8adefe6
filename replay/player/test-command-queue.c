/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The queue between a producer and a worker that sleeps whenever it is told
 * that there is nothing: a lost wake-up shows as a worker that is never woken.
 */
#include <glib.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

#include "command-queue.h"

#define COMMANDS 300000
#define CAPACITY 7
#define BURST 4
#define STUCK_SECONDS 20

typedef struct Fixture {
    CommandQueue *queue;
    sem_t doorbell;
} Fixture;

static void fixture_init(Fixture *fixture, size_t burst)
{
    fixture->queue = command_queue_new(CAPACITY, burst);
    sem_init(&fixture->doorbell, 0, 0);
}

static void fixture_clear(Fixture *fixture)
{
    command_queue_free(fixture->queue);
    sem_destroy(&fixture->doorbell);
}

static void wait_for_doorbell(Fixture *fixture)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += STUCK_SECONDS;
    g_assert_cmpint(sem_timedwait(&fixture->doorbell, &until), ==, 0);
}

static void *worker(void *opaque)
{
    Fixture *fixture = opaque;
    QXLCommandExt command;

    for (uint64_t expected = 0; expected < COMMANDS;) {
        if (command_queue_pop(fixture->queue, &command)) {
            g_assert_cmpuint(command.cmd.data, ==, expected);
            expected++;
        } else if (command_queue_request_wake(fixture->queue)) {
            wait_for_doorbell(fixture);
        }
    }
    return NULL;
}

static void push(Fixture *fixture, uint64_t number)
{
    const QXLCommandExt command = { .cmd = { .data = number } };
    bool wake;

    g_assert_true(command_queue_push(fixture->queue, &command, true, &wake));
    if (wake) {
        sem_post(&fixture->doorbell);
    }
}

static void test_no_wake_up_is_lost(gconstpointer burst)
{
    Fixture fixture;
    pthread_t thread;

    fixture_init(&fixture, GPOINTER_TO_SIZE(burst));
    pthread_create(&thread, NULL, worker, &fixture);
    for (uint64_t i = 0; i < COMMANDS; i++) {
        push(&fixture, i);
        if (i % 1000 == 999 && command_queue_release(fixture.queue)) {
            sem_post(&fixture.doorbell);
        }
    }
    pthread_join(thread, NULL);
    fixture_clear(&fixture);
}

static void test_shows_bursts(void)
{
    Fixture fixture;
    QXLCommandExt command;

    fixture_init(&fixture, BURST);
    g_assert_true(command_queue_request_wake(fixture.queue));
    for (uint64_t i = 0; i < BURST - 1; i++) {
        push(&fixture, i);
        g_assert_false(command_queue_pop(fixture.queue, &command));
    }
    g_assert_cmpint(sem_trywait(&fixture.doorbell), !=, 0);
    push(&fixture, BURST - 1);
    g_assert_cmpint(sem_trywait(&fixture.doorbell), ==, 0);
    g_assert_true(command_queue_pop(fixture.queue, &command));

    /* once shown, what is added is shown too, and the bell is not rung again */
    push(&fixture, BURST);
    g_assert_cmpint(sem_trywait(&fixture.doorbell), !=, 0);
    g_assert_false(command_queue_request_wake(fixture.queue));
    for (uint64_t i = 1; i <= BURST; i++) {
        g_assert_true(command_queue_pop(fixture.queue, &command));
        g_assert_cmpuint(command.cmd.data, ==, i);
    }

    push(&fixture, 0);
    g_assert_false(command_queue_pop(fixture.queue, &command));
    g_assert_false(command_queue_release(fixture.queue));
    g_assert_true(command_queue_pop(fixture.queue, &command));
    fixture_clear(&fixture);
}

static void test_an_offer_does_not_wait(void)
{
    Fixture fixture;
    const QXLCommandExt offered = { .cmd = { .data = CAPACITY } };
    QXLCommandExt command;
    bool wake;

    fixture_init(&fixture, 0);
    g_assert_true(command_queue_request_wake(fixture.queue));
    g_assert_true(command_queue_push(fixture.queue, &offered, false, &wake));
    g_assert_true(wake);
    for (uint64_t i = 1; i < CAPACITY; i++) {
        push(&fixture, i);
    }
    g_assert_false(command_queue_push(fixture.queue, &offered, false, &wake));
    g_assert_false(wake);
    g_assert_true(command_queue_pop(fixture.queue, &command));
    g_assert_cmpuint(command.cmd.data, ==, CAPACITY);
    command_queue_close(fixture.queue);
    g_assert_false(command_queue_push(fixture.queue, &offered, false, &wake));
    while (command_queue_pop(fixture.queue, &command)) {
    }
    fixture_clear(&fixture);
}

static void *push_until_closed(void *opaque)
{
    Fixture *fixture = opaque;
    const QXLCommandExt command = { .cmd = { .data = 0 } };
    bool wake;

    while (command_queue_push(fixture->queue, &command, true, &wake)) {
    }
    return NULL;
}

static void test_closing_ends_a_waiting_push(void)
{
    Fixture fixture;
    QXLCommandExt command;
    pthread_t thread;

    fixture_init(&fixture, 0);
    pthread_create(&thread, NULL, push_until_closed, &fixture);
    while (command_queue_length(fixture.queue) < CAPACITY) {
        g_usleep(1000);
    }
    command_queue_close(fixture.queue);
    pthread_join(thread, NULL);
    while (command_queue_pop(fixture.queue, &command)) {
    }
    fixture_clear(&fixture);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/command-queue/no-wake-up-is-lost", GSIZE_TO_POINTER(0),
                         test_no_wake_up_is_lost);
    g_test_add_data_func("/command-queue/no-wake-up-is-lost-in-bursts", GSIZE_TO_POINTER(BURST),
                         test_no_wake_up_is_lost);
    g_test_add_data_func("/command-queue/no-wake-up-is-lost-in-full-bursts",
                         GSIZE_TO_POINTER(CAPACITY), test_no_wake_up_is_lost);
    g_test_add_func("/command-queue/shows-bursts", test_shows_bursts);
    g_test_add_func("/command-queue/an-offer-does-not-wait", test_an_offer_does_not_wait);
    g_test_add_func("/command-queue/closing-ends-a-waiting-push",
                    test_closing_ends_a_waiting_push);
    return g_test_run();
}
