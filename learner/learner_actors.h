#ifndef LEARNER_LEARNER_ACTORS_H
#define LEARNER_LEARNER_ACTORS_H

#include "common/oct_role.h"
#include "proto/wire_learner.h"
#include "proto/wire_replay.h"

// Who has registered. The session of each is drawn here, at random; its id is made of the session,
// so that it stays the same when the learner restarts. Its index is the lowest free place in the
// exploration ladder.
//
// Registering costs nothing, and what an actor says of itself is only its word: a place is kept by
// those of whom replay says that it took rows.
//
// Nothing that is done for one actor takes longer because there are many, but for a newcomer whose
// certificate holds all that it may: its places are looked through.
//
// Threads: the loop thread. Owns: its table, which grows with them, by 0.9 KB each, and stays so
// large. Full: of LEARNER_ACTORS_MAX, or of as many as one certificate may hold, one that is silent
// loses its place to a newcomer (of that certificate), or an actor whose rows replay has not taken
// LEARNER_ACTOR_PROVE_S after it registered; OCT_EAGAIN where there is none.
#define LEARNER_ACTORS_MAX     WIRE_PLACES_MAX
#define LEARNER_ACTOR_SILENT_S 10 // not heard of: counted as gone, its index is free again
#define LEARNER_ACTOR_PROVE_S  3

#define LEARNER_ACTOR_HOST_MAX    64 // bytes of a host's name that are kept, with the ending zero
#define LEARNER_ACTOR_ADDRESS_MAX 96 // the same of an address

// The numbers that rates are made of, as a report gave them.
typedef struct learner_actor_counts {
    uint64_t at_ns; // 0: no report yet
    uint64_t env_steps;
    double infer_s, env_s, collect_s, wait_s;
} learner_actor_counts;

// What it did in its last second or more; NaN: not known yet.
typedef struct learner_actor_rates {
    double steps_per_s;
    double infer_share, env_share, collect_share, wait_share; // of its acting thread's time
} learner_actor_rates;

typedef struct learner_actor {
    uint64_t session; // 0: free
    uint64_t label;   // its own number, 0: none
    uint32_t id;
    uint32_t index;
    uint32_t at;          // its place in the table
    bool is_counted;      // among the live ones
    bool is_placed;       // it asked for this index
    bool was_known;       // it came with its session
    bool has_inserted;    // rows, says replay
    bool has_left;        // it said so, or its next incarnation is there
    uint64_t relay;       // that it was given (learner_relays_key); 0: none
    uint32_t incarnation; // how often this index was given to an actor before, over all processes
    wire_role role;
    uint64_t ticket;   // of an evaluator: of its last order, until it answers; 0: none
    oct_holder holder; // of what certificate; zeros: it was asked for none
    uint64_t seen_ns;
    uint64_t report_sequence;
    uint64_t policy_version;
    uint64_t env_steps; // as last reported: for people, the run's are counted from replay
    bool reported;
    double bytes, dropped, failures, resent, infer_s, env_s, collect_s, wait_s, cpu_s;
    double policy_gaps, unacked, evaluation_failures;
    // of its last report, at told_ns; NaN: not reported
    uint64_t told_ns;
    double stuck_s;        // that a step of its environments has taken; 0: not too long
    double unacked_s;      // for which replay has acknowledged none of its batches; 0: none is held
    double resident_bytes; // memory of its process
    double restarts;       // of its process; of an index that it asked for also from this table
    char unreached[LEARNER_ACTOR_ADDRESS_MAX]; // it has no connection to this address; "": it has
    // for people: learner_peers.h
    char host[LEARNER_ACTOR_HOST_MAX];
    uint32_t pid;
    uint64_t joined_ns;
    learner_actor_counts from; // when the rates were last renewed
    learner_actor_rates rates;
} learner_actor;

// Silent for longer: gone, which is counted and no longer listed.
#define LEARNER_PEER_GONE_S 300

// Who registers.
typedef struct learner_newcomer {
    wire_role role;
    uint64_t session; // that it has: whoever gives it here has seen its token, or made it up.
                      // 0: it gets one
    uint64_t label;   // its own number, 0: none. With the same role and certificate: it has asked
                      // before, and gets the same answer
    uint32_t place;   // the index that it is to have, plus 1; 0: the lowest that is free
    const oct_holder *holder; // the certificate that it came with; NULL: it was asked for none, and
                              // no limit is its own
} learner_newcomer;

typedef struct learner_actors learner_actors;

typedef struct learner_actors_totals {
    uint32_t actors;     // live ones that act
    uint32_t evaluators; // live
    uint32_t stuck;      // live actors and evaluators in a step that does not end
    double lag_mean;     // versions behind newest, mean over live actors
    uint64_t lag_max;
    // Of all sessions, what they did while they were here.
    double bytes, dropped, failures, resent, infer_s, env_s, collect_s, wait_s;
    double policy_gaps;         // times that an actor missed a version
    double evaluation_failures; // steps and resets that failed in evaluators
} learner_actors_totals;

