// One forward pass of networks for pictures: MinAtar's published network with C channels, the
// network of Mnih et al. (2015), and one of convolutions and pools as in IMPALA's (without its
// residual blocks). Microseconds for each batch, instruction set and precision.
// usage: bench_policy_conv [quick | n=REPEATS] [batch=B] [net=NAME]
//
// Every answer is compared with the reference first, to the bit. Beside it, in the same run and in
// turns with it: the dense layers of the same net alone (what the convolutions add is the rest),
// OpenBLAS in FP32 over patches laid side by side, oneDNN's int8 convolutions and inner products
// (static scales, u8 between layers: less work than a policy, which quantises each map by its
// range). Both peers leave out pools. One JSON line each, times in us per call.

#include <cblas.h>

#include "bench/bench_policy_peers.h"
#include "bench/bench_sort.h"
#include "common/oct_commit.h"
#include "tests/policy/random_policy.h"

#define BATCH_MAX       64
#define REPEATS_MAX     1001
#define OUTPUTS         6
#define CONTESTANTS_MAX 24

// high: the largest byte of an observation.
static const struct net {
    const char *name;
    uint32_t shape[3], high;
    const char *words;
} nets[] = {
    {"minatar-4", {10, 10, 4}, 1, "conv 16 3x3, dense 128"},
    {"minatar-6", {10, 10, 6}, 1, "conv 16 3x3, dense 128"},
    {"minatar-7", {10, 10, 7}, 1, "conv 16 3x3, dense 128"},
    {"minatar-10", {10, 10, 10}, 1, "conv 16 3x3, dense 128"},
    {"nature", {84, 84, 4}, 255, "nature"},
    {"impala",
     {84, 84, 4},
     255,
     "conv 16 3x3+1, pool 3x3/2+1, conv 32 3x3+1, pool 3x3/2+1, conv 32 3x3+1, pool 3x3/2+1, "
     "dense 256"},
};
static const uint32_t all_batches[] = {1, 16, 64};
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
    policy_spec spec;
    uint32_t B;
    const uint8_t *obs;
    float *patches, *maps[2], *params;
} blas_net;

// Lays the numbers under every position of a kernel side by side, zeros around the map included.
static void
blas_unfold(const policy_conv *conv, uint32_t B, const float *x, float *to)
{
    const policy_axis *rows = &conv->rows, *columns = &conv->columns;
    const uint32_t C = conv->channels, across = policy_axis_positions(columns);
    const uint32_t places = policy_axis_positions(rows) * across;
    for (size_t p = 0; p < (size_t)B * places; p++) {
        const float *map = x + p / places * rows->size * columns->size * C;
        uint32_t top = (uint32_t)(p % places) / across * rows->stride - rows->before;
        uint32_t left = (uint32_t)(p % places) % across * columns->stride - columns->before;
        for (uint32_t i = top; i != top + rows->kernel; i++) {
            for (uint32_t j = left; j != left + columns->kernel; j++, to += C) {
                if (i < rows->size && j < columns->size) {
                    memcpy(to, map + (i * columns->size + j) * C, C * sizeof(*to));
                } else {
                    memset(to, 0, C * sizeof(*to));
                }
            }
        }
    }
}

static void
blas_layer(const blas_net *net, uint32_t l, const float *x, float *restrict y)
{
    const policy_layer *layer = &net->spec.layers[l];
    const policy_offsets at = policy_spec_layer(&net->spec, l);
    const uint32_t in = policy_layer_columns(layer), out = policy_layer_rows(layer);
    const uint32_t rows = net->B * policy_layer_places(layer);
    const float least = l + 1 < net->spec.layer_count ? 0.0f : -3e38f;
    const float *bias = net->params + at.bias;
    if (layer->kind == POLICY_CONV) {
        blas_unfold(&layer->conv, net->B, x, net->patches);
        x = net->patches;
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)out, (int)in, 1.0f, x,
                (int)in, net->params + at.weight, (int)in, 0.0f, y, (int)out);
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
    float *x = net->maps[0], *y = net->maps[1];
    for (size_t i = 0; i < (size_t)net->B * net->spec.obs_count; i++) {
        x[i] = (float)net->obs[i];
    }
    for (uint32_t l = 0; l < net->spec.layer_count; l++) {
        if (!policy_is_pool(net->spec.layers[l].kind)) {
            blas_layer(net, l, x, y);
            float *swap = x;
            x = y;
            y = swap;
        }
    }
}

static void
blas_destroy(void *self)
{
    blas_net *net = self;
    free(net->patches);
    free(net->maps[0]);
    free(net->maps[1]);
    free(net->params);
    free(net);
}

