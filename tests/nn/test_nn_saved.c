// Saved nets and trainers come back unchanged; bytes that are cut, foreign or not finite are
// refused.
#include <stdlib.h>

#include "nn/nn_saved.h"
#include "tests/nn/nn_fixture.h"
#include "tests/support/oct_test.h"

static const nn_adam adam = {.beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f};

typedef struct saved {
    policy_spec spec;
    nn_trainer trainer;
    uint8_t *bytes;
    size_t length;
} saved;

static saved
saved_make(void)
{
    saved s = {
        .spec = fixture_spec(3, (uint32_t[]){7}, 1, POLICY_RELU, FIXTURE_FIRST_NORM, 2),
    };
    oct_rng rng;
    oct_rng_init(&rng, 1, 0);
    nn_trainer_init(&s.trainer, fixture_context(), &s.spec, 1, &adam);
    nn_net_randomise(&s.trainer.tape.net, &rng);
    for (size_t i = 0; i < s.trainer.tape.net.param_count; i++) {
        s.trainer.m[i] = oct_rng_float(&rng) - 0.5f;
        s.trainer.v[i] = oct_rng_float(&rng);
    }
    s.trainer.steps = 12;
    oct_writer measure = {0};
    nn_trainer_save(&s.trainer, &measure);
    s.length = measure.used;
    s.bytes = oct_alloc(s.length);
    oct_writer writer = {.base = s.bytes, .capacity = s.length};
    nn_trainer_save(&s.trainer, &writer);
    assert_false(writer.failed);
    assert_int_equal(writer.used, s.length);
    return s;
}

static void
saved_free(saved *s)
{
    nn_trainer_fini(&s->trainer);
    free(s->bytes);
}

// Reads from a heap copy of exactly length bytes, so that a sanitizer sees any overrun.
static oct_err
read_copy(const saved *s, size_t length)
{
    uint8_t *copy = malloc(OCT_MAX(length, (size_t)1));
    assert_non_null(copy);
    memcpy(copy, s->bytes, length);
    oct_reader reader = {.at = copy, .left = length};
    nn_trainer_view view = {.steps = 77};
    oct_err err = nn_trainer_read(&view, &s->trainer, &reader);
    assert_true(err == OCT_OK || view.steps == 77);
    free(copy);
    return err;
}

static void
test_read_refuses_every_truncation(void **state)
{
    (void)state;
    saved s = saved_make();
    for (size_t length = 0; length < s.length; length++) {
        T_ERR(read_copy(&s, length), OCT_EPROTO);
    }
    T_OK(read_copy(&s, s.length));
    saved_free(&s);
}

static void
test_read_refuses_another_shape(void **state)
{
    (void)state;
    saved s = saved_make();
    const policy_spec others[] = {
        fixture_spec(4, (uint32_t[]){7}, 1, POLICY_RELU, FIXTURE_FIRST_NORM, 2),
        fixture_spec(3, (uint32_t[]){8}, 1, POLICY_RELU, FIXTURE_FIRST_NORM, 2),
        fixture_spec(3, (uint32_t[]){7}, 1, POLICY_RELU, FIXTURE_NO_NORM, 2),
        fixture_spec(3, (uint32_t[]){7}, 1, POLICY_ELU, FIXTURE_NO_NORM, 2),
        fixture_spec(3, (uint32_t[]){7, 7}, 2, POLICY_RELU, FIXTURE_FIRST_NORM, 2),
        fixture_spec(3, NULL, 0, POLICY_RELU, FIXTURE_NO_NORM, 2),
    };
    for (size_t i = 0; i < OCT_COUNTOF(others); i++) {
        nn_trainer other;
        nn_trainer_view view;
        oct_reader reader = {.at = s.bytes, .left = s.length};
        nn_trainer_init(&other, fixture_context(), &others[i], 1, &adam);
        T_ERR(nn_trainer_read(&view, &other, &reader), OCT_EPROTO);
        nn_trainer_fini(&other);
    }
    saved_free(&s);
}

// The same layers in a chain and in a block are other networks.
static void
test_read_refuses_a_chain_where_there_is_a_block(void **state)
{
    (void)state;
    policy_spec spec = fixture_residual_spec(3, 7, 1, POLICY_RELU, 2);
    nn_net chain, block;
    nn_net_view view;
    nn_net_init(&chain, fixture_context(), &spec, 1);
    nn_net_init_residual(&block, fixture_context(), &spec, 1);
    nn_net *const nets[] = {&chain, &block};
    for (size_t i = 0; i < 4; i++) {
        uint8_t bytes[1024];
        oct_writer writer = {.base = bytes, .capacity = sizeof(bytes)};
        nn_net_save(nets[i / 2], &writer);
        assert_false(writer.failed);
        oct_reader reader = {.at = bytes, .left = writer.used};
        T_ERR(nn_net_read(&view, nets[i % 2], &reader), i / 2 == i % 2 ? OCT_OK : OCT_EPROTO);
    }
    nn_net_fini(&chain);
    nn_net_fini(&block);
}

static size_t
net_bytes(const policy_spec *spec, uint8_t *bytes, size_t capacity)
{
    nn_net net;
    nn_net_init(&net, fixture_context(), spec, 1);
    oct_writer writer = {.base = bytes, .capacity = capacity};
    nn_net_save(&net, &writer);
    assert_false(writer.failed);
    nn_net_fini(&net);
    return writer.used;
}

