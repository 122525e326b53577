// Updates on rollouts of the newest policy.
//
// The parts of an update, which the algorithm (PPO, A2C, TRPO) calls in this order:
//
// 1. algo_rollout_begin takes the rows that have an action. All ranks of a group agree on an error
//    here, and nothing has changed so far.
// 2. begin then computes everything that must stay constant while the networks learn. Observations
//    are normalised and the networks' first layers converted (normalise). Copies of parameters,
//    moments, generator and reward scale go aside for undo. Rewards are scaled; V of all rows and
//    of the observations to bootstrap from gives advantages and targets (algo_gae). centre and
//    weight say which policy ratios refer to (rollout_centre).
// 3. The algorithm asks for minibatches 0, 1, 2 ...; the first of each epoch shuffles the rows. For
//    each it takes a step of the policy in its own way (TRPO takes one step on the whole batch
//    before) and one of V with the gradient of algo_rollout_value.
// 4. algo_rollout_end converts the networks back to observations as they are, through the
//    statistics that now include this batch, and counts the update.
//
// If a number is not finite, the algorithm calls algo_rollout_undo instead of end: the copies are
// restored, and the update has not happened. The check comes after each gradient, on means over all
// ranks, so that all ranks undo together.
//
// In a group every rank shuffles its own rows with its own generator, derived from rank 0's; end
// copies rank 0's generator to all, so that the saved state is the same everywhere. All ranks make
// the same number of minibatches, at most the rows of the rank with the fewest; so a rank with more
// rows has larger ones, and begin returns OCT_EINVAL if these have no room. Example: with
// minibatches 4 and ranks of 100 and 3 rows there are three minibatches, of 33 or 34 rows and of 1
// row. Sums over rows are divided by the mean number of rows per rank (n_mean), so that the mean
// over ranks of the gradients is the gradient of the mean over all rows.
#include "algos/algo_rollout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_pulse.h"
#include "common/oct_reason.h"

// Streams of the seed for the first weights and for the order of rows.
#define INIT_STREAM  0x7070u
#define ORDER_STREAM 0x7071u

// ---- create and destroy

oct_err
algo_rollout_make_spec(const config_experiment *config, policy_spec *spec, algo_wants *wants,
                       oct_reason *why)
{
    OCT_TRY(algo_normaliser_check(config, spec, why));
    *wants = (algo_wants){
        .window = ALGO_WINDOW_ROLLOUT,
        .steps = config_rollout_rows(config->algo.sequence_steps) - 1,
        .lag_max = config->algo.rollout_lag,
    };
    return algo_pair_make_spec(config, spec, why);
}

static void
rollout_configure(algo_rollout *r, const config_experiment *config)
{
    r->discount = (float)config->algo.discount;
    r->lambda = (float)config->algo.gae_lambda;
    r->ratio_max = (float)config->algo.ratio_max;
    r->value_cost = (float)config->algo.value_cost;
    r->value_clip = (float)config->algo.value_clip;
    r->scale_rewards = config->algo.scale_rewards;
    r->correction = config->algo.correction;
    r->epochs = config->algo.epochs;
    r->minibatches = config->algo.minibatches;
}

// The floats of parameters and both moments.
static size_t
trainer_floats(const nn_trainer *trainer)
{
    return 3 * trainer->tape.net.param_count;
}

static void
rollout_reserve(algo_rollout *r, nn_context *context)
{
    size_t all = (size_t)r->rows.windows_max * r->rows.steps;
    r->reward = nn_context_alloc(context, all * sizeof(float));
    r->v = nn_context_alloc(context, (all + r->rows.windows_max) * sizeof(float));
    r->target = nn_context_alloc(context, all * sizeof(float));
    r->advantage = nn_context_alloc(context, all * sizeof(float));
    r->centre = nn_context_alloc(context, all * sizeof(float));
    r->weight = nn_context_alloc(context, all * sizeof(float));
    r->order = nn_context_alloc(context, all * sizeof(uint32_t));
    r->gathered = nn_context_alloc(context, (size_t)r->n_max * r->rows.obs_count * sizeof(float));
    r->dv = nn_context_alloc(context, r->n_max * sizeof(float));
    size_t saved = trainer_floats(&r->pair.policy) + trainer_floats(&r->pair.value);
    r->params_before = nn_context_alloc(context, saved * sizeof(float));
    if (r->normaliser.count > 0) {
        r->raw_before = nn_context_alloc(
            context, (r->pair.policy.tape.net.param_count + r->pair.value.tape.net.param_count) *
                         sizeof(float));
    }
}

static void
rollout_randomise(algo_rollout *r, uint64_t seed, double deviation)
{
    oct_rng rng;
    oct_rng_init(&rng, seed, INIT_STREAM);
    algo_pair_orthogonalise(&r->pair, &rng, deviation);
    oct_rng_init(&r->rng, seed, ORDER_STREAM);
}

