// Activations of ONNX: as operations, and in the forms that exporters write out. What a policy
// computes for them is compared with the papers' formulas.
#include <math.h>
#include <stdlib.h>

#include "policy/policy_net.h"
#include "tests/policy/exact_activation.h"
#include "tests/policy/import/small_model.h"

#define NOT_ONE "policies do not have this function; their activations are linear, relu, "

// A form: nodes "output Operation inputs attribute=value", with | between them, from x to y. An
// input that is a number is a constant.
typedef struct form {
    policy_activation activation;
    const char *nodes;
} form;

static const form forms[] = {
    {POLICY_LINEAR, "y Identity x"},
    {POLICY_LINEAR, "y LeakyRelu x alpha=1"},
    {POLICY_LINEAR, "d Add x x|y Mul d 0.5"},
    {POLICY_RELU, "y Relu x"},
    {POLICY_RELU, "y Relu x approximate=tanh"},
    {POLICY_RELU, "y LeakyRelu x alpha=0"},
    {POLICY_RELU, "y Max x 0"},
    {POLICY_RELU, "y Clip x 0"},
    {POLICY_TANH, "y Tanh x"},
    {POLICY_TANH, "p Exp x|m Neg x|q Exp m|a Sub p q|b Add p q|y Div a b"},
    {POLICY_ELU, "y Elu x"},
    {POLICY_ELU, "y Elu x alpha=1"},
    {POLICY_SILU, "s Sigmoid x|y Mul x s"},
    {POLICY_SILU, "s Sigmoid x|y Mul s x"},
    {POLICY_SILU, "m Neg x|e Exp m|d Add e 1|y Div x d"},
    {POLICY_SILU, "m Neg x|e Exp m|d Add 1 e|s Div 1 d|y Mul x s"},
    {POLICY_SILU, "t Div x 2|h Tanh t|u Add h 1|v Mul u x|y Mul 0.5 v"},
    {POLICY_SILU, "y Swish x"},
    {POLICY_GELU, "y Gelu x"},
    {POLICY_GELU, "y Gelu x approximate=none"},
    {POLICY_GELU, "d Div x 1.4142135|e Erf d|u Add e 1|p Mul x u|y Mul p 0.5"},
    {POLICY_GELU, "d Mul x 0.70710677|e Erf d|u Add 1 e|h Mul 0.5 x|y Mul h u"},
    {POLICY_GELU, "d Div x 1.4142135|e Erf d|u Add e 1|h Mul u 0.5|y Mul x h"},
    {POLICY_GELU_TANH, "y Gelu x approximate=tanh"},
    {POLICY_GELU_TANH, "c Pow x 3|k Mul c 0.044715|a Add x k|b Mul a 0.7978846|t Tanh b|u Add t 1|"
                       "h Mul x 0.5|y Mul h u"},
    {POLICY_GELU_TANH, "q Mul x x|c Mul q x|k Mul 0.044715 c|a Add x k|b Mul 0.7978846 a|t Tanh b|"
                       "u Add 1 t|p Mul x u|y Mul 0.5 p"},
    {POLICY_GELU_TANH, "q Mul x x|k Mul q 0.044715|a Add k 1|b Mul x 0.7978846|c Mul a b|t Tanh c|"
                       "u Add t 1|h Mul u 0.5|y Mul h x"},
    {POLICY_SIGMOID, "y Sigmoid x"},
    {POLICY_SIGMOID, "m Neg x|e Exp m|d Add e 1|y Reciprocal d"},
    {POLICY_SOFTPLUS, "y Softplus x"},
    {POLICY_SOFTPLUS, "e Exp x|d Add e 1|y Log d"},
    {POLICY_MISH, "y Mish x"},
    {POLICY_MISH, "s Softplus x|t Tanh s|y Mul x t"},
    {POLICY_MISH, "e Exp x|d Add e 1|s Log d|t Tanh s|y Mul t x"},
    {POLICY_LEAKY_RELU, "y LeakyRelu x"},
    {POLICY_LEAKY_RELU, "y LeakyRelu x alpha=0.01"},
    {POLICY_LEAKY_RELU, "y LeakyRelu x alpha=0.0100005"},
    {POLICY_LEAKY_RELU, "s Mul x 0.01|y Max x s"},
    {POLICY_RELU6, "y Clip x 0 6"},
    {POLICY_RELU6, "y Clip x min=0 max=6"},
    {POLICY_RELU6, "m Max x 0|y Min m 6"},
    {POLICY_RELU6, "m Min 6 x|y Max 0 m"},
    {POLICY_RELU6, "r Relu x|y Clip r -9 6"},
    {POLICY_HARD_SWISH, "y HardSwish x"},
    {POLICY_HARD_SWISH, "a Add x 3|c Clip a 0 6|m Mul x c|y Div m 6"},
};

