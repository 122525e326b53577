#ifndef LEARNER_LEARNER_TURNS_H
#define LEARNER_LEARNER_TURNS_H

#include <stdbool.h>
#include <stdint.h>

// Lock-step (docs/determinism.md): what the learner does in a turn, one task after the other, by
// counts alone. Turn t begins when version t is published, and ends when all that is due has been
// done; then version t + 1 is made.
//
//   publish  version t is made and published
//   draw     replay has what every actor made with it, and gives the batches that are due
//   learn    from all of them, in order, while more are drawn
//   return   their priorities, in order
//   evaluate every so many turns: until nothing is left to evaluate
//   hash     every so many updates, and with a checkpoint: of the learner's state and the table
//   save     every so many turns: the checkpoint
//
// No sockets, no clock, no threads: what was done is told, the next task is asked for.
//
// Threads: one at a time. Owns: plain value.
typedef enum learner_turn_task {
    LEARNER_TURN_PUBLISH,
    LEARNER_TURN_LEARN, // draw and learn
    LEARNER_TURN_RETURN,
    LEARNER_TURN_EVALUATE,
    LEARNER_TURN_HASH,
    LEARNER_TURN_SAVE,
    LEARNER_TURN_END, // no turn follows
} learner_turn_task;

typedef struct learner_turns_periods {
    uint32_t evaluate_turns;
    uint32_t save_turns; // a life
    uint64_t hash_updates;
} learner_turns_periods;

typedef struct learner_turns {
    learner_turns_periods periods;
    learner_turn_task task;
    uint64_t turn;    // published last
    uint64_t updates; // ever
    uint64_t hashed;  // updates when it was hashed last
    uint32_t drawn;   // batches of the turn that have come
    uint32_t learned; // of them
    uint32_t due;     // that it has; LEARNER_TURN_UNKNOWN: not told yet
    bool is_asked;    // a request is on its way
    bool is_ending;   // the last turn
} learner_turns;

#define LEARNER_TURN_UNKNOWN UINT32_MAX

// turn, updates: of the checkpoint that the run goes on from; 0 when it begins.
void learner_turns_begin(learner_turns *turns, const learner_turns_periods *periods, uint64_t turn,
                         uint64_t updates);
// Behind begin: the run ended with that turn, and no other follows.
void learner_turns_over(learner_turns *turns);
learner_turn_task learner_turns_task(const learner_turns *turns);
// The task is done; not of LEARN, which ends by itself, nor of PUBLISH and END.
void learner_turns_done(learner_turns *turns);
// Whether the turn at work ends with a checkpoint.
bool learner_turns_saves(const learner_turns *turns);
// Whether the version to be published is the first of its life.
bool learner_turns_is_anew(const learner_turns *turns);
// The life of the turn at work, and of the one to come where none has begun.
uint32_t learner_turns_life(const learner_turns *turns);

// The session of an actor in a life: an actor that is started again in it goes on with the same
// one, and what it sends again is known to replay. Another for each process of the learner (epoch),
// since that may have replay go back: nothing that an earlier one acknowledged is taken for
// granted. It can be told beforehand, and is no secret: its token is.
uint64_t learner_turns_session(uint64_t seed, uint64_t epoch, uint32_t actor_index, uint32_t life);

// PUBLISH. The version that was ordered; it has the turn's number.
void learner_turns_published(learner_turns *turns, uint64_t version);
// LEARN. Whether the next request may go: one at a time. It asks for batches from drawn on.
bool learner_turns_may_ask(const learner_turns *turns);
void learner_turns_asked(learner_turns *turns);
// No answer came, or none yet.
void learner_turns_missed(learner_turns *turns);
// Batches came; the turn has due in all.
void learner_turns_drawn(learner_turns *turns, uint32_t batches, uint32_t due);
// One was learned from; updates ever.
void learner_turns_learned(learner_turns *turns, uint64_t updates);
// The run ends with this turn: it is hashed, then END. Before its SAVE.
void learner_turns_finish(learner_turns *turns);

#endif // LEARNER_LEARNER_TURNS_H
