// Checks the machine for octet doctor: processor, cores, memory, limits, clock.

#include "cli/doctor/cli_doctor.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli_text.h"
#include "common/oct_cgroup.h"
#include "common/oct_clock.h"
#include "common/oct_cores.h"
#include "common/oct_file.h"
#include "common/oct_memory.h"
#include "common/oct_reason.h"
#include "net/net_limits.h"
#include "nn/nn_gemm.h"
#include "nn/nn_tile.h"
#include "policy/kernels/policy_kernels.h"

#define GIB          (1ull << 30)
#define MEMORY_LEAST (GIB / 2)     // with fewer bytes most presets do not run
#define SHM_LEAST    (64ull << 20) // bytes; Docker's default
#define FILES_LEAST  1024          // open files
#define BUILT_S      1735689600    // 2025-01-01: an earlier time is wrong

// ---- processor

// Reads the first "model name" of /proc/cpuinfo.
static void
model_read(char *out, size_t size)
{
    char line[256];
    FILE *file = oct_file_stream("/proc/cpuinfo", "r");
    (void)snprintf(out, size, "unknown model");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", strlen("model name")) == 0 && colon != NULL) {
            line[strcspn(line, "\n")] = '\0';
            (void)snprintf(out, size, "%s", colon + 1 + strspn(colon + 1, " "));
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

// Names the kernels that policies and learning would use here.
static void
cpu_check(cli_doctor *doctor)
{
    char model[128];
    const policy_kernels *kernels;
    const nn_tile_ops *tiles = nn_tile_float(), *bf16 = nn_tile_bf16();
    model_read(model, sizeof(model));
    if (policy_kernels_choose(&kernels, POLICY_ISA_BEST) != OCT_OK) {
        cli_doctor_add(doctor, "cpu", CLI_DOCTOR_FAIL, "unset OCTET_ISA", "%s: %s", model,
                       policy_isa_refused().text);
        return;
    }
    bool is_slow = kernels->isa == POLICY_ISA_REF;
    cli_doctor_add(doctor, "cpu", is_slow ? CLI_DOCTOR_WARN : CLI_DOCTOR_OK,
                   is_slow ? "a CPU with AVX2 or NEON dot products acts several times as fast" : "",
                   "%s: policies act with %s, learning uses %s, bfloat16 %s", model,
                   policy_isa_name(kernels->isa), tiles != NULL ? tiles->name : "OpenBLAS alone",
                   bf16 != NULL ? bf16->name : "has no fast instructions");
}

// A warning of nn_blas_init says that OpenBLAS uses slower kernels than this CPU allows.
static void
blas_check(cli_doctor *doctor)
{
    char warning[256];
    const char *core = nn_blas_init(1, warning, sizeof(warning));
    const char *threads = getenv("OPENBLAS_NUM_THREADS");
    bool is_slow = warning[0] != '\0';
    cli_doctor_add(doctor, "blas", is_slow ? CLI_DOCTOR_WARN : CLI_DOCTOR_OK, warning,
                   "OpenBLAS with kernels for %s, threads from learner.threads%s%s", core,
                   threads != NULL ? "; OPENBLAS_NUM_THREADS=" : "",
                   threads != NULL ? threads : "");
}

// Affinity (taskset, cpuset) and a quota of a control group both limit a run, so both are shown.
static void
cores_check(cli_doctor *doctor)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t quota = oct_cgroup_cpu_millis("");
    double usable = oct_cores_usable("");
    char limit[64] = "";
    if (quota != UINT64_MAX) {
        (void)snprintf(limit, sizeof(limit), ", a control group's quota is %.3g",
                       (double)quota / 1000);
    }
    cli_doctor_add(
        doctor, "cores", usable < 2 ? CLI_DOCTOR_WARN : CLI_DOCTOR_OK,
        usable < 2 ? "learner, replay and actors share one CPU: two or more are faster" : "",
        "%.3g of %ld may be used (affinity has %u%s)", usable, online, oct_cores_affine(), limit);
}

// ---- memory

