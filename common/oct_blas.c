// Removes from a program's environment the variables that force OpenBLAS' kernels.
#include "common/oct_blas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_base.h"

// holds what was removed; is set in the restarted program, too
#define REMOVED       "OCTET_BLAS_REMOVED"
#define REMOVED_BYTES 256 // three assignments of at most 22 + 40 bytes

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
            // A value is cut, because the text is only for the log.
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
