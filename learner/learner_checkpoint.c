// Encodes and decodes the checkpoint file from which a resumed run continues.
#include "learner/learner_checkpoint.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_bytes.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"

#define MAGIC         0x4354434fu       // "OCTC"
#define BYTES_MAX     ((size_t)1 << 35) // above four arrays of the largest policy and two critics
#define CRC_BYTES     4
#define HEAD_BYTES    8  // of the file: magic, version
#define SECTION_BYTES 16 // before its content
#define POINT_BYTES   32
#define FLAG_REQUIRED 1u

// ---- contents of sections

// Reads a counter that the run continues and sends. Larger counters are refused here: every
// receiver would refuse a message with a counter above WIRE_COUNT_MAX, and the run would wait for
// answers without end.
static uint64_t
count_read(oct_reader *reader)
{
    uint64_t count = oct_read_u64(reader);
    reader->failed = reader->failed || count > LEARNER_RESUMED_MAX;
    return count;
}

static void
evals_encode(oct_writer *writer, const learner_checkpoint *checkpoint)
{
    const learner_evals_saved *evals = &checkpoint->evals;
    oct_write_u64(writer, evals->evaluations);
    learner_eval_result_write(writer, &evals->best);
    oct_write_f64(writer, evals->confirmed);
    oct_write_u32(writer, evals->screen_count);
    for (int i = 0; i < LEARNER_EVAL_SCREENS; i++) {
        oct_write_f64(writer, evals->screens[i]);
    }
}

static oct_err
evals_decode(oct_reader *reader, learner_checkpoint *checkpoint)
{
    learner_evals_saved *out = &checkpoint->evals;
    out->evaluations = count_read(reader);
    OCT_TRY(learner_eval_result_read(reader, &out->best));
    out->confirmed = oct_read_f64(reader);
    out->screen_count = oct_read_u32(reader);
    for (int i = 0; i < LEARNER_EVAL_SCREENS; i++) {
        out->screens[i] = oct_read_f64(reader);
    }
    return reader->failed || out->screen_count > LEARNER_EVAL_SCREENS ? OCT_EPROTO : OCT_OK;
}

static void
run_encode(oct_writer *writer, const learner_checkpoint *checkpoint)
{
    oct_write_u64(writer, checkpoint->run_id);
    oct_write_u64(writer, checkpoint->policy_version);
    oct_write_u64(writer, checkpoint->updates);
    oct_write_u64(writer, checkpoint->env_steps);
    oct_write_u32(writer, checkpoint->incarnations);
    oct_write_f64(writer, checkpoint->wall_s);
    oct_write_u32(writer, checkpoint->policy_crc);
    oct_write_u32(writer, checkpoint->task_crc);
}

static oct_err
counters_decode(oct_reader *reader, learner_checkpoint *out)
{
    out->run_id = oct_read_u64(reader);
    out->policy_version = count_read(reader);
    out->updates = count_read(reader);
    out->env_steps = count_read(reader);
    out->incarnations = oct_read_u32(reader);
    out->wall_s = oct_read_f64(reader);
    return reader->failed || !isfinite(out->wall_s) || out->wall_s < 0 ? OCT_EPROTO : OCT_OK;
}

static oct_err
run_decode(oct_reader *reader, learner_checkpoint *out)
{
    OCT_TRY(counters_decode(reader, out));
    out->policy_crc = oct_read_u32(reader);
    out->task_crc = oct_read_u32(reader);
    return reader->failed ? OCT_EPROTO : OCT_OK;
}

static void
replay_encode(oct_writer *writer, const learner_checkpoint *checkpoint)
{
    oct_write_u64(writer, checkpoint->replay[0].table);
    oct_write_u64(writer, checkpoint->replay[0].steps);
    oct_write_u64(writer, checkpoint->replay[0].samples);
}

