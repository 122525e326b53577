// Connects to an address once, to describe why there is no answer.

#include "net/net_probe.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/net_fd.h"
#include "net/net_url.h"

// Waits for the events; false: not within ms.
static bool
wait_for(int fd, short events, int ms)
{
    struct pollfd one = {.fd = fd, .events = events};
    return poll(&one, 1, ms) == 1;
}

// Connected, or -1 with errno.
static int
connect_to(const struct addrinfo *address)
{
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    int code = connect(fd, address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
    if (code == EINPROGRESS) {
        socklen_t size = sizeof(code);
        code = ETIMEDOUT;
        if (wait_for(fd, POLLOUT, NET_PROBE_MS / 2)) {
            (void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size);
        }
    }
    if (code != 0) {
        (void)close(fd);
        errno = code;
        return -1;
    }
    return fd;
}

static bool
split(const char *url, char host[256], char port[8])
{
    static const char scheme[] = "tcp://";
    const char *colon = strrchr(url, ':');
    if (strncmp(url, scheme, sizeof(scheme) - 1) != 0 || colon < url + sizeof(scheme)) {
        return false;
    }
    const char *begin = url + sizeof(scheme) - 1, *end = colon;
    if (*begin == '[' && end[-1] == ']') {
        begin++;
        end--;
    }
    return snprintf(host, 256, "%.*s", (int)(end - begin), begin) < 256 &&
           snprintf(port, 8, "%s", colon + 1) < 8;
}

// What another user has made there is refused before anything could answer, in words of its own.
static bool
is_own(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && file.st_uid == geteuid();
}

bool
net_probe(const char *url, char *out, size_t out_size)
{
    char host[256], port[8], begin[4] = {0};
    static const char ours[4] = {'\0', 'S', 'P', '\0'};
    struct addrinfo *address = NULL, wanted = {.ai_socktype = SOCK_STREAM};
    const char *path = net_url_ipc_path(url);
    if (path != NULL && is_own(path) && net_probe_local(path)) {
        (void)snprintf(out, out_size, "the process there is stopped, or hangs");
        return true;
    }
    if (!split(url, host, port)) {
        return false;
    }
    int code = getaddrinfo(host, port, &wanted, &address);
    if (code != 0) {
        (void)snprintf(out, out_size, "%s cannot be resolved: %s", host, gai_strerror(code));
        return true;
    }
    int fd = connect_to(address);
    int failed = errno;
    freeaddrinfo(address);
    if (fd < 0) {
        (void)snprintf(out, out_size, "%s",
                       failed == ECONNREFUSED ? "nothing listens there" : strerror(failed));
        return true;
    }
    bool is_ours = wait_for(fd, POLLIN, NET_PROBE_MS / 2) &&
                   recv(fd, begin, sizeof(begin), 0) == (ssize_t)sizeof(begin) &&
                   memcmp(begin, ours, sizeof(ours)) == 0;
    (void)close(fd);
    (void)snprintf(out, out_size, "%s",
                   is_ours ? "connected, but there is no answer"
                           : "the listener does not answer as Octet: it is another service, or a "
                             "daemon that needs tls+tcp:// and --tls");
    return true;
}

// A socket of another kind than NNG's is refused, in other words where there is one to compare.
bool
net_probe_local(const char *path)
{
    struct sockaddr_un address;
    socklen_t size;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_held = fd >= 0 && net_fd_local_address(path, &address, &size) &&
                   connect(fd, (const struct sockaddr *)&address, size) != 0 && errno == EPROTOTYPE;
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_held;
}
