// What a batch is said to need, before it is stored, against what storing it takes: a property test
// of random runs of a few streams.
#include "tests/replay/replay_test.h"

#include <stdlib.h>

#include "common/oct_rng.h"
#include "replay/replay_items.h"

#define STREAMS    4
#define BLOCK_ROWS 8
#define BLOCKS     24
#define RUNS_MAX   12
#define BATCHES    2000

static test_actor actor; // large: not on the stack

// Where a stream is, as its actor sees it: at a row that begins an episode, goes on or ends it.
struct position {
    uint64_t next;
    enum { ROW_FIRST, ROW_INSIDE, ROW_END } row;
};

// A run of up to three blocks' rows, sometimes behind a gap. Gives its end rows.
static uint32_t
run_make(oct_rng *rng, struct position *position, uint32_t stream)
{
    if (oct_rng_below(rng, 8) == 0) { // rows were lost: anything may follow
        position->next += 1 + oct_rng_below(rng, 2 * BLOCK_ROWS);
        position->row = oct_rng_below(rng, ROW_END + 1);
    }
    test_batch_run(&actor, stream, position->next, 1);
    uint32_t rows = 1 + oct_rng_below(rng, 3 * BLOCK_ROWS), ends = 0;
    for (uint32_t i = 0; i < rows; i++) {
        bool is_last = position->row != ROW_END && oct_rng_below(rng, 5) == 0;
        test_batch_row(&actor, (position->row == ROW_FIRST ? WIRE_FIRST : 0) |
                                   (position->row == ROW_END ? WIRE_END : 0) |
                                   (is_last ? WIRE_TERMINATED : 0));
        ends += position->row == ROW_END;
        position->row = position->row == ROW_END ? ROW_FIRST : is_last ? ROW_END : ROW_INSIDE;
    }
    position->next += rows;
    return ends;
}

static replay_layout
layout_make(void)
{
    return replay_layout_make(BLOCK_ROWS, sizeof(actor.obs[0]), sizeof(actor.action[0]), 0);
}

// Blocks that were opened since next was the next serial, and not renewed.
static uint64_t
opened_since(const replay_store *store, uint64_t next)
{
    uint64_t opened = 0;
    for (; next < replay_store_next(store); next++) {
        opened += replay_store_block(store, next)->renewed == 0;
    }
    return opened;
}

// Gives how many batches found room without a block that is needed leaving.
static uint32_t
batches_store(wire_sampler sampler)
{
    const replay_select_ops *select = replay_select_find(sampler);
    replay_layout layout = layout_make();
    replay_region_bytes bytes = replay_regions_measure(&layout, BLOCKS, select);
    replay_regions regions = replay_regions_reserve(&bytes);
    wire_configure configure = test_configure(BLOCK_ROWS * BLOCKS, sampler);
    replay_window window = replay_window_of(&configure);
    replay_items *items =
        replay_items_create(&layout, BLOCKS, select, 1, &window, STREAMS, &regions);
    replay_store *store = replay_items_store(items);
    replay_plan plan;
    replay_plan_init(&plan, RUNS_MAX);
    test_actor_init(&actor, 1, 1);
    struct position position[STREAMS] = {{0}};
    oct_rng rng;
    oct_rng_init(&rng, 29, 1);
    uint32_t exact = 0, more = 0, dropped = 0;
    uint32_t slots[BLOCKS * BLOCK_ROWS];
    float probabilities[BLOCKS * BLOCK_ROWS];
    for (uint32_t b = 0; b < BATCHES; b++) {
        (void)test_batch_begin(&actor);
        uint32_t runs = 1 + oct_rng_below(&rng, b % 3 == 0 ? RUNS_MAX : 2), ends = 0;
        for (uint32_t i = 0; i < runs; i++) {
            uint32_t stream = oct_rng_below(&rng, STREAMS);
            ends += run_make(&rng, &position[stream], stream);
        }
        uint64_t next = replay_store_next(store), oldest = replay_store_oldest(store);
        const char *fault = replay_plan_make(&plan, store, &actor.batch);
        if (fault) { // nothing but too large
            assert_string_equal(fault, "more rows and streams than the table holds");
            assert_true(plan.blocks > BLOCKS);
            replay_plan_close(&plan, store);
            continue;
        }
        bool has_room = select->takes ? replay_items_room(items, &plan, plan.blocks) == plan.blocks
                                      : next - oldest + plan.blocks <= BLOCKS;
        (void)replay_items_add(items, &plan, &actor.batch);
        uint64_t opened = opened_since(store, OCT_MAX(next, replay_store_oldest(store)));
        assert_int_equal(plan.runs, runs);
        assert_int_equal(plan.ends, ends);
        if (has_room) {
            assert_int_equal(opened, plan.blocks);
            exact++;
        }
        more += opened > plan.blocks;
        dropped += replay_store_oldest(store) > oldest;
        replay_plan_close(&plan, store);
        assert_in_range(replay_streams_count(replay_store_streams(store)), 1, STREAMS);
        if (select->takes && replay_items_count(items) > 0) {
            replay_items_draw(items, &rng,
                              (replay_draws){replay_items_count(items), slots, probabilities});
        }
    }
    assert_true((select->takes || more > 0) && dropped > BATCHES / 2);
    replay_plan_fini(&plan);
    replay_items_destroy(items);
    replay_regions_release(&regions);
    return exact;
}

// A sampler that takes drops no block that a stream fills, so that room is found in most cases.
static void
test_plan_needs_what_storing_takes(void **state)
{
    (void)state;
    assert_true(batches_store(WIRE_SAMPLER_UNIFORM) > 0);
    assert_true(batches_store(WIRE_SAMPLER_FIFO) > BATCHES / 2);
}

static void
test_plan_of_a_refused_batch_leaves_nothing(void **state)
{
    (void)state;
    replay_layout layout = layout_make();
    uint8_t *memory = calloc(BLOCKS, layout.bytes);
    assert_non_null(memory);
    replay_store *store = replay_store_create(&layout, BLOCKS, memory);
    replay_plan plan;
    replay_plan_init(&plan, RUNS_MAX);
    test_actor_init(&actor, 1, 1);
    (void)test_batch_begin(&actor);
    test_batch_run(&actor, 5, (uint64_t)INT64_MAX, 0); // the last number that there is
    test_batch_row(&actor, 0);
    assert_null(replay_plan_make(&plan, store, &actor.batch));
    assert_int_equal(plan.blocks, 1);
    assert_int_equal(replay_streams_count(replay_store_streams(store)), 1);
    replay_plan_close(&plan, store); // not carried out
    assert_int_equal(replay_streams_count(replay_store_streams(store)), 0);
    (void)test_batch_begin(&actor);
    test_batch_run(&actor, 5, (uint64_t)INT64_MAX + 1, 0);
    test_batch_row(&actor, 0);
    assert_string_equal(replay_plan_make(&plan, store, &actor.batch),
                        "a row's number is out of range");
    replay_plan_close(&plan, store);
    assert_int_equal(replay_streams_count(replay_store_streams(store)), 0);
    replay_plan_fini(&plan);
    replay_store_destroy(store);
    free(memory);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_needs_what_storing_takes),
        cmocka_unit_test(test_plan_of_a_refused_batch_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
