// A box for the newest message: an older one that nobody took is returned, and none is lost or
// doubled between threads.
#include <pthread.h>
#include <stdlib.h>

#include "tests/support/oct_test.h"

#include "common/oct_latest.h"

enum { ITEMS = 20000 };

static void
test_take_from_an_empty_box_is_null(void **state)
{
    (void)state;
    oct_latest box;
    oct_latest_init(&box);
    assert_null(oct_latest_take(&box));
}

static void
test_put_returns_the_unread_one_and_take_gives_the_newest_once(void **state)
{
    (void)state;
    int a, b;
    oct_latest box;
    oct_latest_init(&box);
    assert_null(oct_latest_put(&box, &a));
    assert_ptr_equal(oct_latest_put(&box, &b), &a);
    assert_ptr_equal(oct_latest_take(&box), &b);
    assert_null(oct_latest_take(&box));
    assert_null(oct_latest_put(&box, &a));
}

struct item {
    int number;
    int check;
};

static void *
put_all(void *arg)
{
    oct_latest *box = arg;
    size_t displaced = 0;
    for (int i = 1; i <= ITEMS; i++) {
        struct item *item = malloc(sizeof(*item));
        *item = (struct item){.number = i, .check = -i};
        struct item *old = oct_latest_put(box, item);
        displaced += old != NULL;
        free(old);
    }
    return (void *)displaced;
}

// Under TSan this also proves that what the item points to is handed over.
static void
test_between_threads_numbers_only_grow_and_nothing_is_lost_or_doubled(void **state)
{
    (void)state;
    oct_latest box;
    oct_latest_init(&box);
    pthread_t putter;
    assert_int_equal(pthread_create(&putter, NULL, put_all, &box), 0);
    size_t taken = 0;
    int newest = 0;
    while (newest < ITEMS) {
        struct item *item = oct_latest_take(&box);
        if (item != NULL) {
            assert_true(item->number > newest);
            assert_int_equal(item->check, -item->number);
            newest = item->number;
            taken++;
            free(item);
        }
    }
    void *displaced;
    assert_int_equal(pthread_join(putter, &displaced), 0);
    assert_int_equal(taken + (size_t)displaced, ITEMS);
    assert_null(oct_latest_take(&box));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take_from_an_empty_box_is_null),
        cmocka_unit_test(test_put_returns_the_unread_one_and_take_gives_the_newest_once),
        cmocka_unit_test(test_between_threads_numbers_only_grow_and_nothing_is_lost_or_doubled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
