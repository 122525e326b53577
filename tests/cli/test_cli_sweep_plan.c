// Which run of a sweep is next, what a resumed one runs again, and sweep.json there and back.
#include <stdlib.h>
#include <unistd.h>

#include "cli/sweep/cli_sweep_file.h"
#include "cli/sweep/cli_sweep_plan.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "tests/support/oct_test.h"

#define FOLDER "test_cli_sweep_plan.folder"

static config_experiment config;

static void
plan_make(cli_sweep_plan *plan, cli_sweep_method method, uint32_t seeds)
{
    oct_reason why;
    config_default(&config);
    (void)snprintf(config.env.id, sizeof(config.env.id), "CartPole-v1");
    *plan = (cli_sweep_plan){
        .method = method, .seeds = seeds, .first_seed = 5, .wanted = 3, .draw_seed = 2};
    T_OK(cli_space_add(&plan->space, "algo.n_step=1,2,3", &config, &why));
    cli_sweep_plan_fill(plan);
}

static void
next_is(const cli_sweep_plan *plan, uint32_t trial, uint32_t seed)
{
    uint32_t t = 99, s = 99;
    assert_true(cli_sweep_plan_next(plan, &t, &s));
    assert_int_equal(t, trial);
    assert_int_equal(s, seed);
}

static void
test_trials_come_in_order_and_their_seeds_in_order(void **state)
{
    (void)state;
    cli_sweep_plan plan;
    uint32_t t, s;
    plan_make(&plan, CLI_SWEEP_GRID, 2);
    for (uint32_t i = 0; i < 6; i++) {
        next_is(&plan, i / 2, i % 2);
        plan.trial[i / 2]->run[i % 2].state = CLI_SWEEP_RUNNING;
    }
    assert_false(cli_sweep_plan_next(&plan, &t, &s));
    cli_sweep_plan_fini(&plan);
}

// More of them begin with the same ones, and none is there twice.
static void
test_trials_at_random_are_points_of_their_own(void **state)
{
    (void)state;
    cli_sweep_plan five = {.method = CLI_SWEEP_RANDOM, .seeds = 1, .wanted = 5}, all = five;
    oct_reason why;
    config_default(&config);
    all.wanted = 100;
    for (int i = 0; i < 2; i++) {
        cli_sweep_plan *plan = i == 0 ? &five : &all;
        T_OK(cli_space_add(&plan->space, "algo.n_step=1..3", &config, &why));
        T_OK(cli_space_add(&plan->space, "algo.name=dqn,sac", &config, &why));
        cli_sweep_plan_fill(plan);
    }
    assert_int_equal(five.count, 5);
    assert_int_equal(all.count, 6); // there are no more
    assert_int_equal(all.wanted, 6);
    for (uint32_t i = 0; i < all.count; i++) {
        const cli_point *point = &all.trial[i]->point;
        for (uint32_t k = 0; k < i; k++) {
            const cli_point *before = &all.trial[k]->point;
            assert_true(strcmp(point->value[0], before->value[0]) != 0 ||
                        strcmp(point->value[1], before->value[1]) != 0);
        }
        if (i < five.count) {
            assert_string_equal(five.trial[i]->point.value[0], point->value[0]);
            assert_string_equal(five.trial[i]->point.value[1], point->value[1]);
        }
    }
    cli_sweep_plan_fini(&five);
    cli_sweep_plan_fini(&all);
}

static void
test_with_optuna_other_seeds_wait_for_the_first(void **state)
{
    (void)state;
    cli_sweep_plan plan;
    plan_make(&plan, CLI_SWEEP_RANDOM, 2);
    plan.method = CLI_SWEEP_OPTUNA;
    plan.trial[0]->run[0].state = CLI_SWEEP_RUNNING;
    next_is(&plan, 1, 0);
    plan.trial[0]->run[0].state = CLI_SWEEP_FINISHED;
    next_is(&plan, 0, 1);
    plan.trial[0]->run[0].state = CLI_SWEEP_PRUNED;
    cli_sweep_plan_prune(&plan, 0);
    assert_int_equal(plan.trial[0]->run[1].state, CLI_SWEEP_PRUNED);
    assert_true(cli_sweep_plan_is_over(&plan, 0));
    next_is(&plan, 1, 0);
    cli_sweep_plan_fini(&plan);
}

