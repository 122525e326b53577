// The table of registered actors and evaluators: ids, indices in the exploration ladder, reports
// and totals.
#include "learner/learner_actors.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/oct_base.h"
#include "common/oct_slotmap.h"
#include "common/oct_text.h"

#define RATES_NS    1000000000u // shortest time over which rates are computed
#define CHUNK       64u // entries that are allocated together; their addresses do not change
#define CHUNKS      (LEARNER_ACTORS_MAX / CHUNK)
#define INDEX_WORDS (LEARNER_ACTORS_MAX / 64)
#define ROLES       (WIRE_ROLE_EVALUATOR + 1)
#define NONE        OCT_SLOTMAP_NONE

static_assert(CHUNKS * CHUNK == LEARNER_ACTORS_MAX && INDEX_WORDS * 64 == LEARNER_ACTORS_MAX,
              "whole chunks and words");

// The groups of learner_actors.heard. Each is in the order of the last messages.
static const oct_slotmap_key heard = {0, 1}, silent = {0, 2}, unused = {0, 3}, everybody;

struct learner_actors {
    learner_actor *chunk[CHUNKS];
    uint32_t used;              // slots that were ever used
    learner_actors_totals sums; // accumulator over all reports; its counts and lags stay 0
    uint32_t *incarnation;      // [incarnation_room] incarnations given at each index
    uint32_t incarnation_room, incarnation_base;
    uint32_t incarnations; // above all that were given
    uint32_t per_holder;   // 0: no limit
    uint32_t asked_room;
    uint32_t *asked_id; // [asked_room] learner_actors_unproved
    uint64_t *asked_session;
    oct_slotmap *heard; // every entry is in one of the groups
    // Entries with a session.
    oct_slotmap *by_id, *by_label, *by_holder;
    oct_slotmap *unproved; // actors without rows in replay, in the order of registration
    // Entries that count as live.
    oct_slotmap *by_index, *by_relay;
    uint32_t live[ROLES];
    uint64_t taken[ROLES][INDEX_WORDS]; // indices, one bit each
};

learner_actors *
learner_actors_create(uint32_t per_holder)
{
    learner_actors *actors = oct_alloc(sizeof(*actors));
    actors->per_holder = per_holder;
    actors->heard = oct_slotmap_create();
    actors->by_id = oct_slotmap_create();
    actors->by_label = oct_slotmap_create();
    actors->by_holder = oct_slotmap_create();
    actors->unproved = oct_slotmap_create();
    actors->by_index = oct_slotmap_create();
    actors->by_relay = oct_slotmap_create();
    return actors;
}

void
learner_actors_destroy(learner_actors *actors)
{
    if (actors == NULL) {
        return;
    }
    for (size_t i = 0; i < CHUNKS; i++) {
        free(actors->chunk[i]);
    }
    free(actors->incarnation);
    free(actors->asked_id);
    free(actors->asked_session);
    oct_slotmap_destroy(actors->heard);
    oct_slotmap_destroy(actors->by_id);
    oct_slotmap_destroy(actors->by_label);
    oct_slotmap_destroy(actors->by_holder);
    oct_slotmap_destroy(actors->unproved);
    oct_slotmap_destroy(actors->by_index);
    oct_slotmap_destroy(actors->by_relay);
    free(actors);
}

static learner_actor *
entry_at(const learner_actors *actors, uint32_t at)
{
    return &actors->chunk[at / CHUNK][at % CHUNK];
}

void
learner_actors_go_on(learner_actors *actors, uint32_t incarnations)
{
    OCT_ASSERT(actors->used == 0);
    actors->incarnation_base = incarnations;
    actors->incarnations = incarnations;
}

