// The HTTP server answers GET and HEAD, refuses the rest, and keeps serving beside slow or hostile
// clients.
#include "common/oct_reason.h"
#include "tests/net/net_test.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/oct_clock.h"
#include "net/net_fd.h"
#include "net/net_http.h"

#define READ_MAX 65536

#define LARGE (8u << 20) // more than sockets hold

// A server on the loop of the test's main thread; clients block in a thread of their own.
typedef struct server {
    net_loop *loop;
    net_http *http;
    unsigned port;
    pthread_t thread; // of the loop
    unsigned asked;
    unsigned released;
    bool elsewhere; // the handler ran on another thread
} server;

static char shared[LARGE];

static void
shared_release(void *owner)
{
    ((server *)owner)->released++;
}

static void
asked(void *arg, const net_http_request *request, net_http_answer *out)
{
    const char *path = request->path;
    server *s = arg;
    s->asked++;
    s->elsewhere = s->elsewhere || !pthread_equal(pthread_self(), s->thread);
    if (strcmp(path, "/metrics") == 0) {
        out->status = 200;
        out->content_type = "text/plain; version=0.0.4; charset=utf-8";
        out->body = strdup("octet_a 1\n");
        out->length = strlen(out->body);
    } else if (strcmp(path, "/large") == 0) {
        out->status = 200;
        out->body = calloc(1, LARGE);
        out->length = LARGE;
    } else if (strcmp(path, "/shared") == 0) {
        *out = (net_http_answer){
            .status = 200, .body = shared, .length = LARGE, .release = shared_release, .owner = s};
    } else if (strcmp(path, "/healthz") == 0) {
        out->status = 503;
        out->body = strdup("replay does not answer\n");
        out->length = strlen(out->body);
    }
}

static server
server_open(void)
{
    server s = {.loop = net_loop_create(), .thread = pthread_self()};
    return s;
}

static void
server_listen_at(server *s, const char *host)
{
    char url[64];
    (void)snprintf(url, sizeof(url), "http://%s:%u", host, net_test_free_port());
    T_OK(net_http_open(&s->http, s->loop, url, asked, s));
    s->port = net_http_port(s->http);
}

static void
server_listen(server *s)
{
    server_listen_at(s, "127.0.0.1");
}

static void
server_close(server *s)
{
    net_http_close(s->http);
    net_loop_destroy(s->loop);
    assert_false(s->elsewhere);
}

// ---- clients

typedef struct client {
    void (*run)(struct client *c);
    server *s;
    const char *request;
    size_t length;
    char answer[READ_MAX];
    size_t got;
    const char *path; // unix
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
    net_test_play(c->s->loop, client_run, c);
}

static void
read_all(int fd, client *c)
{
    ssize_t step;
    while (c->got < READ_MAX - 1 &&
           (step = recv(fd, c->answer + c->got, READ_MAX - 1 - c->got, 0)) > 0) {
        c->got += (size_t)step;
    }
    c->answer[c->got] = '\0';
}

static void
client_asks(client *c)
{
    int fd = net_test_tcp_connect(c->s->port);
    for (size_t sent = 0; sent < c->length;) {
        ssize_t step = send(fd, c->request + sent, c->length - sent, MSG_NOSIGNAL);
        if (step <= 0) {
            break; // it does not want to hear more
        }
        sent += (size_t)step;
    }
    read_all(fd, c);
    (void)close(fd);
}

static client *
ask_bytes(server *s, const char *request, size_t length)
{
    static client c;
    c = (client){.run = client_asks, .s = s, .request = request, .length = length};
    client_play(&c);
    return &c;
}

static const char *
ask(server *s, const char *request)
{
    return ask_bytes(s, request, strlen(request))->answer;
}

static void
begins(const char *answer, const char *want)
{
    if (strncmp(answer, want, strlen(want)) != 0) {
        fail_msg("'%.60s' does not begin with '%s'", answer, want);
    }
}

