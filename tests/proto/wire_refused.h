#ifndef TESTS_PROTO_WIRE_REFUSED_H
#define TESTS_PROTO_WIRE_REFUSED_H

#include "tests/proto/wire_bytes.h"
#include "tests/support/oct_test.h"

// An arena for each test of messages, and messages that must be refused for a reason.

static wire_arena *arena;

static inline int
arena_setup(void **state)
{
    (void)state;
    arena = wire_arena_create(64u << 20);
    return 0;
}

static inline int
arena_teardown(void **state)
{
    (void)state;
    wire_arena_destroy(arena);
    return 0;
}

// A plain message; what was read into the arena before is gone.
#define REFUSED(plain, in, why)                                                                    \
    do {                                                                                           \
        plain refused_out;                                                                         \
        T_ERR(plain##_through(&refused_out, arena, (in)), OCT_EPROTO);                             \
        assert_string_equal(wire_arena_reason(arena), (why));                                      \
        wire_arena_reset(arena);                                                                   \
    } while (0)

// A generated message, with what no sender of ours makes.
#define REFUSED_GENERATED(plain, in, why)                                                          \
    do {                                                                                           \
        plain refused_out;                                                                         \
        T_ERR(plain##_reparse(&refused_out, arena, (in)), OCT_EPROTO);                             \
        assert_string_equal(wire_arena_reason(arena), (why));                                      \
        wire_arena_reset(arena);                                                                   \
    } while (0)

#endif // TESTS_PROTO_WIRE_REFUSED_H