// Returns the incarnation of the next actor at index. No incarnation is given twice at an index.
static uint32_t
incarnation_take(learner_actors *actors, uint32_t index)
{
    if (index >= actors->incarnation_room) {
        uint32_t room = OCT_MAX(actors->incarnation_room, CHUNK);
        while (room <= index) {
            room *= 2;
        }
        uint32_t *grown = oct_alloc(room * sizeof(*grown));
        if (actors->incarnation_room > 0) {
            memcpy(grown, actors->incarnation, actors->incarnation_room * sizeof(*grown));
        }
        free(actors->incarnation);
        actors->incarnation = grown;
        actors->incarnation_room = room;
    }
    uint32_t incarnation = actors->incarnation_base + actors->incarnation[index]++;
    actors->incarnations = OCT_MAX(actors->incarnations, incarnation + 1);
    return incarnation;
}

uint32_t
learner_actors_incarnations(const learner_actors *actors)
{
    return actors->incarnations;
}

uint32_t
learner_actors_id(uint64_t session)
{
    uint32_t id = (uint32_t)(session ^ (session >> 32));
    return id != 0 ? id : 1;
}

// Draws a session that no peer can predict, with an id that no entry has.
static uint64_t
session_draw(learner_actors *actors)
{
    uint64_t session;
    do {
        OCT_ASSERT(getrandom(&session, sizeof(session), 0) == sizeof(session));
    } while (session == 0 || learner_actors_find(actors, learner_actors_id(session)) != NULL);
    return session;
}

static bool
is_heard_of(const learner_actor *actor, uint64_t now_ns)
{
    return actor->session != 0 &&
           now_ns - actor->seen_ns < LEARNER_ACTOR_SILENT_S * UINT64_C(1000000000);
}

bool
learner_actor_is_live(const learner_actor *actor, uint64_t now_ns)
{
    return is_heard_of(actor, now_ns) && !actor->has_left;
}

static bool
is_held_by(const learner_actor *actor, const oct_holder *holder)
{
    return memcmp(actor->holder.id, holder->id, sizeof(holder->id)) == 0;
}

bool
learner_actor_came_with(const learner_actor *actor, const oct_holder *holder)
{
    static const oct_holder nobody;
    return is_held_by(actor, holder != NULL ? holder : &nobody);
}

// ---- numbers

#define UNSUMMED SIZE_MAX

enum { SUMMED, COUNTER, GAUGE, LATER };
#define SUM_SUMMED(name)  offsetof(learner_actors_totals, name)
#define SUM_COUNTER(name) UNSUMMED
#define SUM_GAUGE(name)   UNSUMMED
#define SUM_LATER(name)   UNSUMMED

static const struct number {
    const char *name;
    size_t at; // of a double in learner_actor
    int kind;
    size_t sum_at; // of a double in learner_actors_totals, or UNSUMMED
} numbers[] = {
#define X(kind, name) {#name, offsetof(learner_actor, name), kind, SUM_##kind(name)},
    LEARNER_ACTOR_NUMBERS(X)
#undef X
};

static void
numbers_clear(learner_actor *actor)
{
    for (size_t i = 0; i < OCT_COUNTOF(numbers); i++) {
        *(double *)((char *)actor + numbers[i].at) = numbers[i].kind == LATER ? NAN : 0;
    }
}

// ---- groups

static oct_slotmap_key
key_of_label(uint64_t label, wire_role role)
{
    return (oct_slotmap_key){(uint64_t)role, label};
}

static oct_slotmap_key
key_of_holder(const oct_holder *holder)
{
    oct_slotmap_key key;
    static_assert(sizeof(key) == sizeof(holder->id), "a key is what tells certificates apart");
    memcpy(&key, holder->id, sizeof(key));
    return key;
}

static oct_slotmap_key
key_of_index(uint32_t index, wire_role role)
{
    return (oct_slotmap_key){(uint64_t)role, index};
}

static void
relay_group(learner_actors *actors, const learner_actor *actor)
{
    if (actor->is_counted && actor->relay != 0) {
        oct_slotmap_put(actors->by_relay, (oct_slotmap_key){0, actor->relay}, actor->at);
    } else {
        oct_slotmap_drop(actors->by_relay, actor->at);
    }
}

