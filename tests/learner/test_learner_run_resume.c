// What a resumed run goes on from: counters, the best policy and its return, run id and versions.
#include <math.h>

#define FOLDER "test_learner_run_resume.run"
#include "tests/learner/run_fixture.h"

// What summary.json says of the policy in policy.oct.
static void
assert_summary(double mean, uint64_t version, const char *stage)
{
    json_t *summary = summary_read();
    const json_t *result = json_object_get(summary, "return");
    T_NEAR(json_number_value(json_object_get(result, "mean")), mean, 0, 0);
    assert_int_equal(json_integer_value(json_object_get(result, "policy_version")), version);
    assert_string_equal(json_string_value(json_object_get(result, "stage")), stage);
    json_decref(summary);
}

// The first policy of a resumed run reads observations as the last one did; the network it was
// trained behind knows nothing of it, so that no other check would notice.
static void
test_run_keeps_the_scaling_of_its_checkpoint(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    (void)run_published(run);
    const uint64_t enough = 2 * QUANTIZER_OBSERVED_LEAST / FIXTURE_B;
    run_train(run, (uint32_t)enough);
    do { // versions may have been on their way before
        run_train(run, 1);
    } while (run_published(run)->updates < enough);
    run_stop(run, "interrupted");
    policy_image *last = policy_read("policy_last.oct");
    assert_true(last->spec.normalise);
    for (int i = 0; i < FIXTURE_OBS; i++) {
        assert_true(last->obs_inverse_std[i] == 2); // of uniform numbers of -1 to 1
        assert_true(last->obs_mean[i] != 0);
    }
    run = run_joined(true);
    uint64_t version = run_published(run)->version;
    run_stop(run, "interrupted");
    policy_image *resumed = policy_read("policy_last.oct");
    assert_int_equal(resumed->origin.version, version);
    assert_memory_equal(resumed->obs_mean, last->obs_mean, FIXTURE_OBS * sizeof(float));
    assert_memory_equal(resumed->obs_inverse_std, last->obs_inverse_std,
                        FIXTURE_OBS * sizeof(float));
    policy_image_destroy(last);
    policy_image_destroy(resumed);
}

// Steps that replay took after the checkpoint count, whoever was there to hear of them, but are not
// of this process's time; what was drawn for updates that are lost is drawn again.
static void
test_run_goes_on_where_replay_is(void **state)
{
    (void)state;
    const wire_configured empty = {.incarnation = 9, .table = 77};
    config.learner.checkpoint_s = 3600;
    config.learner.metrics_s = 0;
    learner_run *run = run_joined(false);
    learner_run_configured(run, 0, OCT_OK, &empty);
    steps = 500;
    learner_checkpoint first = {.replay[0] = {.table = 0}};
    while (first.replay[0].table != 77) { // what is drawn from then on can be drawn again
        run_train(run, 1);
        learner_checkpoint_fini(&first);
        first = checkpoint_read();
    }
    learner_checkpoint_fini(&first);
    run_train(run, 2);
    uint64_t learned = (uint64_t)status_of(run, "learner.updates") * FIXTURE_B;
    run_stop(run, "interrupted");
    learner_checkpoint checkpoint = checkpoint_read();
    assert_int_equal(checkpoint.env_steps, 500);
    assert_int_equal(checkpoint.replay[0].table, 77);
    assert_int_equal(checkpoint.replay[0].steps, 500);
    assert_int_equal(checkpoint.replay[0].samples, learned);
    learner_checkpoint_fini(&checkpoint);
    run = run_joined(true);
    wire_configure request = learner_source_configure(learner_run_source(run, 0));
    assert_int_equal(request.table, 77);
    assert_int_equal(request.samples, learned);
    const wire_configured ahead = {.incarnation = 9,
                                   .table = 77,
                                   .steps = 820,
                                   .samples = learned + 5 * FIXTURE_B,
                                   .returned = 5 * FIXTURE_B};
    learner_run_configured(run, 0, OCT_OK, &ahead);
    T_NEAR(status_of(run, "learner.env_steps"), 820, 0, 0);
    learner_run_tick(run); // a row
    T_NEAR(status_of(run, "learner.env_steps_per_s"), 0, 0, 0);
    steps = 840; // at the first sample, from which on rates are
    run_train(run, 1);
    steps = 900;
    run_train(run, 1);
    T_NEAR(status_of(run, "learner.env_steps"), 900, 0, 0);
    run_stop(run, "interrupted");
    checkpoint = checkpoint_read();
    assert_int_equal(checkpoint.env_steps, 900);
    assert_int_equal(checkpoint.replay[0].steps, 900);
    assert_true(checkpoint.replay[0].samples > learned);
    learner_checkpoint_fini(&checkpoint);
    json_t *summary = summary_read();
    T_NEAR(json_number_value(json_object_get(summary, "env_steps_per_s")) *
               json_number_value(json_object_get(summary, "training_s")),
           900 - 840, 1e-6, 0);
    json_decref(summary);
}

