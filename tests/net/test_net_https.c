// The HTTPS server of --metrics: operators are answered, other clients are refused, and open
// connections do not stop it.
#include "common/oct_reason.h"
#include "tests/net/net_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "net/net_http.h"
#include "net/net_internal.h"
#include "net/net_metrics.h"
#include "tests/net/net_certs.h"

#define READ_MAX (4u << 20)
#define GET      "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"

static certs_ca *ca, *other_ca;

// The C library's clock, in whose place the linker puts this one in what is Octet's: OpenSSL has
// its own.
static atomic_int_fast64_t later_s;
time_t __real_time(time_t *out);
time_t __wrap_time(time_t *out);

time_t
__wrap_time(time_t *out)
{
    return __real_time(out) + (time_t)atomic_load(&later_s);
}

static int
certs_make(void **state)
{
    (void)state;
    ca = certs_ca_create("ca");
    other_ca = certs_ca_create("other");
    certs_write_usual(ca, "learner", true, net_test_path("learner"));
    certs_write_usual(ca, "operator", false, net_test_path("operator"));
    certs_write_usual(ca, "actor", true, net_test_path("actor"));
    certs_write_usual(other_ca, "operator", false, net_test_path("stranger"));
    return 0;
}

static int
certs_remove(void **state)
{
    certs_ca_destroy(ca);
    certs_ca_destroy(other_ca);
    return net_test_folder_remove(state);
}

// ---- the server: on the loop of the main thread; clients block in a thread of their own

typedef struct server {
    net_loop *loop;
    net_http *http;
    unsigned port;
    unsigned asked;
    size_t body_bytes;
} server;

static void
asked(void *arg, const net_http_request *request, net_http_answer *out)
{
    const char *path = request->path;
    server *s = arg;
    s->asked++;
    if (strcmp(path, "/metrics") == 0) {
        out->status = 200;
        out->content_type = "text/plain";
        out->body = malloc(s->body_bytes);
        memset(out->body, 'x', s->body_bytes);
        out->length = s->body_bytes;
    }
}

static net_loop *
loop_with(const char *folder)
{
    oct_reason why = {""};
    net_loop *loop = net_loop_create();
    if (net_loop_use_tls(loop, net_test_path(folder), &why) != OCT_OK) {
        fail_msg("%s", why.text);
    }
    return loop;
}

static const char *
https_url(unsigned *port)
{
    static char url[64];
    *port = net_test_free_port();
    (void)snprintf(url, sizeof(url), "https://127.0.0.1:%u", *port);
    return url;
}

static server
server_open(size_t body_bytes)
{
    return (server){.loop = loop_with("learner"), .body_bytes = body_bytes};
}

static void
server_listen(server *s)
{
    T_OK(net_http_open(&s->http, s->loop, https_url(&s->port), asked, s));
}

static void
server_close(server *s)
{
    net_http_close(s->http);
    net_loop_destroy(s->loop);
}

static net_gate_counts
counts_of(const server *s)
{
    return net_gate_read_counts(net_loop_gate(s->loop));
}

// ---- clients

typedef struct client {
    void (*run)(struct client *c);
    net_loop *loop;
    unsigned port;
    const char *folder; // certificates; NULL: none
    const char *request;
    bool half_closes; // says that it sends no more before it reads
    bool was_ended;   // the answer ended with TLS's own end, not by a cut
    char *answer;     // of READ_MAX
    size_t got;
} client;

static void
client_run(void *arg)
{
    client *c = arg;
    c->run(c);
}

static void
client_play(client *c)
{
    net_test_play(c->loop, client_run, c);
}

static SSL_CTX *
client_context(const char *folder)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    char path[512];
    if (folder != NULL) {
        (void)snprintf(path, sizeof(path), "%s/node.crt", folder);
        assert_int_equal(SSL_CTX_use_certificate_chain_file(ctx, path), 1);
        (void)snprintf(path, sizeof(path), "%s/node.key", folder);
        assert_int_equal(SSL_CTX_use_PrivateKey_file(ctx, path, SSL_FILETYPE_PEM), 1);
    }
    return ctx;
}

static void
tls_asks(client *c)
{
    SSL_CTX *ctx = client_context(c->folder);
    SSL *ssl = SSL_new(ctx);
    int fd = net_test_tcp_connect(c->port);
    SSL_set_fd(ssl, fd);
    int length = (int)strlen(c->request), code = 0;
    if (SSL_connect(ssl) == 1 && SSL_write(ssl, c->request, length) == length) {
        if (c->half_closes) {
            (void)SSL_shutdown(ssl);
        }
        while (c->got < READ_MAX - 1 &&
               (code = SSL_read(ssl, c->answer + c->got, (int)(READ_MAX - 1 - c->got))) > 0) {
            c->got += (size_t)code;
        }
        c->was_ended = SSL_get_error(ssl, code) == SSL_ERROR_ZERO_RETURN;
    }
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    (void)close(fd);
}

