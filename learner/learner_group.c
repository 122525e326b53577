// Sends the parts of each batch from rank 0 to the other learners, which compute with them.
#include "learner/learner_group.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_log.h"
#include "learner/learner_batch_bytes.h"
#include "nn/nn_gemm.h"

#define EXIT_APART 3

typedef enum turn_kind { TURN_END = 1, TURN_BEGIN, TURN_UPDATE, TURN_SAVE } turn_kind;

// What the other ranks do next. It is a message of its own before training, and heads each part of
// a batch later.
typedef struct turn {
    uint32_t kind;
    uint32_t build;          // of rank 0's program
    uint32_t has_priorities; // the algorithm is to compute priorities
    float learning_rate;
    uint32_t T;
    float spent; // algo_batch
    uint64_t state_bytes;
} turn;

struct learner_group {
    group *members;
    bool has_begun;
    bool is_asynchronous;
    learner_async *_Atomic async; // NULL: not begun, or batches are shared
    learner_shape shape;
    uint8_t *parts;     // [size][sizeof(turn) + shape.part], rank 0 only
    uint8_t *own;       // [sizeof(turn) + shape.part]
    float *priority;    // [shape.B]
    uint8_t *state;     // for comparing ranks
    size_t state_bytes; // size of state
};

// Programs with different build numbers cannot exchange states.
static uint32_t
build_number(void)
{
    const uint32_t sizes[] = {sizeof(config_experiment), sizeof(policy_spec), sizeof(turn)};
    uint32_t crc = oct_crc32c(0, OCTET_VERSION, strlen(OCTET_VERSION));
    return oct_crc32c(crc, sizes, sizeof(sizes));
}

static size_t
state_measure(const algo *a)
{
    oct_writer measure = {0};
    algo_save(a, &measure);
    return measure.used;
}

// ---- all ranks

// Begins asynchronous learning: the algorithm's state moves into memory that the learners share.
static void
async_begin(learner_group *lg, const config_experiment *config, const policy_spec *spec, uint32_t T,
            algo *a)
{
    learner_async_options options = {
        .members = lg->members,
        .learner = group_rank(lg->members),
        .count = group_size(lg->members),
        .staleness_max = config->learner.staleness_max,
        .spec = spec,
        .B = config->learner.batch_size,
        .T = T,
        .a = a,
    };
    options.memory = group_memory(lg->members, learner_async_bytes(&options));
    if (options.memory == NULL) {
        oct_log_error("LEARNER-RANK", "cannot map memory for learners to share: %s",
                      strerror(errno));
        _exit(EXIT_APART);
    }
    lg->async = learner_async_create(&options);
}

static void
buffers_make(learner_group *lg, const config_experiment *config, const policy_spec *spec,
             uint32_t T, const algo *a)
{
    uint32_t size = group_size(lg->members);
    lg->shape = learner_shape_of(spec, config->learner.batch_size / size, T);
    size_t bytes = sizeof(turn) + lg->shape.part;
    lg->parts = group_rank(lg->members) == 0 ? oct_alloc(size * bytes) : NULL;
    lg->own = oct_alloc(bytes);
    lg->priority = oct_alloc(lg->shape.B * sizeof(float));
    lg->state_bytes = state_measure(a);
    lg->state = oct_alloc(lg->state_bytes);
}

static void
buffers_free(learner_group *lg)
{
    free(lg->parts);
    free(lg->own);
    free(lg->priority);
    free(lg->state);
}

// Writes the state for comparison. Returns its length.
static size_t
state_put(learner_group *lg, const algo *a)
{
    oct_writer writer = {.base = lg->state, .capacity = lg->state_bytes};
    algo_save(a, &writer);
    OCT_ASSERT(!writer.failed);
    return writer.used;
}

// Ends the process if a rank's parameters, targets and generators differ from rank 0's.
static void
states_compare(learner_group *lg, const algo *a)
{
    uint32_t size = group_size(lg->members), own, all[GROUP_SIZE_MAX];
    if (algo_updates(a) % LEARNER_GROUP_CHECK_PERIOD != 1) {
        return;
    }
    size_t length = state_put(lg, a);
    own = algo_saved_crc(lg->state, length);
    group_gather(lg->members, &own, all, sizeof(own));
    for (uint32_t r = 1; group_rank(lg->members) == 0 && r < size; r++) {
        if (all[r] != own) {
            oct_log_error(
                "LEARNER-APART",
                "learner %u of %u does not have the parameters of learner 0 after update %" PRIu64
                ": their machines compute different results (run.deterministic makes CPUs compute "
                "alike), or a machine is faulty",
                r, size, algo_updates(a));
            _exit(EXIT_APART);
        }
    }
}

