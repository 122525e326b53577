#ifndef LEARNER_LEARNER_RUN_STATE_H
#define LEARNER_LEARNER_RUN_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/oct_allowance.h"
#include "learner/learner_budget.h"
#include "learner/learner_checkpoints.h"
#include "learner/learner_cut.h"
#include "learner/learner_demand.h"
#include "learner/learner_external.h"
#include "learner/learner_metrics.h"
#include "learner/learner_mix.h"
#include "learner/learner_numbers.h"
#include "learner/learner_pace.h"
#include "learner/learner_peers.h"
#include "learner/learner_publisher.h"
#include "learner/learner_run.h"
#include "learner/learner_suspect.h"
#include "learner/learner_versions.h"
#include "proto/wire_token.h"

// What learner_run.c (the experiment), learner_join.c (how it begins), learner_batches.c (what it
// learns from), learner_end.c (how it ends), learner_report.c (its numbers) and
// learner_files.c (its folder) share. Nobody else includes this.

#define LEARNER_PATH_MAX 4096

#define LEARNER_RETURNS   100
#define LEARNER_WHY_BYTES 256

// The run's numbers (learner_numbers.h), and what they were when the last row of metrics ended.
typedef struct learner_report {
    oct_numbers *numbers;
    learner_measurements now;
    learner_means means; // of what the algorithm tells
    learner_eval_metrics eval_metrics;
    learner_metrics *metrics;
    wire_status status;
    const char *status_name[WIRE_STATS_MAX];
    double status_value[WIRE_STATS_MAX];
    // sums since the last row
    uint64_t episodes;
    double episode_return, episode_length;
    bool has_eval;      // the last evaluation ended since
    double eval_wall_s; // when its policy was made
    // as they were when it ended
    double begin_s, wait_s, published_bytes;
    double core_s; // of the quantizer stage
    uint64_t env_steps, updates, publications;
    learner_actors_totals totals;
    learner_staleness staleness;
    learner_demand demand;            // over the last rows
    learner_cut cut_below, cut_above; // of targets
    double returns[LEARNER_RETURNS];  // of training episode n at n modulo LEARNER_RETURNS
} learner_report;

// What is written in the run folder, each as it went the last time.
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

// What became of a checkpoint.
typedef struct learner_written {
    uint64_t number;
    int code; // errno, 0: it is on the disk
    wire_written place;
} learner_written;

// The run folder (learner_files.c).
typedef struct learner_folder {
    learner_checkpoint resumed; // what the run goes on from; its state until that was loaded
    bool is_resumed;            // from a checkpoint: else all of it but the run id is 0
    learner_versions versions;  // of the checkpoint, and those reserved since
    // policy_versions: versions up to here may have been published, also by a dead process
    uint64_t reserved_version;
    uint64_t reserve_ns;  // it is not tried again before
    bool is_holding;      // the next version has to wait for it
    char *summary_before; // summary.json when this process went on; NULL: there was none
    // environment.oct
    uint8_t *environment; // that could not be written yet; NULL: there is none
    size_t environment_length;
    uint64_t environment_ns; // it is not tried again before
    uint64_t last_version;   // which policy_last.oct is; 0: not written yet
    // policy.oct
    learner_eval_result saved; // what is known of it; version 0: not evaluated, or there is none
    double saved_confirmed;
    uint32_t saved_crc; // of its bytes, 0: there is none
    policy_precision saved_precision;
    bool twin_is_missing; // policy.fp32.oct could not be written, or was not when a process was
                          // killed
    // curve.svg
    learner_curve_point *curve;
    uint32_t curve_count;
    uint64_t curve_ns;                   // when it was written last
    uint64_t curve_changes, curve_drawn; // learner_curve_is_due
    // the checkpoints, and the thread that writes them
    uint64_t checkpoint_ns;
    bool writer_started;
    atomic_int writer_busy;
    pthread_t writer;
    uint64_t writer_begin_ns;
    uint64_t writer_number;           // of the checkpoint that was begun last, from 1
    bool writer_missed;               // one that was asked for came while another was being written
    learner_written writing;          // the writer's, until it has ended
    learner_written written;          // the last one that has ended
    atomic_int failed[LEARNER_FILES]; // errno, 0: written the last time. Also the writer's
    atomic_ullong failures;           // all, counted
    int policies_errno;               // in the round at work
    char trouble[256];
} learner_folder;

typedef struct learner_pacer learner_pacer; // learner_pace_turns.c

