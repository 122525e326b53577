// Relays below and above others. argv[1] is the executable.
#include <sys/socket.h>
#include <unistd.h>

#include "relay/relay_routes.h"
#include "tests/relay/relay_traffic.h"

// ---- a relay below

typedef struct below {
    fixture *f;
    net_sub *acks;
    uint64_t above; // the number that it was told
    uint32_t told;
    uint32_t acked; // acks that came
} below;

static void
below_told(void *arg, net_msg *msg)
{
    below *b = arg;
    wire_gathered above;
    T_OK(wire_gathered_open(&above, WIRE_ACK, net_msg_body(msg), net_msg_length(msg)));
    b->above = above.relay;
    b->acked += above.count;
    b->told++;
    net_loop_stop(b->f->loop);
}

static void
below_open(below *b, fixture *f, uint64_t number)
{
    uint8_t name[WIRE_GATHERED_HEAD_BYTES];
    char url[NET_URL_MAX];
    *b = (below){.f = f};
    wire_gathered_pack(number, NULL, 0, name);
    T_OK(net_url_offset(f->relay, 2, url));
    T_OK(net_post_dial(&b->acks, f->loop, &(net_endpoint){url, OCT_ROLES_ANY, 4096, 16},
                       &(net_sub_options){name, sizeof(name), below_told, NULL, b}));
}

// That is how the learner sees loops of relays, and how those below know that it lives.
static void
test_relay_tells_its_number_to_those_below(void **state)
{
    fixture *f = *state;
    below b;
    below_open(&b, f, 77);
    while (b.told < 4 || f->registrations == 0) {
        net_loop_run(f->loop);
    }
    assert_int_equal(b.above, f->number_registered);
    assert_int_equal(f->above_registered, 0); // replay is no relay
    net_sub_close(b.acks);
}

// As what the relay of that number gathered.
static net_msg *
gathered_make(uint64_t relay, net_msg *batch)
{
    size_t length = net_msg_length(batch);
    net_msg *msg = net_msg_create(wire_gathered_size(length));
    wire_gathered_pack(relay, net_msg_body(batch), length, net_msg_body(msg));
    net_msg_destroy(batch);
    return msg;
}

// More come and go than there are places: none of them takes that of one that lives, although it
// has nothing to do.
static void
test_relay_keeps_an_idle_relay_below_while_others_come_and_go(void **state)
{
    fixture *f = *state;
    shard *at = &f->at[0];
    uint8_t name[WIRE_GATHERED_HEAD_BYTES], byte;
    char url[NET_URL_MAX];
    below idle;
    T_OK(net_url_offset(f->relay, 2, url));
    below_open(&idle, f, 77);
    net_test_until(f->loop, &idle.told, 1);
    for (uint64_t i = 0; i < RELAY_CHILDREN_MAX; i++) {
        wire_gathered_pack(1000 + i, NULL, 0, name);
        int other = net_test_post_dial(url, name, sizeof(name));
        assert_int_equal(recv(other, &byte, 1, 0), 1); // it is known
        (void)close(other);
    }
    send_msg(at, gathered_make(77, batch_make(at->session, 1, 10)));
    while (at->batches < 1 || at->relay_peer == 0) {
        net_loop_run(f->loop);
    }
    assert_int_equal(idle.acked, 0);
    net_timer *timer = net_timer_start(f->loop, 1, 20, acks_send, at); // any of them may be lost
    net_test_until(f->loop, &idle.acked, 1);
    net_timer_stop(timer);
    net_sub_close(idle.acks);
}

