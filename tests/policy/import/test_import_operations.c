// One operation of ONNX after the other: what a policy of it computes for one observation, by hand,
// or why it is refused.
#include <math.h>
#include <stdlib.h>

#include "policy/import/import_parity.h"
#include "policy/policy_net.h"
#include "tests/policy/import/small_model.h"

#define AXIS(number)                                                                               \
    {                                                                                              \
        .name = "axis", .s = "", .i = (number)                                                     \
    }
#define LAST_AXIS "over the last axis of rows of numbers only"

static const float observation[] = {1, -2, 3};
static const float unit[] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, matrix[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

// Of "action" as values of three actions: why it is refused, or its values for obs.
static void
expect(const small_model *m, const float *obs, const char *why, const float *want)
{
    import_graph *graph;
    import_result result;
    small_model_values(m, &graph, &result, why);
    if (why == NULL) {
        const policy_spec *spec = &result.image->spec;
        float y[3];
        policy_net *net;
        T_OK(policy_net_create(&net, result.image, POLICY_ISA_REF));
        policy_scratch *scratch = policy_scratch_create(spec, 1);
        assert_int_equal(policy_spec_outputs(spec), 3);
        policy_forward(net, scratch, obs, policy_spec_obs_bytes(spec), 1, y);
        for (size_t i = 0; i < 3; i++) {
            T_NEAR(y[i], want[i], 1e-5, 1e-5);
        }
        policy_scratch_destroy(scratch);
        policy_net_destroy(net);
        // The model as the report computes it.
        import_parity parity;
        T_OK(import_parity_measure(&parity, &result, result.image, obs, 1));
        assert_true(parity.max_abs < 1e-5);
    }
    import_policy_free(&result);
    import_graph_destroy(graph);
}

// "x" is the observation behind a layer; "y" has to come between it and "action".
static void
begin(small_model *m)
{
    static const float twos[] = {2, 2, 2}, minus_ones[] = {-1, -1, -1}, zeros[] = {0, 0, 0};
    static const float steps[] = {1, 2, 3}, tenths[] = {0.1f, 0.1f, 0.1f};
    small_model_begin(m, 3);
    small_model_tensor(m, "1", 3, 3, unit);
    small_model_tensor(m, "W", 3, 3, matrix);
    small_model_tensor(m, "twos", 0, 3, twos);
    small_model_tensor(m, "-ones", 0, 3, minus_ones);
    small_model_tensor(m, "zeros", 0, 3, zeros);
    small_model_tensor(m, "steps", 0, 3, steps);
    small_model_tensor(m, "tenths", 0, 3, tenths);
    small_model_node(m, "MatMul", "x", "obs", "1", NULL);
}

typedef struct one_case {
    const char *op;
    const char *inputs[SMALL_INPUTS];
    import_attribute attributes[2]; // without a name: none
    const char *why;                // or NULL
    float want[3];
} one_case;

static void
cases_check(const one_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const one_case *c = &cases[i];
        small_model m;
        begin(&m);
        import_node *node =
            small_model_node(&m, c->op, "y", c->inputs[0], c->inputs[1], c->inputs[2]);
        for (size_t k = 3; k < SMALL_INPUTS && c->inputs[k] != NULL; k++) {
            small_model_input(&m, c->inputs[k]);
        }
        node->attributes = c->attributes;
        while (node->attribute_count < 2 && c->attributes[node->attribute_count].name != NULL) {
            node->attribute_count++;
        }
        small_model_node(&m, "MatMul", "action", "y", "1", NULL);
        expect(&m, observation, c->why, c->want);
    }
}

