// The learner's view of one replay: link state, batches in flight, priorities in flight
// back.
#include "learner/learner_source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_rng.h"
#include "proto/wire_token.h"

#define CONFIGURE_RETRY_NS 200000000u
#define SAMPLE_HOLD_MS     500 // how long replay may keep a request while its limiter forbids it
#define PRIORITY_BATCHES   16
#define DATA_ROWS_MAX      (UINT64_C(1) << 31) // that a data set may have

struct learner_source {
    learner_source_options options;
    uint8_t token_key[WIRE_TOKEN_KEY_BYTES];
    uint32_t request_max; // batches in one request

    // link
    bool configured;
    bool configuring;
    bool lost;
    uint64_t configured_ns; // last attempt; 0: none yet

    // batches
    uint32_t count;
    learner_batch **all;  // [count]
    learner_batch **free; // [count], free_count of them
    uint32_t free_count;
    uint32_t promised;
    learner_batch **filled; // [count], a ring from filled_first
    uint32_t filled_first, filled_count;
    uint32_t taken;
    uint64_t arrived; // batches that were ever filled, or windows of a shard
    uint64_t idle_ns; // since when none is filled or taken; 0: some are

    uint64_t *key;
    float *priority;
    uint32_t priority_count, priority_room;
    uint32_t priority_given; // the first of them: they leave with the next ones

    uint64_t newest_version; // at the last request
    // The table at hand, with its steps as replay last said, and the windows that were learned from
    // before the first batch of this process: of batches_before - 1 and earlier none is of it.
    learner_source_place place;
    uint64_t batches_before;
    learner_source_ahead ahead;
    bool asked; // since it was configured: its counters are known soon
    bool known; // and were heard
    learner_source_counts counts;
};

// ---- shapes

static bool
is_sequence(const learner_source_options *options)
{
    return options->wants.window != ALGO_WINDOW_N_STEP;
}

static bool
is_rollout(const learner_source_options *options)
{
    return options->wants.window == ALGO_WINDOW_ROLLOUT;
}

bool
learner_source_takes(const learner_source_options *options)
{
    return options->wants.each_once || options->config->replay.sampler == OCT_SAMPLER_FIFO;
}

uint32_t
learner_source_in_work(const learner_source_options *options)
{
    return is_rollout(options) ? 1 + options->wants.lag_max
                               : OCT_MAX(2u, options->config->learner.prefetch) +
                                     learner_source_request_max(options);
}

// T of algo_batch.
static uint32_t
rows_of(const learner_source_options *options)
{
    return is_sequence(options) ? options->wants.steps : 0;
}

static uint32_t
batches_of(const learner_source_options *options)
{
    return options->is_shard ? 0 : learner_source_in_work(options);
}

uint64_t
learner_source_bytes(const learner_source_options *options)
{
    return batches_of(options) *
           (uint64_t)learner_batch_bytes(options->spec, options->batch_size, rows_of(options));
}

// ---- life

learner_source *
learner_source_create(const learner_source_options *options)
{
    learner_source *source = oct_alloc(sizeof(*source));
    source->options = *options;
    memcpy(source->token_key, options->token_key, sizeof(source->token_key));
    source->options.token_key = source->token_key;
    source->request_max = learner_source_request_max(options);
    OCT_ASSERT(source->request_max > 0);
    source->count = batches_of(options);
    source->all = oct_alloc(source->count * sizeof(*source->all));
    source->free = oct_alloc(source->count * sizeof(*source->free));
    source->filled = oct_alloc(source->count * sizeof(*source->filled));
    for (uint32_t i = 0; i < source->count; i++) {
        source->all[i] = learner_batch_create(options->spec, options->batch_size, rows_of(options));
        source->free[source->free_count++] = source->all[i];
    }
    source->priority_room = PRIORITY_BATCHES * options->batch_size;
    source->key = oct_alloc(source->priority_room * sizeof(*source->key));
    source->priority = oct_alloc(source->priority_room * sizeof(*source->priority));
    source->idle_ns = options->now_ns;
    source->counts.lag = source->counts.lag_max = NAN;
    source->place = options->place;
    source->counts.inserts = options->place.inserts;
    source->counts.balance = options->place.balance;
    return source;
}

