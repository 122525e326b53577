#ifndef NET_NET_SP_H
#define NET_NET_SP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// The framing of SP, the protocol of NNG's messages, on its two stream transports. Both sides begin
// with a header of 8 bytes: 0 'S' 'P' 0, protocol (big endian, 16 bit), 0 0. Then come messages:
//   over TCP and TLS   length (big endian, 64 bit), body
//   over local sockets 1 (one byte), length, body
// Source: NNG's nng_tcp(7), nng_ipc(7) and the SP mapping RFCs of nanomsg.
//
// Threads: any, one user a stream. Nothing is allocated.

#define NET_SP_HEADER_BYTES 8
// A converted piece may be so much longer than what it was made from (empty messages: 8 to 9 and
// the tag; requests of a number alone: 12 to 13 and the tag).
#define NET_SP_OUT_BYTES(n) (2 * (n) + (n) / 8 + 32)

typedef enum net_sp_direction { NET_SP_TO_LOCAL, NET_SP_FROM_LOCAL } net_sp_direction;

// What a tagged stream puts before every body: a number, in this machine's byte order.
#define NET_SP_TAG_BYTES 8
// What a request begins with: its number (REQ/REP), big endian, the highest bit set. What went
// through a device has numbers of hops before it, without that bit.
#define NET_SP_NUMBER_BYTES 4

// One direction of a connection, after its header.
typedef struct net_sp_stream {
    net_sp_direction direction;
    uint64_t bytes_max; // of a message's body; longer ones are refused
    uint64_t tag;       // NET_SP_TO_LOCAL: goes before every body, unless it is 0;
    bool has_number;    // bodies are requests: behind the number, and others are refused
    uint64_t messages;  // whose length was seen
    uint64_t bytes;     // of the newest one's body
    uint64_t left;      // bytes of the body that are still to come
    uint8_t prefix[12]; // of a message, with the number: collected so far
    unsigned have;
} net_sp_stream;

void net_sp_stream_init(net_sp_stream *stream, net_sp_direction direction, uint64_t bytes_max);

// Converts in[in_bytes] to out (at least NET_SP_OUT_BYTES(in_bytes)); *out_bytes is what was
// written. OCT_EPROTO: a message longer than bytes_max, not of the framing or no request; the
// connection is of no more use, and what was written before is whole.
OCT_CHECKED oct_err net_sp_convert(net_sp_stream *stream, const uint8_t *in, size_t in_bytes,
                                   uint8_t *out, size_t *out_bytes);

void net_sp_header_write(uint8_t out[NET_SP_HEADER_BYTES], uint16_t protocol);
// False: not a header of SP.
bool net_sp_header_read(const uint8_t in[NET_SP_HEADER_BYTES], uint16_t *protocol);

#endif // NET_NET_SP_H
