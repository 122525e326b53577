// Start, watching and end of the actor daemon, and its numbers for reports and Prometheus. Values
// of the acting thread are as of its last report (actor.report_s).
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actor/actor_state_io.h"
#include "common/oct_clock.h"
#include "common/oct_failure.h"
#include "common/oct_log.h"
#include "common/oct_memory.h"
#include "common/oct_process.h"
#include "common/oct_text.h"
#include "envs/gym/env_gym_process.h"

// A lost link repeats its requests at once. Without a loss a repeat only brings the same answer
// twice over a narrow line, so it comes late.
#define RPC_RESEND_MS 60000
// For the answer to the last report. A learner that runs answers at once; a learner that ends
// together with its actors may not answer.
#define LEAVE_MS          300
#define LOOK_MS           20  // between two checks for acknowledgements of an actor that ends
#define STANDSTILL_S      1.0 // call of an environment, until the loop thread reports itself
#define RPC_INFLIGHT_MAX  8
#define UNSOUND_STEPS_MAX 1000u                 // failed steps without one whole episode
#define UNSOUND_TELL_NS   UINT64_C(10000000000) // between two lines about failed steps
#define STUCK_S           10                    // of one call, until it is logged
// Longest waits before starting over: for the answer of a Gymnasium process, and for the acting
// thread, which needs that and the end of the process.
#define GYM_ANSWER_MS  2000
#define WORKER_STOP_MS 5000
// One message and the columns unpacked from it.
#define ARENA_BYTES (WIRE_MESSAGE_BYTES_MAX + (1u << 20))

void
actor_io_fail(actor_io *io, int exit_code)
{
    io->exit_code = exit_code;
    net_loop_stop(io->loop);
}

// Callback of the last report: any answer ends the loop.
static void
leave_done(void *arg, oct_err err, const char *detail, const wire_empty *answer)
{
    actor_io *io = arg;
    (void)detail;
    (void)answer;
    if (err != OCT_ECLOSED) {
        net_loop_stop(io->loop);
    }
}

void
actor_io_leave(actor_io *io)
{
    char why[ENV_REASON_BYTES];
    bool has_place = io->claim.actor_id != 0 && !io->learner_lost && !io->leaves_at_once &&
                     !net_rpc_client_trouble(io->rpc, why, sizeof(why));
    bool is_repeated = io->leaving; // a second signal: do not wait for the learner
    io->leaving = true;
    if (is_repeated || !has_place ||
        actor_reports_leave(&io->reports, LEAVE_MS, leave_done) != OCT_OK) {
        net_loop_stop(io->loop);
    }
}

static void worker_woke(void *arg);

// Returns true if replay can still acknowledge batches, and a learner uses them.
static bool
can_drain(actor_io *io)
{
    char why[ENV_REASON_BYTES];
    return io->worker != NULL && !io->options.evaluate && io->step == STEP_RUN &&
           !io->leaves_at_once && !actor_batches_measure(io->batches).is_lost &&
           !io->learner_lost && !net_rpc_client_trouble(io->rpc, why, sizeof(why));
}

// Leaves once everything is acknowledged, or no acknowledgement is to be expected.
static void
drain_look(void *arg)
{
    actor_io *io = arg;
    if (io->leaving) {
        return;
    }
    worker_woke(io);
    bool is_done =
        actor_worker_has_ended(io->worker) && actor_batches_measure(io->batches).unacked == 0;
    bool is_late = oct_clock_ns() - io->drain_ns >= ACTOR_DRAIN_MS * UINT64_C(1000000);
    if (is_done || is_late || !can_drain(io)) {
        actor_io_leave(io);
    }
}

void
actor_io_end(actor_io *io)
{
    io->start_over = false;
    if (io->drain != NULL || io->leaving || !can_drain(io)) {
        actor_io_leave(io); // also on a second signal
        return;
    }
    actor_worker_drain(io->worker);
    io->drain_ns = oct_clock_ns();
    io->drain = net_timer_start(io->loop, 0, LOOK_MS, drain_look, io);
}

// ---- numbers and reports

