#ifndef NET_NET_GATE_H
#define NET_NET_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"
#include "common/oct_role.h"

// The gate stands between the sockets of NNG and TCP. Private to net/.
//
// One thread, the gate's, accepts and makes the TCP connections of tls+tcp:// and tcp://, does TLS,
// and passes messages on to NNG, which listens on local sockets in a private folder
// (net_gate_folder.h). NNG sees a connection only after the gate has checked the peer's
// certificate, its role and the protocol's header; the gate also checks the size of each message
// before it passes the message on. docs/internals/decisions/0017-gate.md says why NNG does not do
// this itself. net_gate.c begins with how the parts work together.
//
// NNG 1.5.2 makes no more pipes at a local socket, for good, when a process connects there and
// closes at once. The gate notices that NNG made no pipe of a connection, and lets NNG listen on
// another local socket, up to NET_GATE_LOCALS_MAX of them for each role. When none is left or the
// next cannot be made, the gate tries again each second, and ends the process with NET_GATE_EXIT
// after NET_GATE_LOST_MS. The gate survives the removal of a socket's name or of the whole folder
// (by the end of the user's session, or a sweeper of /tmp): it keeps a descriptor of the socket
// file and connects through that.
//
// Bounds: NET_GATE_* below, for each process. A connection buffers about 1 MiB each way at most. A
// peer that disappears silently (a cut cable, a power failure) is noticed within NET_GATE_DEAD_MS.
// A connection that is not open NET_GATE_HANDSHAKE_MS after its start is closed. The gate dials
// until the end is closed, and resolves the name again before every round.
//
// Threads: the daemon's loop thread calls these functions. Logs: NET-GATE-*.
typedef struct net_gate net_gate;
typedef struct net_gate_end net_gate_end;

// Connections of one listening end; fewer if the limit of open files is lower.
#define NET_GATE_CONNECTIONS_MAX 20480
#define NET_GATE_ADDRESS_MAX     2048 // of these from one address, tcp:// only
#define NET_GATE_HANDSHAKES_MAX  256  // at a time; the next one ends the oldest
// Handshakes at a time from one address; the next one ends the oldest from there.
#define NET_GATE_HANDSHAKES_ADDRESS 128
#define NET_GATE_HANDSHAKE_MS       3000 // for all steps, from the connect to the SP header
#define NET_GATE_DEAD_MS            4000 // without a sign of life from the peer
// Time for which a peer that connected to us may leave a full queue unread.
#define NET_GATE_UNREAD_MS   5000
#define NET_GATE_PARTIAL_MAX (128u << 20) // bytes of unfinished messages from all peers
// Bytes of the long messages that are coming in: two of 65 MiB.
#define NET_GATE_LONG_MAX (130u << 20)
// Time for which a long message may stand still while others wait for its room.
#define NET_GATE_LONG_MS 5000
// Unanswered requests of a peer; the gate does not read more of them.
#define NET_GATE_CALLS_MAX 128
// Messages of a peer that only listens: it sends its name, if anything.
#define NET_GATE_NAMES_MAX 4
// Bytes of a local socket's path.
#define NET_GATE_LOCAL_MAX  sizeof(((struct sockaddr_un *)0)->sun_path)
#define NET_GATE_LOCALS_MAX 16 // local sockets for one role of an end, one after the other
// Time without a local socket that answers, until the process ends.
#define NET_GATE_LOST_MS       30000
#define NET_GATE_EXIT          1   // exit code of the process then
#define NET_GATE_TROUBLE_BYTES 640 // size of the line from net_gate_trouble

typedef struct net_gate_spec {
    const char *url;   // tls+tcp://HOST:PORT or tcp://HOST:PORT; copied
    unsigned roles;    // roles that the peer may have (OCT_ROLE_BIT); tcp:// does not check them
    uint16_t protocol; // SP's number of our socket; 0: no SP, bytes pass unchanged
    uint16_t peer_protocol;     // SP's number of the peer's socket
    uint64_t message_bytes_max; // of one message from the peer
    // The gate puts the number of the connection, its tag, before each message; in a call the tag
    // stands between the request's number and the rest.
    bool tagged;
    // Makes NNG's socket listen at path. Returns the listener's number, or a value below 1 and why
    // in reason. The gate's thread calls this, first within net_gate_end_start. NULL: the caller
    // listens before the start, at the path from net_gate_end_local.
    int (*listen_local)(uint32_t socket, const char *path, oct_reason *why);
    uint32_t socket; // passed to listen_local
} net_gate_spec;

