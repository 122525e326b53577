// A blocking HTTP GET with a deadline, for commands that read a daemon's metrics.
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_reason.h"
#include "net/net_fd.h"
#include "net/net_http.h"

#define ANSWER_BYTES_MAX (2u << 20) // longer answers are cut

// Tries each address of the host in turn.
static oct_err
host_connect(int *fd, const net_http_address *address, uint64_t end_ns, oct_reason *why)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found;
    int code = getaddrinfo(address->host, address->port, &hints, &found);
    if (code != 0) {
        return oct_fail(why, OCT_EIO, "%s", gai_strerror(code));
    }
    *fd = -1;
    for (const struct addrinfo *at = found; at != NULL && *fd < 0; at = at->ai_next) {
        *fd = net_fd_connect(at, end_ns);
    }
    bool is_late = *fd < 0 && errno == ETIMEDOUT;
    if (*fd < 0) {
        oct_reason_set(why, "%s", is_late ? "no answer in time" : strerror(errno));
    }
    freeaddrinfo(found);
    return *fd >= 0 ? OCT_OK : is_late ? OCT_ETIMEDOUT : OCT_EIO;
}

static oct_err
request_send(int fd, const net_http_address *address, const char *path, uint64_t end_ns)
{
    char request[NET_URL_MAX + 512];
    bool is_ipv6 = strchr(address->host, ':') != NULL;
    int length = snprintf(request, sizeof(request),
                          "GET %s HTTP/1.1\r\nHost: %s%s%s:%s\r\nConnection: close\r\n\r\n", path,
                          is_ipv6 ? "[" : "", address->host, is_ipv6 ? "]" : "", address->port);
    OCT_ASSERT(length < (int)sizeof(request));
    for (int sent = 0; sent < length;) {
        ssize_t step = send(fd, request + sent, (size_t)(length - sent), MSG_NOSIGNAL);
        if (step > 0) {
            sent += (int)step;
        } else if (errno != EAGAIN || !net_fd_wait(fd, POLLOUT, end_ns)) {
            return errno == EAGAIN ? OCT_ETIMEDOUT : OCT_EIO;
        }
    }
    return OCT_OK;
}

// Reads until the peer closes, as "Connection: close" asks, or until the buffer is full.
static oct_err
answer_read(int fd, char *text, uint64_t end_ns)
{
    size_t used = 0;
    for (;;) {
        ssize_t step = recv(fd, text + used, ANSWER_BYTES_MAX - used, 0);
        if (step > 0) {
            used += (size_t)step;
        }
        if (step == 0 || used == ANSWER_BYTES_MAX) {
            text[used] = '\0';
            return OCT_OK;
        }
        if (step < 0 && errno != EAGAIN) {
            return OCT_EIO;
        }
        if (step < 0 && !net_fd_wait(fd, POLLIN, end_ns)) {
            return OCT_ETIMEDOUT;
        }
    }
}

static oct_err
answer_take(const char *text, int *status, char *body, size_t body_size)
{
    const char *end = strstr(text, "\r\n\r\n");
    if (strncmp(text, "HTTP/1.", 7) != 0 || strlen(text) < 12 || text[8] != ' ' || end == NULL) {
        return OCT_EPROTO;
    }
    long code = strtol(text + 9, NULL, 10);
    if (code < 100 || code > 599) {
        return OCT_EPROTO;
    }
    *status = (int)code;
    (void)snprintf(body, body_size, "%s", end + 4);
    return OCT_OK;
}

oct_err
net_http_get(const char *url, const char *path, uint32_t timeout_ms, int *status, char *body,
             size_t body_size, oct_reason *why)
{
    net_http_address address;
    uint64_t end_ns = oct_clock_ns() + timeout_ms * 1000000ull;
    OCT_TRY(net_http_parse(url, &address, why));
    if (address.is_https) {
        return oct_refuse(
            why, "https needs an operator's certificate; health checks use an http address "
                 "of the same host, so also give the daemon --metrics http://127.0.0.1:PORT");
    }
    int fd;
    OCT_TRY(host_connect(&fd, &address, end_ns, why));
    char *text = oct_alloc(ANSWER_BYTES_MAX + 1);
    oct_err err = request_send(fd, &address, path, end_ns);
    if (err == OCT_OK) {
        err = answer_read(fd, text, end_ns);
    }
    if (err == OCT_OK) {
        err = answer_take(text, status, body, body_size);
    }
    if (err != OCT_OK) {
        oct_reason_set(why, "%s",
                       err == OCT_ETIMEDOUT ? "no answer in time"
                       : err == OCT_EPROTO  ? "the answer is not from an HTTP server"
                                            : "the connection was closed early");
    }
    free(text);
    (void)close(fd);
    return err;
}