static void
blas_add(const policy_spec *spec, const uint8_t *obs, uint32_t B)
{
    oct_rng rng;
    oct_rng_init(&rng, 31, 1);
    openblas_set_num_threads(1);
    blas_net *net = oct_alloc(sizeof(*net));
    size_t patches = 1, params = policy_spec_params(spec);
    *net = (blas_net){.spec = *spec, .B = B, .obs = obs};
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        const policy_layer *layer = &spec->layers[l];
        patches =
            OCT_MAX(patches, (size_t)policy_layer_places(layer) * policy_layer_columns(layer));
    }
    net->patches = oct_alloc(B * patches * sizeof(float));
    for (int i = 0; i < 2; i++) {
        net->maps[i] = oct_alloc((size_t)B * policy_spec_width(spec) * sizeof(float));
    }
    net->params = oct_alloc(params * sizeof(float));
    random_floats(net->params, params, 0.05f, &rng);
    add("openblas fp32", (bench_peer){.run = blas_run, .destroy = blas_destroy, .self = net});
}

// ---- oneDNN

#if defined(BENCH_HAS_ONEDNN)
static void
dnnl_conv_add(bench_onednn_net *net, const policy_conv *conv, uint32_t B)
{
    const policy_axis *rows = &conv->rows, *columns = &conv->columns;
    dnnl_memory_desc_t x, w, b, y;
    dnnl_dims_t xd = {B, conv->channels, rows->size, columns->size}, bd = {conv->filters};
    dnnl_dims_t wd = {conv->filters, conv->channels, rows->kernel, columns->kernel};
    dnnl_dims_t yd = {B, conv->filters, policy_axis_positions(rows),
                      policy_axis_positions(columns)};
    dnnl_dims_t strides = {rows->stride, columns->stride};
    dnnl_dims_t before = {rows->before, columns->before}, after = {rows->after, columns->after};
    BENCH_ONEDNN(dnnl_memory_desc_init_by_tag(&x, 4, xd, dnnl_u8, dnnl_nhwc));
    BENCH_ONEDNN(dnnl_memory_desc_init_by_tag(&w, 4, wd, dnnl_s8, dnnl_format_tag_any));
    BENCH_ONEDNN(dnnl_memory_desc_init_by_tag(&b, 1, bd, dnnl_f32, dnnl_a));
    BENCH_ONEDNN(dnnl_memory_desc_init_by_tag(&y, 4, yd, dnnl_u8, dnnl_nhwc));
    dnnl_convolution_desc_t desc;
    BENCH_ONEDNN(dnnl_convolution_forward_desc_init(&desc, dnnl_forward_inference,
                                                    dnnl_convolution_direct, &x, &w, &b, &y,
                                                    strides, before, after));
    bench_onednn_net_add(net, &desc, &x, &b, &y, conv->filters, false);
}

// map: the convolution that the layer reads, NULL for another dense layer.
static void
dnnl_dense_add(bench_onednn_net *net, const policy_layer *layer, const policy_conv *map,
               bool is_last, uint32_t B)
{
    dnnl_memory_desc_t x, w, b, y;
    dnnl_dims_t bd = {layer->outputs}, yd = {B, layer->outputs}, xd = {B, layer->inputs};
    dnnl_dims_t wd = {layer->outputs, layer->inputs};
    int rank = 2;
    if (map != NULL) {
        rank = 4;
        xd[1] = wd[1] = map->filters;
        xd[2] = wd[2] = policy_axis_positions(&map->rows);
        xd[3] = wd[3] = policy_axis_positions(&map->columns);
    }
    BENCH_ONEDNN(
        dnnl_memory_desc_init_by_tag(&x, rank, xd, dnnl_u8, rank == 4 ? dnnl_nhwc : dnnl_ab));
    BENCH_ONEDNN(dnnl_memory_desc_init_by_tag(&w, rank, wd, dnnl_s8, dnnl_format_tag_any));
    BENCH_ONEDNN(dnnl_memory_desc_init_by_tag(&b, 1, bd, dnnl_f32, dnnl_a));
    BENCH_ONEDNN(dnnl_memory_desc_init_by_tag(&y, 2, yd, is_last ? dnnl_f32 : dnnl_u8, dnnl_ab));
    dnnl_inner_product_desc_t desc;
    BENCH_ONEDNN(
        dnnl_inner_product_forward_desc_init(&desc, dnnl_forward_inference, &x, &w, &b, &y));
    bench_onednn_net_add(net, &desc, &x, &b, &y, layer->outputs, is_last);
}

