// Changes of policies, damaged and on wrong bases, and receivers that are sent them in any order.
// What is accepted must be a sound policy; a change that is not damaged gives its next version or
// nothing; the base stays; a receiver never goes back.
// usage: fuzz_codec_delta [SECONDS] [SEED]

#include <time.h>

#include "codec/codec_receiver.h"
#include "tests/policy/damaged_policy.h"
#include "tests/policy/next_policy.h"

#define VERSIONS 4

typedef struct message {
    uint8_t *bytes;
    size_t length;
} message;

typedef struct history {
    policy_image *images[VERSIONS];
    message complete[VERSIONS];
    message change[VERSIONS]; // of the version before; [0] is empty
    codec_coder *coder;
} history;

static uint64_t tried, accepted;

static message
message_of(const policy_image *image)
{
    message m = {.length = policy_encoded_size(image)};
    m.bytes = malloc(m.length);
    policy_encode(image, m.bytes);
    return m;
}

static message
message_copy(const uint8_t *bytes, size_t length)
{
    message m = {malloc(length), length};
    memcpy(m.bytes, bytes, length);
    return m;
}

static history
history_of(oct_rng *rng)
{
    history h = {0};
    policy_spec spec = random_small_spec(rng);
    bool is_int4 = oct_rng_below(rng, 2) == 0;
    policy_precision precision = is_int4 ? POLICY_INT4 : POLICY_INT8;
    h.coder = codec_coder_create(&spec, precision);
    h.images[0] = random_image(&spec, precision, !is_int4 && oct_rng_below(rng, 4) == 0, rng);
    h.complete[0] = message_of(h.images[0]);
    for (uint32_t v = 1; v < VERSIONS; v++) {
        T_OK(policy_image_create(&h.images[v], &spec, precision));
        policy_step(h.images[v], h.images[v - 1], oct_rng_below(rng, 4), rng);
        h.complete[v] = message_of(h.images[v]);
        const uint8_t *bytes;
        size_t length;
        // The smallest policies are shorter than what changes them.
        if (codec_delta_encode(h.coder, h.images[v - 1], h.images[v], &bytes, &length) == OCT_OK) {
            h.change[v] = message_copy(bytes, length);
        } else {
            h.change[v] = message_copy(h.complete[v].bytes, h.complete[v].length);
        }
    }
    return h;
}

static void
history_end(history *h)
{
    for (uint32_t v = 0; v < VERSIONS; v++) {
        policy_image_destroy(h->images[v]);
        free(h->complete[v].bytes);
        free(h->change[v].bytes);
    }
    codec_coder_destroy(h->coder);
}

static bool
is_same(const policy_image *image, const message *complete)
{
    message m = message_of(image);
    bool same = m.length == complete->length && memcmp(m.bytes, complete->bytes, m.length) == 0;
    free(m.bytes);
    return same;
}

// A copy of its exact size, so that the sanitizer sees a read past the end.
static message
damaged(const message *whole, oct_rng *rng)
{
    static uint8_t bytes[DAMAGED_BYTES_MAX];
    memcpy(bytes, whole->bytes, whole->length);
    size_t length = damage_bytes(bytes, whole->length, rng);
    if (oct_rng_below(rng, 16) != 0) {
        mend_bytes(bytes, length);
    }
    return message_copy(bytes, length);
}

// What was accepted encodes to bytes that the decoder of complete policies accepts.
static void
expect_sound(const policy_image *image)
{
    message m = message_of(image);
    policy_image *again;
    T_OK(policy_decode(&again, m.bytes, m.length, NULL, 0));
    policy_image_destroy(again);
    free(m.bytes);
    accepted++;
}

static void
fuzz_decode(const history *h, oct_rng *rng)
{
    uint32_t v = 1 + oct_rng_below(rng, VERSIONS - 1);
    policy_image *base =
        h->images[oct_rng_below(rng, 4) == 0 ? oct_rng_below(rng, VERSIONS) : v - 1];
    policy_image *got;
    T_OK(policy_image_create(&got, &base->spec, base->precision));
    bool is_damaged = oct_rng_below(rng, 4) != 0;
    message m = is_damaged ? damaged(&h->change[v], rng)
                           : message_copy(h->change[v].bytes, h->change[v].length);
    uint32_t l = oct_rng_below(rng, base->spec.layer_count), flip = oct_rng_below(rng, 3);
    message before = message_of(base);
    base->codes[l][0] ^= flip == 0; // as if it were another's base
    char reason[160] = "";
    oct_err err =
        codec_delta_decode(h->coder, got, base, m.bytes, m.length, reason, sizeof(reason));
    base->codes[l][0] ^= flip == 0;
    assert_true(is_same(base, &before));
    assert_true((err == OCT_OK) == (reason[0] == '\0'));
    if (err == OCT_OK) {
        assert_true(is_damaged || is_same(got, &h->complete[v]));
        expect_sound(got);
    }
    tried++;
    free(before.bytes);
    free(m.bytes);
    policy_image_destroy(got);
}

static void
fuzz_receiver(const history *h, const history *other, oct_rng *rng)
{
    codec_receiver *receiver = codec_receiver_create();
    for (uint32_t i = 0; i < 12; i++) {
        const history *from = oct_rng_below(rng, 8) == 0 ? other : h;
        uint32_t v = oct_rng_below(rng, VERSIONS);
        const message *whole =
            v == 0 || oct_rng_below(rng, 4) == 0 ? &from->complete[v] : &from->change[v];
        bool is_damaged = oct_rng_below(rng, 3) == 0;
        message m = is_damaged ? damaged(whole, rng) : message_copy(whole->bytes, whole->length);
        if (oct_rng_below(rng, 16) == 0) {
            codec_receiver_reset(receiver);
        }
        uint64_t held = codec_receiver_version(receiver);
        char reason[160] = "";
        const policy_image *image = NULL;
        oct_err err =
            codec_receiver_take(receiver, m.bytes, m.length, &image, reason, sizeof(reason));
        assert_true((err == OCT_OK) == (image != NULL));
        if (err == OCT_OK) {
            assert_true(codec_receiver_version(receiver) > held || held == 0);
            assert_true(codec_receiver_version(receiver) == image->origin.version);
            expect_sound(image);
        } else {
            assert_true(codec_receiver_version(receiver) == held);
        }
        tried++;
        free(m.bytes);
    }
    codec_receiver_destroy(receiver);
}

int
main(int argc, char **argv)
{
    double limit = argc > 1 ? strtod(argv[1], NULL) : 2.0;
    oct_rng rng;
    oct_rng_init(&rng, argc > 2 ? strtoull(argv[2], NULL, 10) : 1, 1);
    clock_t end = clock() + (clock_t)(limit * CLOCKS_PER_SEC);
    while (clock() < end) {
        history h = history_of(&rng), other = history_of(&rng);
        for (int i = 0; i < 20; i++) {
            fuzz_decode(&h, &rng);
        }
        for (int i = 0; i < 3; i++) {
            fuzz_receiver(&h, &other, &rng);
        }
        history_end(&h);
        history_end(&other);
    }
    printf("%llu changes and policies, %llu sound enough\n", (unsigned long long)tried,
           (unsigned long long)accepted);
    return tried > accepted ? 0 : 1;
}
