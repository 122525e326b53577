#ifndef LEARNER_LEARNER_ACTORS_H
#define LEARNER_LEARNER_ACTORS_H

#include "common/oct_role.h"
#include "proto/wire_learner.h"
#include "proto/wire_replay.h"

// The table of registered actors and evaluators. The table draws each session at random and derives
// the id from the session, so an id stays the same when the learner restarts. An actor's index is
// its position in the exploration ladder: the index that it asks for, or else the lowest that is
// free.
//
// Registering is free, and a peer may claim anything about itself. So an actor keeps its slot only
// if replay confirms that it took rows of the actor's session.
//
// Work per actor is constant. Exception: registering under a certificate that is at its limit scans
// that certificate's slots.
//
// Threads: the loop thread. Owns: the table, 0.9 KB for each slot; it grows and does not shrink.
// Full: when all LEARNER_ACTORS_MAX slots, or a certificate's share of them, are taken, a new
// registration evicts a silent entry or, if there is none, an actor from which replay has taken no
// rows LEARNER_ACTOR_PROVE_S after it registered; at a certificate's limit it evicts only entries
// of that certificate. If neither exists, registering returns OCT_EAGAIN.
#define LEARNER_ACTORS_MAX     WIRE_PLACES_MAX
#define LEARNER_ACTOR_SILENT_S 10 // silent for longer: not counted as live, and its index is free
#define LEARNER_ACTOR_PROVE_S  3

#define LEARNER_ACTOR_HOST_MAX    64 // bytes kept of a host's name, with the terminating zero
#define LEARNER_ACTOR_ADDRESS_MAX 96 // bytes kept of an address, with the terminating zero

// Counters of one report, from which the rates up to the next report are computed.
typedef struct learner_actor_counts {
    uint64_t at_ns; // 0: no report yet
    uint64_t env_steps;
    double infer_s, env_s, collect_s, wait_s;
} learner_actor_counts;

// An actor's rates over the last second or longer; NaN: not known yet.
typedef struct learner_actor_rates {
    double steps_per_s;
    double infer_share, env_share, collect_share, wait_share; // of its acting thread's time
} learner_actor_rates;

// X(KIND, name): the named numbers of reports that the table keeps, each 0 or more. A SUMMED number
// is a counter that never falls within a session, and its growth is added to the same number of
// learner_actors_totals. A COUNTER never falls either, but is not summed. A GAUGE is 0 until the
// first report. A LATER gauge is NaN until an actor reports it; older releases never do.
#define LEARNER_ACTOR_NUMBERS(X)                                                                   \
    X(SUMMED, bytes)                                                                               \
    X(SUMMED, dropped)                                                                             \
    X(SUMMED, failures)                                                                            \
    X(SUMMED, resent)                                                                              \
    X(SUMMED, infer_s)                                                                             \
    X(SUMMED, env_s)                                                                               \
    X(SUMMED, collect_s)                                                                           \
    X(SUMMED, wait_s)                                                                              \
    X(SUMMED, policy_gaps)                                                                         \
    X(SUMMED, evaluation_failures)                                                                 \
    X(COUNTER, cpu_s)                                                                              \
    X(GAUGE, unacked)   /* batches that it holds */                                                \
    X(GAUGE, stuck_s)   /* duration of the current environment step; 0: not too long */            \
    X(GAUGE, unacked_s) /* time without an acknowledgement while it holds batches; 0: none held */ \
    X(LATER, resident_bytes) /* memory of its process */                                           \
    X(LATER, restarts)       /* of its process; from the table until it reports the number */

typedef struct learner_actor {
    uint64_t session; // 0: the slot is free
    uint64_t label;   // a number that the actor chose for itself; 0: none
    uint32_t id;
    uint32_t index;
    uint32_t at;          // its index in the table
    bool is_counted;      // counted as live
    bool is_placed;       // it asked for this index
    bool was_known;       // it registered with a session that it already had
    bool has_inserted;    // replay has taken rows from it
    bool has_left;        // it ended, or the next incarnation at its index has registered
    uint64_t relay;       // the relay given to it (learner_relays_key); 0: none
    uint32_t incarnation; // grows with each actor at the index; never given twice
    wire_role role;
    uint64_t ticket;   // of an evaluator's last order, until it answers; 0: none
    oct_holder holder; // its certificate; all zeros where the transport uses none
    uint64_t seen_ns;
    uint64_t report_sequence;
    uint64_t policy_version;
    uint64_t env_steps; // as last reported, for display only: replay counts the run's steps
    bool reported;
    uint64_t reported_ns; // time of the last report
#define X(kind, name) double name;
    LEARNER_ACTOR_NUMBERS(X)
#undef X
    char unreached[LEARNER_ACTOR_ADDRESS_MAX]; // an address it cannot connect to; "": none
    // for display (learner_peers.h)
    char host[LEARNER_ACTOR_HOST_MAX];
    uint32_t pid;
    uint64_t joined_ns;
    learner_actor_counts from; // where the rates were last computed
    learner_actor_rates rates;
} learner_actor;

// A peer that is silent for longer is counted as gone and no longer listed.
#define LEARNER_PEER_GONE_S 300

// A request to register.
typedef struct learner_registrant {
    wire_role role;
    uint64_t session;         // its session, verified by the caller; 0: the table draws one
    uint64_t label;           // a number that it chose; 0: none. A request with the label, role and
                              // certificate of an entry is a repeated one
    uint32_t place;           // the index that it asks for, plus 1; 0: the lowest that is free
    const oct_holder *holder; // its certificate; NULL: the transport uses none, and no limit per
                              // certificate applies
} learner_registrant;

typedef struct learner_actors learner_actors;

