// Who the gate takes for the same peer, and whom its limits meet: connections without sockets.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "net/net_gate_state.h"
#include "net/net_limits.h"
#include "tests/support/oct_test.h"

static net_gate *gate;
static net_gate_end *end;

static int
setup(void **state)
{
    (void)state;
    gate = oct_alloc(sizeof(*gate));
    end = oct_alloc(sizeof(*end));
    TAILQ_INIT(&gate->turns);
    LIST_INIT(&gate->ends);
    LIST_INIT(&end->conns);
    LIST_INSERT_HEAD(&gate->ends, end, place);
    end->gate = gate;
    assert_int_equal(uv_loop_init(&gate->uv), 0);
    gate_failures_init(&gate->failures);
    gate_long_init(&gate->longs, &gate->uv, gate_conn_resume);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    while (!LIST_EMPTY(&end->conns)) {
        gate_conn *conn = LIST_FIRST(&end->conns);
        LIST_REMOVE(conn, place);
        free(conn);
    }
    gate_long_stop(&gate->longs);
    (void)uv_run(&gate->uv, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&gate->uv), 0);
    free(end);
    free(gate);
    return 0;
}

// A connection from there; the gate counts it.
static gate_conn *
conn_of(const char *address)
{
    gate_conn *conn = oct_alloc(sizeof(*conn));
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    conn->end = end;
    LIST_INSERT_HEAD(&end->conns, conn, place);
    end->conn_count++;
    gate->conn_total++;
    if (inet_pton(AF_INET, address, &in.sin_addr) == 1) {
        gate_peer_init(&conn->peer, (const struct sockaddr *)&in);
    } else {
        assert_int_equal(inet_pton(AF_INET6, address, &in6.sin6_addr), 1);
        gate_peer_init(&conn->peer, (const struct sockaddr *)&in6);
    }
    return conn;
}

static gate_conn *
conn_with(const char *address, uint8_t holder)
{
    gate_conn *conn = conn_of(address);
    conn->peer.is_known = true;
    conn->peer.certificate.holder.id[0] = holder;
    return conn;
}

// ---- the same peer

static void
assert_same(const char *a, const char *b, bool are_same)
{
    assert_int_equal(gate_peer_same(&conn_of(a)->peer, &conn_of(b)->peer), are_same);
}

// A host has a /64 of its own: by other addresses in it nobody gets round a limit.
static void
test_peers_are_told_apart_by_what_a_host_has(void **state)
{
    (void)state;
    assert_same("192.0.2.1", "192.0.2.1", true);
    assert_same("192.0.2.1", "192.0.2.2", false);
    assert_same("192.0.2.1", "::ffff:192.0.2.1", true);
    assert_same("::ffff:192.0.2.1", "::ffff:192.0.2.2", false);
    assert_same("2001:db8:0:7::1", "2001:db8:0:7:ffff::2", true);
    assert_same("2001:db8:0:7::1", "2001:db8:0:8::1", false);
    assert_string_equal(conn_of("2001:db8:0:7::1")->peer.from,
                        "2001:db8:0:7::1"); // as people call it
}

static void
test_peers_with_a_certificate_are_told_apart_by_it(void **state)
{
    (void)state;
    gate_conn *one = conn_with("192.0.2.1", 1), *unknown = conn_of("192.0.2.1");
    assert_true(gate_peer_same(&one->peer, &conn_with("192.0.2.2", 1)->peer));
    assert_false(gate_peer_same(&one->peer, &conn_with("192.0.2.1", 2)->peer));
    assert_false(gate_peer_same(&one->peer, &unknown->peer));
    assert_false(gate_peer_same(&unknown->peer, &one->peer));
}

// ---- handshakes

static gate_conn *
handshake_of(const char *address)
{
    gate_conn *conn = conn_of(address);
    gate_room_enter(conn);
    return conn;
}

// One more from the same address ends its oldest, and nobody else's.
static void
test_handshakes_of_an_address_are_bounded(void **state)
{
    (void)state;
    (void)handshake_of("192.0.2.9");
    gate_conn *oldest = handshake_of("192.0.2.1");
    for (unsigned i = 2; i < NET_GATE_HANDSHAKES_ADDRESS; i++) {
        (void)handshake_of("192.0.2.1");
    }
    assert_null(gate_room_victim(gate, oldest->peer.address));
    gate_conn *last = handshake_of("192.0.2.1");
    assert_ptr_equal(gate_room_victim(gate, oldest->peer.address), oldest);
    assert_null(gate_room_victim(gate, conn_of("192.0.2.2")->peer.address));
    gate_room_leave(last); // it is through
    assert_null(gate_room_victim(gate, oldest->peer.address));
}

