// Measures how far a quantised policy's outputs and actions are from those of its fp32 weights.
#include "quantizer/quantizer_probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "policy/policy_net.h"

#define AGREE_SHARE    0.1  // of the unit of an action
#define CONSTANT_SHARE 1e-5 // of its magnitude: an action with a smaller deviation is constant

// The outputs and actions of one policy on all rows.
typedef struct answers {
    float *y;      // [rows][outputs]
    void *actions; // [rows], int32 or float [dim]
} answers;

static void
answers_free(answers *a)
{
    free(a->y);
    free(a->actions);
}

// Returns the observations as the policy reads them, [rows][obs_count] of its dtype; the caller
// frees them.
static void *
observations_make(const policy_spec *spec, const float *obs, uint32_t rows)
{
    size_t count = (size_t)rows * spec->obs_count;
    void *made = oct_alloc(rows * policy_spec_obs_bytes(spec));
    if (spec->obs_dtype == POLICY_F32) {
        memcpy(made, obs, count * sizeof(float));
        return made;
    }
    uint8_t *bytes = made;
    for (size_t i = 0; i < count; i++) {
        float x = obs[i] > 0.0f ? obs[i] : 0.0f;
        bytes[i] = (uint8_t)(x < 255.0f ? x : 255.0f);
    }
    return made;
}

// Runs one policy on all rows.
static oct_err
answers_make(answers *a, const policy_image *image, const void *obs, uint32_t rows)
{
    const policy_spec *spec = &image->spec;
    policy_net *net;
    OCT_TRY(policy_net_create(&net, image, POLICY_ISA_BEST));
    policy_scratch *scratch = policy_scratch_create(spec, rows);
    a->y = oct_alloc((size_t)rows * policy_spec_outputs(spec) * sizeof(float));
    a->actions = oct_alloc(rows * policy_spec_action_bytes(spec));
    policy_forward(net, scratch, obs, policy_spec_obs_bytes(spec), rows, a->y);
    policy_act(spec, a->y, rows, a->actions);
    policy_scratch_destroy(scratch);
    policy_net_destroy(net);
    return OCT_OK;
}

// Returns how many consecutive outputs are compared without their mean, because a part that is
// common to them does not affect the action: all values or logits, or the atoms of one action. 1:
// outputs are compared as they are.
static uint32_t
outputs_group(const policy_spec *spec)
{
    return spec->action_kind == POLICY_BOX   ? 1
           : spec->head == POLICY_HEAD_ATOMS ? spec->atoms
                                             : spec->action_count;
}

// Returns the mean of y[count], or 0 for a single output.
static double
mean_of(const float *y, uint32_t count)
{
    double sum = 0.0;
    for (uint32_t i = 0; count > 1 && i < count; i++) {
        sum += (double)y[i];
    }
    return sum / count;
}

static void
outputs_compare(quantizer_divergence *out, const policy_spec *spec, const float *y,
                const float *want)
{
    double difference = 0.0, norm = 0.0;
    uint32_t group = outputs_group(spec);
    size_t count = (size_t)out->rows * policy_spec_outputs(spec);
    for (size_t i = 0; i < count; i += group) {
        double y_mean = mean_of(y + i, group), want_mean = mean_of(want + i, group);
        for (size_t k = i; k < i + group; k++) {
            double w = (double)want[k] - want_mean, d = (double)y[k] - y_mean - w;
            difference += d * d;
            norm += w * w;
            out->max_abs = OCT_MAX(out->max_abs, fabs(d));
        }
    }
    out->relative_l2 = norm > 0.0 ? sqrt(difference / norm) : sqrt(difference);
    if (!isfinite(out->relative_l2)) {
        out->relative_l2 = out->max_abs = NAN;
    }
}

// ---- discrete

