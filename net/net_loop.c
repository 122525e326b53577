// A daemon's event loop on libuv: timers, wake-ups from other threads, inputs, signals, and a
// deadline for exiting.
//
// How a daemon ends. Its handler of SIGTERM leads to net_loop_stop, and net_loop_run returns after
// the turn. The daemon arms the exit deadline, closes its links, timers and wakeups, and calls
// net_loop_destroy, which
//
// 1. closes the signal handles, because the objects that their handlers use may be freed by now,
// 2. turns the loop until every abandoned link is closed (net_abandon.c counts them in held),
// 3. destroys the gate and with it the connections beyond this machine,
// 4. closes its own handle and turns the loop until libuv has freed all handles; a handle that its
//    owner has not closed is an error of the program and fails an assertion, because the loop would
//    never end,
// 5. disarms the deadline and frees what was kept for late callers (net_loop_keep).
//
// Each of these steps can hang in NNG 1.5.2. The deadline's thread then logs NET-STUCK and ends the
// process. The thread is detached and the loop may be freed first, so the two share exit_deadline,
// which the last of them frees.
//
// While the loop runs it beats every BEAT_MS, if a supervisor watches (oct_pulse.h), and checks the
// size of the log, if the log is bounded. A libuv call that fails here has no remedy: it logs
// NET-LOOP and aborts.
#include "net/net_loop.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "common/oct_log_bound.h"
#include "common/oct_pulse.h"
#include "common/oct_reason.h"
#include "net/net_internal.h"
#include "net/net_limits.h"
#include "net/net_tls.h"

#define BEAT_MS 500 // well below the supervisor's limits

typedef struct signal_watch {
    uv_signal_t handle;
    net_signal_fn fn;
    void *arg;
} signal_watch;

// Shared by the loop and the detached thread; the second to finish frees it.
typedef struct exit_deadline {
    atomic_bool one_is_done; // the loop or the thread has finished with this
    uint32_t timeout_ms;
    int exit_code;
} exit_deadline;

typedef struct kept_block {
    struct kept_block *next;
    void *block;
} kept_block;

struct net_loop {
    uv_loop_t uv;
    uv_async_t keepalive; // never sent: without it uv_run returns when nothing is open
    kept_block *kept;
    exit_deadline *deadline;
    net_gate *gate; // NULL until it is first needed
    int held;       // links that threads of their own are closing (net_abandon.c)
};

struct net_timer {
    uv_timer_t handle;
    net_fn fn;
    void *arg;
};

struct net_input {
    uv_poll_t handle;
    net_fn fn;
    void *arg;
};

struct net_wakeup {
    uv_async_t handle;
    atomic_bool pending;
    net_fn fn;
    void *arg;
    void *owner; // freed with the wakeup
};

static void
uv_must(int code, const char *what)
{
    if (code != 0) {
        oct_log_error("NET-LOOP", "call=%s error=\"%s\"", what, uv_strerror(code));
        abort();
    }
}

static void
keepalive_woken(uv_async_t *handle)
{
    (void)handle;
}

static void
handle_free_data(uv_handle_t *handle)
{
    free(handle->data);
}

net_loop *
net_loop_create(void)
{
    oct_reason why;
    if (net_limits_check(&why) != OCT_OK) {
        oct_log_error("NET-LOOP", "error=\"%s\"", why.text);
        _exit(EXIT_FAILURE); // exit handlers of libraries may wait for threads that never started
    }
    net_loop *loop = oct_alloc(sizeof(*loop));
    uv_must(uv_loop_init(&loop->uv), "uv_loop_init");
    uv_must(uv_async_init(&loop->uv, &loop->keepalive, keepalive_woken), "uv_async_init");
    return loop;
}

static void
handle_close_signal(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (handle->type == UV_SIGNAL && !uv_is_closing(handle)) {
        uv_close(handle, handle_free_data);
    }
}

// Closes the handle that the loop itself opened. Its owner must have closed any other handle, or
// uv_run would never return.
static void
handle_close_own(uv_handle_t *handle, void *arg)
{
    net_loop *loop = arg;
    if (handle == (uv_handle_t *)&loop->keepalive) {
        uv_close(handle, NULL);
    } else {
        OCT_ASSERT(uv_is_closing(handle));
    }
}

void
net_loop_signals_end(net_loop *loop)
{
    uv_walk(&loop->uv, handle_close_signal, NULL);
}

static void
deadline_release(exit_deadline *deadline)
{
    if (atomic_exchange_explicit(&deadline->one_is_done, true, memory_order_acq_rel)) {
        free(deadline);
    }
}

