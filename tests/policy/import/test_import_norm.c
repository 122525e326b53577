// Layer norm in any place and written out.
#include <math.h>

#include "tests/policy/import/layers_model.h"

// Where no dense layer is before a layer norm, it gets one of its own.
static void
test_layer_norms_may_follow_anything(void **state)
{
    (void)state;
    small_model m;
    begin(&m);
    small_model_node(&m, "MatMul", "h", "obs", "W", NULL);
    small_model_node(&m, "LayerNormalization", "norm", "h", "twos", NULL);
    small_model_node(&m, "LayerNormalization", "action", "norm", "twos", "steps");
    assert_int_equal(expect_alike(&m).layer_count, 2);
    begin(&m);
    small_model_node(&m, "Add", "moved", "obs", "steps", NULL);
    small_model_node(&m, "LayerNormalization", "norm", "moved", "twos", "steps");
    small_model_node(&m, "MatMul", "h", "norm", "W", NULL);
    small_model_node(&m, "Tanh", "t", "h", NULL, NULL);
    small_model_node(&m, "Mul", "scaled", "t", "tenths", NULL);
    small_model_node(&m, "LayerNormalization", "again", "scaled", "twos", NULL);
    small_model_node(&m, "MatMul", "action", "again", "W", NULL);
    assert_int_equal(expect_alike(&m).layer_count, 4);
}

static const int64_t last_axis[] = {-1};
static const float two[] = {2}, three[] = {3}, half[] = {0.5f}, minus_half[] = {-0.5f};

// "c", x less the mean of `of`, and "v", its variance plus epsilon.
static void
variance_of(small_model *m, const char *x, const char *of, const float *epsilon)
{
    small_model_tensor(m, "two", 0, 1, two);
    small_model_tensor(m, "three", 0, 1, three);
    small_model_tensor(m, "half", 0, 1, half);
    small_model_tensor(m, "-half", 0, 1, minus_half);
    small_model_tensor(m, "epsilon", 0, 1, epsilon);
    small_model_node(m, "ReduceMean", "mean", of, NULL, NULL);
    small_model_ints(m, "axes", last_axis, 1);
    small_model_node(m, "Sub", "c", x, "mean", NULL);
    small_model_node(m, "Pow", "square", "c", "two", NULL);
    small_model_node(m, "ReduceMean", "variance", "square", NULL, NULL);
    small_model_ints(m, "axes", last_axis, 1);
    small_model_node(m, "Add", "v", "variance", "epsilon", NULL);
}

static void
variance_add(small_model *m, const char *x)
{
    static const float epsilon[] = {0.0625f};
    variance_of(m, x, x, epsilon);
}

static void
test_layer_norm_may_be_written_out(void **state)
{
    (void)state;
    small_model m;
    const double end = 2 * 0.375 / sqrt(0.09375 + 0.0625); // of x = {0.375, 0.75, 1.125}
    const double want[] = {1 - end, 2, 3 + end};
    for (int form = 0; form < 4; form++) {
        begin(&m);
        small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
        variance_add(&m, "x");
        if (form == 1) {
            small_model_node(&m, "Pow", "root", "v", "half", NULL);
        } else if (form == 2) {
            small_model_node(&m, "Pow", "inverse", "v", "-half", NULL);
        } else {
            small_model_node(&m, "Sqrt", "root", "v", NULL, NULL);
        }
        if (form < 2) {
            small_model_node(&m, "Div", "n", "c", "root", NULL);
        } else {
            if (form == 3) {
                small_model_node(&m, "Reciprocal", "inverse", "root", NULL, NULL);
            }
            small_model_node(&m, "Mul", "n", "inverse", "c", NULL);
        }
        small_model_node(&m, "Mul", "g", "n", "twos", NULL);
        small_model_node(&m, "Add", "action", "g", "steps", NULL);
        policy_spec spec = expect_alike(&m);
        assert_true(spec.layer_count == 1 && spec.layers[0].layer_norm);
        expect_numbers(&m, want, 3);
    }
}

// What is written like a layer norm and is another function.
static void
test_what_is_nearly_a_layer_norm_is_refused(void **state)
{
    (void)state;
    static const float minus[] = {-0.0625f}, epsilon[] = {0.0625f};
    static const struct {
        const char *of;       // what the mean is of
        const float *epsilon; // of the variance
        const char *square, *variance, *root, *last;
    } cases[] = {{"x", minus, "two", "variance", "half", "Div"},
                 {"obs", epsilon, "two", "variance", "half", "Div"},
                 {"x", epsilon, "three", "variance", "half", "Div"},
                 {"x", epsilon, "two", "doubled", "half", "Div"},
                 {"x", epsilon, "two", "variance", "half", "Mul"},
                 {"x", epsilon, "two", "variance", "-half", "Div"}};
    small_model m;
    import_request request = request_box();
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        begin(&m);
        small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
        variance_of(&m, "x", cases[i].of, cases[i].epsilon);
        m.inputs[3][1] = (char *)(uintptr_t)cases[i].square;
        small_model_node(&m, "Mul", "doubled", "variance", "two", NULL);
        small_model_node(&m, "Add", "sum", cases[i].variance, "epsilon", NULL);
        small_model_node(&m, "Pow", "root", "sum", cases[i].root, NULL);
        small_model_node(&m, cases[i].last, "action", "c", "root", NULL);
        refused(&m, &request, "");
    }
    begin(&m);
    small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
    variance_add(&m, "x");
    small_model_node(&m, "Sqrt", "root", "v", NULL, NULL);
    small_model_node(&m, "MatMul", "y", "obs", "W", NULL);
    small_model_node(&m, "ReduceMean", "y_mean", "y", NULL, NULL);
    small_model_ints(&m, "axes", last_axis, 1);
    small_model_node(&m, "Sub", "y_c", "y", "y_mean", NULL);
    small_model_node(&m, "Div", "action", "y_c", "root", NULL);
    refused(&m, &request, "");
    begin(&m);
    small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
    variance_add(&m, "x");
    small_model_node(&m, "MatMul", "action", "square", "W", NULL);
    refused(&m, &request, "as a part of layer norm only");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layer_norms_may_follow_anything),
        cmocka_unit_test(test_layer_norm_may_be_written_out),
        cmocka_unit_test(test_what_is_nearly_a_layer_norm_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
