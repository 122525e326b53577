// Prints a plan as text.

#include "cli/plan/cli_plan_print.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli_text.h"
#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_text.h"
#include "config/config.h"

#define LINE_BYTES  512 // of a paragraph, without paths
#define LABEL_CELLS 11  // width of the labels
#define LINE_CELLS  80  // width of the text

// ---- numbers

typedef struct time_unit {
    const char *name;
    double seconds;
    double below_s; // the unit is used for times below this
} time_unit;

// Writes a range in the unit that suits its greater end: "12 to 15 min". An end that is unknown
// gives "more than 3 h".
void
cli_plan_time_text(char *out, size_t size, const cli_plan_range *seconds)
{
    static const time_unit units[] = {
        {"s", 1, 120}, {"min", 60, 7200}, {"h", 3600, 172800}, {"days", 86400, INFINITY}};
    const time_unit *unit = units;
    if (isnan(seconds->low) && isnan(seconds->high)) {
        (void)snprintf(out, size, "-");
        return;
    }
    double most = isnan(seconds->high) ? seconds->low : seconds->high;
    while (most >= unit->below_s) {
        unit++;
    }
    double low = seconds->low / unit->seconds, high = seconds->high / unit->seconds;
    int decimals = most / unit->seconds < 1 ? 2 : most / unit->seconds < 10 ? 1 : 0;
    if (isnan(high)) {
        (void)snprintf(out, size, "more than %.*f %s", decimals, low, unit->name);
        return;
    }
    char from[32], to[32];
    (void)snprintf(from, sizeof(from), "%.*f", decimals, low);
    (void)snprintf(to, sizeof(to), "%.*f", decimals, high);
    bool is_same = strcmp(from, to) == 0;
    (void)snprintf(out, size, "%s%s%s %s", is_same ? "" : from, is_same ? "" : " to ", to,
                   unit->name);
}

// Prints a number for a printf with at most eight of them; not for threads.
static const char *
count(double value)
{
    static cli_number_text text[8]; // one for each call within a printf
    static unsigned next;
    next = (next + 1) % OCT_COUNTOF(text);
    text[next] = cli_text_count(value);
    return text[next].text;
}

// ---- the limit

// More actors help as long as cores are idle.
static void
add_actors(oct_text *text, const cli_plan_shown *shown)
{
    const cli_plan *plan = shown->plan;
    const cli_plan_rates *rates = shown->input->rates;
    oct_text_add(text, "the actors are the limit: %s env steps/s", count(rates->env_steps_per_s));
    if (isfinite(rates->env_share)) {
        oct_text_add(text, ", %s of their work in the environment",
                     cli_text_share(rates->env_share).text);
    }
    double actors = shown->input->needs->actors;
    double idle = shown->input->cores - plan->cores_used - rates->others_cores;
    double each = rates->actors.cores / actors;
    double most = fmin(plan->actors_wanted, actors + floor(idle / each));
    if (most >= actors + 1) {
        oct_text_add(text, "; up to %.0f actors would help (--actors)", floor(most));
    } else {
        oct_text_add(text, "; larger actor.envs may help");
    }
}

// Adds why the learner is the limit, and what would make its updates cheaper or fewer.
static void
add_learner(oct_text *text, const cli_plan_shown *shown)
{
    const cli_plan_input *input = shown->input;
    const config_experiment *config = input->config;
    oct_text_add(text, "the learner is the limit: %s updates/s",
                 count(input->rates->updates_per_s));
    if (input->needs->actors > 0) {
        oct_text_add(text, "; more actors will not help");
    }
    oct_text_add(text, "; a smaller network or learner.batch_size would");
    if (config_has_limiter(config) && input->needs->actors > 0 &&
        config->replay.samples_per_insert > 0) {
        oct_text_add(text, ", or a replay.samples_per_insert below %g",
                     config->replay.samples_per_insert);
    }
}

// Adds that all cores are busy, and what others use if that is a notable part.
static void
add_cores(oct_text *text, const cli_plan_shown *shown)
{
    const cli_plan_rates *rates = shown->input->rates;
    oct_text_add(text, "the %.3g core%s of this machine %s the limit", shown->input->cores,
                 oct_text_plural(shown->input->cores), shown->input->cores == 1 ? "is" : "are");
    if (rates->others_cores >= CLI_PLAN_WAITS * shown->input->cores) {
        oct_text_add(text, ", of which other programs use %.1f", rates->others_cores);
    }
    oct_text_add(text, "; more actors or learners will not help, more cores or hosts would");
}

