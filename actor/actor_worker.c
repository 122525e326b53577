// The acting thread of an actor or evaluator, and its queues to and from the loop thread.
//
// The loop thread owns the links; the acting thread owns the environments, the policy in use and
// the batch that is being filled. They share no lock: pointers cross through rings with one
// producer and one consumer, and through one mailbox.
//
// 1. Policies. The loop thread puts the newest into the mailbox `policy`, and frees an older
//    policy that was not taken. The acting thread takes it between two steps and puts the replaced
//    policy into `retired`, because freeing megabytes would delay a step. If that ring is full, it
//    frees the policy itself.
// 2. Batches. All are made at start and circulate: from `free_batches` to the acting thread,
//    through `sealed` to the loop thread, and back when replay has acknowledged them. Each ring
//    has a slot for every batch, so pushing never fails, and memory never grows.
// 3. Back-pressure. Each acknowledgement names the batches that replay has room for. The loop
//    thread lets that many circulate; the others wait in `resting`. If replay is slow or down,
//    `free_batches` runs empty and the acting thread waits, or drops its rows with
//    actor.when_full: drop.
// 4. Numbers. Three structs circulate. If none is free, the thread keeps counting and reports
//    later.
// 5. Evaluations. One job at a time goes through `jobs` and returns through `done_jobs`.
//
// A step that fails costs its episode (actor_run.c). If the environment fails for good, the thread
// sets `failed` and ends without sealing its batch, and the loop thread ends the process. Code of
// an environment that does not return cannot be interrupted: the pulse shows it
// (actor_worker_call_s), actor_watchdog.c may end the process, and actor_worker_stop waits.
//
// Stopping sets `stopping` and closes the rings on which the thread waits. The thread finishes its
// step and seals what it has, unless a batch must be a whole turn or rollout.
#include "actor/actor_worker.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "actor/actor_pace.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_latest.h"
#include "common/oct_pulse.h"
#include "common/oct_ring.h"
#include "common/oct_text.h"

#define BATCHES_MIN     3u // so that one is filled while others are on their way
#define WINDOW_MIN      2u // one is filled, one on its way
#define BATCHES_MAX     4096u
#define NUMBERS_COUNT   3
#define RETIRED_MAX     64  // policies between two calls of actor_worker_collect
#define IDLE_TIMEOUT_MS 100 // until the thread checks `stopping` again
#define LOOK_MS         5   // between two checks that the thread has ended

struct actor_worker {
    const config_experiment *config;
    actor_run *run; // NULL in evaluation mode
    actor_notify_fn notify;
    void *arg;
    pthread_t thread;
    bool started;
    atomic_int stopping; // set by drain and stop
    atomic_int ended;    // the thread steps and seals nothing any more

    // from the loop thread to the acting thread
    oct_latest policy;
    oct_ring *nudge; // wakes a thread that waits for a policy
    oct_ring *free_batches;
    oct_ring *free_numbers;
    oct_ring *jobs;
    // from the acting thread to the loop thread
    oct_ring *sealed;
    oct_ring *retired;
    oct_ring *numbers;
    oct_ring *done_jobs;
    atomic_int failed;                   // the environment failed for good
    atomic_uint_fast64_t playing_ticket; // 0: no job is being played
    atomic_uint_fast64_t playing_steps;
    atomic_uint_fast32_t playing_episodes;
    atomic_uint_fast64_t failures; // steps and resets, in all evaluations
    char failure[256];             // cause of the first; written once, before failures grows from 0

    // loop thread only
    bool job_given; // a job was put and not taken back yet

    // acting thread only
    uint64_t failures_before; // failures in the evaluations before this one
    policy_net *net;          // in use; NULL: none arrived yet
    uint64_t sequence;        // of the batch sealed last; the first is 1
    actor_batch *batch;       // being filled; NULL: none is open
    uint64_t batch_begin_ns;
    actor_pace pace;
    uint64_t numbers_sent_ns;

