// Updates that are refused: they are counted and told, and a run of nothing else fails.
#include <unistd.h>

#define FOLDER "test_learner_run_refused.run"
#include "tests/learner/run_fixture.h"

#include "learner/learner_suspect.h"

static wire_env_spec env;

// Trains on what make gives for so many windows, each batch after so many steps, until the run
// gives up; returns what its log says of that. Replay answers that the rows are of session
// 0xbad, of actor 7.
static const char *
diverge(wire_sampled (*make)(uint32_t windows), uint64_t steps_each)
{
    static char text[65536];
    int saved = dup(STDERR_FILENO);
    FILE *log = tmpfile();
    assert_non_null(log);
    assert_true(dup2(fileno(log), STDERR_FILENO) >= 0);
    learner_run *run = run_begin(false);
    T_OK(learner_run_begin(run, &env, &reason));
    for (int i = 0; learner_run_phase(run) == LEARNER_TRAINING; i++) {
        assert_true(i < 2000);
        uint32_t reserved = run_request(run);
        if (reserved > 0) {
            wire_sampled sampled = make(reserved * FIXTURE_B);
            steps += steps_each * reserved;
            sampled.steps = steps;
            run_sampled(run, reserved, &sampled);
        }
        fixture_listen(&bell);
        learner_run_collect(run);
        wire_priorities asked;
        assert_false(learner_run_asks_origin(run, 1, &asked)); // they are of the first replay
        while (learner_run_asks_origin(run, 0, &asked)) {
            const uint32_t actor_id = 7;
            const uint64_t session = 0xbad;
            assert_int_equal(asked.count, 1);
            learner_run_origin(run, &(wire_sessions){asked.run_id, 1, &actor_id, &session});
        }
        learner_run_tick(run);
    }
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    (void)close(saved);
    rewind(log);
    text[fread(text, 1, sizeof(text) - 1, log)] = '\0';
    (void)fclose(log);
    assert_true(learner_run_failed(run));
    learner_run_save(run);
    learner_run_destroy(run);
    json_t *summary = summary_read();
    assert_reason(summary, "diverged");
    json_decref(summary);
    return text;
}

// Number 2 of the first observation of each batch is x.
static wire_sampled
with_observation(uint32_t windows, float x)
{
    wire_sampled sampled = fixture_sampled(&rows, windows, &rng);
    for (uint32_t i = 0; i < windows; i += FIXTURE_B) {
        rows.obs[i][2] = x;
    }
    return sampled;
}

static wire_sampled
with_large(uint32_t windows)
{
    return with_observation(windows, 1e30f);
}

static wire_sampled
with_nan(uint32_t windows)
{
    return with_observation(windows, NAN);
}

static void
test_run_that_diverges_ends_and_says_why(void **state)
{
    (void)state;
    env = good_env;
    assert_non_null(
        strstr(diverge(with_large, 0), "number 2 of an observation reaches 1e+30, and 1000"));
    const char *log = diverge(with_nan, 0);
    assert_non_null(strstr(log, "lower algo.learning_rate"));
    assert_null(strstr(strstr(log, "LEARNER-DIVERGED"), "is of session")); // its numbers are small
}

static void
test_run_that_diverges_names_the_session_of_the_largest_number(void **state)
{
    (void)state;
    env = good_env;
    const char *log = diverge(with_large, 0);
    const char *named = strstr(log, "LEARNER-UPDATE-ROWS");
    assert_non_null(named);
    assert_non_null(
        strstr(named, "session=0000000000000bad actor=7 certificate=\"\" number=1e+30"));
    assert_null(strstr(named + 1, "LEARNER-UPDATE-ROWS")); // once for each session
    assert_non_null(strstr(strstr(log, "LEARNER-DIVERGED"),
                           "octet data drop RUN --session 0000000000000bad removes its rows"));
}

static void
test_suspect_is_the_window_with_the_largest_number(void **state)
{
    (void)state;
    const float obs[] = {1, 2, 3, NAN, 5, -6}, next[] = {1, 2, 3, 4, 5, 6}, reward[] = {0, -9, 1};
    uint64_t key[] = {100, 200, 300};
    const learner_batch batch = {
        .view = {.B = 3, .obs = obs, .next = next, .reward = reward}, .obs_count = 2, .key = key};
    learner_suspect suspect = {0};
    wire_priorities asked;
    assert_false(learner_suspect_ask(&suspect, 5, 6, 1, &asked));
    assert_int_equal(learner_suspect_note(&suspect, &batch, 1), 1);
    suspect.incarnation = 77;
    assert_true(suspect.obs == 6 && suspect.obs_index == 1 && suspect.number == 9);
    assert_true(learner_suspect_ask(&suspect, 5, 6, 1, &asked));
    assert_true(asked.count == 1 && asked.key[0] == 200 && asked.incarnation == 77);
    assert_true(asked.run_id == 5 && asked.epoch == 6);
    (void)learner_suspect_note(&suspect, &batch, 2); // one question at a time, and one in a second
    assert_false(learner_suspect_ask(&suspect, 5, 6, 2, &asked));
    assert_false(learner_suspect_answered(&suspect, NULL));
    (void)learner_suspect_note(&suspect, &batch, 3);
    assert_false(learner_suspect_ask(&suspect, 5, 6, 3, &asked));
    (void)learner_suspect_note(&suspect, &batch, 2000000000);
    assert_true(learner_suspect_ask(&suspect, 5, 6, 2000000000, &asked));
    const uint32_t actor_id[] = {0};
    const uint64_t session[] = {0};
    const wire_sessions gone = {5, 1, actor_id, session};
    assert_false(learner_suspect_answered(&suspect, &gone)); // its window has left
    assert_true(suspect.session == 0);
}

