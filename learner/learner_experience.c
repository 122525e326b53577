// Carries experience between replays and the training thread: what links send and receive, complete
// batches to the thread, batches that were learned from back, and what is logged of all that.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "common/oct_reason.h"
#include "learner/learner_run_state.h"

#define PROBE_PERIOD_NS 1000000000u

learner_source *
learner_run_source(learner_run *run, uint32_t member)
{
    return run->batches != NULL ? learner_batches_source(run->batches, member) : NULL;
}

// ---- tables

// Logs how a resumed run finds the replay at url. is_in_memory: replay.path is none.
static void
ahead_log(const learner_source_ahead *ahead, const char *url, bool is_in_memory)
{
    if (ahead->is_earlier) {
        oct_log_warn("LEARNER-RESUME-REPLAY",
                     "replay=%s the table is not this checkpoint's, but an earlier table of the "
                     "run: %" PRIu64 " steps of the checkpoint are lost; was octet-replay started "
                     "with the right --path?",
                     url, ahead->lost);
    } else if (ahead->is_other) {
        oct_log_warn("LEARNER-RESUME-REPLAY",
                     "replay=%s the table is a new one: %" PRIu64
                     " steps of the checkpoint are lost; %s",
                     url, ahead->lost,
                     is_in_memory ? "with replay.path none a table is lost when its octet-replay "
                                    "ends"
                                  : "was its file removed, or octet-replay started with another "
                                    "--path?");
    } else if (ahead->steps < 0) {
        oct_log_warn("LEARNER-RESUME-REPLAY",
                     "replay=%s has lost %" PRIi64 " steps that it had at this checkpoint", url,
                     -ahead->steps);
    } else {
        oct_log_notice("LEARNER-RESUME-REPLAY",
                       "replay holds %" PRIi64
                       " steps from after this checkpoint, and sampled %" PRIu64
                       " batches that were not learned from: %s",
                       ahead->steps, ahead->batches,
                       ahead->returned > 0 ? "they are sampled again" : "none is sampled again");
    }
}

// Logs that replay was started again with another table.
static void
table_warn(bool is_in_memory, bool is_earlier, uint64_t steps)
{
    oct_log_warn("LEARNER-REPLAY-TABLE",
                 "replay's table is %s, with %" PRIu64 " steps that count from now on; %s",
                 is_earlier ? "an older table of the run" : "a new one", steps,
                 is_in_memory && !is_earlier
                     ? "with replay.path none a table is lost when its octet-replay ends"
                     : "was octet-replay started again with the right --path?");
}

wire_configure
learner_run_configure(const learner_run *run, uint32_t member, bool limiter_only)
{
    return learner_batches_configure(run->batches, member, limiter_only);
}

// Logs what a resumed run finds in a replay, and returns true if its table is another one than
// before.
static bool
table_look(learner_run *run, uint32_t member, oct_err err, const wire_configured *answer)
{
    const learner_source *source = learner_run_source(run, member);
    bool was_known = learner_source_found(source).is_known;
    uint64_t table = learner_source_place_after(source, 0).table;
    uint64_t steps = learner_source_count(source).steps;
    bool is_earlier = answer != NULL && learner_source_had(source, answer->table);
    learner_batches_configured(run->batches, member, err, answer);
    learner_source_ahead ahead = learner_source_found(source);
    bool is_other = table != learner_source_place_after(source, 0).table;
    bool is_in_memory = strcmp(run->config->replay.path, "none") == 0;
    if (ahead.is_known && !was_known) {
        char url[CONFIG_TEXT_MAX];
        config_replay_address(run->config, member, url);
        ahead_log(&ahead, url, is_in_memory);
    } else if (is_other && table != 0) {
        table_warn(is_in_memory, is_earlier, learner_source_count(source).steps - steps);
    }
    return is_other;
}

// Steps that replay took after the checkpoint count as any, but how long they took is unknown.
// Rates in metrics.csv, and what this process counts, are of later steps.
static void
steps_found(learner_run *run, const learner_source *source)
{
    uint64_t found = learner_progress_steps_of(run->progress, learner_source_count(source).steps);
    learner_progress_found(run->progress, found);
    learner_report_found(run->report, found);
}

