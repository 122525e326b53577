// The sockets behind the gate: nobody else on the machine reaches them, their names may go, and one
// that died is replaced. The port before them: one that cannot be listened on, and one of every
// interface.
#include "common/oct_reason.h"
#include "tests/net/net_test.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
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

// Likewise its clock.
static atomic_uint_fast64_t later_ms;
uint64_t __real_uv_now(const uv_loop_t *loop);
uint64_t __wrap_uv_now(const uv_loop_t *loop);

uint64_t
__wrap_uv_now(const uv_loop_t *loop)
{
    return __real_uv_now(loop) + atomic_load(&later_ms);
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

// As the end of a session does with XDG_RUNTIME_DIR, or a sweeper of /tmp.
static void
folder_remove(const local_name names[NAMES_MAX], unsigned count)
{
    char folder[NET_GATE_LOCAL_MAX];
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(unlink(names[i].path), 0);
    }
    (void)snprintf(folder, sizeof(folder), "%s", names[0].path);
    *strrchr(folder, '/') = '\0';
    assert_int_equal(rmdir(folder), 0);
}

static void
test_a_folder_that_is_removed_keeps_nobody_out(void **state)
{
    (void)state;
    local_name names[NAMES_MAX];
    char trouble[NET_GATE_TROUBLE_BYTES];
    const char *url = tls_url();
    side from, to, late;
    side_open(&from, "actor");
    side_push(&from, url, REPLAY);
    folder_remove(names, local_names(names)); // of one that dials
    folder_remove(names, pull_behind_a_gate(&to, url, names));
    pass_one(&from, &to);
    side_open(&late, "actor");
    side_push(&late, url, REPLAY);
    pass_one(&late, &to);
    side_close(&late);
    assert_false(net_gate_trouble(net_loop_gate(to.loop), trouble));
    assert_string_equal(trouble, "");
    assert_int_equal(counts_of(&to).relistened + counts_of(&from).relistened, 0);
    side_close(&from);
    side_close(&to);
}

// ---- a local socket that died, and its folder with it

#define HANGS_S 30

static atomic_int heard_by; // who listens behind the gate
static atomic_bool hears_no_more;
static atomic_int heard_times; // counted after heard_at was written: who has seen it may read that
static local_name heard_at;

static int
hear(uint32_t socket, const char *path, oct_reason *why)
{
    (void)socket;
    int fd;
    if (atomic_load(&hears_no_more) || net_http_listen_local(&fd, path) != OCT_OK) {
        oct_reason_set(why, "nobody is left");
        return -1;
    }
    (void)snprintf(heard_at.path, sizeof(heard_at.path), "%s", path);
    atomic_store(&heard_by, fd);
    (void)atomic_fetch_add(&heard_times, 1);
    return fd + 1;
}

// A gate whose local socket died, and to which a peer has come since.
static net_gate *
gate_with_a_dead_socket(bool is_last, local_name *place)
{
    static const uint8_t header[] = {0, 'S', 'P', 0, 0, 0x50, 0, 0};
    net_gate *gate;
    net_gate_end *end;
    char url[64];
    unsigned port = net_test_free_port();
    (void)snprintf(url, sizeof(url), "tcp://127.0.0.1:%u", port);
    const net_gate_spec spec = {.url = url,
                                .roles = OCT_ROLES_ANY,
                                .protocol = 0x51,
                                .peer_protocol = 0x50,
                                .message_bytes_max = BYTES_MAX,
                                .listen_local = hear};
    atomic_store(&heard_times, 0);
    T_OK(net_gate_create(&gate, NULL, NULL));
    T_OK(net_gate_listen(gate, &spec, &end));
    T_OK(net_gate_end_start(end));
    *place = heard_at;
    atomic_store(&hears_no_more, is_last);
    (void)close(atomic_load(&heard_by));
    folder_remove(place, 1);
    int fd = net_test_tcp_connect(port);
    assert_int_equal(send(fd, header, sizeof(header), MSG_NOSIGNAL), sizeof(header));
    return gate;
}

static void
test_a_socket_that_died_with_its_folder_is_replaced_in_another(void **state)
{
    (void)state;
    local_name before;
    net_gate *gate = gate_with_a_dead_socket(false, &before);
    while (net_gate_read_counts(gate).relistened == 0 || atomic_load(&heard_times) < 2) {
        (void)sched_yield();
    }
    assert_int_equal(access(heard_at.path, F_OK), 0);
    *strrchr(heard_at.path, '/') = *strrchr(before.path, '/') = '\0';
    assert_string_not_equal(heard_at.path, before.path);
    net_gate_destroy(gate);
    (void)close(atomic_load(&heard_by));
}

