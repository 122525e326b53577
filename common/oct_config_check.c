// Checks that the values of an experiment agree with each other.
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_action_repeat.h"
#include "common/oct_base.h"
#include "common/oct_config_algos.h"
#include "common/oct_config_effects.h"
#include "common/oct_config_text.h"
#include "common/oct_option.h"
#include "common/oct_text.h"

// "key=value,key=value": every part has a name before its '='.
static bool
options_are_pairs(const char *options)
{
    while (*options != 0) {
        size_t name = strcspn(options, "=,");
        if (oct_option_key(options) == 0 || options[name] != '=') {
            return false;
        }
        options = oct_option_end(options);
        if (options == NULL) {
            return false;
        }
        if (*options == ',' && *++options == 0) {
            return false;
        }
    }
    return true;
}

// A first layer and blocks of two, all of one width.
static bool
has_blocks(const oct_config_ints *widths)
{
    bool has = widths->count % 2 == 1;
    for (uint32_t i = 0; i < widths->count; i++) {
        has &= widths->value[i] == widths->value[0];
    }
    return has;
}

static void
check_network(const oct_config *config, oct_text *text)
{
    if (config->network.first_layer_norm && config->network.hidden.count == 0) {
        oct_text_add(text, "error: network.first_layer_norm: true needs a first hidden layer, but "
                           "network.hidden is []\n");
    }
    if (config->network.critic_residual && !has_blocks(oct_config_critic_hidden(config))) {
        oct_text_add(text,
                     "error: network.critic_residual: true needs an odd number of equal widths in "
                     "%s: the first layer and two for each block, such as [256, 256, 256]\n",
                     config->network.critic_hidden.count > 0
                         ? "network.critic_hidden"
                         : "network.hidden (network.critic_hidden: [])");
    }
    float low = (float)config->algo.value_min, high = (float)config->algo.value_max; // as kept
    float step = (high - low) / (float)(config->algo.atoms - 1);
    if (!(low < high)) {
        oct_text_add(text, "error: algo.value_min: %.9g is not below algo.value_max %.9g%s\n",
                     config->algo.value_min, config->algo.value_max,
                     config->algo.value_min < config->algo.value_max ? " in single precision" : "");
    } else if (step < FLT_MIN) { // its inverse may be infinite
        oct_text_add(text,
                     "error: algo.value_max: %.9g is only %.3g above algo.value_min: algo.atoms: "
                     "%u need at least %.3g\n",
                     config->algo.value_max, config->algo.value_max - config->algo.value_min,
                     config->algo.atoms, (double)FLT_MIN * (config->algo.atoms - 1));
    }
    if (config->network.conv.count + config->network.hidden.count > OCT_CONFIG_INTS_MAX) {
        oct_text_add(
            text,
            "error: network.conv: %u layers together with network.hidden, allowed are %d in all\n",
            config->network.conv.count + config->network.hidden.count, OCT_CONFIG_INTS_MAX);
    }
}

// A switch that is on asks for what this algorithm does not have.
static void
check_algo(const oct_config *config, oct_text *text)
{
    char name[OCT_CONFIG_NAME_MAX], value[OCT_CONFIG_VALUE_MAX], readers[OCT_CONFIG_READERS_MAX];
    size_t at = 0;
    for (const oct_config_key *key; (key = oct_config_next_unread(config, &at, value)) != NULL;) {
        oct_config_key_name(key, name);
        if (oct_config_is_on(key, value)) {
            oct_text_add(text, "error: %s: true is an option of algo.name: %s\n", name,
                         oct_config_readers(name, readers));
        }
    }
    if (config->algo.name == OCT_ALGO_VTRACE &&
        config->algo.trace_max > config->algo.ratio_max) { // or it may not converge
        oct_text_add(text, "error: algo.trace_max: %g is more than algo.ratio_max %g\n",
                     config->algo.trace_max, config->algo.ratio_max);
    }
    if (config->algo.target != OCT_TARGET_Q_LEARNING && config->algo.distributional) {
        oct_text_add(
            text,
            "error: algo.target: only q_learning is allowed with algo.distributional: true\n");
    }
}

