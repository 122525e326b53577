#ifndef TESTS_REPLAY_REPLAY_DAEMON_H
#define TESTS_REPLAY_REPLAY_DAEMON_H

// octet-replay as a process, with an actor and a learner in one loop. Every wait is for an event; a
// test that waits for ever is ended by its timeout.
#include "tests/replay/replay_test.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "net/net_pub.h"
#include "net/net_push.h"
#include "net/net_rpc.h"
#include "net/net_url.h"
#include "proto/wire_rpc.h"
#include "proto/wire_token.h"
#include "tests/net/net_test.h"

#define RUN 7

typedef struct fixture {
    char folder[64];
    char url[NET_URL_MAX], batch_url[NET_URL_MAX], ack_url[NET_URL_MAX], metrics[64];
    net_loop *loop;
    net_test_daemon daemon;
    const char *sync; // of a table in the folder's replay.oct; NULL: in memory only
    net_rpc_client *rpc;
    wire_client *client;
    net_push *push;
    bool is_push_busy, is_push_connected;
    net_sub *sub;
    wire_ack ack; // the last
    // The last answer.
    bool is_answered;
    oct_err err;
    char detail[512], state[512], refused[WIRE_NAME_MAX + 1];
    wire_configured configured;
    wire_sampled sampled; // numbers only; its columns were checked while they were valid
    uint64_t first_key;
    uint32_t stat_count;
    char stat_name[80][48];
    double stat_value[80];
} fixture;

static const uint8_t token_key[WIRE_TOKEN_KEY_BYTES]; // as in test_configure
static char *executable; // absolute: the daemon runs in a folder of its own
static test_actor actor;

static inline void
push_ready(void *arg)
{
    fixture *f = arg;
    f->is_push_busy = false;
    net_loop_stop(f->loop);
}

static inline void
push_connected(void *arg)
{
    ((fixture *)arg)->is_push_connected = true;
}

static inline void
push_disconnected(void *arg)
{
    ((fixture *)arg)->is_push_connected = false;
}

static inline void
ack_arrived(void *arg, net_msg *msg)
{
    fixture *f = arg;
    T_OK(wire_ack_unpack(&f->ack, net_msg_body(msg), net_msg_length(msg)));
    net_loop_stop(f->loop);
}

static inline void
wait_for_ack(fixture *f, uint64_t sequence)
{
    f->ack.sequence = UINT64_MAX;
    while (f->ack.sequence != sequence) {
        net_loop_run(f->loop);
    }
}

static inline void
send_bytes(fixture *f, const void *bytes, size_t length)
{
    f->is_push_busy = true;
    T_OK(net_push_send(f->push, net_test_msg(bytes, length)));
    while (f->is_push_busy) {
        net_loop_run(f->loop);
    }
}

static inline void
send_batch(fixture *f, const wire_batch *batch)
{
    size_t length = wire_batch_size(batch);
    uint8_t *bytes = malloc(length);
    wire_batch_pack(batch, bytes);
    send_bytes(f, bytes, length);
    free(bytes);
}

// Its next steps, when they are taken.
static inline void
send_steps(fixture *f, uint32_t count, uint64_t sequence)
{
    send_batch(f, test_batch_steps(&actor, count));
    wait_for_ack(f, sequence);
}

// ---- calls

static inline void
answered(fixture *f, oct_err err, const char *detail)
{
    f->is_answered = true;
    f->err = err;
    (void)snprintf(f->detail, sizeof(f->detail), "%s", detail);
    net_loop_stop(f->loop);
}

static inline void
configure_done(void *arg, oct_err err, const char *detail, const wire_configured *answer)
{
    if (err == OCT_OK) {
        ((fixture *)arg)->configured = *answer;
    }
    answered(arg, err, detail);
}

static inline void
sample_done(void *arg, oct_err err, const char *detail, const wire_sampled *answer)
{
    fixture *f = arg;
    if (err == OCT_OK) {
        test_check_rows(answer);
        f->sampled = *answer;
        f->first_key = answer->count > 0 ? answer->key[0] : UINT64_MAX;
    }
    answered(f, err, detail);
}

static inline void
status_done(void *arg, oct_err err, const char *detail, const wire_status *answer)
{
    fixture *f = arg;
    T_OK(err);
    (void)snprintf(f->state, sizeof(f->state), "%s", answer->state);
    (void)snprintf(f->refused, sizeof(f->refused), "%s", answer->refused);
    assert_true(answer->stat_count <= OCT_COUNTOF(f->stat_name));
    memcpy(f->stat_value, answer->stat_value, answer->stat_count * sizeof(*f->stat_value));
    f->stat_count = answer->stat_count;
    for (uint32_t i = 0; i < answer->stat_count; i++) {
        (void)snprintf(f->stat_name[i], sizeof(f->stat_name[i]), "%s", answer->stat_name[i]);
    }
    answered(f, err, detail);
}

static inline void
wait_for_answer(fixture *f)
{
    while (!f->is_answered) {
        net_loop_run(f->loop);
    }
}

static inline oct_err
configure(fixture *f, const wire_configure *message)
{
    f->is_answered = false;
    T_OK(wire_call_configure(f->client, message, 10000, configure_done, f));
    wait_for_answer(f);
    return f->err;
}

// A table of 1000 rows.
static inline wire_configure
configure_table(fixture *f, wire_sampler sampler)
{
    wire_configure message = test_configure(1000, sampler);
    T_OK(configure(f, &message));
    return message;
}

