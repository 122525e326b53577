#ifndef PROTO_WIRE_PEERS_H
#define PROTO_WIRE_PEERS_H

#include <stdint.h>

// Learner.LearnerPeers: who has registered, for people. Part of wire.h, whose rules hold here.

#define WIRE_PEERS_MAX  1024 // in one answer
#define WIRE_RELAYS_MAX 256  // of one learner

typedef struct wire_get_peers {
    uint32_t count_max; // entries wanted at most: 1 .. WIRE_PEERS_MAX
} wire_get_peers;

// X(name): the numbers of each peer; NaN where it has not told or has none (an evaluator's lag).
// Rates and shares are of its last reports, over a second at least.
#define WIRE_PEER_NUMBERS(X)                                                                       \
    X(session_s)    /* since it registered */                                                      \
    X(heard_s)      /* since the learner last heard of it */                                       \
    X(env_steps)    /* of its session */                                                           \
    X(steps_per_s)  /* environment steps */                                                        \
    X(lag_versions) /* behind the newest policy */                                                 \
    X(lag_updates)  /* the same in updates; NaN when it is too long ago */                         \
    X(infer_share)  /* 0 .. 1 of its acting thread's time, as are the next three */                \
    X(env_share)                                                                                   \
    X(collect_share)                                                                               \
    X(wait_share) /* for replay */                                                                 \
    X(resent)     /* batches sent again, of its session */                                         \
    X(unacked)    /* batches that it holds because replay has not acknowledged them */

// X(name): the same, from learners that know these numbers.
#define WIRE_PEER_LATER_NUMBERS(X)                                                                 \
    X(stuck_s)        /* that a step of its environments has taken, if far too long; else 0 */     \
    X(unacked_s)      /* for which replay has acknowledged none of its unacked batches; else 0 */  \
    X(resident_bytes) /* memory of its process */                                                  \
    X(restarts)       /* of its process */

// The most urgent problem of a peer, the least urgent first.
#define WIRE_PEER_HEALTHS(X)                                                                       \
    X(LIVE, "live")         /* has no problem */                                                   \
    X(RESTARTS, "restarts") /* its process was started again and again */                          \
    X(MEMORY, "memory")     /* far more than the median */                                         \
    X(SLOW, "slow")         /* far fewer steps/s than the median */                                \
    X(LAGS, "lags")         /* far more versions behind than the median */                         \
    X(RING_FULL, "full")    /* waits for replay nearly all the time, and most others do not */     \
    X(SILENT, "silent")     /* not heard of lately */                                              \
    X(UNACKED, "no acks")   /* replay acknowledges none of its batches */                          \
    X(STUCK, "stuck")       /* a step of its environments does not end */
typedef enum wire_peer_health {
#define X(name, word) WIRE_PEER_##name,
    WIRE_PEER_HEALTHS(X)
#undef X
        WIRE_PEER_HEALTH_COUNT,
} wire_peer_health;

// The relays that were heard of lately, and those that were not and are missed, in columns.
typedef struct wire_relays {
    uint32_t count;
    const char *const *host; // [count]
    const uint32_t *pid;
    const char *const *address; // where actors find it; "": it is for relays alone
    const char *const *above;   // address of the relay that it goes through; "": of none
    const uint32_t *is_silent;  // 0, 1
    const uint32_t *actors;     // live, that were given it
    const uint32_t *sessions;   // that it passes on, as it says
    const double *heard_s;      // since it last said that it lives
} wire_relays;

// The registered actors and evaluators in columns, ordered by health, the most urgent first. Of the
// silent ones (the last heard of first) at most a quarter of count_max is listed. Among equals
// evaluators come first, then actors by how much slower and more behind they are than the median.
// The counts are of all of them.
typedef struct wire_peers {
    uint64_t run_id;
    uint64_t policy_version; // the newest; 0: none yet
    uint32_t actors;         // heard of lately
    uint32_t evaluators;     // heard of lately
    uint32_t silent;         // not heard of lately
    uint32_t stuck;          // heard of lately, in a step that does not end
    uint32_t gone;           // silent for so long that they are not listed
    double env_steps_per_s;  // of all actors
    double lag_mean;         // versions
    uint32_t count;          // listed
    const uint32_t *id;      // [count]
    const uint32_t *role;    // [count] wire_role: actor or evaluator
    const uint32_t *pid;
    const uint32_t *is_silent; // 0, 1
    const char *const *host;
    const uint64_t *version; // of the policy that it holds; 0: not told
#define X(name) const double *name;
    WIRE_PEER_NUMBERS(X)
#undef X
    // [count], or NULL: the learner does not tell.
    const uint32_t *health; // wire_peer_health
#define X(name) const double *name;
    WIRE_PEER_LATER_NUMBERS(X)
#undef X
    // [count], or NULL: no listed peer has one.
    const char *const *unreached; // address to which it has no connection; "": none
    // [count], or NULL: nobody has a certificate, or the learner does not tell.
    const char *const *certificate; // its name; "": none
    const uint32_t *certificate_id; // the first four bytes of its SHA-256; two may have one name
    const uint32_t *places;         // that are held with it
    uint32_t places_max;            // that one certificate may hold; 0: any number
    const uint32_t *relay; // [count] its place in relays, plus 1; 0: none. NULL without relays
    wire_relays relays;
} wire_peers;

#endif // PROTO_WIRE_PEERS_H
