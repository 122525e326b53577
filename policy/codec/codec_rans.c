// An entropy coder for bytes: eight interleaved rANS states, whole numbers only.
#include "policy/codec/codec_rans.h"

#include <math.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_bytes.h"

#define SCALE      (1u << CODEC_RANS_FREQ_BITS)
#define STATE_LOW  (1u << 15) // states are in [STATE_LOW, STATE_LOW << 16)
#define WORD       2          // bytes
#define HEAD_BYTES (CODEC_RANS_STATES * 4)

// ---- models

// Returns 2^(-code / 8) * 2^30, rounded down; 0 for an absent digit.
static uint32_t
weight_of(uint8_t code)
{
    static const uint32_t eighth[8] = {1073741824, 984625593, 902905651, 827968132,
                                       759250125,  696235437, 638450708, 585461875};
    return code == CODEC_RANS_ABSENT ? 0 : eighth[code & 7] >> (code >> 3);
}

uint8_t
codec_rans_code(double count, double most)
{
    double code = 8.0 * log2(most / OCT_MAX(count, 0.25));
    return (uint8_t)OCT_MIN(OCT_MAX(code + 0.5, 0.0), 200.0);
}

bool
codec_rans_model_make(codec_rans_model *model, const uint8_t *codes, unsigned bits)
{
    uint64_t share[256], sum = 0; // share: probability of a digit * 2^20
    uint32_t digits = 1u << bits, mask = digits - 1;
    for (uint32_t d = 0; d < digits; d++) {
        sum += weight_of(codes[d]);
    }
    if (sum == 0) {
        return false;
    }
    for (uint32_t d = 0; d < digits; d++) {
        share[d] = ((uint64_t)weight_of(codes[d]) << 20) / sum;
    }
    uint64_t chance[256]; // probability of a byte * 2^40
    bool occurs[256];
    uint32_t present = 0, largest = 0;
    for (uint32_t s = 0; s < 256; s++) {
        chance[s] = (uint64_t)1 << 40;
        occurs[s] = true;
        for (unsigned shift = 0; shift < 8; shift += bits) {
            uint32_t d = s >> shift & mask;
            chance[s] = (chance[s] >> 20) * share[d];
            occurs[s] = occurs[s] && codes[d] != CODEC_RANS_ABSENT;
        }
        present += occurs[s];
        largest = chance[s] > chance[largest] ? s : largest;
    }
    // Each byte that can occur gets one slot, and its share of the remaining slots. The most
    // probable byte gets the slots that rounding down leaves.
    uint32_t used = 0;
    for (uint32_t s = 0; s < 256; s++) {
        uint64_t more = (chance[s] * (SCALE - present)) >> 40;
        model->freq[s] = occurs[s] ? (uint16_t)(1 + more) : 0;
        used += model->freq[s];
    }
    model->freq[largest] = (uint16_t)(model->freq[largest] + SCALE - used);
    uint32_t start = 0;
    for (uint32_t s = 0; s < 256; s++) {
        model->start[s] = (uint16_t)start;
        start += model->freq[s];
    }
    return model->freq[largest] > 0;
}

// ---- encode

size_t
codec_rans_padded(size_t count)
{
    return (count + CODEC_RANS_STATES - 1) / CODEC_RANS_STATES * CODEC_RANS_STATES;
}

size_t
codec_rans_buffer_bytes(size_t count)
{
    return (count + 1) * WORD;
}

void
codec_rans_encode_begin(codec_rans_encoder *encoder, uint8_t *buffer, size_t count)
{
    encoder->end = encoder->at = buffer + codec_rans_buffer_bytes(count);
    for (int s = 0; s < CODEC_RANS_STATES; s++) {
        encoder->state[s] = STATE_LOW;
    }
}

// The constants with which one symbol advances a state without a division: x / freq = x * inverse
// >> shift for all x < 2^31 (Granlund and Montgomery 1994).
typedef struct step {
    uint32_t limit; // a state of at least limit first writes its low 16 bits as a word
    uint32_t inverse;
    uint32_t rest; // SCALE - freq
    uint16_t start;
    uint16_t shift;
} step;

static void
step_make(step *to, uint32_t freq, uint32_t start)
{
    uint32_t log = 0;
    while ((1u << log) < freq) {
        log++;
    }
    to->limit = freq << 17;
    to->inverse = (uint32_t)((((uint64_t)1 << (31 + log)) + freq - 1) / OCT_MAX(freq, 1u));
    to->rest = SCALE - freq;
    to->start = (uint16_t)start;
    to->shift = (uint16_t)(31 + log);
}

// Returns the state after one symbol. A word is always stored below *at and kept only if *at moves.
static inline uint32_t
encode_one(uint32_t x, uint8_t **at, const step *by)
{
    uint8_t *below = *at - WORD;
    below[0] = (uint8_t)x;
    below[1] = (uint8_t)(x >> 8);
    uint32_t gives = x >= by->limit; // a number, because a branch would often be mispredicted
    *at -= WORD * gives;
    x >>= 16 * gives;
    uint32_t quotient = (uint32_t)(((uint64_t)x * by->inverse) >> by->shift);
    return x + quotient * by->rest + by->start;
}

