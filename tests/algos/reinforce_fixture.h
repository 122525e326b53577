#ifndef TESTS_ALGOS_REINFORCE_FIXTURE_H
#define TESTS_ALGOS_REINFORCE_FIXTURE_H

#include "tests/algos/algo_fixture.h"

// Small experiments for the tests of REINFORCE.

// As fixture_config, with tanh, windows of REINFORCE_STEPS rows and batches of up to
// REINFORCE_WINDOWS.
enum { REINFORCE_STEPS = 4, REINFORCE_WINDOWS = 6 };
oct_config reinforce_fixture_config(void);
// dim numbers in a box of -2 .. 2, or (is_box false) so many discrete actions.
algo *reinforce_fixture_algo(policy_spec *spec, const oct_config *config, bool is_box,
                             uint32_t obs_count, uint32_t dim, uint64_t seed);
// B windows of T rows of random numbers, by turns cut at T, terminated, truncated and failed; free
// with reinforce_fixture_free. What belongs to end rows is zero.
algo_batch reinforce_fixture_batch(oct_rng *rng, const policy_spec *spec, uint32_t B, uint32_t T);
void reinforce_fixture_free(algo_batch *batch);
// V(s)'s spec: shapes as the configuration gives them.
policy_spec reinforce_fixture_value(const oct_config *config, const policy_spec *policy);

// Where in a saved REINFORCE the floats of a net begin: net 0 is the policy, 1 the value. There is
// no FIXTURE_TARGET.
size_t reinforce_fixture_part_at(const oct_config *config, const policy_spec *policy, uint32_t net,
                                 fixture_part part);

#endif // TESTS_ALGOS_REINFORCE_FIXTURE_H
