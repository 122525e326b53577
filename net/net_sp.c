// Converts the framing of NNG's messages between TCP and local sockets, and checks sizes and
// headers.
#include "net/net_sp.h"

#include <string.h>

#include "common/oct_base.h"

#define LENGTH_BYTES 8u
#define LOCAL_KIND   1u // the only kind of message there is on local sockets

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

// The prefix is complete: checks it, writes the other transport's. Gives the bytes written, 0 when
// it is wrong.
static size_t
prefix_convert(net_sp_stream *stream, uint8_t *out)
{
    bool from_local = stream->direction == NET_SP_FROM_LOCAL;
    const uint8_t *length = stream->prefix + from_local;
    uint64_t bytes = length_read(length);
    if ((from_local && stream->prefix[0] != LOCAL_KIND) || bytes > stream->bytes_max) {
        return 0;
    }
    stream->bytes = stream->left = bytes;
    stream->have = 0;
    stream->messages++;
    if (from_local) {
        memcpy(out, length, LENGTH_BYTES);
        return LENGTH_BYTES;
    }
    out[0] = LOCAL_KIND;
    if (stream->tag == 0) {
        memcpy(out + 1, length, LENGTH_BYTES);
        return 1 + LENGTH_BYTES;
    }
    bytes += NET_SP_TAG_BYTES;
    for (unsigned i = 0; i < LENGTH_BYTES; i++) {
        out[1 + i] = (uint8_t)(bytes >> (8 * (LENGTH_BYTES - 1 - i)));
    }
    memcpy(out + 1 + LENGTH_BYTES, &stream->tag, NET_SP_TAG_BYTES);
    return 1 + LENGTH_BYTES + NET_SP_TAG_BYTES;
}

oct_err
net_sp_convert(net_sp_stream *stream, const uint8_t *in, size_t in_bytes, uint8_t *out,
               size_t *out_bytes)
{
    unsigned prefix_bytes = LENGTH_BYTES + (stream->direction == NET_SP_FROM_LOCAL);
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
            if (stream->have == prefix_bytes) {
                size_t prefix = prefix_convert(stream, out + written);
                if (prefix == 0) {
                    *out_bytes = written;
                    return OCT_EPROTO;
                }
                written += prefix;
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
