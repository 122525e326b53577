// Sockets connect again after a peer that dies in the handshake, and keep a single pipe.
#include "tests/net/net_test.h"

#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <nng/nng.h>
#include <nng/protocol/pipeline0/pull.h>
#include <nng/protocol/pubsub0/pub.h>

#include "net/net_pub.h"
#include "net/net_pull.h"
#include "net/net_push.h"
#include "net/net_rpc.h"

#define BYTES_MAX    100
#define HEADER_BYTES 8 // what either side of a link of NNG sends first
#define RESEND_MS    60000

static atomic_bool peer_dies;
static sem_t peer_died;

// Replaces the C library's for the whole program, NNG included: the peer goes between the connect
// and the first write, which no peer can be made to hit every time.
ssize_t sendmsg(int fd, const struct msghdr *message, int flags);

ssize_t
sendmsg(int fd, const struct msghdr *message, int flags)
{
    bool dies = atomic_exchange(&peer_dies, false);
    if (dies) {
        (void)shutdown(fd, SHUT_RDWR);
    }
    ssize_t sent = (ssize_t)syscall(SYS_sendmsg, fd, message, flags);
    if (dies) {
        (void)sem_post(&peer_died);
    }
    return sent;
}

static atomic_uint dials;

// Likewise, to count them. The address is of glibc's own type: a union of pointers.
int
connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t length)
{
    atomic_fetch_add(&dials, 1);
    return (int)syscall(SYS_connect, fd, address.__sockaddr__, length);
}

// The dialing side of a link and what it saw.
typedef struct side {
    net_loop *loop;
    unsigned connected;
    unsigned disconnected;
    unsigned got;
} side;

static void
side_connected(void *arg)
{
    side *s = arg;
    s->connected++;
    net_loop_stop(s->loop);
}

static void
side_disconnected(void *arg)
{
    side *s = arg;
    s->disconnected++;
    net_loop_stop(s->loop);
}

static oct_err
side_take(void *arg, net_msg *msg)
{
    side *s = arg;
    s->got++;
    net_msg_destroy(msg);
    net_loop_stop(s->loop);
    return OCT_OK;
}

static void
side_hear(void *arg, net_msg *msg)
{
    (void)msg;
    side *s = arg;
    s->got++;
    net_loop_stop(s->loop);
}

static void
side_answer(void *arg, void *call, oct_role role, const uint8_t *frame, size_t length)
{
    (void)role;
    (void)arg;
    memcpy(net_rpc_responder.begin(call, length), frame, length);
    net_rpc_responder.send(call);
}

static void
side_answered(void *arg, oct_err err, const uint8_t *frame, size_t length)
{
    (void)frame;
    side *s = arg;
    assert_int_equal(err, OCT_OK);
    assert_int_equal(length, 1);
    s->got++;
    net_loop_stop(s->loop);
}

static net_push *
side_push(side *s, const char *url)
{
    net_push_events events = {
        .on_connected = side_connected, .on_disconnected = side_disconnected, .arg = s};
    net_push *push = NULL;
    T_OK(net_push_open(&push, s->loop, url, OCT_ROLES_ANY, &events));
    return push;
}

static net_sub *
side_sub(side *s, const char *url)
{
    net_sub *sub = NULL;
    T_OK(net_sub_open(&sub, s->loop, &(net_endpoint){url, OCT_ROLES_ANY, BYTES_MAX, 10},
                      &(net_sub_options){NULL, 0, side_hear, side_connected, s}));
    return sub;
}

// Accepts connections, but knows nothing of NNG.
static int
mute_listen(const char *url)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", url + strlen("ipc://"));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

// The next dialer is to give up. It is not open yet.
static int
give_up_begin(const char *url)
{
    assert_int_equal(sem_init(&peer_died, 0, 0), 0);
    int fd = mute_listen(url);
    atomic_store(&peer_dies, true);
    return fd;
}

static void
give_up_end(int fd)
{
    assert_int_equal(sem_wait(&peer_died), 0);
    close(fd);
    assert_int_equal(sem_destroy(&peer_died), 0);
}