void
learner_source_destroy(learner_source *source)
{
    if (source == NULL) {
        return;
    }
    for (uint32_t i = 0; i < source->count; i++) {
        learner_batch_destroy(source->all[i]);
    }
    free(source->all);
    free(source->free);
    free(source->filled);
    free(source->key);
    free(source->priority);
    explicit_bzero(source->token_key, sizeof(source->token_key));
    free(source);
}

uint32_t
learner_source_batches(const learner_source *source)
{
    return source->count;
}

// ---- the link

wire_configure
learner_source_table(const learner_source_options *options)
{
    static const wire_sampler samplers[] = {
        [OCT_SAMPLER_UNIFORM] = WIRE_SAMPLER_UNIFORM,
        [OCT_SAMPLER_PRIORITIZED] = WIRE_SAMPLER_PRIORITIZED,
        [OCT_SAMPLER_FIFO] = WIRE_SAMPLER_FIFO,
    };
    const oct_config *config = options->config;
    const policy_spec *spec = options->spec;
    const algo_wants *wants = &options->wants;
    // Windows that come once have neither a ratio of samples nor a least number. Those of a data
    // set are there: replay takes the table's size from it (replay_data_fit).
    bool each_once = learner_source_takes(options), is_offline = oct_config_is_offline(config);
    wire_configure configure = {
        .run_id = options->run_id,
        .epoch = options->epoch,
        .capacity = is_offline ? DATA_ROWS_MAX : oct_config_shard_capacity(config),
        .streams = is_offline ? 1 : (uint32_t)oct_config_environments(config),
        .obs_bytes = (uint32_t)policy_spec_obs_bytes(spec),
        .obs_is_float = spec->obs_dtype == POLICY_F32,
        .action_bytes = (uint32_t)policy_spec_action_bytes(spec),
        .action_is_float = spec->action_kind == POLICY_BOX,
        .action_count = spec->action_kind == POLICY_DISCRETE ? spec->action_count : 0,
        .extra_dim = policy_spec_extra_dim(spec),
        .sampler = each_once ? WIRE_SAMPLER_FIFO : samplers[config->replay.sampler],
        .priority_exponent = config->replay.priority_exponent,
        .window = is_rollout(options)    ? WIRE_WINDOW_ROLLOUT
                  : is_sequence(options) ? WIRE_WINDOW_SEQUENCE
                                         : WIRE_WINDOW_N_STEP,
        .window_steps = wants->steps,
        .window_stride = is_sequence(options) ? wants->stride : 0,
        .discount = config->algo.discount,
        .reward_clip = config->algo.reward_clip,
        .min_size = each_once || is_offline ? 1 : config->replay.min_size,
        .samples_per_insert = is_offline  ? 0
                              : each_once ? 1
                                          : config->replay.samples_per_insert,
        .tolerance = is_offline ? 0 : config->replay.tolerance,
        .seed = options->shard > 0 ? oct_rng_mix(oct_rng_mix(0, config->run.seed), options->shard)
                                   : config->run.seed,
        .turn_actors = config->run.deterministic ? config->actor.count : 0,
        .turn = options->turn,
    };
    memcpy(configure.turn_digest, options->turn_digest, sizeof(configure.turn_digest));
    // A learning process of the user's own may take actions that it draws beyond the bounds.
    bool is_bounded = configure.action_is_float && config->algo.name != OCT_ALGO_EXTERNAL;
    configure.action_bounds = is_bounded ? spec->action_count : 0;
    for (uint32_t i = 0; i < configure.action_bounds; i++) {
        configure.action_low[i] = spec->action_low[i];
        configure.action_high[i] = spec->action_high[i];
    }
    return configure;
}

