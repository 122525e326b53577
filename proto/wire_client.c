// The client side of wire_rpc.h. protobuf-c's generated functions call client_invoke, which frames
// the request; the reply reaches the method's closure.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_text.h"
#include "proto/octet.pb-c.h"
#include "proto/wire_check.h"
#include "proto/wire_convert.h"
#include "proto/wire_rpc.h"

#define BUFFER_BYTES_MIN 4096

// One call in flight.
typedef struct call_slot {
    wire_client *client;
    struct call_slot *next_free;
    const ProtobufCMessageDescriptor *output;
    ProtobufCClosure closure;
    void (*done)(void); // a wire_METHOD_done; only that method's closure calls it
    void *done_arg;
    oct_err err;
} call_slot;

// One service as protobuf-c sees it. base first: invoke gets a pointer to it.
typedef struct client_service {
    ProtobufCService base;
    wire_client *client;
    uint16_t code; // of its method 0
} client_service;

struct wire_client {
    client_service learner;
    client_service replay;
    oct_call_fn call;
    void *call_arg;
    wire_arena *arena;
    uint8_t *buffer; // the request frame being sent
    size_t buffer_bytes;
    uint32_t timeout_ms; // of the call being made
    oct_err invoked;     // how the transport took it
    char detail[WIRE_DETAIL_MAX + 1];
    uint32_t open;
    call_slot *free_slots;
    call_slot slots[WIRE_CALLS_MAX];
};

static call_slot *
slot_take(wire_client *client)
{
    call_slot *slot = client->free_slots;
    if (slot != NULL) {
        client->free_slots = slot->next_free;
        client->open++;
    }
    return slot;
}

static void
slot_release(call_slot *slot)
{
    wire_client *client = slot->client;
    slot->next_free = client->free_slots;
    client->free_slots = slot;
    client->open--;
}

static void
detail_set(wire_client *client, const char *text)
{
    (void)snprintf(client->detail, sizeof(client->detail), "%s", text);
}

// The peer's reason as text that can be logged: no control characters, UTF-8 or plain ASCII.
static void
detail_set_from_peer(wire_client *client, oct_err err, const uint8_t *text, size_t length)
{
    char *detail = client->detail;
    length = OCT_MIN(length, (size_t)WIRE_DETAIL_MAX);
    if (length == 0) {
        detail_set(client, oct_strerror(err));
        return;
    }
    memcpy(detail, text, length);
    detail[length] = '\0';
    oct_text_tame(detail, length, ' ');
    if (!wire_check_name(detail, length, WIRE_DETAIL_MAX)) {
        for (size_t i = 0; i < length; i++) {
            detail[i] = (uint8_t)detail[i] >= 0x80 ? '?' : detail[i];
        }
    }
}

// Reads the frame of a reply. On OCT_OK the payload is a message; otherwise detail says why.
static oct_err
reply_open(wire_client *client, const uint8_t *bytes, size_t length)
{
    wire_frame frame = {0};
    oct_err err = wire_frame_unpack(&frame, bytes, length);
    bool is_refusal = frame.kind == WIRE_REPLY && frame.code != OCT_OK; // read in any version
    if (err == OCT_EINVAL && !is_refusal) {
        (void)snprintf(
            client->detail, sizeof(client->detail),
            "the peer speaks protocol version %u, release " OCTET_VERSION
            " here reads %d to %d: run the same release on both sides, or consecutive releases",
            frame.version, WIRE_PROTOCOL_READ_MIN, WIRE_PROTOCOL_READ_MAX);
        return err;
    }
    err = err == OCT_EINVAL ? OCT_OK : err;
    if (err != OCT_OK || frame.kind != WIRE_REPLY) {
        detail_set(client, err != OCT_OK ? "the reply is not an Octet frame"
                                         : "the reply is another kind of message");
        return OCT_EPROTO;
    }
    if (frame.code == OCT_OK) {
        return OCT_OK;
    }
    // A status that this release does not know is still an error of the peer's.
    err = frame.code <= OCT_ESTALE ? (oct_err)frame.code : OCT_EINTERNAL;
    detail_set_from_peer(client, err, bytes + WIRE_FRAME_BYTES, length - WIRE_FRAME_BYTES);
    // Closed says that this process closes its links, and nobody asks again. A peer that shuts down
    // is asked later.
    return err == OCT_ECLOSED ? OCT_EAGAIN : err;
}

static void
reply_arrived(void *arg, oct_err err, const uint8_t *frame, size_t length)
{
    call_slot *slot = arg;
    wire_client *client = slot->client;
    ProtobufCMessage *message = NULL;
    detail_set(client, err == OCT_EIO ? "the connection was lost" : oct_strerror(err));
    if (err == OCT_OK) {
        err = reply_open(client, frame, length);
    }
    wire_arena_reset(client->arena);
    if (err == OCT_OK) {
        message = wire_arena_unpack(client->arena, slot->output, frame + WIRE_FRAME_BYTES,
                                    length - WIRE_FRAME_BYTES);
        err = message == NULL ? OCT_EPROTO : OCT_OK;
    }
    slot->err = err;
    slot->closure(message, slot);
}

// For a reply that arrived and is no good: the decoder's reason.
static void
reply_refused(wire_client *client)
{
    (void)snprintf(client->detail, sizeof(client->detail), "bad reply: %s",
                   wire_arena_reason(client->arena));
}

