// Models that PyTorch's two exporters wrote (tools/make_import_golden.py), as policies: against the
// answers of onnxruntime. What policies cannot compute is refused, with the node.
#include "common/oct_reason.h"
#include "policy/import/import_parity.h"
#include "policy/import/import_policy.h"

#include <stdlib.h>

#include "policy/import/import_npy.h"
#include "policy/policy_net.h"
#include "tests/support/oct_test.h"

typedef struct fixture {
    import_model *model;
    import_graph *graph;
    import_result result;
    import_npy obs, want;
    oct_reason why;
} fixture;

static const char *
path_of(char out[256], const char *name, const char *end)
{
    (void)snprintf(out, 256, "%s/import/%s%s", TEST_DATA, name, end);
    return out;
}

static oct_err
import_try(fixture *f, const char *name, const import_request *request)
{
    char path[256];
    *f = (fixture){0};
    T_OK(import_npy_load(&f->obs, path_of(path, name, ".obs.npy"), &f->why));
    T_OK(import_npy_load(&f->want, path_of(path, name, ".out.npy"), &f->why));
    T_OK(import_model_load(&f->model, path_of(path, name, ".onnx"), &f->why));
    T_OK(import_graph_create(&f->graph, f->model, NULL, NULL, 0, NULL, &f->why));
    return import_policy_make(&f->result, f->model, f->graph, request, &f->why);
}

static void
fixture_free(fixture *f)
{
    import_policy_free(&f->result);
    import_graph_destroy(f->graph);
    import_model_destroy(f->model);
    import_npy_free(&f->obs);
    import_npy_free(&f->want);
}

// Outputs [rows][outputs] and actions of the policy for the observations of the file.
static void
policy_run(const fixture *f, float *y, void *actions)
{
    const policy_spec *spec = &f->result.image->spec;
    policy_net *net;
    float *obs = oct_alloc((size_t)f->obs.rows * spec->obs_count * sizeof(float));
    for (size_t r = 0; r < f->obs.rows; r++) {
        for (uint32_t i = 0; i < spec->obs_count; i++) {
            obs[r * spec->obs_count + f->result.order[i]] = f->obs.numbers[r * spec->obs_count + i];
        }
    }
    T_OK(policy_net_create(&net, f->result.image, POLICY_ISA_BEST));
    policy_scratch *scratch = policy_scratch_create(spec, f->obs.rows);
    policy_forward(net, scratch, obs, policy_spec_obs_bytes(spec), f->obs.rows, y);
    policy_act(spec, y, f->obs.rows, actions);
    policy_scratch_destroy(scratch);
    policy_net_destroy(net);
    free(obs);
}

static void
expect_near(const float *got, const import_npy *want)
{
    for (size_t i = 0; i < (size_t)want->rows * want->width; i++) {
        T_NEAR((double)got[i], (double)want->numbers[i], 1e-5, 1e-5);
    }
}

static void
expect_parity(const fixture *f, double tolerance)
{
    import_parity parity;
    T_OK(import_parity_measure(&parity, &f->result, f->result.image, f->obs.numbers, f->obs.rows));
    assert_int_equal(parity.rows, f->obs.rows);
    T_NEAR(parity.agreement, 1.0, 0.0, 0.0);
    assert_true(parity.max_abs < tolerance && parity.mean_abs <= parity.max_abs);
}

// ---- discrete actions

static void
test_values_are_those_of_onnxruntime(void **state)
{
    (void)state;
    const struct {
        const char *name;
        uint32_t actions, layers;
    } cases[] = {{"tanh", 2, 3}, {"norm_dynamo", 3, 3}, {"conv_dynamo", 4, 2}, {"silu", 2, 2}};
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        fixture f;
        import_request request = {.env_id = "Test-v0", .action_count = cases[i].actions};
        float y[1024];
        int32_t actions[64];
        T_OK(import_try(&f, cases[i].name, &request));
        const policy_spec *spec = &f.result.image->spec;
        assert_int_equal(spec->head, POLICY_HEAD_VALUES);
        assert_int_equal(spec->layer_count, cases[i].layers);
        assert_string_equal(spec->env_id, "Test-v0");
        policy_run(&f, y, actions);
        expect_near(y, &f.want);
        if (!f.result.channels_first) {
            expect_parity(&f, 1e-5);
        }
        fixture_free(&f);
    }
}

