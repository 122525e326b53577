#ifndef CLI_CLI_IMPORT_READ_H
#define CLI_CLI_IMPORT_READ_H

#include "cli/cli_import_options.h"
#include "common/oct_err.h"
#include "import/import_model.h"

// Reads the file of octet import, which its content tells apart: an ONNX model is decoded here;
// agents of Stable-Baselines3 (a zip) and files of PyTorch (a zip or a pickle) are read by
// octet_import.py, which answers with an ONNX model and the options that the file implies.
//
// Threads: main thread.

#define CLI_IMPORT_NOTES_MAX 4

typedef struct cli_import_source {
    import_model *model;
    const char *notes[CLI_IMPORT_NOTES_MAX]; // what octet_import.py took, assumed or left out
    size_t note_count;
    char *answer; // owned; notes and texts of the options point into it; NULL: an ONNX model
} cli_import_source;

// Sets what the file implies and the user left open in options->request; options must not outlive
// *out. Errors, with one line in reason: OCT_ENOTFOUND: the file, the Python or its program;
// OCT_EPROTO or OCT_EINVAL: the file is not a model that can be read; OCT_EIO.
OCT_CHECKED oct_err cli_import_read(cli_import_source *out, cli_import_options *options,
                                    char *reason, size_t reason_size);
// Reads a normaliser in a pickle, or in a file of PyTorch. *json is an object with mean, std and,
// where they are known, clip and note; the caller frees it. Errors as of cli_import_read.
OCT_CHECKED oct_err cli_import_read_normaliser(char **json, const char *path, char *reason,
                                               size_t reason_size);
void cli_import_source_free(cli_import_source *source);

#endif // CLI_CLI_IMPORT_READ_H
