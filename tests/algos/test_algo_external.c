// algo.name: external: which networks and windows it makes, and what it takes from whoever learns.
#include <math.h>
#include <stdlib.h>

#include "algos/algo_external.h"
#include "common/oct_reason.h"
#include "tests/algos/algo_fixture.h"
#include "tests/support/oct_test.h"

enum { B = 4, OBS = 3, ACTIONS = 2 };

static config_experiment
external_config(void)
{
    config_experiment config = fixture_config();
    config.algo.name = CONFIG_ALGO_EXTERNAL;
    config.algo.initial_deviation = 0.5;
    return config;
}

static void
test_what_it_cannot_be_is_refused_in_words(void **state)
{
    (void)state;
    config_experiment config = external_config();
    config.algo.head = CONFIG_HEAD_TANH_GAUSSIAN;
    fixture_spec_refused(&config, fixture_env(OBS, ACTIONS),
                         "allowed are auto, values, logits and atoms");
    config.algo.head = CONFIG_HEAD_LOGITS;
    fixture_spec_refused(&config, fixture_box_env(OBS, ACTIONS),
                         "allowed are auto, tanh, gaussian and tanh_gaussian");
    config = external_config();
    config.learner.quantisation_aware = true;
    fixture_spec_refused(&config, fixture_box_env(OBS, ACTIONS), "learner.quantisation_aware");
    config = external_config();
    config.learner.count = 2;
    fixture_spec_refused(&config, fixture_box_env(OBS, ACTIONS),
                         "learner.count: algo.name external allows only one learner");
}

static void
test_heads_have_their_outputs(void **state)
{
    (void)state;
    const struct {
        config_head_name name;
        bool is_box;
        policy_head head;
        uint32_t outputs;
    } known[] = {
        {CONFIG_HEAD_AUTO, false, POLICY_HEAD_VALUES, ACTIONS},
        {CONFIG_HEAD_AUTO, true, POLICY_HEAD_TANH, ACTIONS},
        {CONFIG_HEAD_LOGITS, false, POLICY_HEAD_LOGITS, ACTIONS},
        {CONFIG_HEAD_ATOMS, false, POLICY_HEAD_ATOMS, 51 * ACTIONS},
        {CONFIG_HEAD_GAUSSIAN, true, POLICY_HEAD_GAUSSIAN, ACTIONS},
        {CONFIG_HEAD_TANH_GAUSSIAN, true, POLICY_HEAD_TANH_GAUSSIAN, 2 * ACTIONS},
    };
    config_experiment config = external_config();
    config.algo.atoms = 51;
    config.algo.value_min = -1;
    config.algo.value_max = 1;
    for (size_t i = 0; i < OCT_COUNTOF(known); i++) {
        policy_spec spec =
            known[i].is_box ? fixture_box_env(OBS, ACTIONS) : fixture_env(OBS, ACTIONS);
        config.algo.head = known[i].name;
        algo *a = fixture_create(&spec, &config, 1);
        assert_int_equal(spec.head, known[i].head);
        assert_int_equal(policy_spec_outputs(&spec), known[i].outputs);
        if (policy_spec_has_deviation(&spec)) {
            T_NEAR(algo_policy_params(a)[policy_spec_deviation(&spec)], log(0.5), 1e-6, 0);
        }
        algo_destroy(a);
    }
}

static void
test_only_a_head_with_a_distribution_is_evaluated_by_sampling(void **state)
{
    (void)state;
    config_experiment config = external_config();
    policy_spec spec = fixture_env(OBS, ACTIONS);
    oct_reason why;
    config.evaluation.sampling = true;
    config.algo.head = CONFIG_HEAD_VALUES;
    T_ERR(algo_make_spec(&config, &spec, NULL, &why), OCT_EINVAL);
    assert_non_null(strstr(why.text, "evaluation.sampling: a policy of this algo.head has no "));
    config.algo.head = CONFIG_HEAD_LOGITS;
    T_OK(algo_make_spec(&config, &spec, NULL, &why));
}