uint32_t
oct_config_rollout_rows(uint32_t steps)
{
    return steps + steps / 4 + 2;
}

uint64_t
oct_config_rollouts_held(const oct_config *config, uint64_t envs)
{
    return envs * oct_config_rollout_rows(config->algo.sequence_steps) *
           (2 + (uint64_t)config->algo.rollout_lag) * oct_config_shards(config);
}

uint32_t
oct_config_rollout_steps(uint64_t rows)
{
    uint64_t steps = rows < 3 ? 0 : (4 * (rows - 2) + 3) / 5;
    return (uint32_t)OCT_MIN(steps, (uint64_t)UINT32_MAX);
}

// Every version is acted with once, so a batch needs as many environments; the rollouts of an actor
// are one message, and those that are ahead have to have room.
static void
check_rollouts(const oct_config *config, oct_text *text)
{
    if (!oct_config_has_rollouts(config)) {
        return;
    }
    uint64_t envs = oct_config_environments(config);
    uint64_t rows = oct_config_rollout_rows(config->algo.sequence_steps);
    uint64_t held = oct_config_rollouts_held(config, envs);
    uint64_t actions = (uint64_t)(config->learner.batch_size / config->learner.count) *
                       config->algo.sequence_steps; // that each learner has of a batch
    if (config->learner.batch_size > envs) {
        oct_text_add(text,
                     "error: learner.batch_size: %u rollouts, but %llu environments (actor.count: "
                     "%u of actor.envs: %u) produce only one each per policy version\n",
                     config->learner.batch_size, (unsigned long long)envs, config->actor.count,
                     config->actor.envs);
    }
    uint32_t shards = oct_config_shards(config);
    if (held > oct_config_shard_capacity(config) * shards) {
        oct_text_add(
            text,
            "error: replay.capacity: %llu rows%s cannot hold the rows that %llu environments "
            "produce with algo.sequence_steps: %u in %llu versions; %llu rows are enough\n",
            (unsigned long long)config->replay.capacity,
            shards > 1 ? ", divided among the shards," : "", (unsigned long long)envs,
            config->algo.sequence_steps, 2 + (unsigned long long)config->algo.rollout_lag,
            (unsigned long long)held);
    }
    if (config->learner.batch_size * rows > OCT_CONFIG_SAMPLE_MAX) {
        oct_text_add(text,
                     "error: learner.batch_size: %u rollouts of algo.sequence_steps: %u exceed the "
                     "%u rows that a reply of replay can hold\n",
                     config->learner.batch_size, config->algo.sequence_steps,
                     OCT_CONFIG_SAMPLE_MAX);
    }
    if (config->actor.envs * rows > OCT_CONFIG_BATCH_MAX) {
        oct_text_add(text,
                     "error: actor.envs: %u rollouts of algo.sequence_steps: %u exceed the %u rows "
                     "that an actor's message can hold; %u fit\n",
                     config->actor.envs, config->algo.sequence_steps, OCT_CONFIG_BATCH_MAX,
                     (unsigned)(OCT_CONFIG_BATCH_MAX / rows));
    }
    bool has_minibatches =
        config->algo.name != OCT_ALGO_A2C && config->algo.name != OCT_ALGO_EXTERNAL;
    if (has_minibatches && config->algo.minibatches > actions) {
        oct_text_add(text, "error: algo.minibatches: %u, but a batch has %llu steps",
                     config->algo.minibatches, (unsigned long long)actions);
        if (config->learner.count > 1) {
            oct_text_add(text, " for each of %u learners", config->learner.count);
        }
        oct_text_add(text,
                     " (learner.batch_size: %u of algo.sequence_steps: %u); each needs at least "
                     "one step\n",
                     config->learner.batch_size, config->algo.sequence_steps);
    }
    if (config->actor.when_full == OCT_WHEN_FULL_DROP) {
        oct_text_add(text, "error: actor.when_full: drop would lose rollouts that algo.name: ppo, "
                           "a2c, trpo and external wait for; allowed is wait\n");
    }
    if (config->algo.name == OCT_ALGO_TRPO && !(config->algo.kl_max > 0)) {
        oct_text_add(text, "error: algo.kl_max: must be above 0 with algo.name: trpo, because it "
                           "determines the length of a step; 0.01 is usual\n");
    }
}

