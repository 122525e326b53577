#ifndef NET_NET_GATE_LOCAL_H
#define NET_NET_GATE_LOCAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "net/net_gate.h"
#include "net/net_gate_folder.h"

// The local sockets on which NNG listens behind the gate. net_gate_local.c begins with how a socket
// is used and replaced. Private to the gate (net_gate.h).
//
// Threads: the gate's, except gate_pipe_made and gate_local_role. Owns: the descriptors of socket
// files, and the folder. Full: as net_gate.h says of NET_GATE_LOCALS_MAX. Logs: NET-GATE-STUCK,
// NET-GATE-FAILED.

#define GATE_PIPELESS_TICKS 3u   // without a pipe, until the local socket is replaced
#define GATE_PIPES          1024 // counters of pipes, by listener number modulo this

// What all local sockets of a process share.
typedef struct gate_sockets {
    net_gate_folder folder;             // the first end makes it
    atomic_uint pipes_made[GATE_PIPES]; // by listener number; any thread adds
    uint64_t relistened_ms;             // when a socket was last replaced; 0: never
    atomic_uint_fast64_t relistened;    // sockets that were replaced; any thread reads
} gate_sockets;

// The local sockets of one end, by the peer's role. The spec's fields are as in net_gate_spec.
typedef struct gate_local {
    gate_sockets *sockets;
    const char *url; // the end's
    uint64_t number; // of the end within the gate
    unsigned roles;
    bool is_tls;
    bool closing; // the end closes: nothing is replaced any more
    int (*listen_local)(uint32_t socket, const char *path, oct_reason *why);
    uint32_t socket;
    unsigned made[OCT_ROLES];    // counts the sockets; the newest has index made - 1
    int fds[OCT_ROLES];          // its file (O_PATH), usable after its name is removed; -1: none
    uint64_t lost_ms[OCT_ROLES]; // when replacing the newest first failed; 0: the newest works
    // NNG's numbers by index; 0: none. Read by any thread
    atomic_int listener_ids[OCT_ROLES][NET_GATE_LOCALS_MAX];
} gate_local;

// A connection to a local socket.
typedef struct gate_link {
    unsigned made;           // index of the socket, among the end's for the peer's role
    unsigned pipes_before;   // count of pipes that NNG had made there before this connection
    bool answered;           // NNG has made a pipe there since
    unsigned pipeless_ticks; // ticks since the connect without a pipe
} gate_link;

// Begins without a folder.
void gate_sockets_init(gate_sockets *sockets);
// Counts a pipe that NNG made at a listener (net_gate_pipe_made). Threads: any.
void gate_pipe_made(gate_sockets *sockets, int listener_id);

// Begins without sockets. sockets and url outlive local; number tells the ends of a process apart.
void gate_local_init(gate_local *local, gate_sockets *sockets, const char *url, uint64_t number,
                     const net_gate_spec *spec);
// Returns true if peers of role get a local socket of their own, and writes its first path to out.
bool gate_local_path(const gate_local *local, oct_role role, char out[NET_GATE_LOCAL_MAX]);
// Makes a local socket for every role of the end. OCT_EIO: one cannot be made (logged).
OCT_CHECKED oct_err gate_local_make_all(gate_local *local);
// Closes the descriptors of the socket files, if any were opened.
void gate_local_fini(gate_local *local);
// Connects to the newest local socket of role, and begins link; -1: its backlog is full, or it has
// failed.
int gate_local_connect(gate_local *local, oct_role role, gate_link *link, uint64_t now_ms);
// Runs once a tick: tries again to replace a failed local socket, for NET_GATE_LOST_MS.
void gate_local_check(gate_local *local, uint64_t now_ms);
// Runs once a tick while NNG has not ended the connection. Returns true if NNG has made no pipe of
// it for GATE_PIPELESS_TICKS, although it makes pipes at once: the local socket has failed and is
// replaced.
bool gate_local_has_no_pipe(gate_local *local, oct_role role, gate_link *link, uint64_t now_ms);
// Returns the role for which listen_local made that listener, or OCT_ROLE_NONE. Threads: any.
oct_role gate_local_role(gate_local *local, int listener_id);
// Returns true if a socket of the end has failed and cannot be replaced.
bool gate_local_is_lost(const gate_local *local);
// Writes in one line what is wrong with local sockets, or "". lost: sockets of an end that are
// lost; NULL: there are none.
void gate_local_trouble(const gate_sockets *sockets, const gate_local *lost, uint64_t now_ms,
                        char out[NET_GATE_TROUBLE_BYTES]);

#endif // NET_NET_GATE_LOCAL_H
