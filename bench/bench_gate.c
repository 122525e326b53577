// Messages from one thread to another over each transport that a run may use: MB/s, median of
// ROUNDS, and the ratio to NNG's own TLS, measured in the same run. Order, length and both ends of
// every message are checked. usage: bench_gate [quick]
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nng/nng.h>
#include <nng/protocol/pipeline0/pull.h>
#include <nng/protocol/pipeline0/push.h>
#include <nng/supplemental/tls/tls.h>

#include "bench/bench_must.h"
#include "bench/bench_sort.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_reason.h"
#include "net/net_pull.h"
#include "net/net_push.h"
#include "tests/net/net_certs.h"
#include "tests/net/net_test.h"

#define ROUNDS    3
#define TLS_URL   "tls+tcp://127.0.0.1:%u"
#define BYTES_MAX (4u << 20)

typedef struct transport {
    const char *name;
    const char *url; // with %u for a port, which is a free one
    bool is_raw;     // NNG alone, without net/
} transport;

static const transport transports[] = {
    {"NNG's own TLS", TLS_URL, true},
    {"gate, TLS", TLS_URL, false},
    {"gate, no TLS", "tcp://0.0.0.0:%u", false},
    {"NNG, ipc", "ipc:///tmp/octet-bench-gate-%u", false},
};

// Both ends of a link. The receiver says when it has had enough.
typedef struct path {
    const char *url;
    const char *folder; // of certificates
    size_t bytes;       // of a message
    uint64_t messages;
    net_loop *send_loop, *recv_loop;
    net_push *push;
    uint64_t sent, got;
    uint64_t began_ns, ended_ns;
} path;

static void
must_nng(int code, const char *what)
{
    if (code != 0) {
        fprintf(stderr, "bench_gate: %s: %s\n", what, nng_strerror(code));
        exit(1);
    }
}

static void
message_check(path *l, const uint8_t *body, size_t length)
{
    uint64_t number;
    memcpy(&number, body, sizeof(number));
    OCT_ASSERT(length == l->bytes && number == l->got && body[length - 1] == (uint8_t)number);
    l->got++;
    if (l->got == 1) {
        l->began_ns = oct_clock_ns();
    }
    l->ended_ns = oct_clock_ns();
}

static void
message_fill(const path *l, uint8_t *body)
{
    memset(body, 0, 16);
    memcpy(body, &l->sent, sizeof(l->sent));
    body[l->bytes - 1] = (uint8_t)l->sent;
}

// ---- through net/

static void
send_next(void *arg)
{
    path *l = arg;
    while (l->sent < l->messages) {
        net_msg *msg = net_msg_create(l->bytes);
        message_fill(l, net_msg_body(msg));
        if (net_push_send(l->push, msg) != OCT_OK) {
            net_msg_destroy(msg);
            return;
        }
        l->sent++;
    }
}

static oct_err
take(void *arg, net_msg *msg)
{
    path *l = arg;
    message_check(l, net_msg_body(msg), net_msg_length(msg));
    net_msg_destroy(msg);
    if (l->got == l->messages) {
        net_loop_stop(l->recv_loop);
    }
    return OCT_OK;
}

static void
loop_secure(net_loop *loop, const char *folder)
{
    oct_reason why;
    if (net_loop_use_tls(loop, folder, &why) != OCT_OK) {
        fprintf(stderr, "bench_gate: %s\n", why.text);
        exit(1);
    }
}

static atomic_bool finished;

static void
sender_look(void *arg)
{
    path *l = arg;
    if (atomic_load(&finished)) {
        net_loop_stop(l->send_loop);
    }
}

static void *
sender_run(void *arg)
{
    path *l = arg;
    const net_push_events events = {.on_ready = send_next, .on_connected = send_next, .arg = l};
    l->send_loop = net_loop_create();
    loop_secure(l->send_loop, l->folder);
    bench_must(net_push_open(&l->push, l->send_loop, l->url, OCT_ROLES_ANY, &events), "push");
    net_timer *timer = net_timer_start(l->send_loop, 20, 20, sender_look, l);
    net_loop_run(l->send_loop);
    net_timer_stop(timer);
    net_push_close(l->push);
    net_loop_destroy(l->send_loop);
    return NULL;
}

static void
run_net(path *l)
{
    net_pull *pull;
    pthread_t thread;
    atomic_store(&finished, false);
    l->recv_loop = net_loop_create();
    loop_secure(l->recv_loop, l->folder);
    bench_must(net_pull_open(&pull, l->recv_loop,
                             &(net_endpoint){l->url, OCT_ROLES_ANY, BYTES_MAX, 0}, take, l),
               "pull");
    OCT_ASSERT(pthread_create(&thread, NULL, sender_run, l) == 0);
    net_loop_run(l->recv_loop);
    atomic_store(&finished, true);
    (void)pthread_join(thread, NULL);
    net_pull_close(pull);
    net_loop_destroy(l->recv_loop);
}

// ---- NNG's own TLS

