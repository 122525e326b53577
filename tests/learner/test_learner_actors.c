// Registration of actors: ids, places in the ladder, a full table, and totals of reports.
#include <math.h>

#include "common/oct_base.h"
#include "common/oct_rng.h"
#include "tests/learner/actors_fixture.h"

// A session cannot be chosen, nor told from another: with the label of one that is known, another
// certificate or role gets one of its own.
static void
test_actors_draw_the_sessions(void **state)
{
    (void)state;
    enum { COUNT = 64 };
    learner_actor *all[COUNT];
    for (size_t i = 0; i < COUNT; i++) { // the same number at the two certificates and at none
        const oct_holder *holder = i % 3 < 2 ? &holders[i % 3] : NULL;
        all[i] = newcomer(i / 3 + 1, WIRE_ROLE_ACTOR, 0, holder, AT(0));
        assert_int_equal(all[i]->id, learner_actors_id(all[i]->session));
        assert_int_equal(all[i]->index, i);
        for (size_t k = 0; k < i; k++) {
            assert_true(all[k]->session != all[i]->session && all[k]->id != all[i]->id);
        }
    }
    assert_ptr_equal(newcomer(1, WIRE_ROLE_ACTOR, 0, &holders[0], AT(1)), all[0]);
    assert_ptr_equal(newcomer(1, WIRE_ROLE_ACTOR, 0, NULL, AT(1)), all[2]);
    learner_actor *evaluates = newcomer(1, WIRE_ROLE_EVALUATOR, 0, NULL, AT(1));
    assert_ptr_equal(learner_actors_at(actors, COUNT), evaluates);
    // Who says no number of its own is another each time.
    learner_actor *nameless = newcomer(0, WIRE_ROLE_ACTOR, 0, NULL, AT(1));
    assert_ptr_not_equal(newcomer(0, WIRE_ROLE_ACTOR, 0, NULL, AT(1)), nameless);
    // A label of a session that has gone is nobody's.
    learner_actors_leave(actors, evaluates);
    uint64_t before = evaluates->session;
    learner_actor *again = newcomer(1, WIRE_ROLE_EVALUATOR, 0, NULL, AT(1));
    assert_true(again->session != 0 && again->session != before);
}

// Both sessions make the id 3: an id names one actor, so the second has to draw again.
static void
test_actors_id_collision(void **state)
{
    (void)state;
    const uint64_t one = 3, two = (1ull << 32) | 2;
    learner_actor *first = joined(one, WIRE_ROLE_ACTOR, AT(0)), *second = NULL;
    T_ERR(registers(two, WIRE_ROLE_ACTOR, 0, NULL, AT(1), &second), OCT_EAGAIN);
    assert_int_equal(first->id, 3);
    // When the first is gone the id is free, and finds the second.
    second = joined(two, WIRE_ROLE_ACTOR, AT(LEARNER_ACTOR_SILENT_S));
    assert_ptr_equal(learner_actors_find(actors, 3), second);
    assert_int_equal(second->session, two);
}

// Seeds are made of index and incarnation: who takes an index over draws other numbers, and who
// asks again with the same session goes on with its own.
static void
test_actors_take_over_an_index_as_its_next_incarnation(void **state)
{
    (void)state;
    learner_actor *first = joined(11, WIRE_ROLE_ACTOR, AT(0));
    assert_int_equal(first->incarnation, 0);
    assert_int_equal(joined(12, WIRE_ROLE_ACTOR, AT(0))->incarnation, 0); // index 1
    assert_int_equal(joined(13, WIRE_ROLE_EVALUATOR, AT(0))->incarnation, 0);
    assert_int_equal(joined(11, WIRE_ROLE_ACTOR, AT(1))->incarnation, 0);
    assert_int_equal(learner_actors_incarnations(actors), 1);
    learner_actor *next = joined(14, WIRE_ROLE_ACTOR, AT(LEARNER_ACTOR_SILENT_S + 5));
    assert_int_equal(next->index, 0);
    assert_int_equal(next->incarnation, 1);
    assert_int_equal(learner_actors_incarnations(actors), 2);
    (void)joined_at(15, WIRE_ROLE_ACTOR, 40, AT(LEARNER_ACTOR_SILENT_S + 5)); // the first there
    assert_int_equal(learner_actors_incarnations(actors), 2);
}

