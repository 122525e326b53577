// How the learner deals with a replay: configuring it, lost connections, tables that come and go,
// priorities.
#include <stdlib.h>

#include "common/oct_reason.h"
#include "learner/learner_source.h"
#include "tests/learner/learner_fixture.h"

#define SECOND 1000000000ull

static config_experiment config;
static oct_rng rng;
static fixture_rows rows;
static policy_spec spec;
static const uint8_t token_key[WIRE_TOKEN_KEY_BYTES] = {7};
static learner_source_options options;

static int
setup(void **state)
{
    (void)state;
    config = fixture_config();
    oct_rng_init(&rng, 1, 0);
    spec = fixture_spec(FIXTURE_OBS, FIXTURE_ACTIONS);
    options = (learner_source_options){
        .config = &config,
        .spec = &spec,
        .wants = {.window = ALGO_WINDOW_N_STEP, .steps = 5},
        .batch_size = config.learner.batch_size,
        .run_id = 31,
        .token_key = token_key,
        .counts_from_zero = true,
    };
    return 0;
}

static void
options_sequences(uint32_t T, uint32_t stride)
{
    options.wants = (algo_wants){.window = ALGO_WINDOW_SEQUENCE,
                                 .steps = T,
                                 .stride = stride,
                                 .each_once = true,
                                 .lag_max = 4};
    spec.head = POLICY_HEAD_LOGITS;
}

// An answer of the process incarnation, whose table has taken so many steps.
static wire_sampled
answer(uint64_t incarnation, uint64_t steps)
{
    wire_sampled sampled = fixture_sampled(&rows, FIXTURE_B, &rng);
    sampled.incarnation = incarnation;
    sampled.steps = steps;
    return sampled;
}

// ---- what replay is configured with

static void
test_source_configures_windows_of_n_steps(void **state)
{
    (void)state;
    config.algo.discount = 0.9;
    config.algo.reward_clip = 2;
    config.actor.count = 3;
    config.actor.envs = 5;
    config.replay.sampler = CONFIG_SAMPLER_PRIORITIZED;
    options.epoch = 6;
    learner_source *source = learner_source_create(&options);
    wire_configure request = learner_source_limiter(source);
    assert_true(request.limiter_only && request.run_id == 31 && request.epoch == 6);
    request = learner_source_configure(source);
    assert_false(request.limiter_only);
    assert_int_equal(request.run_id, 31);
    assert_int_equal(request.epoch, 6);
    assert_int_equal(request.window, WIRE_WINDOW_N_STEP);
    assert_int_equal(request.window_steps, 5);
    assert_int_equal(request.window_stride, 0);
    assert_int_equal(request.streams, 15);
    assert_int_equal(request.extra_dim, 0);
    assert_int_equal(request.sampler, WIRE_SAMPLER_PRIORITIZED);
    T_NEAR(request.discount, 0.9, 0, 0);
    T_NEAR(request.reward_clip, 2, 0, 0);
    T_NEAR(request.samples_per_insert, config.replay.samples_per_insert, 0, 0);
    assert_memory_equal(request.token_key, token_key, sizeof(token_key));
    learner_source_destroy(source);
    config.replay.sampler = CONFIG_SAMPLER_FIFO; // no ratio, and no first number of windows
    request = learner_source_table(&options);
    T_NEAR(request.samples_per_insert, 1, 0, 0);
    assert_int_equal(request.min_size, 1);
}

static uint64_t
seed_of_shard(uint64_t seed, uint32_t shard)
{
    config.run.seed = seed;
    options.shard = shard;
    learner_source *source = learner_source_create(&options);
    uint64_t given = learner_source_configure(source).seed;
    learner_source_destroy(source);
    return given;
}

static void
test_source_gives_each_shard_a_seed_of_its_own(void **state)
{
    (void)state;
    assert_true(seed_of_shard(5, 0) == 5);
    assert_true(seed_of_shard(5, 1) != seed_of_shard(5, 2));
    assert_true(seed_of_shard(2, 1) != seed_of_shard(1, 2));
}

