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

// What a function that lists the fields of a state needs: the bytes and, while it reads, the
// policies that the state names and the time.
typedef struct state_archive {
    oct_archive bytes;
    policies all;
    uint64_t now_ns;
} state_archive;

// Returns true if the archive reads and nothing is left: a checkpoint of an earlier release ends
// before the fields that were added later.
static bool
is_at_end(const state_archive *state)
{
    return state->bytes.reader != NULL && state->bytes.reader->left == 0;
}

// A policy by its version, 0 for none. Reading retains it, and fails if the checkpoint lacks it.
static void
policy_field(const state_archive *state, quantizer_publication **publication)
{
    uint64_t version = *publication != NULL ? (*publication)->version : 0;
    oct_archive_u64(&state->bytes, &version);
    if (state->bytes.reader != NULL) {
        *publication = policies_find(&state->all, version);
        if (*publication != NULL) {
            (void)quantizer_publication_retain(*publication);
        }
        (void)oct_archive_check(&state->bytes, version == 0 || *publication != NULL);
    }
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
part_fields(const state_archive *state, learner_eval_part *part)
{
    const oct_archive *bytes = &state->bytes;
    oct_archive_u32(bytes, &part->first);
    oct_archive_u32(bytes, &part->count);
    oct_archive_u64(bytes, &part->seed);
    oct_archive_bool(bytes, &part->answered);
    oct_archive_u64(bytes, &part->ticket);
    oct_archive_u32(bytes, &part->evaluator);
    oct_archive_u64(bytes, &part->calls);
    oct_archive_u32(bytes, &part->episodes_done);
    if (bytes->reader != NULL) {
        part->advanced_ns = state->now_ns;
    }
}

static void
parts_fields(const state_archive *state, learner_eval_parts *parts)
{
    const oct_archive *bytes = &state->bytes;
    uint32_t next = 0;
    for (uint32_t i = 0; i < parts->count; i++) {
        learner_eval_part *part = &parts->part[i];
        part_fields(state, part);
        (void)oct_archive_check(bytes, part->first == next && part->count != 0 &&
                                           part->count <= parts->episodes - next &&
                                           part->episodes_done <= part->count);
        next += part->count;
    }
    for (uint32_t i = 0; i < parts->episodes; i++) {
        oct_archive_f32(bytes, &parts->returns[i]);
        oct_archive_u32(bytes, &parts->lengths[i]);
        (void)oct_archive_check(bytes, isfinite(parts->returns[i]));
    }
    (void)oct_archive_check(bytes, next == parts->episodes);
}

static void
evaluation_fields(const state_archive *state, struct evaluation *evaluation)
{
    const oct_archive *bytes = &state->bytes;
    policy_field(state, &evaluation->publication);
    if (evaluation->publication == NULL) {
        return;
    }
    uint32_t stage = (uint32_t)evaluation->stage;
    uint32_t episodes = evaluation->parts.episodes, count = evaluation->parts.count;
    oct_archive_u32(bytes, &stage);
    oct_archive_bool(bytes, &evaluation->is_first_look);
    oct_archive_u32(bytes, &episodes);
    oct_archive_u32(bytes, &count);
    if (bytes->reader != NULL) {
        bool is_sound = stage < LEARNER_EVAL_STAGES && episodes != 0 && episodes <= EPISODES_MAX &&
                        bytes->reader->left / 8 >= episodes && count != 0 &&
                        count <= LEARNER_EVAL_PARTS_MAX;
        if (!oct_archive_check(bytes, is_sound)) {
            return;
        }
        evaluation->stage = (learner_eval_stage)stage;
        evaluation->parts = learner_eval_parts_empty(episodes);
        evaluation->parts.count = count;
    }
    parts_fields(state, &evaluation->parts);
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
    learner_eval_result *results[RESULTS] = {&evals->last, &evals->result, &evals->unused};
    uint32_t count = 3;
    for (int i = 0; i < LEARNER_CANDIDATES_MAX; i++) {
        results[count++] = &evals->candidates.item[i].result;
    }
    for (int i = 0; i < LEARNER_CANDIDATES_WAITING; i++) {
        results[count++] = &evals->candidates.waiting[i].result;
    }
    for (uint32_t i = 0; i < RESULTS; i++) {
        learner_eval_result *result = results[i];
        uint32_t most = result == &evals->unused ? UINT32_MAX : result->episodes;
        blocks[i] = (block){result->metrics, &result->failed, &result->truncated, most};
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

void
learner_eval_result_fields(const oct_archive *bytes, learner_eval_result *result)
{
    uint32_t stage = (uint32_t)result->stage;
    oct_archive_u32(bytes, &stage);
    oct_archive_u64(bytes, &result->version);
    oct_archive_u64(bytes, &result->env_steps);
    oct_archive_u32(bytes, &result->episodes);
    double *const numbers[] = {&result->mean, &result->std, &result->min, &result->max,
                               &result->mean_length};
    bool is_finite = true;
    for (size_t i = 0; i < OCT_COUNTOF(numbers); i++) {
        oct_archive_f64(bytes, numbers[i]);
        is_finite = is_finite && isfinite(*numbers[i]);
    }
    bool is_sound = stage < LEARNER_EVAL_STAGES && (is_finite || result->episodes == 0);
    if (oct_archive_check(bytes, is_sound)) {
        result->stage = (learner_eval_stage)stage;
    }
}

static void
candidate_fields(const state_archive *state, learner_candidate *candidate)
{
    policy_field(state, &candidate->publication);
    learner_eval_result_fields(&state->bytes, &candidate->result);
    oct_archive_bool(&state->bytes, &candidate->is_tried);
    oct_archive_f64(&state->bytes, &candidate->confirmed);
}

// The promoted version and the best screen, which releases before kept beside the versions that
// wait. This release writes neither, and reads the best screen into screened.
static void
earlier_fields(const state_archive *state, learner_candidate *screened)
{
    quantizer_publication *promoted = NULL;
    double mean = 0;
    policy_field(state, &promoted);
    oct_archive_f64(&state->bytes, &mean);
    candidate_fields(state, screened);
    quantizer_publication_release(promoted);
}

// The failed, then the truncated episodes.
static void
counts_fields(const state_archive *state, learner_evals *evals)
{
    block blocks[BLOCKS];
    uint32_t count = blocks_collect(evals, blocks);
    for (uint32_t i = 0; i < 2 * count && !is_at_end(state); i++) {
        block *of = &blocks[i % count];
        oct_archive_u64(&state->bytes, i < count ? of->failed : of->truncated);
    }
}

static void
state_fields(const state_archive *state, learner_evals *evals)
{
    const oct_archive *bytes = &state->bytes;
    bool unused = false;
    learner_candidate screened = {.confirmed = NAN};
    uint64_t *const counts[] = {&evals->evaluations, &evals->tickets, &evals->screened_version,
                                &evals->slowest_ns};
    for (size_t i = 0; i < OCT_COUNTOF(counts); i++) {
        oct_archive_u64(bytes, counts[i]);
    }
    oct_archive_bool(bytes, &unused);
    policy_field(state, &evals->newest);
    earlier_fields(state, &screened);
    for (int i = 0; i < LEARNER_CANDIDATES_MAX; i++) {
        candidate_fields(state, &evals->candidates.item[i]);
    }
    learner_eval_result_fields(bytes, &evals->last);
    learner_eval_result_fields(bytes, &evals->result);
    for (int i = 0; i < LEARNER_EVALUATIONS_MAX; i++) {
        evaluation_fields(state, &evals->evaluation[i]);
    }
    if (!is_at_end(state)) {
        for (int i = 0; i < LEARNER_CANDIDATES_WAITING; i++) {
            candidate_fields(state, &evals->candidates.waiting[i]);
        }
        oct_archive_u64(bytes, &evals->episodes);
        oct_archive_u64(bytes, &evals->final_episodes);
    }
    if (screened.publication != NULL) {
        learner_candidates_screened(&evals->candidates, screened.publication, &screened.result);
        quantizer_publication_release(screened.publication);
    }
    counts_fields(state, evals);
}

void
learner_evals_write(const learner_evals *evals, oct_writer *writer)
{
    learner_evals *fields = (learner_evals *)(uintptr_t)evals; // writing changes none
    state_archive state = {.bytes = {.writer = writer}, .all = policies_collect(evals)};
    policies_write(writer, &state.all);
    state_fields(&state, fields);
}

oct_err
learner_evals_read(learner_evals *evals, oct_reader *reader, uint64_t now_ns)
{
    state_archive state = {.bytes = {.reader = reader}, .now_ns = now_ns};
    learner_evals *found = learner_evals_create(evals->config, NULL);
    oct_err err = policies_read(reader, &state.all);
    if (err == OCT_OK) {
        state_fields(&state, found);
        err = reader->failed || reader->left > 0 ? OCT_EPROTO : OCT_OK;
    }
    policies_release(&state.all); // each is retained by its user
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

static void
metrics_fields(const oct_archive *bytes, const block *blocks, uint32_t count, uint32_t names)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < names; k++) {
            oct_metric *metric = &blocks[i].metrics[k];
            oct_archive_f64(bytes, &metric->sum);
            oct_archive_u32(bytes, &metric->episodes);
            (void)oct_archive_check(bytes, oct_metric_is_sound(metric, blocks[i].episodes));
        }
    }
}

void
learner_evals_write_metrics(const learner_evals *evals, const oct_metric_names *names,
                            oct_writer *writer)
{
    block blocks[BLOCKS];
    uint32_t count = blocks_collect((learner_evals *)(uintptr_t)evals, blocks);
    for (uint32_t k = 0; k < names->count; k++) {
        oct_write_bytes(writer, names->name[k], sizeof(names->name[k]));
    }
    metrics_fields(&(oct_archive){.writer = writer}, blocks, count, names->count);
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
    metrics_fields(&(oct_archive){.reader = reader}, blocks, count, names->count);
    if (!reader->failed && reader->left == 0) {
        return OCT_OK;
    }
    for (uint32_t i = 0; i < count; i++) {
        memset(blocks[i].metrics, 0, OCT_METRICS_MAX * sizeof(oct_metric));
    }
    return OCT_EPROTO;
}
