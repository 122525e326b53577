#ifndef NET_NET_NUMBERS_H
#define NET_NET_NUMBERS_H

#include "common/oct_numbers.h"

// The numbers of connections beyond this machine (net_gate.h): where their values lie, and the
// registry's rows that name them. NaN: not known.
//
// Threads: any. Owns: nothing.
typedef struct net_measurements {
    double certificate_end_s; // since 1970
    double connections, accepted, opened;
    double refused, overflowed, expired, malformed, dead, revoked; // closed, by reason
    double relistened;
    double bytes_in, bytes_out;
} net_measurements;

// The rows; `now` is borrowed.
void net_numbers_add(oct_numbers *numbers, const net_measurements *now);

#endif // NET_NET_NUMBERS_H
