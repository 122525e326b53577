// What is sent again, and when: by the rule alone, and over lines of any speed, in a time of the
// test's own.
#include <stdlib.h>

#include "actor/actor_outbox.h"
#include "actor/actor_resend.h"
#include "tests/support/oct_test.h"

#define MS UINT64_C(1000000)
#define S  (1000 * MS)

enum { RING = 16, SMALL = 1000 };

static actor_resend resend;

static int
setup(void **state)
{
    (void)state;
    actor_resend_init(&resend);
    return 0;
}

static void
sent(uint64_t sequence, uint32_t others, uint64_t now_ns)
{
    actor_resend_sent(&resend, sequence, SMALL, others, now_ns);
}

// Sent once while nothing else was on its way, and acknowledged.
static void
carry(uint64_t sequence, uint64_t from_ns, uint64_t took_ns)
{
    sent(sequence, 0, from_ns);
    actor_resend_acked(&resend, sequence, from_ns + took_ns);
}

static void
test_late_is_what_brings_no_progress(void **state)
{
    (void)state;
    sent(1, 0, 5 * S);
    assert_false(actor_resend_is_late(&resend, 6 * S));
    sent(2, 1, 6 * S); // others do not put it off
    assert_true(actor_resend_is_late(&resend, 6 * S + 1));
    assert_false(actor_resend_is_late(&resend, 6 * S + 2)); // once
    actor_resend_acked(&resend, 1, 8 * S);
    assert_false(actor_resend_is_late(&resend, 10 * S));
    assert_true(actor_resend_is_late(&resend, 10 * S + 1));
}

static void
test_timeout_doubles_up_to_its_bound(void **state)
{
    (void)state;
    uint64_t now_ns = S;
    sent(1, 0, now_ns);
    static const uint64_t want_s[] = {1, 2, 4, 8, 16, 32, 60, 60, 60};
    for (size_t i = 0; i < OCT_COUNTOF(want_s); i++) {
        assert_false(actor_resend_is_late(&resend, now_ns + want_s[i] * S));
        now_ns += want_s[i] * S + 1;
        assert_true(actor_resend_is_late(&resend, now_ns));
        sent(1, 0, now_ns);
    }
}

// A rollout of images: before anything is known of the line, 60 MB are not late after a second.
static void
test_first_timeout_is_long_enough_for_a_large_batch(void **state)
{
    (void)state;
    actor_resend_sent(&resend, 1, 60000000, 0, S);
    assert_false(actor_resend_is_late(&resend, 7 * S));
    assert_true(actor_resend_is_late(&resend, 7 * S + 1));
    actor_resend_sent(&resend, 1, 60000000, 0, 7 * S + 1); // doubled, and not back to the first
    assert_int_equal(resend.timeout_ns, 12 * S);
    actor_resend_acked(&resend, 1, 9 * S);
    actor_resend_sent(&resend, 2, 60000000, 0, 10 * S);
    actor_resend_acked(&resend, 2, 10 * S + MS); // now it is known
    assert_int_equal(resend.timeout_ns, ACTOR_RESEND_NS_MIN);
    actor_resend_sent(&resend, 3, 60000000, 0, 11 * S);
    assert_int_equal(resend.timeout_ns, ACTOR_RESEND_NS_MIN);
    actor_resend_init(&resend);
    actor_resend_sent(&resend, 1, (size_t)WIRE_MESSAGE_BYTES_MAX * 100, 0, 0);
    assert_int_equal(resend.timeout_ns, ACTOR_RESEND_NS_MAX);
}

// An acknowledgement of what was sent twice says nothing of the line: it may be of either.
static void
test_timeout_returns_with_a_batch_that_was_sent_once(void **state)
{
    (void)state;
    sent(1, 0, 0);
    for (uint64_t at_s = 2; at_s <= 8; at_s += at_s) { // after 2, 2 and 4 s
        assert_true(actor_resend_is_late(&resend, at_s * S + at_s));
        sent(1, 0, at_s * S + at_s);
    }
    actor_resend_acked(&resend, 1, 9 * S);
    assert_int_equal(resend.timeout_ns, 8 * S);
    carry(2, 9 * S, MS);
    assert_int_equal(resend.timeout_ns, ACTOR_RESEND_NS_MIN);
}

