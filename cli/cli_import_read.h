#ifndef CLI_CLI_IMPORT_READ_H
#define CLI_CLI_IMPORT_READ_H

#include "cli/cli_import_options.h"
#include "common/oct_err.h"
#include "common/oct_reason.h"
#include "policy/import/import_model.h"
#include "policy/import/import_npy.h"

// Reads the model of octet import and recognises its kind by its content. An ONNX model is decoded
// here. Agents of Stable-Baselines3 (a zip) and files of PyTorch (a zip or a pickle) are read by
// octet_import.py, which answers with an ONNX model and the options that the file implies.
//
// Threads: main thread.

#define CLI_IMPORT_NOTES_MAX 4

typedef struct cli_import_source {
    import_model *model;
    const char *notes[CLI_IMPORT_NOTES_MAX]; // what octet_import.py took, assumed or left out
    size_t note_count;
    // owned; notes and texts of the options point into it; NULL: the file is an ONNX model
    char *answer;
} cli_import_source;

// Reads the model. Sets in options->request what the file implies and the user left open; options
// must not outlive *out. Errors, with one line in reason:
//   OCT_ENOTFOUND  the file, Python or the program does not exist
//   OCT_EPROTO, OCT_EINVAL  the file is not a model that can be read
//   OCT_EIO  reading failed
OCT_CHECKED oct_err cli_import_read(cli_import_source *out, cli_import_options *options,
                                    oct_reason *why);
// Returns true if a file begins like those that octet_import.py reads: zip archives and pickles.
bool cli_import_is_python(const uint8_t *head, size_t length);
// Reads a normaliser (a pickle, a file of PyTorch, arrays of numpy.savez or savez_compressed) or
// rows of observations (such arrays). The caller frees *answer, which has length bytes and a zero
// byte after them. It is an object in JSON with mean, std and, if known, clip and note; or it
// consists of arrays for cli_import_array_next: those of a normaliser, or that of the observations,
// which is named observations or is the file's only array. Errors are those of cli_import_read.
typedef enum cli_import_part { CLI_IMPORT_NORMALISER, CLI_IMPORT_OBSERVATIONS } cli_import_part;
OCT_CHECKED oct_err cli_import_read_part(char **answer, size_t *length, cli_import_part part,
                                         const char *path, oct_reason *why);
// Takes the next array from the rest of an answer: its name and the bytes of a .npy file, both in
// the answer. False: there is none left.
bool cli_import_array_next(char **left, size_t *left_length, const char **name,
                           const uint8_t **bytes, size_t *length);
// Reads rows of observations from a .npy file, or from the array of a .npz file that is named
// observations or is the only one. Errors are those of import_npy_load and cli_import_read.
OCT_CHECKED oct_err cli_import_read_observations(import_npy *out, const char *path,
                                                 oct_reason *why);
void cli_import_source_free(cli_import_source *source);

#endif // CLI_CLI_IMPORT_READ_H
