#ifndef BENCH_BENCH_UPDATES_H
#define BENCH_BENCH_UPDATES_H

#include "algos/algo.h"
#include "bench/bench_products.h"
#include "nn/nn_trainer.h"

// What bench_learner times: one kind of update on one size of networks, on a batch of random
// transitions or rollouts; its products; its stages one by one, on networks of their own of the
// same shapes.
//
// Threads: one. Owns: everything; free with bench_update_fini.

typedef enum bench_kind {
    BENCH_MLP,
    BENCH_DQN,
    BENCH_D4PG,
    BENCH_DDPG,
    BENCH_TD3,
    BENCH_SAC,
    BENCH_PPO, // of discrete actions
    BENCH_PPO_BOX,
} bench_kind;

typedef struct bench_case {
    const char *name; // what the command line may name
    bench_kind kind;
    config_ints hidden, critic_hidden;
    config_ints conv;             // of PPO: filters over observations of 10 x 10 x obs / 100
    const char *layers;           // network.layers over 84 x 84 x obs / 7056; NULL: hidden
    uint32_t batch, obs, actions; // PPO's batch is the rows of a minibatch
    bool bf16;
    uint32_t critics;             // algo.critics
    bool residual;                // network.critic_residual
    bool normalise;               // algo.normalise_observations
    bool sure;                    // of D4PG: critics leave most atoms next to no probability
    uint32_t epochs, minibatches; // of PPO, otherwise 0
} bench_case;

typedef struct bench_update {
    const bench_case *what;
    nn_context *context; // borrowed
    config_experiment config;
    policy_spec policy, critic; // critic: of the kinds that have one, or V(s)
    uint32_t T;                 // rows of a rollout, otherwise 0
    algo *algorithm;            // of all but BENCH_MLP
    algo_batch batch;
    uint32_t listed; // updates that products, layers and steps are those of
    bench_products products;
    // For BENCH_MLP, and for the stages.
    nn_trainer nets[3]; // the policy's, critics'
    nn_net targets[3];
    uint32_t net_count;
    float *x, *dy, *dx, *rows;
} bench_update;

void bench_update_init(bench_update *u, nn_context *context, const bench_case *what);
void bench_update_fini(bench_update *u);

// bench_update_init calls it: all products that an update needs, each once.
void bench_update_list_products(bench_update *u);

void bench_update_run(bench_update *u);
// All forward and backward passes of an update; without them and the steps, what is left is
// sampling's checks, losses, atoms and noise.
void bench_update_run_layers(bench_update *u);
// Adam of all networks, and what follows them.
void bench_update_run_steps(bench_update *u);

#endif // BENCH_BENCH_UPDATES_H
