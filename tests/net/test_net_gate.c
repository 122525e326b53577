// The TLS gate: messages pass for peers with the right certificate and role; all others are
// refused.
#include "common/oct_reason.h"
#include "tests/net/net_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/ssl.h>
#include <uv.h>

#include "net/net_internal.h"
#include "net/net_pub.h"
#include "net/net_pull.h"
#include "net/net_push.h"
#include "net/net_rpc.h"
#include "net/net_sp.h"
#include "tests/net/net_certs.h"
#include "tests/net/net_side.h"

static certs_ca *ca, *other_ca;

// ---- the gate's clock, which the linker puts in libuv's place: it can be stopped, so that nothing
// is forgiven meanwhile, however long a handshake takes

static atomic_uint_fast64_t stopped_ms; // 0: it goes on
uint64_t __real_uv_now(const uv_loop_t *loop);
uint64_t __wrap_uv_now(const uv_loop_t *loop);

uint64_t
__wrap_uv_now(const uv_loop_t *loop)
{
    uint64_t stopped = atomic_load(&stopped_ms);
    return stopped != 0 ? stopped : __real_uv_now(loop);
}

// ---- folders of certificates, made once

static int
certs_make(void **state)
{
    (void)state;
    ca = certs_ca_create("ca");
    other_ca = certs_ca_create("other");
    certs_write_usual(ca, "replay", true, net_test_path("replay"));
    certs_write_usual(ca, "actor", false, net_test_path("actor"));
    certs_write_usual(ca, "operator", false, net_test_path("operator"));
    const certs_leaf another = {.unit = "actor", .name = "another", .sans = "DNS:localhost"};
    certs_write(ca, &another, net_test_path("another"));
    certs_write_usual(other_ca, "actor", false, net_test_path("stranger"));
    certs_write_usual(ca, "gardener", false, net_test_path("nobody"));
    certs_write_usual(ca, "actor", true, net_test_path("posing"));
    const certs_leaf expired = {
        .unit = "actor", .name = "expired", .sans = "DNS:localhost", .days_from = -10, .days = 9};
    certs_write(ca, &expired, net_test_path("expired"));
    const certs_leaf elsewhere = {
        .unit = "replay", .name = "elsewhere", .sans = "DNS:elsewhere", .may_serve = true};
    certs_write(ca, &elsewhere, net_test_path("elsewhere"));
    return 0;
}

static int
certs_remove(void **state)
{
    certs_ca_destroy(ca);
    certs_ca_destroy(other_ca);
    return net_test_folder_remove(state);
}

// ---- what passes

static void
test_messages_of_all_sizes_pass_in_order(void **state)
{
    (void)state;
    const size_t sizes[] = {4, 5, 1000, 16384, 65536, 1000000, 4, 9000001};
    const char *url = tls_url();
    side from, to;
    size_t sum = 0;
    side_open(&from, "actor");
    side_open(&to, "replay");
    side_push(&from, url, REPLAY); // dials before there is a listener
    side_turn(&from);
    side_pull(&to, url, ACTOR);
    for (uint32_t i = 0; i < OCT_COUNTOF(sizes); i++) {
        net_msg *msg = net_msg_create(sizes[i]);
        memset(net_msg_body(msg), (int)i, sizes[i]);
        memcpy(net_msg_body(msg), &i, sizeof(i));
        while (net_push_send(from.push, msg) != OCT_OK) {
            side_turn(&from);
        }
        sum += sizes[i];
    }
    while (to.got < OCT_COUNTOF(sizes)) {
        side_turn(&from);
        side_turn(&to);
    }
    assert_int_equal(to.bytes, sum);
    assert_int_equal(from.connected, 1);
    assert_int_equal(counts_of(&to).opened, 1);
    assert_true(counts_of(&to).bytes_in > sum);
    side_close(&from);
    side_close(&to);
}

static void
hear(void *arg, net_msg *msg)
{
    side *s = arg;
    s->got++;
    s->bytes += net_msg_length(msg);
}