static void
plain_asks(client *c)
{
    int fd = net_test_tcp_connect(c->port);
    (void)send(fd, c->request, strlen(c->request), MSG_NOSIGNAL);
    ssize_t step;
    while (c->got < READ_MAX - 1 &&
           (step = recv(fd, c->answer + c->got, READ_MAX - 1 - c->got, 0)) > 0) {
        c->got += (size_t)step;
    }
    (void)close(fd);
}

// c: how it asks; gives the answer, valid until the next one.
static const char *
play(server *s, client *c, const char *folder, const char *request)
{
    static char answer[READ_MAX];
    char path[512];
    if (folder != NULL) {
        (void)snprintf(path, sizeof(path), "%s", net_test_path(folder));
    }
    c->run = c->run == NULL ? tls_asks : c->run;
    c->loop = s->loop;
    c->port = s->port;
    c->folder = folder == NULL ? NULL : path;
    c->request = request;
    c->answer = answer;
    client_play(c);
    answer[c->got] = '\0';
    return answer;
}

// The answer to a request with an operator's certificate.
static const char *
ask(server *s, const char *request)
{
    client c = {0};
    const char *answer = play(s, &c, "operator", request);
    assert_true(c.got == 0 || c.was_ended);
    return answer;
}

static void
begins(const char *answer, const char *want)
{
    if (strncmp(answer, want, strlen(want)) != 0) {
        fail_msg("'%.60s' does not begin with '%s'", answer, want);
    }
}

// Bytes after the header.
static size_t
body_bytes(const char *answer)
{
    const char *end = strstr(answer, "\r\n\r\n");
    assert_non_null(end);
    return strlen(end + 4);
}

// ---- who gets an answer

