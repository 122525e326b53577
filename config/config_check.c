// Checks that the values of an experiment agree with each other. All contradictions are reported at
// once.
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_action_repeat.h"
#include "common/oct_base.h"
#include "common/oct_option.h"
#include "common/oct_text.h"
#include "config/config_algos.h"
#include "config/config_effects.h"

// Returns true if options have the form "key=value,key=value".
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

// Returns true if the widths are those of a first layer and blocks of two layers, all equal.
static bool
has_blocks(const config_ints *widths)
{
    bool has = widths->count % 2 == 1;
    for (uint32_t i = 0; i < widths->count; i++) {
        has &= widths->value[i] == widths->value[0];
    }
    return has;
}

// Checks network.layers against the short form of it.
static void
check_layers(const config_experiment *config, oct_text *text)
{
    static const int others[] = {CONFIG_KEY_network_hidden, CONFIG_KEY_network_conv,
                                 CONFIG_KEY_network_first_layer_norm};
    oct_reason why;
    policy_words words;
    if (config->network.layers[0] == 0) {
        if (config_words(config, NULL, &words, &why) != OCT_OK) {
            oct_text_add(text, "error: network.conv: %s\n", why.text);
        }
        return;
    }
    for (size_t i = 0; i < OCT_COUNTOF(others); i++) {
        const config_key *key = &config_keys[others[i]];
        char value[CONFIG_VALUE_MAX];
        (void)config_value_print(config, key, value);
        if (config->is_given[others[i]] && strcmp(value, key->default_text) != 0) {
            oct_text_add(text,
                         "error: %s: %s, but network.layers lists the layers; give one of "
                         "the two\n",
                         key->name, value);
        }
    }
    if (config->network.critic_hidden.count > 0 &&
        config_words(config, &config->network.critic_hidden, &words, &why) != OCT_OK) {
        oct_text_add(text, "error: network.layers: %s\n", why.text);
    }
}

static void
check_network(const config_experiment *config, oct_text *text)
{
    if (config->network.first_layer_norm && config->network.hidden.count == 0 &&
        config->network.layers[0] == 0) {
        oct_text_add(text, "error: network.first_layer_norm: true needs a first hidden layer, but "
                           "network.hidden is []\n");
    }
    if (config->network.critic_residual && !has_blocks(config_critic_hidden(config))) {
        oct_text_add(text,
                     "error: network.critic_residual: true needs an odd number of equal widths in "
                     "%s: the first layer and two for each block, such as [256, 256, 256]\n",
                     config->network.critic_hidden.count > 0
                         ? "network.critic_hidden"
                         : "network.hidden (network.critic_hidden: [])");
    }
    float low = (float)config->algo.value_min,
          high = (float)config->algo.value_max; // as the learner keeps them
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
    check_layers(config, text);
}

// Refuses switches that are on and that the algorithm does not read.
static void
check_algo(const config_experiment *config, oct_text *text)
{
    char value[CONFIG_VALUE_MAX], readers[CONFIG_READERS_MAX];
    size_t at = 0;
    for (const config_key *key; (key = config_next_unread(config, &at, value)) != NULL;) {
        if (config_is_on(key, value)) {
            oct_text_add(text, "error: %s: true is an option of algo.name: %s\n", key->name,
                         config_readers(key->name, readers));
        }
    }
    if (config->algo.name == CONFIG_ALGO_VTRACE &&
        config->algo.trace_max > config->algo.ratio_max) { // or it may not converge
        oct_text_add(text, "error: algo.trace_max: %g is more than algo.ratio_max %g\n",
                     config->algo.trace_max, config->algo.ratio_max);
    }
    if (config->algo.target != CONFIG_TARGET_Q_LEARNING && config->algo.distributional) {
        oct_text_add(
            text,
            "error: algo.target: only q_learning is allowed with algo.distributional: true\n");
    }
}

uint32_t
config_rollout_rows(uint32_t steps)
{
    return steps + steps / 4 + 2;
}

uint64_t
config_rollouts_held(const config_experiment *config, uint64_t envs)
{
    return envs * config_rollout_rows(config->algo.sequence_steps) *
           (2 + (uint64_t)config->algo.rollout_lag) * config_shards(config);
}

