// The gate's thread, its ends, and the calls from other threads to it.
//
// An end is one address on which the process listens, or which it dials. Each connection
// (net_gate_conn.c) joins a TCP connection, outside, to a local socket of NNG, inside:
//
// 1. A listening end accepts TCP connections. A dialing end resolves its name, tries the addresses
//    in turn, and keeps one connection.
// 2. Limits (net_gate_room.c, net_gate_peer.c) come first: recent failures, connections,
//    handshakes. Above a limit the new connection or the oldest handshake is closed.
// 3. TLS, role and SP header are checked within NET_GATE_HANDSHAKE_MS. A failure is logged, charged
//    to the certificate or address, and closes the connection; NNG never sees the peer.
// 4. Only then the gate connects to the local socket for the peer's role (net_gate_local.c) and
//    passes messages. Each side is read only as fast as the other is written.
// 5. Every second it checks for new files of --tls (net_gate_tls.c), peers that are silent or do
//    not read, long messages that stand still (net_gate_long.c), and sockets at which NNG makes no
//    pipe.
// 6. When one side ends, what it has sent is still written. Then the outside is closed at once, the
//    inside only after NNG has ended its side, because NNG 1.5.2 may hang otherwise.
// 7. A dialing end then tries again after 25 to 1000 ms, forever.
//
// All state but the atomics belongs to the gate's thread; other threads call it and wait
// (net_gate_calls.h).
#include "net/net_gate.h"

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_log.h"
#include "common/oct_reason.h"
#include "net/net_fd.h"
#include "net/net_gate_state.h"
#include "net/net_internal.h"

#define LISTEN_BACKLOG  1024
#define BACKOFF_MIN_MS  50u
#define BACKOFF_MAX_MS  1000u
#define STEADY_MS       2000u  // a connection that lived longer resets the back-off
#define REFUSALS_LOG_MS 10000u // between two lines about refusals at one end
// A lookup of a name cannot be interrupted, so destroy gives up waiting.
#define STOP_WAIT_S   1
#define CLOSE_REST_NS 5000000 // 5 ms

// ---- ends: listening

void
gate_end_refused(const gate_conn *conn, const char *reason)
{
    net_gate_end *end = conn->end;
    uint64_t now_ms = uv_now(&end->gate->uv);
    end->refusals++;
    if (end->refusals > 1 && now_ms - end->refusal_logged_ms < REFUSALS_LOG_MS) {
        return;
    }
    oct_log_warn("NET-GATE-REFUSED",
                 "url=%s from=%s certificate=\"%s\" refusals=%llu reason=\"%s\"", end->url,
                 conn->peer.from, conn->peer.is_known ? conn->peer.certificate.holder.name : "",
                 (unsigned long long)end->refusals, reason);
    end->refusal_logged_ms = now_ms;
}

static void
connection_arrived(uv_stream_t *listener, int status)
{
    net_gate_end *end = listener->data;
    if (status == 0 && !end->closing) {
        gate_conn_accept(end);
    }
}

// ---- ends: dialing

static void dial_retry(uv_timer_t *timer);

static void
dial_later(net_gate_end *end)
{
    if (end->closing) {
        return;
    }
    // Draws from half to the full back-off, so that many peers that lost the same server do
    // not come back at once.
    uint32_t drawn;
    if (getrandom(&drawn, sizeof(drawn), GRND_NONBLOCK) != sizeof(drawn)) {
        drawn = 0;
    }
    unsigned wait_ms = end->backoff_ms / 2 + drawn % (end->backoff_ms / 2 + 1);
    end->backoff_ms = OCT_MIN(2 * end->backoff_ms, BACKOFF_MAX_MS);
    (void)uv_timer_start(&end->retry, dial_retry, wait_ms, 0);
}

static void
dial_trouble(net_gate_end *end, const char *reason)
{
    if (strncmp(end->trouble, reason, sizeof(end->trouble) - 1) != 0) {
        (void)snprintf(end->trouble, sizeof(end->trouble), "%s", reason);
        oct_log_notice("NET-GATE-DIAL", "url=%s error=\"%s\"; trying again", end->url, reason);
    }
}

