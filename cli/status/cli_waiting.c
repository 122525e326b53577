// Judges which part of a run waits for which, and says why in one sentence.

#include "cli/status/cli_waiting.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli_text.h"
#include "common/oct_base.h"
#include "common/oct_text.h"

// Sets the verdict: who waits, for whom, for which share of the time (NaN: unknown), and the
// sentence.
OCT_PRINTF(5, 6)
static void
judge(cli_waiting *out, const char *who, const char *for_whom, double share, const char *format,
      ...)
{
    va_list args;
    va_start(args, format);
    out->who = who;
    out->for_whom = for_whom;
    out->share = share;
    (void)vsnprintf(out->text, sizeof(out->text), format, args);
    va_end(args);
}

// Returns the greater of two shares, either of which may be unknown. NaN: both are.
static double
greater(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : OCT_MAX(a, b);
}

// After training everyone waits for the final evaluation.
static void
judge_final(cli_waiting *out, const cli_snapshot *state)
{
    double played = cli_snapshot_number(state, "learner.final_played");
    double most = cli_snapshot_number(state, "learner.final_most");
    char far[64] = "";
    if (most > 0) {
        (void)snprintf(far, sizeof(far), " (%.0f of at most %.0f episodes)", played, most);
    }
    if (cli_snapshot_evaluators(state) == 0) {
        judge(out, "everybody", "evaluator", NAN,
              "everybody waits for an evaluator: training has ended, and no evaluator is connected "
              "for the final evaluation");
    } else {
        judge(out, "everybody", "evaluator", NAN,
              "everybody waits for the evaluator: training has ended, and it plays the final "
              "evaluation%s",
              far);
    }
}

// Judges a run from a data set: there are no actors, and only replay can be waited for.
static void
judge_offline(cli_waiting *out, const cli_snapshot *state)
{
    double share = cli_snapshot_number(state, "learner.wait_share");
    if (!state->replay.heard && state->replay.why[0] != '\0') {
        judge(out, "learner", "replay", NAN,
              "replay does not answer from here (%s); if the learner cannot reach replay either, "
              "it waits",
              state->replay.why);
    } else if (share >= CLI_WAITING_LONG) {
        judge(out, "learner", "replay", share,
              "the learner waits for replay (%s of its time), which serves the data set: check "
              "replay's CPU, and whether the file is in memory",
              cli_text_share(share).text);
    } else {
        judge(out, "nobody", "", NAN,
              "nobody waits: the learner learns from a data set alone, without actors");
    }
}

// Judges a run in which a daemon is missing. False: none is.
static bool
judge_missing(cli_waiting *out, const cli_snapshot *state)
{
    const cli_daemon_state *learner = &state->learner, *replay = cli_snapshot_missing_replay(state);
    const cli_daemon_state *data = &state->data;
    if (!learner->heard && learner->why[0] == '\0') {
        judge(out, "unknown", "", NAN, "not known yet");
    } else if (!learner->heard) {
        judge(out, "unknown", "", NAN, "not known: the learner does not answer (%s)", learner->why);
    } else if (strcmp(learner->state, "waiting for an actor") == 0) {
        judge(out, "learner", "actors", NAN, "the learner waits for the first actor: %s",
              learner->refused[0] != '\0' ? "the learner refused every actor that registered"
                                          : "none has registered");
    } else if (strcmp(learner->state, "final evaluation") == 0) {
        judge_final(out, state);
    } else if (strcmp(learner->state, CLI_SNAPSHOT_OFFLINE) == 0) {
        judge_offline(out, state);
    } else if (strcmp(learner->state, "training") != 0) {
        judge(out, "nobody", "", NAN, "nobody waits: the run is over");
    } else if (replay != NULL && state->shards > 1) {
        judge(out, "actors", "replay", NAN,
              "replay's shard %s does not answer from here (%s); if its actors cannot reach it "
              "either, they wait, and the learner continues without its windows",
              replay->url, replay->why);
    } else if (replay != NULL) {
        judge(out, "everybody", "replay", NAN,
              "replay does not answer from here (%s); if learner and actors cannot reach replay "
              "either, they wait",
              replay->why);
    } else if (state->shards <= 1 &&
               cli_snapshot_number_of(&state->replay, "replay.disk_state") == CLI_DISK_FULL) {
        judge(out, "everybody", "replay", NAN,
              "learner and actors wait for replay: its disk has no room for the table; they "
              "continue once there is room");
    } else if (!data->heard && data->why[0] != '\0') {
        judge(out, "learner", "data", NAN,
              "the replay of the data set does not answer from here (%s); if the learner cannot "
              "reach it either, the learner waits",
              data->why);
    } else if (cli_snapshot_actors(state) == 0) {
        judge(out, "learner", "actors", NAN, "the learner waits for actors: none is connected%s",
              state->silent > 0 ? " any more" : "");
    } else {
        return false;
    }
    return true;
}

// Judges a run whose replay does not hold enough windows yet to begin. False: it does.
static bool
judge_filling(cli_waiting *out, const cli_snapshot *state)
{
    double inserts = cli_snapshot_number(state, "replay.inserts");
    double wanted = cli_snapshot_number(state, "replay.limiter.min_size");
    double rate = cli_snapshot_number(state, "replay.insert_rate");
    char arriving[CLI_TEXT_NUMBER_MAX + 32] = "";
    if (!(inserts < wanted)) {
        return false;
    }
    if (!isnan(rate)) {
        (void)snprintf(arriving, sizeof(arriving), ", and %s arrive each second",
                       cli_text_count(rate).text);
    }
    judge(out, "learner", "actors", NAN,
          "the learner waits for actors: replay holds %s of the first %s windows (min_size)%s",
          cli_text_count(inserts).text, cli_text_count(wanted).text, arriving);
    return true;
}

