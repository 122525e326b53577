// Finds an array in an archive of numpy.savez, by the directory at the end of the file.
#include "import/import_npz.h"

#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_bytes.h"

#define LOCAL_MAGIC   0x04034b50u
#define ENTRY_MAGIC   0x02014b50u
#define END_MAGIC     0x06054b50u
#define END_BYTES     22
#define COMMENT_MAX   65535
#define LOCAL_NAME_AT 26 // lengths of the name and of the extra field

bool
import_npz_is_zip(const uint8_t *bytes, size_t length)
{
    return length >= 4 && memcmp(bytes, "PK\003\004", 4) == 0;
}

// The directory. False: there is none.
static bool
directory_find(const uint8_t *bytes, size_t length, oct_reader *out, uint32_t *count)
{
    for (size_t back = END_BYTES; back <= length && back <= END_BYTES + COMMENT_MAX; back++) {
        oct_reader end = {.at = bytes + length - back, .left = back};
        if (oct_read_u32(&end) != END_MAGIC) {
            continue;
        }
        (void)oct_read_bytes(&end, 6); // numbers of disks, entries on this one
        *count = oct_read_u16(&end);
        uint32_t size = oct_read_u32(&end), at = oct_read_u32(&end);
        if (at > length || size > length - at) {
            return false;
        }
        *out = (oct_reader){.at = bytes + at, .left = size};
        return true;
    }
    return false;
}

typedef struct zip_entry {
    const uint8_t *name;
    size_t name_length;
    uint16_t method; // 0: stored
    uint32_t bytes;  // in the file
    uint32_t at;     // of the local header
} zip_entry;

static bool
entry_read(oct_reader *directory, zip_entry *out)
{
    bool is_entry = oct_read_u32(directory) == ENTRY_MAGIC;
    (void)oct_read_bytes(directory, 6); // versions, flags
    out->method = oct_read_u16(directory);
    (void)oct_read_bytes(directory, 8); // time, check sum
    out->bytes = oct_read_u32(directory);
    (void)oct_read_u32(directory); // bytes once unpacked
    out->name_length = oct_read_u16(directory);
    size_t extra = oct_read_u16(directory), comment = oct_read_u16(directory);
    (void)oct_read_bytes(directory, 8); // disk, attributes
    out->at = oct_read_u32(directory);
    out->name = oct_read_bytes(directory, out->name_length);
    (void)oct_read_bytes(directory, extra + comment);
    return is_entry && !directory->failed;
}

static bool
is_named(const zip_entry *entry, const char *name)
{
    size_t length = strlen(name);
    return entry->name_length == length + 4 && memcmp(entry->name, name, length) == 0 &&
           memcmp(entry->name + length, ".npy", 4) == 0;
}

// Where the bytes of the entry begin, behind its own header. NULL: they are not in the file.
static const uint8_t *
data_find(const uint8_t *bytes, size_t length, const zip_entry *entry)
{
    if (entry->at > length) {
        return NULL;
    }
    oct_reader reader = {.at = bytes + entry->at, .left = length - entry->at};
    bool is_local = oct_read_u32(&reader) == LOCAL_MAGIC;
    (void)oct_read_bytes(&reader, LOCAL_NAME_AT - 4);
    size_t name = oct_read_u16(&reader), extra = oct_read_u16(&reader);
    (void)oct_read_bytes(&reader, name + extra);
    const uint8_t *data = oct_read_bytes(&reader, entry->bytes);
    return is_local && !reader.failed ? data : NULL;
}

oct_err
import_npz_find(const uint8_t *bytes, size_t length, const char *name, const uint8_t **array,
                size_t *array_length, char *reason, size_t reason_size)
{
    oct_reader directory;
    zip_entry entry;
    uint32_t count;
    if (!directory_find(bytes, length, &directory, &count)) {
        (void)snprintf(reason, reason_size, "the zip archive has no directory: it is cut off");
        return OCT_EPROTO;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!entry_read(&directory, &entry)) {
            (void)snprintf(reason, reason_size, "the directory of the zip archive is damaged");
            return OCT_EPROTO;
        }
        if (!is_named(&entry, name)) {
            continue;
        }
        *array = data_find(bytes, length, &entry);
        *array_length = entry.bytes;
        if (entry.method != 0 || *array == NULL) {
            (void)snprintf(reason, reason_size, "array '%s' is %s", name,
                           entry.method != 0 ? "compressed; write the file with numpy.savez"
                                             : "damaged: its bytes are not in the file");
            return OCT_EPROTO;
        }
        return OCT_OK;
    }
    return OCT_ENOTFOUND;
}