// What the last row of metrics.csv has in a column.
static const char *
last_cell(const char *name)
{
    static char text[1 << 16];
    FILE *csv = fopen(FOLDER "/metrics.csv", "re");
    assert_non_null(csv);
    text[fread(text, 1, sizeof(text) - 1, csv) - 1] = '\0'; // without the last line feed
    (void)fclose(csv);
    char *cell = strrchr(text, '\n') + 1, *names = text;
    while (strncmp(names, name, strlen(name)) != 0 || names[strlen(name)] != ',') {
        names = strchr(names, ',') + 1;
        cell = strchr(cell, ',') + 1;
    }
    cell[strcspn(cell, ",")] = '\0';
    return cell;
}

// Resumed by accident, say: what training took and how fast it was stays known.
static void
test_run_that_learns_nothing_more_keeps_its_numbers(void **state)
{
    (void)state;
    static const char *const keys[] = {"training_s",    "env_steps_per_s", "updates_per_s",
                                       "inserts",       "samples",         "learner_wait_share",
                                       "learner_cpu_s", "publications",    "bytes"};
    learner_run *run = run_joined(false);
    steps = 500;
    run_train(run, 3);
    run_stop(run, "budget");
    json_t *before = summary_read();
    assert_true(json_integer_value(json_object_get(before, "inserts")) > 0);
    run = run_joined(true);
    run_stop(run, "interrupted");
    json_t *after = summary_read();
    for (size_t i = 0; i < OCT_COUNTOF(keys); i++) {
        assert_true(json_equal(json_object_get(after, keys[i]), json_object_get(before, keys[i])));
    }
    assert_reason(after, "interrupted"); // of what happened last
    assert_string_equal(last_cell("inserts"), "");
    assert_string_equal(last_cell("samples"), "");
    json_decref(after);
    run = run_joined(true);
    run_train(run, 1);
    run_stop(run, "interrupted");
    after = summary_read();
    assert_false(json_equal(json_object_get(after, "learner_cpu_s"),
                            json_object_get(before, "learner_cpu_s")));
    assert_string_not_equal(last_cell("inserts"), "");
    json_decref(after);
    json_decref(before);
}

// Actors that come before anything was published act with what was published last.
static void
test_run_has_its_newest_policy_at_once(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    uint64_t version = run_published(run)->version;
    run_stop(run, "interrupted");
    run = run_joined(true);
    learner_actor *actor = actor_begin(run, 5, WIRE_ROLE_ACTOR);
    const quantizer_publication *newest = learner_run_newest(run, actor, 0);
    assert_non_null(newest);
    assert_int_equal(newest->version, version);
    assert_true(isnan(status_of(run, "learner.policy_version"))); // else it would fall
    uint64_t next = run_published(run)->version;
    assert_true(next > version && status_of(run, "learner.policy_version") == (double)next);
    run_stop(run, "interrupted");
}

