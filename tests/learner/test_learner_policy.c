// Which policies a run publishes and saves: centred, scaled, and the fp32 twin of the best one.
#include <sys/stat.h>

#include "common/oct_csv.h"

#define FOLDER "test_learner_policy.run"
#include "tests/learner/run_fixture.h"

// Of the last layer only what tells its two actions apart is published.
static void
expect_twin_layer(const policy_image *best, const policy_image *twin, uint32_t l)
{
    uint32_t inputs = twin->spec.layers[l].inputs, outputs = twin->spec.layers[l].outputs;
    bool is_last = l + 1 == twin->spec.layer_count;
    for (uint32_t i = 0; i < inputs * outputs; i++) {
        float scale = best->scales[l][i / inputs];
        double want = (double)best->codes[l][i] * scale, got = (double)twin->weights[l][i];
        if (is_last) {
            got -=
                ((double)twin->weights[l][i % inputs] + twin->weights[l][inputs + i % inputs]) / 2;
        }
        T_NEAR(got, want, 0.501 * scale, 0);
    }
}

// The fp32 twin of the best policy has its version, its scaling and, within half a step of the
// codes, its weights; nobody has evaluated it.
static void
test_run_saves_the_weights_that_its_best_policy_was_made_from(void **state)
{
    (void)state;
    config.algo.learning_rate = config.algo.learning_rate_final = 0.05;
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    run_train(run, 3);
    uint64_t version = run_published(run)->version;
    run_evaluated(run, evaluator, 2, 60);
    run_train(run, 10);
    assert_true(run_published(run)->version > version); // weights that are far from those by now
    run_stop(run, "enough");
    policy_image *best = policy_read("policy.oct"), *twin = policy_read("policy.fp32.oct");
    assert_int_equal(twin->precision, POLICY_FP32);
    assert_int_equal(twin->origin.version, version);
    assert_int_equal(best->origin.version, version);
    assert_int_equal(twin->origin.run_id, best->origin.run_id);
    assert_true(isnan(twin->origin.eval_return));
    assert_memory_equal(twin->obs_mean, best->obs_mean, sizeof(rows.obs[0]));
    assert_memory_equal(twin->obs_inverse_std, best->obs_inverse_std, sizeof(rows.obs[0]));
    for (uint32_t l = 0; l < twin->spec.layer_count; l++) {
        expect_twin_layer(best, twin, l);
    }
    policy_image_destroy(best);
    policy_image_destroy(twin);
}

// A policy file has less room for names than the configuration.
static void
test_run_cuts_its_name_between_characters(void **state)
{
    (void)state;
    for (size_t i = 0; i < POLICY_NAME_MAX; i += 2) {
        memcpy(config.run.name + i, "\xc3\xa9", 3); // é
    }
    wire_env_spec env = good_env;
    char env_id[POLICY_NAME_MAX + 1];
    memcpy(env_id, config.run.name, sizeof(env_id));
    env.env_id = env_id;
    learner_run *run = run_begin(false);
    T_OK(learner_run_begin(run, &env, &reason));
    policy_image *image;
    const quantizer_publication *publication = run_published(run);
    T_OK(policy_decode(&image, publication->bytes, publication->length, &reason));
    assert_int_equal(strlen(image->origin.run_name), POLICY_NAME_MAX - 2);
    assert_string_equal(image->spec.env_id, image->origin.run_name);
    policy_image_destroy(image);
    run_stop(run, "enough");
}

// By what the newest policy multiplies the first entry of an observation; whether it was sent as a
// change of the version before.
static float
run_scale(learner_run *run, bool *is_change)
{
    policy_image *image;
    const quantizer_publication *publication = run_published(run);
    T_OK(policy_decode(&image, publication->bytes, publication->length, &reason));
    float scale = image->obs_inverse_std[0];
    *is_change = publication->delta != NULL;
    policy_image_destroy(image);
    return scale;
}

