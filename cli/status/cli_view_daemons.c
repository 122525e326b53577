// Prints the learner, replay, the actors and other registered peers as lines of text.

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli_text.h"
#include "cli/status/cli_view.h"
#include "common/oct_text.h"
#include "net/net_url.h"

#define AILING_MAX 3 // peers of one state that are named

static double
number(const cli_view *view, const char *name)
{
    return cli_snapshot_number(view->state, name);
}

// Begins the lines of a daemon, with its address, and with the reason if nothing else is known.
// NULL: there was a reason. On one machine the sockets are in the run folder, and the address is
// left out.
static cli_line *
daemon_begin(cli_view *view, const char *label, const cli_daemon_state *daemon)
{
    bool is_local = net_url_is_ipc(daemon->url) && view->state->folder[0] != '\0';
    bool is_lost = !daemon->heard && daemon->why[0] != '\0';
    if (!is_local && (daemon->url[0] != '\0' || is_lost)) {
        cli_line_add(cli_view_begin(view, label), "%s",
                     daemon->url[0] != '\0' ? daemon->url : "address unknown");
        label = "";
    }
    if (is_lost) {
        cli_view_paragraph(view, label, daemon->why);
        return NULL;
    }
    return cli_view_begin(view, label);
}

// Prints the learner's rates. A ratio of 0 means that the policy is not quantised.
void
cli_view_learner(cli_view *view)
{
    cli_line *line = daemon_begin(view, "learner", &view->state->learner);
    if (line == NULL) {
        return;
    }
    double version = number(view, "learner.policy_version");
    double ratio = number(view, "learner.policy_bytes_fp32_ratio");
    char text[CLI_TEXT_NUMBER_MAX] = "-", share[CLI_TEXT_NUMBER_MAX] = "";
    if (isfinite(version)) {
        (void)snprintf(text, sizeof(text), "%.0f", version);
    }
    if (ratio > 0) {
        (void)snprintf(share, sizeof(share), ", 1/%.2g of fp32", 1 / ratio);
    }
    if (number(view, "learner.learners") > 1) {
        cli_view_add(line, "", cli_text_count(number(view, "learner.learners")).text, " learners");
    }
    if (isfinite(number(view, "learner.staleness"))) {
        cli_view_add(line, "staleness ", cli_text_value(number(view, "learner.staleness")).text,
                     "");
    }
    cli_view_add(line, "", cli_text_count(number(view, "learner.updates_per_s")).text,
                 " updates/s");
    cli_view_add(line, "waits ", cli_text_share(number(view, "learner.wait_share")).text, "");
    cli_view_add(line, "policy ", text, share);
    cli_view_add_known(line, "", cli_text_bytes(number(view, "learner.published_bytes_per_s")).text,
                       "/s");
}

// Prints replay's state, unless it says whom the limiter holds back: cli_waiting says that for a
// second, not for this instant.
static void
replay_state(cli_view *view, const cli_daemon_state *replay)
{
    bool is_serving = strcmp(replay->state, "serving") == 0 || strchr(replay->state, ':') != NULL;
    if (replay->state[0] != '\0' && !is_serving) {
        cli_view_paragraph(view, "", replay->state);
    }
}

// Lists the shards after the first that do not answer, with the reasons.
static void
shards_missing(cli_view *view)
{
    const cli_snapshot *state = view->state;
    for (uint32_t i = 1; i < state->shards; i++) {
        const cli_daemon_state *shard = &state->other_shard[i - 1];
        if (!shard->heard && shard->why[0] != '\0') {
            char text[2 * CLI_SNAPSHOT_TEXT_MAX + 32];
            (void)snprintf(text, sizeof(text), "shard %u, %s: %s", (unsigned)i, shard->url,
                           shard->why);
            cli_view_paragraph(view, "", text);
        }
    }
}

void
cli_view_replay(cli_view *view)
{
    const cli_daemon_state *replay = &view->state->replay;
    cli_line *line = daemon_begin(view, "replay", replay);
    if (line == NULL) {
        shards_missing(view);
        return;
    }
    if (view->state->shards > 1) {
        cli_view_add(line, "", cli_text_count(view->state->shards).text, " shards");
    }
    char size[2 * CLI_TEXT_NUMBER_MAX + 8];
    (void)snprintf(size, sizeof(size), "%s of %s rows",
                   cli_text_count(number(view, "replay.rows")).text,
                   cli_text_count(number(view, "replay.capacity")).text);
    cli_view_add(line, "", size, "");
    cli_view_add(line, "", cli_text_count(number(view, "replay.insert_rate")).text, " inserts/s");
    cli_view_add(line, "", cli_text_count(number(view, "replay.sample_rate")).text, " samples/s");
    line = cli_view_begin(view, "");
    cli_view_add(line, "", cli_text_value(number(view, "replay.samples_per_insert")).text,
                 " samples per insert");
    cli_line_add(line, " · held back: inserts %s, samples %s",
                 cli_text_share(number(view, "replay.insert_wait_share")).text,
                 cli_text_share(number(view, "replay.sample_wait_share")).text);
    replay_state(view, replay);
    shards_missing(view);
}

