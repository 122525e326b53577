#ifndef COMMON_OCT_CALL_H
#define COMMON_OCT_CALL_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_role.h"

// The shape of a remote call, so that proto/ (what the bytes mean) and net/ (how they travel) meet
// without knowing each other. All of it runs on the caller's loop thread.

// The answer to a call. frame is borrowed for the duration of the callback; NULL unless err is
// OCT_OK.
typedef void (*oct_reply_fn)(void *arg, oct_err err, const uint8_t *frame, size_t length);

// Sends a request frame (borrowed for the call) and later calls done exactly once, also on
// OCT_ETIMEDOUT and OCT_ECLOSED. An error returned here means that done will not be called
// (OCT_EAGAIN: too many calls in flight).
typedef oct_err (*oct_call_fn)(void *client, const uint8_t *frame, size_t length,
                               uint32_t timeout_ms, oct_reply_fn done, void *done_arg);

// Answers one request, at once or later: begin returns the body to write length bytes into, send
// gives it away and ends the call. Each call is answered exactly once.
typedef struct oct_responder {
    uint8_t *(*begin)(void *call, size_t length);
    void (*send)(void *call);
} oct_responder;

#endif // COMMON_OCT_CALL_H
