// The handle of octet_replay_open.
//
// The user's thread checks arguments and waits; a second thread runs the event loop with the
// sockets (client_thread.h). A call of the user is a struct on its stack: it passes to the loop
// thread through the ring `asked` and comes back through `answered`. Batches are different: the
// user only says how many it wants, and takes them from a ring that the loop thread keeps filled
// (client_sampling.h), so that requests overlap with the user's work.
//
// If replay is down, calls time out, and the sockets connect again by themselves. A forked child
// has no loop thread, so its calls are refused.
#include "include/octet/replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "lib/client_sampling.h"
#include "lib/client_table.h"
#include "lib/client_thread.h"
#include "net/net_rpc.h"
#include "net/net_url.h"

#define CALLS_INFLIGHT     8          // requests, samples excepted
#define RESEND_MS          1000       // all calls but samples may be repeated
#define TICK_MS            20         // between two attempts of requests that failed
#define CALL_BYTES_MAX     (1u << 20) // of an answer, samples excepted
#define SAMPLE_ARENA_BYTES (WIRE_MESSAGE_BYTES_MAX + (1u << 20)) // one answer, unpacked
#define REQUEST_WINDOWS    8192 // in one request of several batches; replay answers them at once
#define WAIT_MS            1000 // each call has its own deadline, so this only bounds one sleep

_Static_assert(OCTET_REPLAY_EINVAL == (int)OCT_EINVAL && OCTET_REPLAY_EAGAIN == (int)OCT_EAGAIN &&
                   OCTET_REPLAY_ETIMEDOUT == (int)OCT_ETIMEDOUT &&
                   OCTET_REPLAY_EPROTO == (int)OCT_EPROTO && OCTET_REPLAY_EIO == (int)OCT_EIO &&
                   OCTET_REPLAY_ESTALE == (int)OCT_ESTALE,
               "error codes equal those of oct_err");

// A call of the user, on the user's stack. The user's thread waits until the call is in
// `answered`.
typedef struct client_call {
    enum { CALL_CONFIGURE, CALL_UPDATE, CALL_STATS, CALL_SET } kind;
    octet_replay *replay;
    uint32_t timeout_ms;
    const void *request; // of CALL_CONFIGURE: wire_configure; of CALL_UPDATE: wire_priorities
    uint32_t batch_size, per_request; // of CALL_SET
    octet_replay_stat *stats;         // [room] of CALL_STATS
    size_t room, count;
    char *state; // [state_size] of CALL_STATS
    size_t state_size;
    oct_err err; // the result; then reason, if it is not OCT_OK
    char reason[OCTET_REPLAY_ERROR_BYTES];
} client_call;

struct octet_replay {
    client_thread *thread;
    uint64_t run_id;
    net_rpc_client *socket;
    wire_client *client;
    // Samples have a socket of their own, which never repeats a request: a repeated request would
    // draw windows twice, and a FIFO table gives each window once.
    net_rpc_client *sample_socket;
    wire_client *sample_client;
    client_sampling *sampling;
    net_timer *tick;
    net_wakeup *wakeup;
    oct_ring *asked, *answered; // of client_call; each holds one

    // Belongs to the user's thread.
    uint32_t batch_size, prefetch; // of the current sampling; batch_size 0: none
    uint32_t per_request;          // batches in one request
    uint32_t outstanding;          // batches wanted and not taken yet
    oct_reason error;              // octet_replay_error
};

// ---- loop thread

// Answers the call. A time-out or a lost connection gets a text about the connection.
static void
call_end(client_call *call, oct_err err, const char *detail)
{
    call->err = err;
    (void)snprintf(call->reason, sizeof(call->reason), "%s", err == OCT_OK ? "" : detail);
    if (err == OCT_ETIMEDOUT || err == OCT_EIO) {
        char trouble[256] = "";
        bool is_down = net_rpc_client_trouble(call->replay->socket, trouble, sizeof(trouble));
        (void)snprintf(call->reason, sizeof(call->reason), "octet-replay does not answer%s%s",
                       is_down && trouble[0] != '\0' ? ": " : "", trouble);
    }
    OCT_ASSERT(oct_ring_push(call->replay->answered, call) == OCT_OK);
}