void
cli_plan_sentence(char *out, size_t size, const cli_plan_shown *shown)
{
    const cli_plan_rates *rates = shown->input->rates;
    oct_text text;
    oct_text_init(&text, out, size);
    if (!shown->plan->memory_fits || !shown->plan->disk_fits) {
        oct_text_add(&text, "not measured, because the run does not fit");
        return;
    }
    switch (shown->plan->limit) {
    case CLI_PLAN_LEARNER:
        add_learner(&text, shown);
        break;
    case CLI_PLAN_ACTORS:
        add_actors(&text, shown);
        break;
    case CLI_PLAN_CORES:
        add_cores(&text, shown);
        break;
    case CLI_PLAN_TURNS:
        oct_text_add(&text,
                     "actors and learner take turns, and the learner works %s of the time; %s they "
                     "work at the same time",
                     cli_text_share(1 - rates->learner_wait).text,
                     shown->input->config->run.deterministic ? "without run.deterministic"
                                                             : "with algo.rollout_lag above 0");
        break;
    case CLI_PLAN_EXCHANGE:
        oct_text_add(
            &text, "messages through replay are the limit: learner and actors wait for them while "
                   "cores are idle; larger learner.batches_per_request, learner.prefetch or "
                   "actor.batch_steps would help");
        break;
    case CLI_PLAN_BALANCED:
        oct_text_add(&text, "learner and actors are about equally fast; speeding up only one of "
                            "them would not help");
        break;
    default:
        oct_text_add(&text,
                     "the limit is not known: too few steps were made in %.1f s; measure longer "
                     "with --seconds",
                     rates->watched_s);
        break;
    }
}

static const char *
limit_short(cli_plan_limit limit)
{
    static const char *const words[CLI_PLAN_LIMITS] = {
        [CLI_PLAN_UNKNOWN] = "unknown",   [CLI_PLAN_LEARNER] = "learner",
        [CLI_PLAN_ACTORS] = "actors",     [CLI_PLAN_CORES] = "cores",
        [CLI_PLAN_TURNS] = "turns",       [CLI_PLAN_EXCHANGE] = "messages",
        [CLI_PLAN_BALANCED] = "balanced",
    };
    return words[limit];
}

// ---- lines

// Prints a paragraph behind its label.
OCT_PRINTF(2, 3)
static void
line(const char *label, const char *format, ...)
{
    char bytes[LINE_BYTES + OCT_FILE_PATH_MAX];
    const char *text = bytes;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(bytes, sizeof(bytes), format, args);
    va_end(args);
    do {
        size_t length = cli_text_wrap(text, LINE_CELLS - LABEL_CELLS - 2);
        printf("  %-*s%.*s\n", LABEL_CELLS, label, (int)length, text);
        text += length;
        text += strspn(text, " ");
        label = "";
    } while (*text != '\0');
}

// Writes the rest of the budget: "1.0 M env steps".
static void
budget_text(char *out, size_t size, const cli_plan_shown *shown)
{
    const config_experiment *config = shown->input->config;
    if (strcmp(shown->plan->ends_by, "run.wall_s") == 0) {
        (void)snprintf(out, size, "run.wall_s %g", config->run.wall_s);
    } else if (strcmp(shown->plan->ends_by, "run.updates") == 0) {
        double left = (double)config->run.updates - shown->input->updates_done;
        (void)snprintf(out, size, "%s updates", count(fmax(0, left)));
    } else {
        double left = (double)config->run.env_steps - shown->input->env_steps_done;
        (void)snprintf(out, size, "%s env steps", count(fmax(0, left)));
    }
}

// Prints the time of the run, that of the final evaluation, and, for a preset with a goal, the time
// to the goal.
static void
print_time(const cli_plan_shown *shown)
{
    const cli_plan_goal *goal = &shown->plan->goal;
    char time[64], budget[64], final[64];
    budget_text(budget, sizeof(budget), shown);
    cli_plan_time_text(time, sizeof(time), &shown->plan->time_s);
    cli_plan_time_text(final, sizeof(final), &shown->plan->final_s);
    bool is_final_known = !isnan(shown->plan->final_s.low);
    line("time", "%s for %s (%s)%s%s", time, budget, shown->plan->ends_by,
         is_final_known ? ", then the final evaluation: "
                        : ", then the final evaluation, which is not known: no evaluation ended in "
                          "the measurement",
         is_final_known ? final : "");
    if (goal->runs > 0) {
        cli_plan_time_text(time, sizeof(time), &goal->time_s);
        line("goal", "%s: return %g after %s to %s env steps, median %s of %u runs", time,
             goal->goal_return, count(goal->steps.low), count(goal->steps.high),
             count(goal->steps.mid), (unsigned)goal->runs);
    } else if (!isnan(goal->goal_return)) {
        line("goal", "return %g; how many steps it takes has not been measured", goal->goal_return);
    }
}

