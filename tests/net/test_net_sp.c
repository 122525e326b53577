// The framing of messages is converted in both directions, in pieces of any size; messages that are
// too long are refused.
#include <stdlib.h>

#include "net/net_sp.h"
#include "tests/support/oct_test.h"

#define BYTES_MAX 1000

// Messages of the given lengths as they are over TCP; body bytes count up.
static size_t
outside(uint8_t *out, const unsigned *lengths, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        for (int shift = 56; shift >= 0; shift -= 8) {
            out[n++] = (uint8_t)((uint64_t)lengths[i] >> shift);
        }
        for (unsigned k = 0; k < lengths[i]; k++) {
            out[n++] = (uint8_t)(k + i);
        }
    }
    return n;
}

// The same as they are between processes of this machine.
static size_t
inside(uint8_t *out, const unsigned *lengths, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        out[n++] = 1;
        n += outside(out + n, &lengths[i], 1);
        for (unsigned k = 0; k < lengths[i]; k++) {
            out[n - lengths[i] + k] = (uint8_t)(k + i);
        }
    }
    return n;
}

// Converts in pieces of every size. The last of so many messages has so many bytes.
static void
convert_in_pieces(net_sp_stream first, const uint8_t *in, size_t in_bytes, const uint8_t *want,
                  size_t want_bytes, unsigned messages, unsigned last_bytes)
{
    uint8_t got[8192], piece[NET_SP_OUT_BYTES(4096)];
    for (size_t step = 1; step <= in_bytes; step++) {
        net_sp_stream stream = first;
        size_t n = 0, made;
        for (size_t at = 0; at < in_bytes; at += step) {
            size_t take = OCT_MIN(step, in_bytes - at);
            T_OK(net_sp_convert(&stream, in + at, take, piece, &made));
            assert_true(made <= NET_SP_OUT_BYTES(take));
            memcpy(got + n, piece, made);
            n += made;
        }
        assert_int_equal(n, want_bytes);
        assert_memory_equal(got, want, n);
        assert_int_equal(stream.messages, messages);
        assert_int_equal(stream.bytes, last_bytes);
    }
}

static void
test_messages_pass_both_ways_in_any_pieces(void **state)
{
    (void)state;
    const unsigned lengths[] = {0, 1, 700, 0, 1000};
    uint8_t tcp[4096], local[4096];
    size_t tcp_bytes = outside(tcp, lengths, 5), local_bytes = inside(local, lengths, 5);
    net_sp_stream in, out;
    net_sp_stream_init(&in, NET_SP_TO_LOCAL, BYTES_MAX);
    net_sp_stream_init(&out, NET_SP_FROM_LOCAL, BYTES_MAX);
    convert_in_pieces(in, tcp, tcp_bytes, local, local_bytes, 5, 1000);
    convert_in_pieces(out, local, local_bytes, tcp, tcp_bytes, 5, 1000);
}

static void
test_empty_messages_grow_no_more_than_said(void **state)
{
    (void)state;
    uint8_t in[4096] = {0}, out[NET_SP_OUT_BYTES(4096)];
    net_sp_stream stream;
    size_t made;
    net_sp_stream_init(&stream, NET_SP_TO_LOCAL, BYTES_MAX);
    T_OK(net_sp_convert(&stream, in, sizeof(in), out, &made));
    assert_int_equal(made, 4096 / 8 * 9);
}

static void
test_a_long_message_is_refused_and_what_came_before_it_is_whole(void **state)
{
    (void)state;
    const unsigned lengths[] = {3, 1001};
    uint8_t in[4096], out[NET_SP_OUT_BYTES(4096)];
    net_sp_stream stream;
    size_t made, bytes = outside(in, lengths, 2);
    net_sp_stream_init(&stream, NET_SP_TO_LOCAL, BYTES_MAX);
    T_ERR(net_sp_convert(&stream, in, bytes, out, &made), OCT_EPROTO);
    assert_int_equal(made, 9 + 3);
    memset(in, 0xff, 8); // 2^64 - 1
    net_sp_stream_init(&stream, NET_SP_TO_LOCAL, BYTES_MAX);
    T_ERR(net_sp_convert(&stream, in, 8, out, &made), OCT_EPROTO);
    assert_int_equal(made, 0);
    in[0] = 2; // no kind that there is on local sockets
    memset(in + 1, 0, 8);
    net_sp_stream_init(&stream, NET_SP_FROM_LOCAL, BYTES_MAX);
    T_ERR(net_sp_convert(&stream, in, 9, out, &made), OCT_EPROTO);
}

