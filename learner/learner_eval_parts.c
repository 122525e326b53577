// Splits the episodes of one evaluation among evaluators, and merges the answers.
#include "learner/learner_eval_parts.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

learner_eval_parts
learner_eval_parts_empty(uint32_t episodes)
{
    return (learner_eval_parts){
        .episodes = episodes,
        .returns = oct_alloc(episodes * sizeof(float)),
        .lengths = oct_alloc(episodes * sizeof(uint32_t)),
        .metrics = oct_alloc(LEARNER_EVAL_PARTS_MAX * sizeof(oct_metric[OCT_METRICS_MAX])),
    };
}

void
learner_eval_parts_begin(learner_eval_parts *parts, uint32_t episodes, uint32_t wanted,
                         uint64_t seed_base, uint64_t number)
{
    OCT_ASSERT(episodes > 0 && wanted > 0);
    uint32_t most = OCT_MIN(OCT_MIN(wanted, episodes), LEARNER_EVAL_PARTS_MAX);
    uint32_t each = (episodes + most - 1) / most;
    *parts = learner_eval_parts_empty(episodes);
    parts->count = (episodes + each - 1) / each;
    for (uint32_t i = 0; i < parts->count; i++) {
        parts->part[i] = (learner_eval_part){
            .first = i * each,
            .count = OCT_MIN(each, episodes - i * each),
            .seed = seed_base + (number + i) * LEARNER_EVAL_SEEDS,
        };
    }
}

void
learner_eval_parts_end(learner_eval_parts *parts)
{
    free(parts->returns);
    free(parts->lengths);
    free(parts->metrics);
    *parts = (learner_eval_parts){0};
}

learner_eval_part *
learner_eval_parts_open(learner_eval_parts *parts)
{
    for (uint32_t i = 0; i < parts->count; i++) {
        learner_eval_part *part = &parts->part[i];
        if (part->ticket == 0 && !part->answered) {
            return part;
        }
    }
    return NULL;
}

void
learner_eval_part_give(learner_eval_part *part, uint64_t ticket, uint32_t evaluator,
                       uint64_t now_ns)
{
    part->ticket = ticket;
    part->evaluator = evaluator;
    part->advanced_ns = now_ns;
    part->calls = 0;
    part->episodes_done = 0;
}

void
learner_eval_parts_answer(learner_eval_parts *parts, learner_eval_part *part,
                          const learner_eval_answer *answer)
{
    if (answer->metrics != NULL) {
        memcpy(parts->metrics[part - parts->part], answer->metrics, sizeof(*parts->metrics));
    }
    memcpy(parts->returns + part->first, answer->returns, part->count * sizeof(*parts->returns));
    memcpy(parts->lengths + part->first, answer->lengths, part->count * sizeof(*parts->lengths));
    part->failed = answer->failed;
    part->truncated = OCT_MIN(answer->truncated, part->count);
    part->answered = true;
    part->ticket = 0;
    part->episodes_done = part->count;
}

void
learner_eval_parts_metrics(const learner_eval_parts *parts, oct_metric out[OCT_METRICS_MAX])
{
    for (uint32_t i = 0; i < parts->count; i++) {
        for (int k = 0; k < OCT_METRICS_MAX; k++) {
            oct_metric_join(&out[k], &parts->metrics[i][k]);
        }
    }
}

void
learner_eval_parts_counts(const learner_eval_parts *parts, uint64_t *failed, uint64_t *truncated)
{
    *failed = *truncated = 0;
    for (uint32_t i = 0; i < parts->count; i++) {
        *failed += parts->part[i].failed;
        *truncated += parts->part[i].truncated;
    }
}

bool
learner_eval_parts_complete(const learner_eval_parts *parts)
{
    for (uint32_t i = 0; i < parts->count; i++) {
        if (!parts->part[i].answered) {
            return false;
        }
    }
    return true;
}

uint32_t
learner_eval_parts_done(const learner_eval_parts *parts)
{
    uint32_t done = 0;
    for (uint32_t i = 0; i < parts->count; i++) {
        done += parts->part[i].episodes_done;
    }
    return done;
}
