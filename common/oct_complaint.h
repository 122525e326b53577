#ifndef COMMON_OCT_COMPLAINT_H
#define COMMON_OCT_COMPLAINT_H

#include <stdbool.h>
#include <stdint.h>

// A kind of bad message: counted always, logged at first and then every 10 s at most.
//
// Threads: one user at a time. Owns: nothing. {0}: none has come.
typedef struct oct_complaint {
    uint64_t count;
    uint64_t logged_ns;
} oct_complaint;

// Counts one more. Whether it is to be logged.
bool oct_complaint_is_due(oct_complaint *complaint);

#endif // COMMON_OCT_COMPLAINT_H
