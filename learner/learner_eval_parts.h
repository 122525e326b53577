#ifndef LEARNER_LEARNER_EVAL_PARTS_H
#define LEARNER_LEARNER_EVAL_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/oct_metric.h"

// One evaluation in progress. Its episodes are split into parts, one for each evaluator that was
// registered when the evaluation began, and each part has its own seed. A part that is lost (its
// evaluator died, or its environment hangs) goes to another evaluator with the same seed, so that
// no crash changes a return.
//
// Threads: the loop thread. Owns: the memory for the answers. The caller passes the time.

#define LEARNER_EVAL_PARTS_MAX 16u
// Distance of the seeds of two parts: an evaluator counts up from its part's seed.
#define LEARNER_EVAL_SEEDS 1000003u

typedef struct learner_eval_part {
    uint32_t first, count; // the episodes [first, first + count) of the evaluation
    uint64_t seed;
    bool answered;
    uint64_t ticket; // 0: no evaluator plays the part
    uint32_t evaluator;
    uint64_t advanced_ns; // when the part was given, or calls last grew
    uint64_t calls;       // steps and resets, as the evaluator last reported them
    uint32_t episodes_done;
    uint64_t failed, truncated; // from the answer
} learner_eval_part;

// The answer of an evaluator.
typedef struct learner_eval_answer {
    uint32_t episodes;
    const float *returns;      // [episodes]
    const uint32_t *lengths;   // [episodes]
    const oct_metric *metrics; // [OCT_METRICS_MAX] measured by the environment; NULL: not known
    uint64_t failed;           // further episodes in which the environment failed
    uint64_t truncated;        // number of the episodes that evaluation.max_steps ended
} learner_eval_answer;

typedef struct learner_eval_parts {
    uint32_t episodes;
    uint32_t count; // 0: there is no evaluation
    learner_eval_part part[LEARNER_EVAL_PARTS_MAX];
    float *returns;                         // [episodes]
    uint32_t *lengths;                      // [episodes]
    oct_metric (*metrics)[OCT_METRICS_MAX]; // [LEARNER_EVAL_PARTS_MAX], one for each part
} learner_eval_parts;

// Makes the memory for an evaluation of at least one episode, without parts.
learner_eval_parts learner_eval_parts_empty(uint32_t episodes);
// Begins an evaluation of at least one episode in at most wanted parts, wanted >= 1. Part i has the
// seed seed_base + (number + i) * LEARNER_EVAL_SEEDS.
void learner_eval_parts_begin(learner_eval_parts *parts, uint32_t episodes, uint32_t wanted,
                              uint64_t seed_base, uint64_t number);
void learner_eval_parts_end(learner_eval_parts *parts); // parts may be empty
// Returns a part that is neither played nor answered, or NULL if there is none.
learner_eval_part *learner_eval_parts_open(learner_eval_parts *parts);
// Records that the evaluator plays the part, without progress so far.
void learner_eval_part_give(learner_eval_part *part, uint64_t ticket, uint32_t evaluator,
                            uint64_t now_ns);
// Takes the answer of a part. answer->episodes is part->count.
void learner_eval_parts_answer(learner_eval_parts *parts, learner_eval_part *part,
                               const learner_eval_answer *answer);
// Merges the metrics of all parts, in the order of the parts, so that the order of the answers does
// not change the bits.
void learner_eval_parts_metrics(const learner_eval_parts *parts, oct_metric out[OCT_METRICS_MAX]);
// Sums failed and truncated of all answers.
void learner_eval_parts_counts(const learner_eval_parts *parts, uint64_t *failed,
                               uint64_t *truncated);
bool learner_eval_parts_complete(const learner_eval_parts *parts);
uint32_t learner_eval_parts_done(const learner_eval_parts *parts); // episodes known to be played

#endif // LEARNER_LEARNER_EVAL_PARTS_H
