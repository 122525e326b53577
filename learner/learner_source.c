// The state of one replay: link, place of its table, counters, and priorities that wait to be sent.
#include "learner/learner_source.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "common/oct_rng.h"
#include "proto/wire_token.h"

#define CONFIGURE_RETRY_NS 200000000u
#define SAMPLE_HOLD_MS     500 // for which replay may keep a request while its limiter forbids it
#define PRIORITY_BATCHES   16
#define DATA_ROWS_MAX      (UINT64_C(1) << 31)          // of a data set
#define SHARD_REQUESTS     2                            // a request to a shard may be as large
#define ANSWER_BYTES_MAX   (WIRE_MESSAGE_BYTES_MAX / 2) // leaves room for the message around it

struct learner_source {
    learner_source_options options;
    uint8_t token_key[WIRE_TOKEN_KEY_BYTES];

    // link
    bool configured;
    bool configuring;
    bool lost;
    uint64_t configured_ns; // of the last attempt; 0: none yet
    bool asked;             // a request was made since it was configured
    bool known;             // and its counters have arrived

    // The present table. place.steps is what replay last said, place.samples the windows of this
    // table that were learned from before window windows_before of this process, which is the first
    // that may be of this table.
    learner_source_place place;
    uint64_t windows_before;
    learner_source_ahead ahead;
    learner_source_counts counts;

    // Priorities: [0, priority_given) were given to the caller and leave with the next call.
    uint64_t *key;
    float *priority;
    uint32_t priority_count, priority_room;
    uint32_t priority_given;
};

// ---- what an experiment needs of a replay

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
learner_source_is_fifo(const learner_source_options *options)
{
    return options->wants.each_once || options->config->replay.sampler == CONFIG_SAMPLER_FIFO;
}

// Returns the bytes of one window in an answer, and its rows.
static size_t
window_bytes(const learner_source_options *options, uint32_t *rows)
{
    const policy_spec *spec = options->spec;
    size_t obs = policy_spec_obs_bytes(spec), action = policy_spec_action_bytes(spec);
    size_t extra = policy_spec_extra_dim(spec) * sizeof(float);
    *rows = is_sequence(options) ? options->wants.steps : 1;
    if (!is_sequence(options)) {
        return 2 * obs + action + extra + 2 * sizeof(float) + sizeof(float) + sizeof(uint64_t);
    }
    size_t row = obs + action + extra + sizeof(float) + 1 + sizeof(uint32_t);
    return obs + *rows * row + sizeof(float) + sizeof(uint64_t);
}

uint32_t
learner_source_request_max(const learner_source_options *options)
{
    uint32_t rows;
    uint64_t B = options->batch_size;
    uint64_t bytes = window_bytes(options, &rows) * B;
    uint64_t fit = OCT_MIN(WIRE_SAMPLE_COUNT_MAX / (B * rows), ANSWER_BYTES_MAX / bytes);
    uint32_t wanted = is_rollout(options) ? 1 : options->config->learner.batches_per_request;
    if (config_shards(options->config) > 1 && !learner_source_is_fifo(options)) {
        wanted *= SHARD_REQUESTS;
    }
    return (uint32_t)OCT_MIN(fit, wanted);
}

uint32_t
learner_source_in_work(const learner_source_options *options)
{
    return is_rollout(options) ? 1 + options->wants.lag_max
                               : OCT_MAX(2u, options->config->learner.prefetch) +
                                     learner_source_request_max(options);
}

// Checks what an actor puts into one message: a step of all its environments, or a rollout of each.
static oct_err
check_batch(const config_experiment *config, const policy_spec *spec, oct_reason *why)
{
    uint32_t obs_bytes = (uint32_t)policy_spec_obs_bytes(spec), envs = config->actor.envs;
    uint32_t steps = config_has_rollouts(config) ? config->algo.sequence_steps : 1;
    uint32_t rows = config_rollout_rows(steps);
    uint32_t most = wire_batch_rows_max(obs_bytes, (uint32_t)policy_spec_action_bytes(spec),
                                        policy_spec_extra_dim(spec));
    if (config_is_offline(config) || (uint64_t)rows * envs <= most) {
        return OCT_OK;
    }
    if (!config_has_rollouts(config)) {
        return oct_refuse(why,
                          "actor.envs: one message to replay cannot hold a step of %u environments "
                          "with observations of %u bytes; at most %u environments fit",
                          envs, obs_bytes, most / rows);
    }
    return oct_refuse(
        why,
        "algo.sequence_steps: one message to replay cannot hold %u steps of "
        "actor.envs: %u environments with observations of %u bytes; at most %u steps, "
        "or %u environments, fit",
        steps, envs, obs_bytes, config_rollout_steps(most / envs), most / rows);
}

