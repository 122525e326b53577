// Counts the updates for which the ends of the atoms have cut targets.
#include "learner/learner_atoms_warning.h"

bool
learner_atoms_warning_row(learner_atoms_warning *cut, double share, uint64_t updates)
{
    if (share < LEARNER_ATOMS_WARNING_SHARE) {
        cut->updates = 0;
    } else if (share >= LEARNER_ATOMS_WARNING_SHARE) {
        cut->updates += updates;
    }
    bool tells = !cut->is_logged && cut->updates >= LEARNER_ATOMS_WARNING_UPDATES;
    cut->is_logged = cut->is_logged || tells;
    return tells;
}
