// Each batch is taken exactly once, in order, over a network that loses, repeats and reorders.
#include "tests/support/oct_test.h"

#include "common/oct_rng.h"
#include "replay/replay_dedupe.h"
#include "replay/replay_store.h"

// One arrival; takes it when it is next.
static replay_verdict
arrive(replay_dedupe *dedupe, uint32_t actor, uint64_t session, uint64_t sequence,
       uint64_t first_unacked)
{
    uint32_t index;
    replay_verdict verdict =
        replay_dedupe_look(dedupe, actor, session, sequence, first_unacked, &index);
    if (verdict == REPLAY_NEXT) {
        replay_dedupe_advance(dedupe, index);
    }
    assert_int_equal(replay_dedupe_session(dedupe, index)->actor_id, actor);
    return verdict;
}

static void
test_dedupe_follows_the_sequence_of_cases(void **state)
{
    (void)state;
    static const struct {
        uint32_t actor;
        uint64_t session, sequence, first_unacked;
        replay_verdict want;
    } cases[] = {
        {1, 10, 2, 1, REPLAY_GAP},        // the first is missing
        {1, 10, 1, 1, REPLAY_NEXT},       //
        {1, 10, 1, 1, REPLAY_DUPLICATE},  // sent again before the ack came
        {1, 10, 2, 1, REPLAY_NEXT},       //
        {1, 10, 4, 2, REPLAY_GAP},        // 3 was lost
        {1, 10, 3, 2, REPLAY_NEXT},       //
        {1, 10, 4, 2, REPLAY_NEXT},       //
        {1, 10, 2, 2, REPLAY_DUPLICATE},  //
        {2, 10, 1, 1, REPLAY_NEXT},       // another actor, same session number
        {1, 11, 1, 1, REPLAY_NEXT},       // the actor was started again
        {1, 10, 5, 5, REPLAY_STALE},      // a straggler of its life before
        {1, 11, 2, 1, REPLAY_NEXT},       // which did not disturb it
        {3, 30, 9, 8, REPLAY_GAP},        // unknown here: begins at 7
        {3, 30, 8, 8, REPLAY_NEXT},       //
        {3, 30, 12, 12, REPLAY_NEXT},     // 9 .. 11 were acknowledged by an earlier replay
        {3, 30, 11, 9, REPLAY_DUPLICATE}, //
        {2, 10, UINT64_MAX, 1, REPLAY_GAP}, {2, 10, 2, 1, REPLAY_NEXT},
    };
    replay_dedupe *dedupe = replay_dedupe_create(8);
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        replay_verdict got = arrive(dedupe, cases[i].actor, cases[i].session, cases[i].sequence,
                                    cases[i].first_unacked);
        if (got != cases[i].want) {
            fail_msg("case %zu: verdict %d, not %d", i, (int)got, (int)cases[i].want);
        }
    }
    assert_int_equal(replay_dedupe_count(dedupe), 3);
    replay_dedupe_destroy(dedupe);
}

static void
test_dedupe_forgets_the_session_silent_longest(void **state)
{
    (void)state;
    replay_dedupe *dedupe = replay_dedupe_create(3);
    replay_dedupe_set_time(dedupe, 1);
    for (uint32_t actor = 1; actor <= 3; actor++) {
        assert_int_equal(arrive(dedupe, actor, actor, 1, 1), REPLAY_NEXT);
    }
    replay_dedupe_set_time(dedupe, 1 + REPLAY_RESEND_S);
    assert_int_equal(arrive(dedupe, 1, 1, 2, 1), REPLAY_NEXT); // 2 is now the oldest
    assert_int_equal(arrive(dedupe, 4, 4, 1, 1), REPLAY_NEXT);
    assert_int_equal(replay_dedupe_count(dedupe), 3);
    assert_int_equal(arrive(dedupe, 1, 1, 2, 1), REPLAY_DUPLICATE);
    assert_int_equal(arrive(dedupe, 3, 3, 1, 1), REPLAY_DUPLICATE);
    replay_dedupe_set_time(dedupe, 1 + 2 * REPLAY_RESEND_S);
    assert_int_equal(arrive(dedupe, 2, 2, 3, 2), REPLAY_GAP); // forgotten, begins at 1 again
    replay_dedupe_destroy(dedupe);
}

// A new session of a certificate, with its first batch. False: no place.
static bool
begin(replay_dedupe *dedupe, uint32_t actor, uint32_t holder)
{
    bool is_open = replay_dedupe_open(dedupe, actor, actor, holder);
    assert_true(!is_open || arrive(dedupe, actor, actor, 1, 1) == REPLAY_NEXT);
    return is_open;
}