// Counts the entry as live, or stops counting it.
static void
live_set(learner_actors *actors, learner_actor *actor, bool is_live)
{
    if (actor->is_counted == is_live) {
        return;
    }
    oct_slotmap_key key = key_of_index(actor->index, actor->role);
    uint64_t *word = &actors->taken[actor->role][actor->index / 64];
    uint64_t bit = UINT64_C(1) << actor->index % 64;
    actor->is_counted = is_live;
    if (is_live) {
        oct_slotmap_put(actors->by_index, key, actor->at);
        *word |= bit;
        actors->live[actor->role]++;
    } else {
        oct_slotmap_drop(actors->by_index, actor->at);
        *word &= oct_slotmap_count(actors->by_index, key) > 0 ? ~UINT64_C(0) : ~bit;
        actors->live[actor->role]--;
    }
    relay_group(actors, actor);
}

static void entry_free(learner_actors *actors, learner_actor *actor);

// Stops counting entries that have been silent for too long, and frees those that had ended.
static void
silent_drop(learner_actors *actors, uint64_t now_ns)
{
    uint32_t at;
    while ((at = oct_slotmap_first(actors->heard, heard)) != NONE &&
           !is_heard_of(entry_at(actors, at), now_ns)) {
        learner_actor *actor = entry_at(actors, at);
        if (actor->has_left) {
            entry_free(actors, actor);
        } else {
            oct_slotmap_put(actors->heard, silent, at);
            live_set(actors, actor, false);
        }
    }
}

void
learner_actors_heard(learner_actors *actors, learner_actor *actor, uint64_t now_ns)
{
    actor->seen_ns = now_ns;
    oct_slotmap_put(actors->heard, heard, actor->at);
    live_set(actors, actor, !actor->has_left);
}

learner_actors_live
learner_actors_live_get(learner_actors *actors, uint64_t now_ns)
{
    silent_drop(actors, now_ns);
    return (learner_actors_live){actors->live[WIRE_ROLE_ACTOR], actors->live[WIRE_ROLE_EVALUATOR]};
}

void
learner_actors_set_relay(learner_actors *actors, learner_actor *actor, uint64_t relay)
{
    actor->relay = relay;
    relay_group(actors, actor);
}

uint32_t
learner_actors_relayed(learner_actors *actors, uint64_t relay, uint64_t now_ns)
{
    silent_drop(actors, now_ns);
    return oct_slotmap_count(actors->by_relay, (oct_slotmap_key){0, relay});
}

// ---- slots and indices

// Returns true if who asks for an index that is free, or that a live actor with the same
// certificate asked for before.
static bool
index_is_its(const learner_actors *actors, const learner_registrant *who)
{
    bool is_its = who->place > 0;
    uint32_t at = is_its
                      ? oct_slotmap_first(actors->by_index, key_of_index(who->place - 1, who->role))
                      : NONE;
    for (; at != NONE; at = oct_slotmap_next(actors->by_index, at)) {
        const learner_actor *actor = entry_at(actors, at);
        is_its = is_its && actor->is_placed && learner_actor_came_with(actor, who->holder);
    }
    return is_its;
}

static uint32_t
index_find(const learner_actors *actors, const learner_registrant *who)
{
    if (index_is_its(actors, who)) {
        return who->place - 1;
    }
    // There are at least as many indices as entries, so one below LEARNER_ACTORS_MAX is free.
    const uint64_t *taken = actors->taken[who->role];
    uint32_t word = 0;
    while (taken[word] == UINT64_MAX) {
        word++;
    }
    return word * 64 + (uint32_t)__builtin_ctzll(~taken[word]);
}

static bool
has_proved_nothing(const learner_actor *actor, uint64_t now_ns)
{
    return actor->role == WIRE_ROLE_ACTOR && !actor->has_inserted &&
           now_ns - actor->joined_ns >= LEARNER_ACTOR_PROVE_S * UINT64_C(1000000000);
}

uint32_t
learner_actors_held(const learner_actors *actors, const oct_holder *holder)
{
    return oct_slotmap_count(actors->by_holder, key_of_holder(holder));
}

uint32_t
learner_actors_per_holder(const learner_actors *actors)
{
    return actors->per_holder;
}

