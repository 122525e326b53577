// Values that contradict each other are refused; presets are valid.
#include <dirent.h>
#include <stdlib.h>

#include "tests/config/config_fixture.h"

#include "config/config.h"
#include "config/config_effects.h"
#include "config/config_table.h"

static char message[8192];

// The defaults with an environment and assignments (separated by ';') must give exactly want.
static void
assert_check(const char *assignments, const char *want)
{
    config_experiment config = config_with(assignments);
    message[0] = 0;
    oct_err err = config_check(&config, message, sizeof(message));
    assert_string_equal(message, want);
    T_ERR(err, want[0] == 0 ? OCT_OK : OCT_EINVAL);
}

static void
test_targets_belong_to_what_learns_values(void **state)
{
    (void)state;
    assert_check("algo.target=expected_sarsa;algo.distributional=true",
                 "error: algo.target: only q_learning is allowed with algo.distributional: true\n");
    assert_check("algo.name=table;algo.target=sarsa;algo.sequence_steps=16", "");
}

static void
test_blocks_of_critics_have_one_width(void **state)
{
    (void)state;
#define RESIDUAL "algo.name=d4pg;network.critic_residual=true;network.critic_hidden="
#define REFUSED(where)                                                                             \
    "error: network.critic_residual: true needs an odd number of equal widths in " where           \
    ": the first layer and two for each block, such as [256, 256, 256]\n"
    assert_check(RESIDUAL "[64]", "");
    assert_check(RESIDUAL "[64, 64, 64]", "");
    assert_check(RESIDUAL "[32, 32, 32, 32, 32]", "");
    assert_check(RESIDUAL "[64, 64]", REFUSED("network.critic_hidden"));
    assert_check(RESIDUAL "[64, 64, 32]", REFUSED("network.critic_hidden"));
    assert_check(RESIDUAL "[]", REFUSED("network.hidden (network.critic_hidden: [])"));
    assert_check(RESIDUAL "[];network.hidden=[16, 16, 16]", "");
    assert_check("algo.name=ppo;network.critic_residual=true;network.critic_hidden=[64];"
                 "learner.batch_size=1;actor.envs=1;replay.min_size=1",
                 "error: network.critic_residual: true is an option of algo.name: d4pg, ddpg, td3, "
                 "sac\n");
#undef REFUSED
#undef RESIDUAL
}

static void
test_an_environment_is_required(void **state)
{
    (void)state;
    assert_check("env.id=", "error: env.id: an environment is required, such as CartPole-v1\n");
}

static void
test_rows_of_rollouts_suffice_for_their_steps(void **state)
{
    (void)state;
    for (uint32_t rows = 0; rows < 1000; rows++) {
        uint32_t steps = config_rollout_steps(rows);
        assert_true(steps == 0 || config_rollout_rows(steps) <= rows);
        assert_true(config_rollout_rows(steps + 1) > rows);
    }
    assert_int_equal(config_rollout_steps(UINT64_MAX), UINT32_MAX);
}

