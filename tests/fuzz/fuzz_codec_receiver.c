// A receiver that is sent policies and changes of two runs in any order, some of them damaged, and
// that forgets. An input is a list of such events. The receiver never goes back, holds what it
// took, and what it holds is sound.
#include "common/oct_reason.h"
#include "policy/codec/codec_receiver.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/policy_history.h"

enum { EVENTS_MAX = 64 };

// One event, three bytes: history and version, what becomes of the message; then for each byte that
// is changed its place and its new value.
enum { EVENT_FORGET = 1, EVENT_CHANGE = 2, EVENT_MEND = 4, EVENT_CUT = 8, EVENT_EDITS_SHIFT = 4 };

// NULL: the event has no message.
static uint8_t *
message_make(oct_reader *in, const history *h, uint32_t v, uint8_t what, size_t *length)
{
    const history_message *whole = (what & EVENT_CHANGE) != 0 ? &h->change[v] : &h->complete[v];
    if (whole->bytes == NULL) {
        return NULL;
    }
    *length = whole->length;
    uint8_t *bytes = fuzz_copy(whole->bytes, whole->length);
    for (uint32_t edits = what >> EVENT_EDITS_SHIFT; edits > 0; edits--) {
        size_t at = oct_read_u16(in) % whole->length;
        bytes[at] = oct_read_u8(in);
    }
    if ((what & EVENT_CUT) != 0) {
        *length = oct_read_u16(in) % whole->length;
        uint8_t *cut = fuzz_copy(bytes, *length);
        free(bytes);
        bytes = cut;
    }
    if ((what & EVENT_MEND) != 0) {
        mend_bytes(bytes, *length);
    }
    return bytes;
}

static void
take(codec_receiver *receiver, const uint8_t *bytes, size_t length)
{
    uint64_t held = codec_receiver_version(receiver);
    oct_reason why = {""};
    const policy_image *image = NULL;
    oct_err err = codec_receiver_take(receiver, bytes, length, &image, &why);
    OCT_ASSERT((err == OCT_OK) == (image != NULL));
    if (err == OCT_OK) {
        OCT_ASSERT(codec_receiver_version(receiver) > held);
        OCT_ASSERT(codec_receiver_version(receiver) == image->origin.version);
        history_expect_sound(image);
        fuzz_accept();
    } else {
        OCT_ASSERT(codec_receiver_version(receiver) == held);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    oct_reader in = {.at = data, .left = size};
    codec_receiver *receiver = codec_receiver_create();
    uint32_t run = oct_read_u8(&in);
    for (uint32_t i = 0; i < EVENTS_MAX && in.left > 0; i++) {
        uint8_t which = oct_read_u8(&in), what = oct_read_u8(&in);
        if ((what & EVENT_FORGET) != 0 && which % 4 == 0) {
            codec_receiver_reset(receiver);
        }
        const history *h = history_get(run + (which >= 0xe0));
        size_t length;
        uint8_t *bytes = message_make(&in, h, which % HISTORY_VERSIONS, what, &length);
        if (bytes != NULL) {
            take(receiver, bytes, length);
            free(bytes);
        }
    }
    codec_receiver_destroy(receiver);
    return 0;
}

void
fuzz_seeds(void)
{
    for (uint8_t i = 0; i < HISTORIES; i++) {
        const uint8_t in_order[] = {i, 0, 0, 1, EVENT_CHANGE, 2, EVENT_CHANGE, 3, EVENT_CHANGE};
        const uint8_t with_a_gap[] = {i, 0, 0, 2, EVENT_CHANGE, 2, 0, 3, EVENT_CHANGE, 1, 0};
        const uint8_t of_two[] = {i, 1, 0, 0xe2, 0, 0, EVENT_FORGET, 0xe1, 0, 0xe2, EVENT_CHANGE};
        const uint8_t damaged[] = {i,  0, 0, 1, EVENT_CHANGE | EVENT_MEND | 1 << EVENT_EDITS_SHIFT,
                                   60, 0, 1, 1, EVENT_CUT,
                                   99, 0, 1, 0};
        fuzz_seed(in_order, sizeof(in_order));
        fuzz_seed(with_a_gap, sizeof(with_a_gap));
        fuzz_seed(of_two, sizeof(of_two));
        fuzz_seed(damaged, sizeof(damaged));
    }
}
