// The updates that bench_learner times: whole, stage by stage, and layer by layer.
#include "bench/bench_updates.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_rng.h"

#define RATE 1e-5f

static float *
random_floats(oct_rng *rng, size_t count, float low, float high)
{
    float *x = oct_alloc(count * sizeof(*x));
    for (size_t i = 0; i < count; i++) {
        x[i] = low + (high - low) * oct_rng_float(rng);
    }
    return x;
}

static void
batch_fill(bench_update *u, oct_rng *rng)
{
    const bench_case *what = u->what;
    uint32_t B = what->batch;
    float *discount = random_floats(rng, B, 0.97f, 0.97f);
    for (uint32_t i = 0; i < B; i += 10) {
        discount[i] = 0.0f;
    }
    int32_t *discrete = oct_alloc(B * sizeof(*discrete));
    for (uint32_t i = 0; i < B; i++) {
        discrete[i] = (int32_t)oct_rng_below(rng, what->actions);
    }
    bool box = what->kind != BENCH_DQN;
    u->batch = (algo_batch){
        .B = B,
        .obs = random_floats(rng, (size_t)B * what->obs, -1, 1),
        .next = random_floats(rng, (size_t)B * what->obs, -1, 1),
        .action = box ? (void *)random_floats(rng, (size_t)B * what->actions, -1, 1) : discrete,
        .reward = random_floats(rng, B, 0, 1),
        .discount = discount,
        .weight = random_floats(rng, B, 1, 1),
    };
    if (box) {
        free(discrete);
    }
}

// Acme's D4PG; RLtools' and Stable-Baselines3's DDPG and TD3; Acme's DQN.
static void
config_fill(bench_update *u)
{
    const bench_case *what = u->what;
    oct_config *config = &u->config;
    oct_config_default(config);
    config->network.hidden = what->hidden;
    config->network.critic_hidden = what->critic_hidden;
    config->learner.batch_size = what->batch;
    config->algo.target_period = 100;
    config->algo.target_rate = 1.0;
    config->algo.adam_epsilon = 1e-4;
    if (what->kind == BENCH_D4PG) {
        config->algo.name = OCT_ALGO_D4PG;
        config->network.activation = OCT_ACTIVATION_ELU;
        config->network.first_layer_norm = true;
        config->algo.atoms = 51;
        config->algo.value_min = 0;
        config->algo.value_max = 100;
        return;
    }
    config->network.activation = OCT_ACTIVATION_RELU;
    config->network.first_layer_norm = false;
    config->algo.name = what->kind == BENCH_TD3 ? OCT_ALGO_TD3 : OCT_ALGO_DDPG;
    if (what->kind == BENCH_DQN) {
        config->algo.name = OCT_ALGO_DQN;
        config->algo.double_q = true;
        config->algo.huber_delta = 1.0;
    } else {
        config->algo.target_period = 1;
        config->algo.target_rate = 0.005;
    }
}

static void
specs_fill(bench_update *u)
{
    const bench_case *what = u->what;
    const oct_config *config = &u->config;
    bool discrete = what->kind == BENCH_DQN;
    u->policy = (policy_spec){
        .obs_dtype = POLICY_F32,
        .obs_count = what->obs,
        .action_kind = discrete ? POLICY_DISCRETE : POLICY_BOX,
        .action_count = what->actions,
    };
    for (uint32_t i = 0; !discrete && i < what->actions; i++) {
        u->policy.action_low[i] = -1;
        u->policy.action_high[i] = 1;
    }
    OCT_ASSERT(algo_make_spec(config, &u->policy, NULL, NULL, 0) == OCT_OK);
    const oct_config_ints *hidden =
        what->critic_hidden.count > 0 ? &what->critic_hidden : &what->hidden;
    u->critic = (policy_spec){
        .obs_dtype = POLICY_F32,
        .obs_count = what->obs + what->actions,
        .action_kind = POLICY_DISCRETE,
        .action_count = 1,
        .head = what->kind == BENCH_D4PG ? POLICY_HEAD_ATOMS : POLICY_HEAD_VALUES,
        .atoms = what->kind == BENCH_D4PG ? config->algo.atoms : 0,
        .value_min = (float)config->algo.value_min,
        .value_max = (float)config->algo.value_max,
    };
    OCT_ASSERT(policy_spec_set_mlp(&u->critic, hidden->value, hidden->count,
                                   u->policy.layers[what->hidden.count - 1].activation,
                                   config->network.first_layer_norm,
                                   what->kind == BENCH_D4PG ? config->algo.atoms : 1) == OCT_OK);
}

static uint32_t
critics_of(const bench_case *what)
{
    return what->kind == BENCH_TD3                                ? 2
           : what->kind == BENCH_D4PG || what->kind == BENCH_DDPG ? 1
                                                                  : 0;
}

