// Compresses to a file descriptor and decompresses from one, as streams of zstd.

#include "cli/pack/cli_pack_stream.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include <zstd.h>

#include "common/oct_base.h"
#include "common/oct_file.h"

#define BUFFER_BYTES   (128u << 10)
#define LEVEL          3  // zstd's default
#define WINDOW_LOG_MAX 27 // most memory that a frame may ask a reader for: 128 MiB

struct cli_pack_writer {
    int fd;
    ZSTD_CCtx *zstd;
    uint8_t out[BUFFER_BYTES];
};

struct cli_pack_reader {
    int fd;
    ZSTD_DCtx *zstd;
    ZSTD_inBuffer in;
    bool at_end;   // of the file
    bool is_whole; // the last frame is complete
    uint8_t bytes[BUFFER_BYTES];
};

// With a checksum in the frame, a reader finds damage to any byte.
cli_pack_writer *
cli_pack_writer_create(int fd)
{
    cli_pack_writer *writer = oct_alloc(sizeof(*writer));
    writer->fd = fd;
    writer->zstd = ZSTD_createCCtx();
    OCT_ASSERT(writer->zstd != NULL);
    OCT_ASSERT(!ZSTD_isError(ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_compressionLevel, LEVEL)));
    OCT_ASSERT(!ZSTD_isError(ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_checksumFlag, 1)));
    return writer;
}

// Writes what zstd gives out; with ZSTD_e_end also what it has kept.
static oct_err
compress(cli_pack_writer *writer, ZSTD_inBuffer *in, ZSTD_EndDirective how)
{
    size_t left;
    do {
        ZSTD_outBuffer out = {writer->out, sizeof(writer->out), 0};
        left = ZSTD_compressStream2(writer->zstd, &out, in, how);
        OCT_ASSERT(!ZSTD_isError(left)); // only memory can run out
        OCT_TRY(oct_file_write_all(writer->fd, writer->out, out.pos));
    } while (how == ZSTD_e_end ? left > 0 : in->pos < in->size);
    return OCT_OK;
}

oct_err
cli_pack_write(cli_pack_writer *writer, const void *bytes, size_t length)
{
    ZSTD_inBuffer in = {bytes, length, 0};
    return compress(writer, &in, ZSTD_e_continue);
}

oct_err
cli_pack_writer_finish(cli_pack_writer *writer)
{
    ZSTD_inBuffer nothing = {NULL, 0, 0};
    return compress(writer, &nothing, ZSTD_e_end);
}

void
cli_pack_writer_destroy(cli_pack_writer *writer)
{
    if (writer != NULL) {
        (void)ZSTD_freeCCtx(writer->zstd);
        free(writer);
    }
}

cli_pack_reader *
cli_pack_reader_create(int fd)
{
    cli_pack_reader *reader = oct_alloc(sizeof(*reader));
    reader->fd = fd;
    reader->in.src = reader->bytes;
    reader->zstd = ZSTD_createDCtx();
    OCT_ASSERT(reader->zstd != NULL);
    OCT_ASSERT(
        !ZSTD_isError(ZSTD_DCtx_setParameter(reader->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX)));
    return reader;
}

static oct_err
refill(cli_pack_reader *reader)
{
    ssize_t count;
    do {
        count = read(reader->fd, reader->bytes, sizeof(reader->bytes));
    } while (count < 0 && errno == EINTR);
    if (count < 0) {
        return OCT_EIO;
    }
    reader->at_end = count == 0;
    reader->in.size = (size_t)count;
    reader->in.pos = 0;
    return OCT_OK;
}

// Decompresses until out is full or the file ends.
static oct_err
decompress(cli_pack_reader *reader, ZSTD_outBuffer *out)
{
    while (out->pos < out->size) {
        if (reader->in.pos == reader->in.size && !reader->at_end) {
            OCT_TRY(refill(reader));
        }
        size_t before = out->pos, in_before = reader->in.pos;
        size_t left = ZSTD_decompressStream(reader->zstd, out, &reader->in);
        if (ZSTD_isError(left)) {
            return OCT_EPROTO;
        }
        if (out->pos != before || reader->in.pos != in_before) {
            reader->is_whole = left == 0;
        } else if (reader->at_end) {
            return OCT_OK; // the file has ended
        }
    }
    return OCT_OK;
}

// OCT_ECLOSED: the stream ends before length bytes. OCT_EPROTO: it is not zstd, or is damaged.
oct_err
cli_pack_read(cli_pack_reader *reader, void *bytes, size_t length)
{
    ZSTD_outBuffer out = {bytes, length, 0};
    OCT_TRY(decompress(reader, &out));
    return out.pos == length ? OCT_OK : OCT_ECLOSED;
}

// OCT_OK only if the stream ends exactly here, with a complete frame.
oct_err
cli_pack_reader_finish(cli_pack_reader *reader)
{
    uint8_t byte;
    ZSTD_outBuffer out = {&byte, 1, 0};
    OCT_TRY(decompress(reader, &out)); // fewer bytes: the file ends too early
    return out.pos > 0 ? OCT_EPROTO : reader->is_whole ? OCT_OK : OCT_ECLOSED;
}

void
cli_pack_reader_destroy(cli_pack_reader *reader)
{
    if (reader != NULL) {
        (void)ZSTD_freeDCtx(reader->zstd);
        free(reader);
    }
}
