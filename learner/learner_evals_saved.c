// Saves the state of evaluations in a checkpoint and reads it back: the results of versions, the
// evaluations in progress, and the policies of both.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "learner/learner_evals_state.h"
#include "policy/policy_format.h"

#define POLICIES_MAX                                                                               \
    (3 + LEARNER_CANDIDATES_MAX + LEARNER_CANDIDATES_WAITING + LEARNER_EVALUATIONS_MAX)
#define TICKETS_APART (UINT64_C(1) << 20) // above the tickets between two checkpoints
#define EPISODES_MAX  (1u << 20)

// ---- policies: each is written once, with its version as its key

typedef struct policies {
    quantizer_publication *item[POLICIES_MAX];
    uint32_t count;
} policies;

static quantizer_publication *
policies_find(const policies *all, uint64_t version)
{
    for (uint32_t i = 0; version != 0 && i < all->count; i++) {
        if (all->item[i]->version == version) {
            return all->item[i];
        }
    }
    return NULL;
}

static void
policies_note(policies *all, quantizer_publication *publication)
{
    if (publication != NULL && policies_find(all, publication->version) == NULL) {
        all->item[all->count++] = publication;
    }
}

static policies
policies_collect(const learner_evals *evals)
{
    policies all = {0};
    policies_note(&all, evals->newest);
    policies_note(&all, evals->promoted);
    policies_note(&all, evals->screened.publication);
    for (int i = 0; i < LEARNER_CANDIDATES_MAX; i++) {
        policies_note(&all, evals->candidates.item[i].publication);
    }
    for (int i = 0; i < LEARNER_CANDIDATES_WAITING; i++) {
        policies_note(&all, evals->candidates.waiting[i].publication);
    }
    for (int i = 0; i < LEARNER_EVALUATIONS_MAX; i++) {
        policies_note(&all, evals->evaluation[i].publication);
    }
    return all;
}

static void
policies_write(oct_writer *writer, const policies *all)
{
    oct_write_u32(writer, all->count);
    for (uint32_t i = 0; i < all->count; i++) {
        oct_write_u64(writer, all->item[i]->length);
        oct_write_bytes(writer, all->item[i]->bytes, all->item[i]->length);
    }
}

// Reads a policy file, which names its own version.
static oct_err
policy_read(oct_reader *reader, quantizer_publication **out)
{
    oct_reason why;
    policy_image *image;
    uint64_t length = oct_read_u64(reader);
    const uint8_t *bytes = length <= reader->left ? oct_read_bytes(reader, length) : NULL;
    if (bytes == NULL || policy_decode(&image, bytes, length, &why) != OCT_OK) {
        return OCT_EPROTO;
    }
    quantizer_publication *publication = quantizer_publication_create();
    publication->version = image->origin.version;
    publication->updates = image->origin.updates;
    publication->env_steps = image->origin.env_steps;
    publication->bytes = oct_alloc(length);
    publication->length = length;
    memcpy(publication->bytes, bytes, length);
    policy_image_destroy(image);
    *out = publication;
    return OCT_OK;
}

static oct_err
policies_read(oct_reader *reader, policies *all)
{
    uint32_t count = oct_read_u32(reader);
    if (reader->failed || count > POLICIES_MAX) {
        return OCT_EPROTO;
    }
    for (; all->count < count; all->count++) {
        OCT_TRY(policy_read(reader, &all->item[all->count]));
    }
    return OCT_OK;
}

static void
policies_release(policies *all)
{
    for (uint32_t i = 0; i < all->count; i++) {
        quantizer_publication_release(all->item[i]);
    }
}

static void
version_write(oct_writer *writer, const quantizer_publication *publication)
{
    oct_write_u64(writer, publication != NULL ? publication->version : 0);
}

// Reads a version and retains its policy, or NULL. OCT_EPROTO: the checkpoint lacks the policy of
// that version.
static oct_err
version_read(oct_reader *reader, const policies *all, quantizer_publication **out)
{
    uint64_t version = oct_read_u64(reader);
    *out = policies_find(all, version);
    if (*out != NULL) {
        (void)quantizer_publication_retain(*out);
    }
    return version != 0 && *out == NULL ? OCT_EPROTO : OCT_OK;
}

// ---- fp32 weights of the policies: version, parameters

void
learner_evals_write_weights(const learner_evals *evals, size_t count, oct_writer *writer)
{
    policies all = policies_collect(evals);
    for (uint32_t i = 0; i < all.count; i++) {
        if (all.item[i]->params != NULL) {
            oct_write_u64(writer, all.item[i]->version);
            oct_write_u64(writer, count);
            oct_write_bytes(writer, all.item[i]->params, count * sizeof(float));
        }
    }
}

