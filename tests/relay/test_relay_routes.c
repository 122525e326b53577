// Acks go back the way that a session's batches came, and only to who has its token.
#include "relay/relay_routes.h"

#include "tests/support/oct_test.h"

#define SECOND UINT64_C(1000000000)

static int
open_routes(void **state)
{
    *state = relay_routes_create();
    return 0;
}

static int
close_routes(void **state)
{
    relay_routes_destroy(*state);
    return 0;
}

static wire_claim
claim_of(uint64_t session, uint8_t token)
{
    wire_claim claim = {.actor_id = (uint32_t)session + 1, .session = session, .has_token = true};
    memset(claim.token, token, sizeof(claim.token));
    return claim;
}

// gone: the connection that has ended; NULL: none.
static bool
is_there(void *gone, uint32_t peer)
{
    return gone == NULL || *(const uint32_t *)gone != peer;
}

static void
test_routes_refuse_another_token_once_one_was_acknowledged(void **state)
{
    relay_routes *routes = *state;
    relay_route route;
    wire_claim right = claim_of(5, 1), wrong = claim_of(5, 2), none = claim_of(5, 1);
    none.has_token = false;
    T_ERR(relay_routes_batch(routes, &none, 0, 1), OCT_EINVAL);
    T_ERR(relay_routes_name(routes, 9, &none, 1), OCT_EINVAL);
    // Before anything was acknowledged the newest counts: a wrong one shuts nobody out.
    T_OK(relay_routes_name(routes, 70, &wrong, 1));
    T_OK(relay_routes_name(routes, 71, &right, 2));
    T_OK(relay_routes_batch(routes, &right, 0, 3));
    assert_true(relay_routes_ack(routes, &right, &route));
    assert_int_equal(route.peer, 71);
    T_ERR(relay_routes_name(routes, 70, &wrong, 4), OCT_EINVAL);
    T_ERR(relay_routes_batch(routes, &wrong, 0, 4), OCT_EINVAL);
    assert_true(relay_routes_ack(routes, &right, &route));
    assert_int_equal(route.peer, 71);
    assert_int_equal(route.child, 0);
}

static void
test_routes_know_no_session_that_said_nothing(void **state)
{
    relay_route route;
    wire_claim claim = claim_of(1, 1), other = claim_of(1, 1);
    assert_false(relay_routes_ack(*state, &claim, &route));
    T_OK(relay_routes_batch(*state, &claim, 0, 1));
    assert_true(relay_routes_ack(*state, &claim, &route));
    assert_int_equal(route.peer, 0); // it has not said where
    other.actor_id++;
    assert_false(relay_routes_ack(*state, &other, &route));
}

static void
test_routes_follow_a_session_to_where_its_last_batch_came_from(void **state)
{
    relay_routes *routes = *state;
    relay_route route;
    wire_claim claim = claim_of(3, 1);
    assert_int_equal(relay_routes_child(routes, 77), 0);
    T_OK(relay_routes_name_relay(routes, 500, 77, is_there, NULL));
    uint32_t child = relay_routes_child(routes, 77);
    assert_true(child > 0);
    T_OK(relay_routes_name(routes, 41, &claim, 1));
    T_OK(relay_routes_batch(routes, &claim, child, 2));
    assert_true(relay_routes_ack(routes, &claim, &route));
    assert_int_equal(route.child, child);
    assert_int_equal(route.peer, 500);
    T_OK(relay_routes_name_relay(routes, 501, 77, is_there, NULL)); // it has connected again
    assert_true(relay_routes_ack(routes, &claim, &route));
    assert_int_equal(route.peer, 501);
    T_OK(relay_routes_batch(routes, &claim, 0, 4)); // the actor itself
    assert_true(relay_routes_ack(routes, &claim, &route));
    assert_int_equal(route.child, 0);
    assert_int_equal(route.peer, 41);
}

// More relays than there is room for: one whose connection has ended makes room, and its sessions
// wait for their next batch instead of getting lost at another's connection. Where none has, the
// new one gets no place.
static void
test_routes_forget_only_a_relay_that_has_gone(void **state)
{
    relay_routes *routes = *state;
    relay_route route;
    wire_claim of_gone = claim_of(3, 1), of_idle = claim_of(4, 1);
    uint32_t gone = 2; // by its connection
    for (uint32_t relay = 1; relay <= RELAY_CHILDREN_MAX; relay++) {
        T_OK(relay_routes_name_relay(routes, relay, relay, is_there, NULL));
    }
    T_OK(relay_routes_batch(routes, &of_idle, relay_routes_child(routes, 1), 1));
    T_OK(relay_routes_batch(routes, &of_gone, relay_routes_child(routes, gone), 2));
    T_ERR(relay_routes_name_relay(routes, 900, 900, is_there, NULL), OCT_EAGAIN);
    assert_int_equal(relay_routes_child(routes, 900), 0);
    T_OK(relay_routes_name_relay(routes, 901, 901, is_there, &gone));
    assert_int_not_equal(relay_routes_child(routes, 901), 0);
    assert_int_equal(relay_routes_child(routes, gone), 0);
    assert_true(relay_routes_ack(routes, &of_gone, &route));
    assert_int_equal(route.peer, 0);
    assert_true(relay_routes_ack(routes, &of_idle, &route));
    assert_int_equal(route.peer, 1);
}

// As many as there may be actors fit, and are counted while they send.
static void
test_routes_keep_4096_sessions(void **state)
{
    relay_routes *routes = *state;
    relay_route route;
    uint64_t session = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t kept = 0;
    for (uint32_t i = 1; i <= 4096; i++, session = session * 6364136223846793005u + 1) {
        wire_claim claim = claim_of(session, (uint8_t)i);
        T_OK(relay_routes_name(routes, i, &claim, i));
        assert_true(i > 1 || relay_routes_active(routes, i) == 0); // it has sent nothing yet
        T_OK(relay_routes_batch(routes, &claim, 0, i));
        kept += relay_routes_ack(routes, &claim, &route) && route.peer == i;
    }
    assert_int_equal(kept, 4096);
    assert_int_equal(relay_routes_active(routes, 4096), 4096);
    assert_int_equal(relay_routes_active(routes, RELAY_ACTIVE_S * SECOND + 4096), 0);
}

// A stranger who makes sessions up takes the places of those that nobody acknowledged.
static void
test_routes_keep_acknowledged_sessions_over_a_flood(void **state)
{
    relay_routes *routes = *state;
    relay_route route;
    wire_claim claim = claim_of(1, 1);
    T_OK(relay_routes_name(routes, 7, &claim, 1));
    assert_true(relay_routes_ack(routes, &claim, &route));
    for (uint64_t i = 2; i < 200000; i++) {
        wire_claim made_up = claim_of(i, 3);
        T_OK(relay_routes_batch(routes, &made_up, 0, i));
    }
    assert_true(relay_routes_ack(routes, &claim, &route));
    assert_int_equal(route.peer, 7);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, open_routes, close_routes)
    const struct CMUnitTest tests[] = {
        T(test_routes_refuse_another_token_once_one_was_acknowledged),
        T(test_routes_know_no_session_that_said_nothing),
        T(test_routes_keep_acknowledged_sessions_over_a_flood),
        T(test_routes_forget_only_a_relay_that_has_gone),
        T(test_routes_follow_a_session_to_where_its_last_batch_came_from),
        T(test_routes_keep_4096_sessions),
    };
#undef T
    return cmocka_run_group_tests(tests, NULL, NULL);
}