// Windows of what is counted.
static uint32_t
unit_of(const learner_source *source)
{
    return source->options.is_shard ? 1 : source->options.batch_size;
}

// Windows of the table at hand in the first batches of this process, and before them.
static uint64_t
windows_after(const learner_source *source, uint64_t batches)
{
    uint64_t of_table = batches - OCT_MIN(batches, source->batches_before);
    return source->place.samples + of_table * unit_of(source);
}

learner_source_place
learner_source_place_after(const learner_source *source, uint64_t batches)
{
    learner_source_place place = source->place;
    place.samples = windows_after(source, batches);
    if (source->options.is_shard) {
        place.inserts = source->counts.inserts;
        place.balance = source->counts.balance;
    }
    return place;
}

wire_configure
learner_source_configure(const learner_source *source)
{
    wire_configure configure = learner_source_table(&source->options);
    if (!source->options.config->run.deterministic) { // there the turn says it
        configure.table = source->place.table;
        configure.samples = windows_after(source, source->arrived);
    }
    memcpy(configure.token_key, source->token_key, sizeof(configure.token_key));
    return configure;
}

wire_configure
learner_source_limiter(const learner_source *source)
{
    wire_configure configure = learner_source_table(&source->options);
    configure.limiter_only = true;
    return configure;
}

wire_configure
learner_source_release(const learner_source *source)
{
    return (wire_configure){
        .run_id = source->options.run_id, .epoch = source->options.epoch, .release = true};
}

bool
learner_source_needs_configure(learner_source *source, uint64_t now_ns)
{
    if (source->configured || source->configuring ||
        (source->configured_ns != 0 && now_ns - source->configured_ns < CONFIGURE_RETRY_NS)) {
        return false;
    }
    source->configuring = true;
    source->configured_ns = now_ns;
    return true;
}

// Where a table is among the earlier ones, or the place of the one that makes room for another.
static uint32_t
earlier_find(const learner_source_place *place, uint64_t table)
{
    uint32_t i = 0;
    while (i < LEARNER_TABLES_KEPT - 1 && place->earlier[i].table != table) {
        i++;
    }
    return i;
}

bool
learner_source_had(const learner_source *source, uint64_t table)
{
    const learner_source_place *place = &source->place;
    return table != 0 && place->earlier[earlier_find(place, table)].table == table;
}

static void
ahead_note(learner_source *source, const wire_configured *answer)
{
    const oct_config *config = source->options.config;
    const learner_source_place *place = &source->options.place;
    uint64_t drawn = answer->samples - OCT_MIN(answer->samples, place->samples);
    bool is_same = answer->table == place->table;
    uint32_t batch_size = source->options.batch_size;
    source->ahead = (learner_source_ahead){
        .is_known = place->table != 0,
        .is_other = !is_same,
        .is_earlier = learner_source_had(source, answer->table),
        .lost = is_same ? 0 : OCT_MIN(place->steps, oct_config_shard_capacity(config)),
        .steps = is_same ? (int64_t)(answer->steps - place->steps) : 0,
        .batches = is_same ? drawn / batch_size : 0,
        .returned = answer->returned / batch_size,
    };
}

static void
priorities_forget(learner_source *source)
{
    source->priority_count = source->priority_given = 0;
}

// Another table than the present one, which is remembered; as it was when it was last there.
static learner_source_earlier
table_change(learner_source *source, uint64_t table)
{
    learner_source_place *place = &source->place;
    const learner_source_earlier present = {
        .table = place->table,
        .steps = place->steps,
        .samples = windows_after(source, source->arrived),
    };
    uint32_t i = earlier_find(place, table);
    learner_source_earlier it =
        place->earlier[i].table == table ? place->earlier[i] : (learner_source_earlier){0};
    if (present.table != 0) {
        memmove(place->earlier + 1, place->earlier, i * sizeof(*place->earlier));
        place->earlier[0] = present;
    }
    return it;
}