static void
test_many_hear_what_is_published(void **state)
{
    (void)state;
    enum { LISTENERS = 5 };
    const char *url = tls_url();
    side publisher, listener;
    net_pub *pub;
    net_sub *subs[LISTENERS];
    side_open(&publisher, "replay");
    side_open(&listener, "actor");
    T_OK(net_pub_open(&pub, publisher.loop, url, ACTOR, 16));
    for (int i = 0; i < LISTENERS; i++) {
        T_OK(net_sub_open(
            &subs[i], listener.loop, &(net_endpoint){url, REPLAY, BYTES_MAX, 16},
            &(net_sub_options){(const uint8_t *)"p", 1, hear, side_connected, &listener}));
    }
    while (listener.connected < LISTENERS) {
        side_turn(&listener);
    }
    while (listener.got < 3 * LISTENERS) { // a publisher does not know when everybody is there
        net_pub_send(pub, net_test_msg("p12345", 6));
        net_pub_send(pub, net_test_msg("q12345", 6)); // of another topic
        side_turn(&listener);
    }
    assert_int_equal(listener.bytes, 6 * listener.got);
    for (int i = 0; i < LISTENERS; i++) {
        net_sub_close(subs[i]);
    }
    net_pub_close(pub);
    side_close(&listener);
    side_close(&publisher);
}

static void
answer(void *arg, void *call, oct_role role, const uint8_t *frame, size_t length)
{
    assert_int_equal(role, OCT_ROLE_ACTOR);
    ((side *)arg)->got++;
    memcpy(net_rpc_responder.begin(call, length), frame, length);
    net_rpc_responder.send(call);
}

static void
answered(void *arg, oct_err err, const uint8_t *frame, size_t length)
{
    side *s = arg;
    T_OK(err);
    assert_int_equal(length, 5);
    assert_memory_equal(frame, "hello", 5);
    s->got++;
}

static void
test_calls_are_answered(void **state)
{
    (void)state;
    const char *url = tls_url();
    side caller, server;
    net_rpc_client *client;
    net_rpc_server *rpc;
    side_open(&caller, "actor");
    side_open(&server, "replay");
    T_OK(net_rpc_server_open(&rpc, server.loop, &(net_endpoint){url, ACTOR, 1000, 4}, answer,
                             &server));
    T_OK(net_rpc_client_open(&client, caller.loop, &(net_endpoint){url, REPLAY, 1000, 4}, 1000));
    T_OK(net_rpc_call(client, (const uint8_t *)"hello", 5, 10000, answered, &caller));
    while (caller.got < 1) {
        side_turn(&caller);
        side_turn(&server);
    }
    net_rpc_client_close(client);
    net_rpc_server_close(rpc);
    side_close(&caller);
    side_close(&server);
}

static void *held; // the newest call, to be answered

static void
hold(void *arg, void *call, oct_role role, const uint8_t *frame, size_t length)
{
    assert_int_equal(role, OCT_ROLE_ACTOR);
    assert_int_equal(length, 1000);
    for (size_t i = 0; i < length; i++) {
        assert_int_equal(frame[i], 7);
    }
    held = call;
    ((side *)arg)->got++;
}

static void
ended(void *arg, oct_err err, const uint8_t *frame, size_t length)
{
    (void)frame;
    (void)length;
    side *s = arg;
    s->got += err == OCT_OK;
}

// A call of as many bytes as may be, which the server holds.
static net_rpc_client *
call_held(side *caller, const char *folder, side *server, const char *url)
{
    static uint8_t frame[1000];
    net_rpc_client *client;
    unsigned before = server->got;
    memset(frame, 7, sizeof(frame));
    side_open(caller, folder);
    T_OK(net_rpc_client_open(&client, caller->loop, &(net_endpoint){url, REPLAY, 1000, 4}, 0));
    T_OK(net_rpc_call(client, frame, sizeof(frame), 60000, ended, caller));
    while (server->got == before) {
        side_turn(caller);
        side_turn(server);
    }
    return client;
}