// Copies the weights. OCT_EPROTO: the count differs from that of the policy, or a weight is not
// finite.
static oct_err
weights_take(quantizer_publication *publication, const uint8_t *bytes, uint64_t count)
{
    oct_reason why;
    policy_image *image;
    if (publication->params != NULL ||
        policy_decode(&image, publication->bytes, publication->length, &why) != OCT_OK) {
        return OCT_EPROTO;
    }
    bool is_whole = policy_spec_params(&image->spec) == count;
    policy_image_destroy(image);
    for (uint64_t i = 0; is_whole && i < count; i++) {
        float weight;
        memcpy(&weight, bytes + i * sizeof(weight), sizeof(weight));
        is_whole = isfinite(weight);
    }
    if (is_whole) {
        publication->params = oct_alloc(count * sizeof(float));
        memcpy(publication->params, bytes, count * sizeof(float));
    }
    return is_whole ? OCT_OK : OCT_EPROTO;
}

oct_err
learner_evals_read_weights(learner_evals *evals, oct_reader *reader)
{
    policies all = policies_collect(evals);
    while (reader->left > 0) {
        uint64_t version = oct_read_u64(reader), count = oct_read_u64(reader);
        quantizer_publication *publication = policies_find(&all, version);
        if (reader->failed || publication == NULL || count > reader->left / sizeof(float)) {
            return OCT_EPROTO;
        }
        const uint8_t *bytes = oct_read_bytes(reader, count * sizeof(float));
        OCT_TRY(weights_take(publication, bytes, count));
    }
    return OCT_OK;
}

// ---- evaluations in progress

static void
evaluation_write(oct_writer *writer, const struct evaluation *evaluation)
{
    const learner_eval_parts *parts = &evaluation->parts;
    version_write(writer, evaluation->publication);
    if (evaluation->publication == NULL) {
        return;
    }
    oct_write_u32(writer, (uint32_t)evaluation->stage);
    oct_write_u8(writer, evaluation->is_first_look);
    oct_write_u32(writer, parts->episodes);
    oct_write_u32(writer, parts->count);
    for (uint32_t i = 0; i < parts->count; i++) {
        const learner_eval_part *part = &parts->part[i];
        oct_write_u32(writer, part->first);
        oct_write_u32(writer, part->count);
        oct_write_u64(writer, part->seed);
        oct_write_u8(writer, part->answered);
        oct_write_u64(writer, part->ticket);
        oct_write_u32(writer, part->evaluator);
        oct_write_u64(writer, part->calls);
        oct_write_u32(writer, part->episodes_done);
    }
    for (uint32_t i = 0; i < parts->episodes; i++) {
        oct_write_f32(writer, parts->returns[i]);
        oct_write_u32(writer, parts->lengths[i]);
    }
}

static oct_err
parts_read(oct_reader *reader, learner_eval_parts *parts, uint64_t now_ns)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < parts->count; i++) {
        learner_eval_part *part = &parts->part[i];
        part->first = oct_read_u32(reader);
        part->count = oct_read_u32(reader);
        part->seed = oct_read_u64(reader);
        part->answered = oct_read_u8(reader) != 0;
        part->ticket = oct_read_u64(reader);
        part->evaluator = oct_read_u32(reader);
        part->calls = oct_read_u64(reader);
        part->episodes_done = oct_read_u32(reader);
        part->advanced_ns = now_ns;
        if (part->first != next || part->count == 0 || part->count > parts->episodes - next ||
            part->episodes_done > part->count) {
            return OCT_EPROTO;
        }
        next += part->count;
    }
    for (uint32_t i = 0; i < parts->episodes; i++) {
        parts->returns[i] = oct_read_f32(reader);
        parts->lengths[i] = oct_read_u32(reader);
        if (!isfinite(parts->returns[i])) {
            return OCT_EPROTO;
        }
    }
    return reader->failed || next != parts->episodes ? OCT_EPROTO : OCT_OK;
}

static oct_err
evaluation_read(oct_reader *reader, const policies *all, struct evaluation *out, uint64_t now_ns)
{
    OCT_TRY(version_read(reader, all, &out->publication));
    if (out->publication == NULL) {
        return OCT_OK;
    }
    uint32_t stage = oct_read_u32(reader);
    out->stage = (learner_eval_stage)stage;
    out->is_first_look = oct_read_u8(reader) != 0;
    uint32_t episodes = oct_read_u32(reader), count = oct_read_u32(reader);
    if (reader->failed || stage >= LEARNER_EVAL_STAGES || episodes == 0 ||
        episodes > EPISODES_MAX || reader->left / 8 < episodes || count == 0 ||
        count > LEARNER_EVAL_PARTS_MAX) {
        return OCT_EPROTO;
    }
    out->parts.episodes = episodes;
    out->parts.count = count;
    out->parts.returns = oct_alloc(episodes * sizeof(float));
    out->parts.lengths = oct_alloc(episodes * sizeof(uint32_t));
    out->parts.metrics = oct_alloc(LEARNER_EVAL_PARTS_MAX * sizeof(*out->parts.metrics));
    return parts_read(reader, &out->parts, now_ns);
}

