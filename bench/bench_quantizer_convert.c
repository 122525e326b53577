// fp32 parameters to codes: new, updated, as values for training, and their errors.
// usage: bench_quantizer_convert [quick | n=REPEATS]
//
// Codes are compared with plain double arithmetic before anything is timed. One JSON line for each
// net, precision, range and step: milliseconds of CPU time on one core, and the ratio to copying
// the parameters once.

#include <unistd.h>

#include "bench/bench_sort.h"
#include "common/oct_clock.h"
#include "common/oct_commit.h"
#include "quantizer/quantizer_project.h"
#include "tests/quantizer/quantizer_plain.h"

#define REPEATS_MAX 201

static const uint32_t hiddens[] = {512, 2048};
static const policy_precision precisions[] = {POLICY_BF16, POLICY_FP16, POLICY_INT8, POLICY_INT4};
static const char *const range_names[] = {"absmax", "percentile", "mse"};

typedef struct bench_case {
    policy_spec spec;
    quantizer_method method;
    policy_image *previous;
    policy_image *next;
    quantizer_projector *projector;
    float *params; // of previous
    float *moved;  // some updates later
    float *out;
    quantizer_changes changes;
} bench_case;

static void
step_copy(bench_case *c)
{
    memcpy(c->out, c->params, policy_spec_params(&c->spec) * sizeof(float));
}

static void
step_convert(bench_case *c)
{
    T_OK(quantizer_convert(c->previous, c->params, &c->method));
}

static void
step_update(bench_case *c)
{
    T_OK(quantizer_update(c->next, c->previous, c->moved, &c->method, &c->changes));
}

static void
step_update_band(bench_case *c)
{
    quantizer_method banded = c->method;
    banded.dead_band = 1.0f;
    T_OK(quantizer_update(c->next, c->previous, c->moved, &banded, &c->changes));
}

static void
step_project(bench_case *c)
{
    T_OK(quantizer_project(c->projector, &c->method, NULL, c->params, c->out));
}

static void
step_report(bench_case *c)
{
    quantizer_layer_error errors[POLICY_LAYERS_MAX];
    quantizer_report(c->previous, c->params, errors);
    assert_true(errors[0].relative_l2 < 0.3f);
}

static const struct {
    const char *name;
    void (*run)(bench_case *c);
} steps[] = {
    {"copy", step_copy},        {"convert", step_convert}, {"update", step_update},
    {"band", step_update_band}, {"project", step_project}, {"report", step_report},
};

static bench_case
case_of(uint32_t hidden, policy_precision precision, quantizer_range range)
{
    bench_case c = {.spec = plain_spec(24, 6), .method = QUANTIZER_METHOD_DEFAULT};
    const uint32_t widths[] = {hidden, hidden, hidden};
    T_OK(policy_spec_set_mlp(&c.spec, widths, 3, POLICY_RELU, false, 6));
    c.method.range = range;
    c.previous = plain_image(&c.spec, precision);
    c.next = plain_image(&c.spec, precision);
    T_OK(quantizer_projector_create(&c.projector, &c.spec, precision));
    c.params = plain_params(&c.spec, 1, 0.02f);
    c.moved = plain_params(&c.spec, 2, 2e-4f);
    for (size_t i = 0; i < policy_spec_params(&c.spec); i++) {
        c.moved[i] += c.params[i];
    }
    c.out = oct_alloc(policy_spec_params(&c.spec) * sizeof(float));
    return c;
}

static void
case_end(bench_case *c)
{
    policy_image_destroy(c->previous);
    policy_image_destroy(c->next);
    quantizer_projector_destroy(c->projector);
    free(c->params);
    free(c->moved);
    free(c->out);
}

// Every integer code, anew and moved on, is the nearest one at its step.
static void
check(bench_case *c)
{
    step_convert(c);
    step_update(c);
    if (!policy_is_integer(c->previous->precision)) {
        return;
    }
    bool is_int4 = c->previous->precision == POLICY_INT4;
    for (uint32_t l = 0; l < c->spec.layer_count; l++) {
        const policy_layer *layer = &c->spec.layers[l];
        size_t weight = policy_spec_layer(&c->spec, l).weight;
        size_t groups = policy_int4_groups(layer->inputs);
        for (size_t i = 0; i < (size_t)layer->inputs * layer->outputs; i++) {
            size_t j = i / layer->inputs, group = j * groups + i % layer->inputs / 32;
            for (int is_next = 0; is_next < 2; is_next++) {
                const policy_image *image = is_next ? c->next : c->previous;
                float w = (is_next ? c->moved : c->params)[weight + i];
                float step = image->scales[l][j];
                step *= is_int4 ? (float)image->multipliers[l][group] : 1.0f;
                OCT_ASSERT(image->codes[l][i] == plain_code(w, step, is_int4 ? 7 : 127));
            }
        }
    }
}

static void
measure(bench_case *c, uint32_t hidden, uint32_t repeats)
{
    double ms[REPEATS_MAX], copy_ms = 0.0;
    for (size_t s = 0; s < OCT_COUNTOF(steps); s++) {
        steps[s].run(c);
        for (uint32_t i = 0; i < repeats; i++) {
            uint64_t begin_ns = oct_clock_thread_cpu_ns();
            steps[s].run(c);
            ms[i] = 1e-6 * (double)(oct_clock_thread_cpu_ns() - begin_ns);
        }
        bench_sort(ms, repeats);
        copy_ms = s == 0 ? ms[repeats / 2] : copy_ms;
        printf("{\"name\":\"quantizer_convert\",\"net\":\"24-%u-%u-%u-6\",\"precision\":\"%s\","
               "\"range\":\"%s\",\"step\":\"%s\",\"n\":%u,\"median\":%.3f,\"min\":%.3f,"
               "\"p99\":%.3f,\"unit\":\"ms\",\"copies\":%.2f,\"cores\":%ld,\"commit\":\"%s\"}\n",
               hidden, hidden, hidden, policy_precision_name(c->previous->precision),
               range_names[c->method.range], steps[s].name, repeats, ms[repeats / 2], ms[0],
               ms[(repeats * 99) / 100], copy_ms > 0.0 ? ms[repeats / 2] / copy_ms : 0.0,
               sysconf(_SC_NPROCESSORS_ONLN), OCT_COMMIT);
    }
}

int
main(int argc, char **argv)
{
    uint32_t repeats = 21, nets = OCT_COUNTOF(hiddens);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "quick") == 0) {
            repeats = nets = 1;
        } else if (sscanf(argv[i], "n=%u", &repeats) != 1 || repeats < 1 || repeats > REPEATS_MAX) {
            fprintf(stderr, "usage: %s [quick | n=REPEATS]\n", argv[0]);
            return 2;
        }
    }
    for (uint32_t i = 0; i < nets; i++) {
        for (size_t p = 0; p < OCT_COUNTOF(precisions); p++) {
            int ranges = policy_is_integer(precisions[p]) ? OCT_COUNTOF(range_names) : 1;
            for (int r = 0; r < ranges; r++) {
                bench_case c = case_of(hiddens[i], precisions[p], (quantizer_range)r);
                check(&c);
                measure(&c, hiddens[i], repeats);
                case_end(&c);
            }
        }
    }
    return 0;
}