// An evaluator that outlives the learner answers for what the earlier process asked it.
static void
test_run_takes_answers_to_an_earlier_process(void **state)
{
    (void)state;
    learner_eval_order order, again;
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    (void)run_published(run);
    run_evaluated(run, evaluator, 2, 80);
    T_OK(learner_run_order(run, evaluator->id, &order));
    assert_int_equal(order.episodes, 4);
    uint64_t version = order.publication->version, ticket = order.ticket;
    run_stop(run, "interrupted");
    run = run_joined(true);
    learner_actor *other = actor_begin(run, 7, WIRE_ROLE_EVALUATOR);
    T_ERR(learner_run_order(run, other->id, &again), OCT_EAGAIN); // it may still come
    evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    T_OK(run_answer(run, evaluator, version, ticket, 4, 81.5f));
    (void)run_published(run);
    T_OK(learner_run_order(run, other->id, &again));
    assert_true(again.ticket > ticket);
    run_stop(run, "interrupted");
    assert_summary(81.5, version, "full");
}

// Also over a lucky screen of few episodes; and the summary is of the policy that is there.
static void
test_run_keeps_the_best_policy_over_resumes(void **state)
{
    (void)state;
    static const float means[] = {80, 40, 95, 90};
    uint64_t version = 0, best = 0;
    for (int i = 0; i < 4; i++) {
        learner_run *run = run_joined(i > 0);
        learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
        if (i == 3) { // what screened well is fully evaluated, by whichever process
            run_evaluated(run, evaluator, 4, means[i]);
            best = version;
        }
        version = run_published(run)->version;
        if (i < 3) {
            run_evaluated(run, evaluator, 2, means[i]);
        }
        if (i == 0) {
            run_evaluated(run, evaluator, 4, means[i]);
            best = version;
        }
        run_stop(run, "interrupted");
        assert_best(i < 3 ? 80 : 90, best);
        assert_summary(i < 3 ? 80 : 90, best, "full");
    }
}

// The policy of an earlier process ships: its result is drawn from the file.
static void
test_run_ends_with_the_result_of_an_older_policy(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    uint64_t version = run_published_evaluated(run, evaluator, 80, 80);
    run_stop(run, "interrupted");
    char *twin = folder_read(FOLDER, "policy.fp32.oct");
    config.run.env_steps = 1000;
    run = run_joined(true);
    evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    run_stepped(run, 10);
    run_stepped(run, 1010);
    (void)run_published(run);
    learner_run_tick(run);
    assert_int_equal(learner_run_phase(run), LEARNER_FINAL);
    run_evaluated(run, evaluator, 4, 12); // the last version
    run_evaluated(run, evaluator, 4, 75);
    assert_int_equal(learner_run_phase(run), LEARNER_DONE);
    run_stop(run, "");
    assert_best(75, version);
    assert_summary(75, version, "result");
    json_t *summary = summary_read();
    T_NEAR(json_number_value(json_object_get(json_object_get(summary, "last_return"), "mean")), 12,
           0, 0);
    json_decref(summary);
    char *after = folder_read(FOLDER, "policy.fp32.oct");
    assert_memory_equal(after, twin, 16); // still its weights
    free(after);
    free(twin);
}

// Killed before its result was drawn, when nothing is left to be trained: it still gets one.
static void
test_run_resumed_beyond_its_budget_ends_with_a_result(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    uint64_t version = run_published_evaluated(run, evaluator, 80, 80);
    run_stop(run, "interrupted");
    config.run.wall_s = 1e-9;
    run = run_joined(true);
    evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    learner_run_tick(run);
    assert_int_equal(learner_run_phase(run), LEARNER_FINAL);
    run_evaluated(run, evaluator, 4, 75);
    run_stop(run, "");
    assert_summary(75, version, "result");
}

