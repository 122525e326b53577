// The local sockets behind the gate: where they are, replacement of those that stopped accepting,
// and their log lines.
#include <stdio.h>
#include <unistd.h>

#include "common/oct_log.h"
#include "net/net_gate_state.h"

#define TOLD_MS 600000u // of a socket that was made anew

static void
local_path(const net_gate_end *end, oct_role role, unsigned made, char out[NET_GATE_LOCAL_MAX])
{
    (void)snprintf(out, NET_GATE_LOCAL_MAX, "%s/%llx.%d.%u", end->gate->folder.path,
                   (unsigned long long)end->number, (int)role, made);
}

bool
net_gate_end_local(const net_gate_end *end, oct_role role, char out[NET_GATE_LOCAL_MAX])
{
    local_path(end, role, 0, out);
    return end->is_tls ? (end->roles & OCT_ROLE_BIT(role)) != 0 && role >= OCT_ROLE_LEARNER
                       : role == OCT_ROLE_LOCAL;
}

// One more for that role; connections go there from now on.
static bool
local_make(net_gate_end *end, oct_role role)
{
    char path[NET_GATE_LOCAL_MAX];
    unsigned made = end->locals_made[role];
    if (made == NET_GATE_LOCALS_MAX || (made > 0 && end->listen_local == NULL)) {
        return false;
    }
    int id = 0; // the caller listens
    if (end->listen_local != NULL) {
        local_path(end, role, made, path);
        id = end->listen_local(end->socket, path);
        if (id < 1) {
            return false;
        }
    }
    atomic_store_explicit(&end->listener_ids[role][made], id, memory_order_release);
    end->locals_made[role]++;
    return true;
}

oct_err
gate_local_make_all(net_gate_end *end)
{
    char path[NET_GATE_LOCAL_MAX];
    for (oct_role role = 0; role < OCT_ROLES; role++) {
        if (net_gate_end_local(end, role, path) && !local_make(end, role)) {
            return OCT_EIO;
        }
    }
    return OCT_OK;
}

unsigned
gate_local_of(const net_gate_end *end, oct_role role, char out[NET_GATE_LOCAL_MAX])
{
    unsigned made = end->locals_made[role];
    OCT_ASSERT(made > 0);
    local_path(end, role, made - 1, out);
    return made - 1;
}

unsigned
gate_local_pipes(const net_gate_end *end, oct_role role, unsigned made)
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

// The old listener stays with NNG, which cannot be trusted to close one (decision 2): it holds a
// descriptor, and nobody can reach it.
void
gate_local_deaf(net_gate_end *end, oct_role role, unsigned made)
{
    net_gate *gate = end->gate;
    char path[NET_GATE_LOCAL_MAX];
    if (end->closing || made + 1 != end->locals_made[role]) {
        return; // another has taken its place
    }
    if (local_make(end, role)) {
        local_path(end, role, made, path);
        (void)unlink(path);
        gate_add(gate, GATE_RELISTENED, 1);
        gate->relistened_ms = uv_now(&gate->uv);
        gate->deaf[0] = '\0';
        oct_log_warn("NET-GATE-DEAF",
                     "url=%s role=%s: nobody answered behind the gate; the daemon listens on "
                     "another local socket and can do so %u more times",
                     end->url, oct_role_name(role), NET_GATE_LOCALS_MAX - end->locals_made[role]);
        return;
    }
    if (gate->deaf[0] == '\0') {
        oct_log_error("NET-GATE-LOST", "url=%s role=%s: nobody answers behind the gate; restart",
                      end->url, oct_role_name(role));
    }
    (void)snprintf(gate->deaf, sizeof(gate->deaf),
                   "%.100s: nobody answers behind the gate; restart", end->url);
}

bool
gate_local_is_mute(gate_conn *conn)
{
    const net_gate_end *end = conn->end;
    if (!conn->has_local || conn->local_ended || conn->answered || end->listen_local == NULL) {
        return false;
    }
    conn->answered = gate_local_pipes(end, conn->peer.role, conn->local_made) != conn->pipes_before;
    if (conn->answered || ++conn->mute_ticks < GATE_MUTE_TICKS) {
        return false;
    }
    gate_local_deaf(conn->end, conn->peer.role, conn->local_made);
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

bool
gate_local_trouble(const net_gate *gate, char out[NET_GATE_TROUBLE_BYTES])
{
    uint64_t since_ms = uv_now(&gate->uv) - gate->relistened_ms;
    bool is_lost = gate->deaf[0] != '\0';
    out[0] = '\0';
    if (is_lost) {
        (void)snprintf(out, NET_GATE_TROUBLE_BYTES, "%s", gate->deaf);
    } else if (gate->relistened_ms != 0 && since_ms < TOLD_MS) {
        (void)snprintf(out, NET_GATE_TROUBLE_BYTES,
                       "a socket behind the gate did not answer and was replaced %llu s ago",
                       (unsigned long long)(since_ms / 1000));
    }
    return is_lost;
}
