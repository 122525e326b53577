// Constants of a model keep the shapes that ONNX gives them: what is beside a value decides along
// which of its axes they lie.
#include <stdlib.h>

#include "common/oct_reason.h"
#include "tests/policy/import/small_model.h"

static const float numbers[] = {1, 2, 3};
static const int64_t sizes[] = {4, 5, 6};

// With a map "obs" of three channels, rows and columns.
static void
begin(small_model *m)
{
    small_model_begin(m, 27);
    m->input.rank = 4;
    m->input.dims[1] = m->input.dims[2] = m->input.dims[3] = 3;
    small_model_tensor(m, "c", 0, 3, numbers);
}

// A tensor of three numbers with ones around them.
static void
tensor_of_rank_3(small_model *m, const char *name, uint32_t first, uint32_t second, uint32_t third)
{
    small_model_tensor(m, name, 0, first * second * third, numbers);
    import_tensor *made = &m->tensors[m->model.tensor_count - 1];
    made->rank = 3;
    made->dims[0] = first;
    made->dims[1] = second;
    made->dims[2] = third;
}

static import_graph *
graph_of(const small_model *m)
{
    oct_reason why = {""};
    import_graph *graph;
    T_OK(import_graph_create(&graph, &m->model, NULL, NULL, 0, NULL, &why));
    return graph;
}

static const import_tensor *
constant_of(const import_graph *graph, const char *name)
{
    oct_reason why = {""};
    const import_step *step;
    const import_tensor *constant = NULL;
    oct_err err = import_graph_value(graph, name, &step, &constant, &why);
    assert_string_equal(why.text, "");
    T_OK(err);
    assert_non_null(constant);
    return constant;
}

static const import_step *
step_of(const import_graph *graph, const char *name)
{
    oct_reason why = {""};
    const import_step *step;
    const import_tensor *constant;
    oct_err err = import_graph_value(graph, name, &step, &constant, &why);
    assert_string_equal(why.text, "");
    T_OK(err);
    assert_non_null(step);
    return step;
}

static void
refused(const small_model *m, const char *name, const char *words)
{
    oct_reason why = {""};
    const import_step *step;
    const import_tensor *constant;
    import_graph *graph = graph_of(m);
    oct_err err = import_graph_value(graph, name, &step, &constant, &why);
    if (err == OCT_OK || strstr(why.text, words) == NULL) {
        fail_msg("'%s' has no '%s'", why.text, words);
    }
    import_graph_destroy(graph);
}

static void
expect_shape(const import_tensor *t, const uint32_t *dims, uint32_t rank)
{
    assert_int_equal(t->rank, rank);
    for (uint32_t i = 0; i < rank; i++) {
        assert_int_equal(t->dims[i], dims[i]);
    }
}

// ---- axes

typedef struct axes_case {
    const char *op;
    uint32_t from[3]; // a shape, up to the first 0
    int64_t axes[3];
    size_t axis_count;
    uint32_t want[4]; // a shape as above
    const char *why;  // NULL: it fits
} axes_case;

static uint32_t
rank_of(const uint32_t *dims, uint32_t most)
{
    uint32_t rank = 0;
    while (rank < most && dims[rank] > 0) {
        rank++;
    }
    return rank;
}

// x = the operation on "x0"; the axes are an attribute or a second input.
static void
axes_model(small_model *m, const axes_case *c, bool is_input)
{
    begin(m);
    uint32_t rank = rank_of(c->from, 3);
    small_model_tensor(m, "x0", 0, 3, numbers);
    import_tensor *made = &m->tensors[m->model.tensor_count - 1];
    made->rank = rank;
    memcpy(made->dims, c->from, sizeof(c->from));
    small_model_list(m, "axes", c->axes, c->axis_count);
    small_model_node(m, c->op, "x", "x0", is_input ? "axes" : NULL, NULL);
    if (!is_input) {
        small_model_ints(m, "axes", c->axes, c->axis_count);
    }
}