// All that an update needs, each once. D4PG, DDPG, of networks of 2 layers: target policy 3 and
// target critic 3; critic forward 3 and backward 5 (weights 3, below 2); policy forward 3; through
// the critic to the actions forward 3 and backward 3; policy backward 5: 28 products. Of the
// critic's inputs only the actions have a gradient that somebody reads.
static void
products_fill(bench_update *u)
{
    bench_products *list = &u->products;
    list->context = u->context;
    uint32_t B = u->what->batch, critics = critics_of(u->what);
    if (critics == 0) {
        bool dqn = u->what->kind == BENCH_DQN;
        bench_products_forward(list, &u->policy, dqn ? 2 * B : B); // s and s' at once
        if (dqn) {
            bench_products_forward(list, &u->policy, B); // the target's
        }
        bench_products_backward(list, &u->policy, B, true, 0);
        return;
    }
    for (uint32_t update = 0; update < u->listed; update++) {
        bench_products_forward(list, &u->policy, B); // the target's
        for (uint32_t c = 0; c < critics; c++) {
            bench_products_forward(list, &u->critic, B); // the target's
            bench_products_forward(list, &u->critic, B);
            bench_products_backward(list, &u->critic, B, true, 0);
        }
    }
    bench_products_forward(list, &u->policy, B);
    bench_products_forward(list, &u->critic, B);
    bench_products_backward(list, &u->critic, B, false, u->what->actions); // by the actions alone
    bench_products_backward(list, &u->policy, B, true, 0);
}

static void
nets_fill(bench_update *u, oct_rng *rng)
{
    const nn_adam adam = {0.9f, 0.999f, 1e-8f};
    uint32_t B = u->what->batch;
    u->net_count = 1 + critics_of(u->what);
    for (uint32_t i = 0; i < u->net_count; i++) {
        const policy_spec *spec = i == 0 ? &u->policy : &u->critic;
        nn_trainer_init(&u->nets[i], u->context, spec, u->what->kind == BENCH_DQN ? 2 * B : B,
                        &adam);
        nn_net_init(&u->targets[i], u->context, spec, B);
        nn_net_randomise(&u->nets[i].tape.net, rng);
        nn_net_polyak(&u->targets[i], &u->nets[i].tape.net, 1.0f);
    }
    size_t width = OCT_MAX(policy_spec_width(&u->policy), policy_spec_width(&u->critic));
    u->x = random_floats(rng, 2 * B * width, -1, 1);
    u->rows = random_floats(rng, B * width, -1, 1);
    u->dy = random_floats(rng, B * width, -1, 1);
    u->dx = random_floats(rng, B * width, -1, 1);
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
    batch_fill(u, &rng);
    nets_fill(u, &rng);
    products_fill(u);
    if (what->kind != BENCH_MLP) {
        OCT_ASSERT(algo_create(&u->algorithm, context, &u->config, &u->policy, 1) == OCT_OK);
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
    void *blocks[] = {u->x,
                      u->dy,
                      u->dx,
                      u->rows,
                      (void *)u->batch.obs,
                      (void *)u->batch.next,
                      (void *)u->batch.action,
                      (void *)u->batch.reward,
                      (void *)u->batch.discount,
                      (void *)u->batch.weight};
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

// Of a target network, which stays the same between most updates.
static void
target_forward(bench_update *u, uint32_t index)
{
    bool stays = u->config.algo.target_period > 1;
    (void)(stays ? nn_net_forward_again : nn_net_forward)(&u->targets[index], u->x, u->what->batch);
}

void
bench_update_run_layers(bench_update *u)
{
    uint32_t B = u->what->batch, critics = critics_of(u->what);
    nn_trainer *policy = &u->nets[0];
    if (critics == 0) {
        bool dqn = u->what->kind == BENCH_DQN;
        (void)nn_trainer_forward(policy, u->x, dqn ? 2 * B : B);
        if (dqn) {
            target_forward(u, 0);
        }
        (void)nn_trainer_backward(policy, u->dy, B, NULL);
        return;
    }
    for (uint32_t update = 0; update < u->listed; update++) {
        target_forward(u, 0);
        for (uint32_t c = 1; c <= critics; c++) {
            target_forward(u, c);
            (void)nn_trainer_forward(&u->nets[c], u->x, B);
            (void)nn_trainer_backward(&u->nets[c], u->dy, B, NULL);
        }
    }
    (void)nn_trainer_forward(policy, u->x, B);
    (void)nn_tape_forward_again(&u->nets[1].tape, u->x, B);
    nn_tape_backward_inputs(&u->nets[1].tape, u->dy, B, u->dx, u->what->obs);
    (void)nn_trainer_backward(policy, u->dx, B, NULL);
}

void
bench_update_run_steps(bench_update *u)
{
    bool target_moves = u->config.algo.target_period == 1;
    for (uint32_t i = 0; i < u->net_count; i++) {
        for (uint32_t step = 0; step < (i == 0 ? 1 : u->listed); step++) {
            nn_trainer_step_and_polyak(&u->nets[i], 0.0f, 1.0f,
                                       target_moves ? &u->targets[i] : NULL, 0.005f);
        }
    }
}
