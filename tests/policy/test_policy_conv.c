// Convolutions: the reference against their definition, every instruction set against the
// reference, what specs and files with them are refused.
#include "common/oct_reason.h"
#include "policy/policy_activate.h"
#include "policy/policy_math.h"
#include "policy/policy_net.h"
#include "tests/policy/random_policy.h"
#include "tests/policy/small_policy.h"

static const policy_isa isas[] = {POLICY_ISA_REF, POLICY_ISA_AVX2, POLICY_ISA_AVXVNNI,
                                  POLICY_ISA_VNNI, POLICY_ISA_NEON};
static const policy_precision precisions[] = {POLICY_FP32, POLICY_BF16, POLICY_FP16, POLICY_INT8,
                                              POLICY_INT4};

// One convolution (and the dense layer that has to follow) as the tests want it.
static policy_spec
small_spec(void)
{
    return random_conv_spec(5, 4, 2, 3, (uint32_t[]){3}, 1, (uint32_t[]){6}, 1, 2, POLICY_RELU);
}

// ---- the definition

static float
number_weight(const policy_image *image, uint32_t l, size_t at)
{
    return image->precision == POLICY_BF16   ? policy_bf16_to_float(image->halves[l][at])
           : image->precision == POLICY_FP16 ? policy_fp16_to_float(image->halves[l][at])
                                             : image->weights[l][at];
}

typedef struct place {
    uint32_t row, column, filter;
} place;

// The number of the map under number k of a filter's weights, or 0 around the map.
static float
under(const policy_conv *conv, const float *x, place at, uint32_t k)
{
    const policy_axis *rows = &conv->rows, *columns = &conv->columns;
    uint32_t c = k % conv->channels, j = k / conv->channels % columns->kernel;
    uint32_t i = k / conv->channels / columns->kernel;
    int64_t row = (int64_t)at.row * rows->stride + i - rows->before;
    int64_t column = (int64_t)at.column * columns->stride + j - columns->before;
    bool is_inside = row >= 0 && row < rows->size && column >= 0 && column < columns->size;
    return is_inside ? x[(row * columns->size + column) * conv->channels + c] : 0.0f;
}

static float
place_floats(const policy_image *image, const float *x, place at)
{
    const policy_layer *layer = &image->spec.layers[0];
    uint32_t columns = policy_layer_columns(layer);
    float chain[4] = {0};
    for (uint32_t k = 0; k < columns; k++) {
        float weight = number_weight(image, 0, (size_t)at.filter * columns + k);
        chain[k % 4] = fmaf(under(&layer->conv, x, at, k), weight, chain[k % 4]);
    }
    return (chain[0] + chain[1]) + (chain[2] + chain[3]) + image->bias[0][at.filter];
}

// Codes of the whole map on one grid; the sum over the numbers under the filter, exactly.
static float
place_codes(const policy_image *image, const float *x, place at)
{
    const policy_layer *layer = &image->spec.layers[0];
    uint32_t columns = policy_layer_columns(layer);
    float lo = 0.0f, hi = 0.0f;
    for (uint32_t i = 0; i < layer->inputs; i++) {
        lo = x[i] < lo ? x[i] : lo;
        hi = x[i] > hi ? x[i] : hi;
    }
    policy_affine grid = policy_affine_of(lo, hi);
    int8_t *weights = oct_alloc(columns);
    policy_image_row(image, 0, at.filter, weights);
    int64_t sum = 0;
    for (uint32_t k = 0; k < columns; k++) {
        float input = under(&layer->conv, x, at, k);
        int32_t code = policy_round(input * grid.inverse) + grid.zero_point;
        code = code < 0 ? 0 : code > 255 ? 255 : code;
        sum += (int64_t)(code - grid.zero_point) * weights[k];
    }
    free(weights);
    float scale = grid.scale * image->scales[0][at.filter];
    return (float)sum * scale + image->bias[0][at.filter];
}

