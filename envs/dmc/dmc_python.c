// Finds the folder of the installed dm_control by asking Python in a child process.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_python.h"
#include "common/oct_reason.h"
#include "envs/dmc/dmc_model.h"

#define ANSWER_MS 20000 // time for Python to answer

static const char question[] =
    "import importlib.util as u, os\n"
    "s = u.find_spec('dm_control')\n"
    "print(os.path.join(list(s.submodule_search_locations)[0], 'suite') if s else '')\n";

static bool
python_start(pid_t *child, int answer[2])
{
    static const char *const none[] = {NULL};
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return false;
    }
    bool prepared =
        posix_spawn_file_actions_adddup2(&actions, answer[1], STDOUT_FILENO) == 0 &&
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0 &&
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0;
    const oct_python_start start = {.code = question, .arguments = none, .actions = &actions};
    bool started = prepared && oct_python_spawn(child, &start) == 0;
    (void)posix_spawn_file_actions_destroy(&actions);
    return started;
}

// Reads what the child writes until it closes its end, at most room bytes.
static size_t
answer_read(int fd, char *out, size_t room)
{
    size_t used = 0;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    while (used < room && poll(&ready, 1, ANSWER_MS) == 1) {
        ssize_t got = read(fd, out + used, room - used);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            break;
        }
        used += got > 0 ? (size_t)got : 0;
    }
    return used;
}

bool
dmc_python_folder(char *out, size_t out_size, oct_reason *why)
{
    int answer[2];
    pid_t child;
    size_t used = 0;
    if (pipe2(answer, O_CLOEXEC) != 0) {
        oct_reason_set(why, "mjcf_dir=auto: %s", strerror(errno));
        return false;
    }
    bool started = python_start(&child, answer);
    (void)close(answer[1]);
    if (started) {
        used = answer_read(answer[0], out, out_size - 1);
        (void)kill(child, SIGKILL); // it has answered, written too much, or not answered in time
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    (void)close(answer[0]);
    out[used] = '\0';
    char *end = strchr(out, '\n');
    if (!started || end == NULL || end == out) {
        oct_reason_set(
            why,
            "mjcf_dir=auto: %s; name the folder of its suite/*.xml, or leave mjcf_dir out for "
            "Octet's own models",
            started ? "Python finds no dm_control" : "Python cannot be started");
        return false;
    }
    *end = '\0';
    return true;
}
