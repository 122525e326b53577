// Asks the learner and the replays of a run on this machine for their status, once a period.

#include "cli/run/cli_poll.h"

#include <stdlib.h>

#include "cli/remote/cli_link.h"
#include "common/oct_base.h"

#define SERVERS (OCT_ROLE_BIT(OCT_ROLE_LEARNER) | OCT_ROLE_BIT(OCT_ROLE_REPLAY))

// A daemon that is asked.
typedef struct asked {
    cli_poll *poll;
    cli_link link; // all zero: the run has no such daemon
    bool asking;   // a call is in flight
    cli_daemon_state *state;
} asked;

struct cli_poll {
    net_timer *timer;
    cli_snapshot *state;
    net_fn on_answer;
    void *arg;
    uint32_t timeout_ms;
    asked learner;
    asked replay[CONFIG_SHARDS_MAX];
    asked data;
    cli_poll_done done; // of the Stop call in flight; NULL: there is none
    void *done_arg;
};

static void
status_answered(void *arg, oct_err err, const char *detail, const wire_status *answer)
{
    asked *whom = arg;
    cli_poll *poll = whom->poll;
    (void)detail;
    whom->asking = false;
    if (err != OCT_OK) {
        return; // the last answer stays; the supervisor reports deaths
    }
    if (whom == &poll->learner) {
        poll->state->run_id = answer->run_id;
    }
    cli_snapshot_take_status(whom->state, answer);
    poll->on_answer(poll->arg);
}

// Asks a daemon, unless it does not exist or has not answered yet.
static void
ask(asked *whom, uint32_t timeout_ms)
{
    static const wire_empty nothing;
    bool is_learner = whom == &whom->poll->learner;
    if (whom->link.client == NULL || whom->asking) {
        return;
    }
    oct_err err = is_learner ? wire_call_learner_status(whom->link.client, &nothing, timeout_ms,
                                                        status_answered, whom)
                             : wire_call_replay_status(whom->link.client, &nothing, timeout_ms,
                                                       status_answered, whom);
    whom->asking = err == OCT_OK;
}

static void
poll_due(void *arg)
{
    cli_poll *poll = arg;
    ask(&poll->learner, poll->timeout_ms);
    for (uint32_t i = 0; i < poll->state->shards; i++) {
        ask(&poll->replay[i], poll->timeout_ms);
    }
    ask(&poll->data, poll->timeout_ms);
}

static void
ignore(void *arg)
{
    (void)arg;
}

oct_err
cli_poll_open(cli_poll **out, net_loop *loop, const cli_poll_request *request, cli_snapshot *state)
{
    cli_poll *poll = oct_alloc(sizeof(*poll));
    poll->state = state;
    poll->learner = (asked){.poll = poll, .state = &state->learner};
    poll->data = (asked){.poll = poll, .state = &state->data};
    poll->on_answer = request->on_answer;
    poll->arg = request->arg;
    poll->timeout_ms = request->timeout_ms;
    oct_err err = cli_link_open(&poll->learner.link, loop, request->learner, SERVERS, true);
    for (uint32_t i = 0; err == OCT_OK && i < state->shards; i++) {
        cli_daemon_state *shard = cli_snapshot_shard(state, i);
        poll->replay[i] = (asked){.poll = poll, .state = shard};
        err = cli_link_open(&poll->replay[i].link, loop, shard->url, SERVERS, true);
    }
    if (err == OCT_OK && request->data != NULL) {
        err = cli_link_open(&poll->data.link, loop, request->data, SERVERS, true);
    }
    if (err != OCT_OK) {
        cli_poll_close(poll);
        return err;
    }
    poll->timer = net_timer_start(loop, 0, request->period_ms, poll_due, poll);
    *out = poll;
    return OCT_OK;
}

static void
stop_answered(void *arg, oct_err err, const char *detail, const wire_empty *answer)
{
    cli_poll *poll = arg;
    (void)answer;
    cli_poll_done done = poll->done;
    poll->done = NULL;
    done(poll->done_arg, err, detail);
}

oct_err
cli_poll_stop_learner(cli_poll *poll, const char *reason, uint32_t timeout_ms, cli_poll_done done,
                      void *arg)
{
    OCT_ASSERT(poll->done == NULL);
    wire_stop message = {.reason = reason};
    OCT_TRY(wire_call_stop(poll->learner.link.client, &message, timeout_ms, stop_answered, poll));
    poll->done = done;
    poll->done_arg = arg;
    return OCT_OK;
}

void
cli_poll_close(cli_poll *poll)
{
    if (poll == NULL) {
        return;
    }
    // Closing the links fails the calls in flight; their callbacks must not reach the caller any
    // more.
    poll->on_answer = ignore;
    net_timer_stop(poll->timer);
    cli_link_close(&poll->learner.link);
    for (uint32_t i = 0; i < CONFIG_SHARDS_MAX; i++) {
        cli_link_close(&poll->replay[i].link);
    }
    cli_link_close(&poll->data.link);
    free(poll);
}