// Windows of sequences are counted, capacity is not. What their table needs beside, by its blocks,
// is checked with it (replay/replay_config.h).
static void
check_sequences(const oct_config *config, oct_text *text)
{
    if (!oct_config_takes_each_once(config) || oct_config_has_rollouts(config)) {
        return;
    }
    oct_fifo fifo = oct_config_fifo(config);
    uint64_t windows = config->learner.batch_size, rows = oct_fifo_rows(&fifo, windows);
    if (windows <= config->replay.capacity && rows > config->replay.capacity) {
        oct_text_add(
            text,
            "error: replay.capacity: %llu rows cannot hold %llu windows (learner.batch_size) of "
            "algo.sequence_steps: %u, and an unfinished one in each of %llu environments "
            "(actor.count: %u of actor.envs: %u); %llu rows are enough\n",
            (unsigned long long)config->replay.capacity, (unsigned long long)windows,
            config->algo.sequence_steps, (unsigned long long)fifo.streams, config->actor.count,
            config->actor.envs, (unsigned long long)rows);
    }
    uint64_t batch = (uint64_t)config->learner.batch_size * config->algo.sequence_steps;
    if (batch > OCT_CONFIG_SAMPLE_MAX) {
        oct_text_add(text,
                     "error: learner.batch_size: %u windows of algo.sequence_steps: %u exceed the "
                     "%u steps that a reply of replay can hold\n",
                     config->learner.batch_size, config->algo.sequence_steps,
                     OCT_CONFIG_SAMPLE_MAX);
    }
}

// What the budget cannot feed for certain: a window has one step or more. Where windows are drawn
// again, the limiter's band (replay/replay_limiter.h) is at most as wide as all inserts and one
// batch. That replay.min_size is out of reach, check_replay says.
static void
check_budget(const oct_config *config, oct_text *text)
{
    unsigned long long env_steps = config->run.env_steps;
    double windows = (double)env_steps / OCT_MAX(oct_action_repeat_of(config->env.options), 1u);
    double ratio = config->replay.samples_per_insert;
    double batch = config->learner.batch_size - oct_config_data_windows(config);
    double middle = ratio * (double)config->replay.min_size;
    double half = OCT_MAX(config->replay.tolerance * middle, (ratio * windows + batch + 1) / 2);
    if (oct_config_is_offline(config) || batch > (double)config->replay.capacity) {
        return;
    }
    if (!oct_config_has_limiter(config)) {
        if (batch > windows) {
            oct_text_add(text,
                         "error: learner.batch_size: %u windows, each used once, but "
                         "run.env_steps: %llu produce at most %.0f: nothing would be learned\n",
                         config->learner.batch_size, env_steps, floor(windows));
        }
    } else if (ratio > 0 && (double)config->replay.min_size <= windows &&
               ratio * windows - batch < middle - half) {
        oct_text_add(text,
                     "error: replay.samples_per_insert: %g allows only %.0f sampled windows in "
                     "run.env_steps: %llu, too few for a batch of learner.batch_size: %u: nothing "
                     "would be learned\n",
                     ratio, floor(ratio * windows), env_steps, config->learner.batch_size);
    }
}

