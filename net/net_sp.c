// Converts the framing of NNG's messages between TCP and local sockets, and checks sizes and
// headers.
#include "net/net_sp.h"

#include <string.h>

#include "common/oct_base.h"

#define LENGTH_BYTES 8u
#define LOCAL_KIND   1u    // the only kind of message on local sockets
#define NUMBER_BIT   0x80u // set in a request's number, not in those of hops

void
net_sp_stream_init(net_sp_stream *stream, net_sp_direction direction, uint64_t bytes_max)
{
    *stream = (net_sp_stream){.direction = direction, .bytes_max = bytes_max};
}

static uint64_t
length_read(const uint8_t *in)
{
    uint64_t length = 0;
    for (unsigned i = 0; i < LENGTH_BYTES; i++) {
        length = length << 8 | in[i];
    }
    return length;
}

// Returns false if the part of the prefix that has come is wrong.
static bool
prefix_is_good(const net_sp_stream *stream)
{
    bool from_local = stream->direction == NET_SP_FROM_LOCAL;
    unsigned length_end = LENGTH_BYTES + from_local;
    if (stream->have < length_end) {
        return true;
    }
    uint64_t bytes = length_read(stream->prefix + from_local);
    bool is_number = stream->have == length_end || (stream->prefix[length_end] & NUMBER_BIT) != 0;
    return (!from_local || stream->prefix[0] == LOCAL_KIND) && bytes <= stream->bytes_max &&
           (!stream->has_number || (bytes >= NET_SP_NUMBER_BYTES && is_number));
}

// Converts a complete prefix to the other transport's. Returns the bytes written.
static size_t
prefix_convert(net_sp_stream *stream, uint8_t *out)
{
    bool from_local = stream->direction == NET_SP_FROM_LOCAL;
    const uint8_t *length = stream->prefix + from_local;
    uint64_t bytes = length_read(length);
    size_t number_bytes = stream->has_number ? NET_SP_NUMBER_BYTES : 0;
    stream->bytes = bytes;
    stream->left = bytes - number_bytes;
    stream->have = 0;
    stream->messages++;
    if (from_local) {
        memcpy(out, length, LENGTH_BYTES);
        return LENGTH_BYTES;
    }
    out[0] = LOCAL_KIND;
    memcpy(out + 1, length, LENGTH_BYTES + number_bytes);
    size_t written = 1 + LENGTH_BYTES + number_bytes;
    if (stream->tag != 0) {
        bytes += NET_SP_TAG_BYTES;
        for (unsigned i = 0; i < LENGTH_BYTES; i++) {
            out[1 + i] = (uint8_t)(bytes >> (8 * (LENGTH_BYTES - 1 - i)));
        }
        memcpy(out + written, &stream->tag, NET_SP_TAG_BYTES);
        written += NET_SP_TAG_BYTES;
    }
    return written;
}

oct_err
net_sp_convert(net_sp_stream *stream, const uint8_t *in, size_t in_bytes, uint8_t *out,
               size_t *out_bytes)
{
    unsigned prefix_bytes = LENGTH_BYTES + (stream->direction == NET_SP_FROM_LOCAL) +
                            (stream->has_number ? NET_SP_NUMBER_BYTES : 0);
    size_t written = 0;
    while (in_bytes > 0) {
        size_t take;
        if (stream->left > 0) {
            take = stream->left < in_bytes ? (size_t)stream->left : in_bytes;
            memcpy(out + written, in, take);
            written += take;
            stream->left -= take;
        } else {
            take = OCT_MIN((size_t)(prefix_bytes - stream->have), in_bytes);
            memcpy(stream->prefix + stream->have, in, take);
            stream->have += (unsigned)take;
            if (!prefix_is_good(stream)) {
                *out_bytes = written;
                return OCT_EPROTO;
            }
            if (stream->have == prefix_bytes) {
                written += prefix_convert(stream, out + written);
            }
        }
        in += take;
        in_bytes -= take;
    }
    *out_bytes = written;
    return OCT_OK;
}

void
net_sp_header_write(uint8_t out[NET_SP_HEADER_BYTES], uint16_t protocol)
{
    const uint8_t header[NET_SP_HEADER_BYTES] = {
        0, 'S', 'P', 0, (uint8_t)(protocol >> 8), (uint8_t)protocol, 0, 0};
    memcpy(out, header, sizeof(header));
}

bool
net_sp_header_read(const uint8_t in[NET_SP_HEADER_BYTES], uint16_t *protocol)
{
    static const uint8_t magic[] = {0, 'S', 'P', 0};
    *protocol = (uint16_t)(in[4] << 8 | in[5]);
    return memcmp(in, magic, sizeof(magic)) == 0 && in[6] == 0 && in[7] == 0;
}
