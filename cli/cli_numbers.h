#ifndef CLI_CLI_NUMBERS_H
#define CLI_CLI_NUMBERS_H

#include <stddef.h>

// The daemons' numbers that the command line shows, by the names they are served under
// (wire_status). A plain value: NaN is "not known", and names that are not listed are ignored.

#define CLI_NUMBERS_MAP(X)                                                                         \
    X(CLI_ENV_STEPS, "learner.env_steps")                                                          \
    X(CLI_ENV_STEPS_BUDGET, "learner.env_steps_budget")                                            \
    X(CLI_ENV_STEPS_PER_S, "learner.env_steps_per_s")                                              \
    X(CLI_UPDATES, "learner.updates")                                                              \
    X(CLI_UPDATES_PER_S, "learner.updates_per_s")                                                  \
    X(CLI_POLICY_VERSION, "learner.policy_version")                                                \
    X(CLI_POLICY_LAG, "learner.policy_lag")                                                        \
    X(CLI_PUBLISHED_BYTES, "learner.published_bytes")                                              \
    X(CLI_PUBLISHED_BYTES_PER_S, "learner.published_bytes_per_s")                                  \
    X(CLI_POLICY_RATIO, "learner.policy_bytes_fp32_ratio")                                         \
    X(CLI_UNSAVED, "learner.unsaved")                                                              \
    X(CLI_ACTORS, "learner.actors")                                                                \
    X(CLI_EVALUATIONS, "learner.evaluations")                                                      \
    X(CLI_EVAL_RETURN, "learner.eval_return")                                                      \
    X(CLI_EVAL_RETURN_STD, "learner.eval_return_std")                                              \
    X(CLI_EVAL_BEST, "learner.eval_best")                                                          \
    X(CLI_EVAL_EPISODES, "learner.eval_episodes")                                                  \
    X(CLI_TRAIN_RETURN, "learner.train_return")                                                    \
    X(CLI_TRAIN_EPISODES, "learner.train_episodes")                                                \
    X(CLI_LOSS, "learner.loss")                                                                    \
    X(CLI_WAIT_SHARE, "learner.wait_share")                                                        \
    X(CLI_ACTOR_WAIT_SHARE, "learner.actor_wait_share")                                            \
    X(CLI_DIVERGENCE, "learner.divergence")                                                        \
    X(CLI_REPLAY_SIZE, "replay.size")                                                              \
    X(CLI_REPLAY_CAPACITY, "replay.capacity")                                                      \
    X(CLI_REPLAY_INSERTS, "replay.inserts")                                                        \
    X(CLI_REPLAY_SAMPLES, "replay.samples")                                                        \
    X(CLI_SAMPLES_PER_INSERT, "replay.samples_per_insert")                                         \
    X(CLI_INSERT_BLOCKED_S, "replay.insert_blocked_s")                                             \
    X(CLI_SAMPLE_BLOCKED_S, "replay.sample_blocked_s")

typedef enum cli_number {
#define X(id, name) id,
    CLI_NUMBERS_MAP(X)
#undef X
        CLI_NUMBERS_COUNT
} cli_number;

typedef struct cli_numbers {
    double value[CLI_NUMBERS_COUNT];
} cli_numbers;

void cli_numbers_clear(cli_numbers *numbers);
// Takes over what names and values say; the others stay.
void cli_numbers_take(cli_numbers *numbers, const char *const *names, const double *values,
                      size_t count);

#endif // CLI_CLI_NUMBERS_H
