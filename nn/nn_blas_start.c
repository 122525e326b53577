// Keeps OpenBLAS from starting threads before main. nn_blas_init asks for those that are needed.
//
// OpenBLAS starts a thread for each further CPU of the process when it is loaded. Each maps 128 MiB
// and, where a limit (ulimit -v, ulimit -d) denies them, tries for ever, and exit waits for it;
// where a thread is denied (ulimit -u), OpenBLAS ends the program. So the process has one CPU while
// libraries are initialised, unless OPENBLAS_NUM_THREADS says how many threads there shall be.
// Being linked into a program (nn/meson.build) is enough.
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define VARIABLE "OPENBLAS_NUM_THREADS="

static cpu_set_t cpus; // of the process
static bool is_narrowed;

// Before the constructors of all libraries, that of the C library too: getenv does not work yet.
static void
narrow(int argc, char **argv, char **environment)
{
    cpu_set_t one;
    (void)argc;
    (void)argv;
    for (size_t i = 0; environment[i] != NULL; i++) {
        if (strncmp(environment[i], VARIABLE, strlen(VARIABLE)) == 0) {
            return;
        }
    }
    int cpu = sched_getcpu();
    if (cpu < 0 || sched_getaffinity(0, sizeof(cpus), &cpus) != 0) {
        return; // more than 1024 CPUs
    }
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    is_narrowed = sched_setaffinity(0, sizeof(one), &one) == 0;
}

__attribute__((section(".preinit_array"),
               used)) static void (*const before_libraries)(int argc, char **argv,
                                                            char **environment) = narrow;

__attribute__((constructor)) static void
widen(void)
{
    if (is_narrowed) {
        (void)sched_setaffinity(0, sizeof(cpus), &cpus);
    }
}
