// A run begins where there is memory for all of its learner, and goes on where it has begun.
#define FOLDER "test_learner_run_memory.run"
#include "tests/learner/run_fixture.h"

// What the machine has, by the linker's --wrap.
static uint64_t available;
uint64_t __wrap_oct_memory_available(void);
uint64_t
__wrap_oct_memory_available(void)
{
    return available;
}

static void
test_a_run_that_is_too_large_does_not_begin(void **state)
{
    (void)state;
    learner_run *run = run_begin(false);
    available = 1u << 20;
    T_ERR(learner_run_join(run, &good_env, reason, sizeof(reason)), OCT_EAGAIN);
    assert_non_null(strstr(reason, "learner.batch_size: 8, learner.prefetch: "));
    assert_non_null(strstr(reason, "but 1.0 MiB of memory are available; "));
    assert_true(learner_run_failed(run));
    json_t *summary = run_summarised(run);
    assert_reason(summary, "refused");
    json_decref(summary);
}

static void
test_a_run_that_has_begun_goes_on(void **state)
{
    (void)state;
    available = UINT64_C(1) << 40;
    learner_run *run = run_joined(false);
    run_train(run, 2);
    run_stop(run, "interrupted");
    available = 1u << 20;
    run = run_joined(true);
    run_train(run, 2);
    run_stop(run, "interrupted");
}

int
main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_a_run_that_is_too_large_does_not_begin),
        T(test_a_run_that_has_begun_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