static void
test_axes_of_length_1_are_inserted_and_removed(void **state)
{
    (void)state;
    static const char outside[] = "an axis that its input does not have",
                      twice[] = "one axis twice", not_1[] = "an axis of more than one number";
    static const axes_case cases[] = {
        {"Unsqueeze", {3}, {0}, 1, {1, 3}, NULL},
        {"Unsqueeze", {3}, {1}, 1, {3, 1}, NULL},
        {"Unsqueeze", {3}, {-1}, 1, {3, 1}, NULL},
        {"Unsqueeze", {3}, {-2}, 1, {1, 3}, NULL},
        {"Unsqueeze", {3, 1}, {2}, 1, {3, 1, 1}, NULL},
        {"Unsqueeze", {3}, {1, 2}, 2, {3, 1, 1}, NULL},
        {"Unsqueeze", {3}, {-1, 0}, 2, {1, 3, 1}, NULL},
        {"Squeeze", {1, 3}, {0}, 1, {3}, NULL},
        {"Squeeze", {1, 3, 1}, {-1}, 1, {1, 3}, NULL},
        {"Squeeze", {1, 3, 1}, {0, 2}, 2, {3}, NULL},
        {"Squeeze", {3, 1, 1}, {1}, 1, {3, 1}, NULL},
        {"Unsqueeze", {3}, {2}, 1, {0}, outside},
        {"Unsqueeze", {3}, {-3}, 1, {0}, outside},
        {"Unsqueeze", {3}, {1, -2}, 2, {0}, twice},
        {"Squeeze", {3, 1}, {2}, 1, {0}, outside},
        {"Squeeze", {3, 1}, {-3}, 1, {0}, outside},
        {"Squeeze", {3, 1}, {1, -1}, 2, {0}, twice},
        {"Squeeze", {3, 1}, {0}, 1, {0}, not_1},
    };
    for (size_t i = 0; i < 2 * OCT_COUNTOF(cases); i++) {
        const axes_case *c = &cases[i / 2];
        small_model m;
        axes_model(&m, c, i % 2 == 1);
        if (c->why != NULL) {
            refused(&m, "x", c->why);
            continue;
        }
        import_graph *graph = graph_of(&m);
        const import_tensor *x = constant_of(graph, "x");
        expect_shape(x, c->want, rank_of(c->want, 4));
        assert_int_equal(x->count, 3);
        assert_memory_equal(x->floats, numbers, sizeof(numbers));
        import_graph_destroy(graph);
    }
}

static void
test_a_constant_has_no_more_axes_than_tensors_may(void **state)
{
    (void)state;
    static const int64_t axes[] = {1, 2, 3, 4, 5, 6, 7, 8};
    small_model m;
    begin(&m);
    small_model_node(&m, "Unsqueeze", "x", "c", NULL, NULL);
    small_model_ints(&m, "axes", axes, 8);
    refused(&m, "x", "more axes than");
    begin(&m);
    small_model_node(&m, "Unsqueeze", "x", "c", NULL, NULL);
    small_model_ints(&m, "axes", axes, 7);
    import_graph *graph = graph_of(&m);
    assert_int_equal(constant_of(graph, "x")->rank, 8);
    import_graph_destroy(graph);
}

// As PyTorch writes mean[:, None, None].
static void
test_numbers_of_channels_lie_along_the_channels(void **state)
{
    (void)state;
    static const int64_t first[] = {1}, second[] = {2};
    small_model m;
    begin(&m);
    small_model_list(&m, "1", first, 1);
    small_model_list(&m, "2", second, 1);
    small_model_node(&m, "Unsqueeze", "column", "c", "1", NULL);
    small_model_node(&m, "Unsqueeze", "channels", "column", "2", NULL);
    small_model_node(&m, "Add", "x", "obs", "channels", NULL);
    import_graph *graph = graph_of(&m);
    const import_step *step = step_of(graph, "x");
    for (size_t i = 0; i < 27; i++) {
        T_NEAR(step->b[i], (double)numbers[i / 9], 0, 0);
    }
    import_graph_destroy(graph);
}

