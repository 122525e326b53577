// The updates that bench_learner times: their configurations, batches, networks and whole updates.
#include "bench/bench_updates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "algos/algo_ops.h"
#include "bench/bench_batch.h"
#include "common/oct_base.h"

#define RATE      1e-5f
#define WINDOWS   8u    // of rollouts
#define SURE_STEP 10.0f // between logits of neighbours

static bool
is_ppo(const bench_case *what)
{
    return what->kind == BENCH_PPO || what->kind == BENCH_PPO_BOX;
}

static void
config_fill_ppo(const bench_case *what, config_experiment *config)
{
    config->algo.name = CONFIG_ALGO_PPO;
    config->network.activation = POLICY_TANH;
    config->algo.epochs = what->epochs;
    config->algo.minibatches = what->minibatches;
    config->algo.sequence_steps = what->batch * what->minibatches / WINDOWS;
    config->algo.initial_deviation = 1;
    config->algo.grad_norm_max = 0.5;
    config->learner.batch_size = WINDOWS;
}

// RLtools' and Stable-Baselines3's.
static void
config_fill_critics(const bench_case *what, config_experiment *config)
{
    config->algo.name = what->kind == BENCH_SAC   ? CONFIG_ALGO_SAC
                        : what->kind == BENCH_TD3 ? CONFIG_ALGO_TD3
                                                  : CONFIG_ALGO_DDPG;
    config->algo.target_period = 1;
    config->algo.target_rate = 0.005;
    config->algo.policy_delay = what->kind == BENCH_TD3 ? 2 : 1;
}

// Acme's.
static void
config_fill_d4pg(config_experiment *config)
{
    config->algo.name = CONFIG_ALGO_D4PG;
    config->network.activation = POLICY_ELU;
    config->network.first_layer_norm = true;
    config->algo.atoms = 51;
    config->algo.value_min = 0;
    config->algo.value_max = 100;
}

// Acme's.
static void
config_fill_dqn(config_experiment *config)
{
    config->algo.name = CONFIG_ALGO_DQN;
    config->algo.double_q = true;
    config->algo.huber_delta = 1.0;
}

static void
config_fill(bench_update *u)
{
    const bench_case *what = u->what;
    config_experiment *config = &u->config;
    config_default(config);
    config->network.hidden = what->hidden;
    config->network.critic_hidden = what->critic_hidden;
    config->network.conv = what->conv;
    if (what->layers != NULL) {
        (void)snprintf(config->network.layers, sizeof(config->network.layers), "%s", what->layers);
    }
    config->network.critic_residual = what->residual;
    config->algo.normalise_observations = what->normalise;
    config->algo.critics = what->critics;
    config->network.activation = POLICY_RELU;
    config->network.first_layer_norm = false;
    config->learner.batch_size = what->batch;
    config->algo.target_period = 100;
    config->algo.target_rate = 1.0;
    config->algo.adam_epsilon = 1e-4;
    if (is_ppo(what)) {
        config_fill_ppo(what, config);
    } else if (what->kind == BENCH_D4PG) {
        config_fill_d4pg(config);
    } else if (what->kind == BENCH_DQN || what->layers != NULL) {
        config_fill_dqn(config);
    } else {
        config_fill_critics(what, config);
    }
}

// V(s), Q(s, a) or its atoms.
static void
critic_layers(bench_update *u)
{
    const bench_case *what = u->what;
    config_experiment config = u->config;
    config.network.first_layer_norm &= !what->residual;
    policy_words words;
    OCT_ASSERT(config_words(&config,
                            what->critic_hidden.count > 0 ? &what->critic_hidden : &what->hidden,
                            &words, NULL) == OCT_OK);
    OCT_ASSERT(algo_make_layers(&config, &words, &u->critic,
                                what->kind == BENCH_D4PG ? config.algo.atoms : 1, NULL) == OCT_OK);
    OCT_ASSERT(!what->residual || nn_net_make_residual(&u->critic) == OCT_OK);
}

static void
specs_fill(bench_update *u)
{
    const bench_case *what = u->what;
    const config_experiment *config = &u->config;
    bool is_discrete = what->kind == BENCH_DQN || what->kind == BENCH_PPO || what->layers != NULL;
    bool is_d4pg = what->kind == BENCH_D4PG;
    const uint32_t side = what->layers != NULL ? 84 : 10; // of observations that are maps
    u->policy = (policy_spec){
        .obs_dtype = POLICY_F32,
        .obs_count = what->obs,
        .obs_rank = what->conv.count > 0 || what->layers != NULL ? 3 : 0,
        .obs_shape = {side, side, what->obs / (side * side)},
        .action_kind = is_discrete ? POLICY_DISCRETE : POLICY_BOX,
        .action_count = what->actions,
    };
    for (uint32_t i = 0; !is_discrete && i < what->actions; i++) {
        u->policy.action_low[i] = -1;
        u->policy.action_high[i] = 1;
    }
    algo_wants wants = {0};
    OCT_ASSERT(algo_make_spec(config, &u->policy, &wants, NULL) == OCT_OK);
    u->T = wants.window == ALGO_WINDOW_N_STEP ? 0 : wants.steps;
    u->critic = (policy_spec){
        .obs_dtype = POLICY_F32,
        .obs_count = what->obs + (is_ppo(what) || is_discrete ? 0 : what->actions),
        .obs_rank = u->policy.obs_rank,
        .obs_shape = {side, side, what->obs / (side * side)},
        .action_kind = POLICY_DISCRETE,
        .action_count = 1,
        .head = is_d4pg ? POLICY_HEAD_ATOMS : POLICY_HEAD_VALUES,
        .atoms = is_d4pg ? config->algo.atoms : 0,
        .value_min = (float)config->algo.value_min,
        .value_max = (float)config->algo.value_max,
    };
    critic_layers(u);
}

