// Calls are answered once each, by the server or by their deadline, whatever happens to the
// connection.
#include "tests/net/net_test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/net_internal.h"
#include "net/net_rpc.h"

#define STRANGER      65534 // the user nobody
#define HELD_MAX      64
#define NO_TIMEOUT_MS 3600000
#define TURN_MS       5

// What the server does with a request of 4 bytes: hold it, or answer with the number + 1.
typedef struct rig {
    net_loop *loop;
    net_rpc_server *server;
    net_rpc_client *client;
    bool hold;
    unsigned requests;
    void *held[HELD_MAX];
    uint32_t held_value[HELD_MAX];
    unsigned held_count;
    bool inside_call; // net_rpc_call is on the stack
} rig;

// One call and how often and with what it was answered.
typedef struct call {
    rig *rig;
    unsigned *answered; // may be shared
    unsigned done;
    oct_err err;
    uint32_t value;
    size_t length;
    bool close_client;
} call;

static void
answer(void *open_call, uint32_t value)
{
    memcpy(net_rpc_responder.begin(open_call, sizeof(value)), &value, sizeof(value));
    net_rpc_responder.send(open_call);
}

static void
rig_request(void *arg, void *open_call, oct_role role, const uint8_t *frame, size_t length)
{
    rig *r = arg;
    assert_int_equal(role, OCT_ROLE_LOCAL);
    r->requests++;
    net_loop_stop(r->loop);
    if (length == 0) {
        (void)net_rpc_responder.begin(open_call, 0);
        net_rpc_responder.send(open_call);
        return;
    }
    uint32_t value = 0;
    assert_int_equal(length, sizeof(value));
    memcpy(&value, frame, sizeof(value));
    if (r->hold) {
        assert_true(r->held_count < HELD_MAX);
        r->held[r->held_count] = open_call;
        r->held_value[r->held_count++] = value;
    } else {
        answer(open_call, value + 1);
    }
}

static void
call_done(void *arg, oct_err err, const uint8_t *frame, size_t length)
{
    call *c = arg;
    assert_false(c->rig->inside_call);
    c->done++;
    c->err = err;
    c->length = length;
    assert_int_equal(frame != NULL, err == OCT_OK);
    if (err == OCT_OK && length == sizeof(c->value)) {
        memcpy(&c->value, frame, sizeof(c->value));
    }
    if (c->answered != NULL) {
        (*c->answered)++;
    }
    net_loop_stop(c->rig->loop);
    if (c->close_client) {
        net_rpc_client_close(c->rig->client);
        c->rig->client = NULL;
    }
}

static void
rig_open_server(rig *r, const char *url, uint32_t contexts)
{
    T_OK(net_rpc_server_open(&r->server, r->loop,
                             &(net_endpoint){url, OCT_ROLES_ANY, 100, contexts}, rig_request, r));
}

static void
rig_open_client(rig *r, const char *url, uint32_t inflight_max, uint32_t resend_ms)
{
    T_OK(net_rpc_client_open(&r->client, r->loop,
                             &(net_endpoint){url, OCT_ROLES_ANY, 100, inflight_max}, resend_ms));
}

static void
rig_open(rig *r, const char *url, uint32_t contexts, uint32_t inflight_max)
{
    r->loop = net_loop_create();
    rig_open_server(r, url, contexts);
    rig_open_client(r, url, inflight_max, 60000);
}

static void
rig_close(rig *r)
{
    net_rpc_client_close(r->client);
    net_rpc_server_close(r->server);
    net_loop_destroy(r->loop);
}

static oct_err
call_start(call *c, rig *r, uint32_t value, uint32_t timeout_ms)
{
    c->rig = r;
    r->inside_call = true;
    oct_err err =
        net_rpc_call(r->client, (const uint8_t *)&value, sizeof(value), timeout_ms, call_done, c);
    r->inside_call = false;
    return err;
}

