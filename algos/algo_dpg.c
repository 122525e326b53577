// D4PG (Barth-Maron et al. 2018), DDPG (Lillicrap et al. 2016) and TD3 (Fujimoto et al. 2018),
// three variants of one method: a deterministic policy that follows the gradient of a learned
// value.
//
// An update takes all gradients at the parameters before it (as Acme does): the critics' targets,
// the critics' gradients, then every policy_delay-th update the policy's gradient through the
// critics. Only when all of them are finite on all ranks does dpg_apply move critics, policy and
// targets. So a failed update has changed nothing.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/algo_critics.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"

#define INIT_STREAM  0x6470u // stream of the seed for the first weights
#define NOISE_STREAM 0x6e64u // stream of the seed for the noise on target actions

#define SQUASH_COLUMNS 256    // columns of the rows in which squash computes tanh
#define SATURATED      0.999f // an action counts as saturated from this size

enum { NUMBER_SATURATION = ALGO_VALUE_NUMBERS, NUMBERS };

static const algo_number dpg_numbers[NUMBERS] = {
    ALGO_VALUE_ROWS,
    [NUMBER_SATURATION] = {"saturation", "share",
                           "Share of the numbers in the policy's actions that are within 0.05 % of "
                           "an end of their range, where tanh is flat."},
};

typedef struct dpg_variant {
    const algo_ops *ops;
    algo_critics_kind critics;
    bool policy_at_first;  // the policy follows the first critic; false: the smallest value
    bool policy_at_next;   // the policy learns at next; otherwise at obs
    bool target_noise;     // noise on the target policy's actions
    uint32_t policy_delay; // if algo.policy_delay is 0
} dpg_variant;

// Actions and noise are in units of half the action's range (algo_critics.h).
typedef struct algo_dpg {
    algo base;
    const dpg_variant *variant;
    uint32_t rows_max;
    uint32_t action_count;
    float grad_norm_max;        // 0: no clipping
    float action_grad_norm_max; // of dQ/da of a row; 0: no clipping
    float pre_activation_cost;  // 0: off
    uint32_t policy_delay;      // updates per policy update
    uint32_t target_period;     // updates per target update
    float target_rate;          // of Polyak averaging; 1 copies
    float noise;                // deviation of the noise on target actions
    float noise_clip;           // the noise is cut to [-noise_clip, noise_clip]
    oct_rng rng;                // of that noise

    nn_trainer policy;
    nn_net policy_target;
    algo_critics critics;
    algo_projection projection; // project is NULL: none
    float *policy_weights;      // [params], projected; NULL without a projection
    float *target_weights;      // [params], projected; NULL without a projection

    float *action;  // [rows_max][action_count], actions of the policy, or of its target
    float *daction; // [rows_max][action_count], the gradient at the policy's outputs

    // Set by the last gradient, for apply.
    bool policy_learns;
    bool target_moves;
    float policy_norm;
} algo_dpg;

static const dpg_variant variants[] = {
    [CONFIG_ALGO_D4PG] = {.ops = &algo_d4pg_ops,
                          .critics = {"d4pg", POLICY_HEAD_TANH, true, 1},
                          .policy_at_next = true,
                          .policy_delay = 1},
    [CONFIG_ALGO_DDPG] = {.ops = &algo_ddpg_ops,
                          .critics = {"ddpg", POLICY_HEAD_TANH, false, 1},
                          .policy_delay = 1},
    [CONFIG_ALGO_TD3] = {.ops = &algo_td3_ops,
                         .critics = {"td3", POLICY_HEAD_TANH, false, 2},
                         .policy_at_first = true,
                         .target_noise = true,
                         .policy_delay = 2},
};

static const dpg_variant *
variant_of(const config_experiment *config)
{
    size_t index = (size_t)config->algo.name;
    OCT_ASSERT(index < OCT_COUNTOF(variants) && variants[index].ops != NULL);
    return &variants[index];
}

static oct_err
dpg_make_spec(const config_experiment *config, policy_spec *spec, algo_wants *wants,
              oct_reason *why)
{
    (void)wants; // keeps n-step windows
    return algo_critics_make_specs(config, &variant_of(config)->critics, spec, why);
}

static void
dpg_configure(algo_dpg *dpg, const config_experiment *config, const policy_spec *spec)
{
    dpg->variant = variant_of(config);
    dpg->base.ops = dpg->variant->ops;
    dpg->rows_max = config->learner.batch_size;
    dpg->action_count = spec->action_count;
    dpg->grad_norm_max = (float)config->algo.grad_norm_max;
    dpg->action_grad_norm_max = (float)config->algo.action_grad_norm_max;
    dpg->pre_activation_cost = (float)config->algo.pre_activation_cost;
    dpg->policy_delay =
        config->algo.policy_delay > 0 ? config->algo.policy_delay : dpg->variant->policy_delay;
    dpg->target_period = config->algo.target_period;
    dpg->target_rate = (float)config->algo.target_rate;
    dpg->noise = (float)config->algo.target_noise;
    dpg->noise_clip = (float)config->algo.target_noise_clip;
}

