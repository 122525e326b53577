// Models made node by node: deviations beside the means.
#include "tests/import/small_model.h"

static const float matrix[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}; // [3][3]
static const float twos[] = {2, 2, 2}, minus_ones[] = {-1, -1, -1}, tenths[] = {0.1f, 0.1f, 0.1f};
static const float minus_hundreds[] = {-100, -100, -100}, steps[] = {1, 2, 3};

// With the constants of the tests: a matrix "W" and lists.
static void
begin(small_model *m)
{
    small_model_begin(m, 3);
    small_model_tensor(m, "W", 3, 3, matrix);
    small_model_tensor(m, "twos", 0, 3, twos);
    small_model_tensor(m, "-ones", 0, 3, minus_ones);
    small_model_tensor(m, "tenths", 0, 3, tenths);
    small_model_tensor(m, "-hundreds", 0, 3, minus_hundreds);
    small_model_tensor(m, "steps", 0, 3, steps);
}

static import_request
request_box(void)
{
    return (import_request){
        .env_id = "", .output = "action", .bound_count = 1, .low = {-9}, .high = {9}};
}

static void
refused(const small_model *m, const import_request *request, const char *words)
{
    char reason[512] = "";
    import_graph *graph;
    import_result result;
    oct_err err = small_model_import(m, request, &graph, &result, reason, sizeof(reason));
    assert_int_not_equal(err, OCT_OK);
    if (reason[0] == '\0' || strstr(reason, words) == NULL) {
        fail_msg("'%s' has no '%s'", reason, words);
    }
    import_graph_destroy(graph);
}

// ---- deviations

// Means and deviations end in activations of layers of their own.
static void
test_deviations_of_another_layer_are_refused(void **state)
{
    (void)state;
    small_model m;
    begin(&m);
    small_model_node(&m, "MatMul", "h", "obs", "W", NULL);
    small_model_node(&m, "Tanh", "t", "h", NULL, NULL);
    small_model_node(&m, "MatMul", "mean", "t", "W", NULL);
    small_model_node(&m, "Relu", "action", "mean", NULL, NULL);
    small_model_node(&m, "MatMul", "deviation", "t", "W", NULL);
    small_model_node(&m, "Tanh", "log_std", "deviation", NULL, NULL);
    import_request request = request_box();
    request.log_std = "log_std";
    refused(&m, &request, "log deviations are computed by other layers than the means");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deviations_of_another_layer_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
