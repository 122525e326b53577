// Two contexts compute side by side without sharing anything; work spaces are aligned and only
// grow.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "nn/nn_trainer.h"
#include "tests/nn/nn_fixture.h"
#include "tests/support/oct_test.h"

enum { ROWS = 70, STEPS = 40 };

// A network that learns to give dy of its own outputs; what it knows in the end.
typedef struct student {
    policy_spec spec;
    nn_context_options options;
    uint64_t seed;
    float *params; // written by run
} student;

static void *
student_run(void *arg)
{
    student *s = arg;
    const nn_adam adam = {.beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f};
    nn_context *context = nn_context_create(&s->options);
    nn_trainer trainer;
    nn_net target;
    nn_trainer_init(&trainer, context, &s->spec, ROWS, &adam);
    nn_net_init(&target, context, &s->spec, ROWS);
    const nn_net *net = &trainer.tape.net;
    const size_t outputs = (size_t)ROWS * policy_spec_outputs(&s->spec);
    oct_rng rng;
    oct_rng_init(&rng, s->seed, 0);
    nn_net_randomise(&trainer.tape.net, &rng);
    nn_net_polyak(&target, net, 1.0f);
    float *x = fixture_floats(&rng, (size_t)ROWS * s->spec.obs_count, -1, 1);
    float *dy = oct_alloc(outputs * sizeof(*dy));
    for (int step = 0; step < STEPS; step++) {
        const float *y = nn_trainer_forward(&trainer, x, ROWS);
        memcpy(dy, y, outputs * sizeof(*dy));
        (void)nn_trainer_backward(&trainer, dy, ROWS, NULL);
        nn_trainer_step_and_polyak(&trainer, 1e-3f, 1.0f, &target, 0.1f);
        (void)nn_net_forward(&target, x, ROWS);
    }
    s->params = oct_alloc(net->param_count * sizeof(float));
    memcpy(s->params, net->params, net->param_count * sizeof(float));
    free(x);
    free(dy);
    nn_net_fini(&target);
    nn_trainer_fini(&trainer);
    nn_context_destroy(context);
    return NULL;
}

// A learner and a teacher, one dense and one with convolutions, rounded and not: side by side each
// gets the bits that it gets alone.
static void
test_two_contexts_compute_side_by_side(void **state)
{
    (void)state;
    const student makes[2] = {
        {.spec = fixture_spec(90, (uint32_t[]){128, 80}, 2, POLICY_ELU, FIXTURE_FIRST_NORM, 70),
         .options = {.threads = 1, .bf16 = true},
         .seed = 1},
        {.spec = fixture_conv_spec(6, 5, 3, (uint32_t[]){8, 16}, 2, 64, POLICY_RELU, 5),
         .options = {.threads = 1},
         .seed = 2},
    };
    student alone[2], together[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        alone[i] = together[i] = makes[i];
        (void)student_run(&alone[i]);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, student_run, &together[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_memory_equal(together[i].params, alone[i].params,
                            policy_spec_params(&makes[i].spec) * sizeof(float));
        free(alone[i].params);
        free(together[i].params);
    }
}

static void
test_spaces_begin_on_a_cache_line_and_only_grow(void **state)
{
    (void)state;
    nn_context *context = nn_context_create(NULL);
    uint32_t *small = nn_context_space(context, NN_SPACE_LEFT, 10);
    assert_int_equal((uintptr_t)small % 64, 0);
    assert_ptr_not_equal(nn_context_space(context, NN_SPACE_RIGHT, 10), small);
    uint32_t *large = nn_context_space(context, NN_SPACE_LEFT, 1000);
    assert_int_equal((uintptr_t)large % 64, 0);
    large[999] = 7;
    assert_ptr_equal(nn_context_space(context, NN_SPACE_LEFT, 20), large);
    assert_int_equal(large[999], 7);
    nn_context_destroy(context);
    nn_context_destroy(NULL);
}

static void
test_settings_are_the_contexts_own(void **state)
{
    (void)state;
    nn_context *rounded = nn_context_create(&(nn_context_options){.threads = 3, .bf16 = true});
    nn_context *plain = nn_context_create(NULL);
    assert_int_equal(nn_context_threads(rounded), 3);
    assert_int_equal(nn_context_threads(plain), 1);
    assert_ptr_equal(nn_context_bf16(rounded), nn_tile_bf16());
    assert_null(nn_context_bf16(plain));
    nn_context_destroy(rounded);
    nn_context_destroy(plain);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_contexts_compute_side_by_side),
        cmocka_unit_test(test_spaces_begin_on_a_cache_line_and_only_grow),
        cmocka_unit_test(test_settings_are_the_contexts_own),
    };
    return cmocka_run_group_tests(tests, fixture_one_thread, NULL);
}
