// metrics.csv and the TensorBoard file have the right contents, and writing errors are reported.
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>

#include "common/oct_bytes.h"
#include "learner/learner_metrics.h"
#include "tests/learner/run_folder.h"

#define FOLDER "test_learner_metrics.run"
#define BOTH   (OCT_SHOWN_CSV | OCT_SHOWN_TENSORBOARD)

static oct_numbers *numbers;
static struct values {
    double wall_s, env_steps, updates, eval_return, later;
} values;

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
    values = (struct values){1.5, env_steps, 0.25, NAN, 7};
    numbers = oct_numbers_create("");
    for (size_t i = 0; i < OCT_COUNTOF(rows); i++) {
        oct_number row = rows[i];
        row.unit = "";
        row.help = "Help.";
        oct_numbers_add_all(numbers, &row, 1, &values);
    }
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
    T_ERR(learner_metrics_open(&metrics, "no/such/folder", NULL), OCT_EIO);
    assert_null(metrics);
    learner_metrics_close(NULL);
}

// The disk is full: told once, nothing crashes, the other file goes on.
static void
test_metrics_on_a_full_disk(void **state)
{
    (void)state;
    folder_begin(FOLDER);
    assert_int_equal(symlink("/dev/full", FOLDER "/metrics.csv"), 0);
    learner_metrics *metrics;
    numbers_begin(3);
    T_OK(learner_metrics_open(&metrics, FOLDER, numbers));
    for (int i = 0; i < 500; i++) {
        assert_int_equal(learner_metrics_write(metrics, 3), ENOSPC);
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
    T_OK(learner_metrics_open(&metrics, FOLDER, numbers));
    files_bounded(20); // of the header
    assert_int_equal(learner_metrics_write(metrics, 1), EFBIG);
    files_bounded(RLIM_INFINITY);
    values.env_steps = 1e7 + 1;
    assert_int_equal(learner_metrics_write(metrics, 2), 0);
    files_bounded(60); // of the row, and nothing of TensorBoard's
    values.env_steps = 1e7 + 2;
    assert_int_equal(learner_metrics_write(metrics, 3), EFBIG);
    assert_int_equal(learner_metrics_write(metrics, 3), EFBIG);
    files_bounded(RLIM_INFINITY);
    values.env_steps = 1e7 + 3;
    assert_int_equal(learner_metrics_write(metrics, 4), 0);
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
        T_OK(learner_metrics_open(&metrics, FOLDER, numbers));
        assert_int_equal(learner_metrics_write(metrics, 1), 0);
        learner_metrics_close(metrics);
        oct_numbers_destroy(numbers);
    }
    char *text = folder_read(FOLDER, "metrics.csv");
    assert_string_equal(text, "wall_s,env_steps,updates,eval_return\n"
                              "1.5,10000000,0.25,\n1.5,10000001,0.25,\n");
    free(text);
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
    T_OK(learner_metrics_open(&metrics, FOLDER, numbers));
    assert_int_equal(learner_metrics_write(metrics, 1), 0);
    numbers_add_later();
    assert_int_equal(learner_metrics_write(metrics, 2), 0);
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
        T_OK(learner_metrics_open(&metrics, FOLDER, numbers));
        if (part == 1) {
            numbers_add_later();
        }
        assert_int_equal(learner_metrics_write(metrics, part), 0);
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
    enum { RECORDS = 4 };
    folder_begin(FOLDER);
    learner_metrics *metrics;
    numbers_begin(1);
    T_OK(learner_metrics_open(&metrics, FOLDER, numbers));
    for (int i = 1; i < RECORDS; i++) {
        assert_int_equal(learner_metrics_write(metrics, 1000 * i), 0);
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
        } else {
            // field 2, varint: the step; 1000 is e8 07 in base 128.
            static const uint8_t step[] = {0x10, 0xe8, 0x07};
            assert_true(records != 1 || memcmp(event + 9, step, 3) == 0);
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metrics_folder_that_is_not_there),
        cmocka_unit_test(test_metrics_on_a_full_disk),
        cmocka_unit_test(test_metrics_on_a_disk_that_is_full_for_a_while),
        cmocka_unit_test(test_metrics_csv),
        cmocka_unit_test(test_metrics_columns_are_those_of_the_first_row),
        cmocka_unit_test(test_metrics_of_other_columns_are_kept_aside),
        cmocka_unit_test(test_metrics_tensorboard_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
