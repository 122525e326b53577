#ifndef CLI_RUNS_CLI_BOOTSTRAP_H
#define CLI_RUNS_CLI_BOOTSTRAP_H

#include <stdint.h>

// What a few runs show about a configuration, and how certain that is. The measures are those of
// Agarwal, Schwarzer, Castro, Courville and Bellemare (Deep Reinforcement Learning at the Edge of
// the Statistical Precipice, NeurIPS 2021), here for one task.
//
// Interquartile mean of n runs x_1 <= … <= x_n, without the k = floor(n / 4) runs at each end
// (scipy.stats.trim_mean(x, 0.25)). For up to three runs it is the mean:
//
//     IQM(x) = (x_{k + 1} + … + x_{n - k}) / (n - 2 k)
//
// Probability of improvement of x over y, which has m runs: the share of pairs in which x is
// better, U / (n m) of Mann and Whitney (1947):
//
//     P(x, y) = 1 / (n m) sum_i sum_j S(x_i, y_j),   S = 1 where x_i > y_j, 1/2 where equal, else 0
//
// Interval: percentile bootstrap over runs (Efron 1979). CLI_BOOTSTRAP_RESAMPLES times, n of the x
// (then m of the y) are drawn with replacement. low and high are the 2.5th and the 97.5th
// percentile of the results, interpolated as in numpy.percentile. The draws are those of
// oct_rng_below on the numbers in rising order, by a generator of seed 0 and stream 0 for each
// interval: the same numbers in any order have the same interval.
//
// Threads: any. Owns: nothing. All values must be finite.

#define CLI_BOOTSTRAP_RESAMPLES 10000u
#define CLI_BOOTSTRAP_PERCENT   95

typedef struct cli_bootstrap {
    double value;
    double low, high; // ends of the interval
} cli_bootstrap;

// Interquartile mean of x[n], n >= 1.
cli_bootstrap cli_bootstrap_iqm(const double *x, uint32_t n);
// Probability of improvement of x[n] over y[m], both >= 1.
cli_bootstrap cli_bootstrap_improvement(const double *x, uint32_t n, const double *y, uint32_t m);

#endif // CLI_RUNS_CLI_BOOTSTRAP_H