static void
test_windows_are_those_of_the_configuration(void **state)
{
    (void)state;
    config_experiment config = external_config();
    policy_spec spec = fixture_env(OBS, ACTIONS);
    algo_wants wants;
    config.algo.n_step = 5;
    config.algo.sequence_steps = 40;
    T_OK(algo_make_spec(&config, &spec, &wants, NULL));
    assert_true(wants.window == ALGO_WINDOW_N_STEP && wants.steps == 5 && !wants.each_once);
    config.algo.window = CONFIG_SAMPLED_SEQUENCE;
    T_OK(algo_make_spec(&config, &spec, &wants, NULL));
    assert_true(wants.window == ALGO_WINDOW_SEQUENCE && wants.steps == 40 && wants.stride == 1);
    config.algo.window = CONFIG_SAMPLED_ROLLOUT;
    T_OK(algo_make_spec(&config, &spec, &wants, NULL));
    assert_int_equal(wants.window, ALGO_WINDOW_ROLLOUT);
    assert_int_equal(wants.steps, config_rollout_rows(40) - 1);
    assert_true(wants.each_once && config_has_rollouts(&config));
}

// ---- updates

// Answers as it is told to.
typedef struct teacher {
    size_t params;
    float param, priority, number;
    bool gives_params, gives_priorities;
    oct_err err;
    uint32_t asked;
    const algo_batch *batch;
} teacher;

static oct_err
teacher_learn(void *arg, const algo_batch *batch, float learning_rate, algo_external_answer *answer)
{
    teacher *t = arg;
    t->asked++;
    t->batch = batch;
    assert_true(learning_rate == 0.25f && !answer->has_params && !answer->has_priorities);
    answer->has_params = t->gives_params;
    answer->has_priorities = t->gives_priorities;
    for (size_t i = 0; i < t->params; i++) {
        answer->params[i] = t->param;
    }
    for (uint32_t i = 0; i < batch->B; i++) {
        answer->priorities[i] = t->priority;
    }
    answer->numbers[0] = t->number;
    return t->err;
}

typedef struct fixture {
    config_experiment config;
    policy_spec spec;
    algo *a;
    algo_batch batch;
    teacher t;
    float priorities[B], numbers[ALGO_NUMBERS_MAX];
} fixture;

static fixture
fixture_begin(void)
{
    oct_rng rng;
    oct_rng_init(&rng, 3, 1);
    fixture f = {.config = external_config()};
    f.a = fixture_algo(&f.spec, &f.config, OBS, ACTIONS, 1);
    f.batch = fixture_batch(&rng, B, OBS, ACTIONS);
    f.t = (teacher){.params = policy_spec_params(&f.spec),
                    .param = 0.5f,
                    .priority = 2.0f,
                    .number = 7.0f,
                    .gives_params = true,
                    .gives_priorities = true};
    return f;
}

static void
fixture_learner(fixture *f)
{
    const algo_external_learner learner = {.arg = &f->t, .learn = teacher_learn};
    algo_external_set_learner(f->a, &learner);
}

static void
fixture_end(fixture *f)
{
    fixture_batch_free(&f->batch);
    algo_destroy(f->a);
}

static void
test_without_a_learner_nothing_is_learned(void **state)
{
    (void)state;
    fixture f = fixture_begin();
    fixture_update_refused(f.a, &f.batch, OCT_EINVAL);
    fixture_end(&f);
}

static void
test_what_comes_back_is_taken(void **state)
{
    (void)state;
    fixture f = fixture_begin();
    fixture_learner(&f);
    T_OK(algo_update(f.a, &f.batch, 0.25f, f.priorities, f.numbers));
    assert_ptr_equal(f.t.batch, &f.batch);
    assert_int_equal(algo_updates(f.a), 1);
    for (size_t i = 0; i < f.t.params; i++) {
        assert_true(algo_policy_params(f.a)[i] == 0.5f);
    }
    assert_true(f.priorities[0] == 2.0f && f.priorities[B - 1] == 2.0f);
    assert_true(fixture_number(&f.config, f.numbers, "loss") == 7.0f);
    assert_true(isnan(fixture_number(&f.config, f.numbers, "entropy")));
    // Without parameters the policy stays; without priorities all windows are alike.
    f.t.gives_params = f.t.gives_priorities = false;
    f.t.param = f.t.priority = 9;
    T_OK(algo_update(f.a, &f.batch, 0.25f, f.priorities, f.numbers));
    assert_true(algo_policy_params(f.a)[0] == 0.5f && f.priorities[B - 1] == 1.0f);
    assert_int_equal(algo_updates(f.a), 2);
    fixture_end(&f);
}

