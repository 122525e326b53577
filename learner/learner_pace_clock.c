// The pace of an asynchronous run: acts as soon as possible, or when the clock says so.
#include "learner/learner_pace.h"

#include <stdlib.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"

struct learner_pacer {
    learner_pace_parts o;
    learner_train *train;   // NULL before training begins
    uint64_t checkpoint_ns; // when a checkpoint was begun last
};

static learner_pacer *
clock_create(const learner_pace_parts *parts)
{
    learner_pacer *pacer = oct_alloc(sizeof(*pacer));
    pacer->o = *parts;
    return pacer;
}

static void
clock_destroy(learner_pacer *pacer)
{
    free(pacer);
}

static void
clock_begin(learner_pacer *pacer, learner_train *train, learner_batches *batches)
{
    (void)batches;
    pacer->train = train;
    pacer->checkpoint_ns = oct_clock_ns();
}

static void
clock_nothing(learner_pacer *pacer)
{
    (void)pacer;
}

static bool
clock_may(const learner_pacer *pacer)
{
    (void)pacer;
    return true;
}

static bool
clock_may_send(learner_pacer *pacer)
{
    (void)pacer;
    return true;
}

// Rollouts are requested only once the oldest admissible version is known.
static bool
clock_may_request(learner_pacer *pacer)
{
    if (!config_has_rollouts(pacer->o.config)) {
        return true;
    }
    const quantizer_publication *latest = learner_publisher_latest(pacer->o.publisher);
    return latest != NULL && latest->updates + pacer->o.config->algo.rollout_lag >=
                                 learner_progress_now(pacer->o.progress).updates;
}

static void
clock_answered(learner_pacer *pacer, const wire_sampled *sampled, uint32_t batches)
{
    (void)pacer;
    (void)sampled;
    (void)batches;
}

static double
clock_share(const learner_pacer *pacer)
{
    return learner_progress_share(pacer->o.progress);
}

// Returns the newest policy of the actor's own sample, where policies have noise.
static const quantizer_publication *
clock_newest(learner_pacer *pacer, const learner_actor *actor, uint64_t have)
{
    const quantizer_publication *newest =
        learner_publisher_newest(pacer->o.publisher, learner_run_audience(pacer->o.run, actor));
    return newest != NULL && newest->version > have ? newest : NULL;
}

static uint32_t
clock_incarnation(const learner_pacer *pacer, const learner_actor *actor)
{
    (void)pacer;
    return actor != NULL ? actor->incarnation : 0;
}

static uint64_t
clock_session(const learner_pacer *pacer, uint32_t actor_index)
{
    (void)pacer;
    (void)actor_index;
    return 0;
}

static void
clock_state(learner_pacer *pacer, learner_state_bytes *take)
{
    learner_run_store(pacer->o.run, take, true);
}

static uint64_t
clock_now_ns(const learner_pacer *pacer)
{
    (void)pacer;
    return oct_clock_ns();
}

static void
clock_checkpoint(learner_pacer *pacer)
{
    learner_folder_policies(pacer->o.folder);
    learner_train_ask_state(pacer->train);
}

static void
clock_tick(learner_pacer *pacer, uint64_t now_ns)
{
    double since_s = (double)(now_ns - pacer->checkpoint_ns) * 1e-9;
    if (pacer->o.config->learner.checkpoint_s > 0 &&
        since_s >= pacer->o.config->learner.checkpoint_s) {
        pacer->checkpoint_ns = now_ns;
        clock_checkpoint(pacer);
    }
    learner_run_check_budget(pacer->o.run);
}

static void
clock_finish(learner_pacer *pacer, const char *reason)
{
    learner_run_finish(pacer->o.run, reason, true);
}

const learner_pace learner_pace_clock = {
    .create = clock_create,
    .destroy = clock_destroy,
    .begin = clock_begin,
    .may_request = clock_may_request,
    .answered = clock_answered,
    .share = clock_share,
    .may_return = clock_may_send,
    .table_lost = clock_nothing, // the link configures it again
    .newest = clock_newest,
    .incarnation = clock_incarnation,
    .session = clock_session,
    .state = clock_state,
    .may_evaluate = clock_may,
    .evaluation_now_ns = clock_now_ns,
    .evaluators_max = UINT32_MAX,
    .tick = clock_tick,
    .checkpoint = clock_checkpoint,
    .finish = clock_finish,
    .saves_at_end = true,
    .publishes_at_end = true,
    .return_timeout_ms = 3000,
};
