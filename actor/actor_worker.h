#ifndef ACTOR_ACTOR_WORKER_H
#define ACTOR_ACTOR_WORKER_H

#include "actor/actor_evaluate.h"
#include "actor/actor_run.h"

// The acting thread of an actor daemon and what passes between it and the loop thread. A worker
// either steps environments for training or, in evaluation mode, plays one evaluation after the
// other.
//
// Threads: create, start, stop, destroy and everything below on the loop thread; notify is called
// on the acting thread and must only wake the loop. Owns: the run and all batches; policies are
// handed over (taken). Full: all batches unacknowledged: the acting thread waits (or drops its
// batch and counts its steps, when_full: drop).
typedef struct actor_worker actor_worker;

typedef void (*actor_notify_fn)(void *arg);

// One evaluation asked for by the learner.
typedef struct actor_job {
    policy_net *net; // taken
    uint64_t ticket;
    uint64_t seed;
    uint32_t episodes;
    actor_evaluate_result result; // returns and lengths point to room of episodes
    oct_err err;
    char reason[ENV_REASON_BYTES];
} actor_job;

// Bytes that all batches of a worker take, which have this shape.
uint64_t actor_worker_bytes(const actor_batch_shape *shape, const oct_config *config);
actor_worker *actor_worker_create(actor_run *take, const oct_config *config, actor_notify_fn notify,
                                  void *arg);
// Evaluation mode.
actor_worker *actor_worker_create_evaluator(const oct_config *config, actor_notify_fn notify,
                                            void *arg);
// Starts the thread. OCT_EIO: no thread could be made.
OCT_CHECKED oct_err actor_worker_start(actor_worker *worker);
// Training mode: asks the thread to end behind the step that it is in, and does not wait: what it
// has made until then comes by take_batch, and is all when actor_worker_has_ended.
void actor_worker_drain(actor_worker *worker);
bool actor_worker_has_ended(const actor_worker *worker);
// Asks the thread to end and waits for it (one step of the environments at most).
void actor_worker_stop(actor_worker *worker);
// The same, but no longer than this. False: it is in a step still.
bool actor_worker_stop_within(actor_worker *worker, uint32_t timeout_ms);
void actor_worker_destroy(actor_worker *worker); // NULL is a no-op; stopped or never started

// Training mode. The newest policy wins; the swap happens at a step boundary of the acting thread.
void actor_worker_put_policy(actor_worker *worker, policy_net *take);
// A sealed batch with its sequence number, or NULL. Give it back when acknowledged.
actor_batch *actor_worker_take_batch(actor_worker *worker);
void actor_worker_return_batch(actor_worker *worker, actor_batch *batch);
uint32_t actor_worker_batches(const actor_worker *worker); // that exist: the ring's length
// Lets only this many batches (at least 2: one being filled, one on its way) go round, the others
// rest: experience that waits grows stale, so no more of it is made than replay has room for. All
// go round until this is called, and always with when_full: drop.
void actor_worker_set_window(actor_worker *worker, uint32_t batches);
// How many go round now: more than the window while those that were out when it became narrower
// have not been given back. When all of them are out, the acting thread waits.
uint32_t actor_worker_circulating(const actor_worker *worker);
// What the acting thread told since the last time, or NULL; give it back after reading.
const actor_numbers *actor_worker_take_numbers(actor_worker *worker);
void actor_worker_return_numbers(actor_worker *worker, const actor_numbers *numbers);
// Frees policies that were replaced: off the acting thread.
void actor_worker_collect(actor_worker *worker);
// How long the environments have been in the call that they are in, in seconds; 0: in none. The
// time begins again with each environment where they are stepped one by one (Gymnasium's). Any
// thread.
double actor_worker_call_s(const actor_worker *worker);
// The environment failed for good: what it said, else NULL.
const char *actor_worker_failed(actor_worker *worker);

// Evaluation mode: one job at a time. OCT_EAGAIN: the last one was not taken back yet;
// OCT_ECLOSED: stopped; then take stays the caller's.
OCT_CHECKED oct_err actor_worker_put_job(actor_worker *worker, actor_job *take);
actor_job *actor_worker_take_job(actor_worker *worker); // done, or NULL; the caller frees it
actor_job *actor_job_create(policy_net *take, uint64_t ticket, uint64_t seed, uint32_t episodes);
void actor_job_destroy(actor_job *job); // NULL is a no-op

// How far the job at work is.
typedef struct actor_playing {
    uint64_t ticket;
    uint64_t env_steps;
    uint64_t calls;    // grows with every step and reset that has ended
    uint32_t episodes; // that have ended
} actor_playing;
// False: none is being played.
bool actor_worker_playing(const actor_worker *worker, actor_playing *out);
// How many steps and resets of environments have failed in all evaluations; why the first one did.
// NULL: none has.
uint64_t actor_worker_failures(const actor_worker *worker, const char **why);

#endif // ACTOR_ACTOR_WORKER_H
