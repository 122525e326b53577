#ifndef COMMON_OCT_NUMBERS_H
#define COMMON_OCT_NUMBERS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/oct_prometheus.h"

// The numbers that a process tells about itself, each with its name, unit and meaning in one row.
// metrics.csv, TensorBoard, status, Prometheus and docs/reference.md are loops over the rows, in
// the order in which they were added.
//
// Threads: one at a time; values are read when a loop runs. Owns: copies of the rows; strings and
// what values are read from are borrowed and must stay.
typedef struct oct_numbers oct_numbers;

// Where a number is shown under its name; in Prometheus it is where family is not NULL.
#define OCT_SHOWN_CSV         1u
#define OCT_SHOWN_TENSORBOARD 2u
#define OCT_SHOWN_STATUS      4u
#define OCT_SHOWN_REPORT      8u  // an actor's report to the learner
#define OCT_SHOWN_EVALUATION  16u // an evaluator's, of an evaluation
#define OCT_SHOWN_PLAYING     32u // an evaluator's, while it plays one

typedef struct oct_number {
    const char *name;                // "env_steps"; in a status after the prefix of the process
    const char *unit;                // "steps", "s", "0 … 1"; "" for none
    const char *help;                // one plain sentence with its full stop
    unsigned shown;                  // OCT_SHOWN_…
    oct_prometheus_kind kind;        // a counter only grows while the process lives
    const char *family;              // in Prometheus; NULL: not there
    const char *label, *label_value; // of the sample, NULL: none. Families may have several rows
    const char *family_help;         // of a family of several rows, where it differs from help
    const char *over;                // a mean over the growth of that number; NULL: none
    double factor;                   // from the number to Prometheus' unit (seconds, bytes); 0: 1
    // The value: get(arg); without get a double, `at` bytes behind the base of oct_numbers_add_all
    // or, in oct_numbers_add, at arg. NaN: not measured.
    double (*get)(const void *arg);
    const void *arg;
    size_t at;
} oct_number;

// Rows of a table whose values are the doubles of a struct TYPE. A METRIC is in Prometheus, too, a
// SAMPLE with a label there; FAMILY_HELP may be NULL. A MEAN says what rows of metrics.csv are
// joined by when they get old (learner/learner_rows.h); all others keep the last value.
#define OCT_NUMBER_FIELDS(TYPE, KIND, NAME, UNIT, HELP, SHOWN, FIELD)                              \
    .kind = OCT_PROMETHEUS_##KIND, .name = NAME, .unit = UNIT, .help = HELP, .shown = SHOWN,       \
    .at = offsetof(TYPE, FIELD)
#define OCT_NUMBER(TYPE, KIND, NAME, UNIT, HELP, SHOWN, FIELD)                                     \
    {                                                                                              \
        OCT_NUMBER_FIELDS(TYPE, KIND, NAME, UNIT, HELP, SHOWN, FIELD)                              \
    }
#define OCT_NUMBER_MEAN(TYPE, NAME, UNIT, HELP, SHOWN, FIELD, OVER)                                \
    {                                                                                              \
        OCT_NUMBER_FIELDS(TYPE, GAUGE, NAME, UNIT, HELP, SHOWN, FIELD), .over = OVER               \
    }
#define OCT_NUMBER_METRIC(TYPE, KIND, NAME, UNIT, HELP, SHOWN, FIELD, FAMILY)                      \
    {                                                                                              \
        OCT_NUMBER_FIELDS(TYPE, KIND, NAME, UNIT, HELP, SHOWN, FIELD), .family = FAMILY            \
    }
#define OCT_NUMBER_SAMPLE(TYPE, KIND, NAME, UNIT, HELP, SHOWN, FIELD, FAMILY, LABEL, VALUE,        \
                          FAMILY_HELP)                                                             \
    {                                                                                              \
        OCT_NUMBER_FIELDS(TYPE, KIND, NAME, UNIT, HELP, SHOWN, FIELD),                             \
            .family = FAMILY, .label = LABEL, .label_value = VALUE, .family_help = FAMILY_HELP     \
    }

// prefix: before each name in a status, "learner.".
oct_numbers *oct_numbers_create(const char *prefix);
void oct_numbers_destroy(oct_numbers *numbers); // NULL is a no-op

// A name that is there already, a name of other characters than letters, digits, _ and ., or a
// family with two kinds is our own mistake and stops the program.
void oct_numbers_add(oct_numbers *numbers, const oct_number *row);
void oct_numbers_add_all(oct_numbers *numbers, const oct_number *rows, size_t count,
                         const void *base);

uint32_t oct_numbers_count(const oct_numbers *numbers);
const oct_number *oct_numbers_row(const oct_numbers *numbers, uint32_t i);
double oct_numbers_value(const oct_numbers *numbers, uint32_t i);
// The number of this name; NaN: there is none.
double oct_numbers_find(const oct_numbers *numbers, const char *name);

// Names (with the prefix for OCT_SHOWN_STATUS alone) and values of what is shown there, room at
// most; returns how many. values may be NULL. Names stay as long as numbers.
uint32_t oct_numbers_list(const oct_numbers *numbers, unsigned shown, const char **names,
                          double *values, uint32_t room);
void oct_numbers_prometheus(const oct_numbers *numbers, oct_prometheus *text);
// A line for each row, fields between tabs: prefix, name, unit, kind, where it is shown, family,
// label, label's value, help, over. tools/reference.py makes tables of them.
void oct_numbers_print(const oct_numbers *numbers, FILE *out);

#endif // COMMON_OCT_NUMBERS_H