// ppo, a2c and trpo.
static void
assert_rollouts(void)
{
#define PPO "algo.name=ppo;actor.envs=8;algo.sequence_steps=100;replay.capacity=2032;"
    assert_check(PPO "learner.batch_size=8", "");
    assert_check(PPO "learner.batch_size=8;actor.count=2;replay.capacity=4064", "");
    assert_check(PPO "learner.batch_size=9",
                 "error: learner.batch_size: 9 rollouts, but 8 environments (actor.count: 1 of "
                 "actor.envs: 8) produce only one each per policy version\n");
    assert_check(PPO "learner.batch_size=8;replay.capacity=2031",
                 "error: replay.capacity: 2031 rows cannot hold the rows that 8 environments "
                 "produce with algo.sequence_steps: 100 in 2 versions; 2032 rows are enough\n");
    assert_check(PPO "learner.batch_size=8;replay.shards=2;replay.capacity=4064", "");
    assert_check(
        PPO "learner.batch_size=8;replay.shards=2;replay.capacity=4062",
        "error: replay.capacity: 4062 rows, divided among the shards, cannot hold the rows that 8 "
        "environments produce with algo.sequence_steps: 100 in 2 versions; 4064 rows are enough\n");
    assert_check(PPO "learner.batch_size=8;algo.rollout_lag=1",
                 "error: replay.capacity: 2032 rows cannot hold the rows that 8 environments "
                 "produce with algo.sequence_steps: 100 in 3 versions; 3048 rows are enough\n");
    assert_check(
        PPO "learner.batch_size=8;algo.minibatches=801",
        "error: algo.minibatches: 801, but a batch has 800 steps (learner.batch_size: 8 of "
        "algo.sequence_steps: 100); each needs at least one step\n");
    assert_check(PPO "learner.batch_size=8;learner.count=2;algo.minibatches=400", "");
    assert_check(PPO "learner.batch_size=8;learner.count=2;algo.minibatches=401",
                 "error: algo.minibatches: 401, but a batch has 400 steps for each of 2 learners "
                 "(learner.batch_size: 8 of algo.sequence_steps: 100); each needs at least one "
                 "step\n");
    assert_check(PPO "learner.batch_size=8;actor.when_full=drop",
                 "error: actor.when_full: drop would lose rollouts that algo.name: ppo, a2c, trpo "
                 "and external wait for; allowed is wait\n");
    assert_check("algo.name=a2c;actor.count=64;actor.envs=256;learner.batch_size=16384;"
                 "algo.sequence_steps=60;replay.capacity=3000000;learner.batches_per_request=1",
                 "error: learner.batch_size: 16384 rollouts of algo.sequence_steps: 60 exceed the "
                 "1048576 rows that a reply of replay can hold\n");
#define LONG "algo.name=ppo;learner.batch_size=8;replay.capacity=1000000;algo.sequence_steps=1024;"
    assert_check(LONG "actor.envs=51", "");
    assert_check(LONG "actor.envs=52",
                 "error: actor.envs: 52 rollouts of algo.sequence_steps: 1024 exceed the 65536 "
                 "rows that an actor's message can hold; 51 fit\n");
#undef LONG
    assert_check("algo.name=a2c;actor.envs=8;learner.batch_size=8;replay.capacity=20000;"
                 "replay.data=pole.data;run.updates=1",
                 "error: replay.data: algo.name: a2c cannot learn from recorded steps; it needs "
                 "new steps of its current policy\n");
#define TRPO PPO "algo.name=trpo;learner.batch_size=8;"
    assert_check(TRPO "algo.kl_max=0.01", "");
    assert_check(TRPO "algo.kl_max=0",
                 "error: algo.kl_max: must be above 0 with algo.name: trpo, because it determines "
                 "the length of a step; 0.01 is usual\n");
    assert_check(
        TRPO "algo.kl_max=0.01;algo.minibatches=801",
        "error: algo.minibatches: 801, but a batch has 800 steps (learner.batch_size: 8 of "
        "algo.sequence_steps: 100); each needs at least one step\n");
#undef TRPO
#undef PPO
}

// Windows of a fixed number of rows, each once.
static void
assert_vtrace(void)
{
#define VTRACE "algo.name=vtrace;algo.sequence_steps=20;learner.batch_size=16;replay.min_size=16;"
    assert_check(VTRACE "replay.capacity=656", "");
    assert_check(VTRACE "replay.capacity=655",
                 "error: replay.capacity: 655 rows cannot hold 16 windows (learner.batch_size) of "
                 "algo.sequence_steps: 20, and an unfinished one in each of 16 environments "
                 "(actor.count: 1 of actor.envs: 16); 656 rows are enough\n");
    assert_check(VTRACE "algo.ratio_max=2;algo.trace_max=2", "");
    assert_check(VTRACE "algo.ratio_max=1;algo.trace_max=1.5",
                 "error: algo.trace_max: 1.5 is more than algo.ratio_max 1\n");
    assert_check(VTRACE "run.deterministic=true",
                 "error: algo.name: reinforce, table, ppo, a2c, vtrace and trpo use each window "
                 "once; not allowed with run.deterministic: true\n");
    assert_check("run.deterministic=true;replay.path=none",
                 "error: replay.path: none keeps no table from which a killed run could resume; "
                 "not allowed with run.deterministic: true\n");
    assert_check(VTRACE "replay.data=pole.data;run.updates=1",
                 "error: replay.data: algo.name: vtrace cannot learn from recorded steps; it needs "
                 "new steps of its current policy\n");
    assert_check("algo.name=ppo;algo.trace_max=9;actor.envs=8;learner.batch_size=8", "");
#undef VTRACE
}

static void
test_repeated_actions_count_as_steps_of_the_environment(void **state)
{
    (void)state;
    assert_check("env.options=action_repeat=3;run.env_steps=3000", "");
    assert_check("env.options=action_repeat=3;run.env_steps=2999",
                 "error: run.env_steps: 2999 is less than replay.min_size 1000 times action_repeat "
                 "3 of env.options: nothing would be learned\n");
    assert_check("env.options=action_repeat=65",
                 "error: env.options: action_repeat is not a whole number 1 .. 64\n");
}

// Where windows come once there is no least number of them.
static void
test_what_comes_once_has_no_least_number(void **state)
{
    (void)state;
    assert_check("algo.name=ppo;run.env_steps=600;replay.min_size=500000;algo.sequence_steps=8",
                 "");
    assert_check("algo.name=reinforce;run.env_steps=600;replay.min_size=500000", "");
    assert_check("algo.name=a2c;replay.capacity=999", "");
}

