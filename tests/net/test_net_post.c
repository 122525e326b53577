// Messages of net_post reach the one peer they are addressed to, also after it has reconnected.
#include "tests/net/net_test.h"

#include <signal.h>

#include "net/net_post.h"
#include "net/net_pub.h"

#define PEERS    2
#define NAME_MAX 8

typedef struct box {
    struct office *office;
    net_sub *sub;
    uint32_t peer; // as the post last heard of it
    unsigned named, got;
    uint32_t last;
    bool close_inside;
} box;

typedef struct office {
    net_loop *loop;
    net_post *post;
    box boxes[PEERS];
} office;

static void
office_named(void *arg, uint32_t peer, oct_role role, const uint8_t *name, size_t length)
{
    office *o = arg;
    assert_int_equal(role, OCT_ROLE_LOCAL);
    assert_int_equal(length, 2);
    assert_int_equal(name[0], 'n');
    assert_in_range(name[1], 0, PEERS - 1);
    box *b = &o->boxes[name[1]];
    b->peer = peer;
    b->named++;
    net_loop_stop(o->loop);
}

static void
box_take(void *arg, net_msg *msg)
{
    box *b = arg;
    b->last = net_test_u32(msg);
    b->got++;
    net_loop_stop(b->office->loop);
    if (b->close_inside) {
        net_sub_close(b->sub);
        b->sub = NULL;
    }
}

static void
office_open(office *o, const char *url)
{
    o->loop = net_loop_create();
    T_OK(net_post_open(&o->post, o->loop, &(net_endpoint){url, OCT_ROLES_ANY, NAME_MAX, 100},
                       office_named, o));
    for (uint8_t i = 0; i < PEERS; i++) {
        uint8_t name[] = {'n', i};
        box *b = &o->boxes[i];
        b->office = o;
        T_OK(net_post_dial(&b->sub, o->loop, &(net_endpoint){url, OCT_ROLES_ANY, 100, 16},
                           &(net_sub_options){name, sizeof(name), box_take, NULL, b}));
        net_test_until(o->loop, &b->named, 1);
    }
}

static void
office_close(office *o)
{
    for (int i = 0; i < PEERS; i++) {
        net_sub_close(o->boxes[i].sub);
    }
    net_post_close(o->post);
    net_loop_destroy(o->loop);
}

static void
test_post_refuses_bad_arguments(void **state)
{
    (void)state;
    net_loop *loop = net_loop_create();
    net_post *post = NULL;
    net_sub *sub = NULL;
    const uint8_t name[] = {'n'};
    T_ERR(net_post_open(&post, loop, &(net_endpoint){"inproc://bad", OCT_ROLES_ANY, 1, 0},
                        office_named, NULL),
          OCT_EINVAL);
    T_ERR(net_post_open(&post, loop, &(net_endpoint){"inproc://bad", OCT_ROLES_ANY, 1, 8193},
                        office_named, NULL),
          OCT_EINVAL);
    T_ERR(net_post_open(&post, loop, &(net_endpoint){"inproc://bad", OCT_ROLES_ANY, 0, 1},
                        office_named, NULL),
          OCT_EINVAL);
    T_ERR(net_post_dial(&sub, loop, &(net_endpoint){"inproc://bad", OCT_ROLES_ANY, 1, 1},
                        &(net_sub_options){name, 0, box_take, NULL, NULL}),
          OCT_EINVAL);
    T_ERR(net_post_dial(&sub, loop, &(net_endpoint){"inproc://bad", OCT_ROLES_ANY, 1, 0},
                        &(net_sub_options){name, 1, box_take, NULL, NULL}),
          OCT_EINVAL);
    assert_null(post);
    assert_null(sub);
    net_post_close(NULL);
    net_loop_destroy(loop);
}

// What the first gets is sent before what the second gets: were it sent to both, the second would
// have it by then.
static void
post_reaches_its_peer_alone(const char *scheme)
{
    office o = {0};
    office_open(&o, net_test_url(scheme));
    box *one = &o.boxes[0], *other = &o.boxes[1];
    assert_int_not_equal(one->peer, other->peer);
    for (uint32_t i = 1; i <= 10; i++) {
        net_post_send(o.post, one->peer, net_test_msg_u32(i));
        net_test_until(o.loop, &one->got, i);
        assert_int_equal(one->last, i);
    }
    net_post_send(o.post, other->peer, net_test_msg_u32(99));
    net_test_until(o.loop, &other->got, 1);
    assert_int_equal(other->last, 99);
    assert_int_equal(one->got, 10);
    office_close(&o);
}

static void
test_post_reaches_its_peer_alone(void **state)
{
    (void)state;
    post_reaches_its_peer_alone("inproc");
    post_reaches_its_peer_alone("ipc");
    post_reaches_its_peer_alone("tcp");
}

