// Receives policies, applies changes, packs the result for the acting thread, and asks for
// versions that were missed.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "actor/actor_spec.h"
#include "actor/actor_state_io.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "common/oct_reason.h"
#include "proto/wire_sign.h"

#define CATCH_UP_NS      2000000000u // without a policy, until the actor asks
#define TURN_CATCH_UP_NS 250000000u  // in lock-step all actors wait for a missing version

// ---- packing

// Counts a bad policy, and logs the first.
static void
policy_rejected(actor_io *io, uint64_t version, const char *reason)
{
    if (io->rejected++ == 0) {
        oct_log_warn("ACTOR-BAD-POLICY", "version=%" PRIu64 " %s", version, reason);
    }
}

bool
actor_policy_is_authentic(actor_io *io, const wire_policy *policy)
{
    // TLS authenticates the relay that sent it, not the learner that made it.
    bool is_certain =
        !io->needs_signatures && !(io->is_relayed && net_url_is_tls(io->options.learner));
    if (is_certain || (io->has_key && wire_is_signed_policy(io->learner_key, policy))) {
        return true;
    }
    policy_rejected(io, policy->version, "it is not signed with the learner's key");
    return false;
}

// Packs a policy for the best kernel of this machine. NULL: the process ends.
static policy_net *
image_pack(actor_io *io, const policy_image *image)
{
    oct_reason why;
    policy_net *net;
    oct_err err = policy_net_create(&net, image, POLICY_ISA_BEST);
    if (err != OCT_OK) {
        oct_log_error("ACTOR-ISA", "no kernel for this policy: %s", policy_isa_refused().text);
        actor_io_fail(io, ACTOR_EXIT_FAILED);
        return NULL;
    }
    if (actor_fits(policy_net_spec(net), policy_net_origin(net), io->task, &why) != OCT_OK) {
        oct_log_error("ACTOR-POLICY-UNFIT", "%s", why.text);
        policy_net_destroy(net);
        actor_io_fail(io, ACTOR_EXIT_REFUSED);
        return NULL;
    }
    return net;
}

policy_net *
actor_policy_open(actor_io *io, const wire_policy *policy)
{
    oct_reason why;
    policy_image *image;
    if (!actor_policy_is_authentic(io, policy)) {
        return NULL;
    }
    if (policy_decode(&image, policy->bytes, policy->length, &why) != OCT_OK) {
        policy_rejected(io, policy->version, why.text);
        return NULL;
    }
    policy_net *net = image_pack(io, image);
    policy_image_destroy(image);
    return net;
}

// Logs the check value of the complete policy, which the learner logs when it publishes. Both show
// the same bytes.
static void
policy_tell(const policy_image *image)
{
    if (!oct_log_is_on(OCT_LOG_DEBUG)) {
        return;
    }
    policy_image complete = *image; // borrows the tensors
    complete.origin.base_version = 0;
    size_t length = policy_encoded_size(&complete);
    uint8_t *bytes = oct_alloc(length);
    uint32_t check;
    policy_encode(&complete, bytes);
    memcpy(&check, bytes + length - sizeof(check), sizeof(check));
    free(bytes);
    oct_log_debug("ACTOR-POLICY", "version=%" PRIu64 " check=%08" PRIx32 " at_us=%" PRIu64,
                  image->origin.version, check, oct_clock_wall_us());
}

void
actor_policy_pack(void *arg)
{
    actor_io *io = arg;
    if (io->received == NULL) {
        return;
    }
    policy_tell(io->received);
    policy_net *net = image_pack(io, io->received);
    io->received = NULL;
    if (net == NULL) {
        return;
    }
    io->policies_packed++;
    if (io->worker == NULL) {
        actor_worker_begin(io, net);
    } else {
        actor_worker_put_policy(io->worker, net);
        actor_worker_collect(io->worker); // otherwise the acting thread would free them
    }
}

// ---- arriving

// Handles a change whose base is not held. One request fetches a complete policy; further changes
// without their base only raise policy_seen.
static void
policy_missed(actor_io *io, uint64_t version)
{
    io->policy_seen = OCT_MAX(io->policy_seen, version);
    if (!io->policy_gap) {
        io->policy_gap = true;
        io->policy_gaps++;
        oct_log_info("ACTOR-POLICY-GAP",
                     "have=%" PRIu64 " seen=%" PRIu64 "; asking for a complete policy",
                     codec_receiver_version(io->receiver), io->policy_seen);
    }
    if (!io->calling && io->step == STEP_RUN) {
        actor_policy_ask(io);
    }
}

