// Changes that a resumed run may not make are refused, and others are warned of.
#include "tests/config/config_fixture.h"

static char message[8192];

// A run of CartPole-v1 with the defaults is resumed after an assignment.
static void
assert_resume(const char *was, const char *assignment, oct_err want_err, const char *want)
{
    config_experiment before, now;
    config_default(&before);
    T_OK(config_set(&before, was, message, sizeof(message)));
    now = before;
    T_OK(config_set(&now, assignment, message, sizeof(message)));
    (void)snprintf(message, sizeof(message), "nonsense");
    T_ERR(config_check_resume(&before, &now, true, message, sizeof(message)), want_err);
    assert_string_equal(message, want);
}

static void
test_resume_with_another_environment_is_refused(void **state)
{
    (void)state;
    assert_resume("env.id=CartPole-v1", "env.id=Acrobot-v1", OCT_EINVAL,
                  "error: env.id: Acrobot-v1, but the run to resume has learned CartPole-v1; start "
                  "a new run\n");
    assert_resume("env.id=/a/cart.so", "env.id=/a/pole.so", OCT_EINVAL,
                  "error: env.id: /a/pole.so, but the run to resume has learned /a/cart.so; start "
                  "a new run\n");
    assert_resume("env.id=/a/cart.so", "env.id=/b/c/cart.so", OCT_OK, ""); // it moved
    assert_resume("env.id=MinAtar/Freeway-v1", "env.id=Freeway-v1", OCT_EINVAL,
                  "error: env.id: Freeway-v1, but the run to resume has learned "
                  "MinAtar/Freeway-v1; start a new run\n");
}

static void
test_resume_with_other_options_of_the_environment_is_refused(void **state)
{
    (void)state;
    assert_resume("env.id=CartPole-v1", "env.options=a=1", OCT_EINVAL,
                  "error: env.options: 'a=1', but the run to resume has learned with ''; returns "
                  "would not be comparable; start a new run\n");
    assert_resume("env.options=a=1", "env.options=a=1", OCT_OK, "");
}

static void
test_resume_begins_with_nothing_else(void **state)
{
    (void)state;
    assert_resume("learner.init_from=/a/run", "learner.init_from=/b/run", OCT_EINVAL,
                  "error: learner.init_from: '/b/run', but the run to resume started from "
                  "'/a/run'; start a new run\n");
    assert_resume("learner.init_from=/a/run", "learner.freeze=[1]", OCT_OK, "");
}

static void
test_resume_adds_shards_of_the_same_size(void **state)
{
    (void)state;
    config_experiment before, now;
    config_default(&before);
    before.replay.shards = 2;
    now = before;
    T_OK(config_check_resume(&before, &now, true, message, sizeof(message)));
    now.replay.shards = 3;
    T_ERR(config_check_resume(&before, &now, true, message, sizeof(message)), OCT_EINVAL);
    assert_string_equal(message, "error: replay.capacity: 100000 rows in 3 shards, but each shard "
                                 "of the run to resume keeps 50000 rows; set 150000\n");
    now.replay.capacity = 150000;
    T_OK(config_check_resume(&before, &now, true, message, sizeof(message)));
    now = before;
    now.replay.shards = 1;
    T_ERR(config_check_resume(&before, &now, true, message, sizeof(message)), OCT_EINVAL);
    assert_string_equal(message, "error: replay.shards: 1, but the run to resume has rows in 2 "
                                 "shards; name all of them (replay.shards, net.replay)\n");
}

#define EMPTY "; for an empty table set replay.path to a new file, or to none\n"
#define MADE  "but the table of the run to resume was made with "

