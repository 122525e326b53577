// Keys that have no effect beside the values of other keys are reported, with what they need.
#include "tests/config/config_fixture.h"

#include "common/oct_base.h"
#include "config/config.h"
#include "config/config_effects.h"

static char message[8192];

// With these assignments key has no effect; with one more it has.
static const struct need {
    const char *with;
    const char *key;
    const char *why_not;
    const char *more;
} needs[] = {
    {"", "run.hash_updates", "without run.deterministic: true", "run.deterministic=true"},
    {"", "env.mjcf_dir", "without an env.id that begins with dmc:", "env.id=dmc:cheetah_run"},
    {"", "algo.target_epsilon", "with algo.target: q_learning", "algo.target=sarsa"},
    {"algo.name=table", "algo.target_epsilon", "with algo.target: q_learning",
     "algo.target=expected_sarsa"},
    {"algo.distributional=true", "algo.huber_delta", "with algo.distributional: true",
     "algo.distributional=false"},
    {"", "algo.atoms", "without algo.distributional: true", "algo.distributional=true"},
    {"", "algo.value_min", "without algo.distributional: true", "algo.name=d4pg"},
    {"", "algo.value_max", "without algo.distributional: true", "algo.name=external"},
    {"", "algo.noisy_sigma", "without algo.noisy: true", "algo.noisy=true"},
    {"", "algo.noisy_samples", "without algo.noisy: true", "algo.noisy=true"},
    {"algo.name=td3;algo.target_noise=0", "algo.target_noise_clip", "with algo.target_noise: 0",
     "algo.target_noise=0.1"},
    {"algo.name=sac;algo.temperature=0.1", "algo.initial_temperature",
     "without algo.temperature: learned", "algo.temperature=learned"},
    {"algo.name=sac;algo.temperature=0.1", "algo.target_entropy",
     "without algo.temperature: learned", "algo.temperature=learned"},
    {"algo.name=ppo", "algo.ratio_max", "without algo.correction: decoupled",
     "algo.correction=decoupled"},
    {"algo.name=trpo", "algo.ratio_max", "without algo.correction: decoupled", "algo.name=a2c"},
    {"algo.name=external;algo.window=rollout", "algo.n_step", "without algo.window: n_step",
     "algo.window=n_step"},
    {"algo.name=external", "algo.sequence_steps", "without algo.window: sequence or rollout",
     "algo.window=sequence"},
    {"algo.name=external", "algo.rollout_lag", "without algo.window: rollout",
     "algo.window=rollout"},
    {"algo.name=external", "algo.initial_deviation", "without algo.head: gaussian",
     "algo.head=gaussian"},
    {"", "learner.asynchronous", "without learner.count above 1", "learner.count=2"},
    {"", "learner.gradients_bf16", "without learner.count above 1", "learner.count=2"},
    {"learner.count=2;learner.asynchronous=true", "learner.gradients_bf16",
     "with learner.asynchronous: true", "learner.asynchronous=false"},
    {"learner.count=2", "learner.staleness_max", "without learner.asynchronous: true",
     "learner.asynchronous=true"},
    {"learner.asynchronous=true", "learner.staleness_max", "without learner.count above 1",
     "learner.count=2"},
#define IN_TURNS(key, tail)                                                                        \
    {                                                                                              \
        "run.deterministic=true", key, "with run.deterministic: true" tail,                        \
            "run.deterministic=false"                                                              \
    }
    IN_TURNS("learner.publish_period", ""),
    IN_TURNS("learner.publish_s", ""),
    IN_TURNS("learner.publish_s_min", ""),
    IN_TURNS("learner.publish_core_share", ""),
    IN_TURNS("learner.publish_bytes_per_s", ""),
    IN_TURNS("learner.checkpoint_s", "; use learner.checkpoint_turns"),
    IN_TURNS("evaluation.period_s", "; use evaluation.period_turns"),
    {"", "learner.checkpoint_turns", "without run.deterministic: true", "run.deterministic=true"},
    {"", "evaluation.period_turns", "without run.deterministic: true", "run.deterministic=true"},
    {"policy.precision=fp16", "policy.scale", "without policy.precision: int8",
     "policy.precision=int8"},
#define CODES(key)                                                                                 \
    {                                                                                              \
        "policy.precision=bf16;policy.range=percentile", key,                                      \
            "without policy.precision: int8 or int4", "policy.precision=int4"                      \
    }
    CODES("policy.range"),
    CODES("policy.percentile"),
    CODES("policy.delta"),
    CODES("policy.dead_band"),
    CODES("policy.drift"),
    CODES("policy.key_frame_period"),
    {"", "policy.percentile", "without policy.range: percentile", "policy.range=percentile"},
    {"policy.delta=false", "policy.key_frame_period", "without policy.delta: true",
     "policy.delta=true"},
#define VALUES(key)                                                                                \
    {                                                                                              \
        "algo.name=external;algo.head=logits", key, "without algo.head: values or atoms",          \
            "algo.head=values"                                                                     \
    }
    VALUES("actor.epsilon_base"),
    VALUES("actor.epsilon_power"),
    VALUES("actor.epsilon_persistence"),
    VALUES("actor.epsilon_anneal_steps"),
    {"actor.epsilon_base=0", "actor.epsilon_power", "with actor.epsilon_base: 0",
     "actor.epsilon_base=0.1"},
#define NOISE(key)                                                                                 \
    {                                                                                              \
        "algo.name=external;algo.head=gaussian;actor.noise_final=0", key,                          \
            "without algo.head: tanh", "algo.head=auto"                                            \
    }
    NOISE("actor.noise"),
    NOISE("actor.noise_low"),
    NOISE("actor.noise_final"),
    NOISE("actor.noise_steps"),
    NOISE("actor.noise_correlation"),
    NOISE("actor.random_steps"),
    {"algo.name=td3", "actor.noise_steps", "without a number in actor.noise_final",
     "actor.noise_final=0"},
    {"algo.name=external", "actor.rollout_wait_s", "without algo.window: rollout",
     "algo.window=rollout"},
#define ROLLOUTS(key)                                                                              \
    {                                                                                              \
        "algo.name=external;algo.window=rollout", key, "with algo.window: rollout",                \
            "algo.window=sequence"                                                                 \
    }
    ROLLOUTS("replay.min_size"),
    ROLLOUTS("replay.sampler"),
    ROLLOUTS("replay.priority_exponent"),
    ROLLOUTS("replay.importance_exponent"),
    ROLLOUTS("replay.importance_exponent_final"),
    ROLLOUTS("replay.samples_per_insert"),
    ROLLOUTS("replay.tolerance"),
#define DRAWN(key)                                                                                 \
    {                                                                                              \
        "replay.sampler=uniform", key, "without replay.sampler: prioritized",                      \
            "replay.sampler=prioritized"                                                           \
    }
    DRAWN("replay.priority_exponent"),
    DRAWN("replay.importance_exponent"),
    DRAWN("replay.importance_exponent_final"),
    {"replay.samples_per_insert=0", "replay.tolerance", "with replay.samples_per_insert: 0",
     "replay.samples_per_insert=1"},
#define ONCE(key)                                                                                  \
    {                                                                                              \
        "replay.sampler=fifo", key, "with replay.sampler: fifo, which samples each window once",   \
            "replay.sampler=uniform"                                                               \
    }
    ONCE("replay.min_size"),
    ONCE("replay.samples_per_insert"),
    ONCE("replay.tolerance"),
    {"replay.path=none", "replay.sync", "with replay.path: none", "replay.path=table.oct"},
    {"replay.path=none", "replay.sync_interval_s", "with replay.path: none",
     "replay.path=table.oct"},
    {"replay.sync=always", "replay.sync_interval_s", "without replay.sync: interval",
     "replay.sync=interval"},
    {"", "replay.data_share", "without replay.data", "replay.data=steps.data"},
#define OFFLINE(key)                                                                               \
    {                                                                                              \
        "replay.data=steps.data", key, "with a data set alone (replay.data_share: 1)",             \
            "replay.data_share=0.5"                                                                \
    }
    OFFLINE("actor.count"),
    OFFLINE("actor.epsilon_base"),
    OFFLINE("actor.when_full"),
    OFFLINE("replay.capacity"),
    OFFLINE("replay.min_size"),
    OFFLINE("replay.samples_per_insert"),
    OFFLINE("replay.tolerance"),
    OFFLINE("replay.path"),
    OFFLINE("replay.sync"),
    OFFLINE("replay.sync_interval_s"),
};

