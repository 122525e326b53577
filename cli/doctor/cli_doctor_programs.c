// Checks programs for octet doctor: the daemons, MuJoCo, ffmpeg, Python.

#include "cli/doctor/cli_doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli_presets.h"
#include "cli/cli_text.h"
#include "common/oct_clock.h"
#include "common/oct_python.h"
#include "common/oct_reason.h"
#include "envs/env.h"
#include "envs/gym/env_gym.h"

extern char **environ;

#define OUTPUT_BYTES 4096 // of a program's answer that are kept

// ---- programs that are asked

// Returns the whole milliseconds until the deadline, or 0 after it.
static int
left_ms(uint64_t deadline_ns)
{
    uint64_t now_ns = oct_clock_ns();
    return now_ns < deadline_ns ? (int)((deadline_ns - now_ns) / 1000000) + 1 : 0;
}

// Reads all output and keeps its first size - 1 bytes. Returns false if the deadline came first.
static bool
output_read(int fd, uint64_t deadline_ns, char *out, size_t size)
{
    size_t used = 0;
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        char chunk[512];
        if (poll(&ready, 1, left_ms(deadline_ns)) <= 0) {
            return false;
        }
        ssize_t length = read(fd, chunk, sizeof(chunk));
        if (length <= 0) {
            out[used] = '\0';
            return true;
        }
        size_t taken = OCT_MIN((size_t)length, size - 1 - used);
        memcpy(out + used, chunk, taken);
        used += taken;
    }
}

typedef enum answer { ANSWERED, MISSING, FAILED, SILENT } answer; // SILENT: not within the deadline

// Waits for the child; kills it first unless it has written all its output (is_whole).
static answer
child_end(pid_t child, bool is_whole)
{
    int status = 0;
    if (!is_whole) {
        (void)kill(child, SIGKILL);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!is_whole) {
        return SILENT;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0     ? ANSWERED
           : WIFEXITED(status) && WEXITSTATUS(status) == 127 ? MISSING
                                                             : FAILED;
}

// Runs code in Python, or a program (code NULL), and reads its standard output. Its input is empty,
// and its messages are dropped.
static answer
ask(const char *code, const char *const *argv, char *out, size_t size)
{
    int output[2];
    pid_t child;
    posix_spawn_file_actions_t actions;
    uint64_t deadline_ns = oct_clock_ns() + CLI_DOCTOR_PYTHON_MS * 1000000ull;
    if (pipe2(output, O_CLOEXEC) != 0) {
        return FAILED;
    }
    OCT_ASSERT(posix_spawn_file_actions_init(&actions) == 0);
    OCT_ASSERT(posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) == 0 &&
               posix_spawn_file_actions_adddup2(&actions, output[1], 1) == 0 &&
               posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0) == 0);
    (void)fflush(stdout);
    const oct_python_start start = {.code = code, .arguments = argv, .actions = &actions};
    int failed = code != NULL ? oct_python_spawn(&child, &start)
                              : posix_spawnp(&child, argv[0], &actions, NULL,
                                             (char *const *)(uintptr_t)argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(output[1]);
    out[0] = '\0';
    answer how = MISSING;
    if (failed == 0) {
        how = child_end(child, output_read(output[0], deadline_ns, out, size));
    }
    (void)close(output[0]);
    return how;
}

// ---- Python

// Prints the versions of Python, NumPy and Gymnasium, and the program, a line each; "-" if one is
// missing. It does not import the packages, which takes seconds.
static const char versions[] = "import sys\n"
                               "from importlib import metadata\n"
                               "print(sys.version.split()[0], sys.executable, sep='\\n')\n"
                               "for name in ('numpy', 'gymnasium'):\n"
                               "    try:\n"
                               "        print(metadata.version(name))\n"
                               "    except metadata.PackageNotFoundError:\n"
                               "        print('-')\n";

// The answer of `versions`; control characters are replaced, because a program of that name may
// print anything.
typedef struct python {
    char version[CLI_TEXT_PLAIN_MAX], program[CLI_TEXT_PLAIN_MAX], numpy[CLI_TEXT_PLAIN_MAX],
        gymnasium[CLI_TEXT_PLAIN_MAX];
} python;

// Takes the next line of text, cut to size; text then points to the line after it.
static void
line_take(char out[CLI_TEXT_PLAIN_MAX], const char **text)
{
    size_t length = strcspn(*text, "\n");
    (void)snprintf(out, CLI_TEXT_PLAIN_MAX, "%s", cli_text_plain(*text, length).text);
    *text += length + ((*text)[length] == '\n');
}

