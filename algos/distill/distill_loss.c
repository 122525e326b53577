// Losses between a student's outputs and its teacher's.
#include "algos/distill/distill_loss.h"

#include <math.h>

#include "common/oct_base.h"
#include "policy/policy_draw.h"

// log(sum(exp(x / T))).
static double
log_sum(const float *x, uint32_t count, double temperature)
{
    double most = (double)x[0], sum = 0;
    for (uint32_t i = 1; i < count; i++) {
        most = OCT_MAX(most, (double)x[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        sum += exp(((double)x[i] - most) / temperature);
    }
    return most / temperature + log(sum);
}

static double
softmax_kl(const distill_loss *loss, const float *y, const float *want, float *dy)
{
    double T = (double)loss->temperature, kl = 0;
    double want_sum = log_sum(want, loss->actions, T), sum = log_sum(y, loss->actions, T);
    for (uint32_t a = 0; a < loss->actions; a++) {
        double log_p = (double)want[a] / T - want_sum, log_q = (double)y[a] / T - sum;
        double p = exp(log_p);
        kl += p * (log_p - log_q);
        dy[a] = (float)((exp(log_q) - p) / T);
    }
    return kl;
}

// Returns y - want, or 0 where tanh is saturated at the same end for both.
static double
distance(const distill_loss *loss, float y, float want)
{
    bool is_squashed = loss->head == POLICY_HEAD_TANH || loss->head == POLICY_HEAD_TANH_GAUSSIAN;
    if (is_squashed && want >= DISTILL_SATURATED) {
        return OCT_MIN((double)y - (double)DISTILL_SATURATED, 0.0);
    }
    if (is_squashed && want <= -DISTILL_SATURATED) {
        return OCT_MAX((double)y + (double)DISTILL_SATURATED, 0.0);
    }
    return (double)y - (double)want;
}

static double
squares(const distill_loss *loss, const float *y, const float *want, float *dy)
{
    double sum = 0;
    bool is_value = loss->head == POLICY_HEAD_VALUES || loss->head == POLICY_HEAD_LOGITS;
    double share = is_value ? 1.0 / loss->actions : 1.0;
    for (uint32_t a = 0; a < loss->actions; a++) {
        double d = distance(loss, y[a], want[a]);
        sum += share * d * d / 2;
        dy[a] = (float)(share * d);
    }
    for (uint32_t a = loss->actions; a < loss->outputs; a++) {
        dy[a] = 0;
    }
    return sum;
}

static double
log_deviation(float x)
{
    double least = log((double)DISTILL_DEVIATION_MIN);
    return OCT_MAX(least, (double)policy_clamp(x, POLICY_LOG_STD_MIN, POLICY_LOG_STD_MAX));
}

static double
gaussian_kl(const distill_loss *loss, const float *y, const float *want, float *dy)
{
    double kl = 0;
    uint32_t n = loss->actions;
    for (uint32_t a = 0; a < n; a++) {
        double log_t = log_deviation(loss->has_deviations ? want[n + a] : loss->deviation[a]);
        double log_s = loss->has_deviations ? log_deviation(y[n + a]) : log_t;
        double d = distance(loss, y[a], want[a]), t = exp(log_t), s = exp(log_s);
        double ratio = (t * t + d * d) / (s * s);
        kl += log_s - log_t + (ratio - 1) / 2;
        dy[a] = (float)(d / (s * s));
        if (loss->has_deviations) {
            dy[n + a] = (float)(1 - ratio);
        }
    }
    return kl;
}

double
distill_loss_of(const distill_loss *loss, const float *y, const float *want, uint32_t rows,
                float *dy)
{
    bool is_gaussian =
        loss->head == POLICY_HEAD_GAUSSIAN || loss->head == POLICY_HEAD_TANH_GAUSSIAN;
    double sum = 0;
    for (size_t r = 0; r < rows; r++) {
        size_t at = r * loss->outputs;
        sum += loss->kind == DISTILL_SQUARES ? squares(loss, y + at, want + at, dy + at)
               : is_gaussian                 ? gaussian_kl(loss, y + at, want + at, dy + at)
                                             : softmax_kl(loss, y + at, want + at, dy + at);
    }
    for (size_t i = 0; i < (size_t)rows * loss->outputs; i++) {
        dy[i] /= (float)rows;
    }
    return sum / rows;
}
