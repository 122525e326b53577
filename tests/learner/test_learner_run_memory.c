// A run begins where there is memory for all of its learner, and goes on where it has begun.
#define FOLDER "test_learner_run_memory.run"
#include "tests/learner/run_fixture.h"

// What the machine has, by the linker's --wrap.
static uint64_t available, limit;
uint64_t __wrap_oct_memory_available(void);
uint64_t
__wrap_oct_memory_available(void)
{
    return available;
}

uint64_t __wrap_oct_memory_limit(void);
uint64_t
__wrap_oct_memory_limit(void)
{
    return limit;
}

static void
test_a_run_that_is_too_large_does_not_begin(void **state)
{
    (void)state;
    learner_run *run = run_begin(false);
    available = 1u << 20;
    T_ERR(learner_run_begin(run, &good_env, &reason), OCT_EAGAIN);
    assert_non_null(strstr(reason.text, "learner.batch_size: 8, learner.prefetch: "));
    assert_non_null(strstr(reason.text, "but 1.0 MiB of memory are available; "));
    assert_true(learner_run_failed(run));
    json_t *summary = run_summarised(run);
    assert_reason(summary, "refused");
    json_decref(summary);
}

static void
run_that_began(void)
{
    available = limit = UINT64_C(1) << 40;
    learner_run *run = run_joined(false);
    run_train(run, 2);
    run_stop(run, "interrupted");
}

// Others may give back what they take.
static void
test_a_run_that_has_begun_goes_on(void **state)
{
    (void)state;
    run_that_began();
    available = 1u << 20;
    learner_run *run = run_joined(true);
    run_train(run, 2);
    run_stop(run, "interrupted");
}

static void
test_a_run_that_the_machine_cannot_hold_does_not_go_on(void **state)
{
    (void)state;
    run_that_began();
    available = 1u << 19;
    limit = 1u << 20;
    learner_run *run = NULL;
    T_ERR(run_create(&run, true), OCT_EINVAL);
    assert_non_null(strstr(reason.text, "learner.batch_size: 8, learner.prefetch: "));
    assert_non_null(strstr(reason.text, "but 1.0 MiB of memory are available; "));
}

int
main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_a_run_that_is_too_large_does_not_begin),
        T(test_a_run_that_has_begun_goes_on),
        T(test_a_run_that_the_machine_cannot_hold_does_not_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
