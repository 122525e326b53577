// Models made node by node: deviations beside the means, clips at both ends, constants that are
// turned, and a policy beyond what a file holds.
#include "common/oct_reason.h"
#include "policy/policy_draw.h"
#include "tests/policy/import/layers_model.h"

// How many notes its import leaves, and the last one.
static uint32_t
notes_of(const small_model *m, const import_request *request, char last[IMPORT_NOTE_SIZE])
{
    oct_reason why = {""};
    import_graph *graph;
    import_result result;
    oct_err err = small_model_import(m, request, &graph, &result, &why);
    assert_string_equal(why.text, "");
    T_OK(err);
    uint32_t count = result.note_count;
    (void)snprintf(last, IMPORT_NOTE_SIZE, "%s", count > 0 ? result.notes[count - 1] : "");
    import_policy_free(&result);
    import_graph_destroy(graph);
    return count;
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
    refused(&m, &request, "log deviations and means are computed by different layers");
}

// The actions' bounds are [-half, half], and log deviations are clipped to [low, 2] by the model,
// or not at all where low is NULL.
static void
clipped_deviations_begin(small_model *m, import_request *request, const char *low, float half)
{
    static const float minus_twenties[] = {-20, -20, -20}, minus_fives[] = {-5, -5, -5};
    begin(m);
    small_model_tensor(m, "-twenties", 0, 3, minus_twenties);
    small_model_tensor(m, "-fives", 0, 3, minus_fives);
    small_model_node(m, "MatMul", "action", "obs", "W", NULL);
    small_model_node(m, "MatMul", low != NULL ? "deviation" : "log_std", "obs", "W", NULL);
    if (low != NULL) {
        small_model_node(m, "Clip", "log_std", "deviation", low, "twos");
    }
    *request = request_box();
    request->low[0] = -half;
    request->high[0] = half;
    request->log_std = "log_std";
}

// The policy's are clipped to [-20, 2] for actions in [-1, 1], the model's for its own.
static void
test_deviations_that_the_model_clips_elsewhere_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *low;
        float half;
        const char *words; // NULL: it is taken
    } cases[] = {
        {"-twenties", 1, NULL},
        {"-twenties", 0.5f, NULL}, // e^-19.3 is nothing
        {"-hundreds", 0.001f, NULL},
        {NULL, 100, NULL},
        {"-twenties", 100,
         "'log_std' is clipped to [-20, 2], which is [-24.6, -2.61] for action 0 in [-1, 1]; "
         "policies clip log deviations to [-20, 2] there"},
        {"-twenties", 0.01f, "which is [-15.4, 6.61] for action 0"},
        {"-fives", 1, "which is [-5, 2] for action 0"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        small_model m;
        import_request request;
        clipped_deviations_begin(&m, &request, cases[i].low, cases[i].half);
        if (cases[i].words != NULL) {
            refused(&m, &request, cases[i].words);
        } else {
            char notes[IMPORT_NOTE_SIZE];
            (void)notes_of(&m, &request, notes);
        }
    }
}

static void
test_deviations_above_those_of_policies_are_noted(void **state)
{
    (void)state;
    static const char higher[] =
        "policies clip log deviations at 2 for actions in [-1, 1]; the model clips them at a "
        "higher value, so its samples spread wider there";
    static const char never[] = "policies clip log deviations at 2 for actions in [-1, 1]; the "
                                "model does not clip them, so its samples spread wider there";
    static const char above[] = "policies limit log deviations to 2 for actions in [-1, 1]; the "
                                "model's are higher, so its samples spread wider";
    char notes[IMPORT_NOTE_SIZE];
    small_model m;
    import_request request;
    clipped_deviations_begin(&m, &request, "-twenties", 1);
    assert_int_equal(notes_of(&m, &request, notes), 0);
    clipped_deviations_begin(&m, &request, "-twenties", 0.5f);
    assert_int_equal(notes_of(&m, &request, notes), 1);
    assert_string_equal(notes, higher);
    clipped_deviations_begin(&m, &request, NULL, 1);
    assert_int_equal(notes_of(&m, &request, notes), 1);
    assert_string_equal(notes, never);
    // Constants of 0.1, which become 1.997 and 2.03.
    request.log_std = "tenths";
    request.low[0] = -0.15f;
    request.high[0] = 0.15f;
    assert_int_equal(notes_of(&m, &request, notes), 0);
    request.low[0] = -0.145f;
    request.high[0] = 0.145f;
    assert_int_equal(notes_of(&m, &request, notes), 1);
    assert_string_equal(notes, above);
}

