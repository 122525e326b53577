#ifndef COMMON_OCT_NUMBERS_H
#define COMMON_OCT_NUMBERS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/oct_prometheus.h"

// A registry of the numbers that a process publishes. Each has one row with its name, unit and
// meaning; metrics.csv, TensorBoard, status, Prometheus and docs/reference.md are loops over the
// rows, in the order in which they were added.
//
// Threads: one at a time; a value is read when a loop reaches its row. Owns: copies of the rows.
// Strings, and the memory that values are read from, are borrowed and must outlive the registry.
typedef struct oct_numbers oct_numbers;

// Where a number is shown under its name. Prometheus has no flag: a number is there if it has a
// family.
#define OCT_SHOWN_CSV         1u
#define OCT_SHOWN_TENSORBOARD 2u
#define OCT_SHOWN_STATUS      4u
#define OCT_SHOWN_REPORT      8u  // in an actor's report to the learner
#define OCT_SHOWN_EVALUATION  16u // in an evaluator's report, about an evaluation that ended
#define OCT_SHOWN_PLAYING     32u // in an evaluator's report, while an evaluation runs

typedef struct oct_number {
    const char *name;         // "env_steps"; in a status after the prefix of the process
    const char *unit;         // "steps", "s", "0 … 1"; "" for none
    const char *help;         // one plain sentence with its full stop
    unsigned shown;           // OCT_SHOWN_…
    oct_prometheus_kind kind; // a counter only grows while the process lives
    const char *family;       // name in Prometheus; NULL: the number is not there
    // label of the sample; NULL: none. Several rows may share a family
    const char *label, *label_value;
    const char *family_help; // help of a family with several rows, if it differs from help
    const char *over;        // the counter whose growth weighs this mean; NULL: this is no mean
    double factor; // by which the number is multiplied for Prometheus (seconds, bytes); 0: 1
    // The value is get(arg). Without get, it is the double that is `at` bytes after arg or, with
    // oct_numbers_add_all, after base. NaN: not measured.
    double (*get)(const void *arg);
    const void *arg;
    size_t at;
} oct_number;

// Make a row whose value is a double in a struct TYPE. A METRIC is in Prometheus, too, and a SAMPLE
// has a label there; FAMILY_HELP may be NULL. A MEAN names the counter that weighs it when old rows
// of metrics.csv are merged (oct_csv.h); any other number keeps its latest value.
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

// prefix: what names begin with in a status, such as "learner.".
oct_numbers *oct_numbers_create(const char *prefix);
void oct_numbers_destroy(oct_numbers *numbers); // NULL is a no-op

// Adds one row, or a table of them. A name that exists already, a name with characters other than
// letters, digits, _ and ., and a family with two kinds are mistakes of this program and stop it.
void oct_numbers_add(oct_numbers *numbers, const oct_number *row);
void oct_numbers_add_all(oct_numbers *numbers, const oct_number *rows, size_t count,
                         const void *base);

uint32_t oct_numbers_count(const oct_numbers *numbers);
const oct_number *oct_numbers_row(const oct_numbers *numbers, uint32_t i);
// Returns the value of the number of that name; NaN: there is none.
double oct_numbers_find(const oct_numbers *numbers, const char *name);

// Lists the names and values of the numbers that are shown there, at most `room`, and returns how
// many. Only with OCT_SHOWN_STATUS do names have the prefix. values may be NULL. Names live as long
// as the registry.
uint32_t oct_numbers_list(const oct_numbers *numbers, unsigned shown, const char **names,
                          double *values, uint32_t room);
void oct_numbers_prometheus(const oct_numbers *numbers, oct_prometheus *text);
// Prints a line for each row, with tabs between the fields: prefix, name, unit, kind, where it is
// shown, family, label, value of the label, help, over. tools/reference.py makes tables of them.
void oct_numbers_print(const oct_numbers *numbers, FILE *out);

#endif // COMMON_OCT_NUMBERS_H
