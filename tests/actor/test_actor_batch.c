// How many rows a batch holds, how it is sealed into runs, and that it passes as a message.
#include <stdlib.h>

#include "actor/actor_batch.h"
#include "tests/support/oct_test.h"

enum { ENVS = 3 };

static const actor_batch_shape small = {
    .obs_bytes = 8, .action_bytes = 4, .extra_dim = 2, .steps = 12, .envs = ENVS};

static const uint64_t zeros[ENVS];

static actor_batch *
batch_begin(const actor_batch_shape *shape, const uint64_t *first)
{
    actor_batch *batch = actor_batch_create(shape);
    actor_batch_begin(batch, first);
    return batch;
}

// Environment i shows 100 * i + t.
static void
batch_observe(actor_batch *batch, float t)
{
    float obs[ENVS][3]; // more than there is to copy
    for (int i = 0; i < ENVS; i++) {
        obs[i][0] = 100 * (float)i + t;
        obs[i][1] = -t;
        obs[i][2] = -99;
    }
    actor_batch_observe(batch, obs, sizeof(obs[0]));
}

static void
batch_add(actor_batch *batch, uint32_t i, uint32_t version, int32_t action, uint8_t flags)
{
    const float extra[] = {(float)action / 8, (float)i};
    actor_batch_add(batch, i, &(actor_batch_step){version, flags, (float)action, &action, extra});
}

static void
batch_end(actor_batch *batch, uint32_t i, uint32_t version, float seen)
{
    const float obs[2] = {seen, 0};
    actor_batch_end(batch, i, version, obs);
}

static float
seen_at(const actor_batch *batch, uint32_t row)
{
    float value;
    memcpy(&value, batch->obs + (size_t)row * batch->obs_bytes, sizeof(value));
    return value;
}

static int32_t
action_at(const actor_batch *batch, uint32_t row)
{
    int32_t value;
    memcpy(&value, batch->action + (size_t)row * sizeof(value), sizeof(value));
    return value;
}

static void
test_batch_shape_too_large_for_a_message_is_refused(void **state)
{
    (void)state;
    actor_batch_shape many = small, wide = small;
    many.envs = WIRE_BATCH_COUNT_MAX / 2;
    T_ERR(actor_batch_shape_fit(&many, UINT64_MAX), OCT_EINVAL);
    wide.envs = 100;
    wide.obs_bytes = WIRE_OBS_BYTES_MAX;
    T_ERR(actor_batch_shape_fit(&wide, UINT64_MAX), OCT_EINVAL);
}

static void
assert_fits_the_wire(const actor_batch_shape *shape)
{
    uint64_t rows = (uint64_t)shape->envs * actor_batch_shape_room(shape);
    assert_true(shape->steps >= 1);
    assert_true(rows <=
                wire_batch_rows_max(shape->obs_bytes, shape->action_bytes, shape->extra_dim));
}

static void
test_batch_shape_is_cut_to_what_a_message_holds(void **state)
{
    (void)state;
    actor_batch_shape same = small;
    T_OK(actor_batch_shape_fit(&same, UINT64_MAX));
    assert_int_equal(same.steps, small.steps);
    for (uint32_t envs = 1; envs <= WIRE_BATCH_COUNT_MAX / 3; envs += 1 + envs / 3) {
        actor_batch_shape rows = small;
        rows.steps = 65536;
        rows.envs = envs;
        T_OK(actor_batch_shape_fit(&rows, UINT64_MAX));
        assert_fits_the_wire(&rows);
    }
    actor_batch_shape bytes = small;
    bytes.steps = 65536;
    bytes.obs_bytes = 84 * 84 * 4;
    T_OK(actor_batch_shape_fit(&bytes, UINT64_MAX));
    assert_fits_the_wire(&bytes);
    assert_in_range(actor_batch_bytes(&bytes), WIRE_BATCH_BYTES_MAX / 2, WIRE_BATCH_BYTES_MAX);
}

