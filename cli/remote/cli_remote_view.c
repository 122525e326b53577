// What is known of a run on other hosts, as lines for a person.

#include "cli/remote/cli_remote_view.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli_text.h"
#include "cli/remote/cli_waiting.h"

#define LABEL_CELLS 11
#define SILENT_MAX  3 // that are named

// The lines so far; the last is being made.
typedef struct view {
    const cli_remote_state *state;
    char *out;
    size_t size, used, count;
    size_t width; // of a line; paragraphs are of CLI_REMOTE_VIEW_WIDTH
    cli_line line;
} view;

static void
line_begin(view *v, const char *label)
{
    cli_line_init(&v->line, v->width);
    cli_line_add(&v->line, "%s", label);
    cli_line_pad(&v->line, LABEL_CELLS);
}

static void
line_end(view *v)
{
    int length = snprintf(v->out + v->used, v->size - v->used, "%s\n", v->line.bytes);
    if (length > 0 && (size_t)length < v->size - v->used) {
        v->used += (size_t)length;
        v->count++;
    } else {
        v->out[v->used] = '\0';
    }
}

// text over as many lines as it needs, broken between words.
static void
paragraph(view *v, const char *label, const char *text)
{
    const size_t room = CLI_REMOTE_VIEW_WIDTH - LABEL_CELLS;
    do {
        size_t length = strlen(text);
        if (length > room) {
            for (length = room; length > 0 && text[length] != ' '; length--) {
            }
            length = length == 0 ? room : length;
        }
        line_begin(v, label);
        cli_line_add(&v->line, "%.*s", (int)length, text);
        line_end(v);
        text += length;
        text += strspn(text, " ");
        label = "";
    } while (*text != '\0');
}

// " · before value after", if the value is known.
static void
add(view *v, const char *before, const char *value, const char *after)
{
    if (strcmp(value, "-") != 0) {
        const char *between = v->line.cells > LABEL_CELLS ? " · " : "";
        cli_line_add(&v->line, "%s%s%s%s", between, before, value, after);
    }
}

static double
learner_number(const view *v, const char *name)
{
    return cli_remote_state_number(&v->state->learner, name);
}

static double
replay_number(const view *v, const char *name)
{
    return cli_remote_state_number(&v->state->replay, name);
}

// ---- parts

static void
view_head(view *v)
{
    const cli_remote_state *state = v->state;
    line_begin(v, "run");
    add(v, "", state->env[0] != '\0' ? state->env : "-", "");
    if (state->learner.heard) {
        add(v, "", state->learner.state, "");
        add(v, "", cli_text_seconds(learner_number(v, "learner.wall_s")).text, "");
        cli_line_add(&v->line, " · id %016" PRIx64, state->run_id);
    } else {
        add(v, "", "not known", "");
    }
    line_end(v);
}

static void
view_learner(view *v)
{
    const cli_daemon_state *learner = &v->state->learner;
    line_begin(v, "learner");
    cli_line_add(&v->line, "%s", learner->url);
    line_end(v);
    if (!learner->heard) {
        paragraph(v, "", learner->why);
        return;
    }
    line_begin(v, "");
    add(v, "", cli_text_count(learner_number(v, "learner.updates_per_s")).text, " updates/s");
    add(v, "", cli_text_count(learner_number(v, "learner.env_steps")).text, " env steps");
    add(v, "policy version ", cli_text_count(learner_number(v, "learner.policy_version")).text, "");
    add(v, "waits ", cli_text_share(learner_number(v, "learner.wait_share")).text, "");
    line_end(v);
}

