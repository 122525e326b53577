#ifndef CLI_CLI_PRESETS_H
#define CLI_CLI_PRESETS_H

#include <stdbool.h>

#include "cli/run/cli_folder.h"
#include "common/oct_base.h"

// Presets: the experiment files that come with Octet. The name of a preset, such as
// "dmc/cheetah_run", is its path below the folder of presets, without ".yaml". The folder is
// share/octet/presets in an installation (oct_program_find), and presets/ of the source in a build
// tree.
//
// Threads: main thread.

// Finds the path of a preset. OCT_ENOTFOUND: there is none of this name.
OCT_CHECKED oct_err cli_preset_find(const char *name, char out[CLI_PATH_MAX]);
// Returns true if path, absolute and without links, is the file of a preset.
bool cli_preset_is(const char *path);
// Returns all names in order, NULL-terminated; cli_presets_free frees them.
char **cli_presets_list(void);
void cli_presets_free(char **names);
// Returns the preset that a mistyped name meant, or NULL. cheetah_run is near dmc/cheetah_run.
const char *cli_preset_near(const char *name, char *const *names);

#endif // CLI_CLI_PRESETS_H
