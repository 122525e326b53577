// The HTTP server of --metrics: an input is what a peer sends, in pieces (a length, then the
// bytes), on one connection. It is answered or closed, and the server goes on.
#include "net/net_http.c"

#include "common/oct_bytes.h"
#include "tests/fuzz/fuzz.h"

#define BODY  "octet_up 1\n"
#define TURNS 8 // of the server, until an answer is there, or a connection has gone

static net_loop *loop;
static net_http *server;
static char path[64];

static void
asked(void *arg, const net_http_request *request, net_http_answer *out)
{
    (void)arg;
    OCT_ASSERT(strlen(request->path) <= NET_HTTP_PATH_MAX);
    if (strcmp(request->path, "/metrics") == 0) {
        *out = (net_http_answer){.status = net_http_is_local(request->host) ? 403 : 200,
                                 .content_type = "text/plain",
                                 .body = fuzz_text(BODY, strlen(BODY)),
                                 .length = strlen(BODY)};
    }
}

static void
path_remove(void)
{
    (void)unlink(path);
}

static void
server_make(void)
{
    int fd;
    oct_log_init("fuzz", OCT_LOG_ERROR);
    (void)snprintf(path, sizeof(path), "/tmp/octet_fuzz_http_%d", (int)getpid());
    (void)unlink(path);
    oct_err err = net_http_listen_local(&fd, path);
    OCT_ASSERT(err == OCT_OK);
    (void)atexit(path_remove);
    loop = net_loop_create();
    err = net_http_open_fd(&server, loop, fd, asked, NULL);
    OCT_ASSERT(err == OCT_OK);
}

static void
turn(void)
{
    http_run(server); // without the loop, which rests for a while when it is woken for nothing
}

// Bytes of the answer that came; *is_closed: the server has ended its side.
static size_t
fetch(int fd, char *out, size_t size, bool *is_closed)
{
    ssize_t count = recv(fd, out, size, MSG_DONTWAIT);
    *is_closed = count == 0 || (count < 0 && errno != EAGAIN);
    return count > 0 ? (size_t)count : 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (server == NULL) {
        server_make();
    }
    char answer[4096];
    size_t used = 0;
    bool is_closed = false;
    oct_reader in = {.at = data, .left = size};
    int fd = net_fd_local_connect(path);
    OCT_ASSERT(fd >= 0);
    while (in.left > 0 && !is_closed) {
        size_t count = oct_read_u8(&in);
        count = OCT_MIN(count, in.left);
        (void)!send(fd, oct_read_bytes(&in, count), count, MSG_NOSIGNAL | MSG_DONTWAIT);
        turn();
        used += fetch(fd, answer + used, sizeof(answer) - used, &is_closed);
    }
    (void)shutdown(fd, SHUT_WR); // nothing more comes
    for (int i = 0; i < TURNS && !is_closed; i++) {
        turn();
        used += fetch(fd, answer + used, sizeof(answer) - used, &is_closed);
    }
    OCT_ASSERT(used < sizeof(answer));
    OCT_ASSERT(used == 0 || (used > 12 && memcmp(answer, "HTTP/1.", 7) == 0));
    OCT_ASSERT(close(fd) == 0);
    for (int i = 0; i < TURNS && server->count > 0; i++) {
        turn();
    }
    OCT_ASSERT(server->count == 0);
    if (used > 12 && memcmp(answer + 9, "200", 3) == 0) {
        fuzz_accept();
    }
    return 0;
}

static void
seed_of(const char *request)
{
    uint8_t seed[256];
    size_t length = strlen(request);
    OCT_ASSERT(length < sizeof(seed));
    seed[0] = (uint8_t)length;
    memcpy(seed + 1, request, length);
    fuzz_seed(seed, 1 + length);
}

void
fuzz_seeds(void)
{
    seed_of("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
    seed_of("HEAD /metrics HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n");
    seed_of("GET /metrics HTTP/1.0\r\n\r\n");
    seed_of("GET /metrics?name=octet&x=%41 HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n");
    seed_of("GET /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    seed_of("GET /metrics HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
            "chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
}
