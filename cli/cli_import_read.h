#ifndef CLI_CLI_IMPORT_READ_H
#define CLI_CLI_IMPORT_READ_H

#include "cli/cli_import_options.h"
#include "common/oct_err.h"
#include "import/import_model.h"
#include "import/import_npy.h"

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
// Returns true if a file begins as those do that octet_import.py reads: zip archives and pickles.
bool cli_import_is_python(const uint8_t *head, size_t length);
// Reads a normaliser (a pickle, a file of PyTorch, arrays of numpy.savez or savez_compressed) or
// rows of observations (such arrays). *answer, which the caller frees, has length bytes and a zero
// byte behind them. It is an object in JSON with mean, std and, where they are known, clip and
// note; or arrays for cli_import_array_next: a normaliser's arrays, or the array of observations,
// which has that name or is the file's only array. Errors as of cli_import_read.
typedef enum cli_import_part { CLI_IMPORT_NORMALISER, CLI_IMPORT_OBSERVATIONS } cli_import_part;
OCT_CHECKED oct_err cli_import_read_part(char **answer, size_t *length, cli_import_part part,
                                         const char *path, char *reason, size_t reason_size);
// Takes the next array from what is left of an answer: its name and the bytes of a .npy file, both
// in the answer. False: there are no more.
bool cli_import_array_next(char **left, size_t *left_length, const char **name,
                           const uint8_t **bytes, size_t *length);
// Rows of observations of an .npy file, or of the array of an .npz file that is named observations
// or is the only one. Errors as of import_npy_load and cli_import_read.
OCT_CHECKED oct_err cli_import_read_observations(import_npy *out, const char *path, char *reason,
                                                 size_t reason_size);
void cli_import_source_free(cli_import_source *source);

#endif // CLI_CLI_IMPORT_READ_H
