// The limits of the gate on one peer or address, and that other peers are served meanwhile. Plain
// TCP is used, because the limits apply before TLS or after it.
#include "tests/net/net_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/net_internal.h"
#include "net/net_post.h"
#include "net/net_pull.h"
#include "net/net_push.h"
#include "net/net_rpc.h"

#define BYTES_MAX   (60u << 20)
#define TURN_MS     5
#define PORTS_TRIED 5

typedef struct side {
    net_loop *loop;
    unsigned port;
    char url[64];
    unsigned got;
} side;

static void
side_open(side *s)
{
    *s = (side){.loop = net_loop_create()};
}

static void
side_turn(side *s)
{
    net_test_turn(s->loop, TURN_MS);
}

static net_gate_counts
counts_of(side *s)
{
    return net_gate_read_counts(net_loop_gate(s->loop));
}

static oct_err
take(void *arg, net_msg *msg)
{
    ((side *)arg)->got++;
    net_msg_destroy(msg);
    return OCT_OK;
}

// A connection from 127.0.0.last.
static int
connect_from(uint8_t last, unsigned port)
{
    struct sockaddr_in from = {.sin_family = AF_INET};
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + last);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&from, sizeof(from)), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

static bool
is_closed(int fd)
{
    uint8_t bytes[64];
    ssize_t n;
    do {
        n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT); // their header comes first
    } while (n > 0);
    return n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

// Sends as much as the other side takes; gives how much that was.
static size_t
send_all(int fd, const uint8_t *bytes, size_t count)
{
    size_t sent = 0;
    ssize_t n = 1;
    while (sent < count && n > 0) {
        n = send(fd, bytes + sent, count - sent, MSG_NOSIGNAL);
        sent += n > 0 ? (size_t)n : 0;
    }
    return sent;
}

static void
port_draw(side *s)
{
    s->port = net_test_free_port();
    (void)snprintf(s->url, sizeof(s->url), "tcp://*:%u", s->port); // IPv4 comes there as IPv6
}

// call opens at s->url; again with another port when somebody was faster.
#define LISTEN(s, call)                                                                            \
    do {                                                                                           \
        oct_err listened = OCT_EIO;                                                                \
        for (int tried = 0; tried < PORTS_TRIED && listened == OCT_EIO; tried++) {                 \
            port_draw(s);                                                                          \
            listened = (call);                                                                     \
        }                                                                                          \
        T_OK(listened);                                                                            \
    } while (0)

static void
pull_open(side *s, net_pull **pull)
{
    side_open(s);
    LISTEN(s, net_pull_open(pull, s->loop, &(net_endpoint){s->url, OCT_ROLES_ANY, BYTES_MAX, 0},
                            take, s));
}

static const uint8_t push_header[] = {0, 'S', 'P', 0, 0, 0x50, 0, 0};

// A good peer sends a message of 4 bytes, and it arrives.
static void
good_one_passes(side *s)
{
    const uint8_t message[] = {0, 0, 0, 0, 0, 0, 0, 4, 1, 2, 3, 4};
    unsigned want = s->got + 1;
    int fd = connect_from(100, s->port);
    assert_int_equal(send_all(fd, push_header, 8), 8);
    assert_int_equal(send_all(fd, message, sizeof(message)), sizeof(message));
    while (s->got < want) {
        side_turn(s);
    }
    close(fd);
}

// Strangers of so many addresses, fifty more than may shake hands at the same time: the oldest is
// closed, the newest is not, and a good one passes.
static void
strangers_make_room(unsigned strangers, unsigned addresses)
{
    int *fds = oct_alloc(strangers * sizeof(*fds));
    side s;
    net_pull *pull;
    pull_open(&s, &pull);
    for (unsigned i = 0; i < strangers; i++) {
        fds[i] = connect_from((uint8_t)(2 + i % addresses), s.port);
    }
    while (counts_of(&s).overflowed + counts_of(&s).expired < 50) {
        side_turn(&s);
    }
    if (counts_of(&s).expired == 0) { // a machine that needs 3 s for this has closed them all
        assert_true(is_closed(fds[0]));
        assert_false(is_closed(fds[strangers - 1]));
    }
    good_one_passes(&s);
    for (unsigned i = 0; i < strangers; i++) {
        close(fds[i]);
    }
    free(fds);
    net_pull_close(pull);
    net_loop_destroy(s.loop);
}

