#ifndef LEARNER_LEARNER_TURNS_H
#define LEARNER_LEARNER_TURNS_H

#include <stdbool.h>
#include <stdint.h>

// Lock-step (docs/determinism.md): the learner's tasks in a turn, one after the other, which depend
// on counts alone. Turn t begins when version t is published, and ends when all due tasks are done;
// then version t + 1 is made.
//
//   publish  version t is made and published
//   draw     replay gives the batches that are due, once it has all rows made with the version
//   learn    from all batches, in order, while more are drawn
//   return   the batches' priorities, in order
//   evaluate every evaluate_turns: until no evaluation is left
//   hash     every hash_updates, and with a checkpoint: of the learner's state and the table
//   save     every save_turns: the checkpoint
//
// No sockets, no clock, no threads: the caller reports what was done, and asks for the next task.
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
    uint32_t save_turns; // turns of a life
    uint64_t hash_updates;
} learner_turns_periods;

typedef struct learner_turns {
    learner_turns_periods periods;
    learner_turn_task task;
    uint64_t turn;    // last turn published
    uint64_t updates; // of all processes
    uint64_t hashed;  // count of updates at the last hash
    uint32_t drawn;   // batches of the turn that have arrived
    uint32_t learned; // batches of the turn that were learned from
    uint32_t due; // batches of the turn in total; LEARNER_TURN_UNKNOWN: replay has not answered yet
    bool is_asked;  // a request is in flight
    bool is_ending; // this is the last turn
} learner_turns;

#define LEARNER_TURN_UNKNOWN UINT32_MAX

// turn and updates are those of the checkpoint that the run continues from; 0 in a new run.
void learner_turns_begin(learner_turns *turns, const learner_turns_periods *periods, uint64_t turn,
                         uint64_t updates);
// After begin: the run ended with that turn, and no turn follows.
void learner_turns_over(learner_turns *turns);
learner_turn_task learner_turns_task(const learner_turns *turns);
// Ends the present task. Not for LEARN, which ends by itself, nor for PUBLISH and END.
void learner_turns_done(learner_turns *turns);
// Returns true if the present turn ends with a checkpoint.
bool learner_turns_saves(const learner_turns *turns);
// Returns true if the version to be published is the first of its life.
bool learner_turns_is_resumed(const learner_turns *turns);
// Returns the life of the present turn, or of the next turn if none has begun.
uint32_t learner_turns_life(const learner_turns *turns);

// Returns the session of an actor in a life. An actor that is restarted within the life has the
// same session, so replay recognizes the batches that it sends again. Each process of the learner
// (epoch) uses another session, because the process may have replay return to an earlier turn:
// nothing that an earlier session acknowledged still counts. The session is predictable and no
// secret: its token is the secret.
uint64_t learner_turns_session(uint64_t seed, uint64_t epoch, uint32_t actor_index, uint32_t life);

// PUBLISH: the ordered version was published; it has the turn's number.
void learner_turns_published(learner_turns *turns, uint64_t version);
// LEARN: returns true if the next request may be sent. One request is in flight at a time; it asks
// for batches from index drawn on.
bool learner_turns_may_ask(const learner_turns *turns);
void learner_turns_asked(learner_turns *turns);
// The request got no answer, or an answer without batches.
void learner_turns_missed(learner_turns *turns);
// Batches arrived; the turn has `due` batches in total.
void learner_turns_drawn(learner_turns *turns, uint32_t batches, uint32_t due);
// A batch was learned from; updates counts all processes.
void learner_turns_learned(learner_turns *turns, uint64_t updates);
// Ends the run with this turn: its state is hashed, then END follows. Call before the turn's SAVE.
void learner_turns_finish(learner_turns *turns);

#endif // LEARNER_LEARNER_TURNS_H
