// The progress of a run: phases, counts, budget, and the wait for the final evaluation.
//
// Phases follow each other: WAITING, TRAINING, FINAL, DONE; FINAL is left out if nothing is left to
// evaluate or nobody can evaluate.
//
// 1. The counts start at those of the checkpoint. Seconds run from learner_progress_begin on.
//    Steps are counted by replay: its rows since the checkpoint, times the action repeat.
// 2. The run ends training when the budget or run.wall_s is spent, at the target return, or on
//    request; its owner decides, with the help of learner_progress_is_spent and _is_out_of_time.
//    From then on the count of steps is fixed.
// 3. The final evaluation has three limits. Without a registered evaluator it waits for
//    evaluator_wait_s. With evaluators it ends after FINAL_TIMEOUT_S, or twice the longest pause
//    that evaluators had before, without a sign of work. And it ends FINAL_WALL_S, or a tenth of
//    run.wall_s, after run.wall_s.
//
// Failures. If the process is killed while it waits, the checkpoint has the reason for the end
// (learner_progress_ending), and the next process plays the final evaluation instead of training,
// as long as the reason still holds: a larger budget or a higher target lets training continue. If
// a limit ends the wait, the last evaluation is the result, and the summary says so.
#include "learner/learner_progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_action_repeat.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "common/oct_text.h"

#define FINAL_TIMEOUT_S  120.0
#define FINAL_WALL_S     60.0 // what the final evaluation may take after run.wall_s, at least
#define FINAL_WALL_SHARE 0.1  // of run.wall_s

struct learner_progress {
    const config_experiment *config;
    const learner_checkpoint *resumed; // counts of earlier processes
    const learner_batches *batches;    // NULL before training begins
    double evaluator_wait_s;
    learner_phase phase;
    uint32_t action_repeat; // environment steps of a row
    uint64_t begin_ns;      // start of training in this process; 0: not started
    uint64_t end_ns;        // end of training; 0: it has not ended
    uint64_t env_steps_end; // when training ended
    uint64_t env_steps_found;
    uint64_t updates_base; // when this process began
    uint64_t updates;
    char reason[128];
    char unlearned[128];  // why the run ended without an update, or ""
    const char *no_final; // what ended the final evaluation early; NULL: nothing did
    uint64_t final_begin_ns;
    bool awaits_evaluator; // the final evaluation waits for the first evaluator to register
    bool is_ending;        // checkpoints contain the reason
    bool ends_again;       // an earlier process was killed in its final evaluation
};

learner_progress *
learner_progress_create(const config_experiment *config, const learner_checkpoint *resumed,
                        double evaluator_wait_s)
{
    learner_progress *progress = oct_alloc(sizeof(*progress));
    progress->config = config;
    progress->resumed = resumed;
    progress->evaluator_wait_s = evaluator_wait_s;
    progress->action_repeat = oct_action_repeat_of(config->env.options);
    progress->updates = progress->updates_base = resumed->updates;
    oct_text_copy(progress->reason, sizeof(progress->reason), "running");
    return progress;
}

void
learner_progress_destroy(learner_progress *progress)
{
    free(progress);
}

learner_phase
learner_progress_phase(const learner_progress *progress)
{
    return progress->phase;
}

bool
learner_progress_is(const learner_progress *progress, learner_phase phase)
{
    return progress->phase == phase;
}

void
learner_progress_enter(learner_progress *progress, learner_phase phase)
{
    progress->phase = phase;
}

// ---- counts

void
learner_progress_begin(learner_progress *progress, const learner_batches *batches, uint64_t updates)
{
    progress->begin_ns = oct_clock_ns();
    progress->batches = batches;
    progress->updates = progress->updates_base = updates;
}

uint64_t
learner_progress_begin_ns(const learner_progress *progress)
{
    return progress->begin_ns;
}

void
learner_progress_updated(learner_progress *progress, uint64_t updates)
{
    progress->updates = updates;
}

uint64_t
learner_progress_steps_of(const learner_progress *progress, uint64_t rows)
{
    return rows * progress->action_repeat;
}

