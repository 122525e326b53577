// octet-relay as a process between sockets of a learner and a replay, and those of an actor. Every
// wait is for an event; a test that waits for ever is ended by its timeout.
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
#include "tests/net/net_certs.h"
#include "tests/net/net_test.h"
#include "tests/support/oct_test.h"

#define ACTOR     3
#define SESSION   30
#define BYTES_MAX (1u << 20)
#define SEEN_MAX  300
#define SHARDS    2

static char *executable;

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
    uint64_t relay_number;
    uint32_t messages, batches;
    uint32_t seen[SEEN_MAX]; // sequence numbers, as they came
    uint8_t last[BYTES_MAX]; // batch
    size_t last_length;
    // the actor
    net_push *push;
    net_sub *acks;
    bool is_busy;
    uint32_t acked;
    wire_ack ack;
} shard;

typedef struct fixture {
    char folder[64];
    char learner[NET_URL_MAX], policies[NET_URL_MAX], relay[NET_URL_MAX];
    net_loop *loop;
    net_test_daemon daemon;
    // the learner
    net_rpc_server *rpc;
    wire_server *server;
    net_pub *pub;
    const char *refusal;
    uint32_t registrations;
    char announced[NET_URL_MAX];
    uint32_t shards; // that it names
    shard at[SHARDS];
    // the first actor
    net_sub *sub;
    uint32_t policies_got;
    uint64_t number_told, number_registered; // of the relay
    uint64_t above_registered;
    uint8_t policy[64];
    size_t policy_length;
} fixture;

// ---- the learner

