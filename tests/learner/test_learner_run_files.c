// The files of a run: folders that are not there, a disk that is full, and checkpoints on request.
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>

#define FOLDER "test_learner_run_files.run"
#include "tests/learner/run_fixture.h"

static void
test_run_folder_that_is_not_there(void **state)
{
    (void)state;
    folder_end(FOLDER);
    learner_run *run = NULL;
    T_ERR(run_create(&run, false), OCT_EIO);
    assert_non_null(strstr(reason.text, FOLDER));
    assert_null(run);
    learner_run_destroy(NULL);
}

static void
test_run_damaged_checkpoint(void **state)
{
    (void)state;
    learner_run *run = NULL;
    T_OK(oct_file_write(FOLDER "/checkpoint.oct", "nonsense", 8));
    T_ERR(run_create(&run, true), OCT_EPROTO);
    assert_non_null(strstr(reason.text, "checkpoint.oct"));
    T_OK(run_create(&run, false)); // not asked to go on from it
    learner_run_destroy(run);
}

// Files that cannot be written: said, and the exit code will not be 0.
static void
test_run_that_cannot_be_saved(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    run_train(run, 2);
    folder_end(FOLDER); // also removes what was written
    learner_run_finish(run, "interrupted", false);
    learner_run_save(run);
    assert_true(learner_run_failed(run));
    learner_run_destroy(run);
    folder_begin(FOLDER);
}

// All else can be written, but not that: a resume would lose what was learned.
static void
test_run_whose_checkpoint_cannot_be_saved(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    run_train(run, 2);
    assert_int_equal(unlink(FOLDER "/checkpoint.oct"), 0);
    T_OK(oct_file_make_folder(FOLDER "/checkpoint.oct"));
    learner_run_finish(run, "interrupted", false);
    learner_run_save(run);
    assert_true(learner_run_failed(run));
    learner_run_destroy(run);
    assert_int_equal(rmdir(FOLDER "/checkpoint.oct"), 0);
}

// The disk was full for a while: the best policy is written once there is room again, and the run
// has not failed.
static void
test_run_that_could_not_be_saved_for_a_while(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    uint64_t version = run_published(run)->version;
    T_OK(oct_file_make_folder(FOLDER "/policy.oct"));
    run_evaluated(run, evaluator, 2, 60);
    run_evaluated(run, evaluator, 4, 70);
    learner_run_checkpoint(run);
    assert_true(learner_run_failed(run));
    assert_int_equal(rmdir(FOLDER "/policy.oct"), 0);
    learner_run_checkpoint(run);
    assert_best(70, version);
    learner_run_finish(run, "interrupted", false);
    learner_run_save(run);
    assert_false(learner_run_failed(run));
    learner_run_destroy(run);
}

// What the checkpoint says of policy.oct is what lies there, whatever has been evaluated since.
static void
test_run_checkpoint_names_no_policy_that_was_not_written(void **state)
{
    (void)state;
    config.run.stop_at_return = 50;
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    (void)run_published(run);
    T_OK(oct_file_make_folder(FOLDER "/policy.oct")); // no room for it
    run_evaluated(run, evaluator, 2, 60);
    run_evaluated(run, evaluator, 4, 70);
    run_evaluated(run, evaluator, 4, 75); // which confirms it
    learner_run_save(run);
    assert_true(learner_run_failed(run));
    learner_run_destroy(run);
    assert_int_equal(rmdir(FOLDER "/policy.oct"), 0);
    learner_checkpoint checkpoint = checkpoint_read();
    assert_true(checkpoint.evals.evaluations > 0);
    assert_int_equal(checkpoint.evals.best.version, 0);
    assert_true(isnan(checkpoint.evals.confirmed));
    assert_int_equal(checkpoint.policy_crc, 0);
    learner_checkpoint_fini(&checkpoint);
}

// Killed before it trained, as often as may be: no process gives numbers that the one before gave.
static void
test_run_killed_at_once_gives_no_number_again(void **state)
{
    (void)state;
    learner_run_destroy(run_joined(false));
    learner_checkpoint before = checkpoint_read();
    for (int i = 0; i < 3; i++) {
        learner_run_destroy(run_joined(true));
        learner_checkpoint after = checkpoint_read();
        assert_true(after.incarnations > before.incarnations);
        assert_true(after.policy_version >= before.policy_version);
        assert_int_equal(after.run_id, before.run_id);
        learner_checkpoint_fini(&before);
        before = after;
    }
    learner_checkpoint_fini(&before);
}

