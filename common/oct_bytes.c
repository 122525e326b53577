#include "common/oct_bytes.h"

#include <pthread.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Octet's files and messages are little-endian and written as they lie in memory"
#endif

#define CRC_SLICES 8

static uint32_t crc32_table[CRC_SLICES][256];
static uint32_t crc32c_table[CRC_SLICES][256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

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

static void
crc_table_fill(uint32_t table[CRC_SLICES][256], uint32_t polynomial)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
        }
        table[0][i] = crc;
    }
    for (int slice = 1; slice < CRC_SLICES; slice++) {
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t previous = table[slice - 1][i];
            table[slice][i] = (previous >> 8) ^ table[0][previous & 0xff];
        }
    }
}

static void
crc_tables_init(void)
{
    crc_table_fill(crc32_table, 0xEDB88320u);
    crc_table_fill(crc32c_table, 0x82F63B78u);
}

// Slicing by eight: each table holds the effect of a byte that lies that many bytes before the end.
static uint32_t
crc_run(uint32_t table[CRC_SLICES][256], uint32_t crc, const uint8_t *at, size_t count)
{
    (void)pthread_once(&crc_once, crc_tables_init);
    crc = ~crc;
    for (; count >= 8; count -= 8, at += 8) {
        uint32_t low, high;
        memcpy(&low, at, 4);
        memcpy(&high, at + 4, 4);
        low ^= crc;
        crc = table[7][low & 0xff] ^ table[6][(low >> 8) & 0xff] ^ table[5][(low >> 16) & 0xff] ^
              table[4][low >> 24] ^ table[3][high & 0xff] ^ table[2][(high >> 8) & 0xff] ^
              table[1][(high >> 16) & 0xff] ^ table[0][high >> 24];
    }
    for (; count > 0; count--, at++) {
        crc = (crc >> 8) ^ table[0][(crc ^ *at) & 0xff];
    }
    return ~crc;
}

uint32_t
oct_crc32(uint32_t crc, const void *bytes, size_t count)
{
    return crc_run(crc32_table, crc, bytes, count);
}

uint32_t
oct_crc32c(uint32_t crc, const void *bytes, size_t count)
{
    return crc_run(crc32c_table, crc, bytes, count);
}
