// What of an experiment an actor goes by.
#include "actor/actor_spec.h"
#include "tests/support/oct_test.h"

static void
test_actor_goes_by_its_own_keys(void **state)
{
    (void)state;
    assert_true(actor_goes_by("actor.envs", false));
    assert_true(actor_goes_by("env.id", false));
    assert_true(actor_goes_by("run.seed", false));
    assert_true(actor_goes_by("run.deterministic", false));
    assert_true(actor_goes_by("algo.window", false));
    assert_true(actor_goes_by("algo.sequence_steps", false)); // the length of a rollout
    assert_true(actor_goes_by("algo.rollout_lag", false));
    assert_false(actor_goes_by("algo.learning_rate", false));
    assert_false(actor_goes_by("run.env_steps", false));
    assert_false(actor_goes_by("learner.batch_size", false));
    assert_false(actor_goes_by("replay.capacity", false));
    assert_false(actor_goes_by("evaluation.episodes", false));
}

static void
test_evaluator_goes_by_its_own_keys(void **state)
{
    (void)state;
    assert_true(actor_goes_by("evaluation.envs", true));
    assert_true(actor_goes_by("env.options", true));
    assert_false(actor_goes_by("actor.envs", true));
    assert_false(actor_goes_by("algo.sequence_steps", true));
    assert_false(actor_goes_by("net.learner", true));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_actor_goes_by_its_own_keys),
        cmocka_unit_test(test_evaluator_goes_by_its_own_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
