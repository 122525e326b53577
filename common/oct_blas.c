// Frees a program of the variables by which an environment forces OpenBLAS' kernels.
#include "common/oct_blas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_base.h"

#define REMOVED       "OCTET_BLAS_REMOVED"
#define REMOVED_BYTES 256

static const char *const variables[] = {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE",
                                        "OPENBLAS_BLOCK_FACTOR"};

bool
oct_blas_clear_environment(void)
{
    char removed[REMOVED_BYTES] = "";
    size_t used = 0;
    if (getenv(REMOVED) != NULL) {
        return false;
    }
    for (size_t i = 0; i < OCT_COUNTOF(variables); i++) {
        const char *value = getenv(variables[i]);
        if (value != NULL) {
            (void)snprintf(removed + used, sizeof(removed) - used, "%s%s=%.40s",
                           used > 0 ? " " : "", variables[i], value);
            used = strlen(removed);
            (void)unsetenv(variables[i]);
        }
    }
    return used > 0 && setenv(REMOVED, removed, 1) == 0;
}

const char *
oct_blas_removed(void)
{
    const char *removed = getenv(REMOVED);
    return removed != NULL ? removed : "";
}

void
oct_blas_restart(char **argv)
{
    if (oct_blas_clear_environment()) {
        (void)execv("/proc/self/exe", argv);
    }
}
