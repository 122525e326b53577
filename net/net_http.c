// The HTTP server of --metrics and octet dash, on libmicrohttpd: GET and HEAD, one request per
// connection, plain or behind the gate.
#include "net/net_http.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <microhttpd.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "common/oct_reason.h"
#include "net/net_fd.h"
#include "net/net_internal.h"

#define SWEEP_MS 250 // while there are connections
#define RUNS_MAX 32  // MHD_run calls in one turn of the loop

// A slot for a connection.
typedef struct http_connection {
    bool is_open;
    bool has_asked; // the request is complete
    bool is_cut;    // shut down; libmicrohttpd has not closed it yet
    int fd;
    uint64_t since_ns;
} http_connection;

#define FORBIDDEN "use a name of this machine in the URL: localhost or 127.0.0.1\n"

struct net_http {
    uv_poll_t poll;    // of libmicrohttpd's epoll
    uv_timer_t timer;  // runs while there are connections
    int handles;       // poll and timer, as far as libuv has not closed them
    net_gate_end *end; // of https; otherwise NULL
    struct MHD_Daemon *daemon;
    net_http_fn handler;
    void *arg;
    unsigned port;
    unsigned count;
    uint64_t accepted;
    bool is_local; // net_http_set_local
    bool rests;    // the poll is stopped until the timer fires
    http_connection connection[NET_HTTP_CONNECTIONS_MAX];
};

// ---- requests

// Shuts a connection down; libmicrohttpd closes it later.
static void
connection_cut(http_connection *slot)
{
    slot->is_cut = true;
    (void)shutdown(slot->fd, SHUT_RDWR);
}

// newest took the last slot: cuts the oldest of the others, first of those without a complete
// request.
static void
connection_make_room(net_http *http, const http_connection *newest)
{
    http_connection *oldest = NULL;
    for (unsigned i = 0; i < NET_HTTP_CONNECTIONS_MAX; i++) {
        http_connection *slot = &http->connection[i];
        if (slot->is_cut) {
            return; // a slot will be free soon
        }
        if (slot == newest) {
            continue;
        }
        bool is_older = oldest == NULL ||
                        (slot->has_asked != oldest->has_asked ? !slot->has_asked
                                                              : slot->since_ns < oldest->since_ns);
        oldest = is_older ? slot : oldest;
    }
    connection_cut(oldest);
}

static enum MHD_Result
answer_send(struct MHD_Connection *connection, const net_http_answer *answer, const char *allow)
{
    void (*release)(void *owner) = answer->release != NULL ? answer->release : free;
    void *owner = answer->release != NULL ? answer->owner : answer->body;
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        answer->length, answer->body != NULL ? answer->body : "", release, owner);
    if (response == NULL) {
        release(owner);
        return MHD_NO; // closes the connection
    }
    enum MHD_Result done = MHD_add_response_header(response, "Connection", "close");
    if (done == MHD_YES && answer->content_type != NULL) {
        done = MHD_add_response_header(response, "Content-Type", answer->content_type);
    }
    if (done == MHD_YES && allow != NULL) {
        done = MHD_add_response_header(response, "Allow", allow);
    }
    const char *const *header = answer->headers;
    for (; done == MHD_YES && header != NULL && *header != NULL; header += 2) {
        done = MHD_add_response_header(response, header[0], header[1]);
    }
    if (done == MHD_YES) {
        done = MHD_queue_response(connection, (unsigned)answer->status, response);
    }
    MHD_destroy_response(response);
    return done;
}

