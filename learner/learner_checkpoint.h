#ifndef LEARNER_LEARNER_CHECKPOINT_H
#define LEARNER_LEARNER_CHECKPOINT_H

#include <stdint.h>

#include "learner/learner_curve.h"
#include "learner/learner_evals.h"
#include "learner/learner_train.h"

// Everything that a resumed run goes on from, in one file: magic "OCTC", format version, counters,
// what policy.oct is and how good, curve, the algorithm's state, CRC-32. Written atomically
// (oct_file_write).
//
// Threads: any. Owns: a loaded checkpoint holds its own memory.
#define LEARNER_CHECKPOINT_VERSION 2
#define LEARNER_CURVE_MAX          65536

typedef struct learner_checkpoint {
    uint64_t run_id;
    uint64_t policy_version; // last published
    uint64_t updates;
    uint64_t env_steps;
    uint32_t incarnations;     // of actors: above all that were given (learner_actors.h)
    double wall_s;             // of training so far
    learner_evals_saved evals; // best: of policy.oct
    uint32_t policy_crc;       // CRC-32 of policy.oct's bytes, 0: there is none
    uint32_t task_crc;         // of what returns depend on: they compare only with the same
    uint32_t curve_count;
    learner_curve_point *curve;
    learner_state_bytes *state; // NULL when the training had not begun
} learner_checkpoint;

// OCT_EIO: not written (errno says why); the old file is whole.
OCT_CHECKED oct_err learner_checkpoint_write(const char *path,
                                             const learner_checkpoint *checkpoint);
// OCT_ENOTFOUND: no such file. OCT_EPROTO: damaged or not a checkpoint; OCT_EINVAL: of a newer
// version; each with one line in reason.
OCT_CHECKED oct_err learner_checkpoint_read(const char *path, learner_checkpoint *out, char *reason,
                                            size_t reason_size);
void learner_checkpoint_fini(learner_checkpoint *checkpoint);

#endif // LEARNER_LEARNER_CHECKPOINT_H
