// From a sample of pictures to the policy that is published: PPO learns from bytes as from the
// same pictures in floats, and actors that read the bytes compute what it has learned.
#include <stdlib.h>

#include "policy/policy_net.h"
#include "quantizer/quantizer_fold.h"
#include "tests/algos/reinforce_fixture.h"
#include "tests/learner/batch_fixture.h"
#include "tests/support/oct_test.h"

enum { SIDE = 10, OBS = SIDE * SIDE, ACTIONS = 3, WINDOWS = REINFORCE_WINDOWS };
enum { T = REINFORCE_STEPS, ROWS = WINDOWS * (T + 1), UPDATES = 8 };

// One sample, of pictures in bytes and in floats.
static uint8_t bytes[ROWS][OBS];
static float floats[ROWS][OBS];
static float probability[WINDOWS];
static uint64_t key[WINDOWS];

static void
pictures_draw(oct_rng *rng)
{
    for (size_t i = 0; i < (size_t)ROWS * OBS; i++) {
        uint8_t byte = (uint8_t)oct_rng_below(rng, 256);
        bytes[i / OBS][i % OBS] = byte;
        floats[i / OBS][i % OBS] = (float)byte / 256.0f;
    }
}

typedef struct side {
    config_experiment config;
    policy_spec spec;
    algo *a;
    learner_batch *batch;
} side;

static side
side_of(policy_dtype dtype, bool has_conv)
{
    side s = {.config = reinforce_fixture_rollouts(CONFIG_ALGO_PPO)};
    s.spec = fixture_env(OBS, ACTIONS);
    s.spec.obs_dtype = dtype;
    s.spec.obs_high = dtype == POLICY_U8 ? 255 : 0;
    s.spec.obs_rank = 3;
    memcpy(s.spec.obs_shape, (uint32_t[]){SIDE, SIDE, 1}, 3 * sizeof(uint32_t));
    if (has_conv) {
        s.config.network.conv = (config_ints){.count = 1, .value = {4}};
    }
    T_OK(algo_make_spec(&s.config, &s.spec, NULL, NULL));
    T_OK(algo_create(&s.a, NULL, &s.config, &s.spec, 1));
    s.batch = learner_batch_create(&s.spec, WINDOWS, T);
    return s;
}

static void
side_end(side *s)
{
    learner_batch_destroy(s->batch);
    algo_destroy(s->a);
}

// Of columns that both sides have.
static void
side_learn(side *s, const algo_batch *columns)
{
    float numbers[ALGO_NUMBERS_MAX];
    wire_sampled sampled = {
        .configured = true,
        .count = WINDOWS,
        .window_steps = T,
        .obs_bytes = (uint32_t)policy_spec_obs_bytes(&s->spec),
        .action_bytes = sizeof(int32_t),
        .extra_dim = policy_spec_extra_dim(&s->spec),
        .obs = s->spec.obs_dtype == POLICY_U8 ? bytes[0] : (const uint8_t *)floats,
        .action = columns->action,
        .reward = columns->reward,
        .flags = columns->flags,
        .version = columns->version,
        .extra = columns->extra,
        .probability = probability,
        .key = key,
        .size = WINDOWS,
    };
    T_OK(batch_fill(s->batch, &s->spec, &sampled, 0, 0));
    T_OK(algo_update(s->a, &s->batch->view, 3e-3f, NULL, numbers));
}

// What a published policy answers to all pictures.
static void
answers(const side *s, policy_precision precision, float y[ROWS][ACTIONS])
{
    policy_image *image;
    policy_net *net;
    const void *obs = s->spec.obs_dtype == POLICY_U8 ? (const void *)bytes : floats;
    T_OK(policy_image_create(&image, &s->spec, precision));
    T_OK(
        quantizer_convert_folded(image, algo_policy_params(s->a), NULL, &QUANTIZER_METHOD_DEFAULT));
    T_OK(policy_net_create(&net, image, POLICY_ISA_REF));
    policy_scratch *scratch = policy_scratch_create(&s->spec, ROWS);
    policy_forward(net, scratch, obs, policy_spec_obs_bytes(&s->spec), ROWS, y[0]);
    policy_scratch_destroy(scratch);
    policy_net_destroy(net);
    policy_image_destroy(image);
}

static void
expect_pictures_are_learned_from(bool has_conv)
{
    static const policy_precision precisions[] = {POLICY_FP32, POLICY_INT8, POLICY_INT4,
                                                  POLICY_BF16};
    static float one[ROWS][ACTIONS], two[ROWS][ACTIONS], probe[OBS];
    side of_bytes = side_of(POLICY_U8, has_conv), of_floats = side_of(POLICY_F32, has_conv);
    oct_rng rng;
    oct_rng_init(&rng, 7, 0);
    for (int i = 0; i < UPDATES; i++) {
        algo_batch columns = reinforce_fixture_batch(&rng, &of_floats.spec, WINDOWS, T);
        pictures_draw(&rng);
        side_learn(&of_bytes, &columns);
        side_learn(&of_floats, &columns);
        assert_memory_equal(of_bytes.batch->obs, floats, sizeof(floats));
        fixture_batch_free(&columns);
    }
    for (size_t p = 0; p < OCT_COUNTOF(precisions); p++) {
        answers(&of_bytes, precisions[p], one);
        answers(&of_floats, precisions[p], two);
        assert_memory_equal(one, two, sizeof(one));
        assert_true(one[0][0] != one[1][0]);
    }
    // What it is compared with fp32 on.
    assert_int_equal(learner_batch_probe(of_bytes.batch, 1, probe), 1);
    bool is_found = false;
    for (uint32_t row = 0; row < ROWS; row++) {
        bool is_same = true;
        for (uint32_t i = 0; i < OBS; i++) {
            is_same = is_same && probe[i] == (float)bytes[row][i];
        }
        is_found = is_found || is_same;
    }
    assert_true(is_found);
    side_end(&of_bytes);
    side_end(&of_floats);
}

static void
test_pictures_are_learned_from_and_acted_on(void **state)
{
    (void)state;
    expect_pictures_are_learned_from(false);
    expect_pictures_are_learned_from(true);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pictures_are_learned_from_and_acted_on)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