// The process does not end, nor is one socket made after the other.
static void
test_a_socket_that_can_be_replaced_again_is_lost_no_more(void **state)
{
    (void)state;
    local_name before;
    char trouble[NET_GATE_TROUBLE_BYTES];
    int saved = net_test_stderr_to(net_test_path("mended"));
    net_gate *gate = gate_with_a_dead_socket(true, &before);
    while (!net_gate_trouble(gate, trouble)) {
        (void)sched_yield();
    }
    assert_int_equal(net_gate_read_counts(gate).relistened, 0);
    atomic_store(&hears_no_more, false);
    while (net_gate_trouble(gate, trouble)) {
        (void)sched_yield();
    }
    assert_int_equal(net_gate_read_counts(gate).relistened, 1);
    net_gate_destroy(gate);
    net_test_stderr_back(saved);
    (void)close(atomic_load(&heard_by));
}

// A process of its own: this program, by that word. (Under ThreadSanitizer no thread may be started
// after a fork.)
static char loses[] = "loses-its-socket";

static _Noreturn void
lose_the_socket(const char *log)
{
    local_name before;
    char trouble[NET_GATE_TROUBLE_BYTES];
    (void)alarm(HANGS_S);
    (void)net_test_stderr_to(log);
    net_gate *gate = gate_with_a_dead_socket(true, &before);
    while (!net_gate_trouble(gate, trouble)) {
        (void)sched_yield();
    }
    atomic_store(&later_ms, NET_GATE_LOST_MS);
    while (true) {
        (void)pause();
    }
}

// Whoever watches over it starts it again. It says so when it begins and when it ends.
static void
test_a_process_ends_whose_socket_cannot_be_replaced(void **state)
{
    (void)state;
    char said[4096];
    int status;
    pid_t child = fork();
    if (child == 0) {
        (void)execl("/proc/self/exe", loses, loses, net_test_path("lost"), (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), NET_GATE_EXIT);
    net_test_read(net_test_path("lost"), said, sizeof(said));
    const char *first = strstr(said, " E NET-GATE-FAILED ");
    assert_non_null(first);
    assert_non_null(strstr(first, "error=\"nobody is left\": no answer behind the gate"));
    const char *last = strstr(first + 1, " E NET-GATE-FAILED ");
    assert_non_null(last);
    assert_non_null(strstr(last, "this process ends and must be restarted"));
    assert_null(strstr(last + 1, " E "));
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
    T_ERR(net_pull_open(&pull, to.loop, &(net_endpoint){url, ACTOR, BYTES_MAX, 0}, side_take, &to),
          OCT_EIO);
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

static bool
has_ipv6(void)
{
    const struct sockaddr_in6 address = {.sin6_family = AF_INET6,
                                         .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool has = fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return has;
}

// '*' and no host at all. An address of IPv4 is called by its own name.
static void
test_every_interface_has_both_kinds_of_addresses(void **state)
{
    (void)state;
    static const char *const formats[] = {"tcp://*:%u", "tcp://:%u"};
    static const char *const hosts[] = {"127.0.0.1", "[::1]"};
    char url[64], said[4096];
    for (size_t i = 0; i < OCT_COUNTOF(formats); i++) {
        unsigned port = net_test_free_port();
        side from, to;
        (void)snprintf(url, sizeof(url), formats[i], port);
        side_open(&to, NULL);
        side_pull(&to, url, ACTOR);
        for (size_t k = 0; k < (has_ipv6() ? OCT_COUNTOF(hosts) : 1); k++) {
            (void)snprintf(url, sizeof(url), "tcp://%s:%u", hosts[k], port);
            side_open(&from, NULL);
            side_push(&from, url, REPLAY);
            pass_one(&from, &to);
            side_close(&from);
        }
        int saved = net_test_stderr_to(net_test_path("everywhere"));
        int fd = net_test_tcp_connect(port);
        assert_int_equal(send(fd, "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 18);
        while (counts_of(&to).refused == 0) {
            side_turn(&to);
        }
        net_test_stderr_back(saved);
        (void)close(fd);
        net_test_read(net_test_path("everywhere"), said, sizeof(said));
        assert_non_null(strstr(said, " from=127.0.0.1 "));
        side_close(&to);
    }
}

int
main(int argc, char **argv)
{
    (void)signal(SIGPIPE, SIG_IGN);
    if (argc == 3 && strcmp(argv[1], loses) == 0) {
        lose_the_socket(argv[2]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_users_cannot_reach_the_sockets_behind_the_gate),
        cmocka_unit_test(test_sockets_behind_the_gate_that_died_are_replaced),
        cmocka_unit_test(test_a_folder_that_is_removed_keeps_nobody_out),
        cmocka_unit_test(test_a_socket_that_died_with_its_folder_is_replaced_in_another),
        cmocka_unit_test(test_a_socket_that_can_be_replaced_again_is_lost_no_more),
        cmocka_unit_test(test_a_process_ends_whose_socket_cannot_be_replaced),
        cmocka_unit_test(test_other_processes_cannot_go_round_the_gate),
        cmocka_unit_test(test_a_port_that_cannot_be_listened_on_is_told),
        cmocka_unit_test(test_every_interface_has_both_kinds_of_addresses),
    };
    return cmocka_run_group_tests_name("net_gate_local", tests, certs_make, net_test_folder_remove);
}