static oct_err
replay_decode(oct_reader *reader, learner_checkpoint *out)
{
    out->replay[0].table = oct_read_u64(reader);
    out->replay[0].steps = count_read(reader);
    out->replay[0].samples = count_read(reader);
    return reader->failed ? OCT_EPROTO : OCT_OK;
}

static void
shards_encode(oct_writer *writer, const learner_checkpoint *checkpoint)
{
    for (uint32_t i = 0; checkpoint->shards > 1 && i < checkpoint->shards; i++) {
        const learner_source_place *place = &checkpoint->replay[i];
        oct_write_u64(writer, place->table);
        oct_write_u64(writer, place->steps);
        oct_write_u64(writer, place->samples);
        oct_write_u64(writer, place->inserts);
        oct_write_f64(writer, place->balance);
    }
}

static oct_err
shards_decode(oct_reader *reader, learner_checkpoint *out)
{
    for (out->shards = 0; reader->left > 0; out->shards++) {
        if (out->shards == CONFIG_SHARDS_MAX) {
            return OCT_EPROTO;
        }
        learner_source_place *place = &out->replay[out->shards];
        place->table = oct_read_u64(reader);
        place->steps = count_read(reader);
        place->samples = count_read(reader);
        place->inserts = count_read(reader);
        place->balance = oct_read_f64(reader);
        if (reader->failed || !isfinite(place->balance)) {
            return OCT_EPROTO;
        }
    }
    return OCT_OK;
}

static void
gone_encode(oct_writer *writer, const learner_checkpoint *checkpoint)
{
    if (checkpoint->gone != 0) {
        oct_write_f64(writer, checkpoint->gone);
    }
}

static oct_err
gone_decode(oct_reader *reader, learner_checkpoint *out)
{
    out->gone = oct_read_f64(reader);
    return reader->failed || !isfinite(out->gone) ? OCT_EPROTO : OCT_OK;
}

static void
tables_encode(oct_writer *writer, const learner_checkpoint *checkpoint)
{
    for (uint32_t shard = 0; shard < OCT_MAX(1u, checkpoint->shards); shard++) {
        const learner_source_earlier *earlier = checkpoint->replay[shard].earlier;
        for (int i = 0; i < LEARNER_TABLES_KEPT && earlier[i].table != 0; i++) {
            oct_write_u32(writer, shard);
            oct_write_u64(writer, earlier[i].table);
            oct_write_u64(writer, earlier[i].steps);
            oct_write_u64(writer, earlier[i].samples);
        }
    }
}

static oct_err
tables_decode(oct_reader *reader, learner_checkpoint *out)
{
    uint32_t count[CONFIG_SHARDS_MAX] = {0};
    while (reader->left > 0) {
        uint32_t shard = oct_read_u32(reader);
        if (reader->failed || shard >= CONFIG_SHARDS_MAX || count[shard] == LEARNER_TABLES_KEPT) {
            return OCT_EPROTO;
        }
        learner_source_earlier *earlier = &out->replay[shard].earlier[count[shard]++];
        earlier->table = oct_read_u64(reader);
        earlier->steps = count_read(reader);
        earlier->samples = count_read(reader);
        if (reader->failed || earlier->table == 0) {
            return OCT_EPROTO;
        }
    }
    return OCT_OK;
}

static void
turn_encode(oct_writer *writer, const learner_checkpoint *checkpoint)
{
    const learner_turn_place *turn = &checkpoint->turn;
    if (turn->is_there) {
        oct_write_u32(writer, turn->life_turns);
        oct_write_u32(writer, turn->refused);
        oct_write_u64(writer, turn->libm);
        oct_write_bytes(writer, turn->replay, sizeof(turn->replay));
    }
}