// What one size of a list is: no list, until an axis is inserted.
static void
test_sizes_that_a_model_computes_make_a_shape(void **state)
{
    (void)state;
    static const int64_t zero[] = {0}, rest[] = {-1}, one[] = {1}, two[] = {2};
    small_model m;
    begin(&m);
    small_model_list(&m, "at", zero, 1);
    m.tensors[m.model.tensor_count - 1].rank = 0;
    small_model_list(&m, "0", zero, 1);
    small_model_list(&m, "1", one, 1);
    small_model_list(&m, "2", two, 1);
    small_model_list(&m, "-1", rest, 1);
    small_model_node(&m, "Shape", "shape", "obs", NULL, NULL);
    small_model_node(&m, "Gather", "batch", "shape", "at", NULL);
    small_model_node(&m, "Unsqueeze", "batches", "batch", "0", NULL);
    small_model_node(&m, "Slice", "part", "shape", "1", "2");
    small_model_node(&m, "Squeeze", "channels", "part", "0", NULL);
    small_model_node(&m, "Concat", "to", "batches", "-1", NULL);
    small_model_node(&m, "Reshape", "x", "obs", "to", NULL);
    import_graph *graph = graph_of(&m);
    assert_int_equal(constant_of(graph, "batch")->rank, 0);
    assert_int_equal(constant_of(graph, "batches")->rank, 1);
    assert_int_equal(constant_of(graph, "channels")->rank, 0);
    assert_int_equal(constant_of(graph, "channels")->integers[0], 3);
    assert_int_equal(step_of(graph, "x")->rank, 1);
    assert_int_equal(step_of(graph, "x")->count, 27);
    import_graph_destroy(graph);
}

static void
test_a_part_of_a_shape_is_what_its_attributes_say(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t at;
        size_t count;
        int64_t first;
    } cases[] = {{"start", 1, 3, 3},
                 {"start", -1, 1, 3},
                 {"end", 1, 1, INT64_MIN},
                 {"end", -3, 1, INT64_MIN},
                 {"end", 9, 4, INT64_MIN}};
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        small_model m;
        begin(&m);
        small_model_node(&m, "Shape", "shape", "obs", NULL, NULL);
        small_model_ints(&m, cases[i].name, NULL, 0);
        m.attributes[0].i = cases[i].at;
        import_graph *graph = graph_of(&m);
        const import_tensor *shape = constant_of(graph, "shape");
        assert_int_equal(shape->count, cases[i].count);
        assert_true(shape->integers[0] == cases[i].first);
        import_graph_destroy(graph);
    }
    small_model m;
    begin(&m);
    small_model_node(&m, "Shape", "shape", "obs", NULL, NULL);
    small_model_ints(&m, "start", NULL, 0);
    m.attributes[0].i = 4;
    refused(&m, "shape", "it selects nothing of the shape");
}

// y = numbers first to end of a list of three, x those of an observation of three.
static void
slice_model(small_model *m, const int64_t *first, const int64_t *end)
{
    static const int64_t one[] = {1};
    small_model_begin(m, 3);
    small_model_list(m, "first", first, 1);
    small_model_list(m, "end", end, 1);
    small_model_list(m, "list", sizes, 3);
    small_model_list(m, "1", one, 1);
    small_model_node(m, "Slice", "x", "obs", "first", "end");
    small_model_input(m, "1");
    small_model_node(m, "Slice", "y", "list", "first", "end");
}