// Its result was held against nothing, also after a resume: no other is drawn.
static void
test_run_resumed_reports_a_result_that_chose_nothing(void **state)
{
    (void)state;
    uint64_t version = 0;
    config.run.wall_s = 1e-9;
    for (int i = 0; i < 2; i++) {
        learner_run *run = run_joined(i > 0);
        learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
        uint64_t last = run_published(run)->version;
        learner_run_tick(run);
        assert_int_equal(learner_run_phase(run), LEARNER_FINAL);
        run_evaluated(run, evaluator, 4, i == 0 ? 80 : 60); // the last version
        if (i == 0) {
            run_evaluated(run, evaluator, 4, 90);
            version = last;
        }
        assert_int_equal(learner_run_phase(run), LEARNER_DONE);
        run_stop(run, "");
        assert_best(90, version);
        assert_summary(90, version, "result");
    }
}

// Gone on from a solved run, training ends when another version is confirmed, not when it fails;
// the confirmed one ships meanwhile.
static void
test_run_resumed_when_solved_goes_on_until_another_is_confirmed(void **state)
{
    (void)state;
    config.run.stop_at_return = 50;
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    uint64_t version = run_published_evaluated(run, evaluator, 60, 70);
    run_evaluated(run, evaluator, 4, 55);
    run_evaluated(run, evaluator, 4, 52);
    assert_int_equal(learner_run_phase(run), LEARNER_DONE);
    run_stop(run, "");
    run = run_joined(true);
    evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    (void)run_published_evaluated(run, evaluator, 90, 80);
    run_evaluated(run, evaluator, 4, 30); // not confirmed
    assert_int_equal(learner_run_phase(run), LEARNER_TRAINING);
    run_stop(run, "interrupted");
    assert_best(52, version);
    assert_summary(52, version, "result");
}

// Joined again by an evaluator, which answers for nothing yet.
static learner_run *
run_resumed(learner_phase phase, learner_actor **evaluator)
{
    learner_run *run = run_begin(true);
    T_OK(learner_run_begin(run, &good_env, &reason));
    assert_int_equal(learner_run_phase(run), phase);
    *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    return run;
}

// In its final evaluation, whose order is given out, and later than any checkpoint but its own.
static learner_run *
run_ended_by_budget(learner_eval_order *order)
{
    config.run.updates = 4;
    config.learner.checkpoint_s = 3600;
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    (void)run_published_evaluated(run, evaluator, 60, 70);
    run_train(run, 2);
    learner_run_tick(run);
    assert_int_equal(learner_run_phase(run), LEARNER_FINAL);
    T_OK(learner_run_order(run, evaluator->id, order));
    return run;
}

// Killed in its final evaluation it ends as it would have: nothing more is learned, the same
// versions get the same episodes. Gone on from once more it is trained: then that is what is meant.
static void
test_run_killed_in_its_final_evaluation_ends_as_it_would_have(void **state)
{
    (void)state;
    learner_actor *evaluator;
    learner_eval_order before, order;
    config.run.stop_at_return = 50;
    learner_run *run = run_joined(false);
    evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    uint64_t version = run_published(run)->version;
    run_train(run, 2);
    double updates = status_of(run, "learner.updates");
    run_evaluated(run, evaluator, 2, 60);
    run_evaluated(run, evaluator, 4, 70);
    run_evaluated(run, evaluator, 4, 55);
    assert_int_equal(learner_run_phase(run), LEARNER_FINAL);
    T_OK(learner_run_order(run, evaluator->id, &before));
    uint64_t seed = before.seed;
    uint64_t of = before.publication->version;
    learner_run_destroy(run); // nothing is saved

    for (int again = 0; again < 2; again++) {
        run = run_resumed(LEARNER_FINAL, &evaluator);
        T_NEAR(status_of(run, "learner.updates"), updates, 0, 0);
        assert_null(learner_run_publish(run));
        assert_int_equal(run_request(run), 0);
        T_OK(learner_run_order(run, evaluator->id, &order));
        assert_int_equal(order.publication->version, of);
        assert_true(order.seed == seed);
        if (again == 0) {
            learner_run_destroy(run);
        }
    }
    if (of != version) { // another version was on its way
        run_evaluated(run, evaluator, 4, 40);
    }
    run_evaluated(run, evaluator, 4, 52);
    assert_int_equal(learner_run_phase(run), LEARNER_DONE);
    run_stop(run, "");
    assert_best(52, version);
    assert_summary(52, version, "result");
    json_t *summary = summary_read();
    assert_reason(summary, "solved");
    T_NEAR(json_number_value(json_object_get(summary, "updates")), updates, 0, 0);
    assert_true(json_integer_value(json_object_get(summary, "policy_version")) > 0);
    json_decref(summary);
    run = run_resumed(LEARNER_TRAINING, &evaluator);
    run_stop(run, "interrupted");
}

