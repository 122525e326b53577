// A name that nobody answers for keeps no process from ending.
#include "tests/support/oct_test.h"

#include <netdb.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/net_loop.h"
#include "net/net_rpc.h"

static atomic_bool is_asked;

// In the place of libc's: the resolver's servers are silent.
int
getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **out)
{
    (void)host;
    (void)port;
    (void)hints;
    (void)out;
    atomic_store(&is_asked, true);
    for (;;) {
        pause();
    }
}

_Noreturn static void
dial_and_exit(void)
{
    net_rpc_client *client;
    net_loop *loop = net_loop_create();
    T_OK(net_rpc_client_open(
        &client, loop, &(net_endpoint){"tcp://nobody.invalid:5555", OCT_ROLES_ANY, 100, 1}, 0));
    while (!atomic_load(&is_asked)) {
        sched_yield();
    }
    net_rpc_client_close(client);
    net_loop_destroy(loop);
    exit(7);
}

static void
test_process_ends_while_a_name_is_looked_up(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dial_and_exit();
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process_ends_while_a_name_is_looked_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