// y[outputs] = layer 0 of x[inputs], number by number.
static void
define(const policy_image *image, const float *x, float *y)
{
    const policy_layer *layer = &image->spec.layers[0];
    const policy_conv *conv = &layer->conv;
    uint32_t across = policy_axis_positions(&conv->columns);
    for (uint32_t o = 0; o < layer->outputs; o++) {
        place at = {o / conv->filters / across, o / conv->filters % across, o % conv->filters};
        float h = policy_is_integer(image->precision) ? place_codes(image, x, at)
                                                      : place_floats(image, x, at);
        y[o] = policy_activate(layer->activation, h);
    }
}

static void
forward(const policy_image *image, policy_isa isa, const float *obs, uint32_t B, float **out)
{
    policy_net *net;
    *out = NULL;
    if (policy_net_create(&net, image, isa) != OCT_OK) {
        return;
    }
    policy_scratch *scratch = policy_scratch_create(&image->spec, B);
    *out = oct_alloc((size_t)B * policy_spec_outputs(&image->spec) * sizeof(float));
    policy_forward(net, scratch, obs, image->spec.obs_count * sizeof(float), B, *out);
    policy_scratch_destroy(scratch);
    policy_net_destroy(net);
}

// y[outputs] = pool l of x[inputs], number by number.
static void
define_pool(const policy_layer *layer, const float *x, float *y)
{
    const policy_conv *conv = &layer->conv;
    const uint32_t across = policy_axis_positions(&conv->columns), channels = conv->channels;
    for (uint32_t o = 0; o < layer->outputs; o++) {
        int64_t top = (int64_t)(o / channels / across) * conv->rows.stride - conv->rows.before;
        int64_t left =
            (int64_t)(o / channels % across) * conv->columns.stride - conv->columns.before;
        float most = -INFINITY, sum = 0, count = 0;
        for (int64_t i = top; i < top + conv->rows.kernel; i++) {
            for (int64_t j = left; j < left + conv->columns.kernel; j++) {
                if (i >= 0 && i < conv->rows.size && j >= 0 && j < conv->columns.size) {
                    float number = x[(i * conv->columns.size + j) * channels + o % channels];
                    most = number > most ? number : most;
                    sum = count > 0 ? sum + number : number;
                    count++;
                }
            }
        }
        y[o] =
            policy_activate(layer->activation, layer->kind == POLICY_MAX_POOL ? most : sum / count);
    }
}

// The layers of an image from number `first` on as a policy of their own.
static policy_image *
image_tail(const policy_image *image, uint32_t first)
{
    policy_spec spec = image->spec;
    policy_image *tail;
    spec.obs_count = spec.layers[first].inputs;
    spec.layer_count -= first;
    memmove(spec.layers, spec.layers + first, spec.layer_count * sizeof(spec.layers[0]));
    T_OK(policy_image_create(&tail, &spec, image->precision));
    for (uint32_t l = 0; l < spec.layer_count; l++) {
        const policy_layer *layer = &spec.layers[l];
        size_t count = policy_layer_weights(layer), rows = policy_layer_rows(layer);
        if (image->precision == POLICY_FP32) {
            memcpy(tail->weights[l], image->weights[l + first], count * sizeof(float));
        } else if (policy_is_integer(image->precision)) {
            memcpy(tail->codes[l], image->codes[l + first], count);
            memcpy(tail->scales[l], image->scales[l + first], rows * sizeof(float));
        } else {
            memcpy(tail->halves[l], image->halves[l + first], count * sizeof(uint16_t));
        }
        if (image->precision == POLICY_INT4) {
            memcpy(tail->multipliers[l], image->multipliers[l + first],
                   rows * policy_int4_groups(policy_layer_columns(layer)));
        }
        memcpy(tail->bias[l], image->bias[l + first], rows * sizeof(float));
    }
    return tail;
}

