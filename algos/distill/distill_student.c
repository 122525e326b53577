// A student's network: scales, learning steps, and conversion to a policy.
#include "algos/distill/distill_student.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "nn/nn_trainer.h"
#include "policy/policy_contract.h"
#include "policy/policy_net.h"
#include "quantizer/quantizer_observed.h"
#include "quantizer/quantizer_project.h"

#define INIT_STREAM   0x6473u // stream of the seed for the first weights
#define GRAD_NORM_MAX 10.0f   // the KL of narrow Gaussians begins with large gradients

struct distill_student {
    policy_spec spec;
    policy_spec teacher_spec;
    policy_origin origin;
    policy_net *teacher;
    policy_image contract; // only the teacher's contract is set
    distill_options options;
    distill_loss loss;
    nn_context *context;
    nn_trainer trainer;
    quantizer_projector *projector; // NULL: the precision rounds nothing
    float *ships;   // [params], the network for observations as they are, input of the projector
    float *rounded; // [params], output of the projector
    quantizer_observed *observed; // NULL: observations are bytes
    float unit;                   // factor for bytes (policy_byte_unit); 1 for other observations
    float value_mean, value_unit; // VALUES: learned number = (value - value_mean) / value_unit
    uint64_t updates;             // steps taken
    float *x;                     // [batch][obs_count], scaled
    float *want;                  // [batch][outputs], scaled
    float *dy;                    // [batch][outputs], the gradient at the outputs
};

// ---- create and destroy

static oct_err
spec_make(policy_spec *spec, const policy_spec *teacher, const distill_options *options,
          oct_reason *why)
{
    *spec = *teacher;
    if (teacher->head == POLICY_HEAD_ATOMS) {
        spec->head = POLICY_HEAD_VALUES;
        spec->atoms = 0;
        spec->value_min = spec->value_max = 0.0f;
    }
    uint32_t outputs =
        teacher->head == POLICY_HEAD_ATOMS ? teacher->action_count : policy_spec_outputs(teacher);
    // The first layer is dense, so observations can be scaled as quantizer_is_scalable asks.
    spec->normalise = teacher->obs_dtype == POLICY_F32;
    if (policy_spec_set_mlp(spec, options->hidden, options->hidden_count, options->activation,
                            false, outputs) != OCT_OK) {
        return oct_refuse(why, "a network has at most %d layers of 1 to %d units",
                          POLICY_LAYERS_MAX, POLICY_WIDTH_MAX);
    }
    if (options->kind == DISTILL_KL && !distill_has_kl(spec->head)) {
        return oct_refuse(
            why, "the policy's actions have no distribution to compare: use the loss squares");
    }
    return policy_spec_check(spec, why);
}

static void
student_reserve(distill_student *student)
{
    static const nn_adam adam = {.beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f};
    const distill_options *options = &student->options;
    size_t rows = options->batch, outputs = policy_spec_outputs(&student->spec);
    oct_rng rng;
    student->context = nn_context_create(NULL);
    nn_trainer_init(&student->trainer, student->context, &student->spec, options->batch, &adam);
    oct_rng_init(&rng, options->seed, INIT_STREAM);
    nn_net_randomise(&student->trainer.tape.net, &rng);
    student->x = oct_alloc(rows * student->spec.obs_count * sizeof(float));
    student->want = oct_alloc(rows * outputs * sizeof(float));
    student->dy = oct_alloc(rows * outputs * sizeof(float));
    student->ships = oct_alloc(student->trainer.tape.net.param_count * sizeof(float));
    student->rounded = oct_alloc(student->trainer.tape.net.param_count * sizeof(float));
    student->unit = student->value_unit = 1.0f;
    if (student->spec.normalise) {
        student->observed = quantizer_observed_create(student->spec.obs_count);
    }
}

