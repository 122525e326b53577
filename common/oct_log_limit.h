#ifndef COMMON_OCT_LOG_LIMIT_H
#define COMMON_OCT_LOG_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

// Limits the log about one kind of bad message, because a peer can send any number: each is
// counted, the first is logged, and then one every 10 s.
//
// Threads: one user at a time. Owns: nothing. {0}: none was received.
typedef struct oct_log_limit {
    uint64_t count;
    uint64_t logged_ns; // oct_clock_ns of the last line in the log
} oct_log_limit;

// Counts one message. Returns true if the caller is to log it.
bool oct_log_limit_is_due(oct_log_limit *complaint);

#endif // COMMON_OCT_LOG_LIMIT_H