void
net_loop_destroy(net_loop *loop)
{
    if (loop == NULL) {
        return;
    }
    net_loop_signals_end(loop); // what the handlers use may be freed already
    while (loop->held > 0) {
        (void)uv_run(&loop->uv, UV_RUN_ONCE);
    }
    net_gate_destroy(loop->gate);
    uv_walk(&loop->uv, handle_close_own, loop);
    while (uv_run(&loop->uv, UV_RUN_DEFAULT) != 0) {
    }
    uv_must(uv_loop_close(&loop->uv), "uv_loop_close");
    if (loop->deadline != NULL) {
        deadline_release(loop->deadline);
    }
    while (loop->kept != NULL) {
        kept_block *next = loop->kept->next;
        free(loop->kept->block);
        free(loop->kept);
        loop->kept = next;
    }
    free(loop);
}

void
net_loop_stop(net_loop *loop)
{
    uv_stop(&loop->uv);
}

uv_loop_t *
net_loop_uv(net_loop *loop)
{
    return &loop->uv;
}

oct_err
net_loop_use_tls(net_loop *loop, const char *folder, oct_reason *why)
{
    OCT_ASSERT(loop->gate == NULL);
    return net_gate_create(&loop->gate, folder, why);
}

const char *
net_loop_tls_default(void)
{
    const char *folder = getenv("OCTET_TLS");
    return folder == NULL || *folder == '\0' ? NULL : folder;
}

oct_role
net_loop_role(const net_loop *loop)
{
    return loop->gate == NULL ? OCT_ROLE_LOCAL : net_gate_role(loop->gate);
}

oct_err
net_loop_check_role(const net_loop *loop, oct_role wanted, oct_reason *why)
{
    return net_tls_check_role(net_loop_role(loop), wanted, why);
}

net_gate *
net_loop_gate(net_loop *loop)
{
    if (loop->gate == NULL) {
        OCT_ASSERT(net_gate_create(&loop->gate, NULL, NULL) == OCT_OK);
    }
    return loop->gate;
}

net_gate *
net_loop_gate_peek(net_loop *loop)
{
    return loop->gate;
}

void
net_loop_hold(net_loop *loop, int change)
{
    loop->held += change;
}

void
net_loop_keep(net_loop *loop, void *block)
{
    kept_block *kept = oct_alloc(sizeof(*kept));
    kept->block = block;
    kept->next = loop->kept;
    loop->kept = kept;
}

