// Checks, reads and writes the contract of an imported policy, a list of keys and texts.
#include "policy/policy_contract.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_bytes.h"
#include "common/oct_text.h"

// Returns true if bytes are UTF-8 without zero bytes.
static bool
is_text(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t step = bytes[i] != '\0' ? oct_text_character(bytes + i, length - i) : 0;
        if (step == 0) {
            return false;
        }
        i += step;
    }
    return true;
}

// Reads one entry. Returns false if the remaining bytes do not begin with an entry.
static bool
entry_read(oct_reader *reader, policy_contract_entry *out)
{
    out->key_length = oct_read_u8(reader);
    const uint8_t *key = oct_read_bytes(reader, out->key_length);
    out->text_length = oct_read_u16(reader);
    const uint8_t *text = oct_read_bytes(reader, out->text_length);
    out->key = (const char *)key;
    out->text = (const char *)text;
    return key != NULL && text != NULL && !reader->failed;
}

bool
policy_contract_check(const uint8_t *bytes, size_t length)
{
    oct_reader reader = {.at = bytes, .left = length};
    if (length > POLICY_CONTRACT_BYTES_MAX) {
        return false;
    }
    for (uint32_t count = 0; reader.left > 0; count++) {
        policy_contract_entry entry;
        if (count == POLICY_CONTRACT_ENTRIES_MAX || !entry_read(&reader, &entry) ||
            entry.key_length == 0 || entry.key_length > POLICY_CONTRACT_KEY_MAX ||
            !is_text((const uint8_t *)entry.key, entry.key_length) ||
            !is_text((const uint8_t *)entry.text, entry.text_length)) {
            return false;
        }
    }
    return true;
}

void
policy_contract_set(policy_image *image, const uint8_t *bytes, uint32_t length)
{
    uint8_t *made = length > 0 ? oct_alloc(length) : NULL;
    if (made != NULL) {
        memcpy(made, bytes, length);
    }
    free(image->contract);
    image->contract = made;
    image->contract_bytes = length;
}

void
policy_contract_copy(policy_image *to, const policy_image *from)
{
    policy_contract_set(to, from->contract, from->contract_bytes);
}

static uint32_t
count_entries(const policy_image *image)
{
    policy_contract_entry entry;
    uint32_t count = 0;
    for (size_t at = 0; policy_contract_next(image, &at, &entry);) {
        count++;
    }
    return count;
}

bool
policy_contract_add(policy_image *image, const char *key, const char *text)
{
    size_t key_length = strlen(key), text_length = strlen(text);
    size_t more = 1 + key_length + 2 + text_length, old = image->contract_bytes;
    policy_contract_entry known;
    if (key_length == 0 || key_length > POLICY_CONTRACT_KEY_MAX || text_length > UINT16_MAX ||
        old + more > POLICY_CONTRACT_BYTES_MAX || policy_contract_find(image, key, &known) ||
        !is_text((const uint8_t *)key, key_length) ||
        !is_text((const uint8_t *)text, text_length) ||
        count_entries(image) == POLICY_CONTRACT_ENTRIES_MAX) {
        return false;
    }
    uint8_t *made = oct_alloc(old + more);
    oct_writer writer = {.base = made, .capacity = old + more};
    oct_write_bytes(&writer, image->contract, old);
    oct_write_u8(&writer, (uint8_t)key_length);
    oct_write_bytes(&writer, key, key_length);
    oct_write_u16(&writer, (uint16_t)text_length);
    oct_write_bytes(&writer, text, text_length);
    OCT_ASSERT(!writer.failed && writer.used == old + more);
    free(image->contract);
    image->contract = made;
    image->contract_bytes = (uint32_t)(old + more);
    return true;
}

bool
policy_contract_next(const policy_image *image, size_t *at, policy_contract_entry *out)
{
    if (image->contract_bytes == *at) {
        return false;
    }
    oct_reader reader = {.at = image->contract + *at, .left = image->contract_bytes - *at};
    bool is_read = entry_read(&reader, out);
    OCT_ASSERT(is_read);
    *at = image->contract_bytes - reader.left;
    return true;
}

bool
policy_contract_find(const policy_image *image, const char *key, policy_contract_entry *out)
{
    size_t length = strlen(key);
    for (size_t at = 0; policy_contract_next(image, &at, out);) {
        if (out->key_length == length && memcmp(out->key, key, length) == 0) {
            return true;
        }
    }
    return false;
}

bool
policy_contract_is_own(const policy_contract_entry *entry)
{
    size_t length = sizeof(POLICY_CONTRACT_OWN) - 1;
    return entry->key_length >= length && memcmp(entry->key, POLICY_CONTRACT_OWN, length) == 0;
}