static void
test_atoms_need_a_range_in_single_precision(void **state)
{
    (void)state;
    assert_check("algo.value_min=1;algo.value_max=1.00000001",
                 "error: algo.value_min: 1 is not below algo.value_max 1.00000001 in single "
                 "precision\n");
    assert_check("algo.value_min=2;algo.value_max=1.5",
                 "error: algo.value_min: 2 is not below algo.value_max 1.5\n");
    assert_check("algo.value_min=0;algo.value_max=1e-38",
                 "error: algo.value_max: 1e-38 is only 1e-38 above algo.value_min: algo.atoms: 51 "
                 "need at least 5.88e-37\n");
    assert_check("algo.value_min=0;algo.value_max=6e-37", "");
}

static void
test_a_budget_too_small_for_one_batch_is_refused(void **state)
{
    (void)state;
#define FEW                                                                                        \
    "run.env_steps=2500;learner.batch_size=256;replay.min_size=200;replay.samples_per_insert="
#define TOO_FEW(ratio, samples)                                                                    \
    "error: replay.samples_per_insert: " ratio " allows only " samples " sampled windows in "      \
    "run.env_steps: 2500, too few for a batch of learner.batch_size: 256: nothing would be "       \
    "learned\n"
    assert_check(FEW "0.001", TOO_FEW("0.001", "2"));
    assert_check(FEW "0.001;run.deterministic=true", TOO_FEW("0.001", "2"));
    assert_check(FEW "0.001;env.options=action_repeat=5", TOO_FEW("0.001", "0"));
    assert_check(FEW "0.1", ""); // the band is as wide as a batch: 250 are enough
    assert_check(FEW "0", "");
    assert_check(FEW "8;replay.min_size=25000", // the ratio is not to blame
                 "error: run.env_steps: 2500 is less than replay.min_size 25000: nothing would be "
                 "learned\n");
    assert_check(FEW "8;env.options=action_repeat=64",
                 "error: run.env_steps: 2500 is less than replay.min_size 200 times action_repeat "
                 "64 of env.options: nothing would be learned\n");
    assert_check(FEW "0.001;replay.data=pole.data;run.updates=1", "");
    assert_check(FEW "8;replay.sampler=fifo;env.options=action_repeat=10",
                 "error: learner.batch_size: 256 windows, each used once, but run.env_steps: 2500 "
                 "produce at most 250: nothing would be learned\n");
#undef TOO_FEW
#undef FEW
#define ONCE                                                                                       \
    "algo.name=reinforce;learner.batch_size=32;algo.sequence_steps=500;replay.capacity=24048;"     \
    "run.env_steps="
    assert_check(ONCE "32", ""); // episodes may have one step
    assert_check(ONCE "31", "error: learner.batch_size: 32 windows, each used once, but "
                            "run.env_steps: 31 produce at most 31: nothing would be learned\n");
#undef ONCE
}

static void
test_a_sound_daemon_has_time_to_beat(void **state)
{
    (void)state;
    assert_check("run.hang_s=0.999;run.env_hang_s=1e-3",
                 "error: run.hang_s: 0.999 is below 1 second; allowed are 0 (never) and 1 or more\n"
                 "error: run.env_hang_s: 0.001 is below 1 second; allowed are 0 (never) and 1 or "
                 "more\n");
    assert_check("run.hang_s=1;run.env_hang_s=1", "");
    assert_check("run.hang_s=0;run.env_hang_s=0", "");
}

// Of learners, replays and layers.
static void
assert_counts(void)
{
    assert_check("learner.count=2;learner.asynchronous=true;run.deterministic=true",
                 "error: learner.asynchronous: true runs without turns, but run.deterministic: "
                 "true needs them; set one of the two to false\n");
    assert_check("learner.count=3;learner.batch_size=16",
                 "error: learner.count: 3 learners cannot share learner.batch_size 16 equally: "
                 "allowed are its divisors\n");
    assert_check("learner.count=2;learner.quantisation_aware=true",
                 "error: learner.count: 2, but learner.quantisation_aware: true allows only one "
                 "learner\n");
    assert_check("net.replay=a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q",
                 "error: net.replay: has 17 addresses, allowed are 1 to 16\n");
    assert_check("network.conv=[16,16,16,16,16,16,16,16];network.hidden=[8,8,8,8,8,8,8]", "");
    assert_check("network.conv=[16,16,16,16,16,16,16,16];network.hidden=[8,8,8,8,8,8,8,8]",
                 "error: network.conv: 8 convolutions and 8 hidden layers, allowed 15 in all\n");
}