// A packed one, with as many rows as there is room for: what replay takes no larger one than.
static void
test_batch_that_is_full_is_a_message_that_replay_takes(void **state)
{
    (void)state;
    actor_batch_shape shape = small;
    shape.steps = 65536;
    shape.obs_bytes = 1u << 18;
    T_OK(actor_batch_shape_fit(&shape, UINT64_MAX));
    actor_batch *batch = batch_begin(&shape, zeros);
    static uint8_t obs[ENVS << 18];
    for (uint32_t step = 0; actor_batch_has_room(batch, &shape); step++) {
        actor_batch_observe(batch, obs, shape.obs_bytes);
        for (uint32_t i = 0; i < ENVS; i++) {
            bool ends = step % 5 == 4;
            batch_add(batch, i, step, 0, ends ? WIRE_TRUNCATED : 0); // a run of every step
            if (ends) {
                actor_batch_end(batch, i, step, obs);
            }
        }
    }
    actor_batch_seal(batch);
    wire_batch view = actor_batch_view(batch, 1, 1, 1);
    assert_in_range(wire_batch_size(&view), WIRE_BATCH_BYTES_MAX / 4 * 3, WIRE_BATCH_BYTES_MAX);
    actor_batch_destroy(batch);
}

static void
test_batch_shape_is_cut_to_half_of_the_table(void **state)
{
    (void)state;
    for (uint32_t rows = 6 * ENVS; rows <= 1000; rows++) {
        actor_batch_shape shape = small;
        shape.steps = 65536;
        T_OK(actor_batch_shape_fit(&shape, rows));
        assert_in_range(shape.steps, 1, rows / 2);
        assert_true(shape.envs * actor_batch_shape_room(&shape) <= rows / 2);
    }
    actor_batch_shape shape = small;
    T_ERR(actor_batch_shape_fit(&shape, 6 * ENVS - 1), OCT_EINVAL); // its row and two more, twice
}

// Every step ends an episode of every environment: the batch is sealed before a region overflows
// (row_take would stop the test), and holds some steps all the same.
static void
test_batch_has_room_for_the_worst_step(void **state)
{
    (void)state;
    for (uint32_t steps = 1; steps <= 200; steps++) {
        actor_batch_shape shape = small;
        shape.steps = steps;
        actor_batch *batch = batch_begin(&shape, zeros);
        uint32_t taken = 0;
        while (actor_batch_has_room(batch, &shape)) {
            batch_observe(batch, 0);
            for (uint32_t i = 0; i < ENVS; i++) {
                batch_add(batch, i, 1, 0, WIRE_FIRST | WIRE_TERMINATED);
                batch_end(batch, i, 1, 0);
            }
            taken++;
        }
        assert_true(taken >= 1 && batch->count == 2 * ENVS * taken);
        assert_true(batch->most <= batch->room);
        actor_batch_destroy(batch);
    }
}

static void
test_batch_is_full_at_so_many_steps(void **state)
{
    (void)state;
    actor_batch *batch = batch_begin(&small, zeros);
    uint32_t taken = 0;
    while (actor_batch_has_room(batch, &small)) {
        batch_observe(batch, 0);
        for (uint32_t i = 0; i < ENVS; i++) {
            batch_add(batch, i, 1, 0, 0);
        }
        taken++;
    }
    assert_int_equal(taken * ENVS, small.steps);
    assert_int_equal(batch->steps, small.steps);
    actor_batch_destroy(batch);
}

static void
test_batch_begin_empties_it(void **state)
{
    (void)state;
    const uint64_t first[ENVS] = {5, 6, 7};
    actor_batch *batch = batch_begin(&small, zeros);
    batch_observe(batch, 1);
    batch_add(batch, 1, 1, 3, 0);
    batch->sequence = 4;
    actor_batch_seal(batch);
    actor_batch_begin(batch, first);
    assert_int_equal(batch->count + batch->steps + batch->most + batch->run_count, 0);
    assert_int_equal(batch->sequence, 0);
    batch_observe(batch, 2);
    batch_add(batch, 1, 1, 3, 0);
    actor_batch_seal(batch);
    assert_int_equal(batch->run_count, 1);
    assert_int_equal(batch->run_first[0], 6);
    assert_int_equal(batch->run_rows[0], 1);
    T_NEAR(seen_at(batch, 0), 102, 0, 0);
    actor_batch_destroy(batch);
}

