#ifndef TESTS_ALGOS_REINFORCE_FIXTURE_H
#define TESTS_ALGOS_REINFORCE_FIXTURE_H

#include "tests/algos/algo_fixture.h"

// Small experiments for the tests of methods of policy gradient: REINFORCE and those on rollouts.

// As fixture_config, with tanh, windows of REINFORCE_STEPS rows and batches of up to
// REINFORCE_WINDOWS.
enum { REINFORCE_STEPS = 4, REINFORCE_WINDOWS = 6 };
config_experiment reinforce_fixture_config(void);
// The same for an algorithm on rollouts, whose windows have as many rows: 3 epochs of 2
// minibatches.
config_experiment reinforce_fixture_rollouts(config_algo_name name);
// The same for any of them, with one minibatch.
config_experiment reinforce_fixture_method(config_algo_name name);
// dim numbers in a box of -2 .. 2, or (is_box false) so many discrete actions.
algo *reinforce_fixture_algo(policy_spec *spec, const config_experiment *config, bool is_box,
                             uint32_t obs_count, uint32_t dim, uint64_t seed);
// B windows of T rows of random numbers, by turns cut at T, terminated, truncated and failed; free
// with fixture_batch_free. What belongs to end rows is zero.
algo_batch reinforce_fixture_batch(oct_rng *rng, const policy_spec *spec, uint32_t B, uint32_t T);

// An algorithm in an environment of REINFORCE_OBS numbers and REINFORCE_DIM actions or numbers of
// one, with the generator of its batches.
enum { REINFORCE_OBS = 3, REINFORCE_DIM = 2 };
typedef struct reinforce_trial {
    config_experiment config;
    policy_spec spec;
    algo *a; // the test's to destroy
    oct_rng rng;
} reinforce_trial;
reinforce_trial reinforce_fixture_trial(config_experiment config, bool is_box, uint64_t seed);
// Updates of a trial's algorithm, or its like, on batches of rng.
void reinforce_fixture_train(algo *a, oct_rng *rng, const policy_spec *spec, int updates);
// After two updates, one on a batch with a bad float in a column (0: obs, 1: reward, 2: extra, 3:
// action) is refused and leaves no trace.
void reinforce_fixture_refused(config_experiment config, bool is_box, size_t column, size_t at,
                               float bad, oct_err want);
// One-step episodes in which the action of the larger of two observations pays 1. Behaviour is
// uniform, so only the importance weights make it the policy's own gradient. Fails unless the
// policy acts so in 90 % of new observations after so many updates.
void reinforce_fixture_learns_bandit(config_experiment config, float learning_rate, int updates);
// What holds for all of them, with actions in a box and discrete ones.
// Numbers that are not finite, actions out of range and other shapes are refused without a trace.
void reinforce_fixture_refuses(config_experiment config);
// Of an algorithm whose update has several steps: one that fails after the first, which makes the
// weights useless, changes nothing.
void reinforce_fixture_undoes(config_experiment config);
// The same seed and batches give the same bits, also across a checkpoint.
void reinforce_fixture_resumes(config_experiment config);
// A state that was cut, or that is another algorithm's, is refused whole; and one whose scale of
// rewards, at its end, is none.
void reinforce_fixture_refuses_states(config_experiment config, config_algo_name other);
// The policy, not V(s), passes through its projection; one without effect changes no bit.
void reinforce_fixture_projects(config_experiment config);
// Half of the budget spent, an update is that of a constant entropy cost halfway to the final one.
void reinforce_fixture_entropy_cost_falls(config_experiment config);
// V(s)'s spec: shapes as the configuration gives them.
policy_spec reinforce_fixture_value(const config_experiment *config, const policy_spec *policy);

// Where in what was saved the floats of a net begin: net 0 is the policy, 1 the value. There is
// no FIXTURE_TARGET.
size_t reinforce_fixture_part_at(const config_experiment *config, const policy_spec *policy,
                                 uint32_t net, fixture_part part);

#endif // TESTS_ALGOS_REINFORCE_FIXTURE_H
