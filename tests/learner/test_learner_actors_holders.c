// Registration of actors that come with certificates, each of which has so many places.
#include "tests/learner/actors_fixture.h"

#define PER_HOLDER 3

static int
setup_limited(void **state)
{
    (void)state;
    actors = learner_actors_create(PER_HOLDER);
    return 0;
}

// NULL: refused.
static learner_actor *
comes_with(const oct_holder *holder, uint64_t session, wire_role role, uint64_t now_ns)
{
    learner_actor *actor = NULL;
    oct_err err = registers(session, role, 0, holder, now_ns, &actor);
    assert_true(err == (actor != NULL ? OCT_OK : OCT_EAGAIN));
    return actor;
}

static uint32_t
held_by(const oct_holder *holder)
{
    const learner_actor *actor;
    uint32_t held = 0;
    for (uint32_t i = 0; (actor = learner_actors_at(actors, i)) != NULL; i++) {
        held += actor->session != 0 && actor->holder.id[0] == holder->id[0];
    }
    assert_true(learner_actors_is_full(actors, holder) == (held >= PER_HOLDER));
    return held;
}

static void
test_actors_of_one_certificate_have_so_many_places(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= PER_HOLDER; i++) {
        assert_non_null(comes_with(&holders[0], i, WIRE_ROLE_ACTOR, AT(0)));
        assert_int_equal(held_by(&holders[0]), i);
    }
    assert_null(comes_with(&holders[0], 10, WIRE_ROLE_ACTOR, AT(1)));
    assert_null(comes_with(&holders[0], 10, WIRE_ROLE_EVALUATOR, AT(1)));
    assert_non_null(comes_with(&holders[0], 2, WIRE_ROLE_ACTOR, AT(1))); // it is there
    for (uint64_t i = 11; i <= 10 + PER_HOLDER; i++) {
        assert_non_null(comes_with(&holders[1], i, WIRE_ROLE_EVALUATOR, AT(1)));
    }
    assert_null(comes_with(&holders[1], 20, WIRE_ROLE_ACTOR, AT(LEARNER_ACTOR_PROVE_S + 1)));
    assert_non_null(comes_with(NULL, 20, WIRE_ROLE_ACTOR, AT(1))); // of no certificate
    assert_int_equal(held_by(&holders[0]), PER_HOLDER);
}

// It gives up one of its own: a silent one, else one that has inserted nothing for long.
static void
test_actors_of_a_full_certificate_replace_each_other(void **state)
{
    (void)state;
    (void)comes_with(&holders[1], 100, WIRE_ROLE_ACTOR, AT(0)); // older than all
    for (uint64_t i = 1; i <= PER_HOLDER; i++) {
        told(comes_with(&holders[0], i, WIRE_ROLE_ACTOR, AT(i)));
    }
    assert_null(comes_with(&holders[0], 10, WIRE_ROLE_ACTOR, AT(9)));
    (void)comes_with(&holders[0], 1, WIRE_ROLE_ACTOR, AT(9));
    assert_non_null(comes_with(&holders[0], 10, WIRE_ROLE_ACTOR, AT(LEARNER_ACTOR_SILENT_S + 2)));
    assert_null(learner_actors_find(actors, 2)); // silent longest
    (void)comes_with(&holders[0], 3, WIRE_ROLE_ACTOR, AT(LEARNER_ACTOR_SILENT_S + 2));
    assert_null(comes_with(&holders[0], 11, WIRE_ROLE_ACTOR, AT(LEARNER_ACTOR_SILENT_S + 3)));
    assert_non_null(comes_with(&holders[0], 11, WIRE_ROLE_ACTOR,
                               AT(LEARNER_ACTOR_SILENT_S + LEARNER_ACTOR_PROVE_S + 2)));
    assert_null(learner_actors_find(actors, 10)); // the one without an insert
    assert_non_null(learner_actors_find(actors, 1));
    assert_non_null(learner_actors_find(actors, 3));
    assert_non_null(learner_actors_find(actors, 100));
}

// Who cannot speak any more goes before who has done nothing yet; of several, who was heard of
// first.
static void
test_actors_of_a_full_certificate_lose_the_silent_one_first(void **state)
{
    (void)state;
    uint64_t idle_ns = AT(LEARNER_ACTOR_PROVE_S + LEARNER_ACTOR_SILENT_S);
    (void)comes_with(&holders[0], 1, WIRE_ROLE_ACTOR, AT(0)); // has inserted nothing since
    for (uint64_t i = 2; i <= PER_HOLDER; i++) {              // the last is silent longest
        told(comes_with(&holders[0], i, WIRE_ROLE_ACTOR, AT(PER_HOLDER - i)));
    }
    (void)comes_with(&holders[0], 1, WIRE_ROLE_ACTOR, idle_ns);
    for (uint64_t gone = PER_HOLDER; gone > 1; gone--) {
        told(comes_with(&holders[0], 10 + gone, WIRE_ROLE_ACTOR, idle_ns));
        assert_null(learner_actors_find(actors, (uint32_t)gone));
        assert_int_equal(held_by(&holders[0]), PER_HOLDER);
    }
    assert_non_null(learner_actors_find(actors, 1));
}

// Registrations that fall silent, and speak again when others have been made, are no way round.
static void
test_actors_that_were_silent_count(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 10 * PER_HOLDER; i++) {
        uint64_t now_ns = AT((i - 1) / PER_HOLDER * LEARNER_ACTOR_SILENT_S);
        assert_non_null(comes_with(&holders[0], i, WIRE_ROLE_ACTOR, now_ns));
        assert_true(held_by(&holders[0]) <= PER_HOLDER);
    }
    assert_null(learner_actors_find(actors, 1));
    assert_null(comes_with(&holders[0], 1, WIRE_ROLE_ACTOR, AT(9 * LEARNER_ACTOR_SILENT_S + 1)));
}