// The table that is there from now on. What it took while nobody was told counts; what it has lost
// (a power failure) had been counted.
static void
place_take(learner_source *source, const wire_configured *answer)
{
    learner_source_place *place = &source->place;
    if (answer->table != place->table) {
        bool counts = place->table != 0 || source->options.counts_from_zero;
        learner_source_earlier it = table_change(source, answer->table);
        place->table = answer->table;
        place->steps = counts ? it.steps : answer->steps;
        place->samples = it.samples;
        place->inserts = 0;
        place->balance = 0;
        source->counts.balance = answer->balance;
        source->counts.insert_chunk = source->counts.sample_chunk = 0;
        source->batches_before = source->arrived;
    }
    source->counts.steps += answer->steps - OCT_MIN(answer->steps, place->steps);
    place->steps = answer->steps;
}

void
learner_source_configured(learner_source *source, oct_err err, const wire_configured *answer)
{
    source->configuring = false;
    source->configured = err == OCT_OK;
    source->asked = source->known = false;
    if (err != OCT_OK || answer == NULL || answer->table == 0) {
        return;
    }
    if (source->counts.incarnation == 0) {
        ahead_note(source, answer);
    }
    if (source->counts.incarnation != answer->incarnation) {
        priorities_forget(source); // keys of another process
    }
    place_take(source, answer);
    source->counts.incarnation = answer->incarnation;
    source->counts.inserts = answer->inserts;
    source->counts.samples = answer->samples - answer->returned;
    source->counts.given_up = 0; // until it says so
}

learner_source_ahead
learner_source_found(const learner_source *source)
{
    return source->ahead;
}

bool
learner_source_is_configured(const learner_source *source)
{
    return source->configured;
}

bool
learner_source_lost(learner_source *source)
{
    bool is_first = !source->lost;
    source->lost = true;
    return is_first;
}

bool
learner_source_back(learner_source *source)
{
    bool is_first = source->lost;
    source->lost = false;
    return is_first;
}

bool
learner_source_is_lost(const learner_source *source)
{
    return source->lost;
}

// ---- batches

const learner_source_options *
learner_source_options_of(const learner_source *source)
{
    return &source->options;
}

uint32_t
learner_source_version_min(const learner_source *source, uint64_t newest_version)
{
    uint32_t lag_max = source->options.wants.lag_max;
    bool is_bounded = lag_max > 0 || is_rollout(&source->options);
    uint64_t oldest = learner_versions_oldest(&source->options.versions, newest_version, lag_max);
    return is_bounded ? (uint32_t)OCT_MIN(oldest, UINT32_MAX) : 0;
}

uint32_t
learner_source_request(learner_source *source, uint64_t newest_version, wire_sample *out)
{
    OCT_ASSERT(source->promised <= source->free_count);
    uint32_t promised = OCT_MIN(source->free_count - source->promised, source->request_max);
    if (promised == 0) {
        return 0;
    }
    source->promised += promised;
    source->newest_version = newest_version;
    uint32_t hold_ms = source->asked ? SAMPLE_HOLD_MS : 0; // at first its counters, at once
    source->asked = true;
    *out = (wire_sample){
        .run_id = source->options.run_id,
        .epoch = source->options.epoch,
        .batch_size = source->options.batch_size,
        .batches = promised,
        .timeout_ms = hold_ms,
        .version_min = learner_source_version_min(source, newest_version),
    };
    return promised;
}

void
learner_source_missed(learner_source *source, uint32_t promised)
{
    OCT_ASSERT(source->promised >= promised);
    source->promised -= promised;
}

