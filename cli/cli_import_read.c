// Recognises models by their content, and reads those that are not ONNX through octet_import.py.
#include "cli/cli_import_read.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/cli_python.h"
#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"

#define PROGRAM      "octet_import/octet_import.py"
#define ANSWER_MAX   ((size_t)300 << 20) // bytes of an answer
#define ANSWER_FIRST ((size_t)1 << 16)   // first size of the buffer; it doubles
#define HEAD_BYTES   256                 // from which the kind of a file is recognised

// ---- which kind of file

// LFS: a pointer of Git LFS; PAGE: a web page
typedef enum file_kind { KIND_ONNX, KIND_PYTHON, KIND_LFS, KIND_PAGE, KIND_EMPTY } file_kind;

static bool
has_suffix(const char *path, const char *suffix)
{
    size_t length = strlen(path), end = strlen(suffix);
    return length > end && strcasecmp(path + length - end, suffix) == 0;
}

// A zip archive, or a pickle of protocol 2 to 5. An ONNX model begins with the tag of one of its
// fields.
bool
cli_import_is_python(const uint8_t *head, size_t length)
{
    return length >= 2 &&
           (memcmp(head, "PK", 2) == 0 || (head[0] == 0x80 && head[1] >= 2 && head[1] <= 5));
}

// Finds the kind of a file. head[length]: its beginning, followed by a zero byte.
static file_kind
kind_of(const char *path, const char *head, size_t length)
{
    static const char *const suffixes[] = {".zip",  ".pt",      ".pth",         ".pkl", ".pickle",
                                           ".ckpt", ".msgpack", ".safetensors", ".h5",  ".tflite"};
    const char *text = head;
    while (isspace((unsigned char)*text)) {
        text++;
    }
    if (length == 0) {
        return KIND_EMPTY;
    }
    if (strncmp(head, "version https://git-lfs", 23) == 0) {
        return KIND_LFS;
    }
    if (strncasecmp(text, "<!doctype", 9) == 0 || strncasecmp(text, "<html", 5) == 0) {
        return KIND_PAGE;
    }
    if (cli_import_is_python((const uint8_t *)head, length)) {
        return KIND_PYTHON;
    }
    for (size_t i = 0; i < OCT_COUNTOF(suffixes); i++) {
        if (has_suffix(path, suffixes[i])) {
            return KIND_PYTHON;
        }
    }
    return KIND_ONNX;
}

// Reads the beginning of a file, followed by a zero byte.
static oct_err
head_read(char head[HEAD_BYTES + 1], size_t *length, const char *path, oct_reason *why)
{
    memset(head, 0, HEAD_BYTES + 1);
    FILE *file = oct_file_stream(path, "r");
    *length = file != NULL ? fread(head, 1, HEAD_BYTES, file) : 0;
    int code = file == NULL || ferror(file) ? errno : 0;
    if (file != NULL) {
        (void)fclose(file);
    }
    if (code != 0) {
        (void)oct_refuse(
            why, "%s", code == EISDIR ? "a folder; name the file in it" : oct_file_strerror(code));
        return code == ENOENT ? OCT_ENOTFOUND : OCT_EIO;
    }
    return OCT_OK;
}

static oct_err
kind_find(file_kind *out, const char *path, oct_reason *why)
{
    char head[HEAD_BYTES + 1];
    size_t length;
    OCT_TRY(head_read(head, &length, path, why));
    *out = kind_of(path, head, length);
    switch (*out) {
    case KIND_EMPTY:
        return oct_refuse(why, "an empty file; was the download complete?");
    case KIND_LFS:
        return oct_refuse(why,
                          "a pointer of Git LFS, not the file itself; 'git lfs pull' fetches it");
    case KIND_PAGE:
        return oct_refuse(why, "a web page, not a model; download the file that the page offers");
    default:
        return OCT_OK;
    }
}

// ---- the answer of octet_import.py

// Takes one line "NAME VALUE" of the answer. False: it is the last one, and *model_bytes is set; or
// it is an error, which is in reason.
static bool
line_take(cli_import_source *out, cli_import_options *options, char *name, size_t *model_bytes,
          oct_reason *why)
{
    char *space = strchr(name, ' ');
    char *value = space != NULL ? space + 1 : name + strlen(name);
    if (space != NULL) {
        *space = '\0';
    }
    if (strcmp(name, "error") == 0) {
        (void)oct_refuse(why, "%s", value);
        return false;
    }
    if (strcmp(name, "model") == 0) {
        *model_bytes = strtoul(value, NULL, 10);
        return false;
    }
    if (strcmp(name, "note") != 0) {
        cli_import_options_imply(options, name, value);
    } else if (out->note_count < CLI_IMPORT_NOTES_MAX) {
        out->notes[out->note_count++] = value;
    }
    return true;
}

// Reads the lines of the answer, and decodes the ONNX model that follows them.
static oct_err
answer_take(cli_import_source *out, cli_import_options *options, size_t length, oct_reason *why)
{
    char *at = out->answer, *end = out->answer + length;
    size_t model_bytes = 0;
    why->text[0] = '\0';
    for (;;) {
        char *line_end = memchr(at, '\n', (size_t)(end - at));
        if (line_end == NULL) {
            break;
        }
        char *line = at;
        *line_end = '\0';
        at = line_end + 1;
        if (!line_take(out, options, line, &model_bytes, why)) {
            break;
        }
    }
    if (why->text[0] != '\0') {
        return OCT_EINVAL;
    }
    if (model_bytes == 0 || model_bytes != (size_t)(end - at)) {
        return oct_fail(why, OCT_EIO, "its reader " PROGRAM " ended without an answer");
    }
    return import_model_decode(&out->model, (const uint8_t *)at, model_bytes, NULL, why);
}

