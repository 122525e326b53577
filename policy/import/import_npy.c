// Reads an array of NumPy: a line of Python with type, order and shape, then the numbers (NEP 1).
#include "policy/import/import_npy.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_bytes.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "policy/policy_half.h"

#define HEADER_MAX 4096 // bytes of that line

static const uint8_t magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

#define REFUSE(why, ...) oct_fail(why, OCT_EPROTO, __VA_ARGS__)

// Returns the text after "'key':" and blanks, or NULL.
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

// Reads "(1000, 8)". False: no such tuple, or a dimension of 0.
static bool
shape_read(import_npy *out, const char *at)
{
    uint64_t count = 1;
    if (at == NULL || *at++ != '(') {
        return false;
    }
    // Python writes a tuple of one number as "(1000,)".
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
    out->rows = out->rank > 0 ? out->shape[0] : 1;
    out->width = (uint32_t)(count / out->rows);
    return true;
}

// The type of the numbers in the file.
typedef struct number_type {
    char kind; // f, i, u, or b (a byte of 0 or 1)
    uint32_t bytes;
    bool is_big_endian;
} number_type;

// Reads "'<f4'". False: the type is not supported.
static bool
type_read(number_type *out, const char *descr)
{
    if (descr == NULL || descr[0] != '\'' || descr[1] == '\0' || descr[2] == '\0' ||
        descr[3] < '1' || descr[3] > '8' || descr[4] != '\'') {
        return false;
    }
    *out = (number_type){
        .kind = descr[2], .bytes = (uint32_t)(descr[3] - '0'), .is_big_endian = descr[1] == '>'};
    bool is_power = out->bytes == 1 || out->bytes == 2 || out->bytes == 4 || out->bytes == 8;
    return is_power && strchr("<>|=", descr[1]) != NULL &&
           (out->kind == 'f'   ? out->bytes > 1
            : out->kind == 'b' ? out->bytes == 1
                               : out->kind == 'i' || out->kind == 'u');
}

// Converts the bits of a number, which are in the machine's order.
static float
number_make(const number_type *type, uint64_t bits)
{
    if (type->kind == 'f' && type->bytes == 2) {
        bool is_finite = (bits & 0x7c00) != 0x7c00;
        // Callers leave out rows with such a number.
        return is_finite ? policy_fp16_to_float((uint16_t)bits) : NAN;
    }
    if (type->kind == 'f' && type->bytes == 4) {
        uint32_t word = (uint32_t)bits;
        float x;
        memcpy(&x, &word, sizeof(x));
        return x;
    }
    if (type->kind == 'f') {
        double x;
        memcpy(&x, &bits, sizeof(x));
        return (float)x;
    }
    uint32_t unused = 64 - 8 * type->bytes; // bits above the sign
    // Shifting up and down again extends the sign.
    return type->kind == 'i' ? (float)((int64_t)(bits << unused) >> unused) : (float)bits;
}

// Puts the bytes into the machine's order.
static float
number_read(oct_reader *in, const number_type *type)
{
    uint64_t bits = 0;
    const uint8_t *at = oct_read_bytes(in, type->bytes);
    for (uint32_t i = 0; at != NULL && i < type->bytes; i++) {
        uint32_t place = type->is_big_endian ? type->bytes - 1 - i : i;
        bits |= (uint64_t)at[i] << 8 * place;
    }
    return number_make(type, bits);
}

// Returns the index in C order of number i of an array in Fortran order, whose first index moves
// fastest.
static size_t
place_of(const import_npy *npy, size_t i)
{
    size_t at = 0, left = i, step = (size_t)npy->rows * npy->width;
    for (uint32_t d = 0; d < npy->rank; d++) {
        step /= npy->shape[d];
        at += left % npy->shape[d] * step;
        left /= npy->shape[d];
    }
    return at;
}

// Reads the header's text and terminates it. False: no such file.
static bool
header_read(oct_reader *in, char header[HEADER_MAX + 1])
{
    const uint8_t *first = oct_read_bytes(in, sizeof(magic));
    if (first == NULL || memcmp(first, magic, sizeof(magic)) != 0) {
        return false;
    }
    uint8_t major = oct_read_u8(in);
    (void)oct_read_u8(in);
    // Version 1 has a length of 16 bits, later versions of 32 bits.
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
import_npy_decode(import_npy *out, const uint8_t *bytes, size_t length, oct_reason *why)
{
    oct_reader in = {.at = bytes, .left = length};
    char header[HEADER_MAX + 1], quoted[32];
    import_npy made = {0};
    if (!header_read(&in, header)) {
        return REFUSE(why, "not a NumPy array as numpy.save writes it");
    }
    const char *descr = header_value(header, "descr");
    number_type type;
    if (!type_read(&type, descr)) {
        const char *named = descr != NULL ? descr : "";
        oct_text_quote(quoted, sizeof(quoted), named, strcspn(named, ","));
        return REFUSE(why, "numbers of type %s; allowed are floats (f2, f4, f8), integers and bool",
                      quoted);
    }
    // The header's keys come in any order.
    const char *order = header_value(header, "fortran_order");
    bool is_fortran = order != NULL && strncmp(order, "True", 4) == 0;
    if (order == NULL || (!is_fortran && strncmp(order, "False", 5) != 0) ||
        !shape_read(&made, header_value(header, "shape"))) {
        return REFUSE(why, "its array has no shape of up to %d dimensions, or one without numbers",
                      IMPORT_NPY_RANK_MAX);
    }
    size_t count = (size_t)made.rows * made.width;
    if (in.left != count * type.bytes) {
        return REFUSE(why, "%zu bytes of numbers, its shape needs %zu", in.left,
                      count * type.bytes);
    }
    made.numbers = oct_alloc(count * sizeof(float));
    for (size_t i = 0; i < count; i++) {
        made.numbers[is_fortran ? place_of(&made, i) : i] = number_read(&in, &type);
    }
    *out = made;
    return OCT_OK;
}

oct_err
import_npy_load(import_npy *out, const char *path, oct_reason *why)
{
    uint8_t *bytes;
    size_t length;
    oct_err err = oct_file_read(path, IMPORT_NPY_BYTES_MAX, &bytes, &length);
    if (err != OCT_OK) {
        oct_reason_set(why, "%s",
                       err == OCT_EINVAL ? "more than 256 MiB" : oct_file_strerror(errno));
        return err;
    }
    err = import_npy_decode(out, bytes, length, why);
    free(bytes);
    return err;
}

void
import_npy_free(import_npy *npy)
{
    free(npy->numbers);
    *npy = (import_npy){0};
}
