// What the environment says of a launcher: Open MPI's mpirun, srun with PMIx, with PMI-2 and
// without.
#include <stdlib.h>

#include "nn/group/group_launch.h"
#include "tests/support/oct_test.h"

static void
test_a_launcher_says_how_many_it_started(void **state)
{
    (void)state;
    static const struct {
        const char *set[3][2];
        uint32_t size;
    } cases[] = {
        {{{NULL}}, 1},
        {{{"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "3"}}, 4},
        {{{"OMPI_COMM_WORLD_SIZE", "1"}, {"PMIX_RANK", "0"}}, 1},
        {{{"SLURM_STEP_NUM_TASKS", "2"}, {"PMIX_RANK", "0"}}, 2},
        {{{"SLURM_STEP_NUM_TASKS", "1"}, {"PMIX_RANK", "0"}}, 1},
        {{{"PMI_SIZE", "8"}, {"PMI_RANK", "7"}, {"SLURM_STEP_NUM_TASKS", "8"}}, 8},
        {{{"SLURM_STEP_NUM_TASKS", "3"}}, 3},
        // mpirun in a step of one task.
        {{{"SLURM_STEP_NUM_TASKS", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "2"}}, 4},
        {{{"PMIX_RANK", "0"}}, 0},
        {{{"PMI_RANK", "0"}}, 0},
        {{{"OMPI_COMM_WORLD_SIZE", "many"}}, 0},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        group_launch_forget(); // of the case before, and of whoever started this test
        assert_int_equal(group_launch_size(), 1);
        for (size_t k = 0; k < OCT_COUNTOF(cases[i].set) && cases[i].set[k][0] != NULL; k++) {
            assert_int_equal(setenv(cases[i].set[k][0], cases[i].set[k][1], 1), 0);
        }
        if (group_launch_size() != cases[i].size) {
            fail_msg("case %zu: %u, not %u", i, group_launch_size(), cases[i].size);
        }
    }
    group_launch_forget();
    assert_int_equal(group_launch_size(), 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_launcher_says_how_many_it_started),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