// Keeps the acting thread's report.
static void
numbers_keep(actor_io *io, const actor_numbers *numbers)
{
    io->shown = (actor_shown){
        .env_steps = numbers->env_steps,
        .policy_version = numbers->policy_version,
        .rows = numbers->rows,
        .dropped = numbers->dropped,
        .failures = numbers->failures,
        .episodes = io->shown.episodes + numbers->episode_count + numbers->episodes_lost,
        .infer_s = numbers->infer_s,
        .env_s = numbers->env_s,
        .collect_s = numbers->collect_s,
        .wait_s = numbers->wait_s,
    };
}

// Adds an evaluation that was played.
static void
evaluation_keep(actor_io *io, const actor_job *job)
{
    io->shown.policy_version = policy_net_origin(job->net)->version;
    io->shown.evaluations++;
    io->shown.evaluation_s += job->result.seconds;
    io->shown.env_steps += job->result.env_steps;
    io->shown.episodes += job->err == OCT_OK ? job->episodes : 0;
}

// Returns for how many seconds the environments have been in a call that exceeds half of
// run.env_hang_s; else 0.
static double
stuck_s(const actor_io *io)
{
    double limit_s = 0.5 * io->config.run.env_hang_s; // 0: no limit
    double step_s = io->worker != NULL && limit_s > 0 ? actor_worker_call_s(io->worker) : 0;
    return step_s > limit_s ? step_s : 0;
}

static void
acting_measure(const actor_io *io, actor_measurements *now)
{
    const actor_batches_numbers batches = actor_batches_measure(io->batches);
    now->infer_s = io->shown.infer_s;
    now->env_s = io->shown.env_s;
    now->collect_s = io->shown.collect_s;
    now->wait_s = io->shown.wait_s;
    now->dropped = (double)io->shown.dropped;
    now->failures = (double)io->shown.failures;
    now->rows = (double)io->shown.rows;
    now->resent = (double)batches.resent;
    now->unacked = batches.unacked;
    now->unacked_s = batches.unacked_s;
    now->ring_batches = batches.room;
    if (io->worker != NULL) {
        now->circulating = actor_worker_circulating(io->worker);
    }
    now->bytes = (double)batches.bytes;
}

// Fills now with current values.
static void
measure(const actor_io *io, actor_measurements *now)
{
    // All fields are doubles. Those of the other role stay NaN.
    for (size_t at = 0; at < sizeof(*now); at += sizeof(double)) {
        *(double *)((char *)now + at) = NAN;
    }
    if (io->options.evaluate) {
        now->evaluations = (double)io->shown.evaluations;
        now->evaluations_failed = io->failed_evaluations;
        now->evaluations_s = io->shown.evaluation_s;
        const char *why = NULL;
        now->evaluation_failures =
            io->worker != NULL ? (double)actor_worker_failures(io->worker, &why) : 0;
    } else {
        acting_measure(io, now);
    }
    now->stuck_s = stuck_s(io);
    now->resident_bytes = oct_process_resident_bytes();
    now->restarts = io->options.restarts;
    now->registered = io->step == STEP_RUN;
    now->learner_up = io->step == STEP_RUN && !io->learner_lost;
    now->env_steps = (double)io->shown.env_steps;
    now->episodes = (double)io->shown.episodes;
    now->policy_version = (double)io->shown.policy_version;
    now->policies_taken = (double)io->policies.taken;
    now->policies_packed = (double)io->policies.packed;
    now->policies_old = (double)io->policies.old;
    now->policy_gaps = (double)io->policies.gaps;
    now->rejected = (double)io->policies.rejected;
    now->cpu_s = (double)oct_clock_process_cpu_ns() * 1e-9;
}

// Callback of a report.
static void
report_done(void *arg, oct_err err, const char *detail, const wire_empty *answer)
{
    actor_io *io = arg;
    (void)answer;
    if (err == OCT_ENOTFOUND && (io->step != STEP_RUN || io->leaving)) {
        return; // another report has started the registration already
    }
    if (err == OCT_ENOTFOUND) {
        oct_log_notice("ACTOR-REGISTER-AGAIN", "the learner does not know this actor: %s", detail);
        actor_join_again(io);
        return;
    }
    if (err == OCT_ECLOSED) {
        return; // this process is closing its links
    }
    actor_learner_answered(io, err, detail);
}

