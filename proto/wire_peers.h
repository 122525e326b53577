#ifndef PROTO_WIRE_PEERS_H
#define PROTO_WIRE_PEERS_H

#include <stdint.h>

// Learner.LearnerPeers: the registered peers, for people to read. Part of wire.h; the rules there
// hold here.

#define WIRE_PEERS_MAX  1024 // in one answer
#define WIRE_RELAYS_MAX 256  // of one learner

typedef struct wire_get_peers {
    uint32_t count_max; // most entries of the answer: 1 .. WIRE_PEERS_MAX
} wire_get_peers;

// X(name): numbers of each peer. NaN: the peer has not reported the number, or has none (an
// evaluator's lag). Rates and shares are of its last reports and cover at least a second.
#define WIRE_PEER_NUMBERS(X)                                                                       \
    X(session_s)    /* since the peer registered */                                                \
    X(heard_s)      /* since the peer's last message to the learner */                             \
    X(env_steps)    /* of its session */                                                           \
    X(steps_per_s)  /* environment steps */                                                        \
    X(lag_versions) /* behind the newest policy */                                                 \
    X(lag_updates)  /* the same in updates; NaN if the lag is too large to know */                 \
    X(infer_share)  /* 0 .. 1 of its acting thread's time, as are the next three */                \
    X(env_share)                                                                                   \
    X(collect_share)                                                                               \
    X(wait_share) /* for replay */                                                                 \
    X(resent)     /* batches sent again, of its session */                                         \
    X(unacked)    /* batches that it holds because replay has not acknowledged them */

// X(name): numbers of each peer in columns that learners of earlier releases lack. Add new numbers
// here.
#define WIRE_PEER_LATER_NUMBERS(X)                                                                 \
    X(stuck_s)   /* time that a step of its environments has taken, if far too long; else 0 */     \
    X(unacked_s) /* time without an ack, if it has unacked batches; else 0 */                      \
    X(resident_bytes) /* memory of its process */                                                  \
    X(restarts)       /* of its process */

// The most urgent problem of a peer. The list begins with the least urgent.
#define WIRE_PEER_HEALTHS(X)                                                                       \
    X(LIVE, "live")         /* has no problem */                                                   \
    X(RESTARTS, "restarts") /* its process is restarted repeatedly */                              \
    X(MEMORY, "memory")     /* far more than the median */                                         \
    X(SLOW, "slow")         /* far fewer steps/s than the median */                                \
    X(LAGS, "lags")         /* far more versions behind than the median */                         \
    X(RING_FULL, "full")    /* waits for replay nearly all the time, and most others do not */     \
    X(SILENT, "silent")     /* has sent nothing lately */                                          \
    X(UNACKED, "no acks")   /* replay acknowledges none of its batches */                          \
    X(STUCK, "stuck")       /* a step of its environments does not end */
typedef enum wire_peer_health {
#define X(name, word) WIRE_PEER_##name,
    WIRE_PEER_HEALTHS(X)
#undef X
        WIRE_PEER_HEALTH_COUNT,
} wire_peer_health;

// The live relays, and the silent relays that no later relay at their address replaces, in columns.
typedef struct wire_relays {
    uint32_t count;
    const char *const *host; // [count]
    const uint32_t *pid;
    const char *const *address; // for actors; "": the relay serves relays only
    const char *const *above;   // address of the relay that it uses; "": none
    const uint32_t *is_silent;  // 0, 1
    const uint32_t *actors;     // count of live actors that were assigned to it
    const uint32_t *sessions;   // count of sessions that it forwards, as it reports
    const double *heard_s;      // time since it last registered
} wire_relays;

// The registered actors and evaluators in columns, ordered by health, the most urgent first. At
// most a quarter of count_max are silent peers, the latest to fall silent first. Among peers of
// equal health evaluators come first, then actors by how much slower and further behind they are
// than the median. The counts include the peers that are not listed.
typedef struct wire_peers {
    uint64_t run_id;
    uint64_t policy_version; // the newest; 0: none yet
    uint32_t actors;         // actors that are not silent
    uint32_t evaluators;     // evaluators that are not silent
    uint32_t silent;         // peers that have sent nothing lately
    uint32_t stuck;          // peers that are not silent, in a step that does not end
    uint32_t gone;           // peers that have been silent for too long to be listed
    double env_steps_per_s;  // of all actors
    double lag_mean;         // versions
    uint32_t count;          // of listed peers
    const uint32_t *id;      // [count]
    const uint32_t *role;    // [count] wire_role: actor or evaluator
    const uint32_t *pid;
    const uint32_t *is_silent; // 0, 1
    const char *const *host;
    const uint64_t *version; // of the policy that it holds; 0: not reported
#define X(name) const double *name;
    WIRE_PEER_NUMBERS(X)
#undef X
    // [count] each. NULL: the learner's release does not have this column.
    const uint32_t *health; // wire_peer_health
#define X(name) const double *name;
    WIRE_PEER_LATER_NUMBERS(X)
#undef X
    // [count]. NULL: no listed peer has an unreached address.
    const char *const *unreached; // address to which the peer has no connection; "": none
    // [count] each. NULL: no peer has a certificate, or the learner's release does not list them.
    const char *const *certificate; // name in the certificate; "": none
    const uint32_t *certificate_id; // first four bytes of its SHA-256; names may be equal
    const uint32_t *places;         // slots that peers with this certificate hold
    uint32_t places_max;            // most slots of one certificate; 0: no limit
    const uint32_t *relay; // [count] index in relays plus 1; 0: none. NULL: there are no relays
    wire_relays relays;
} wire_peers;

#endif // PROTO_WIRE_PEERS_H
