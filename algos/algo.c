// The table of learning algorithms, and what they share: layers of networks, checks, saving and
// loading.
#include "algos/algo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/algo_ops.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "config/config.h"
#include "nn/nn_vec.h"

// A saved state: magic, version (see state_version), name, updates, length of the body, body,
// CRC-32C of everything before it.
#define STATE_MAGIC      0x41544353u // "SCTA"
#define STATE_VERSION    1u
#define STATE_NAME_BYTES 16 // padded with zeros

#define LAST_LAYER_SHARE 0.01f // of the other layers' deviation

static const algo_ops *const algorithms[] = {
    [CONFIG_ALGO_DQN] = &algo_dqn_ops,
    [CONFIG_ALGO_D4PG] = &algo_d4pg_ops,
    [CONFIG_ALGO_DDPG] = &algo_ddpg_ops,
    [CONFIG_ALGO_TD3] = &algo_td3_ops,
    [CONFIG_ALGO_REINFORCE] = &algo_reinforce_ops,
    [CONFIG_ALGO_SAC] = &algo_sac_ops,
    [CONFIG_ALGO_TABLE] = &algo_table_ops,
    [CONFIG_ALGO_PPO] = &algo_ppo_ops,
    [CONFIG_ALGO_A2C] = &algo_a2c_ops,
    [CONFIG_ALGO_VTRACE] = &algo_vtrace_ops,
    [CONFIG_ALGO_TRPO] = &algo_trpo_ops,
    [CONFIG_ALGO_EXTERNAL] = &algo_external_ops,
};

const algo_number algo_value_numbers[ALGO_VALUE_NUMBERS] = {ALGO_VALUE_ROWS};

static const algo_ops *
find(const config_experiment *config)
{
    size_t index = (size_t)config->algo.name;
    OCT_ASSERT(index < OCT_COUNTOF(algorithms));
    return algorithms[index];
}

bool
algo_all_finite(const float *x, size_t n)
{
    return isfinite(nn_vec()->sum_of_squares(x, n));
}

bool
algo_numbers_finite(const float *numbers, size_t n)
{
    bool finite = true;
    for (size_t i = 0; i < n; i++) {
        finite &= isfinite(numbers[i]) != 0;
    }
    return finite;
}

oct_err
algo_agree(const algo *a, oct_err err)
{
    int32_t own = (int32_t)err, all[GROUP_SIZE_MAX];
    group_gather_all(a->group, &own, all, sizeof(own));
    for (uint32_t r = 0; r < group_size(a->group); r++) {
        own = OCT_MAX(own, all[r]);
    }
    return (oct_err)own;
}

void
algo_mean(const algo *a, float *numbers, size_t count)
{
    double sums[ALGO_NUMBERS_MAX];
    OCT_ASSERT(count <= ALGO_NUMBERS_MAX);
    for (size_t i = 0; i < count; i++) {
        sums[i] = (double)numbers[i];
    }
    group_sum(a->group, sums, count);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = (float)(sums[i] / group_size(a->group));
    }
}

nn_adam
algo_adam(const config_experiment *config)
{
    return (nn_adam){
        .beta1 = (float)config->algo.adam_beta1,
        .beta2 = (float)config->algo.adam_beta2,
        .epsilon = (float)config->algo.adam_epsilon,
    };
}

void
algo_randomise_policy(nn_net *policy, oct_rng *rng)
{
    nn_net_randomise(policy, rng);
    const nn_layer *last = &policy->layers[policy->layer_count - 1];
    for (size_t i = last->at.weight; i < last->at.bias; i++) {
        policy->params[i] *= LAST_LAYER_SHARE;
    }
}

oct_err
algo_make_layers(const config_experiment *config, const policy_words *words, policy_spec *spec,
                 uint32_t outputs, oct_reason *reason)
{
    oct_reason why = {""};
    oct_err err = policy_spec_set_words(spec, words, config->network.activation, outputs, &why);
    if (err != OCT_OK) {
        oct_reason_set(reason, "network.%s: %s",
                       config->network.layers[0] != 0   ? "layers"
                       : config->network.conv.count > 0 ? "conv"
                                                        : "hidden",
                       why.text);
    }
    return err;
}