// Windows that come once are taken oldest first, and no more samples are waited for than come.
// Of a data set alone, what the keys say of a table that actors fill does not count.
static void
test_source_asks_for_a_data_set_of_any_size(void **state)
{
    (void)state;
    (void)snprintf(config.replay.data, sizeof(config.replay.data), "steps.data");
    config.actor.count = 3;
    config.replay.capacity = 100;
    config.replay.min_size = 300000;
    config.replay.tolerance = 0.5;
    for (int is_offline = 1; is_offline >= 0; is_offline--) {
        config.replay.data_share = is_offline ? 1 : 0.5;
        wire_configure request = learner_source_table(&options);
        assert_int_equal(request.streams, is_offline ? 1 : 3 * config.actor.envs);
        assert_int_equal(request.min_size, is_offline ? 1 : 300000);
        assert_true((request.capacity > 300000) == (is_offline == 1));
        T_NEAR(request.samples_per_insert, is_offline ? 0 : config.replay.samples_per_insert, 0, 0);
        T_NEAR(request.tolerance, is_offline ? 0 : 0.5, 0, 0);
    }
}

static void
test_source_configures_sequences_that_come_once(void **state)
{
    (void)state;
    config.replay.sampler = CONFIG_SAMPLER_PRIORITIZED;
    config.replay.samples_per_insert = 8;
    options_sequences(20, 7);
    wire_configure request = learner_source_table(&options);
    assert_int_equal(request.window, WIRE_WINDOW_SEQUENCE);
    assert_int_equal(request.window_steps, 20);
    assert_int_equal(request.window_stride, 7);
    assert_int_equal(request.extra_dim, 1);
    assert_int_equal(request.sampler, WIRE_SAMPLER_FIFO);
    T_NEAR(request.samples_per_insert, 1, 0, 0);
    assert_int_equal(request.min_size, 1);
    config.replay.samples_per_insert = 0; // has no effect
    T_NEAR(learner_source_table(&options).samples_per_insert, 1, 0, 0);
}

// ---- the link

static void
test_source_is_configured_once_and_again_when_refused(void **state)
{
    (void)state;
    learner_source *source = learner_source_create(&options);
    uint64_t at = 20 * SECOND;
    assert_true(learner_source_needs_configure(source, at));
    assert_false(learner_source_needs_configure(source, at + 9 * SECOND)); // it is on its way
    learner_source_configured(source, OCT_ETIMEDOUT, NULL);
    assert_false(learner_source_is_configured(source));
    assert_false(learner_source_needs_configure(source, at + 1000)); // not so soon
    assert_true(learner_source_needs_configure(source, at + SECOND));
    learner_source_configured(source, OCT_OK, NULL);
    assert_true(learner_source_is_configured(source));
    assert_false(learner_source_needs_configure(source, at + 90 * SECOND));
    // A replay that was restarted has no table.
    wire_sampled sampled = {.incarnation = 4, .configured = false};
    T_ERR(learner_source_heard(source, &sampled), OCT_EAGAIN);
    assert_false(learner_source_is_configured(source));
    assert_true(learner_source_needs_configure(source, at + 91 * SECOND));
    learner_source_destroy(source);
}

static void
test_source_tells_of_loss_and_return_once(void **state)
{
    (void)state;
    learner_source *source = learner_source_create(&options);
    assert_false(learner_source_back(source));
    assert_true(learner_source_lost(source));
    assert_false(learner_source_lost(source));
    assert_true(learner_source_is_lost(source));
    assert_true(learner_source_back(source));
    assert_false(learner_source_back(source));
    assert_false(learner_source_is_lost(source));
    learner_source_destroy(source);
}

// ---- requests

