#ifndef PROTO_WIRE_TURN_H
#define PROTO_WIRE_TURN_H

#include <stdint.h>

// Lock-step (docs/determinism.md): numbers that learner and actors both compute from counts. A turn
// has the number of its policy version; the first is 1. A life is a group of life_turns turns; the
// first is 0. Actors start afresh with each life, and the learner writes a checkpoint at its end.
//
// Threads: any, plain arithmetic.

static inline uint32_t
wire_turn_life(uint64_t turn, uint32_t life_turns)
{
    return (uint32_t)((turn - 1) / life_turns);
}

static inline uint64_t
wire_turn_first(uint32_t life, uint32_t life_turns)
{
    return (uint64_t)life * life_turns + 1;
}

#endif // PROTO_WIRE_TURN_H