static void
test_an_address_has_half_of_the_handshakes(void **state)
{
    (void)state;
    strangers_make_room(NET_GATE_HANDSHAKES_ADDRESS + 50, 1);
}

static void
test_the_oldest_handshake_makes_room(void **state)
{
    (void)state;
    strangers_make_room(NET_GATE_HANDSHAKES_MAX + 50, 50);
}

// Connections, from two addresses, of which each has sent so much of a message.
static void
strangers_send(const side *s, int *fds, unsigned count, uint32_t message_bytes, const uint8_t *part,
               size_t part_bytes)
{
    const uint8_t length[] = {0,
                              0,
                              0,
                              0,
                              (uint8_t)(message_bytes >> 24),
                              (uint8_t)(message_bytes >> 16),
                              (uint8_t)(message_bytes >> 8),
                              (uint8_t)message_bytes};
    for (unsigned i = 0; i < count; i++) {
        fds[i] = connect_from((uint8_t)(2 + i % 2), s->port);
        assert_int_equal(send_all(fds[i], push_header, 8), 8);
        assert_int_equal(send_all(fds[i], length, 8), 8);
        assert_int_equal(send_all(fds[i], part, part_bytes), part_bytes);
    }
}

// The tests below finish what is not refused: NNG 1.5.2 may not close a socket that has a part of a
// message.

static void
test_unfinished_messages_are_bounded(void **state)
{
    (void)state;
    enum { STRANGERS = 250, PART = 700 << 10, REST = 1 << 10 };
    const uint64_t over = (uint64_t)STRANGERS * PART - NET_GATE_PARTIAL_MAX;
    const unsigned closed = (unsigned)((over + PART - 1) / PART);
    _Static_assert((uint64_t)STRANGERS * PART > NET_GATE_PARTIAL_MAX, "more than is allowed");
    uint8_t *part = calloc(1, PART);
    int fds[STRANGERS];
    side s;
    net_pull *pull;
    assert_non_null(part);
    pull_open(&s, &pull);
    strangers_send(&s, fds, STRANGERS, PART + REST, part, PART);
    while (counts_of(&s).malformed < closed) {
        side_turn(&s);
    }
    good_one_passes(&s);
    assert_int_equal(s.got, 1);
    assert_int_equal(counts_of(&s).malformed, closed); // no more than needed
    for (int i = 0; i < STRANGERS; i++) {
        (void)send_all(fds[i], part, REST);
    }
    while (s.got < 1 + STRANGERS - closed) {
        side_turn(&s);
    }
    for (int i = 0; i < STRANGERS; i++) {
        close(fds[i]);
    }
    free(part);
    net_pull_close(pull);
    net_loop_destroy(s.loop);
}

// There is room for two of them. One that stands still gives its room to one that waits.
static void
test_a_long_message_that_stands_still_gives_its_room(void **state)
{
    (void)state;
    enum { PART = 50 << 20, REST = BYTES_MAX - PART };
    _Static_assert(3u * BYTES_MAX > NET_GATE_LONG_MAX, "a third one waits");
    uint8_t *bytes = calloc(1, BYTES_MAX);
    int idle[2], diligent;
    side s;
    net_pull *pull;
    assert_non_null(bytes);
    pull_open(&s, &pull);
    strangers_send(&s, idle, 2, BYTES_MAX, bytes, PART);
    strangers_send(&s, &diligent, 1, BYTES_MAX, bytes, BYTES_MAX); // returns when it had room
    good_one_passes(&s);
    while (s.got < 2) {
        side_turn(&s);
    }
    assert_int_equal(counts_of(&s).malformed, 1); // no more than needed
    assert_int_equal(is_closed(idle[0]) + is_closed(idle[1]), 1);
    for (int i = 0; i < 2; i++) {
        (void)send_all(idle[i], bytes, REST);
    }
    while (s.got < 3) {
        side_turn(&s);
    }
    close(idle[0]);
    close(idle[1]);
    close(diligent);
    free(bytes);
    net_pull_close(pull);
    net_loop_destroy(s.loop);
}