static void
test_rpc_refuses_bad_arguments(void **state)
{
    (void)state;
    net_loop *loop = net_loop_create();
    net_rpc_client *client = NULL;
    net_rpc_server *server = NULL;
    const char *url = "inproc://bad";
    T_ERR(net_rpc_client_open(&client, loop, &(net_endpoint){url, OCT_ROLES_ANY, 100, 0}, 1000),
          OCT_EINVAL);
    T_ERR(net_rpc_client_open(&client, loop, &(net_endpoint){url, OCT_ROLES_ANY, 100, 1025}, 1000),
          OCT_EINVAL);
    T_ERR(net_rpc_client_open(&client, loop, &(net_endpoint){url, OCT_ROLES_ANY, 0, 1}, 1000),
          OCT_EINVAL);
    T_ERR(net_rpc_server_open(&server, loop, &(net_endpoint){url, OCT_ROLES_ANY, 100, 0},
                              rig_request, NULL),
          OCT_EINVAL);
    T_ERR(net_rpc_server_open(&server, loop, &(net_endpoint){url, OCT_ROLES_ANY, 100, 1025},
                              rig_request, NULL),
          OCT_EINVAL);
    T_ERR(net_rpc_server_open(&server, loop, &(net_endpoint){url, OCT_ROLES_ANY, 0, 1}, rig_request,
                              NULL),
          OCT_EINVAL);
    assert_null(client);
    assert_null(server);
    net_rpc_client_close(NULL);
    net_rpc_server_close(NULL);
    net_loop_destroy(loop);
}

// Requests and answers at both ends; one that is never answered has been sent, none came.
static void
test_rpc_counts_the_bytes_of_frames(void **state)
{
    (void)state;
    rig r = {0};
    rig_open(&r, net_test_url("inproc"), 4, 4);
    call first = {0}, silent = {0};
    T_OK(call_start(&first, &r, 1, NO_TIMEOUT_MS));
    net_test_until(r.loop, &first.done, 1);
    r.hold = true;
    T_OK(call_start(&silent, &r, 2, 50));
    net_test_until(r.loop, &silent.done, 1);
    T_ERR(silent.err, OCT_ETIMEDOUT);
    while (net_rpc_server_traffic(r.server).sent_bytes == 0) { // it may hear of it after the client
        net_test_turn(r.loop, TURN_MS);
    }
    net_traffic client = net_rpc_client_traffic(r.client);
    net_traffic server = net_rpc_server_traffic(r.server);
    assert_int_equal(client.sent_bytes, 2 * sizeof(uint32_t));
    assert_int_equal(client.received_bytes, sizeof(uint32_t));
    assert_int_equal(server.received_bytes, 2 * sizeof(uint32_t));
    assert_int_equal(server.sent_bytes, sizeof(uint32_t));
    rig_close(&r);
}

static void
test_rpc_call_without_a_server_times_out(void **state)
{
    (void)state;
    static const char *const schemes[] = {"inproc", "ipc", "tcp"};
    for (size_t i = 0; i < OCT_COUNTOF(schemes); i++) {
        rig r = {.loop = net_loop_create()};
        rig_open_client(&r, net_test_url(schemes[i]), 1, 10);
        call first = {0};
        T_OK(call_start(&first, &r, 1, 20));
        net_test_until(r.loop, &first.done, 1);
        T_ERR(first.err, OCT_ETIMEDOUT);
        call second = {0}; // a deadline of nothing is one, too
        T_OK(call_start(&second, &r, 2, 0));
        net_test_until(r.loop, &second.done, 1);
        T_ERR(second.err, OCT_ETIMEDOUT);
        rig_close(&r);
        assert_int_equal(first.done, 1);
    }
}

static void
test_rpc_call_that_is_never_answered_times_out(void **state)
{
    (void)state;
    rig r = {.hold = true};
    rig_open(&r, net_test_url("ipc"), 4, 1);
    call silent = {0};
    T_OK(call_start(&silent, &r, 1, 50));
    net_test_until(r.loop, &silent.done, 1);
    T_ERR(silent.err, OCT_ETIMEDOUT);
    // The same context serves the next call.
    r.hold = false;
    call next = {0};
    T_OK(call_start(&next, &r, 10, NO_TIMEOUT_MS));
    net_test_until(r.loop, &next.done, 1);
    T_OK(next.err);
    assert_int_equal(next.value, 11);
    assert_int_equal(silent.done, 1);
    rig_close(&r);
}

