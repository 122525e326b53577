// --follow-parent: a command that ends with the program that started it.

#include "cli/cli_parent.h"

#include <stdlib.h>

#include "cli/cli_options.h"
#include "net/net_process.h"

void
cli_parent_follow(const char *command, uint32_t pid)
{
    if (pid != 0 && !net_process_follow_parent((int)pid)) {
        exit(cli_error(command, "the process that started this one has ended"));
    }
}
