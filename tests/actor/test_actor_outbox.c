// Batches are sent once each in order, and again only when replay has lost them.
#include "actor/actor_outbox.h"
#include "tests/support/oct_test.h"

enum { ROOM = 4 };

static actor_batch batches[64];

static void
outbox_fill(actor_outbox *outbox, uint64_t first, uint64_t last)
{
    for (uint64_t sequence = first; sequence <= last; sequence++) {
        batches[sequence].sequence = sequence;
        actor_outbox_put(outbox, &batches[sequence]);
    }
}

// Sends all that is to be sent; the sequences in order as a decimal number (1, 2, 3: 123).
static uint64_t
outbox_send(actor_outbox *outbox)
{
    uint64_t sent = 0;
    const actor_batch *batch;
    while ((batch = actor_outbox_next(outbox)) != NULL) {
        sent = 10 * sent + batch->sequence;
        actor_outbox_sent(outbox);
    }
    return sent;
}

static uint64_t
outbox_ack(actor_outbox *outbox, uint64_t sequence, uint64_t incarnation)
{
    wire_ack ack = {.sequence = sequence, .incarnation = incarnation, .credit = 1};
    actor_outbox_ack(outbox, &ack);
    uint64_t taken = 0;
    const actor_batch *batch;
    while ((batch = actor_outbox_take(outbox)) != NULL) {
        taken = 10 * taken + batch->sequence;
    }
    return taken;
}

static int
setup(void **state)
{
    static actor_outbox outbox;
    actor_outbox_init(&outbox, ROOM);
    *state = &outbox;
    return 0;
}

static int
teardown(void **state)
{
    actor_outbox_fini(*state);
    return 0;
}

static void
test_outbox_ack_of_what_was_never_put_is_ignored(void **state)
{
    actor_outbox *outbox = *state;
    outbox_fill(outbox, 1, 2);
    assert_int_equal(outbox_send(outbox), 12);
    assert_int_equal(outbox_ack(outbox, 3, 1), 0);
    assert_int_equal(outbox_ack(outbox, UINT64_MAX, 1), 0);
    assert_int_equal(outbox->acked, 0);
    assert_int_equal(actor_outbox_first(outbox), 1);
    assert_int_equal(outbox_ack(outbox, 2, 1), 12);
}

static void
test_outbox_empty(void **state)
{
    actor_outbox *outbox = *state;
    assert_null(actor_outbox_next(outbox));
    assert_null(actor_outbox_take(outbox));
    assert_int_equal(actor_outbox_first(outbox), 1);
    actor_outbox_go_back(outbox);
    assert_int_equal(outbox->resent, 0);
}

static void
test_outbox_sends_each_once_and_forgets_the_acknowledged(void **state)
{
    actor_outbox *outbox = *state;
    outbox_fill(outbox, 1, 3);
    assert_int_equal(outbox_send(outbox), 123);
    assert_int_equal(outbox_send(outbox), 0);
    assert_int_equal(outbox_ack(outbox, 2, 1), 12);
    assert_int_equal(actor_outbox_first(outbox), 3);
    outbox_fill(outbox, 4, 6); // around the end of the ring
    assert_int_equal(outbox_send(outbox), 456);
    assert_int_equal(outbox_ack(outbox, 6, 1), 3456);
    assert_int_equal(actor_outbox_first(outbox), 7);
    assert_int_equal(outbox->resent, 0);
}

static void
test_outbox_duplicate_and_older_acks_change_nothing(void **state)
{
    actor_outbox *outbox = *state;
    outbox_fill(outbox, 1, 4);
    (void)outbox_send(outbox);
    assert_int_equal(outbox_ack(outbox, 3, 1), 123);
    assert_int_equal(outbox_ack(outbox, 3, 1), 0);
    assert_int_equal(outbox_ack(outbox, 1, 1), 0);
    assert_int_equal(outbox->acked, 3);
    assert_int_equal(outbox->count, 1);
    assert_int_equal(outbox_send(outbox), 0);
}

static void
test_outbox_goes_back(void **state)
{
    actor_outbox *outbox = *state;
    outbox_fill(outbox, 1, 3);
    (void)outbox_send(outbox);
    (void)outbox_ack(outbox, 1, 1);
    actor_outbox_go_back(outbox);
    assert_int_equal(outbox->resent, 2);
    outbox_fill(outbox, 4, 4);
    assert_int_equal(outbox_send(outbox), 234);
}

// The acknowledgement of what went out before the going back comes while it is sent again.
static void
test_outbox_ack_overtakes_the_second_sending(void **state)
{
    actor_outbox *outbox = *state;
    outbox_fill(outbox, 1, 4);
    (void)outbox_send(outbox);
    actor_outbox_go_back(outbox);
    assert_int_equal(actor_outbox_next(outbox)->sequence, 1);
    actor_outbox_sent(outbox);
    assert_int_equal(outbox_ack(outbox, 3, 1), 123);
    assert_int_equal(outbox_send(outbox), 4);
    assert_int_equal(outbox_ack(outbox, 4, 1), 4);
}

static void
test_outbox_sends_everything_to_a_new_incarnation(void **state)
{
    actor_outbox *outbox = *state;
    outbox_fill(outbox, 1, 4);
    (void)outbox_send(outbox);
    assert_int_equal(outbox_ack(outbox, 1, 7), 1);
    // Replay restarted from a snapshot that knows less than it acknowledged.
    assert_int_equal(outbox_ack(outbox, 0, 8), 0);
    assert_int_equal(outbox->resent, 3);
    assert_int_equal(outbox_send(outbox), 234);
    assert_int_equal(outbox_ack(outbox, 4, 8), 234);
    assert_int_equal(outbox->acked, 4);
}

static void
test_outbox_first_ack_is_no_new_incarnation(void **state)
{
    actor_outbox *outbox = *state;
    outbox_fill(outbox, 1, 2);
    (void)outbox_send(outbox);
    assert_int_equal(outbox_ack(outbox, 0, 7), 0);
    assert_int_equal(outbox->resent, 0);
    assert_int_equal(outbox_send(outbox), 0);
}

static void
test_outbox_counts_each_row_once_however_often_it_is_sent(void **state)
{
    actor_outbox *outbox = *state;
    for (uint64_t sequence = 1; sequence <= 3; sequence++) {
        batches[sequence].count = 10 * (uint32_t)sequence;
    }
    outbox_fill(outbox, 1, 3);
    assert_int_equal(outbox->rows_sent, 0);
    (void)outbox_send(outbox);
    assert_int_equal(outbox->rows_sent, 10 + 20 + 30);
    actor_outbox_go_back(outbox);
    (void)outbox_send(outbox);
    assert_int_equal(outbox->rows_sent, 10 + 20 + 30);
    (void)outbox_ack(outbox, 2, 7);
    assert_int_equal(outbox->rows_acked, 10 + 20);
}

int
main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_outbox_ack_of_what_was_never_put_is_ignored),
        T(test_outbox_empty),
        T(test_outbox_sends_each_once_and_forgets_the_acknowledged),
        T(test_outbox_duplicate_and_older_acks_change_nothing),
        T(test_outbox_goes_back),
        T(test_outbox_ack_overtakes_the_second_sending),
        T(test_outbox_sends_everything_to_a_new_incarnation),
        T(test_outbox_first_ack_is_no_new_incarnation),
        T(test_outbox_counts_each_row_once_however_often_it_is_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
