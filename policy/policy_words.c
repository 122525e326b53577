// Reads layers as a person writes them, and makes the layers of a network from them.
#include "policy/policy_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"

#define TOKENS_MAX 6  // of one word
#define TOKEN_MAX  32 // bytes

typedef struct tokens {
    uint32_t count;
    char token[TOKENS_MAX][TOKEN_MAX];
} tokens;

static const struct {
    const char *name, *words;
} forms[] = {{"nature", "conv 32 8x8/4, conv 64 4x4/2, conv 64 3x3, dense 512"}};

// Cuts text[length] at spaces. Returns false if there are too many tokens, or one is too long.
static bool
tokens_cut(tokens *out, const char *text, size_t length)
{
    out->count = 0;
    for (size_t at = 0; at < length;) {
        size_t end = at;
        while (end < length && text[end] != ' ') {
            end++;
        }
        if (end > at && (out->count == TOKENS_MAX || end - at >= TOKEN_MAX)) {
            return false;
        }
        if (end > at) {
            char *token = out->token[out->count++];
            memcpy(token, text + at, end - at);
            token[end - at] = '\0';
        }
        at = end + 1;
    }
    return true;
}

// Reads a number of at most 7 digits and moves *text past it.
static bool
number_read(const char **text, uint32_t *out)
{
    int digits = 0;
    *out = 0;
    for (; **text >= '0' && **text <= '9' && digits < 7; digits++, (*text)++) {
        *out = *out * 10 + (uint32_t)(**text - '0');
    }
    return digits > 0;
}

// Reads "4" as 4 and 4, and "4x3" as 4 and 3. *is_one: it was one number.
static bool
pair_read(const char **text, uint32_t out[2], bool *is_one)
{
    if (!number_read(text, &out[0])) {
        return false;
    }
    *is_one = **text != 'x';
    out[1] = out[0];
    if (!*is_one) {
        (*text)++;
        return number_read(text, &out[1]);
    }
    return true;
}

// Reads KERNEL[/STRIDE][+PADDING].
static bool
kernel_read(const char *text, policy_word *word)
{
    bool is_one;
    word->stride[0] = word->stride[1] = 1;
    if (!pair_read(&text, word->kernel, &word->is_sequence)) {
        return false;
    }
    if (*text == '/') {
        text++;
        if (!pair_read(&text, word->stride, &is_one) || (word->is_sequence && !is_one)) {
            return false;
        }
    }
    if (*text == '+') {
        text++;
        if (!pair_read(&text, word->pad, &is_one) || (word->is_sequence && !is_one)) {
            return false;
        }
    }
    return *text == '\0';
}

static bool
activation_read(const char *name, policy_activation *out)
{
    for (int a = 0; a < POLICY_ACTIVATION_COUNT; a++) {
        if (strcmp(policy_activation_name((policy_activation)a), name) == 0) {
            *out = (policy_activation)a;
            return true;
        }
    }
    return false;
}

// Reads one word but for its kind, from token number `at` on.
static bool
word_read(const tokens *t, policy_word *word)
{
    uint32_t at = 1;
    const bool has_units = !policy_is_pool(word->kind);
    if (has_units) {
        const char *text = at < t->count ? t->token[at++] : "";
        if (!number_read(&text, &word->units) || *text != '\0') {
            return false;
        }
    }
    if (word->kind != POLICY_DENSE && (at >= t->count || !kernel_read(t->token[at++], word))) {
        return false;
    }
    if (at < t->count && strcmp(t->token[at], "norm") == 0) {
        word->layer_norm = true;
        at++;
    }
    if (at < t->count && activation_read(t->token[at], &word->activation)) {
        word->has_activation = true;
        at++;
    }
    return at == t->count;
}

