// A policy network and a value network: specs, passes through the policy's distribution, state.
#include "algos/algo_pair.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/algo_ops.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "config/config.h"
#include "policy/policy_draw.h"

// Lengths of the rows of first weights: hidden layers, the policy's last layer, the value's last
// layer.
#define GAIN        1.41421356f
#define POLICY_GAIN 0.01f
#define VALUE_GAIN  1.0f

// Fills the spec of V(s), which reads the same observations as the policy.
static oct_err
value_make_spec(const config_experiment *config, const policy_spec *policy, policy_spec *spec,
                oct_reason *why)
{
    policy_words words;
    *spec = (policy_spec){
        .env_id = "value",
        .obs_dtype = policy->obs_dtype,
        .obs_count = policy->obs_count,
        .obs_rank = policy->obs_rank,
        .action_kind = POLICY_DISCRETE,
        .action_count = 1,
        .head = POLICY_HEAD_VALUES,
    };
    memcpy(spec->obs_shape, policy->obs_shape, sizeof(spec->obs_shape));
    OCT_TRY(config_words(config, config_critic_hidden(config), &words, why));
    OCT_TRY(algo_make_layers(config, &words, spec, 1, why));
    return policy_spec_check(spec, why);
}

oct_err
algo_pair_make_spec(const config_experiment *config, policy_spec *spec, oct_reason *why)
{
    bool is_box = spec->action_kind == POLICY_BOX;
    spec->head = is_box ? POLICY_HEAD_GAUSSIAN : POLICY_HEAD_LOGITS;
    spec->state_deviation = false;
    spec->atoms = 0;
    spec->value_min = spec->value_max = 0.0f;
    spec->normalise = false;
    policy_words words;
    OCT_TRY(config_words(config, NULL, &words, why));
    OCT_TRY(algo_make_layers(config, &words, spec, spec->action_count, why));
    OCT_TRY(policy_spec_check(spec, why));
    policy_spec value;
    return value_make_spec(config, spec, &value, why);
}

oct_err
algo_pair_init(algo_pair *pair, nn_context *context, const config_experiment *config,
               const policy_spec *spec, uint32_t policy_rows, uint32_t value_rows)
{
    policy_spec value;
    if (policy_spec_check(spec, NULL) != OCT_OK || !algo_head_is_known(spec) ||
        !(config->algo.initial_deviation > 0) ||
        value_make_spec(config, spec, &value, NULL) != OCT_OK) {
        return OCT_EINVAL;
    }
    nn_adam adam = algo_adam(config);
    *pair = (algo_pair){
        .value_rate_ratio =
            config->algo.critic_learning_rate_is_same
                ? 1.0f
                : (float)(config->algo.critic_learning_rate / config->algo.learning_rate),
        .dy = nn_context_alloc(context, (size_t)policy_rows * spec->action_count * sizeof(float)),
    };
    algo_head_init(&pair->head, context, spec, policy_rows);
    nn_trainer_init(&pair->policy, context, spec, policy_rows, &adam);
    nn_trainer_init(&pair->value, context, &value, value_rows, &adam);
    if (policy_spec_has_deviation(spec)) {
        pair->deviation_at = policy_spec_deviation(spec);
        pair->deviation_count = spec->action_count;
    }
    return OCT_OK;
}

void
algo_pair_set_deviation(algo_pair *pair, double deviation)
{
    for (size_t i = 0; i < pair->deviation_count; i++) {
        pair->policy.tape.net.params[pair->deviation_at + i] = (float)log(deviation);
    }
}

void
algo_pair_orthogonalise(algo_pair *pair, oct_rng *rng, double deviation)
{
    nn_net_orthogonalise(&pair->policy.tape.net, rng, GAIN, POLICY_GAIN);
    nn_net_orthogonalise(&pair->value.tape.net, rng, GAIN, VALUE_GAIN);
    algo_pair_set_deviation(pair, deviation);
}

void
algo_pair_fini(algo_pair *pair)
{
    nn_trainer_fini(&pair->policy);
    nn_trainer_fini(&pair->value);
    algo_head_fini(&pair->head);
    free(pair->policy_weights);
    free(pair->policy_raw);
    free(pair->dy);
}

static void
policy_project(algo_pair *pair)
{
    if (pair->projection.project != NULL) {
        algo_normaliser_project(pair->inside, &pair->projection, &pair->policy.tape.net,
                                pair->policy_raw, pair->policy_weights);
    }
}

void
algo_pair_set_projection(algo_pair *pair, const algo_projection *projection)
{
    OCT_ASSERT(pair->projection.project == NULL);
    pair->projection = *projection;
    pair->policy_weights = oct_alloc(pair->policy.tape.net.param_count * sizeof(float));
    pair->policy_raw = oct_alloc(pair->policy.tape.net.param_count * sizeof(float));
    pair->policy.tape.net.weights = pair->policy_weights;
    policy_project(pair);
}