static void
test_rpc_late_answer_is_dropped(void **state)
{
    (void)state;
    rig r = {.hold = true};
    rig_open(&r, net_test_url("inproc"), 4, 1);
    call late = {0};
    T_OK(call_start(&late, &r, 1, 50));
    net_test_until(r.loop, &r.held_count, 1);
    net_test_until(r.loop, &late.done, 1);
    T_ERR(late.err, OCT_ETIMEDOUT);
    call next = {0};
    T_OK(call_start(&next, &r, 2, NO_TIMEOUT_MS));
    net_test_until(r.loop, &r.held_count, 2);
    answer(r.held[0], 100);
    answer(r.held[1], 200);
    net_test_until(r.loop, &next.done, 1);
    T_OK(next.err);
    assert_int_equal(next.value, 200);
    assert_int_equal(late.done, 1);
    rig_close(&r);
}

static void
rpc_many_in_flight(const char *url)
{
    enum { IN_FLIGHT = 32, ROUNDS = 10 };
    rig r = {0};
    rig_open(&r, url, 8, IN_FLIGHT);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        unsigned answered = 0;
        call calls[IN_FLIGHT] = {0};
        for (uint32_t i = 0; i < IN_FLIGHT; i++) {
            calls[i].answered = &answered;
            T_OK(call_start(&calls[i], &r, round * 1000 + i, NO_TIMEOUT_MS));
        }
        call one_more = {0};
        T_ERR(call_start(&one_more, &r, 0, NO_TIMEOUT_MS), OCT_EAGAIN);
        net_test_until(r.loop, &answered, IN_FLIGHT);
        for (uint32_t i = 0; i < IN_FLIGHT; i++) {
            assert_int_equal(calls[i].done, 1);
            T_OK(calls[i].err);
            assert_int_equal(calls[i].value, round * 1000 + i + 1);
        }
        assert_int_equal(one_more.done, 0);
    }
    rig_close(&r);
}

static void
test_rpc_many_in_flight(void **state)
{
    (void)state;
    rpc_many_in_flight(net_test_url("inproc"));
    rpc_many_in_flight(net_test_url("ipc"));
    rpc_many_in_flight(net_test_url("tcp"));
}

static net_gate_counts
gate_counts(const rig *r)
{
    return net_gate_read_counts(net_loop_gate(r->loop));
}

// Behind a gate nothing tells any more who that was, and so what it may ask for: it is not asked.
static void
test_rpc_request_of_who_has_gone_reaches_nobody(void **state)
{
    (void)state;
    char url[64];
    (void)snprintf(url, sizeof(url), "tcp://127.0.0.1:%u", net_test_free_port());
    rig server = {.loop = net_loop_create()}, goes = {.loop = net_loop_create()}, stays = goes;
    call lost = {0}, kept = {0};
    stays.loop = net_loop_create();
    rig_open_server(&server, url, 4);
    rig_open_client(&goes, url, 4, 60000);
    while (gate_counts(&server).opened < 1) {
        net_test_turn(goes.loop, TURN_MS);
    }
    uint64_t bytes_in = gate_counts(&server).bytes_in;
    T_OK(call_start(&lost, &goes, 1, NO_TIMEOUT_MS));
    while (gate_counts(&server).bytes_in == bytes_in) { // it waits for the server's loop
        net_test_turn(goes.loop, TURN_MS);
    }
    rig_close(&goes);
    while (gate_counts(&server).connections > 0) {
        net_test_turn(stays.loop, TURN_MS);
    }
    rig_open_client(&stays, url, 4, 60000);
    T_OK(call_start(&kept, &stays, 2, NO_TIMEOUT_MS));
    while (kept.done == 0) { // rig_request has looked at the role of whoever reached it
        net_test_turn(stays.loop, TURN_MS);
        net_test_turn(server.loop, TURN_MS);
    }
    T_OK(kept.err);
    assert_int_equal(kept.value, 3);
    rig_close(&stays);
    rig_close(&server);
}

