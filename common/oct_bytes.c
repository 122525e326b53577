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