static void
test_calls_tell_whose_certificate_they_come_with(void **state)
{
    (void)state;
    static const char *const folders[] = {"actor", "another", "actor"};
    const char *url = tls_url();
    side caller[3], server;
    net_rpc_server *rpc;
    net_rpc_client *client[3];
    oct_holder holder[3], gone;
    side_open(&server, "replay");
    T_OK(net_rpc_server_open(&rpc, server.loop, &(net_endpoint){url, ACTOR, 1000, 4}, hold,
                             &server));
    for (int i = 0; i < 3; i++) {
        client[i] = call_held(&caller[i], folders[i], &server, url);
        T_OK(net_rpc_caller(held, &holder[i]));
        assert_string_equal(holder[i].name, folders[i]);
        if (i < 2) {
            (void)net_rpc_responder.begin(held, 1);
            net_rpc_responder.send(held);
        }
    }
    assert_memory_not_equal(holder[0].id, holder[1].id, sizeof(holder[0].id));
    assert_memory_equal(&holder[0], &holder[2], sizeof(holder[0]));
    while (caller[0].got + caller[1].got < 2) { // the answers find their way back
        side_turn(&caller[0]);
        side_turn(&caller[1]);
        side_turn(&server);
    }
    net_rpc_client_close(client[2]); // who calls and goes is nobody any more
    oct_err err;
    while ((err = net_rpc_caller(held, &gone)) == OCT_OK) {
        side_turn(&caller[2]);
        side_turn(&server);
    }
    T_ERR(err, OCT_ECLOSED);
    net_rpc_server_close(rpc);
    T_ERR(net_rpc_caller(held, &gone), OCT_ECLOSED);
    net_rpc_client_close(client[0]);
    net_rpc_client_close(client[1]);
    for (int i = 0; i < 3; i++) {
        side_close(&caller[i]);
    }
    side_close(&server);
}

// ---- who is turned away

// A side with the certificates of folder tries to push, and is refused; then one of ours gets
// through.
static void
refused(const char *folder, const char *url_format)
{
    side from, to, good;
    const char *listen_url = tls_url();
    char url[64];
    (void)snprintf(url, sizeof(url), url_format, port_of(listen_url));
    side_open(&to, "replay");
    side_pull(&to, listen_url, ACTOR);
    side_open(&from, folder);
    side_push(&from, url, OCT_ROLES_ANY);
    while (counts_of(&to).refused + counts_of(&to).expired < 2) { // it comes again and again
        side_turn(&from);
        side_turn(&to);
    }
    assert_int_equal(counts_of(&to).opened, 0);
    side_open(&good, "actor");
    side_push(&good, listen_url, REPLAY);
    pass_one(&good, &to);
    assert_int_equal(from.connected, 0);
    assert_int_equal(to.got, 1);
    side_close(&good);
    side_close(&from);
    side_close(&to);
}

static void
test_wrong_ca(void **state)
{
    (void)state;
    refused("stranger", "tls+tcp://127.0.0.1:%u");
}

static void
test_wrong_role(void **state)
{
    (void)state;
    refused("operator", "tls+tcp://127.0.0.1:%u");
}

static void
test_plaintext(void **state)
{
    (void)state;
    refused(NULL, "tcp://127.0.0.1:%u");
}

// A connection that will speak TLS of version with the certificates of folder (NULL: none).
static SSL *
raw_open(unsigned port, const char *folder, int version)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    char path[512];
    if (folder != NULL) {
        (void)snprintf(path, sizeof(path), "%s/node.crt", net_test_path(folder));
        assert_int_equal(SSL_CTX_use_certificate_chain_file(ctx, path), 1);
        (void)snprintf(path, sizeof(path), "%s/node.key", net_test_path(folder));
        assert_int_equal(SSL_CTX_use_PrivateKey_file(ctx, path, SSL_FILETYPE_PEM), 1);
    }
    assert_int_equal(SSL_CTX_set_max_proto_version(ctx, version), 1);
    SSL *ssl = SSL_new(ctx);
    SSL_CTX_free(ctx);
    SSL_set_fd(ssl, net_test_tcp_connect(port));
    return ssl;
}

static void
raw_close(SSL *ssl)
{
    int fd = SSL_get_fd(ssl);
    SSL_free(ssl);
    close(fd);
}

// Speaks TLS of version with the certificates of folder (NULL: none), and gives whether the
// listener let it through to its header.
static bool
raw_tls(side *to, unsigned port, const char *folder, int version, const void *bytes, size_t count)
{
    SSL *ssl = raw_open(port, folder, version);
    bool through = SSL_connect(ssl) == 1 && SSL_write(ssl, bytes, (int)count) == (int)count;
    uint8_t header[NET_SP_HEADER_BYTES];
    through = through && SSL_read(ssl, header, sizeof(header)) == (int)sizeof(header);
    while (through && SSL_read(ssl, header, 1) > 0) { // until it is closed
    }
    side_turn(to);
    raw_close(ssl);
    return through;
}

