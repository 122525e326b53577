// The sockets behind the gate: nobody else on the machine reaches them, and one that died is
// replaced. A port before it that cannot be listened on.
#include "tests/net/net_test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nng/nng.h>
#include <uv.h>

#include "net/net_http.h"
#include "net/net_internal.h"
#include "tests/net/net_certs.h"
#include "tests/net/net_side.h"

// libuv's listen, in whose place the linker puts this one: the kernel can refuse it.
static atomic_bool listens_not;
int __real_uv_listen(uv_stream_t *stream, int backlog, uv_connection_cb arrived);
int __wrap_uv_listen(uv_stream_t *stream, int backlog, uv_connection_cb arrived);

int
__wrap_uv_listen(uv_stream_t *stream, int backlog, uv_connection_cb arrived)
{
    return atomic_load(&listens_not) ? UV_ENOBUFS : __real_uv_listen(stream, backlog, arrived);
}

static int
certs_make(void **state)
{
    (void)state;
    certs_ca *ca = certs_ca_create("ca");
    certs_write_usual(ca, "replay", true, net_test_path("replay"));
    certs_write_usual(ca, "actor", false, net_test_path("actor"));
    certs_ca_destroy(ca);
    return 0;
}

#define NAMES_MAX 64

typedef struct local_name {
    char path[NET_GATE_LOCAL_MAX]; // '@' first: abstract
} local_name;

// Whether a descriptor of this process is the socket of that inode.
static bool
inode_is_ours(unsigned long inode)
{
    char want[64], path[64], link[64];
    (void)snprintf(want, sizeof(want), "socket:[%lu]", inode);
    for (int fd = 0; fd < 256; fd++) {
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        ssize_t length = readlink(path, link, sizeof(link) - 1);
        if (length > 0 && (size_t)length == strlen(want) && memcmp(link, want, strlen(want)) == 0) {
            return true;
        }
    }
    return false;
}

// The local sockets at which this process listens, from the list that every process can read; not
// those whose files are gone: NNG closes the last test's in its own time.
static unsigned
local_names(local_name names[NAMES_MAX])
{
    FILE *file = fopen("/proc/net/unix", "r");
    char line[512];
    unsigned count = 0;
    assert_non_null(file);
    while (count < NAMES_MAX && fgets(line, sizeof(line), file) != NULL) {
        unsigned long flags, inode;
        int at = 0;
        if (sscanf(line, "%*s %*s %*s %lx %*s %*s %lu %n", &flags, &inode, &at) == 2 && at > 0 &&
            (flags & 0x10000) != 0 && inode_is_ours(inode)) {
            char *path = names[count].path;
            (void)snprintf(path, sizeof(names[0].path), "%.*s", (int)strcspn(line + at, "\n"),
                           line + at);
            count += path[0] == '@' || access(path, F_OK) == 0;
        }
    }
    fclose(file);
    return count;
}

static int
local_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (path[0] == '@') {
        address.sun_path[0] = '\0';
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, size) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

// Opens a side that pulls at url; gives the sockets behind its gate.
static unsigned
pull_behind_a_gate(side *to, const char *url, local_name names[NAMES_MAX])
{
    side_open(to, "replay");
    side_pull(to, url, ACTOR);
    unsigned count = local_names(names);
    assert_true(count > 0);
    return count;
}

// An abstract socket may be connected to by every user of the machine.
static void
test_other_users_cannot_reach_the_sockets_behind_the_gate(void **state)
{
    (void)state;
    local_name names[NAMES_MAX];
    side to;
    unsigned count = pull_behind_a_gate(&to, tls_url(), names);
    for (unsigned i = 0; i < count; i++) {
        struct stat status;
        assert_int_equal(names[i].path[0], '/');
        assert_int_equal(stat(names[i].path, &status), 0);
        assert_int_equal(status.st_mode & 0777, 0600);
        *strrchr(names[i].path, '/') = '\0';
        assert_int_equal(stat(names[i].path, &status), 0);
        assert_int_equal(status.st_mode & 0777, 0700);
        assert_int_equal(status.st_uid, geteuid());
    }
    side_close(&to);
    assert_int_equal(access(names[0].path, F_OK), -1); // it goes with the gate
}