// ---- clips

static void
test_clips_at_the_end_are_one(void **state)
{
    (void)state;
    static const float obs[] = {0, 0, 0, 0.01f, -0.02f, 0.03f, 5, 5, 5, -5, -5, -5};
    small_model m;
    policy_spec spec;
    begin(&m);
    small_model_node(&m, "MatMul", "y", "obs", "W", NULL);
    small_model_node(&m, "Max", "low", "y", "-ones", NULL);
    small_model_node(&m, "Min", "high", "low", "twos", NULL);
    small_model_node(&m, "Clip", "action", "high", "-hundreds", "steps");
    import_parity parity = parity_of(&m, obs, 4, &spec);
    T_NEAR(parity.max_abs, 0, 1e-6, 0);
    T_NEAR((double)spec.action_low[0], -1, 0, 0);
    T_NEAR((double)spec.action_high[0], 1, 0, 0);
    T_NEAR((double)spec.action_high[2], 2, 0, 0);
}

// The numbers of four rows that either clip changes: none, by the first, by the second, by both.
static void
test_each_clip_of_observations_counts(void **state)
{
    (void)state;
    static const float rows[] = {0.05f, 0.05f, 0.05f, 0.5f, 0, 0, 0, 0, -101, 0.5f, 0, -101};
    small_model m;
    policy_spec spec;
    begin(&m);
    small_model_node(&m, "Min", "high", "obs", "tenths", NULL);
    small_model_node(&m, "Max", "x", "high", "-hundreds", NULL);
    small_model_node(&m, "MatMul", "action", "x", "W", NULL);
    T_NEAR(parity_of(&m, rows, 4, &spec).clipped, 0.75, 0, 0);
    // With the normalisation between them.
    begin(&m);
    small_model_node(&m, "Min", "high", "obs", "tenths", NULL);
    small_model_node(&m, "Div", "divided", "high", "steps", NULL);
    small_model_node(&m, "Max", "x", "divided", "-hundreds", NULL);
    small_model_node(&m, "MatMul", "action", "x", "W", NULL);
    static const float divided[] = {0.05f, 0.05f, 0.05f, 0.5f, 0, 0, 0, 0, -301, 0.5f, 0, -301};
    T_NEAR(parity_of(&m, divided, 4, &spec).clipped, 0.75, 0, 0);
}

// ---- constants

static void
test_a_constant_is_turned_as_its_perm_says(void **state)
{
    (void)state;
    static const int64_t as_it_is[] = {0, 1}, turned[] = {1, 0}, twice[] = {1, 1};
    static const struct {
        const int64_t *perm;
        float weight; // of output 0 and number 1
    } cases[] = {{as_it_is, 4}, {turned, 2}, {NULL, 2}};
    import_request request = request_box();
    oct_reason why = {""};
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        small_model m;
        import_graph *graph;
        import_result result;
        begin(&m);
        small_model_node(&m, "Transpose", "V", "W", NULL, NULL);
        if (cases[i].perm != NULL) {
            small_model_ints(&m, "perm", cases[i].perm, 2);
        }
        small_model_node(&m, "MatMul", "y", "obs", "V", NULL);
        small_model_node(&m, "Tanh", "action", "y", NULL, NULL);
        T_OK(small_model_import(&m, &request, &graph, &result, &why));
        T_NEAR((double)result.image->weights[0][1], (double)cases[i].weight, 0, 0);
        import_policy_free(&result);
        import_graph_destroy(graph);
    }
    small_model m;
    begin(&m);
    small_model_node(&m, "Transpose", "V", "W", NULL, NULL);
    small_model_ints(&m, "perm", twice, 2);
    small_model_node(&m, "MatMul", "action", "obs", "V", NULL);
    refused(&m, &request, "not an order of the axes");
}

