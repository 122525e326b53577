// The cost of published changes: bytes relative to the fp32 weights, and time, on the policies of a
// real run or on made-up ones.
//
// usage: bench_codec_delta [quick | FOLDER [lines]]
//
// FOLDER holds fp32 policies (bench/policy_trace.c, bench/policy_trace_d4pg.py). Consecutive
// versions are a chain: the first is sent complete, each later one as a change by quantizer_update
// and codec_delta_encode, decoded, and compared bit for bit. One JSON line for each way of
// quantising with totals over all changes; with `lines` one for each change as well. Without FOLDER
// a made-up chain, and the time of each part for 8.4 M weights.

#include <dirent.h>
#include <inttypes.h>

#include "bench/bench_sort.h"
#include "common/oct_clock.h"
#include "common/oct_commit.h"
#include "common/oct_reason.h"
#include "policy/codec/codec_delta.h"
#include "policy/policy_file.h"
#include "quantizer/quantizer_convert.h"
#include "tests/policy/random_policy.h"

#define FILES_MAX   4096
#define PATH        1024
#define REPEATS_MAX 31

typedef struct way {
    const char *name;
    policy_precision precision;
    float dead_band;
} way;

static const way ways[] = {
    {"int8 exact", POLICY_INT8, 0.5f},    {"int8 dead band 0.75", POLICY_INT8, 0.75f},
    {"int8 dead band 1", POLICY_INT8, 1}, {"int8 dead band 1.5", POLICY_INT8, 1.5f},
    {"int8 dead band 2", POLICY_INT8, 2}, {"int4 exact", POLICY_INT4, 0.5f},
    {"int4 dead band 1", POLICY_INT4, 1},
};

// What the changes of one way came to.
typedef struct sums {
    uint64_t changes, complete; // complete: those that a change would not have shortened
    double bytes, weights, codes, scales, encode_ms, decode_ms, error, worst_fraction;
} sums;

static double
cpu_ms(void)
{
    return 1e-6 * (double)oct_clock_thread_cpu_ns();
}

// ---- one chain of versions

typedef struct chain {
    way how;
    quantizer_method method;
    policy_image *held, *next, *got; // of sender and receiver; what the receiver makes of it
    codec_coder *sender, *receiver;
    float *again; // the parameters that the codes stand for
    uint8_t *bytes, *got_bytes;
} chain;

static chain
chain_begin(const policy_spec *spec, way how, const float *params)
{
    chain c = {.how = how, .method = QUANTIZER_METHOD_DEFAULT};
    c.method.dead_band = how.dead_band;
    T_OK(policy_image_create(&c.held, spec, how.precision));
    T_OK(policy_image_create(&c.next, spec, how.precision));
    T_OK(policy_image_create(&c.got, spec, how.precision));
    c.sender = codec_coder_create(spec, how.precision);
    c.receiver = codec_coder_create(spec, how.precision);
    c.again = oct_alloc(policy_spec_params(spec) * sizeof(float));
    c.bytes = oct_alloc(policy_encoded_size(c.held) + POLICY_NAME_MAX);
    c.got_bytes = oct_alloc(policy_encoded_size(c.held) + POLICY_NAME_MAX);
    T_OK(quantizer_convert(c.held, params, &c.method));
    c.held->origin.run_id = 1;
    c.held->origin.version = 1;
    return c;
}

static void
chain_end(chain *c)
{
    policy_image_destroy(c->held);
    policy_image_destroy(c->next);
    policy_image_destroy(c->got);
    codec_coder_destroy(c->sender);
    codec_coder_destroy(c->receiver);
    free(c->again);
    free(c->bytes);
    free(c->got_bytes);
}

static void
check_equal(chain *c)
{
    size_t size = policy_encoded_size(c->next);
    policy_encode(c->next, c->bytes);
    policy_encode(c->got, c->got_bytes);
    assert_int_equal(policy_encoded_size(c->got), size);
    assert_memory_equal(c->bytes, c->got_bytes, size);
}

static double
relative_l2(const chain *c, const float *params)
{
    double error = 0.0, norm = 0.0;
    quantizer_dequantize(c->next, c->again);
    for (size_t i = 0; i < policy_spec_params(&c->next->spec); i++) {
        double d = (double)c->again[i] - params[i];
        error += d * d;
        norm += (double)params[i] * params[i];
    }
    return norm > 0.0 ? sqrt(error / norm) : 0.0;
}

