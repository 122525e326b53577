// How many actors a run can use, from the shares of time in which learner and actors wait.
#include "learner/learner_actors_wanted.h"

#include <math.h>

#include "common/oct_base.h"

static double
towards(double mean, double value, double weight)
{
    return mean + weight * (OCT_MIN(OCT_MAX(value, 0.0), 1.0) - mean);
}

void
learner_actors_wanted_row(learner_actors_wanted *wanted, double elapsed_s, double learner_wait,
                          double actor_wait)
{
    if (isnan(learner_wait) || isnan(actor_wait)) {
        return;
    }
    double weight = wanted->is_known ? 1 - exp(-elapsed_s / LEARNER_WANTED_S) : 1;
    wanted->learner_wait = towards(wanted->learner_wait, learner_wait, weight);
    wanted->actor_wait = towards(wanted->actor_wait, actor_wait, weight);
    wanted->is_known = true;
}

double
learner_actors_wanted_get(const learner_actors_wanted *wanted, double actors)
{
    if (!(actors > 0)) {
        return 1; // the first one
    }
    if (!wanted->is_known) {
        return NAN;
    }
    double busy_least = 1 / LEARNER_WANTED_RATIO_MAX;
    double ratio = (1 - wanted->actor_wait) / OCT_MAX(1 - wanted->learner_wait, busy_least);
    return OCT_MAX(actors * OCT_MAX(ratio, LEARNER_WANTED_RATIO_MIN), 1.0);
}