// With a larger budget it is not at its end any more.
static void
test_run_killed_in_its_final_evaluation_goes_on_with_a_larger_budget(void **state)
{
    (void)state;
    learner_eval_order order;
    learner_actor *evaluator;
    learner_run_destroy(run_ended_by_budget(&order));
    learner_run *run = run_resumed(LEARNER_FINAL, &evaluator);
    T_NEAR(status_of(run, "learner.updates"), 4, 0, 0);
    learner_run_destroy(run);
    config.run.updates = 100;
    run = run_resumed(LEARNER_TRAINING, &evaluator);
    T_NEAR(status_of(run, "learner.updates"), 4, 0, 0);
    run_stop(run, "interrupted");
    learner_checkpoint checkpoint = checkpoint_read();
    assert_string_equal(checkpoint.end, "");
    learner_checkpoint_fini(&checkpoint);
}

// Its result is owed until it is written: whoever interrupts the final evaluation, or has no room
// for what came of it, can have it later.
static void
test_run_without_its_result_ends_when_it_is_resumed(void **state)
{
    (void)state;
    learner_eval_order order;
    learner_actor *evaluator;
    learner_run *run = run_ended_by_budget(&order);
    run_stop(run, "interrupted");
    run = run_resumed(LEARNER_FINAL, &evaluator);
    while (learner_run_phase(run) == LEARNER_FINAL) {
        run_evaluated(run, evaluator, 4, 65);
    }
    T_OK(oct_file_make_folder(FOLDER "/summary.json")); // no room for it
    learner_run_save(run);
    assert_true(learner_run_failed(run));
    learner_run_destroy(run);
    assert_int_equal(rmdir(FOLDER "/summary.json"), 0);
    run = run_resumed(LEARNER_DONE, &evaluator); // all is known, and written now
    run_stop(run, "");
    json_t *summary = summary_read();
    assert_reason(summary, "budget");
    json_decref(summary);
}

// Killed between policy.oct and the checkpoint: the file is another than the checkpoint names. It
// is not trusted, and not lost: it is evaluated before anything else.
static void
test_run_resumes_with_a_policy_that_the_checkpoint_does_not_name(void **state)
{
    (void)state;
    uint64_t version = run_killed_before_its_checkpoint();
    assert_best(80, version);
    learner_run *run = run_joined(true);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    (void)run_published(run);
    learner_run_checkpoint(run);
    assert_best(80, version);
    run_evaluated(run, evaluator, 4, 70); // the file's
    run_evaluated(run, evaluator, 2, 75); // the newest
    run_evaluated(run, evaluator, 4, 60);
    run_stop(run, "interrupted");
    assert_best(70, version);
    assert_summary(70, version, "full");
}

// Killed after it went on: what a summary of before says is of neither this run nor its policy.
static void
test_run_resumed_and_killed_leaves_no_old_summary(void **state)
{
    (void)state;
    run_stop(run_joined(false), "solved");
    assert_true(folder_has(FOLDER, "summary.json"));
    learner_run_destroy(run_joined(true)); // nothing is saved
    assert_false(folder_has(FOLDER, "summary.json"));
}