// One message, sent again with each connection: what went into one that is closed is lost.
static void
pass_one_surely(side *from, side *to)
{
    unsigned want = to->got + 1, sent = 0;
    while (to->got < want) {
        if (from->connected > sent) {
            net_msg *msg = net_test_msg_u32(to->got);
            while (net_push_send(from->push, msg) == OCT_EAGAIN) {
                side_turn(from);
            }
            sent = from->connected;
        }
        side_turn(from);
        side_turn(to);
    }
}

// The C library's, in place of net_sendmsg.c's: NNG 1.5 dies here as it does by itself.
ssize_t
sendmsg(int fd, const struct msghdr *message, int flags)
{
    return syscall(SYS_sendmsg, fd, message, flags);
}

// Somebody connects behind the gate and closes at once, which makes NNG 1.5 take nobody there any
// more. Later releases bear it: then every message passes, and nothing is replaced.
#define ROUNDS 50

static void
test_sockets_behind_the_gate_that_died_are_replaced(void **state)
{
    (void)state;
    local_name names[NAMES_MAX];
    char trouble[NET_GATE_TROUBLE_BYTES];
    const char *url = tls_url();
    side from, to;
    side_open(&to, "replay");
    side_pull(&to, url, ACTOR);
    assert_false(net_gate_trouble(net_loop_gate(to.loop), trouble));
    assert_string_equal(trouble, "");
    for (int i = 0; i < ROUNDS && counts_of(&to).relistened == 0; i++) {
        unsigned count = local_names(names);
        assert_true(count > 0);
        for (unsigned k = 0; k < 20 * count; k++) {
            (void)close(local_connect(names[k % count].path));
        }
        side_open(&from, "actor");
        side_push(&from, url, REPLAY);
        pass_one_surely(&from, &to); // for ever, if nothing is done about it
        side_close(&from);
    }
    assert_false(net_gate_trouble(net_loop_gate(to.loop), trouble)); // nothing is lost
    bool is_replaced = counts_of(&to).relistened > 0;
    assert_int_equal(strstr(trouble, "was replaced") != NULL, is_replaced);
    assert_true(is_replaced || strncmp(nng_version(), "1.5.", 4) != 0);
    side_close(&to);
}

static void
intrude(const char *path)
{
    int fd = local_connect(path);
    if (fd < 0) {
        _exit(1);
    }
    (void)fcntl(fd, F_SETFL, 0);
    const uint8_t message[] = {0, 'S', 'P', 0, 0, 0x50, 0, 0, 1, 0, 0,
                               0, 0,   0,   0, 0, 4,    0, 0, 0, 0};
    (void)!write(fd, message, sizeof(message));
    uint8_t rest[64];
    while (read(fd, rest, sizeof(rest)) > 0) {
    }
    _exit(0); // closed by the other side
}

static void
test_other_processes_cannot_go_round_the_gate(void **state)
{
    (void)state;
    local_name names[NAMES_MAX];
    side to;
    unsigned count = pull_behind_a_gate(&to, tls_url(), names);
    for (unsigned i = 0; i < count; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            intrude(names[i].path);
        }
        while (waitpid(child, &status, WNOHANG) == 0) {
            side_turn(&to);
        }
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    side_turn(&to);
    assert_int_equal(to.got, 0);
    side_close(&to);
}

static void
test_a_port_that_cannot_be_listened_on_is_told(void **state)
{
    (void)state;
    const char *url = tls_url();
    side from, to;
    net_pull *pull = NULL;
    net_http *http = NULL;
    char https[64];
    (void)snprintf(https, sizeof(https), "https://127.0.0.1:%u", port_of(url));
    side_open(&to, "replay");
    atomic_store(&listens_not, true);
    T_ERR(net_pull_open(&pull, to.loop, url, ACTOR, BYTES_MAX, side_take, &to), OCT_EIO);
    T_ERR(net_http_open(&http, to.loop, https, NULL, NULL), OCT_EIO);
    assert_null(http);
    atomic_store(&listens_not, false);
    side_pull(&to, url, ACTOR); // nothing holds the port
    side_open(&from, "actor");
    side_push(&from, url, REPLAY);
    pass_one(&from, &to);
    side_close(&from);
    side_close(&to);
}

int
main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_users_cannot_reach_the_sockets_behind_the_gate),
        cmocka_unit_test(test_sockets_behind_the_gate_that_died_are_replaced),
        cmocka_unit_test(test_other_processes_cannot_go_round_the_gate),
        cmocka_unit_test(test_a_port_that_cannot_be_listened_on_is_told),
    };
    return cmocka_run_group_tests_name("net_gate_local", tests, certs_make, net_test_folder_remove);
}