static void *
deadline_thread(void *arg)
{
    exit_deadline *deadline = arg;
    uint32_t timeout_ms = deadline->timeout_ms;
    struct timespec left = {.tv_sec = timeout_ms / 1000,
                            .tv_nsec = (long)(timeout_ms % 1000) * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
    if (!atomic_load_explicit(&deadline->one_is_done, memory_order_acquire)) {
        oct_log_warn("NET-STUCK", "closing took more than timeout_ms=%u", timeout_ms);
        _exit(deadline->exit_code);
    }
    deadline_release(deadline);
    return NULL;
}

void
net_loop_exit_deadline(net_loop *loop, uint32_t timeout_ms, int exit_code)
{
    if (loop->deadline != NULL) {
        return; // the first one counts
    }
    exit_deadline *deadline = oct_alloc(sizeof(*deadline));
    atomic_init(&deadline->one_is_done, false);
    deadline->timeout_ms = timeout_ms;
    deadline->exit_code = exit_code;
    pthread_t thread;
    int code = pthread_create(&thread, NULL, deadline_thread, deadline);
    if (code != 0) {
        oct_log_warn("NET-LOOP", "no exit deadline: call=pthread_create code=%d", code);
        free(deadline);
        return;
    }
    (void)pthread_setname_np(thread, "exit-deadline");
    (void)pthread_detach(thread);
    loop->deadline = deadline;
}

static void
timer_fired(uv_timer_t *handle)
{
    net_timer *timer = handle->data;
    timer->fn(timer->arg);
}

net_timer *
net_timer_start(net_loop *loop, uint32_t first_ms, uint32_t repeat_ms, net_fn fn, void *arg)
{
    net_timer *timer = oct_alloc(sizeof(*timer));
    timer->fn = fn;
    timer->arg = arg;
    timer->handle.data = timer;
    uv_must(uv_timer_init(&loop->uv, &timer->handle), "uv_timer_init");
    uv_update_time(&loop->uv); // the loop's clock stands still during a handler
    uv_must(uv_timer_start(&timer->handle, timer_fired, first_ms, repeat_ms), "uv_timer_start");
    return timer;
}

void
net_timer_stop(net_timer *timer)
{
    if (timer != NULL) {
        uv_close((uv_handle_t *)&timer->handle, handle_free_data);
    }
}

static void
beat_due(void *arg)
{
    (void)arg;
    oct_pulse_beat(OCT_PULSE_LOOP, OCT_PULSE_WORKS);
}

static void
log_look_due(void *arg)
{
    (void)arg;
    uint64_t dropped = oct_log_own_look(oct_clock_ns());
    if (dropped > 0) {
        oct_log_warn("NET-LOG-DROPPED",
                     "%" PRIu64 " bytes of this log have been dropped: it grew too fast", dropped);
    }
}

void
net_loop_run(net_loop *loop)
{
    net_timer *beat =
        oct_pulse_is_joined() ? net_timer_start(loop, 0, BEAT_MS, beat_due, NULL) : NULL;
    net_timer *look = oct_log_own_is_bounded()
                          ? net_timer_start(loop, 0, OCT_LOG_LOOK_MS, log_look_due, NULL)
                          : NULL;
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
    net_timer_stop(look);
    net_timer_stop(beat);
}

// Clears pending before fn reads: a send that finds pending set is seen by this fn, and a send that
// finds it cleared wakes the loop again. (uv_async_send reads its own flag without that order.)
static void
wakeup_woken(uv_async_t *handle)
{
    net_wakeup *wakeup = handle->data;
    (void)atomic_exchange_explicit(&wakeup->pending, false, memory_order_acq_rel);
    wakeup->fn(wakeup->arg);
}

net_wakeup *
net_wakeup_create(net_loop *loop, net_fn fn, void *arg)
{
    net_wakeup *wakeup = oct_alloc(sizeof(*wakeup));
    atomic_init(&wakeup->pending, false);
    wakeup->fn = fn;
    wakeup->arg = arg;
    wakeup->handle.data = wakeup;
    uv_must(uv_async_init(&loop->uv, &wakeup->handle, wakeup_woken), "uv_async_init");
    return wakeup;
}

void
net_wakeup_send(net_wakeup *wakeup)
{
    if (!atomic_exchange_explicit(&wakeup->pending, true, memory_order_acq_rel)) {
        (void)uv_async_send(&wakeup->handle);
    }
}

static void
wakeup_closed(uv_handle_t *handle)
{
    net_wakeup *wakeup = handle->data;
    free(wakeup->owner);
    free(wakeup);
}

void
net_wakeup_destroy_with(net_wakeup *wakeup, void *owner)
{
    wakeup->owner = owner;
    uv_close((uv_handle_t *)&wakeup->handle, wakeup_closed);
}

void
net_wakeup_destroy(net_wakeup *wakeup)
{
    if (wakeup != NULL) {
        net_wakeup_destroy_with(wakeup, NULL);
    }
}

// An error of fd shows when fn reads.
static void
input_came(uv_poll_t *handle, int status, int events)
{
    net_input *input = handle->data;
    (void)status;
    (void)events;
    input->fn(input->arg);
}

oct_err
net_input_start(net_input **out, net_loop *loop, int fd, net_fn fn, void *arg)
{
    net_input *input = oct_alloc(sizeof(*input));
    input->fn = fn;
    input->arg = arg;
    input->handle.data = input;
    if (uv_poll_init(&loop->uv, &input->handle, fd) != 0) {
        free(input);
        return OCT_EINVAL;
    }
    uv_must(uv_poll_start(&input->handle, UV_READABLE, input_came), "uv_poll_start");
    *out = input;
    return OCT_OK;
}

void
net_input_stop(net_input *input)
{
    if (input != NULL) {
        uv_close((uv_handle_t *)&input->handle, handle_free_data);
    }
}

static void
signal_arrived(uv_signal_t *handle, int signal_number)
{
    signal_watch *watch = handle->data;
    watch->fn(watch->arg, signal_number);
}

oct_err
net_loop_on_signal(net_loop *loop, int signal_number, net_signal_fn fn, void *arg)
{
    signal_watch *watch = oct_alloc(sizeof(*watch));
    watch->fn = fn;
    watch->arg = arg;
    watch->handle.data = watch;
    uv_must(uv_signal_init(&loop->uv, &watch->handle), "uv_signal_init");
    int code = uv_signal_start(&watch->handle, signal_arrived, signal_number);
    if (code != 0) {
        uv_close((uv_handle_t *)&watch->handle, handle_free_data);
    }
    return net_err_from_uv(code);
}