static oct_err
word_parse(policy_words *out, const char *text, size_t length, oct_reason *why)
{
    static const policy_layer_kind kinds[] = {POLICY_DENSE, POLICY_CONV, POLICY_MAX_POOL,
                                              POLICY_MEAN_POOL};
    const char *shape = "dense N, conv N HxW[/S][+P], pool HxW[/S][+P] or mean HxW[/S][+P], then "
                        "optionally norm and an activation";
    policy_word word = {.kind = POLICY_DENSE};
    tokens t;
    if (out->count == OCT_COUNTOF(out->word)) {
        return oct_refuse(why, "more than %zu layers", OCT_COUNTOF(out->word));
    }
    bool is_read = tokens_cut(&t, text, length) && t.count > 0;
    for (size_t i = 0; is_read && i < OCT_COUNTOF(kinds); i++) {
        if (strcmp(t.token[0], policy_kind_name(kinds[i])) == 0) {
            word.kind = kinds[i];
            if (!word_read(&t, &word)) {
                break;
            }
            out->word[out->count++] = word;
            return OCT_OK;
        }
    }
    int shown = (int)OCT_MIN(length, 60u);
    return oct_refuse(why, "\"%.*s\" is not a layer; a layer is %s", shown, text, shape);
}

oct_err
policy_words_parse(policy_words *out, const char *text, oct_reason *why)
{
    *out = (policy_words){0};
    const char *at = text + strspn(text, " ");
    while (*at != '\0') {
        size_t length = strcspn(at, ",");
        size_t trimmed = length;
        while (trimmed > 0 && at[trimmed - 1] == ' ') {
            trimmed--;
        }
        const char *form = NULL;
        for (size_t i = 0; i < OCT_COUNTOF(forms); i++) {
            bool is_it =
                strlen(forms[i].name) == trimmed && memcmp(forms[i].name, at, trimmed) == 0;
            form = is_it ? forms[i].words : form;
        }
        for (; form != NULL && *form != '\0'; form += strspn(form, ", ")) {
            size_t piece = strcspn(form, ",");
            OCT_TRY(word_parse(out, form, piece, why));
            form += piece;
        }
        if (form == NULL) {
            OCT_TRY(word_parse(out, at, trimmed, why));
        }
        at += length;
        bool has_comma = *at == ',';
        at += has_comma ? 1 : 0;
        at += strspn(at, " ");
        if (has_comma && *at == '\0') {
            return oct_refuse(why, "the list ends with a comma");
        }
    }
    return OCT_OK;
}

oct_err
policy_words_short(policy_words *out, const uint32_t *filters, uint32_t conv_count,
                   const uint32_t *hidden, uint32_t hidden_count, oct_reason *why)
{
    *out = (policy_words){.count = conv_count + hidden_count};
    if (conv_count + hidden_count > OCT_COUNTOF(out->word)) {
        return oct_refuse(why, "%u convolutions and %u hidden layers, allowed %zu in all",
                          conv_count, hidden_count, OCT_COUNTOF(out->word));
    }
    for (uint32_t l = 0; l < conv_count; l++) {
        out->word[l] = (policy_word){
            .kind = POLICY_CONV, .units = filters[l], .kernel = {3, 3}, .stride = {1, 1}};
    }
    for (uint32_t l = 0; l < hidden_count; l++) {
        out->word[conv_count + l] = (policy_word){.kind = POLICY_DENSE, .units = hidden[l]};
    }
    return OCT_OK;
}

// ---- layers from words

// What the next layer reads: a map, or numbers in a row.
typedef struct reading {
    bool is_map;
    uint32_t rows, columns, channels;
    uint64_t count;
} reading;

