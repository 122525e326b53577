// octet env list and octet env check: lists the environments, and checks the rules of one.

#include "cli/cli_env_settings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actor/actor_spec.h"
#include "cli/cli_options.h"
#include "cli/cli_text.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "envs/env.h"
#include "envs/env_check.h"

// Prints a space in 13 cells, as the heading has them; a longer one shifts its row.
static void
space_print(const octet_env_space *space)
{
    static const char *const names[] = {[OCTET_ENV_F32] = "f32",
                                        [OCTET_ENV_F64] = "f64",
                                        [OCTET_ENV_U8] = "u8",
                                        [OCTET_ENV_I32] = "i32"};
    char text[96];
    if (space->n > 0) {
        snprintf(text, sizeof(text), "discrete %" PRIu32, space->n);
    } else {
        snprintf(text, sizeof(text), "%s [", names[space->dtype]);
        for (uint32_t d = 0; d < space->rank; d++) {
            size_t used = strlen(text);
            snprintf(text + used, sizeof(text) - used, "%s%" PRIu32, d > 0 ? " " : "",
                     space->shape[d]);
        }
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "]");
    }
    printf("  %-13s", text);
}

// Opens each environment to read its spec, and prints a row. Returns the exit code.
static int
rows_print(const cli_env_settings *settings, const char *const *ids)
{
    for (const char *const *id = ids; *id != NULL; id++) {
        oct_reason why;
        env *e;
        env_request request = {.id = *id, .options = "", .count = 1};
        if (env_open(&e, &request, &why) != OCT_OK) {
            return cli_env_failure(settings, why.text);
        }
        const octet_env_spec *spec = env_spec(e);
        printf("%-28s", spec->id);
        space_print(&spec->obs);
        space_print(&spec->action);
        printf("  %6" PRIu32, spec->max_episode_steps);
        if (isnan(spec->reward_threshold)) {
            printf("  %9s\n", "none");
        } else {
            printf("  %9g\n", spec->reward_threshold);
        }
        env_close(e);
    }
    return 0;
}

// Environments of dm_control need a module, so a build or a machine may lack them: then a line says
// why.
int
cli_env_list(const cli_env_settings *settings)
{
    printf("%-28s  %-13s  %-13s  %6s  %9s\n", "id", "observation", "action", "limit", "threshold");
    if (rows_print(settings, env_ids()) != 0) {
        return CLI_EXIT_FAILED;
    }
    oct_reason why;
    const char *suite[ENV_MODULE_TASKS_MAX + 1];
    if (env_module_ids(suite, &why) != OCT_OK) {
        printf("dmc:TASK is not available here: %s\n", why.text);
    } else if (rows_print(settings, suite) != 0) {
        return CLI_EXIT_FAILED;
    }
    printf("The name of a plug-in is its path: ./name.so (see docs/environments-c.md)\n");
    return 0;
}

// Prints the result of a rule. arg: a bool, which becomes false if no policy can be trained on the
// environment.
static void
check_print(void *arg, const env_check_result *result)
{
    bool *trains = arg;
    static const char *const words[] = {[ENV_CHECK_PASS] = "PASS",
                                        [ENV_CHECK_FAIL] = "FAIL",
                                        [ENV_CHECK_SKIP] = "SKIP",
                                        [ENV_CHECK_WARN] = "WARN",
                                        [ENV_CHECK_UNFIT] = "FAIL"};
    *trains = *trains && result->verdict != ENV_CHECK_UNFIT;
    printf("%s  %-13s %s\n", words[result->verdict], result->rule, result->means);
    if (result->verdict != ENV_CHECK_PASS) {
        printf("      %s%s\n", result->verdict == ENV_CHECK_FAIL ? "broken: " : "", result->detail);
    }
    (void)fflush(stdout);
}

// Prints what the environment wrote, each line once.
static void
said_print(const env_check_said *said)
{
    uint32_t count;
    uint64_t others;
    const env_check_line *line = env_check_said_lines(said, &count, &others);
    (void)fflush(stdout);
    if (count > 0) {
        fprintf(stderr, "standard error of the environment, each line once:\n");
    }
    for (uint32_t i = 0; i < count; i++) {
        fprintf(stderr, "  %s", line[i].text);
        if (line[i].count > 1) {
            fprintf(stderr, " (%" PRIu64 " times%s)", line[i].count,
                    line[i].varies ? ", with different numbers" : "");
        }
        fputc('\n', stderr);
    }
    if (others > 0) {
        fprintf(stderr, "  and %" PRIu64 " other line%s\n", others,
                oct_text_plural((double)others));
    }
}

// Two verdicts: whether the environment keeps the rules of the interface, and whether Octet can
// train on it. Either one fails the command.
int
cli_env_check(const cli_env_settings *settings)
{
    env_check_request request = {.id = settings->id,
                                 .options = settings->options,
                                 .seed = settings->seed,
                                 .rule_timeout_ms = (uint32_t)(settings->timeout_s * 1000),
                                 .trains = actor_spec_trains,
                                 .said = env_check_said_create()};
    bool trains = true;
    uint32_t broken = env_check_run(&request, check_print, &trains);
    said_print(request.said);
    env_check_said_destroy(request.said);
    if (broken > 0) {
        printf("%s: %" PRIu32 " rule%s broken", settings->id, broken, oct_text_plural(broken));
    } else {
        printf("%s: keeps every rule", settings->id);
    }
    printf("%s\n", trains       ? ""
                   : broken > 0 ? ", and no policy can be trained on it"
                                : " of the interface, but no policy can be trained on it");
    return broken > 0 || !trains ? CLI_EXIT_FAILED : 0;
}
