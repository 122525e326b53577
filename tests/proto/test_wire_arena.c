// The memory of a decoded message is bounded, aligned and zeroed, and large messages are refused.
#include "proto/wire_arena.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/proto/wire_bytes.h"
#include "tests/proto/wire_examples.h"
#include "tests/support/oct_test.h"

static void
test_alloc_beyond_the_bound_gives_null(void **state)
{
    (void)state;
    wire_arena *arena = wire_arena_create(1024);
    assert_null(wire_arena_alloc(arena, 1024));
    assert_null(wire_arena_alloc(arena, SIZE_MAX));
    assert_null(wire_arena_alloc(arena, SIZE_MAX - 8));
    assert_non_null(wire_arena_alloc(arena, 1008));
    assert_null(wire_arena_alloc(arena, 0));
    assert_null(wire_arena_alloc(arena, 1));
    wire_arena_reset(arena);
    assert_non_null(wire_arena_alloc(arena, 1));
    wire_arena_destroy(arena);
    wire_arena_destroy(NULL);
}

// As under ulimit -v.
static void
test_memory_that_is_not_there_is_told_with_its_size(void **state)
{
    (void)state;
    char printed[512] = "";
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        (void)signal(SIGABRT, SIG_DFL);
        (void)wire_arena_create((size_t)1 << 60);
        _exit(0);
    }
    (void)close(ends[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(read(ends[0], printed, sizeof(printed) - 1) > 0);
    (void)close(ends[0]);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(printed, "out of memory: 1152921504606846976 bytes"));
}

static void
test_blocks_are_aligned_and_apart(void **state)
{
    (void)state;
    wire_arena *arena = wire_arena_create(1u << 16);
    uint8_t *end = NULL;
    for (size_t bytes = 0; bytes < 70; bytes++) {
        uint8_t *block = wire_arena_alloc(arena, bytes);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % WIRE_ARENA_ALIGNMENT, 0);
        assert_true(end == NULL || block >= end);
        memset(block, 0xee, bytes);
        end = block + bytes;
    }
    wire_arena_reset(arena);
    wire_arena_destroy(arena);
}

static void
test_blocks_are_zeroed_also_after_use(void **state)
{
    (void)state;
    wire_arena *arena = wire_arena_create(4096);
    static const uint8_t zero[1000];
    for (int round = 0; round < 4; round++) {
        for (size_t bytes = 100; bytes <= 1000; bytes += 300) {
            uint8_t *block = wire_arena_alloc(arena, bytes + (size_t)round);
            assert_memory_equal(block, zero, bytes);
            memset(block, 0xff, bytes);
        }
        wire_arena_reset(arena);
    }
    wire_arena_destroy(arena);
}

static void
test_message_that_does_not_fit_is_refused_and_keeps_nothing(void **state)
{
    (void)state;
    wire_batch batch = wire_example_batch(64, 2);
    size_t length = wire_batch_size(&batch);
    uint8_t *bytes = malloc(length);
    assert_non_null(bytes);
    wire_batch_pack(&batch, bytes);
    wire_batch out;
    size_t fits = 0;
    for (size_t capacity = 1; fits == 0; capacity += 8) {
        wire_arena *arena = wire_arena_create(capacity);
        oct_err err = wire_batch_unpack(&out, arena, bytes, length);
        if (err == OCT_OK) {
            fits = capacity;
        } else {
            T_ERR(err, OCT_EPROTO);
            assert_string_equal(wire_arena_reason(arena),
                                "truncated, garbled, or larger than the memory for it");
            assert_int_equal(arena->used, 0);
        }
        wire_arena_destroy(arena);
    }
    assert_in_range(fits, length,
                    length + 2048 + 16 * (size_t)batch.run_count); // as wire.h promises
    free(bytes);
}

static void
test_named_numbers_fit_into_what_is_promised(void **state)
{
    (void)state;
    for (uint32_t count = 0; count <= WIRE_STATS_MAX; count++) {
        wire_status status = wire_example_status(count);
        size_t length;
        uint8_t *bytes = wire_status_pack_bytes(&length, &status);
        wire_arena *arena = wire_arena_create(length + 2048 + 128 * (size_t)count);
        wire_status out;
        T_OK(wire_status_unpack_bytes(&out, arena, bytes, length));
        wire_arena_destroy(arena);
        free(bytes);
    }
}