void
codec_rans_encode(codec_rans_encoder *encoder, const codec_rans_model *model,
                  const uint8_t *symbols, size_t count)
{
    step steps[256];
    uint32_t x[CODEC_RANS_STATES];
    uint8_t *at = encoder->at;
    OCT_ASSERT(count % CODEC_RANS_STATES == 0);
    for (uint32_t s = 0; s < 256; s++) {
        step_make(&steps[s], model->freq[s], model->start[s]);
    }
    memcpy(x, encoder->state, sizeof(x));
    for (size_t i = count; i > 0; i -= CODEC_RANS_STATES) {
        for (int s = CODEC_RANS_STATES - 1; s >= 0; s--) {
            x[s] = encode_one(x[s], &at, &steps[symbols[i - CODEC_RANS_STATES + (size_t)s]]);
        }
    }
    memcpy(encoder->state, x, sizeof(x));
    encoder->at = at;
}

static void
put_u32(uint8_t *out, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        out[i] = (uint8_t)(value >> (8 * i));
    }
}

static uint32_t
get_u32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

size_t
codec_rans_encode_end(const codec_rans_encoder *encoder, uint8_t *out, size_t capacity)
{
    size_t words = (size_t)(encoder->end - encoder->at);
    if (HEAD_BYTES + words > capacity) {
        return 0;
    }
    for (int s = 0; s < CODEC_RANS_STATES; s++) {
        put_u32(out + s * 4, encoder->state[s]);
    }
    memcpy(out + HEAD_BYTES, encoder->at, words);
    return HEAD_BYTES + words;
}

// ---- decode

bool
codec_rans_decode_begin(codec_rans_decoder *decoder, const uint8_t *bytes, size_t length)
{
    if (length < HEAD_BYTES || (length - HEAD_BYTES) % WORD != 0) {
        return false;
    }
    for (int s = 0; s < CODEC_RANS_STATES; s++) {
        decoder->state[s] = get_u32(bytes + s * 4);
        if (decoder->state[s] < STATE_LOW || decoder->state[s] >= STATE_LOW << 16) {
            return false;
        }
    }
    decoder->at = bytes + HEAD_BYTES;
    decoder->end = bytes + length;
    return true;
}

// Returns the next symbol of a state. A word is always loaded from *at and used only if the state
// fell below STATE_LOW. by[symbol] is freq | start << 16.
static inline uint8_t
decode_one(uint32_t *state, const uint8_t **at, const uint8_t *symbol_of, const uint32_t *by)
{
    uint32_t slot = *state & (SCALE - 1);
    uint8_t symbol = symbol_of[slot];
    uint32_t x =
        (by[symbol] & 0xffff) * (*state >> CODEC_RANS_FREQ_BITS) + slot - (by[symbol] >> 16);
    uint32_t word = (uint32_t)(*at)[1] << 8 | (*at)[0];
    uint32_t takes = x < STATE_LOW; // a number, because a branch would often be mispredicted
    *state = x << (16 * takes) | (word & (0u - takes));
    *at += WORD * takes;
    return symbol;
}

// Decodes one symbol of each state near the end of the words, where each read is checked. Returns
// false if a state needs a word after the last one.
static bool
decode_carefully(codec_rans_decoder *decoder, const uint32_t *by, uint8_t *symbols)
{
    for (int s = 0; s < CODEC_RANS_STATES; s++) {
        static const uint8_t none[WORD] = {0};
        bool is_end = decoder->at == decoder->end;
        const uint8_t *at = is_end ? none : decoder->at;
        const uint8_t *before = at;
        symbols[s] = decode_one(&decoder->state[s], &at, decoder->symbol, by);
        if (is_end && at != before) {
            return false;
        }
        decoder->at = is_end ? decoder->at : at;
    }
    return true;
}

// Decodes groups of CODEC_RANS_STATES symbols without checks. At least one word for each symbol is
// left.
static void
decode_quickly(codec_rans_decoder *decoder, const uint32_t *by, uint8_t *symbols, size_t groups)
{
    uint32_t x[CODEC_RANS_STATES];
    const uint8_t *at = decoder->at;
    memcpy(x, decoder->state, sizeof(x));
    for (size_t i = 0; i < groups; i++) {
        for (int s = 0; s < CODEC_RANS_STATES; s++) {
            symbols[s] = decode_one(&x[s], &at, decoder->symbol, by);
        }
        symbols += CODEC_RANS_STATES;
    }
    memcpy(decoder->state, x, sizeof(x));
    decoder->at = at;
}

bool
codec_rans_decode(codec_rans_decoder *decoder, const codec_rans_model *model, uint8_t *symbols,
                  size_t count)
{
    uint32_t by[256]; // freq | start << 16
    OCT_ASSERT(count % CODEC_RANS_STATES == 0);
    for (uint32_t s = 0; s < 256; s++) {
        by[s] = model->freq[s] | (uint32_t)model->start[s] << 16;
        memset(decoder->symbol + model->start[s], (int)s, model->freq[s]);
    }
    while (count > 0) {
        // A symbol loads one word and uses at most that one.
        size_t words = (size_t)(decoder->end - decoder->at) / WORD;
        size_t groups = OCT_MIN(words / CODEC_RANS_STATES, count / CODEC_RANS_STATES);
        if (groups > 0) {
            decode_quickly(decoder, by, symbols, groups);
        } else if (decode_carefully(decoder, by, symbols)) {
            groups = 1;
        } else {
            return false;
        }
        symbols += groups * CODEC_RANS_STATES;
        count -= groups * CODEC_RANS_STATES;
    }
    return true;
}

bool
codec_rans_decode_end(const codec_rans_decoder *decoder)
{
    for (int s = 0; s < CODEC_RANS_STATES; s++) {
        if (decoder->state[s] != STATE_LOW) {
            return false;
        }
    }
    return decoder->at == decoder->end;
}