// A shape that is part of a list, as exporters compute it: numbers 1 and 2 of {9, 0, 3}.
static void
test_a_constant_is_cut_along_its_axis_with_step_1(void **state)
{
    (void)state;
    static const int64_t list[] = {9, 0, 3}, zero[] = {0}, one[] = {1}, two[] = {2}, three[] = {3};
    static const int64_t zero_one[] = {0, 1};
    static const struct {
        const char *axes, *steps, *why;
    } cases[] = {{"zero", "one", NULL},
                 {"one", "one", "along the axis of a constant list"},
                 {"zero", "two", "with step 1"},
                 {"zero one", "one", "one for each axis"},
                 {"zero", "zero one", "one for each axis"},
                 {"zero", "obs", "one for each axis"}};
    import_request request = request_box();
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        small_model m;
        policy_spec spec;
        begin(&m);
        small_model_list(&m, "list", list, 3);
        small_model_list(&m, "zero", zero, 1);
        small_model_list(&m, "one", one, 1);
        small_model_list(&m, "two", two, 1);
        small_model_list(&m, "three", three, 1);
        small_model_list(&m, "zero one", zero_one, 2);
        small_model_node(&m, "Slice", "shape", "list", "one", "three");
        small_model_input(&m, cases[i].axes);
        small_model_input(&m, cases[i].steps);
        small_model_node(&m, "Reshape", "x", "obs", "shape", NULL);
        small_model_node(&m, "MatMul", "action", "x", "W", NULL);
        if (cases[i].why == NULL) {
            (void)parity_of(&m, minus_ones, 1, &spec);
        } else {
            refused(&m, &request, cases[i].why);
        }
    }
}

// ---- what is done to numbers before, between and behind layers

// Rows of observations that the policies of these tests are compared on.
// The last two of what "h" has.
static void
slice_add(small_model *m, const char *output)
{
    static const int64_t one[] = {1}, three[] = {3};
    small_model_list(m, "one", one, 1);
    small_model_list(m, "three", three, 1);
    small_model_node(m, "Slice", output, "h", "one", "three");
    small_model_input(m, "one");
}

static void
test_a_tanh_that_is_turned_has_its_bounds_in_order(void **state)
{
    (void)state;
    small_model m;
    begin(&m);
    static const float minus_twos[] = {-2, 2, -2};
    small_model_tensor(&m, "+-twos", 0, 3, minus_twos);
    small_model_node(&m, "MatMul", "h", "obs", "W", NULL);
    small_model_node(&m, "Mul", "small", "h", "tenths", NULL);
    small_model_node(&m, "Tanh", "t", "small", NULL, NULL);
    small_model_node(&m, "Mul", "action", "t", "+-twos", NULL);
    policy_spec spec = expect_alike(&m);
    assert_int_equal(spec.head, POLICY_HEAD_TANH);
    T_NEAR((double)spec.action_low[0], -2.0, 0.0, 0.0);
    T_NEAR((double)spec.action_high[0], 2.0, 0.0, 0.0);
}

static void
test_a_tanh_that_is_clipped_within_its_range_is_none(void **state)
{
    (void)state;
    small_model m;
    begin(&m);
    small_model_node(&m, "MatMul", "h", "obs", "W", NULL);
    small_model_node(&m, "Tanh", "t", "h", NULL, NULL);
    small_model_node(&m, "Clip", "action", "t", "-hundreds", "tenths");
    policy_spec spec = expect_alike(&m);
    assert_int_equal(spec.head, POLICY_HEAD_GAUSSIAN);
    T_NEAR((double)spec.action_high[0], (double)0.1f, 0.0, 0.0);
}

static void
test_rows_that_are_left_out_take_their_biases_along(void **state)
{
    (void)state;
    small_model m;
    begin(&m);
    small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
    small_model_node(&m, "Add", "h", "x", "steps", NULL);
    slice_add(&m, "action");
    assert_int_equal(expect_alike(&m).layer_count, 1);
}