static void
numbers_report(actor_io *io, const actor_numbers *numbers)
{
    char unreached[NET_URL_MAX];
    actor_measurements now;
    measure(io, &now);
    bool is_unreached = actor_batches_measure(io->batches).unacked_s >= ACTOR_UNACKED_S &&
                        actor_batches_unreached(io->batches, unreached);
    actor_reports_numbers(&io->reports, numbers, &now, is_unreached ? unreached : NULL);
}

// Reports in place of the acting thread while it is in a long call, so that the learner sees why
// it gets no steps.
static void
standstill_report(actor_io *io)
{
    double quiet_s = 1e-9 * (double)(oct_clock_ns() - io->reports.sent_ns);
    if (io->step != STEP_RUN || actor_worker_call_s(io->worker) < STANDSTILL_S ||
        quiet_s < OCT_MAX(STANDSTILL_S, io->config.actor.report_s)) {
        return;
    }
    const actor_numbers last = {.policy_version = io->shown.policy_version,
                                .env_steps = io->shown.env_steps};
    numbers_report(io, &last);
}

static void
evaluation_report(actor_io *io, const actor_job *job)
{
    actor_measurements now;
    measure(io, &now);
    actor_reports_evaluation(&io->reports, job, &now);
}

static void
playing_report(actor_io *io)
{
    actor_playing playing;
    actor_measurements now;
    if (actor_worker_playing(io->worker, &playing)) {
        measure(io, &now);
        actor_reports_playing(&io->reports, &playing, &now);
    }
}

// ---- watching

// Reports the first step or reset that failed, also while the evaluation is played.
static void
evaluation_watch(actor_io *io)
{
    const char *why;
    if (actor_worker_failures(io->worker, &why) > 0 && !io->unsound) {
        io->unsound = true;
        oct_log_warn("ACTOR-ENV-UNSOUND",
                     "%s: %s; such episodes are repeated; for details run octet env check",
                     io->config.env.id, why);
    }
}

static void
evaluation_done(actor_io *io, const actor_job *job)
{
    evaluation_watch(io);
    if (job->result.truncated > 0 && !io->has_truncated) {
        io->has_truncated = true;
        oct_log_warn("ACTOR-EPISODES-TRUNCATED",
                     "%s: %u of %u episodes of an evaluation did not end within %u steps and were "
                     "truncated (evaluation.max_steps)",
                     io->config.env.id, job->result.truncated, job->episodes,
                     job->result.max_steps);
    }
    if (job->err == OCT_OK) {
        evaluation_report(io, job);
        actor_evaluation_ask(io);
    } else if (job->err != OCT_ECLOSED) {
        if (io->failed_evaluations++ == 0) {
            oct_log_error("ACTOR-EVALUATION", "%s", job->why.text);
        }
        evaluation_report(io, job);
        actor_evaluation_ask_later(io); // it is likely to fail again at once
    }
}

// Logs the failed steps so far.
static void
failures_tell(actor_io *io)
{
    uint64_t failures = io->shown.failures;
    io->failures_told = failures;
    io->failures_told_ns = oct_clock_ns();
    oct_log_warn("ACTOR-ENV-UNSOUND",
                 "%s: %" PRIu64
                 " step%s failed and %s left out; for details run octet env check; the last: %s",
                 io->config.env.id, failures, failures == 1 ? "" : "s",
                 failures == 1 ? "was" : "were", io->failure);
}

