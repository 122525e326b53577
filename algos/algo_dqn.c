// Deep Q-learning as in Acme: double Q-learning (van Hasselt 2016) or plain, n-step returns that
// arrive in the batch, Huber loss with importance weights, Adam, and a target network that is
// copied every target_period updates or updated softly (Polyak averaging). These options make
// Rainbow (Hessel et al. 2018), together with prioritised replay: a distribution of the return
// (algo_dqn_loss.h), dueling streams and noisy layers (nn_reparam.h). SARSA learns from sequences,
// because these have the action that was taken next.
//
// A network computes with its parameters in up to two steps: reparametrisation maps them to
// weights, with noise for the coming update; a projection rounds these weights. weights_renew
// repeats the steps whenever parameters, noise or projection have changed.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/algo_dqn_loss.h"
#include "algos/algo_ops.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "config/config.h"
#include "nn/nn_saved.h"

// Streams of the seed for:
#define INIT_STREAM      0x6471u // the first weights
#define NOISE_STREAM     0x6472u // noise of the updates
#define BEHAVIOUR_STREAM 0x6473u // noise of the policies that explore

// Buffers for the numbers with which a network computes instead of its parameters: parameters ->
// mapped (by reparametrisation, with noise) -> projected (algo_set_projection). NULL: not in use.
typedef struct dqn_weights {
    float *noise;
    float *mapped;
    float *projected;
} dqn_weights;

typedef struct algo_dqn {
    algo base;
    uint32_t rows_max;
    uint32_t obs_count;
    uint32_t action_count;
    uint32_t outputs; // action_count, times atoms if there are any
    bool double_q;
    float grad_norm_max;    // 0: no clipping
    uint32_t target_period; // updates per target update
    float target_rate;      // of Polyak averaging; 1 copies
    nn_trainer online;
    nn_net target;
    algo_dqn_loss loss;
    bool is_mapped; // dueling or noisy
    nn_reparam reparam;
    algo_projection projection; // project is NULL: none
    dqn_weights online_weights;
    dqn_weights target_weights;
    float *policy; // [weight_count], result of algo_policy_params and algo_behaviour_params; only
                   // if mapped
    oct_rng noise_before;   // the generator before the coming update's noise was drawn; saved
    oct_rng noise_after;    // the generator after it
    uint64_t seed;          // of the noise for exploration
    float *behaviour_noise; // a sample; only if noisy
    algo_returns returns;
    algo_batch steps; // SARSA: n-step columns from a batch of sequences
    int32_t *taken;   // SARSA: [rows_max], as in algo_dqn_outputs; otherwise NULL
    float *x;         // [2 rows_max][obs_count], s followed by s'
    float *dy;        // [rows_max][outputs], the gradient at the online network's outputs
    float grad_norm;  // of the last gradient
} algo_dqn;

// ---- the network

static oct_err
dqn_make_spec(const config_experiment *config, policy_spec *spec, algo_wants *wants,
              oct_reason *why)
{
    if (config->algo.target == CONFIG_TARGET_SARSA) { // n steps and the row after them
        *wants = (algo_wants){
            .window = ALGO_WINDOW_SEQUENCE, .steps = config_n_step(config) + 1, .stride = 1};
    }
    if (spec->action_kind != POLICY_DISCRETE) {
        return oct_refuse(why,
                          "dqn needs discrete actions; %.100s has a box of %u number%s; use "
                          "algo.name: d4pg, ddpg, td3 or sac",
                          spec->env_id, spec->action_count, oct_text_plural(spec->action_count));
    }
    policy_words words;
    OCT_TRY(config_words(config, NULL, &words, why));
    if (config->algo.dueling) {
        policy_word *last = words.count > 0 ? &words.word[words.count - 1] : NULL;
        if (last == NULL || last->kind != POLICY_DENSE) {
            return oct_refuse(why, "algo.dueling needs a dense layer before the last one; %s",
                              last == NULL ? "network.hidden is []"
                                           : "network.layers and network.hidden end without it");
        }
        last->units *= 2; // two streams side by side
    }
    spec->head = config->algo.distributional ? POLICY_HEAD_ATOMS : POLICY_HEAD_VALUES;
    spec->atoms = config->algo.distributional ? config->algo.atoms : 0;
    spec->value_min = config->algo.distributional ? (float)config->algo.value_min : 0.0f;
    spec->value_max = config->algo.distributional ? (float)config->algo.value_max : 0.0f;
    spec->normalise = false;
    OCT_TRY(
        algo_make_layers(config, &words, spec, spec->action_count * OCT_MAX(spec->atoms, 1), why));
    return policy_spec_check(spec, why);
}

