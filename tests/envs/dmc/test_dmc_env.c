// The Control Suite's environments: saving, episodes' ends, options, memory, threads.
#include "common/oct_reason.h"
#include "tests/envs/env_test.h"

#include <malloc.h>
#include <pthread.h>

#include "common/oct_rng.h"
#include "envs/dmc/dmc_env.h"
#include "envs/env_check.h"
#include "tests/envs/dmc/dmc_rig.h"

#define OBS_MAX    80
#define ACTION_MAX 24
#define COUNT_MAX  4

// Rows of up to COUNT_MAX environments, and actions drawn for them.
struct wide {
    float action[COUNT_MAX][ACTION_MAX], obs[COUNT_MAX][OBS_MAX], final_obs[COUNT_MAX][OBS_MAX];
    float reward[COUNT_MAX], ep_return[COUNT_MAX];
    double reward64[COUNT_MAX];
    uint8_t flags[COUNT_MAX];
    int32_t ep_length[COUNT_MAX];
    octet_env_io io;
    oct_rng draws;
};

static void
wide_init(struct wide *w, uint64_t seed)
{
    memset(w, 0, sizeof(*w));
    oct_rng_init(&w->draws, seed, 3);
    w->io = (octet_env_io){.size = sizeof(w->io),
                           .action = w->action,
                           .action_stride = sizeof(w->action[0]),
                           .obs = w->obs,
                           .obs_stride = sizeof(w->obs[0]),
                           .final_obs = w->final_obs,
                           .final_obs_stride = sizeof(w->final_obs[0]),
                           .reward = w->reward,
                           .flags = w->flags,
                           .ep_return = w->ep_return,
                           .ep_length = w->ep_length,
                           .reward64 = w->reward64};
}

static void
wide_step(struct wide *w, env *e)
{
    for (uint32_t i = 0; i < env_count(e); i++) {
        for (uint32_t k = 0; k < env_spec(e)->action.shape[0]; k++) {
            w->action[i][k] = (float)(2 * oct_rng_double(&w->draws) - 1);
        }
    }
    T_OK(env_step(e, &w->io));
}

static void
test_dmc_loaded_environment_continues_bit_for_bit(void **state)
{
    (void)state;
    for (const dmc_task *const *task = dmc_tasks(); *task != NULL; task++) {
        env *a = env_opened((*task)->id, "max_episode_steps=50", 1, 5, true);
        env *b = env_opened((*task)->id, "max_episode_steps=50", 1, 6, true);
        struct wide wa, wb;
        wide_init(&wa, 1);
        T_OK(env_reset(a, NULL, NULL, &wa.io));
        // After a reset, in the middle, and at steps that touch the ground; then on into the next
        // episode.
        for (int t = 0; t < 64; t++) {
            if (t % 16 == 0) {
                uint8_t saved[4096];
                uint32_t length = sizeof(saved);
                T_OK(env_save(a, 0, saved, &length));
                T_OK(env_load(b, 0, saved, length));
                wide_init(&wb, 0);
                wb.draws = wa.draws; // the same actions from here
            }
            wide_step(&wa, a);
            wide_step(&wb, b);
            uint32_t bytes = (*task)->obs_count * sizeof(float);
            if (memcmp(wa.obs[0], wb.obs[0], bytes) != 0) {
                fail_msg("%s: step %d", (*task)->id, t);
            }
            if (memcmp(wa.reward64, wb.reward64, sizeof(double)) != 0) {
                fail_msg("%s: reward of step %d", (*task)->id, t);
            }
            assert_int_equal(wa.flags[0], wb.flags[0]);
            assert_int_equal(wa.flags[0] != 0, t == 49);
            if (t == 49) {
                assert_memory_equal(wa.final_obs[0], wb.final_obs[0], bytes);
                assert_memory_equal(wa.ep_return, wb.ep_return, sizeof(float));
                assert_int_equal(wb.ep_length[0], 50);
            }
        }
        env_close(a);
        env_close(b);
    }
}