void
cli_view_data(cli_view *view)
{
    const cli_daemon_state *data = &view->state->data;
    cli_line *line = data->url[0] != '\0' ? daemon_begin(view, "data", data) : NULL;
    if (line != NULL) {
        double rows = cli_snapshot_number_of(data, "replay.rows");
        double rate = cli_snapshot_number_of(data, "replay.sample_rate");
        cli_view_add(line, "", cli_text_count(rows).text, " rows");
        cli_view_add(line, "", cli_text_count(rate).text, " samples/s");
        replay_state(view, data);
    }
}

// ---- actors

// Returns "host/pid id" with control characters replaced: the host is a text from the network.
static cli_plain_text
peer_name(const cli_peer *peer)
{
    char text[CLI_TEXT_PLAIN_MAX];
    int length = snprintf(text, sizeof(text), "%s/%u %08x", peer->host, (unsigned)peer->pid,
                          (unsigned)peer->id);
    return cli_text_plain(text, length < 0 ? 0 : OCT_MIN((size_t)length, sizeof(text) - 1));
}

// Returns the live actor with the smallest (greatest) value of a number, or NULL if none has one.
// offset: of the number in cli_peer.
static const cli_peer *
extreme_actor(const cli_snapshot *state, size_t offset, bool greatest)
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

// Names the slowest actor and the one with the oldest policy, which explain a low mean.
static void
view_extremes(cli_view *view)
{
    const cli_snapshot *state = view->state;
    const cli_peer *slowest = extreme_actor(state, offsetof(cli_peer, steps_per_s), false);
    const cli_peer *farthest = extreme_actor(state, offsetof(cli_peer, lag_versions), true);
    if (slowest != NULL && state->actors > 1) {
        cli_line_add(cli_view_begin(view, "  slowest"), "%s: %s env steps/s, the mean is %s",
                     peer_name(slowest).text, cli_text_count(slowest->steps_per_s).text,
                     cli_text_count(state->env_steps_per_s / state->actors).text);
    }
    if (farthest != NULL && farthest->lag_versions > 0) {
        cli_line *line = cli_view_begin(view, "  most lag");
        cli_line_add(line, "%s: %.0f version%s", peer_name(farthest).text, farthest->lag_versions,
                     oct_text_plural(farthest->lag_versions));
        if (!isnan(farthest->lag_updates)) {
            cli_line_add(line, ", %s updates", cli_text_count(farthest->lag_updates).text);
        }
    }
}

// Names the peers with this health, of which there are count.
static void
view_ailing(cli_view *view, wire_peer_health health, uint32_t count)
{
    const cli_snapshot *state = view->state;
    char label[16], text[CLI_TEXT_PLAIN_MAX + 2 + CLI_SNAPSHOT_AILMENT_MAX];
    char ailment[CLI_SNAPSHOT_AILMENT_MAX];
    uint32_t shown = 0;
    (void)snprintf(label, sizeof(label), "  %s", cli_snapshot_health_word(health));
    for (size_t i = 0; i < state->peer_count && shown < AILING_MAX; i++) {
        const cli_peer *peer = &state->peer[i];
        if (peer->health == health) {
            (void)snprintf(text, sizeof(text), "%s: %s", peer_name(peer).text,
                           cli_snapshot_ailment(peer, ailment));
            cli_view_paragraph(view, shown == 0 ? label : "", text);
            shown++;
        }
    }
    if (count > shown) {
        cli_line_add(cli_view_begin(view, shown == 0 ? label : ""), "%u more",
                     (unsigned)(count - shown));
    }
}

static uint32_t
count_with(const cli_snapshot *state, wire_peer_health health)
{
    uint32_t count = 0;
    for (size_t i = 0; i < state->peer_count; i++) {
        count += state->peer[i].health == health;
    }
    return count;
}

