// Walks the tables of wire_convert.h.
#include "proto/wire_convert.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"
#include "proto/wire_check.h"

#define REASON_MAX 96

static uint32_t
u32_at(const void *base, size_t offset)
{
    uint32_t value;
    memcpy(&value, (const uint8_t *)base + offset, sizeof(value));
    return value;
}

static void *
pointer_at(const void *base, size_t offset)
{
    void *pointer;
    memcpy(&pointer, (const uint8_t *)base + offset, sizeof(pointer));
    return pointer;
}

static void
put(void *base, size_t offset, const void *value, size_t size)
{
    memcpy((uint8_t *)base + offset, value, size);
}

// Returns true if the array is present, according to its member count.
static bool
has_array(const wire_member *m, const void *plain)
{
    static const uint8_t zeros[sizeof(uint64_t)];
    size_t size = m->shape == WIRE_MAYBE ? sizeof(bool) : m->size;
    return size == 0 || memcmp((const uint8_t *)plain + m->count, zeros, size) != 0;
}

static uint64_t
column_length(const wire_member *m, const void *plain)
{
    uint64_t each = m->each != 0 ? u32_at(plain, m->each) : 1;
    return u32_at(plain, m->count) * each;
}

// ---- to

static void
one_to(const wire_member *m, void *out, const uint8_t *in)
{
    if (m->type == WIRE_BOOL) {
        put(out, m->field, &(protobuf_c_boolean){*in != 0}, sizeof(protobuf_c_boolean));
    } else if (m->type == WIRE_STRING) {
        const char *text = pointer_at(in, 0);
        put(out, m->field, &(const char *){text == NULL ? "" : text}, sizeof(text));
    } else {
        put(out, m->field, in, m->type == WIRE_U32 ? sizeof(uint32_t) : sizeof(uint64_t));
    }
}

static void
bytes_to(const wire_member *m, void *out, const void *bytes, size_t length)
{
    put(out, m->field, &WIRE_BYTES(bytes, length), sizeof(ProtobufCBinaryData));
}

static void
column_to(const wire_member *m, void *out, const void *plain)
{
    void *column = pointer_at(plain, m->plain);
    bool is_absent = m->shape == WIRE_VIEW || (m->shape == WIRE_OPTIONAL && column == NULL);
    size_t length = is_absent ? 0 : (size_t)column_length(m, plain);
    if (m->type == WIRE_BYTE) {
        bytes_to(m, out, column, length);
    } else {
        put(out, m->length, &length, sizeof(length));
        put(out, m->field, &column, sizeof(column));
    }
}

static void
members_to(const wire_member *members, size_t count, void *out, const void *plain)
{
    for (size_t i = 0; i < count; i++) {
        const wire_member *m = &members[i];
        const uint8_t *in = (const uint8_t *)plain + m->plain;
        if (m->shape == WIRE_ONE) {
            one_to(m, out, in);
        } else if (m->shape == WIRE_ARRAY || m->shape == WIRE_MAYBE) {
            bytes_to(m, out, in, has_array(m, plain) ? (size_t)m->most : 0);
        } else if (m->shape != WIRE_OTHER) {
            column_to(m, out, plain);
        }
    }
}

// ---- from

static oct_err
member_refuse(const wire_message *message, const wire_member *m, const char *why, wire_arena *arena)
{
    const ProtobufCFieldDescriptor *field = message->descriptor->fields;
    while (field->offset != m->field) {
        field++;
    }
    (void)snprintf(arena->text, sizeof(arena->text), "%s.%s: %s", message->name, field->name, why);
    return wire_arena_refuse(arena, arena->text);
}

static bool
wholes_are_within(const wire_member *m, const uint8_t *values, size_t count)
{
    uint64_t most = m->most != 0 ? m->most : UINT64_MAX;
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        uint64_t value = u32_at(values, 4 * i);
        if (m->type == WIRE_U64) {
            memcpy(&value, values + 8 * i, sizeof(value));
        }
        good &= value >= m->least && value <= most;
    }
    return good;
}

static bool
doubles_are_within(const wire_member *m, const uint8_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double value;
        memcpy(&value, values + 8 * i, sizeof(value));
        if (!(value >= m->low && value <= m->high) && !(m->or_nan && isnan(value))) {
            return false;
        }
    }
    return true;
}