// Peers that send as fast as each other, all of them long messages: each has as much of the line as
// the others, so nobody is through before they all are.
static void
test_long_messages_of_many_arrive_at_the_first_try(void **state)
{
    (void)state;
    enum { PEERS = 8, BYTES = 60 << 20, PIECE = 1 << 18 };
    _Static_assert((uint64_t)PEERS * BYTES > 2 * NET_GATE_PARTIAL_MAX, "more than is allowed");
    uint8_t *piece = calloc(1, PIECE);
    int fds[PEERS];
    size_t left[PEERS];
    side s;
    net_pull *pull;
    assert_non_null(piece);
    pull_open(&s, &pull);
    strangers_send(&s, fds, PEERS, BYTES, piece, 0);
    for (int i = 0; i < PEERS; i++) {
        assert_int_equal(fcntl(fds[i], F_SETFL, O_NONBLOCK), 0);
        left[i] = BYTES;
    }
    while (s.got < PEERS) {
        for (int i = 0; i < PEERS; i++) {
            left[i] -= send_all(fds[i], piece, OCT_MIN(left[i], (size_t)PIECE));
        }
        net_test_turn(s.loop, 1);
        assert_int_equal(counts_of(&s).malformed, 0);
    }
    for (int i = 0; i < PEERS; i++) {
        close(fds[i]);
    }
    free(piece);
    net_pull_close(pull);
    net_loop_destroy(s.loop);
}

// ---- who talks where only names are wanted

static void
named(void *arg, uint32_t peer, oct_role role, const uint8_t *name, size_t length)
{
    assert_int_equal(role, OCT_ROLE_LOCAL);
    (void)peer;
    (void)name;
    (void)length;
    ((side *)arg)->got++;
}

static void
test_names_without_end_are_cut_off(void **state)
{
    (void)state;
    const uint8_t header[] = {0, 'S', 'P', 0, 0, 0x11, 0, 0};
    const uint8_t name[] = {0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 1, 'm', 'e'};
    side s;
    net_post *post;
    side_open(&s);
    LISTEN(&s,
           net_post_open(&post, s.loop, &(net_endpoint){s.url, OCT_ROLES_ANY, 12, 4}, named, &s));
    int good = connect_from(2, s.port), stranger = connect_from(3, s.port);
    assert_int_equal(send_all(good, header, 8), 8);
    for (unsigned i = 0; i < NET_GATE_NAMES_MAX; i++) {
        assert_int_equal(send_all(good, name, sizeof(name)), sizeof(name));
    }
    assert_int_equal(send_all(stranger, header, 8), 8);
    for (int i = 0; i < 1000; i++) {
        (void)send_all(stranger, name, sizeof(name));
    }
    while (counts_of(&s).malformed < 1 || s.got < NET_GATE_NAMES_MAX) {
        side_turn(&s);
    }
    assert_false(is_closed(good));
    close(good);
    close(stranger);
    net_post_close(post);
    net_loop_destroy(s.loop);
}

// ---- calls whose answers nobody reads

#define ANSWER_BYTES (64u << 10)

static void
answer(void *arg, void *call, oct_role role, const uint8_t *frame, size_t length)
{
    (void)role;
    (void)frame;
    (void)length;
    ((side *)arg)->got++;
    memset(net_rpc_responder.begin(call, ANSWER_BYTES), 1, ANSWER_BYTES);
    net_rpc_responder.send(call);
}

static void
answered(void *arg, oct_err err, const uint8_t *frame, size_t length)
{
    (void)frame;
    T_OK(err);
    assert_int_equal(length, ANSWER_BYTES);
    (*(unsigned *)arg)++;
}

static void
test_unread_answers_hold_up_nobody(void **state)
{
    (void)state;
    enum { CALLS = 100, CONTEXTS = 4 };
    const uint8_t header[] = {0, 'S', 'P', 0, 0, 0x30, 0, 0};
    uint8_t request[] = {0, 0, 0, 0, 0, 0, 0, 5, 0x80, 0, 0, 0, 'x'};
    char url[64];
    unsigned got = 0;
    side s, caller;
    net_rpc_server *server;
    net_rpc_client *client;
    side_open(&s);
    side_open(&caller);
    LISTEN(&s,
           net_rpc_server_open(&server, s.loop,
                               &(net_endpoint){s.url, OCT_ROLES_ANY, 1000, CONTEXTS}, answer, &s));
    int mute = connect_from(2, s.port);
    assert_int_equal(send_all(mute, header, 8), 8);
    for (int i = 0; i < CALLS; i++) {
        request[11] = (uint8_t)i;
        assert_int_equal(send_all(mute, request, sizeof(request)), sizeof(request));
    }
    while (s.got < CALLS) { // each is answered, although none of the 6 MB is read
        side_turn(&s);
    }
    (void)snprintf(url, sizeof(url), "tcp://127.0.0.1:%u", s.port);
    T_OK(net_rpc_client_open(&client, caller.loop, &(net_endpoint){url, OCT_ROLES_ANY, 1u << 20, 4},
                             1000));
    T_OK(net_rpc_call(client, (const uint8_t *)"hello", 5, 60000, answered, &got));
    while (got < 1) {
        side_turn(&caller);
        side_turn(&s);
    }
    while (counts_of(&s).dead < 1) { // reading nothing for long ends it
        side_turn(&s);
    }
    close(mute);
    net_rpc_client_close(client);
    net_rpc_server_close(server);
    net_loop_destroy(caller.loop);
    net_loop_destroy(s.loop);
}

