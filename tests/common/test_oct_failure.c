// The last error of a process reaches the process that started it, and no bytes in the file harm
// the reader.
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/oct_test.h"

#include "common/oct_failure.h"
#include "common/oct_log.h"

static int fd = -1;
static oct_failure got;

static int
setup(void **state)
{
    (void)state;
    fd = oct_failure_open();
    return fd < 0;
}

static int
teardown(void **state)
{
    (void)state;
    return close(fd);
}

// This process as a child that got this number.
static void
begin(const char *number)
{
    assert_int_equal(setenv(OCT_FAILURE_FD, number, 1), 0);
    oct_failure_begin();
}

static void
begin_own(void)
{
    char number[16];
    (void)snprintf(number, sizeof(number), "%d", fd);
    begin(number);
}

// What a child may have left in the file.
static bool
reads(const char *record, size_t length)
{
    assert_int_equal(pwrite(fd, record, length, 0), length);
    return oct_failure_read(fd, OCT_FAILURE_ERROR, &got);
}

static void
test_nothing_is_recorded_without_a_parent_that_asks(void **state)
{
    (void)state;
    char path[] = "/tmp/test_oct_failure_XXXXXX", number[16], byte;
    int file = mkstemp(path), closed = dup(fd);
    assert_true(file >= 0 && closed >= 0 && close(closed) == 0);
    assert_int_equal(unsetenv(OCT_FAILURE_FD), 0);
    oct_failure_begin();
    (void)snprintf(number, sizeof(number), "%d", closed);
    begin(number);
    (void)snprintf(number, sizeof(number), "%d", file); // another file has the number by now
    begin(number);
    assert_int_equal(ftruncate(file, OCT_FAILURE_KINDS * OCT_FAILURE_BYTES), 0);
    begin(number);
    begin("");
    begin("4x");
    begin("-1");
    begin("99999999999999999999");
    oct_failure_write(OCT_FAILURE_ERROR, "TEST-ERROR", "why");
    assert_false(oct_failure_read(fd, OCT_FAILURE_ERROR, &got));
    assert_false(oct_failure_read(-1, OCT_FAILURE_ERROR, &got));
    assert_int_equal(pread(file, &byte, 1, 0), 1);
    assert_int_equal(byte, 0);
    assert_int_equal(close(file) + unlink(path), 0);
}

static void
test_the_last_error_is_read(void **state)
{
    (void)state;
    begin_own();
    oct_log_init("test", OCT_LOG_WARN);
    oct_log_error("TEST-ERROR", "%s is too long for what follows", "the first text");
    assert_true(oct_failure_read(fd, OCT_FAILURE_ERROR, &got));
    assert_string_equal(got.id, "TEST-ERROR");
    assert_string_equal(got.text, "the first text is too long for what follows");
    uint64_t before_us = got.wall_us;
    oct_failure_print("octet-test", "%d files", 2);
    oct_log_warn("TEST-WARNING", "no error");
    assert_true(oct_failure_read(fd, OCT_FAILURE_ERROR, &got));
    assert_string_equal(got.id, "-");
    assert_string_equal(got.text, "2 files");
    assert_true(got.wall_us >= before_us);
}

static void
test_kinds_are_apart(void **state)
{
    (void)state;
    begin_own();
    oct_failure_write(OCT_FAILURE_ENVIRONMENT, "TEST-ENV", "it raised");
    assert_false(oct_failure_read(fd, OCT_FAILURE_ERROR, &got));
    oct_failure_write(OCT_FAILURE_ERROR, "TEST-ERROR", "why");
    assert_true(oct_failure_read(fd, OCT_FAILURE_ENVIRONMENT, &got));
    assert_string_equal(got.text, "it raised");
}

// Its first line, as much of it as fits.
static void
test_records_are_one_line_of_bounded_length(void **state)
{
    (void)state;
    static char text[3 * OCT_FAILURE_BYTES];
    struct stat file;
    begin_own();
    oct_failure_write(OCT_FAILURE_ERROR, "TEST-ERROR", "a\tb\x1b[31m\r\nforged 1 X-Y line\n");
    assert_true(oct_failure_read(fd, OCT_FAILURE_ERROR, &got));
    assert_string_equal(got.text, "a b [31m ");
    memset(text, 'x', sizeof(text) - 1);
    oct_failure_write(OCT_FAILURE_ERROR, "TEST-ERROR", text);
    assert_true(oct_failure_read(fd, OCT_FAILURE_ERROR, &got));
    assert_int_equal(strlen(got.text), OCT_FAILURE_TEXT_MAX - 1);
    assert_false(oct_failure_read(fd, OCT_FAILURE_ENVIRONMENT, &got));
    assert_int_equal(ftruncate(fd, 1 << 30), -1); // a child cannot fill the memory
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(fstat(fd, &file), 0);
    assert_int_equal(file.st_size, OCT_FAILURE_KINDS * OCT_FAILURE_BYTES);
}

static void
test_bytes_that_are_no_record_are_none(void **state)
{
    (void)state;
    static const char *const none[] = {"\n",     "12 TEST-ERROR why", "TEST-ERROR why\n", "12\n",
                                       "12 X\n", "12 TEST-ERROR \n",  "12  why\n",        " \n"};
    char long_id[OCT_FAILURE_BYTES], full[OCT_FAILURE_BYTES];
    for (size_t i = 0; i < OCT_COUNTOF(none); i++) {
        assert_int_equal(pwrite(fd, (char[64]){0}, 64, 0), 64);
        assert_false(reads(none[i], strlen(none[i])));
    }
    int length = snprintf(long_id, sizeof(long_id), "1 %0*d why\n", OCT_FAILURE_ID_MAX, 0);
    assert_false(reads(long_id, (size_t)length));
    memset(full, 'x', sizeof(full)); // half of a record, or one without an end
    memcpy(full, "1 X ", 4);
    assert_false(reads(full, sizeof(full)));
    assert_false(reads("1 X a\0b", 7)); // and still none
    assert_true(reads("1 TEST-\x1b why\x9b\xff\x07 so\n", 19));
    assert_string_equal(got.id, "TEST-?");
    for (const char *at = got.text; *at != '\0'; at++) {
        assert_true((unsigned char)*at >= ' ');
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_is_recorded_without_a_parent_that_asks, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_the_last_error_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kinds_are_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(test_records_are_one_line_of_bounded_length, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_bytes_that_are_no_record_are_none, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