// Its weights are divided by their spread: they are not what a factor behind it changes.
static void
test_what_follows_a_layer_norm_is_done_to_its_gain(void **state)
{
    (void)state;
    small_model m;
    begin(&m);
    small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
    small_model_node(&m, "LayerNormalization", "n", "x", "twos", "-ones");
    small_model_node(&m, "Mul", "scaled", "n", "steps", NULL);
    small_model_node(&m, "Clip", "action", "scaled", "-ones", "twos"); // not around 0
    assert_int_equal(expect_alike(&m).layer_count, 1);
    begin(&m);
    small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
    small_model_node(&m, "LayerNormalization", "h", "x", "twos", "steps");
    slice_add(&m, "action"); // of a whole that is normalised
    assert_int_equal(expect_alike(&m).layer_count, 2);
    begin(&m);
    small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
    small_model_node(&m, "LayerNormalization", "n", "x", "twos", "steps");
    small_model_node(&m, "Tanh", "action", "n", NULL, NULL);
    (void)expect_alike(&m);
}

// Divisors of normalisation are above 0.
static void
test_observations_that_are_turned_are_no_normalisation(void **state)
{
    (void)state;
    small_model m;
    static const float turned[] = {1, -2, 3};
    begin(&m);
    small_model_tensor(&m, "turned", 0, 3, turned);
    small_model_node(&m, "Mul", "x", "obs", "turned", NULL);
    small_model_node(&m, "MatMul", "action", "x", "W", NULL);
    assert_false(expect_alike(&m).normalise);
}

static void
test_steps_in_an_order_that_policies_lack_are_refused(void **state)
{
    (void)state;
    small_model m;
    import_request request = request_box();
    begin(&m);
    small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
    small_model_node(&m, "Clip", "c", "x", "-ones", "twos");
    small_model_node(&m, "MatMul", "action", "c", "W", NULL);
    refused(&m, &request, "it follows a clip");
    begin(&m);
    small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
    small_model_node(&m, "Tanh", "t", "x", NULL, NULL);
    small_model_node(&m, "Relu", "action", "t", NULL, NULL);
    refused(&m, &request, "activations after a layer only");
    begin(&m);
    static const float pair[] = {1, 2};
    small_model_tensor(&m, "pair", 0, 2, pair);
    small_model_node(&m, "MatMul", "h", "obs", "W", NULL);
    slice_add(&m, "part");
    small_model_node(&m, "LayerNormalization", "action", "part", "pair", "pair");
    (void)expect_alike(&m);
    begin(&m);
    small_model_node(&m, "MatMul", "action", "obs", "W", NULL);
    request.bound_count = 2;
    refused(&m, &request, "has 3 numbers, but there are bounds for 2 actions");
    small_model_node(&m, "Clip", "values", "action", "-ones", "twos");
    request = (import_request){.env_id = "", .output = "values", .action_count = 3};
    refused(&m, &request, "clipped at the end");
}

// A layer and "h", a norm of what it gives.
static void
norm_begin(small_model *m)
{
    begin(m);
    small_model_node(m, "MatMul", "x", "obs", "W", NULL);
    small_model_node(m, "BatchNormalization", "h", "x", "twos", "-ones");
    small_model_input(m, "tenths");
    small_model_input(m, "steps");
}

static void
test_norms_of_the_batch_are_refused(void **state)
{
    (void)state;
    static const char words[] = "normalises by the batch, which policies do not; export";
    import_request request = request_box();
    small_model m;
    for (int64_t mode = 0; mode < 2; mode++) {
        norm_begin(&m);
        small_model_ints(&m, "training_mode", NULL, 0);
        m.attributes[1].i = mode;
        small_model_node(&m, "MatMul", "action", "h", "W", NULL);
        if (mode == 0) {
            (void)expect_alike(&m);
        } else {
            refused(&m, &request, words);
        }
    }
    // Before opset 14. One that is left out has the name "".
    for (size_t i = 0; i < 2; i++) {
        static char h[] = "h", none[] = "", mean[] = "mean";
        char *outputs[] = {h, i == 0 ? none : mean};
        norm_begin(&m);
        m.nodes[1].outputs = outputs;
        m.nodes[1].output_count = 2;
        small_model_node(&m, "MatMul", "action", "h", "W", NULL);
        if (i == 0) {
            (void)expect_alike(&m);
        } else {
            refused(&m, &request, words);
        }
    }
}