static void
test_each_key_has_an_effect_with_what_it_needs(void **state)
{
    (void)state;
    char why_not[256];
    for (size_t i = 0; i < OCT_COUNTOF(needs); i++) {
        config_experiment config = config_with(needs[i].with);
        if (config_has_effect(&config, needs[i].key, why_not, sizeof(why_not))) {
            fail_msg("%s has an effect with '%s'", needs[i].key, needs[i].with);
        }
        assert_string_equal(why_not, needs[i].why_not);
        T_OK(config_set(&config, needs[i].more, message, sizeof(message)));
        if (!config_has_effect(&config, needs[i].key, why_not, sizeof(why_not))) {
            fail_msg("%s has no effect with '%s;%s': %s", needs[i].key, needs[i].with,
                     needs[i].more, why_not);
        }
        assert_string_equal(why_not, "");
    }
}

static void
assert_warnings(const char *assignments, const char *want)
{
    config_experiment config = config_with(assignments);
    config_warn_idle(&config, &config, message, sizeof(message));
    assert_string_equal(message, want);
}

static void
test_rollouts_that_nobody_learns_from_are_told(void **state)
{
    (void)state;
    static const char eight[] =
        "warning: learner.batch_size: 8 rollouts of each version are used, but 16 environments "
        "make one each (actor.count: 2 of actor.envs: 8); the rest are discarded\n";
    assert_warnings("algo.name=ppo;actor.count=2;actor.envs=8;learner.batch_size=8", eight);
    assert_warnings("algo.name=a2c;actor.count=2;actor.envs=8;learner.batch_size=8", eight);
    assert_warnings("algo.name=ppo;actor.count=2;actor.envs=8;learner.batch_size=16", "");
    assert_warnings("algo.name=vtrace;actor.count=2;actor.envs=8;learner.batch_size=8", "");
    assert_warnings("actor.count=2;actor.envs=8;learner.batch_size=8", "");
    // Only of a layer that has a part in it.
    config_experiment config = config_with("algo.name=ppo;actor.envs=8;learner.batch_size=8"),
                      written;
    T_OK(config_set(&config, "actor.count=2", message, sizeof(message)));
    config_default(&written);
    config_warn_idle(&config, &written, message, sizeof(message));
    assert_string_equal(message, "");
    T_OK(config_set(&written, "actor.count=2", message, sizeof(message)));
    config_warn_idle(&config, &written, message, sizeof(message));
    assert_string_equal(message, eight);
}

