// Listening: which addresses are refused, sockets left by a killed daemon, and hostile bytes on a
// port.
#include "tests/net/net_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/oct_rng.h"
#include "net/net_pull.h"
#include "net/net_push.h"
#include "net/net_rpc.h"

#define GOOD_MESSAGES 200u

// A good peer that sends numbers, and the puller that must get every one of them.
typedef struct stream {
    net_loop *loop;
    net_pull *pull;
    net_push *push;
    uint32_t next;
    uint32_t limit;
    unsigned ready;
    unsigned got;
    unsigned connected;
    unsigned disconnected;
} stream;

static oct_err
stream_take(void *arg, net_msg *msg)
{
    stream *s = arg;
    assert_int_equal(net_test_u32(msg), s->got);
    s->got++;
    net_msg_destroy(msg);
    net_loop_stop(s->loop);
    return OCT_OK;
}

static void
stream_send_next(stream *s)
{
    if (s->next < s->limit) {
        T_OK(net_push_send(s->push, net_test_msg_u32(s->next++)));
    }
}

static void
stream_ready(void *arg)
{
    stream *s = arg;
    s->ready++;
    stream_send_next(s);
    net_loop_stop(s->loop);
}

static void
stream_connected(void *arg)
{
    stream *s = arg;
    s->connected++;
    net_loop_stop(s->loop);
}

static void
stream_open(stream *s, const char *url, size_t recv_bytes_max)
{
    net_push_events events = {.on_ready = stream_ready, .on_connected = stream_connected, .arg = s};
    s->loop = net_loop_create();
    T_OK(net_pull_open(&s->pull, s->loop, &(net_endpoint){url, OCT_ROLES_ANY, recv_bytes_max, 0},
                       stream_take, s));
    T_OK(net_push_open(&s->push, s->loop, url, OCT_ROLES_ANY, &events));
    net_test_until(s->loop, &s->connected, 1);
}

static void
stream_send(stream *s, uint32_t count)
{
    s->limit += count;
    stream_send_next(s);
    net_test_until(s->loop, &s->got, s->limit);
    net_test_until(s->loop, &s->ready, s->limit);
}

static void
stream_close(stream *s)
{
    net_push_close(s->push);
    net_pull_close(s->pull);
    net_loop_destroy(s->loop);
}

static oct_err
nothing_take(void *arg, net_msg *msg)
{
    (void)arg;
    (void)msg;
    return OCT_EPROTO;
}

// Opens a PULL that must fail with OCT_EIO and say so in one NET-LISTEN line with the url and why.
static void
listen_fails(const char *url, const char *why)
{
    const char *log = net_test_path("stderr");
    net_loop *loop = net_loop_create();
    net_pull *pull = NULL;
    int saved = net_test_stderr_to(log);
    oct_err err =
        net_pull_open(&pull, loop, &(net_endpoint){url, OCT_ROLES_ANY, 100, 0}, nothing_take, NULL);
    net_test_stderr_back(saved);
    T_ERR(err, OCT_EIO);
    assert_null(pull);
    char text[1000];
    net_test_read(log, text, sizeof(text));
    assert_non_null(strstr(text, " E NET-LISTEN "));
    assert_non_null(strstr(text, url));
    assert_non_null(strstr(text, why));
    assert_ptr_equal(strchr(text, '\n') + 1, text + strlen(text));
    net_loop_destroy(loop);
}

static void
test_listen_on_a_port_in_use_is_refused(void **state)
{
    (void)state;
    unsigned port = 0;
    int fd = net_test_tcp_bind(&port);
    assert_int_equal(listen(fd, 1), 0);
    char url[64];
    snprintf(url, sizeof(url), "tcp://127.0.0.1:%u", port);
    listen_fails(url, "another process listens on this port");
    close(fd);
}

static void
test_listen_where_no_folder_is_is_refused(void **state)
{
    (void)state;
    char url[128];
    snprintf(url, sizeof(url), "ipc://%s/missing/socket", net_test_folder());
    listen_fails(url, "error=");
}

