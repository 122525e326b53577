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

// ---- contents of sections: a function lists the fields, to write and to read them (oct_archive)

static bool
is_reading(const oct_archive *bytes)
{
    return bytes->reader != NULL;
}

// A counter that the run continues and sends. Larger counters are refused here: every receiver
// would refuse a message with a counter above WIRE_COUNT_MAX, and the run would wait for answers
// without end.
static void
count_field(const oct_archive *bytes, uint64_t *count)
{
    oct_archive_u64(bytes, count);
    (void)oct_archive_check(bytes, *count <= LEARNER_RESUMED_MAX);
}

static void
evals_fields(const oct_archive *bytes, learner_checkpoint *checkpoint)
{
    learner_evals_saved *evals = &checkpoint->evals;
    count_field(bytes, &evals->evaluations);
    learner_eval_result_fields(bytes, &evals->best);
    oct_archive_f64(bytes, &evals->confirmed);
    oct_archive_u32(bytes, &evals->screen_count);
    for (int i = 0; i < LEARNER_EVAL_SCREENS; i++) {
        oct_archive_f64(bytes, &evals->screens[i]);
    }
    (void)oct_archive_check(bytes, evals->screen_count <= LEARNER_EVAL_SCREENS);
}

static void
counters_fields(const oct_archive *bytes, learner_checkpoint *checkpoint)
{
    oct_archive_u64(bytes, &checkpoint->run_id);
    count_field(bytes, &checkpoint->policy_version);
    count_field(bytes, &checkpoint->updates);
    count_field(bytes, &checkpoint->env_steps);
    oct_archive_u32(bytes, &checkpoint->incarnations);
    oct_archive_f64(bytes, &checkpoint->wall_s);
    (void)oct_archive_check(bytes, isfinite(checkpoint->wall_s) && checkpoint->wall_s >= 0);
}

static void
checksums_fields(const oct_archive *bytes, learner_checkpoint *checkpoint)
{
    oct_archive_u32(bytes, &checkpoint->policy_crc);
    oct_archive_u32(bytes, &checkpoint->task_crc);
}

static void
run_fields(const oct_archive *bytes, learner_checkpoint *checkpoint)
{
    counters_fields(bytes, checkpoint);
    checksums_fields(bytes, checkpoint);
}

static void
table_fields(const oct_archive *bytes, learner_source_place *table)
{
    oct_archive_u64(bytes, &table->table);
    count_field(bytes, &table->steps);
    count_field(bytes, &table->samples);
}

static void
replay_fields(const oct_archive *bytes, learner_checkpoint *checkpoint)
{
    table_fields(bytes, &checkpoint->replay[0]);
}

static void
shards_fields(const oct_archive *bytes, learner_checkpoint *checkpoint)
{
    uint32_t most = is_reading(bytes)        ? CONFIG_SHARDS_MAX
                    : checkpoint->shards > 1 ? checkpoint->shards
                                             : 0;
    for (uint32_t i = 0; i < most && (!is_reading(bytes) || bytes->reader->left > 0); i++) {
        learner_source_place *table = &checkpoint->replay[i];
        table_fields(bytes, table);
        count_field(bytes, &table->inserts);
        oct_archive_f64(bytes, &table->balance);
        (void)oct_archive_check(bytes, isfinite(table->balance));
        checkpoint->shards = OCT_MAX(checkpoint->shards, i + 1);
    }
}

static void
gone_fields(const oct_archive *bytes, learner_checkpoint *checkpoint)
{
    if (is_reading(bytes) || checkpoint->gone != 0) {
        oct_archive_f64(bytes, &checkpoint->gone);
        (void)oct_archive_check(bytes, isfinite(checkpoint->gone));
    }
}

static void
earlier_fields(const oct_archive *bytes, uint32_t shard, learner_source_earlier *earlier)
{
    oct_archive_u64(bytes, &earlier->table);
    count_field(bytes, &earlier->steps);
    count_field(bytes, &earlier->samples);
    (void)oct_archive_check(bytes, earlier->table != 0 && shard < CONFIG_SHARDS_MAX);
}

static void
tables_write(const oct_archive *bytes, learner_checkpoint *checkpoint)
{
    for (uint32_t shard = 0; shard < OCT_MAX(1u, checkpoint->shards); shard++) {
        learner_source_earlier *earlier = checkpoint->replay[shard].earlier;
        for (int i = 0; i < LEARNER_TABLES_KEPT && earlier[i].table != 0; i++) {
            oct_archive_u32(bytes, &shard);
            earlier_fields(bytes, shard, &earlier[i]);
        }
    }
}

