// Two sides of a gated connection, for tests: opens them, passes numbered messages, counts.
#include "tests/net/net_side.h"
#include "common/oct_reason.h"

#include "net/net_internal.h"
#include "tests/net/net_test.h"

#define TURN_MS 5

void
side_open(side *s, const char *folder)
{
    oct_reason why = {""};
    *s = (side){.loop = net_loop_create()};
    if (folder != NULL && net_loop_use_tls(s->loop, net_test_path(folder), &why) != OCT_OK) {
        fail_msg("%s", why.text);
    }
}

void
side_close(side *s)
{
    net_push_close(s->push);
    net_pull_close(s->pull);
    net_loop_destroy(s->loop);
}

oct_err
side_take(void *arg, net_msg *msg)
{
    side *s = arg;
    uint32_t number = 0;
    assert_true(net_msg_length(msg) >= sizeof(number));
    memcpy(&number, net_msg_body(msg), sizeof(number));
    assert_int_equal(number, s->got);
    s->got++;
    s->bytes += net_msg_length(msg);
    net_msg_destroy(msg);
    return OCT_OK;
}

void
side_connected(void *arg)
{
    ((side *)arg)->connected++;
}

void
side_disconnected(void *arg)
{
    ((side *)arg)->disconnected++;
}

void
side_turn(side *s)
{
    net_test_turn(s->loop, TURN_MS);
}

void
side_push(side *s, const char *url, unsigned roles)
{
    const net_push_events events = {
        .on_connected = side_connected, .on_disconnected = side_disconnected, .arg = s};
    T_OK(net_push_open(&s->push, s->loop, url, roles, &events));
}

void
side_pull(side *s, const char *url, unsigned roles)
{
    T_OK(net_pull_open(&s->pull, s->loop, &(net_endpoint){url, roles, BYTES_MAX, 0}, side_take, s));
}

// One message, numbered as the receiver counts.
void
pass_one(side *from, side *to)
{
    unsigned want = to->got + 1;
    net_msg *msg = net_test_msg_u32(to->got);
    while (net_push_send(from->push, msg) == OCT_EAGAIN) { // the one before is on its way
        side_turn(from);
    }
    while (to->got < want) {
        side_turn(from);
        side_turn(to);
    }
}

const char *
tls_url(void)
{
    static char urls[4][64];
    static unsigned next;
    char *url = urls[next++ % 4];
    (void)snprintf(url, sizeof(urls[0]), "tls+tcp://127.0.0.1:%u", net_test_free_port());
    return url;
}

unsigned
port_of(const char *url)
{
    return (unsigned)strtoul(strrchr(url, ':') + 1, NULL, 10);
}

net_gate_counts
counts_of(side *s)
{
    return net_gate_read_counts(net_loop_gate(s->loop));
}