// One that is restarted comes back before it counts as silent.
static void
test_actors_come_back_to_the_index_that_they_ask_for(void **state)
{
    (void)state;
    learner_actor *third = joined_at(11, WIRE_ROLE_ACTOR, 3, AT(0));
    assert_int_equal(third->index, 2);
    assert_int_equal(joined_at(12, WIRE_ROLE_ACTOR, 1, AT(0))->index, 0);
    learner_actor *back = joined_at(13, WIRE_ROLE_ACTOR, 3, AT(1));
    assert_int_equal(back->index, 2);
    assert_int_equal(back->incarnation, 1);
    assert_int_equal(third->incarnation, 0);
    // Evaluators have indices of their own; who did not ask for an index keeps it.
    assert_int_equal(joined(14, WIRE_ROLE_EVALUATOR, AT(1))->index, 0);
    assert_int_equal(joined(15, WIRE_ROLE_ACTOR, AT(1))->index, 1);
    assert_int_equal(joined_at(16, WIRE_ROLE_ACTOR, 2, AT(1))->index, 3);
    learner_actor *none = NULL;
    T_ERR(registers(17, WIRE_ROLE_ACTOR, LEARNER_ACTORS_MAX + 1, NULL, AT(1), &none), OCT_EINVAL);
}

// Also where each life comes before the one before it is silent, as in lock-step.
static void
test_actors_that_come_back_are_counted_once(void **state)
{
    (void)state;
    learner_actor *other = joined_at(1, WIRE_ROLE_ACTOR, 2, AT(0));
    joined_at(2, WIRE_ROLE_EVALUATOR, 1, AT(0));
    for (uint64_t life = 0; life < 5; life++) {
        learner_actor *actor = joined_at(11 + life, WIRE_ROLE_ACTOR, 1, AT(life));
        assert_int_equal(actor->incarnation, life);
        assert_true(learner_actor_is_live(actor, AT(life)));
        learner_actors_live live = learner_actors_live_get(actors, AT(life));
        assert_int_equal(live.actors, 2);
        assert_int_equal(live.evaluators, 1);
    }
    assert_true(learner_actor_is_live(other, AT(4)));
    assert_false(learner_actor_is_live(learner_actors_find(actors, learner_actors_id(14)), AT(4)));
    (void)learner_actors_live_get(actors, AT(3 + LEARNER_ACTOR_SILENT_S)); // and then it is dropped
    assert_null(learner_actors_find(actors, learner_actors_id(14)));
    assert_non_null(learner_actors_find(actors, learner_actors_id(15)));
}

// Nobody takes the place of an actor that has another certificate, while it is there.
static void
test_actors_keep_their_index_from_other_certificates(void **state)
{
    (void)state;
    learner_actor *one = newcomer(1, WIRE_ROLE_ACTOR, 1, &holders[0], AT(0));
    assert_int_equal(one->index, 0);
    assert_int_equal(newcomer(2, WIRE_ROLE_ACTOR, 1, &holders[1], AT(1))->index, 1);
    assert_int_equal(newcomer(3, WIRE_ROLE_ACTOR, 1, NULL, AT(1))->index, 2);
    learner_actor *back = newcomer(4, WIRE_ROLE_ACTOR, 1, &holders[0], AT(1));
    assert_int_equal(back->index, 0);
    assert_int_equal(back->incarnation, 1);
    assert_int_equal(newcomer(5, WIRE_ROLE_ACTOR, 1, &holders[1], AT(20))->index, 0);
}

// One that did not get the index that it asked for has not asked for the one that it got.
static void
test_actors_keep_an_index_that_they_did_not_ask_for(void **state)
{
    (void)state;
    (void)newcomer(1, WIRE_ROLE_ACTOR, 1, &holders[0], AT(0));
    assert_int_equal(newcomer(2, WIRE_ROLE_ACTOR, 1, &holders[1], AT(0))->index, 1);
    assert_int_equal(newcomer(3, WIRE_ROLE_ACTOR, 2, &holders[1], AT(1))->index, 2);
}

