#ifndef NET_NET_GATE_H
#define NET_NET_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_role.h"

// What stands between the sockets of NNG and a network beyond this machine. Private to net/.
//
// A thread accepts and makes the TCP connections of tls+tcp:// and of tcp:// beyond loopback, does
// TLS, and passes messages on to NNG, which listens on private local addresses. A stranger reaches
// NNG only after his certificate, his role, the protocol's header and the size of each message were
// found right. docs/decisions/0017-gate.md says why NNG does not do this itself.
//
// Bounds: NET_GATE_* below, for each process. A connection buffers about 1 MiB each way at most.
// Peers that went silently (a cut, a power failure) are noticed in NET_GATE_DEAD_MS, a stalled
// connect or handshake in NET_GATE_HANDSHAKE_MS. Dialing goes on for ever; names are resolved anew
// every time.
//
// Threads: the functions are called on one thread, the daemon's loop. Logs: NET-GATE-*.
typedef struct net_gate net_gate;
typedef struct net_gate_end net_gate_end;

#define NET_GATE_CONNECTIONS_MAX 8192 // of one listening end
#define NET_GATE_HANDSHAKES_MAX  256  // at a time; one more is closed at once
#define NET_GATE_HANDSHAKE_MS    3000 // to connect; and from then until messages may flow
#define NET_GATE_DEAD_MS         4000 // without a sign of life
#define NET_GATE_LOCAL_MAX       96   // bytes of a local address, with its ending zero

typedef struct net_gate_spec {
    const char *url;            // tls+tcp://HOST:PORT or tcp://HOST:PORT; copied
    unsigned roles;             // that the peer may have (OCT_ROLE_BIT); for tcp:// nobody asks
    uint16_t protocol;          // of our socket, SP's number; 0: no SP, bytes pass as they are
    uint16_t peer_protocol;     // of theirs
    uint64_t message_bytes_max; // that may come from the peer
    bool tagged;                // each message comes with the number of its connection before it
} net_gate_spec;

// What happened since the gate was made.
typedef struct net_gate_counts {
    uint64_t accepted;   // connections from outside
    uint64_t opened;     // of accepted and dialed ones: messages could flow
    uint64_t refused;    // by certificate, role, or not speaking the protocol
    uint64_t overflowed; // closed at once: too many connections, handshakes, failures of an address
    uint64_t expired;    // connects and handshakes that took too long
    uint64_t malformed;  // open ones closed for a message too long or out of the framing
    uint64_t dead;       // open ones closed for lack of a sign of life
    uint64_t revoked;    // open ones closed because their certificate was revoked
    uint64_t connections; // now
    uint64_t bytes_in;
    uint64_t bytes_out;
} net_gate_counts;

// tls_folder: NULL when there is none; tls+tcp:// is then refused. OCT_EINVAL: net_tls_open's.
OCT_CHECKED oct_err net_gate_create(net_gate **out, const char *tls_folder, char *reason,
                                    size_t reason_size);
// Lets what is queued go out, for a moment, and closes everything. NULL is a no-op.
void net_gate_destroy(net_gate *gate);

// Two steps: listen binds the port (dial does nothing yet); net_gate_end_local then names the
// addresses that the daemon's socket must listen on, one for every role in spec->roles; start.
// Errors are logged (NET-LISTEN, NET-DIAL): OCT_EINVAL, OCT_EIO.
OCT_CHECKED oct_err net_gate_listen(net_gate *gate, const net_gate_spec *spec, net_gate_end **out);
OCT_CHECKED oct_err net_gate_dial(net_gate *gate, const net_gate_spec *spec, net_gate_end **out);
// Whether peers of that role are sent to a local address of their own; its address is in out.
bool net_gate_end_local(const net_gate_end *end, oct_role role, char out[NET_GATE_LOCAL_MAX]);
void net_gate_end_start(net_gate_end *end);
// Ends the connection whose tag that was, as one that brings bad messages; its address is held to
// account. Fine for one that has gone. Cost: a hop to the gate's thread and back.
void net_gate_end_blame(net_gate_end *end, uint64_t tag);
// Why it last failed to connect, or lost the connection, in a line; "" while connected and before
// the first failure. Cost: as above.
void net_gate_end_trouble(net_gate_end *end, char *out, size_t out_size);
// When this returns, nothing new comes to the local addresses. Frees end; NULL is a no-op.
void net_gate_end_close(net_gate_end *end);

// Threads: any.
net_gate_counts net_gate_read_counts(net_gate *gate);
// Of our certificate when the gate was made; OCT_ROLE_LOCAL without TLS. Threads: any.
oct_role net_gate_role(const net_gate *gate);
// When our certificate ends, in seconds since 1970; 0 without TLS. Threads: any.
int64_t net_gate_tls_ends_s(net_gate *gate);

#endif // NET_NET_GATE_H
