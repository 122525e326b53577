// How far projecting onto the atoms moved the means of targets.
#include "algos/algo_cut.h"

algo_cut
algo_cut_of(const nn_support *support, const algo_batch *batch, const float *before,
            const float *after)
{
    double below = 0, above = 0;
    for (uint32_t i = 0; i < batch->B; i++) {
        float moved = after[i] - (batch->reward[i] + batch->discount[i] * before[i]);
        if (moved > 0) {
            below += (double)moved;
        } else {
            above -= (double)moved;
        }
    }
    double whole = (double)batch->B * ((double)support->high - (double)support->low);
    return (algo_cut){.below = (float)(below / whole), .above = (float)(above / whole)};
}
