// One connection of the TLS gate, with a peer that does anything: an input is a kind of end (of one
// that listens, or that dialed) and a list of events (bytes from the peer, raw or through TLS;
// bytes from behind the gate; ends of either side, deadlines, checks), over socket pairs. Whatever
// comes, the connection ends and leaves nothing.
#include "net/net_gate_conn.c"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "common/oct_bytes.h"
#include "common/oct_log.h"
#include "tests/fuzz/fuzz.h"
#include "tests/net/net_certs.h"

#define MESSAGE_MAX 2048
#define EVENTS_MAX  48
#define PROTOCOL    49 // REP
#define OTHER       48 // REQ

enum {
    KIND_TLS = 1,
    KIND_RAW = 2,
    KIND_TAGGED = 4,
    KIND_STRANGER = 8,
    KIND_WRONG_ROLE = 16,
    KIND_REVOKED = 32, // when checks are made, the peer's certificate is
    KIND_DIAL = 64,
    KIND_DEAF = 128, // the daemon behind the gate is gone
};

enum {
    EVENT_BYTES,  // count, bytes: as they are, to the gate
    EVENT_SECRET, // count, bytes: through TLS, or as they are without
    EVENT_HEADER, // the protocol's header, right or not
    EVENT_MESSAGE,
    EVENT_ANSWER, // from behind the gate
    EVENT_SHAKE,  // TLS as far as it goes
    EVENT_READ,
    EVENT_HALF,  // the peer writes no more
    EVENT_CLOSE, // it is gone
    EVENT_CLOSE_NOTIFY,
    EVENT_LOCAL_END, // NNG ends its side
    EVENT_DEADLINE,
    EVENT_CHECK,
    EVENT_BLAME,
    EVENT_FINISH,
    EVENTS
};

static net_gate *gate;
static net_gate_end *end;
static net_tls *tls_gate, *tls_revoking, *tls_actor, *tls_stranger;
static struct pollfd listeners[OCT_ROLES];
static char folder[] = "/tmp/octet_fuzz_gate_XXXXXX";

// The peer, and the daemon behind the gate; -1: gone.
static int peer, local;
static bool revokes;
static SSL *ssl;
static BIO *to_peer, *from_peer;

// ---- the gate and its certificates

