// SAC (Haarnoja et al. 2018): a policy of tanh-squashed Gaussians that maximises the smallest
// learned value plus its own entropy, weighted by a temperature that is learned or given.
//
// An update draws actions at obs (where the policy learns) and at next (where critics get their
// targets) in one forward pass, takes all gradients at the parameters before it, and moves nothing
// unless all are finite on all ranks.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/algo_critics.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "policy/policy_draw.h"

#define INIT_STREAM 0x7361u // stream of the seed for the first weights
#define DRAW_STREAM 0x7364u // stream of the seed for the actions that updates draw

// The weight of the entropy. If it is learned, its logarithm is, with Adam moments of its own.
typedef struct temperature {
    bool is_learned;
    float given;     // the value, if not learned
    float entropy;   // nats, the entropy that the policy should have
    uint64_t steps;  // Adam steps taken
    float log_value; // the learned logarithm
    float moment[2]; // Adam's first and second moment of log_value
    nn_adam adam;
} temperature;

// Rows are drawn from the policy in each update: first those at obs, where the policy learns, then
// those at next. Actions and log-probabilities are in units of half the action's range
// (algo_critics.h).
typedef struct algo_sac {
    algo base;
    uint32_t rows_max;
    uint32_t obs_count;
    uint32_t action_count;
    float grad_norm_max;    // 0: no clipping
    uint32_t policy_delay;  // updates per policy update
    uint32_t target_period; // updates per target update
    policy_rng rng;         // of the actions that updates draw

    nn_trainer policy;
    algo_critics critics;
    temperature temperature;
    algo_projection projection; // project is NULL: none
    float *policy_weights;      // [params], projected; NULL without a projection

    float *x;        // [2 rows_max][obs_count], obs followed by next
    float *action;   // [2 rows_max][action_count], tanh(u) with u = mean + s e, e standard normal
    float *push;     // [2 rows_max][action_count], s e, which is du / d log s
    float *log_prob; // [2 rows_max], log-probability of action
    float *bonus;    // [rows_max], the entropy term of the critics' targets at next
    float *dy;       // [rows_max][2 action_count], the gradient at the policy's outputs

    // Set by the last gradient, for apply.
    bool policy_learns;
    bool targets_follow;
    float policy_norm;
    float entropy; // nats, mean over all ranks' rows
} algo_sac;

enum { NUMBER_ALPHA = ALGO_VALUE_NUMBERS, NUMBER_ENTROPY, NUMBER_POLICY_VALUE, NUMBERS };

static const algo_number sac_numbers[NUMBERS] = {
    ALGO_VALUE_ROWS,
    [NUMBER_ALPHA] = {"alpha", "return per nat", "Mean temperature, the weight of the entropy."},
    [NUMBER_ENTROPY] = {"entropy", "nats",
                        "Mean entropy of the policy in the states where it acted."},
    [NUMBER_POLICY_VALUE] =
        {"policy_value", "return",
         "Mean of the smallest Q(s, a) of all critics, at actions sampled from the policy."},
};

// ---- the temperature

static void
temperature_init(temperature *t, const config_experiment *config, uint32_t action_count)
{
    *t = (temperature){
        .is_learned = isnan(config->algo.temperature) != 0,
        .given = (float)config->algo.temperature,
        .entropy = isnan(config->algo.target_entropy) ? -(float)action_count
                                                      : (float)config->algo.target_entropy,
        .log_value = (float)log(config->algo.initial_temperature),
        .adam = algo_adam(config),
    };
}

static float
temperature_value(const temperature *t)
{
    return t->is_learned ? policy_exp(t->log_value) : t->given;
}

// Steps down the gradient of -log(value) mean(log pi + target entropy), taken by log(value).
static void
temperature_step(temperature *t, float entropy, float learning_rate)
{
    float gradient = entropy - t->entropy;
    if (t->is_learned) {
        nn_adam_factors factors = nn_adam_next(&t->adam, ++t->steps, learning_rate, 1.0f);
        nn_vec()->adam(&t->log_value, &t->moment[0], &t->moment[1], &gradient, 1, &factors);
    }
}