// Adds that the learner waits, too, for less time than the actors.
static void
add_learner(cli_waiting *out, double learner, double samples_held)
{
    size_t used = strlen(out->text);
    (void)snprintf(
        out->text + used, sizeof(out->text) - used,
        "; the learner itself waits %s of its time for samples%s", cli_text_share(learner).text,
        isnan(samples_held) || samples_held >= learner / 2
            ? ""
            : ", although the limiter admits most of them: check the network and replay's CPU");
}

// samples_held, inserts_held: shares of time in which the limiter held back; NaN: not known.
static void
judge_actors(cli_waiting *out, const cli_snapshot *state, double actors, double inserts_held)
{
    double wanted = cli_snapshot_number(state, "replay.limiter.samples_per_insert");
    double updates = cli_snapshot_number(state, "learner.updates_per_s");
    if (!(inserts_held >= CLI_WAITING_LONG / 2)) {
        judge(out, "actors", "replay", actors,
              "actors wait for replay (%s of their time): it acknowledges late, although its "
              "limiter does not hold them back; check the network and replay's CPU",
              cli_text_share(actors).text);
        return;
    }
    char batch[64] = "";
    if (!isnan(state->batch_size)) {
        (void)snprintf(batch, sizeof(batch), " of %s samples",
                       cli_text_count(state->batch_size).text);
    }
    judge(out, "actors", "learner", greater(actors, inserts_held),
          "actors wait for the learner (%s of their time): %g sample%s per insert %s wanted, and "
          "the learner does %s updates/s%s",
          cli_text_share(greater(actors, inserts_held)).text, wanted, oct_text_plural(wanted),
          wanted == 1 ? "is" : "are", cli_text_count(updates).text, batch);
}

// The learner waits: for the data set's replay, for a slow replay, or for the actors.
static void
judge_learner(cli_waiting *out, const cli_snapshot *state, double learner, double samples_held)
{
    double wanted = cli_snapshot_number(state, "replay.limiter.samples_per_insert");
    double inserts = cli_snapshot_number(state, "replay.insert_rate");
    double actors = cli_snapshot_actors(state);
    if (cli_snapshot_number(state, "learner.data_wait_s") >
        cli_snapshot_number(state, "learner.replay_wait_s")) {
        judge(out, "learner", "data", learner,
              "the learner waits for the replay of the data set (%s of its time), longer than for "
              "the live one: check the CPU of that replay, and whether the file is in memory",
              cli_text_share(learner).text);
        return;
    }
    if (!(samples_held >= CLI_WAITING_LONG / 2)) {
        judge(out, "learner", "replay", learner,
              "the learner waits for replay (%s of its time): samples come late, although the "
              "limiter does not hold them back; check the network and replay's CPU",
              cli_text_share(learner).text);
        return;
    }
    judge(out, "learner", "actors", greater(learner, samples_held),
          "the learner waits for actors (%s of its time): %g sample%s per insert %s wanted, and %s "
          "actor%s insert%s %s windows/s",
          cli_text_share(greater(learner, samples_held)).text, wanted, oct_text_plural(wanted),
          wanted == 1 ? "is" : "are", cli_text_count(actors).text, oct_text_plural(actors),
          actors == 1 ? "s" : "", cli_text_count(inserts).text);
}

// First rules out states in which the shares of time say nothing: a missing daemon, an end, a table
// that is still being filled. Then the side that waits longer is the subject, and the limiter's own
// shares tell whether the other side or replay is the cause.
void
cli_waiting_judge(cli_waiting *out, const cli_snapshot *state)
{
    if (judge_missing(out, state) || judge_filling(out, state)) {
        return;
    }
    double learner = cli_snapshot_number(state, "learner.wait_share");
    double actors = cli_snapshot_number(state, "learner.actor_wait_share");
    double inserts_held = cli_snapshot_number(state, "replay.insert_wait_share");
    double samples_held = cli_snapshot_number(state, "replay.sample_wait_share");
    double actors_wait = greater(actors, inserts_held);
    double learner_waits = greater(learner, samples_held);
    bool is_actors = actors_wait >= CLI_WAITING_LONG;
    bool is_learner = learner_waits >= CLI_WAITING_LONG;
    bool is_actors_first = is_actors && !(is_learner && learner_waits > actors_wait);
    // Whom they wait for follows from how long the limiter held them back, which replay knows once
    // its table has existed for a second.
    if ((is_actors || is_learner) && isnan(is_actors_first ? inserts_held : samples_held)) {
        judge(out, "unknown", "", NAN, "not known yet");
    } else if (is_actors_first) {
        judge_actors(out, state, actors, inserts_held);
        if (is_learner) {
            add_learner(out, learner_waits, samples_held);
        }
    } else if (is_learner) {
        judge_learner(out, state, learner, samples_held);
    } else {
        judge(out, "nobody", "", NAN,
              "nobody waits for long: the learner %s of its time, actors %s of theirs",
              cli_text_share(learner_waits).text, cli_text_share(actors_wait).text);
    }
}
