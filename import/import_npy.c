// Reads an array of NumPy: a line of Python with its type, order and shape, then the numbers.
#include "import/import_npy.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_bytes.h"
#include "common/oct_file.h"
#include "common/oct_text.h"

#define HEADER_MAX 4096

static const uint8_t magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

#define REFUSE(reason, size, ...) (snprintf((reason), (size), __VA_ARGS__), OCT_EPROTO)

// Behind "'key':" and blanks in a header, or NULL.
static const char *
header_value(const char *header, const char *key)
{
    char quoted[32];
    (void)snprintf(quoted, sizeof(quoted), "'%s':", key);
    const char *at = strstr(header, quoted);
    if (at == NULL) {
        return NULL;
    }
    at += strlen(quoted);
    return at + strspn(at, " ");
}

// "(1000, 8)". False: no such tuple.
static bool
shape_read(import_npy *out, const char *at)
{
    uint64_t count = 1;
    if (at == NULL || *at++ != '(') {
        return false;
    }
    while (*(at += strspn(at, " ,")) != ')') {
        char *end;
        unsigned long long dim = strtoull(at, &end, 10);
        if (end == at || *at == '-' || *at == '+' || out->rank == IMPORT_NPY_RANK_MAX || dim < 1 ||
            dim > IMPORT_NPY_BYTES_MAX || (count *= dim) > IMPORT_NPY_BYTES_MAX) {
            return false;
        }
        out->shape[out->rank++] = (uint32_t)dim;
        at = end;
    }
    out->rows = out->rank > 0 ? out->shape[0] : 0;
    out->width = out->rows > 0 ? (uint32_t)(count / out->rows) : 0;
    return out->rank >= 2;
}

// Bytes of a number of type descr; 0: a type that is not read.
static size_t
type_bytes(const char *descr)
{
    static const struct {
        const char *name;
        size_t bytes;
    } types[] = {{"'<f4'", 4}, {"'<f8'", 8}, {"'|u1'", 1}};
    for (size_t i = 0; descr != NULL && i < OCT_COUNTOF(types); i++) {
        if (strncmp(descr, types[i].name, strlen(types[i].name)) == 0) {
            return types[i].bytes;
        }
    }
    return 0;
}

// The header's text, 0-terminated. False: this is no such file.
static bool
header_read(oct_reader *in, char header[HEADER_MAX + 1])
{
    const uint8_t *first = oct_read_bytes(in, sizeof(magic));
    if (first == NULL || memcmp(first, magic, sizeof(magic)) != 0) {
        return false;
    }
    uint8_t major = oct_read_u8(in);
    (void)oct_read_u8(in);
    size_t length = major == 1 ? oct_read_u16(in) : oct_read_u32(in);
    if (major < 1 || major > 3 || length > HEADER_MAX) {
        return false;
    }
    const uint8_t *text = oct_read_bytes(in, length);
    if (text == NULL) {
        return false;
    }
    memcpy(header, text, length);
    header[length] = '\0';
    return true;
}

oct_err
import_npy_decode(import_npy *out, const uint8_t *bytes, size_t length, char *reason,
                  size_t reason_size)
{
    oct_reader in = {.at = bytes, .left = length};
    char header[HEADER_MAX + 1], quoted[32];
    import_npy made = {0};
    if (!header_read(&in, header)) {
        return REFUSE(reason, reason_size, "not a NumPy array as numpy.save writes it");
    }
    const char *descr = header_value(header, "descr");
    size_t size = type_bytes(descr);
    if (size == 0) {
        const char *named = descr != NULL ? descr : "";
        oct_text_quote(quoted, sizeof(quoted), named, strcspn(named, ","));
        return REFUSE(reason, reason_size, "numbers of type %s; allowed are '<f4', '<f8' and '|u1'",
                      quoted);
    }
    const char *order = header_value(header, "fortran_order");
    if (order == NULL || strncmp(order, "False", 5) != 0 ||
        !shape_read(&made, header_value(header, "shape"))) {
        return REFUSE(
            reason, reason_size,
            "its array does not have the shape (rows, numbers of an observation …) in C order");
    }
    size_t count = (size_t)made.rows * made.width;
    if (in.left != count * size) {
        return REFUSE(reason, reason_size, "%zu bytes of numbers, its shape needs %zu", in.left,
                      count * size);
    }
    made.numbers = oct_alloc(count * sizeof(float));
    for (size_t i = 0; i < count; i++) {
        made.numbers[i] = size == 4   ? oct_read_f32(&in)
                          : size == 8 ? (float)oct_read_f64(&in)
                                      : (float)oct_read_u8(&in);
    }
    *out = made;
    return OCT_OK;
}

oct_err
import_npy_load(import_npy *out, const char *path, char *reason, size_t reason_size)
{
    uint8_t *bytes;
    size_t length;
    oct_err err = oct_file_read(path, IMPORT_NPY_BYTES_MAX, &bytes, &length);
    if (err != OCT_OK) {
        (void)snprintf(reason, reason_size, "%s",
                       err == OCT_EINVAL ? "more than 256 MiB" : strerror(errno));
        return err;
    }
    err = import_npy_decode(out, bytes, length, reason, reason_size);
    free(bytes);
    return err;
}

void
import_npy_free(import_npy *npy)
{
    free(npy->numbers);
    *npy = (import_npy){0};
}
