// Reports the end of a run: completes summary.json, prints a report of it, and prints the end of a
// log. The report is printed from summary.json alone where the run has ended, so that octet status
// prints the same lines as octet train; numbers that a failed run did not write come from the
// learner's last status.

#include "cli/run/cli_report.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "cli/cli_json.h"
#include "cli/cli_text.h"
#include "cli/run/cli_doubts.h"
#include "common/oct_clock.h"
#include "common/oct_file.h"
#include "common/oct_log_bound.h"
#include "common/oct_text.h"
#include "config/config.h"
#include "learner/learner_checkpoints.h"

// log/supervisor.log is for people: restarts and hangs of daemons, one a line, with the time.
#define NOTES      "log/supervisor.log"
#define TAIL_BYTES 4096
#define TAIL_LINES 8
#define TAIL_MARK  "  | "

// ---- times and ends

// When and in which folder this process was started, for wall_s and for commands in the report.
static uint64_t started_ns;
static char started_folder[4096];

// Runs before main, a millisecond or two after exec: before a command changes its working folder.
__attribute__((constructor)) static void
note_start(void)
{
    started_ns = oct_clock_ns();
    if (getcwd(started_folder, sizeof(started_folder)) == NULL) {
        started_folder[0] = '\0';
    }
}

// Returns how this program can be called again: as it was called, or by its path below the folder
// in which it was started.
static const char *
own_name(void)
{
    const char *name = program_invocation_name;
    size_t length = strlen(started_folder);
    if (strchr(name, '/') == NULL) {
        return "octet";
    }
    bool is_below = length > 1 && strncmp(name, started_folder, length) == 0 && name[length] == '/';
    return is_below ? name + length + 1 : name;
}

double
cli_report_process_age_s(void)
{
    return 1e-9 * (double)(oct_clock_ns() - started_ns);
}

void
cli_report_exit_text(char *out, size_t size, int exit_status, bool was_out_of_memory)
{
    if (was_out_of_memory) {
        (void)snprintf(out, size, "was killed by the kernel: out of memory");
    } else if (exit_status > 128) {
        (void)snprintf(out, size, "was killed by signal %d (%s)", exit_status - 128,
                       strsignal(exit_status - 128));
    } else {
        (void)snprintf(out, size, "exited with code %d", exit_status);
    }
}

// Reads the last TAIL_BYTES of a log, but none of its first begin bytes, and drops the newlines at
// its end. Returns false if there is no log.
static bool
log_end(char text[TAIL_BYTES + 1], const char *path, long begin)
{
    FILE *log = oct_file_stream(path, "r");
    if (log == NULL) {
        return false;
    }
    (void)fseek(log, 0, SEEK_END);
    long size = ftell(log);
    (void)fseek(log, OCT_MAX(begin, size - TAIL_BYTES), SEEK_SET);
    size_t length = fread(text, 1, TAIL_BYTES, log);
    (void)fclose(log);
    while (length > 0 && text[length - 1] == '\n') {
        length--;
    }
    text[length] = '\0';
    return true;
}

void
cli_report_log_tail(FILE *out, const char *path, long begin)
{
    char text[TAIL_BYTES + 1];
    if (!log_end(text, path, begin)) {
        fprintf(out, "  (no log)\n");
        return;
    }
    size_t first = strlen(text);
    if (first == 0) {
        fprintf(out, "  (the log is empty)\n");
    }
    for (int lines = 0; first > 0; first--) {
        if (text[first - 1] == '\n' && ++lines == TAIL_LINES) {
            break;
        }
    }
    for (char *line = text + first; *line != '\0';) {
        size_t end = strcspn(line, "\n");
        fprintf(out, TAIL_MARK "%.*s\n", (int)end, line);
        line += end + (line[end] == '\n');
    }
}

