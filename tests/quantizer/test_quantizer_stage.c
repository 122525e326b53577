// The publishing stage: versions grow, bad weights are skipped, snapshots are never torn.
#include "tests/quantizer/stage_fixture.h"

static void
test_stage_destroy_without_taking(void **state)
{
    (void)state;
    quantizer_stage_destroy(NULL);
    quantizer_publication_release(NULL);
    quantizer_stage *stage = stage_begin(POLICY_INT8, 0);
    float *params = params_of(1);
    offer(stage, params, 1);
    params[0] += 1;
    (void)quantizer_stage_offer(stage, params, 2, 0);
    quantizer_stage_destroy(stage); // the leak checker says the rest
    free(params);
}

// Weights that are not finite are counted, never published, and cost no version.
static void
test_stage_skips_what_is_not_finite(void **state)
{
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    static const policy_precision all[] = {POLICY_INT8, POLICY_FP32};
    for (int p = 0; p < 2; p++) {
        quantizer_stage *stage = stage_begin(all[p], 0);
        float *params = params_of(2);
        for (uint32_t i = 0; i < 3; i++) {
            float kept = params[i * 7];
            params[i * 7] = bad[i];
            offer(stage, params, i + 1);
            params[i * 7] = kept;
        }
        offer(stage, params, 9);
        quantizer_publication *publication = stage_next(stage);
        assert_int_equal(publication->version, 1);
        assert_int_equal(publication->updates, 9);
        assert_int_equal(quantizer_stage_failures(stage), 3);
        quantizer_publication_release(publication);
        quantizer_stage_destroy(stage);
        free(params);
    }
}

static void
test_stage_versions_grow_from_the_last(void **state)
{
    (void)state;
    quantizer_stage *stage = stage_begin(POLICY_INT8, 41);
    float *params = params_of(3);
    for (uint64_t i = 1; i <= 50; i++) {
        params[i % param_count] += 0.5f;
        offer(stage, params, i);
        quantizer_publication *publication = stage_next(stage);
        policy_image *image = publication_decode(publication);
        assert_int_equal(publication->references, 1);
        assert_int_equal(publication->version, 41 + i);
        assert_int_equal(publication->updates, i);
        assert_int_equal(publication->env_steps, 10 * i);
        assert_int_equal(image->origin.version, 41 + i);
        assert_int_equal(image->origin.run_id, 77);
        assert_string_equal(image->origin.run_name, "a run");
        assert_true(isnan(image->origin.eval_return));
        policy_image_destroy(image);
        quantizer_publication_release(publication);
    }
    quantizer_stage_destroy(stage);
    free(params);
}

static void
test_stage_publishes_no_weights_twice(void **state)
{
    (void)state;
    quantizer_stage *stage = stage_begin(POLICY_INT8, 0);
    float *params = params_of(4);
    for (uint64_t i = 1; i <= 5; i++) {
        offer(stage, params, i);
    }
    params[0] = -params[0];
    offer(stage, params, 6);
    quantizer_publication *first = stage_next(stage), *second = stage_next(stage);
    assert_int_equal(first->updates, 1);
    assert_int_equal(second->updates, 6);
    assert_int_equal(second->version, 2);
    quantizer_publication_release(first);
    quantizer_publication_release(second);
    quantizer_stage_destroy(stage);
    free(params);
}

// The loop thread sleeps: what does not fit gets no version, so there is no gap either.
static void
test_stage_drops_when_nobody_takes(void **state)
{
    (void)state;
    quantizer_stage *stage = stage_begin(POLICY_INT8, 0);
    float *params = params_of(5);
    for (uint64_t i = 1; i <= 200; i++) {
        params[0] = (float)i;
        offer(stage, params, i);
    }
    uint64_t version = 0, updates = 0;
    quantizer_publication *publication;
    while ((publication = quantizer_stage_take(stage)) != NULL) {
        assert_int_equal(publication->version, ++version);
        assert_true(publication->updates > updates);
        updates = publication->updates;
        quantizer_publication_release(publication);
    }
    assert_in_range(version, 10, 20);
    quantizer_stage_destroy(stage);
    free(params);
}

// The caller changes its weights as soon as the offer returns; each publication is of one moment.
static void
test_stage_snapshots_are_never_torn(void **state)
{
    (void)state;
    quantizer_stage *stage = stage_begin(POLICY_FP32, 0);
    float *params = params_of(6);
    uint32_t published = 0;
    for (uint64_t i = 1; published < 200; i++) {
        for (size_t k = 0; k < param_count; k++) {
            params[k] = (float)i;
        }
        (void)quantizer_stage_offer(stage, params, i, i);
        quantizer_publication *publication = quantizer_stage_take(stage);
        if (publication == NULL) {
            continue;
        }
        policy_image *image = publication_decode(publication);
        for (uint32_t l = 0; l < spec.layer_count; l++) {
            for (uint32_t k = 0; k < spec.layers[l].inputs * spec.layers[l].outputs; k++) {
                assert_true(image->weights[l][k] == (float)publication->updates);
            }
        }
        policy_image_destroy(image);
        quantizer_publication_release(publication);
        published++;
    }
    quantizer_stage_destroy(stage);
    free(params);
}