static void
lookup_trouble(net_gate_end *end, int code)
{
    char reason[GATE_REASON_BYTES];
    (void)snprintf(reason, sizeof(reason), "%.100s cannot be resolved: %s", end->host,
                   uv_strerror(code));
    dial_trouble(end, reason);
}

static void
addresses_free(net_gate_end *end)
{
    uv_freeaddrinfo(end->addresses);
    end->addresses = end->address = NULL;
}

static void
dial_found(uv_getaddrinfo_t *lookup, int status, struct addrinfo *found)
{
    net_gate_end *end = lookup->data;
    if (status != 0 || end->closing) {
        uv_freeaddrinfo(found);
        if (!end->closing) {
            lookup_trouble(end, status);
            dial_later(end);
        }
    } else {
        end->addresses = end->address = found;
        gate_conn_dial(end);
    }
    gate_end_release(end);
}

static void
dial_retry(uv_timer_t *timer)
{
    net_gate_end *end = timer->data;
    char port[8];
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    (void)snprintf(port, sizeof(port), "%u", end->port);
    end->lookup.data = end;
    int code = uv_getaddrinfo(&end->gate->uv, &end->lookup, dial_found, end->host, port, &hints);
    if (code != 0) {
        lookup_trouble(end, code);
        dial_later(end);
        return;
    }
    end->handles++;
}

// ---- ends: both

void
gate_end_opened(net_gate_end *end, const gate_conn *conn)
{
    if (!end->is_dial) {
        oct_log_debug("NET-GATE-OPEN", "url=%s from=%s role=%s name=\"%s\"", end->url,
                      conn->peer.from, oct_role_name(conn->peer.certificate.role),
                      conn->peer.certificate.holder.name);
        return;
    }
    end->opened_ms = uv_now(&end->gate->uv);
    if (end->was_up || end->trouble[0] != '\0') {
        oct_log_notice("NET-GATE-UP", "url=%s address=%s name=\"%s\"", end->url, conn->peer.from,
                       conn->peer.certificate.holder.name);
    }
    end->was_up = true;
    end->trouble[0] = '\0';
}

void
gate_end_gone(net_gate_end *end, bool was_open, const char *reason)
{
    if (!end->is_dial || end->closing) {
        return;
    }
    if (was_open) {
        if (uv_now(&end->gate->uv) - end->opened_ms > STEADY_MS) {
            end->backoff_ms = BACKOFF_MIN_MS;
        }
        dial_trouble(end, reason);
    } else {
        end->address = end->address == NULL ? NULL : end->address->ai_next;
        if (end->address != NULL) { // the name has another address
            gate_conn_dial(end);
            return;
        }
        dial_trouble(end, reason);
    }
    addresses_free(end);
    dial_later(end);
}

static void
end_free(net_gate_end *end)
{
    if (end->fd >= 0) {
        (void)close(end->fd);
    }
    gate_local_fini(&end->local);
    free(end);
}

void
gate_end_release(net_gate_end *end)
{
    OCT_ASSERT(end->handles > 0);
    if (--end->handles > 0) {
        return;
    }
    LIST_REMOVE(end, place);
    addresses_free(end);
    end_free(end);
}

static void
end_handle_closed(uv_handle_t *handle)
{
    gate_end_release(handle->data);
}

typedef struct start_call {
    net_gate_end *end;
    oct_err err;
} start_call;

static void
end_started(void *arg)
{
    start_call *call = arg;
    net_gate_end *end = call->end;
    net_gate *gate = end->gate;
    call->err = gate_local_make_all(&end->local);
    if (call->err != OCT_OK) {
        return;
    }
    end->started = true;
    OCT_ASSERT(uv_timer_init(&gate->uv, &end->retry) == 0);
    end->retry.data = end->listener.data = end;
    end->handles = 1;
    LIST_INSERT_HEAD(&gate->ends, end, place);
    if (end->is_dial) {
        dial_retry(&end->retry);
        return;
    }
    OCT_ASSERT(uv_tcp_init(&gate->uv, &end->listener) == 0);
    end->handles++;
    int code = uv_tcp_open(&end->listener, end->fd);
    if (code == 0) {
        end->fd = -1;
        code = uv_listen((uv_stream_t *)&end->listener, LISTEN_BACKLOG, connection_arrived);
    }
    if (code != 0) {
        oct_log_error("NET-LISTEN", "url=%s error=\"%s\"", end->url, uv_strerror(code));
        call->err = OCT_EIO;
    }
}

