#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "common/oct_log.h"
#include "net/net_internal.h"

#define REDIAL_MIN_MS   20
#define REDIAL_MAX_MS   500
#define IPC_PERMISSIONS 0600
#define REST_NS         10000000 // 10 ms

static bool
url_is(const char *url, const char *scheme)
{
    return strncmp(url, scheme, strlen(scheme)) == 0;
}

oct_err
net_socket_limits(nng_socket socket, size_t recv_bytes_max, size_t header_bytes)
{
    // Zero means unlimited to NNG: a peer could then make us allocate what it likes.
    if (recv_bytes_max == 0) {
        return OCT_EINVAL;
    }
    int code = nng_socket_set_size(socket, NNG_OPT_RECVMAXSZ, recv_bytes_max + header_bytes);
    if (code == 0) {
        code = nng_socket_set_ms(socket, NNG_OPT_SENDTIMEO, NNG_DURATION_INFINITE);
    }
    if (code == 0) {
        code = nng_socket_set_ms(socket, NNG_OPT_RECVTIMEO, NNG_DURATION_INFINITE);
    }
    if (code == 0) {
        code = nng_socket_set_ms(socket, NNG_OPT_RECONNMINT, REDIAL_MIN_MS);
    }
    if (code == 0) {
        code = nng_socket_set_ms(socket, NNG_OPT_RECONNMAXT, REDIAL_MAX_MS);
    }
    return net_err_from_nng(code);
}

// NNG removes whatever is at the path if nobody accepts connections there, a plain file too.
static bool
ipc_path_is_taken_by_a_file(const char *url)
{
    struct stat status;
    return url_is(url, "ipc://") && lstat(url + strlen("ipc://"), &status) == 0 &&
           !S_ISSOCK(status.st_mode);
}

static const char *
listen_hint(const char *url, int code)
{
    if (code == NNG_EADDRINUSE) {
        return url_is(url, "ipc://") ? "another process listens on this socket"
                                     : "another process listens on this port";
    }
    return nng_strerror(code);
}

static int
listener_start(nng_socket socket, const char *url)
{
    nng_listener listener;
    int code = nng_listener_create(&listener, socket, url);
    if (code != 0) {
        return code;
    }
    if (url_is(url, "tcp://")) {
        code = nng_listener_set_bool(listener, NNG_OPT_TCP_NODELAY, true);
        if (code == 0) {
            code = nng_listener_set_bool(listener, NNG_OPT_TCP_KEEPALIVE, true);
        }
    } else if (url_is(url, "ipc://")) {
        code = nng_listener_set_int(listener, NNG_OPT_IPC_PERMISSIONS, IPC_PERMISSIONS);
    }
    if (code == 0) {
        code = nng_listener_start(listener, 0);
    }
    if (code != 0) {
        (void)nng_listener_close(listener);
    }
    return code;
}

oct_err
net_listen(nng_socket socket, const char *url)
{
    if (ipc_path_is_taken_by_a_file(url)) {
        oct_log_error("NET-LISTEN", "url=%s error=\"the path exists and is not a socket\"", url);
        return OCT_EIO;
    }
    int code = listener_start(socket, url);
    if (code != 0) {
        oct_log_error("NET-LISTEN", "url=%s error=\"%s\"", url, listen_hint(url, code));
        oct_err err = net_err_from_nng(code);
        return err == OCT_EINVAL ? OCT_EINVAL : OCT_EIO;
    }
    return OCT_OK;
}

oct_err
net_dial(nng_socket socket, const char *url)
{
    nng_dialer dialer;
    int code = nng_dialer_create(&dialer, socket, url);
    if (code == 0 && url_is(url, "tcp://")) {
        code = nng_dialer_set_bool(dialer, NNG_OPT_TCP_NODELAY, true);
        if (code == 0) {
            code = nng_dialer_set_bool(dialer, NNG_OPT_TCP_KEEPALIVE, true);
        }
    }
    if (code == 0) {
        code = nng_dialer_start(dialer, NNG_FLAG_NONBLOCK);
    }
    if (code != 0) {
        oct_log_error("NET-DIAL", "url=%s error=\"%s\"", url, nng_strerror(code));
        oct_err err = net_err_from_nng(code);
        return err == OCT_EINVAL ? OCT_EINVAL : OCT_EIO;
    }
    return OCT_OK;
}

void
net_socket_close(nng_socket socket)
{
    struct timespec rest = {.tv_nsec = REST_NS};
    (void)nanosleep(&rest, NULL);
    (void)nng_close(socket);
}
