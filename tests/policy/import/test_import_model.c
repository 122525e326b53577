// What is no ONNX model, and weights in files that are not where they should be; arrays of NumPy.
#include "common/oct_reason.h"
#include "policy/import/import_model.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/oct_file.h"
#include "policy/import/import_npy.h"
#include "tests/support/oct_test.h"

static uint8_t *
file_read(const char *name, size_t *length)
{
    char path[256];
    uint8_t *bytes;
    (void)snprintf(path, sizeof(path), "%s/import/%s", TEST_DATA, name);
    T_OK(oct_file_read(path, 1u << 20, &bytes, length));
    return bytes;
}

static void
test_a_model_is_read_whole(void **state)
{
    (void)state;
    size_t length;
    oct_reason why;
    uint8_t *bytes = file_read("tanh.onnx", &length);
    import_model *model;
    T_OK(import_model_decode(&model, bytes, length, NULL, &why));
    assert_int_equal(model->node_count, 5);
    assert_string_equal(model->nodes[0].op, "Gemm");
    assert_int_equal(import_node_attribute(&model->nodes[0], "transB")->i, 1);
    assert_null(import_node_attribute(&model->nodes[0], "none"));
    assert_int_equal(model->input_count, 1);
    assert_int_equal(model->inputs[0].rank, 2);
    assert_int_equal(model->inputs[0].dims[0], -1);
    assert_int_equal(model->inputs[0].dims[1], 4);
    assert_int_equal(model->tensor_count, 6);
    assert_int_equal(model->tensors[0].count, 64);
    assert_non_null(model->tensors[0].floats);
    import_model_destroy(model);
    free(bytes);
}

static void
test_a_model_cut_anywhere_is_refused_or_smaller(void **state)
{
    (void)state;
    size_t length;
    oct_reason why;
    uint8_t *bytes = file_read("tanh.onnx", &length);
    for (size_t cut = 0; cut < length; cut++) {
        import_model *model = NULL;
        why.text[0] = '\0';
        oct_err err = import_model_decode(&model, bytes, cut, NULL, &why);
        assert_true((err == OCT_OK) == (why.text[0] == '\0'));
        import_model_destroy(err == OCT_OK ? model : NULL);
    }
    free(bytes);
}

static void
test_weights_in_other_files_stay_beside_the_model(void **state)
{
    (void)state;
    size_t length;
    oct_reason why = {""};
    char folder[256];
    uint8_t *bytes = file_read("norm_dynamo.onnx", &length);
    import_model *model;
    T_ERR(import_model_decode(&model, bytes, length, NULL, &why), OCT_EPROTO);
    assert_non_null(strstr(why.text, "only bytes were given"));
    T_ERR(import_model_decode(&model, bytes, length, "/nowhere/", &why), OCT_ENOTFOUND);
    assert_non_null(strstr(why.text, "/nowhere/norm_dynamo.onnx.data"));
    (void)snprintf(folder, sizeof(folder), "%s/import/", TEST_DATA);
    T_OK(import_model_decode(&model, bytes, length, folder, &why));
    import_model_destroy(model);
    // The same number of bytes, so that the message stays whole.
    static const char *const elsewhere[] = {"/orm_dynamo.onnx.data", "../m_dynamo.onnx.data",
                                            "n/../ynamo.onnx.data.", "nor//ynamo.onnx.data."};
    for (size_t i = 0; i < OCT_COUNTOF(elsewhere); i++) {
        uint8_t *changed = oct_alloc(length);
        memcpy(changed, bytes, length);
        for (size_t at = 0; at + 21 <= length; at++) {
            if (memcmp(changed + at, "norm_dynamo.onnx.data", 21) == 0) {
                memcpy(changed + at, elsewhere[i], 21);
            }
        }
        T_ERR(import_model_decode(&model, changed, length, folder, &why), OCT_EPROTO);
        assert_non_null(strstr(why.text, "not beside the model"));
        free(changed);
    }
    free(bytes);
}

