#ifndef PROTO_WIRE_ENV_H
#define PROTO_WIRE_ENV_H

#include "proto/wire_learner.h"

// An environment's spec in bytes that can lie in a file: the frame of a RegisterActor request that
// has it, so that whoever reads it checks what a registration is checked for.
//
// Threads: any; no shared state.
#define WIRE_ENV_BYTES_MAX 8192

// malloc'd; at most WIRE_ENV_BYTES_MAX for a spec within the bounds of wire.h.
uint8_t *wire_env_pack(const wire_env_spec *env, size_t *length);
// out's rows and texts live in the arena. Of whatever protocol version. OCT_EPROTO: no such bytes
// (wire_arena_reason says more).
OCT_CHECKED oct_err wire_env_unpack(wire_env_spec *out, wire_arena *arena, const uint8_t *bytes,
                                    size_t length);

#endif // PROTO_WIRE_ENV_H
