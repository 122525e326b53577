// Writes the contract of an imported policy as macros of an exported header.
#include "policy/export/export_contract.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "policy/policy_contract.h"

#define STRING_BYTES_MAX 4000 // every C99 compiler accepts strings of 4095 characters

static void
macro_name(const policy_contract_entry *entry, char out[POLICY_CONTRACT_KEY_MAX + 1])
{
    for (size_t i = 0; i < entry->key_length; i++) {
        char c = entry->key[i];
        out[i] = isascii(c) && isalnum((unsigned char)c) ? (char)toupper((unsigned char)c) : '_';
    }
    out[entry->key_length] = '\0';
}

static bool
is_first(const policy_image *image, const policy_contract_entry *entry, const char *name)
{
    char other[POLICY_CONTRACT_KEY_MAX + 1];
    policy_contract_entry earlier;
    for (size_t at = 0; policy_contract_next(image, &at, &earlier) && earlier.key < entry->key;) {
        macro_name(&earlier, other);
        if (strcmp(other, name) == 0) {
            return false;
        }
    }
    return true;
}

// Writes a C string. Three octal digits end an escape, so the next character cannot become part of
// it.
static void
string_write(FILE *out, const char *text, size_t length)
{
    (void)fputc('"', out);
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        bool is_plain =
            isascii(c) && isprint((unsigned char)c) && c != '"' && c != '\\' && c != '?';
        if (is_plain) {
            (void)fputc(c, out);
        } else {
            (void)fprintf(out, "\\%03o", (unsigned)(unsigned char)c);
        }
    }
    (void)fputc('"', out);
}

void
export_contract_write(FILE *out, const policy_image *image, const char *upper)
{
    policy_contract_entry entry;
    char name[POLICY_CONTRACT_KEY_MAX + 1];
    if (image->contract_bytes > 0) {
        (void)fputs("\n// What the imported model says beside its network.\n", out);
    }
    for (size_t at = 0; policy_contract_next(image, &at, &entry);) {
        macro_name(&entry, name);
        if (!is_first(image, &entry, name)) {
            continue;
        }
        if (entry.text_length > STRING_BYTES_MAX) {
            (void)fprintf(out, "// %s_METADATA_%s is left out: it has %zu bytes.\n", upper, name,
                          entry.text_length);
            continue;
        }
        (void)fprintf(out, "#define %s_METADATA_%s ", upper, name);
        string_write(out, entry.text, entry.text_length);
        (void)fputc('\n', out);
    }
}
