// What a chain of layers absorbs: joined heads, clips with a scale behind them, inputs and sizes
// that the output does not need.
#include "common/oct_reason.h"
#include "tests/policy/import/layers_model.h"

static void
test_heads_of_one_trunk_are_one_layer(void **state)
{
    (void)state;
    static const float narrow[] = {1, -2, 3};
    small_model m;
    begin(&m);
    small_model_tensor(&m, "narrow", 3, 1, narrow);
    small_model_node(&m, "MatMul", "h", "obs", "W", NULL);
    small_model_node(&m, "Relu", "t", "h", NULL, NULL);
    small_model_node(&m, "MatMul", "first", "t", "W", NULL);
    small_model_node(&m, "Add", "biased", "first", "steps", NULL);
    small_model_node(&m, "MatMul", "last", "t", "narrow", NULL);
    small_model_node(&m, "Concat", "action", "biased", "last", NULL);
    small_model_ints(&m, "axis", NULL, 0);
    m.attributes[5].i = 1;
    policy_spec spec = expect_alike(&m);
    assert_int_equal(spec.layer_count, 2);
    assert_int_equal(spec.action_count, 4);
    const double want[] = {12.25, 15.5, 18.75, 2.25};
    expect_numbers(&m, want, 4);
    // Of different values: two layers side by side are no layer.
    import_request request = request_box();
    begin(&m);
    small_model_node(&m, "MatMul", "h", "obs", "W", NULL);
    small_model_node(&m, "Relu", "t", "h", NULL, NULL);
    small_model_node(&m, "MatMul", "first", "t", "W", NULL);
    small_model_node(&m, "MatMul", "last", "obs", "W", NULL);
    small_model_node(&m, "Concat", "action", "first", "last", NULL);
    small_model_ints(&m, "axis", NULL, 0);
    m.attributes[4].i = -1;
    refused(&m, &request, "computed in different ways");
    m.attributes[4].i = 0;
    refused(&m, &request, "along the last axis");
}

// Concat of two values on h = {0.375, 0.75, 1.125}.
static void
expect_joined(small_model *m, const char *first, const char *last, const double *want)
{
    small_model_node(m, "Concat", "action", first, last, NULL);
    m->attributes[m->model.node_count - 1] = (import_attribute){.name = "axis", .s = "", .i = 1};
    m->nodes[m->model.node_count - 1].attribute_count = 1;
    expect_numbers(m, want, last != NULL ? 6 : 3);
}

static void
test_parts_of_each_kind_are_joined(void **state)
{
    (void)state;
    static const double scaled[] = {0.75, 1.5, 2.25, 0.375, 0.75, 1.125},
                        clipped[] = {-1, -1, -1, -0.0375, -0.075, -0.1125},
                        doubled[] = {0.75, 1.5, 2.25, 0.375, 0.75, 1.125},
                        biased[] = {1.375, 2.75, 4.125, 0.375, 0.75, 1.125},
                        one[] = {0.375, 0.75, 1.125};
    small_model m;
    begin(&m); // a factor for some, and none for others
    small_model_node(&m, "MatMul", "h", "obs", "W", NULL);
    small_model_node(&m, "Mul", "scaled", "h", "twos", NULL);
    expect_joined(&m, "scaled", "h", scaled);
    begin(&m);
    small_model_node(&m, "MatMul", "h", "obs", "W", NULL);
    small_model_node(&m, "Mul", "low", "h", "-hundreds", NULL);
    small_model_node(&m, "Clip", "c", "low", "-ones", "twos");
    small_model_node(&m, "Mul", "minus", "h", "-ones", NULL);
    small_model_node(&m, "Mul", "little", "minus", "tenths", NULL);
    small_model_node(&m, "Clip", "d", "little", "-ones", "twos");
    expect_joined(&m, "c", "d", clipped);
    begin(&m);
    small_model_node(&m, "Gemm", "g", "obs", "W", NULL);
    m.attributes[0] = (import_attribute){.name = "alpha", .s = "", .f = 2};
    m.nodes[0].attribute_count = 1;
    small_model_node(&m, "MatMul", "h", "obs", "W", NULL);
    expect_joined(&m, "g", "h", doubled);
    begin(&m);
    small_model_node(&m, "Gemm", "g", "obs", "W", "steps");
    small_model_node(&m, "MatMul", "h", "obs", "W", NULL);
    expect_joined(&m, "g", "h", biased);
    begin(&m); // of one value
    small_model_node(&m, "MatMul", "h", "obs", "W", NULL);
    expect_joined(&m, "h", NULL, one);
}

static void
test_a_clip_that_is_scaled_is_another_clip(void **state)
{
    (void)state;
    small_model m;
    begin(&m);
    small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
    small_model_node(&m, "Clip", "c", "x", "-ones", "twos");
    small_model_node(&m, "Mul", "scaled", "c", "-hundreds", NULL);
    small_model_node(&m, "Mul", "tenth", "scaled", "tenths", NULL);
    small_model_node(&m, "Add", "action", "tenth", "steps", NULL);
    policy_spec spec = expect_alike(&m);
    // The factor is negative, so the ends change places.
    assert_true(spec.action_low[0] < spec.action_high[0]);
}

static void
test_inputs_that_the_output_does_not_need_are_left_out(void **state)
{
    (void)state;
    small_model m;
    oct_reason why = {""};
    import_graph *graph;
    import_result result;
    import_port ports[2] = {{.name = "state", .type = 1, .rank = 1, .dims = {-1}}};
    import_request request = request_box();
    begin(&m);
    ports[1] = m.input;
    m.model.inputs = ports;
    m.model.input_count = 2;
    small_model_node(&m, "MatMul", "action", "obs", "W", NULL);
    small_model_node(&m, "Identity", "state_out", "state", NULL, NULL);
    import_port output = {.name = "action", .type = 1};
    m.model.outputs = &output;
    m.model.output_count = 1;
    T_OK(small_model_import(&m, &request, &graph, &result, &why));
    assert_non_null(strstr(result.notes[0], "its input 'state' is left out"));
    import_policy_free(&result);
    import_graph_destroy(graph);
    small_model_node(&m, "Add", "both", "action", "state_out", NULL);
    output.name = "both";
    assert_int_equal(import_graph_create(&graph, &m.model, NULL, NULL, 0, NULL, &why), OCT_EINVAL);
    assert_non_null(strstr(why.text, "depends on 2 inputs, 'state' and 'obs'"));
}

// Sizes that a model computes from values which no policy has, as exports of SAC do.
static void
test_the_shape_of_any_value_is_known(void **state)
{
    (void)state;
    small_model m;
    begin(&m);
    small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
    small_model_node(&m, "Exp", "e", "x", NULL, NULL);
    small_model_node(&m, "Add", "sum", "x", "e", NULL);
    small_model_node(&m, "Shape", "shape", "sum", NULL, NULL);
    small_model_node(&m, "Expand", "action", "x", "shape", NULL);
    (void)expect_alike(&m);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heads_of_one_trunk_are_one_layer),
        cmocka_unit_test(test_parts_of_each_kind_are_joined),
        cmocka_unit_test(test_a_clip_that_is_scaled_is_another_clip),
        cmocka_unit_test(test_inputs_that_the_output_does_not_need_are_left_out),
        cmocka_unit_test(test_the_shape_of_any_value_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