static void
test_handshakes_of_all_are_bounded(void **state)
{
    (void)state;
    char address[32];
    gate_conn *oldest = handshake_of("198.51.100.1");
    for (unsigned i = 1; i < NET_GATE_HANDSHAKES_MAX; i++) {
        (void)snprintf(address, sizeof(address), "192.0.2.%u", i % 100);
        assert_null(gate_room_victim(gate, oldest->peer.address));
        (void)handshake_of(address);
    }
    const gate_conn *next = conn_of("203.0.113.1");
    assert_ptr_equal(gate_room_victim(gate, next->peer.address), oldest);
    gate_room_leave(oldest);
    assert_null(gate_room_victim(gate, next->peer.address));
}

// ---- connections

// Of tcp:// by address: of TLS it is the certificate that counts, which many hosts behind one
// address have each of their own.
static void
test_connections_of_an_address_are_bounded_without_tls(void **state)
{
    (void)state;
    gate->conn_total_max = UINT32_MAX;
    gate_conn *one = conn_of("192.0.2.1");
    for (unsigned i = 1; i < NET_GATE_ADDRESS_MAX; i++) {
        (void)conn_of("192.0.2.1");
    }
    gate_conn *other = conn_of("192.0.2.2");
    assert_null(gate_room_full(end, one->peer.address));
    (void)conn_of("192.0.2.1");
    assert_non_null(strstr(gate_room_full(end, one->peer.address), "from that address"));
    assert_null(gate_room_full(end, other->peer.address));
    end->is_tls = true;
    assert_null(gate_room_full(end, one->peer.address));
    gate->conn_total_max = NET_GATE_ADDRESS_MAX;
    assert_non_null(strstr(gate_room_full(end, other->peer.address), "open files"));
}

// A certificate may have three quarters of the connections that the limit of open files allows, at
// all ends together.
static void
test_a_certificate_leaves_connections_to_others(void **state)
{
    (void)state;
    enum { ALL = 40, SHARE = 30 };
    gate->conn_total_max = ALL;
    gate_conn *one = NULL;
    for (unsigned i = 0; i < SHARE; i++) {
        one = conn_of("192.0.2.1");
        one->peer.is_known = true;
        one->peer.certificate.holder.id[0] = 7;
    }
    gate_conn *other = conn_of("192.0.2.1"); // of the same address, with another certificate
    other->peer.is_known = true;
    gate->conn_total = SHARE + 1;
    assert_null(gate_room_holder_full(one));
    gate_conn *more = conn_of("192.0.2.9");
    more->peer.is_known = true;
    more->peer.certificate.holder.id[0] = 7;
    gate->conn_total = SHARE + 2;
    assert_non_null(strstr(gate_room_holder_full(more), "has its share"));
    assert_null(gate_room_holder_full(other));
}

static void
test_connections_of_an_end_are_bounded(void **state)
{
    (void)state;
    gate->conn_total_max = UINT32_MAX;
    const gate_conn *one = conn_of("192.0.2.1");
    end->is_tls = true;
    end->conn_count = NET_GATE_CONNECTIONS_MAX; // it among them
    assert_null(gate_room_full(end, one->peer.address));
    end->conn_count++;
    assert_string_equal(gate_room_full(end, one->peer.address), "too many connections");
}

// From whatever addresses; those of others do not count.
static void
test_connections_with_a_certificate_are_bounded(void **state)
{
    (void)state;
    gate->conn_total_max = UINT32_MAX;
    gate_conn *other = conn_with("192.0.2.1", 2), *one = conn_with("192.0.2.1", 1);
    for (unsigned i = 1; i < NET_CERTIFICATE_CONNECTIONS_MAX; i++) {
        (void)conn_with(i % 2 == 0 ? "192.0.2.1" : "192.0.2.2", 1);
    }
    assert_null(gate_room_holder_full(one));
    gate_conn *last = conn_with("192.0.2.3", 1);
    assert_string_equal(gate_room_holder_full(last), "too many connections with that certificate");
    assert_null(gate_room_holder_full(other));
}

static void
test_certificate_that_failed_too_often_is_full(void **state)
{
    (void)state;
    gate->conn_total_max = UINT32_MAX;
    gate_conn *other = conn_with("192.0.2.1", 2), *one = conn_with("192.0.2.1", 1);
    while (gate_failures_allow(&gate->failures, &one->peer, uv_now(&gate->uv))) {
        assert_null(gate_room_holder_full(one));
        gate_failures_add(&gate->failures, &one->peer, uv_now(&gate->uv));
    }
    assert_string_equal(gate_room_holder_full(one), "too many failures with that certificate");
    assert_null(gate_room_holder_full(other));
}

// ---- peers that say more than they should, or stand still

