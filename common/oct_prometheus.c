// Builds a page in Prometheus' text format, and checks names, labels and values as they are added.
#include "common/oct_prometheus.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_text.h"

#define FAMILIES_MAX   256
#define SAMPLES_MAX    256  // of one family
#define NAME_BYTES_MAX 96   // of a name without its end
#define LINE_BYTES_MAX 4096 // a name, four escaped labels and a number

// The labels of a sample that is already in the text, for the search of duplicates.
typedef struct sample {
    size_t from; // offset in the text
    size_t length;
} sample;

struct oct_prometheus {
    char *text;                       // 0-terminated
    size_t used;                      // bytes, without the terminating zero
    size_t room;                      // bytes allocated
    const char *family[FAMILIES_MAX]; // names so far, borrowed
    size_t family_count;
    oct_prometheus_kind kind; // of the current family, as the next three
    const char *help;
    sample sample[SAMPLES_MAX];
    size_t sample_count;
};

oct_prometheus *
oct_prometheus_create(void)
{
    oct_prometheus *text = oct_alloc(sizeof(*text));
    text->room = 16384;
    text->text = oct_alloc(text->room);
    return text;
}

void
oct_prometheus_destroy(oct_prometheus *text)
{
    if (text != NULL) {
        free(text->text);
        free(text);
    }
}

const char *
oct_prometheus_text(const oct_prometheus *text, size_t *length)
{
    *length = text->used;
    return text->text;
}

// ---- names

// Letters, digits and underscores; upper case is legal but not used.
static bool
name_is_sound(const char *name, bool is_label)
{
    size_t length = strlen(name);
    if (length == 0 || length > NAME_BYTES_MAX || (is_label && strncmp(name, "__", 2) == 0)) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        bool is_letter = (c >= 'a' && c <= 'z') || c == '_';
        if (!is_letter && !(i > 0 && c >= '0' && c <= '9')) {
            return false;
        }
    }
    return true;
}

static bool
ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

void
oct_prometheus_begin(oct_prometheus *text, oct_prometheus_kind kind, const char *name,
                     const char *help)
{
    OCT_ASSERT(name_is_sound(name, false));
    OCT_ASSERT(ends_with(name, "_total") == (kind == OCT_PROMETHEUS_COUNTER));
    OCT_ASSERT(help[0] != '\0' && strlen(help) < LINE_BYTES_MAX / 4);
    OCT_ASSERT(text->family_count < FAMILIES_MAX);
    for (size_t i = 0; i < text->family_count; i++) {
        OCT_ASSERT(strcmp(text->family[i], name) != 0);
    }
    text->family[text->family_count++] = name;
    text->kind = kind;
    text->help = help;
    text->sample_count = 0;
}

// ---- text

// Escapes for the format: doubles backslashes, writes newlines as \n and, in label values, quotes
// as \".
static size_t
escape(char *out, const char *from, bool quotes)
{
    size_t used = 0;
    for (; *from != '\0'; from++) {
        if (*from == '\n') {
            out[used++] = '\\';
            out[used++] = 'n';
            continue;
        }
        if (*from == '\\' || (quotes && *from == '"')) {
            out[used++] = '\\';
        }
        out[used++] = *from;
    }
    return used;
}

// The format spells infinity in its own way.
static void
number_print(char out[32], double value)
{
    if (isinf(value)) {
        (void)snprintf(out, 32, value > 0 ? "+Inf" : "-Inf");
        return;
    }
    (void)oct_text_double(out, 32, value);
}

// Appends to the text. False: the page is full.
static bool
text_put(oct_prometheus *text, const char *line, size_t length)
{
    if (text->used + length + 1 > OCT_PROMETHEUS_BYTES_MAX) {
        return false;
    }
    if (text->used + length + 1 > text->room) {
        size_t room = OCT_MAX(2 * text->room, text->used + length + 1);
        char *grown = oct_alloc(room);
        memcpy(grown, text->text, text->used);
        free(text->text);
        text->text = grown;
        text->room = room;
    }
    memcpy(text->text + text->used, line, length);
    text->used += length;
    text->text[text->used] = '\0';
    return true;
}

// Prints {name="value",…}, or nothing if there are no labels.
static size_t
labels_print(char *out, const oct_prometheus_label *labels, size_t label_count)
{
    size_t used = 0;
    for (size_t i = 0; i < label_count; i++) {
        OCT_ASSERT(name_is_sound(labels[i].name, true));
        for (size_t k = 0; k < i; k++) {
            OCT_ASSERT(strcmp(labels[k].name, labels[i].name) != 0);
        }
        char value[OCT_PROMETHEUS_VALUE_MAX + 1];
        (void)oct_text_quote(value, sizeof(value), labels[i].value, strlen(labels[i].value));
        out[used++] = i == 0 ? '{' : ',';
        used += (size_t)snprintf(out + used, NAME_BYTES_MAX + 3, "%s=\"", labels[i].name);
        used += escape(out + used, value, true);
        out[used++] = '"';
    }
    if (label_count > 0) {
        out[used++] = '}';
    }
    return used;
}

static bool
is_double(const oct_prometheus *text, const char *labels, size_t length)
{
    for (size_t i = 0; i < text->sample_count; i++) {
        const sample *old = &text->sample[i];
        if (old->length == length && memcmp(text->text + old->from, labels, length) == 0) {
            return true;
        }
    }
    return false;
}

// HELP and TYPE are written with the first sample, so a family without samples leaves nothing.
static bool
header_put(oct_prometheus *text)
{
    char line[LINE_BYTES_MAX], help[LINE_BYTES_MAX / 2];
    const char *name = text->family[text->family_count - 1];
    help[escape(help, text->help, false)] = '\0';
    int length = snprintf(line, sizeof(line), "# HELP %s %s\n# TYPE %s %s\n", name, help, name,
                          text->kind == OCT_PROMETHEUS_COUNTER ? "counter" : "gauge");
    return text_put(text, line, (size_t)length);
}

void
oct_prometheus_add(oct_prometheus *text, const oct_prometheus_label *labels, size_t label_count,
                   double value)
{
    OCT_ASSERT(text->family_count > 0 && label_count <= OCT_PROMETHEUS_LABELS_MAX);
    char line[LINE_BYTES_MAX], label[LINE_BYTES_MAX / 2], number[32];
    size_t length = labels_print(label, labels, label_count);
    bool is_counter = text->kind == OCT_PROMETHEUS_COUNTER;
    if (isnan(value) || (is_counter && !(isfinite(value) && value >= 0)) ||
        text->sample_count == SAMPLES_MAX || is_double(text, label, length)) {
        return;
    }
    number_print(number, value);
    const char *name = text->family[text->family_count - 1];
    int written = snprintf(line, sizeof(line), "%s%.*s %s\n", name, (int)length, label, number);
    size_t before = text->used;
    if ((text->sample_count == 0 && !header_put(text)) || !text_put(text, line, (size_t)written)) {
        text->used = before; // a header without its sample is removed, too
        text->text[before] = '\0';
        return;
    }
    text->sample[text->sample_count++] = (sample){
        .from = text->used - (size_t)written + strlen(name),
        .length = length,
    };
}