static void
test_batch_without_rows_is_sealed_to_nothing(void **state)
{
    (void)state;
    actor_batch *batch = batch_begin(&small, zeros);
    batch_observe(batch, 1); // seen, but nothing came of it
    actor_batch_seal(batch);
    assert_int_equal(batch->count, 0);
    assert_int_equal(batch->run_count, 0);
    actor_batch_destroy(batch);
}

// Environment 0 goes on, 1 ends its episode, 2 fails at the second step; then a new version acts.
static void
test_batch_sealed_is_one_run_for_each_environment_and_version(void **state)
{
    (void)state;
    const uint64_t first[ENVS] = {40, 0, 7};
    actor_batch *batch = batch_begin(&small, first);
    batch_observe(batch, 1);
    batch_add(batch, 0, 3, 10, 0);
    batch_add(batch, 1, 3, 11, WIRE_FIRST | WIRE_TRUNCATED);
    batch_end(batch, 1, 3, 1000);
    batch_add(batch, 2, 3, 12, WIRE_RANDOM);
    batch_observe(batch, 2);
    batch_add(batch, 0, 3, 20, 0);
    batch_add(batch, 1, 3, 21, WIRE_FIRST);
    actor_batch_fail(batch, 2, 3);
    batch_observe(batch, 3);
    batch_add(batch, 0, 4, 30, 0);
    batch_add(batch, 1, 4, 31, 0);
    batch_add(batch, 2, 4, 32, WIRE_FIRST);
    actor_batch_seal(batch);
    const uint32_t streams[] = {0, 0, 1, 1, 2, 2}, rows[] = {2, 1, 3, 1, 2, 1};
    const uint32_t versions[] = {3, 4, 3, 4, 3, 4};
    const uint64_t firsts[] = {40, 42, 0, 3, 7, 9};
    assert_int_equal(batch->run_count, 6);
    assert_memory_equal(batch->run_stream, streams, sizeof(streams));
    assert_memory_equal(batch->run_rows, rows, sizeof(rows));
    assert_memory_equal(batch->run_version, versions, sizeof(versions));
    assert_memory_equal(batch->run_first, firsts, sizeof(firsts));
    const float seen[] = {1, 2, 3, 101, 1000, 102, 103, 201, 202, 203};
    const int32_t actions[] = {10, 20, 30, 11, 0, 21, 31, 12, 0, 32};
    const uint8_t flags[] = {0,          0, 0,           WIRE_FIRST | WIRE_TRUNCATED, WIRE_END,
                             WIRE_FIRST, 0, WIRE_RANDOM, WIRE_END | WIRE_FAILED,      WIRE_FIRST};
    assert_int_equal(batch->count, OCT_COUNTOF(seen));
    assert_int_equal(batch->steps, 8);
    for (uint32_t row = 0; row < batch->count; row++) {
        T_NEAR(seen_at(batch, row), seen[row], 0, 0);
        assert_int_equal(action_at(batch, row), actions[row]);
        assert_int_equal(batch->flags[row], flags[row]);
        T_NEAR(batch->reward[row], actions[row], 0, 0);
        T_NEAR(batch->extra[2 * row], (float)actions[row] / 8, 0, 0);
    }
    actor_batch_destroy(batch);
}