    actor_batch **batches;
    uint32_t batch_count;
    actor_batch **resting; // [resting_count] loop thread only: acknowledged, not circulating
    uint32_t resting_count;
    uint32_t window; // most batches that may circulate; loop thread only
    actor_numbers *numbers_room[NUMBERS_COUNT];
};

// ---- acting thread: training

static void
worker_retire(actor_worker *worker, policy_net *net)
{
    if (net != NULL && oct_ring_push(worker->retired, net) != OCT_OK) {
        policy_net_destroy(net);
    }
}

// Takes the newest policy. True: there is a policy to act with, and a batch may be begun or
// filled.
static bool
worker_swap_policy(actor_worker *worker)
{
    if (worker->pace.is_on && worker->batch != NULL && worker->batch->count > 0) {
        return true; // a turn or rollout has one version
    }
    policy_net *net = oct_latest_take(&worker->policy);
    if (net != NULL) {
        actor_pace_version(&worker->pace,
                           worker->net != NULL ? policy_net_origin(worker->net)->version : 0,
                           policy_net_origin(net)->version, oct_clock_ns());
        actor_run_set_policy(worker->run, net);
        worker_retire(worker, worker->net);
        worker->net = net;
    }
    return worker->net != NULL &&
           (!worker->pace.is_on || actor_pace_is_due(&worker->pace, oct_clock_ns()));
}

static void
worker_seal(actor_worker *worker)
{
    if (worker->pace.has_rollouts) {
        actor_run_end_rollout(worker->run, worker->batch);
    }
    actor_batch_seal(worker->batch);
    worker->batch->sequence = ++worker->sequence;
    // The ring has a slot for every batch.
    OCT_ASSERT(oct_ring_push(worker->sealed, worker->batch) == OCT_OK);
    worker->batch = NULL;
    actor_pace_made(&worker->pace, oct_clock_ns());
    worker->notify(worker->arg);
}

// True if the batch is older than actor.flush_s. Turns and rollouts are sealed only when complete.
static bool
worker_is_late(const actor_worker *worker, uint64_t now_ns)
{
    double age_s = (double)(now_ns - worker->batch_begin_ns) * 1e-9;
    return worker->batch->count > 0 && age_s >= worker->config->actor.flush_s &&
           !worker->pace.is_on;
}

// Makes sure that a batch with room for one more step is open. False: the caller must call again,
// after checking for a new policy and for the end.
static bool
worker_open_batch(actor_worker *worker)
{
    const actor_batch_shape *shape = actor_run_shape(worker->run);
    uint64_t now_ns = oct_clock_ns();
    if (worker->batch != NULL) {
        if (actor_batch_has_room(worker->batch, shape) && !worker_is_late(worker, now_ns)) {
            return true;
        }
        bool drop = worker->config->actor.when_full == CONFIG_WHEN_FULL_DROP &&
                    oct_ring_count(worker->free_batches) == 0;
        if (drop && actor_batch_has_room(worker->batch, shape)) {
            return true;
        }
        if (drop) {
            actor_run_numbers(worker->run)->dropped += worker->batch->steps;
            actor_run_open_batch(worker->run, worker->batch);
            worker->batch_begin_ns = now_ns;
            return true;
        }
        worker_seal(worker);
        if (worker->pace.is_on) {
            return false; // the next batch may need another policy
        }
    }
    void *batch;
    oct_err err = oct_ring_pop_wait(worker->free_batches, &batch, IDLE_TIMEOUT_MS);
    uint64_t got_ns = oct_clock_ns();
    actor_run_numbers(worker->run)->wait_s += (double)(got_ns - now_ns) * 1e-9;
    if (err != OCT_OK) {
        return false;
    }
    worker->batch = batch;
    worker->batch_begin_ns = got_ns;
    actor_run_open_batch(worker->run, worker->batch);
    return true;
}