// ---- answers that are large

#define LARGE_BYTES (1u << 20)

typedef struct large_side {
    side s;
    unsigned large, refused;
} large_side;

static void
large_answer(void *arg, void *call, oct_role role, const uint8_t *frame, size_t length)
{
    (void)role;
    (void)frame;
    (void)length;
    large_side *l = arg;
    bool may = net_rpc_may_answer(call);
    *(may ? &l->large : &l->refused) += 1;
    size_t bytes = may ? LARGE_BYTES : 1;
    memset(net_rpc_responder.begin(call, bytes), 1, bytes);
    net_rpc_responder.send(call);
}

// A connection from an address that calls so often at once, and reads nothing.
static int
mute_connect(const side *s, unsigned address, unsigned calls)
{
    const uint8_t header[] = {0, 'S', 'P', 0, 0, 0x30, 0, 0};
    uint8_t said[8 + 13 * 16];
    size_t length = sizeof(header);
    memcpy(said, header, sizeof(header));
    for (unsigned i = 0; i < calls; i++, length += 13) {
        const uint8_t request[13] = {0, 0, 0, 0, 0, 0, 0, 5, 0x80, 0, 0, (uint8_t)i, 'x'};
        assert_true(length + sizeof(request) <= sizeof(said));
        memcpy(said + length, request, sizeof(request));
    }
    int peer = connect_from(address, s->port);
    assert_int_equal(send_all(peer, said, length), length);
    return peer;
}

static void
test_large_answers_that_nobody_reads_are_bounded(void **state)
{
    (void)state;
    enum { PEERS = 8, CALLS = 12, CONTEXTS = 4 }; // 12 MiB of the 16 that one may leave unread
    large_side l = {.large = 0};
    net_rpc_server *server;
    int mute[PEERS + 1];
    side_open(&l.s);
    LISTEN(&l.s, net_rpc_server_open(&server, l.s.loop,
                                     &(net_endpoint){l.s.url, OCT_ROLES_ANY, 1000, CONTEXTS},
                                     large_answer, &l));
    for (size_t i = 0; i < PEERS; i++) {
        mute[i] = mute_connect(&l.s, 2, CALLS);
    }
    while (l.large + l.refused < PEERS * CALLS) {
        side_turn(&l.s);
    }
    // What the kernel holds of each connection is not counted.
    const unsigned most = (NET_RPC_UNREAD_HOLDER / LARGE_BYTES) + PEERS * 3 + CONTEXTS;
    assert_in_range(l.large, NET_RPC_UNREAD_HOLDER / LARGE_BYTES, OCT_MIN(most, PEERS * CALLS - 1));
    unsigned before = l.large;
    mute[PEERS] = mute_connect(&l.s, 3, 1); // another address has a share of its own
    while (l.large == before) {
        side_turn(&l.s);
    }
    for (size_t i = 0; i < PEERS + 1; i++) {
        close(mute[i]);
    }
    net_rpc_server_close(server);
    net_loop_destroy(l.s.loop);
}