static void
loss_make(distill_student *student, const policy_image *teacher)
{
    const policy_spec *spec = &student->spec;
    student->loss = (distill_loss){
        .kind = student->options.kind,
        .head = spec->head,
        .actions = spec->action_count,
        .outputs = policy_spec_outputs(spec),
        .temperature = (float)student->options.temperature,
        .has_deviations = spec->head == POLICY_HEAD_TANH_GAUSSIAN || spec->state_deviation,
    };
    if (policy_spec_has_deviation(spec)) {
        float *own = student->trainer.tape.net.params + policy_spec_deviation(spec);
        memcpy(own, teacher->deviation, spec->action_count * sizeof(*own));
        student->loss.deviation = own;
    }
}

oct_err
distill_create(distill_student **out, const policy_image *teacher, const distill_options *options,
               oct_reason *why)
{
    policy_spec spec;
    policy_net *net;
    quantizer_projector *projector = NULL;
    OCT_TRY(spec_make(&spec, &teacher->spec, options, why));
    oct_err err = policy_net_create(&net, teacher, POLICY_ISA_BEST);
    if (err != OCT_OK) {
        return oct_fail(why, err, "cannot run policies here: %s", policy_isa_refused().text);
    }
    if (options->precision != POLICY_FP32) {
        err = quantizer_projector_create(&projector, &spec, options->precision);
    }
    if (err != OCT_OK) {
        policy_net_destroy(net);
        return oct_refuse(why, "the student's network is too large");
    }
    distill_student *student = oct_alloc(sizeof(*student));
    student->spec = spec;
    student->teacher_spec = teacher->spec;
    student->origin = teacher->origin;
    student->origin.base_version = 0;
    student->origin.eval_return = NAN;
    student->teacher = net;
    policy_contract_copy(&student->contract, teacher);
    student->options = *options;
    student->projector = projector;
    student_reserve(student);
    loss_make(student, teacher);
    *out = student;
    return OCT_OK;
}

void
distill_destroy(distill_student *student)
{
    if (student == NULL) {
        return;
    }
    nn_trainer_fini(&student->trainer);
    nn_context_destroy(student->context);
    policy_net_destroy(student->teacher);
    free(student->contract.contract);
    quantizer_projector_destroy(student->projector);
    quantizer_observed_destroy(student->observed);
    free(student->x);
    free(student->want);
    free(student->dy);
    free(student->ships);
    free(student->rounded);
    free(student);
}

const policy_spec *
distill_spec(const distill_student *student)
{
    return &student->spec;
}

// ---- the teacher's answers

#define TEACH_ROWS 256 // rows that the teacher answers at a time

// values[actions] = the means of a teacher's distributions over returns.
static void
values_of_atoms(const policy_spec *spec, const float *logits, float *values)
{
    double low = (double)spec->value_min, width = (double)spec->value_max - low;
    for (uint32_t a = 0; a < spec->action_count; a++) {
        const float *x = logits + (size_t)a * spec->atoms;
        double most = (double)x[0], mass = 0, mean = 0;
        for (uint32_t i = 1; i < spec->atoms; i++) {
            most = OCT_MAX(most, (double)x[i]);
        }
        for (uint32_t i = 0; i < spec->atoms; i++) {
            double p = exp((double)x[i] - most);
            mass += p;
            mean += p * (low + width * i / (spec->atoms - 1));
        }
        values[a] = (float)(mean / mass);
    }
}

// Converts rows to the type that the teacher reads.
static void
rows_read(const policy_spec *spec, const float *obs, uint32_t rows, void *out)
{
    size_t count = (size_t)rows * spec->obs_count;
    if (spec->obs_dtype == POLICY_F32) {
        memcpy(out, obs, count * sizeof(float));
        return;
    }
    for (size_t i = 0; i < count; i++) {
        ((uint8_t *)out)[i] = (uint8_t)obs[i];
    }
}