static void
test_dropout_that_drops_is_refused(void **state)
{
    (void)state;
    static const float half[] = {0.5f};
    static const int64_t no[] = {0}, yes[] = {1};
    import_request request = request_box();
    for (size_t i = 0; i < 3; i++) {
        small_model m;
        begin(&m);
        small_model_tensor(&m, "half", 0, 1, half);
        small_model_list(&m, "no", no, 1);
        small_model_list(&m, "yes", yes, 1);
        small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
        small_model_node(&m, "Dropout", "h", "x", "half", i == 0 ? "no" : i == 1 ? "yes" : NULL);
        small_model_node(&m, "MatMul", "action", "h", "W", NULL);
        if (i == 1) {
            refused(&m, &request, "drops numbers at random, which policies do not; export");
        } else {
            (void)expect_alike(&m);
        }
    }
}

// Its axes are an attribute, or a list in later models.
static void
test_a_log_softmax_is_over_each_row(void **state)
{
    (void)state;
    static const struct {
        int64_t axes[2];
        size_t count;
        bool is_taken;
    } cases[] = {{{1}, 1, true},  {{-1}, 1, true},    {{0}, 1, false},
                 {{2}, 1, false}, {{0, 1}, 2, false}, {{0}, 0, false}};
    const import_request request = {.env_id = "", .output = "action", .action_count = 3};
    for (size_t i = 0; i < 2 * OCT_COUNTOF(cases); i++) {
        const int64_t *axes = cases[i / 2].axes;
        const size_t count = cases[i / 2].count;
        const bool is_list = i % 2 == 0 && count > 0;
        char note[IMPORT_NOTE_SIZE];
        small_model m;
        begin(&m);
        small_model_list(&m, "axes", axes, count);
        small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
        small_model_node(&m, "ReduceLogSumExp", "sum", "x", is_list ? "axes" : NULL, NULL);
        if (!is_list && count > 0) {
            small_model_ints(&m, "axes", axes, count);
        }
        small_model_node(&m, "Sub", "action", "x", "sum", NULL);
        if (cases[i / 2].is_taken) {
            assert_int_equal(notes_of(&m, &request, note), 0); // of a softmax: they are logits
        } else {
            refused(&m, &request, "over the last axis of rows of numbers only");
        }
    }
}

static void
test_an_argmax_takes_the_first_of_equal_numbers(void **state)
{
    (void)state;
    import_request request = {.env_id = "", .output = "action", .action_count = 3};
    for (int64_t is_last = 0; is_last < 2; is_last++) {
        small_model m;
        begin(&m);
        small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
        small_model_node(&m, "ArgMax", "action", "x", NULL, NULL);
        import_attribute attributes[] = {{.name = "axis", .s = "", .i = 1},
                                         {.name = "select_last_index", .s = "", .i = is_last}};
        m.nodes[1].attributes = attributes;
        m.nodes[1].attribute_count = OCT_COUNTOF(attributes);
        if (is_last == 1) {
            refused(&m, &request, "it chooses the last of equal numbers");
        } else {
            char note[IMPORT_NOTE_SIZE];
            (void)notes_of(&m, &request, note);
        }
    }
}