// The batches that are learned from make the scaling. It comes with a complete policy and stays
// over the changes behind it, over a checkpoint, and in the fp32 twin.
static void
test_run_publishes_scaled_observations(void **state)
{
    (void)state;
    config.learner.publish_core_share = 0;
    bool is_change;
    learner_run *run = run_joined(false);
    assert_true(run_scale(run, &is_change) == 1.0f && !is_change); // nothing was seen
    float scale = 1.0f;
    for (int i = 0; i < 200 && scale == 1.0f; i++) {
        run_train(run, 1);
        scale = run_scale(run, &is_change);
        assert_int_equal(is_change, scale == 1.0f);
    }
    assert_true(scale == 2.0f); // uniform from -1 to 1: a deviation of 0.58
    run_train(run, 1);
    assert_true(run_scale(run, &is_change) == 2.0f && is_change);
    run_stop(run, "interrupted");
    policy_image *best = policy_read("policy.oct"), *twin = policy_read("policy.fp32.oct");
    assert_true(best->obs_inverse_std[0] == 2.0f && best->obs_mean[0] != 0.0f);
    assert_memory_equal(twin->obs_mean, best->obs_mean, sizeof(rows.obs[0]));
    policy_image_destroy(best);
    policy_image_destroy(twin);
    run = run_joined(true);
    assert_true(run_scale(run, &is_change) == 2.0f);
    run_stop(run, "interrupted");
    config.policy.scale_observations = false;
    run = run_joined(true);
    assert_false(learner_run_spec(run)->normalise);
    run_stop(run, "interrupted");
}

// Bytes stay bytes.
static void
test_run_does_not_scale_bytes(void **state)
{
    (void)state;
    wire_env_spec bytes = good_env;
    bytes.obs_dtype = POLICY_U8;
    learner_run *run = run_begin(false);
    T_OK(learner_run_begin(run, &bytes, &reason));
    assert_false(learner_run_spec(run)->normalise);
    run_stop(run, "interrupted");
}

// What is told about publishing, in the row of the metrics and in the status.
static void
test_run_tells_what_publishing_costs(void **state)
{
    (void)state;
    config.learner.publish_core_share = 0;
    learner_run *run = run_joined(false);
    const quantizer_publication *first = run_published(run);
    assert_null(first->delta);
    T_NEAR(status_of(run, "learner.policy_bytes"), (double)first->length, 0, 0);
    T_NEAR(status_of(run, "learner.changed_share"), 1, 0, 0);
    run_train(run, 3);
    const quantizer_publication *second = run_published(run);
    assert_non_null(second->delta);
    size_t params = policy_spec_params(learner_run_spec(run));
    T_NEAR(status_of(run, "learner.policy_bytes"), (double)second->delta_length, 0, 0);
    T_NEAR(status_of(run, "learner.policy_bytes_fp32_ratio"),
           (double)second->delta_length / (4.0 * (double)params), 1e-9, 0);
    T_NEAR(status_of(run, "learner.policy_deltas"), 1, 0, 0);
    assert_true(status_of(run, "learner.quantization_l2") > 0);
    run_stop(run, "enough");
    char *text = folder_read(FOLDER, "metrics.csv");
    assert_non_null(strstr(text, ",policy_bytes,policy_bytes_fp32_ratio,changed_share,"));
    assert_non_null(strstr(text, ",layer_error_15,"));
    free(text);
}

// Of metrics.csv; NaN: empty.
static double
metric(const char *text, uint32_t row, const char *name)
{
    double values[256];
    uint32_t columns = 1, at = UINT32_MAX;
    size_t length = strlen(name);
    for (const char *head = text; *head != '\0' && *head != '\n'; columns += *head++ == ',') {
        bool begins = head == text || head[-1] == ',';
        if (begins && strncmp(head, name, length) == 0 && strchr(",\n", head[length]) != NULL) {
            at = columns - 1;
        }
    }
    assert_true(at < columns && columns <= OCT_COUNTOF(values));
    for (text = strchr(text, '\n') + 1; row > 0; row--) {
        text = strchr(text, '\n') + 1;
    }
    assert_true(oct_csv_parse(text, (size_t)(strchr(text, '\n') + 1 - text), columns, values));
    return values[at];
}