bool
learner_actors_is_full(const learner_actors *actors, const oct_holder *holder)
{
    return actors->per_holder > 0 && learner_actors_held(actors, holder) >= actors->per_holder;
}

// Returns the entry to evict for a new registration: the one silent for longest, otherwise the
// actor that registered first and from which replay has taken no rows. Returns NULL if there is
// neither.
static learner_actor *
entry_spare(const learner_actors *actors, uint64_t now_ns)
{
    uint32_t at = oct_slotmap_first(actors->heard, silent);
    if (at != NONE) {
        return entry_at(actors, at);
    }
    at = oct_slotmap_first(actors->unproved, everybody);
    return at != NONE && has_proved_nothing(entry_at(actors, at), now_ns) ? entry_at(actors, at)
                                                                          : NULL;
}

// Returns the entry to evict among those of one certificate, by the same rule as entry_spare.
static learner_actor *
entry_spare_of(const learner_actors *actors, const oct_holder *holder, uint64_t now_ns)
{
    learner_actor *quiet = NULL, *idle = NULL;
    uint32_t at = oct_slotmap_first(actors->by_holder, key_of_holder(holder));
    for (; at != NONE; at = oct_slotmap_next(actors->by_holder, at)) {
        learner_actor *actor = entry_at(actors, at);
        if (!is_heard_of(actor, now_ns)) {
            quiet = quiet == NULL || actor->seen_ns < quiet->seen_ns ? actor : quiet;
        } else if (has_proved_nothing(actor, now_ns)) {
            idle = idle == NULL || actor->joined_ns < idle->joined_ns ? actor : idle;
        }
    }
    return quiet != NULL ? quiet : idle;
}

// Frees the entry and its index.
static void
entry_free(learner_actors *actors, learner_actor *actor)
{
    if (actor->session != 0) {
        live_set(actors, actor, false);
        oct_slotmap_put(actors->heard, unused, actor->at);
        oct_slotmap_drop(actors->by_id, actor->at);
        oct_slotmap_drop(actors->by_label, actor->at);
        oct_slotmap_drop(actors->by_holder, actor->at);
        oct_slotmap_drop(actors->unproved, actor->at);
        actor->session = 0;
    }
}

// Returns a free entry, or NULL if the table is full.
static learner_actor *
entry_unused(learner_actors *actors)
{
    uint32_t at = oct_slotmap_first(actors->heard, unused);
    if (at == NONE && actors->used < LEARNER_ACTORS_MAX) {
        at = actors->used++;
        if (at % CHUNK == 0) {
            actors->chunk[at / CHUNK] = oct_alloc(CHUNK * sizeof(learner_actor));
        }
        entry_at(actors, at)->at = at;
        oct_slotmap_put(actors->heard, unused, at);
    }
    return at != NONE ? entry_at(actors, at) : NULL;
}

// Returns the entry for a new session, or NULL if there is none: a silent entry with the same id,
// so that an id names one entry; otherwise a free entry; otherwise an evicted one. A certificate at
// its limit first gives up one of its entries, even if a silent entry with the same id would be
// reused: that actor could send messages again.
static learner_actor *
entry_find(learner_actors *actors, uint32_t id, const oct_holder *holder, uint64_t now_ns)
{
    learner_actor *same = learner_actors_find(actors, id);
    if (same != NULL && learner_actor_is_live(same, now_ns)) {
        return NULL;
    }
    if (holder != NULL && learner_actors_is_full(actors, holder)) {
        learner_actor *spare = entry_spare_of(actors, holder, now_ns);
        if (spare == NULL) {
            return NULL;
        }
        entry_free(actors, spare);
    }
    if (same != NULL) {
        return same;
    }
    learner_actor *free_one = entry_unused(actors);
    return free_one != NULL ? free_one : entry_spare(actors, now_ns);
}

static learner_actor *
entry_of_session(const learner_actors *actors, uint64_t session)
{
    learner_actor *actor = learner_actors_find(actors, learner_actors_id(session));
    return actor != NULL && actor->session == session ? actor : NULL;
}

