// The moving average of parameters against one in fp64, and its part of a learner's state, whole
// and damaged.
#include "learner/learner_average.h"

#include <math.h>
#include <stdlib.h>

#include "common/oct_rng.h"
#include "config/config.h"
#include "tests/support/oct_test.h"

enum { COUNT = 7, UPDATES = 300 };
#define DECAY 0.9

static oct_rng rng;

static void
draw(float params[COUNT])
{
    for (int i = 0; i < COUNT; i++) {
        params[i] = (float)i + oct_rng_normal(&rng);
    }
}

static learner_average *
average_of(uint32_t updates, double decay)
{
    float params[COUNT];
    learner_average *average = learner_average_create(COUNT, decay);
    oct_rng_init(&rng, 3, 0);
    for (uint32_t u = 0; u < updates; u++) {
        draw(params);
        learner_average_add(average, params);
    }
    return average;
}

static oct_writer
saved(const learner_average *average)
{
    oct_writer measure = {0};
    learner_average_save(average, &measure);
    oct_writer writer = {.base = oct_alloc(measure.used + 1), .capacity = measure.used};
    learner_average_save(average, &writer);
    assert_false(writer.failed);
    return writer;
}

static void
test_it_is_the_exponential_average(void **state)
{
    (void)state;
    for (double decay = 0.5; decay < 0.9999; decay = 1 - (1 - decay) / 10) {
        double want[COUNT];
        float params[COUNT];
        oct_rng_init(&rng, 3, 0);
        for (int u = 0; u < UPDATES; u++) {
            draw(params);
            for (int i = 0; i < COUNT; i++) {
                double now = (double)params[i];
                want[i] = u == 0 ? now : decay * want[i] + (1 - decay) * now;
            }
        }
        learner_average *average = average_of(UPDATES, decay);
        for (int i = 0; i < COUNT; i++) {
            T_NEAR((double)learner_average_params(average)[i], want[i], 1e-5, 1e-5);
        }
        learner_average_destroy(average);
    }
}

// Steps that fp32 rounds away leave the average behind the parameters for ever: with the slowest
// decay that an experiment may name, by less than a twentieth of a change of 2 %.
static void
test_the_slowest_one_arrives(void **state)
{
    (void)state;
    const double slowest = 0.9999;
    char message[256] = "";
    config_experiment config;
    config_default(&config);
    T_OK(config_set(&config, "learner.ema_decay=0.9999", message, sizeof(message)));
    T_ERR(config_set(&config, "learner.ema_decay=0.99991", message, sizeof(message)), OCT_EINVAL);
    const float before = 0.1f, after = 0.102f;
    learner_average *average = learner_average_create(1, slowest);
    learner_average_add(average, &before);
    for (int u = 0; u < 100000; u++) {
        learner_average_add(average, &after);
    }
    assert_true(learner_average_params(average)[0] > before + 0.95f * (after - before));
    learner_average_destroy(average);
}

static void
test_nothing_was_added(void **state)
{
    (void)state;
    learner_average_destroy(NULL);
    learner_average *average = average_of(0, DECAY);
    assert_null(learner_average_params(average));
    oct_writer writer = saved(average);
    assert_int_equal(writer.used, 0);
    free(writer.base);
    learner_average_destroy(average);
}

static void
test_it_goes_on_as_it_was(void **state)
{
    (void)state;
    learner_average *whole = average_of(UPDATES, DECAY), *half = average_of(UPDATES / 2, DECAY);
    oct_writer writer = saved(half);
    learner_average *again = learner_average_create(COUNT, DECAY);
    oct_reader reader = {.at = writer.base, .left = writer.used};
    T_OK(learner_average_load(again, &reader));
    assert_int_equal(reader.left, 0);
    for (int u = UPDATES / 2; u < UPDATES; u++) { // rng is where half left it
        float params[COUNT];
        draw(params);
        learner_average_add(again, params);
    }
    assert_memory_equal(learner_average_params(again), learner_average_params(whole),
                        COUNT * sizeof(float));
    free(writer.base);
    learner_average_destroy(again);
    learner_average_destroy(half);
    learner_average_destroy(whole);
}

static void
test_a_state_without_one_is_read_no_further(void **state)
{
    (void)state;
    learner_average *average = average_of(3, DECAY);
    float before[COUNT];
    memcpy(before, learner_average_params(average), sizeof(before));
    static const uint8_t other[8] = {4, 0, 0, 0, 1, 2, 3, 4};
    for (size_t length = 0; length <= sizeof(other); length++) {
        oct_reader reader = {.at = other, .left = length};
        T_OK(learner_average_load(average, &reader));
        assert_int_equal(reader.left, length);
        assert_false(reader.failed);
    }
    assert_memory_equal(learner_average_params(average), before, sizeof(before));
    learner_average_destroy(average);
}

static void
test_who_has_none_passes_it_over(void **state)
{
    (void)state;
    learner_average *average = average_of(3, DECAY);
    oct_writer writer = saved(average);
    oct_reader reader = {.at = writer.base, .left = writer.used};
    T_OK(learner_average_load(NULL, &reader));
    assert_int_equal(reader.left, 0);
    free(writer.base);
    learner_average_destroy(average);
}

static void
test_a_damaged_one_is_refused(void **state)
{
    (void)state;
    learner_average *average = average_of(3, DECAY), *other = average_of(5, DECAY);
    float before[COUNT];
    memcpy(before, learner_average_params(other), sizeof(before));
    oct_writer writer = saved(average);
    for (size_t length = 4; length < writer.used; length++) {
        oct_reader reader = {.at = writer.base, .left = length};
        assert_int_equal(learner_average_load(other, &reader), OCT_EPROTO);
    }
    learner_average *larger = learner_average_create(COUNT + 1, DECAY);
    oct_reader whole = {.at = writer.base, .left = writer.used};
    assert_int_equal(learner_average_load(larger, &whole), OCT_EPROTO);
    assert_null(learner_average_params(larger));
    static const uint8_t not_finite[] = {0, 0, 0xc0, 0x7f};
    memcpy(writer.base + writer.used - sizeof(not_finite), not_finite, sizeof(not_finite));
    oct_reader last = {.at = writer.base, .left = writer.used};
    assert_int_equal(learner_average_load(other, &last), OCT_EPROTO);
    assert_memory_equal(learner_average_params(other), before, sizeof(before));
    free(writer.base);
    learner_average_destroy(larger);
    learner_average_destroy(other);
    learner_average_destroy(average);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_the_exponential_average),
        cmocka_unit_test(test_the_slowest_one_arrives),
        cmocka_unit_test(test_nothing_was_added),
        cmocka_unit_test(test_it_goes_on_as_it_was),
        cmocka_unit_test(test_a_state_without_one_is_read_no_further),
        cmocka_unit_test(test_who_has_none_passes_it_over),
        cmocka_unit_test(test_a_damaged_one_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
