// Derives rates, warnings and the curve of evaluations from several answers of a run.
//
// There is one warning at a time, the most certain and most urgent. judge asks in this order: a
// daemon that hangs; files that cannot be written; batches that replay rejected recently; a peer
// that is stuck or cut off; no environment step, no step of an evaluation or no actor for a while;
// refused updates; targets outside the atoms' range; and what happened long ago. Steps that are not
// counted for a known reason (the limiter holds the actors back, the learner has enough to learn
// from) are no warning.

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli_text.h"
#include "cli/status/cli_snapshot.h"
#include "common/oct_base.h"
#include "common/oct_text.h"
#include "learner/learner_atoms_warning.h"

// share of time without a batch, from which on the learner counts as waiting
#define STARVED_SHARE 0.5
// seconds without news of an evaluation; evaluators report twice a second
#define EVALUATION_QUIET_S 20
#define LOG_MAX            32 // bytes of a log's name
#define HOST_CELLS         32 // of a peer's name
// share of time in which replay holds inserts back; from there on actors wait by design
#define HELD_SHARE 0.2

// Adds an evaluation to the curve, which drops every second point when it is full.
static void
point_add(cli_snapshot *state, double value)
{
    if (state->point_count == CLI_SNAPSHOT_POINTS_MAX) {
        state->point_count /= 2;
        for (size_t i = 0; i < state->point_count; i++) {
            state->point_return[i] = state->point_return[2 * i];
        }
    }
    state->point_return[state->point_count++] = value;
}

// Sets a rate that is not known or 0, from the growth of its counter.
static void
fill_rate(cli_snapshot *state, const char *rate, double first, double count, double span_s)
{
    if (!(cli_snapshot_number(state, rate) > 0) && count > first && span_s > 0) {
        cli_snapshot_put(state, rate, (count - first) / span_s);
    }
}

// A learner that has just started reports rates of 0 until its first window is over.
static void
fill_rates(cli_snapshot *state, double wall_s)
{
    double env_steps = cli_snapshot_number(state, "learner.env_steps");
    double updates = cli_snapshot_number(state, "learner.updates");
    double bytes = cli_snapshot_number(state, "learner.published_bytes");
    if (!(env_steps >= state->first_env_steps)) { // the first answer, or the learner started again
        state->first_s = wall_s;
        state->first_env_steps = env_steps;
        state->first_updates = updates;
        state->first_published_bytes = bytes;
    }
    double span_s = wall_s - state->first_s;
    fill_rate(state, "learner.env_steps_per_s", state->first_env_steps, env_steps, span_s);
    fill_rate(state, "learner.updates_per_s", state->first_updates, updates, span_s);
    fill_rate(state, "learner.published_bytes_per_s", state->first_published_bytes, bytes, span_s);
}

// Sets the warning. log: the file in the run folder that says more; a run on other hosts has none.
OCT_PRINTF(3, 4)
static void
warn(cli_snapshot *state, const char *log, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(state->warning, sizeof(state->warning), format, args);
    va_end(args);
    size_t used = strlen(state->warning);
    if (state->folder[0] != '\0') {
        (void)snprintf(state->warning + used, sizeof(state->warning) - used, " (%s)", log);
    }
}

// Writes the name of the log of a shard's replay. Returns out.
static const char *
shard_log(uint32_t shard, char out[LOG_MAX])
{
    char number[16] = "";
    if (shard > 0) {
        (void)snprintf(number, sizeof(number), "-%u", (unsigned)shard);
    }
    (void)snprintf(out, LOG_MAX, "log/replay%s.log", number);
    return out;
}