static void
dpg_randomise(algo_dpg *dpg, uint64_t seed)
{
    oct_rng rng;
    oct_rng_init(&rng, seed, INIT_STREAM);
    algo_randomise_policy(&dpg->policy.tape.net, &rng);
    nn_net_polyak(&dpg->policy_target, &dpg->policy.tape.net, 1.0f);
    algo_critics_randomise(&dpg->critics, &rng);
    oct_rng_init(&dpg->rng, seed, NOISE_STREAM);
}

static oct_err
dpg_create(algo **out, nn_context *context, const config_experiment *config,
           const policy_spec *spec, uint64_t seed)
{
    if (policy_spec_check(spec, NULL) != OCT_OK || spec->head != POLICY_HEAD_TANH ||
        config->algo.target_period < 1) {
        return OCT_EINVAL;
    }
    algo_dpg *dpg = oct_alloc(sizeof(*dpg));
    oct_err err =
        algo_critics_init(&dpg->critics, context, config, spec, &variant_of(config)->critics);
    if (err != OCT_OK) {
        free(dpg);
        return err;
    }
    dpg_configure(dpg, config, spec);
    size_t actions = (size_t)dpg->rows_max * dpg->action_count;
    dpg->action = nn_context_alloc(context, actions * sizeof(float));
    dpg->daction = nn_context_alloc(context, actions * sizeof(float));
    nn_adam adam = algo_adam(config);
    nn_trainer_init(&dpg->policy, context, spec, dpg->rows_max, &adam);
    nn_net_init(&dpg->policy_target, context, spec, dpg->rows_max);
    if (!nn_context_measures(context)) {
        dpg_randomise(dpg, seed);
    }
    *out = &dpg->base;
    return OCT_OK;
}

static void
dpg_destroy(algo *a)
{
    algo_dpg *dpg = (algo_dpg *)a;
    nn_trainer_fini(&dpg->policy);
    nn_net_fini(&dpg->policy_target);
    algo_critics_fini(&dpg->critics);
    free(dpg->policy_weights);
    free(dpg->target_weights);
    free(dpg->action);
    free(dpg->daction);
    free(dpg);
}

// Projects the policy's parameters, after they have changed.
static void
policy_changed(algo_dpg *dpg)
{
    if (dpg->projection.project != NULL) {
        algo_observed_project(&dpg->critics.observed, &dpg->projection, &dpg->policy.tape.net,
                              dpg->policy_weights);
    }
}

