// A GET with a deadline: what it asks, what it takes for an answer, and what it says of anything
// else.
#include "common/oct_reason.h"
#include "tests/net/net_test.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/net_http.h"

// ---- names, which the linker puts in libc's place

static bool has_another; // before those that a name has: 127.0.0.2
static struct sockaddr_in another_at;
static struct addrinfo another;

int __real_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **out);
int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **out);
void __real_freeaddrinfo(struct addrinfo *list);
void __wrap_freeaddrinfo(struct addrinfo *list);

int
__wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                   struct addrinfo **out)
{
    int code = __real_getaddrinfo(host, service, hints, out);
    if (code == 0 && has_another) {
        another = **out;
        memcpy(&another_at, another.ai_addr, sizeof(another_at));
        another_at.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
        another.ai_addr = (struct sockaddr *)&another_at;
        another.ai_next = *out;
        *out = &another;
    }
    return code;
}

void
__wrap_freeaddrinfo(struct addrinfo *list)
{
    __real_freeaddrinfo(list == &another ? another.ai_next : list);
}

// ---- servers

// A server of one request.
typedef struct script {
    int fd; // listens
    const char *answer;
    char request[1024];
} script;

static void *
script_play(void *arg)
{
    script *s = arg;
    int fd = accept(s->fd, NULL, NULL); // below 0: nobody came
    size_t have = 0;
    ssize_t step = 1;
    while (step > 0 && strstr(s->request, "\r\n\r\n") == NULL) {
        step = recv(fd, s->request + have, sizeof(s->request) - 1 - have, 0);
        have += step > 0 ? (size_t)step : 0;
    }
    (void)send(fd, s->answer, strlen(s->answer), MSG_NOSIGNAL);
    (void)close(fd);
    return NULL;
}

static oct_err
got_from(script *s, const char *url, int *status, char *body, size_t body_size)
{
    pthread_t thread;
    oct_reason why = {""};
    assert_int_equal(listen(s->fd, 1), 0);
    assert_int_equal(pthread_create(&thread, NULL, script_play, s), 0);
    oct_err err = net_http_get(url, "/healthz", 10000, status, body, body_size, &why);
    (void)shutdown(s->fd, SHUT_RDWR); // where nobody came
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(err != OCT_EPROTO ||
                strcmp(why.text, "the answer is not from an HTTP server") == 0);
    return err;
}

static oct_err
got(const char *answer, int *status, char *body, size_t body_size)
{
    unsigned port = 0;
    char url[64];
    script s = {.fd = net_test_tcp_bind(&port), .answer = answer};
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
    oct_err err = got_from(&s, url, status, body, body_size);
    (void)close(s.fd);
    return err;
}

static void
test_answer_is_its_status_and_what_follows_the_headers(void **state)
{
    (void)state;
    int status = 0;
    char body[8];
    T_OK(got("HTTP/1.1 200 OK\r\n\r\nok\n", &status, body, sizeof(body)));
    assert_int_equal(status, 200);
    assert_string_equal(body, "ok\n");
    T_OK(got("HTTP/1.0 599 \r\nA: b\r\n\r\n0123456789", &status, body, sizeof(body)));
    assert_int_equal(status, 599);
    assert_string_equal(body, "0123456"); // cut to size
    T_OK(got("HTTP/1.1 100\r\n\r\n", &status, body, sizeof(body)));
    assert_int_equal(status, 100);
    assert_string_equal(body, "");
}

static void
test_what_is_no_answer_is_told(void **state)
{
    (void)state;
    static const char *const answers[] = {
        "",
        "HTTP/1.1 200",                // cut
        "HTTP/1.1 200 OK\r\nA: b\r\n", // likewise
        "HTTP/1.1",
        "HTTP/1.\r\n\r\n",
        "HTTP/1.1-200 OK\r\n\r\n",
        "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1 99 Low\r\n\r\n",
        "HTTP/1.1 600 High\r\n\r\n",
        "HTTP/1.1 -200 Low\r\n\r\n",
        "HTTP/1.1 two OK\r\n\r\n",
        "SSH-2.0-OpenSSH\r\n\r\n",
    };
    for (size_t i = 0; i < OCT_COUNTOF(answers); i++) {
        int status = -1;
        char body[8] = "before";
        if (got(answers[i], &status, body, sizeof(body)) != OCT_EPROTO) {
            fail_msg("was taken: %s", answers[i]);
        }
        assert_int_equal(status, -1);
        assert_string_equal(body, "before");
    }
}

