// A student: it comes to answer as its teacher, in the teacher's units, and repeats itself.
#include <stdlib.h>

#include "algos/distill/distill_student.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "common/oct_rng.h"
#include "policy/policy_contract.h"
#include "policy/policy_net.h"
#include "quantizer/quantizer_probe.h"
#include "tests/support/oct_test.h"

enum { OBS = 3, ACTIONS = 3, ROWS = 2048, BATCH = 64, UPDATES = 3000 };

// A teacher with random weights, of one hidden layer of 16.
static policy_image *
teacher_of(policy_head head, uint32_t atoms, bool state_deviation)
{
    static const uint32_t hidden[] = {16};
    bool is_box = head == POLICY_HEAD_TANH || head == POLICY_HEAD_GAUSSIAN ||
                  head == POLICY_HEAD_TANH_GAUSSIAN;
    bool has_deviations = head == POLICY_HEAD_TANH_GAUSSIAN || state_deviation;
    policy_spec spec = {.env_id = "test",
                        .obs_dtype = POLICY_F32,
                        .obs_count = OBS,
                        .action_kind = is_box ? POLICY_BOX : POLICY_DISCRETE,
                        .action_count = ACTIONS,
                        .head = head,
                        .atoms = atoms,
                        .state_deviation = state_deviation};
    for (uint32_t i = 0; is_box && i < ACTIONS; i++) {
        spec.action_low[i] = -1;
        spec.action_high[i] = 1;
    }
    if (atoms > 0) {
        spec.value_min = -10;
        spec.value_max = 10;
    }
    uint32_t outputs = ACTIONS * (atoms > 0 ? atoms : has_deviations ? 2 : 1);
    T_OK(policy_spec_set_mlp(&spec, hidden, 1, POLICY_TANH, false, outputs));
    policy_image *image;
    T_OK(policy_image_create(&image, &spec, POLICY_FP32));
    size_t count = policy_spec_params(&spec);
    float *params = malloc(count * sizeof(*params));
    oct_rng rng;
    oct_rng_init(&rng, 7, 7);
    for (size_t i = 0; i < count; i++) {
        params[i] = 0.6f * oct_rng_normal(&rng);
    }
    T_OK(quantizer_convert(image, params, &QUANTIZER_METHOD_DEFAULT));
    image->origin.version = 5;
    image->origin.run_id = 9;
    free(params);
    return image;
}

// Observations far from 0, of different sizes: what the scales are for.
static float *
observations(void)
{
    float *obs = malloc(sizeof(float) * ROWS * OBS);
    oct_rng rng;
    oct_rng_init(&rng, 3, 1);
    for (size_t i = 0; i < (size_t)ROWS * OBS; i++) {
        obs[i] = oct_rng_normal(&rng) * (i % OBS == 0 ? 0.2f : 1.0f) + (float)(i % OBS);
    }
    return obs;
}

static distill_student *
student_create(const policy_image *teacher, distill_kind kind, policy_precision precision)
{
    static const uint32_t hidden[] = {24};
    const distill_options options = {.hidden = hidden,
                                     .hidden_count = 1,
                                     .activation = POLICY_TANH,
                                     .kind = kind,
                                     .temperature = 1,
                                     .precision = precision,
                                     .method = QUANTIZER_METHOD_DEFAULT,
                                     .batch = BATCH,
                                     .seed = 1};
    distill_student *student;
    oct_reason why;
    T_OK(distill_create(&student, teacher, &options, &why));
    return student;
}

// One that has learned.
static distill_student *
student_of(const policy_image *teacher, distill_kind kind, policy_precision precision,
           const float *obs)
{
    distill_student *student = student_create(teacher, kind, precision);
    float *want = malloc(sizeof(float) * ROWS * policy_spec_outputs(distill_spec(student)));
    uint32_t order[BATCH];
    oct_rng rng;
    oct_rng_init(&rng, 2, 2);
    distill_teach(student, obs, ROWS, want);
    distill_begin(student, obs, want, ROWS);
    for (int i = 0; i < UPDATES; i++) {
        oct_rng_fill_below(&rng, ROWS, BATCH, order);
        float rate = 1e-2f * (1 - (float)i / UPDATES);
        assert_true(isfinite(distill_learn(student, &(distill_examples){obs, want, order, BATCH},
                                           rate, i > UPDATES / 2)));
    }
    free(want);
    return student;
}

