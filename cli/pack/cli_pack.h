#ifndef CLI_PACK_CLI_PACK_H
#define CLI_PACK_CLI_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"

// Packs a run folder into one file, and unpacks it. Threads: main thread. Errors: reason gets one
// line for a person; nothing was made, and no existing file has changed.

typedef struct cli_pack_result {
    char path[OCT_FILE_PATH_MAX]; // of the pack, or of the folder
    char run[128];                // the run's name in the pack
    uint32_t files;
    uint32_t left_out; // links, sockets and devices
    bool was_live;     // packing: the run was live, and is packed as of its last checkpoint
    uint64_t bytes;    // of all files
    uint64_t packed;   // of the pack
} cli_pack_result;

// Packs every plain file of a run folder into out (NULL: NAME.tar.zst in the current folder), which
// must not exist. Files that belong to a start of the run are left out (docs/internals/files.md).
// The folder is locked meanwhile, so that no supervisor, learner or replay starts in it. If the run
// is live, a consistent copy beside out is packed: its last checkpoint, and tables that have the
// checkpoint's rows (replay_backup.h).
OCT_CHECKED oct_err cli_pack(const char *folder, const char *out, cli_pack_result *result,
                             oct_reason *why);

// Unpacks into folder (NULL: runs/NAME), which must not exist or be empty, and must not be the
// current folder, because it is replaced. Everything is unpacked into a folder beside it and
// compared with the manifest; that folder then takes the name. Unless is_trusted, the folder gets
// the mark OCT_OWNER_UNPACKED, and code that its files name is executed only with --trust.
OCT_CHECKED oct_err cli_unpack(const char *pack, const char *folder, bool is_trusted,
                               cli_pack_result *result, oct_reason *why);

#endif // CLI_PACK_CLI_PACK_H
