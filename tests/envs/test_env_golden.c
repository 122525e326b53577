// The native environments against what Gymnasium did, bit for bit. The data and where they come
// from: tests/data/classic_control_ref/README.md.
#include "common/oct_reason.h"
#include "tests/support/oct_test.h"

#include <stdlib.h>

#include "envs/env.h"
#include "envs/env_csv.h"
#include "envs/env_replay.h"

#define FOLDER "tests/data/classic_control_ref/"

struct golden {
    const char *id, *options, *path;
    uint64_t rows;
};

static const struct golden goldens[] = {
    {"CartPole-v1", "", FOLDER "CartPole-v1.csv", 902},
    {"MountainCar-v0", "", FOLDER "MountainCar-v0.csv", 1346},
    {"MountainCarContinuous-v0", "", FOLDER "MountainCarContinuous-v0.csv", 2050},
    {"MountainCarContinuous-v0", "numpy=2", FOLDER "MountainCarContinuous-v0_np2.csv", 185},
    {"Acrobot-v1", "", FOLDER "Acrobot-v1.csv", 1211},
    {"Pendulum-v1", "", FOLDER "Pendulum-v1.csv", 970},
    {"Pendulum-v1", "numpy=2", FOLDER "Pendulum-v1_np2.csv", 122},
    {"Pendulum-v1", "numpy=2", FOLDER "Pendulum-v1_np2_square.csv", 16},
};

static env *
opened(const char *id, const char *options, uint32_t count)
{
    oct_reason why;
    env *e = NULL;
    env_request request = {.id = id, .options = options, .count = count};
    if (env_open(&e, &request, &why) != OCT_OK) {
        fail_msg("%s", why.text);
    }
    return e;
}

static env_replay_result
replayed(const struct golden *golden, bool one_step)
{
    oct_reason why;
    env_replay_result result;
    env_replay_request request = {.path = golden->path, .one_step = one_step};
    env *e = opened(golden->id, golden->options, 1);
    if (env_replay_run(&result, e, &request, &why) != OCT_OK) {
        fail_msg("%s", why.text);
    }
    env_close(e);
    return result;
}

static void
same(const struct golden *golden, bool one_step)
{
    env_replay_result result = replayed(golden, one_step);
    if (result.rows_differing != 0) {
        fail_msg("%s:%u: %s: got %.17g, want %.17g; %lu of %lu rows differ", golden->path,
                 result.line, result.column, result.got, result.want,
                 (unsigned long)result.rows_differing, (unsigned long)result.rows);
    }
    assert_int_equal(result.rows, golden->rows);
}

static void
test_golden_notices_the_other_rounding(void **state)
{
    (void)state;
    struct golden wrong = goldens[3];
    wrong.options = "numpy=1";
    assert_true(replayed(&wrong, false).rows_differing > 0);
    assert_true(replayed(&wrong, true).rows_differing > 0);
    wrong = goldens[6];
    wrong.options = "numpy=1";
    assert_true(replayed(&wrong, true).rows_differing > 0);
}

static void
test_golden_every_step_from_its_recorded_state(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCT_COUNTOF(goldens); i++) {
        same(&goldens[i], true);
    }
}

static void
test_golden_whole_episodes_from_their_start(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCT_COUNTOF(goldens); i++) {
        same(&goldens[i], false);
    }
}

// reset_seeds.csv begins each line with an id, which is not a number: read here.
static void
test_golden_resets_draw_what_numpy_draws(void **state)
{
    (void)state;
    FILE *file = fopen(FOLDER "reset_seeds.csv", "r");
    assert_non_null(file);
    char line[256];
    unsigned rows = 0;
    assert_non_null(fgets(line, sizeof(line), file));
    while (fgets(line, sizeof(line), file) != NULL) {
        char *rest = line;
        const char *id = strsep(&rest, ",");
        uint64_t seed = strtoull(strsep(&rest, ","), NULL, 10);
        env *e = opened(id, "", 3);
        uint64_t seeds[3] = {seed + 100, seed, seed + 200};
        float obs[3][8];
        octet_env_io io = {.size = sizeof(io), .obs = obs, .obs_stride = sizeof(obs[0])};
        T_OK(env_reset(e, NULL, seeds, &io));
        double got[8];
        uint32_t step = 1;
        T_OK(env_state_get(e, 1, got, &step));
        assert_int_equal(step, 0);
        for (uint32_t k = 0; k < env_spec(e)->state_count; k++) {
            double want = strtod(strsep(&rest, ","), NULL);
            assert_memory_equal(&got[k], &want, sizeof(want));
        }
        env_close(e);
        rows++;
    }
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rows, 50);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_notices_the_other_rounding),
        cmocka_unit_test(test_golden_every_step_from_its_recorded_state),
        cmocka_unit_test(test_golden_whole_episodes_from_their_start),
        cmocka_unit_test(test_golden_resets_draw_what_numpy_draws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