static enum MHD_Result
request_arrived(void *arg, struct MHD_Connection *connection, const char *path, const char *method,
                const char *version, const char *body, size_t *body_length, void **context)
{
    net_http *http = arg;
    (void)version;
    (void)body; // never read: the answer comes first, and then the connection is closed
    (void)body_length;
    (void)context;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    ((http_connection *)info->socket_context)->has_asked = true;
    net_http_answer answer = {.status = MHD_HTTP_NOT_FOUND};
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        answer.status = MHD_HTTP_METHOD_NOT_ALLOWED;
        return answer_send(connection, &answer, "GET, HEAD");
    }
    if (strlen(path) <= NET_HTTP_PATH_MAX) {
        const net_http_request request = {
            .path = path,
            .host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host"),
        };
        if (http->is_local && !net_http_is_local(request.host)) {
            net_http_answer_copy(&answer, MHD_HTTP_FORBIDDEN, "text/plain; charset=utf-8",
                                 FORBIDDEN, strlen(FORBIDDEN));
        } else {
            http->handler(http->arg, &request, &answer);
        }
    }
    return answer_send(connection, &answer, NULL);
}

static void
connection_changed(void *arg, struct MHD_Connection *connection, void **context,
                   enum MHD_ConnectionNotificationCode code)
{
    net_http *http = arg;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        http_connection *slot = *context;
        if (slot != NULL) {
            slot->is_open = false;
            http->count--;
        }
        return;
    }
    http_connection *slot = http->connection;
    while (slot < http->connection + NET_HTTP_CONNECTIONS_MAX && slot->is_open) {
        slot++;
    }
    OCT_ASSERT(slot < http->connection + NET_HTTP_CONNECTIONS_MAX);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    *slot = (http_connection){.is_open = true, .fd = info->connect_fd, .since_ns = oct_clock_ns()};
    *context = slot;
    http->count++;
    http->accepted++;
    if (http->count == NET_HTTP_CONNECTIONS_MAX) {
        connection_make_room(http, slot);
    }
}

// ---- the loop

// libmicrohttpd limits only silence; a peer that sends a byte now and then would stay forever.
static void
connections_sweep(net_http *http)
{
    uint64_t now_ns = oct_clock_ns();
    for (unsigned i = 0; i < NET_HTTP_CONNECTIONS_MAX; i++) {
        http_connection *slot = &http->connection[i];
        if (slot->is_open && now_ns - slot->since_ns > NET_HTTP_DEADLINE_MS * 1000000ull) {
            connection_cut(slot);
        }
    }
}

static void http_timed(uv_timer_t *timer);
static void http_polled(uv_poll_t *poll, int status, int events);

// Runs libmicrohttpd again while it has work at once, and when a connection has closed, because a
// full server watches its listening socket again only in the run after that.
static void
http_run(net_http *http)
{
    MHD_UNSIGNED_LONG_LONG wait_ms = SWEEP_MS;
    unsigned before;
    int runs = 0;
    do {
        before = http->count;
        (void)MHD_run(http->daemon);
        if (MHD_get_timeout(http->daemon, &wait_ms) != MHD_YES) {
            wait_ms = SWEEP_MS;
        }
    } while ((wait_ms == 0 || http->count < before) && ++runs < RUNS_MAX);
    if (http->count > 0) {
        (void)uv_timer_start(&http->timer, http_timed, OCT_MIN(wait_ms, SWEEP_MS), 0);
    } else {
        (void)uv_timer_stop(&http->timer);
    }
}

static void
http_timed(uv_timer_t *timer)
{
    net_http *http = timer->data;
    if (http->rests) {
        http->rests = false;
        (void)uv_poll_start(&http->poll, UV_READABLE, http_polled);
    }
    connections_sweep(http);
    http_run(http);
}

static void
http_polled(uv_poll_t *poll, int status, int events)
{
    net_http *http = poll->data;
    uint64_t accepted = http->accepted;
    bool was_empty = http->count == 0;
    (void)status;
    (void)events;
    connections_sweep(http);
    http_run(http);
    // A peer waits that cannot be accepted for lack of descriptors: without this rest the loop
    // would spin.
    if (was_empty && http->accepted == accepted) {
        http->rests = true;
        (void)uv_poll_stop(&http->poll);
        (void)uv_timer_start(&http->timer, http_timed, SWEEP_MS, 0);
    }
}

