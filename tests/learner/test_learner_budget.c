// What a learner takes is added up before it takes it, and refused where there is not so much.
#include "common/oct_reason.h"
#include "learner/learner_budget.h"

#include <string.h>

#include "common/oct_base.h"
#include "common/oct_memory.h"
#include "learner/learner_batch.h"
#include "learner/learner_batches.h"
#include "tests/learner/learner_fixture.h"

#define GIB ((uint64_t)1 << 30)

static config_experiment config;
static policy_spec spec;
static oct_reason reason;

static void
set(const char *assignment)
{
    char message[512];
    if (config_set(&config, assignment, message, sizeof(message)) != OCT_OK) {
        fail_msg("%s", message);
    }
}

static int
setup(void **state)
{
    (void)state;
    config_default(&config);
    set("algo.name=d4pg");
    return 0;
}

// Of an environment of 24 numbers and 6 in an action.
static learner_budget_options
options_of(void)
{
    learner_budget_options options = {
        .config = &config, .spec = &spec, .context = {.threads = 1}, .learners = 1};
    spec = (policy_spec){.env_id = "made",
                         .obs_dtype = POLICY_F32,
                         .obs_count = 24,
                         .action_kind = POLICY_BOX,
                         .action_count = 6};
    for (uint32_t i = 0; i < spec.action_count; i++) {
        spec.action_low[i] = -1;
        spec.action_high[i] = 1;
    }
    if (algo_make_spec(&config, &spec, &options.wants, &reason) != OCT_OK) {
        fail_msg("%s", reason.text);
    }
    return options;
}

static learner_budget
budget_of(const learner_budget_options *options)
{
    learner_budget budget;
    T_OK(learner_budget_make(&budget, options));
    return budget;
}

static void
refused(uint64_t available, const char *const words[])
{
    learner_budget_options options = options_of();
    learner_budget budget = budget_of(&options);
    T_ERR(learner_budget_check(&budget, &options, available, &reason), OCT_EINVAL);
    for (; *words != NULL; words++) {
        if (strstr(reason.text, *words) == NULL) {
            fail_msg("'%s' is not in '%s'", *words, reason.text);
        }
    }
}

static void
test_each_part_is_added_up(void **state)
{
    (void)state;
    learner_budget_options options = options_of();
    learner_budget budget = budget_of(&options);
    assert_int_equal(budget.policy_parameters, policy_spec_params(&spec));
    assert_int_equal(budget.batches, 12); // prefetch and one request
    assert_int_equal(budget.batches_bytes, 12 * learner_batch_bytes(&spec, 256, 0));
    assert_true(budget.total > budget.algorithm + budget.state + budget.batches_bytes);
    assert_int_equal(budget.learners, 0);
    set("learner.prefetch=1000");
    learner_budget more = budget_of(&options);
    assert_int_equal(more.total - budget.total, 992 * learner_batch_bytes(&spec, 256, 0));
    set("learner.quantisation_aware=true");
    assert_true(budget_of(&options).total > more.total);
}

static void
test_all_learners_of_a_machine_count(void **state)
{
    (void)state;
    learner_budget_options options = options_of();
    learner_budget one = budget_of(&options);
    set("learner.count=4");
    options.learners = 4;
    learner_budget four = budget_of(&options);
    assert_true(four.learners > 4 * four.state);
    assert_true(four.total > one.total + 3 * one.state);
    options.learners = 1; // the others are somewhere else
    assert_true(budget_of(&options).total < one.total + four.learners);
    set("learner.asynchronous=true");
    options.learners = 4;
    learner_budget apart = budget_of(&options);
    assert_int_equal(apart.algorithm, 4 * one.algorithm); // each has whole batches
}

// Each learner has its part of a batch, and an average of the policy is one more of its parameters.
static void
test_parts_of_batches_and_the_average_are_counted(void **state)
{
    (void)state;
    learner_budget_options options = options_of();
    learner_budget one = budget_of(&options);
    set("learner.count=4");
    assert_true(budget_of(&options).algorithm < one.algorithm);
    set("learner.count=1");
    set("learner.ema_decay=0.99");
    learner_budget average = budget_of(&options);
    assert_int_equal(average.total - one.total, policy_spec_params(&spec) * sizeof(float));
}

// Of a policy with noise every sample is a publication that is held.
static void
test_samples_of_the_noise_are_counted(void **state)
{
    (void)state;
    (void)options_of();
    set("algo.name=dqn");
    set("algo.noisy=true");
    set("algo.noisy_samples=2");
    spec.action_kind = POLICY_DISCRETE;
    learner_budget_options options = {
        .config = &config, .spec = &spec, .context = {.threads = 1}, .learners = 1};
    if (algo_make_spec(&config, &spec, &options.wants, &reason) != OCT_OK) {
        fail_msg("%s", reason.text);
    }
    learner_budget two = budget_of(&options);
    set("algo.noisy_samples=10");
    assert_int_equal(budget_of(&options).total - two.total, 8 * two.publication);
}

