// Softmax and Gaussian over a policy's outputs: log-probabilities, entropies and their gradients.
#include "algos/algo_head.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "nn/nn_categorical.h"
#include "policy/policy_draw.h"

bool
algo_head_is_known(const policy_spec *spec)
{
    return spec->head == POLICY_HEAD_LOGITS || policy_spec_has_deviation(spec);
}

void
algo_head_init(algo_head *head, nn_context *context, const policy_spec *spec, uint32_t rows_max)
{
    OCT_ASSERT(algo_head_is_known(spec));
    *head = (algo_head){.kind = spec->head, .dim = spec->action_count};
    if (head->kind == POLICY_HEAD_LOGITS) {
        head->p = nn_context_alloc(context, (size_t)rows_max * head->dim * sizeof(float));
        head->log_total = nn_context_alloc(context, rows_max * sizeof(float));
    }
}

void
algo_head_fini(algo_head *head)
{
    free(head->p);
    free(head->log_total);
    *head = (algo_head){0};
}

// ---- softmax

static void
softmax_forward(algo_head *head, float *log_prob, float *entropy)
{
    const float *y = head->outputs.y;
    uint32_t dim = head->dim, rows = head->done.rows;
    nn_categorical()->softmax(head->p, head->log_total, y, rows, dim);
    for (uint32_t i = 0; i < rows; i++, y += dim) {
        const float *p = head->p + (size_t)i * dim;
        float sum = 0.0f;
        for (uint32_t a = 0; a < dim; a++) {
            sum -= p[a] * (y[a] - head->log_total[i]);
        }
        log_prob[i] = y[head->done.choice[i]] - head->log_total[i];
        entropy[i] = sum;
    }
}

// d log p_c / dy_a = [a = c] - p_a;  dH / dy_a = -p_a (log p_a + H).
static void
softmax_backward(const algo_head *head, const float *dlog_prob, float dentropy, float *dy)
{
    const float *y = head->outputs.y;
    uint32_t dim = head->dim;
    for (uint32_t i = 0; i < head->done.rows; i++, y += dim, dy += dim) {
        const float *p = head->p + (size_t)i * dim;
        float entropy = 0.0f;
        for (uint32_t a = 0; a < dim; a++) {
            dy[a] = y[a] - head->log_total[i];
            entropy -= p[a] * dy[a];
        }
        for (uint32_t a = 0; a < dim; a++) {
            dy[a] = -p[a] * (dlog_prob[i] + dentropy * (dy[a] + entropy));
        }
        dy[head->done.choice[i]] += dlog_prob[i];
    }
}

// ---- Gaussian

// The log deviations after clamping, their inverses, and the entropy that follows from them.
typedef struct gaussian {
    float log_s[POLICY_ACTIONS_MAX];
    float inverse_s[POLICY_ACTIONS_MAX];
    float entropy;
} gaussian;

static void
gaussian_of(gaussian *g, const float *log_std, uint32_t dim)
{
    g->entropy = 0.0f;
    for (uint32_t k = 0; k < dim; k++) {
        g->log_s[k] = policy_clamp(log_std[k], POLICY_LOG_STD_MIN, POLICY_LOG_STD_MAX);
        g->inverse_s[k] = 1.0f / policy_exp(g->log_s[k]);
        g->entropy += 0.5f + POLICY_LOG_SQRT_2PI + g->log_s[k];
    }
}

static void
gaussian_forward(const algo_head *head, float *log_prob, float *entropy)
{
    const float *mean = head->outputs.y, *drawn = head->done.drawn;
    uint32_t dim = head->dim;
    gaussian g;
    gaussian_of(&g, head->outputs.log_std, dim);
    for (uint32_t i = 0; i < head->done.rows; i++, mean += dim, drawn += dim) {
        float sum = 0.0f;
        for (uint32_t k = 0; k < dim; k++) {
            float z = (drawn[k] - mean[k]) * g.inverse_s[k];
            sum += (-0.5f * (z * z) - g.log_s[k]) - POLICY_LOG_SQRT_2PI;
        }
        log_prob[i] = sum;
        entropy[i] = g.entropy;
    }
}

// d log p / d mean = z / s;  d log p / d log s = z^2 - 1;  dH / d log s = 1.
static void
gaussian_backward(const algo_head *head, const float *dlog_prob, float dentropy, float *dy,
                  float *dlog_std)
{
    const float *mean = head->outputs.y, *drawn = head->done.drawn;
    uint32_t dim = head->dim, rows = head->done.rows;
    gaussian g;
    gaussian_of(&g, head->outputs.log_std, dim);
    for (uint32_t k = 0; k < dim; k++) {
        double sum = (double)dentropy * rows;
        for (size_t i = 0, at = k; i < rows; i++, at += dim) {
            float z = (drawn[at] - mean[at]) * g.inverse_s[k];
            dy[at] = dlog_prob[i] * z * g.inverse_s[k];
            sum += (double)(dlog_prob[i] * (z * z - 1.0f));
        }
        dlog_std[k] = (float)sum;
    }
}