static void
inserted(uint32_t id, uint64_t session)
{
    learner_actors_inserted(actors,
                            &(wire_sessions){.count = 1, .actor_id = &id, .session = &session});
}

// A job that ended well and is started again at once finds its place free.
static void
test_actors_that_leave_give_up_their_place(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= PER_HOLDER; i++) {
        T_OK(report(comes_with(&holders[0], i, WIRE_ROLE_ACTOR, AT(0)), 1, 100, AT(0)));
        inserted((uint32_t)i, i);
    }
    assert_null(comes_with(&holders[0], 10, WIRE_ROLE_ACTOR, AT(1)));
    double bytes = totals_at(AT(1)).bytes;
    learner_actors_leave(actors, learner_actors_find(actors, 2));
    assert_null(learner_actors_find(actors, 2));
    assert_int_equal(held_by(&holders[0]), PER_HOLDER - 1);
    learner_actor *next = comes_with(&holders[0], 10, WIRE_ROLE_ACTOR, AT(1));
    assert_non_null(next);
    assert_int_equal(next->index, 1);                   // which is free, too
    assert_null(learner_actors_at(actors, PER_HOLDER)); // and so is the entry
    T_NEAR(totals_at(AT(1)).bytes, bytes, 0, 0);        // what it did stays
    learner_actors_leave(actors, next);                 // without a row
    assert_int_equal(totals_at(AT(1)).actors, PER_HOLDER - 1);
    assert_null(comes_with(&holders[0], 11, WIRE_ROLE_EVALUATOR, AT(1)));
    inserted(10, 10);
    learner_actor *evaluates = comes_with(&holders[0], 11, WIRE_ROLE_EVALUATOR, AT(1));
    learner_actors_leave(actors, evaluates);
    assert_non_null(comes_with(&holders[0], 12, WIRE_ROLE_EVALUATOR, AT(1)));
}

// Who registers and leaves, again and again, takes no more places than who only registers.
static void
test_actors_that_leave_without_a_row_keep_their_place_for_a_while(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= PER_HOLDER; i++) {
        learner_actors_leave(actors, comes_with(&holders[0], i, WIRE_ROLE_ACTOR, AT(0)));
    }
    wire_sessions asked;
    assert_int_equal(learner_actors_unproved(actors, AT(1), &asked), PER_HOLDER);
    uint64_t proved = AT(LEARNER_ACTOR_PROVE_S);
    assert_null(comes_with(&holders[0], 10, WIRE_ROLE_ACTOR, proved - 1));
    assert_ptr_equal(comes_with(&holders[0], 1, WIRE_ROLE_ACTOR, proved - 1),
                     learner_actors_find(actors, 1)); // it has come back
    assert_int_equal(totals_at(proved - 1).actors, 1);
    assert_non_null(comes_with(&holders[0], 10, WIRE_ROLE_ACTOR, proved));
}

// Nobody waits for who has said that it ends; a place that it was to give up later is free then.
static void
test_actors_that_left_without_a_row_are_dropped(void **state)
{
    (void)state;
    const learner_actor *stays = comes_with(&holders[0], 1, WIRE_ROLE_ACTOR, AT(0));
    learner_actors_leave(actors, comes_with(&holders[0], 2, WIRE_ROLE_ACTOR, AT(0)));
    (void)learner_actors_live_get(actors, AT(LEARNER_ACTOR_SILENT_S) - 1);
    assert_int_equal(held_by(&holders[0]), 2);
    (void)learner_actors_live_get(actors, AT(LEARNER_ACTOR_SILENT_S));
    assert_int_equal(held_by(&holders[0]), 1);
    assert_null(learner_actors_find(actors, 2));
    assert_ptr_equal(learner_actors_find(actors, 1), stays);
}

// A session whose id a live one has changes nothing, and costs nobody a place.
static void
test_actors_id_collision_of_a_full_certificate(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= PER_HOLDER; i++) {
        (void)comes_with(&holders[0], i, WIRE_ROLE_ACTOR, AT(0));
    }
    (void)comes_with(&holders[1], 7, WIRE_ROLE_ACTOR, AT(LEARNER_ACTOR_PROVE_S));
    assert_null(
        comes_with(&holders[0], (1ull << 32) | 6, WIRE_ROLE_ACTOR, AT(LEARNER_ACTOR_PROVE_S)));
    assert_int_equal(held_by(&holders[0]), PER_HOLDER);
    // When the other is silent its entry is taken, and one of its own given up.
    assert_non_null(
        comes_with(&holders[0], (1ull << 32) | 6, WIRE_ROLE_ACTOR, AT(LEARNER_ACTOR_SILENT_S + 9)));
    assert_int_equal(held_by(&holders[0]), PER_HOLDER);
    assert_int_equal(held_by(&holders[1]), 0);
}

int
main(void)
{
#define LIMITED(test) cmocka_unit_test_setup_teardown(test, setup_limited, teardown)
    const struct CMUnitTest tests[] = {
        LIMITED(test_actors_of_one_certificate_have_so_many_places),
        LIMITED(test_actors_of_a_full_certificate_replace_each_other),
        LIMITED(test_actors_of_a_full_certificate_lose_the_silent_one_first),
        LIMITED(test_actors_that_were_silent_count),
        LIMITED(test_actors_that_leave_give_up_their_place),
        LIMITED(test_actors_that_leave_without_a_row_keep_their_place_for_a_while),
        LIMITED(test_actors_that_left_without_a_row_are_dropped),
        LIMITED(test_actors_id_collision_of_a_full_certificate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
