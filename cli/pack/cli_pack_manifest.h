#ifndef CLI_PACK_CLI_PACK_MANIFEST_H
#define CLI_PACK_CLI_PACK_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"
#include "proto/wire_hash.h"

// The content of a pack (octet run pack): a tar, compressed with zstd, of a MANIFEST and the files
// that it lists, in this order. docs/internals/files.md specifies the format.
//
// A tar header contains nothing beyond the manifest. When unpacking, the expected header is made
// from the manifest and compared, so nothing of the tar is parsed except the length of the
// manifest. Pure functions. Threads: any. Errors: reason gets one line for a person.

#define CLI_PACK_FILES_MAX    4096
#define CLI_PACK_NAME_MAX     100 // bytes of a member's name, the limit of tar
#define CLI_PACK_SIZE_MAX     (UINT64_C(1) << 53)
#define CLI_PACK_TIME_MAX     ((UINT64_C(1) << 33) - 1) // a time in the year 2242
#define CLI_PACK_BLOCK        512
#define CLI_PACK_MANIFEST     "MANIFEST"
#define CLI_PACK_MANIFEST_MAX (1u << 20) // bytes of the manifest's text

typedef struct cli_pack_file {
    char name[CLI_PACK_NAME_MAX + 1]; // below the run folder: "config.yaml", "log/replay.log"
    uint32_t mode;                    // permission bits
    uint64_t size;
    uint64_t time_s;               // of the last change, since 1970; at most CLI_PACK_TIME_MAX
    uint8_t hash[WIRE_HASH_BYTES]; // SHA-256 of the content
} cli_pack_file;

// About 750 KB: allocate it.
typedef struct cli_pack_manifest {
    char run[CLI_PACK_NAME_MAX + 1]; // name of the run folder
    uint32_t count;
    cli_pack_file file[CLI_PACK_FILES_MAX];
} cli_pack_manifest;

// Returns true if a pack may contain a file of this name: printable ASCII without blanks, no path
// out of the folder (no "..", no leading "/"), at most two folders deep.
bool cli_pack_name_is_good(const char *name);

// Returns the text of a manifest, 0-terminated; the caller frees it.
char *cli_pack_manifest_print(const cli_pack_manifest *manifest);
// OCT_EINVAL: the text is no manifest, or lists what a pack may not contain; out must not be used.
OCT_CHECKED oct_err cli_pack_manifest_parse(cli_pack_manifest *out, const char *text, size_t length,
                                            oct_reason *why);

// Makes the tar header (ustar) of a plain file.
void cli_pack_header(const cli_pack_file *file, uint8_t out[CLI_PACK_BLOCK]);
// Makes the header of the manifest itself. Its name, mode and time are constants.
void cli_pack_header_of_manifest(size_t length, uint8_t out[CLI_PACK_BLOCK]);
// Reads the length of the manifest from its header. OCT_EINVAL: this is no pack.
OCT_CHECKED oct_err cli_pack_header_length(const uint8_t header[CLI_PACK_BLOCK], size_t *length);
// Returns the number of zeros that follow a member of this size.
size_t cli_pack_padding(uint64_t size);

#endif // CLI_PACK_CLI_PACK_MANIFEST_H
