// One forward pass of MinAtar's published network: 10 x 10 maps of bytes with C channels, 16
// filters of 3 x 3, 128 units, 6 values. Microseconds for each batch, instruction set and
// precision. usage: bench_policy_conv [quick | n=REPEATS] [batch=B] [channels=C]
//
// Every answer is compared with the reference first, to the bit. Beside it, in the same run and in
// turns with it: the dense layers of the same net alone (what the convolution adds is the rest),
// OpenBLAS in FP32 over patches laid side by side, oneDNN's int8 convolution and inner products
// (static scales, u8 between layers: less work than a policy, which quantises each map by its
// range). One JSON line each, times in us per call.

#include <time.h>
#include <unistd.h>

#include <cblas.h>
#if defined(BENCH_HAS_ONEDNN)
#include <dnnl.h>
#endif

#include "bench/bench_sort.h"
#include "common/oct_commit.h"
#include "tests/policy/random_policy.h"

#define BATCH_MAX       64
#define REPEATS_MAX     1001
#define SIDE            10
#define OUT_SIDE        8
#define PLACES          (OUT_SIDE * OUT_SIDE)
#define FILTERS         16
#define HIDDEN          128
#define OUTPUTS         6
#define CHANNELS_MAX    10
#define CONTESTANTS_MAX 24

static const uint32_t all_batches[] = {1, 16, 64};
static const uint32_t all_channels[] = {4, 6, 7, 10};
static const policy_isa isas[] = {POLICY_ISA_VNNI, POLICY_ISA_AVXVNNI, POLICY_ISA_NEON,
                                  POLICY_ISA_AVX2};
static const policy_precision precisions[] = {POLICY_FP32, POLICY_INT8, POLICY_INT4};

typedef struct contestant {
    char name[64];
    void (*run)(void *self);
    void (*destroy)(void *self);
    void *self;
    uint32_t calls; // in one repeat
    double us[REPEATS_MAX];
} contestant;

static contestant all[CONTESTANTS_MAX];
static uint32_t all_count;

static void
add(const char *name, void (*run)(void *self), void (*destroy)(void *self), void *self)
{
    OCT_ASSERT(all_count < CONTESTANTS_MAX);
    contestant *c = &all[all_count++];
    *c = (contestant){.run = run, .destroy = destroy, .self = self};
    snprintf(c->name, sizeof(c->name), "%s", name);
}

static double
seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double
time_calls(const contestant *c, uint32_t calls)
{
    double start = seconds();
    for (uint32_t i = 0; i < calls; i++) {
        c->run(c->self);
    }
    return (seconds() - start) * 1e6 / calls;
}

// ---- policies

typedef struct own_net {
    policy_net *net;
    policy_scratch *scratch;
    const void *obs;
    size_t stride;
    uint32_t B;
    float y[BATCH_MAX * OUTPUTS];
} own_net;

static void
own_run(void *self)
{
    own_net *own = self;
    policy_forward(own->net, own->scratch, own->obs, own->stride, own->B, own->y);
}

static void
own_destroy(void *self)
{
    own_net *own = self;
    policy_scratch_destroy(own->scratch);
    policy_net_destroy(own->net);
    free(own);
}

static own_net *
own_create(const policy_image *image, policy_isa isa, const void *obs, uint32_t B)
{
    own_net *own = oct_alloc(sizeof(*own));
    if (policy_net_create(&own->net, image, isa) != OCT_OK) {
        free(own);
        return NULL;
    }
    own->scratch = policy_scratch_create(&image->spec, B);
    own->obs = obs;
    own->stride = policy_spec_obs_bytes(&image->spec);
    own->B = B;
    own_run(own);
    return own;
}

