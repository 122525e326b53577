// Operations that move numbers: what is not the shape of one observation is refused, and parts are
// those that a model names.
#include <stdlib.h>

#include "common/oct_reason.h"
#include "tests/policy/import/small_model.h"

static const float matrix[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}; // [3][3]

static void
begin(small_model *m)
{
    small_model_begin(m, 3);
    small_model_tensor(m, "W", 3, 3, matrix);
}

// "action" as values: why it is refused, or its first weights, one for each action.
static void
expect(const small_model *m, const char *why, const float *weights, uint32_t actions)
{
    import_graph *graph;
    import_result result;
    small_model_values(m, &graph, &result, why);
    if (why == NULL) {
        const policy_spec *spec = &result.image->spec;
        assert_int_equal(spec->action_count, actions);
        for (uint32_t j = 0; j < actions; j++) {
            T_NEAR(result.image->weights[0][j * spec->obs_count], weights[j], 0.0, 0.0);
        }
    }
    import_policy_free(&result);
    import_graph_destroy(graph);
}

// The sizes are a list, or an attribute in older models; without them parts are equal.
static void
test_parts_of_a_split_are_those_of_the_row(void **state)
{
    (void)state;
    static const struct {
        int64_t sizes[3];
        size_t count;
        const char *why;
        float weights[2];
    } cases[] = {
        {{1, 2}, 2, NULL, {2, 3}},
        {{2, 1}, 2, NULL, {3}},
        {{0}, 0, NULL, {3}},
        {{1, 1}, 2, "its parts do not add up to the row", {0}},
        {{2, 2}, 2, "its parts do not add up to the row", {0}},
        {{3, 0}, 2, "its parts do not add up to the row", {0}},
        {{4, -1}, 2, "its parts do not add up to the row", {0}},
        {{3}, 1, "its parts do not add up to the row", {0}},
        {{1, 1, 1}, 3, "its parts do not add up to the row", {0}},
    };
    static char first[] = "first", action[] = "action";
    char *parts[] = {first, action};
    for (size_t i = 0; i < 2 * OCT_COUNTOF(cases); i++) {
        const size_t at = i / 2;
        const bool is_list = i % 2 == 0 && cases[at].count > 0;
        small_model m;
        begin(&m);
        small_model_list(&m, "sizes", cases[at].sizes, cases[at].count);
        small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
        import_node *split =
            small_model_node(&m, "Split", "first", "x", is_list ? "sizes" : NULL, NULL);
        split->outputs = parts;
        split->output_count = 2;
        import_attribute attributes[] = {
            {.name = "axis", .s = "", .i = 1},
            {.name = "split", .s = "", .ints = cases[at].sizes, .int_count = cases[at].count}};
        split->attributes = attributes;
        split->attribute_count = is_list || cases[at].count == 0 ? 1 : 2;
        expect(&m, cases[at].why, cases[at].weights, cases[at].weights[1] > 0 ? 2 : 1);
    }
}

static void
test_sizes_of_a_split_are_constant_whole_numbers(void **state)
{
    (void)state;
    static const float sizes[] = {1, 2};
    static char first[] = "first", action[] = "action";
    char *parts[] = {first, action};
    for (size_t i = 0; i < 2; i++) {
        small_model m;
        begin(&m);
        small_model_tensor(&m, "sizes", 0, 2, sizes);
        small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
        import_node *split =
            small_model_node(&m, "Split", "first", "x", i == 0 ? "sizes" : "x", NULL);
        split->outputs = parts;
        split->output_count = 2;
        small_model_ints(&m, "axis", NULL, 0);
        m.attributes[1].i = -1;
        expect(&m, "its parts do not add up to the row", NULL, 0);
    }
}

