// What native environments share: options, bad actions and states, time limits, autoreset, save and
// load.
#include "common/oct_reason.h"
#include "tests/envs/env_test.h"

#define SAVE_MAX 256

static void
stepped(env *e, struct rows *r, int32_t action)
{
    for (int i = 0; i < ROWS; i++) {
        r->action[i] = action;
    }
    T_OK(env_step(e, &r->io));
}

static void
option_refused(const char *id, const char *options, const char *says)
{
    oct_reason why = {""};
    env *e = NULL;
    env_request request = {.id = id, .options = options, .count = 1};
    T_ERR(env_open(&e, &request, &why), OCT_EINVAL);
    T_SAYS(why.text, says);
}

static void
test_native_unknown_option_names_the_known_ones(void **state)
{
    (void)state;
    option_refused("CartPole-v1", "gravity=1",
                   "it has: max_episode_steps, action_repeat, frame_stack, channels_first, "
                   "sutton_barto_reward");
    option_refused("Pendulum-v1", "numpy=3", "an integer from 1 to 2");
    option_refused("Pendulum-v1", "numpy=1.5", "an integer");
    option_refused("Pendulum-v1", "g=ten", "a number");
    option_refused("Pendulum-v1", "g=nan", "a number");
    option_refused("Acrobot-v1", "max_episode_steps=-1", "from 0");
    option_refused("Pendulum-v1", "g:=[1, 2]", "option g=[1, 2] is not a number");
    option_refused("Pendulum-v1", "g:=\"ten\"", "option g=ten is not a number");
}

static void
test_native_action_outside_its_space_steps_nothing(void **state)
{
    (void)state;
    env *e = env_opened("CartPole-v1", "", 3, 0, true);
    struct rows r;
    rows_init(&r);
    T_OK(env_reset(e, NULL, NULL, &r.io));
    const int32_t bad[] = {-1, 2, INT32_MAX, INT32_MIN};
    for (size_t k = 0; k < OCT_COUNTOF(bad); k++) {
        r.action[2] = bad[k];
        T_ERR(env_step(e, &r.io), OCT_EINVAL);
        T_SAYS(env_error(e), "not in 0 .. 1");
        double numbers[4];
        uint32_t step = 9;
        T_OK(env_state_get(e, 0, numbers, &step));
        assert_int_equal(step, 0);
    }
    env_close(e);
}

static void
test_native_box_action_that_is_not_finite_is_refused(void **state)
{
    (void)state;
    env *e = env_opened("Pendulum-v1", "", 1, 0, true);
    struct rows r;
    rows_init(&r);
    float action = NAN;
    r.io.action = &action;
    T_OK(env_reset(e, NULL, NULL, &r.io));
    T_ERR(env_step(e, &r.io), OCT_EINVAL);
    action = -INFINITY;
    T_ERR(env_step(e, &r.io), OCT_EINVAL);
    action = 1e30f; // clipped
    T_OK(env_step(e, &r.io));
    assert_true(isfinite(r.reward[0]));
    env_close(e);
}

static void
test_native_count_of_zero_or_too_many_is_refused(void **state)
{
    (void)state;
    oct_reason why;
    env *e = NULL;
    env_request request = {.id = "CartPole-v1", .options = "", .count = 0};
    T_ERR(env_open(&e, &request, &why), OCT_EINVAL);
    request.count = 1u << 31;
    T_ERR(env_open(&e, &request, &why), OCT_EINVAL);
}

static void
test_native_state_that_is_not_finite_is_refused(void **state)
{
    (void)state;
    env *e = env_opened("Acrobot-v1", "", 1, 0, false);
    double numbers[4] = {0, NAN, 0, 0};
    T_ERR(env_state_set(e, 0, numbers, 0, NULL), OCT_EINVAL);
    T_SAYS(env_error(e), "not finite");
    env_close(e);
}