static void
own_add(const policy_spec *spec, const char *what, const void *obs, uint32_t B)
{
    for (size_t p = 0; p < OCT_COUNTOF(precisions); p++) {
        oct_rng rng;
        oct_rng_init(&rng, 1, p);
        policy_image *image = random_image(spec, precisions[p], false, &rng);
        own_net *want = own_create(image, POLICY_ISA_REF, obs, B);
        for (size_t i = 0; i < OCT_COUNTOF(isas); i++) {
            char name[64];
            own_net *own = own_create(image, isas[i], obs, B);
            snprintf(name, sizeof(name), "%s %s %s", what, policy_isa_name(isas[i]),
                     policy_precision_name(precisions[p]));
            if (own != NULL && memcmp(own->y, want->y, B * OUTPUTS * sizeof(float)) != 0) {
                fprintf(stderr, "wrong answer: %s, batch %u, is not that of the reference\n", name,
                        B);
                exit(1);
            }
            if (own != NULL) {
                add(name, own_run, own_destroy, own);
            }
        }
        own_destroy(want);
        policy_image_destroy(image);
    }
}

// ---- OpenBLAS

typedef struct blas_net {
    uint32_t B, channels;
    const uint8_t *obs;
    float patches[BATCH_MAX * PLACES * 9 * CHANNELS_MAX];
    float maps[BATCH_MAX * PLACES * FILTERS], hidden[BATCH_MAX * HIDDEN], y[BATCH_MAX * OUTPUTS];
    float conv[FILTERS * 9 * CHANNELS_MAX], dense[HIDDEN * PLACES * FILTERS];
    float last[OUTPUTS * HIDDEN], bias[HIDDEN];
} blas_net;

static void
blas_layer(const float *x, const float *w, const float *bias, uint32_t rows, uint32_t in,
           uint32_t out, float least, float *restrict y)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)out, (int)in, 1.0f, x,
                (int)in, w, (int)in, 0.0f, y, (int)out);
    for (uint32_t r = 0; r < rows; r++, y += out) {
        for (uint32_t j = 0; j < out; j++) {
            float sum = y[j] + bias[j];
            y[j] = sum > least ? sum : least;
        }
    }
}

static void
blas_run(void *self)
{
    blas_net *net = self;
    const uint32_t C = net->channels, run = 3 * C;
    float *to = net->patches;
    for (uint32_t b = 0; b < net->B; b++) {
        const uint8_t *map = net->obs + b * SIDE * SIDE * C;
        for (uint32_t place = 0; place < PLACES; place++) {
            for (uint32_t k = 0; k < 3; k++, to += run) {
                const uint8_t *from = map + ((place / OUT_SIDE + k) * SIDE + place % OUT_SIDE) * C;
                for (uint32_t i = 0; i < run; i++) {
                    to[i] = (float)from[i];
                }
            }
        }
    }
    blas_layer(net->patches, net->conv, net->bias, net->B * PLACES, 9 * C, FILTERS, 0.0f,
               net->maps);
    blas_layer(net->maps, net->dense, net->bias, net->B, PLACES * FILTERS, HIDDEN, 0.0f,
               net->hidden);
    blas_layer(net->hidden, net->last, net->bias, net->B, HIDDEN, OUTPUTS, -3e38f, net->y);
}

static void
blas_add(const uint8_t *obs, uint32_t B, uint32_t channels)
{
    oct_rng rng;
    oct_rng_init(&rng, 31, 1);
    openblas_set_num_threads(1);
    blas_net *net = oct_alloc(sizeof(*net));
    net->B = B;
    net->channels = channels;
    net->obs = obs;
    random_floats(net->conv, OCT_COUNTOF(net->conv), 0.2f, &rng);
    random_floats(net->dense, OCT_COUNTOF(net->dense), 0.05f, &rng);
    random_floats(net->last, OCT_COUNTOF(net->last), 0.1f, &rng);
    add("openblas fp32", blas_run, free, net);
}

// ---- oneDNN

#if defined(BENCH_HAS_ONEDNN)
#define CHECK(call) OCT_ASSERT((call) == dnnl_success)
#define DNNL_LAYERS 3