// Failed steps are left out. But an environment in which every episode fails would run without end
// and without anything to learn from, so the process ends then. The limit counts failures that all
// environments share: one environment that cannot be reset does not condemn the others.
static void
steps_watch(actor_io *io, const actor_numbers *numbers)
{
    uint64_t shared = numbers->failures_each * io->config.actor.envs; // by each environment
    if (shared >= UNSOUND_STEPS_MAX && numbers->ended == 0) {
        oct_log_error("ACTOR-ENV-REFUSED",
                      "%s: %" PRIu64
                      " steps, and every episode failed (%s); for details run octet env check",
                      io->config.env.id, numbers->env_steps, numbers->failure);
        actor_io_fail(io, ACTOR_EXIT_REFUSED);
    } else if (numbers->failures > io->failures_told) {
        oct_text_copy(io->failure, sizeof(io->failure), numbers->failure);
        oct_failure_write(OCT_FAILURE_ENVIRONMENT, "ACTOR-ENV-UNSOUND", io->failure);
        if (io->failures_told == 0 || oct_clock_ns() - io->failures_told_ns >= UNSOUND_TELL_NS) {
            failures_tell(io);
        }
    }
}

// Logs a call of an environment that does not return, because the process cannot end it.
static void
stuck_watch(actor_io *io)
{
    double call_s = actor_worker_call_s(io->worker);
    if (call_s >= STUCK_S && !io->stuck) {
        oct_log_warn(
            "ACTOR-ENV-STUCK",
            "%s: a step or reset has taken %.0f s so far; octet env check shows whether it "
            "hangs",
            io->config.env.id, call_s);
    } else if (call_s < STUCK_S && io->stuck) {
        oct_log_notice("ACTOR-ENV-RESUMED", "%s: the step or reset has ended", io->config.env.id);
    }
    io->stuck = call_s >= STUCK_S;
}

// Takes what the acting thread has handed over.
static void
worker_woke(void *arg)
{
    actor_io *io = arg;
    if (io->worker == NULL) {
        return;
    }
    if (io->options.evaluate) {
        actor_job *job = actor_worker_take_job(io->worker);
        if (job == NULL) {
            return;
        }
        evaluation_keep(io, job);
        evaluation_done(io, job);
        actor_job_destroy(job);
        return;
    }
    actor_batch *batch;
    while ((batch = actor_worker_take_batch(io->worker)) != NULL) {
        actor_batches_put(io->batches, batch);
        actor_turns_made(&io->policies.turns);
    }
    if (actor_turns_is_on(&io->policies.turns) && io->policies.gap && !io->calling &&
        io->step == STEP_RUN) {
        actor_policy_ask(io); // this turn is complete, and the next policy exists already
    }
    actor_batches_send(io->batches);
    const actor_numbers *numbers;
    while ((numbers = actor_worker_take_numbers(io->worker)) != NULL) {
        numbers_keep(io, numbers); // first: the report contains them
        numbers_report(io, numbers);
        steps_watch(io, numbers);
        actor_worker_return_numbers(io->worker, numbers);
    }
    const char *failed = actor_worker_failed(io->worker);
    if (failed != NULL) {
        oct_log_error("ACTOR-ENV-FAILED", "%s: %s", io->config.env.id, failed);
        actor_io_fail(io, ACTOR_EXIT_FAILED);
    }
}

static void
worker_notify(void *arg)
{
    net_wakeup_send(arg);
}

// ---- answers of the learner

void
actor_learner_answered(actor_io *io, oct_err err, const char *detail)
{
    io->answered_ns = err == OCT_OK ? oct_clock_ns() : io->answered_ns;
    uint64_t version =
        io->options.evaluate ? io->shown.policy_version : actor_policies_version(&io->policies);
    if (err != OCT_OK && !io->learner_lost) {
        io->learner_lost = true;
        oct_log_warn("ACTOR-LEARNER-LOST", "%s; continuing with version=%" PRIu64, detail, version);
    } else if (err == OCT_OK && io->learner_lost) {
        io->learner_lost = false;
        oct_log_notice("ACTOR-LEARNER-BACK", "version=%" PRIu64, version);
    }
}

// Notices that the learner has no connection, because an open request may wait longer: an
// evaluator's for ACTOR_POLICY_TIMEOUT_MS.
static void
learner_watch(actor_io *io)
{
    char why[ENV_REASON_BYTES];
    uint64_t now_ns = oct_clock_ns();
    if (io->step != STEP_RUN || !net_rpc_client_trouble(io->rpc, why, sizeof(why))) {
        io->learner_down_ns = 0;
    } else if (io->learner_down_ns == 0) {
        io->learner_down_ns = now_ns;
    } else if (now_ns - io->learner_down_ns >= ACTOR_RPC_TIMEOUT_MS * UINT64_C(1000000)) {
        actor_learner_answered(io, OCT_EIO, why);
    }
}

