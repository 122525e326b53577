// Writes a policy as one C99 header: constant arrays, the functions of export_parts.h that the
// policy needs, and functions that call them layer by layer. The text of functions uses the names
// of the parts (policy_, export_); text_rename gives them the policy's name.
#include "policy/export/export_c99.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_bytes.h"
#include "policy/export/export_arrays.h"
#include "policy/export/export_contract.h"
#include "policy/export/export_parts.h"
#include "policy/export/export_self_test.h"

#define PARTS_MAX     128
#define PREFIX_LENGTH 7 // of policy_, export_ and POLICY_

// The state of writing one header.
typedef struct writer {
    FILE *out;
    const policy_image *image;
    const char *name;
    uint32_t action_repeat;
    char upper[EXPORT_NAME_MAX + 1];
    export_c99_sizes sizes;
} writer;

bool
export_c99_name_is_valid(const char *name)
{
    size_t length = strlen(name);
    bool valid = length > 0 && length <= EXPORT_NAME_MAX && isalpha((unsigned char)name[0]);
    for (size_t i = 0; valid && i < length; i++) {
        valid = isascii(name[i]) && (isalnum((unsigned char)name[i]) || name[i] == '_');
    }
    return valid;
}

static bool
is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

// ---- the parts that a policy needs

// Returns true if text contains word as a whole identifier.
static bool
text_names(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        if ((at == text || !is_word(at[-1])) && !is_word(at[length])) {
            return true;
        }
    }
    return false;
}

// Returns true if the identifier, which begins with policy_ or POLICY_, is one that programs may
// use.
static bool
is_public(const char *identifier)
{
    static const char *const words[] = {"act",    "outputs",   "rng", "rng_init",
                                        "sample", "self_test", "work"};
    const char *word = identifier + PREFIX_LENGTH;
    for (size_t i = 0; i < OCT_COUNTOF(words); i++) {
        size_t length = strlen(words[i]);
        if (strncmp(word, words[i], length) == 0 && !is_word(word[length])) {
            return true;
        }
    }
    return false;
}

// Writes text with other prefixes of identifiers: policy_ and export_ become NAME_, POLICY_ becomes
// NAME_ in capitals. Internal identifiers also get x_ or X_. Without it, row_tanh of a policy
// "pole" and tanh of a policy "pole_row" would have the same name.
static void
text_rename(const writer *w, const char *text)
{
    static const char *const prefixes[] = {"policy_", "export_", "POLICY_"};
    for (const char *at = text; *at != '\0';) {
        size_t i = 0;
        bool begins = at == text || !is_word(at[-1]);
        while (i < 3 && !(begins && strncmp(at, prefixes[i], PREFIX_LENGTH) == 0)) {
            i++;
        }
        if (i == 3) {
            (void)fputc(*at++, w->out);
            continue;
        }
        const char *inside = is_public(at) ? "" : i == 2 ? "X_" : "x_";
        (void)fprintf(w->out, "%s_%s", i == 2 ? w->upper : w->name, inside);
        at += PREFIX_LENGTH;
    }
}

// Writes the parts that body needs, and the parts that these need, in the order of the table, which
// defines each part before its use.
static void
parts_write(const writer *w, const char *body)
{
    bool needed[PARTS_MAX] = {false};
    OCT_ASSERT(export_parts_count <= PARTS_MAX);
    for (bool grew = true; grew;) {
        grew = false;
        for (size_t i = 0; i < export_parts_count; i++) {
            bool named = text_names(body, export_parts[i].name);
            for (size_t k = 0; !needed[i] && !named && k < export_parts_count; k++) {
                named = needed[k] && text_names(export_parts[k].text, export_parts[i].name);
            }
            grew = grew || (named && !needed[i]);
            needed[i] = needed[i] || named;
        }
    }
    bool was_macro = false;
    for (size_t i = 0; i < export_parts_count; i++) {
        if (needed[i]) {
            bool is_macro = strstr(export_parts[i].text, "#define") != NULL;
            (void)fputs(is_macro && was_macro ? "" : "\n", w->out);
            text_rename(w, export_parts[i].text);
            was_macro = is_macro;
        }
    }
}

// ---- the functions of a header, in words of the parts: text_rename makes them its own

static const char *
obs_type(const policy_spec *spec)
{
    return spec->obs_dtype == POLICY_F32 ? "float" : "uint8_t";
}