static void
counts_take(learner_source *source, const wire_sampled *sampled)
{
    learner_source_counts *counts = &source->counts;
    bool same = counts->incarnation == sampled->incarnation;
    bool first = counts->incarnation == 0 && source->options.counts_from_zero;
    uint64_t *steps = &source->place.steps;
    if ((same || first) && sampled->steps > *steps) {
        counts->steps += sampled->steps - *steps;
    }
    if (!same) {
        priorities_forget(source); // keys of another process
    }
    // Answers may overtake each other: an older one takes nothing back, or it would count twice.
    if (same && source->known &&
        (sampled->inserts < counts->inserts || sampled->samples < counts->samples)) {
        return;
    }
    *steps = same ? OCT_MAX(*steps, sampled->steps) : sampled->steps;
    counts->incarnation = sampled->incarnation;
    source->known = true;
    counts->size = sampled->size;
    counts->mass = sampled->mass;
    counts->balance = sampled->balance;
    counts->insert_chunk = sampled->insert_chunk;
    counts->sample_chunk = sampled->sample_chunk;
    counts->inserts = sampled->inserts;
    counts->samples = sampled->samples;
    counts->given_up = sampled->given_up;
}

static void
arrived(learner_source *source, uint32_t count, uint64_t now_ns)
{
    source->arrived += count;
    if (source->counts.first_sample_ns == 0) {
        source->counts.first_sample_ns = now_ns;
        source->counts.first_sample_steps = source->counts.steps;
    }
}

static void
filled_put(learner_source *source, learner_batch *batch, uint64_t now_ns)
{
    OCT_ASSERT(source->filled_count < source->count);
    source->filled[(source->filled_first + source->filled_count++) % source->count] = batch;
    arrived(source, 1, now_ns);
    if (source->idle_ns != 0) {
        source->counts.waiting_s += (double)(now_ns - source->idle_ns) * 1e-9;
        source->idle_ns = 0;
    }
    if (batch->view.T > 0) {
        learner_batch_lag(batch, &source->options.versions, source->newest_version,
                          &source->counts.lag, &source->counts.lag_max);
    }
}

oct_err
learner_source_heard(learner_source *source, const wire_sampled *sampled)
{
    if (!sampled->configured) {
        source->configured = false;
        return OCT_EAGAIN;
    }
    counts_take(source, sampled);
    return OCT_OK;
}

oct_err
learner_source_sampled(learner_source *source, uint32_t promised, const wire_sampled *sampled,
                       double share, uint64_t now_ns)
{
    learner_source_missed(source, promised);
    OCT_TRY(learner_source_heard(source, sampled));
    const oct_config *config = source->options.config;
    uint32_t B = source->options.batch_size;
    double exponent =
        source->options.wants.each_once ? 0 : learner_importance_exponent(config, share);
    for (uint32_t i = 0; i < promised && (i + 1) * B <= sampled->count; i++) {
        learner_batch *batch = source->free[source->free_count - 1];
        oct_err err = learner_batch_fill(batch, source->options.spec, sampled, i * B, exponent);
        if (err != OCT_OK) {
            source->counts.bad_samples++;
            return err;
        }
        source->free_count--;
        filled_put(source, batch, now_ns);
    }
    return OCT_OK;
}

uint32_t
learner_source_filled(const learner_source *source)
{
    return source->filled_count;
}

learner_batch *
learner_source_take(learner_source *source)
{
    if (source->filled_count == 0) {
        return NULL;
    }
    learner_batch *batch = source->filled[source->filled_first];
    source->filled_first = (source->filled_first + 1) % source->count;
    source->filled_count--;
    source->taken++;
    return batch;
}

// What was given to the caller makes room.
static void
priorities_leave(learner_source *source)
{
    uint32_t given = source->priority_given, left = source->priority_count - given;
    if (given == 0) {
        return;
    }
    memmove(source->key, source->key + given, left * sizeof(*source->key));
    memmove(source->priority, source->priority + given, left * sizeof(*source->priority));
    source->priority_count = left;
    source->priority_given = 0;
}