static void
test_a_tag_goes_before_every_body(void **state)
{
    (void)state;
    const unsigned lengths[] = {0, 300};
    const uint64_t tag = 0x123456789abcdef0;
    uint8_t in[4096], out[NET_SP_OUT_BYTES(4096)];
    net_sp_stream stream;
    size_t made, bytes = outside(in, lengths, 2);
    net_sp_stream_init(&stream, NET_SP_TO_LOCAL, BYTES_MAX);
    stream.tag = tag;
    T_OK(net_sp_convert(&stream, in, bytes, out, &made));
    const uint8_t first[] = {1, 0, 0, 0, 0, 0, 0, 0, 8}, second[] = {1, 0, 0, 0, 0, 0, 0, 1, 52};
    assert_int_equal(made, 9 + 8 + 9 + 8 + 300);
    assert_memory_equal(out, first, 9);
    assert_memory_equal(out + 9, &tag, 8);
    assert_memory_equal(out + 17, second, 9);
    assert_memory_equal(out + 26, &tag, 8);
    assert_memory_equal(out + 34, in + 16, 300);
    memset(in, 0, sizeof(in));
    net_sp_stream_init(&stream, NET_SP_TO_LOCAL, BYTES_MAX);
    stream.tag = tag;
    T_OK(net_sp_convert(&stream, in, sizeof(in), out, &made));
    assert_int_equal(made, 4096 / 8 * 17);
    assert_true(made <= NET_SP_OUT_BYTES(4096));
}

// Of a request: behind its number, wherever the pieces end.
static void
test_a_tag_goes_behind_a_requests_number(void **state)
{
    (void)state;
    const unsigned lengths[] = {4, 5, 300};
    const uint64_t tag = 0x123456789abcdef0;
    uint8_t in[4096], want[4096];
    size_t bytes = outside(in, lengths, 3), want_bytes = 0;
    for (size_t at = 0, i = 0; i < 3; at += 8 + lengths[i], i++) {
        in[at + 8] |= 0x80;
        want[want_bytes++] = 1;
        memcpy(want + want_bytes, in + at, 12);
        want[want_bytes + 6] = (uint8_t)((lengths[i] + 8) >> 8);
        want[want_bytes + 7] = (uint8_t)(lengths[i] + 8);
        memcpy(want + want_bytes + 12, &tag, 8);
        memcpy(want + want_bytes + 20, in + at + 12, lengths[i] - 4);
        want_bytes += 20 + lengths[i] - 4;
    }
    net_sp_stream stream;
    net_sp_stream_init(&stream, NET_SP_TO_LOCAL, BYTES_MAX);
    stream.tag = tag;
    stream.has_number = true;
    convert_in_pieces(stream, in, bytes, want, want_bytes, 3, 300);
}

static void
test_what_is_no_request_is_refused(void **state)
{
    (void)state;
    const struct {
        unsigned length;
        uint8_t first; // of the body
        size_t in_bytes;
        oct_err err;
    } cases[] = {
        {1000, 0x80, 1008, OCT_OK},  {1000, 0x7f, 12, OCT_EPROTO},
        {1000, 0x7f, 9, OCT_EPROTO}, {1001, 0x80, 8, OCT_EPROTO}, // by its length alone
        {3, 0x80, 8, OCT_EPROTO},    {0, 0, 8, OCT_EPROTO},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        uint8_t in[4096], out[NET_SP_OUT_BYTES(4096)];
        net_sp_stream stream;
        size_t made;
        (void)outside(in, &cases[i].length, 1);
        in[8] = cases[i].first;
        net_sp_stream_init(&stream, NET_SP_TO_LOCAL, BYTES_MAX);
        stream.tag = 5;
        stream.has_number = true;
        T_ERR(net_sp_convert(&stream, in, cases[i].in_bytes, out, &made), cases[i].err);
        assert_int_equal(made, cases[i].err == OCT_OK ? 1009 + 8 : 0);
    }
}

static void
test_header(void **state)
{
    (void)state;
    const uint8_t want[] = {0, 'S', 'P', 0, 0, 0x50, 0, 0};
    uint8_t header[NET_SP_HEADER_BYTES];
    uint16_t protocol;
    net_sp_header_write(header, 0x50);
    assert_memory_equal(header, want, sizeof(want));
    assert_true(net_sp_header_read(header, &protocol));
    assert_int_equal(protocol, 0x50);
    const int fixed[] = {0, 1, 2, 3, 6, 7};
    for (size_t i = 0; i < OCT_COUNTOF(fixed); i++) {
        header[fixed[i]] ^= 1;
        assert_false(net_sp_header_read(header, &protocol));
        header[fixed[i]] ^= 1;
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_pass_both_ways_in_any_pieces),
        cmocka_unit_test(test_empty_messages_grow_no_more_than_said),
        cmocka_unit_test(test_a_long_message_is_refused_and_what_came_before_it_is_whole),
        cmocka_unit_test(test_a_tag_goes_before_every_body),
        cmocka_unit_test(test_a_tag_goes_behind_a_requests_number),
        cmocka_unit_test(test_what_is_no_request_is_refused),
        cmocka_unit_test(test_header),
    };
    return cmocka_run_group_tests_name("net_sp", tests, NULL, NULL);
}
