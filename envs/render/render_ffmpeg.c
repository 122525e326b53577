// Runs ffmpeg as a child process that reads raw frames from a socket and encodes them into one
// file.
#include "envs/render/render_ffmpeg.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"

#define MESSAGES_BYTES 4096 // the end of ffmpeg's messages that is searched for its last line
#define PATH_BYTES     8192
#define WORDS_MAX      32
#define WAIT_MS        200 // between checks of stop

extern char **environ;

struct render_ffmpeg {
    pid_t pid;                // 0: it has ended and its status was read
    int frames;               // a socket to ffmpeg, because send can suppress SIGPIPE; -1: closed
    int messages;             // file in memory for its stdout and stderr
    const _Atomic(int) *stop; // NULL, or not 0 to stop
};

static bool
is_stopped(const render_ffmpeg *ffmpeg)
{
    return ffmpeg->stop != NULL && atomic_load_explicit(ffmpeg->stop, memory_order_relaxed) != 0;
}

static void
frames_close(render_ffmpeg *ffmpeg)
{
    if (ffmpeg->frames >= 0) {
        (void)close(ffmpeg->frames);
        ffmpeg->frames = -1;
    }
}

static void
ffmpeg_free(render_ffmpeg *ffmpeg)
{
    frames_close(ffmpeg);
    (void)close(ffmpeg->messages);
    free(ffmpeg);
}

void
render_ffmpeg_kill(render_ffmpeg *ffmpeg)
{
    if (ffmpeg->pid > 0) {
        (void)kill(-ffmpeg->pid, SIGKILL); // its group, as ffmpeg may be a script
        while (waitpid(ffmpeg->pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    ffmpeg_free(ffmpeg);
}

// ---- starting

static oct_err
child_spawn(render_ffmpeg *ffmpeg, char *const *words, int input)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t usual;
    (void)sigemptyset(&usual);
    (void)sigaddset(&usual, SIGPIPE);
    (void)sigaddset(&usual, SIGXFSZ);
    if (posix_spawn_file_actions_init(&files) != 0 || posix_spawnattr_init(&how) != 0) {
        errno = ENOMEM;
        return OCT_EIO;
    }
    (void)posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    (void)posix_spawn_file_actions_adddup2(&files, ffmpeg->messages, STDOUT_FILENO);
    (void)posix_spawn_file_actions_adddup2(&files, ffmpeg->messages, STDERR_FILENO);
    (void)posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    (void)posix_spawnattr_setsigdefault(&how, &usual);
    errno = posix_spawnp(&ffmpeg->pid, words[0], &files, &how, words, environ);
    int fault = errno;
    (void)posix_spawn_file_actions_destroy(&files);
    (void)posix_spawnattr_destroy(&how);
    errno = fault;
    return fault == 0 ? OCT_OK : fault == ENOENT ? OCT_ENOTFOUND : OCT_EIO;
}

// Starts ffmpeg with its arguments. mp4 needs even sides for yuv420p, which every player supports.
static oct_err
child_start(render_ffmpeg *ffmpeg, const render_ffmpeg_request *request, int input)
{
    char size[32], rate[32], path[PATH_BYTES];
    snprintf(size, sizeof(size), "%ux%u", request->width, request->height);
    snprintf(rate, sizeof(rate), "%.6g", request->frames_per_second);
    // No name can be taken for a protocol or an option.
    snprintf(path, sizeof(path), "file:%s", request->path);
    bool is_gif = strcmp(request->format, "gif") == 0;
    const char *words[WORDS_MAX] = {
        "ffmpeg", "-hide_banner", "-loglevel", "error",      "-y", "-f", "rawvideo", "-pix_fmt",
        "rgb24",  "-video_size",  size,        "-framerate", rate, "-i", "pipe:0",   "-an"};
    size_t count = 16;
    if (is_gif) {
        words[count++] = "-filter_complex";
        words[count++] = "split[a][b];[a]palettegen[p];[b][p]paletteuse";
    } else {
        words[count++] = "-vf";
        words[count++] = "pad=ceil(iw/2)*2:ceil(ih/2)*2";
        words[count++] = "-pix_fmt";
        words[count++] = "yuv420p";
        words[count++] = "-movflags";
        words[count++] = "+faststart";
    }
    words[count++] = "-f";
    words[count++] = request->format;
    words[count++] = path;
    OCT_ASSERT(count < WORDS_MAX);
    return child_spawn(ffmpeg, (char *const *)(uintptr_t)words, input);
}

oct_err
render_ffmpeg_start(render_ffmpeg **out, const render_ffmpeg_request *request, oct_reason *why)
{
    OCT_ASSERT(strlen(request->path) + sizeof("file:") <= PATH_BYTES);
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return oct_fail(why, OCT_EIO, "cannot start ffmpeg: %s", strerror(errno));
    }
    render_ffmpeg *ffmpeg = oct_alloc(sizeof(*ffmpeg));
    ffmpeg->frames = ends[0];
    ffmpeg->stop = request->stop;
    ffmpeg->messages = memfd_create("ffmpeg", MFD_CLOEXEC);
    oct_err err = ffmpeg->messages >= 0 ? child_start(ffmpeg, request, ends[1]) : OCT_EIO;
    int fault = errno;
    (void)close(ends[1]);
    if (err == OCT_OK) {
        *out = ffmpeg;
        return OCT_OK;
    }
    if (err == OCT_ENOTFOUND) {
        oct_reason_set(
            why, "there is no ffmpeg in PATH: apt-get install ffmpeg, or ask for PNG files with "
                 "--frames");
    } else {
        oct_reason_set(why, "cannot start ffmpeg: %s", strerror(fault));
    }
    ffmpeg_free(ffmpeg);
    return err;
}

// ---- ending

// Copies the last line that ffmpeg wrote.
static void
last_line(const render_ffmpeg *ffmpeg, char *out, size_t size)
{
    char text[MESSAGES_BYTES + 1];
    off_t end = lseek(ffmpeg->messages, 0, SEEK_END);
    off_t from = end > MESSAGES_BYTES ? end - MESSAGES_BYTES : 0;
    ssize_t length = pread(ffmpeg->messages, text, MESSAGES_BYTES, from);
    length = length < 0 ? 0 : length;
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r')) {
        length--;
    }
    text[length] = '\0';
    char *line = strrchr(text, '\n');
    line = line != NULL ? line + 1 : text;
    oct_text_tame(line, strlen(line), ' ');
    snprintf(out, size, "%.*s", (int)size - 1, line[0] != '\0' ? line : "it gave no reason");
}