// Returns a larger copy of bytes[used], and frees bytes.
static char *
grown(char *bytes, size_t used, size_t room)
{
    char *larger = oct_alloc(room + 1);
    memcpy(larger, bytes, used);
    free(bytes);
    return larger;
}

// Reads the socket to its end. The caller frees *answer, also after an error.
static oct_err
answer_read(char **answer, size_t *length, int socket, oct_reason *why)
{
    size_t room = ANSWER_FIRST;
    *answer = oct_alloc(room + 1);
    *length = 0;
    for (;;) {
        if (*length == room) {
            room *= 2;
            *answer = grown(*answer, *length, room);
        }
        ssize_t got = read(socket, *answer + *length, room - *length);
        if (got == 0) {
            (*answer)[*length] = '\0';
            return OCT_OK;
        }
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 || *length + (size_t)got > ANSWER_MAX) {
            return oct_fail(why, OCT_EIO, "cannot read the answer of " PROGRAM);
        }
        *length += (size_t)got;
    }
}

static oct_err
program_run(char **answer, size_t *length, const char *const *arguments, oct_reason *why)
{
    cli_python python;
    OCT_TRY(cli_python_start(&python, PROGRAM, arguments, why));
    oct_err err = answer_read(answer, length, python.socket, why);
    cli_python_stop(&python);
    return err;
}

// Runs octet_import.py on the model. "--" separates its options from a path that may begin with
// "-".
static oct_err
python_read(cli_import_source *out, cli_import_options *options, oct_reason *why)
{
    const char *arguments[6];
    size_t count = 0, length = 0;
    if (options->activation != NULL) {
        arguments[count++] = "--activation";
        arguments[count++] = options->activation;
    }
    if (options->normalizer != NULL) {
        arguments[count++] = "--no-normalizer";
    }
    arguments[count++] = "--";
    arguments[count++] = options->model;
    arguments[count] = NULL;
    OCT_TRY(program_run(&out->answer, &length, arguments, why));
    return answer_take(out, options, length, why);
}

oct_err
cli_import_read_part(char **answer, size_t *length, cli_import_part part, const char *path,
                     oct_reason *why)
{
    static const char json[] = "normaliser ", error[] = "error ";
    const char *mode = part == CLI_IMPORT_NORMALISER ? "--normaliser" : "--observations";
    const char *arguments[] = {mode, "--", path, NULL};
    *answer = NULL;
    oct_err err = program_run(answer, length, arguments, why);
    if (err == OCT_OK && strncmp(*answer, json, strlen(json)) == 0) {
        *length -= strlen(json);
        memmove(*answer, *answer + strlen(json), *length + 1);
    } else if (err == OCT_OK && strncmp(*answer, "array ", 6) != 0) {
        (*answer)[strcspn(*answer, "\n")] = '\0';
        bool is_error = strncmp(*answer, error, strlen(error)) == 0;
        err = oct_refuse(why, "%s",
                         is_error ? *answer + strlen(error)
                                  : "its reader " PROGRAM " ended without an answer");
    }
    if (err != OCT_OK) {
        free(*answer);
        *answer = NULL;
    }
    return err;
}

bool
cli_import_array_next(char **left, size_t *left_length, const char **name, const uint8_t **bytes,
                      size_t *length)
{
    char *end = memchr(*left, '\n', *left_length), *at = *left;
    if (end == NULL || strncmp(at, "array ", 6) != 0) {
        return false;
    }
    *end = '\0';
    *length = strtoul(at + 6, &at, 10);
    *name = at + (*at == ' ');
    size_t used = (size_t)(end + 1 - *left);
    if (*length > *left_length - used) {
        return false;
    }
    *bytes = (const uint8_t *)end + 1;
    *left += used + *length;
    *left_length -= used + *length;
    return true;
}

oct_err
cli_import_read_observations(import_npy *out, const char *path, oct_reason *why)
{
    char head[HEAD_BYTES + 1], *answer;
    size_t length, array_length;
    const char *name;
    const uint8_t *array;
    OCT_TRY(head_read(head, &length, path, why));
    if (!cli_import_is_python((const uint8_t *)head, length)) {
        return import_npy_load(out, path, why);
    }
    OCT_TRY(cli_import_read_part(&answer, &length, CLI_IMPORT_OBSERVATIONS, path, why));
    char *left = answer;
    oct_err err = cli_import_array_next(&left, &length, &name, &array, &array_length)
                      ? import_npy_decode(out, array, array_length, why)
                      : oct_refuse(why, "the answer of " PROGRAM " is cut off");
    free(answer);
    return err;
}

// ---- both kinds

oct_err
cli_import_read(cli_import_source *out, cli_import_options *options, oct_reason *why)
{
    *out = (cli_import_source){0};
    file_kind kind = KIND_ONNX;
    OCT_TRY(kind_find(&kind, options->model, why));
    if (kind == KIND_PYTHON) {
        return python_read(out, options, why);
    }
    if (options->activation != NULL) {
        return oct_refuse(why, "--activation is for files of PyTorch; an ONNX model contains its "
                               "activations");
    }
    return import_model_load(&out->model, options->model, why);
}

void
cli_import_source_free(cli_import_source *source)
{
    import_model_destroy(source->model);
    free(source->answer);
}
