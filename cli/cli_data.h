#ifndef CLI_CLI_DATA_H
#define CLI_CLI_DATA_H

#include "common/oct_err.h"
#include "data/data_source.h"

// octet data: what its commands share. Threads: main thread.

// What is in it, for a person, on standard output.
void cli_data_print(const char *path, const data_source *source);
// The same as one line of JSON.
void cli_data_print_json(const char *path, const data_source *source);

// Runs octet_data.py with these arguments, which end with NULL; it tells itself what it did, and on
// standard error why it failed. OCT_ENOTFOUND: the program, or the Python for it (OCTET_PYTHON,
// else python3), is not there; OCT_EIO: it failed. reason: "" when it has told itself.
OCT_CHECKED oct_err cli_data_python(const char *const *arguments, char *reason, size_t reason_size);

#endif // CLI_CLI_DATA_H