// "ai.onnx" is another name of ONNX's own operations.
static void
test_the_opset_has_two_names(void **state)
{
    (void)state;
    static const char named[] = "\x42\x0b\x0a\x07"
                                "ai.onnx\x10\x09";
    static const char other[] = "\x42\x0b\x0a\x07"
                                "ai.onnY\x10\x08";
    size_t length;
    oct_reason why;
    uint8_t *bytes = file_read("tanh.onnx", &length);
    uint8_t *more = oct_alloc(length + sizeof(named) + sizeof(other) - 2);
    memcpy(more, bytes, length);
    memcpy(more + length, named, sizeof(named) - 1);
    memcpy(more + length + sizeof(named) - 1, other, sizeof(other) - 1);
    import_model *model;
    T_OK(import_model_decode(&model, more, length + sizeof(named) + sizeof(other) - 2, NULL, &why));
    assert_int_equal(model->opset, 9);
    import_model_destroy(model);
    free(bytes);
    free(more);
}

// A model with one tensor, [1, -2], whose bits are in int32_data.
static void
test_halves_may_be_in_the_list_of_integers(void **state)
{
    (void)state;
    static const char fp16[] = "\x3a\x10\x2a\x0e\x08\x02\x10\x0a"
                               "\x28\x80\x78\x28\x80\x80\x03\x42\x01W";
    static const char bf16[] = "\x3a\x10\x2a\x0e\x08\x02\x10\x10"
                               "\x28\x80\x7f\x28\x80\x80\x03\x42\x01W";
    const char *const all[] = {fp16, bf16};
    for (size_t i = 0; i < OCT_COUNTOF(all); i++) {
        oct_reason why = {""};
        import_model *model = NULL;
        oct_err err =
            import_model_decode(&model, (const uint8_t *)all[i], sizeof(fp16) - 1, NULL, &why);
        assert_string_equal(why.text, "");
        T_OK(err);
        assert_non_null(model->tensors[0].floats);
        T_NEAR((double)model->tensors[0].floats[0], 1, 0, 0);
        T_NEAR((double)model->tensors[0].floats[1], -2, 0, 0);
        import_model_destroy(model);
    }
}

// Infinity of 16 bits is no number of a policy, nor one of a float beyond them.
static void
test_halves_that_are_not_finite_are_no_numbers(void **state)
{
    (void)state;
    static const char fp16[] = "\x3a\x11\x2a\x0f\x08\x02\x10\x0a"
                               "\x28\x80\xf8\x01\x28\x80\x80\x03\x42\x01W";
    oct_reason why = {""};
    import_model *model = NULL;
    T_OK(import_model_decode(&model, (const uint8_t *)fp16, sizeof(fp16) - 1, NULL, &why));
    assert_true(isnan(model->tensors[0].floats[0]));
    T_NEAR((double)model->tensors[0].floats[1], -2, 0, 0);
    import_model_destroy(model);
}

static void
test_weights_in_another_file_have_the_bytes_of_their_shape(void **state)
{
    (void)state;
    size_t length;
    oct_reason why = {""};
    char folder[256];
    uint8_t *bytes = file_read("norm_dynamo.onnx", &length);
    (void)snprintf(folder, sizeof(folder), "%s/import/", TEST_DATA);
    size_t at = 0;
    while (at + 9 < length && memcmp(bytes + at, "length\x12", 7) != 0) {
        at++;
    }
    assert_true(at + 9 < length);
    bytes[at + 8] = bytes[at + 8] == '9' ? '8' : '9'; // its first digit
    import_model *model;
    T_ERR(import_model_decode(&model, bytes, length, folder, &why), OCT_EPROTO);
    assert_non_null(strstr(why.text, "bytes in its file, its shape needs"));
    free(bytes);
}

// ---- arrays

// The array of one header and its bytes.
static size_t
array_make(uint8_t bytes[256], const char *header, const void *numbers, size_t length)
{
    size_t header_length = strlen(header);
    memcpy(bytes, "\x93NUMPY\x01\x00", 8);
    bytes[8] = (uint8_t)header_length;
    bytes[9] = 0;
    memcpy(bytes + 10, header, header_length);
    memcpy(bytes + 10 + header_length, numbers, length);
    return 10 + header_length + length;
}