static void
test_rpc_call_may_be_answered_later_and_out_of_order(void **state)
{
    (void)state;
    rig r = {.hold = true};
    rig_open(&r, net_test_url("inproc"), 4, 4);
    call calls[3] = {0};
    for (uint32_t i = 0; i < 3; i++) {
        T_OK(call_start(&calls[i], &r, i, NO_TIMEOUT_MS));
        net_test_until(r.loop, &r.held_count, i + 1);
    }
    for (unsigned i = 3; i-- > 0;) {
        answer(r.held[i], r.held_value[i] + 50);
        net_test_until(r.loop, &calls[i].done, 1);
        assert_int_equal(calls[i].value, i + 50);
    }
    rig_close(&r);
}

static void
test_rpc_server_with_all_contexts_busy_leaves_requests_waiting(void **state)
{
    (void)state;
    rig r = {.hold = true};
    rig_open(&r, net_test_url("inproc"), 1, 2);
    call calls[2] = {0};
    T_OK(call_start(&calls[0], &r, 1, NO_TIMEOUT_MS));
    net_test_until(r.loop, &r.held_count, 1);
    T_OK(call_start(&calls[1], &r, 2, NO_TIMEOUT_MS));
    answer(r.held[0], 1);
    net_test_until(r.loop, &calls[0].done, 1);
    net_test_until(r.loop, &r.held_count, 2);
    answer(r.held[1], 2);
    net_test_until(r.loop, &calls[1].done, 1);
    T_OK(calls[1].err);
    rig_close(&r);
}

static void
test_rpc_empty_request_and_empty_answer(void **state)
{
    (void)state;
    rig r = {0};
    rig_open(&r, net_test_url("ipc"), 1, 1);
    call c = {.rig = &r, .length = 99};
    T_OK(net_rpc_call(r.client, NULL, 0, NO_TIMEOUT_MS, call_done, &c));
    net_test_until(r.loop, &c.done, 1);
    T_OK(c.err);
    assert_int_equal(c.length, 0);
    rig_close(&r);
}

static void
test_rpc_closed_client_answers_all_with_closed(void **state)
{
    (void)state;
    rig r = {.hold = true};
    rig_open(&r, net_test_url("inproc"), 1, 3);
    call calls[3] = {0};
    for (uint32_t i = 0; i < 3; i++) { // one at the server, others anywhere
        T_OK(call_start(&calls[i], &r, i, NO_TIMEOUT_MS));
    }
    net_test_until(r.loop, &r.held_count, 1);
    net_rpc_client_close(r.client);
    r.client = NULL;
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(calls[i].done, 1);
        T_ERR(calls[i].err, OCT_ECLOSED);
    }
    rig_close(&r);
}

static void
test_rpc_client_may_be_closed_by_a_reply(void **state)
{
    (void)state;
    rig r = {0};
    rig_open(&r, net_test_url("inproc"), 4, 4);
    call closing = {.close_client = true};
    T_OK(call_start(&closing, &r, 1, NO_TIMEOUT_MS));
    net_test_until(r.loop, &closing.done, 1);
    T_OK(closing.err);
    assert_null(r.client);
    rig_close(&r);
}

static void
test_rpc_call_still_open_when_the_server_closes_may_be_answered(void **state)
{
    (void)state;
    rig r = {.hold = true};
    rig_open(&r, net_test_url("inproc"), 2, 2);
    call calls[2] = {0};
    T_OK(call_start(&calls[0], &r, 1, NO_TIMEOUT_MS));
    T_OK(call_start(&calls[1], &r, 2, NO_TIMEOUT_MS));
    net_test_until(r.loop, &r.held_count, 2);
    net_rpc_client_close(r.client);
    net_rpc_server_close(r.server);
    answer(r.held[0], 1); // the other one is not answered: neither may leak or crash
    r.client = NULL;
    r.server = NULL;
    rig_close(&r);
}

