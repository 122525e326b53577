// Groups slots of a table by a key: a hash table of groups, each a doubly linked list of slots.
#include "common/oct_slotmap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/oct_base.h"

#define NONE       OCT_SLOTMAP_NONE
#define ROOM_LEAST 16u // first size of each array

// A group exists while it has slots.
struct group {
    oct_slotmap_key key;
    uint32_t first, last, count; // first and last slot of the list, and its length
    uint32_t chain;              // next group in the bucket, or next free group
};

// A slot's position in the list of its group, by the slot's number.
struct link {
    uint32_t group;         // NONE: the slot is in no group
    uint32_t before, after; // neighbours in the list; NONE: an end
};

struct oct_slotmap {
    uint64_t seed; // random, because peers choose keys and could make them collide
    struct group *group;
    uint32_t group_room, group_used, group_free; // allocated; ever used; first free one, or NONE
    uint32_t *bucket; // [bucket_count], a power of two: first group of each chain
    uint32_t bucket_count;
    struct link *link;
    uint32_t link_room;
};

// Reallocates; the added memory is not zeroed.
static void *
grown(void *memory, size_t count, size_t bytes)
{
    void *larger = realloc(memory, count * bytes);
    OCT_ASSERT(larger != NULL);
    return larger;
}

static uint32_t *
bucket_of(const oct_slotmap *places, oct_slotmap_key key)
{
    // splitmix64's multipliers, https://prng.di.unimi.it/splitmix64.c
    uint64_t mixed = (key.low ^ places->seed) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 32 ^ key.high) * UINT64_C(0x94d049bb133111eb);
    return &places->bucket[(mixed ^ mixed >> 32) & (places->bucket_count - 1)];
}

static void
buckets_make(oct_slotmap *places, uint32_t count)
{
    places->bucket_count = count;
    places->bucket = grown(places->bucket, count, sizeof(*places->bucket));
    for (uint32_t i = 0; i < count; i++) {
        places->bucket[i] = NONE;
    }
}

oct_slotmap *
oct_slotmap_create(void)
{
    oct_slotmap *places = oct_alloc(sizeof(*places));
    OCT_ASSERT(getrandom(&places->seed, sizeof(places->seed), 0) == sizeof(places->seed));
    places->group_free = NONE;
    buckets_make(places, ROOM_LEAST);
    return places;
}

void
oct_slotmap_destroy(oct_slotmap *places)
{
    if (places != NULL) {
        free(places->group);
        free(places->bucket);
        free(places->link);
        free(places);
    }
}

static uint32_t
group_find(const oct_slotmap *places, oct_slotmap_key key)
{
    uint32_t at = *bucket_of(places, key);
    while (at != NONE &&
           (places->group[at].key.high != key.high || places->group[at].key.low != key.low)) {
        at = places->group[at].chain;
    }
    return at;
}

// Doubles the groups, makes as many buckets, and puts every group into its bucket again.
static void
groups_grow(oct_slotmap *places)
{
    places->group_room = OCT_MAX(2 * places->group_room, ROOM_LEAST);
    places->group = grown(places->group, places->group_room, sizeof(*places->group));
    buckets_make(places, places->group_room);
    // no group is free here, or group_make would have taken it
    for (uint32_t i = 0; i < places->group_used; i++) {
        uint32_t *bucket = bucket_of(places, places->group[i].key);
        places->group[i].chain = *bucket;
        *bucket = i;
    }
}

static uint32_t
group_make(oct_slotmap *places, oct_slotmap_key key)
{
    uint32_t at = places->group_free;
    if (at != NONE) {
        places->group_free = places->group[at].chain;
    } else {
        if (places->group_used == places->group_room) {
            groups_grow(places);
        }
        at = places->group_used++;
    }
    uint32_t *bucket = bucket_of(places, key);
    places->group[at] = (struct group){.key = key, .first = NONE, .last = NONE, .chain = *bucket};
    *bucket = at;
    return at;
}

// Takes an empty group out of its bucket and makes it the first free one.
static void
group_free(oct_slotmap *places, uint32_t at)
{
    uint32_t *link = bucket_of(places, places->group[at].key);
    while (*link != at) {
        link = &places->group[*link].chain;
    }
    *link = places->group[at].chain;
    places->group[at].chain = places->group_free;
    places->group_free = at;
}

// Makes room for the link of a slot.
static void
links_reserve(oct_slotmap *places, uint32_t place)
{
    if (place < places->link_room) {
        return;
    }
    uint32_t room = OCT_MAX(places->link_room, ROOM_LEAST);
    while (room <= place) {
        room *= 2;
    }
    places->link = grown(places->link, room, sizeof(*places->link));
    for (uint32_t i = places->link_room; i < room; i++) {
        places->link[i].group = NONE;
    }
    places->link_room = room;
}

void
oct_slotmap_put(oct_slotmap *places, oct_slotmap_key key, uint32_t place)
{
    OCT_ASSERT(place < NONE / 2);
    oct_slotmap_drop(places, place);
    links_reserve(places, place);
    uint32_t at = group_find(places, key);
    at = at != NONE ? at : group_make(places, key);
    struct group *group = &places->group[at];
    places->link[place] = (struct link){at, group->last, NONE};
    *(group->last != NONE ? &places->link[group->last].after : &group->first) = place;
    group->last = place;
    group->count++;
}

void
oct_slotmap_drop(oct_slotmap *places, uint32_t place)
{
    if (place >= places->link_room || places->link[place].group == NONE) {
        return;
    }
    struct link *link = &places->link[place];
    struct group *group = &places->group[link->group];
    *(link->before != NONE ? &places->link[link->before].after : &group->first) = link->after;
    *(link->after != NONE ? &places->link[link->after].before : &group->last) = link->before;
    if (--group->count == 0) {
        group_free(places, link->group);
    }
    link->group = NONE;
}

uint32_t
oct_slotmap_count(const oct_slotmap *places, oct_slotmap_key key)
{
    uint32_t at = group_find(places, key);
    return at != NONE ? places->group[at].count : 0;
}

uint32_t
oct_slotmap_first(const oct_slotmap *places, oct_slotmap_key key)
{
    uint32_t at = group_find(places, key);
    return at != NONE ? places->group[at].first : NONE;
}

uint32_t
oct_slotmap_next(const oct_slotmap *places, uint32_t place)
{
    OCT_ASSERT(place < places->link_room && places->link[place].group != NONE);
    return places->link[place].after;
}