static void
teach_some(distill_student *student, policy_scratch *scratch, const float *obs, uint32_t rows,
           void *read, float *y, float *want)
{
    const policy_spec *spec = &student->teacher_spec;
    uint32_t outputs = student->loss.outputs, its = policy_spec_outputs(spec);
    rows_read(spec, obs, rows, read);
    policy_forward(student->teacher, scratch, read, policy_spec_obs_bytes(spec), rows, y);
    for (uint32_t r = 0; r < rows; r++) {
        float *row = want + (size_t)r * outputs;
        if (spec->head == POLICY_HEAD_ATOMS) {
            values_of_atoms(spec, y + (size_t)r * its, row);
        } else {
            memcpy(row, y + (size_t)r * its, outputs * sizeof(*row));
        }
        for (uint32_t i = 0; i < outputs; i++) { // mean 0 and unit 1 if nothing is scaled
            row[i] = (row[i] - student->value_mean) / student->value_unit;
        }
    }
}

void
distill_teach(distill_student *student, const float *obs, uint32_t rows, float *want)
{
    const policy_spec *spec = &student->teacher_spec;
    policy_scratch *scratch = policy_scratch_create(spec, TEACH_ROWS);
    void *read = oct_alloc(TEACH_ROWS * policy_spec_obs_bytes(spec));
    float *y = oct_alloc((size_t)TEACH_ROWS * policy_spec_outputs(spec) * sizeof(*y));
    for (size_t at = 0, count; at < rows; at += count) {
        count = OCT_MIN(rows - at, (size_t)TEACH_ROWS);
        teach_some(student, scratch, obs + at * spec->obs_count, (uint32_t)count, read, y,
                   want + at * student->loss.outputs);
    }
    policy_scratch_destroy(scratch);
    free(read);
    free(y);
}

// ---- scales

// Scales values by the mean and the deviation of all of them, and the temperature by the mean
// difference between the best and the worst action.
static void
values_scale(distill_student *student, float *want, uint32_t rows)
{
    uint32_t n = student->loss.outputs;
    size_t count = (size_t)rows * n;
    double sum = 0, squares = 0, spread = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)want[i];
    }
    double mean = sum / (double)count;
    for (size_t r = 0; r < rows; r++) {
        double least = INFINITY, most = -INFINITY;
        for (uint32_t a = 0; a < n; a++) {
            double value = (double)want[r * n + a];
            squares += (value - mean) * (value - mean);
            least = OCT_MIN(least, value);
            most = OCT_MAX(most, value);
        }
        spread += most - least;
    }
    double unit = sqrt(squares / (double)count);
    unit = unit > 0 ? unit : 1;
    spread = spread > 0 ? spread / rows / unit : 1;
    student->value_mean = (float)mean;
    student->value_unit = (float)unit;
    student->loss.temperature = (float)(student->options.temperature * spread);
    for (size_t i = 0; i < count; i++) {
        want[i] = (want[i] - student->value_mean) / student->value_unit;
    }
}

// Returns the unit that fits the largest byte.
static float
rows_unit(const float *obs, size_t count)
{
    float high = 0.0f;
    for (size_t i = 0; i < count; i++) {
        high = OCT_MAX(high, obs[i]);
    }
    return policy_byte_unit((uint32_t)high);
}

void
distill_begin(distill_student *student, const float *obs, float *want, uint32_t rows)
{
    OCT_ASSERT(student->updates == 0 && rows > 0);
    if (student->observed != NULL) {
        quantizer_observed_add(student->observed, obs, rows);
        (void)quantizer_observed_renew(student->observed);
    } else {
        student->unit = rows_unit(obs, (size_t)rows * student->spec.obs_count);
    }
    if (student->spec.head == POLICY_HEAD_VALUES) {
        values_scale(student, want, rows);
    }
}

// ---- learning

