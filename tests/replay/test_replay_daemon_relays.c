// What octet-replay takes from relays, and where their acks go. argv[1] is the executable.
#include "tests/replay/replay_daemon.h"

#include <sys/socket.h>

#include "proto/wire_gather.h"
#include "replay/replay_acks_io.h"

typedef struct relay_end {
    fixture *f;
    wire_ack ack; // the last, of the actor's session
    uint32_t acks;
} relay_end;

static void
relay_acked(void *arg, net_msg *msg)
{
    relay_end *end = arg;
    wire_gathered gathered;
    const uint8_t *frame;
    size_t length;
    T_OK(wire_gathered_open(&gathered, WIRE_ACK, net_msg_body(msg), net_msg_length(msg)));
    while (wire_gathered_next(&gathered, &frame, &length)) {
        T_OK(wire_ack_unpack(&end->ack, frame, length));
        end->acks++;
    }
    net_loop_stop(end->f->loop);
}

// A message of a relay: what is good in it is taken, its acks go to the relay, and, when the actor
// sends a batch itself, to the actor again.
static void
test_daemon_takes_what_is_good_of_a_relays_message(void **state)
{
    fixture *f = *state;
    const uint64_t relay = 77;
    relay_end end = {.f = f};
    uint8_t name[WIRE_GATHERED_HEAD_BYTES], batch[4096], message[16384];
    net_sub *acks;
    (void)configure_table(f, WIRE_SAMPLER_UNIFORM);
    wire_gathered_pack(relay, NULL, 0, name);
    T_OK(net_post_dial(&acks, f->loop, &(net_endpoint){f->ack_url, OCT_ROLES_ANY, 4096, 16},
                       &(net_sub_options){name, sizeof(name), relay_acked, NULL, &end}));
    wire_gatherer gatherer;
    wire_gatherer_init(&gatherer, relay, sizeof(message) - WIRE_GATHERED_HEAD_BYTES);
    for (uint64_t i = 1; i <= 3; i++) {
        const wire_batch *next = test_batch_steps(&actor, 10);
        size_t length = wire_batch_size(next);
        assert_true(length <= sizeof(batch));
        wire_batch_pack(next, batch);
        assert_true(wire_gatherer_add(&gatherer, batch, length));
        batch[length - 1] ^= 1; // another's token
        assert_true(wire_gatherer_add(&gatherer, batch, length));
    }
    size_t length = wire_gatherer_length(&gatherer);
    wire_gatherer_take(&gatherer, message);
    wire_gatherer_fini(&gatherer);
    while (end.ack.sequence != 3) { // sent again, as actors do: acks may be lost
        send_bytes(f, message, length);
        (void)stat_of(f, "replay.size");
    }
    assert_int_equal(end.ack.actor_id, actor.batch.actor_id);
    assert_int_equal(stat_of(f, "replay.size"), 30);
    assert_true(stat_of(f, "replay.rejected_token") >= 3);
    send_bytes(f, message, length - 1); // cut: nothing of it is taken
    send_steps(f, 10, 4);               // at the actor's own connection
    assert_int_equal(stat_of(f, "replay.size"), 40);
    net_sub_close(acks);
}

static bool many_acked[WIRE_GATHERED_FRAMES_MAX + 100];

static void
many_arrived(void *arg, net_msg *msg)
{
    relay_end *end = arg;
    wire_gathered gathered;
    const uint8_t *frame;
    size_t length;
    T_OK(wire_gathered_open(&gathered, WIRE_ACK, net_msg_body(msg), net_msg_length(msg)));
    while (wire_gathered_next(&gathered, &frame, &length)) {
        T_OK(wire_ack_unpack(&end->ack, frame, length));
        assert_true(end->ack.session >= 1000 && end->ack.session < 1000 + OCT_COUNTOF(many_acked));
        end->acks += !many_acked[end->ack.session - 1000];
        many_acked[end->ack.session - 1000] = true;
    }
    net_loop_stop(end->f->loop);
}

// More sessions come through one relay than its message may hold acks: those that are repeated are
// due together.
static void
test_daemon_tells_a_relay_of_more_sessions_than_a_message_holds(void **state)
{
    fixture *f = *state;
    const uint64_t relay = 77;
    enum { SESSIONS = OCT_COUNTOF(many_acked), BYTES = 1 << 20 };
    relay_end end = {.f = f};
    uint8_t name[WIRE_GATHERED_HEAD_BYTES], batch[1024];
    uint8_t *message = malloc(BYTES);
    net_sub *acks;
    (void)configure_table(f, WIRE_SAMPLER_UNIFORM);
    wire_gathered_pack(relay, NULL, 0, name);
    T_OK(net_post_dial(&acks, f->loop, &(net_endpoint){f->ack_url, OCT_ROLES_ANY, BYTES, 64},
                       &(net_sub_options){name, sizeof(name), many_arrived, NULL, &end}));
    while (stat_of(f, "replay.sessions") < SESSIONS) {
        wire_gatherer gatherer;
        wire_gatherer_init(&gatherer, relay, BYTES - WIRE_GATHERED_HEAD_BYTES);
        for (uint32_t i = 0; i < SESSIONS; i++) {
            test_actor_init(&actor, 1000 + i, 1000 + i);
            test_actor_sign(&actor, token_key, RUN);
            const wire_batch *only = test_batch_steps(&actor, 1);
            size_t length = wire_batch_size(only);
            assert_true(length <= sizeof(batch));
            wire_batch_pack(only, batch);
            if (!wire_gatherer_add(&gatherer, batch, length) || i + 1 == SESSIONS) {
                length = wire_gatherer_length(&gatherer);
                wire_gatherer_take(&gatherer, message);
                send_bytes(f, message, length);
                (void)wire_gatherer_add(&gatherer, batch, wire_batch_size(only));
            }
        }
        wire_gatherer_fini(&gatherer);
    }
    for (int round = 0; round < 2; round++) {
        end.acks = 0;
        memset(many_acked, 0, sizeof(many_acked));
        while (end.acks < SESSIONS) {
            net_loop_run(f->loop);
        }
    }
    assert_int_equal(stat_of(f, "replay.sessions"), SESSIONS);
    net_sub_close(acks);
    free(message);
}

