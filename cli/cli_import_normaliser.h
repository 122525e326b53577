#ifndef CLI_CLI_IMPORT_NORMALISER_H
#define CLI_CLI_IMPORT_NORMALISER_H

#include "import/import_graph.h"

// Reads what octet import --normalizer names: the means and deviations of observations.
//   FILE.npz   numpy.savez with mean and std, or with mean and var; epsilon and clip are optional
//   FILE.npy   two rows, the means and the deviations
//   MEAN.npy,STD.npy
//   FILE.json  an object with the keys of FILE.npz
// With var the deviation is sqrt(var + epsilon), with std it is std + epsilon; epsilon is 0 if it
// is not given.
//
// Threads: main thread. Owns: what it reads, until cli_import_normaliser_free.

// Returns true if the file is a pickle or a zip archive of PyTorch, which cli_import_read.h reads.
bool cli_import_normaliser_is_pickle(const char *path);
// False with one line in reason: the file cannot be read, or a number is not allowed.
bool cli_import_normaliser_load(import_normaliser *out, const char *path, char *reason,
                                size_t reason_size);
void cli_import_normaliser_free(import_normaliser *normaliser); // zeroed is a no-op

#endif // CLI_CLI_IMPORT_NORMALISER_H