// Each evaluation after training has a row, and so has the one that training ended with; it is told
// where its policy was made, however late that is evaluated.
static void
test_run_tells_where_an_evaluated_policy_was_made(void **state)
{
    (void)state;
    config.run.env_steps = 1000;
    config.learner.publish_period = 1000;
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    (void)run_published_evaluated(run, evaluator, 60, 70);
    run_train(run, 2);
    double updates = status_of(run, "learner.updates");
    run_stepped(run, 1000);
    learner_run_tick(run);
    run_evaluated(run, evaluator, 4, 44); // the last version
    run_evaluated(run, evaluator, 4, 65); // what ships
    learner_run_save(run);
    learner_run_destroy(run);
    char *text = folder_read(FOLDER, "metrics.csv");
    static const double returns[] = {70, 44, 65};
    static const learner_eval_stage stages[] = {LEARNER_EVAL_FULL, LEARNER_EVAL_FULL,
                                                LEARNER_EVAL_RESULT};
    for (uint32_t row = 0; row < 3; row++) {
        bool is_last = row == 1;
        T_NEAR(metric(text, row, "env_steps"), 1000, 0, 0);
        T_NEAR(metric(text, row, "eval_return"), returns[row], 0, 0);
        T_NEAR(metric(text, row, "eval_stage"), stages[row], 0, 0);
        T_NEAR(metric(text, row, "eval_env_steps"), is_last ? 1000 : 0, 0, 0);
        T_NEAR(metric(text, row, "eval_updates"), is_last ? updates : 0, 0, 0);
        assert_true(metric(text, row, "eval_wall_s") <= metric(text, row, "wall_s"));
    }
    assert_true(metric(text, 2, "eval_wall_s") < metric(text, 1, "eval_wall_s"));
    free(text);
}

// Of critic and policy, where the algorithm has both; the policy may learn in some updates only.
static void
test_run_tells_the_norms_of_gradients(void **state)
{
    (void)state;
    static const float low[] = {-1}, high[] = {1};
    wire_env_spec box = good_env;
    box.action_kind = POLICY_BOX;
    box.action_count = 1;
    box.action_low = low;
    box.action_high = high;
    const config_algo_name names[] = {CONFIG_ALGO_TD3, CONFIG_ALGO_DQN};
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        config.algo.name = names[i];
        config.learner.metrics_s = 1e-9;
        learner_run *run = run_begin(false);
        T_OK(learner_run_begin(run, names[i] == CONFIG_ALGO_TD3 ? &box : &good_env, &reason));
        assert_true(isnan(status_of(run, "learner.grad_norm")));
        run_train(run, 2); // some updates, in every second of which td3's policy learns
        learner_run_tick(run);
        assert_true(status_of(run, "learner.grad_norm") > 0);
        double norm = status_of(run, "learner.policy_grad_norm");
        assert_true(names[i] == CONFIG_ALGO_TD3 ? norm > 0 : isnan(norm));
        run_stop(run, "enough");
    }
    char *text = folder_read(FOLDER, "metrics.csv");
    assert_non_null(strstr(text, ",grad_norm,policy_grad_norm\n"));
    free(text);
}

// ---- policy.oct and its weights over a kill

static void
policy_put(const char *name, const char *bytes, size_t length)
{
    char path[512];
    (void)snprintf(path, sizeof(path), FOLDER "/%s", name);
    T_OK(oct_file_write(path, bytes, length));
}