policy_layer_text
policy_layer_word(const policy_layer *layer)
{
    policy_layer_text out;
    const policy_axis *y = &layer->conv.rows, *x = &layer->conv.columns;
    char kernel[40] = "", stride[12] = "", pad[32] = "";
    if (layer->kind == POLICY_DENSE) {
        (void)snprintf(out.text, sizeof(out.text), "dense %u", layer->outputs);
        return out;
    }
    (void)snprintf(kernel, sizeof(kernel), "%ux%u", y->kernel, x->kernel);
    if (y->stride != x->stride) {
        (void)snprintf(stride, sizeof(stride), "/%ux%u", y->stride, x->stride);
    } else if (y->stride != 1) {
        (void)snprintf(stride, sizeof(stride), "/%u", y->stride);
    }
    if (y->before != y->after || x->before != x->after) {
        (void)snprintf(pad, sizeof(pad), "+%u,%u,%u,%u", y->before, x->before, y->after, x->after);
    } else if (y->before != x->before) {
        (void)snprintf(pad, sizeof(pad), "+%ux%u", y->before, x->before);
    } else if (y->before > 0) {
        (void)snprintf(pad, sizeof(pad), "+%u", y->before);
    }
    if (layer->kind == POLICY_CONV) {
        (void)snprintf(out.text, sizeof(out.text), "conv %u %s%s%s", layer->conv.filters, kernel,
                       stride, pad);
    } else {
        (void)snprintf(out.text, sizeof(out.text), "%s %s%s%s", policy_kind_name(layer->kind),
                       kernel, stride, pad);
    }
    return out;
}

// Reads the observation as the map that a kernel of two numbers, or of one, moves over.
static oct_err
map_of(const policy_spec *spec, bool is_sequence, reading *map, oct_reason *why)
{
    const uint32_t *shape = spec->obs_shape, rank = spec->obs_rank;
    map->is_map = true;
    if (is_sequence && (rank == 1 || rank == 2)) {
        map->rows = shape[0];
        map->columns = 1;
        map->channels = rank == 2 ? shape[1] : 1;
        return OCT_OK;
    }
    if (!is_sequence && (rank == 2 || rank == 3)) {
        map->rows = shape[0];
        map->columns = shape[1];
        map->channels = rank == 3 ? shape[2] : 1;
        return OCT_OK;
    }
    return oct_refuse(why, "%s observations of %s, but those of %.100s have rank %u",
                      is_sequence ? "kernels of one number need" : "convolutions need",
                      is_sequence ? "steps x channels" : "rows x columns x channels", spec->env_id,
                      rank);
}

static policy_axis
axis_of(const policy_word *word, int axis, uint32_t size)
{
    bool is_flat = word->is_sequence && axis == 1;
    return (policy_axis){
        .size = size,
        .kernel = is_flat ? 1 : word->kernel[axis],
        .stride = is_flat ? 1 : word->stride[axis],
        .before = is_flat ? 0 : word->pad[axis],
        .after = is_flat ? 0 : word->pad[axis],
    };
}

// Makes layer l of a convolution or pool over *map, and sets *map to its outputs.
static oct_err
set_kernel(policy_layer *layer, const policy_word *word, reading *map, uint32_t l, oct_reason *why)
{
    layer->conv = (policy_conv){
        .rows = axis_of(word, 0, map->rows),
        .columns = axis_of(word, 1, map->columns),
        .channels = map->channels,
        .filters = word->kind == POLICY_CONV ? word->units : map->channels,
    };
    const policy_axis *y = &layer->conv.rows, *x = &layer->conv.columns;
    if (y->size + y->before + y->after < y->kernel || x->size + x->before + x->after < x->kernel) {
        return oct_refuse(why, "layer %u (%s) reads %u x %u of %u; its kernel is %u x %u", l + 1,
                          policy_layer_word(layer).text, map->rows, map->columns, map->channels,
                          y->kernel, x->kernel);
    }
    if (y->kernel < 1 || x->kernel < 1 || y->stride < 1 || x->stride < 1 ||
        y->kernel > POLICY_KERNEL_MAX || x->kernel > POLICY_KERNEL_MAX ||
        y->stride > POLICY_KERNEL_MAX || x->stride > POLICY_KERNEL_MAX || y->before >= y->kernel ||
        x->before >= x->kernel) {
        return oct_refuse(why,
                          "layer %u (%s): kernels and strides are 1..%d, and padding is less than "
                          "its kernel",
                          l + 1, policy_layer_word(layer).text, POLICY_KERNEL_MAX);
    }
    map->rows = policy_axis_positions(y);
    map->columns = policy_axis_positions(x);
    map->channels = layer->conv.filters;
    map->count = (uint64_t)map->rows * map->columns * map->channels;
    return OCT_OK;
}

