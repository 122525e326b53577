// Sockets of our own: listening ones, local ones, and the options of TCP connections.
#include "net/net_fd.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"

#define NOTSENT_BYTES  131072 // bytes that the kernel keeps unsent
#define KEEPALIVE_S    1
#define PROBES_MAX     3
#define UNHEARD_PROBES 2 // unanswered probes of a closed window
#define KIND           (SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC)

int
net_fd_listen(const struct addrinfo *address, int backlog)
{
    int yes = 1, no = 0;
    int fd = socket(address->ai_family, KIND, 0);
    if (fd >= 0 && address->ai_family == AF_INET6) { // the system's default may differ
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    }
    if (fd >= 0 &&
        (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
         bind(fd, address->ai_addr, address->ai_addrlen) != 0 || listen(fd, backlog) != 0)) {
        int code = errno;
        (void)close(fd);
        errno = code;
        return -1;
    }
    return fd;
}

static int
listen_at(const char *host, const char *port, int backlog)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found;
    if (getaddrinfo(host, port, &hints, &found) != 0) {
        errno = EINVAL;
        return -1;
    }
    int fd = net_fd_listen(found, backlog);
    int code = errno;
    freeaddrinfo(found);
    errno = code;
    return fd;
}

int
net_fd_listen_everywhere(const char *port, int backlog)
{
    int fd = listen_at("::", port, backlog);
    bool has_ipv6 = fd >= 0 || (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL);
    return has_ipv6 ? fd : listen_at("0.0.0.0", port, backlog);
}

bool
net_fd_wait(int fd, short events, uint64_t end_ns)
{
    uint64_t now_ns = oct_clock_ns();
    while (now_ns < end_ns) {
        struct pollfd waiting = {.fd = fd, .events = events};
        int ready = poll(&waiting, 1, (int)((end_ns - now_ns) / 1000000 + 1));
        if (ready > 0) {
            return true;
        }
        if (ready < 0 && errno != EINTR) {
            return false;
        }
        now_ns = oct_clock_ns();
    }
    return false;
}

int
net_fd_connect(const struct addrinfo *address, uint64_t end_ns)
{
    int fd = socket(address->ai_family, KIND, 0);
    if (fd < 0) {
        return -1;
    }
    int code = connect(fd, address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
    if (code == EINPROGRESS) {
        socklen_t size = sizeof(code);
        if (!net_fd_wait(fd, POLLOUT, end_ns)) {
            code = ETIMEDOUT;
        } else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) != 0) {
            code = errno;
        }
    }
    if (code != 0) {
        (void)close(fd);
        errno = code;
        return -1;
    }
    return fd;
}

bool
net_fd_local_address(const char *path, struct sockaddr_un *out, socklen_t *size)
{
    size_t length = strlen(path);
    if (length == 0 || length > NET_FD_LOCAL_MAX) {
        return false;
    }
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(out->sun_path, path, length);
    *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    return true;
}

int
net_fd_local_connect(const char *path)
{
    struct sockaddr_un address;
    socklen_t size;
    OCT_ASSERT(net_fd_local_address(path, &address, &size));
    int fd = socket(AF_UNIX, KIND, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, size) != 0) {
        int code = errno;
        (void)close(fd);
        errno = code;
        return -1;
    }
    return fd;
}

void
net_fd_prepare(int fd)
{
    const int yes = 1, period = KEEPALIVE_S, probes = PROBES_MAX, notsent = NOTSENT_BYTES;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &period, sizeof(period));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &period, sizeof(period));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &notsent, sizeof(notsent));
}

void
net_fd_reset(int fd)
{
    const struct linger none = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
}

// The kernel probes an idle peer every second and ends the connection when it does not answer.
// While bytes of ours are under way it does not probe, so the time of the last acknowledgement
// decides. A peer that reads nothing has a window of zero and is probed more and more rarely, so
// there the unanswered probes decide.
bool
net_fd_is_silent(int fd, unsigned limit_ms)
{
    struct tcp_info info;
    socklen_t size = sizeof(info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) {
        return false;
    }
    bool asked = info.tcpi_unacked > 0 || info.tcpi_probes >= UNHEARD_PROBES;
    return asked && OCT_MIN(info.tcpi_last_ack_recv, info.tcpi_last_data_recv) > limit_ms;
}
