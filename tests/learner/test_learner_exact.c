// What the learner computes has the bits that are written here, on every CPU that
// nn_context_refusal lets pass, with any number of threads, by every compiler and at every
// optimisation. With the argument "refused": this CPU is not let pass (qemu-user simulates one).
// With the argument "one": by one thread alone (qemu-user takes a thousand times as long).
//
// Who changes arithmetic on purpose runs this and copies the sums that it prints.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_reason.h"
#include "nn/nn_context.h"
#include "policy/policy_format.h"
#include "quantizer/quantizer_fold.h"
#include "quantizer/quantizer_observed.h"
#include "quantizer/quantizer_project.h"
#include "tests/algos/dpg_fixture.h"
#include "tests/algos/reinforce_fixture.h"
#include "tests/learner/batch_fixture.h"
#include "tests/support/oct_test.h"

// FNV-1a of 64 bits.
#define SUM_BEGIN 14695981039346656037u

static uint64_t
sum_of(uint64_t sum, const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        sum = (sum ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
    }
    return sum;
}

typedef struct lesson {
    const char *name;
    config_experiment (*config)(void);
    uint32_t obs_count, actions; // of a box: dimensions
    uint32_t B, updates;
    quantizer_range range;
    bool aware;
    uint64_t want;
} lesson;

static void
hidden_set(config_experiment *config, uint32_t first, uint32_t second)
{
    config->network.hidden = (config_ints){.count = 2, .value = {first, second}};
    config->learner.batch_size = 64;
}

static config_experiment
dqn_config(void)
{
    config_experiment config = fixture_config();
    hidden_set(&config, 64, 64);
    config.algo.target_period = 7;
    return config;
}

static config_experiment
rainbow_config(void)
{
    config_experiment config = dqn_config();
    config.network.activation = POLICY_ELU;
    config.algo.distributional = true;
    config.algo.dueling = true;
    config.algo.noisy = true;
    config.algo.noisy_sigma = 0.5;
    config.algo.atoms = 51;
    config.algo.value_min = -10;
    config.algo.value_max = 10;
    config.algo.grad_norm_max = 1.0;
    return config;
}

static config_experiment
conv_config(void)
{
    config_experiment config = dqn_config();
    config.network.hidden = (config_ints){.count = 1, .value = {32}};
    config.network.conv = (config_ints){.count = 2, .value = {8, 12}};
    return config;
}

// With products that learner.threads gives to OpenBLAS otherwise.
static config_experiment
d4pg_config(void)
{
    config_experiment config = dpg_fixture_config(CONFIG_ALGO_D4PG);
    hidden_set(&config, 512, 64);
    config.network.first_layer_norm = true;
    config.algo.atoms = 51;
    config.algo.target_period = 1;
    config.algo.target_rate = 0.01;
    return config;
}

static config_experiment
residual_config(void)
{
    config_experiment config = d4pg_config();
    hidden_set(&config, 33, 48);
    config.network.critic_residual = true;
    config.network.critic_hidden = (config_ints){.count = 5, .value = {70, 70, 70, 70, 70}};
    config.algo.critics = 2;
    return config;
}

static config_experiment
td3_config(void)
{
    config_experiment config = dpg_fixture_config(CONFIG_ALGO_TD3);
    hidden_set(&config, 48, 33);
    config.network.activation = POLICY_RELU;
    config.algo.target_period = 2;
    config.algo.target_rate = 0.05;
    return config;
}

static config_experiment
sac_config(void)
{
    config_experiment config = td3_config();
    config.algo.name = CONFIG_ALGO_SAC;
    config.network.activation = POLICY_ELU;
    return config;
}

static config_experiment
reinforce_config(void)
{
    config_experiment config = reinforce_fixture_config();
    config.network.hidden = (config_ints){.count = 2, .value = {64, 64}};
    return config;
}

// One update after the other on batches of their own; what is published after each of them.
typedef struct pupil {
    const lesson *of;
    policy_spec spec;
    algo *a;
    quantizer_observed *observed;
    quantizer_projector *projector; // NULL: not aware
    policy_image *images[2];        // of the last two publications
    quantizer_method method;
} pupil;

static void
project(void *arg, const float *params, float *out)
{
    pupil *p = arg;
    T_OK(quantizer_project(p->projector, &p->method, NULL, params, out));
}

