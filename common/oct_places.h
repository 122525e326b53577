#ifndef COMMON_OCT_PLACES_H
#define COMMON_OCT_PLACES_H

#include <stdint.h>

// Places of a table in groups by a key, so that a table of thousands is never walked to find one,
// or to count some. A place is in one group at most. Within a group the order is that in which they
// came into it.
//
// Every function but destroy takes the same time, however many there are.
//
// Threads: one user at a time. Owns: its tables, which grow with the highest place and the number
// of groups, 12 bytes and 48.
typedef struct oct_places oct_places;

typedef struct oct_places_key {
    uint64_t high, low;
} oct_places_key;

#define OCT_PLACES_NONE UINT32_MAX

oct_places *oct_places_create(void);
void oct_places_destroy(oct_places *places); // NULL is a no-op
// The last of its group from now on; it leaves the one that it is in.
void oct_places_put(oct_places *places, oct_places_key key, uint32_t place);
void oct_places_drop(oct_places *places, uint32_t place); // in no group: a no-op
uint32_t oct_places_count(const oct_places *places, oct_places_key key);
// OCT_PLACES_NONE: there is none.
uint32_t oct_places_first(const oct_places *places, oct_places_key key);
uint32_t oct_places_next(const oct_places *places, uint32_t place); // of its group

#endif // COMMON_OCT_PLACES_H
