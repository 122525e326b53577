// Sockets where there is no IPv6, where a port is taken, and when a peer counts as silent: the
// kernel's answers are put in its place.
#include "tests/net/net_test.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/net_fd.h"
#include "net/net_gate.h"

// ---- calls that the linker puts in libc's place

static int socket_error, bind_error; // of IPv6; 0: none
static const struct tcp_info *tcp;   // NULL: the kernel's

int __real_socket(int family, int type, int protocol);
int __wrap_socket(int family, int type, int protocol);
int __real_bind(int fd, const struct sockaddr *address, socklen_t size);
int __wrap_bind(int fd, const struct sockaddr *address, socklen_t size);
int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size);

int
__wrap_socket(int family, int type, int protocol)
{
    if (family == AF_INET6 && socket_error != 0) {
        errno = socket_error;
        return -1;
    }
    return __real_socket(family, type, protocol);
}

int
__wrap_bind(int fd, const struct sockaddr *address, socklen_t size)
{
    if (address->sa_family == AF_INET6 && bind_error != 0) {
        errno = bind_error;
        return -1;
    }
    return __real_bind(fd, address, size);
}

int
__wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
    if (level == IPPROTO_TCP && name == TCP_INFO && tcp != NULL) {
        assert_true(*size >= sizeof(*tcp));
        memcpy(value, tcp, sizeof(*tcp));
        return 0;
    }
    return __real_getsockopt(fd, level, name, value, size);
}

// ---- listening

static int
listen_without_ipv6(int of_socket, int of_bind, const char *port)
{
    socket_error = of_socket;
    bind_error = of_bind;
    int fd = net_fd_listen_everywhere(port, 8);
    int code = errno;
    socket_error = bind_error = 0;
    errno = code;
    return fd;
}

// Switched off when the kernel was built, or since.
static void
test_every_interface_is_those_of_ipv4_where_there_is_no_other(void **state)
{
    (void)state;
    static const int errors[][2] = {{EAFNOSUPPORT, 0}, {0, EADDRNOTAVAIL}};
    for (size_t i = 0; i < OCT_COUNTOF(errors); i++) {
        struct sockaddr_in at;
        socklen_t size = sizeof(at);
        char port[8];
        unsigned number = net_test_free_port(), files = net_test_files_open();
        (void)snprintf(port, sizeof(port), "%u", number);
        int fd = listen_without_ipv6(errors[i][0], errors[i][1], port);
        assert_true(fd >= 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
        assert_int_equal(at.sin_family, AF_INET);
        assert_int_equal(at.sin_addr.s_addr, htonl(INADDR_ANY));
        (void)close(net_test_tcp_connect(number));
        (void)close(fd);
        assert_int_equal(net_test_files_open(), files);
    }
}

// Another process has the port at IPv6: that of IPv4 alone would be found by some, not by others.
static void
test_port_that_is_taken_is_not_listened_at_in_part(void **state)
{
    (void)state;
    char port[8];
    unsigned files = net_test_files_open();
    (void)snprintf(port, sizeof(port), "%u", net_test_free_port());
    assert_int_equal(listen_without_ipv6(0, EADDRINUSE, port), -1);
    assert_int_equal(errno, EADDRINUSE);
    assert_int_equal(listen_without_ipv6(EMFILE, 0, port), -1);
    assert_int_equal(errno, EMFILE);
    assert_int_equal(net_test_files_open(), files);
}

static void
test_path_of_a_local_socket_has_room_for_its_end(void **state)
{
    (void)state;
    char path[NET_FD_LOCAL_MAX + 2];
    struct sockaddr_un address;
    socklen_t size;
    memset(path, 'p', sizeof(path));
    path[NET_FD_LOCAL_MAX + 1] = '\0';
    assert_false(net_fd_local_address(path, &address, &size));
    assert_false(net_fd_local_address("", &address, &size));
    path[NET_FD_LOCAL_MAX] = '\0';
    assert_true(net_fd_local_address(path, &address, &size));
    assert_string_equal(address.sun_path, path);
    assert_true(size <= sizeof(address));
}

// ---- peers that went silently

// The kernel gives an idle connection up before the gate would have to.
static void
test_idle_peers_are_asked_within_the_gates_time(void **state)
{
    (void)state;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 0, idle_s = 0, each_s = 0,
        probes = 0;
    socklen_t size = sizeof(int);
    net_fd_prepare(fd);
    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, &size), 0);
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, &size), 0);
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &each_s, &size), 0);
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, &size), 0);
    assert_int_equal(on, 1);
    assert_true(1000 * (idle_s + probes * each_s) <= NET_GATE_DEAD_MS);
    (void)close(fd);
}

static void
test_peer_is_silent_that_answers_nothing_for_so_long(void **state)
{
    (void)state;
    enum { LIMIT_MS = 4000 };
    static const struct {
        struct tcp_info info;
        bool is_silent;
    } cases[] = {
        {{0}, false},
        {{.tcpi_last_ack_recv = 9000, .tcpi_last_data_recv = 9000},
         false}, // idle: nothing is asked
        {{.tcpi_unacked = 1, .tcpi_last_ack_recv = 4001, .tcpi_last_data_recv = 4001}, true},
        {{.tcpi_unacked = 1, .tcpi_last_ack_recv = 4000, .tcpi_last_data_recv = 9000}, false},
        {{.tcpi_unacked = 1, .tcpi_last_ack_recv = 9000, .tcpi_last_data_recv = 4000}, false},
        // its window is closed: one question may be under way
        {{.tcpi_probes = 1, .tcpi_last_ack_recv = 9000, .tcpi_last_data_recv = 9000}, false},
        {{.tcpi_probes = 2, .tcpi_last_ack_recv = 9000, .tcpi_last_data_recv = 9000}, true},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        tcp = &cases[i].info;
        assert_int_equal(net_fd_is_silent(-1, LIMIT_MS), cases[i].is_silent);
    }
    tcp = NULL;
    assert_false(net_fd_is_silent(-1, LIMIT_MS)); // nothing is known
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_interface_is_those_of_ipv4_where_there_is_no_other),
        cmocka_unit_test(test_port_that_is_taken_is_not_listened_at_in_part),
        cmocka_unit_test(test_path_of_a_local_socket_has_room_for_its_end),
        cmocka_unit_test(test_idle_peers_are_asked_within_the_gates_time),
        cmocka_unit_test(test_peer_is_silent_that_answers_nothing_for_so_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