static void
test_https_answers_an_operator(void **state)
{
    (void)state;
    server s = server_open(10);
    server_listen(&s);
    const char *answer = ask(&s, GET);
    begins(answer, "HTTP/1.1 200 OK\r\n");
    assert_non_null(strstr(answer, "\r\nContent-Length: 10\r\n"));
    assert_int_equal(body_bytes(answer), 10);
    answer = ask(&s, "GET /metrics HTTP/1.0\r\n\r\n");
    assert_int_equal(body_bytes(answer), 10);
    answer = ask(&s, "HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    begins(answer, "HTTP/1.1 200 OK\r\n");
    assert_non_null(strstr(answer, "\r\nContent-Length: 10\r\n"));
    assert_int_equal(body_bytes(answer), 0);
    begins(ask(&s, "GET /other HTTP/1.1\r\nHost: localhost\r\n\r\n"), "HTTP/1.1 404");
    begins(ask(&s, "POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx"),
           "HTTP/1.1 405");
    // libmicrohttpd before 1.0 says that it is none; later ones say nothing and close.
    answer = ask(&s, "\x01\x02 nonsense\r\n\r\n");
    assert_true(answer[0] == '\0' || strncmp(answer, "HTTP/1.1 4", 10) == 0 ||
                strncmp(answer, "HTTP/1.0 4", 10) == 0);
    assert_int_equal(counts_of(&s).opened, 6);
    server_close(&s);
}

// A client may see the end before the gate has counted it.
static void
until_refused(server *s, uint64_t count)
{
    while (counts_of(s).refused < count) {
        net_test_turn(s->loop, 1);
    }
    assert_int_equal(counts_of(s).refused, count);
}

static void
test_https_turns_others_away(void **state)
{
    (void)state;
    server s = server_open(10);
    server_listen(&s);
    static const char *const folders[] = {"actor", "learner", "stranger", NULL};
    for (size_t i = 0; i < OCT_COUNTOF(folders); i++) {
        client c = {0};
        assert_string_equal(play(&s, &c, folders[i], GET), "");
        until_refused(&s, i + 1);
    }
    client c = {.run = plain_asks};
    assert_null(strstr(play(&s, &c, NULL, GET), "HTTP/"));
    until_refused(&s, OCT_COUNTOF(folders) + 1);
    assert_int_equal(counts_of(&s).opened, 0);
    assert_int_equal(s.asked, 0);
    begins(ask(&s, GET), "HTTP/1.1 200");
    server_close(&s);
}

// ---- the end of an answer

// More than the gate and the kernel hold: it comes whole, and with TLS's end.
static void
test_https_sends_large_answers_whole(void **state)
{
    (void)state;
    server s = server_open(3u << 20);
    server_listen(&s);
    assert_int_equal(body_bytes(ask(&s, GET)), 3u << 20);
    server_close(&s);
}

static void
test_https_answers_who_sends_no_more(void **state)
{
    (void)state;
    server s = server_open(1u << 20);
    server_listen(&s);
    client c = {.half_closes = true};
    const char *answer = play(&s, &c, "operator", GET);
    begins(answer, "HTTP/1.1 200");
    assert_int_equal(body_bytes(answer), 1u << 20);
    assert_true(c.was_ended);
    // Nothing was asked, and nothing more comes: it is closed.
    client silent = {.half_closes = true};
    assert_string_equal(play(&s, &silent, "operator", "GET /met"), "");
    assert_int_equal(s.asked, 1);
    server_close(&s);
}

// ---- peers that hold connections

static void
half_open_then_ask(client *c)
{
    enum { PEERS = 200 };
    int fd[PEERS];
    const uint8_t begun[] = {22, 3, 1, 2, 0, 1}; // of a ClientHello
    for (int i = 0; i < PEERS; i++) {
        fd[i] = net_test_tcp_connect(c->port);
        assert_true(send(fd[i], begun, (size_t)i % 7, MSG_NOSIGNAL) == i % 7);
    }
    tls_asks(c);
    for (int i = 0; i < PEERS; i++) {
        (void)close(fd[i]);
    }
}

static void
test_https_serves_past_half_open_connections(void **state)
{
    (void)state;
    server s = server_open(10);
    server_listen(&s);
    client c = {.run = half_open_then_ask};
    begins(play(&s, &c, "operator", GET), "HTTP/1.1 200");
    assert_int_equal(s.asked, 1);
    assert_int_equal(counts_of(&s).accepted, 201);
    assert_int_equal(counts_of(&s).opened, 1); // the server never heard of the others
    server_close(&s);
}

// Connects, and keeps the connection for who closes the server under it.
static void
holds(client *c)
{
    SSL_CTX *ctx = client_context(c->folder);
    SSL *ssl = SSL_new(ctx);
    int fd = net_test_tcp_connect(c->port);
    SSL_set_fd(ssl, fd);
    assert_int_equal(SSL_connect(ssl), 1);
    assert_int_equal(SSL_write(ssl, "GET /m", 6), 6);
    c->got = (size_t)fd;
    SSL_free(ssl); // not fd
    SSL_CTX_free(ctx);
}

static void
test_https_closes_with_open_connections(void **state)
{
    (void)state;
    server s = server_open(10);
    server_listen(&s);
    char path[512];
    (void)snprintf(path, sizeof(path), "%s", net_test_path("operator"));
    client c = {.run = holds, .loop = s.loop, .port = s.port, .folder = path};
    client_play(&c);
    while (net_http_connections(s.http) < 1) {
        net_test_turn(s.loop, 1);
    }
    net_http_close(s.http);
    // The port is free again at once.
    unsigned port = s.port;
    char url[64];
    (void)snprintf(url, sizeof(url), "https://127.0.0.1:%u", port);
    T_OK(net_http_open(&s.http, s.loop, url, asked, &s));
    begins(ask(&s, GET), "HTTP/1.1 200");
    server_close(&s);
    char byte;
    while (recv((int)c.got, &byte, 1, 0) > 0) { // TLS's end
    }
    (void)close((int)c.got);
}

// ---- addresses

static void
test_https_without_certificates_is_told(void **state)
{
    (void)state;
    char text[4096];
    unsigned port, taken_port = 0;
    server s = server_open(10);
    net_loop *bare = net_loop_create();
    int taken = net_test_tcp_bind(&taken_port);
    assert_int_equal(listen(taken, 1), 0);
    char taken_url[64];
    (void)snprintf(taken_url, sizeof(taken_url), "https://127.0.0.1:%u", taken_port);
    const char *log = net_test_path("https.log");
    int saved = net_test_stderr_to(log);
    oct_err none = net_http_open(&s.http, bare, https_url(&port), asked, &s);
    oct_err in_use = net_http_open(&s.http, s.loop, taken_url, asked, &s);
    net_test_stderr_back(saved);
    T_ERR(none, OCT_EINVAL);
    T_ERR(in_use, OCT_EIO);
    assert_null(net_loop_gate_peek(bare));
    net_test_read(log, text, sizeof(text));
    assert_non_null(strstr(text, "NET-HTTP url=https://127.0.0.1:"));
    assert_non_null(strstr(text, "https needs certificates"));
    assert_non_null(strstr(text, "another process listens on this port"));
    (void)close(taken);
    net_loop_destroy(bare);
    net_loop_destroy(s.loop);
}

// ---- what the gate tells

static void
nothing_write(void *arg, oct_prometheus *text)
{
    (void)arg;
    (void)text;
}

static const char *own_trouble; // of the daemon; NULL: none

static const char *
trouble(void *arg)
{
    (void)arg;
    return own_trouble;
}

static const net_metrics_source source = {
    .daemon = "learner", .write = nothing_write, .trouble = trouble};

// The number of the sample that begins so.
static double
sample(const char *answer, const char *name)
{
    char line[128];
    (void)snprintf(line, sizeof(line), "\n%s ", name);
    const char *at = strstr(answer, line);
    if (at == NULL) {
        fail_msg("no %s in %s", name, answer);
    }
    return strtod(at + strlen(line), NULL);
}

// What the linker puts in the gate's place: each number another, while they are made up.
static bool counts_are_made_up;
net_gate_counts __real_net_gate_read_counts(net_gate *gate);
net_gate_counts __wrap_net_gate_read_counts(net_gate *gate);

net_gate_counts
__wrap_net_gate_read_counts(net_gate *gate)
{
    return counts_are_made_up ? (net_gate_counts){.accepted = 1,
                                                  .opened = 2,
                                                  .refused = 3,
                                                  .overflowed = 4,
                                                  .expired = 5,
                                                  .malformed = 6,
                                                  .dead = 7,
                                                  .revoked = 8,
                                                  .relistened = 9,
                                                  .connections = 10,
                                                  .bytes_in = 11,
                                                  .bytes_out = 12}
                              : __real_net_gate_read_counts(gate);
}

static void
test_each_number_of_the_gate_has_its_name(void **state)
{
    (void)state;
    static const char *const names[] = {
        "octet_gate_accepted_total",
        "octet_gate_opened_total",
        "octet_gate_closed_total{reason=\"refused\"}",
        "octet_gate_closed_total{reason=\"overflowed\"}",
        "octet_gate_closed_total{reason=\"expired\"}",
        "octet_gate_closed_total{reason=\"malformed\"}",
        "octet_gate_closed_total{reason=\"dead\"}",
        "octet_gate_closed_total{reason=\"revoked\"}",
        "octet_gate_relistened_total",
        "octet_gate_connections",
        "octet_gate_bytes_total{direction=\"in\"}",
        "octet_gate_bytes_total{direction=\"out\"}",
    };
    server s = {.loop = loop_with("learner")};
    net_daemon daemon = {.metrics = {https_url(&s.port)}, .metrics_count = 1};
    net_metrics *metrics;
    T_OK(net_metrics_open(&metrics, &daemon, s.loop, &source));
    counts_are_made_up = true;
    const char *answer = ask(&s, GET);
    counts_are_made_up = false;
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        assert_true(sample(answer, names[i]) == (double)(i + 1));
    }
    net_metrics_close(metrics);
    net_loop_destroy(s.loop);
}

