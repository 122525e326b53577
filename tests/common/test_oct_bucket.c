// How often one may, what comes back, and who makes room.
#include "common/oct_bucket.h"

#include <string.h>

#include "tests/support/oct_test.h"

static oct_bucket allowance;

static const uint8_t *
id_of(uint32_t number)
{
    static uint8_t id[OCT_BUCKET_ID_BYTES];
    memcpy(id, &number, sizeof(number));
    return id;
}

static unsigned
takes(uint32_t number, unsigned tries, uint64_t now_ms, uint64_t *refused)
{
    unsigned taken = 0;
    uint64_t one;
    for (unsigned i = 0; i < tries; i++) {
        if (oct_bucket_take(&allowance, id_of(number), now_ms, &one)) {
            *refused += one;
            taken++;
        }
    }
    return taken;
}

static void
test_allowance_is_each_ones_own_and_comes_back(void **state)
{
    (void)state;
    uint64_t refused = 0;
    oct_bucket_init(&allowance, 8, 2);
    assert_int_equal(takes(1, 20, 1000, &refused), 8);
    assert_int_equal(refused, 0);
    assert_int_equal(takes(2, 3, 1000, &refused), 3);
    assert_int_equal(takes(1, 20, 1000, &refused), 0);
    assert_int_equal(takes(1, 20, 2000, &refused), 2); // two a second
    assert_int_equal(refused, 12 + 20);                // told once
    refused = 0;
    assert_int_equal(takes(1, 20, 1000000, &refused), 8); // never more than at the start
    assert_int_equal(refused, 18);
    refused = 0;
    assert_int_equal(takes(2, 8, 1000000, &refused), 8);
    assert_int_equal(refused, 0);
}

static void
test_allowance_is_used_also_by_those_who_are_not_asked(void **state)
{
    (void)state;
    oct_bucket_init(&allowance, 2, 1);
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(oct_bucket_is_left(&allowance, id_of(7), 0), i < 2);
        oct_bucket_use(&allowance, id_of(7), 0);
    }
    assert_false(oct_bucket_is_left(&allowance, id_of(7), 2999)); // four were used
    assert_true(oct_bucket_is_left(&allowance, id_of(7), 3000));  // a whole one came back
    assert_true(oct_bucket_is_left(&allowance, id_of(8), 0));
}

static void
test_allowance_full_the_longest_unheard_of_makes_room(void **state)
{
    (void)state;
    oct_bucket_init(&allowance, 1, 0);
    for (uint32_t i = 0; i < OCT_BUCKET_PEERS; i++) {
        oct_bucket_use(&allowance, id_of(i), i);
    }
    assert_false(oct_bucket_is_left(&allowance, id_of(0), 1000)); // it is heard of
    oct_bucket_use(&allowance, id_of(OCT_BUCKET_PEERS), 1001);
    assert_false(oct_bucket_is_left(&allowance, id_of(0), 1002));
    assert_true(oct_bucket_is_left(&allowance, id_of(1), 1002)); // forgotten
    assert_false(oct_bucket_is_left(&allowance, id_of(2), 1002));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allowance_is_each_ones_own_and_comes_back),
        cmocka_unit_test(test_allowance_is_used_also_by_those_who_are_not_asked),
        cmocka_unit_test(test_allowance_full_the_longest_unheard_of_makes_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
