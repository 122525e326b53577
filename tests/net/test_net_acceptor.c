// Local sockets of NNG's at which nobody is let in any more are noticed, and others are not.
#include "tests/net/net_test.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nng/nng.h>

#include <nng/protocol/pipeline0/pull.h>

#include "net/net_internal.h"

#define LISTENER   7
#define TICK_MS    5
#define GONE_PEERS 20 // a fifth of the backlog of NNG's
#define HANGS_S    30

static struct sockaddr_un
address_of(const char *url)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", url + strlen("ipc://"));
    return address;
}

static const char *
local_url(const char *name)
{
    static char url[256];
    (void)snprintf(url, sizeof(url), "ipc://%s", net_test_path(name));
    (void)unlink(url + strlen("ipc://"));
    return url;
}

// Somebody has the path and accepts nothing, as an acceptor that died does.
static void
test_connection_of_which_no_pipe_is_made_is_noticed(void **state)
{
    (void)state;
    char trouble[128];
    const char *url = local_url("mute.ipc");
    struct sockaddr_un address = address_of(url);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 8), 0);
    net_acceptor *acceptor = net_acceptor_create(url, LISTENER);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(net_acceptor_look(acceptor), NET_ACCEPTOR_ASKED);
        net_acceptor_heard(LISTENER + 1); // another's
    }
    net_acceptor_heard(LISTENER);
    assert_int_equal(net_acceptor_look(acceptor), NET_ACCEPTOR_ANSWERS);
    assert_int_equal(net_acceptor_look(acceptor), NET_ACCEPTOR_ASKED); // anew
    assert_false(net_acceptor_trouble(trouble, sizeof(trouble)));      // nobody watches
    net_acceptor_destroy(acceptor);
    (void)close(fd);
    (void)unlink(address.sun_path);
}

static bool
is_told(void)
{
    char trouble[128];
    return net_acceptor_trouble(trouble, sizeof(trouble));
}

// Whoever watches hears of it before the process ends, and until somebody is let in, or the
// listener is no more. A listener that answers late again and again is none that died.
static void
test_listener_that_lets_nobody_in_is_told_of_until_it_does(void **state)
{
    (void)state;
    enum { TOLD_TICKS = 6, ROUNDS = 1 + NET_ACCEPTOR_MUTE_TICKS / TOLD_TICKS };
    const char *url = local_url("slow.ipc");
    struct sockaddr_un address = address_of(url);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, NET_ACCEPTOR_MUTE_TICKS), 0);
    net_loop *loop = net_loop_create();
    unsigned files = net_test_files_open();
    net_acceptor *acceptor = net_acceptor_create(url, LISTENER);
    net_acceptor_watch(acceptor, loop, 1);
    for (int i = 0; i < ROUNDS; i++) {
        while (!is_told()) {
            net_test_turn(loop, 1);
        }
        net_acceptor_heard(LISTENER);
        while (is_told()) {
            net_test_turn(loop, 1);
        }
    }
    while (!is_told()) {
        net_test_turn(loop, 1);
    }
    net_acceptor_destroy(acceptor);
    assert_false(is_told());
    assert_int_equal(net_test_files_open(), files);
    net_loop_destroy(loop);
    (void)close(fd);
    (void)unlink(address.sun_path);
}

// Its file was removed: nobody can come in.
static void
test_address_that_is_gone_is_noticed(void **state)
{
    (void)state;
    net_acceptor *acceptor = net_acceptor_create(local_url("gone.ipc"), LISTENER);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(net_acceptor_look(acceptor), NET_ACCEPTOR_ASKED);
    }
    net_acceptor_destroy(acceptor);
}