static oct_err
turn_decode(oct_reader *reader, learner_checkpoint *out)
{
    learner_turn_place *turn = &out->turn;
    turn->is_there = true;
    turn->life_turns = oct_read_u32(reader);
    turn->refused = oct_read_u32(reader);
    turn->libm = oct_read_u64(reader);
    const uint8_t *replay = oct_read_bytes(reader, sizeof(turn->replay));
    if (reader->failed) {
        return OCT_EPROTO;
    }
    memcpy(turn->replay, replay, sizeof(turn->replay));
    return OCT_OK;
}

static void
end_encode(oct_writer *writer, const learner_checkpoint *checkpoint)
{
    oct_write_bytes(writer, checkpoint->end, strlen(checkpoint->end));
}

static oct_err
end_decode(oct_reader *reader, learner_checkpoint *out)
{
    size_t length = reader->left;
    if (length == 0 || length >= sizeof(out->end)) {
        return OCT_EPROTO;
    }
    memcpy(out->end, oct_read_bytes(reader, length), length);
    return memchr(out->end, '\0', length) != NULL ? OCT_EPROTO : OCT_OK;
}

static void
curve_encode(oct_writer *writer, const learner_checkpoint *checkpoint)
{
    oct_write_u32(writer, checkpoint->curve_count);
    for (uint32_t i = 0; i < checkpoint->curve_count; i++) {
        oct_write_f64(writer, checkpoint->curve[i].wall_s);
        oct_write_f64(writer, checkpoint->curve[i].env_steps);
        oct_write_f64(writer, checkpoint->curve[i].mean);
        oct_write_f64(writer, checkpoint->curve[i].std);
    }
}

static oct_err
curve_decode(oct_reader *reader, learner_checkpoint *out)
{
    uint32_t count = oct_read_u32(reader);
    if (reader->failed || count > LEARNER_CURVE_MAX || reader->left / POINT_BYTES < count) {
        return OCT_EPROTO;
    }
    out->curve_count = count;
    out->curve = oct_alloc(count * sizeof(*out->curve));
    for (uint32_t i = 0; i < count; i++) {
        out->curve[i].wall_s = oct_read_f64(reader);
        out->curve[i].env_steps = oct_read_f64(reader);
        out->curve[i].mean = oct_read_f64(reader);
        out->curve[i].std = oct_read_f64(reader);
    }
    return OCT_OK;
}

static oct_err
rest_decode(oct_reader *reader, uint8_t **bytes, size_t *length)
{
    *length = reader->left;
    *bytes = oct_alloc(*length);
    memcpy(*bytes, oct_read_bytes(reader, *length), *length);
    return OCT_OK;
}

static oct_err
work_decode(oct_reader *reader, learner_checkpoint *out)
{
    return rest_decode(reader, &out->work, &out->work_length);
}

static oct_err
weights_decode(oct_reader *reader, learner_checkpoint *out)
{
    return rest_decode(reader, &out->weights, &out->weights_length);
}

static oct_err
metrics_decode(oct_reader *reader, learner_checkpoint *out)
{
    return rest_decode(reader, &out->metrics, &out->metrics_length);
}

static oct_err
state_decode(oct_reader *reader, learner_checkpoint *out)
{
    size_t length = reader->left;
    out->state = oct_alloc(sizeof(*out->state) + length);
    out->state->length = length;
    memcpy(out->state->bytes, oct_read_bytes(reader, length), length);
    return OCT_OK;
}

// ---- sections

struct section {
    char id[5];
    bool is_always; // in every checkpoint
    uint32_t flags;
    void (*encode)(oct_writer *writer, const learner_checkpoint *checkpoint);
    oct_err (*decode)(oct_reader *reader, learner_checkpoint *out); // reads to the end
};