static void
test_peers_fit_into_what_is_promised(void **state)
{
    (void)state;
    for (uint32_t count = 0; count <= WIRE_PEERS_MAX; count++) {
        wire_peers peers = wire_example_peers(count);
        size_t length;
        peers.relays.count = count / 4; // WIRE_RELAYS_MAX at last
        uint8_t *bytes = wire_peers_pack_bytes(&length, &peers);
        size_t entries = (size_t)count + peers.relays.count;
        wire_arena *arena = wire_arena_create(length + 4096 + 320 * entries);
        wire_peers out;
        T_OK(wire_peers_unpack_bytes(&out, arena, bytes, length));
        wire_arena_destroy(arena);
        free(bytes);
    }
}

// All that one message may name, and in a message that is far below what is sent at most.
static void
test_sessions_fit_into_what_is_promised(void **state)
{
    (void)state;
    for (uint32_t count = 0; count <= WIRE_PLACES_MAX; count += WIRE_PLACES_MAX / 4) {
        wire_sessions sessions = wire_example_sessions(count);
        size_t length;
        uint8_t *bytes = wire_sessions_pack_bytes(&length, &sessions);
        assert_true(length <= 256u << 10);
        wire_arena *arena = wire_arena_create(length + 3072);
        wire_sessions out;
        T_OK(wire_sessions_unpack_bytes(&out, arena, bytes, length));
        assert_int_equal(out.count, count);
        wire_arena_destroy(arena);
        free(bytes);
    }
}

static void
test_many_unknown_fields_cannot_take_more_than_the_arena(void **state)
{
    (void)state;
    // Field 31 as varint 0, over and over: each makes protobuf-c allocate.
    enum { FIELDS = 100000 };
    static uint8_t bytes[WIRE_FRAME_BYTES + 3 * FIELDS];
    wire_frame_pack(WIRE_POLICY, 0, 0, bytes);
    for (size_t i = 0; i < FIELDS; i++) {
        bytes[WIRE_FRAME_BYTES + 3 * i] = 0xf8;
        bytes[WIRE_FRAME_BYTES + 3 * i + 1] = 0x01;
    }
    wire_arena *arena = wire_arena_create(1u << 20);
    wire_policy out;
    T_ERR(wire_policy_unpack(&out, arena, bytes, sizeof(bytes)), OCT_EPROTO);
    wire_arena_destroy(arena);
}

static void
test_unpacked_columns_are_aligned_views(void **state)
{
    (void)state;
    wire_arena *arena = wire_arena_create(1u << 16);
    wire_batch batch = wire_example_batch(5, 2);
    size_t length;
    uint8_t *bytes = wire_batch_pack_bytes(&length, &batch);
    wire_batch out;
    T_OK(wire_batch_unpack_bytes(&out, arena, bytes, length));
    const void *const columns[] = {out.obs,    out.action,   out.run_first, out.run_version,
                                   out.reward, out.run_rows, out.flags,     out.extra};
    for (size_t i = 0; i < OCT_COUNTOF(columns); i++) {
        assert_int_equal((uintptr_t)columns[i] % WIRE_ARENA_ALIGNMENT, 0);
        assert_true((const uint8_t *)columns[i] >= arena->base &&
                    (const uint8_t *)columns[i] < arena->base + arena->used);
    }
    free(bytes);
    wire_arena_destroy(arena);
}

static void
test_text_length_counts_what_the_wire_had(void **state)
{
    (void)state;
    wire_arena *arena = wire_arena_create(1u << 16);
    const uint8_t payload[] = {0x0a, 5, 'a', 'b', 0, 'c', 'd'};
    wire_stop out;
    T_ERR(wire_stop_unpack_bytes(&out, arena, payload, sizeof(payload)), OCT_EPROTO);
    assert_string_equal(wire_arena_reason(arena), "stop.reason: no text, or longer than 64 KiB");
    T_OK(wire_stop_unpack_bytes(&out, arena, payload, 0));
    assert_int_equal(wire_arena_text_length(arena, out.reason), 0);
    assert_string_equal(wire_arena_reason(arena), "");
    wire_arena_destroy(arena);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alloc_beyond_the_bound_gives_null),
        cmocka_unit_test(test_memory_that_is_not_there_is_told_with_its_size),
        cmocka_unit_test(test_blocks_are_aligned_and_apart),
        cmocka_unit_test(test_blocks_are_zeroed_also_after_use),
        cmocka_unit_test(test_message_that_does_not_fit_is_refused_and_keeps_nothing),
        cmocka_unit_test(test_named_numbers_fit_into_what_is_promised),
        cmocka_unit_test(test_peers_fit_into_what_is_promised),
        cmocka_unit_test(test_sessions_fit_into_what_is_promised),
        cmocka_unit_test(test_many_unknown_fields_cannot_take_more_than_the_arena),
        cmocka_unit_test(test_unpacked_columns_are_aligned_views),
        cmocka_unit_test(test_text_length_counts_what_the_wire_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