typedef struct dnnl_net {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_t primitives[DNNL_LAYERS];
    dnnl_exec_arg_t args[DNNL_LAYERS][4];
} dnnl_net;

static void
dnnl_run(void *self)
{
    dnnl_net *net = self;
    for (int l = 0; l < DNNL_LAYERS; l++) {
        CHECK(dnnl_primitive_execute(net->primitives[l], net->stream, 4, net->args[l]));
    }
    CHECK(dnnl_stream_wait(net->stream));
}

static void
dnnl_destroy(void *self)
{
    dnnl_net *net = self;
    for (int l = 0; l < DNNL_LAYERS; l++) {
        CHECK(dnnl_primitive_destroy(net->primitives[l]));
        // The input of all but the first layer is the output of the one before.
        for (int i = l == 0 ? 0 : 1; i < 4; i++) {
            CHECK(dnnl_memory_destroy(net->args[l][i].memory));
        }
    }
    CHECK(dnnl_stream_destroy(net->stream));
    CHECK(dnnl_engine_destroy(net->engine));
    free(net);
}

static dnnl_memory_t
dnnl_filled(dnnl_engine_t engine, const dnnl_memory_desc_t *desc, uint8_t value)
{
    dnnl_memory_t memory;
    void *bytes;
    CHECK(dnnl_memory_create(&memory, desc, engine, DNNL_MEMORY_ALLOCATE));
    CHECK(dnnl_memory_get_data_handle(memory, &bytes));
    memset(bytes, value, dnnl_memory_desc_get_size(desc));
    return memory;
}

static dnnl_primitive_attr_t
dnnl_attributes(uint32_t outputs, bool is_last)
{
    dnnl_primitive_attr_t attributes;
    float scales[HIDDEN];
    for (uint32_t j = 0; j < outputs; j++) {
        scales[j] = 0.001f * (float)(1 + j % 3);
    }
    CHECK(dnnl_primitive_attr_create(&attributes));
    CHECK(dnnl_primitive_attr_set_output_scales(attributes, outputs, 2, scales));
    if (!is_last) {
        dnnl_post_ops_t post;
        CHECK(dnnl_post_ops_create(&post));
        CHECK(dnnl_post_ops_append_eltwise(post, 1.0f, dnnl_eltwise_relu, 0.0f, 0.0f));
        CHECK(dnnl_primitive_attr_set_post_ops(attributes, post));
        CHECK(dnnl_post_ops_destroy(post));
    }
    return attributes;
}

// Layer l, whose kind and shapes are in desc; source: what the layer before writes.
static void
dnnl_layer_add(dnnl_net *net, int l, const void *desc, const dnnl_memory_desc_t *x,
               const dnnl_memory_desc_t *b, const dnnl_memory_desc_t *y, uint32_t outputs)
{
    dnnl_primitive_desc_t primitive;
    dnnl_primitive_attr_t attributes = dnnl_attributes(outputs, l + 1 == DNNL_LAYERS);
    CHECK(dnnl_primitive_desc_create(&primitive, desc, attributes, net->engine, NULL));
    const dnnl_memory_desc_t *w = dnnl_primitive_desc_query_md(primitive, dnnl_query_weights_md, 0);
    dnnl_memory_t source = l == 0 ? dnnl_filled(net->engine, x, 1) : net->args[l - 1][3].memory;
    const dnnl_exec_arg_t args[4] = {
        {DNNL_ARG_SRC, source},
        {DNNL_ARG_WEIGHTS, dnnl_filled(net->engine, w, 1)},
        {DNNL_ARG_BIAS, dnnl_filled(net->engine, b, 0)},
        {DNNL_ARG_DST, dnnl_filled(net->engine, y, 0)},
    };
    memcpy(net->args[l], args, sizeof(args));
    CHECK(dnnl_primitive_create(&net->primitives[l], primitive));
    CHECK(dnnl_primitive_desc_destroy(primitive));
    CHECK(dnnl_primitive_attr_destroy(attributes));
}