static void
test_a_shape_keeps_the_batch(void **state)
{
    (void)state;
    static const struct {
        int64_t batch, to;
        const char *why;
    } cases[] = {
        {-1, -1, NULL},
        {-1, 0, NULL},
        {-1, 1, NULL},
        {4, 4, NULL},
        {-1, 3, "it changes the size of the batch"},
        {4, 3, "it changes the size of the batch"},
        {-1, -2, "it changes the size of the batch"},
    };
    static const float first_row[] = {1, 2, 3};
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        const int64_t shape[] = {cases[i].to, cases[i].to == -1 ? 3 : -1};
        small_model m;
        begin(&m);
        m.input.dims[0] = cases[i].batch;
        small_model_list(&m, "shape", shape, 2);
        small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
        small_model_node(&m, "Reshape", "action", "x", "shape", NULL);
        expect(&m, cases[i].why, first_row, 3);
    }
}

// 0 is the size of before, -1 what is left.
static void
test_a_shape_is_of_as_many_numbers(void **state)
{
    (void)state;
    static const char why[] = "it changes how many numbers one observation has";
    static const float first_row[] = {1, 2, 3};
    static const struct {
        int64_t shape[3];
        size_t count;
        const char *why;
    } cases[] = {
        {{-1, 0}, 2, NULL},    {{-1, 3}, 2, NULL},    {{-1, 3, 1}, 3, NULL}, {{-1, 0, 1}, 3, NULL},
        {{0, 3, -1}, 3, NULL}, {{-1, 1}, 2, why},     {{-1, 6}, 2, why},     {{-1, 1, 0}, 3, why},
        {{0, 2, -1}, 3, why},  {{1, -1, -1}, 3, why},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        small_model m;
        begin(&m);
        small_model_list(&m, "shape", cases[i].shape, cases[i].count);
        small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
        small_model_node(&m, "Reshape", "h", "x", "shape", NULL);
        small_model_node(&m, "Flatten", "action", "h", NULL, NULL);
        expect(&m, cases[i].why, first_row, 3);
    }
}

// As exporters write x.view(-1, x.shape[i]).
static void
test_a_size_is_taken_from_both_ends(void **state)
{
    (void)state;
    static const struct {
        int64_t index;
        const char *why;
    } cases[] = {{1, NULL},
                 {-1, NULL},
                 {0, "it changes how many numbers"},
                 {-2, "it changes how many numbers"},
                 {2, "its index is outside"},
                 {-3, "its index is outside"}};
    static const float first_row[] = {1, 2, 3};
    static const int64_t any[] = {-1};
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        small_model m;
        begin(&m);
        small_model_list(&m, "any", any, 1);
        small_model_list(&m, "index", &cases[i].index, 1);
        small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
        small_model_node(&m, "Shape", "sizes", "x", NULL, NULL);
        small_model_node(&m, "Gather", "size", "sizes", "index", NULL);
        small_model_node(&m, "Concat", "shape", "any", "size", NULL);
        small_model_node(&m, "Reshape", "action", "x", "shape", NULL);
        expect(&m, cases[i].why, first_row, 3);
    }
}

// Axis 0 is the batch.
static void
test_a_slice_of_a_map_may_be_a_part(void **state)
{
    (void)state;
    static const float first_row[] = {1, 2, 3};
    static const int64_t shape[] = {-1, 1, 3}, axes[] = {1, 2}, first[] = {0, 0};
    for (int64_t rows = 1; rows <= 3; rows++) {
        const int64_t end[] = {1, rows};
        small_model m;
        begin(&m);
        small_model_list(&m, "shape", shape, 3);
        small_model_list(&m, "axes", axes, 2);
        small_model_list(&m, "first", first, 2);
        small_model_list(&m, "end", end, 2);
        small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
        small_model_node(&m, "Reshape", "map", "x", "shape", NULL);
        small_model_node(&m, "Slice", "part", "map", "first", "end");
        small_model_input(&m, "axes");
        small_model_node(&m, "Flatten", "action", "part", NULL, NULL);
        expect(&m, NULL, first_row, (uint32_t)rows);
    }
}

// ---- axes of the batch, and models without one

typedef struct move {
    const char *op, *name; // of an attribute; NULL: the numbers are the second input
    int64_t numbers[4];
    size_t count; // 0: neither
} move;

