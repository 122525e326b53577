#ifndef POLICY_POLICY_CONTRACT_H
#define POLICY_POLICY_CONTRACT_H

#include "policy/policy_format.h"

// The contract of an imported policy: the model's metadata for the program that runs it (names of
// joints, default positions, gains), and the names of its tensors. It is a list of keys and texts
// in the policy file. Runs publish policies without a contract.
//
// Bytes: for each entry a byte with the length of the key, the key, two bytes (little-endian) with
// the length of the text, the text. Keys have 1 .. 127 bytes; both are UTF-8 without zero bytes.
//
// Threads: any, one user of an image. Owns: an image owns its contract.

#define POLICY_CONTRACT_BYTES_MAX   65536
#define POLICY_CONTRACT_KEY_MAX     127
#define POLICY_CONTRACT_ENTRIES_MAX 256

// The prefix of Octet's own keys; a model's metadata with this prefix is dropped.
#define POLICY_CONTRACT_OWN    "octet."
#define POLICY_CONTRACT_INPUT  POLICY_CONTRACT_OWN "input"  // name of the model's input
#define POLICY_CONTRACT_OUTPUT POLICY_CONTRACT_OWN "output" // of its output with actions or scores

// The strings belong to the image and do not end with a zero byte.
typedef struct policy_contract_entry {
    const char *key;
    const char *text;
    size_t key_length, text_length;
} policy_contract_entry;

// Returns true if bytes are a contract; no bytes are an empty contract.
bool policy_contract_check(const uint8_t *bytes, size_t length);
// Replaces the contract of the image by a copy of bytes, which have passed policy_contract_check.
void policy_contract_set(policy_image *image, const uint8_t *bytes, uint32_t length);
void policy_contract_copy(policy_image *to, const policy_image *from);
// Appends an entry. Returns false and changes nothing if the key or the text is too long or not
// UTF-8, the key is empty or already present, or the contract is full.
bool policy_contract_add(policy_image *image, const char *key, const char *text);
// Reads the entry at *at, which is 0 at first, and moves *at to the next entry. Returns false after
// the last one.
bool policy_contract_next(const policy_image *image, size_t *at, policy_contract_entry *out);
// Finds the entry of that key. Returns false if there is none.
bool policy_contract_find(const policy_image *image, const char *key, policy_contract_entry *out);
// Returns true if the entry has one of Octet's own keys and is not metadata of the model.
bool policy_contract_is_own(const policy_contract_entry *entry);

#endif // POLICY_POLICY_CONTRACT_H