static void
serve_register(void *arg, wire_call *call, const wire_register *request)
{
    fixture *f = arg;
    assert_int_equal(request->role, WIRE_ROLE_RELAY);
    (void)snprintf(f->announced, sizeof(f->announced), "%s", request->relay_address);
    f->number_registered = request->relay_number;
    f->above_registered = request->relay_above_number;
    f->registrations++;
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

static void
request_arrived(void *arg, void *call, oct_role role, const uint8_t *frame, size_t length)
{
    fixture *f = arg;
    T_OK(wire_server_handle(f->server, call, role, frame, length));
}

// ---- replay

static oct_err
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

static void
replay_named(void *arg, uint32_t peer, oct_role role, const uint8_t *name, size_t length)
{
    shard *at = arg;
    assert_int_equal(role, OCT_ROLE_LOCAL);
    wire_gathered relay;
    T_OK(wire_gathered_open(&relay, WIRE_ACK, name, length));
    assert_int_equal(relay.count, 0);
    at->relay_peer = peer;
    net_loop_stop(at->f->loop);
}

// ---- the actor

static void
push_ready(void *arg)
{
    shard *at = arg;
    at->is_busy = false;
    net_loop_stop(at->f->loop);
}

static void
ack_arrived(void *arg, net_msg *msg)
{
    shard *at = arg;
    T_OK(wire_ack_unpack(&at->ack, net_msg_body(msg), net_msg_length(msg)));
    at->acked++;
    net_loop_stop(at->f->loop);
}

static void
policy_arrived(void *arg, net_msg *msg)
{
    fixture *f = arg;
    assert_true(net_msg_length(msg) <= sizeof(f->policy));
    f->policy_length = net_msg_length(msg);
    memcpy(f->policy, net_msg_body(msg), f->policy_length);
    f->policies_got++;
    net_loop_stop(f->loop);
}

static wire_claim
claim_of(uint64_t session)
{
    wire_claim claim = {.actor_id = ACTOR, .session = session};
    memset(claim.token, 9, sizeof(claim.token));
    return claim;
}

// ---- a relay below

static void
number_arrived(void *arg, net_msg *msg)
{
    fixture *f = arg;
    wire_gathered above;
    T_OK(wire_gathered_open(&above, WIRE_ACK, net_msg_body(msg), net_msg_length(msg)));
    assert_int_equal(above.count, 0);
    f->number_told = above.relay;
    net_loop_stop(f->loop);
}

// What a relay looks at of a batch: the frame, the sender; then bytes that it does not understand.
// The number is in the frame's topic, which a batch has no use for.
static net_msg *
batch_make(uint64_t session, uint8_t number, size_t payload)
{
    uint8_t head[WIRE_ACK_REQUEST_BYTES_MAX];
    wire_claim claim = claim_of(session);
    size_t length = wire_ack_request_pack(&claim, head); // the same fields as a batch has
    wire_frame_pack(WIRE_BATCH, 0, number, head);
    net_msg *msg = net_msg_create(length + payload);
    memcpy(net_msg_body(msg), head, length);
    memset(net_msg_body(msg) + length, number, payload);
    return msg;
}

static void
send_msg(shard *at, net_msg *msg)
{
    while (at->is_busy) {
        net_loop_run(at->f->loop);
    }
    at->is_busy = true;
    T_OK(net_push_send(at->push, msg));
}

static void
stop_loop(void *arg)
{
    net_loop_stop(arg);
}

// ---- all of them

static void
relay_start(fixture *f)
{
    static char log[96];
    (void)snprintf(log, sizeof(log), "%s/log", f->folder);
    const char *argv[] = {"octet-relay", "--learner", f->learner, "--listen", f->relay, NULL};
    net_process_spec spec = {
        .file = executable, .argv = argv, .folder = f->folder, .log_path = log};
    net_test_daemon_start(&f->daemon, f->loop, &spec);
}

static void
actor_open(shard *at, unsigned line)
{
    char base[NET_URL_MAX], url[NET_URL_MAX];
    uint8_t ask[WIRE_ACK_REQUEST_BYTES_MAX];
    wire_claim claim = claim_of(at->session);
    const net_push_events events = {.on_ready = push_ready, .arg = at};
    net_loop *loop = at->f->loop;
    T_OK(net_url_line(at->f->relay, line, base));
    T_OK(net_url_offset(base, 2, url));
    T_OK(net_post_dial(&at->acks, loop, url, OCT_ROLES_ANY, ask, wire_ack_request_pack(&claim, ask),
                       16, 4096, ack_arrived, NULL, at));
    T_OK(net_url_offset(base, 1, url));
    T_OK(net_push_open(&at->push, loop, url, OCT_ROLES_ANY, &events));
}

static void
replay_open(shard *at, fixture *f, uint32_t number)
{
    char url[NET_URL_MAX];
    at->f = f;
    at->session = SESSION + 10 * number;
    (void)snprintf(at->replay, sizeof(at->replay), "ipc://%s/s%u", f->folder, (unsigned)number);
    T_OK(net_url_offset(at->replay, 2, url));
    T_OK(net_post_open(&at->post, f->loop, url, OCT_ROLES_ANY, 16, WIRE_ACK_REQUEST_BYTES_MAX,
                       replay_named, at));
    T_OK(net_url_offset(at->replay, 1, url));
    T_OK(net_pull_open(&at->pull, f->loop, url, OCT_ROLES_ANY, BYTES_MAX, replay_take, at));
}

static int
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
    f->loop = net_loop_create();
    f->server = wire_server_create_learner(&handlers, f, &net_rpc_responder, BYTES_MAX);
    T_OK(net_rpc_server_open(&f->rpc, f->loop, f->learner, OCT_ROLES_ANY, 4, BYTES_MAX,
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
    T_OK(net_sub_open(&f->sub, f->loop, f->relay, OCT_ROLES_ANY, topic, sizeof(topic), 16, 4096,
                      policy_arrived, NULL, f));
    return 0;
}

static int
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
    static const char *const names[] = {"log",  "other", "l",   "l.1", "s0.1",  "s0.2", "s1.1",
                                        "s1.2", "r",     "r.1", "r.2", "r.2.1", "r.2.2"};
    char path[160];
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", f->folder, names[i]);
        (void)unlink(path);
    }
    assert_int_equal(rmdir(f->folder), 0);
    free(f);
    return 0;
}

static void
test_relay_that_is_refused_ends(void **state)
{
    fixture *f = *state;
    f->refusal = "no relays here";
    while (!f->daemon.is_exited) {
        net_loop_run(f->loop);
    }
    assert_int_equal(f->daemon.exit_status, 3);
    assert_string_equal(f->announced, f->relay);
}

// Published again and again: who subscribes when is not known.
static void
policies_publish(void *arg)
{
    fixture *f = arg;
    for (uint8_t topic = 4; topic < 6; topic++) {
        net_msg *msg = net_msg_create(WIRE_FRAME_BYTES + 20);
        wire_frame_pack(WIRE_POLICY, 0, topic, net_msg_body(msg));
        memset(net_msg_body(msg) + WIRE_FRAME_BYTES, 0xf0 | topic, 20); // no policy: nobody looks
        net_pub_send(f->pub, msg);
    }
}

