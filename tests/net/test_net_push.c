// A PUSH socket sends one message at a time, and goes on after its puller was away.
#include "tests/net/net_test.h"

#include "net/net_pull.h"
#include "net/net_push.h"

#define PULL_BYTES_MAX 1000
#define CUTS           25u // lost connections in a row: NNG 1.5.2 crashed at one of a few
#define CUT_EVERY      7u  // every so many messages one is too long, which cuts the link

// A pusher and, when it is open, its puller, on one loop.
typedef struct pair {
    net_loop *loop;
    net_push *push;
    net_pull *pull;
    unsigned ready;
    unsigned connected;
    unsigned disconnected;
    unsigned got;
    uint32_t last;
    uint32_t next;      // what streams, if streaming
    uint32_t cut_every; // 0: the puller takes whatever streams
    bool streaming;
    bool close_when_connected;
} pair;

static oct_err
link_take(void *arg, net_msg *msg)
{
    pair *l = arg;
    uint32_t number = net_test_u32(msg);
    assert_true(l->got == 0 || number > l->last); // lost perhaps, but never twice or out of order
    l->last = number;
    l->got++;
    net_msg_destroy(msg);
    net_loop_stop(l->loop);
    return OCT_OK;
}

static void
link_send_next(pair *l)
{
    uint32_t number = l->next++;
    bool cut = l->cut_every != 0 && number % l->cut_every == l->cut_every - 1;
    net_msg *msg = cut ? net_msg_create(2 * PULL_BYTES_MAX + 1) : net_test_msg_u32(number);
    T_OK(net_push_send(l->push, msg));
}

static void
link_ready(void *arg)
{
    pair *l = arg;
    l->ready++;
    if (l->streaming) {
        link_send_next(l);
    }
    net_loop_stop(l->loop);
}

static void
link_connected(void *arg)
{
    pair *l = arg;
    l->connected++;
    net_loop_stop(l->loop);
    if (l->close_when_connected) {
        net_push_close(l->push);
        l->push = NULL;
    }
}

static void
link_disconnected(void *arg)
{
    pair *l = arg;
    l->disconnected++;
    net_loop_stop(l->loop);
}

static void
link_open_push(pair *l, const char *url)
{
    net_push_events events = {.on_ready = link_ready,
                              .on_connected = link_connected,
                              .on_disconnected = link_disconnected,
                              .arg = l};
    l->loop = net_loop_create();
    T_OK(net_push_open(&l->push, l->loop, url, OCT_ROLES_ANY, &events));
}

static void
link_open_pull(pair *l, const char *url)
{
    T_OK(net_pull_open(&l->pull, l->loop, &(net_endpoint){url, OCT_ROLES_ANY, PULL_BYTES_MAX, 0},
                       link_take, l));
}

static void
link_close(pair *l)
{
    net_push_close(l->push);
    net_pull_close(l->pull);
    net_loop_destroy(l->loop);
}

static void
test_push_refuses_a_bad_address(void **state)
{
    (void)state;
    net_loop *loop = net_loop_create();
    net_push_events events = {0};
    net_push *push = NULL;
    oct_err err = net_push_open(&push, loop, "nonsense", OCT_ROLES_ANY, &events);
    assert_true(err == OCT_EINVAL || err == OCT_EIO);
    assert_null(push);
    net_push_close(NULL);
    net_loop_destroy(loop);
}

static void
test_push_takes_one_message_at_a_time(void **state)
{
    (void)state;
    pair l = {0};
    link_open_push(&l, net_test_url("inproc"));
    T_OK(net_push_send(l.push, net_test_msg_u32(1)));
    net_msg *second = net_test_msg_u32(2);
    T_ERR(net_push_send(l.push, second), OCT_EAGAIN);
    assert_int_equal(net_test_u32(second), 2); // still ours
    net_msg_destroy(second);
    assert_int_equal(l.ready, 0);
    link_close(&l); // with a message nobody took: it may not leak
}

