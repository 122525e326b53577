// Computes a chain of steps in double precision: the reference to which an imported policy is
// compared. It is written for clarity, not for speed.
#include "policy/import/import_chain.h"

#include <math.h>
#include <string.h>

#include "common/oct_base.h"
#include "policy/import/import_activations.h"

uint32_t
import_chain_width(const import_step *step)
{
    uint32_t width = 1;
    for (; step != NULL; step = step->from) {
        width = OCT_MAX(width, step->count);
    }
    return width;
}

// y[j] = alpha sum_k W[j][k] x[k] + b[j].
static void
dense_eval(const import_step *step, const double *x, double *y)
{
    for (uint32_t j = 0; j < step->count; j++) {
        double sum = 0.0;
        for (uint32_t k = 0; k < step->from->count; k++) {
            sum += import_weight(step, j, k) * x[k];
        }
        y[j] = step->alpha * sum + (step->b != NULL ? step->b[j] : 0.0);
    }
}

// Filter f of a convolution.
static double
filter_eval(const import_step *step, const double *x, uint32_t f, const policy_window *at)
{
    const policy_conv *conv = &step->conv;
    const uint32_t down = conv->rows.kernel, across = conv->columns.kernel;
    double sum = step->b[f];
    for (uint32_t c = 0; c < conv->channels; c++) {
        for (uint32_t i = at->rows.first; i < at->rows.end; i++) {
            size_t filter = (size_t)f * conv->channels + c,
                   row = at->rows.zeros + i - at->rows.first;
            const float *w =
                step->weight->floats + (filter * down + row) * across + at->columns.zeros;
            const double *line = x + ((size_t)c * conv->rows.size + i) * conv->columns.size;
            for (uint32_t j = at->columns.first; j < at->columns.end; j++) {
                sum += (double)w[j - at->columns.first] * line[j];
            }
        }
    }
    return sum;
}

// Channel c of a pool.
static double
pool_eval(const import_step *step, const double *x, uint32_t c, const policy_window *at)
{
    const policy_conv *conv = &step->conv;
    const double *map = x + (size_t)c * conv->rows.size * conv->columns.size;
    double sum = 0.0, most = -(double)INFINITY;
    for (uint32_t i = at->rows.first; i < at->rows.end; i++) {
        for (uint32_t j = at->columns.first; j < at->columns.end; j++) {
            sum += map[i * conv->columns.size + j];
            most = fmax(most, map[i * conv->columns.size + j]);
        }
    }
    return step->kind == IMPORT_MAX_POOL ? most : sum / policy_window_cells(at);
}

// A convolution or a pool: y is [filters][rows][columns].
static void
map_eval(const import_step *step, const double *x, double *y)
{
    const policy_conv *conv = &step->conv;
    uint32_t places = policy_axis_positions(&conv->rows) * policy_axis_positions(&conv->columns);
    for (uint32_t place = 0; place < places; place++) {
        const policy_window at = policy_conv_window(conv, place);
        for (uint32_t f = 0; f < conv->filters; f++) {
            y[(size_t)f * places + place] = step->kind == IMPORT_CONV ? filter_eval(step, x, f, &at)
                                                                      : pool_eval(step, x, f, &at);
        }
    }
}

// Two passes, because the difference of squares loses digits.
static void
norm_eval(const import_step *step, const double *x, double *y)
{
    uint32_t n = step->count;
    double mean = 0.0, variance = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        mean += x[i] / n;
    }
    for (uint32_t i = 0; i < n; i++) {
        variance += (x[i] - mean) * (x[i] - mean) / n;
    }
    for (uint32_t i = 0; i < n; i++) {
        y[i] = (x[i] - mean) / sqrt(variance + step->epsilon) * step->a[i] + step->b[i];
    }
}

// Relative to the maximum, so that exp does not overflow.
static double
log_sum_exp(const double *x, uint32_t n)
{
    double most = x[0], sum = 0.0;
    for (uint32_t i = 1; i < n; i++) {
        most = OCT_MAX(most, x[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        sum += exp(x[i] - most);
    }
    return most + log(sum);
}

// Returns the first of equal maxima, as policies choose it.
static double
arg_max(const double *x, uint32_t n)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++) {
        best = x[i] > x[best] ? i : best;
    }
    return best;
}

// Kinds that compute each number by itself.
static double
number_eval(const import_step *step, const double *x, uint32_t i)
{
    switch (step->kind) {
    case IMPORT_AFFINE:
        return step->a[i] * x[i] + step->b[i];
    case IMPORT_CLIP:
        return fmin(fmax(x[i], step->a[i]), step->b[i]);
    case IMPORT_GATHER:
        return x[step->order[i]];
    case IMPORT_ACTIVATION:
        return import_activation_number(step->activation, x[i]);
    default:
        return x[i];
    }
}

// Computes one step. Kinds that look at the whole row come first.
static void
step_eval(const import_step *step, const double *x, double *y)
{
    uint32_t inputs = step->from->count;
    switch (step->kind) {
    case IMPORT_DENSE:
        dense_eval(step, x, y);
        return;
    case IMPORT_CONV:
    case IMPORT_MAX_POOL:
    case IMPORT_MEAN_POOL:
        map_eval(step, x, y);
        return;
    case IMPORT_NORM:
        norm_eval(step, x, y);
        return;
    case IMPORT_ARGMAX:
        y[0] = arg_max(x, inputs);
        return;
    case IMPORT_LOG_SUM_EXP:
        y[0] = log_sum_exp(x, inputs);
        return;
    case IMPORT_SOFTMAX:
    case IMPORT_LOG_SOFTMAX: {
        double sum = log_sum_exp(x, inputs);
        for (uint32_t i = 0; i < inputs; i++) {
            y[i] = step->kind == IMPORT_SOFTMAX ? exp(x[i] - sum) : x[i] - sum;
        }
        return;
    }
    default:
        for (uint32_t i = 0; i < step->count; i++) {
            y[i] = number_eval(step, x, i);
        }
    }
}

// A clip changed a number.
static bool
is_changed(const import_step *step, const double *x, const double *y)
{
    for (uint32_t i = 0; i < step->count; i++) {
        if (x[i] != y[i]) {
            return true;
        }
    }
    return false;
}

// Evaluates the chain from the observation to step. The two rows of work take turns as input and
// output. Sets *is_clipped if a clip changes a number.
static const double *
chain_eval(const import_step *step, const double *observation, double *work, bool *is_clipped)
{
    // Longer than any chain: the nodes, and a normaliser.
    const import_step *path[2 * IMPORT_NODES_MAX];
    uint32_t width = import_chain_width(step), count = 0;
    for (; step->from != NULL; step = step->from) {
        OCT_ASSERT(count < OCT_COUNTOF(path));
        path[count++] = step;
    }
    memcpy(work, observation, step->count * sizeof(*work));
    uint32_t half = 0;
    while (count > 0) {
        const double *x = work + (size_t)half * width;
        double *y = work + (size_t)(1 - half) * width;
        step = path[--count];
        step_eval(step, x, y);
        *is_clipped = *is_clipped || (step->kind == IMPORT_CLIP && is_changed(step, x, y));
        half = 1 - half;
    }
    return work + (size_t)half * width;
}

const double *
import_chain_eval(const import_step *step, const double *observation, double *work)
{
    bool is_clipped = false;
    return chain_eval(step, observation, work, &is_clipped);
}

bool
import_chain_is_clipped(const import_step *step, const double *observation, double *work)
{
    bool is_clipped = false;
    (void)chain_eval(step, observation, work, &is_clipped);
    return is_clipped;
}
