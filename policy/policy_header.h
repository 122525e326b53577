#ifndef POLICY_POLICY_HEADER_H
#define POLICY_POLICY_HEADER_H

#include "common/oct_base.h"
#include "common/oct_bytes.h"
#include "policy/policy_format.h"

// What complete policies and changes have in common: the header, the check sum at the end, and
// reading bytes of peers with a reason for a person. For the files of this folder and of codec/.
//
// Threads: any. Owns: nothing.

#define POLICY_CRC_BYTES 4
#define POLICY_TOTAL_AT  8 // where the total length stands

typedef struct policy_parser {
    oct_reader reader; // from the tensors on once the header was read, without the CRC
    uint32_t version;  // of the format
    char *reason;
    size_t reason_size;
} policy_parser;

// Writes the reason; gives OCT_EPROTO.
oct_err policy_refuse(const policy_parser *parser, const char *format, ...) OCT_PRINTF(2, 3);

// Magic, format version, length, checksum, header: everything that policy_peek promises.
OCT_CHECKED oct_err policy_header_read(policy_parser *parser, policy_head_info *head,
                                       const uint8_t *bytes, size_t length, char *reason,
                                       size_t reason_size);
// The header of the whole image, or of a change of base_version when that is not 0.
void policy_header_write(oct_writer *writer, const policy_image *image, uint64_t base_version,
                         uint32_t total_bytes);

// Bytes of a complete policy, also where size_t has 32 bits. Tensors may be absent.
uint64_t policy_complete_bytes(const policy_image *image);

// policy_image_create without zeroing: every tensor has to be written, the gaps between them hold
// anything.
OCT_CHECKED oct_err policy_image_reserve(policy_image **out, const policy_spec *spec,
                                         policy_precision precision);

// Whether bytes of this header and length are a complete policy.
OCT_CHECKED oct_err policy_complete_check(const policy_parser *parser, const policy_head_info *head,
                                          size_t length);
// Then fills image (of the header's spec and precision); OCT_EPROTO for what is not sound.
OCT_CHECKED oct_err policy_tensors_read(policy_parser *parser, policy_image *image,
                                        const policy_head_info *head);

OCT_CHECKED oct_err policy_codes_check(const policy_parser *parser, const int8_t *codes,
                                       size_t count);
// Whether codes are in range, and 0 where their multiplier is.
OCT_CHECKED oct_err policy_int4_check(const policy_parser *parser, const policy_image *image,
                                      uint32_t l);

// Whether floats[count] are finite and at least least; names the first that is not.
OCT_CHECKED oct_err policy_floats_check(const policy_parser *parser, const float *floats,
                                        size_t count, float least, const char *what);

static inline size_t
policy_scale_count(const policy_image *image, uint32_t l)
{
    return image->per_tensor ? 1 : policy_layer_rows(&image->spec.layers[l]);
}

#endif // POLICY_POLICY_HEADER_H