struct learner_run {
    learner_run_options options;
    const oct_config *config;
    const learner_pace *pace;
    uint32_t action_repeat; // environment steps of a row
    learner_pacer *pacer;   // in lock-step, once training has begun
    learner_phase phase;
    uint64_t run_id;
    policy_spec environment;  // what every actor must have (learner_environment.h)
    bool has_environment;     // false: the first that registers says what it is
    oct_metric_names metrics; // what the environment measures itself
    policy_spec spec;
    learner_budget budget;
    const char *blas;
    char run_name[POLICY_NAME_MAX];
    char reason[128];     // why it ends, or ended
    char unlearned[128];  // why it ended without an update, or ""
    const char *no_final; // what ended the final evaluation early; NULL: nothing did

    learner_publisher *publisher;
    learner_average *average; // learner.ema_decay; NULL: the parameters are published
    nn_context *nn;           // the training thread's once it runs
    algo *algorithm;          // from when the environment is known until train has it
    learner_train *train;
    learner_external *external; // who learns; NULL: the training thread itself
    uint64_t updates_refused;   // by this process
    oct_err refused;            // why the last of them was, …
    char refused_why[128];      // … in words, …
    learner_suspect suspect;    // … and whose rows it had
    char suspect_certificate[OCT_HOLDER_NAME_MAX + 1]; // "": not known
    learner_evals *evals;
    learner_actors *actors;
    uint8_t token_key[WIRE_TOKEN_KEY_BYTES]; // of the sessions' tokens: replay has it, too
    wire_token_maker *tokens;
    uint64_t bad_requests;
    uint64_t bad_tokens;      // messages that named a registered session, with another's token
    uint64_t places_refused;  // registrations, for what their certificate may hold
    uint64_t answers_refused; // to peers that do not read
    uint64_t tickets_refused; // to evaluators whose certificate left others unanswered
    oct_allowance tickets;    // of each evaluators' certificate: without an answer
    uint64_t bad_reports;     // with numbers that cannot be, or of evaluations by others
    oct_allowance told;       // lines of the log about who comes and goes, of each certificate
    uint64_t actors_refused;  // registrations, also of evaluators: they do not fit the run
    uint64_t refused_ns;      // the last of them …
    char refused_text[WIRE_NAME_MAX];

    // what the algorithm learns from, as the first actor made it
    learner_source *source[LEARNER_ORIGINS]; // by learner_origin; NULL: there is none (yet)
    learner_shards *shards;                  // of several live ones; NULL: there is one
    uint32_t shards_away;                    // bits: said in the log not to be there
    learner_mix *mix;                        // of all
    algo_wants wants;

    // counters
    uint64_t env_steps_base, updates_base; // from the checkpoint
    uint64_t env_steps_found;              // that replay had taken since then when it was heard of
    double wall_base_s;
    uint64_t begin_ns; // of training in this process; 0: not yet
    uint64_t training_end_ns;
    uint64_t env_steps_end; // when training ended
    uint64_t updates;
    uint64_t episodes;      // finished by actors
    double published_bytes; // of policies and changes
    learner_traffic traffic;
    uint32_t relays; // that live
    uint64_t probe_ns;

    // evaluation
    learner_eval_result last_eval;
    bool has_eval;
    uint32_t failed_evals, failed_full_evals; // all; those that were not short
    uint64_t eval_played;                     // episodes of answers that were taken, …
    double eval_played_s;                     // … and the time that they took their evaluators
    bool evaluator_missed;                    // it was said that none is there
    uint64_t evaluator_ns;                    // when one was there last, 0: never
    uint64_t created_ns;
    bool actor_missed; // it was said that none has come yet, or one has

    learner_report report;
    uint64_t final_begin_ns;
    bool awaits_evaluator; // at the end, the first one to register
    bool is_ending;        // checkpoints say why: who resumes one plays the final evaluation
    bool ends_again;       // killed in its final evaluation, which this process plays

    bool failed;    // other than to write
    bool abandoned; // another learner has the run and its folder, or it starts over
    bool starts_over;
    uint64_t libm; // lock-step: of this machine (oct_libm.h); else 0
    learner_folder folder;

    learner_peers *peers;
};

void learner_run_stop_training(learner_run *run); // ends its thread, and whoever learns for it
// Training so far, over all processes: of one that was killed, up to its last checkpoint.
double learner_run_wall_s(const learner_run *run);
uint64_t learner_run_env_steps(const learner_run *run); // over all processes, too
// Of them, those that replay took while this process was there.
uint64_t learner_run_own_env_steps(const learner_run *run);
double learner_run_share(const learner_run *run); // of the budget that is spent, 0 to 1

// ---- learner_join.c (also learner_run_join)
// The last that learner_run_refuse was told, for as long as no actor acts, and for
// LEARNER_PEER_GONE_S at least; "": none.
const char *learner_run_last_refused(learner_run *run);
// Reads what is known of the environment. Errors as of learner_environment_read.
OCT_CHECKED oct_err learner_join_begin(learner_run *run, char *reason, size_t reason_size);
// When the environment is known makes what learns, so that an experiment that cannot be is refused
// before anybody registers, and from a data set alone begins to learn; else the first to register
// does both. With a reason: OCT_EINVAL, it cannot be; or as of algo_create.
OCT_CHECKED oct_err learner_join_known(learner_run *run, char *reason, size_t reason_size);
// Where the table of a live source was after so many batches.
learner_source_place learner_run_place_after(const learner_run *run, uint32_t shard,
                                             uint64_t batches);