// A learner that has ended cannot say so; its silence is the only sign.
static void
give_up_watch(actor_io *io)
{
    double quiet_s = 1e-9 * (double)(oct_clock_ns() - io->answered_ns);
    if (io->options.give_up_s > 0 && quiet_s >= io->options.give_up_s && !io->leaving) {
        oct_log_notice("ACTOR-GAVE-UP",
                       "the learner at %s has not answered for %.0f s; exit=%d (--give-up-after)",
                       io->options.learner, quiet_s, ACTOR_EXIT_GAVE_UP);
        actor_io_fail(io, ACTOR_EXIT_GAVE_UP);
    }
}

// Twice a second: checks that must not depend on events, which can be lost.
static void
tick(void *arg)
{
    actor_io *io = arg;
    give_up_watch(io);
    if (io->worker == NULL) {
        return;
    }
    learner_watch(io);
    if (io->options.evaluate) {
        stuck_watch(io);
        evaluation_watch(io);
        if (io->step == STEP_RUN) {
            playing_report(io);
        }
        return;
    }
    actor_worker_collect(io->worker);
    worker_woke(io);
    if (io->worker == NULL) {
        return;
    }
    stuck_watch(io);
    standstill_report(io);
    actor_batches_watch(io->batches);
    actor_policy_watch(io);
    actor_relay_watch(io);
}

// Returns false, and logs why, if the batches need more memory than is available. An actor that
// has acted before only warns: the shortage may pass, and not all batches get filled.
static bool
memory_check(const actor_io *io, const actor_run *run)
{
    char takes[32], has[32];
    const config_experiment *config = &io->config;
    uint64_t needed = actor_worker_bytes(actor_run_shape(run), config);
    uint64_t available = oct_memory_available();
    if (oct_memory_suffices(available, needed)) {
        return true;
    }
    bool is_first = io->incarnation == 0;
    oct_log(is_first ? OCT_LOG_ERROR : OCT_LOG_WARN, "ACTOR-MEMORY",
            "actor.ring_batches: %u batches of %u steps (actor.batch_steps: %u) take %s, but "
            "%s of memory are available; about %.0f batches would fit",
            config->actor.ring_batches, actor_run_shape(run)->steps, config->actor.batch_steps,
            oct_text_bytes(takes, sizeof(takes), (double)needed, ""),
            oct_text_bytes(has, sizeof(has), (double)available, ""),
            OCT_MEMORY_SHARE * (double)available / (double)needed * config->actor.ring_batches);
    return !is_first;
}

static void
links_failed(actor_io *io)
{
    oct_log_error("ACTOR-LINKS", "cannot reach replay=%s or policies=%s", io->addresses.replay,
                  io->addresses.policies);
    actor_io_fail(io, ACTOR_EXIT_FAILED);
}

bool
actor_links_open(actor_io *io)
{
    const actor_addresses *to = &io->addresses;
    if (actor_batches_open(io->batches, to->replay, to->is_relayed) != OCT_OK ||
        actor_policy_link(io) != OCT_OK) {
        links_failed(io);
        return false;
    }
    return true;
}

