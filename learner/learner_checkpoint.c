// Encodes and decodes the checkpoint file that a resumed run continues from.
#include "learner/learner_checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/oct_base.h"
#include "common/oct_bytes.h"
#include "common/oct_file.h"

#define MAGIC     0x4354434fu       // "OCTC"
#define BYTES_MAX ((size_t)1 << 35) // above four arrays of the largest policy and two critics
#define CRC_BYTES 4

static void
result_encode(oct_writer *writer, const learner_eval_result *result)
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

static oct_err
result_decode(oct_reader *reader, learner_eval_result *out)
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

static void
evals_encode(oct_writer *writer, const learner_evals_saved *evals)
{
    oct_write_u64(writer, evals->evaluations);
    result_encode(writer, &evals->best);
    oct_write_f64(writer, evals->confirmed);
    oct_write_u32(writer, evals->screen_count);
    for (int i = 0; i < LEARNER_EVAL_SCREENS; i++) {
        oct_write_f64(writer, evals->screens[i]);
    }
}

static oct_err
evals_decode(oct_reader *reader, learner_evals_saved *out)
{
    out->evaluations = oct_read_u64(reader);
    OCT_TRY(result_decode(reader, &out->best));
    out->confirmed = oct_read_f64(reader);
    out->screen_count = oct_read_u32(reader);
    for (int i = 0; i < LEARNER_EVAL_SCREENS; i++) {
        out->screens[i] = oct_read_f64(reader);
    }
    return reader->failed || out->screen_count > LEARNER_EVAL_SCREENS ? OCT_EPROTO : OCT_OK;
}

static void
checkpoint_encode(oct_writer *writer, const learner_checkpoint *checkpoint)
{
    oct_write_u32(writer, MAGIC);
    oct_write_u32(writer, LEARNER_CHECKPOINT_VERSION);
    oct_write_u64(writer, checkpoint->run_id);
    oct_write_u64(writer, checkpoint->policy_version);
    oct_write_u64(writer, checkpoint->updates);
    oct_write_u64(writer, checkpoint->env_steps);
    oct_write_u32(writer, checkpoint->incarnations);
    oct_write_f64(writer, checkpoint->wall_s);
    evals_encode(writer, &checkpoint->evals);
    oct_write_u32(writer, checkpoint->policy_crc);
    oct_write_u32(writer, checkpoint->task_crc);
    oct_write_u32(writer, checkpoint->curve_count);
    for (uint32_t i = 0; i < checkpoint->curve_count; i++) {
        oct_write_f64(writer, checkpoint->curve[i].wall_s);
        oct_write_f64(writer, checkpoint->curve[i].env_steps);
        oct_write_f64(writer, checkpoint->curve[i].mean);
        oct_write_f64(writer, checkpoint->curve[i].std);
    }
    const learner_state_bytes *state = checkpoint->state;
    oct_write_u64(writer, state != NULL ? state->length : 0);
    if (state != NULL) {
        oct_write_bytes(writer, state->bytes, state->length);
    }
}

oct_err
learner_checkpoint_write(const char *path, const learner_checkpoint *checkpoint)
{
    oct_writer measure = {0};
    checkpoint_encode(&measure, checkpoint);
    size_t length = measure.used + CRC_BYTES;
    uint8_t *bytes = oct_alloc(length);
    oct_writer writer = {.base = bytes, .capacity = length};
    checkpoint_encode(&writer, checkpoint);
    oct_write_u32(&writer, oct_crc32(0, bytes, writer.used));
    OCT_ASSERT(!writer.failed && writer.used == length);
    oct_err err = oct_file_write(path, bytes, length);
    free(bytes);
    return err;
}

static oct_err
refuse(char *reason, size_t reason_size, oct_err err, const char *path, const char *what)
{
    (void)snprintf(reason, reason_size, "%s: %s", path, what);
    return err;
}

static oct_err
checkpoint_decode(oct_reader *reader, learner_checkpoint *out)
{
    out->run_id = oct_read_u64(reader);
    out->policy_version = oct_read_u64(reader);
    out->updates = oct_read_u64(reader);
    out->env_steps = oct_read_u64(reader);
    out->incarnations = oct_read_u32(reader);
    out->wall_s = oct_read_f64(reader);
    OCT_TRY(evals_decode(reader, &out->evals));
    out->policy_crc = oct_read_u32(reader);
    out->task_crc = oct_read_u32(reader);
    out->curve_count = oct_read_u32(reader);
    if (reader->failed || !isfinite(out->wall_s) || out->wall_s < 0 ||
        out->curve_count > LEARNER_CURVE_MAX || reader->left / 32 < out->curve_count) {
        return OCT_EPROTO;
    }
    out->curve = oct_alloc(out->curve_count * sizeof(*out->curve));
    for (uint32_t i = 0; i < out->curve_count; i++) {
        out->curve[i].wall_s = oct_read_f64(reader);
        out->curve[i].env_steps = oct_read_f64(reader);
        out->curve[i].mean = oct_read_f64(reader);
        out->curve[i].std = oct_read_f64(reader);
    }
    uint64_t length = oct_read_u64(reader);
    if (reader->failed || length != reader->left) {
        return OCT_EPROTO;
    }
    if (length > 0) {
        out->state = oct_alloc(sizeof(*out->state) + length);
        out->state->length = length;
        out->state->updates = out->updates;
        memcpy(out->state->bytes, oct_read_bytes(reader, length), length);
    }
    return OCT_OK;
}

oct_err
learner_checkpoint_read(const char *path, learner_checkpoint *out, char *reason, size_t reason_size)
{
    uint8_t *bytes;
    size_t length;
    oct_err err = oct_file_read(path, BYTES_MAX, &bytes, &length);
    if (err != OCT_OK) {
        return refuse(reason, reason_size, err, path, oct_strerror(err));
    }
    oct_reader reader = {.at = bytes, .left = length};
    uint32_t magic = oct_read_u32(&reader);
    uint32_t version = oct_read_u32(&reader);
    learner_checkpoint checkpoint = {0};
    if (reader.failed || magic != MAGIC) {
        err = refuse(reason, reason_size, OCT_EPROTO, path, "not a checkpoint of octet-learner");
    } else if (version != LEARNER_CHECKPOINT_VERSION) {
        err = refuse(reason, reason_size, OCT_EINVAL, path, "written by another release");
    } else if (length < 8 + CRC_BYTES) {
        err = refuse(reason, reason_size, OCT_EPROTO, path, "cut short");
    } else {
        oct_reader tail = {.at = bytes + length - CRC_BYTES, .left = CRC_BYTES};
        reader.left -= CRC_BYTES;
        if (oct_crc32(0, bytes, length - CRC_BYTES) != oct_read_u32(&tail)) {
            err = refuse(reason, reason_size, OCT_EPROTO, path, "damaged: the checksum differs");
        } else if (checkpoint_decode(&reader, &checkpoint) != OCT_OK) {
            err = refuse(reason, reason_size, OCT_EPROTO, path, "damaged: the lengths do not fit");
        }
    }
    free(bytes);
    if (err != OCT_OK) {
        learner_checkpoint_fini(&checkpoint);
        return err;
    }
    *out = checkpoint;
    return OCT_OK;
}

void
learner_checkpoint_fini(learner_checkpoint *checkpoint)
{
    free(checkpoint->curve);
    free(checkpoint->state);
    checkpoint->curve = NULL;
    checkpoint->state = NULL;
}
