// Runs every exported header over the observations and prints checksums of outputs and actions, one
// line for each policy: NAME, then one checksum for each block of rows, and the answer of its self
// test when that is not 0. Knows nothing of Octet; is
// compiled for every machine that a robot may have. robot_cases.h is written by export_cases.c.

#include <inttypes.h>
#include <stdio.h>

#include "robot_cases.h"

#include "tests/policy/export/robot_observations.h"

// A policy as the loop below sees it.
typedef struct robot_case {
    const char *name;
    uint32_t observation_count;
    uint32_t output_count;
    uint32_t action_words;
    int is_bytes;
    int (*outputs)(const void *observation, float *outputs);
    int (*act)(const void *observation, void *action);
    int (*self_test)(void *observation);
    void (*seed)(void);
    int (*sample)(const void *observation, void *action, float *log_prob); // NULL: greedy only
} robot_case;

#define SAMPLED(name, type, action_type)                                                           \
    static name##_rng name##_generator;                                                            \
    static void name##_run_seed(void)                                                              \
    {                                                                                              \
        name##_rng_init(&name##_generator, ROBOT_SEED, ROBOT_STREAM);                              \
    }                                                                                              \
    static int name##_run_sample(const void *observation, void *action, float *log_prob)           \
    {                                                                                              \
        return name##_sample(&name##_space, (const type *)observation, &name##_generator,          \
                             (action_type *)action, log_prob);                                     \
    }
#define GREEDY(name, type, action_type)

#define CASE(name, NAME, type, action_words, action_type, kind)                                    \
    static name##_work name##_space;                                                               \
    static int name##_run_outputs(const void *observation, float *outputs)                         \
    {                                                                                              \
        return name##_outputs(&name##_space, (const type *)observation, outputs);                  \
    }                                                                                              \
    static int name##_run_act(const void *observation, void *action)                               \
    {                                                                                              \
        return name##_act(&name##_space, (const type *)observation, (action_type *)action);        \
    }                                                                                              \
    static int name##_run_self_test(void *observation)                                             \
    {                                                                                              \
        return name##_self_test(&name##_space, (type *)observation);                               \
    }                                                                                              \
    kind(name, type, action_type)
ROBOT_CASES(CASE)
#undef CASE
#undef SAMPLED
#undef GREEDY

static union {
    float floats[ROBOT_NUMBERS_MAX];
    uint8_t bytes[ROBOT_NUMBERS_MAX];
} obs;
static float outputs[ROBOT_NUMBERS_MAX];
static uint32_t action[ROBOT_NUMBERS_MAX];
static uint32_t again[ROBOT_NUMBERS_MAX];

// Whether the last observation is drawn from in the same way by who wants no log-probability.
static int
is_drawn_without_log_prob(const robot_case *c)
{
    float log_prob;
    c->seed();
    int failed = c->sample(&obs, action, &log_prob);
    c->seed();
    failed |= c->sample(&obs, again, NULL);
    return !failed &&
           robot_hash(0, action, c->action_words) == robot_hash(0, again, c->action_words);
}

static int
case_run(const robot_case *c)
{
    uint32_t state = 1;
    uint64_t hash = ROBOT_HASH_START;
    if (c->sample != NULL) {
        c->seed();
    }
    printf("%s", c->name);
    for (uint32_t row = 0; row < ROBOT_ROWS; row++) {
        if (c->is_bytes) {
            robot_bytes(&state, row, c->observation_count, obs.bytes);
        } else {
            robot_floats(&state, row, c->observation_count, obs.floats);
        }
        if (c->outputs(&obs, outputs) != 0 || c->act(&obs, action) != 0) {
            printf(" row %" PRIu32 " was refused\n", row);
            return 1;
        }
        hash = robot_hash(hash, outputs, c->output_count);
        hash = robot_hash(hash, action, c->action_words);
        if (c->sample != NULL) {
            float log_prob = 0.0f;
            if (c->sample(&obs, action, &log_prob) != 0) {
                printf(" row %" PRIu32 " was not sampled\n", row);
                return 1;
            }
            hash = robot_hash(hash, action, c->action_words);
            hash = robot_hash(hash, &log_prob, 1);
        }
        if (row % ROBOT_BLOCK_ROWS == ROBOT_BLOCK_ROWS - 1) {
            printf(" %08" PRIx32 "%08" PRIx32, (uint32_t)(hash >> 32), (uint32_t)hash);
        }
    }
    int failed = c->sample != NULL && !is_drawn_without_log_prob(c);
    // What is not finite is refused, and the action stays.
    float zero = 0.0f;
    obs.floats[0] = 1.0f / zero;
    action[0] = 77;
    int refused = c->is_bytes || (c->act(&obs, action) == 1 && action[0] == 77);
    // Not a failure by itself: it has to fail where the checksums differ.
    int self_test = c->self_test(&obs);
    if (self_test != 0) {
        printf(" self-test %d", self_test);
    }
    printf("%s%s\n", refused ? "" : " infinity was accepted",
           failed ? " drawn otherwise without a log-probability" : "");
    return failed || !refused;
}

int
main(void)
{
    int failed = 0;
#define SAMPLED(name) name##_run_seed, name##_run_sample
#define GREEDY(name)  NULL, NULL
#define CASE(name, NAME, type, action_words, action_type, kind)                                    \
    failed |= case_run(&(robot_case){#name, NAME##_OBSERVATION_COUNT, NAME##_OUTPUT_COUNT,         \
                                     action_words, sizeof(type) == 1, name##_run_outputs,          \
                                     name##_run_act, name##_run_self_test, kind(name)});
    ROBOT_CASES(CASE)
#undef CASE
    return failed;
}