// ---- listening

oct_err
net_http_listen(int *fd, const char *url, oct_reason *why)
{
    net_http_address address;
    OCT_TRY(net_http_parse(url, &address, why));
    struct addrinfo hints = {
        .ai_family = strcasecmp(address.host, "localhost") == 0 ? AF_INET : AF_UNSPEC,
        .ai_socktype = SOCK_STREAM,
        .ai_flags = AI_NUMERICSERV,
    };
    struct addrinfo *found = NULL;
    if (address.host[0] == '\0' || strcmp(address.host, "*") == 0) {
        *fd = net_fd_listen_everywhere(address.port, NET_HTTP_BACKLOG);
    } else {
        int code = getaddrinfo(address.host, address.port, &hints, &found);
        if (code != 0) {
            return oct_fail(why, OCT_EIO, "%s", gai_strerror(code));
        }
        *fd = net_fd_listen(found, NET_HTTP_BACKLOG);
    }
    if (*fd < 0) {
        oct_reason_set(why, "%s",
                       errno == EADDRINUSE ? "another process listens on this port"
                                           : strerror(errno));
    }
    if (found != NULL) {
        freeaddrinfo(found);
    }
    return *fd < 0 ? OCT_EIO : OCT_OK;
}

oct_err
net_http_listen_local(int *fd, const char *path)
{
    struct sockaddr_un address;
    socklen_t size;
    if (!net_fd_local_address(path, &address, &size)) {
        oct_log_error("NET-HTTP", "path=%s error=\"allowed are 1 to %zu bytes\"", path,
                      (size_t)NET_FD_LOCAL_MAX);
        return OCT_EIO;
    }
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    // No process can connect before listen, and by then the mode is right.
    if (made < 0 || bind(made, (struct sockaddr *)&address, size) != 0 || chmod(path, 0600) != 0 ||
        listen(made, NET_HTTP_BACKLOG) != 0) {
        oct_log_error("NET-HTTP", "path=%s error=\"%s\"", path, strerror(errno));
        if (made >= 0) {
            (void)close(made);
        }
        return OCT_EIO;
    }
    *fd = made;
    return OCT_OK;
}

// ---- open and close

static unsigned
port_of(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof(address);
    if (getsockname(fd, (struct sockaddr *)&address, &length) != 0) {
        return 0;
    }
    if (address.ss_family == AF_INET) {
        return ntohs(((struct sockaddr_in *)&address)->sin_port);
    }
    return address.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&address)->sin6_port) : 0;
}

static void
handle_closed(uv_handle_t *handle)
{
    net_http *http = handle->data;
    if (--http->handles == 0) {
        free(http);
    }
}

oct_err
net_http_open_fd(net_http **out, net_loop *loop, int take_fd, net_http_fn handler, void *arg)
{
    net_http *http = oct_alloc(sizeof(*http));
    http->handler = handler;
    http->arg = arg;
    http->port = port_of(take_fd);
    http->daemon = MHD_start_daemon(
        MHD_USE_EPOLL, 0, NULL, NULL, request_arrived, http, MHD_OPTION_LISTEN_SOCKET, take_fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)NET_HTTP_CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)NET_HTTP_MEMORY_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(NET_HTTP_DEADLINE_MS / 1000),
        MHD_OPTION_NOTIFY_CONNECTION, connection_changed, http, MHD_OPTION_END);
    if (http->daemon == NULL) {
        oct_log_error("NET-HTTP",
                      "error=\"the server could not be started: out of memory or files\"");
        free(http);
        return OCT_EIO;
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    http->poll.data = http;
    http->timer.data = http;
    if (info == NULL || uv_poll_init(net_loop_uv(loop), &http->poll, info->epoll_fd) != 0) {
        oct_log_error("NET-HTTP", "error=\"the loop cannot watch the server\"");
        MHD_stop_daemon(http->daemon);
        free(http);
        return OCT_EIO;
    }
    http->handles = 2;
    (void)uv_timer_init(net_loop_uv(loop), &http->timer);
    (void)uv_poll_start(&http->poll, UV_READABLE, http_polled);
    http_run(http);
    *out = http;
    return OCT_OK;
}

