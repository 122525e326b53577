#ifndef TESTS_NET_NET_SIDE_H
#define TESTS_NET_NET_SIDE_H

#include "net/net_gate.h"
#include "net/net_loop.h"
#include "net/net_pull.h"
#include "net/net_push.h"

// Two sides, each with a loop, a gate and a certificate of its own, for the tests of the gate.
// Errors fail the running test. Threads: one.
#define BYTES_MAX (20u << 20)
#define REPLAY    OCT_ROLE_BIT(OCT_ROLE_REPLAY)
#define ACTOR     OCT_ROLE_BIT(OCT_ROLE_ACTOR)

typedef struct side {
    net_loop *loop;
    unsigned got, connected, disconnected;
    size_t bytes;
    net_push *push;
    net_pull *pull;
} side;

// folder: of certificates, in the test's folder; NULL: none.
void side_open(side *s, const char *folder);
void side_close(side *s);
void side_turn(side *s);
// A net_pull_fn: takes numbers from 0.
oct_err side_take(void *arg, net_msg *msg);
void side_connected(void *arg);
void side_disconnected(void *arg);
void side_push(side *s, const char *url, unsigned roles);
void side_pull(side *s, const char *url, unsigned roles);
// One message, numbered as the receiver counts.
void pass_one(side *from, side *to);
// A new address; good for four calls.
const char *tls_url(void);
unsigned port_of(const char *url);
net_gate_counts counts_of(side *s);

#endif // TESTS_NET_NET_SIDE_H