// ---- what the networks compute with

static void
weights_init(const algo_dqn *dqn, nn_context *context, dqn_weights *weights)
{
    if (dqn->is_mapped) {
        weights->mapped = nn_context_alloc(context, dqn->reparam.weight_count * sizeof(float));
    }
    if (dqn->reparam.noisy) {
        weights->noise = nn_context_alloc(context, dqn->reparam.noise_count * sizeof(float));
    }
}

static void
weights_fini(dqn_weights *weights)
{
    free(weights->noise);
    free(weights->mapped);
    free(weights->projected);
}

// Computes the network's weights again, after its parameters, noise or projection have changed.
static void
weights_renew(const algo_dqn *dqn, nn_net *net, const dqn_weights *weights)
{
    net->weights = net->fetched;
    if (dqn->is_mapped) {
        nn_reparam_map(&dqn->reparam, weights->mapped, net->fetched, weights->noise);
        net->weights = weights->mapped;
    }
    if (dqn->projection.project != NULL) {
        dqn->projection.project(dqn->projection.arg, net->weights, weights->projected);
        net->weights = weights->projected;
    }
}

static void
online_renew(algo_dqn *dqn)
{
    weights_renew(dqn, &dqn->online.tape.net, &dqn->online_weights);
}

// The target is projected, too, so that the bootstrap estimates the value of acting with weights
// that an actor can have. Its parameters follow the online network's parameters before projection,
// because a Polyak average moves by less than a step of the projection's grid.
static void
target_renew(algo_dqn *dqn)
{
    weights_renew(dqn, &dqn->target, &dqn->target_weights);
    nn_net_changed(&dqn->target);
}

// Draws the noise of the coming update, separately for each network, from noise_before.
static void
noise_draw(algo_dqn *dqn)
{
    if (dqn->reparam.noisy) {
        dqn->noise_after = dqn->noise_before;
        nn_reparam_draw(&dqn->reparam, dqn->online_weights.noise, &dqn->noise_after);
        nn_reparam_draw(&dqn->reparam, dqn->target_weights.noise, &dqn->noise_after);
    }
}

// Continues with the noise of the next update.
static void
noise_next(algo_dqn *dqn)
{
    dqn->noise_before = dqn->noise_after;
    noise_draw(dqn);
}

static void
dqn_set_projection(algo *a, const algo_projection *projection)
{
    algo_dqn *dqn = (algo_dqn *)a;
    OCT_ASSERT(dqn->projection.project == NULL);
    dqn->projection = *projection;
    size_t bytes = dqn->target.weight_count * sizeof(float);
    dqn->online_weights.projected = oct_alloc(bytes);
    dqn->target_weights.projected = oct_alloc(bytes);
    online_renew(dqn);
    target_renew(dqn);
}

// ---- create and destroy