// No address leaves more than it may, and together they leave as much as all may.
static void
test_large_answers_of_many_that_nobody_reads_are_bounded(void **state)
{
    (void)state;
    enum { ADDRESSES = NET_RPC_UNREAD_ALL / NET_RPC_UNREAD_HOLDER + 1, PEERS = 8, CALLS = 12 };
    large_side l = {.large = 0};
    net_rpc_server *server;
    int mute[ADDRESSES * PEERS + 1];
    unsigned calls = 0;
    side_open(&l.s);
    LISTEN(&l.s,
           net_rpc_server_open(&server, l.s.loop, &(net_endpoint){l.s.url, OCT_ROLES_ANY, 1000, 4},
                               large_answer, &l));
    for (unsigned i = 0; i < ADDRESSES * PEERS; i++) {
        mute[i] = mute_connect(&l.s, 2 + i / PEERS, CALLS);
        for (calls += CALLS; l.large + l.refused < calls;) {
            side_turn(&l.s);
        }
    }
    unsigned before = l.refused;
    mute[ADDRESSES * PEERS] = mute_connect(&l.s, 2 + ADDRESSES, 1); // of which nothing is unread
    while (l.large + l.refused == calls) {
        side_turn(&l.s);
    }
    assert_int_equal(l.refused, before + 1);
    for (size_t i = 0; i < OCT_COUNTOF(mute); i++) {
        close(mute[i]);
    }
    net_rpc_server_close(server);
    net_loop_destroy(l.s.loop);
}

static void *held[4]; // calls; NULL: none, or answered

static void
held_answer(void)
{
    for (size_t i = 0; i < OCT_COUNTOF(held); i++) {
        if (held[i] != NULL) {
            (void)net_rpc_responder.begin(held[i], 1);
            net_rpc_responder.send(held[i]);
        }
        held[i] = NULL;
    }
}

static void
hold(void *arg, void *call, oct_role role, const uint8_t *frame, size_t length)
{
    (void)role;
    (void)frame;
    (void)length;
    held[((side *)arg)->got++ % OCT_COUNTOF(held)] = call;
}

// Whoever asks and asks is read as far as its calls may wait, and further when some are answered.
static void
test_calls_without_end_wait_in_the_network(void **state)
{
    (void)state;
    enum { CALLS = 1000, BODY = 1000, BYTES = 8 + 4 + BODY, STILL = 40, READ_BYTES = 65536 };
    const uint8_t header[] = {0, 'S', 'P', 0, 0, 0x30, 0, 0};
    const uint8_t prefix[] = {0, 0, 0, 0, 0, 0, (4 + BODY) >> 8, (4 + BODY) & 255, 0x80};
    static uint8_t calls[CALLS][BYTES];
    side s;
    net_rpc_server *server;
    size_t sent = 0;
    uint64_t in = 0;
    side_open(&s);
    LISTEN(&s, net_rpc_server_open(&server, s.loop,
                                   &(net_endpoint){s.url, OCT_ROLES_ANY, BODY, OCT_COUNTOF(held)},
                                   hold, &s));
    int fd = connect_from(2, s.port);
    assert_int_equal(send_all(fd, header, 8), 8);
    for (size_t i = 0; i < CALLS; i++) {
        memcpy(calls[i], prefix, sizeof(prefix));
    }
    for (unsigned still = 0; still < STILL || s.got < OCT_COUNTOF(held); still++) {
        ssize_t step = send(fd, calls[0] + sent, sizeof(calls) - sent, MSG_DONTWAIT);
        sent += step > 0 ? (size_t)step : 0;
        side_turn(&s);
        still = counts_of(&s).bytes_in == in && step <= 0 ? still : 0;
        in = counts_of(&s).bytes_in;
    }
    assert_int_equal(s.got, OCT_COUNTOF(held));
    assert_true(in <= NET_GATE_CALLS_MAX * BYTES + 2 * READ_BYTES);
    while (s.got < CALLS) {
        ssize_t step = send(fd, calls[0] + sent, sizeof(calls) - sent, MSG_DONTWAIT);
        sent += step > 0 ? (size_t)step : 0;
        held_answer();
        side_turn(&s);
    }
    held_answer();
    close(fd);
    net_rpc_server_close(server);
    net_loop_destroy(s.loop);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_address_has_half_of_the_handshakes),
        cmocka_unit_test(test_the_oldest_handshake_makes_room),
        cmocka_unit_test(test_unfinished_messages_are_bounded),
        cmocka_unit_test(test_a_long_message_that_stands_still_gives_its_room),
        cmocka_unit_test(test_long_messages_of_many_arrive_at_the_first_try),
        cmocka_unit_test(test_names_without_end_are_cut_off),
        cmocka_unit_test(test_calls_without_end_wait_in_the_network),
        cmocka_unit_test(test_unread_answers_hold_up_nobody),
        cmocka_unit_test(test_large_answers_that_nobody_reads_are_bounded),
        cmocka_unit_test(test_large_answers_of_many_that_nobody_reads_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, net_test_folder_remove);
}
