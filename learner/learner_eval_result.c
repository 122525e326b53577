// Encodes and decodes the result of an evaluation for a checkpoint.
#include <math.h>

#include "common/oct_base.h"
#include "learner/learner_evals.h"

void
learner_eval_result_write(oct_writer *writer, const learner_eval_result *result)
{
    oct_write_u32(writer, (uint32_t)result->stage);
    oct_write_u64(writer, result->version);
    oct_write_u64(writer, result->env_steps);
    oct_write_u32(writer, result->episodes);
    const double numbers[] = {result->mean, result->std, result->min, result->max,
                              result->mean_length};
    for (size_t i = 0; i < OCT_COUNTOF(numbers); i++) {
        oct_write_f64(writer, numbers[i]);
    }
}

oct_err
learner_eval_result_read(oct_reader *reader, learner_eval_result *out)
{
    uint32_t stage = oct_read_u32(reader);
    *out = (learner_eval_result){.stage = (learner_eval_stage)stage};
    out->version = oct_read_u64(reader);
    out->env_steps = oct_read_u64(reader);
    out->episodes = oct_read_u32(reader);
    double *const numbers[] = {&out->mean, &out->std, &out->min, &out->max, &out->mean_length};
    bool is_finite = true;
    for (size_t i = 0; i < OCT_COUNTOF(numbers); i++) {
        *numbers[i] = oct_read_f64(reader);
        is_finite = is_finite && isfinite(*numbers[i]);
    }
    bool is_possible = stage < LEARNER_EVAL_STAGES && (is_finite || out->episodes == 0);
    return reader->failed || !is_possible ? OCT_EPROTO : OCT_OK;
}
