// The rate limiter: decides whether an insert or a sample is allowed, by the ratio of samples to
// inserts.
#include "replay/replay_limiter.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "common/oct_base.h"

static double
band_middle(const replay_limiter_spec *spec)
{
    return (double)spec->min_size * spec->samples_per_insert;
}

// Sets the band around the middle, wide enough for one insert and one sample. One additional sample
// covers the rounding of the balance.
static void
band_set(replay_limiter *limiter)
{
    double middle = band_middle(&limiter->spec);
    double half = limiter->spec.tolerance * middle;
    double needed =
        limiter->insert_chunk * limiter->spec.samples_per_insert + limiter->sample_chunk + 1;
    limiter->is_widened = 2 * half < needed;
    if (limiter->is_widened) {
        half = needed / 2;
    }
    limiter->balance_min = middle - half;
    limiter->balance_max = middle + half;
}

static bool
is_unlimited(const replay_limiter *limiter)
{
    return limiter->spec.samples_per_insert <= 0;
}

bool
replay_limiter_is_warm(const replay_limiter *limiter)
{
    return limiter->inserts >= limiter->spec.min_size;
}

double
replay_limiter_balance(const replay_limiter *limiter)
{
    return (double)limiter->inserts * limiter->spec.samples_per_insert - (double)limiter->samples +
           limiter->offset;
}

static void
spec_take(replay_limiter *limiter, const replay_limiter_spec *spec)
{
    OCT_ASSERT(isfinite(spec->samples_per_insert) && spec->samples_per_insert >= 0);
    OCT_ASSERT(isfinite(spec->tolerance) && spec->tolerance >= 0);
    limiter->spec = *spec;
    limiter->spec.min_size = OCT_MAX(spec->min_size, 1);
    band_set(limiter);
}

void
replay_limiter_init(replay_limiter *limiter, const replay_limiter_spec *spec)
{
    *limiter = (replay_limiter){.insert_chunk = 1, .sample_chunk = 1};
    spec_take(limiter, spec);
}

void
replay_limiter_set(replay_limiter *limiter, const replay_limiter_spec *spec)
{
    double from_middle = replay_limiter_balance(limiter) - band_middle(&limiter->spec);
    bool was_warm = replay_limiter_is_warm(limiter) && !is_unlimited(limiter);
    spec_take(limiter, spec);
    double middle = band_middle(&limiter->spec);
    double want = middle; // as if the samples so far had kept exactly to the new ratio
    if (was_warm) {
        want +=
            fmin(fmax(from_middle, limiter->balance_min - middle), limiter->balance_max - middle);
    }
    if (!replay_limiter_is_warm(limiter)) { // reach the middle with the last insert of the warm-up
        want = (double)limiter->inserts * limiter->spec.samples_per_insert;
    }
    limiter->offset = 0;
    limiter->offset = want - replay_limiter_balance(limiter);
}

bool
replay_limiter_fit(replay_limiter *limiter, uint32_t insert_count, uint32_t sample_count)
{
    if (insert_count <= limiter->insert_chunk && sample_count <= limiter->sample_chunk) {
        return false;
    }
    double width = limiter->balance_max - limiter->balance_min;
    limiter->insert_chunk = OCT_MAX(limiter->insert_chunk, insert_count);
    limiter->sample_chunk = OCT_MAX(limiter->sample_chunk, sample_count);
    band_set(limiter);
    return !is_unlimited(limiter) && limiter->balance_max - limiter->balance_min > width;
}

bool
replay_limiter_may_insert(const replay_limiter *limiter, uint32_t count)
{
    return is_unlimited(limiter) || !replay_limiter_is_warm(limiter) ||
           replay_limiter_balance(limiter) + count * limiter->spec.samples_per_insert <=
               limiter->balance_max;
}

uint32_t
replay_limiter_may_sample(const replay_limiter *limiter, uint32_t batch_size, uint32_t batches_max)
{
    OCT_ASSERT(batch_size > 0);
    if (!replay_limiter_is_warm(limiter)) {
        return 0;
    }
    if (is_unlimited(limiter)) {
        return batches_max;
    }
    double room = (replay_limiter_balance(limiter) - limiter->balance_min) / batch_size;
    return room < 1 ? 0 : room >= batches_max ? batches_max : (uint32_t)room;
}

void
replay_limiter_inserted(replay_limiter *limiter, uint64_t count)
{
    limiter->inserts += count;
}

void
replay_limiter_sampled(replay_limiter *limiter, uint64_t count)
{
    limiter->samples += count;
}

void
replay_limiter_returned(replay_limiter *limiter, uint64_t count)
{
    OCT_ASSERT(count <= limiter->samples);
    limiter->samples -= count;
}

void
replay_limiter_found(replay_limiter *limiter, uint64_t count)
{
    limiter->inserts += count;
    limiter->offset -= (double)count * limiter->spec.samples_per_insert;
}

replay_limiter
replay_limiter_joined(const replay_limiter *limiter, const wire_others *others)
{
    replay_limiter joined = *limiter;
    joined.inserts += others->inserts;
    joined.samples += others->samples;
    // The joined offset makes the joined balance the sum of both balances.
    joined.offset += others->balance + (double)others->samples -
                     (double)others->inserts * limiter->spec.samples_per_insert;
    (void)replay_limiter_fit(&joined, others->insert_chunk, others->sample_chunk);
    return joined;
}

void
replay_limiter_set_joined(replay_limiter *limiter, const replay_limiter_spec *spec,
                          const wire_others *others, uint32_t parts)
{
    OCT_ASSERT(parts > 0);
    replay_limiter joined = replay_limiter_joined(limiter, others);
    double before = replay_limiter_balance(&joined);
    replay_limiter_set(&joined, spec);
    double after = replay_limiter_balance(&joined);
    double of_others = others->balance + (after - before) * (parts - 1) / parts;
    // This table's part of the new joined balance.
    double own = after - of_others;
    spec_take(limiter, spec);
    limiter->offset = 0;
    limiter->offset = own - replay_limiter_balance(limiter);
}

void
replay_limiter_explain_insert(const replay_limiter *limiter, char *text, size_t text_size)
{
    (void)snprintf(text, text_size,
                   "inserts wait for samples: %" PRIu64 " samples of %" PRIu64
                   " inserts, target %g per insert; balance %.0f, at most %.0f",
                   limiter->samples, limiter->inserts, limiter->spec.samples_per_insert,
                   replay_limiter_balance(limiter), limiter->balance_max);
}

void
replay_limiter_explain_sample(const replay_limiter *limiter, char *text, size_t text_size)
{
    if (!replay_limiter_is_warm(limiter)) {
        (void)snprintf(text, text_size,
                       "samples wait for inserts: %" PRIu64 " of the first %" PRIu64
                       " windows (min_size)",
                       limiter->inserts, limiter->spec.min_size);
        return;
    }
    (void)snprintf(text, text_size,
                   "samples wait for inserts: %" PRIu64 " samples of %" PRIu64
                   " inserts, target %g per insert; balance %.0f, at least %.0f",
                   limiter->samples, limiter->inserts, limiter->spec.samples_per_insert,
                   replay_limiter_balance(limiter), limiter->balance_min);
}
