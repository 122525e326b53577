// Weights of every size, also none at all, none that is normal, and the largest there are, that
// jump from one version to the next: what is published is received, complete and as a change, and
// both are the policy that was sent, bit for bit.

#include <float.h>

#include "common/oct_reason.h"
#include "policy/codec/codec_receiver.h"
#include "quantizer/quantizer_convert.h"
#include "tests/policy/random_policy.h"

enum { CHAINS = 150, STEPS = 8 };

static uint64_t published, changes_sent;

static float
odd_scale(oct_rng *rng)
{
    static const float scales[] = {0.0f,  -0.0f, 1e-45f, 3e-42f,   0x1p-126f, 0x1p-101f, 0x1p-99f,
                                   1e-6f, 0.1f,  1.0f,   70000.0f, 1e30f,     1e38f,     FLT_MAX};
    return scales[oct_rng_below(rng, OCT_COUNTOF(scales))];
}

// Rows, groups and single weights of another size.
static void
params_jump(float *params, size_t count, oct_rng *rng)
{
    for (uint32_t jumps = oct_rng_below(rng, 6); jumps > 0; jumps--) {
        size_t at = oct_rng_below(rng, (uint32_t)count);
        size_t wanted = 1 + oct_rng_below(rng, 80), n = OCT_MIN(count - at, wanted);
        float scale = odd_scale(rng);
        for (size_t i = at; i < at + n; i++) {
            params[i] = (2.0f * oct_rng_float(rng) - 1.0f) * scale;
        }
    }
    for (size_t i = 0; oct_rng_below(rng, 2) == 0 && i < count; i++) {
        float moved = params[i] * (1.0f + 0.05f * (oct_rng_float(rng) - 0.5f));
        params[i] = isfinite(moved) ? moved : params[i];
    }
}

static quantizer_method
odd_method(oct_rng *rng)
{
    return (quantizer_method){
        .range = (quantizer_range)oct_rng_below(rng, 3),
        .percentile = 50.1 + 49.9 * oct_rng_double(rng),
        .per_tensor = oct_rng_below(rng, 4) == 0,
        .dead_band = oct_rng_below(rng, 2) == 0 ? 0.5f : 0.5f + 3.0f * oct_rng_float(rng),
        .drift = 0.001f + oct_rng_float(rng),
    };
}

static void
expect_received(codec_receiver *receiver, const policy_image *sent, const uint8_t *bytes,
                size_t length)
{
    oct_reason why = {""};
    const policy_image *got;
    oct_err err = codec_receiver_take(receiver, bytes, length, &got, &why);
    assert_string_equal(why.text, "");
    T_OK(err);
    size_t size = policy_encoded_size(sent);
    uint8_t *want = malloc(size), *have = malloc(size);
    assert_int_equal(policy_encoded_size(got), size);
    policy_encode(sent, want);
    policy_encode(got, have);
    assert_memory_equal(have, want, size);
    free(want);
    free(have);
}

static void
expect_published(codec_coder *coder, codec_receiver *whole, codec_receiver *chained,
                 const policy_image *previous, const policy_image *next)
{
    size_t length = policy_encoded_size(next);
    uint8_t *complete = malloc(length);
    policy_encode(next, complete);
    expect_received(whole, next, complete, length);
    const uint8_t *bytes = complete;
    size_t sent = length;
    if (previous != NULL && codec_delta_encode(coder, previous, next, &bytes, &sent) == OCT_OK) {
        changes_sent++;
        assert_true(sent < length);
    }
    expect_received(chained, next, bytes, sent);
    free(complete);
    published++;
}

static policy_spec
some_spec(oct_rng *rng)
{
    const uint32_t widths[] = {1 + oct_rng_below(rng, 140), 1 + oct_rng_below(rng, 70),
                               1 + oct_rng_below(rng, 9)};
    const uint32_t filters = 1 + oct_rng_below(rng, 20), channels = 1 + oct_rng_below(rng, 12);
    return oct_rng_below(rng, 3) == 0
               ? random_conv_spec(5, 4, channels, 3, &filters, 1, widths + 2, 1, 3, POLICY_RELU)
               : random_spec(widths, 3, POLICY_RELU, oct_rng_below(rng, 4) == 0);
}

static void
one_chain(oct_rng *rng)
{
    static const policy_precision precisions[] = {POLICY_INT8, POLICY_INT4, POLICY_INT8,
                                                  POLICY_INT4, POLICY_BF16, POLICY_FP16};
    policy_spec spec = some_spec(rng);
    policy_precision precision = precisions[oct_rng_below(rng, OCT_COUNTOF(precisions))];
    quantizer_method method = odd_method(rng);
    size_t count = policy_spec_params(&spec);
    float *params = oct_alloc(count * sizeof(float));
    random_floats(params, count, odd_scale(rng), rng);
    policy_image *previous, *next;
    T_OK(policy_image_create(&previous, &spec, precision));
    T_OK(policy_image_create(&next, &spec, precision));
    codec_coder *coder = codec_coder_create(&spec, precision);
    codec_receiver *whole = codec_receiver_create(), *chained = codec_receiver_create();
    for (uint32_t v = 1; v <= STEPS; v++) {
        T_OK(v == 1 ? quantizer_convert(next, params, &method)
                    : quantizer_update(next, previous, params, &method, NULL));
        next->origin = (policy_origin){.run_id = 5, .version = v, .eval_return = NAN};
        expect_published(coder, whole, chained, v > 1 ? previous : NULL, next);
        policy_image *newest = next;
        next = previous;
        previous = newest;
        params_jump(params, count, rng);
    }
    codec_receiver_destroy(whole);
    codec_receiver_destroy(chained);
    codec_coder_destroy(coder);
    policy_image_destroy(previous);
    policy_image_destroy(next);
    free(params);
}

static void
test_chain_of_any_weights_is_received_as_it_was_sent(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 1, 1);
    for (uint32_t i = 0; i < CHAINS; i++) {
        one_chain(&rng);
    }
    // Both kinds came up, or the test has stopped reaching what it tests.
    assert_true(changes_sent > published / 8 && changes_sent < published);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain_of_any_weights_is_received_as_it_was_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