// One that was silent speaks again, when another has its index; that is free when both have gone.
static void
test_actors_index_of_two_is_free_after_both(void **state)
{
    (void)state;
    learner_actor *one = joined(11, WIRE_ROLE_ACTOR, AT(0));
    learner_actor *two = joined(12, WIRE_ROLE_ACTOR, AT(LEARNER_ACTOR_SILENT_S + 1));
    assert_int_equal(one->index, 0);
    assert_int_equal(two->index, 0);
    learner_actors_heard(actors, one, AT(LEARNER_ACTOR_SILENT_S + 2));
    learner_actors_leave(actors, one);
    assert_int_equal(joined(13, WIRE_ROLE_ACTOR, AT(LEARNER_ACTOR_SILENT_S + 3))->index, 1);
    learner_actors_leave(actors, two);
    assert_int_equal(joined(14, WIRE_ROLE_ACTOR, AT(LEARNER_ACTOR_SILENT_S + 3))->index, 0);
}

// As many samples of a policy with noise as there can be: each actor has its own.
static void
test_actors_act_with_each_of_64_samples(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 3; i++) {
        (void)joined(i, WIRE_ROLE_ACTOR, AT(0));
    }
    assert_int_equal(learner_actors_samples(actors, AT(1), 64), 7);
    assert_int_equal(learner_actors_samples(actors, AT(1), 2), 3);
    for (uint64_t i = 4; i <= 70; i++) {
        (void)joined(i, WIRE_ROLE_ACTOR, AT(0));
    }
    assert_true(learner_actors_samples(actors, AT(1), 64) == UINT64_MAX);
}

static void
test_actors_of_a_resumed_run_go_on_above_all_incarnations(void **state)
{
    (void)state;
    learner_actors_go_on(actors, 7);
    assert_int_equal(learner_actors_incarnations(actors), 7);
    assert_int_equal(joined(11, WIRE_ROLE_ACTOR, AT(0))->incarnation, 7);
    assert_int_equal(joined(12, WIRE_ROLE_ACTOR, AT(0))->incarnation, 7);
    assert_int_equal(learner_actors_incarnations(actors), 8);
}

static void
test_actors_session_that_makes_id_0_gets_another(void **state)
{
    (void)state;
    assert_int_equal(joined((7ull << 32) | 7, WIRE_ROLE_ACTOR, AT(0))->id, 1);
}

static void
test_actors_full(void **state)
{
    (void)state;
    learner_actor *actor;
    for (uint64_t i = 1; i <= LEARNER_ACTORS_MAX; i++) {
        assert_int_equal(joined(i, WIRE_ROLE_ACTOR, AT(0))->index, i - 1);
    }
    assert_int_equal(learner_actors_live_get(actors, AT(1)).actors, LEARNER_ACTORS_MAX);
    T_ERR(registers(99999, WIRE_ROLE_ACTOR, 0, NULL, AT(1), &actor), OCT_EAGAIN);
    T_ERR(registers(99998, WIRE_ROLE_EVALUATOR, 0, NULL, AT(1), &actor), OCT_EAGAIN);
    assert_ptr_equal(joined(7, WIRE_ROLE_ACTOR, AT(9)), learner_actors_find(actors, 7));
    // All but number 7 have gone silent; the new one takes the place of one of those.
    actor = joined(99999, WIRE_ROLE_ACTOR, AT(LEARNER_ACTOR_SILENT_S));
    assert_int_equal(actor->index, 0);
    assert_int_equal(totals_at(AT(LEARNER_ACTOR_SILENT_S)).actors, 2);
}