static void
test_dmc_saved_state_of_something_else_is_refused(void **state)
{
    (void)state;
    env *a = env_opened("dmc:hopper_hop", "", 1, 5, true);
    env *b = env_opened("dmc:hopper_stand", "", 1, 5, true);
    uint8_t saved[4096];
    uint32_t length = sizeof(saved), none = 0;
    T_OK(env_save(a, 0, saved, &length));
    T_ERR(env_load(b, 0, saved, length), OCT_EINTERNAL);
    T_SAYS(env_error(b), "not a saved state of dmc:hopper_stand");
    T_ERR(env_load(a, 0, saved, length - 1), OCT_EINTERNAL);
    T_ERR(env_save(a, 0, saved, &none), OCT_EINTERNAL);
    const double huge = 1e300;
    memcpy(saved + 3 * sizeof(uint32_t) + sizeof(double), &huge, sizeof(huge)); // qpos[0]
    T_ERR(env_load(a, 0, saved, length), OCT_EINTERNAL);
    T_SAYS(env_error(a), "not finite or beyond");
    struct wide w;
    wide_init(&w, 1);
    wide_step(&w, a); // it was left as it was
    assert_int_equal(w.flags[0], 0);
    env_close(a);
    env_close(b);
}

static void
test_dmc_end_that_is_loaded_with_autoreset_begins_the_next_episode(void **state)
{
    (void)state;
    env *stays = env_opened("dmc:reacher_easy", "max_episode_steps=3", 1, 5, false);
    env *resets = env_opened("dmc:reacher_easy", "max_episode_steps=3", 1, 6, true);
    struct wide w;
    wide_init(&w, 1);
    T_OK(env_reset(stays, NULL, NULL, &w.io));
    for (int t = 0; t < 3; t++) {
        wide_step(&w, stays);
    }
    assert_int_equal(w.flags[0], OCTET_ENV_TRUNCATED);
    uint8_t saved[4096];
    uint32_t length = sizeof(saved);
    T_OK(env_save(stays, 0, saved, &length));
    T_OK(env_load(resets, 0, saved, length));
    for (int t = 1; t <= 3; t++) {
        wide_step(&w, resets);
        assert_int_equal(w.flags[0], t < 3 ? 0 : OCTET_ENV_TRUNCATED | OCTET_ENV_OBS_IS_RESET);
    }
    env_close(stays);
    env_close(resets);
}

static void
test_dmc_state_that_is_not_finite_is_refused(void **state)
{
    (void)state;
    env *e = env_opened("dmc:reacher_hard", "", 1, 5, true);
    double before[8], after[8], wrong[8] = {0, NAN};
    uint32_t step;
    struct wide w;
    wide_init(&w, 1);
    T_OK(env_reset(e, NULL, NULL, &w.io));
    T_OK(env_state_get(e, 0, before, &step));
    T_ERR(env_state_set(e, 0, wrong, 3, NULL), OCT_EINVAL);
    T_SAYS(env_error(e), "not finite");
    T_OK(env_state_get(e, 0, after, &step));
    assert_memory_equal(before, after, 6 * sizeof(double));
    // A target that is not known stays where it is.
    double placed[8] = {0.1, 0.2, 0.3, 0.4, NAN, 0.05};
    T_OK(env_state_set(e, 0, placed, 3, NULL));
    T_OK(env_state_get(e, 0, after, &step));
    assert_int_equal(step, 3);
    assert_float_equal(after[1], 0.2, 0);
    assert_float_equal(after[4], before[4], 0);
    assert_float_equal(after[5], 0.05, 0);
    env_close(e);
}

