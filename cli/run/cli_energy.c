// Measures the energy of a run: the joules of the machine, by the counters of the processor
// packages or by a meter's command, and the run's share of them.
#include "cli/run/cli_energy.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"

#define PACKAGES_MAX 64
#define PERIOD_S     1.0 // between two readings of the counters
#define PATH_BYTES   512
#define LINE_BYTES   64 // of a counter's file, and of a line of the command
#define POWERCAP     "/sys/class/powercap"
#define ZONE         "intel-rapl:" // of AMD's processors, too

typedef struct package {
    char path[PATH_BYTES]; // file of its counter
    uint64_t last, range;  // microjoules; the counter wraps to 0 after range
} package;

struct cli_energy {
    package package[PACKAGES_MAX];
    uint32_t packages;
    pid_t command; // process that is also the leader of its group; 0: none
    int pipe;      // read end of its output, non-blocking; -1: no command
    char line[LINE_BYTES];
    size_t line_used;                   // bytes of the line so far
    bool line_is_long;                  // the line does not fit and is no number
    uint32_t lines;                     // numbers printed so far
    double printed;                     // the last number, joules
    double metered;                     // the number at the last reading that counts
    char reason[CLI_ENERGY_REASON_MAX]; // why nothing is measured; "": no error so far
    bool has_first;                     // first_s is set
    double first_s, last_s, due_s;      // wall time: first and last reading, earliest next one
    double run_cpu_s, machine_cpu_s;    // at the last reading
    // sums over all intervals: of the run and of the machine; CPU seconds of the machine and the
    // run
    double joules, machine_joules, busy_s, own_s;
};

// ---- the kernel's counters

// Reads one of the kernel's small files. False: errno says why.
static bool
text_read(const char *path, char text[LINE_BYTES])
{
    int fd = oct_file_open(path, O_RDONLY, 0, NULL);
    if (fd < 0) {
        return false;
    }
    ssize_t length = read(fd, text, LINE_BYTES - 1);
    int code = errno;
    (void)close(fd);
    errno = length == 0 ? EINVAL : code;
    text[OCT_MAX(length, 0)] = '\0';
    return length > 0;
}

static bool
number_read(const char *path, uint64_t *out)
{
    char text[LINE_BYTES], *end;
    if (!text_read(path, text)) {
        return false;
    }
    errno = 0;
    *out = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || (*end != '\n' && *end != '\0')) {
        errno = EINVAL;
    }
    return errno == 0;
}

// Returns true for a zone that is a processor package: "intel-rapl:0". "intel-rapl:0:1" is a part
// of a package, and "psys" includes all.
static bool
is_package(const char *root, const char *name)
{
    char path[PATH_BYTES], text[LINE_BYTES];
    size_t prefix = strlen(ZONE);
    if (strncmp(name, ZONE, prefix) != 0 || name[prefix] == '\0' ||
        strspn(name + prefix, "0123456789") != strlen(name + prefix)) {
        return false;
    }
    (void)snprintf(path, sizeof(path), "%s/%s/name", root, name);
    return text_read(path, text) && strncmp(text, "package-", strlen("package-")) == 0;
}

// Adds a package. A counter that cannot be read makes the whole measurement fail, because the sum
// would be wrong.
static void
package_add(cli_energy *energy, const char *root, const char *name)
{
    package *p = &energy->package[energy->packages];
    char range[PATH_BYTES];
    (void)snprintf(range, sizeof(range), "%s/%s/max_energy_range_uj", root, name);
    (void)snprintf(p->path, sizeof(p->path), "%s/%s/energy_uj", root, name);
    if (!number_read(range, &p->range) || !number_read(p->path, &p->last)) {
        (void)snprintf(energy->reason, sizeof(energy->reason), "%s: %s%s", p->path, strerror(errno),
                       errno == EACCES ? " (the kernel shows it only to root)" : "");
        return;
    }
    energy->packages++;
}

