// Observations as policies read them: discrete ones are one-hot, others are passed on.
#include "common/oct_reason.h"
#include "tests/support/oct_test.h"

#include "actor/actor_obs_encoder.h"
#include "actor/actor_spec.h"

static env *
opened(const char *id, uint32_t count)
{
    oct_reason why = {""};
    env *e = NULL;
    env_request request = {.id = id, .options = "", .count = count, .autoreset = true};
    if (env_open(&e, &request, &why) != OCT_OK) {
        fail_msg("%s", why.text);
    }
    return e;
}

static void
test_sight_of_a_discrete_observation_is_one_hot(void **state)
{
    (void)state;
    env *e = opened("FrozenLake-v1", 3);
    int32_t actions[3] = {0, 2, 1}; // the first may stay, whatever the ice does
    octet_env_io io = {.size = sizeof(io), .action = actions, .action_stride = 4};
    actor_obs_encoder sight;
    actor_obs_encoder_init(&sight, &env_spec(e)->obs, 3, true, &io);
    assert_int_equal(sight.bytes, 16);
    T_OK(env_reset(e, NULL, NULL, &io));
    for (int step = 0; step < 50; step++) {
        actor_obs_encoder_renew(&sight);
        const uint8_t *row = sight.obs;
        for (uint32_t i = 0; i < 3; i++, row += 16) {
            int32_t index = ((const int32_t *)io.obs)[i];
            for (int32_t k = 0; k < 16; k++) {
                assert_int_equal(row[k], k == index);
            }
        }
        T_OK(env_step(e, &io));
    }
    ((int32_t *)io.final_obs)[1] = 7;
    const uint8_t *last = actor_obs_encoder_final(&sight, 1);
    assert_int_equal(last[7], 1);
    assert_int_equal(last[6], 0);
    actor_obs_encoder_fini(&sight);
    env_close(e);
}

static void
test_sight_of_numbers_is_the_environments_own_row(void **state)
{
    (void)state;
    env *e = opened("CartPole-v1", 2);
    octet_env_io io = {.size = sizeof(io)};
    actor_obs_encoder sight;
    actor_obs_encoder_init(&sight, &env_spec(e)->obs, 2, false, &io);
    assert_ptr_equal(io.obs, sight.obs);
    assert_null(io.final_obs);
    assert_int_equal(sight.bytes, 16);
    actor_obs_encoder_fini(&sight);
    env_close(e);
}

static void
test_sight_is_what_a_registration_says(void **state)
{
    (void)state;
    static actor_spec spec;
    env *e = opened("Taxi-v4", 1);
    oct_reason why;
    T_OK(actor_spec_init(&spec, env_spec(e), &why));
    assert_int_equal(spec.wire.obs_dtype, POLICY_U8);
    assert_int_equal(spec.wire.obs_count, 500);
    assert_int_equal(spec.wire.obs_rank, 1);
    assert_int_equal(spec.wire.obs_shape[0], 500);
    env_close(e);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sight_of_a_discrete_observation_is_one_hot),
        cmocka_unit_test(test_sight_of_numbers_is_the_environments_own_row),
        cmocka_unit_test(test_sight_is_what_a_registration_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