// Returns true if layer 0 needs a copy of the observation in the work space instead of the caller's
// array.
static bool
obs_is_copied(const policy_spec *spec)
{
    return spec->normalise || spec->obs_dtype == POLICY_U8;
}

// Writes the call that multiplies the weights of layer l by from, which is floats or codes.
static void
products_call_write(FILE *out, const policy_image *image, uint32_t l, const char *from,
                    const char *to)
{
    const policy_layer *layer = &image->spec.layers[l];
    uint32_t rows = policy_layer_rows(layer), columns = policy_layer_columns(layer);
    const char *precision = policy_precision_name(image->precision);
    if (!policy_is_integer(image->precision)) {
        (void)fprintf(out, "    export_dense_%s(policy_w%u, policy_b%u, %s, %u, %u, %s);\n",
                      precision, l, l, from, columns, rows, to);
        return;
    }
    (void)fprintf(out, "    export_dense_%s(policy_w%u, ", precision, l);
    if (image->precision == POLICY_INT4) {
        (void)fprintf(out, "policy_m%u, policy_s%u, ", l, l);
    } else {
        (void)fprintf(out, "policy_s%u, %d, ", l, image->per_tensor ? 0 : 1);
    }
    (void)fprintf(out, "policy_b%u, %s, scale, %u, %u, %s);\n", l, from, columns, rows, to);
}

// Returns true if layer l computes codes of its inputs first.
static bool
is_quantized(const policy_image *image, uint32_t l)
{
    return policy_is_integer(image->precision) && !policy_is_pool(image->spec.layers[l].kind);
}

// Returns true if the outputs of layer l are in work->x instead of work->y. A layer quantises its
// whole input before it writes an output, so both may be in one buffer.
static bool
is_in_x(const policy_image *image, uint32_t l, bool are_inputs_in_x)
{
    return is_quantized(image, l) || !are_inputs_in_x;
}

static void
axis_write(FILE *out, const policy_axis *axis)
{
    (void)fprintf(out, "{%u, %u, %u, %u}, ", axis->size, axis->kernel, axis->stride, axis->before);
}

// Writes a convolution or a pool: a loop over the output positions.
static void
places_write(FILE *out, const policy_image *image, uint32_t l, const char *from, const char *to)
{
    const policy_layer *layer = &image->spec.layers[l];
    const policy_conv *conv = &layer->conv;
    bool is_pool = policy_is_pool(layer->kind);
    const char *type = policy_is_integer(image->precision) ? "int16_t" : "float";
    char place[64];
    (void)snprintf(place, sizeof(place), "%s + at * %u", to, conv->filters);
    (void)fprintf(out,
                  "    for (uint32_t at = 0; at < %u; at++) {\n        const export_map map = {",
                  policy_layer_places(layer));
    axis_write(out, &conv->rows);
    axis_write(out, &conv->columns);
    (void)fprintf(out, "%u, ", policy_axis_positions(&conv->columns));
    if (is_pool) {
        (void)fprintf(out, "%u};\n        export_%s_pool(&map, at, %s, %s);\n", conv->channels,
                      layer->kind == POLICY_MAX_POOL ? "max" : "mean", from, place);
    } else {
        (void)fprintf(out, "%u * sizeof(%s)};\n        export_patch(&map, at, %s, work->p);\n    ",
                      conv->channels, type, from);
        products_call_write(out, image, l, "work->p", place);
    }
    (void)fprintf(out, "    }\n");
}

// Writes the quantisation and the product of layer l, or its pool.
static void
layer_call_write(FILE *out, const policy_image *image, uint32_t l, const char *from, const char *to)
{
    const policy_layer *layer = &image->spec.layers[l];
    if (is_quantized(image, l)) {
        bool is_relu = l > 0 && layer[-1].activation == POLICY_RELU;
        (void)fprintf(out, "    scale = export_quantize%s(%s, %u, work->q);\n",
                      is_relu ? "_relu" : "", from, layer->inputs);
        from = "work->q";
    }
    if (layer->kind == POLICY_DENSE) {
        products_call_write(out, image, l, from, to);
    } else {
        places_write(out, image, l, from, to);
    }
}