// The policy is the one that the summary names, whatever else could not be written.
static void
test_run_summary_is_of_the_policy_that_was_written(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    (void)run_published_evaluated(run, evaluator, 60, 70);
    learner_run_checkpoint(run);
    assert_int_equal(unlink(FOLDER "/policy.fp32.oct"), 0);
    T_OK(oct_file_make_folder(FOLDER "/policy.fp32.oct")); // no room for it
    run_train(run, 1);
    uint64_t version = run_published_evaluated(run, evaluator, 90, 95);
    learner_run_finish(run, "interrupted", false);
    learner_run_save(run);
    assert_true(learner_run_failed(run));
    assert_best(95, version);
    assert_summary(95, version, "full");
    assert_int_equal(rmdir(FOLDER "/policy.fp32.oct"), 0);
    learner_run_save(run); // there is room again
    learner_run_destroy(run);
    assert_int_equal(policy_origin_read("policy.fp32.oct").version, version);
}

// An int8 policy stays one, although the run goes on in fp32.
static void
test_run_summary_has_the_precision_of_an_older_policy(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    (void)run_published_evaluated(run, evaluator, 80, 80);
    run_stop(run, "interrupted");
    config.policy.precision = CONFIG_PRECISION_FP32;
    run = run_joined(true);
    (void)run_published(run);
    run_stop(run, "interrupted");
    json_t *summary = summary_read();
    const json_t *result = json_object_get(summary, "return");
    assert_string_equal(json_string_value(json_object_get(result, "precision")), "int8");
    json_decref(summary);
}

// A file that is gone or damaged is no best any more: the next one takes its place.
static void
test_run_resumes_without_the_policy_that_the_checkpoint_names(void **state)
{
    (void)state;
    for (int damaged = 0; damaged < 2; damaged++) {
        learner_run *run = run_joined(false);
        learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
        uint64_t version = run_published(run)->version;
        run_evaluated(run, evaluator, 2, 80);
        run_stop(run, "interrupted");
        assert_int_equal(unlink(FOLDER "/policy.oct"), 0);
        if (damaged == 1) {
            T_OK(oct_file_write(FOLDER "/policy.oct", "OCTP....", 8));
        }
        run = run_joined(true);
        run_stop(run, "interrupted");
        assert_best(80, version); // the checkpoint has it
        folder_begin(FOLDER);
    }
}

// Returns of another task are not compared: the policy is evaluated again on the new one.
static void
test_run_resumed_with_another_task_evaluates_its_policy_again(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    uint64_t version = run_published_evaluated(run, evaluator, 80, 80);
    run_stop(run, "interrupted");
    (void)snprintf(config.env.options, sizeof(config.env.options), "gravity=2");
    run = run_joined(true);
    evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    (void)run_published(run);
    run_evaluated(run, evaluator, 4, 30);
    run_evaluated(run, evaluator, 2, 20);
    run_stop(run, "interrupted");
    assert_best(30, version);
    assert_summary(30, version, "full");
}

static void
test_run_resumes_equal(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    uint64_t run_id = learner_run_id(run), published = 0, reserved = 0;
    run_stepped(run, 700);
    run_train(run, 20);
    published = run_published(run)->version;
    run_stop(run, "interrupted");
    learner_checkpoint before = checkpoint_read();
    assert_int_equal(before.run_id, run_id);
    assert_int_equal(before.updates, 40);
    assert_int_equal(before.env_steps, 700);
    char *text = folder_read(FOLDER, "policy_versions");
    assert_int_equal(sscanf(text, "reserved %" SCNu64, &reserved), 1);
    free(text);
    assert_true(reserved > published);

    run = run_begin(true);
    assert_int_equal(learner_run_id(run), run_id);
    T_NEAR(status_of(run, "learner.updates"), 40, 0, 0);
    T_NEAR(status_of(run, "learner.env_steps"), 700, 0, 0);
    T_OK(learner_run_begin(run, &good_env, &reason));
    run_stepped(run, 700); // what replay took before is in the checkpoint
    T_NEAR(status_of(run, "learner.env_steps"), 700, 0, 0);
    // Versions that the dead process may have published are never used again.
    assert_int_equal(run_published(run)->version, reserved + 1);
    learner_run_finish(run, "interrupted", false);
    learner_run_save(run);
    T_NEAR(status_of(run, "learner.env_steps_per_s"), 0, 0, 0); // this process made none
    T_NEAR(status_of(run, "learner.updates_per_s"), 0, 0, 0);
    learner_run_destroy(run);
    learner_checkpoint after = checkpoint_read();
    assert_int_equal(after.run_id, run_id);
    assert_int_equal(after.updates, 40);
    assert_int_equal(after.env_steps, 700);
    assert_int_equal(after.state->length, before.state->length);
    assert_memory_equal(after.state->bytes, before.state->bytes, before.state->length);
    learner_checkpoint_fini(&before);
    learner_checkpoint_fini(&after);
}