// As docs/import.md says: a number of actions alone is of discrete ones.
static void
test_a_number_of_actions_says_that_they_are_discrete(void **state)
{
    (void)state;
    fixture f;
    import_request request = {.env_id = "", .action_count = 2};
    float y[1024];
    int32_t actions[64];
    T_OK(import_try(&f, "normalised", &request));
    assert_int_equal(f.result.image->spec.action_kind, POLICY_DISCRETE);
    assert_int_equal(f.result.image->spec.head, POLICY_HEAD_VALUES);
    policy_run(&f, y, actions);
    expect_near(y, &f.want);
    fixture_free(&f);
    request.bound_count = 1;
    request.low[0] = -2;
    request.high[0] = 2;
    T_OK(import_try(&f, "normalised", &request));
    assert_int_equal(f.result.image->spec.action_kind, POLICY_BOX);
    fixture_free(&f);
}

static void
test_softmax_becomes_logits(void **state)
{
    (void)state;
    fixture f;
    import_request request = {.env_id = ""};
    float y[1024];
    int32_t actions[64];
    T_OK(import_try(&f, "conv", &request));
    const policy_spec *spec = &f.result.image->spec;
    assert_int_equal(spec->head, POLICY_HEAD_LOGITS);
    assert_true(f.result.channels_first);
    assert_int_equal(spec->layers[0].kind, POLICY_CONV);
    assert_int_equal(spec->layers[0].conv.channels, 3);
    policy_run(&f, y, actions);
    for (size_t r = 0; r < f.want.rows; r++) {
        double sum = 0.0;
        for (uint32_t i = 0; i < 4; i++) {
            sum += exp((double)y[r * 4 + i]);
        }
        for (uint32_t i = 0; i < 4; i++) {
            T_NEAR(exp((double)y[r * 4 + i]) / sum, (double)f.want.numbers[r * 4 + i], 1e-6, 0);
            assert_true(f.want.numbers[r * 4 + (size_t)actions[r]] >= f.want.numbers[r * 4 + i]);
        }
    }
    fixture_free(&f);
}

// ---- boxes

static void
test_tanh_and_scales_become_bounds(void **state)
{
    (void)state;
    const char *const names[] = {"normalised", "normalised_dynamo"};
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        fixture f;
        import_request request = {.env_id = ""};
        float y[1024], actions[64];
        T_OK(import_try(&f, names[i], &request));
        const policy_spec *spec = &f.result.image->spec;
        assert_int_equal(spec->head, POLICY_HEAD_TANH);
        assert_true(spec->normalise);
        T_NEAR((double)f.result.image->obs_mean[5], 20.0, 1e-5, 0.0);
        T_NEAR((double)f.result.image->obs_inverse_std[0], 1.0 / 0.21, 1e-6, 1e-6);
        T_NEAR((double)spec->action_low[0], -1.75, 0.0, 0.0);
        T_NEAR((double)spec->action_high[1], 0.75, 0.0, 0.0);
        policy_run(&f, y, actions);
        expect_near(actions, &f.want);
        expect_parity(&f, 1e-5);
        fixture_free(&f);
    }
}

static void
test_unit_actions_are_mapped_onto_the_bounds(void **state)
{
    (void)state;
    fixture f;
    import_request request = {.env_id = "", .bound_count = 1, .low = {-4}, .high = {8}};
    request.unit_actions = true;
    float y[1024], actions[64];
    T_OK(import_try(&f, "normalised", &request));
    policy_run(&f, y, actions);
    for (size_t i = 0; i < (size_t)f.want.rows * 2; i++) {
        T_NEAR((double)actions[i], 6.0 * (double)f.want.numbers[i] + 2.0, 1e-4, 0.0);
    }
    expect_parity(&f, 12 * 1e-5);
    fixture_free(&f);
}