// Whether the peer's release works together with this one.
static oct_err
peer_check(wire_client *client, const wire_speaks *peer)
{
    const wire_speaks own = wire_speaks_own();
    bool meet = wire_speaks_meet(&own, peer, client->detail, sizeof(client->detail));
    return meet ? OCT_OK : OCT_EINVAL;
}

// protobuf-c's entry: the generated functions call it with the method's place in the service.
static void
client_invoke(ProtobufCService *base, unsigned method, const ProtobufCMessage *input,
              ProtobufCClosure closure, void *closure_data)
{
    client_service *service = (client_service *)base;
    wire_client *client = service->client;
    call_slot *slot = closure_data;
    slot->closure = closure;
    slot->output = base->descriptor->methods[method].output;
    size_t length = WIRE_FRAME_BYTES + protobuf_c_message_get_packed_size(input);
    if (length > WIRE_MESSAGE_BYTES_MAX) {
        client->invoked = OCT_EINVAL;
        return;
    }
    if (length > client->buffer_bytes) {
        size_t bytes = OCT_MAX(client->buffer_bytes * 2, length);
        free(client->buffer);
        client->buffer = oct_alloc(bytes);
        client->buffer_bytes = bytes;
    }
    wire_frame_pack(WIRE_REQUEST, (uint16_t)(service->code + method), 0, client->buffer);
    (void)protobuf_c_message_pack(input, client->buffer + WIRE_FRAME_BYTES);
    client->invoked = client->call(client->call_arg, client->buffer, length, client->timeout_ms,
                                   reply_arrived, slot);
}

// Per method: the closure that is called with the reply (NULL when there is none), and the
// typed call.
#define CLIENT_METHOD(service, method, request, reply)                                             \
    static void closed_##method(const WIRE_GENERATED(reply) * message, void *arg)                  \
    {                                                                                              \
        call_slot slot = *(call_slot *)arg;                                                        \
        wire_client *client = slot.client;                                                         \
        slot_release(arg);                                                                         \
        reply answer;                                                                              \
        if (message != NULL) {                                                                     \
            slot.err = reply##_from(&answer, message, client->arena);                              \
        }                                                                                          \
        wire_speaks peer;                                                                          \
        if (message != NULL && slot.err == OCT_OK && WIRE_SPEAKS_OF(message, &peer)) {             \
            slot.err = peer_check(client, &peer);                                                  \
        }                                                                                          \
        if (slot.err == OCT_EPROTO && wire_arena_reason(client->arena)[0] != '\0') {               \
            reply_refused(client);                                                                 \
        }                                                                                          \
        ((wire_##method##_done)slot.done)(slot.done_arg, slot.err, client->detail,                 \
                                          slot.err == OCT_OK ? &answer : NULL);                    \
    }                                                                                              \
    oct_err wire_call_##method(wire_client *client, const request *message, uint32_t timeout_ms,   \
                               wire_##method##_done done, void *arg)                               \
    {                                                                                              \
        call_slot *slot = slot_take(client);                                                       \
        if (slot == NULL) {                                                                        \
            return OCT_EAGAIN;                                                                     \
        }                                                                                          \
        slot->done = (void (*)(void))done;                                                         \
        slot->done_arg = arg;                                                                      \
        client->timeout_ms = timeout_ms;                                                           \
        WIRE_GENERATED(request) input;                                                             \
        request##_to(&input, message);                                                             \
        octet__##service##__##method(&client->service.base, &input, closed_##method, slot);        \
        if (client->invoked != OCT_OK) {                                                           \
            slot_release(slot);                                                                    \
        }                                                                                          \
        return client->invoked;                                                                    \
    }
#define X(method, request, reply, roles) CLIENT_METHOD(learner, method, request, reply)
WIRE_LEARNER_METHODS(X)
#undef X
#define X(method, request, reply, roles) CLIENT_METHOD(replay, method, request, reply)
WIRE_REPLAY_METHODS(X)
#undef X

static client_service
service_of(wire_client *client, const ProtobufCServiceDescriptor *descriptor, unsigned service)
{
    return (client_service){
        .base = {.descriptor = descriptor, .invoke = client_invoke},
        .client = client,
        .code = (uint16_t)(service << 8),
    };
}

wire_client *
wire_client_create(oct_call_fn call, void *call_arg, size_t arena_bytes)
{
    wire_client *client = oct_alloc(sizeof(*client));
    client->learner = service_of(client, &octet__learner__descriptor, WIRE_SERVICE_LEARNER);
    client->replay = service_of(client, &octet__replay__descriptor, WIRE_SERVICE_REPLAY);
    client->call = call;
    client->call_arg = call_arg;
    client->arena = wire_arena_create(arena_bytes);
    client->buffer = oct_alloc(BUFFER_BYTES_MIN);
    client->buffer_bytes = BUFFER_BYTES_MIN;
    for (size_t i = 0; i < WIRE_CALLS_MAX; i++) {
        client->slots[i].client = client;
        client->slots[i].next_free = client->free_slots;
        client->free_slots = &client->slots[i];
    }
    return client;
}

void
wire_client_destroy(wire_client *client)
{
    if (client == NULL) {
        return;
    }
    OCT_ASSERT(client->open == 0);
    wire_arena_destroy(client->arena);
    free(client->buffer);
    free(client);
}
