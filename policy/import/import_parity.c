// Runs a policy and its model on the same observations and compares outputs and actions.
//
// Discrete actions are compared row by row. For a box, agreement is relative to the standard
// deviation of the actions, which is known only after all rows; so both actions of each row are
// kept.
#include "policy/import/import_parity.h"

#include <math.h>
#include <stdlib.h>

#include "common/oct_base.h"
#include "policy/policy_net.h"

#define AGREE_SHARE 1e-3 // of an action's standard deviation; larger differences disagree
#define ROUNDING    1e-5 // of an action's size; smaller differences are rounding

// Sums and buffers of a comparison.
typedef struct comparison {
    const import_result *result;
    const policy_spec *spec;
    double *x;               // [obs_count] in the model's order
    double *work;            // of import_chain_eval
    double *wanted;          // box: [rows][actions] of the model, within the bounds
    float *answered;         // box: [rows][actions] of the policy
    double difference, most; // sum and maximum of absolute differences
    uint64_t numbers;        // number of differences in the sum
    uint32_t rows, agreed, clipped, actions_clipped; // counts of rows
    uint32_t clips[POLICY_ACTIONS_MAX];              // rows in which the action is clipped
    import_action *actions;
} comparison;

static void
difference_add(comparison *c, double d)
{
    c->difference += fabs(d);
    c->most = OCT_MAX(c->most, fabs(d));
    c->numbers++;
}

// Compares values or logits, and the greedy action. want is [actions] of the model.
static void
scores_compare(comparison *c, const double *want, const float *y, const int32_t *action)
{
    uint32_t best = 0;
    for (uint32_t i = 0; i < c->spec->action_count; i++) {
        best = want[i] > want[best] ? i : best;
        difference_add(c, (double)y[i] - want[i]);
    }
    c->agreed += (uint32_t)*action == best;
}

// Compares the actions of a box in the environment's units, within the bounds.
static void
actions_compare(comparison *c, const double *want, const float *action)
{
    bool is_clipped = false;
    size_t row = (size_t)c->rows * c->spec->action_count;
    for (uint32_t i = 0; i < c->spec->action_count; i++) {
        double low = (double)c->spec->action_low[i], high = (double)c->spec->action_high[i];
        double a = c->result->action_scale[i] * want[i] + c->result->action_shift[i];
        double inside = fmin(fmax(a, low), high), slack = ROUNDING * (fabs(low) + fabs(high));
        // tanh reaches its bounds by rounding, which is not a clip.
        bool is_outside = isfinite(slack) ? fabs(a - inside) > slack : a != inside;
        import_action *of = &c->actions[i];
        of->least = c->rows == 0 ? a : fmin(of->least, a);
        of->most = c->rows == 0 ? a : fmax(of->most, a);
        c->clips[i] += is_outside;
        is_clipped = is_clipped || is_outside;
        difference_add(c, (double)action[i] - inside);
        c->wanted[row + i] = inside;
        c->answered[row + i] = action[i];
    }
    c->actions_clipped += is_clipped;
}

// Standard deviation of a column, stride floats apart.
static double
deviation_of(const float *column, size_t stride, uint32_t rows)
{
    double mean = 0.0, squares = 0.0;
    for (size_t r = 0; r < rows; r++) {
        mean += (double)column[r * stride] / rows;
    }
    for (size_t r = 0; r < rows; r++) {
        double d = (double)column[r * stride] - mean;
        squares += d * d / rows;
    }
    return sqrt(squares);
}

// Computes deviations and agreement after the last row.
static void
actions_finish(comparison *c)
{
    uint32_t count = c->spec->action_count;
    for (uint32_t i = 0; i < count; i++) {
        c->actions[i].deviation = deviation_of(c->answered + i, count, c->rows);
        c->actions[i].clipped = (double)c->clips[i] / c->rows;
    }
    for (size_t r = 0; r < c->rows; r++) {
        bool is_near = true;
        for (uint32_t i = 0; i < count; i++) {
            double want = c->wanted[r * count + i];
            double d = fabs((double)c->answered[r * count + i] - want);
            double slack = AGREE_SHARE * c->actions[i].deviation + ROUNDING * fabs(want);
            is_near = is_near && d <= slack;
        }
        c->agreed += is_near;
    }
}