// Returns the entry of an earlier registration, or NULL.
static learner_actor *
entry_known(const learner_actors *actors, const learner_registrant *who)
{
    if (who->session != 0) {
        return entry_of_session(actors, who->session);
    }
    uint32_t at = who->label != 0
                      ? oct_slotmap_first(actors->by_label, key_of_label(who->label, who->role))
                      : NONE;
    while (at != NONE && !learner_actor_came_with(entry_at(actors, at), who->holder)) {
        at = oct_slotmap_next(actors->by_label, at);
    }
    return at != NONE ? entry_at(actors, at) : NULL;
}

// Adds an entry to its groups, once its session, label, role and certificate are set.
static void
entry_group(learner_actors *actors, const learner_actor *actor)
{
    oct_slotmap_put(actors->by_id, (oct_slotmap_key){0, actor->id}, actor->at);
    oct_slotmap_put(actors->by_label, key_of_label(actor->label, actor->role), actor->at);
    oct_slotmap_put(actors->by_holder, key_of_holder(&actor->holder), actor->at);
    if (actor->role == WIRE_ROLE_ACTOR) {
        oct_slotmap_put(actors->unproved, everybody, actor->at);
    }
}

// Marks the actors that had the index as ended, so that they are not counted beside the next
// incarnation.
static void
index_clear(learner_actors *actors, wire_role role, uint32_t index)
{
    uint32_t at;
    while ((at = oct_slotmap_first(actors->by_index, key_of_index(index, role))) != NONE) {
        learner_actor *actor = entry_at(actors, at);
        actor->has_left = true;
        live_set(actors, actor, false);
    }
}

oct_err
learner_actors_register(learner_actors *actors, const learner_registrant *who, uint64_t now_ns,
                        learner_actor **out)
{
    static const oct_holder nobody;
    silent_drop(actors, now_ns);
    learner_actor *known = entry_known(actors, who);
    if (who->place > LEARNER_ACTORS_MAX || (known != NULL && known->role != who->role)) {
        return OCT_EINVAL;
    }
    if (known != NULL) {
        known->has_left = false;
        learner_actors_heard(actors, known, now_ns);
        *out = known;
        return OCT_OK;
    }
    uint64_t session = who->session != 0 ? who->session : session_draw(actors);
    uint32_t id = learner_actors_id(session);
    learner_actor *actor = entry_find(actors, id, who->holder, now_ns);
    if (actor == NULL) {
        return OCT_EAGAIN;
    }
    entry_free(actors, actor);
    uint32_t index = index_find(actors, who);
    index_clear(actors, who->role, index);
    *actor = (learner_actor){
        .session = session,
        .label = who->label,
        .id = id,
        .index = index,
        .at = actor->at,
        .is_placed = who->place > 0 && index == who->place - 1,
        .was_known = who->session != 0,
        .incarnation = who->role == WIRE_ROLE_ACTOR ? incarnation_take(actors, index) : 0,
        .role = who->role,
        .holder = who->holder != NULL ? *who->holder : nobody,
        .joined_ns = now_ns,
        .rates = {NAN, NAN, NAN, NAN, NAN},
    };
    numbers_clear(actor);
    if (actor->is_placed && actor->role == WIRE_ROLE_ACTOR) {
        actor->restarts = actor->incarnation - actors->incarnation_base;
    }
    entry_group(actors, actor);
    learner_actors_heard(actors, actor, now_ns);
    *out = actor;
    return OCT_OK;
}

learner_actor *
learner_actors_find(const learner_actors *actors, uint32_t id)
{
    uint32_t at = oct_slotmap_first(actors->by_id, (oct_slotmap_key){0, id});
    return at != NONE ? entry_at(actors, at) : NULL;
}

const learner_actor *
learner_actors_of(const learner_actors *actors, uint64_t session)
{
    return session != 0 ? entry_of_session(actors, session) : NULL;
}

void
learner_actors_leave(learner_actors *actors, learner_actor *actor)
{
    actor->has_left = true;
    live_set(actors, actor, false);
    if (actor->role == WIRE_ROLE_EVALUATOR || actor->has_inserted) {
        entry_free(actors, actor);
    }
}