// Quaternions, too, which MuJoCo normalises.
static void
test_dmc_state_is_the_one_that_was_set(void **state)
{
    (void)state;
    static const char *const ids[] = {"dmc:fish_swim", "dmc:humanoid_run"};
    for (size_t k = 0; k < OCT_COUNTOF(ids); k++) {
        env *from = env_opened(ids[k], "", 1, 5, true), *to = env_opened(ids[k], "", 1, 9, true);
        uint32_t count = env_spec(from)->state_count;
        double *set = oct_alloc(count * sizeof(*set)), *got = oct_alloc(count * sizeof(*got));
        struct wide w, placed;
        wide_init(&w, 1);
        wide_init(&placed, 1);
        for (uint64_t seed = 0; seed < 60; seed++) {
            uint32_t step, got_step;
            T_OK(env_reset(from, NULL, &seed, &w.io));
            wide_step(&w, from);
            T_OK(env_state_get(from, 0, set, &step));
            T_OK(env_state_set(to, 0, set, step, &placed.io));
            T_OK(env_state_get(to, 0, got, &got_step));
            assert_int_equal(got_step, step);
            assert_memory_equal(got, set, count * sizeof(*set));
        }
        free(set);
        free(got);
        env_close(from);
        env_close(to);
    }
}

static void
test_dmc_episode_is_truncated_after_1000_steps(void **state)
{
    (void)state;
    env *e = env_opened("dmc:point_mass_easy", "", 1, 5, true);
    assert_int_equal(env_spec(e)->max_episode_steps, 1000);
    struct wide w;
    wide_init(&w, 1);
    T_OK(env_reset(e, NULL, NULL, &w.io));
    double sum = 0;
    for (int t = 1; t <= 1000; t++) {
        wide_step(&w, e);
        sum += w.reward64[0];
        assert_int_equal(w.flags[0], t < 1000 ? 0 : OCTET_ENV_TRUNCATED | OCTET_ENV_OBS_IS_RESET);
    }
    assert_int_equal(w.ep_length[0], 1000);
    assert_float_equal(w.ep_return[0], (float)sum, 0);
    env_close(e);
}

static void
test_dmc_options_are_checked(void **state)
{
    (void)state;
    const char *const cases[][3] = {
        {"dmc:pendulum_swingup", "task=cartpole_swingup", "given twice"},
        {"dmc:pendulum_swingup", "gravity=3",
         "it has: task, mjcf_dir, max_episode_steps, action_repeat, frame_stack"},
        {"dmc:pendulum_swingup", "max_episode_steps=-1", "is not an integer from 0"},
        {"dmc:pendulum_swinup", "", "did you mean dmc:pendulum_swingup?"},
        {"dmc:", "", "no environment \"dmc:\""},
        {"cheetah_run", "", "did you mean dmc:cheetah_run?"},
    };
    for (size_t k = 0; k < OCT_COUNTOF(cases); k++) {
        oct_reason why;
        env *e;
        env_request request = {.id = cases[k][0], .options = cases[k][1], .count = 1};
        assert_int_not_equal(env_open(&e, &request, &why), OCT_OK);
        T_SAYS(why.text, cases[k][2]);
    }
}

static size_t
heap_bytes(void)
{
    struct mallinfo2 heap = mallinfo2();
    return heap.uordblks + heap.hblkhd;
}

static void
test_dmc_32_humanoids_fit_into_64_megabytes(void **state)
{
    (void)state;
    size_t before = heap_bytes();
    env *e = env_opened("dmc:humanoid_run", "", 32, 0, true);
    size_t heap = heap_bytes() - before; // 0 under sanitizers, which have their own heap
    print_message("32 humanoids: %.1f MB of heap\n", (double)heap * 1e-6);
    assert_true(heap < 64000000);
    env_close(e);
}

// The heap after many resets is the heap before; the sanitizers look for leaks on their own.
static void
test_dmc_ten_thousand_resets_leak_nothing(void **state)
{
    (void)state;
    const char *const ids[] = {"dmc:finger_turn_hard", "dmc:humanoid_stand", "dmc:cheetah_run"};
    const int resets[] = {10000, 1000, 100};
    for (size_t k = 0; k < OCT_COUNTOF(ids); k++) {
        env *e = env_opened(ids[k], "", 1, 0, true);
        struct wide w;
        wide_init(&w, 1);
        T_OK(env_reset(e, NULL, NULL, &w.io));
        size_t before = heap_bytes();
        for (int i = 0; i < resets[k]; i++) {
            T_OK(env_reset(e, NULL, NULL, &w.io));
        }
        assert_int_equal(heap_bytes(), before);
        env_close(e);
    }
}

