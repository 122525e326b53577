#ifndef TESTS_NET_NET_TEST_H
#define TESTS_NET_NET_TEST_H

#include <stdbool.h>
#include <stdlib.h>

#include "net/net_loop.h"
#include "net/net_msg.h"
#include "net/net_process.h"
#include "tests/support/oct_test.h"

// What the tests of net/ share. Their handlers count what happened and stop the loop; until runs it
// again and again, so that the test's own time limit is the only clock.
void net_test_until(net_loop *loop, const unsigned *value, unsigned want);
// Ends the turn of a loop: for timers and wakeups.
void net_test_stop(void *loop);
// Lets the loop turn for ms, at least 1: libuv 1.45 and later runs a timer of 0 ms before it polls,
// and the loop would stop without reading from a socket or closing a handle.
void net_test_turn(net_loop *loop, uint32_t ms);
// Runs fn(arg) in a thread, as somebody outside; the loop turns until that has ended.
void net_test_play(net_loop *loop, void (*fn)(void *arg), void *arg);
// A folder of its own for the sockets and files of a test program.
const char *net_test_folder(void);
// A path in it; good for four calls, and so are addresses.
const char *net_test_path(const char *name);
// A bound TCP socket on 127.0.0.1; port 0: any free one.
int net_test_tcp_bind(unsigned *port);
// The first of eight free ports in a row, which no other test program gets while this one runs.
unsigned net_test_free_port(void);
int net_test_tcp_connect(unsigned port);
// As net_post_dial to an ipc address, without NNG: closing the socket ends the connection at once,
// however often (docs/internals/decisions/0002-nng-close.md). What can be read from it are
// messages.
int net_test_post_dial(const char *url, const void *name, size_t length);
// A new address of the scheme: "inproc", "ipc" or "tcp".
const char *net_test_url(const char *scheme);
net_msg *net_test_msg(const void *bytes, size_t length);
net_msg *net_test_msg_u32(uint32_t value);
uint32_t net_test_u32(net_msg *msg);
// Reads at most size - 1 bytes of a file as text.
void net_test_read(const char *path, char *out, size_t size);
// How many descriptors this process has, and a constant.
unsigned net_test_files_open(void);
// Sends stderr to a file and back.
int net_test_stderr_to(const char *path);
void net_test_stderr_back(int saved);
// A daemon as a process. The loop stops when it has ended.
typedef struct net_test_daemon {
    net_loop *loop;
    net_process *process; // NULL: its end was taken
    int exit_status;
    bool is_exited;
} net_test_daemon;
void net_test_daemon_start(net_test_daemon *out, net_loop *loop, const net_process_spec *spec);
// Waits for its end, and gives its exit status.
int net_test_daemon_end(net_test_daemon *daemon);
// Sends it a signal, unless it has ended, and does the same.
int net_test_daemon_kill(net_test_daemon *daemon, int signal_number);
// A sample of the daemon's /metrics at http://HOST:PORT, by its name and labels.
double net_test_metric(const char *url, const char *name);
// A group teardown of cmocka.
int net_test_folder_remove(void **state);

#endif // TESTS_NET_NET_TEST_H
