// How many actors a run can use, from the shares of time in which learner and actors wait.
#include "learner/learner_demand.h"

#include <math.h>

#include "common/oct_base.h"

static double
towards(double mean, double value, double weight)
{
    return mean + weight * (OCT_MIN(OCT_MAX(value, 0.0), 1.0) - mean);
}

void
learner_demand_row(learner_demand *demand, double elapsed_s, double learner_wait, double actor_wait)
{
    if (isnan(learner_wait) || isnan(actor_wait)) {
        return;
    }
    double weight = demand->is_known ? 1 - exp(-elapsed_s / LEARNER_DEMAND_S) : 1;
    demand->learner_wait = towards(demand->learner_wait, learner_wait, weight);
    demand->actor_wait = towards(demand->actor_wait, actor_wait, weight);
    demand->is_known = true;
}

double
learner_demand_actors(const learner_demand *demand, double actors)
{
    if (!(actors > 0)) {
        return 1; // somebody has to begin
    }
    if (!demand->is_known) {
        return NAN;
    }
    double busy_least = 1 / LEARNER_DEMAND_RATIO_MAX;
    double ratio = (1 - demand->actor_wait) / OCT_MAX(1 - demand->learner_wait, busy_least);
    return OCT_MAX(actors * OCT_MAX(ratio, LEARNER_DEMAND_RATIO_MIN), 1.0);
}
