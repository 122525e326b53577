#include "cli/cli_survey.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"

#define MEET_MS    2500 // and ASK_MS: CLI_SURVEY_ROUND_MS together
#define ASK_MS     1500
#define GIVE_UP_MS 1200 // a failure that stays for so long is told
#define LOOK_MS    100

struct cli_survey {
    net_loop *loop;
    cli_remote *remote;
    cli_facts facts;
    uint32_t period_ms;
    net_fn done;
    void *arg;
    net_timer *next; // round
    net_timer *look; // while meeting: is there trouble?
    uint64_t round_ns;
    bool meeting;  // the learner was asked what it runs
    bool given_up; // on that in this round
    bool closing;
    unsigned open; // questions
};

static void round_begin(void *arg);

static void
round_end(cli_survey *survey)
{
    net_timer_stop(survey->look);
    survey->look = NULL;
    if (survey->period_ms > 0) {
        net_timer_stop(survey->next);
        survey->next = net_timer_start(survey->loop, survey->period_ms, 0, round_begin, survey);
    }
    survey->done(survey->arg);
}

static void
question_end(cli_survey *survey)
{
    if (--survey->open == 0) {
        round_end(survey);
    }
}

// ---- answers

// Why a call was not answered; false: because this end closes.
static bool
missed(cli_survey *survey, bool to_replay, oct_err err, const char *detail, char *why,
       size_t why_size)
{
    if (survey->closing) {
        return false;
    }
    cli_remote_why(survey->remote, to_replay, err, detail, why, why_size);
    return true;
}

static void
learner_answered(void *arg, oct_err err, const char *detail, const wire_status *answer)
{
    cli_survey *survey = arg;
    char why[CLI_FACTS_TEXT_MAX];
    if (err == OCT_OK) {
        survey->facts.run_id = answer->run_id;
        cli_facts_take_status(&survey->facts.learner, answer);
    } else if (missed(survey, false, err, detail, why, sizeof(why))) {
        cli_facts_miss_status(&survey->facts.learner, why);
    } else {
        return;
    }
    question_end(survey);
}

static void
peers_answered(void *arg, oct_err err, const char *detail, const wire_peers *answer)
{
    cli_survey *survey = arg;
    char why[CLI_FACTS_TEXT_MAX];
    if (err == OCT_OK) {
        cli_facts_take_peers(&survey->facts, answer);
    } else if (missed(survey, false, err, detail, why, sizeof(why))) {
        cli_facts_miss_peers(&survey->facts, why);
    } else {
        return;
    }
    question_end(survey);
}

static void
replay_answered(void *arg, oct_err err, const char *detail, const wire_status *answer)
{
    cli_survey *survey = arg;
    char why[CLI_FACTS_TEXT_MAX];
    if (err == OCT_OK) {
        cli_facts_take_status(&survey->facts.replay, answer);
    } else if (missed(survey, true, err, detail, why, sizeof(why))) {
        cli_facts_miss_status(&survey->facts.replay, why);
    } else {
        return;
    }
    question_end(survey);
}

// ---- questions

static void
ask_all(cli_survey *survey)
{
    static const wire_empty nothing;
    static const wire_get_peers everybody = {.count_max = WIRE_PEERS_MAX};
    cli_remote *remote = survey->remote;
    wire_client *learner = cli_remote_learner(remote), *replay = cli_remote_replay(remote);
    survey->open = 1; // until all are asked
    oct_err err = wire_call_learner_status(learner, &nothing, ASK_MS, learner_answered, survey);
    survey->open += err == OCT_OK;
    err = wire_call_learner_peers(learner, &everybody, ASK_MS, peers_answered, survey);
    survey->open += err == OCT_OK;
    if (replay == NULL) {
        cli_facts_miss_status(&survey->facts.replay, "its address is not known");
    } else {
        err = wire_call_replay_status(replay, &nothing, ASK_MS, replay_answered, survey);
        survey->open += err == OCT_OK;
    }
    question_end(survey);
}

static void
nobody_met(cli_survey *survey, const char *why)
{
    cli_facts_miss_status(&survey->facts.learner, why);
    cli_facts_miss_status(&survey->facts.replay, "the learner would name its address");
    cli_facts_miss_peers(&survey->facts, "the learner would name them");
    round_end(survey);
}

static void
met(void *arg, oct_err err, const char *why)
{
    cli_survey *survey = arg;
    survey->meeting = false;
    if (survey->given_up) {
        return; // the next round asks again
    }
    if (err != OCT_OK) {
        nobody_met(survey, why);
        return;
    }
    cli_facts *facts = &survey->facts;
    const oct_config *config = cli_remote_config(survey->remote);
    facts->batch_size = config->learner.batch_size;
    (void)snprintf(facts->env, sizeof(facts->env), "%s", config->env.id);
    (void)snprintf(facts->replay.url, sizeof(facts->replay.url), "%s",
                   cli_remote_replay_url(survey->remote));
    ask_all(survey);
}

// A learner that refuses us will not change its mind within the round.
static void
look(void *arg)
{
    cli_survey *survey = arg;
    char why[CLI_FACTS_TEXT_MAX];
    uint64_t since_ms = (oct_clock_ns() - survey->round_ns) / 1000000;
    if (survey->meeting && since_ms >= GIVE_UP_MS &&
        cli_remote_in_trouble(survey->remote, false, why, sizeof(why))) {
        survey->given_up = true;
        nobody_met(survey, why);
    }
}

static void
round_begin(void *arg)
{
    cli_survey *survey = arg;
    survey->round_ns = oct_clock_ns();
    survey->given_up = false;
    survey->look = net_timer_start(survey->loop, LOOK_MS, LOOK_MS, look, survey);
    if (!survey->meeting) {
        oct_err err = cli_remote_meet(survey->remote, MEET_MS, met, survey);
        survey->meeting = err == OCT_OK;
        if (err != OCT_OK) {
            nobody_met(survey, oct_strerror(err));
        }
    }
}

oct_err
cli_survey_open(cli_survey **out, net_loop *loop, const cli_remote_options *options,
                uint32_t period_ms, net_fn done, void *arg)
{
    cli_survey *survey = oct_alloc(sizeof(*survey));
    survey->loop = loop;
    survey->period_ms = period_ms;
    survey->done = done;
    survey->arg = arg;
    cli_facts_clear(&survey->facts);
    oct_err err = cli_remote_open(&survey->remote, loop, options);
    if (err != OCT_OK) {
        free(survey);
        return err;
    }
    (void)snprintf(survey->facts.learner.url, sizeof(survey->facts.learner.url), "%s",
                   options->learner);
    (void)snprintf(survey->facts.replay.url, sizeof(survey->facts.replay.url), "%s",
                   options->replay != NULL ? options->replay : "");
    survey->next = net_timer_start(loop, 0, 0, round_begin, survey);
    *out = survey;
    return OCT_OK;
}

const cli_facts *
cli_survey_facts(const cli_survey *survey)
{
    return &survey->facts;
}

void
cli_survey_close(cli_survey *survey)
{
    if (survey != NULL) {
        survey->closing = true;
        net_timer_stop(survey->next);
        net_timer_stop(survey->look);
        cli_remote_close(survey->remote);
        free(survey);
    }
}
