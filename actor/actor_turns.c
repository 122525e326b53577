// Decides which policy versions an actor in lock-step takes.
#include "actor/actor_turns.h"

#include "proto/wire_turn.h"

void
actor_turns_begin(actor_turns *turns, uint32_t life, uint32_t life_turns)
{
    *turns = (actor_turns){
        .life_turns = life_turns, .life = life, .next = wire_turn_first(life, life_turns)};
}

bool
actor_turns_is_on(const actor_turns *turns)
{
    return turns->life_turns > 0;
}

actor_turn_verdict
actor_turns_look(const actor_turns *turns, uint64_t version)
{
    if (!actor_turns_is_on(turns)) {
        return ACTOR_TURN_TAKE;
    }
    if (wire_turn_life(version, turns->life_turns) != turns->life) {
        return ACTOR_TURN_OVER;
    }
    if (version < turns->next || (version == turns->next && turns->is_acting)) {
        return ACTOR_TURN_PASS;
    }
    return version == turns->next ? ACTOR_TURN_TAKE : ACTOR_TURN_MISSED;
}

void
actor_turns_taken(actor_turns *turns)
{
    if (actor_turns_is_on(turns)) {
        turns->next++;
        turns->is_acting = true;
    }
}

void
actor_turns_made(actor_turns *turns)
{
    turns->is_acting = false;
}
