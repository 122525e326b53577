// metrics.csv and the TensorBoard file have the right contents, and writing errors are reported.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "common/oct_bytes.h"
#include "learner/learner_metrics.h"
#include "tests/learner/run_folder.h"

#define FOLDER "test_learner_metrics[1].run" // a pattern to glob(3)
#define ROWS   100000
#define BOTH   (OCT_SHOWN_CSV | OCT_SHOWN_TENSORBOARD)

static oct_numbers *numbers;
static struct values {
    double wall_s, env_steps, updates, eval_return, later, time_s, loss;
} values;

static void
numbers_create(const oct_number *rows, size_t count)
{
    numbers = oct_numbers_create("");
    for (size_t i = 0; i < count; i++) {
        oct_number row = rows[i];
        row.unit = "";
        row.help = "Help.";
        oct_numbers_add_all(numbers, &row, 1, &values);
    }
}

static void
numbers_begin(double env_steps)
{
    static const oct_number rows[] = {
        {.name = "wall_s", .shown = OCT_SHOWN_CSV, .at = offsetof(struct values, wall_s)},
        {.name = "env_steps", .shown = BOTH, .at = offsetof(struct values, env_steps)},
        {.name = "updates", .shown = BOTH, .at = offsetof(struct values, updates)},
        {.name = "hidden", .shown = OCT_SHOWN_STATUS, .at = offsetof(struct values, updates)},
        {.name = "eval_return", .shown = BOTH, .at = offsetof(struct values, eval_return)},
    };
    values = (struct values){1.5, env_steps, 0.25, NAN, 7, 0, 0};
    numbers_create(rows, OCT_COUNTOF(rows));
}

static void
numbers_add_later(void)
{
    oct_number row = {
        .name = "later", .unit = "", .help = "Help.", .shown = BOTH, .arg = &values.later};
    oct_numbers_add(numbers, &row);
}

static void
test_metrics_folder_that_is_not_there(void **state)
{
    (void)state;
    learner_metrics *metrics = NULL;
    T_ERR(learner_metrics_open(&metrics, "no/such/folder", NULL, "env_steps", ROWS, 1), OCT_EIO);
    assert_null(metrics);
    learner_metrics_close(NULL);
}

// A file of holes takes no disk and long to read.
static void
test_metrics_of_a_terabyte_are_refused(void **state)
{
    (void)state;
    folder_begin(FOLDER);
    learner_metrics *metrics = NULL;
    FILE *file = fopen(FOLDER "/metrics.csv", "w");
    assert_true(file != NULL && ftruncate(fileno(file), (off_t)1 << 40) == 0);
    assert_int_equal(fclose(file), 0);
    T_ERR(learner_metrics_open(&metrics, FOLDER, NULL, "env_steps", ROWS, 1), OCT_EIO);
    assert_int_equal(errno, EFBIG);
    assert_string_equal(oct_file_strerror(errno),
                        "it has 1099511627776 bytes, and at most 4294967296 are read");
    assert_null(metrics);
    folder_end(FOLDER);
}

// What is written to an open file goes to a disk that is full.
static void
disk_fill(const char *path)
{
    enum { DESCRIPTORS = 64 };
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC), found = -1;
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        found = oct_file_is_open(path, fd) ? fd : found;
    }
    assert_true(full >= 0 && found >= 0);
    assert_int_equal(dup2(full, found), found);
    assert_int_equal(close(full), 0);
}

// The disk is full: told once, nothing crashes, the other file goes on.
static void
test_metrics_on_a_full_disk(void **state)
{
    (void)state;
    folder_begin(FOLDER);
    learner_metrics *metrics;
    numbers_begin(3);
    T_OK(learner_metrics_open(&metrics, FOLDER, numbers, "env_steps", ROWS, 1));
    disk_fill(FOLDER "/metrics.csv");
    for (int i = 0; i < 500; i++) {
        assert_int_equal(learner_metrics_write(metrics), ENOSPC);
    }
    learner_metrics_close(metrics);
    uint8_t *bytes;
    size_t length;
    T_OK(oct_file_read(folder_find(FOLDER, "events.out"), 1 << 20, &bytes, &length));
    assert_true(length > 500 * 30);
    free(bytes);
    oct_numbers_destroy(numbers);
    folder_end(FOLDER);
}

