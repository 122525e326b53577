#ifndef COMMON_OCT_FAILURE_H
#define COMMON_OCT_FAILURE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/oct_base.h"

// Why a process failed, as a value for the process that started it.
//
// 1. The parent makes a file without a name (oct_failure_open) and lets the child inherit its
//    descriptor. OCTET_FAILURE_FD in the child's environment has the number.
// 2. The child records each error that it logs (oct_log_error) or prints (oct_failure_print). A
//    record replaces the one before it, so the file has the last error, and nothing fills up or
//    blocks, as a pipe would.
// 3. The parent reads the record when the child has ended, or earlier. How the child ended is in
//    its wait status: a child that was killed may have recorded nothing, or an error that it had
//    survived.
//
// A process that was started by hand has no such file, and records nothing; its log has each error
// anyway. The file is untrusted input for the parent: it cannot grow, and a record that is not
// complete is none.
//
// Threads: any, after oct_failure_begin. Owns: the descriptors are the caller's.

#define OCT_FAILURE_FD       "OCTET_FAILURE_FD"
#define OCT_FAILURE_BYTES    2048 // of a record; it is one line, "TIME ID TEXT\n", time in µs
#define OCT_FAILURE_ID_MAX   64   // with the zero byte
#define OCT_FAILURE_TEXT_MAX 1024 // with the zero byte; a longer text is cut

typedef enum oct_failure_kind {
    OCT_FAILURE_ERROR,       // the last error: a person must act
    OCT_FAILURE_ENVIRONMENT, // of an actor: why the last step that it left out failed
    OCT_FAILURE_KINDS,
} oct_failure_kind;

typedef struct oct_failure {
    uint64_t wall_us;                // when it was recorded
    char id[OCT_FAILURE_ID_MAX];     // of the log line; "-": it was printed
    char text[OCT_FAILURE_TEXT_MAX]; // one line without control characters, never empty
} oct_failure;

// ---- in the child

// Finds the parent's file. Part of oct_start.
void oct_failure_begin(void);
// Records the first line of text.
void oct_failure_write(oct_failure_kind kind, const char *id, const char *text);
// Prints "PROGRAM: error: …" to standard error, and records what follows "error: ".
void oct_failure_print(const char *program, const char *format, ...) OCT_PRINTF(2, 3);

// ---- in the parent

// Returns the descriptor of a new file, which exec closes, or -1; errno has the reason.
int oct_failure_open(void);
// Reads a record. Returns false if there is none, or fd is -1.
bool oct_failure_read(int fd, oct_failure_kind kind, oct_failure *out);

#endif // COMMON_OCT_FAILURE_H
