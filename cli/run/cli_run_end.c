// Reports how a run on this machine ended, and clears what its folder is not to keep.

#include "cli/run/cli_run_end.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_options.h"
#include "cli/cli_text.h"
#include "cli/run/cli_folder.h"
#include "cli/run/cli_report.h"
#include "common/oct_file.h"
#include "envs/env.h"
#include "learner/learner_checkpoints.h"

#define LOG_PATH_BYTES    64
#define READER_WAIT_MS    2000 // for a reader of the report to make room
#define SUMMARY_BYTES_MAX (1u << 22)

// Restores config.yaml: a run that was refused with new settings can be resumed with its old ones.
static void
config_put_back(const cli_run_end *end)
{
    const char *before = end->request->config_before;
    if (end->refused && before != NULL &&
        oct_file_write("config.yaml", before, strlen(before)) != OCT_OK) {
        cli_error("train", "cannot restore config.yaml in '%s'", end->request->folder->path);
    }
}

// Returns the content of summary.json, malloc'd, or NULL.
static char *
summary_text(void)
{
    uint8_t *bytes;
    size_t length;
    return oct_file_read("summary.json", SUMMARY_BYTES_MAX, &bytes, &length) == OCT_OK
               ? (char *)bytes
               : NULL;
}

// Returns true if the learner has written no new summary since this command began.
static bool
summary_is_as_before(const cli_run_end *end)
{
    char *now = summary_text();
    const char *before = end->summary_before;
    bool is_same = now == NULL ? before == NULL : before != NULL && strcmp(now, before) == 0;
    free(now);
    return is_same;
}

// A resume that was refused before it trained leaves the run as it was.
static bool
run_is_as_before(const cli_run_end *end)
{
    return end->refused && end->request->resume && summary_is_as_before(end);
}

// Writes the path of the log of the daemon that ended the run. Returns out.
static const char *
failed_log(const cli_run_end *end, char out[LOG_PATH_BYTES])
{
    (void)snprintf(out, LOG_PATH_BYTES, "log/%s.log",
                   cli_supervisor_report(end->supervisor, end->failed).name);
    return out;
}

// Writes what can be done about a plug-in that may be the cause, or "". Returns out.
static const char *
check_hint(const cli_run_end *end, char *out, size_t size)
{
    const char *id = end->request->config->env.id, *name;
    name = cli_supervisor_report(end->supervisor, end->failed).name;
    bool is_of_env = strncmp(name, "actor", 5) == 0 || strcmp(name, "evaluator") == 0;
    out[0] = '\0';
    if (is_of_env && env_is_plugin(id)) {
        (void)snprintf(out, size, "; for details run 'octet env check %s'", cli_text_word(id).text);
    }
    return out;
}

// Prints the failure and the end of the log of the daemon that caused it.
static void
failure_report(const cli_run_end *end)
{
    char log_path[LOG_PATH_BYTES], hint[CLI_TEXT_WORD_MAX + 64];
    (void)failed_log(end, log_path);
    char what[sizeof(end->failure) + sizeof(hint)];
    (void)snprintf(what, sizeof(what), "%s%s", end->failure, check_hint(end, hint, sizeof(hint)));
    cli_error("train", "%s; the end of %s/%s:", what, end->request->shown_as, log_path);
    oct_failure_write(OCT_FAILURE_ERROR, "-",
                      what); // the end of the log follows on the screen only
    cli_report_log_tail(stderr, log_path,
                        cli_supervisor_report(end->supervisor, end->failed).log_begin);
}

// Reports a mistake in the experiment that a daemon found before training began: one line, with the
// position of its key. Returns false if the daemon recorded no reason.
static bool
refusal_report(const cli_run_end *end)
{
    char hint[CLI_PATH_MAX + 64];
    oct_failure failure;
    const char *reason = failure.text;
    if (!cli_supervisor_failure(end->supervisor, end->failed, OCT_FAILURE_ERROR, &failure)) {
        return false;
    }
    (void)check_hint(end, hint, sizeof(hint));
    // the reason says so itself
    hint[strstr(reason, "octet env check") != NULL ? 0 : strlen(hint)] = '\0';
    if (!cli_experiment_print_error(end->request->experiment, end->request->config, reason, hint)) {
        cli_error("train", "%s: %s%s", cli_supervisor_report(end->supervisor, end->failed).name,
                  reason, hint);
    }
    return true;
}

// Returns true for a new run that failed before its first update: there is nothing to keep.
static bool
never_began(const cli_run_end *end)
{
    return end->exit_code == CLI_EXIT_FAILED && !end->request->resume &&
           !cli_run_end_has_trained(end);
}

