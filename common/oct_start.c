// Opens and guards the standard descriptors, and lets writes to files that grow too large fail.
#include "common/oct_start.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "common/oct_output.h"

void
oct_start(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR); // the lowest that is free
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) {
        (void)close(fd);
    }
    (void)signal(SIGXFSZ, SIG_IGN);
    oct_output_guard();
}