// Sequences of a table, with observations that are all 0 and so of no state.
enum { TABLE_STEPS = 4 };
static wire_sampled
without_state(uint32_t windows)
{
    static const uint8_t obs[FIXTURE_ROWS_MAX][TABLE_STEPS + 1][FIXTURE_OBS];
    static const int32_t action[FIXTURE_ROWS_MAX][TABLE_STEPS];
    static const float reward[FIXTURE_ROWS_MAX][TABLE_STEPS];
    static const uint8_t flags[FIXTURE_ROWS_MAX][TABLE_STEPS];
    static const uint32_t version[FIXTURE_ROWS_MAX][TABLE_STEPS];
    wire_sampled sampled = fixture_sampled(&rows, windows, &rng);
    sampled.window_steps = TABLE_STEPS;
    sampled.obs_bytes = FIXTURE_OBS;
    sampled.obs = obs[0][0];
    sampled.action = (const uint8_t *)action[0];
    sampled.reward = reward[0];
    sampled.flags = flags[0];
    sampled.version = version[0];
    return sampled;
}

static void
test_run_whose_batches_do_not_fit_says_so(void **state)
{
    (void)state;
    static const uint32_t shape[] = {FIXTURE_OBS};
    env = good_env;
    env.obs_dtype = POLICY_U8;
    env.obs_rank = 1;
    env.obs_shape = shape;
    config.algo.name = CONFIG_ALGO_TABLE;
    config.algo.sequence_steps = TABLE_STEPS - 1;
    config.algo.n_step = 1;
    const char *log = diverge(without_state, 0);
    assert_non_null(strstr(log, "1000 updates in a row were refused: the batch does not fit"));
    assert_null(strstr(log, "finite"));
}

// Actions of a box in [-2, 2], of which one of each batch is 2.1.
static wire_sampled
with_action_outside(uint32_t windows)
{
    static float action[FIXTURE_ROWS_MAX];
    wire_sampled sampled = fixture_sampled(&rows, windows, &rng);
    for (uint32_t i = 0; i < windows; i++) {
        action[i] = i % FIXTURE_B == 1 ? 2.1f : -2.0005f;
    }
    sampled.action = (const uint8_t *)action;
    return sampled;
}

static void
test_run_whose_actions_are_outside_their_bounds_says_so(void **state)
{
    (void)state;
    static const float low[] = {-2}, high[] = {2};
    env = good_env;
    env.action_kind = POLICY_BOX;
    env.action_count = 1;
    env.action_low = low;
    env.action_high = high;
    config.algo.name = CONFIG_ALGO_TD3;
    const char *log = diverge(with_action_outside, 0);
    assert_non_null(strstr(log, "an update was refused: number 0 of an action is 2.1, outside"));
    assert_non_null(strstr(log, "1000 updates in a row were refused: number 0 of an action is 2.1, "
                                "outside its bounds [-2, 2]"));
}

static void
test_run_of_refused_updates_alone_fails_when_its_budget_ends(void **state)
{
    (void)state;
    env = good_env;
    const char *log = diverge(with_nan, config.run.env_steps / 8);
    const char *first = strstr(log, "LEARNER-UPDATE-REFUSED");
    assert_non_null(first);
    assert_non_null(strstr(first, "loss or gradient is not finite"));
    assert_null(strstr(first + 1, "LEARNER-UPDATE-REFUSED"));
    assert_non_null(strstr(log, "updates in a row were not finite"));
}

// One that has learned something goes on with the next batch, and ends well.
static void
test_run_counts_refused_updates(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    uint32_t reserved = run_request(run);
    wire_sampled sampled = fixture_sampled(&rows, reserved * FIXTURE_B, &rng);
    for (uint32_t k = 0; k < reserved; k++) {
        rows.reward[k * FIXTURE_B] = INFINITY;
    }
    run_sampled(run, reserved, &sampled);
    while (status_of(run, "learner.updates_refused") < reserved) {
        fixture_listen(&bell);
        learner_run_collect(run);
    }
    run_train(run, 1);
    assert_true(status_of(run, "learner.updates") > 0);
    T_NEAR(status_of(run, "learner.updates_refused"), reserved, 0, 0);
    steps = config.run.env_steps;
    run_stepped(run, steps);
    learner_run_tick(run);
    assert_int_equal(learner_run_phase(run), LEARNER_DONE);
    assert_false(learner_run_failed(run));
    learner_run_destroy(run);
}

int
main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_run_that_diverges_ends_and_says_why),
        T(test_suspect_is_the_window_with_the_largest_number),
        T(test_run_that_diverges_names_the_session_of_the_largest_number),
        T(test_run_whose_batches_do_not_fit_says_so),
        T(test_run_whose_actions_are_outside_their_bounds_says_so),
        T(test_run_of_refused_updates_alone_fails_when_its_budget_ends),
        T(test_run_counts_refused_updates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
