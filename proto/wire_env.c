// An environment's spec as the bytes of a registration.
#include "proto/wire_env.h"

#include "common/oct_base.h"
#include "proto/octet.pb-c.h"
#include "proto/wire_arena.h"
#include "proto/wire_convert.h"
#include "proto/wire_rpc.h"

#define REGISTER_CODE (WIRE_SERVICE_LEARNER << 8) // its first method

uint8_t *
wire_env_pack(const wire_env_spec *env, size_t *length)
{
    const wire_register request = {
        .role = WIRE_ROLE_ACTOR, .host = "", .has_env = true, .env = *env};
    Octet__Registration message;
    wire_register_to(&message, &request);
    message.version = message.read_min = message.read_max = 0; // a file speaks with nobody
    message.release_name = WIRE_STRING(NULL);
    *length = WIRE_FRAME_BYTES + octet__registration__get_packed_size(&message);
    uint8_t *bytes = oct_alloc(*length);
    wire_frame_pack(WIRE_REQUEST, REGISTER_CODE, 0, bytes);
    (void)octet__registration__pack(&message, bytes + WIRE_FRAME_BYTES);
    return bytes;
}

oct_err
wire_env_unpack(wire_env_spec *out, wire_arena *arena, const uint8_t *bytes, size_t length)
{
    wire_frame frame;
    // A file is of whichever release wrote it: what it says of an environment means the same in
    // all.
    oct_err err = wire_frame_unpack(&frame, bytes, length);
    if (err != OCT_OK && err != OCT_EINVAL) {
        return err;
    }
    WIRE_REQUIRE(arena, frame.kind == WIRE_REQUEST && frame.code == REGISTER_CODE,
                 "not an environment");
    const ProtobufCMessage *message =
        wire_arena_unpack(arena, &octet__registration__descriptor, bytes + WIRE_FRAME_BYTES,
                          length - WIRE_FRAME_BYTES);
    if (message == NULL) {
        return OCT_EPROTO;
    }
    wire_register request;
    OCT_TRY(wire_register_from(&request, (const Octet__Registration *)message, arena));
    WIRE_REQUIRE(arena, request.has_env, "a registration without an environment");
    *out = request.env;
    return OCT_OK;
}