static void
test_arithmetic_with_constants(void **state)
{
    (void)state;
    static const one_case cases[] = {
        {"Add", {"x", "steps"}, {{0}}, NULL, {2, 0, 6}},
        {"Add", {"steps", "x"}, {{0}}, NULL, {2, 0, 6}},
        {"Sub", {"x", "steps"}, {{0}}, NULL, {0, -4, 0}},
        {"Sub", {"steps", "x"}, {{0}}, NULL, {0, 4, 0}},
        {"Mul", {"x", "steps"}, {{0}}, NULL, {1, -4, 9}},
        {"Mul", {"steps", "x"}, {{0}}, NULL, {1, -4, 9}},
        {"Div", {"x", "steps"}, {{0}}, NULL, {1, -1, 1}},
        {"Div", {"steps", "x"}, {{0}}, "policies do not have this function", {0}},
        {"Div", {"x", "zeros"}, {{0}}, "it gives numbers that are not finite", {0}},
        {"Neg", {"x"}, {{0}}, NULL, {-1, 2, -3}},
        {"Add", {"x", "x"}, {{0}}, NULL, {2, -4, 6}},
        {"Max", {"x", "steps", "twos"}, {{0}}, "for one value and one constant only", {0}},
        {"Clip", {"x", "twos", "-ones"}, {{0}}, "its lower end is above its upper end", {0}},
    };
    cases_check(cases, OCT_COUNTOF(cases));
}

static void
test_constants_are_computed(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        float want[3];
    } cases[] = {
        {"Add", {4, 2, 8}}, {"Sub", {0, -2, 4}}, {"Mul", {3, 2, 9}}, {"Div", {1.5f, -1, 4.5f}}};
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        small_model m;
        begin(&m);
        small_model_node(&m, cases[i].op, "c", "steps", "twos", NULL);
        small_model_node(&m, "Add", "action", "x", "c", NULL);
        expect(&m, observation, NULL, cases[i].want);
    }
}

static void
test_layers(void **state)
{
    (void)state;
    static const one_case cases[] = {
        {"MatMul", {"x", "W"}, {{0}}, NULL, {14, 16, 18}},
        {"Gemm", {"x", "W"}, {{0}}, NULL, {14, 16, 18}},
        {"Gemm", {"x", "W"}, {{.name = "transB", .s = "", .i = 1}}, NULL, {6, 12, 18}},
        {"Gemm", {"x", "W", "steps"}, {{.name = "transB", .s = "", .i = 1}}, NULL, {7, 14, 21}},
        {"Gemm", {"x", "W"}, {{.name = "transA", .s = "", .i = 1}}, "without transA", {0}},
        {"Gemm",
         {"x", "W", "steps"},
         {{.name = "alpha", .s = "", .f = 0.5f}, {.name = "beta", .s = "", .f = -2}},
         NULL,
         {5, 4, 3}},
    };
    cases_check(cases, OCT_COUNTOF(cases));
}

static void
test_activations(void **state)
{
    (void)state;
    static const one_case cases[] = {
        {"Relu", {"x"}, {{0}}, NULL, {1, 0, 3}},
        {"Tanh", {"x"}, {{0}}, NULL, {0.761594f, -0.964028f, 0.995055f}},
        {"Sigmoid", {"x"}, {{0}}, NULL, {0.731059f, 0.119203f, 0.952574f}},
        {"Elu", {"x"}, {{0}}, NULL, {1, -0.864665f, 3}},
        {"Elu", {"x"}, {{.name = "alpha", .s = "", .f = 1}}, NULL, {1, -0.864665f, 3}},
        {"Elu", {"x"}, {{.name = "alpha", .s = "", .f = 2}}, "elu has alpha 1 and", {0}},
    };
    cases_check(cases, OCT_COUNTOF(cases));
}

static void
test_norms(void **state)
{
    (void)state;
    static const import_attribute epsilon = {.name = "epsilon", .s = "", .f = 1};
    const one_case cases[] = {
        {"LayerNormalization", {"x", "twos"}, {{0}}, NULL, {0.324443f, -2.595544f, 2.271101f}},
        {"LayerNormalization",
         {"x", "twos", "steps"},
         {AXIS(-1)},
         NULL,
         {1.324443f, -0.595544f, 5.271101f}},
        {"LayerNormalization", {"x", "twos"}, {AXIS(1)}, NULL, {0.324443f, -2.595544f, 2.271101f}},
        {"LayerNormalization", {"x", "twos"}, {AXIS(0)}, "policies support it over rows", {0}},
        {"LayerNormalization", {"x", "twos"}, {epsilon}, NULL, {0.29173f, -2.333836f, 2.042107f}},
        {"BatchNormalization",
         {"x", "twos", "-ones", "tenths", "steps"},
         {{0}},
         NULL,
         {0.799991f, -3.969841f, 2.348626f}},
        {"BatchNormalization",
         {"x", "twos", "-ones", "tenths", "steps"},
         {epsilon},
         NULL,
         {0.272792f, -3.424871f, 1.9f}},
    };
    cases_check(cases, OCT_COUNTOF(cases));
}