// Totals since the gate was created, except connections.
typedef struct net_gate_counts {
    uint64_t accepted;   // connections from outside
    uint64_t opened;     // accepted and dialed connections over which messages could flow
    uint64_t refused;    // by certificate, by role, or because the peer does not speak the protocol
    uint64_t overflowed; // for lack of room, or after too many failures: connections and handshakes
    uint64_t expired;    // connects and handshakes that took too long
    // Open connections closed for bad messages: too long, never complete, blamed.
    uint64_t malformed;
    uint64_t dead;    // open connections closed without a sign of life, or whose peer reads nothing
    uint64_t revoked; // connections closed because the certificate was revoked or its CA removed
    uint64_t relistened;  // local sockets that stopped accepting and were replaced
    uint64_t connections; // at present
    uint64_t bytes_in;
    uint64_t bytes_out;
} net_gate_counts;

// tls_folder is NULL where there are no certificates; tls+tcp:// is then refused. OCT_EINVAL and
// OCT_EAGAIN: as net_tls_open.
OCT_CHECKED oct_err net_gate_create(net_gate **out, const char *tls_folder, oct_reason *why);
// Sends what is queued, for a moment, and closes everything. NULL is a no-op. If a lookup of a name
// does not end within a second, the thread and the gate's memory stay until the process exits.
void net_gate_destroy(net_gate *gate);

// Creates an end in two steps: listen or dial, then start. Listen binds the port; dial connects
// only after start. The first end makes the private folder. Errors are logged (NET-LISTEN,
// NET-DIAL):
//   OCT_EIO  the private folder cannot be made, or the port cannot be bound
//   OCT_EINVAL  the address is wrong, or needs certificates that the gate does not have
OCT_CHECKED oct_err net_gate_listen(net_gate *gate, const net_gate_spec *spec, net_gate_end **out);
OCT_CHECKED oct_err net_gate_dial(net_gate *gate, const net_gate_spec *spec, net_gate_end **out);
// Returns true if peers of role get a local socket of their own, and writes its path to out. Call
// before the start. Cost: a hop to the gate's thread and back.
bool net_gate_end_local(net_gate_end *end, oct_role role, char out[NET_GATE_LOCAL_MAX]);
// OCT_EIO: the gate cannot listen on the port, or NNG on a local socket (logged); close the end
// then.
OCT_CHECKED oct_err net_gate_end_start(net_gate_end *end);
// Returns the role for which listen_local made that listener, or OCT_ROLE_NONE for any other
// listener. Threads: any.
oct_role net_gate_end_role(net_gate_end *end, int listener_id);
// Counts a pipe that NNG made at a listener. Call it for each pipe from this process, until the
// gate is destroyed. Threads: any.
void net_gate_pipe_made(net_gate *gate, int listener_id);
// Closes the connection with this tag because it brings bad messages, and charges a failure to its
// certificate (tcp://: to its address). No-op if the connection has closed. Cost: a hop to the
// gate's thread and back.
void net_gate_end_blame(net_gate_end *end, uint64_t tag);
// Reads the holder of the certificate that the connection with this tag has shown. Cost: as above.
//   OCT_ECLOSED  the connection has closed
//   OCT_ENOTFOUND  the connection shows no certificate (tcp://)
OCT_CHECKED oct_err net_gate_end_holder(net_gate_end *end, uint64_t tag, oct_holder *out);
// Counts the bytes of answers that peers of the end have not read yet: of_holder for all
// connections with the certificate (without TLS: the address) of that tag's connection, in_all for
// every connection. OCT_ECLOSED: the connection has closed; in_all is valid. Cost: a hop as above,
// and a pass over the end's connections.
typedef struct net_gate_unread {
    uint64_t of_holder, in_all;
} net_gate_unread;
OCT_CHECKED oct_err net_gate_end_unread(net_gate_end *end, uint64_t tag, net_gate_unread *out);
// Writes why the end last failed to connect or lost its connection, in one line; "" while connected
// and before the first failure. Cost: a hop as above.
void net_gate_end_trouble(net_gate_end *end, char *out, size_t out_size);
// After this returns, nothing new comes to the local addresses. Frees end; NULL is a no-op.
void net_gate_end_close(net_gate_end *end);

// Writes in one line what is wrong with the gate, or "". Returns true if new connections are lost,
// because a local socket cannot be replaced or our certificate has expired.
// Two troubles lose nothing and return false: files of --tls that cannot be used (net_tls_reload),
// and a local socket that was replaced, which is reported for ten minutes. Cost: a hop to the
// gate's thread and back.
bool net_gate_trouble(net_gate *gate, char out[NET_GATE_TROUBLE_BYTES]);
// Threads: any.
net_gate_counts net_gate_read_counts(net_gate *gate);
// Returns the role of our certificate when the gate was created; OCT_ROLE_LOCAL without TLS.
// Threads: any.
oct_role net_gate_role(const net_gate *gate);
// Returns when our certificate expires, in seconds since 1970; 0 without TLS. Threads: any.
int64_t net_gate_tls_ends_s(net_gate *gate);

#endif // NET_NET_GATE_H
