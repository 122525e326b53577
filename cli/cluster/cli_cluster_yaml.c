// Writes text as YAML, in quotes or as a block.

#include "cli/cluster/cli_cluster_yaml.h"

#include <stdint.h>
#include <string.h>

// Decodes the character at text. Returns its bytes; 0: it is not UTF-8 (RFC 3629).
static size_t
character(const char *text, uint32_t *out)
{
    // least[n]: smallest character that needs n bytes
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const uint8_t *t = (const uint8_t *)text;
    size_t bytes = t[0] < 0x80       ? 1
                   : t[0] >> 5 == 6  ? 2
                   : t[0] >> 4 == 14 ? 3
                   : t[0] >> 3 == 30 ? 4
                                     : 0;
    if (bytes == 0) {
        return 0;
    }
    uint32_t c = bytes == 1 ? t[0] : t[0] & (0xffu >> (bytes + 1));
    for (size_t i = 1; i < bytes; i++) {
        if ((t[i] & 0xc0) != 0x80) { // a text that ends here also fails
            return 0;
        }
        c = c << 6 | (t[i] & 0x3f);
    }
    if (c < least[bytes] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) {
        return 0;
    }
    *out = c;
    return bytes;
}

bool
cli_yaml_is_text(const char *text)
{
    uint32_t c;
    for (size_t bytes; *text != '\0'; text += bytes) {
        bytes = character(text, &c);
        if (bytes == 0) {
            return false;
        }
    }
    return true;
}

// Returns true for a character that every parser reads as itself: no control character, no
// separator of lines, no byte order mark.
static bool
is_plain(uint32_t c)
{
    return c >= 0x20 && c != 0x7f && !(c >= 0x80 && c < 0xa0) && c != 0x2028 && c != 0x2029 &&
           c != 0xfeff && c != 0xfffe && c != 0xffff;
}

// Escapes whatever a parser might change; is_argument: also what Kubernetes would replace.
static void
quoted(FILE *out, const char *text, bool is_argument)
{
    uint32_t c = 0;
    fputc('"', out);
    for (size_t bytes; *text != '\0'; text += bytes) {
        bytes = character(text, &c);
        if (is_argument && c == '$') {
            fputs("$$", out);
        } else if (c == '"' || c == '\\') {
            fprintf(out, "\\%c", (char)c);
        } else if (c == '\n') {
            fputs("\\n", out);
        } else if (is_plain(c)) {
            fwrite(text, 1, bytes, out);
        } else {
            fprintf(out, c <= 0xffff ? "\\u%04x" : "\\U%08x", (unsigned)c);
        }
    }
    fputc('"', out);
}

void
cli_yaml_string(FILE *out, const char *text)
{
    quoted(out, text, false);
}

void
cli_yaml_argument(FILE *out, const char *text)
{
    quoted(out, text, true);
}

// Returns true if a block gives exactly the same text: it does not begin with a blank, which would
// be indentation, and ends with exactly one newline.
static bool
fits_block(const char *text)
{
    size_t length = strlen(text);
    if (length < 2 || text[0] == ' ' || text[0] == '\n' || text[length - 1] != '\n' ||
        text[length - 2] == '\n') {
        return false;
    }
    uint32_t c = 0;
    for (size_t bytes; *text != '\0'; text += bytes) {
        bytes = character(text, &c);
        if (c != '\n' && !is_plain(c)) {
            return false;
        }
    }
    return true;
}

void
cli_yaml_block(FILE *out, const char *text, int indent)
{
    if (!fits_block(text)) {
        fputc(' ', out);
        cli_yaml_string(out, text);
        fputc('\n', out);
        return;
    }
    fputs(" |\n", out);
    for (const char *end; *text != '\0'; text = end + 1) {
        end = strchr(text, '\n');
        int length = (int)(end - text);
        fprintf(out, "%*s%.*s\n", length > 0 ? indent : 0, "", length, text);
    }
}
