// Reads the means and deviations of observations from files of NumPy or JSON, or through Python.
#include "cli/cli_import_normaliser.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_import_read.h"
#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "policy/import/import_npy.h"

#define PATH_BYTES 4096

// Numbers that are given under a name. numbers NULL: they are not given.
typedef struct list {
    double *numbers;
    size_t count;
} list;

typedef enum part { MEAN, STD, VAR, EPSILON, CLIP, PARTS } part;

static const char *const names[PARTS] = {
    [MEAN] = "mean", [STD] = "std", [VAR] = "var", [EPSILON] = "epsilon", [CLIP] = "clip"};

typedef struct parts {
    list of[PARTS];
    char *note;
    size_t note_size;
    oct_reason *why;
} parts;

#define REFUSE(p, ...) (oct_refuse((p)->why, __VA_ARGS__) == OCT_OK)

// Room for one number at least, because an allocation of no bytes is not possible.
static list
list_make(size_t count)
{
    return (list){.numbers = oct_alloc(OCT_MAX(count, (size_t)1) * sizeof(double)), .count = count};
}

static list
list_of_array(const float *numbers, size_t count)
{
    list made = list_make(count);
    for (size_t i = 0; i < count; i++) {
        made.numbers[i] = (double)numbers[i];
    }
    return made;
}

// ---- files of NumPy

// Reads an array of two rows, or (is_pair) of one part.
static bool
npy_read(parts *p, const uint8_t *bytes, size_t length, part one, bool is_pair)
{
    import_npy npy;
    if (import_npy_decode(&npy, bytes, length, p->why) != OCT_OK) {
        return false;
    }
    bool is_fit = is_pair || npy.rows == 2;
    size_t count = (size_t)npy.rows * npy.width;
    if (is_pair) {
        p->of[one] = list_of_array(npy.numbers, count);
    } else if (is_fit) {
        p->of[MEAN] = list_of_array(npy.numbers, npy.width);
        p->of[STD] = list_of_array(npy.numbers + npy.width, npy.width);
    }
    import_npy_free(&npy);
    return is_fit || REFUSE(p, "its array does not have two rows, the means and the deviations; "
                               "name two files, MEAN.npy,STD.npy, or one of numpy.savez");
}

// ---- JSON

// A number stands for a list of one.
static bool
json_part_read(parts *p, part at, const json_t *value)
{
    size_t count = json_is_array(value) ? json_array_size(value) : 1;
    p->of[at] = list_make(count);
    for (size_t i = 0; i < count; i++) {
        const json_t *number = json_is_array(value) ? json_array_get(value, i) : value;
        if (!json_is_number(number)) {
            return REFUSE(p, "%s is not a list of numbers", names[at]);
        }
        p->of[at].numbers[i] = json_number_value(number);
    }
    return true;
}

// Reads an object with some of the names; others are ignored. "note" is a text of octet_import.py
// about what policies leave out.
static bool
json_read(parts *p, const uint8_t *bytes, size_t length)
{
    json_error_t error;
    json_t *root = json_loadb((const char *)bytes, length, 0, &error);
    bool is_read = json_is_object(root);
    if (!is_read) {
        char quoted[128];
        (void)REFUSE(p,
                     "neither an array of NumPy (.npy, .npz) nor a JSON object with mean and "
                     "std: %s",
                     root != NULL ? "it is not an object"
                                  : oct_text_quote(quoted, sizeof(quoted), error.text,
                                                   strnlen(error.text, sizeof(error.text))));
    }
    for (size_t i = 0; is_read && i < PARTS; i++) {
        const json_t *value = json_object_get(root, names[i]);
        is_read = value == NULL || json_part_read(p, (part)i, value);
    }
    const char *note = json_string_value(json_object_get(root, "note"));
    if (note != NULL) {
        (void)snprintf(p->note, p->note_size, "%s", note);
    }
    json_decref(root);
    return is_read;
}

// ---- files

// Takes the arrays of an .npz file by their names; others are ignored.
static bool
arrays_read(parts *p, char *answer, size_t length)
{
    const char *name;
    const uint8_t *bytes;
    size_t count;
    while (cli_import_array_next(&answer, &length, &name, &bytes, &count)) {
        for (part at = 0; at < PARTS; at++) {
            if (strcmp(name, names[at]) == 0 && !npy_read(p, bytes, count, at, true)) {
                return false;
            }
        }
    }
    return true;
}

// Reads a pickle, or a zip archive of PyTorch or NumPy.
static bool
python_read(parts *p, const char *path)
{
    char *answer;
    size_t length;
    if (cli_import_read_part(&answer, &length, CLI_IMPORT_NORMALISER, path, p->why) != OCT_OK) {
        return false;
    }
    bool is_read = answer[0] == '{' ? json_read(p, (const uint8_t *)answer, length)
                                    : arrays_read(p, answer, length);
    free(answer);
    return is_read;
}

