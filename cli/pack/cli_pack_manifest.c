// Prints and parses the manifest of a pack, and makes the headers of its tar.

#include "cli/pack/cli_pack_manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_text.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"

#define FIRST_LINE "octet-pack 1"
#define DEPTH_MAX  2     // folders above a file
#define MODES      0777u // permission bits that are kept
// tar writes smaller numbers as 11 octal digits, larger ones in binary
#define OCTAL_MAX (1ull << 33)

// A name stays within the folder that it is unpacked to: no "..", no absolute path, no blank or
// control character, and few folders.
bool
cli_pack_name_is_good(const char *name)
{
    size_t length = strnlen(name, CLI_PACK_NAME_MAX + 1), folders = 0;
    if (length == 0 || length > CLI_PACK_NAME_MAX) {
        return false;
    }
    for (const char *part = name; part != NULL;) {
        const char *slash = strchr(part, '/');
        size_t size = slash != NULL ? (size_t)(slash - part) : strlen(part);
        bool is_dots = (size == 1 && part[0] == '.') || (size == 2 && memcmp(part, "..", 2) == 0);
        if (size == 0 || is_dots) {
            return false;
        }
        for (size_t i = 0; i < size; i++) {
            if ((unsigned char)part[i] <= ' ' || (unsigned char)part[i] >= 0x7f) {
                return false;
            }
        }
        folders += slash != NULL;
        part = slash != NULL ? slash + 1 : NULL;
    }
    return folders <= DEPTH_MAX;
}

// ---- text

char *
cli_pack_manifest_print(const cli_pack_manifest *manifest)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    OCT_ASSERT(out != NULL);
    fprintf(out, FIRST_LINE "\nrun %s\nfiles %u\n", manifest->run, (unsigned)manifest->count);
    for (uint32_t i = 0; i < manifest->count; i++) {
        const cli_pack_file *file = &manifest->file[i];
        char hash[WIRE_HASH_TEXT_BYTES];
        wire_hash_text(file->hash, hash);
        fprintf(out, "%s %03o %" PRIu64 " %" PRIu64 " %s\n", hash, (unsigned)file->mode,
                file->time_s, file->size, file->name);
    }
    OCT_ASSERT(fclose(out) == 0 && text != NULL);
    return text;
}

typedef struct text_reader {
    const char *at, *end;
} text_reader;

// Reads up to the character stop and skips it. False: there is no stop, a zero byte, or too little
// room in out.
static bool
word_read(text_reader *reader, char stop, char *out, size_t out_size)
{
    size_t left = (size_t)(reader->end - reader->at);
    const char *found = left > 0 ? memchr(reader->at, stop, left) : NULL;
    if (found == NULL || (size_t)(found - reader->at) >= out_size ||
        memchr(reader->at, '\0', (size_t)(found - reader->at)) != NULL) {
        return false;
    }
    memcpy(out, reader->at, (size_t)(found - reader->at));
    out[found - reader->at] = '\0';
    reader->at = found + 1;
    return true;
}

// Reads a number as this program prints it: digits only, no sign. False: it is larger than max.
static bool
number_read(text_reader *reader, char stop, unsigned base, uint64_t max, uint64_t *out)
{
    char word[24];
    if (!word_read(reader, stop, word, sizeof(word)) || word[0] == '\0') {
        return false;
    }
    uint64_t value = 0;
    for (const char *digit = word; *digit != '\0'; digit++) {
        unsigned digit_value = (unsigned)(unsigned char)*digit - '0';
        if (digit_value >= base || value > (max - digit_value) / base) {
            return false;
        }
        value = value * base + digit_value;
    }
    *out = value;
    return value <= max;
}

