#ifndef NET_NET_GATE_H
#define NET_NET_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#include "common/oct_err.h"
#include "common/oct_role.h"

// What stands between the sockets of NNG and TCP. Private to net/.
//
// A thread accepts and makes the TCP connections of tls+tcp:// and tcp://, does TLS, and passes
// messages on to NNG, which listens on local sockets in a private folder (net_gate_folder.h). A
// stranger reaches NNG only after his certificate, his role, the protocol's header and the size of
// each message were found right. docs/internals/decisions/0017-gate.md says why NNG does not do
// this itself.
//
// NNG 1.5.2 makes no more pipes at a local socket, for good, when somebody connects there and
// closes at once. The gate sees that none comes of its connections, and has NNG listen at another
// one, so many times as NET_GATE_LOCALS_MAX allows. Where it cannot, it tries again each second,
// and ends the process with NET_GATE_EXIT after NET_GATE_LOST_MS. That the name of a socket is
// removed, or the whole folder (by the end of the user's session, or a sweeper of /tmp), does not
// matter: the gate keeps a descriptor of the file, and connects by that.
//
// Bounds: NET_GATE_* below, for each process. A connection buffers about 1 MiB each way at most.
// Peers that went silently (a cut, a power failure) are noticed in NET_GATE_DEAD_MS; a connection
// over which no messages may flow NET_GATE_HANDSHAKE_MS after it was begun is closed. Dialing goes
// on for ever; names are resolved anew every time.
//
// Threads: the functions are called on one thread, the daemon's loop. Logs: NET-GATE-*.
typedef struct net_gate net_gate;
typedef struct net_gate_end net_gate_end;

#define NET_GATE_CONNECTIONS_MAX    20480 // of one listening end; or as open files allow
#define NET_GATE_ADDRESS_MAX        2048  // of these, from one address, of tcp://
#define NET_GATE_HANDSHAKES_MAX     256   // at a time; one more ends the oldest
#define NET_GATE_HANDSHAKES_ADDRESS 128   // of these, from one address; one more ends its oldest
#define NET_GATE_HANDSHAKE_MS       3000  // for all steps, from the connect to the SP header
#define NET_GATE_DEAD_MS            4000  // without a sign of life
#define NET_GATE_UNREAD_MS          5000  // that a listener's peer may leave a full queue unread
#define NET_GATE_PARTIAL_MAX        (128u << 20) // bytes of unfinished messages from all peers, and
#define NET_GATE_LONG_MAX           (130u << 20) // of long ones of which all comes: two of 65 MiB
#define NET_GATE_LONG_MS            5000 // that one may stand still while others wait for it
#define NET_GATE_CALLS_MAX          128  // unanswered requests of a peer; more are not read yet
#define NET_GATE_NAMES_MAX          4 // messages of a peer that only listens: its name, if anything
#define NET_GATE_LOCAL_MAX          sizeof(((struct sockaddr_un *)0)->sun_path) // of a path
#define NET_GATE_LOCALS_MAX         16 // local sockets for one role of an end, one after the other
#define NET_GATE_LOST_MS            30000 // without a local socket that answers
#define NET_GATE_EXIT               1
#define NET_GATE_TROUBLE_BYTES      640 // of net_gate_trouble's line

typedef struct net_gate_spec {
    const char *url;            // tls+tcp://HOST:PORT or tcp://HOST:PORT; copied
    unsigned roles;             // that the peer may have (OCT_ROLE_BIT); for tcp:// nobody asks
    uint16_t protocol;          // of our socket, SP's number; 0: no SP, bytes pass as they are
    uint16_t peer_protocol;     // of theirs
    uint64_t message_bytes_max; // that may come from the peer
    // Each message comes with the number of its connection, its tag, before it; that of a call
    // between the request's number and the rest.
    bool tagged;
    // Has NNG's socket listen at the path of a local socket; gives the listener's number, or
    // something below 1, and why in reason. Called on the gate's thread, first by
    // net_gate_end_start. NULL: the caller listens, before the start, where net_gate_end_local
    // says.
    int (*listen_local)(uint32_t socket, const char *path, char *reason, size_t reason_size);
    uint32_t socket; // for it
} net_gate_spec;