// Blackjack: sum (an ace counts 1), whether it has an ace, cards, the dealer's two, suit, face.
static void
test_native_blackjack_refuses_hands_that_no_play_reaches(void **state)
{
    (void)state;
    static const double good[][7] = {
        {2, 1, 2, 10, 10, 3, 2}, {4, 0, 2, 1, 1, 0, 0},   {20, 0, 2, 5, 5, 0, 0},
        {11, 1, 2, 5, 5, 0, 0},  {21, 0, 3, 5, 5, 0, 0},  {21, 1, 21, 5, 5, 0, 0},
        {20, 0, 10, 5, 5, 0, 0}, {21, 1, 11, 5, 5, 0, 0},
    };
    static const double bad[][7] = {
        {31, 0, 4, 5, 5, 0, 0},  // beyond 21 an episode has ended
        {22, 0, 3, 5, 5, 0, 0},  // as here
        {21, 0, 2, 5, 5, 0, 0},  // too much for two cards
        {12, 1, 2, 5, 5, 0, 0},  // one of which is an ace
        {3, 0, 2, 5, 5, 0, 0},   // too little where none is
        {2, 0, 2, 5, 5, 0, 0},   // these are two
        {21, 0, 11, 5, 5, 0, 0}, // ten without an ace at most
        {20, 1, 21, 5, 5, 0, 0}, // 21 aces are more
        {12, 0, 3, 5, 5, 0, 1},  // a five has no face
    };
    env *e = env_opened("Blackjack-v1", "", 1, 0, false);
    for (size_t k = 0; k < OCT_COUNTOF(good); k++) {
        T_OK(env_state_set(e, 0, good[k], 0, NULL));
    }
    for (size_t k = 0; k < OCT_COUNTOF(bad); k++) {
        T_ERR(env_state_set(e, 0, bad[k], 0, NULL), OCT_EINVAL);
        T_SAYS(env_error(e), "these numbers are not a state");
    }
    env_close(e);
}

// An Acrobot that spins absurdly fast: the wrap of its angles must end.
static void
test_native_absurd_state_neither_hangs_nor_leaks_nan(void **state)
{
    (void)state;
    const double absurd[] = {1e5, 1e9, 1e100, 1e300};
    for (size_t k = 0; k < OCT_COUNTOF(absurd); k++) {
        env *e = env_opened("Acrobot-v1", "", 1, 0, true);
        struct rows r;
        rows_init(&r);
        double numbers[4] = {absurd[k], -absurd[k], absurd[k], absurd[k]};
        T_OK(env_state_set(e, 0, numbers, 0, NULL));
        stepped(e, &r, 2);
        assert_true(isfinite(r.obs[0][0]) && isfinite(r.obs[0][5]) && isfinite(r.reward[0]));
        env_close(e);
    }
}

static void
test_native_both_flags_on_the_same_step(void **state)
{
    (void)state;
    env *e = env_opened("CartPole-v1", "", 1, 0, true);
    struct rows r;
    rows_init(&r);
    const double falling[4] = {2.39, 5, 0, 0};
    T_OK(env_state_set(e, 0, falling, 499, NULL));
    stepped(e, &r, 1);
    assert_int_equal(r.flags[0],
                     OCTET_ENV_TERMINATED | OCTET_ENV_TRUNCATED | OCTET_ENV_OBS_IS_RESET);
    assert_int_equal(r.ep_length[0], 500);
    assert_true(r.final_obs[0][0] > 2.4f);
    assert_true(fabsf(r.obs[0][0]) <= 0.05f);
    env_close(e);
}

static void
test_native_time_limit_truncates_without_terminating(void **state)
{
    (void)state;
    env *e = env_opened("MountainCar-v0", "max_episode_steps=7", 2, 0, true);
    assert_int_equal(env_spec(e)->max_episode_steps, 7);
    struct rows r;
    rows_init(&r);
    T_OK(env_reset(e, NULL, NULL, &r.io));
    for (int t = 1; t <= 14; t++) {
        stepped(e, &r, 1);
        uint8_t want = t % 7 == 0 ? OCTET_ENV_TRUNCATED | OCTET_ENV_OBS_IS_RESET : 0;
        assert_int_equal(r.flags[0], want);
        assert_int_equal(r.flags[1], want);
    }
    assert_int_equal(r.ep_length[1], 7);
    assert_float_equal(r.ep_return[1], -7, 0);
    env_close(e);
}

