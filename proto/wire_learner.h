#ifndef PROTO_WIRE_LEARNER_H
#define PROTO_WIRE_LEARNER_H

#include "proto/wire.h"

// The messages of service Learner, as wire.h has the others: what actors, evaluators, relays and
// tools ask the learner, and its answers.

typedef enum wire_role {
    WIRE_ROLE_ACTOR = 1,
    WIRE_ROLE_EVALUATOR = 2,
    WIRE_ROLE_TOOL = 3,
    WIRE_ROLE_RELAY = 4
} wire_role;

// What an actor found out about its environment (include/octet/env.h).
typedef struct wire_env_spec {
    const char *env_id;
    uint32_t obs_dtype;      // policy_dtype
    uint32_t obs_count;      // numbers in one flattened observation
    uint32_t action_kind;    // policy_action_kind
    uint32_t action_count;   // discrete: how many; box: dimension
    const float *action_low; // [action_count] for box, NULL for discrete
    const float *action_high;
    uint32_t max_episode_steps;     // 0: none
    double reward_threshold;        // NaN: none
    uint32_t obs_rank;              // 0: not told
    const uint32_t *obs_shape;      // [obs_rank], outermost first; their product is obs_count
    uint32_t obs_high;              // as policy_spec's
    uint32_t metric_count;          // 0: none, or its release does not tell
    const char *const *metric_name; // [metric_count] of what it measures itself
} wire_env_spec;

// Sent twice: first with has_env = false to learn the configuration, then with the environment's
// spec. A learner of another run than the configuration's answers the second as it does the first:
// with its own configuration, and without a session. Idempotent: the same session with its token,
// or the same label, gets the same answer.
typedef struct wire_register {
    wire_role role;
    uint64_t label;   // random, its own for as long as it lives; the answer is signed for it
    uint64_t session; // that the learner gave to it before; 0: none yet
    uint8_t token[WIRE_TOKEN_BYTES]; // with a session
    const char *host;
    uint32_t pid;
    bool has_env;
    wire_env_spec env;
    uint64_t run_id; // with has_env: of the configuration that it has; 0: its release tells none
    uint32_t place;  // the index that it is to have, plus 1; 0: the lowest that is free
    uint64_t libm; // lock-step: of its machine (oct_libm.h); 0: not in lock-step, or not yet known
    const char *relay_address;   // of a relay: where actors find it, "": it is for relays alone. Of
                                 // an actor: of the relay that it goes through, "": of none
    const char *relay_above;     // of a relay: of the one that it goes through itself, "": of none
    uint64_t relay_number;       // of a relay: as in wire_gathered
    uint64_t relay_above_number; // of the one that it goes through, 0: of none, or not yet known
    uint32_t relay_sessions;     // of a relay: that it passes on now
    bool relay_lost;             // of an actor: that relay cannot be reached
    bool knows_shards;           // it goes by shard, or shard_address, of the answer
    bool knows_newest;           // it goes by newest_version of the answer
} wire_register;

typedef struct wire_registered {
    bool accepted;      // false: reason says why (another observation shape, say)
    const char *reason; // "" when accepted
    uint64_t run_id;
    uint32_t actor_id;               // unique for the run; 0 until has_env was sent to its learner
    uint64_t session;                // with an actor_id: its batches and reports bear it
    uint32_t actor_index;            // place in the exploration ladder, 0-based
    uint32_t incarnation;            // how often this index was registered before
    const char *config;              // the resolved experiment file (YAML)
    const char *policy_address;      // where policies are published; may have host 0.0.0.0: use the
    const char *replay_address;      // host that the learner was reached at
    uint8_t token[WIRE_TOKEN_BYTES]; // of the session, with an actor_id; the actor repeats it
    uint32_t policy_topic;           // the policies that are for this actor (wire_policy_topic)
    bool is_relayed;                 // the two addresses are a relay's
    uint32_t shard;       // of an actor: the replay that its session is of; 0 unless knows_shards
    uint32_t shard_count; // of a relay: at most WIRE_SHARDS_MAX; 0: the learner's release knows one
    const char *const *shard_address; // [shard_count] of all replays
    bool names_newest;                // only of an actor that knows_newest
    uint64_t newest_version; // the newest that is published, 0: none yet; no older policy is sent
    bool has_signature;      // as of a policy, with the key that signs them
    uint8_t public_key[WIRE_PUBLIC_KEY_BYTES];
    uint8_t signature[WIRE_SIGNATURE_BYTES];
} wire_registered;

typedef enum wire_policy_purpose {
    WIRE_PURPOSE_CATCH_UP = 1, // newest version, if newer than have_version
    WIRE_PURPOSE_EVALUATE = 2, // what the learner wants evaluated next, and on how many episodes
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
    uint64_t ticket;   // evaluation: repeated in the report
    uint32_t episodes; // evaluation: how many
    uint64_t seed;     // evaluation: of the environments
} wire_got_policy;

// Finished episodes, and the actor's own numbers. report_sequence makes it idempotent.
typedef struct wire_report {
    uint32_t actor_id;
    uint64_t session;
    uint64_t report_sequence;
    uint64_t policy_version; // in use now
    uint64_t env_steps;      // of this session
    uint64_t ticket;         // 0: training episodes; else the evaluation this answers
    uint32_t episode_count;
    const float *episode_return;    // [episode_count] undiscounted
    const uint32_t *episode_length; // [episode_count]
    uint32_t stat_count, metric_count;
    const char *const *stat_name; // [stat_count]
    const double *stat_value;
    const char *const *metric_name; // [metric_count] of an evaluation, as oct_metric has them
    const double *metric_sum;
    const uint32_t *metric_episodes; // at most episode_count each
    uint8_t token[WIRE_TOKEN_BYTES];
    bool leaves;           // the last report: the place is given up, nothing else of it counts
    const char *unreached; // address to which no connection can be opened; NULL or "": none
} wire_report;

// Of the checkpoint that was asked for: it is on the disk.
typedef struct wire_written {
    uint64_t updates, env_steps; // that a resumed run goes on from
} wire_written;

typedef struct wire_stop {
    const char *reason; // "interrupted", "solved" …: goes into summary.json
} wire_stop;

#endif // PROTO_WIRE_LEARNER_H
