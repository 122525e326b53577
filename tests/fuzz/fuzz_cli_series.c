// What octet dash, octet report and octet compare read in a run folder: an input says which file it
// is (config.yaml, summary.json or metrics.csv), where it is cut in two, and what is in the file.
// One reader reads it complete, another while it grows: both must have the same rows.
#include "cli/runs/cli_series.h"
#include "common/oct_reason.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "tests/fuzz/fuzz.h"

#define ROWS 16

enum { METRICS, SUMMARY, CONFIG, FILES };

static const char *const names[FILES] = {"metrics.csv", "summary.json", "config.yaml"};
static char folder[] = "/dev/shm/octet_fuzz_series_XXXXXX";
static char path[FILES][64];

static void
folder_remove(void)
{
    for (int i = 0; i < FILES; i++) {
        (void)unlink(path[i]);
    }
    (void)rmdir(folder);
}

static void
put(int which, const uint8_t *bytes, size_t length, int flags)
{
    int fd = open(path[which], O_WRONLY | O_CREAT | flags, 0600);
    OCT_ASSERT(fd >= 0 && write(fd, bytes, length) == (ssize_t)length && close(fd) == 0);
}

static void
begin(void)
{
    OCT_ASSERT(mkdtemp(folder) != NULL);
    for (int i = 0; i < FILES; i++) {
        (void)snprintf(path[i], sizeof(path[i]), "%s/%s", folder, names[i]);
    }
    (void)atexit(folder_remove);
}

static cli_series *
series_open(void)
{
    oct_reason why;
    cli_series *series;
    oct_err err = cli_series_open(&series, folder, ROWS, &why);
    OCT_ASSERT(err == OCT_OK);
    return series;
}

static void
check_equal(const oct_csv *a, const oct_csv *b)
{
    OCT_ASSERT(a->columns == b->columns && a->rows == b->rows && a->rows_read == b->rows_read);
    OCT_ASSERT(a->merged == b->merged && a->rows <= ROWS);
    for (size_t i = 0; i < (size_t)a->rows * a->columns; i++) {
        OCT_ASSERT(a->values[i] == b->values[i] || (isnan(a->values[i]) && isnan(b->values[i])));
    }
}

// Calls what every user of a series calls.
static void
use(cli_series *series)
{
    cli_series_point points[ROWS];
    cli_series_spread spread[8];
    cli_series_range range;
    uint32_t group[1];
    OCT_ASSERT(cli_series_group(&series, 1, group) == 1);
    const oct_csv *csv = &series->metrics;
    for (uint32_t i = 0; i < csv->columns; i++) {
        uint32_t count = cli_series_curve(series, csv->name[0], csv->name[i], points);
        OCT_ASSERT(count <= csv->rows);
        for (uint32_t k = 1; k < count; k++) {
            OCT_ASSERT(points[k].x > points[k - 1].x);
        }
        count = cli_series_mean(&series, 1, csv->name[0], csv->name[i], 8, spread, &range);
        OCT_ASSERT(count == 0 || count == 1 || count == 8);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    if (path[0][0] == '\0') {
        begin();
    }
    int which = data[0] % FILES;
    size_t length = size - 2, first = length * data[1] / 256;
    (void)unlink(path[METRICS]);
    (void)unlink(path[SUMMARY]);
    put(CONFIG, (const uint8_t *)"", 0, O_TRUNC);
    cli_series *grown = series_open();
    put(which, data + 2, first, O_TRUNC);
    OCT_ASSERT(!cli_series_read(grown, UINT64_MAX));
    put(which, data + 2 + first, length - first, O_APPEND);
    while (cli_series_read(grown, 1)) {
    }
    cli_series *whole = series_open();
    OCT_ASSERT(!cli_series_read(whole, UINT64_MAX));
    check_equal(&whole->metrics, &grown->metrics);
    use(whole);
    bool is_taken = which == METRICS   ? whole->metrics.rows > 0
                    : which == SUMMARY ? whole->summary != NULL
                                       : whole->has_config;
    if (is_taken) {
        fuzz_accept();
    }
    cli_series_close(whole);
    cli_series_close(grown);
    return 0;
}

static void
seed_of(int which, uint8_t cut, const char *text, bool is_good)
{
    uint8_t seed[2048];
    size_t length = strlen(text);
    OCT_ASSERT(2 + length <= sizeof(seed));
    seed[0] = (uint8_t)which;
    seed[1] = cut;
    memcpy(seed + 2, text, length);
    if (is_good) {
        fuzz_seed(seed, 2 + length);
    } else {
        fuzz_seed_bad(seed, 2 + length);
    }
}

// As a run writes them.
void
fuzz_seeds(void)
{
    char rows[1024] = "wall_s,env_steps,loss,eval_return\n";
    for (int i = 1; i <= 40; i++) {
        char row[64];
        (void)snprintf(row, sizeof(row), i % 4 == 0 ? "%d,%d,0.5,%d\n" : "%d,%d,1e-3,\n", i, 10 * i,
                       i);
        strncat(rows, row, sizeof(rows) - strlen(rows) - 1);
    }
    seed_of(METRICS, 100, rows, true);
    seed_of(METRICS, 0, "wall_s,env_steps\n1,100\n2,200\n3,50\n", true);
    seed_of(METRICS, 0, "wall_s,<b>\n1,100\n", false);
    seed_of(METRICS, 200, "wall_s", false);
    seed_of(SUMMARY, 0, "{\"solved\": true, \"return\": {\"mean\": 499.25}}", true);
    seed_of(SUMMARY, 0, "[1]", false);
    seed_of(CONFIG, 0, "env: {id: CartPole-v1}\nrun: {seed: 3}\n", true);
    seed_of(CONFIG, 0, "env: [", false);
}
