#ifndef TESTS_ALGOS_ALGO_FIXTURE_H
#define TESTS_ALGOS_ALGO_FIXTURE_H

#include "algos/algo_ops.h"
#include "common/oct_rng.h"

// Small experiments for the tests of algos/, with every field set that an algorithm reads.

// DQN on obs_count numbers with hidden layers of 8 and 8 (ReLU), batches of up to 16.
config_experiment fixture_config(void);
// DQN with atoms, dueling and noisy.
void fixture_set_rainbow(config_experiment *config);
// A discrete environment of that size, as algo_make_spec wants it, and one of actions in a box of
// -2 .. 2.
policy_spec fixture_env(uint32_t obs_count, uint32_t action_count);
policy_spec fixture_box_env(uint32_t obs_count, uint32_t dim);
// Gives the environment's spec its network, and makes the algorithm; fails the test when they
// cannot be made.
algo *fixture_create(policy_spec *spec, const config_experiment *config, uint64_t seed);
// The same in fixture_env's.
algo *fixture_algo(policy_spec *spec, const config_experiment *config, uint32_t obs_count,
                   uint32_t action_count, uint64_t seed);

// A table for so many one-hot observations.
algo *fixture_table(const config_experiment *config, uint32_t states, uint32_t actions);

// A batch with its own memory, B rows of random numbers; fixture_batch_free frees every column.
algo_batch fixture_batch(oct_rng *rng, uint32_t B, uint32_t obs_count, uint32_t action_count);
void fixture_batch_free(algo_batch *batch);

// An algorithm after three updates, all by the same batch. Owns: both.
typedef struct fixture_trial {
    config_experiment config;
    policy_spec spec;
    algo *a;
    algo_batch batch;
} fixture_trial;
fixture_trial fixture_trial_make(const config_experiment *config, policy_spec env, algo_batch batch,
                                 uint64_t seed);
void fixture_trial_free(fixture_trial *t);

// A corridor of CORRIDOR cells, one-hot observations; action 1 goes right and action 0 left (or
// stays at the left end). Leaving at the right end pays 1 and ends the episode, so the best value
// is discount^(steps to go). Row 2 cell + action; the batch borrows the corridor.
enum { CORRIDOR = 6, CORRIDOR_ROWS = 2 * CORRIDOR };
#define CORRIDOR_DISCOUNT 0.8f
typedef struct fixture_corridor {
    float obs[CORRIDOR_ROWS][CORRIDOR];
    float next[CORRIDOR_ROWS][CORRIDOR];
    int32_t action[CORRIDOR_ROWS];
    float reward[CORRIDOR_ROWS];
    float discount[CORRIDOR_ROWS];
    float weight[CORRIDOR_ROWS];
} fixture_corridor;
algo_batch fixture_corridor_batch(fixture_corridor *c);

// The update must be refused with want and leave state (generators with it), priorities and result
// as they were.
void fixture_update_refused(algo *a, const algo_batch *batch, oct_err want);
// So must be, with OCT_EINTERNAL, updates with bad in row 7 of a column of floats, each in turn.
void fixture_columns_refused(fixture_trial *t, float bad);
// The environment must be refused, with a reason that says so.
void fixture_spec_refused(const config_experiment *config, policy_spec spec, const char *says);
// Loads length bytes, exactly so many on the heap, and expects refusal without a trace.
void fixture_load_refused(algo *a, const uint8_t *bytes, size_t length);
// A projection: out = 2 params; arg: their count, a size_t.
void fixture_double_weights(void *arg, const float *params, float *out);
// Projections of count parameters that count their calls: onto a coarse grid, instead of a
// quantizer, which algos/ does not know, and onto themselves; arg: a fixture_grid.
#define FIXTURE_GRID 0.125f
typedef struct fixture_grid {
    size_t count;
    unsigned calls;
} fixture_grid;
void fixture_grid_project(void *arg, const float *params, float *out);
void fixture_identity_project(void *arg, const float *params, float *out);

// algo_save into malloc'd bytes.
uint8_t *fixture_save(const algo *a, size_t *length);
// Fails unless both would save the same bytes.
void fixture_same_state(const algo *a, const algo *b);
// An update's number of that name; fails where the algorithm has none.
float fixture_number(const config_experiment *config, const float *numbers, const char *name);

// Where the floats of a saved DQN begin, each [policy_spec_params]. algo.c has the header (magic,
// version, name, updates, length of the body), nn_saved.c the rest.
enum { FIXTURE_HEADER_BYTES = 4 + 4 + 16 + 8 + 8, FIXTURE_CHECKSUM_BYTES = 4 };
typedef enum fixture_part {
    FIXTURE_PARAMS,
    FIXTURE_FIRST_MOMENT,
    FIXTURE_SECOND_MOMENT,
    FIXTURE_TARGET,
    FIXTURE_PARTS,
} fixture_part;
size_t fixture_part_at(const policy_spec *spec, fixture_part part);
// The same for a DQN that learns learned floats, which are not the network's weights.
size_t fixture_learned_at(const policy_spec *spec, size_t learned, fixture_part part);
// Writes the checksum that the changed bytes need.
void fixture_seal(uint8_t *bytes, size_t length);
// Seals the changed bytes of an algorithm and loads them.
void fixture_load_changed(algo *a, uint8_t *bytes, size_t length);

// That algo.normalise_observations, which config has, is refused for an environment of bytes and
// for a frozen layer 0, and for nothing else.
void fixture_normalising_refused(config_experiment config, policy_spec spec);

#endif // TESTS_ALGOS_ALGO_FIXTURE_H