// A request whose server died goes to the one that takes its place.
static void
rpc_request_moves_to_the_next_server(const char *url)
{
    rig r = {.hold = true};
    rig_open(&r, url, 1, 1);
    call c = {0};
    T_OK(call_start(&c, &r, 5, NO_TIMEOUT_MS));
    net_test_until(r.loop, &r.held_count, 1);
    net_rpc_server_close(r.server);
    r.hold = false;
    rig_open_server(&r, url, 1);
    net_test_until(r.loop, &c.done, 1);
    T_OK(c.err);
    assert_int_equal(c.value, 6);
    rig_close(&r);
}

static void
test_rpc_request_moves_to_the_next_server(void **state)
{
    (void)state;
    rpc_request_moves_to_the_next_server(net_test_url("ipc"));
    rpc_request_moves_to_the_next_server(net_test_url("tcp"));
}

static void
test_rpc_request_is_repeated(void **state)
{
    (void)state;
    const char *url = net_test_url("inproc");
    rig r = {.hold = true, .loop = net_loop_create()};
    rig_open_server(&r, url, 4);
    rig_open_client(&r, url, 1, 20);
    call c = {0};
    T_OK(call_start(&c, &r, 5, NO_TIMEOUT_MS));
    net_test_until(r.loop, &r.held_count, 2);
    assert_int_equal(r.held_value[1], 5);
    answer(r.held[1], 6);
    net_test_until(r.loop, &c.done, 1);
    answer(r.held[0], 7); // the first one, late
    assert_int_equal(c.value, 6);
    rig_close(&r);
    assert_int_equal(c.done, 1);
}

// Not repeated, it fails with its connection, and the next call goes to the next server.
static void
rpc_request_that_is_not_repeated_ends_with_its_connection(const char *url)
{
    rig r = {.hold = true, .loop = net_loop_create()};
    rig_open_server(&r, url, 2);
    rig_open_client(&r, url, 2, 0);
    call calls[2] = {0}, next = {0};
    unsigned answered = 0;
    for (uint32_t i = 0; i < 2; i++) {
        calls[i].answered = &answered;
        T_OK(call_start(&calls[i], &r, i, NO_TIMEOUT_MS));
    }
    net_test_until(r.loop, &r.held_count, 2);
    net_rpc_server_close(r.server);
    net_test_until(r.loop, &answered, 2);
    T_ERR(calls[0].err, OCT_EIO);
    T_ERR(calls[1].err, OCT_EIO);
    T_OK(call_start(&next, &r, 5, NO_TIMEOUT_MS)); // waits for a connection
    r.hold = false;
    r.requests = 0;
    rig_open_server(&r, url, 2);
    net_test_until(r.loop, &next.done, 1);
    T_OK(next.err);
    assert_int_equal(next.value, 6);
    assert_int_equal(r.requests, 1); // those that failed do not come again
    rig_close(&r);
    assert_int_equal(answered, 2);
}

static void
test_rpc_request_that_is_not_repeated_ends_with_its_connection(void **state)
{
    (void)state;
    rpc_request_that_is_not_repeated_ends_with_its_connection(net_test_url("ipc"));
    rpc_request_that_is_not_repeated_ends_with_its_connection(net_test_url("tcp"));
}

