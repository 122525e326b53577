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
#include "net/net_http.h"

#define ANSWER_BYTES_MAX (2u << 20)

// Waits for events of fd until the end; false: it came.
static bool
wait_until(int fd, short events, uint64_t end_ns)
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

static oct_err
address_connect(int *fd, const struct addrinfo *address, uint64_t end_ns)
{
    int made = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0) {
        return OCT_EIO;
    }
    int code = 0;
    socklen_t length = sizeof(code);
    oct_err err = OCT_OK;
    if (connect(made, address->ai_addr, address->ai_addrlen) != 0) {
        if (errno != EINPROGRESS) {
            err = OCT_EIO;
        } else if (!wait_until(made, POLLOUT, end_ns)) {
            err = OCT_ETIMEDOUT;
        } else if (getsockopt(made, SOL_SOCKET, SO_ERROR, &code, &length) != 0 || code != 0) {
            errno = code;
            err = OCT_EIO;
        }
    }
    if (err != OCT_OK) {
        code = errno;
        (void)close(made);
        errno = code;
        return err;
    }
    *fd = made;
    return OCT_OK;
}

// Tries each address of the host in turn.
static oct_err
host_connect(int *fd, const net_http_address *address, uint64_t end_ns, char *reason,
             size_t reason_size)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found;
    int code = getaddrinfo(address->host, address->port, &hints, &found);
    if (code != 0) {
        (void)snprintf(reason, reason_size, "%s", gai_strerror(code));
        return OCT_EIO;
    }
    oct_err err = OCT_EIO;
    for (const struct addrinfo *at = found; at != NULL && err != OCT_OK; at = at->ai_next) {
        err = address_connect(fd, at, end_ns);
    }
    if (err != OCT_OK) {
        (void)snprintf(reason, reason_size, "%s",
                       err == OCT_ETIMEDOUT ? "no answer in time" : strerror(errno));
    }
    freeaddrinfo(found);
    return err;
}

static oct_err
request_send(int fd, const net_http_address *address, uint64_t end_ns)
{
    char request[NET_URL_MAX + 512];
    int length = snprintf(request, sizeof(request),
                          "GET %s HTTP/1.1\r\nHost: %s:%s\r\nConnection: close\r\n\r\n",
                          address->path, address->host, address->port);
    for (int sent = 0; sent < length;) {
        ssize_t step = send(fd, request + sent, (size_t)(length - sent), MSG_NOSIGNAL);
        if (step > 0) {
            sent += (int)step;
        } else if (errno != EAGAIN || !wait_until(fd, POLLOUT, end_ns)) {
            return errno == EAGAIN ? OCT_ETIMEDOUT : OCT_EIO;
        }
    }
    return OCT_OK;
}

// Until the peer closes: it was asked to.
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
        if (step < 0 && !wait_until(fd, POLLIN, end_ns)) {
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
net_http_get(const char *url, uint32_t timeout_ms, int *status, char *body, size_t body_size,
             char *reason, size_t reason_size)
{
    net_http_address address;
    uint64_t end_ns = oct_clock_ns() + timeout_ms * 1000000ull;
    OCT_TRY(net_http_parse(url, &address, reason, reason_size));
    if (address.is_https) {
        (void)snprintf(reason, reason_size,
                       "https needs an operator's certificate; health checks ask an http address "
                       "of the same host: also give the daemon --metrics http://127.0.0.1:PORT");
        return OCT_EINVAL;
    }
    int fd;
    OCT_TRY(host_connect(&fd, &address, end_ns, reason, reason_size));
    char *text = oct_alloc(ANSWER_BYTES_MAX + 1);
    oct_err err = request_send(fd, &address, end_ns);
    if (err == OCT_OK) {
        err = answer_read(fd, text, end_ns);
    }
    if (err == OCT_OK) {
        err = answer_take(text, status, body, body_size);
    }
    if (err != OCT_OK) {
        (void)snprintf(reason, reason_size, "%s",
                       err == OCT_ETIMEDOUT ? "no answer in time"
                       : err == OCT_EPROTO  ? "the answer is not from an HTTP server"
                                            : "the connection was cut");
    }
    free(text);
    (void)close(fd);
    return err;
}
