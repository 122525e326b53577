// One connection of the gate: TCP outside, a local socket to NNG inside, and what passes between:
//
//   to NNG    tcp_read -> TLS -> header -> framing -> stream_write(local)
//   to peer   local_read -> framing -> TLS -> stream_write(tcp)
//
// A side is read while the queue of the other is shorter than gate_room_queue, and again below a
// quarter of it. After conn_end, which is harmless when repeated, the connection lives until NNG
// has ended its side and libuv has closed the handles; so callbacks check the state first.
// conn_refuse also counts, logs and charges a fault of the peer. net_gate.c begins with the whole
// order.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/err.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "net/net_fd.h"
#include "net/net_gate_state.h"

#define TAGGED_BYTES 32768 // kernel's buffer towards NNG where messages may be blamed

typedef struct block {
    uv_write_t request;
    gate_conn *conn;
    uint8_t bytes[];
} block;

static void inside_pump(gate_conn *conn, const uint8_t *bytes, size_t count);
static void conn_drain(gate_conn *conn);
static void conn_end(gate_conn *conn, const char *reason);
static void local_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf);
static void outside_pump(gate_conn *conn);

// ---- closing

static void
handle_closed(uv_handle_t *handle)
{
    gate_conn *conn = handle->data;
    net_gate_end *end = conn->end;
    if (--conn->handles > 0) {
        return;
    }
    LIST_REMOVE(conn, place);
    end->conn_count--;
    end->gate->conn_total--;
    SSL_free(conn->ssl);
    free(conn);
    gate_end_release(end);
}

static bool
is_open(gate_state state)
{
    return state == GATE_OPEN || state == GATE_DRAINING;
}

static void
read_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)suggested;
    gate_conn *conn = handle->data;
    *buf = uv_buf_init((char *)conn->end->gate->read_bytes, GATE_READ_BYTES);
}

// Starts or stops reading from stream; *reads is what it does now.
static void
reads_set(gate_conn *conn, uv_stream_t *stream, bool *reads, bool wanted, uv_read_cb fn)
{
    if (*reads == wanted) {
        return;
    }
    *reads = wanted;
    if (!wanted) {
        (void)uv_read_stop(stream);
    } else if (uv_read_start(stream, read_alloc, fn) != 0) {
        conn_end(conn, "cannot read");
    }
}

static void
local_finished(uv_shutdown_t *request, int status)
{
    (void)request;
    (void)status; // reading shows how NNG reacts
}

static void
local_close(gate_conn *conn)
{
    conn->state = GATE_CLOSING;
    uv_close((uv_handle_t *)&conn->local, handle_closed);
}

// Shuts down our side of local and waits until NNG ends its side. Closing the socket at once is not
// possible: NNG 1.5.2 that learns of the close between two reads of a message never reads again,
// never closes its side, and nng_close then never returns.
static void
local_finish(gate_conn *conn)
{
    int fd;
    reads_set(conn, (uv_stream_t *)&conn->local, &conn->local_reads, true, local_read);
    if (conn->dropped && uv_fileno((const uv_handle_t *)&conn->local, &fd) == 0) {
        (void)shutdown(fd, SHUT_WR); // not uv_shutdown, which waits until everything is written
    } else if (uv_shutdown(&conn->shutdown, (uv_stream_t *)&conn->local, local_finished) != 0) {
        local_close(conn);
    }
}

// Closes the outside at once and the inside as NNG allows. reason goes to the end, which logs it if
// it dials.
static void
conn_end(gate_conn *conn, const char *reason)
{
    net_gate *gate = conn->end->gate;
    if (conn->state >= GATE_LINGERING) {
        return;
    }
    bool was_open = is_open(conn->state);
    gate_room_forget(conn);
    bool lingers = conn->has_local && !conn->local_ended;
    conn->state = lingers ? GATE_LINGERING : GATE_CLOSING;
    (void)atomic_fetch_sub_explicit(&gate->counts[GATE_CONNECTIONS], 1, memory_order_relaxed);
    uv_close((uv_handle_t *)&conn->deadline, handle_closed);
    uv_close((uv_handle_t *)&conn->tcp, handle_closed);
    if (lingers) {
        local_finish(conn);
    } else if (conn->has_local) {
        local_close(conn);
    }
    gate_end_gone(conn->end, was_open, reason);
}

