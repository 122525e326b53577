#ifndef POLICY_POLICY_HEADER_H
#define POLICY_POLICY_HEADER_H

#include "common/oct_base.h"
#include "common/oct_bytes.h"
#include "common/oct_reason.h"
#include "policy/policy_format.h"

// The parts that complete policies and changes share: the header, the checksum at the end, and a
// parser that explains an error in one line. For the files of this folder and of policy/codec/.
//
// Threads: any. Owns: nothing.

#define POLICY_CRC_BYTES 4
#define POLICY_TOTAL_AT  8 // offset of the total length

typedef struct policy_parser {
    oct_reader reader; // without the CRC; after policy_header_read, from the first byte after it
    uint32_t version;  // format version of the bytes
    oct_reason *why;   // [reason_size], borrowed; may be NULL with reason_size 0
} policy_parser;

// Writes the reason. Always returns OCT_EPROTO.
oct_err policy_refuse(const policy_parser *parser, const char *format, ...) OCT_PRINTF(2, 3);

// Begins to parse bytes[length], which stay borrowed, and makes all checks of policy_peek: magic,
// format version, length, checksum, header. Errors as policy_decode.
OCT_CHECKED oct_err policy_header_read(policy_parser *parser, policy_head_info *head,
                                       const uint8_t *bytes, size_t length, oct_reason *why);
// Writes the header of a complete image, or of a change of base_version if that is not 0. Only
// complete images have their contract in the header.
void policy_header_write(oct_writer *writer, const policy_image *image, uint64_t base_version,
                         uint32_t total_bytes);

// Returns the bytes of a complete policy, in 64 bits also where size_t has 32. Tensors of image may
// be NULL.
uint64_t policy_complete_bytes(const policy_image *image);

// Does policy_image_create without zeroing. The caller writes every tensor; the gaps between them
// are undefined.
OCT_CHECKED oct_err policy_image_reserve(policy_image **out, const policy_spec *spec,
                                         policy_precision precision);

// Checks that bytes with this header and length are a complete policy. OCT_EPROTO: a change, or
// another length.
OCT_CHECKED oct_err policy_complete_check(const policy_parser *parser, const policy_head_info *head,
                                          size_t length);
// Reads the tensors into image, which has the spec and precision of the header, after
// policy_complete_check. OCT_EPROTO: a number is out of range or not finite; image is then
// undefined.
OCT_CHECKED oct_err policy_tensors_read(policy_parser *parser, policy_image *image,
                                        const policy_head_info *head);

// The following checks return OCT_EPROTO, with the reason, for the first number that is not
// allowed.

// Checks that no INT8 code is -128.
OCT_CHECKED oct_err policy_codes_check(const policy_parser *parser, const int8_t *codes,
                                       size_t count);
// Checks that multipliers and codes of layer l are in range, and that codes are 0 where their
// multiplier is.
OCT_CHECKED oct_err policy_int4_check(const policy_parser *parser, const policy_image *image,
                                      uint32_t l);

// Checks that floats[count] are finite and not below least. what is their name for the reason.
OCT_CHECKED oct_err policy_floats_check(const policy_parser *parser, const float *floats,
                                        size_t count, float least, const char *what);

// Returns how many scales of layer l are stored in the bytes. In memory each row has a scale.
static inline size_t
policy_scale_count(const policy_image *image, uint32_t l)
{
    uint32_t rows = policy_layer_rows(&image->spec.layers[l]);
    return image->per_tensor ? OCT_MIN(rows, 1u) : rows;
}

#endif // POLICY_POLICY_HEADER_H
