#ifndef TESTS_ALGOS_DPG_FIXTURE_H
#define TESTS_ALGOS_DPG_FIXTURE_H

#include "tests/algos/algo_fixture.h"

// Small experiments for the tests of D4PG, DDPG, TD3 and SAC.

// As fixture_config, with hidden layers of 8 and 8 for policy and critics, and atoms from -10
// to 10.
config_experiment dpg_fixture_config(config_algo_name name);
// The same of D4PG, DDPG, TD3 and SAC, then of each with another number of critics than its own,
// then of each with residual critics, then (behind the raw ones) of each with normalised
// observations.
enum { DPG_FIXTURE_NAMES = 4, DPG_FIXTURE_RAW_METHODS = 12, DPG_FIXTURE_METHODS = 16 };
config_experiment dpg_fixture_method(size_t number);
// As fixture_algo, in fixture_box_env's.
algo *dpg_fixture_algo(policy_spec *spec, const config_experiment *config, uint32_t obs_count,
                       uint32_t dim, uint64_t seed);
// As fixture_batch, actions within bounds of -2 .. 2; free with fixture_batch_free.
algo_batch dpg_fixture_batch(oct_rng *rng, uint32_t B, uint32_t obs_count, uint32_t dim);
// The critics' spec: shapes as the configuration gives them, the activation is not told apart.
policy_spec dpg_fixture_critic(const config_experiment *config, const policy_spec *policy);

// Policy and critics, and which of their parts there are: SAC's policy has no target.
uint32_t dpg_fixture_nets(const config_experiment *config);
bool dpg_fixture_has_part(const config_experiment *config, uint32_t net, fixture_part part);
// Where in a saved SAC the temperature begins: u64 steps, its logarithm, two moments.
size_t dpg_fixture_temperature_at(void);
// Where in a saved algorithm the floats of a net begin. net 0 is the policy, 1 and 2 are critics.
size_t dpg_fixture_part_at(const config_experiment *config, const policy_spec *policy, uint32_t net,
                           fixture_part part);
// One such part, malloc'd; count is the net's parameters.
float *dpg_fixture_part(const algo *a, const config_experiment *config, const policy_spec *policy,
                        uint32_t net, fixture_part part, size_t *count);

#endif // TESTS_ALGOS_DPG_FIXTURE_H