// The reference's outputs are those of the layers behind the definition's.
static void
check_definition(const policy_spec *spec, policy_precision precision, oct_rng *rng)
{
    const policy_layer *second = &spec->layers[1];
    const bool has_pool = policy_is_pool(second->kind);
    policy_image *image = random_image(spec, precision, false, rng);
    policy_image *tail = image_tail(image, has_pool ? 2 : 1);
    float *obs = oct_alloc(spec->obs_count * sizeof(float));
    float *middle = oct_alloc(spec->layers[0].outputs * sizeof(float)), *got, *want;
    random_floats(obs, spec->obs_count, 2.0f, rng);
    define(image, obs, middle);
    if (has_pool) {
        float *pooled = oct_alloc(second->outputs * sizeof(float));
        define_pool(second, middle, pooled);
        free(middle);
        middle = pooled;
    }
    forward(image, POLICY_ISA_REF, obs, 1, &got);
    forward(tail, POLICY_ISA_REF, middle, 1, &want);
    assert_memory_equal(got, want, policy_spec_outputs(spec) * sizeof(float));
    free(got);
    free(want);
    free(obs);
    free(middle);
    policy_image_destroy(tail);
    policy_image_destroy(image);
}

static void
test_the_reference_computes_the_definition(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 41, 1);
    for (uint32_t n = 0; n < 24 * OCT_COUNTOF(precisions); n++) {
        policy_spec spec = random_small_conv_spec(&rng);
        check_definition(&spec, precisions[n / 24], &rng);
    }
}

// Shapes of networks that people use, and kernels of every size.
static const struct {
    uint32_t shape[3];
    const char *words;
} networks[] = {
    {{36, 36, 4}, "nature"},
    {{20, 21, 3}, "conv 16 3x3+1, pool 3x3/2+1, conv 32 3x3+1, pool 3x3/2+1, dense 33"},
    {{9, 9, 2}, "conv 5 2x2, pool 2x2/2, conv 7 2x2, dense 8 tanh"},
    {{16, 16, 1}, "conv 3 16x16"},
    {{17, 19, 1}, "conv 17 16x16/3+15, mean 2x3/2x1"},
    {{1, 40, 3}, "conv 8 1x8/4, conv 4 1x3+0x1, mean 1x9/9"},
    {{13, 1, 5}, "conv 20 5x1/2+2x0, pool 7x1"},
};

// ---- parity

static void
expect_reference(const policy_spec *spec, policy_precision precision, uint32_t B, oct_rng *rng)
{
    policy_image *image = random_image(spec, precision, false, rng);
    float *obs = oct_alloc((size_t)B * spec->obs_count * sizeof(float)), *want, *got;
    random_floats(obs, (size_t)B * spec->obs_count, 2.0f, rng);
    forward(image, POLICY_ISA_REF, obs, B, &want);
    for (size_t i = 1; i < OCT_COUNTOF(isas); i++) {
        forward(image, isas[i], obs, B, &got);
        if (got != NULL) {
            assert_memory_equal(got, want, B * policy_spec_outputs(spec) * sizeof(float));
        }
        free(got);
    }
    free(want);
    free(obs);
    policy_image_destroy(image);
}

static void
test_every_instruction_set_gives_the_bits_of_the_reference(void **state)
{
    (void)state;
    static const uint32_t channels[] = {1, 2, 3, 5, 7, 10, 16, 17};
    static const uint32_t filters[] = {16, 1, 15, 17, 32, 3, 8, 33};
    static const uint32_t batches[] = {1, 2, 3, 16, 17, 31, 33};
    oct_rng rng;
    oct_rng_init(&rng, 42, 1);
    for (size_t n = 0; n < 8 * OCT_COUNTOF(precisions); n++) {
        uint32_t both[2] = {filters[n % 8], filters[(n + 3) % 8]}, hidden = 33 + (uint32_t)n;
        uint32_t height = 5 + oct_rng_below(&rng, 6), width = 5 + oct_rng_below(&rng, 6);
        policy_spec spec =
            random_conv_spec(height, width, channels[n % 8], 1 + 2 * (n % 2), both, 1 + n % 3 / 2,
                             &hidden, 1, 5, (policy_activation)((n + 1) % POLICY_ACTIVATION_COUNT));
        expect_reference(&spec, precisions[n / 8], batches[n % OCT_COUNTOF(batches)], &rng);
    }
    for (size_t n = 0; n < OCT_COUNTOF(networks) * OCT_COUNTOF(precisions); n++) {
        size_t network = n % OCT_COUNTOF(networks), p = n / OCT_COUNTOF(networks);
        policy_spec spec =
            random_words_spec(networks[network].shape, networks[network].words,
                              (policy_activation)(n % POLICY_ACTIVATION_COUNT), 1 + n % 19);
        expect_reference(&spec, precisions[p], n % 2 == 0 ? 1 : 3, &rng);
    }
    for (size_t n = 0; n < 12 * OCT_COUNTOF(precisions); n++) {
        policy_spec spec = random_small_conv_spec(&rng);
        expect_reference(&spec, precisions[n / 12], batches[n % OCT_COUNTOF(batches)], &rng);
    }
}

