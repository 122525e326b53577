// MinAtar's games against what the original did (tests/data/minatar/README.md), and what those
// recordings do not reach: time-outs, sticky actions, late ramping, saving.
#include "common/oct_reason.h"
#include "tests/envs/minatar_board.h"

#include <math.h>

#include "common/oct_rng.h"
#include "envs/env_replay.h"

static const char *const games[] = {"Breakout", "Asterix", "Freeway", "Seaquest", "SpaceInvaders"};

// ---- the recordings

static void
test_minatar_equals_the_recordings_row_for_row(void **state)
{
    (void)state;
    static const struct {
        const char *id, *path;
        uint64_t rows;
    } files[] = {
        {"MinAtar/Breakout-v0", "tests/data/minatar/breakout.csv", 751},
        {"MinAtar/Asterix-v0", "tests/data/minatar/asterix.csv", 491},
        {"MinAtar/Freeway-v0", "tests/data/minatar/freeway.csv", 701},
        {"MinAtar/Seaquest-v0", "tests/data/minatar/seaquest.csv", 701},
        {"MinAtar/SpaceInvaders-v0", "tests/data/minatar/space_invaders.csv", 936},
    };
    for (size_t i = 0; i < OCT_COUNTOF(files); i++) {
        oct_reason why;
        env_replay_result result;
        env_replay_request request = {.path = files[i].path};
        env *e = env_opened(files[i].id, "sticky_actions=0", 1, 0, false);
        if (env_replay_run(&result, e, &request, &why) != OCT_OK) {
            fail_msg("%s", why.text);
        }
        if (result.rows_differing != 0) {
            fail_msg("%s:%u: %s: got %g", files[i].path, result.line, result.column, result.got);
        }
        assert_int_equal(result.rows, files[i].rows);
        env_close(e);
    }
}

static void
test_minatar_minimal_actions_are_those_of_the_game(void **state)
{
    (void)state;
    static const struct {
        const char *game;
        uint32_t count;
        int actions[6];
    } sets[] = {
        {"Breakout", 3, {NONE, LEFT, RIGHT}},
        {"Asterix", 5, {NONE, LEFT, UP, RIGHT, DOWN}},
        {"Freeway", 3, {NONE, UP, DOWN}},
        {"Seaquest", 6, {NONE, LEFT, UP, RIGHT, DOWN, FIRE}},
        {"SpaceInvaders", 4, {NONE, LEFT, RIGHT, FIRE}},
    };
    for (size_t i = 0; i < OCT_COUNTOF(sets); i++) {
        char id[2][64];
        struct board boards[2];
        for (int v = 0; v < 2; v++) {
            snprintf(id[v], sizeof(id[v]), "MinAtar/%s-v%d", sets[i].game, v);
            board_open(&boards[v], id[v], "", 5, true);
        }
        assert_int_equal(env_spec(boards[0].e)->action.n, 6);
        assert_int_equal(env_spec(boards[1].e)->action.n, sets[i].count);
        oct_rng rng;
        oct_rng_init(&rng, 1, 0);
        for (int t = 0; t < 2000; t++) {
            uint32_t a = oct_rng_u32(&rng) % sets[i].count;
            board_step(&boards[0], sets[i].actions[a]);
            board_step(&boards[1], (int)a);
            assert_memory_equal(boards[0].obs, boards[1].obs, OBS_MAX);
            assert_int_equal(boards[0].flags, boards[1].flags);
        }
        boards[1].action = (int32_t)sets[i].count;
        T_ERR(env_step(boards[1].e, &boards[1].io), OCT_EINVAL);
        env_close(boards[0].e);
        env_close(boards[1].e);
    }
}

// ---- ends

