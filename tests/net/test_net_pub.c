// Publishing never blocks, and a subscriber gets the newest messages of its topic, also after a
// reconnect.
#include "tests/net/net_test.h"

#include <sched.h>

#include <nng/nng.h>

#include "net/net_pub.h"

#define BURST   100u
#define SETTLED 0xffffffffu

typedef struct listener {
    net_loop *loop;
    net_pub *pub;
    net_sub *sub;
    unsigned connected;
    unsigned got;
    uint32_t values[BURST * 2];
    bool close_inside;
} listener;

static void
listener_take(void *arg, net_msg *msg)
{
    listener *l = arg;
    uint8_t topic = net_msg_body(msg)[0];
    assert_int_equal(topic, 'p');
    assert_int_equal(net_msg_length(msg), 5);
    memcpy(&l->values[l->got++ % OCT_COUNTOF(l->values)], net_msg_body(msg) + 1, 4);
    net_loop_stop(l->loop);
    if (l->close_inside) {
        net_sub_close(l->sub);
        l->sub = NULL;
    }
}

static void
listener_until(listener *l, uint32_t value)
{
    while (l->got == 0 || l->values[(l->got - 1) % OCT_COUNTOF(l->values)] != value) {
        net_loop_run(l->loop);
    }
}

static void
listener_connected(void *arg)
{
    listener *l = arg;
    l->connected++;
    net_loop_stop(l->loop);
}

static void
publish(net_pub *pub, char topic, uint32_t value)
{
    uint8_t bytes[5] = {(uint8_t)topic};
    memcpy(bytes + 1, &value, sizeof(value));
    net_pub_send(pub, net_test_msg(bytes, sizeof(bytes)));
}

static void
listener_open(listener *l, const char *url, uint32_t sub_queue)
{
    l->loop = net_loop_create();
    T_OK(net_pub_open(&l->pub, l->loop, url, OCT_ROLES_ANY, BURST));
    T_OK(net_sub_open(
        &l->sub, l->loop, &(net_endpoint){url, OCT_ROLES_ANY, 100, sub_queue},
        &(net_sub_options){(const uint8_t *)"p", 1, listener_take, listener_connected, l}));
    net_test_until(l->loop, &l->connected, 1);
}

// The publisher sees the pipe a moment after the subscriber does: repeat until one got through,
// and then wait for the last one.
static void
listener_settle(listener *l)
{
    while (l->got == 0) {
        publish(l->pub, 'p', 0);
        net_test_turn(l->loop, 5);
    }
    if (l->sub != NULL) {
        publish(l->pub, 'p', SETTLED);
        listener_until(l, SETTLED);
        l->got = 0;
    }
}

static void
listener_close(listener *l)
{
    net_sub_close(l->sub);
    net_pub_close(l->pub);
    net_loop_destroy(l->loop);
}

static void
test_pub_and_sub_refuse_bad_arguments(void **state)
{
    (void)state;
    net_loop *loop = net_loop_create();
    net_pub *pub = NULL;
    net_sub *sub = NULL;
    T_ERR(net_pub_open(&pub, loop, "inproc://bad", OCT_ROLES_ANY, 0), OCT_EINVAL);
    T_ERR(net_pub_open(&pub, loop, "inproc://bad", OCT_ROLES_ANY, 8193), OCT_EINVAL);
    T_ERR(net_sub_open(&sub, loop, &(net_endpoint){"inproc://bad", OCT_ROLES_ANY, 1, 0},
                       &(net_sub_options){NULL, 0, listener_take, NULL, NULL}),
          OCT_EINVAL);
    T_ERR(net_sub_open(&sub, loop, &(net_endpoint){"inproc://bad", OCT_ROLES_ANY, 0, 1},
                       &(net_sub_options){NULL, 0, listener_take, NULL, NULL}),
          OCT_EINVAL);
    assert_null(pub);
    assert_null(sub);
    net_pub_close(NULL);
    net_sub_close(NULL);
    net_loop_destroy(loop);
}

static void
test_pub_without_subscribers_does_not_block(void **state)
{
    (void)state;
    net_loop *loop = net_loop_create();
    net_pub *pub = NULL;
    T_OK(net_pub_open(&pub, loop, net_test_url("inproc"), OCT_ROLES_ANY, 1));
    for (uint32_t i = 0; i < 1000; i++) {
        publish(pub, 'p', i);
    }
    assert_int_equal(net_pub_sent_bytes(pub), 5000); // each once
    net_pub_close(pub);
    net_loop_destroy(loop);
}

// Adds up what NNG's pipes have received, in this process.
static uint64_t
stat_received(nng_stat *stat)
{
    uint64_t sum = strcmp(nng_stat_name(stat), "rx_msgs") == 0 ? nng_stat_value(stat) : 0;
    for (stat = nng_stat_child(stat); stat != NULL; stat = nng_stat_next(stat)) {
        sum += stat_received(stat);
    }
    return sum;
}

static uint64_t
messages_received(void)
{
    nng_stat *root = NULL;
    assert_int_equal(nng_stats_get(&root), 0);
    uint64_t sum = stat_received(root);
    nng_stats_free(root);
    return sum;
}

