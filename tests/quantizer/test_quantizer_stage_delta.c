// The chain of changes that the publishing stage sends, read by the code that actors use.
#include "common/oct_reason.h"
#include "policy/codec/codec_delta.h"
#include "policy/codec/codec_receiver.h"
#include "tests/quantizer/stage_fixture.h"

// Moves every weight a little, as an optimiser does.
static void
params_step(float *params, float amplitude, oct_rng *rng)
{
    for (size_t i = 0; i < param_count; i++) {
        params[i] += (2 * oct_rng_float(rng) - 1) * amplitude;
    }
}

// The receiver's policy, written out, has the bytes of the complete publication.
static void
check_equal(const policy_image *held, const quantizer_publication *publication)
{
    policy_image complete = *held; // borrows the tensors
    complete.origin.base_version = 0;
    assert_int_equal(policy_encoded_size(&complete), publication->length);
    uint8_t *bytes = oct_alloc(publication->length);
    policy_encode(&complete, bytes);
    assert_memory_equal(bytes, publication->bytes, publication->length);
    free(bytes);
}

static void
receive(codec_receiver *receiver, const quantizer_publication *publication)
{
    oct_reason why = {""};
    const policy_image *held = NULL;
    bool is_delta = publication->delta != NULL;
    const uint8_t *bytes = is_delta ? publication->delta : publication->bytes;
    size_t length = is_delta ? publication->delta_length : publication->length;
    T_OK(codec_receiver_take(receiver, bytes, length, &held, &why));
    check_equal(held, publication);
}

// steps publications of slowly moving weights; how many of them were deltas.
static uint32_t
chain_run(const quantizer_stage_options *options, uint32_t steps, float amplitude)
{
    quantizer_stage *stage = stage_open(options);
    codec_receiver *receiver = codec_receiver_create();
    float *params = params_of(11);
    oct_rng rng;
    oct_rng_init(&rng, 12, 0);
    uint32_t deltas = 0;
    for (uint32_t i = 1; i <= steps; i++) {
        offer(stage, params, i);
        quantizer_publication *publication = stage_next(stage);
        assert_int_equal(publication->version, options->last_version + i);
        if (i == 1) {
            assert_null(publication->delta);
            assert_int_equal(publication->changes.codes, publication->changes.weights);
        }
        if (publication->delta != NULL) {
            assert_int_equal(publication->base_version, publication->version - 1);
            assert_true(publication->delta_length < publication->length);
            deltas++;
        }
        receive(receiver, publication);
        assert_memory_equal(publication->params, params, param_count * sizeof(float));
        quantizer_publication_release(publication);
        params_step(params, amplitude, &rng);
    }
    codec_receiver_destroy(receiver);
    quantizer_stage_destroy(stage);
    free(params);
    return deltas;
}

static void
test_chain_of_deltas_is_the_complete_policy(void **state)
{
    (void)state;
    static const policy_precision precisions[] = {POLICY_INT8, POLICY_INT4};
    static const float bands[] = {0.5f, 1.0f, 4.0f};
    for (size_t p = 0; p < OCT_COUNTOF(precisions); p++) {
        for (size_t b = 0; b < OCT_COUNTOF(bands); b++) {
            quantizer_method method = QUANTIZER_METHOD_DEFAULT;
            method.dead_band = bands[b];
            quantizer_stage_options options = stage_options(precisions[p]);
            options.method = &method;
            options.last_version = 100;
            assert_true(chain_run(&options, 60, 0.01f) >= 55); // scales drift on the way
        }
    }
}

// A scaling is frozen over a chain of changes; a new one begins with a complete policy, and the
// next change is of that. Receivers hold every version bit for bit.
static void
test_a_new_scaling_begins_with_a_key_frame(void **state)
{
    (void)state;
    static const policy_precision precisions[] = {POLICY_INT8, POLICY_INT4};
    static const float mean[2][4] = {{1, -2, 0, 300}, {1.5f, -2, 0, 310}};
    static const float deviation[2][4] = {{1, 4, 0.125f, 64}, {1, 8, 0.125f, 64}};
    for (size_t p = 0; p < OCT_COUNTOF(precisions); p++) {
        quantizer_stage_options options = stage_options(precisions[p]);
        spec.normalise = true;
        quantizer_stage *stage = stage_open(&options);
        codec_receiver *receiver = codec_receiver_create();
        float *params = params_of(21);
        oct_rng rng;
        oct_rng_init(&rng, 22, 0);
        for (uint64_t i = 0; i < 12; i++) { // four without, with the first, with the second
            quantizer_scaling scaling = {mean[i / 8], deviation[i / 8]};
            if (i >= 4) {
                quantizer_stage_set_scaling(stage, &scaling);
            }
            offer(stage, params, i + 1);
            quantizer_publication *publication = stage_next(stage);
            assert_int_equal(publication->delta == NULL, i % 4 == 0);
            assert_memory_equal(publication->params, params, param_count * sizeof(float));
            receive(receiver, publication);
            policy_image *image = publication_decode(publication);
            for (int k = 0; k < 4; k++) {
                assert_true(image->obs_mean[k] == (i < 4 ? 0.0f : mean[i / 8][k]));
                assert_true(image->obs_inverse_std[k] == (i < 4 ? 1 : 1 / deviation[i / 8][k]));
            }
            policy_image_destroy(image);
            quantizer_publication_release(publication);
            params_step(params, 0.01f, &rng);
        }
        codec_receiver_destroy(receiver);
        quantizer_stage_destroy(stage);
        free(params);
    }
}

