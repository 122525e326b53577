// The table of registered actors and evaluators: ids, places in the exploration ladder, reports,
// totals.
#include "learner/learner_actors.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/oct_base.h"

#define RATES_NS 1000000000u // over so much time at least

struct learner_actors {
    learner_actor table[LEARNER_ACTORS_MAX];
    uint32_t used;                            // places that were ever taken
    learner_actors_totals gone;               // of sessions whose place was given to another
    uint32_t incarnation[LEARNER_ACTORS_MAX]; // the next actor's at each index
    uint32_t incarnations;                    // above all that were given
    uint32_t per_holder;                      // 0: any number
    uint32_t asked_id[LEARNER_ACTORS_MAX];    // learner_actors_unproved
    uint64_t asked_session[LEARNER_ACTORS_MAX];
};

learner_actors *
learner_actors_create(uint32_t per_holder)
{
    learner_actors *actors = oct_alloc(sizeof(*actors));
    actors->per_holder = per_holder;
    return actors;
}

void
learner_actors_destroy(learner_actors *actors)
{
    free(actors);
}

void
learner_actors_go_on(learner_actors *actors, uint32_t incarnations)
{
    OCT_ASSERT(actors->used == 0);
    for (uint32_t i = 0; i < LEARNER_ACTORS_MAX; i++) {
        actors->incarnation[i] = incarnations;
    }
    actors->incarnations = incarnations;
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

// Nobody can tell it beforehand, and no entry has its id.
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

static uint32_t
index_find(const learner_actors *actors, const learner_newcomer *who, uint64_t now_ns)
{
    // There are at least as many indices as entries, so one below LEARNER_ACTORS_MAX is free.
    bool taken[LEARNER_ACTORS_MAX] = {false};
    bool is_own = who->place > 0;
    for (uint32_t i = 0; i < actors->used; i++) {
        const learner_actor *actor = &actors->table[i];
        if (learner_actor_is_live(actor, now_ns) && actor->role == who->role) {
            taken[actor->index] = true;
            is_own = is_own && (actor->index != who->place - 1 ||
                                (actor->is_placed && learner_actor_came_with(actor, who->holder)));
        }
    }
    if (is_own) {
        return who->place - 1;
    }
    uint32_t index = 0;
    while (taken[index]) {
        index++;
    }
    return index;
}

static void
totals_add(learner_actors_totals *totals, const learner_actor *actor)
{
    totals->bytes += actor->bytes;
    totals->dropped += actor->dropped;
    totals->failures += actor->failures;
    totals->resent += actor->resent;
    totals->infer_s += actor->infer_s;
    totals->env_s += actor->env_s;
    totals->collect_s += actor->collect_s;
    totals->wait_s += actor->wait_s;
    totals->policy_gaps += actor->policy_gaps;
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
    uint32_t held = 0;
    for (uint32_t i = 0; i < actors->used; i++) {
        const learner_actor *actor = &actors->table[i];
        held += actor->session != 0 && is_held_by(actor, holder);
    }
    return held;
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

// Who gives way to a newcomer: the one that has been silent longest, else the one that has been
// without an insert longest; holder: of that certificate, NULL: of any. NULL: nobody.
static learner_actor *
entry_spare(learner_actors *actors, const oct_holder *holder, uint64_t now_ns)
{
    learner_actor *silent = NULL, *idle = NULL;
    for (uint32_t i = 0; i < actors->used; i++) {
        learner_actor *actor = &actors->table[i];
        if (holder != NULL && (actor->session == 0 || !is_held_by(actor, holder))) {
            continue;
        }
        if (!is_heard_of(actor, now_ns)) {
            silent = silent == NULL || actor->seen_ns < silent->seen_ns ? actor : silent;
        } else if (has_proved_nothing(actor, now_ns)) {
            idle = idle == NULL || actor->joined_ns < idle->joined_ns ? actor : idle;
        }
    }
    return silent != NULL ? silent : idle;
}

// Its index is free.
static void
entry_free(learner_actors *actors, learner_actor *actor)
{
    if (actor->session != 0) {
        totals_add(&actors->gone, actor);
        actor->session = 0;
    }
}

// NULL: none.
static learner_actor *
entry_unused(learner_actors *actors)
{
    for (uint32_t i = 0; i < actors->used; i++) {
        if (actors->table[i].session == 0) {
            return &actors->table[i];
        }
    }
    return actors->used < LEARNER_ACTORS_MAX ? &actors->table[actors->used++] : NULL;
}

// Where a new session goes: over a silent one of the same id, so that an id names one entry; else
// into a free entry; else over a spare one. Who holds as many as its certificate may first
// gives one of them up, also a silent one: that could speak again. NULL: nowhere.
static learner_actor *
entry_find(learner_actors *actors, uint32_t id, const oct_holder *holder, uint64_t now_ns)
{
    learner_actor *same = learner_actors_find(actors, id);
    if (same != NULL && learner_actor_is_live(same, now_ns)) {
        return NULL;
    }
    if (holder != NULL && learner_actors_is_full(actors, holder)) {
        learner_actor *spare = entry_spare(actors, holder, now_ns);
        if (spare == NULL) {
            return NULL;
        }
        entry_free(actors, spare);
    }
    if (same != NULL) {
        return same;
    }
    learner_actor *unused = entry_unused(actors);
    return unused != NULL ? unused : entry_spare(actors, NULL, now_ns);
}

// Its entry, if it has registered before; NULL: it has not.
static learner_actor *
entry_known(learner_actors *actors, const learner_newcomer *who)
{
    for (uint32_t i = 0; i < actors->used; i++) {
        learner_actor *actor = &actors->table[i];
        bool is_same = who->session != 0
                           ? actor->session == who->session
                           : actor->session != 0 && who->label != 0 && actor->label == who->label &&
                                 actor->role == who->role &&
                                 learner_actor_came_with(actor, who->holder);
        if (is_same) {
            return actor;
        }
    }
    return NULL;
}

oct_err
learner_actors_register(learner_actors *actors, const learner_newcomer *who, uint64_t now_ns,
                        learner_actor **out)
{
    static const oct_holder nobody;
    learner_actor *known = entry_known(actors, who);
    if (who->place > LEARNER_ACTORS_MAX || (known != NULL && known->role != who->role)) {
        return OCT_EINVAL;
    }
    if (known != NULL) {
        known->seen_ns = now_ns;
        known->has_left = false;
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
    uint32_t index = index_find(actors, who, now_ns);
    *actor = (learner_actor){
        .session = session,
        .label = who->label,
        .id = id,
        .index = index,
        .is_placed = who->place > 0 && index == who->place - 1,
        .incarnation = who->role == WIRE_ROLE_ACTOR ? actors->incarnation[index]++ : 0,
        .role = who->role,
        .holder = who->holder != NULL ? *who->holder : nobody,
        .seen_ns = now_ns,
        .joined_ns = now_ns,
        .rates = {NAN, NAN, NAN, NAN, NAN},
    };
    if (who->role == WIRE_ROLE_ACTOR) {
        actors->incarnations = OCT_MAX(actors->incarnations, actors->incarnation[index]);
    }
    *out = actor;
    return OCT_OK;
}

learner_actor *
learner_actors_find(learner_actors *actors, uint32_t id)
{
    for (uint32_t i = 0; i < actors->used; i++) {
        if (actors->table[i].session != 0 && actors->table[i].id == id) {
            return &actors->table[i];
        }
    }
    return NULL;
}

const learner_actor *
learner_actors_of(const learner_actors *actors, uint64_t session)
{
    for (uint32_t i = 0; i < actors->used; i++) {
        if (session != 0 && actors->table[i].session == session) {
            return &actors->table[i];
        }
    }
    return NULL;
}

void
learner_actors_leave(learner_actors *actors, learner_actor *actor)
{
    actor->has_left = true;
    if (actor->role == WIRE_ROLE_EVALUATOR || actor->has_inserted) {
        entry_free(actors, actor);
    }
}

uint32_t
learner_actors_unproved(learner_actors *actors, uint64_t now_ns, wire_sessions *out)
{
    *out = (wire_sessions){.actor_id = actors->asked_id, .session = actors->asked_session};
    for (uint32_t i = 0; i < actors->used; i++) {
        const learner_actor *actor = &actors->table[i];
        if (actor->role == WIRE_ROLE_ACTOR && !actor->has_inserted && is_heard_of(actor, now_ns)) {
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
            if (actor->has_left) {
                entry_free(actors, actor);
            }
        }
    }
}

uint32_t
learner_actor_sample(const learner_actor *actor, uint32_t samples)
{
    return actor->index % samples;
}

uint64_t
learner_actors_samples(const learner_actors *actors, uint64_t now_ns, uint32_t samples)
{
    uint64_t acted = 0;
    for (uint32_t i = 0; i < actors->used; i++) {
        const learner_actor *actor = &actors->table[i];
        if (actor->role == WIRE_ROLE_ACTOR && learner_actor_is_live(actor, now_ns)) {
            acted |= UINT64_C(1) << learner_actor_sample(actor, samples);
        }
    }
    return acted;
}

const learner_actor *
learner_actors_at(const learner_actors *actors, uint32_t i)
{
    return i < actors->used ? &actors->table[i] : NULL;
}

void
learner_actor_introduce(learner_actor *actor, const char *host, uint32_t pid)
{
    int length = snprintf(actor->host, sizeof(actor->host), "%s", host);
    if (length >= (int)sizeof(actor->host)) {
        size_t end = sizeof(actor->host) - 1;
        while (end > 0 && ((uint8_t)host[end] & 0xc0) == 0x80) {
            end--;
        }
        actor->host[end] = '\0';
    }
    actor->pid = pid;
}

// ---- reports

// The named numbers that are kept. All are 0 or more; a counter never falls within a session.
static const struct number {
    const char *name;
    size_t at; // of a double in learner_actor
    bool is_counter;
} numbers[] = {
#define COUNTER(name)                                                                              \
    {                                                                                              \
#name, offsetof(learner_actor, name), true                                                 \
    }
    COUNTER(bytes),
    COUNTER(dropped),
    COUNTER(failures),
    COUNTER(resent),
    COUNTER(infer_s),
    COUNTER(env_s),
    COUNTER(collect_s),
    COUNTER(wait_s),
    COUNTER(cpu_s),
    COUNTER(policy_gaps),
#undef COUNTER
    {"unacked", offsetof(learner_actor, unacked), false},
};

// NaN: not told.
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

// The first number of a report that cannot be; NULL: all can.
static const char *
report_fault(const learner_actor *actor, const wire_report *report)
{
    if (report->env_steps < actor->env_steps) {
        return "env_steps";
    }
    for (size_t i = 0; i < OCT_COUNTOF(numbers); i++) {
        const double *kept = (const double *)((const char *)actor + numbers[i].at);
        double told = report_stat(report, numbers[i].name);
        if (told < (numbers[i].is_counter ? *kept : 0)) { // false for NaN
            return numbers[i].name;
        }
    }
    return NULL;
}

static void
report_take(learner_actor *actor, const wire_report *report)
{
    actor->reported = true;
    actor->env_steps = report->env_steps;
    actor->policy_version = report->policy_version;
    for (size_t i = 0; i < OCT_COUNTOF(numbers); i++) {
        double told = report_stat(report, numbers[i].name);
        if (!isnan(told)) {
            *(double *)((char *)actor + numbers[i].at) = told;
        }
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
    if (from->at_ns != 0 && acting_s > 0 && now.env_steps >= from->env_steps) {
        actor->rates = (learner_actor_rates){
            .steps_per_s =
                (double)(now.env_steps - from->env_steps) / ((double)(now_ns - from->at_ns) * 1e-9),
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
    (void)actors;
    actor->seen_ns = now_ns;
    if (report->report_sequence <= actor->report_sequence) {
        return OCT_EAGAIN;
    }
    actor->report_sequence = report->report_sequence;
    if (report->ticket != 0) {
        return OCT_OK;
    }
    *what = report_fault(actor, report);
    if (*what != NULL) {
        return OCT_EINVAL;
    }
    report_take(actor, report);
    rates_renew(actor, now_ns);
    return OCT_OK;
}

void
learner_actors_totals_get(const learner_actors *actors, uint64_t now_ns, uint64_t newest_version,
                          learner_actors_totals *out)
{
    learner_actors_totals totals = actors->gone;
    double lag = 0;
    uint32_t lagging = 0;
    for (uint32_t i = 0; i < actors->used; i++) {
        const learner_actor *actor = &actors->table[i];
        if (actor->session == 0) {
            continue;
        }
        totals_add(&totals, actor);
        if (!learner_actor_is_live(actor, now_ns)) {
            continue;
        }
        totals.actors += actor->role == WIRE_ROLE_ACTOR;
        totals.evaluators += actor->role == WIRE_ROLE_EVALUATOR;
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