// A better version takes the place of the best; killed behind so many of the writes for that: the
// new weights, under another name; policy.oct; its weights under their name.
static void
test_run_killed_between_policy_and_weights_has_those_of_its_policy(void **state)
{
    (void)state;
    for (int writes = 0; writes <= 3; writes++) {
        static const char *const names[] = {"policy.oct", "policy.fp32.oct"};
        char *before[2], *after[2];
        size_t length_before[2], length_after[2];
        learner_run *run = run_joined(false);
        learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
        for (int i = 0; i < 2; i++) {
            run_train(run, 3);
            float mean = 80 + 10 * (float)i;
            uint64_t version = run_published_evaluated(run, evaluator, mean, mean);
            (void)learner_run_checkpoint(run);
            for (int k = 0; k < 2; k++) {
                char path[512];
                (void)snprintf(path, sizeof(path), FOLDER "/%s", names[k]);
                T_OK(oct_file_read(path, 1 << 26, (uint8_t **)(i == 0 ? &before[k] : &after[k]),
                                   i == 0 ? &length_before[k] : &length_after[k]));
                assert_int_equal(policy_origin_read(names[k]).version, version);
            }
            assert_false(folder_has(FOLDER, "policy.fp32.next"));
        }
        run_stop(run, "interrupted");
        policy_put("policy.oct", writes < 2 ? before[0] : after[0],
                   writes < 2 ? length_before[0] : length_after[0]);
        policy_put("policy.fp32.oct", writes < 3 ? before[1] : after[1],
                   writes < 3 ? length_before[1] : length_after[1]);
        if (writes == 1 || writes == 2) {
            policy_put("policy.fp32.next", after[1], length_after[1]);
        }
        learner_run_destroy(run_begin(true));
        assert_false(folder_has(FOLDER, "policy.fp32.next"));
        char *weights = folder_read(FOLDER, "policy.fp32.oct");
        assert_memory_equal(weights, writes < 2 ? before[1] : after[1], length_after[1]);
        free(weights);
        for (int k = 0; k < 2; k++) {
            free(before[k]);
            free(after[k]);
        }
        folder_begin(FOLDER);
    }
}

// The best version is an earlier process's, and that did not come to writing it: the checkpoint has
// its weights.
static void
test_run_resumed_writes_the_weights_of_an_earlier_best(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    run_train(run, 3);
    uint64_t version = run_published_evaluated(run, evaluator, 80, 80);
    run_stop(run, "interrupted");
    char *weights = folder_read(FOLDER, "policy.fp32.oct");
    policy_image *image = policy_read("policy.fp32.oct");
    size_t length = policy_encoded_size(image);
    policy_image_destroy(image);
    for (int with_policy = 0; with_policy < 2; with_policy++) {
        assert_int_equal(unlink(FOLDER "/policy.fp32.oct"), 0);
        assert_int_equal(with_policy == 1 ? 0 : unlink(FOLDER "/policy.oct"), 0);
        run = run_joined(true);
        run_stop(run, "interrupted");
        assert_int_equal(policy_origin_read("policy.oct").version, version);
        char *again = folder_read(FOLDER, "policy.fp32.oct");
        assert_memory_equal(again, weights, length);
        free(again);
    }
    free(weights);
}

// Without a better one that it was meant for: the weights of another version are not its own.
static void
test_run_resumed_drops_a_twin_of_another_version(void **state)
{
    (void)state;
    for (int is_other = 0; is_other < 2; is_other++) {
        learner_run *run = run_joined(false);
        (void)run_published(run);
        run_stop(run, "interrupted");
        policy_image *twin = policy_read("policy.fp32.oct");
        twin->origin.version += (uint64_t)is_other;
        size_t length = policy_encoded_size(twin);
        uint8_t *bytes = oct_alloc(length);
        policy_encode(twin, bytes);
        T_OK(oct_file_write(FOLDER "/policy.fp32.oct", bytes, length));
        free(bytes);
        policy_image_destroy(twin);
        learner_run_destroy(run_begin(true));
        assert_int_equal(folder_has(FOLDER, "policy.fp32.oct"), is_other == 0);
        folder_begin(FOLDER);
    }
}