static void
dnnl_conv_add(dnnl_net *net, uint32_t B, uint32_t C)
{
    dnnl_memory_desc_t x, w, b, y;
    dnnl_dims_t xd = {B, C, SIDE, SIDE}, wd = {FILTERS, C, 3, 3}, bd = {FILTERS};
    dnnl_dims_t yd = {B, FILTERS, OUT_SIDE, OUT_SIDE}, one = {1, 1}, none = {0, 0};
    CHECK(dnnl_memory_desc_init_by_tag(&x, 4, xd, dnnl_u8, dnnl_nhwc));
    CHECK(dnnl_memory_desc_init_by_tag(&w, 4, wd, dnnl_s8, dnnl_format_tag_any));
    CHECK(dnnl_memory_desc_init_by_tag(&b, 1, bd, dnnl_f32, dnnl_a));
    CHECK(dnnl_memory_desc_init_by_tag(&y, 4, yd, dnnl_u8, dnnl_nhwc));
    dnnl_convolution_desc_t desc;
    CHECK(dnnl_convolution_forward_desc_init(&desc, dnnl_forward_inference, dnnl_convolution_direct,
                                             &x, &w, &b, &y, one, none, none));
    dnnl_layer_add(net, 0, &desc, &x, &b, &y, FILTERS);
}

static void
dnnl_dense_add(dnnl_net *net, int l, uint32_t B, uint32_t outputs)
{
    dnnl_memory_desc_t x, w, b, y;
    dnnl_dims_t bd = {outputs}, yd = {B, outputs};
    dnnl_dims_t maps = {B, FILTERS, OUT_SIDE, OUT_SIDE}, row = {B, HIDDEN};
    dnnl_dims_t of_maps = {outputs, FILTERS, OUT_SIDE, OUT_SIDE}, of_row = {outputs, HIDDEN};
    int rank = l == 1 ? 4 : 2;
    CHECK(dnnl_memory_desc_init_by_tag(&x, rank, l == 1 ? maps : row, dnnl_u8,
                                       l == 1 ? dnnl_nhwc : dnnl_ab));
    CHECK(dnnl_memory_desc_init_by_tag(&w, rank, l == 1 ? of_maps : of_row, dnnl_s8,
                                       dnnl_format_tag_any));
    CHECK(dnnl_memory_desc_init_by_tag(&b, 1, bd, dnnl_f32, dnnl_a));
    CHECK(dnnl_memory_desc_init_by_tag(&y, 2, yd, l == 1 ? dnnl_u8 : dnnl_f32, dnnl_ab));
    dnnl_inner_product_desc_t desc;
    CHECK(dnnl_inner_product_forward_desc_init(&desc, dnnl_forward_inference, &x, &w, &b, &y));
    dnnl_layer_add(net, l, &desc, &x, &b, &y, outputs);
}

static void
dnnl_add(uint32_t B, uint32_t channels)
{
    dnnl_net *net = oct_alloc(sizeof(*net));
    CHECK(dnnl_engine_create(&net->engine, dnnl_cpu, 0));
    CHECK(dnnl_stream_create(&net->stream, net->engine, dnnl_stream_default_flags));
    dnnl_conv_add(net, B, channels);
    dnnl_dense_add(net, 1, B, HIDDEN);
    dnnl_dense_add(net, 2, B, OUTPUTS);
    add("onednn int8", dnnl_run, dnnl_destroy, net);
}
#else
static void
dnnl_add(uint32_t B, uint32_t channels)
{
    (void)B;
    (void)channels;
}
#endif

// ---- the run