// Rows of a batch are those of one at a time.
static void
test_a_batch_gives_the_bits_of_single_observations(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 43, 1);
    policy_spec spec =
        random_conv_spec(10, 10, 4, 3, (uint32_t[]){16}, 1, (uint32_t[]){128}, 1, 6, POLICY_RELU);
    for (size_t p = 0; p < OCT_COUNTOF(precisions); p++) {
        policy_image *image = random_image(&spec, precisions[p], false, &rng);
        float *obs = oct_alloc(37 * 400 * sizeof(float)), *all, *one;
        random_floats(obs, 37 * 400, 1.0f, &rng);
        for (size_t i = 0; i < OCT_COUNTOF(isas); i++) {
            forward(image, isas[i], obs, 37, &all);
            for (size_t b = 0; all != NULL && b < 37; b += 9) {
                forward(image, isas[i], obs + b * 400, 1, &one);
                assert_memory_equal(one, all + b * 6, 6 * sizeof(float));
                free(one);
            }
            free(all);
        }
        free(obs);
        policy_image_destroy(image);
    }
}

// MinAtar: zeros and ones in bytes are floats of the same value.
static void
test_bytes_are_read_as_numbers(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 44, 1);
    policy_spec spec =
        random_conv_spec(10, 10, 4, 3, (uint32_t[]){16}, 1, (uint32_t[]){128}, 1, 6, POLICY_RELU);
    policy_image *image = random_image(&spec, POLICY_INT8, false, &rng);
    static uint8_t bytes[19][400];
    static float floats[19 * 400];
    for (size_t i = 0; i < OCT_COUNTOF(floats); i++) {
        bytes[i / 400][i % 400] = i / 400 != 3 && oct_rng_below(&rng, 8) == 0;
        floats[i] = (float)bytes[i / 400][i % 400];
    }
    for (size_t i = 0; i < OCT_COUNTOF(isas); i++) {
        float *want, y[19 * 6];
        policy_net *net;
        image->spec.obs_dtype = POLICY_F32;
        forward(image, isas[i], floats, 19, &want);
        image->spec.obs_dtype = POLICY_U8;
        if (want != NULL) {
            T_OK(policy_net_create(&net, image, isas[i]));
            policy_scratch *scratch = policy_scratch_create(&image->spec, 19);
            policy_forward(net, scratch, bytes, 400, 19, y);
            assert_memory_equal(y, want, sizeof(y));
            policy_scratch_destroy(scratch);
            policy_net_destroy(net);
        }
        free(want);
    }
    policy_image_destroy(image);
}

// ---- what is refused

static void
expect_refused(policy_spec spec, const char *words)
{
    oct_reason why = {""};
    T_ERR(policy_spec_check(&spec, &why), OCT_EINVAL);
    if (strstr(why.text, words) == NULL) {
        print_error("\"%s\" has no \"%s\"\n", why.text, words);
        fail();
    }
}

static void
test_a_geometry_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    policy_spec good = small_spec(), spec;
    T_OK(policy_spec_check(&good, NULL));
