// Gets policies from the learner, as they are published and by asking for what was missed, and an
// evaluator's evaluations.
#include <string.h>

#include "actor/actor_state_io.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"

#define CATCH_UP_NS      2000000000u // without a policy, until the actor asks
#define TURN_CATCH_UP_NS 250000000u  // in lock-step all actors wait for a missing version

// ---- arriving

// Ends the process if a policy cannot be used here: err is of actor_policies_pack.
static void
pack_failed(actor_io *io, oct_err err)
{
    if (err == OCT_EIO || err == OCT_EINVAL) {
        actor_io_fail(io, err == OCT_EIO ? ACTOR_EXIT_FAILED : ACTOR_EXIT_REFUSED);
    }
}

void
actor_policy_pack(void *arg)
{
    actor_io *io = arg;
    policy_net *net;
    oct_err err = actor_policies_pack(&io->policies, io->task, &net);
    pack_failed(io, err);
    if (err != OCT_OK) {
        return;
    }
    if (io->worker == NULL) {
        actor_worker_begin(io, net);
    } else {
        actor_worker_put_policy(io->worker, net);
        actor_worker_collect(io->worker); // otherwise the acting thread would free them
    }
}

static void
policy_take(actor_io *io, const wire_policy *policy)
{
    switch (actor_policies_take(&io->policies, policy)) {
    case ACTOR_POLICY_PASSED:
        break;
    case ACTOR_POLICY_MISSED:
        if (!io->calling && io->step == STEP_RUN) {
            actor_policy_ask(io);
        }
        break;
    case ACTOR_POLICY_OVER:
        actor_join_start_over(io);
        break;
    case ACTOR_POLICY_TAKEN:
        if (io->worker == NULL) {
            actor_policy_pack(io);
        } else {
            net_wakeup_send(io->pack);
        }
        break;
    }
}

static void
policy_arrived(void *arg, net_msg *msg)
{
    actor_io *io = arg;
    wire_policy policy;
    wire_arena_reset(io->arena);
    oct_err err = wire_policy_unpack(&policy, io->arena, net_msg_body(msg), net_msg_length(msg));
    if (err != OCT_OK) {
        if (io->policies.rejected++ == 0) {
            oct_log_warn("ACTOR-BAD-MESSAGE", "policy: %s", oct_strerror(err));
        }
        return;
    }
    if (policy.topic == io->policy_topic) {
        policy_take(io, &policy);
    }
}

oct_err
actor_policy_link(actor_io *io)
{
    uint8_t topic[WIRE_FRAME_BYTES];
    unsigned role = OCT_ROLE_BIT(io->addresses.is_relayed ? OCT_ROLE_RELAY : OCT_ROLE_LEARNER);
    wire_policy_topic(io->policy_topic, topic);
    return net_sub_open(
        &io->policy_sub, io->loop,
        &(net_endpoint){io->addresses.policies, role, WIRE_MESSAGE_BYTES_MAX, ACTOR_POLICY_QUEUE},
        &(net_sub_options){topic, sizeof(topic), policy_arrived, NULL, io});
}

void
actor_policy_subscribe(actor_io *io, uint32_t topic)
{
    uint8_t old[WIRE_FRAME_BYTES], now[WIRE_FRAME_BYTES];
    wire_policy_topic(io->policy_topic, old);
    wire_policy_topic(topic, now);
    if (io->policy_sub != NULL && topic != io->policy_topic &&
        net_sub_change(io->policy_sub, old, sizeof(old), now, sizeof(now)) != OCT_OK) {
        oct_log_error("ACTOR-LINKS", "cannot subscribe to policies=%s", io->addresses.policies);
        actor_io_fail(io, ACTOR_EXIT_FAILED);
    }
    io->policy_topic = topic;
}

// ---- asking

