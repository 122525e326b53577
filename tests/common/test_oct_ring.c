// The queue between two threads keeps its order, loses nothing, and wakes whoever waits.
#include <pthread.h>
#include <stdlib.h>

#include "tests/support/oct_test.h"

#include "common/oct_ring.h"

enum { FOREVER_MS = 60000 };

// On a busy machine each handing over costs a time slice, so small rings get few items.
struct flow {
    oct_ring *ring;
    int item_count;
};

static void *
item_of(uintptr_t number)
{
    return (void *)number; // NOLINT: only ever compared
}

static void
test_full_ring_refuses_and_keeps_what_it_has(void **state)
{
    (void)state;
    static const uint32_t capacities[] = {1, 2, 3, 7, 8, 1u << 10};
    for (size_t c = 0; c < OCT_COUNTOF(capacities); c++) {
        oct_ring *ring = oct_ring_create(capacities[c]);
        void *item;
        for (uint32_t i = 1; i <= capacities[c]; i++) {
            T_OK(oct_ring_push(ring, item_of(i)));
        }
        T_ERR(oct_ring_push(ring, item_of(999999)), OCT_EAGAIN);
        assert_int_equal(oct_ring_count(ring), capacities[c]);
        for (uint32_t i = 1; i <= capacities[c]; i++) {
            T_OK(oct_ring_pop(ring, &item));
            assert_ptr_equal(item, item_of(i));
        }
        T_ERR(oct_ring_pop(ring, &item), OCT_EAGAIN);
        oct_ring_destroy(ring);
    }
}

static void
test_pop_leaves_out_alone_when_there_is_nothing(void **state)
{
    (void)state;
    oct_ring *ring = oct_ring_create(4);
    void *item = item_of(7);
    T_ERR(oct_ring_pop(ring, &item), OCT_EAGAIN);
    T_ERR(oct_ring_pop_wait(ring, &item, 0), OCT_ETIMEDOUT);
    T_ERR(oct_ring_pop_wait(ring, &item, 1), OCT_ETIMEDOUT);
    assert_ptr_equal(item, item_of(7));
    oct_ring_destroy(ring);
}

static void
test_push_wait_times_out_on_a_full_ring(void **state)
{
    (void)state;
    oct_ring *ring = oct_ring_create(1);
    T_OK(oct_ring_push_wait(ring, item_of(1), 0));
    T_ERR(oct_ring_push_wait(ring, item_of(2), 0), OCT_ETIMEDOUT);
    T_ERR(oct_ring_push_wait(ring, item_of(2), 1), OCT_ETIMEDOUT);
    oct_ring_destroy(ring);
}

static void
test_closed_ring_refuses_pushes_and_gives_what_is_left(void **state)
{
    (void)state;
    oct_ring *ring = oct_ring_create(4);
    void *item;
    T_OK(oct_ring_push(ring, item_of(1)));
    oct_ring_close(ring);
    T_ERR(oct_ring_push(ring, item_of(2)), OCT_ECLOSED);
    T_ERR(oct_ring_push_wait(ring, item_of(2), FOREVER_MS), OCT_ECLOSED);
    T_OK(oct_ring_pop_wait(ring, &item, FOREVER_MS));
    assert_ptr_equal(item, item_of(1));
    T_ERR(oct_ring_pop(ring, &item), OCT_ECLOSED);
    T_ERR(oct_ring_pop_wait(ring, &item, FOREVER_MS), OCT_ECLOSED);
    oct_ring_close(ring);
    oct_ring_destroy(ring);
}

static void
test_order_is_kept_around_the_end_of_the_slots(void **state)
{
    (void)state;
    oct_ring *ring = oct_ring_create(3);
    void *item;
    for (uintptr_t i = 1; i < 50; i++) {
        T_OK(oct_ring_push(ring, item_of(2 * i)));
        T_OK(oct_ring_push(ring, item_of(2 * i + 1)));
        assert_int_equal(oct_ring_count(ring), 2);
        T_OK(oct_ring_pop(ring, &item));
        assert_ptr_equal(item, item_of(2 * i));
        T_OK(oct_ring_pop(ring, &item));
        assert_ptr_equal(item, item_of(2 * i + 1));
    }
    oct_ring_destroy(ring);
}

static void
test_destroy_of_nothing_does_nothing(void **state)
{
    (void)state;
    oct_ring_destroy(NULL);
}

