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
#include "net/net_gate_local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_log.h"
#include "common/oct_reason.h"
#include "net/net_fd.h"
#include "net/net_url.h"

#define TOLD_MS 600000u // for which a replaced socket is reported as trouble

static void
local_path(const gate_local *local, oct_role role, unsigned made, char out[NET_GATE_LOCAL_MAX])
{
    (void)snprintf(out, NET_GATE_LOCAL_MAX, "%s/%llx.%d.%u", local->sockets->folder.path,
                   (unsigned long long)local->number, (int)role, made);
}

void
gate_local_init(gate_local *local, gate_sockets *sockets, const char *url, uint64_t number,
                const net_gate_spec *spec)
{
    *local = (gate_local){
        .sockets = sockets,
        .url = url,
        .number = number,
        .roles = spec->roles,
        .is_tls = net_url_is_tls(spec->url),
        .listen_local = spec->listen_local,
        .socket = spec->socket,
    };
    for (oct_role role = 0; role < OCT_ROLES; role++) {
        local->fds[role] = -1;
    }
}

bool
gate_local_path(const gate_local *local, oct_role role, char out[NET_GATE_LOCAL_MAX])
{
    local_path(local, role, 0, out);
    return local->is_tls ? (local->roles & OCT_ROLE_BIT(role)) != 0 && role >= OCT_ROLE_LEARNER
                         : role == OCT_ROLE_LOCAL;
}

static void
file_close(gate_local *local, oct_role role)
{
    if (local->fds[role] >= 0) {
        (void)close(local->fds[role]);
    }
    local->fds[role] = -1;
}

// Makes one more local socket for the role; new connections go there.
static oct_err
local_make(gate_local *local, oct_role role, oct_reason *why)
{
    char path[NET_GATE_LOCAL_MAX];
    unsigned made = local->made[role];
    if (made == NET_GATE_LOCALS_MAX || (made > 0 && local->listen_local == NULL)) {
        return oct_refuse(why, "no other local socket can replace it");
    }
    int id = 0;
    if (local->listen_local != NULL) { // 0: the caller listens
        OCT_TRY(net_gate_folder_keep(&local->sockets->folder, why));
        local_path(local, role, made, path);
        id = local->listen_local(local->socket, path, why);
        if (id < 1) {
            return OCT_EIO;
        }
    }
    local_path(local, role, made, path);
    file_close(local, role);
    local->fds[role] = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    atomic_store_explicit(&local->listener_ids[role][made], id, memory_order_release);
    local->made[role]++;
    return OCT_OK;
}

oct_err
gate_local_make_all(gate_local *local)
{
    char path[NET_GATE_LOCAL_MAX];
    oct_reason why;
    for (oct_role role = 0; role < OCT_ROLES; role++) {
        if (gate_local_path(local, role, path) && local_make(local, role, &why) != OCT_OK) {
            oct_log_error("NET-LISTEN", "url=%s error=\"%s\"", local->url, why.text);
            return OCT_EIO;
        }
    }
    return OCT_OK;
}

void
gate_local_fini(gate_local *local)
{
    for (oct_role role = 0; role < OCT_ROLES; role++) {
        file_close(local, role);
    }
}

// Returns how many pipes NNG has made at that socket.
static unsigned
pipes_of(const gate_local *local, oct_role role, unsigned made)
{
    int id = atomic_load_explicit(&local->listener_ids[role][made], memory_order_acquire);
    return atomic_load_explicit(&local->sockets->pipes_made[(unsigned)id % GATE_PIPES],
                                memory_order_acquire);
}

void
gate_sockets_init(gate_sockets *sockets)
{
    sockets->folder = (net_gate_folder){0};
    sockets->relistened_ms = 0;
    atomic_init(&sockets->relistened, 0);
    for (int i = 0; i < GATE_PIPES; i++) {
        atomic_init(&sockets->pipes_made[i], 0);
    }
}

void
gate_pipe_made(gate_sockets *sockets, int listener_id)
{
    if (listener_id > 0) {
        (void)atomic_fetch_add_explicit(&sockets->pipes_made[(unsigned)listener_id % GATE_PIPES], 1,
                                        memory_order_acq_rel);
    }
}