// An address of IPv6 has brackets there, or its port could not be told from it.
static void
test_request_names_the_host_as_it_was_given(void **state)
{
    (void)state;
    int status, fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t size = sizeof(at);
    char url[64], body[8], want[128];
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, size) != 0) {
        skip(); // no IPv6
    }
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    script s = {.fd = fd, .answer = "HTTP/1.1 200 OK\r\n\r\n"};
    (void)snprintf(url, sizeof(url), "http://[::1]:%u", (unsigned)ntohs(at.sin6_port));
    T_OK(got_from(&s, url, &status, body, sizeof(body)));
    (void)snprintf(want, sizeof(want),
                   "GET /healthz HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n",
                   url + strlen("http://"));
    assert_string_equal(s.request, want);
    (void)close(fd);
}

// A name has several addresses, and at the first nobody may listen.
static void
test_each_address_of_a_name_is_tried(void **state)
{
    (void)state;
    int status;
    unsigned port = 0;
    char url[64], body[8];
    script s = {.fd = net_test_tcp_bind(&port), .answer = "HTTP/1.1 200 OK\r\n\r\n"};
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
    has_another = true;
    T_OK(got_from(&s, url, &status, body, sizeof(body)));
    has_another = false;
    (void)close(s.fd);
}

// Its queue of connections is full, so that the kernel answers none: as a host that is cut off.
static void
test_who_cannot_be_connected_to_in_time_is_told(void **state)
{
    (void)state;
    enum { FULL = 8 };
    int status, waiting[FULL];
    unsigned port = 0;
    char url[64], body[8];
    oct_reason why;
    int fd = net_test_tcp_bind(&port);
    struct sockaddr_in at;
    socklen_t size = sizeof(at);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    assert_int_equal(listen(fd, 0), 0);
    for (int i = 0; i < FULL; i++) {
        waiting[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_true(connect(waiting[i], (struct sockaddr *)&at, size) == 0 || errno == EINPROGRESS);
    }
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
    T_ERR(net_http_get(url, "/healthz", 50, &status, body, sizeof(body), &why), OCT_ETIMEDOUT);
    assert_string_equal(why.text, "no answer in time");
    for (int i = 0; i < FULL; i++) {
        (void)close(waiting[i]);
    }
    (void)close(fd);
}

static void
test_http_get_tells_what_failed(void **state)
{
    (void)state;
    char url[64], body[64];
    oct_reason why;
    int status;
    unsigned port = 0;
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", net_test_free_port());
    T_ERR(net_http_get(url, "/healthz", 5000, &status, body, sizeof(body), &why), OCT_EIO);
    assert_string_equal(why.text, "Connection refused");
    T_ERR(net_http_get("x", "/healthz", 1, &status, body, sizeof(body), &why), OCT_EINVAL);
    T_ERR(net_http_get("https://127.0.0.1:1", "/healthz", 1, &status, body, sizeof(body), &why),
          OCT_EINVAL);
    assert_non_null(strstr(why.text, "health checks use an http address of the same host"));
    T_ERR(net_http_get("http://127.0.0.1:1/metrics", "/healthz", 1, &status, body, sizeof(body),
                       &why),
          OCT_EINVAL);
    assert_string_equal(why.text, "the address must end after the port, as in http://HOST:PORT");
    int silent = net_test_tcp_bind(&port);
    assert_int_equal(listen(silent, 1), 0);
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
    T_ERR(net_http_get(url, "/healthz", 50, &status, body, sizeof(body), &why), OCT_ETIMEDOUT);
    (void)close(silent);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answer_is_its_status_and_what_follows_the_headers),
        cmocka_unit_test(test_what_is_no_answer_is_told),
        cmocka_unit_test(test_request_names_the_host_as_it_was_given),
        cmocka_unit_test(test_each_address_of_a_name_is_tried),
        cmocka_unit_test(test_who_cannot_be_connected_to_in_time_is_told),
        cmocka_unit_test(test_http_get_tells_what_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
