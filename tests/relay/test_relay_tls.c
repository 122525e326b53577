// octet-relay and whoever has a certificate of the same authority, but not the role. argv[1] is the
// executable.
#include "common/oct_reason.h"
#include "tests/net/net_certs.h"
#include "tests/relay/relay_traffic.h"

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

// ---- a relay that listens over TLS, and somebody with the certificate of unit

typedef struct beyond {
    fixture *f;
    char url[NET_URL_MAX];
    net_test_daemon relay;
    net_loop *loop; // of the somebody
    net_push *push; // to it
    bool is_ready;
    uint32_t connected, disconnected;
} beyond;

static void
beyond_ready(void *arg)
{
    ((beyond *)arg)->is_ready = true;
}

static void
beyond_connected(void *arg)
{
    beyond *b = arg;
    b->is_ready = true;
    b->connected++;
}

static void
beyond_disconnected(void *arg)
{
    ((beyond *)arg)->disconnected++;
}

static void
beyond_open(beyond *b, fixture *f, const char *unit)
{
    char url[NET_URL_MAX], folder[256];
    oct_reason why = {""};
    const net_push_events events = {beyond_ready, beyond_connected, beyond_disconnected, b};
    *b = (beyond){.f = f};
    certs_ca *ca = certs_ca_create("ca");
    (void)snprintf(folder, sizeof(folder), "%s", net_test_path("relay"));
    certs_write_usual(ca, "relay", true, folder);
    certs_write_usual(ca, unit, false, net_test_path(unit));
    certs_ca_destroy(ca);
    (void)snprintf(b->url, sizeof(b->url), "tls+tcp://127.0.0.1:%u", net_test_free_port());
    second_start(&b->relay, f, (const char *[]){"--listen", b->url, "--tls", folder});
    b->loop = net_loop_create();
    T_OK(net_loop_use_tls(b->loop, net_test_path(unit), &why));
    T_OK(net_url_offset(b->url, 1, url));
    T_OK(net_push_open(&b->push, b->loop, url, OCT_ROLES_ANY, &events));
}

static void
beyond_turn(beyond *b)
{
    net_test_turn(b->loop, 5);
    net_test_turn(b->f->loop, 5);
    assert_false(b->relay.is_exited);
}

static void
beyond_send(beyond *b, net_msg *msg)
{
    while (!b->is_ready) {
        beyond_turn(b);
    }
    b->is_ready = false;
    T_OK(net_push_send(b->push, msg));
}

static void
beyond_close(beyond *b)
{
    net_push_close(b->push);
    net_loop_destroy(b->loop);
    assert_int_equal(net_test_daemon_kill(&b->relay, SIGTERM), 0);
}

// An actor that says it is a relay: its message goes nowhere, and its own batch behind that does.
static void
test_relay_takes_what_was_gathered_of_relays_alone(void **state)
{
    fixture *f = *state;
    shard *at = &f->at[0];
    beyond b;
    beyond_open(&b, f, "actor");
    beyond_send(&b, gathered_batches(at->session, 1, 2));
    beyond_send(&b, batch_make(at->session, 9, 100));
    while (at->batches < 1) {
        beyond_turn(&b);
    }
    assert_int_equal(at->seen[0], 9);
    beyond_close(&b);
}

// Some may be a mistake; one that brings nothing else is not read for ever.
static void
test_relay_closes_a_connection_that_brings_bad_messages(void **state)
{
    enum { BAD_MAX = 16, SENT_MAX = 2000 }; // what was on its way still comes
    fixture *f = *state;
    beyond b;
    uint32_t sent = 0;
    beyond_open(&b, f, "actor");
    while (b.disconnected == 0) {
        net_msg *msg = net_msg_create(7);
        memset(net_msg_body(msg), 0xab, 7);
        beyond_send(&b, msg);
        assert_true(++sent < SENT_MAX);
    }
    assert_true(sent >= BAD_MAX);
    beyond_close(&b);
}

static void
nothing_arrives(void *arg, net_msg *msg)
{
    (void)arg;
    (void)msg;
    fail_msg("it was let in");
}

// Neither policies nor batches nor acks are for others, whose certificates are of the same CA.
static void
test_relay_lets_in_actors_and_relays_alone(void **state)
{
    fixture *f = *state;
    beyond b;
    net_sub *policies, *acks;
    char url[NET_URL_MAX], line[NET_URL_MAX + 32], path[128];
    static char log[1u << 16];
    beyond_open(&b, f, "operator");
    T_OK(net_sub_open(&policies, b.loop, &(net_endpoint){b.url, OCT_ROLES_ANY, 4096, 16},
                      &(net_sub_options){NULL, 0, nothing_arrives, beyond_connected, &b}));
    T_OK(net_url_offset(b.url, 2, url));
    T_OK(net_post_dial(
        &acks, b.loop, &(net_endpoint){url, OCT_ROLES_ANY, 4096, 16},
        &(net_sub_options){(const uint8_t *)"name", 4, nothing_arrives, beyond_connected, &b}));
    (void)snprintf(path, sizeof(path), "%s/other", f->folder);
    for (unsigned refused = 0; refused < 3;) {
        beyond_turn(&b);
        assert_int_equal(b.connected, 0);
        T_OK(net_url_offset(b.url, refused, url));
        (void)snprintf(line, sizeof(line), "NET-GATE-REFUSED url=%s ", url);
        net_test_read(path, log, sizeof(log));
        refused += strstr(log, line) != NULL;
    }
    net_sub_close(policies);
    net_sub_close(acks);
    beyond_close(&b);
}

