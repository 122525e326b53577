// Counts the lines that an environment writes while it is checked.
#include "envs/env_check_said.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_text.h"

struct env_check_said {
    char begun[ENV_CHECK_SAID_BYTES]; // the line that is not complete yet
    size_t length;
    bool is_escape; // within a sequence such as ESC [33m, which colours text
    uint32_t count;
    uint64_t others;
    env_check_line line[ENV_CHECK_SAID_LINES];
};

env_check_said *
env_check_said_create(void)
{
    return oct_alloc(sizeof(env_check_said));
}

void
env_check_said_destroy(env_check_said *said)
{
    free(said);
}

// Returns true if two lines differ at most in digits; *varies: they differ in digits.
static bool
is_alike(const char *a, const char *b, bool *varies)
{
    *varies = strcmp(a, b) != 0;
    while (*a != '\0' && *b != '\0') {
        bool is_number = isdigit((unsigned char)*a) && isdigit((unsigned char)*b);
        if (!is_number && *a != *b) {
            return false;
        }
        a += is_number ? strspn(a, "0123456789") : 1;
        b += is_number ? strspn(b, "0123456789") : 1;
    }
    return *a == *b;
}

static void
line_end(env_check_said *said)
{
    bool varies;
    said->begun[said->length] = '\0';
    oct_text_tame(said->begun, said->length, ' ');
    said->length = 0;
    for (uint32_t i = 0; i < said->count; i++) {
        env_check_line *line = &said->line[i];
        if (is_alike(line->text, said->begun, &varies)) {
            line->count++;
            line->varies = line->varies || varies;
            return;
        }
    }
    if (said->count == ENV_CHECK_SAID_LINES) {
        said->others++;
        return;
    }
    env_check_line *line = &said->line[said->count++];
    memcpy(line->text, said->begun, sizeof(line->text));
    line->count = 1;
}

void
env_check_said_take(env_check_said *said, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char c = bytes[i];
        if (c == '\n') {
            said->is_escape = false;
            line_end(said);
        } else if (c == '\033') {
            said->is_escape = true;
        } else if (said->is_escape) {
            said->is_escape = !isalpha((unsigned char)c);
        } else if (said->length + 1 < sizeof(said->begun)) {
            said->begun[said->length++] = c;
        }
    }
}

void
env_check_said_end(env_check_said *said)
{
    said->is_escape = false;
    if (said->length > 0) {
        line_end(said);
    }
}

const env_check_line *
env_check_said_lines(const env_check_said *said, uint32_t *count, uint64_t *others)
{
    *count = said->count;
    *others = said->others;
    return said->line;
}