// x = obs W, whose first weights are 1, 2, 3; then these, up to one without an op, one after the
// other. The batch is 1 and has an axis, or the model has no batch.
static void
moves_expect(const move *moves, bool has_axis, const char *why, const float *weights,
             uint32_t actions)
{
    static char names[][8] = {"x", "y0", "y1", "y2", "y3", "action"},
                lists[][8] = {"l0", "l1", "l2", "l3"};
    small_model m;
    begin(&m);
    m.input.rank = has_axis ? 2 : 1;
    m.input.dims[0] = has_axis ? 1 : 3;
    small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
    size_t i = 0;
    for (; moves[i].op != NULL; i++) {
        bool is_input = moves[i].count > 0 && moves[i].name == NULL;
        if (is_input) {
            small_model_list(&m, lists[i], moves[i].numbers, moves[i].count);
        }
        small_model_node(&m, moves[i].op, names[i + 1], names[i], is_input ? lists[i] : NULL, NULL);
        if (moves[i].name != NULL) {
            small_model_ints(&m, moves[i].name, moves[i].numbers, moves[i].count);
            m.attributes[i + 1].i = moves[i].numbers[0];
        }
    }
    small_model_node(&m, "Identity", "action", names[i], NULL, NULL);
    expect(&m, why, weights, actions);
}

static void
test_models_of_one_observation_move_the_axis_of_the_batch(void **state)
{
    (void)state;
    static const struct {
        move moves[5];
        bool has_axis;
        const char *why;
        float weights[4];
        uint32_t actions;
    } cases[] = {
        {{{"Unsqueeze", NULL, {0}, 1}, {"Squeeze", NULL, {0}, 1}}, false, NULL, {1, 2, 3}, 3},
        {{{"Unsqueeze", "axes", {0}, 1}, {"Squeeze", NULL, {0}, 0}}, false, NULL, {1, 2, 3}, 3},
        {{{"Reshape", NULL, {1, -1}, 2}, {"Reshape", NULL, {-1}, 1}}, false, NULL, {1, 2, 3}, 3},
        {{{"Flatten", "axis", {0}, 1}, {"Softmax", "axis", {1}, 1}}, false, NULL, {1, 2, 3}, 3},
        {{{"Flatten", NULL, {0}, 0}, {"Transpose", "perm", {1, 0}, 2}}, false, NULL, {1, 2, 3}, 3},
        {{{"Transpose", NULL, {0}, 0}}, false, NULL, {1, 2, 3}, 3},
        {{{"Gather", NULL, {2, 0, -2, 2}, 4}}, false, NULL, {3, 1, 2, 3}, 4},
        {{{"Gather", NULL, {2, 0}, 2}}, false, NULL, {3, 1}, 2},
        {{{"Gather", NULL, {3}, 1}}, false, "its index is outside", {0}, 0},
        {{{"Gather", NULL, {-4}, 1}}, false, "its index is outside", {0}, 0},
        {{{"Squeeze", NULL, {0}, 1}, {"Gather", NULL, {1, 2}, 2}}, true, NULL, {2, 3}, 2},
        {{{"Reshape", NULL, {3}, 1}}, true, NULL, {1, 2, 3}, 3},
        {{{"Reshape", NULL, {-1, 0}, 2}}, true, NULL, {1, 2, 3}, 3},
        {{{"Transpose", "perm", {1, 0}, 2}, {"Reshape", NULL, {3}, 1}}, true, NULL, {1, 2, 3}, 3},
        {{{"Transpose", "perm", {1, 0}, 2}, {"Squeeze", NULL, {0}, 1}},
         true,
         "it removes an axis of more than one number",
         {0},
         0},
        {{{"Reshape", NULL, {2, 2}, 2}}, true, "it changes how many numbers", {0}, 0},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        moves_expect(cases[i].moves, cases[i].has_axis, cases[i].why, cases[i].weights,
                     cases[i].actions);
    }
}