static void
batch_gather(distill_student *student, const distill_examples *rows)
{
    size_t inputs = student->spec.obs_count, outputs = student->loss.outputs, count = rows->count;
    for (size_t r = 0; r < count; r++) {
        const float *row = rows->obs + rows->order[r] * inputs;
        const float *want = rows->want + rows->order[r] * outputs;
        memcpy(student->x + r * inputs, row, inputs * sizeof(float));
        memcpy(student->want + r * outputs, want, outputs * sizeof(float));
    }
    if (student->observed == NULL) {
        for (size_t i = 0; i < count * inputs; i++) {
            student->x[i] *= student->unit;
        }
        return;
    }
    quantizer_scaling scaling = quantizer_observed_scaling(student->observed);
    for (size_t r = 0; r < count; r++) {
        for (size_t i = 0; i < inputs; i++) {
            float *x = &student->x[r * inputs + i];
            *x = (*x - scaling.mean[i]) / scaling.deviation[i];
        }
    }
}

double
distill_learn(distill_student *student, const distill_examples *rows, float learning_rate,
              bool aware)
{
    uint32_t count = rows->count;
    nn_trainer *trainer = &student->trainer;
    nn_net *net = &trainer->tape.net;
    OCT_ASSERT(count > 0 && count <= student->options.batch);
    batch_gather(student, rows);
    net->weights = net->params;
    if (aware && student->projector != NULL) {
        memcpy(student->ships, net->params, net->param_count * sizeof(*student->ships));
        // Converts to observations as they are, and back; the unit is a power of two, so neither
        // rounds.
        policy_layer_scale(&student->spec.layers[0], student->ships, student->unit);
        if (quantizer_project(student->projector, &student->options.method, NULL, student->ships,
                              student->rounded) != OCT_OK) {
            return NAN;
        }
        policy_layer_scale(&student->spec.layers[0], student->rounded, 1 / student->unit);
        net->weights = student->rounded;
    }
    const float *y = nn_trainer_forward(trainer, student->x, count);
    double loss = distill_loss_of(&student->loss, y, student->want, count, student->dy);
    float norm = nn_trainer_backward(trainer, student->dy, count, NULL);
    if (!isfinite(loss) || !isfinite(norm)) {
        return NAN;
    }
    // Separate deviations have no gradient, so they stay the teacher's.
    nn_trainer_step(trainer, learning_rate, nn_clip_scale(norm, GRAD_NORM_MAX));
    student->updates++;
    return loss;
}

// ---- conversion to a policy

// Converts the last layer back to values in their own unit.
static void
values_unscale(const distill_student *student, float *params)
{
    const policy_spec *spec = &student->spec;
    policy_offsets at = policy_spec_layer(spec, spec->layer_count - 1);
    for (size_t i = at.weight; i < at.end; i++) {
        params[i] *= student->value_unit;
    }
    for (size_t i = at.bias; i < at.end; i++) {
        params[i] += student->value_mean;
    }
}

oct_err
distill_image(const distill_student *student, policy_precision precision, policy_image **image)
{
    const policy_spec *spec = &student->spec;
    policy_image *made;
    size_t count = policy_spec_params(spec);
    float *params = oct_alloc(count * sizeof(*params));
    memcpy(params, student->trainer.tape.net.params, count * sizeof(*params));
    policy_layer_scale(&spec->layers[0], params, student->unit);
    if (spec->head == POLICY_HEAD_VALUES) {
        values_unscale(student, params);
    }
    oct_err err = policy_image_create(&made, spec, precision);
    if (err == OCT_OK) {
        made->origin = student->origin;
        made->origin.updates = student->updates;
        policy_contract_copy(made, &student->contract);
        err = quantizer_convert_folded(made, params, NULL, &student->options.method);
        if (student->observed != NULL) {
            quantizer_scaling scaling = quantizer_observed_scaling(student->observed);
            quantizer_scaling_set(made, &scaling);
        }
        if (err == OCT_OK) {
            *image = made;
        } else {
            policy_image_destroy(made);
        }
    }
    free(params);
    return err;
}