// Sections without encode are large. They are written last, directly from their memory.
static const struct section sections[] = {
    {"RUN_", true, FLAG_REQUIRED, run_encode, run_decode},
    {"EVAL", true, FLAG_REQUIRED, evals_encode, evals_decode},
    {"RPLY", true, FLAG_REQUIRED, replay_encode, replay_decode},
    {"SHRD", false, FLAG_REQUIRED, shards_encode, shards_decode},
    {"GONE", false, 0, gone_encode, gone_decode},
    {"TABL", false, 0, tables_encode, tables_decode},
    {"CURV", true, FLAG_REQUIRED, curve_encode, curve_decode},
    {"TURN", false, FLAG_REQUIRED, turn_encode, turn_decode},
    {"END_", false, FLAG_REQUIRED, end_encode, end_decode},
    {"WORK", false, FLAG_REQUIRED, NULL, work_decode},
    {"FP32", false, 0, NULL, weights_decode},
    {"METR", false, 0, NULL, metrics_decode},
    {"ALGO", false, FLAG_REQUIRED, NULL, state_decode},
};
enum { LARGE = 4, WORK_SECTION = OCT_COUNTOF(sections) - LARGE };
enum { WEIGHTS_SECTION = WORK_SECTION + 1, METRICS_SECTION, STATE_SECTION };
enum { PARTS_MAX = 2 * LARGE + 2 };

static void
section_begin(oct_writer *writer, const struct section *section, uint64_t length)
{
    oct_write_bytes(writer, section->id, 4);
    oct_write_u32(writer, section->flags);
    oct_write_u64(writer, length);
}

static void
section_encode(oct_writer *writer, const struct section *section,
               const learner_checkpoint *checkpoint)
{
    oct_writer measure = {0};
    section->encode(&measure, checkpoint);
    if (!section->is_always && measure.used == 0) {
        return;
    }
    size_t from = writer->used;
    section_begin(writer, section, measure.used);
    section->encode(writer, checkpoint);
    oct_write_u32(writer, oct_crc32(0, writer->base + from, writer->used - from));
}

// Returns the largest length of the file without the contents of the large sections.
static size_t
small_length(const learner_checkpoint *checkpoint)
{
    oct_writer measure = {0};
    for (size_t i = 0; i < WORK_SECTION; i++) {
        sections[i].encode(&measure, checkpoint);
    }
    return HEAD_BYTES + OCT_COUNTOF(sections) * (SECTION_BYTES + CRC_BYTES) + measure.used +
           CRC_BYTES;
}

// A file in the making: the small parts are encoded one after the other, and the large ones lie
// between them.
struct draft {
    oct_writer small;
    size_t from; // small bytes before it belong to a part already
    oct_file_part parts[PARTS_MAX];
    size_t count;
    uint32_t crc; // of all parts
};

static void
draft_part(struct draft *draft, const void *bytes, size_t length)
{
    OCT_ASSERT(draft->count < PARTS_MAX);
    draft->parts[draft->count++] = (oct_file_part){bytes, length};
    draft->crc = oct_crc32(draft->crc, bytes, length);
}

static void
draft_small(struct draft *draft)
{
    draft_part(draft, draft->small.base + draft->from, draft->small.used - draft->from);
    draft->from = draft->small.used;
}

static void
draft_large(struct draft *draft, const struct section *section, const void *bytes, size_t length)
{
    size_t head = draft->small.used;
    section_begin(&draft->small, section, length);
    uint32_t crc = oct_crc32(0, draft->small.base + head, SECTION_BYTES);
    draft_small(draft);
    draft_part(draft, bytes, length);
    oct_write_u32(&draft->small, oct_crc32(crc, bytes, length));
}