static void
test_layers_stand_in_one_list(void **state)
{
    (void)state;
    assert_check("network.layers=[conv 16 3x3, dense 128]", "");
    assert_check("network.layers=[dense 8];network.hidden=[64, 64]", ""); // the default
    assert_check("network.layers=[dense 8];network.hidden=[];network.conv=[4];"
                 "network.first_layer_norm=true",
                 "error: network.hidden: [], but network.layers lists the layers; give one of the "
                 "two\n"
                 "error: network.conv: [4], but network.layers lists the layers; give one of the "
                 "two\n"
                 "error: network.first_layer_norm: true, but network.layers lists the layers; give "
                 "one of the two\n");
    assert_check("algo.name=ppo;network.layers=[conv 4 3x3, conv 4 3x3, dense 8];"
                 "network.critic_hidden=[1,2,3,4,5,6,7,8,9,10,11,12,13,14]",
                 "error: network.layers: 2 layers before the dense ones and 14 of "
                 "network.critic_hidden, allowed 15 in all\n");
}

static void
expect_words(const config_experiment *config, const config_ints *hidden, const char *text)
{
    policy_words got, want;
    T_OK(config_words(config, hidden, &got, NULL));
    T_OK(policy_words_parse(&want, text, NULL));
    assert_int_equal(got.count, want.count);
    for (uint32_t i = 0; i < got.count; i++) {
        const policy_word *a = &got.word[i], *b = &want.word[i];
        assert_true(a->kind == b->kind && a->units == b->units && a->layer_norm == b->layer_norm &&
                    a->has_activation == b->has_activation && a->activation == b->activation);
        assert_memory_equal(a->kernel, b->kernel, sizeof(a->kernel));
        assert_memory_equal(a->stride, b->stride, sizeof(a->stride));
    }
}

// The short form and the list are the same words, and a critic may have other dense layers.
static void
test_words_of_a_network(void **state)
{
    (void)state;
    config_experiment config;
    config_default(&config);
    T_OK(config_set(&config, "network.conv=[16, 8]", message, sizeof(message)));
    expect_words(&config, NULL, "conv 16 3x3, conv 8 3x3, dense 64, dense 64");
    assert_true(config_has_maps(&config));
    T_OK(config_set(&config, "network.first_layer_norm=true", message, sizeof(message)));
    T_OK(config_set(&config, "network.critic_hidden=[32]", message, sizeof(message)));
    expect_words(&config, NULL, "conv 16 3x3, conv 8 3x3, dense 64 norm tanh, dense 64");
    expect_words(&config, config_critic_hidden(&config),
                 "conv 16 3x3, conv 8 3x3, dense 32 norm tanh");
    config_default(&config);
    T_OK(config_set(&config, "network.layers=[conv 9 4x4/2, dense 7, dense 6 elu]", message,
                    sizeof(message)));
    expect_words(&config, NULL, "conv 9 4x4/2, dense 7, dense 6 elu");
    expect_words(&config, config_critic_hidden(&config), "conv 9 4x4/2, dense 7, dense 6 elu");
    T_OK(config_set(&config, "network.critic_hidden=[32, 31]", message, sizeof(message)));
    expect_words(&config, config_critic_hidden(&config), "conv 9 4x4/2, dense 32, dense 31");
    T_OK(config_set(&config, "network.layers=[dense 4]", message, sizeof(message)));
    assert_false(config_has_maps(&config));
}

