// The list of actors and evaluators comes back unchanged; bad columns are refused with the reason.
#include <stdlib.h>

#include "proto/octet.pb-c.h"
#include "tests/proto/wire_examples.h"
#include "tests/proto/wire_refused.h"

#define THROUGH(plain, out, in) plain##_through((out), arena, (in))

// The payload of an answer with one peer, as docs/internals/wire.md has it.
static void
test_peers_are_these_bytes(void **state)
{
    (void)state;
    static const uint32_t one[] = {1}, id[] = {0xa1b2c3d4}, pid[] = {258}, none[] = {0};
    static const uint64_t version[] = {11};
    static const char *const host[] = {"h"};
    static const double half[] = {0.5};
    const wire_peers in = {.run_id = 2,
                           .policy_version = 12,
                           .actors = 1,
                           .env_steps_per_s = 0.5,
                           .count = 1,
                           .id = id,
                           .role = one,
                           .pid = pid,
                           .is_silent = none,
                           .host = host,
                           .version = version,
#define X(name) .name = half,
                           WIRE_PEER_NUMBERS(X)
#undef X
    };
    static const uint8_t begin[] = {
        0x09, 2,    0,    0,    0,    0,    0, 0,    0,                 // 1 run_id
        0x10, 12,                                                       // 2 policy_version
        0x18, 1,                                                        // 3 actors
        0x39, 0,    0,    0,    0,    0,    0, 0xe0, 0x3f,              // 7 env_steps_per_s
        0x4a, 4,    0xd4, 0xc3, 0xb2, 0xa1,                             // 9 id
        0x52, 4,    1,    0,    0,    0,                                // 10 role
        0x5a, 4,    2,    1,    0,    0,                                // 11 pid
        0x62, 4,    0,    0,    0,    0,                                // 12 is_silent
        0x6a, 1,    'h',                                                // 13 host
        0x72, 8,    11,   0,    0,    0,    0, 0,    0,    0,           // 14 version
        0x7a, 8,    0,    0,    0,    0,    0, 0,    0xe0, 0x3f,        // 15 session_s
        0x82, 0x01, 8,    0,    0,    0,    0, 0,    0,    0xe0, 0x3f}; // 16 heard_s
    size_t length;
    uint8_t *bytes = wire_peers_pack_bytes(&length, &in);
    assert_int_equal(length, sizeof(begin) + 10 * 11); // 17 .. 26 are like 16
    assert_memory_equal(bytes, begin, sizeof(begin));
    assert_int_equal(bytes[length - 11] | bytes[length - 10] << 8, 0x01d2); // 26 unacked
    free(bytes);
}

static void
test_peers_survive_the_wire_with_nan(void **state)
{
    (void)state;
    const wire_peers in = wire_example_peers(WIRE_PEERS_MAX);
    wire_peers out;
    T_OK(THROUGH(wire_peers, &out, &in));
    assert_true(isnan(out.lag_updates[1]));
    const wire_peers none = {.count = 0};
    T_OK(THROUGH(wire_peers, &out, &none));
    assert_int_equal(out.count, 0);
    wire_peers without = wire_example_peers(2); // without TLS
    without.certificate = NULL;
    T_OK(THROUGH(wire_peers, &out, &without));
    assert_null(out.certificate);
    without.health = NULL; // from a learner of the last release
#define X(name) without.name = NULL;
    WIRE_PEER_LATER_NUMBERS(X)
#undef X
    without.unreached = NULL;
    T_OK(THROUGH(wire_peers, &out, &without));
    assert_true(out.health == NULL && out.stuck_s == NULL && out.unreached == NULL);
#define X(name)                                                                                    \
    without = wire_example_peers(2);                                                               \
    without.name = NULL; /* from a learner that lacks this one */                                  \
    T_OK(THROUGH(wire_peers, &out, &without));                                                     \
    assert_true(out.name == NULL && out.health != NULL);
    WIRE_PEER_LATER_NUMBERS(X)
#undef X
    without = wire_example_peers(2);
    without.unreached = NULL; // where no peer is cut off
    T_OK(THROUGH(wire_peers, &out, &without));
    assert_true(out.health != NULL && out.unreached == NULL);
}

static void
test_peers_bring_the_relays(void **state)
{
    (void)state;
    wire_peers in = wire_example_peers(WIRE_PEERS_MAX), out;
    in.relays.count = WIRE_RELAYS_MAX;
    T_OK(THROUGH(wire_peers, &out, &in));
    assert_int_equal(out.relays.count, WIRE_RELAYS_MAX);
    in.relays.count = 0; // nobody's relay is told of then
    T_OK(THROUGH(wire_peers, &out, &in));
    assert_true(out.relay == NULL && out.relays.count == 0);
    in = wire_example_peers(0); // relays, and nobody behind them
    in.relays = wire_example_peers(1).relays;
    T_OK(THROUGH(wire_peers, &out, &in));
    assert_true(out.count == 0 && out.relays.count == 2);
}

