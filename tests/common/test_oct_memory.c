// A limit on the process itself counts, as one on the machine does.
#include <stdio.h>
#include <sys/resource.h>

#include "common/oct_memory.h"
#include "common/oct_process.h"
#include "tests/support/oct_test.h"

#define MIB (UINT64_C(1) << 20)

// Returns the limit so far.
static rlim_t
limit_set(int resource, rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(resource, &limit), 0);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(resource, &limit), 0);
    return before;
}

static void
test_memory_ends_where_the_address_space_does(void **state)
{
    (void)state;
    oct_process now;
    oct_process_measure(&now);
    uint64_t used = (uint64_t)now.virtual_bytes, usual = oct_memory_available();
    rlim_t before = limit_set(RLIMIT_AS, used + 64 * MIB);
    uint64_t left = oct_memory_available(), most = oct_memory_limit();
    (void)limit_set(RLIMIT_AS, used / 2); // it has more already
    uint64_t none = oct_memory_available();
    (void)limit_set(RLIMIT_AS, before);
    assert_true(left <= 64 * MIB && left >= OCT_MIN(usual, 32 * MIB));
    assert_true(most <= used + 64 * MIB);
    assert_true(none == 0);
}

// VmData of this process; sanitizers have terabytes.
static uint64_t
data_bytes(void)
{
    char line[128];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    assert_non_null(file);
    while (kib == 0 && fgets(line, sizeof(line), file) != NULL) {
        (void)sscanf(line, "VmData: %llu", &kib);
    }
    (void)fclose(file);
    assert_true(kib > 0);
    return kib * 1024;
}

static void
test_memory_ends_where_the_limit_of_data_is(void **state)
{
    (void)state;
    uint64_t used = data_bytes(), usual = oct_memory_available();
    rlim_t before = limit_set(RLIMIT_DATA, used + 64 * MIB);
    uint64_t left = oct_memory_available(), most = oct_memory_limit();
    (void)limit_set(RLIMIT_DATA, before);
    assert_true(left <= 64 * MIB && left >= OCT_MIN(usual, 32 * MIB));
    assert_true(most <= used + 64 * MIB);
    assert_true(oct_memory_available() <= oct_memory_limit());
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_ends_where_the_address_space_does),
        cmocka_unit_test(test_memory_ends_where_the_limit_of_data_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