// x[:, 1:], as exporters write it, of rows of three.
static void
test_a_slice_may_name_the_batch_that_it_takes_whole(void **state)
{
    (void)state;
    static const int64_t one[] = {1, 1}, axes[] = {0, 1}, turned[] = {-1, 0}, twice[] = {1, -1};
    static const struct {
        int64_t first[2], end[2];
        const int64_t *axes; // NULL: left out
        const char *why;     // NULL: it is taken
    } cases[] = {
        {{0, 1}, {INT64_MAX, INT64_MAX}, axes, NULL},
        {{0, 1}, {INT32_MAX, 3}, NULL, NULL},
        {{1, INT64_MIN + 1}, {3, INT64_MAX}, turned, NULL},
        {{1, 1}, {INT64_MAX, 3}, axes, "a part of the batch"},
        {{0, 1}, {1, 3}, axes, "a part of the batch"},
        {{0, 1}, {-1, 3}, axes, "a part of the batch"},
        {{0, 3}, {INT64_MAX, 3}, axes, "nothing of the row"},
        {{0, 1}, {3, 3}, twice, "one axis twice"},
    };
    import_request request = request_box();
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        small_model m;
        begin(&m);
        small_model_list(&m, "first", cases[i].first, 2);
        small_model_list(&m, "end", cases[i].end, 2);
        small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
        small_model_node(&m, "Slice", "action", "x", "first", "end");
        if (cases[i].axes != NULL) {
            small_model_list(&m, "axes", cases[i].axes, 2);
            small_model_list(&m, "steps of 1", one, 2);
            small_model_input(&m, "axes");
            small_model_input(&m, "steps of 1");
        }
        if (cases[i].why != NULL) {
            refused(&m, &request, cases[i].why);
        } else {
            assert_int_equal(expect_alike(&m).action_count, 2);
        }
    }
}

static void
test_rows_are_flat_from_their_last_axis_on(void **state)
{
    (void)state;
    import_request request = request_box();
    for (int64_t axis = -2; axis <= 2; axis++) {
        small_model m;
        begin(&m);
        small_model_node(&m, "Flatten", "x", "obs", NULL, NULL);
        small_model_ints(&m, "axis", NULL, 0);
        m.attributes[0].i = axis;
        small_model_node(&m, "MatMul", "action", "x", "W", NULL);
        if (axis == 1 || axis == -1) {
            (void)expect_alike(&m);
        } else {
            refused(&m, &request, "after the batch only");
        }
    }
}

// ---- deviations beside the means

// Biases of the last layer, or the deviations that the policy has of its own.
static void
deviations_of(const small_model *m, const import_request *request, policy_head head, double want)
{
    oct_reason why = {""};
    import_graph *graph;
    import_result result;
    oct_err err = small_model_import(m, request, &graph, &result, &why);
    assert_string_equal(why.text, "");
    T_OK(err);
    const policy_image *image = result.image;
    assert_int_equal(image->spec.head, head);
    for (uint32_t i = 0; i < 3; i++) {
        const float *last = image->bias[image->spec.layer_count - 1];
        double got = (double)(image->deviation != NULL ? image->deviation[i] : last[3 + i]);
        T_NEAR(got, want, 1e-6, 0.0);
    }
    import_policy_free(&result);
    import_graph_destroy(graph);
}

// Of actions in [-9, 9], as policies draw them in [-1, 1].
static void
test_deviations_are_those_of_the_model(void **state)
{
    (void)state;
    small_model m;
    import_request request = request_box();
    begin(&m);
    small_model_node(&m, "MatMul", "action", "obs", "W", NULL);
    deviations_of(&m, &request, POLICY_HEAD_GAUSSIAN, (double)POLICY_LOG_STD_MIN); // none
    request.log_std = "-ones";
    deviations_of(&m, &request, POLICY_HEAD_GAUSSIAN, -1 - log(9));
    small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
    small_model_node(&m, "Add", "log_std", "x", "-ones", NULL);
    request.log_std = "log_std";
    deviations_of(&m, &request, POLICY_HEAD_GAUSSIAN, -1 - log(9));
    begin(&m);
    small_model_node(&m, "MatMul", "h", "obs", "W", NULL);
    small_model_node(&m, "Tanh", "action", "h", NULL, NULL);
    request.log_std = "-ones";
    deviations_of(&m, &request, POLICY_HEAD_TANH_GAUSSIAN, -1);
}