// Not a turn of the loop happens while the burst arrives; NNG counts a message just before it
// queues it, so at the end the last one may still be on its way.
static void
test_sub_with_a_queue_of_one_keeps_the_newest(void **state)
{
    (void)state;
    listener l = {0};
    listener_open(&l, net_test_url("ipc"), 1);
    listener_settle(&l);
    uint64_t before = messages_received();
    for (uint32_t i = 1; i <= BURST; i++) {
        publish(l.pub, 'p', i);
    }
    while (messages_received() < before + BURST) {
        sched_yield();
    }
    listener_until(&l, BURST);
    assert_true(l.got <= 2);
    assert_true(l.values[0] >= BURST - 1);
    listener_close(&l);
}

static void
test_sub_with_a_queue_gets_all_that_fits_in_order(void **state)
{
    (void)state;
    listener l = {0};
    listener_open(&l, net_test_url("inproc"), 8192);
    listener_settle(&l);
    for (uint32_t i = 1; i <= BURST; i++) {
        publish(l.pub, 'p', i);
    }
    listener_until(&l, BURST);
    assert_int_equal(l.got, BURST);
    for (unsigned i = 0; i < BURST; i++) {
        assert_int_equal(l.values[i], i + 1);
    }
    listener_close(&l);
}

// As above, the last one may still be on its way; and the loop is stopped by the first.
static void
test_sub_handles_what_waits_together_in_one_turn(void **state)
{
    (void)state;
    enum { TOGETHER = 20 };
    listener l = {0};
    listener_open(&l, net_test_url("ipc"), 64);
    listener_settle(&l);
    uint64_t before = messages_received();
    for (uint32_t i = 1; i <= TOGETHER; i++) {
        publish(l.pub, 'p', i);
    }
    while (messages_received() < before + TOGETHER) {
        sched_yield();
    }
    net_loop_run(l.loop);
    assert_true(l.got >= TOGETHER - 1);
    for (unsigned i = 0; i < l.got; i++) {
        assert_int_equal(l.values[i], i + 1);
    }
    listener_close(&l);
}

static void
test_sub_gets_its_topic_only(void **state)
{
    (void)state;
    listener l = {0};
    listener_open(&l, net_test_url("inproc"), 100);
    listener_settle(&l);
    publish(l.pub, 'q', 1); // the handler asserts that it sees 'p'
    publish(l.pub, 'p', 2);
    publish(l.pub, 'o', 3);
    net_pub_send(l.pub, net_msg_create(0));
    publish(l.pub, 'p', 4);
    listener_until(&l, 4);
    assert_int_equal(l.got, 2);
    assert_int_equal(l.values[0], 2);
    listener_close(&l);
}

static void
test_sub_drops_what_is_too_long(void **state)
{
    (void)state;
    listener l = {0};
    listener_open(&l, net_test_url("inproc"), 100);
    listener_settle(&l);
    net_msg *big = net_msg_create(101);
    net_msg_body(big)[0] = 'p'; // the handler asserts a length of 5
    net_pub_send(l.pub, big);
    publish(l.pub, 'p', 9);
    listener_until(&l, 9);
    assert_int_equal(l.got, 1);
    listener_close(&l);
}

static void
test_sub_finds_the_publisher_again(void **state)
{
    (void)state;
    const char *url = net_test_url("tcp");
    listener l = {0};
    listener_open(&l, url, 1);
    listener_settle(&l);
    net_pub_close(l.pub);
    T_OK(net_pub_open(&l.pub, l.loop, url, OCT_ROLES_ANY, 1));
    net_test_until(l.loop, &l.connected, 2);
    listener_settle(&l);
    listener_close(&l);
}

static void
test_sub_may_be_closed_by_its_handler(void **state)
{
    (void)state;
    listener l = {.close_inside = true};
    listener_open(&l, net_test_url("inproc"), 100);
    listener_settle(&l);
    assert_int_equal(l.got, 1);
    listener_close(&l);
}

static void
test_sub_changes_its_topic(void **state)
{
    (void)state;
    listener l = {.connected = 0};
    listener_open(&l, net_test_url("inproc"), BURST);
    listener_settle(&l);
    const uint32_t value = 99;
    uint8_t topic[5] = {'p'}; // one message of those before
    memcpy(topic + 1, &value, sizeof(value));
    T_OK(net_sub_change(l.sub, (const uint8_t *)"p", 1, topic, sizeof(topic)));
    for (uint32_t i = 1; i <= value; i++) {
        publish(l.pub, 'p', i);
    }
    listener_until(&l, value);
    assert_int_equal(l.got, 1);
    listener_close(&l);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pub_and_sub_refuse_bad_arguments),
        cmocka_unit_test(test_pub_without_subscribers_does_not_block),
        cmocka_unit_test(test_sub_with_a_queue_of_one_keeps_the_newest),
        cmocka_unit_test(test_sub_with_a_queue_gets_all_that_fits_in_order),
        cmocka_unit_test(test_sub_handles_what_waits_together_in_one_turn),
        cmocka_unit_test(test_sub_gets_its_topic_only),
        cmocka_unit_test(test_sub_changes_its_topic),
        cmocka_unit_test(test_sub_drops_what_is_too_long),
        cmocka_unit_test(test_sub_finds_the_publisher_again),
        cmocka_unit_test(test_sub_may_be_closed_by_its_handler),
    };
    return cmocka_run_group_tests(tests, NULL, net_test_folder_remove);
}
