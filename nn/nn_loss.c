// Losses over a batch, with their derivatives.
#include "nn/nn_loss.h"

float
nn_loss_huber(float *slope, const float *error, const float *weight, float delta, uint32_t B)
{
    double sum = 0;
    for (uint32_t i = 0; i < B; i++) {
        float e = error[i];
        float cut = e < -delta ? -delta : e;
        cut = cut > delta ? delta : cut;
        float weighted = weight[i] * cut;
        sum += (double)(weighted * (e - 0.5f * cut));
        slope[i] = weighted / (float)B;
    }
    return (float)(sum / B);
}
