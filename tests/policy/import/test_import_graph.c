// Values are found by name without going through all of them, and are first outputs.
#include "common/oct_reason.h"
#include "policy/import/import_graph.h"

#include <stdlib.h>

#include "tests/policy/import/small_model.h"
#include "tests/policy/import/strcmp_count.h"

// Every node takes the same value, of the many, in all of its inputs, and gives several.
static void
test_names_are_found_in_a_few_comparisons(void **state)
{
    (void)state;
    enum { NODES = 400, INPUTS = 16, OUTPUTS = 4, NAME = 32 };
    enum { LOOKUP = 2 * 12 }; // comparisons: twice the logarithm of how many values there are
    static const float one = 1;
    char(*names)[OUTPUTS][NAME] = oct_alloc(sizeof(char[NODES][OUTPUTS][NAME]));
    char *(*outputs)[OUTPUTS] = oct_alloc(sizeof(char *[NODES][OUTPUTS]));
    import_node *nodes = oct_alloc(NODES * sizeof(import_node));
    char *inputs[INPUTS];
    for (size_t i = 0; i < INPUTS; i++) {
        inputs[i] = (char *)(uintptr_t) "constant";
    }
    for (size_t i = 0; i < NODES; i++) {
        for (size_t k = 0; k < OUTPUTS; k++) {
            (void)snprintf(names[i][k], NAME, "value %zu of node %zu", k, i);
            outputs[i][k] = names[i][k];
        }
        nodes[i] = (import_node){.op = "Identity",
                                 .name = "",
                                 .domain = "",
                                 .inputs = inputs,
                                 .input_count = INPUTS,
                                 .outputs = outputs[i],
                                 .output_count = OUTPUTS};
    }
    small_model m;
    small_model_begin(&m, 3);
    small_model_tensor(&m, "constant", 0, 1, &one);
    m.model.nodes = nodes;
    m.model.node_count = NODES;
    oct_reason why = {""};
    import_graph *graph;
    const import_step *step;
    const import_tensor *constant;
    strcmp_count = 0;
    T_OK(import_graph_create(&graph, &m.model, NULL, NULL, 0, NULL, &why));
    T_OK(import_graph_value(graph, "value 0 of node 399", &step, &constant, &why));
    // An operation is looked up for each output, in a list of its own.
    size_t operations = (size_t)NODES * OUTPUTS * 64;
    assert_in_range(strcmp_count, 1, operations + (size_t)NODES * (INPUTS + 2 * OUTPUTS) * LOOKUP);
    assert_null(step);
    assert_ptr_equal(constant, &m.tensors[0]);
    import_graph_destroy(graph);
    free(names);
    free(outputs);
    free(nodes);
}

// ONNX has more outputs of a layer norm, the means, and of others, which no policy computes.
static void
test_only_a_split_has_more_than_its_first_output(void **state)
{
    (void)state;
    static const float matrix[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const char *const operations[] = {"Dropout", "LayerNormalization", "Relu"};
    static char first[] = "first", second[] = "second";
    char *outputs[] = {first, second};
    for (size_t i = 0; i < OCT_COUNTOF(operations); i++) {
        small_model m;
        oct_reason why = {""};
        import_graph *graph;
        const import_step *step;
        const import_tensor *constant;
        small_model_begin(&m, 3);
        small_model_tensor(&m, "W", 3, 3, matrix);
        small_model_tensor(&m, "gain", 0, 3, matrix);
        small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
        import_node *node =
            small_model_node(&m, operations[i], "first", "x", i == 1 ? "gain" : NULL, NULL);
        node->outputs = outputs;
        node->output_count = 2;
        T_OK(import_graph_create(&graph, &m.model, NULL, NULL, 0, NULL, &why));
        T_OK(import_graph_value(graph, "first", &step, &constant, &why));
        assert_non_null(step);
        T_ERR(import_graph_value(graph, "second", &step, &constant, &why), OCT_EINVAL);
        assert_non_null(strstr(why.text, "policies support its first output only"));
        import_graph_destroy(graph);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_a_split_has_more_than_its_first_output),
        cmocka_unit_test(test_names_are_found_in_a_few_comparisons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
