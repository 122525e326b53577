// Asks the learner and replay of a run on this machine for their status, periodically.

#include "cli/run/cli_poll.h"

#include <stdlib.h>

#include "cli/remote/cli_link.h"
#include "common/oct_base.h"

#define SERVERS (OCT_ROLE_BIT(OCT_ROLE_LEARNER) | OCT_ROLE_BIT(OCT_ROLE_REPLAY))

typedef struct asked {
    cli_link link;
    bool asking;
    cli_daemon_state *state;
} asked;

struct cli_poll {
    net_timer *timer;
    cli_state *state;
    net_fn on_answer;
    void *arg;
    uint32_t timeout_ms;
    asked learner;
    asked replay;
    cli_poll_done done; // of the one Stop in flight
    void *done_arg;
};

static void
take_status(cli_poll *poll, asked *whom, oct_err err, const wire_status *answer)
{
    whom->asking = false;
    if (err != OCT_OK) {
        return; // the last answer stands; the supervisor tells of deaths
    }
    cli_state_take_status(whom->state, answer);
    poll->on_answer(poll->arg);
}

static void
learner_answered(void *arg, oct_err err, const char *detail, const wire_status *answer)
{
    cli_poll *poll = arg;
    (void)detail;
    if (err == OCT_OK) {
        poll->state->run_id = answer->run_id;
    }
    take_status(poll, &poll->learner, err, answer);
}

static void
replay_answered(void *arg, oct_err err, const char *detail, const wire_status *answer)
{
    cli_poll *poll = arg;
    (void)detail;
    take_status(poll, &poll->replay, err, answer);
}

static void
poll_due(void *arg)
{
    cli_poll *poll = arg;
    wire_empty nothing = {0};
    if (!poll->learner.asking) {
        poll->learner.asking = true;
        if (wire_call_learner_status(poll->learner.link.client, &nothing, poll->timeout_ms,
                                     learner_answered, poll) != OCT_OK) {
            poll->learner.asking = false;
        }
    }
    if (!poll->replay.asking) {
        poll->replay.asking = true;
        if (wire_call_replay_status(poll->replay.link.client, &nothing, poll->timeout_ms,
                                    replay_answered, poll) != OCT_OK) {
            poll->replay.asking = false;
        }
    }
}

static void
ignore(void *arg)
{
    (void)arg;
}

oct_err
cli_poll_open(cli_poll **out, net_loop *loop, const cli_poll_request *request, cli_state *state,
              net_fn on_answer, void *arg)
{
    cli_poll *poll = oct_alloc(sizeof(*poll));
    poll->state = state;
    poll->learner.state = &state->learner;
    poll->replay.state = &state->replay;
    poll->on_answer = on_answer;
    poll->arg = arg;
    poll->timeout_ms = request->timeout_ms;
    oct_err err = cli_link_open(&poll->learner.link, loop, request->learner, SERVERS);
    if (err == OCT_OK) {
        err = cli_link_open(&poll->replay.link, loop, request->replay, SERVERS);
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
    // Closing answers the calls in flight: nobody wants to hear of that any more.
    poll->on_answer = ignore;
    net_timer_stop(poll->timer);
    cli_link_close(&poll->learner.link);
    cli_link_close(&poll->replay.link);
    free(poll);
}