static void
test_native_without_autoreset_it_stays_at_its_end(void **state)
{
    (void)state;
    env *e = env_opened("CartPole-v1", "max_episode_steps=3", 1, 0, false);
    struct rows r;
    rows_init(&r);
    T_OK(env_reset(e, NULL, NULL, &r.io));
    for (int t = 0; t < 3; t++) {
        stepped(e, &r, 0);
    }
    assert_int_equal(r.flags[0], OCTET_ENV_TRUNCATED);
    assert_memory_equal(r.obs[0], r.final_obs[0], 4 * sizeof(float));
    float last[4];
    memcpy(last, r.obs[0], sizeof(last));
    stepped(e, &r, 1);
    assert_int_equal(r.flags[0], OCTET_ENV_TRUNCATED);
    assert_float_equal(r.reward[0], 0, 0);
    assert_memory_equal(r.obs[0], last, sizeof(last));
    T_OK(env_reset(e, NULL, NULL, &r.io));
    stepped(e, &r, 1);
    assert_int_equal(r.flags[0], 0);
    env_close(e);
}

static void
test_native_reset_without_seeds_begins_the_handles_first_episode(void **state)
{
    (void)state;
    env *a = env_opened("CartPole-v1", "", 4, 40, true);
    env *b = env_opened("CartPole-v1", "", 4, 0, true);
    struct rows x, y;
    rows_init(&x);
    rows_init(&y);
    const uint64_t seeds[4] = {40, 41, 42, 43};
    T_OK(env_reset(a, NULL, NULL, &x.io));
    T_OK(env_reset(b, NULL, seeds, &y.io));
    assert_memory_equal(x.obs, y.obs, sizeof(x.obs));
    T_OK(env_reset(a, NULL, NULL, &x.io)); // goes on with the generators
    assert_memory_not_equal(x.obs, y.obs, sizeof(x.obs));
    env_close(a);
    env_close(b);
}

static void
test_native_masked_reset_leaves_the_others_alone(void **state)
{
    (void)state;
    env *e = env_opened("Pendulum-v1", "", 3, 0, true);
    struct rows r;
    rows_init(&r);
    T_OK(env_reset(e, NULL, NULL, &r.io));
    double before[2], after[2];
    uint32_t step;
    T_OK(env_state_get(e, 2, before, &step));
    struct rows blank = r;
    const uint8_t mask[3] = {0, 1, 0};
    memset(r.obs, 0x7e, sizeof(r.obs));
    memset(blank.obs, 0x7e, sizeof(blank.obs));
    T_OK(env_reset(e, mask, NULL, &r.io));
    assert_memory_equal(r.obs[0], blank.obs[0], sizeof(r.obs[0]));
    assert_memory_equal(r.obs[2], blank.obs[2], sizeof(r.obs[2]));
    assert_memory_not_equal(r.obs[1], blank.obs[1], sizeof(r.obs[1]));
    T_OK(env_state_get(e, 2, after, &step));
    assert_memory_equal(before, after, sizeof(before));
    env_close(e);
}

static void
test_native_save_and_load_continue_the_episode_and_its_sums(void **state)
{
    (void)state;
    env *a = env_opened("CartPole-v1", "", 2, 11, true);
    env *b = env_opened("CartPole-v1", "", 1, 99, true);
    struct rows x, y;
    rows_init(&x);
    rows_init(&y);
    T_OK(env_reset(a, NULL, NULL, &x.io));
    for (int t = 0; t < 5; t++) {
        stepped(a, &x, t & 1);
    }
    uint8_t saved[SAVE_MAX];
    uint32_t length = 0;
    T_OK(env_save(a, 1, NULL, &length));
    assert_true(length > 0 && length <= SAVE_MAX);
    T_OK(env_save(a, 1, saved, &length));
    T_OK(env_load(b, 0, saved, length));
    for (int t = 0; t < 200; t++) { // several episodes: the generator is part of it
        stepped(a, &x, t & 1);
        stepped(b, &y, t & 1);
        assert_memory_equal(x.obs[1], y.obs[0], sizeof(x.obs[1]));
        assert_int_equal(x.flags[1], y.flags[0]);
        assert_int_equal(x.ep_length[1], y.ep_length[0]);
        assert_true(x.ep_return[1] == y.ep_return[0]);
    }
    env_close(a);
    env_close(b);
}