static const char *
in_folder(const char *name)
{
    static char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void
folder_remove(void)
{
    static const char *const certs[] = {"gate", "actor", "stranger"};
    static const char *const files[] = {"ca.crt", "node.crt", "node.key", "crl.pem"};
    char path[192];
    for (size_t i = 0; i < OCT_COUNTOF(certs); i++) {
        for (size_t k = 0; k < OCT_COUNTOF(files); k++) {
            (void)snprintf(path, sizeof(path), "%s/%s/%s", folder, certs[i], files[k]);
            (void)unlink(path);
        }
        (void)rmdir(in_folder(certs[i]));
    }
    for (int role = 0; role < OCT_ROLES; role++) {
        (void)gate_local_path(&end->local, (oct_role)role, path);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

static net_tls *
tls_open(const char *name)
{
    net_tls *tls;
    oct_err err = net_tls_open(&tls, in_folder(name), NULL);
    OCT_ASSERT(err == OCT_OK);
    return tls;
}

static net_tls *
tls_make(certs_ca *ca, const char *role, const char *name)
{
    certs_write_usual(ca, role, true, in_folder(name));
    return tls_open(name);
}

// What NNG listens on, for every role.
static void
listeners_make(void)
{
    for (int role = 0; role < OCT_ROLES; role++) {
        char path[NET_GATE_LOCAL_MAX];
        struct sockaddr_un address;
        socklen_t size;
        end->local.made[role] = 1;
        end->local.fds[role] = -1;
        (void)gate_local_path(&end->local, (oct_role)role, path);
        OCT_ASSERT(net_fd_local_address(path, &address, &size));
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        OCT_ASSERT(fd >= 0 && bind(fd, (struct sockaddr *)&address, size) == 0);
        OCT_ASSERT(listen(fd, 8) == 0);
        listeners[role] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
}

// How many each role has had; only the first is there.
static void
listeners_count_set(unsigned count)
{
    for (int role = 0; role < OCT_ROLES; role++) {
        end->local.made[role] = count;
        end->local.lost_ms[role] = 0;
    }
}

static void
gate_make(void)
{
    oct_log_init("fuzz", OCT_LOG_ERROR);
    (void)signal(SIGPIPE, SIG_IGN); // as the daemons do
    OCT_ASSERT(mkdtemp(folder) != NULL);
    gate = oct_alloc(sizeof(*gate));
    end = oct_alloc(sizeof(*end));
    LIST_INIT(&gate->ends);
    TAILQ_INIT(&gate->turns);
    gate->conn_total_max = 64;
    (void)snprintf(gate->sockets.folder.path, sizeof(gate->sockets.folder.path), "%s", folder);
    OCT_ASSERT(uv_loop_init(&gate->uv) == 0);
    end->gate = gate;
    end->local.sockets = &gate->sockets;
    end->message_bytes_max = MESSAGE_MAX;
    end->fd = -1;
    end->handles = 1; // ours
    LIST_INIT(&end->conns);
    LIST_INSERT_HEAD(&gate->ends, end, place);
    (void)snprintf(end->url, sizeof(end->url), "tls+tcp://fuzz");
    (void)snprintf(end->host, sizeof(end->host), "localhost");
    certs_ca *ca = certs_ca_create("ca"), *other = certs_ca_create("other");
    tls_gate = tls_make(ca, "learner", "gate");
    tls_actor = tls_make(ca, "actor", "actor");
    tls_stranger = tls_make(other, "actor", "stranger");
    char actor[128];
    (void)snprintf(actor, sizeof(actor), "%s", in_folder("actor"));
    certs_revoke(ca, actor, in_folder("gate"));
    tls_revoking = tls_open("gate");
    certs_ca_destroy(ca);
    certs_ca_destroy(other);
    listeners_make();
    (void)atexit(folder_remove);
}

// ---- one connection

static void
turn(void)
{
    for (int i = 0; i < 4; i++) {
        (void)uv_run(&gate->uv, UV_RUN_NOWAIT);
    }
    bool is_called = local < 0 && poll(listeners, OCT_ROLES, 0) > 0;
    for (int role = 0; role < OCT_ROLES && is_called && local < 0; role++) {
        local = accept4(listeners[role].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    }
}

static void
drop(int *fd)
{
    if (*fd >= 0) {
        OCT_ASSERT(close(*fd) == 0);
    }
    *fd = -1;
}

static void
give(int fd, const uint8_t *bytes, size_t count)
{
    if (fd >= 0) {
        (void)!send(fd, bytes, count, MSG_NOSIGNAL);
    }
}

static size_t
fetch(int fd)
{
    static uint8_t bytes[1 << 16];
    ssize_t count = fd < 0 ? 0 : recv(fd, bytes, sizeof(bytes), 0);
    if (count > 0 && fd == peer && ssl != NULL) {
        (void)BIO_write(to_peer, bytes, (int)count);
    }
    return count > 0 ? (size_t)count : 0;
}

// What the peer's TLS has ready.
static void
secret_flush(void)
{
    char *bytes = NULL;
    long count = BIO_get_mem_data(from_peer, &bytes);
    give(peer, (const uint8_t *)bytes, count > 0 ? (size_t)count : 0);
    (void)BIO_reset(from_peer);
}

static void
secret_give(const uint8_t *bytes, size_t count)
{
    if (ssl == NULL) {
        give(peer, bytes, count);
    } else if (count > 0 && SSL_is_init_finished(ssl)) {
        (void)SSL_write(ssl, bytes, (int)count);
        secret_flush();
    }
}

static void
shake(void)
{
    for (int i = 0; i < 4 && ssl != NULL && !SSL_is_init_finished(ssl); i++) {
        (void)SSL_do_handshake(ssl);
        secret_flush();
        turn();
        (void)fetch(peer);
    }
    ERR_clear_error();
}

// As NNG writes them: a header once, then messages.
static void
answer_give(size_t count, bool *has_header)
{
    uint8_t bytes[NET_SP_HEADER_BYTES + 9 + 256] = {0};
    size_t at = 0;
    if (local < 0) { // NNG knows of no connection yet
        return;
    }
    if (end->protocol != 0 && !*has_header) {
        net_sp_header_write(bytes, end->protocol);
        at = NET_SP_HEADER_BYTES;
        *has_header = true;
    }
    bytes[at] = 1;
    bytes[at + 8] = (uint8_t)count;
    give(local, bytes, at + 9 + count);
}

static void
message_give(size_t count)
{
    uint8_t bytes[8 + MESSAGE_MAX + 64] = {0};
    bytes[6] = (uint8_t)(count >> 8);
    bytes[7] = (uint8_t)count;
    secret_give(bytes, 8 + OCT_MIN(count, sizeof(bytes) - 8));
}

static gate_conn *
conn_of(void)
{
    return LIST_FIRST(&end->conns);
}

static void
deadline_reach(void)
{
    gate_conn *conn = conn_of();
    if (conn != NULL && conn->state < GATE_LINGERING) {
        deadline_passed(&conn->deadline);
    }
}

static void
bytes_event(oct_reader *in, bool is_secret)
{
    size_t count = oct_read_u8(in);
    count = OCT_MIN(count, in->left);
    const uint8_t *bytes = oct_read_bytes(in, count);
    if (is_secret) {
        secret_give(bytes, count);
    } else {
        give(peer, bytes, count);
    }
}

static void
peer_event(uint8_t event, oct_reader *in)
{
    uint8_t header[NET_SP_HEADER_BYTES];
    switch (event) {
    case EVENT_HEADER:
        net_sp_header_write(header, oct_read_u8(in) % 4 == 0 ? PROTOCOL : OTHER);
        secret_give(header, sizeof(header));
        break;
    case EVENT_MESSAGE:
        message_give(oct_read_u16(in) % (MESSAGE_MAX + 16));
        break;
    case EVENT_SHAKE:
        shake();
        break;
    case EVENT_READ:
        (void)fetch(peer);
        (void)fetch(local);
        break;
    case EVENT_HALF:
        (void)shutdown(peer, SHUT_WR);
        break;
    case EVENT_CLOSE:
        drop(&peer);
        break;
    case EVENT_CLOSE_NOTIFY:
        if (ssl != NULL && SSL_is_init_finished(ssl)) {
            (void)SSL_shutdown(ssl);
            secret_flush();
        }
        break;
    default:
        bytes_event(in, event == EVENT_SECRET);
    }
}

static void
gate_event(uint8_t event, oct_reader *in, bool *has_header)
{
    gate_conn *conn = conn_of();
    switch (event) {
    case EVENT_ANSWER:
        answer_give(oct_read_u8(in), has_header);
        break;
    case EVENT_LOCAL_END:
        drop(&local);
        break;
    case EVENT_DEADLINE:
        deadline_reach();
        break;
    default:
        if (conn == NULL) {
            break;
        }
        if (event == EVENT_CHECK) {
            gate->tls = revokes && gate->tls != NULL ? tls_revoking : gate->tls;
            gate_conn_check(conn, true);
        } else if (event == EVENT_BLAME) {
            gate_conn_blame(conn);
        } else {
            gate_conn_finish(conn);
        }
    }
}

static void
play(oct_reader *in)
{
    bool has_header = false;
    for (int i = 0; i < EVENTS_MAX && in->left > 0; i++) {
        uint8_t event = oct_read_u8(in) % EVENTS;
        switch (event) {
        case EVENT_ANSWER:
        case EVENT_LOCAL_END:
        case EVENT_DEADLINE:
        case EVENT_CHECK:
        case EVENT_BLAME:
        case EVENT_FINISH:
            gate_event(event, in, &has_header);
            break;
        default:
            peer_event(event, in);
        }
        turn();
    }
}

// Both sides go; a deadline is needed at most for what is still queued.
static void
expect_end(void)
{
    drop(&peer);
    for (int i = 0; i < 8 && conn_of() != NULL; i++) {
        turn();
        while (fetch(local) > 0) {
            turn();
        }
        if (i >= 2) {
            deadline_reach();
        }
        turn();
        drop(&local);
    }
    OCT_ASSERT(conn_of() == NULL);
    listeners_count_set(1);
    drop(&local);
    OCT_ASSERT(end->handles == 1 && end->conn_count == 0 && gate->conn_total == 0);
    OCT_ASSERT(gate->handshakes == 0 && gate->partial == 0 && TAILQ_EMPTY(&gate->turns));
}

static void
begin(uint8_t kind)
{
    int pair[2];
    OCT_ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    peer = pair[0];
    local = -1;
    ssl = NULL;
    end->is_tls = (kind & KIND_TLS) != 0;
    gate->tls = end->is_tls ? tls_gate : NULL;
    end->protocol = (kind & KIND_RAW) != 0 ? 0 : PROTOCOL;
    end->peer_protocol = OTHER;
    end->tagged = (kind & KIND_TAGGED) != 0;
    end->is_dial = (kind & KIND_DIAL) != 0;
    end->closing = end->local.closing =
        (kind & (KIND_DIAL | KIND_DEAF)) != 0; // nobody dials or listens again
    listeners_count_set((kind & KIND_DEAF) != 0 ? 2 : 1);
    revokes = (kind & KIND_REVOKED) != 0;
    end->roles = OCT_ROLE_BIT((kind & KIND_WRONG_ROLE) != 0 ? OCT_ROLE_REPLAY : OCT_ROLE_ACTOR);
    memset(&gate->failures, 0, sizeof(gate->failures));
    if (end->is_tls) {
        net_tls *tls = (kind & KIND_STRANGER) != 0 ? tls_stranger : tls_actor;
        const char *host = end->tagged ? "127.0.0.1" : "localhost";
        ssl = net_tls_connection(tls, end->is_dial ? NULL : host, &to_peer, &from_peer);
    }
    gate_conn *conn = conn_create(end, GATE_CONNECTING);
    OCT_ASSERT(uv_tcp_open(&conn->tcp, pair[1]) == 0);
    conn_begin(conn);
    turn();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (gate == NULL) {
        gate_make();
    }
    oct_reader in = {.at = data, .left = size};
    uint64_t opened = atomic_load(&gate->counts[GATE_OPENED]);
    begin(oct_read_u8(&in));
    play(&in);
    if (atomic_load(&gate->counts[GATE_OPENED]) > opened) {
        fuzz_accept();
    }
    expect_end();
    SSL_free(ssl);
    ERR_clear_error();
    return 0;
}

void
fuzz_seeds(void)
{
    static const uint8_t kinds[] = {
        0,
        KIND_RAW,
        KIND_TAGGED,
        KIND_TLS,
        KIND_TLS | KIND_RAW,
        KIND_TLS | KIND_TAGGED,
        KIND_TLS | KIND_REVOKED,
        KIND_TLS | KIND_DIAL,
        KIND_DIAL | KIND_TAGGED,
    };
    static const uint8_t ends[] = {EVENT_CLOSE, EVENT_HALF,      EVENT_CLOSE_NOTIFY,
                                   EVENT_BLAME, EVENT_LOCAL_END, EVENT_FINISH};
    for (size_t i = 0; i < OCT_COUNTOF(kinds); i++) {
        for (size_t k = 0; k < OCT_COUNTOF(ends); k++) {
            const uint8_t seed[] = {kinds[i], EVENT_SHAKE,   EVENT_HEADER,
                                    1,        EVENT_MESSAGE, 9,
                                    0,        EVENT_MESSAGE, 0,
                                    4,        EVENT_READ,    EVENT_ANSWER,
                                    7,        EVENT_READ,    EVENT_CHECK,
                                    ends[k],  EVENT_READ,    EVENT_DEADLINE};
            fuzz_seed(seed, sizeof(seed));
        }
    }
    static const uint8_t deaf[] = {KIND_TLS | KIND_DEAF, EVENT_SHAKE, EVENT_HEADER, 1, EVENT_READ};
    fuzz_seed_bad(deaf, sizeof(deaf));
}