static void
test_clip_and_deviations_become_a_gaussian(void **state)
{
    (void)state;
    fixture f;
    import_request request = {.env_id = "", .bound_count = 1, .low = {-10}, .high = {0.5f}};
    request.log_std = "log_std";
    float y[1024], actions[128];
    T_OK(import_try(&f, "clipped", &request));
    const policy_spec *spec = &f.result.image->spec;
    assert_int_equal(spec->head, POLICY_HEAD_GAUSSIAN);
    assert_true(spec->state_deviation);
    assert_int_equal(policy_spec_outputs(spec), 6);
    T_NEAR((double)spec->action_low[0], -1.0, 0.0, 0.0);
    T_NEAR((double)spec->action_high[0], 0.5, 0.0, 0.0);
    policy_run(&f, y, actions);
    for (size_t i = 0; i < (size_t)f.want.rows * 3; i++) {
        T_NEAR((double)actions[i], fmin((double)f.want.numbers[i], 0.5), 1e-5, 1e-5);
    }
    expect_parity(&f, 1e-5);
    fixture_free(&f);
}

// The model clips first. A negative scale exchanges its bounds; deviations have no sign.
static void
test_scale_and_offset_follow_the_clip_of_the_model(void **state)
{
    (void)state;
    fixture f;
    import_request request = {.env_id = "", .bound_count = 1, .low = {-9}, .high = {0.5f}};
    request.log_std = "log_std";
    float before[1024], y[1024], actions[128];
    T_OK(import_try(&f, "clipped", &request));
    policy_run(&f, before, actions);
    fixture_free(&f);
    request.scale_count = request.offset_count = 1;
    request.scale[0] = -2;
    request.offset[0] = 3;
    request.low[0] = 2;
    request.high[0] = 9;
    T_OK(import_try(&f, "clipped", &request));
    T_NEAR((double)f.result.image->spec.action_low[0], 2.0, 0.0, 0.0);
    T_NEAR((double)f.result.image->spec.action_high[0], 5.0, 0.0, 0.0);
    policy_run(&f, y, actions);
    for (size_t i = 0; i < (size_t)f.want.rows * 3; i++) {
        size_t at = i / 3 * 6 + 3 + i % 3; // in units of the bounds, which are as much wider
        T_NEAR((double)actions[i], fmax(3.0 - 2.0 * (double)f.want.numbers[i], 2.0), 1e-5, 1e-5);
        T_NEAR((double)y[at], (double)before[at], 1e-5, 1e-5);
    }
    fixture_free(&f);
}

// tanh.onnx as a box of two actions: its outputs, mapped and clipped as the request says.
static void
expect_actions(const import_request *request, double scale, double offset, double low, double high)
{
    fixture f;
    float y[1024], actions[128];
    T_OK(import_try(&f, "tanh", request));
    assert_int_equal(f.result.image->spec.head, POLICY_HEAD_GAUSSIAN);
    policy_run(&f, y, actions);
    for (size_t i = 0; i < (size_t)f.want.rows * 2; i++) {
        double want = scale * (double)f.want.numbers[i] + offset;
        T_NEAR((double)actions[i], fmin(fmax(want, low), high), 2e-6, 2e-6);
    }
    expect_parity(&f, 1e-5);
    fixture_free(&f);
}

static void
test_a_box_without_bounds_is_neither_mapped_nor_clipped(void **state)
{
    (void)state;
    const double all = INFINITY;
    expect_actions(&(import_request){.env_id = ""}, 1.0, 0.0, -all, all);
    expect_actions(&(import_request){.env_id = "", .action_kind = POLICY_BOX}, 1.0, 0.0, -all, all);
    // Bounds as good as none lose no bits of an action.
    expect_actions(
        &(import_request){.env_id = "", .bound_count = 1, .low = {-1e9f}, .high = {1e9f}}, 1.0, 0.0,
        -all, all);
    expect_actions(
        &(import_request){.env_id = "", .bound_count = 1, .low = {-INFINITY}, .high = {0.1f}}, 1.0,
        0.0, -all, 0.1);
    fixture f;
    T_OK(import_try(&f, "tanh", &(import_request){.env_id = ""}));
    assert_true(f.result.image->spec.action_direct);
    assert_true(isinf(f.result.image->spec.action_low[1]) &&
                f.result.image->spec.action_low[1] < 0);
    assert_non_null(strstr(f.result.notes[0], "no bounds"));
    fixture_free(&f);
}