static void
end_closed(void *arg)
{
    net_gate_end *end = arg;
    end->closing = end->local.closing = true;
    gate_conn *conn;
    LIST_FOREACH(conn, &end->conns, place)
    { // conn_end removes nothing from the list before a later callback
        gate_conn_finish(conn);
    }
    uv_close((uv_handle_t *)&end->retry, end_handle_closed);
    if (!end->is_dial) {
        uv_close((uv_handle_t *)&end->listener, end_handle_closed);
    }
}

// ---- every second

static void
ticked(uv_timer_t *timer)
{
    net_gate *gate = timer->data;
    bool renewed = gate_tls_look(&gate->watch, gate->tls);
    gate_room_tidy(gate);
    net_gate_end *end;
    LIST_FOREACH(end, &gate->ends, place)
    {
        gate_local_check(&end->local, uv_now(&gate->uv));
        gate_conn *conn;
        LIST_FOREACH(conn, &end->conns, place)
        { // as in end_closed
            gate_conn_check(conn, renewed);
        }
    }
}

// ---- the thread

static void *
gate_thread(void *arg)
{
    net_gate *gate = arg;
    sigset_t pipe; // libuv writes to sockets that a peer may have closed; EPIPE tells it
    (void)sigemptyset(&pipe);
    (void)sigaddset(&pipe, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    (void)uv_run(&gate->uv, UV_RUN_DEFAULT); // until everything is closed
    OCT_ASSERT(uv_loop_close(&gate->uv) == 0);
    gate_calls_ended(&gate->calls);
    return NULL;
}

static void
gate_stopped(void *arg)
{
    net_gate *gate = arg;
    net_gate_end *end;
    LIST_FOREACH(end, &gate->ends, place)
    {
        if (!end->closing) {
            end_closed(end);
        }
    }
    uv_close((uv_handle_t *)&gate->tick, NULL);
    gate_long_stop(&gate->longs);
    gate_calls_stop(&gate->calls);
}

oct_err
net_gate_create(net_gate **out, const char *tls_folder, oct_reason *why)
{
    net_tls *tls = NULL;
    if (tls_folder != NULL) {
        OCT_TRY(net_tls_open(&tls, tls_folder, why));
    }
    net_gate *gate = oct_alloc(sizeof(*gate));
    gate->tls = tls;
    if (tls != NULL && net_tls_revocation(tls) == NET_TLS_NO_LIST) {
        oct_log_notice("NET-TLS-NO-LIST", "%s has no crl.pem: no certificate is revoked",
                       tls_folder);
    }
    LIST_INIT(&gate->ends);
    TAILQ_INIT(&gate->turns);
    gate_failures_init(&gate->failures);
    gate->conn_total_max = gate_room_connections();
    gate->role = tls == NULL ? OCT_ROLE_LOCAL : net_tls_role(tls);
    gate_tls_init(&gate->watch, tls);
    for (int i = 0; i < GATE_COUNTS; i++) {
        atomic_init(&gate->counts[i], 0);
    }
    gate_sockets_init(&gate->sockets);
    OCT_ASSERT(uv_loop_init(&gate->uv) == 0);
    gate_calls_init(&gate->calls, &gate->uv);
    OCT_ASSERT(uv_timer_init(&gate->uv, &gate->tick) == 0);
    gate->tick.data = gate;
    gate_long_init(&gate->longs, &gate->uv, gate_conn_resume);
    OCT_ASSERT(uv_timer_start(&gate->tick, ticked, GATE_TICK_MS, GATE_TICK_MS) == 0);
    OCT_ASSERT(pthread_create(&gate->thread, NULL, gate_thread, gate) == 0);
    (void)pthread_setname_np(gate->thread, "gate");
    *out = gate;
    return OCT_OK;
}

// Skips the exit handlers: libuv's would wait for a thread that still looks up a name.
static void
exit_at_once(int status, void *arg)
{
    (void)arg;
    (void)fflush(NULL);
    _exit(status);
}

void
net_gate_destroy(net_gate *gate)
{
    if (gate == NULL) {
        return;
    }
    gate_calls_do(&gate->calls, gate_stopped, gate);
    if (!gate_calls_await_end(&gate->calls, STOP_WAIT_S)) { // the thread looks up a name
        (void)pthread_detach(gate->thread);
        net_gate_folder_remove(&gate->sockets.folder);
        OCT_ASSERT(on_exit(exit_at_once, NULL) == 0);
        return;
    }
    (void)pthread_join(gate->thread, NULL);
    net_gate_folder_remove(&gate->sockets.folder);
    net_tls_close(gate->tls);
    gate_calls_fini(&gate->calls);
    free(gate);
}

// ---- from the daemon's thread

typedef struct folder_request {
    net_gate *gate;
    oct_reason why;
    oct_err err;
} folder_request;

static void
folder_asked(void *arg)
{
    folder_request *r = arg;
    r->err = net_gate_folder_keep(&r->gate->sockets.folder, &r->why);
}

// Makes the private folder when it is first needed. An error is logged under id.
static oct_err
folder_ready(net_gate *gate, const char *url, const char *id)
{
    folder_request r = {.gate = gate};
    gate_calls_do(&gate->calls, folder_asked, &r);
    if (r.err != OCT_OK) {
        oct_log_error(id, "url=%s error=\"%s\"", url, r.why.text);
    }
    return r.err;
}

static oct_err
end_create(net_gate *gate, const net_gate_spec *spec, net_gate_end **out)
{
    net_gate_end *end = oct_alloc(sizeof(*end));
    end->gate = gate;
    end->fd = -1;
    end->roles = spec->roles;
    end->protocol = spec->protocol;
    end->peer_protocol = spec->peer_protocol;
    end->message_bytes_max = spec->message_bytes_max;
    LIST_INIT(&end->conns);
    end->tagged = spec->tagged;
    gate_local_init(&end->local, &gate->sockets, end->url, gate->ends_made++, spec);
    end->backoff_ms = BACKOFF_MIN_MS;
    end->is_tls = net_url_is_tls(spec->url);
    (void)snprintf(end->url, sizeof(end->url), "%s", spec->url);
    if (net_url_host(spec->url, end->host, &end->port) != OCT_OK) {
        end_free(end);
        return OCT_EINVAL;
    }
    *out = end;
    return OCT_OK;
}

static bool
tls_is_there(const net_gate *gate, const net_gate_end *end, const char *id)
{
    if (end->is_tls && gate->tls == NULL) {
        oct_log_error(id, "url=%s error=\"tls needs certificates: --tls FOLDER\"", end->url);
        return false;
    }
    return true;
}

static const char *
listen_reason(void)
{
    return errno == EADDRINUSE ? "another process listens on this port" : strerror(errno);
}

// Returns a bound socket for end->host and end->port, or -1 and why in *reason.
static int
port_bind(const net_gate_end *end, const char **reason)
{
    char port[8];
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    (void)snprintf(port, sizeof(port), "%u", end->port);
    if (end->host[0] == '\0' || strcmp(end->host, "*") == 0) {
        int fd = net_fd_listen_everywhere(port, LISTEN_BACKLOG);
        *reason = fd < 0 ? listen_reason() : NULL;
        return fd;
    }
    int code = getaddrinfo(end->host, port, &hints, &found);
    if (code != 0) {
        *reason = gai_strerror(code);
        return -1;
    }
    int fd = -1;
    for (const struct addrinfo *a = found; a != NULL && fd < 0; a = a->ai_next) {
        // uv_listen comes later; listening here finds a taken port
        fd = net_fd_listen(a, LISTEN_BACKLOG);
        if (fd < 0) {
            *reason = listen_reason();
        }
    }
    freeaddrinfo(found);
    return fd;
}

oct_err
net_gate_listen(net_gate *gate, const net_gate_spec *spec, net_gate_end **out)
{
    const char *reason = "no such address";
    net_gate_end *end;
    OCT_TRY(folder_ready(gate, spec->url, "NET-LISTEN"));
    OCT_TRY(end_create(gate, spec, &end));
    if (!tls_is_there(gate, end, "NET-LISTEN")) {
        end_free(end);
        return OCT_EINVAL;
    }
    end->fd = port_bind(end, &reason);
    if (end->fd < 0) {
        oct_log_error("NET-LISTEN", "url=%s error=\"%s\"", end->url, reason);
        end_free(end);
        return OCT_EIO;
    }
    *out = end;
    return OCT_OK;
}

oct_err
net_gate_dial(net_gate *gate, const net_gate_spec *spec, net_gate_end **out)
{
    net_gate_end *end;
    OCT_TRY(folder_ready(gate, spec->url, "NET-DIAL"));
    OCT_TRY(end_create(gate, spec, &end));
    end->is_dial = true;
    if (!tls_is_there(gate, end, "NET-DIAL")) {
        end_free(end);
        return OCT_EINVAL;
    }
    *out = end;
    return OCT_OK;
}

typedef struct local_request {
    const net_gate_end *end;
    oct_role role;
    char *out;
    bool has_one;
} local_request;

static void
local_asked(void *arg)
{
    local_request *r = arg;
    r->has_one = gate_local_path(&r->end->local, r->role, r->out);
}

oct_role
net_gate_end_role(net_gate_end *end, int listener_id)
{
    return gate_local_role(&end->local, listener_id);
}

void
net_gate_pipe_made(net_gate *gate, int listener_id)
{
    gate_pipe_made(&gate->sockets, listener_id);
}

bool
net_gate_end_local(net_gate_end *end, oct_role role, char out[NET_GATE_LOCAL_MAX])
{
    local_request r = {.end = end, .role = role, .out = out};
    gate_calls_do(&end->gate->calls, local_asked, &r);
    return r.has_one;
}

oct_err
net_gate_end_start(net_gate_end *end)
{
    start_call call = {.end = end};
    gate_calls_do(&end->gate->calls, end_started, &call);
    return call.err;
}

typedef struct blame {
    net_gate_end *end;
    uint64_t tag;
} blame;

static void
end_blamed(void *arg)
{
    const blame *b = arg;
    gate_conn *conn;
    LIST_FOREACH(conn, &b->end->conns, place)
    {
        if (conn->number == b->tag) {
            gate_conn_blame(conn);
            return;
        }
    }
}

void
net_gate_end_blame(net_gate_end *end, uint64_t tag)
{
    blame b = {end, tag};
    gate_calls_do(&end->gate->calls, end_blamed, &b);
}

typedef struct holder_request {
    net_gate_end *end;
    uint64_t tag;
    oct_holder *out;
    oct_err err;
} holder_request;

static void
end_holder(void *arg)
{
    holder_request *r = arg;
    const gate_conn *conn;
    r->err = OCT_ECLOSED;
    LIST_FOREACH(conn, &r->end->conns, place)
    {
        if (conn->number == r->tag) {
            *r->out = conn->peer.certificate.holder;
            r->err = conn->peer.is_known ? OCT_OK : OCT_ENOTFOUND;
            return;
        }
    }
}

oct_err
net_gate_end_holder(net_gate_end *end, uint64_t tag, oct_holder *out)
{
    holder_request r = {.end = end, .tag = tag, .out = out};
    gate_calls_do(&end->gate->calls, end_holder, &r);
    return r.err;
}

typedef struct unread_request {
    net_gate_end *end;
    uint64_t tag;
    net_gate_unread *out;
    oct_err err;
} unread_request;

static void
end_unread(void *arg)
{
    unread_request *r = arg;
    const gate_conn *conn, *of = NULL;
    LIST_FOREACH(conn, &r->end->conns, place)
    {
        of = conn->number == r->tag ? conn : of;
    }
    r->err = of != NULL ? OCT_OK : OCT_ECLOSED;
    LIST_FOREACH(conn, &r->end->conns, place)
    {
        uint64_t bytes = uv_stream_get_write_queue_size((const uv_stream_t *)&conn->tcp);
        r->out->in_all += bytes;
        r->out->of_holder += of != NULL && gate_peer_same(&conn->peer, &of->peer) ? bytes : 0;
    }
}

oct_err
net_gate_end_unread(net_gate_end *end, uint64_t tag, net_gate_unread *out)
{
    unread_request r = {.end = end, .tag = tag, .out = out};
    *out = (net_gate_unread){0};
    gate_calls_do(&end->gate->calls, end_unread, &r);
    return r.err;
}

typedef struct trouble_request {
    const net_gate_end *end;
    char *out;
    size_t out_size;
} trouble_request;

static void
end_trouble(void *arg)
{
    const trouble_request *r = arg;
    (void)snprintf(r->out, r->out_size, "%s", r->end->trouble);
}

void
net_gate_end_trouble(net_gate_end *end, char *out, size_t out_size)
{
    trouble_request r = {end, out, out_size};
    gate_calls_do(&end->gate->calls, end_trouble, &r);
}

typedef struct gate_trouble {
    const net_gate *gate;
    char *out;
    bool is_lost;
} gate_trouble;

static void
gate_troubled(void *arg)
{
    gate_trouble *t = arg;
    const net_gate_end *end;
    const gate_local *lost = NULL;
    LIST_FOREACH(end, &t->gate->ends, place)
    {
        lost = lost == NULL && gate_local_is_lost(&end->local) ? &end->local : lost;
    }
    gate_local_trouble(&t->gate->sockets, lost, uv_now(&t->gate->uv), t->out);
    t->is_lost = lost != NULL || gate_tls_trouble(&t->gate->watch, t->out);
}

bool
net_gate_trouble(net_gate *gate, char out[NET_GATE_TROUBLE_BYTES])
{
    gate_trouble t = {.gate = gate, .out = out};
    gate_calls_do(&gate->calls, gate_troubled, &t);
    return t.is_lost;
}

void
net_gate_end_close(net_gate_end *end)
{
    if (end != NULL && end->started) {
        gate_calls_do(&end->gate->calls, end_closed, end);
        // NNG reads now what it has of messages. nng_close of 1.5.2 does not return when it comes
        // between two reads of one message (docs/internals/decisions/0002-nng-close.md).
        const struct timespec rest = {.tv_nsec = CLOSE_REST_NS};
        (void)nanosleep(&rest, NULL);
    } else if (end != NULL) {
        end_free(end);
    }
}

net_gate_counts
net_gate_read_counts(net_gate *gate)
{
    uint64_t n[GATE_COUNTS];
    for (int i = 0; i < GATE_COUNTS; i++) {
        n[i] = atomic_load_explicit(&gate->counts[i], memory_order_relaxed);
    }
    return (net_gate_counts){
        .accepted = n[GATE_ACCEPTED],
        .opened = n[GATE_OPENED],
        .refused = n[GATE_REFUSED],
        .overflowed = n[GATE_OVERFLOWED],
        .expired = n[GATE_EXPIRED],
        .malformed = n[GATE_MALFORMED],
        .dead = n[GATE_DEAD],
        .revoked = n[GATE_REVOKED],
        .relistened = atomic_load_explicit(&gate->sockets.relistened, memory_order_relaxed),
        .connections = n[GATE_CONNECTIONS],
        .bytes_in = n[GATE_BYTES_IN],
        .bytes_out = n[GATE_BYTES_OUT],
    };
}

oct_role
net_gate_role(const net_gate *gate)
{
    return gate->role;
}

int64_t
net_gate_tls_ends_s(net_gate *gate)
{
    return gate_tls_ends_s(&gate->watch);
}