// What it brought and nobody has looked at yet says no more who brought it, and is no bad message
// for that.
static void
test_relay_blames_none_below_that_has_gone(void **state)
{
    enum { EACH = 10, AGAIN = 250 };
    fixture *f = *state;
    shard *at = &f->at[0], gone = {.f = f};
    net_test_daemon relay;
    char url[NET_URL_MAX], line[NET_URL_MAX], metrics[64];
    const net_push_events events = {.on_ready = push_ready, .arg = &gone};
    (void)snprintf(metrics, sizeof(metrics), "http://127.0.0.1:%u", net_test_free_port());
    (void)snprintf(url, sizeof(url), "tcp://127.0.0.1:%u", net_test_free_port()); // and those after
    second_start(&relay, f, (const char *[]){"--listen", url, "--metrics", metrics});
    T_OK(net_url_offset(url, 1, line));
    T_OK(net_push_open(&gone.push, f->loop, line, OCT_ROLES_ANY, &events));
    send_msg(&gone, gathered_batches(at->session, 0, 1));
    net_test_until(f->loop, &at->batches, 1);
    net_pull_close(at->pull); // nothing goes on, and the relay is full before long
    while (net_test_metric(metrics, "octet_relay_up") > 0) {
        net_test_turn(f->loop, 1);
    }
    for (uint32_t sent = 1; net_test_metric(metrics, "octet_relay_stalls_total") == 0;) {
        if (!gone.is_busy) {
            assert_true(sent + EACH < AGAIN);
            send_msg(&gone, gathered_batches(at->session, sent, EACH));
            sent += EACH;
        }
        net_test_turn(f->loop, 1);
    }
    for (int i = 0; i < 3; i++) { // behind that one
        send_msg(&gone, gathered_make(77, batch_make(at->session, AGAIN - 1, 10)));
    }
    net_push_close(gone.push);
    while (net_test_metric(metrics, "octet_gate_connections") > 0) {
        net_test_turn(f->loop, 1);
    }
    gone.is_busy = false;
    T_OK(net_push_open(&gone.push, f->loop, line, OCT_ROLES_ANY, &events));
    T_OK(net_url_offset(at->replay, 1, url));
    T_OK(net_pull_open(&at->pull, f->loop, &(net_endpoint){url, OCT_ROLES_ANY, BYTES_MAX, 0},
                       replay_take, at));
    send_msg(&gone, gathered_make(78, batch_make(at->session, AGAIN, 10)));
    while (at->seen[at->batches - 1] != AGAIN) {
        net_loop_run(f->loop);
    }
    fprintf(stderr, "seen");
    for (uint32_t i = 0; i < at->batches; i++)
        fprintf(stderr, " %u", at->seen[i]);
    fprintf(stderr, " bad %g stalls %g\n", net_test_metric(metrics, "octet_relay_bad_total"),
            net_test_metric(metrics, "octet_relay_stalls_total"));
    double bad = net_test_metric(metrics, "octet_relay_bad_total");
    net_push_close(gone.push);
    assert_int_equal(net_test_daemon_kill(&relay, SIGTERM), 0);
    assert_true(bad == 0);
}

// ---- a relay above

typedef struct above {
    fixture *f;
    char url[NET_URL_MAX];
    char other[NET_URL_MAX]; // of the relay below it
    net_pull *pull;
    net_post *post;
    uint32_t peer; // the other, here
    bool is_mute;
    uint64_t other_number;    // as the other registers
    uint32_t through, direct; // its registrations
} above;

static oct_err
above_take(void *arg, net_msg *msg)
{
    (void)arg;
    net_msg_destroy(msg);
    return OCT_OK;
}

static void
above_named(void *arg, uint32_t peer, oct_role role, const uint8_t *name, size_t length)
{
    above *a = arg;
    wire_gathered who;
    T_OK(wire_gathered_open(&who, WIRE_ACK, name, length));
    assert_int_equal(role, OCT_ROLE_LOCAL);
    a->peer = peer;
}

// Each registration of the other is followed by a word to it.
static void
above_registered(void *arg, const wire_register *request)
{
    above *a = arg;
    if (strcmp(request->relay_address, a->other) != 0) {
        return;
    }
    a->other_number = request->relay_number;
    if (request->relay_above[0] == '\0') {
        a->direct++;
        return;
    }
    assert_string_equal(request->relay_above, a->url);
    a->through++;
    if (a->peer != 0 && !a->is_mute) {
        net_msg *msg = net_msg_create(WIRE_GATHERED_HEAD_BYTES);
        wire_gathered_pack(99, NULL, 0, net_msg_body(msg));
        net_post_send(a->post, a->peer, msg);
    }
}