// Writes all calls of layer l.
static void
layer_calls_write(FILE *out, const policy_image *image, uint32_t l, const char *from,
                  const char *to)
{
    const policy_layer *layer = &image->spec.layers[l];
    layer_call_write(out, image, l, from, to);
    if (layer->layer_norm) {
        (void)fprintf(out, "    export_layer_norm(policy_g%u, policy_o%u, %u, %s);\n", l, l,
                      layer->outputs, to);
    }
    // No call for a ReLU before quantised inputs: export_quantize_relu gives the codes of relu(y).
    bool is_last = l + 1 == image->spec.layer_count;
    bool is_in_codes = layer->activation == POLICY_RELU && !is_last && is_quantized(image, l + 1);
    if (layer->activation != POLICY_LINEAR && !is_in_codes) {
        (void)fprintf(out,
                      "    for (uint32_t i = 0; i < %u; i++) {\n"
                      "        %s[i] = policy_%s(%s[i]);\n    }\n",
                      layer->outputs, to, policy_activation_name(layer->activation), to);
    }
}

static void
forward_write(FILE *out, const policy_image *image)
{
    const policy_spec *spec = &image->spec;
    bool is_integer = policy_is_integer(image->precision);
    const char *from = "observation", *to = "work->x";
    (void)fprintf(out,
                  "// Returns the outputs of the last layer, which lie in work, or NULL if a "
                  "number of the observation is\n"
                  "// not finite.\n"
                  "static inline const float *\n"
                  "policy_forward(policy_work *work, const %s *observation)\n"
                  "{\n"
                  "%s",
                  obs_type(spec), is_integer ? "    float scale;\n" : "");
    if (spec->obs_dtype == POLICY_F32) {
        (void)fprintf(out,
                      "    if (!export_is_finite(observation, %u)) {\n        return NULL;\n"
                      "    }\n",
                      spec->obs_count);
    }
    if (obs_is_copied(spec)) {
        (void)fprintf(out,
                      "    for (uint32_t i = 0; i < %u; i++) {\n"
                      "        work->x[i] = (float)observation[i];\n    }\n",
                      spec->obs_count);
        from = "work->x";
    }
    if (spec->normalise) {
        (void)fprintf(out, "    export_normalise(policy_mean0, policy_inverse0, %u, work->x);\n",
                      spec->obs_count);
    }
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        to = is_in_x(image, l, strcmp(from, "work->x") == 0) ? "work->x" : "work->y";
        layer_calls_write(out, image, l, from, to);
        from = to;
    }
    (void)fprintf(out, "    return %s;\n}\n", to);
}

static void
outputs_write(FILE *out, const policy_spec *spec)
{
    (void)fprintf(out,
                  "\n"
                  "// Writes the network's raw outputs [%u]. Returns 0, or 1 if a number of the "
                  "observation is not finite;\n"
                  "// then outputs is unchanged.\n"
                  "static inline int\n"
                  "policy_outputs(policy_work *work, const %s *observation, float *outputs)\n"
                  "{\n"
                  "    const float *y = policy_forward(work, observation);\n"
                  "    if (y == NULL) {\n"
                  "        return 1;\n"
                  "    }\n"
                  "    memcpy(outputs, y, %u * sizeof(float));\n"
                  "    return 0;\n"
                  "}\n",
                  policy_spec_outputs(spec), obs_type(spec), policy_spec_outputs(spec));
}

// Returns the NAME of the function export_NAME that turns outputs into actions.
static const char *
box_name(const policy_spec *spec)
{
    return spec->action_direct ? "direct" : spec->head == POLICY_HEAD_GAUSSIAN ? "clip" : "box";
}

// Writes the call that turns the numbers `from` into an action within its bounds.
static void
box_write(FILE *out, const policy_spec *spec, const char *from)
{
    (void)fprintf(out, "    export_%s(%s, policy_low0, policy_high0, %u, action);\n",
                  box_name(spec), from, spec->action_count);
}

