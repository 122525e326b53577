#ifndef CLI_PACK_CLI_PACK_STREAM_H
#define CLI_PACK_CLI_PACK_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// Bytes through zstd, into a file or out of one. Bounded memory, however long the file. Threads:
// one user at a time. Owns: its buffers; the descriptor is the caller's. Errors of both: OCT_EIO
// with errno set; the reader's: OCT_EPROTO, what is there is damaged or none of zstd's;
// OCT_ECLOSED, the file ends in the middle.
typedef struct cli_pack_writer cli_pack_writer;
typedef struct cli_pack_reader cli_pack_reader;

cli_pack_writer *cli_pack_writer_create(int fd);
OCT_CHECKED oct_err cli_pack_write(cli_pack_writer *writer, const void *bytes, size_t length);
// What is still in it, and the end.
OCT_CHECKED oct_err cli_pack_writer_finish(cli_pack_writer *writer);
void cli_pack_writer_destroy(cli_pack_writer *writer); // NULL is a no-op

cli_pack_reader *cli_pack_reader_create(int fd);
OCT_CHECKED oct_err cli_pack_read(cli_pack_reader *reader, void *out, size_t length);
// OCT_OK: nothing is left; OCT_EPROTO: something is.
OCT_CHECKED oct_err cli_pack_reader_finish(cli_pack_reader *reader);
void cli_pack_reader_destroy(cli_pack_reader *reader); // NULL is a no-op

#endif // CLI_PACK_CLI_PACK_STREAM_H
