// The training thread: updates on ready batches, and snapshots of weights for publishing and
// saving.
#include "learner/learner_train.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_latest.h"
#include "common/oct_log.h"
#include "common/oct_pulse.h"
#include "common/oct_ring.h"

#define IDLE_TIMEOUT_MS 50
#define NAMED_ROWS      10000 // observations before entries that do not vary are named

struct learner_train {
    algo *algorithm;
    const config_experiment *config;
    quantizer_stage *stage;
    quantizer_observed *observed; // NULL: observations are not scaled
    learner_average *average;     // NULL: the parameters are published
    learner_group *lg;            // NULL: this learner has no group
    const policy_spec *spec;      // set with lg
    uint32_t T;
    learner_notify_fn notify;
    void *arg;
    pthread_t thread;
    bool started;
    oct_ring *ready;
    oct_ring *done;
    oct_latest state;
    atomic_int stopping;
    atomic_int state_asked;
    bool publishes_by_order;
    atomic_int ordered; // enum order: the version that lock-step wants next
    atomic_uint_fast64_t env_steps;
    _Atomic double share;         // of the budget
    atomic_uint_fast64_t samples; // bit mask of the samples that actors use
    atomic_uint_fast64_t update_ns;
    atomic_uint_fast64_t wait_ns;
    atomic_uint refused;

    // training thread only
    uint64_t published_updates, published_batches;
    uint64_t policy_updates; // updates at the last offer without noise
    uint64_t published_ns;
    uint64_t offers; // count of offers that the stage took
    uint64_t batches;
    learner_async *async; // the group's; NULL: all ranks make each update together
    uint32_t idle_rounds; // rounds without a batch while other learners compute
    bool named;           // entries of observations that do not vary have been named
};

enum order { ORDER_NONE, ORDER_NEXT, ORDER_RESUMED };

