#include <stdlib.h>

#include "tests/algos/algo_fixture.h"
#include "tests/support/oct_test.h"

// A corridor of CHAIN cells, one-hot observations; action 1 goes right and action 0 left (or stays
// at the left end). Leaving at the right end pays 1 and ends the episode, so the best value is
// discount^(steps to go).
enum { CHAIN = 6, CHAIN_TRANSITIONS = 2 * CHAIN };
#define CHAIN_DISCOUNT 0.8f

typedef struct chain {
    float obs[CHAIN_TRANSITIONS][CHAIN];
    float next[CHAIN_TRANSITIONS][CHAIN];
    int32_t action[CHAIN_TRANSITIONS];
    float reward[CHAIN_TRANSITIONS];
    float discount[CHAIN_TRANSITIONS];
    float weight[CHAIN_TRANSITIONS];
} chain;

static algo_batch
chain_batch(chain *c)
{
    *c = (chain){0};
    for (int i = 0; i < CHAIN_TRANSITIONS; i++) {
        int cell = i / 2;
        bool right = i % 2 == 1;
        bool leaves = right && cell == CHAIN - 1;
        int to = right ? cell + 1 : OCT_MAX(cell - 1, 0);
        c->obs[i][cell] = 1.0f;
        c->next[i][leaves ? cell : to] = 1.0f;
        c->action[i] = right;
        c->reward[i] = leaves ? 1.0f : 0.0f;
        c->discount[i] = leaves ? 0.0f : CHAIN_DISCOUNT;
        c->weight[i] = 1.0f;
    }
    return (algo_batch){
        .B = CHAIN_TRANSITIONS,
        .obs = c->obs[0],
        .next = c->next[0],
        .action = c->action,
        .reward = c->reward,
        .discount = c->discount,
        .weight = c->weight,
    };
}

static void
learn_chain(bool double_q, double target_rate, uint32_t target_period)
{
    oct_config config = fixture_config();
    config.network.hidden = (oct_config_ints){.count = 1, .value = {32}};
    config.algo.double_q = double_q;
    config.algo.target_rate = target_rate;
    config.algo.target_period = target_period;
    policy_spec spec;
    algo *a = fixture_algo(&spec, &config, CHAIN, 2, 1);
    chain c;
    algo_batch batch = chain_batch(&c);
    float td[CHAIN_TRANSITIONS];
    algo_result result;
    for (int i = 0; i < 1500; i++) {
        T_OK(algo_update(a, &batch, 3e-3f, td, &result));
    }
    // Every TD error is near 0, so the values solve Bellman's equation; only the best ones do.
    for (int i = 0; i < CHAIN_TRANSITIONS; i++) {
        T_NEAR(td[i], 0, 0.02, 0);
    }
    // The mean over all state-action pairs: going right from cell s is worth d^(5 - s), going left
    // first moves to the cell below.
    double mean = 0;
    for (int cell = 0; cell < CHAIN; cell++) {
        double right = pow((double)CHAIN_DISCOUNT, CHAIN - 1 - cell);
        double below = pow((double)CHAIN_DISCOUNT, CHAIN - 1 - OCT_MAX(cell - 1, 0));
        mean += (right + (double)CHAIN_DISCOUNT * below) / CHAIN_TRANSITIONS;
    }
    T_NEAR(result.value, mean, 0.02, 0);
    algo_destroy(a);
}

static void
test_dqn_learns_the_values_of_a_corridor(void **state)
{
    (void)state;
    learn_chain(true, 1.0, 20);
}

static void
test_plain_q_with_polyak_learns_the_values_of_a_corridor(void **state)
{
    (void)state;
    learn_chain(false, 0.05, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dqn_learns_the_values_of_a_corridor),
        cmocka_unit_test(test_plain_q_with_polyak_learns_the_values_of_a_corridor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
