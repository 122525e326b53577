#ifndef CLI_PACK_CLI_PACK_MANIFEST_H
#define CLI_PACK_CLI_PACK_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "proto/wire_hash.h"

// What is in a pack (octet run pack): a tar of a MANIFEST and the files that it lists, in this
// order, compressed by zstd. docs/internals/files.md has the format.
//
// A header of the tar says nothing that the manifest does not: whoever unpacks makes the header
// that he expects and compares it, so that nothing of a tar but the length of the manifest is
// parsed. Pure functions. Threads: any. Errors: one line for a person in reason.

#define CLI_PACK_FILES_MAX    4096
#define CLI_PACK_NAME_MAX     100 // of a member, as tar has it
#define CLI_PACK_SIZE_MAX     (UINT64_C(1) << 53)
#define CLI_PACK_TIME_MAX     ((UINT64_C(1) << 33) - 1) // in the year 2242
#define CLI_PACK_BLOCK        512
#define CLI_PACK_MANIFEST     "MANIFEST"
#define CLI_PACK_MANIFEST_MAX (1u << 20) // bytes of its text

typedef struct cli_pack_file {
    char name[CLI_PACK_NAME_MAX + 1]; // below the run folder: "config.yaml", "log/replay.log"
    uint32_t mode;                    // permission bits
    uint64_t size;
    uint64_t time_s; // since 1970, when it was written last; at most CLI_PACK_TIME_MAX
    uint8_t hash[WIRE_HASH_BYTES];
} cli_pack_file;

// About 750 KB.
typedef struct cli_pack_manifest {
    char run[CLI_PACK_NAME_MAX + 1]; // name of the folder
    uint32_t count;
    cli_pack_file file[CLI_PACK_FILES_MAX];
} cli_pack_manifest;

// Whether a pack may have a file of this name: letters that are printed, no link out of the folder
// (no "..", no "/" in front), two folders deep at most.
bool cli_pack_name_is_good(const char *name);

// Its text, 0-terminated; the caller frees it.
char *cli_pack_manifest_print(const cli_pack_manifest *manifest);
// OCT_EINVAL: it is none, or has what a pack may not have; nothing in out may be used.
OCT_CHECKED oct_err cli_pack_manifest_parse(cli_pack_manifest *out, const char *text, size_t length,
                                            char *reason, size_t reason_size);

// The header of a plain file in a tar (ustar).
void cli_pack_header(const cli_pack_file *file, uint8_t out[CLI_PACK_BLOCK]);
// Of the manifest itself; its name, mode and time are always the same.
void cli_pack_header_of_manifest(size_t length, uint8_t out[CLI_PACK_BLOCK]);
// The length of a manifest from its header. OCT_EINVAL: this is no pack.
OCT_CHECKED oct_err cli_pack_header_length(const uint8_t header[CLI_PACK_BLOCK], size_t *length);
// Zeros behind a member of so many bytes.
size_t cli_pack_padding(uint64_t size);

#endif // CLI_PACK_CLI_PACK_MANIFEST_H