oct_err
learner_checkpoint_draft(const char *path, const learner_checkpoint *checkpoint,
                         char out[OCT_FILE_PATH_MAX])
{
    size_t length = small_length(checkpoint);
    uint8_t *bytes = oct_alloc(length);
    struct draft draft = {.small = {.base = bytes, .capacity = length}};
    oct_write_u32(&draft.small, MAGIC);
    oct_write_u32(&draft.small, LEARNER_CHECKPOINT_FORMAT);
    for (size_t i = 0; i < WORK_SECTION; i++) {
        section_encode(&draft.small, &sections[i], checkpoint);
    }
    if (checkpoint->work != NULL) {
        draft_large(&draft, &sections[WORK_SECTION], checkpoint->work, checkpoint->work_length);
    }
    if (checkpoint->weights != NULL) {
        draft_large(&draft, &sections[WEIGHTS_SECTION], checkpoint->weights,
                    checkpoint->weights_length);
    }
    if (checkpoint->metrics != NULL) {
        draft_large(&draft, &sections[METRICS_SECTION], checkpoint->metrics,
                    checkpoint->metrics_length);
    }
    if (checkpoint->state != NULL) {
        const learner_state_bytes *state = checkpoint->state;
        draft_large(&draft, &sections[STATE_SECTION], state->bytes, state->length);
    }
    draft_small(&draft);
    uint32_t crc = draft.crc;
    oct_write_u32(&draft.small, crc);
    draft_small(&draft);
    OCT_ASSERT(!draft.small.failed);
    oct_err err = oct_file_draft(path, draft.parts, draft.count, out);
    int saved = errno;
    free(bytes);
    errno = saved;
    return err;
}

// ---- reading

// The path and the reason of a refused file.
struct refusal {
    const char *path;
    oct_reason *why;
};

static oct_err
refuse(const struct refusal *refusal, oct_err err, const char *what)
{
    return oct_fail(refusal->why, err, "%s: %s", refusal->path, what);
}

// Decodes a section. Errors as learner_checkpoint_read.
static oct_err
section_take(const char *id, uint32_t flags, oct_reader *content, uint32_t *seen,
             learner_checkpoint *out, const struct refusal *refusal)
{
    char what[128];
    for (uint32_t i = 0; i < OCT_COUNTOF(sections); i++) {
        if (memcmp(sections[i].id, id, 4) != 0) {
            continue;
        }
        bool is_twice = (*seen & 1u << i) != 0;
        *seen |= 1u << i;
        if (is_twice || sections[i].decode(content, out) != OCT_OK || content->left != 0) {
            (void)snprintf(what, sizeof(what), "damaged: section %.4s has impossible values", id);
            return refuse(refusal, OCT_EPROTO, what);
        }
        return OCT_OK;
    }
    if ((flags & FLAG_REQUIRED) == 0) {
        return OCT_OK;
    }
    char name[16];
    (void)snprintf(what, sizeof(what),
                   "written by a later release: this release does not know section %s",
                   oct_text_quote(name, sizeof(name), id, 4));
    return refuse(refusal, OCT_EINVAL, what);
}

static oct_err
sections_decode(oct_reader *reader, learner_checkpoint *out, const struct refusal *refusal)
{
    uint32_t seen = 0;
    while (reader->left > 0) {
        const uint8_t *from = reader->at;
        const uint8_t *id = oct_read_bytes(reader, 4);
        uint32_t flags = oct_read_u32(reader);
        uint64_t length = oct_read_u64(reader);
        if (reader->failed || length > reader->left) {
            return refuse(refusal, OCT_EPROTO, "damaged: the lengths do not match");
        }
        oct_reader content = {.at = oct_read_bytes(reader, length), .left = length};
        uint32_t crc = oct_crc32(0, from, SECTION_BYTES + length);
        if (oct_read_u32(reader) != crc || reader->failed) {
            char what[64], name[16];
            (void)snprintf(what, sizeof(what), "damaged: the checksum of section %s differs",
                           oct_text_quote(name, sizeof(name), (const char *)id, 4));
            return refuse(refusal, OCT_EPROTO, what);
        }
        OCT_TRY(section_take((const char *)id, flags, &content, &seen, out, refusal));
    }
    for (uint32_t i = 0; i < OCT_COUNTOF(sections); i++) {
        if (sections[i].is_always && (seen & 1u << i) == 0) {
            return refuse(refusal, OCT_EPROTO, "damaged: a section is missing");
        }
    }
    return OCT_OK;
}

