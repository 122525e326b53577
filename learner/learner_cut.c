// For how long the ends of the atoms have cut targets.
#include "learner/learner_cut.h"

bool
learner_cut_row(learner_cut *cut, double share, uint64_t updates)
{
    if (share < LEARNER_CUT_SHARE) {
        cut->updates = 0;
    } else if (share >= LEARNER_CUT_SHARE) {
        cut->updates += updates;
    }
    bool tells = !cut->is_told && cut->updates >= LEARNER_CUT_UPDATES;
    cut->is_told = cut->is_told || tells;
    return tells;
}