static void
test_resumed_what_did_not_finish_is_run_again(void **state)
{
    (void)state;
    cli_sweep_plan plan;
    plan_make(&plan, CLI_SWEEP_GRID, 2);
    static const cli_sweep_state states[6] = {CLI_SWEEP_FINISHED, CLI_SWEEP_FAILED,
                                              CLI_SWEEP_STOPPED,  CLI_SWEEP_PRUNED,
                                              CLI_SWEEP_RUNNING,  CLI_SWEEP_WAITING};
    for (uint32_t i = 0; i < 6; i++) {
        plan.trial[i / 2]->run[i % 2].state = states[i];
    }
    cli_sweep_plan_resume(&plan);
    assert_int_equal(cli_sweep_plan_count(&plan, CLI_SWEEP_FINISHED), 1);
    assert_int_equal(cli_sweep_plan_count(&plan, CLI_SWEEP_PRUNED), 1);
    assert_int_equal(cli_sweep_plan_count(&plan, CLI_SWEEP_WAITING), 4);
    cli_sweep_plan_fini(&plan);
}

static void
test_resumed_the_seeds_of_a_pruned_trial_are_pruned(void **state)
{
    (void)state;
    cli_sweep_plan plan;
    plan_make(&plan, CLI_SWEEP_RANDOM, 3);
    plan.method = CLI_SWEEP_OPTUNA;
    plan.trial[0]->run[0].state = CLI_SWEEP_PRUNED;
    plan.trial[0]->run[1].state = CLI_SWEEP_FINISHED;
    cli_sweep_plan_resume(&plan);
    assert_true(cli_sweep_plan_is_over(&plan, 0));
    assert_int_equal(plan.trial[0]->run[1].state, CLI_SWEEP_FINISHED); // but what is over
    next_is(&plan, 1, 0);
    cli_sweep_plan_fini(&plan);
}

static void
test_a_trials_return_is_of_its_finished_runs(void **state)
{
    (void)state;
    cli_sweep_plan plan;
    plan_make(&plan, CLI_SWEEP_GRID, 3);
    assert_true(isnan(cli_sweep_plan_return(&plan, 0)));
    plan.trial[0]->run[0] = (cli_sweep_run){.state = CLI_SWEEP_FINISHED, .mean = 10};
    plan.trial[0]->run[1] = (cli_sweep_run){.state = CLI_SWEEP_STOPPED, .mean = 1000};
    plan.trial[0]->run[2] = (cli_sweep_run){.state = CLI_SWEEP_FINISHED, .mean = 20};
    T_NEAR(cli_sweep_plan_return(&plan, 0), 15, 0, 0);
    assert_false(cli_sweep_plan_is_over(&plan, 0));
    cli_sweep_plan_fini(&plan);
}

static void
test_a_runs_folder_has_trial_and_seed(void **state)
{
    (void)state;
    cli_sweep_plan plan;
    char name[CLI_SWEEP_NAME_MAX], words[64];
    plan_make(&plan, CLI_SWEEP_GRID, 2);
    assert_string_equal(cli_sweep_plan_name(&plan, 2, 1, name), "trial-0003-seed-6");
    assert_string_equal(cli_sweep_plan_words(&plan, 2, words, sizeof(words)), "algo.n_step=3");
    cli_sweep_plan_fini(&plan);
}

static void
test_the_file_has_all_of_it(void **state)
{
    (void)state;
    cli_sweep_plan plan, back = {.count = 0};
    config_experiment base;
    oct_reason why = {""};
    T_OK(oct_file_make_folder(FOLDER));
    plan_make(&plan, CLI_SWEEP_RANDOM, 2);
    plan.trial[1]->run[1] = (cli_sweep_run){.state = CLI_SWEEP_FINISHED,
                                            .mean = 1.0 / 3,
                                            .std = 2,
                                            .env_steps = 1e6,
                                            .updates = 5,
                                            .wall_s = NAN};
    plan.trial[1]->is_reported = true;
    config.algo.learning_rate = 0.007;
    T_OK(cli_sweep_file_write_base(FOLDER, &config));
    T_OK(cli_sweep_file_write(FOLDER, &plan));
    T_OK(cli_sweep_file_read(FOLDER, &back, &base, &why));
    T_NEAR(base.algo.learning_rate, 0.007, 0, 0);
    assert_int_equal(back.method, CLI_SWEEP_RANDOM);
    assert_int_equal(back.count, 3);
    assert_int_equal(back.draw_seed, 2);
    assert_int_equal(back.first_seed, 5);
    assert_string_equal(back.trial[2]->point.value[0], plan.trial[2]->point.value[0]);
    const cli_sweep_run *run = &back.trial[1]->run[1];
    assert_int_equal(run->state, CLI_SWEEP_FINISHED);
    T_NEAR(run->mean, 1.0 / 3, 0, 1e-14);
    T_NEAR(run->env_steps, 1e6, 0, 0);
    assert_true(isnan(run->wall_s) && isnan(back.trial[0]->run[0].mean));
    assert_true(back.trial[1]->is_reported && !back.trial[0]->is_reported);
    cli_sweep_plan_fini(&plan);
    cli_sweep_plan_fini(&back);
}

