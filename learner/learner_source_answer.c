// What one answer of a replay may hold, and whether the batches of an experiment fit into one.
#include "learner/learner_source.h"

#include "common/oct_base.h"
#include "common/oct_text.h"

#define SHARD_REQUESTS   2 // requests to one replay that one to a shard may be as large as
#define ANSWER_BYTES_MAX (WIRE_MESSAGE_BYTES_MAX / 2) // leaves room for the message around it

// Bytes of one window in an answer, and its rows.
static size_t
window_bytes(const learner_source_options *options, uint32_t *rows)
{
    const policy_spec *spec = options->spec;
    size_t obs = policy_spec_obs_bytes(spec), action = policy_spec_action_bytes(spec);
    size_t extra = policy_spec_extra_dim(spec) * sizeof(float);
    bool is_sequence = options->wants.window != ALGO_WINDOW_N_STEP;
    *rows = is_sequence ? options->wants.steps : 1;
    if (!is_sequence) {
        return 2 * obs + action + extra + 2 * sizeof(float) + sizeof(float) + sizeof(uint64_t);
    }
    size_t row = obs + action + extra + sizeof(float) + 1 + sizeof(uint32_t);
    return obs + *rows * row + sizeof(float) + sizeof(uint64_t);
}

// As many as one answer can hold, at most.
uint32_t
learner_source_request_max(const learner_source_options *options)
{
    uint32_t rows;
    uint64_t B = options->batch_size;
    uint64_t bytes = window_bytes(options, &rows) * B;
    uint64_t fit = OCT_MIN(WIRE_SAMPLE_COUNT_MAX / (B * rows), ANSWER_BYTES_MAX / bytes);
    bool is_rollout = options->wants.window == ALGO_WINDOW_ROLLOUT;
    uint32_t wanted = is_rollout ? 1 : options->config->learner.batches_per_request;
    if (options->is_shard && !learner_source_takes(options)) {
        wanted *= SHARD_REQUESTS;
    }
    return (uint32_t)OCT_MIN(fit, wanted);
}

// What an actor has to put into one message: a step of all its environments, or a rollout of them.
static oct_err
check_batch(const oct_config *config, const policy_spec *spec, char *reason, size_t reason_size)
{
    uint32_t obs_bytes = (uint32_t)policy_spec_obs_bytes(spec), envs = config->actor.envs;
    uint32_t steps = oct_config_has_rollouts(config) ? config->algo.sequence_steps : 1;
    uint32_t rows = oct_config_rollout_rows(steps);
    uint32_t most = wire_batch_rows_max(obs_bytes, (uint32_t)policy_spec_action_bytes(spec),
                                        policy_spec_extra_dim(spec));
    if (oct_config_is_offline(config) || (uint64_t)rows * envs <= most) {
        return OCT_OK;
    }
    if (!oct_config_has_rollouts(config)) {
        return oct_refuse(reason, reason_size,
                          "actor.envs: one message to replay cannot hold a step of %u environments "
                          "with observations of %u bytes; at most %u environments fit",
                          envs, obs_bytes, most / rows);
    }
    return oct_refuse(
        reason, reason_size,
        "algo.sequence_steps: one message to replay cannot hold %u steps of "
        "actor.envs: %u environments with observations of %u bytes; at most %u steps, "
        "or %u environments, fit",
        steps, envs, obs_bytes, oct_config_rollout_steps(most / envs), most / rows);
}

oct_err
learner_source_check(const learner_source_options *options, char *reason, size_t reason_size)
{
    uint32_t rows;
    size_t bytes = window_bytes(options, &rows);
    if (rows > WIRE_WINDOW_STEPS_MAX) {
        return oct_refuse(
            reason, reason_size,
            "algo.sequence_steps: %u makes windows of %u steps; at most %u are allowed",
            options->config->algo.sequence_steps, rows, (unsigned)WIRE_WINDOW_STEPS_MAX);
    }
    if (learner_source_request_max(options) == 0) {
        return oct_refuse(reason, reason_size,
                          "learner.batch_size: %u windows of %u rows and %zu bytes exceed what one "
                          "reply of replay can hold (%u rows, %zu bytes)",
                          options->batch_size, rows, bytes, (unsigned)WIRE_SAMPLE_COUNT_MAX,
                          (size_t)ANSWER_BYTES_MAX);
    }
    return check_batch(options->config, options->spec, reason, reason_size);
}

uint64_t
learner_source_answer_bytes(const learner_source_options *options)
{
    uint32_t rows;
    uint64_t windows = (uint64_t)learner_source_request_max(options) * options->batch_size;
    return windows * window_bytes(options, &rows);
}
