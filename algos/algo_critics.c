// Critics of actions in a box: creating, saving and loading them. algo_critics_update.c has what
// they compute.
#include "algos/algo_critics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "config/config.h"

// A limit beyond what anyone trains: a checkpoint holds four arrays of this size for a critic.
#define CRITIC_PARAMS_MAX (1u << 28)

// Fills the spec of a critic's network: [obs, action] to one value, or to the atoms of one.
static oct_err
critic_make_spec(const config_experiment *config, const policy_spec *policy, bool categorical,
                 policy_spec *spec, oct_reason *why)
{
    const config_ints *hidden = config_critic_hidden(config);
    bool residual = config->network.critic_residual;
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
    OCT_TRY(policy_spec_set_mlp(spec, hidden->value, hidden->count, config->network.activation,
                                config->network.first_layer_norm && !residual,
                                categorical ? config->algo.atoms : 1));
    if (residual && nn_net_make_residual(spec) != OCT_OK) {
        return oct_refuse(why,
                          "network.critic_residual: true needs an odd number of equal widths in "
                          "network.critic_hidden");
    }
    OCT_TRY(policy_spec_check(spec, why));
    if (policy_spec_params(spec) > CRITIC_PARAMS_MAX) {
        return oct_refuse(why,
                          "a critic has %zu parameters, allowed are at most %u; make "
                          "network.critic_hidden smaller",
                          policy_spec_params(spec), CRITIC_PARAMS_MAX);
    }
    return OCT_OK;
}

oct_err
algo_critics_make_specs(const config_experiment *config, const algo_critics_kind *kind,
                        policy_spec *spec, oct_reason *why)
{
    if (spec->action_kind != POLICY_BOX) {
        return oct_refuse(
            why, "%s needs actions in a box; %.100s has %u discrete actions; use algo.name: dqn",
            kind->name, spec->env_id, spec->action_count);
    }
    if (config->network.conv.count > 0 || config->network.layers[0] != 0) {
        return oct_refuse(why, "%s does not support %s; set network.%s: []", kind->name,
                          config->network.conv.count > 0 ? "convolutions" : "network.layers",
                          config->network.conv.count > 0 ? "conv" : "layers");
    }
    OCT_TRY(algo_normaliser_check(config, spec, why));
    if (config->algo.normalise_observations && config->learner.asynchronous &&
        config->learner.count > 1) {
        return oct_refuse(why, "learner.asynchronous: learners do not share the statistics of "
                               "algo.normalise_observations; set one of the two to false");
    }
    spec->head = kind->head;
    spec->atoms = 0;
    spec->state_deviation = false;
    spec->normalise = false;
    uint32_t each = kind->head == POLICY_HEAD_TANH_GAUSSIAN ? 2 : 1;
    OCT_TRY(policy_spec_set_mlp(spec, config->network.hidden.value, config->network.hidden.count,
                                config->network.activation, config->network.first_layer_norm,
                                each * spec->action_count));
    OCT_TRY(policy_spec_check(spec, why));
    policy_spec critic;
    return critic_make_spec(config, spec, kind->categorical, &critic, why);
}

static void
critics_configure(algo_critics *critics, const config_experiment *config, const policy_spec *policy)
{
    critics->rows_max = config->learner.batch_size;
    critics->obs_count = policy->obs_count;
    critics->action_count = policy->action_count;
    critics->outputs = critics->categorical ? config->algo.atoms : 1;
    critics->support = (nn_support){.low = (float)config->algo.value_min,
                                    .high = (float)config->algo.value_max,
                                    .N = config->algo.atoms};
    for (uint32_t i = 0; i < policy->action_count; i++) {
        critics->low[i] = policy->action_low[i];
        critics->per_unit[i] = 2.0f / (policy->action_high[i] - policy->action_low[i]);
    }
    critics->grad_norm_max = (float)config->algo.grad_norm_max;
    critics->rate_ratio =
        config->algo.critic_learning_rate_is_same
            ? 1.0f
            : (float)(config->algo.critic_learning_rate / config->algo.learning_rate);
    critics->target_rate = (float)config->algo.target_rate;
}

static void
critics_reserve(algo_critics *critics, nn_context *context)
{
    size_t rows = critics->rows_max;
    size_t actions = rows * critics->action_count;
    size_t joined = rows * (critics->obs_count + critics->action_count);
    size_t outputs = rows * critics->outputs;
    critics->taken = nn_context_alloc(context, actions * sizeof(float));
    critics->joined = nn_context_alloc(context, joined * sizeof(float));
    critics->td_target = nn_context_alloc(context, outputs * sizeof(float));
    critics->p = nn_context_alloc(context, outputs * sizeof(float));
    critics->other = nn_context_alloc(context, outputs * sizeof(float));
    critics->log_total = nn_context_alloc(context, rows * sizeof(float));
    critics->dy = nn_context_alloc(context, outputs * sizeof(float));
    critics->td_target_mean = nn_context_alloc(context, rows * sizeof(float));
    critics->mean = nn_context_alloc(context, rows * sizeof(float));
    critics->least = nn_context_alloc(context, rows * sizeof(float));
    critics->loss = nn_context_alloc(context, rows * sizeof(float));
    critics->error = nn_context_alloc(context, rows * sizeof(float));
    critics->priority = nn_context_alloc(context, rows * sizeof(float));
    critics->dvalue = nn_context_alloc(context, actions * sizeof(float));
    critics->dother = nn_context_alloc(context, actions * sizeof(float));
}

