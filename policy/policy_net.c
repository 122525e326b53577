// A policy that is ready to act: packs an image's weights for the chosen kernels, and takes rows
// through all layers tile by tile.
#include "policy/policy_net.h"

#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "common/oct_base.h"
#include "policy/policy_conv.h"
#include "policy/policy_pack.h"
#include "policy/policy_pool.h"

#define NARROW_WIDTH 128               // see tile_rows_of
#define L2_BYTES     ((size_t)1 << 20) // weights of a layer that stay in L2
#define LARGE_PAGE   ((size_t)2 << 20) // bytes

struct policy_net {
    policy_spec spec;
    policy_origin origin;
    policy_precision precision;
    uint32_t width, outputs;
    uint32_t tile_rows; // rows of a tile of forward_q8
    uint32_t map_count; // convolutions and pools, which are the first layers
    const policy_kernels *kernels;
    const float *obs_mean;        // [obs_count], NULL unless spec.normalise
    const float *obs_inverse_std; // [obs_count], NULL unless spec.normalise
    const float *deviation;       // [action_count], NULL unless the head has its own
    policy_dense dense[POLICY_LAYERS_MAX];
    void *block; // the allocation with all weights
};

// The work space for one tile of rows: two float buffers that the layers swap, and the codes of the
// current input.
struct policy_scratch {
    uint32_t width; // of the widest net
    uint32_t batch_max;
    uint32_t rows; // the most rows of a tile
    policy_work work;
    policy_conv_work conv_work;
    void *block;
};

static void
net_pack(policy_net *net, const policy_image *image, policy_block *block)
{
    if (net->spec.normalise) {
        net->obs_mean = policy_pack_floats(block, image->obs_mean, net->spec.obs_count);
        net->obs_inverse_std =
            policy_pack_floats(block, image->obs_inverse_std, net->spec.obs_count);
    }
    if (policy_spec_has_deviation(&net->spec)) {
        net->deviation = policy_pack_floats(block, image->deviation, net->spec.action_count);
    }
    for (uint32_t l = 0; l < net->spec.layer_count; l++) {
        if (!policy_is_pool(net->spec.layers[l].kind)) {
            net->dense[l] = policy_pack_dense(block, image, l, net->kernels);
        }
    }
}

// Allocates memory for packed weights, not zeroed. A large block requests large pages: the kernel
// maps fewer of them when they are filled, and the CPU translates fewer addresses when they are
// read.
static void *
weights_alloc(size_t bytes)
{
    bool is_large = bytes >= 2 * LARGE_PAGE;
    size_t page = is_large ? LARGE_PAGE : 64;
    void *memory = oct_reserve(page, bytes);
#if defined(MADV_HUGEPAGE)
    if (is_large) {
        (void)madvise(memory, policy_round_up(bytes, page), MADV_HUGEPAGE); // a hint
    }
#endif
    return memory;
}

// Returns how many rows forward_q8 takes at once. Larger tiles pay off if the work for each tile
// counts most: for narrow layers, and for layers that do not stay in L2 and are read again for each
// tile.
static uint32_t
tile_rows_of(const policy_spec *spec)
{
    size_t largest = 0;
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        largest = OCT_MAX(largest, policy_layer_weights(&spec->layers[l]));
    }
    bool is_narrow = policy_spec_width(spec) <= NARROW_WIDTH;
    return is_narrow || largest > L2_BYTES ? POLICY_TILE_ROWS_MAX : POLICY_TILE_ROWS;
}

oct_err
policy_net_create(policy_net **out, const policy_image *image, policy_isa isa)
{
    const policy_kernels *kernels;
    OCT_TRY(policy_kernels_choose(&kernels, isa));
    bool is_half = image->precision == POLICY_BF16 || image->precision == POLICY_FP16;
    if (is_half && kernels->layer_half == NULL) {
        return OCT_ENOTFOUND;
    }
    policy_net *net = oct_alloc(sizeof(*net));
    net->spec = image->spec;
    net->origin = image->origin;
    net->precision = image->precision;
    net->width = policy_spec_width(&image->spec);
    net->outputs = policy_spec_outputs(&image->spec);
    net->kernels = kernels;
    net->tile_rows = tile_rows_of(&image->spec);
    while (net->spec.layers[net->map_count].kind != POLICY_DENSE) {
        net->map_count++; // ends, because the last layer is dense
    }
    policy_block block = {0};
    net_pack(net, image, &block);
    net->block = weights_alloc(block.used);
    block = (policy_block){.base = net->block};
    net_pack(net, image, &block);
    *out = net;
    return OCT_OK;
}

void
policy_net_destroy(policy_net *net)
{
    if (net != NULL) {
        free(net->block);
        free(net);
    }
}

const policy_spec *
policy_net_spec(const policy_net *net)
{
    return &net->spec;
}

const policy_origin *
policy_net_origin(const policy_net *net)
{
    return &net->origin;
}

policy_precision
policy_net_precision(const policy_net *net)
{
    return net->precision;
}

const float *
policy_net_deviation(const policy_net *net)
{
    return net->deviation;
}

policy_isa
policy_net_isa(const policy_net *net)
{
    return net->kernels->isa;
}

// Returns the bytes from row to row. Wide rows get one more cache line, so that rows of 2^n bytes
// do not share cache sets.
static size_t
line_stride(size_t bytes)
{
    return policy_round_up(bytes, 64) + (bytes >= 512 ? 64 : 0);
}

static size_t
row_stride(uint32_t width)
{
    return line_stride(width * sizeof(float)) / sizeof(float);
}