static void
configured(void *arg, oct_err err, const char *detail, const wire_configured *answer)
{
    (void)answer;
    call_end(arg, err, detail);
}

static void
updated(void *arg, oct_err err, const char *detail, const wire_empty *answer)
{
    (void)answer;
    call_end(arg, err, detail);
}

// Copies the metrics that fit.
static void
status_arrived(void *arg, oct_err err, const char *detail, const wire_status *answer)
{
    client_call *call = arg;
    if (err == OCT_OK) {
        call->count = answer->stat_count;
        for (size_t i = 0; i < OCT_MIN(call->count, call->room); i++) {
            (void)snprintf(call->stats[i].name, sizeof(call->stats[i].name), "%s",
                           answer->stat_name[i]);
            call->stats[i].value = answer->stat_value[i];
        }
        if (call->state_size > 0) {
            (void)snprintf(call->state, call->state_size, "%s", answer->state);
        }
    }
    call_end(call, err, detail);
}

// Sends the call's request. Its callback ends the call.
static void
call_begin(octet_replay *replay, client_call *call)
{
    oct_err err = OCT_OK;
    switch (call->kind) {
    case CALL_CONFIGURE:
        err =
            wire_call_configure(replay->client, call->request, call->timeout_ms, configured, call);
        break;
    case CALL_UPDATE:
        err = wire_call_update_priorities(replay->client, call->request, call->timeout_ms, updated,
                                          call);
        break;
    case CALL_STATS:
        err = wire_call_replay_status(replay->client, &(wire_empty){0}, call->timeout_ms,
                                      status_arrived, call);
        break;
    case CALL_SET:
        client_sampling_set(replay->sampling, call->batch_size, call->per_request);
        call_end(call, OCT_OK, "");
        break;
    }
    if (err != OCT_OK) {
        call_end(call, err, oct_strerror(err));
    }
}

static void
woken(void *arg)
{
    octet_replay *replay = arg;
    void *call;
    while (oct_ring_pop(replay->asked, &call) == OCT_OK) {
        call_begin(replay, call);
    }
    client_sampling_tick(replay->sampling);
}

static void
ticked(void *arg)
{
    octet_replay *replay = arg;
    client_sampling_tick(replay->sampling);
}

// Runs on the loop thread when the handle is closed.
static void
links_close(void *arg)
{
    octet_replay *replay = arg;
    net_timer_stop(replay->tick);
    net_rpc_client_close(replay->sample_socket);
    net_rpc_client_close(replay->socket);
    net_wakeup_destroy(replay->wakeup);
}

// ---- the user's thread

static int
refuse(octet_replay *replay, oct_err err, const char *reason)
{
    oct_reason_set(&replay->error, "%s", reason);
    return (int)err;
}

// Returns false, with an error, in a forked child. Clears the error otherwise.
static bool
is_usable(octet_replay *replay)
{
    if (!client_thread_is_here(replay->thread)) {
        (void)refuse(
            replay, OCT_EINVAL,
            "this process is a fork of the process that opened this replay: open another replay");
        return false;
    }
    replay->error.text[0] = '\0';
    return true;
}

// Passes the call to the loop thread and waits. The loop thread always answers: with OCT_ETIMEDOUT
// after call->timeout_ms.
static int
call_run(octet_replay *replay, client_call *call)
{
    call->replay = replay;
    OCT_ASSERT(oct_ring_push(replay->asked, call) == OCT_OK);
    net_wakeup_send(replay->wakeup);
    void *answered;
    while (oct_ring_pop_wait(replay->answered, &answered, WAIT_MS) != OCT_OK) {
    }
    OCT_ASSERT(answered == call);
    return call->err == OCT_OK ? OCTET_REPLAY_OK : refuse(replay, call->err, call->reason);
}