static void
test_keys_that_contradict_each_other_are_refused(void **state)
{
    (void)state;
    assert_check("replay.capacity=999",
                 "error: replay.min_size: 1000 is more than replay.capacity 999: sampling would "
                 "never begin\n");
    assert_check("replay.min_size=1;replay.capacity=200",
                 "error: learner.batch_size: 256 is more than replay.capacity 200\n");
    assert_check("learner.batch_size=65536;learner.batches_per_request=17",
                 "error: learner.batches_per_request: 17 batches of learner.batch_size 65536 "
                 "exceed the 1048576 windows that a reply of replay can hold\n");
    assert_check("run.env_steps=999",
                 "error: run.env_steps: 999 is less than replay.min_size 1000: nothing would be "
                 "learned\n");
    assert_check("evaluation.screen_episodes=101",
                 "error: evaluation.screen_episodes: 101 is more than evaluation.episodes 100\n");
    assert_counts();
    assert_check("network.hidden=[];network.first_layer_norm=true",
                 "error: network.first_layer_norm: true needs a first hidden layer, but "
                 "network.hidden is []\n");
    assert_check("algo.name=td3;algo.noisy=true;algo.dueling=true",
                 "error: algo.dueling: true is an option of algo.name: dqn\n"
                 "error: algo.noisy: true is an option of algo.name: dqn\n");
    assert_check("algo.name=d4pg;algo.distributional=true",
                 "error: algo.distributional: true is an option of algo.name: dqn\n");
    assert_check("algo.noisy=true;algo.dueling=true;algo.distributional=true", "");
    assert_check(
        "algo.name=reinforce;learner.batch_size=16;algo.sequence_steps=9;replay.capacity=319",
        "error: replay.capacity: 319 rows cannot hold 16 windows (learner.batch_size) of "
        "algo.sequence_steps: 9, and an unfinished one in each of 16 environments (actor.count: 1 "
        "of actor.envs: 16); 320 rows are enough\n");
    assert_check("algo.name=reinforce;learner.batch_size=16;algo.sequence_steps=9;"
                 "replay.capacity=320",
                 "");
    assert_check("algo.name=reinforce;learner.batch_size=65536;learner.batches_per_request=1;"
                 "algo.sequence_steps=17;replay.capacity=2000000",
                 "error: learner.batch_size: 65536 windows of algo.sequence_steps: 17 exceed the "
                 "1048576 steps that a reply of replay can hold\n");
    assert_rollouts();
    assert_vtrace();
    assert_check("replay.data=pole.data;run.updates=1", "");
    assert_check("replay.data=pole.data;replay.data_share=0.25", "");
    assert_check("replay.data_share=0.25", "error: replay.data_share: 0.25, but replay.data is "
                                           "none; without a data set, allowed is 1\n");
    assert_check("replay.data=pole.data;replay.data_share=0.25;learner.batch_size=1",
                 "error: replay.data_share: 0.25 of learner.batch_size 1 are 0 windows; a batch "
                 "needs windows of both kinds\n");
    assert_check("replay.data=pole.data;replay.data_share=0.9;learner.batch_size=2",
                 "error: replay.data_share: 0.9 of learner.batch_size 2 are 2 windows; a batch "
                 "needs windows of both kinds\n");
    assert_check("replay.data=pole.data", "error: run.updates: 0 sets no limit, but learning from "
                                          "replay.data alone needs one; allowed is at least 1\n");
    assert_check("replay.data=pole.data;run.updates=1;algo.name=reinforce;learner.batch_size=8;"
                 "replay.min_size=16",
                 "error: replay.data: algo.name: reinforce cannot learn from recorded steps; it "
                 "needs new steps of its current policy\n");
    assert_check("policy.precision=int4;policy.scale=tensor",
                 "error: policy.scale: tensor is for int8 only; int4 has a scale for each row and "
                 "a multiplier for each group\n");
    assert_check("policy.precision=int4;policy.dead_band=7.5",
                 "error: policy.dead_band: 7.5 exceeds the 7 steps that int4 has on either side of "
                 "0, so codes would never change\n");
    assert_check("policy.precision=int4;policy.dead_band=7", "");
    assert_check("policy.precision=int8;policy.dead_band=16", "");
    assert_check("policy.precision=fp32;learner.quantisation_aware=true",
                 "error: learner.quantisation_aware: true needs a policy.precision that rounds "
                 "weights, but it is fp32\n");
    assert_check("policy.precision=int4;learner.quantisation_aware=true", "");
}

static void
test_an_average_that_nobody_may_act_with_is_refused(void **state)
{
    (void)state;
#define REFUSED "error: learner.ema_decay: 0.99, but "
    assert_check("learner.ema_decay=0.99", "");
    assert_check("algo.name=sac;learner.ema_decay=0.99", "");
    assert_check("learner.ema_decay=0.99;algo.noisy=true",
                 REFUSED "algo.noisy explores with the parameters that it trains; allowed is 0\n");
    assert_check(
        "learner.ema_decay=0.99;algo.name=reinforce;learner.batch_size=8;replay.min_size=16",
        REFUSED "algo.name: reinforce, table, ppo, a2c, vtrace and trpo must learn from steps of "
                "the policy that they train; allowed is 0\n");
    assert_check(
        "learner.ema_decay=0.99;algo.name=external", REFUSED
        "algo.name: external publishes the parameters that its own process sends; allowed is 0\n");
    assert_check(
        "learner.ema_decay=0.99;learner.count=2;learner.asynchronous=true",
        REFUSED "learner.asynchronous does not keep the parameters of each update; allowed is 0\n");
    assert_check(
        "learner.ema_decay=0.99;learner.quantisation_aware=true", REFUSED
        "learner.quantisation_aware trains with the weights that are published; allowed is 0\n");
#undef REFUSED
}

static void
test_options_that_are_no_pairs_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"a", "a=1,", ",a=1", "=1", "a=1,,b=2", "a=1,b"};
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        char assignment[64], want[128];
        (void)snprintf(assignment, sizeof(assignment), "env.options=\"%s\"", bad[i]);
        (void)snprintf(want, sizeof(want),
                       "error: env.options: %s is not a list such as key=value,key=value with "
                       "closed brackets and quotes\n",
                       bad[i]);
        assert_check(assignment, want);
    }
    assert_check("env.options=a=1,b=x=y,c=", "");
    assert_check("env.options=\"size=(3,3),c='a,b',d={'k': [1, 2]}\"", "");
}

