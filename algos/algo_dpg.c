// D4PG (Barth-Maron et al. 2018), DDPG (Lillicrap et al. 2016) and TD3 (Fujimoto et al. 2018), as
// three rows of one table: making, saving and loading them. algo_dpg_update.c has the update.
#include "algos/algo_dpg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_text.h"

#define INIT_STREAM  0x6470u // of the seed, for the first weights
#define NOISE_STREAM 0x6e64u // and for the noise on target actions

// The policy's last layer begins at this share of the others' deviation (Acme: variance 1e-4), so
// that the first actions are near the middle and tanh is not saturated.
#define LAST_LAYER_SHARE 0.01f

static const dpg_variant variants[] = {
    [OCT_ALGO_D4PG] = {.ops = &algo_d4pg_ops,
                       .categorical = true,
                       .critics = 1,
                       .policy_at_next = true,
                       .policy_delay = 1},
    [OCT_ALGO_DDPG] = {.ops = &algo_ddpg_ops, .critics = 1, .policy_delay = 1},
    [OCT_ALGO_TD3] = {.ops = &algo_td3_ops, .critics = 2, .target_noise = true, .policy_delay = 2},
};

static const dpg_variant *
variant_of(const oct_config *config)
{
    size_t index = (size_t)config->algo.name;
    OCT_ASSERT(index < OCT_COUNTOF(variants) && variants[index].ops != NULL);
    return &variants[index];
}

// Of a critic: four of its arrays go into a checkpoint, and nobody means more.
#define CRITIC_PARAMS_MAX (1u << 28)

