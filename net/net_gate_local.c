// The local sockets of the gate: their paths, connections to them, and their replacement.
//
// 1. An end has one local socket for each role that its peers may have (one in all without TLS);
//    NNG tells roles apart by the listener. Its path is FOLDER/END.ROLE.COUNT, where COUNT rises
//    with each replacement.
// 2. gate_local_connect remembers how many pipes NNG has made at that listener. NNG makes a pipe of
//    each connection at once, so the count must rise within GATE_PIPELESS_TICKS. Another
//    connection's pipe also raises it, which is fine: the listener works.
// 3. A listener that makes no pipe, or a socket that refuses connections, is replaced: NNG listens
//    on another path, and new connections go there. Connections of before that NNG has accepted
//    stay.
// 4. If it cannot be replaced (NET_GATE_LOCALS_MAX are used up, or the caller listens itself), the
//    gate tries each second and ends the process after NET_GATE_LOST_MS, so that a supervisor
//    restarts it: peers connect, but nothing reaches the daemon.
// 5. A socket file whose name was removed still works: open with O_PATH, it is reached by
//    /proc/self/fd.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "common/oct_log.h"
#include "common/oct_reason.h"
#include "net/net_fd.h"
#include "net/net_gate_state.h"

#define TOLD_MS 600000u // for which a replaced socket is reported as trouble

static void
local_path(const net_gate_end *end, oct_role role, unsigned made, char out[NET_GATE_LOCAL_MAX])
{
    (void)snprintf(out, NET_GATE_LOCAL_MAX, "%s/%llx.%d.%u", end->gate->folder.path,
                   (unsigned long long)end->number, (int)role, made);
}

bool
gate_local_path(const net_gate_end *end, oct_role role, char out[NET_GATE_LOCAL_MAX])
{
    local_path(end, role, 0, out);
    return end->is_tls ? (end->roles & OCT_ROLE_BIT(role)) != 0 && role >= OCT_ROLE_LEARNER
                       : role == OCT_ROLE_LOCAL;
}

static void
file_close(net_gate_end *end, oct_role role)
{
    if (end->local_fds[role] >= 0) {
        (void)close(end->local_fds[role]);
    }
    end->local_fds[role] = -1;
}

// Makes one more local socket for the role; new connections go there.
static oct_err
local_make(net_gate_end *end, oct_role role, oct_reason *why)
{
    char path[NET_GATE_LOCAL_MAX];
    unsigned made = end->locals_made[role];
    if (made == NET_GATE_LOCALS_MAX || (made > 0 && end->listen_local == NULL)) {
        return oct_refuse(why, "no other local socket can replace it");
    }
    int id = 0;                      // the caller listens
    if (end->listen_local != NULL) { // 0: the caller listens
        OCT_TRY(net_gate_folder_keep(&end->gate->folder, why));
        local_path(end, role, made, path);
        id = end->listen_local(end->socket, path, why);
        if (id < 1) {
            return OCT_EIO;
        }
    }
    local_path(end, role, made, path);
    file_close(end, role);
    end->local_fds[role] = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    atomic_store_explicit(&end->listener_ids[role][made], id, memory_order_release);
    end->locals_made[role]++;
    return OCT_OK;
}

oct_err
gate_local_make_all(net_gate_end *end)
{
    char path[NET_GATE_LOCAL_MAX];
    oct_reason why;
    for (oct_role role = 0; role < OCT_ROLES; role++) {
        if (gate_local_path(end, role, path) && local_make(end, role, &why) != OCT_OK) {
            oct_log_error("NET-LISTEN", "url=%s error=\"%s\"", end->url, why.text);
            return OCT_EIO;
        }
    }
    return OCT_OK;
}

void
gate_local_free(net_gate_end *end)
{
    for (oct_role role = 0; role < OCT_ROLES; role++) {
        file_close(end, role);
    }
}

// Returns how many pipes NNG has made at that socket.
static unsigned
pipes_of(const net_gate_end *end, oct_role role, unsigned made)
{
    int id = atomic_load_explicit(&end->listener_ids[role][made], memory_order_acquire);
    return atomic_load_explicit(&end->gate->pipes_made[(unsigned)id % GATE_PIPES],
                                memory_order_acquire);
}

void
net_gate_pipe_made(net_gate *gate, int listener_id)
{
    if (listener_id > 0) {
        (void)atomic_fetch_add_explicit(&gate->pipes_made[(unsigned)listener_id % GATE_PIPES], 1,
                                        memory_order_acq_rel);
    }
}