// Returns log(sum(exp(x / t))) without overflow.
static double
log_sum(const double *x, uint32_t count, double t)
{
    double most = x[0], sum = 0.0;
    for (uint32_t i = 1; i < count; i++) {
        most = OCT_MAX(most, x[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        sum += exp((x[i] - most) / t);
    }
    return most / t + log(sum);
}

// Returns the expectation of one action's value: the mean of the support under softmax(logits).
static double
atoms_mean(const policy_spec *spec, const float *logits)
{
    double most = (double)logits[0], mass = 0.0, mean = 0.0;
    for (uint32_t i = 1; i < spec->atoms; i++) {
        most = OCT_MAX(most, (double)logits[i]);
    }
    double low = (double)spec->value_min, width = (double)spec->value_max - low;
    for (uint32_t i = 0; i < spec->atoms; i++) {
        double p = exp((double)logits[i] - most);
        mass += p;
        mean += p * (low + width * i / (spec->atoms - 1));
    }
    return mean / mass;
}

// scores[action_count] = the numbers whose largest chooses the greedy action.
static void
scores_of(const policy_spec *spec, const float *y, double *scores)
{
    for (uint32_t a = 0; a < spec->action_count; a++) {
        scores[a] = spec->head == POLICY_HEAD_ATOMS ? atoms_mean(spec, y + (size_t)a * spec->atoms)
                                                    : (double)y[a];
    }
}

static double
spread_of(const double *scores, uint32_t count)
{
    double least = scores[0], most = scores[0];
    for (uint32_t a = 1; a < count; a++) {
        least = OCT_MIN(least, scores[a]);
        most = OCT_MAX(most, scores[a]);
    }
    return most - least;
}

// Returns t of quantizer_divergence.kl.
static double
temperature_of(const policy_spec *spec, const float *want, uint32_t rows)
{
    double scores[POLICY_ACTIONS_MAX], sum = 0.0;
    if (spec->head == POLICY_HEAD_LOGITS) {
        return 1.0;
    }
    for (size_t r = 0; r < rows; r++) {
        scores_of(spec, want + r * policy_spec_outputs(spec), scores);
        sum += spread_of(scores, spec->action_count);
    }
    return sum > 0.0 ? sum / rows : 1.0;
}

// Returns KL(softmax(want / t) || softmax(got / t)); rounding errors below 0 become 0.
static double
row_kl(const double *want, const double *got, uint32_t count, double t)
{
    double want_sum = log_sum(want, count, t), got_sum = log_sum(got, count, t), kl = 0.0;
    for (uint32_t a = 0; a < count; a++) {
        double want_log = want[a] / t - want_sum;
        kl += exp(want_log) * (want_log - (got[a] / t - got_sum));
    }
    return kl < 0.0 ? 0.0 : kl;
}

static void
discrete_compare(quantizer_divergence *out, const quantizer_answers *got,
                 const quantizer_answers *want)
{
    const policy_spec *spec = got->spec, *other = want->spec;
    double t = temperature_of(other, want->outputs, out->rows), kl = 0.0;
    const int32_t *a = got->actions, *b = want->actions;
    uint32_t agreed = 0;
    for (size_t r = 0; r < out->rows; r++) {
        double want_scores[POLICY_ACTIONS_MAX], got_scores[POLICY_ACTIONS_MAX];
        scores_of(other, want->outputs + r * policy_spec_outputs(other), want_scores);
        scores_of(spec, got->outputs + r * policy_spec_outputs(spec), got_scores);
        kl += row_kl(want_scores, got_scores, spec->action_count, t);
        agreed += a[r] == b[r];
    }
    out->agreement = (double)agreed / out->rows;
    out->kl = isfinite(kl) ? kl / out->rows : NAN;
    out->action_l2 = NAN;
}

// ---- box

// Returns the unit of action i: its standard deviation in want[rows][count]; if the action is
// constant, its largest magnitude; if that is 0, too, 1.
static double
action_unit(const float *want, uint32_t rows, uint32_t count, uint32_t i)
{
    double mean = 0.0, squares = 0.0, most = 0.0;
    for (size_t r = 0; r < rows; r++) {
        mean += (double)want[r * count + i] / rows;
        most = OCT_MAX(most, fabs((double)want[r * count + i]));
    }
    for (size_t r = 0; r < rows; r++) {
        double d = (double)want[r * count + i] - mean;
        squares += d * d / rows;
    }
    double deviation = sqrt(squares);
    return deviation > CONSTANT_SHARE * most ? deviation : most > 0.0 ? most : 1.0;
}

static void
box_compare(quantizer_divergence *out, const quantizer_answers *got, const quantizer_answers *want)
{
    const policy_spec *spec = got->spec;
    const float *a = got->actions, *b = want->actions;
    double unit[POLICY_ACTIONS_MAX], sum = 0.0;
    uint32_t agreed = 0;
    for (uint32_t i = 0; i < spec->action_count; i++) {
        unit[i] = action_unit(b, out->rows, spec->action_count, i);
    }
    for (size_t r = 0; r < out->rows; r++) {
        double squares = 0.0, worst = 0.0;
        for (uint32_t i = 0; i < spec->action_count; i++) {
            size_t at = r * spec->action_count + i;
            double d = fabs((double)a[at] - (double)b[at]) / unit[i];
            squares += d * d;
            worst = OCT_MAX(worst, d);
        }
        sum += sqrt(squares / spec->action_count);
        agreed += worst < AGREE_SHARE;
    }
    out->agreement = (double)agreed / out->rows;
    out->kl = NAN;
    out->action_l2 = sum / out->rows;
}

void
quantizer_compare(quantizer_divergence *out, const quantizer_answers *policy,
                  const quantizer_answers *fp32, uint32_t rows)
{
    const policy_spec *spec = policy->spec, *other = fp32->spec;
    OCT_ASSERT(rows > 0 && spec->action_kind == other->action_kind &&
               spec->action_count == other->action_count);
    *out = (quantizer_divergence){.rows = rows};
    if (spec->head == other->head && spec->atoms == other->atoms &&
        spec->state_deviation == other->state_deviation) {
        outputs_compare(out, spec, policy->outputs, fp32->outputs);
    } else {
        out->relative_l2 = out->max_abs = NAN;
    }
    if (spec->action_kind == POLICY_DISCRETE) {
        discrete_compare(out, policy, fp32);
    } else {
        box_compare(out, policy, fp32);
    }
}

oct_err
quantizer_probe(quantizer_divergence *out, const policy_image *image, const policy_image *fp32,
                const float *obs, uint32_t rows)
{
    const policy_spec *spec = &image->spec, *other = &fp32->spec;
    OCT_ASSERT(rows > 0 && spec->obs_count == other->obs_count &&
               spec->obs_dtype == other->obs_dtype);
    void *read = observations_make(spec, obs, rows);
    answers got = {0}, want = {0};
    oct_err err = answers_make(&got, image, read, rows);
    if (err == OCT_OK) {
        err = answers_make(&want, fp32, read, rows);
    }
    if (err == OCT_OK) {
        quantizer_compare(out, &(quantizer_answers){spec, got.y, got.actions},
                          &(quantizer_answers){other, want.y, want.actions}, rows);
    }
    answers_free(&got);
    answers_free(&want);
    free(read);
    return err;
}