// Opens the gate at the port and the plain server behind it.
static oct_err
https_open(net_http **out, net_loop *loop, const char *url, net_http_fn handler, void *arg)
{
    const char *rest = url + strlen("https://");
    char tls[NET_URL_MAX], local[NET_GATE_LOCAL_MAX];
    net_gate_end *end;
    int fd;
    (void)snprintf(tls, sizeof(tls), "tls+tcp://%.*s", (int)strcspn(rest, "/"), rest);
    const net_gate_spec spec = {
        .url = tls,
        .roles = OCT_ROLE_BIT(OCT_ROLE_OPERATOR),
        .protocol = 0, // bytes pass unchanged
        .message_bytes_max = UINT64_MAX,
    };
    OCT_TRY(net_gate_listen(net_loop_gate(loop), &spec, &end));
    OCT_ASSERT(net_gate_end_local(end, OCT_ROLE_OPERATOR, local));
    oct_err err = net_http_listen_local(&fd, local);
    if (err == OCT_OK) {
        err = net_http_open_fd(out, loop, fd, handler, arg);
    }
    if (err != OCT_OK) {
        net_gate_end_close(end);
        return err;
    }
    (*out)->end = end;
    err = net_gate_end_start(end);
    if (err != OCT_OK) {
        net_http_close(*out);
        *out = NULL;
    }
    return err;
}

static bool
has_tls(net_loop *loop)
{
    net_gate *gate = net_loop_gate_peek(loop);
    return gate != NULL && net_gate_tls_ends_s(gate) != 0;
}

void
net_http_answer_copy(net_http_answer *out, int status, const char *content_type, const char *bytes,
                     size_t length)
{
    out->status = status;
    out->content_type = content_type;
    out->body = oct_alloc(length + 1);
    memcpy(out->body, bytes, length);
    out->length = length;
}

oct_err
net_http_open(net_http **out, net_loop *loop, const char *url, net_http_fn handler, void *arg)
{
    net_http_address address;
    oct_reason why;
    oct_err err = net_http_parse(url, &address, &why);
    if (err == OCT_OK && address.is_https && !has_tls(loop)) {
        oct_reason_set(&why, NET_HTTP_NO_TLS);
        err = OCT_EINVAL;
    }
    if (err != OCT_OK) {
        oct_log_error("NET-HTTP", "url=%s error=\"%s\"", url, why.text);
        return err;
    }
    if (address.is_https) {
        return https_open(out, loop, url, handler, arg);
    }
    int fd = -1;
    err = net_http_listen(&fd, url, &why);
    if (err != OCT_OK) {
        oct_log_error("NET-HTTP", "url=%s error=\"%s\"", url, why.text);
        return err;
    }
    OCT_TRY(net_http_open_fd(out, loop, fd, handler, arg));
    (*out)->is_local = net_http_is_local(url + strlen("http://"));
    return OCT_OK;
}

void
net_http_set_local(net_http *http)
{
    http->is_local = true;
}

unsigned
net_http_port(const net_http *http)
{
    return http->port;
}

unsigned
net_http_connections(const net_http *http)
{
    return http->count;
}

void
net_http_close(net_http *http)
{
    if (http == NULL) {
        return;
    }
    net_gate_end_close(http->end); // no new connection comes after this
    uv_close((uv_handle_t *)&http->poll, handle_closed);
    uv_close((uv_handle_t *)&http->timer, handle_closed);
    MHD_stop_daemon(http->daemon); // closes the socket, too
}