static void
test_push_gets_over_a_peer_that_dies_in_the_handshake(void **state)
{
    (void)state;
    const char *url = net_test_url("ipc");
    side s = {.loop = net_loop_create()};
    int fd = give_up_begin(url);
    net_push *push = side_push(&s, url);
    T_OK(net_push_send(push, net_test_msg_u32(1)));
    give_up_end(fd);
    net_pull *pull = NULL;
    T_OK(net_pull_open(&pull, s.loop, &(net_endpoint){url, OCT_ROLES_ANY, BYTES_MAX, 0}, side_take,
                       &s));
    net_test_until(s.loop, &s.got, 1);
    net_test_until(s.loop, &s.connected, 1);
    assert_int_equal(s.disconnected, 0);
    net_push_close(push);
    net_pull_close(pull);
    net_loop_destroy(s.loop);
}

static void
test_sub_gets_over_a_peer_that_dies_in_the_handshake(void **state)
{
    (void)state;
    const char *url = net_test_url("ipc");
    side s = {.loop = net_loop_create()};
    int fd = give_up_begin(url);
    net_sub *sub = side_sub(&s, url);
    give_up_end(fd);
    net_pub *pub = NULL;
    T_OK(net_pub_open(&pub, s.loop, url, OCT_ROLES_ANY, 10));
    net_test_until(s.loop, &s.connected, 1);
    net_sub_close(sub);
    net_pub_close(pub);
    net_loop_destroy(s.loop);
}

static void
test_rpc_gets_over_a_peer_that_dies_in_the_handshake(void **state)
{
    (void)state;
    const char *url = net_test_url("ipc");
    side s = {.loop = net_loop_create()};
    int fd = give_up_begin(url);
    net_rpc_client *client = NULL;
    T_OK(net_rpc_client_open(&client, s.loop, &(net_endpoint){url, OCT_ROLES_ANY, BYTES_MAX, 1},
                             RESEND_MS));
    give_up_end(fd);
    net_rpc_server *server = NULL;
    T_OK(net_rpc_server_open(&server, s.loop, &(net_endpoint){url, OCT_ROLES_ANY, BYTES_MAX, 1},
                             side_answer, NULL));
    T_OK(net_rpc_call(client, (const uint8_t *)"x", 1, RESEND_MS, side_answered, &s));
    net_test_until(s.loop, &s.got, 1);
    net_rpc_client_close(client);
    net_rpc_server_close(server);
    net_loop_destroy(s.loop);
}

// The listening side: every pipe it had, and how many went.
typedef struct pipes {
    nng_socket socket;
    sem_t added;
    sem_t removed;
} pipes;

static void
pipes_event(nng_pipe pipe, nng_pipe_ev event, void *arg)
{
    (void)pipe;
    pipes *p = arg;
    (void)sem_post(event == NNG_PIPE_EV_ADD_POST ? &p->added : &p->removed);
}

static void
pipes_listen(pipes *p, const char *url)
{
    assert_int_equal(sem_init(&p->added, 0, 0), 0);
    assert_int_equal(sem_init(&p->removed, 0, 0), 0);
    assert_int_equal(nng_pipe_notify(p->socket, NNG_PIPE_EV_ADD_POST, pipes_event, p), 0);
    assert_int_equal(nng_pipe_notify(p->socket, NNG_PIPE_EV_REM_POST, pipes_event, p), 0);
    assert_int_equal(nng_listen(p->socket, url, NULL, 0), 0);
}

// Two dialers connected, and one of them was sent away. How many pipes are left.
static int
pipes_settle(pipes *p)
{
    int left = 0;
    assert_int_equal(sem_wait(&p->added), 0);
    assert_int_equal(sem_wait(&p->added), 0);
    assert_int_equal(sem_wait(&p->removed), 0);
    assert_int_equal(sem_getvalue(&p->removed, &left), 0);
    return 1 - left;
}

static void
pipes_close(pipes *p)
{
    (void)nng_close(p->socket);
    sem_destroy(&p->added);
    sem_destroy(&p->removed);
}

// Only a dialer that has written its header cannot give up any more.
static void
mute_read_header(int fd)
{
    char header[HEADER_BYTES];
    assert_int_equal(recv(fd, header, sizeof(header), MSG_WAITALL), HEADER_BYTES);
}