// One answer holds so many rows: fewer batches are asked for, or none can be.
static void
test_source_asks_for_what_one_answer_holds(void **state)
{
    (void)state;
    oct_reason why = {""};
    options_sequences(16384, 0);
    options.batch_size = 32;
    T_OK(learner_source_check(&options, &why));
    assert_int_equal(learner_source_request_max(&options), 2);
    options.batch_size = 64;
    T_OK(learner_source_check(&options, &why));
    assert_int_equal(learner_source_request_max(&options), 1);
    options.batch_size = 65;
    T_ERR(learner_source_check(&options, &why), OCT_EINVAL);
    assert_non_null(strstr(why.text, "learner.batch_size: 65 windows of 16384 rows"));
    options.wants.steps = 16385;
    T_ERR(learner_source_check(&options, &why), OCT_EINVAL);
    assert_string_equal(
        why.text,
        "algo.sequence_steps: 500 makes windows of 16385 steps; at most 16384 are allowed");
    options_sequences(100, 0);
    spec.obs_count = 1u << 18; // a MiB each
    options.batch_size = 2;
    T_ERR(learner_source_check(&options, &why), OCT_EINVAL);
}

// An actor does not cut a rollout, so it is refused before there are actors.
static void
test_source_refuses_rollouts_that_no_message_holds(void **state)
{
    (void)state;
    oct_reason why = {""};
    config.algo.name = CONFIG_ALGO_PPO;
    config.algo.sequence_steps = 320;
    config.actor.envs = 8;
    options_sequences(config_rollout_rows(320) - 1, 0);
    options.wants.window = ALGO_WINDOW_ROLLOUT;
    spec.obs_count = 84 * 84;
    T_ERR(learner_source_check(&options, &why), OCT_EINVAL);
    assert_string_equal(why.text,
                        "algo.sequence_steps: one message to replay cannot hold 320 steps "
                        "of actor.envs: 8 environments with observations of 28224 bytes; "
                        "at most 235 steps, or 5 environments, fit");
    config.algo.sequence_steps = 235;
    T_OK(learner_source_check(&options, &why));
    config.algo.sequence_steps = 236;
    T_ERR(learner_source_check(&options, &why), OCT_EINVAL);
    config.algo.sequence_steps = 320;
    config.actor.envs = 5;
    T_OK(learner_source_check(&options, &why));
}

static void
test_source_refuses_environments_whose_step_no_message_holds(void **state)
{
    (void)state;
    oct_reason why = {""};
    spec.obs_count = 1u << 18; // a MiB each
    options.batch_size = 1;
    config.actor.envs = 22;
    T_ERR(learner_source_check(&options, &why), OCT_EINVAL);
    assert_string_equal(why.text, "actor.envs: one message to replay cannot hold a step of 22 "
                                  "environments with observations of 1048576 bytes; at most 21 "
                                  "environments fit");
    config.actor.envs = 21;
    T_OK(learner_source_check(&options, &why));
}

// ---- priorities

// The windows of an answer were learned from: window i has priority i.
static void
learned(learner_source *source, uint64_t incarnation)
{
    float priority[FIXTURE_B];
    wire_sampled sampled = answer(incarnation, 0);
    T_OK(learner_source_heard(source, &sampled));
    for (int i = 0; i < FIXTURE_B; i++) {
        priority[i] = (float)i;
    }
    learner_source_return(source, incarnation, FIXTURE_B, sampled.key, priority);
}

static void
test_source_returns_priorities_of_what_was_learned(void **state)
{
    (void)state;
    wire_priorities priorities;
    learner_source *source = learner_source_create(&options);
    assert_false(learner_source_priorities(source, &priorities));
    learned(source, 9);
    assert_true(learner_source_priorities(source, &priorities));
    assert_int_equal(priorities.run_id, 31);
    assert_int_equal(priorities.incarnation, 9);
    assert_int_equal(priorities.count, FIXTURE_B);
    assert_memory_equal(priorities.key, rows.key, FIXTURE_B * sizeof(uint64_t));
    assert_true(priorities.priority[3] == 3.0f);
    assert_false(learner_source_priorities(source, &priorities)); // each once
    learner_source_destroy(source);
}

