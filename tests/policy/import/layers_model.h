#ifndef TESTS_POLICY_IMPORT_LAYERS_MODEL_H
#define TESTS_POLICY_IMPORT_LAYERS_MODEL_H

#include <stdlib.h>

#include "common/oct_reason.h"
#include "policy/import/import_chain.h"
#include "policy/import/import_parity.h"
#include "tests/policy/import/small_model.h"

// Small models of three observations with constants for the tests of layers, and their imports: as
// a box of bounds [-9, 9], refused, or compared with the model. Threads: one user.

static const float matrix[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}; // [3][3]
static const float twos[] = {2, 2, 2}, minus_ones[] = {-1, -1, -1}, tenths[] = {0.1f, 0.1f, 0.1f};
static const float minus_hundreds[] = {-100, -100, -100}, steps[] = {1, 2, 3};

// With the constants of the tests: a matrix "W" and lists.
static inline void
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

static inline import_request
request_box(void)
{
    return (import_request){
        .env_id = "", .output = "action", .bound_count = 1, .low = {-9}, .high = {9}};
}

static inline void
refused(const small_model *m, const import_request *request, const char *words)
{
    oct_reason why = {""};
    import_graph *graph;
    import_result result;
    oct_err err = small_model_import(m, request, &graph, &result, &why);
    assert_int_not_equal(err, OCT_OK);
    if (why.text[0] == '\0' || strstr(why.text, words) == NULL) {
        fail_msg("'%s' has no '%s'", why.text, words);
    }
    import_graph_destroy(graph);
}

static inline import_parity
parity_of(const small_model *m, const float *obs, uint32_t rows, policy_spec *spec)
{
    oct_reason why = {""};
    import_graph *graph;
    import_result result;
    import_parity parity;
    import_request request = request_box();
    oct_err err = small_model_import(m, &request, &graph, &result, &why);
    assert_string_equal(why.text, "");
    T_OK(err);
    T_OK(import_parity_measure(&parity, &result, result.image, obs, rows));
    *spec = result.image->spec;
    import_policy_free(&result);
    import_graph_destroy(graph);
    return parity;
}

static const float alike_rows[] = {0.5f, -0.25f, 0.125f, -1, 0.75f, -0.5f, 0.25f, 1, -0.75f};

static inline policy_spec
expect_alike(const small_model *m)
{
    policy_spec spec;
    import_parity parity = parity_of(m, alike_rows, 3, &spec);
    assert_true(parity.max_abs < 1e-5);
    T_NEAR(parity.agreement, 1.0, 0.0, 0.0);
    return spec;
}

// Imported, it computes this of the first of alike_rows. The policy and its model are alike also
// where both were misread.
static inline void
expect_numbers(const small_model *m, const double *want, uint32_t count)
{
    oct_reason why = {""};
    import_graph *graph;
    import_result result;
    import_request request = request_box();
    const double x[] = {0.5, -0.25, 0.125};
    T_OK(small_model_import(m, &request, &graph, &result, &why));
    double *work = oct_alloc(2 * import_chain_width(result.scores) * sizeof(double));
    const double *got = import_chain_eval(result.scores, x, work);
    assert_int_equal(result.image->spec.action_count, count);
    for (uint32_t i = 0; i < count; i++) {
        T_NEAR(got[i], want[i], 0, 1e-6);
    }
    free(work);
    import_policy_free(&result);
    import_graph_destroy(graph);
    (void)expect_alike(m);
}

#endif // TESTS_POLICY_IMPORT_LAYERS_MODEL_H