static void
rpc_too_long(const char *url, oct_err want)
{
    uint8_t big[101] = {0};
    rig r = {0};
    rig_open(&r, url, 2, 1);
    for (unsigned i = 0; i < 3; i++) { // more than there are contexts: none is lost over it
        call c = {.rig = &r};
        T_OK(net_rpc_call(r.client, big, sizeof(big), 50, call_done, &c));
        net_test_until(r.loop, &c.done, 1);
        T_ERR(c.err, OCT_ETIMEDOUT);
        assert_int_equal(r.requests, 0);
    }

    r.hold = true;
    call reply = {0};
    T_OK(call_start(&reply, &r, 1, 2000));
    net_test_until(r.loop, &r.held_count, 1);
    memset(net_rpc_responder.begin(r.held[0], sizeof(big)), 0, sizeof(big));
    net_rpc_responder.send(r.held[0]);
    if (want == OCT_EPROTO) {
        net_test_until(r.loop, &reply.done, 1);
        T_ERR(reply.err, want);
    } else { // the link was cut over it, so the request comes again
        net_test_until(r.loop, &r.held_count, 2);
        answer(r.held[1], 77);
        net_test_until(r.loop, &reply.done, 1);
        assert_int_equal(reply.value, 77);
    }
    rig_close(&r);
}

static void
test_rpc_messages_that_are_too_long_are_refused(void **state)
{
    (void)state;
    rpc_too_long(net_test_url("inproc"), OCT_EPROTO);
    rpc_too_long(net_test_url("ipc"), OCT_OK);
}

static void
rig_turn(rig *r)
{
    net_test_turn(r->loop, TURN_MS);
}

// Whoever waits for a connection can ask what keeps it, and is told nothing once there is one.
static void
trouble_is_told(const char *url, const char *words)
{
    rig r = {.loop = net_loop_create()};
    char why[256] = "";
    rig_open_client(&r, url, 4, 60000);
    while (!net_rpc_client_trouble(r.client, why, sizeof(why)) || why[0] == '\0') {
        rig_turn(&r);
    }
    assert_string_equal(why, words);
    rig_open_server(&r, url, 4);
    while (net_rpc_client_trouble(r.client, why, sizeof(why))) {
        rig_turn(&r);
    }
    assert_string_equal(why, "");
    rig_close(&r);
}

static void
test_trouble_is_told(void **state)
{
    (void)state;
    trouble_is_told(net_test_url("ipc"), "nothing listens there");
    trouble_is_told(net_test_url("tcp"), "connection refused"); // by the gate
}

// A socket of another user is there, and may not be used: that is another answer than "nothing".
static void
test_trouble_tells_whose_socket_it_is(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("only root can become another user\n");
        skip();
    }
    static const char *const words[] = {"it belongs to user 0, and this is user 65534",
                                        "this user may not enter its folder"};
    rig r = {.loop = net_loop_create()};
    const char *url = net_test_url("ipc");
    char why[256] = "";
    rig_open_server(&r, url, 4);
    for (size_t i = 0; i < OCT_COUNTOF(words); i++) {
        assert_int_equal(chmod(net_test_folder(), i == 0 ? 0755 : 0700), 0);
        assert_int_equal(seteuid(STRANGER), 0);
        rig_open_client(&r, url, 4, 60000);
        rig_turn(&r);
        bool is_cut = net_rpc_client_trouble(r.client, why, sizeof(why));
        net_rpc_client_close(r.client);
        r.client = NULL;
        assert_int_equal(seteuid(0), 0);
        assert_true(is_cut);
        assert_string_equal(why, words[i]);
    }
    rig_close(&r);
}

// ---- who listens at a path

// In the child: as another user, takes every connection at the path, and speaks as NNG does.
_Noreturn static void
stranger_listen(const char *path, int ready)
{
    static const uint8_t header[8] = {0, 'S', 'P', 0, 0, 49, 0, 0}; // of REP, 16 * 3 + 1
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    bool listens = setuid(STRANGER) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
                   bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
                   chmod(path, 0666) == 0 && listen(fd, 8) == 0 && write(ready, "", 1) == 1;
    while (listens) {
        int peer = accept(fd, NULL, NULL);
        listens = peer >= 0 && write(peer, header, sizeof(header)) == (ssize_t)sizeof(header);
    }
    _exit(1);
}