// What nothing has changed since is in the next checkpoint as it was: the curve, which file
// policy.oct is, and the weights that it was made of.
static void
test_run_resumed_keeps_what_its_checkpoint_has(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    uint64_t version = run_published_evaluated(run, evaluator, 80, 80);
    run_stop(run, "interrupted");
    learner_checkpoint before = checkpoint_read();
    assert_true(before.curve_count > 0 && before.policy_crc != 0 && before.weights_length > 0);
    assert_int_equal(unlink(FOLDER "/policy.fp32.oct"), 0);
    run_stop(run_joined(true), "interrupted");
    learner_checkpoint after = checkpoint_read();
    assert_int_equal(after.curve_count, before.curve_count);
    assert_memory_equal(after.curve, before.curve, before.curve_count * sizeof(*before.curve));
    assert_int_equal(after.policy_crc, before.policy_crc);
    assert_int_equal(after.evals.best.version, version);
    assert_int_equal(policy_origin_read("policy.fp32.oct").version, version);
    learner_checkpoint_fini(&before);
    learner_checkpoint_fini(&after);
}

// Killed between the writes of a policy: its weights get their name although the checkpoint names
// another one.
static void
test_run_killed_before_the_weights_of_its_policy_had_their_name(void **state)
{
    (void)state;
    uint64_t version = run_killed_before_its_checkpoint();
    assert_int_equal(rename(FOLDER "/policy.fp32.oct", FOLDER "/policy.fp32.next"), 0);
    learner_run_destroy(run_joined(true));
    assert_int_equal(policy_origin_read("policy.fp32.oct").version, version);
    assert_false(folder_has(FOLDER, "policy.fp32.next"));
}

// A process that is killed then would be followed by one that gives the same numbers again: no
// actor gets to know them before they are reserved, and none is left out.
static void
test_run_publishes_no_version_that_is_not_reserved(void **state)
{
    (void)state;
    uint64_t reserved = 0;
    const quantizer_publication *publication;
    T_OK(oct_file_make_folder(FOLDER "/policy_versions")); // in its way
    learner_run *run = run_joined(false);
    learner_actor *actor = actor_begin(run, 5, WIRE_ROLE_ACTOR);
    for (int i = 0; i < 100; i++) {
        run_train(run, 1);
        assert_null(learner_run_publish(run));
        assert_null(learner_run_newest(run, actor, 0));
    }
    assert_non_null(strstr(learner_run_trouble(run), "policy_versions cannot be written"));
    assert_int_equal(rmdir(FOLDER "/policy_versions"), 0);
    while ((publication = learner_run_publish(run)) == NULL) { // it tries again by itself
    }
    assert_int_equal(publication->version, 1);
    assert_null(learner_run_trouble(run));
    char *text = folder_read(FOLDER, "policy_versions");
    assert_int_equal(sscanf(text, "reserved %" SCNu64, &reserved), 1);
    free(text);
    assert_true(reserved >= 1000);
    run_stop(run, "interrupted");
}

// Else all that replay has kept would be a thousand versions old.
static void
test_run_resumed_counts_no_versions_that_were_only_reserved(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    uint64_t first = run_published(run)->version;
    run_train(run, 1);
    uint64_t last = run_published(run)->version;
    run_stop(run, "interrupted");
    run = run_joined(true);
    uint64_t next = run_published(run)->version;
    assert_true(next > last + 1);
    const learner_versions *versions =
        &learner_source_options_of(learner_run_source(run, 0))->versions;
    assert_int_equal(learner_versions_lag(versions, next, last), 1);
    assert_int_equal(learner_versions_lag(versions, next, first), 1 + last - first);
    run_stop(run, "interrupted");
}