static void
ends(const char *answer, const char *want)
{
    size_t length = strlen(answer), want_length = strlen(want);
    if (length < want_length || strcmp(answer + length - want_length, want) != 0) {
        fail_msg("'%s' does not end with '%s'", answer, want);
    }
}

// ---- requests

static void
test_http_refuses_what_is_no_get(void **state)
{
    (void)state;
    server s = server_open();
    server_listen(&s);
    static const char *const methods[] = {"POST", "PUT", "DELETE", "OPTIONS", "BREW"};
    for (size_t i = 0; i < OCT_COUNTOF(methods); i++) {
        char request[256];
        (void)snprintf(
            request, sizeof(request),
            "%s /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\nx",
            methods[i]);
        const char *answer = ask(&s, request);
        begins(answer, "HTTP/1.1 405");
        assert_non_null(strstr(answer, "\r\nAllow: GET, HEAD\r\n"));
    }
    assert_int_equal(s.asked, 0);
    server_close(&s);
}

static void
test_http_answers_404_to_unknown_paths(void **state)
{
    (void)state;
    server s = server_open();
    server_listen(&s);
    char longer[300] = "GET /";
    for (unsigned bytes = NET_HTTP_PATH_MAX + 1; bytes >= NET_HTTP_PATH_MAX; bytes--) {
        memset(longer + 5, 'a', bytes - 1);
        (void)snprintf(longer + 4 + bytes, 64, " HTTP/1.1\r\nHost: localhost\r\n\r\n");
        begins(ask(&s, longer), "HTTP/1.1 404");
        assert_int_equal(s.asked, bytes <= NET_HTTP_PATH_MAX);
    }
    begins(ask(&s, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "HTTP/1.1 404");
    begins(ask(&s, "GET /../metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"), "HTTP/1.1 404");
    begins(ask(&s, "GET /metrics/ HTTP/1.1\r\nHost: localhost\r\n\r\n"), "HTTP/1.1 404");
    server_close(&s);
}

static void
test_http_survives_garbage(void **state)
{
    (void)state;
    server s = server_open();
    server_listen(&s);
    uint32_t seed = 1;
    for (int round = 0; round < 200; round++) {
        char bytes[512];
        for (size_t i = 0; i < sizeof(bytes); i++) {
            seed = seed * 1664525u + 1013904223u;
            bytes[i] = (char)(seed >> 24);
        }
        memcpy(bytes + sizeof(bytes) - 8, round % 2 ? "\r\n\r\n\r\n\r\n" : "\n\n\n\n\n\n\n\n", 8);
        client *c = ask_bytes(&s, bytes, sizeof(bytes));
        assert_true(c->got == 0 || strncmp(c->answer, "HTTP/1.1 4", 10) == 0 ||
                    strncmp(c->answer, "HTTP/1.1 505", 12) == 0 ||
                    strncmp(c->answer, "HTTP/1.0 4", 10) == 0);
    }
    begins(ask(&s, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"), "HTTP/1.1 200");
    server_close(&s);
}

static void
test_http_refuses_large_headers(void **state)
{
    (void)state;
    server s = server_open();
    server_listen(&s);
    static char one[65536 + 128], many[65536 + 128], line[65536 + 128];
    (void)snprintf(one, sizeof(one),
                   "GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: %065536d\r\n\r\n", 1);
    (void)snprintf(line, sizeof(line), "GET /%065536d HTTP/1.1\r\n\r\n", 1);
    size_t used =
        (size_t)snprintf(many, sizeof(many), "GET /metrics HTTP/1.1\r\nHost: localhost\r\n");
    while (used < 65536) {
        used += (size_t)snprintf(many + used, sizeof(many) - used, "X%zu: 1\r\n", used);
    }
    (void)snprintf(many + used, sizeof(many) - used, "\r\n");
    const char *const requests[] = {one, many, line};
    for (size_t i = 0; i < OCT_COUNTOF(requests); i++) {
        // An answer may be lost when the connection is closed with unread bytes.
        const char *answer = ask(&s, requests[i]);
        assert_true(answer[0] == '\0' || strncmp(answer, "HTTP/1.1 4", 10) == 0);
    }
    assert_int_equal(s.asked, 0);
    server_close(&s);
}

static void
test_http_answers_get_and_head_in_both_versions(void **state)
{
    (void)state;
    server s = server_open();
    server_listen(&s);
    const char *answer = ask(&s, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    begins(answer, "HTTP/1.1 200 OK\r\n");
    assert_non_null(strstr(answer, "\r\nContent-Length: 10\r\n"));
    assert_non_null(strstr(answer, "\r\nConnection: close\r\n"));
    assert_non_null(
        strstr(answer, "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    ends(answer, "\r\n\r\noctet_a 1\n");
    ends(ask(&s, "GET /metrics?x=1 HTTP/1.0\r\nHost: localhost\r\n\r\n"), "\r\n\r\noctet_a 1\n");
    answer = ask(&s, "HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    begins(answer, "HTTP/1.1 200 OK\r\n");
    assert_non_null(strstr(answer, "\r\nContent-Length: 10\r\n"));
    ends(answer, "\r\n\r\n");
    begins(ask(&s, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"), "HTTP/1.1 503");
    assert_int_equal(s.asked, 4);
    server_close(&s);
}

// ---- connections

// Many peers that never finish their request, each a byte now and then, until all were cut.
static void
client_drips(client *c)
{
    enum { PEERS = 24 };
    int fd[PEERS];
    unsigned cut = 0;
    for (int i = 0; i < PEERS; i++) {
        fd[i] = net_test_tcp_connect(c->s->port);
    }
    while (cut < PEERS) {
        for (int i = 0; i < PEERS; i++) {
            char byte;
            if (fd[i] < 0) {
                continue;
            }
            (void)send(fd[i], "G", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
            ssize_t got = recv(fd[i], &byte, 1, MSG_DONTWAIT);
            if (got == 0 || (got < 0 && errno != EAGAIN)) {
                (void)close(fd[i]);
                fd[i] = -1;
                cut++;
            }
        }
        (void)usleep(20000); // how fast it drips
    }
}

static void
most_connections(void *arg)
{
    server *s = arg;
    assert_true(net_http_connections(s->http) <= NET_HTTP_CONNECTIONS_MAX);
}

static void
test_http_cuts_peers_that_drip(void **state)
{
    (void)state;
    server s = server_open();
    server_listen(&s);
    static client c;
    c = (client){.run = client_drips, .s = &s};
    net_timer *timer = net_timer_start(s.loop, 10, 10, most_connections, &s);
    client_play(&c);
    net_timer_stop(timer);
    begins(ask(&s, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"), "HTTP/1.1 200");
    server_close(&s);
}

// Says half a request and holds every place; a good peer is served all the same. Would it wait
// until their time is up, so many rounds would take longer than the test may.
static void
client_waits_behind_silence(client *c)
{
    enum { ROUNDS = 20 };
    int fd[NET_HTTP_CONNECTIONS_MAX];
    bool is_served = true;
    for (int round = 0; round < ROUNDS && is_served; round++) {
        c->got = 0;
        for (int i = 0; i < NET_HTTP_CONNECTIONS_MAX; i++) {
            fd[i] = net_test_tcp_connect(c->s->port);
            (void)send(fd[i], "GET /m", 6, MSG_NOSIGNAL);
        }
        client_asks(c);
        is_served = strncmp(c->answer, "HTTP/1.1 200", 12) == 0;
        for (int i = 0; i < NET_HTTP_CONNECTIONS_MAX; i++) {
            (void)close(fd[i]);
        }
    }
}

// Whoever asks at the end of run gets an answer.
static void
serves_after(void (*run)(client *c))
{
    static const char request[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static client c;
    server s = server_open();
    server_listen(&s);
    c = (client){.run = run, .s = &s, .request = request, .length = strlen(request)};
    client_play(&c);
    begins(c.answer, "HTTP/1.1 200");
    server_close(&s);
}

static void
test_http_serves_who_waits_behind_silent_peers(void **state)
{
    (void)state;
    serves_after(client_waits_behind_silence);
}

static void
client_waits_behind_unread_answers(client *c)
{
    static const char request[] = "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n";
    int fd[NET_HTTP_CONNECTIONS_MAX - 1], small = 1024;
    for (size_t i = 0; i < OCT_COUNTOF(fd); i++) {
        char first;
        fd[i] = net_test_tcp_connect(c->s->port);
        (void)setsockopt(fd[i], SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
        (void)send(fd[i], request, sizeof(request) - 1, MSG_NOSIGNAL);
        assert_int_equal(recv(fd[i], &first, 1, 0), 1); // its request is complete
    }
    client_asks(c);
    for (size_t i = 0; i < OCT_COUNTOF(fd); i++) {
        (void)close(fd[i]);
    }
}

// A name that others let point to this machine (DNS rebinding) opens nothing.
static void
test_http_at_loopback_refuses_other_hosts(void **state)
{
    (void)state;
    static const char *const hosts[] = {
        "evil.example",  "evil.example:80", "127.0.0.1.evil.example", "192.0.2.1", "",
        "localhost.evil"};
    static const char *const good[] = {"localhost", "localhost:9", "127.0.0.1", "127.0.0.1:80",
                                       "[::1]:80"};
    char request[128];
    server s = server_open();
    server_listen(&s);
    for (size_t i = 0; i < OCT_COUNTOF(hosts); i++) {
        (void)snprintf(request, sizeof(request), "GET /metrics HTTP/1.1\r\nHost: %s\r\n\r\n",
                       hosts[i]);
        begins(ask(&s, request), "HTTP/1.1 403");
    }
    assert_int_equal(s.asked, 0);
    for (size_t i = 0; i < OCT_COUNTOF(good); i++) {
        (void)snprintf(request, sizeof(request), "GET /metrics HTTP/1.1\r\nHost: %s\r\n\r\n",
                       good[i]);
        begins(ask(&s, request), "HTTP/1.1 200");
    }
    begins(ask(&s, "GET /metrics HTTP/1.0\r\n\r\n"), "HTTP/1.1 403");
    assert_int_equal(s.asked, OCT_COUNTOF(good));
    server_close(&s);
}

static void
test_http_serves_who_waits_behind_unread_answers(void **state)
{
    (void)state;
    serves_after(client_waits_behind_unread_answers);
}

// The oldest of all reads its answer; a newer one has not asked yet, and makes room.
static void
client_reads_beside_silence(client *c)
{
    static const char request[] = "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static char bytes[READ_MAX];
    int fd[NET_HTTP_CONNECTIONS_MAX - 1];
    size_t got = 0;
    ssize_t step = 1;
    for (size_t i = 0; i < OCT_COUNTOF(fd); i++) {
        fd[i] = net_test_tcp_connect(c->s->port);
        (void)send(fd[i], request, i == 0 ? sizeof(request) - 1 : 6, MSG_NOSIGNAL);
        if (i == 0) {
            assert_int_equal(recv(fd[0], bytes, 1, 0), 1); // its request is complete
        }
    }
    client_asks(c);
    while ((step = recv(fd[0], bytes, sizeof(bytes), 0)) > 0) {
        got += (size_t)step;
    }
    if (got <= LARGE) {
        (void)snprintf(c->answer, sizeof(c->answer), "who was reading was cut");
    }
    for (size_t i = 0; i < OCT_COUNTOF(fd); i++) {
        (void)close(fd[i]);
    }
}

static void
test_http_cuts_who_has_not_asked_before_who_has(void **state)
{
    (void)state;
    serves_after(client_reads_beside_silence);
}

// A server that has no descriptor for who is there does not spin, and
// serves when there is one again.
static void
client_comes_for_nothing(client *c)
{
    struct rlimit limit, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int lowest = dup(fd);
    none = (struct rlimit){.rlim_cur = (rlim_t)lowest, .rlim_max = limit.rlim_max};
    (void)close(lowest);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)c->s->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    uint64_t before = oct_clock_process_cpu_ns();
    (void)usleep(500000); // long enough for a loop that spins to be seen
    c->got = (size_t)(oct_clock_process_cpu_ns() - before);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_true(send(fd, c->request, c->length, MSG_NOSIGNAL) == (ssize_t)c->length);
    assert_true(recv(fd, c->answer, READ_MAX - 1, 0) > 0);
    (void)close(fd);
}

static void
test_http_rests_while_there_are_no_descriptors(void **state)
{
    (void)state;
    server s = server_open();
    server_listen(&s);
    static const char request[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static client c;
    c = (client){
        .run = client_comes_for_nothing, .s = &s, .request = request, .length = strlen(request)};
    client_play(&c);
    begins(c.answer, "HTTP/1.1 200");
    assert_true(c.got < 15000000); // ns of CPU: one that spins takes 70 ms, one that rests 1 ms
    server_close(&s);
}

// Each answer is released once, whether it was sent or not.
static void
test_http_closes_with_open_connections(void **state)
{
    (void)state;
    static const char *const requests[] = {"GET /m", "GET /m",
                                           "HEAD /shared HTTP/1.0\r\nHost: localhost\r\n\r\n",
                                           "GET /shared HTTP/1.0\r\nHost: localhost\r\n\r\n"};
    server s = server_open();
    server_listen(&s);
    int fd[4];
    for (int i = 0; i < 4; i++) {
        fd[i] = net_test_tcp_connect(s.port);
        ssize_t length = (ssize_t)strlen(requests[i]);
        assert_int_equal(send(fd[i], requests[i], (size_t)length, MSG_NOSIGNAL), length);
    }
    while (s.asked < 2 || s.released < 1 || net_http_connections(s.http) < 3) {
        net_test_turn(s.loop, 1);
    }
    assert_int_equal(s.released, 1);
    server_close(&s);
    assert_int_equal(s.released, 2);
    for (int i = 0; i < 4; i++) {
        char byte;
        while (recv(fd[i], &byte, 1, 0) > 0) {
        }
        (void)close(fd[i]);
    }
}

// ---- addresses

static void
client_asks_unix(client *c)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", c->path);
    size_t length = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(c->path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&address, (socklen_t)length) == 0 &&
        send(fd, c->request, c->length, MSG_NOSIGNAL) == (ssize_t)c->length) {
        read_all(fd, c);
    }
    (void)close(fd);
}

static void
answers_at(server *s, const char *path)
{
    static const char request[] = "GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n";
    static client c;
    c = (client){.run = client_asks_unix,
                 .s = s,
                 .path = path,
                 .request = request,
                 .length = strlen(request)};
    client_play(&c);
    ends(c.answer, "\r\n\r\noctet_a 1\n");
}

static void
test_http_listens_at_a_private_socket(void **state)
{
    (void)state;
    server s = server_open();
    const char *path = net_test_path("metrics.sock");
    int fd;
    T_OK(net_http_listen_local(&fd, path));
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    T_OK(net_http_open_fd(&s.http, s.loop, fd, asked, &s));
    assert_int_equal(net_http_port(s.http), 0);
    answers_at(&s, path);
    server_close(&s);
}

static void
test_http_local_path_that_is_taken_or_too_long_is_told(void **state)
{
    (void)state;
    char text[1024], longest[NET_FD_LOCAL_MAX + 2];
    int fd, again;
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    const char *path = net_test_path("taken.sock"), *log = net_test_path("taken.log");
    T_OK(net_http_listen_local(&fd, path));
    int saved = net_test_stderr_to(log);
    oct_err taken = net_http_listen_local(&again, path);
    oct_err too_long = net_http_listen_local(&again, longest);
    net_test_stderr_back(saved);
    (void)close(fd);
    T_ERR(taken, OCT_EIO);
    T_ERR(too_long, OCT_EIO);
    net_test_read(log, text, sizeof(text));
    assert_non_null(strstr(text, "Address already in use"));
    assert_non_null(strstr(text, "allowed are 1 to 107 bytes"));
}

// There IPv4 comes as IPv6.
static void
test_http_listens_at_every_interface(void **state)
{
    (void)state;
    server s = server_open();
    server_listen_at(&s, "*");
    begins(ask(&s, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"), "HTTP/1.1 200");
    server_close(&s);
}

static void
test_http_port_in_use_is_told(void **state)
{
    (void)state;
    server s = server_open();
    unsigned port = 0;
    int taken = net_test_tcp_bind(&port);
    assert_int_equal(listen(taken, 1), 0);
    char url[64], text[4096];
    const char *log = net_test_path("http.log");
    int saved = net_test_stderr_to(log);
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
    oct_err in_use = net_http_open(&s.http, s.loop, url, asked, &s);
    net_test_stderr_back(saved);
    T_ERR(in_use, OCT_EIO);
    net_test_read(log, text, sizeof(text));
    assert_non_null(strstr(text, "NET-HTTP url=http://127.0.0.1:"));
    assert_non_null(strstr(text, "another process listens on this port"));
    (void)close(taken);
    net_loop_destroy(s.loop);
}

// What a browser sends for the pages of this machine, and for a name of somebody else's.
static void
test_http_local_names(void **state)
{
    (void)state;
    static const char *const local[] = {"localhost", "localhost:8765", "127.0.0.1:8765",
                                        "127.0.0.1", "[::1]:8765",     "[::1]"};
    static const char *const foreign[] = {"",
                                          "evil.example",
                                          "evil.example:8765",
                                          "127.0.0.1.evil.example:8765",
                                          "localhost.evil.example",
                                          "192.168.0.2:8765",
                                          "0.0.0.0:8765",
                                          "127.0.0.1:8765:1",
                                          "[::1",
                                          "*:8765",
                                          ":8765"};
    for (size_t i = 0; i < OCT_COUNTOF(local); i++) {
        assert_true(net_http_is_local(local[i]));
    }
    for (size_t i = 0; i < OCT_COUNTOF(foreign); i++) {
        if (net_http_is_local(foreign[i])) {
            fail_msg("'%s' is taken for this machine", foreign[i]);
        }
    }
    assert_false(net_http_is_local(NULL));
}

static void
test_http_check_table(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        oct_err secure, insecure;
    } cases[] = {
        {"", OCT_EINVAL, OCT_EINVAL},
        {"127.0.0.1:9464", OCT_EINVAL, OCT_EINVAL},
        {"tcp://127.0.0.1:9464", OCT_EINVAL, OCT_EINVAL},
        {"http://127.0.0.1", OCT_EINVAL, OCT_EINVAL},
        {"http://127.0.0.1:0", OCT_EINVAL, OCT_EINVAL},
        {"http://127.0.0.1:65536", OCT_EINVAL, OCT_EINVAL},
        {"http://127.0.0.1:9464/metrics", OCT_EINVAL, OCT_EINVAL},
        {"http://user@127.0.0.1:9464", OCT_EINVAL, OCT_EINVAL},
        {"http://::1:9464", OCT_EINVAL, OCT_EINVAL},
        {"http://[::1]9464", OCT_EINVAL, OCT_EINVAL},
        {"http://0.0.0.0:9464", OCT_EINVAL, OCT_OK},
        {"http://*:9464", OCT_EINVAL, OCT_OK},
        {"http://192.0.2.1:9464", OCT_EINVAL, OCT_OK},
        {"http://learner:9464", OCT_EINVAL, OCT_OK},
        {"http://[2001:db8::1]:9464", OCT_EINVAL, OCT_OK},
        {"http://127.0.0.1:9464", OCT_OK, OCT_OK},
        {"http://127.0.0.1:9464/", OCT_OK, OCT_OK},
        {"http://[::1]:9464", OCT_OK, OCT_OK},
        {"http://localhost:9464", OCT_OK, OCT_OK},
        {"https://0.0.0.0:9464", OCT_OK, OCT_OK},
        {"https://learner:9464", OCT_OK, OCT_OK},
    };
    const net_http_terms strict = {.has_tls = true, .to_be_insecure = "--trust"};
    const net_http_terms lax = {.has_tls = true, .insecure = true};
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        oct_reason why = {""};
        oct_err secure = net_http_check(cases[i].url, &strict, &why);
        if (secure != cases[i].secure || (secure != OCT_OK && why.text[0] == '\0') ||
            net_http_check(cases[i].url, &lax, &why) != cases[i].insecure) {
            fail_msg("'%s': %s, reason '%s'", cases[i].url, oct_strerror(secure), why.text);
        }
    }
    oct_reason why = {""};
    T_ERR(net_http_check("http://0.0.0.0:9464", &strict, &why), OCT_EINVAL);
    assert_non_null(strstr(why.text, ": use https://, or give --trust if the network is trusted"));
    const net_http_terms bare = {.to_have_tls = "--certs"}; // nothing makes it serve in clear
    T_ERR(net_http_check("http://0.0.0.0:9464", &bare, &why), OCT_EINVAL);
    assert_string_equal(strstr(why.text, ": use"), ": use https://");
    T_ERR(net_http_check("https://learner:9464", &bare, &why), OCT_EINVAL);
    assert_string_equal(why.text, "https needs certificates: --certs");
    T_ERR(net_http_check("https://learner:9464/x", &lax, &why), OCT_EINVAL);
    assert_string_equal(why.text, "the address must end after the port, as in https://HOST:PORT");
}

// ---- the other side

static void
client_gets(client *c)
{
    char url[64], body[64];
    oct_reason why;
    int status = 0;
    (void)snprintf(url, sizeof(url), "http://localhost:%u/", c->s->port);
    oct_err err = net_http_get(url, c->request, 5000, &status, body, sizeof(body), &why);
    c->got =
        (size_t)snprintf(c->answer, sizeof(c->answer), "%s %d %s", oct_strerror(err), status, body);
}

static void
test_http_get_reads_the_answer(void **state)
{
    (void)state;
    server s = server_open();
    server_listen(&s);
    static client c;
    c = (client){.run = client_gets, .s = &s, .request = "/metrics"};
    client_play(&c);
    ends(c.answer, " 200 octet_a 1\n");
    c = (client){.run = client_gets, .s = &s, .request = "/healthz"};
    client_play(&c);
    ends(c.answer, " 503 replay does not answer\n");
    server_close(&s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_refuses_what_is_no_get),
        cmocka_unit_test(test_http_answers_404_to_unknown_paths),
        cmocka_unit_test(test_http_survives_garbage),
        cmocka_unit_test(test_http_refuses_large_headers),
        cmocka_unit_test(test_http_answers_get_and_head_in_both_versions),
        cmocka_unit_test(test_http_cuts_peers_that_drip),
        cmocka_unit_test(test_http_serves_who_waits_behind_silent_peers),
        cmocka_unit_test(test_http_at_loopback_refuses_other_hosts),
        cmocka_unit_test(test_http_serves_who_waits_behind_unread_answers),
        cmocka_unit_test(test_http_cuts_who_has_not_asked_before_who_has),
        cmocka_unit_test(test_http_rests_while_there_are_no_descriptors),
        cmocka_unit_test(test_http_closes_with_open_connections),
        cmocka_unit_test(test_http_listens_at_a_private_socket),
        cmocka_unit_test(test_http_local_path_that_is_taken_or_too_long_is_told),
        cmocka_unit_test(test_http_listens_at_every_interface),
        cmocka_unit_test(test_http_port_in_use_is_told),
        cmocka_unit_test(test_http_check_table),
        cmocka_unit_test(test_http_local_names),
        cmocka_unit_test(test_http_get_reads_the_answer),
    };
    return cmocka_run_group_tests(tests, NULL, net_test_folder_remove);
}
