// Sums over rows and their means, as methods of policy gradient report them.
#include "algos/algo_pg_numbers.h"

#include <math.h>

#include "common/oct_base.h"

const algo_number algo_pg_numbers[ALGO_PG_NUMBERS] = {ALGO_PG_ROWS};

double
algo_pg_add(algo_pg_sums *sums, float log_pi, float log_mu, float entropy)
{
    double log_ratio = (double)algo_log_ratio(log_pi, log_mu), ratio = exp(log_ratio);
    sums->entropy += (double)entropy;
    sums->ratio += ratio;
    sums->kl += ratio - 1.0 - log_ratio;
    return ratio;
}

void
algo_entropy_cost_init(algo_entropy_cost *cost, const config_experiment *config)
{
    cost->first = cost->now = (float)config->algo.entropy_cost;
    cost->last = (float)config->algo.entropy_cost_final;
}

void
algo_entropy_cost_set(algo_entropy_cost *cost, float spent)
{
    cost->now = cost->first + (cost->last - cost->first) * spent;
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

void
algo_pg_together(group *all, algo_pg_sums *sums)
{
    double x[] = {sums->loss, sums->entropy,    sums->ratio,    sums->clipped,
                  sums->kl,   sums->value_loss, sums->update_kl};
    _Static_assert(sizeof(x) == sizeof(*sums), "each of the sums");
    group_sum(all, x, OCT_COUNTOF(x));
    *sums = (algo_pg_sums){x[0], x[1], x[2], x[3], x[4], x[5], x[6]};
}

void
algo_pg_explain(group *all, algo_estimates e, const float *error, uint32_t count, float *numbers)
{
    algo_moments of_error = algo_moments_of(all, error, count);
    algo_moments of_target = algo_moments_of(all, e.target, count);
    algo_moments of_v = algo_moments_of(all, e.v, count);
    double variance = of_target.variance;
    numbers[ALGO_PG_VALUE] = (float)of_v.mean;
    numbers[ALGO_PG_EXPLAINED] = (float)(1.0 - of_error.variance / fmax(variance, 1e-12));
}