// Half a GiB is too little for most presets, but not for all: a warning, not a failure.
static void
memory_check(cli_doctor *doctor)
{
    uint64_t available = oct_memory_available(), limit = oct_memory_limit();
    uint64_t lowest = oct_cgroup_memory_limit("");
    bool is_small = available < MEMORY_LEAST;
    cli_doctor_add(doctor, "memory", is_small ? CLI_DOCTOR_WARN : CLI_DOCTOR_OK,
                   is_small ? "end other programs, or raise the limit; octet plan FILE says what a "
                              "run needs"
                            : "",
                   "%s of %s are available (%s%s)", cli_text_bytes((double)available).text,
                   cli_text_bytes((double)limit).text,
                   lowest != UINT64_MAX ? "limit of the control group: "
                                        : "no control group has a "
                                          "limit",
                   lowest != UINT64_MAX ? cli_text_bytes((double)lowest).text : "");
}

// Octet shares memory by memfd_create, without /dev/shm. MPI and Python environments use /dev/shm.
static void
shm_check(cli_doctor *doctor)
{
    struct statvfs shm;
    if (statvfs("/dev/shm", &shm) != 0) {
        cli_doctor_add(doctor, "shm", CLI_DOCTOR_WARN,
                       "mount a tmpfs there: MPI and Python environments may need it",
                       "/dev/shm is missing");
        return;
    }
    double size = (double)shm.f_blocks * (double)shm.f_frsize;
    double left = (double)shm.f_bavail * (double)shm.f_frsize;
    bool is_small = left < (double)SHM_LEAST;
    cli_doctor_add(doctor, "shm", is_small ? CLI_DOCTOR_WARN : CLI_DOCTOR_OK,
                   is_small ? "docker run --shm-size=1g makes more room" : "",
                   "%s of %s are free in /dev/shm", cli_text_bytes(left).text,
                   cli_text_bytes(size).text);
}

// ---- limits

// A failure is a limit that a daemon would refuse to start with; few files only limit the number of
// actors.
static void
limits_check(cli_doctor *doctor)
{
    oct_reason why;
    struct rlimit files = {0};
    (void)getrlimit(RLIMIT_NOFILE, &files);
    bool is_low = files.rlim_max != RLIM_INFINITY && files.rlim_max < FILES_LEAST;
    if (net_limits_check(&why) != OCT_OK) {
        cli_doctor_add(doctor, "limits", CLI_DOCTOR_FAIL, "raise the limit (ulimit -a)", "%s",
                       why.text);
    }
    // The daemons raise the soft limit to the hard one.
    cli_doctor_add(doctor, "files", is_low ? CLI_DOCTOR_WARN : CLI_DOCTOR_OK,
                   is_low ? "a run with many actors needs more: ulimit -Hn" : "",
                   "%" PRIu64 " files may be open (soft limit %" PRIu64 ")",
                   (uint64_t)files.rlim_max, (uint64_t)files.rlim_cur);
}

// ---- clock

// A wrong clock breaks certificates; an unsynchronised one only blurs the comparison of hosts.
static void
clock_check(cli_doctor *doctor)
{
    struct timex state = {0};
    uint64_t first = oct_clock_ns();
    time_t now = time(NULL);
    struct tm date;
    char text[32] = "?";
    bool is_stopped = oct_clock_ns() < first;
    if (gmtime_r(&now, &date) != NULL) {
        (void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &date);
    }
    int sync = adjtimex(&state);
    bool is_synced = sync >= 0 && (state.status & STA_UNSYNC) == 0;
    const char *source = sync < 0                           ? "its synchronisation is unknown"
                         : (state.status & STA_UNSYNC) != 0 ? "it is not synchronised (NTP)"
                                                            : "it is synchronised";
    if (now < BUILT_S || is_stopped) {
        cli_doctor_add(doctor, "clock", CLI_DOCTOR_FAIL,
                       "set the clock: certificates are not valid before their time",
                       "it shows %s UTC, which is wrong", text);
    } else {
        cli_doctor_add(doctor, "clock", is_synced ? CLI_DOCTOR_OK : CLI_DOCTOR_NOTE,
                       is_synced ? "" : "hosts of one run should agree on the time", "%s UTC; %s",
                       text, source);
    }
}

void
cli_doctor_machine(cli_doctor *doctor)
{
    cpu_check(doctor);
    blas_check(doctor);
    cores_check(doctor);
    memory_check(doctor);
    shm_check(doctor);
    limits_check(doctor);
    clock_check(doctor);
}