static void
counter_add(atomic_uint_fast64_t *counter, uint64_t amount)
{
    atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

static double
train_spent(const learner_train *train)
{
    return atomic_load_explicit(&train->share, memory_order_relaxed);
}

// Falls linearly from learning_rate to learning_rate_final over the budget.
float
learner_train_rate(const learner_train *train)
{
    double first = train->config->algo.learning_rate;
    return (float)(first + (train->config->algo.learning_rate_final - first) * train_spent(train));
}

// Returns the updates of all learners.
static uint64_t
train_updates(const learner_train *train)
{
    return train->async != NULL ? learner_async_updates(train->async)
                                : algo_updates(train->algorithm);
}

// Returns the bit mask of samples that take turns; 0: all actors use the same policy.
static uint64_t
train_samples(const learner_train *train)
{
    if (!train->config->algo.noisy || train->config->algo.noisy_samples == 1) {
        return 0;
    }
    uint64_t samples = atomic_load_explicit(&train->samples, memory_order_relaxed);
    return samples != 0 ? samples : 1;
}

static uint32_t
bits_count(uint64_t bits)
{
    uint32_t count = 0;
    for (; bits != 0; bits &= bits - 1) {
        count++;
    }
    return count;
}

// Returns true if a version is due: by updates or by time, and something was learned since the last
// version. With several samples the period counts for each sample's actors, and their turns are
// spread evenly over it. By order, a version is due when it was ordered. Where actors wait for
// each version it is due after every batch, even if the update was refused.
static bool
publish_due(const learner_train *train, uint64_t updates, uint64_t now_ns)
{
    if (train->publishes_by_order) {
        return atomic_load_explicit(&train->ordered, memory_order_acquire) != ORDER_NONE;
    }
    if (config_has_rollouts(train->config)) {
        return train->offers == 0 || train->batches > train->published_batches;
    }
    uint32_t turns = OCT_MAX(bits_count(train_samples(train)), 1u);
    double since_s = (double)(now_ns - train->published_ns) * 1e-9 * turns;
    uint64_t since_updates = (updates - train->published_updates) * turns;
    double period_s = train->config->learner.publish_s;
    bool due = since_updates >= train->config->learner.publish_period ||
               (period_s > 0 && since_s >= period_s && since_updates > 0);
    return train->offers == 0 || (due && since_s >= train->config->learner.publish_s_min);
}

// Returns the audience for the next offer. The policy without noise and noisy policies rotate
// separately, so that each sample's actors get both, in the same proportion as a single actor.
static uint32_t
train_audience(const learner_train *train, bool noisy)
{
    uint64_t samples = train_samples(train);
    if (samples == 0) {
        return 0;
    }
    uint64_t policies = train->offers / LEARNER_NOISY_PERIOD;
    uint64_t turn = noisy ? train->offers - policies - 1 : policies;
    for (turn %= bits_count(samples); turn > 0; turn--) {
        samples &= samples - 1;
    }
    uint32_t audience = 1;
    for (; (samples & 1) == 0; samples >>= 1) {
        audience++;
    }
    return audience;
}

// Returns the parameters to publish without noise.
static const float *
train_params(const learner_train *train)
{
    const float *average = train->average != NULL ? learner_average_params(train->average) : NULL;
    return average != NULL ? average : algo_policy_params(train->algorithm);
}

// Returns true if the next offer is noisy: where the algorithm explores by noisy policies, every
// offer except each LEARNER_NOISY_PERIOD-th.
static bool
train_is_noisy(const learner_train *train)
{
    return train->config->algo.noisy && train->offers % LEARNER_NOISY_PERIOD != 0;
}

static bool
train_offer(learner_train *train, uint64_t updates, bool noisy, bool resumed, bool last)
{
    uint32_t audience = train_audience(train, noisy);
    uint32_t sample = audience > 0 ? audience - 1 : 0;
    const quantizer_offer offer = {
        .params = noisy ? algo_behaviour_params(train->algorithm, sample) : train_params(train),
        .updates = updates,
        .env_steps = atomic_load_explicit(&train->env_steps, memory_order_relaxed),
        .noisy = noisy,
        .from_scratch = resumed,
        .last = last,
        .audience = audience,
    };
    bool is_taken = quantizer_stage_offer_to(train->stage, &offer);
    train->policy_updates = is_taken && !noisy ? updates : train->policy_updates;
    return is_taken;
}

// Logs, once in a process, the entries of observations that are not divided by their own deviation.
static void
train_name_entries(learner_train *train)
{
    char named[1024];
    oct_text text;
    if (!train->named && quantizer_observed_rows(train->observed) >= NAMED_ROWS) {
        train->named = true;
        oct_text_init(&text, named, sizeof(named));
        if (quantizer_observed_left_out(train->observed, &text) > 0) {
            oct_log_notice("LEARNER-OBS-CONSTANT",
                           "observation entries that vary by no more than their rounding: %s",
                           named);
        }
    }
}

// Adopts the present scaling of observations. The scaling changes only here, so that
// quantisation-aware learning uses the scaling that was published last. A resumed run begins with
// its checkpoint's.
static void
train_scale(learner_train *train)
{
    if (train->observed != NULL) {
        if (train->offers > 0) {
            (void)quantizer_observed_renew(train->observed);
            train_name_entries(train);
        }
        quantizer_scaling scaling = quantizer_observed_scaling(train->observed);
        quantizer_stage_set_scaling(train->stage, &scaling);
    }
}

static void
train_publish(learner_train *train)
{
    uint64_t updates = train_updates(train);
    uint64_t now_ns = oct_clock_ns();
    if (!publish_due(train, updates, now_ns) || !quantizer_stage_is_open(train->stage)) {
        return;
    }
    if (train->async != NULL) {
        learner_async_fetch(train->async);
        updates = algo_updates(train->algorithm);
    }
    // The order is taken before the offer: the next order may arrive before this thread continues.
    int order = atomic_exchange_explicit(&train->ordered, ORDER_NONE, memory_order_acq_rel);
    bool resumed = order == ORDER_RESUMED;
    train->offers = resumed ? 0 : train->offers;
    train_scale(train);
    if (resumed && train->config->learner.quantisation_aware) {
        algo_renew(train->algorithm); // as a process does that resumes from the checkpoint
    }
    if (!train_offer(train, updates, train_is_noisy(train), resumed, false)) {
        atomic_store_explicit(&train->ordered, order, memory_order_release);
    } else {
        train->offers++;
        train->published_updates = updates;
        train->published_batches = train->batches;
        train->published_ns = now_ns;
    }
}

static void
state_write(const learner_train *train, oct_writer *writer)
{
    learner_group_save(train->lg, train->algorithm, writer);
    if (train->average != NULL) {
        learner_average_save(train->average, writer);
    }
    if (train->observed != NULL) {
        quantizer_observed_save(train->observed, writer);
    }
}

static learner_state_bytes *
state_save(const learner_train *train)
{
    oct_writer measure = {0};
    state_write(train, &measure);
    learner_state_bytes *state = oct_alloc(sizeof(*state) + measure.used);
    oct_writer writer = {.base = state->bytes, .capacity = measure.used};
    state_write(train, &writer);
    OCT_ASSERT(!writer.failed && writer.used == measure.used);
    state->updates = algo_updates(train->algorithm);
    state->batches = train->batches;
    state->length = measure.used;
    return state;
}

// Counts a batch's observations; in sequences without the padding rows.
static void
train_observe(learner_train *train, const learner_batch *own)
{
    const algo_batch *batch = &own->view;
    uint32_t T = batch->T;
    if (T == 0) {
        quantizer_observed_add(train->observed, batch->obs, batch->B);
        return;
    }
    size_t obs_count = own->obs_count;
    for (uint32_t b = 0; b < batch->B; b++) {
        const uint8_t *flags = batch->flags + (size_t)b * T;
        const float *obs = batch->obs + (size_t)b * (T + 1) * obs_count;
        uint32_t from = 0;
        for (uint32_t t = 0; t <= T; t++) {
            if (t == T || (flags[t] & ALGO_END) != 0) {
                if (t > from) {
                    quantizer_observed_add(train->observed, obs + from * obs_count, t - from);
                }
                from = t + 1;
            }
        }
    }
}

// Returns true if the run's updates are complete, with those in progress at other learners and
// `more`. The loop thread then ends the run.
static bool
train_is_over(const learner_train *train, uint64_t more)
{
    uint64_t budget = train->config->run.updates;
    uint64_t given = train->async != NULL ? learner_async_given(train->async) : 0;
    return budget > 0 && train_updates(train) + given + more >= budget;
}

// Returns a batch to the loop thread after its update was tried. OCT_EAGAIN: its gradient was too
// old.
static void
train_return(learner_train *train, learner_batch *batch, oct_err err)
{
    train->batches++;
    batch->learned = err == OCT_OK;
    batch->refused = err == OCT_EAGAIN ? OCT_OK : err;
    batch->updates = train_updates(train);
    if (err == OCT_OK) {
        atomic_store_explicit(&train->refused, 0, memory_order_relaxed);
        if (train->observed != NULL) {
            train_observe(train, batch);
        }
        if (train->average != NULL) {
            learner_average_add(train->average, algo_policy_params(train->algorithm));
        }
    } else if (err != OCT_EAGAIN) {
        atomic_fetch_add_explicit(&train->refused, 1, memory_order_relaxed);
    }
    OCT_ASSERT(oct_ring_push(train->done, batch) == OCT_OK);
}

static bool
train_has_priorities(const learner_train *train)
{
    return train->config->replay.sampler == CONFIG_SAMPLER_PRIORITIZED;
}

// ---- asynchronous learners

// Returns the batches that other learners have learned from. False: there were none.
static bool
train_collect(learner_train *train)
{
    oct_err err = OCT_OK;
    bool any = false;
    learner_batch *batch;
    while (train->async != NULL && (batch = learner_async_take(train->async, &err)) != NULL) {
        train_return(train, batch, err);
        any = true;
    }
    if (any) {
        train->notify(train->arg);
    }
    return any;
}

// Waits for the updates in progress at other learners, and copies the resulting parameters.
static void
train_settle(learner_train *train)
{
    for (uint32_t round = 0; train->async != NULL && learner_async_given(train->async) > 0;) {
        round = train_collect(train) ? 0 : round + 1;
        group_wait(round);
        learner_async_look(train->async);
    }
    if (train->async != NULL) {
        learner_async_fetch(train->async);
    }
}

// Gives ready batches to the other learners while they have room.
static void
train_give(learner_train *train)
{
    void *item;
    while (learner_async_has_room(train->async) && !train_is_over(train, 1) &&
           oct_ring_pop(train->ready, &item) == OCT_OK) {
        if (item != train) { // train itself is no batch but a wake-up
            learner_batch *batch = item;
            batch->view.spent = (float)train_spent(train);
            OCT_ASSERT(learner_async_give(train->async, batch, learner_train_rate(train),
                                          train_has_priorities(train)));
        }
    }
}

static oct_err
train_learn_async(learner_train *train, learner_batch *batch)
{
    float *priorities = train_has_priorities(train) ? batch->priority : NULL;
    learner_async_look(train->async);
    train_give(train);
    return learner_async_learn(train->async, &batch->view, learner_train_rate(train), priorities,
                               batch->numbers);
}

// ---- all learners

static void
train_learn(learner_train *train, learner_batch *batch)
{
    if (train_is_over(train, 0)) {
        train_settle(train); // an update in progress may have been dropped
    }
    if (train_is_over(train, 0)) {
        batch->learned = false;
        batch->refused = OCT_OK;
        batch->updates = train_updates(train);
        OCT_ASSERT(oct_ring_push(train->done, batch) == OCT_OK);
        return;
    }
    uint64_t begin_ns = oct_clock_ns();
    float *priorities = train_has_priorities(train) ? batch->priority : NULL;
    batch->view.spent = (float)train_spent(train);
    oct_err err = train->async != NULL
                      ? train_learn_async(train, batch)
                      : learner_group_update(train->lg, train->algorithm, &batch->view,
                                             learner_train_rate(train), priorities, batch->numbers);
    counter_add(&train->update_ns, oct_clock_ns() - begin_ns);
    train_return(train, batch, err);
}

// Returns the next batch; NULL: none yet. Also waits for updates in progress at other learners.
static learner_batch *
train_next(learner_train *train)
{
    void *item;
    oct_err err = oct_ring_pop(train->ready, &item);
    bool others_learn = train->async != NULL && learner_async_given(train->async) > 0;
    if (err != OCT_OK) {
        uint64_t begin_ns = oct_clock_ns();
        oct_pulse_beat(OCT_PULSE_WORK, OCT_PULSE_WAITS);
        if (others_learn) {
            group_wait(train->idle_rounds++);
            learner_async_look(train->async);
        } else {
            err = oct_ring_pop_wait(train->ready, &item, IDLE_TIMEOUT_MS);
        }
        oct_pulse_beat(OCT_PULSE_WORK, OCT_PULSE_WORKS);
        counter_add(&train->wait_ns, oct_clock_ns() - begin_ns);
    }
    train->idle_rounds = err == OCT_OK ? 0 : train->idle_rounds;
    return err == OCT_OK && item != train ? item : NULL; // train itself: a wake-up
}

static void *
train_main(void *arg)
{
    learner_train *train = arg;
    learner_group_begin(train->lg, train->config, train->spec, train->T, train->algorithm);
    train->async = learner_group_async(train->lg);
    while (atomic_load_explicit(&train->stopping, memory_order_acquire) == 0) {
        oct_pulse_beat(OCT_PULSE_WORK, OCT_PULSE_WORKS);
        if (train_collect(train)) {
            train->idle_rounds = 0;
        }
        train_publish(train);
        if (atomic_exchange_explicit(&train->state_asked, 0, memory_order_acq_rel) != 0) {
            train_settle(train); // the state counts exactly the batches that were learned from
            free(oct_latest_put(&train->state, state_save(train)));
            train->notify(train->arg);
        }
        learner_batch *batch = train_next(train);
        if (batch != NULL) {
            train_learn(train, batch);
            train->notify(train->arg);
        }
    }
    train_settle(train);
    oct_pulse_beat(OCT_PULSE_WORK, OCT_PULSE_ABSENT);
    return NULL;
}

learner_train *
learner_train_create(algo *take, const config_experiment *config, quantizer_stage *stage,
                     uint32_t batches_max, learner_notify_fn notify, void *arg)
{
    learner_train *train = oct_alloc(sizeof(*train));
    train->algorithm = take;
    train->config = config;
    train->stage = stage;
    train->notify = notify;
    train->arg = arg;
    train->ready = oct_ring_create(batches_max + 1); // one more for a wake-up
    train->done = oct_ring_create(batches_max);
    oct_latest_init(&train->state);
    return train;
}

void
learner_train_observe(learner_train *train, quantizer_observed *observed)
{
    OCT_ASSERT(!train->started);
    train->observed = observed;
}

void
learner_train_share(learner_train *train, learner_group *lg, const policy_spec *spec, uint32_t T)
{
    OCT_ASSERT(!train->started);
    train->lg = lg;
    train->spec = spec;
    train->T = T;
}

void
learner_train_average(learner_train *train, learner_average *average)
{
    OCT_ASSERT(!train->started);
    train->average = average;
}

oct_err
learner_train_load(learner_average *average, quantizer_observed *observed, oct_reader *reader)
{
    OCT_TRY(learner_average_load(average, reader));
    return observed != NULL && reader->left > 0 ? quantizer_observed_load(observed, reader)
                                                : OCT_OK;
}

oct_err
learner_train_start(learner_train *train)
{
    if (pthread_create(&train->thread, NULL, train_main, train) != 0) {
        return OCT_EIO;
    }
    train->started = true;
    return OCT_OK;
}

void
learner_train_stop(learner_train *train)
{
    if (!train->started) {
        return;
    }
    atomic_store_explicit(&train->stopping, 1, memory_order_release);
    oct_ring_close(train->ready);
    (void)pthread_join(train->thread, NULL);
    train->started = false;
}

void
learner_train_publish_last(learner_train *train)
{
    OCT_ASSERT(!train->started);
    uint64_t updates = algo_updates(train->algorithm);
    quantizer_stage_settle(train->stage);
    if (train->offers == 0 || updates > train->policy_updates) {
        train_scale(train);
        OCT_ASSERT(train_offer(train, updates, false, false, true)); // the stage has room
        quantizer_stage_settle(train->stage);
    }
}

void
learner_train_destroy(learner_train *train)
{
    if (train == NULL) {
        return;
    }
    OCT_ASSERT(!train->started);
    free(oct_latest_take(&train->state));
    oct_ring_destroy(train->ready);
    oct_ring_destroy(train->done);
    algo_destroy(train->algorithm);
    free(train);
}

void
learner_train_put(learner_train *train, learner_batch *batch)
{
    OCT_ASSERT(oct_ring_push(train->ready, batch) == OCT_OK); // room for all; never after stop
}

learner_batch *
learner_train_take(learner_train *train)
{
    void *item;
    return oct_ring_pop(train->done, &item) == OCT_OK ? item : NULL;
}

// Wakes the thread if it waits for batches. If the ring has an item, the thread is not waiting.
static void
train_nudge(learner_train *train)
{
    if (oct_ring_count(train->ready) == 0) {
        oct_err err = oct_ring_push(train->ready, train); // room for batches_max + 1
        OCT_ASSERT(err == OCT_OK || err == OCT_ECLOSED);
    }
}

void
learner_train_publish_by_order(learner_train *train, bool is_on)
{
    train->publishes_by_order = is_on;
}

void
learner_train_order(learner_train *train, bool resumed)
{
    int order = resumed ? ORDER_RESUMED : ORDER_NEXT;
    atomic_store_explicit(&train->ordered, order, memory_order_release);
    train_nudge(train);
}

void
learner_train_set_samples(learner_train *train, uint64_t samples)
{
    atomic_store_explicit(&train->samples, samples, memory_order_relaxed);
}

void
learner_train_set_env_steps(learner_train *train, uint64_t env_steps)
{
    atomic_store_explicit(&train->env_steps, env_steps, memory_order_relaxed);
}

void
learner_train_set_share(learner_train *train, double share)
{
    atomic_store_explicit(&train->share, share, memory_order_relaxed);
}

uint32_t
learner_train_ready(const learner_train *train)
{
    return oct_ring_count(train->ready);
}

void
learner_train_ask_state(learner_train *train)
{
    atomic_store_explicit(&train->state_asked, 1, memory_order_release);
    train_nudge(train);
}

learner_state_bytes *
learner_train_take_state(learner_train *train)
{
    return oct_latest_take(&train->state);
}

learner_state_bytes *
learner_train_state(const learner_train *train)
{
    OCT_ASSERT(!train->started);
    return state_save(train);
}

void
learner_train_times(const learner_train *train, double *update_s, double *wait_s)
{
    *update_s = (double)atomic_load_explicit(&train->update_ns, memory_order_relaxed) * 1e-9;
    *wait_s = (double)atomic_load_explicit(&train->wait_ns, memory_order_relaxed) * 1e-9;
}

void
learner_train_set_refused(learner_train *train, uint32_t updates)
{
    OCT_ASSERT(!train->started);
    atomic_store_explicit(&train->refused, updates, memory_order_relaxed);
}

uint32_t
learner_train_refused(const learner_train *train)
{
    return atomic_load_explicit(&train->refused, memory_order_relaxed);
}