// Counts a policy that is not newer than the one held. The same version may arrive twice:
// published, and as an answer.
static void
policy_passed(actor_io *io, uint64_t version)
{
    uint64_t older = codec_receiver_older(io->receiver);
    if (older > io->policies_old && io->policies_old == 0) {
        oct_log_info("ACTOR-OLD-POLICY",
                     "version=%" PRIu64 " have=%" PRIu64 ": dropped; later drops are only counted",
                     version, codec_receiver_version(io->receiver));
    }
    io->policies_old = older;
}

// Takes a policy that has arrived. A signature does not expire, so an attacker between learner and
// actor could send an old policy again. Versions below policy_least, which the learner's signed
// registration names, are therefore refused.
//
// Contract 1: versions only grow, and none is taken twice. Each of several waiting policies is
// applied, because a change builds on the policy before it; only the last is packed.
static void
policy_take(actor_io *io, const wire_policy *policy)
{
    if (policy->run_id != io->run_id || !actor_policy_is_authentic(io, policy)) {
        return;
    }
    if (policy->version < io->policy_least) {
        oct_reason why;
        oct_reason_set(&why,
                       "is older than version %" PRIu64 ", which the learner's registration names",
                       io->policy_least);
        policy_rejected(io, policy->version, why.text);
        return;
    }
    switch (actor_turns_look(&io->turns, policy->version)) {
    case ACTOR_TURN_TAKE:
        break;
    case ACTOR_TURN_PASS:
        return;
    case ACTOR_TURN_MISSED:
        policy_missed(io, policy->version);
        return;
    case ACTOR_TURN_OVER:
        actor_join_start_over(io);
        return;
    }
    oct_reason why = {""};
    const policy_image *image;
    oct_err err = codec_receiver_take(io->receiver, policy->bytes, policy->length, &image, &why);
    if (err == OCT_EAGAIN) {
        policy_passed(io, policy->version);
        return;
    }
    if (err == OCT_ENOTFOUND) {
        policy_missed(io, policy->version);
        return;
    }
    if (err != OCT_OK) {
        policy_rejected(io, policy->version, why.text);
        return;
    }
    io->policies_taken++;
    actor_turns_taken(&io->turns);
    io->received = image;
    io->policy_gap = io->policy_gap && policy->version < io->policy_seen;
    io->last_policy_ns = oct_clock_ns();
    if (io->worker == NULL) {
        actor_policy_pack(io);
    } else {
        net_wakeup_send(io->pack);
    }
}

void
actor_policy_arrived(void *arg, net_msg *msg)
{
    actor_io *io = arg;
    wire_policy policy;
    wire_arena_reset(io->arena);
    oct_err err = wire_policy_unpack(&policy, io->arena, net_msg_body(msg), net_msg_length(msg));
    if (err != OCT_OK) {
        if (io->rejected++ == 0) {
            oct_log_warn("ACTOR-BAD-MESSAGE", "policy: %s", oct_strerror(err));
        }
        return;
    }
    if (policy.topic == io->policy_topic) {
        policy_take(io, &policy);
    }
}

void
actor_policy_subscribe(actor_io *io, uint32_t topic)
{
    uint8_t old[WIRE_FRAME_BYTES], now[WIRE_FRAME_BYTES];
    wire_policy_topic(io->policy_topic, old);
    wire_policy_topic(topic, now);
    if (io->policy_sub != NULL && topic != io->policy_topic &&
        net_sub_change(io->policy_sub, old, sizeof(old), now, sizeof(now)) != OCT_OK) {
        oct_log_error("ACTOR-LINKS", "cannot subscribe to policies=%s", io->policy_address);
        actor_io_fail(io, ACTOR_EXIT_FAILED);
    }
    io->policy_topic = topic;
}

// ---- asking

static void
policy_got(void *arg, oct_err err, const char *detail, const wire_got_policy *answer)
{
    actor_io *io = arg;
    uint64_t had = codec_receiver_version(io->receiver);
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
        io->policy_gap = false; // no newer version exists
    } else if (io->policy_gap && !io->calling && codec_receiver_version(io->receiver) > had) {
        // More was published while the answer was on its way. If the answer brought nothing newer,
        // only the watch asks again: asking at once could repeat without end.
        actor_policy_ask(io);
    }
}

void
actor_policy_ask(actor_io *io)
{
    wire_get_policy request = {
        .actor_id = io->actor_id,
        .purpose = WIRE_PURPOSE_CATCH_UP,
        .have_version = codec_receiver_version(io->receiver),
    };
    memcpy(request.token, io->token, sizeof(request.token));
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
    uint64_t silent_ns = oct_clock_ns() - io->last_policy_ns;
    uint64_t most_ns = actor_turns_is_on(&io->turns) ? TURN_CATCH_UP_NS : CATCH_UP_NS;
    if (!io->calling && io->step == STEP_RUN &&
        (io->policy_gap || io->learner_lost || silent_ns > most_ns)) {
        io->last_policy_ns = oct_clock_ns();
        actor_policy_ask(io);
    }
}