static void
pupil_begin(pupil *p, const lesson *of, nn_context *context)
{
    const config_experiment config = of->config();
    const bool is_box = config.algo.name != CONFIG_ALGO_DQN;
    oct_reason why = {""};
    *p = (pupil){.of = of, .method = QUANTIZER_METHOD_DEFAULT};
    p->method.range = of->range;
    p->method.dead_band = 0.7f;
    p->spec = is_box ? fixture_box_env(of->obs_count, of->actions)
                     : fixture_env(of->obs_count, of->actions);
    if (config.network.conv.count > 0) {
        p->spec.obs_rank = 3;
        p->spec.obs_shape[0] = p->spec.obs_shape[1] = 7;
        p->spec.obs_shape[2] = of->obs_count / 49;
    }
    T_OK(algo_make_spec(&config, &p->spec, NULL, &why));
    p->spec.normalise = quantizer_is_scalable(&p->spec);
    T_OK(algo_create(&p->a, context, &config, &p->spec, 11));
    p->observed = quantizer_observed_create(of->obs_count);
    for (int i = 0; i < 2; i++) {
        T_OK(policy_image_create(&p->images[i], &p->spec, POLICY_INT8));
    }
    if (of->aware) {
        T_OK(quantizer_projector_create(&p->projector, &p->spec, POLICY_INT8));
        algo_set_projection(p->a, &(algo_projection){.arg = p, .project = project});
    }
}

static void
pupil_end(pupil *p)
{
    algo_destroy(p->a);
    quantizer_observed_destroy(p->observed);
    quantizer_projector_destroy(p->projector);
    policy_image_destroy(p->images[0]);
    policy_image_destroy(p->images[1]);
}

// Folded, anew or by what changed since the publication before.
static uint64_t
publish(pupil *p, uint32_t update, uint64_t sum)
{
    const float *params = algo_policy_params(p->a);
    policy_image *now = p->images[update % 2];
    const bool renewed = quantizer_observed_renew(p->observed);
    const quantizer_scaling scaling = quantizer_observed_scaling(p->observed);
    quantizer_fold *fold = quantizer_fold_create(&p->spec, POLICY_INT8);
    const quantizer_scaling *to = p->spec.normalise ? &scaling : NULL;
    const quantizer_layers layers = quantizer_fold_layers(fold, params, to);
    if (renewed || update < 2) {
        quantizer_scaling_set(now, to);
        T_OK(quantizer_convert_layers(now, &layers, &p->method));
    } else {
        T_OK(quantizer_update_layers(now, p->images[(update + 1) % 2], &layers, &p->method, NULL));
    }
    const size_t length = policy_encoded_size(now);
    uint8_t *bytes = oct_alloc(length);
    policy_encode(now, bytes);
    sum = sum_of(sum, bytes, length);
    free(bytes);
    quantizer_fold_destroy(fold);
    return sum;
}

static algo_batch
batch_make(const lesson *of, const policy_spec *spec, oct_rng *rng)
{
    const config_algo_name name = of->config().algo.name;
    if (name == CONFIG_ALGO_REINFORCE) {
        return reinforce_fixture_batch(rng, spec, REINFORCE_WINDOWS, REINFORCE_STEPS);
    }
    return name == CONFIG_ALGO_DQN ? fixture_batch(rng, of->B, of->obs_count, of->actions)
                                   : dpg_fixture_batch(rng, of->B, of->obs_count, of->actions);
}

static void
batch_free(algo_batch *batch)
{
    if (batch->T > 0) {
        fixture_batch_free(batch);
    } else {
        fixture_batch_free(batch);
    }
}

static uint64_t
lesson_sum(const lesson *of, uint32_t threads)
{
    const nn_context_options options = {.threads = threads, .exact = true};
    nn_context *context = nn_context_create(&options);
    float priorities[64], numbers[ALGO_NUMBERS_MAX];
    uint64_t sum = SUM_BEGIN;
    size_t length;
    oct_rng rng;
    pupil p;
    oct_rng_init(&rng, 5, 0);
    pupil_begin(&p, of, context);
    for (uint32_t update = 0; update < of->updates; update++) {
        algo_batch batch = batch_make(of, &p.spec, &rng);
        T_OK(algo_update(p.a, &batch, 1e-3f, priorities, numbers));
        quantizer_observed_add(p.observed, batch.obs, batch.B);
        sum = sum_of(sum, priorities, batch.B * sizeof(float));
        sum = publish(&p, update, sum);
        const float *behaviour = algo_behaviour_params(p.a, 0);
        if (behaviour != NULL) {
            sum = sum_of(sum, behaviour, policy_spec_params(&p.spec) * sizeof(float));
        }
        batch_free(&batch);
    }
    uint8_t *state = fixture_save(p.a, &length);
    sum = sum_of(sum, state, length);
    free(state);
    pupil_end(&p);
    nn_context_destroy(context);
    return sum;
}