static void
test_no_certificate_expired_and_old_versions(void **state)
{
    (void)state;
    const uint8_t push_header[] = {0, 'S', 'P', 0, 0, 0x50, 0, 0};
    const char *url = tls_url();
    unsigned port = port_of(url);
    side to;
    side_open(&to, "replay");
    side_pull(&to, url, ACTOR);
    assert_false(raw_tls(&to, port, NULL, TLS1_3_VERSION, push_header, 8));
    assert_false(raw_tls(&to, port, NULL, TLS1_2_VERSION, push_header, 8));
    assert_false(raw_tls(&to, port, "expired", TLS1_3_VERSION, push_header, 8));
    assert_false(raw_tls(&to, port, "nobody", TLS1_3_VERSION, push_header, 8));
    assert_false(raw_tls(&to, port, "stranger", TLS1_2_VERSION, push_header, 8));
    assert_false(raw_tls(&to, port, "actor", TLS1_1_VERSION, push_header, 8));
    assert_int_equal(counts_of(&to).opened, 0);
    side_close(&to);
}

static void
test_long_messages_and_other_protocols(void **state)
{
    (void)state;
    // A PUSH header, then a message of 8 GiB is announced.
    const uint8_t long_message[] = {0, 'S', 'P', 0, 0, 0x50, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 2, 3};
    const uint8_t sub_header[] = {0, 'S', 'P', 0, 0, 0x21, 0, 0};
    const char *url = tls_url();
    unsigned port = port_of(url);
    side to;
    side_open(&to, "replay");
    side_pull(&to, url, ACTOR);
    assert_true(raw_tls(&to, port, "actor", TLS1_3_VERSION, long_message, sizeof(long_message)));
    assert_int_equal(counts_of(&to).malformed, 1);
    assert_true(raw_tls(&to, port, "actor", TLS1_2_VERSION, sub_header, sizeof(sub_header)));
    assert_int_equal(counts_of(&to).refused, 1);
    assert_int_equal(to.got, 0);
    side_close(&to);
}

// NNG would take a tag that follows a hop's number for the peer's own words, and what the peer
// wrote for the tag.
static void
test_calls_through_devices_are_refused(void **state)
{
    (void)state;
    const uint8_t hop[] = {0, 'S', 'P', 0, 0,    0x30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16,
                           0, 0,   0,   1, 0x80, 0,    0, 1, 9, 9, 9, 9, 9, 9, 9, 9};
    const uint8_t nothing[] = {0, 'S', 'P', 0, 0, 0x30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3};
    const char *url = tls_url();
    side server;
    net_rpc_server *rpc;
    side_open(&server, "replay");
    T_OK(net_rpc_server_open(&rpc, server.loop, &(net_endpoint){url, ACTOR, 1000, 4}, hold,
                             &server));
    assert_true(raw_tls(&server, port_of(url), "actor", TLS1_3_VERSION, hop, sizeof(hop)));
    assert_int_equal(counts_of(&server).malformed, 1);
    assert_true(raw_tls(&server, port_of(url), "actor", TLS1_3_VERSION, nothing, sizeof(nothing)));
    assert_int_equal(counts_of(&server).malformed, 2);
    assert_int_equal(server.got, 0);
    net_rpc_server_close(rpc);
    side_close(&server);
}

// The dialing side does not talk to a listener that is not what it should be.
static void
does_not_dial(const char *listener, const char *host, unsigned roles)
{
    side from, to;
    const char *listen_url = tls_url();
    char url[64];
    (void)snprintf(url, sizeof(url), "tls+tcp://%s:%u", host, port_of(listen_url));
    side_open(&to, listener);
    side_pull(&to, listen_url, OCT_ROLES_ANY);
    side_open(&from, "actor");
    side_push(&from, url, roles);
    while (counts_of(&from).refused < 2) {
        side_turn(&from);
        side_turn(&to);
    }
    assert_int_equal(from.connected, 0);
    side_close(&from);
    side_close(&to);
}

static void
test_listeners_that_pose(void **state)
{
    (void)state;
    does_not_dial("elsewhere", "127.0.0.1", REPLAY); // not its host
    does_not_dial("elsewhere", "localhost", REPLAY);
    does_not_dial("posing", "127.0.0.1", REPLAY); // an actor
    does_not_dial("actor", "127.0.0.1", REPLAY);  // may not serve at all
    does_not_dial("replay", "127.0.0.1", ACTOR);  // another role than the one sought
}

// ---- certificates change while everything runs