// Reports every actor.report_s, and earlier when the room for episodes is half used.
static void
worker_tell(actor_worker *worker)
{
    uint64_t now_ns = oct_clock_ns();
    actor_numbers *own = actor_run_numbers(worker->run);
    double since_s = (double)(now_ns - worker->numbers_sent_ns) * 1e-9;
    if (since_s < worker->config->actor.report_s && own->episode_count < ACTOR_EPISODES_MAX / 2) {
        return;
    }
    void *room;
    if (oct_ring_pop(worker->free_numbers, &room) != OCT_OK) {
        return;
    }
    actor_numbers *numbers = room;
    *numbers = *own;
    own->episode_count = 0;
    own->episodes_lost = 0;
    worker->numbers_sent_ns = now_ns;
    OCT_ASSERT(oct_ring_push(worker->numbers, numbers) == OCT_OK);
    worker->notify(worker->arg);
}

static void *
worker_act(void *arg)
{
    actor_worker *worker = arg;
    while (atomic_load_explicit(&worker->stopping, memory_order_acquire) == 0) {
        oct_pulse_beat(OCT_PULSE_WORK, OCT_PULSE_WAITS);
        if (!worker_swap_policy(worker)) {
            void *token;
            oct_err err = oct_ring_pop_wait(worker->nudge, &token, IDLE_TIMEOUT_MS);
            (void)err; // in any case the loop checks the mailbox again
            continue;
        }
        worker_tell(worker);
        if (!worker_open_batch(worker)) {
            continue;
        }
        oct_pulse_beat(OCT_PULSE_WORK, OCT_PULSE_ENV);
        oct_err err = actor_run_step(worker->run, worker->batch);
        if (err != OCT_OK) {
            atomic_store_explicit(&worker->failed, 1, memory_order_release);
            worker->notify(worker->arg);
            break;
        }
    }
    // A part of a turn or rollout is useless, and a batch with a failed step is incomplete.
    bool has_failed = atomic_load_explicit(&worker->failed, memory_order_relaxed) != 0;
    if (!has_failed && worker->batch != NULL && worker->batch->count > 0 && !worker->pace.is_on) {
        worker_seal(worker);
    }
    oct_pulse_beat(OCT_PULSE_WORK, OCT_PULSE_ABSENT);
    atomic_store_explicit(&worker->ended, 1, memory_order_release);
    return NULL;
}

// ---- acting thread: evaluation

// Counts failures of the current evaluation on top of those before it.
static void
failures_add(actor_worker *worker, uint64_t of_evaluation, const char *why)
{
    uint64_t failures = worker->failures_before + of_evaluation;
    if (failures > 0 && worker->failure[0] == '\0') {
        oct_text_copy(worker->failure, sizeof(worker->failure), why);
    }
    atomic_store_explicit(&worker->failures, failures, memory_order_release);
}

// watch of actor_evaluate_request: publishes the progress and beats the pulse.
static void
evaluation_stepped(void *arg, const env *e, uint32_t env_steps, uint32_t counted)
{
    actor_worker *worker = arg;
    failures_add(worker, env_failures(e), env_failure(e));
    atomic_fetch_add_explicit(&worker->playing_steps, env_steps, memory_order_relaxed);
    atomic_store_explicit(&worker->playing_episodes, counted, memory_order_relaxed);
    oct_pulse_beat(OCT_PULSE_WORK, OCT_PULSE_ENV);
}

