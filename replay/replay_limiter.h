#ifndef REPLAY_REPLAY_LIMITER_H
#define REPLAY_REPLAY_LIMITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire_replay.h"

// Decides how many windows may be drawn for each window inserted: Reverb's rule, as arithmetic on
// four counters.
//
//   balance = inserts * samples_per_insert - samples + offset
//   a sample of n is allowed iff inserts >= min_size and balance - n >= balance_min
//   an insert of n is allowed iff inserts < min_size or balance + n * samples_per_insert
//                                                      <= balance_max
//   balance_min, balance_max = min_size * samples_per_insert -+ half the band
//
// Half the band is tolerance * min_size * samples_per_insert. If the band were narrower than one
// insert and one sample together, both sides would wait for each other forever. So it is widened to
// hold the largest insert and the largest sample that were asked for (replay_limiter_fit), and
// is_widened is set. samples_per_insert 0: only min_size counts.
//
// offset is 0 until the numbers change during the run. It is then chosen so that the balance keeps
// its distance from the middle of the band, and neither side has to catch up on what the old ratio
// allowed.
//
// Threads: one user at a time. Owns: plain value.
typedef struct replay_limiter_spec {
    uint64_t min_size;         // windows; inserts below it are always allowed
    double samples_per_insert; // 0: no limit
    double tolerance;          // half the band, as a part of min_size
} replay_limiter_spec;

typedef struct replay_limiter {
    replay_limiter_spec spec;
    uint64_t inserts; // windows, since the table was made
    uint64_t samples; // windows, without the returned ones
    double offset;    // windows, see above
    double balance_min;
    double balance_max;
    uint32_t insert_chunk; // windows: the largest insert asked for
    uint32_t sample_chunk; // windows: the largest sample asked for
    bool is_widened;       // the tolerance alone would be too narrow
} replay_limiter;

// min_size 0 counts as 1; the other two must be finite and >= 0 (replay_config_check).
void replay_limiter_init(replay_limiter *limiter, const replay_limiter_spec *spec);
// Changes the numbers during the run; the counters continue.
void replay_limiter_set(replay_limiter *limiter, const replay_limiter_spec *spec);

// Makes the band hold one insert and one sample of these sizes. Returns true if this call widened
// it.
bool replay_limiter_fit(replay_limiter *limiter, uint32_t insert_count, uint32_t sample_count);
bool replay_limiter_may_insert(const replay_limiter *limiter, uint32_t count);
// Returns how many samples of batch_size are allowed now, at most batches_max.
uint32_t replay_limiter_may_sample(const replay_limiter *limiter, uint32_t batch_size,
                                   uint32_t batches_max);
void replay_limiter_inserted(replay_limiter *limiter, uint64_t count);
void replay_limiter_sampled(replay_limiter *limiter, uint64_t count);

// Takes back samples that were drawn without use: they may be drawn again before more is inserted.
void replay_limiter_returned(replay_limiter *limiter, uint64_t count);
// Counts inserts that no actor made; the balance does not change.
void replay_limiter_found(replay_limiter *limiter, uint64_t count);

// Returns the limiter that decides for an experiment over several tables: it has the counters and
// the balance of all of them, and a band that holds the largest insert and sample of any. So all
// tables have the same band; otherwise one of them could refuse the insert that a sample of another
// waits for. Whether an insert or a sample is allowed is asked of this limiter.
replay_limiter replay_limiter_joined(const replay_limiter *limiter, const wire_others *others);
// replay_limiter_set for one of several tables: the joined balance keeps its distance from the
// middle. parts: the number of tables (at least 1) that get the new numbers; each of them moves its
// own balance by an equal part.
void replay_limiter_set_joined(replay_limiter *limiter, const replay_limiter_spec *spec,
                               const wire_others *others, uint32_t parts);

double replay_limiter_balance(const replay_limiter *limiter);
bool replay_limiter_is_warm(const replay_limiter *limiter); // min_size was reached
// Writes one line that says why an insert, or a sample, waits.
void replay_limiter_explain_insert(const replay_limiter *limiter, char *text, size_t text_size);
void replay_limiter_explain_sample(const replay_limiter *limiter, char *text, size_t text_size);

#endif // REPLAY_REPLAY_LIMITER_H