typedef struct learner_actors_live {
    uint32_t actors; // that act
    uint32_t evaluators;
} learner_actors_live;

// per_holder: places that one certificate may hold, of silent ones, too; 0: any number.
learner_actors *learner_actors_create(uint32_t per_holder);
void learner_actors_destroy(learner_actors *actors); // NULL is a no-op
// Indices begin at this incarnation: what learner_actors_incarnations gave to an earlier process.
// Once, before anybody registers.
void learner_actors_go_on(learner_actors *actors, uint32_t incarnations);
uint32_t learner_actors_incarnations(const learner_actors *actors); // above all that were given
// The same session, or label, gets the same answer. OCT_EAGAIN: no place, or a live actor has the
// id that the given session makes. OCT_EINVAL: the session has another role, or the place is above
// LEARNER_ACTORS_MAX.
// With a place it is the next incarnation of whoever asked for that index before, with the same
// certificate: that one counts as having left, if it was live. An index that any other live actor
// has is not given: the lowest that is free is.
OCT_CHECKED oct_err learner_actors_register(learner_actors *actors, const learner_newcomer *who,
                                            uint64_t now_ns, learner_actor **out);
// Of the actor of a session; not 0.
uint32_t learner_actors_id(uint64_t session);
// Whether it came with that certificate; NULL: with none.
bool learner_actor_came_with(const learner_actor *actor, const oct_holder *holder);
// How many places a certificate holds, and how many one may; 0: any number.
uint32_t learner_actors_held(const learner_actors *actors, const oct_holder *holder);
uint32_t learner_actors_per_holder(const learner_actors *actors);
// Whether a certificate has as many places as it may hold.
bool learner_actors_is_full(const learner_actors *actors, const oct_holder *holder);
learner_actor *learner_actors_find(const learner_actors *actors, uint32_t id); // NULL: unknown
const learner_actor *learner_actors_of(const learner_actors *actors, uint64_t session); // too
// It has called.
void learner_actors_heard(learner_actors *actors, learner_actor *actor, uint64_t now_ns);
// The relay that it goes through (learner_relays_key), 0: none; and how many live ones go through
// one.
void learner_actors_set_relay(learner_actors *actors, learner_actor *actor, uint64_t relay);
uint32_t learner_actors_relayed(learner_actors *actors, uint64_t relay, uint64_t now_ns);
// OCT_EAGAIN: a report that was counted before (REQ repeats). OCT_EINVAL: a number of it cannot be
// (a counter that falls, or is negative); nothing of it was taken, what gets its name.
OCT_CHECKED oct_err learner_actors_report(learner_actors *actors, learner_actor *actor,
                                          const wire_report *report, uint64_t now_ns,
                                          const char **what);
// It has said that it ends, and is not live any more. Its place is free at once (actor is of no use
// then), but that of one that acts only when replay has said that it took rows of it: else one
// could register without end. It gives way as it would have (LEARNER_ACTOR_PROVE_S), and is dropped
// after LEARNER_ACTOR_SILENT_S.
void learner_actors_leave(learner_actors *actors, learner_actor *actor);
// Actors lately heard of, also if they have left, of whom replay has not said yet that it took
// rows; out's columns stand until the next call. 0: none.
uint32_t learner_actors_unproved(learner_actors *actors, uint64_t now_ns, wire_sessions *out);
// Replay took rows of these sessions. Others than are registered are passed over.
void learner_actors_inserted(learner_actors *actors, const wire_sessions *sessions);
// Who it says it is; cut to what is kept, at a whole character.
void learner_actor_introduce(learner_actor *actor, const char *host, uint32_t pid);
bool learner_actor_is_live(const learner_actor *actor, uint64_t now_ns);
// Seconds that the environments of a live peer have been in a step that takes far too long, as the
// peer judges it; 0: they are in none.
double learner_actor_stuck_s(const learner_actor *actor, uint64_t now_ns);
// Which samples of a noisy policy are acted with (learner_actor_sample): bit s for sample s.
uint64_t learner_actors_samples(const learner_actors *actors, uint64_t now_ns, uint32_t samples);
uint32_t learner_actor_sample(const learner_actor *actor, uint32_t samples); // by its index
// Everybody there is a place for, for i from 0 until NULL; places may be free (session 0).
const learner_actor *learner_actors_at(const learner_actors *actors, uint32_t i);
// How many live, for those who need no more.
learner_actors_live learner_actors_live_get(learner_actors *actors, uint64_t now_ns);
// Looks at each of them.
void learner_actors_totals_get(const learner_actors *actors, uint64_t now_ns,
                               uint64_t newest_version, learner_actors_totals *out);

#endif // LEARNER_LEARNER_ACTORS_H
