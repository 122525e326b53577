#ifndef TESTS_PROTO_FUZZ_WIRE_H
#define TESTS_PROTO_FUZZ_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "proto/wire_rpc.h"

// Every decoder of proto/ behind libFuzzer's entry. The first byte of an input picks the decoder
// (modulo their number), the rest is what the peer sent. A message that is accepted is packed
// again, and must be accepted again: that reads every value of every column.
enum {
    FUZZ_FRAME,
    FUZZ_BATCH,          // whole frames
    FUZZ_ACK,            //
    FUZZ_POLICY,         //
    FUZZ_LEARNER_SERVER, // whole request frames
    FUZZ_REPLAY_SERVER,  //
#define X(method, request, reply, roles)                                                           \
    FUZZ_REQUEST_##method,                              /* payloads: the frame is made for them */ \
        FUZZ_REPLY_##method, FUZZ_REPLY_FRAME_##method, /* whole reply frames */
    WIRE_LEARNER_METHODS(X) WIRE_REPLAY_METHODS(X)
#undef X
        FUZZ_DECODERS
};

// How many inputs each decoder accepted so far.
extern uint64_t fuzz_wire_accepted[FUZZ_DECODERS];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif // TESTS_PROTO_FUZZ_WIRE_H