// Ends a connection whose peer may not connect or misbehaves; an accepted peer is charged and
// logged.
static void
conn_refuse(gate_conn *conn, gate_count why, const char *reason)
{
    net_gate *gate = conn->end->gate;
    if (conn->state >= GATE_LINGERING) {
        return;
    }
    gate_add(gate, why, 1);
    if (!conn->end->is_dial) {
        gate_failures_add(&gate->failures, &conn->peer, uv_now(&gate->uv));
        gate_end_refused(conn, reason);
    }
    conn->dropped = true;
    conn_end(conn, reason);
}

void
gate_conn_blame(gate_conn *conn)
{
    conn_refuse(conn, GATE_MALFORMED, "too many bad messages");
}

// ---- writing

static void
block_written(uv_write_t *request, int status)
{
    block *b = (block *)(void *)request;
    gate_conn *conn = b->conn;
    bool outward = request->handle == (uv_stream_t *)&conn->tcp;
    size_t queued = uv_stream_get_write_queue_size(request->handle);
    free(b);
    if (conn->state >= GATE_LINGERING) {
        return;
    }
    if (status < 0 || (conn->state == GATE_DRAINING && queued == 0)) {
        // A cancelled write arrives after conn_end, which the state shows.
        conn_end(conn, status < 0 ? uv_strerror(status) : "closed");
        return;
    }
    if (queued < gate_room_queue(conn->end->gate) / 4 && outward && !conn->local_reads) {
        inside_pump(conn, NULL, 0);
    }
    if (queued < gate_room_queue(conn->end->gate) / 4 && !conn->tcp_reads) {
        outside_pump(conn);
    }
}

static void
stream_write(gate_conn *conn, uv_stream_t *stream, const uint8_t *bytes, size_t count)
{
    conn->outward += stream == (uv_stream_t *)&conn->tcp ? count : 0;
    if (count > 0 && uv_stream_get_write_queue_size(stream) == 0) {
        uv_buf_t buf = uv_buf_init((char *)(uintptr_t)bytes, (unsigned)count);
        int sent = uv_try_write(stream, &buf, 1);
        if (sent > 0) {
            bytes += sent;
            count -= (size_t)sent;
        }
    }
    if (count == 0) {
        return;
    }
    block *b = malloc(sizeof(*b) + count);
    OCT_ASSERT(b != NULL);
    b->conn = conn;
    memcpy(b->bytes, bytes, count);
    uv_buf_t buf = uv_buf_init((char *)b->bytes, (unsigned)count);
    if (uv_write(&b->request, stream, &buf, 1, block_written) != 0) {
        free(b);
        conn_end(conn, "cannot write");
    }
}

// Writes what TLS has encrypted to the peer.
static void
cipher_flush(gate_conn *conn)
{
    char *bytes = NULL;
    long count = conn->ssl == NULL ? 0 : BIO_get_mem_data(conn->cipher_out, &bytes);
    if (count > 0) {
        gate_add(conn->end->gate, GATE_BYTES_OUT, (uint64_t)count);
        stream_write(conn, (uv_stream_t *)&conn->tcp, (const uint8_t *)bytes, (size_t)count);
        (void)BIO_reset(conn->cipher_out);
    }
}

// Encrypts bytes, if there is TLS, and sends them to the peer.
static void
outside_write(gate_conn *conn, const uint8_t *bytes, size_t count)
{
    if (conn->ssl == NULL) {
        gate_add(conn->end->gate, GATE_BYTES_OUT, count);
        stream_write(conn, (uv_stream_t *)&conn->tcp, bytes, count);
    } else if (count > 0) {
        // A memory BIO never makes TLS wait, so SSL_write takes all of count.
        int taken = SSL_write(conn->ssl, bytes, (int)count);
        if (taken != (int)count) {
            ERR_clear_error();
            conn_end(conn, "TLS failed");
            return;
        }
        cipher_flush(conn);
    }
}

// ---- inside: NNG's socket

