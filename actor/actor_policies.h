#ifndef ACTOR_ACTOR_POLICIES_H
#define ACTOR_ACTOR_POLICIES_H

#include <stdbool.h>
#include <stdint.h>

#include "actor/actor_turns.h"
#include "envs/env.h"
#include "policy/codec/codec_receiver.h"
#include "policy/policy_net.h"
#include "proto/wire_sign.h"

// Policies that arrive: checks that the learner made them, applies changes to the newest one, and
// packs the result for the acting thread. Counts what it takes, misses and rejects.
//
// A signature does not expire, so an attacker between learner and actor could send an old policy
// again. Versions below `least`, which the learner's signed registration names, are therefore
// refused.
//
// Threads: the loop thread. Owns: the receiver with the newest policy. Full: of several policies
// that wait each is applied, because a change builds on the policy before it; only the last is
// packed.
typedef struct actor_policies {
    // Without TLS the learner proves itself by signatures, with the key of --pin or else of the
    // first answer. has_key: key is known.
    bool needs_signatures, has_key;
    uint8_t key[WIRE_PUBLIC_KEY_BYTES];
    bool is_tls;                  // the learner's address is tls+tcp://
    bool is_relayed;              // a relay passes policies on
    uint64_t run_id;              // of the run that the policies are of
    uint64_t least;               // older versions are refused
    actor_turns turns;            // lock-step
    codec_receiver *receiver;     // the newest policy, to which changes are applied
    const policy_image *received; // the receiver's, not packed yet; NULL: none
    uint64_t seen;                // newest version of which a change could not be applied
    bool gap;                     // a version is missing, and no policy has closed the gap
    uint64_t taken_ns;            // when a policy was last taken, or asked for
    uint64_t gaps, taken, packed; // gaps so far; versions
    uint64_t old;                 // codec_receiver_older, when it was last read
    uint64_t rejected;            // malformed or unsigned messages, answers and policies
} actor_policies;

typedef enum actor_policy_verdict {
    ACTOR_POLICY_PASSED, // rejected (counted, the first is logged), or not newer than the one held
    ACTOR_POLICY_TAKEN,  // received is the newest policy: pack it
    ACTOR_POLICY_MISSED, // a change of a policy that is not held: ask for a complete one
    ACTOR_POLICY_OVER,   // lock-step, of another life: the actor must start over
} actor_policy_verdict;

// policies is all zero but for what the caller knows of the learner.
void actor_policies_init(actor_policies *policies);
void actor_policies_fini(actor_policies *policies);
// Takes a policy that has arrived. Contract 1 of docs/internals/architecture.md: versions only
// grow, and none is taken twice.
actor_policy_verdict actor_policies_take(actor_policies *policies, const wire_policy *policy);
// Returns the version of the newest policy; 0: none has been taken.
uint64_t actor_policies_version(const actor_policies *policies);
// Packs the received policy for the best kernel of this machine; it is no longer received. Errors
// are logged:
//   OCT_ENOTFOUND  no policy was received (not logged)
//   OCT_EIO     no kernel runs this policy
//   OCT_EINVAL  the policy is for another environment than task
OCT_CHECKED oct_err actor_policies_pack(actor_policies *policies, const octet_env_spec *task,
                                        policy_net **out);
// Packs a complete policy that is not kept, for an evaluation. Errors as above, and OCT_EPROTO: it
// is malformed or not signed (counted, the first is logged).
OCT_CHECKED oct_err actor_policies_open(actor_policies *policies, const wire_policy *policy,
                                        const octet_env_spec *task, policy_net **out);

#endif // ACTOR_ACTOR_POLICIES_H