void
cli_view_actors(cli_view *view)
{
    const cli_snapshot *state = view->state;
    if (!state->has_peers && state->peers_why[0] != '\0') {
        cli_view_paragraph(view, "actors", state->peers_why);
        return;
    }
    cli_line *line = cli_view_begin(view, "actors");
    double steps_per_s =
        state->has_peers ? state->env_steps_per_s : number(view, "learner.env_steps_per_s");
    double lag = state->has_peers ? state->lag_mean : number(view, "learner.policy_lag");
    cli_view_add(line, "", cli_text_count(cli_snapshot_actors(state)).text, "");
    cli_view_add(line, "", cli_text_count(steps_per_s).text, " env steps/s");
    cli_view_add(line, "lag ", cli_text_value(lag).text, "");
    cli_view_add_known(line, "infer ",
                       cli_text_share(number(view, "learner.actor_infer_share")).text, "");
    cli_view_add_known(line, "env ", cli_text_share(number(view, "learner.actor_env_share")).text,
                       "");
    cli_view_add_known(line, "wait ", cli_text_share(number(view, "learner.actor_wait_share")).text,
                       "");
    view_ailing(view, WIRE_PEER_STUCK, state->stuck);
    view_ailing(view, WIRE_PEER_UNACKED, count_with(state, WIRE_PEER_UNACKED));
    view_extremes(view);
    view_ailing(view, WIRE_PEER_SILENT, state->silent);
    if (state->learner.refused[0] != '\0') {
        cli_view_paragraph(view, "  refused", state->learner.refused);
    }
}

// ---- the table of peers

// Adds text at the right edge of a column.
static void
column(cli_line *line, size_t from, size_t width, const char *text)
{
    size_t cells = strlen(text);
    cli_line_pad(line, from + (cells < width ? width - cells : 0));
    cli_line_add(line, "%s", text);
}

static cli_plain_text
short_name_of(const cli_peer *peer)
{
    return cli_text_process(peer->host, CLI_VIEW_HOST_CELLS, peer->pid);
}

// The columns end at fixed cells, which those of the heading in cli_view_peers match.
static void
view_peer(cli_view *view, const cli_peer *peer)
{
    cli_line *line = cli_view_begin(view, peer->role == WIRE_ROLE_ACTOR ? "actor" : "evaluator");
    cli_line_add(line, "%s", short_name_of(peer).text);
    column(line, 35, 8, cli_text_seconds(peer->heard_s).text);
    column(line, 44, 7, cli_text_count(peer->steps_per_s).text);
    column(line, 52, 6, cli_text_count(peer->lag_versions).text);
    column(line, 59, 7, cli_text_count(peer->lag_updates).text);
    column(line, 67, 5, cli_text_share(peer->wait_share).text);
    column(line, 73, 6, cli_text_count(peer->unacked).text);
}

static bool
is_same_certificate(const cli_peer *a, const cli_peer *b)
{
    return a->certificate_id == b->certificate_id && strcmp(a->certificate, b->certificate) == 0;
}

// Lists the shown peers that have the certificate of the first of them, and how many slots are held
// with it.
static void
view_certificate(cli_view *view, size_t first, size_t shown)
{
    const cli_snapshot *state = view->state;
    const cli_peer *peer = &state->peer[first];
    char text[CLI_TEXT_PLAIN_MAX + 64 + CLI_VIEW_PEERS_MAX * (sizeof(cli_plain_text) + 2)];
    char most[32] = "";
    if (state->places_max > 0) {
        (void)snprintf(most, sizeof(most), " of %u", (unsigned)state->places_max);
    }
    int length = snprintf(
        text, sizeof(text),
        "%s, %u%s slot%s:", cli_text_plain(peer->certificate, strlen(peer->certificate)).text,
        (unsigned)peer->places, most,
        oct_text_plural(state->places_max > 0 ? state->places_max : peer->places));
    for (size_t i = first; i < shown && length < (int)sizeof(text); i++) {
        if (is_same_certificate(&state->peer[i], peer)) {
            length += snprintf(text + length, sizeof(text) - (size_t)length, " %s",
                               short_name_of(&state->peer[i]).text);
        }
    }
    cli_view_paragraph(view, "cert", text);
}

// Lists each certificate once, at its first peer.
static void
view_certificates(cli_view *view, size_t shown)
{
    const cli_peer *peer = view->state->peer;
    for (size_t i = 0; i < shown; i++) {
        size_t first = 0;
        while (!is_same_certificate(&peer[first], &peer[i])) {
            first++;
        }
        if (first == i && peer[i].certificate[0] != '\0') {
            view_certificate(view, i, shown);
        }
    }
}

void
cli_view_peers(cli_view *view)
{
    const cli_snapshot *state = view->state;
    if (state->peer_count == 0) {
        return;
    }
    cli_line_add(cli_view_begin(view, "peer"), "%s",
                 "host/pid                   heard steps/s    lag updates  wait  unack");
    size_t shown = OCT_MIN(state->peer_count, (size_t)CLI_VIEW_PEERS_MAX);
    for (size_t i = 0; i < shown; i++) {
        view_peer(view, &state->peer[i]);
    }
    size_t all = (size_t)state->actors + state->evaluators + state->silent;
    if (all > shown) {
        cli_line_add(cli_view_begin(view, ""), "… %zu more", all - shown);
    }
    view_certificates(view, shown);
}
