// Random transitions and rollouts for the benchmarks of updates.
#include "bench/bench_batch.h"

#include <math.h>
#include <stdlib.h>

#include "common/oct_base.h"
#include "policy/policy_draw.h"

#define DISCOUNT 0.97f

float *
bench_floats(oct_rng *rng, size_t count, float low, float high)
{
    float *x = oct_alloc(count * sizeof(*x));
    for (size_t i = 0; i < count; i++) {
        x[i] = low + (high - low) * oct_rng_float(rng);
    }
    return x;
}

static void *
actions_make(oct_rng *rng, const policy_spec *spec, size_t rows)
{
    if (spec->action_kind == POLICY_BOX) {
        return bench_floats(rng, rows * spec->action_count, -1, 1);
    }
    int32_t *choice = oct_alloc(rows * sizeof(*choice));
    for (size_t i = 0; i < rows; i++) {
        choice[i] = (int32_t)oct_rng_below(rng, spec->action_count);
    }
    return choice;
}

// Of each row the log-probability, and behind it what a Gaussian drew.
static float *
extra_make(oct_rng *rng, const policy_spec *spec, size_t rows)
{
    uint32_t dim = policy_spec_extra_dim(spec);
    float *extra = bench_floats(rng, rows * dim, -1, 1);
    for (size_t row = 0; dim > 0 && row < rows; row++) {
        float *of = extra + row * dim, log_prob = 0.0f;
        for (uint32_t k = 1; k < dim; k++) {
            log_prob -= 0.5f * of[k] * of[k] + POLICY_LOG_SQRT_2PI;
        }
        of[0] = dim > 1 ? log_prob : -logf((float)spec->action_count);
    }
    return extra;
}

static uint8_t *
flags_make(uint32_t B, uint32_t T, uint32_t steps)
{
    uint8_t *flags = oct_alloc((size_t)B * T);
    for (size_t row = 0; row < (size_t)B * T; row++) {
        flags[row] = row % T < steps ? 0 : ALGO_END;
    }
    return flags;
}

void
bench_batch_make(algo_batch *out, oct_rng *rng, const policy_spec *spec, uint32_t B, uint32_t T,
                 uint32_t steps)
{
    size_t rows = (size_t)B * OCT_MAX(T, 1u), obs = spec->obs_count;
    float *discount = bench_floats(rng, B, DISCOUNT, DISCOUNT);
    for (uint32_t i = 0; i < B; i += 10) {
        discount[i] = 0.0f;
    }
    *out = (algo_batch){
        .B = B,
        .T = T,
        .obs = bench_floats(rng, (size_t)B * (T + 1) * obs, -1, 1),
        .next = bench_floats(rng, T == 0 ? B * obs : 0, -1, 1),
        .action = actions_make(rng, spec, rows),
        .reward = bench_floats(rng, rows, 0, 1),
        .discount = discount,
        .weight = bench_floats(rng, B, 1, 1),
        .extra = extra_make(rng, spec, T > 0 ? rows : 0),
        .flags = flags_make(B, T, steps),
        .version = oct_alloc(rows * sizeof(uint32_t)),
    };
}

void
bench_batch_free(algo_batch *batch)
{
    const void *columns[] = {batch->obs,    batch->next,     batch->action,
                             batch->reward, batch->discount, batch->weight,
                             batch->extra,  batch->flags,    batch->version};
    for (size_t i = 0; i < OCT_COUNTOF(columns); i++) {
        free((void *)(uintptr_t)columns[i]);
    }
    *batch = (algo_batch){0};
}