static void
test_dmc_opening_and_closing_leaks_nothing(void **state)
{
    (void)state;
    size_t before = 0;
    for (int i = 0; i < 60; i++) {
        if (i == 10) { // MuJoCo's compiler keeps some of its own
            before = heap_bytes();
        }
        env_close(env_opened("dmc:walker_walk", "", 2, (uint64_t)i, true));
    }
    assert_in_range(heap_bytes(), 0, before + 20000);
}

// What a thread does with environments of its own; sum: of everything observed and rewarded.
struct worker {
    const char *id;
    pthread_t thread;
    double sum;
};

static void *
worker_run(void *arg)
{
    struct worker *worker = arg;
    for (int round = 0; round < 2; round++) {
        env *e = env_opened(worker->id, "max_episode_steps=30", COUNT_MAX, 17, true);
        struct wide w;
        wide_init(&w, 2);
        T_OK(env_reset(e, NULL, NULL, &w.io));
        for (int t = 0; t < 70; t++) {
            wide_step(&w, e);
            for (uint32_t i = 0; i < COUNT_MAX; i++) {
                worker->sum += w.reward64[i];
                for (uint32_t k = 0; k < env_spec(e)->obs.shape[0]; k++) {
                    worker->sum += (double)w.obs[i][k];
                }
            }
        }
        env_close(e);
    }
    return NULL;
}

static void
test_dmc_environments_on_many_threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    const char *const ids[] = {"dmc:walker_run",    "dmc:walker_run",       "dmc:finger_turn_easy",
                               "dmc:humanoid_walk", "dmc:cartpole_balance", "dmc:fish_swim"};
    struct worker alone[OCT_COUNTOF(ids)], together[OCT_COUNTOF(ids)];
    for (size_t k = 0; k < OCT_COUNTOF(ids); k++) {
        alone[k] = together[k] = (struct worker){.id = ids[k]};
        assert_int_equal(pthread_create(&together[k].thread, NULL, worker_run, &together[k]), 0);
    }
    for (size_t k = 0; k < OCT_COUNTOF(ids); k++) {
        assert_int_equal(pthread_join(together[k].thread, NULL), 0);
    }
    for (size_t k = 0; k < OCT_COUNTOF(ids); k++) {
        (void)worker_run(&alone[k]);
        assert_memory_equal(&alone[k].sum, &together[k].sum, sizeof(double));
    }
}

static void
on_rule(void *arg, const env_check_result *result)
{
    (void)arg;
    if (result->verdict == ENV_CHECK_FAIL) {
        print_message("%s: %s\n", result->rule, result->detail);
    }
}

static void
test_dmc_keeps_the_rules_of_the_abi(void **state)
{
    (void)state;
    const char *const ids[] = {"dmc:pendulum_swingup", "dmc:reacher_easy", "dmc:hopper_stand"};
    for (size_t k = 0; k < OCT_COUNTOF(ids); k++) {
        env_check_request request = {
            .id = ids[k], .options = "max_episode_steps=60", .seed = 3, .rule_timeout_ms = 60000};
        assert_int_equal(env_check_run(&request, on_rule, NULL), 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dmc_loaded_environment_continues_bit_for_bit),
        cmocka_unit_test(test_dmc_saved_state_of_something_else_is_refused),
        cmocka_unit_test(test_dmc_end_that_is_loaded_with_autoreset_begins_the_next_episode),
        cmocka_unit_test(test_dmc_state_that_is_not_finite_is_refused),
        cmocka_unit_test(test_dmc_state_is_the_one_that_was_set),
        cmocka_unit_test(test_dmc_episode_is_truncated_after_1000_steps),
        cmocka_unit_test(test_dmc_options_are_checked),
        cmocka_unit_test(test_dmc_32_humanoids_fit_into_64_megabytes),
        cmocka_unit_test(test_dmc_ten_thousand_resets_leak_nothing),
        cmocka_unit_test(test_dmc_opening_and_closing_leaks_nothing),
        cmocka_unit_test(test_dmc_environments_on_many_threads_do_not_disturb_each_other),
        cmocka_unit_test(test_dmc_keeps_the_rules_of_the_abi),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
