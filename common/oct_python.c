// Starts Python so that it does not import a module merely because it lies in the current folder.
#include "common/oct_python.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_owner.h"
#include "common/oct_reason.h"

// The Python code that runs before the program's own is read from its descriptor. Python before
// 3.11 does not know PYTHONSAFEPATH, so the empty entry is also removed by hand. APART hides the
// variable from programs that the code starts; it is used where the user has not set the variable.
#define ALONE "import sys; sys.path[:] = [p for p in sys.path if p]; "
#define APART ALONE "import os; os.environ.pop('PYTHONSAFEPATH', None); "
// posix_spawn can change the folder only since glibc 2.29
#define LEAVES  "import os; os.chdir('/'); "
#define RUN(fd) "exec(open(" #fd ", encoding='utf-8').read())"
#define RUNS(n) RUN(n)
#define SAFE    "PYTHONSAFEPATH"
#define PATHS   "PYTHONPATH"

extern char **environ;

// OCT_OK: the current folder belongs to the user alone.
static oct_err
here_check(char here[PATH_MAX], oct_reason *why)
{
    if (getcwd(here, PATH_MAX) == NULL) {
        return oct_refuse(why, "the current folder: %s", strerror(errno));
    }
    if (oct_owner_is_unpacked(here)) {
        return oct_refuse(why, "'%s' came out of a pack", here);
    }
    return oct_owner_check_way(here, strlen(here), why);
}

oct_err
oct_python_check_here(char here[PATH_MAX], oct_reason *why)
{
    OCT_TRY(here_check(here, why));
    return access(OCT_OWNER_LOCK, F_OK) != 0
               ? OCT_OK
               : oct_refuse(why, "'%s' is the folder of a run or a sweep", here);
}

static bool
is_set(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0';
}

char *
oct_python_modules(bool has_folder)
{
    char here[PATH_MAX];
    bool is_here = oct_python_check_here(here, NULL) == OCT_OK;
    const char *paths = is_set(PATHS) ? getenv(PATHS) : NULL;
    // Each part may get the current folder in front, a slash and a colon.
    size_t parts = 2, room = is_here ? strlen(here) : 0, used = 0;
    for (const char *at = paths; at != NULL && *at != '\0'; at++) {
        parts += *at == ':';
    }
    size_t bytes = (paths != NULL ? strlen(paths) : 0) + parts * (room + 2) + 1;
    char *out = oct_alloc(bytes);
    if (has_folder && is_here) {
        used = (size_t)snprintf(out, bytes, "%s", here);
    }
    for (const char *part = paths; part != NULL;) {
        size_t length = strcspn(part, ":");
        bool is_whole = part[0] == '/';
        if (is_whole || is_here) { // an empty part means the current folder
            used += (size_t)snprintf(out + used, bytes - used, "%s%s%s%.*s", used > 0 ? ":" : "",
                                     is_whole ? "" : here, is_whole || length == 0 ? "" : "/",
                                     (int)length, part);
        }
        part = part[length] == ':' ? part + length + 1 : NULL;
    }
    OCT_ASSERT(used < bytes);
    return out;
}

char *
oct_python_program(void)
{
    char here[PATH_MAX];
    const char *name = is_set("OCTET_PYTHON") ? getenv("OCTET_PYTHON") : "python3";
    bool is_relative = name[0] != '/' && strchr(name, '/') != NULL;
    if (!is_relative || getcwd(here, sizeof(here)) == NULL) {
        here[0] = '\0';
    }
    size_t bytes = strlen(here) + strlen(name) + 2;
    char *out = oct_alloc(bytes);
    (void)snprintf(out, bytes, "%s%s%s", here, here[0] != '\0' ? "/" : "", name);
    return out;
}

// ---- the environment and the command line of a process

static bool
is_variable(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

// Copies the list of this process's variables, with modules as PYTHONPATH (empty: unset) and, if
// is_safe, PYTHONSAFEPATH=1. The strings are shared, not copied.
static char **
environment_create(char *modules, bool is_safe)
{
    size_t count = 0, used = 0;
    while (environ != NULL && environ[count] != NULL) {
        count++;
    }
    char **list = oct_alloc((count + 3) * sizeof(*list));
    for (size_t i = 0; i < count; i++) {
        if (!is_variable(environ[i], PATHS) && !(is_safe && is_variable(environ[i], SAFE))) {
            list[used++] = environ[i];
        }
    }
    if (is_safe) {
        static char safe[] = SAFE "=1";
        list[used++] = safe;
    }
    if (modules[strlen(PATHS "=")] != '\0') {
        list[used++] = modules;
    }
    return list;
}

// Returns a descriptor of a file in memory that holds code, or -1 with errno. It is above
// OCT_PYTHON_CODE, so that dup2 in the child makes a copy without close-on-exec.
static int
code_open(const char *code)
{
    int made = memfd_create("octet-python", MFD_CLOEXEC);
    int file = made < 0 ? -1 : fcntl(made, F_DUPFD_CLOEXEC, OCT_PYTHON_CODE + 1);
    if (file >= 0 &&
        (oct_file_write_all(file, code, strlen(code)) != OCT_OK || lseek(file, 0, SEEK_SET) != 0)) {
        (void)close(file);
        file = -1;
    }
    if (made >= 0) {
        (void)close(made);
    }
    return file;
}

// Returns the text after -c, which ps shows: it makes the search path safe, leaves a current folder
// that is not the user's own, and runs the code.
static const char *
first_of(void)
{
    char here[PATH_MAX];
    bool leaves = here_check(here, NULL) != OCT_OK;
    if (is_set(SAFE)) {
        return leaves ? ALONE LEAVES RUNS(OCT_PYTHON_CODE) : ALONE RUNS(OCT_PYTHON_CODE);
    }
    return leaves ? APART LEAVES RUNS(OCT_PYTHON_CODE) : APART RUNS(OCT_PYTHON_CODE);
}

static char *
variable_create(const char *name, char *value)
{
    size_t bytes = strlen(name) + strlen(value) + 2;
    char *out = oct_alloc(bytes);
    (void)snprintf(out, bytes, "%s=%s", name, value);
    free(value);
    return out;
}

int
oct_python_spawn(pid_t *out, const oct_python_start *start)
{
    int file = start->code != NULL ? code_open(start->code) : -1;
    if (start->code != NULL && file < 0) {
        return errno;
    }
    // Like every allocation here, this fails only without memory.
    OCT_ASSERT(file < 0 ||
               posix_spawn_file_actions_adddup2(start->actions, file, OCT_PYTHON_CODE) == 0);
    char *python = oct_python_program();
    char *modules = variable_create(PATHS, oct_python_modules(start->has_user_code));
    size_t count = 0, used = 0;
    while (start->arguments[count] != NULL) {
        count++;
    }
    char **argv = oct_alloc((count + 4) * sizeof(*argv));
    argv[used++] = python;
    if (start->code != NULL) {
        static char option[] = "-c";
        argv[used++] = option;
        argv[used++] = (char *)(uintptr_t)first_of();
    }
    for (size_t i = 0; i < count; i++) {
        argv[used++] = (char *)(uintptr_t)start->arguments[i];
    }
    char **environment = environment_create(modules, start->code != NULL);
    int failed = posix_spawnp(out, python, start->actions, start->attributes, argv, environment);
    free(environment);
    free(argv);
    free(modules);
    free(python);
    if (file >= 0) {
        (void)close(file);
    }
    return failed;
}