oct_err
algo_critics_init(algo_critics *critics, nn_context *context, const config_experiment *config,
                  const policy_spec *policy, const algo_critics_kind *kind)
{
    policy_spec spec;
    uint32_t count = config->algo.critics > 0 ? config->algo.critics : kind->count;
    if (config->learner.batch_size < 1 || count > ALGO_CRITICS_MAX ||
        critic_make_spec(config, policy, kind->categorical, &spec, NULL) != OCT_OK) {
        return OCT_EINVAL;
    }
    *critics = (algo_critics){.count = count, .categorical = kind->categorical};
    critics_configure(critics, config, policy);
    critics_reserve(critics, context);
    algo_observed_init(&critics->observed, context, config, policy);
    nn_adam adam = algo_adam(config);
    bool residual = config->network.critic_residual;
    for (uint32_t c = 0; c < count; c++) {
        (residual ? nn_trainer_init_residual : nn_trainer_init)(&critics->of[c].online, context,
                                                                &spec, critics->rows_max, &adam);
        (residual ? nn_net_init_residual : nn_net_init)(&critics->of[c].target, context, &spec,
                                                        critics->rows_max);
    }
    return OCT_OK;
}

void
algo_critics_fini(algo_critics *critics)
{
    for (uint32_t c = 0; c < critics->count; c++) {
        nn_trainer_fini(&critics->of[c].online);
        nn_net_fini(&critics->of[c].target);
    }
    algo_observed_fini(&critics->observed);
    float *blocks[] = {critics->taken,  critics->joined,         critics->td_target,
                       critics->p,      critics->log_total,      critics->dy,
                       critics->mean,   critics->td_target_mean, critics->least,
                       critics->loss,   critics->error,          critics->priority,
                       critics->dvalue, critics->dother,         critics->other};
    for (size_t i = 0; i < OCT_COUNTOF(blocks); i++) {
        free(blocks[i]);
    }
    *critics = (algo_critics){0};
}

// Sets the last layer of a distribution: no weights, and a bias that falls by 1 with each atom away
// from a return of 0, or from the end of the support that is nearest to 0.
static void
distribution_begin(nn_net *net, const nn_support *support)
{
    const nn_layer *last = &net->layers[net->layer_count - 1];
    memset(net->params + last->at.weight, 0,
           (last->at.bias - last->at.weight) * sizeof(*net->params));
    float step = nn_support_step(support);
    float centre = fminf(fmaxf(0.0f, support->low), support->high);
    for (uint32_t j = 0; j < support->N; j++) {
        float z = support->low + (float)j * step;
        net->params[last->at.bias + j] = -fabsf(z - centre) / step;
    }
}

void
algo_critics_randomise(algo_critics *critics, oct_rng *rng)
{
    for (uint32_t c = 0; c < critics->count; c++) {
        nn_net_randomise(&critics->of[c].online.tape.net, rng);
        if (critics->categorical) {
            distribution_begin(&critics->of[c].online.tape.net, &critics->support);
        }
        nn_net_polyak(&critics->of[c].target, &critics->of[c].online.tape.net, 1.0f);
    }
}

void
algo_critics_share(algo_critics *critics, algo_sharing *s)
{
    for (uint32_t c = 0; c < critics->count; c++) {
        algo_share_trainer(s, &critics->of[c].online);
        algo_share_net(s, &critics->of[c].target);
    }
}

uint32_t
algo_critics_networks(algo_critics *critics, algo_network out[ALGO_CRITICS_MAX])
{
    static const char *const names[ALGO_CRITICS_MAX] = {"critic 1", "critic 2"};
    for (uint32_t c = 0; c < critics->count; c++) {
        out[c] = algo_network_of(names[c], &critics->of[c].online, &critics->of[c].target);
        out[c].support = critics->categorical ? &critics->support : NULL;
        out[c].inside = algo_observed_inside(&critics->observed);
    }
    return critics->count;
}

void
algo_critics_save(const algo_critics *critics, oct_writer *writer)
{
    for (uint32_t c = 0; c < critics->count; c++) {
        nn_trainer_save(&critics->of[c].online, writer);
        nn_net_save(&critics->of[c].target, writer);
    }
    if (critics->categorical) {
        nn_support_save(&critics->support, writer);
    }
}

oct_err
algo_critics_read(algo_critics_view *out, const algo_critics *critics, oct_reader *reader)
{
    for (uint32_t c = 0; c < critics->count; c++) {
        OCT_TRY(nn_trainer_read(&out->online[c], &critics->of[c].online, reader));
        OCT_TRY(nn_net_read(&out->target[c], &critics->of[c].target, reader));
    }
    return critics->categorical ? nn_support_check(&critics->support, reader) : OCT_OK;
}

void
algo_critics_apply(algo_critics *critics, const algo_critics_view *view)
{
    for (uint32_t c = 0; c < critics->count; c++) {
        nn_trainer_apply(&critics->of[c].online, &view->online[c]);
        nn_net_apply(&critics->of[c].target, &view->target[c]);
        nn_net_changed(&critics->of[c].target);
    }
}