// Every second one ends: their ids, indices and places are those of newcomers, lowest index first.
static void
test_actors_of_a_full_table_give_way_to_others(void **state)
{
    (void)state;
    learner_actor *actor;
    for (uint64_t i = 1; i <= LEARNER_ACTORS_MAX; i++) {
        (void)joined(i, WIRE_ROLE_ACTOR, AT(0));
    }
    for (uint32_t i = 1; i <= LEARNER_ACTORS_MAX; i += 2) {
        const uint64_t session = i;
        const wire_sessions one = {.count = 1, .actor_id = &i, .session = &session};
        learner_actors_inserted(actors, &one);
        learner_actors_leave(actors, learner_actors_find(actors, i));
    }
    const uint32_t half = LEARNER_ACTORS_MAX / 2;
    assert_int_equal(learner_actors_live_get(actors, AT(1)).actors, half);
    for (uint32_t i = 0; i < half; i++) {
        actor = joined((1ull << 32) | (2 * i), WIRE_ROLE_ACTOR, AT(1)); // of the id 2 i + 1
        assert_int_equal(actor->id, 2 * i + 1);
        assert_int_equal(actor->index, 2 * i);
        assert_int_equal(actor->incarnation, 1);
        assert_ptr_equal(learner_actors_find(actors, 2 * i + 1), actor);
        assert_null(learner_actors_of(actors, 2 * i + 1));
    }
    T_ERR(registers(99999, WIRE_ROLE_ACTOR, 0, NULL, AT(1), &actor), OCT_EAGAIN);
    assert_null(learner_actors_at(actors, LEARNER_ACTORS_MAX));
    assert_int_equal(totals_at(AT(1)).actors, LEARNER_ACTORS_MAX);
}

// What is counted is what one finds who looks at each.
static void
test_actors_are_counted_as_they_come_and_go(void **state)
{
    (void)state;
    enum { SESSIONS = 40, RELAYS = 3, TURNS = 20000 };
    oct_rng rng;
    oct_rng_init(&rng, 16, 0);
    uint64_t now_ns = AT(0);
    for (int turn = 0; turn < TURNS; turn++) {
        now_ns += oct_rng_below(&rng, SECOND / 2);
        uint64_t session = 1 + oct_rng_below(&rng, SESSIONS);
        learner_actor *actor = learner_actors_find(actors, (uint32_t)session);
        uint32_t what = oct_rng_below(&rng, 8);
        if (actor == NULL || what < 3) {
            wire_role role = session % 5 == 0 ? WIRE_ROLE_EVALUATOR : WIRE_ROLE_ACTOR;
            actor = joined_at(session, role, oct_rng_below(&rng, SESSIONS), now_ns);
            learner_actors_set_relay(actors, actor, oct_rng_below(&rng, RELAYS + 1));
        } else if (what == 3) {
            learner_actors_leave(actors, actor);
        } else if (what == 4) {
            const wire_sessions one = {.count = 1, .actor_id = &actor->id, .session = &session};
            learner_actors_inserted(actors, &one);
        } else {
            learner_actors_heard(actors, actor, now_ns);
        }
        uint32_t relayed[RELAYS + 1] = {0};
        const learner_actor *one;
        for (uint32_t i = 0; (one = learner_actors_at(actors, i)) != NULL; i++) {
            relayed[one->relay] += learner_actor_is_live(one, now_ns);
        }
        for (uint64_t relay = 1; relay <= RELAYS; relay++) {
            assert_int_equal(learner_actors_relayed(actors, relay, now_ns), relayed[relay]);
        }
        learner_actors_live live = learner_actors_live_get(actors, now_ns);
        learner_actors_totals totals = totals_at(now_ns);
        assert_int_equal(live.actors, totals.actors);
        assert_int_equal(live.evaluators, totals.evaluators);
    }
}

// As many as there are places register, stay live, and say that they act.
static void
test_actors_that_insert_nothing_hold_no_places(void **state)
{
    (void)state;
    const uint64_t proved = AT(LEARNER_ACTOR_PROVE_S);
    learner_actor *actor, *evaluates = joined(99997, WIRE_ROLE_EVALUATOR, AT(0));
    for (uint64_t i = 1; i < LEARNER_ACTORS_MAX; i++) {
        T_OK(report(joined(i, WIRE_ROLE_ACTOR, AT(0)), 1, 1000, AT(0)));
    }
    learner_actor *acts = learner_actors_find(actors, 1);
    told(acts);
    T_ERR(registers(99999, WIRE_ROLE_ACTOR, 0, NULL, proved - 1, &actor), OCT_EAGAIN);
    // The first is the oldest, and inserts; the second loses its place.
    assert_int_equal(joined(99999, WIRE_ROLE_ACTOR, proved)->index, 1);
    assert_null(learner_actors_find(actors, 2));
    for (uint64_t i = 0; i < 10; i++) { // newcomers have their time, too
        (void)joined(200000 + i, WIRE_ROLE_ACTOR, proved);
    }
    assert_non_null(learner_actors_find(actors, 99999));
    // Evaluators insert nothing, and are not asked to.
    assert_ptr_equal(learner_actors_find(actors, 1), acts);
    assert_ptr_equal(learner_actors_find(actors, 99997), evaluates);
}