static void
test_resume_keeps_what_the_table_was_made_with(void **state)
{
    (void)state;
    config_experiment before, now;
    static const char id[] = "env.id=CartPole-v1", ppo[] = "algo.name=ppo";
    assert_resume(id, "replay.capacity=20000", OCT_EINVAL,
                  "error: replay.capacity: 20000, " MADE "100000" EMPTY);
    assert_resume("replay.shards=2", "replay.capacity=20000", OCT_EINVAL,
                  "error: replay.capacity: 20000, " MADE "100000" EMPTY);
    assert_resume(id, "replay.sampler=fifo", OCT_EINVAL,
                  "error: replay.sampler: fifo, " MADE "prioritized" EMPTY);
    assert_resume(id, "replay.priority_exponent=0.3", OCT_EINVAL,
                  "error: replay.priority_exponent: 0.3, " MADE "0.6" EMPTY);
    assert_resume("run.deterministic=true", "replay.capacity=20000", OCT_EINVAL,
                  "error: replay.capacity: 20000, " MADE "100000; start a new run\n");
    // Nothing reads them.
    assert_resume("replay.sampler=uniform", "replay.priority_exponent=0.3", OCT_OK, "");
    assert_resume(ppo, "replay.sampler=uniform", OCT_OK, "");
    assert_resume(ppo, "replay.priority_exponent=0.3", OCT_OK, "");
    assert_resume(id, ppo, OCT_OK, ""); // the checkpoint refuses it
    // The limiter is not the table's.
    assert_resume(id, "replay.samples_per_insert=4", OCT_OK, "");
    // Without tables, or from a data set alone, nothing has to fit.
    config_default(&before);
    now = before;
    now.replay.capacity = 20000;
    T_OK(config_check_resume(&before, &now, false, message, sizeof(message)));
    before.replay.shards = 2;
    T_OK(config_check_resume(&before, &now, false, message, sizeof(message)));
    before.replay.shards = 1;
    (void)snprintf(now.replay.data, sizeof(now.replay.data), "pole.data");
    T_OK(config_check_resume(&before, &now, true, message, sizeof(message)));
    now.replay.data_share = 0.5;
    T_ERR(config_check_resume(&before, &now, true, message, sizeof(message)), OCT_EINVAL);
}
#undef EMPTY
#undef MADE

static void
test_resume_warns_of_what_was_learned_otherwise(void **state)
{
    (void)state;
    static const char id[] = "env.id=CartPole-v1";
    assert_resume(id, id, OCT_OK, "");
    assert_resume(id, "algo.learning_rate=0.5", OCT_OK, "");
    assert_resume(id, "algo.n_step=3", OCT_OK, ""); // replay's windows are then of the new
    assert_resume(id, "algo.discount=0.9", OCT_OK,
                  "warning: algo.discount: 0.9, but the run had 0.99 so far; what it has learned "
                  "depends on the old value\n");
    assert_resume(id, "algo.reward_clip=1", OCT_OK,
                  "warning: algo.reward_clip: 1, but the run had 0 so far; what it has learned "
                  "depends on the old value\n");
    assert_resume("algo.name=ppo", "algo.scale_rewards=true", OCT_OK,
                  "warning: algo.scale_rewards: true, but the run had false so far; what it has "
                  "learned depends on the old value\n");
    assert_resume("algo.name=sac", "algo.temperature=0.1", OCT_OK,
                  "warning: algo.temperature: 0.1, but the run had learned so far; what it has "
                  "learned depends on the old value\n");
    assert_resume("algo.name=sac", "algo.temperature=learned", OCT_OK, "");
    assert_resume(id, "env.mjcf_dir=/a", OCT_OK,
                  "warning: env.mjcf_dir: '/a', but the run had '' so far; what it has learned "
                  "depends on the old value\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resume_with_another_environment_is_refused),
        cmocka_unit_test(test_resume_with_other_options_of_the_environment_is_refused),
        cmocka_unit_test(test_resume_begins_with_nothing_else),
        cmocka_unit_test(test_resume_adds_shards_of_the_same_size),
        cmocka_unit_test(test_resume_keeps_what_the_table_was_made_with),
        cmocka_unit_test(test_resume_warns_of_what_was_learned_otherwise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