// ---- divergence between two distributions, and its second derivative

static double
softmax_kl(const algo_head *head, const float *kept)
{
    const float *y = head->outputs.y;
    double sum = 0;
    for (uint32_t i = 0; i < head->done.rows; i++) {
        for (uint32_t a = 0; a < head->dim; a++, kept++, y++) {
            double log_p = (double)*kept, log_q = (double)*y - (double)head->log_total[i];
            sum += exp(log_p) * (log_p - log_q);
        }
    }
    return sum / head->done.rows;
}

static double
gaussian_kl(const algo_head *head, const float *kept, const float *kept_log_std)
{
    const float *mean = head->outputs.y;
    uint32_t dim = head->dim, rows = head->done.rows;
    gaussian p, q;
    gaussian_of(&p, kept_log_std, dim);
    gaussian_of(&q, head->outputs.log_std, dim);
    double sum = 0, squares[POLICY_ACTIONS_MAX] = {0};
    for (uint32_t i = 0; i < rows; i++) {
        for (uint32_t k = 0; k < dim; k++, kept++, mean++) {
            double off = (double)*mean - (double)*kept;
            squares[k] += off * off;
        }
    }
    for (uint32_t k = 0; k < dim; k++) {
        double log_p = (double)p.log_s[k], log_q = (double)q.log_s[k];
        double wide = exp(2 * (log_p - log_q)) + squares[k] / rows * exp(-2 * log_q);
        sum += log_q - log_p + 0.5 * (wide - 1);
    }
    return sum;
}

static void
softmax_fisher(const algo_head *head, float *dy)
{
    const float *p = head->p;
    uint32_t rows = head->done.rows;
    for (uint32_t i = 0; i < rows; i++, dy += head->dim, p += head->dim) {
        float mean = 0.0f;
        for (uint32_t a = 0; a < head->dim; a++) {
            mean += p[a] * dy[a];
        }
        for (uint32_t a = 0; a < head->dim; a++) {
            dy[a] = p[a] * (dy[a] - mean) / (float)rows;
        }
    }
}

static void
gaussian_fisher(const algo_head *head, float *dy, float *dlog_std)
{
    uint32_t rows = head->done.rows;
    gaussian g;
    gaussian_of(&g, head->outputs.log_std, head->dim);
    for (uint32_t i = 0; i < rows; i++, dy += head->dim) {
        for (uint32_t k = 0; k < head->dim; k++) {
            dy[k] *= g.inverse_s[k] * g.inverse_s[k] / (float)rows;
        }
    }
    for (uint32_t k = 0; k < head->dim; k++) {
        dlog_std[k] *= 2.0f;
    }
}

// ---- both heads

void
algo_head_forward(algo_head *head, algo_outputs outputs, algo_done done, float *log_prob,
                  float *entropy)
{
    head->outputs = outputs;
    head->done = done;
    if (head->kind == POLICY_HEAD_LOGITS) {
        softmax_forward(head, log_prob, entropy);
    } else {
        gaussian_forward(head, log_prob, entropy);
    }
}

void
algo_head_backward(const algo_head *head, const float *dlog_prob, float dentropy, float *dy,
                   float *dlog_std)
{
    if (head->kind == POLICY_HEAD_LOGITS) {
        softmax_backward(head, dlog_prob, dentropy, dy);
    } else {
        gaussian_backward(head, dlog_prob, dentropy, dy, dlog_std);
    }
}

void
algo_head_keep(const algo_head *head, float *kept)
{
    const float *y = head->outputs.y;
    for (uint32_t i = 0; i < head->done.rows; i++, y += head->dim, kept += head->dim) {
        float total = head->kind == POLICY_HEAD_LOGITS ? head->log_total[i] : 0.0f;
        for (uint32_t k = 0; k < head->dim; k++) {
            kept[k] = y[k] - total;
        }
    }
}

double
algo_head_kl(const algo_head *head, const float *kept, const float *kept_log_std)
{
    return head->kind == POLICY_HEAD_LOGITS ? softmax_kl(head, kept)
                                            : gaussian_kl(head, kept, kept_log_std);
}

void
algo_head_fisher(const algo_head *head, float *dy, float *dlog_std)
{
    if (head->kind == POLICY_HEAD_LOGITS) {
        softmax_fisher(head, dy);
    } else {
        gaussian_fisher(head, dy, dlog_std);
    }
}