// The update at work may take long, and whoever ends the run may not wait for it.
static void
test_run_that_ends_has_written_its_policy_before(void **state)
{
    (void)state;
    config.learner.checkpoint_s = 3600;
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    uint64_t version = run_published_evaluated(run, evaluator, 60, 70);
    learner_run_finish(run, "interrupted", false);
    assert_best(70, version);
    learner_run_destroy(run); // killed before it could save
}

// A run that is shorter than a publishing period ships what it has learned.
static void
test_run_evaluates_and_ships_its_last_updates(void **state)
{
    (void)state;
    config.run.env_steps = 1000;
    config.learner.publish_period = 1000;
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    (void)run_published(run);
    run_train(run, 2);
    run_stepped(run, 1000);
    learner_run_tick(run);
    assert_int_equal(learner_run_phase(run), LEARNER_FINAL);
    learner_eval_order order;
    T_OK(learner_run_order(run, evaluator->id, &order));
    assert_int_equal(order.publication->version, 2);
    assert_int_equal(order.publication->env_steps, 1000);
    run_evaluated(run, evaluator, 4, 44);
    run_evaluated(run, evaluator, 4, 33);
    assert_int_equal(learner_run_phase(run), LEARNER_DONE);
    double updates = status_of(run, "learner.updates");
    assert_true(updates > 0);
    learner_run_save(run);
    learner_run_destroy(run);
    T_NEAR((double)policy_origin_read("policy.oct").updates, updates, 0, 0);
    T_NEAR((double)policy_origin_read("policy_last.oct").updates, updates, 0, 0);
}

// Also where no number could be reserved all the time, as on a full disk.
static void
test_run_evaluates_its_last_updates_though_versions_are_held(void **state)
{
    (void)state;
    config.run.env_steps = 1000;
    config.learner.publish_period = 1000;
    T_OK(oct_file_make_folder(FOLDER "/policy_versions")); // in its way
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    run_train(run, 2);
    assert_null(learner_run_publish(run));
    run_stepped(run, 1000);
    learner_run_tick(run);
    assert_int_equal(learner_run_phase(run), LEARNER_FINAL);
    learner_eval_order order;
    T_OK(learner_run_order(run, evaluator->id, &order));
    assert_int_equal(order.publication->env_steps, 1000);
    assert_true(order.publication->updates > 0);
    learner_run_destroy(run);
    assert_int_equal(rmdir(FOLDER "/policy_versions"), 0);
}

// It may be gone on with, and is not to be waited for.
static void
test_run_that_is_interrupted_publishes_no_more(void **state)
{
    (void)state;
    config.learner.publish_period = 1000;
    learner_run *run = run_joined(false);
    (void)run_published(run);
    run_train(run, 2);
    run_stop(run, "interrupted");
    assert_int_equal(policy_origin_read("policy_last.oct").updates, 0);
}

// Whoever copies it sees a file that changed only if the policy has.
static void
test_run_writes_its_newest_policy_once(void **state)
{
    (void)state;
    static const char *const path[] = {FOLDER "/policy_last.oct", FOLDER "/policy.oct"};
    struct stat first[2], second[2];
    learner_run *run = run_joined(false);
    (void)run_published(run);
    (void)learner_run_checkpoint(run);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(stat(path[i], &first[i]), 0);
    }
    (void)learner_run_checkpoint(run);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(stat(path[i], &second[i]), 0);
        assert_int_equal(first[i].st_ino, second[i].st_ino);
        assert_int_equal(first[i].st_ctim.tv_nsec, second[i].st_ctim.tv_nsec);
    }
    run_train(run, 1);
    uint64_t version = run_published(run)->version;
    (void)learner_run_checkpoint(run);
    assert_int_equal(policy_origin_read("policy_last.oct").version, version);
    assert_int_equal(policy_origin_read("policy.oct").version, version);
    run_stop(run, "interrupted");
}