static void
test_minatar_freeway_ends_after_2501_steps_as_terminated(void **state)
{
    (void)state;
    struct board b;
    board_open(&b, "MinAtar/Freeway-v1", "", 3, true);
    for (int episode = 0; episode < 2; episode++) {
        float sum = 0;
        for (int t = 1; t <= 2501; t++) {
            board_step(&b, 1);
            sum += b.reward;
            if (t < 2501) {
                assert_int_equal(b.flags, 0);
            }
        }
        assert_int_equal(b.flags, OCTET_ENV_TERMINATED | OCTET_ENV_OBS_IS_RESET);
        assert_int_equal(b.ep_length, 2501);
        assert_true(b.ep_return == sum && sum > 0);
        assert_true(cell(b.obs, b.channels, 9, 4, 0));
    }
    env_close(b.e);
}

static void
test_minatar_time_limit_truncates(void **state)
{
    (void)state;
    struct board b;
    board_open(&b, "MinAtar/SpaceInvaders-v1", "max_episode_steps=7", 3, false);
    assert_int_equal(env_spec(b.e)->max_episode_steps, 7);
    for (int t = 1; t <= 7; t++) {
        board_step(&b, 0);
        assert_int_equal(b.flags, t == 7 ? OCTET_ENV_TRUNCATED : 0);
    }
    board_step(&b, 0);
    assert_int_equal(b.flags, OCTET_ENV_TRUNCATED);
    assert_true(b.reward == 0);
    env_close(b.e);
    board_open(&b, "MinAtar/SpaceInvaders-v1", "", 3, false);
    assert_int_equal(env_spec(b.e)->max_episode_steps, 100000);
    env_close(b.e);
}

// ---- sticky actions

// Where the cannon went tells which action was executed.
static void
test_minatar_sticky_actions_repeat_the_executed_one(void **state)
{
    (void)state;
    struct board b;
    board_open(&b, "MinAtar/SpaceInvaders-v0", "", 11, true);
    oct_rng rng;
    oct_rng_init(&rng, 2, 0);
    int executed = NONE, x = 5;
    uint32_t chances = 0, repeated = 0;
    for (int t = 0; t < 60000; t++) {
        int chosen = x <= 1 ? RIGHT : x >= 8 ? LEFT : oct_rng_u32(&rng) % 2 == 0 ? LEFT : RIGHT;
        board_step(&b, chosen);
        const uint8_t *obs = b.flags != 0 ? b.final_obs : b.obs;
        int now = column_of(obs, b.channels, 9, 0);
        int went = now > x ? RIGHT : now < x ? LEFT : executed; // at a wall, or NONE
        assert_true(went == chosen || went == executed);
        if (chosen != executed) {
            chances++;
            repeated += went == executed;
        }
        executed = went;
        x = b.flags != 0 ? 5 : now; // the executed action survives the reset
    }
    double share = (double)repeated / chances, sigma = sqrt(0.1 * 0.9 / chances);
    assert_true(chances > 10000);
    if (fabs(share - 0.1) > 5 * sigma) {
        fail_msg("repeated %g of %u", share, chances);
    }
    env_close(b.e);
}

static void
test_minatar_sticky_action_is_the_first_draw_and_survives_a_reset(void **state)
{
    (void)state;
    struct board b;
    board_open(&b, "MinAtar/SpaceInvaders-v0", "sticky_actions=0.25", 0, false);
    const double keep = 0.2499, take = 0.25;
    T_OK(env_draws_set(b.e, 0, &keep, 1));
    board_step(&b, RIGHT); // the action before the first one is 0
    assert_int_equal(column_of(b.obs, b.channels, 9, 0), 5);
    T_OK(env_draws_set(b.e, 0, &take, 1));
    board_step(&b, RIGHT);
    assert_int_equal(column_of(b.obs, b.channels, 9, 0), 6);
    T_OK(env_draws_set(b.e, 0, &keep, 0));
    T_OK(env_reset(b.e, NULL, NULL, &b.io));
    T_OK(env_draws_set(b.e, 0, &keep, 1));
    board_step(&b, LEFT);
    assert_int_equal(column_of(b.obs, b.channels, 9, 0), 6);
    board_step(&b, NONE); // the tape holds until the next one is set
    assert_int_equal(column_of(b.obs, b.channels, 9, 0), 7);
    // A reset with a seed makes the environment a new one.
    uint64_t seed = 1;
    T_OK(env_draws_set(b.e, 0, &keep, 0));
    T_OK(env_reset(b.e, NULL, &seed, &b.io));
    T_OK(env_draws_set(b.e, 0, &keep, 1));
    board_step(&b, LEFT);
    assert_int_equal(column_of(b.obs, b.channels, 9, 0), 5);
    env_close(b.e);
}