static void
test_post_hears_the_name_again_after_a_new_connection(void **state)
{
    (void)state;
    const char *url = net_test_url("tcp");
    office o = {0};
    office_open(&o, url);
    box *b = &o.boxes[1];
    uint32_t before = b->peer;
    net_post_close(o.post);
    T_OK(net_post_open(&o.post, o.loop, &(net_endpoint){url, OCT_ROLES_ANY, NAME_MAX, 100},
                       office_named, &o));
    net_test_until(o.loop, &b->named, 2);
    assert_int_not_equal(b->peer, before);
    net_post_send(o.post, before, net_test_msg_u32(1)); // nobody any more
    net_post_send(o.post, b->peer, net_test_msg_u32(2));
    net_test_until(o.loop, &b->got, 1);
    assert_int_equal(b->last, 2);
    office_close(&o);
}

static void
post_knows_who_is_there(const char *scheme)
{
    office o = {0};
    office_open(&o, net_test_url(scheme));
    box *one = &o.boxes[0], *other = &o.boxes[1];
    assert_true(net_post_has(o.post, one->peer));
    assert_true(net_post_has(o.post, other->peer));
    net_sub_close(other->sub);
    other->sub = NULL;
    while (net_post_has(o.post, other->peer)) {
        net_test_turn(o.loop, 5);
    }
    assert_true(net_post_has(o.post, one->peer));
    assert_false(net_post_has(o.post, 0)); // nobody
    office_close(&o);
}

static void
test_post_knows_who_is_there(void **state)
{
    (void)state;
    post_knows_who_is_there("inproc");
    post_knows_who_is_there("ipc");
    post_knows_who_is_there("tcp");
}

// The deaf one is connected and has a loop that does not turn: what is sent to it fills every
// buffer on the way.
static void
test_post_does_not_wait_for_a_peer_that_does_not_read(void **state)
{
    (void)state;
    static const uint8_t long_letter[64 << 10];
    const char *url = net_test_url("tcp");
    office o = {0};
    office_open(&o, url);
    net_loop *deaf_loop = net_loop_create();
    net_sub *deaf;
    const uint8_t name[] = {'n', 1};
    box *b = &o.boxes[1], *other = &o.boxes[0];
    T_OK(net_post_dial(&deaf, deaf_loop,
                       &(net_endpoint){url, OCT_ROLES_ANY, sizeof(long_letter), 1},
                       &(net_sub_options){name, sizeof(name), box_take, net_test_stop, deaf_loop}));
    net_loop_run(deaf_loop); // it is connected, and has said its name
    net_test_until(o.loop, &b->named, 2);
    for (int i = 0; i < 1000; i++) {
        net_post_send(o.post, b->peer, net_test_msg(long_letter, sizeof(long_letter)));
    }
    while (other->got == 0) { // the queue may still be full of the deaf one's
        net_post_send(o.post, other->peer, net_test_msg_u32(7));
        net_test_turn(o.loop, 5);
    }
    assert_int_equal(other->last, 7);
    net_sub_close(deaf);
    net_loop_destroy(deaf_loop);
    office_close(&o);
}

static void
test_post_drops_a_name_that_is_too_long(void **state)
{
    (void)state;
    const char *url = net_test_url("inproc");
    const uint8_t name[NAME_MAX + 1] = {'n', 0};
    office o = {0};
    office_open(&o, url); // both are named once
    net_sub *sub;
    T_OK(net_post_dial(&sub, o.loop, &(net_endpoint){url, OCT_ROLES_ANY, 100, 16},
                       &(net_sub_options){name, sizeof(name), box_take, NULL, &o.boxes[0]}));
    net_sub_close(o.boxes[1].sub); // and this one comes after it
    const uint8_t again[] = {'n', 1};
    T_OK(net_post_dial(&o.boxes[1].sub, o.loop, &(net_endpoint){url, OCT_ROLES_ANY, 100, 16},
                       &(net_sub_options){again, sizeof(again), box_take, NULL, &o.boxes[1]}));
    net_test_until(o.loop, &o.boxes[1].named, 2);
    assert_int_equal(o.boxes[0].named, 1);
    net_sub_close(sub);
    office_close(&o);
}

static void
test_box_may_be_closed_by_its_handler(void **state)
{
    (void)state;
    office o = {0};
    office_open(&o, net_test_url("inproc"));
    o.boxes[0].close_inside = true;
    net_post_send(o.post, o.boxes[0].peer, net_test_msg_u32(1));
    net_test_until(o.loop, &o.boxes[0].got, 1);
    office_close(&o);
}

int
main(void)
{
    (void)signal(SIGPIPE, SIG_IGN); // as net_daemon_begin does
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_post_refuses_bad_arguments),
        cmocka_unit_test(test_post_reaches_its_peer_alone),
        cmocka_unit_test(test_post_hears_the_name_again_after_a_new_connection),
        cmocka_unit_test(test_post_knows_who_is_there),
        cmocka_unit_test(test_post_does_not_wait_for_a_peer_that_does_not_read),
        cmocka_unit_test(test_post_drops_a_name_that_is_too_long),
        cmocka_unit_test(test_box_may_be_closed_by_its_handler),
    };
    return cmocka_run_group_tests(tests, NULL, net_test_folder_remove);
}
