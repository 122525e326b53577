#ifndef LEARNER_LEARNER_EVAL_PARTS_H
#define LEARNER_LEARNER_EVAL_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/oct_metric.h"

// One evaluation being played: its episodes in parts, one for each evaluator that was there when it
// began, each with a seed of its own. A part that is lost (its evaluator died, or its environment
// hangs) goes to another evaluator with the same seed: no return is ever drawn anew.
//
// Threads: the loop thread. Owns: room for the answers. Time is given.

#define LEARNER_EVAL_PARTS_MAX 16u
// Seeds of environments are counted up from a part's: so many are its own.
#define LEARNER_EVAL_SEEDS 1000003u

typedef struct learner_eval_part {
    uint32_t first, count; // episodes
    uint64_t seed;
    bool answered;
    uint64_t ticket; // 0: nobody plays it
    uint32_t evaluator;
    uint64_t advanced_ns; // when it was given, or its calls last grew
    uint64_t calls;       // steps and resets, as the evaluator last reported
    uint32_t episodes_done;
    uint64_t failed, truncated; // as answered
} learner_eval_part;

// What an evaluator answers.
typedef struct learner_eval_answer {
    uint32_t episodes;
    const float *returns;      // [episodes]
    const uint32_t *lengths;   // [episodes]
    const oct_metric *metrics; // [OCT_METRICS_MAX] that the environment measured; NULL: not known
    uint64_t failed;           // further episodes, in which the environment failed
    uint64_t truncated;        // of the episodes, by evaluation.max_steps
} learner_eval_answer;

typedef struct learner_eval_parts {
    uint32_t episodes;
    uint32_t count; // 0: there is no evaluation
    learner_eval_part part[LEARNER_EVAL_PARTS_MAX];
    float *returns;                         // [episodes]
    uint32_t *lengths;                      // [episodes]
    oct_metric (*metrics)[OCT_METRICS_MAX]; // [LEARNER_EVAL_PARTS_MAX] of each part
} learner_eval_parts;

// episodes >= 1, wanted >= 1 parts. Part i has the seed seed_base + (number + i) *
// LEARNER_EVAL_SEEDS.
void learner_eval_parts_begin(learner_eval_parts *parts, uint32_t episodes, uint32_t wanted,
                              uint64_t seed_base, uint64_t number);
void learner_eval_parts_end(learner_eval_parts *parts); // also when there is none
// The part that nobody plays and nobody has answered; NULL: none.
learner_eval_part *learner_eval_parts_open(learner_eval_parts *parts);
void learner_eval_part_give(learner_eval_part *part, uint64_t ticket, uint32_t evaluator,
                            uint64_t now_ns);
// Takes a part's episodes: part->count of them.
void learner_eval_parts_answer(learner_eval_parts *parts, learner_eval_part *part,
                               const learner_eval_answer *answer);
// What was measured in all parts together, in their order whoever answered first.
void learner_eval_parts_metrics(const learner_eval_parts *parts, oct_metric out[OCT_METRICS_MAX]);
// Sums over the parts of what learner_eval_answer has by these names.
void learner_eval_parts_counts(const learner_eval_parts *parts, uint64_t *failed,
                               uint64_t *truncated);
bool learner_eval_parts_complete(const learner_eval_parts *parts);
uint32_t learner_eval_parts_done(const learner_eval_parts *parts); // episodes, as far as is known

#endif // LEARNER_LEARNER_EVAL_PARTS_H
