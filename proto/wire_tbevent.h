#ifndef PROTO_WIRE_TBEVENT_H
#define PROTO_WIRE_TBEVENT_H

#include <stddef.h>
#include <stdint.h>

// Records of a TensorBoard event file. Each function packs one event as a TFRecord (u64 length,
// masked CRC-32C of the length, event, masked CRC-32C of the event); a file is a concatenation of
// records. A file begins with the version record and has the name
// "events.out.tfevents.SECONDS.HOST".
//
// Threads: any. Owns: nothing. Full: all functions return the size of the record in bytes, and
// write nothing if out is NULL or capacity is less than that size.

// Most scalars in one record.
#define WIRE_TBEVENT_SCALARS_MAX 512

// Packs the version record. wall_time: seconds since the epoch.
size_t wire_tbevent_version_pack(uint8_t *out, size_t capacity, double wall_time);

// Packs the start record, the second of a file: this process begins to write at this step, and
// TensorBoard drops what other files have for this step and later steps.
size_t wire_tbevent_start_pack(uint8_t *out, size_t capacity, double wall_time, int64_t step);

// Packs count scalars at one step. TensorBoard shows tag, "group/name", as it is. A value may be
// NaN or infinite.
size_t wire_tbevent_scalars_pack(uint8_t *out, size_t capacity, double wall_time, int64_t step,
                                 size_t count, const char *const *tag, const float *value);

#endif // PROTO_WIRE_TBEVENT_H