oct_err
algo_rollout_init(algo_rollout *r, nn_context *context, const config_experiment *config,
                  const policy_spec *spec, uint64_t seed, bool is_whole)
{
    uint32_t windows = config->learner.batch_size;
    uint32_t steps = config_rollout_rows(config->algo.sequence_steps) - 1;
    *r = (algo_rollout){0};
    rollout_configure(r, config);
    if (r->epochs < 1 || r->minibatches < 1) {
        return OCT_EINVAL;
    }
    OCT_TRY(
        algo_rows_init(&r->rows, context, spec, windows, steps, (float)config->algo.reward_clip));
    r->n_max = (windows * steps + r->minibatches - 1) / r->minibatches;
    uint32_t policy_rows = is_whole ? windows * steps : r->n_max;
    oct_err err = algo_pair_init(&r->pair, context, config, spec, policy_rows, r->n_max);
    if (err != OCT_OK) {
        algo_rows_fini(&r->rows);
        return err;
    }
    if (config->algo.normalise_observations) {
        algo_normaliser_init(&r->normaliser, context, spec->obs_count);
    }
    rollout_reserve(r, context);
    if (!nn_context_measures(context)) {
        rollout_randomise(r, seed, config->algo.initial_deviation);
    }
    return OCT_OK;
}

void
algo_rollout_fini(algo_rollout *r)
{
    algo_pair_fini(&r->pair);
    algo_rows_fini(&r->rows);
    algo_normaliser_fini(&r->normaliser);
    void *blocks[] = {r->reward, r->v,        r->target, r->advantage,     r->centre,    r->weight,
                      r->order,  r->gathered, r->dv,     r->params_before, r->raw_before};
    for (size_t i = 0; i < OCT_COUNTOF(blocks); i++) {
        free(blocks[i]);
    }
}

void
algo_rollout_set_projection(algo *a, const algo_projection *projection)
{
    algo_pair_set_projection(&((algo_rollout *)a)->pair, projection);
}

uint32_t
algo_rollout_networks(algo *a, algo_network out[ALGO_NETWORKS_MAX])
{
    return algo_pair_networks(&((algo_rollout *)a)->pair, out);
}

algo_normaliser *
algo_rollout_normaliser(algo *a)
{
    algo_rollout *r = (algo_rollout *)a;
    return r->normaliser.count > 0 ? &r->normaliser : NULL;
}

const float *
algo_rollout_policy_params(const algo *a)
{
    return ((const algo_rollout *)a)->pair.policy.tape.net.params;
}

// ---- before an update: its constants

// Computes V of all rows and of the observations to bootstrap from, n_max rows at a time.
static void
rollout_values(algo_rollout *r)
{
    uint32_t observed = r->rows.N + r->rows.M;
    for (uint32_t from = 0; from < observed; from += r->n_max) {
        uint32_t count = OCT_MIN(observed - from, r->n_max);
        const float *x = r->rows.x + (size_t)from * r->rows.obs_count;
        memcpy(r->v + from, nn_trainer_forward(&r->pair.value, x, count), count * sizeof(float));
    }
}

// Computes advantages and targets, from scaled rewards if configured.
static void
rollout_advantages(algo_rollout *r, float *numbers)
{
    const algo_rows *rows = &r->rows;
    const float *reward = rows->reward;
    if (r->scale_rewards) {
        algo_reward_scale_apply(&r->scale, r->base.group, rows, r->discount, r->reward);
        reward = r->reward;
    }
    rollout_values(r);
    const algo_estimates e = {reward, r->v, r->advantage, r->target};
    algo_gae(rows, r->discount, r->lambda, e);
    algo_pg_explain(r->base.group, e, r->advantage, rows->N, numbers);
}

// Sets centre and weight by algo.correction: RATIO refers to the policy that acted; NONE to the
// policy before the update; DECOUPLED also to that, with the importance weight from the policy that
// acted.
static void
rollout_centre(algo_rollout *r)
{
    const algo_rows *rows = &r->rows;
    algo_done done = algo_rows_done(rows);
    if (r->correction == CONFIG_CORRECTION_RATIO) {
        memcpy(r->centre, rows->log_mu, rows->N * sizeof(float));
    }
    for (uint32_t i = 0; i < rows->N; i++) {
        r->weight[i] = 1.0f;
    }
    for (uint32_t from = 0; r->correction != CONFIG_CORRECTION_RATIO && from < rows->N;
         from += r->n_max) {
        uint32_t count = OCT_MIN(rows->N - from, r->n_max);
        algo_done part = {.choice = done.choice + from,
                          .drawn = done.drawn + (rows->is_box ? from * rows->action_count : 0),
                          .rows = count};
        float *entropy = r->dv; // scratch: the entropy is not needed
        algo_pair_forward(&r->pair, rows->x + (size_t)from * rows->obs_count, part,
                          r->centre + from, entropy);
        for (uint32_t i = from; r->correction == CONFIG_CORRECTION_DECOUPLED && i < from + count;
             i++) {
            float ratio = (float)exp((double)algo_log_ratio(r->centre[i], rows->log_mu[i]));
            r->weight[i] = ratio > r->ratio_max ? r->ratio_max : ratio;
        }
    }
}