// Lower case only, so that a manifest has one spelling.
static bool
hash_read(text_reader *reader, uint8_t hash[WIRE_HASH_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    char word[WIRE_HASH_TEXT_BYTES];
    if (!word_read(reader, ' ', word, sizeof(word)) ||
        strspn(word, digits) != (size_t)2 * WIRE_HASH_BYTES) {
        return false;
    }
    for (size_t i = 0; i < WIRE_HASH_BYTES; i++) {
        size_t high = (size_t)(strchr(digits, word[2 * i]) - digits);
        size_t low = (size_t)(strchr(digits, word[2 * i + 1]) - digits);
        hash[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

// Reads the line of a file. Names must be good and different.
static oct_err
file_read(text_reader *reader, const cli_pack_manifest *all, cli_pack_file *file, oct_reason *why)
{
    uint64_t mode = 0;
    if (!hash_read(reader, file->hash) || !number_read(reader, ' ', 8, MODES, &mode) ||
        !number_read(reader, ' ', 10, CLI_PACK_TIME_MAX, &file->time_s) ||
        !number_read(reader, ' ', 10, CLI_PACK_SIZE_MAX, &file->size) ||
        !word_read(reader, '\n', file->name, sizeof(file->name))) {
        return oct_refuse(why, "line %u of its manifest is damaged",
                          (unsigned)all->count + 4); // three lines precede the files
    }
    file->mode = (uint32_t)mode;
    if (!cli_pack_name_is_good(file->name)) {
        return oct_refuse(why, "its manifest has a file '%s', which does not belong in a pack",
                          cli_text_plain(file->name, SIZE_MAX).text);
    }
    for (uint32_t i = 0; i < all->count; i++) {
        if (strcmp(all->file[i].name, file->name) == 0) {
            return oct_refuse(why, "its manifest has '%s' twice", file->name);
        }
    }
    return OCT_OK;
}

// The syntax is exactly that of cli_pack_manifest_print: no blanks, lines or fields beyond it.
oct_err
cli_pack_manifest_parse(cli_pack_manifest *out, const char *text, size_t length, oct_reason *why)
{
    text_reader reader = {text, text + length};
    char word[CLI_PACK_NAME_MAX + 1];
    uint64_t count = 0;
    out->count = 0;
    if (!word_read(&reader, '\n', word, sizeof(word)) ||
        strncmp(word, "octet-pack ", strlen("octet-pack ")) != 0) {
        return oct_refuse(why, "it is not a pack that octet run pack made");
    }
    if (strcmp(word, FIRST_LINE) != 0) {
        return oct_refuse(why,
                          "it is from another release: its first line is '%s', but this release "
                          "reads '" FIRST_LINE "'",
                          cli_text_plain(word, 32).text);
    }
    if (!word_read(&reader, ' ', word, sizeof(word)) || strcmp(word, "run") != 0 ||
        !word_read(&reader, '\n', out->run, sizeof(out->run)) || !cli_pack_name_is_good(out->run) ||
        strchr(out->run, '/') != NULL || !word_read(&reader, ' ', word, sizeof(word)) ||
        strcmp(word, "files") != 0 || !number_read(&reader, '\n', 10, CLI_PACK_FILES_MAX, &count)) {
        return oct_refuse(why, "the head of its manifest is damaged");
    }
    for (; out->count < count; out->count++) {
        OCT_TRY(file_read(&reader, out, &out->file[out->count], why));
    }
    if (reader.at != reader.end) {
        return oct_refuse(why, "its manifest continues after its last file");
    }
    return OCT_OK;
}

// ---- tar

// Writes a number as octal digits and a zero byte. A number that needs more digits is written in
// binary, which GNU tar, bsdtar and Python also read.
static void
number_put(uint8_t *out, size_t digits, uint64_t value)
{
    if (digits == 11 && value >= OCTAL_MAX) {
        memset(out, 0, digits + 1);
        out[0] = 0x80;
        for (size_t i = 0; i < sizeof(value); i++) {
            out[digits - i] = (uint8_t)(value >> (8 * i));
        }
        return;
    }
    for (size_t i = digits; i-- > 0; value >>= 3) {
        out[i] = (uint8_t)('0' + (value & 7));
    }
    out[digits] = 0;
}

// Everything that could differ between machines is fixed (owner 0, no names), so that a run packed
// twice gives the same bytes.
void
cli_pack_header(const cli_pack_file *file, uint8_t out[CLI_PACK_BLOCK])
{
    // Offsets of the fields of a ustar header.
    enum { NAME, MODE = 100, UID = 108, GID = 116, SIZE = 124, TIME = 136, SUM = 148, KIND = 156 };
    enum { MAGIC = 257 };
    memset(out, 0, CLI_PACK_BLOCK);
    memcpy(out + NAME, file->name, strlen(file->name));
    number_put(out + MODE, 7, file->mode);
    number_put(out + UID, 7, 0);
    number_put(out + GID, 7, 0);
    number_put(out + SIZE, 11, file->size);
    number_put(out + TIME, 11, file->time_s);
    out[KIND] = '0'; // a plain file
    memcpy(out + MAGIC, "ustar\00000", 8);
    // The checksum is the sum of all bytes, with blanks in its own field.
    memset(out + SUM, ' ', 8);
    uint32_t sum = 0;
    for (size_t i = 0; i < CLI_PACK_BLOCK; i++) {
        sum += out[i];
    }
    number_put(out + SUM, 6, sum);
    out[SUM + 7] = ' ';
}

void
cli_pack_header_of_manifest(size_t length, uint8_t out[CLI_PACK_BLOCK])
{
    const cli_pack_file manifest = {.name = CLI_PACK_MANIFEST, .mode = 0644, .size = length};
    cli_pack_header(&manifest, out);
}

oct_err
cli_pack_header_length(const uint8_t header[CLI_PACK_BLOCK], size_t *length)
{
    uint8_t expected[CLI_PACK_BLOCK];
    // Every byte of the header must be as the writer writes it for this length.
    size_t value = 0;
    for (const uint8_t *digit = header + 124; digit < header + 135; digit++) {
        if (*digit < '0' || *digit > '7' || value > CLI_PACK_MANIFEST_MAX) {
            return OCT_EINVAL;
        }
        value = value * 8 + (size_t)(*digit - '0');
    }
    cli_pack_header_of_manifest(value, expected);
    if (value > CLI_PACK_MANIFEST_MAX || memcmp(header, expected, CLI_PACK_BLOCK) != 0) {
        return OCT_EINVAL;
    }
    *length = value;
    return OCT_OK;
}

// A file is followed by zeros up to a multiple of the block size.
size_t
cli_pack_padding(uint64_t size)
{
    return (CLI_PACK_BLOCK - size % CLI_PACK_BLOCK) % CLI_PACK_BLOCK;
}
