// Links that are closed aside: the loop goes on meanwhile, and does not end before they are closed.
#include "tests/net/net_test.h"

#include <unistd.h>

#include "common/oct_base.h"
#include "net/net_internal.h"
#include "net/net_push.h"

typedef struct closing {
    int begins[2], may_end[2]; // pipes
    net_timer *timer;
    unsigned turns;
    bool has_ended;
} closing;

// A link whose socket closes when a byte comes.
typedef struct some_link {
    net_op op;
    net_wakeup *wakeup; // frees the link
    closing *closing;
} some_link;

// Not on the loop's thread.
static void
link_close(void *owner)
{
    closing *c = ((some_link *)owner)->closing;
    char byte = 0;
    OCT_ASSERT(write(c->begins[1], &byte, 1) == 1 && read(c->may_end[0], &byte, 1) == 1);
    c->has_ended = true;
}

static void
turned(void *arg)
{
    closing *c = arg;
    if (++c->turns == 3) {
        assert_int_equal(write(c->may_end[1], "", 1), 1);
        net_timer_stop(c->timer);
    }
}

static void
never_woken(void *arg)
{
    (void)arg;
    fail_msg("nothing is in flight");
}

static void
link_leave(net_loop *loop, closing *c)
{
    some_link *left = oct_alloc(sizeof(*left));
    left->wakeup = net_wakeup_create(loop, never_woken, left);
    net_op_init(&left->op, left->wakeup);
    left->closing = c;
    net_abandon(loop, link_close, &left->op, left->wakeup, left);
}

static void
test_loop_does_not_end_before_what_was_left_is_closed(void **state)
{
    (void)state;
    closing c = {0};
    char byte;
    assert_int_equal(pipe(c.begins), 0);
    assert_int_equal(pipe(c.may_end), 0);
    net_loop *loop = net_loop_create();
    link_leave(loop, &c); // returns, though it is not closed
    assert_int_equal(read(c.begins[0], &byte, 1), 1);
    c.timer = net_timer_start(loop, 1, 1, turned, &c);
    net_loop_destroy(loop);
    assert_true(c.has_ended);
    assert_int_equal(c.turns, 3);
    for (int i = 0; i < 2; i++) {
        (void)close(c.begins[i]);
        (void)close(c.may_end[i]);
    }
}

// The message that a puller has no room for is lost with the link, and nothing else.
static void
test_push_that_is_in_the_middle_of_a_message_may_be_left(void **state)
{
    (void)state;
    net_push *push;
    const net_push_events events = {0};
    net_loop *loop = net_loop_create();
    T_OK(net_push_open(&push, loop, net_test_url("ipc"), OCT_ROLES_ANY, &events));
    T_OK(net_push_send(push, net_test_msg_u32(1))); // nobody is there
    net_push_abandon(push);
    net_loop_destroy(loop);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loop_does_not_end_before_what_was_left_is_closed),
        cmocka_unit_test(test_push_that_is_in_the_middle_of_a_message_may_be_left),
    };
    return cmocka_run_group_tests(tests, NULL, net_test_folder_remove);
}