static void
test_scale_and_offset_give_actions_of_the_environment(void **state)
{
    (void)state;
    const double all = INFINITY;
    import_request request = {.env_id = "", .scale_count = 1, .scale = {-0.25f}};
    request.offset_count = 2;
    request.offset[0] = request.offset[1] = 1.5f;
    expect_actions(&request, -0.25, 1.5, -all, all);
    request.bound_count = 1;
    request.low[0] = 1.45f;
    request.high[0] = 1.6f;
    expect_actions(&request, -0.25, 1.5, (double)1.45f, (double)1.6f);
    // A tanh at the end: the scale becomes the bounds.
    fixture f;
    T_OK(import_try(&f, "normalised", &(import_request){.env_id = ""}));
    float low = f.result.image->spec.action_low[0], high = f.result.image->spec.action_high[0];
    fixture_free(&f);
    T_OK(import_try(&f, "normalised",
                    &(import_request){.env_id = "", .scale_count = 1, .scale = {-2}}));
    T_NEAR((double)f.result.image->spec.action_low[0], -2.0 * (double)high, 1e-6, 0.0);
    T_NEAR((double)f.result.image->spec.action_high[0], -2.0 * (double)low, 1e-6, 0.0);
    expect_parity(&f, 1e-5);
    fixture_free(&f);
}

// ---- parity

static void
test_clipped_actions_are_counted(void **state)
{
    (void)state;
    fixture f;
    import_parity parity;
    import_request request = {.env_id = "", .bound_count = 2, .low = {-100, -1}};
    request.high[0] = 100.0f;
    request.high[1] = 1.0f;
    uint32_t outside = 0;
    double least = INFINITY;
    T_OK(import_try(&f, "tanh", &request));
    for (size_t r = 0; r < f.want.rows; r++) {
        outside += fabs((double)f.want.numbers[2 * r + 1]) > 1.0;
        least = fmin(least, (double)f.want.numbers[2 * r + 1]);
    }
    T_OK(import_parity_measure(&parity, &f.result, f.result.image, f.obs.numbers, f.obs.rows));
    assert_true(outside > 0 && outside < f.want.rows);
    T_NEAR(parity.actions_clipped, (double)outside / f.want.rows, 0.0, 0.0);
    T_NEAR(parity.actions[0].clipped, 0.0, 0.0, 0.0);
    T_NEAR(parity.actions[1].clipped, parity.actions_clipped, 0.0, 0.0);
    T_NEAR(parity.actions[1].least, least, 1e-5, 0.0);
    fixture_free(&f);
}

static double
agreement_of(const fixture *f)
{
    import_parity parity;
    T_OK(import_parity_measure(&parity, &f->result, f->result.image, f->obs.numbers, f->obs.rows));
    assert_true(parity.max_abs > 0.1);
    return parity.agreement;
}

// A policy that takes the other one of two actions, or one of two numbers elsewhere.
static void
test_another_policy_does_not_agree(void **state)
{
    (void)state;
    fixture f;
    import_request request = {.env_id = "", .action_count = 2};
    T_OK(import_try(&f, "tanh", &request));
    const policy_image *image = f.result.image;
    uint32_t last = image->spec.layer_count - 1;
    for (uint32_t i = 0; i < policy_layer_weights(&image->spec.layers[last]); i++) {
        image->weights[last][i] = -image->weights[last][i];
    }
    image->bias[last][0] = -image->bias[last][0];
    image->bias[last][1] = -image->bias[last][1];
    T_NEAR(agreement_of(&f), 0.0, 0.0, 0.0);
    fixture_free(&f);
    for (uint32_t i = 0; i < 2; i++) {
        request = (import_request){.env_id = ""};
        T_OK(import_try(&f, "normalised", &request));
        f.result.image->bias[f.result.image->spec.layer_count - 1][i] += 50.0f;
        assert_true(agreement_of(&f) < 0.9); // where tanh was 1 before
        fixture_free(&f);
    }
}