// As learner_batches makes them, of as many as both may have in work.
static void
test_batches_of_a_data_set_beside_actors_are_counted(void **state)
{
    (void)state;
    set("replay.data=steps.data");
    set("replay.data_share=0.25");
    learner_budget_options options = options_of();
    learner_source_options live = {
        .config = &config, .spec = &spec, .wants = options.wants, .batch_size = 192};
    learner_source_options data = live;
    data.batch_size = 64;
    learner_budget budget = budget_of(&options);
    assert_int_equal(budget.answers,
                     3 * (learner_source_answer_bytes(&live) + learner_source_answer_bytes(&data)));
    assert_int_equal(budget.batches_bytes, budget.batches * learner_batch_bytes(&spec, 256, 0));
    // So many windows that one request has fewer batches of the larger part.
    set("learner.batch_size=65536");
    set("learner.batches_per_request=16");
    set("replay.data_share=0.9");
    budget = budget_of(&options);
    live.batch_size = 6554;
    data.batch_size = 58982;
    assert_true(learner_source_in_work(&data) < learner_source_in_work(&live));
    assert_int_equal(budget.batches, learner_source_in_work(&data));
    // Fewer windows than there are parts of a batch.
    set("learner.batch_size=1");
    assert_true(budget_of(&options).batches > 0);
}

// As learner_batches makes them: room for a request of each shard.
static void
test_batches_of_shards_are_counted(void **state)
{
    (void)state;
    set("replay.shards=2");
    set("learner.prefetch=10");
    set("learner.batches_per_request=3");
    learner_budget_options options = options_of();
    const learner_source_options shard = {.config = &config,
                                          .spec = &spec,
                                          .wants = options.wants,
                                          .batch_size = config.learner.batch_size};
    learner_budget budget = budget_of(&options);
    assert_int_equal(budget.batches, 10 + 2 * 2 * 3);
    assert_int_equal(budget.answers, 6 * learner_source_answer_bytes(&shard));
}

static void
test_what_does_not_fit_is_refused_by_its_keys(void **state)
{
    (void)state;
    set("algo.atoms=4096");
    set("learner.batch_size=65536");
    set("learner.batches_per_request=1");
    set("replay.min_size=65536");
    refused(8 * GIB, (const char *const[]){"learner.batch_size: 65536, learner.prefetch: 8, "
                                           "algo.atoms: 4096: the learner takes ",
                                           "but 8.0 GiB of memory are available; about ",
                                           " windows would fit", NULL});
    set("algo.atoms=51");
    set("learner.prefetch=1024");
    refused(4 * GIB, (const char *const[]){"learner.prefetch: 1024", "for 1025 batches", NULL});
    (void)setup(state);
    set("network.hidden=[8192, 8192]");
    refused(4 * GIB,
            (const char *const[]){"not one window would fit: make network.hidden smaller", NULL});
}

// As many windows as the message names fit, and one more does not.
static void
test_as_many_windows_as_are_named_fit(void **state)
{
    (void)state;
    unsigned long fit;
    set("algo.atoms=4096");
    set("learner.batch_size=65536");
    set("learner.batches_per_request=1");
    refused(GIB, (const char *const[]){"about ", NULL});
    assert_int_equal(sscanf(strstr(reason.text, "about "), "about %lu windows", &fit), 1);
    assert_in_range(fit, 1000, 20000);
    for (unsigned long more = 0; more < 2; more++) {
        config.learner.batch_size = (uint32_t)(fit + more);
        learner_budget_options options = options_of();
        learner_budget budget = budget_of(&options);
        assert_true(oct_memory_suffices(GIB, budget.total) == (more == 0));
    }
}

// Of the largest values that are allowed they do not wrap.
static void
test_sums_have_64_bits(void **state)
{
    (void)state;
    set("algo.atoms=4096");
    set("learner.batch_size=65536");
    set("learner.prefetch=1024");
    set("learner.batches_per_request=1");
    set("network.hidden=[65536, 1024]");
    set("network.critic_hidden=[65536, 2048]");
    refused(100 * GIB, (const char *const[]){"the learner takes ", NULL});
}

static void
test_what_fits_passes(void **state)
{
    (void)state;
    const char *const names[] = {"d4pg",      "ddpg", "td3",  "sac",
                                 "reinforce", "ppo",  "trpo", "vtrace"};
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        char assignment[64];
        config_default(&config);
        (void)snprintf(assignment, sizeof(assignment), "algo.name=%s", names[i]);
        set(assignment);
        learner_budget_options options = options_of();
        learner_budget budget = budget_of(&options);
        T_OK(learner_budget_check(&budget, &options, GIB, &reason));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_each_part_is_added_up, setup),
        cmocka_unit_test_setup(test_all_learners_of_a_machine_count, setup),
        cmocka_unit_test_setup(test_parts_of_batches_and_the_average_are_counted, setup),
        cmocka_unit_test_setup(test_samples_of_the_noise_are_counted, setup),
        cmocka_unit_test_setup(test_batches_of_a_data_set_beside_actors_are_counted, setup),
        cmocka_unit_test_setup(test_batches_of_shards_are_counted, setup),
        cmocka_unit_test_setup(test_what_does_not_fit_is_refused_by_its_keys, setup),
        cmocka_unit_test_setup(test_as_many_windows_as_are_named_fit, setup),
        cmocka_unit_test_setup(test_sums_have_64_bits, setup),
        cmocka_unit_test_setup(test_what_fits_passes, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