static bool
strings_are_clean(const wire_member *m, const uint8_t *values, size_t count, wire_arena *arena)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = pointer_at(values, i * sizeof(text));
        size_t length = wire_arena_text_length(arena, text);
        if (!(m->is_text ? wire_check_text(text, length, WIRE_TEXT_MAX)
                         : wire_check_name(text, length, WIRE_NAME_MAX))) {
            return false;
        }
    }
    return true;
}

static oct_err
values_check(const wire_message *message, const wire_member *m, const void *values, size_t count,
             wire_arena *arena)
{
    bool good = true;
    const char *why = m->why;
    char words[REASON_MAX];
    if (m->type == WIRE_STRING) {
        good = m->is_unchecked || strings_are_clean(m, values, count, arena);
        why = m->is_text ? "no text, or longer than 64 KiB" : "no name, or longer than 256 bytes";
    } else if (m->type == WIRE_U32 || m->type == WIRE_U64) {
        good = (m->least == 0 && m->most == 0) || wholes_are_within(m, values, count);
    } else if (m->low != 0 || m->high != 0) {
        good = m->type == WIRE_F32 ? wire_check_range(values, count, (float)m->low, (float)m->high)
                                   : doubles_are_within(m, values, count);
    }
    if (!good && why == NULL) {
        (void)snprintf(words, sizeof(words), "outside %" PRIu64 " .. %" PRIu64, m->least, m->most);
        why = words;
    }
    return good ? OCT_OK : member_refuse(message, m, why, arena);
}

static oct_err
length_check(const wire_message *message, const wire_member *m, size_t length, uint64_t want,
             wire_arena *arena)
{
    if (length == want) {
        return OCT_OK;
    }
    char words[REASON_MAX];
    (void)snprintf(words, sizeof(words), "length is %zu, not %" PRIu64, length, want);
    return member_refuse(message, m, words, arena);
}

static oct_err
one_from(const wire_message *message, const wire_member *m, void *out, const uint8_t *in,
         wire_arena *arena)
{
    OCT_TRY(values_check(message, m, in, 1, arena));
    if (m->type == WIRE_BOOL) {
        put(out, m->plain, &(bool){u32_at(in, 0) != 0}, sizeof(bool));
    } else {
        put(out, m->plain, in, m->type == WIRE_U32 ? sizeof(uint32_t) : sizeof(uint64_t));
    }
    return OCT_OK;
}

static oct_err
array_from(const wire_message *message, const wire_member *m, void *out,
           const ProtobufCBinaryData *in, wire_arena *arena)
{
    if (m->shape == WIRE_MAYBE) {
        put(out, m->count, &(bool){in->len > 0}, sizeof(bool));
    }
    OCT_TRY(length_check(message, m, in->len, has_array(m, out) ? m->most : 0, arena));
    if (in->len > 0) {
        put(out, m->plain, in->data, in->len);
    }
    return OCT_OK;
}

static oct_err
column_from(const wire_message *message, const wire_member *m, void *out, const void *generated,
            wire_arena *arena)
{
    ProtobufCBinaryData bytes = {0};
    if (m->type == WIRE_BYTE) {
        memcpy(&bytes, (const uint8_t *)generated + m->field, sizeof(bytes));
    } else {
        bytes.data = pointer_at(generated, m->field);
        memcpy(&bytes.len, (const uint8_t *)generated + m->length, sizeof(bytes.len));
    }
    if (m->shape == WIRE_LIST && bytes.len > m->length_max) {
        char words[REASON_MAX];
        (void)snprintf(words, sizeof(words), "more than %" PRIu32, m->length_max);
        return member_refuse(message, m, words, arena);
    }
    if (m->shape == WIRE_LIST) {
        put(out, m->count, &(uint32_t){(uint32_t)bytes.len}, sizeof(uint32_t));
    } else if (m->shape == WIRE_COLUMN || (m->shape == WIRE_OPTIONAL && bytes.len != 0)) {
        OCT_TRY(length_check(message, m, bytes.len, column_length(m, out), arena));
    }
    OCT_TRY(values_check(message, m, bytes.data, bytes.len, arena));
    put(out, m->plain, &bytes.data, sizeof(bytes.data));
    return OCT_OK;
}