static void
expect_alike(policy_head head, uint32_t atoms, bool state_deviation, distill_kind kind)
{
    policy_image *teacher = teacher_of(head, atoms, state_deviation), *image;
    float *obs = observations();
    distill_student *student = student_of(teacher, kind, POLICY_INT8, obs);
    quantizer_divergence far;
    T_OK(distill_image(student, POLICY_INT8, &image));
    T_OK(quantizer_probe(&far, image, teacher, obs, ROWS));
    if (teacher->spec.action_kind == POLICY_BOX) {
        // By KL means count less where the teacher draws widely.
        T_NEAR(far.action_l2, 0, kind == DISTILL_KL ? 0.4 : 0.06, 0);
    } else {
        assert_true(far.agreement > 0.95);
        T_NEAR(far.kl, 0, 0.01, 0);
    }
    assert_int_equal(image->origin.updates, UPDATES);
    assert_int_equal(image->origin.version, 5);
    assert_true(isnan(image->origin.eval_return));
    policy_image_destroy(image);
    policy_image_destroy(teacher);
    distill_destroy(student);
    free(obs);
}

static void
test_students_of_all_heads_answer_as_their_teachers(void **state)
{
    (void)state;
    expect_alike(POLICY_HEAD_VALUES, 0, false, DISTILL_KL);
    expect_alike(POLICY_HEAD_VALUES, 0, false, DISTILL_SQUARES);
    expect_alike(POLICY_HEAD_LOGITS, 0, false, DISTILL_KL);
    expect_alike(POLICY_HEAD_ATOMS, 11, false, DISTILL_KL);
    expect_alike(POLICY_HEAD_TANH, 0, false, DISTILL_SQUARES);
    expect_alike(POLICY_HEAD_GAUSSIAN, 0, false, DISTILL_KL);
    expect_alike(POLICY_HEAD_GAUSSIAN, 0, true, DISTILL_KL);
    expect_alike(POLICY_HEAD_TANH_GAUSSIAN, 0, false, DISTILL_KL);
}

// A teacher of pictures: of bytes, with weights that are as small as its observations are large.
static void
test_students_of_bytes_answer_as_their_teachers(void **state)
{
    (void)state;
    static const policy_precision precisions[] = {POLICY_INT8, POLICY_FP16};
    policy_image *teacher = teacher_of(POLICY_HEAD_LOGITS, 0, false);
    float *obs = malloc(sizeof(float) * ROWS * OBS);
    oct_rng rng;
    oct_rng_init(&rng, 3, 1);
    teacher->spec.obs_dtype = POLICY_U8;
    for (size_t i = 0; i < policy_layer_weights(&teacher->spec.layers[0]); i++) {
        teacher->weights[0][i] /= 64;
    }
    for (size_t i = 0; i < (size_t)ROWS * OBS; i++) {
        obs[i] = (float)oct_rng_below(&rng, 256);
    }
    for (size_t p = 0; p < OCT_COUNTOF(precisions); p++) {
        policy_image *image;
        distill_student *student = student_of(teacher, DISTILL_KL, precisions[p], obs);
        quantizer_divergence far;
        T_OK(distill_image(student, precisions[p], &image));
        T_OK(quantizer_probe(&far, image, teacher, obs, ROWS));
        assert_true(far.agreement > 0.95);
        T_NEAR(far.kl, 0, 0.01, 0);
        policy_image_destroy(image);
        distill_destroy(student);
    }
    policy_image_destroy(teacher);
    free(obs);
}

// By squares values are the teacher's own numbers, not those that the student computed with.
static void
test_values_are_in_the_teachers_unit(void **state)
{
    (void)state;
    policy_image *teacher = teacher_of(POLICY_HEAD_VALUES, 0, false), *image;
    for (uint32_t a = 0; a < ACTIONS; a++) {
        teacher->bias[1][a] += 500;
    }
    float *obs = observations(), want[ACTIONS], got[ACTIONS];
    distill_student *student = student_of(teacher, DISTILL_SQUARES, POLICY_FP32, obs);
    T_OK(distill_image(student, POLICY_FP32, &image));
    policy_net *nets[2];
    T_OK(policy_net_create(&nets[0], teacher, POLICY_ISA_REF));
    T_OK(policy_net_create(&nets[1], image, POLICY_ISA_REF));
    policy_scratch *scratch[2] = {policy_scratch_create(&teacher->spec, 1),
                                  policy_scratch_create(&image->spec, 1)};
    policy_forward(nets[0], scratch[0], obs, OBS * sizeof(float), 1, want);
    policy_forward(nets[1], scratch[1], obs, OBS * sizeof(float), 1, got);
    for (uint32_t a = 0; a < ACTIONS; a++) {
        T_NEAR((double)got[a], (double)want[a], 0.3, 0);
    }
    for (int i = 0; i < 2; i++) {
        policy_net_destroy(nets[i]);
        policy_scratch_destroy(scratch[i]);
    }
    policy_image_destroy(image);
    policy_image_destroy(teacher);
    distill_destroy(student);
    free(obs);
}

