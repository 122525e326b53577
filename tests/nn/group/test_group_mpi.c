// A group by MPI, as mpirun starts it. Exits 0 when everything holds on all ranks, and 77 (skipped)
// in a build without MPI.
// usage: test_group_mpi SIZE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/oct_reason.h"
#include "nn/group/group_launch.h"
#include "nn/group/group_mpi.h"
#include "tests/nn/group/group_checks.h"

int
main(int argc, char **argv)
{
    group *g;
    bool is_local = false;
    oct_reason why;
    if (argc != 2 || group_launch_size() == 1) {
        fprintf(stderr, "usage: mpirun -n SIZE test_group_mpi SIZE\n");
        return 2;
    }
    uint32_t size = (uint32_t)strtoul(argv[1], NULL, 10);
    if (group_mpi_open(&g, size, &is_local, &why) != OCT_OK) {
        fprintf(stderr, "%s\n", why.text);
        return 3;
    }
    // mpirun and srun tell all ranks to end: rank 0 alone decides when.
    if (group_rank(g) != 0) {
        (void)raise(SIGTERM);
        (void)raise(SIGINT);
    }
    bool holds = group_checks(g) && is_local;
    group_destroy(g);
    return holds ? EXIT_SUCCESS : EXIT_FAILURE;
}
