// Decides when a daemon that died may start again.

#include "cli/run/cli_backoff.h"

#include "common/oct_base.h"

#define NS_PER_S  1000000000ull
#define NS_PER_MS 1000000ull

bool
cli_backoff_next(cli_backoff *backoff, const cli_backoff_rule *rule, uint64_t now_ns,
                 uint64_t lived_ns, uint32_t *delay_ms)
{
    OCT_ASSERT(rule->restarts_max >= 1 && rule->restarts_max <= CLI_BACKOFF_RESTARTS_MAX);
    // The slot that the next death overwrites holds the death restarts_max before it.
    uint64_t *oldest_ns = &backoff->died_ns[backoff->count % rule->restarts_max];
    if (backoff->count >= rule->restarts_max && now_ns - *oldest_ns < rule->window_s * NS_PER_S) {
        return false;
    }
    *oldest_ns = now_ns;
    backoff->count++;
    // A daemon that lived longer than the longest delay was not in a loop of deaths.
    bool was_well = lived_ns > rule->last_ms * NS_PER_MS;
    backoff->delay_ms = backoff->delay_ms == 0 || was_well
                            ? rule->first_ms
                            : OCT_MIN(2 * backoff->delay_ms, rule->last_ms);
    *delay_ms = backoff->delay_ms;
    return true;
}