static void
temperature_save(const temperature *t, oct_writer *writer)
{
    oct_write_u64(writer, t->steps);
    oct_write_f32(writer, t->log_value);
    oct_write_f32(writer, t->moment[0]);
    oct_write_f32(writer, t->moment[1]);
}

// Fills only the fields that are saved; on OCT_EPROTO they are undefined.
static oct_err
temperature_read(temperature *out, oct_reader *reader)
{
    out->steps = oct_read_u64(reader);
    out->log_value = oct_read_f32(reader);
    out->moment[0] = oct_read_f32(reader);
    out->moment[1] = oct_read_f32(reader);
    bool sound = !reader->failed && isfinite(out->log_value) && isfinite(out->moment[0]) &&
                 isfinite(out->moment[1]) && out->moment[1] >= 0;
    return sound ? OCT_OK : OCT_EPROTO;
}

// ---- create and destroy

static const algo_critics_kind critics_kind = {"sac", POLICY_HEAD_TANH_GAUSSIAN, false, 2};

static oct_err
sac_make_spec(const config_experiment *config, policy_spec *spec, algo_wants *wants,
              oct_reason *why)
{
    (void)wants; // keeps n-step windows
    return algo_critics_make_specs(config, &critics_kind, spec, why);
}

static void
sac_configure(algo_sac *sac, const config_experiment *config, const policy_spec *spec)
{
    sac->base.ops = &algo_sac_ops;
    sac->rows_max = config->learner.batch_size;
    sac->obs_count = spec->obs_count;
    sac->action_count = spec->action_count;
    sac->grad_norm_max = (float)config->algo.grad_norm_max;
    sac->policy_delay = OCT_MAX(1u, config->algo.policy_delay);
    sac->target_period = config->algo.target_period;
    temperature_init(&sac->temperature, config, spec->action_count);
}

static void
sac_reserve(algo_sac *sac, nn_context *context)
{
    size_t rows = sac->rows_max, actions = rows * sac->action_count;
    sac->x = nn_context_alloc(context, 2 * rows * sac->obs_count * sizeof(float));
    sac->action = nn_context_alloc(context, 2 * actions * sizeof(float));
    sac->push = nn_context_alloc(context, 2 * actions * sizeof(float));
    sac->log_prob = nn_context_alloc(context, 2 * rows * sizeof(float));
    sac->bonus = nn_context_alloc(context, rows * sizeof(float));
    sac->dy = nn_context_alloc(context, 2 * actions * sizeof(float));
}

static void
sac_randomise(algo_sac *sac, uint64_t seed)
{
    oct_rng rng;
    oct_rng_init(&rng, seed, INIT_STREAM);
    algo_randomise_policy(&sac->policy.tape.net, &rng);
    algo_critics_randomise(&sac->critics, &rng);
    policy_rng_init(&sac->rng, seed, DRAW_STREAM);
}

static oct_err
sac_create(algo **out, nn_context *context, const config_experiment *config,
           const policy_spec *spec, uint64_t seed)
{
    if (policy_spec_check(spec, NULL) != OCT_OK || spec->head != POLICY_HEAD_TANH_GAUSSIAN ||
        config->algo.target_period < 1 || !(config->algo.initial_temperature > 0)) {
        return OCT_EINVAL;
    }
    algo_sac *sac = oct_alloc(sizeof(*sac));
    oct_err err = algo_critics_init(&sac->critics, context, config, spec, &critics_kind);
    if (err != OCT_OK) {
        free(sac);
        return err;
    }
    nn_adam adam = algo_adam(config);
    sac_configure(sac, config, spec);
    sac_reserve(sac, context);
    nn_trainer_init(&sac->policy, context, spec, 2 * sac->rows_max, &adam);
    if (!nn_context_measures(context)) {
        sac_randomise(sac, seed);
    }
    *out = &sac->base;
    return OCT_OK;
}