static void
test_metrics_tell_of_the_gate(void **state)
{
    (void)state;
    server s = {.loop = loop_with("learner")};
    net_daemon daemon = {.metrics = {https_url(&s.port)}, .metrics_count = 1};
    net_metrics *metrics;
    T_OK(net_metrics_open(&metrics, &daemon, s.loop, &source));
    client actor = {0};
    assert_string_equal(play(&s, &actor, "actor", GET), "");
    const char *answer = ask(&s, GET);
    double left_s =
        sample(answer, "octet_tls_certificate_not_after_timestamp_seconds") - (double)time(NULL);
    assert_true(left_s > 29 * 86400 && left_s < 31 * 86400);
    assert_true(sample(answer, "octet_gate_accepted_total") == 2);
    assert_true(sample(answer, "octet_gate_opened_total") == 1);
    assert_true(sample(answer, "octet_gate_closed_total{reason=\"refused\"}") == 1);
    assert_true(sample(answer, "octet_gate_closed_total{reason=\"revoked\"}") == 0);
    assert_true(sample(answer, "octet_gate_connections") >= 1);
    assert_true(sample(answer, "octet_gate_bytes_total{direction=\"in\"}") > 1000);
    assert_true(sample(answer, "octet_gate_bytes_total{direction=\"out\"}") > 1000);
    // A new certificate is told of as soon as it is in use.
    const certs_leaf short_lived = {
        .unit = "learner", .name = "l", .sans = "DNS:localhost", .may_serve = true, .days = 2};
    certs_write(ca, &short_lived, net_test_path("learner"));
    do {
        answer = ask(&s, GET);
        left_s = sample(answer, "octet_tls_certificate_not_after_timestamp_seconds") -
                 (double)time(NULL);
    } while (left_s > 2 * 86400);
    net_metrics_close(metrics);
    net_loop_destroy(s.loop);
    certs_write_usual(ca, "learner", true, net_test_path("learner"));
}

