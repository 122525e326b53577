// The end of a run: summary.json, the short report, the end of a log.

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

#include "actor/actor_io.h"
#include "cli/cli_json.h"
#include "cli/cli_text.h"
#include "cli/run/cli_doubts.h"
#include "common/oct_clock.h"
#include "common/oct_config.h"
#include "common/oct_file.h"
#include "common/oct_log_bound.h"
#include "common/oct_text.h"
#include "learner/learner_checkpoints.h"

#define NOTES          "log/supervisor.log"
#define LOG_BYTES_MAX  (256u << 20) // of a log that is read line by line
#define TAIL_BYTES     4096
#define TAIL_LINES     8
#define TAIL_MARK      "  | "
#define TAIL_FOLLOWS   "; the end of " // in an error of octet train, then the log's name
#define TRAIN          "octet train: "
#define ERROR          "error: "
#define REASON_BYTES   1024
#define LOG_PATH_BYTES 64

// ---- times and ends

static uint64_t started_ns;
static char started_folder[4096];

// Before main: a millisecond or two after exec, which a script that built first does not blur, and
// before a command goes to another folder.
__attribute__((constructor)) static void
note_start(void)
{
    started_ns = oct_clock_ns();
    if (getcwd(started_folder, sizeof(started_folder)) == NULL) {
        started_folder[0] = '\0';
    }
}

// How this program can be called again: as it was, shorter where it lies below the user's folder.
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

