#ifndef TESTS_RELAY_RELAY_DAEMON_H
#define TESTS_RELAY_RELAY_DAEMON_H

// octet-relay as a process between sockets of a learner and its replays, and those of an actor.
// Every wait is for an event; a test that waits for ever is ended by its timeout.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "net/net_post.h"
#include "net/net_process.h"
#include "net/net_pub.h"
#include "net/net_pull.h"
#include "net/net_push.h"
#include "net/net_rpc.h"
#include "net/net_url.h"
#include "proto/wire_gather.h"
#include "proto/wire_rpc.h"
#include "proto/wire_token.h"
#include "tests/net/net_test.h"
#include "tests/support/oct_test.h"

#define ACTOR     3
#define SESSION   30
#define BYTES_MAX (1u << 20)
#define SEEN_MAX  300
#define SHARDS    2

static char *executable; // absolute

struct fixture;

// One of the replays, and the actor whose session is of it.
typedef struct shard {
    struct fixture *f;
    char replay[NET_URL_MAX];
    uint64_t session;
    net_pull *pull;
    net_post *post;
    bool is_full;
    uint32_t relay_peer;
    uint64_t relay_named; // who wants acks
    uint64_t relay_number;
    uint32_t messages, message_bytes, batches;
    uint32_t seen[SEEN_MAX]; // sequence numbers, as they came
    uint8_t last[BYTES_MAX]; // batch
    size_t last_length;
    // the actor
    net_push *push;
    net_sub *acks;
    bool is_busy;
    uint32_t acked, acks_sent;
    wire_ack ack;
} shard;

typedef struct fixture {
    char folder[64];
    char learner[NET_URL_MAX], policies[NET_URL_MAX], relay[NET_URL_MAX];
    char metrics[64]; // of the relay
    net_loop *loop;
    net_test_daemon daemon;
    // the learner
    net_rpc_server *rpc;
    wire_server *server;
    net_pub *pub;
    const char *refusal;
    uint32_t registrations;
    void (*on_register)(void *arg, const wire_register *request); // NULL: nothing more
    void *register_arg;
    char announced[NET_URL_MAX];
    uint32_t shards; // that it names
    shard at[SHARDS];
    // the first actor
    net_sub *sub;
    uint32_t policies_got;
    uint64_t number_registered; // of the relay
    uint64_t above_registered;
    uint8_t policy[64];
    size_t policy_length;
} fixture;

// ---- the learner

static inline void
serve_register(void *arg, wire_call *call, const wire_register *request)
{
    fixture *f = arg;
    assert_int_equal(request->role, WIRE_ROLE_RELAY);
    (void)snprintf(f->announced, sizeof(f->announced), "%s", request->relay_address);
    f->number_registered = request->relay_number;
    f->above_registered = request->relay_above_number;
    f->registrations++;
    if (f->on_register != NULL) {
        f->on_register(f->register_arg, request);
    }
    assert_true(request->knows_shards);
    const char *replays[] = {f->at[0].replay, f->at[1].replay};
    wire_reply_register_actor(call, &(wire_registered){
                                        .accepted = f->refusal == NULL,
                                        .reason = f->refusal != NULL ? f->refusal : "",
                                        .run_id = 7,
                                        .config = "",
                                        .policy_address = f->policies,
                                        .replay_address = f->at[0].replay,
                                        .shard_count = f->shards,
                                        .shard_address = replays,
                                    });
    net_loop_stop(f->loop);
}

static const wire_learner_handlers handlers = {.register_actor = serve_register};

static inline void
request_arrived(void *arg, void *call, oct_role role, const uint8_t *frame, size_t length)
{
    fixture *f = arg;
    T_OK(wire_server_handle(f->server, call, role, frame, length));
}

// ---- replay