// What another process does there is not this one's to judge.
static void
test_address_that_another_process_has_is_left_alone(void **state)
{
    (void)state;
    const char *url = local_url("other.ipc");
    struct sockaddr_un address = address_of(url);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    pid_t child = fork();
    if (child == 0) {
        _exit(listen(fd, 8) == 0 ? 0
                                 : 1); // the descriptor is shared, and is this one's from now on
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    net_acceptor *acceptor = net_acceptor_create(url, LISTENER);
    assert_int_equal(net_acceptor_look(acceptor), NET_ACCEPTOR_UNKNOWN);
    net_acceptor_destroy(acceptor);
    (void)close(fd);
    (void)unlink(address.sun_path);
}

// ---- NNG's own

static net_acceptor_state
answer_of(net_acceptor *acceptor)
{
    net_acceptor_state state;
    while ((state = net_acceptor_look(acceptor)) == NET_ACCEPTOR_ASKED) {
        (void)sched_yield();
    }
    return state;
}

static void
test_listener_of_nng_lets_in_again_and_again(void **state)
{
    (void)state;
    nng_socket socket;
    net_listening listening = {0};
    net_loop *loop = net_loop_create();
    assert_int_equal(nng_pull0_open(&socket), 0);
    T_OK(net_listen(&listening, loop, socket,
                    &(net_endpoint){local_url("good.ipc"), OCT_ROLES_ANY, 1000, 0}));
    for (int i = 0; i < 20; i++) {
        assert_int_equal(answer_of(listening.acceptor), NET_ACCEPTOR_ANSWERS);
    }
    net_listening_stop(&listening);
    net_socket_close(socket);
    net_loop_destroy(loop);
}

// The daemon, of a listener that lets nobody in.
static int
watch_mute(const char *url)
{
    struct sockaddr_un address = address_of(url);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 8) != 0) {
        return 2;
    }
    net_loop *loop = net_loop_create();
    net_acceptor_watch(net_acceptor_create(url, LISTENER), loop, TICK_MS);
    net_loop_run(loop);
    return 3;
}

static void
test_process_that_lets_nobody_in_ends(void **state)
{
    (void)state;
    int status;
    const char *url = local_url("nobody.ipc");
    pid_t child = fork();
    if (child == 0) {
        _exit(watch_mute(url));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), NET_ACCEPTOR_EXIT);
    (void)unlink(url + strlen("ipc://"));
}

// The daemon: ends with 0 once it has a message.
static int
listen_for_one(const char *url)
{
    nng_socket socket;
    nng_msg *msg;
    net_listening listening = {0};
    net_loop *loop = net_loop_create();
    (void)alarm(HANGS_S); // nobody was let in
    if (nng_pull0_open(&socket) != 0 ||
        net_listen(&listening, loop, socket, &(net_endpoint){url, OCT_ROLES_ANY, 1000, 0}) !=
            OCT_OK) {
        return 2;
    }
    return nng_recvmsg(socket, &msg, 0) == 0 ? 0 : 3;
}

static int
connected_to(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    while (connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0) {
        (void)sched_yield(); // it does not listen yet
    }
    return fd;
}

// They connect while it is stopped, so that NNG finds all of them gone when it writes its header.
static void
test_listener_outlives_peers_that_went_before_it_has_accepted(void **state)
{
    (void)state;
    int status;
    const char *url = local_url("gone_peers.ipc");
    struct sockaddr_un address = address_of(url);
    pid_t child = fork();
    if (child == 0) {
        _exit(listen_for_one(url));
    }
    (void)close(connected_to(&address));
    assert_int_equal(kill(child, SIGSTOP), 0);
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    for (int i = 0; i < GONE_PEERS; i++) {
        (void)close(connected_to(&address));
    }
    assert_int_equal(kill(child, SIGCONT), 0);
    int fd = connected_to(&address);
    const uint8_t message[] = {0, 'S', 'P', 0, 0, 0x50, 0, 0, 1, 0, 0,
                               0, 0,   0,   0, 0, 4,    0, 0, 0, 0};
    assert_int_equal(write(fd, message, sizeof(message)), sizeof(message));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    (void)close(fd);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process_that_lets_nobody_in_ends), // forks before NNG has threads
        cmocka_unit_test(test_listener_outlives_peers_that_went_before_it_has_accepted), // likewise
        cmocka_unit_test(test_connection_of_which_no_pipe_is_made_is_noticed),
        cmocka_unit_test(test_listener_that_lets_nobody_in_is_told_of_until_it_does),
        cmocka_unit_test(test_address_that_is_gone_is_noticed),
        cmocka_unit_test(test_address_that_another_process_has_is_left_alone),
        cmocka_unit_test(test_listener_of_nng_lets_in_again_and_again),
    };
    return cmocka_run_group_tests(tests, NULL, net_test_folder_remove);
}