// Nets of the same sizes that differ in a kernel, a stride, a padding or a kind are other networks.
static void
test_read_refuses_another_kernel(void **state)
{
    (void)state;
    static const char *const words[] = {
        "conv 2 2x2/2+1",
        "conv 2 2x2/2x1+1",
        "conv 2 2x2/2",
        "conv 2 4x1/2+1x0",
        "conv 2 1x4/2+0x1",
        "conv 2 2x2",
        "conv 2 3x3",
        "conv 2 2x2, pool 2x2",
        "conv 2 2x2, mean 2x2",
        "conv 2 2x2, pool 2x2+1",
        "conv 2 2x2, pool 2x2/3",
    };
    enum { COUNT = OCT_COUNTOF(words) };
    policy_spec specs[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        specs[i] = fixture_words_spec((uint32_t[]){5, 5, 1}, 3, words[i], POLICY_RELU, 2);
    }
    for (size_t i = 0; i < (size_t)COUNT * COUNT; i++) {
        static uint8_t bytes[4096];
        const size_t length = net_bytes(&specs[i / COUNT], bytes, sizeof(bytes));
        nn_net net;
        nn_net_view view;
        nn_net_init(&net, fixture_context(), &specs[i % COUNT], 1);
        oct_reader reader = {.at = bytes, .left = length};
        T_ERR(nn_net_read(&view, &net, &reader), i / COUNT == i % COUNT ? OCT_OK : OCT_EPROTO);
        nn_net_fini(&net);
    }
}

// Checkpoints of convolutions of stride 1 without padding, and of dense layers, have these bytes
// since the first version: flags 2 and 1, then height, width, channels, filters and kernel.
static void
test_shapes_of_old_checkpoints_keep_their_bytes(void **state)
{
    (void)state;
    static const uint8_t want[] = {
        3,  0, 0, 0, // layers
        40, 0, 0, 0, 18, 0, 0, 0, POLICY_RELU,
        2, // convolution
        5,  0, 0, 0, 4,  0, 0, 0, 2,
        0,  0, 0, 3, 0,  0, 0, 3, 0,
        0,  0, //
        18, 0, 0, 0, 6,  0, 0, 0, POLICY_TANH,
        1, // norm
        6,  0, 0, 0, 2,  0, 0, 0, POLICY_LINEAR,
        0,
    };
    policy_spec spec = fixture_words_spec((uint32_t[]){5, 4, 2}, 3, "conv 3 3x3, dense 6 norm tanh",
                                          POLICY_RELU, 2);
    static uint8_t bytes[4096];
    const size_t length = net_bytes(&spec, bytes, sizeof(bytes));
    assert_int_equal(length, sizeof(want) + policy_spec_params(&spec) * sizeof(float));
    assert_memory_equal(bytes, want, sizeof(want));
}

static void
test_read_refuses_what_is_not_finite(void **state)
{
    (void)state;
    const float bad[] = {NAN, INFINITY, -INFINITY};
    saved s = saved_make();
    size_t count = s.trainer.tape.net.param_count;
    float *arrays[3] = {s.trainer.tape.net.params, s.trainer.m, s.trainer.v};
    for (size_t a = 0; a < OCT_COUNTOF(arrays); a++) {
        for (size_t b = 0; b < OCT_COUNTOF(bad); b++) {
            size_t at = (count - 1) * b / 2;
            float kept = arrays[a][at];
            arrays[a][at] = bad[b];
            oct_writer writer = {.base = s.bytes, .capacity = s.length};
            nn_trainer_save(&s.trainer, &writer);
            T_ERR(read_copy(&s, s.length), OCT_EPROTO);
            arrays[a][at] = kept;
        }
    }
    saved_free(&s);
}

static void
test_read_refuses_a_negative_second_moment(void **state)
{
    (void)state;
    saved s = saved_make();
    s.trainer.v[5] = -1e-9f;
    oct_writer writer = {.base = s.bytes, .capacity = s.length};
    nn_trainer_save(&s.trainer, &writer);
    T_ERR(read_copy(&s, s.length), OCT_EPROTO);
    saved_free(&s);
}

static void
test_apply_brings_everything_back(void **state)
{
    (void)state;
    saved s = saved_make();
    nn_trainer other;
    nn_trainer_view view;
    oct_reader reader = {.at = s.bytes, .left = s.length};
    nn_trainer_init(&other, fixture_context(), &s.spec, 3,
                    &adam); // another batch size is no other shape
    T_OK(nn_trainer_read(&view, &other, &reader));
    assert_int_equal(reader.left, 0);
    nn_trainer_apply(&other, &view);
    size_t bytes = other.tape.net.param_count * sizeof(float);
    assert_memory_equal(other.tape.net.params, s.trainer.tape.net.params, bytes);
    assert_memory_equal(other.m, s.trainer.m, bytes);
    assert_memory_equal(other.v, s.trainer.v, bytes);
    assert_int_equal(other.steps, 12);
    nn_trainer_fini(&other);
    saved_free(&s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_refuses_every_truncation),
        cmocka_unit_test(test_read_refuses_another_shape),
        cmocka_unit_test(test_read_refuses_a_chain_where_there_is_a_block),
        cmocka_unit_test(test_read_refuses_another_kernel),
        cmocka_unit_test(test_shapes_of_old_checkpoints_keep_their_bytes),
        cmocka_unit_test(test_read_refuses_what_is_not_finite),
        cmocka_unit_test(test_read_refuses_a_negative_second_moment),
        cmocka_unit_test(test_apply_brings_everything_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
