#ifndef PROTO_WIRE_TBEVENT_H
#define PROTO_WIRE_TBEVENT_H

#include <stddef.h>
#include <stdint.h>

// Records of a TensorBoard event file: each function packs one event, framed as a TFRecord (u64
// length, masked CRC-32C of the length, event, masked CRC-32C of the event), so that a file is
// their concatenation. A file begins with the version record and is named
// "events.out.tfevents.SECONDS.HOST".
//
// Threads: any. Owns: nothing. Full: all return the record's bytes, and write nothing when out is
// NULL or capacity is less than that.

// Scalars that one record may hold.
#define WIRE_TBEVENT_SCALARS_MAX 512

// wall_time: seconds since the epoch.
size_t wire_tbevent_version_pack(uint8_t *out, size_t capacity, double wall_time);

// A process begins to write at this step: what other files have of this step and later ones does
// not count any more. Second in a file.
size_t wire_tbevent_start_pack(uint8_t *out, size_t capacity, double wall_time, int64_t step);

// count scalars at one step. tag: "group/name", shown as such. value: may be NaN or infinite.
size_t wire_tbevent_scalars_pack(uint8_t *out, size_t capacity, double wall_time, int64_t step,
                                 size_t count, const char *const *tag, const float *value);

#endif // PROTO_WIRE_TBEVENT_H
