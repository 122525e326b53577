// Lists in words what makes the result of a run questionable.
#include "cli/run/cli_doubts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli_json.h"
#include "common/oct_base.h"
#include "common/oct_text.h"

#define TEXT_BYTES 2048

typedef struct doubts {
    const json_t *summary;
    void (*fn)(void *arg, const char *label, const char *text);
    void *arg;
} doubts;

// Calls fn with a text. Parts of the text come from files, so control characters are removed.
OCT_PRINTF(3, 4)
static void
say(const doubts *d, const char *label, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    oct_text_tame(text, strlen(text), '?');
    d->fn(d->arg, label, text);
}

static double
count_of(const doubts *d, const char *name)
{
    return cli_json_number_of(d->summary, name, 0);
}

// Returns a text of the summary, or NULL.
static const char *
why_of(const doubts *d, const char *name)
{
    return json_string_value(json_object_get(d->summary, name));
}

// Doubts about the reported return.
static void
doubt_return(const doubts *d)
{
    const json_t *result = json_object_get(d->summary, "return");
    double failed = cli_json_number_of(result, "failed_episodes", 0);
    double truncated = cli_json_number_of(result, "truncated_episodes", 0);
    const char *unevaluated = why_of(d, "unevaluated_why"), *sampling = why_of(d, "sampling_why");
    if (unevaluated != NULL) {
        say(d, "evaluation",
            "%s: short evaluations chose the policy, if any did (log/evaluator.log)", unevaluated);
    }
    if (failed > 0) {
        say(d, "failed",
            "%.0f further episode%s, repeated: the return counts only episodes that did not fail "
            "(log/evaluator.log)",
            failed, oct_text_plural(failed));
    }
    if (truncated > 0) {
        say(d, "truncated", "%.0f of the %.0f episodes of the return, by evaluation.max_steps",
            truncated, cli_json_number_of(result, "episodes", truncated));
    }
    if (sampling != NULL) {
        say(d, "sampling", "%s", sampling);
    }
}

// Work of the run that had no effect.
static void
doubt_lost(const doubts *d)
{
    double failures = count_of(d, "env_failures");
    double in_evaluators = count_of(d, "evaluation_failures");
    double rejected = count_of(d, "batches_rejected"), refused = count_of(d, "updates_refused");
    const char *unlearned = why_of(d, "unlearned_why"), *failure = why_of(d, "env_failures_why"),
               *why = why_of(d, "batches_rejected_why");
    if (unlearned != NULL) {
        say(d, "learned", "nothing: %s (log/learner.log)", unlearned);
    }
    if (failures > 0) {
        say(d, "failed", "%.0f environment step%s, left out%s%s (log/actor-*.log)", failures,
            oct_text_plural(failures), failure != NULL ? "; the last in " : "",
            failure != NULL ? failure : "");
    }
    if (in_evaluators > 0) {
        say(d, "failed", "%.0f step%s or reset%s in evaluations (log/evaluator.log)", in_evaluators,
            oct_text_plural(in_evaluators), oct_text_plural(in_evaluators));
    }
    if (rejected > 0) {
        say(d, "rejected", "%.0f batch%s by replay%s%s (log/replay.log)", rejected,
            rejected == 1 ? "" : "es", why != NULL ? ": " : "", why != NULL ? why : "");
    }
    if (refused > 0) {
        say(d, "refused", "%.0f update%s, which changed nothing (log/learner.log)", refused,
            oct_text_plural(refused));
    }
}

void
cli_doubts(const json_t *summary, void (*fn)(void *arg, const char *label, const char *text),
           void *arg)
{
    const doubts d = {.summary = summary, .fn = fn, .arg = arg};
    doubt_return(&d);
    doubt_lost(&d);
}
