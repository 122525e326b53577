// Runs functions of other threads on the gate's thread.
#include "net/net_gate_calls.h"

#include <time.h>

#include "common/oct_base.h"

struct gate_call {
    struct gate_call *next;
    void (*fn)(void *arg);
    void *arg;
    bool done;
};

static void
calls_run(uv_async_t *handle)
{
    gate_calls *calls = handle->data;
    pthread_mutex_lock(&calls->mutex);
    gate_call *call = calls->first;
    calls->first = NULL;
    pthread_mutex_unlock(&calls->mutex);
    while (call != NULL) {
        gate_call *next = call->next; // on the caller's stack: invalid once done is set
        call->fn(call->arg);
        pthread_mutex_lock(&calls->mutex);
        call->done = true;
        pthread_cond_broadcast(&calls->changed);
        pthread_mutex_unlock(&calls->mutex);
        call = next;
    }
}

void
gate_calls_init(gate_calls *calls, uv_loop_t *loop)
{
    calls->first = NULL;
    calls->ended = false;
    OCT_ASSERT(pthread_mutex_init(&calls->mutex, NULL) == 0);
    OCT_ASSERT(pthread_cond_init(&calls->changed, NULL) == 0);
    OCT_ASSERT(uv_async_init(loop, &calls->wake, calls_run) == 0);
    calls->wake.data = calls;
}

void
gate_calls_do(gate_calls *calls, void (*fn)(void *arg), void *arg)
{
    gate_call call = {.fn = fn, .arg = arg};
    pthread_mutex_lock(&calls->mutex);
    gate_call **last = &calls->first;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = &call;
    (void)uv_async_send(&calls->wake);
    while (!call.done) {
        pthread_cond_wait(&calls->changed, &calls->mutex);
    }
    pthread_mutex_unlock(&calls->mutex);
}

void
gate_calls_stop(gate_calls *calls)
{
    uv_close((uv_handle_t *)&calls->wake, NULL);
}

void
gate_calls_ended(gate_calls *calls)
{
    pthread_mutex_lock(&calls->mutex);
    calls->ended = true;
    pthread_cond_broadcast(&calls->changed);
    pthread_mutex_unlock(&calls->mutex);
}

bool
gate_calls_await_end(gate_calls *calls, uint32_t timeout_s)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += timeout_s;
    int code = 0;
    pthread_mutex_lock(&calls->mutex);
    while (!calls->ended && code == 0) {
        code = pthread_cond_timedwait(&calls->changed, &calls->mutex, &until);
    }
    bool ended = calls->ended;
    pthread_mutex_unlock(&calls->mutex);
    return ended;
}

void
gate_calls_fini(gate_calls *calls)
{
    (void)pthread_mutex_destroy(&calls->mutex);
    (void)pthread_cond_destroy(&calls->changed);
}
