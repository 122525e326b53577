#ifndef TESTS_LEARNER_SHARDS_FIXTURE_H
#define TESTS_LEARNER_SHARDS_FIXTURE_H

#include "tests/learner/learner_fixture.h"
#include "tests/replay/replay_test.h"

#include "learner/learner_batches.h"

// Three tables with their rows, the learner's links to them, and the daemons between them.

#define SECOND  1000000000u
#define SHARDS  3u
#define WINDOWS 96u // of all actors, ROWS[i] of actor i
#define BATCH   32u
#define BETA    0.7

static const uint32_t ROWS[SHARDS] = {8, 56, 32};
static const uint8_t token_key[WIRE_TOKEN_KEY_BYTES] = {5};
static config_experiment config;
static policy_spec spec;
static replay_table *table[SHARDS]; // one for each actor
static test_actor actor[SHARDS];
static learner_source *source[SHARDS];
static learner_batches *batches;
static uint64_t now_ns, newest; // version

static inline replay_table *
table_make(void)
{
    wire_configure configure = test_configure(
        4096, config.replay.sampler == CONFIG_SAMPLER_PRIORITIZED ? WIRE_SAMPLER_PRIORITIZED
                                                                  : WIRE_SAMPLER_UNIFORM);
    configure.streams = SHARDS;
    configure.priority_exponent = config.replay.priority_exponent;
    configure.min_size = config.replay.min_size;
    configure.samples_per_insert = config.replay.samples_per_insert;
    configure.tolerance = config.replay.tolerance;
    return replay_table_create(&configure);
}

static inline void
connect(uint32_t s, uint64_t incarnation)
{
    assert_true(learner_source_needs_configure(source[s], now_ns));
    const wire_configured answer = {.incarnation = incarnation, .table = incarnation};
    learner_batches_configured(batches, s, OCT_OK, &answer);
}

// A learner that goes on from there.
static inline void
learner_begin(const learner_source_place place[SHARDS], double gone)
{
    const learner_batches_options options = {
        .source = {.config = &config,
                   .spec = &spec,
                   .wants = {.window = ALGO_WINDOW_N_STEP, .steps = 1},
                   .run_id = 7,
                   .token_key = token_key},
        .place = place,
        .gone = gone,
        .now_ns = now_ns,
    };
    batches = learner_batches_create(&options);
    for (uint32_t s = 0; s < SHARDS; s++) {
        source[s] = learner_batches_source(batches, s);
    }
}

static inline void
learner_end(void)
{
    learner_batches_destroy(batches);
}

static inline void
begin(config_sampler_name sampler)
{
    config = fixture_config();
    config.replay.sampler = sampler;
    config.replay.shards = SHARDS;
    config.replay.min_size = 1;
    config.replay.samples_per_insert = 0;
    config.replay.priority_exponent = 1;
    config.replay.importance_exponent = config.replay.importance_exponent_final = BETA;
    config.learner.batch_size = BATCH;
    spec = fixture_spec(TEST_OBS_FLOATS, 1u << 20);
}

// Tables with their rows, and links to them.
static inline void
start(void)
{
    static const learner_source_place none[SHARDS];
    now_ns = SECOND;
    learner_begin(none, 0);
    for (uint32_t s = 0; s < SHARDS; s++) {
        table[s] = table_make();
        test_actor_init(&actor[s], s, 100 + s);
        (void)test_insert(table[s], test_batch_steps(&actor[s], ROWS[s]));
        connect(s, 50 + s);
    }
}

static inline void
stop(void)
{
    learner_end();
    for (uint32_t s = 0; s < SHARDS; s++) {
        replay_table_destroy(table[s]);
    }
}

static inline int
stop_all(void **state)
{
    (void)state;
    if (batches != NULL) {
        stop();
        batches = NULL;
    }
    return 0;
}

// What the daemon does with a request. False: the limiter forbids it.
static inline bool
serve(uint32_t s, const wire_sample *request, wire_sampled *out)
{
    replay_table_set_others(table[s], &request->others);
    uint32_t allowed =
        request->batches == 0
            ? 0
            : replay_table_may_sample(table[s], request->batch_size, request->batches, 0);
    if (allowed > 0) {
        replay_table_sample(out, table[s], request->batch_size, allowed);
    } else {
        replay_table_counters(out, table[s]);
    }
    out->incarnation = 50 + s;
    return allowed > 0;
}

static inline void
tell(uint32_t s)
{
    wire_sample request;
    wire_sampled answer;
    if (learner_batches_tell(batches, s, false, now_ns, &request)) {
        assert_int_equal(request.batches, 0);
        (void)serve(s, &request, &answer);
        T_OK(learner_source_heard(source[s], &answer));
    }
}

// Each shard that is asked answers once.
static inline void
round_of(uint32_t first, uint32_t last)
{
    wire_sample request;
    wire_sampled answer;
    now_ns += SECOND / 100;
    for (uint32_t s = first; s <= last; s++) {
        tell(s);
    }
    for (uint32_t s = first; s <= last; s++) {
        uint32_t requested = learner_batches_request(batches, s, newest, now_ns, &request);
        if (requested > 0) {
            assert_int_equal(request.batch_size * request.batches, requested);
            (void)serve(s, &request, &answer);
            T_OK(learner_batches_sampled(batches, s, requested, &answer, now_ns));
        }
    }
}

// An actor's next rows, while the learner learns until they are taken. Gives the windows.
static inline uint32_t
rows_insert(uint32_t a, uint32_t rows)
{
    replay_insert inserted;
    const wire_batch *batch = test_batch_steps(&actor[a], rows);
    uint32_t waits = 0;
    while (replay_table_insert(&inserted, table[a], batch) == OCT_EAGAIN) {
        assert_true(waits++ < 1000);
        round_of(0, SHARDS - 1);
        learner_batch *whole;
        while ((whole = learner_batches_take(batches, 0, true)) != NULL) {
            learner_batches_give(batches, whole, now_ns);
        }
    }
    return inserted.windows;
}

#endif // TESTS_LEARNER_SHARDS_FIXTURE_H