// The end of a log, TAIL_BYTES at most and nothing of its first begin bytes, without the last line
// feeds. False: there is no log.
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
    char line[CLI_STATE_NOTE_MAX + 64], date[32];
    time_t now = time(NULL);
    struct tm utc;
    (void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    FILE *log = oct_file_stream(NOTES, "a");
    if (log != NULL) { // a full disk, say: it is on the screen as well
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

// What follows mark in the last line that has it; NULL: none has.
static char *
last_after(char *text, const char *mark)
{
    char *found = NULL;
    for (char *at = strstr(text, mark); at != NULL; at = strstr(at + 1, mark)) {
        found = at + strlen(mark);
    }
    return found;
}

bool
cli_report_refusal(char *out, size_t size, const char *path, long begin)
{
    char text[TAIL_BYTES + 1];
    if (!log_end(text, path, begin)) {
        return false;
    }
    char *said = last_after(text, "] E "); // a log line: its identity follows
    if (said != NULL) {
        said += strcspn(said, " \n");
        said += *said == ' ';
    } else if ((said = last_after(text, "error: ")) == NULL) {
        return false;
    }
    (void)snprintf(out, size, "%.*s", (int)strcspn(said, "\n"), said);
    return out[0] != '\0';
}

// Where a line says that octet train failed; NULL: it says something else, or quotes another log.
static const char *
error_in(const char *line)
{
    const char *said =
        strncmp(line, TAIL_MARK, strlen(TAIL_MARK)) != 0 ? strstr(line, ERROR) : NULL;
    bool is_of_train = said == line + strlen(TRAIN) && strncmp(line, TRAIN, strlen(TRAIN)) == 0;
    return is_of_train ? said + strlen(ERROR) : said != NULL ? line : NULL;
}

bool
cli_report_error(char *out, size_t size, const char *path, long begin)
{
    FILE *log = oct_file_stream_bounded(path, LOG_BYTES_MAX);
    char *line = NULL;
    size_t room = 0;
    out[0] = '\0';
    if (log == NULL) {
        return false;
    }
    (void)fseek(log, begin, SEEK_SET);
    while (getline(&line, &room, log) > 0) {
        const char *said = error_in(line), *end = said != NULL ? strstr(said, TAIL_FOLLOWS) : NULL;
        if (said != NULL) {
            size_t length = end != NULL ? (size_t)(end - said) : strcspn(said, "\n");
            (void)snprintf(out, size, "%.*s", (int)length, said);
        }
    }
    free(line);
    (void)fclose(log);
    return out[0] != '\0';
}

// Whether a log, behind its first begin bytes, tells of a later step of an environment that failed
// than the line that it is given, which becomes that line. Lines begin with their time.
static bool
failure_is_later(char *last, size_t size, const char *path, long begin)
{
    FILE *log = oct_file_stream_bounded(path, LOG_BYTES_MAX);
    char *line = NULL;
    size_t room = 0;
    bool is_later = false;
    if (log == NULL) {
        return false;
    }
    (void)fseek(log, begin, SEEK_SET);
    while (getline(&line, &room, log) > 0) {
        bool tells = strstr(line, " W ACTOR-ENV-UNSOUND ") != NULL &&
                     strstr(line, ACTOR_UNSOUND_LAST) != NULL;
        if (tells && strcmp(line, last) > 0) {
            (void)snprintf(last, size, "%.*s", (int)strcspn(line, "\n"), line);
            is_later = true;
        }
    }
    free(line);
    (void)fclose(log);
    return is_later;
}

// Why the last step of an environment that failed did, and in which actor of this machine:
// "actor-0: …"; "": none says so.
static void
failure_find(char *out, size_t size, const cli_supervisor *supervisor)
{
    char last[2 * REASON_BYTES] = "", path[LOG_PATH_BYTES];
    out[0] = '\0';
    for (uint32_t i = 0; i < cli_supervisor_count(supervisor); i++) {
        cli_daemon_report daemon = cli_supervisor_report(supervisor, i);
        (void)snprintf(path, sizeof(path), "log/%s.log", daemon.name);
        if (daemon.one_of_many && failure_is_later(last, sizeof(last), path, daemon.log_begin)) {
            const char *why = strstr(last, ACTOR_UNSOUND_LAST); // cut off where a line is too long
            (void)snprintf(out, size, "%s: %s", daemon.name,
                           why != NULL ? why + strlen(ACTOR_UNSOUND_LAST) : "");
        }
    }
}

// ---- summary.json

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

static double
rounded(double value)
{
    return round(value * 1e6) / 1e6;
}

static json_t *
daemons_json(const cli_supervisor *supervisor)
{
    json_t *daemons = json_object();
    for (uint32_t i = 0; i < cli_supervisor_count(supervisor); i++) {
        cli_daemon_report d = cli_supervisor_report(supervisor, i);
        (void)json_object_set_new(daemons, d.name,
                                  json_pack("{s:f, s:i, s:i, s:i, s:i, s:b}", "cpu_s",
                                            rounded(d.cpu_s), "starts", (int)d.starts, "hangs",
                                            (int)d.hangs, "oom_kills", (int)d.oom_kills,
                                            "exit_status", d.exit_status, "given_up", d.given_up));
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

static double
grams(const cli_energy_model *model, double joules)
{
    return model->gco2_per_kwh > 0 ? joules / 3.6e6 * model->gco2_per_kwh : NAN;
}

// What was measured, and beside it, under a name of its own, what somebody assumed.
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

// How the run ended, as a person reads it.
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
    double rejected = cli_state_rejected(outcome->state, &shard, &why);
    char failure[REASON_BYTES] = "";
    if (cli_json_number_of(summary, "env_failures", 0) > 0) {
        failure_find(failure, sizeof(failure), outcome->supervisor);
    }
    (void)json_object_set_new(summary, "batches_rejected",
                              rejected >= 0 ? json_integer((json_int_t)rejected) : json_null());
    (void)json_object_set_new(summary, "batches_rejected_why",
                              why[0] != '\0' ? json_string(why) : json_null());
    if (failure[0] != '\0' || json_object_get(summary, "env_failures_why") == NULL) {
        (void)json_object_set_new(summary, "env_failures_why",
                                  failure[0] != '\0' ? cli_json_text(failure) : json_null());
    }
    (void)json_object_set_new(summary, "daemons", daemons_json(outcome->supervisor));
    (void)json_object_set_new(summary, "supervisor", own);
    (void)json_object_set_new(summary, "energy", energy_json(outcome));
    char *text = cli_json_print(summary, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
    json_decref(summary);
    size_t length = strlen(text);
    text[length] = '\n'; // in place of the zero byte: the file ends its last line
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

// What the evaluator of this machine says of it.
static void
print_no_return(FILE *out, const cli_report_outcome *outcome)
{
    static const char name[] = "evaluator", log[] = "log/evaluator.log";
    const cli_supervisor *supervisor = outcome->supervisor;
    char reason[REASON_BYTES];
    long begin = 0;
    for (uint32_t i = 0; supervisor != NULL && i < cli_supervisor_count(supervisor); i++) {
        cli_daemon_report daemon = cli_supervisor_report(supervisor, i);
        begin = strcmp(daemon.name, name) == 0 ? daemon.log_begin : begin;
    }
    fprintf(out, "  return     not evaluated\n");
    if (cli_report_refusal(reason, sizeof(reason), log, begin)) {
        fprintf(out, "             %s: %s\n", name, reason);
    }
}

static void
print_return(FILE *out, const json_t *summary, const cli_report_outcome *outcome)
{
    const cli_state *state = outcome->state;
    const json_t *result = json_object_get(summary, "return");
    double mean =
        cli_json_number_of(result, "mean", cli_state_number(state, "learner.eval_return"));
    if (isnan(mean)) {
        print_no_return(out, outcome);
        return;
    }
    double std =
        cli_json_number_of(result, "std", cli_state_number(state, "learner.eval_return_std"));
    double episodes =
        cli_json_number_of(result, "episodes", cli_state_number(state, "learner.eval_episodes"));
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

// What the environment itself measured of the policy that ships, as octet eval prints it.
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

// What training ended with: a collapse after the best version shows here.
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

// Nothing of a run that was not measured.
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

void
cli_report_print(FILE *out, const char *summary_path, const cli_report_outcome *outcome)
{
    const cli_state *state = outcome->state;
    json_t *summary = summary_read(summary_path);
    const json_t *solved = json_object_get(summary, "solved");
    bool failed = outcome->exit_code == 1;
    bool has_no_goal = json_is_null(json_object_get(summary, "goal"));
    const char *verdict = failed || has_no_goal   ? ""
                          : json_is_true(solved)  ? ": solved"
                          : json_is_false(solved) ? ": not solved"
                                                  : "";
    double steps =
        cli_json_number_of(summary, "env_steps", cli_state_number(state, "learner.env_steps"));
    double updates =
        cli_json_number_of(summary, "updates", cli_state_number(state, "learner.updates"));
    double wall_s =
        cli_json_number_of(summary, "learner_wall_s", cli_state_number(state, "learner.wall_s"));
    fprintf(out, "%s %s%s\n", outcome->env_id, ending_of(summary, outcome), verdict);
    cli_doubts(summary, print_doubt, out); // first: the return below may not be what it seems
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

bool
cli_report_print_ended(FILE *out, const char *folder, const oct_config *config)
{
    static const char path[] = "summary.json";
    cli_state *state = oct_alloc(sizeof(*state));
    json_t *summary = summary_read(path);
    const json_t *supervisor = json_object_get(summary, "supervisor");
    const char *reason = json_string_value(json_object_get(supervisor, "exit_reason"));
    if (reason == NULL) { // the supervisor was killed: what the learner says
        reason = json_string_value(json_object_get(summary, "reason"));
    }
    cli_plain_text shown = cli_text_plain(reason != NULL ? reason : "ended", SIZE_MAX);
    bool has_summary = json_object_size(summary) > 0;
    cli_state_clear(state);
    cli_report_outcome outcome = {
        .folder = folder,
        .env_id = config->env.id,
        .state = state,
        .exit_reason = shown.text,
        .exit_code =
            cli_json_number_of(supervisor, "exit_code", 0) == 1, // as cli_report_print asks
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
