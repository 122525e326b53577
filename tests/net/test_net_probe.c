// A probe tells the best of what the addresses of a name show.
#include "tests/net/net_test.h"

#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/net_probe.h"

#define TRIES  10
#define CLOSED "nothing listens there"
#define OTHER  "the listener does not answer as Octet"
#define OURS   "connected, but the process there does not answer"

// A port of 127.0.0.1, and what listens there.
typedef struct place {
    struct sockaddr_in address;
    struct addrinfo info;
    int fd;
} place;

// The port is bound until the test ends, so that nobody else gets it.
static void
place_open(place *p, bool listens)
{
    socklen_t size = sizeof(p->address);
    *p = (place){.address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}},
                 .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    p->info = (struct addrinfo){.ai_family = AF_INET,
                                .ai_socktype = SOCK_STREAM,
                                .ai_addr = (struct sockaddr *)&p->address,
                                .ai_addrlen = size};
    assert_true(p->fd >= 0);
    assert_int_equal(bind(p->fd, p->info.ai_addr, size), 0);
    assert_int_equal(getsockname(p->fd, p->info.ai_addr, &size), 0);
    assert_true(!listens || listen(p->fd, 8) == 0);
}

// Says what NNG says first, to all who connect.
static void *
greet(void *arg)
{
    const place *p = arg;
    static const char header[8] = {'\0', 'S', 'P', '\0', '\0', '\x30', '\0', '\0'};
    for (int fd; (fd = accept(p->fd, NULL, NULL)) >= 0;) {
        (void)send(fd, header, sizeof(header), MSG_NOSIGNAL);
        (void)close(fd);
    }
    return NULL;
}

// A greeting may come too late on a busy machine, so it is asked for some times.
static void
assert_told(place *places[], size_t count, const char *want)
{
    char out[256] = "";
    for (size_t i = 0; i < count; i++) {
        places[i]->info.ai_next = i + 1 < count ? &places[i + 1]->info : NULL;
    }
    for (int i = 0; i < TRIES; i++) {
        net_probe_addresses(&places[0]->info, out, sizeof(out));
        if (strncmp(out, want, strlen(want)) == 0) {
            return;
        }
    }
    fail_msg("\"%s\", expected \"%s\"", out, want);
}

static void
test_probe_tells_the_best_of_all_addresses(void **state)
{
    (void)state;
    place closed, other, ours;
    pthread_t thread;
    place_open(&closed, false);
    place_open(&other, true);
    place_open(&ours, true);
    assert_int_equal(pthread_create(&thread, NULL, greet, &ours), 0);
    assert_told((place *[]){&closed}, 1, CLOSED);
    assert_told((place *[]){&closed, &other}, 2, OTHER);
    assert_told((place *[]){&other, &closed}, 2, OTHER);
    assert_told((place *[]){&closed, &ours}, 2, OURS);
    assert_told((place *[]){&ours, &closed}, 2, OURS);
    assert_told((place *[]){&closed, &other, &ours}, 3, OURS);
    (void)shutdown(ours.fd, SHUT_RDWR);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)close(closed.fd);
    (void)close(other.fd);
    (void)close(ours.fd);
}

// An address that cannot even be tried says less than a closed port.
static void
test_probe_prefers_a_closed_port_to_a_failure(void **state)
{
    (void)state;
    place closed, nowhere;
    place_open(&closed, false);
    place_open(&nowhere, false);
    nowhere.address.sin_addr.s_addr = htonl(INADDR_BROADCAST); // EACCES, ENETUNREACH
    assert_told((place *[]){&nowhere, &closed}, 2, CLOSED);
    assert_told((place *[]){&closed, &nowhere}, 2, CLOSED);
    char out[256] = "";
    nowhere.info.ai_next = NULL;
    net_probe_addresses(&nowhere.info, out, sizeof(out));
    assert_true(out[0] != '\0' && strcmp(out, CLOSED) != 0); // alone it is told all the same
    (void)close(closed.fd);
    (void)close(nowhere.fd);
}

static void
test_probe_of_an_address(void **state)
{
    (void)state;
    char url[64], out[256] = "";
    place closed;
    place_open(&closed, false);
    (void)snprintf(url, sizeof(url), "tcp://127.0.0.1:%u", ntohs(closed.address.sin_port));
    assert_true(net_probe(url, out, sizeof(out)));
    assert_string_equal(out, CLOSED);
    assert_false(net_probe("tls+tcp://127.0.0.1:1", out, sizeof(out)));
    assert_false(net_probe("ipc:///nowhere/learner.ipc", out, sizeof(out)));
    (void)close(closed.fd);
}

// A socket that a process holds without an answer; of another user's nothing is told.
static void
test_probe_of_a_local_socket(void **state)
{
    (void)state;
    char url[128], out[256] = "";
    (void)snprintf(url, sizeof(url), "%s", net_test_url("ipc"));
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", url + strlen("ipc://"));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_true(net_probe(url, out, sizeof(out)));
    assert_string_equal(out, "the process there is stopped, or hangs");
    if (geteuid() == 0) {
        assert_int_equal(chown(address.sun_path, 65534, 65534), 0);
        assert_false(net_probe(url, out, sizeof(out)));
    }
    (void)close(fd);
    assert_int_equal(unlink(address.sun_path), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probe_tells_the_best_of_all_addresses),
        cmocka_unit_test(test_probe_prefers_a_closed_port_to_a_failure),
        cmocka_unit_test(test_probe_of_an_address),
        cmocka_unit_test(test_probe_of_a_local_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
