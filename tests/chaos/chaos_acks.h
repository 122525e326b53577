#ifndef TESTS_CHAOS_CHAOS_ACKS_H
#define TESTS_CHAOS_CHAOS_ACKS_H

#include <stdatomic.h>
#include <stdint.h>

// What an actor was told is in replay: a file that it maps, so that what was stored before a kill
// is there after it. The actor writes (chaos_actor.c), the auditor and chaos.py read.
#define CHAOS_ACKS_MAGIC "OCTACKS2"
#define CHAOS_ACKS_MAX   (1u << 18)

// Rows first .. first + rows - 1 of a stream. Those of chaos_env.c begin with this row
// (chaos_row.h); of other environments the digest alone says what they are, and tag, slot and
// number are 0.
typedef struct chaos_ack {
    uint64_t session;
    uint64_t first;
    uint64_t digest; // of all of these rows (chaos_digest.h)
    uint64_t tag;
    uint32_t actor_id;
    uint32_t stream;
    uint32_t rows;
    uint32_t slot;
    uint32_t number;
    uint32_t version; // of the policy that acted
} chaos_ack;

typedef struct chaos_acks {
    char magic[8];
    _Atomic uint64_t count; // entries that are whole
    _Atomic uint64_t rows;
    _Atomic uint64_t version; // the newest policy that acted
    chaos_ack ack[];          // [CHAOS_ACKS_MAX]
} chaos_acks;

#endif // TESTS_CHAOS_CHAOS_ACKS_H