static void
test_minatar_draws_that_do_not_fit_change_nothing(void **state)
{
    (void)state;
    struct board b;
    board_open(&b, "MinAtar/Breakout-v0", "sticky_actions=0.5", 0, false);
    uint8_t before[SAVED_MAX], after[SAVED_MAX];
    uint32_t length, same;
    saved(&b, before, &length);
    const double tapes[][2] = {{0.7, 0.1}, {1, 0}, {-0.5, 0}, {NAN, 0}};
    static const uint32_t counts[] = {2, 1, 1, 1};
    for (size_t i = 0; i < OCT_COUNTOF(tapes) + 1; i++) {
        uint32_t count = i < OCT_COUNTOF(tapes) ? counts[i] : 0;
        T_OK(env_draws_set(b.e, 0, tapes[i % OCT_COUNTOF(tapes)], count));
        b.action = RIGHT;
        T_ERR(env_step(b.e, &b.io), OCT_EINTERNAL);
        T_SAYS(env_error(b.e), "recorded random numbers are not those that the step draws");
        saved(&b, after, &same);
        assert_int_equal(length, same);
        assert_memory_equal(before, after, length);
    }
    T_OK(env_draws_set(b.e, 0, NULL, 0));
    board_step(&b, RIGHT);
    env_close(b.e);
    board_open(&b, "MinAtar/Breakout-v0", "", 0, true);
    T_ERR(env_draws_set(b.e, 0, tapes[0], 1), OCT_EINVAL);
    T_SAYS(env_error(b.e), "not with autoreset");
    env_close(b.e);
    env *cartpole = env_opened("CartPole-v1", "", 1, 0, false);
    T_ERR(env_draws_set(cartpole, 0, tapes[0], 1), OCT_EINVAL);
    env_close(cartpole);
}

// ---- Asterix, later on

// The best action: one after which the player, standing still, lives longest.
static int
safe_action(struct board *b, struct board *trial)
{
    uint8_t bytes[SAVED_MAX];
    uint32_t length;
    saved(b, bytes, &length);
    int best = NONE, best_steps = -1;
    for (int action = NONE; action <= DOWN; action++) {
        T_OK(env_load(trial->e, 0, bytes, length));
        int steps = 0;
        board_step(trial, action);
        while (trial->flags == 0 && steps < 12) {
            steps++;
            board_step(trial, NONE);
        }
        if (steps > best_steps) {
            best_steps = steps;
            best = action;
        }
    }
    return best;
}

// Steps Asterix on to step until of its only episode, from *t on.
static void
asterix_survive(struct board *b, struct board *trial, int *t, int until)
{
    for (; *t < until; (*t)++) {
        board_step(b, safe_action(b, trial));
        assert_int_equal(b->flags, 0);
    }
}

static void
test_minatar_asterix_ramps_every_102_steps_down_to_1(void **state)
{
    (void)state;
    enum { SPAWN_SPEED = 2, MOVE_SPEED = 4 }; // places among the saved numbers
    struct board b, trial;
    board_open(&b, "MinAtar/Asterix-v1", "sticky_actions=0", 4, false);
    board_open(&trial, "MinAtar/Asterix-v1", "sticky_actions=0", 4, false);
    int t = 0;
    for (int k = 1; k <= 6; k++) {
        asterix_survive(&b, &trial, &t, 102 * k - 1);
        assert_int_equal(saved_number(&b, SPAWN_SPEED), 10 - (k - 1));
        assert_int_equal(saved_number(&b, MOVE_SPEED), 5 - (k - 1) / 2);
        asterix_survive(&b, &trial, &t, 102 * k);
        assert_int_equal(saved_number(&b, SPAWN_SPEED), 10 - k);
        assert_int_equal(saved_number(&b, MOVE_SPEED), 5 - k / 2);
    }
    env_close(b.e);
    env_close(trial.e);
}