// Holds two dialers of the socket in their handshakes, and lets both go at once.
static void
hold_two_dialers(side *s, int listener)
{
    int first = accept(listener, NULL, NULL), second = -1;
    assert_true(first >= 0);
    mute_read_header(first);
    assert_int_equal(fcntl(listener, F_SETFL, O_NONBLOCK), 0);
    while ((second = accept(listener, NULL, NULL)) < 0) {
        net_test_turn(s->loop, 5); // the spare dialer is made here
    }
    mute_read_header(second);
    close(listener);
    close(first);
    close(second);
}

static void
test_push_keeps_one_pipe(void **state)
{
    (void)state;
    const char *url = net_test_url("ipc");
    side s = {.loop = net_loop_create()};
    int listener = mute_listen(url);
    net_push *push = side_push(&s, url);
    hold_two_dialers(&s, listener);
    pipes p = {0};
    assert_int_equal(nng_pull0_open(&p.socket), 0);
    pipes_listen(&p, url);
    net_test_until(s.loop, &s.connected, 1);
    assert_int_equal(pipes_settle(&p), 1);
    T_OK(net_push_send(push, net_test_msg_u32(1)));
    nng_msg *msg = NULL;
    assert_int_equal(nng_recvmsg(p.socket, &msg, 0), 0);
    nng_msg_free(msg);
    assert_int_equal(s.connected, 1);
    assert_int_equal(s.disconnected, 0);
    pipes_close(&p);
    net_test_until(s.loop, &s.disconnected, 1); // and notices when that one goes
    net_push_close(push);
    net_loop_destroy(s.loop);
}

static void
test_sub_keeps_one_pipe(void **state)
{
    (void)state;
    const char *url = net_test_url("ipc");
    side s = {.loop = net_loop_create()};
    int listener = mute_listen(url);
    net_sub *sub = side_sub(&s, url);
    hold_two_dialers(&s, listener);
    pipes p = {0};
    assert_int_equal(nng_pub0_open(&p.socket), 0);
    pipes_listen(&p, url);
    net_test_until(s.loop, &s.connected, 1);
    assert_int_equal(pipes_settle(&p), 1);
    assert_int_equal(nng_send(p.socket, "x", 1, 0), 0);
    net_test_until(s.loop, &s.got, 1);
    assert_int_equal(s.got, 1); // not once for each dialer
    assert_int_equal(s.connected, 1);
    pipes_close(&p);
    net_pub *pub = NULL;
    T_OK(net_pub_open(&pub, s.loop, url, OCT_ROLES_ANY, 10));
    net_test_until(s.loop, &s.connected, 2); // the one that is left dials again
    net_sub_close(sub);
    net_pub_close(pub);
    net_loop_destroy(s.loop);
}

static void
listen_after(uint32_t ms)
{
    const char *url = net_test_url("ipc");
    side s = {.loop = net_loop_create()};
    unsigned before = atomic_load(&dials);
    net_push *push = side_push(&s, url);
    net_test_turn(s.loop, ms);
    assert_int_equal(atomic_load(&dials), before);
    net_pull *pull = NULL;
    T_OK(net_pull_open(&pull, s.loop, &(net_endpoint){url, OCT_ROLES_ANY, BYTES_MAX, 0}, side_take,
                       &s));
    net_test_until(s.loop, &s.connected, 1);
    assert_true(atomic_load(&dials) > before);
    net_push_close(push);
    net_pull_close(pull);
    net_loop_destroy(s.loop);
}

static void
test_a_socket_is_dialed_when_it_is_there(void **state)
{
    (void)state;
    listen_after(20);
    listen_after(1200); // it looks less often by then
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_socket_is_dialed_when_it_is_there),
        cmocka_unit_test(test_push_gets_over_a_peer_that_dies_in_the_handshake),
        cmocka_unit_test(test_sub_gets_over_a_peer_that_dies_in_the_handshake),
        cmocka_unit_test(test_rpc_gets_over_a_peer_that_dies_in_the_handshake),
        cmocka_unit_test(test_push_keeps_one_pipe),
        cmocka_unit_test(test_sub_keeps_one_pipe),
    };
    return cmocka_run_group_tests(tests, NULL, net_test_folder_remove);
}
