#ifndef LEARNER_LEARNER_CHECKPOINT_H
#define LEARNER_LEARNER_CHECKPOINT_H

#include <stdint.h>

#include "common/oct_file.h"
#include "learner/learner_curve.h"
#include "learner/learner_evals.h"
#include "learner/learner_source.h"
#include "learner/learner_train.h"
#include "proto/wire_hash.h"

// Everything that a resumed run goes on from, in one file. learner_checkpoints.h keeps the last
// ones of a folder.
//
// Bytes, little-endian: magic "OCTC", format version (u32), sections, CRC-32 of all before it
// (u32). A section: four letters, flags (u32), bytes of its content (u64), content, CRC-32 of all
// of these (u32). Flag 1: who does not know the section must not go on without it; others are
// passed over. A section stands once at most, in any order.
//
//   RUN_  whose checkpoint it is, counters, what policy.oct is
//   EVAL  evaluations so far, and what the best policy returned
//   RPLY  how far replay's table was, or that of the first shard
//   SHRD  of several shards: how far the table of each was, and what its limiter had
//   GONE  of several shards: what the limiters of tables had that are no more; as TABL
//   TABL  tables that each replay had before: how far each was; a release without it passes it over
//   CURV  points of the curve
//   TURN  of a run in lock-step: the copy of replay's table that belongs to it, and the machine
//   END_  why the run ends; only while its final evaluation is played
//   WORK  evaluations that are played, candidates, and the policies of both; the newest policy
//   FP32  the weights in fp32 that these policies were made of; a release without it passes it over
//   METR  what the environment itself measured in these evaluations; as FP32
//   ALGO  the algorithm's state, the average of its policy and the scaling of observations; only
//         when training had begun
//
// Every format, also an older or a later one, begins with magic and version and ends with that
// CRC-32: whether a file is damaged is known before whose it is. Format 2 (no sections) is migrated
// when it is read, format 1 is refused.
//
// Threads: any. Owns: a loaded checkpoint holds its own memory.
#define LEARNER_CHECKPOINT_FORMAT 3
#define LEARNER_CURVE_MAX         65536
#define LEARNER_END_MAX           32
#define LEARNER_RESUMED_MAX       (WIRE_COUNT_MAX / 2) // of what a resumed run counts on from

// What a run in lock-step goes on from, beside the turn, which is policy_version.
typedef struct learner_turn_place {
    bool is_there;                   // the run is in lock-step
    uint32_t life_turns;             // learner.checkpoint_turns
    uint32_t refused;                // updates in a row that were refused
    uint64_t libm;                   // of the learner's machine (oct_libm.h)
    uint8_t replay[WIRE_HASH_BYTES]; // wire_digest of the table at that turn; all 0 with turn 0
} learner_turn_place;

typedef struct learner_checkpoint {
    uint64_t run_id;
    uint64_t policy_version; // last published
    uint64_t updates;
    uint64_t env_steps;
    uint32_t incarnations;     // of actors: above all that were given (learner_actors.h)
    double wall_s;             // of training so far
    learner_evals_saved evals; // best: of policy.oct
    learner_source_place replay[OCT_SHARDS_MAX]; // of the table of each shard, at that point
    uint32_t shards;                             // at most OCT_SHARDS_MAX; 0 counts as 1
    double gone;                                 // learner_shards_gone
    learner_turn_place turn;
    uint32_t policy_crc; // policy_checksum of policy.oct, 0: there is none
    uint32_t task_crc;   // of what returns depend on: they compare only with the same
    // A word: why training is over, while the final evaluation is not. Empty: the run goes on.
    char end[LEARNER_END_MAX];
    uint8_t *work; // learner_evals_write; NULL: of format 2, or evaluations have not begun
    size_t work_length;
    uint8_t *weights; // learner_evals_write_weights; NULL: there are none
    size_t weights_length;
    uint8_t *metrics; // learner_evals_write_metrics; NULL: there are none
    size_t metrics_length;
    uint32_t curve_count;
    learner_curve_point *curve;
    learner_state_bytes *state; // NULL when the training had not begun
} learner_checkpoint;

// oct_file_draft of a checkpoint: written beside path, synced, and read back from the disk. The
// algorithm's state is not copied for it. OCT_EIO: not written (errno says why).
OCT_CHECKED oct_err learner_checkpoint_draft(const char *path, const learner_checkpoint *checkpoint,
                                             char out[OCT_FILE_PATH_MAX]);
// OCT_ENOTFOUND: no such file. OCT_EPROTO: damaged (also where the disk cannot read it), or not a
// checkpoint. OCT_EINVAL: whole, but of another release. OCT_EIO: not to be read by this process.
// Each with one line in reason; out is written only on success.
OCT_CHECKED oct_err learner_checkpoint_read(const char *path, learner_checkpoint *out, char *reason,
                                            size_t reason_size);
void learner_checkpoint_fini(learner_checkpoint *checkpoint);

#endif // LEARNER_LEARNER_CHECKPOINT_H