static void
packages_find(cli_energy *energy, const char *root)
{
    DIR *folder = oct_file_open_entries(root);
    const struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (energy->packages < PACKAGES_MAX && energy->reason[0] == '\0' &&
            is_package(root, entry->d_name)) {
            package_add(energy, root, entry->d_name);
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    if (energy->packages == 0 && energy->reason[0] == '\0') {
        (void)snprintf(energy->reason, sizeof(energy->reason),
                       "%s has no counter for a processor package", root);
    }
}

// Returns the joules that all packages used since the last reading.
static double
packages_read(cli_energy *energy)
{
    double joules = 0;
    for (uint32_t i = 0; i < energy->packages; i++) {
        package *p = &energy->package[i];
        uint64_t now;
        if (!number_read(p->path, &now)) {
            (void)snprintf(energy->reason, sizeof(energy->reason), "%s: %s", p->path,
                           strerror(errno));
            return 0;
        }
        uint64_t grown =
            now >= p->last ? now - p->last : now + (p->range - OCT_MIN(p->last, p->range));
        joules += 1e-6 * (double)grown;
        p->last = now;
    }
    return joules;
}

// ---- a meter's command

// Starts the meter's command.
static void
command_begin(cli_energy *energy, const char *command)
{
    const char *const argv[] = {"sh", "-c", command, NULL};
    int ends[2];
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        (void)snprintf(energy->reason, sizeof(energy->reason), "cannot make a pipe: %s",
                       strerror(errno));
        return;
    }
    (void)sigemptyset(&none);
    (void)sigemptyset(&usual);
    (void)sigaddset(&usual, SIGPIPE);
    (void)sigaddset(&usual, SIGXFSZ);
    OCT_ASSERT(posix_spawn_file_actions_init(&files) == 0 &&
               posix_spawnattr_init(&attributes) == 0);
    OCT_ASSERT(posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO) == 0);
    OCT_ASSERT(posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0) ==
               0);
    // A group of its own: Ctrl-C does not end the command before the last reading, and the whole
    // group can be killed.
    OCT_ASSERT(posix_spawnattr_setpgroup(&attributes, 0) == 0);
    OCT_ASSERT(posix_spawnattr_setsigmask(&attributes, &none) == 0);
    // This process ignores both signals. The command must end when its output is no longer read, or
    // by a limit on file sizes.
    OCT_ASSERT(posix_spawnattr_setsigdefault(&attributes, &usual) == 0);
    OCT_ASSERT(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP |
                                                         POSIX_SPAWN_SETSIGMASK |
                                                         POSIX_SPAWN_SETSIGDEF) == 0);
    int code =
        posix_spawn(&energy->command, "/bin/sh", &files, &attributes, (char *const *)argv, environ);
    (void)posix_spawn_file_actions_destroy(&files);
    (void)posix_spawnattr_destroy(&attributes);
    (void)close(ends[1]);
    energy->pipe = ends[0];
    (void)fcntl(energy->pipe, F_SETFL, O_NONBLOCK);
    if (code != 0) {
        energy->command = 0;
        (void)snprintf(energy->reason, sizeof(energy->reason), "/bin/sh: %s", strerror(code));
    }
}

// Takes a complete line of the command: joules that never decrease.
static void
line_take(cli_energy *energy)
{
    char *end;
    energy->line[energy->line_used] = '\0';
    double joules = strtod(energy->line, &end);
    bool is_number =
        end != energy->line && *end == '\0' && isfinite(joules) && !energy->line_is_long;
    if (!is_number || (energy->lines > 0 && joules < energy->printed)) {
        (void)snprintf(energy->reason, sizeof(energy->reason),
                       "the command printed '%.40s', which is %s", energy->line,
                       is_number ? "less than before" : "not a number");
        return;
    }
    energy->printed = joules;
    energy->lines++;
}

// Reads what the command has printed, without waiting.
static void
command_read(cli_energy *energy)
{
    char bytes[4096];
    ssize_t length;
    while (energy->reason[0] == '\0' && (length = read(energy->pipe, bytes, sizeof(bytes))) > 0) {
        for (ssize_t i = 0; i < length && energy->reason[0] == '\0'; i++) {
            if (bytes[i] == '\n') {
                line_take(energy);
                energy->line_used = 0;
                energy->line_is_long = false;
            } else if (energy->line_used + 1 < sizeof(energy->line)) {
                energy->line[energy->line_used++] = bytes[i];
            } else {
                energy->line_is_long = true;
            }
        }
    }
}