void
learner_progress_found(learner_progress *progress, uint64_t env_steps)
{
    progress->env_steps_found += env_steps;
}

double
learner_progress_wall_s(const learner_progress *progress, uint64_t at_ns)
{
    bool has_begun = progress->begin_ns != 0 && at_ns != 0;
    return progress->resumed->wall_s +
           (has_begun ? (double)(at_ns - progress->begin_ns) * 1e-9 : 0);
}

static double
wall_s(const learner_progress *progress)
{
    return learner_progress_wall_s(progress, oct_clock_ns());
}

static uint64_t
env_steps(const learner_progress *progress)
{
    if (progress->end_ns != 0) {
        return progress->env_steps_end;
    }
    uint64_t rows = learner_batches_counts(progress->batches, oct_clock_ns()).steps;
    return progress->resumed->env_steps + learner_progress_steps_of(progress, rows);
}

learner_counts
learner_progress_before(const learner_progress *progress)
{
    return (learner_counts){progress->resumed->env_steps, progress->updates_base,
                            progress->resumed->wall_s};
}

learner_counts
learner_progress_now(const learner_progress *progress)
{
    return (learner_counts){env_steps(progress), progress->updates, wall_s(progress)};
}

uint64_t
learner_progress_own_env_steps(const learner_progress *progress)
{
    return env_steps(progress) - progress->resumed->env_steps - progress->env_steps_found;
}

double
learner_progress_share(const learner_progress *progress)
{
    const config_experiment *config = progress->config;
    double steps = (double)env_steps(progress) / (double)OCT_MAX(1u, config->run.env_steps);
    double updates =
        config->run.updates > 0 ? (double)progress->updates / (double)config->run.updates : 0;
    return OCT_MIN(1.0, OCT_MAX(steps, updates));
}

bool
learner_progress_is_spent(const learner_progress *progress)
{
    return learner_progress_share(progress) >= 1;
}

bool
learner_progress_is_out_of_time(const learner_progress *progress)
{
    double limit_s = progress->config->run.wall_s;
    return limit_s > 0 && wall_s(progress) >= limit_s;
}

// ---- the end of training

void
learner_progress_end(learner_progress *progress, const char *reason)
{
    if (progress->phase != LEARNER_FINAL) {
        oct_text_copy(progress->reason, sizeof(progress->reason), reason);
    }
}

const char *
learner_progress_reason(const learner_progress *progress)
{
    return progress->reason;
}

void
learner_progress_end_training(learner_progress *progress)
{
    progress->env_steps_end = env_steps(progress);
    progress->end_ns = oct_clock_ns();
}

uint64_t
learner_progress_end_ns(const learner_progress *progress)
{
    return progress->end_ns;
}

// Explains why the actors' data led to no update.
static void
unlearned_explain(const learner_progress *progress, oct_text *why)
{
    const config_experiment *config = progress->config;
    learner_source_counts source = learner_batches_counts(progress->batches, oct_clock_ns());
    uint64_t windows = source.inserts;
    uint32_t batch = config->learner.batch_size - config_data_windows(config);
    double ratio = config->replay.samples_per_insert;
    bool is_once = !config_has_limiter(config);
    if (is_once && windows < batch) {
        oct_text_add(why, "replay received %" PRIu64 " windows, but a batch needs %" PRIu32,
                     windows, batch);
    } else if (!is_once && windows < config->replay.min_size) {
        oct_text_add(why, "replay received %" PRIu64 " windows, but replay.min_size is %" PRIu64,
                     windows, config->replay.min_size);
    } else if (!is_once && ratio > 0 && ratio * (double)windows < batch) {
        oct_text_add(
            why,
            "replay received %" PRIu64
            " windows, which at replay.samples_per_insert: %g are too few for a batch of %" PRIu32,
            windows, ratio, batch);
    } else if (source.missed > 0) {
        oct_text_add(
            why, "replay sent %" PRIu64 " windows in replies that arrived too late or not at all",
            source.missed);
    }
}

