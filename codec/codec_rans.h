#ifndef CODEC_CODEC_RANS_H
#define CODEC_CODEC_RANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// An entropy coder for bytes: range asymmetric numeral systems (Duda 2013), eight states in turn
// over one stream of 16-bit words, frequencies of 14 bits that both sides make from a few codes.
// Whole numbers only: the same bytes mean the same on every machine.
//
// A byte holds one, two or four digits (8, 4, 2 bits) that are taken as independent, so that the
// frequencies of bytes follow from those of digits.
//
// Threads: any, no shared state. Owns: nothing.

#define CODEC_RANS_STATES    8 // counts of symbols are multiples of it
#define CODEC_RANS_FREQ_BITS 14
#define CODEC_RANS_ABSENT    255 // code of a digit that does not occur

typedef struct codec_rans_model {
    uint16_t freq[256]; // sum 1 << CODEC_RANS_FREQ_BITS; 0: cannot be coded
    uint16_t start[256];
} codec_rans_model;

// codes[1 << bits]: a digit's probability is in proportion to 2^(-code / 8). False: no digit
// occurs.
bool codec_rans_model_make(codec_rans_model *model, const uint8_t *codes, unsigned bits);
// The code of a digit that was seen count times when the commonest was seen most times.
uint8_t codec_rans_code(double count, double most);

// Coding runs backwards: the last part first, each part from its end.
typedef struct codec_rans_encoder {
    uint32_t state[CODEC_RANS_STATES];
    uint8_t *at; // words are put before this
    uint8_t *end;
} codec_rans_encoder;

size_t codec_rans_padded(size_t count); // the next multiple of CODEC_RANS_STATES
// For up to count symbols in all; buffer[codec_rans_buffer_bytes(count)].
size_t codec_rans_buffer_bytes(size_t count);
void codec_rans_encode_begin(codec_rans_encoder *encoder, uint8_t *buffer, size_t count);
void codec_rans_encode(codec_rans_encoder *encoder, const codec_rans_model *model,
                       const uint8_t *symbols, size_t count);
// Writes all that was coded; the bytes, 0 when they do not fit.
size_t codec_rans_encode_end(const codec_rans_encoder *encoder, uint8_t *out, size_t capacity);

typedef struct codec_rans_decoder {
    uint32_t state[CODEC_RANS_STATES];
    const uint8_t *at;
    const uint8_t *end;
    uint8_t symbol[1u << CODEC_RANS_FREQ_BITS]; // of each slot
} codec_rans_decoder;

// False: bytes that the encoder cannot have made.
bool codec_rans_decode_begin(codec_rans_decoder *decoder, const uint8_t *bytes, size_t length);
bool codec_rans_decode(codec_rans_decoder *decoder, const codec_rans_model *model, uint8_t *symbols,
                       size_t count);
bool codec_rans_decode_end(const codec_rans_decoder *decoder); // everything was used up

#endif // CODEC_CODEC_RANS_H