// As a relay of that number, at a connection of its own.
static int
relay_dial(const fixture *f, uint64_t relay)
{
    uint8_t name[WIRE_GATHERED_HEAD_BYTES];
    wire_gathered_pack(relay, NULL, 0, name);
    return net_test_post_dial(f->ack_url, name, sizeof(name));
}

// The actor's next step comes through that relay, which gets an ack.
static void
relay_brings(fixture *f, uint64_t relay, int connection)
{
    uint8_t batch[1024], message[1100], acks[4096];
    const wire_batch *next = test_batch_steps(&actor, 1);
    size_t length = wire_batch_size(next), bytes = wire_gathered_size(length);
    assert_true(length <= sizeof(batch) && bytes <= sizeof(message));
    wire_batch_pack(next, batch);
    wire_gathered_pack(relay, batch, length, message);
    while (recv(connection, acks, sizeof(acks), MSG_DONTWAIT) > 0) { // of what it brought before
    }
    do { // sent again, as actors do: acks may be lost
        send_bytes(f, message, bytes);
        (void)stat_of(f, "replay.size");
    } while (recv(connection, acks, sizeof(acks), MSG_DONTWAIT) <= 0);
}

// More come and go than there are places: none of them takes that of one that lives, although it
// has nothing to do.
static void
test_daemon_keeps_an_idle_relay_while_others_come_and_go(void **state)
{
    fixture *f = *state;
    const uint64_t idle = 77, first = 1000;
    (void)configure_table(f, WIRE_SAMPLER_UNIFORM);
    int acks = relay_dial(f, idle);
    relay_brings(f, idle, acks);
    for (uint64_t relay = first; relay < first + REPLAY_RELAYS_MAX; relay++) {
        int others = relay_dial(f, relay);
        relay_brings(f, relay, others);
        (void)close(others);
    }
    relay_brings(f, idle, acks);
    (void)close(acks);
}

// What it brought and nobody has looked at yet says no more who brought it, and is no bad message
// for that: its actors send it again.
static void
test_daemon_blames_no_relay_that_has_gone(void **state)
{
    fixture *f = *state;
    uint8_t batch[1024], message[1100];
    const wire_batch *next = test_batch_steps(&actor, 1);
    size_t length = wire_batch_size(next), bytes = wire_gathered_size(length);
    assert_true(length <= sizeof(batch) && bytes <= sizeof(message));
    wire_batch_pack(next, batch);
    wire_gathered_pack(77, batch, length, message);
    for (int i = 0; i < 3; i++) { // there is no table yet: the first is held, and those behind it
        send_bytes(f, message, bytes);
    }
    (void)stat_of(f, "replay.rejected"); // who answers has its metrics, too
    while (net_test_metric(f->metrics, "octet_gate_connections") < 3) {
        net_test_turn(f->loop, 1);
    }
    net_push_close(f->push);
    while (net_test_metric(f->metrics, "octet_gate_connections") > 2) { // calls and acks
        net_test_turn(f->loop, 1);
    }
    (void)configure_table(f, WIRE_SAMPLER_UNIFORM);
    const net_push_events events = {push_ready, push_connected, push_disconnected, f};
    T_OK(net_push_open(&f->push, f->loop, f->batch_url, OCT_ROLES_ANY, &events));
    send_batch(f, next);
    send_steps(f, 1, 2);
    assert_int_equal(stat_of(f, "replay.rejected"), 0);
    assert_int_equal(stat_of(f, "replay.rows"), 3); // what the first step began with is one
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_daemon_##name, fixture_open, fixture_close)

int
main(int argc, char **argv)
{
    executable = argc == 2 ? realpath(argv[1], NULL) : NULL;
    if (!executable) {
        fprintf(stderr, "usage: test_replay_daemon_relays OCTET-REPLAY\n");
        return 2;
    }
    char url[64];
    (void)snprintf(url, sizeof(url), "tcp://127.0.0.1:%u", net_test_free_port());
    (void)net_test_free_port(); // the two after it
    (void)net_test_free_port();
    const struct CMUnitTest tests[] = {
        TEST(takes_what_is_good_of_a_relays_message),
        TEST(tells_a_relay_of_more_sessions_than_a_message_holds),
        TEST(keeps_an_idle_relay_while_others_come_and_go),
        cmocka_unit_test_prestate_setup_teardown(test_daemon_blames_no_relay_that_has_gone,
                                                 fixture_open, fixture_close, url),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(executable);
    return failed;
}
