#ifndef CLI_CLI_IMPORT_NORMALISER_H
#define CLI_CLI_IMPORT_NORMALISER_H

#include "common/oct_reason.h"
#include "policy/import/import_graph.h"

// Reads the file of octet import --normalizer: the means and deviations of observations.
//   FILE.npz               numpy.savez (or savez_compressed) with mean and std, or with mean and
//                          var; epsilon and clip are optional
//   FILE.npy               two rows, the means and the deviations
//   MEAN.npy,STD.npy       one file for each
//   FILE.json              an object with the keys of FILE.npz
//   FILE.pkl               a VecNormalize of Stable-Baselines3, or a dictionary with _mean and _std
//                          as in rsl_rl, also in a file of PyTorch
// Files of .npz and .pkl are read through Python (cli_import_read.h).
// With var the deviation is sqrt(var + epsilon), with std it is std + epsilon. epsilon is 0 by
// default.
//
// Threads: main thread. Owns: what it reads, until cli_import_normaliser_free.

// note: what the normaliser does in addition and policies leave out, for a person; "": nothing.
// False: the file cannot be read, or a number is not allowed; reason gets one line.
bool cli_import_normaliser_load(import_normaliser *out, char *note, size_t note_size,
                                const char *path, oct_reason *why);
void cli_import_normaliser_free(import_normaliser *normaliser); // zeroed is a no-op

#endif // CLI_CLI_IMPORT_NORMALISER_H