// Networks beside the policy's.
static uint32_t
critics_of(const bench_case *what)
{
    if (what->critics > 0) {
        return what->critics;
    }
    switch (what->kind) {
    case BENCH_TD3:
    case BENCH_SAC:
        return 2;
    case BENCH_MLP:
    case BENCH_DQN:
        return 0;
    case BENCH_D4PG:
    case BENCH_DDPG:
    case BENCH_PPO:
    case BENCH_PPO_BOX:
        break;
    }
    return 1;
}

static void
nets_fill(bench_update *u, oct_rng *rng)
{
    const nn_adam adam = {0.9f, 0.999f, 1e-8f};
    uint32_t B = u->what->batch;
    u->net_count = 1 + critics_of(u->what);
    for (uint32_t i = 0; i < u->net_count; i++) {
        const policy_spec *spec = i == 0 ? &u->policy : &u->critic;
        bool residual = i > 0 && u->what->residual;
        (residual ? nn_trainer_init_residual : nn_trainer_init)(&u->nets[i], u->context, spec,
                                                                2 * B, &adam);
        (residual ? nn_net_init_residual : nn_net_init)(&u->targets[i], u->context, spec, B);
        nn_net_randomise(&u->nets[i].tape.net, rng);
        nn_net_polyak(&u->targets[i], &u->nets[i].tape.net, 1.0f);
    }
    size_t width = OCT_MAX(policy_spec_width(&u->policy), policy_spec_width(&u->critic));
    u->x = bench_floats(rng, 2 * B * width, -1, 1);
    u->rows = bench_floats(rng, B * width, -1, 1);
    u->dy = bench_floats(rng, B * width, -1, 1);
    u->dx = bench_floats(rng, B * width, -1, 1);
}

// A bias that falls to both sides of the middle atom, as far as many updates take it.
static void
net_make_sure(nn_net *net)
{
    const nn_layer *last = &net->layers[net->layer_count - 1];
    for (uint32_t j = 0; j < last->outputs; j++) {
        float away = fabsf((float)j - (float)(last->outputs - 1) / 2);
        net->params[last->at.bias + j] = -SURE_STEP * away;
    }
}

static void
critics_make_sure(algo *algorithm)
{
    algo_network networks[ALGO_NETWORKS_MAX];
    uint32_t count = algorithm->ops->networks(algorithm, networks);
    for (uint32_t i = 0; i < count; i++) {
        if (networks[i].support != NULL) {
            net_make_sure(networks[i].net);
            net_make_sure(networks[i].target);
        }
    }
}

void
bench_update_init(bench_update *u, nn_context *context, const bench_case *what)
{
    // TD3's policy learns at every second update.
    *u =
        (bench_update){.what = what, .context = context, .listed = what->kind == BENCH_TD3 ? 2 : 1};
    oct_rng rng;
    oct_rng_init(&rng, 1, 0);
    config_fill(u);
    specs_fill(u);
    bench_batch_make(&u->batch, &rng, &u->policy, u->config.learner.batch_size, u->T,
                     u->config.algo.sequence_steps);
    nets_fill(u, &rng);
    bench_update_list_products(u);
    if (what->kind != BENCH_MLP) {
        OCT_ASSERT(algo_create(&u->algorithm, context, &u->config, &u->policy, 1) == OCT_OK);
    }
    if (what->sure) {
        critics_make_sure(u->algorithm);
    }
}

void
bench_update_fini(bench_update *u)
{
    for (uint32_t i = 0; i < u->net_count; i++) {
        nn_trainer_fini(&u->nets[i]);
        nn_net_fini(&u->targets[i]);
    }
    bench_products_fini(&u->products);
    algo_destroy(u->algorithm);
    bench_batch_free(&u->batch);
    float *blocks[] = {u->x, u->dy, u->dx, u->rows};
    for (size_t i = 0; i < OCT_COUNTOF(blocks); i++) {
        free(blocks[i]);
    }
}

// Forward, mean of the square errors to given outputs, backward, Adam: what bench_learner_torch.py
// does.
static void
mlp_update(bench_update *u)
{
    uint32_t B = u->what->batch;
    size_t count = (size_t)B * u->policy.layers[u->policy.layer_count - 1].outputs;
    const float *y = nn_trainer_forward(&u->nets[0], u->batch.obs, B);
    for (size_t i = 0; i < count; i++) {
        u->dy[i] = (y[i] - u->rows[i]) * (2.0f / (float)count);
    }
    (void)nn_trainer_backward(&u->nets[0], u->dy, B, NULL);
    nn_trainer_step(&u->nets[0], RATE, 1.0f);
}

void
bench_update_run(bench_update *u)
{
    float result[ALGO_NUMBERS_MAX];
    if (u->algorithm == NULL) {
        mlp_update(u);
    } else {
        OCT_ASSERT(algo_update(u->algorithm, &u->batch, RATE, NULL, result) == OCT_OK);
    }
}