oct_err
algo_make_spec(const config_experiment *config, policy_spec *spec, algo_wants *wants,
               oct_reason *why)
{
    algo_wants unused;
    wants = wants != NULL ? wants : &unused;
    *wants = (algo_wants){.window = ALGO_WINDOW_N_STEP, .steps = config_n_step(config)};
    if (config->learner.count > 1 && !find(config)->splits) {
        return oct_refuse(why, "learner.count: algo.name %s allows only one learner, not %u",
                          find(config)->name, config->learner.count);
    }
    if (config->learner.count > 1 && config->learner.asynchronous && find(config)->share == NULL) {
        return oct_refuse(why,
                          "learner.asynchronous: algo.name %s cannot learn asynchronously: its "
                          "update is more than one gradient, or its actors wait for each version",
                          find(config)->name);
    }
    oct_err err = find(config)->make_spec(config, spec, wants, why);
    wants->each_once = config_takes_each_once(config);
    return err;
}

// Freezes the layers of learner.freeze. OCT_EINVAL: the policy does not have one of them.
static oct_err
layers_freeze(algo *a, const config_experiment *config)
{
    const config_ints *freeze = &config->learner.freeze;
    algo_network networks[ALGO_NETWORKS_MAX];
    uint32_t layers = 0;
    if (freeze->count == 0) {
        return OCT_OK;
    }
    if (a->ops->networks == NULL || a->ops->networks(a, networks) < 1) {
        return OCT_EINVAL;
    }
    for (uint32_t i = 0; i < freeze->count; i++) {
        if (freeze->value[i] >= networks[0].net->layer_count) {
            return OCT_EINVAL;
        }
        layers |= 1u << freeze->value[i];
    }
    nn_trainer_freeze(networks[0].trainer, layers);
    return OCT_OK;
}

oct_err
algo_create(algo **out, nn_context *context, const config_experiment *config,
            const policy_spec *spec, uint64_t seed)
{
    nn_context *own = context == NULL ? nn_context_create(NULL) : NULL;
    *out = NULL;
    oct_err err = find(config)->create(out, context == NULL ? own : context, config, spec, seed);
    if (err != OCT_OK) {
        nn_context_destroy(own);
        return err;
    }
    (*out)->own_context = own;
    (*out)->group = nn_context_group(context == NULL ? own : context);
    algo_bytes_init(&(*out)->bytes, context == NULL ? own : context, spec);
    err = layers_freeze(*out, config);
    if (err != OCT_OK) {
        algo_destroy(*out);
        *out = NULL;
    }
    return err;
}

void
algo_destroy(algo *a)
{
    if (a != NULL) {
        nn_context *own = a->own_context;
        free(a->sharing);
        algo_bytes_fini(&a->bytes);
        a->ops->destroy(a);
        nn_context_destroy(own);
    }
}

nn_context_options
algo_context_options(const config_experiment *config, group *members)
{
    return (nn_context_options){.threads = config->learner.threads,
                                .bf16 = config->learner.bf16,
                                .exact = config->run.deterministic,
                                .group = members};
}

oct_err
algo_measure(algo_memory *out, const nn_context_options *like, const config_experiment *config,
             const policy_spec *spec)
{
    algo *a;
    oct_writer state = {0};
    nn_context_options options = *like;
    options.measures = true;
    nn_context *context = nn_context_create(&options);
    oct_err err = algo_create(&a, context, config, spec, config->run.seed);
    if (err == OCT_OK) {
        algo_save(a, &state);
        *out = (algo_memory){.bytes = nn_context_bytes(context), .state_bytes = state.used};
        algo_destroy(a);
    }
    nn_context_destroy(context);
    return err;
}

oct_err
algo_update(algo *a, const algo_batch *batch, float learning_rate, float *priorities,
            float *numbers)
{
    if (a->ops->update != NULL) {
        return a->ops->update(a, batch, learning_rate, priorities, numbers);
    }
    OCT_TRY(algo_gradient(a, batch, priorities, numbers));
    algo_apply(a, learning_rate);
    return OCT_OK;
}