void
learner_progress_explain(learner_progress *progress)
{
    oct_text why;
    bool is_over = learner_progress_is_spent(progress) || learner_progress_is_out_of_time(progress);
    if (progress->updates > 0 || !is_over) {
        return;
    }
    oct_text_init(&why, progress->unlearned, sizeof(progress->unlearned));
    if (!config_is_offline(progress->config)) {
        unlearned_explain(progress, &why);
    }
    if (why.used == 0) {
        oct_text_add(&why, "no update was made in time");
    }
    oct_log_warn("LEARNER-UNLEARNED", "nothing was learned: %s", progress->unlearned);
}

const char *
learner_progress_unlearned(const learner_progress *progress)
{
    return progress->unlearned[0] != '\0' ? progress->unlearned : NULL;
}

// ---- the final evaluation

// Returns true if the reason still holds after a restart. Reasons that only training can find again
// do not.
static bool
reason_holds(const learner_progress *progress, const char *reason, bool is_solved)
{
    return (strcmp(reason, LEARNER_END_SOLVED) == 0 && is_solved) ||
           (strcmp(reason, LEARNER_END_BUDGET) == 0 && learner_progress_is_spent(progress)) ||
           (strcmp(reason, LEARNER_END_TIME) == 0 && learner_progress_is_out_of_time(progress));
}

void
learner_progress_resume(learner_progress *progress, const char *path, bool is_solved)
{
    const char *reason = progress->resumed->end;
    if (reason[0] == '\0') {
        return;
    }
    progress->ends_again = progress->is_ending = reason_holds(progress, reason, is_solved);
    if (progress->is_ending) {
        learner_progress_end(progress, reason);
    }
    oct_log_notice("LEARNER-RESUME-END",
                   "%s: training had ended (%s), but not the final evaluation: %s", path, reason,
                   progress->ends_again ? "it starts now"
                                        : "with the current configuration, training continues");
}

bool
learner_progress_ends_again(const learner_progress *progress)
{
    return progress->ends_again;
}

void
learner_progress_await(learner_progress *progress, bool awaits_evaluator, bool is_kept,
                       bool is_solved)
{
    progress->phase = LEARNER_FINAL;
    progress->awaits_evaluator = awaits_evaluator;
    progress->is_ending = is_kept && reason_holds(progress, progress->reason, is_solved);
    learner_progress_heard(progress);
}

void
learner_progress_heard(learner_progress *progress)
{
    progress->final_begin_ns = oct_clock_ns();
}

static void
final_give_up(learner_progress *progress, const char *why)
{
    progress->no_final = why;
    progress->phase = LEARNER_DONE;
}

void
learner_progress_tick(learner_progress *progress, uint32_t evaluators, double patience_s,
                      uint64_t now_ns)
{
    if (progress->awaits_evaluator && evaluators > 0) {
        progress->awaits_evaluator = false;
        progress->final_begin_ns = now_ns;
    }
    double run_s = progress->config->run.wall_s;
    double end_s = run_s + OCT_MAX(FINAL_WALL_S, FINAL_WALL_SHARE * run_s);
    if (run_s > 0 && wall_s(progress) >= end_s) {
        final_give_up(progress, "run.wall_s ended the final evaluation");
        oct_log_warn("LEARNER-NO-FINAL",
                     "%s, which may take %.0f s beyond it; the last evaluation is the result",
                     progress->no_final, end_s - run_s);
        return;
    }
    double silence_s = OCT_MAX(FINAL_TIMEOUT_S, 2 * patience_s);
    double limit_s = progress->awaits_evaluator ? progress->evaluator_wait_s : silence_s;
    if ((double)(now_ns - progress->final_begin_ns) * 1e-9 > limit_s) {
        final_give_up(progress, progress->awaits_evaluator ? "no evaluator registered"
                                                           : "no evaluator answered");
        oct_log_warn("LEARNER-NO-FINAL", "%s; the last evaluation is the result",
                     progress->no_final);
    }
}

const char *
learner_progress_no_final(const learner_progress *progress)
{
    return progress->no_final;
}

const char *
learner_progress_ending(const learner_progress *progress)
{
    return progress->is_ending ? progress->reason : NULL;
}

void
learner_progress_ended(learner_progress *progress)
{
    progress->is_ending = false;
}