static void
above_open(above *a, fixture *f)
{
    char url[NET_URL_MAX];
    *a = (above){.f = f};
    (void)snprintf(a->url, sizeof(a->url), "ipc://%s/up", f->folder);
    (void)snprintf(a->other, sizeof(a->other), "ipc://%s/o", f->folder);
    T_OK(net_url_offset(a->url, 2, url));
    T_OK(net_post_open(&a->post, f->loop,
                       &(net_endpoint){url, OCT_ROLES_ANY, WIRE_ACK_REQUEST_BYTES_MAX, 16},
                       above_named, a));
    T_OK(net_url_offset(a->url, 1, url));
    T_OK(net_pull_open(&a->pull, f->loop, &(net_endpoint){url, OCT_ROLES_ANY, BYTES_MAX, 0},
                       above_take, a));
    f->on_register = above_registered;
    f->register_arg = a;
}

static void
above_close(above *a)
{
    net_pull_close(a->pull);
    net_post_close(a->post);
}

// Its connections stay. A relay that says something about once a second is kept, without any acks;
// one that says nothing is gone round.
static void
test_relay_goes_round_one_above_that_says_nothing(void **state)
{
    fixture *f = *state;
    net_test_daemon o;
    above a;
    f->shards = 1;
    above_open(&a, f);
    second_start(&o, f, (const char *const[]){"--listen", a.other, "--relay", a.url});
    while (a.through < 6) {
        net_loop_run(f->loop);
        assert_true(a.direct <= 1); // it is dialed after the first answer
    }
    a.is_mute = true;
    while (f->at[0].relay_named != a.other_number) {
        net_loop_run(f->loop);
    }
    assert_int_equal(net_test_daemon_kill(&o, SIGTERM), 0);
    above_close(&a);
}

// That is known sooner than that one says nothing, and told in other words.
static void
test_relay_goes_round_one_above_that_is_not_there(void **state)
{
    fixture *f = *state;
    net_test_daemon o;
    char here[NET_URL_MAX], nowhere[NET_URL_MAX], path[128];
    static char log[1u << 16];
    f->shards = 1;
    (void)snprintf(here, sizeof(here), "ipc://%s/o", f->folder);
    (void)snprintf(nowhere, sizeof(nowhere), "ipc://%s/up", f->folder);
    (void)snprintf(path, sizeof(path), "%s/other", f->folder);
    second_start(&o, f, (const char *const[]){"--listen", here, "--relay", nowhere});
    uint64_t first = 0; // the relay that every test has
    while (f->at[0].relay_named == first) {
        net_loop_run(f->loop);
        first = first == 0 ? f->at[0].relay_named : first;
    }
    net_test_read(path, log, sizeof(log));
    assert_non_null(strstr(log, "RELAY-ABOVE-LOST"));
    assert_non_null(strstr(log, "cannot be reached; going to the learner and replay instead"));
    assert_int_equal(net_test_daemon_kill(&o, SIGTERM), 0);
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

int
main(int argc, char **argv)
{
    OCT_ASSERT(argc == 2);
    executable = realpath(argv[1], NULL);
#define T(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    const struct CMUnitTest tests[] = {
        T(test_relay_is_not_above_itself),
        T(test_relay_tells_its_number_to_those_below),
        T(test_relay_keeps_an_idle_relay_below_while_others_come_and_go),
        T(test_relay_blames_none_below_that_has_gone),
        T(test_relay_goes_round_one_above_that_says_nothing),
        T(test_relay_goes_round_one_above_that_is_not_there),
    };
#undef T
    int failed = cmocka_run_group_tests(tests, NULL, net_test_folder_remove);
    free(executable);
    return failed;
}