// Each item is a number of its own memory, so that TSan sees whether its content is handed over.
static void *
push_all(void *arg)
{
    const struct flow *flow = arg;
    for (int i = 0; i < flow->item_count; i++) {
        int *number = malloc(sizeof(*number));
        *number = i;
        // Both ways to push, mixed.
        oct_err err = i % 3 == 0 ? oct_ring_push(flow->ring, number) : OCT_EAGAIN;
        if (err == OCT_EAGAIN) {
            err = oct_ring_push_wait(flow->ring, number, FOREVER_MS);
        }
        OCT_ASSERT(err == OCT_OK);
    }
    oct_ring_close(flow->ring);
    return NULL;
}

static void
run_two_threads(uint32_t capacity, int item_count)
{
    oct_ring *ring = oct_ring_create(capacity);
    struct flow flow = {.ring = ring, .item_count = item_count};
    pthread_t producer;
    assert_int_equal(pthread_create(&producer, NULL, push_all, &flow), 0);
    void *item;
    int next = 0;
    for (;;) {
        oct_err err = next % 5 == 0 ? oct_ring_pop(ring, &item) : OCT_EAGAIN;
        if (err == OCT_EAGAIN) {
            err = oct_ring_pop_wait(ring, &item, FOREVER_MS);
        }
        if (err == OCT_ECLOSED) {
            break;
        }
        T_OK(err);
        assert_int_equal(*(int *)item, next);
        assert_in_range(oct_ring_count(ring), 0, capacity);
        free(item);
        next++;
    }
    // The close came after the last push, and lost nothing.
    assert_int_equal(next, item_count);
    assert_int_equal(pthread_join(producer, NULL), 0);
    oct_ring_destroy(ring);
}

static void
test_two_threads_lose_nothing_and_always_wake_each_other(void **state)
{
    (void)state;
    run_two_threads(1, 1000);
    run_two_threads(5, 3000);
    run_two_threads(1024, 50000);
}

static void *
push_one_and_close(void *arg)
{
    oct_err err = oct_ring_push(arg, arg);
    OCT_ASSERT(err == OCT_OK);
    oct_ring_close(arg);
    return NULL;
}

static void
test_a_close_right_behind_a_push_does_not_overtake_it(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        oct_ring *ring = oct_ring_create(1);
        pthread_t producer;
        void *item;
        int popped = 0;
        assert_int_equal(pthread_create(&producer, NULL, push_one_and_close, ring), 0);
        oct_err err = OCT_EAGAIN;
        while (err != OCT_ECLOSED) {
            err = oct_ring_pop(ring, &item);
            popped += err == OCT_OK;
        }
        assert_int_equal(popped, 1);
        assert_int_equal(pthread_join(producer, NULL), 0);
        oct_ring_destroy(ring);
    }
}

static void *
close_ring(void *arg)
{
    oct_ring_close(arg);
    return NULL;
}

static void
test_close_wakes_a_waiting_consumer(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        oct_ring *ring = oct_ring_create(2);
        pthread_t closer;
        void *item;
        assert_int_equal(pthread_create(&closer, NULL, close_ring, ring), 0);
        T_ERR(oct_ring_pop_wait(ring, &item, FOREVER_MS), OCT_ECLOSED);
        assert_int_equal(pthread_join(closer, NULL), 0);
        oct_ring_destroy(ring);
    }
}

static void
test_close_wakes_a_waiting_producer(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        oct_ring *ring = oct_ring_create(1);
        pthread_t closer;
        T_OK(oct_ring_push(ring, item_of(1)));
        assert_int_equal(pthread_create(&closer, NULL, close_ring, ring), 0);
        T_ERR(oct_ring_push_wait(ring, item_of(2), FOREVER_MS), OCT_ECLOSED);
        assert_int_equal(pthread_join(closer, NULL), 0);
        oct_ring_destroy(ring);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_ring_refuses_and_keeps_what_it_has),
        cmocka_unit_test(test_pop_leaves_out_alone_when_there_is_nothing),
        cmocka_unit_test(test_push_wait_times_out_on_a_full_ring),
        cmocka_unit_test(test_closed_ring_refuses_pushes_and_gives_what_is_left),
        cmocka_unit_test(test_order_is_kept_around_the_end_of_the_slots),
        cmocka_unit_test(test_destroy_of_nothing_does_nothing),
        cmocka_unit_test(test_two_threads_lose_nothing_and_always_wake_each_other),
        cmocka_unit_test(test_a_close_right_behind_a_push_does_not_overtake_it),
        cmocka_unit_test(test_close_wakes_a_waiting_consumer),
        cmocka_unit_test(test_close_wakes_a_waiting_producer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