uint32_t
learner_actors_unproved(learner_actors *actors, uint64_t now_ns, wire_sessions *out)
{
    uint32_t count = oct_slotmap_count(actors->unproved, everybody);
    if (count > actors->asked_room) {
        free(actors->asked_id);
        free(actors->asked_session);
        actors->asked_room = 2 * count;
        actors->asked_id = oct_alloc(actors->asked_room * sizeof(*actors->asked_id));
        actors->asked_session = oct_alloc(actors->asked_room * sizeof(*actors->asked_session));
    }
    *out = (wire_sessions){.actor_id = actors->asked_id, .session = actors->asked_session};
    uint32_t at = oct_slotmap_first(actors->unproved, everybody);
    for (; at != NONE; at = oct_slotmap_next(actors->unproved, at)) {
        const learner_actor *actor = entry_at(actors, at);
        if (is_heard_of(actor, now_ns)) {
            actors->asked_id[out->count] = actor->id;
            actors->asked_session[out->count++] = actor->session;
        }
    }
    return out->count;
}

void
learner_actors_inserted(learner_actors *actors, const wire_sessions *sessions)
{
    for (uint32_t i = 0; i < sessions->count; i++) {
        learner_actor *actor = learner_actors_find(actors, sessions->actor_id[i]);
        if (actor != NULL && actor->session == sessions->session[i]) {
            actor->has_inserted = true;
            oct_slotmap_drop(actors->unproved, actor->at);
            if (actor->has_left) {
                entry_free(actors, actor);
            }
        }
    }
}

double
learner_actor_stuck_s(const learner_actor *actor, uint64_t now_ns)
{
    bool is_stuck = actor->stuck_s > 0 && learner_actor_is_live(actor, now_ns);
    return is_stuck ? actor->stuck_s + 1e-9 * (double)(now_ns - actor->reported_ns) : 0;
}

uint32_t
learner_actor_sample(const learner_actor *actor, uint32_t samples)
{
    return actor->index % samples;
}

uint64_t
learner_actors_samples(const learner_actors *actors, uint64_t now_ns, uint32_t samples)
{
    uint64_t all = samples < 64 ? (UINT64_C(1) << samples) - 1 : UINT64_MAX, acted = 0;
    for (uint32_t i = 0; i < actors->used && acted != all; i++) {
        const learner_actor *actor = entry_at(actors, i);
        if (actor->role == WIRE_ROLE_ACTOR && learner_actor_is_live(actor, now_ns)) {
            acted |= UINT64_C(1) << learner_actor_sample(actor, samples);
        }
    }
    return acted;
}

const learner_actor *
learner_actors_at(const learner_actors *actors, uint32_t i)
{
    return i < actors->used ? entry_at(actors, i) : NULL;
}

void
learner_actor_introduce(learner_actor *actor, const char *host, uint32_t pid)
{
    oct_text_copy(actor->host, sizeof(actor->host), host);
    actor->pid = pid;
}

// ---- reports

// Returns a named number of a report, or NaN if the report has none.
static double
report_stat(const wire_report *report, const char *name)
{
    for (uint32_t i = 0; i < report->stat_count; i++) {
        if (strcmp(report->stat_name[i], name) == 0) {
            return report->stat_value[i];
        }
    }
    return NAN;
}

// Returns the name of the first impossible number of a report, or NULL if all are possible.
static const char *
report_fault(const learner_actor *actor, const wire_report *report)
{
    if (report->env_steps < actor->env_steps) {
        return "env_steps";
    }
    for (size_t i = 0; i < OCT_COUNTOF(numbers); i++) {
        const double *kept = (const double *)((const char *)actor + numbers[i].at);
        double value = report_stat(report, numbers[i].name);
        if (value < (numbers[i].kind < GAUGE ? *kept : 0)) { // false for NaN
            return numbers[i].name;
        }
    }
    return NULL;
}

