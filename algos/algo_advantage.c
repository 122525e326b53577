// Advantages, ratios and the statistics of rewards, as plain loops over rows.
#include "algos/algo_advantage.h"

#include <math.h>

#define LOG_RATIO_MAX     20.0f // ratios stay below 5e8
#define DEVIATION_EPSILON 1e-8
#define SCALED_REWARD_MAX 10.0

void
algo_gae(const algo_rows *rows, float discount, float lambda, algo_estimates e)
{
    for (uint32_t n = rows->N; n-- > 0;) {
        uint32_t behind = rows->behind[n];
        bool continues = behind == ALGO_BEHIND_NEXT;
        float next = behind == ALGO_BEHIND_NOTHING ? 0.0f : e.v[continues ? n + 1 : behind];
        float delta = e.reward[n] + discount * next - e.v[n];
        e.advantage[n] = continues ? delta + discount * lambda * e.advantage[n + 1] : delta;
        e.target[n] = e.advantage[n] + e.v[n];
    }
}

void
algo_vtrace_targets(const algo_rows *rows, const algo_vtrace_rule *rule, const float *ratio,
                    algo_estimates e)
{
    for (uint32_t n = rows->N; n-- > 0;) {
        uint32_t behind = rows->behind[n];
        bool continues = behind == ALGO_BEHIND_NEXT;
        float next = behind == ALGO_BEHIND_NOTHING ? 0.0f : e.v[continues ? n + 1 : behind];
        float carried = continues ? e.target[n + 1] - next : 0.0f;
        float rho = fminf(rule->ratio_max, ratio[n]);
        float c = rule->lambda * fminf(rule->trace_max, ratio[n]);
        float delta = e.reward[n] + rule->discount * next - e.v[n];
        e.target[n] = e.v[n] + rho * delta + rule->discount * c * carried;
        e.advantage[n] = delta + rule->discount * carried;
    }
}

// Adds the numbers that other counted (Chan, Golub and LeVeque 1983).
static void
scale_join(algo_reward_scale *scale, const algo_reward_scale *other)
{
    double count = scale->count + other->count, off = other->mean - scale->mean;
    if (other->count > 0) {
        scale->squares += other->squares + off * off * scale->count * other->count / count;
        scale->mean += off * other->count / count;
        scale->count = count;
    }
}

// Adds the numbers of all ranks, in rank order.
static void
scales_join(algo_reward_scale *scale, group *all, const algo_reward_scale *own)
{
    algo_reward_scale of[GROUP_SIZE_MAX];
    group_gather_all(all, own, of, sizeof(*own));
    for (uint32_t r = 0; r < group_size(all); r++) {
        scale_join(scale, &of[r]);
    }
}

static algo_moments
moments_of_own(const float *x, uint32_t count)
{
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += (double)x[i];
    }
    double mean = sum / count;
    for (uint32_t i = 0; i < count; i++) {
        double off = (double)x[i] - mean;
        squares += off * off;
    }
    return (algo_moments){mean, squares / count};
}

algo_moments
algo_moments_of(group *all, const float *x, uint32_t count)
{
    const algo_moments own = moments_of_own(x, count);
    if (all == NULL) {
        return own;
    }
    const algo_reward_scale mine = {count, own.mean, own.variance * count};
    algo_reward_scale joined = {0};
    scales_join(&joined, all, &mine);
    return (algo_moments){joined.mean, joined.squares / joined.count};
}

void
algo_standardise(group *all, float *x, uint32_t count)
{
    if (group_size(all) * count == 1) {
        return;
    }
    const algo_moments moments = algo_moments_of(all, x, count);
    double scale = 1.0 / (sqrt(moments.variance) + DEVIATION_EPSILON);
    for (uint32_t i = 0; i < count; i++) {
        x[i] = (float)(((double)x[i] - moments.mean) * scale);
    }
}

float
algo_log_ratio(float log_p, float log_q)
{
    float log_ratio = log_p - log_q;
    return log_ratio > LOG_RATIO_MAX ? LOG_RATIO_MAX : log_ratio;
}

// Adds one number (Welford 1962).
static void
scale_add(algo_reward_scale *scale, double x)
{
    scale->count += 1;
    double off = x - scale->mean;
    scale->mean += off / scale->count;
    scale->squares += off * (x - scale->mean);
}

void
algo_reward_scale_apply(algo_reward_scale *scale, group *all, const algo_rows *rows, float discount,
                        float *out)
{
    algo_reward_scale own = {0};
    double sum = 0;
    for (uint32_t n = 0; n < rows->N; n++) {
        sum = (double)rows->reward[n] + (double)discount * sum;
        scale_add(&own, sum);
        sum = rows->behind[n] == ALGO_BEHIND_NEXT ? sum : 0;
    }
    scales_join(scale, all, &own);
    double factor = 1.0 / sqrt(scale->squares / scale->count + DEVIATION_EPSILON);
    for (uint32_t n = 0; n < rows->N; n++) {
        double scaled = (double)rows->reward[n] * factor;
        out[n] = (float)fmax(-SCALED_REWARD_MAX, fmin(SCALED_REWARD_MAX, scaled));
    }
}

void
algo_reward_scale_save(const algo_reward_scale *scale, oct_writer *writer)
{
    oct_write_f64(writer, scale->count);
    oct_write_f64(writer, scale->mean);
    oct_write_f64(writer, scale->squares);
}

oct_err
algo_reward_scale_read(algo_reward_scale *out, oct_reader *reader)
{
    algo_reward_scale scale;
    scale.count = oct_read_f64(reader);
    scale.mean = oct_read_f64(reader);
    scale.squares = oct_read_f64(reader);
    if (reader->failed || !(scale.count >= 0) || !(scale.squares >= 0) || !isfinite(scale.count) ||
        !isfinite(scale.mean) || !isfinite(scale.squares)) {
        return OCT_EPROTO;
    }
    *out = scale;
    return OCT_OK;
}