static void
sac_destroy(algo *a)
{
    algo_sac *sac = (algo_sac *)a;
    nn_trainer_fini(&sac->policy);
    algo_critics_fini(&sac->critics);
    float *blocks[] = {sac->policy_weights, sac->x,     sac->action, sac->push,
                       sac->log_prob,       sac->bonus, sac->dy};
    for (size_t i = 0; i < OCT_COUNTOF(blocks); i++) {
        free(blocks[i]);
    }
    free(sac);
}

static void
policy_changed(algo_sac *sac)
{
    if (sac->projection.project != NULL) {
        algo_observed_project(&sac->critics.observed, &sac->projection, &sac->policy.tape.net,
                              sac->policy_weights);
    }
}

static void
sac_set_projection(algo *a, const algo_projection *projection)
{
    algo_sac *sac = (algo_sac *)a;
    OCT_ASSERT(sac->projection.project == NULL);
    sac->projection = *projection;
    sac->policy_weights = oct_alloc(sac->policy.tape.net.param_count * sizeof(float));
    sac->policy.tape.net.weights = sac->policy_weights;
    policy_changed(sac);
}

static uint32_t
sac_networks(algo *a, algo_network out[ALGO_NETWORKS_MAX])
{
    algo_sac *sac = (algo_sac *)a;
    out[0] = algo_network_of("policy", &sac->policy, NULL);
    out[0].acts = true;
    out[0].inside = algo_observed_inside(&sac->critics.observed);
    return 1 + algo_critics_networks(&sac->critics, out + 1);
}

static algo_normaliser *
sac_normaliser(algo *a)
{
    return algo_observed_normaliser(&((algo_sac *)a)->critics.observed);
}

static const float *
sac_policy_params(const algo *a)
{
    const algo_sac *sac = (const algo_sac *)a;
    return algo_observed_policy(&sac->critics.observed, &sac->policy.tape.net);
}

// ---- the update

// Returns the policy's outputs where actions are drawn: at obs and at next in one pass, or at next
// alone.
static const float *
policy_outputs(algo_sac *sac, const algo_batch *batch, bool policy_learns)
{
    size_t count = (size_t)batch->B * sac->obs_count;
    if (!policy_learns) {
        return nn_trainer_forward(&sac->policy, batch->next, batch->B);
    }
    memcpy(sac->x, batch->obs, count * sizeof(*sac->x));
    memcpy(sac->x + count, batch->next, count * sizeof(*sac->x));
    return nn_trainer_forward(&sac->policy, sac->x, 2 * batch->B);
}

// Draws action, push and log_prob of rows with the outputs y[rows][2 action_count], in the
// arithmetic with which actors draw (policy_draw.h).
static void
draw_rows(algo_sac *sac, const float *y, size_t first, size_t rows, policy_rng *rng)
{
    size_t A = sac->action_count, at = first * A;
    for (size_t row = first; row < first + rows; row++, y += 2 * A) {
        float log_prob = 0.0f;
        for (size_t k = 0; k < A; k++, at++) {
            float log_s = policy_clamp(y[A + k], POLICY_LOG_STD_MIN, POLICY_LOG_STD_MAX);
            float e = policy_rng_normal(rng);
            float push = policy_exp(log_s) * e, u = y[k] + push;
            log_prob += (-0.5f * (e * e) - log_s) - POLICY_LOG_SQRT_2PI;
            log_prob -= policy_log_squash(u);
            sac->action[at] = policy_tanh(u);
            sac->push[at] = push;
        }
        sac->log_prob[row] = log_prob;
    }
}

// Draws B rows at a time, those at obs before those at next. Each rank advances the generator over
// the rows of ranks before it, draws its own rows, and advances it over the rows of ranks after it,
// so that all generators stay equal.
static void
draw(algo_sac *sac, const float *y, uint32_t B, uint32_t times, policy_rng *rng)
{
    size_t each = (size_t)B * sac->action_count;
    for (uint32_t time = 0; time < times; time++) {
        for (uint32_t r = 0; r < group_size(sac->base.group); r++) {
            if (r == group_rank(sac->base.group)) {
                draw_rows(sac, y + time * 2 * each, (size_t)time * B, B, rng);
            }
            for (size_t i = 0; r != group_rank(sac->base.group) && i < each; i++) {
                (void)policy_rng_u32(rng); // policy_rng_normal takes one number
            }
        }
    }
}

