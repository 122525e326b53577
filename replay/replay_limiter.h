#ifndef REPLAY_REPLAY_LIMITER_H
#define REPLAY_REPLAY_LIMITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire_replay.h"

// How many samples are drawn for each insert: Reverb's rule, as arithmetic on four counters.
//
//   balance = inserts * samples_per_insert - samples + offset
//   a sample of n is allowed iff inserts >= min_size and balance - n >= balance_min
//   an insert of n is allowed iff inserts < min_size or balance + n * samples_per_insert
//                                                      <= balance_max
//   balance_min, balance_max = min_size * samples_per_insert -+ half the band
//
// Half the band is tolerance * min_size * samples_per_insert. Both sides would wait for each other
// for ever if the band were narrower than one insert and one sample together, so it is widened to
// hold the largest of each that was asked for (replay_limiter_fit); is_widened says so.
// samples_per_insert 0: only min_size counts.
//
// offset is 0 until the numbers change in mid-run: then it is chosen so that the balance keeps its
// distance from the middle of the band, and neither side pays for what the old ratio did.
//
// Threads: one user at a time. Owns: plain value.
typedef struct replay_limiter_spec {
    uint64_t min_size;
    double samples_per_insert;
    double tolerance;
} replay_limiter_spec;

typedef struct replay_limiter {
    replay_limiter_spec spec;
    uint64_t inserts; // ever
    uint64_t samples; // ever, less those returned
    double offset;
    double balance_min;
    double balance_max;
    uint32_t insert_chunk; // largest asked for
    uint32_t sample_chunk;
    bool is_widened;
} replay_limiter;

// min_size 0 counts as 1; the other two must be finite and >= 0 (replay_config_check).
void replay_limiter_init(replay_limiter *limiter, const replay_limiter_spec *spec);
// New numbers in mid-run; the counters go on.
void replay_limiter_set(replay_limiter *limiter, const replay_limiter_spec *spec);

// Makes the band hold one insert and one sample of these sizes. True: it was widened by this call.
bool replay_limiter_fit(replay_limiter *limiter, uint32_t insert_count, uint32_t sample_count);
bool replay_limiter_may_insert(const replay_limiter *limiter, uint32_t count);
// How many samples of batch_size are allowed now, at most batches_max.
uint32_t replay_limiter_may_sample(const replay_limiter *limiter, uint32_t batch_size,
                                   uint32_t batches_max);
void replay_limiter_inserted(replay_limiter *limiter, uint64_t count);
void replay_limiter_sampled(replay_limiter *limiter, uint64_t count);

// Samples that were drawn for nothing: they may be drawn again, before more is inserted.
void replay_limiter_returned(replay_limiter *limiter, uint64_t count);
// Inserts that nobody made, and that count for nobody: the balance stays.
void replay_limiter_found(replay_limiter *limiter, uint64_t count);

// This table's limiter as it counts for an experiment over several, beside the others: with the
// counters and the balance of all, and a band that holds the largest insert and sample of any. All
// tables have the same band, then, or one of them would refuse the insert that a sample of another
// waits for. Whether a sample or an insert is allowed is asked of it.
replay_limiter replay_limiter_joined(const replay_limiter *limiter, const wire_others *others);
// replay_limiter_set for such a one: the joined balance keeps its distance from the middle. So many
// tables (parts, at least 1) get the new numbers, and each moves its own balance by an equal part
// of what is to be moved.
void replay_limiter_set_joined(replay_limiter *limiter, const replay_limiter_spec *spec,
                               const wire_others *others, uint32_t parts);

double replay_limiter_balance(const replay_limiter *limiter);
bool replay_limiter_is_warm(const replay_limiter *limiter); // min_size was reached
// Why an insert, or a sample, waits: one line for a person.
void replay_limiter_explain_insert(const replay_limiter *limiter, char *text, size_t text_size);
void replay_limiter_explain_sample(const replay_limiter *limiter, char *text, size_t text_size);

#endif // REPLAY_REPLAY_LIMITER_H