static void
chain_step(chain *c, const float *params, uint64_t updates, sums *all, bool is_shown)
{
    quantizer_changes changes;
    const uint8_t *bytes;
    size_t length;
    c->next->origin = c->held->origin;
    c->next->origin.version++;
    c->next->origin.updates = updates;
    double begin = cpu_ms();
    T_OK(quantizer_update(c->next, c->held, params, &c->method, &changes));
    oct_err err = codec_delta_encode(c->sender, c->held, c->next, &bytes, &length);
    double middle = cpu_ms(), end = middle;
    if (err == OCT_OK) {
        T_OK(codec_delta_decode(c->receiver, c->got, c->held, bytes, length, NULL));
        end = cpu_ms();
        check_equal(c);
    } else {
        assert_int_equal(err, OCT_EAGAIN);
        length = policy_encoded_size(c->next);
        all->complete++;
    }
    double weights = (double)changes.weights, fraction = (double)length / (4.0 * weights);
    double error = relative_l2(c, params);
    if (is_shown) {
        printf("{\"name\":\"codec_delta\",\"way\":\"%s\",\"updates\":%" PRIu64
               ",\"bytes\":%zu,\"of_fp32\":%.5f,\"changed\":%.4f,\"scales\":%" PRIu64
               ",\"relative_l2\":%.5f,\"encode_ms\":%.2f,\"decode_ms\":%.2f}\n",
               c->how.name, updates, length, fraction, (double)changes.codes / weights,
               changes.scales, error, middle - begin, end - middle);
    }
    all->changes++;
    all->bytes += (double)length;
    all->weights += weights;
    all->codes += (double)changes.codes;
    all->scales += (double)changes.scales;
    all->encode_ms += middle - begin;
    all->decode_ms += end - middle;
    all->error += error;
    all->worst_fraction = OCT_MAX(all->worst_fraction, fraction);
    policy_image *held = c->held;
    c->held = c->next;
    c->next = held;
}

static void
report(const char *source, way how, const sums *all)
{
    double n = OCT_MAX((double)all->changes, 1.0), weights = OCT_MAX(all->weights, 1.0);
    printf("{\"name\":\"codec_delta_total\",\"source\":\"%s\",\"way\":\"%s\",\"changes\":%" PRIu64
           ",\"complete\":%" PRIu64
           ",\"fp32_over_bytes\":%.1f,\"worst\":%.1f,\"bits_per_weight\":%.3f,\"changed\":%.4f,"
           "\"scales\":%.1f,\"relative_l2\":%.5f,\"encode_ms\":%.2f,\"decode_ms\":%.2f,"
           "\"commit\":\"%s\"}\n",
           source, how.name, all->changes, all->complete, 4.0 * weights / all->bytes,
           1.0 / all->worst_fraction, 8.0 * all->bytes / weights, all->codes / weights,
           all->scales / n, all->error / n, all->encode_ms / n, all->decode_ms / n, OCT_COMMIT);
    (void)fflush(stdout);
}

// ---- policies of a real run

static int
name_order(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t
files_list(const char *folder, char **paths)
{
    DIR *dir = opendir(folder);
    size_t n = 0;
    if (dir == NULL) {
        fprintf(stderr, "bench_codec_delta: cannot read the folder '%s'\n", folder);
        exit(1);
    }
    for (struct dirent *e = readdir(dir); e != NULL && n < FILES_MAX; e = readdir(dir)) {
        const char *end = strrchr(e->d_name, '.');
        if (end != NULL && strcmp(end, ".policy") == 0) {
            paths[n] = oct_alloc(PATH);
            (void)snprintf(paths[n++], PATH, "%s/%s", folder, e->d_name);
        }
    }
    (void)closedir(dir);
    qsort(paths, n, sizeof(paths[0]), name_order);
    return n;
}

static void
params_gather(float *params, const policy_image *image)
{
    for (uint32_t l = 0; l < image->spec.layer_count; l++) {
        const policy_layer *layer = &image->spec.layers[l];
        policy_offsets at = policy_spec_layer(&image->spec, l);
        size_t row = layer->outputs * sizeof(float);
        memcpy(params + at.weight, image->weights[l], layer->inputs * row);
        memcpy(params + at.bias, image->bias[l], row);
        if (layer->layer_norm) {
            memcpy(params + at.gain, image->gain[l], row);
            memcpy(params + at.offset, image->offset[l], row);
        }
    }
}

static void
bench_trace(const char *folder, bool is_shown)
{
    static char *paths[FILES_MAX];
    size_t n = files_list(folder, paths);
    sums all[OCT_COUNTOF(ways)] = {0};
    chain chains[OCT_COUNTOF(ways)];
    uint64_t version = 0;
    float *params = NULL;
    for (size_t i = 0; i < n; i++) {
        oct_reason why = {""};
        policy_image *image;
        oct_err err = policy_file_load(&image, paths[i], &why);
        if (err != OCT_OK || image->precision != POLICY_FP32) {
            fprintf(stderr, "bench_codec_delta: '%s' is not an fp32 policy %s\n", paths[i],
                    why.text);
            exit(1);
        }
        params =
            params != NULL ? params : oct_alloc(policy_spec_params(&image->spec) * sizeof(float));
        params_gather(params, image);
        bool is_next = version != 0 && image->origin.version == version + 1;
        for (size_t w = 0; w < OCT_COUNTOF(ways); w++) {
            if (is_next) {
                chain_step(&chains[w], params, image->origin.updates, &all[w], is_shown);
                continue;
            }
            if (version != 0) {
                chain_end(&chains[w]);
            }
            chains[w] = chain_begin(&image->spec, ways[w], params);
        }
        version = image->origin.version;
        policy_image_destroy(image);
        free(paths[i]);
    }
    for (size_t w = 0; w < OCT_COUNTOF(ways); w++) {
        report(folder, ways[w], &all[w]);
        if (version != 0) {
            chain_end(&chains[w]);
        }
    }
    free(params);
}

// ---- made-up policies

// A step as Adam's are: the outer product of what units and inputs do, and noise.
static void
params_move(float *params, const policy_spec *spec, float step, oct_rng *rng)
{
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        const policy_layer *layer = &spec->layers[l];
        float *weight = params + policy_spec_layer(spec, l).weight;
        float *input = oct_alloc(layer->inputs * sizeof(float));
        for (uint32_t k = 0; k < layer->inputs; k++) {
            input[k] = 2.0f * oct_rng_float(rng) - 0.5f;
        }
        for (uint32_t j = 0; j < layer->outputs; j++) {
            float unit = 2.0f * oct_rng_float(rng) - 1.0f;
            for (uint32_t k = 0; k < layer->inputs; k++) {
                float noise = 2.0f * oct_rng_float(rng) - 1.0f;
                weight[(size_t)j * layer->inputs + k] += step * (unit * input[k] + noise);
            }
        }
        free(input);
    }
}