// Computes dy, the gradient of mean(alpha log pi(a|s) - the smallest Q(s, a)) over rows of y, with
// a = tanh(mean + s e):
//   du = alpha 2 a - dQ/da (1 - a^2);  d mean = du;  d log s = du s e - alpha
// d log s is 0 where the clamp holds log s.
static void
policy_slope(algo_sac *sac, const float *y, uint32_t B, float alpha)
{
    size_t A = sac->action_count, at = 0;
    const float *dvalue = sac->critics.dvalue;
    float *dy = sac->dy;
    for (size_t row = 0; row < B; row++, y += 2 * A, dy += 2 * A) {
        for (size_t k = 0; k < A; k++, at++) {
            float a = sac->action[at], log_s = y[A + k];
            float du = 2.0f * alpha * a - dvalue[at] * (1.0f - a * a);
            bool inside = log_s >= POLICY_LOG_STD_MIN && log_s <= POLICY_LOG_STD_MAX;
            dy[k] = du / (float)B;
            dy[A + k] = inside ? (du * sac->push[at] - alpha) / (float)B : 0.0f;
        }
    }
}

static float
mean_of(const float *x, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += (double)x[i];
    }
    return (float)(sum / count);
}

// Computes the policy's gradient, and its numbers.
static void
update_policy(algo_sac *sac, const algo_batch *batch, const float *y, float alpha, float *numbers)
{
    uint32_t B = batch->B;
    algo_critics_slope(&sac->critics, batch->obs, sac->action, B, sac->critics.count);
    policy_slope(sac, y, B, alpha);
    numbers[NUMBER_ENTROPY] = -mean_of(sac->log_prob, B);
    numbers[NUMBER_POLICY_VALUE] = mean_of(sac->critics.least, B);
    numbers[ALGO_POLICY_GRAD_NORM] = nn_trainer_backward(&sac->policy, sac->dy, B, NULL);
}

// Computes the critics' gradients. Their targets are the values of the actions at next plus alpha
// times the entropy there. first: the row of `action` where those at next begin.
static void
update_critics(algo_sac *sac, const algo_batch *batch, uint32_t first, bool has_error,
               float *numbers)
{
    const float alpha = temperature_value(&sac->temperature);
    for (uint32_t i = 0; i < batch->B; i++) {
        sac->bonus[i] = -alpha * sac->log_prob[first + i];
    }
    algo_critics_target(&sac->critics, batch, sac->action + (size_t)first * sac->action_count,
                        sac->bonus);
    algo_critics_learn(&sac->critics, batch, has_error, numbers);
}

static oct_err
sac_gradient(algo *a, const algo_batch *batch, float *priorities, float *numbers)
{
    algo_sac *sac = (algo_sac *)a;
    const uint32_t B = batch->B;
    const bool policy_learns = a->turn % sac->policy_delay == 0;
    const float alpha = temperature_value(&sac->temperature);
    policy_rng rng = sac->rng;
    float now[NUMBERS] = {0};
    OCT_TRY(algo_agree(a, algo_critics_take(&sac->critics, batch)));
    const algo_batch seen = algo_observed_take(&sac->critics.observed, a->group, batch);
    batch = &seen;
    const float *y = policy_outputs(sac, batch, policy_learns);
    draw(sac, y, B, policy_learns ? 2 : 1, &rng);
    update_critics(sac, batch, policy_learns ? B : 0, priorities != NULL, now);
    if (policy_learns) {
        update_policy(sac, batch, y, alpha, now);
    }
    now[NUMBER_ALPHA] = alpha;
    algo_mean(a, now, OCT_COUNTOF(now));
    if (!algo_numbers_finite(now, OCT_COUNTOF(now))) {
        return OCT_EINTERNAL;
    }
    sac->rng = rng;
    sac->policy_learns = policy_learns;
    sac->targets_follow = policy_learns && a->turn % sac->target_period == 0;
    sac->policy_norm = now[ALGO_POLICY_GRAD_NORM];
    sac->entropy = now[NUMBER_ENTROPY];
    if (priorities != NULL) {
        memcpy(priorities, sac->critics.priority, B * sizeof(*priorities));
    }
    algo_numbers_lack_cut(now);
    if (!policy_learns) {
        now[ALGO_POLICY_GRAD_NORM] = now[NUMBER_ENTROPY] = now[NUMBER_POLICY_VALUE] = NAN;
    }
    memcpy(numbers, now, sizeof(now));
    return OCT_OK;
}

