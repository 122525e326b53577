#ifndef CLI_PACK_CLI_PACK_H
#define CLI_PACK_CLI_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// A run folder as one file, and back. Threads: main thread. Errors: one line for a person in
// reason; then nothing was made, and nothing that was there has changed.

typedef struct cli_pack_result {
    char run[128]; // its name in the pack
    uint32_t files;
    uint32_t left_out; // links, sockets and names that no pack has
    bool was_live;     // packed: as of its last checkpoint
    uint64_t bytes;    // of the files
    uint64_t packed;   // of the pack
} cli_pack_result;

// Packs every plain file of the folder of a run into out (NULL: NAME.tar.zst here), which must not
// exist. What belongs to a start of the run stays behind: see docs/internals/files.md. The folder
// is locked meanwhile: no supervisor, learner or replay starts in it. Of a live run a copy beside
// out is packed, which is consistent: its last checkpoint, and tables that have its rows
// (replay_backup.h). path: where it went.
OCT_CHECKED oct_err cli_pack(const char *folder, const char *out, char *path, size_t path_size,
                             cli_pack_result *result, char *reason, size_t reason_size);

// Unpacks into folder (NULL: runs/NAME), which must not exist or be empty, and is replaced: it is
// not the one that this process is in. Everything is unpacked and compared with the manifest in a
// folder beside it, which then takes its name. Unless is_trusted, the folder gets the mark
// OCT_OWNER_UNPACKED: what its files name is then executed only with --trust.
OCT_CHECKED oct_err cli_unpack(const char *pack, const char *folder, bool is_trusted, char *path,
                               size_t path_size, cli_pack_result *result, char *reason,
                               size_t reason_size);

#endif // CLI_PACK_CLI_PACK_H