static void
print_rates(const cli_plan_shown *shown)
{
    const cli_plan *plan = shown->plan;
    const cli_plan_rates *rates = shown->input->rates;
    const config_experiment *config = shown->input->config;
    if (shown->input->needs->actors > 0) {
        line("actors", "%u of %u environments: %s env steps/s (%s without waiting)",
             (unsigned)shown->input->needs->actors, (unsigned)config->actor.envs,
             count(rates->env_steps_per_s), count(plan->actors_max));
    }
    line("learner", "%s updates/s of %u windows (%s without waiting)", count(rates->updates_per_s),
         (unsigned)config->learner.batch_size, count(plan->learner_max));
    if (shown->input->needs->actors > 0) {
        line("waiting", "actors wait %s of their time, the learner %s",
             cli_text_share(rates->actor_wait).text, cli_text_share(rates->learner_wait).text);
    }
    line("evaluator", "%s evaluations/s of %u episodes",
         cli_text_value(rates->evaluations_per_s).text, (unsigned)config->evaluation.episodes);
    if (isfinite(plan->cores_used)) {
        line("cores",
             "%.1f of %.3g: learner %.1f, replay %.1f, actors %.1f, evaluator %.1f; other programs "
             "%.1f",
             plan->cores_used, shown->input->cores, rates->learner.cores, rates->replay.cores,
             rates->actors.cores, rates->evaluator.cores, rates->others_cores);
    }
}

// Prints memory, disk and network. Without a measurement the network is unknown and left out.
static void
print_needs(const cli_plan_shown *shown)
{
    const cli_plan *plan = shown->plan;
    const cli_plan_needs *needs = shown->input->needs;
    const cli_plan_rates *rates = shown->input->rates;
    line("memory", "%s of %s: learner %s, replay %s (%s table of %s), actors %s, evaluator %s",
         cli_text_bytes((double)plan->memory_total).text,
         cli_text_bytes((double)shown->input->memory_available).text,
         cli_text_bytes((double)plan->memory_learner).text,
         cli_text_bytes((double)plan->memory_replay).text,
         needs->table_in_file ? "beside a file with the" : "with a",
         cli_text_bytes((double)(needs->shards * needs->table)).text,
         cli_text_bytes((double)plan->memory_actors).text,
         cli_text_bytes((double)plan->memory_evaluator).text);
    line("disk", "%s of %s in %s: table %s, checkpoints %s",
         cli_text_bytes((double)plan->disk_total).text,
         cli_text_bytes((double)shown->input->disk_available).text, shown->folder,
         cli_text_bytes((double)needs->disk_table).text,
         cli_text_bytes((double)needs->disk_checkpoints).text);
    if (!(rates->experience_bytes_per_s >= 0)) {
        return;
    }
    line("network", "%s/s of experience, %s/s of policies to each actor",
         cli_text_bytes(rates->experience_bytes_per_s).text,
         cli_text_bytes(rates->policy_bytes_per_s).text);
}

void
cli_plan_print(const cli_plan_shown *shown)
{
    char sentence[CLI_PLAN_SENTENCE_BYTES];
    printf("plan for %s%s%s", shown->env_id, shown->preset != NULL ? " by the preset " : "",
           shown->preset != NULL ? shown->preset : "");
    if (shown->input->rates->seconds > 0) {
        printf(", measured for %.1f s", shown->input->rates->seconds);
    }
    putchar('\n');
    print_time(shown);
    cli_plan_sentence(sentence, sizeof(sentence), shown);
    line("limit", "%s", sentence);
    if (shown->input->rates->seconds > 0) {
        print_rates(shown);
    }
    print_needs(shown);
    if (!shown->plan->memory_fits) {
        line("warning", "memory is too small: a run may reserve 90 %% of what is available; a "
                        "smaller replay.capacity needs less");
    }
    if (!shown->plan->disk_fits) {
        line("warning", "the disk is too full: replay.path=none keeps the table in memory, and "
                        "--run-dir names another disk");
    }
}

void
cli_plan_line(char *out, size_t size, const cli_plan_shown *shown)
{
    char time[64], budget[64];
    budget_text(budget, sizeof(budget), shown);
    cli_plan_time_text(time, sizeof(time), &shown->plan->time_s);
    // At most 80 columns, so that no terminal wraps it. The disk is in octet plan alone.
    (void)snprintf(out, size, "%-*s%s in %s · limit: %s · memory %s", LABEL_CELLS, "plan", budget,
                   time, limit_short(shown->plan->limit),
                   cli_text_bytes((double)shown->plan->memory_total).text);
}
