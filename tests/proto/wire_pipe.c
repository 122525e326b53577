// A transport in memory between a wire_client and a wire_server that moves messages when the test
// says so.
#include "tests/proto/wire_pipe.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

// malloc, not oct_alloc: blocks of the exact length show a read past the end.
static wire_pipe_frame
frame_copy(const uint8_t *bytes, size_t length)
{
    wire_pipe_frame frame = {.bytes = malloc(length + (length == 0)), .length = length};
    OCT_ASSERT(frame.bytes != NULL);
    if (bytes != NULL && length != 0) {
        memcpy(frame.bytes, bytes, length);
    }
    return frame;
}

oct_err
wire_pipe_call_begin(void *arg, const uint8_t *frame, size_t length, uint32_t timeout_ms,
                     oct_reply_fn done, void *done_arg)
{
    wire_pipe *pipe = arg;
    if (pipe->refusal != OCT_OK) {
        return pipe->refusal;
    }
    OCT_ASSERT(pipe->call_count < WIRE_PIPE_CALLS_MAX);
    pipe->calls[pipe->call_count++] = (wire_pipe_call){
        .pipe = pipe,
        .request = frame_copy(frame, length),
        .done = done,
        .done_arg = done_arg,
        .timeout_ms = timeout_ms,
    };
    return OCT_OK;
}

static uint8_t *
reply_begin(void *arg, size_t length)
{
    wire_pipe_call *call = arg;
    OCT_ASSERT(call->reply.bytes == NULL);
    call->reply = frame_copy(NULL, length);
    return call->reply.bytes;
}

static void
reply_send(void *arg)
{
    wire_pipe_call *call = arg;
    OCT_ASSERT(call->reply.bytes != NULL && !call->is_answered);
    call->is_answered = true;
}

const oct_responder wire_pipe_responder = {.begin = reply_begin, .send = reply_send};

void
wire_pipe_deliver_requests(wire_pipe *pipe)
{
    for (size_t i = 0; i < pipe->call_count; i++) {
        wire_pipe_call *call = &pipe->calls[i];
        if (!call->is_delivered) {
            call->is_delivered = true;
            pipe->handled = wire_server_handle(pipe->server, call, pipe->role, call->request.bytes,
                                               call->request.length);
        }
    }
}

static void
call_finish(wire_pipe_call *call, oct_err err)
{
    oct_reply_fn done = call->done;
    call->done = NULL;
    if (done != NULL) {
        done(call->done_arg, err, err == OCT_OK ? call->reply.bytes : NULL,
             err == OCT_OK ? call->reply.length : 0);
    }
}

void
wire_pipe_deliver_replies(wire_pipe *pipe)
{
    for (size_t i = 0; i < pipe->call_count; i++) {
        if (pipe->calls[i].is_answered) {
            call_finish(&pipe->calls[i], OCT_OK);
        }
    }
}

void
wire_pipe_fail(wire_pipe *pipe, oct_err err)
{
    for (size_t i = 0; i < pipe->call_count; i++) {
        call_finish(&pipe->calls[i], err);
    }
}

oct_err
wire_pipe_inject(wire_pipe *pipe, const uint8_t *frame, size_t length)
{
    OCT_ASSERT(pipe->call_count == 0);
    wire_pipe_call *call = &pipe->calls[pipe->call_count++];
    *call =
        (wire_pipe_call){.pipe = pipe, .request = frame_copy(frame, length), .is_delivered = true};
    pipe->handled = wire_server_handle(pipe->server, call, pipe->role, call->request.bytes,
                                       call->request.length);
    return pipe->handled;
}

void
wire_pipe_clear(wire_pipe *pipe)
{
    for (size_t i = 0; i < pipe->call_count; i++) {
        free(pipe->calls[i].request.bytes);
        free(pipe->calls[i].reply.bytes);
    }
    pipe->call_count = 0;
}