// ---- refusals

static void
test_what_policies_do_not_have_is_refused_with_its_node(void **state)
{
    (void)state;
    const struct {
        const char *name;
        import_request request;
        const char *words;
    } cases[] = {
        {"tanh", {.env_id = "", .action_count = 2, .output = "none"}, "no value 'none'"},
        {"tanh", {.env_id = "", .action_count = 3}, "2 numbers, but there are 3 actions"},
        {"tanh", {.env_id = "", .action_count = 2, .obs_rank = 1, .obs_shape = {5}}, "has 5"},
        {"tanh",
         {.env_id = "", .bound_count = 1, .low = {-1}, .high = {1}, .log_std = "obs"},
         "no layer"},
        {"tanh",
         {.env_id = "", .bound_count = 3, .low = {-1, -1, -1}, .high = {1, 1, 1}},
         "2 numbers, but there are bounds for 3 actions"},
        {"tanh", {.env_id = "", .scale_count = 3}, "2 numbers, but there are scales for 3"},
        {"tanh", {.env_id = "", .offset_count = 3}, "2 numbers, but there are offsets for 3"},
        {"tanh",
         {.env_id = "", .unit_actions = true, .offset_count = 1, .bound_count = 1, .high = {1}},
         "leave out --action-scale and --action-offset"},
        {"tanh",
         {.env_id = "", .action_kind = POLICY_DISCRETE, .scale_count = 1, .scale = {2}},
         "--action-scale is for box actions"},
        {"clipped",
         {.env_id = "", .bound_count = 1, .low = {50}, .high = {60}},
         "nothing in common with the bounds [50, 60]"},
        {"tanh",
         {.env_id = "", .bound_count = 1, .low = {-1e-40f}, .high = {1e-40f}},
         "with the scales of observations and actions folded in"},
        {"conv", {.env_id = "", .action_kind = POLICY_BOX, .bound_count = 1}, "discrete"},
        {"normalised", {.env_id = "", .unit_actions = true}, "--unit-actions"},
        {"normalised",
         {.env_id = "", .head = POLICY_HEAD_LOGITS},
         "--head is for discrete actions"},
        {"tanh",
         {.env_id = "", .action_count = 2, .log_std = "obs"},
         "--log-std is for box actions"},
        {"tanh", {.env_id = "", .action_count = 2, .unit_actions = true}, "--unit-actions is for"},
        {"tanh",
         {.env_id = "", .action_kind = POLICY_DISCRETE, .bound_count = 1, .low = {-1}, .high = {1}},
         "--bounds is for box actions"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        fixture f;
        oct_err err = import_try(&f, cases[i].name, &cases[i].request);
        assert_int_not_equal(err, OCT_OK);
        if (strstr(f.why.text, cases[i].words) == NULL) {
            fail_msg("case %zu: %s", i, f.why.text);
        }
        fixture_free(&f);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_those_of_onnxruntime),
        cmocka_unit_test(test_a_number_of_actions_says_that_they_are_discrete),
        cmocka_unit_test(test_softmax_becomes_logits),
        cmocka_unit_test(test_tanh_and_scales_become_bounds),
        cmocka_unit_test(test_unit_actions_are_mapped_onto_the_bounds),
        cmocka_unit_test(test_clip_and_deviations_become_a_gaussian),
        cmocka_unit_test(test_a_box_without_bounds_is_neither_mapped_nor_clipped),
        cmocka_unit_test(test_scale_and_offset_follow_the_clip_of_the_model),
        cmocka_unit_test(test_scale_and_offset_give_actions_of_the_environment),
        cmocka_unit_test(test_clipped_actions_are_counted),
        cmocka_unit_test(test_another_policy_does_not_agree),
        cmocka_unit_test(test_what_policies_do_not_have_is_refused_with_its_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
