#ifndef COMMON_OCT_PROMETHEUS_H
#define COMMON_OCT_PROMETHEUS_H

#include <stddef.h>
#include <stdint.h>

// Writes numbers in Prometheus' text format 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats/), and cannot write anything that
// breaks it: a family has one HELP and TYPE and all its samples together; label values and help are
// escaped; bytes that are not UTF-8 become '?'. A violation that only this program can cause stops
// it: an invalid name, a counter without _total or a gauge with it, a family that begins twice, a
// missing help. What outside data can cause is left out instead: a second sample with the same
// labels, NaN (not measured), a counter that is infinite or below 0. A family without samples is
// not written.
//
// Threads: one user at a time. Owns: its text. Cost: linear in the samples of a family to write
// them, quadratic to find duplicates (a family has some tens of samples at most).
// Full: at OCT_PROMETHEUS_BYTES_MAX; further samples are left out.
typedef struct oct_prometheus oct_prometheus;

#define OCT_PROMETHEUS_BYTES_MAX  (1u << 20)
#define OCT_PROMETHEUS_LABELS_MAX 4
#define OCT_PROMETHEUS_VALUE_MAX  128 // bytes of a label's value; longer ones are cut

// The content type of the text.
#define OCT_PROMETHEUS_TYPE "text/plain; version=0.0.4; charset=utf-8"

typedef enum oct_prometheus_kind {
    OCT_PROMETHEUS_COUNTER,
    OCT_PROMETHEUS_GAUGE
} oct_prometheus_kind;

typedef struct oct_prometheus_label {
    const char *name;
    const char *value;
} oct_prometheus_label;

oct_prometheus *oct_prometheus_create(void);
void oct_prometheus_destroy(oct_prometheus *text); // NULL is a no-op

// Begins a family, which the following samples belong to. name and help are static strings.
void oct_prometheus_begin(oct_prometheus *text, oct_prometheus_kind kind, const char *name,
                          const char *help);
void oct_prometheus_add(oct_prometheus *text, const oct_prometheus_label *labels,
                        size_t label_count, double value);

// Returns the text so far, 0-terminated and never NULL; borrowed until the next call.
const char *oct_prometheus_text(const oct_prometheus *text, size_t *length);

#endif // COMMON_OCT_PROMETHEUS_H
