#ifndef TESTS_POLICY_IMPORT_SMALL_MODEL_H
#define TESTS_POLICY_IMPORT_SMALL_MODEL_H

#include "common/oct_reason.h"
#include "policy/import/import_policy.h"
#include "tests/support/oct_test.h"

// A model that a test makes node by node: its input is the row "obs", what a node gives is called
// as the test says. Threads: one user. Owns: nothing; names and numbers are borrowed.

enum { SMALL_NODES = 16, SMALL_INPUTS = 5, SMALL_TENSORS = 16 };

typedef struct small_model {
    import_model model;
    import_node nodes[SMALL_NODES];
    char *inputs[SMALL_NODES][SMALL_INPUTS], *outputs[SMALL_NODES];
    import_attribute attributes[SMALL_NODES];
    import_tensor tensors[SMALL_TENSORS];
    import_port input;
} small_model;

static inline void
small_model_begin(small_model *m, uint32_t obs_count)
{
    *m = (small_model){.input = {.name = "obs", .type = 1, .rank = 2, .dims = {-1, obs_count}}};
    m->model = (import_model){.producer = "",
                              .opset = 17,
                              .nodes = m->nodes,
                              .tensors = m->tensors,
                              .inputs = &m->input,
                              .input_count = 1};
}

// rows 0: a list of columns numbers.
static inline void
small_model_tensor(small_model *m, const char *name, uint32_t rows, uint32_t columns,
                   const float *floats)
{
    import_tensor *made = &m->tensors[m->model.tensor_count++];
    *made = (import_tensor){.name = name, .type = 1, .floats = floats};
    made->rank = rows > 0 ? 2 : 1;
    made->dims[0] = rows > 0 ? rows : columns;
    made->dims[1] = rows > 0 ? columns : 0;
    made->count = (size_t)(rows > 0 ? rows : 1) * columns;
}

// A list of whole numbers.
static inline void
small_model_list(small_model *m, const char *name, const int64_t *integers, size_t count)
{
    import_tensor *made = &m->tensors[m->model.tensor_count++];
    *made =
        (import_tensor){.name = name, .type = 7, .rank = 1, .count = count, .integers = integers};
    made->dims[0] = (uint32_t)count;
}

// Inputs that are NULL are left out.
static inline import_node *
small_model_node(small_model *m, const char *op, const char *output, const char *a, const char *b,
                 const char *c)
{
    size_t i = m->model.node_count++;
    m->inputs[i][0] = (char *)(uintptr_t)(a != NULL ? a : "");
    m->inputs[i][1] = (char *)(uintptr_t)(b != NULL ? b : "");
    m->inputs[i][2] = (char *)(uintptr_t)(c != NULL ? c : "");
    m->outputs[i] = (char *)(uintptr_t)output;
    m->nodes[i] = (import_node){.op = op,
                                .name = "",
                                .domain = "",
                                .inputs = m->inputs[i],
                                .input_count = c != NULL   ? 3
                                               : b != NULL ? 2
                                                           : 1,
                                .outputs = &m->outputs[i],
                                .output_count = 1,
                                .attributes = &m->attributes[i]};
    return &m->nodes[i];
}

// One more input of the last node.
static inline void
small_model_input(small_model *m, const char *input)
{
    import_node *node = &m->nodes[m->model.node_count - 1];
    m->inputs[m->model.node_count - 1][node->input_count++] = (char *)(uintptr_t)input;
}

// The node's attribute, a list of integers.
static inline void
small_model_ints(small_model *m, const char *name, const int64_t *ints, size_t count)
{
    size_t i = m->model.node_count - 1;
    m->attributes[i] = (import_attribute){.name = name, .s = "", .ints = ints, .int_count = count};
    m->nodes[i].attribute_count = 1;
}

// Its output "action" as a policy. The graph is the caller's in any case.
static inline oct_err
small_model_import(const small_model *m, const import_request *request, import_graph **graph,
                   import_result *result, oct_reason *why)
{
    T_OK(import_graph_create(graph, &m->model, NULL, NULL, 0, NULL, why));
    return import_policy_make(result, &m->model, *graph, request, why);
}

// The same as values of discrete actions: fails the test unless it is taken (why is NULL), or
// refused with these words. The result is the caller's in any case, too.
static inline void
small_model_values(const small_model *m, import_graph **graph, import_result *result,
                   const char *why)
{
    oct_reason reason = {""};
    import_request request = {.env_id = "", .output = "action", .head = POLICY_HEAD_VALUES};
    request.action_kind = POLICY_DISCRETE;
    *result = (import_result){0};
    oct_err err = small_model_import(m, &request, graph, result, &reason);
    if (why != NULL ? strstr(reason.text, why) == NULL : reason.text[0] != '\0') {
        fail_msg("node %s: '%s' and not '%s'", m->nodes[0].op, reason.text, why != NULL ? why : "");
    }
    assert_int_equal(err == OCT_OK, why == NULL);
}

#endif // TESTS_POLICY_IMPORT_SMALL_MODEL_H
