#ifndef TESTS_ALGOS_GOLDEN_FILE_H
#define TESTS_ALGOS_GOLDEN_FILE_H

#include "algos/algo.h"

// A file written by tools/golden.py: lines of "name count value…". Fails the test when the file,
// a name or a count is not as asked.
typedef struct golden_file golden_file;

// The files' folder is the test's only argument; without it the program ends.
void golden_begin(int argc, char **argv);
golden_file *golden_open(const char *name);
void golden_close(golden_file *file);
// The array of that name, which must have count values; valid until close.
const double *golden_array(const golden_file *file, const char *name, size_t count);
double golden_number(const golden_file *file, const char *name);
// Length of an array.
size_t golden_count(const golden_file *file, const char *name);
// An array as malloc'd floats; all of an array, as whole numbers.
float *golden_floats(const golden_file *file, const char *name, size_t count);
config_ints golden_ints(const golden_file *file, const char *name);

// What the generators say of an experiment: the network, Adam's numbers, and what methods with a
// critic have beside them; the bounds of actions, as many as spec has.
void golden_network(const golden_file *file, config_experiment *config);
void golden_adam(const golden_file *file, config_experiment *config);
void golden_critic(const golden_file *file, config_experiment *config);
void golden_bounds(const golden_file *file, policy_spec *spec);

// Arrays of one update, "2.obs" of step 2: as they are, as malloc'd floats, and its batch (free
// with fixture_batch_free). dim: numbers of one action in a box, 0: discrete actions.
const double *golden_step(const golden_file *file, uint32_t step, const char *name, size_t count);
float *golden_step_floats(const golden_file *file, uint32_t step, const char *name, size_t count);
algo_batch golden_step_batch(const golden_file *file, uint32_t step, uint32_t B, uint32_t obs,
                             uint32_t dim);
// values[count] as floats into bytes; and that the floats there are near them, as T_NEAR has it.
void golden_put_floats(uint8_t *bytes, const double *values, size_t count);
void golden_near_floats(const void *bytes, const double *values, size_t count, double tolerance,
                        double relative);

#endif // TESTS_ALGOS_GOLDEN_FILE_H