static void
test_a_range_stops_at_both_ends(void **state)
{
    (void)state;
    static const struct {
        int64_t first, end;
        uint32_t at, count; // count 0: refused
    } cases[] = {
        {0, 3, 0, 3},    {-2, -1, 1, 1},          {-100, 2, 0, 2}, {INT64_MIN + 1, INT64_MAX, 0, 3},
        {1, 100, 1, 2},  {-1, INT64_MAX, 2, 1},   {2, 2, 0, 0},    {100, INT64_MAX, 0, 0},
        {0, -100, 0, 0}, {0, INT64_MIN + 1, 0, 0}};
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        int64_t first = cases[i].first, end = cases[i].end;
        small_model m;
        slice_model(&m, &first, &end);
        if (cases[i].count == 0) {
            refused(&m, "x", "it selects nothing of the row");
            refused(&m, "y", "it selects nothing, or");
            continue;
        }
        import_graph *graph = graph_of(&m);
        assert_int_equal(step_of(graph, "x")->count, cases[i].count);
        const import_step *x = step_of(graph, "x"); // the observation itself where it is whole
        assert_int_equal(x->order != NULL ? x->order[0] : 0, cases[i].at);
        assert_int_equal(constant_of(graph, "y")->count, cases[i].count);
        assert_int_equal(constant_of(graph, "y")->integers[0], sizes[cases[i].at]);
        import_graph_destroy(graph);
    }
    // A model that takes the batch's size for one.
    int64_t zero[] = {0}, end[] = {3};
    small_model m;
    slice_model(&m, zero, end);
    small_model_node(&m, "Shape", "shape", "obs", NULL, NULL);
    small_model_node(&m, "Slice", "batch", "shape", "first", "1");
    small_model_node(&m, "Slice", "z", "obs", "batch", "end");
    small_model_input(&m, "1");
    refused(&m, "z", "constant range");
}

// A constant that is repeated for each row of a batch has the batch's axis, too.
static void
test_a_constant_that_is_expanded_has_the_shape_that_it_is_expanded_to(void **state)
{
    (void)state;
    static const int64_t one[] = {1}, shape[] = {2, 3}, wrong[] = {3, 4};
    static const float want[] = {1, 2, 3, 1, 2, 3};
    small_model m;
    begin(&m);
    small_model_list(&m, "1", one, 1);
    small_model_list(&m, "3", &(const int64_t){3}, 1);
    small_model_list(&m, "shape", shape, 2);
    small_model_node(&m, "Shape", "all", "obs", NULL, NULL);
    small_model_node(&m, "Gather", "batch", "all", "0", NULL);
    small_model_list(&m, "0", &(const int64_t){0}, 1);
    small_model_node(&m, "Concat", "rows", "batch", "3", NULL);
    small_model_node(&m, "Expand", "x", "c", "rows", NULL);
    small_model_node(&m, "Unsqueeze", "y", "x", "1", NULL);
    small_model_node(&m, "Expand", "z", "c", "shape", NULL);
    import_graph *graph = graph_of(&m);
    expect_shape(constant_of(graph, "x"), (const uint32_t[]){1, 3}, 2);
    expect_shape(constant_of(graph, "y"), (const uint32_t[]){1, 1, 3}, 3);
    expect_shape(constant_of(graph, "z"), (const uint32_t[]){2, 3}, 2);
    assert_memory_equal(constant_of(graph, "z")->floats, want, sizeof(want));
    import_graph_destroy(graph);
    begin(&m);
    small_model_list(&m, "wrong", wrong, 2);
    small_model_node(&m, "Expand", "x", "c", "wrong", NULL);
    refused(&m, "x", "a shape that does not fit");
    begin(&m);
    small_model_list(&m, "sizes", sizes, 3);
    small_model_list(&m, "shape", shape, 2);
    small_model_node(&m, "Expand", "x", "sizes", "shape", NULL);
    refused(&m, "x", "for constant floats");
}

// ---- arithmetic