oct_err
algo_gradient(algo *a, const algo_batch *batch, float *priorities, float *numbers)
{
    algo_turn_take(a);
    return a->ops->gradient(a, batch, priorities, numbers);
}

const algo_number *
algo_numbers(const config_experiment *config, uint32_t *count)
{
    *count = find(config)->number_count;
    return find(config)->numbers;
}

uint64_t
algo_updates(const algo *a)
{
    return a->updates;
}

void
algo_set_projection(algo *a, const algo_projection *projection)
{
    OCT_ASSERT(projection->project != NULL && a->ops->set_projection != NULL);
    const algo_projection of_rows = algo_bytes_projection(&a->bytes, projection);
    a->ops->set_projection(a, &of_rows);
}

// Saves and loads the state, because loading computes everything that depends on parameters.
void
algo_renew(algo *a)
{
    oct_writer measure = {0};
    algo_save(a, &measure);
    uint8_t *state = oct_alloc(measure.used);
    oct_writer writer = {.base = state, .capacity = measure.used};
    algo_save(a, &writer);
    oct_reader reader = {.at = state, .left = writer.used};
    oct_err err = algo_load(a, &reader);
    OCT_ASSERT(!writer.failed && err == OCT_OK);
    free(state);
}

const float *
algo_policy_params(const algo *a)
{
    return algo_bytes_raw(&a->bytes, a->ops->policy_params(a));
}

const float *
algo_behaviour_params(algo *a, uint32_t sample)
{
    return a->ops->behaviour_params != NULL
               ? algo_bytes_raw(&a->bytes, a->ops->behaviour_params(a, sample))
               : NULL;
}

// STATE_VERSION, and in the upper half log2 of the number that observations of bytes are divided
// by: with another number the same parameters are a different function.
static uint32_t
state_version(const algo *a)
{
    return STATE_VERSION | (uint32_t)-ilogbf(a->bytes.unit) << 16;
}

static void
state_name(const algo *a, char name[STATE_NAME_BYTES])
{
    size_t length = strlen(a->ops->name);
    OCT_ASSERT(length < STATE_NAME_BYTES);
    memset(name, 0, STATE_NAME_BYTES);
    memcpy(name, a->ops->name, length);
}

static bool
read_name(const algo *a, oct_reader *reader)
{
    char own[STATE_NAME_BYTES];
    const uint8_t *name = oct_read_bytes(reader, STATE_NAME_BYTES);
    state_name(a, own);
    return name != NULL && memcmp(name, own, sizeof(own)) == 0;
}

void
algo_save(const algo *a, oct_writer *writer)
{
    oct_writer body = {0};
    char name[STATE_NAME_BYTES];
    a->ops->save(a, &body);
    state_name(a, name);
    size_t start = writer->used;
    oct_write_u32(writer, STATE_MAGIC);
    oct_write_u32(writer, state_version(a));
    oct_write_bytes(writer, name, sizeof(name));
    oct_write_u64(writer, a->updates);
    oct_write_u64(writer, body.used);
    a->ops->save(a, writer);
    uint32_t crc = 0;
    if (writer->base != NULL && !writer->failed) {
        crc = oct_crc32c(0, writer->base + start, writer->used - start);
    }
    oct_write_u32(writer, crc);
}

uint32_t
algo_saved_crc(const uint8_t *state, size_t length)
{
    return oct_crc32c(0, state, length - sizeof(uint32_t));
}

oct_err
algo_load(algo *a, oct_reader *reader)
{
    const uint8_t *start = reader->at;
    if (oct_read_u32(reader) != STATE_MAGIC || oct_read_u32(reader) != state_version(a) ||
        !read_name(a, reader)) {
        return OCT_EPROTO;
    }
    uint64_t updates = oct_read_u64(reader);
    uint64_t length = oct_read_u64(reader);
    const uint8_t *at = oct_read_bytes(reader, length);
    const uint8_t *end = reader->at;
    uint32_t crc = oct_read_u32(reader);
    if (at == NULL || reader->failed || crc != oct_crc32c(0, start, (size_t)(end - start))) {
        return OCT_EPROTO;
    }
    oct_reader body = {.at = at, .left = length};
    OCT_TRY(a->ops->load(a, &body));
    a->updates = updates;
    return OCT_OK;
}
