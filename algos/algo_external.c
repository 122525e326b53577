// An algorithm whose updates another process makes: it makes the acting network, passes each batch
// on, and checks and keeps the answer.
#include "algos/algo_external.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/algo_ops.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "config/config.h"

#define INIT_STREAM 0x6578u // stream of the seed for the first weights

typedef struct algo_external {
    algo base;
    algo_external_learner learner; // learn is NULL: none
    uint32_t rows_max;
    uint32_t layer_count;
    size_t param_count; // of the policy
    float *params;      // [param_count], the policy that actors get
    algo_external_answer answer;
} algo_external;

static const algo_number external_numbers[] = {
    ALGO_VALUE_ROWS,
    {"value_loss", "loss", "Mean value loss in the interval."},
    {"entropy", "nats", "Mean entropy of the policy in the states where it acted."},
    {"alpha", "return per nat", "Mean temperature, the weight of the entropy."},
    {"policy_value", "return", "Mean Q(s, a) at actions of the policy."},
    {"kl", "nats", "Mean KL divergence from the policy that acted to the policy that learns."},
    {"update_kl", "nats", "Mean KL divergence to the policy at the end of an update."},
    {"ratio_clipped", "share", "Share of the actions whose ratio was clipped."},
    {"explained_variance", "share", "Share of the variance of returns that V(s) explains."},
    {"gradient_steps", "", "Mean number of gradient steps in an update."},
};
static_assert(OCT_COUNTOF(external_numbers) == ALGO_EXTERNAL_NUMBERS, "as algo_external.h says");
static_assert(ALGO_EXTERNAL_NUMBERS <= ALGO_NUMBERS_MAX, "as algo.h says");

// ---- the network

static policy_head
head_of(const config_experiment *config, bool is_box)
{
    static const policy_head heads[] = {
        [CONFIG_HEAD_VALUES] = POLICY_HEAD_VALUES,
        [CONFIG_HEAD_LOGITS] = POLICY_HEAD_LOGITS,
        [CONFIG_HEAD_ATOMS] = POLICY_HEAD_ATOMS,
        [CONFIG_HEAD_TANH] = POLICY_HEAD_TANH,
        [CONFIG_HEAD_GAUSSIAN] = POLICY_HEAD_GAUSSIAN,
        [CONFIG_HEAD_TANH_GAUSSIAN] = POLICY_HEAD_TANH_GAUSSIAN,
    };
    size_t index = (size_t)config->algo.head;
    OCT_ASSERT(index < OCT_COUNTOF(heads));
    if (config->algo.head == CONFIG_HEAD_AUTO) {
        return is_box ? POLICY_HEAD_TANH : POLICY_HEAD_VALUES;
    }
    return heads[index];
}

static bool
head_is_of_box(policy_head head)
{
    return head == POLICY_HEAD_TANH || head == POLICY_HEAD_GAUSSIAN ||
           head == POLICY_HEAD_TANH_GAUSSIAN;
}

static algo_wants
wants_of(const config_experiment *config)
{
    switch (config->algo.window) {
    case CONFIG_SAMPLED_SEQUENCE:
        return (algo_wants){
            .window = ALGO_WINDOW_SEQUENCE, .steps = config->algo.sequence_steps, .stride = 1};
    case CONFIG_SAMPLED_ROLLOUT:
        return (algo_wants){
            .window = ALGO_WINDOW_ROLLOUT,
            .steps = config_rollout_rows(config->algo.sequence_steps) - 1,
            .lag_max = config->algo.rollout_lag,
        };
    default:
        return (algo_wants){.window = ALGO_WINDOW_N_STEP, .steps = config_n_step(config)};
    }
}

