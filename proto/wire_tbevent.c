// Packs scalars as records of a TensorBoard event file.
#include "proto/wire_tbevent.h"

#include "common/oct_base.h"
#include "common/oct_bytes.h"
#include "proto/tbevent.pb-c.h"

// A record is the length (u64), its checksum (u32), the event, and the event's checksum (u32).
#define RECORD_HEAD_BYTES 12
#define RECORD_TAIL_BYTES 4
#define SESSION_START     1

// TFRecord stores checksums rotated and offset, so that the checksum of data that contains
// checksums still detects errors.
static uint32_t
masked_crc32c(const void *bytes, size_t count)
{
    uint32_t crc = oct_crc32c(0, bytes, count);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

static size_t
record_pack(uint8_t *out, size_t capacity, const Tbevent__Event *event)
{
    size_t length = tbevent__event__get_packed_size(event);
    size_t total = RECORD_HEAD_BYTES + length + RECORD_TAIL_BYTES;
    if (out == NULL || capacity < total) {
        return total;
    }
    (void)tbevent__event__pack(event, out + RECORD_HEAD_BYTES);
    oct_writer head = {.base = out, .capacity = RECORD_HEAD_BYTES};
    oct_write_u64(&head, length);
    oct_write_u32(&head, masked_crc32c(out, sizeof(uint64_t)));
    oct_writer tail = {.base = out + RECORD_HEAD_BYTES + length, .capacity = RECORD_TAIL_BYTES};
    oct_write_u32(&tail, masked_crc32c(out + RECORD_HEAD_BYTES, length));
    return total;
}

size_t
wire_tbevent_version_pack(uint8_t *out, size_t capacity, double wall_time)
{
    char version[] = "brain.Event:2";
    Tbevent__Event event = TBEVENT__EVENT__INIT;
    event.has_wall_time = 1;
    event.wall_time = wall_time;
    event.file_version = version;
    return record_pack(out, capacity, &event);
}

size_t
wire_tbevent_start_pack(uint8_t *out, size_t capacity, double wall_time, int64_t step)
{
    Tbevent__SessionLog start = TBEVENT__SESSION_LOG__INIT;
    start.has_status = 1;
    start.status = SESSION_START;
    Tbevent__Event event = TBEVENT__EVENT__INIT;
    event.has_wall_time = 1;
    event.wall_time = wall_time;
    event.has_step = 1;
    event.step = step;
    event.session_log = &start;
    return record_pack(out, capacity, &event);
}

size_t
wire_tbevent_scalars_pack(uint8_t *out, size_t capacity, double wall_time, int64_t step,
                          size_t count, const char *const *tag, const float *value)
{
    OCT_ASSERT(count <= WIRE_TBEVENT_SCALARS_MAX);
    Tbevent__Value values[WIRE_TBEVENT_SCALARS_MAX];
    Tbevent__Value *pointers[WIRE_TBEVENT_SCALARS_MAX];
    for (size_t i = 0; i < count; i++) {
        tbevent__value__init(&values[i]);
        values[i].tag = (char *)tag[i];
        values[i].has_simple_value = 1;
        values[i].simple_value = value[i];
        pointers[i] = &values[i];
    }
    Tbevent__Summary summary = TBEVENT__SUMMARY__INIT;
    summary.n_value = count;
    summary.value = pointers;
    Tbevent__Event event = TBEVENT__EVENT__INIT;
    event.has_wall_time = 1;
    event.wall_time = wall_time;
    event.has_step = 1;
    event.step = step;
    event.summary = &summary;
    return record_pack(out, capacity, &event);
}