// Closes the frames and waits until ffmpeg has ended. OCT_ECLOSED: stopped before; OCT_EIO: it
// failed.
static oct_err
child_reap(render_ffmpeg *ffmpeg, oct_reason *why)
{
    int status;
    frames_close(ffmpeg);
    while (is_stopped(ffmpeg) || waitpid(ffmpeg->pid, &status, 0) < 0) {
        if (is_stopped(ffmpeg) || errno != EINTR) {
            return oct_fail(why, OCT_ECLOSED, "stopped");
        }
    }
    ffmpeg->pid = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return OCT_OK;
    }
    char line[256], how[32];
    last_line(ffmpeg, line, sizeof(line));
    snprintf(how, sizeof(how), WIFSIGNALED(status) ? "signal %d" : "exit code %d",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return oct_fail(why, OCT_EIO, "ffmpeg failed (%s): %s", how, line);
}

oct_err
render_ffmpeg_write(render_ffmpeg *ffmpeg, const uint8_t *bytes, size_t count, oct_reason *why)
{
    while (count > 0) {
        if (is_stopped(ffmpeg)) {
            return oct_fail(why, OCT_ECLOSED, "stopped");
        }
        // A signal may come between the check and the wait, so the wait ends now and then.
        struct pollfd room = {.fd = ffmpeg->frames, .events = POLLOUT};
        (void)poll(&room, 1, WAIT_MS);
        ssize_t sent = send(ffmpeg->frames, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) {
            bytes += sent;
            count -= (size_t)sent;
        } else if (errno != EINTR && errno != EAGAIN) {
            oct_err err = child_reap(ffmpeg, why);
            if (err == OCT_OK) {
                oct_reason_set(why, "ffmpeg ended before the last frame");
            }
            return err == OCT_ECLOSED ? err : OCT_EIO;
        }
    }
    return OCT_OK;
}

oct_err
render_ffmpeg_finish(render_ffmpeg *ffmpeg, oct_reason *why)
{
    oct_err err = child_reap(ffmpeg, why);
    if (err == OCT_ECLOSED) {
        render_ffmpeg_kill(ffmpeg);
    } else {
        ffmpeg_free(ffmpeg);
    }
    return err;
}