// Checks what the Python that answered has. missing: the level of a finding without Gymnasium or
// NumPy.
static void
python_found(cli_doctor *doctor, const char *output, cli_doctor_level missing)
{
    python p;
    line_take(p.version, &output);
    line_take(p.program, &output);
    line_take(p.numpy, &output);
    line_take(p.gymnasium, &output);
    bool has_gymnasium = strcmp(p.gymnasium, "-") != 0, has_numpy = strcmp(p.numpy, "-") != 0;
    bool is_whole = has_gymnasium && has_numpy;
    cli_doctor_add(doctor, "python", is_whole ? CLI_DOCTOR_OK : missing,
                   is_whole ? ""
                            : "gym: environments need both: pip install gymnasium, or set "
                              "OCTET_PYTHON to a Python that has it",
                   "%s is Python %s, NumPy %s, Gymnasium %s", p.program, p.version,
                   has_numpy ? p.numpy : "is missing", has_gymnasium ? p.gymnasium : "is missing");
}

// This Python runs gym: environments, octet track, and the samplers of octet sweep.
static void
python_check(cli_doctor *doctor)
{
    char output[OUTPUT_BYTES];
    char *program = oct_python_program();
    bool is_needed = doctor->config != NULL && env_gym_has(doctor->config->env.id);
    cli_doctor_level missing = is_needed ? CLI_DOCTOR_FAIL : CLI_DOCTOR_NOTE;
    static const char *const none[] = {NULL};
    switch (ask(versions, none, output, sizeof(output))) {
    case ANSWERED:
        python_found(doctor, output, missing);
        break;
    case MISSING:
        cli_doctor_add(doctor, "python", missing,
                       "gym: environments need it; OCTET_PYTHON names the program",
                       "'%s' was not found", program);
        break;
    case SILENT:
        cli_doctor_add(doctor, "python", OCT_MAX(missing, CLI_DOCTOR_WARN),
                       "set OCTET_PYTHON to another Python", "'%s' did not answer within %u s",
                       program, CLI_DOCTOR_PYTHON_MS / 1000);
        break;
    default:
        cli_doctor_add(doctor, "python", OCT_MAX(missing, CLI_DOCTOR_WARN),
                       "set OCTET_PYTHON to another Python", "'%s' failed", program);
        break;
    }
    free(program);
}

// ---- the others

static void
daemons_check(cli_doctor *doctor)
{
    static const char *const names[] = {"octet-relay", "octet-replay", "octet-actor",
                                        "octet-learner"};
    char path[CLI_PATH_MAX];
    oct_reason why;
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        if (cli_folder_find_daemon(path, names[i], &why) != OCT_OK) {
            // A run on one machine needs no relay.
            bool is_relay = i == 0;
            cli_doctor_add(doctor, "daemons", is_relay ? CLI_DOCTOR_NOTE : CLI_DOCTOR_FAIL, "",
                           "%s", why.text);
            if (!is_relay) {
                return;
            }
        }
    }
    cli_doctor_add(doctor, "daemons", CLI_DOCTOR_OK, "", "found, such as %s", path);
}

static void
presets_check(cli_doctor *doctor)
{
    char path[CLI_PATH_MAX];
    bool is_there = cli_preset_find("cartpole", path) == OCT_OK;
    if (is_there) {
        cli_doctor_add(doctor, "presets", CLI_DOCTOR_OK, "", "found, such as %s", path);
    } else {
        cli_doctor_add(doctor, "presets", CLI_DOCTOR_WARN,
                       "install them, or name experiments by their files", "they are missing");
    }
}

static void
mujoco_check(cli_doctor *doctor)
{
    const char *tasks[ENV_MODULE_TASKS_MAX + 1];
    oct_reason why;
    bool is_needed =
        doctor->config != NULL && strncmp(doctor->config->env.id, "dmc:", strlen("dmc:")) == 0;
    size_t count = 0;
    if (env_module_ids(tasks, &why) != OCT_OK) {
        cli_doctor_add(doctor, "mujoco", is_needed ? CLI_DOCTOR_FAIL : CLI_DOCTOR_NOTE,
                       "only dmc: environments need it", "%s", why.text);
        return;
    }
    while (tasks[count] != NULL) {
        count++;
    }
    cli_doctor_add(doctor, "mujoco", CLI_DOCTOR_OK, "", "%zu dmc: environments", count);
}

static void
ffmpeg_check(cli_doctor *doctor)
{
    char output[OUTPUT_BYTES], first[CLI_TEXT_PLAIN_MAX];
    const char *const argv[] = {"ffmpeg", "-hide_banner", "-version", NULL};
    const char *text = output;
    bool is_there = ask(NULL, argv, output, sizeof(output)) == ANSWERED;
    line_take(first, &text);
    cli_doctor_add(doctor, "ffmpeg", is_there ? CLI_DOCTOR_OK : CLI_DOCTOR_NOTE,
                   is_there ? "" : "only octet eval --video needs it", "%s",
                   is_there ? first : "it is missing");
}

void
cli_doctor_programs(cli_doctor *doctor)
{
    daemons_check(doctor);
    presets_check(doctor);
    mujoco_check(doctor);
    python_check(doctor);
    ffmpeg_check(doctor);
    cli_doctor_add(doctor, "gpu", CLI_DOCTOR_NOTE, "", "Octet uses none");
}