static void
test_stage_of_fp32_sends_the_weights_as_they_are(void **state)
{
    (void)state;
    quantizer_stage *stage = stage_begin(POLICY_FP32, 0);
    float *params = params_of(7), obs[8] = {0};
    quantizer_stage_set_probe(stage, obs, 2);
    offer(stage, params, 1);
    quantizer_publication *publication = stage_next(stage);
    policy_image *image = publication_decode(publication);
    assert_int_equal(image->precision, POLICY_FP32);
    for (uint32_t l = 0; l < spec.layer_count; l++) {
        policy_offsets at = policy_spec_layer(&spec, l);
        size_t bytes = (size_t)spec.layers[l].inputs * spec.layers[l].outputs * sizeof(float);
        assert_memory_equal(image->weights[l], params + at.weight, bytes);
        assert_memory_equal(image->bias[l], params + at.bias, spec.layers[l].outputs * 4);
        assert_true(publication->error[l].relative_l2 == 0);
    }
    quantizer_measurement measurement;
    assert_false(quantizer_stage_take_measurement(stage, &measurement)); // nothing to compare with
    assert_null(publication->delta);
    policy_image_destroy(image);
    quantizer_publication_release(publication);
    quantizer_stage_destroy(stage);
    free(params);
}

static void
forward(const policy_image *image, const float *obs, uint32_t rows, float *y)
{
    policy_net *net = NULL;
    T_OK(policy_net_create(&net, image, POLICY_ISA_REF));
    policy_scratch *scratch = policy_scratch_create(&spec, rows);
    policy_forward(net, scratch, obs, spec.obs_count * sizeof(float), rows, y);
    policy_scratch_destroy(scratch);
    policy_net_destroy(net);
}

static void
test_stage_probe_measures_the_divergence(void **state)
{
    (void)state;
    enum { ROWS = 32, ACTIONS = 3 };
    quantizer_stage_options options = stage_options(POLICY_INT8);
    options.probe_period_s = 3600; // begins with the first version that there are rows for
    quantizer_stage *stage = stage_open(&options);
    float *params = params_of(8), obs[ROWS * 4], got[ROWS * ACTIONS], want[ROWS * ACTIONS];
    oct_rng rng;
    oct_rng_init(&rng, 8, 1);
    random_floats(obs, ROWS * 4, 2, &rng);
    quantizer_stage_set_probe(stage, obs, 0); // no rows: no probe
    offer(stage, params, 1);
    quantizer_publication *publication = stage_next(stage);
    quantizer_publication_release(publication);
    quantizer_stage_set_probe(stage, obs, 1); // displaced before it was read
    quantizer_stage_set_probe(stage, obs, ROWS);
    params[0] += 0.25f;
    offer(stage, params, 2);
    publication = stage_next(stage);
    quantizer_measurement measurement = stage_measurement(stage);
    policy_image *image = publication_decode(publication), *fp32 = NULL;
    T_OK(policy_image_create(&fp32, &spec, POLICY_FP32));
    T_OK(quantizer_convert(fp32, params, &QUANTIZER_METHOD_DEFAULT));
    forward(image, obs, ROWS, got);
    forward(fp32, obs, ROWS, want);
    policy_image_destroy(image);
    policy_image_destroy(fp32);
    double error = 0, square = 0, worst = 0;
    uint32_t agreed = 0;
    for (int i = 0; i < ROWS * ACTIONS; i++) {
        int r = i - i % ACTIONS; // outputs count as far as they differ between actions
        double w = (double)want[i] - ((double)want[r] + want[r + 1] + want[r + 2]) / ACTIONS;
        double d = (double)got[i] - ((double)got[r] + got[r + 1] + got[r + 2]) / ACTIONS - w;
        error += d * d;
        square += w * w;
        worst = fmax(worst, fabs(d));
    }
    for (int r = 0; r < ROWS; r++) {
        int32_t a, b;
        policy_act(&spec, got + r * ACTIONS, 1, &a);
        policy_act(&spec, want + r * ACTIONS, 1, &b);
        agreed += a == b;
    }
    assert_int_equal(measurement.version, 2);
    assert_int_equal(measurement.divergence.rows, ROWS);
    T_NEAR(measurement.divergence.relative_l2, sqrt(error / square), 1e-6, 1e-3);
    T_NEAR(measurement.divergence.max_abs, worst, 1e-6, 1e-3);
    T_NEAR(measurement.divergence.agreement, (double)agreed / ROWS, 0, 0);
    assert_true(measurement.divergence.relative_l2 > 0 && publication->error[0].relative_l2 > 0);
    quantizer_publication_release(publication);
    quantizer_stage_destroy(stage);
    free(params);
}

static void
test_publication_is_counted(void **state)
{
    (void)state;
    quantizer_stage *stage = stage_begin(POLICY_INT8, 0);
    float *params = params_of(9);
    offer(stage, params, 1);
    quantizer_publication *publication = stage_next(stage);
    assert_ptr_equal(quantizer_publication_retain(publication), publication);
    assert_int_equal(publication->references, 2);
    quantizer_publication_release(publication);
    quantizer_stage_destroy(stage); // a taken publication outlives the stage
    policy_image_destroy(publication_decode(publication));
    quantizer_publication_release(publication);
    free(params);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stage_skips_what_is_not_finite),
        cmocka_unit_test(test_stage_destroy_without_taking),
        cmocka_unit_test(test_stage_publishes_no_weights_twice),
        cmocka_unit_test(test_stage_drops_when_nobody_takes),
        cmocka_unit_test(test_stage_versions_grow_from_the_last),
        cmocka_unit_test(test_stage_snapshots_are_never_torn),
        cmocka_unit_test(test_stage_of_fp32_sends_the_weights_as_they_are),
        cmocka_unit_test(test_stage_probe_measures_the_divergence),
        cmocka_unit_test(test_publication_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