static inline oct_err
replay_take(void *arg, net_msg *msg)
{
    shard *at = arg;
    wire_gathered gathered;
    const uint8_t *frame;
    size_t length;
    net_loop_stop(at->f->loop);
    if (at->is_full) {
        return OCT_EAGAIN;
    }
    T_OK(wire_gathered_open(&gathered, WIRE_BATCH, net_msg_body(msg), net_msg_length(msg)));
    assert_true(gathered.count > 0);
    at->relay_number = gathered.relay;
    at->messages++;
    at->message_bytes += (uint32_t)net_msg_length(msg);
    while (wire_gathered_next(&gathered, &frame, &length)) {
        wire_claim claim;
        T_OK(wire_claim_find(&claim, frame, length));
        assert_true(claim.has_token && claim.session == at->session && claim.actor_id == ACTOR);
        assert_true(at->batches < SEEN_MAX && length <= BYTES_MAX);
        memcpy(at->last, frame, length);
        at->last_length = length;
        at->seen[at->batches++] = frame[8]; // the topic, where these tests count
    }
    net_msg_destroy(msg);
    return OCT_OK;
}

static inline void
replay_named(void *arg, uint32_t peer, oct_role role, const uint8_t *name, size_t length)
{
    shard *at = arg;
    assert_int_equal(role, OCT_ROLE_LOCAL);
    wire_gathered relay;
    T_OK(wire_gathered_open(&relay, WIRE_ACK, name, length));
    assert_int_equal(relay.count, 0);
    at->relay_peer = peer;
    at->relay_named = relay.relay;
    net_loop_stop(at->f->loop);
}

// ---- the actor

static inline void
push_ready(void *arg)
{
    shard *at = arg;
    at->is_busy = false;
    net_loop_stop(at->f->loop);
}

static inline void
ack_arrived(void *arg, net_msg *msg)
{
    shard *at = arg;
    T_OK(wire_ack_unpack(&at->ack, net_msg_body(msg), net_msg_length(msg)));
    at->acked++;
    net_loop_stop(at->f->loop);
}

static inline void
policy_arrived(void *arg, net_msg *msg)
{
    fixture *f = arg;
    assert_true(net_msg_length(msg) <= sizeof(f->policy));
    f->policy_length = net_msg_length(msg);
    memcpy(f->policy, net_msg_body(msg), f->policy_length);
    f->policies_got++;
    net_loop_stop(f->loop);
}

static inline wire_claim
claim_of(uint64_t session)
{
    wire_claim claim = {.actor_id = ACTOR, .session = session};
    memset(claim.token, 9, sizeof(claim.token));
    return claim;
}

// ---- all of them

static inline void
relay_start(fixture *f)
{
    static char log[96];
    (void)snprintf(log, sizeof(log), "%s/log", f->folder);
    const char *argv[] = {"octet-relay", "--learner", f->learner, "--listen",
                          f->relay,      "--metrics", f->metrics, NULL};
    net_process_spec spec = {
        .file = executable, .argv = argv, .folder = f->folder, .log_path = log};
    net_test_daemon_start(&f->daemon, f->loop, &spec);
}

static inline void
actor_open(shard *at, unsigned line)
{
    char base[NET_URL_MAX], url[NET_URL_MAX];
    uint8_t ask[WIRE_ACK_REQUEST_BYTES_MAX];
    wire_claim claim = claim_of(at->session);
    const net_push_events events = {.on_ready = push_ready, .arg = at};
    net_loop *loop = at->f->loop;
    T_OK(net_url_line(at->f->relay, line, base));
    T_OK(net_url_offset(base, 2, url));
    T_OK(net_post_dial(
        &at->acks, loop, &(net_endpoint){url, OCT_ROLES_ANY, 4096, 16},
        &(net_sub_options){ask, wire_ack_request_pack(&claim, ask), ack_arrived, NULL, at}));
    T_OK(net_url_offset(base, 1, url));
    T_OK(net_push_open(&at->push, loop, url, OCT_ROLES_ANY, &events));
}