static void
push_waits_for_the_puller(const char *url)
{
    pair l = {0};
    link_open_push(&l, url);
    T_OK(net_push_send(l.push, net_test_msg_u32(7)));
    link_open_pull(&l, url);
    net_test_until(l.loop, &l.got, 1);
    net_test_until(l.loop, &l.ready, 1);
    net_test_until(l.loop, &l.connected, 1);
    assert_int_equal(l.last, 7);
    T_OK(net_push_send(l.push, net_test_msg_u32(8)));
    net_test_until(l.loop, &l.got, 2);
    assert_int_equal(l.last, 8);
    assert_int_equal(l.connected, 1);
    assert_int_equal(l.disconnected, 0);
    link_close(&l);
}

static void
test_push_waits_for_the_puller(void **state)
{
    (void)state;
    push_waits_for_the_puller(net_test_url("inproc"));
    push_waits_for_the_puller(net_test_url("ipc"));
    push_waits_for_the_puller(net_test_url("tcp"));
}

// What is under way when the puller goes may be lost; the stream goes on.
static void
push_goes_on_after_the_puller_was_away(const char *url)
{
    pair l = {.streaming = true};
    link_open_push(&l, url);
    link_open_pull(&l, url);
    T_OK(net_push_send(l.push, net_test_msg_u32(l.next++)));
    net_test_until(l.loop, &l.got, 50);
    for (unsigned away = 1; away <= 2; away++) {
        assert_int_equal(l.connected, away);
        net_pull_close(l.pull);
        l.pull = NULL;
        net_test_until(l.loop, &l.disconnected, away);
        assert_int_equal(l.connected, away);
        uint32_t before = l.last;
        unsigned got = l.got;
        link_open_pull(&l, url);
        net_test_until(l.loop, &l.connected, away + 1);
        net_test_until(l.loop, &l.got, got + 50);
        assert_true(l.last > before);
        assert_int_equal(l.disconnected, away);
    }
    l.streaming = false;
    link_close(&l);
}

static void
test_push_goes_on_after_the_puller_was_away(void **state)
{
    (void)state;
    push_goes_on_after_the_puller_was_away(net_test_url("ipc"));
    push_goes_on_after_the_puller_was_away(net_test_url("tcp"));
}

// Sends end at the moment their pipe goes, again and again.
static void
push_goes_on_after_every_cut(const char *url)
{
    pair l = {.streaming = true, .cut_every = CUT_EVERY};
    link_open_push(&l, url);
    link_open_pull(&l, url);
    link_send_next(&l);
    net_test_until(l.loop, &l.disconnected, CUTS);
    l.cut_every = 0;
    net_test_until(l.loop, &l.connected, CUTS + 1);
    net_test_until(l.loop, &l.got, l.got + 50);
    l.streaming = false;
    link_close(&l);
}

static void
test_push_goes_on_after_every_cut(void **state)
{
    (void)state;
    push_goes_on_after_every_cut(net_test_url("ipc"));
    push_goes_on_after_every_cut(net_test_url("tcp"));
}

static void
test_push_may_be_closed_by_its_handler(void **state)
{
    (void)state;
    const char *url = net_test_url("inproc");
    pair l = {.close_when_connected = true};
    link_open_push(&l, url);
    T_OK(net_push_send(l.push, net_test_msg_u32(1)));
    link_open_pull(&l, url);
    net_test_until(l.loop, &l.connected, 1);
    assert_int_equal(l.ready, 0); // nothing is called after the close
    link_close(&l);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_push_refuses_a_bad_address),
        cmocka_unit_test(test_push_takes_one_message_at_a_time),
        cmocka_unit_test(test_push_waits_for_the_puller),
        cmocka_unit_test(test_push_goes_on_after_the_puller_was_away),
        cmocka_unit_test(test_push_goes_on_after_every_cut),
        cmocka_unit_test(test_push_may_be_closed_by_its_handler),
    };
    return cmocka_run_group_tests(tests, NULL, net_test_folder_remove);
}
