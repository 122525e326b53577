// Asks the learner and replay of a run on this machine for their status, again and again.

#include "cli/run/cli_poll.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/remote/cli_link.h"
#include "common/oct_base.h"

#define SERVERS (OCT_ROLE_BIT(OCT_ROLE_LEARNER) | OCT_ROLE_BIT(OCT_ROLE_REPLAY))

typedef struct asked {
    cli_link link;
    bool asking;
    uint32_t answers;
    uint32_t failures;
    uint64_t run_id;
} asked;

struct cli_poll {
    net_timer *timer;
    cli_run_status *status;
    cli_poll_events events;
    uint32_t timeout_ms;
    asked learner;
    asked replay;
    cli_poll_done done; // of the one Stop or Configure in flight
    void *done_arg;
};

static void
take_status(cli_poll *poll, asked *whom, oct_err err, const wire_status *answer)
{
    whom->asking = false;
    if (err != OCT_OK) {
        whom->failures++;
        poll->events.on_failure(poll->events.arg);
        return;
    }
    whom->answers++;
    whom->run_id = answer->run_id;
    cli_numbers_take(&poll->status->numbers, answer->stat_name, answer->stat_value,
                     answer->stat_count);
    poll->events.on_answer(poll->events.arg);
}

static void
learner_answered(void *arg, oct_err err, const char *detail, const wire_status *answer)
{
    cli_poll *poll = arg;
    (void)detail;
    if (err == OCT_OK) {
        (void)snprintf(poll->status->state, sizeof(poll->status->state), "%s", answer->state);
    }
    take_status(poll, &poll->learner, err, answer);
}

static void
replay_answered(void *arg, oct_err err, const char *detail, const wire_status *answer)
{
    cli_poll *poll = arg;
    (void)detail;
    if (err == OCT_OK) {
        (void)snprintf(poll->status->replay_state, sizeof(poll->status->replay_state), "%s",
                       answer->state);
    }
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
cli_poll_open(cli_poll **out, net_loop *loop, const cli_poll_request *request,
              cli_run_status *status, const cli_poll_events *events)
{
    cli_poll *poll = oct_alloc(sizeof(*poll));
    poll->status = status;
    poll->events = *events;
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

uint32_t
cli_poll_learner_answers(const cli_poll *poll)
{
    return poll->learner.answers;
}

uint32_t
cli_poll_replay_answers(const cli_poll *poll)
{
    return poll->replay.answers;
}

uint32_t
cli_poll_replay_failures(const cli_poll *poll)
{
    return poll->replay.failures;
}

uint64_t
cli_poll_replay_run(const cli_poll *poll)
{
    return poll->replay.run_id;
}

static void
told(void *arg, oct_err err, const char *detail, const wire_empty *answer)
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
    OCT_TRY(wire_call_stop(poll->learner.link.client, &message, timeout_ms, told, poll));
    poll->done = done;
    poll->done_arg = arg;
    return OCT_OK;
}

oct_err
cli_poll_configure(cli_poll *poll, const wire_configure *message, uint32_t timeout_ms,
                   cli_poll_done done, void *arg)
{
    OCT_ASSERT(poll->done == NULL);
    OCT_TRY(wire_call_configure(poll->replay.link.client, message, timeout_ms, told, poll));
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
    poll->events = (cli_poll_events){.on_answer = ignore, .on_failure = ignore};
    net_timer_stop(poll->timer);
    cli_link_close(&poll->learner.link);
    cli_link_close(&poll->replay.link);
    free(poll);
}