static void
test_relay_publishes_the_same_bytes_to_whom_they_are_for(void **state)
{
    fixture *f = *state;
    uint8_t want[WIRE_FRAME_BYTES + 20];
    wire_frame_pack(WIRE_POLICY, 0, 5, want);
    memset(want + WIRE_FRAME_BYTES, 0xf5, 20);
    net_timer *timer = net_timer_start(f->loop, 1, 20, policies_publish, f);
    while (f->policies_got < 3) {
        net_loop_run(f->loop);
        assert_true(f->policies_got == 0 || f->policy_length == sizeof(want));
        assert_true(f->policies_got == 0 || memcmp(f->policy, want, sizeof(want)) == 0);
    }
    net_timer_stop(timer);
}

static void
acks_send(void *arg)
{
    shard *at = arg;
    uint8_t bytes[128];
    wire_gatherer gatherer;
    wire_gatherer_init(&gatherer, 1, 4096);
    for (uint64_t session = at->session - 1; session <= at->session + 1; session++) {
        wire_ack ack = {.actor_id = ACTOR, .session = session, .sequence = session, .credit = 4};
        wire_ack_pack(&ack, bytes);
        assert_true(wire_gatherer_add(&gatherer, bytes, wire_ack_size(&ack)));
    }
    net_msg *msg = net_msg_create(wire_gatherer_length(&gatherer));
    wire_gatherer_take(&gatherer, net_msg_body(msg));
    wire_gatherer_fini(&gatherer);
    net_post_send(at->post, at->relay_peer, msg);
}

static void
test_relay_gathers_batches_and_gives_each_its_own_acks(void **state)
{
    fixture *f = *state;
    shard *at = &f->at[0];
    for (uint8_t i = 1; i <= 20; i++) {
        send_msg(at, batch_make(at->session, i, 100));
    }
    while (at->batches < 20 || at->relay_peer == 0) {
        net_loop_run(f->loop);
    }
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(at->seen[i], i + 1);
    }
    net_msg *want = batch_make(at->session, 20, 100);
    assert_int_equal(at->last_length, net_msg_length(want));
    assert_memory_equal(at->last, net_msg_body(want), at->last_length);
    net_msg_destroy(want);
    net_timer *timer = net_timer_start(f->loop, 1, 20, acks_send, at); // any of them may be lost
    while (at->acked < 3) {
        net_loop_run(f->loop);
        assert_true(at->acked == 0 ||
                    (at->ack.session == at->session && at->ack.sequence == at->session));
    }
    net_timer_stop(timer);
}

static void
test_relay_drops_what_is_no_batch_and_goes_on(void **state)
{
    fixture *f = *state;
    shard *at = &f->at[0];
    net_msg *msg = net_msg_create(7);
    memset(net_msg_body(msg), 0xab, 7);
    send_msg(at, msg);
    msg = batch_make(at->session, 2, 10);
    net_msg_body(msg)[3] = 'P'; // another kind
    send_msg(at, msg);
    msg = net_msg_create(WIRE_FRAME_BYTES); // a batch of nobody
    wire_frame_pack(WIRE_BATCH, 0, 3, net_msg_body(msg));
    send_msg(at, msg);
    msg = net_msg_create(WIRE_GATHERED_HEAD_BYTES + 9); // what holds frames, and is cut
    wire_gathered_pack(5, NULL, 0, net_msg_body(msg));
    memset(net_msg_body(msg) + WIRE_GATHERED_HEAD_BYTES, 0x7a, 9);
    send_msg(at, msg);
    send_msg(at, batch_make(at->session, 9, 10));
    while (at->batches == 0) {
        net_loop_run(f->loop);
    }
    assert_int_equal(at->batches, 1);
    assert_int_equal(at->seen[0], 9);
}

// Sends from batch sent on until the line takes no more; gives how many were sent.
static uint32_t
line_fill(shard *at, uint32_t sent)
{
    uint32_t idle = 0;
    net_timer *timer = net_timer_start(at->f->loop, 20, 20, stop_loop, at->f->loop);
    while (sent < 250 && idle < 25) {
        idle++;
        if (!at->is_busy) {
            send_msg(at, batch_make(at->session, (uint8_t)sent++, 60000));
            idle = 0;
        }
        net_loop_run(at->f->loop);
    }
    net_timer_stop(timer);
    assert_true(sent < 250); // 15 MB were not taken
    return sent;
}

