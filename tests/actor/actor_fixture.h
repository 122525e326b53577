#ifndef TESTS_ACTOR_ACTOR_FIXTURE_H
#define TESTS_ACTOR_ACTOR_FIXTURE_H

#include <stdlib.h>

#include "common/oct_reason.h"
#include "config/config.h"
#include "envs/env.h"
#include "policy/policy_net.h"
#include "tests/policy/random_policy.h"

// Environments, policies and experiments for the tests of actor/.

// Where the plug-in of odd_env.c lies.
static inline const char *
odd_path(void)
{
    const char *path = getenv("OCTET_TEST_ODD");
    assert_non_null(path);
    return path;
}

static inline env *
fixture_env(const char *id, const char *options, uint32_t count, uint64_t seed)
{
    oct_reason why = {""};
    env_request request = {
        .id = id, .options = options, .count = count, .seed = seed, .autoreset = true};
    env *e = NULL;
    oct_err err = env_open(&e, &request, &why);
    assert_string_equal(why.text, "");
    T_OK(err);
    return e;
}

// A policy of obs numbers and two actions with random weights. first > 0: it always prefers
// action 0, < 0: action 1.
static inline policy_net *
fixture_policy(uint32_t obs, uint64_t version, uint64_t env_steps, int first)
{
    const uint32_t widths[] = {obs, 8, 2};
    policy_spec spec = random_spec(widths, 3, POLICY_RELU, false);
    policy_image *image = NULL;
    T_OK(policy_image_create(&image, &spec, POLICY_FP32));
    oct_rng rng;
    oct_rng_init(&rng, version, 3);
    random_floats(image->weights[0], 8 * obs, 1, &rng);
    if (first == 0) {
        random_floats(image->weights[1], 16, 1, &rng);
    } else {
        image->bias[1][0] = first > 0 ? 1 : -1;
    }
    image->origin.version = version;
    image->origin.env_steps = env_steps;
    return net_of(image);
}

static inline config_experiment
fixture_config(const char *env_id)
{
    config_experiment config;
    config_default(&config);
    (void)snprintf(config.env.id, sizeof(config.env.id), "%s", env_id);
    config.actor.count = 1;
    config.actor.envs = 2;
    config.actor.batch_steps = 8;
    config.actor.epsilon_base = 0;
    config.actor.epsilon_anneal_steps = 0;
    return config;
}

#endif // TESTS_ACTOR_ACTOR_FIXTURE_H
