// Checks whether recorded steps are from an environment.
#include "cli/cli_data.h"

#include <string.h>

#include "common/oct_reason.h"
#include "learner/learner_environment.h"

#define WORDS_MAX 512

oct_err
cli_data_check_env(const replay_data_env *recorded, const wire_env_spec *own, oct_reason *reason)
{
    wire_env_spec view;
    policy_spec wanted, its;
    oct_reason why;
    char wanted_words[WORDS_MAX], its_words[WORDS_MAX];
    replay_data_env_view(&view, recorded);
    learner_environment_of(&wanted, own);
    learner_environment_of(&its, &view);
    its.obs_high = wanted.obs_high; // a data set does not record it
    if (learner_environment_alike(&wanted, &its, &why) == OCT_OK &&
        strcmp(wanted.env_id, its.env_id) == 0) {
        return OCT_OK;
    }
    learner_environment_words(&wanted, wanted_words, sizeof(wanted_words));
    learner_environment_words(&its, its_words, sizeof(its_words));
    return oct_refuse(reason, "%s; wanted: %s%s", its_words, wanted_words,
                      strcmp(wanted_words, its_words) == 0 ? ", with other bounds" : "");
}