// The speeds are no play of numbers: what moves, moves every move_speed steps.
static void
test_minatar_asterix_moves_as_fast_as_it_says(void **state)
{
    (void)state;
    struct board b, trial;
    board_open(&b, "MinAtar/Asterix-v1", "sticky_actions=0,ramping=0", 4, false);
    board_open(&trial, "MinAtar/Asterix-v1", "sticky_actions=0,ramping=0", 4, false);
    int moved_at = 0, moves = 0;
    for (int t = 1; t <= 300; t++) {
        uint8_t before[OBS_MAX];
        memcpy(before, b.obs, sizeof(before));
        board_step(&b, safe_action(&b, &trial));
        bool moved = false;
        for (uint32_t y = 1; y <= 8; y++) {
            for (uint32_t x = 1; x < 9; x++) { // an enemy that is not where it was
                moved = moved || (cell(before, 4, y, x, 1) && !cell(b.obs, 4, y, x, 1));
            }
        }
        if (moved) {
            assert_true(moved_at == 0 || (t - moved_at) % 5 == 0);
            moved_at = t;
            moves++;
        }
    }
    assert_true(moves > 30);
    assert_int_equal(saved_number(&b, 2), 10); // ramping=0
    env_close(b.e);
    env_close(trial.e);
}

// ---- saving, seeds

static void
test_minatar_saved_states_go_on_the_same(void **state)
{
    (void)state;
    for (size_t g = 0; g < OCT_COUNTOF(games); g++) {
        char id[64];
        snprintf(id, sizeof(id), "MinAtar/%s-v0", games[g]);
        struct board a, b;
        board_open(&a, id, "", 21, true);
        board_open(&b, id, "", 99, true);
        oct_rng rng;
        oct_rng_init(&rng, 3, g);
        for (int round = 0; round < 40; round++) {
            uint8_t bytes[SAVED_MAX], again[SAVED_MAX];
            uint32_t length, same;
            saved(&a, bytes, &length);
            T_OK(env_load(b.e, 0, bytes, length));
            saved(&b, again, &same);
            assert_int_equal(length, same);
            assert_memory_equal(bytes, again, length);
            for (int t = 0; t < 50; t++) {
                int action = (int)(oct_rng_u32(&rng) % 6);
                board_step(&a, action);
                board_step(&b, action);
                assert_memory_equal(a.obs, b.obs, OBS_MAX);
                assert_true(a.reward == b.reward && a.flags == b.flags);
                assert_true(a.ep_return == b.ep_return || a.flags == 0);
            }
            T_ERR(env_load(b.e, 0, bytes, length - 1), OCT_EINTERNAL);
            T_SAYS(env_error(b.e), "load: not a saved state of MinAtar/");
        }
        env_close(a.e);
        env_close(b.e);
    }
}

static void
test_minatar_end_that_is_loaded_with_autoreset_begins_the_next_episode(void **state)
{
    (void)state;
    struct board stays, resets;
    board_open(&stays, "MinAtar/Freeway-v1", "max_episode_steps=3", 21, false);
    board_open(&resets, "MinAtar/Freeway-v1", "max_episode_steps=3", 99, true);
    for (int t = 0; t < 3; t++) {
        board_step(&stays, NONE);
    }
    assert_int_equal(stays.flags, OCTET_ENV_TRUNCATED);
    uint8_t bytes[SAVED_MAX];
    uint32_t length;
    saved(&stays, bytes, &length);
    T_OK(env_load(resets.e, 0, bytes, length));
    for (int t = 1; t <= 3; t++) {
        board_step(&resets, NONE);
        assert_int_equal(resets.flags, t < 3 ? 0 : OCTET_ENV_TRUNCATED | OCTET_ENV_OBS_IS_RESET);
    }
    env_close(stays.e);
    env_close(resets.e);
}

