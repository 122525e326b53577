#ifndef ENVS_ENV_CHECK_RULES_H
#define ENVS_ENV_CHECK_RULES_H

#include "envs/env_check.h"
#include "envs/env_check_rig.h"

// The rules of env_check, one function each. Threads: one rule at a time.

#define ENV_CHECK_COUNT 3 // environments of a handle under test

typedef struct env_check {
    const env_check_request *request;
    char detail[256];
} env_check;

typedef struct env_check_rule {
    const char *name;
    const char *means;
    env_check_verdict (*run)(env_check *check);
} env_check_rule;

// The first rules open and step the environment; the other rules cannot run if these fail.
#define ENV_CHECK_RULES_NEEDED 2u
extern const env_check_rule env_check_rules[];
extern const uint32_t env_check_rules_count;

// Building blocks of the rules. fail, skip and warn fill in detail and return that verdict.
env_check_verdict env_check_fail(env_check *check, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
env_check_verdict env_check_skip(env_check *check, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
env_check_verdict env_check_warn(env_check *check, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Opens a rig of count environments. Returns false after env_check_fail.
bool env_check_open(env_check *check, env_check_rig *rig, uint32_t count, uint64_t seed,
                    bool autoreset, uint8_t poison);
// Resets the rig, or those environments in mask. Returns false after env_check_fail.
bool env_check_reset(env_check *check, env_check_rig *rig, const uint8_t *mask,
                     const uint64_t *seeds);
// Opens a rig of ENV_CHECK_COUNT environments with the request's seed and autoreset, and resets it.
bool env_check_begin(env_check *check, env_check_rig *rig, uint8_t poison);
// Steps the rig. Returns false after env_check_fail.
bool env_check_step(env_check *check, env_check_rig *rig);
// Steps the rig with random actions.
bool env_check_step_random(env_check *check, env_check_rig *rig);
// Resets the rig and steps it env_check_steps times with random actions. Returns false after
// env_check_fail.
bool env_check_play(env_check *check, env_check_rig *rig);
// Returns a count of steps after which every environment with a time limit has ended at least
// twice.
uint32_t env_check_steps(const env_check_rig *rig);
// Returns true if a row of observations still is all poison.
bool env_check_is_unwritten(const env_check_rig *rig, const uint8_t *row);
// Returns true if two observations have the same bytes; otherwise calls env_check_fail with the
// first number that differs.
bool env_check_same_obs(env_check *check, const env_check_rig *rig, const uint8_t *a,
                        const uint8_t *b, const char *a_is, const char *b_is);

env_check_verdict env_check_rule_final_obs(env_check *check);
env_check_verdict env_check_rule_autoreset(env_check *check);
env_check_verdict env_check_rule_stays(env_check *check);
env_check_verdict env_check_rule_mask(env_check *check);
env_check_verdict env_check_rule_sums(env_check *check);
env_check_verdict env_check_rule_limit(env_check *check);
env_check_verdict env_check_rule_ends(env_check *check);
env_check_verdict env_check_rule_unwanted(env_check *check);
env_check_verdict env_check_rule_save(env_check *check);
env_check_verdict env_check_rule_state(env_check *check);
env_check_verdict env_check_rule_action(env_check *check);

#endif // ENVS_ENV_CHECK_RULES_H
