#ifndef TESTS_FUZZ_POLICY_HISTORY_H
#define TESTS_FUZZ_POLICY_HISTORY_H

#include <stdlib.h>
#include <string.h>

#include "policy/codec/codec_delta.h"
#include "tests/policy/next_policy.h"
#include "tests/policy/small_policy.h"

// Runs of a few versions each, the same in every process, that inputs refer to by number: every
// version complete, and as the change of the one before. Made once and kept to the end.

#define HISTORIES         12
#define HISTORY_VERSIONS  4
#define HISTORY_BYTES_MAX 65536

typedef struct history_message {
    uint8_t *bytes; // NULL: none
    size_t length;
} history_message;

typedef struct history {
    policy_image *images[HISTORY_VERSIONS];
    history_message complete[HISTORY_VERSIONS];
    history_message change[HISTORY_VERSIONS]; // [0], and where it would not be shorter: none
    codec_coder *coder;
} history;

static inline history_message
history_message_copy(const uint8_t *bytes, size_t length)
{
    history_message m = {oct_alloc(length), length};
    OCT_ASSERT(length <= HISTORY_BYTES_MAX);
    memcpy(m.bytes, bytes, length);
    return m;
}

static inline history_message
history_message_of(const policy_image *image)
{
    history_message m = {.length = policy_encoded_size(image)};
    m.bytes = oct_alloc(m.length);
    policy_encode(image, m.bytes);
    return m;
}

static inline void
history_init(history *h, oct_rng *rng)
{
    policy_spec spec = random_small_spec(rng);
    bool is_int4 = oct_rng_below(rng, 2) == 0;
    policy_precision precision = is_int4 ? POLICY_INT4 : POLICY_INT8;
    *h = (history){.coder = codec_coder_create(&spec, precision)};
    h->images[0] = random_image(&spec, precision, !is_int4 && oct_rng_below(rng, 4) == 0, rng);
    h->complete[0] = history_message_of(h->images[0]);
    for (uint32_t v = 1; v < HISTORY_VERSIONS; v++) {
        oct_err err = policy_image_create(&h->images[v], &spec, precision);
        OCT_ASSERT(err == OCT_OK);
        policy_step(h->images[v], h->images[v - 1], oct_rng_below(rng, 4), rng);
        h->complete[v] = history_message_of(h->images[v]);
        const uint8_t *bytes;
        size_t length;
        if (codec_delta_encode(h->coder, h->images[v - 1], h->images[v], &bytes, &length) ==
            OCT_OK) {
            h->change[v] = history_message_copy(bytes, length);
        }
    }
}

static inline history *
history_get(uint32_t number)
{
    static history histories[HISTORIES];
    if (histories[0].coder == NULL) {
        oct_rng rng;
        oct_rng_init(&rng, 1, 0);
        for (uint32_t i = 0; i < HISTORIES; i++) {
            history_init(&histories[i], &rng);
        }
    }
    return &histories[number % HISTORIES];
}

static inline bool
history_is_same(const policy_image *image, const history_message *complete)
{
    history_message m = history_message_of(image);
    bool same = m.length == complete->length && memcmp(m.bytes, complete->bytes, m.length) == 0;
    free(m.bytes);
    return same;
}

// What was accepted encodes to bytes that the decoder of complete policies accepts.
static inline void
history_expect_sound(const policy_image *image)
{
    history_message m = history_message_of(image);
    policy_image *again;
    oct_err err = policy_decode(&again, m.bytes, m.length, NULL);
    OCT_ASSERT(err == OCT_OK);
    policy_image_destroy(again);
    free(m.bytes);
}

#endif // TESTS_FUZZ_POLICY_HISTORY_H
