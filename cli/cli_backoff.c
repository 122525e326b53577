#include "cli/cli_backoff.h"

#include "common/oct_base.h"

#define NS_PER_S 1000000000ull

bool
cli_backoff_next(cli_backoff *backoff, uint64_t now_ns, uint64_t lived_ns, uint32_t *delay_ms)
{
    uint64_t *oldest_ns = &backoff->died_ns[backoff->count % CLI_BACKOFF_RESTARTS_MAX];
    if (backoff->count >= CLI_BACKOFF_RESTARTS_MAX &&
        now_ns - *oldest_ns < CLI_BACKOFF_WINDOW_S * NS_PER_S) {
        return false;
    }
    *oldest_ns = now_ns;
    backoff->count++;
    // One that lived longer than the longest delay was not in a loop of dying.
    bool was_well = lived_ns > CLI_BACKOFF_LAST_MS * 1000000ull;
    backoff->delay_ms = backoff->delay_ms == 0 || was_well
                            ? CLI_BACKOFF_FIRST_MS
                            : OCT_MIN(2 * backoff->delay_ms, CLI_BACKOFF_LAST_MS);
    *delay_ms = backoff->delay_ms;
    return true;
}