// obs is in the policy's order; the model reads x.
static void
row_compare(comparison *c, const float *obs, const float *y, const void *action)
{
    for (uint32_t i = 0; i < c->spec->obs_count; i++) {
        c->x[i] = (double)obs[c->result->order[i]];
    }
    const import_step *clip = c->result->observation_clip;
    c->clipped += clip != NULL && import_chain_is_clipped(clip, c->x, c->work);
    const double *want = import_chain_eval(c->result->scores, c->x, c->work);
    if (c->spec->action_kind == POLICY_DISCRETE) {
        scores_compare(c, want, y, action);
    } else {
        actions_compare(c, want, action);
    }
    c->rows++;
}

// Observations of bytes are given as floats.
static const void *
row_read(const policy_spec *spec, const float *obs, uint8_t *bytes)
{
    for (uint32_t i = 0; spec->obs_dtype == POLICY_U8 && i < spec->obs_count; i++) {
        bytes[i] = (uint8_t)OCT_MAX(0.0f, OCT_MIN(obs[i], 255.0f));
    }
    return spec->obs_dtype == POLICY_U8 ? (const void *)bytes : obs;
}

static void
rows_compare(comparison *c, const policy_net *net, const float *obs, uint32_t rows)
{
    const policy_spec *spec = c->spec;
    // Rows are computed one by one, as on a robot.
    policy_scratch *scratch = policy_scratch_create(spec, 1);
    uint8_t *bytes = oct_alloc(spec->obs_count);
    float *y = oct_alloc(policy_spec_outputs(spec) * sizeof(float));
    void *action = oct_alloc(policy_spec_action_bytes(spec));
    for (size_t r = 0; r < rows; r++) {
        const float *row = obs + r * spec->obs_count;
        policy_forward(net, scratch, row_read(spec, row, bytes), policy_spec_obs_bytes(spec), 1, y);
        policy_act(spec, y, 1, action);
        row_compare(c, row, y, action);
    }
    if (spec->action_kind == POLICY_BOX && rows > 0) {
        actions_finish(c);
    }
    free(bytes);
    free(y);
    free(action);
    policy_scratch_destroy(scratch);
}

oct_err
import_parity_measure(import_parity *out, const import_result *result, const policy_image *image,
                      const float *obs, uint32_t rows)
{
    const policy_spec *spec = &image->spec;
    policy_net *net;
    OCT_TRY(policy_net_create(&net, image, POLICY_ISA_BEST));
    size_t width = import_chain_width(result->scores);
    // Only a box needs the answers of all rows.
    size_t answers = spec->action_kind == POLICY_BOX ? (size_t)rows * spec->action_count : 0;
    comparison c = {.result = result, .spec = spec, .actions = out->actions};
    c.x = oct_alloc(spec->obs_count * sizeof(double));
    c.work = oct_alloc(2 * width * sizeof(double));
    c.wanted = oct_alloc(answers * sizeof(double));
    c.answered = oct_alloc(answers * sizeof(float));
    rows_compare(&c, net, obs, rows);
    out->rows = rows;
    out->max_abs = c.most;
    out->mean_abs = c.numbers > 0 ? c.difference / (double)c.numbers : 0.0;
    out->agreement = rows > 0 ? (double)c.agreed / rows : 1.0;
    out->clipped = rows > 0 ? (double)c.clipped / rows : 0.0;
    out->actions_clipped = rows > 0 ? (double)c.actions_clipped / rows : 0.0;
    free(c.x);
    free(c.work);
    free(c.wanted);
    free(c.answered);
    policy_net_destroy(net);
    return OCT_OK;
}