static void
local_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
    gate_conn *conn = stream->data;
    if (count < 0) {
        conn->local_ended = true;
        if (conn->state == GATE_LINGERING) {
            local_close(conn);
        } else {
            conn_drain(conn);
        }
    } else if (conn->state == GATE_OPEN) {
        inside_pump(conn, (const uint8_t *)buf->base, (size_t)count);
        if (conn->state == GATE_OPEN && !conn->tcp_reads) { // it had too many unanswered requests
            outside_pump(conn);
        }
    }
}

// Passes bytes from NNG to the peer, and decides whether to read more from NNG.
static void
inside_pump(gate_conn *conn, const uint8_t *bytes, size_t count)
{
    net_gate *gate = conn->end->gate;
    size_t skip = OCT_MIN((size_t)conn->local_header_left, count);
    conn->local_header_left -= (unsigned)skip;
    if (count > skip && conn->end->protocol == 0) {
        outside_write(conn, bytes + skip, count - skip);
    } else if (count > skip) {
        size_t made;
        oct_err err =
            net_sp_convert(&conn->from_local, bytes + skip, count - skip, gate->converted, &made);
        OCT_ASSERT(err == OCT_OK); // NNG made it, so its framing is right
        outside_write(conn, gate->converted, made);
    }
    if (conn->state != GATE_OPEN) {
        return;
    }
    // Answers may queue more bytes: an answer that waits holds a context of the server.
    size_t most =
        gate_room_calls(conn->end) ? GATE_ANSWERS_BYTES : gate_room_queue(conn->end->gate);
    bool full = uv_stream_get_write_queue_size((uv_stream_t *)&conn->tcp) > most;
    reads_set(conn, (uv_stream_t *)&conn->local, &conn->local_reads, !full, local_read);
}

// Connects the peer, which has passed all checks, to NNG.
static void
conn_open(gate_conn *conn)
{
    net_gate *gate = conn->end->gate;
    oct_reason why;
    // Files that were reloaded during the handshake: gate_conn_check checks only open connections.
    if (conn->ssl != NULL && !net_tls_is_current(gate->tls, conn->ssl) &&
        !net_tls_is_good(gate->tls, conn->ssl, &why)) {
        conn_refuse(conn, GATE_REVOKED, why.text);
        return;
    }
    int fd = gate_local_connect(&conn->end->local, conn->peer.certificate.role, &conn->link,
                                uv_now(&gate->uv));
    if (fd < 0) { // the peer dials again
        conn_end(conn, "the daemon does not accept it");
        return;
    }
    if (conn->end->tagged && !gate_room_calls(conn->end)) {
        // Messages in that buffer still reach the daemon after the peer is blamed, so it is small.
        const int bytes = TAGGED_BYTES;
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    }
    OCT_ASSERT(uv_pipe_init(&gate->uv, &conn->local, 0) == 0);
    conn->local.data = conn;
    conn->has_local = true;
    conn->handles++;
    if (uv_pipe_open(&conn->local, fd) != 0) {
        (void)close(fd);
        conn_end(conn, "cannot open");
        return;
    }
    (void)uv_timer_stop(&conn->deadline);
    gate_room_leave(conn);
    conn->state = GATE_OPEN;
    gate_add(gate, GATE_OPENED, 1);
    gate_end_opened(conn->end, conn);
    if (conn->end->protocol != 0) {
        conn->local_header_left = NET_SP_HEADER_BYTES;
        stream_write(conn, (uv_stream_t *)&conn->local, conn->header, NET_SP_HEADER_BYTES);
    }
    inside_pump(conn, NULL, 0);
}

// ---- outside: the peer

// Takes the header's bytes from the front; returns how many.
static size_t
header_take(gate_conn *conn, const uint8_t *bytes, size_t count)
{
    size_t take = OCT_MIN((size_t)(NET_SP_HEADER_BYTES - conn->header_have), count);
    memcpy(conn->header + conn->header_have, bytes, take);
    conn->header_have += (unsigned)take;
    if (conn->header_have < NET_SP_HEADER_BYTES) {
        return take;
    }
    uint16_t protocol;
    if (!net_sp_header_read(conn->header, &protocol)) {
        conn_refuse(conn, GATE_REFUSED, "does not speak Octet's protocol");
    } else if (protocol != conn->end->peer_protocol) {
        conn_refuse(conn, GATE_REFUSED, "wrong port: another kind of socket is expected here");
    } else {
        conn_open(conn);
    }
    return take;
}

