// The client side of wire_rpc.h: frames requests, and passes each reply to the caller's function.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_text.h"
#include "proto/wire_check.h"
#include "proto/wire_convert.h"
#include "proto/wire_rpc.h"

#define BUFFER_BYTES_MIN 4096

// One call in flight.
typedef struct call_slot {
    wire_client *client;
    struct call_slot *next_free;
    uint16_t code; // of the method
    const wire_message *request, *reply;
    void (*done)(void); // a wire_METHOD_done
    void *done_arg;
} call_slot;

struct wire_client {
    oct_call_fn call;
    void *call_arg;
    wire_arena *arena;
    uint8_t *buffer; // the request frame being sent
    size_t buffer_bytes;
    oct_reason detail;
    uint32_t open;
    call_slot *free_slots;
    call_slot slots[WIRE_CALLS_MAX];
};

// Room for any reply.
typedef union any_reply {
#define X(method, request, reply, roles) reply method;
    WIRE_LEARNER_METHODS(X)
    WIRE_REPLAY_METHODS(X)
#undef X
} any_reply;

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
    oct_reason_set(&client->detail, "%s", text);
}

// Copies the peer's reason to detail as text for the log: UTF-8 without control characters, or
// ASCII with '?' for other bytes.
static void
detail_set_from_peer(wire_client *client, oct_err err, const uint8_t *text, size_t length)
{
    char *detail = client->detail.text;
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
    bool is_refusal = frame.kind == WIRE_REPLY && frame.code != OCT_OK; // readable in any version
    if (err == OCT_EINVAL && !is_refusal) {
        (void)snprintf(
            client->detail.text, sizeof(client->detail.text),
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
    // A status that this release does not know is still an error.
    err = frame.code <= OCT_ESTALE ? (oct_err)frame.code : OCT_EINTERNAL;
    detail_set_from_peer(client, err, bytes + WIRE_FRAME_BYTES, length - WIRE_FRAME_BYTES);
    // For callers OCT_ECLOSED means that this process closes its links, and they do not retry. If
    // the peer shuts down, they are to retry.
    return err == OCT_ECLOSED ? OCT_EAGAIN : err;
}

// Decodes the payload of a reply. On an error detail says why.
static oct_err
reply_decode(wire_client *client, const wire_message *message, any_reply *out, const uint8_t *bytes,
             size_t length)
{
    const ProtobufCMessage *generated =
        wire_arena_unpack(client->arena, message->descriptor, bytes, length);
    if (generated == NULL || wire_message_from(message, out, generated, client->arena) != OCT_OK) {
        oct_reason_set(&client->detail, "bad reply: %s", wire_arena_reason(client->arena));
        return OCT_EPROTO;
    }
    const wire_speaks own = wire_speaks_own();
    wire_speaks peer;
    bool meet = !wire_speaks_of(message, generated, &peer) ||
                wire_speaks_meet(&own, &peer, &client->detail);
    return meet ? OCT_OK : OCT_EINVAL;
}

// Calls the caller's function, with the type that its method has.
static void
call_finish(const call_slot *slot, oct_err err, const any_reply *answer)
{
    const char *detail = slot->client->detail.text;
    switch (slot->code) {
#define X(method, request, reply, roles)                                                           \
    case WIRE_CODE_##method:                                                                       \
        ((wire_##method##_done)slot->done)(slot->done_arg, err, detail,                            \
                                           err == OCT_OK ? &answer->method : NULL);                \
        break;
        WIRE_LEARNER_METHODS(X)
        WIRE_REPLAY_METHODS(X)
#undef X
    default:
        break;
    }
}

static void
reply_arrived(void *arg, oct_err err, const uint8_t *frame, size_t length)
{
    const call_slot slot = *(call_slot *)arg;
    wire_client *client = slot.client;
    any_reply answer;
    slot_release(arg); // done may call again
    detail_set(client, err == OCT_EIO ? "the connection was lost" : oct_strerror(err));
    if (err == OCT_OK) {
        err = reply_open(client, frame, length);
    }
    wire_arena_reset(client->arena);
    if (err == OCT_OK) {
        err = reply_decode(client, slot.reply, &answer, frame + WIRE_FRAME_BYTES,
                           length - WIRE_FRAME_BYTES);
    }
    call_finish(&slot, err, &answer);
}

static oct_err
request_send(wire_client *client, call_slot *slot, const void *message, uint32_t timeout_ms)
{
    size_t length = WIRE_FRAME_BYTES + wire_message_size(slot->request, message);
    if (length > WIRE_MESSAGE_BYTES_MAX) {
        return OCT_EINVAL;
    }
    if (length > client->buffer_bytes) {
        size_t bytes = OCT_MAX(client->buffer_bytes * 2, length);
        free(client->buffer);
        client->buffer = oct_alloc(bytes);
        client->buffer_bytes = bytes;
    }
    wire_frame_pack(WIRE_REQUEST, slot->code, 0, client->buffer);
    wire_message_pack(slot->request, message, client->buffer + WIRE_FRAME_BYTES);
    return client->call(client->call_arg, client->buffer, length, timeout_ms, reply_arrived, slot);
}

// method: the fields of the slot that the method determines.
static oct_err
call_begin(wire_client *client, const call_slot *method, const void *message, uint32_t timeout_ms)
{
    call_slot *slot = slot_take(client);
    if (slot == NULL) {
        return OCT_EAGAIN;
    }
    *slot = *method;
    slot->client = client;
    oct_err err = request_send(client, slot, message, timeout_ms);
    if (err != OCT_OK) {
        slot_release(slot);
    }
    return err;
}

#define X(method, request_type, reply_type, roles)                                                 \
    oct_err wire_call_##method(wire_client *client, const request_type *message,                   \
                               uint32_t timeout_ms, wire_##method##_done done, void *arg)          \
    {                                                                                              \
        const call_slot slot = {.code = WIRE_CODE_##method,                                        \
                                .request = &request_type##_message,                                \
                                .reply = &reply_type##_message,                                    \
                                .done = (void (*)(void))done,                                      \
                                .done_arg = arg};                                                  \
        return call_begin(client, &slot, message, timeout_ms);                                     \
    }
WIRE_LEARNER_METHODS(X)
WIRE_REPLAY_METHODS(X)
#undef X

wire_client *
wire_client_create(oct_call_fn call, void *call_arg, size_t arena_bytes)
{
    wire_client *client = oct_alloc(sizeof(*client));
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
