// Judges actors: against fixed limits, and against the medians of all live actors.
#include "learner/learner_health.h"

#include <math.h>
#include <stdlib.h>

#include "common/oct_base.h"

#define ACTORS_MIN     3 // a median of fewer says nothing about one of them
#define SLOW_SHARE     0.5
#define LAG_MIN        5 // versions
#define LAG_FACTOR     4
#define FULL_SHARE     0.9 // of an actor's time in which it waits for replay
#define OTHERS_SHARE   0.5
#define MEMORY_FACTOR  2
#define MEMORY_MIN     (512.0 * (1 << 20)) // bytes above the median
#define RESTARTS_MIN   3
#define RESTART_FACTOR 4

struct learner_health {
    double *values; // [room]
    uint32_t room;
    uint32_t actors; // live
    double rate, lag, wait_share, resident_bytes, restarts;
};

learner_health *
learner_health_create(void)
{
    return oct_alloc(sizeof(learner_health));
}

void
learner_health_destroy(learner_health *health)
{
    if (health != NULL) {
        free(health->values);
        free(health);
    }
}

double
learner_health_lag(const learner_actor *actor, uint64_t newest)
{
    bool has_lag = actor->role == WIRE_ROLE_ACTOR && actor->reported && actor->policy_version > 0 &&
                   actor->policy_version <= newest;
    return has_lag ? (double)(newest - actor->policy_version) : NAN;
}

static int
values_compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static double
rate_value(const learner_actor *actor, uint64_t newest)
{
    (void)newest;
    return actor->rates.steps_per_s;
}

static double
wait_value(const learner_actor *actor, uint64_t newest)
{
    (void)newest;
    return actor->rates.wait_share;
}

static double
memory_value(const learner_actor *actor, uint64_t newest)
{
    (void)newest;
    return actor->resident_bytes;
}

static double
restarts_value(const learner_actor *actor, uint64_t newest)
{
    (void)newest;
    return actor->restarts;
}

static bool
is_compared(const learner_actor *actor, uint64_t now_ns)
{
    return actor->session != 0 && actor->role == WIRE_ROLE_ACTOR &&
           learner_actor_is_live(actor, now_ns);
}

// The median of one number over live actors; NaN: no actor has reported it.
static double
median_of(learner_health *health, const learner_actors *actors, uint64_t now_ns, uint64_t newest,
          double (*value_of)(const learner_actor *actor, uint64_t newest))
{
    const learner_actor *actor;
    uint32_t count = 0;
    for (uint32_t i = 0; (actor = learner_actors_at(actors, i)) != NULL; i++) {
        double value = is_compared(actor, now_ns) ? value_of(actor, newest) : NAN;
        if (isnan(value)) {
            continue;
        }
        if (count == health->room) {
            health->room = OCT_MAX(2 * count, 64u);
            health->values = realloc(health->values, health->room * sizeof(double));
            OCT_ASSERT(health->values != NULL);
        }
        health->values[count++] = value;
    }
    if (count == 0) {
        return NAN;
    }
    qsort(health->values, count, sizeof(double), values_compare);
    return health->values[count / 2];
}

void
learner_health_renew(learner_health *health, const learner_actors *actors, uint64_t now_ns,
                     uint64_t newest)
{
    const learner_actor *actor;
    health->actors = 0;
    for (uint32_t i = 0; (actor = learner_actors_at(actors, i)) != NULL; i++) {
        health->actors += is_compared(actor, now_ns);
    }
    health->rate = median_of(health, actors, now_ns, newest, rate_value);
    health->lag = median_of(health, actors, now_ns, newest, learner_health_lag);
    health->wait_share = median_of(health, actors, now_ns, newest, wait_value);
    health->resident_bytes = median_of(health, actors, now_ns, newest, memory_value);
    health->restarts = median_of(health, actors, now_ns, newest, restarts_value);
}

// Comparisons with NaN are false, so that what is not known is not a problem.
static wire_peer_health
among_others(const learner_health *health, const learner_actor *actor, uint64_t newest)
{
    const learner_actor_rates *rates = &actor->rates;
    if (rates->wait_share >= FULL_SHARE && health->wait_share <= OTHERS_SHARE) {
        return WIRE_PEER_RING_FULL;
    }
    double lag = learner_health_lag(actor, newest);
    if (lag >= LAG_MIN && lag > LAG_FACTOR * health->lag) {
        return WIRE_PEER_LAGS;
    }
    if (rates->steps_per_s < SLOW_SHARE * health->rate) {
        return WIRE_PEER_SLOW;
    }
    if (actor->resident_bytes > MEMORY_FACTOR * health->resident_bytes &&
        actor->resident_bytes > health->resident_bytes + MEMORY_MIN) {
        return WIRE_PEER_MEMORY;
    }
    return actor->restarts >= RESTARTS_MIN && actor->restarts > RESTART_FACTOR * health->restarts
               ? WIRE_PEER_RESTARTS
               : WIRE_PEER_LIVE;
}

wire_peer_health
learner_health_of(const learner_health *health, const learner_actor *actor, uint64_t now_ns,
                  uint64_t newest)
{
    if (!learner_actor_is_live(actor, now_ns)) {
        return WIRE_PEER_SILENT;
    }
    if (learner_actor_stuck_s(actor, now_ns) > 0) {
        return WIRE_PEER_STUCK;
    }
    if (actor->unacked_s >= LEARNER_HEALTH_UNACKED_S) {
        return WIRE_PEER_UNACKED;
    }
    return actor->role == WIRE_ROLE_ACTOR && health->actors >= ACTORS_MIN
               ? among_others(health, actor, newest)
               : WIRE_PEER_LIVE;
}

double
learner_health_rate(const learner_health *health)
{
    return health->rate;
}