// Where everything changes the complete policy is sent, and the chain goes on from there.
static void
test_chain_survives_weights_that_jump(void **state)
{
    (void)state;
    quantizer_stage_options options = stage_options(POLICY_INT8);
    (void)chain_run(&options, 20, 3.0f);
}

static void
test_other_precisions_and_delta_false_are_complete(void **state)
{
    (void)state;
    static const policy_precision all[] = {POLICY_FP32, POLICY_BF16, POLICY_FP16, POLICY_INT8};
    for (size_t p = 0; p < OCT_COUNTOF(all); p++) {
        quantizer_stage_options options = stage_options(all[p]);
        options.delta = all[p] != POLICY_INT8;
        assert_int_equal(chain_run(&options, 5, 0.01f), 0);
    }
}

static void
test_key_frames_come_in_their_period(void **state)
{
    (void)state;
    quantizer_stage_options options = stage_options(POLICY_INT8);
    options.key_frame_period = 4;
    quantizer_stage *stage = stage_open(&options);
    float *params = params_of(13);
    oct_rng rng;
    oct_rng_init(&rng, 14, 0);
    for (uint64_t i = 1; i <= 13; i++) {
        offer(stage, params, i);
        quantizer_publication *publication = stage_next(stage);
        assert_int_equal(publication->delta == NULL, i % 4 == 1);
        quantizer_publication_release(publication);
        params_step(params, 0.01f, &rng);
    }
    quantizer_stage_destroy(stage);
    free(params);
}

// Weights that move by less than the dead band change no code: nothing is published, and no
// version is used up. The first move beyond it goes out.
static void
test_nothing_is_published_when_no_code_changes(void **state)
{
    (void)state;
    quantizer_method method = QUANTIZER_METHOD_DEFAULT;
    method.dead_band = 2.0f;
    quantizer_stage_options options = stage_options(POLICY_INT8);
    options.method = &method;
    quantizer_stage *stage = stage_open(&options);
    float *params = params_of(15);
    offer(stage, params, 1);
    quantizer_publication *first = stage_next(stage);
    uint32_t inputs = spec.layers[0].inputs;
    params[1] += 1e-4f; // the scale is near 1 / 127
    offer(stage, params, 2);
    params[1] -= 2e-4f;
    offer(stage, params, 3);
    params[1] = params[1] > 0 ? params[1] - 0.1f : params[1] + 0.1f; // many steps
    offer(stage, params, 4);
    quantizer_publication *second = stage_next(stage);
    assert_int_equal(second->version, 2);
    assert_int_equal(second->updates, 4);
    assert_int_equal(second->changes.codes, 1);
    assert_int_equal(quantizer_stage_unchanged(stage), 2);
    params[spec.layers[0].outputs * inputs] += 1e-6f; // a bias is sent as it is
    offer(stage, params, 5);
    quantizer_publication *third = stage_next(stage);
    assert_int_equal(third->changes.codes, 0);
    quantizer_publication_release(first);
    quantizer_publication_release(second);
    quantizer_publication_release(third);
    quantizer_stage_destroy(stage);
    free(params);
}