void
cli_report_note(const char *note)
{
    char line[CLI_SNAPSHOT_NOTE_MAX + 64], date[32];
    time_t now = time(NULL);
    struct tm utc;
    (void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    FILE *log = oct_file_stream(NOTES, "a");
    if (log != NULL) { // a full disk is no failure here: the note is on the screen, too
        (void)snprintf(line, sizeof(line), "%s %s\n", date, note);
        (void)fputs(line, log);
        (void)fclose(log);
    }
    (void)oct_log_bound(NOTES, OCT_LOG_BYTES_MAX);
}

void
cli_report_last_note(char *out, size_t size)
{
    char text[TAIL_BYTES + 1];
    out[0] = '\0';
    if (log_end(text, NOTES, 0)) {
        const char *line = strrchr(text, '\n');
        line = line != NULL ? line + 1 : text;
        line += strcspn(line, " ");
        (void)snprintf(out, size, "%s", line + (*line == ' '));
    }
}

// ---- summary.json

// Returns the summary, or an empty object if there is none: then every number is NaN or null.
static json_t *
summary_read(const char *path)
{
    json_t *summary = cli_json_read(path);
    if (!json_is_object(summary)) {
        json_decref(summary);
        summary = json_object();
    }
    return summary;
}

// Microseconds and microjoules are exact enough, and keep the file short.
static double
rounded(double value)
{
    return round(value * 1e6) / 1e6;
}

// Adds the last error that a daemon recorded, if there is one.
static void
put_error(json_t *daemon, const cli_supervisor *supervisor, uint32_t index)
{
    oct_failure failure;
    if (cli_supervisor_failure(supervisor, index, OCT_FAILURE_ERROR, &failure)) {
        (void)json_object_set_new(daemon, "error", cli_json_text(failure.text));
    }
}

// Adds why an environment's last failed step, which an actor of this machine left out, failed:
// "actor-0: …". The learner's text, if it has one, is of an earlier command of the run.
static void
put_env_failure(json_t *summary, const cli_supervisor *supervisor)
{
    oct_failure failure;
    uint64_t last_us = 0;
    for (uint32_t i = 0; i < cli_supervisor_count(supervisor); i++) {
        cli_daemon_report daemon = cli_supervisor_report(supervisor, i);
        if (daemon.one_of_many &&
            cli_supervisor_failure(supervisor, i, OCT_FAILURE_ENVIRONMENT, &failure) &&
            failure.wall_us > last_us) {
            char text[OCT_FAILURE_TEXT_MAX + 64];
            (void)snprintf(text, sizeof(text), "%s: %s", daemon.name, failure.text);
            (void)json_object_set_new(summary, "env_failures_why", cli_json_text(text));
            last_us = failure.wall_us;
        }
    }
    if (json_object_get(summary, "env_failures_why") == NULL) {
        (void)json_object_set_new(summary, "env_failures_why", json_null());
    }
}

// A daemon is named as in status: "learner", "actor-0" and so on.
static json_t *
daemons_json(const cli_supervisor *supervisor)
{
    json_t *daemons = json_object();
    for (uint32_t i = 0; i < cli_supervisor_count(supervisor); i++) {
        cli_daemon_report d = cli_supervisor_report(supervisor, i);
        json_t *daemon =
            json_pack("{s:f, s:i, s:i, s:i, s:i, s:b}", "cpu_s", rounded(d.cpu_s), "starts",
                      (int)d.starts, "hangs", (int)d.hangs, "oom_kills", (int)d.oom_kills,
                      "exit_status", d.exit_status, "given_up", d.given_up);
        put_error(daemon, supervisor, i);
        (void)json_object_set_new(daemons, d.name, daemon);
    }
    return daemons;
}

double
cli_report_cpu_s(const cli_supervisor *supervisor)
{
    double cpu_s = 1e-9 * (double)oct_clock_process_cpu_ns();
    for (uint32_t i = 0; i < cli_supervisor_count(supervisor); i++) {
        cpu_s += cli_supervisor_report(supervisor, i).cpu_s;
    }
    return cpu_s;
}

static void
put_rounded(json_t *object, const char *name, double value)
{
    cli_json_put(object, name, cli_json_number(rounded(value)));
}

// Returns grams of CO2 by the emissions that the user gave; NaN: none were given.
static double
grams(const cli_energy_model *model, double joules)
{
    return model->gco2_per_kwh > 0 ? joules / 3.6e6 * model->gco2_per_kwh : NAN;
}

// Makes the energy that was measured, and as "model" the energy by the watts that the user assumed.
static json_t *
energy_json(const cli_report_outcome *outcome)
{
    const cli_energy_report *report = outcome->energy;
    const cli_energy_model *assumed = &outcome->energy_model;
    double cpu_s = cli_report_cpu_s(outcome->supervisor);
    json_t *energy = json_object(), *model = json_null();
    bool is_measured = report->source != NULL;
    (void)json_object_set_new(energy, "source",
                              is_measured ? json_string(report->source) : json_null());
    (void)json_object_set_new(energy, "reason",
                              is_measured ? json_null() : cli_json_text(report->reason));
    put_rounded(energy, "joules", report->joules);
    put_rounded(energy, "machine_joules", report->machine_joules);
    put_rounded(energy, "cpu_share", report->cpu_share);
    put_rounded(energy, "measured_s", report->measured_s);
    put_rounded(energy, "gco2", grams(assumed, report->joules));
    put_rounded(energy, "cpu_s", cpu_s);
    if (assumed->watts > 0) {
        model = json_object();
        put_rounded(model, "watts", assumed->watts);
        put_rounded(model, "gco2_per_kwh", assumed->gco2_per_kwh > 0 ? assumed->gco2_per_kwh : NAN);
        put_rounded(model, "joules", cpu_s * assumed->watts);
        put_rounded(model, "gco2", grams(assumed, cpu_s * assumed->watts));
    }
    (void)json_object_set_new(energy, "model", model);
    return energy;
}

// Returns how the run ended, for people.
static const char *
ending_of(const json_t *summary, const cli_report_outcome *outcome)
{
    bool is_unevaluated = json_is_string(json_object_get(summary, "unevaluated_why"));
    return is_unevaluated && strcmp(outcome->exit_reason, "finished") == 0
               ? "finished without a full evaluation"
               : outcome->exit_reason;
}

oct_err
cli_report_add_to_summary(const char *path, const cli_report_outcome *outcome)
{
    json_t *summary = summary_read(path);
    double own_cpu_s = 1e-9 * (double)oct_clock_process_cpu_ns();
    json_t *own =
        json_pack("{s:f, s:f, s:i, s:i, s:s, s:i}", "wall_s", rounded(outcome->wall_s), "cpu_s",
                  rounded(own_cpu_s), "restarts", (int)cli_supervisor_restarts(outcome->supervisor),
                  "given_up", (int)cli_supervisor_given_up(outcome->supervisor), "exit_reason",
                  ending_of(summary, outcome), "exit_code", outcome->exit_code);
    uint32_t shard;
    const char *why;
    double rejected = cli_snapshot_rejected(outcome->state, &shard, &why);
    (void)json_object_set_new(summary, "batches_rejected",
                              rejected >= 0 ? cli_json_whole(rejected) : json_null());
    (void)json_object_set_new(summary, "batches_rejected_why",
                              why[0] != '\0' ? json_string(why) : json_null());
    put_env_failure(summary, outcome->supervisor);
    (void)json_object_set_new(summary, "daemons", daemons_json(outcome->supervisor));
    (void)json_object_set_new(summary, "supervisor", own);
    (void)json_object_set_new(summary, "energy", energy_json(outcome));
    char *text = cli_json_print(summary, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
    json_decref(summary);
    size_t length = strlen(text);
    text[length] = '\n'; // replaces the zero byte: the file ends with a newline
    oct_err err = oct_file_write(path, text, length + 1);
    free(text);
    return err;
}

// ---- report

double
cli_report_updates(const char *summary_path)
{
    json_t *summary = summary_read(summary_path);
    double updates = cli_json_number_of(summary, "updates", NAN);
    json_decref(summary);
    return updates;
}

// Prints the error of this machine's evaluator, too, if it recorded one: it may be the cause.
static void
print_no_return(FILE *out, const json_t *summary)
{
    static const char name[] = "evaluator";
    const json_t *daemon = json_object_get(json_object_get(summary, "daemons"), name);
    const char *error = json_string_value(json_object_get(daemon, "error"));
    fprintf(out, "  return     not evaluated\n");
    if (error != NULL) {
        fprintf(out, "             %s: %s\n", name, cli_text_plain(error, SIZE_MAX).text);
    }
}

// If the summary has no return, that of the last evaluation is printed. A policy that its own
// evaluation selected looks better than it is, so that is said.
static void
print_return(FILE *out, const json_t *summary, const cli_report_outcome *outcome)
{
    const cli_snapshot *state = outcome->state;
    const json_t *result = json_object_get(summary, "return");
    double mean =
        cli_json_number_of(result, "mean", cli_snapshot_number(state, "learner.eval_return"));
    if (isnan(mean)) {
        print_no_return(out, summary);
        return;
    }
    double std =
        cli_json_number_of(result, "std", cli_snapshot_number(state, "learner.eval_return_std"));
    double episodes =
        cli_json_number_of(result, "episodes", cli_snapshot_number(state, "learner.eval_episodes"));
    const char *precision = json_string_value(json_object_get(result, "precision"));
    bool chose_it = json_is_false(json_object_get(result, "final"));
    bool is_saved = precision != NULL && access("policy.oct", R_OK) == 0;
    const char *actions = json_string_value(json_object_get(result, "actions"));
    bool is_sampled = actions != NULL && strcmp(actions, "sampled") == 0;
    fprintf(out, "  return     %s ± %s over %s %sepisode%s, %s%s%s\n", cli_text_value(mean).text,
            cli_text_value(std).text, cli_text_count(episodes).text, is_sampled ? "sampled " : "",
            oct_text_plural(episodes),
            is_saved ? cli_text_plain(precision, SIZE_MAX).text : "of a policy that was not saved",
            is_saved ? " policy" : "",
            chose_it ? "; the policy was selected by these episodes, so the mean is biased upwards"
                     : "");
}

// Prints the environment's own metrics of the policy that ships, as octet eval does.
static void
print_metrics(FILE *out, const json_t *summary)
{
    json_t *metrics = json_object_get(json_object_get(summary, "return"), "metrics");
    const char *name;
    json_t *value;
    json_object_foreach(metrics, name, value)
    {
        fprintf(out, "  metric     %s: ", cli_text_plain(name, SIZE_MAX).text);
        if (json_is_number(value)) {
            fprintf(out, "%.4g\n", json_number_value(value));
        } else {
            fputs("not measured\n", out);
        }
    }
}

// Prints the return at the end of training: a collapse after the best version shows here.
static void
print_last(FILE *out, const json_t *summary)
{
    const json_t *last = json_object_get(summary, "last_return");
    const json_t *screens = json_object_get(summary, "last_screens");
    double mean = cli_json_number_of(last, "mean", NAN),
           screened = cli_json_number_of(screens, "mean", NAN);
    if (isnan(mean) && isnan(screened)) {
        return;
    }
    fprintf(out, "  last       ");
    if (!isnan(mean)) {
        double episodes = cli_json_number_of(last, "episodes", NAN);
        fprintf(out, "%s ± %s over %s episode%s%s", cli_text_value(mean).text,
                cli_text_value(cli_json_number_of(last, "std", NAN)).text,
                cli_text_count(episodes).text, oct_text_plural(episodes),
                isnan(screened) ? "" : "; ");
    }
    if (!isnan(screened)) {
        double count = cli_json_number_of(screens, "count", NAN);
        fprintf(out, "%s over %s short evaluation%s", cli_text_value(screened).text,
                cli_text_count(count).text, oct_text_plural(count));
    }
    fputc('\n', out);
}

static void
print_grams(FILE *out, const json_t *object)
{
    double gco2 = cli_json_number_of(object, "gco2", NAN);
    if (isfinite(gco2)) {
        fprintf(out, ", %.3g g of CO2", gco2);
    }
}

// Prints nothing if energy was neither measured nor modelled.
static void
print_energy(FILE *out, const json_t *summary)
{
    const json_t *energy = json_object_get(summary, "energy");
    const json_t *model = json_object_get(energy, "model");
    const char *source = json_string_value(json_object_get(energy, "source"));
    if (source != NULL) {
        fprintf(out, "  energy     %.3g J", cli_json_number_of(energy, "joules", NAN));
        print_grams(out, energy);
        fprintf(out, ": %s of the %.3g J that %s measured in %s\n",
                cli_text_share(cli_json_number_of(energy, "cpu_share", NAN)).text,
                cli_json_number_of(energy, "machine_joules", NAN),
                strcmp(source, "command") == 0 ? "the command" : "the processors",
                cli_text_seconds(cli_json_number_of(energy, "measured_s", NAN)).text);
    }
    if (json_is_object(model)) {
        fprintf(out, "  model      %.3g J", cli_json_number_of(model, "joules", NAN));
        print_grams(out, model);
        fprintf(out, ": not measured, but %s of CPU time at %g W for a busy core\n",
                cli_text_seconds(cli_json_number_of(energy, "cpu_s", NAN)).text,
                cli_json_number_of(model, "watts", NAN));
    }
}

static void
print_doubt(void *out, const char *label, const char *text)
{
    fprintf(out, "  %-10s %s\n", label, text);
}

void
cli_report_print_spent(FILE *out, double wall_s, double env_steps, double updates)
{
    fprintf(out, "  spent      %s, %s env step%s, %s update%s\n", cli_text_seconds(wall_s).text,
            cli_text_count(env_steps).text, oct_text_plural(env_steps),
            cli_text_count(updates).text, oct_text_plural(updates));
}

// A failed run has no verdict, no policy and no curve, because files of an earlier command may lie
// in the folder.
void
cli_report_print(FILE *out, const char *summary_path, const cli_report_outcome *outcome)
{
    const cli_snapshot *state = outcome->state;
    json_t *summary = summary_read(summary_path);
    const json_t *solved = json_object_get(summary, "solved");
    bool failed = outcome->exit_code == 1;
    bool has_no_goal = json_is_null(json_object_get(summary, "goal"));
    const char *verdict = failed || has_no_goal   ? ""
                          : json_is_true(solved)  ? ": solved"
                          : json_is_false(solved) ? ": not solved"
                                                  : "";
    double steps =
        cli_json_number_of(summary, "env_steps", cli_snapshot_number(state, "learner.env_steps"));
    double updates =
        cli_json_number_of(summary, "updates", cli_snapshot_number(state, "learner.updates"));
    double wall_s =
        cli_json_number_of(summary, "learner_wall_s", cli_snapshot_number(state, "learner.wall_s"));
    fprintf(out, "%s %s%s\n", outcome->env_id, ending_of(summary, outcome), verdict);
    cli_doubts(summary, print_doubt, out); // first, because the return may not be what it seems
    print_return(out, summary, outcome);
    print_metrics(out, summary);
    print_last(out, summary);
    cli_report_print_spent(out, wall_s, steps, updates);
    print_energy(out, summary);
    fprintf(out, "  folder     %s\n", outcome->folder);
    bool has_policy = !failed && access("policy.oct", R_OK) == 0;
    if (has_policy) {
        fprintf(out, "  policy     %s/policy.oct\n", outcome->folder);
    }
    if (!failed && access("curve.svg", R_OK) == 0) {
        fprintf(out, "  curve      %s/curve.svg\n", outcome->folder);
    }
    if (has_policy) {
        char policy[PATH_MAX + 16];
        (void)snprintf(policy, sizeof(policy), "%s/policy.oct", outcome->folder);
        fprintf(out, "  next       %s eval %s\n", cli_text_word(own_name()).text,
                cli_text_word(policy).text);
    }
    if (failed && outcome->can_resume) {
        fprintf(out, "  resume     %s train --resume --run-dir %s\n",
                cli_text_word(own_name()).text, cli_text_word(outcome->folder).text);
    }
    json_decref(summary);
}

// Like the report of octet train, from files alone: there is no state and no supervisor.
bool
cli_report_print_ended(FILE *out, const char *folder, const config_experiment *config)
{
    static const char path[] = "summary.json";
    cli_snapshot *state = oct_alloc(sizeof(*state));
    json_t *summary = summary_read(path);
    const json_t *supervisor = json_object_get(summary, "supervisor");
    const char *reason = json_string_value(json_object_get(supervisor, "exit_reason"));
    if (reason == NULL) { // the supervisor was killed; the learner's reason is left
        reason = json_string_value(json_object_get(summary, "reason"));
    }
    cli_plain_text shown = cli_text_plain(reason != NULL ? reason : "ended", SIZE_MAX);
    bool has_summary = json_object_size(summary) > 0;
    cli_snapshot_clear(state);
    cli_report_outcome outcome = {
        .folder = folder,
        .env_id = config->env.id,
        .state = state,
        .exit_reason = shown.text,
        .exit_code =
            // cli_report_print tests for this value
        cli_json_number_of(supervisor, "exit_code", 0) == 1,
        .can_resume = learner_checkpoints_any("."),
    };
    if (has_summary) {
        cli_report_print(out, path, &outcome);
        fprintf(out, "  more       %s/%s\n", folder, path);
    }
    json_decref(summary);
    free(state);
    return has_summary;
}
