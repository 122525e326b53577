// Judges by a daemon's page of shared memory whether it makes progress.

#include "cli/run/cli_watch.h"

#include <math.h>

// Seconds without progress after which a thread hangs; a thread that waits may wait forever.
static double
limit_of(const cli_watch_rule *rule, oct_pulse_doing doing)
{
    double limit_s = doing == OCT_PULSE_WORKS ? rule->hang_s
                     : doing == OCT_PULSE_ENV ? rule->env_hang_s
                                              : 0;
    return limit_s > 0 ? limit_s : INFINITY;
}

// Returns the seconds since the last check that count. After a pause of this process nothing
// counts, and all threads start again.
static double
elapsed_s(cli_watch *watch, uint64_t now_ns)
{
    double gap_s = watch->checked_ns != 0 ? 1e-9 * (double)(now_ns - watch->checked_ns) : 0;
    watch->checked_ns = now_ns;
    if (gap_s > CLI_WATCH_GAP_S) {
        for (int i = 0; i < OCT_PULSE_THREADS; i++) {
            watch->silent_s[i] = 0;
        }
        watch->bytes_silent_s = 0;
        return 0;
    }
    return gap_s;
}

// Compares the page with the last check, and adds the time to the threads that have not changed.
static void
page_read(cli_watch *watch, const oct_pulse_page *page, double since_s)
{
    uint64_t bytes = atomic_load_explicit(&page->bytes, memory_order_relaxed);
    bool has_moved = bytes != watch->bytes;
    watch->bytes = bytes;
    watch->bytes_silent_s = has_moved ? 0 : watch->bytes_silent_s + since_s;
    for (int i = 0; i < OCT_PULSE_THREADS; i++) {
        uint64_t beat = atomic_load_explicit(&page->beat[i], memory_order_relaxed);
        // The event loop moves bytes of files, or waits for the thread that does.
        bool continues = beat != watch->beat[i] || (has_moved && i == OCT_PULSE_LOOP);
        watch->beat[i] = beat;
        watch->silent_s[i] = continues ? 0 : watch->silent_s[i] + since_s;
    }
}

cli_watch_verdict
cli_watch_check(cli_watch *watch, const oct_pulse_page *page, const cli_watch_rule *rule,
                uint64_t now_ns, cli_watch_trouble *trouble)
{
    page_read(watch, page, elapsed_s(watch, now_ns));
    double worst = 0; // largest part of a thread's limit that has passed; 1: it hangs
    for (int i = 0; i < OCT_PULSE_THREADS; i++) {
        oct_pulse_doing doing = oct_pulse_doing_of(watch->beat[i]);
        double limit_s = limit_of(rule, doing);
        if (watch->silent_s[i] / limit_s > worst) {
            worst = watch->silent_s[i] / limit_s;
            *trouble = (cli_watch_trouble){.thread = (oct_pulse_thread)i,
                                           .silent_s = watch->silent_s[i],
                                           .limit_s = limit_s,
                                           .in_environment = doing == OCT_PULSE_ENV};
        }
    }
    bool was_quiet = watch->is_quiet;
    watch->is_quiet = worst >= 0.5;
    return worst >= 1                      ? CLI_WATCH_HUNG
           : watch->is_quiet && !was_quiet ? CLI_WATCH_QUIET
           : was_quiet && !watch->is_quiet ? CLI_WATCH_BACK
                                           : CLI_WATCH_WELL;
}

void
cli_watch_begin(cli_watch *watch)
{
    *watch = (cli_watch){0};
}

bool
cli_watch_is_writing(const cli_watch *watch, const oct_pulse_page *page, const cli_watch_rule *rule)
{
    return atomic_load_explicit(&page->writing, memory_order_relaxed) > 0 &&
           watch->bytes_silent_s < limit_of(rule, OCT_PULSE_WORKS);
}

bool
cli_watch_is_working(const cli_watch *watch, const oct_pulse_page *page, const cli_watch_rule *rule)
{
    uint64_t beat = atomic_load_explicit(&page->beat[OCT_PULSE_WORK], memory_order_relaxed);
    return oct_pulse_doing_of(beat) == OCT_PULSE_WORKS &&
           watch->silent_s[OCT_PULSE_WORK] < limit_of(rule, OCT_PULSE_WORKS);
}

const char *
cli_watch_trouble_text(const cli_watch_trouble *trouble)
{
    static const char *const threads[OCT_PULSE_THREADS] = {
        [OCT_PULSE_LOOP] = "its event loop",
        [OCT_PULSE_WORK] = "its working thread",
        [OCT_PULSE_ENCODE] = "its quantizer",
    };
    return trouble->in_environment ? "its environment" : threads[trouble->thread];
}