static void
test_dedupe_refuses_a_session_while_all_others_may_send_again(void **state)
{
    (void)state;
    uint32_t index;
    replay_dedupe *dedupe = replay_dedupe_create(2);
    replay_dedupe_set_time(dedupe, 1000);
    assert_int_equal(arrive(dedupe, 1, 1, 1, 1), REPLAY_NEXT);
    assert_int_equal(arrive(dedupe, 2, 2, 1, 1), REPLAY_NEXT);
    replay_dedupe_set_time(dedupe, 1000 + REPLAY_RESEND_S - 1);
    assert_int_equal(replay_dedupe_look(dedupe, 3, 3, 1, 1, &index), REPLAY_REFUSED);
    assert_int_equal(index, REPLAY_SESSION_NONE);
    assert_int_equal(arrive(dedupe, 1, 1, 1, 1), REPLAY_DUPLICATE);
    replay_dedupe_set_time(dedupe, 1000 + REPLAY_RESEND_S); // 2 is silent for long enough
    assert_int_equal(arrive(dedupe, 3, 3, 1, 1), REPLAY_NEXT);
    assert_false(replay_dedupe_knows(dedupe, 2));
    assert_int_equal(arrive(dedupe, 1, 1, 1, 1), REPLAY_DUPLICATE);
    replay_dedupe_destroy(dedupe);
}

static void
test_dedupe_lets_a_certificate_push_out_only_its_own(void **state)
{
    (void)state;
    enum { PLACES = 512, FREE = PLACES - PLACES / 16, LARGE = 7, SMALL = 8, LATE = 9 };
    replay_dedupe *dedupe = replay_dedupe_create(PLACES);
    replay_dedupe_set_time(dedupe, 1);
    assert_true(begin(dedupe, 1, SMALL));
    for (uint32_t actor = 2; actor <= FREE; actor++) {
        assert_true(begin(dedupe, actor, LARGE));
    }
    // The last places are for certificates that have few.
    assert_false(begin(dedupe, 1000, LARGE));
    assert_true(begin(dedupe, 1001, SMALL));
    assert_false(begin(dedupe, 1002, SMALL)); // it has 1/256 of all now
    assert_true(begin(dedupe, 1003, LATE));
    // Sessions that are long silent give way, but not those of a smaller certificate.
    replay_dedupe_set_time(dedupe, 1 + REPLAY_RESEND_S);
    for (uint32_t actor = 2000; actor < 2000 + 3 * PLACES; actor++) {
        replay_dedupe_set_time(dedupe, actor * (uint64_t)REPLAY_RESEND_S);
        assert_true(begin(dedupe, actor, LARGE));
        assert_true(replay_dedupe_knows(dedupe, 1));
    }
    assert_int_equal(arrive(dedupe, 1, 1, 1, 1), REPLAY_DUPLICATE);
    assert_int_equal(arrive(dedupe, 1003, 1003, 1, 1), REPLAY_DUPLICATE);
    // A newcomer with fewer sessions may push out those of the certificate with the most.
    assert_true(begin(dedupe, 4999, LATE)); // the last place that is free to it
    uint32_t count = replay_dedupe_count(dedupe);
    for (uint32_t actor = 5000; actor < 5010; actor++) {
        assert_true(begin(dedupe, actor, LATE));
    }
    assert_true(replay_dedupe_knows(dedupe, 1));
    assert_int_equal(replay_dedupe_count(dedupe), count);
    replay_dedupe_destroy(dedupe);
}

static void
test_dedupe_restored_begins_to_wait_again(void **state)
{
    (void)state;
    const replay_session kept[] = {{.actor_id = 1, .holder = 5, .session = 1, .sequence = 3},
                                   {.actor_id = 2, .holder = 5, .session = 2, .sequence = 4}};
    const uint32_t order[] = {1, 0};
    uint32_t index;
    replay_dedupe *dedupe = replay_dedupe_create(2);
    assert_true(replay_dedupe_restore(dedupe, kept, order, 2));
    replay_dedupe_set_time(dedupe, 90000);
    assert_int_equal(replay_dedupe_look(dedupe, 3, 3, 1, 1, &index), REPLAY_REFUSED);
    replay_dedupe_set_time(dedupe, 90000 + REPLAY_RESEND_S);
    assert_true(begin(dedupe, 3, 5));
    assert_int_equal(arrive(dedupe, 2, 2, 4, 4), REPLAY_DUPLICATE);
    assert_false(replay_dedupe_knows(dedupe, 1));
    replay_dedupe_destroy(dedupe);
}