static void
act_write(FILE *out, const policy_spec *spec)
{
    bool is_box = spec->action_kind == POLICY_BOX;
    if (is_box) {
        (void)fprintf(out,
                      "\n"
                      "// Writes the greedy action [%u], within its bounds.",
                      spec->action_count);
    } else {
        (void)fprintf(out,
                      "\n"
                      "// Writes the greedy action, 0 to %u.",
                      spec->action_count - 1);
    }
    (void)fprintf(out,
                  " Returns 0, or 1 if a number of the\n"
                  "// observation is not finite; then action is unchanged.\n"
                  "static inline int\n"
                  "policy_act(policy_work *work, const %s *observation, %s *action)\n"
                  "{\n"
                  "    const float *y = policy_forward(work, observation);\n"
                  "    if (y == NULL) {\n"
                  "        return 1;\n"
                  "    }\n",
                  obs_type(spec), is_box ? "float" : "int32_t");
    if (is_box) {
        box_write(out, spec, "y");
    } else if (spec->head == POLICY_HEAD_ATOMS) {
        float step = (spec->value_max - spec->value_min) / (float)(spec->atoms - 1);
        (void)fprintf(out, "    *action = export_atoms_argmax(y, %u, %u, %af, %af);\n",
                      spec->action_count, spec->atoms, (double)spec->value_min, (double)step);
    } else {
        (void)fprintf(out, "    *action = export_argmax(y, %u);\n", spec->action_count);
    }
    (void)fprintf(out, "    return 0;\n}\n");
}

static void
sample_write(FILE *out, const policy_spec *spec)
{
    bool is_box = spec->action_kind == POLICY_BOX;
    uint32_t n = spec->action_count;
    (void)fprintf(
        out,
        "\n"
        "// Samples an action from the policy's distribution and writes its log-probability, too, "
        "unless\n"
        "// log_prob is NULL. The caller owns rng: policy_rng_init(&rng, seed, stream) initialises "
        "it once, and\n"
        "// each stream gives another sequence. Returns 0, or 1 if a number of the observation is "
        "not finite;\n"
        "// then nothing is changed.\n"
        "static inline int\n"
        "policy_sample(policy_work *work, const %s *observation, policy_rng *rng, %s *action,\n"
        "    float *log_prob)\n"
        "{\n"
        "    const float *y = policy_forward(work, observation);\n"
        "    float drawn_log_prob;\n"
        "    if (y == NULL) {\n"
        "        return 1;\n"
        "    }\n",
        obs_type(spec), is_box ? "float" : "int32_t");
    if (is_box) {
        char deviation[32] = "policy_d0";
        if (!policy_spec_has_deviation(spec)) {
            (void)snprintf(deviation, sizeof(deviation), "y + %u", n);
        }
        (void)fprintf(out, "    drawn_log_prob = policy_draw_gaussian(y, %s, %u, rng, action);\n",
                      deviation, n);
        if (strcmp(box_name(spec), "box") == 0) {
            (void)fprintf(out, "    drawn_log_prob = export_squash(action, %u, drawn_log_prob);\n",
                          n);
        }
        box_write(out, spec, "action");
    } else {
        (void)fprintf(out, "    *action = policy_draw_softmax(y, %u, rng, &drawn_log_prob);\n", n);
    }
    (void)fprintf(out, "    if (log_prob != NULL) {\n        *log_prob = drawn_log_prob;\n    }\n"
                       "    return 0;\n}\n");
}

// ---- the head of a header

// Writes a text from the policy file into a // comment, so that it cannot end or continue the line.
static void
comment_add(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        bool plain =
            isascii(*text) && isprint((unsigned char)*text) && *text != '\\' && *text != '?';
        (void)fputc(plain ? *text : '_', out);
    }
}

// The lengths of the arrays in the work space; 0: the array is not needed.
typedef struct work_rows {
    uint32_t x; // floats
    uint32_t y; // floats
    uint32_t q; // codes of the inputs of a layer
    uint32_t p; // a patch of a convolution: codes if there is q, else floats
} work_rows;

static work_rows
work_rows_of(const policy_image *image)
{
    const policy_spec *spec = &image->spec;
    bool in_x = obs_is_copied(spec);
    work_rows rows = {.x = in_x ? spec->obs_count : 0};
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        const policy_layer *layer = &spec->layers[l];
        in_x = is_in_x(image, l, in_x);
        uint32_t *row = in_x ? &rows.x : &rows.y;
        *row = OCT_MAX(*row, layer->outputs);
        rows.q = is_quantized(image, l) ? OCT_MAX(rows.q, layer->inputs) : rows.q;
        if (layer->kind == POLICY_CONV) {
            rows.p = OCT_MAX(rows.p, policy_layer_columns(layer));
        }
    }
    return rows;
}