// Learns from the part of a batch that has arrived in lg->own.
static oct_err
part_learn(learner_group *lg, algo *a, const turn *now, float *priorities, float *numbers)
{
    algo_batch part = learner_batch_bytes_take(&lg->shape, lg->own + sizeof(turn));
    part.spent = now->spent;
    bool wants = now->has_priorities != 0;
    OCT_TRY(algo_update(a, &part, now->learning_rate, wants ? lg->priority : NULL, numbers));
    if (wants) {
        group_gather(lg->members, lg->priority, priorities, lg->shape.B * sizeof(float));
    }
    states_compare(lg, a);
    return OCT_OK;
}

// ---- rank 0

learner_group *
learner_group_create(group *take, bool is_asynchronous)
{
    if (take == NULL) {
        return NULL;
    }
    learner_group *lg = oct_alloc(sizeof(*lg));
    lg->members = take;
    lg->is_asynchronous = is_asynchronous;
    return lg;
}

// Sends a turn without a batch to all ranks.
static void
turn_send(learner_group *lg, const turn *next)
{
    size_t bytes = sizeof(turn) + lg->shape.part;
    for (uint32_t r = 0; r < group_size(lg->members); r++) {
        memcpy(lg->parts + r * bytes, next, sizeof(*next));
    }
    group_scatter(lg->members, lg->parts, lg->own, bytes);
}

void
learner_group_destroy(learner_group *lg)
{
    if (lg == NULL) {
        return;
    }
    turn end = {.kind = TURN_END, .build = build_number()};
    if (lg->async != NULL) {
        learner_async_end(lg->async);
    } else if (lg->has_begun) {
        turn_send(lg, &end);
    } else {
        group_broadcast(lg->members, &end, sizeof(end));
    }
    group_destroy(lg->members);
    learner_async_destroy(lg->async);
    buffers_free(lg);
    free(lg);
}

group *
learner_group_members(const learner_group *lg)
{
    return lg != NULL && !lg->is_asynchronous ? lg->members : NULL;
}

learner_async *
learner_group_async(const learner_group *lg)
{
    return lg != NULL ? lg->async : NULL;
}

uint32_t
learner_group_size(const learner_group *lg)
{
    return lg != NULL ? group_size(lg->members) : 1;
}

uint32_t
learner_group_here(const learner_group *lg)
{
    return lg == NULL || !group_is_local(lg->members) ? 1 : group_size(lg->members);
}

uint64_t
learner_group_bytes(const config_experiment *config, const policy_spec *spec, uint32_t T,
                    uint32_t learners, uint64_t state_bytes)
{
    uint64_t whole = learner_shape_of(spec, config->learner.batch_size, T).part;
    if (config->learner.count == 1) {
        return 0;
    }
    return config->learner.asynchronous
               ? learner_async_slots(config->learner.count) * whole + state_bytes
               : 2 * whole + learners * state_bytes; // rank 0's parts, and the part of each rank
}

void
learner_group_staleness(const learner_group *lg, learner_staleness *out)
{
    learner_async *as = learner_group_async(lg);
    *out = (learner_staleness){0};
    if (as != NULL) {
        learner_async_staleness(as, out);
    }
}

void
learner_group_counts(const learner_group *lg, group_counts *out)
{
    group_counts_get(lg != NULL ? lg->members : NULL, out);
}

void
learner_group_config(const learner_group *lg, const config_experiment *whole,
                     config_experiment *out)
{
    *out = *whole;
    out->learner.batch_size /= lg != NULL && lg->is_asynchronous ? 1 : learner_group_size(lg);
}

void
learner_group_begin(learner_group *lg, const config_experiment *config, const policy_spec *spec,
                    uint32_t T, algo *a)
{
    if (lg == NULL) {
        return;
    }
    buffers_make(lg, config, spec, T, a);
    size_t length = state_put(lg, a);
    turn begin = {.kind = TURN_BEGIN, .build = build_number(), .T = T, .state_bytes = length};
    group_broadcast(lg->members, &begin, sizeof(begin));
    group_broadcast(lg->members, (void *)(uintptr_t)config, sizeof(*config));
    group_broadcast(lg->members, (void *)(uintptr_t)spec, sizeof(*spec));
    group_broadcast(lg->members, lg->state, length);
    lg->has_begun = true;
    if (lg->is_asynchronous) {
        async_begin(lg, config, spec, T, a);
    }
}

