// A PULL socket keeps each peer's order, stops reading while it is stalled, and closes peers that
// send bad messages.
#include "tests/net/net_test.h"

#include <pthread.h>
#include <stdatomic.h>

#include <nng/nng.h>
#include <nng/protocol/pipeline0/push.h>

#include "net/net_pull.h"
#include "net/net_push.h"
#include "tests/net/net_certs.h"
#include "tests/net/net_side.h"

#define PEERS         3
#define PEER_MESSAGES 3000u

// What a peer sends: who it is and a number that grows by one.
typedef struct item {
    uint32_t peer;
    uint32_t number;
} item;

typedef struct sink {
    net_loop *loop;
    net_pull *pull;
    net_wakeup *resumer;
    uint32_t next[PEERS]; // the number expected of each peer
    unsigned taken;
    unsigned offered;
    unsigned stall_every; // every so many offers OCT_EAGAIN; 0: never
    unsigned stalls;
    bool stall_for_good;
} sink;

static void
sink_resume(void *arg)
{
    sink *s = arg;
    net_pull_resume(s->pull);
}

static oct_err
sink_take(void *arg, net_msg *msg)
{
    sink *s = arg;
    s->offered++;
    net_loop_stop(s->loop);
    if (s->stall_for_good) {
        return OCT_EAGAIN;
    }
    if (s->stall_every != 0 && s->offered % s->stall_every == 0) {
        s->stalls++;
        net_wakeup_send(s->resumer);
        return OCT_EAGAIN;
    }
    item got;
    assert_int_equal(net_msg_length(msg), sizeof(got));
    memcpy(&got, net_msg_body(msg), sizeof(got));
    assert_true(got.peer < PEERS);
    assert_int_equal(got.number, s->next[got.peer]);
    s->next[got.peer]++;
    s->taken++;
    net_msg_destroy(msg);
    return OCT_OK;
}

static void
sink_open(sink *s, const char *url)
{
    s->loop = net_loop_create();
    s->resumer = net_wakeup_create(s->loop, sink_resume, s);
    T_OK(net_pull_open(&s->pull, s->loop, &(net_endpoint){url, OCT_ROLES_ANY, 1000, 0}, sink_take,
                       s));
}

static void
sink_close(sink *s)
{
    net_pull_close(s->pull);
    net_wakeup_destroy(s->resumer);
    net_loop_destroy(s->loop);
}

typedef struct producer {
    pthread_t thread;
    const char *url;
    uint32_t peer;
    uint32_t count;
    nng_duration send_timeout_ms;
    uint32_t sent; // read after the join
    pthread_barrier_t *done;
} producer;

// cmocka belongs to the main thread, so this one asserts by itself.
static void *
producer_run(void *arg)
{
    producer *p = arg;
    nng_socket push;
    OCT_ASSERT(nng_push0_open(&push) == 0);
    OCT_ASSERT(nng_socket_set_ms(push, NNG_OPT_SENDTIMEO, p->send_timeout_ms) == 0);
    OCT_ASSERT(nng_dial(push, p->url, NULL, 0) == 0);
    while (p->sent < p->count) {
        item next = {p->peer, p->sent};
        int code = nng_send(push, &next, sizeof(next), 0);
        if (code == NNG_ETIMEDOUT) {
            break;
        }
        OCT_ASSERT(code == 0);
        p->sent++;
    }
    // The socket stays until all has arrived: closing it drops what is still under way.
    pthread_barrier_wait(p->done);
    nng_close(push);
    return NULL;
}

static void
pull_from_several(const char *url, unsigned stall_every)
{
    sink s = {.stall_every = stall_every};
    sink_open(&s, url);
    pthread_barrier_t done;
    pthread_barrier_init(&done, NULL, PEERS + 1);
    producer producers[PEERS];
    for (uint32_t i = 0; i < PEERS; i++) {
        producers[i] = (producer){.url = url,
                                  .peer = i,
                                  .count = PEER_MESSAGES,
                                  .send_timeout_ms = NNG_DURATION_INFINITE,
                                  .done = &done};
        pthread_create(&producers[i].thread, NULL, producer_run, &producers[i]);
    }
    net_test_until(s.loop, &s.taken, PEERS * PEER_MESSAGES);
    pthread_barrier_wait(&done);
    for (uint32_t i = 0; i < PEERS; i++) {
        pthread_join(producers[i].thread, NULL);
        assert_int_equal(s.next[i], PEER_MESSAGES);
    }
    pthread_barrier_destroy(&done);
    // A stalled message is offered again, and nothing else is while it waits.
    assert_int_equal(s.offered, s.taken + s.stalls);
    assert_int_equal(net_pull_rejected(s.pull), 0);
    sink_close(&s);
}

