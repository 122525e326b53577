// The table of octet quantize: returns in every precision on the same seeds.

#include "cli/cli_returns.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli_observe.h"
#include "cli/cli_options.h"
#include "cli/cli_signals.h"
#include "cli/cli_text.h"
#include "common/oct_clock.h"
#include "common/oct_output.h"
#include "common/oct_reason.h"
#include "common/oct_spread.h"
#include "common/oct_text.h"
#include "quantizer/quantizer_probe.h"
#include "quantizer/quantizer_ptq.h"

#define PROBE_ROWS         4096       // observations for the comparison of outputs
#define PROGRESS_PERIOD_NS 200000000u // between two updates of the progress line
#define CLEAR              "\r\x1b[K" // clears the line

// ---- one evaluation, watched

typedef struct watch {
    const cli_returns_request *request;
    const char *precision;
    bool is_live; // standard error is a terminal
    bool shown;   // a progress line is on the terminal
    uint64_t shown_ns;
} watch;

// Shows the progress on a terminal, five times a second at most (actor_evaluate_request's watch).
static void
watch_step(void *arg, const env *e, uint32_t env_steps, uint32_t counted)
{
    (void)e;
    (void)env_steps;
    watch *w = arg;
    uint64_t now_ns = w->is_live ? oct_clock_ns() : 0;
    if (w->is_live && now_ns - w->shown_ns > PROGRESS_PERIOD_NS) {
        w->shown_ns = now_ns;
        w->shown = true;
        char line[128];
        (void)snprintf(line, sizeof(line), CLEAR "%s: episode %u of %u (Ctrl-C stops)",
                       w->precision, counted, w->request->play.episodes);
        oct_output_styled(STDERR_FILENO, line);
    }
}

// Removes the progress line, so that rows of the table begin in the first column.
static void
watch_end(watch *w)
{
    if (w->shown) {
        oct_output_styled(STDERR_FILENO, CLEAR);
    }
}

// Evaluates a policy. observed NULL: its observations are not kept.
static oct_err
play(watch *w, const policy_image *image, quantizer_reservoir *observed,
     actor_evaluate_result *result, oct_reason *why)
{
    policy_net *net = NULL;
    oct_err err = policy_net_create(&net, image, POLICY_ISA_BEST);
    if (err != OCT_OK) {
        oct_reason_set(why, "cannot run %s here: %s", w->precision, policy_isa_refused().text);
        return err;
    }
    actor_evaluate_request wanted = w->request->play;
    wanted.stop = cli_signals_noted();
    wanted.watch = watch_step;
    wanted.watch_arg = w;
    wanted.observe = observed != NULL ? cli_observe_row : NULL;
    wanted.observe_arg = observed;
    w->is_live = isatty(STDERR_FILENO) != 0;
    w->shown_ns = oct_clock_ns();
    err = actor_evaluate(net, &wanted, result, why);
    watch_end(w);
    policy_net_destroy(net);
    return err;
}

// ---- the table

typedef struct table {
    const cli_returns_request *request;
    quantizer_reservoir *observed; // of fp32's episodes
    float *fp32_returns;           // [episodes], for the paired difference
    float *returns;                // [episodes]
} table;

void
cli_returns_print_notes(const actor_evaluate_result *result)
{
    if (result->failed > 0) {
        printf("%-9s %u further episode%s failed, repeated (%s)\n", "", (unsigned)result->failed,
               oct_text_plural(result->failed), cli_text_plain(result->failure, SIZE_MAX).text);
    }
    if (result->truncated > 0) {
        printf("%-9s %u of the episodes truncated after %u steps (evaluation.max_steps)\n", "",
               (unsigned)result->truncated, (unsigned)result->max_steps);
    }
}

// Prints a distance between outputs; NaN: some are not finite.
static void
print_distance(double distance)
{
    if (isnan(distance)) {
        printf("  %9s", "overflow");
    } else {
        printf("  %9.2g", distance);
    }
}