static void
test_batch_ends_a_rollout_of_every_environment(void **state)
{
    (void)state;
    const float now[ENVS][2] = {{7}, {8}, {9}};
    uint8_t added[ENVS];
    actor_batch *batch = batch_begin(&small, zeros);
    batch_observe(batch, 1);
    batch_add(batch, 0, 3, 10, WIRE_FIRST | WIRE_ROLLOUT); // goes on
    batch_add(batch, 1, 3, 11, WIRE_FIRST | WIRE_ROLLOUT | WIRE_TRUNCATED);
    batch_end(batch, 1, 3, 1000); // ends with the rollout; environment 2 has no row
    actor_batch_end_rollout(batch, now, sizeof(now[0]), added);
    actor_batch_seal(batch);
    const uint8_t flags[] = {WIRE_FIRST | WIRE_ROLLOUT, WIRE_END | WIRE_ROLLOUT,
                             WIRE_FIRST | WIRE_ROLLOUT | WIRE_TRUNCATED, WIRE_END | WIRE_ROLLOUT};
    const float seen[] = {1, 7, 101, 1000};
    const uint8_t rows_added[ENVS] = {1, 0, 0};
    assert_memory_equal(added, rows_added, sizeof(added));
    assert_int_equal(batch->count, OCT_COUNTOF(flags));
    assert_int_equal(batch->steps, 2);
    assert_int_equal(batch->run_count, 2);
    for (uint32_t row = 0; row < batch->count; row++) {
        assert_int_equal(batch->flags[row], flags[row]);
        T_NEAR(seen_at(batch, row), seen[row], 0, 0);
    }
    actor_batch_destroy(batch);
}

static void
test_batch_view_passes_the_wire(void **state)
{
    (void)state;
    actor_batch *batch = batch_begin(&small, zeros);
    batch_observe(batch, 1);
    batch_add(batch, 0, 12, 1, WIRE_FIRST | WIRE_TERMINATED);
    batch_end(batch, 0, 12, 9);
    batch_add(batch, 2, 12, 1, WIRE_FIRST);
    actor_batch_seal(batch);
    batch->sequence = 3;
    batch->env_steps = 99;
    wire_batch view = actor_batch_view(batch, 11, 22, 2);
    size_t length = wire_batch_size(&view);
    uint8_t *bytes = oct_alloc(length);
    wire_batch_pack(&view, bytes);
    wire_arena *arena = wire_arena_create(1 << 20);
    wire_batch got;
    T_OK(wire_batch_unpack(&got, arena, bytes, length));
    assert_int_equal(got.actor_id, 11);
    assert_int_equal(got.session, 22);
    assert_int_equal(got.sequence, 3);
    assert_int_equal(got.first_unacked, 2);
    assert_int_equal(got.env_steps, 99);
    assert_int_equal(got.run_count, 2);
    assert_int_equal(got.run_stream[1], 2);
    assert_int_equal(got.run_version[1], 12);
    assert_int_equal(got.count, 3);
    assert_int_equal(got.extra_dim, 2);
    assert_memory_equal(got.obs, batch->obs, 3 * small.obs_bytes);
    assert_memory_equal(got.flags, batch->flags, 3);
    wire_arena_destroy(arena);
    free(bytes);
    actor_batch_destroy(batch);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch_shape_too_large_for_a_message_is_refused),
        cmocka_unit_test(test_batch_shape_is_cut_to_what_a_message_holds),
        cmocka_unit_test(test_batch_that_is_full_is_a_message_that_replay_takes),
        cmocka_unit_test(test_batch_shape_is_cut_to_half_of_the_table),
        cmocka_unit_test(test_batch_has_room_for_the_worst_step),
        cmocka_unit_test(test_batch_is_full_at_so_many_steps),
        cmocka_unit_test(test_batch_begin_empties_it),
        cmocka_unit_test(test_batch_without_rows_is_sealed_to_nothing),
        cmocka_unit_test(test_batch_sealed_is_one_run_for_each_environment_and_version),
        cmocka_unit_test(test_batch_ends_a_rollout_of_every_environment),
        cmocka_unit_test(test_batch_view_passes_the_wire),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
