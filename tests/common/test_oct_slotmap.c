// Places in groups: against a plain list of which place came into which group when.
#include "common/oct_slotmap.h"

#include "common/oct_base.h"
#include "common/oct_rng.h"
#include "tests/support/oct_test.h"

enum { PLACES = 300, KEYS = 40 };

static uint32_t key_at[PLACES]; // 0: in none
static uint64_t since[PLACES];

static oct_slotmap_key
key_of(uint32_t number) // some differ in one half, some in the other
{
    return (oct_slotmap_key){number % 7, number / 7};
}

static void
group_check(const oct_slotmap *places, uint32_t key)
{
    uint32_t count = 0, at = oct_slotmap_first(places, key_of(key));
    uint64_t before = 0;
    for (; at != OCT_SLOTMAP_NONE; at = oct_slotmap_next(places, at)) {
        assert_int_equal(key_at[at], key);
        assert_true(since[at] > before);
        before = since[at];
        count++;
    }
    uint32_t wanted = 0;
    for (uint32_t i = 0; i < PLACES; i++) {
        wanted += key_at[i] == key;
    }
    assert_int_equal(count, wanted);
    assert_int_equal(oct_slotmap_count(places, key_of(key)), wanted);
}

static void
test_places_are_in_the_group_that_they_were_put_in_last(void **state)
{
    (void)state;
    oct_slotmap *places = oct_slotmap_create();
    oct_rng rng;
    oct_rng_init(&rng, 16, 0);
    for (uint64_t turn = 1; turn <= 20000; turn++) {
        uint32_t place = oct_rng_below(&rng, PLACES), key = 1 + oct_rng_below(&rng, KEYS);
        if (oct_rng_below(&rng, 3) == 0) {
            oct_slotmap_drop(places, place);
            key = 0;
        } else {
            oct_slotmap_put(places, key_of(key), place);
        }
        uint32_t was = key_at[place];
        key_at[place] = key;
        since[place] = turn;
        if (was != 0) {
            group_check(places, was);
        }
        if (key != 0) {
            group_check(places, key);
        }
    }
    for (uint32_t key = 1; key <= KEYS; key++) {
        group_check(places, key);
    }
    oct_slotmap_destroy(places);
}

// Each has a group of its own, and leaves it again: found at once, however many there are.
static void
test_places_of_many_groups(void **state)
{
    (void)state;
    enum { MANY = 50000 };
    oct_slotmap *places = oct_slotmap_create();
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < MANY; i++) {
            oct_slotmap_put(places, (oct_slotmap_key){0, i * UINT64_C(4294967296)}, i);
        }
        for (uint32_t i = 0; i < MANY; i++) {
            const oct_slotmap_key key = {0, i * UINT64_C(4294967296)};
            assert_int_equal(oct_slotmap_first(places, key), i);
            assert_int_equal(oct_slotmap_next(places, i), OCT_SLOTMAP_NONE);
            oct_slotmap_drop(places, i);
            oct_slotmap_drop(places, i);
            assert_int_equal(oct_slotmap_count(places, key), 0);
        }
    }
    oct_slotmap_destroy(places);
    oct_slotmap_destroy(NULL);
}

static void
test_places_nobody_was_put_in(void **state)
{
    (void)state;
    oct_slotmap *places = oct_slotmap_create();
    oct_slotmap_drop(places, 5);
    assert_int_equal(oct_slotmap_first(places, (oct_slotmap_key){0}), OCT_SLOTMAP_NONE);
    assert_int_equal(oct_slotmap_count(places, (oct_slotmap_key){0}), 0);
    oct_slotmap_put(places, (oct_slotmap_key){0}, 1000);
    assert_int_equal(oct_slotmap_first(places, (oct_slotmap_key){0}), 1000);
    oct_slotmap_destroy(places);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places_nobody_was_put_in),
        cmocka_unit_test(test_places_are_in_the_group_that_they_were_put_in_last),
        cmocka_unit_test(test_places_of_many_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
