// CPU time to merge the rows of a long run: a file of rows with 64 columns, as metrics.csv has
// them, becomes 10,000 rows. For comparison: the time to read the same bytes. usage: bench_oct_csv
// FOLDER [quick | ROWS]
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_csv.h"
#include "common/oct_rng.h"

#define COLUMNS     64
#define COUNTERS    16
#define WALL        1
#define NEWEST      5000
#define OLDER       5000
#define REPEATS     5
#define BLOCK_BYTES 65536

static uint64_t merged;

static void
row_count(void *arg, const double *values)
{
    (void)arg;
    (void)values;
    merged++;
}

// Counters first, then numbers of which every fourth is empty now and then.
static FILE *
file_make(const char *path, uint64_t rows)
{
    oct_rng rng;
    oct_rng_init(&rng, 1, 1);
    FILE *file = fopen(path, "w+e");
    OCT_ASSERT(file != NULL);
    for (uint32_t i = 0; i < COLUMNS; i++) {
        fprintf(file, "%scolumn_%u", i > 0 ? "," : "", i);
    }
    (void)fputc('\n', file);
    for (uint64_t row = 0; row < rows; row++) {
        for (uint32_t i = 0; i < COLUMNS; i++) {
            const char *comma = i > 0 ? "," : "";
            if (i < COUNTERS) {
                fprintf(file, "%s%" PRIu64, comma, (row + 1) * (i == WALL ? 1 : 1000 + i));
            } else if (i % 4 == 0 && row % 16 != 0) {
                (void)fputs(comma, file);
            } else {
                fprintf(file, "%s%.9g", comma, (double)oct_rng_normal(&rng));
            }
        }
        (void)fputc('\n', file);
    }
    OCT_ASSERT(fflush(file) == 0);
    return file;
}

static double
file_read(FILE *file)
{
    static char block[BLOCK_BYTES];
    uint64_t begin_ns = oct_clock_thread_cpu_ns();
    rewind(file);
    while (fread(block, 1, sizeof(block), file) > 0) {
    }
    return (double)(oct_clock_thread_cpu_ns() - begin_ns) * 1e-9;
}

static double
file_merge(FILE *file, const oct_csv_shrink_spec *spec)
{
    merged = 0;
    uint64_t begin_ns = oct_clock_thread_cpu_ns();
    oct_err err = oct_csv_shrink(file, spec, row_count, NULL);
    OCT_ASSERT(err == OCT_OK);
    return (double)(oct_clock_thread_cpu_ns() - begin_ns) * 1e-9;
}

int
main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: bench_oct_csv FOLDER [quick | ROWS]\n");
        return 2;
    }
    bool is_quick = argc > 2 && strcmp(argv[2], "quick") == 0;
    uint64_t rows = is_quick ? 20000 : argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
    uint32_t over[COLUMNS];
    for (uint32_t i = 0; i < COLUMNS; i++) {
        over[i] = i < COUNTERS ? OCT_CSV_LATEST : i % COUNTERS;
    }
    const oct_csv_shrink_spec spec = {.columns = COLUMNS,
                                      .over = over,
                                      .wall = WALL,
                                      .unit_s = 1.25,
                                      .newest = NEWEST,
                                      .older = OLDER};
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/bench_oct_csv.%ld", argv[1], (long)getpid());
    FILE *file = file_make(path, rows);
    double merge_s = 1e9, read_s = 1e9;
    for (int r = 0; r < (is_quick ? 1 : REPEATS); r++) {
        read_s = OCT_MIN(read_s, file_read(file));
        merge_s = OCT_MIN(merge_s, file_merge(file, &spec));
    }
    OCT_ASSERT(merged > NEWEST && merged <= NEWEST + OLDER);
    printf("{\"name\":\"oct_csv_shrink\",\"rows\":%" PRIu64 ",\"bytes\":%ld,\"merged\":%" PRIu64
           ",\"merge_s\":%.3f,\"read_s\":%.3f,\"unit\":\"CPU s, least of the repeats\"}\n",
           rows, ftell(file), merged, merge_s, read_s);
    (void)fclose(file);
    (void)unlink(path);
    return 0;
}