static void
test_pull_refuses_no_size_limit_and_bad_addresses(void **state)
{
    (void)state;
    net_loop *loop = net_loop_create();
    net_pull *pull = NULL;
    T_ERR(net_pull_open(&pull, loop, &(net_endpoint){"inproc://limit", OCT_ROLES_ANY, 0, 0},
                        sink_take, NULL),
          OCT_EINVAL);
    oct_err err = net_pull_open(&pull, loop, &(net_endpoint){"nonsense", OCT_ROLES_ANY, 1, 0},
                                sink_take, NULL);
    assert_true(err == OCT_EINVAL || err == OCT_EIO);
    assert_null(pull);
    net_pull_close(NULL);
    net_loop_destroy(loop);
}

static void
test_pull_keeps_the_order_of_each_peer(void **state)
{
    (void)state;
    pull_from_several(net_test_url("inproc"), 0);
    pull_from_several(net_test_url("ipc"), 0);
    pull_from_several(net_test_url("tcp"), 0);
}

static void
test_pull_keeps_the_order_through_stalls(void **state)
{
    (void)state;
    pull_from_several(net_test_url("inproc"), 7);
    pull_from_several(net_test_url("ipc"), 100);
}

// The sender gives up when a send takes long: that it does is the backpressure. Without any, all
// would be taken.
static void
test_pull_stalled_stops_the_sender(void **state)
{
    (void)state;
    const char *url = net_test_url("inproc");
    sink s = {.stall_for_good = true};
    sink_open(&s, url);
    pthread_barrier_t done;
    pthread_barrier_init(&done, NULL, 2);
    producer p = {.url = url, .count = 100000, .send_timeout_ms = 50, .done = &done};
    pthread_create(&p.thread, NULL, producer_run, &p);
    net_test_until(s.loop, &s.offered, 1);
    pthread_barrier_wait(&done);
    pthread_join(p.thread, NULL);
    assert_true(p.sent < 100);
    // The other slots have filled meanwhile; that offers nothing again.
    net_wakeup *turn = net_wakeup_create(s.loop, net_test_stop, s.loop);
    net_wakeup_send(turn);
    net_loop_run(s.loop);
    net_wakeup_destroy(turn);
    assert_int_equal(s.offered, 1);
    sink_close(&s); // with messages in every slot: none may leak
    pthread_barrier_destroy(&done);
}

typedef struct reader {
    net_loop *loop;
    net_pull *pull;
    net_push *push;
    unsigned calls;
    unsigned got;   // messages of 4 bytes
    unsigned ready; // sends that are over
    unsigned disconnected;
    uint32_t last;
    oct_err answer;
    bool close_inside;
    bool resume_inside;
} reader;

static oct_err
reader_take(void *arg, net_msg *msg)
{
    reader *r = arg;
    r->calls++;
    net_loop_stop(r->loop);
    if (r->close_inside) {
        net_pull_close(r->pull);
        r->pull = NULL;
        return r->answer;
    }
    if (r->resume_inside) {
        r->resume_inside = false;
        net_pull_resume(r->pull);
        return OCT_EAGAIN;
    }
    if (r->answer != OCT_OK) {
        return r->answer;
    }
    r->last = net_test_u32(msg);
    r->got++;
    net_msg_destroy(msg);
    return OCT_OK;
}

static void
reader_ready(void *arg)
{
    reader *r = arg;
    r->ready++;
    net_loop_stop(r->loop);
}

static void
reader_disconnected(void *arg)
{
    reader *r = arg;
    r->disconnected++;
    net_loop_stop(r->loop);
}

static void
reader_open(reader *r, const char *url)
{
    net_push_events events = {
        .on_ready = reader_ready, .on_disconnected = reader_disconnected, .arg = r};
    r->loop = net_loop_create();
    T_OK(net_pull_open(&r->pull, r->loop, &(net_endpoint){url, OCT_ROLES_ANY, 1000, 0}, reader_take,
                       r));
    T_OK(net_push_open(&r->push, r->loop, url, OCT_ROLES_ANY, &events));
}

static void
reader_close(reader *r)
{
    net_push_close(r->push);
    net_pull_close(r->pull);
    net_loop_destroy(r->loop);
}

