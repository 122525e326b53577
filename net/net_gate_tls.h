#ifndef NET_NET_GATE_TLS_H
#define NET_NET_GATE_TLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "net/net_gate.h"
#include "net/net_tls.h"

// Watches the gate's own certificates: reloads them when files of --tls change, and logs when they
// expire or cannot be used. Private to the gate (net_gate.h).
//
// Threads: the gate's, except gate_tls_ends_s. Owns: nothing; a plain value. Logs: NET-TLS-*.
typedef struct gate_tls_watch {
    char trouble[512];           // why files of --tls cannot be used; "": they can
    int days_left;               // of our certificate at the last check; < 0: expired
    atomic_int_least64_t ends_s; // when it expires, seconds since 1970; 0: no TLS
} gate_tls_watch;

// tls is NULL without TLS.
void gate_tls_init(gate_tls_watch *watch, const net_tls *tls);
// Runs once a tick: reloads the certificates if files changed. True: check all peers again. False
// for tls NULL.
bool gate_tls_look(gate_tls_watch *watch, net_tls *tls);
// Does net_gate_trouble's work for certificates; out is unchanged when nothing is wrong.
bool gate_tls_trouble(const gate_tls_watch *watch, char out[NET_GATE_TROUBLE_BYTES]);
// Returns when our certificate expires, in seconds since 1970; 0 without TLS. Threads: any.
int64_t gate_tls_ends_s(gate_tls_watch *watch);

#endif // NET_NET_GATE_TLS_H
