// Recorded trajectories: the first byte picks the environment and how it is compared, the rest is
// the CSV file. An answer, or an error in words.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "envs/env_csv.h"
#include "envs/env_replay.h"
#include "tests/fuzz/fuzz.h"

#define SEED_MAX 3000

static const struct {
    const char *id, *options, *recording;
} kinds[] = {
    {"MinAtar/Breakout-v0", "sticky_actions=0", "minatar/breakout.csv"},
    {"MinAtar/Freeway-v0", "sticky_actions=0", "minatar/freeway.csv"},
    {"Acrobot-v1", "", "classic_control_ref/Acrobot-v1.csv"},
    {"Pendulum-v1", "", "classic_control_ref/Pendulum-v1.csv"},
};

static env *
env_of(size_t kind)
{
    static env *opened[OCT_COUNTOF(kinds)];
    if (opened[kind] == NULL) {
        env_request request = {
            .id = kinds[kind].id, .options = kinds[kind].options, .count = 1, .seed = 1};
        oct_err err = env_open(&opened[kind], &request, NULL);
        OCT_ASSERT(err == OCT_OK);
    }
    return opened[kind];
}

// The table alone: every cell of every row.
static void
expect_rows(const char *path)
{
    oct_reason why = {""};
    env_csv *csv;
    const env_csv_cell *cells;
    if (env_csv_open(&csv, path, &why) != OCT_OK) {
        OCT_ASSERT(why.text[0] != '\0');
        return;
    }
    oct_err err;
    while ((err = env_csv_next(csv, &cells)) == OCT_OK) {
        for (uint32_t i = 0; i < env_csv_columns(csv); i++) {
            OCT_ASSERT(cells[i].absent == (cells[i].text[0] == '\0'));
        }
    }
    OCT_ASSERT(err == OCT_ECLOSED || env_csv_error(csv)[0] != '\0');
    env_csv_close(csv);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    const char *path = fuzz_file(data + 1, size - 1);
    expect_rows(path);
    oct_reason why = {""};
    env_replay_request request = {
        .path = path,
        .tolerance = (data[0] & 16) != 0 ? 1e-7 : ENV_REPLAY_TOLERANCE,
        .one_step = (data[0] & 32) != 0,
        .partial = (data[0] & 64) != 0,
    };
    env_replay_result result;
    oct_err err = env_replay_run(&result, env_of(data[0] % OCT_COUNTOF(kinds)), &request, &why);
    OCT_ASSERT((err == OCT_OK) == (why.text[0] == '\0'));
    if (err == OCT_OK) {
        fuzz_accept();
    }
    return 0;
}

// The first lines of recordings.
void
fuzz_seeds(void)
{
    // From every recorded state (32): only of environments that have one.
    static const uint8_t manners[] = {0, 16, 64, 32};
    for (size_t kind = 0; kind < OCT_COUNTOF(kinds); kind++) {
        char path[512], seed[1 + SEED_MAX];
        (void)snprintf(path, sizeof(path), "%s/%s", TEST_DATA, kinds[kind].recording);
        FILE *file = fopen(path, "r");
        OCT_ASSERT(file != NULL);
        size_t length = 1 + fread(seed + 1, 1, SEED_MAX, file);
        OCT_ASSERT(fclose(file) == 0);
        while (seed[length - 1] != '\n') {
            length--;
        }
        for (size_t i = 0; i < (kind < 2 ? 3 : OCT_COUNTOF(manners)); i++) {
            seed[0] = (char)(kind | manners[i]);
            fuzz_seed(seed, length);
        }
    }
}