// Passes decrypted bytes of the peer on: the header first, then messages to NNG.
static void
plain_take(gate_conn *conn, const uint8_t *bytes, size_t count)
{
    net_gate *gate = conn->end->gate;
    if (conn->state == GATE_HEADER) {
        size_t taken = header_take(conn, bytes, count);
        bytes += taken;
        count -= taken;
    }
    if (count == 0 || !is_open(conn->state)) {
        return;
    }
    if (conn->end->protocol == 0) {
        stream_write(conn, (uv_stream_t *)&conn->local, bytes, count);
        return;
    }
    size_t made;
    oct_err err = net_sp_convert(&conn->to_local, bytes, count, gate->converted, &made);
    if (gate_room_speaks(conn)) {
        conn_refuse(conn, GATE_MALFORMED, "messages where only a name is expected");
        return;
    }
    stream_write(conn, (uv_stream_t *)&conn->local, gate->converted, made);
    if (err != OCT_OK) {
        conn_refuse(conn, GATE_MALFORMED, "a message longer than allowed");
        return;
    }
    gate_conn *worst = gate_room_message(conn);
    if (worst != NULL) {
        conn_refuse(worst, GATE_MALFORMED, "the largest of too many unfinished messages");
    }
}

// Returns true while nothing more may be read from the peer: NNG has enough queued, the message
// waits for room, or the peer has too many unanswered requests or unread answers.
static bool
outside_waits(const gate_conn *conn)
{
    if (!conn->has_local) {
        return false;
    }
    if (conn->finishing || conn->long_message.state == GATE_LONG_WAITING) {
        return true;
    }
    bool calls = gate_room_calls(conn->end) &&
                 (conn->to_local.messages - conn->from_local.messages >= NET_GATE_CALLS_MAX ||
                  uv_stream_get_write_queue_size((const uv_stream_t *)&conn->tcp) >
                      gate_room_queue(conn->end->gate));
    return calls || uv_stream_get_write_queue_size((const uv_stream_t *)&conn->local) >
                        gate_room_queue(conn->end->gate);
}

static void conn_overflow(gate_conn *conn, const char *reason);

// Checks the peer's certificate, which from here on is charged for failures. If it has too many,
// the attempt is charged to the address, because a handshake is what costs most.
static void
handshake_done(gate_conn *conn)
{
    char reason[GATE_REASON_BYTES];
    net_gate *gate = conn->end->gate;
    if (net_tls_peer_read(conn->ssl, &conn->peer.certificate) != OCT_OK) {
        conn_refuse(conn, GATE_REFUSED, "its certificate names no role");
        return;
    }
    conn->peer.is_known = true;
    const char *full = conn->end->is_dial ? NULL : gate_room_holder_full(conn);
    if (full != NULL) {
        gate_failures_add_address(&gate->failures, &conn->peer, uv_now(&gate->uv));
        conn_overflow(conn, full);
    } else if ((conn->end->roles & OCT_ROLE_BIT(conn->peer.certificate.role)) == 0) {
        (void)snprintf(reason, sizeof(reason),
                       "its certificate, %s, has the role %s, which may not connect here",
                       conn->peer.certificate.holder.name,
                       oct_role_name(conn->peer.certificate.role));
        conn_refuse(conn, GATE_REFUSED, reason);
    }
}

// Sends our header and waits for the peer's; TLS is done, or there is none. Without SP the
// connection opens at once.
static void
header_begin(gate_conn *conn)
{
    uint8_t header[NET_SP_HEADER_BYTES];
    conn->state = GATE_HEADER;
    if (conn->end->protocol == 0) {
        conn_open(conn);
    } else {
        net_sp_header_write(header, conn->end->protocol);
        outside_write(conn, header, sizeof(header));
    }
}

// Continues the handshake. Returns true once it is done and the connection still lives.
static bool
handshake_step(gate_conn *conn)
{
    oct_reason why;
    int code = SSL_do_handshake(conn->ssl);
    int error = code == 1 ? SSL_ERROR_NONE : SSL_get_error(conn->ssl, code);
    if (error != SSL_ERROR_NONE && error != SSL_ERROR_WANT_READ) {
        net_tls_reason(conn->ssl, &why);
        cipher_flush(conn); // the alert tells the peer why
        conn_refuse(conn, GATE_REFUSED, why.text);
        return false;
    }
    cipher_flush(conn);
    if (error != SSL_ERROR_NONE || conn->state != GATE_HANDSHAKE) {
        return false;
    }
    handshake_done(conn);
    if (conn->state == GATE_HANDSHAKE) {
        header_begin(conn);
    }
    return conn->state < GATE_LINGERING;
}

