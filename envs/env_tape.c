// Parses observations of bits and recorded random numbers from the cells of a trajectory file.
#include "envs/env_tape.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"

#define INTEGER_MAX 2147483647.0

static int
hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    int lower = c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c;
    const char *at = c != '\0' ? strchr(digits, lower) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

oct_err
env_tape_bits(uint8_t *bits, uint32_t count, const char *text, oct_reason *why)
{
    size_t length = strlen(text), want = ((size_t)count + 7) / 8 * 2;
    if (length != want) {
        return oct_refuse(why, "%zu hexadecimal digits, not the %zu of %u bits", length, want,
                          count);
    }
    for (size_t k = 0; k < length; k++) {
        int digit = hex_digit(text[k]);
        if (digit < 0) {
            return oct_refuse(why, "character %zu is not a hexadecimal digit", k + 1);
        }
        for (size_t b = 0; b < 4; b++) {
            unsigned bit = ((unsigned)digit >> (3 - b)) & 1;
            if (4 * k + b < count) {
                bits[4 * k + b] = (uint8_t)bit;
            } else if (bit != 0) {
                return oct_refuse(why, "the bits after the last of %u are not 0", count);
            }
        }
    }
    return OCT_OK;
}

void
env_tape_init(env_tape *tape)
{
    *tape = (env_tape){.capacity = 16};
    tape->draws = oct_alloc(tape->capacity * sizeof(*tape->draws));
}

void
env_tape_fini(env_tape *tape)
{
    free(tape->draws);
    *tape = (env_tape){0};
}

static void
draw_append(env_tape *tape, double value)
{
    if (tape->count == tape->capacity) {
        double *more = oct_alloc(2 * (size_t)tape->capacity * sizeof(*more));
        memcpy(more, tape->draws, tape->count * sizeof(*more));
        free(tape->draws);
        tape->draws = more;
        tape->capacity *= 2;
    }
    tape->draws[tape->count++] = value;
}

// Reads one number at *at and moves *at to what follows.
static oct_err
draw_read(env_tape *tape, char kind, const char **at, oct_reason *why)
{
    char *end;
    double value = oct_text_number(*at, &end);
    bool ends = *end == ' ' || *end == '|' || *end == '\0';
    bool fits = kind == 'u' ? value >= 0 && value < 1
                            : value >= 0 && value <= INTEGER_MAX && value == floor(value);
    if (end == *at || **at == ' ' || !ends || !fits) {
        oct_reason_set(why, "number %u, \"%.*s\", is not %s", tape->count + 1,
                       (int)OCT_MIN(strcspn(*at, " |"), (size_t)40), *at,
                       kind == 'u' ? "a uniform one in [0, 1)" : "an integer from 0");
        return OCT_EINVAL;
    }
    draw_append(tape, value);
    *at = end;
    return OCT_OK;
}

oct_err
env_tape_read(env_tape *tape, const char *text, oct_reason *why)
{
    tape->count = 0;
    const char *at = text;
    while (*at != '\0') {
        char kind = *at;
        if ((kind != 'u' && kind != 'i') || at[1] != ':') {
            oct_reason_set(why, "\"%.40s\" begins neither with u: nor with i:", at);
            return OCT_EINVAL;
        }
        at++;
        do {
            at++; // the colon, or the space before the next number
            OCT_TRY(draw_read(tape, kind, &at, why));
        } while (*at == ' ');
        if (*at == '|' && at[1] == '\0') {
            oct_reason_set(why, "nothing follows the last \"|\"");
            return OCT_EINVAL;
        }
        at += *at == '|';
    }
    return OCT_OK;
}