// Whether there is room for so many more.
static bool
priorities_fit(learner_source *source, uint32_t more)
{
    priorities_leave(source);
    if (source->priority_count + more > source->priority_room && source->options.keeps_priorities) {
        source->priority_room *= 2;
        source->key = realloc(source->key, source->priority_room * sizeof(*source->key));
        source->priority =
            realloc(source->priority, source->priority_room * sizeof(*source->priority));
        OCT_ASSERT(source->key != NULL && source->priority != NULL);
    }
    return source->priority_count + more <= source->priority_room;
}

void
learner_source_give(learner_source *source, learner_batch *batch, uint64_t now_ns)
{
    OCT_ASSERT(source->taken > 0);
    uint32_t B = batch->view.B;
    source->free[source->free_count++] = batch;
    source->taken--;
    if (source->taken == 0 && source->filled_count == 0) {
        source->idle_ns = now_ns;
    }
    if (batch->learned) {
        learner_source_return(source, batch->incarnation, B, batch->key, batch->priority);
    }
}

void
learner_source_return(learner_source *source, uint64_t incarnation, uint32_t count,
                      const uint64_t *key, const float *priority)
{
    if (source->options.wants.each_once ||
        source->options.config->replay.sampler != OCT_SAMPLER_PRIORITIZED ||
        incarnation != source->counts.incarnation || !priorities_fit(source, count)) {
        return;
    }
    memcpy(source->key + source->priority_count, key, count * sizeof(*key));
    memcpy(source->priority + source->priority_count, priority, count * sizeof(*priority));
    source->priority_count += count;
}

// ---- windows of a shard

uint32_t
learner_source_windows_max(const learner_source *source)
{
    return source->request_max * source->options.batch_size;
}

void
learner_source_ask(const learner_source *source, uint32_t windows, uint32_t at_once,
                   uint32_t version_min, const wire_others *others, wire_sample *out)
{
    OCT_ASSERT(windows == 0 || source->options.is_shard);
    OCT_ASSERT(at_once > 0 && windows % at_once == 0 &&
               windows <= learner_source_windows_max(source));
    *out = (wire_sample){
        .run_id = source->options.run_id,
        .epoch = source->options.epoch,
        .batch_size = at_once,
        .batches = windows / at_once,
        .timeout_ms = windows > 0 ? SAMPLE_HOLD_MS : 0,
        .version_min = version_min,
        .others = *others,
    };
}

bool
learner_source_is_known(const learner_source *source)
{
    return source->configured && source->known;
}

void
learner_source_arrived(learner_source *source, uint32_t windows, uint64_t now_ns)
{
    arrived(source, windows, now_ns);
}

void
learner_source_bad(learner_source *source)
{
    source->counts.bad_samples++;
}

// ---- priorities

bool
learner_source_has_priorities(const learner_source *source)
{
    return source->priority_count > source->priority_given;
}

bool
learner_source_priorities(learner_source *source, wire_priorities *out)
{
    if (!learner_source_has_priorities(source)) {
        return false;
    }
    uint32_t first = source->priority_given;
    uint32_t count = OCT_MIN(source->priority_count - first, WIRE_SAMPLE_COUNT_MAX);
    *out = (wire_priorities){
        .run_id = source->options.run_id,
        .epoch = source->options.epoch,
        .incarnation = source->counts.incarnation,
        .count = count,
        .key = source->key + first,
        .priority = source->priority + first,
    };
    source->priority_given += count;
    return true;
}

// ---- numbers

learner_source_counts
learner_source_count(const learner_source *source, uint64_t now_ns)
{
    learner_source_counts counts = source->counts;
    counts.is_up = source->configured && !source->lost;
    counts.windows = source->arrived * unit_of(source);
    uint64_t come = windows_after(source, source->arrived);
    counts.missed = counts.samples - OCT_MIN(counts.samples, come);
    if (source->idle_ns != 0 && now_ns > source->idle_ns) {
        counts.waiting_s += (double)(now_ns - source->idle_ns) * 1e-9;
    }
    return counts;
}