static void
networks_init(algo_dqn *dqn, nn_context *context, const config_experiment *config,
              const policy_spec *spec)
{
    nn_adam adam = algo_adam(config);
    dqn->is_mapped = config->algo.dueling || config->algo.noisy;
    if (dqn->is_mapped) {
        nn_reparam_options options = {
            .dueling = config->algo.dueling,
            .noisy = config->algo.noisy,
            .sigma = (float)config->algo.noisy_sigma,
        };
        nn_reparam_init(&dqn->reparam, context, spec, &options);
        const nn_shape shape = {spec, false, dqn->reparam.param_count, 2 * dqn->rows_max};
        nn_trainer_init_reparam(&dqn->online, context, &shape, &dqn->reparam, &adam);
        nn_net_init_params(&dqn->target, context, spec, dqn->reparam.param_count, dqn->rows_max);
        dqn->policy = nn_context_alloc(context, dqn->reparam.weight_count * sizeof(*dqn->policy));
    } else {
        nn_trainer_init(&dqn->online, context, spec, 2 * dqn->rows_max, &adam);
        nn_net_init(&dqn->target, context, spec, dqn->rows_max);
    }
    weights_init(dqn, context, &dqn->online_weights);
    weights_init(dqn, context, &dqn->target_weights);
    if (dqn->reparam.noisy) {
        dqn->behaviour_noise = nn_context_alloc(context, dqn->reparam.noise_count * sizeof(float));
    }
    dqn->online.noise = dqn->online_weights.noise;
}

// Sets the first parameters and noise, from the seed.
static void
networks_begin(algo_dqn *dqn, const policy_spec *spec, uint64_t seed)
{
    oct_rng rng;
    oct_rng_init(&rng, seed, INIT_STREAM);
    oct_rng_init(&dqn->noise_before, seed, NOISE_STREAM);
    dqn->seed = seed;
    if (dqn->is_mapped) {
        nn_net chain;
        nn_net_init(&chain, dqn->online.tape.net.context, spec, 1);
        nn_net_randomise(&chain, &rng);
        nn_reparam_begin(&dqn->reparam, dqn->online.tape.net.params, chain.params);
        nn_net_fini(&chain);
    } else {
        nn_net_randomise(&dqn->online.tape.net, &rng);
    }
    nn_net_polyak(&dqn->target, &dqn->online.tape.net, 1.0f);
    noise_draw(dqn);
    online_renew(dqn);
    target_renew(dqn);
}

// Reserves the columns that steps_take fills in. Only steps_take writes through algo_batch's const
// pointers.
static void
steps_init(algo_dqn *dqn, nn_context *context)
{
    size_t rows = dqn->rows_max;
    dqn->taken = nn_context_alloc(context, rows * sizeof(*dqn->taken));
    dqn->steps = (algo_batch){
        .obs = nn_context_alloc(context, rows * dqn->obs_count * sizeof(float)),
        .next = nn_context_alloc(context, rows * dqn->obs_count * sizeof(float)),
        .action = nn_context_alloc(context, rows * sizeof(int32_t)),
        .reward = nn_context_alloc(context, rows * sizeof(float)),
        .discount = nn_context_alloc(context, rows * sizeof(float)),
    };
}

static void
steps_fini(algo_dqn *dqn)
{
    const void *blocks[] = {dqn->taken,        dqn->steps.obs,    dqn->steps.next,
                            dqn->steps.action, dqn->steps.reward, dqn->steps.discount};
    for (size_t i = 0; i < OCT_COUNTOF(blocks); i++) {
        free((void *)(uintptr_t)blocks[i]);
    }
}

static oct_err
dqn_create(algo **out, nn_context *context, const config_experiment *config,
           const policy_spec *spec, uint64_t seed)
{
    policy_head head = config->algo.distributional ? POLICY_HEAD_ATOMS : POLICY_HEAD_VALUES;
    if (policy_spec_check(spec, NULL) != OCT_OK || spec->head != head ||
        config->learner.batch_size < 1 || config->algo.target_period < 1 ||
        (config->algo.dueling && spec->layers[spec->layer_count - 1].inputs % 2 != 0)) {
        return OCT_EINVAL;
    }
    algo_dqn *dqn = oct_alloc(sizeof(*dqn));
    size_t rows = config->learner.batch_size;
    dqn->base.ops = &algo_dqn_ops;
    dqn->rows_max = config->learner.batch_size;
    dqn->obs_count = spec->obs_count;
    dqn->action_count = spec->action_count;
    dqn->outputs = policy_spec_outputs(spec);
    dqn->double_q = config->algo.double_q;
    dqn->grad_norm_max = (float)config->algo.grad_norm_max;
    dqn->target_period = config->algo.target_period;
    dqn->target_rate = (float)config->algo.target_rate;
    networks_init(dqn, context, config, spec);
    algo_dqn_loss_init(&dqn->loss, context, config, spec, dqn->rows_max);
    dqn->returns = algo_returns_of(config);
    if (config->algo.target == CONFIG_TARGET_SARSA) {
        steps_init(dqn, context);
    }
    dqn->x = nn_context_alloc(context, 2 * rows * dqn->obs_count * sizeof(*dqn->x));
    dqn->dy = nn_context_alloc(context, rows * dqn->outputs * sizeof(*dqn->dy));
    if (!nn_context_measures(context)) {
        networks_begin(dqn, spec, seed);
    }
    *out = &dqn->base;
    return OCT_OK;
}