// Keys of a dead replay would name other windows in the new one.
static void
test_source_drops_priorities_of_a_dead_replay(void **state)
{
    (void)state;
    wire_priorities priorities;
    const float priority = 1;
    learner_source *source = learner_source_create(&options);
    learned(source, 9);
    wire_sampled fresh = answer(10, 0);
    T_OK(learner_source_heard(source, &fresh));
    assert_false(learner_source_priorities(source, &priorities));
    learner_source_return(source, 9, 1, fresh.key, &priority);
    assert_false(learner_source_priorities(source, &priorities));
    learned(source, 10);
    assert_true(learner_source_priorities(source, &priorities));
    assert_int_equal(priorities.incarnation, 10);
    assert_int_equal(priorities.count, FIXTURE_B);
    learner_source_destroy(source);
}

static void
test_source_has_no_priorities_where_nobody_samples_by_them(void **state)
{
    (void)state;
    wire_priorities priorities;
    config.replay.sampler = CONFIG_SAMPLER_UNIFORM;
    learner_source *source = learner_source_create(&options);
    learned(source, 9);
    assert_false(learner_source_priorities(source, &priorities));
    learner_source_destroy(source);
}

// Nobody collects them: those that do not fit are left out, nothing is overrun.
static void
test_source_bounds_its_priorities(void **state)
{
    (void)state;
    wire_priorities priorities;
    learner_source *source = learner_source_create(&options);
    for (int i = 0; i < 100; i++) {
        learned(source, 9);
    }
    assert_true(learner_source_priorities(source, &priorities));
    assert_int_equal(priorities.count, 16 * FIXTURE_B);
    learner_source_destroy(source);
}

// A turn of lock-step may have learned from more windows than one message may name.
static void
test_source_gives_as_many_priorities_as_a_message_may_have(void **state)
{
    (void)state;
    const uint64_t last = WIRE_SAMPLE_COUNT_MAX + 1;
    wire_priorities priorities;
    config.run.deterministic = true;
    learner_source *source = learner_source_create(&options);
    learned(source, 9);
    assert_true(learner_source_priorities(source, &priorities));
    for (uint64_t key = 0; key < last; key++) {
        float priority = (float)(key % 1000);
        learner_source_return(source, 9, 1, &key, &priority);
    }
    assert_true(learner_source_priorities(source, &priorities));
    assert_int_equal(priorities.count, WIRE_SAMPLE_COUNT_MAX);
    for (uint64_t i = 0; i < priorities.count; i++) {
        assert_true(priorities.key[i] == i && priorities.priority[i] == (float)(i % 1000));
    }
    assert_true(learner_source_has_priorities(source));
    const float behind = 7.5f;
    learner_source_return(source, 9, 1, &last, &behind); // learned meanwhile
    assert_true(learner_source_priorities(source, &priorities));
    assert_int_equal(priorities.count, 2);
    assert_int_equal(priorities.key[0], WIRE_SAMPLE_COUNT_MAX);
    assert_int_equal(priorities.key[1], last);
    assert_true(priorities.priority[1] == behind);
    assert_false(learner_source_has_priorities(source));
    assert_false(learner_source_priorities(source, &priorities));
    learner_source_destroy(source);
}

// ---- numbers

static void
told(learner_source *source, uint64_t incarnation, uint64_t inserts)
{
    wire_sampled sampled = {.incarnation = incarnation,
                            .configured = true,
                            .inserts = inserts,
                            .size = inserts / 2,
                            .samples = 3 * inserts,
                            .balance = (double)inserts,
                            .given_up = inserts / 10,
                            .steps = inserts + 7};
    T_OK(learner_source_heard(source, &sampled));
}

