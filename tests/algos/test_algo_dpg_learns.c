// D4PG, DDPG, TD3 and SAC learn a problem whose best policy is known.
#include <stdlib.h>

#include "nn/nn_gemm.h"
#include "nn/nn_net.h"
#include "tests/algos/dpg_fixture.h"
#include "tests/support/oct_test.h"

// Steering a number to 0: x' = x + u / 2, reward -(x^2 + u^2 / 2), discount GAMMA, u in [-1, 1]
// (actions a = 2 u). The best value is -P x^2 and the best action u = -K x, with P from Riccati's
// equation; |K x| < 1 on the grid of x.
enum { GRID = 16, LQ_ROWS = GRID * GRID };
#define GAMMA 0.8

typedef struct lq {
    float obs[LQ_ROWS], next[LQ_ROWS], action[LQ_ROWS], reward[LQ_ROWS];
    float discount[LQ_ROWS], weight[LQ_ROWS];
    double P, K;
    double mean; // of the best Q(x, u) over the grid
} lq;

static algo_batch
lq_batch(lq *l)
{
    l->P = 1;
    for (int i = 0; i < 200; i++) {
        double down = 0.5 + GAMMA * l->P / 4;
        l->K = GAMMA * l->P / 2 / down;
        l->P = 1 + GAMMA * l->P - l->K * l->K * down;
    }
    l->mean = 0;
    for (int i = 0; i < LQ_ROWS; i++) {
        double x = -1 + 2.0 * (i / GRID) / (GRID - 1), u = -1 + 2.0 * (i % GRID) / (GRID - 1);
        double next = x + u / 2, reward = -(x * x + u * u / 2);
        l->obs[i] = (float)x;
        l->next[i] = (float)next;
        l->action[i] = (float)(2 * u);
        l->reward[i] = (float)reward;
        l->discount[i] = (float)GAMMA;
        l->weight[i] = 1;
        l->mean += (reward - GAMMA * l->P * next * next) / LQ_ROWS;
    }
    return (algo_batch){
        .B = LQ_ROWS,
        .obs = l->obs,
        .next = l->next,
        .action = l->action,
        .reward = l->reward,
        .discount = l->discount,
        .weight = l->weight,
    };
}

static void
learn_lq(config_algo_name name, uint32_t critics)
{
    lq *l = oct_alloc(sizeof(*l));
    algo_batch batch = lq_batch(l);
    config_experiment config = dpg_fixture_config(name);
    config.algo.critics = critics;
    config.network.hidden = (config_ints){.count = 2, .value = {32, 32}};
    config.learner.batch_size = LQ_ROWS;
    config.algo.target_period = 1;
    config.algo.target_rate = 0.02;
    config.algo.atoms = 51;
    config.algo.value_min = -4;
    config.algo.value_max = 0;
    config.algo.target_noise = 0.02; // its cost is not in P
    config.algo.temperature = 1e-4;  // nor is this
    policy_spec spec;
    algo *a = dpg_fixture_algo(&spec, &config, 1, 1, 1);
    float result[ALGO_NUMBERS_MAX];
    for (int i = 0; i < 2000; i++) {
        T_OK(algo_update(a, &batch, 3e-3f, NULL, result));
    }
    T_NEAR((double)result[ALGO_VALUE], l->mean, 0.05, 0);
    nn_net net;
    nn_context *context = nn_context_create(NULL);
    nn_net_init(&net, context, &spec, GRID);
    memcpy(net.params, algo_policy_params(a), net.param_count * sizeof(float));
    double tolerance = name == CONFIG_ALGO_D4PG ? 0.08 : 0.06; // 0.08: the distance of its atoms
    for (int i = 0; i < GRID; i++) {
        float x = l->obs[i * GRID];
        T_NEAR(tanh((double)nn_net_forward(&net, &x, 1)[0]), -l->K * (double)x, tolerance, 0);
    }
    nn_net_fini(&net);
    nn_context_destroy(context);
    algo_destroy(a);
    free(l);
}

static void
test_d4pg_learns_to_steer_as_riccati_does(void **state)
{
    (void)state;
    learn_lq(CONFIG_ALGO_D4PG, 0);
}

static void
test_d4pg_with_two_critics_learns_to_steer_as_riccati_does(void **state)
{
    (void)state;
    learn_lq(CONFIG_ALGO_D4PG, 2);
}

static void
test_ddpg_learns_to_steer_as_riccati_does(void **state)
{
    (void)state;
    learn_lq(CONFIG_ALGO_DDPG, 0);
}

static void
test_td3_learns_to_steer_as_riccati_does(void **state)
{
    (void)state;
    learn_lq(CONFIG_ALGO_TD3, 0);
}

// Its mean; of little temperature the deviation is small, and so is its cost.
static void
test_sac_learns_to_steer_as_riccati_does(void **state)
{
    (void)state;
    learn_lq(CONFIG_ALGO_SAC, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_d4pg_learns_to_steer_as_riccati_does),
        cmocka_unit_test(test_d4pg_with_two_critics_learns_to_steer_as_riccati_does),
        cmocka_unit_test(test_ddpg_learns_to_steer_as_riccati_does),
        cmocka_unit_test(test_td3_learns_to_steer_as_riccati_does),
        cmocka_unit_test(test_sac_learns_to_steer_as_riccati_does),
    };
    char warning[200];
    (void)nn_blas_init(1, warning, sizeof(warning)); // idle threads would only spin
    return cmocka_run_group_tests(tests, NULL, NULL);
}
