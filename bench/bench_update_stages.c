// The stages of the updates that bench_learner times: their products, passes through layers, steps.
#include "bench/bench_updates.h"

#include "common/oct_base.h"

static bool
is_ppo(const bench_update *u)
{
    return u->what->minibatches > 0;
}

// An update's gradient steps.
static uint32_t
minibatches_of(const bench_update *u)
{
    return u->what->epochs * u->what->minibatches;
}

// Critics that a policy's gradient goes through.
static uint32_t
slopes_of(const bench_update *u)
{
    return u->what->kind == BENCH_TD3 ? 1 : u->net_count - 1;
}

// ---- products

// PPO's: values of all rows and of the observations behind them, as many at once as a minibatch
// has; then of each minibatch policy and value forward and backward.
static void
products_fill_ppo(bench_update *u)
{
    bench_products *list = &u->products;
    uint32_t n = u->what->batch, rows = u->batch.B * (u->config.algo.sequence_steps + 1);
    for (uint32_t from = 0; from < rows; from += n) {
        bench_products_forward(list, &u->critic, OCT_MIN(n, rows - from));
    }
    for (uint32_t k = 0; k < minibatches_of(u); k++) {
        bench_products_forward(list, &u->policy, n);
        bench_products_backward(list, &u->policy, n, true, 0);
        bench_products_forward(list, &u->critic, n);
        bench_products_backward(list, &u->critic, n, true, 0);
    }
}

static void
products_fill_plain(bench_update *u)
{
    bench_products *list = &u->products;
    uint32_t B = u->what->batch;
    bool dqn = u->what->kind == BENCH_DQN;
    bench_products_forward(list, &u->policy, dqn ? 2 * B : B); // s and s' at once
    if (dqn) {
        bench_products_forward(list, &u->policy, B); // the target's
    }
    bench_products_backward(list, &u->policy, B, true, 0);
}

// D4PG, DDPG, of networks of 2 layers: target policy 3 and target critic 3; critic forward 3 and
// backward 5 (weights 3, below 2); policy forward 3; through the critic to the actions forward 3
// and backward 3; policy backward 5: 28 products. Of the critic's inputs only the actions have a
// gradient that somebody reads. SAC has no target policy, and takes its policy at s and s' at once.
// Of two critics all but TD3 go through both to the actions.
static void
products_fill_critics(bench_update *u)
{
    bench_products *list = &u->products;
    uint32_t B = u->what->batch, critics = u->net_count - 1;
    bool sac = u->what->kind == BENCH_SAC;
    for (uint32_t update = 0; update < u->listed; update++) {
        if (!sac) {
            bench_products_forward(list, &u->policy, B); // the target's
        }
        for (uint32_t c = 0; c < critics; c++) {
            bench_products_forward(list, &u->critic, B); // the target's
            bench_products_forward(list, &u->critic, B);
            bench_products_backward(list, &u->critic, B, true, 0);
        }
    }
    bench_products_forward(list, &u->policy, sac ? 2 * B : B);
    for (uint32_t c = 0; c < slopes_of(u); c++) {
        bench_products_forward(list, &u->critic, B);
        bench_products_backward(list, &u->critic, B, false, u->what->actions); // by the actions
    }
    bench_products_backward(list, &u->policy, B, true, 0);
}

void
bench_update_list_products(bench_update *u)
{
    u->products.context = u->context;
    if (is_ppo(u)) {
        products_fill_ppo(u);
    } else if (u->net_count == 1) {
        products_fill_plain(u);
    } else {
        products_fill_critics(u);
    }
}

// ---- layers

static void
run_layers_ppo(bench_update *u)
{
    nn_trainer *policy = &u->nets[0], *value = &u->nets[1];
    uint32_t n = u->what->batch, rows = u->batch.B * (u->config.algo.sequence_steps + 1);
    for (uint32_t from = 0; from < rows; from += n) {
        (void)nn_trainer_forward(value, u->x, OCT_MIN(n, rows - from));
    }
    for (uint32_t k = 0; k < minibatches_of(u); k++) {
        (void)nn_trainer_forward(policy, u->x, n);
        (void)nn_trainer_backward(policy, u->dy, n, NULL);
        (void)nn_trainer_forward(value, u->x, n);
        (void)nn_trainer_backward(value, u->dx, n, NULL);
    }
}

// Of a target network, which stays the same between most updates.
static void
target_forward(bench_update *u, uint32_t index)
{
    bool stays = u->config.algo.target_period > 1;
    (void)(stays ? nn_net_forward_again : nn_net_forward)(&u->targets[index], u->x, u->what->batch);
}

static void
run_layers_plain(bench_update *u)
{
    uint32_t B = u->what->batch;
    bool dqn = u->what->kind == BENCH_DQN;
    (void)nn_trainer_forward(&u->nets[0], u->x, dqn ? 2 * B : B);
    if (dqn) {
        target_forward(u, 0);
    }
    (void)nn_trainer_backward(&u->nets[0], u->dy, B, NULL);
}

static void
run_layers_critics(bench_update *u)
{
    uint32_t B = u->what->batch, critics = u->net_count - 1;
    bool sac = u->what->kind == BENCH_SAC;
    nn_trainer *policy = &u->nets[0];
    for (uint32_t update = 0; update < u->listed; update++) {
        if (!sac) {
            target_forward(u, 0);
        }
        for (uint32_t c = 1; c <= critics; c++) {
            target_forward(u, c);
            (void)nn_trainer_forward(&u->nets[c], u->x, B);
            (void)nn_trainer_backward(&u->nets[c], u->dy, B, NULL);
        }
    }
    (void)nn_trainer_forward(policy, u->x, sac ? 2 * B : B);
    for (uint32_t c = 1; c <= slopes_of(u); c++) {
        (void)nn_tape_forward_again(&u->nets[c].tape, u->x, B);
        nn_tape_backward_inputs(&u->nets[c].tape, u->dy, B, u->dx, u->what->obs);
    }
    (void)nn_trainer_backward(policy, u->dx, B, NULL);
}

void
bench_update_run_layers(bench_update *u)
{
    if (is_ppo(u)) {
        run_layers_ppo(u);
    } else if (u->net_count == 1) {
        run_layers_plain(u);
    } else {
        run_layers_critics(u);
    }
}

// ---- steps

// Of network i in as many updates as are listed.
static uint32_t
steps_of(const bench_update *u, uint32_t i)
{
    return is_ppo(u) ? minibatches_of(u) : i == 0 ? 1 : u->listed;
}

void
bench_update_run_steps(bench_update *u)
{
    bool moves = u->config.algo.target_period == 1, sac = u->what->kind == BENCH_SAC;
    for (uint32_t i = 0; i < u->net_count; i++) {
        nn_net *target = moves && !(sac && i == 0) ? &u->targets[i] : NULL;
        for (uint32_t step = 0; step < steps_of(u, i); step++) {
            nn_trainer_step_and_polyak(&u->nets[i], 0.0f, 1.0f, target, 0.005f);
        }
    }
}