static void
test_who_only_listens_says_its_name_and_no_more(void **state)
{
    (void)state;
    enum { PAIR1 = 17, SUB = 33, REQ = 48, PUSH = 80 }; // of SP
    static const struct {
        uint16_t peer;
        bool is_dial, is_chatter, calls;
    } cases[] = {
        {PAIR1, false, true, false}, {SUB, false, true, false},   {REQ, false, false, true},
        {PUSH, false, false, false}, {PAIR1, true, false, false}, {REQ, true, false, false},
    };
    gate_conn *conn = conn_of("192.0.2.1");
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        end->peer_protocol = cases[i].peer;
        end->is_dial = cases[i].is_dial;
        conn->to_local.messages = NET_GATE_NAMES_MAX;
        assert_false(gate_room_speaks(conn));
        conn->to_local.messages++;
        assert_int_equal(gate_room_speaks(conn), cases[i].is_chatter);
        assert_int_equal(gate_room_calls(end), cases[i].calls);
    }
}

static void
test_bytes_stand_still_until_a_whole_step_has_come(void **state)
{
    (void)state;
    gate_standstill still = {0};
    assert_int_equal(gate_standstill_ms(&still, 1000, 50, 100), 0);
    assert_int_equal(gate_standstill_ms(&still, 1900, 149, 100), 900); // dripping does not help
    assert_int_equal(gate_standstill_ms(&still, 2000, 150, 100), 0);
    assert_int_equal(gate_standstill_ms(&still, 2500, 249, 100), 500);
}

// ---- unfinished messages

static gate_conn *
unfinished(uint64_t bytes, uint64_t began_ms)
{
    gate_conn *conn = conn_of("192.0.2.1");
    conn->partial = bytes;
    conn->partial_ms = began_ms;
    gate->partial += bytes;
    return conn;
}

// By bytes and time together; who was given room for its message is none of them.
static void
test_who_held_most_for_longest_ends(void **state)
{
    (void)state;
    gate_conn *whole = conn_of("192.0.2.1"); // brought all of its message
    gate->uv.time = 10000;
    gate_conn *small_and_old = unfinished(1000, 0);
    gate_conn *large_and_new = unfinished(NET_GATE_PARTIAL_MAX - 1001, 10000);
    assert_null(gate_room_message(whole));
    gate_conn *between = unfinished(20 << 20, 1000);
    assert_ptr_equal(gate_room_message(whole), between);
    between->long_message.state = GATE_LONG_COMING;
    assert_ptr_equal(gate_room_message(whole), large_and_new);
    large_and_new->long_message.state = GATE_LONG_COMING;
    assert_ptr_equal(gate_room_message(whole), small_and_old);
    between->long_message.state = large_and_new->long_message.state = GATE_LONG_NONE;
    gate_room_forget(between); // what it held is given back
    assert_null(gate_room_message(whole));
}

// ---- long messages

#define LONG_BYTES ((uint64_t)60 << 20) // two of them have room

// A message of so many bytes, of which a part has come that may wait.
static gate_long_state
long_begins_of(gate_conn *conn, uint64_t bytes)
{
    conn->to_local.messages++;
    conn->to_local.bytes = bytes;
    conn->to_local.left = bytes - (16u << 20);
    (void)gate_room_message(conn);
    return conn->long_message.state;
}

static gate_long_state
long_begins(gate_conn *conn)
{
    return long_begins_of(conn, LONG_BYTES);
}

static void
long_ends(gate_conn *conn)
{
    conn->to_local.left = 0;
    (void)gate_room_message(conn);
    assert_int_equal(conn->long_message.state, GATE_LONG_NONE);
}

static bool
long_stalls(gate_conn *conn)
{
    return gate_long_stalls(&gate->longs, &conn->long_message, &conn->to_local, conn->tcp_reads,
                            uv_now(&gate->uv));
}

// Whose first message it is goes before another's second, however long that has waited.
static void
test_rooms_for_long_messages_go_round(void **state)
{
    (void)state;
    gate_conn *one = conn_with("192.0.2.1", 1), *two = conn_with("192.0.2.2", 2);
    gate_conn *again = conn_with("192.0.2.2", 2), *three = conn_with("192.0.2.3", 3);
    assert_int_equal(long_begins(one), GATE_LONG_COMING);
    assert_int_equal(long_begins(two), GATE_LONG_COMING);
    assert_int_equal(long_begins(again), GATE_LONG_WAITING);
    assert_int_equal(long_begins(three), GATE_LONG_WAITING);
    assert_int_equal(gate->longs.bytes, 2 * LONG_BYTES);
    long_ends(one);
    assert_int_equal(three->long_message.state, GATE_LONG_COMING);
    assert_int_equal(again->long_message.state, GATE_LONG_WAITING);
    long_ends(three);
    assert_int_equal(again->long_message.state, GATE_LONG_COMING); // no other waits
    assert_int_equal(gate->longs.bytes, 2 * LONG_BYTES);
}

