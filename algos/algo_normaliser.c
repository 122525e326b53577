// Running mean and deviation of observations, and first layers that are brought to normalised
// observations and back.
#include "algos/algo_normaliser.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

#define CONSTANT_SHARE      1e-4 // of the largest deviation
#define CONSTANT_MEAN_SHARE 1e-6 // of the number's own mean: about the rounding of a float
#define EXPONENT_MAX        60   // of a deviation: products with weights stay finite

void
algo_normaliser_init(algo_normaliser *n, uint32_t count)
{
    size_t each = 1 + 2 * (size_t)count, doubles = 4 * (size_t)count + GROUP_SIZE_MAX * each;
    double *block = oct_alloc(doubles * sizeof(double) + 2 * count * sizeof(float));
    *n = (algo_normaliser){
        .count = count,
        .mean = block,
        .squares = block + count,
        .next = block + 2 * (size_t)count,
        .gathered = block + 4 * (size_t)count,
        .offset = (float *)(block + doubles),
        .scale = (float *)(block + doubles) + count,
        .block = block,
    };
    for (uint32_t i = 0; i < count; i++) {
        n->scale[i] = 1.0f;
    }
}

void
algo_normaliser_fini(algo_normaliser *n)
{
    free(n->block);
    *n = (algo_normaliser){0};
}

// ---- statistics

// into: rows, [count] means, [count] sums of squared differences from them.
static void
rows_measure(const algo_normaliser *n, const float *x, uint32_t rows, double *into)
{
    double *mean = into + 1, *squares = into + 1 + n->count;
    memset(into, 0, (1 + 2 * (size_t)n->count) * sizeof(*into));
    into[0] = rows;
    for (size_t r = 0; r < rows; r++) {
        for (uint32_t i = 0; i < n->count; i++) {
            mean[i] += (double)x[r * n->count + i];
        }
    }
    for (uint32_t i = 0; i < n->count; i++) {
        mean[i] /= rows;
    }
    for (size_t r = 0; r < rows; r++) {
        for (uint32_t i = 0; i < n->count; i++) {
            double off = (double)x[r * n->count + i] - mean[i];
            squares[i] += off * off;
        }
    }
}

static void
rows_join(algo_normaliser *n, const double *part)
{
    double *mean = n->next, *squares = n->next + n->count;
    double all = n->next_rows + part[0];
    for (uint32_t i = 0; i < n->count; i++) {
        double off = part[1 + i] - mean[i];
        mean[i] += off * part[0] / all;
        squares[i] += part[1 + n->count + i] + off * off * n->next_rows * part[0] / all;
    }
    n->next_rows = all;
}

void
algo_normaliser_take(algo_normaliser *n, group *all, float *x, uint32_t rows)
{
    size_t each = 1 + 2 * (size_t)n->count;
    double *own = n->gathered + group_rank(all) * each;
    rows_measure(n, x, rows, own);
    group_gather_all(all, own, n->gathered, each * sizeof(*own));
    memcpy(n->next, n->mean, n->count * sizeof(double));
    memcpy(n->next + n->count, n->squares, n->count * sizeof(double));
    n->next_rows = n->rows;
    for (uint32_t r = 0; r < group_size(all); r++) {
        rows_join(n, n->gathered + r * each);
    }
    for (size_t r = 0; r < rows; r++) {
        for (uint32_t i = 0; i < n->count; i++) {
            float *number = &x[r * n->count + i];
            *number = (*number - n->offset[i]) * n->scale[i];
        }
    }
}

// offset and scale, of the statistics of now.
static void
scaling_make(algo_normaliser *n)
{
    double rows = fmax(n->rows, 1), largest = 0;
    for (uint32_t i = 0; i < n->count; i++) {
        largest = fmax(largest, sqrt(n->squares[i] / rows));
    }
    largest = largest > 0 ? largest : 1; // also before the first rows
    for (uint32_t i = 0; i < n->count; i++) {
        double deviation = sqrt(n->squares[i] / rows);
        double least = fmax(CONSTANT_SHARE * largest, CONSTANT_MEAN_SHARE * fabs(n->mean[i]));
        deviation = deviation >= least ? deviation : largest;
        deviation = fmax(ldexp(1, -EXPONENT_MAX), fmin(ldexp(1, EXPONENT_MAX), deviation));
        n->offset[i] = (float)n->mean[i];
        n->scale[i] = (float)(1 / deviation);
    }
}

void
algo_normaliser_renew(algo_normaliser *n)
{
    memcpy(n->mean, n->next, n->count * sizeof(double));
    memcpy(n->squares, n->next + n->count, n->count * sizeof(double));
    n->rows = n->next_rows;
    scaling_make(n);
}

// ---- networks

void
algo_normaliser_enter(const algo_normaliser *n, const nn_net *net, float *params)
{
    const nn_layer *first = &net->layers[0];
    for (uint32_t u = 0; u < first->units; u++) {
        float *weight = params + first->at.weight + (size_t)u * first->columns;
        double sum = (double)params[first->at.bias + u];
        for (uint32_t i = 0; i < n->count; i++) {
            sum += (double)weight[i] * (double)n->offset[i];
            weight[i] = (float)((double)weight[i] / (double)n->scale[i]);
        }
        params[first->at.bias + u] = (float)sum;
    }
}

void
algo_normaliser_leave(const algo_normaliser *n, const nn_net *net, float *params)
{
    const nn_layer *first = &net->layers[0];
    for (uint32_t u = 0; u < first->units; u++) {
        float *weight = params + first->at.weight + (size_t)u * first->columns;
        double sum = (double)params[first->at.bias + u];
        for (uint32_t i = 0; i < n->count; i++) {
            double raw = (double)weight[i] * (double)n->scale[i];
            sum -= raw * (double)n->offset[i];
            weight[i] = (float)raw;
        }
        params[first->at.bias + u] = (float)sum;
    }
}

// ---- state

size_t
algo_normaliser_bytes(const algo_normaliser *n)
{
    return 1 + (1 + 2 * (size_t)n->count) * sizeof(double);
}

void
algo_normaliser_save(const algo_normaliser *n, oct_writer *writer)
{
    oct_write_u8(writer, n->keeps);
    oct_write_f64(writer, n->rows);
    for (uint32_t i = 0; i < 2 * n->count; i++) {
        oct_write_f64(writer, n->mean[i]); // and squares
    }
}

oct_err
algo_normaliser_read(algo_normaliser *n, oct_reader *reader)
{
    uint8_t keeps = oct_read_u8(reader);
    double rows = oct_read_f64(reader);
    bool sound = keeps <= 1 && isfinite(rows) && rows >= 0;
    for (uint32_t i = 0; i < 2 * n->count; i++) {
        n->next[i] = oct_read_f64(reader); // of no use between updates
        sound = sound && isfinite(n->next[i]) && (i < n->count || n->next[i] >= 0);
    }
    if (reader->failed || !sound) {
        return OCT_EPROTO;
    }
    n->keeps = keeps == 1;
    n->next_rows = rows;
    algo_normaliser_renew(n);
    return OCT_OK;
}