static void
test_pull_counts_and_frees_what_the_handler_refuses(void **state)
{
    (void)state;
    reader r = {.answer = OCT_EPROTO};
    reader_open(&r, net_test_url("inproc"));
    T_OK(net_push_send(r.push, net_test_msg_u32(1)));
    net_test_until(r.loop, &r.calls, 1);
    assert_int_equal(net_pull_rejected(r.pull), 1);
    net_test_until(r.loop, &r.ready, 1);
    r.answer = OCT_OK;
    T_OK(net_push_send(r.push, net_test_msg_u32(2)));
    net_test_until(r.loop, &r.got, 1);
    assert_int_equal(r.last, 2);
    assert_int_equal(net_pull_rejected(r.pull), 1);
    reader_close(&r);
}

// One that is too long is dropped and told, and what comes behind it arrives.
static void
test_pull_tells_of_messages_that_are_too_long(void **state)
{
    (void)state;
    static const uint8_t bytes[1001];
    const char *log = net_test_path("stderr");
    const char *const schemes[] = {"inproc", "ipc"};
    for (size_t i = 0; i < OCT_COUNTOF(schemes); i++) {
        reader r = {0};
        reader_open(&r, net_test_url(schemes[i]));
        int saved = net_test_stderr_to(log);
        T_OK(net_push_send(r.push, net_test_msg(bytes, sizeof(bytes))));
        net_test_until(r.loop, &r.ready, 1);
        T_OK(net_push_send(r.push, net_test_msg_u32(7)));
        net_test_until(r.loop, &r.got, 1);
        net_test_stderr_back(saved);
        assert_int_equal(r.last, 7);
        assert_int_equal(net_pull_rejected(r.pull), 1);
        char text[1000];
        net_test_read(log, text, sizeof(text));
        assert_non_null(strstr(text, " W NET-TOO-LONG "));
        assert_non_null(strstr(text, "bytes=1001 most=1000 messages=1"));
        assert_ptr_equal(strchr(text, '\n') + 1, text + strlen(text));
        reader_close(&r);
    }
}

// A peer that brings bad messages is closed and may come again; one beside it loses nothing.
static void
pull_closes_a_bad_peer(const char *url)
{
    enum { BAD_MAX = 5 };
    reader r = {.answer = OCT_EPROTO};
    reader_open(&r, url);
    net_pull_limit_bad(r.pull, BAD_MAX);
    for (unsigned i = 1; i < BAD_MAX; i++) {
        T_OK(net_push_send(r.push, net_test_msg_u32(i)));
        net_test_until(r.loop, &r.calls, i);
        net_test_until(r.loop, &r.ready, i);
    }
    net_push *other; // good all the time
    T_OK(net_push_open(&other, r.loop, url, OCT_ROLES_ANY,
                       &(net_push_events){.on_ready = reader_ready, .arg = &r}));
    r.answer = OCT_OK;
    T_OK(net_push_send(other, net_test_msg_u32(100)));
    net_test_until(r.loop, &r.got, 1);
    net_test_until(r.loop, &r.ready, BAD_MAX);
    assert_int_equal(net_pull_closed(r.pull), 0);
    r.answer = OCT_EPROTO;
    T_OK(net_push_send(r.push, net_test_msg_u32(BAD_MAX)));
    net_test_until(r.loop, &r.calls, BAD_MAX + 1);
    assert_int_equal(net_pull_rejected(r.pull), BAD_MAX);
    assert_int_equal(net_pull_closed(r.pull), 1);
    r.answer = OCT_OK;
    T_OK(net_push_send(other, net_test_msg_u32(101)));
    net_test_until(r.loop, &r.got, 2);
    assert_int_equal(r.last, 101);
    net_test_until(r.loop, &r.disconnected, 1); // NNG loses what a link takes as it ends
    net_test_until(r.loop, &r.ready, BAD_MAX + 2);
    T_OK(net_push_send(r.push, net_test_msg_u32(102))); // it dialed again
    net_test_until(r.loop, &r.got, 3);
    assert_int_equal(net_pull_closed(r.pull), 1);
    net_push_close(other);
    reader_close(&r);
}

static void
test_pull_closes_a_peer_that_brings_bad_messages(void **state)
{
    (void)state;
    char url[64];
    (void)snprintf(url, sizeof(url), "tcp://0.0.0.0:%u", net_test_free_port()); // by the gate
    pull_closes_a_bad_peer(url);
}