static void
command_end(cli_energy *energy)
{
    if (energy->command != 0) {
        (void)kill(-energy->command, SIGKILL); // the whole group
        while (waitpid(energy->command, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    if (energy->pipe >= 0) {
        (void)close(energy->pipe);
    }
}

// ---- attribution

cli_energy *
cli_energy_begin(const cli_energy_request *request)
{
    cli_energy *energy = oct_alloc(sizeof(*energy));
    energy->pipe = -1;
    if (request->command != NULL) {
        command_begin(energy, request->command);
        return energy;
    }
    const char *root = request->powercap != NULL ? request->powercap : getenv("OCTET_POWERCAP");
    packages_find(energy, root != NULL && root[0] != '\0' ? root : POWERCAP);
    return energy;
}

// Takes a reading. Returns true if there is one. *joules: used since the last one.
static bool
read_now(cli_energy *energy, double *joules)
{
    if (energy->pipe < 0) {
        *joules = packages_read(energy);
        return energy->reason[0] == '\0';
    }
    uint32_t before = energy->lines;
    command_read(energy);
    if (energy->reason[0] != '\0' || energy->lines == before) {
        return false; // what was used meanwhile belongs to the interval of the next line
    }
    *joules = before == 0 ? 0 : energy->printed - energy->metered;
    energy->metered = energy->printed;
    return true;
}

// Attributes the joules of an interval to the run, by its share of the busy CPU time.
static void
account(cli_energy *energy, double wall_s, double run_cpu_s, double machine_cpu_s)
{
    double joules;
    if (energy->reason[0] != '\0' || !read_now(energy, &joules)) {
        return;
    }
    if (energy->has_first) {
        double own = OCT_MAX(run_cpu_s - energy->run_cpu_s, 0);
        // The machine's time is counted in hundredths of a second, a process's more finely.
        double busy = OCT_MAX(machine_cpu_s - energy->machine_cpu_s, own);
        energy->joules += busy > 0 ? joules * own / busy : 0;
        energy->machine_joules += joules;
        energy->own_s += own;
        energy->busy_s += busy;
    } else {
        energy->first_s = wall_s;
        energy->has_first = true;
    }
    energy->last_s = wall_s;
    energy->run_cpu_s = run_cpu_s;
    energy->machine_cpu_s = machine_cpu_s;
}

bool
cli_energy_is_due(const cli_energy *energy, double wall_s)
{
    // The command decides when it prints a line.
    return energy->reason[0] == '\0' && (energy->pipe >= 0 || wall_s >= energy->due_s);
}

void
cli_energy_sample(cli_energy *energy, double wall_s, double run_cpu_s, double machine_cpu_s)
{
    if (cli_energy_is_due(energy, wall_s) && !isnan(machine_cpu_s)) {
        energy->due_s = wall_s + PERIOD_S;
        account(energy, wall_s, run_cpu_s, machine_cpu_s);
    }
}

void
cli_energy_end(cli_energy *energy, double wall_s, double run_cpu_s, double machine_cpu_s,
               cli_energy_report *out)
{
    if (!isnan(machine_cpu_s)) {
        account(energy, wall_s, run_cpu_s, machine_cpu_s);
    }
    bool is_command = energy->pipe >= 0;
    if (energy->reason[0] == '\0' && !(energy->has_first && energy->last_s > energy->first_s)) {
        (void)snprintf(energy->reason, sizeof(energy->reason), "%s",
                       is_command           ? "the command printed fewer than two numbers in time"
                       : !energy->has_first ? "/proc/stat could not be read"
                                            : "the run was too short");
    }
    bool is_measured = energy->reason[0] == '\0';
    *out = (cli_energy_report){
        .source = !is_measured ? NULL
                  : is_command ? "command"
                               : "powercap",
        .joules = is_measured ? energy->joules : NAN,
        .machine_joules = is_measured ? energy->machine_joules : NAN,
        .cpu_share = is_measured && energy->busy_s > 0 ? energy->own_s / energy->busy_s : NAN,
        .measured_s = is_measured ? energy->last_s - energy->first_s : NAN,
    };
    memcpy(out->reason, energy->reason, sizeof(out->reason));
    command_end(energy);
    free(energy);
}

double
cli_energy_machine_cpu_s(void)
{
    // user, nice, system, idle, iowait, irq, softirq, steal. The first two include the time of
    // guests.
    uint64_t t[8] = {0};
    FILE *file = oct_file_stream("/proc/stat", "r");
    if (file == NULL) {
        return NAN;
    }
    int count = fscanf(file,
                       "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                       " %" SCNu64 " %" SCNu64,
                       &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]);
    (void)fclose(file);
    long ticks = sysconf(_SC_CLK_TCK);
    return count < 7 || ticks <= 0 ? NAN
                                   : (double)(t[0] + t[1] + t[2] + t[5] + t[6]) / (double)ticks;
}

oct_err
cli_energy_model_parse(cli_energy_model *out, const char *text, oct_reason *why)
{
    static const char *const names[] = {"watts=", "gco2_per_kwh="};
    cli_energy_model model = {0};
    double *values[] = {&model.watts, &model.gco2_per_kwh};
    const char *at = text;
    for (size_t i = 0; i < OCT_COUNTOF(names) && at != NULL; i++) {
        char *end;
        size_t length = strlen(names[i]);
        if (strncmp(at, names[i], length) != 0) {
            break;
        }
        *values[i] = strtod(at + length, &end);
        bool is_last = *end == '\0';
        if (end == at + length || !(*values[i] > 0) || !(*values[i] <= 1e6) ||
            (*end != ',' && !is_last)) {
            break;
        }
        at = is_last ? NULL : end + 1;
    }
    if (at != NULL) {
        return oct_refuse(
            why,
            "'%s'; allowed is watts=W or watts=W,gco2_per_kwh=G: watts of a busy core, "
            "and grams of CO2 a kWh, both above 0",
            text);
    }
    *out = model;
    return OCT_OK;
}
