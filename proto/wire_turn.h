#ifndef PROTO_WIRE_TURN_H
#define PROTO_WIRE_TURN_H

#include <stdint.h>

// Lock-step (docs/determinism.md): what learner and actors both find out from counts. A turn has
// the number of its policy version, from 1. A life is so many turns, from 0: with each one actors
// begin anew, and a checkpoint is written at its end.
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