// What nobody has set follows a trial's algorithm; what somebody has stays.
static void
test_the_base_leaves_to_a_trial_what_follows_its_algorithm(void **state)
{
    (void)state;
    config_experiment own, base;
    char message[512] = "";
    config_default(&own);
    config_default(&base);
    T_OK(config_set(&own, "replay.capacity=77777", message, sizeof(message)));
    T_OK(oct_file_make_folder(FOLDER));
    T_OK(cli_sweep_file_write_base(FOLDER, &own));
    T_OK(config_load(&base, FOLDER "/" CLI_SWEEP_BASE, message, sizeof(message)));
    assert_int_equal(base.learner.batch_size, own.learner.batch_size);
    T_OK(config_set(&base, "algo.name=reinforce", message, sizeof(message)));
    assert_true(base.learner.batch_size == 16 && base.replay.capacity == 77777);
}

static void
refused_as(const char *find, const char *put, const char *words)
{
    cli_sweep_plan plan, back = {.count = 0};
    config_experiment base;
    oct_reason why = {""};
    char *at;
    uint8_t *text;
    size_t length;
    plan_make(&plan, CLI_SWEEP_GRID, 1);
    T_OK(cli_sweep_file_write_base(FOLDER, &config));
    T_OK(cli_sweep_file_write(FOLDER, &plan));
    T_OK(oct_file_read(FOLDER "/sweep.json", 1 << 20, &text, &length));
    at = strstr((char *)text, find);
    assert_non_null(at);
    assert_true(strlen(put) <= strlen(find));
    memset(at, ' ', strlen(find));
    memcpy(at, put, strlen(put));
    T_OK(oct_file_write(FOLDER "/sweep.json", text, length));
    free(text);
    assert_int_not_equal(cli_sweep_file_read(FOLDER, &back, &base, &why), OCT_OK);
    if (strstr(why.text, words) == NULL) {
        print_error("'%s' does not say '%s'\n", why.text, words);
        fail();
    }
    cli_sweep_plan_fini(&plan);
    cli_sweep_plan_fini(&back);
}

static void
test_a_damaged_file_is_refused_in_words(void **state)
{
    (void)state;
    refused_as("\"format\": 1", "\"format\": 9", "is not a sweep of this version");
    refused_as("{", "", "sweep.json':");
    refused_as("\"grid\"", "\"gird\"", "method is missing or unknown");
    refused_as("\"seeds\": 1", "\"seeds\": 0", "seeds is not a whole number 1 .. 64");
    refused_as("\"trials_wanted\": 3", "\"trials_wanted\": 1", "more than 1 trials");
    refused_as("\"waiting\"", "\"sitting\"", "state is missing or unknown");
    refused_as("\"algo.n_step\": \"2\"", "\"algo.n_stop\": \"2\"", "trial 2 has no value");
    refused_as("\"key\": \"algo.n_step\"", "\"key\": \"algo.n_stop\"", "unknown key algo.n_stop");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trials_come_in_order_and_their_seeds_in_order),
        cmocka_unit_test(test_trials_at_random_are_points_of_their_own),
        cmocka_unit_test(test_with_optuna_other_seeds_wait_for_the_first),
        cmocka_unit_test(test_resumed_what_did_not_finish_is_run_again),
        cmocka_unit_test(test_resumed_the_seeds_of_a_pruned_trial_are_pruned),
        cmocka_unit_test(test_a_trials_return_is_of_its_finished_runs),
        cmocka_unit_test(test_a_runs_folder_has_trial_and_seed),
        cmocka_unit_test(test_the_file_has_all_of_it),
        cmocka_unit_test(test_the_base_leaves_to_a_trial_what_follows_its_algorithm),
        cmocka_unit_test(test_a_damaged_file_is_refused_in_words),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(FOLDER "/sweep.json");
    (void)unlink(FOLDER "/base.yaml");
    (void)rmdir(FOLDER);
    return failed;
}
