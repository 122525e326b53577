#ifndef NET_NET_NUMBERS_H
#define NET_NET_NUMBERS_H

#include "common/oct_numbers.h"

// The registry's rows for the numbers of connections beyond this machine (net_gate.h), and the
// struct that holds their values. NaN: not known.
//
// Threads: any. Owns: nothing.
typedef struct net_measurements {
    double certificate_end_s; // since 1970
    double connections, accepted, opened;
    double refused, overflowed, expired, malformed, dead, revoked; // closed, by reason
    double relistened;
    double bytes_in, bytes_out;
} net_measurements;

// Adds the rows; `now` is borrowed for as long as numbers.
void net_numbers_add(oct_numbers *numbers, const net_measurements *now);

#endif // NET_NET_NUMBERS_H