#define EXPECT(change, words)                                                                      \
    spec = good;                                                                                   \
    change;                                                                                        \
    expect_refused(spec, words)
    policy_conv *conv = &spec.layers[0].conv;
    EXPECT(conv->rows.kernel = 0, "a kernel of 0 rows in steps of 1, allowed 1..16 each");
    EXPECT(conv->columns.kernel = 17, "a kernel of 17 columns in steps of 1, allowed 1..16 each");
    EXPECT(conv->rows.stride = 0, "a kernel of 3 rows in steps of 0, allowed 1..16 each");
    EXPECT(conv->columns.stride = 17, "a kernel of 3 columns in steps of 17, allowed 1..16 each");
    EXPECT(conv->columns.before = 3, "a padding of 3 and 0 columns, allowed 0..2 each");
    EXPECT(conv->rows.after = UINT32_MAX, "a padding of 0 and 4294967295 rows, allowed 0..2 each");
    EXPECT(conv->columns.kernel = 5, "a map of 4 columns is smaller than its kernel of 5");
    EXPECT(conv->rows.kernel = 2, "40 inputs and 18 outputs, its geometry has 40 and 24");
    EXPECT(conv->rows.stride = 2, "40 inputs and 18 outputs, its geometry has 40 and 12");
    EXPECT(conv->rows.after = 2, "40 inputs and 18 outputs, its geometry has 40 and 30");
    EXPECT(conv->rows.size = 0, "allowed 1..65536 each");
    EXPECT(conv->channels = UINT32_MAX, "allowed 1..65536 each");
    EXPECT(conv->filters = 0, "allowed 1..65536 each");
    EXPECT((conv->rows.size = 65536, conv->columns.size = 65536),
           "its geometry has 8589934592 and");
    EXPECT(spec.layers[0].layer_norm = true, "a convolution with a layer norm");
    EXPECT(spec.layers[0].outputs = 19, "19 outputs");
    EXPECT(spec.layers[0].inputs = 41, "41 inputs, 40 come in");
    EXPECT(spec.layer_count = 1, "the last layer is a convolution");
    EXPECT(spec.layers[0].kind = POLICY_MAX_POOL, "the first layer is a pool");
    EXPECT((spec.layers[1] = spec.layers[0],
            spec.layers[0] = (policy_layer){.kind = POLICY_DENSE, .inputs = 40, .outputs = 40}),
           "a convolution or pool after a dense layer");
    EXPECT(spec.layers[1].kind = 5, "unknown kind 5");
    good = random_words_spec((const uint32_t[]){5, 4, 2}, "conv 3 2x2, pool 2x2", POLICY_RELU, 2);
    EXPECT(spec.layers[1].conv.filters = 2, "18 outputs, its geometry has 36 and 12");
    EXPECT(spec.layers[1].conv.channels = 2, "36 inputs and 18 outputs, its geometry has 24 and");
    EXPECT(spec.layers[1].layer_norm = true, "a pool with a layer norm");
#undef EXPECT
}

// ---- files

static void
expect_format(const policy_spec *spec, uint8_t format, oct_rng *rng)
{
    for (size_t p = 0; p <= OCT_COUNTOF(precisions); p++) {
        oct_reason why = {""};
        bool per_tensor = p == OCT_COUNTOF(precisions); // pools have no scale then either
        policy_precision precision = per_tensor ? POLICY_INT8 : precisions[p];
        policy_image *image = random_image(spec, precision, per_tensor, rng), *again;
        size_t length = policy_encoded_size(image);
        uint8_t *bytes = oct_alloc(length), *twice = oct_alloc(length);
        policy_encode(image, bytes);
        assert_int_equal(bytes[4], format);
        T_OK(policy_decode(&again, bytes, length, &why));
        assert_true(policy_spec_equal(&again->spec, spec));
        policy_encode(again, twice);
        assert_memory_equal(twice, bytes, length);
        for (uint8_t version = 1; version < format; version++) {
            bytes[4] = version;
            mend_bytes(bytes, length);
            policy_image *none;
            T_ERR(policy_decode(&none, bytes, length, &why), OCT_EPROTO);
            assert_true(why.text[0] != '\0');
        }
        policy_image_destroy(again);
        policy_image_destroy(image);
        free(bytes);
        free(twice);
    }
}

static void
test_files_have_the_least_format_that_can_say_their_kernels(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 45, 1);
    policy_spec spec = small_spec();
    expect_format(&spec, 3, &rng);
    static const char *const words[] = {
        "conv 3 3x3/2",   "conv 3 3x3+1",   "conv 3 2x3",           "conv 3 8x8",
        "conv 3 1x3/1x2", "conv 3 3x3+0x1", "conv 3 3x3, pool 2x2", "conv 3 3x3, mean 2x2/2",
    };
    for (size_t i = 0; i < OCT_COUNTOF(words); i++) {
        spec = random_words_spec((const uint32_t[]){9, 8, 2}, words[i], POLICY_RELU, 3);
        expect_format(&spec, 7, &rng);
    }
}

