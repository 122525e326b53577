// The frames that travel together through relays. The first byte of an input picks the kind that
// they are to be of, the rest is the message. What is read is gathered again, and read the same.
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "proto/wire_gather.h"
#include "proto/wire_token.h"
#include "tests/fuzz/fuzz.h"

#define ROOM (1u << 20)

static wire_kind
kind_of(uint8_t byte)
{
    return byte % 2 == 0 ? WIRE_BATCH : WIRE_ACK;
}

static void
read_again(const wire_gatherer *gatherer, wire_gathered before, wire_kind kind,
           const uint8_t *bytes, size_t length)
{
    wire_gathered after;
    const uint8_t *a, *b;
    size_t a_length, b_length;
    OCT_ASSERT(wire_gathered_open(&after, kind, bytes, length) == OCT_OK);
    OCT_ASSERT(after.relay == gatherer->relay && after.count == before.count);
    while (wire_gathered_next(&before, &a, &a_length)) {
        OCT_ASSERT(wire_gathered_next(&after, &b, &b_length));
        OCT_ASSERT(a_length == b_length && memcmp(a, b, a_length) == 0);
    }
    OCT_ASSERT(!wire_gathered_next(&after, &b, &b_length));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wire_gathered gathered;
    wire_gatherer again;
    wire_claim claim;
    if (size == 0) {
        return 0;
    }
    uint8_t *bytes = fuzz_copy(data + 1, size - 1);
    wire_kind kind = kind_of(data[0]);
    if (wire_gathered_open(&gathered, kind, bytes, size - 1) == OCT_OK) {
        fuzz_accept();
        OCT_ASSERT(wire_is_gathered(bytes, size - 1) && gathered.relay != 0);
        wire_gathered rest = gathered;
        const uint8_t *frame;
        size_t length;
        uint32_t count = 0;
        wire_gatherer_init(&again, gathered.relay, ROOM);
        while (wire_gathered_next(&rest, &frame, &length)) {
            (void)(wire_claim_find(&claim, frame, length) == OCT_OK);
            (void)(wire_ack_find(&claim, frame, length) == OCT_OK);
            count += wire_gatherer_add(&again, frame, length);
        }
        OCT_ASSERT(count == gathered.count || size > ROOM / 2);
        if (count == gathered.count && count > 0) {
            size_t packed = wire_gatherer_length(&again);
            uint8_t *message = malloc(packed);
            OCT_ASSERT(message != NULL);
            wire_gatherer_take(&again, message);
            read_again(&again, gathered, kind, message, packed);
            free(message);
        }
        wire_gatherer_fini(&again);
    }
    free(bytes);
    return 0;
}

void
fuzz_seeds(void)
{
    uint8_t seed[512] = {0};
    for (uint8_t kind = 0; kind < 2; kind++) {
        wire_gatherer gatherer;
        wire_gatherer_init(&gatherer, UINT64_C(0x1122334455667788), sizeof(seed));
        seed[0] = kind;
        wire_gathered_pack(gatherer.relay, NULL, 0, seed + 1);
        fuzz_seed(seed, 1 + wire_gathered_size(0));
        for (uint8_t i = 0; i < 4; i++) {
            uint8_t frame[WIRE_FRAME_BYTES + 40] = {0};
            wire_frame_pack(kind_of(kind), 0, i, frame);
            memset(frame + WIRE_FRAME_BYTES, i, (size_t)10 * i);
            OCT_ASSERT(wire_gatherer_add(&gatherer, frame, WIRE_FRAME_BYTES + (size_t)10 * i));
        }
        size_t length = wire_gatherer_length(&gatherer);
        wire_gatherer_take(&gatherer, seed + 1);
        fuzz_seed(seed, 1 + length);
        fuzz_seed_bad(seed, length); // cut
        seed[0] ^= 1;
        fuzz_seed_bad(seed, 1 + length); // of the other kind
        wire_gatherer_fini(&gatherer);
    }
}