static void
test_arrays_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *type, *bytes;
        size_t length; // of two numbers
        float want[2];
    } cases[] = {
        {"<f4", "\0\0\x80\x3f\0\0\0\xc0", 8, {1.0f, -2.0f}},
        {">f4", "\x3f\x80\0\0\xc0\0\0\0", 8, {1.0f, -2.0f}},
        {"<f8", "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\xc0", 16, {1.0f, -2.0f}},
        {">f8", "\x3f\xf0\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0", 16, {1.0f, -2.0f}},
        {"<f2", "\x00\x3c\x00\xc0", 4, {1.0f, -2.0f}},
        {"|u1", "\x07\xff", 2, {7.0f, 255.0f}},
        {"|i1", "\x07\xff", 2, {7.0f, -1.0f}},
        {"<i2", "\x07\0\xfe\xff", 4, {7.0f, -2.0f}},
        {">i4", "\0\0\0\x07\xff\xff\xff\xfe", 8, {7.0f, -2.0f}},
        {"<i8", "\x07\0\0\0\0\0\0\0\xfe\xff\xff\xff\xff\xff\xff\xff", 16, {7.0f, -2.0f}},
        {"<u4", "\x07\0\0\0\0\0\0\x80", 8, {7.0f, 2147483648.0f}},
        {"|b1", "\x01\0", 2, {1.0f, 0.0f}},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        uint8_t bytes[256];
        char header[128];
        oct_reason why;
        import_npy npy;
        (void)snprintf(header, sizeof(header),
                       "{'descr': '%s', 'fortran_order': False, 'shape': (2, 1), }", cases[i].type);
        size_t length = array_make(bytes, header, cases[i].bytes, cases[i].length);
        T_OK(import_npy_decode(&npy, bytes, length, &why));
        assert_int_equal(npy.rows, 2);
        assert_int_equal(npy.width, 1);
        assert_memory_equal(npy.numbers, cases[i].want, sizeof(cases[i].want));
        import_npy_free(&npy);
        for (size_t cut = 0; cut < length; cut++) {
            T_ERR(import_npy_decode(&npy, bytes, cut, &why), OCT_EPROTO);
        }
    }
}

static void
test_halves_that_are_not_finite_stay_so(void **state)
{
    (void)state;
    uint8_t bytes[256];
    oct_reason why;
    import_npy npy;
    size_t length = array_make(bytes, "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 2), }",
                               "\x00\x7c\x01\xfe", 4);
    T_OK(import_npy_decode(&npy, bytes, length, &why));
    assert_true(!isfinite(npy.numbers[0]) && !isfinite(npy.numbers[1]));
    import_npy_free(&npy);
}

static void
test_arrays_in_fortran_order_are_read_in_c_order(void **state)
{
    (void)state;
    static const float want[] = {1, 2, 3, 4, 5, 6};
    uint8_t bytes[256];
    oct_reason why;
    import_npy npy;
    size_t length = array_make(bytes, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }",
                               "\x01\x04\x02\x05\x03\x06", 6);
    T_OK(import_npy_decode(&npy, bytes, length, &why));
    assert_int_equal(npy.rows, 2);
    assert_memory_equal(npy.numbers, want, sizeof(want));
    import_npy_free(&npy);
}

static void
test_arrays_of_other_kinds_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *header, *words;
    } cases[] = {
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (1, 1), }", "'<c8'"},
        {"{'descr': '<f3', 'fortran_order': False, 'shape': (1, 1), }", "'<f3'"},
        {"{'descr': '|f1', 'fortran_order': False, 'shape': (1, 1), }", "'|f1'"},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1, 1), }", "shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1), }", "shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 1), }", "shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (65536, 65536), }", "shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 1), }", "shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }", "needs 8"},
        {"{'descr': '<f4'", "shape"},
        {"", "type"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        uint8_t bytes[256];
        size_t length = array_make(bytes, cases[i].header, "\0\0\0\0", 4);
        oct_reason why;
        import_npy npy;
        T_ERR(import_npy_decode(&npy, bytes, length, &why), OCT_EPROTO);
        if (strstr(why.text, cases[i].words) == NULL) {
            fail_msg("case %zu: %s", i, why.text);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_model_is_read_whole),
        cmocka_unit_test(test_a_model_cut_anywhere_is_refused_or_smaller),
        cmocka_unit_test(test_weights_in_other_files_stay_beside_the_model),
        cmocka_unit_test(test_the_opset_has_two_names),
        cmocka_unit_test(test_halves_may_be_in_the_list_of_integers),
        cmocka_unit_test(test_halves_that_are_not_finite_are_no_numbers),
        cmocka_unit_test(test_weights_in_another_file_have_the_bytes_of_their_shape),
        cmocka_unit_test(test_arrays_are_read),
        cmocka_unit_test(test_halves_that_are_not_finite_stay_so),
        cmocka_unit_test(test_arrays_in_fortran_order_are_read_in_c_order),
        cmocka_unit_test(test_arrays_of_other_kinds_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