static void
work_write(writer *w)
{
    work_rows rows = work_rows_of(w->image);
    (void)fprintf(w->out, "\ntypedef struct %s_work {\n    float x[%u];\n", w->name, rows.x);
    if (rows.y > 0) {
        (void)fprintf(w->out, "    float y[%u];\n", rows.y);
    }
    if (rows.q > 0) {
        (void)fprintf(w->out, "    int16_t q[%u];\n", rows.q);
    }
    if (rows.p > 0) {
        (void)fprintf(w->out, "    %s p[%u];\n", rows.q > 0 ? "int16_t" : "float", rows.p);
    }
    (void)fprintf(w->out, "} %s_work;\n", w->name);
}

// Writes a comment on the meaning of an observation's numbers, as far as a policy file knows them:
// it does not contain the shape of the observation.
static void
obs_comment_write(FILE *out, const policy_spec *spec)
{
    const policy_layer *first = &spec->layers[0];
    if (first->kind == POLICY_CONV) {
        (void)fprintf(out,
                      "// observation: a map [rows][columns][channels], here [%u][%u][%u]%s.\n",
                      first->conv.rows.size, first->conv.columns.size, first->conv.channels,
                      spec->obs_dtype == POLICY_U8 ? ", of bytes" : "");
    } else if (spec->obs_dtype == POLICY_U8) {
        (void)fprintf(out,
                      "// observation: bytes. A map is [rows][columns][channels]; a discrete "
                      "observation, 0 to %u, is\n// one-hot: 1 at its number and 0 elsewhere.\n",
                      spec->obs_count - 1);
    }
}

// Writes a comment on the bounds of an action, one line for adjacent dimensions with equal bounds.
static void
bounds_comment_write(FILE *out, const policy_spec *spec)
{
    const float *low = spec->action_low, *high = spec->action_high;
    for (uint32_t i = 0, end; i < spec->action_count; i = end) {
        for (end = i + 1; end < spec->action_count && low[end] == low[i] && high[end] == high[i];) {
            end++;
        }
        (void)fprintf(out, "// action[%u]", i);
        if (end > i + 1) {
            (void)fprintf(out, " to action[%u]", end - 1);
        }
        if (isinf(low[i]) && isinf(high[i])) {
            (void)fprintf(out, ": not bounded.\n");
        } else {
            (void)fprintf(out, ": from %.9g to %.9g.\n", (double)low[i], (double)high[i]);
        }
    }
}

static void
repeat_comment_write(FILE *out, uint32_t action_repeat)
{
    if (action_repeat == 0) {
        (void)fputs("// The number of control steps for which an action was held in training "
                    "(action_repeat) is unknown: no\n"
                    "// readable config.yaml of a run was beside the policy file.\n",
                    out);
    } else if (action_repeat == 1) {
        (void)fputs("// Call it at every control step, as in training.\n", out);
    } else {
        (void)fprintf(out,
                      "// Call it once every %u control steps and hold the action in between: the "
                      "policy was trained with\n"
                      "// action_repeat=%u.\n",
                      action_repeat, action_repeat);
    }
}

static void
head_comment_write(const writer *w, const char *math)
{
    const policy_origin *origin = &w->image->origin;
    const policy_spec *spec = &w->image->spec;
    (void)fprintf(w->out, "// Policy %s for ", w->name);
    comment_add(w->out, spec->env_id[0] != '\0' ? spec->env_id : "an unknown environment");
    (void)fprintf(w->out, ", %s, ", policy_precision_name(w->image->precision));
    if (policy_origin_is_run(origin)) {
        (void)fprintf(w->out, "version %" PRIu64 " of run %016" PRIx64 " (", origin->version,
                      origin->run_id);
        comment_add(w->out, origin->run_name);
        (void)fprintf(w->out, ").\n");
    } else {
        (void)fprintf(w->out, "not from a run of Octet.\n");
    }
    (void)fprintf(w->out,
                  "// Made by octet export %s; export it again instead of changing it.\n"
                  "//\n"
                  "//     static %s_work work;   // %zu bytes; keeps nothing between calls\n"
                  "//     %s observation[%u];\n",
                  OCTET_VERSION, w->name, w->sizes.ram_bytes, obs_type(spec), spec->obs_count);
    if (spec->action_kind == POLICY_BOX) {
        (void)fprintf(w->out, "//     float action[%u];\n//     %s_act(&work, observation, action)",
                      spec->action_count, w->name);
    } else {
        (void)fprintf(w->out, "//     int32_t action;\n//     %s_act(&work, observation, &action)",
                      w->name);
    }
    (void)fprintf(w->out, "\n//\n");
    obs_comment_write(w->out, spec);
    if (spec->action_kind == POLICY_BOX) {
        bounds_comment_write(w->out, spec);
    }
    repeat_comment_write(w->out, w->action_repeat);
    (void)fprintf(w->out,
                  "//\n"
                  "// Plain C99: no allocation, no state; from libc it uses only memcpy%s. Include "
                  "it in one source file.\n"
                  "// It computes the bits of the policy file on every machine with IEEE-754 "
                  "single precision, as long as\n"
                  "// the compiler computes floats as written: never use -ffast-math or a part of "
                  "it, and use\n"
                  "// -ffp-contract=off if the compiler fuses multiplications and additions. "
                  "%s_self_test checks this.\n",
                  math, w->name);
}