// The first policy brings the spec, which the worker needs.
void
actor_worker_begin(actor_io *io, policy_net *net)
{
    actor_run *run;
    const actor_seed seed = {io->config.run.seed, io->actor_index, io->incarnation};
    oct_err err = actor_run_create(&run, io->e, &io->config, policy_net_spec(net), &seed);
    if (err != OCT_OK) {
        uint32_t steps = config_has_rollouts(&io->config) ? io->config.algo.sequence_steps : 1;
        oct_log_error("ACTOR-UNSUITED",
                      "%s: %u steps (1, or algo.sequence_steps of a rollout) of actor.envs=%u are "
                      "too many for a batch",
                      io->config.env.id, steps, io->config.actor.envs);
        policy_net_destroy(net);
        actor_io_fail(io, ACTOR_EXIT_REFUSED);
        return;
    }
    io->e = NULL;
    if (!memory_check(io, run)) {
        actor_run_destroy(run);
        policy_net_destroy(net);
        actor_io_fail(io, ACTOR_EXIT_REFUSED);
        return;
    }
    io->worker = actor_worker_create(run, &io->config, worker_notify, io->wakeup);
    io->batches = actor_batches_create(io->loop, &io->claim, io->worker, &io->policies.rejected);
    const actor_batch_shape *shape = actor_run_shape(run);
    oct_log_notice("ACTOR-START",
                   "env=%s envs=%u index=%u incarnation=%u kernel=%s precision=%s batches=%u "
                   "batch_bytes=%zu policy_queue=%d",
                   io->config.env.id, shape->envs, io->actor_index, io->incarnation,
                   policy_isa_name(policy_net_isa(net)),
                   policy_precision_name(policy_net_precision(net)),
                   actor_worker_batches(io->worker), actor_batch_bytes(shape), ACTOR_POLICY_QUEUE);
    actor_watchdog_worker(io->watchdog, io->worker);
    actor_worker_set_window(io->worker, 0); // two batches, until replay names its room
    actor_worker_put_policy(io->worker, net);
    if (!actor_links_open(io)) {
        return;
    }
    if (actor_worker_start(io->worker) != OCT_OK) {
        links_failed(io);
        return;
    }
    io->step = STEP_RUN;
}

void
actor_evaluator_begin(actor_io *io)
{
    if (io->worker == NULL) {
        io->worker = actor_worker_create_evaluator(&io->config, worker_notify, io->wakeup);
        actor_watchdog_worker(io->watchdog, io->worker);
        if (actor_worker_start(io->worker) != OCT_OK) {
            actor_io_fail(io, ACTOR_EXIT_FAILED);
            return;
        }
        oct_log_notice("ACTOR-EVALUATOR", "env=%s episodes=%u", io->config.env.id,
                       io->config.evaluation.episodes);
    }
    io->step = STEP_RUN;
    actor_evaluation_ask(io);
}

// ---- start and end

// Runs on the watchdog's thread. The loop thread may be inside the environment, so only _exit
// works.
static void
stuck_exit(double stuck_s)
{
    oct_log_error("ACTOR-STUCK-EXIT",
                  "the environment has not returned for %.0f s; exit=%d (--exit-when-stuck)",
                  stuck_s, ACTOR_EXIT_STUCK);
    _exit(ACTOR_EXIT_STUCK);
}

oct_err
actor_io_open(actor_io **out, net_loop *loop, const actor_io_options *options)
{
    actor_io *io = oct_alloc(sizeof(*io));
    io->loop = loop;
    io->options = *options;
    io->retry_ms = ACTOR_RETRY_MIN_MS;
    io->policies.is_tls = net_url_is_tls(options->learner);
    io->policies.needs_signatures = net_url_is_tcp(options->learner) && !io->policies.is_tls;
    io->policies.has_key = options->has_pin;
    memcpy(io->policies.key, options->pin, sizeof(io->policies.key));
    actor_join_label(io);
    io->answered_ns = oct_clock_ns();
    oct_err err =
        net_rpc_client_open(&io->rpc, loop,
                            &(net_endpoint){options->learner, OCT_ROLE_BIT(OCT_ROLE_LEARNER),
                                            WIRE_MESSAGE_BYTES_MAX, RPC_INFLIGHT_MAX},
                            RPC_RESEND_MS);
    if (err != OCT_OK) {
        free(io);
        return err;
    }
    io->client = wire_client_create(net_rpc_call, io->rpc, ARENA_BYTES);
    io->reports = (actor_reports){
        .client = io->client,
        .claim = &io->claim,
        .answered = report_done,
        .arg = io,
        .timeout_ms = ACTOR_RPC_TIMEOUT_MS,
    };
    io->arena = wire_arena_create(ARENA_BYTES);
    io->wakeup = net_wakeup_create(loop, worker_woke, io);
    actor_policies_init(&io->policies);
    io->pack = net_wakeup_create(loop, actor_policy_pack, io);
    io->watchdog = options->exit_when_stuck ? actor_watchdog_create(stuck_exit) : NULL;
    io->tick = net_timer_start(loop, 500, 500, tick, io);
    actor_join_go(io);
    *out = io;
    return OCT_OK;
}