// Files may not grow beyond so many bytes: a disk that is full for a while.
static void
files_bounded(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

// A row is there whole or not at all, and those that come when there is room again are.
static void
test_metrics_on_a_disk_that_is_full_for_a_while(void **state)
{
    (void)state;
    folder_begin(FOLDER);
    (void)signal(SIGXFSZ, SIG_IGN);
    learner_metrics *metrics;
    numbers_begin(1e7);
    T_OK(learner_metrics_open(&metrics, FOLDER, numbers, "env_steps", ROWS, 1));
    files_bounded(20); // of the header
    assert_int_equal(learner_metrics_write(metrics), EFBIG);
    files_bounded(RLIM_INFINITY);
    values.env_steps = 1e7 + 1;
    assert_int_equal(learner_metrics_write(metrics), 0);
    files_bounded(60); // of the row, and nothing of TensorBoard's
    values.env_steps = 1e7 + 2;
    assert_int_equal(learner_metrics_write(metrics), EFBIG);
    assert_int_equal(learner_metrics_write(metrics), EFBIG);
    files_bounded(RLIM_INFINITY);
    values.env_steps = 1e7 + 3;
    assert_int_equal(learner_metrics_write(metrics), 0);
    learner_metrics_close(metrics);
    char *text = folder_read(FOLDER, "metrics.csv");
    assert_string_equal(text, "wall_s,env_steps,updates,eval_return\n"
                              "1.5,10000001,0.25,\n1.5,10000003,0.25,\n");
    free(text);
    oct_numbers_destroy(numbers);
    folder_end(FOLDER);
}

// Opened twice: a resumed run appends.
static void
test_metrics_csv(void **state)
{
    (void)state;
    folder_begin(FOLDER);
    for (int part = 0; part < 2; part++) {
        learner_metrics *metrics;
        numbers_begin(1e7 + part);
        T_OK(learner_metrics_open(&metrics, FOLDER, numbers, "env_steps", ROWS, 1));
        assert_int_equal(learner_metrics_write(metrics), 0);
        learner_metrics_close(metrics);
        oct_numbers_destroy(numbers);
    }
    char *text = folder_read(FOLDER, "metrics.csv");
    assert_string_equal(text, "wall_s,env_steps,updates,eval_return\n"
                              "1.5,10000000,0.25,\n1.5,10000001,0.25,\n");
    free(text);
    folder_end(FOLDER);
}

// The power failed in the middle of a row, or of the header.
static void
test_metrics_behind_part_of_a_row(void **state)
{
    (void)state;
    static const char *const begun[] = {"wall_s,env_steps,updates,eval_return\n1,2,3,4\n5,6",
                                        "wall_s,env_s"};
    static const char *const rows[] = {"1,2,3,4\n1.5,7,0.25,\n", "1.5,7,0.25,\n"};
    for (size_t i = 0; i < OCT_COUNTOF(begun); i++) {
        char want[128];
        learner_metrics *metrics;
        folder_begin(FOLDER);
        T_OK(oct_file_write(FOLDER "/metrics.csv", begun[i], strlen(begun[i])));
        numbers_begin(7);
        T_OK(learner_metrics_open(&metrics, FOLDER, numbers, "env_steps", ROWS, 1));
        assert_int_equal(learner_metrics_write(metrics), 0);
        learner_metrics_close(metrics);
        oct_numbers_destroy(numbers);
        char *text = folder_read(FOLDER, "metrics.csv");
        (void)snprintf(want, sizeof(want), "wall_s,env_steps,updates,eval_return\n%s", rows[i]);
        assert_string_equal(text, want);
        free(text);
    }
    folder_end(FOLDER);
}

// A number that is added before the first row is a column, one that comes after it is none.
static void
test_metrics_columns_are_those_of_the_first_row(void **state)
{
    (void)state;
    folder_begin(FOLDER);
    learner_metrics *metrics;
    numbers_begin(1);
    T_OK(learner_metrics_open(&metrics, FOLDER, numbers, "env_steps", ROWS, 1));
    assert_int_equal(learner_metrics_write(metrics), 0);
    numbers_add_later();
    assert_int_equal(learner_metrics_write(metrics), 0);
    learner_metrics_close(metrics);
    char *text = folder_read(FOLDER, "metrics.csv");
    assert_string_equal(text, "wall_s,env_steps,updates,eval_return\n1.5,1,0.25,\n1.5,1,0.25,\n");
    free(text);
    oct_numbers_destroy(numbers);
    folder_end(FOLDER);
}

// Resumed by a release or an algorithm with other columns: no row stands below a header that is not
// its own, and none is lost.
static void
test_metrics_of_other_columns_are_kept_aside(void **state)
{
    (void)state;
    folder_begin(FOLDER);
    for (int part = 0; part < 3; part++) {
        learner_metrics *metrics;
        numbers_begin(part);
        T_OK(learner_metrics_open(&metrics, FOLDER, numbers, "env_steps", ROWS, 1));
        if (part == 1) {
            numbers_add_later();
        }
        assert_int_equal(learner_metrics_write(metrics), 0);
        learner_metrics_close(metrics);
        oct_numbers_destroy(numbers);
    }
    static const char *const files[] = {"metrics-1.csv", "metrics-2.csv", "metrics.csv"};
    static const char *const want[] = {
        "wall_s,env_steps,updates,eval_return\n1.5,0,0.25,\n",
        "wall_s,env_steps,updates,eval_return,later\n1.5,1,0.25,,7\n",
        "wall_s,env_steps,updates,eval_return\n1.5,2,0.25,\n"};
    for (size_t i = 0; i < OCT_COUNTOF(files); i++) {
        char *text = folder_read(FOLDER, files[i]);
        assert_string_equal(text, want[i]);
        free(text);
    }
    folder_end(FOLDER);
}

// A file that was written by hand in the terms of TensorFlow: u64 length, masked CRC-32C of it, the
// event, masked CRC-32C of that.
static uint32_t
masked(const void *bytes, size_t length)
{
    uint32_t crc = oct_crc32c(0, bytes, length);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

static bool
contains(const uint8_t *bytes, size_t length, const char *text)
{
    for (size_t i = 0; i + strlen(text) <= length; i++) {
        if (memcmp(bytes + i, text, strlen(text)) == 0) {
            return true;
        }
    }
    return false;
}

static void
test_metrics_tensorboard_file(void **state)
{
    (void)state;
    enum { RECORDS = 5 };
    folder_begin(FOLDER);
    learner_metrics *metrics;
    numbers_begin(1);
    T_OK(learner_metrics_open(&metrics, FOLDER, numbers, "env_steps", ROWS, 1));
    for (int i = 1; i < RECORDS - 1; i++) {
        values.env_steps = 1000 * i;
        assert_int_equal(learner_metrics_write(metrics), 0);
    }
    learner_metrics_close(metrics);
    uint8_t *bytes;
    size_t length;
    T_OK(oct_file_read(folder_find(FOLDER, "events.out.tfevents."), 1 << 20, &bytes, &length));
    oct_reader reader = {.at = bytes, .left = length};
    int records = 0;
    while (reader.left > 0) {
        const uint8_t *head = reader.at;
        uint64_t event_length = oct_read_u64(&reader);
        assert_int_equal(oct_read_u32(&reader), masked(head, 8));
        const uint8_t *event = oct_read_bytes(&reader, event_length);
        assert_non_null(event);
        assert_int_equal(oct_read_u32(&reader), masked(event, event_length));
        assert_false(reader.failed);
        assert_int_equal(event[0], 0x09); // field 1, double: wall time
        if (records == 0) {
            assert_true(contains(event, event_length, "brain.Event:2"));
        } else if (records == 1) {
            // field 2, varint: the step; 1000 is e8 07 in base 128. Field 7, a session's START.
            static const uint8_t start[] = {0x10, 0xe8, 0x07, 0x3a, 0x02, 0x08, 0x01};
            assert_int_equal(event_length, 9 + sizeof(start));
            assert_memory_equal(event + 9, start, sizeof(start));
        } else {
            static const uint8_t step[] = {0x10, 0xe8, 0x07};
            assert_true(records != 2 || memcmp(event + 9, step, 3) == 0);
            assert_true(contains(event, event_length, "env_steps"));
            assert_true(contains(event, event_length, "updates"));
            assert_false(contains(event, event_length, "eval_return")); // NaN: no point
            assert_false(contains(event, event_length, "wall_s"));
        }
        records++;
    }
    assert_int_equal(records, RECORDS);
    free(bytes);
    oct_numbers_destroy(numbers);
    folder_end(FOLDER);
}

// ---- many rows

// Counters, a state and a mean over updates, in a run whose rows have these.
static void
numbers_begin_long(void)
{
    static const oct_number rows[] = {
        {.name = "wall_s", .shown = OCT_SHOWN_CSV, .at = offsetof(struct values, wall_s)},
        {.name = "time_s", .shown = OCT_SHOWN_CSV, .at = offsetof(struct values, time_s)},
        {.name = "env_steps", .shown = BOTH, .at = offsetof(struct values, env_steps)},
        {.name = "updates", .shown = BOTH, .at = offsetof(struct values, updates)},
        {.name = "eval_return", .shown = BOTH, .at = offsetof(struct values, eval_return)},
        {.name = "loss", .shown = BOTH, .over = "updates", .at = offsetof(struct values, loss)},
    };
    values = (struct values){.time_s = 1.7e9};
    numbers_create(rows, OCT_COUNTOF(rows));
}

// Row i of that run. The sum of all losses over the updates is the sum of loss times growth.
static double
row_set(uint64_t i)
{
    double grew = 1 + (double)(i % 3);
    values.wall_s += 1 + 0.01 * (double)(i % 5);
    values.time_s++;
    values.env_steps += 1000;
    values.updates += grew;
    values.eval_return = i % 7 == 0 ? (double)i : NAN;
    values.loss = (double)(i % 11);
    return grew * values.loss;
}

typedef struct table_seen {
    uint64_t rows, greatest_step;
    double losses, last_wall_s, longest_s, newest_longest_s;
} table_seen;

// What a reader of metrics.csv finds.
static table_seen
table_read(uint64_t newest)
{
    table_seen seen = {0};
    double walls[4096], updates = 0;
    char line[256];
    FILE *csv = fopen(FOLDER "/metrics.csv", "r");
    assert_non_null(csv);
    assert_non_null(fgets(line, sizeof(line), csv));
    assert_string_equal(line, "wall_s,time_s,env_steps,updates,eval_return,loss\n");
    while (fgets(line, sizeof(line), csv) != NULL) {
        double wall_s, time_s, steps, now;
        assert_int_equal(sscanf(line, "%lf,%lf,%lf,%lf", &wall_s, &time_s, &steps, &now), 4);
        seen.losses += (now - updates) * strtod(strrchr(line, ',') + 1, NULL);
        assert_true(now > updates && wall_s > seen.last_wall_s);
        updates = now;
        seen.longest_s = fmax(seen.longest_s, wall_s - seen.last_wall_s);
        seen.last_wall_s = walls[seen.rows % OCT_COUNTOF(walls)] = wall_s;
        seen.greatest_step = (uint64_t)steps;
        seen.rows++;
    }
    for (uint64_t i = seen.rows - newest; i < seen.rows; i++) {
        seen.newest_longest_s = fmax(seen.newest_longest_s, walls[i] - walls[i - 1]);
    }
    (void)fclose(csv);
    return seen;
}

// Records of all event files, and how many files there are; their bytes.
static uint32_t
events_count(uint64_t *files, uint64_t *bytes)
{
    uint32_t records = 0;
    *files = *bytes = 0;
    DIR *entries = opendir(FOLDER);
    const struct dirent *entry;
    while ((entry = readdir(entries)) != NULL) {
        char path[512];
        uint8_t *found;
        size_t length;
        if (strncmp(entry->d_name, "events.out.tfevents.", 20) != 0) {
            continue;
        }
        (void)snprintf(path, sizeof(path), "%s/%s", FOLDER, entry->d_name);
        T_OK(oct_file_read(path, 1 << 28, &found, &length));
        oct_reader reader = {.at = found, .left = length};
        while (reader.left > 0) {
            uint64_t event_length = oct_read_u64(&reader);
            assert_true(reader.left >= event_length + 8);
            (void)oct_read_u32(&reader);
            (void)oct_read_bytes(&reader, event_length);
            (void)oct_read_u32(&reader);
            records++;
        }
        (*files)++;
        *bytes += length;
        free(found);
    }
    (void)closedir(entries);
    return records;
}

// The steps of the one event file: of its start, then of each row.
static uint32_t
steps_read(uint64_t *steps, uint32_t room)
{
    uint8_t *found;
    size_t length;
    uint32_t records = 0;
    T_OK(oct_file_read(folder_find(FOLDER, "events.out.tfevents."), 1 << 20, &found, &length));
    oct_reader reader = {.at = found, .left = length};
    while (reader.left > 0) {
        uint64_t event_length = oct_read_u64(&reader);
        (void)oct_read_u32(&reader);
        const uint8_t *event = oct_read_bytes(&reader, event_length);
        (void)oct_read_u32(&reader);
        assert_false(reader.failed);
        if (records > 0) { // the version has none
            assert_true(records <= room && event[9] == 0x10);
            uint64_t step = 0;
            for (uint32_t i = 0; i == 0 || (event[9 + i] & 0x80) != 0; i++) {
                step |= (uint64_t)(event[10 + i] & 0x7f) << (7 * i);
            }
            steps[records - 1] = step;
        }
        records++;
    }
    free(found);
    return records - 1;
}

// As of a run that learns from a data set alone; also of rows that were joined.
static void
test_metrics_name_the_column_of_tensorboards_step(void **state)
{
    (void)state;
    enum { MAX = 16 };
    uint64_t step[MAX + 1];
    folder_begin(FOLDER);
    numbers_begin_long();
    learner_metrics *metrics;
    T_OK(learner_metrics_open(&metrics, FOLDER, numbers, "updates", MAX, 1));
    for (uint64_t i = 0; i < MAX + 1; i++) {
        (void)row_set(i);
        assert_int_equal(learner_metrics_write(metrics), 0);
        uint32_t count = steps_read(step, OCT_COUNTOF(step));
        assert_int_equal(count, i < MAX ? i + 2 : table_read(MAX / 4).rows + 1);
        assert_int_equal(step[count - 1], values.updates);
        assert_true(step[0] == step[1] && step[0] > 0);
        for (uint32_t k = 2; k < count; k++) {
            assert_true(step[k] > step[k - 1]);
        }
    }
    learner_metrics_close(metrics);
    oct_numbers_destroy(numbers);
    folder_end(FOLDER);
}

static ino_t
csv_inode(void)
{
    struct stat status;
    assert_int_equal(stat(FOLDER "/metrics.csv", &status), 0);
    return status.st_ino;
}

// The run of a year and a half at a row a second is written by the real code in tests; by default
// one of some hours. Its files are bounded, its sums true, and all of it is covered. Rows are
// joined so seldom that each is copied a bounded number of times, however many there are.
static void
test_metrics_of_a_long_run_are_bounded_and_true(void **state)
{
    (void)state;
    enum { MAX = 1000 };
    const char *wish = getenv("OCTET_TEST_ROWS");
    uint64_t all = wish != NULL ? strtoull(wish, NULL, 10) : 30000, files, bytes;
    double losses = 0;
    folder_begin(FOLDER);
    numbers_begin_long();
    learner_metrics *metrics;
    T_OK(learner_metrics_open(&metrics, FOLDER, numbers, "env_steps", MAX, 1));
    ino_t csv = csv_inode();
    uint64_t joined = 0;
    for (uint64_t i = 0; i < all; i++) {
        losses += row_set(i);
        assert_int_equal(learner_metrics_write(metrics), 0);
        joined += csv_inode() != csv;
        csv = csv_inode();
        if (i % (all / 5) == all / 5 - 1) { // resumed
            learner_metrics_close(metrics);
            T_OK(learner_metrics_open(&metrics, FOLDER, numbers, "env_steps", MAX, 1));
        }
    }
    learner_metrics_close(metrics);
    assert_true(joined > 0 && joined <= all / (MAX / 2));
    table_seen seen = table_read(MAX / 4);
    assert_true(seen.rows <= MAX + 1 && seen.rows > MAX / 4);
    T_NEAR(seen.losses, losses, 0, 1e-6);
    T_NEAR(seen.last_wall_s, values.wall_s, 0, 1e-9);
    assert_int_equal(seen.greatest_step, 1000 * all);
    assert_true(seen.newest_longest_s < 1.1);
    assert_true(seen.longest_s < 16 * (double)all / MAX); // nothing is lost in one long row
    uint32_t records = events_count(&files, &bytes);
    assert_true(records <= MAX + 20 && records >= seen.rows);
    assert_true(files <= 7 && bytes < 200 * MAX);
    assert_string_equal(folder_find(FOLDER, "metrics.csv.tmp"), "");
    assert_string_equal(folder_find(FOLDER, "metrics.events"), "");
    oct_numbers_destroy(numbers);
    folder_end(FOLDER);
}

// No room for the new files: all rows stay, the errno is told, and it is tried again.
static void
test_metrics_that_cannot_be_joined_stay(void **state)
{
    (void)state;
    folder_begin(FOLDER);
    numbers_begin_long();
    learner_metrics *metrics;
    char draft[512];
    (void)snprintf(draft, sizeof(draft), "%s/metrics.csv.tmp.%ld", FOLDER, (long)getpid());
    T_OK(learner_metrics_open(&metrics, FOLDER, numbers, "env_steps", 16, 1));
    T_OK(oct_file_make_folder(draft)); // nothing can be written there
    for (uint64_t i = 0; i < 16; i++) {
        (void)row_set(i);
        assert_int_equal(learner_metrics_write(metrics), 0);
    }
    (void)row_set(16);
    assert_int_equal(learner_metrics_write(metrics), EISDIR);
    (void)row_set(17);
    assert_int_equal(learner_metrics_write(metrics), 0); // not yet again
    assert_int_equal(table_read(4).rows, 18);
    assert_int_equal(rmdir(draft), 0);
    learner_metrics_close(metrics);
    T_OK(learner_metrics_open(&metrics, FOLDER, numbers, "env_steps", 16, 1));
    (void)row_set(18);
    assert_int_equal(learner_metrics_write(metrics), 0);
    assert_true(table_read(4).rows <= 8);
    learner_metrics_close(metrics);
    oct_numbers_destroy(numbers);
    folder_end(FOLDER);
}

// Event files of others, and those of rows that are not in metrics.csv any more.
static void
test_metrics_leave_event_files_of_others(void **state)
{
    (void)state;
    folder_begin(FOLDER);
    numbers_begin_long();
    T_OK(oct_file_write(FOLDER "/events.out.tfevents.1600000000.host.1", "x", 1)); // before
    T_OK(oct_file_write(FOLDER "/events.out.tfevents.1700000002.host.1", "x", 1)); // of this run
    assert_int_equal(symlink("/dev/null", FOLDER "/events.out.tfevents.1700000003.host.1"), 0);
    learner_metrics *metrics;
    T_OK(learner_metrics_open(&metrics, FOLDER, numbers, "env_steps", 16, 1));
    for (uint64_t i = 0; i < 17; i++) {
        (void)row_set(i);
        assert_int_equal(learner_metrics_write(metrics), 0);
    }
    learner_metrics_close(metrics);
    assert_string_not_equal(folder_find(FOLDER, "events.out.tfevents.1600000000"), "");
    assert_string_equal(folder_find(FOLDER, "events.out.tfevents.1700000002"), "");
    assert_string_not_equal(folder_find(FOLDER, "events.out.tfevents.1700000003"), "");
    oct_numbers_destroy(numbers);
    folder_end(FOLDER);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metrics_folder_that_is_not_there),
        cmocka_unit_test(test_metrics_of_a_terabyte_are_refused),
        cmocka_unit_test(test_metrics_on_a_full_disk),
        cmocka_unit_test(test_metrics_on_a_disk_that_is_full_for_a_while),
        cmocka_unit_test(test_metrics_csv),
        cmocka_unit_test(test_metrics_behind_part_of_a_row),
        cmocka_unit_test(test_metrics_columns_are_those_of_the_first_row),
        cmocka_unit_test(test_metrics_of_other_columns_are_kept_aside),
        cmocka_unit_test(test_metrics_tensorboard_file),
        cmocka_unit_test(test_metrics_name_the_column_of_tensorboards_step),
        cmocka_unit_test(test_metrics_of_a_long_run_are_bounded_and_true),
        cmocka_unit_test(test_metrics_that_cannot_be_joined_stay),
        cmocka_unit_test(test_metrics_leave_event_files_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