uint32_t
config_rollout_steps(uint64_t rows)
{
    uint64_t steps = rows < 3 ? 0 : (4 * (rows - 2) + 3) / 5;
    return (uint32_t)OCT_MIN(steps, (uint64_t)UINT32_MAX);
}

// Each environment makes one rollout per version, so a batch needs as many environments as
// rollouts. An actor's rollouts are one message, and replay must hold the rollouts of all versions
// that may be ahead.
static void
check_rollouts(const config_experiment *config, oct_text *text)
{
    if (!config_has_rollouts(config)) {
        return;
    }
    uint64_t envs = config_environments(config);
    uint64_t rows = config_rollout_rows(config->algo.sequence_steps);
    uint64_t held = config_rollouts_held(config, envs);
    uint64_t actions = (uint64_t)(config->learner.batch_size / config->learner.count) *
                       config->algo.sequence_steps; // actions of a batch that one learner gets
    if (config->learner.batch_size > envs) {
        oct_text_add(text,
                     "error: learner.batch_size: %u rollouts, but %llu environments (actor.count: "
                     "%u of actor.envs: %u) produce only one each per policy version\n",
                     config->learner.batch_size, (unsigned long long)envs, config->actor.count,
                     config->actor.envs);
    }
    uint32_t shards = config_shards(config);
    if (held > config_shard_capacity(config) * shards) {
        oct_text_add(
            text,
            "error: replay.capacity: %llu rows%s cannot hold the rows that %llu environments "
            "produce with algo.sequence_steps: %u in %llu versions; %llu rows are enough\n",
            (unsigned long long)config->replay.capacity,
            shards > 1 ? ", divided among the shards," : "", (unsigned long long)envs,
            config->algo.sequence_steps, 2 + (unsigned long long)config->algo.rollout_lag,
            (unsigned long long)held);
    }
    if (config->learner.batch_size * rows > CONFIG_SAMPLE_MAX) {
        oct_text_add(text,
                     "error: learner.batch_size: %u rollouts of algo.sequence_steps: %u exceed the "
                     "%u rows that a reply of replay can hold\n",
                     config->learner.batch_size, config->algo.sequence_steps, CONFIG_SAMPLE_MAX);
    }
    if (config->actor.envs * rows > CONFIG_BATCH_MAX) {
        oct_text_add(text,
                     "error: actor.envs: %u rollouts of algo.sequence_steps: %u exceed the %u rows "
                     "that an actor's message can hold; %u fit\n",
                     config->actor.envs, config->algo.sequence_steps, CONFIG_BATCH_MAX,
                     (unsigned)(CONFIG_BATCH_MAX / rows));
    }
    bool has_minibatches =
        config->algo.name != CONFIG_ALGO_A2C && config->algo.name != CONFIG_ALGO_EXTERNAL;
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
    if (config->actor.when_full == CONFIG_WHEN_FULL_DROP) {
        oct_text_add(text, "error: actor.when_full: drop would lose rollouts that algo.name: ppo, "
                           "a2c, trpo and external wait for; allowed is wait\n");
    }
    if (config->algo.name == CONFIG_ALGO_TRPO && !(config->algo.kl_max > 0)) {
        oct_text_add(text, "error: algo.kl_max: must be above 0 with algo.name: trpo, because it "
                           "determines the length of a step; 0.01 is usual\n");
    }
}

// A batch counts windows, replay.capacity counts rows. replay/replay_config.h checks what the
// blocks of the table need in addition.
static void
check_sequences(const config_experiment *config, oct_text *text)
{
    if (!config_takes_each_once(config) || config_has_rollouts(config)) {
        return;
    }
    oct_fifo fifo = config_fifo(config);
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
    if (batch > CONFIG_SAMPLE_MAX) {
        oct_text_add(text,
                     "error: learner.batch_size: %u windows of algo.sequence_steps: %u exceed the "
                     "%u steps that a reply of replay can hold\n",
                     config->learner.batch_size, config->algo.sequence_steps, CONFIG_SAMPLE_MAX);
    }
}