// What replay took while this process ran; what another one had before is unknown.
static void
test_source_counts_steps_that_replay_took_while_it_ran(void **state)
{
    (void)state;
    for (int fresh = 0; fresh < 2; fresh++) {
        options.counts_from_zero = fresh != 0;
        learner_source *source = learner_source_create(&options);
        told(source, 5, 100);
        assert_int_equal(learner_source_count(source).steps, fresh != 0 ? 107 : 0);
        told(source, 5, 130);
        assert_int_equal(learner_source_count(source).steps, fresh != 0 ? 137 : 30);
        told(source, 5, 110); // an answer that was overtaken
        assert_int_equal(learner_source_count(source).samples, 390);
        assert_int_equal(learner_source_count(source).size, 65);
        T_NEAR(learner_source_count(source).balance, 130, 1e-9, 0);
        told(source, 5, 130);
        assert_int_equal(learner_source_count(source).steps, fresh != 0 ? 137 : 30);
        told(source, 6, 1000); // another process: what it had before is unknown
        told(source, 6, 1001);
        learner_source_counts counts = learner_source_count(source);
        assert_int_equal(counts.steps, fresh != 0 ? 138 : 31);
        assert_int_equal(counts.incarnation, 6);
        assert_int_equal(counts.size, 500);
        assert_int_equal(counts.samples, 3003);
        assert_int_equal(counts.given_up, 100);
        learner_source_destroy(source);
    }
}

static void
test_source_counts_what_arrived(void **state)
{
    (void)state;
    learner_source *source = learner_source_create(&options);
    assert_int_equal(learner_source_count(source).first_sample_ns, 0);
    told(source, 5, 100);
    learner_source_arrived(source, FIXTURE_B, 14 * SECOND);
    told(source, 5, 130);
    learner_source_arrived(source, 3, 15 * SECOND);
    learner_source_bad(source);
    learner_source_counts counts = learner_source_count(source);
    assert_int_equal(counts.windows, FIXTURE_B + 3);
    assert_int_equal(counts.missed, 390 - FIXTURE_B - 3);
    assert_int_equal(counts.first_sample_ns, 14 * SECOND);
    assert_int_equal(counts.first_sample_steps, 107);
    assert_int_equal(counts.bad_samples, 1);
    learner_source_destroy(source);
}

// Answers with a batch of windows each.
static void
learn(learner_source *source, uint32_t batches, uint64_t incarnation, uint64_t taken)
{
    for (uint32_t i = 0; i < batches; i++) {
        wire_sampled sampled = answer(incarnation, taken);
        T_OK(learner_source_heard(source, &sampled));
        learner_source_arrived(source, FIXTURE_B, 0);
    }
}

// A run that goes on: what replay took meanwhile counts, and replay hears how much of what it gave
// was learned from.
static void
test_source_goes_on_with_a_table(void **state)
{
    (void)state;
    options.counts_from_zero = false;
    options.place = (learner_source_place){.table = 77, .steps = 1000, .samples = 4096};
    learner_source *source = learner_source_create(&options);
    wire_configure request = learner_source_configure(source);
    assert_int_equal(request.table, 77);
    assert_int_equal(request.samples, 4096);
    assert_false(learner_source_found(source).is_known);
    const wire_configured state_then = {.incarnation = 5,
                                        .table = 77,
                                        .steps = 1300,
                                        .samples = 4096 + 10 * FIXTURE_B,
                                        .returned = 10 * FIXTURE_B};
    learner_source_configured(source, OCT_OK, &state_then);
    learner_source_ahead ahead = learner_source_found(source);
    assert_true(ahead.is_known && !ahead.is_other);
    assert_true(ahead.steps == 300 && ahead.lost == 0);
    assert_int_equal(ahead.batches, 10);
    assert_int_equal(ahead.returned, 10);
    assert_int_equal(learner_source_count(source).steps, 300);
    learn(source, 3, 5, 1350);
    assert_int_equal(learner_source_count(source).steps, 350);
    learner_source_place place =
        learner_source_place_after(source, 2 * FIXTURE_B); // as of a state before
    assert_int_equal(place.table, 77);
    assert_int_equal(place.steps, 1350);
    assert_int_equal(place.samples, 4096 + 2 * FIXTURE_B);
    // Replay was killed and has its table again, with steps that nobody was told of.
    const wire_configured state_now = {.incarnation = 6, .table = 77, .steps = 1400};
    request = learner_source_configure(source);
    assert_int_equal(request.samples, 4096 + 3 * FIXTURE_B);
    learner_source_configured(source, OCT_OK, &state_now);
    assert_int_equal(learner_source_count(source).steps, 400);
    assert_int_equal(learner_source_count(source).samples, 0); // as it says, not as it was
    assert_int_equal(learner_source_found(source).steps, 300); // as it was found
    learner_source_destroy(source);
}