static void *
worker_evaluate(void *arg)
{
    actor_worker *worker = arg;
    while (atomic_load_explicit(&worker->stopping, memory_order_acquire) == 0) {
        void *item;
        oct_pulse_beat(OCT_PULSE_WORK, OCT_PULSE_WAITS);
        if (oct_ring_pop_wait(worker->jobs, &item, IDLE_TIMEOUT_MS) != OCT_OK) {
            continue;
        }
        oct_pulse_beat(OCT_PULSE_WORK, OCT_PULSE_ENV);
        // Each evaluation opens its own environments, so nothing remains of the one before.
        actor_job *job = item;
        actor_evaluate_request request = {
            .env_id = worker->config->env.id,
            .options = worker->config->env.options,
            .mjcf_dir = worker->config->env.mjcf_dir,
            .episodes = job->episodes,
            .envs = worker->config->evaluation.envs,
            .max_steps = worker->config->evaluation.max_steps,
            .sampling = worker->config->evaluation.sampling,
            .seed = job->seed,
            .stop = &worker->stopping,
            .watch = evaluation_stepped,
            .watch_arg = worker,
        };
        atomic_store_explicit(&worker->playing_steps, 0, memory_order_relaxed);
        atomic_store_explicit(&worker->playing_episodes, 0, memory_order_relaxed);
        atomic_store_explicit(&worker->playing_ticket, job->ticket, memory_order_release);
        job->err = actor_evaluate(job->net, &request, &job->result, &job->why);
        failures_add(worker, job->result.env_failures, job->result.failure);
        worker->failures_before += job->result.env_failures;
        atomic_store_explicit(&worker->playing_ticket, 0, memory_order_release);
        OCT_ASSERT(oct_ring_push(worker->done_jobs, job) == OCT_OK);
        worker->notify(worker->arg);
    }
    oct_pulse_beat(OCT_PULSE_WORK, OCT_PULSE_ABSENT);
    atomic_store_explicit(&worker->ended, 1, memory_order_release);
    return NULL;
}

// ---- loop thread

static actor_worker *
worker_create(const config_experiment *config, actor_notify_fn notify, void *arg)
{
    actor_worker *worker = oct_alloc(sizeof(*worker));
    worker->config = config;
    worker->notify = notify;
    worker->arg = arg;
    oct_latest_init(&worker->policy);
    return worker;
}

// actor.ring_batches within the limits.
static uint32_t
batches_of(const config_experiment *config)
{
    return OCT_MAX(BATCHES_MIN, OCT_MIN(config->actor.ring_batches, BATCHES_MAX));
}

uint64_t
actor_worker_bytes(const actor_batch_shape *shape, const config_experiment *config)
{
    return (uint64_t)batches_of(config) * actor_batch_bytes(shape);
}

actor_worker *
actor_worker_create(actor_run *take, const config_experiment *config, actor_notify_fn notify,
                    void *arg)
{
    actor_worker *worker = worker_create(config, notify, arg);
    worker->run = take;
    actor_pace_init(&worker->pace, config);
    const actor_batch_shape *shape = actor_run_shape(take);
    worker->batch_count = batches_of(config);
    worker->batches = oct_alloc(worker->batch_count * sizeof(actor_batch *));
    worker->resting = oct_alloc(worker->batch_count * sizeof(actor_batch *));
    worker->window = worker->batch_count;
    worker->nudge = oct_ring_create(1);
    worker->free_batches = oct_ring_create(worker->batch_count);
    worker->sealed = oct_ring_create(worker->batch_count);
    worker->retired = oct_ring_create(RETIRED_MAX);
    worker->numbers = oct_ring_create(NUMBERS_COUNT);
    worker->free_numbers = oct_ring_create(NUMBERS_COUNT);
    for (uint32_t i = 0; i < worker->batch_count; i++) {
        worker->batches[i] = actor_batch_create(shape);
        OCT_ASSERT(oct_ring_push(worker->free_batches, worker->batches[i]) == OCT_OK);
    }
    for (int i = 0; i < NUMBERS_COUNT; i++) {
        worker->numbers_room[i] = oct_alloc(sizeof(actor_numbers));
        OCT_ASSERT(oct_ring_push(worker->free_numbers, worker->numbers_room[i]) == OCT_OK);
    }
    return worker;
}

actor_worker *
actor_worker_create_evaluator(const config_experiment *config, actor_notify_fn notify, void *arg)
{
    actor_worker *worker = worker_create(config, notify, arg);
    worker->jobs = oct_ring_create(1);
    worker->done_jobs = oct_ring_create(1);
    return worker;
}

