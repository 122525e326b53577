#ifndef COMMON_OCT_BLAS_H
#define COMMON_OCT_BLAS_H

#include <stdbool.h>

// Removes the environment variables that force OpenBLAS' kernels and block sizes
// (OPENBLAS_CORETYPE, OPENBLAS_L2_SIZE, OPENBLAS_BLOCK_FACTOR), because results are compared bit
// for bit. OpenBLAS reads them when it is loaded, before main, so the program has to start again
// without them.
//
// Threads: before any other thread runs. Owns: the variable OCTET_BLAS_REMOVED.

// Removes the variables for the programs that this one starts, and for its own restart. False:
// there were none, or they were removed before, so that another restart would be of no use.
bool oct_blas_clear_environment(void);

// Returns what this program or its parent has removed, as "NAME=value NAME=value" for the log; "":
// nothing.
const char *oct_blas_removed(void);

// Starts this program again without the variables, with the arguments argv. Returns if there is
// nothing to remove, or if execv fails.
void oct_blas_restart(char **argv);

#endif // COMMON_OCT_BLAS_H