static oct_err
external_make_spec(const config_experiment *config, policy_spec *spec, algo_wants *wants,
                   oct_reason *why)
{
    bool is_box = spec->action_kind == POLICY_BOX;
    policy_head head = head_of(config, is_box);
    if (head_is_of_box(head) != is_box) {
        return oct_refuse(
            why, "algo.head: this head is for %s actions; %.100s has %s: allowed are auto, %s",
            is_box ? "discrete" : "box", spec->env_id,
            is_box ? "a box of numbers" : "discrete actions",
            is_box ? "tanh, gaussian and tanh_gaussian" : "values, logits and atoms");
    }
    if (config->learner.quantisation_aware) {
        return oct_refuse(why,
                          "learner.quantisation_aware: gradients of algo.name: external are not "
                          "Octet's; round the weights in your own forward pass");
    }
    if (config->evaluation.sampling && policy_spec_extra_dim(&(policy_spec){.head = head}) == 0) {
        return oct_refuse(why,
                          "evaluation.sampling: a policy of this algo.head has no distribution to "
                          "sample actions from; allowed are logits, gaussian and tanh_gaussian");
    }
    bool has_atoms = head == POLICY_HEAD_ATOMS;
    uint32_t each = head == POLICY_HEAD_TANH_GAUSSIAN ? 2 : has_atoms ? config->algo.atoms : 1;
    *wants = wants_of(config);
    spec->head = head;
    spec->atoms = has_atoms ? config->algo.atoms : 0;
    spec->value_min = has_atoms ? (float)config->algo.value_min : 0.0f;
    spec->value_max = has_atoms ? (float)config->algo.value_max : 0.0f;
    spec->state_deviation = false;
    spec->normalise = false;
    policy_words words;
    OCT_TRY(config_words(config, NULL, &words, why));
    OCT_TRY(algo_make_layers(config, &words, spec, each * spec->action_count, why));
    return policy_spec_check(spec, why);
}

// ---- create and destroy

// Draws the first weights as Octet's own algorithms do.
static void
params_begin(algo_external *external, const config_experiment *config, const policy_spec *spec,
             uint64_t seed)
{
    nn_context *context = nn_context_create(NULL); // only to draw; the other process computes
    nn_net net;
    oct_rng rng;
    oct_rng_init(&rng, seed, INIT_STREAM);
    nn_net_init(&net, context, spec, 1);
    if (spec->head == POLICY_HEAD_VALUES || spec->head == POLICY_HEAD_ATOMS) {
        nn_net_randomise(&net, &rng);
    } else {
        algo_randomise_policy(&net, &rng);
    }
    memcpy(external->params, net.params, external->param_count * sizeof(float));
    nn_net_fini(&net);
    nn_context_destroy(context);
    for (uint32_t i = 0; policy_spec_has_deviation(spec) && i < spec->action_count; i++) {
        external->params[policy_spec_deviation(spec) + i] =
            (float)log(config->algo.initial_deviation);
    }
}

static oct_err
external_create(algo **out, nn_context *context, const config_experiment *config,
                const policy_spec *spec, uint64_t seed)
{
    if (policy_spec_check(spec, NULL) != OCT_OK || config->learner.batch_size < 1 ||
        head_is_of_box(spec->head) != (spec->action_kind == POLICY_BOX)) {
        return OCT_EINVAL;
    }
    algo_external *external = oct_alloc(sizeof(*external));
    external->base.ops = &algo_external_ops;
    external->rows_max = config->learner.batch_size;
    external->layer_count = spec->layer_count;
    external->param_count = policy_spec_params(spec);
    external->params = nn_context_alloc(context, external->param_count * sizeof(float));
    external->answer.params = nn_context_alloc(context, external->param_count * sizeof(float));
    external->answer.priorities = nn_context_alloc(context, external->rows_max * sizeof(float));
    if (!nn_context_measures(context)) {
        params_begin(external, config, spec, seed);
    }
    *out = &external->base;
    return OCT_OK;
}

static void
external_destroy(algo *a)
{
    algo_external *external = (algo_external *)a;
    free(external->params);
    free(external->answer.params);
    free(external->answer.priorities);
    free(external);
}