// Whatever is loaded is refused or can be played: nothing of it is used unchecked.
static void
test_minatar_damaged_states_are_refused_or_playable(void **state)
{
    (void)state;
    for (size_t g = 0; g < OCT_COUNTOF(games); g++) {
        char id[64];
        snprintf(id, sizeof(id), "MinAtar/%s-v1", games[g]);
        struct board b;
        board_open(&b, id, "", 21, true);
        for (int t = 0; t < 300; t++) {
            board_step(&b, t % 3);
        }
        uint8_t good[SAVED_MAX];
        uint32_t length, refused = 0;
        saved(&b, good, &length);
        oct_rng rng;
        oct_rng_init(&rng, 4, g);
        for (int trial = 0; trial < 3000; trial++) {
            uint8_t bytes[SAVED_MAX];
            memcpy(bytes, good, length);
            bytes[8 + oct_rng_u32(&rng) % (length - 8)] = (uint8_t)oct_rng_u32(&rng);
            if (env_load(b.e, 0, bytes, length) != OCT_OK) {
                refused++;
                continue;
            }
            for (int t = 0; t < 8; t++) {
                board_step(&b, t % 3);
            }
        }
        assert_true(refused > 0);
        env_close(b.e);
    }
}

static void
test_minatar_10000_resets_and_seeds(void **state)
{
    (void)state;
    for (size_t g = 0; g < OCT_COUNTOF(games); g++) {
        char id[64];
        snprintf(id, sizeof(id), "MinAtar/%s-v1", games[g]);
        struct board b;
        board_open(&b, id, "", 0, true);
        uint8_t first[OBS_MAX];
        for (int k = 0; k < 10000; k++) {
            uint64_t seed = (uint64_t)(k % 2);
            T_OK(env_reset(b.e, NULL, &seed, &b.io));
            for (int t = 0; t < 3; t++) {
                board_step(&b, 1);
            }
            if (k == 0) {
                memcpy(first, b.obs, sizeof(first));
            }
            assert_true(k % 2 != 0 || memcmp(first, b.obs, sizeof(first)) == 0);
        }
        env_close(b.e);
    }
}

static void
test_minatar_refuses_unknown_options_and_values(void **state)
{
    (void)state;
    static const struct {
        const char *options, *says;
    } cases[] = {
        {"sticky=0", "MinAtar/Breakout-v1 has no option \"sticky\"; it has: max_episode_steps, "
                     "action_repeat, frame_stack, channels_first, sticky_actions, ramping"},
        {"sticky_actions=1.5", "option sticky_actions=1.5 is not a number from 0 to 1"},
        {"ramping=0.5", "option ramping=0.5 is not an integer from 0 to 1"},
        {"max_episode_steps=-1", "is not an integer from 0"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        oct_reason why;
        env *e;
        env_request request = {
            .id = "MinAtar/Breakout-v1", .options = cases[i].options, .count = 1};
        T_ERR(env_open(&e, &request, &why), OCT_EINVAL);
        T_SAYS(why.text, cases[i].says);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_minatar_equals_the_recordings_row_for_row),
        cmocka_unit_test(test_minatar_minimal_actions_are_those_of_the_game),
        cmocka_unit_test(test_minatar_freeway_ends_after_2501_steps_as_terminated),
        cmocka_unit_test(test_minatar_time_limit_truncates),
        cmocka_unit_test(test_minatar_sticky_actions_repeat_the_executed_one),
        cmocka_unit_test(test_minatar_sticky_action_is_the_first_draw_and_survives_a_reset),
        cmocka_unit_test(test_minatar_draws_that_do_not_fit_change_nothing),
        cmocka_unit_test(test_minatar_asterix_ramps_every_102_steps_down_to_1),
        cmocka_unit_test(test_minatar_asterix_moves_as_fast_as_it_says),
        cmocka_unit_test(test_minatar_saved_states_go_on_the_same),
        cmocka_unit_test(test_minatar_end_that_is_loaded_with_autoreset_begins_the_next_episode),
        cmocka_unit_test(test_minatar_damaged_states_are_refused_or_playable),
        cmocka_unit_test(test_minatar_10000_resets_and_seeds),
        cmocka_unit_test(test_minatar_refuses_unknown_options_and_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