static void
sac_apply(algo *a, float learning_rate)
{
    algo_sac *sac = (algo_sac *)a;
    algo_critics_step(&sac->critics, learning_rate, sac->targets_follow);
    if (sac->policy_learns) {
        nn_trainer_step(&sac->policy, learning_rate,
                        nn_clip_scale(sac->policy_norm, sac->grad_norm_max));
        temperature_step(&sac->temperature, sac->entropy, learning_rate);
    }
    algo_observed_renew(&sac->critics.observed, a);
    if (sac->policy_learns || algo_observed_inside(&sac->critics.observed) != NULL) {
        policy_changed(sac); // projected weights follow the statistics, too
    }
}

// Each learner draws its own actions.
static void
sac_share(algo *a, algo_sharing *s)
{
    algo_sac *sac = (algo_sac *)a;
    uint64_t seed = sac->rng.state;
    algo_share_trainer(s, &sac->policy);
    algo_critics_share(&sac->critics, s);
    algo_share_number(s, &sac->temperature, sizeof(sac->temperature));
    if (algo_share_own_seed(s, &seed)) {
        policy_rng_init(&sac->rng, seed, DRAW_STREAM);
    }
}

// ---- state

static void
sac_save(const algo *a, oct_writer *writer)
{
    const algo_sac *sac = (const algo_sac *)a;
    oct_write_u64(writer, sac->rng.state);
    oct_write_u64(writer, sac->rng.stream);
    temperature_save(&sac->temperature, writer);
    nn_trainer_save(&sac->policy, writer);
    algo_critics_save(&sac->critics, writer);
    algo_observed_save(&sac->critics.observed, writer);
}

static oct_err
sac_load(algo *a, oct_reader *reader)
{
    algo_sac *sac = (algo_sac *)a;
    nn_trainer_view policy;
    algo_critics_view critics;
    temperature read = sac->temperature;
    policy_rng rng = {.state = oct_read_u64(reader)};
    rng.stream = oct_read_u64(reader);
    OCT_TRY(temperature_read(&read, reader));
    OCT_TRY(nn_trainer_read(&policy, &sac->policy, reader));
    OCT_TRY(algo_critics_read(&critics, &sac->critics, reader));
    if (reader->left != algo_observed_bytes(&sac->critics.observed) || rng.stream % 2 == 0) {
        return OCT_EPROTO; // PCG streams are odd
    }
    OCT_TRY(algo_observed_read(&sac->critics.observed, reader));
    sac->rng = rng;
    sac->temperature = read;
    nn_trainer_apply(&sac->policy, &policy);
    algo_critics_apply(&sac->critics, &critics);
    policy_changed(sac);
    return OCT_OK;
}

const algo_ops algo_sac_ops = {
    .name = "sac",
    .numbers = sac_numbers,
    .number_count = NUMBERS,
    .splits = true,
    .make_spec = sac_make_spec,
    .create = sac_create,
    .destroy = sac_destroy,
    .gradient = sac_gradient,
    .apply = sac_apply,
    .share = sac_share,
    .set_projection = sac_set_projection,
    .networks = sac_networks,
    .normaliser = sac_normaliser,
    .policy_params = sac_policy_params,
    .save = sac_save,
    .load = sac_load,
};
