// Asks the learner, the replays and the peers of a run on other hosts, in rounds.
//
// A round first registers with the learner (cli_remote_register), because the run may be another
// one by now, and then asks all daemons at once. Each question has its own deadline, so a daemon
// that does not answer does not delay the others beyond it; the state says why no answer came.
// The round ends with its last answer. A learner that visibly refuses the connection is not waited
// for until the deadline (registered_check).

#include "cli/remote/cli_remote_poll.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"

#define MEET_MS    2500 // with ASK_MS at most CLI_REMOTE_POLL_ROUND_MS
#define ASK_MS     1500
#define GIVE_UP_MS 1200 // a failure that lasts so long is reported
#define CHECK_MS   100  // between two checks for a failure

// A shard that is asked: the argument of its answer.
struct asked {
    cli_remote_poll *poll;
    uint32_t shard;
};

struct cli_remote_poll {
    net_loop *loop;
    cli_remote *remote;
    cli_snapshot state;
    uint32_t period_ms, peers_max;
    net_fn done;
    void *arg;
    net_timer *next;        // of the next round
    net_timer *check_timer; // of the checks while cli_remote_register is in flight
    uint64_t round_ns;      // begin of the round, by oct_clock_ns
    bool meeting;           // cli_remote_register is in flight
    bool given_up;          // this round has ended without its answer
    bool closing;
    unsigned open; // unanswered questions of this round
    struct asked asked[CONFIG_SHARDS_MAX];
};

static void round_begin(void *arg);

// Reports the round and schedules the next one. done comes last, because it may close the poll.
static void
round_end(cli_remote_poll *poll)
{
    net_timer_stop(poll->check_timer);
    poll->check_timer = NULL;
    if (poll->period_ms > 0) {
        net_timer_stop(poll->next);
        poll->next = net_timer_start(poll->loop, poll->period_ms, 0, round_begin, poll);
    }
    poll->done(poll->arg);
}

static void
question_end(cli_remote_poll *poll)
{
    if (--poll->open == 0) {
        round_end(poll);
    }
}

// ---- answers

// Finds out why a call was not answered. False: this end is closing.
static bool
missed(cli_remote_poll *poll, cli_remote_daemon daemon, oct_err err, const char *detail,
       oct_reason *why)
{
    if (poll->closing) {
        return false;
    }
    cli_remote_why(poll->remote, daemon, err, detail, why);
    return true;
}

static void
learner_answered(void *arg, oct_err err, const char *detail, const wire_status *answer)
{
    cli_remote_poll *poll = arg;
    oct_reason why;
    if (err == OCT_OK) {
        poll->state.run_id = answer->run_id;
        cli_snapshot_take_status(&poll->state.learner, answer);
    } else if (missed(poll, CLI_REMOTE_LEARNER, err, detail, &why)) {
        cli_snapshot_miss_status(&poll->state.learner, why.text);
    } else {
        return;
    }
    question_end(poll);
}

static void peers_ask(cli_remote_poll *poll);

// Takes the list of peers.
static void
peers_answered(void *arg, oct_err err, const char *detail, const wire_peers *answer)
{
    cli_remote_poll *poll = arg;
    oct_reason why;
    if (err == OCT_OK) {
        cli_snapshot_take_peers(&poll->state, answer);
        // A learner of an earlier release refuses a larger list.
    } else if (err == OCT_EPROTO && poll->peers_max > CLI_REMOTE_POLL_PEERS && !poll->closing) {
        poll->peers_max = CLI_REMOTE_POLL_PEERS;
        peers_ask(poll);
    } else if (missed(poll, CLI_REMOTE_LEARNER, err, detail, &why)) {
        cli_snapshot_miss_peers(&poll->state, why.text);
    } else {
        return;
    }
    question_end(poll);
}

static void
of_replay(cli_remote_poll *poll, cli_remote_daemon daemon, oct_err err, const char *detail,
          const wire_status *answer)
{
    cli_daemon_state *state = daemon == CLI_REMOTE_DATA
                                  ? &poll->state.data
                                  : cli_snapshot_shard(&poll->state, daemon - CLI_REMOTE_REPLAY);
    oct_reason why;
    if (err == OCT_OK) {
        cli_snapshot_take_status(state, answer);
    } else if (missed(poll, daemon, err, detail, &why)) {
        cli_snapshot_miss_status(state, why.text);
    } else {
        return;
    }
    question_end(poll);
}

static void
replay_answered(void *arg, oct_err err, const char *detail, const wire_status *answer)
{
    const struct asked *asked = arg;
    cli_remote_poll *poll = asked->poll;
    of_replay(poll, CLI_REMOTE_REPLAY + asked->shard, err, detail, answer);
}

static void
data_answered(void *arg, oct_err err, const char *detail, const wire_status *answer)
{
    cli_remote_poll *poll = arg;
    of_replay(poll, CLI_REMOTE_DATA, err, detail, answer);
}

// ---- questions

static void
peers_ask(cli_remote_poll *poll)
{
    const wire_get_peers request = {.count_max = poll->peers_max};
    poll->open += wire_call_learner_peers(cli_remote_client(poll->remote, CLI_REMOTE_LEARNER),
                                          &request, ASK_MS, peers_answered, poll) == OCT_OK;
}