static oct_err
links_open(octet_replay *replay, const char *url)
{
    net_loop *loop = client_thread_loop(replay->thread);
    OCT_TRY(net_rpc_client_open(&replay->socket, loop,
                                &(net_endpoint){url, OCT_ROLES_ANY, CALL_BYTES_MAX, CALLS_INFLIGHT},
                                RESEND_MS));
    oct_err err = net_rpc_client_open(
        &replay->sample_socket, loop,
        &(net_endpoint){url, OCT_ROLES_ANY, WIRE_MESSAGE_BYTES_MAX, CLIENT_SAMPLES_INFLIGHT}, 0);
    if (err != OCT_OK) {
        net_rpc_client_close(replay->socket);
    }
    return err;
}

static int
replay_open(octet_replay **out, const char *url, uint64_t run_id, oct_reason *why)
{
    OCT_TRY(client_url_check(url, why));
    // Before anything that uses the network library, which crashes beyond a limit or in a fork.
    OCT_TRY(client_thread_check(why));
    client_thread *thread;
    OCT_TRY(client_thread_create(&thread, why));
    octet_replay *replay = oct_alloc(sizeof(*replay));
    replay->run_id = run_id;
    replay->thread = thread;
    oct_err err = links_open(replay, url);
    if (err != OCT_OK) {
        client_thread_abandon(thread);
        free(replay);
        return (int)oct_fail(why, err, "%s: %s", url, oct_strerror(err));
    }
    net_loop *loop = client_thread_loop(thread);
    replay->client = wire_client_create(net_rpc_call, replay->socket, 2 * CALL_BYTES_MAX);
    replay->sample_client =
        wire_client_create(net_rpc_call, replay->sample_socket, SAMPLE_ARENA_BYTES);
    replay->sampling = client_sampling_create(replay->sample_client, run_id);
    replay->asked = oct_ring_create(1);
    replay->answered = oct_ring_create(1);
    replay->wakeup = net_wakeup_create(loop, woken, replay);
    replay->tick = net_timer_start(loop, TICK_MS, TICK_MS, ticked, replay);
    client_thread_start(thread, links_close, replay);
    *out = replay;
    return OCTET_REPLAY_OK;
}

int
octet_replay_open(octet_replay **out, const char *url, uint64_t run_id, char *error,
                  size_t error_size)
{
    oct_reason why = {""};
    int result = replay_open(out, url, run_id, &why);
    if (result != 0) {
        oct_reason_copy(&why, error, error_size);
    }
    return result;
}

void
octet_replay_close(octet_replay *replay)
{
    if (replay == NULL || !client_thread_stop(replay->thread)) {
        return;
    }
    wire_client_destroy(replay->client);
    wire_client_destroy(replay->sample_client);
    client_sampling_destroy(replay->sampling);
    oct_ring_destroy(replay->asked);
    oct_ring_destroy(replay->answered);
    free(replay);
}

const char *
octet_replay_error(const octet_replay *replay)
{
    return replay->error.text;
}

// The request holds the key, which must not stay on the stack.
int
octet_replay_configure(octet_replay *replay, const octet_replay_table *table, uint32_t timeout_ms)
{
    if (!is_usable(replay)) {
        return OCTET_REPLAY_EINVAL;
    }
    wire_configure request;
    OCT_TRY(client_table_check(table, &replay->error));
    client_table_configure(&request, table, replay->run_id);
    client_call call = {.kind = CALL_CONFIGURE, .request = &request, .timeout_ms = timeout_ms};
    int result = call_run(replay, &call);
    explicit_bzero(request.token_key, sizeof(request.token_key));
    return result;
}

// Starts sampling with other numbers. Batches of the old ones are discarded, also those on their
// way. A request asks for a third of what is prefetched, so that two can be in flight while the
// batches of a third are taken.
static void
sampling_begin(octet_replay *replay, uint32_t batch_size, uint32_t prefetch)
{
    uint32_t most = OCT_MAX(REQUEST_WINDOWS / batch_size, 1u);
    replay->per_request = OCT_MIN(OCT_MAX(prefetch / 3, 1u), most);
    client_call call = {
        .kind = CALL_SET, .batch_size = batch_size, .per_request = replay->per_request};
    (void)call_run(replay, &call);
    void *batch;
    while (oct_ring_pop(client_sampling_ready(replay->sampling), &batch) == OCT_OK) {
        client_batch_destroy(batch);
    }
    replay->batch_size = batch_size;
    replay->prefetch = prefetch;
    replay->outstanding = 0;
}