// What happened since the gate was made.
typedef struct net_gate_counts {
    uint64_t accepted;    // connections from outside
    uint64_t opened;      // of accepted and dialed ones: messages could flow
    uint64_t refused;     // by certificate, role, or not speaking the protocol
    uint64_t overflowed;  // for lack of room: connections, handshakes, failures
    uint64_t expired;     // connects and handshakes that took too long
    uint64_t malformed;   // open ones closed for bad messages: too long, never ending, blamed
    uint64_t dead;        // open ones closed for lack of a sign of life, or reading nothing
    uint64_t revoked;     // whose certificate was good, and is no more: revoked, or its CA removed
    uint64_t relistened;  // local sockets that took no more, and were made anew
    uint64_t connections; // now
    uint64_t bytes_in;
    uint64_t bytes_out;
} net_gate_counts;

// tls_folder: NULL when there is none; tls+tcp:// is then refused. OCT_EINVAL: net_tls_open's.
OCT_CHECKED oct_err net_gate_create(net_gate **out, const char *tls_folder, char *reason,
                                    size_t reason_size);
// Lets what is queued go out, for a moment, and closes everything. NULL is a no-op.
void net_gate_destroy(net_gate *gate);

// Two steps: listen binds the port (dial does nothing yet); start. The first end makes the private
// folder. Errors are logged (NET-LISTEN, NET-DIAL): OCT_EINVAL, OCT_EIO.
OCT_CHECKED oct_err net_gate_listen(net_gate *gate, const net_gate_spec *spec, net_gate_end **out);
OCT_CHECKED oct_err net_gate_dial(net_gate *gate, const net_gate_spec *spec, net_gate_end **out);
// Whether peers of that role are sent to a local socket of their own; its path is in out. Before
// the start. Cost: a hop to the gate's thread and back.
bool net_gate_end_local(net_gate_end *end, oct_role role, char out[NET_GATE_LOCAL_MAX]);
// OCT_EIO: the port, or a local socket, cannot be listened on (logged); close the end.
OCT_CHECKED oct_err net_gate_end_start(net_gate_end *end);
// Whose listener that is, of those that listen_local made; OCT_ROLE_NONE: none of them. Threads:
// any.
oct_role net_gate_end_role(net_gate_end *end, int listener_id);
// A pipe of this process was made at that listener: to be told of each, on any thread, until the
// gate is destroyed.
void net_gate_pipe_made(net_gate *gate, int listener_id);
// Ends the connection whose tag that was, as one that brings bad messages; its certificate (of
// tcp:// its address) is held to account. Fine for one that has gone. Cost: a hop to the gate's
// thread and back.
void net_gate_end_blame(net_gate_end *end, uint64_t tag);
// Whose certificate the connection of that tag has shown. OCT_ENOTFOUND: it was asked for none
// (tcp://); OCT_ECLOSED: it has gone. Cost: as above.
OCT_CHECKED oct_err net_gate_end_holder(net_gate_end *end, uint64_t tag, oct_holder *out);
// Bytes of answers that peers of the end have not read yet: of those with the certificate (without
// TLS: the address) of that tag's connection, and of all. OCT_ECLOSED: it has gone. Cost: as above,
// and a look at each connection of the end.
typedef struct net_gate_unread {
    uint64_t of_holder, in_all;
} net_gate_unread;
OCT_CHECKED oct_err net_gate_end_unread(net_gate_end *end, uint64_t tag, net_gate_unread *out);
// Why it last failed to connect, or lost the connection, in a line; "" while connected and before
// the first failure. Cost: as above.
void net_gate_end_trouble(net_gate_end *end, char *out, size_t out_size);
// When this returns, nothing new comes to the local addresses. Frees end; NULL is a no-op.
void net_gate_end_close(net_gate_end *end);

// What is wrong with the gate, in a line; "": nothing. Gives whether new connections are lost: by a
// local socket that cannot be made anew, or since our certificate has expired.
// Nothing is lost while files of --tls cannot be used (net_tls_reload), nor by a local socket that
// was made anew, which is told for ten minutes. Cost: a hop to the gate's thread and back.
bool net_gate_trouble(net_gate *gate, char out[NET_GATE_TROUBLE_BYTES]);
// Threads: any.
net_gate_counts net_gate_read_counts(net_gate *gate);
// Of our certificate when the gate was made; OCT_ROLE_LOCAL without TLS. Threads: any.
oct_role net_gate_role(const net_gate *gate);
// When our certificate ends, in seconds since 1970; 0 without TLS. Threads: any.
int64_t net_gate_tls_ends_s(net_gate *gate);

#endif // NET_NET_GATE_H
