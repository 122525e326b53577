#ifndef COMMON_OCT_SLOTMAP_H
#define COMMON_OCT_SLOTMAP_H

#include <stdint.h>

// Groups the slots of a table by a key, so that a table of thousands of slots is never scanned to
// find or count the slots of one key. A slot (called place here) is in at most one group. Within a
// group, slots are in the order in which they were put there.
//
// Every function except destroy takes constant time, however many slots there are.
//
// Threads: one user at a time. Owns: its tables, which grow with the highest slot (12 bytes for
// each) and the number of groups (48 bytes for each).
typedef struct oct_slotmap oct_slotmap;

typedef struct oct_slotmap_key {
    uint64_t high, low;
} oct_slotmap_key;

#define OCT_SLOTMAP_NONE UINT32_MAX

oct_slotmap *oct_slotmap_create(void);
void oct_slotmap_destroy(oct_slotmap *places); // NULL is a no-op
// Makes a slot the last of a group. It leaves the group that it was in.
void oct_slotmap_put(oct_slotmap *places, oct_slotmap_key key, uint32_t place);
void oct_slotmap_drop(oct_slotmap *places, uint32_t place); // in no group: a no-op
uint32_t oct_slotmap_count(const oct_slotmap *places, oct_slotmap_key key);
// Returns the first slot of a group, and the slot after that one in its group; OCT_SLOTMAP_NONE:
// there is none.
uint32_t oct_slotmap_first(const oct_slotmap *places, oct_slotmap_key key);
uint32_t oct_slotmap_next(const oct_slotmap *places, uint32_t place); // of its group

#endif // COMMON_OCT_SLOTMAP_H