// Tops up the wanted batches to prefetch, or to one batch without prefetching.
static void
sampling_want(octet_replay *replay)
{
    uint32_t target = OCT_MAX(replay->prefetch, 1u);
    if (replay->outstanding < target) {
        client_sampling_want(replay->sampling, target - replay->outstanding);
        replay->outstanding = target;
    }
    net_wakeup_send(replay->wakeup);
}

int
octet_replay_sample(octet_replay *replay, uint32_t batch_size, uint32_t prefetch,
                    double importance_exponent, uint32_t timeout_ms, octet_replay_batch *out)
{
    if (!is_usable(replay)) {
        return OCTET_REPLAY_EINVAL;
    }
    if (out->size != sizeof(*out) || batch_size < 1 || prefetch > OCTET_REPLAY_PREFETCH_MAX ||
        !(importance_exponent >= 0 && importance_exponent <= 10)) {
        return (int)oct_refuse(&replay->error,
                               "batch_size %u (allowed: at least 1), prefetch %u (allowed: at most "
                               "%d), exponent %g (allowed: 0 to 10)",
                               batch_size, prefetch, OCTET_REPLAY_PREFETCH_MAX,
                               importance_exponent);
    }
    if (batch_size != replay->batch_size || prefetch != replay->prefetch) {
        sampling_begin(replay, batch_size, prefetch);
    }
    if (oct_ring_count(client_sampling_ready(replay->sampling)) == 0) {
        sampling_want(replay);
    }
    void *item;
    if (oct_ring_pop_wait(client_sampling_ready(replay->sampling), &item, timeout_ms) != OCT_OK) {
        return refuse(replay, OCT_ETIMEDOUT, "replay has not answered yet");
    }
    client_batch *batch = item;
    replay->outstanding--;
    if (batch->err != OCT_OK) {
        int result = refuse(replay, batch->err, batch->reason);
        replay->batch_size = 0; // start again with the next call
        client_batch_destroy(batch);
        return result;
    }
    if (replay->outstanding + replay->per_request <= prefetch) {
        sampling_want(replay);
    }
    client_batch_give(batch, importance_exponent, out);
    return OCTET_REPLAY_OK;
}

void
octet_replay_batch_free(void *memory)
{
    free(memory);
}

int
octet_replay_update(octet_replay *replay, uint64_t incarnation, uint32_t count,
                    const uint64_t *keys, const float *priorities, uint32_t timeout_ms)
{
    if (!is_usable(replay)) {
        return OCTET_REPLAY_EINVAL;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!isfinite(priorities[i]) || priorities[i] < 0) {
            return (int)oct_refuse(&replay->error,
                                   "priority %u is %g; allowed are finite numbers from 0", i,
                                   (double)priorities[i]);
        }
    }
    wire_priorities request = {.incarnation = incarnation,
                               .count = count,
                               .key = keys,
                               .priority = priorities,
                               .run_id = replay->run_id};
    client_call call = {.kind = CALL_UPDATE, .request = &request, .timeout_ms = timeout_ms};
    return call_run(replay, &call);
}

int
octet_replay_stats(octet_replay *replay, octet_replay_stat *stats, size_t room, size_t *count,
                   char *state, size_t state_size, uint32_t timeout_ms)
{
    if (!is_usable(replay)) {
        return OCTET_REPLAY_EINVAL;
    }
    client_call call = {.kind = CALL_STATS,
                        .timeout_ms = timeout_ms,
                        .stats = stats,
                        .room = room,
                        .state = state,
                        .state_size = state_size};
    int result = call_run(replay, &call);
    *count = call.count;
    return result;
}