// What the first actor said of the environment: tried again while it trains, and when it ends.
static void
test_run_writes_its_environment_when_it_can(void **state)
{
    (void)state;
    static const char file[] = FOLDER "/environment.oct";
    for (int is_end = 0; is_end < 2; is_end++) {
        T_OK(oct_file_make_folder(file)); // in its way
        learner_run *run = run_joined(false);
        assert_non_null(strstr(learner_run_trouble(run), "environment.oct cannot be written"));
        learner_run_tick(run);
        assert_non_null(learner_run_trouble(run));
        assert_int_equal(rmdir(file), 0);
        while (!is_end && learner_run_trouble(run) != NULL) {
            learner_run_tick(run);
        }
        learner_run_finish(run, "interrupted", false);
        learner_run_save(run);
        assert_false(learner_run_failed(run));
        learner_run_destroy(run);
        run = run_begin(true);
        wire_env_spec other = good_env;
        other.obs_count++;
        T_ERR(learner_run_begin(run, &other, &reason), OCT_EINVAL); // it is known
        learner_run_destroy(run);
        folder_begin(FOLDER);
    }
}

static void
test_run_fails_where_its_environment_was_never_written(void **state)
{
    (void)state;
    T_OK(oct_file_make_folder(FOLDER "/environment.oct"));
    learner_run *run = run_joined(false);
    learner_run_finish(run, "interrupted", false);
    learner_run_save(run);
    assert_true(learner_run_failed(run));
    learner_run_destroy(run);
}

static void
test_run_gives_an_actor_what_it_does_not_have(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    uint64_t version = run_published(run)->version;
    learner_actor *actor = actor_begin(run, 5, WIRE_ROLE_ACTOR);
    assert_int_equal(learner_run_newest(run, actor, version - 1)->version, version);
    assert_null(learner_run_newest(run, actor, version));
    run_stop(run, "interrupted");
}

// Until the learner has told of its newest state, and that was written, or could not be.
static void
checkpoint_tried(learner_run *run, double is_unsaved)
{
    for (int i = 0; status_of(run, "learner.unsaved") != is_unsaved; i++) {
        if (i % 10000 == 0) { // a slow disk takes as long as it takes
            learner_run_checkpoint(run);
        }
        run_train(run, 1);
    }
}

// Periodic checkpoints and rows that cannot be written: shown as long as it is so, with the reason
// and a count, and not for ever.
static void
test_run_shows_what_cannot_be_written(void **state)
{
    (void)state;
    config.learner.metrics_s = 0;
    learner_run *run = run_joined(false);
    assert_null(learner_run_trouble(run));
    assert_int_equal(unlink(FOLDER "/checkpoint.oct"), 0);
    T_OK(oct_file_make_folder(FOLDER "/checkpoint.oct"));
    checkpoint_tried(run, 1);
    assert_non_null(strstr(learner_run_trouble(run), "checkpoint.oct cannot be written: "));
    double failures = status_of(run, "learner.write_failures");
    assert_true(failures >= 1);
    assert_int_equal(rmdir(FOLDER "/checkpoint.oct"), 0);
    checkpoint_tried(run, 0);
    assert_null(learner_run_trouble(run));
    assert_true(folder_has(FOLDER, "checkpoint.oct"));
    struct rlimit bound, none;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &none), 0);
    bound = none;
    bound.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &bound), 0);
    learner_run_tick(run);
    assert_non_null(strstr(learner_run_trouble(run), "metrics.csv or its TensorBoard file cannot"));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    learner_run_tick(run);
    assert_null(learner_run_trouble(run));
    assert_true(status_of(run, "learner.write_failures") > failures); // they were counted
    learner_run_finish(run, "interrupted", false);
    learner_run_save(run);
    assert_false(learner_run_failed(run));
    learner_run_destroy(run);
}

// A checkpoint asked for while training is of one moment and does not stop it.
static void
test_run_checkpoints_while_it_trains(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    run_train(run, 3);
    learner_run_checkpoint(run);
    uint64_t updates = 0;
    for (int i = 0; updates == 0 && i < 100000; i++) {
        run_train(run, 1);
        learner_checkpoint checkpoint = checkpoint_read();
        updates = checkpoint.updates;
        learner_checkpoint_fini(&checkpoint);
    }
    assert_true(updates >= 6);
    learner_run_destroy(run);
}

// Until it is on the disk or could not be written: OCT_EIO.
static oct_err
checkpoint_awaited(learner_run *run, wire_written *out)
{
    oct_err err;
    uint64_t number = learner_run_checkpoint(run);
    while ((err = learner_run_checkpointed(run, number, out, &reason)) == OCT_EAGAIN) {
        learner_run_collect(run);
        (void)sched_yield();
    }
    return err;
}