oct_err
learner_run_table(const learner_run *run, uint32_t member, uint64_t table, oct_reason *why)
{
    for (uint32_t s = 0; s < config_shards(run->config); s++) {
        const learner_source *other = learner_batches_source(run->batches, s);
        bool has_it = table != 0 && (learner_source_place_after(other, 0).table == table ||
                                     learner_source_had(other, table));
        if (member != s && has_it) {
            char address[CONFIG_TEXT_MAX];
            config_replay_address(run->config, s, address);
            return oct_refuse(
                why,
                "replay has the table of shard %u (%s), where its steps are counted: each shard "
                "must keep its file (--path) and its position in net.replay",
                s, address);
        }
    }
    return OCT_OK;
}

void
learner_run_configured(learner_run *run, uint32_t member, oct_err err,
                       const wire_configured *answer)
{
    if (learner_batches_is_data(run->batches, member)) { // checkpoints have nothing of it
        learner_batches_configured(run->batches, member, err, answer);
        return;
    }
    const learner_source *source = learner_run_source(run, member);
    bool is_first = learner_source_count(source).incarnation == 0;
    // Windows that are drawn before a checkpoint knows the table could not be drawn again.
    bool is_new = table_look(run, member, err, answer);
    if (is_first) {
        steps_found(run, source);
    }
    if (is_new && run->config->learner.checkpoint_s > 0 && !run->pace->repeats) {
        learner_run_checkpoint(run);
    }
}

// ---- requests and answers

// Logs which shards do not answer, so that batches have no windows of them, and which answer again.
// A shard that has not answered yet, as all at first, is not away.
static void
shards_look(learner_run *run)
{
    for (uint32_t s = 0; s < config_shards(run->config); s++) {
        bool is_away = (run->shards_away & (1u << s)) != 0;
        bool is_used = learner_batches_is_used(run->batches, s);
        bool is_lost = learner_source_is_lost(learner_run_source(run, s));
        if (is_used != is_away) {
            continue;
        }
        double share = learner_batches_share(run->batches, s);
        if (is_lost && !is_away && share > 0) {
            run->shards_away |= 1u << s;
            oct_log_warn("LEARNER-SHARD-AWAY",
                         "shard=%u share=%.3f of all windows; the run continues without them; %.3f "
                         "are missing now",
                         s, share, learner_batches_missing(run->batches));
        } else if (is_used && is_away) {
            run->shards_away &= ~(1u << s);
            oct_log_notice("LEARNER-SHARD-BACK", "shard=%u share=%.3f of all windows", s, share);
        }
    }
}

// Hands over recent observations, on which the quantised policy is compared with fp32.
static void
probe_renew(learner_run *run, const learner_batch *batch, uint64_t now_ns)
{
    if (now_ns - run->probe_ns > PROBE_PERIOD_NS) {
        run->probe_ns = now_ns;
        uint32_t rows_max = run->config->learner.probe_rows;
        float *obs = oct_alloc((size_t)rows_max * batch->obs_count * sizeof(float));
        uint32_t rows = learner_batch_probe(batch, rows_max, obs);
        quantizer_stage_set_probe(learner_publisher_stage(run->publisher), obs, rows);
        free(obs);
    }
}

// Passes complete batches to the training thread, and returns their number.
static uint32_t
batches_pass(learner_run *run, uint64_t now_ns)
{
    uint32_t count = 0;
    learner_batch *batch;
    double share = run->pace->share(run->pacer);
    bool may_request = run->pace->may_request(run->pacer);
    while ((batch = learner_batches_take(run->batches, share, may_request)) != NULL) {
        probe_renew(run, batch, now_ns);
        learner_train_put(run->train, batch);
        count++;
    }
    return count;
}

uint32_t
learner_run_request(learner_run *run, uint32_t member, wire_sample *out)
{
    if (!learner_progress_is(run->progress, LEARNER_TRAINING) ||
        !run->pace->may_request(run->pacer)) {
        return 0;
    }
    uint64_t now_ns = oct_clock_ns(), newest = learner_publisher_version(run->publisher);
    shards_look(run);
    uint32_t requested = learner_batches_request(run->batches, member, newest, now_ns, out);
    if (requested > 0 && run->pace->request != NULL) {
        run->pace->request(run->pacer, out);
    }
    (void)batches_pass(run, now_ns); // those that waited, and have no window that is too old
    return requested;
}

void
learner_run_missed(learner_run *run, uint32_t member, uint32_t requested)
{
    learner_batches_missed(run->batches, member, requested, oct_clock_ns());
    run->pace->answered(run->pacer, NULL, 0);
}