// x[1], x[2], x[0] of a row, one by one, and beside each other again; -1 of a range with step -1.
static void
test_numbers_are_taken_one_by_one_and_in_steps(void **state)
{
    (void)state;
    static const float turned[] = {2, 3, 1}, reversed[] = {3, 1};
    static const int64_t at[] = {1, 2, 0}, zero[] = {0}, one[] = {1}, last[] = {-1}, end[] = {-9},
                         step[] = {-2};
    static char parts[][4] = {"p0", "p1", "p2"}, rows[][4] = {"r0", "r1", "r2"};
    for (int64_t batch = 0; batch < 2; batch++) { // 1: of any size
        small_model m;
        begin(&m);
        m.input.rank = batch == 1 ? 2 : 1;
        m.input.dims[0] = batch == 1 ? -1 : 3;
        small_model_list(&m, "axis", batch == 1 ? one : zero, 1);
        small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
        for (size_t i = 0; i < 3; i++) {
            small_model_list(&m, parts[i], &at[i], 1);
            m.tensors[m.model.tensor_count - 1].rank = 0;
            small_model_node(&m, "Gather", rows[i], "x", parts[i], NULL);
            small_model_ints(&m, "axis", NULL, 0);
            m.attributes[m.model.node_count - 1].i = batch;
            small_model_node(&m, "Unsqueeze",
                             i == 0   ? "u0"
                             : i == 1 ? "u1"
                                      : "u2",
                             rows[i], "axis", NULL);
        }
        small_model_node(&m, "Concat", "action", "u0", "u1", "u2");
        small_model_ints(&m, "axis", NULL, 0);
        m.attributes[m.model.node_count - 1].i = batch;
        expect(&m, NULL, turned, 3);
        m.model.node_count = 1;
        small_model_list(&m, "last", last, 1);
        small_model_list(&m, "end", end, 1);
        small_model_list(&m, "step", step, 1);
        small_model_node(&m, "Slice", "action", "x", "last", "end");
        small_model_input(&m, "axis");
        small_model_input(&m, "step");
        expect(&m, NULL, reversed, 2);
    }
}

// W obs, of a model without a batch; and rows that have one more axis.
static void
test_rows_may_be_columns_or_have_axes_of_one_number(void **state)
{
    (void)state;
    static const float rows[] = {1, 4, 7}, columns[] = {1, 2, 3};
    static const int64_t one[] = {1};
    small_model m;
    begin(&m);
    small_model_node(&m, "MatMul", "action", "W", "obs", NULL);
    expect(&m, "constant weights only", NULL, 0);
    m.input.rank = 1;
    m.input.dims[0] = 3;
    expect(&m, NULL, rows, 3);
    begin(&m);
    small_model_list(&m, "1", one, 1);
    small_model_node(&m, "Unsqueeze", "x", "obs", "1", NULL);
    small_model_node(&m, "MatMul", "y", "x", "W", NULL);
    small_model_node(&m, "Squeeze", "action", "y", "1", NULL);
    expect(&m, NULL, columns, 3);
}

// A map without the axis of a batch, as the caller knows; the model adds the axis.
static void
test_a_map_of_a_known_shape_has_no_batch(void **state)
{
    (void)state;
    static const int64_t zero[] = {0};
    static const float kernel[] = {2, 3, 4, 5, 6, 7, 8, 9};
    for (uint32_t is_known = 0; is_known < 2; is_known++) {
        small_model m;
        small_model_begin(&m, 2);
        m.input.rank = 3;
        m.input.dims[0] = m.input.dims[1] = m.input.dims[2] = 2;
        small_model_tensor(&m, "kernel", 2, 4, kernel); // two channels, one filter
        m.tensors[0].rank = 4;
        m.tensors[0].dims[0] = 1;
        m.tensors[0].dims[1] = m.tensors[0].dims[2] = m.tensors[0].dims[3] = 2;
        small_model_list(&m, "0", zero, 1);
        small_model_node(&m, "Unsqueeze", "map", "obs", "0", NULL);
        small_model_node(&m, "Conv", "h", "map", "kernel", NULL);
        small_model_node(&m, "Flatten", "action", "h", NULL, NULL);
        oct_reason why = {""};
        import_graph *graph;
        import_result result = {0};
        import_request request = {.env_id = "", .output = "action", .head = POLICY_HEAD_VALUES};
        request.action_kind = POLICY_DISCRETE;
        request.obs_rank = 3 * is_known;
        request.obs_shape[0] = request.obs_shape[1] = request.obs_shape[2] = 2;
        T_OK(import_graph_create(&graph, &m.model, NULL, request.obs_shape, request.obs_rank, NULL,
                                 &why));
        oct_err err = import_policy_make(&result, &m.model, graph, &request, &why);
        assert_int_equal(err == OCT_OK, is_known);
        assert_int_equal(strstr(why.text, "--obs-shape names the whole") != NULL, !is_known);
        if (is_known) {
            assert_true(result.channels_first);
            T_NEAR(result.image->weights[0][1], kernel[4], 0.0, 0.0);
        }
        import_policy_free(&result);
        import_graph_destroy(graph);
    }
}

