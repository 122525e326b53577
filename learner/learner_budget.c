// Adds up the memory that a learner will take, and checks that it is available.
#include "learner/learner_budget.h"

#include "common/oct_base.h"
#include "common/oct_memory.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "learner/learner_batches.h"
#include "learner/learner_checkpoint.h"
#include "learner/learner_group.h"
#include "learner/learner_publisher.h"

#define MESSAGES      3 // from each replay: two on their way, and one being copied
#define SNAPSHOTS     3 // copies of the parameters: two in the stage, one published
#define PUBLICATIONS  4 // held at the same time: by actors, by evaluations, by the run
#define PROJECTED     3 // copies of the parameters: policy, target, and a buffer for rounding
#define PER_PARAMETER (2 * sizeof(float)) // bytes of a publication

static void
batches_add(learner_budget *budget, const learner_budget_options *options)
{
    const learner_source_options source = {
        .config = options->config, .spec = options->spec, .wants = options->wants};
    learner_batches_size size = learner_batches_measure(&source);
    budget->batches = size.count;
    budget->batches_bytes = size.bytes;
    budget->answers = MESSAGES * size.answer_bytes;
}

static uint64_t
learners_bytes(const learner_budget_options *options, uint64_t state_bytes)
{
    const config_experiment *config = options->config;
    uint32_t T = learner_batch_rows(&options->wants);
    uint64_t params = policy_spec_params(options->spec);
    if (config->algo.name ==
        CONFIG_ALGO_EXTERNAL) { // a batch and the parameters, in memory that both processes share
        return learner_batch_bytes(options->spec, config->learner.batch_size, T) +
               params * sizeof(float);
    }
    return learner_group_bytes(config, options->spec, T, options->learners, state_bytes);
}

static uint64_t
total_of(const learner_budget *budget, const config_experiment *config)
{
    uint64_t held = PUBLICATIONS + (config->algo.noisy ? config->algo.noisy_samples : 0);
    return budget->algorithm + budget->state + budget->batches_bytes + budget->answers +
           budget->learners + budget->snapshots + budget->fold + held * budget->publication +
           budget->curve;
}

oct_err
learner_budget_make(learner_budget *out, const learner_budget_options *options)
{
    const config_experiment *config = options->config;
    config_experiment own = *config;
    algo_memory memory;
    if (!config->learner.asynchronous) { // each learner has its part of a batch
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

// ---- the check

// Returns how many windows of a batch would fit; 0: not even one.
static uint32_t
windows_that_fit(const learner_budget_options *options, uint64_t available)
{
    config_experiment config = *options->config;
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

// Adds the other keys that make windows large: ", algo.atoms: 51".
static void
width_add(oct_text *text, const learner_budget_options *options)
{
    const config_experiment *config = options->config;
    if (options->wants.window != ALGO_WINDOW_N_STEP) {
        oct_text_add(text, ", algo.sequence_steps: %u", config->algo.sequence_steps);
    }
    if (config->algo.name == CONFIG_ALGO_D4PG || config->algo.distributional) {
        oct_text_add(text, ", algo.atoms: %u", config->algo.atoms);
    }
}

oct_err
learner_budget_check(const learner_budget *budget, const learner_budget_options *options,
                     uint64_t available, oct_reason *why)
{
    char takes[32], algorithm[32], batches[32], has[32];
    const config_experiment *config = options->config;
    if (oct_memory_suffices(available, budget->total)) {
        return OCT_OK;
    }
    oct_text text;
    oct_text_init(&text, why->text, sizeof(why->text));
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
