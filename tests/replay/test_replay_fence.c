// Which of several learners a table belongs to.
#include "common/oct_reason.h"
#include "replay/replay_fence.h"
#include "tests/support/oct_test.h"

#define SECOND 1000000000ull
#define RUN    31
#define OTHER  32

static oct_reason reason;

static oct_err
asked(const replay_fence *fence, uint64_t run_id, uint64_t epoch, uint64_t now_ns)
{
    reason.text[0] = '\0';
    return replay_fence_check(fence, run_id, epoch, now_ns, &reason);
}

static void
test_fence_refuses_the_older_of_two_learners_of_a_run(void **state)
{
    (void)state;
    replay_fence fence = {0};
    T_OK(asked(&fence, RUN, 5, 100 * SECOND));
    replay_fence_note(&fence, RUN, 5, 100 * SECOND);
    T_ERR(asked(&fence, RUN, 4, 101 * SECOND), OCT_ESTALE);
    assert_non_null(strstr(reason.text, "another learner has taken over run 000000000000001f"));
    T_OK(asked(&fence, RUN, 5, 101 * SECOND));
    T_OK(asked(&fence, RUN, 6,
               101 * SECOND)); // newer than the one that is at work: it may take over
    assert_false(replay_fence_is_of(&fence, RUN, 6)); // but has not
    assert_false(replay_fence_is_of(&fence, OTHER, 5));
    assert_true(replay_fence_is_of(&fence, RUN, 5));
    replay_fence_note(&fence, RUN, 6, 101 * SECOND);
    T_ERR(asked(&fence, RUN, 5, 102 * SECOND), OCT_ESTALE);
    T_ERR(asked(&fence, RUN, 5, 1000 * SECOND), OCT_ESTALE); // however long the newer is silent
    T_ERR(asked(&fence, RUN, 0, 102 * SECOND), OCT_ESTALE);
}

static void
test_fence_refuses_another_run_while_the_learner_is_at_work(void **state)
{
    (void)state;
    replay_fence fence = {0};
    replay_fence_note(&fence, RUN, 5, 100 * SECOND);
    T_ERR(asked(&fence, OTHER, 9, 101 * SECOND), OCT_EAGAIN);
    assert_non_null(strstr(reason.text, "serves run 000000000000001f"));
    assert_non_null(strstr(reason.text, "1.0 s ago"));
    T_ERR(asked(&fence, OTHER, 9, (100 + REPLAY_LEARNER_SILENT_S) * SECOND - 1), OCT_EAGAIN);
    T_OK(asked(&fence, OTHER, 9, (100 + REPLAY_LEARNER_SILENT_S) * SECOND));
    T_OK(asked(&fence, OTHER, 1, 200 * SECOND)); // epochs of two runs do not compare
}

static void
test_fence_opens_when_the_learner_needs_it_no_more(void **state)
{
    (void)state;
    replay_fence fence = {0};
    replay_fence_note(&fence, RUN, 5, 100 * SECOND);
    replay_fence_release(&fence, OTHER, 5);
    replay_fence_release(&fence, RUN, 4);
    T_ERR(asked(&fence, OTHER, 9, 101 * SECOND), OCT_EAGAIN); // another's word does not count
    replay_fence_release(&fence, RUN, 5);
    T_OK(asked(&fence, OTHER, 9, 101 * SECOND));
    T_ERR(asked(&fence, RUN, 4, 101 * SECOND), OCT_ESTALE); // of this run it stays the newest
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fence_refuses_the_older_of_two_learners_of_a_run),
        cmocka_unit_test(test_fence_refuses_another_run_while_the_learner_is_at_work),
        cmocka_unit_test(test_fence_opens_when_the_learner_needs_it_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
