// The pace of an asynchronous run: acts as soon as possible, or when the clock says so.
#include "learner/learner_pace.h"
#include "learner/learner_run_state.h"

#include "common/oct_clock.h"

static void
clock_begin(learner_run *run)
{
    run->checkpoint_ns = oct_clock_ns();
}

static void
clock_nothing(learner_run *run)
{
    (void)run;
}

static bool
clock_may(const learner_run *run)
{
    (void)run;
    return true;
}

static bool
clock_may_send(learner_run *run)
{
    (void)run;
    return true;
}

// Rollouts are requested only once the oldest admissible version is known.
static bool
clock_may_request(learner_run *run)
{
    if (!config_has_rollouts(run->config)) {
        return true;
    }
    const quantizer_publication *latest = learner_publisher_latest(run->publisher);
    return latest != NULL && latest->updates + run->config->algo.rollout_lag >=
                                 learner_progress_now(run->progress).updates;
}

static void
clock_request(learner_run *run, wire_sample *out)
{
    (void)run;
    (void)out;
}

static void
clock_answered(learner_run *run, const wire_sampled *sampled, uint32_t batches)
{
    (void)run;
    (void)sampled;
    (void)batches;
}

static void
clock_published(learner_run *run, const quantizer_publication *publication)
{
    (void)run;
    (void)publication;
}

static double
clock_share(const learner_run *run)
{
    return learner_progress_share(run->progress);
}

// Returns the newest policy of the actor's own sample, where policies have noise.
static const quantizer_publication *
clock_newest(learner_run *run, const learner_actor *actor, uint64_t have)
{
    const quantizer_publication *newest =
        learner_publisher_newest(run->publisher, learner_run_audience(run, actor));
    return newest != NULL && newest->version > have ? newest : NULL;
}

static uint32_t
clock_incarnation(const learner_run *run, const learner_actor *actor)
{
    (void)run;
    return actor != NULL ? actor->incarnation : 0;
}

static uint64_t
clock_session(const learner_run *run, uint32_t actor_index)
{
    (void)run;
    (void)actor_index;
    return 0;
}

static void
clock_state(learner_run *run, learner_state_bytes *take)
{
    learner_run_store(run, take, true);
}

static uint64_t
clock_now_ns(const learner_run *run)
{
    (void)run;
    return oct_clock_ns();
}

static void
clock_checkpoint(learner_run *run)
{
    learner_folder_policies(run->folder);
    learner_train_ask_state(run->train);
}

static void
clock_tick(learner_run *run, uint64_t now_ns)
{
    double since_s = (double)(now_ns - run->checkpoint_ns) * 1e-9;
    if (run->config->learner.checkpoint_s > 0 && since_s >= run->config->learner.checkpoint_s) {
        run->checkpoint_ns = now_ns;
        clock_checkpoint(run);
    }
    learner_run_check_budget(run);
}

// Priorities that are lost only leave the old priorities in the table.
static void
clock_returned(learner_run *run, oct_err err, const char *detail)
{
    (void)run;
    (void)err;
    (void)detail;
}

// Without lock-step there are no turns to record.
static void
clock_place(const learner_run *run, learner_turn_place *out)
{
    (void)run;
    (void)out;
}

static oct_err
clock_resume_check(const learner_run *run, oct_reason *why)
{
    (void)run;
    (void)why;
    return OCT_OK;
}

static void
clock_finish(learner_run *run, const char *reason)
{
    learner_run_finish(run, reason, true);
}

const learner_pace learner_pace_clock = {
    .begin = clock_begin,
    .end = clock_nothing,
    .may_request = clock_may_request,
    .request = clock_request,
    .answered = clock_answered,
    .learned = clock_nothing,
    .share = clock_share,
    .may_return = clock_may_send,
    .returned = clock_returned,
    .table_lost = clock_nothing, // the link configures it again
    .published = clock_published,
    .newest = clock_newest,
    .incarnation = clock_incarnation,
    .session = clock_session,
    .state = clock_state,
    .may_evaluate = clock_may,
    .evaluation_now_ns = clock_now_ns,
    .evaluators_max = UINT32_MAX,
    .tick = clock_tick,
    .checkpoint = clock_checkpoint,
    .place = clock_place,
    .resume_check = clock_resume_check,
    .finish = clock_finish,
    .saves_at_end = true,
    .publishes_at_end = true,
    .return_timeout_ms = 3000,
};