static void
test_another_users_listener_is_not_talked_to(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip(); // only root can be another user
    }
    char folder[] = "/tmp/octet-rpc-XXXXXX", path[64], url[80], why[200] = "", byte;
    int ready[2];
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chmod(folder, 0777), 0);
    snprintf(path, sizeof(path), "%s/learner.ipc", folder);
    snprintf(url, sizeof(url), "ipc://%s", path);
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        stranger_listen(path, ready[1]);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    rig r = {.loop = net_loop_create()};
    rig_open_client(&r, url, 4, 60000);
    while (strstr(why, "a process of user 65534 listens there") == NULL) {
        (void)net_rpc_client_trouble(r.client, why, sizeof(why));
        rig_turn(&r);
    }
    // Ours is talked to as soon as it has taken the place.
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(unlink(path), 0);
    rig_open_server(&r, url, 4);
    while (net_rpc_client_trouble(r.client, why, sizeof(why))) {
        rig_turn(&r);
    }
    rig_close(&r);
    close(ready[0]);
    close(ready[1]);
    (void)unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

// In the child: as another user; what the listener sends is its header, and then an end.
_Noreturn static void
stranger_connect(const char *path)
{
    static const uint8_t header[8] = {0, 'S', 'P', 0, 0, 48, 0, 0}; // of REQ, 16 * 3
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    uint8_t bytes[sizeof(header) + 1];
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    bool connects =
        setuid(STRANGER) == 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    bool ends = connects && write(fd, header, sizeof(header)) == (ssize_t)sizeof(header) &&
                recv(fd, bytes, sizeof(bytes), MSG_WAITALL) <= (ssize_t)sizeof(header);
    _exit(!connects ? 2 : ends ? 0 : 1);
}

static int
stranger_comes(rig *r, const char *path)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        stranger_connect(path);
    }
    while (waitpid(child, &status, WNOHANG) == 0) {
        rig_turn(r);
    }
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void
test_another_user_is_not_listened_to(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip(); // only root can be another user
    }
    char folder[] = "/tmp/octet-rpc-XXXXXX", path[64], url[80];
    struct stat status;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chmod(folder, 0755), 0);
    snprintf(path, sizeof(path), "%s/learner.ipc", folder);
    snprintf(url, sizeof(url), "ipc://%s", path);
    rig r = {.loop = net_loop_create()};
    rig_open_client(&r, url, 4, 60000);
    rig_open_server(&r, url, 4);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(stranger_comes(&r, path), 2); // cannot connect
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(stranger_comes(&r, path), 0); // is cut off
    rig_close(&r);
    (void)unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trouble_is_told),
        cmocka_unit_test(test_trouble_tells_whose_socket_it_is),
        cmocka_unit_test(test_another_users_listener_is_not_talked_to),
        cmocka_unit_test(test_another_user_is_not_listened_to),
        cmocka_unit_test(test_rpc_refuses_bad_arguments),
        cmocka_unit_test(test_rpc_counts_the_bytes_of_frames),
        cmocka_unit_test(test_rpc_call_without_a_server_times_out),
        cmocka_unit_test(test_rpc_call_that_is_never_answered_times_out),
        cmocka_unit_test(test_rpc_late_answer_is_dropped),
        cmocka_unit_test(test_rpc_many_in_flight),
        cmocka_unit_test(test_rpc_request_of_who_has_gone_reaches_nobody),
        cmocka_unit_test(test_rpc_call_may_be_answered_later_and_out_of_order),
        cmocka_unit_test(test_rpc_server_with_all_contexts_busy_leaves_requests_waiting),
        cmocka_unit_test(test_rpc_empty_request_and_empty_answer),
        cmocka_unit_test(test_rpc_closed_client_answers_all_with_closed),
        cmocka_unit_test(test_rpc_client_may_be_closed_by_a_reply),
        cmocka_unit_test(test_rpc_call_still_open_when_the_server_closes_may_be_answered),
        cmocka_unit_test(test_rpc_request_moves_to_the_next_server),
        cmocka_unit_test(test_rpc_request_is_repeated),
        cmocka_unit_test(test_rpc_request_that_is_not_repeated_ends_with_its_connection),
        cmocka_unit_test(test_rpc_messages_that_are_too_long_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, net_test_folder_remove);
}