// Replaces a socket at which NNG makes no more pipes, if that is possible. NNG keeps the old
// listener, because closing a listener of NNG is not safe (decision 2): it costs a descriptor, and
// no process can reach it.
static void
local_replace(net_gate_end *end, oct_role role, unsigned made)
{
    net_gate *gate = end->gate;
    char path[NET_GATE_LOCAL_MAX];
    oct_reason why;
    if (end->closing || made + 1 != end->locals_made[role]) {
        return; // it is replaced already
    }
    local_path(end, role, made, path);
    if (local_make(end, role, &why) == OCT_OK) {
        (void)unlink(path);
        gate_add(gate, GATE_RELISTENED, 1);
        gate->relistened_ms = uv_now(&gate->uv);
        end->lost_ms[role] = 0;
        oct_log_warn("NET-GATE-STUCK",
                     "url=%s role=%s: no answer behind the gate; the daemon listens on another "
                     "local socket and can do so %u more times",
                     end->url, oct_role_name(role), NET_GATE_LOCALS_MAX - end->locals_made[role]);
        return;
    }
    if (end->lost_ms[role] == 0) {
        end->lost_ms[role] = uv_now(&gate->uv);
        oct_log_error("NET-GATE-FAILED",
                      "url=%s role=%s error=\"%s\": no answer behind the gate; this process ends "
                      "in %d s unless that changes",
                      end->url, oct_role_name(role), why.text, NET_GATE_LOST_MS / 1000);
    } else if (uv_now(&gate->uv) - end->lost_ms[role] >= NET_GATE_LOST_MS) {
        oct_log_error("NET-GATE-FAILED",
                      "url=%s role=%s error=\"%s\": this process ends and must be restarted",
                      end->url, oct_role_name(role), why.text);
        _exit(NET_GATE_EXIT);
    }
}

void
gate_local_check(net_gate_end *end)
{
    for (oct_role role = 0; role < OCT_ROLES; role++) {
        if (end->lost_ms[role] != 0) {
            local_replace(end, role, end->locals_made[role] - 1);
        }
    }
}

int
gate_local_connect(gate_conn *conn)
{
    net_gate_end *end = conn->end;
    oct_role role = conn->peer.role;
    char path[NET_GATE_LOCAL_MAX];
    OCT_ASSERT(end->locals_made[role] > 0);
    conn->local_made = end->locals_made[role] - 1;
    conn->pipes_before = pipes_of(end, role, conn->local_made);
    local_path(end, role, conn->local_made, path);
    int fd = net_fd_local_connect(path);
    if (fd < 0 && errno == ENOENT) { // its name was removed
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", end->local_fds[role]);
        fd = net_fd_local_connect(path);
    }
    if (fd < 0 && (errno == ECONNREFUSED || errno == ENOENT)) {
        local_replace(end, role, conn->local_made);
    }
    return fd;
}

bool
gate_local_has_no_pipe(gate_conn *conn)
{
    const net_gate_end *end = conn->end;
    if (!conn->has_local || conn->local_ended || conn->answered || end->listen_local == NULL) {
        return false;
    }
    conn->answered = pipes_of(end, conn->peer.role, conn->local_made) != conn->pipes_before;
    if (conn->answered || ++conn->pipeless_ticks < GATE_PIPELESS_TICKS) {
        return false;
    }
    local_replace(conn->end, conn->peer.role, conn->local_made);
    return true;
}

oct_role
net_gate_end_role(net_gate_end *end, int listener_id)
{
    for (oct_role role = 0; role < OCT_ROLES && listener_id > 0; role++) {
        for (unsigned i = 0; i < NET_GATE_LOCALS_MAX; i++) {
            if (atomic_load_explicit(&end->listener_ids[role][i], memory_order_acquire) ==
                listener_id) {
                return role;
            }
        }
    }
    return OCT_ROLE_NONE;
}

static const net_gate_end *
lost_end(const net_gate *gate)
{
    const net_gate_end *end;
    LIST_FOREACH(end, &gate->ends, place)
    {
        for (oct_role role = 0; role < OCT_ROLES; role++) {
            if (end->lost_ms[role] != 0) {
                return end;
            }
        }
    }
    return NULL;
}

bool
gate_local_trouble(const net_gate *gate, char out[NET_GATE_TROUBLE_BYTES])
{
    uint64_t since_ms = uv_now(&gate->uv) - gate->relistened_ms;
    const net_gate_end *lost = lost_end(gate);
    out[0] = '\0';
    if (lost != NULL) {
        (void)snprintf(out, NET_GATE_TROUBLE_BYTES,
                       "%.100s: no answer behind the gate; this process ends if that lasts",
                       lost->url);
    } else if (gate->relistened_ms != 0 && since_ms < TOLD_MS) {
        (void)snprintf(out, NET_GATE_TROUBLE_BYTES,
                       "a socket behind the gate did not answer and was replaced %llu s ago",
                       (unsigned long long)(since_ms / 1000));
    }
    return lost != NULL;
}