bool
learner_run_tell(learner_run *run, uint32_t member, bool is_late, wire_sample *out)
{
    return learner_progress_is(run->progress, LEARNER_TRAINING) &&
           learner_batches_tell(run->batches, member, is_late, oct_clock_ns(), out);
}

oct_err
learner_run_counters(learner_run *run, uint32_t member, const wire_sampled *sampled)
{
    oct_err err = learner_source_heard(learner_run_source(run, member), sampled);
    if (err == OCT_EAGAIN) {
        run->pace->table_lost(run->pacer);
    }
    return learner_progress_is(run->progress, LEARNER_TRAINING) ? err : OCT_OK;
}

oct_err
learner_run_sampled(learner_run *run, uint32_t member, uint32_t requested,
                    const wire_sampled *sampled)
{
    if (!learner_progress_is(run->progress, LEARNER_TRAINING)) {
        learner_run_missed(run, member, requested);
        return OCT_OK;
    }
    uint64_t now_ns = oct_clock_ns();
    oct_err err = learner_batches_sampled(run->batches, member, requested, sampled, now_ns);
    learner_train_set_env_steps(run->train, learner_progress_now(run->progress).env_steps);
    learner_train_set_share(run->train, run->pace->share(run->pacer));
    if (err != OCT_OK && err != OCT_EAGAIN &&
        learner_source_count(learner_run_source(run, member)).bad_samples == 1) {
        oct_log_warn("LEARNER-BAD-SAMPLE",
                     "the reply of %s does not fit: %s; further such replies are only counted",
                     learner_batches_is_data(run->batches, member) ? "the data set's replay"
                                                                   : "replay",
                     oct_strerror(err));
    }
    uint32_t count = batches_pass(run, now_ns);
    run->pace->answered(run->pacer, err == OCT_OK ? sampled : NULL, count);
    if (err == OCT_EAGAIN) {
        run->pace->table_lost(run->pacer);
    }
    return err == OCT_EAGAIN && learner_progress_is(run->progress, LEARNER_TRAINING) ? err : OCT_OK;
}

// ---- priorities

bool
learner_run_priorities(learner_run *run, uint32_t member, wire_priorities *out)
{
    learner_source *source = learner_run_source(run, member);
    return source != NULL && learner_source_is_configured(source) &&
           learner_source_has_priorities(source) && run->pace->may_return(run->pacer) &&
           learner_source_priorities(source, out);
}

void
learner_run_returned(learner_run *run, oct_err err, const char *detail)
{
    if (run->pace->returned != NULL) {
        run->pace->returned(run->pacer, err, detail);
    }
}

// ---- hashes of lock-step

bool
learner_run_digest(learner_run *run, wire_digest_request *out)
{
    return run->pace->digest != NULL && run->pace->digest(run->pacer, out);
}

void
learner_run_digested(learner_run *run, oct_err err, const char *detail, const wire_digest *digest)
{
    run->pace->digested(run->pacer, err, detail, digest);
    run->tallies.is_unkept = learner_run_unkept(run) != NULL;
}

const char *
learner_run_unkept(const learner_run *run)
{
    return run->pace->unkept != NULL ? run->pace->unkept(run->pacer) : NULL;
}

// ---- batches that were learned from

bool
learner_run_asks_origin(learner_run *run, uint32_t member, wire_priorities *out)
{
    return learner_refusals_ask(run->refusals, member, run->run_id, run->options.epoch, out);
}

void
learner_run_origin(learner_run *run, const wire_sessions *answer)
{
    learner_refusals_answered(run->refusals, answer, run->actors);
}

void
learner_run_collect(learner_run *run)
{
    if (run->train == NULL) {
        return;
    }
    uint64_t now_ns = oct_clock_ns();
    learner_batch *batch;
    while ((batch = learner_train_take(run->train)) != NULL) {
        learner_progress_updated(run->progress, batch->updates);
        if (batch->learned) {
            learner_report_update(run->report, batch->numbers);
        } else if (batch->refused != OCT_OK) {
            learner_refusals_note(run->refusals, batch, &run->spec, run->batches);
        }
        learner_batches_give(run->batches, batch, now_ns);
        if (run->pace->learned != NULL) {
            run->pace->learned(run->pacer);
        }
    }
    learner_state_bytes *state = learner_train_take_state(run->train);
    if (state != NULL) {
        run->pace->state(run->pacer, state);
    }
}
