// A learner that begins with a policy file has what the file computes.
#include "common/oct_reason.h"
#include "learner/learner_init_from.h"

#include <stdlib.h>
#include <unistd.h>

#include "policy/policy_file.h"
#include "tests/algos/algo_fixture.h"
#include "tests/policy/random_image.h"
#include "tests/support/oct_test.h"

#define PATH "test_learner_init_from.oct"

enum { OBS = 5, ACTIONS = 3 };

typedef struct heard {
    uint32_t lines;
    bool is_folded;
} heard;

static void
hear(void *arg, const char *line)
{
    heard *h = arg;
    h->lines++;
    h->is_folded |= strcmp(line, "its scaling of observations: folded into layer 0") == 0;
}

// Layer 0 of the algorithm reads observations as they are, that of the file scaled ones.
static void
test_a_policy_that_scales_observations_is_taken_with_its_scaling(void **state)
{
    (void)state;
    static const float mean[OBS] = {1, -2, 0, 30, 0.5f}, deviation[OBS] = {2, 0.5f, 1, 8, 0.25f};
    config_experiment config = fixture_config();
    policy_spec spec = fixture_env(OBS, ACTIONS);
    algo *a = fixture_create(&spec, &config, 1);
    policy_spec scaled = spec;
    scaled.normalise = true;
    oct_rng rng;
    oct_rng_init(&rng, 3, 0);
    policy_image *image = random_image(&scaled, POLICY_FP32, false, &rng);
    for (int i = 0; i < OBS; i++) {
        image->obs_mean[i] = mean[i];
        image->obs_inverse_std[i] = 1 / deviation[i];
    }
    T_OK(policy_file_write(PATH, image));
    (void)snprintf(config.learner.init_from, sizeof(config.learner.init_from), PATH);
    heard h = {0};
    oct_reason why = {""};
    T_OK(learner_init_from(a, &config, &spec, NULL, hear, &h, &why));
    assert_true(h.is_folded && h.lines > 1);
    uint32_t units = spec.layers[0].outputs;
    const float *weight = algo_policy_params(a), *bias = weight + (size_t)units * OBS;
    for (uint32_t u = 0; u < units; u++) {
        double want = (double)image->bias[0][u];
        for (uint32_t i = 0; i < OBS; i++) {
            double w = (double)image->weights[0][u * OBS + i] / (double)deviation[i];
            T_NEAR((double)weight[u * OBS + i], w, 1e-6, 1e-5);
            want -= w * (double)mean[i];
        }
        T_NEAR((double)bias[u], want, 1e-5, 1e-5);
    }
    policy_image_destroy(image);
    algo_destroy(a);
    assert_int_equal(unlink(PATH), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_policy_that_scales_observations_is_taken_with_its_scaling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