static void
check_replay(const oct_config *config, oct_text *text)
{
    bool is_offline = oct_config_is_offline(config); // its windows are there from the start
    bool has_minimum = !is_offline && oct_config_has_limiter(config);
    if (has_minimum && config->replay.min_size > config->replay.capacity) {
        oct_text_add(text,
                     "error: replay.min_size: %llu is more than replay.capacity %llu: sampling "
                     "would never begin\n",
                     (unsigned long long)config->replay.min_size,
                     (unsigned long long)config->replay.capacity);
    }
    if (!is_offline && config->learner.batch_size > config->replay.capacity) {
        oct_text_add(text, "error: learner.batch_size: %u is more than replay.capacity %llu\n",
                     config->learner.batch_size, (unsigned long long)config->replay.capacity);
    }
    if ((uint64_t)config->learner.batch_size * config->learner.batches_per_request >
        OCT_CONFIG_SAMPLE_MAX) {
        oct_text_add(text,
                     "error: learner.batches_per_request: %u batches of learner.batch_size %u "
                     "exceed the %u windows that a reply of replay can hold\n",
                     config->learner.batches_per_request, config->learner.batch_size,
                     OCT_CONFIG_SAMPLE_MAX);
    }
    uint32_t repeat = oct_action_repeat_of(config->env.options);
    if (has_minimum && config->replay.min_size * repeat > config->run.env_steps) {
        oct_text_add(text, "error: run.env_steps: %llu is less than replay.min_size %llu",
                     (unsigned long long)config->run.env_steps,
                     (unsigned long long)config->replay.min_size);
        if (repeat > 1) {
            oct_text_add(text, " times " OCT_ACTION_REPEAT_KEY " %u of env.options", repeat);
        }
        oct_text_add(text, ": nothing would be learned\n");
    }
}

// What may be none is not the empty text.
static void
check_files(const oct_config *config, oct_text *text)
{
    const struct {
        const char *key, *value;
    } files[] = {{"replay.path", config->replay.path},
                 {"replay.data", config->replay.data},
                 {"learner.init_from", config->learner.init_from}};
    for (size_t i = 0; i < OCT_COUNTOF(files); i++) {
        if (files[i].value[0] == 0) {
            oct_text_add(text,
                         "error: %s: \"\" is not a file name; allowed are a file name and none\n",
                         files[i].key);
        }
    }
}

// Daemons beat less often than they are looked at: a shorter time kills sound ones.
static void
check_hangs(const oct_config *config, oct_text *text)
{
    const struct {
        const char *key;
        double seconds;
    } limits[] = {{"run.hang_s", config->run.hang_s}, {"run.env_hang_s", config->run.env_hang_s}};
    for (size_t i = 0; i < OCT_COUNTOF(limits); i++) {
        if (limits[i].seconds > 0 && limits[i].seconds < 1) {
            oct_text_add(text,
                         "error: %s: %g is below 1 second; allowed are 0 (never) and 1 or more\n",
                         limits[i].key, limits[i].seconds);
        }
    }
}

static void
check_learners(const oct_config *config, oct_text *text)
{
    uint32_t count = config->learner.count, size = config->learner.batch_size;
    if (count > 1 && config->learner.asynchronous && config->run.deterministic) {
        oct_text_add(text, "error: learner.asynchronous: true runs without turns, but "
                           "run.deterministic: true needs them; set one of the two to false\n");
    }
    if (!config->learner.asynchronous && size % count != 0) {
        oct_text_add(text,
                     "error: learner.count: %u learners cannot share learner.batch_size %u "
                     "equally: allowed are its divisors\n",
                     count, size);
    }
    if (count > 1 && config->learner.quantisation_aware) {
        oct_text_add(text,
                     "error: learner.count: %u, but learner.quantisation_aware: true allows only "
                     "one learner\n",
                     count);
    }
}