// Copies a trainer's parameters and moments to kept, or back. Returns the end of what it used of
// kept.
static float *
trainer_copy(nn_trainer *trainer, float *kept, bool back)
{
    size_t count = trainer->tape.net.param_count;
    float *blocks[] = {trainer->tape.net.params, trainer->m, trainer->v};
    for (size_t i = 0; i < OCT_COUNTOF(blocks); i++, kept += count) {
        memcpy(back ? blocks[i] : kept, back ? kept : blocks[i], count * sizeof(float));
    }
    return kept;
}

static void
pair_copy(algo_rollout *r, bool back)
{
    float *kept = trainer_copy(&r->pair.policy, r->params_before, back);
    (void)trainer_copy(&r->pair.value, kept, back);
}

// Copies the parameters of both networks, as they are between updates, to raw_before, or back.
static void
raw_copy(algo_rollout *r, bool back)
{
    nn_net *nets[] = {&r->pair.policy.tape.net, &r->pair.value.tape.net};
    float *kept = r->raw_before;
    for (size_t i = 0; i < OCT_COUNTOF(nets); kept += nets[i]->param_count, i++) {
        memcpy(back ? nets[i]->params : kept, back ? kept : nets[i]->params,
               nets[i]->param_count * sizeof(float));
    }
}

static void
normalise(algo_rollout *r)
{
    if (r->normaliser.count > 0) {
        raw_copy(r, false);
        algo_normaliser_take(&r->normaliser, r->base.group, r->rows.x, r->rows.N + r->rows.M);
        algo_pair_enter(&r->pair, &r->normaliser);
    }
}

// Converts the networks back. First weights of a new run were meant for normalised observations,
// and so are the weights after each update: hence the newest statistics.
static void
normalise_end(algo_rollout *r)
{
    if (r->normaliser.count > 0) {
        algo_pair_leave(&r->pair, &r->normaliser);
    }
}

// Returns the configured number of minibatches, or the fewest rows of a rank, so that no minibatch
// is empty.
static uint32_t
minibatches_of_epoch(const algo_rollout *r)
{
    uint32_t count = r->minibatches;
    for (uint32_t i = 0; i < group_size(r->base.group); i++) {
        count = OCT_MIN(count, r->N_of[i]);
    }
    return count;
}

// Returns true if the largest minibatch has room. All ranks make the same number of minibatches, so
// a rank with few rows makes this number small and the minibatches of a rank with many rows large.
static bool
minibatches_fit(const algo_rollout *r)
{
    uint64_t parts = minibatches_of_epoch(r), most = 0;
    for (uint32_t i = 0; i < group_size(r->base.group); i++) {
        most = OCT_MAX(most, r->N_of[i]);
    }
    return (most + parts - 1) / parts <= r->n_max;
}

oct_err
algo_rollout_begin(algo_rollout *r, const algo_batch *batch, float *numbers)
{
    OCT_TRY(algo_agree(&r->base, algo_rows_take(&r->rows, batch)));
    group_gather_all(r->base.group, &r->rows.N, r->N_of, sizeof(r->rows.N));
    if (!minibatches_fit(r)) {
        return OCT_EINVAL;
    }
    normalise(r);
    pair_copy(r, false);
    r->steps_before[0] = r->pair.policy.steps;
    r->steps_before[1] = r->pair.value.steps;
    r->rng_before = r->rng;
    r->scale_before = r->scale;
    if (group_rank(r->base.group) > 0) { // its own order; only rank 0's generator stays
        uint64_t seed = oct_rng_mix(oct_rng_mix(0, r->rng.state), group_rank(r->base.group));
        oct_rng_init(&r->rng, seed, ORDER_STREAM);
    }
    rollout_advantages(r, numbers);
    rollout_centre(r);
    for (uint32_t i = 0; i < r->rows.N; i++) {
        r->order[i] = i;
    }
    return OCT_OK;
}

void
algo_rollout_undo(algo_rollout *r)
{
    pair_copy(r, true);
    r->pair.policy.steps = r->steps_before[0];
    r->pair.value.steps = r->steps_before[1];
    r->rng = r->rng_before;
    r->scale = r->scale_before;
    if (r->normaliser.count > 0) {
        raw_copy(r, true);
        r->pair.inside = NULL;
    }
    algo_pair_changed(&r->pair);
}