static void
test_timeout_follows_what_acknowledgements_take(void **state)
{
    (void)state;
    carry(1, 0, 4 * S);
    assert_int_equal(resend.timeout_ns, 12 * S); // the first: three times as long
    for (uint64_t i = 2; i < 60; i++) {
        carry(i, i * 10 * S, 4 * S);
    }
    assert_in_range(resend.timeout_ns, 4 * S, 5 * S); // always the same
    for (uint64_t i = 60; i < 160; i++) {
        carry(i, i * 10 * S, MS);
    }
    assert_int_equal(resend.timeout_ns, ACTOR_RESEND_NS_MIN);
    carry(160, 1600 * S, 1000 * S);
    assert_int_equal(resend.timeout_ns, ACTOR_RESEND_NS_MAX);
}

// Its limiter holds inserts back for as long as learning takes.
static void
test_replay_without_room_is_not_a_slow_line(void **state)
{
    (void)state;
    sent(1, 0, 0);
    for (uint64_t at_s = 1; at_s < 100; at_s++) {
        actor_resend_held(&resend, at_s * S);
        assert_false(actor_resend_is_late(&resend, at_s * S + S));
    }
    actor_resend_acked(&resend, 1, 100 * S);
    assert_int_equal(resend.timeout_ns, ACTOR_RESEND_NS_MIN);
}

static void
test_few_are_on_their_way_until_some_arrive(void **state)
{
    (void)state;
    assert_int_equal(resend.window, 1);
    carry(1, 0, MS);
    assert_int_equal(resend.window, 2);
    sent(2, 0, 2 * MS);
    sent(3, 1, 2 * MS);
    actor_resend_acked(&resend, 3, 3 * MS); // one time was measured
    assert_int_equal(resend.window, 4);
    sent(4, 0, 4 * MS);
    assert_true(actor_resend_is_late(&resend, 2 * S));
    assert_int_equal(resend.window, 1);
    sent(4, 0, 2 * S);
    actor_resend_acked(&resend, 4, 3 * S);
    assert_int_equal(resend.window, 1); // of which it was is not known
    for (uint64_t i = 5; i < 100; i++) {
        carry(i, i * S, MS);
    }
    assert_true(resend.window > 1000000);
    actor_resend_init(&resend);
    assert_int_equal(resend.window, 1);
}

// ---- an actor whose ring is always full, a line that takes batch_ns for each batch, and replay

typedef struct line {
    actor_outbox outbox;
    actor_batch batches[RING];
    uint64_t next;           // sequence of the next batch that is made
    uint64_t queue[1 << 16]; // sequences on the line: [from, to)
    size_t from, to;
    uint64_t begun_ns; // the first of them
    uint64_t now_ns;
    uint64_t taken; // by replay, each once
    bool loses;
} line;

static void
line_send(line *l)
{
    const actor_batch *batch;
    while (l->outbox.sent < resend.window && (batch = actor_outbox_next(&l->outbox)) != NULL) {
        sent(batch->sequence, l->outbox.sent, l->now_ns);
        actor_outbox_sent(&l->outbox);
        assert_true(l->to < OCT_COUNTOF(l->queue));
        l->begun_ns = l->from == l->to ? l->now_ns : l->begun_ns;
        l->queue[l->to++] = batch->sequence;
    }
}