// Why no layer of the policy can be frozen or taken from elsewhere; NULL: layers can.
static const char *
lacks_layers(const oct_config *config)
{
    return oct_config_is_tabular(config) ? "a table has no layers"
           : config->algo.name == OCT_ALGO_EXTERNAL
               ? "external learns in its own process, which chooses the initial weights and the "
                 "layers that learn"
               : NULL;
}

// Layers of the policy: those that freeze names are among them, and not all.
static void
check_freeze(const oct_config *config, oct_text *text)
{
    const oct_config_ints *freeze = &config->learner.freeze;
    uint32_t layers = config->network.conv.count + config->network.hidden.count + 1;
    uint32_t frozen = 0;
    const char *why = lacks_layers(config);
    if (why != NULL && strcmp(config->learner.init_from, "none") != 0) {
        oct_text_add(text, "error: learner.init_from: '%s', but algo.name: %s; allowed is none\n",
                     config->learner.init_from, why);
    }
    if (why != NULL && freeze->count > 0) {
        oct_text_add(text,
                     "error: learner.freeze: names layer %u, but algo.name: %s; allowed is []\n",
                     freeze->value[0], why);
        return;
    }
    for (uint32_t i = 0; i < freeze->count; i++) {
        uint32_t layer = freeze->value[i];
        if (layer >= layers) {
            oct_text_add(text,
                         "error: learner.freeze: there is no layer %u; the policy has layers 0 to "
                         "%u (network.conv, network.hidden and the output layer)\n",
                         layer, layers - 1);
            return;
        }
        frozen |= 1u << layer;
    }
    if (frozen == (1u << layers) - 1) {
        oct_text_add(
            text,
            "error: learner.freeze: lists all %u layers of the policy, so nothing would learn\n",
            layers);
    }
}

static bool
has_data(const oct_config *config)
{
    return strcmp(config->replay.data, "none") != 0;
}

uint32_t
oct_config_data_windows(const oct_config *config)
{
    double windows = config->replay.data_share * config->learner.batch_size;
    return has_data(config) ? (uint32_t)(windows + 0.5) : 0;
}

bool
oct_config_is_offline(const oct_config *config)
{
    return has_data(config) && config->replay.data_share == 1;
}

bool
oct_config_is_mixed(const oct_config *config)
{
    return oct_config_data_windows(config) > 0 && !oct_config_is_offline(config);
}

static void
check_data(const oct_config *config, oct_text *text)
{
    uint32_t windows = oct_config_data_windows(config);
    bool is_offline = oct_config_is_offline(config);
    if (!has_data(config)) {
        if (config->replay.data_share < 1) {
            oct_text_add(text,
                         "error: replay.data_share: %g, but replay.data is none; without a data "
                         "set, allowed is 1\n",
                         config->replay.data_share);
        }
        return;
    }
    if (!is_offline && (windows == 0 || windows == config->learner.batch_size)) {
        oct_text_add(text,
                     "error: replay.data_share: %g of learner.batch_size %u are %u windows; a "
                     "batch needs windows of both kinds\n",
                     config->replay.data_share, config->learner.batch_size, windows);
    }
    if (is_offline && config->run.updates == 0) {
        oct_text_add(text, "error: run.updates: 0 sets no limit, but learning from replay.data "
                           "alone needs one; allowed is at least 1\n");
    }
    if (oct_config_takes_each_once(config)) {
        char word[OCT_CONFIG_NAME_MAX];
        oct_text_add(text,
                     "error: replay.data: algo.name: %s cannot learn from recorded steps; it needs "
                     "new steps of its current policy\n",
                     oct_config_algo_word(config->algo.name, word));
    }
}

