// Sends the numbers of an actor, and the evaluations of an evaluator, to the learner.
#include "actor/actor_reports.h"

#include <string.h>

#include "common/oct_clock.h"

static oct_err
report_call(actor_reports *reports, wire_report *report, uint32_t timeout_ms, actor_reports_fn done)
{
    report->actor_id = reports->claim->actor_id;
    report->session = reports->claim->session;
    memcpy(report->token, reports->claim->token, sizeof(report->token));
    report->report_sequence = ++reports->sequence;
    return wire_call_report_episodes(reports->client, report, timeout_ms, done, reports->arg);
}

// Adds the numbers with these flags to the report, and sends it.
static void
report_send(actor_reports *reports, wire_report *report, const actor_measurements *now,
            unsigned shown)
{
    const char *names[WIRE_STATS_MAX];
    double values[WIRE_STATS_MAX];
    oct_numbers *numbers = oct_numbers_create("actor.");
    actor_measurements_add(numbers, now);
    report->stat_count = oct_numbers_list(numbers, shown, names, values, WIRE_STATS_MAX);
    report->stat_name = names;
    report->stat_value = values;
    oct_err err = report_call(reports, report, reports->timeout_ms, reports->answered);
    (void)err; // too many open calls: the next report has all but these episodes
    oct_numbers_destroy(numbers);
}

void
actor_reports_numbers(actor_reports *reports, const actor_numbers *numbers,
                      const actor_measurements *now, const char *unreached)
{
    wire_report report = {
        .policy_version = numbers->policy_version,
        .env_steps = numbers->env_steps,
        .episode_count = numbers->episode_count,
        .episode_return = numbers->episode_return,
        .episode_length = numbers->episode_length,
        .unreached = unreached,
    };
    report_send(reports, &report, now, OCT_SHOWN_REPORT);
    reports->sent_ns = oct_clock_ns();
}

// The environment's metrics, in the columns of a report.
typedef struct metric_columns {
    const char *name[OCT_METRICS_MAX];
    double sum[OCT_METRICS_MAX];
    uint32_t episodes[OCT_METRICS_MAX];
} metric_columns;

static void
metrics_add(wire_report *report, const actor_evaluate_result *result, metric_columns *columns)
{
    report->metric_count = result->metric_names.count;
    for (uint32_t i = 0; i < report->metric_count; i++) {
        columns->name[i] = result->metric_names.name[i];
        columns->sum[i] = result->metrics[i].sum;
        columns->episodes[i] = result->metrics[i].episodes;
    }
    report->metric_name = columns->name;
    report->metric_sum = columns->sum;
    report->metric_episodes = columns->episodes;
}

void
actor_reports_evaluation(actor_reports *reports, const actor_job *job, actor_measurements *now)
{
    now->evaluation_s = job->result.seconds;
    now->evaluation_steps = (double)job->result.env_steps;
    now->evaluation_failed = job->result.failed;
    now->evaluation_truncated = job->result.truncated;
    wire_report report = {
        .ticket = job->ticket,
        .policy_version = policy_net_origin(job->net)->version,
        .episode_count = job->err == OCT_OK ? job->episodes : 0, // 0: it failed
        .episode_return = job->result.returns,
        .episode_length = job->result.lengths,
    };
    metric_columns columns;
    if (job->err == OCT_OK) {
        metrics_add(&report, &job->result, &columns);
    }
    report_send(reports, &report, now, OCT_SHOWN_EVALUATION);
}

void
actor_reports_playing(actor_reports *reports, const actor_playing *playing, actor_measurements *now)
{
    now->playing_ticket = (double)playing->ticket;
    now->playing_steps = (double)playing->env_steps;
    now->playing_calls = (double)playing->calls;
    now->playing_episodes = playing->episodes;
    wire_report report = {0};
    report_send(reports, &report, now, OCT_SHOWN_PLAYING);
}

oct_err
actor_reports_leave(actor_reports *reports, uint32_t timeout_ms, actor_reports_fn done)
{
    wire_report report = {.leaves = true};
    return report_call(reports, &report, timeout_ms, done);
}
