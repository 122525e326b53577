// A saved DQN continues with the same bits; damaged or foreign states are refused.
#include <stdlib.h>

#include "tests/algos/algo_fixture.h"
#include "tests/support/oct_test.h"

enum { OBS = 3, ACTIONS = 2, B = 8 };

typedef struct trial {
    config_experiment config;
    policy_spec spec;
    algo *a;
    oct_rng rng;
    uint8_t *bytes;
    size_t length;
} trial;

static void
train(algo *a, oct_rng *rng, int updates)
{
    for (int i = 0; i < updates; i++) {
        algo_batch batch = fixture_batch(rng, B, OBS, ACTIONS);
        float result[ALGO_NUMBERS_MAX];
        T_OK(algo_update(a, &batch, 1e-3f, NULL, result));
        fixture_batch_free(&batch);
    }
}

// 17 updates into a run that copies its target every 5th.
static trial
trial_make(void)
{
    trial t = {.config = fixture_config()};
    t.config.network.hidden = (config_ints){.count = 1, .value = {5}};
    t.config.network.first_layer_norm = true;
    t.config.algo.target_period = 5;
    t.a = fixture_algo(&t.spec, &t.config, OBS, ACTIONS, 1);
    oct_rng_init(&t.rng, 3, 0);
    train(t.a, &t.rng, 17);
    t.bytes = fixture_save(t.a, &t.length);
    return t;
}

static void
trial_free(trial *t)
{
    algo_destroy(t->a);
    free(t->bytes);
}

static void
test_load_refuses_every_truncation(void **state)
{
    (void)state;
    trial t = trial_make();
    algo *other = fixture_algo(&t.spec, &t.config, OBS, ACTIONS, 2);
    for (size_t length = 0; length < t.length; length++) {
        fixture_load_refused(other, t.bytes, length);
    }
    algo_destroy(other);
    trial_free(&t);
}