// The first forged message is enough, where others are forgiven.
static void
test_pull_closes_a_peer_that_brings_a_forged_message(void **state)
{
    (void)state;
    char url[64];
    (void)snprintf(url, sizeof(url), "tcp://0.0.0.0:%u", net_test_free_port());
    reader r = {.answer = OCT_EPROTO};
    reader_open(&r, url);
    net_pull_limit_bad(r.pull, 16);
    for (unsigned i = 1; i <= 2; i++) {
        T_OK(net_push_send(r.push, net_test_msg_u32(i)));
        net_test_until(r.loop, &r.calls, i);
        net_test_until(r.loop, &r.ready, i);
    }
    assert_int_equal(net_pull_closed(r.pull), 0);
    r.answer = OCT_ECLOSED;
    T_OK(net_push_send(r.push, net_test_msg_u32(3)));
    net_test_until(r.loop, &r.calls, 3);
    assert_int_equal(net_pull_closed(r.pull), 1);
    assert_int_equal(net_pull_rejected(r.pull), 3);
    reader_close(&r);
}

static void
test_pull_may_be_closed_by_its_handler(void **state)
{
    (void)state;
    static const oct_err answers[] = {OCT_EAGAIN, OCT_EPROTO};
    for (size_t i = 0; i < OCT_COUNTOF(answers); i++) {
        reader r = {.close_inside = true, .answer = answers[i]};
        reader_open(&r, net_test_url("inproc"));
        T_OK(net_push_send(r.push, net_test_msg_u32(1)));
        net_test_until(r.loop, &r.calls, 1);
        reader_close(&r);
        assert_int_equal(r.calls, 1);
    }
}

static void
test_pull_resumed_inside_the_handler_offers_again(void **state)
{
    (void)state;
    reader r = {.resume_inside = true};
    reader_open(&r, net_test_url("inproc"));
    T_OK(net_push_send(r.push, net_test_msg_u32(5)));
    net_test_until(r.loop, &r.got, 1);
    assert_int_equal(r.calls, 2);
    assert_int_equal(r.last, 5);
    reader_close(&r);
}

// Takes one message, later.
typedef struct waiter {
    net_pull *pull;
    nng_pipe pipe; // that it came by
    oct_role role; // as it was last offered
    unsigned offers;
} waiter;

static oct_err
offer_hold(void *arg, net_msg *msg)
{
    waiter *w = arg;
    w->role = net_pull_role(w->pull);
    w->pipe = nng_msg_get_pipe((nng_msg *)msg);
    if (w->offers++ == 0) {
        return OCT_EAGAIN;
    }
    net_msg_destroy(msg);
    return OCT_OK;
}

static void
test_pull_tells_the_role_of_a_sender_that_has_gone(void **state)
{
    (void)state;
    const char *url = tls_url();
    side from, to;
    waiter w = {0};
    certs_ca *ca = certs_ca_create("ca");
    certs_write_usual(ca, "actor", false, net_test_path("actor"));
    certs_write_usual(ca, "replay", true, net_test_path("replay"));
    certs_ca_destroy(ca);
    side_open(&from, "actor");
    side_open(&to, "replay");
    T_OK(
        net_pull_open(&w.pull, to.loop, &(net_endpoint){url, ACTOR, BYTES_MAX, 0}, offer_hold, &w));
    side_push(&from, url, REPLAY);
    T_OK(net_push_send(from.push, net_test_msg_u32(0)));
    while (w.offers < 1) {
        side_turn(&from);
        side_turn(&to);
    }
    assert_int_equal(w.role, OCT_ROLE_ACTOR);
    side_close(&from);
    while (nng_listener_id(nng_pipe_listener(w.pipe)) > 0) { // NNG knows of it
        side_turn(&to);
    }
    net_pull_resume(w.pull);
    while (w.offers < 2) {
        side_turn(&to);
    }
    assert_int_equal(w.role, OCT_ROLE_ACTOR);
    net_pull_close(w.pull);
    side_close(&to);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pull_refuses_no_size_limit_and_bad_addresses),
        cmocka_unit_test(test_pull_keeps_the_order_of_each_peer),
        cmocka_unit_test(test_pull_keeps_the_order_through_stalls),
        cmocka_unit_test(test_pull_stalled_stops_the_sender),
        cmocka_unit_test(test_pull_counts_and_frees_what_the_handler_refuses),
        cmocka_unit_test(test_pull_tells_of_messages_that_are_too_long),
        cmocka_unit_test(test_pull_closes_a_peer_that_brings_bad_messages),
        cmocka_unit_test(test_pull_closes_a_peer_that_brings_a_forged_message),
        cmocka_unit_test(test_pull_may_be_closed_by_its_handler),
        cmocka_unit_test(test_pull_resumed_inside_the_handler_offers_again),
        cmocka_unit_test(test_pull_tells_the_role_of_a_sender_that_has_gone),
    };
    return cmocka_run_group_tests(tests, NULL, net_test_folder_remove);
}