static inline void
sample_send(fixture *f, const wire_sample *message)
{
    f->is_answered = false;
    T_OK(wire_call_sample(f->client, message, 20000, sample_done, f));
}

static inline void
sample_begin(fixture *f, uint32_t batch_size, uint32_t batches, uint32_t timeout_ms)
{
    wire_sample message = {
        .run_id = RUN, .batch_size = batch_size, .batches = batches, .timeout_ms = timeout_ms};
    sample_send(f, &message);
}

static inline void
sample(fixture *f, uint32_t batch_size, uint32_t batches, uint32_t timeout_ms)
{
    sample_begin(f, batch_size, batches, timeout_ms);
    wait_for_answer(f);
}

static inline double
stat_of(fixture *f, const char *name)
{
    f->is_answered = false;
    T_OK(wire_call_replay_status(f->client, &(wire_empty){0}, 10000, status_done, f));
    wait_for_answer(f);
    for (uint32_t i = 0; i < f->stat_count; i++) {
        if (strcmp(f->stat_name[i], name) == 0) {
            return f->stat_value[i];
        }
    }
    fail_msg("no number is called %s", name);
    return 0;
}

static inline void
daemon_start(fixture *f)
{
    char log[128];
    (void)snprintf(log, sizeof(log), "%s/log", f->folder);
    (void)snprintf(f->metrics, sizeof(f->metrics), "http://127.0.0.1:%u", net_test_free_port());
    const char *argv[] = {
        "octet-replay", "--insecure", "--log-level=debug",       "--listen",   f->url,
        "--metrics",    f->metrics,   f->sync ? "--path" : NULL, "replay.oct", "--sync",
        f->sync,        NULL};
    net_process_spec spec = {
        .file = executable, .argv = argv, .folder = f->folder, .log_path = log};
    net_test_daemon_start(&f->daemon, f->loop, &spec);
}

// The new one is there when actor and learner know that the old one is gone: what REQ and PUSH of
// NNG 1.5.2 hand to a pipe that closes at that moment would be a leak to AddressSanitizer.
static inline void
daemon_restart(fixture *f)
{
    char why[256];
    assert_int_equal(net_test_daemon_kill(&f->daemon, SIGKILL), 128 + SIGKILL);
    while (f->is_push_connected || !net_rpc_client_trouble(f->rpc, why, sizeof(why))) {
        net_test_turn(f->loop, 1);
    }
    daemon_start(f);
}

// What asks for the acks of the actor's session, with the token that it has now.
static inline size_t
ask_pack(uint8_t out[WIRE_ACK_REQUEST_BYTES_MAX])
{
    wire_claim claim = {.actor_id = actor.batch.actor_id, .session = actor.batch.session};
    memcpy(claim.token, actor.batch.token, sizeof(claim.token));
    return wire_ack_request_pack(&claim, out);
}

// On a new connection.
static inline void
ask_for_acks(fixture *f)
{
    uint8_t ask[WIRE_ACK_REQUEST_BYTES_MAX];
    net_sub_close(f->sub);
    T_OK(net_post_dial(&f->sub, f->loop, &(net_endpoint){f->ack_url, OCT_ROLES_ANY, 4096, 16},
                       &(net_sub_options){ask, ask_pack(ask), ack_arrived, NULL, f}));
}

// The address is in the state; NULL: in its folder.
static inline int
fixture_open(void **state)
{
    const char *url = *state;
    fixture *f = *state = calloc(1, sizeof(*f));
    (void)snprintf(f->folder, sizeof(f->folder), "/tmp/octet-replay-test-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->url, sizeof(f->url), "%s%s%s", url ? url : "ipc://", url ? "" : f->folder,
                   url ? "" : "/s");
    T_OK(net_url_offset(f->url, 1, f->batch_url));
    T_OK(net_url_offset(f->url, 2, f->ack_url));
    f->loop = net_loop_create();
    daemon_start(f);
    T_OK(net_rpc_client_open(&f->rpc, f->loop,
                             &(net_endpoint){f->url, OCT_ROLES_ANY, 64u << 20, 16}, 1000));
    f->client = wire_client_create(net_rpc_call, f->rpc, 64u << 20);
    const net_push_events events = {push_ready, push_connected, push_disconnected, f};
    T_OK(net_push_open(&f->push, f->loop, f->batch_url, OCT_ROLES_ANY, &events));
    test_actor_init(&actor, 3, 30);
    test_actor_sign(&actor, token_key, RUN);
    ask_for_acks(f);
    return 0;
}

static inline int
fixture_close(void **state)
{
    fixture *f = *state;
    if (f->daemon.process) {
        assert_int_equal(net_test_daemon_kill(&f->daemon, SIGTERM), 0);
    }
    net_push_close(f->push);
    net_sub_close(f->sub);
    net_rpc_client_close(f->rpc);
    wire_client_destroy(f->client);
    net_loop_destroy(f->loop);
    char path[160];
    static const char *const names[] = {"log", "s", "s.1", "s.2", "replay.oct", "replay.oct.1"};
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", f->folder, names[i]);
        (void)unlink(path);
    }
    assert_int_equal(rmdir(f->folder), 0);
    free(f);
    return 0;
}

#endif // TESTS_REPLAY_REPLAY_DAEMON_H
