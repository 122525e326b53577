#ifndef COMMON_OCT_CALL_H
#define COMMON_OCT_CALL_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_role.h"

// The types of a remote call. proto/ (the meaning of the bytes) and net/ (their transport) share
// them and do not include each other. Everything runs on the loop thread of the caller.

// Receives the answer to a call. frame is borrowed until the function returns; NULL unless err is
// OCT_OK.
typedef void (*oct_reply_fn)(void *arg, oct_err err, const uint8_t *frame, size_t length);

// Sends a request frame, which is borrowed until the function returns. done is called exactly once
// later, also for OCT_ETIMEDOUT and OCT_ECLOSED, unless an error is returned here. OCT_EAGAIN: too
// many calls are in flight.
typedef oct_err (*oct_call_fn)(void *client, const uint8_t *frame, size_t length,
                               uint32_t timeout_ms, oct_reply_fn done, void *done_arg);

// Answers one request, at once or later: begin returns room for a body of length bytes, send takes
// the body over and ends the call. Each call is answered exactly once.
typedef struct oct_responder {
    uint8_t *(*begin)(void *call, size_t length);
    void (*send)(void *call);
} oct_responder;

#endif // COMMON_OCT_CALL_H
