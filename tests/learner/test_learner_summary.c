// summary.json has its keys and the right values, also for unusual numbers.
#include <jansson.h>

#include "learner/learner_summary.h"
#include "tests/learner/run_folder.h"

#define PATH "test_learner_summary.json"

static config_experiment config;

static const oct_metric_names metrics = {.count = 2, .name = {"success rate", "laps"}};

static learner_summary
summary_of(void)
{
    config_default(&config);
    (void)snprintf(config.env.id, sizeof(config.env.id), "Cart\"Pole");
    config.run.seed = 12;
    return (learner_summary){
        .config = &config,
        .reason = "budget",
        .precision = "int8",
        .metrics = &metrics,
        .blas = "Haswell",
        .run_id = 0xabc,
        .env_steps = 3000,
        .env_steps_base = 1000,
        .updates = 500,
        .updates_base = 100,
        .updates_refused = 3,
        .env_failures = 12,
        .evaluation_failures = 5,
        .training_s = 4,
        .wait_share = NAN,
        .agreement = NAN,
        .divergence = INFINITY,
    };
}

static json_t *
written(const learner_summary *summary)
{
    json_error_t error;
    T_OK(learner_summary_write(PATH, summary));
    json_t *root = json_load_file(PATH, JSON_REJECT_DUPLICATES, &error);
    assert_non_null(root);
    (void)unlink(PATH);
    return root;
}