static void
test_load_refuses_every_flipped_bit(void **state)
{
    (void)state;
    trial t = trial_make();
    algo *other = fixture_algo(&t.spec, &t.config, OBS, ACTIONS, 2);
    for (size_t bit = 0; bit < 8 * t.length; bit++) {
        t.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        fixture_load_refused(other, t.bytes, t.length);
        t.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    algo_destroy(other);
    trial_free(&t);
}

// NaN under a checksum that holds: each float of weights, moments and target in turn.
static void
test_load_refuses_nan_under_a_good_checksum(void **state)
{
    (void)state;
    trial t = trial_make();
    algo *other = fixture_algo(&t.spec, &t.config, OBS, ACTIONS, 2);
    const float nan = NAN;
    size_t floats = policy_spec_params(&t.spec);
    for (fixture_part part = 0; part < FIXTURE_PARTS; part++) {
        for (size_t i = 0; i < floats; i++) {
            uint8_t *at = t.bytes + fixture_part_at(&t.spec, part) + i * sizeof(float);
            uint8_t kept[sizeof(float)];
            memcpy(kept, at, sizeof(kept));
            memcpy(at, &nan, sizeof(nan));
            fixture_seal(t.bytes, t.length);
            fixture_load_refused(other, t.bytes, t.length);
            memcpy(at, kept, sizeof(kept));
        }
    }
    assert_int_equal(fixture_part_at(&t.spec, FIXTURE_TARGET) + floats * sizeof(float) +
                         FIXTURE_CHECKSUM_BYTES,
                     t.length);
    fixture_load_changed(other, t.bytes, t.length);
    algo_destroy(other);
    trial_free(&t);
}

static void
test_load_refuses_a_longer_body_under_a_good_checksum(void **state)
{
    (void)state;
    trial t = trial_make();
    algo *other = fixture_algo(&t.spec, &t.config, OBS, ACTIONS, 2);
    uint8_t *longer = oct_alloc(t.length + 4);
    memcpy(longer, t.bytes, t.length);
    uint64_t body = t.length - FIXTURE_HEADER_BYTES - FIXTURE_CHECKSUM_BYTES + 4;
    memcpy(longer + FIXTURE_HEADER_BYTES - sizeof(body), &body, sizeof(body));
    uint32_t crc = oct_crc32c(0, longer, t.length);
    memcpy(longer + t.length, &crc, sizeof(crc));
    fixture_load_refused(other, longer, t.length + 4);
    free(longer);
    algo_destroy(other);
    trial_free(&t);
}

static void
test_load_refuses_another_network(void **state)
{
    (void)state;
    trial t = trial_make();
    policy_spec spec;
    config_experiment config = t.config;
    config.network.hidden.value[0] = 6;
    algo *wider = fixture_algo(&spec, &config, OBS, ACTIONS, 2);
    algo *deeper = fixture_algo(&spec, &t.config, OBS, ACTIONS + 1, 2);
    fixture_load_refused(wider, t.bytes, t.length);
    fixture_load_refused(deeper, t.bytes, t.length);
    algo_destroy(wider);
    algo_destroy(deeper);
    trial_free(&t);
}

// The name is padded with zeros: what is behind it is part of it.
static void
test_load_refuses_another_name_under_a_good_checksum(void **state)
{
    (void)state;
    trial t = trial_make();
    enum { NAME_AT = 8, NAME_END = 24 };
    for (size_t i = NAME_AT; i < NAME_END; i++) {
        t.bytes[i] ^= 1;
        fixture_seal(t.bytes, t.length);
        fixture_load_refused(t.a, t.bytes, t.length);
        t.bytes[i] ^= 1;
    }
    trial_free(&t);
}

static void
test_load_takes_only_its_own_bytes(void **state)
{
    (void)state;
    trial t = trial_make();
    uint8_t *longer = oct_alloc(t.length + 9);
    memcpy(longer, t.bytes, t.length);
    oct_reader reader = {.at = longer, .left = t.length + 9};
    T_OK(algo_load(t.a, &reader));
    assert_int_equal(reader.left, 9);
    free(longer);
    trial_free(&t);
}

static void
test_save_into_too_small_a_buffer_fails_the_writer(void **state)
{
    (void)state;
    trial t = trial_make();
    uint8_t small[100];
    oct_writer writer = {.base = small, .capacity = sizeof(small)};
    algo_save(t.a, &writer);
    assert_true(writer.failed);
    trial_free(&t);
}

static void
test_training_goes_on_with_the_same_bits_after_load(void **state)
{
    (void)state;
    trial t = trial_make();
    algo *other = fixture_algo(&t.spec, &t.config, OBS, ACTIONS, 99);
    oct_rng rng;
    oct_rng_init(&rng, 4, 0);
    train(other, &rng, 3);
    oct_reader reader = {.at = t.bytes, .left = t.length};
    T_OK(algo_load(other, &reader));
    assert_int_equal(algo_updates(other), 17);
    oct_rng here = t.rng, there = t.rng;
    for (int i = 0; i < 24; i++) {
        train(t.a, &here, 1);
        train(other, &there, 1);
        fixture_same_state(t.a, other);
    }
    algo_destroy(other);
    trial_free(&t);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load_refuses_every_truncation),
        cmocka_unit_test(test_load_refuses_every_flipped_bit),
        cmocka_unit_test(test_load_refuses_nan_under_a_good_checksum),
        cmocka_unit_test(test_load_refuses_a_longer_body_under_a_good_checksum),
        cmocka_unit_test(test_load_refuses_another_network),
        cmocka_unit_test(test_load_refuses_another_name_under_a_good_checksum),
        cmocka_unit_test(test_load_takes_only_its_own_bytes),
        cmocka_unit_test(test_save_into_too_small_a_buffer_fails_the_writer),
        cmocka_unit_test(test_training_goes_on_with_the_same_bits_after_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
