// An environment's spec as the bytes of a registration.
#include "proto/wire_env.h"

#include "common/oct_base.h"
#include "proto/wire_convert.h"
#include "proto/wire_rpc.h"

uint8_t *
wire_env_pack(const wire_env_spec *env, size_t *length)
{
    const wire_register request = {
        .role = WIRE_ROLE_ACTOR, .host = "", .has_env = true, .env = *env};
    Octet__Registration message;
    wire_register_to(&message, &request);
    message.version = message.read_min = message.read_max = 0; // a file has no peer
    message.release_name = (char *)protobuf_c_empty_string;
    *length = WIRE_FRAME_BYTES + octet__registration__get_packed_size(&message);
    uint8_t *bytes = oct_alloc(*length);
    wire_frame_pack(WIRE_REQUEST, WIRE_CODE_register_actor, 0, bytes);
    (void)octet__registration__pack(&message, bytes + WIRE_FRAME_BYTES);
    return bytes;
}

oct_err
wire_env_unpack(wire_env_spec *out, wire_arena *arena, const uint8_t *bytes, size_t length)
{
    wire_frame frame;
    // Any release may have written the file; the fields of an environment mean the same in all.
    oct_err err = wire_frame_unpack(&frame, bytes, length);
    if (err != OCT_OK && err != OCT_EINVAL) {
        return err;
    }
    WIRE_REQUIRE(arena, frame.kind == WIRE_REQUEST && frame.code == WIRE_CODE_register_actor,
                 "not an environment");
    wire_register request;
    OCT_TRY(wire_message_unpack(&wire_register_message, &request, arena, bytes + WIRE_FRAME_BYTES,
                                length - WIRE_FRAME_BYTES));
    WIRE_REQUIRE(arena, request.has_env, "a registration without an environment");
    *out = request.env;
    return OCT_OK;
}
