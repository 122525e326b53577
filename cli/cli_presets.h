#ifndef CLI_CLI_PRESETS_H
#define CLI_CLI_PRESETS_H

#include <stdbool.h>

#include "cli/run/cli_folder.h"
#include "common/oct_base.h"

// Presets: the experiment files that come with Octet, by names such as "dmc/cheetah_run": their
// paths below the folder of presets, without ".yaml". The folder is share/octet/presets
// (oct_program_find) where it is installed, and presets/ of the source where it is built.
//
// Threads: main thread.

// OCT_ENOTFOUND: there is none of that name.
OCT_CHECKED oct_err cli_preset_find(const char *name, char out[CLI_PATH_MAX]);
// Whether the file at path, absolute and without links, is one of them.
bool cli_preset_is(const char *path);
// All names in their order, NULL behind the last one; to be given to cli_presets_free.
char **cli_presets_list(void);
void cli_presets_free(char **names);
// What a mistyped name meant; NULL: none is near. cheetah_run is dmc/cheetah_run.
const char *cli_preset_near(const char *name, char *const *names);

#endif // CLI_CLI_PRESETS_H