static void
expect_refusal(fixture *f, oct_err want)
{
    float before = algo_policy_params(f->a)[0];
    f->priorities[0] = f->numbers[0] = -77;
    T_ERR(algo_update(f->a, &f->batch, 0.25f, f->priorities, f->numbers), want);
    assert_true(f->priorities[0] == -77 && f->numbers[0] == -77);
    assert_true(algo_policy_params(f->a)[0] == before);
    assert_int_equal(algo_updates(f->a), 0);
}

static void
test_what_is_not_sound_changes_nothing(void **state)
{
    (void)state;
    const float bad[] = {NAN, INFINITY, -INFINITY, 3e38f};
    fixture f = fixture_begin();
    fixture_learner(&f);
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        f.t.param = bad[i];
        expect_refusal(&f, OCT_EINTERNAL);
    }
    f.t.param = 0.5f;
    f.t.priority = -1;
    expect_refusal(&f, OCT_EINTERNAL);
    f.t.priority = NAN;
    expect_refusal(&f, OCT_EINTERNAL);
    f.t.priority = 1;
    f.t.number = INFINITY;
    expect_refusal(&f, OCT_EINTERNAL);
    f.t.number = 0;
    f.t.err = OCT_EAGAIN; // nobody learned
    expect_refusal(&f, OCT_EAGAIN);
    fixture_end(&f);
}

// ---- state

static void
test_the_policy_is_saved(void **state)
{
    (void)state;
    fixture f = fixture_begin(), other = fixture_begin();
    fixture_learner(&f);
    T_OK(algo_update(f.a, &f.batch, 0.25f, f.priorities, f.numbers));
    size_t length;
    uint8_t *bytes = fixture_save(f.a, &length);
    oct_reader reader = {.at = bytes, .left = length};
    T_OK(algo_load(other.a, &reader));
    fixture_same_state(f.a, other.a);
    assert_int_equal(algo_updates(other.a), 1);
    // The last parameter becomes NaN, under a sum that holds.
    uint32_t crc;
    float nan = NAN;
    memcpy(bytes + length - sizeof(crc) - sizeof(nan), &nan, sizeof(nan));
    crc = oct_crc32c(0, bytes, length - sizeof(crc));
    memcpy(bytes + length - sizeof(crc), &crc, sizeof(crc));
    fixture_load_refused(other.a, bytes, length);
    free(bytes);
    fixture_end(&f);
    fixture_end(&other);
}

static void
test_the_first_weights_follow_from_the_seed(void **state)
{
    (void)state;
    config_experiment config = external_config();
    policy_spec spec;
    algo *a = fixture_algo(&spec, &config, OBS, ACTIONS, 1);
    algo *b = fixture_algo(&spec, &config, OBS, ACTIONS, 1);
    algo *c = fixture_algo(&spec, &config, OBS, ACTIONS, 2);
    fixture_same_state(a, b);
    assert_true(algo_policy_params(a)[0] != algo_policy_params(c)[0]);
    algo_destroy(a);
    algo_destroy(b);
    algo_destroy(c);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_it_cannot_be_is_refused_in_words),
        cmocka_unit_test(test_heads_have_their_outputs),
        cmocka_unit_test(test_only_a_head_with_a_distribution_is_evaluated_by_sampling),
        cmocka_unit_test(test_windows_are_those_of_the_configuration),
        cmocka_unit_test(test_without_a_learner_nothing_is_learned),
        cmocka_unit_test(test_what_comes_back_is_taken),
        cmocka_unit_test(test_what_is_not_sound_changes_nothing),
        cmocka_unit_test(test_the_policy_is_saved),
        cmocka_unit_test(test_the_first_weights_follow_from_the_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