static void
test_two_constants_are_repeated_against_each_other(void **state)
{
    (void)state;
    small_model m;
    begin(&m);
    tensor_of_rank_3(&m, "a", 3, 1, 1);
    tensor_of_rank_3(&m, "b", 1, 1, 3);
    tensor_of_rank_3(&m, "one", 1, 1, 1);
    small_model_node(&m, "Add", "sum", "a", "b", NULL);
    small_model_node(&m, "Mul", "product", "sum", "c", NULL);
    small_model_node(&m, "Sub", "ranks", "c", "one", NULL);
    small_model_node(&m, "Add", "x", "obs", "sum", NULL);
    import_graph *graph = graph_of(&m);
    const import_tensor *sum = constant_of(graph, "sum"), *product = constant_of(graph, "product");
    expect_shape(sum, (const uint32_t[]){3, 1, 3}, 3);
    expect_shape(product, (const uint32_t[]){3, 1, 3}, 3);
    for (size_t i = 0; i < 9; i++) {
        float want = numbers[i / 3] + numbers[i % 3];
        T_NEAR((double)sum->floats[i], (double)want, 0, 0);
        T_NEAR((double)product->floats[i], (double)(want * numbers[i % 3]), 0, 0);
    }
    expect_shape(constant_of(graph, "ranks"), (const uint32_t[]){1, 1, 3}, 3);
    T_NEAR((double)constant_of(graph, "ranks")->floats[2], 2, 0, 0);
    const import_step *step = step_of(graph, "x");
    for (size_t i = 0; i < 27; i++) {
        T_NEAR(step->b[i], (double)(numbers[i / 9] + numbers[i % 3]), 0, 0);
    }
    import_graph_destroy(graph);
}

static void
cast_add(small_model *m, const char *output, const char *from)
{
    small_model_node(m, "Cast", output, from, NULL, NULL);
    small_model_ints(m, "to", NULL, 0);
    m->attributes[m->model.node_count - 1].i = 1;
}

static void
test_whole_numbers_become_floats_where_a_model_says_so(void **state)
{
    (void)state;
    static const int64_t wide[] = {-1, (1 << 24) + 1, 3}, zero[] = {0};
    small_model m;
    begin(&m);
    small_model_list(&m, "wide", wide, 3);
    cast_add(&m, "floats", "wide");
    small_model_node(&m, "Add", "sum", "floats", "c", NULL);
    small_model_node(&m, "Mul", "x", "obs", "floats", NULL);
    import_graph *graph = graph_of(&m);
    static const float want[] = {0, (1 << 24) + 2, 6};
    assert_memory_equal(constant_of(graph, "sum")->floats, want, sizeof(want));
    T_NEAR(step_of(graph, "x")->a[1], 1 << 24, 0, 0);
    import_graph_destroy(graph);
    begin(&m);
    small_model_list(&m, "0", zero, 1);
    small_model_node(&m, "Shape", "shape", "obs", NULL, NULL);
    small_model_node(&m, "Gather", "batch", "shape", "0", NULL);
    cast_add(&m, "rows", "batch");
    small_model_node(&m, "Div", "x", "obs", "rows", NULL);
    refused(&m, "x", "the size of the batch");
}

static void
test_constants_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const char words[] =
        "it takes constants that are not floats, or whose shapes do not fit";
    small_model m;
    begin(&m);
    small_model_tensor(&m, "two", 0, 2, numbers);
    small_model_node(&m, "Add", "x", "c", "two", NULL);
    refused(&m, "x", words);
    begin(&m);
    small_model_list(&m, "sizes", sizes, 3);
    small_model_node(&m, "Add", "x", "c", "sizes", NULL);
    refused(&m, "x", words);
    // More than any value has.
    enum { MANY = 300 };
    float *many = oct_alloc(MANY * sizeof(float));
    begin(&m);
    small_model_tensor(&m, "row", 1, MANY, many);
    small_model_tensor(&m, "column", MANY, 1, many);
    small_model_node(&m, "Add", "x", "row", "column", NULL);
    refused(&m, "x", words);
    free(many);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_axes_of_length_1_are_inserted_and_removed),
        cmocka_unit_test(test_a_constant_has_no_more_axes_than_tensors_may),
        cmocka_unit_test(test_numbers_of_channels_lie_along_the_channels),
        cmocka_unit_test(test_sizes_that_a_model_computes_make_a_shape),
        cmocka_unit_test(test_a_part_of_a_shape_is_what_its_attributes_say),
        cmocka_unit_test(test_a_range_stops_at_both_ends),
        cmocka_unit_test(test_a_constant_that_is_expanded_has_the_shape_that_it_is_expanded_to),
        cmocka_unit_test(test_two_constants_are_repeated_against_each_other),
        cmocka_unit_test(test_whole_numbers_become_floats_where_a_model_says_so),
        cmocka_unit_test(test_constants_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
