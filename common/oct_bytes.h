#ifndef COMMON_OCT_BYTES_H
#define COMMON_OCT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Little-endian bytes, bounded. A reader or writer that runs past its end sets failed and stays
// failed; reads then give 0 and writes do nothing, so a decoder checks once, at its end.
// Threads: any, one user at a time. Owns: nothing; both borrow the buffer.
typedef struct oct_reader {
    const uint8_t *at; // the next byte to read
    size_t left;
    bool failed;
} oct_reader;

typedef struct oct_writer {
    uint8_t *base; // NULL measures only: used counts, nothing is written
    size_t used;
    size_t capacity;
    bool failed;
} oct_writer;

uint8_t oct_read_u8(oct_reader *reader);
uint16_t oct_read_u16(oct_reader *reader);
uint32_t oct_read_u32(oct_reader *reader);
uint64_t oct_read_u64(oct_reader *reader);
float oct_read_f32(oct_reader *reader);
double oct_read_f64(oct_reader *reader);
// A view of the next count bytes, NULL (and failed) when there are fewer.
const uint8_t *oct_read_bytes(oct_reader *reader, size_t count);

void oct_write_u8(oct_writer *writer, uint8_t value);
void oct_write_u16(oct_writer *writer, uint16_t value);
void oct_write_u32(oct_writer *writer, uint32_t value);
void oct_write_u64(oct_writer *writer, uint64_t value);
void oct_write_f32(oct_writer *writer, float value);
void oct_write_f64(oct_writer *writer, double value);
void oct_write_bytes(oct_writer *writer, const void *bytes, size_t count);

// A state's bytes in one direction or the other. A function that lists the fields of a state with
// an archive both writes and reads them, so that the two cannot differ. While it writes, it changes
// no field.
typedef struct oct_archive {
    oct_writer *writer; // NULL: the archive reads
    oct_reader *reader; // NULL: the archive writes
} oct_archive;

void oct_archive_bool(const oct_archive *archive, bool *value); // one byte
void oct_archive_u32(const oct_archive *archive, uint32_t *value);
void oct_archive_u64(const oct_archive *archive, uint64_t *value);
void oct_archive_f32(const oct_archive *archive, float *value);
void oct_archive_f64(const oct_archive *archive, double *value);
void oct_archive_bytes(const oct_archive *archive, void *bytes, size_t count);
// While the archive reads, is_sound says whether the fields so far are possible; if not, the reader
// fails. Returns false if the reader has failed, so that a count that was read can be used after
// it.
bool oct_archive_check(const oct_archive *archive, bool is_sound);

// CRC-32 (IEEE 802.3, reflected 0xEDB88320) and CRC-32C (Castagnoli, reflected 0x82F63B78) of count
// bytes, continued from crc (0 to begin). O(count). oct_crc32 multiplies without carries where the
// CPU can; oct_crc32_table is what it has to equal.
uint32_t oct_crc32(uint32_t crc, const void *bytes, size_t count);
uint32_t oct_crc32_table(uint32_t crc, const void *bytes, size_t count);
uint32_t oct_crc32c(uint32_t crc, const void *bytes, size_t count);

#endif // COMMON_OCT_BYTES_H