// Where the geometry of layer 0 begins: the first place with these four numbers.
static size_t
geometry_at(const uint8_t *bytes, size_t length, const policy_conv *conv)
{
    const uint32_t numbers[4] = {conv->rows.size, conv->columns.size, conv->channels,
                                 conv->filters};
    for (size_t at = 0; at + sizeof(numbers) <= length; at++) {
        if (memcmp(bytes + at, numbers, sizeof(numbers)) == 0) {
            return at;
        }
    }
    fail();
    return 0;
}

typedef struct hostile {
    size_t at;
    uint32_t number, size;
    const char *words;
} hostile;

static void
expect_bytes_refused(const policy_spec *spec, const hostile *cases, size_t count)
{
    oct_rng rng;
    oct_rng_init(&rng, 46, 1);
    policy_image *image = random_image(spec, POLICY_INT8, false, &rng), *none;
    size_t length = policy_encoded_size(image);
    uint8_t *bytes = oct_alloc(length);
    for (size_t i = 0; i < count; i++) {
        oct_reason why = {""};
        policy_encode(image, bytes);
        size_t at = geometry_at(bytes, length, &spec->layers[0].conv) + cases[i].at;
        memcpy(bytes + at, &cases[i].number, cases[i].size);
        mend_bytes(bytes, length);
        T_ERR(policy_decode(&none, bytes, length, &why), OCT_EPROTO);
        if (strstr(why.text, cases[i].words) == NULL) {
            print_error("\"%s\" has no \"%s\"\n", why.text, cases[i].words);
            fail();
        }
    }
    free(bytes);
    policy_image_destroy(image);
}

static void
test_bytes_of_another_geometry_are_refused(void **state)
{
    (void)state;
    static const hostile old[] = {
        {0, UINT32_MAX, 4, "allowed 1..65536 each"},
        {0, 0, 4, "allowed 1..65536 each"},
        {4, 65536, 4, "its geometry has"},
        {8, 0x80000000u, 4, "allowed 1..65536 each"},
        {12, 65536, 4, "its geometry has"},
        {16, 0, 1, "a kernel of 0"},
        {16, 255, 1, "a convolution of kernel 255, stride 1 and padding 0, allowed 1..7"},
        {17, 2, 1, "a convolution of kernel 3, stride 2 and padding 0, allowed 1..7, 1 and 0"},
        {17, 0, 1, "stride 0"},
        {18, 1, 1, "stride 1 and padding 1, allowed 1..7, 1 and 0 in format 3"},
    };
    static const hostile any[] = {
        {0, UINT32_MAX, 4, "allowed 1..65536 each"},
        {4, 65536, 4, "its geometry has"},
        {16, 0, 1, "a kernel of 0 rows"},
        {16, 17, 1, "a kernel of 17 rows"},
        {17, 0, 1, "in steps of 0"},
        {18, 255, 1, "a padding of 255 and 1 rows"},
        {19, 3, 1, "a padding of 1 and 3 rows"},
        {20, 255, 1, "a kernel of 255 columns"},
        {21, 200, 1, "columns in steps of 200"},
        {22, 0, 1, "its geometry has"},
        {23, 3, 1, "a padding of 1 and 3 columns"},
    };
    policy_spec spec = small_spec();
    expect_bytes_refused(&spec, old, OCT_COUNTOF(old));
    spec = random_words_spec((const uint32_t[]){5, 4, 2}, "conv 3 3x3+1", POLICY_RELU, 2);
    expect_bytes_refused(&spec, any, OCT_COUNTOF(any));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_geometry_that_does_not_fit_is_refused),
        cmocka_unit_test(test_the_reference_computes_the_definition),
        cmocka_unit_test(test_every_instruction_set_gives_the_bits_of_the_reference),
        cmocka_unit_test(test_a_batch_gives_the_bits_of_single_observations),
        cmocka_unit_test(test_bytes_are_read_as_numbers),
        cmocka_unit_test(test_files_have_the_least_format_that_can_say_their_kernels),
        cmocka_unit_test(test_bytes_of_another_geometry_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