// What was learned while that was played is the last version, however good: it is not confirmed.
static void
test_run_that_is_solved_ships_what_solved_it(void **state)
{
    (void)state;
    config.run.stop_at_return = 50;
    config.learner.publish_period = 1000;
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    (void)run_published_evaluated(run, evaluator, 60, 70);
    run_train(run, 2);
    run_evaluated(run, evaluator, 4, 55); // confirms it
    assert_int_equal(learner_run_phase(run), LEARNER_FINAL);
    run_evaluated(run, evaluator, 4, 90); // the last version
    run_evaluated(run, evaluator, 4, 47);
    assert_int_equal(learner_run_phase(run), LEARNER_DONE);
    learner_run_save(run);
    learner_run_destroy(run);
    assert_best(47, 1);
    assert_int_equal(policy_origin_read("policy_last.oct").version, 2);
    char *text =
        folder_read(FOLDER, "metrics.csv"); // what confirmed it and its result are told apart
    T_NEAR(metric(text, 0, "eval_return"), 55, 0, 0);
    T_NEAR(metric(text, 0, "eval_stage"), LEARNER_EVAL_CONFIRM, 0, 0);
    T_NEAR(metric(text, 2, "eval_return"), 47, 0, 0);
    T_NEAR(metric(text, 2, "eval_stage"), LEARNER_EVAL_RESULT, 0, 0);
    free(text);
}

// Updates learn from rollouts of the newest policy: none is asked for before actors may have that.
static void
test_run_asks_for_no_rollouts_before_their_version_is_published(void **state)
{
    (void)state;
    static float extra[FIXTURE_ROWS_MAX];
    static const uint8_t flags[FIXTURE_ROWS_MAX];
    static const uint32_t version[FIXTURE_ROWS_MAX];
    config.algo.name = CONFIG_ALGO_PPO;
    config.algo.sequence_steps = 3;
    config.learner.batches_per_request = 1;
    learner_run *run = run_joined(false);
    wire_sampled sampled = fixture_sampled(&rows, FIXTURE_ROWS_MAX, &rng);
    sampled.count = FIXTURE_B;
    sampled.window_steps = config_rollout_rows(3) - 1;
    assert_true(FIXTURE_B * (sampled.window_steps + 1) <= FIXTURE_ROWS_MAX);
    sampled.flags = flags;
    sampled.version = version;
    sampled.extra_dim = 1;
    sampled.extra = extra; // log-probabilities
    for (int updates = 1; updates <= 2; updates++) {
        assert_int_equal(run_request(run), 0);
        (void)run_published(run);
        assert_int_equal(run_request(run), 1);
        run_sampled(run, 1, &sampled);
        for (learner_run_collect(run); status_of(run, "learner.updates") < updates;
             learner_run_collect(run)) {
            fixture_listen(&bell);
        }
    }
    assert_int_equal(run_request(run), 0);
    run_stop(run, "interrupted");
}

int
main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_run_saves_the_weights_that_its_best_policy_was_made_from),
        T(test_run_cuts_its_name_between_characters),
        T(test_run_publishes_scaled_observations),
        T(test_run_does_not_scale_bytes),
        T(test_run_tells_what_publishing_costs),
        T(test_run_tells_where_an_evaluated_policy_was_made),
        T(test_run_tells_the_norms_of_gradients),
        T(test_run_killed_between_policy_and_weights_has_those_of_its_policy),
        T(test_run_resumed_writes_the_weights_of_an_earlier_best),
        T(test_run_resumed_drops_a_twin_of_another_version),
        T(test_run_that_ends_has_written_its_policy_before),
        T(test_run_evaluates_and_ships_its_last_updates),
        T(test_run_evaluates_its_last_updates_though_versions_are_held),
        T(test_run_that_is_interrupted_publishes_no_more),
        T(test_run_that_is_solved_ships_what_solved_it),
        T(test_run_writes_its_newest_policy_once),
        T(test_run_asks_for_no_rollouts_before_their_version_is_published),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
