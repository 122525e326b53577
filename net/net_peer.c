#include <dirent.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "net/net_internal.h"

// Ends a connection the way its peer would. nng_pipe_close is not that: in NNG 1.5.2 it can leave
// the reaper waiting for ever for a receive that was being armed, and from then on no connection
// of the process is freed (docs/decisions/0016-session-tokens.md). NNG does not tell the
// descriptor: it is found by its two addresses. Should that connection end, and its number be given
// to another, between the look and the end, that one is ended and dials again.

typedef struct both_ends {
    struct sockaddr_storage local;
    struct sockaddr_storage remote;
} both_ends;

static bool
address_from_nng(struct sockaddr_storage *out, nng_pipe pipe, const char *option)
{
    nng_sockaddr from;
    memset(out, 0, sizeof(*out));
    if (nng_pipe_get_addr(pipe, option, &from) != 0) {
        return false;
    }
    if (from.s_family == NNG_AF_INET) {
        struct sockaddr_in *to = (struct sockaddr_in *)out;
        to->sin_family = AF_INET;
        to->sin_port = from.s_in.sa_port; // both in network order
        to->sin_addr.s_addr = from.s_in.sa_addr;
        return true;
    }
    if (from.s_family == NNG_AF_INET6) {
        struct sockaddr_in6 *to = (struct sockaddr_in6 *)out;
        to->sin6_family = AF_INET6;
        to->sin6_port = from.s_in6.sa_port;
        memcpy(&to->sin6_addr, from.s_in6.sa_addr, sizeof(to->sin6_addr));
        return true;
    }
    return false;
}

static bool
address_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    if (a->ss_family != b->ss_family) {
        return false;
    }
    if (a->ss_family == AF_INET) {
        const struct sockaddr_in *x = (const void *)a, *y = (const void *)b;
        return x->sin_port == y->sin_port && x->sin_addr.s_addr == y->sin_addr.s_addr;
    }
    const struct sockaddr_in6 *x = (const void *)a, *y = (const void *)b;
    return x->sin6_port == y->sin6_port &&
           memcmp(&x->sin6_addr, &y->sin6_addr, sizeof(x->sin6_addr)) == 0;
}

static bool
descriptor_is(int fd, const both_ends *ends)
{
    both_ends found;
    memset(&found, 0, sizeof(found));
    socklen_t local_length = sizeof(found.local), remote_length = sizeof(found.remote);
    return getpeername(fd, (struct sockaddr *)&found.remote, &remote_length) == 0 &&
           getsockname(fd, (struct sockaddr *)&found.local, &local_length) == 0 &&
           address_equal(&found.remote, &ends->remote) && address_equal(&found.local, &ends->local);
}

bool
net_peer_end(nng_pipe pipe)
{
    both_ends ends;
    if (!address_from_nng(&ends.remote, pipe, NNG_OPT_REMADDR) ||
        !address_from_nng(&ends.local, pipe, NNG_OPT_LOCADDR)) {
        return false;
    }
    DIR *descriptors = opendir("/proc/self/fd");
    const struct dirent *entry;
    bool is_ended = false;
    while (!is_ended && descriptors != NULL && (entry = readdir(descriptors)) != NULL) {
        int fd = (int)strtol(entry->d_name, NULL, 10); // "." is 0, no socket of ours
        is_ended = descriptor_is(fd, &ends) && shutdown(fd, SHUT_RDWR) == 0;
    }
    if (descriptors != NULL) {
        (void)closedir(descriptors);
    }
    return is_ended;
}