void
algo_rollout_end(algo_rollout *r, const algo_batch *batch, float *priorities)
{
    group_broadcast(r->base.group, &r->rng, sizeof(r->rng));
    normalise_end(r);
    r->base.updates++;
    for (uint32_t b = 0; priorities != NULL && b < batch->B; b++) {
        priorities[b] = 0.0f; // each window is used once
    }
}

// ---- a minibatch

// Returns the first row of a part of N rows.
static uint32_t
part_begin(uint64_t N, uint64_t part, uint64_t parts)
{
    return (uint32_t)(part * N / parts);
}

uint32_t
algo_rollout_minibatches(const algo_rollout *r)
{
    return r->epochs * minibatches_of_epoch(r);
}

// Shuffles the rows (Fisher and Yates).
static void
order_shuffle(algo_rollout *r)
{
    for (uint32_t i = r->rows.N; i > 1; i--) {
        uint32_t other = oct_rng_below(&r->rng, i), last = r->order[i - 1];
        r->order[i - 1] = r->order[other];
        r->order[other] = last;
    }
}

void
algo_rollout_minibatch(algo_rollout *r, uint32_t k)
{
    oct_pulse_beat_again(); // an update of pictures may take minutes, a minibatch does not
    uint32_t parts = minibatches_of_epoch(r), part = k % parts;
    if (part == 0 && parts > 1) {
        order_shuffle(r);
    }
    uint32_t from = part_begin(r->rows.N, part, parts);
    size_t obs = r->rows.obs_count;
    r->chosen = r->order + from;
    r->n = part_begin(r->rows.N, part + 1, parts) - from;
    r->n_all = 0;
    for (uint32_t i = 0; i < group_size(r->base.group); i++) {
        r->n_all += part_begin(r->N_of[i], part + 1, parts) - part_begin(r->N_of[i], part, parts);
    }
    r->n_mean = (float)r->n_all / (float)group_size(r->base.group);
    r->x = parts == 1 ? r->rows.x : r->gathered; // a single minibatch keeps the batch's order
    for (size_t i = 0; parts > 1 && i < r->n; i++) {
        memcpy(r->gathered + i * obs, r->rows.x + r->chosen[i] * obs, obs * sizeof(float));
    }
}

float
algo_rollout_value(algo_rollout *r, algo_pg_sums *sums)
{
    uint32_t n = r->n;
    const float *v = nn_trainer_forward(&r->pair.value, r->x, n);
    // Clipping V: the loss takes the larger of two errors, that of V and that of V kept within
    // value_clip of its value before the update.
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = r->chosen[i];
        float error = v[i] - r->target[row], slope = error;
        if (r->value_clip > 0) {
            float off = v[i] - r->v[row], most = r->value_clip;
            float cut = off > most ? most : off < -most ? -most : off;
            float other = r->v[row] + cut - r->target[row];
            if (other * other > error * error) {
                error = other;
                slope = cut == off ? other : 0.0f;
            }
        }
        r->dv[i] = r->value_cost * slope / r->n_mean;
        sums->value_loss += 0.5 * (double)error * (double)error;
    }
    return nn_trainer_backward(&r->pair.value, r->dv, n, NULL);
}

// ---- state

void
algo_rollout_save(const algo *a, oct_writer *writer)
{
    const algo_rollout *r = (const algo_rollout *)a;
    algo_pair_save(&r->pair, writer);
    oct_write_u64(writer, r->rng.state);
    oct_write_u64(writer, r->rng.stream);
    algo_reward_scale_save(&r->scale, writer);
    if (r->normaliser.count > 0) {
        algo_normaliser_save(&r->normaliser, writer);
    }
}

oct_err
algo_rollout_load(algo *a, oct_reader *reader)
{
    algo_rollout *r = (algo_rollout *)a;
    algo_pair_view view;
    algo_reward_scale scale;
    OCT_TRY(algo_pair_read(&view, &r->pair, reader));
    oct_rng rng = {.state = oct_read_u64(reader)};
    rng.stream = oct_read_u64(reader);
    OCT_TRY(algo_reward_scale_read(&scale, reader));
    size_t more = r->normaliser.count > 0 ? algo_normaliser_bytes(&r->normaliser) : 0;
    if (reader->left != more || rng.stream % 2 == 0 ||
        (more > 0 && algo_normaliser_read(&r->normaliser, reader) != OCT_OK)) {
        return OCT_EPROTO;
    }
    algo_pair_apply(&r->pair, &view);
    r->rng = rng;
    r->scale = scale;
    return OCT_OK;
}