static oct_err
nothing_is_pushed(void *arg, net_msg *msg)
{
    nothing_arrives(arg, msg);
    return OCT_EPROTO;
}

static void
nobody_asks(void *arg, uint32_t peer, oct_role role, const uint8_t *name, size_t length)
{
    (void)peer;
    (void)role;
    (void)name;
    (void)length;
    nothing_arrives(arg, NULL);
}

static void
nobody_calls(void *arg, void *call, oct_role role, const uint8_t *frame, size_t length)
{
    (void)call;
    nobody_asks(arg, 0, role, frame, length);
}

// ---- somebody at the addresses of those above, with an actor's certificate

typedef struct posing {
    net_loop *loop;
    char folder[256]; // of the relay's certificate
    char url[3][NET_URL_MAX];
} posing;

static void
posing_open(posing *p)
{
    oct_reason why = {""};
    certs_ca *ca = certs_ca_create("ca");
    (void)snprintf(p->folder, sizeof(p->folder), "%s", net_test_path("relay"));
    certs_write_usual(ca, "relay", true, p->folder);
    certs_write_usual(ca, "actor", true, net_test_path("posing"));
    certs_ca_destroy(ca);
    p->loop = net_loop_create();
    T_OK(net_loop_use_tls(p->loop, net_test_path("posing"), &why));
    (void)snprintf(p->url[0], sizeof(p->url[0]), "tls+tcp://127.0.0.1:%u", net_test_free_port());
    for (unsigned i = 1; i < 3; i++) {
        T_OK(net_url_offset(p->url[0], i, p->url[i]));
    }
}

// A relay begins, finds so many of its addresses taken, and says so of each.
static void
posing_is_seen(posing *p, fixture *f, unsigned count)
{
    static char log[1u << 16];
    char line[NET_URL_MAX + 64], listen[NET_URL_MAX], path[128];
    net_test_daemon relay;
    (void)snprintf(listen, sizeof(listen), "ipc://%s/o", f->folder);
    second_start(&relay, f, (const char *[]){"--listen", listen, "--tls", p->folder});
    (void)snprintf(path, sizeof(path), "%s/other", f->folder);
    for (unsigned seen = 0; seen < count;) {
        net_test_turn(p->loop, 5);
        net_test_turn(f->loop, 5);
        assert_false(relay.is_exited);
        (void)snprintf(line, sizeof(line),
                       "url=%s error=\"its certificate, actor, has the role actor", p->url[seen]);
        net_test_read(path, log, sizeof(log));
        assert_null(strstr(log, "RELAY-UP"));
        seen += strstr(log, line) != NULL;
    }
    assert_int_equal(net_test_daemon_kill(&relay, SIGTERM), 0);
}

static void
test_relay_takes_policies_of_learners_and_brings_batches_to_replays_alone(void **state)
{
    fixture *f = *state;
    posing p;
    net_pub *pub;
    net_pull *pull;
    net_post *post;
    posing_open(&p);
    T_OK(net_pub_open(&pub, p.loop, p.url[0], OCT_ROLES_ANY, 16));
    T_OK(net_pull_open(&pull, p.loop, &(net_endpoint){p.url[1], OCT_ROLES_ANY, BYTES_MAX, 0},
                       nothing_is_pushed, NULL));
    T_OK(net_post_open(&post, p.loop,
                       &(net_endpoint){p.url[2], OCT_ROLES_ANY, WIRE_ACK_REQUEST_BYTES_MAX, 16},
                       nobody_asks, NULL));
    f->shards = 1;
    (void)snprintf(f->policies, sizeof(f->policies), "%s", p.url[0]);
    (void)snprintf(f->at[0].replay, sizeof(f->at[0].replay), "%s", p.url[0]);
    posing_is_seen(&p, f, 3);
    net_pub_close(pub);
    net_pull_close(pull);
    net_post_close(post);
    net_loop_destroy(p.loop);
}

static void
test_relay_registers_with_learners_alone(void **state)
{
    fixture *f = *state;
    posing p;
    net_rpc_server *server;
    posing_open(&p);
    T_OK(net_rpc_server_open(&server, p.loop,
                             &(net_endpoint){p.url[0], OCT_ROLES_ANY, BYTES_MAX, 4}, nobody_calls,
                             NULL));
    (void)snprintf(f->learner, sizeof(f->learner), "%s", p.url[0]);
    posing_is_seen(&p, f, 1);
    net_rpc_server_close(server);
    net_loop_destroy(p.loop);
}

int
main(int argc, char **argv)
{
    OCT_ASSERT(argc == 2);
    executable = realpath(argv[1], NULL);
#define T(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    const struct CMUnitTest tests[] = {
        T(test_relay_needs_a_certificate_of_its_role),
        T(test_relay_takes_what_was_gathered_of_relays_alone),
        T(test_relay_closes_a_connection_that_brings_bad_messages),
        T(test_relay_lets_in_actors_and_relays_alone),
        T(test_relay_takes_policies_of_learners_and_brings_batches_to_replays_alone),
        T(test_relay_registers_with_learners_alone),
    };
#undef T
    int failed = cmocka_run_group_tests(tests, NULL, net_test_folder_remove);
    free(executable);
    return failed;
}