// Open or not: one that is in its handshake when the list comes does not open later.
static void
test_revoked_ones_are_cut_off(void **state)
{
    (void)state;
    const uint8_t push_header[] = {0, 'S', 'P', 0, 0, 0x50, 0, 0};
    const char *url = tls_url();
    side from, to;
    uint8_t header[NET_SP_HEADER_BYTES];
    certs_write_usual(ca, "actor", false, net_test_path("leaver"));
    certs_write_usual(ca, "replay", true, net_test_path("keeper"));
    side_open(&to, "keeper");
    side_pull(&to, url, ACTOR);
    side_open(&from, "leaver");
    side_push(&from, url, REPLAY);
    pass_one(&from, &to);
    SSL *waiting = raw_open(port_of(url), "leaver", TLS1_3_VERSION);
    assert_int_equal(SSL_connect(waiting), 1);
    assert_int_equal(SSL_read(waiting, header, sizeof(header)), sizeof(header)); // it is through
    certs_revoke(ca, net_test_path("leaver"), net_test_path("keeper"));
    while (counts_of(&to).revoked < 1 || counts_of(&to).refused < 2) {
        side_turn(&from);
        side_turn(&to);
    }
    assert_int_equal(SSL_write(waiting, push_header, 8), 8);
    while (counts_of(&to).revoked < 2 && counts_of(&to).opened < 2) {
        side_turn(&to);
    }
    assert_int_equal(counts_of(&to).opened, 1);
    assert_int_equal(from.connected, 1);
    raw_close(waiting);
    side_close(&from);
    side_close(&to);
}

static void
test_new_certificates_are_taken_up(void **state)
{
    (void)state;
    const char *url = tls_url();
    side from, to, late;
    certs_ca *next_ca = certs_ca_create("next");
    certs_write_usual(ca, "replay", true, net_test_path("changing"));
    certs_write_usual(ca, "actor", false, net_test_path("changing-actor"));
    side_open(&to, "changing");
    side_pull(&to, url, ACTOR);
    side_open(&from, "changing-actor");
    side_push(&from, url, REPLAY);
    pass_one(&from, &to);
    while (from.connected < 1) { // a pipe that goes unseen is not reported
        side_turn(&from);
    }
    // Half of the new: a key without its certificate keeps the old in use.
    certs_write_usual(next_ca, "replay", true, net_test_path("new"));
    char from_path[128], to_path[128];
    (void)snprintf(from_path, sizeof(from_path), "%s/node.key", net_test_path("new"));
    (void)snprintf(to_path, sizeof(to_path), "%s/node.key", net_test_path("changing"));
    assert_int_equal(rename(from_path, to_path), 0);
    certs_write_usual(ca, "actor", false, net_test_path("late"));
    side_open(&late, "late");
    side_push(&late, url, REPLAY);
    pass_one(&late, &to);
    side_close(&late);
    // The whole: who has the new CA's comes in, and what was open by the old one ends.
    certs_write_usual(next_ca, "replay", true, net_test_path("changing"));
    certs_write_usual(next_ca, "actor", false, net_test_path("late"));
    side_open(&late, "late");
    side_push(&late, url, REPLAY);
    pass_one(&late, &to);
    while (from.disconnected < 1) {
        side_turn(&from);
        side_turn(&to);
    }
    assert_int_equal(counts_of(&to).revoked, 1);
    pass_one(&late, &to);
    assert_int_equal(late.disconnected, 0);
    side_close(&late);
    side_close(&from);
    side_close(&to);
    certs_ca_destroy(next_ca);
}

// ---- strangers in numbers, and silent ones

static bool
is_closed(int fd)
{
    uint8_t byte;
    ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
}

static void
test_silent_strangers_are_dropped(void **state)
{
    (void)state;
    enum { STRANGERS = 20 };
    const char *url = tls_url();
    int fds[STRANGERS];
    side from, to;
    side_open(&to, "replay");
    side_pull(&to, url, ACTOR);
    for (int i = 0; i < STRANGERS; i++) {
        fds[i] = net_test_tcp_connect(port_of(url));
        const uint8_t begun[] = {22, 3, 1, 2, 0, 1}; // of a ClientHello
        assert_int_equal(write(fds[i], begun, (size_t)i % 7), i % 7);
    }
    side_open(&from, "actor");
    side_push(&from, url, REPLAY);
    pass_one(&from, &to); // nobody waits for them
    for (int i = 0; i < STRANGERS; i++) {
        while (!is_closed(fds[i])) {
            side_turn(&to);
        }
        close(fds[i]);
    }
    assert_int_equal(counts_of(&to).expired, STRANGERS);
    assert_int_equal(counts_of(&to).connections, 1);
    pass_one(&from, &to);
    side_close(&from);
    side_close(&to);
}