static void
test_only_axes_of_one_number_are_removed(void **state)
{
    (void)state;
    static const float column[] = {2, 4, 6};
    static const int64_t one[] = {1};
    small_model m;
    begin(&m);
    small_model_tensor(&m, "column", 3, 1, column);
    small_model_list(&m, "1", one, 1);
    small_model_node(&m, "MatMul", "x", "obs", "column", NULL);
    small_model_node(&m, "Squeeze", "action", "x", "1", NULL);
    expect(&m, NULL, column, 1);
    m.inputs[0][1] = (char *)(uintptr_t) "W";
    expect(&m, "it removes an axis of more than one number", NULL, 0);
}

// Four of the five numbers of an observation, as a map of 2 x 2.
static void
test_a_map_is_all_of_the_numbers_before_it(void **state)
{
    (void)state;
    static const int64_t zero[] = {0}, four[] = {4}, one[] = {1}, shape[] = {-1, 1, 2, 2};
    static const float kernel[] = {2, 2, 2, 2};
    for (uint32_t i = 0; i < 2; i++) {
        small_model m;
        small_model_begin(&m, 4 + i);
        small_model_tensor(&m, "kernel", 1, 4, kernel);
        m.tensors[0].rank = 4;
        m.tensors[0].dims[1] = 1;
        m.tensors[0].dims[2] = m.tensors[0].dims[3] = 2;
        small_model_list(&m, "0", zero, 1);
        small_model_list(&m, "4", four, 1);
        small_model_list(&m, "1", one, 1);
        small_model_list(&m, "shape", shape, 4);
        small_model_node(&m, "Slice", "part", "obs", "0", "4");
        small_model_input(&m, "1");
        small_model_node(&m, "Reshape", "map", "part", "shape", NULL);
        small_model_node(&m, "Conv", "h", "map", "kernel", NULL);
        small_model_node(&m, "Flatten", "action", "h", NULL, NULL);
        expect(&m,
               i == 0 ? NULL
                      : "node 'h' (Conv): its map is a part of the numbers before it, but policies "
                        "support it on all",
               kernel, 1);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_of_a_split_are_those_of_the_row),
        cmocka_unit_test(test_sizes_of_a_split_are_constant_whole_numbers),
        cmocka_unit_test(test_a_shape_keeps_the_batch),
        cmocka_unit_test(test_a_shape_is_of_as_many_numbers),
        cmocka_unit_test(test_a_size_is_taken_from_both_ends),
        cmocka_unit_test(test_a_slice_of_a_map_may_be_a_part),
        cmocka_unit_test(test_models_of_one_observation_move_the_axis_of_the_batch),
        cmocka_unit_test(test_numbers_are_taken_one_by_one_and_in_steps),
        cmocka_unit_test(test_rows_may_be_columns_or_have_axes_of_one_number),
        cmocka_unit_test(test_a_map_of_a_known_shape_has_no_batch),
        cmocka_unit_test(test_only_axes_of_one_number_are_removed),
        cmocka_unit_test(test_a_map_is_all_of_the_numbers_before_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