static void outside_ended(gate_conn *conn, const char *reason);
static void outside_half_ended(gate_conn *conn);

// Decrypts what has come, as long as NNG takes it.
static void
cipher_pump(gate_conn *conn)
{
    net_gate *gate = conn->end->gate;
    oct_reason why;
    if (conn->state == GATE_HANDSHAKE && !handshake_step(conn)) {
        return;
    }
    bool more = true;
    while (more && conn->state < GATE_LINGERING && !outside_waits(conn)) {
        size_t have = 0; // a record has at most 16 KiB: several become one write
        int code = 1;
        while (have < GATE_READ_BYTES && code > 0) {
            code = SSL_read(conn->ssl, gate->plain + have, (int)(GATE_READ_BYTES - have));
            have += code > 0 ? (size_t)code : 0;
        }
        int error = code > 0 ? SSL_ERROR_NONE : SSL_get_error(conn->ssl, code);
        if (have > 0) {
            plain_take(conn, gate->plain, have);
        }
        more = error == SSL_ERROR_NONE;
        if (conn->state >= GATE_LINGERING || more || error == SSL_ERROR_WANT_READ) {
            continue;
        }
        net_tls_reason(conn->ssl, &why);
        if (error == SSL_ERROR_ZERO_RETURN) {
            outside_half_ended(conn);
        } else {
            outside_ended(conn, why.text);
        }
        return;
    }
    if (conn->state < GATE_LINGERING) {
        cipher_flush(conn); // the answer to a change of keys
    }
}

static void
tcp_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
    gate_conn *conn = stream->data;
    if (count < 0) {
        outside_ended(conn, count != UV_EOF ? uv_strerror((int)count)
                            : conn->state == GATE_HEADER
                                ? "the peer refused the connection: see its log"
                                : "the peer closed the connection");
        return;
    }
    gate_add(conn->end->gate, GATE_BYTES_IN, (uint64_t)count);
    if (conn->ssl == NULL) {
        plain_take(conn, (const uint8_t *)buf->base, (size_t)count);
    } else {
        OCT_ASSERT(BIO_write(conn->cipher_in, buf->base, (int)count) == (int)count);
    }
    outside_pump(conn);
}

// Takes what TLS holds, and decides whether to read more from the peer.
static void
outside_pump(gate_conn *conn)
{
    if (conn->ssl != NULL && conn->state < GATE_LINGERING && !conn->half) {
        cipher_pump(conn);
    }
    if (conn->state >= GATE_LINGERING || conn->state == GATE_DRAINING || conn->half) {
        return;
    }
    reads_set(conn, (uv_stream_t *)&conn->tcp, &conn->tcp_reads, !outside_waits(conn), tcp_read);
}

void
gate_conn_resume(gate_long *entry)
{
    outside_pump((gate_conn *)(void *)((char *)entry - offsetof(gate_conn, long_message)));
}

// ---- the end of a connection

static void
outside_ended(gate_conn *conn, const char *reason)
{
    if (is_open(conn->state)) {
        conn_drain(conn);
    } else {
        conn_refuse(conn, GATE_REFUSED, reason);
    }
}

// The peer has ended its side. Over HTTP the peer may still wait for the answer, so only the inside
// is closed for writing; otherwise the connection ends.
static void
outside_half_ended(gate_conn *conn)
{
    if (conn->end->protocol != 0 || conn->state != GATE_OPEN) {
        outside_ended(conn, "the peer closed the connection");
        return;
    }
    conn->half = true;
    reads_set(conn, (uv_stream_t *)&conn->tcp, &conn->tcp_reads, false, NULL);
    if (uv_shutdown(&conn->shutdown, (uv_stream_t *)&conn->local, local_finished) != 0) {
        conn_drain(conn);
    }
}

