#ifndef POLICY_CODEC_CODEC_RANS_H
#define POLICY_CODEC_CODEC_RANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// An entropy coder for bytes: range asymmetric numeral systems (Duda 2013). Eight states take turns
// over one stream of 16-bit words. Frequencies have 14 bits, and both sides compute them from a
// short table of codes. All arithmetic is in integers, so the same bytes decode to the same symbols
// on every machine.
//
// A symbol is a byte of one, two or four digits (of 8, 4 or 2 bits). The model treats the digits as
// independent, so the frequencies of bytes follow from those of digits.
//
// Threads: any, no shared state. Owns: nothing.

#define CODEC_RANS_STATES    8 // the count of symbols in one call is a multiple of this
#define CODEC_RANS_FREQ_BITS 14
#define CODEC_RANS_ABSENT    255 // code of a digit that does not occur

typedef struct codec_rans_model {
    uint16_t freq[256];  // of each byte, sum 1 << CODEC_RANS_FREQ_BITS; 0: the byte cannot be coded
    uint16_t start[256]; // sum of the frequencies of all lower bytes
} codec_rans_model;

// Makes the model of bytes whose digits have `bits` bits (2, 4 or 8) from codes[1 << bits]. The
// probability of a digit is proportional to 2^(-code / 8). Returns false if no digit occurs.
bool codec_rans_model_make(codec_rans_model *model, const uint8_t *codes, unsigned bits);
// Returns the code, 0 .. 200, of a digit that occurred count times where the most frequent digit
// occurred most times. A count of 0 is taken as 0.25.
uint8_t codec_rans_code(double count, double most);

// The encoder works backwards: the caller encodes the last part first, and each call encodes its
// symbols from the last to the first.
typedef struct codec_rans_encoder {
    uint32_t state[CODEC_RANS_STATES];
    uint8_t *at; // the next word is written below this address
    uint8_t *end;
} codec_rans_encoder;

size_t codec_rans_padded(size_t count); // count rounded up to a multiple of CODEC_RANS_STATES
// The size of the buffer for up to count symbols, over all calls of codec_rans_encode.
size_t codec_rans_buffer_bytes(size_t count);
// buffer[codec_rans_buffer_bytes(count)] is borrowed until codec_rans_encode_end.
void codec_rans_encode_begin(codec_rans_encoder *encoder, uint8_t *buffer, size_t count);
void codec_rans_encode(codec_rans_encoder *encoder, const codec_rans_model *model,
                       const uint8_t *symbols, size_t count);
// Writes the states and all words to out. Returns the count of bytes, or 0 if they do not fit.
size_t codec_rans_encode_end(const codec_rans_encoder *encoder, uint8_t *out, size_t capacity);

typedef struct codec_rans_decoder {
    uint32_t state[CODEC_RANS_STATES];
    const uint8_t *at; // the next word
    const uint8_t *end;
    uint8_t symbol[1u << CODEC_RANS_FREQ_BITS]; // the byte of each slot, for the current model
} codec_rans_decoder;

// Reads the states from bytes[length], which stay borrowed until the last decode. Returns false if
// the length or a state is one that no encoder writes.
bool codec_rans_decode_begin(codec_rans_decoder *decoder, const uint8_t *bytes, size_t length);
// Decodes the next count symbols, in the order in which they were given to the encoder, the part
// that was encoded last first. Returns false if the words end too early.
bool codec_rans_decode(codec_rans_decoder *decoder, const codec_rans_model *model, uint8_t *symbols,
                       size_t count);
// Returns true if no word is left and all states are back at their first value.
bool codec_rans_decode_end(const codec_rans_decoder *decoder);

#endif // POLICY_CODEC_CODEC_RANS_H
