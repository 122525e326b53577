#ifndef ACTOR_ACTOR_WORKER_H
#define ACTOR_ACTOR_WORKER_H

#include "actor/actor_evaluate.h"
#include "actor/actor_run.h"
#include "common/oct_reason.h"

// The acting thread of an actor daemon, and the queues between it and the loop thread. A worker
// either steps environments for training or plays one evaluation after the other. actor_worker.c
// begins with how the parts work together.
//
// Threads: create, start, stop, destroy and all functions below belong to the loop thread, except
// actor_worker_call_s. notify runs on the acting thread and may only wake the loop. Owns: the run,
// all batches, and the policies that it was given. Full: while no batch is free, the acting thread
// waits; with actor.when_full: drop it drops the rows of its batch and counts their steps.
typedef struct actor_worker actor_worker;

typedef void (*actor_notify_fn)(void *arg);

// An evaluation that the learner asked for.
typedef struct actor_job {
    policy_net *net;              // owned by the job
    uint64_t ticket;              // the learner's number of the evaluation
    uint64_t seed;                // of the environments and, with sampling, of the actions
    uint32_t episodes;            // 1 .. WIRE_EPISODES_MAX
    actor_evaluate_result result; // its returns and lengths are [episodes]
    oct_err err;                  // of actor_evaluate
    oct_reason why;               // one line; valid if err is not OCT_OK
} actor_job;

// Returns the bytes of all batches of a worker (actor.ring_batches, at least 3) of this shape.
uint64_t actor_worker_bytes(const actor_batch_shape *shape, const config_experiment *config);
// Makes a worker for training, which owns the run from now on. config and arg outlive the worker.
actor_worker *actor_worker_create(actor_run *take, const config_experiment *config,
                                  actor_notify_fn notify, void *arg);
// Makes a worker for evaluations, which opens the environment of config for each job.
actor_worker *actor_worker_create_evaluator(const config_experiment *config, actor_notify_fn notify,
                                            void *arg);
// Starts the thread. OCT_EIO: the system refused a thread; the worker can be destroyed.
OCT_CHECKED oct_err actor_worker_start(actor_worker *worker);
// Training: asks the thread to end after its current step, without waiting. The rows made until
// then arrive through actor_worker_take_batch; once actor_worker_has_ended returns true, nothing
// more arrives.
void actor_worker_drain(actor_worker *worker);
bool actor_worker_has_ended(const actor_worker *worker);
// Asks the thread to end and waits for it: for one step of the environments at most.
void actor_worker_stop(actor_worker *worker);
// As actor_worker_stop, but waits for at most timeout_ms. False: a step is still running, and so
// is the thread.
bool actor_worker_stop_within(actor_worker *worker, uint32_t timeout_ms);
// NULL is a no-op. Otherwise the thread was not started, or has been stopped.
void actor_worker_destroy(actor_worker *worker);

// Training: hands over a policy. The acting thread takes it between two steps, in lock-step and
// for rollouts between two batches. A policy that it has not taken yet is replaced and freed.
void actor_worker_put_policy(actor_worker *worker, policy_net *take);
// Returns the oldest sealed batch that was not taken yet, with its sequence number, or NULL. The
// caller gives it back (actor_worker_return_batch) when replay has acknowledged it.
actor_batch *actor_worker_take_batch(actor_worker *worker);
void actor_worker_return_batch(actor_worker *worker, actor_batch *batch);
uint32_t actor_worker_batches(const actor_worker *worker); // number of batches that exist
// Limits how many batches circulate, to the count that replay has room for; the other batches
// rest. Without the limit the acting thread would fill all batches, and their rows would be old
// when replay takes them. At least 2 circulate: one is filled while the other is on its way. All
// circulate until the first call, and always with actor.when_full: drop.
void actor_worker_set_window(actor_worker *worker, uint32_t batches);
// Returns how many batches circulate now. After the window became smaller, this is more than the
// window until enough batches were given back. When all of them wait for acknowledgements, the
// acting thread waits.
uint32_t actor_worker_circulating(const actor_worker *worker);
// Returns the oldest report of the acting thread that was not taken yet, or NULL. The caller gives
// it back after reading.
const actor_numbers *actor_worker_take_numbers(actor_worker *worker);
void actor_worker_return_numbers(actor_worker *worker, const actor_numbers *numbers);
// Frees the policies that were replaced, so that the acting thread need not.
void actor_worker_collect(actor_worker *worker);
// Returns for how many seconds the environments have been in their current call; 0: in no call.
// Where environments are stepped one by one (Gymnasium's), the time begins again with each of
// them. Any thread may call this.
double actor_worker_call_s(const actor_worker *worker);
// Returns why the environment failed for good, or NULL. After a failure the thread has ended.
const char *actor_worker_failed(actor_worker *worker);

// Evaluation: hands over a job; there is one at a time. On an error the job stays the caller's:
//   OCT_EAGAIN  the last job was not taken back yet
//   OCT_ECLOSED  the worker was stopped
OCT_CHECKED oct_err actor_worker_put_job(actor_worker *worker, actor_job *take);
// Returns the job that has been played, or NULL. The caller destroys it.
actor_job *actor_worker_take_job(actor_worker *worker); // done, or NULL; the caller frees it
// Makes a job, which owns the policy from now on.
actor_job *actor_job_create(policy_net *take, uint64_t ticket, uint64_t seed, uint32_t episodes);
void actor_job_destroy(actor_job *job); // NULL is a no-op

// Progress of the job that is being played.
typedef struct actor_playing {
    uint64_t ticket;
    uint64_t env_steps; // of all environments
    uint64_t calls;     // grows with every step and reset that returns
    uint32_t episodes;  // finished and counted
} actor_playing;
// False: no job is being played.
bool actor_worker_playing(const actor_worker *worker, actor_playing *out);
// Returns how many steps and resets of environments have failed in all evaluations. *why is the
// cause of the first failure, or NULL.
uint64_t actor_worker_failures(const actor_worker *worker, const char **why);

#endif // ACTOR_ACTOR_WORKER_H