// Sure of the least return, of the greatest, and of nothing.
static void
test_distributions_are_learned_as_their_means(void **state)
{
    (void)state;
    enum { ATOMS = 11 };
    policy_image *teacher = teacher_of(POLICY_HEAD_ATOMS, ATOMS, false);
    float *obs = observations(), want[ACTIONS];
    memset(teacher->weights[1], 0,
           policy_layer_weights(&teacher->spec.layers[1]) * sizeof(*teacher->weights[1]));
    memset(teacher->bias[1], 0, ACTIONS * ATOMS * sizeof(*teacher->bias[1]));
    teacher->bias[1][0] = 60;
    teacher->bias[1][ATOMS + ATOMS - 1] = 60;
    distill_student *student = student_create(teacher, DISTILL_SQUARES, POLICY_FP32);
    distill_teach(student, obs, 1, want);
    T_NEAR((double)want[0], -10, 1e-5, 0);
    T_NEAR((double)want[1], 10, 1e-5, 0);
    T_NEAR((double)want[2], 0, 1e-5, 0);
    distill_destroy(student);
    policy_image_destroy(teacher);
    free(obs);
}

static void
test_a_gaussians_own_deviations_are_the_teachers(void **state)
{
    (void)state;
    policy_image *teacher = teacher_of(POLICY_HEAD_GAUSSIAN, 0, false), *image;
    float *obs = observations();
    distill_student *student = student_of(teacher, DISTILL_KL, POLICY_INT4, obs);
    T_OK(distill_image(student, POLICY_INT4, &image));
    assert_memory_equal(image->deviation, teacher->deviation, ACTIONS * sizeof(float));
    policy_image_destroy(image);
    policy_image_destroy(teacher);
    distill_destroy(student);
    free(obs);
}

static void
test_the_same_seed_gives_the_same_bytes(void **state)
{
    (void)state;
    policy_image *teacher = teacher_of(POLICY_HEAD_TANH, 0, false);
    float *obs = observations();
    uint8_t *bytes[2];
    size_t length[2];
    for (int i = 0; i < 2; i++) {
        policy_image *image;
        distill_student *student = student_of(teacher, DISTILL_SQUARES, POLICY_INT8, obs);
        T_OK(distill_image(student, POLICY_INT8, &image));
        length[i] = policy_encoded_size(image);
        bytes[i] = malloc(length[i]);
        policy_encode(image, bytes[i]);
        policy_image_destroy(image);
        distill_destroy(student);
    }
    assert_int_equal(length[0], length[1]);
    assert_memory_equal(bytes[0], bytes[1], length[0]);
    free(bytes[0]);
    free(bytes[1]);
    policy_image_destroy(teacher);
    free(obs);
}

static void
test_the_contract_is_the_teachers(void **state)
{
    (void)state;
    policy_image *teacher = teacher_of(POLICY_HEAD_TANH, 0, false), *image;
    policy_contract_entry entry;
    assert_true(policy_contract_add(teacher, "joint_names", "hip,thigh,calf"));
    assert_true(policy_contract_add(teacher, POLICY_CONTRACT_INPUT, "obs"));
    distill_student *student = student_create(teacher, DISTILL_SQUARES, POLICY_INT8);
    T_OK(distill_image(student, POLICY_INT8, &image));
    assert_int_equal(image->contract_bytes, teacher->contract_bytes);
    assert_true(policy_contract_find(image, POLICY_CONTRACT_INPUT, &entry));
    policy_image_destroy(image);
    distill_destroy(student);
    policy_image_destroy(teacher);
}

static void
test_what_cannot_be_learned_is_refused(void **state)
{
    (void)state;
    static const uint32_t hidden[] = {8};
    distill_options options = {.hidden = hidden,
                               .hidden_count = 1,
                               .activation = POLICY_RELU,
                               .kind = DISTILL_KL,
                               .temperature = 1,
                               .precision = POLICY_INT8,
                               .method = QUANTIZER_METHOD_DEFAULT,
                               .batch = 4};
    policy_image *teacher = teacher_of(POLICY_HEAD_TANH, 0, false);
    distill_student *student = NULL;
    oct_reason why = {""};
    T_ERR(distill_create(&student, teacher, &options, &why), OCT_EINVAL);
    assert_string_equal(
        why.text, "the policy's actions have no distribution to compare: use the loss squares");
    assert_null(student);
    policy_image_destroy(teacher);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_students_of_all_heads_answer_as_their_teachers),
        cmocka_unit_test(test_students_of_bytes_answer_as_their_teachers),
        cmocka_unit_test(test_values_are_in_the_teachers_unit),
        cmocka_unit_test(test_distributions_are_learned_as_their_means),
        cmocka_unit_test(test_a_gaussians_own_deviations_are_the_teachers),
        cmocka_unit_test(test_the_same_seed_gives_the_same_bytes),
        cmocka_unit_test(test_the_contract_is_the_teachers),
        cmocka_unit_test(test_what_cannot_be_learned_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