static void
test_run_tells_what_became_of_a_checkpoint(void **state)
{
    (void)state;
    wire_written written;
    learner_checkpoint on_disk;
    learner_run *run = run_joined(false);
    assert_null(learner_run_no_checkpoint(run));
    run_train(run, 2);
    T_OK(checkpoint_awaited(run, &written));
    T_OK(learner_checkpoint_read(FOLDER "/checkpoint.oct", &on_disk, &reason));
    assert_true(written.updates > 0 && written.updates == on_disk.updates);
    assert_true(written.env_steps == on_disk.env_steps);
    learner_checkpoint_fini(&on_disk);
    // Of the second, what became of the first says nothing.
    uint64_t before = written.updates;
    run_train(run, 2);
    T_OK(checkpoint_awaited(run, &written));
    assert_true(written.updates > before);
    assert_int_equal(unlink(FOLDER "/checkpoint.oct"), 0);
    T_OK(oct_file_make_folder(FOLDER "/checkpoint.oct")); // no room for it
    T_ERR(checkpoint_awaited(run, &written), OCT_EIO);
    assert_non_null(strstr(reason.text, "checkpoint.oct cannot be written: "));
    assert_int_equal(rmdir(FOLDER "/checkpoint.oct"), 0);
    T_OK(checkpoint_awaited(run, &written));
    run_stop(run, "interrupted");
}

// Before libc's: the next sync of another thread than the test's waits until it may go on.
static pthread_t test_thread;
static atomic_bool is_slow;
static sem_t is_syncing, may_sync;

int __real_fsync(int descriptor);
int __wrap_fsync(int descriptor);

int
__wrap_fsync(int descriptor)
{
    if (!pthread_equal(pthread_self(), test_thread) && atomic_exchange(&is_slow, false)) {
        assert_int_equal(sem_post(&is_syncing), 0);
        while (sem_wait(&may_sync) != 0) {
        }
    }
    return __real_fsync(descriptor);
}

// One that was asked for while another was being written comes after it, and has what was learned
// meanwhile.
static void
test_run_checkpoint_asked_for_while_one_is_written_comes_after_it(void **state)
{
    (void)state;
    config.learner.checkpoint_s = 3600; // none comes by itself
    wire_written first, second;
    test_thread = pthread_self();
    assert_int_equal(sem_init(&is_syncing, 0, 0) | sem_init(&may_sync, 0, 0), 0);
    learner_run *run = run_joined(false);
    run_train(run, 2);
    atomic_store(&is_slow, true);
    uint64_t number = learner_run_checkpoint(run);
    while (sem_trywait(&is_syncing) != 0) {
        run_train(run, 1);
    }
    uint64_t next = learner_run_checkpoint(run);
    assert_true(next > number);
    run_train(run, 3); // its state comes while the first is not on the disk
    assert_int_equal(learner_run_checkpointed(run, number, &first, &reason), OCT_EAGAIN);
    assert_int_equal(sem_post(&may_sync), 0);
    oct_err err;
    while ((err = learner_run_checkpointed(run, number, &first, &reason)) == OCT_EAGAIN) {
        (void)sched_yield();
    }
    T_OK(err);
    while ((err = learner_run_checkpointed(run, next, &second, &reason)) == OCT_EAGAIN) {
        run_train(run, 1);
    }
    T_OK(err);
    assert_true(second.updates > first.updates);
    run_stop(run, "interrupted");
}

int
main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_run_gives_an_actor_what_it_does_not_have),
        T(test_run_folder_that_is_not_there),
        T(test_run_damaged_checkpoint),
        T(test_run_that_cannot_be_saved),
        T(test_run_whose_checkpoint_cannot_be_saved),
        T(test_run_that_could_not_be_saved_for_a_while),
        T(test_run_checkpoint_names_no_policy_that_was_not_written),
        T(test_run_killed_at_once_gives_no_number_again),
        T(test_run_resumed_keeps_what_its_checkpoint_has),
        T(test_run_killed_before_the_weights_of_its_policy_had_their_name),
        T(test_run_publishes_no_version_that_is_not_reserved),
        T(test_run_resumed_counts_no_versions_that_were_only_reserved),
        T(test_run_writes_its_environment_when_it_can),
        T(test_run_fails_where_its_environment_was_never_written),
        T(test_run_shows_what_cannot_be_written),
        T(test_run_checkpoints_while_it_trains),
        T(test_run_tells_what_became_of_a_checkpoint),
        T(test_run_checkpoint_asked_for_while_one_is_written_comes_after_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