// The replay that outlived the learner holds what the checkpoint has counted.
static void
test_run_resumed_does_not_count_old_steps(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    run_stepped(run, 700);
    run_stop(run, "interrupted");
    run = run_joined(true);
    steps = 5000;
    run_train(run, 1);
    T_NEAR(status_of(run, "learner.env_steps"), 700, 0, 0);
    steps = 5010;
    run_train(run, 1);
    T_NEAR(status_of(run, "learner.env_steps"), 710, 0, 0);
    run_stop(run, "interrupted");
}

// Killed at any time: the checkpoint that the start wrote holds the run id and the reserve.
static void
test_run_killed_right_after_its_start(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    uint64_t run_id = learner_run_id(run), version = run_published(run)->version;
    learner_run_destroy(run); // nothing is saved
    run = run_joined(true);
    assert_int_equal(learner_run_id(run), run_id);
    assert_true(run_published(run)->version > version);
    run_stop(run, "interrupted");
}

static void
versions_refused(oct_err want, const char *words)
{
    learner_run *run = NULL;
    T_ERR(run_create(&run, true), want);
    assert_null(run);
    if (strstr(reason.text, words) == NULL) {
        fail_msg("'%s' is not in '%s'", words, reason.text);
    }
}

// Actors may have versions that nobody knows of; a folder without the file never had any.
static void
test_run_resume_without_knowing_its_versions_is_refused(void **state)
{
    (void)state;
    static const char file[] = FOLDER "/policy_versions";
    run_stop(run_joined(false), "interrupted");
    assert_int_equal(unlink(file), 0);
    T_OK(oct_file_make_folder(file));
    versions_refused(OCT_EIO, FOLDER "/policy_versions: Is a directory");
    assert_int_equal(rmdir(file), 0);
    T_OK(oct_file_write(file, "x", 1));
    versions_refused(OCT_EPROTO, FOLDER "/policy_versions: damaged: it has no 'reserved ");
    char *text = folder_read(FOLDER, "policy_versions");
    assert_string_equal(text, "x");
    free(text);
    T_OK(oct_file_write(file, "reserved 9007199254740992", 25)); // no message could carry the next
    versions_refused(OCT_EPROTO, FOLDER "/policy_versions: damaged: it has no 'reserved ");
    assert_int_equal(unlink(file), 0);
    run_stop(run_joined(true), "interrupted");
}

static void
test_run_resume_of_another_network_is_refused(void **state)
{
    (void)state;
    run_stop(run_joined(false), "interrupted");
    config.network.hidden.value[0] = 17;
    learner_run *run = NULL;
    T_ERR(run_create(&run, true), OCT_EINVAL); // before an actor comes
    assert_non_null(strstr(reason.text, "another algorithm, network or support"));
    assert_null(run);
    // Of a run whose environment the folder does not tell, when the first one comes.
    assert_int_equal(unlink(FOLDER "/environment.oct"), 0);
    run = run_begin(true);
    T_ERR(learner_run_begin(run, &good_env, &reason), OCT_EAGAIN);
    assert_non_null(strstr(reason.text, "another algorithm, network or support"));
    assert_int_equal(learner_run_phase(run), LEARNER_DONE);
    assert_true(learner_run_failed(run));
    learner_run_destroy(run);
}

