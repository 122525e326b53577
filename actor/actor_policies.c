// Checks, applies and packs policies.
#include "actor/actor_policies.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "actor/actor_evaluate.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "common/oct_reason.h"

void
actor_policies_init(actor_policies *policies)
{
    policies->receiver = codec_receiver_create();
}

void
actor_policies_fini(actor_policies *policies)
{
    codec_receiver_destroy(policies->receiver);
}

uint64_t
actor_policies_version(const actor_policies *policies)
{
    return codec_receiver_version(policies->receiver);
}

// ---- packing

// Counts a bad policy, and logs the first.
static void
policy_rejected(actor_policies *policies, uint64_t version, const char *reason)
{
    if (policies->rejected++ == 0) {
        oct_log_warn("ACTOR-BAD-POLICY", "version=%" PRIu64 " %s", version, reason);
    }
}

// Returns true if the learner made this policy. If not, counts and logs it.
static bool
is_authentic(actor_policies *policies, const wire_policy *policy)
{
    // TLS authenticates the relay that sent it, not the learner that made it.
    bool is_certain = !policies->needs_signatures && !(policies->is_relayed && policies->is_tls);
    if (is_certain || (policies->has_key && wire_is_signed_policy(policies->key, policy))) {
        return true;
    }
    policy_rejected(policies, policy->version, "it is not signed with the learner's key");
    return false;
}

static oct_err
image_pack(const policy_image *image, const octet_env_spec *task, policy_net **out)
{
    oct_reason why;
    policy_net *net;
    oct_err err = policy_net_create(&net, image, POLICY_ISA_BEST);
    if (err != OCT_OK) {
        oct_log_error("ACTOR-ISA", "no kernel for this policy: %s", policy_isa_refused().text);
        return OCT_EIO;
    }
    if (actor_fits(policy_net_spec(net), policy_net_origin(net), task, &why) != OCT_OK) {
        oct_log_error("ACTOR-POLICY-UNFIT", "%s", why.text);
        policy_net_destroy(net);
        return OCT_EINVAL;
    }
    *out = net;
    return OCT_OK;
}

oct_err
actor_policies_open(actor_policies *policies, const wire_policy *policy, const octet_env_spec *task,
                    policy_net **out)
{
    oct_reason why;
    policy_image *image;
    if (!is_authentic(policies, policy)) {
        return OCT_EPROTO;
    }
    if (policy_decode(&image, policy->bytes, policy->length, &why) != OCT_OK) {
        policy_rejected(policies, policy->version, why.text);
        return OCT_EPROTO;
    }
    oct_err err = image_pack(image, task, out);
    policy_image_destroy(image);
    return err;
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

oct_err
actor_policies_pack(actor_policies *policies, const octet_env_spec *task, policy_net **out)
{
    const policy_image *image = policies->received;
    if (image == NULL) {
        return OCT_ENOTFOUND;
    }
    policy_tell(image);
    policies->received = NULL;
    OCT_TRY(image_pack(image, task, out));
    policies->packed++;
    return OCT_OK;
}

// ---- arriving

// Handles a change whose base is not held. One request fetches a complete policy; further changes
// without their base only raise `seen`.
static actor_policy_verdict
policy_missed(actor_policies *policies, uint64_t version)
{
    policies->seen = OCT_MAX(policies->seen, version);
    if (!policies->gap) {
        policies->gap = true;
        policies->gaps++;
        oct_log_info("ACTOR-POLICY-GAP",
                     "have=%" PRIu64 " seen=%" PRIu64 "; asking for a complete policy",
                     actor_policies_version(policies), policies->seen);
    }
    return ACTOR_POLICY_MISSED;
}

// Counts a policy that is not newer than the one held. The same version may arrive twice:
// published, and as an answer.
static actor_policy_verdict
policy_passed(actor_policies *policies, uint64_t version)
{
    uint64_t older = codec_receiver_older(policies->receiver);
    if (older > policies->old && policies->old == 0) {
        oct_log_info("ACTOR-OLD-POLICY",
                     "version=%" PRIu64 " have=%" PRIu64 ": dropped; later drops are only counted",
                     version, actor_policies_version(policies));
    }
    policies->old = older;
    return ACTOR_POLICY_PASSED;
}

// Applies a policy that passed all checks of its origin.
static actor_policy_verdict
policy_apply(actor_policies *policies, const wire_policy *policy)
{
    oct_reason why = {""};
    const policy_image *image;
    oct_err err =
        codec_receiver_take(policies->receiver, policy->bytes, policy->length, &image, &why);
    if (err == OCT_EAGAIN) {
        return policy_passed(policies, policy->version);
    }
    if (err == OCT_ENOTFOUND) {
        return policy_missed(policies, policy->version);
    }
    if (err != OCT_OK) {
        policy_rejected(policies, policy->version, why.text);
        return ACTOR_POLICY_PASSED;
    }
    policies->taken++;
    actor_turns_taken(&policies->turns);
    policies->received = image;
    policies->gap = policies->gap && policy->version < policies->seen;
    policies->taken_ns = oct_clock_ns();
    return ACTOR_POLICY_TAKEN;
}

actor_policy_verdict
actor_policies_take(actor_policies *policies, const wire_policy *policy)
{
    if (policy->run_id != policies->run_id || !is_authentic(policies, policy)) {
        return ACTOR_POLICY_PASSED;
    }
    if (policy->version < policies->least) {
        oct_reason why;
        oct_reason_set(&why,
                       "is older than version %" PRIu64 ", which the learner's registration names",
                       policies->least);
        policy_rejected(policies, policy->version, why.text);
        return ACTOR_POLICY_PASSED;
    }
    switch (actor_turns_look(&policies->turns, policy->version)) {
    case ACTOR_TURN_PASS:
        return ACTOR_POLICY_PASSED;
    case ACTOR_TURN_MISSED:
        return policy_missed(policies, policy->version);
    case ACTOR_TURN_OVER:
        return ACTOR_POLICY_OVER;
    case ACTOR_TURN_TAKE:
        break;
    }
    return policy_apply(policies, policy);
}
