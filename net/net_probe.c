// Connects once to the addresses of a name, to describe why there is no answer.

#include "net/net_probe.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_clock.h"
#include "common/oct_file.h"
#include "net/net_fd.h"
#include "net/net_url.h"

// What an address shows, in rising order of use to a person.
typedef enum finding { FOUND_NOTHING, FOUND_CLOSED, FOUND_OTHER, FOUND_OURS } finding;

// A socket of another user is refused elsewhere, with a message of its own, before this is asked.
static bool
is_own(const char *path)
{
    struct stat file;
    return oct_file_stat(path, &file) == 0 && file.st_uid == geteuid();
}

// Connects to one address and reads its first bytes; *words describes the finding for a person.
static finding
address_probe(const struct addrinfo *address, uint64_t end_ns, const char **words)
{
    static const char ours[4] = {'\0', 'S', 'P', '\0'};
    char begin[4] = {0};
    int fd = net_fd_connect(address, end_ns);
    if (fd < 0) {
        bool is_closed = errno == ECONNREFUSED;
        *words = is_closed ? "nothing listens there" : strerror(errno);
        return is_closed ? FOUND_CLOSED : FOUND_NOTHING;
    }
    bool is_ours = net_fd_wait(fd, POLLIN, end_ns) &&
                   recv(fd, begin, sizeof(begin), 0) == (ssize_t)sizeof(begin) &&
                   memcmp(begin, ours, sizeof(ours)) == 0;
    (void)close(fd);
    *words = is_ours ? "connected, but the process there does not answer"
                     : "the listener does not answer as Octet: it is another service, or a "
                       "daemon that needs tls+tcp:// and --tls";
    return is_ours ? FOUND_OURS : FOUND_OTHER;
}

// The addresses that are left share the time that is left.
void
net_probe_addresses(const struct addrinfo *addresses, char *out, size_t out_size)
{
    finding best = FOUND_NOTHING;
    uint64_t end_ns = oct_clock_ns() + NET_PROBE_MS * UINT64_C(1000000), left = 0;
    for (const struct addrinfo *at = addresses; at != NULL; at = at->ai_next) {
        left++;
    }
    for (const struct addrinfo *at = addresses; left > 0 && best < FOUND_OURS; at = at->ai_next) {
        const char *words;
        uint64_t now_ns = oct_clock_ns(), rest_ns = end_ns > now_ns ? end_ns - now_ns : 0;
        finding one = address_probe(at, now_ns + rest_ns / left--, &words);
        if (at == addresses || one > best) {
            best = one;
            (void)snprintf(out, out_size, "%s", words);
        }
    }
}

bool
net_probe(const char *url, char *out, size_t out_size)
{
    char host[NET_URL_MAX], service[16];
    unsigned port;
    struct addrinfo *addresses = NULL, wanted = {.ai_socktype = SOCK_STREAM};
    const char *path = net_url_ipc_path(url);
    if (path != NULL && is_own(path) && net_probe_local(path)) {
        (void)snprintf(out, out_size, "the process there is stopped, or hangs");
        return true;
    }
    if (net_url_is_tls(url) || net_url_host(url, host, &port) != OCT_OK || host[0] == '\0') {
        return false;
    }
    (void)snprintf(service, sizeof(service), "%u", port);
    int code = getaddrinfo(host, service, &wanted, &addresses);
    if (code != 0) {
        (void)snprintf(out, out_size, "%s cannot be resolved: %s", host, gai_strerror(code));
        return true;
    }
    net_probe_addresses(addresses, out, out_size);
    freeaddrinfo(addresses);
    return true;
}

// Connects a datagram socket: if a process holds the stream socket, the kernel refuses that as
// EPROTOTYPE, without the process noticing; with no process it is ECONNREFUSED.
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