static void
view_replay(view *v)
{
    const cli_daemon_state *replay = &v->state->replay;
    line_begin(v, "replay");
    cli_line_add(&v->line, "%s", replay->url[0] != '\0' ? replay->url : "not known where");
    line_end(v);
    if (!replay->heard) {
        paragraph(v, "", replay->why);
        return;
    }
    line_begin(v, "");
    char size[2 * CLI_TEXT_NUMBER_MAX + 16];
    (void)snprintf(size, sizeof(size), "%s of %s rows",
                   cli_text_count(replay_number(v, "replay.rows")).text,
                   cli_text_count(replay_number(v, "replay.capacity")).text);
    add(v, "", isnan(replay_number(v, "replay.rows")) ? "-" : size, "");
    add(v, "", cli_text_count(replay_number(v, "replay.insert_rate")).text, " inserts/s");
    add(v, "", cli_text_count(replay_number(v, "replay.sample_rate")).text, " samples/s");
    line_end(v);
    if (!isnan(replay_number(v, "replay.insert_wait_share"))) {
        line_begin(v, "");
        add(v, "", cli_text_value(replay_number(v, "replay.samples_per_insert")).text,
            " per insert");
        add(v, "inserts held back ",
            cli_text_share(replay_number(v, "replay.insert_wait_share")).text, "");
        add(v, "samples held back ",
            cli_text_share(replay_number(v, "replay.sample_wait_share")).text, "");
        line_end(v);
    }
    if (strcmp(replay->state, "serving") != 0) {
        paragraph(v, "", replay->state);
    }
}

static cli_plain_text
peer_name(const cli_peer *peer)
{
    char text[CLI_TEXT_PLAIN_MAX];
    int length = snprintf(text, sizeof(text), "%s/%u %08x", peer->host, (unsigned)peer->pid,
                          (unsigned)peer->id);
    return cli_text_plain(text, length < 0 ? 0 : OCT_MIN((size_t)length, sizeof(text) - 1));
}

// The live actor with the least (greatest) of a number, NULL: nobody has one.
static const cli_peer *
extreme_actor(const cli_remote_state *state, size_t offset, bool greatest)
{
    const cli_peer *found = NULL;
    double best = NAN;
    for (size_t i = 0; i < state->peer_count; i++) {
        const cli_peer *peer = &state->peer[i];
        double value;
        memcpy(&value, (const char *)peer + offset, sizeof(value));
        bool better = isnan(best) || (greatest ? value > best : value < best);
        if (peer->role == WIRE_ROLE_ACTOR && !peer->is_silent && !isnan(value) && better) {
            found = peer;
            best = value;
        }
    }
    return found;
}

static void
view_extremes(view *v)
{
    const cli_remote_state *state = v->state;
    const cli_peer *slowest = extreme_actor(state, offsetof(cli_peer, steps_per_s), false);
    const cli_peer *farthest = extreme_actor(state, offsetof(cli_peer, lag_versions), true);
    if (slowest != NULL && state->actors > 1) {
        line_begin(v, "  slowest");
        cli_line_add(&v->line, "%s: %s env steps/s of %s in the mean", peer_name(slowest).text,
                     cli_text_count(slowest->steps_per_s).text,
                     cli_text_count(state->env_steps_per_s / state->actors).text);
        line_end(v);
    }
    if (farthest != NULL && farthest->lag_versions > 0) {
        line_begin(v, "  behind");
        cli_line_add(&v->line, "%s: %.0f version%s", peer_name(farthest).text,
                     farthest->lag_versions, farthest->lag_versions == 1 ? "" : "s");
        if (!isnan(farthest->lag_updates)) {
            cli_line_add(&v->line, ", %s updates", cli_text_count(farthest->lag_updates).text);
        }
        line_end(v);
    }
}

static void
view_silent(view *v)
{
    const cli_remote_state *state = v->state;
    uint32_t shown = 0;
    for (size_t i = 0; i < state->peer_count && shown < SILENT_MAX; i++) {
        const cli_peer *peer = &state->peer[i];
        if (peer->is_silent) {
            line_begin(v, shown == 0 ? "  silent" : "");
            cli_line_add(&v->line, "%s: not heard for %s", peer_name(peer).text,
                         cli_text_seconds(peer->heard_s).text);
            line_end(v);
            shown++;
        }
    }
    if (state->silent > shown) {
        line_begin(v, shown == 0 ? "  silent" : "");
        cli_line_add(&v->line, "%u more", (unsigned)(state->silent - shown));
        line_end(v);
    }
}