static nng_tls_config *
nng_config(const char *folder, nng_tls_mode mode)
{
    static const char *const names[] = {"ca.crt", "node.crt", "node.key"};
    char text[3][8192], name[512];
    nng_tls_config *config;
    for (int i = 0; i < 3; i++) {
        (void)snprintf(name, sizeof(name), "%s/%s", folder, names[i]);
        FILE *file = fopen(name, "r");
        OCT_ASSERT(file != NULL);
        text[i][fread(text[i], 1, sizeof(text[i]) - 1, file)] = '\0';
        (void)fclose(file);
    }
    must_nng(nng_tls_config_alloc(&config, mode), "TLS");
    must_nng(nng_tls_config_ca_chain(config, text[0], NULL), "CA");
    must_nng(nng_tls_config_own_cert(config, text[1], text[2], NULL), "certificate");
    must_nng(nng_tls_config_auth_mode(config, NNG_TLS_AUTH_MODE_REQUIRED), "mode");
    if (mode == NNG_TLS_MODE_CLIENT) {
        must_nng(nng_tls_config_server_name(config, "localhost"), "name");
    }
    return config;
}

static void *
raw_sender_run(void *arg)
{
    path *l = arg;
    nng_socket socket;
    nng_dialer dialer;
    must_nng(nng_push0_open(&socket), "push");
    must_nng(nng_dialer_create(&dialer, socket, l->url), "dialer");
    nng_tls_config *config = nng_config(l->folder, NNG_TLS_MODE_CLIENT);
    must_nng(nng_dialer_set_ptr(dialer, NNG_OPT_TLS_CONFIG, config), "TLS");
    must_nng(nng_dialer_start(dialer, 0), "dial");
    for (; l->sent < l->messages; l->sent++) {
        nng_msg *msg;
        must_nng(nng_msg_alloc(&msg, l->bytes), "message");
        message_fill(l, nng_msg_body(msg));
        must_nng(nng_sendmsg(socket, msg, 0), "send");
    }
    while (!atomic_load(&finished)) {
        (void)usleep(1000);
    }
    (void)nng_close(socket);
    nng_tls_config_free(config);
    return NULL;
}

static void
run_raw(path *l)
{
    nng_socket socket;
    nng_listener listener;
    pthread_t thread;
    atomic_store(&finished, false);
    must_nng(nng_pull0_open(&socket), "pull");
    must_nng(nng_socket_set_size(socket, NNG_OPT_RECVMAXSZ, BYTES_MAX), "limit");
    must_nng(nng_listener_create(&listener, socket, l->url), "listener");
    nng_tls_config *config = nng_config(l->folder, NNG_TLS_MODE_SERVER);
    must_nng(nng_listener_set_ptr(listener, NNG_OPT_TLS_CONFIG, config), "TLS");
    must_nng(nng_listener_start(listener, 0), "listen");
    OCT_ASSERT(pthread_create(&thread, NULL, raw_sender_run, l) == 0);
    while (l->got < l->messages) {
        nng_msg *msg;
        must_nng(nng_recvmsg(socket, &msg, 0), "receive");
        message_check(l, nng_msg_body(msg), nng_msg_len(msg));
        nng_msg_free(msg);
    }
    atomic_store(&finished, true);
    (void)pthread_join(thread, NULL);
    (void)nng_close(socket);
    nng_tls_config_free(config);
}

// ---- the table

static double
measure(const transport *t, const char *folder, size_t bytes, uint64_t messages)
{
    double rates[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        char url[128];
        (void)snprintf(url, sizeof(url), t->url, net_test_free_port());
        path l = {.url = url, .folder = folder, .bytes = bytes, .messages = messages};
        if (t->is_raw) {
            run_raw(&l);
        } else {
            run_net(&l);
        }
        double seconds = 1e-9 * (double)(l.ended_ns - l.began_ns);
        rates[i] = 1e-6 * (double)bytes * (double)(messages - 1) / seconds;
    }
    bench_sort(rates, ROUNDS);
    return rates[ROUNDS / 2];
}

int
main(int argc, char **argv)
{
    static const size_t sizes[] = {1024, 65536, 1048576};
    bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    char folder[] = "/tmp/octet-bench-XXXXXX", command[64];
    OCT_ASSERT(mkdtemp(folder) != NULL);
    certs_ca *ca = certs_ca_create("bench");
    const certs_leaf leaf = {.unit = "replay",
                             .name = "bench",
                             .sans = "DNS:localhost,IP:127.0.0.1,IP:0.0.0.0",
                             .may_serve = true};
    certs_write(ca, &leaf, folder);
    printf("%-22s %9s %12s %10s\n", "transport", "bytes", "MB/s", "to NNG TLS");
    for (size_t s = 0; s < OCT_COUNTOF(sizes); s++) {
        uint64_t total = quick ? 4u << 20 : (s == 0 ? 64u << 20 : 512u << 20);
        uint64_t messages = OCT_MAX(total / sizes[s], (uint64_t)4);
        double base = 0;
        for (size_t t = 0; t < OCT_COUNTOF(transports); t++) {
            double rate = measure(&transports[t], folder, sizes[s], messages);
            base = t == 0 ? rate : base;
            printf("%-22s %9zu %12.0f %10.2f\n", transports[t].name, sizes[s], rate, rate / base);
            fflush(stdout);
        }
    }
    certs_ca_destroy(ca);
    (void)snprintf(command, sizeof(command), "%s/ca.crt", folder);
    (void)unlink(command);
    (void)snprintf(command, sizeof(command), "%s/node.crt", folder);
    (void)unlink(command);
    (void)snprintf(command, sizeof(command), "%s/node.key", folder);
    (void)unlink(command);
    (void)rmdir(folder);
    return 0;
}