static void
tables_fields(const oct_archive *bytes, learner_checkpoint *checkpoint)
{
    uint32_t count[CONFIG_SHARDS_MAX] = {0}, shard = 0;
    if (!is_reading(bytes)) {
        tables_write(bytes, checkpoint);
        return;
    }
    while (bytes->reader->left > 0) {
        oct_archive_u32(bytes, &shard);
        bool is_sound = shard < CONFIG_SHARDS_MAX && count[shard] < LEARNER_TABLES_KEPT;
        if (!oct_archive_check(bytes, is_sound)) {
            return;
        }
        earlier_fields(bytes, shard, &checkpoint->replay[shard].earlier[count[shard]++]);
    }
}

static void
turn_fields(const oct_archive *bytes, learner_checkpoint *checkpoint)
{
    learner_turn_place *turn = &checkpoint->turn;
    turn->is_there = turn->is_there || is_reading(bytes);
    if (turn->is_there) {
        oct_archive_u32(bytes, &turn->life_turns);
        oct_archive_u32(bytes, &turn->refused);
        oct_archive_u64(bytes, &turn->libm);
        oct_archive_bytes(bytes, turn->replay, sizeof(turn->replay));
    }
}

static void
end_fields(const oct_archive *bytes, learner_checkpoint *checkpoint)
{
    size_t length = is_reading(bytes) ? bytes->reader->left : strlen(checkpoint->end);
    if (oct_archive_check(bytes, length > 0 && length < sizeof(checkpoint->end))) {
        oct_archive_bytes(bytes, checkpoint->end, length);
        (void)oct_archive_check(bytes, memchr(checkpoint->end, '\0', length) == NULL);
    }
}

static void
curve_fields(const oct_archive *bytes, learner_checkpoint *checkpoint)
{
    oct_archive_u32(bytes, &checkpoint->curve_count);
    if (is_reading(bytes)) {
        uint32_t count = checkpoint->curve_count;
        checkpoint->curve_count = 0;
        if (!oct_archive_check(bytes, count <= LEARNER_CURVE_MAX &&
                                          bytes->reader->left / POINT_BYTES >= count)) {
            return;
        }
        checkpoint->curve_count = count;
        checkpoint->curve = oct_alloc(count * sizeof(*checkpoint->curve));
    }
    for (uint32_t i = 0; i < checkpoint->curve_count; i++) {
        oct_archive_f64(bytes, &checkpoint->curve[i].wall_s);
        oct_archive_f64(bytes, &checkpoint->curve[i].env_steps);
        oct_archive_f64(bytes, &checkpoint->curve[i].mean);
        oct_archive_f64(bytes, &checkpoint->curve[i].std);
    }
}

// The large sections, which are read as they are.

static void
large_read(const oct_archive *bytes, uint8_t **out, size_t *length)
{
    *length = bytes->reader->left;
    *out = oct_alloc(*length);
    oct_archive_bytes(bytes, *out, *length);
}

static void
work_read(const oct_archive *bytes, learner_checkpoint *out)
{
    large_read(bytes, &out->work, &out->work_length);
}

static void
weights_read(const oct_archive *bytes, learner_checkpoint *out)
{
    large_read(bytes, &out->weights, &out->weights_length);
}

static void
metrics_read(const oct_archive *bytes, learner_checkpoint *out)
{
    large_read(bytes, &out->metrics, &out->metrics_length);
}

static void
state_read(const oct_archive *bytes, learner_checkpoint *out)
{
    size_t length = bytes->reader->left;
    out->state = oct_alloc(sizeof(*out->state) + length);
    out->state->length = length;
    oct_archive_bytes(bytes, out->state->bytes, length);
}

// ---- sections

struct section {
    char id[5];
    bool is_always; // in every checkpoint
    uint32_t flags;
    // Lists the fields. Reading takes the content to its end; a section that is not needed writes
    // nothing.
    void (*fields)(const oct_archive *bytes, learner_checkpoint *checkpoint);
};