// A connection of garbage. The gate may have cut it before connect has returned.
static void
garbage_send(unsigned port)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    int code = connect(fd, (const struct sockaddr *)&address, sizeof(address));
    assert_true(code == 0 || errno == ECONNRESET);
    (void)send(fd, "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL);
    close(fd);
}

static void
test_garbage_is_refused_and_soon_unheard(void **state)
{
    (void)state;
    enum { STRANGERS = 2000 };
    const char *url = tls_url();
    side from, to;
    side_open(&to, "replay");
    side_pull(&to, url, ACTOR);
    side_open(&from, "actor");
    side_push(&from, url, REPLAY);
    pass_one(&from, &to);
    atomic_store(&stopped_ms, uv_hrtime() / 1000000); // none is forgiven, however long it takes
    for (int i = 0; i < STRANGERS; i++) {
        garbage_send(port_of(url));
        if (i % 100 == 0) {
            pass_one(&from, &to);
        }
    }
    while (counts_of(&to).refused + counts_of(&to).overflowed < STRANGERS ||
           counts_of(&to).connections > 1) {
        side_turn(&to);
    }
    assert_true(counts_of(&to).overflowed > 0); // the address is known by then
    atomic_store(&stopped_ms, 0);
    pass_one(&from, &to);
    assert_int_equal(from.disconnected, 0);
    side_close(&from);
    side_close(&to);
}

// What a certificate does is not its address's: others from there come in at once. It is heard
// again as soon as a failure of its is forgiven.
static void
test_failures_are_those_of_the_certificate(void **state)
{
    (void)state;
    enum { FAILURES_MAX = 256, FORGIVEN_A_S = 16 }; // docs/internals/gate.md
    const uint8_t wrong_header[] = {0, 'S', 'P', 0, 0, 0x21, 0, 0};
    const char *url = tls_url();
    side good, to;
    side_open(&to, "replay");
    side_pull(&to, url, ACTOR);
    certs_write_usual(ca, "actor", false, net_test_path("culprit"));
    uint64_t now_ms = uv_hrtime() / 1000000;
    atomic_store(&stopped_ms, now_ms);
    for (unsigned i = 0; i < FAILURES_MAX; i++) {
        (void)raw_tls(&to, port_of(url), "culprit", TLS1_3_VERSION, wrong_header, 8);
    }
    assert_int_equal(counts_of(&to).refused, FAILURES_MAX);
    assert_int_equal(counts_of(&to).overflowed, 0);
    (void)raw_tls(&to, port_of(url), "culprit", TLS1_3_VERSION, wrong_header, 8);
    assert_int_equal(counts_of(&to).refused, FAILURES_MAX);
    assert_int_equal(counts_of(&to).overflowed, 1);
    side_open(&good, "actor");
    side_push(&good, url, REPLAY);
    pass_one(&good, &to);
    assert_int_equal(counts_of(&to).overflowed, 1);
    atomic_store(&stopped_ms, now_ms + 1000 / FORGIVEN_A_S + 1);
    (void)raw_tls(&to, port_of(url), "culprit", TLS1_3_VERSION, wrong_header, 8);
    assert_int_equal(counts_of(&to).refused, FAILURES_MAX + 1);
    assert_int_equal(counts_of(&to).overflowed, 1);
    // That it comes nevertheless is its address's: each time costs a handshake.
    assert_true(raw_tls(&to, port_of(url), "another", TLS1_3_VERSION, wrong_header, 8));
    for (unsigned i = 0; i < FAILURES_MAX + 2; i++) {
        (void)raw_tls(&to, port_of(url), "culprit", TLS1_3_VERSION, wrong_header, 8);
    }
    assert_false(raw_tls(&to, port_of(url), "another", TLS1_3_VERSION, wrong_header, 8));
    atomic_store(&stopped_ms, 0);
    side_close(&good);
    side_close(&to);
}

