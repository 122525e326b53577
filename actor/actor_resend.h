#ifndef ACTOR_ACTOR_RESEND_H
#define ACTOR_ACTOR_RESEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// When unacknowledged batches are sent again, and how many may be on their way. The rules are
// TCP's, because a narrow line may take seconds for a batch, and a batch that is repeated too
// early delays all new ones.
//
// - The time-out is the mean time of an acknowledgement plus four mean deviations (RFC 6298), at
//   least ACTOR_RESEND_NS_MIN. Before the first measurement it is at least the time of a batch
//   over a line of 80 Mbit/s, because a rollout of images has tens of megabytes. It runs from the
//   last progress. Each resend doubles it, up to ACTOR_RESEND_NS_MAX, until another time is
//   measured. Batches that were sent twice are not measured, because the acknowledgement may be
//   for either (Karn's algorithm).
// - At first and after a resend one batch may be on its way. Each measurement doubles that number
//   (slow start, RFC 5681).
//
// A lost connection needs no time-out: everything is sent again at once, over a line of which
// nothing is known.
//
// Threads: the loop thread. Owns: plain value. Times: nanoseconds of one monotonic clock.
#define ACTOR_RESEND_NS_MIN UINT64_C(1000000000)
#define ACTOR_RESEND_NS_MAX UINT64_C(60000000000)

typedef struct actor_resend {
    uint32_t window;              // most batches on their way
    uint64_t timeout_ns;          // without progress, until all are sent again
    uint64_t since_ns;            // of the last progress, or of the first batch sent after a pause
    double mean_ns, deviation_ns; // of an acknowledgement's time; mean_ns 0: not measured
    uint64_t timed, timed_ns;     // sequence being measured (0: none), and when it was sent
    uint64_t last;                // highest sequence sent
    uint64_t repeated;            // highest sequence that may have been sent twice
} actor_resend;

// Forgets the line: at the start, and when the connection or replay is a new one.
void actor_resend_init(actor_resend *resend);
// Records that a batch of bytes bytes was sent while others batches were on their way.
void actor_resend_sent(actor_resend *resend, uint64_t sequence, size_t bytes, uint32_t others,
                       uint64_t now_ns);
// Records that replay now acknowledges all batches up to sequence.
void actor_resend_acked(actor_resend *resend, uint64_t sequence, uint64_t now_ns);
// Records that replay answers but has no room. The batches on their way are not late, however long
// this takes.
void actor_resend_held(actor_resend *resend, uint64_t now_ns);
// Returns true if the batches on their way are late. The caller then sends all of them again; the
// time-out has doubled.
bool actor_resend_is_late(actor_resend *resend, uint64_t now_ns);

#endif // ACTOR_ACTOR_RESEND_H