// The full replay takes messages again: all that were sent arrive, in their order.
static void
line_empty(shard *at, uint32_t sent)
{
    at->is_full = false;
    net_pull_resume(at->pull);
    while (at->batches < sent) {
        net_loop_run(at->f->loop);
    }
    for (uint32_t i = 0; i < sent; i++) {
        assert_int_equal(at->seen[i], i);
    }
}

// Far more than a relay holds, at a replay that takes nothing for a while: the sender is stopped,
// and over connections that stay nothing is lost, and the order stays.
static void
test_relay_that_is_full_stops_its_senders(void **state)
{
    fixture *f = *state;
    shard *at = &f->at[0];
    send_msg(at, batch_make(at->session, 0, 10));
    while (at->batches == 0) {
        net_loop_run(f->loop);
    }
    at->is_full = true;
    uint32_t sent = line_fill(at, 1);
    line_empty(at, sent);
    assert_true(at->messages < sent); // several in one
}

// Each line is of one replay: what comes by it goes there alone, and its acks come back by it.
static void
test_relay_has_a_line_to_each_replay(void **state)
{
    fixture *f = *state;
    for (uint8_t i = 0; i < 10; i++) {
        for (uint32_t k = 0; k < SHARDS; k++) {
            send_msg(&f->at[k], batch_make(f->at[k].session, (uint8_t)(10 * k + i), 100));
        }
    }
    for (uint32_t k = 0; k < SHARDS; k++) {
        shard *at = &f->at[k];
        while (at->batches < 10 || at->relay_peer == 0) {
            net_loop_run(f->loop);
        }
        for (uint32_t i = 0; i < 10; i++) { // and replay_take looked whose they are
            assert_int_equal(at->seen[i], 10 * k + i);
        }
        net_timer *timer = net_timer_start(f->loop, 1, 20, acks_send, at);
        while (at->acked < 3) {
            net_loop_run(f->loop);
            assert_true(at->acked == 0 || at->ack.session == at->session);
        }
        net_timer_stop(timer);
    }
}

static void
test_relay_lets_one_full_replay_stop_nobody_elses_actors(void **state)
{
    fixture *f = *state;
    shard *full = &f->at[0], *other = &f->at[1];
    full->is_full = true;
    uint32_t sent = line_fill(full, 0);
    for (uint32_t i = 0; i < 250; i++) { // more than any queue between
        send_msg(other, batch_make(other->session, (uint8_t)i, 60000));
    }
    while (other->batches < 250) {
        net_loop_run(f->loop);
    }
    assert_int_equal(full->batches, 0);
    line_empty(full, sent);
}

// A learner that came back names one replay more: a relay goes by its last answer.
static void
test_relay_takes_another_replay_in_mid_run(void **state)
{
    fixture *f = *state;
    shard *at = &f->at[0], *other = &f->at[1];
    f->shards = 1;
    send_msg(at, batch_make(at->session, 1, 10));
    while (at->batches < 1 || f->registrations < 2) {
        net_loop_run(f->loop);
    }
    assert_int_equal(other->relay_peer, 0);
    f->shards = 2;
    send_msg(other, batch_make(other->session, 2, 10));
    send_msg(at, batch_make(at->session, 3, 10));
    while (other->batches < 1 || at->batches < 2) {
        net_loop_run(f->loop);
    }
    assert_int_equal(other->seen[0], 2);
    assert_int_equal(at->seen[1], 3);
    // and it moves: its line leads elsewhere, the other stays
    (void)snprintf(other->replay, sizeof(other->replay), "%s", at->replay);
    at->session = other->session; // what replay_take awaits there from now on
    uint32_t before_it = f->registrations;
    while (f->registrations < before_it + 2) { // it asks again when it has taken the last answer
        net_loop_run(f->loop);
    }
    send_msg(other, batch_make(other->session, 4, 10));
    while (at->batches < 3) {
        net_loop_run(f->loop);
    }
    assert_int_equal(at->seen[2], 4);
}

// That is how the learner sees loops of relays.
static void
test_relay_tells_its_number_to_those_below(void **state)
{
    fixture *f = *state;
    uint8_t name[WIRE_GATHERED_HEAD_BYTES];
    char url[NET_URL_MAX];
    net_sub *below;
    wire_gathered_pack(77, NULL, 0, name);
    T_OK(net_url_offset(f->relay, 2, url));
    T_OK(net_post_dial(&below, f->loop, url, OCT_ROLES_ANY, name, sizeof(name), 16, 4096,
                       number_arrived, NULL, f));
    while (f->number_told == 0 || f->registrations == 0) {
        net_loop_run(f->loop);
    }
    assert_int_equal(f->number_told, f->number_registered);
    assert_int_equal(f->above_registered, 0); // replay is no relay
    net_sub_close(below);
}