// The fp32 row has no comparison. For the others, differences are paired: the same seeds, episode
// by episode, which takes the luck of the episodes out.
static void
print_row(const table *t, const policy_image *image, const actor_evaluate_result *result,
          const quantizer_divergence *far)
{
    printf("%-9s %9.2f ± %-8.2f %9.2f", policy_precision_name(image->precision), result->mean,
           result->std, result->min);
    if (image->precision == POLICY_FP32) {
        printf(" %9s   %-7s %9s  %9s  %9s", "-", "", "-", "-", "-");
    } else {
        oct_paired d = oct_paired_of(t->returns, t->fp32_returns, t->request->play.episodes);
        bool discrete = image->spec.action_kind == POLICY_DISCRETE;
        printf(" %+9.2f ± %-7.2f %7.2f %%", d.mean, d.error, 100 * far->agreement);
        print_distance(far->relative_l2);
        print_distance(discrete ? far->kl : far->action_l2);
    }
    printf("  %9zu\n", policy_encoded_size(image));
    cli_returns_print_notes(result);
    (void)fflush(stdout);
}

// Returns the exit code of a row that failed or was stopped.
static int
row_failed(const cli_returns_request *request, oct_err err, const oct_reason *why)
{
    if (err == OCT_ECLOSED) {
        return cli_signals_stopped(request->command);
    }
    return cli_error(request->command, "'%s': %s", request->play.env_id,
                     why->text[0] != '\0' ? why->text : oct_strerror(err));
}

// Adds the row of a precision. fp32 must come first: the others are compared with it.
static int
row(table *t, policy_precision precision, double *mean)
{
    const cli_returns_request *request = t->request;
    bool is_fp32 = precision == POLICY_FP32;
    oct_reason why = {""};
    policy_image *image;
    oct_err err = quantizer_ptq_convert(&image, request->fp32, precision, &request->method,
                                        request->calibration);
    if (err != OCT_OK) {
        return row_failed(request, err, &(oct_reason){"a weight is not finite"});
    }
    watch w = {.request = request, .precision = policy_precision_name(precision)};
    actor_evaluate_result result = {.returns = is_fp32 ? t->fp32_returns : t->returns};
    quantizer_divergence far = {0};
    err = play(&w, image, is_fp32 ? t->observed : NULL, &result, &why);
    if (err == OCT_OK) {
        err = quantizer_probe(&far, image, request->fp32, quantizer_reservoir_rows(t->observed),
                              quantizer_reservoir_count(t->observed));
    }
    if (err == OCT_OK) {
        print_row(t, image, &result, &far);
        *mean = isnan(far.relative_l2) ? NAN : result.mean;
    }
    policy_image_destroy(image);
    if (err == OCT_OK && is_fp32 && isnan(*mean)) {
        oct_reason_set(&why,
                       "a number overflows in the fp32 policy: its outputs are not finite, and "
                       "nothing can be compared with it");
        err = OCT_EINVAL;
    }
    return err == OCT_OK ? 0 : row_failed(request, err, &why);
}

// Stops at the first row that fails. Returns the exit code; means become those of the rows so far.
int
cli_returns(const cli_returns_request *request, double means[CLI_RETURNS_MEANS])
{
    static const policy_precision order[] = {POLICY_FP32, POLICY_BF16, POLICY_FP16, POLICY_INT8,
                                             POLICY_INT4};
    table t = {
        .request = request,
        .observed =
            quantizer_reservoir_create(&request->fp32->spec, PROBE_ROWS, request->play.seed),
        .fp32_returns = oct_alloc(request->play.episodes * sizeof(float)),
        .returns = oct_alloc(request->play.episodes * sizeof(float)),
    };
    cli_signals_note();
    bool discrete = request->fp32->spec.action_kind == POLICY_DISCRETE;
    printf("%s, %u episode%s of each precision on the same seeds (%" PRIu64 ")\n",
           request->play.env_id, request->play.episodes, oct_text_plural(request->play.episodes),
           request->play.seed);
    printf("%-9s %9s   %-8s %9s %19s %9s  %9s  %9s  %9s\n", "precision", "return", "", "least",
           "against fp32", "agreement", "outputs", discrete ? "KL" : "actions", "bytes");
    (void)fflush(stdout);
    int code = 0;
    for (size_t i = 0; code == 0 && i < OCT_COUNTOF(order); i++) {
        code = row(&t, order[i], &means[order[i]]);
    }
    if (code == 0) {
        printf("return: mean ± standard deviation; against fp32: mean difference per episode ± its "
               "standard\n"
               "error; agreement, outputs (relative L2) and %s: on %u observations of fp32's "
               "episodes\n",
               discrete ? "KL" : "actions (L2)", quantizer_reservoir_count(t.observed));
    }
    quantizer_reservoir_destroy(t.observed);
    free(t.fp32_returns);
    free(t.returns);
    return code;
}
