// The Control Suite through the environment ABI, as octet loads it, against dm_control's
// trajectories (tests/data/dmc/README.md) and, bit for bit, against the recipe written down in the
// rig.
#include "common/oct_reason.h"
#include "tests/envs/env_test.h"

#include "common/oct_rng.h"
#include "envs/env_replay.h"
#include "tests/envs/dmc/dmc_rig.h"

#define FOLDER     "tests/data/dmc/"
#define OBS_MAX    80
#define ACTION_MAX 24

static void
test_dmc_repeats_every_recorded_trajectory(void **state)
{
    (void)state;
    for (size_t i = 0; i < RIG_RECORDED; i++) {
        char path[96];
        oct_reason why;
        snprintf(path, sizeof(path), FOLDER "%s.csv", rig_recorded[i][1]);
        env *e = env_opened(rig_recorded[i][0], "", 1, 0, false);
        env_replay_request request = {.path = path, .tolerance = ENV_REPLAY_TOLERANCE};
        env_replay_result result;
        if (env_replay_run(&result, e, &request, &why) != OCT_OK) {
            fail_msg("%s", why.text);
        }
        // finger_turn's distance is recorded for the small target only (test_dmc_golden).
        bool easy = strcmp(rig_recorded[i][0], "dmc:finger_turn_easy") == 0;
        assert_string_equal(result.unrecorded, easy
                                                   ? "dist_to_target_easy[0], terminated, truncated"
                                                   : "terminated, truncated");
        if (result.rows_differing != 0 || result.rows < 60) {
            fail_msg("%s:%u: %s: got %.17g, want %.17g; %lu of %lu rows differ", path, result.line,
                     result.column, result.got, result.want, (unsigned long)result.rows_differing,
                     (unsigned long)result.rows);
        }
        env_close(e);
    }
}

static void
test_dmc_recording_of_another_environment_is_refused(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"dmc:finger_spin", "finger_turn", "no column r_spin"},
        {"dmc:walker_run", "cheetah", "no column "},
        {"dmc:swimmer_swimmer15", "swimmer6", "no column "},
        {"dmc:reacher_easy", "point_mass", "no column "},
        {"CartPole-v1", "cartpole", "no column s0, s1, s2, s3, o0"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        char path[96];
        oct_reason why;
        snprintf(path, sizeof(path), FOLDER "%s.csv", cases[i][1]);
        env *e = env_opened(cases[i][0], "", 1, 0, false);
        env_replay_request request = {.path = path, .tolerance = ENV_REPLAY_TOLERANCE};
        env_replay_result result;
        T_ERR(env_replay_run(&result, e, &request, &why), OCT_EINVAL);
        T_SAYS(why.text, cases[i][2]);
        env_close(e);
    }
}

// A replay that begins without its target, say, has to be seen.
static void
test_dmc_another_target_is_noticed(void **state)
{
    (void)state;
    const char *const ids[] = {"dmc:reacher_easy", "dmc:swimmer_swimmer6"};
    for (size_t i = 0; i < OCT_COUNTOF(ids); i++) {
        env *e = env_opened(ids[i], "", 1, 0, false);
        const octet_env_spec *spec = env_spec(e);
        double numbers[64] = {0};
        float a[OBS_MAX], b[OBS_MAX];
        octet_env_io io = {.size = sizeof(io), .obs = a, .obs_stride = sizeof(a)};
        assert_true(spec->state_count <= 64);
        T_OK(env_state_set(e, 0, numbers, 1, &io));
        numbers[spec->state_count - 1] = 0.3;
        io.obs = b;
        T_OK(env_state_set(e, 0, numbers, 1, &io));
        assert_memory_not_equal(a, b, spec->obs.shape[0] * sizeof(float));
        env_close(e);
    }
}

static void
same_floats(const rig *r, const float *got, int t)
{
    double want[OBS_MAX];
    r->sim.task->observe(&r->sim, want);
    for (uint32_t k = 0; k < r->sim.task->obs_count; k++) {
        float rounded = (float)want[k];
        if (memcmp(&rounded, &got[k], sizeof(rounded)) != 0) {
            fail_msg("%s, step %d, %s: got %.9g, want %.9g", r->sim.task->id, t,
                     r->sim.task->obs_names[k], (double)got[k], (double)rounded);
        }
    }
}

// Resets, targets, settling, touch sensors, two episodes: the same bits as the rig's.
static void
test_dmc_equals_the_written_recipe_in_every_bit(void **state)
{
    (void)state;
    oct_rng draws;
    oct_rng_init(&draws, 7, 7);
    for (const dmc_task *const *task = dmc_tasks(); *task != NULL; task++) {
        env *e = env_opened((*task)->id, "max_episode_steps=40", 1, 11, true);
        rig r;
        rig_open(&r, *task, 11);
        float obs[OBS_MAX], final_obs[OBS_MAX], action[ACTION_MAX], reward;
        double reward64;
        uint8_t flags = OCTET_ENV_OBS_IS_RESET;
        octet_env_io io = {.size = sizeof(io),
                           .action = action,
                           .action_stride = sizeof(action),
                           .obs = obs,
                           .obs_stride = sizeof(obs),
                           .final_obs = final_obs,
                           .final_obs_stride = sizeof(final_obs),
                           .reward = &reward,
                           .flags = &flags,
                           .reward64 = &reward64};
        T_OK(env_reset(e, NULL, NULL, &io));
        for (int t = 0; t < 60; t++) {
            if ((flags & OCTET_ENV_OBS_IS_RESET) != 0) {
                rig_reset(&r);
                same_floats(&r, obs, t);
            }
            double clipped[ACTION_MAX];
            for (int k = 0; k < r.sim.m->nu; k++) {
                action[k] = (float)(3 * oct_rng_double(&draws) - 1.5); // clipped to [-1, 1]
                clipped[k] = fmax(-1, fmin(1, (double)action[k]));
            }
            rig_step(&r, clipped);
            T_OK(env_step(e, &io));
            assert_int_equal(flags, t == 39 ? OCTET_ENV_TRUNCATED | OCTET_ENV_OBS_IS_RESET : 0);
            same_floats(&r, flags == 0 ? obs : final_obs, t);
            double want = (*task)->reward(&r.sim);
            assert_memory_equal(&reward64, &want, sizeof(want));
            assert_float_equal(reward, (float)want, 0);
        }
        rig_close(&r);
        env_close(e);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dmc_repeats_every_recorded_trajectory),
        cmocka_unit_test(test_dmc_recording_of_another_environment_is_refused),
        cmocka_unit_test(test_dmc_another_target_is_noticed),
        cmocka_unit_test(test_dmc_equals_the_written_recipe_in_every_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