// ---- metrics and counts: of results, then of parts of evaluations in progress, in this order

#define RESULTS (3 + LEARNER_CANDIDATES_MAX + LEARNER_CANDIDATES_WAITING)
#define BLOCKS  (RESULTS + LEARNER_EVALUATIONS_MAX * LEARNER_EVAL_PARTS_MAX)

// The metrics and counts of one result or part.
typedef struct block {
    oct_metric *metrics;
    uint64_t *failed, *truncated;
    uint32_t episodes; // upper bound of every count in the block
} block;

static uint32_t
blocks_collect(learner_evals *evals, block blocks[BLOCKS])
{
    learner_eval_result *results[RESULTS] = {&evals->last, &evals->result, &evals->screened.result};
    uint32_t count = 3;
    for (int i = 0; i < LEARNER_CANDIDATES_MAX; i++) {
        results[count++] = &evals->candidates.item[i].result;
    }
    for (int i = 0; i < LEARNER_CANDIDATES_WAITING; i++) {
        results[count++] = &evals->candidates.waiting[i].result;
    }
    for (uint32_t i = 0; i < RESULTS; i++) {
        learner_eval_result *result = results[i];
        blocks[i] = (block){result->metrics, &result->failed, &result->truncated, result->episodes};
    }
    for (int e = 0; e < LEARNER_EVALUATIONS_MAX; e++) {
        learner_eval_parts *parts = &evals->evaluation[e].parts;
        for (uint32_t i = 0; i < parts->count; i++) {
            learner_eval_part *part = &parts->part[i];
            blocks[count++] =
                (block){parts->metrics[i], &part->failed, &part->truncated, part->count};
        }
    }
    return count;
}

// ---- the whole state

static void
candidate_write(oct_writer *writer, const learner_candidate *candidate)
{
    version_write(writer, candidate->publication);
    learner_eval_result_write(writer, &candidate->result);
    oct_write_u8(writer, candidate->confirm_tried);
    oct_write_f64(writer, candidate->confirmed);
}

static oct_err
candidate_read(oct_reader *reader, const policies *all, learner_candidate *out)
{
    OCT_TRY(version_read(reader, all, &out->publication));
    OCT_TRY(learner_eval_result_read(reader, &out->result));
    out->confirm_tried = oct_read_u8(reader) != 0;
    out->confirmed = oct_read_f64(reader);
    return OCT_OK;
}

void
learner_evals_write(const learner_evals *evals, oct_writer *writer)
{
    policies all = policies_collect(evals);
    policies_write(writer, &all);
    const uint64_t counts[] = {evals->evaluations, evals->tickets, evals->screened_version,
                               evals->slowest_ns};
    for (size_t i = 0; i < OCT_COUNTOF(counts); i++) {
        oct_write_u64(writer, counts[i]);
    }
    oct_write_u8(writer, evals->result_is_compared);
    version_write(writer, evals->newest);
    version_write(writer, evals->promoted);
    oct_write_f64(writer, evals->promoted_mean);
    candidate_write(writer, &evals->screened);
    for (int i = 0; i < LEARNER_CANDIDATES_MAX; i++) {
        candidate_write(writer, &evals->candidates.item[i]);
    }
    learner_eval_result_write(writer, &evals->last);
    learner_eval_result_write(writer, &evals->result);
    for (int i = 0; i < LEARNER_EVALUATIONS_MAX; i++) {
        evaluation_write(writer, &evals->evaluation[i]);
    }
    for (int i = 0; i < LEARNER_CANDIDATES_WAITING; i++) {
        candidate_write(writer, &evals->candidates.waiting[i]);
    }
    oct_write_u64(writer, evals->episodes);
    oct_write_u64(writer, evals->final_episodes);
    block blocks[BLOCKS];
    uint32_t count = blocks_collect((learner_evals *)(uintptr_t)evals, blocks);
    for (uint32_t i = 0; i < count; i++) {
        oct_write_u64(writer, *blocks[i].failed);
    }
    for (uint32_t i = 0; i < count; i++) {
        oct_write_u64(writer, *blocks[i].truncated);
    }
}

// Reads the waiting versions. A checkpoint that older releases wrote ends before them.
static oct_err
waiting_read(oct_reader *reader, const policies *all, learner_evals *out)
{
    for (int i = 0; i < LEARNER_CANDIDATES_WAITING; i++) {
        learner_candidate *waiting = &out->candidates.waiting[i];
        OCT_TRY(candidate_read(reader, all, waiting));
        if (waiting->publication != NULL && waiting->result.episodes == 0) {
            return OCT_EPROTO;
        }
    }
    out->episodes = oct_read_u64(reader);
    out->final_episodes = oct_read_u64(reader);
    return OCT_OK;
}