static void
test_deviations_of_other_numbers_are_refused(void **state)
{
    (void)state;
    static const char *const words = "log deviations and means are computed by different layers";
    small_model m;
    import_request request = request_box();
    request.log_std = "log_std";
    begin(&m);
    small_model_node(&m, "MatMul", "x", "obs", "W", NULL);
    small_model_node(&m, "Tanh", "t", "x", NULL, NULL);
    small_model_node(&m, "Relu", "r", "x", NULL, NULL);
    small_model_node(&m, "MatMul", "action", "t", "W", NULL);
    small_model_node(&m, "MatMul", "log_std", "r", "W", NULL);
    refused(&m, &request, words);
    request.log_std = "x"; // before them
    refused(&m, &request, words);
    small_model_node(&m, "LayerNormalization", "norm", "action", "twos", NULL);
    small_model_node(&m, "MatMul", "beside", "t", "W", NULL);
    request = (import_request){.env_id = "", .output = "norm", .bound_count = 1, .low = {-9}};
    request.high[0] = 9;
    request.log_std = "beside";
    refused(&m, &request, words);
    request.output = "action";
    request.log_std = "norm";
    refused(&m, &request, words);
    static const float pair[] = {1, 2};
    small_model_tensor(&m, "pair", 0, 2, pair);
    request.log_std = "pair";
    refused(&m, &request, "'pair' has 2 numbers, but the actions have 3");
}

// ---- sizes

static bool is_too_large;

oct_err __real_policy_image_create(policy_image **out, const policy_spec *spec,
                                   policy_precision precision);
oct_err __wrap_policy_image_create(policy_image **out, const policy_spec *spec,
                                   policy_precision precision);

oct_err
__wrap_policy_image_create(policy_image **out, const policy_spec *spec, policy_precision precision)
{
    return is_too_large ? OCT_EINVAL : __real_policy_image_create(out, spec, precision);
}

// As where the weights alone would fit into a file, which takes half a gigabyte here.
static void
test_a_policy_beyond_the_size_of_a_file_is_refused(void **state)
{
    (void)state;
    small_model m;
    begin(&m);
    small_model_node(&m, "MatMul", "action", "obs", "W", NULL);
    import_request request = request_box();
    is_too_large = true;
    refused(&m, &request, "256 MiB");
    is_too_large = false;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deviations_of_another_layer_are_refused),
        cmocka_unit_test(test_deviations_that_the_model_clips_elsewhere_are_refused),
        cmocka_unit_test(test_deviations_above_those_of_policies_are_noted),
        cmocka_unit_test(test_clips_at_the_end_are_one),
        cmocka_unit_test(test_each_clip_of_observations_counts),
        cmocka_unit_test(test_a_constant_is_turned_as_its_perm_says),
        cmocka_unit_test(test_a_constant_is_cut_along_its_axis_with_step_1),
        cmocka_unit_test(test_a_tanh_that_is_turned_has_its_bounds_in_order),
        cmocka_unit_test(test_a_tanh_that_is_clipped_within_its_range_is_none),
        cmocka_unit_test(test_rows_that_are_left_out_take_their_biases_along),
        cmocka_unit_test(test_what_follows_a_layer_norm_is_done_to_its_gain),
        cmocka_unit_test(test_observations_that_are_turned_are_no_normalisation),
        cmocka_unit_test(test_steps_in_an_order_that_policies_lack_are_refused),
        cmocka_unit_test(test_norms_of_the_batch_are_refused),
        cmocka_unit_test(test_dropout_that_drops_is_refused),
        cmocka_unit_test(test_a_log_softmax_is_over_each_row),
        cmocka_unit_test(test_an_argmax_takes_the_first_of_equal_numbers),
        cmocka_unit_test(test_a_slice_may_name_the_batch_that_it_takes_whole),
        cmocka_unit_test(test_rows_are_flat_from_their_last_axis_on),
        cmocka_unit_test(test_deviations_are_those_of_the_model),
        cmocka_unit_test(test_deviations_of_other_numbers_are_refused),
        cmocka_unit_test(test_a_policy_beyond_the_size_of_a_file_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