// Decodes format 2, which has the same contents in another order and without sections.
static oct_err
format2_decode(oct_reader *reader, learner_checkpoint *out, const struct refusal *refusal)
{
    oct_err err = counters_decode(reader, out);
    if (err == OCT_OK) {
        err = evals_decode(reader, out);
    }
    if (err == OCT_OK) {
        out->policy_crc = oct_read_u32(reader);
        out->task_crc = oct_read_u32(reader);
        err = curve_decode(reader, out);
    }
    uint64_t length = oct_read_u64(reader);
    if (err != OCT_OK || reader->failed || length != reader->left) {
        return refuse(refusal, OCT_EPROTO, "damaged: the lengths do not match");
    }
    return length > 0 ? state_decode(reader, out) : OCT_OK;
}

static oct_err
checkpoint_decode(oct_reader *reader, learner_checkpoint *out, const struct refusal *refusal)
{
    const uint8_t *bytes = reader->at;
    size_t length = reader->left;
    uint32_t magic = oct_read_u32(reader), format = oct_read_u32(reader);
    if (reader->failed || magic != MAGIC) {
        return refuse(refusal, OCT_EPROTO, "not a checkpoint of octet-learner");
    }
    if (reader->left < CRC_BYTES) {
        return refuse(refusal, OCT_EPROTO, "damaged: cut short");
    }
    reader->left -= CRC_BYTES;
    oct_reader end = {.at = bytes + length - CRC_BYTES, .left = CRC_BYTES};
    if (oct_crc32(0, bytes, length - CRC_BYTES) != oct_read_u32(&end)) {
        return refuse(refusal, OCT_EPROTO, "damaged: the checksum differs");
    }
    if (format == LEARNER_CHECKPOINT_FORMAT) {
        return sections_decode(reader, out, refusal);
    }
    if (format == 2) {
        return format2_decode(reader, out, refusal);
    }
    char what[128];
    (void)snprintf(what, sizeof(what),
                   "written by %s release, in format %u; this release reads formats 2 to %d",
                   format < 2 ? "an earlier" : "a later", format, LEARNER_CHECKPOINT_FORMAT);
    return refuse(refusal, OCT_EINVAL, what);
}

oct_err
learner_checkpoint_read(const char *path, learner_checkpoint *out, oct_reason *why)
{
    const struct refusal refusal = {path, why};
    uint8_t *bytes;
    size_t length;
    oct_err err = oct_file_read(path, BYTES_MAX, &bytes, &length);
    if (err == OCT_EINVAL) {
        return refuse(&refusal, OCT_EPROTO, "damaged: larger than any checkpoint");
    }
    if (err != OCT_OK) { // a read error of the disk counts as damage, too
        bool is_damaged = err == OCT_EIO && errno == EIO;
        return refuse(&refusal, is_damaged ? OCT_EPROTO : err, oct_file_strerror(errno));
    }
    oct_reader reader = {.at = bytes, .left = length};
    learner_checkpoint checkpoint = {0};
    err = checkpoint_decode(&reader, &checkpoint, &refusal);
    free(bytes);
    if (err != OCT_OK) {
        learner_checkpoint_fini(&checkpoint);
        return err;
    }
    if (checkpoint.state != NULL) {
        checkpoint.state->updates = checkpoint.updates;
    }
    *out = checkpoint;
    return OCT_OK;
}

void
learner_checkpoint_fini(learner_checkpoint *checkpoint)
{
    free(checkpoint->curve);
    free(checkpoint->state);
    free(checkpoint->work);
    free(checkpoint->weights);
    free(checkpoint->metrics);
    checkpoint->work = NULL;
    checkpoint->weights = NULL;
    checkpoint->metrics = NULL;
    checkpoint->curve = NULL;
    checkpoint->state = NULL;
}