typedef struct learner_actors_totals {
    uint32_t actors;     // live actors
    uint32_t evaluators; // live evaluators
    uint32_t stuck;      // live actors and evaluators in an environment step that takes too long
    double lag_mean;     // versions behind the newest, mean over live actors
    uint64_t lag_max;
    // Sums over all sessions of this process, ended ones included.
    double bytes, dropped, failures, resent, infer_s, env_s, collect_s, wait_s;
    double policy_gaps;         // times that an actor missed a version
    double evaluation_failures; // steps and resets that failed in evaluators
} learner_actors_totals;

typedef struct learner_actors_live {
    uint32_t actors; // live actors
    uint32_t evaluators;
} learner_actors_live;

// per_holder: slots that one certificate may hold, including silent entries; 0: no limit.
learner_actors *learner_actors_create(uint32_t per_holder);
void learner_actors_destroy(learner_actors *actors); // NULL is a no-op
// Sets the lowest incarnation, from learner_actors_incarnations of an earlier process. Call it at
// most once, before the first registration.
void learner_actors_go_on(learner_actors *actors, uint32_t incarnations);
uint32_t learner_actors_incarnations(const learner_actors *actors); // above all given
// Registers an actor or an evaluator. A repeated request, with the session or the label of an
// entry, returns that entry.
//   OCT_EINVAL  the session has another role, or the index is not below LEARNER_ACTORS_MAX
//   OCT_EAGAIN  no slot is free, or a live actor has the same id as this session
// If who->place names an index, the entry is the next incarnation of the actor that asked for this
// index before with the same certificate; if that actor is live, it counts as having left. If
// another live actor has the index, the lowest free index is given instead.
OCT_CHECKED oct_err learner_actors_register(learner_actors *actors, const learner_registrant *who,
                                            uint64_t now_ns, learner_actor **out);
// Returns the id of a session's actor, which is not 0.
uint32_t learner_actors_id(uint64_t session);
// Returns true if the actor registered with this certificate; NULL: with none.
bool learner_actor_came_with(const learner_actor *actor, const oct_holder *holder);
// Return how many slots a certificate holds, and how many each may hold (0: no limit).
uint32_t learner_actors_held(const learner_actors *actors, const oct_holder *holder);
uint32_t learner_actors_per_holder(const learner_actors *actors);
// Returns true if the certificate holds all slots that it may hold.
bool learner_actors_is_full(const learner_actors *actors, const oct_holder *holder);
learner_actor *learner_actors_find(const learner_actors *actors, uint32_t id); // NULL: unknown
const learner_actor *learner_actors_of(const learner_actors *actors,
                                       uint64_t session); // NULL: unknown
// Records that the actor has sent a message.
void learner_actors_heard(learner_actors *actors, learner_actor *actor, uint64_t now_ns);
// Sets the relay that the actor uses (learner_relays_key; 0: none), and returns how many live
// actors and evaluators use a relay.
void learner_actors_set_relay(learner_actors *actors, learner_actor *actor, uint64_t relay);
uint32_t learner_actors_relayed(learner_actors *actors, uint64_t relay, uint64_t now_ns);
// Takes a report. OCT_EAGAIN: the report was counted before (requests are repeated). OCT_EINVAL: a
// number is impossible (a counter falls or is negative); what is its name, and no number was taken.
OCT_CHECKED oct_err learner_actors_report(learner_actors *actors, learner_actor *actor,
                                          const wire_report *report, uint64_t now_ns,
                                          const char **what);
// Marks an actor or evaluator as ended: it is not live any more. Its slot is freed at once, and the
// caller must not use actor again. Exception: an actor from which replay has taken no rows yet
// keeps its slot until replay confirms rows, another registration evicts it
// (LEARNER_ACTOR_PROVE_S), or LEARNER_ACTOR_SILENT_S have passed; otherwise a peer could register
// and leave without limit.
void learner_actors_leave(learner_actors *actors, learner_actor *actor);
// Returns the number of actors, ended ones included, that sent a message within
// LEARNER_ACTOR_SILENT_S and from which replay has not taken rows yet. out lists them; its columns
// are valid until the next call.
uint32_t learner_actors_unproved(learner_actors *actors, uint64_t now_ns, wire_sessions *out);
// Records that replay has taken rows of these sessions. Sessions that are not registered are
// ignored.
void learner_actors_inserted(learner_actors *actors, const wire_sessions *sessions);
// Sets the host name, cut at a whole character, and the process id, as the actor states them.
void learner_actor_introduce(learner_actor *actor, const char *host, uint32_t pid);
bool learner_actor_is_live(const learner_actor *actor, uint64_t now_ns);
// Returns for how many seconds an environment step of a live peer has been taking far too long, as
// the peer judges it; 0: no step does.
double learner_actor_stuck_s(const learner_actor *actor, uint64_t now_ns);
// Returns the samples of a noisy policy that live actors use (learner_actor_sample): bit s is
// sample s.
uint64_t learner_actors_samples(const learner_actors *actors, uint64_t now_ns, uint32_t samples);
uint32_t learner_actor_sample(const learner_actor *actor, uint32_t samples); // from its index
// Returns the entry in slot i, or NULL above the last used slot. session is 0 in a free slot.
const learner_actor *learner_actors_at(const learner_actors *actors, uint32_t i);
// Returns the numbers of live actors and evaluators, without a scan of the table.
learner_actors_live learner_actors_live_get(learner_actors *actors, uint64_t now_ns);
// Scans the table.
void learner_actors_totals_get(const learner_actors *actors, uint64_t now_ns,
                               uint64_t newest_version, learner_actors_totals *out);

#endif // LEARNER_LEARNER_ACTORS_H
