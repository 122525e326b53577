#ifndef TESTS_ALGOS_GOLDEN_FILE_H
#define TESTS_ALGOS_GOLDEN_FILE_H

#include "algos/algo.h"

// A file written by tools/golden.py: lines of "name count value…". Fails the test when the file,
// a name or a count is not as asked.
typedef struct golden_file golden_file;

golden_file *golden_open(const char *folder, const char *name);
void golden_close(golden_file *file);
// The array of that name, which must have count values; valid until close.
const double *golden_array(const golden_file *file, const char *name, size_t count);
double golden_number(const golden_file *file, const char *name);
// Length of an array.
size_t golden_count(const golden_file *file, const char *name);

// Arrays of one update, "2.obs" of step 2: as they are, as malloc'd floats, and its batch (free
// with fixture_batch_free). dim: numbers of one action in a box, 0: discrete actions.
const double *golden_step(const golden_file *file, uint32_t step, const char *name, size_t count);
float *golden_step_floats(const golden_file *file, uint32_t step, const char *name, size_t count);
algo_batch golden_step_batch(const golden_file *file, uint32_t step, uint32_t B, uint32_t obs,
                             uint32_t dim);
// values[count] as floats into bytes.
void golden_put_floats(uint8_t *bytes, const double *values, size_t count);

#endif // TESTS_ALGOS_GOLDEN_FILE_H
