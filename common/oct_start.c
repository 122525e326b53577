// Opens and guards the standard descriptors, and makes writes beyond a size limit fail instead of
// ending the program.
#include "common/oct_start.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "common/oct_failure.h"
#include "common/oct_output.h"

void
oct_start(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR); // open returns the lowest free descriptor
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) {
        (void)close(fd);
    }
    (void)signal(SIGXFSZ, SIG_IGN);
    oct_failure_begin();
    oct_output_guard();
}
