#ifndef LEARNER_LEARNER_CHECKPOINT_H
#define LEARNER_LEARNER_CHECKPOINT_H

#include <stdint.h>

#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "learner/learner_curve.h"
#include "learner/learner_evals.h"
#include "learner/learner_source.h"
#include "learner/learner_train.h"
#include "proto/wire_hash.h"

// Everything from which a resumed run continues, in one file. learner_checkpoints.h keeps the last
// few of a folder.
//
// Bytes, little-endian: magic "OCTC", format version (u32), sections, CRC-32 of all bytes before it
// (u32). A section: four letters, flags (u32), length of its content in bytes (u64), content,
// CRC-32 of all of these (u32). Flag 1: a release that does not know the section must refuse the
// file; it skips unknown sections without this flag. A section occurs at most once; the order is
// free.
//
//   RUN_  the run's id, counters, checksum of policy.oct
//   EVAL  evaluations so far, and the result of the best policy
//   RPLY  the state of replay's table, or that of the first shard
//   SHRD  with several shards: the state of each table and of its limiter
//   GONE  with several shards: what the limiters of lost tables had; skipped like TABL
//   TABL  earlier tables of each replay and their states; releases that do not know it skip it
//   CURV  points of the curve
//   TURN  of a run in lock-step: the copy of replay's table that belongs to it, and the machine
//   END_  why the run ends; only during its final evaluation
//   WORK  evaluations in progress, candidates, the policies of both, and the newest policy
//   FP32  the fp32 weights of these policies; releases that do not know it skip it
//   METR  the environment's own metrics in these evaluations; skipped like FP32
//   ALGO  the algorithm's state, the average of its policy and the scaling of observations; only
//         if training had begun
//
// Every format, older or newer, begins with magic and version and ends with that CRC-32, so that
// damage is detected before the version is judged. Format 2 (without sections) is migrated when it
// is read; format 1 is refused.
//
// Threads: any. Owns: a loaded checkpoint owns its memory.
#define LEARNER_CHECKPOINT_FORMAT 3
#define LEARNER_CURVE_MAX         65536
#define LEARNER_END_MAX           32
#define LEARNER_RESUMED_MAX       (WIRE_COUNT_MAX / 2) // largest counter from which a run resumes

// The state of a run in lock-step. The turn itself is policy_version.
typedef struct learner_turn_place {
    bool is_there;                   // the run is in lock-step
    uint32_t life_turns;             // learner.checkpoint_turns
    uint32_t refused;                // updates in a row that were refused
    uint64_t libm;                   // checksum of the learner machine's libm (oct_libm.h)
    uint8_t replay[WIRE_HASH_BYTES]; // wire_digest of the table at that turn; all 0 with turn 0
} learner_turn_place;

typedef struct learner_checkpoint {
    uint64_t run_id;
    uint64_t policy_version; // the last one published
    uint64_t updates;
    uint64_t env_steps;
    uint32_t incarnations; // above all incarnations of actors that were given (learner_actors.h)
    double wall_s;         // of training so far
    learner_evals_saved evals;                      // best: the result of policy.oct
    learner_source_place replay[CONFIG_SHARDS_MAX]; // the state of each shard's table at that point
    uint32_t shards;                                // at most CONFIG_SHARDS_MAX; 0 counts as 1
    double gone;                                    // learner_batches_gone
    learner_turn_place turn;
    uint32_t policy_crc; // policy_checksum of policy.oct; 0: there is no file
    uint32_t task_crc;   // of the settings that returns depend on: equal if returns compare
    // The reason why training ended, in one word, while the final evaluation runs; otherwise "".
    char end[LEARNER_END_MAX];
    uint8_t *work; // learner_evals_write; NULL: format 2, or no evaluation has begun
    size_t work_length;
    uint8_t *weights; // learner_evals_write_weights; NULL: there are none
    size_t weights_length;
    uint8_t *metrics; // learner_evals_write_metrics; NULL: there are none
    size_t metrics_length;
    uint32_t curve_count;
    learner_curve_point *curve;
    learner_state_bytes *state; // NULL if training had not begun
} learner_checkpoint;

// Writes a checkpoint beside path, syncs it and reads it back from the disk (oct_file_draft). Does
// not copy the algorithm's state. OCT_EIO: not written (errno says why).
OCT_CHECKED oct_err learner_checkpoint_draft(const char *path, const learner_checkpoint *checkpoint,
                                             char out[OCT_FILE_PATH_MAX]);
// Reads a checkpoint. On an error reason holds one line, and out is not written:
//   OCT_ENOTFOUND  there is no such file
//   OCT_EPROTO     the file is damaged, cannot be read from the disk, or is not a checkpoint
//   OCT_EINVAL     the file is intact, but of another release
//   OCT_EIO        this process cannot read the file
OCT_CHECKED oct_err learner_checkpoint_read(const char *path, learner_checkpoint *out,
                                            oct_reason *why);
void learner_checkpoint_fini(learner_checkpoint *checkpoint);

#endif // LEARNER_LEARNER_CHECKPOINT_H