// Who gets only what is for audience 1 can use each change that is sent there.
static void
test_changes_are_of_what_the_same_audience_got(void **state)
{
    (void)state;
    static const uint32_t audience[] = {1, 1, 2, 1, 1, 3, 2, 1};
    static const bool is_change[] = {false, true, false, false, true, false, false, false};
    quantizer_stage *stage = stage_begin(POLICY_INT8, 0);
    codec_receiver *receiver = codec_receiver_create();
    float *params = params_of(18);
    oct_rng rng;
    oct_rng_init(&rng, 19, 0);
    for (uint32_t i = 0; i < OCT_COUNTOF(audience); i++) {
        const quantizer_offer offered = {
            .params = params, .updates = i + 1, .audience = audience[i]};
        while (!quantizer_stage_offer_to(stage, &offered)) {
            (void)sched_yield();
        }
        quantizer_publication *publication = stage_next(stage);
        assert_int_equal(publication->audience, audience[i]);
        assert_int_equal(publication->delta != NULL, is_change[i]);
        if (audience[i] == 1) {
            receive(receiver, publication);
        }
        quantizer_publication_release(publication);
        params_step(params, 1e-3f, &rng);
    }
    codec_receiver_destroy(receiver);
    quantizer_stage_destroy(stage);
    free(params);
}

// A publication of these takes far longer to pay for than the test takes.
static void
check_budget(const quantizer_stage_options *options)
{
    quantizer_stage *stage = stage_open(options);
    float *params = params_of(16);
    assert_true(quantizer_stage_offer(stage, params, 1, 1));
    quantizer_publication *publication = stage_next(stage);
    params[0] += 1;
    assert_false(quantizer_stage_offer(stage, params, 2, 2));
    assert_false(quantizer_stage_offer(stage, params, 3, 3));
    assert_null(quantizer_stage_take(stage));
    quantizer_publication_release(publication);
    quantizer_stage_destroy(stage);
    free(params);
}

static void
test_offers_are_declined_until_they_are_paid_for(void **state)
{
    (void)state;
    quantizer_stage_options options = stage_options(POLICY_INT8);
    options.core_share = 1e-7;
    check_budget(&options);
    options.core_share = 0;
    options.bytes_per_s = 1;
    check_budget(&options);
}

// Nobody listens, nothing is sent: the link's budget stays whole.
static void
test_link_is_free_without_listeners(void **state)
{
    (void)state;
    quantizer_stage_options options = stage_options(POLICY_INT8);
    options.bytes_per_s = 1;
    quantizer_stage *stage = stage_open(&options);
    float *params = params_of(17);
    quantizer_stage_set_listeners(stage, 0);
    for (uint64_t i = 1; i <= 3; i++) {
        params[0] += 0.5f;
        offer(stage, params, i);
        quantizer_publication_release(stage_next(stage));
    }
    assert_true(quantizer_stage_core_s(stage) > 0);
    quantizer_stage_destroy(stage);
    free(params);
}

// Kept publications keep their bytes and weights while others come and go.
static void
test_publications_that_are_kept_stay_whole(void **state)
{
    (void)state;
    enum { KEPT = 12 };
    quantizer_stage_options options = stage_options(POLICY_INT8);
    quantizer_stage *stage = stage_open(&options);
    float *params = params_of(18), *want[KEPT];
    quantizer_publication *kept[KEPT];
    oct_rng rng;
    oct_rng_init(&rng, 19, 0);
    uint64_t updates = 0;
    for (int i = 0; i < KEPT; i++) {
        for (int other = 0; other < 3; other++) {
            params_step(params, 0.05f, &rng);
            offer(stage, params, ++updates);
            quantizer_publication_release(stage_next(stage));
        }
        params_step(params, 0.05f, &rng);
        offer(stage, params, ++updates);
        kept[i] = stage_next(stage);
        want[i] = oct_alloc(param_count * sizeof(float));
        memcpy(want[i], params, param_count * sizeof(float));
    }
    for (int i = 0; i < KEPT; i++) {
        policy_image *image = publication_decode(kept[i]);
        assert_int_equal(image->origin.version, 4 * (i + 1));
        assert_memory_equal(kept[i]->params, want[i], param_count * sizeof(float));
        policy_image_destroy(image);
        quantizer_publication_release(kept[i]);
        free(want[i]);
    }
    quantizer_stage_destroy(stage);
    free(params);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_precisions_and_delta_false_are_complete),
        cmocka_unit_test(test_nothing_is_published_when_no_code_changes),
        cmocka_unit_test(test_offers_are_declined_until_they_are_paid_for),
        cmocka_unit_test(test_link_is_free_without_listeners),
        cmocka_unit_test(test_key_frames_come_in_their_period),
        cmocka_unit_test(test_chain_survives_weights_that_jump),
        cmocka_unit_test(test_a_new_scaling_begins_with_a_key_frame),
        cmocka_unit_test(test_publications_that_are_kept_stay_whole),
        cmocka_unit_test(test_chain_of_deltas_is_the_complete_policy),
        cmocka_unit_test(test_changes_are_of_what_the_same_audience_got),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