static double
number(const json_t *root, const char *key)
{
    const json_t *value = json_object_get(root, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void
test_summary_that_cannot_be_written(void **state)
{
    (void)state;
    learner_summary summary = summary_of();
    assert_true(learner_summary_write("no/such/folder/summary.json", &summary) != OCT_OK);
}

// Text that is no UTF-8 and numbers that were not measured: still JSON.
static void
test_summary_of_odd_values(void **state)
{
    (void)state;
    learner_summary summary = summary_of();
    summary.reason = "bad \xff bytes";
    summary.training_s = 0;
    json_t *root = written(&summary);
    assert_true(json_is_null(json_object_get(root, "reason")));
    assert_true(json_is_null(json_object_get(root, "return")));
    assert_true(json_is_null(json_object_get(root, "env_steps_per_s")));
    assert_true(json_is_null(json_object_get(root, "learner_wait_share")));
    assert_true(json_is_null(json_object_get(root, "agreement")));
    assert_true(json_is_null(json_object_get(root, "divergence")));
    assert_string_equal(json_string_value(json_object_get(root, "env")), "Cart\"Pole");
    json_decref(root);
}

static const char *const keys[] = {"env",
                                   "run_id",
                                   "seed",
                                   "reason",
                                   "solved",
                                   "goal",
                                   "return",
                                   "last_return",
                                   "last_screens",
                                   "env_steps",
                                   "updates",
                                   "inserts",
                                   "samples",
                                   "policy_version",
                                   "publications",
                                   "deltas",
                                   "actors",
                                   "learner_wall_s",
                                   "training_s",
                                   "env_steps_per_s",
                                   "updates_per_s",
                                   "learner_wait_share",
                                   "learner_cpu_s",
                                   "last_publication",
                                   "agreement",
                                   "divergence",
                                   "actor_seconds",
                                   "bytes",
                                   "blas",
                                   "version",
                                   "commit",
                                   "updates_refused",
                                   "unlearned_why",
                                   "env_failures",
                                   "unevaluated_why",
                                   "sampling_why",
                                   "evaluation_failures"};

static void
test_summary_has_its_keys(void **state)
{
    (void)state;
    learner_summary summary = summary_of();
    summary.solved = summary.has_last = true;
    summary.result = (learner_eval_result){.stage = LEARNER_EVAL_RESULT,
                                           .version = 8,
                                           .episodes = 100,
                                           .mean = 480,
                                           .std = 2,
                                           .min = 1,
                                           .max = 500,
                                           .failed = 12,
                                           .truncated = 4,
                                           .metrics = {{25, 100}}};
    summary.last_result = (learner_eval_result){.version = 9, .episodes = 100, .mean = 12};
    config.evaluation.sampling = true;
    summary.screens = 10;
    summary.screens_mean = 300;
    json_t *root = written(&summary);
    for (size_t i = 0; i < OCT_COUNTOF(keys); i++) {
        assert_non_null(json_object_get(root, keys[i]));
    }
    assert_int_equal(json_object_size(root), OCT_COUNTOF(keys));
    assert_string_equal(json_string_value(json_object_get(root, "run_id")), "0000000000000abc");
    assert_true(json_is_true(json_object_get(root, "solved")));
    assert_int_equal(json_integer_value(json_object_get(root, "updates_refused")), 3);
    assert_int_equal(json_integer_value(json_object_get(root, "env_failures")), 12);
    assert_int_equal(json_integer_value(json_object_get(root, "evaluation_failures")), 5);
    assert_true(json_is_null(json_object_get(root, "unevaluated_why")));
    const json_t *result = json_object_get(root, "return");
    T_NEAR(number(result, "mean"), 480, 0, 0);
    T_NEAR(number(result, "policy_version"), 8, 0, 0);
    T_NEAR(number(result, "failed_episodes"), 12, 0, 0);
    T_NEAR(number(result, "truncated_episodes"), 4, 0, 0);
    assert_string_equal(json_string_value(json_object_get(result, "actions")), "sampled");
    const json_t *measured = json_object_get(result, "metrics");
    T_NEAR(number(measured, "success rate"), 0.25, 0, 0);
    assert_true(json_is_null(json_object_get(measured, "laps"))); // in no episode
    assert_true(json_is_true(json_object_get(result, "final")));
    assert_string_equal(json_string_value(json_object_get(result, "stage")), "result");
    const json_t *last = json_object_get(root, "last_return");
    T_NEAR(number(last, "mean"), 12, 0, 0);
    T_NEAR(number(last, "policy_version"), 9, 0, 0);
    T_NEAR(number(json_object_get(root, "last_screens"), "mean"), 300, 0, 0);
    T_NEAR(number(json_object_get(root, "last_screens"), "count"), 10, 0, 0);
    assert_non_null(json_object_get(json_object_get(root, "bytes"), "actor_to_replay"));
    json_decref(root);
}

// Its mean is one that it was chosen by.
static void
test_summary_tells_a_return_that_is_not_final(void **state)
{
    (void)state;
    learner_summary summary = summary_of();
    summary.result = (learner_eval_result){.stage = LEARNER_EVAL_FULL, .episodes = 100};
    json_t *root = written(&summary);
    const json_t *result = json_object_get(root, "return");
    assert_true(json_is_false(json_object_get(result, "final")));
    assert_string_equal(json_string_value(json_object_get(result, "stage")), "full");
    json_decref(root);
}

// Of a run that was resumed and learned nothing more.
static void
test_summary_keeps_failures_of_environments_and_their_cause(void **state)
{
    (void)state;
    learner_summary summary = summary_of();
    json_t *before = written(&summary);
    (void)json_object_set_new(before, "env_failures_why", json_string("actor-0: it raised"));
    char *text = json_dumps(before, 0);
    summary.before = text;
    summary.updates = summary.updates_base;
    summary.updates_refused = 0;
    summary.env_failures = 0;
    json_t *after = written(&summary);
    assert_true(number(after, "env_failures") == 12);
    assert_string_equal(json_string_value(json_object_get(after, "env_failures_why")),
                        "actor-0: it raised");
    free(text);
    json_decref(before);
    json_decref(after);
}

// Steps of the processes before a resume are no speed of this one.
static void
test_summary_rates_are_of_this_process(void **state)
{
    (void)state;
    learner_summary summary = summary_of();
    json_t *root = written(&summary);
    T_NEAR(number(root, "env_steps"), 3000, 0, 0);
    T_NEAR(number(root, "env_steps_per_s"), 500, 0, 1e-9);
    T_NEAR(number(root, "updates_per_s"), 100, 0, 1e-9);
    json_decref(root);
}

static void
test_summary_tells_what_quantising_lost(void **state)
{
    (void)state;
    quantizer_publication last = {
        .version = 9,
        .length = 5652,
        .encode_s = 0.002,
        .layer_count = 2,
        .error = {{.relative_l2 = 0.5f, .max_abs = 0.25f}, {.relative_l2 = 0, .max_abs = 0}},
    };
    learner_summary summary = summary_of();
    json_t *root = written(&summary);
    assert_true(json_is_null(json_object_get(root, "last_publication")));
    json_decref(root);
    summary.last = &last;
    root = written(&summary);
    const json_t *object = json_object_get(root, "last_publication");
    assert_int_equal(json_integer_value(json_object_get(object, "bytes")), 5652);
    T_NEAR(json_real_value(json_object_get(object, "encode_ms")), 2, 1e-9, 0);
    const json_t *layers = json_object_get(object, "layer_error");
    assert_int_equal(json_array_size(layers), 2);
    const json_t *first = json_array_get(layers, 0);
    T_NEAR(json_real_value(json_object_get(first, "relative_l2")), 0.5, 0, 0);
    T_NEAR(json_real_value(json_object_get(first, "max_abs")), 0.25, 0, 0);
    json_decref(root);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_summary_keeps_failures_of_environments_and_their_cause),
        cmocka_unit_test(test_summary_that_cannot_be_written),
        cmocka_unit_test(test_summary_of_odd_values),
        cmocka_unit_test(test_summary_tells_what_quantising_lost),
        cmocka_unit_test(test_summary_has_its_keys),
        cmocka_unit_test(test_summary_tells_a_return_that_is_not_final),
        cmocka_unit_test(test_summary_rates_are_of_this_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