static void
dqn_destroy(algo *a)
{
    algo_dqn *dqn = (algo_dqn *)a;
    nn_trainer_fini(&dqn->online);
    nn_net_fini(&dqn->target);
    nn_reparam_fini(&dqn->reparam);
    algo_dqn_loss_fini(&dqn->loss);
    steps_fini(dqn);
    weights_fini(&dqn->online_weights);
    weights_fini(&dqn->target_weights);
    free(dqn->policy);
    free(dqn->behaviour_noise);
    free(dqn->x);
    free(dqn->dy);
    free(dqn);
}

// ---- update

static bool
actions_allowed(const int32_t *action, uint32_t B, uint32_t A)
{
    bool allowed = true;
    for (uint32_t i = 0; i < B; i++) {
        allowed &= (uint32_t)action[i] < A;
    }
    return allowed;
}

// Observations are checked here, because some activations turn infinity into a finite number.
static bool
observations_finite(const algo_dqn *dqn, const algo_batch *batch)
{
    size_t count = (size_t)batch->B * dqn->obs_count;
    return algo_all_finite(batch->obs, count) && algo_all_finite(batch->next, count);
}

// Computes the n steps from the first row of each sequence, as columns. A sequence that begins with
// an end row has none. Returns false if the shape is not what the algorithm wants.
static bool
steps_take(algo_dqn *dqn, const algo_batch *batch)
{
    uint32_t T = dqn->returns.n + 1;
    if (batch->T != T || batch->B > dqn->rows_max) {
        return false;
    }
    dqn->steps.B = batch->B;
    dqn->steps.weight = batch->weight;
    size_t obs = dqn->obs_count;
    for (uint32_t b = 0; b < batch->B; b++) {
        algo_step step = {.behind = 0, .taken = -1};
        bool has_action = algo_returns_at(&step, &dqn->returns, batch, b, 0);
        const float *window = batch->obs + (size_t)b * (T + 1) * obs;
        memcpy((float *)(uintptr_t)dqn->steps.obs + b * obs, window, obs * sizeof(float));
        memcpy((float *)(uintptr_t)dqn->steps.next + b * obs, window + step.behind * obs,
               obs * sizeof(float));
        ((int32_t *)(uintptr_t)dqn->steps.action)[b] =
            has_action ? ((const int32_t *)batch->action)[(size_t)b * T] : 0;
        ((float *)(uintptr_t)dqn->steps.reward)[b] = step.reward;
        ((float *)(uintptr_t)dqn->steps.discount)[b] = step.discount;
        dqn->taken[b] = has_action ? step.taken : ALGO_DQN_NO_STEP;
    }
    return true;
}

// Runs the networks forward and computes the loss: fills dqn->loss.error, dqn->dy and all numbers
// but the gradient norm.
static void
dqn_forward(algo_dqn *dqn, const algo_batch *batch, float *numbers)
{
    uint32_t B = batch->B;
    size_t count = (size_t)B * dqn->obs_count;
    algo_dqn_outputs of = {.target = nn_net_forward_again(&dqn->target, batch->next, B),
                           .taken = dqn->taken};
    if (dqn->double_q) {
        // one forward for both, because larger products are faster
        memcpy(dqn->x, batch->obs, count * sizeof(*dqn->x));
        memcpy(dqn->x + count, batch->next, count * sizeof(*dqn->x));
        of.online = nn_trainer_forward(&dqn->online, dqn->x, 2 * B);
        of.choose = of.online + (size_t)B * dqn->outputs;
    } else {
        of.online = nn_trainer_forward(&dqn->online, batch->obs, B);
        of.choose = of.target;
    }
    algo_dqn_loss_compute(&dqn->loss, dqn->dy, batch, &of, numbers);
}