// Replaces a socket at which NNG makes no more pipes, if that is possible. NNG keeps the old
// listener, because closing a listener of NNG is not safe (decision 2): it costs a descriptor, and
// no process can reach it.
static void
local_replace(gate_local *local, oct_role role, unsigned made, uint64_t now_ms)
{
    char path[NET_GATE_LOCAL_MAX];
    oct_reason why;
    if (local->closing || made + 1 != local->made[role]) {
        return; // it is replaced already
    }
    local_path(local, role, made, path);
    if (local_make(local, role, &why) == OCT_OK) {
        (void)unlink(path);
        (void)atomic_fetch_add_explicit(&local->sockets->relistened, 1, memory_order_relaxed);
        local->sockets->relistened_ms = now_ms;
        local->lost_ms[role] = 0;
        oct_log_warn("NET-GATE-STUCK",
                     "url=%s role=%s: no answer behind the gate; the daemon listens on another "
                     "local socket and can do so %u more times",
                     local->url, oct_role_name(role), NET_GATE_LOCALS_MAX - local->made[role]);
        return;
    }
    if (local->lost_ms[role] == 0) {
        local->lost_ms[role] = now_ms;
        oct_log_error("NET-GATE-FAILED",
                      "url=%s role=%s error=\"%s\": no answer behind the gate; this process ends "
                      "in %d s unless that changes",
                      local->url, oct_role_name(role), why.text, NET_GATE_LOST_MS / 1000);
    } else if (now_ms - local->lost_ms[role] >= NET_GATE_LOST_MS) {
        oct_log_error("NET-GATE-FAILED",
                      "url=%s role=%s error=\"%s\": this process ends and must be restarted",
                      local->url, oct_role_name(role), why.text);
        _exit(NET_GATE_EXIT);
    }
}

void
gate_local_check(gate_local *local, uint64_t now_ms)
{
    for (oct_role role = 0; role < OCT_ROLES; role++) {
        if (local->lost_ms[role] != 0) {
            local_replace(local, role, local->made[role] - 1, now_ms);
        }
    }
}

int
gate_local_connect(gate_local *local, oct_role role, gate_link *link, uint64_t now_ms)
{
    char path[NET_GATE_LOCAL_MAX];
    OCT_ASSERT(local->made[role] > 0);
    link->made = local->made[role] - 1;
    link->pipes_before = pipes_of(local, role, link->made);
    local_path(local, role, link->made, path);
    int fd = net_fd_local_connect(path);
    if (fd < 0 && errno == ENOENT) { // its name was removed
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", local->fds[role]);
        fd = net_fd_local_connect(path);
    }
    if (fd < 0 && (errno == ECONNREFUSED || errno == ENOENT)) {
        local_replace(local, role, link->made, now_ms);
    }
    return fd;
}

bool
gate_local_has_no_pipe(gate_local *local, oct_role role, gate_link *link, uint64_t now_ms)
{
    if (link->answered || local->listen_local == NULL) {
        return false;
    }
    link->answered = pipes_of(local, role, link->made) != link->pipes_before;
    if (link->answered || ++link->pipeless_ticks < GATE_PIPELESS_TICKS) {
        return false;
    }
    local_replace(local, role, link->made, now_ms);
    return true;
}

oct_role
gate_local_role(gate_local *local, int listener_id)
{
    for (oct_role role = 0; role < OCT_ROLES && listener_id > 0; role++) {
        for (unsigned i = 0; i < NET_GATE_LOCALS_MAX; i++) {
            if (atomic_load_explicit(&local->listener_ids[role][i], memory_order_acquire) ==
                listener_id) {
                return role;
            }
        }
    }
    return OCT_ROLE_NONE;
}

bool
gate_local_is_lost(const gate_local *local)
{
    for (oct_role role = 0; role < OCT_ROLES; role++) {
        if (local->lost_ms[role] != 0) {
            return true;
        }
    }
    return false;
}

void
gate_local_trouble(const gate_sockets *sockets, const gate_local *lost, uint64_t now_ms,
                   char out[NET_GATE_TROUBLE_BYTES])
{
    uint64_t since_ms = now_ms - sockets->relistened_ms;
    out[0] = '\0';
    if (lost != NULL) {
        (void)snprintf(out, NET_GATE_TROUBLE_BYTES,
                       "%.100s: no answer behind the gate; this process ends if that lasts",
                       lost->url);
    } else if (sockets->relistened_ms != 0 && since_ms < TOLD_MS) {
        (void)snprintf(out, NET_GATE_TROUBLE_BYTES,
                       "a socket behind the gate did not answer and was replaced %llu s ago",
                       (unsigned long long)(since_ms / 1000));
    }
}