// Ends the reading on both sides, and the connection once what is queued is written or the deadline
// passes.
static void
conn_drain(gate_conn *conn)
{
    if (conn->state != GATE_OPEN) {
        if (conn->state != GATE_DRAINING) {
            conn_end(conn, "closed");
        }
        return;
    }
    reads_set(conn, (uv_stream_t *)&conn->tcp, &conn->tcp_reads, false, NULL);
    reads_set(conn, (uv_stream_t *)&conn->local, &conn->local_reads, false, NULL);
    if (conn->ssl != NULL) {
        (void)SSL_shutdown(conn->ssl);
        ERR_clear_error();
        cipher_flush(conn);
    }
    if (conn->state != GATE_OPEN) {
        return;
    }
    conn->state = GATE_DRAINING;
    if (uv_stream_get_write_queue_size((uv_stream_t *)&conn->tcp) == 0 &&
        uv_stream_get_write_queue_size((uv_stream_t *)&conn->local) == 0) {
        conn_end(conn, "closed");
    } else {
        (void)uv_timer_start(&conn->deadline, conn->deadline.timer_cb,
                             conn->end->protocol != 0 ? GATE_DRAIN_MS : GATE_DRAIN_RAW_MS, 0);
    }
}

void
gate_conn_finish(gate_conn *conn)
{
    if (conn->state == GATE_OPEN) {
        conn->finishing = true;
        reads_set(conn, (uv_stream_t *)&conn->tcp, &conn->tcp_reads, false, NULL);
        (void)uv_timer_start(&conn->deadline, conn->deadline.timer_cb, GATE_FINISH_MS, 0);
    } else if (conn->state != GATE_DRAINING) {
        conn_end(conn, "closed");
    }
}

static void
deadline_passed(uv_timer_t *timer)
{
    gate_conn *conn = timer->data;
    if (conn->state == GATE_OPEN) {
        conn_drain(conn);
        return;
    }
    if (conn->state == GATE_DRAINING) {
        conn_end(conn, "closed");
        return;
    }
    conn_refuse(conn, GATE_EXPIRED,
                conn->state == GATE_CONNECTING  ? "no answer"
                : conn->state == GATE_HANDSHAKE ? "the TLS handshake does not progress"
                                                : "no header arrived");
}

// Ends conn if NNG made no pipe for it: NNG then never closes its side. True: conn has ended.
static bool
conn_has_no_pipe(gate_conn *conn)
{
    if (conn->state == GATE_CLOSING || !conn->has_local || conn->local_ended ||
        !gate_local_has_no_pipe(&conn->end->local, conn->peer.certificate.role, &conn->link,
                                uv_now(&conn->end->gate->uv))) {
        return false;
    }
    conn->local_ended = true;
    if (conn->state == GATE_LINGERING) {
        local_close(conn);
    } else {
        conn_end(conn, "no answer behind the gate");
    }
    return true;
}

void
gate_conn_check(gate_conn *conn, bool renewed)
{
    oct_reason why;
    net_gate *gate = conn->end->gate;
    int fd;
    if (conn_has_no_pipe(conn) || !is_open(conn->state)) {
        return;
    }
    if (renewed && conn->ssl != NULL && !net_tls_is_good(gate->tls, conn->ssl, &why)) {
        conn_refuse(conn, GATE_REVOKED, why.text);
    } else if (gate_room_unread(conn)) {
        conn_refuse(conn, GATE_DEAD, "the peer reads nothing");
    } else if (gate_long_stalls(&gate->longs, &conn->long_message, &conn->to_local, conn->tcp_reads,
                                uv_now(&gate->uv))) {
        conn_refuse(conn, GATE_MALFORMED, "a long message is incomplete while others wait");
    } else if (uv_fileno((const uv_handle_t *)&conn->tcp, &fd) == 0 &&
               net_fd_is_silent(fd, NET_GATE_DEAD_MS)) {
        gate_add(gate, GATE_DEAD, 1);
        conn_end(conn, "no sign of life");
    }
}

// ---- the beginning