static void
line_deliver(line *l)
{
    uint64_t before = l->outbox.acked, sequence = l->queue[l->from++];
    l->begun_ns = l->now_ns;
    if (l->loses) {
        return;
    }
    l->taken += sequence == l->taken + 1;
    const wire_ack ack = {.sequence = l->taken, .incarnation = 1, .credit = RING};
    actor_outbox_ack(&l->outbox, &ack);
    if (l->outbox.acked != before) {
        actor_resend_acked(&resend, l->outbox.acked, l->now_ns);
    }
    actor_batch *batch;
    while ((batch = actor_outbox_take(&l->outbox)) != NULL) {
        batch->sequence = l->next++;
        actor_outbox_put(&l->outbox, batch);
    }
    line_send(l);
}

static line *
line_create(void)
{
    line *l = calloc(1, sizeof(*l));
    assert_non_null(l);
    actor_outbox_init(&l->outbox, RING);
    l->next = 1;
    for (int i = 0; i < RING; i++) {
        l->batches[i].sequence = l->next++;
        actor_outbox_put(&l->outbox, &l->batches[i]);
    }
    return l;
}

static void
line_destroy(line *l)
{
    actor_outbox_fini(&l->outbox);
    free(l);
}

// Looks at what is late as often as the actor does, twice a second.
static void
line_run(line *l, uint64_t batch_ns, uint64_t for_ns)
{
    uint64_t end_ns = l->now_ns + for_ns;
    for (; l->now_ns < end_ns; l->now_ns += MS) {
        if (l->from < l->to && l->now_ns - l->begun_ns >= batch_ns) {
            line_deliver(l);
        }
        if (l->now_ns % (500 * MS) == 0) {
            if (l->outbox.sent > 0 && actor_resend_is_late(&resend, l->now_ns)) {
                actor_outbox_go_back(&l->outbox);
            }
            line_send(l);
        }
    }
}

// 33 kB at 128 kbit/s: replay gets something new nearly all the time, from the first minute on.
static void
test_slow_line_carries_new_batches(void **state)
{
    (void)state;
    static const uint64_t batch_ms[] = {700, 1500, 2100, 5000, 20000};
    for (size_t i = 0; i < OCT_COUNTOF(batch_ms); i++) {
        actor_resend_init(&resend);
        line *l = line_create();
        line_run(l, batch_ms[i] * MS, 60 * batch_ms[i] * MS);
        size_t carried = l->from;
        assert_in_range(carried, 58, 60);
        assert_in_range(carried - l->taken, 0, 6); // others came twice
        line_destroy(l);
    }
}

static void
test_fast_line_has_no_duplicates_and_fills_the_window(void **state)
{
    (void)state;
    line *l = line_create();
    line_run(l, MS, 60 * S);
    assert_int_equal(l->outbox.resent, 0);
    assert_in_range(l->taken, 50000, 60000);
    assert_true(resend.window >= RING);
    line_destroy(l);
}

// Lost without a word, as where replay has no room: as soon as before, and all that was lost.
static void
test_lost_batches_come_again_after_a_second(void **state)
{
    (void)state;
    line *l = line_create();
    line_run(l, 10 * MS, 10 * S);
    l->loses = true;
    line_run(l, 10 * MS, 500 * MS);
    l->loses = false;
    uint64_t taken = l->taken;
    line_run(l, 10 * MS, 1500 * MS);
    assert_true(l->taken > taken + RING);
    assert_in_range(l->outbox.resent, 1, RING);
    line_destroy(l);
}

int
main(void)
{
#define T(test) cmocka_unit_test_setup(test, setup)
    const struct CMUnitTest tests[] = {
        T(test_late_is_what_brings_no_progress),
        T(test_timeout_doubles_up_to_its_bound),
        T(test_first_timeout_is_long_enough_for_a_large_batch),
        T(test_timeout_returns_with_a_batch_that_was_sent_once),
        T(test_timeout_follows_what_acknowledgements_take),
        T(test_replay_without_room_is_not_a_slow_line),
        T(test_few_are_on_their_way_until_some_arrive),
        T(test_slow_line_carries_new_batches),
        T(test_fast_line_has_no_duplicates_and_fills_the_window),
        T(test_lost_batches_come_again_after_a_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
