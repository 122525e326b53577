#ifndef ACTOR_ACTOR_RESEND_H
#define ACTOR_ACTOR_RESEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// When batches that replay has not acknowledged are sent again, and how many of them may be on
// their way: TCP's rules, for a line may take seconds for a batch. What is sent again too soon
// stands in that line before everything new.
//
// - The time-out follows the measured time of an acknowledgement: its mean and four mean deviations
//   (RFC 6298), ACTOR_RESEND_NS_MIN at least. While nothing is measured it is at least
//   the time of a batch over a line of 80 Mbit/s: a rollout of images has tens of megabytes. It
//   runs from the last progress, and doubles with each resend, up to ACTOR_RESEND_NS_MAX, until the
//   time of another acknowledgement is known: not of a batch that was sent twice, since it may be
//   of either (Karn's algorithm).
// - One batch is on its way at first and after a resend, and twice as many with each time that is
//   measured (slow start, RFC 5681).
//
// A connection that was lost needs no time-out: then everything is sent again at once, over a line
// of which nothing is known.
//
// Threads: the loop thread. Owns: plain value. Times: nanoseconds of one monotonic clock.
#define ACTOR_RESEND_NS_MIN UINT64_C(1000000000)
#define ACTOR_RESEND_NS_MAX UINT64_C(60000000000)

typedef struct actor_resend {
    uint32_t window;     // batches that may be on their way
    uint64_t timeout_ns; // without progress
    uint64_t since_ns;   // of the last progress, or when a batch was sent while none was on its way
    double mean_ns, deviation_ns; // of the time of an acknowledgement; mean 0: not known yet
    uint64_t timed, timed_ns;     // the batch whose time is being measured, and when it was sent;
                                  // sequence 0: none
    uint64_t last;                // the highest sequence that was sent …
    uint64_t repeated;            // … and by the last resend: up to here all may be sent twice
} actor_resend;

// Nothing is known of the line: at first, and when it is another one.
void actor_resend_init(actor_resend *resend);
// A batch of so many bytes was sent while so many others were on their way.
void actor_resend_sent(actor_resend *resend, uint64_t sequence, size_t bytes, uint32_t others,
                       uint64_t now_ns);
// An acknowledgement went on to this sequence.
void actor_resend_acked(actor_resend *resend, uint64_t sequence, uint64_t now_ns);
// Replay lives, and has no room: what is on its way is not late, whatever time it takes.
void actor_resend_held(actor_resend *resend, uint64_t now_ns);
// Whether what is on its way is late: then all of it is to be sent again, and the time-out has
// doubled.
bool actor_resend_is_late(actor_resend *resend, uint64_t now_ns);

#endif // ACTOR_ACTOR_RESEND_H
