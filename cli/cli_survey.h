#ifndef CLI_CLI_SURVEY_H
#define CLI_CLI_SURVEY_H

#include "cli/cli_facts.h"
#include "cli/cli_remote.h"

// Asks a run's learner and replay, across hosts, how they and all actors are: once, or in rounds.
//
// Threads: loop thread. A round takes CLI_SURVEY_ROUND_MS at most, whatever is cut or refused.
// Order: close before the loop is destroyed.
typedef struct cli_survey cli_survey;

#define CLI_SURVEY_ROUND_MS 4000

// done runs after each round: the facts are new, and say of each daemon whether it was heard.
// period_ms: from the end of a round to the next; 0: one round.
OCT_CHECKED oct_err cli_survey_open(cli_survey **out, net_loop *loop,
                                    const cli_remote_options *options, uint32_t period_ms,
                                    net_fn done, void *arg);
const cli_facts *cli_survey_facts(const cli_survey *survey);
void cli_survey_close(cli_survey *survey); // NULL is a no-op

#endif // CLI_CLI_SURVEY_H