// Checks the batch. *batch becomes the batch to learn from: for SARSA the columns of steps_take.
static oct_err
batch_take(algo_dqn *dqn, const algo_batch **batch)
{
    const algo_batch *given = *batch;
    if (dqn->taken != NULL) {
        if (!actions_allowed(given->action, given->B * given->T, dqn->action_count) ||
            !steps_take(dqn, given)) {
            return OCT_EINVAL;
        }
        *batch = &dqn->steps;
    }
    if ((*batch)->B < 1 || (*batch)->B > dqn->rows_max ||
        !actions_allowed((*batch)->action, (*batch)->B, dqn->action_count)) {
        return OCT_EINVAL;
    }
    return observations_finite(dqn, *batch) ? OCT_OK : OCT_EINTERNAL;
}

static oct_err
dqn_gradient(algo *a, const algo_batch *batch, float *priorities, float *numbers)
{
    algo_dqn *dqn = (algo_dqn *)a;
    OCT_TRY(algo_agree(a, batch_take(dqn, &batch)));
    float now[ALGO_POLICY_GRAD_NORM];
    dqn_forward(dqn, batch, now);
    now[ALGO_GRAD_NORM] = nn_trainer_backward(&dqn->online, dqn->dy, batch->B, NULL);
    algo_mean(a, now, OCT_COUNTOF(now));
    if (!algo_numbers_finite(now, OCT_COUNTOF(now))) {
        return OCT_EINTERNAL;
    }
    dqn->grad_norm = now[ALGO_GRAD_NORM];
    for (uint32_t i = 0; priorities != NULL && i < batch->B; i++) {
        priorities[i] = fabsf(dqn->loss.error[i]);
    }
    memcpy(numbers, now, sizeof(now));
    numbers[ALGO_POLICY_GRAD_NORM] = NAN; // there is no policy network
    if (dqn->loss.atoms == 0) {
        algo_numbers_lack_cut(numbers);
    }
    return OCT_OK;
}

static void
dqn_apply(algo *a, float learning_rate)
{
    algo_dqn *dqn = (algo_dqn *)a;
    bool target_moves = a->updates % dqn->target_period == 0;
    nn_trainer_step_and_polyak(&dqn->online, learning_rate,
                               nn_clip_scale(dqn->grad_norm, dqn->grad_norm_max),
                               target_moves ? &dqn->target : NULL, dqn->target_rate);
    noise_next(dqn);
    online_renew(dqn);
    if (target_moves || dqn->reparam.noisy) {
        target_renew(dqn);
    }
}

// Each learner has its own noise.
static void
dqn_share(algo *a, algo_sharing *s)
{
    algo_dqn *dqn = (algo_dqn *)a;
    uint64_t seed = dqn->seed;
    algo_share_trainer(s, &dqn->online);
    algo_share_net(s, &dqn->target);
    if (algo_share_own_seed(s, &seed)) {
        oct_rng_init(&dqn->noise_before, oct_rng_mix(seed, a->updates), NOISE_STREAM);
        noise_draw(dqn);
    }
}

static void
dqn_fetched(algo *a)
{
    algo_dqn *dqn = (algo_dqn *)a;
    online_renew(dqn);
    if (dqn->is_mapped) {
        target_renew(dqn);
    }
}

static uint32_t
dqn_networks(algo *a, algo_network out[ALGO_NETWORKS_MAX])
{
    algo_dqn *dqn = (algo_dqn *)a;
    out[0] = algo_network_of("policy", &dqn->online, &dqn->target);
    out[0].acts = true;
    out[0].support = dqn->loss.atoms > 0 ? &dqn->loss.support : NULL;
    return 1;
}

