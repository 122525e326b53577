// Keeps OpenBLAS from starting threads before main; nn_blas_init starts the threads that are
// needed. Linking this file into a program (nn/meson.build) is enough.
//
// When OpenBLAS is loaded it starts a thread for each further CPU of the process. Each thread maps
// 128 MiB. Where a limit (ulimit -v, ulimit -d) denies the memory, the thread tries forever, and
// exit waits for it. Where a limit (ulimit -u) denies the thread, OpenBLAS ends the program. So
// this file confines the process to one CPU while libraries are initialised, unless
// OPENBLAS_NUM_THREADS sets the number of threads.
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define VARIABLE "OPENBLAS_NUM_THREADS="

static cpu_set_t cpus;   // CPUs that the process may use
static bool is_narrowed; // widen must restore cpus

// Runs before the constructors of all libraries. That includes the C library's own, so getenv does
// not work yet.
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

// Runs after the constructors of the libraries, and before main.
__attribute__((constructor)) static void
widen(void)
{
    if (is_narrowed) {
        (void)sched_setaffinity(0, sizeof(cpus), &cpus);
    }
}
