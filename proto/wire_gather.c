// Gathers frames into one message for relays, and reads them again, with a check of every length.
#include "proto/wire_gather.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "proto/wire_field.h"

enum { FIELD_RELAY = 1, FIELD_FRAME = 2 };

static void
head_pack(uint64_t relay, uint8_t out[WIRE_GATHERED_HEAD_BYTES])
{
    wire_frame_pack(WIRE_GATHERED, 0, 0, out);
    oct_writer writer = {.base = out + WIRE_FRAME_BYTES,
                         .capacity = WIRE_GATHERED_HEAD_BYTES - WIRE_FRAME_BYTES};
    wire_tag_put(&writer, FIELD_RELAY, WIRE_TYPE_8_BYTES);
    oct_write_u64(&writer, relay);
}

// Writes a frame as a field and returns its size; with base NULL it only returns the size.
static size_t
frame_put(uint8_t *base, size_t capacity, const uint8_t *frame, size_t length)
{
    OCT_ASSERT(length <= UINT32_MAX);
    oct_writer writer = {.base = base, .capacity = capacity};
    wire_tag_put(&writer, FIELD_FRAME, WIRE_TYPE_BYTES);
    wire_varint_put(&writer, (uint32_t)length);
    oct_write_bytes(&writer, frame, length);
    return writer.used;
}

void
wire_gatherer_init(wire_gatherer *gatherer, uint64_t relay, size_t capacity)
{
    *gatherer = (wire_gatherer){.relay = relay, .capacity = capacity};
}

void
wire_gatherer_fini(wire_gatherer *gatherer)
{
    free(gatherer->bytes);
    gatherer->bytes = NULL;
}

bool
wire_gatherer_add(wire_gatherer *gatherer, const uint8_t *frame, size_t length)
{
    size_t room = gatherer->capacity - gatherer->used;
    if (length > room || frame_put(NULL, 0, frame, length) > room ||
        gatherer->count == WIRE_GATHERED_FRAMES_MAX) {
        return false;
    }
    if (gatherer->bytes == NULL) {
        gatherer->bytes = oct_alloc(gatherer->capacity);
    }
    gatherer->used += frame_put(gatherer->bytes + gatherer->used, room, frame, length);
    gatherer->count++;
    return true;
}

size_t
wire_gatherer_length(const wire_gatherer *gatherer)
{
    return gatherer->count > 0 ? WIRE_GATHERED_HEAD_BYTES + gatherer->used : 0;
}

void
wire_gatherer_take(wire_gatherer *gatherer, uint8_t *out)
{
    head_pack(gatherer->relay, out);
    memcpy(out + WIRE_GATHERED_HEAD_BYTES, gatherer->bytes, gatherer->used);
    gatherer->used = 0;
    gatherer->count = 0;
}

size_t
wire_gathered_size(size_t frame_length)
{
    return WIRE_GATHERED_HEAD_BYTES +
           (frame_length > 0 ? frame_put(NULL, 0, NULL, frame_length) : 0);
}

void
wire_gathered_pack(uint64_t relay, const uint8_t *frame, size_t length, uint8_t *out)
{
    head_pack(relay, out);
    if (length > 0) {
        size_t room = wire_gathered_size(length) - WIRE_GATHERED_HEAD_BYTES;
        size_t used = frame_put(out + WIRE_GATHERED_HEAD_BYTES, room, frame, length);
        OCT_ASSERT(used == room);
    }
}

// ---- reading

bool
wire_is_gathered(const uint8_t *bytes, size_t length)
{
    wire_frame frame;
    return wire_frame_unpack(&frame, bytes, length) == OCT_OK && frame.kind == WIRE_GATHERED;
}

// Takes the next frame. Returns false at the end, and if the rest is not a field, which then stays
// in rest.
static bool
frame_take(wire_cursor *rest, const uint8_t **frame, size_t *length)
{
    wire_field field;
    wire_cursor next = *rest;
    while (next.left > 0 && wire_field_take(&next, &field)) {
        *rest = next;
        if (field.number == FIELD_FRAME && field.type == WIRE_TYPE_BYTES) {
            *frame = field.bytes;
            *length = (size_t)field.value;
            return true;
        }
    }
    return false;
}

oct_err
wire_gathered_open(wire_gathered *out, wire_kind kind, const uint8_t *bytes, size_t length)
{
    wire_frame head;
    OCT_TRY(wire_frame_unpack(&head, bytes, length));
    if (head.kind != WIRE_GATHERED) {
        return OCT_EPROTO;
    }
    wire_cursor rest = {bytes + WIRE_FRAME_BYTES, length - WIRE_FRAME_BYTES};
    wire_field relay;
    if (!wire_field_take(&rest, &relay) || relay.number != FIELD_RELAY ||
        relay.type != WIRE_TYPE_8_BYTES || wire_field_u64(&relay) == 0) {
        return OCT_EPROTO;
    }
    wire_gathered gathered = {.relay = wire_field_u64(&relay), .at = rest.at, .left = rest.left};
    const uint8_t *frame;
    size_t frame_length;
    while (frame_take(&rest, &frame, &frame_length)) {
        wire_frame inner;
        if (gathered.count++ == WIRE_GATHERED_FRAMES_MAX ||
            wire_frame_unpack(&inner, frame, frame_length) != OCT_OK || inner.kind != kind) {
            return OCT_EPROTO;
        }
    }
    if (rest.left > 0) {
        return OCT_EPROTO;
    }
    *out = gathered;
    return OCT_OK;
}

bool
wire_gathered_next(wire_gathered *gathered, const uint8_t **frame, size_t *length)
{
    wire_cursor rest = {gathered->at, gathered->left};
    bool is_there = frame_take(&rest, frame, length);
    gathered->at = rest.at;
    gathered->left = rest.left;
    return is_there;
}