static inline void
replay_open(shard *at, fixture *f, uint32_t number)
{
    char url[NET_URL_MAX];
    at->f = f;
    at->session = SESSION + 10 * number;
    (void)snprintf(at->replay, sizeof(at->replay), "ipc://%s/s%u", f->folder, (unsigned)number);
    T_OK(net_url_offset(at->replay, 2, url));
    T_OK(net_post_open(&at->post, f->loop,
                       &(net_endpoint){url, OCT_ROLES_ANY, WIRE_ACK_REQUEST_BYTES_MAX, 16},
                       replay_named, at));
    T_OK(net_url_offset(at->replay, 1, url));
    T_OK(net_pull_open(&at->pull, f->loop,
                       &(net_endpoint){url, OCT_ROLES_ANY, WIRE_BATCH_BYTES_MAX + BYTES_MAX, 0},
                       replay_take, at));
}

static inline int
fixture_open(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    uint8_t topic[WIRE_FRAME_BYTES];
    *state = f;
    f->shards = SHARDS;
    (void)snprintf(f->folder, sizeof(f->folder), "/tmp/octet-relay-test-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->learner, sizeof(f->learner), "ipc://%s/l", f->folder);
    (void)snprintf(f->policies, sizeof(f->policies), "ipc://%s/l.1", f->folder);
    (void)snprintf(f->relay, sizeof(f->relay), "ipc://%s/r", f->folder);
    (void)snprintf(f->metrics, sizeof(f->metrics), "http://127.0.0.1:%u", net_test_free_port());
    f->loop = net_loop_create();
    f->server = wire_server_create_learner(&handlers, f, &net_rpc_responder, BYTES_MAX);
    T_OK(net_rpc_server_open(&f->rpc, f->loop,
                             &(net_endpoint){f->learner, OCT_ROLES_ANY, BYTES_MAX, 4},
                             request_arrived, f));
    T_OK(net_pub_open(&f->pub, f->loop, f->policies, OCT_ROLES_ANY, 16));
    for (uint32_t i = 0; i < SHARDS; i++) {
        replay_open(&f->at[i], f, i);
    }
    relay_start(f);
    for (uint32_t i = 0; i < SHARDS; i++) {
        actor_open(&f->at[i], i);
    }
    wire_policy_topic(5, topic);
    T_OK(net_sub_open(&f->sub, f->loop, &(net_endpoint){f->relay, OCT_ROLES_ANY, 4096, 16},
                      &(net_sub_options){topic, sizeof(topic), policy_arrived, NULL, f}));
    return 0;
}

static inline int
fixture_close(void **state)
{
    fixture *f = *state;
    (void)net_test_daemon_kill(&f->daemon, SIGTERM);
    for (uint32_t i = 0; i < SHARDS; i++) {
        net_push_close(f->at[i].push);
        net_sub_close(f->at[i].acks);
        net_pull_close(f->at[i].pull);
        net_post_close(f->at[i].post);
    }
    net_sub_close(f->sub);
    net_rpc_server_close(f->rpc);
    net_pub_close(f->pub);
    wire_server_destroy(f->server);
    net_loop_destroy(f->loop);
    static const char *const names[] = {"log",   "other", "l",    "l.1", "s0.1", "s0.2",
                                        "s1.1",  "s1.2",  "r",    "r.1", "r.2",  "r.2.1",
                                        "r.2.2", "up.1",  "up.2", "o",   "o.1",  "o.2"};
    char path[160];
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", f->folder, names[i]);
        (void)unlink(path);
    }
    assert_int_equal(rmdir(f->folder), 0);
    free(f);
    return 0;
}

// Another relay, with these options.
static inline void
second_start(net_test_daemon *o, fixture *f, const char *const options[4])
{
    static char log[96];
    (void)snprintf(log, sizeof(log), "%s/other", f->folder);
    const char *argv[] = {"octet-relay", "--learner", f->learner, "--insecure", options[0],
                          options[1],    options[2],  options[3], NULL};
    net_process_spec spec = {
        .file = executable, .argv = argv, .folder = f->folder, .log_path = log};
    net_test_daemon_start(o, f->loop, &spec);
}

#endif // TESTS_RELAY_RELAY_DAEMON_H
