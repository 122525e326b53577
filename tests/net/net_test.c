// What the tests of net/ share: running the loop, free ports, temporary folders, messages, stderr.
#include "tests/net/net_test.h"
#include "common/oct_reason.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/net_http.h"
#include "net/net_sp.h"

// Ports below those that the kernel gives to outgoing connections, which might take one before its
// listener does, and above those of tests/support/daemons.py. A process reserves them by blocks.
#define PORT_FIRST  30000
#define BLOCK_PORTS 64
#define BLOCKS      43
#define STRIDE      8 // ports in a row that a daemon may use

void
net_test_until(net_loop *loop, const unsigned *value, unsigned want)
{
    while (*value < want) {
        net_loop_run(loop);
    }
}

void
net_test_stop(void *loop)
{
    net_loop_stop(loop);
}

void
net_test_turn(net_loop *loop, uint32_t ms)
{
    assert_true(ms > 0);
    net_timer *timer = net_timer_start(loop, ms, 0, net_test_stop, loop);
    net_loop_run(loop);
    net_timer_stop(timer);
}

typedef struct player {
    void (*fn)(void *arg);
    void *arg;
    net_wakeup *done;
} player;

static void *
player_run(void *arg)
{
    player *p = arg;
    p->fn(p->arg);
    net_wakeup_send(p->done);
    return NULL;
}

void
net_test_play(net_loop *loop, void (*fn)(void *arg), void *arg)
{
    pthread_t thread;
    player p = {.fn = fn, .arg = arg, .done = net_wakeup_create(loop, net_test_stop, loop)};
    assert_int_equal(pthread_create(&thread, NULL, player_run, &p), 0);
    net_loop_run(loop);
    assert_int_equal(pthread_join(thread, NULL), 0);
    net_wakeup_destroy(p.done);
}

const char *
net_test_folder(void)
{
    static char folder[64];
    if (folder[0] == '\0') {
        strcpy(folder, "/tmp/octet-net-XXXXXX");
        assert_non_null(mkdtemp(folder));
    }
    return folder;
}

const char *
net_test_path(const char *name)
{
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", net_test_folder(), name);
    return path;
}

int
net_test_tcp_bind(unsigned *port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

// Binds the port on all addresses for a moment.
static bool
port_is_free(unsigned port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_ANY),
                                  .sin_port = htons((uint16_t)port)};
    bool is_free = bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    close(fd);
    return is_free;
}

// Returns the first port of a block that no other test program uses. The reservation is a socket
// with an abstract name, which ends with the process.
static unsigned
block_reserve(void)
{
    for (unsigned tried = 0; tried < BLOCKS; tried++) {
        unsigned block = ((unsigned)getpid() + tried) % BLOCKS;
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        int length =
            snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "octet-net-ports-%u", block);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_true(fd >= 0);
        socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
        if (bind(fd, (struct sockaddr *)&name, bytes) == 0) {
            return PORT_FIRST + block * BLOCK_PORTS;
        }
        close(fd);
    }
    fail_msg("no free block of ports");
    return 0;
}

unsigned
net_test_free_port(void)
{
    static unsigned block, given;
    block = block == 0 ? block_reserve() : block;
    for (unsigned tried = 0; tried < BLOCK_PORTS / STRIDE; tried++) {
        unsigned port = block + given++ * STRIDE % BLOCK_PORTS, used = 0;
        for (unsigned i = 0; i < STRIDE; i++) {
            used += !port_is_free(port + i);
        }
        if (used == 0) {
            return port;
        }
    }
    block = block_reserve();
    return net_test_free_port();
}

