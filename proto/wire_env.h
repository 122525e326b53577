#ifndef PROTO_WIRE_ENV_H
#define PROTO_WIRE_ENV_H

#include "proto/wire_learner.h"

// An environment's spec as bytes for a file: the frame of a RegisterActor request with that spec,
// so that a reader checks it exactly as the learner checks a registration.
//
// Threads: any; no shared state.
#define WIRE_ENV_BYTES_MAX 8192

// Returns malloc'd bytes, at most WIRE_ENV_BYTES_MAX for a spec within the bounds of wire.h.
uint8_t *wire_env_pack(const wire_env_spec *env, size_t *length);
// Reads bytes of any protocol version. out's columns and texts live in the arena. OCT_EPROTO: the
// bytes are not an environment's spec (wire_arena_reason says why).
OCT_CHECKED oct_err wire_env_unpack(wire_env_spec *out, wire_arena *arena, const uint8_t *bytes,
                                    size_t length);

#endif // PROTO_WIRE_ENV_H
