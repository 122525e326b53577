#ifndef NET_NET_SP_H
#define NET_NET_SP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// The framing of SP, the protocol of NNG's messages, on its two stream transports. Both sides begin
// with a header of 8 bytes: 0 'S' 'P' 0, protocol (big endian, 16 bits), 0 0. Then come messages:
//   over TCP and TLS    length (big endian, 64 bits), body
//   over local sockets  1 (one byte), length, body
// Source: NNG's nng_tcp(7), nng_ipc(7) and the SP mapping RFCs of nanomsg.
//
// Threads: any, one user per stream. Nothing is allocated.

#define NET_SP_HEADER_BYTES 8
// Upper bound of the bytes that n bytes convert to. The worst cases are empty messages (8 bytes
// become 9 and the tag) and requests of a number alone (12 become 13 and the tag).
#define NET_SP_OUT_BYTES(n) (2 * (n) + (n) / 8 + 32)

typedef enum net_sp_direction { NET_SP_TO_LOCAL, NET_SP_FROM_LOCAL } net_sp_direction;

// Length of the number that a tagged stream puts before every body, in this machine's byte order.
#define NET_SP_TAG_BYTES 8
// Length of the number that a request begins with (REQ/REP): big endian, with the highest bit set.
// In requests that passed a device, numbers of hops come first, without that bit.
#define NET_SP_NUMBER_BYTES 4

// State of one direction of a connection, after its header.
typedef struct net_sp_stream {
    net_sp_direction direction;
    uint64_t bytes_max; // limit of one message's body; longer messages are refused
    uint64_t tag;       // NET_SP_TO_LOCAL: stands before every body; 0: no tag
    bool has_number;    // bodies are requests: the tag follows the number, other bodies are refused
    uint64_t messages;  // messages whose length was read
    uint64_t bytes;     // length of the newest message's body
    uint64_t left;      // bytes of that body that are still to come
    uint8_t prefix[12]; // kind, length and number of the next message, as far as they came
    unsigned have;      // bytes in prefix
} net_sp_stream;

void net_sp_stream_init(net_sp_stream *stream, net_sp_direction direction, uint64_t bytes_max);

// Converts in[in_bytes] to out, which has room for NET_SP_OUT_BYTES(in_bytes); *out_bytes is the
// length written, also on failure. OCT_EPROTO: a message is longer than bytes_max, breaks the
// framing or is no request; the stream is then unusable, and what was written contains no part of
// that message.
OCT_CHECKED oct_err net_sp_convert(net_sp_stream *stream, const uint8_t *in, size_t in_bytes,
                                   uint8_t *out, size_t *out_bytes);

void net_sp_header_write(uint8_t out[NET_SP_HEADER_BYTES], uint16_t protocol);
// Returns false if in is not a header of SP.
bool net_sp_header_read(const uint8_t in[NET_SP_HEADER_BYTES], uint16_t *protocol);

#endif // NET_NET_SP_H
