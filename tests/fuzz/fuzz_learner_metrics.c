// metrics.csv of a folder in which a run is resumed: an input is the file. Rows are appended, and
// old ones are merged when there are too many; the file then has the header, complete rows, and few
// of them.
#include "learner/learner_metrics.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_csv.h"
#include "common/oct_file.h"
#include "common/oct_log.h"
#include "tests/fuzz/fuzz.h"

#define HEADER "time_s,wall_s,env_steps,updates,loss,env_steps_per_s\n"

enum { COLUMNS = 6, ROWS_MAX = 16, ROWS = 3, OLDER = 4, NEWEST = 4 };

static char folder[] = "/dev/shm/octet_fuzz_metrics_XXXXXX";
static double now[COLUMNS] = {1.7e9, 100, 5000, 400, 0.5, 50};
static oct_numbers *numbers;

// ---- the folder

static void
folder_clear(void)
{
    char path[512];
    DIR *all = opendir(folder);
    OCT_ASSERT(all != NULL);
    for (struct dirent *file; (file = readdir(all)) != NULL;) {
        if (file->d_name[0] != '.') {
            (void)snprintf(path, sizeof(path), "%s/%s", folder, file->d_name);
            OCT_ASSERT(unlink(path) == 0);
        }
    }
    (void)closedir(all);
}

static void
folder_remove(void)
{
    folder_clear();
    (void)rmdir(folder);
}

static void
begin(void)
{
    static const oct_number rows[COLUMNS] = {
        {.name = "time_s"},
        {.name = "wall_s"},
        {.name = "env_steps"},
        {.name = "updates"},
        {.name = "loss", .over = "updates"},
        {.name = "env_steps_per_s", .over = "wall_s"},
    };
    oct_log_init("fuzz", OCT_LOG_ERROR);
    OCT_ASSERT(mkdtemp(folder) != NULL);
    (void)atexit(folder_remove);
    numbers = oct_numbers_create("");
    for (int i = 0; i < COLUMNS; i++) {
        oct_number row = rows[i];
        row.unit = "";
        row.help = "Help.";
        row.shown = OCT_SHOWN_CSV | OCT_SHOWN_TENSORBOARD;
        row.arg = &now[i];
        oct_numbers_add(numbers, &row);
    }
}

static const char *
csv_path(void)
{
    static char path[64];
    (void)snprintf(path, sizeof(path), "%s/metrics.csv", folder);
    return path;
}

// ---- the file afterwards

static void
row_count(void *arg, const double *values)
{
    OCT_ASSERT(values != NULL);
    ++*(uint64_t *)arg;
}

// Merging leaves at most OLDER rows and the newest.
static void
expect_merged(const uint8_t *data, size_t size)
{
    static const uint32_t over[COLUMNS] = {
        OCT_CSV_LATEST, OCT_CSV_LATEST, OCT_CSV_LATEST, OCT_CSV_LATEST, 3, 1};
    const oct_csv_shrink_spec spec = {COLUMNS, over, 1, 1.25, NEWEST, OLDER};
    uint64_t rows = 0;
    FILE *in = fopen(fuzz_file(data, size), "re");
    OCT_ASSERT(in != NULL);
    if (oct_csv_shrink(in, &spec, row_count, &rows) == OCT_OK) {
        OCT_ASSERT(rows <= OLDER + NEWEST);
    }
    (void)fclose(in);
}

static void
expect_whole(uint32_t written)
{
    uint8_t *bytes;
    size_t length;
    oct_err err = oct_file_read(csv_path(), 1u << 24, &bytes, &length);
    OCT_ASSERT(err == OCT_OK && length > 0 && bytes[length - 1] == '\n');
    OCT_ASSERT(strncmp((const char *)bytes, HEADER, strlen(HEADER)) == 0);
    uint32_t lines = 0;
    for (size_t i = 0; i < length; i++) {
        lines += bytes[i] == '\n';
    }
    OCT_ASSERT(lines >= 1 + OCT_MIN(written, (uint32_t)NEWEST) && lines <= 1 + ROWS_MAX);
    // The last line is the row that was written last, whatever the file held before.
    const char *last = (const char *)bytes + length - 1;
    for (; last[-1] != '\n'; last--) {
    }
    OCT_ASSERT(strcmp(last, "1700000000,100,5000,400,0.5,50\n") == 0);
    free(bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (numbers == NULL) {
        begin();
    }
    expect_merged(data, size);
    FILE *out = fopen(csv_path(), "wb");
    OCT_ASSERT(out != NULL && fwrite(data, 1, size, out) == size && fclose(out) == 0);
    learner_metrics *metrics;
    oct_err err = learner_metrics_open(&metrics, folder, numbers, "env_steps", ROWS_MAX, 1);
    OCT_ASSERT(err == OCT_OK);
    for (int i = 0; i < ROWS; i++) {
        OCT_ASSERT(learner_metrics_write(metrics) == 0);
    }
    learner_metrics_close(metrics);
    expect_whole(ROWS);
    if (size > strlen(HEADER) && memcmp(data, HEADER, strlen(HEADER)) == 0) {
        fuzz_accept();
    }
    folder_clear();
    return 0;
}

void
fuzz_seeds(void)
{
    char text[4096] = HEADER;
    for (int i = 0; i < 40; i++) {
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%d,%d.5,%d,%d,%s,%d\n",
                       1700000000 + i, i, 100 * i, 10 * i, i % 3 == 0 ? "" : "0.25", 100);
        if (i == 0 || i == 12 || i == 39) {
            fuzz_seed(text, strlen(text));
        }
    }
    static const char odd[] = HEADER "1,1e300,,,nan,-1\n1,-5,0x10,1e400,,\n,,,,,\n1,2\n1,2,3,4,5,6";
    fuzz_seed(odd, strlen(odd));
    fuzz_seed_bad("", 0);
    fuzz_seed_bad("wall_s,other\n1,2\n", 17);
}