#define DAY_S  86400
#define HEALTH "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

// As soon as health says so at that time.
static void
health_says(server *s, int64_t at_s, const char *status, const char *words)
{
    const char *answer;
    atomic_store(&later_s, at_s);
    do {
        answer = ask(s, HEALTH);
    } while (strstr(answer, words) == NULL);
    begins(answer, status);
}

static const char *
after(const char *text, const char *words)
{
    const char *found = strstr(text, words);
    if (found == NULL) {
        fail_msg("'%s' is not in: %s", words, text);
    }
    return found + strlen(words);
}

static void
test_the_end_of_our_certificate_is_told(void **state)
{
    (void)state;
    char said[4096], want[128];
    server s = {.loop = loop_with("learner")};
    net_daemon daemon = {.metrics = {https_url(&s.port)}, .metrics_count = 1};
    net_metrics *metrics;
    int saved = net_test_stderr_to(net_test_path("ends"));
    T_OK(net_metrics_open(&metrics, &daemon, s.loop, &source));
    health_says(&s, 0, "HTTP/1.1 200", "ok\n");
    for (int days = 13; days >= 0; days -= 13) { // of 30: the first warning, and the last
        atomic_store(&later_s, (29 - days) * DAY_S + DAY_S / 2);
        (void)snprintf(want, sizeof(want),
                       "NET-TLS-ENDS our certificate is still valid for "
                       "days_left=%d",
                       days);
        do {
            net_test_read(net_test_path("ends"), said, sizeof(said));
            (void)ask(&s, HEALTH);
        } while (strstr(said, want) == NULL);
    }
    health_says(&s, 30 * DAY_S, "HTTP/1.1 503",
                "our certificate expired 0 days ago: no new peer can connect\n");
    health_says(&s, 32 * DAY_S, "HTTP/1.1 503", "our certificate expired 2 days ago");
    own_trouble = "no replay"; // is said first
    health_says(&s, 32 * DAY_S, "HTTP/1.1 503", "\r\n\r\nno replay\n");
    own_trouble = NULL;
    health_says(&s, 0, "HTTP/1.1 200", "ok\n");
    net_metrics_close(metrics);
    net_loop_destroy(s.loop);
    net_test_stderr_back(saved);
    net_test_read(net_test_path("ends"), said, sizeof(said));
    const char *rest =
        after(said, " W NET-TLS-ENDS our certificate is still valid for days_left=0");
    rest = after(rest, " E NET-TLS-ENDED our certificate expired 0 days ago: ");
    rest = after(rest, " E NET-TLS-ENDED our certificate expired 2 days ago: ");
    assert_null(strstr(rest, "NET-TLS-END"));
}

static void
test_metrics_without_a_gate_make_none(void **state)
{
    (void)state;
    server s = {.loop = net_loop_create(), .port = net_test_free_port()};
    char url[64];
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", s.port);
    net_daemon daemon = {.metrics = {url}, .metrics_count = 1};
    net_metrics *metrics;
    T_OK(net_metrics_open(&metrics, &daemon, s.loop, &source));
    client c = {.run = plain_asks};
    const char *answer = play(&s, &c, NULL, GET);
    begins(answer, "HTTP/1.1 200");
    assert_non_null(strstr(answer, "octet_build_info"));
    assert_null(strstr(answer, "octet_gate"));
    assert_null(strstr(answer, "octet_tls"));
    assert_null(net_loop_gate_peek(s.loop));
    net_metrics_close(metrics);
    net_loop_destroy(s.loop);
}

int
main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_https_answers_an_operator),
        cmocka_unit_test(test_https_turns_others_away),
        cmocka_unit_test(test_https_sends_large_answers_whole),
        cmocka_unit_test(test_https_answers_who_sends_no_more),
        cmocka_unit_test(test_https_serves_past_half_open_connections),
        cmocka_unit_test(test_https_closes_with_open_connections),
        cmocka_unit_test(test_https_without_certificates_is_told),
        cmocka_unit_test(test_each_number_of_the_gate_has_its_name),
        cmocka_unit_test(test_metrics_tell_of_the_gate),
        cmocka_unit_test(test_the_end_of_our_certificate_is_told),
        cmocka_unit_test(test_metrics_without_a_gate_make_none),
    };
    return cmocka_run_group_tests_name("net_https", tests, certs_make, certs_remove);
}
