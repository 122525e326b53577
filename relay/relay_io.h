#ifndef RELAY_RELAY_IO_H
#define RELAY_RELAY_IO_H

#include <stdbool.h>

#include "common/oct_prometheus.h"
#include "net/net_loop.h"

// The network side of a relay (docs/internals/decisions/0044-relays.md). Downwards it publishes the
// bytes that the learner publishes. Upwards it gathers batches for some milliseconds and passes
// them on together, each to the replay that its session belongs to; acks return the same way. It
// reads frames, sessions, tokens and lengths, and nothing else. It guarantees no delivery: actors
// send again what is not acknowledged.
//
// Threads: the loop thread. Owns: its links. Full: it stops reading batches until there is room, so
// that actors stop sending; a subscriber that does not read loses the oldest policies.
typedef struct relay_io relay_io;

typedef struct relay_io_options {
    const char *learner;  // its base address
    const char *relay;    // base address of the relay above; NULL: the learner and replay are above
    const char *listen;   // base address, of policies; batches and acks of each replay follow
    const char *announce; // base address for actors; "": none, it serves only relays
    bool insecure;
} relay_io_options;

// Starts to listen; everything else happens on the loop. OCT_EIO, OCT_EINVAL: it cannot listen
// (logged).
OCT_CHECKED oct_err relay_io_open(relay_io **out, net_loop *loop, const relay_io_options *options);
void relay_io_close(relay_io *io); // NULL is a no-op
// Returns the exit code for the process after the loop has ended.
int relay_io_exit_code(const relay_io *io);
void relay_io_log_totals(const relay_io *io);

// Callbacks for net_metrics; arg is the relay_io.
void relay_io_prometheus(void *arg, oct_prometheus *text);
const char *relay_io_trouble(void *arg);

#endif // RELAY_RELAY_IO_H