static void
test_dedupe_finds_the_session_that_an_actor_has(void **state)
{
    (void)state;
    replay_dedupe *dedupe = replay_dedupe_create(4);
    assert_int_equal(replay_dedupe_find(dedupe, 1, 10), REPLAY_SESSION_NONE);
    assert_int_equal(arrive(dedupe, 1, 10, 1, 1), REPLAY_NEXT);
    assert_int_equal(arrive(dedupe, 2, 20, 1, 1), REPLAY_NEXT);
    assert_int_equal(replay_dedupe_find(dedupe, 1, 10), 0);
    assert_int_equal(replay_dedupe_find(dedupe, 2, 20), 1);
    assert_int_equal(replay_dedupe_find(dedupe, 2, 10), REPLAY_SESSION_NONE);
    assert_int_equal(arrive(dedupe, 1, 11, 1, 1), REPLAY_NEXT); // it was started again
    assert_int_equal(replay_dedupe_find(dedupe, 1, 11), 0);
    assert_int_equal(replay_dedupe_find(dedupe, 1, 10), REPLAY_SESSION_NONE);
    replay_dedupe_destroy(dedupe);
}

static void
test_dedupe_with_one_place_works(void **state)
{
    (void)state;
    replay_dedupe *dedupe = replay_dedupe_create(1);
    for (uint32_t actor = 0; actor < 50; actor++) {
        replay_dedupe_set_time(dedupe, (actor + 1) * (uint64_t)REPLAY_RESEND_S);
        assert_int_equal(arrive(dedupe, actor * 7919, 5, 1, 1), REPLAY_NEXT);
        assert_int_equal(arrive(dedupe, actor * 7919, 5, 1, 1), REPLAY_DUPLICATE);
    }
    assert_int_equal(replay_dedupe_session(dedupe, 0)->actor_id, 49 * 7919);
    replay_dedupe_destroy(dedupe);
}

// A lossy, reordering, duplicating network with an actor that re-sends: every batch once, in order.
static void
test_dedupe_takes_each_batch_once_over_a_bad_network(void **state)
{
    (void)state;
    enum { ACTORS = 20, BATCHES = 200 };
    oct_rng rng;
    oct_rng_init(&rng, 4, 0);
    replay_dedupe *dedupe = replay_dedupe_create(64);
    uint64_t taken[ACTORS] = {0}, acked[ACTORS] = {0};
    bool is_all_taken = false;
    while (!is_all_taken) {
        uint32_t actor = oct_rng_below(&rng, ACTORS);
        // Any of the window of unacknowledged batches arrives next.
        uint64_t sequence = acked[actor] + 1 + oct_rng_below(&rng, 6);
        uint32_t index;
        replay_verdict verdict =
            replay_dedupe_look(dedupe, actor, actor + 1, sequence, acked[actor] + 1, &index);
        if (verdict == REPLAY_NEXT) {
            assert_int_equal(sequence, ++taken[actor]);
            replay_dedupe_advance(dedupe, index);
        }
        if (oct_rng_below(&rng, 3) == 0) { // otherwise the ack is lost
            acked[actor] = replay_dedupe_session(dedupe, index)->sequence;
        }
        is_all_taken = true;
        for (int i = 0; i < ACTORS; i++) {
            is_all_taken = is_all_taken && taken[i] >= BATCHES;
        }
    }
    replay_dedupe_destroy(dedupe);
}

// An actor that was started again and again while batches of its earlier lives waited.
enum { LIVES = REPLAY_REPLACED_MAX + 1, LIFE_BATCHES = 12 };

struct lives {
    uint64_t sent[LIVES];  // the sequence of each life that arrived last
    uint64_t taken[LIVES]; // as many batches, once each
    int newest;
};

