#ifndef CLI_PACK_CLI_PACK_STREAM_H
#define CLI_PACK_CLI_PACK_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// Streams bytes through zstd into a file or out of one, with bounded memory. Threads: one user at a
// time. Owns: its buffers; the descriptor belongs to the caller. Errors:
//   OCT_EIO  reading or writing failed; errno is set
//   OCT_EPROTO  reading: the bytes are damaged, or not of zstd
//   OCT_ECLOSED  reading: the file ends too early
typedef struct cli_pack_writer cli_pack_writer;
typedef struct cli_pack_reader cli_pack_reader;

cli_pack_writer *cli_pack_writer_create(int fd);
OCT_CHECKED oct_err cli_pack_write(cli_pack_writer *writer, const void *bytes, size_t length);
// Writes what is still buffered, and ends the frame.
OCT_CHECKED oct_err cli_pack_writer_finish(cli_pack_writer *writer);
void cli_pack_writer_destroy(cli_pack_writer *writer); // NULL is a no-op

cli_pack_reader *cli_pack_reader_create(int fd);
OCT_CHECKED oct_err cli_pack_read(cli_pack_reader *reader, void *out, size_t length);
// OCT_OK: the file ends here. OCT_EPROTO: more bytes follow.
OCT_CHECKED oct_err cli_pack_reader_finish(cli_pack_reader *reader);
void cli_pack_reader_destroy(cli_pack_reader *reader); // NULL is a no-op

#endif // CLI_PACK_CLI_PACK_STREAM_H