static const float *
dqn_policy_params(const algo *a)
{
    const algo_dqn *dqn = (const algo_dqn *)a;
    const nn_net *net = &dqn->online.tape.net;
    if (!dqn->is_mapped) {
        return net->fetched;
    }
    nn_reparam_map(&dqn->reparam, dqn->policy, net->fetched, NULL);
    return dqn->policy;
}

static const float *
dqn_behaviour_params(algo *a, uint32_t sample)
{
    algo_dqn *dqn = (algo_dqn *)a;
    if (!dqn->reparam.noisy) {
        return NULL;
    }
    oct_rng rng;
    uint64_t seed = oct_rng_mix(oct_rng_mix(oct_rng_mix(0, dqn->seed), a->updates), sample);
    oct_rng_init(&rng, seed, BEHAVIOUR_STREAM);
    nn_reparam_draw(&dqn->reparam, dqn->behaviour_noise, &rng);
    nn_reparam_map(&dqn->reparam, dqn->policy, dqn->online.tape.net.fetched, dqn->behaviour_noise);
    return dqn->policy;
}

// ---- state

// The noise's generator is saved as it was before the coming update's noise was drawn, so that a
// loaded state draws the same noise.
static void
rng_save(const oct_rng *rng, oct_writer *writer)
{
    oct_write_u64(writer, rng->state);
    oct_write_u64(writer, rng->stream);
}

static oct_rng
rng_read(oct_reader *reader)
{
    oct_rng rng = {.state = oct_read_u64(reader)};
    rng.stream = oct_read_u64(reader);
    return rng;
}

static uint8_t
flags_of(const algo_dqn *dqn)
{
    return (uint8_t)((dqn->reparam.dueling ? 1 : 0) | (dqn->reparam.noisy ? 2 : 0));
}

static void
dqn_save(const algo *a, oct_writer *writer)
{
    const algo_dqn *dqn = (const algo_dqn *)a;
    nn_trainer_save(&dqn->online, writer);
    nn_net_save(&dqn->target, writer);
    if (dqn->is_mapped) {
        oct_write_u8(writer, flags_of(dqn));
    }
    if (dqn->reparam.noisy) {
        rng_save(&dqn->noise_before, writer);
    }
    if (dqn->loss.atoms > 0) {
        nn_support_save(&dqn->loss.support, writer);
    }
}

static oct_err
dqn_load(algo *a, oct_reader *reader)
{
    algo_dqn *dqn = (algo_dqn *)a;
    nn_trainer_view online;
    nn_net_view target;
    oct_rng noise = dqn->noise_before;
    OCT_TRY(nn_trainer_read(&online, &dqn->online, reader));
    OCT_TRY(nn_net_read(&target, &dqn->target, reader));
    if (dqn->is_mapped && oct_read_u8(reader) != flags_of(dqn)) {
        return OCT_EPROTO;
    }
    if (dqn->reparam.noisy) {
        noise = rng_read(reader);
    }
    if (dqn->loss.atoms > 0) {
        OCT_TRY(nn_support_check(&dqn->loss.support, reader));
    }
    if (reader->failed || reader->left != 0) {
        return OCT_EPROTO;
    }
    nn_trainer_apply(&dqn->online, &online);
    nn_net_apply(&dqn->target, &target);
    dqn->noise_before = noise;
    noise_draw(dqn);
    online_renew(dqn);
    target_renew(dqn);
    return OCT_OK;
}

const algo_ops algo_dqn_ops = {
    .name = "dqn",
    .numbers = algo_value_numbers,
    .number_count = ALGO_VALUE_NUMBERS,
    .splits = true,
    .make_spec = dqn_make_spec,
    .create = dqn_create,
    .destroy = dqn_destroy,
    .gradient = dqn_gradient,
    .apply = dqn_apply,
    .share = dqn_share,
    .fetched = dqn_fetched,
    .set_projection = dqn_set_projection,
    .networks = dqn_networks,
    .policy_params = dqn_policy_params,
    .behaviour_params = dqn_behaviour_params,
    .save = dqn_save,
    .load = dqn_load,
};