static void
policy_got(void *arg, oct_err err, const char *detail, const wire_got_policy *answer)
{
    actor_io *io = arg;
    uint64_t had = actor_policies_version(&io->policies);
    io->calling = false;
    if (err == OCT_ECLOSED) {
        return; // this process is closing its links
    }
    if (err != OCT_OK) {
        if (err == OCT_ENOTFOUND) {
            io->step = STEP_SPEC;
        }
        actor_join_failed(io, detail);
        return;
    }
    actor_learner_answered(io, OCT_OK, detail);
    if (answer->has_policy) {
        policy_take(io, &answer->policy);
    }
    if (io->step == STEP_SPEC) {
        actor_join_go(io); // a report has found that the learner does not know this actor
    } else if (io->step == STEP_POLICY) {
        io->retry_ms = ACTOR_RETRY_MIN_MS; // the learner is about to publish its first
        actor_join_retry(io);
    } else if (!answer->has_policy) {
        io->policies.gap = false; // no newer version exists
    } else if (io->policies.gap && !io->calling && actor_policies_version(&io->policies) > had) {
        // More was published while the answer was on its way. If the answer brought nothing newer,
        // only the watch asks again: asking at once could repeat without end.
        actor_policy_ask(io);
    }
}

void
actor_policy_ask(actor_io *io)
{
    wire_get_policy request = {
        .actor_id = io->claim.actor_id,
        .purpose = WIRE_PURPOSE_CATCH_UP,
        .have_version = actor_policies_version(&io->policies),
    };
    memcpy(request.token, io->claim.token, sizeof(request.token));
    io->calling = true;
    if (wire_call_get_policy(io->client, &request, ACTOR_POLICY_TIMEOUT_MS, policy_got, io) !=
        OCT_OK) {
        io->calling = false;
        actor_join_retry(io);
    }
}

void
actor_policy_watch(actor_io *io)
{
    uint64_t silent_ns = oct_clock_ns() - io->policies.taken_ns;
    uint64_t most_ns = actor_turns_is_on(&io->policies.turns) ? TURN_CATCH_UP_NS : CATCH_UP_NS;
    if (!io->calling && io->step == STEP_RUN &&
        (io->policies.gap || io->learner_lost || silent_ns > most_ns)) {
        io->policies.taken_ns = oct_clock_ns();
        actor_policy_ask(io);
    }
}

// ---- requests for evaluations

void
actor_evaluation_ask_later(actor_io *io)
{
    net_timer_stop(io->retry);
    double pause_ms = OCT_MIN(io->config.evaluation.period_s * 250 + 1, (double)ACTOR_RETRY_MAX_MS);
    io->retry = net_timer_start(io->loop, (uint32_t)pause_ms, 0, actor_evaluation_ask, io);
}

static void
evaluation_got(void *arg, oct_err err, const char *detail, const wire_got_policy *answer)
{
    actor_io *io = arg;
    io->calling = false;
    if (err == OCT_ECLOSED) {
        return; // this process is closing its links
    }
    if (err == OCT_ENOTFOUND) {
        io->step = STEP_SPEC;
        actor_join_failed(io, detail);
        return;
    }
    actor_learner_answered(io, err, detail);
    if (io->step != STEP_RUN) {
        actor_join_go(io); // a report has found that the learner does not know this actor
        return;
    }
    policy_net *net = NULL;
    if (err == OCT_OK && answer->has_policy && answer->episodes > 0 &&
        answer->episodes <= WIRE_EPISODES_MAX) {
        oct_err opened = actor_policies_open(&io->policies, &answer->policy, io->task, &net);
        pack_failed(io, opened);
    }
    if (net == NULL) {
        actor_evaluation_ask_later(io);
        return;
    }
    actor_job *job = actor_job_create(net, answer->ticket, answer->seed, answer->episodes);
    if (actor_worker_put_job(io->worker, job) != OCT_OK) {
        actor_job_destroy(job);
    }
}

void
actor_evaluation_ask(void *arg)
{
    actor_io *io = arg;
    if (io->calling || io->step != STEP_RUN) {
        return;
    }
    wire_get_policy request = {.actor_id = io->claim.actor_id, .purpose = WIRE_PURPOSE_EVALUATE};
    memcpy(request.token, io->claim.token, sizeof(request.token));
    io->calling = true;
    if (wire_call_get_policy(io->client, &request, ACTOR_POLICY_TIMEOUT_MS, evaluation_got, io) !=
        OCT_OK) {
        io->calling = false;
        net_timer_stop(io->retry);
        io->retry = net_timer_start(io->loop, ACTOR_RETRY_MAX_MS, 0, actor_evaluation_ask, io);
    }
}
