#ifndef TESTS_CLI_CLI_RUNS_FIXTURE_H
#define TESTS_CLI_CLI_RUNS_FIXTURE_H

#include <stdlib.h>
#include <unistd.h>

#include "tests/support/oct_test.h"

// Up to four run folders, in a folder of the test program's own, which it enters: setup and
// teardown are those of its group. What else is in it the test removes.

#define RUNS 4

static char root[] = "/tmp/octet-test-XXXXXX";
static const char *const names[RUNS] = {"a", "b", "c", "d"};

static int
setup(void **state)
{
    (void)state;
    return mkdtemp(root) == NULL || chdir(root) != 0;
}

static int
teardown(void **state)
{
    (void)state;
    static const char *const files[] = {"config.yaml", "summary.json", "metrics.csv"};
    for (size_t r = 0; r < RUNS; r++) {
        for (size_t f = 0; f < OCT_COUNTOF(files); f++) {
            char path[64];
            (void)snprintf(path, sizeof(path), "%s/%s", names[r], files[f]);
            (void)unlink(path);
        }
        (void)rmdir(names[r]);
    }
    return rmdir(root);
}

#endif // TESTS_CLI_CLI_RUNS_FIXTURE_H