static void
test_every_contradiction_is_told_at_once(void **state)
{
    (void)state;
    assert_check("env.id=;evaluation.screen_episodes=101",
                 "error: env.id: an environment is required, such as CartPole-v1\n"
                 "error: evaluation.screen_episodes: 101 is more than evaluation.episodes 100\n");
}

static void
test_shards_are_refused_where_there_is_one_table(void **state)
{
    (void)state;
    assert_check("replay.shards=4", "");
    assert_check("net.replay=tcp://a:1, tcp://b:1", "");
    assert_check("replay.shards=2;run.deterministic=true",
                 "error: replay.shards: 2 shards (or addresses in net.replay): run.deterministic: "
                 "true works with one table only\n");
    assert_check("net.replay='tcp://a:1,tcp://b:1';algo.name=reinforce;algo.sequence_steps=8", "");
    assert_check("replay.shards=3;replay.sampler=fifo;replay.min_size=50000;run.env_steps=600", "");
    assert_check("replay.shards=2;replay.data=x;run.updates=5",
                 "error: replay.shards: 2 shards (or addresses in net.replay): replay.data: a data "
                 "set has its own replay and allows only one other\n");
    assert_check("replay.shards=2;algo.name=external",
                 "error: replay.shards: 2 shards (or addresses in net.replay): algo.name: external "
                 "works with one replay only\n");
    assert_check("replay.shards=2;replay.capacity=1999",
                 ""); // 1000 each, as replay.min_size
    assert_check("replay.shards=2;replay.capacity=1998",
                 "error: replay.min_size: 1000 exceeds the 999 rows of replay.capacity that each "
                 "of 2 shards keeps\n");
    assert_check("net.replay='tcp://a:1,tcp://b:1,tcp://a:1'",
                 "error: net.replay: tcp://a:1 is the address of shards 0 and 2\n");
    assert_check("net.replay='tcp://a:1,,tcp://b:1'",
                 "error: net.replay: tcp://a:1,,tcp://b:1 has no address for shard 1 of 3\n");
    assert_check("replay.shards=3;net.replay='tcp://a:1,tcp://b:1'",
                 "error: net.replay: tcp://a:1,tcp://b:1 has no address for shard 2 of 3\n");
    assert_check("net.replay=''",
                 "error: net.replay: an address is required, such as ipc://replay.ipc\n");
}

// One that is too long is there all the same.
static void
test_addresses_of_replay_have_a_longest(void **state)
{
    (void)state;
    static const char *const formats[] = {"net.replay=%s", "net.replay='tcp://a:1,%s'",
                                          "net.replay='%s,tcp://a:1'"};
    char address[CONFIG_TEXT_MAX + 1], assignment[512];
    (void)snprintf(address, sizeof(address), "ipc://%0*d", CONFIG_TEXT_MAX - 6, 0);
    for (size_t i = 0; i < OCT_COUNTOF(formats); i++) {
        (void)snprintf(assignment, sizeof(assignment), formats[i], address + 1);
        assert_check(assignment, "");
        (void)snprintf(assignment, sizeof(assignment), formats[i], address);
        assert_check(assignment,
                     "error: net.replay: an address has 256 bytes, allowed are at most 255\n");
    }
}

static void
test_shards_have_addresses_and_names(void **state)
{
    (void)state;
    config_experiment config;
    char text[CONFIG_TEXT_MAX];
    config_default(&config);
    assert_int_equal(config_shards(&config), 1);
    T_OK(
        config_set(&config, "net.replay=tcp://a:1 , tcp://b:20,ipc://c", message, sizeof(message)));
    assert_int_equal(config_shards(&config), 3);
    assert_true(config_shard_capacity(&config) == 33334);
    static const char *const want[] = {"tcp://a:1", "tcp://b:20", "ipc://c", ""};
    for (uint32_t i = 0; i < OCT_COUNTOF(want); i++) {
        config_replay_address(&config, i, text);
        assert_string_equal(text, want[i]);
    }
    static const char *const names[][2] = {{"replay.oct", "replay-2.oct"},
                                           {"ipc://replay.ipc", "ipc://replay-2.ipc"},
                                           {"replay", "replay-2"},
                                           {"a.b/table", "a.b/table-2"},
                                           {"a.b/.table", "a.b/.table-2"}};
    for (uint32_t i = 0; i < OCT_COUNTOF(names); i++) {
        config_shard_name(names[i][0], 0, text, sizeof(text));
        assert_string_equal(text, names[i][0]);
        config_shard_name(names[i][0], 2, text, sizeof(text));
        assert_string_equal(text, names[i][1]);
    }
}

