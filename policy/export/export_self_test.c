// Writes the self test of a header, with the checksum that it expects.
#include "policy/export/export_self_test.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/oct_base.h"
#include "policy/export/export_probe.h"
#include "policy/policy_net.h"

#define ROWS       16
#define STATE      1u          // first state of the generator of observations
#define HASH_START 2166136261u // offset basis of FNV-1a
#define RNG_SEED   1           // of the generator of samples
#define RNG_STREAM 0

// Computes the checksum with the reference kernels, whose bits all kernels give.
static uint32_t
checksum_of(const policy_image *image, bool with_sampling)
{
    policy_net *net;
    OCT_ASSERT(policy_net_create(&net, image, POLICY_ISA_REF) == OCT_OK);
    const policy_spec *spec = policy_net_spec(net);
    policy_scratch *scratch = policy_scratch_create(spec, 1);
    size_t obs_bytes = policy_spec_obs_bytes(spec);
    uint32_t outputs = policy_spec_outputs(spec), state = STATE, hash = HASH_START;
    uint32_t action_words = (uint32_t)(policy_spec_action_bytes(spec) / 4);
    void *obs = oct_alloc(obs_bytes), *action = oct_alloc((size_t)action_words * 4);
    float *y = oct_alloc(outputs * sizeof(float));
    float *extra = oct_alloc((policy_spec_extra_dim(spec) + 1) * sizeof(float));
    policy_rng rng;
    policy_rng_init(&rng, RNG_SEED, RNG_STREAM);
    for (uint32_t row = 0; row < ROWS; row++) {
        if (spec->obs_dtype == POLICY_F32) {
            export_test_floats(&state, row, spec->obs_count, obs);
        } else {
            export_test_bytes(&state, row, spec->obs_count, obs);
        }
        policy_forward(net, scratch, obs, obs_bytes, 1, y);
        policy_act(spec, y, 1, action);
        hash = export_test_hash(hash, y, outputs);
        hash = export_test_hash(hash, action, action_words);
        if (with_sampling) {
            policy_sample(spec, policy_net_deviation(net), y, 1, &rng, action, extra);
            hash = export_test_hash(hash, action, action_words);
            hash = export_test_hash(hash, extra, 1);
        }
    }
    free(obs);
    free(action);
    free(y);
    free(extra);
    policy_scratch_destroy(scratch);
    policy_net_destroy(net);
    return hash;
}

// Writes the loop over observations, which makes the same calls as checksum_of.
static void
rows_write(FILE *out, const policy_spec *spec, bool with_sampling)
{
    bool is_box = spec->action_kind == POLICY_BOX;
    const char *to = is_box ? "action" : "&action";
    uint32_t words = is_box ? spec->action_count : 1;
    (void)fprintf(out,
                  "    for (uint32_t row = 0; row < %d; row++) {\n"
                  "        export_test_%s(&state, row, %" PRIu32 ", observation);\n"
                  "        const float *y = policy_forward(work, observation);\n"
                  "        if (y == NULL || policy_act(work, observation, %s) != 0) {\n"
                  "            return 4;\n        }\n"
                  "        hash = export_test_hash(hash, y, %" PRIu32 ");\n"
                  "        hash = export_test_hash(hash, %s, %" PRIu32 ");\n",
                  ROWS, spec->obs_dtype == POLICY_F32 ? "floats" : "bytes", spec->obs_count, to,
                  policy_spec_outputs(spec), to, words);
    if (with_sampling) {
        (void)fprintf(out,
                      "        (void)policy_sample(work, observation, &rng, %s, &log_prob);\n"
                      "        hash = export_test_hash(hash, %s, %" PRIu32 ");\n"
                      "        hash = export_test_hash(hash, &log_prob, 1);\n",
                      to, to, words);
    }
    (void)fputs("    }\n", out);
}

void
export_self_test_write(FILE *out, const policy_image *image, bool with_sampling)
{
    const policy_spec *spec = &image->spec;
    (void)fprintf(out,
                  "\n"
                  "// Checks that this compiler, its library and this processor, in their current "
                  "mode, compute as Octet\n"
                  "// does. Returns 0, or 1 if denormal numbers become 0, 2 if a product is not "
                  "rounded to nearest before\n"
                  "// an addition (fused operations, another rounding mode), %s4 if an output%s\n"
                  "// differs for another reason. Writes to observation. Takes no memory if it is "
                  "never called.\n"
                  "static inline int\n"
                  "policy_self_test(policy_work *work, %s *observation)\n"
                  "{\n"
                  "    uint32_t state = %uu, hash = %uu;\n",
                  policy_is_integer(image->precision) ? ""
                                                      : "3 if fmaf rounds its product,\n"
                                                        "// ",
                  with_sampling ? ", an action or a sample" : " or an action",
                  spec->obs_dtype == POLICY_F32 ? "float" : "uint8_t", STATE, HASH_START);
    if (spec->action_kind == POLICY_BOX) {
        (void)fprintf(out, "    float action[%" PRIu32 "];\n", spec->action_count);
    } else {
        (void)fputs("    int32_t action;\n", out);
    }
    if (with_sampling) {
        (void)fprintf(out,
                      "    float log_prob = 0.0f;\n    policy_rng rng;\n"
                      "    policy_rng_init(&rng, %d, %d);\n",
                      RNG_SEED, RNG_STREAM);
    }
    (void)fputs("    if (!export_keeps_denormals()) {\n        return 1;\n    }\n"
                "    if (!export_rounds_products()) {\n        return 2;\n    }\n",
                out);
    if (!policy_is_integer(image->precision)) {
        (void)fputs("    if (!export_fmaf_is_fused()) {\n        return 3;\n    }\n", out);
    }
    rows_write(out, spec, with_sampling);
    (void)fprintf(out, "    return hash == 0x%08" PRIx32 "u ? 0 : 4;\n}\n",
                  checksum_of(image, with_sampling));
}