// clang-format off
static const lesson lessons[] = {
    {"DQN", dqn_config, 4, 2, 64, 30, QUANTIZER_ABSMAX, false,
     0x657fe3bb392b8391u},
    {"DQN, quantisation-aware", dqn_config, 9, 6, 64, 12, QUANTIZER_MSE, true,
     0x773eb07a59ff6df6u},
    {"C51, dueling, noisy", rainbow_config, 10, 3, 32, 10, QUANTIZER_PERCENTILE, false,
     0xeddef6a0ebd7a043u},
    {"DQN, convolutions", conv_config, 49 * 3, 4, 16, 8, QUANTIZER_ABSMAX, false,
     0x070ace24d5ee04e2u},
    {"D4PG, layer norm", d4pg_config, 17, 6, 64, 3, QUANTIZER_ABSMAX, false,
     0x4c6b221ed85965e1u},
    {"D4PG, two residual critics", residual_config, 17, 6, 61, 4, QUANTIZER_ABSMAX, false,
     0xdee6b4e24dfa7390u},
    {"TD3", td3_config, 3, 1, 61, 20, QUANTIZER_MSE, false,
     0x0f77aeb6973c459du},
    {"SAC", sac_config, 17, 6, 61, 20, QUANTIZER_ABSMAX, false,
     0x3a0038de79dd2566u},
    {"REINFORCE", reinforce_config, 8, 2, REINFORCE_WINDOWS, 20, QUANTIZER_ABSMAX, false,
     0xbf860b2d902f604du},
};
// clang-format on

static uint32_t most_threads = 2;

static void
test_updates_have_the_bits_that_are_written_here(void **state)
{
    (void)state;
    bool same = true;
    for (size_t i = 0; i < OCT_COUNTOF(lessons); i++) {
        for (uint32_t threads = 1; threads <= most_threads; threads++) {
            const uint64_t got = lesson_sum(&lessons[i], threads);
            if (got != lessons[i].want) {
                print_error("%s, %u threads: 0x%016" PRIx64 "u\n", lessons[i].name, threads, got);
                same = false;
            }
        }
    }
    assert_true(same);
}

// (size p)^-exponent, over the largest.
static void
test_importance_weights_have_the_bits_that_are_written_here(void **state)
{
    (void)state;
    enum { B = 64, OBS = 2 };
    static float obs[B][OBS], next[B][OBS], reward[B], discount[B], probability[B];
    static int32_t action[B];
    static uint64_t key[B];
    const policy_spec spec = fixture_env(OBS, 2);
    uint64_t sum = SUM_BEGIN;
    oct_rng rng;
    oct_rng_init(&rng, 6, 0);
    learner_batch *batch = learner_batch_create(&spec, B, 0);
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < B; i++) {
            probability[i] = 1e-5f + oct_rng_float(&rng) * 1e-2f;
        }
        const wire_sampled sampled = {
            .configured = true,
            .count = B,
            .obs_bytes = sizeof(obs[0]),
            .action_bytes = sizeof(action[0]),
            .obs = (const uint8_t *)obs,
            .next = (const uint8_t *)next,
            .action = (const uint8_t *)action,
            .reward = reward,
            .discount = discount,
            .probability = probability,
            .key = key,
            .size = 1000 + (uint64_t)round,
        };
        T_OK(batch_fill(batch, &spec, &sampled, 0, 0.4 + 0.015 * round));
        sum = sum_of(sum, batch->weight, B * sizeof(float));
    }
    learner_batch_destroy(batch);
    if (sum != 0xdeb5bd7894b06e3au) {
        fail_msg("importance weights: 0x%016" PRIx64 "u", sum);
    }
}

static const nn_context_options exact = {.threads = 1, .exact = true};

static void
test_products_of_bfloat16_are_refused(void **state)
{
    (void)state;
    nn_context_options rounded = exact;
    rounded.bf16 = true;
    assert_non_null(strstr(nn_context_refusal(&rounded), "learner.bf16"));
    rounded.exact = false;
    assert_null(nn_context_refusal(&rounded));
}

static void
test_this_cpu_is_refused_in_words(void **state)
{
    (void)state;
    const char *words = nn_context_refusal(&exact);
    assert_non_null(words);
    assert_non_null(strstr(words, "AVX2 and FMA"));
    assert_null(nn_context_refusal(&(nn_context_options){.threads = 1}));
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_updates_have_the_bits_that_are_written_here),
        cmocka_unit_test(test_importance_weights_have_the_bits_that_are_written_here),
        cmocka_unit_test(test_products_of_bfloat16_are_refused),
    };
    const struct CMUnitTest refused[] = {cmocka_unit_test(test_this_cpu_is_refused_in_words)};
    if (argc == 2 && strcmp(argv[1], "refused") == 0) {
        return cmocka_run_group_tests(refused, NULL, NULL);
    }
    most_threads = argc == 2 && strcmp(argv[1], "one") == 0 ? 1 : most_threads;
    if (nn_context_refusal(&exact) != NULL) {
        print_message("SKIPPED: %s\n", nn_context_refusal(&exact));
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