static void
test_casts_and_orders_of_axes(void **state)
{
    (void)state;
    static const int64_t turned[] = {1, 0}, kept[] = {0, 1};
    const one_case cases[] = {
        {"Cast", {"x"}, {{.name = "to", .s = "", .i = 1}}, NULL, {1, -2, 3}},
        {"Cast", {"x"}, {{.name = "to", .s = "", .i = 11}}, NULL, {1, -2, 3}},
        {"Cast", {"x"}, {{.name = "to", .s = "", .i = 7}}, "it rounds to whole numbers", {0}},
        {"Cast", {"x"}, {{.name = "to", .s = "", .i = 9}}, "it rounds to whole numbers", {0}},
        {"Transpose",
         {"x"},
         {{.name = "perm", .s = "", .ints = kept, .int_count = 2}},
         NULL,
         {1, -2, 3}},
        {"Transpose",
         {"x"},
         {{.name = "perm", .s = "", .ints = turned, .int_count = 2}},
         "after the batch only",
         {0}},
    };
    cases_check(cases, OCT_COUNTOF(cases));
}

// At the end: of a softmax and an argmax the numbers before them are left.
static void
test_choices_are_over_each_row(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        int64_t axis;
        bool has_axis;
        const char *why;
    } cases[] = {
        {"Softmax", 1, true, NULL},         {"Softmax", -1, true, NULL},
        {"Softmax", 0, false, NULL},        {"Softmax", 0, true, LAST_AXIS},
        {"Softmax", 2, true, LAST_AXIS},    {"LogSoftmax", 1, true, NULL},
        {"LogSoftmax", 0, true, LAST_AXIS}, {"ArgMax", 1, true, NULL},
        {"ArgMax", -1, true, NULL},         {"ArgMax", 0, true, LAST_AXIS},
        {"ArgMax", 0, false, LAST_AXIS},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        small_model m;
        begin(&m);
        const import_attribute axis = AXIS(cases[i].axis);
        import_node *node = small_model_node(&m, cases[i].op, "action", "x", NULL, NULL);
        node->attributes = &axis;
        node->attribute_count = cases[i].has_axis ? 1 : 0;
        expect(&m, observation, cases[i].why, observation);
    }
}

// x less the logarithm of a sum of exponentials: only of itself, and only less.
static void
test_a_log_softmax_is_of_one_value(void **state)
{
    (void)state;
    static const int64_t last[] = {-1};
    static const struct {
        const char *op, *of, *why;
    } cases[] = {{"Sub", "x", NULL},
                 {"Add", "x", "both of its inputs are computed"},
                 {"Sub", "other", "both of its inputs are computed"}};
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        small_model m;
        begin(&m);
        small_model_node(&m, "MatMul", "other", "obs", "W", NULL);
        small_model_node(&m, "ReduceLogSumExp", "sum", cases[i].of, NULL, NULL);
        small_model_ints(&m, "axes", last, 1);
        small_model_node(&m, cases[i].op, "action", "x", "sum", NULL);
        expect(&m, observation, cases[i].why, observation);
    }
}

// ---- convolutions

// A kernel [2][1][rows][columns] over a map of 3 x 3.
typedef struct conv_case {
    import_attribute attribute;
    uint32_t rows, columns, filters_of_bias;
    const char *why;
    uint32_t count, at[3]; // numbers of its map, and the three that are compared
    float want[3];
} conv_case;

