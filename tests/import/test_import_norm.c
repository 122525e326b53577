// Layer norm in any place and written out.
#include "tests/import/layers_model.h"

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

// "c", x less its mean, and "v", its variance plus epsilon.
static void
variance_add(small_model *m, const char *x)
{
    static const float two[] = {2}, epsilon[] = {1e-3f};
    small_model_tensor(m, "two", 0, 1, two);
    small_model_tensor(m, "epsilon", 0, 1, epsilon);
    small_model_node(m, "ReduceMean", "mean", x, NULL, NULL);
    small_model_ints(m, "axes", last_axis, 1);
    small_model_node(m, "Sub", "c", x, "mean", NULL);
    small_model_node(m, "Pow", "square", "c", "two", NULL);
    small_model_node(m, "ReduceMean", "variance", "square", NULL, NULL);
    small_model_ints(m, "axes", last_axis, 1);
    small_model_node(m, "Add", "v", "variance", "epsilon", NULL);
}

static void
test_layer_norm_may_be_written_out(void **state)
{
    (void)state;
    small_model m;
    for (int form = 0; form < 2; form++) {
        begin(&m);
        small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
        variance_add(&m, "x");
        small_model_node(&m, "Sqrt", "root", "v", NULL, NULL);
        if (form == 0) {
            small_model_node(&m, "Div", "n", "c", "root", NULL);
        } else {
            small_model_node(&m, "Reciprocal", "inverse", "root", NULL, NULL);
            small_model_node(&m, "Mul", "n", "inverse", "c", NULL);
        }
        small_model_node(&m, "Mul", "g", "n", "twos", NULL);
        small_model_node(&m, "Add", "action", "g", "steps", NULL);
        policy_spec spec = expect_alike(&m);
        assert_true(spec.layer_count == 1 && spec.layers[0].layer_norm);
    }
    import_request request = request_box();
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