// Adds the growth of each number to the sums, so that sums never fall, not even by rounding. The
// first report of a session that began elsewhere (in an earlier learner process, or before its
// entry was evicted) only sets the baseline: its numbers were counted there.
static void
numbers_take(learner_actors *actors, learner_actor *actor, const wire_report *report)
{
    bool is_new = actor->reported || !actor->was_known || report->report_sequence == 1;
    actor->reported = true;
    for (size_t i = 0; i < OCT_COUNTOF(numbers); i++) {
        const struct number *number = &numbers[i];
        double value = report_stat(report, number->name);
        if (isnan(value)) {
            continue;
        }
        double *kept = (double *)((char *)actor + number->at);
        if (is_new && number->sum_at != UNSUMMED) {
            *(double *)((char *)&actors->sums + number->sum_at) += value - *kept;
        }
        *kept = value;
    }
}

static void
rates_renew(learner_actor *actor, uint64_t now_ns)
{
    const learner_actor_counts *from = &actor->from;
    const learner_actor_counts now = {now_ns,       actor->env_steps, actor->infer_s,
                                      actor->env_s, actor->collect_s, actor->wait_s};
    if (from->at_ns != 0 && now_ns - from->at_ns < RATES_NS) {
        return;
    }
    double infer_s = now.infer_s - from->infer_s, env_s = now.env_s - from->env_s;
    double collect_s = now.collect_s - from->collect_s, wait_s = now.wait_s - from->wait_s;
    double acting_s = infer_s + env_s + collect_s + wait_s;
    if (from->at_ns == 0 || now.env_steps < from->env_steps || actor->role != WIRE_ROLE_ACTOR) {
        actor->from = now;
        return;
    }
    actor->rates.steps_per_s =
        (double)(now.env_steps - from->env_steps) / ((double)(now_ns - from->at_ns) * 1e-9);
    if (acting_s > 0) { // otherwise its acting thread is in a long step
        actor->rates = (learner_actor_rates){
            .steps_per_s = actor->rates.steps_per_s,
            .infer_share = infer_s / acting_s,
            .env_share = env_s / acting_s,
            .collect_share = collect_s / acting_s,
            .wait_share = wait_s / acting_s,
        };
    }
    actor->from = now;
}

oct_err
learner_actors_report(learner_actors *actors, learner_actor *actor, const wire_report *report,
                      uint64_t now_ns, const char **what)
{
    learner_actors_heard(actors, actor, now_ns);
    if (report->report_sequence <= actor->report_sequence) {
        return OCT_EAGAIN;
    }
    actor->report_sequence = report->report_sequence;
    *what = report_fault(actor, report);
    if (*what != NULL) {
        return OCT_EINVAL;
    }
    numbers_take(actors, actor, report);
    if (report->ticket == 0) {
        actor->env_steps = report->env_steps;
        actor->policy_version = report->policy_version;
        actor->reported_ns = now_ns;
        oct_text_copy(actor->unreached, sizeof(actor->unreached),
                      report->unreached != NULL ? report->unreached : "");
        rates_renew(actor, now_ns);
    }
    return OCT_OK;
}

void
learner_actors_totals_get(const learner_actors *actors, uint64_t now_ns, uint64_t newest_version,
                          learner_actors_totals *out)
{
    learner_actors_totals totals = actors->sums;
    double lag = 0;
    uint32_t lagging = 0;
    for (uint32_t i = 0; i < actors->used; i++) {
        const learner_actor *actor = entry_at(actors, i);
        if (!learner_actor_is_live(actor, now_ns)) {
            continue;
        }
        totals.actors += actor->role == WIRE_ROLE_ACTOR;
        totals.evaluators += actor->role == WIRE_ROLE_EVALUATOR;
        totals.stuck += learner_actor_stuck_s(actor, now_ns) > 0;
        if (actor->role == WIRE_ROLE_ACTOR && actor->reported &&
            actor->policy_version <= newest_version) {
            uint64_t behind = newest_version - actor->policy_version;
            lag += (double)behind;
            totals.lag_max = OCT_MAX(totals.lag_max, behind);
            lagging++;
        }
    }
    totals.lag_mean = lagging > 0 ? lag / lagging : 0;
    *out = totals;
}
