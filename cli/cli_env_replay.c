// octet env replay: compares an environment with recorded trajectories.

#include "cli/cli_env_settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli_options.h"
#include "common/oct_reason.h"
#include "envs/env.h"
#include "envs/env_replay.h"

// Recordings hold the actions that were executed, so MinAtar's games must not replace them by
// repeated ones, unless the options say so. Returns the options to use.
static const char *
options_to_replay(const cli_env_settings *settings, char *room, size_t room_size)
{
    const char *given = settings->options != NULL ? settings->options : "";
    if (strncmp(settings->id, "MinAtar/", strlen("MinAtar/")) != 0 ||
        strstr(given, "sticky_actions=") != NULL) {
        return settings->options;
    }
    (void)snprintf(room, room_size, "%s%ssticky_actions=0", given, given[0] != '\0' ? "," : "");
    return room;
}

int
cli_env_replay(const cli_env_settings *settings)
{
    oct_reason why;
    char room[512];
    env *e;
    env_request request = {
        .id = settings->id, .options = options_to_replay(settings, room, sizeof(room)), .count = 1};
    if (env_open(&e, &request, &why) != OCT_OK) {
        return cli_env_failure(settings, why.text);
    }
    env_replay_request replay = {.path = settings->file,
                                 .tolerance = settings->tolerance,
                                 .one_step = settings->one_step,
                                 .partial = settings->partial};
    env_replay_result result;
    oct_err err = env_replay_run(&result, e, &replay, &why);
    env_close(e);
    if (err != OCT_OK) {
        return cli_env_failure(settings, why.text);
    }
    printf("%s: %" PRIu64 " rows compared (%" PRIu64 " episodes, %" PRIu64 " steps)\n",
           settings->id, result.rows, result.episodes, result.rows - result.episodes);
    if (result.ignored[0] != '\0') {
        printf("columns that %s does not have: %s\n", settings->id, result.ignored);
    }
    if (result.unrecorded[0] != '\0') {
        printf("not in the file, not compared: %s\n", result.unrecorded);
    }
    if (result.rows_differing == 0) {
        if (result.tolerance > 0) {
            printf("no difference above %g (largest: %.3g)\n", result.tolerance, result.worst);
        } else {
            printf("no difference: the same bits\n");
        }
        return 0;
    }
    printf("%" PRIu64 " rows differ; largest difference %.3g; the first:\n", result.rows_differing,
           result.worst);
    printf("%s:%" PRIu32 ": column %s: got %.17g, want %.17g\n", settings->file, result.line,
           result.column, result.got, result.want);
    return CLI_EXIT_FAILED;
}