// A listener that accepts and says nothing; when it has gone, the right one is found.
static void
test_a_mute_listener_is_given_up(void **state)
{
    (void)state;
    unsigned port = 0;
    int mute = net_test_tcp_bind(&port);
    assert_int_equal(listen(mute, 16), 0);
    char url[64];
    (void)snprintf(url, sizeof(url), "tls+tcp://localhost:%u", port);
    side from, to;
    side_open(&from, "actor");
    side_push(&from, url, REPLAY);
    while (counts_of(&from).expired < 1) {
        side_turn(&from);
    }
    close(mute);
    side_open(&to, "replay");
    side_pull(&to, url, ACTOR);
    pass_one(&from, &to);
    side_close(&from);
    side_close(&to);
}

// ---- folders that cannot be used

static void
refused_folder(const char *folder, oct_err as, const char *want)
{
    oct_reason why;
    net_loop *loop = net_loop_create();
    T_ERR(net_loop_use_tls(loop, net_test_path(folder), &why), as);
    if (strstr(why.text, want) == NULL) {
        fail_msg("'%s' is not in: %s", want, why.text);
    }
    net_loop_destroy(loop);
}

static void
bad_folder(const char *folder, const char *want)
{
    refused_folder(folder, OCT_EINVAL, want);
}

// The clock may be wrong, or a new certificate come: a daemon that is started again finds out.
static void
test_dates_that_time_can_heal_are_told_with_the_clock(void **state)
{
    (void)state;
    const certs_leaf early = {
        .unit = "actor", .name = "early", .sans = "DNS:localhost", .days_from = 5, .days = 9};
    certs_write(ca, &early, net_test_path("early"));
    refused_folder("expired", OCT_EAGAIN,
                   "certificate has expired; the certificate is valid from 2");
    refused_folder("expired", OCT_EAGAIN, " UTC, and the clock of this machine says 2");
    refused_folder("early", OCT_EAGAIN,
                   "certificate is not yet valid; the certificate is valid from 2");
}

static void
test_bad_folders_are_told(void **state)
{
    (void)state;
    bad_folder("missing", "octet certs issue ROLE NAME");
    bad_folder("nobody", "names no role");
    char from[128], to[128];
    certs_write_usual(ca, "actor", false, net_test_path("mixed"));
    certs_write_usual(ca, "actor", false, net_test_path("mixed-other"));
    (void)snprintf(from, sizeof(from), "%s/node.key", net_test_path("mixed-other"));
    (void)snprintf(to, sizeof(to), "%s/node.key", net_test_path("mixed"));
    assert_int_equal(rename(from, to), 0);
    bad_folder("mixed", "node.key");
}

static void
test_tls_without_certificates_is_told(void **state)
{
    (void)state;
    net_loop *loop = net_loop_create();
    net_pull *pull = NULL;
    T_ERR(net_pull_open(&pull, loop, &(net_endpoint){tls_url(), ACTOR, 100, 0}, side_take, NULL),
          OCT_EINVAL);
    net_push *push = NULL;
    const net_push_events events = {0};
    T_ERR(net_push_open(&push, loop, tls_url(), REPLAY, &events), OCT_EINVAL);
    net_loop_destroy(loop);
}

int
main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_of_all_sizes_pass_in_order),
        cmocka_unit_test(test_many_hear_what_is_published),
        cmocka_unit_test(test_calls_are_answered),
        cmocka_unit_test(test_calls_tell_whose_certificate_they_come_with),
        cmocka_unit_test(test_wrong_ca),
        cmocka_unit_test(test_wrong_role),
        cmocka_unit_test(test_plaintext),
        cmocka_unit_test(test_no_certificate_expired_and_old_versions),
        cmocka_unit_test(test_long_messages_and_other_protocols),
        cmocka_unit_test(test_calls_through_devices_are_refused),
        cmocka_unit_test(test_listeners_that_pose),
        cmocka_unit_test(test_revoked_ones_are_cut_off),
        cmocka_unit_test(test_new_certificates_are_taken_up),
        cmocka_unit_test(test_silent_strangers_are_dropped),
        cmocka_unit_test(test_garbage_is_refused_and_soon_unheard),
        cmocka_unit_test(test_failures_are_those_of_the_certificate),
        cmocka_unit_test(test_a_mute_listener_is_given_up),
        cmocka_unit_test(test_bad_folders_are_told),
        cmocka_unit_test(test_dates_that_time_can_heal_are_told_with_the_clock),
        cmocka_unit_test(test_tls_without_certificates_is_told),
    };
    return cmocka_run_group_tests_name("net_gate", tests, certs_make, certs_remove);
}