typedef struct written {
    small_model m;
    char text[512];
    float numbers[SMALL_TENSORS];
    import_attribute attributes[SMALL_NODES][2];
} written;

static void
attribute_add(import_attribute *out, char *word)
{
    char *value = strchr(word, '=') + 1;
    value[-1] = '\0';
    *out = (import_attribute){.name = word, .s = value, .f = strtof(value, NULL)};
}

static void
node_write(written *w, char *text)
{
    char *rest, *output = strtok_r(text, " ", &rest), *op = strtok_r(NULL, " ", &rest);
    import_node *node = small_model_node(&w->m, op, output, NULL, NULL, NULL);
    import_attribute *attributes = w->attributes[w->m.model.node_count - 1];
    node->input_count = 0;
    node->attributes = attributes;
    for (char *word; (word = strtok_r(NULL, " ", &rest)) != NULL;) {
        if (strchr(word, '=') != NULL) {
            attribute_add(&attributes[node->attribute_count++], word);
            continue;
        }
        if (strchr("-0123456789", word[0]) != NULL) {
            size_t i = w->m.model.tensor_count;
            w->numbers[i] = strtof(word, NULL);
            small_model_tensor(&w->m, word, 0, 1, &w->numbers[i]);
        }
        small_model_input(&w->m, word);
    }
}

// A dense layer, the nodes, and another layer.
static void
model_write(written *w, const char *nodes)
{
    static const float unit[] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    char *rest;
    small_model_begin(&w->m, 3);
    small_model_tensor(&w->m, "U", 3, 3, unit);
    small_model_node(&w->m, "MatMul", "x", "obs", "U", NULL);
    (void)snprintf(w->text, sizeof(w->text), "%s", nodes);
    for (char *one = strtok_r(w->text, "|", &rest); one != NULL; one = strtok_r(NULL, "|", &rest)) {
        node_write(w, one);
    }
    small_model_node(&w->m, "MatMul", "action", "y", "U", NULL);
}

// Compares 3 numbers at a time.
static void
form_check(const import_result *result, policy_activation activation)
{
    const policy_spec *spec = &result->image->spec;
    policy_net *net;
    T_OK(policy_net_create(&net, result->image, POLICY_ISA_REF));
    policy_scratch *scratch = policy_scratch_create(spec, 1);
    for (float x = -12; x < 12; x += 0.37f) {
        float y[3], obs[3] = {x, x + 0.1f, x + 0.2f};
        policy_forward(net, scratch, obs, policy_spec_obs_bytes(spec), 1, y);
        for (size_t i = 0; i < 3; i++) {
            T_NEAR(y[i], exact_activation(activation, (double)obs[i]), 1e-5, 1e-5);
        }
    }
    policy_scratch_destroy(scratch);
    policy_net_destroy(net);
}

static void
test_each_form_of_each_activation(void **state)
{
    (void)state;
    bool is_seen[POLICY_ACTIVATION_COUNT] = {false};
    for (size_t i = 0; i < OCT_COUNTOF(forms); i++) {
        written w = {0};
        import_graph *graph;
        import_result result;
        model_write(&w, forms[i].nodes);
        small_model_values(&w.m, &graph, &result, NULL);
        const policy_spec *spec = &result.image->spec;
        if (spec->layer_count != 2 || spec->layers[0].activation != forms[i].activation) {
            fail_msg("%s: activation %d", forms[i].nodes, (int)spec->layers[0].activation);
        }
        form_check(&result, forms[i].activation);
        is_seen[forms[i].activation] = true;
        import_policy_free(&result);
        import_graph_destroy(graph);
    }
    for (size_t i = 0; i < OCT_COUNTOF(is_seen); i++) {
        assert_true(is_seen[i]);
    }
}

