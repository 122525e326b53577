// Only sessions with the right token are admitted, and each token is computed once.
#include "replay/replay_admit.h"

#include "tests/support/oct_test.h"

#define RUN 7

static const uint8_t key_a[WIRE_TOKEN_KEY_BYTES] = {1};
static const uint8_t key_b[WIRE_TOKEN_KEY_BYTES] = {2};

static replay_admit *admit;

static int
setup(void **state)
{
    (void)state;
    admit = replay_admit_create();
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    replay_admit_destroy(admit);
    return 0;
}

// As the learner with that key would have signed it.
static wire_claim
claim_of(const uint8_t *key, uint64_t run_id, uint64_t session, uint32_t actor_id)
{
    wire_claim claim = {.actor_id = actor_id, .session = session, .has_token = true};
    wire_token_maker *maker = wire_token_maker_create(key);
    wire_token_make(maker, run_id, session, actor_id, claim.token);
    wire_token_maker_destroy(maker);
    return claim;
}

static bool
check(wire_claim claim)
{
    return replay_admit_check(admit, &claim);
}

// ---- forbidden

static void
test_admit_without_a_key_lets_nobody_in(void **state)
{
    (void)state;
    static const uint8_t zero[WIRE_TOKEN_KEY_BYTES];
    assert_false(check(claim_of(zero, 0, 1, 1)));
    assert_false(check((wire_claim){.has_token = true}));
    assert_int_equal(replay_admit_computed(admit), 0);
}

static void
test_admit_refuses_every_wrong_token(void **state)
{
    (void)state;
    assert_true(replay_admit_set_key(admit, RUN, key_a));
    const wire_claim good = claim_of(key_a, RUN, 30, 3);
    for (int pass = 0; pass < 2; pass++) { // the first before, the second after it is remembered
        wire_claim bad = good;
        bad.has_token = false;
        assert_false(check(bad));
        bad = good;
        memset(bad.token, 0, sizeof(bad.token));
        assert_false(check(bad));
        bad = good;
        bad.token[WIRE_TOKEN_BYTES - 1] ^= 1;
        assert_false(check(bad));
        bad = good;
        bad.session = 31; // another's token
        assert_false(check(bad));
        bad = good;
        bad.actor_id = 4;
        assert_false(check(bad));
        assert_false(check(claim_of(key_a, RUN + 1, 30, 3)));
        assert_false(check(claim_of(key_b, RUN, 30, 3)));
        assert_true(check(good));
    }
}

static void
test_admit_after_another_key_or_run_refuses_what_it_remembered(void **state)
{
    (void)state;
    const wire_claim old = claim_of(key_a, RUN, 30, 3);
    assert_true(replay_admit_set_key(admit, RUN, key_a));
    assert_true(check(old));
    assert_true(replay_admit_set_key(admit, RUN, key_b));
    assert_false(check(old));
    assert_true(check(claim_of(key_b, RUN, 30, 3)));
    assert_true(replay_admit_set_key(admit, RUN + 1, key_b));
    assert_false(check(claim_of(key_b, RUN, 30, 3)));
    assert_true(check(claim_of(key_b, RUN + 1, 30, 3)));
}

// A flood costs one computation each and leaves what is remembered as it was.
static void
test_admit_remembers_nothing_of_strangers(void **state)
{
    (void)state;
    enum { GOOD = 100, FORGED = 20000 };
    assert_true(replay_admit_set_key(admit, RUN, key_a));
    for (uint32_t i = 0; i < GOOD; i++) {
        assert_true(check(claim_of(key_a, RUN, 1000 + i, i)));
    }
    uint64_t computed = replay_admit_computed(admit);
    assert_int_equal(computed, GOOD);
    for (uint32_t i = 0; i < FORGED; i++) {
        wire_claim forged = {.actor_id = i % 200, .session = 1u << 20 | i, .has_token = true};
        assert_false(check(forged));
    }
    assert_int_equal(replay_admit_computed(admit), computed + FORGED);
    for (uint32_t i = 0; i < GOOD; i++) { // a stranger who knows a session: no computation
        wire_claim forged = {.actor_id = i, .session = 1000 + i, .has_token = true};
        assert_false(check(forged));
    }
    for (uint32_t i = 0; i < GOOD; i++) {
        assert_true(check(claim_of(key_a, RUN, 1000 + i, i)));
    }
    // Two good sessions of one slot would take turns; of these hundred at most a few share one.
    assert_in_range(replay_admit_computed(admit), computed + FORGED, computed + FORGED + 10);
}

// ---- ordinary

static void
test_admit_computes_a_token_once_for_a_session(void **state)
{
    (void)state;
    assert_true(replay_admit_set_key(admit, RUN, key_a));
    const wire_claim good = claim_of(key_a, RUN, 30, 3);
    for (int i = 0; i < 1000; i++) {
        assert_true(check(good));
    }
    assert_int_equal(replay_admit_computed(admit), 1);
    assert_false(replay_admit_set_key(admit, RUN, key_a)); // a Configure again: no change
    assert_true(check(good));
    assert_int_equal(replay_admit_computed(admit), 1);
}

static void
test_admit_takes_more_sessions_than_it_remembers(void **state)
{
    (void)state;
    assert_true(replay_admit_set_key(admit, RUN, key_a));
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < 2 * REPLAY_ADMIT_SLOTS; i += 7) {
            assert_true(check(claim_of(key_a, RUN, i * 0x100000001u, i)));
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_admit_##name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_a_key_lets_nobody_in),
        TEST(refuses_every_wrong_token),
        TEST(after_another_key_or_run_refuses_what_it_remembered),
        TEST(remembers_nothing_of_strangers),
        TEST(computes_a_token_once_for_a_session),
        TEST(takes_more_sessions_than_it_remembers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