oct_err
learner_source_check(const learner_source_options *options, oct_reason *why)
{
    uint32_t rows;
    size_t bytes = window_bytes(options, &rows);
    if (rows > WIRE_WINDOW_STEPS_MAX) {
        return oct_refuse(
            why, "algo.sequence_steps: %u makes windows of %u steps; at most %u are allowed",
            options->config->algo.sequence_steps, rows, (unsigned)WIRE_WINDOW_STEPS_MAX);
    }
    if (learner_source_request_max(options) == 0) {
        return oct_refuse(why,
                          "learner.batch_size: %u windows of %u rows and %zu bytes exceed what one "
                          "reply of replay can hold (%u rows, %zu bytes)",
                          options->batch_size, rows, bytes, (unsigned)WIRE_SAMPLE_COUNT_MAX,
                          (size_t)ANSWER_BYTES_MAX);
    }
    return check_batch(options->config, options->spec, why);
}

uint64_t
learner_source_answer_bytes(const learner_source_options *options)
{
    uint32_t rows;
    uint64_t windows = (uint64_t)learner_source_request_max(options) * options->batch_size;
    return windows * window_bytes(options, &rows);
}

wire_configure
learner_source_table(const learner_source_options *options)
{
    static const wire_sampler samplers[] = {
        [CONFIG_SAMPLER_UNIFORM] = WIRE_SAMPLER_UNIFORM,
        [CONFIG_SAMPLER_PRIORITIZED] = WIRE_SAMPLER_PRIORITIZED,
        [CONFIG_SAMPLER_FIFO] = WIRE_SAMPLER_FIFO,
    };
    const config_experiment *config = options->config;
    const policy_spec *spec = options->spec;
    const algo_wants *wants = &options->wants;
    // Windows that come once have neither a ratio of samples nor a minimal number. A data set is
    // complete: replay takes the table's size from it (replay_data_fit).
    bool each_once = learner_source_is_fifo(options), is_offline = config_is_offline(config);
    wire_configure configure = {
        .run_id = options->run_id,
        .epoch = options->epoch,
        .capacity = is_offline ? DATA_ROWS_MAX : config_shard_capacity(config),
        .streams = is_offline ? 1 : (uint32_t)config_environments(config),
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
        .turn_actors = config_turn_actors(config),
        .turn = options->turn,
    };
    memcpy(configure.turn_digest, options->turn_digest, sizeof(configure.turn_digest));
    // A learning process of the user's own may take actions that it draws beyond the bounds.
    bool is_bounded = configure.action_is_float && config->algo.name != CONFIG_ALGO_EXTERNAL;
    configure.action_bounds = is_bounded ? spec->action_count : 0;
    for (uint32_t i = 0; i < configure.action_bounds; i++) {
        configure.action_low[i] = spec->action_low[i];
        configure.action_high[i] = spec->action_high[i];
    }
    return configure;
}

// ---- life

learner_source *
learner_source_create(const learner_source_options *options)
{
    learner_source *source = oct_alloc(sizeof(*source));
    source->options = *options;
    memcpy(source->token_key, options->token_key, sizeof(source->token_key));
    source->options.token_key = source->token_key;
    source->priority_room = PRIORITY_BATCHES * options->batch_size;
    source->key = oct_alloc(source->priority_room * sizeof(*source->key));
    source->priority = oct_alloc(source->priority_room * sizeof(*source->priority));
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
    free(source->key);
    free(source->priority);
    explicit_bzero(source->token_key, sizeof(source->token_key));
    free(source);
}

const learner_source_options *
learner_source_options_of(const learner_source *source)
{
    return &source->options;
}

// ---- the link

// Returns how many windows of the present table the first `windows` of this process make, with
// those from before this process.
static uint64_t
windows_after(const learner_source *source, uint64_t windows)
{
    return source->place.samples + windows - OCT_MIN(windows, source->windows_before);
}

learner_source_place
learner_source_place_after(const learner_source *source, uint64_t windows)
{
    learner_source_place place = source->place;
    place.samples = windows_after(source, windows);
    place.inserts = source->counts.inserts;
    place.balance = source->counts.balance;
    return place;
}