void
algo_external_set_learner(algo *a, const algo_external_learner *learner)
{
    OCT_ASSERT(a->ops == &algo_external_ops && learner->learn != NULL);
    ((algo_external *)a)->learner = *learner;
}

// ---- the update

static bool
priorities_are_sound(const float *priorities, uint32_t count)
{
    bool sound = true;
    for (uint32_t i = 0; i < count; i++) {
        sound &= isfinite(priorities[i]) && priorities[i] >= 0;
    }
    return sound;
}

static bool
answer_is_sound(const algo_external *external, uint32_t B)
{
    const algo_external_answer *answer = &external->answer;
    bool sound = !answer->has_params || algo_all_finite(answer->params, external->param_count);
    sound = sound && (!answer->has_priorities || priorities_are_sound(answer->priorities, B));
    for (size_t i = 0; i < ALGO_EXTERNAL_NUMBERS; i++) {
        sound = sound && !isinf(answer->numbers[i]);
    }
    return sound;
}

static void
answer_clear(algo_external_answer *answer)
{
    answer->has_params = answer->has_priorities = false;
    for (size_t i = 0; i < ALGO_EXTERNAL_NUMBERS; i++) {
        answer->numbers[i] = NAN;
    }
}

// Without priorities in the answer all windows get the same.
static void
priorities_give(const algo_external_answer *answer, float *priorities, uint32_t B)
{
    for (uint32_t i = 0; i < B; i++) {
        priorities[i] = answer->has_priorities ? answer->priorities[i] : 1.0f;
    }
}

static oct_err
external_update(algo *a, const algo_batch *batch, float learning_rate, float *priorities,
                float *numbers)
{
    algo_external *external = (algo_external *)a;
    algo_external_answer *answer = &external->answer;
    if (external->learner.learn == NULL || batch->B < 1 || batch->B > external->rows_max) {
        return OCT_EINVAL;
    }
    answer_clear(answer);
    OCT_TRY(external->learner.learn(external->learner.arg, batch, learning_rate, answer));
    if (!answer_is_sound(external, batch->B)) {
        return OCT_EINTERNAL;
    }
    if (answer->has_params) {
        memcpy(external->params, answer->params, external->param_count * sizeof(float));
    }
    if (priorities != NULL) {
        priorities_give(answer, priorities, batch->B);
    }
    memcpy(numbers, answer->numbers, sizeof(answer->numbers));
    a->updates++;
    return OCT_OK;
}

const float *
algo_external_params(const algo *a)
{
    OCT_ASSERT(a->ops == &algo_external_ops);
    return ((const algo_external *)a)->params;
}

// ---- state: the policy only; the other process keeps its own state

static void
external_save(const algo *a, oct_writer *writer)
{
    const algo_external *external = (const algo_external *)a;
    oct_write_u32(writer, external->layer_count);
    oct_write_u64(writer, external->param_count);
    oct_write_bytes(writer, external->params, external->param_count * sizeof(float));
}

static oct_err
external_load(algo *a, oct_reader *reader)
{
    algo_external *external = (algo_external *)a;
    size_t count = external->param_count;
    bool same = oct_read_u32(reader) == external->layer_count && oct_read_u64(reader) == count;
    const uint8_t *bytes = oct_read_bytes(reader, count * sizeof(float));
    if (!same || bytes == NULL || reader->left != 0) {
        return OCT_EPROTO;
    }
    float *read = external->answer.params; // scratch until the numbers are checked
    memcpy(read, bytes, count * sizeof(float));
    if (!algo_numbers_finite(read, count)) {
        return OCT_EPROTO;
    }
    memcpy(external->params, read, count * sizeof(float));
    return OCT_OK;
}

const algo_ops algo_external_ops = {
    .name = "external",
    .numbers = external_numbers,
    .number_count = ALGO_EXTERNAL_NUMBERS,
    .make_spec = external_make_spec,
    .create = external_create,
    .destroy = external_destroy,
    .update = external_update,
    .policy_params = algo_external_params,
    .save = external_save,
    .load = external_load,
};