static void
view_actors(view *v)
{
    const cli_remote_state *state = v->state;
    if (!state->has_peers) {
        paragraph(v, "actors", state->peers_why);
        return;
    }
    line_begin(v, "actors");
    cli_line_add(&v->line, "%u", (unsigned)state->actors);
    if (state->actors > 0) {
        add(v, "", cli_text_count(state->env_steps_per_s).text, " env steps/s");
        add(v, "lag ", cli_text_value(state->lag_mean).text, "");
        add(v, "infer ", cli_text_share(learner_number(v, "learner.actor_infer_share")).text, "");
        add(v, "env ", cli_text_share(learner_number(v, "learner.actor_env_share")).text, "");
        add(v, "wait ", cli_text_share(learner_number(v, "learner.actor_wait_share")).text, "");
    }
    line_end(v);
    view_extremes(v);
    view_silent(v);
}

static void
view_evaluator(view *v)
{
    if (!v->state->learner.heard) {
        return;
    }
    line_begin(v, "evaluator");
    cli_line_add(&v->line, "%s",
                 !v->state->has_peers        ? "not known"
                 : v->state->evaluators == 0 ? "none: no return is measured"
                                             : "");
    if (v->state->evaluators > 0) {
        cli_line_add(&v->line, "%u", (unsigned)v->state->evaluators);
    }
    add(v, "", cli_text_count(learner_number(v, "learner.evaluations")).text, " evaluations");
    add(v, "last return ", cli_text_value(learner_number(v, "learner.eval_return")).text, "");
    add(v, "best ", cli_text_value(learner_number(v, "learner.eval_best")).text, "");
    add(v, "goal ", cli_text_value(learner_number(v, "learner.goal")).text, "");
    line_end(v);
}

static void
column(view *v, size_t from, size_t width, const char *text)
{
    size_t cells = strlen(text);
    cli_line_pad(&v->line, from + (cells < width ? width - cells : 0));
    cli_line_add(&v->line, "%s", text);
}

static void
view_peer(view *v, const cli_peer *peer)
{
    bool acts = peer->role == WIRE_ROLE_ACTOR;
    char name[CLI_TEXT_PLAIN_MAX + 16];
    (void)snprintf(name, sizeof(name), "%s/%u",
                   cli_text_plain(peer->host, OCT_MIN(strlen(peer->host), (size_t)16)).text,
                   (unsigned)peer->pid);
    cli_line_init(&v->line, v->width);
    cli_line_add(&v->line, "%s", acts ? "actor" : "evaluator");
    cli_line_pad(&v->line, 10);
    cli_line_add(&v->line, "%s", name);
    column(v, 35, 8, cli_text_seconds(peer->heard_s).text);
    column(v, 44, 7, cli_text_count(peer->steps_per_s).text);
    column(v, 52, 6, cli_text_count(peer->lag_versions).text);
    column(v, 59, 7, cli_text_count(peer->lag_updates).text);
    column(v, 67, 5, cli_text_share(peer->wait_share).text);
    column(v, 73, 6, cli_text_count(peer->unacked).text);
    line_end(v);
}

static void
view_peers(view *v)
{
    const cli_remote_state *state = v->state;
    if (state->peer_count == 0) {
        return;
    }
    cli_line_init(&v->line, v->width);
    line_end(v);
    cli_line_init(&v->line, v->width);
    cli_line_add(&v->line, "%s",
                 "peer      host/pid                    heard steps/s    lag updates  wait  unack");
    line_end(v);
    size_t shown = OCT_MIN(state->peer_count, (size_t)CLI_REMOTE_VIEW_PEERS);
    for (size_t i = 0; i < shown; i++) {
        view_peer(v, &state->peer[i]);
    }
    size_t all = (size_t)state->actors + state->evaluators + state->silent;
    if (all > shown) {
        cli_line_init(&v->line, v->width);
        cli_line_add(&v->line, "… %zu more, with less trouble", all - shown);
        line_end(v);
    }
}

size_t
cli_remote_text(const cli_remote_state *state, size_t width, char *out, size_t out_size)
{
    OCT_ASSERT(out_size > 0);
    view v = {.state = state, .out = out, .size = out_size, .width = width};
    cli_waiting waiting;
    out[0] = '\0';
    cli_waiting_judge(&waiting, state);
    view_head(&v);
    view_learner(&v);
    view_replay(&v);
    view_actors(&v);
    view_evaluator(&v);
    paragraph(&v, "waiting", waiting.text);
    view_peers(&v);
    return v.count;
}