// Projects the target's parameters, after they have changed.
static void
target_changed(algo_dpg *dpg)
{
    nn_net_changed(&dpg->policy_target);
    if (dpg->projection.project != NULL) {
        algo_observed_project(&dpg->critics.observed, &dpg->projection, &dpg->policy_target,
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
    policy_changed(dpg);
    target_changed(dpg);
}

static uint32_t
dpg_networks(algo *a, algo_network out[ALGO_NETWORKS_MAX])
{
    algo_dpg *dpg = (algo_dpg *)a;
    out[0] = algo_network_of("policy", &dpg->policy, &dpg->policy_target);
    out[0].acts = true;
    out[0].inside = algo_observed_inside(&dpg->critics.observed);
    return 1 + algo_critics_networks(&dpg->critics, out + 1);
}

static algo_normaliser *
dpg_normaliser(algo *a)
{
    return algo_observed_normaliser(&((algo_dpg *)a)->critics.observed);
}

static const float *
dpg_policy_params(const algo *a)
{
    const algo_dpg *dpg = (const algo_dpg *)a;
    return algo_observed_policy(&dpg->critics.observed, &dpg->policy.tape.net);
}

static void
dpg_save(const algo *a, oct_writer *writer)
{
    const algo_dpg *dpg = (const algo_dpg *)a;
    oct_write_u64(writer, dpg->rng.state);
    oct_write_u64(writer, dpg->rng.stream);
    nn_trainer_save(&dpg->policy, writer);
    nn_net_save(&dpg->policy_target, writer);
    algo_critics_save(&dpg->critics, writer);
    algo_observed_save(&dpg->critics.observed, writer);
}

static oct_err
dpg_load(algo *a, oct_reader *reader)
{
    algo_dpg *dpg = (algo_dpg *)a;
    nn_trainer_view policy;
    nn_net_view policy_target;
    algo_critics_view critics;
    oct_rng rng = {.state = oct_read_u64(reader)};
    rng.stream = oct_read_u64(reader);
    OCT_TRY(nn_trainer_read(&policy, &dpg->policy, reader));
    OCT_TRY(nn_net_read(&policy_target, &dpg->policy_target, reader));
    OCT_TRY(algo_critics_read(&critics, &dpg->critics, reader));
    if (reader->left != algo_observed_bytes(&dpg->critics.observed) || rng.stream % 2 == 0) {
        return OCT_EPROTO; // PCG streams are odd
    }
    OCT_TRY(algo_observed_read(&dpg->critics.observed, reader));
    dpg->rng = rng;
    nn_trainer_apply(&dpg->policy, &policy);
    nn_net_apply(&dpg->policy_target, &policy_target);
    algo_critics_apply(&dpg->critics, &critics);
    policy_changed(dpg);
    target_changed(dpg);
    return OCT_OK;
}

// ---- the update

// Target policy smoothing (TD3): adds normal noise, cut to noise_clip, to actions and keeps them in
// [-1, 1]. Every rank draws the noise of all ranks' rows, in rank order, so that the generators
// stay equal.
static void
target_action_smooth(algo_dpg *dpg, oct_rng *rng, uint32_t B)
{
    const float cut = dpg->noise_clip;
    size_t count = (size_t)B * dpg->action_count;
    size_t begin = group_rank(dpg->base.group) * count, all = group_size(dpg->base.group) * count;
    for (size_t k = 0; k < all; k++) {
        float noise = dpg->noise * oct_rng_normal(rng);
        noise = noise < -cut ? -cut : noise > cut ? cut : noise;
        if (k < begin || k >= begin + count) {
            continue;
        }
        size_t i = k - begin;
        float a = dpg->action[i] + noise;
        dpg->action[i] = a < -1.0f ? -1.0f : a > 1.0f ? 1.0f : a;
    }
}

// Turns a policy's outputs into actions in [-1, 1]: tanh of each number. The numbers are arranged
// in long rows, because rows of a few actions would leave vectors mostly empty.
static void
squash(float *action, size_t count)
{
    static const float no_bias[SQUASH_COLUMNS];
    size_t rows = count / SQUASH_COLUMNS, done = rows * SQUASH_COLUMNS;
    nn_vec()->bias[POLICY_TANH](action, no_bias, (uint32_t)rows, SQUASH_COLUMNS);
    nn_vec()->bias[POLICY_TANH](action + done, no_bias, 1, (uint32_t)(count - done));
}

// Computes what critics learn, from the target networks at next.
static void
update_td_target(algo_dpg *dpg, const algo_batch *batch, oct_rng *rng)
{
    const float *y = nn_net_forward_again(&dpg->policy_target, batch->next, batch->B);
    size_t count = (size_t)batch->B * dpg->action_count;
    memcpy(dpg->action, y, count * sizeof(*y));
    squash(dpg->action, count);
    if (dpg->variant->target_noise) {
        target_action_smooth(dpg, rng, batch->B);
    }
    algo_critics_target(&dpg->critics, batch, dpg->action, NULL);
}

// daction = -dvalue / B, with each row clipped to action_grad_norm_max.
static void
action_slope(algo_dpg *dpg, uint32_t B)
{
    size_t A = dpg->action_count;
    for (size_t row = 0; row < B; row++) {
        const float *from = dpg->critics.dvalue + row * A;
        float *to = dpg->daction + row * A;
        float squares = 0, scale = 1;
        for (size_t i = 0; dpg->action_grad_norm_max > 0 && i < A; i++) {
            squares += from[i] * from[i];
        }
        if (dpg->action_grad_norm_max > 0) {
            scale = nn_clip_scale(sqrtf(squares), dpg->action_grad_norm_max);
        }
        for (size_t i = 0; i < A; i++) {
            to[i] = -scale * from[i] / (float)B;
        }
    }
}

// d += the derivative of cost * |z|^2, averaged over B rows, by the outputs z before tanh (as in
// MR.Q, Fujimoto et al. 2025). Where tanh is flat, dQ/du alone would not bring an action back.
static void
pre_activation_slope(float cost, const float *z, float *d, size_t count, uint32_t B)
{
    float scale = 2 * cost / (float)B;
    for (size_t k = 0; cost > 0 && k < count; k++) {
        d[k] += scale * z[k];
    }
}

static float
saturated_share(const float *action, size_t count)
{
    size_t saturated = 0;
    for (size_t k = 0; k < count; k++) {
        saturated += fabsf(action[k]) >= SATURATED;
    }
    return (float)saturated / (float)count;
}

// Computes the deterministic policy gradient (Silver et al. 2014), through the critics' inputs; the
// critics' weights receive no gradient. Returns its norm.
static float
update_policy(algo_dpg *dpg, const algo_batch *batch, float *saturation)
{
    uint32_t B = batch->B;
    size_t count = (size_t)B * dpg->action_count;
    const float *obs = dpg->variant->policy_at_next ? batch->next : batch->obs;
    const float *y = nn_trainer_forward(&dpg->policy, obs, B);
    memcpy(dpg->action, y, count * sizeof(*y));
    squash(dpg->action, count);
    *saturation = saturated_share(dpg->action, count);
    algo_critics_slope(&dpg->critics, obs, dpg->action, B,
                       dpg->variant->policy_at_first ? 1 : dpg->critics.count);
    action_slope(dpg, B);
    nn_vec()->backward[POLICY_TANH](dpg->daction, dpg->action, count);
    pre_activation_slope(dpg->pre_activation_cost, y, dpg->daction, count, B);
    return nn_trainer_backward(&dpg->policy, dpg->daction, B, NULL);
}

static oct_err
dpg_gradient(algo *a, const algo_batch *batch, float *priorities, float *numbers)
{
    algo_dpg *dpg = (algo_dpg *)a;
    bool policy_learns = a->turn % dpg->policy_delay == 0;
    oct_rng rng = dpg->rng;
    float policy_norm = 0, saturation = 0;
    float now[NUMBERS];
    OCT_TRY(algo_agree(a, algo_critics_take(&dpg->critics, batch)));
    const algo_batch seen = algo_observed_take(&dpg->critics.observed, a->group, batch);
    batch = &seen;
    update_td_target(dpg, batch, &rng);
    algo_critics_learn(&dpg->critics, batch, priorities != NULL, now);
    if (policy_learns) {
        policy_norm = update_policy(dpg, batch, &saturation);
    }
    now[ALGO_POLICY_GRAD_NORM] = policy_norm;
    now[NUMBER_SATURATION] = saturation;
    algo_mean(a, now, OCT_COUNTOF(now));
    if (!algo_numbers_finite(now, OCT_COUNTOF(now))) {
        return OCT_EINTERNAL;
    }
    dpg->rng = rng;
    dpg->policy_learns = policy_learns;
    dpg->target_moves = policy_learns && a->turn % dpg->target_period == 0;
    dpg->policy_norm = policy_norm;
    if (priorities != NULL) {
        memcpy(priorities, dpg->critics.priority, batch->B * sizeof(*priorities));
    }
    now[ALGO_POLICY_GRAD_NORM] = policy_learns ? policy_norm : NAN;
    now[NUMBER_SATURATION] = policy_learns ? now[NUMBER_SATURATION] : NAN;
    if (!dpg->critics.categorical) {
        algo_numbers_lack_cut(now);
    }
    memcpy(numbers, now, sizeof(now));
    return OCT_OK;
}

static void
dpg_apply(algo *a, float learning_rate)
{
    algo_dpg *dpg = (algo_dpg *)a;
    // With a projection and normalised observations, the projected weights change with the
    // statistics, too.
    const bool projects =
        dpg->projection.project != NULL && algo_observed_inside(&dpg->critics.observed) != NULL;
    algo_critics_step(&dpg->critics, learning_rate, dpg->target_moves);
    if (dpg->policy_learns) {
        nn_trainer_step_and_polyak(
            &dpg->policy, learning_rate, nn_clip_scale(dpg->policy_norm, dpg->grad_norm_max),
            dpg->target_moves ? &dpg->policy_target : NULL, dpg->target_rate);
    }
    algo_observed_renew(&dpg->critics.observed, a);
    if (dpg->policy_learns || projects) {
        policy_changed(dpg);
    }
    if (dpg->target_moves || projects) {
        target_changed(dpg);
    }
}

// Each learner draws its own noise.
static void
dpg_share(algo *a, algo_sharing *s)
{
    algo_dpg *dpg = (algo_dpg *)a;
    uint64_t seed = dpg->rng.state;
    algo_share_trainer(s, &dpg->policy);
    algo_share_net(s, &dpg->policy_target);
    algo_critics_share(&dpg->critics, s);
    if (algo_share_own_seed(s, &seed)) {
        oct_rng_init(&dpg->rng, seed, NOISE_STREAM);
    }
}

#define DPG_OPS(text)                                                                              \
    {                                                                                              \
        .name = (text), .numbers = dpg_numbers, .number_count = NUMBERS, .splits = true,           \
        .make_spec = dpg_make_spec, .create = dpg_create, .destroy = dpg_destroy,                  \
        .gradient = dpg_gradient, .apply = dpg_apply, .share = dpg_share,                          \
        .set_projection = dpg_set_projection, .networks = dpg_networks,                            \
        .normaliser = dpg_normaliser, .policy_params = dpg_policy_params, .save = dpg_save,        \
        .load = dpg_load,                                                                          \
    }
const algo_ops algo_d4pg_ops = DPG_OPS("d4pg");
const algo_ops algo_ddpg_ops = DPG_OPS("ddpg");
const algo_ops algo_td3_ops = DPG_OPS("td3");
