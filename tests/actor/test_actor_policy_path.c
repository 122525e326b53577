// The action chosen by an actor equals what the learner's parameters give, through the code of both
// sides (contracts 1 and 2).
#include <stdlib.h>

#include "common/oct_reason.h"
#include "nn/nn_gemm.h"
#include "nn/nn_net.h"
#include "quantizer/quantizer_convert.h"
#include "tests/policy/random_policy.h"

enum { OBS = 17, ACTIONS = 6, ROWS = 300 };

static policy_spec spec;
static nn_net learner;
static float obs[ROWS][OBS];

static policy_net *
sent_to_an_actor(policy_precision precision, policy_isa isa)
{
    oct_reason why = {""};
    policy_image *image = NULL, *received = NULL;
    policy_net *net = NULL;
    T_OK(policy_image_create(&image, &spec, precision));
    T_OK(quantizer_convert(image, learner.params, &QUANTIZER_METHOD_DEFAULT));
    image->origin.version = 3;
    size_t length = policy_encoded_size(image);
    uint8_t *bytes = oct_alloc(length);
    policy_encode(image, bytes);
    T_OK(policy_decode(&received, bytes, length, &why));
    oct_err err = policy_net_create(&net, received, isa);
    policy_image_destroy(image);
    policy_image_destroy(received);
    free(bytes);
    return err == OCT_OK ? net : NULL; // else this machine lacks the instructions
}

static void
act(const policy_net *net, float *y, int32_t *actions)
{
    policy_scratch *scratch = policy_scratch_create(&spec, ROWS);
    policy_forward(net, scratch, obs, sizeof(obs[0]), ROWS, y);
    policy_act(&spec, y, ROWS, actions);
    policy_scratch_destroy(scratch);
}

static int32_t
argmax(const float *row)
{
    int32_t best = 0;
    for (int32_t a = 1; a < ACTIONS; a++) {
        best = row[a] > row[best] ? a : best;
    }
    return best;
}

// Distance between the two highest values.
static double
margin(const float *row)
{
    int32_t best = argmax(row);
    double second = -INFINITY;
    for (int32_t a = 0; a < ACTIONS; a++) {
        second = a != best ? fmax(second, row[a]) : second;
    }
    return row[best] - second;
}

static void
network_begin(policy_activation activation, bool first_layer_norm, uint64_t seed)
{
    char warning[200];
    (void)nn_blas_init(1, warning, sizeof(warning));
    const uint32_t widths[] = {OBS, 64, 64, ACTIONS};
    oct_rng rng;
    spec = random_spec(widths, 4, activation, first_layer_norm);
    oct_rng_init(&rng, seed, 0);
    nn_net_init(&learner, nn_context_create(NULL), &spec, ROWS);
    nn_net_randomise(&learner, &rng);
    random_floats(&obs[0][0], (size_t)ROWS * OBS, 3, &rng);
}

// Contract 2: the sums are taken in another order, so rows whose terms cancel differ by more than
// 1e-6 of what is left of them; the batch as a whole, and each number against its largest, do not.
static void
check_fp32(policy_activation activation, bool first_layer_norm, policy_isa isa)
{
    static float y[ROWS][ACTIONS];
    int32_t actions[ROWS];
    network_begin(activation, first_layer_norm, 1 + (uint64_t)activation);
    policy_net *net = sent_to_an_actor(POLICY_FP32, isa);
    if (net != NULL) {
        act(net, &y[0][0], actions);
        const float *want = nn_net_forward(&learner, &obs[0][0], ROWS);
        double scale = 0, square = 0, error = 0;
        for (int i = 0; i < ROWS * ACTIONS; i++) {
            double d = (double)(&y[0][0])[i] - want[i];
            scale = fmax(scale, fabs((double)want[i]));
            square += (double)want[i] * want[i];
            error += d * d;
        }
        assert_true(sqrt(error / square) < 1e-6);
        for (int r = 0; r < ROWS; r++) {
            for (int a = 0; a < ACTIONS; a++) {
                T_NEAR(y[r][a], want[r * ACTIONS + a], 1e-6 * scale, 0);
            }
            if (margin(want + r * ACTIONS) > 2e-6 * scale) {
                assert_int_equal(actions[r], argmax(want + r * ACTIONS));
            }
        }
    }
    policy_net_destroy(net);
    nn_context_destroy(learner.context);
    nn_net_fini(&learner);
}

static void
test_fp32_policy_acts_as_the_learner_computes(void **state)
{
    (void)state;
    static const policy_isa isas[] = {POLICY_ISA_REF, POLICY_ISA_BEST};
    for (int i = 0; i < POLICY_ACTIVATION_COUNT; i++) {
        for (size_t k = 0; k < OCT_COUNTOF(isas); k++) {
            check_fp32((policy_activation)i, false, isas[k]);
            check_fp32((policy_activation)i, true, isas[k]);
        }
    }
}

// Eight bits do not give the learner's action always, but wherever its choice is clear.
static void
test_int8_policy_chooses_what_the_learner_would(void **state)
{
    (void)state;
    static float y[ROWS][ACTIONS];
    int32_t actions[ROWS];
    network_begin(POLICY_RELU, false, 9);
    policy_net *net = sent_to_an_actor(POLICY_INT8, POLICY_ISA_BEST);
    assert_non_null(net);
    assert_int_equal(policy_net_origin(net)->version, 3);
    act(net, &y[0][0], actions);
    const float *want = nn_net_forward(&learner, &obs[0][0], ROWS);
    double square = 0, error = 0;
    uint32_t clear = 0, agreed = 0;
    for (int i = 0; i < ROWS * ACTIONS; i++) {
        double d = (double)(&y[0][0])[i] - want[i];
        square += (double)want[i] * want[i];
        error += d * d;
    }
    double rms = sqrt(square / (ROWS * ACTIONS));
    assert_true(sqrt(error / square) < 0.03);
    for (int r = 0; r < ROWS; r++) {
        bool is_clear = margin(want + r * ACTIONS) > 0.2 * rms;
        clear += is_clear;
        agreed += is_clear && actions[r] == argmax(want + r * ACTIONS);
    }
    assert_true(clear > ROWS / 2);
    assert_int_equal(agreed, clear);
    policy_net_destroy(net);
    nn_context_destroy(learner.context);
    nn_net_fini(&learner);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fp32_policy_acts_as_the_learner_computes),
        cmocka_unit_test(test_int8_policy_chooses_what_the_learner_would),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
