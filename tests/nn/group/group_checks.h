#ifndef TESTS_NN_GROUP_GROUP_CHECKS_H
#define TESTS_NN_GROUP_GROUP_CHECKS_H

#include "nn/group/group.h"

// What every link must do: all ranks call it; rank 0 gets whether all found it so, the others what
// they found themselves. Prints what is wrong.
bool group_checks(group *g);

#endif // TESTS_NN_GROUP_GROUP_CHECKS_H
