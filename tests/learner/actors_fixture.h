#ifndef TESTS_LEARNER_ACTORS_FIXTURE_H
#define TESTS_LEARNER_ACTORS_FIXTURE_H

#include "learner/learner_actors.h"
#include "tests/support/oct_test.h"

// A table of actors, and how they come and report.

#define SECOND 1000000000ull
#define AT(s)  ((s)*SECOND + SECOND * 1000) // the clock has run for a while

static learner_actors *actors;

static inline int
setup(void **state)
{
    (void)state;
    actors = learner_actors_create(0);
    return 0;
}

static inline int
teardown(void **state)
{
    (void)state;
    learner_actors_destroy(actors);
    return 0;
}

// A session that was given to it before.
static inline oct_err
registers(uint64_t session, wire_role role, uint32_t place, const oct_holder *holder,
          uint64_t now_ns, learner_actor **out)
{
    const learner_registrant who = {
        .role = role, .session = session, .place = place, .holder = holder};
    return learner_actors_register(actors, &who, now_ns, out);
}

// Whoever comes for the first time.
static inline learner_actor *
newcomer(uint64_t label, wire_role role, uint32_t place, const oct_holder *holder, uint64_t now_ns)
{
    const learner_registrant who = {.role = role, .label = label, .place = place, .holder = holder};
    learner_actor *actor = NULL;
    T_OK(learner_actors_register(actors, &who, now_ns, &actor));
    return actor;
}

static inline learner_actor *
joined_at(uint64_t session, wire_role role, uint32_t place, uint64_t now_ns)
{
    learner_actor *actor = NULL;
    T_OK(registers(session, role, place, NULL, now_ns, &actor));
    return actor;
}

static inline learner_actor *
joined(uint64_t session, wire_role role, uint64_t now_ns)
{
    return joined_at(session, role, 0, now_ns);
}

static inline oct_err
report(learner_actor *actor, uint64_t sequence, uint64_t env_steps, uint64_t now_ns)
{
    static const char *const names[] = {"bytes", "wait_s", "what is this"};
    const double values[] = {(double)env_steps * 2, 1.5, 7};
    wire_report message = {.report_sequence = sequence,
                           .env_steps = env_steps,
                           .policy_version = sequence,
                           .stat_count = 3,
                           .stat_name = names,
                           .stat_value = values};
    const char *what;
    return learner_actors_report(actors, actor, &message, now_ns, &what);
}

static inline learner_actors_totals
totals_at(uint64_t now_ns)
{
    learner_actors_totals totals;
    learner_actors_totals_get(actors, now_ns, 10, &totals);
    return totals;
}

static const oct_holder holders[] = {{.id = {1}, .name = "one"}, {.id = {2}, .name = "two"}};

static inline void
told(const learner_actor *actor)
{
    const wire_sessions sessions = {.count = 1, .actor_id = &actor->id, .session = &actor->session};
    learner_actors_inserted(actors, &sessions);
}

#endif // TESTS_LEARNER_ACTORS_FIXTURE_H