// Warns of a table that cannot be written (docs/reference.md: disk_state). False: there is none.
static bool
judge_disk(cli_snapshot *state)
{
    char log[LOG_MAX];
    for (uint32_t i = 0; i < OCT_MAX(state->shards, 1); i++) {
        double disk = cli_snapshot_number_of(cli_snapshot_shard(state, i), "replay.disk_state");
        (void)shard_log(i, log);
        if (disk == CLI_DISK_FULL) {
            warn(state, log,
                 "replay has no room for its table, so inserts wait; is the disk full?");
            return true;
        }
        if (disk == CLI_DISK_FAILING) {
            warn(state, log, "replay's table cannot be written; is the disk full?");
            return true;
        }
    }
    return false;
}

static void
warn_rejected(cli_snapshot *state)
{
    uint32_t shard;
    char log[LOG_MAX];
    const char *why;
    double rejected = cli_snapshot_rejected(state, &shard, &why);
    warn(state, shard_log(shard, log), "replay rejected %.0f batch%s%s%s", rejected,
         rejected == 1 ? "" : "es", why[0] != '\0' ? ": " : "", why);
}

// Notes when replay last rejected a batch.
static void
note_rejected(cli_snapshot *state, double wall_s)
{
    double rejected = cli_snapshot_number(state, "replay.rejected");
    state->rejected_s = rejected > state->rejected_count ? wall_s : state->rejected_s;
    state->rejected_count = rejected;
}

// Warns of targets that lie outside the atoms. Nothing is broken, so this comes last.
static void
judge_cut(cli_snapshot *state, const char *number, const char *where)
{
    double share = cli_snapshot_number(state, number);
    if (share >= LEARNER_ATOMS_WARNING_SHARE) {
        warn(state, "log/learner.log", "targets lie %s, by %.1f %% of the atoms' range", where,
             100 * share);
    }
}

// Warns of a peer that is stuck, or that gets no acknowledgements. False: there is none.
static bool
judge_peers(cli_snapshot *state)
{
    char ailment[CLI_SNAPSHOT_AILMENT_MAX], more[64] = "";
    const cli_peer *peer = cli_snapshot_peer_with(state, WIRE_PEER_STUCK);
    double stuck = cli_snapshot_number(state, "learner.actors_stuck");
    if (peer == NULL && stuck > 0) { // only numbers are known, because the peers were not asked for
        warn(state, "log/actor-*.log", "%.0f actor%s stuck in a step of the environment", stuck,
             stuck == 1 ? " is" : "s are");
        return true;
    }
    if (peer != NULL && state->stuck > 1) {
        (void)snprintf(more, sizeof(more), ", and %u more", (unsigned)(state->stuck - 1));
    }
    peer = peer != NULL ? peer : cli_snapshot_peer_with(state, WIRE_PEER_UNACKED);
    if (peer != NULL) {
        warn(state, peer->role == WIRE_ROLE_ACTOR ? "log/actor-*.log" : "log/evaluator.log",
             "%s %s%s: %s%s", peer->role == WIRE_ROLE_ACTOR ? "actor" : "evaluator",
             cli_text_process(peer->host, HOST_CELLS, peer->pid).text,
             peer->health == WIRE_PEER_STUCK ? " is stuck" : " is cut off from replay",
             cli_snapshot_ailment(peer, ailment), more);
    }
    return peer != NULL;
}

// Warns of failed calls of environments, in actors and in evaluators, if there is no other warning.
static void
warn_failures(cli_snapshot *state)
{
    double failures = cli_snapshot_number(state, "learner.env_failures");
    if (state->warning[0] == '\0' && failures > 0) {
        warn(state, "log/actor-*.log", "%.0f environment step%s failed and %s left out", failures,
             oct_text_plural(failures), failures == 1 ? "was" : "were");
    }
    double in_evaluators = cli_snapshot_number(state, "learner.evaluation_failures");
    if (state->warning[0] == '\0' && in_evaluators > 0) {
        warn(state, "log/evaluator.log",
             "%.0f step%s or reset%s of environments failed in evaluations", in_evaluators,
             oct_text_plural(in_evaluators), oct_text_plural(in_evaluators));
    }
}