static gate_conn *
conn_create(net_gate_end *end, gate_state state)
{
    net_gate *gate = end->gate;
    gate_conn *conn = oct_alloc(sizeof(*conn));
    conn->end = end;
    conn->state = state;
    conn->peer.certificate.role = OCT_ROLE_LOCAL;
    conn->tcp.data = conn->deadline.data = conn;
    OCT_ASSERT(uv_tcp_init(&gate->uv, &conn->tcp) == 0);
    OCT_ASSERT(uv_timer_init(&gate->uv, &conn->deadline) == 0);
    conn->handles = 2;
    LIST_INSERT_HEAD(&end->conns, conn, place);
    end->conn_count++;
    gate->conn_total++;
    gate->conn_peak = OCT_MAX(gate->conn_peak, gate->conn_total);
    end->handles++;
    gate_add(gate, GATE_CONNECTIONS, 1);
    (void)uv_timer_start(&conn->deadline, deadline_passed, NET_GATE_HANDSHAKE_MS, 0);
    net_sp_stream_init(&conn->to_local, NET_SP_TO_LOCAL, end->message_bytes_max);
    conn->number = ++gate->conns_made;
    conn->to_local.tag = end->tagged ? conn->number : 0;
    conn->to_local.has_number = end->tagged && gate_room_calls(end);
    net_sp_stream_init(&conn->from_local, NET_SP_FROM_LOCAL, UINT64_MAX);
    return conn;
}

// Begins with TLS, or with the header without TLS; TCP is up.
static void
conn_begin(gate_conn *conn)
{
    net_gate_end *end = conn->end;
    net_gate *gate = end->gate;
    int fd;
    if (uv_fileno((const uv_handle_t *)&conn->tcp, &fd) == 0) {
        net_fd_prepare(fd);
    }
    gate_room_enter(conn);
    conn->state = GATE_HANDSHAKE;
    if (end->is_tls) {
        const char *host = end->is_dial ? end->host : NULL;
        conn->ssl = net_tls_connection(gate->tls, host, &conn->cipher_in, &conn->cipher_out);
    } else {
        header_begin(conn);
    }
    outside_pump(conn);
}

static void
conn_overflow(gate_conn *conn, const char *reason)
{
    int fd;
    gate_add(conn->end->gate, GATE_OVERFLOWED, 1);
    gate_end_refused(conn, reason);
    if (uv_fileno((const uv_handle_t *)&conn->tcp, &fd) == 0) {
        net_fd_reset(fd);
    }
    conn_end(conn, reason);
    SSL_free(conn->ssl); // many may end before libuv frees the first
    conn->ssl = NULL;
}

void
gate_conn_accept(net_gate_end *end)
{
    net_gate *gate = end->gate;
    gate_conn *conn = conn_create(end, GATE_CONNECTING);
    if (uv_accept((uv_stream_t *)&end->listener, (uv_stream_t *)&conn->tcp) != 0) {
        conn_end(conn, "cannot be accepted");
        return;
    }
    gate_add(gate, GATE_ACCEPTED, 1);
    struct sockaddr_storage from = {0};
    int size = sizeof(from);
    (void)uv_tcp_getpeername(&conn->tcp, (struct sockaddr *)&from, &size);
    gate_peer_init(&conn->peer, (const struct sockaddr *)&from);
    bool may = gate_failures_allow(&gate->failures, &conn->peer, uv_now(&gate->uv));
    const char *full =
        may ? gate_room_full(end, conn->peer.address) : "too many failures of that address";
    if (full != NULL) {
        conn_overflow(conn, full);
        return;
    }
    gate_conn *victim = gate_room_victim(gate, conn->peer.address);
    if (victim != NULL) {
        conn_overflow(victim, "too many handshakes at a time");
    }
    conn_begin(conn);
}

static void
connected(uv_connect_t *request, int status)
{
    gate_conn *conn = request->data;
    if (conn->state >= GATE_LINGERING) {
        return;
    }
    if (status != 0) {
        conn_end(conn, uv_strerror(status));
    } else {
        conn_begin(conn);
    }
}

void
gate_conn_dial(net_gate_end *end)
{
    gate_conn *conn = conn_create(end, GATE_CONNECTING);
    conn->connect.data = conn;
    gate_peer_init(&conn->peer, end->address->ai_addr);
    int code = uv_tcp_connect(&conn->connect, &conn->tcp, end->address->ai_addr, connected);
    if (code != 0) {
        conn_end(conn, uv_strerror(code));
    }
}