static void
test_a_warning_names_key_value_and_need(void **state)
{
    (void)state;
    assert_warnings("", "");
    assert_warnings("algo.noisy_sigma=0.3",
                    "warning: algo.noisy_sigma: 0.3 has no effect without algo.noisy: true\n");
    assert_warnings("algo.noisy_sigma=0.3;algo.noisy=true", "");
    assert_warnings("algo.noisy_sigma=0.5", ""); // the default
    assert_warnings("replay.sampler=uniform;replay.priority_exponent=0.7;algo.atoms=21",
                    "warning: algo.atoms: 21 has no effect without algo.distributional: true\n"
                    "warning: replay.priority_exponent: 0.7 has no effect without replay.sampler: "
                    "prioritized\n");
    assert_warnings("learner.asynchronous=true",
                    "warning: learner.asynchronous: true has no effect "
                    "without learner.count above 1\n");
    // One that the algorithm does not read has one line, too.
    assert_warnings("algo.name=td3;algo.noisy_sigma=0.3",
                    "warning: algo.noisy_sigma: 0.3 has no effect with algo.name: td3; it is an "
                    "option of dqn\n");
}

// Of a preset with settings, the settings alone.
static void
test_only_what_was_written_is_told(void **state)
{
    (void)state;
    config_experiment preset = config_with("algo.target_period=50;replay.sampler=uniform");
    config_experiment settings, config = preset;
    const char *const sets[] = {"algo.name=ppo", "algo.ratio_max=3"};
    config_default(&settings);
    for (size_t i = 0; i < OCT_COUNTOF(sets); i++) {
        T_OK(config_set(&config, sets[i], message, sizeof(message)));
        T_OK(config_set(&settings, sets[i], message, sizeof(message)));
    }
    config_warn_idle(&config, &settings, message, sizeof(message));
    assert_string_equal(
        message, "warning: algo.ratio_max: 3 has no effect without algo.correction: decoupled\n");
    config_warn_idle(&config, &config, message, sizeof(message));
    assert_non_null(strstr(message, "warning: algo.target_period: 50 has no effect"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_key_has_an_effect_with_what_it_needs),
        cmocka_unit_test(test_rollouts_that_nobody_learns_from_are_told),
        cmocka_unit_test(test_a_warning_names_key_value_and_need),
        cmocka_unit_test(test_only_what_was_written_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
