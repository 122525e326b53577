// An update allocates nothing from sample reply to priorities. The linker's --wrap counts the
// allocations of our own code on any thread.
#include <stdatomic.h>
#include <stdlib.h>

#include "common/oct_reason.h"
#include "learner/learner_train.h"
#include "nn/nn_gemm.h"
#include "tests/learner/batch_fixture.h"
#include "tests/learner/learner_fixture.h"

// An update on its whole way, from a sample reply to the priorities, allocates nothing. Linked with
// --wrap for these (meson.build): each allocation of our own code is counted, on any thread.
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
int __real_posix_memalign(void **out, size_t alignment, size_t bytes);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **out, size_t alignment, size_t bytes);

static atomic_ulong allocations;

void *
__wrap_malloc(size_t bytes)
{
    allocations++;
    return __real_malloc(bytes);
}

void *
__wrap_calloc(size_t count, size_t bytes)
{
    allocations++;
    return __real_calloc(count, bytes);
}

void *
__wrap_realloc(void *block, size_t bytes)
{
    allocations++;
    return __real_realloc(block, bytes);
}

void *
__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    allocations++;
    return __real_aligned_alloc(alignment, bytes);
}

int
__wrap_posix_memalign(void **out, size_t alignment, size_t bytes)
{
    allocations++;
    return __real_posix_memalign(out, alignment, bytes);
}

static fixture_bell bell = FIXTURE_BELL;

static void
test_train_allocates_nothing_per_update(void **state)
{
    (void)state;
    oct_reason why;
    config_experiment config = fixture_config();
    config.learner.publish_period = 1000000; // a publication is new memory
    policy_spec spec = {.env_id = "Fixture-v0",
                        .obs_dtype = POLICY_F32,
                        .obs_count = FIXTURE_OBS,
                        .action_kind = POLICY_DISCRETE,
                        .action_count = FIXTURE_ACTIONS};
    algo *a = NULL;
    quantizer_stage *stage = NULL;
    (void)nn_blas_init(1, why.text, sizeof(why.text));
    T_OK(algo_make_spec(&config, &spec, NULL, &why));
    T_OK(algo_create(&a, NULL, &config, &spec, 1));
    quantizer_stage_options options = {
        .spec = &spec, .precision = POLICY_INT8, .run_id = 1, .run_name = "memory"};
    T_OK(quantizer_stage_create(&stage, &options, fixture_ring, &bell));
    learner_train *train = learner_train_create(a, &config, stage, 2, fixture_ring, &bell);
    learner_batch *batch = learner_batch_create(&spec, FIXTURE_B, 0);
    static fixture_rows rows;
    oct_rng rng;
    oct_rng_init(&rng, 1, 0);
    wire_sampled sampled = fixture_sampled(&rows, FIXTURE_B, &rng);
    T_OK(learner_train_start(train));
    quantizer_publication *first;
    while ((first = quantizer_stage_take(stage)) == NULL) {
        fixture_listen(&bell);
    }
    assert_true(allocations > 0); // the counter counts
    unsigned long before = allocations;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(batch_fill(batch, &spec, &sampled, 0, 0.5), OCT_OK);
        learner_train_put(train, batch);
        while (learner_train_take(train) == NULL) {
            fixture_listen(&bell);
        }
    }
    assert_int_equal(allocations, before);
    quantizer_publication_release(first);
    learner_train_stop(train);
    learner_train_destroy(train);
    quantizer_stage_destroy(stage);
    learner_batch_destroy(batch);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_train_allocates_nothing_per_update)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