// Its return, curve and events are those of the run that was there.
static void
test_run_whose_resume_is_refused_leaves_the_folder_as_it_was(void **state)
{
    (void)state;
    static const char *const names[] = {"summary.json", "curve.svg", "metrics.csv", "policy.oct"};
    char *before[OCT_COUNTOF(names)];
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    (void)run_published(run);
    run_evaluated(run, evaluator, 2, 80);
    run_stop(run, "solved");
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        before[i] = folder_read(FOLDER, names[i]);
    }
    uint32_t files = folder_count(FOLDER);
    config.network.hidden.value[0] = 17;
    T_ERR(run_create(&run, true), OCT_EINVAL);
    assert_int_equal(rename(FOLDER "/environment.oct", FOLDER "/away"), 0);
    run = run_begin(true);
    T_ERR(learner_run_begin(run, &good_env, &reason), OCT_EAGAIN);
    run_stop(run, "interrupted");
    assert_int_equal(rename(FOLDER "/away", FOLDER "/environment.oct"), 0);
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        char *after = folder_read(FOLDER, names[i]);
        assert_string_equal(after, before[i]);
        free(after);
        free(before[i]);
    }
    assert_int_equal(folder_count(FOLDER), files);
}

static void
test_run_resume_interrupted_before_any_actor_keeps_the_checkpoint(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    run_train(run, 5);
    run_stop(run, "interrupted");
    run_stop(run_begin(true), "interrupted");
    learner_checkpoint checkpoint = checkpoint_read();
    assert_int_equal(checkpoint.updates, 10);
    learner_checkpoint_fini(&checkpoint);
    json_t *summary = summary_read();
    assert_int_equal(json_integer_value(json_object_get(summary, "updates")), 10);
    json_decref(summary);
}

static void
test_run_resume_without_a_checkpoint_begins(void **state)
{
    (void)state;
    run_stop(run_joined(true), "interrupted");
    assert_true(folder_has(FOLDER, "checkpoint.oct"));
}

int
main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_run_keeps_the_scaling_of_its_checkpoint),
        T(test_run_goes_on_where_replay_is),
        T(test_run_that_learns_nothing_more_keeps_its_numbers),
        T(test_run_has_its_newest_policy_at_once),
        T(test_run_takes_answers_to_an_earlier_process),
        T(test_run_keeps_the_best_policy_over_resumes),
        T(test_run_ends_with_the_result_of_an_older_policy),
        T(test_run_resumed_beyond_its_budget_ends_with_a_result),
        T(test_run_resumed_reports_a_result_that_chose_nothing),
        T(test_run_resumed_when_solved_goes_on_until_another_is_confirmed),
        T(test_run_killed_in_its_final_evaluation_ends_as_it_would_have),
        T(test_run_killed_in_its_final_evaluation_goes_on_with_a_larger_budget),
        T(test_run_without_its_result_ends_when_it_is_resumed),
        T(test_run_resumes_with_a_policy_that_the_checkpoint_does_not_name),
        T(test_run_resumed_and_killed_leaves_no_old_summary),
        T(test_run_summary_is_of_the_policy_that_was_written),
        T(test_run_summary_has_the_precision_of_an_older_policy),
        T(test_run_resumes_without_the_policy_that_the_checkpoint_names),
        T(test_run_resumed_with_another_task_evaluates_its_policy_again),
        T(test_run_resumes_equal),
        T(test_run_resumed_does_not_count_old_steps),
        T(test_run_killed_right_after_its_start),
        T(test_run_resume_without_knowing_its_versions_is_refused),
        T(test_run_resume_of_another_network_is_refused),
        T(test_run_whose_resume_is_refused_leaves_the_folder_as_it_was),
        T(test_run_resume_interrupted_before_any_actor_keeps_the_checkpoint),
        T(test_run_resume_without_a_checkpoint_begins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