int
net_test_tcp_connect(unsigned port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

int
net_test_post_dial(const char *url, const void *name, size_t length)
{
    static const uint8_t pair[NET_SP_HEADER_BYTES] = {0, 'S', 'P', 0, 0, 0x11, 0, 0};
    uint8_t theirs[NET_SP_HEADER_BYTES], out[256];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0 && length < 200 && strncmp(url, "ipc://", 6) == 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", url + 6);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    memcpy(out, pair, sizeof(pair));
    uint8_t *at = out + sizeof(pair);
    *at++ = 1;
    for (int shift = 56; shift >= 0; shift -= 8) {
        *at++ = (uint8_t)((uint64_t)(length + 4) >> shift);
    }
    memcpy(at, (const uint8_t[]){0, 0, 0, 1}, 4); // hops
    memcpy(at + 4, name, length);
    size_t bytes = (size_t)(at - out) + 4 + length;
    assert_int_equal(send(fd, out, bytes, MSG_NOSIGNAL), bytes);
    assert_int_equal(recv(fd, theirs, sizeof(theirs), MSG_WAITALL), sizeof(theirs));
    assert_memory_equal(theirs, pair, sizeof(pair));
    return fd;
}

const char *
net_test_url(const char *scheme)
{
    static char urls[4][128];
    static unsigned next;
    char *url = urls[next % 4];
    if (strcmp(scheme, "tcp") == 0) {
        snprintf(url, sizeof(urls[0]), "tcp://127.0.0.1:%u", net_test_free_port());
    } else if (strcmp(scheme, "ipc") == 0) {
        snprintf(url, sizeof(urls[0]), "ipc://%s/s%u", net_test_folder(), next);
    } else {
        snprintf(url, sizeof(urls[0]), "inproc://test%u", next);
    }
    next++;
    return url;
}

net_msg *
net_test_msg(const void *bytes, size_t length)
{
    net_msg *msg = net_msg_create(length);
    memcpy(net_msg_body(msg), bytes, length);
    return msg;
}

net_msg *
net_test_msg_u32(uint32_t value)
{
    return net_test_msg(&value, sizeof(value));
}

uint32_t
net_test_u32(net_msg *msg)
{
    uint32_t value = 0;
    assert_int_equal(net_msg_length(msg), sizeof(value));
    memcpy(&value, net_msg_body(msg), sizeof(value));
    return value;
}

void
net_test_read(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t length = read(fd, out, size - 1);
    assert_true(length >= 0);
    out[length] = '\0';
    close(fd);
}

unsigned
net_test_files_open(void)
{
    unsigned count = 0;
    DIR *files = opendir("/proc/self/fd");
    assert_non_null(files);
    while (readdir(files) != NULL) {
        count++;
    }
    (void)closedir(files);
    return count;
}

int
net_test_stderr_to(const char *path)
{
    int saved = dup(STDERR_FILENO);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(saved >= 0 && fd >= 0);
    assert_true(dup2(fd, STDERR_FILENO) >= 0);
    close(fd);
    return saved;
}

void
net_test_stderr_back(int saved)
{
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
}

static void
daemon_exited(void *arg, net_process *process, int exit_status)
{
    net_test_daemon *daemon = arg;
    (void)process;
    daemon->is_exited = true;
    daemon->exit_status = exit_status;
    net_loop_stop(daemon->loop);
}

void
net_test_daemon_start(net_test_daemon *out, net_loop *loop, const net_process_spec *spec)
{
    *out = (net_test_daemon){.loop = loop};
    T_OK(net_process_start(&out->process, loop, spec, daemon_exited, out));
}

int
net_test_daemon_end(net_test_daemon *daemon)
{
    while (!daemon->is_exited) {
        net_loop_run(daemon->loop);
    }
    net_process_destroy(daemon->process);
    daemon->process = NULL;
    return daemon->exit_status;
}

int
net_test_daemon_kill(net_test_daemon *daemon, int signal_number)
{
    if (!daemon->is_exited) {
        net_process_kill(daemon->process, signal_number);
    }
    return net_test_daemon_end(daemon);
}

double
net_test_metric(const char *url, const char *name)
{
    static char page[1u << 17];
    oct_reason why;
    char line[128];
    int status = 0;
    if (net_http_get(url, "/metrics", 10000, &status, page, sizeof(page), &why) != OCT_OK) {
        fail_msg("%s", why.text);
    }
    assert_int_equal(status, 200);
    (void)snprintf(line, sizeof(line), "\n%s ", name);
    const char *at = strstr(page, line);
    if (at == NULL) {
        fail_msg("no metric is called %s", name);
    }
    return strtod(at + strlen(line), NULL);
}

int
net_test_folder_remove(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", net_test_folder());
    return system(command) == 0 ? 0 : -1;
}