static void
ask_replay(cli_remote_poll *poll, uint32_t shard)
{
    static const wire_empty nothing;
    wire_client *replay = cli_remote_client(poll->remote, CLI_REMOTE_REPLAY + shard);
    if (replay == NULL) {
        cli_snapshot_miss_status(cli_snapshot_shard(&poll->state, shard),
                                 "its address is not known");
        return;
    }
    poll->asked[shard] = (struct asked){.poll = poll, .shard = shard};
    oct_err err =
        wire_call_replay_status(replay, &nothing, ASK_MS, replay_answered, &poll->asked[shard]);
    poll->open += err == OCT_OK;
}

static void
ask_all(cli_remote_poll *poll)
{
    static const wire_empty nothing;
    cli_remote *remote = poll->remote;
    wire_client *learner = cli_remote_client(remote, CLI_REMOTE_LEARNER);
    wire_client *data = cli_remote_client(remote, CLI_REMOTE_DATA);
    poll->open = 1; // one more, until all are asked
    oct_err err = wire_call_learner_status(learner, &nothing, ASK_MS, learner_answered, poll);
    poll->open += err == OCT_OK;
    peers_ask(poll);
    for (uint32_t i = 0; i < OCT_MAX(poll->state.shards, 1u); i++) {
        ask_replay(poll, i);
    }
    if (data != NULL) {
        err = wire_call_replay_status(data, &nothing, ASK_MS, data_answered, poll);
        poll->open += err == OCT_OK;
    } else if (poll->state.data.url[0] != '\0') {
        cli_snapshot_miss_status(&poll->state.data, "it cannot be dialled from here");
    }
    question_end(poll);
}

// Without the learner nothing about the run is known.
static void
learner_missed(cli_remote_poll *poll, const char *why)
{
    cli_snapshot_miss_status(&poll->state.learner, why);
    for (uint32_t i = 0; i < OCT_MAX(poll->state.shards, 1u); i++) {
        cli_snapshot_miss_status(cli_snapshot_shard(&poll->state, i),
                                 "the learner has not reported its address");
    }
    cli_snapshot_miss_peers(&poll->state, "the learner has not reported them");
    round_end(poll);
}

// The learner has answered who it is and where the replays are.
static void
met(void *arg, oct_err err, const char *why)
{
    cli_remote_poll *poll = arg;
    poll->meeting = false;
    if (poll->given_up) {
        return; // the next round asks again
    }
    if (err != OCT_OK) {
        learner_missed(poll, why);
        return;
    }
    cli_snapshot *state = &poll->state;
    const config_experiment *config = cli_remote_config(poll->remote);
    cli_snapshot_take_config(state, config);
    state->shards = OCT_MIN(config_shards(config), (uint32_t)CONFIG_SHARDS_MAX);
    for (uint32_t i = 0; i < state->shards; i++) {
        (void)snprintf(cli_snapshot_shard(state, i)->url, sizeof(state->replay.url), "%s",
                       cli_remote_url(poll->remote, CLI_REMOTE_REPLAY + i));
    }
    (void)snprintf(state->data.url, sizeof(state->data.url), "%s",
                   cli_remote_url(poll->remote, CLI_REMOTE_DATA));
    ask_all(poll);
}

// A learner that refuses the connection does not change its mind within the round.
static void
registered_check(void *arg)
{
    cli_remote_poll *poll = arg;
    char why[CLI_SNAPSHOT_TEXT_MAX];
    uint64_t since_ms = (oct_clock_ns() - poll->round_ns) / 1000000;
    if (poll->meeting && since_ms >= GIVE_UP_MS &&
        cli_remote_in_trouble(poll->remote, CLI_REMOTE_LEARNER, why, sizeof(why))) {
        poll->given_up = true;
        learner_missed(poll, why);
    }
}

// Begins a round. If the last registration is still in flight, its answer serves this round.
static void
round_begin(void *arg)
{
    cli_remote_poll *poll = arg;
    poll->round_ns = oct_clock_ns();
    poll->given_up = false;
    poll->check_timer = net_timer_start(poll->loop, CHECK_MS, CHECK_MS, registered_check, poll);
    if (!poll->meeting) { // a late answer may still come; it serves this round
        oct_err err = cli_remote_register(poll->remote, MEET_MS, met, poll);
        poll->meeting = err == OCT_OK;
        if (err != OCT_OK) {
            learner_missed(poll, oct_strerror(err));
        }
    }
}

oct_err
cli_remote_poll_open(cli_remote_poll **out, net_loop *loop, const cli_remote_options *options,
                     const cli_remote_poll_request *request)
{
    cli_remote_poll *poll = oct_alloc(sizeof(*poll));
    poll->loop = loop;
    poll->period_ms = request->period_ms;
    poll->peers_max = request->peers_max;
    poll->done = request->done;
    poll->arg = request->arg;
    cli_snapshot_clear(&poll->state);
    oct_err err = cli_remote_open(&poll->remote, loop, options);
    if (err != OCT_OK) {
        free(poll);
        return err;
    }
    (void)snprintf(poll->state.learner.url, sizeof(poll->state.learner.url), "%s",
                   options->learner);
    (void)snprintf(poll->state.replay.url, sizeof(poll->state.replay.url), "%s",
                   cli_remote_url(poll->remote, CLI_REMOTE_REPLAY));
    poll->next = net_timer_start(loop, 0, 0, round_begin, poll);
    *out = poll;
    return OCT_OK;
}

cli_snapshot *
cli_remote_poll_state(cli_remote_poll *poll)
{
    return &poll->state;
}

void
cli_remote_poll_close(cli_remote_poll *poll)
{
    if (poll != NULL) {
        poll->closing = true;
        net_timer_stop(poll->next);
        net_timer_stop(poll->check_timer);
        cli_remote_close(poll->remote);
        free(poll);
    }
}
