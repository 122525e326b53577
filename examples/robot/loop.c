/* A control loop at 500 Hz with an exported policy. C99 and POSIX, nothing of Octet but the header:
 *
 *     octet export pole.oct --c99 pole.h --name pole
 *     cc -std=c99 -O2 -o loop loop.c -lm && ./loop
 *
 * It runs for a second, and prints how long the policy took and how late the timer woke it. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <time.h>

#include "pole.h"

#define STEPS     500
#define PERIOD_NS 2000000

static pole_work work;

static void
sense(float observation[POLE_OBSERVATION_COUNT])
{
    for (int i = 0; i < POLE_OBSERVATION_COUNT; i++)
        observation[i] = 0.01f; /* your sensors */
}

static void
act(int32_t action)
{
    (void)action;
} /* your motors */

static double
microseconds(struct timespec from, struct timespec to)
{
    return 1e6 * (double)(to.tv_sec - from.tv_sec) + 1e-3 * (double)(to.tv_nsec - from.tv_nsec);
}

int
main(void)
{
    float observation[POLE_OBSERVATION_COUNT];
    if (pole_self_test(&work, observation) != 0)
        return 1; /* the arithmetic is not what it must be */
    double total = 0, longest = 0, latest = 0;
    struct timespec due, woken, done;
    clock_gettime(CLOCK_MONOTONIC, &due);
    for (int step = 0; step < STEPS; step++) {
        clock_gettime(CLOCK_MONOTONIC, &woken);
        int32_t action;
        sense(observation);
        if (pole_act(&work, observation, &action) == 0)
            act(action); /* else: a sensor is broken */
        clock_gettime(CLOCK_MONOTONIC, &done);
        double took = microseconds(woken, done), late = microseconds(due, woken);
        total += took;
        longest = took > longest ? took : longest;
        latest = late > latest ? late : latest;
        due.tv_nsec += PERIOD_NS;
        if (due.tv_nsec >= 1000000000)
            due.tv_sec++, due.tv_nsec -= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    }
    printf("%d actions at %d Hz: %.2f us each, %.2f at most; woken %.1f us late at most\n", STEPS,
           1000000000 / PERIOD_NS, total / STEPS, longest, latest);
    return 0;
}