// Reads the counts of failed, then of truncated episodes. A checkpoint that older releases wrote
// ends before one or both.
static void
counts_read(oct_reader *reader, learner_evals *out)
{
    block blocks[BLOCKS];
    uint32_t count = blocks_collect(out, blocks);
    for (uint32_t i = 0; i < count && reader->left > 0; i++) {
        *blocks[i].failed = oct_read_u64(reader);
    }
    for (uint32_t i = 0; i < count && reader->left > 0; i++) {
        *blocks[i].truncated = oct_read_u64(reader);
    }
}

static oct_err
state_read(learner_evals *out, oct_reader *reader, policies *all, uint64_t now_ns)
{
    OCT_TRY(policies_read(reader, all));
    uint64_t *const counts[] = {&out->evaluations, &out->tickets, &out->screened_version,
                                &out->slowest_ns};
    for (size_t i = 0; i < OCT_COUNTOF(counts); i++) {
        *counts[i] = oct_read_u64(reader);
    }
    out->result_is_compared = oct_read_u8(reader) != 0;
    OCT_TRY(version_read(reader, all, &out->newest));
    OCT_TRY(version_read(reader, all, &out->promoted));
    out->promoted_mean = oct_read_f64(reader);
    OCT_TRY(candidate_read(reader, all, &out->screened));
    for (int i = 0; i < LEARNER_CANDIDATES_MAX; i++) {
        OCT_TRY(candidate_read(reader, all, &out->candidates.item[i]));
    }
    OCT_TRY(learner_eval_result_read(reader, &out->last));
    OCT_TRY(learner_eval_result_read(reader, &out->result));
    for (int i = 0; i < LEARNER_EVALUATIONS_MAX; i++) {
        OCT_TRY(evaluation_read(reader, all, &out->evaluation[i], now_ns));
    }
    if (reader->left > 0) {
        OCT_TRY(waiting_read(reader, all, out));
    }
    counts_read(reader, out);
    return reader->failed || reader->left > 0 ? OCT_EPROTO : OCT_OK;
}

oct_err
learner_evals_read(learner_evals *evals, oct_reader *reader, uint64_t now_ns)
{
    policies all = {0};
    learner_evals *found = learner_evals_create(evals->config, NULL);
    oct_err err = state_read(found, reader, &all, now_ns);
    policies_release(&all); // each is retained by its user
    found->tickets += TICKETS_APART;
    found->screen_count = evals->screen_count; // as learner_evals_create set it
    memcpy(found->screens, evals->screens, sizeof(found->screens));
    if (err == OCT_OK) {
        learner_evals swapped = *evals;
        *evals = *found;
        *found = swapped;
    }
    learner_evals_destroy(found);
    return err;
}

// ---- the environment's metrics: names, then the values of each block

void
learner_evals_write_metrics(const learner_evals *evals, const oct_metric_names *names,
                            oct_writer *writer)
{
    block blocks[BLOCKS];
    uint32_t count =
        names->count > 0 ? blocks_collect((learner_evals *)(uintptr_t)evals, blocks) : 0;
    for (uint32_t k = 0; k < names->count; k++) {
        oct_write_bytes(writer, names->name[k], sizeof(names->name[k]));
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < names->count; k++) {
            oct_write_f64(writer, blocks[i].metrics[k].sum);
            oct_write_u32(writer, blocks[i].metrics[k].episodes);
        }
    }
}

static bool
names_are(const oct_metric_names *names, oct_reader *reader)
{
    for (uint32_t k = 0; k < names->count; k++) {
        const uint8_t *bytes = oct_read_bytes(reader, sizeof(names->name[k]));
        if (bytes == NULL || memcmp(bytes, names->name[k], sizeof(names->name[k])) != 0) {
            return false;
        }
    }
    return names->count > 0;
}

oct_err
learner_evals_read_metrics(learner_evals *evals, const oct_metric_names *names, oct_reader *reader)
{
    block blocks[BLOCKS];
    uint32_t count = blocks_collect(evals, blocks);
    if (!names_are(names, reader)) {
        return OCT_OK;
    }
    bool is_sound = true;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < names->count; k++) {
            oct_metric *metric = &blocks[i].metrics[k];
            metric->sum = oct_read_f64(reader);
            metric->episodes = oct_read_u32(reader);
            is_sound = is_sound && oct_metric_is_sound(metric, blocks[i].episodes);
        }
    }
    if (is_sound && !reader->failed && reader->left == 0) {
        return OCT_OK;
    }
    for (uint32_t i = 0; i < count; i++) {
        memset(blocks[i].metrics, 0, OCT_METRICS_MAX * sizeof(oct_metric));
    }
    return OCT_EPROTO;
}