void
actor_io_close(actor_io *io)
{
    if (io->worker != NULL) {
        actor_worker_stop(io->worker);
    }
    net_timer_stop(io->tick);
    net_timer_stop(io->retry);
    net_timer_stop(io->drain);
    io->retry = NULL;
    actor_batches_close(io->batches);
    net_sub_close(io->policy_sub);
    io->step = STEP_RUN; // answers of closing calls must not begin anything
    net_rpc_client_close(io->rpc);
    net_timer_stop(io->retry);
    net_wakeup_destroy(io->wakeup);
    net_wakeup_destroy(io->pack);
    actor_policies_fini(&io->policies);
    wire_client_destroy(io->client);
    wire_arena_destroy(io->arena);
    actor_watchdog_destroy(io->watchdog);
    actor_worker_destroy(io->worker);
    actor_batches_destroy(io->batches);
    env_close(io->e);
    free(io->task);
    free(io);
}

void
actor_io_close_environments(actor_io *io)
{
    actor_watchdog_destroy(io->watchdog);
    io->watchdog = NULL;
    env_gym_process_give_up(GYM_ANSWER_MS);
    if (io->worker != NULL && actor_worker_stop_within(io->worker, WORKER_STOP_MS)) {
        actor_worker_destroy(io->worker);
    }
    env_close(io->e);
}

void
actor_io_log_totals(actor_io *io)
{
    if (io->exit_code == 0 && io->shown.failures > io->failures_told) {
        failures_tell(io);
    }
    const actor_batches_numbers batches = actor_batches_measure(io->batches);
    oct_log_notice("ACTOR-TOTALS",
                   "acked=%" PRIu64 " sent=%" PRIu64 " resent_batches=%" PRIu64 " bytes=%" PRIu64,
                   batches.rows_acked, batches.rows_sent, batches.resent, batches.bytes);
}

int
actor_io_exit_code(const actor_io *io)
{
    return io->exit_code;
}

bool
actor_io_start_over(const actor_io *io)
{
    return io->start_over;
}

bool
actor_io_is_hung(void *arg)
{
    const actor_io *io = arg;
    double limit_s = io->config.run.env_hang_s;
    return io->worker != NULL && limit_s > 0 && actor_worker_call_s(io->worker) > limit_s;
}

void
actor_io_prometheus(void *arg, oct_prometheus *text)
{
    actor_measurements now;
    measure(arg, &now);
    oct_numbers *numbers = oct_numbers_create("actor.");
    actor_measurements_add(numbers, &now);
    oct_numbers_prometheus(numbers, text);
    oct_numbers_destroy(numbers);
}

const char *
actor_io_trouble(void *arg)
{
    actor_io *io = arg;
    if (io->step != STEP_RUN) {
        return io->step == STEP_CONFIG ? "waiting for the learner"
                                       : "not registered with the learner yet";
    }
    if (io->stuck) {
        (void)snprintf(io->trouble, sizeof(io->trouble),
                       "a call of an environment has not ended for %.0f s",
                       actor_worker_call_s(io->worker));
        return io->trouble;
    }
    if (io->learner_lost) {
        return "the learner does not answer";
    }
    const actor_batches_numbers batches = actor_batches_measure(io->batches);
    if (batches.unacked_s < ACTOR_UNACKED_S) {
        return NULL;
    }
    char address[NET_URL_MAX];
    bool is_unreached = actor_batches_unreached(io->batches, address);
    (void)snprintf(io->trouble, sizeof(io->trouble), "%u unacknowledged batch%s for %.0f s: %s%s",
                   batches.unacked, batches.unacked == 1 ? "" : "es", batches.unacked_s,
                   is_unreached ? "cannot reach " : "no acknowledgement from ",
                   is_unreached ? address : io->addresses.replay);
    return io->trouble;
}
