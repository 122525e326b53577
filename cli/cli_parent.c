// --follow-parent: a command that ends with the program that started it.

#include "cli/cli_parent.h"

#include <stdlib.h>

#include "cli/cli_options.h"
#include "net/net_process.h"

#define PID_MAX 4194304 // of Linux

void
cli_parent_follow(const char *command, const char *pid)
{
    int parent = (int)cli_option_number(command, "--follow-parent", pid, 1, PID_MAX);
    if (!net_process_follow_parent(parent)) {
        cli_error(command, "the process that started this one has ended");
        exit(CLI_EXIT_FAILED);
    }
}