static size_t
code_stride(uint32_t width, uint32_t code_bytes)
{
    return line_stride(policy_round_up(width, 64) * code_bytes);
}

static void
work_cut(policy_scratch *scratch, const policy_spec *spec, policy_block *block)
{
    policy_work *work = &scratch->work;
    size_t rows = scratch->rows;
    work->x = policy_block_take(block, rows * row_stride(scratch->width) * sizeof(float));
    work->y = policy_block_take(block, rows * row_stride(scratch->width) * sizeof(float));
    work->codes = policy_block_take(block, rows * code_stride(scratch->width, sizeof(uint16_t)));
    work->rows = policy_block_take(block, rows * sizeof(policy_row));
    policy_conv_work_cut(&scratch->conv_work, spec, block);
}

policy_scratch *
policy_scratch_create(const policy_spec *spec, uint32_t batch_max)
{
    policy_scratch *scratch = oct_alloc(sizeof(*scratch));
    scratch->width = policy_spec_width(spec);
    scratch->batch_max = batch_max;
    scratch->rows = OCT_MAX(1u, OCT_MIN(batch_max, (uint32_t)POLICY_TILE_ROWS_MAX));
    policy_block block = {0};
    work_cut(scratch, spec, &block);
    scratch->block = oct_alloc(block.used);
    block = (policy_block){.base = scratch->block};
    work_cut(scratch, spec, &block);
    return scratch;
}

void
policy_scratch_destroy(policy_scratch *scratch)
{
    if (scratch != NULL) {
        free(scratch->block);
        free(scratch);
    }
}

// Reads one observation as floats, normalises it, and zeroes the padding.
static void
obs_load(const policy_net *net, const void *obs, float *restrict x)
{
    uint32_t count = net->spec.obs_count;
    if (net->spec.obs_dtype == POLICY_F32) {
        memcpy(x, obs, count * sizeof(float));
    } else {
        const uint8_t *bytes = obs;
        for (uint32_t i = 0; i < count; i++) {
            x[i] = (float)bytes[i];
        }
    }
    if (net->spec.normalise) {
        const float *restrict mean = net->obs_mean, *restrict inverse = net->obs_inverse_std;
        for (uint32_t i = 0; i < count; i++) {
            x[i] = (x[i] - mean[i]) * inverse[i];
        }
    }
    memset(x + count, 0, (policy_round_up(count, POLICY_LANES) - count) * sizeof(float));
}

// Exchanges the inputs and outputs, whose rows have the same stride.
static void
work_swap(policy_work *work)
{
    float *swap = work->x;
    work->x = work->y;
    work->y = swap;
}

// Takes R <= POLICY_TILE_ROWS rows in work->x through the dense layers, one after the other.
static void
layers_forward(const policy_net *net, policy_work *work, uint32_t R, float *out)
{
    for (uint32_t l = net->map_count; l < net->spec.layer_count; l++) {
        if (policy_is_integer(net->precision)) {
            net->kernels->quantize(work, R, net->dense[l].inputs);
        }
        policy_layer_forward(net->kernels, &net->dense[l], work, R);
        work_swap(work);
    }
    for (uint32_t r = 0; r < R; r++) {
        memcpy(out + (size_t)r * net->outputs, work->x + r * work->x_stride,
               net->outputs * sizeof(float));
    }
}

// Returns true if one kernel takes a tile through all dense layers (forward_q8).
static bool
is_chained(const policy_net *net)
{
    return policy_is_integer(net->precision) && net->kernels->forward_q8 != NULL;
}

// Takes rows through all layers. forward_q8 reads observations directly unless they must be
// normalised, widened or convolved first.
static void
tile_forward(const policy_net *net, const policy_scratch *scratch, policy_work work,
             policy_batch obs, float *out)
{
    const uint32_t R = obs.rows;
    const policy_kernels *kernels = net->kernels;
    if (!is_chained(net) || net->map_count > 0 || net->spec.normalise ||
        net->spec.obs_dtype != POLICY_F32) {
        for (uint32_t r = 0; r < R; r++) {
            obs_load(net, (const uint8_t *)obs.at + r * obs.stride, work.x + r * work.x_stride);
        }
        for (uint32_t l = 0; l < net->map_count; l++) {
            if (policy_is_pool(net->spec.layers[l].kind)) {
                policy_pool_forward(&net->spec.layers[l], &work, R);
            } else {
                policy_conv_forward(kernels, &net->dense[l], &work, &scratch->conv_work, R);
            }
            work_swap(&work);
        }
        obs.at = work.x;
        obs.stride = work.x_stride * sizeof(float);
    }
    if (is_chained(net)) {
        kernels->forward_q8(net->dense + net->map_count, net->spec.layer_count - net->map_count,
                            &obs, &work, out);
    } else {
        layers_forward(net, &work, R, out);
    }
}

void
policy_forward(const policy_net *net, policy_scratch *scratch, const void *obs, size_t obs_stride,
               uint32_t B, float *out)
{
    OCT_ASSERT(B <= scratch->batch_max && net->width <= scratch->width);
    policy_work work = scratch->work;
    work.x_stride = work.y_stride = row_stride(net->width);
    work.q_stride = code_stride(net->width, net->kernels->code_bytes);
    uint32_t rows = is_chained(net) ? net->tile_rows : POLICY_TILE_ROWS;
    rows = OCT_MIN(rows, scratch->rows);
    for (uint32_t b = 0; b < B; b += rows) {
        const policy_batch tile = {(const uint8_t *)obs + b * obs_stride, obs_stride,
                                   OCT_MIN(B - b, rows)};
        tile_forward(net, scratch, work, tile, out + (size_t)b * net->outputs);
    }
}