static void
test_what_is_no_activation_of_policies_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *nodes, *why;
    } cases[] = {
        {"y LeakyRelu x alpha=0.2", "node 'y' (LeakyRelu): " NOT_ONE},
        {"y LeakyRelu x alpha=0.2", "elu has alpha 1 and leaky_relu 0.01"},
        {"y LeakyRelu x alpha=0.010002", "; leaky_relu is near, but differs by 1.6e-05"},
        {"y Elu x alpha=0.5", "node 'y' (Elu): " NOT_ONE},
        {"k Mul x 1.702|s Sigmoid k|y Mul x s", "node 'y' (Mul): " NOT_ONE},
        {"k Mul x 1.702|s Sigmoid k|y Mul x s", "; gelu is near, but differs by 0.019"},
        {"y Swish x alpha=2", "node 'y' (Swish): " NOT_ONE},
        {"y Exp x", "node 'y' (Exp): " NOT_ONE},
        {"e Exp x|y Log e|z Exp y|y Add z 3", "node 'z' (Exp): " NOT_ONE},
        {"d Div x 1.4142135|e Erf d|u Add e 2|y Mul x u", "node 'y' (Mul): " NOT_ONE},
        {"y HardSigmoid x alpha=0.16666667", "node 'y' (HardSigmoid): " NOT_ONE},
        {"y HardSigmoid x beta=0.4", "node 'y' (HardSigmoid): its beta is not 0.5"},
        {"y Gelu x approximate=erf", "node 'y' (Gelu): its approximate is neither none nor tanh"},
        {"y Pow x 3", "node 'y' (Pow): " NOT_ONE},
        {"r Relu x|y Add x r", "node 'y' (Add): " NOT_ONE},
        {"r Relu x|y Sigmoid r", "node 'y' (Sigmoid): policies support activations after a layer"},
        {"t MatMul x U|s Sigmoid t|y Mul x s", "both of its inputs are computed from the"},
        {"y Clip x 0 5", "it follows a clip"},
        {"s Sigmoid obs|y Mul obs s", "node 'y' (Mul): policies support activations after a"},
        {"y Selu x", "node 'y' (Selu): policies do not have this activation"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        written w = {0};
        import_graph *graph;
        import_result result;
        model_write(&w, cases[i].nodes);
        small_model_values(&w.m, &graph, &result, cases[i].why);
        import_policy_free(&result);
        import_graph_destroy(graph);
    }
}

// Its tree has 2^14 steps.
static void
test_squares_of_squares_end(void **state)
{
    (void)state;
    static char names[SMALL_NODES][2];
    written w = {0};
    import_graph *graph;
    import_result result;
    model_write(&w, "a Relu x");
    w.m.model.node_count--;
    for (char c = 'a'; w.m.model.node_count < SMALL_NODES - 1; c++) {
        names[c - 'a'][0] = (char)(c + 1);
        const char *from = c == 'a' ? "x" : names[c - 'a' - 1];
        small_model_node(&w.m, "Mul", names[c - 'a'], from, from, NULL);
    }
    const char *last = w.m.nodes[w.m.model.node_count - 1].outputs[0];
    small_model_node(&w.m, "MatMul", "action", last, "U", NULL);
    small_model_values(&w.m, &graph, &result, NOT_ONE);
    import_policy_free(&result);
    import_graph_destroy(graph);
}

// The head of a policy has a tanh: sigmoid(x) = (1 + tanh(x / 2)) / 2.
static void
test_a_sigmoid_at_the_end_is_a_tanh_with_bounds(void **state)
{
    (void)state;
    written w = {0};
    oct_reason why = {""};
    import_graph *graph;
    import_result result;
    const import_request request = {.env_id = "", .output = "y"};
    model_write(&w, "s Sigmoid x|y Mul s 3");
    T_OK(small_model_import(&w.m, &request, &graph, &result, &why));
    const policy_spec *spec = &result.image->spec;
    assert_int_equal(spec->layer_count, 1);
    assert_int_equal(spec->head, POLICY_HEAD_TANH);
    for (size_t i = 0; i < 3; i++) {
        T_NEAR(spec->action_low[i], 0.0, 0.0, 0.0);
        T_NEAR(spec->action_high[i], 3.0, 0.0, 0.0);
        T_NEAR(result.image->weights[0][4 * i], 0.5, 0.0, 0.0);
    }
    import_policy_free(&result);
    import_graph_destroy(graph);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_form_of_each_activation),
        cmocka_unit_test(test_what_is_no_activation_of_policies_is_refused),
        cmocka_unit_test(test_squares_of_squares_end),
        cmocka_unit_test(test_a_sigmoid_at_the_end_is_a_tanh_with_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
