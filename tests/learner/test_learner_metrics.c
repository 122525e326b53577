#include <errno.h>

#include "common/oct_bytes.h"
#include "learner/learner_metrics.h"
#include "tests/learner/run_folder.h"

#define FOLDER "test_learner_metrics.run"

static learner_row
row_of(double env_steps)
{
    learner_row row;
    double *values = (double *)&row;
    for (size_t i = 0; i < sizeof(row) / sizeof(double); i++) {
        values[i] = NAN;
    }
    row.wall_s = 1.5;
    row.env_steps = env_steps;
    row.updates = 0.25;
    return row;
}

static uint32_t
count_of(const char *text, char wanted)
{
    uint32_t count = 0;
    for (; *text != '\0'; text++) {
        count += *text == wanted;
    }
    return count;
}

static void
test_metrics_folder_that_is_not_there(void **state)
{
    (void)state;
    learner_metrics *metrics = NULL;
    T_ERR(learner_metrics_open(&metrics, "no/such/folder"), OCT_EIO);
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
    learner_row row = row_of(3);
    T_OK(learner_metrics_open(&metrics, FOLDER));
    for (int i = 0; i < 500; i++) {
        learner_metrics_write(metrics, &row);
        assert_int_equal(learner_metrics_failed(metrics), ENOSPC);
    }
    learner_metrics_close(metrics);
    uint8_t *bytes;
    size_t length;
    T_OK(oct_file_read(folder_find(FOLDER, "events.out"), 1 << 20, &bytes, &length));
    assert_true(length > 500 * 30);
    free(bytes);
    folder_end(FOLDER);
}

static void
test_metrics_csv(void **state)
{
    (void)state;
    folder_begin(FOLDER);
    uint32_t columns;
    const char *const *names = learner_metrics_names(&columns);
    for (int part = 0; part < 2; part++) { // opened twice: a resumed run appends
        learner_metrics *metrics;
        T_OK(learner_metrics_open(&metrics, FOLDER));
        learner_row row = row_of(1e7 + part);
        learner_metrics_write(metrics, &row);
        assert_int_equal(learner_metrics_failed(metrics), 0);
        learner_metrics_close(metrics);
    }
    char *text = folder_read(FOLDER, "metrics.csv");
    assert_int_equal(strncmp(text, "wall_s,env_steps,updates,", 25), 0);
    assert_int_equal(count_of(text, '\n'), 3);
    assert_int_equal(count_of(text, ','), 3 * columns);
    assert_non_null(strstr(text, names[columns - 1]));
    assert_non_null(strstr(text, "\n1.500,10000000,0.25,,,"));
    assert_non_null(strstr(text, "\n1.500,10000001,0.25,,,"));
    assert_null(strstr(text, "nan"));
    free(text);
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
    T_OK(learner_metrics_open(&metrics, FOLDER));
    for (int i = 1; i < RECORDS; i++) {
        learner_row row = row_of(1000 * i);
        learner_metrics_write(metrics, &row);
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
        }
        records++;
    }
    assert_int_equal(records, RECORDS);
    free(bytes);
    folder_end(FOLDER);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metrics_folder_that_is_not_there),
        cmocka_unit_test(test_metrics_on_a_full_disk),
        cmocka_unit_test(test_metrics_csv),
        cmocka_unit_test(test_metrics_tensorboard_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