oct_err
actor_worker_start(actor_worker *worker)
{
    void *(*body)(void *) = worker->run != NULL ? worker_act : worker_evaluate;
    if (pthread_create(&worker->thread, NULL, body, worker) != 0) {
        return OCT_EIO;
    }
    worker->started = true;
    return OCT_OK;
}

void
actor_worker_drain(actor_worker *worker)
{
    atomic_store_explicit(&worker->stopping, 1, memory_order_release);
    oct_ring *waited_on[] = {worker->nudge, worker->free_batches, worker->jobs};
    for (size_t i = 0; i < OCT_COUNTOF(waited_on); i++) {
        if (waited_on[i] != NULL) {
            oct_ring_close(waited_on[i]);
        }
    }
}

bool
actor_worker_has_ended(const actor_worker *worker)
{
    return atomic_load_explicit(&worker->ended, memory_order_acquire) != 0;
}

void
actor_worker_stop(actor_worker *worker)
{
    if (!worker->started) {
        return;
    }
    actor_worker_drain(worker);
    (void)pthread_join(worker->thread, NULL);
    worker->started = false;
}

bool
actor_worker_stop_within(actor_worker *worker, uint32_t timeout_ms)
{
    if (worker->started) {
        uint64_t end_ns = oct_clock_ns() + (uint64_t)timeout_ms * 1000000;
        actor_worker_drain(worker);
        while (!actor_worker_has_ended(worker)) {
            if (oct_clock_ns() >= end_ns) {
                return false;
            }
            (void)poll(NULL, 0, LOOK_MS);
        }
    }
    actor_worker_stop(worker);
    return true;
}

static void
worker_free_jobs(oct_ring *ring)
{
    void *item;
    while (ring != NULL && oct_ring_pop(ring, &item) == OCT_OK) {
        actor_job_destroy(item);
    }
}

void
actor_worker_destroy(actor_worker *worker)
{
    if (worker == NULL) {
        return;
    }
    OCT_ASSERT(!worker->started);
    // An evaluator has no policies to collect.
    if (worker->run != NULL) {
        actor_worker_collect(worker);
    }
    policy_net_destroy(oct_latest_take(&worker->policy));
    policy_net_destroy(worker->net);
    worker_free_jobs(worker->jobs);
    worker_free_jobs(worker->done_jobs);
    for (uint32_t i = 0; i < worker->batch_count; i++) {
        actor_batch_destroy(worker->batches[i]);
    }
    free(worker->batches);
    free(worker->resting);
    for (int i = 0; i < NUMBERS_COUNT; i++) {
        free(worker->numbers_room[i]);
    }
    oct_ring *rings[] = {worker->nudge,   worker->free_batches, worker->sealed,    worker->retired,
                         worker->numbers, worker->free_numbers, worker->done_jobs, worker->jobs};
    for (size_t i = 0; i < OCT_COUNTOF(rings); i++) {
        if (rings[i] != NULL) {
            oct_ring_destroy(rings[i]);
        }
    }
    actor_run_destroy(worker->run);
    free(worker);
}

void
actor_worker_put_policy(actor_worker *worker, policy_net *take)
{
    policy_net_destroy(oct_latest_put(&worker->policy, take));
    oct_err err = oct_ring_push(worker->nudge, worker);
    (void)err; // full: a wake-up is already waiting
}

actor_batch *
actor_worker_take_batch(actor_worker *worker)
{
    void *batch;
    return oct_ring_pop(worker->sealed, &batch) == OCT_OK ? batch : NULL;
}

static void
batch_release(actor_worker *worker, actor_batch *batch)
{
    oct_err err = oct_ring_push(worker->free_batches, batch);
    OCT_ASSERT(err == OCT_OK || err == OCT_ECLOSED); // closed: the thread was stopped
}

void
actor_worker_return_batch(actor_worker *worker, actor_batch *batch)
{
    if (actor_worker_circulating(worker) > worker->window) {
        worker->resting[worker->resting_count++] = batch;
    } else {
        batch_release(worker, batch);
    }
}

