// Holds the batches of a turn until those of all actors have arrived, and gives them in the
// learner's order.
#include "replay/replay_turns.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "proto/wire.h"

struct held {
    uint32_t actor_id;
    void *message;
};

struct replay_turns {
    replay_turn_release release;
    uint32_t actors; // of a turn; 0: not in lock-step
    uint64_t done;   // last turn that the table has
    uint32_t asked;  // actors of the next turn, as the learner listed them; 0: it has not yet
    uint32_t stored; // batches of the next turn that are stored
    uint32_t actor[WIRE_TURN_ACTORS_MAX]; // [asked] ids
    uint32_t held_count;
    struct held held[WIRE_TURN_ACTORS_MAX];
};

replay_turns *
replay_turns_create(replay_turn_release release)
{
    replay_turns *turns = oct_alloc(sizeof(*turns));
    turns->release = release;
    return turns;
}

static void
held_drop(replay_turns *turns, uint32_t i)
{
    turns->release(turns->held[i].message);
    turns->held[i] = turns->held[--turns->held_count];
}

void
replay_turns_set(replay_turns *turns, uint32_t actors, uint64_t done)
{
    while (turns->held_count > 0) {
        held_drop(turns, 0);
    }
    turns->actors = actors;
    turns->done = done;
    turns->asked = turns->stored = 0;
}

void
replay_turns_destroy(replay_turns *turns)
{
    if (turns) {
        replay_turns_set(turns, 0, 0);
        free(turns);
    }
}

bool
replay_turns_is_on(const replay_turns *turns)
{
    return turns->actors > 0;
}

uint64_t
replay_turns_done(const replay_turns *turns)
{
    return turns->done;
}

// Returns the index of the actor's held message; held_count if there is none.
static uint32_t
held_find(const replay_turns *turns, uint32_t actor_id)
{
    uint32_t i = 0;
    while (i < turns->held_count && turns->held[i].actor_id != actor_id) {
        i++;
    }
    return i;
}

// Returns true if the actor's batch is missing. Before the learner has listed the actors, every
// actor may be one of the turn's.
static bool
is_awaited(const replay_turns *turns, uint32_t actor_id)
{
    bool is_one = turns->asked == 0;
    for (uint32_t i = turns->stored; i < turns->asked; i++) {
        is_one = is_one || turns->actor[i] == actor_id;
    }
    return is_one;
}

replay_turn_verdict
replay_turns_offer(replay_turns *turns, uint32_t actor_id, uint64_t turn, void *message)
{
    if (turn <= turns->done) {
        return REPLAY_TURN_EARLIER;
    }
    uint32_t place = held_find(turns, actor_id);
    if (turn != turns->done + 1 || !is_awaited(turns, actor_id) || place == WIRE_TURN_ACTORS_MAX) {
        return REPLAY_TURN_OTHER;
    }
    if (place < turns->held_count) {
        held_drop(turns, place); // the actor has sent it again
    }
    turns->held[turns->held_count++] = (struct held){actor_id, message};
    return REPLAY_TURN_HELD;
}

static bool
has_twice(const uint32_t *actor, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (actor[i] == actor[j]) {
                return true;
            }
        }
    }
    return false;
}

oct_err
replay_turns_ask(replay_turns *turns, uint64_t turn, const uint32_t *actor, uint32_t count)
{
    bool is_done = turn == turns->done;
    if (turns->actors == 0 || count != turns->actors || has_twice(actor, count) ||
        (!is_done && turn != turns->done + 1)) {
        return OCT_EINVAL;
    }
    if (is_done || turns->stored > 0) {
        return OCT_OK; // the learner asks again
    }
    memcpy(turns->actor, actor, count * sizeof(*actor));
    turns->asked = count;
    for (uint32_t i = turns->held_count; i > 0; i--) {
        if (!is_awaited(turns, turns->held[i - 1].actor_id)) {
            held_drop(turns, i - 1);
        }
    }
    return OCT_OK;
}

uint32_t
replay_turns_awaited(const replay_turns *turns, uint32_t *first)
{
    uint32_t awaited = 0;
    for (uint32_t i = turns->asked; i > turns->stored; i--) {
        if (held_find(turns, turns->actor[i - 1]) == turns->held_count) {
            *first = i - 1;
            awaited++;
        }
    }
    return awaited;
}

bool
replay_turns_ready(const replay_turns *turns)
{
    uint32_t first;
    return turns->asked > 0 && replay_turns_awaited(turns, &first) == 0;
}

void *
replay_turns_next(const replay_turns *turns)
{
    if (turns->stored == turns->asked) {
        return NULL;
    }
    uint32_t place = held_find(turns, turns->actor[turns->stored]);
    OCT_ASSERT(place < turns->held_count);
    return turns->held[place].message;
}

void
replay_turns_stored(replay_turns *turns, bool is_stored)
{
    held_drop(turns, held_find(turns, turns->actor[turns->stored]));
    turns->stored += is_stored;
}

void
replay_turns_end(replay_turns *turns)
{
    OCT_ASSERT(turns->asked > 0 && turns->stored == turns->asked);
    turns->done++;
    turns->asked = turns->stored = 0;
}
