// One forward pass of MinAtar's published network: 10 x 10 maps of bytes with C channels, 16
// filters of 3 x 3, 128 units, 6 values. Microseconds for each batch, instruction set and
// precision. usage: bench_policy_conv [quick | n=REPEATS] [batch=B] [channels=C]
//
// Every answer is compared with the reference first, to the bit. Beside it, in the same run and in
// turns with it: the dense layers of the same net alone (what the convolution adds is the rest),
// OpenBLAS in FP32 over patches laid side by side, oneDNN's int8 convolution and inner products
// (static scales, u8 between layers: less work than a policy, which quantises each map by its
// range). One JSON line each, times in us per call.

#include <cblas.h>

#include "bench/bench_policy_peers.h"
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
    bench_peer peer;
    uint32_t calls; // in one repeat
    double us[REPEATS_MAX];
} contestant;

static contestant all[CONTESTANTS_MAX];
static uint32_t all_count;

static void
add(const char *name, bench_peer peer)
{
    OCT_ASSERT(all_count < CONTESTANTS_MAX);
    contestant *c = &all[all_count++];
    *c = (contestant){.peer = peer};
    snprintf(c->name, sizeof(c->name), "%s", name);
}

// ---- policies

static void
own_add(const policy_spec *spec, const char *what, const void *obs, uint32_t B)
{
    for (size_t p = 0; p < OCT_COUNTOF(precisions); p++) {
        oct_rng rng;
        oct_rng_init(&rng, 1, p);
        policy_image *image = random_image(spec, precisions[p], false, &rng);
        bench_own_net *want = bench_own_net_create(image, POLICY_ISA_REF, obs, B);
        for (size_t i = 0; i < OCT_COUNTOF(isas); i++) {
            char name[64];
            bench_own_net *own = bench_own_net_create(image, isas[i], obs, B);
            snprintf(name, sizeof(name), "%s %s %s", what, policy_isa_name(isas[i]),
                     policy_precision_name(precisions[p]));
            if (own != NULL && memcmp(own->y, want->y, B * OUTPUTS * sizeof(float)) != 0) {
                fprintf(stderr, "wrong answer: %s, batch %u, is not that of the reference\n", name,
                        B);
                exit(1);
            }
            if (own != NULL) {
                add(name, bench_peer_own(own));
            }
        }
        bench_own_net_destroy(want);
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
    add("openblas fp32", (bench_peer){.run = blas_run, .destroy = free, .self = net});
}

// ---- oneDNN

#if defined(BENCH_HAS_ONEDNN)
static void
dnnl_conv_add(bench_onednn_net *net, uint32_t B, uint32_t C)
{
    dnnl_memory_desc_t x, w, b, y;
    dnnl_dims_t xd = {B, C, SIDE, SIDE}, wd = {FILTERS, C, 3, 3}, bd = {FILTERS};
    dnnl_dims_t yd = {B, FILTERS, OUT_SIDE, OUT_SIDE}, one = {1, 1}, none = {0, 0};
    BENCH_ONEDNN(dnnl_memory_desc_init_by_tag(&x, 4, xd, dnnl_u8, dnnl_nhwc));
    BENCH_ONEDNN(dnnl_memory_desc_init_by_tag(&w, 4, wd, dnnl_s8, dnnl_format_tag_any));
    BENCH_ONEDNN(dnnl_memory_desc_init_by_tag(&b, 1, bd, dnnl_f32, dnnl_a));
    BENCH_ONEDNN(dnnl_memory_desc_init_by_tag(&y, 4, yd, dnnl_u8, dnnl_nhwc));
    dnnl_convolution_desc_t desc;
    BENCH_ONEDNN(dnnl_convolution_forward_desc_init(
        &desc, dnnl_forward_inference, dnnl_convolution_direct, &x, &w, &b, &y, one, none, none));
    bench_onednn_net_add(net, &desc, &x, &b, &y, FILTERS, false);
}

static void
dnnl_dense_add(bench_onednn_net *net, int l, uint32_t B, uint32_t outputs)
{
    dnnl_memory_desc_t x, w, b, y;
    dnnl_dims_t bd = {outputs}, yd = {B, outputs};
    dnnl_dims_t maps = {B, FILTERS, OUT_SIDE, OUT_SIDE}, row = {B, HIDDEN};
    dnnl_dims_t of_maps = {outputs, FILTERS, OUT_SIDE, OUT_SIDE}, of_row = {outputs, HIDDEN};
    int rank = l == 1 ? 4 : 2;
    BENCH_ONEDNN(dnnl_memory_desc_init_by_tag(&x, rank, l == 1 ? maps : row, dnnl_u8,
                                              l == 1 ? dnnl_nhwc : dnnl_ab));
    BENCH_ONEDNN(dnnl_memory_desc_init_by_tag(&w, rank, l == 1 ? of_maps : of_row, dnnl_s8,
                                              dnnl_format_tag_any));
    BENCH_ONEDNN(dnnl_memory_desc_init_by_tag(&b, 1, bd, dnnl_f32, dnnl_a));
    BENCH_ONEDNN(dnnl_memory_desc_init_by_tag(&y, 2, yd, l == 1 ? dnnl_u8 : dnnl_f32, dnnl_ab));
    dnnl_inner_product_desc_t desc;
    BENCH_ONEDNN(
        dnnl_inner_product_forward_desc_init(&desc, dnnl_forward_inference, &x, &w, &b, &y));
    bench_onednn_net_add(net, &desc, &x, &b, &y, outputs, l == 2);
}

static void
dnnl_add(uint32_t B, uint32_t channels)
{
    bench_onednn_net *net = bench_onednn_net_create();
    dnnl_conv_add(net, B, channels);
    dnnl_dense_add(net, 1, B, HIDDEN);
    dnnl_dense_add(net, 2, B, OUTPUTS);
    add("onednn int8", bench_peer_onednn_net(net));
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
        while (!is_quick && bench_peer_us(&c->peer, c->calls) * c->calls < 300.0) {
            c->calls *= 2;
        }
    }
    for (uint32_t n = 0; n < repeats; n++) {
        for (uint32_t i = 0; i < all_count; i++) {
            bench_peer_us(&all[i].peer, OCT_MIN(all[i].calls, 2u));
            all[i].us[n] = bench_peer_us(&all[i].peer, all[i].calls);
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
        c->peer.destroy(c->peer.self);
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
    bench_peers_prepare(argv);
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
