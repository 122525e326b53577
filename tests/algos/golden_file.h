#ifndef TESTS_ALGOS_GOLDEN_FILE_H
#define TESTS_ALGOS_GOLDEN_FILE_H

#include <stddef.h>

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

#endif // TESTS_ALGOS_GOLDEN_FILE_H