static oct_err
members_from(const wire_message *message, const wire_member *members, size_t count, void *out,
             const void *generated, wire_arena *arena)
{
    for (size_t i = 0; i < count; i++) {
        const wire_member *m = &members[i];
        const uint8_t *in = (const uint8_t *)generated + m->field;
        oct_err err = OCT_OK;
        if (m->shape == WIRE_ONE) {
            err = one_from(message, m, out, in, arena);
        } else if (m->shape == WIRE_ARRAY || m->shape == WIRE_MAYBE) {
            err = array_from(message, m, out, (const void *)in, arena);
        } else if (m->shape != WIRE_OTHER) {
            err = column_from(message, m, out, generated, arena);
        }
        OCT_TRY(err);
    }
    return OCT_OK;
}

// ---- messages

static bool
has_part(const wire_message *message, const void *plain)
{
    return message->part != NULL && ((const uint8_t *)plain)[message->has_part] != 0;
}

// Returns the field with this name in a message whose type has the four fields of wire_speaks.
static void *
speaks_field(const wire_message *message, const void *generated, const char *name)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(message->descriptor, name);
    return (uint8_t *)(uintptr_t)generated + field->offset;
}

void
wire_message_to(const wire_message *message, void *out, const void *in)
{
    message->descriptor->message_init(out);
    members_to(message->members, message->member_count, out, in);
    if (has_part(message, in)) {
        members_to(message->part, message->part_count, out, in);
    }
    if (message->speaks) {
        const wire_speaks own = wire_speaks_own();
        *(uint32_t *)speaks_field(message, out, "version") = own.version;
        *(uint32_t *)speaks_field(message, out, "read_min") = own.read_min;
        *(uint32_t *)speaks_field(message, out, "read_max") = own.read_max;
        *(const char **)speaks_field(message, out, "release_name") = own.release;
    }
    if (message->to != NULL) {
        message->to(out, in);
    }
}

oct_err
wire_message_from(const wire_message *message, void *out, const void *in, wire_arena *arena)
{
    memset(out, 0, message->plain_bytes);
    OCT_TRY(members_from(message, message->members, message->member_count, out, in, arena));
    if (has_part(message, out)) {
        OCT_TRY(members_from(message, message->part, message->part_count, out, in, arena));
    }
    return message->from == NULL ? OCT_OK : message->from(out, in, arena);
}

// Room for any generated message.
typedef union any_message {
    ProtobufCMessage base;
#define X(plain, generated) generated plain;
    WIRE_MESSAGES(X)
#undef X
} any_message;

size_t
wire_message_size(const wire_message *message, const void *plain)
{
    any_message any;
    wire_message_to(message, &any, plain);
    return protobuf_c_message_get_packed_size(&any.base);
}

void
wire_message_pack(const wire_message *message, const void *plain, uint8_t *out)
{
    any_message any;
    wire_message_to(message, &any, plain);
    (void)protobuf_c_message_pack(&any.base, out);
}

oct_err
wire_message_unpack(const wire_message *message, void *out, wire_arena *arena, const uint8_t *bytes,
                    size_t length)
{
    size_t mark = arena->used;
    const ProtobufCMessage *generated =
        wire_arena_unpack(arena, message->descriptor, bytes, length);
    if (generated == NULL) {
        return OCT_EPROTO;
    }
    oct_err err = wire_message_from(message, out, generated, arena);
    if (err != OCT_OK) {
        wire_arena_rewind(arena, mark);
    }
    return err;
}

bool
wire_speaks_of(const wire_message *message, const ProtobufCMessage *in, wire_speaks *out)
{
    if (!message->speaks) {
        return false;
    }
    const char *release = *(char **)speaks_field(message, in, "release_name");
    bool is_name = wire_check_name(release, strlen(release), WIRE_RELEASE_MAX);
    *out = (wire_speaks){.version = *(uint32_t *)speaks_field(message, in, "version"),
                         .read_min = *(uint32_t *)speaks_field(message, in, "read_min"),
                         .read_max = *(uint32_t *)speaks_field(message, in, "read_max"),
                         .release = is_name ? release : ""};
    return true;
}
