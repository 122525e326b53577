// Makes a daemon one of another release: its frames bear the protocol version before this one, and
// it refuses those of this one. Between the daemon and proto/wire_frame.c (--wrap).
#include <string.h>

#include "proto/wire.h"

#define VERSION_AT    4
#define VERSION_OTHER (WIRE_PROTOCOL_VERSION - 1)

void __real_wire_frame_pack(wire_kind kind, uint16_t code, uint32_t topic,
                            uint8_t out[WIRE_FRAME_BYTES]);
void __wrap_wire_frame_pack(wire_kind kind, uint16_t code, uint32_t topic,
                            uint8_t out[WIRE_FRAME_BYTES]);
oct_err __real_wire_frame_unpack(wire_frame *out, const uint8_t *bytes, size_t length);
oct_err __wrap_wire_frame_unpack(wire_frame *out, const uint8_t *bytes, size_t length);

void
__wrap_wire_frame_pack(wire_kind kind, uint16_t code, uint32_t topic, uint8_t out[WIRE_FRAME_BYTES])
{
    __real_wire_frame_pack(kind, code, topic, out);
    out[VERSION_AT] = VERSION_OTHER;
}

oct_err
__wrap_wire_frame_unpack(wire_frame *out, const uint8_t *bytes, size_t length)
{
    uint8_t frame[WIRE_FRAME_BYTES];
    if (length < sizeof(frame)) {
        return __real_wire_frame_unpack(out, bytes, length);
    }
    memcpy(frame, bytes, sizeof(frame));
    frame[VERSION_AT]++; // what is its own version is this one's to the real function
    oct_err err = __real_wire_frame_unpack(out, frame, sizeof(frame));
    if (err == OCT_OK || err == OCT_EINVAL) {
        out->version--;
    }
    return err;
}