#define EXTERNAL_LACKS                                                                             \
    "external learns in its own process, which chooses the initial weights and the layers "        \
    "that learn"

static void
test_frozen_layers_are_layers_of_the_policy(void **state)
{
    (void)state;
    assert_check("learner.freeze=[0,1]", "");
    assert_check("learner.freeze=[3]",
                 "error: learner.freeze: there is no layer 3; the policy has layers 0 to 2 "
                 "(the hidden layers and the output layer)\n");
    assert_check(
        "learner.freeze=[0,2,1,0]",
        "error: learner.freeze: lists all 3 layers of the policy, so nothing would learn\n");
    assert_check("network.conv=[16];learner.freeze=[0,1,2]", "");
    assert_check("network.layers=[dense 8, dense 8, dense 8];learner.freeze=[0,1,2]", "");
    assert_check("network.layers=[dense 8];learner.freeze=[2]",
                 "error: learner.freeze: there is no layer 2; the policy has layers 0 to 1 "
                 "(the hidden layers and the output layer)\n");
    assert_check("algo.name=table;algo.sequence_steps=16;learner.freeze=[0]",
                 "error: learner.freeze: names layer 0, but algo.name: a table has no layers; "
                 "allowed is []\n");
    assert_check(
        "algo.name=table;algo.sequence_steps=16;learner.init_from=run",
        "error: learner.init_from: 'run', but algo.name: a table has no layers; allowed is none\n");
    assert_check(
        "algo.name=external;learner.init_from=run;learner.freeze=[1]",
        "error: learner.init_from: 'run', but algo.name: " EXTERNAL_LACKS "; allowed is none\n"
        "error: learner.freeze: names layer 1, but algo.name: " EXTERNAL_LACKS "; allowed is []\n");
}

// A data set alone is there from the start, and as large as it is.
static void
test_a_data_set_alone_needs_no_room_and_no_steps(void **state)
{
    (void)state;
    assert_check("replay.data=pole.data;run.updates=1;run.env_steps=500", "");
    assert_check("replay.data=pole.data;run.updates=1;replay.capacity=100", "");
    assert_check("replay.data=pole.data;run.updates=1;replay.min_size=300000", "");
    assert_check("replay.data=pole.data;run.updates=1;learner.batch_size=65536;"
                 "learner.batches_per_request=17",
                 "error: learner.batches_per_request: 17 batches of learner.batch_size 65536 "
                 "exceed the 1048576 windows that a reply of replay can hold\n");
    assert_check("replay.data=pole.data;replay.data_share=0.5;run.env_steps=500",
                 "error: run.env_steps: 500 is less than replay.min_size 1000: nothing would be "
                 "learned\n");
}

static void
test_no_file_is_none(void **state)
{
    (void)state;
    assert_check("replay.path=''",
                 "error: replay.path: \"\" is not a file name; allowed are a file name and none\n");
    assert_check(
        "learner.init_from=''",
        "error: learner.init_from: \"\" is not a file name; allowed are a file name and none\n");
}

static void
test_equal_values_are_allowed(void **state)
{
    (void)state;
    assert_check("policy.scale=tensor;policy.precision=int8", "");
    assert_check("policy.scale=row;policy.precision=int4", "");
    assert_check("", "");
    assert_check("replay.capacity=1000;run.env_steps=1000;evaluation.screen_episodes=100;"
                 "learner.batch_size=1000",
                 "");
    assert_check("replay.capacity=65536;learner.batch_size=65536;learner.batches_per_request=16",
                 "");
}

// A preset's keys all have an effect.
static bool
has_idle(const config_experiment *config)
{
    config_warn_idle(config, config, message, sizeof(message));
    return message[0] != 0;
}

// A program of one's own may stand in for its algorithm: what is left of that has an effect with
// one window or another.
static void
assert_external(config_experiment *config, const char *path)
{
    static char names[4096];
    config_algo_name before = config->algo.name;
    T_OK(config_set(config, "algo.name=external", message, sizeof(message)));
    config_forget_unread(config, before, names, sizeof(names));
    bool is_sound = config_check(config, message, sizeof(message)) == OCT_OK;
    if (!is_sound || (has_idle(config) && strstr(message, "with algo.name") != NULL)) {
        fail_msg("%s: %s", path, message);
    }
}