// The addresses of net.replay: of each shard, where it is not one for all, and of none two.
static void
check_addresses(const oct_config *config, uint32_t shards, oct_text *text)
{
    char one[OCT_CONFIG_TEXT_MAX], other[OCT_CONFIG_TEXT_MAX];
    bool is_list = strchr(config->net.replay, ',') != NULL;
    for (uint32_t i = 0; i < (is_list ? shards : 1); i++) {
        size_t bytes = oct_config_replay_address(config, i, one);
        if (bytes >= sizeof(one)) {
            oct_text_add(text,
                         "error: net.replay: an address has %zu bytes, allowed are at most %zu\n",
                         bytes, sizeof(one) - 1);
            continue;
        }
        if (bytes == 0 && !is_list) {
            oct_text_add(text, "error: net.replay: an address is required, such as %s\n",
                         oct_config_key_find("net", "replay")->preset);
            return;
        }
        if (bytes == 0) {
            oct_text_add(text, "error: net.replay: %s has no address for shard %u of %u\n",
                         config->net.replay, i, shards);
            return;
        }
        for (uint32_t k = 0; k < i; k++) {
            (void)oct_config_replay_address(config, k, other);
            if (strcmp(one, other) == 0) {
                oct_text_add(text, "error: net.replay: %s is the address of shards %u and %u\n",
                             one, k, i);
            }
        }
    }
}

// What is of one table, or has its order.
static void
check_shards(const oct_config *config, oct_text *text)
{
    uint32_t shards = oct_config_shards(config);
    const struct {
        bool is_set;
        const char *why;
    } refused[] = {
        {config->run.deterministic, "run.deterministic: true works with one table only"},
        {config->algo.name == OCT_ALGO_EXTERNAL, "algo.name: external works with one replay only"},
        {has_data(config), "replay.data: a data set has its own replay and allows only one other"},
    };
    if (shards > OCT_SHARDS_MAX) {
        oct_text_add(text, "error: net.replay: has %u addresses, allowed are 1 to %d\n", shards,
                     OCT_SHARDS_MAX);
        return;
    }
    check_addresses(config, shards, text);
    if (shards == 1) {
        return;
    }
    for (size_t i = 0; i < OCT_COUNTOF(refused); i++) {
        if (refused[i].is_set) {
            oct_text_add(text, "error: replay.shards: %u shards (or addresses in net.replay): %s\n",
                         shards, refused[i].why);
        }
    }
    if (oct_config_has_limiter(config) && config->replay.min_size <= config->replay.capacity &&
        config->replay.min_size > oct_config_shard_capacity(config)) {
        oct_text_add(text,
                     "error: replay.min_size: %llu exceeds the %llu rows of replay.capacity that "
                     "each of %u shards keeps\n",
                     (unsigned long long)config->replay.min_size,
                     (unsigned long long)oct_config_shard_capacity(config), shards);
    }
}

static void
check_policy(const oct_config *config, oct_text *text)
{
    if (config->policy.scale == OCT_SCALE_TENSOR &&
        config->policy.precision == OCT_PRECISION_INT4) {
        oct_text_add(text, "error: policy.scale: tensor is for int8 only; int4 has a scale for "
                           "each row and a multiplier for each group\n");
    }
    if (config->policy.precision == OCT_PRECISION_INT4 && config->policy.dead_band > 7) {
        oct_text_add(text,
                     "error: policy.dead_band: %g exceeds the 7 steps that int4 has on either side "
                     "of 0, so codes would never change\n",
                     config->policy.dead_band);
    }
    if (config->learner.quantisation_aware && config->policy.precision == OCT_PRECISION_FP32) {
        oct_text_add(text, "error: learner.quantisation_aware: true needs a policy.precision that "
                           "rounds weights, but it is fp32\n");
    }
}