static void
conv_begin(small_model *m, const conv_case *c, bool is_turned)
{
    static const float kernel[] = {1, 0, 0, 1, 0, 1, -1, 0, 0, 0, 0, 0}, bias[] = {10, -10, 0};
    static const int64_t shape[] = {-1, 1, 3, 3};
    static const float tens[] = {10};
    static float last[18 * 3];
    memset(last, 0, sizeof(last));
    for (size_t i = 0; i < 3; i++) {
        last[c->at[i] * 3 + i] = 1;
    }
    small_model_begin(m, 9);
    small_model_tensor(m, "kernel", 2, c->rows * c->columns, kernel);
    m->tensors[0].rank = 4;
    m->tensors[0].dims[1] = 1;
    m->tensors[0].dims[2] = c->rows;
    m->tensors[0].dims[3] = c->columns;
    small_model_tensor(m, "bias", 0, c->filters_of_bias, bias);
    small_model_tensor(m, "last", c->count, 3, last);
    small_model_list(m, "shape", shape, 4);
    small_model_tensor(m, "tens", 0, 1, tens);
    small_model_node(m, "Reshape", "map", "obs", "shape", NULL);
    if (is_turned) {
        small_model_node(m, "Sub", "turned", "tens", "map", NULL);
    }
    import_node *node =
        small_model_node(m, "Conv", "h", is_turned ? "turned" : "map", "kernel", "bias");
    node->attributes = &c->attribute;
    node->attribute_count = c->attribute.name != NULL ? 1 : 0;
}

static void
conv_end(small_model *m, const char *from, const char *why, const float *want)
{
    static const float map[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    small_model_node(m, "Flatten", "flat", from, NULL, NULL);
    small_model_node(m, "MatMul", "action", "flat", "last", NULL);
    expect(m, map, why, want);
}

// Numbers 0 and 1 of filter 0, and 1 of filter 1.
#define OF_2_X_2                                                                                   \
    NULL, 8, {0, 1, 5},                                                                            \
    {                                                                                              \
        16, 18, -12                                                                                \
    }

static void
test_convolutions(void **state)
{
    (void)state;
    static const int64_t ones[] = {1, 1}, twos[] = {2, 2}, none[] = {0, 0, 0, 0},
                         one[] = {0, 0, 1, 1}, many[] = {0, 2, 0, 0}, below[] = {0, 0, -1, 0},
                         seventeen[] = {1, 17};
#define LIST(NAME, numbers)                                                                        \
    {                                                                                              \
        .name = NAME, .s = "", .ints = numbers, .int_count = OCT_COUNTOF(numbers)                  \
    }
    const conv_case cases[] = {
        {{0}, 2, 2, 2, OF_2_X_2},
        {LIST("strides", ones), 2, 2, 2, OF_2_X_2},
        {LIST("dilations", ones), 2, 2, 2, OF_2_X_2},
        {LIST("pads", none), 2, 2, 2, OF_2_X_2},
        {{.name = "group", .s = "", .i = 1}, 2, 2, 2, OF_2_X_2},
        {{.name = "auto_pad", .s = "NOTSET"}, 2, 2, 2, OF_2_X_2},
        {{.name = "auto_pad", .s = "VALID"}, 2, 2, 2, OF_2_X_2},
        {LIST("strides", twos), 2, 2, 2, NULL, 2, {0, 1, 1}, {16, -12, -12}},
        {LIST("pads", one), 2, 2, 2, NULL, 18, {0, 2, 15}, {16, 13, -2}},
        {{.name = "auto_pad", .s = "SAME_UPPER"}, 2, 2, 2, NULL, 18, {0, 2, 15}, {16, 13, -2}},
        {{.name = "auto_pad", .s = "SAME_LOWER"}, 2, 2, 2, NULL, 18, {0, 2, 15}, {11, 13, -6}},
        {{0}, 2, 1, 2, NULL, 12, {0, 1, 6}, {11, 12, -6}},
        {{0}, 1, 2, 2, NULL, 12, {0, 1, 6}, {11, 12, -8}},
        {LIST("dilations", twos), 2, 2, 2, .why = "it has dilations"},
        {{.name = "group", .s = "", .i = 2}, 2, 2, 2, .why = "it has groups"},
        {LIST("pads", many), 2, 2, 2, .why = "each padding must be less than the kernel"},
        {LIST("pads", below), 2, 2, 2, .why = "a list of its attributes"},
        {LIST("pads", ones), 2, 2, 2, .why = "a list of its attributes"},
        {LIST("strides", none), 2, 2, 2, .why = "a list of its attributes"},
        {LIST("strides", seventeen), 2, 2, 2, .why = "a stride of 17 along an axis"},
        {{.name = "auto_pad", .s = "SAME"}, 2, 2, 2, .why = "its auto_pad is not one of ONNX's"},
        {{0}, 4, 4, 2, .why = "its kernel of 4 numbers does not fit an axis of 3 numbers"},
        {{0}, 2, 2, 3, .why = "its bias does not have one number for each filter"},
        {{0}, 2, 2, 1, .why = "its bias does not have one number for each filter"},
    };
#undef LIST
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        small_model m;
        conv_case c = cases[i];
        c.count = c.count > 0 ? c.count : 8;
        conv_begin(&m, &c, false);
        conv_end(&m, "h", c.why, c.want);
    }
}