// Who is asked about, and whom an answer is taken for.
static void
test_actors_are_asked_about_until_they_have_inserted(void **state)
{
    (void)state;
    wire_sessions asked;
    assert_int_equal(learner_actors_unproved(actors, AT(0), &asked), 0);
    learner_actor *one = joined((5ull << 32) | 1, WIRE_ROLE_ACTOR, AT(0));
    learner_actor *two = joined(12, WIRE_ROLE_ACTOR, AT(0));
    (void)joined(13, WIRE_ROLE_EVALUATOR, AT(0));
    assert_int_equal(learner_actors_unproved(actors, AT(1), &asked), 2);
    assert_int_equal(asked.count, 2);
    assert_int_equal(asked.actor_id[0], one->id);
    assert_int_equal(asked.session[0], one->session);
    assert_int_equal(asked.session[1], 12);
    const uint32_t ids[] = {one->id, 99};
    const uint64_t sessions[] = {one->session + 1, 99}; // of its earlier life, and of nobody
    learner_actors_inserted(actors,
                            &(wire_sessions){.count = 2, .actor_id = ids, .session = sessions});
    assert_int_equal(learner_actors_unproved(actors, AT(1), &asked), 2);
    told(one);
    assert_int_equal(learner_actors_unproved(actors, AT(1), &asked), 1);
    assert_int_equal(asked.session[0], 12);
    assert_int_equal(learner_actors_unproved(actors, AT(LEARNER_ACTOR_SILENT_S), &asked), 0);
    told(two);
    (void)joined(12, WIRE_ROLE_ACTOR, AT(LEARNER_ACTOR_SILENT_S)); // it is back, and known
    assert_int_equal(learner_actors_unproved(actors, AT(LEARNER_ACTOR_SILENT_S), &asked), 0);
}

static void
test_actors_unknown_id(void **state)
{
    (void)state;
    assert_null(learner_actors_find(actors, 0));
    assert_null(learner_actors_find(actors, 5));
}

static void
test_actors_same_session_gets_the_same_answer(void **state)
{
    (void)state;
    learner_actor *first = joined(11, WIRE_ROLE_ACTOR, AT(0));
    (void)joined(12, WIRE_ROLE_ACTOR, AT(0));
    uint32_t id = first->id, index = first->index;
    T_OK(report(first, 1, 50, AT(1)));
    // Also after a silence in which others came.
    (void)joined(13, WIRE_ROLE_ACTOR, AT(100));
    learner_actor *again = joined(11, WIRE_ROLE_ACTOR, AT(101));
    assert_int_equal(again->id, id);
    assert_int_equal(again->index, index);
    T_OK(report(again, 2, 80, AT(102)));
    T_NEAR(totals_at(AT(102)).bytes, 160, 0, 0);
}

static void
test_actors_session_keeps_its_role(void **state)
{
    (void)state;
    learner_actor *first = joined(11, WIRE_ROLE_ACTOR, AT(0)), *again = NULL;
    T_ERR(registers(11, WIRE_ROLE_EVALUATOR, 0, NULL, AT(1), &again), OCT_EINVAL);
    assert_null(again);
    assert_int_equal(first->role, WIRE_ROLE_ACTOR);
}

static void
test_actors_index_is_the_lowest_free(void **state)
{
    (void)state;
    learner_actor *one = joined(11, WIRE_ROLE_ACTOR, AT(0)),
                  *two = joined(12, WIRE_ROLE_ACTOR, AT(0));
    assert_int_equal(one->index, 0);
    assert_int_equal(two->index, 1);
    assert_int_equal(joined(13, WIRE_ROLE_EVALUATOR, AT(0))->index, 0); // a ladder of its own
    T_OK(report(two, 1, 5, AT(9)));
    assert_int_equal(joined(14, WIRE_ROLE_ACTOR, AT(11))->index, 0); // the first fell silent
    assert_int_equal(joined(15, WIRE_ROLE_ACTOR, AT(11))->index, 2);
}