// A table that begins anew: all that it takes is of this run, and nothing was drawn from it before.
static void
test_source_goes_on_with_another_table(void **state)
{
    (void)state;
    options.counts_from_zero = false;
    options.place = (learner_source_place){.table = 77, .steps = 1000, .samples = 4096};
    learner_source *source = learner_source_create(&options);
    const wire_configured other = {.incarnation = 5, .table = 79, .steps = 40, .samples = 64};
    learner_source_configured(source, OCT_OK, &other);
    learner_source_ahead ahead = learner_source_found(source);
    assert_true(ahead.is_known && ahead.is_other && ahead.lost == 1000);
    assert_int_equal(learner_source_count(source).steps, 40);
    learn(source, 2, 5, 50);
    assert_int_equal(learner_source_count(source).steps, 50);
    learner_source_place place = learner_source_place_after(source, 2 * FIXTURE_B);
    assert_int_equal(place.table, 79);
    assert_int_equal(place.samples, 2 * FIXTURE_B);
    const wire_configured third = {.incarnation = 6, .table = 81};
    learner_source_configured(source, OCT_OK, &third);
    learn(source, 1, 6, 7);
    assert_int_equal(learner_source_count(source).steps, 57);
    assert_int_equal(learner_source_place_after(source, 3 * FIXTURE_B).samples, FIXTURE_B);
    assert_int_equal(learner_source_place_after(source, 1 * FIXTURE_B).samples,
                     0); // none of it was of this table
    learner_source_destroy(source);
}

static void
configured(learner_source *source, uint64_t incarnation, uint64_t table, uint64_t steps)
{
    const wire_configured answer = {.incarnation = incarnation, .table = table, .steps = steps};
    learner_source_configured(source, OCT_OK, &answer);
}

// Replay was started with the wrong path, and then with the right one: what its table had taken
// counts once, also over a checkpoint, and replay hears how much of it was learned from.
static void
test_source_counts_a_table_that_comes_back_once(void **state)
{
    (void)state;
    learner_source *source = learner_source_create(&options);
    configured(source, 1, 77, 100);
    learn(source, 2, 1, 100);
    assert_false(learner_source_had(source, 77)); // it has it
    configured(source, 2, 78, 50);
    assert_true(learner_source_had(source, 77));
    assert_false(learner_source_had(source, 78));
    learn(source, 1, 2, 60);
    configured(source, 3, 77, 120);
    assert_int_equal(learner_source_count(source).steps, 180);
    assert_int_equal(learner_source_configure(source).table, 77);
    assert_int_equal(learner_source_configure(source).samples, 2 * FIXTURE_B);
    learn(source, 1, 3, 130);
    assert_int_equal(learner_source_configure(source).samples, 3 * FIXTURE_B);
    learner_source_place place = learner_source_place_after(source, 4 * FIXTURE_B);
    learner_source_destroy(source);

    options.counts_from_zero = false;
    options.place = place;
    source = learner_source_create(&options);
    configured(source, 4, 78, 65);
    learner_source_ahead ahead = learner_source_found(source);
    assert_true(ahead.is_known && ahead.is_other && ahead.is_earlier);
    assert_int_equal(learner_source_count(source).steps, 5);
    assert_int_equal(learner_source_configure(source).samples, FIXTURE_B);
    configured(source, 5, 77, 110); // it has lost some
    assert_int_equal(learner_source_count(source).steps, 5);
    learner_source_destroy(source);
}