// Who learns from the actions of the newest policy, or explores in the parameters' space, needs
// the parameters that it learns themselves in its actors.
static void
check_average(const oct_config *config, oct_text *text)
{
    const struct {
        bool is_set;
        const char *what;
    } never[] = {
        {oct_config_takes_each_once(config),
         "algo.name: reinforce, table, ppo, a2c, vtrace and trpo must learn from steps of the "
         "policy that they train"},
        {config->algo.name == OCT_ALGO_EXTERNAL,
         "algo.name: external publishes the parameters that its own process sends"},
        {config->algo.noisy, "algo.noisy explores with the parameters that it trains"},
        {config->learner.asynchronous,
         "learner.asynchronous does not keep the parameters of each update"},
        {config->learner.quantisation_aware,
         "learner.quantisation_aware trains with the weights that are published"},
    };
    for (size_t i = 0; config->learner.ema_decay > 0 && i < OCT_COUNTOF(never); i++) {
        if (never[i].is_set) {
            oct_text_add(text, "error: learner.ema_decay: %g, but %s; allowed is 0\n",
                         config->learner.ema_decay, never[i].what);
        }
    }
}

// What has no turns, or would lose something in them.
static void
check_turns(const oct_config *config, oct_text *text)
{
    const struct {
        bool is_set;
        const char *what;
    } no_turns[] = {
        {config->actor.when_full == OCT_WHEN_FULL_DROP, "actor.when_full: drop loses steps"},
        {oct_config_takes_each_once(config),
         "algo.name: reinforce, table, ppo, a2c, vtrace and trpo use each window once"},
        {config->algo.name == OCT_ALGO_EXTERNAL,
         "algo.name: external learns in a process that does not run in turns"},
        {config->replay.sampler == OCT_SAMPLER_FIFO,
         "replay.sampler: fifo samples each window once"},
        {!(config->replay.samples_per_insert > 0),
         "replay.samples_per_insert: 0 does not set the number of updates in a turn"},
        {config->algo.noisy && config->algo.noisy_samples > 1,
         "algo.noisy_samples: more than 1 publishes a version for only some of the actors"},
        {oct_config_data_windows(config) > 0,
         "replay.data: windows of a data set do not belong to turns"},
        {strcmp(config->replay.path, "none") == 0,
         "replay.path: none keeps no table from which a killed run could resume"},
    };
    for (size_t i = 0; config->run.deterministic && i < OCT_COUNTOF(no_turns); i++) {
        if (no_turns[i].is_set) {
            oct_text_add(text, "error: %s; not allowed with run.deterministic: true\n",
                         no_turns[i].what);
        }
    }
}

oct_err
oct_config_check(const oct_config *config, char *message, size_t message_size)
{
    oct_text text;
    oct_text_init(&text, message, message_size);
    if (config->env.id[0] == 0) {
        oct_text_add(&text, "error: env.id: an environment is required, such as CartPole-v1\n");
    }
    if (!options_are_pairs(config->env.options)) {
        oct_text_add(&text,
                     "error: env.options: %s is not a list such as key=value,key=value with closed "
                     "brackets and quotes\n",
                     config->env.options);
    }
    if (oct_action_repeat_of(config->env.options) == 0) {
        oct_text_add(
            &text, "error: env.options: " OCT_ACTION_REPEAT_KEY " is not a whole number 1 .. %d\n",
            OCT_ACTION_REPEAT_MAX);
    }
    check_network(config, &text);
    check_algo(config, &text);
    check_replay(config, &text);
    check_budget(config, &text);
    check_files(config, &text);
    check_hangs(config, &text);
    check_learners(config, &text);
    check_freeze(config, &text);
    check_data(config, &text);
    check_shards(config, &text);
    check_sequences(config, &text);
    check_rollouts(config, &text);
    check_policy(config, &text);
    check_average(config, &text);
    check_turns(config, &text);
    if (config->evaluation.screen_episodes > config->evaluation.episodes) {
        oct_text_add(&text,
                     "error: evaluation.screen_episodes: %u is more than evaluation.episodes %u\n",
                     config->evaluation.screen_episodes, config->evaluation.episodes);
    }
    return text.used > 0 || text.truncated ? OCT_EINVAL : OCT_OK;
}
