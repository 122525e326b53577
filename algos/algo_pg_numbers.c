// Sums over rows and their means, as methods of policy gradient report them.
#include "algos/algo_pg_numbers.h"

#include <math.h>

double
algo_pg_add(algo_pg_sums *sums, float log_pi, float log_mu, float entropy)
{
    double log_ratio = (double)algo_log_ratio(log_pi, log_mu), ratio = exp(log_ratio);
    sums->entropy += (double)entropy;
    sums->ratio += ratio;
    sums->kl += ratio - 1.0 - log_ratio;
    return ratio;
}

float
algo_pg_add_weighted(algo_pg_sums *sums, float ratio, float ratio_max, float advantage,
                     float log_pi)
{
    bool is_cut = ratio > ratio_max;
    float slope = -(is_cut ? ratio_max : ratio) * advantage;
    sums->clipped += is_cut;
    sums->loss += (double)(slope * log_pi);
    return slope;
}

void
algo_pg_means(const algo_pg_sums *sums, uint32_t count, float entropy_cost, float value_cost,
              float *numbers)
{
    double loss =
        sums->loss - (double)entropy_cost * sums->entropy + (double)value_cost * sums->value_loss;
    numbers[ALGO_PG_LOSS] = (float)(loss / count);
    numbers[ALGO_PG_ENTROPY] = (float)(sums->entropy / count);
    numbers[ALGO_PG_RATIO_MEAN] = (float)(sums->ratio / count);
    numbers[ALGO_PG_RATIO_CLIPPED] = (float)(sums->clipped / count);
    numbers[ALGO_PG_KL] = (float)(sums->kl / count);
    numbers[ALGO_PG_VALUE_LOSS] = (float)(sums->value_loss / count);
}

algo_moments
algo_pg_explain(const float *v, const float *target, const float *error, uint32_t count,
                float *numbers)
{
    algo_moments of_error = algo_moments_of(error, count);
    double variance = algo_moments_of(target, count).variance;
    numbers[ALGO_PG_VALUE] = (float)algo_moments_of(v, count).mean;
    numbers[ALGO_PG_EXPLAINED] = (float)(1.0 - of_error.variance / fmax(variance, 1e-12));
    return of_error;
}
