// The environment that mpirun and srun give to the processes that they start.
#include "nn/group/group_launch.h"

#include <stdlib.h>

#include "common/oct_base.h"

// Variables with the number of processes: of Open MPI's mpirun; of srun with PMI-2; of srun, for
// its step. mpirun comes first, because it may run within a step.
static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
// Variables that show a launcher if none of those is set: PMIx has no variable for the size.
static const char *const ranks[] = {"PMIX_RANK", "PMI_RANK"};

uint32_t
group_launch_size(void)
{
    for (size_t i = 0; i < OCT_COUNTOF(sizes); i++) {
        const char *size = getenv(sizes[i]);
        if (size != NULL) {
            unsigned long count = strtoul(size, NULL, 10);
            return count <= UINT32_MAX ? (uint32_t)count : 0;
        }
    }
    for (size_t i = 0; i < OCT_COUNTOF(ranks); i++) {
        if (getenv(ranks[i]) != NULL) {
            return 0;
        }
    }
    return 1;
}

void
group_launch_forget(void)
{
    for (size_t i = 0; i < OCT_COUNTOF(sizes); i++) {
        (void)unsetenv(sizes[i]);
    }
    for (size_t i = 0; i < OCT_COUNTOF(ranks); i++) {
        (void)unsetenv(ranks[i]);
    }
}