static void
test_peers_refuse_what_is_no_peer(void **state)
{
    (void)state;
    static const double infinite[] = {1, INFINITY};
    static const uint32_t tool[] = {WIRE_ROLE_ACTOR, WIRE_ROLE_TOOL}, two[] = {0, 2},
                          three[] = {2, 3}, unknown[] = {0, WIRE_PEER_HEALTH_COUNT};
    static const char *const bad[] = {"host", "evil\x1b[2J"};
    wire_peers message = wire_example_peers(WIRE_PEERS_MAX + 1);
    REFUSED(wire_peers, &message, "peers.id: more than 1024");
    message = wire_example_peers(2);
    message.role = tool;
    REFUSED(wire_peers, &message, "peers.role: outside 1 .. 2");
    message = wire_example_peers(2);
    message.is_silent = two;
    REFUSED(wire_peers, &message, "peers.is_silent: outside 0 .. 1");
    message = wire_example_peers(2);
    message.host = bad;
    REFUSED(wire_peers, &message, "peers.host: no name, or longer than 256 bytes");
    message = wire_example_peers(2);
    message.unreached = bad;
    REFUSED(wire_peers, &message, "peers.unreached: no name, or longer than 256 bytes");
    message = wire_example_peers(2);
    message.health = unknown;
    REFUSED(wire_peers, &message, "peers.health: outside 0 .. 8");
    message = wire_example_peers(2);
    message.stuck_s = infinite;
    REFUSED(wire_peers, &message, "peers.stuck_s: infinite");
    message = wire_example_peers(2);
    message.certificate = bad;
    REFUSED(wire_peers, &message, "peers.certificate: no name, or longer than 256 bytes");
    message = wire_example_peers(2);
    message.relays.address = bad;
    REFUSED(wire_peers, &message, "peers.relay_address: no name, or longer than 256 bytes");
    message = wire_example_peers(2);
    message.relays.above = bad;
    REFUSED(wire_peers, &message, "peers.relay_above: no name, or longer than 256 bytes");
    message = wire_example_peers(2);
    message.relays.host = bad;
    REFUSED(wire_peers, &message, "peers.relay_host: no name, or longer than 256 bytes");
    message = wire_example_peers(2);
    message.relays.heard_s = infinite;
    REFUSED(wire_peers, &message, "peers.relay_heard_s: infinite");
    message = wire_example_peers(2);
    message.relays.is_silent = two;
    REFUSED(wire_peers, &message, "peers.relay_is_silent: outside 0 .. 1");
    message = wire_example_peers(2);
    message.relay = three;
    REFUSED(wire_peers, &message, "peers.relay: no index in the list of relays");
    message = wire_example_peers(2);
    message.relays.count = WIRE_RELAYS_MAX + 1;
    REFUSED(wire_peers, &message, "peers.relay_host: more than 256");
    message = wire_example_peers(2);
    message.wait_share = infinite;
    REFUSED(wire_peers, &message, "peers.wait_share: infinite");
    message = wire_example_peers(2);
    message.lag_mean = -INFINITY;
    REFUSED(wire_peers, &message, "peers.lag_mean: infinite");
}

static void
test_peers_refuse_uneven_columns(void **state)
{
    (void)state;
    const wire_peers message = wire_example_peers(3);
    Octet__Peers generated;
    wire_peers out;
    wire_peers_to(&generated, &message);
    size_t *const lengths[] = {&generated.n_role,
                               &generated.n_pid,
                               &generated.n_is_silent,
                               &generated.n_host,
                               &generated.n_version,
                               &generated.n_certificate,
                               &generated.n_certificate_id,
                               &generated.n_places,
                               &generated.n_relay,
                               &generated.n_relay_host,
                               &generated.n_relay_pid,
                               &generated.n_relay_address,
                               &generated.n_relay_above,
                               &generated.n_relay_is_silent,
                               &generated.n_relay_actors,
                               &generated.n_relay_sessions,
                               &generated.n_relay_heard_s,
#define X(name) &generated.n_##name,
                               WIRE_PEER_NUMBERS(X) WIRE_PEER_LATER_NUMBERS(X)
#undef X
    };
    for (size_t i = 0; i < OCT_COUNTOF(lengths); i++) {
        --*lengths[i];
        T_ERR(wire_peers_reparse(&out, arena, &generated), OCT_EPROTO);
        assert_non_null(strstr(wire_arena_reason(arena), ": length is "));
        ++*lengths[i];
    }
    T_OK(wire_peers_reparse(&out, arena, &generated));
}

static void
test_get_peers_keeps_to_its_bounds(void **state)
{
    (void)state;
    static const char why[] = "get_peers.count_max: outside 1 .. 1024";
    wire_get_peers in = {.count_max = WIRE_PEERS_MAX}, out;
    T_OK(THROUGH(wire_get_peers, &out, &in));
    assert_int_equal(out.count_max, WIRE_PEERS_MAX);
    in.count_max = 0;
    REFUSED(wire_get_peers, &in, why);
    in.count_max = WIRE_PEERS_MAX + 1;
    REFUSED(wire_get_peers, &in, why);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_peers_are_these_bytes, arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(test_peers_survive_the_wire_with_nan, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_peers_bring_the_relays, arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(test_peers_refuse_what_is_no_peer, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_peers_refuse_uneven_columns, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_get_peers_keeps_to_its_bounds, arena_setup,
                                        arena_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