static void
test_native_load_refuses_what_save_did_not_write(void **state)
{
    (void)state;
    env *e = env_opened("CartPole-v1", "", 1, 1, true);
    env *other = env_opened("Acrobot-v1", "", 1, 1, true);
    uint8_t saved[SAVE_MAX];
    uint32_t length = sizeof(saved);
    T_OK(env_save(e, 0, saved, &length));
    T_ERR(env_load(other, 0, saved, length), OCT_EINTERNAL);
    T_SAYS(env_error(other), "not a saved state of Acrobot-v1");
    for (uint32_t cut = 0; cut < length; cut++) {
        T_ERR(env_load(e, 0, saved, cut), OCT_EINTERNAL);
    }
    saved[0] ^= 2; // the version
    T_ERR(env_load(e, 0, saved, length), OCT_EINTERNAL);
    uint32_t room = length - 1;
    T_ERR(env_save(e, 0, saved, &room), OCT_EINTERNAL);
    env_close(e);
    env_close(other);
}

static void
test_native_sutton_barto_reward_is_zero_until_the_fall(void **state)
{
    (void)state;
    env *e = env_opened("CartPole-v1", "sutton_barto_reward=1", 1, 0, true);
    assert_true(isnan(env_spec(e)->reward_threshold));
    struct rows r;
    rows_init(&r);
    T_OK(env_reset(e, NULL, NULL, &r.io));
    do {
        assert_float_equal(r.reward[0], 0, 0);
        stepped(e, &r, 1);
    } while (r.flags[0] == 0);
    assert_float_equal(r.reward[0], -1, 0);
    env_close(e);
}

static void
test_native_end_that_is_loaded_with_autoreset_begins_the_next_episode(void **state)
{
    (void)state;
    env *stays = env_opened("CartPole-v1", "max_episode_steps=3", 1, 0, false);
    env *resets = env_opened("CartPole-v1", "max_episode_steps=3", 1, 5, true);
    struct rows r;
    rows_init(&r);
    T_OK(env_reset(stays, NULL, NULL, &r.io));
    for (int t = 0; t < 3; t++) {
        stepped(stays, &r, t % 2);
    }
    uint8_t saved[SAVE_MAX];
    uint32_t length = sizeof(saved);
    T_OK(env_save(stays, 0, saved, &length));
    T_OK(env_load(resets, 0, saved, length));
    for (int t = 1; t <= 3; t++) {
        stepped(resets, &r, t % 2);
        assert_int_equal(r.flags[0], t < 3 ? 0 : OCTET_ENV_TRUNCATED | OCTET_ENV_OBS_IS_RESET);
    }
    assert_int_equal(r.ep_length[0], 3);
    env_close(stays);
    env_close(resets);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_native_unknown_option_names_the_known_ones),
        cmocka_unit_test(test_native_action_outside_its_space_steps_nothing),
        cmocka_unit_test(test_native_box_action_that_is_not_finite_is_refused),
        cmocka_unit_test(test_native_count_of_zero_or_too_many_is_refused),
        cmocka_unit_test(test_native_state_that_is_not_finite_is_refused),
        cmocka_unit_test(test_native_blackjack_refuses_hands_that_no_play_reaches),
        cmocka_unit_test(test_native_absurd_state_neither_hangs_nor_leaks_nan),
        cmocka_unit_test(test_native_both_flags_on_the_same_step),
        cmocka_unit_test(test_native_time_limit_truncates_without_terminating),
        cmocka_unit_test(test_native_without_autoreset_it_stays_at_its_end),
        cmocka_unit_test(test_native_reset_without_seeds_begins_the_handles_first_episode),
        cmocka_unit_test(test_native_masked_reset_leaves_the_others_alone),
        cmocka_unit_test(test_native_save_and_load_continue_the_episode_and_its_sums),
        cmocka_unit_test(test_native_end_that_is_loaded_with_autoreset_begins_the_next_episode),
        cmocka_unit_test(test_native_load_refuses_what_save_did_not_write),
        cmocka_unit_test(test_native_sutton_barto_reward_is_zero_until_the_fall),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
