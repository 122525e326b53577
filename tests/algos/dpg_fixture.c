// Small experiments and batches for the tests of D4PG, DDPG, TD3 and SAC.
#include "tests/algos/dpg_fixture.h"

#include <stdlib.h>

#include "nn/nn_net.h"
#include "tests/support/oct_test.h"

enum { RNG_BYTES = 16, TEMPERATURE_BYTES = 8 + 3 * 4 };

config_experiment
dpg_fixture_config(config_algo_name name)
{
    config_experiment config = fixture_config();
    config.network.activation = POLICY_ELU;
    config.algo.name = name;
    config.algo.atoms = 21;
    config.algo.value_min = -10;
    config.algo.value_max = 10;
    config.algo.critic_learning_rate = config.algo.learning_rate;
    config.algo.critic_learning_rate_is_same = true;
    config.algo.target_noise = 0.2;
    config.algo.target_noise_clip = 0.5;
    config.algo.temperature = NAN;
    config.algo.initial_temperature = 1;
    config.algo.target_entropy = NAN;
    return config;
}

config_experiment
dpg_fixture_method(size_t number)
{
    static const config_algo_name names[DPG_FIXTURE_NAMES] = {CONFIG_ALGO_D4PG, CONFIG_ALGO_DDPG,
                                                              CONFIG_ALGO_TD3, CONFIG_ALGO_SAC};
    static const uint32_t others[DPG_FIXTURE_NAMES] = {2, 2, 1, 1};
    size_t at = number % DPG_FIXTURE_NAMES;
    config_experiment config = dpg_fixture_config(names[at]);
    config.algo.critics = number / DPG_FIXTURE_NAMES == 1 ? others[at] : 0;
    if (number / DPG_FIXTURE_NAMES == 2) {
        config.network.critic_residual = true;
        config.network.critic_hidden = (config_ints){.count = 3, .value = {8, 8, 8}};
    }
    config.algo.normalise_observations = number / DPG_FIXTURE_NAMES == 3;
    return config;
}

algo *
dpg_fixture_algo(policy_spec *spec, const config_experiment *config, uint32_t obs_count,
                 uint32_t dim, uint64_t seed)
{
    *spec = fixture_box_env(obs_count, dim);
    return fixture_create(spec, config, seed);
}

algo_batch
dpg_fixture_batch(oct_rng *rng, uint32_t B, uint32_t obs_count, uint32_t dim)
{
    algo_batch batch = fixture_batch(rng, B, obs_count, 1);
    float *action = oct_alloc((size_t)B * dim * sizeof(*action));
    for (size_t i = 0; i < (size_t)B * dim; i++) {
        action[i] = -2.0f + 4.0f * oct_rng_float(rng);
    }
    free((void *)batch.action);
    batch.action = action;
    return batch;
}

policy_spec
dpg_fixture_critic(const config_experiment *config, const policy_spec *policy)
{
    const config_ints *hidden = config->network.critic_hidden.count > 0
                                    ? &config->network.critic_hidden
                                    : &config->network.hidden;
    bool categorical = config->algo.name == CONFIG_ALGO_D4PG;
    policy_spec spec = {
        .env_id = "critic",
        .obs_dtype = POLICY_F32,
        .obs_count = policy->obs_count + policy->action_count,
        .action_kind = POLICY_DISCRETE,
        .action_count = 1,
        .head = categorical ? POLICY_HEAD_ATOMS : POLICY_HEAD_VALUES,
        .atoms = categorical ? config->algo.atoms : 0,
        .value_min = (float)config->algo.value_min,
        .value_max = (float)config->algo.value_max,
    };
    bool residual = config->network.critic_residual;
    T_OK(policy_spec_set_mlp(&spec, hidden->value, hidden->count, POLICY_ELU,
                             config->network.first_layer_norm && !residual,
                             categorical ? config->algo.atoms : 1));
    if (residual) {
        T_OK(nn_net_make_residual(&spec));
    }
    return spec;
}

uint32_t
dpg_fixture_nets(const config_experiment *config)
{
    bool is_td3_or_sac =
        config->algo.name == CONFIG_ALGO_TD3 || config->algo.name == CONFIG_ALGO_SAC;
    return 1 + (config->algo.critics > 0 ? config->algo.critics : is_td3_or_sac ? 2 : 1);
}

bool
dpg_fixture_has_part(const config_experiment *config, uint32_t net, fixture_part part)
{
    return config->algo.name != CONFIG_ALGO_SAC || net > 0 || part != FIXTURE_TARGET;
}

// A saved trainer and its target: shape, params, steps, two moments; shape, params.
static size_t
net_bytes(const policy_spec *spec, bool has_target)
{
    size_t shape = 4 + (size_t)spec->layer_count * 10, params = policy_spec_params(spec);
    return shape + 8 + 3 * params * sizeof(float) +
           (has_target ? shape + params * sizeof(float) : 0);
}

size_t
dpg_fixture_temperature_at(void)
{
    return FIXTURE_HEADER_BYTES + RNG_BYTES;
}

size_t
dpg_fixture_part_at(const config_experiment *config, const policy_spec *policy, uint32_t net,
                    fixture_part part)
{
    size_t ahead = RNG_BYTES + (config->algo.name == CONFIG_ALGO_SAC ? TEMPERATURE_BYTES : 0);
    assert_true(dpg_fixture_has_part(config, net, part));
    if (net == 0) {
        return ahead + fixture_part_at(policy, part);
    }
    policy_spec critic = dpg_fixture_critic(config, policy);
    return ahead + net_bytes(policy, dpg_fixture_has_part(config, 0, FIXTURE_TARGET)) +
           (net - 1) * net_bytes(&critic, true) + fixture_part_at(&critic, part);
}

float *
dpg_fixture_part(const algo *a, const config_experiment *config, const policy_spec *policy,
                 uint32_t net, fixture_part part, size_t *count)
{
    size_t length;
    policy_spec critic = dpg_fixture_critic(config, policy);
    uint8_t *bytes = fixture_save(a, &length);
    *count = policy_spec_params(net == 0 ? policy : &critic);
    float *out = oct_alloc(*count * sizeof(*out));
    memcpy(out, bytes + dpg_fixture_part_at(config, policy, net, part), *count * sizeof(*out));
    free(bytes);
    return out;
}
