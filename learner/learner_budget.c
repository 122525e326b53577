// Adds up what a learner will take, and says whether there is so much.
#include "learner/learner_budget.h"

#include "common/oct_base.h"
#include "common/oct_memory.h"
#include "common/oct_text.h"
#include "learner/learner_checkpoint.h"
#include "learner/learner_group.h"
#include "learner/learner_publisher.h"
#include "learner/learner_shards.h"

#define MESSAGES      3 // from each replay: two on their way, and one that is taken apart
#define SNAPSHOTS     3 // of the parameters: two in the stage, and what is published of them
#define PUBLICATIONS  4 // that are held: by actors, by evaluations, by the run
#define PROJECTED     3 // weights of policy and target, and what they are rounded in
#define PER_PARAMETER (2 * sizeof(float)) // of a publication

// T of algo_batch.
static uint32_t
rows_of(const learner_budget_options *options)
{
    return options->wants.window != ALGO_WINDOW_N_STEP ? options->wants.steps : 0;
}

static learner_source_options
source_of(const learner_budget_options *options, uint32_t windows)
{
    return (learner_source_options){.config = options->config,
                                    .spec = options->spec,
                                    .wants = options->wants,
                                    .batch_size = OCT_MAX(1u, windows)};
}

// As learner_join makes them: of one replay, of shards, or of a live one and a data set.
static void
batches_add(learner_budget *budget, const learner_budget_options *options)
{
    const oct_config *config = options->config;
    uint32_t shards = oct_config_shards(config), windows = config->learner.batch_size;
    uint32_t from_data = oct_config_is_mixed(config) ? oct_config_data_windows(config) : 0;
    learner_source_options live = source_of(options, windows - from_data);
    learner_source_options data = source_of(options, from_data);
    live.is_shard = shards > 1;
    budget->answers = (uint64_t)MESSAGES * shards * learner_source_answer_bytes(&live);
    if (shards > 1) {
        budget->batches = learner_shards_needed(&live, shards);
        budget->batches_bytes = learner_shards_bytes(&live, shards);
        return;
    }
    budget->batches = learner_source_in_work(&live);
    budget->batches_bytes = learner_source_bytes(&live);
    if (from_data > 0) {
        budget->batches = OCT_MIN(budget->batches, learner_source_in_work(&data));
        budget->answers += MESSAGES * learner_source_answer_bytes(&data);
        budget->batches_bytes += learner_source_bytes(&data) +
                                 budget->batches * (uint64_t)learner_batch_bytes(
                                                       options->spec, windows, rows_of(options));
    }
}

static uint64_t
learners_bytes(const learner_budget_options *options, uint64_t state_bytes)
{
    const oct_config *config = options->config;
    uint32_t T = rows_of(options);
    uint64_t params = policy_spec_params(options->spec);
    if (config->algo.name == OCT_ALGO_EXTERNAL) { // a batch and parameters, in memory of both
        return learner_batch_bytes(options->spec, config->learner.batch_size, T) +
               params * sizeof(float);
    }
    return learner_group_bytes(config, options->spec, T, options->learners, state_bytes);
}

static uint64_t
total_of(const learner_budget *budget, const oct_config *config)
{
    uint64_t held = PUBLICATIONS + (config->algo.noisy ? config->algo.noisy_samples : 0);
    return budget->algorithm + budget->state + budget->batches_bytes + budget->answers +
           budget->learners + budget->snapshots + budget->fold + held * budget->publication +
           budget->curve;
}

oct_err
learner_budget_make(learner_budget *out, const learner_budget_options *options)
{
    const oct_config *config = options->config;
    oct_config own = *config;
    algo_memory memory;
    if (!config->learner.asynchronous) { // each has its part of a batch
        own.learner.batch_size = OCT_MAX(1u, own.learner.batch_size / own.learner.count);
    }
    OCT_TRY(algo_measure(&memory, &options->context, &own, options->spec));
    uint64_t params = policy_spec_params(options->spec);
    uint64_t projected =
        config->learner.quantisation_aware ? PROJECTED * params * sizeof(float) : 0;
    uint32_t copies = SNAPSHOTS + (config->learner.ema_decay > 0 ? 1 : 0);
    *out = (learner_budget){
        .policy_parameters = params,
        .algorithm = options->learners * (memory.bytes + projected),
        .state = memory.state_bytes,
        .learners = learners_bytes(options, memory.state_bytes),
        .snapshots = copies * params * sizeof(float),
        .fold = learner_publisher_fold_bytes(config, options->spec),
        .publication = params * PER_PARAMETER,
        .curve = LEARNER_CURVE_MAX * sizeof(learner_curve_point),
    };
    batches_add(out, options);
    out->total = total_of(out, config);
    return OCT_OK;
}

// ---- whether there is so much

// How many windows of a batch would fit; 0: not even one.
static uint32_t
windows_that_fit(const learner_budget_options *options, uint64_t available)
{
    oct_config config = *options->config;
    learner_budget_options fewer = *options;
    learner_budget budget;
    uint32_t fit = 0, above = config.learner.batch_size;
    fewer.config = &config;
    while (above - fit > 1) {
        uint32_t middle = fit + (above - fit) / 2;
        config.learner.batch_size = middle;
        bool fits = learner_budget_make(&budget, &fewer) == OCT_OK &&
                    oct_memory_suffices(available, budget.total);
        fit = fits ? middle : fit;
        above = fits ? above : middle;
    }
    return fit;
}

// What else makes windows large: ", algo.atoms: 51".
static void
width_add(oct_text *text, const learner_budget_options *options)
{
    const oct_config *config = options->config;
    if (options->wants.window != ALGO_WINDOW_N_STEP) {
        oct_text_add(text, ", algo.sequence_steps: %u", config->algo.sequence_steps);
    }
    if (config->algo.name == OCT_ALGO_D4PG || config->algo.distributional) {
        oct_text_add(text, ", algo.atoms: %u", config->algo.atoms);
    }
}

oct_err
learner_budget_check(const learner_budget *budget, const learner_budget_options *options,
                     uint64_t available, char *reason, size_t reason_size)
{
    char takes[32], algorithm[32], batches[32], has[32];
    const oct_config *config = options->config;
    if (oct_memory_suffices(available, budget->total)) {
        return OCT_OK;
    }
    oct_text text;
    oct_text_init(&text, reason, reason_size);
    oct_text_add(&text, "learner.batch_size: %u, learner.prefetch: %u", config->learner.batch_size,
                 config->learner.prefetch);
    width_add(&text, options);
    oct_text_add(&text,
                 ": the learner takes %s (%s for networks and updates, %s for %u batches), but %s "
                 "of memory are available; ",
                 oct_text_bytes(takes, sizeof(takes), (double)budget->total, ""),
                 oct_text_bytes(algorithm, sizeof(algorithm), (double)budget->algorithm, ""),
                 oct_text_bytes(batches, sizeof(batches), (double)budget->batches_bytes, ""),
                 budget->batches, oct_text_bytes(has, sizeof(has), (double)available, ""));
    uint32_t fit = windows_that_fit(options, available);
    if (fit > 0) {
        oct_text_add(&text, "about %u windows would fit", fit);
    } else {
        oct_text_add(&text, "not one window would fit: make network.hidden smaller%s",
                     config->network.critic_hidden.count > 0 ? ", or network.critic_hidden" : "");
    }
    return OCT_EINVAL;
}