// With the message, also where the next one begins in the same bytes; who waits has none to give.
static void
test_room_of_a_long_message_is_given_back_once(void **state)
{
    (void)state;
    gate_conn *one = conn_with("192.0.2.1", 1), *two = conn_with("192.0.2.2", 2),
              *three = conn_with("192.0.2.3", 3);
    assert_int_equal(long_begins(one), GATE_LONG_COMING);
    one->to_local.messages++;
    one->to_local.bytes = 1000;
    one->to_local.left = 10;
    (void)gate_room_message(one);
    assert_int_equal(one->long_message.state, GATE_LONG_NONE);
    assert_int_equal(gate->longs.bytes, 0);
    assert_int_equal(long_begins(two), GATE_LONG_COMING);
    assert_int_equal(long_begins(three), GATE_LONG_COMING);
    assert_int_equal(long_begins(one), GATE_LONG_WAITING);
    gate_room_forget(one); // its connection ends
    assert_int_equal(gate->longs.bytes, 2 * LONG_BYTES);
    gate_room_forget(two);
    gate_room_forget(three);
    assert_int_equal(gate->longs.bytes, 0);
}

// Two of half of it each; and one that is longer than all of it, alone, or it would wait for ever.
static void
test_room_for_long_messages_is_used_to_its_end(void **state)
{
    (void)state;
    gate_conn *one = conn_with("192.0.2.1", 1), *two = conn_with("192.0.2.2", 2),
              *three = conn_with("192.0.2.3", 3);
    assert_int_equal(long_begins_of(one, NET_GATE_LONG_MAX / 2), GATE_LONG_COMING);
    assert_int_equal(long_begins_of(two, NET_GATE_LONG_MAX / 2), GATE_LONG_COMING);
    assert_int_equal(long_begins_of(three, NET_GATE_LONG_MAX + 1), GATE_LONG_WAITING);
    long_ends(one);
    assert_int_equal(three->long_message.state, GATE_LONG_WAITING);
    long_ends(two);
    assert_int_equal(three->long_message.state, GATE_LONG_COMING);
    assert_int_equal(long_begins_of(one, 17u << 20), GATE_LONG_WAITING);
    end->is_dial = true; // whom we chose waits for nobody
    assert_int_equal(long_begins_of(two, NET_GATE_LONG_MAX / 2), GATE_LONG_NONE);
}

// Of who may send: not of one that the gate itself does not read, nor while nobody waits.
static void
test_long_message_stands_still_only_while_it_may_come(void **state)
{
    (void)state;
    gate_conn *one = conn_with("192.0.2.1", 1), *two = conn_with("192.0.2.2", 2),
              *three = conn_with("192.0.2.3", 3);
    gate->uv.time = 10000;
    one->tcp_reads = true;
    assert_int_equal(long_begins(one), GATE_LONG_COMING);
    assert_int_equal(long_begins(two), GATE_LONG_COMING);
    assert_false(long_stalls(one));
    gate->uv.time += 2 * NET_GATE_LONG_MS;
    assert_false(long_stalls(one)); // nobody waits
    assert_int_equal(long_begins(three), GATE_LONG_WAITING);
    one->tcp_reads = false;
    assert_false(long_stalls(one));
    gate->uv.time += 2 * NET_GATE_LONG_MS;
    assert_false(long_stalls(one)); // the daemon takes nothing
    one->tcp_reads = true;
    assert_false(long_stalls(one));
    gate->uv.time += NET_GATE_LONG_MS - 1;
    assert_false(long_stalls(one));
    gate->uv.time++;
    assert_true(long_stalls(one));
    one->to_local.left -= GATE_LONG_BYTES;
    assert_false(long_stalls(one));
    assert_false(long_stalls(three)); // it has no room yet
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_peers_are_told_apart_by_what_a_host_has),
        TEST(test_peers_with_a_certificate_are_told_apart_by_it),
        TEST(test_handshakes_of_an_address_are_bounded),
        TEST(test_handshakes_of_all_are_bounded),
        TEST(test_connections_of_an_address_are_bounded_without_tls),
        TEST(test_a_certificate_leaves_connections_to_others),
        TEST(test_connections_of_an_end_are_bounded),
        TEST(test_connections_with_a_certificate_are_bounded),
        TEST(test_certificate_that_failed_too_often_is_full),
        TEST(test_who_only_listens_says_its_name_and_no_more),
        TEST(test_bytes_stand_still_until_a_whole_step_has_come),
        TEST(test_who_held_most_for_longest_ends),
        TEST(test_rooms_for_long_messages_go_round),
        TEST(test_room_of_a_long_message_is_given_back_once),
        TEST(test_room_for_long_messages_is_used_to_its_end),
        TEST(test_long_message_stands_still_only_while_it_may_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