// Sets state->warning; see the head of this file.
static void
judge(cli_snapshot *state, double wall_s)
{
    static const char actor_log[] = "log/actor-0.log";
    double env_steps = cli_snapshot_number(state, "learner.env_steps");
    bool is_training = strcmp(state->learner.state, "training") == 0;
    bool is_held = cli_snapshot_number(state, "replay.insert_wait_share") >= HELD_SHARE;
    // Where actors wait for each version, they wait for a learner that is busy with what it has,
    // also during a single long update.
    double updates = cli_snapshot_number(state, "learner.updates");
    double wait_share = cli_snapshot_number(state, "learner.wait_share");
    bool is_learning = wait_share <= STARVED_SHARE ||
                       (updates > state->updates_count && !(wait_share > STARVED_SHARE));
    state->updates_count = updates;
    if (!is_training || is_held || is_learning || env_steps != state->stepped_count) {
        state->stepped_s = wall_s;
        state->stepped_count = env_steps;
    }
    if (!is_training || cli_snapshot_actors(state) > 0) {
        state->reported_s = wall_s;
    }
    note_rejected(state, wall_s);
    double quiet_s = wall_s - state->stepped_s;
    double refused = cli_snapshot_number(state, "learner.updates_refused");
    state->warning[0] = '\0';
    if (state->hang[0] != '\0') {
        (void)snprintf(state->warning, sizeof(state->warning), "%s", state->hang);
    } else if (cli_snapshot_number(state, "learner.unsaved") > 0) {
        warn(state, "log/learner.log",
             "a file of the run folder cannot be written; is the disk full?");
    } else if (judge_disk(state)) {
        return;
    } else if (state->rejected_count > 0 && wall_s - state->rejected_s < state->quiet_max_s) {
        warn_rejected(state); // steps that are rejected look as if no environment stepped
    } else if (judge_peers(state)) {
        return;
    } else if (quiet_s >= state->quiet_max_s) {
        warn(state, actor_log, "no environment step for %.0f s; does the environment hang?",
             quiet_s);
    } else if (cli_snapshot_number(state, "learner.eval_quiet_s") >= EVALUATION_QUIET_S) {
        warn(state, "log/evaluator.log",
             "no step of an evaluation for %.0f s; does the environment hang?",
             cli_snapshot_number(state, "learner.eval_quiet_s"));
    } else if (cli_snapshot_actors(state) ==
                   0 && // one answer shows it, but not at the beginning of a run
               wall_s - state->reported_s >= state->quiet_max_s) {
        warn(state, actor_log, "no actor has reported for %.0f s; does the environment hang?",
             state->quiet_max_s);
    } else if (is_training && !is_held &&
               cli_snapshot_number(state, "learner.wall_s") >= state->quiet_max_s &&
               cli_snapshot_number(state, "learner.env_steps_per_s") == 0 &&
               wait_share > STARVED_SHARE) {
        warn(state, actor_log,
             "the learner waits and no environment steps; does the environment hang?");
    } else if (refused > 0) {
        warn(state, "log/learner.log", "%.0f updates were refused and changed nothing", refused);
    } else if (is_training && updates >= LEARNER_ATOMS_WARNING_UPDATES) {
        judge_cut(state, "learner.cut_below", "below algo.value_min");
        judge_cut(state, "learner.cut_above", "above algo.value_max");
    }
    if (state->warning[0] == '\0' && state->rejected_count > 0) { // rejected long ago
        warn_rejected(state);
    }
    warn_failures(state);
}

bool
cli_snapshot_update(cli_snapshot *state, double wall_s)
{
    state->wall_s = wall_s;
    fill_rates(state, wall_s);
    judge(state, wall_s);
    double evaluations = cli_snapshot_number(state, "learner.evaluations");
    double mean = cli_snapshot_number(state, "learner.eval_return");
    bool is_new = !isnan(evaluations) && evaluations > 0 &&
                  evaluations != state->evaluations_seen && isfinite(mean);
    if (is_new) {
        state->evaluations_seen = evaluations;
        point_add(state, mean);
    }
    return is_new;
}