// Writes the tests of compiler macros that select how products are computed on the target. gcc
// before 10 lacks the intrinsics.
static void
cores_write(const writer *w)
{
    if (w->image->precision == POLICY_INT8) {
        (void)fprintf(w->out,
                      "\n#if defined(__ARM_FEATURE_DSP) && \\\n"
                      "    (!defined(__GNUC__) || defined(__clang__) || __GNUC__ >= 10)\n"
                      "#include <arm_acle.h>\n#define %s_X_SMLAD\n#endif\n",
                      w->upper);
    }
    if (policy_is_integer(w->image->precision)) {
        (void)fprintf(w->out,
                      "\n#if defined(__riscv_mul) && !defined(__riscv_flen)\n"
                      "#define %s_X_SOFT_FLOAT\n#endif\n",
                      w->upper);
    }
}

static void
head_write(const writer *w, const char *math)
{
    const policy_spec *spec = &w->image->spec;
    (void)fprintf(w->out, "#include <float.h>\n%s#include <stdint.h>\n#include <string.h>\n\n",
                  math[0] != '\0' ? "#include <math.h>\n" : "");
    // Two names that differ only in case would give the same macros, and so would an older header
    // with another guard.
    (void)fprintf(w->out,
                  "#ifdef %s_POLICY\n"
                  "#error \"%s: a policy of this name, or of a name that differs only in case, is "
                  "already included\"\n"
                  "#endif\n"
                  "#define %s_POLICY\n"
                  "\n",
                  w->upper, w->name, w->upper);
    // FLT_EVAL_METHOD 16 is that of compilers with _Float16 (gcc with -march=native on a processor
    // with AVX512-FP16): wider types are computed in their own type, as with 0.
    // no-tree-slp-vectorize: in spite of fp-contract=off, this pass of gcc fuses operations if a
    // constant is added to one product and subtracted from the next (biases of a last layer).
    (void)fputs("#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || \\\n"
                "    defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__) || \\\n"
                "    (FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16) || \\\n"
                "    (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)\n"
                "#error \"floats must be computed as written, in single precision\"\n"
                "#endif\n"
                "#if defined(__GNUC__) && !defined(__clang__)\n"
                "#pragma GCC push_options\n"
                "#pragma GCC optimize(\"fp-contract=off\", \"no-tree-slp-vectorize\")\n"
                "#else\n"
                "#pragma STDC FP_CONTRACT OFF\n"
                "#endif\n",
                w->out);
    cores_write(w);
    (void)fprintf(w->out,
                  "\n#define %s_OBSERVATION_COUNT %u\n#define %s_OUTPUT_COUNT      %u\n"
                  "#define %s_ACTION_COUNT      %u\n#define %s_FLASH_BYTES       %zu\n"
                  "#define %s_RAM_BYTES         %zu\n",
                  w->upper, spec->obs_count, w->upper, policy_spec_outputs(spec), w->upper,
                  spec->action_count, w->upper, w->sizes.flash_bytes, w->upper, w->sizes.ram_bytes);
    if (w->action_repeat > 0) {
        (void)fprintf(w->out, "#define %s_ACTION_REPEAT     %u\n", w->upper, w->action_repeat);
    }
    export_contract_write(w->out, w->image, w->upper);
}

