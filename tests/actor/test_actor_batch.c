#include <stdlib.h>

#include "actor/actor_batch.h"
#include "tests/support/oct_test.h"

static const actor_batch_shape small = {
    .obs_bytes = 8, .action_bytes = 4, .transitions = 10, .envs = 2, .n_step = 3};

static void
test_batch_shape_too_large_for_a_message_is_refused(void **state)
{
    (void)state;
    actor_batch_shape many = small, wide = small, open = small;
    many.envs = WIRE_BATCH_COUNT_MAX / 4;
    T_ERR(actor_batch_shape_fit(&many), OCT_EINVAL);
    open.envs = 100;
    open.n_step = 1000;
    T_ERR(actor_batch_shape_fit(&open), OCT_EINVAL);
    wide.envs = 100;
    wide.obs_bytes = WIRE_OBS_BYTES_MAX;
    T_ERR(actor_batch_shape_fit(&wide), OCT_EINVAL);
}

static void
assert_fits_the_wire(const actor_batch_shape *shape)
{
    uint64_t obs = shape->transitions + 4ull * shape->envs;
    uint64_t rows = shape->transitions + (uint64_t)shape->envs * shape->n_step;
    assert_true(shape->transitions >= 1);
    assert_true(obs <= WIRE_BATCH_COUNT_MAX && rows <= WIRE_BATCH_COUNT_MAX);
    assert_true(obs * shape->obs_bytes < WIRE_MESSAGE_BYTES_MAX);
}

static void
test_batch_shape_is_cut_to_what_a_message_holds(void **state)
{
    (void)state;
    actor_batch_shape same = small, rows = small, bytes = small;
    T_OK(actor_batch_shape_fit(&same));
    assert_int_equal(same.transitions, small.transitions);
    rows.transitions = 65536;
    rows.envs = 1000;
    rows.n_step = 10;
    T_OK(actor_batch_shape_fit(&rows));
    assert_fits_the_wire(&rows);
    bytes.transitions = 65536;
    bytes.obs_bytes = 84 * 84 * 4;
    T_OK(actor_batch_shape_fit(&bytes));
    assert_fits_the_wire(&bytes);
}

static void
test_batch_has_room_for_the_worst_step(void **state)
{
    (void)state;
    actor_batch *batch = actor_batch_create(&small);
    actor_batch_begin(batch, 100);
    assert_true(actor_batch_has_room(batch, &small));
    // The worst first step: each environment begins, ends after one step, and begins again.
    uint8_t row[8] = {0};
    for (uint32_t i = 0; i < 3 * small.envs; i++) {
        assert_int_equal(actor_batch_add_obs(batch, row), 100 + i);
    }
    assert_int_equal(batch->obs_count, 6);
    // As long as it says that there is room, a step of the most transitions fits.
    while (actor_batch_has_room(batch, &small)) {
        batch->count += small.envs * small.n_step;
        assert_true(batch->count <= batch->room);
    }
    assert_true(batch->count >= small.transitions);
    actor_batch_destroy(batch);
}

static void
test_batch_is_full_of_observations_alone(void **state)
{
    (void)state;
    actor_batch *batch = actor_batch_create(&small);
    actor_batch_begin(batch, 0);
    uint8_t row[8] = {0};
    uint32_t added = 0;
    while (actor_batch_has_room(batch, &small)) {
        for (uint32_t i = 0; i < 2 * small.envs; i++, added++) {
            (void)actor_batch_add_obs(batch, row);
        }
    }
    assert_true(added >= small.transitions && batch->count == 0);
    actor_batch_destroy(batch);
}

static void
test_batch_begin_empties_it(void **state)
{
    (void)state;
    actor_batch *batch = actor_batch_create(&small);
    const uint64_t first = 7, second = 9;
    actor_batch_begin(batch, 5);
    (void)actor_batch_add_obs(batch, &first);
    batch->count = 3;
    batch->sequence = 4;
    actor_batch_begin(batch, 6);
    assert_int_equal(batch->obs_count + batch->count + batch->sequence, 0);
    assert_int_equal(actor_batch_add_obs(batch, &second), 6);
    assert_memory_equal(batch->obs, &second, 8);
    actor_batch_destroy(batch);
}

static void
test_batch_view_passes_the_wire(void **state)
{
    (void)state;
    actor_batch *batch = actor_batch_create(&small);
    actor_batch_begin(batch, 40);
    const float row[2] = {1.5f, -2.5f};
    (void)actor_batch_add_obs(batch, row);
    (void)actor_batch_add_obs(batch, row);
    batch->count = 1;
    batch->sequence = 3;
    batch->policy_version = 12;
    batch->env_steps = 99;
    batch->obs_offset[0] = -1;
    batch->next_offset[0] = 1;
    batch->reward[0] = 2;
    batch->discount[0] = 0.5f;
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
    assert_int_equal(got.policy_version, 12);
    assert_int_equal(got.env_steps, 99);
    assert_int_equal(got.obs_first, 40);
    assert_int_equal(got.obs_count, 2);
    assert_memory_equal(got.obs, batch->obs, 16);
    assert_int_equal(got.obs_offset[0], -1);
    assert_int_equal(got.next_offset[0], 1);
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
        cmocka_unit_test(test_batch_has_room_for_the_worst_step),
        cmocka_unit_test(test_batch_is_full_of_observations_alone),
        cmocka_unit_test(test_batch_begin_empties_it),
        cmocka_unit_test(test_batch_view_passes_the_wire),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