// Of the live sources together, or as they would say before there is one.
learner_source_counts learner_run_source_counts(const learner_run *run);

// ---- learner_end.c (also learner_run_finish, learner_run_abandon, learner_run_save,
// learner_run_failed)
// Why a run ends by itself; checkpoints keep the word.
#define LEARNER_END_SOLVED "solved"
#define LEARNER_END_BUDGET "budget"
#define LEARNER_END_TIME   "time"
// Whether the budget is spent, or nothing can be learned any more: then the run ends. One that
// spent its budget has failed if it made no update because all were refused.
void learner_run_check_budget(learner_run *run);
// A version that was on its way when training ended belongs to the end, too.
void learner_end_published(learner_run *run);
// While the final evaluation is played: whether it is still worth waiting for.
void learner_end_tick(learner_run *run, uint32_t evaluators, uint64_t now_ns);
// A run that was killed in its final evaluation has that before it still, if the reason why it
// ended holds under the configuration of now; else it is trained on, as any run that is resumed.
void learner_end_resume(learner_run *run); // sets is_ending and ends_again
void learner_end_again(learner_run *run);  // where training would begin
// Why no full evaluation of the version that ships succeeded, in out; NULL: one did, or none was
// tried.
const char *learner_end_unevaluated(const learner_run *run, char *out, size_t size);
// Why evaluation.sampling may be what the user needs, in out: training episodes, which sample
// actions, had much better returns than policy.oct has when it acts greedily. NULL: they had not.
const char *learner_end_sampling(const learner_run *run, char *out, size_t size);

// ---- learner_report.c (also learner_run_status, learner_run_peers, learner_run_prometheus)
// OCT_EIO: metrics.csv cannot be written in the folder.
OCT_CHECKED oct_err learner_report_begin(learner_run *run);
void learner_report_end(learner_run *run);
// Once, before the first row: what the environment measures itself gets its columns.
void learner_report_metrics(learner_run *run);
// Training begins: rows are counted from here.
void learner_report_start(learner_run *run);
// A training episode ended, which is episode number run->episodes.
void learner_report_episode(learner_run *run, double episode_return, double episode_length);
// A row of metrics when one is due, or now.
void learner_report_row(learner_run *run, bool now);

// ---- learner_files.c
// Reads the checkpoint, the version reserve and the tokens' key when resuming, else draws a run id
// and a key, and writes the key.
OCT_CHECKED oct_err learner_files_begin(learner_run *run, char *reason, size_t reason_size);
// Gives the policy of policy.oct back to the evaluations, when resuming: with what the checkpoint
// says of it if it is that one, else to be evaluated anew.
void learner_files_restore(learner_run *run);
// Training begins or goes on: the summary of an earlier process describes neither it nor, soon, its
// policy.
void learner_files_start(learner_run *run);
// Of a file of the run folder.
void learner_files_path(const learner_run *run, const char *name, char out[LEARNER_PATH_MAX]);
// Versions up to this one are about to be published: reserved on disk ahead of need (contract 1:
// after a crash the next process begins above everything that actors may have seen). False: they
// are not, and may not be published yet.
bool learner_files_reserve(learner_run *run, uint64_t version);
// Writes state (taken) with the counters of now; in a thread of its own when async.
void learner_files_checkpoint(learner_run *run, learner_state_bytes *take, bool async);
// learner_policy_files.c: policy.oct (best), what it was quantised from, its values whole, and
// policy_last.oct. Under the other name until policy.oct is of that version, too.
#define LEARNER_TWIN_FILE      "policy.fp32.oct"
#define LEARNER_TWIN_NEXT_FILE "policy.fp32.next"
void learner_files_policies(learner_run *run);
// A resumed run, whose policy.oct is of version: after a kill between two of those writes the
// weights that belong to it get their name, and those of another version go.
void learner_files_settle(learner_run *run, uint64_t version);
void learner_files_curve(learner_run *run);
void learner_files_environment(learner_run *run, const wire_env_spec *env);
// Where that could not be written: once a second, or now.
void learner_files_environment_again(learner_run *run, bool now);
void learner_files_summary(learner_run *run);
// A file was written (0), or could not be (errno): a state that lasts until it is written again,
// and is logged when it begins and ends. Any thread.
void learner_files_told(learner_run *run, learner_file file, int code);
void learner_files_end(learner_run *run); // waits for the writer

#endif // LEARNER_LEARNER_RUN_STATE_H
