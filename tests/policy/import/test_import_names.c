// The first of equal names is found, in as many comparisons as halving takes, also where a model's
// inputs are sought among its tensors.
#include "common/oct_reason.h"
#include "policy/import/import_names.h"

#include <stdlib.h>

#include "policy/import/import_model.h"
#include "tests/policy/import/strcmp_count.h"
#include "tests/support/oct_test.h"

static void
test_names_are_found_and_others_are_not(void **state)
{
    (void)state;
    import_name names[] = {{"d", 0}, {"b", 1}, {"", 2}, {"f", 3}, {"b", 4}, {"b", 5}};
    const size_t count = OCT_COUNTOF(names);
    import_names_sort(names, count);
    assert_int_equal(import_names_find(names, count, "")->place, 2);
    assert_int_equal(import_names_find(names, count, "d")->place, 0);
    assert_int_equal(import_names_find(names, count, "f")->place, 3);
    assert_ptr_equal(import_names_find(names, count, "b"), &names[1]);
    assert_null(import_names_find(names, count, "a"));
    assert_null(import_names_find(names, count, "c"));
    assert_null(import_names_find(names, count, "g"));
    assert_null(import_names_find(names, 0, "b"));
    import_names_sort(names, 0);
}

// As older exporters write them: each tensor is an input, too.
static void
test_inputs_that_are_tensors_take_few_comparisons(void **state)
{
    (void)state;
    enum { TENSORS = 1000, TENSOR_BYTES = 16, INPUT_BYTES = 12, LOG = 10 };
    enum { GRAPH_BYTES = TENSORS * (TENSOR_BYTES + INPUT_BYTES) };
    uint8_t *bytes = oct_alloc(4 + GRAPH_BYTES), *at = bytes;
    const uint8_t head[4] = {0x3a, (GRAPH_BYTES & 127) | 128, (GRAPH_BYTES >> 7 & 127) | 128,
                             GRAPH_BYTES >> 14};
    memcpy(at, head, sizeof(head));
    at += sizeof(head);
    for (int i = 0; i < 2 * TENSORS; i++) {
        char name[9];
        (void)snprintf(name, sizeof(name), "t%07d", i % TENSORS);
        // dims 0, data_type FLOAT, name; an input has the name only.
        static const uint8_t tensor[] = {0x2a, 14, 0x08, 0, 0x10, 1, 0x42, 8};
        static const uint8_t input[] = {0x5a, 10, 0x0a, 8};
        size_t length = i < TENSORS ? sizeof(tensor) : sizeof(input);
        memcpy(at, i < TENSORS ? tensor : input, length);
        memcpy(at + length, name, 8);
        at += length + 8;
    }
    oct_reason why = {""};
    import_model *model;
    strcmp_count = 0;
    T_OK(import_model_decode(&model, bytes, 4 + GRAPH_BYTES, NULL, &why));
    assert_in_range(strcmp_count, TENSORS, TENSORS * 2 * (LOG + 2));
    assert_int_equal(model->tensor_count, TENSORS);
    assert_int_equal(model->input_count, 0);
    import_model_destroy(model);
    free(bytes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_found_and_others_are_not),
        cmocka_unit_test(test_inputs_that_are_tensors_take_few_comparisons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