void
actor_worker_set_window(actor_worker *worker, uint32_t batches)
{
    if (worker->config->actor.when_full == CONFIG_WHEN_FULL_DROP) {
        return;
    }
    worker->window = OCT_MAX(WINDOW_MIN, OCT_MIN(batches, worker->batch_count));
    while (worker->resting_count > 0 && actor_worker_circulating(worker) < worker->window) {
        batch_release(worker, worker->resting[--worker->resting_count]);
    }
    void *batch;
    while (!worker->started && actor_worker_circulating(worker) > worker->window &&
           oct_ring_pop(worker->free_batches, &batch) == OCT_OK) {
        worker->resting[worker->resting_count++] = batch;
    }
}

uint32_t
actor_worker_circulating(const actor_worker *worker)
{
    return worker->batch_count - worker->resting_count;
}

uint32_t
actor_worker_batches(const actor_worker *worker)
{
    return worker->batch_count;
}

const actor_numbers *
actor_worker_take_numbers(actor_worker *worker)
{
    void *numbers;
    return oct_ring_pop(worker->numbers, &numbers) == OCT_OK ? numbers : NULL;
}

void
actor_worker_return_numbers(actor_worker *worker, const actor_numbers *numbers)
{
    OCT_ASSERT(oct_ring_push(worker->free_numbers, (void *)(uintptr_t)numbers) == OCT_OK);
}

void
actor_worker_collect(actor_worker *worker)
{
    void *net;
    while (oct_ring_pop(worker->retired, &net) == OCT_OK) {
        policy_net_destroy(net);
    }
}

const char *
actor_worker_failed(actor_worker *worker)
{
    return atomic_load_explicit(&worker->failed, memory_order_acquire) != 0
               ? actor_run_error(worker->run)
               : NULL;
}

oct_err
actor_worker_put_job(actor_worker *worker, actor_job *take)
{
    if (worker->job_given) {
        return OCT_EAGAIN;
    }
    OCT_TRY(oct_ring_push(worker->jobs, take));
    worker->job_given = true;
    return OCT_OK;
}

actor_job *
actor_worker_take_job(actor_worker *worker)
{
    void *job;
    if (oct_ring_pop(worker->done_jobs, &job) != OCT_OK) {
        return NULL;
    }
    worker->job_given = false;
    return job;
}

actor_job *
actor_job_create(policy_net *take, uint64_t ticket, uint64_t seed, uint32_t episodes)
{
    OCT_ASSERT(episodes > 0 && episodes <= WIRE_EPISODES_MAX);
    actor_job *job = oct_alloc(sizeof(*job));
    job->net = take;
    job->ticket = ticket;
    job->seed = seed;
    job->episodes = episodes;
    job->result.returns = oct_alloc(episodes * sizeof(float));
    job->result.lengths = oct_alloc(episodes * sizeof(uint32_t));
    return job;
}

void
actor_job_destroy(actor_job *job)
{
    if (job == NULL) {
        return;
    }
    policy_net_destroy(job->net);
    free(job->result.returns);
    free(job->result.lengths);
    free(job);
}

bool
actor_worker_playing(const actor_worker *worker, actor_playing *out)
{
    out->ticket = atomic_load_explicit(&worker->playing_ticket, memory_order_acquire);
    out->env_steps = atomic_load_explicit(&worker->playing_steps, memory_order_relaxed);
    out->episodes = (uint32_t)atomic_load_explicit(&worker->playing_episodes, memory_order_relaxed);
    out->calls = oct_pulse_last_beat(OCT_PULSE_WORK);
    return out->ticket != 0;
}

uint64_t
actor_worker_failures(const actor_worker *worker, const char **why)
{
    uint64_t failures = atomic_load_explicit(&worker->failures, memory_order_acquire);
    *why = failures > 0 ? worker->failure : NULL;
    return failures;
}

double
actor_worker_call_s(const actor_worker *worker)
{
    return worker->started ? oct_pulse_doing_s(OCT_PULSE_WORK, OCT_PULSE_ENV) : 0;
}