static void
round_time(uint32_t repeats, bool is_quick)
{
    for (uint32_t i = 0; i < all_count; i++) {
        contestant *c = &all[i];
        c->calls = 1;
        while (!is_quick && time_calls(c, c->calls) * c->calls < 300.0) {
            c->calls *= 2;
        }
    }
    for (uint32_t n = 0; n < repeats; n++) {
        for (uint32_t i = 0; i < all_count; i++) {
            time_calls(&all[i], OCT_MIN(all[i].calls, 2u));
            all[i].us[n] = time_calls(&all[i], all[i].calls);
        }
    }
}

static void
bench(uint32_t channels, uint32_t B, uint32_t repeats, bool is_quick)
{
    static uint8_t bytes[BATCH_MAX * SIDE * SIDE * CHANNELS_MAX];
    static float maps[BATCH_MAX * PLACES * FILTERS];
    oct_rng rng;
    oct_rng_init(&rng, 2, 1);
    for (size_t i = 0; i < OCT_COUNTOF(bytes); i++) {
        bytes[i] = oct_rng_below(&rng, 8) == 0;
    }
    random_floats(maps, OCT_COUNTOF(maps), 1.0f, &rng);
    const uint32_t filters = FILTERS, hidden = HIDDEN;
    const uint32_t widths[] = {PLACES * FILTERS, HIDDEN, OUTPUTS};
    policy_spec spec =
        random_conv_spec(SIDE, SIDE, channels, 3, &filters, 1, &hidden, 1, OUTPUTS, POLICY_RELU);
    policy_spec dense = random_spec(widths, 3, POLICY_RELU, false);
    spec.obs_dtype = POLICY_U8;
    all_count = 0;
    own_add(&spec, "octet", bytes, B);
    own_add(&dense, "dense part", maps, B);
    blas_add(bytes, B, channels);
    dnnl_add(B, channels);
    round_time(repeats, is_quick);
    for (uint32_t i = 0; i < all_count; i++) {
        contestant *c = &all[i];
        bench_sort(c->us, repeats);
        printf("{\"name\":\"policy_conv\",\"net\":\"minatar\",\"channels\":%u,\"batch\":%u,"
               "\"what\":\"%s\",\"median\":%.3f,\"min\":%.3f,\"unit\":\"us\",\"n\":%u,\"cores\":1,"
               "\"commit\":\"%s\"}\n",
               channels, B, c->name, c->us[repeats / 2], c->us[0], repeats, OCT_COMMIT);
        c->destroy(c->self);
    }
}

int
main(int argc, char **argv)
{
    uint32_t repeats = 31, only_batch = 0, only_channels = 0;
    bool is_quick = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "quick") == 0) {
            is_quick = true;
            repeats = 1;
        } else if (sscanf(argv[i], "n=%u", &repeats) != 1 &&
                   sscanf(argv[i], "batch=%u", &only_batch) != 1 &&
                   sscanf(argv[i], "channels=%u", &only_channels) != 1) {
            fprintf(stderr, "usage: %s [quick | n=REPEATS] [batch=B] [channels=C]\n", argv[0]);
            return 2;
        }
    }
    // The libraries read it when they are loaded.
    const char *threads = getenv("OMP_NUM_THREADS");
    if (threads == NULL || strcmp(threads, "1") != 0 || getenv("OPENBLAS_CORETYPE") != NULL) {
        setenv("OMP_NUM_THREADS", "1", 1);
        unsetenv("OPENBLAS_CORETYPE");
        execv("/proc/self/exe", argv); // where that is not there: go on as it is
    }
    repeats = OCT_MAX(1u, OCT_MIN(repeats, (uint32_t)REPEATS_MAX));
    for (size_t c = 0; c < OCT_COUNTOF(all_channels); c++) {
        for (size_t b = 0; b < OCT_COUNTOF(all_batches); b++) {
            if ((only_channels == 0 || only_channels == all_channels[c]) &&
                (only_batch == 0 || only_batch == all_batches[b])) {
                bench(all_channels[c], all_batches[b], repeats, is_quick);
            }
        }
    }
    return 0;
}
