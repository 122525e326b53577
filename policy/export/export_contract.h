#ifndef POLICY_EXPORT_EXPORT_CONTRACT_H
#define POLICY_EXPORT_EXPORT_CONTRACT_H

#include <stdio.h>

#include "policy/policy_format.h"

// Writes the contract of an imported policy (policy/policy_contract.h) into an exported header: a
// macro with a string for each entry, UPPER_METADATA_KEY. The key is in capitals, with underscores
// for characters that a C name cannot have. If two keys give the same macro, only the first one is
// written.
//
// Threads: any. Owns: nothing.
void export_contract_write(FILE *out, const policy_image *image, const char *upper);

#endif // POLICY_EXPORT_EXPORT_CONTRACT_H