// Reads a file by its content, whatever its name is. one, is_pair: as in npy_read.
static bool
file_read(parts *p, const char *path, part one, bool is_pair)
{
    uint8_t *bytes;
    size_t length;
    oct_err err = oct_file_read(path, IMPORT_NPY_BYTES_MAX, &bytes, &length);
    if (err != OCT_OK) {
        return REFUSE(p, "%s", err == OCT_EINVAL ? "more than 256 MiB" : oct_file_strerror(errno));
    }
    bool is_array = length > 0 && bytes[0] == 0x93; // the first byte of a .npy file
    bool is_read = is_array                              ? npy_read(p, bytes, length, one, is_pair)
                   : cli_import_is_python(bytes, length) ? python_read(p, path)
                                                         : json_read(p, bytes, length);
    free(bytes);
    return is_read;
}

// Reads "MEAN.npy,STD.npy", unless a file has this whole name.
static bool
files_read(parts *p, const char *path)
{
    char first[PATH_BYTES];
    const char *comma = strchr(path, ',');
    if (comma == NULL || access(path, F_OK) == 0) {
        return file_read(p, path, MEAN, false);
    }
    (void)snprintf(first, sizeof(first), "%.*s", (int)(comma - path), path);
    return file_read(p, first, MEAN, true) && file_read(p, comma + 1, STD, true);
}

// A list of one number applies to all.
static double
number_of(const list *of, size_t i, double otherwise)
{
    return of->numbers == NULL ? otherwise : of->numbers[of->count == 1 ? 0 : i];
}

// Checks that there are as many means as deviations, and that epsilon and clip are single numbers.
static bool
parts_check(parts *p)
{
    const list *mean = &p->of[MEAN], *spread = &p->of[p->of[STD].numbers != NULL ? STD : VAR];
    if (mean->numbers == NULL || spread->numbers == NULL) {
        return REFUSE(p, "it has no %s; expected are mean, and std or var",
                      mean->numbers == NULL ? "mean" : "std or var");
    }
    if (mean->count == 0 || mean->count > IMPORT_WIDTH_MAX || mean->count != spread->count) {
        return REFUSE(p,
                      "it has %zu mean%s and %zu deviation%s; allowed are as many of each, 1 .. %d",
                      mean->count, oct_text_plural((double)mean->count), spread->count,
                      oct_text_plural((double)spread->count), IMPORT_WIDTH_MAX);
    }
    for (size_t i = 0; i < 2; i++) {
        const list *one = &p->of[i == 0 ? EPSILON : CLIP];
        if (one->numbers != NULL && (one->count != 1 || !(one->numbers[0] >= 0.0))) {
            return REFUSE(p, "%s is not a number of 0 or above", names[i == 0 ? EPSILON : CLIP]);
        }
    }
    return true;
}

// Computes the deviations, which must be above 0.
static bool
parts_take(parts *p, import_normaliser *out)
{
    double epsilon = number_of(&p->of[EPSILON], 0, 0.0), clip = number_of(&p->of[CLIP], 0, 0.0);
    out->count = (uint32_t)p->of[MEAN].count;
    out->mean = oct_alloc(out->count * sizeof(double));
    out->deviation = oct_alloc(out->count * sizeof(double));
    out->clip = isfinite(clip) ? clip : 0.0;
    for (uint32_t i = 0; i < out->count; i++) {
        out->mean[i] = p->of[MEAN].numbers[i];
        out->deviation[i] = p->of[STD].numbers != NULL ? p->of[STD].numbers[i] + epsilon
                                                       : sqrt(p->of[VAR].numbers[i] + epsilon);
        if (!isfinite(out->mean[i]) || !isfinite(out->deviation[i]) || !(out->deviation[i] > 0.0)) {
            return REFUSE(p,
                          "number %u has the mean %g and the deviation %g; allowed are finite "
                          "numbers, and deviations above 0",
                          i + 1, out->mean[i], out->deviation[i]);
        }
    }
    return true;
}

bool
cli_import_normaliser_load(import_normaliser *out, char *note, size_t note_size, const char *path,
                           oct_reason *why)
{
    *out = (import_normaliser){0};
    note[0] = '\0';
    parts p = {.note = note, .note_size = note_size, .why = why};
    bool is_read = files_read(&p, path) && parts_check(&p) && parts_take(&p, out);
    for (size_t i = 0; i < PARTS; i++) {
        free(p.of[i].numbers);
    }
    return is_read;
}

void
cli_import_normaliser_free(import_normaliser *normaliser)
{
    free(normaliser->mean);
    free(normaliser->deviation);
    *normaliser = (import_normaliser){0};
}