oct_err
learner_group_update(learner_group *lg, algo *a, const algo_batch *batch, float learning_rate,
                     float *priorities, float *numbers)
{
    if (lg == NULL) {
        return algo_update(a, batch, learning_rate, priorities, numbers);
    }
    const turn now = {.kind = TURN_UPDATE,
                      .build = build_number(),
                      .has_priorities = priorities != NULL,
                      .learning_rate = learning_rate,
                      .T = batch->T,
                      .spent = batch->spent};
    uint32_t size = group_size(lg->members);
    size_t bytes = sizeof(turn) + lg->shape.part;
    OCT_ASSERT(batch->B == size * lg->shape.B && batch->T == lg->shape.T);
    for (uint32_t r = 0; r < size; r++) {
        memcpy(lg->parts + r * bytes, &now, sizeof(now));
        learner_batch_bytes_put(&lg->shape, lg->parts + r * bytes + sizeof(now), batch,
                                r * lg->shape.B);
    }
    group_scatter(lg->members, lg->parts, lg->own, bytes);
    return part_learn(lg, a, &now, priorities, numbers);
}

void
learner_group_save(learner_group *lg, const algo *a, oct_writer *writer)
{
    const turn now = {.kind = TURN_SAVE, .build = build_number()};
    if (lg != NULL && lg->has_begun && lg->async == NULL && writer->base != NULL) {
        turn_send(lg, &now);
    }
    algo_save(a, writer);
}

// ---- the others

static nn_context *
context_make(const config_experiment *config, group *members)
{
    char warning[256];
    const nn_context_options options = algo_context_options(config, members);
    if (nn_context_refusal(&options) != NULL) {
        oct_log_error("LEARNER-RANK", "run.deterministic: %s", nn_context_refusal(&options));
        return NULL;
    }
    (void)nn_blas_init(config->learner.threads, warning, sizeof(warning));
    return nn_context_create(&options);
}

// Makes rank 0's algorithm from its state. NULL: it cannot be made here, and the cause is logged.
static algo *
algo_receive(learner_group *lg, const turn *begin, nn_context **context)
{
    config_experiment *config = oct_alloc(2 * sizeof(*config)), *own = config + 1;
    policy_spec *spec = oct_alloc(sizeof(*spec));
    uint8_t *state = oct_alloc(begin->state_bytes);
    algo *a = NULL;
    group_broadcast(lg->members, config, sizeof(*config));
    group_broadcast(lg->members, spec, sizeof(*spec));
    group_broadcast(lg->members, state, begin->state_bytes);
    lg->is_asynchronous = config->learner.asynchronous;
    learner_group_config(lg, config, own);
    oct_reader reader = {.at = state, .left = begin->state_bytes};
    *context = context_make(config, learner_group_members(lg));
    if (*context != NULL && (algo_create(&a, *context, own, spec, config->run.seed) != OCT_OK ||
                             algo_load(a, &reader) != OCT_OK)) {
        oct_log_error("LEARNER-RANK", "the algorithm of rank 0 cannot be made here");
        algo_destroy(a);
        a = NULL;
    }
    if (a != NULL && lg->is_asynchronous) {
        async_begin(lg, config, spec, begin->T, a);
    } else if (a != NULL) {
        buffers_make(lg, config, spec, begin->T, a);
    }
    free(config);
    free(spec);
    free(state);
    return a;
}

static void
updates_serve(learner_group *lg, algo *a)
{
    float numbers[ALGO_NUMBERS_MAX];
    turn now;
    for (;;) {
        group_scatter(lg->members, NULL, lg->own, sizeof(turn) + lg->shape.part);
        memcpy(&now, lg->own, sizeof(now));
        if (now.kind == TURN_END) {
            return;
        }
        if (now.kind == TURN_SAVE) {
            (void)state_put(lg, a);
        } else {
            (void)part_learn(lg, a, &now, NULL,
                             numbers); // rank 0 meets the same error, and logs it
        }
    }
}

int
learner_group_serve(group *take)
{
    learner_group lg = {.members = take};
    turn begin;
    int exit_code = EXIT_SUCCESS;
    oct_log_notice("LEARNER-RANK", "learner %u of %u, process %d", group_rank(take),
                   group_size(take), (int)getpid());
    group_broadcast(take, &begin, sizeof(begin));
    if (begin.build != build_number()) {
        oct_log_error("LEARNER-RANK", "rank 0 does not run the same octet-learner as this process");
        exit_code = EXIT_APART;
    } else if (begin.kind == TURN_BEGIN) {
        nn_context *context = NULL;
        algo *a = algo_receive(&lg, &begin, &context);
        exit_code = a != NULL ? EXIT_SUCCESS : EXIT_APART;
        if (lg.async != NULL) {
            learner_async_serve(lg.async);
        } else if (a != NULL) {
            updates_serve(&lg, a);
        }
        algo_destroy(a);
        nn_context_destroy(context);
    }
    if (exit_code == EXIT_SUCCESS) {
        group_destroy(take); // otherwise rank 0 notices the closed connection
        learner_async_destroy(lg.async);
        buffers_free(&lg);
    }
    return exit_code;
}