void
algo_pair_changed(algo_pair *pair)
{
    float *log_std = pair->policy.tape.net.params + pair->deviation_at;
    for (size_t i = 0; i < pair->deviation_count; i++) { // outside this range they have no effect
        log_std[i] = policy_clamp(log_std[i], POLICY_LOG_STD_MIN, POLICY_LOG_STD_MAX);
    }
    policy_project(pair);
}

// which: one bit per network, in the order of algo_pair_networks.
static void
nets_bring(algo_pair *pair, const algo_normaliser *n, uint32_t which,
           void (*bring)(const algo_normaliser *n, const nn_net *net, float *params))
{
    nn_net *nets[] = {&pair->policy.tape.net, &pair->value.tape.net};
    for (uint32_t i = 0; i < OCT_COUNTOF(nets); i++) {
        if ((which >> i & 1) != 0) {
            bring(n, nets[i], nets[i]->params);
        }
    }
}

void
algo_pair_enter(algo_pair *pair, const algo_normaliser *n)
{
    nets_bring(pair, n, UINT32_MAX, algo_normaliser_enter);
    pair->inside = n;
    algo_pair_changed(pair);
}

void
algo_pair_leave(algo_pair *pair, algo_normaliser *n)
{
    uint32_t kept = algo_normaliser_kept(n);
    nets_bring(pair, n, kept, algo_normaliser_leave);
    algo_normaliser_renew(n);
    nets_bring(pair, n, ~kept, algo_normaliser_leave);
    pair->inside = NULL;
    algo_pair_changed(pair);
}

static const float *
log_std_of(const algo_pair *pair)
{
    return pair->deviation_count > 0 ? pair->policy.tape.net.weights + pair->deviation_at : NULL;
}

void
algo_pair_forward(algo_pair *pair, const float *x, algo_done done, float *log_pi, float *entropy)
{
    algo_outputs outputs = {nn_trainer_forward(&pair->policy, x, done.rows), log_std_of(pair)};
    algo_head_forward(&pair->head, outputs, done, log_pi, entropy);
}

float
algo_pair_backward(algo_pair *pair, const float *dlog_pi, float dentropy)
{
    bool deviates = pair->deviation_count > 0;
    float *dlog_std = deviates ? pair->policy.gradient + pair->deviation_at : NULL;
    algo_head_backward(&pair->head, dlog_pi, dentropy, pair->dy, dlog_std);
    uint32_t rows = pair->head.done.rows;
    float norm = nn_trainer_backward(&pair->policy, pair->dy, rows, NULL); // keeps dlog_std
    if (deviates) {
        double squares = (double)nn_vec()->sum_of_squares(dlog_std, pair->deviation_count);
        norm = (float)sqrt((double)norm * (double)norm + squares);
    }
    return norm;
}

void
algo_pair_keep(const algo_pair *pair, float *kept)
{
    algo_head_keep(&pair->head, kept);
    if (pair->deviation_count > 0) {
        memcpy(kept + (size_t)pair->head.done.rows * pair->head.dim, log_std_of(pair),
               pair->deviation_count * sizeof(*kept));
    }
}

double
algo_pair_kl(const algo_pair *pair, const float *kept)
{
    size_t rows = pair->head.done.rows;
    return algo_head_kl(&pair->head, kept, kept + rows * pair->head.dim);
}

void
algo_pair_fisher(algo_pair *pair, nn_tangent *tangent, const float *direction, float *out)
{
    uint32_t rows = pair->head.done.rows;
    float *dlog_std = pair->deviation_count > 0 ? out + pair->deviation_at : NULL;
    float *dy = nn_tangent_forward(tangent, direction, rows);
    if (dlog_std != NULL) {
        memcpy(dlog_std, direction + pair->deviation_at, pair->deviation_count * sizeof(*out));
    }
    algo_head_fisher(&pair->head, dy, dlog_std);
    (void)nn_tape_backward(&pair->policy.tape, dy, rows, out, NULL); // keeps dlog_std
    nn_trainer_keep_frozen(&pair->policy, out);
}

uint32_t
algo_pair_networks(algo_pair *pair, algo_network out[ALGO_NETWORKS_MAX])
{
    out[0] = algo_network_of("policy", &pair->policy, NULL);
    out[0].acts = true;
    out[1] = algo_network_of("value", &pair->value, NULL);
    return 2;
}

void
algo_pair_save(const algo_pair *pair, oct_writer *writer)
{
    nn_trainer_save(&pair->policy, writer);
    nn_trainer_save(&pair->value, writer);
}

oct_err
algo_pair_read(algo_pair_view *out, const algo_pair *pair, oct_reader *reader)
{
    OCT_TRY(nn_trainer_read(&out->policy, &pair->policy, reader));
    return nn_trainer_read(&out->value, &pair->value, reader);
}

void
algo_pair_apply(algo_pair *pair, const algo_pair_view *view)
{
    nn_trainer_apply(&pair->policy, &view->policy);
    nn_trainer_apply(&pair->value, &view->value);
    policy_project(pair);
}
