#ifndef TESTS_PROTO_WIRE_PIPE_H
#define TESTS_PROTO_WIRE_PIPE_H

#include "proto/wire_rpc.h"

// A transport in memory between one wire_client and one wire_server. Nothing moves by itself: the
// test delivers requests, and replies, when it wants to.
#define WIRE_PIPE_CALLS_MAX 256

typedef struct wire_pipe wire_pipe;

typedef struct wire_pipe_frame {
    uint8_t *bytes; // a block of exactly length, for the address sanitizer
    size_t length;
} wire_pipe_frame;

// One call, as the transport sees it.
typedef struct wire_pipe_call {
    wire_pipe *pipe;
    wire_pipe_frame request;
    wire_pipe_frame reply;
    oct_reply_fn done;
    void *done_arg;
    uint32_t timeout_ms;
    bool is_delivered;
    bool is_answered;
} wire_pipe_call;

struct wire_pipe {
    wire_server *server; // set by the test
    oct_role role;       // who calls, as the server is told
    oct_err refusal;     // what a new call gets, OCT_OK to take it
    oct_err handled;     // of the last wire_server_handle
    size_t call_count;
    wire_pipe_call calls[WIRE_PIPE_CALLS_MAX];
};

extern const oct_responder wire_pipe_responder;
// An oct_call_fn; the client is the wire_pipe.
oct_err wire_pipe_call_begin(void *pipe, const uint8_t *frame, size_t length, uint32_t timeout_ms,
                             oct_reply_fn done, void *done_arg);

// Gives the server every request that it has not got yet.
void wire_pipe_deliver_requests(wire_pipe *pipe);
// Gives the client every answer that there is, once.
void wire_pipe_deliver_replies(wire_pipe *pipe);
// Answers every call in flight with an error of the transport.
void wire_pipe_fail(wire_pipe *pipe, oct_err err);
// A frame from anyone to the server; its answer is call 0 of the empty pipe.
oct_err wire_pipe_inject(wire_pipe *pipe, const uint8_t *frame, size_t length);
void wire_pipe_clear(wire_pipe *pipe);

#endif // TESTS_PROTO_WIRE_PIPE_H
