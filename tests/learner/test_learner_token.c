// The key of session tokens: other tokens are refused, and it survives the learner.
#include <sys/stat.h>

#define FOLDER "test_learner_token.run"
#include "tests/learner/run_fixture.h"

// ---- forbidden

static void
test_token_of_another_or_none_is_refused(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    const learner_actor *actor = actor_begin(run, 77, WIRE_ROLE_ACTOR);
    const learner_actor *other = actor_begin(run, 79, WIRE_ROLE_ACTOR);
    wire_report message = {.actor_id = actor->id, .session = 77, .report_sequence = 1};
    T_ERR(learner_run_report(run, &message), OCT_ENOTFOUND); // none
    learner_admission_token(learner_run_admission(run), other, message.token);
    T_ERR(learner_run_report(run, &message), OCT_ENOTFOUND);
    assert_null(learner_admission_find(learner_run_admission(run), actor->id, message.token));
    assert_int_equal(status_of(run, "learner.bad_tokens"), 3);
    learner_admission_token(learner_run_admission(run), actor, message.token);
    T_OK(learner_run_report(run, &message));
    assert_ptr_equal(learner_admission_find(learner_run_admission(run), actor->id, message.token),
                     actor);
    assert_int_equal(status_of(run, "learner.bad_tokens"), 3);
    run_stop(run, "interrupted");
}

// ---- the key

static void
key_now(learner_run *run, uint8_t out[WIRE_TOKEN_KEY_BYTES])
{
    wire_configure configure = learner_source_configure(learner_run_source(run, 0));
    memcpy(out, configure.token_key, WIRE_TOKEN_KEY_BYTES);
}

// Actors outlive the learner: its next process must know their tokens, and tell replay the same.
static void
test_token_key_outlives_the_learner(void **state)
{
    (void)state;
    uint8_t first[WIRE_TOKEN_KEY_BYTES], next[WIRE_TOKEN_KEY_BYTES], token[WIRE_TOKEN_BYTES];
    struct stat found;
    learner_run *run = run_joined(false);
    key_now(run, first);
    learner_admission_token(learner_run_admission(run), actor_begin(run, 77, WIRE_ROLE_ACTOR),
                            token);
    run_stop(run, "interrupted");
    assert_int_equal(stat(FOLDER "/token.key", &found), 0);
    assert_int_equal(found.st_mode & 07777, 0600);
    run = run_joined(true);
    key_now(run, next);
    assert_memory_equal(first, next, sizeof(first));
    assert_non_null(learner_admission_find(learner_run_admission(run),
                                           actor_begin(run, 77, WIRE_ROLE_ACTOR)->id, token));
    run_stop(run, "interrupted");
    // Cut short, or gone: a new one.
    T_OK(oct_file_write(FOLDER "/token.key", first, WIRE_TOKEN_KEY_BYTES - 1));
    run = run_joined(true);
    key_now(run, next);
    assert_true(memcmp(first, next, sizeof(first)) != 0);
    run_stop(run, "interrupted");
    assert_int_equal(stat(FOLDER "/token.key", &found), 0);
    assert_int_equal(found.st_mode & 07777, 0600);
    assert_int_equal(found.st_size, WIRE_TOKEN_KEY_BYTES);
    // And another run is another key.
    assert_int_equal(unlink(FOLDER "/checkpoint.oct"), 0);
    run = run_joined(false);
    key_now(run, first);
    assert_true(memcmp(first, next, sizeof(first)) != 0);
    run_stop(run, "interrupted");
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_token_of_another_or_none_is_refused),
        T(test_token_key_outlives_the_learner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