// The critics' network: [obs, action] to one value, or to atoms of one.
static oct_err
critic_make_spec(const oct_config *config, const policy_spec *policy, policy_spec *spec,
                 char *reason, size_t reason_size)
{
    bool categorical = variant_of(config)->categorical;
    const oct_config_ints *hidden = config->network.critic_hidden.count > 0
                                        ? &config->network.critic_hidden
                                        : &config->network.hidden;
    *spec = (policy_spec){
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
    OCT_TRY(policy_spec_set_mlp(spec, hidden->value, hidden->count, algo_activation(config),
                                config->network.first_layer_norm,
                                categorical ? config->algo.atoms : 1));
    OCT_TRY(policy_spec_check(spec, reason, reason_size));
    if (policy_spec_params(spec) > CRITIC_PARAMS_MAX) {
        return oct_refuse(reason, reason_size,
                          "a critic of %zu parameters is more than one may have (%u): make "
                          "network.critic_hidden smaller",
                          policy_spec_params(spec), CRITIC_PARAMS_MAX);
    }
    return OCT_OK;
}

static oct_err
dpg_make_spec(const oct_config *config, policy_spec *spec, algo_wants *wants, char *reason,
              size_t reason_size)
{
    (void)wants; // n-step windows
    const char *name = variant_of(config)->ops->name;
    if (spec->action_kind != POLICY_BOX) {
        return oct_refuse(reason, reason_size,
                          "%s needs actions in a box; %.100s has %u discrete ones: algo.name: dqn",
                          name, spec->env_id, spec->action_count);
    }
    if (config->network.conv.count > 0) {
        return oct_refuse(reason, reason_size, "%s has no convolutions: set network.conv: []",
                          name);
    }
    spec->head = POLICY_HEAD_TANH;
    spec->atoms = 0;
    spec->normalise = false;
    OCT_TRY(policy_spec_set_mlp(spec, config->network.hidden.value, config->network.hidden.count,
                                algo_activation(config), config->network.first_layer_norm,
                                spec->action_count));
    OCT_TRY(policy_spec_check(spec, reason, reason_size));
    policy_spec critic;
    return critic_make_spec(config, spec, &critic, reason, reason_size);
}

static void
dpg_configure(algo_dpg *dpg, const oct_config *config, const policy_spec *spec)
{
    dpg->variant = variant_of(config);
    dpg->base.ops = dpg->variant->ops;
    dpg->rows_max = config->learner.batch_size;
    dpg->obs_count = spec->obs_count;
    dpg->action_count = spec->action_count;
    dpg->critic_outputs = dpg->variant->categorical ? config->algo.atoms : 1;
    dpg->support = (nn_support){.low = (float)config->algo.value_min,
                                .high = (float)config->algo.value_max,
                                .N = config->algo.atoms};
    for (uint32_t i = 0; i < spec->action_count; i++) {
        dpg->low[i] = spec->action_low[i];
        dpg->per_unit[i] = 2.0f / (spec->action_high[i] - spec->action_low[i]);
    }
    dpg->grad_norm_max = (float)config->algo.grad_norm_max;
    dpg->action_grad_norm_max = (float)config->algo.action_grad_norm_max;
    dpg->critic_rate_ratio =
        config->algo.critic_learning_rate_is_same
            ? 1.0f
            : (float)(config->algo.critic_learning_rate / config->algo.learning_rate);
    dpg->policy_delay =
        config->algo.policy_delay > 0 ? config->algo.policy_delay : dpg->variant->policy_delay;
    dpg->target_period = config->algo.target_period;
    dpg->target_rate = (float)config->algo.target_rate;
    dpg->noise = (float)config->algo.target_noise;
    dpg->noise_clip = (float)config->algo.target_noise_clip;
}

static void
dpg_reserve(algo_dpg *dpg)
{
    size_t rows = dpg->rows_max;
    size_t actions = rows * dpg->action_count;
    size_t joined = rows * (dpg->obs_count + dpg->action_count);
    size_t outputs = rows * dpg->critic_outputs;
    dpg->taken = oct_alloc(actions * sizeof(float));
    dpg->action = oct_alloc(actions * sizeof(float));
    dpg->daction = oct_alloc(actions * sizeof(float));
    dpg->joined = oct_alloc(joined * sizeof(float));
    dpg->dvalue = oct_alloc(actions * sizeof(float));
    dpg->td_target = oct_alloc(outputs * sizeof(float));
    dpg->p = oct_alloc(outputs * sizeof(float));
    dpg->dy = oct_alloc(outputs * sizeof(float));
    dpg->log_total = oct_alloc(rows * sizeof(float));
    dpg->td_target_mean = oct_alloc(rows * sizeof(float));
    dpg->mean = oct_alloc(rows * sizeof(float));
    dpg->loss = oct_alloc(rows * sizeof(float));
    dpg->error = oct_alloc(rows * sizeof(float));
    dpg->priority = oct_alloc(rows * sizeof(float));
}

static void
dpg_randomise(algo_dpg *dpg, uint64_t seed)
{
    oct_rng rng;
    oct_rng_init(&rng, seed, INIT_STREAM);
    nn_net *policy = &dpg->policy.tape.net;
    nn_net_randomise(policy, &rng);
    const nn_layer *last = &policy->layers[policy->layer_count - 1];
    for (size_t i = last->at.weight; i < last->at.bias; i++) {
        policy->params[i] *= LAST_LAYER_SHARE;
    }
    nn_net_polyak(&dpg->policy_target, policy, 1.0f);
    for (uint32_t c = 0; c < dpg->variant->critics; c++) {
        nn_net_randomise(&dpg->critics[c].online.tape.net, &rng);
        nn_net_polyak(&dpg->critics[c].target, &dpg->critics[c].online.tape.net, 1.0f);
    }
    oct_rng_init(&dpg->rng, seed, NOISE_STREAM);
}

static oct_err
dpg_create(algo **out, nn_context *context, const oct_config *config, const policy_spec *spec,
           uint64_t seed)
{
    policy_spec critic;
    if (policy_spec_check(spec, NULL, 0) != OCT_OK || spec->head != POLICY_HEAD_TANH ||
        config->learner.batch_size < 1 || config->algo.target_period < 1 ||
        critic_make_spec(config, spec, &critic, NULL, 0) != OCT_OK) {
        return OCT_EINVAL;
    }
    algo_dpg *dpg = oct_alloc(sizeof(*dpg));
    dpg_configure(dpg, config, spec);
    dpg_reserve(dpg);
    nn_adam adam = {
        .beta1 = (float)config->algo.adam_beta1,
        .beta2 = (float)config->algo.adam_beta2,
        .epsilon = (float)config->algo.adam_epsilon,
    };
    nn_trainer_init(&dpg->policy, context, spec, dpg->rows_max, &adam);
    nn_net_init(&dpg->policy_target, context, spec, dpg->rows_max);
    for (uint32_t c = 0; c < dpg->variant->critics; c++) {
        nn_trainer_init(&dpg->critics[c].online, context, &critic, dpg->rows_max, &adam);
        nn_net_init(&dpg->critics[c].target, context, &critic, dpg->rows_max);
    }
    dpg_randomise(dpg, seed);
    *out = &dpg->base;
    return OCT_OK;
}

static void
dpg_destroy(algo *a)
{
    algo_dpg *dpg = (algo_dpg *)a;
    nn_trainer_fini(&dpg->policy);
    nn_net_fini(&dpg->policy_target);
    for (uint32_t c = 0; c < dpg->variant->critics; c++) {
        nn_trainer_fini(&dpg->critics[c].online);
        nn_net_fini(&dpg->critics[c].target);
    }
    float *blocks[] = {dpg->policy_weights,
                       dpg->target_weights,
                       dpg->taken,
                       dpg->action,
                       dpg->daction,
                       dpg->joined,
                       dpg->dvalue,
                       dpg->td_target,
                       dpg->p,
                       dpg->log_total,
                       dpg->dy,
                       dpg->td_target_mean,
                       dpg->mean,
                       dpg->loss,
                       dpg->error,
                       dpg->priority};
    for (size_t i = 0; i < OCT_COUNTOF(blocks); i++) {
        free(blocks[i]);
    }
    free(dpg);
}

void
algo_dpg_policy_changed(algo_dpg *dpg)
{
    if (dpg->projection.project != NULL) {
        dpg->projection.project(dpg->projection.arg, dpg->policy.tape.net.params,
                                dpg->policy_weights);
    }
}

void
algo_dpg_target_changed(algo_dpg *dpg)
{
    nn_net_changed(&dpg->policy_target);
    for (uint32_t c = 0; c < dpg->variant->critics; c++) {
        nn_net_changed(&dpg->critics[c].target);
    }
    if (dpg->projection.project != NULL) {
        dpg->projection.project(dpg->projection.arg, dpg->policy_target.params,
                                dpg->target_weights);
    }
}

static void
dpg_set_projection(algo *a, const algo_projection *projection)
{
    algo_dpg *dpg = (algo_dpg *)a;
    OCT_ASSERT(dpg->projection.project == NULL);
    dpg->projection = *projection;
    size_t bytes = dpg->policy_target.param_count * sizeof(float);
    dpg->policy_weights = oct_alloc(bytes);
    dpg->target_weights = oct_alloc(bytes);
    dpg->policy.tape.net.weights = dpg->policy_weights;
    dpg->policy_target.weights = dpg->target_weights;
    algo_dpg_policy_changed(dpg);
    algo_dpg_target_changed(dpg);
}

static const float *
dpg_policy_params(const algo *a)
{
    return ((const algo_dpg *)a)->policy.tape.net.params;
}

static void
dpg_save(const algo *a, oct_writer *writer)
{
    const algo_dpg *dpg = (const algo_dpg *)a;
    oct_write_u64(writer, dpg->rng.state);
    oct_write_u64(writer, dpg->rng.stream);
    nn_trainer_save(&dpg->policy, writer);
    nn_net_save(&dpg->policy_target, writer);
    for (uint32_t c = 0; c < dpg->variant->critics; c++) {
        nn_trainer_save(&dpg->critics[c].online, writer);
        nn_net_save(&dpg->critics[c].target, writer);
    }
    if (dpg->variant->categorical) {
        nn_support_save(&dpg->support, writer);
    }
}

static oct_err
dpg_load(algo *a, oct_reader *reader)
{
    algo_dpg *dpg = (algo_dpg *)a;
    nn_trainer_view policy, online[DPG_CRITICS_MAX];
    nn_net_view policy_target, target[DPG_CRITICS_MAX];
    oct_rng rng = {.state = oct_read_u64(reader)};
    rng.stream = oct_read_u64(reader);
    OCT_TRY(nn_trainer_read(&policy, &dpg->policy, reader));
    OCT_TRY(nn_net_read(&policy_target, &dpg->policy_target, reader));
    for (uint32_t c = 0; c < dpg->variant->critics; c++) {
        OCT_TRY(nn_trainer_read(&online[c], &dpg->critics[c].online, reader));
        OCT_TRY(nn_net_read(&target[c], &dpg->critics[c].target, reader));
    }
    if (dpg->variant->categorical) {
        OCT_TRY(nn_support_check(&dpg->support, reader));
    }
    if (reader->left != 0 || rng.stream % 2 == 0) {
        return OCT_EPROTO; // PCG's streams are odd
    }
    dpg->rng = rng;
    nn_trainer_apply(&dpg->policy, &policy);
    nn_net_apply(&dpg->policy_target, &policy_target);
    for (uint32_t c = 0; c < dpg->variant->critics; c++) {
        nn_trainer_apply(&dpg->critics[c].online, &online[c]);
        nn_net_apply(&dpg->critics[c].target, &target[c]);
    }
    algo_dpg_policy_changed(dpg);
    algo_dpg_target_changed(dpg);
    return OCT_OK;
}

#define DPG_OPS(text)                                                                              \
    {                                                                                              \
        .name = (text), .numbers = algo_value_numbers, .number_count = ALGO_VALUE_NUMBERS,         \
        .make_spec = dpg_make_spec, .create = dpg_create, .destroy = dpg_destroy,                  \
        .update = algo_dpg_update, .set_projection = dpg_set_projection,                           \
        .policy_params = dpg_policy_params, .save = dpg_save, .load = dpg_load,                    \
    }
const algo_ops algo_d4pg_ops = DPG_OPS("d4pg");
const algo_ops algo_ddpg_ops = DPG_OPS("ddpg");
const algo_ops algo_td3_ops = DPG_OPS("td3");