static oct_err
set_word(policy_spec *spec, uint32_t l, const policy_word *word, reading *map, oct_reason *why)
{
    policy_layer *layer = &spec->layers[l];
    layer->inputs = (uint32_t)map->count;
    layer->layer_norm = word->layer_norm;
    layer->outputs = word->units;
    if (word->kind == POLICY_DENSE) {
        map->is_map = false;
        map->count = word->units;
    } else {
        if (l == 0) {
            OCT_TRY(map_of(spec, word->is_sequence, map, why));
        } else if (!map->is_map) {
            return oct_refuse(why, "layer %u (%s) stands after a dense layer", l + 1,
                              policy_kind_name(word->kind));
        }
        if (word->is_sequence && map->columns > 1) {
            return oct_refuse(why,
                              "layer %u (%s) has a kernel of one number, which moves along "
                              "sequences, and reads %u x %u of %u",
                              l + 1, policy_kind_name(word->kind), map->rows, map->columns,
                              map->channels);
        }
        if (l == 0 && policy_is_pool(word->kind)) {
            return oct_refuse(why, "the first layer is a pool; a layer with weights comes first");
        }
        OCT_TRY(set_kernel(layer, word, map, l, why));
    }
    if (map->count < 1 || map->count > POLICY_MAP_MAX) {
        return oct_refuse(why, "layer %u has %" PRIu64 " outputs, allowed 1..%u", l + 1, map->count,
                          POLICY_MAP_MAX);
    }
    layer->outputs = (uint32_t)map->count;
    if (layer->layer_norm && word->kind != POLICY_DENSE) {
        return oct_refuse(why, "layer %u (%s) has a norm, which only dense layers can have", l + 1,
                          policy_layer_word(layer).text);
    }
    if (spec->obs_count > POLICY_WIDTH_MAX) {
        return OCT_OK; // policy_spec_check says that the observation is too large
    }
    if (policy_layer_rows(layer) > POLICY_WIDTH_MAX ||
        policy_layer_columns(layer) > POLICY_WIDTH_MAX) {
        return oct_refuse(why, "layer %u (%s) has weights of %u x %u, allowed 1..%d each", l + 1,
                          policy_layer_word(layer).text, policy_layer_rows(layer),
                          policy_layer_columns(layer), POLICY_WIDTH_MAX);
    }
    return OCT_OK;
}

oct_err
policy_spec_set_words(policy_spec *spec, const policy_words *words, policy_activation activation,
                      uint32_t outputs, oct_reason *why)
{
    reading map = {.count = spec->obs_count};
    for (uint32_t l = 0; l < words->count; l++) {
        const policy_word *word = &words->word[l];
        spec->layers[l] = (policy_layer){
            .kind = word->kind,
            .activation = word->has_activation         ? word->activation
                          : policy_is_pool(word->kind) ? POLICY_LINEAR
                                                       : activation,
        };
        OCT_TRY(set_word(spec, l, word, &map, why));
    }
    spec->layers[words->count] = (policy_layer){
        .kind = POLICY_DENSE,
        .inputs = (uint32_t)map.count,
        .outputs = outputs,
        .activation = POLICY_LINEAR,
    };
    spec->layer_count = words->count + 1;
    if (map.count > POLICY_WIDTH_MAX) {
        return oct_refuse(why, "the last layer reads %" PRIu64 " numbers, allowed 1..%d", map.count,
                          POLICY_WIDTH_MAX);
    }
    return OCT_OK;
}