wire_configure
learner_source_configure(const learner_source *source)
{
    wire_configure configure = learner_source_table(&source->options);
    if (config_turn_actors(source->options.config) == 0) { // else the turn says it
        configure.table = source->place.table;
        configure.samples = windows_after(source, source->counts.windows);
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

// Returns the index of a table among the earlier ones, or of the entry to evict.
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
    const config_experiment *config = source->options.config;
    const learner_source_place *place = &source->options.place;
    uint64_t drawn = answer->samples - OCT_MIN(answer->samples, place->samples);
    bool is_same = answer->table == place->table;
    uint32_t batch_size = source->options.batch_size;
    source->ahead = (learner_source_ahead){
        .is_known = place->table != 0,
        .is_other = !is_same,
        .is_earlier = learner_source_had(source, answer->table),
        .lost = is_same ? 0 : OCT_MIN(place->steps, config_shard_capacity(config)),
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

// Remembers the present table, and returns what is known of another one that takes its place.
static learner_source_earlier
table_change(learner_source *source, uint64_t table)
{
    learner_source_place *place = &source->place;
    const learner_source_earlier present = {
        .table = place->table,
        .steps = place->steps,
        .samples = windows_after(source, source->counts.windows),
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

// Moves to the table of an answer. Steps that it took while the learner was away count. Steps that
// it has lost (a power failure) stay counted.
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
        source->windows_before = source->counts.windows;
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
        priorities_forget(source); // their keys are of another process
    }
    place_take(source, answer);
    source->counts.incarnation = answer->incarnation;
    source->counts.inserts = answer->inserts;
    source->counts.samples = answer->samples - answer->returned;
    source->counts.given_up = 0; // until it says so
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

uint32_t
learner_source_windows_max(const learner_source *source)
{
    return learner_source_request_max(&source->options) * source->options.batch_size;
}

// The first request is not held: replay answers at once, with its counters.
void
learner_source_ask(learner_source *source, uint32_t windows, uint32_t at_once, uint32_t version_min,
                   const wire_others *others, wire_sample *out)
{
    OCT_ASSERT(at_once > 0 && windows % at_once == 0 &&
               windows <= learner_source_windows_max(source));
    *out = (wire_sample){
        .run_id = source->options.run_id,
        .epoch = source->options.epoch,
        .batch_size = at_once,
        .batches = windows / at_once,
        .timeout_ms = windows > 0 && source->asked ? SAMPLE_HOLD_MS : 0,
        .version_min = version_min,
        .others = *others,
    };
    source->asked = true;
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
        priorities_forget(source); // their keys are of another process
    }
    // Answers may overtake each other. An older one changes nothing, or samples would count twice.
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

bool
learner_source_is_known(const learner_source *source)
{
    return source->configured && source->known;
}

void
learner_source_arrived(learner_source *source, uint32_t windows, uint64_t now_ns)
{
    source->counts.windows += windows;
    if (source->counts.first_sample_ns == 0) {
        source->counts.first_sample_ns = now_ns;
        source->counts.first_sample_steps = source->counts.steps;
    }
}

void
learner_source_bad(learner_source *source)
{
    source->counts.bad_samples++;
}

// ---- priorities

// Removes what was given to the caller.
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

// Returns true if there is room for `more` priorities.
static bool
priorities_fit(learner_source *source, uint32_t more)
{
    bool must_keep = config_turn_actors(source->options.config) > 0; // a turn sends all of them
    priorities_leave(source);
    if (source->priority_count + more > source->priority_room && must_keep) {
        source->priority_room *= 2;
        source->key = realloc(source->key, source->priority_room * sizeof(*source->key));
        source->priority =
            realloc(source->priority, source->priority_room * sizeof(*source->priority));
        OCT_ASSERT(source->key != NULL && source->priority != NULL);
    }
    return source->priority_count + more <= source->priority_room;
}

void
learner_source_return(learner_source *source, uint64_t incarnation, uint32_t count,
                      const uint64_t *key, const float *priority)
{
    if (source->options.wants.each_once ||
        source->options.config->replay.sampler != CONFIG_SAMPLER_PRIORITIZED ||
        incarnation != source->counts.incarnation || !priorities_fit(source, count)) {
        return;
    }
    memcpy(source->key + source->priority_count, key, count * sizeof(*key));
    memcpy(source->priority + source->priority_count, priority, count * sizeof(*priority));
    source->priority_count += count;
}

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

learner_source_ahead
learner_source_found(const learner_source *source)
{
    return source->ahead;
}

learner_source_counts
learner_source_count(const learner_source *source)
{
    learner_source_counts counts = source->counts;
    counts.is_up = source->configured && !source->lost;
    uint64_t arrived = windows_after(source, counts.windows);
    counts.missed = counts.samples - OCT_MIN(counts.samples, arrived);
    return counts;
}