static float *
params_make(const policy_spec *spec, oct_rng *rng)
{
    size_t count = policy_spec_params(spec);
    float *params = oct_alloc(count * sizeof(float));
    for (size_t i = 0; i < count; i++) {
        params[i] = 0.05f * (2.0f * oct_rng_float(rng) - 1.0f);
    }
    return params;
}

static void
bench_made_up(uint32_t hidden, int versions)
{
    const uint32_t widths[] = {24, hidden, hidden, hidden, 6};
    policy_spec spec = random_spec(widths, 5, POLICY_RELU, false);
    for (size_t w = 0; w < OCT_COUNTOF(ways); w++) {
        oct_rng rng;
        oct_rng_init(&rng, 1, 1);
        float *params = params_make(&spec, &rng);
        chain c = chain_begin(&spec, ways[w], params);
        sums all = {0};
        for (int v = 0; v < versions; v++) {
            params_move(params, &spec, 0.0004f, &rng);
            chain_step(&c, params, 100u * (uint32_t)v, &all, false);
        }
        report("made up", ways[w], &all);
        chain_end(&c);
        free(params);
    }
}

static void
report_part(const char *part, const char *way_name, double weights, double *ms, int n, double bar)
{
    bench_sort(ms, n);
    printf("{\"name\":\"codec_delta_part\",\"part\":\"%s\",\"way\":\"%s\",\"weights\":%.0f,"
           "\"n\":%d,\"median\":%.2f,\"min\":%.2f,\"bar\":%.0f,\"unit\":\"ms of CPU time\","
           "\"commit\":\"%s\"}\n",
           part, way_name, weights, n, ms[n / 2], ms[0], bar, OCT_COMMIT);
}

// Each part on the same step again and again. Bars: issue of the 8-bit engine.
static void
bench_parts(uint32_t hidden, way how, int repeats)
{
    const uint32_t widths[] = {24, hidden, hidden, hidden, 6};
    double update_ms[REPEATS_MAX], encode_ms[REPEATS_MAX], decode_ms[REPEATS_MAX];
    oct_rng rng;
    oct_rng_init(&rng, 1, 1);
    policy_spec spec = random_spec(widths, 5, POLICY_RELU, false);
    float *params = params_make(&spec, &rng);
    chain c = chain_begin(&spec, how, params);
    params_move(params, &spec, 0.0004f, &rng);
    c.next->origin = c.held->origin;
    c.next->origin.version++;
    size_t length = 0;
    for (int i = -1; i < repeats; i++) { // the first warms up
        quantizer_changes changes;
        const uint8_t *bytes;
        double begin = cpu_ms();
        T_OK(quantizer_update(c.next, c.held, params, &c.method, &changes));
        double updated = cpu_ms();
        T_OK(codec_delta_encode(c.sender, c.held, c.next, &bytes, &length));
        double encoded = cpu_ms();
        T_OK(codec_delta_decode(c.receiver, c.got, c.held, bytes, length, NULL));
        int at = OCT_MAX(i, 0);
        decode_ms[at] = cpu_ms() - encoded;
        encode_ms[at] = encoded - updated;
        update_ms[at] = updated - begin;
    }
    check_equal(&c);
    double weights = (double)policy_spec_params(&spec);
    report_part("quantise", how.name, weights, update_ms, repeats, 40);
    report_part("encode", how.name, weights, encode_ms, repeats, 40);
    report_part("decode", how.name, weights, decode_ms, repeats, 20);
    chain_end(&c);
    free(params);
}

int
main(int argc, char **argv)
{
    bool is_quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    if (argc > 1 && !is_quick) {
        bench_trace(argv[1], argc > 2 && strcmp(argv[2], "lines") == 0);
        return 0;
    }
    bench_made_up(is_quick ? 64 : 512, is_quick ? 3 : 12);
    for (size_t w = 0; w < OCT_COUNTOF(ways); w++) {
        if (ways[w].dead_band <= 1.0f) {
            bench_parts(is_quick ? 64 : 2048, ways[w], is_quick ? 1 : 11);
        }
    }
    return 0;
}
