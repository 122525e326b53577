// Changes of policies, whole and not, on bases that are theirs and that are not. An input says
// which base (number of the history, version), how it differs from the one that was sent, whether
// length and checksum are mended, and has the bytes of the change. What is accepted is a sound
// policy; a change as it was sent gives its version on its base, and on another that or nothing;
// the base stays.
#include "common/oct_reason.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/policy_history.h"

enum { HEAD_BYTES = 4 };

static bool
is_sent(const history *h, uint32_t v, const uint8_t *bytes, size_t length)
{
    const history_message *m = &h->change[v];
    return m->bytes != NULL && m->length == length && memcmp(m->bytes, bytes, length) == 0;
}

static void
decode(const history *h, uint32_t base_version, bool is_other, const uint8_t *bytes, size_t length)
{
    policy_image *base = h->images[base_version], *got;
    oct_err err = policy_image_create(&got, &base->spec, base->precision);
    OCT_ASSERT(err == OCT_OK);
    base->codes[0][0] ^= is_other; // another base of the same version
    history_message before = history_message_of(base);
    oct_reason why = {""};
    err = codec_delta_decode(h->coder, got, base, bytes, length, &why);
    OCT_ASSERT(history_is_same(base, &before));
    base->codes[0][0] ^= is_other;
    OCT_ASSERT((err == OCT_OK) == (why.text[0] == '\0'));
    for (uint32_t v = 1; v < HISTORY_VERSIONS; v++) {
        if (is_sent(h, v, bytes, length)) {
            // Of another base nothing comes, or, where its rows have new grids, just the same.
            OCT_ASSERT(err != OCT_OK || v == base_version + 1);
            OCT_ASSERT(err == OCT_OK || v != base_version + 1 || is_other);
            OCT_ASSERT(err != OCT_OK || history_is_same(got, &h->complete[v]));
        }
    }
    if (err == OCT_OK) {
        history_expect_sound(got);
        fuzz_accept();
    }
    free(before.bytes);
    policy_image_destroy(got);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD_BYTES) {
        return 0;
    }
    size_t length = size - HEAD_BYTES;
    uint8_t *bytes = fuzz_copy(data + HEAD_BYTES, length);
    if (data[3] % 2 != 0) {
        mend_bytes(bytes, length);
    }
    decode(history_get(data[0]), data[1] % HISTORY_VERSIONS, data[2] % 4 == 1, bytes, length);
    free(bytes);
    return 0;
}

void
fuzz_seeds(void)
{
    static uint8_t seed[HEAD_BYTES + HISTORY_BYTES_MAX];
    for (uint32_t i = 0; i < HISTORIES; i++) {
        const history *h = history_get(i);
        for (uint32_t v = 1; v < HISTORY_VERSIONS; v++) {
            if (h->change[v].bytes == NULL) {
                continue;
            }
            const uint8_t head[HEAD_BYTES] = {(uint8_t)i, (uint8_t)(v - 1), 0, 1};
            memcpy(seed, head, HEAD_BYTES);
            memcpy(seed + HEAD_BYTES, h->change[v].bytes, h->change[v].length);
            fuzz_seed(seed, HEAD_BYTES + h->change[v].length);
        }
    }
}
