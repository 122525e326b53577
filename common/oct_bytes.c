// Bounded readers and writers of little-endian bytes.
#include "common/oct_bytes.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Octet's files and messages are little-endian and written as they lie in memory"
#endif

const uint8_t *
oct_read_bytes(oct_reader *reader, size_t count)
{
    if (reader->failed || reader->left < count) {
        reader->failed = true;
        return NULL;
    }
    const uint8_t *at = reader->at;
    reader->at += count;
    reader->left -= count;
    return at;
}

void
oct_write_bytes(oct_writer *writer, const void *bytes, size_t count)
{
    // Without a buffer only the size is measured.
    if (writer->base != NULL) {
        if (writer->failed || writer->capacity - writer->used < count) {
            writer->failed = true;
            return;
        }
        if (count != 0) {
            memcpy(writer->base + writer->used, bytes, count);
        }
    }
    writer->used += count;
}

// memcpy, because the bytes may lie at any alignment.
#define SCALAR(type, suffix)                                                                       \
    type oct_read_##suffix(oct_reader *reader)                                                     \
    {                                                                                              \
        type value = 0;                                                                            \
        const uint8_t *at = oct_read_bytes(reader, sizeof(value));                                 \
        if (at != NULL) {                                                                          \
            memcpy(&value, at, sizeof(value));                                                     \
        }                                                                                          \
        return value;                                                                              \
    }                                                                                              \
    void oct_write_##suffix(oct_writer *writer, type value)                                        \
    {                                                                                              \
        oct_write_bytes(writer, &value, sizeof(value));                                            \
    }
SCALAR(uint8_t, u8)
SCALAR(uint16_t, u16)
SCALAR(uint32_t, u32)
SCALAR(uint64_t, u64)
SCALAR(float, f32)
SCALAR(double, f64)
#undef SCALAR

#define FIELD(type, suffix)                                                                        \
    void oct_archive_##suffix(const oct_archive *archive, type *value)                             \
    {                                                                                              \
        if (archive->writer != NULL) {                                                             \
            oct_write_##suffix(archive->writer, *value);                                           \
        } else {                                                                                   \
            *value = oct_read_##suffix(archive->reader);                                           \
        }                                                                                          \
    }
FIELD(uint32_t, u32)
FIELD(uint64_t, u64)
FIELD(float, f32)
FIELD(double, f64)
#undef FIELD

void
oct_archive_bool(const oct_archive *archive, bool *value)
{
    if (archive->writer != NULL) {
        oct_write_u8(archive->writer, *value);
    } else {
        *value = oct_read_u8(archive->reader) != 0;
    }
}

void
oct_archive_bytes(const oct_archive *archive, void *bytes, size_t count)
{
    if (archive->writer != NULL) {
        oct_write_bytes(archive->writer, bytes, count);
        return;
    }
    const uint8_t *from = oct_read_bytes(archive->reader, count);
    if (from != NULL && count != 0) {
        memcpy(bytes, from, count);
    }
}

bool
oct_archive_check(const oct_archive *archive, bool is_sound)
{
    if (archive->reader != NULL && !is_sound) {
        archive->reader->failed = true;
    }
    return archive->reader == NULL || !archive->reader->failed;
}