// So many are remembered; then the one that was away longest is forgotten.
static void
test_source_remembers_the_last_tables(void **state)
{
    (void)state;
    learner_source *source = learner_source_create(&options);
    for (uint64_t i = 0; i <= LEARNER_TABLES_KEPT; i++) {
        assert_false(learner_source_had(source, 0)); // no table
        configured(source, i + 1, 100 + i, 10);
        assert_false(learner_source_found(source).is_known); // the run began without one
    }
    uint64_t steps = learner_source_count(source).steps;
    assert_int_equal(steps, 10 * (LEARNER_TABLES_KEPT + 1));
    configured(source, 50, 100, 10);
    assert_int_equal(learner_source_count(source).steps, steps);
    configured(source, 51, 200, 10);
    assert_false(learner_source_had(source, 101));
    for (uint64_t i = 2; i <= LEARNER_TABLES_KEPT; i++) {
        assert_true(learner_source_had(source, 100 + i));
    }
    assert_true(learner_source_had(source, 100));
    learner_source_destroy(source);
}

// The power failed: steps that had been counted are lost, and stay counted.
static void
test_source_goes_on_with_a_table_that_lost_steps(void **state)
{
    (void)state;
    options.counts_from_zero = false;
    options.place = (learner_source_place){.table = 77, .steps = 1000, .samples = 4096};
    learner_source *source = learner_source_create(&options);
    const wire_configured less = {.incarnation = 5, .table = 77, .steps = 900, .samples = 4000};
    learner_source_configured(source, OCT_OK, &less);
    assert_int_equal(learner_source_found(source).steps, -100);
    assert_int_equal(learner_source_found(source).batches, 0);
    assert_int_equal(learner_source_count(source).steps, 0);
    learn(source, 1, 5, 950);
    assert_int_equal(learner_source_count(source).steps, 50);
    learner_source_destroy(source);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_source_configures_windows_of_n_steps, setup),
        cmocka_unit_test_setup(test_source_gives_each_shard_a_seed_of_its_own, setup),
        cmocka_unit_test_setup(test_source_asks_for_a_data_set_of_any_size, setup),
        cmocka_unit_test_setup(test_source_configures_sequences_that_come_once, setup),
        cmocka_unit_test_setup(test_source_is_configured_once_and_again_when_refused, setup),
        cmocka_unit_test_setup(test_source_tells_of_loss_and_return_once, setup),
        cmocka_unit_test_setup(test_source_asks_for_what_one_answer_holds, setup),
        cmocka_unit_test_setup(test_source_refuses_rollouts_that_no_message_holds, setup),
        cmocka_unit_test_setup(test_source_refuses_environments_whose_step_no_message_holds, setup),
        cmocka_unit_test_setup(test_source_returns_priorities_of_what_was_learned, setup),
        cmocka_unit_test_setup(test_source_drops_priorities_of_a_dead_replay, setup),
        cmocka_unit_test_setup(test_source_has_no_priorities_where_nobody_samples_by_them, setup),
        cmocka_unit_test_setup(test_source_bounds_its_priorities, setup),
        cmocka_unit_test_setup(test_source_gives_as_many_priorities_as_a_message_may_have, setup),
        cmocka_unit_test_setup(test_source_counts_steps_that_replay_took_while_it_ran, setup),
        cmocka_unit_test_setup(test_source_goes_on_with_a_table, setup),
        cmocka_unit_test_setup(test_source_goes_on_with_another_table, setup),
        cmocka_unit_test_setup(test_source_counts_a_table_that_comes_back_once, setup),
        cmocka_unit_test_setup(test_source_remembers_the_last_tables, setup),
        cmocka_unit_test_setup(test_source_goes_on_with_a_table_that_lost_steps, setup),
        cmocka_unit_test_setup(test_source_counts_what_arrived, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