static void
test_actors_duplicate_and_older_reports_count_once(void **state)
{
    (void)state;
    learner_actor *actor = joined(11, WIRE_ROLE_ACTOR, AT(0));
    T_OK(report(actor, 1, 100, AT(1)));
    T_OK(report(actor, 3, 300, AT(2)));
    T_ERR(report(actor, 3, 300, AT(3)), OCT_EAGAIN);
    T_ERR(report(actor, 2, 200, AT(3)), OCT_EAGAIN);
    assert_int_equal(actor->env_steps, 300);
    T_NEAR(totals_at(AT(3)).bytes, 600, 0, 0);
}

// Of a report with a number that cannot be, nothing is taken, whatever else it says.
static void
test_actors_refuse_numbers_that_cannot_be(void **state)
{
    (void)state;
    learner_actor *actor = joined(11, WIRE_ROLE_ACTOR, AT(0));
    const char *what = NULL, *name = "env_s";
    double value = 7;
    wire_report message = {.report_sequence = 1,
                           .env_steps = 300,
                           .policy_version = 2,
                           .stat_count = 1,
                           .stat_name = &name,
                           .stat_value = &value};
    T_OK(learner_actors_report(actors, actor, &message, AT(1), &what));
    message.policy_version = 9;
    const struct {
        uint64_t env_steps;
        const char *name;
        double value;
        const char *what;
    } bad[] = {{299, "env_s", 8, "env_steps"},
               {400, "env_s", 6.5, "env_s"}, // time does not run backwards
               {400, "infer_s", -1, "infer_s"},
               {400, "unacked", -1e-9, "unacked"}};
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        message.report_sequence++;
        message.env_steps = bad[i].env_steps;
        name = bad[i].name;
        value = bad[i].value;
        T_ERR(learner_actors_report(actors, actor, &message, AT(2), &what), OCT_EINVAL);
        assert_string_equal(what, bad[i].what);
        T_ERR(learner_actors_report(actors, actor, &message, AT(2), &what), OCT_EAGAIN);
        assert_int_equal(actor->env_steps, 300);
        assert_int_equal(actor->policy_version, 2);
        T_NEAR(totals_at(AT(2)).env_s, 7, 0, 0);
        T_NEAR(totals_at(AT(2)).infer_s, 0, 0, 0);
    }
    message.report_sequence++; // what is not told, or not known, stays as it was
    name = "env_s";
    value = NAN;
    T_OK(learner_actors_report(actors, actor, &message, AT(3), &what));
    T_NEAR(totals_at(AT(3)).env_s, 7, 0, 0);
    assert_int_equal(actor->env_steps, 400);
}

static void
test_actors_evaluation_reports_are_no_steps(void **state)
{
    (void)state;
    const char *what;
    learner_actor *actor = joined(11, WIRE_ROLE_EVALUATOR, AT(0));
    wire_report message = {.report_sequence = 1, .ticket = 4, .env_steps = 1000};
    T_OK(learner_actors_report(actors, actor, &message, AT(1), &what));
    T_ERR(learner_actors_report(actors, actor, &message, AT(1), &what), OCT_EAGAIN);
    assert_int_equal(actor->env_steps, 0);
}

static void
test_actors_totals_keep_those_who_left(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= LEARNER_ACTORS_MAX; i++) {
        T_OK(report(joined(i, WIRE_ROLE_ACTOR, AT(0)), 1, 10, AT(0)));
    }
    for (uint64_t i = 1; i <= 5; i++) { // these take places of the silent
        T_OK(report(joined(100000 + i, WIRE_ROLE_ACTOR, AT(20)), 1, 10, AT(20)));
    }
    learner_actors_totals totals = totals_at(AT(20));
    assert_int_equal(totals.actors, 5);
    T_NEAR(totals.bytes, 20 * (LEARNER_ACTORS_MAX + 5), 0, 0);
    T_NEAR(totals.wait_s, 1.5 * (LEARNER_ACTORS_MAX + 5), 0, 0);
}