static void
dnnl_add(const policy_spec *spec, uint32_t B)
{
    bench_onednn_net *net = bench_onednn_net_create();
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        const policy_layer *layer = &spec->layers[l];
        const bool reads_map = l > 0 && layer[-1].kind != POLICY_DENSE;
        if (layer->kind == POLICY_CONV) {
            dnnl_conv_add(net, &layer->conv, B);
        } else if (layer->kind == POLICY_DENSE) {
            dnnl_dense_add(net, layer, reads_map ? &layer[-1].conv : NULL,
                           l + 1 == spec->layer_count, B);
        }
    }
    add("onednn int8", bench_peer_onednn_net(net));
}
#else
static void
dnnl_add(const policy_spec *spec, uint32_t B)
{
    (void)spec;
    (void)B;
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

// Makes the dense layers at the end a network of their own.
static policy_spec
dense_part(const policy_spec *spec)
{
    policy_spec part = *spec;
    uint32_t first = 0;
    while (spec->layers[first].kind != POLICY_DENSE) {
        first++; // ends, because the last layer is dense
    }
    part.layer_count -= first;
    memmove(part.layers, part.layers + first, part.layer_count * sizeof(part.layers[0]));
    part.obs_count = part.layers[0].inputs;
    part.obs_dtype = POLICY_F32;
    return part;
}

static void
bench(const struct net *net, uint32_t B, uint32_t repeats, bool is_quick)
{
    oct_rng rng;
    oct_rng_init(&rng, 2, 1);
    policy_spec spec = random_words_spec(net->shape, net->words, POLICY_RELU, OUTPUTS);
    policy_spec dense = dense_part(&spec);
    spec.obs_dtype = POLICY_U8;
    uint8_t *bytes = oct_alloc((size_t)B * spec.obs_count);
    float *maps = oct_alloc((size_t)B * dense.obs_count * sizeof(*maps));
    for (size_t i = 0; i < (size_t)B * spec.obs_count; i++) {
        bytes[i] = net->high == 1 ? oct_rng_below(&rng, 8) == 0
                                  : (uint8_t)oct_rng_below(&rng, net->high + 1);
    }
    random_floats(maps, (size_t)B * dense.obs_count, 1.0f, &rng);
    all_count = 0;
    own_add(&spec, "octet", bytes, B);
    own_add(&dense, "dense part", maps, B);
    blas_add(&spec, bytes, B);
    // Without its pools, the layers of the last network do not follow each other.
    if (strcmp(net->name, "impala") != 0) {
        dnnl_add(&spec, B);
    }
    round_time(repeats, is_quick);
    for (uint32_t i = 0; i < all_count; i++) {
        contestant *c = &all[i];
        bench_sort(c->us, repeats);
        printf("{\"name\":\"policy_conv\",\"net\":\"%s\",\"batch\":%u,\"what\":\"%s\","
               "\"median\":%.3f,\"min\":%.3f,\"unit\":\"us\",\"n\":%u,\"cores\":1,"
               "\"commit\":\"%s\"}\n",
               net->name, B, c->name, c->us[repeats / 2], c->us[0], repeats, OCT_COMMIT);
        c->peer.destroy(c->peer.self);
    }
    free(bytes);
    free(maps);
}

int
main(int argc, char **argv)
{
    uint32_t repeats = 31, only_batch = 0;
    char only_net[32] = "";
    bool is_quick = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "quick") == 0) {
            is_quick = true;
            repeats = 1;
        } else if (sscanf(argv[i], "n=%u", &repeats) != 1 &&
                   sscanf(argv[i], "batch=%u", &only_batch) != 1 &&
                   sscanf(argv[i], "net=%31s", only_net) != 1) {
            fprintf(stderr, "usage: %s [quick | n=REPEATS] [batch=B] [net=NAME]\n", argv[0]);
            return 2;
        }
    }
    bench_peers_prepare(argv);
    repeats = OCT_MAX(1u, OCT_MIN(repeats, (uint32_t)REPEATS_MAX));
    for (size_t n = 0; n < OCT_COUNTOF(nets); n++) {
        for (size_t b = 0; b < OCT_COUNTOF(all_batches); b++) {
            if ((only_net[0] == 0 || strcmp(only_net, nets[n].name) == 0) &&
                (only_batch == 0 || only_batch == all_batches[b]) &&
                (nets[n].high == 1 || all_batches[b] <= 16)) {
                bench(&nets[n], all_batches[b], repeats, is_quick);
            }
        }
    }
    return 0;
}