static void
test_options_of_an_algorithm_go_with_it(void **state)
{
    (void)state;
    static char names[4096];
    static const char text[] =
        "env: {id: CartPole-v1}\nnetwork: {critic_hidden: [8, 8], hidden: [8]}\n"
        "algo: {name: ppo, clip: 0.3, scale_rewards: true, discount: 0.5}\n";
    config_experiment config;
    config_default(&config);
    T_OK(config_parse(&config, "ppo", text, strlen(text), message, sizeof(message)));
    T_OK(config_set(&config, "algo.name=external", message, sizeof(message)));
    config_forget_unread(&config, CONFIG_ALGO_PPO, names, sizeof(names));
    assert_string_equal(names, "network.critic_hidden, algo.clip, algo.scale_rewards");
    assert_true(!config.algo.scale_rewards && config.algo.clip == 0.2);
    assert_int_equal(config.network.critic_hidden.count, 0);
    assert_true(config.network.hidden.count == 1 && config.algo.discount == 0.5);
    config_forget_unread(&config, CONFIG_ALGO_PPO, names, sizeof(names));
    assert_string_equal(names, "");
}

static size_t preset_counts[CONFIG_KEYS]; // presets that set a key

// Checks the presets in folder (PRESETS of the source tree) and in the folders below it. Returns
// their count.
static unsigned
check_presets(const char *folder, int floors)
{
    unsigned count = 0;
    DIR *opened = opendir(folder);
    assert_non_null(opened);
    for (struct dirent *entry = readdir(opened); entry != NULL; entry = readdir(opened)) {
        config_experiment config;
        char path[1024];
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "goals.csv") == 0) {
            continue;
        }
        int length = snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        assert_true(length > 0 && (size_t)length < sizeof(path));
        if (strstr(entry->d_name, ".yaml") == NULL) {
            assert_true(floors > 0);
            count += check_presets(path, floors - 1);
            continue;
        }
        config_default(&config);
        if (config_load(&config, path, message, sizeof(message)) != OCT_OK ||
            config_check(&config, message, sizeof(message)) != OCT_OK || has_idle(&config)) {
            fail_msg("%s: %s", path, message);
        }
        for (size_t i = 0; i < CONFIG_KEYS; i++) {
            preset_counts[i] += config.is_given[i];
        }
        assert_external(&config, path);
        count++;
    }
    (void)closedir(opened);
    return count;
}

static void
test_every_preset_is_a_sound_experiment(void **state)
{
    (void)state;
    assert_true(check_presets(PRESETS, 1) >= 30);
}

// Of the keys that ten presets set or more, only those that tune messages and reports are advanced.
static void
test_keys_that_many_presets_set_are_basic(void **state)
{
    (void)state;
    static const char tuning[] = "actor.batch_steps actor.report_s learner.batches_per_request "
                                 "learner.metrics_s learner.prefetch learner.publish_s_min";
    memset(preset_counts, 0, sizeof(preset_counts));
    assert_true(check_presets(PRESETS, 1) >= 30);
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        const config_key *key = &config_keys[i];
        bool is_tuning = config_word_is_among(tuning, key->name, strlen(key->name));
        if (preset_counts[i] >= 10 && key->is_basic == is_tuning) {
            fail_msg("%s: %zu presets set it", key->name, preset_counts[i]);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_targets_belong_to_what_learns_values),
        cmocka_unit_test(test_blocks_of_critics_have_one_width),
        cmocka_unit_test(test_an_environment_is_required),
        cmocka_unit_test(test_repeated_actions_count_as_steps_of_the_environment),
        cmocka_unit_test(test_what_comes_once_has_no_least_number),
        cmocka_unit_test(test_atoms_need_a_range_in_single_precision),
        cmocka_unit_test(test_rows_of_rollouts_suffice_for_their_steps),
        cmocka_unit_test(test_a_budget_too_small_for_one_batch_is_refused),
        cmocka_unit_test(test_a_sound_daemon_has_time_to_beat),
        cmocka_unit_test(test_keys_that_contradict_each_other_are_refused),
        cmocka_unit_test(test_layers_stand_in_one_list),
        cmocka_unit_test(test_words_of_a_network),
        cmocka_unit_test(test_an_average_that_nobody_may_act_with_is_refused),
        cmocka_unit_test(test_options_that_are_no_pairs_are_refused),
        cmocka_unit_test(test_every_contradiction_is_told_at_once),
        cmocka_unit_test(test_shards_are_refused_where_there_is_one_table),
        cmocka_unit_test(test_addresses_of_replay_have_a_longest),
        cmocka_unit_test(test_shards_have_addresses_and_names),
        cmocka_unit_test(test_frozen_layers_are_layers_of_the_policy),
        cmocka_unit_test(test_a_data_set_alone_needs_no_room_and_no_steps),
        cmocka_unit_test(test_no_file_is_none),
        cmocka_unit_test(test_equal_values_are_allowed),
        cmocka_unit_test(test_options_of_an_algorithm_go_with_it),
        cmocka_unit_test(test_every_preset_is_a_sound_experiment),
        cmocka_unit_test(test_keys_that_many_presets_set_are_basic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