// What an actor did before this process began, or while another had its place, is not counted here.
static void
test_actors_totals_are_of_this_process(void **state)
{
    (void)state;
    learner_actor *old = joined(11, WIRE_ROLE_ACTOR, AT(0));
    T_OK(report(old, 8, 1000, AT(1)));
    T_NEAR(totals_at(AT(1)).bytes, 0, 0, 0);
    T_OK(report(old, 9, 1010, AT(2)));
    T_NEAR(totals_at(AT(2)).bytes, 20, 0, 0);
    learner_actor *fresh = joined(0, WIRE_ROLE_ACTOR, AT(2)); // its first report was lost
    T_OK(report(fresh, 2, 30, AT(3)));
    T_NEAR(totals_at(AT(3)).bytes, 80, 0, 0);
    learner_actor *named = joined(12, WIRE_ROLE_ACTOR, AT(3)); // in lock-step: a new process
    T_OK(report(named, 1, 5, AT(4)));
    T_NEAR(totals_at(AT(4)).bytes, 90, 0, 0);
    learner_actors_leave(actors, old);
    learner_actors_inserted(
        actors,
        &(wire_sessions){.count = 1, .actor_id = &(uint32_t){11}, .session = &(uint64_t){11}});
    T_NEAR(totals_at(AT(4)).bytes, 90, 0, 0);
    old = joined(11, WIRE_ROLE_ACTOR, AT(5));
    T_OK(report(old, 10, 1020, AT(6)));
    T_NEAR(totals_at(AT(6)).bytes, 90, 0, 0);
}

// While it plays it tells how far it is, so silence means the same as an actor's.
static void
test_actors_evaluator_is_live_while_it_tells(void **state)
{
    (void)state;
    learner_actor *evaluator = joined(12, WIRE_ROLE_EVALUATOR, AT(0));
    for (uint64_t second = 1; second <= 100; second++) {
        wire_report message = {.report_sequence = second};
        const char *what;
        T_OK(learner_actors_report(actors, evaluator, &message, AT(second), &what));
    }
    learner_actors_totals totals = totals_at(AT(109));
    assert_int_equal(totals.evaluators, 1);
    assert_int_equal(totals_at(AT(111)).evaluators, 0);
}

static void
test_actors_lag(void **state)
{
    (void)state;
    learner_actor *one = joined(11, WIRE_ROLE_ACTOR, AT(0)),
                  *two = joined(12, WIRE_ROLE_ACTOR, AT(0));
    (void)joined(13, WIRE_ROLE_ACTOR, AT(0)); // has not reported yet
    assert_true(totals_at(AT(0)).lag_mean == 0);
    T_OK(report(one, 9, 1, AT(1))); // at version 9 of 10
    T_OK(report(two, 4, 1, AT(1)));
    T_NEAR(totals_at(AT(1)).lag_mean, 3.5, 0, 0);
    assert_int_equal(totals_at(AT(1)).lag_max, 6);
    T_OK(report(one, 11, 1, AT(1))); // ahead of what the caller knows: not counted
    T_NEAR(totals_at(AT(1)).lag_mean, 6, 0, 0);
}

int
main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_actors_draw_the_sessions),
        T(test_actors_id_collision),
        T(test_actors_take_over_an_index_as_its_next_incarnation),
        T(test_actors_come_back_to_the_index_that_they_ask_for),
        T(test_actors_that_come_back_are_counted_once),
        T(test_actors_keep_their_index_from_other_certificates),
        T(test_actors_keep_an_index_that_they_did_not_ask_for),
        T(test_actors_index_of_two_is_free_after_both),
        T(test_actors_act_with_each_of_64_samples),
        T(test_actors_of_a_resumed_run_go_on_above_all_incarnations),
        T(test_actors_session_that_makes_id_0_gets_another),
        T(test_actors_full),
        T(test_actors_of_a_full_table_give_way_to_others),
        T(test_actors_are_counted_as_they_come_and_go),
        T(test_actors_that_insert_nothing_hold_no_places),
        T(test_actors_are_asked_about_until_they_have_inserted),
        T(test_actors_unknown_id),
        T(test_actors_same_session_gets_the_same_answer),
        T(test_actors_session_keeps_its_role),
        T(test_actors_index_is_the_lowest_free),
        T(test_actors_duplicate_and_older_reports_count_once),
        T(test_actors_refuse_numbers_that_cannot_be),
        T(test_actors_evaluation_reports_are_no_steps),
        T(test_actors_totals_keep_those_who_left),
        T(test_actors_totals_are_of_this_process),
        T(test_actors_evaluator_is_live_while_it_tells),
        T(test_actors_lag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
