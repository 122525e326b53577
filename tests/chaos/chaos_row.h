#ifndef TESTS_CHAOS_CHAOS_ROW_H
#define TESTS_CHAOS_CHAOS_ROW_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// What a row of chaos_env.c says of itself, so that the auditor knows each row by its content:
// whose it is and which one. In the byte order of the machine. Plain C99 without other headers of
// Octet: the plug-in includes it.
//
// The rows of an environment are numbered from 0, end rows among them: an episode of L actions
// takes up L + 1 numbers. Without a failure that is the number of the row in its stream.
typedef struct chaos_row {
    uint64_t tag;    // random, of one creation of environments: one life of an actor
    uint32_t slot;   // which of its environments
    uint32_t number; // of the row
    uint64_t check;  // chaos_row_check of these
} chaos_row;

#define CHAOS_ROW_BYTES ((uint32_t)sizeof(chaos_row))

static inline uint64_t
chaos_row_check(uint64_t tag, uint32_t slot, uint32_t number)
{
    uint64_t z = tag ^ ((uint64_t)slot << 32 | number);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline chaos_row
chaos_row_make(uint64_t tag, uint32_t slot, uint32_t number)
{
    chaos_row row = {tag, slot, number, chaos_row_check(tag, slot, number)};
    return row;
}

// False: these bytes are no row that was ever made.
static inline bool
chaos_row_read(chaos_row *out, const void *bytes)
{
    memcpy(out, bytes, sizeof(*out));
    return out->check == chaos_row_check(out->tag, out->slot, out->number);
}

// Numbers that an episode of this environment takes up; the last of them is the end row's.
static inline uint32_t
chaos_row_episode(uint32_t slot)
{
    return 20 + slot % 8 * 3;
}

static inline bool
chaos_row_is_first(const chaos_row *row)
{
    return row->number % chaos_row_episode(row->slot) == 0;
}

static inline bool
chaos_row_is_end(const chaos_row *row)
{
    return (row->number + 1) % chaos_row_episode(row->slot) == 0;
}

// Episodes terminate and are truncated in turns.
static inline bool
chaos_row_is_truncated(const chaos_row *row)
{
    return row->number / chaos_row_episode(row->slot) % 2 == 1;
}

// Of the step on this row; 0 on an end row.
static inline float
chaos_row_reward(const chaos_row *row)
{
    return chaos_row_is_end(row) ? 0 : (float)(row->number % 101) / 4;
}

#endif // TESTS_CHAOS_CHAOS_ROW_H
