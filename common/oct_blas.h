#ifndef COMMON_OCT_BLAS_H
#define COMMON_OCT_BLAS_H

#include <stdbool.h>

// The variables by which an environment forces OpenBLAS' kernels and block sizes:
// OPENBLAS_CORETYPE, OPENBLAS_L2_SIZE, OPENBLAS_BLOCK_FACTOR. OpenBLAS reads them when it is
// loaded, before main; only a program that starts without them is free of them.
//
// Threads: before any other thread runs. Owns: the variable OCTET_BLAS_REMOVED.

// Takes them out of the environment for the programs that this one starts, or starts again as.
// False: there were none, or it was done before (a second time would not help).
bool oct_blas_clear_environment(void);

// What was taken out, by this program or the one that started it, as "NAME=value NAME=value"; ""
// for nothing.
const char *oct_blas_removed(void);

// Starts this program again without them, with these arguments; returns only when there is nothing
// to clear, or the system refuses.
void oct_blas_restart(char **argv);

#endif // COMMON_OCT_BLAS_H