// Of the two maps 16, 18, 22, 24 and -12, -12, -12, -12.
static void
test_pools(void **state)
{
    (void)state;
    static const int64_t twos[] = {2, 2}, one[] = {2};
    static const struct {
        const char *op;
        const int64_t *kernel;
        size_t axes;
        const char *why;
        float want;
    } cases[] = {
        {"MaxPool", twos, 2, NULL, 24},
        {"AveragePool", twos, 2, NULL, 20},
        {"GlobalMaxPool", NULL, 0, NULL, 24},
        {"GlobalAveragePool", NULL, 0, NULL, 20},
        {"MaxPool", one, 1, "a list of its attributes", 0},
        {"AveragePool", NULL, 0, "its kernel has 0 numbers", 0},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        static const conv_case plain = {{0}, 2, 2, 2, NULL, 2, {0, 1, 1}, {0}};
        small_model m;
        conv_begin(&m, &plain, false);
        small_model_node(&m, cases[i].op, "pool", "h", NULL, NULL);
        if (cases[i].kernel != NULL) {
            small_model_ints(&m, "kernel_shape", cases[i].kernel, cases[i].axes);
        }
        conv_end(&m, "pool", cases[i].why, (const float[]){cases[i].want, -12, -12});
    }
}

static void
test_what_is_done_to_maps_around_a_convolution(void **state)
{
    (void)state;
    static const conv_case plain = {{0}, 2, 2, 2, OF_2_X_2};
    static const float filters[] = {2, -3}, places[] = {1, 2, 3, 4};
    small_model m;
    // Before: 9 + 5 + 10, 8 + 4 + 10, 7 - 5 - 10.
    conv_begin(&m, &plain, true);
    conv_end(&m, "h", NULL, (const float[]){24, 22, -8});
    // Behind: one factor for each filter.
    conv_begin(&m, &plain, false);
    small_model_tensor(&m, "filters", 2, 1, filters);
    m.tensors[5].rank = 3;
    m.tensors[5].dims[2] = 1;
    small_model_node(&m, "Mul", "scaled", "h", "filters", NULL);
    conv_end(&m, "scaled", NULL, (const float[]){32, 36, 36});
    conv_begin(&m, &plain, false);
    small_model_tensor(&m, "places", 2, 2, places);
    small_model_node(&m, "Mul", "scaled", "h", "places", NULL);
    conv_end(&m, "scaled", "it scales each position of a map differently", NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic_with_constants),
        cmocka_unit_test(test_constants_are_computed),
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_activations),
        cmocka_unit_test(test_norms),
        cmocka_unit_test(test_casts_and_orders_of_axes),
        cmocka_unit_test(test_choices_are_over_each_row),
        cmocka_unit_test(test_a_log_softmax_is_of_one_value),
        cmocka_unit_test(test_convolutions),
        cmocka_unit_test(test_pools),
        cmocka_unit_test(test_what_is_done_to_maps_around_a_convolution),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
