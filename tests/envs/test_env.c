// Registered environments open under their ids, and the host writes only the buffers it was given.
#include "common/oct_reason.h"
#include "tests/envs/env_test.h"

#include "common/oct_pcg64.h"

static void
test_env_unknown_id_suggests_the_nearest(void **state)
{
    (void)state;
    static const struct {
        const char *id, *says;
    } cases[] = {
        {"CartPole-v0", "did you mean CartPole-v1?"},
        {"cartpole", "did you mean CartPole-v1?"},
        {"MountainCarContinous-v0", "did you mean MountainCarContinuous-v0?"},
        {"", "known: CartPole-v1"},
        {"MinAtar/Brekout-v1", "did you mean MinAtar/Breakout-v1?"},
        {"MinAtar/Pong-v1", "... (octet env list)"},
        {"Breakout-v1", "did you mean MinAtar/Breakout-v1?"},
        {"LunarLander-v3", "the path of a plug-in"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        oct_reason why = {""};
        env *e = NULL;
        env_request request = {.id = cases[i].id, .options = "", .count = 1};
        T_ERR(env_open(&e, &request, &why), OCT_ENOTFOUND);
        T_SAYS(why.text, cases[i].says);
    }
}

static void
test_env_every_registered_id_opens_under_its_name(void **state)
{
    (void)state;
    assert_non_null(env_ids()[0]);
    for (const char *const *id = env_ids(); *id != NULL; id++) {
        env *e = env_opened(*id, "", 1, 0, true);
        assert_string_equal(env_spec(e)->id, *id);
        env_close(e);
    }
    env_close(NULL);
}

static void
test_env_space_counts_numbers_and_bytes(void **state)
{
    (void)state;
    const octet_env_space discrete = {.size = sizeof(discrete), .n = 9, .rank = 1, .shape = {7}};
    assert_int_equal(env_space_count(&discrete), 1);
    assert_int_equal(env_space_bytes(&discrete), 4);
    const octet_env_space scalar = {.size = sizeof(scalar), .dtype = OCTET_ENV_F64};
    assert_int_equal(env_space_count(&scalar), 1);
    assert_int_equal(env_space_bytes(&scalar), 8);
    const octet_env_space board = {
        .size = sizeof(board), .dtype = OCTET_ENV_U8, .rank = 3, .shape = {10, 10, 4}};
    assert_int_equal(env_space_count(&board), 400);
    assert_int_equal(env_space_bytes(&board), 400);
}

static void
test_env_step_writes_only_the_buffers_that_are_wanted(void **state)
{
    (void)state;
    env *e = env_opened("CartPole-v1", "max_episode_steps=1", 2, 0, true);
    int32_t action[2] = {0, 1};
    octet_env_io io = {.size = sizeof(io), .action = action, .action_stride = sizeof(action[0])};
    T_OK(env_reset(e, NULL, NULL, &io));
    T_OK(env_step(e, &io));
    env_close(e);
}

// From numpy 1.24: default_rng(seed).bit_generator.random_raw() three times.
static void
test_env_pcg64_draws_what_numpy_draws(void **state)
{
    (void)state;
    static const struct {
        uint64_t seed, draws[3];
    } cases[] = {
        {0, {0xa30febcfd9c2825full, 0x4510bdf882d9d721ull, 0x0a7d3da94ecde8b8ull}},
        {12345678901234567890ull,
         {0x0114e1b88d306508ull, 0xa700042781d3a29cull, 0x9b9e0e7dc8c7370cull}},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        oct_pcg64 rng;
        oct_pcg64_init(&rng, cases[i].seed);
        for (size_t k = 0; k < 3; k++) {
            assert_true(oct_pcg64_u64(&rng) == cases[i].draws[k]);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_env_unknown_id_suggests_the_nearest),
        cmocka_unit_test(test_env_every_registered_id_opens_under_its_name),
        cmocka_unit_test(test_env_space_counts_numbers_and_bytes),
        cmocka_unit_test(test_env_step_writes_only_the_buffers_that_are_wanted),
        cmocka_unit_test(test_env_pcg64_draws_what_numpy_draws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
