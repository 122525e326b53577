// What mpirun and srun tell the processes that they start.
#include "group/group_launch.h"

#include <stdlib.h>

#include "common/oct_base.h"

// The number of processes: Open MPI's mpirun; srun with PMI-2; srun, of its step. A mpirun may run
// in a step.
static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
// That there is a launcher, where none of those is set: PMIx has no variable for the size.
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
