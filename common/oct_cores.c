// Counts the CPUs that this process may use.
#include "common/oct_cores.h"

#include <sched.h>
#include <stdint.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_cgroup.h"

unsigned
oct_cores_affine(void)
{
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0) {
        return (unsigned)OCT_MAX(CPU_COUNT(&cpus), 1);
    }
    // the machine has more CPUs than cpu_set_t has bits
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return (unsigned)OCT_MAX(online, 1);
}

double
oct_cores_usable(const char *root)
{
    double affine = oct_cores_affine();
    uint64_t quota = oct_cgroup_cpu_millis(root);
    return quota == UINT64_MAX ? affine : OCT_MIN(affine, OCT_MAX((double)quota, 1.0) / 1000);
}
