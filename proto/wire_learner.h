#ifndef PROTO_WIRE_LEARNER_H
#define PROTO_WIRE_LEARNER_H

#include "proto/wire.h"

// The messages of service Learner: requests of actors, evaluators, relays and tools, and the
// learner's answers. Part of wire.h; the rules there hold here.

typedef enum wire_role {
    WIRE_ROLE_ACTOR = 1,
    WIRE_ROLE_EVALUATOR = 2,
    WIRE_ROLE_TOOL = 3,
    WIRE_ROLE_RELAY = 4
} wire_role;

// The spec of an environment as its actor read it (include/octet/env.h).
typedef struct wire_env_spec {
    const char *env_id;
    uint32_t obs_dtype;      // policy_dtype
    uint32_t obs_count;      // numbers in one flattened observation
    uint32_t action_kind;    // policy_action_kind
    uint32_t action_count;   // discrete: count of actions; box: dimension
    const float *action_low; // [action_count] for box, NULL for discrete
    const float *action_high;
    uint32_t max_episode_steps;     // 0: no limit
    double reward_threshold;        // NaN: none
    uint32_t obs_rank;              // 0: unknown
    const uint32_t *obs_shape;      // [obs_rank], outermost first; the product is obs_count
    uint32_t obs_high;              // as in policy_spec
    uint32_t metric_count;          // 0: none, or the actor's release does not send metrics
    const char *const *metric_name; // [metric_count] names of what the environment measures
} wire_env_spec;

// A peer registers twice: first with has_env = false to get the configuration, then with the
// environment's spec. If run_id of the second request is not the learner's, the learner answers as
// to the first: with its own configuration, and without a session. Idempotent: a repeated session
// with its token, or a repeated label, gets the same answer.
typedef struct wire_register {
    wire_role role;
    uint64_t label;   // random number of the peer's process; the answer's signature covers it
    uint64_t session; // from an earlier wire_registered; 0: none yet
    uint8_t token[WIRE_TOKEN_BYTES]; // of the session, if there is one
    const char *host;
    uint32_t pid;
    bool has_env;
    wire_env_spec env;
    uint64_t run_id; // with has_env: of the peer's configuration; 0: its release does not send it
    uint32_t place;  // the wanted actor_index plus 1; 0: the lowest free index
    uint64_t libm; // lock-step: of its machine (oct_libm.h); 0: not in lock-step, or not yet known
    const char *relay_address;   // from a relay: its address for actors, "": it serves relays only.
                                 // From an actor: address of the relay that it uses, "": none
    const char *relay_above;     // from a relay: address of the relay that it uses, "": none
    uint64_t relay_number;       // from a relay: its number, as in wire_gathered
    uint64_t relay_above_number; // number of the relay that it uses; 0: none, or not yet known
    uint32_t relay_sessions;     // from a relay: count of sessions that it forwards now
    bool relay_lost;             // from an actor: it cannot reach the relay at relay_address
    bool knows_shards;           // the peer obeys shard, or shard_address, of the answer
    bool knows_newest;           // the peer obeys newest_version of the answer
} wire_register;

typedef struct wire_registered {
    bool accepted;      // false: reason says why (for example another observation shape)
    const char *reason; // "" when accepted
    uint64_t run_id;
    uint32_t actor_id;               // unique for the run; 0 until has_env was sent to its learner
    uint64_t session;                // with an actor_id: part of its batches and reports
    uint32_t actor_index;            // position in the exploration ladder, 0-based
    uint32_t incarnation;            // count of earlier registrations of this index
    const char *config;              // the resolved experiment file (YAML)
    const char *policy_address;      // of the publisher of policies. With host 0.0.0.0 here or in
    const char *replay_address;      // replay_address, the peer uses the learner's host instead
    uint8_t token[WIRE_TOKEN_BYTES]; // of the session, with an actor_id; the actor repeats it
    uint32_t policy_topic;           // topic of the policies for this actor (wire_policy_topic)
    bool is_relayed;                 // policy_address and replay_address are a relay's
    uint32_t shard;       // to an actor: index of its session's replay; 0 unless knows_shards
    uint32_t shard_count; // to a relay: at most WIRE_SHARDS_MAX; 0: the learner's release has one
    const char *const *shard_address; // [shard_count] addresses of all replays
    bool names_newest;                // only to an actor that knows_newest
    uint64_t newest_version; // newest published version, 0: none yet; older policies are not sent
    bool has_signature;      // as in wire_policy; with public_key, which verifies policies, too
    uint8_t public_key[WIRE_PUBLIC_KEY_BYTES];
    uint8_t signature[WIRE_SIGNATURE_BYTES];
} wire_registered;

typedef enum wire_policy_purpose {
    WIRE_PURPOSE_CATCH_UP = 1, // the newest version, if newer than have_version
    WIRE_PURPOSE_EVALUATE = 2, // the policy to evaluate next, and the count of episodes
} wire_policy_purpose;

typedef struct wire_get_policy {
    uint32_t actor_id;
    wire_policy_purpose purpose;
    uint64_t have_version;
    uint8_t token[WIRE_TOKEN_BYTES];
} wire_get_policy;

typedef struct wire_got_policy {
    bool has_policy; // false: nothing newer, or nothing to evaluate now
    wire_policy policy;
    uint64_t ticket;   // evaluation: the report repeats it
    uint32_t episodes; // evaluation: count of episodes
    uint64_t seed;     // evaluation: seed of the environments
} wire_got_policy;

// Finished episodes, and the actor's statistics. report_sequence makes a report idempotent.
typedef struct wire_report {
    uint32_t actor_id;
    uint64_t session;
    uint64_t report_sequence;
    uint64_t policy_version; // in use now
    uint64_t env_steps;      // of this session
    uint64_t
        ticket; // 0: training episodes; else of the wire_got_policy that asked for this evaluation
    uint32_t episode_count;
    const float *episode_return;    // [episode_count] undiscounted
    const uint32_t *episode_length; // [episode_count]
    uint32_t stat_count, metric_count;
    const char *const *stat_name; // [stat_count]
    const double *stat_value;
    const char *const *metric_name; // [metric_count] of an evaluation, as oct_metric has them
    const double *metric_sum;
    const uint32_t *metric_episodes; // each at most episode_count
    uint8_t token[WIRE_TOKEN_BYTES];
    bool leaves;           // the last report: the session ends, and the other fields are ignored
    const char *unreached; // address to which the actor cannot connect; NULL or "": none
} wire_report;

// The checkpoint that the request asked for is on the disk.
typedef struct wire_written {
    uint64_t updates, env_steps; // from which a resumed run continues
} wire_written;

typedef struct wire_stop {
    const char *reason; // "interrupted", "solved" …: written to summary.json
} wire_stop;

#endif // PROTO_WIRE_LEARNER_H
