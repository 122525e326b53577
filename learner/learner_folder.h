#ifndef LEARNER_LEARNER_FOLDER_H
#define LEARNER_LEARNER_FOLDER_H

#include "common/oct_reason.h"
#include "learner/learner_checkpoint.h"
#include "learner/learner_evals.h"
#include "learner/learner_publisher.h"
#include "learner/learner_summary.h"
#include "learner/learner_versions.h"
#include "proto/wire_peers.h"
#include "proto/wire_rpc.h"
#include "proto/wire_token.h"

// The run folder: writes the files of a run, and reads what a resumed run continues from.
// learner_folder.c explains what each failure leads to.
//
// Threads: the loop thread. A thread inside writes checkpoints, one at a time.
// Owns: the resumed checkpoint, the points of the curve, and contents that are not written yet.
// Errors: a file that cannot be written is logged once, is part of learner_folder_trouble until a
// write succeeds, and is written again later.
typedef struct learner_folder learner_folder;

// Files with a write result.
typedef enum learner_file {
    LEARNER_FILE_CHECKPOINT,
    LEARNER_FILE_POLICIES,
    LEARNER_FILE_VERSIONS,
    LEARNER_FILE_ENVIRONMENT,
    LEARNER_FILE_METRICS,
    LEARNER_FILE_CURVE,
    LEARNER_FILE_SUMMARY,
    LEARNER_FILE_HASHES,
    LEARNER_FILES,
} learner_file;

// All pointers are borrowed for as long as the folder.
typedef struct learner_folder_options {
    const config_experiment *config;
    const char *path; // exists
    const char *run_name;
    const policy_spec *spec;         // read only once training has begun
    const oct_metric_names *metrics; // names of the environment's own metrics
    bool resume;                     // read the newest complete checkpoint, if there is one
    bool repeats; // lock-step (learner_pace.h): nothing later than the checkpoint is read
} learner_folder_options;

// Removes drafts of killed processes, and reads the checkpoint and the version reserve of a resumed
// run. A new run gets a run id. Errors, each with one line in why:
//   OCT_EIO               a file cannot be read
//   OCT_EPROTO, OCT_EINVAL the checkpoint or the reserve is damaged or of another release
OCT_CHECKED oct_err learner_folder_open(learner_folder **out, const learner_folder_options *options,
                                        oct_reason *why);
void learner_folder_close(learner_folder *folder); // NULL is a no-op; waits for the writer
// Writes nothing from now on, because another process has the run or will restart it.
void learner_folder_abandon(learner_folder *folder);
bool learner_folder_is_abandoned(const learner_folder *folder);

// ---- what the run continues from

bool learner_folder_is_resumed(const learner_folder *folder);
// Returns the checkpoint that the run continues from; policy_version is the highest version that an
// earlier process may have published. For a new run all its fields but run_id are 0.
const learner_checkpoint *learner_folder_resumed(const learner_folder *folder);
void learner_folder_forget_state(learner_folder *folder); // frees the checkpoint's training state
// Returns the versions of the checkpoint, and those reserved since.
learner_versions learner_folder_versions(const learner_folder *folder);
// Reads the key of the sessions' tokens, or draws and writes one. A resumed run keeps its key, so
// that actors that registered with the process before keep their tokens. OCT_EIO with a reason: no
// key can be drawn or written.
OCT_CHECKED oct_err learner_folder_key(const learner_folder *folder,
                                       uint8_t out[WIRE_TOKEN_KEY_BYTES], oct_reason *why);
// Call once after open. A resumed run passes the policy in policy.oct to the evaluations: with the
// checkpoint's result if the checkpoint names the same policy, else to be evaluated again. evals
// and publisher are borrowed from here on.
void learner_folder_restore(learner_folder *folder, learner_evals *evals,
                            learner_publisher *publisher);

// ---- files

// Removes the summary of an earlier process when training begins or continues, because it does not
// describe this process, and its policy is about to be replaced.
void learner_folder_start(learner_folder *folder);
// Reserves the versions up to this one on disk before they are published, ahead of need. After a
// crash the next process therefore begins above all versions that actors may have (contract 1).
// False: they are not reserved, and may not be published yet.
bool learner_folder_reserve(learner_folder *folder, uint64_t version);
// Writes a checkpoint. The caller fills in counters, turn, the state of replays, end and state,
// which is taken; the folder adds evaluations, policies and curve. async: a thread writes it; while
// the thread is busy the checkpoint is dropped (learner_folder_missed).
void learner_folder_checkpoint(learner_folder *folder, const learner_checkpoint *take, bool async);
// Returns the number of the checkpoint that is begun next.
uint64_t learner_folder_checkpoint_next(const learner_folder *folder);
// Returns true once after a checkpoint was dropped and the thread has ended since.
bool learner_folder_missed(learner_folder *folder);
// Returns the result of that checkpoint or a later one. OCT_EAGAIN: it is not written yet. OCT_EIO:
// it could not be written; why has one line.
OCT_CHECKED oct_err learner_folder_checkpointed(const learner_folder *folder, uint64_t number,
                                                wire_written *out, oct_reason *why);
// Writes policy.oct (the best policy), the fp32 weights that it was quantized from, and
// policy_last.oct, as far as they have changed.
void learner_folder_policies(learner_folder *folder);
// Returns the evaluation of the policy in policy.oct; version 0: not evaluated, or no such file.
const learner_eval_result *learner_folder_saved(const learner_folder *folder);
void learner_folder_curve_add(learner_folder *folder, const learner_curve_point *point);
void learner_folder_curve(learner_folder *folder);
void learner_folder_environment(learner_folder *folder, const wire_env_spec *env);
// Writes the summary. The folder fills in before, result, result_precision and metrics.
void learner_folder_summary(learner_folder *folder, learner_summary *summary);
// Draws the curve if it has changed much, and retries a failed write of the environment once a
// second.
void learner_folder_tick(learner_folder *folder, uint64_t now_ns);
// Begins to write everything a last time: forgets earlier failures, and retries the environment.
void learner_folder_finish(learner_folder *folder);

// ---- failures

// Records that a file was written (code 0) or could not be (errno). A failure lasts until the next
// successful write; its begin and end are logged. Any thread.
void learner_folder_wrote(learner_folder *folder, learner_file file, int code);
bool learner_folder_has_failed(const learner_folder *folder, learner_file file);
bool learner_folder_is_unsaved(const learner_folder *folder); // the last write of some file failed
uint64_t learner_folder_failures(const learner_folder *folder); // count of failed writes
// Returns one sentence, valid until the next call: the file that cannot be written, and why. NULL:
// every file can.
const char *learner_folder_trouble(learner_folder *folder);

#endif // LEARNER_LEARNER_FOLDER_H