// rest decides if the report offers --resume: a folder that will be cleared cannot be resumed.
static cli_report_outcome
outcome_of(const cli_run_end *end, cli_run_rest rest)
{
    const config_experiment *config = end->request->config;
    return (cli_report_outcome){
        .folder = end->request->shown_as,
        .env_id = config->env.id,
        .state = end->state,
        .supervisor = end->supervisor,
        .exit_reason = end->exit_reason,
        .exit_code = end->exit_code,
        .can_resume = rest == CLI_RUN_KEPT && learner_checkpoints_any("."),
        .wall_s = cli_report_process_age_s(),
        .energy = &end->energy,
        .energy_model = end->request->energy_model,
    };
}

// A reader that does not read must not keep the run from ending. What it misses is in the folder. A
// reader with room may have too little for the report, so what is written from here on does not
// wait.
static void
leave_stuck_reader(int fd)
{
    bool has_room = cli_screen_has_room(fd, READER_WAIT_MS);
    int other = has_room ? cli_screen_reopen(fd) : open("/dev/null", O_WRONLY);
    if (other >= 0) {
        (void)dup2(other, fd);
        (void)close(other);
    }
}

// Decides what is kept, completes summary.json and prints the result. Returns what the folder
// keeps.
static cli_run_rest
report(cli_run_end *end, cli_screen *screen)
{
    leave_stuck_reader(STDOUT_FILENO);
    leave_stuck_reader(STDERR_FILENO);
    cli_run_rest rest = !never_began(end) ? CLI_RUN_KEPT : CLI_RUN_LOGS;
    if (rest == CLI_RUN_LOGS && end->refused && refusal_report(end)) {
        return CLI_RUN_NOTHING;
    }
    cli_screen_end(screen, end->state);
    cli_report_outcome outcome = outcome_of(end, rest);
    if (run_is_as_before(end)) {
        failure_report(end);
        fprintf(stderr,
                "octet train: note: nothing was trained; the run in %s is unchanged, and its "
                "policy.oct can be used\n",
                end->request->shown_as);
        return rest;
    }
    if (cli_report_add_to_summary("summary.json", &outcome) != OCT_OK) {
        cli_error("train", "cannot write summary.json in '%s'", end->request->folder->path);
        end->exit_code = end->exit_code == 0 ? CLI_EXIT_FAILED : end->exit_code;
    }
    if (end->failure[0] != '\0') {
        failure_report(end);
    }
    if (end->request->energy_command != NULL && end->energy.source == NULL) {
        cli_plain_text reason = cli_text_plain(end->energy.reason, SIZE_MAX);
        cli_error("train", "--energy-command: not measured: %s", reason.text);
    }
    cli_report_print(stdout, "summary.json", &outcome);
    (void)fflush(stdout);
    return rest;
}

// ---- replay's tables

// Writes the path of a shard's table, relative to the current folder or absolute. False: there is
// none.
static bool
table_path(const config_experiment *config, uint32_t shard, char out[CLI_PATH_MAX])
{
    config_shard_name(config->replay.path, shard, out, CLI_PATH_MAX);
    return strcmp(config->replay.path, "none") != 0 && !config_is_offline(config);
}

// Notes which tables exist before replay starts: tables_clear must not remove those.
static void
tables_find(cli_run_end *end)
{
    const config_experiment *config = end->request->config;
    char path[CLI_PATH_MAX];
    for (uint32_t i = 0; i < config_shards(config); i++) {
        end->had_table[i] = table_path(config, i, path) && oct_file_is_there(path);
    }
}

// Removes the tables that this run made, also outside the folder: no other run could use them.
static void
tables_clear(const cli_run_end *end)
{
    const config_experiment *config = end->request->config;
    char path[CLI_PATH_MAX];
    for (uint32_t i = 0; i < config_shards(config); i++) {
        if (table_path(config, i, path) && !end->had_table[i]) {
            (void)oct_file_remove(path);
        }
    }
}

void
cli_run_end_init(cli_run_end *end, const cli_run_request *request, const cli_snapshot *state,
                 const cli_supervisor *supervisor)
{
    *end = (cli_run_end){
        .request = request,
        .state = state,
        .supervisor = supervisor,
        .exit_code = CLI_EXIT_FAILED,
        .exit_reason = "failed",
        .summary_before = request->resume ? summary_text() : NULL,
    };
    tables_find(end);
}

// The state has the last numbers that the learner reported; a learner that ended at once may only
// have written the summary.
bool
cli_run_end_has_trained(const cli_run_end *end)
{
    return cli_snapshot_number(end->state, "learner.updates") > 0 ||
           (!summary_is_as_before(end) && cli_report_updates("summary.json") > 0);
}

cli_run_rest
cli_run_end_report(cli_run_end *end, cli_screen *screen)
{
    cli_run_rest rest = report(end, screen);
    config_put_back(end);
    if (rest != CLI_RUN_KEPT) {
        tables_clear(end);
        cli_folder_clear(end->request->folder, rest == CLI_RUN_NOTHING);
    }
    return rest;
}

void
cli_run_end_free(cli_run_end *end)
{
    free(end->summary_before);
}
