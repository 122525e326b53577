// The thread that ends the process when an environment hangs.
#include "actor/actor_watchdog.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"

#define LOOK_MS 500 // between two checks

struct actor_watchdog {
    actor_stuck_fn on_stuck;
    pthread_t thread;
    pthread_mutex_t lock; // of the fields below; held for moments
    pthread_cond_t ended;
    bool ends; // destroy was called
    double limit_s;
    uint64_t opens_ns; // when opening or closing began; 0: neither runs
    const actor_worker *worker;
};

// Returns the seconds that the slowest call has taken if that exceeds the limit, else 0. The
// caller holds the lock.
static double
stuck_s(const actor_watchdog *watchdog)
{
    double step_s = watchdog->worker != NULL ? actor_worker_call_s(watchdog->worker) : 0;
    double opens_s =
        watchdog->opens_ns != 0 ? 1e-9 * (double)(oct_clock_ns() - watchdog->opens_ns) : 0;
    double longest_s = OCT_MAX(step_s, opens_s);
    return watchdog->limit_s > 0 && longest_s > watchdog->limit_s ? longest_s : 0;
}

static void *
watch(void *arg)
{
    actor_watchdog *watchdog = arg;
    (void)pthread_mutex_lock(&watchdog->lock);
    while (!watchdog->ends) {
        struct timespec until;
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += LOOK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        (void)pthread_cond_timedwait(&watchdog->ended, &watchdog->lock, &until);
        double longest_s = watchdog->ends ? 0 : stuck_s(watchdog);
        if (longest_s > 0) {
            watchdog->on_stuck(longest_s);
            break;
        }
    }
    (void)pthread_mutex_unlock(&watchdog->lock);
    return NULL;
}

actor_watchdog *
actor_watchdog_create(actor_stuck_fn on_stuck)
{
    actor_watchdog *watchdog = oct_alloc(sizeof(*watchdog));
    pthread_condattr_t monotonic;
    watchdog->on_stuck = on_stuck;
    (void)pthread_mutex_init(&watchdog->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&watchdog->ended, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    if (pthread_create(&watchdog->thread, NULL, watch, watchdog) != 0) {
        free(watchdog);
        return NULL;
    }
    (void)pthread_setname_np(watchdog->thread, "watchdog");
    return watchdog;
}

void
actor_watchdog_destroy(actor_watchdog *watchdog)
{
    if (watchdog == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&watchdog->lock);
    watchdog->ends = true;
    (void)pthread_cond_signal(&watchdog->ended);
    (void)pthread_mutex_unlock(&watchdog->lock);
    (void)pthread_join(watchdog->thread, NULL);
    (void)pthread_cond_destroy(&watchdog->ended);
    (void)pthread_mutex_destroy(&watchdog->lock);
    free(watchdog);
}

void
actor_watchdog_limit(actor_watchdog *watchdog, double limit_s)
{
    if (watchdog != NULL) {
        (void)pthread_mutex_lock(&watchdog->lock);
        watchdog->limit_s = limit_s;
        (void)pthread_mutex_unlock(&watchdog->lock);
    }
}

void
actor_watchdog_opens(actor_watchdog *watchdog, bool opens)
{
    if (watchdog != NULL) {
        (void)pthread_mutex_lock(&watchdog->lock);
        watchdog->opens_ns = opens ? oct_clock_ns() : 0;
        (void)pthread_mutex_unlock(&watchdog->lock);
    }
}

void
actor_watchdog_worker(actor_watchdog *watchdog, const actor_worker *worker)
{
    if (watchdog != NULL) {
        (void)pthread_mutex_lock(&watchdog->lock);
        watchdog->worker = worker;
        (void)pthread_mutex_unlock(&watchdog->lock);
    }
}