// Another relay, with these options.
static void
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

static void
test_relay_is_not_above_itself(void **state)
{
    fixture *f = *state;
    char here[NET_URL_MAX], named[NET_URL_MAX], host[256] = "";
    assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
    (void)snprintf(here, sizeof(here), "ipc://%s/other.ipc", f->folder);
    (void)snprintf(named, sizeof(named), "tcp://%s:7000", host);
    const char *const cases[][4] = {
        {"--listen", "ipc://other.ipc", "--relay", "ipc://other.ipc"},
        {"--listen", "ipc://other.ipc", "--relay", here},
        {"--listen", "tcp://*:7000", "--relay", named},
        {"--announce", "ipc://other.ipc", "--relay", here},
        {"--announce", named, "--relay", named},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        net_test_daemon o;
        second_start(&o, f, cases[i]);
        assert_int_equal(net_test_daemon_end(&o), 2);
    }
}

// Also where only the relay above is beyond this machine.
static void
test_relay_needs_a_certificate_of_its_role(void **state)
{
    fixture *f = *state;
    net_test_daemon other;
    const char *folder = net_test_path("actor");
    certs_ca *ca = certs_ca_create("ca");
    certs_write_usual(ca, "actor", false, folder);
    second_start(&other, f,
                 (const char *[]){"--tls", folder, "--relay", "tls+tcp://127.0.0.1:7000"});
    assert_int_equal(net_test_daemon_end(&other), 2);
    certs_ca_destroy(ca);
}

// Nobody on another host finds a wildcard.
static void
test_relay_announces_its_host_for_a_wildcard(void **state)
{
    fixture *f = *state;
    char listen[NET_URL_MAX], named[NET_URL_MAX], host[256] = "";
    static const char *const wildcards[] = {"0.0.0.0", "*"};
    assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
    for (size_t i = 0; i < OCT_COUNTOF(wildcards); i++) {
        net_test_daemon o;
        unsigned port = net_test_free_port();
        (void)snprintf(listen, sizeof(listen), "tcp://%s:%u", wildcards[i], port);
        (void)snprintf(named, sizeof(named), "tcp://%s:%u", host, port);
        second_start(&o, f, (const char *const[]){"--listen", listen, NULL, NULL});
        while (strcmp(f->announced, named) != 0) {
            net_loop_run(f->loop);
            assert_false(o.is_exited);
        }
        assert_int_equal(net_test_daemon_kill(&o, SIGTERM), 0);
    }
}

// A learner of an earlier release names no list.
static void
test_relay_goes_by_one_address_where_there_is_no_list(void **state)
{
    fixture *f = *state;
    shard *at = &f->at[0];
    f->shards = 0;
    send_msg(at, batch_make(at->session, 1, 10));
    while (at->batches < 1) {
        net_loop_run(f->loop);
    }
    assert_int_equal(f->at[1].relay_peer, 0);
}

int
main(int argc, char **argv)
{
    OCT_ASSERT(argc == 2);
    executable = realpath(argv[1], NULL);
#define T(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    const struct CMUnitTest tests[] = {
        T(test_relay_that_is_refused_ends),
        T(test_relay_is_not_above_itself),
        T(test_relay_needs_a_certificate_of_its_role),
        T(test_relay_announces_its_host_for_a_wildcard),
        T(test_relay_tells_its_number_to_those_below),
        T(test_relay_drops_what_is_no_batch_and_goes_on),
        T(test_relay_that_is_full_stops_its_senders),
        T(test_relay_has_a_line_to_each_replay),
        T(test_relay_lets_one_full_replay_stop_nobody_elses_actors),
        T(test_relay_takes_another_replay_in_mid_run),
        T(test_relay_goes_by_one_address_where_there_is_no_list),
        T(test_relay_gathers_batches_and_gives_each_its_own_acks),
        T(test_relay_publishes_the_same_bytes_to_whom_they_are_for),
    };
#undef T
    int failed = cmocka_run_group_tests(tests, NULL, net_test_folder_remove);
    free(executable);
    return failed;
}
