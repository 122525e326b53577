// The tasks of a turn in lock-step, and when each is due, by counts.
#include "learner/learner_turns.h"

#include "common/oct_base.h"
#include "common/oct_rng.h"
#include "proto/wire_turn.h"

#define SESSION_PURPOSE 0x7475726eu // keeps this hash apart from seeds made of the same numbers

void
learner_turns_begin(learner_turns *turns, const learner_turns_periods *periods, uint64_t turn,
                    uint64_t updates)
{
    OCT_ASSERT(turn % periods->save_turns == 0);
    *turns = (learner_turns){
        .periods = *periods,
        .task = LEARNER_TURN_PUBLISH,
        .turn = turn,
        .updates = updates,
        .hashed = updates,
    };
}

void
learner_turns_over(learner_turns *turns)
{
    OCT_ASSERT(turns->task == LEARNER_TURN_PUBLISH);
    turns->is_ending = true;
    turns->task = LEARNER_TURN_END;
}

learner_turn_task
learner_turns_task(const learner_turns *turns)
{
    return turns->task;
}

bool
learner_turns_is_resumed(const learner_turns *turns)
{
    return turns->turn % turns->periods.save_turns == 0;
}

uint32_t
learner_turns_life(const learner_turns *turns)
{
    uint64_t turn = turns->task == LEARNER_TURN_PUBLISH ? turns->turn + 1 : turns->turn;
    return wire_turn_life(turn, turns->periods.save_turns);
}

uint64_t
learner_turns_session(uint64_t seed, uint64_t epoch, uint32_t actor_index, uint32_t life)
{
    uint64_t state = oct_rng_mix(SESSION_PURPOSE, seed);
    state = oct_rng_mix(state, epoch);
    state = oct_rng_mix(state, actor_index);
    return oct_rng_mix(state, life) | 1;
}

bool
learner_turns_saves(const learner_turns *turns)
{
    return turns->turn % turns->periods.save_turns == 0;
}

static bool
is_due(const learner_turns *turns, learner_turn_task task)
{
    const learner_turns_periods *periods = &turns->periods;
    bool saves = learner_turns_saves(turns);
    switch (task) {
    case LEARNER_TURN_EVALUATE:
        return turns->turn % periods->evaluate_turns == 0;
    case LEARNER_TURN_HASH:
        return saves || turns->is_ending ||
               turns->updates / periods->hash_updates > turns->hashed / periods->hash_updates;
    case LEARNER_TURN_SAVE:
        return saves;
    case LEARNER_TURN_END:
        return turns->is_ending;
    case LEARNER_TURN_PUBLISH:
    case LEARNER_TURN_LEARN:
    case LEARNER_TURN_RETURN:
        break;
    }
    return true;
}

// Continues with the next due task; after the last, with the next turn.
static void
task_next(learner_turns *turns)
{
    do {
        turns->task = turns->task == LEARNER_TURN_END ? LEARNER_TURN_PUBLISH : turns->task + 1;
    } while (!is_due(turns, turns->task));
}

void
learner_turns_done(learner_turns *turns)
{
    OCT_ASSERT(turns->task != LEARNER_TURN_PUBLISH && turns->task != LEARNER_TURN_LEARN &&
               turns->task != LEARNER_TURN_END);
    if (turns->task == LEARNER_TURN_HASH) {
        turns->hashed = turns->updates;
    }
    task_next(turns);
}

void
learner_turns_published(learner_turns *turns, uint64_t version)
{
    OCT_ASSERT(turns->task == LEARNER_TURN_PUBLISH && version == turns->turn + 1);
    turns->turn = version;
    turns->drawn = turns->learned = 0;
    turns->due = LEARNER_TURN_UNKNOWN;
    turns->task = LEARNER_TURN_LEARN;
}

bool
learner_turns_may_ask(const learner_turns *turns)
{
    return turns->task == LEARNER_TURN_LEARN && !turns->is_asked && turns->drawn < turns->due;
}

void
learner_turns_asked(learner_turns *turns)
{
    OCT_ASSERT(learner_turns_may_ask(turns));
    turns->is_asked = true;
}

void
learner_turns_missed(learner_turns *turns)
{
    turns->is_asked = false;
}

static void
learn_end(learner_turns *turns)
{
    if (turns->task == LEARNER_TURN_LEARN && turns->learned == turns->due) {
        task_next(turns);
    }
}

void
learner_turns_drawn(learner_turns *turns, uint32_t batches, uint32_t due)
{
    OCT_ASSERT(turns->task == LEARNER_TURN_LEARN && turns->is_asked);
    OCT_ASSERT(due != LEARNER_TURN_UNKNOWN && batches <= due - turns->drawn);
    turns->is_asked = false;
    turns->drawn += batches;
    turns->due = due;
    learn_end(turns);
}

void
learner_turns_learned(learner_turns *turns, uint64_t updates)
{
    OCT_ASSERT(turns->learned < turns->drawn);
    turns->learned++;
    turns->updates = updates;
    learn_end(turns);
}

void
learner_turns_finish(learner_turns *turns)
{
    turns->is_ending = true;
}