static void
foot_write(FILE *out)
{
    (void)fprintf(out, "\n#if defined(__GNUC__) && !defined(__clang__)\n"
                       "#pragma GCC pop_options\n"
                       "#else\n"
                       "#pragma STDC FP_CONTRACT DEFAULT\n"
                       "#endif\n");
}

static FILE *
stream_open(char **text, size_t *length)
{
    FILE *out = open_memstream(text, length);
    OCT_ASSERT(out != NULL);
    return out;
}

static char *
functions_text(const policy_image *image, bool with_sampling)
{
    char *text = NULL;
    size_t length;
    FILE *out = stream_open(&text, &length);
    forward_write(out, image);
    outputs_write(out, &image->spec);
    act_write(out, &image->spec);
    if (with_sampling) {
        sample_write(out, &image->spec);
    }
    export_self_test_write(out, image, with_sampling);
    OCT_ASSERT(fclose(out) == 0);
    return text;
}

// Returns the declarations and definitions of a header as text, without the guard; the caller frees
// it.
static char *
body_text(writer *w, const char *math, const char *arrays, const char *functions)
{
    char *text = NULL;
    size_t length;
    w->out = stream_open(&text, &length);
    head_write(w, math);
    work_write(w);
    parts_write(w, functions);
    (void)fprintf(w->out, "%s\n", arrays);
    text_rename(w, functions);
    foot_write(w->out);
    OCT_ASSERT(fclose(w->out) == 0);
    return text;
}

// Writes body with a guard, so that a source file includes it once. The value of the guard is a
// checksum of body: without it, a different header with the same name would silently be skipped.
// The guard is not called NAME_POLICY_H, because earlier headers have a guard of that name without
// a value and would be skipped, too.
static void
guarded_write(FILE *out, const char *name, const char *body)
{
    uint32_t sum = oct_crc32(0, body, strlen(body));
    (void)fprintf(out,
                  "\n"
                  "#ifndef %s_POLICY_SUM\n"
                  "#define %s_POLICY_SUM 0x%08" PRIx32 "u\n"
                  "\n"
                  "%s\n"
                  "#elif %s_POLICY_SUM != 0x%08" PRIx32 "u\n"
                  "#error \"another header with the name %s is already included; export one of the "
                  "two with another --name\"\n"
                  "#endif // %s_POLICY_SUM\n",
                  name, name, sum, body, name, sum, name, name);
}

void
export_c99(char **out, size_t *length, export_c99_sizes *sizes, const policy_image *image,
           const export_c99_options *options)
{
    const char *name = options->name;
    bool with_sampling = options->with_sampling;
    OCT_ASSERT(export_c99_name_is_valid(name));
    OCT_ASSERT(!with_sampling || policy_spec_extra_dim(&image->spec) > 0);
    writer w = {.image = image, .name = name, .action_repeat = options->action_repeat};
    for (size_t i = 0; name[i] != '\0'; i++) {
        w.upper[i] = (char)toupper((unsigned char)name[i]);
    }
    char *arrays = NULL, *functions = functions_text(image, with_sampling);
    size_t arrays_length;
    FILE *stream = stream_open(&arrays, &arrays_length);
    w.sizes.flash_bytes = export_arrays_write(stream, image, name, with_sampling);
    OCT_ASSERT(fclose(stream) == 0);
    work_rows rows = work_rows_of(image);
    size_t patch_bytes = rows.p * (rows.q > 0 ? sizeof(int16_t) : sizeof(float));
    w.sizes.ram_bytes =
        ((rows.x + rows.y) * sizeof(float) + rows.q * sizeof(int16_t) + patch_bytes + 3) / 4 * 4;
    bool has_root = text_names(functions, "export_layer_norm") ||
                    (with_sampling && image->spec.action_kind == POLICY_BOX);
    bool is_fused = !policy_is_integer(image->precision);
    const char *math = has_root && is_fused ? ", sqrtf and fmaf"
                       : has_root           ? " and sqrtf"
                       : is_fused           ? " and fmaf"
                                            : "";
    char *body = body_text(&w, math, arrays, functions);
    w.out = stream_open(out, length);
    head_comment_write(&w, math);
    guarded_write(w.out, name, body);
    OCT_ASSERT(fclose(w.out) == 0);
    free(body);
    free(arrays);
    free(functions);
    *sizes = w.sizes;
}