// The last four sections are large. They are written last, directly from their memory.
static const struct section sections[] = {
    {"RUN_", true, FLAG_REQUIRED, run_fields},
    {"EVAL", true, FLAG_REQUIRED, evals_fields},
    {"RPLY", true, FLAG_REQUIRED, replay_fields},
    {"SHRD", false, FLAG_REQUIRED, shards_fields},
    {"GONE", false, 0, gone_fields},
    {"TABL", false, 0, tables_fields},
    {"CURV", true, FLAG_REQUIRED, curve_fields},
    {"TURN", false, FLAG_REQUIRED, turn_fields},
    {"END_", false, FLAG_REQUIRED, end_fields},
    {"WORK", false, FLAG_REQUIRED, work_read},
    {"FP32", false, 0, weights_read},
    {"METR", false, 0, metrics_read},
    {"ALGO", false, FLAG_REQUIRED, state_read},
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
section_write(oct_writer *writer, const struct section *section, learner_checkpoint *checkpoint)
{
    oct_writer measure = {0};
    section->fields(&(oct_archive){.writer = &measure}, checkpoint);
    if (!section->is_always && measure.used == 0) {
        return;
    }
    size_t from = writer->used;
    section_begin(writer, section, measure.used);
    section->fields(&(oct_archive){.writer = writer}, checkpoint);
    oct_write_u32(writer, oct_crc32(0, writer->base + from, writer->used - from));
}

// Returns the largest length of the file without the contents of the large sections.
static size_t
small_length(learner_checkpoint *checkpoint)
{
    oct_writer measure = {0};
    for (size_t i = 0; i < WORK_SECTION; i++) {
        sections[i].fields(&(oct_archive){.writer = &measure}, checkpoint);
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
    // An archive that writes changes no field.
    learner_checkpoint *fields = (learner_checkpoint *)(uintptr_t)checkpoint;
    size_t length = small_length(fields);
    uint8_t *bytes = oct_alloc(length);
    struct draft draft = {.small = {.base = bytes, .capacity = length}};
    oct_write_u32(&draft.small, MAGIC);
    oct_write_u32(&draft.small, LEARNER_CHECKPOINT_FORMAT);
    for (size_t i = 0; i < WORK_SECTION; i++) {
        section_write(&draft.small, &sections[i], fields);
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

// The path of a file, and the reason if it is refused.
struct refusal {
    const char *path;
    oct_reason *why;
    uint32_t seen; // bit i: section i was read
};

static oct_err
refuse(const struct refusal *refusal, oct_err err, const char *what)
{
    return oct_fail(refusal->why, err, "%s: %s", refusal->path, what);
}

// Decodes a section. Errors as learner_checkpoint_read.
static oct_err
section_take(const char *id, uint32_t flags, oct_reader *content, learner_checkpoint *out,
             struct refusal *refusal)
{
    char what[128];
    for (uint32_t i = 0; i < OCT_COUNTOF(sections); i++) {
        if (memcmp(sections[i].id, id, 4) != 0) {
            continue;
        }
        bool is_twice = (refusal->seen & 1u << i) != 0;
        refusal->seen |= 1u << i;
        if (!is_twice) {
            sections[i].fields(&(oct_archive){.reader = content}, out);
        }
        if (is_twice || content->failed || content->left != 0) {
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
sections_decode(oct_reader *reader, learner_checkpoint *out, struct refusal *refusal)
{
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
        OCT_TRY(section_take((const char *)id, flags, &content, out, refusal));
    }
    for (uint32_t i = 0; i < OCT_COUNTOF(sections); i++) {
        if (sections[i].is_always && (refusal->seen & 1u << i) == 0) {
            return refuse(refusal, OCT_EPROTO, "damaged: a section is missing");
        }
    }
    return OCT_OK;
}

// Decodes format 2, which has the same contents in another order and without sections.
static oct_err
format2_decode(oct_reader *reader, learner_checkpoint *out, const struct refusal *refusal)
{
    const oct_archive bytes = {.reader = reader};
    counters_fields(&bytes, out);
    evals_fields(&bytes, out);
    checksums_fields(&bytes, out);
    curve_fields(&bytes, out);
    uint64_t length = oct_read_u64(reader);
    if (reader->failed || length != reader->left) {
        return refuse(refusal, OCT_EPROTO, "damaged: the lengths do not match");
    }
    if (length > 0) {
        state_read(&bytes, out);
    }
    return OCT_OK;
}

static oct_err
checkpoint_decode(oct_reader *reader, learner_checkpoint *out, struct refusal *refusal)
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
    struct refusal refusal = {.path = path, .why = why};
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