// NNG would remove it: nobody accepts connections there.
static void
test_listen_never_removes_a_file(void **state)
{
    (void)state;
    const char *path = net_test_path("notes.txt");
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "keep", 4), 4);
    close(fd);
    char url[128];
    snprintf(url, sizeof(url), "ipc://%s", path);
    listen_fails(url, "not a socket");
    char text[10];
    net_test_read(path, text, sizeof(text));
    assert_string_equal(text, "keep");
}

static void
test_listen_beside_a_living_ipc_listener_is_refused(void **state)
{
    (void)state;
    const char *url = net_test_url("ipc");
    stream s = {0};
    stream_open(&s, url, 100);
    // The pusher is connected a moment before the puller is. In that moment a second listener,
    // which tries the address, would end the accepting
    // (docs/internals/decisions/0010-push-after-disconnect.md).
    stream_send(&s, 1);
    listen_fails(url, "another process listens on this socket");
    stream_send(&s, 3); // the one there is undisturbed
    stream_close(&s);
}

static void
test_listen_replaces_the_socket_of_a_killed_daemon(void **state)
{
    (void)state;
    const char *path = net_test_path("stale");
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path) + 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 1), 0);
    close(fd); // as the kernel does; the name stays
    assert_int_equal(access(path, F_OK), 0);
    char url[128];
    snprintf(url, sizeof(url), "ipc://%s", path);
    stream s = {0};
    stream_open(&s, url, 100);
    stream_send(&s, 3);
    stream_close(&s);
    assert_int_not_equal(access(path, F_OK), 0); // and is gone after a proper close
}

static void
test_ipc_socket_is_for_its_owner_only(void **state)
{
    (void)state;
    const char *url = net_test_url("ipc");
    mode_t before = umask(0);
    stream s = {0};
    stream_open(&s, url, 100);
    umask(before);
    struct stat status;
    assert_int_equal(stat(url + strlen("ipc://"), &status), 0);
    assert_true(S_ISSOCK(status.st_mode));
    assert_int_equal(status.st_mode & 07777, 0600);
    stream_close(&s);
}

static void
test_ipc_path_may_be_relative(void **state)
{
    (void)state;
    char before[4096];
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(net_test_folder()), 0);
    stream s = {0};
    stream_open(&s, "ipc://relative", 100);
    stream_send(&s, 1);
    stream_close(&s);
    assert_int_equal(chdir(before), 0);
}

// Writes bytes to the port and waits until the other side hangs up, or does so itself.
static void
port_attack(unsigned port, const uint8_t *bytes, size_t length, bool wait_for_hangup)
{
    int fd = net_test_tcp_connect(port);
    (void)send(fd, bytes, length, MSG_NOSIGNAL); // may be reset in the middle
    uint8_t reply[64];
    while (wait_for_hangup) {
        ssize_t got = recv(fd, reply, sizeof(reply), 0);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            break;
        }
    }
    close(fd);
}

static void
test_garbage_on_the_port_does_not_disturb_a_good_peer(void **state)
{
    (void)state;
    unsigned port = net_test_free_port();
    char url[64];
    snprintf(url, sizeof(url), "tcp://127.0.0.1:%u", port);
    stream s = {0};
    stream_open(&s, url, 100);
    oct_rng rng;
    oct_rng_init(&rng, 1, 0);
    for (int round = 0; round < 20; round++) {
        uint8_t garbage[1024];
        for (size_t i = 0; i < sizeof(garbage); i++) {
            garbage[i] = (uint8_t)oct_rng_u64(&rng);
        }
        port_attack(port, garbage, sizeof(garbage), true);
        port_attack(port, garbage, 3, false); // not even a header
        port_attack(port, NULL, 0, false);
        stream_send(&s, GOOD_MESSAGES / 20);
    }
    assert_int_equal(s.got, GOOD_MESSAGES);
    assert_int_equal(s.connected, 1); // never cut
    assert_int_equal(net_pull_rejected(s.pull), 0);
    stream_close(&s);
}