// Refuses a budget that cannot fill one batch, even if every window has a single step. Where
// windows are sampled repeatedly, the limiter's band (replay/replay_limiter.h) is at most as wide
// as all inserts and one batch. check_replay refuses a replay.min_size beyond the budget.
static void
check_budget(const config_experiment *config, oct_text *text)
{
    unsigned long long env_steps = config->run.env_steps;
    double windows = (double)env_steps / OCT_MAX(oct_action_repeat_of(config->env.options), 1u);
    double ratio = config->replay.samples_per_insert;
    double batch = config->learner.batch_size - config_data_windows(config);
    double middle = ratio * (double)config->replay.min_size;
    double half = OCT_MAX(config->replay.tolerance * middle, (ratio * windows + batch + 1) / 2);
    if (config_is_offline(config) || batch > (double)config->replay.capacity) {
        return;
    }
    if (!config_has_limiter(config)) {
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
check_replay(const config_experiment *config, oct_text *text)
{
    bool is_offline = config_is_offline(config); // all windows exist from the start
    bool has_minimum = !is_offline && config_has_limiter(config);
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
        CONFIG_SAMPLE_MAX) {
        oct_text_add(text,
                     "error: learner.batches_per_request: %u batches of learner.batch_size %u "
                     "exceed the %u windows that a reply of replay can hold\n",
                     config->learner.batches_per_request, config->learner.batch_size,
                     CONFIG_SAMPLE_MAX);
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

// Refuses the empty text where none means that there is no file.
static void
check_files(const config_experiment *config, oct_text *text)
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

// Daemons report progress less often than they are checked, so a shorter limit would kill healthy
// ones.
static void
check_hangs(const config_experiment *config, oct_text *text)
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
check_learners(const config_experiment *config, oct_text *text)
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

// Returns why layers of the policy can be neither frozen nor initialised, or NULL if they can.
static const char *
lacks_layers(const config_experiment *config)
{
    return config_is_tabular(config) ? "a table has no layers"
           : config->algo.name == CONFIG_ALGO_EXTERNAL
               ? "external learns in its own process, which chooses the initial weights and the "
                 "layers that learn"
               : NULL;
}

// Checks that learner.freeze names layers of the policy, but not all of them.
static void
check_freeze(const config_experiment *config, oct_text *text)
{
    const config_ints *freeze = &config->learner.freeze;
    policy_words words = {0};
    uint32_t frozen = 0;
    uint32_t layers = config_words(config, NULL, &words, NULL) == OCT_OK ? words.count + 1 : 1;
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
                         "%u (the hidden layers and the output layer)\n",
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
has_data(const config_experiment *config)
{
    return strcmp(config->replay.data, "none") != 0;
}

uint32_t
config_data_windows(const config_experiment *config)
{
    double windows = config->replay.data_share * config->learner.batch_size;
    return has_data(config) ? (uint32_t)(windows + 0.5) : 0;
}

bool
config_is_offline(const config_experiment *config)
{
    return has_data(config) && config->replay.data_share == 1;
}

bool
config_is_mixed(const config_experiment *config)
{
    return config_data_windows(config) > 0 && !config_is_offline(config);
}

static void
check_data(const config_experiment *config, oct_text *text)
{
    uint32_t windows = config_data_windows(config);
    bool is_offline = config_is_offline(config);
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
    if (config_takes_each_once(config)) {
        oct_text_add(text,
                     "error: replay.data: algo.name: %s cannot learn from recorded steps; it needs "
                     "new steps of its current policy\n",
                     config_algo_word(config->algo.name));
    }
}

// Checks net.replay: a list has one address for each shard, and no address twice.
static void
check_addresses(const config_experiment *config, uint32_t shards, oct_text *text)
{
    char one[CONFIG_TEXT_MAX], other[CONFIG_TEXT_MAX];
    bool is_list = strchr(config->net.replay, ',') != NULL;
    for (uint32_t i = 0; i < (is_list ? shards : 1); i++) {
        size_t bytes = config_replay_address(config, i, one);
        if (bytes >= sizeof(one)) {
            oct_text_add(text,
                         "error: net.replay: an address has %zu bytes, allowed are at most %zu\n",
                         bytes, sizeof(one) - 1);
            continue;
        }
        if (bytes == 0 && !is_list) {
            oct_text_add(text, "error: net.replay: an address is required, such as %s\n",
                         config_keys[CONFIG_KEY_net_replay].default_text);
            return;
        }
        if (bytes == 0) {
            oct_text_add(text, "error: net.replay: %s has no address for shard %u of %u\n",
                         config->net.replay, i, shards);
            return;
        }
        for (uint32_t k = 0; k < i; k++) {
            (void)config_replay_address(config, k, other);
            if (strcmp(one, other) == 0) {
                oct_text_add(text, "error: net.replay: %s is the address of shards %u and %u\n",
                             one, k, i);
            }
        }
    }
}

// Refuses what works with one table only.
static void
check_shards(const config_experiment *config, oct_text *text)
{
    uint32_t shards = config_shards(config);
    const struct {
        bool is_set;
        const char *why;
    } refused[] = {
        {config->run.deterministic, "run.deterministic: true works with one table only"},
        {config->algo.name == CONFIG_ALGO_EXTERNAL,
         "algo.name: external works with one replay only"},
        {has_data(config), "replay.data: a data set has its own replay and allows only one other"},
    };
    if (shards > CONFIG_SHARDS_MAX) {
        oct_text_add(text, "error: net.replay: has %u addresses, allowed are 1 to %d\n", shards,
                     CONFIG_SHARDS_MAX);
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
    if (config_has_limiter(config) && config->replay.min_size <= config->replay.capacity &&
        config->replay.min_size > config_shard_capacity(config)) {
        oct_text_add(text,
                     "error: replay.min_size: %llu exceeds the %llu rows of replay.capacity that "
                     "each of %u shards keeps\n",
                     (unsigned long long)config->replay.min_size,
                     (unsigned long long)config_shard_capacity(config), shards);
    }
}

static void
check_policy(const config_experiment *config, oct_text *text)
{
    if (config->policy.scale == CONFIG_SCALE_TENSOR &&
        config->policy.precision == CONFIG_PRECISION_INT4) {
        oct_text_add(text, "error: policy.scale: tensor is for int8 only; int4 has a scale for "
                           "each row and a multiplier for each group\n");
    }
    if (config->policy.precision == CONFIG_PRECISION_INT4 && config->policy.dead_band > 7) {
        oct_text_add(text,
                     "error: policy.dead_band: %g exceeds the 7 steps that int4 has on either side "
                     "of 0, so codes would never change\n",
                     config->policy.dead_band);
    }
    if (config->learner.quantisation_aware && config->policy.precision == CONFIG_PRECISION_FP32) {
        oct_text_add(text, "error: learner.quantisation_aware: true needs a policy.precision that "
                           "rounds weights, but it is fp32\n");
    }
}

// Refuses to publish an average of the parameters to actors that need the parameters themselves.
static void
check_average(const config_experiment *config, oct_text *text)
{
    const struct {
        bool is_set;
        const char *what;
    } never[] = {
        {config_takes_each_once(config),
         "algo.name: reinforce, table, ppo, a2c, vtrace and trpo must learn from steps of the "
         "policy that they train"},
        {config->algo.name == CONFIG_ALGO_EXTERNAL,
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

// Refuses what lock-step does not support.
static void
check_turns(const config_experiment *config, oct_text *text)
{
    const struct {
        bool is_set;
        const char *what;
    } no_turns[] = {
        {config->actor.when_full == CONFIG_WHEN_FULL_DROP, "actor.when_full: drop loses steps"},
        {config_takes_each_once(config),
         "algo.name: reinforce, table, ppo, a2c, vtrace and trpo use each window once"},
        {config->algo.name == CONFIG_ALGO_EXTERNAL,
         "algo.name: external learns in a process that does not run in turns"},
        {config->replay.sampler == CONFIG_SAMPLER_FIFO,
         "replay.sampler: fifo samples each window once"},
        {!(config->replay.samples_per_insert > 0),
         "replay.samples_per_insert: 0 does not set the number of updates in a turn"},
        {config->algo.noisy && config->algo.noisy_samples > 1,
         "algo.noisy_samples: more than 1 publishes a version for only some of the actors"},
        {config_data_windows(config) > 0,
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
config_check(const config_experiment *config, char *message, size_t message_size)
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
