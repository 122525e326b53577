// ONNX models and arrays of NumPy. The first byte of an input says which; of a model also what is
// known of its actions. A policy that a model becomes is sound, runs, and answers what the model
// does.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "policy/import/import_npy.h"
#include "policy/import/import_parity.h"
#include "policy/import/import_policy.h"
#include "tests/fuzz/fuzz.h"

enum { IS_ARRAY = 0x80, IS_BOX = 1, IS_UNIT = 2, HAS_DEVIATION = 4, HAS_COUNT = 8 };
enum { ROWS = 2, NUMBERS_MAX = 4096, WORK_MAX = 1 << 20 };

// Arithmetic of the chain, so that an input does not take minutes.
static double
chain_work(const import_step *step)
{
    double work = 0.0;
    for (; step->from != NULL; step = step->from) {
        work += step->kind == IMPORT_DENSE || step->kind == IMPORT_CONV
                    ? (double)step->count * step->from->count
                    : step->count;
    }
    return work;
}

static void
policy_use(const import_result *result)
{
    const policy_spec *spec = &result->image->spec;
    OCT_ASSERT(policy_spec_check(spec, NULL) == OCT_OK);
    size_t length = policy_encoded_size(result->image);
    if (spec->obs_count > NUMBERS_MAX || chain_work(result->scores) > WORK_MAX) {
        return;
    }
    uint8_t *bytes = oct_alloc(length);
    policy_image *again;
    policy_encode(result->image, bytes);
    oct_err err = policy_decode(&again, bytes, length, NULL);
    OCT_ASSERT(err == OCT_OK);
    policy_image_destroy(again);
    free(bytes);
    float *obs = oct_alloc((size_t)ROWS * spec->obs_count * sizeof(float));
    for (uint32_t i = 0; i < ROWS * spec->obs_count; i++) {
        obs[i] = (float)(i % 7) - 3.0f;
    }
    import_parity parity;
    err = import_parity_measure(&parity, result, result->image, obs, ROWS);
    OCT_ASSERT(err == OCT_OK && parity.rows == ROWS);
    free(obs);
}

static void
model_use(const uint8_t *bytes, size_t length, uint8_t what)
{
    oct_reason why = {""};
    import_model *model;
    import_graph *graph = NULL;
    import_result result = {0};
    if (import_model_decode(&model, bytes, length, NULL, &why) != OCT_OK) {
        OCT_ASSERT(why.text[0] != '\0');
        return;
    }
    import_request request = {.env_id = "", .low = {-1}, .high = {0.5f}};
    request.bound_count = (what & IS_BOX) != 0;
    request.unit_actions = (what & IS_UNIT) != 0;
    request.log_std = (what & HAS_DEVIATION) != 0 ? "log_std" : NULL;
    request.action_count = (what & HAS_COUNT) != 0 ? 2 : 0;
    oct_err err = import_graph_create(&graph, model, NULL, NULL, 0, NULL, &why);
    if (err == OCT_OK) {
        err = import_policy_make(&result, model, graph, &request, &why);
    }
    OCT_ASSERT((err == OCT_OK) == (why.text[0] == '\0'));
    OCT_ASSERT((err == OCT_OK) == (result.image != NULL));
    if (err == OCT_OK) {
        policy_use(&result);
        fuzz_accept();
    }
    import_policy_free(&result);
    import_graph_destroy(graph);
    import_model_destroy(model);
}

static void
array_use(const uint8_t *bytes, size_t length)
{
    oct_reason why = {""};
    import_npy npy;
    oct_err err = import_npy_decode(&npy, bytes, length, &why);
    OCT_ASSERT((err == OCT_OK) == (why.text[0] == '\0'));
    if (err == OCT_OK) {
        OCT_ASSERT(npy.rows >= 1 && npy.width >= 1);
        import_npy_free(&npy);
        fuzz_accept();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    uint8_t *bytes = fuzz_copy(data + 1, size - 1);
    if ((data[0] & IS_ARRAY) != 0) {
        array_use(bytes, size - 1);
    } else {
        model_use(bytes, size - 1, data[0]);
    }
    free(bytes);
    return 0;
}

static void
file_seed(uint8_t what, const char *name)
{
    char path[256];
    uint8_t *bytes;
    size_t length;
    (void)snprintf(path, sizeof(path), "%s/import/%s", TEST_DATA, name);
    oct_err err = oct_file_read(path, 1u << 16, &bytes, &length);
    OCT_ASSERT(err == OCT_OK);
    uint8_t *seed = oct_alloc(1 + length);
    seed[0] = what;
    memcpy(seed + 1, bytes, length);
    fuzz_seed(seed, 1 + length);
    free(seed);
    free(bytes);
}

// An array of two rows of two numbers, as header says.
static void
array_seed(const char *type, uint8_t bytes, const char *order)
{
    uint8_t seed[256] = {IS_ARRAY, 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    char *header = (char *)seed + 11;
    int length =
        snprintf(header, 128, "{'descr': '%s%u', 'fortran_order': %s, 'shape': (2, 2), }\n", type,
                 bytes, order);
    seed[9] = (uint8_t)length;
    for (int i = 0; i < 4 * bytes; i++) {
        header[length + i] = (char)(17 * i);
    }
    fuzz_seed(seed, 11 + (size_t)length + 4 * (size_t)bytes);
}

void
fuzz_seeds(void)
{
    file_seed(HAS_COUNT, "tanh.onnx");
    file_seed(IS_BOX, "tanh.onnx");
    file_seed(0, "normalised.onnx");
    file_seed(IS_BOX | IS_UNIT, "normalised.onnx");
    file_seed(IS_BOX | HAS_DEVIATION, "clipped.onnx");
    file_seed(0, "conv.onnx");
    file_seed(IS_ARRAY, "tanh.obs.npy");
    file_seed(IS_ARRAY, "conv.obs.npy");
    array_seed(">f", 2, "True");
    array_seed("<f", 8, "False");
    array_seed("|b", 1, "True");
    array_seed(">i", 4, "False");
}