// What waits comes in the order in which it was sent, with a batch that was sent twice here and
// there; the lives in any order, but each begins after the one before it.
static void
lives_arrive(oct_rng *rng, replay_dedupe *dedupe, struct lives *lives)
{
    int life = (int)oct_rng_below(rng, (uint32_t)OCT_MIN(lives->newest + 2, LIVES));
    bool is_again = lives->sent[life] > 0 && oct_rng_below(rng, 4) == 0;
    uint64_t sequence = lives->sent[life] + !is_again;
    if (sequence > LIFE_BATCHES) {
        return;
    }
    lives->sent[life] = sequence;
    lives->newest = OCT_MAX(lives->newest, life);
    replay_verdict verdict = arrive(dedupe, 1, (uint64_t)life + 10, sequence, 1);
    replay_verdict want = life < lives->newest                 ? REPLAY_STALE
                          : sequence <= lives->taken[life]     ? REPLAY_DUPLICATE
                          : sequence == lives->taken[life] + 1 ? REPLAY_NEXT
                                                               : REPLAY_GAP;
    assert_int_equal(verdict, want);
    assert_int_not_equal(verdict, REPLAY_GAP); // nothing was lost
    lives->taken[life] += verdict == REPLAY_NEXT;
}

static void
test_dedupe_never_refuses_the_newest_of_an_actors_lives(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 6, 0);
    for (int i = 0; i < 300; i++) {
        replay_dedupe *dedupe = replay_dedupe_create(2);
        struct lives lives = {.newest = -1};
        for (int arrivals = 0; arrivals < 200; arrivals++) {
            lives_arrive(&rng, dedupe, &lives);
        }
        replay_dedupe_destroy(dedupe);
    }
}

// A file has the last one that was replaced. What waited with a replay that was killed is gone, but
// for what a relay holds.
static void
test_dedupe_tells_the_life_before_apart_after_it_was_restored(void **state)
{
    (void)state;
    replay_dedupe *before = replay_dedupe_create(2), *after = replay_dedupe_create(2);
    for (uint64_t session = 10; session <= 12; session++) {
        assert_int_equal(arrive(before, 1, session, 1, 1), REPLAY_NEXT);
    }
    assert_true(replay_dedupe_restore(after, replay_dedupe_session(before, 0), &(uint32_t){0}, 1));
    assert_int_equal(arrive(after, 1, 11, 2, 1), REPLAY_STALE);
    assert_int_equal(arrive(after, 1, 12, 1, 1), REPLAY_DUPLICATE);
    assert_int_equal(arrive(after, 1, 12, 2, 1), REPLAY_NEXT);
    for (uint64_t session = 13; session <= 15; session++) { // and all that come from here on
        assert_int_equal(arrive(after, 1, session, 1, 1), REPLAY_NEXT);
        for (uint64_t earlier = 11; earlier < session; earlier++) {
            assert_int_equal(arrive(after, 1, earlier, 2, 1), REPLAY_STALE);
        }
        assert_int_equal(arrive(after, 1, session, 2, 1), REPLAY_NEXT);
    }
    replay_dedupe_destroy(before);
    replay_dedupe_destroy(after);
}

// The place of an actor that was forgotten says nothing of the next one's sessions.
static void
test_dedupe_forgets_the_lives_of_the_actor_that_makes_room(void **state)
{
    (void)state;
    replay_dedupe *dedupe = replay_dedupe_create(1);
    for (uint64_t session = 10; session <= 12; session++) {
        assert_int_equal(arrive(dedupe, 1, session, 1, 1), REPLAY_NEXT);
    }
    replay_dedupe_set_time(dedupe, 1);
    replay_dedupe_set_time(dedupe, 1 + REPLAY_RESEND_S);
    assert_int_equal(arrive(dedupe, 2, 20, 1, 1), REPLAY_NEXT);
    for (uint64_t session = 10; session <= 12; session++) {
        assert_int_equal(arrive(dedupe, 2, session, 1, 1), REPLAY_NEXT);
    }
    replay_dedupe_destroy(dedupe);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dedupe_follows_the_sequence_of_cases),
        cmocka_unit_test(test_dedupe_forgets_the_session_silent_longest),
        cmocka_unit_test(test_dedupe_refuses_a_session_while_all_others_may_send_again),
        cmocka_unit_test(test_dedupe_lets_a_certificate_push_out_only_its_own),
        cmocka_unit_test(test_dedupe_restored_begins_to_wait_again),
        cmocka_unit_test(test_dedupe_finds_the_session_that_an_actor_has),
        cmocka_unit_test(test_dedupe_with_one_place_works),
        cmocka_unit_test(test_dedupe_takes_each_batch_once_over_a_bad_network),
        cmocka_unit_test(test_dedupe_never_refuses_the_newest_of_an_actors_lives),
        cmocka_unit_test(test_dedupe_tells_the_life_before_apart_after_it_was_restored),
        cmocka_unit_test(test_dedupe_forgets_the_lives_of_the_actor_that_makes_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