// SP header of PUSH (16 * 5), then the length of a message as 8 bytes, big end first.
static void
test_peer_that_announces_too_much_is_cut_off(void **state)
{
    (void)state;
    unsigned port = net_test_free_port();
    char url[64];
    snprintf(url, sizeof(url), "tcp://127.0.0.1:%u", port);
    stream s = {0};
    stream_open(&s, url, 100);
    static const uint8_t header[8] = {0, 'S', 'P', 0, 0, 80, 0, 0};
    static const uint8_t lengths[][8] = {
        {0, 0, 0, 0, 0, 0, 0, 101},
        {0, 0, 0, 2, 0, 0, 0, 0},
        {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
    };
    for (size_t i = 0; i < OCT_COUNTOF(lengths); i++) {
        uint8_t bytes[8 + 8 + 101] = {0};
        memcpy(bytes, header, sizeof(header));
        memcpy(bytes + 8, lengths[i], 8);
        port_attack(port, bytes, sizeof(bytes), true);
    }
    // A peer of another kind (REQ, 16 * 3) is refused as well.
    static const uint8_t req[8] = {0, 'S', 'P', 0, 0, 48, 0, 0};
    port_attack(port, req, sizeof(req), true);
    stream_send(&s, 3);
    stream_close(&s);
}

static oct_err
longest_take(void *arg, net_msg *msg)
{
    stream *s = arg;
    assert_int_equal(net_msg_length(msg), 100); // the longest allowed
    s->got++;
    net_msg_destroy(msg);
    net_loop_stop(s->loop);
    return OCT_OK;
}

static void
longest_disconnected(void *arg)
{
    stream *s = arg;
    s->disconnected++;
    net_loop_stop(s->loop);
}

// A stream of one message of the longest size.
static void
longest_open(stream *s, const char *url)
{
    net_push_events events = {.on_ready = stream_ready,
                              .on_connected = stream_connected,
                              .on_disconnected = longest_disconnected,
                              .arg = s};
    s->loop = net_loop_create();
    T_OK(net_pull_open(&s->pull, s->loop, &(net_endpoint){url, OCT_ROLES_ANY, 100, 0}, longest_take,
                       s));
    T_OK(net_push_open(&s->push, s->loop, url, OCT_ROLES_ANY, &events));
}

// The too long one is lost and cuts the link; what follows comes over the next one.
static void
test_link_recovers_from_a_message_that_is_too_long(void **state)
{
    (void)state;
    static const struct {
        const char *scheme;
        size_t bytes; // a process of this machine is cut off at twice the limit
    } cases[] = {{"ipc", 201}, {"tcp", 101}};
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        const char *url = net_test_url(cases[i].scheme);
        stream s = {0};
        longest_open(&s, url);
        net_test_until(s.loop, &s.connected, 1);
        T_OK(net_push_send(s.push, net_msg_create(cases[i].bytes)));
        net_test_until(s.loop, &s.disconnected, 1); // NNG loses what a link takes as it ends
        net_test_until(s.loop, &s.ready, 1);
        T_OK(net_push_send(s.push, net_msg_create(100)));
        net_test_until(s.loop, &s.got, 1);
        stream_close(&s);
    }
}

// inproc has no limit of its own, so the link checks again.
static void
test_too_long_messages_are_refused_over_inproc(void **state)
{
    (void)state;
    stream s = {0};
    longest_open(&s, net_test_url("inproc"));
    T_OK(net_push_send(s.push, net_msg_create(101)));
    net_test_until(s.loop, &s.ready, 1);
    T_OK(net_push_send(s.push, net_msg_create(100)));
    net_test_until(s.loop, &s.got, 1);
    assert_int_equal(net_pull_rejected(s.pull), 1);
    stream_close(&s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listen_on_a_port_in_use_is_refused),
        cmocka_unit_test(test_listen_where_no_folder_is_is_refused),
        cmocka_unit_test(test_listen_never_removes_a_file),
        cmocka_unit_test(test_listen_beside_a_living_ipc_listener_is_refused),
        cmocka_unit_test(test_listen_replaces_the_socket_of_a_killed_daemon),
        cmocka_unit_test(test_ipc_socket_is_for_its_owner_only),
        cmocka_unit_test(test_ipc_path_may_be_relative),
        cmocka_unit_test(test_garbage_on_the_port_does_not_disturb_a_good_peer),
        cmocka_unit_test(test_peer_that_announces_too_much_is_cut_off),
        cmocka_unit_test(test_link_recovers_from_a_message_that_is_too_long),
        cmocka_unit_test(test_too_long_messages_are_refused_over_inproc),
    };
    return cmocka_run_group_tests(tests, NULL, net_test_folder_remove);
}
