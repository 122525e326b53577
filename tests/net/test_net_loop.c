// The event loop: timers, wake-ups from other threads, signals, and the deadline for exiting.
#include "tests/net/net_test.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "net/net_internal.h"
#include "net/net_process.h"

#define SENDERS 4
#define SENDS   20000u

static const char *own_file; // this program, for the tests that need another process

typedef struct counter {
    net_loop *loop;
    net_timer *timer;
    unsigned calls;
    int last_signal;
    bool stop_timer;
} counter;

static void
counter_called(void *arg)
{
    counter *c = arg;
    c->calls++;
    if (c->stop_timer) {
        net_timer_stop(c->timer);
        c->timer = NULL;
    }
    net_loop_stop(c->loop);
}

static void
counter_signalled(void *arg, int signal_number)
{
    counter *c = arg;
    c->last_signal = signal_number;
    counter_called(c);
}

static void
test_signal_that_cannot_be_caught_is_refused(void **state)
{
    (void)state;
    net_loop *loop = net_loop_create();
    T_ERR(net_loop_on_signal(loop, SIGKILL, counter_signalled, NULL), OCT_EINVAL);
    T_ERR(net_loop_on_signal(loop, 0, counter_signalled, NULL), OCT_EINVAL);
    net_loop_destroy(loop);
}

static void
test_input_calls_until_all_is_read_and_a_plain_file_is_refused(void **state)
{
    (void)state;
    int ends[2];
    char byte;
    counter c = {.loop = net_loop_create()};
    net_input *input = NULL;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "ab", 2), 2);
    T_OK(net_input_start(&input, c.loop, ends[0], counter_called, &c));
    for (unsigned i = 1; i <= 2; i++) {
        net_loop_run(c.loop);
        assert_int_equal(c.calls, i);
        assert_int_equal(read(ends[0], &byte, 1), 1);
    }
    (void)close(ends[1]);
    net_loop_run(c.loop); // the end
    assert_int_equal(c.calls, 3);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    net_input_stop(input);
    (void)close(ends[0]);
    FILE *file = tmpfile();
    assert_non_null(file);
    T_ERR(net_input_start(&input, c.loop, fileno(file), counter_called, &c), OCT_EINVAL);
    (void)fclose(file);
    net_loop_destroy(c.loop);
}

// As a shell has it that unset a variable by setting it to nothing.
static void
test_folder_of_certificates_is_none_where_its_variable_is_empty(void **state)
{
    (void)state;
    assert_int_equal(unsetenv("OCTET_TLS"), 0);
    assert_null(net_loop_tls_default());
    assert_int_equal(setenv("OCTET_TLS", "", 1), 0);
    assert_null(net_loop_tls_default());
    assert_int_equal(setenv("OCTET_TLS", "folder", 1), 0);
    assert_string_equal(net_loop_tls_default(), "folder");
    assert_int_equal(unsetenv("OCTET_TLS"), 0);
}

static void
test_loop_things_may_be_null(void **state)
{
    (void)state;
    net_timer_stop(NULL);
    net_input_stop(NULL);
    net_wakeup_destroy(NULL);
    net_loop_destroy(NULL);
}

static void
test_loop_runs_until_stopped_though_nothing_is_open(void **state)
{
    (void)state;
    counter c = {.loop = net_loop_create()};
    c.timer = net_timer_start(c.loop, 1, 0, counter_called, &c);
    net_loop_run(c.loop);
    assert_int_equal(c.calls, 1);
    net_timer_stop(c.timer);
    // A loop of nothing but itself: a wakeup sent before ends it.
    net_wakeup *wakeup = net_wakeup_create(c.loop, counter_called, &c);
    net_wakeup_send(wakeup);
    net_loop_run(c.loop);
    assert_int_equal(c.calls, 2);
    net_wakeup_destroy(wakeup);
    net_loop_destroy(c.loop);
}

static void
test_timer_repeats_and_may_stop_itself(void **state)
{
    (void)state;
    counter c = {.loop = net_loop_create()};
    c.timer = net_timer_start(c.loop, 0, 1, counter_called, &c);
    net_test_until(c.loop, &c.calls, 3);
    c.stop_timer = true;
    net_test_until(c.loop, &c.calls, 4);
    assert_null(c.timer);
    // The next timer to fire is a later one: the stopped one is not called again.
    counter later = {.loop = c.loop};
    later.timer = net_timer_start(c.loop, 10, 0, counter_called, &later);
    net_test_until(c.loop, &later.calls, 1);
    assert_int_equal(c.calls, 4);
    net_timer_stop(later.timer);
    net_loop_destroy(c.loop);
}

static void
test_timer_of_a_busy_loop_counts_from_its_start(void **state)
{
    (void)state;
    net_loop *loop = net_loop_create();
    counter slow = {.loop = loop};
    counter quick = {.loop = loop};
    slow.timer = net_timer_start(loop, 40, 0, counter_called, &slow);
    quick.timer = net_timer_start(loop, 5, 0, counter_called, &quick);
    net_test_until(loop, &slow.calls, 1);
    assert_int_equal(quick.calls, 1);
    net_timer_stop(slow.timer);
    net_timer_stop(quick.timer);
    net_loop_destroy(loop);
}

static void
test_wakeup_calls_once_for_many_sends(void **state)
{
    (void)state;
    counter c = {.loop = net_loop_create()};
    net_wakeup *wakeup = net_wakeup_create(c.loop, counter_called, &c);
    for (unsigned times = 1; times <= 3; times++) {
        for (int i = 0; i < 1000; i++) {
            net_wakeup_send(wakeup);
        }
        net_loop_run(c.loop);
        assert_int_equal(c.calls, times);
    }
    net_wakeup_destroy(wakeup);
    net_loop_destroy(c.loop);
}

typedef struct senders {
    net_loop *loop;
    net_wakeup *wakeup;
    atomic_uint sent;
    unsigned seen;
} senders;

static void *
sender_run(void *arg)
{
    senders *s = arg;
    for (unsigned i = 0; i < SENDS; i++) {
        atomic_fetch_add_explicit(&s->sent, 1, memory_order_relaxed);
        net_wakeup_send(s->wakeup);
    }
    return NULL;
}

static void
senders_woken(void *arg)
{
    senders *s = arg;
    s->seen = atomic_load_explicit(&s->sent, memory_order_relaxed);
    net_loop_stop(s->loop);
}

// Would hang if what was written before a send could be missed.
static void
test_wakeup_from_many_threads_misses_nothing(void **state)
{
    (void)state;
    senders s = {.loop = net_loop_create()};
    s.wakeup = net_wakeup_create(s.loop, senders_woken, &s);
    pthread_t threads[SENDERS];
    for (int i = 0; i < SENDERS; i++) {
        pthread_create(&threads[i], NULL, sender_run, &s);
    }
    net_test_until(s.loop, &s.seen, SENDERS * SENDS);
    for (int i = 0; i < SENDERS; i++) {
        pthread_join(threads[i], NULL);
    }
    net_wakeup_destroy(s.wakeup);
    net_loop_destroy(s.loop);
}

static void
test_signals_reach_the_loop(void **state)
{
    (void)state;
    counter c = {.loop = net_loop_create()};
    T_OK(net_loop_on_signal(c.loop, SIGUSR1, counter_signalled, &c));
    T_OK(net_loop_on_signal(c.loop, SIGUSR2, counter_signalled, &c));
    raise(SIGUSR2);
    net_test_until(c.loop, &c.calls, 1);
    assert_int_equal(c.last_signal, SIGUSR2);
    raise(SIGUSR1);
    net_test_until(c.loop, &c.calls, 2);
    assert_int_equal(c.last_signal, SIGUSR1);
    net_loop_destroy(c.loop);
}

typedef struct held {
    net_loop *loop;
    net_wakeup *wakeup;
    unsigned turns;
} held;

static void
held_woken(void *arg)
{
    held *h = arg;
    if (h->turns++ == 0) {
        raise(SIGWINCH); // ignored where nobody watches it
    }
    if (h->turns <= 3) {
        net_wakeup_send(h->wakeup);
        return;
    }
    net_wakeup_destroy(h->wakeup);
    net_loop_hold(h->loop, -1);
}

static void
test_a_signal_that_is_watched_no_more_has_its_default_effect(void **state)
{
    (void)state;
    counter c = {.loop = net_loop_create()};
    struct sigaction before, after;
    T_OK(net_loop_on_signal(c.loop, SIGUSR1, counter_signalled, &c));
    assert_int_equal(sigaction(SIGUSR1, NULL, &before), 0);
    net_loop_signals_end(c.loop);
    assert_int_equal(sigaction(SIGUSR1, NULL, &after), 0);
    net_loop_destroy(c.loop);
    assert_true(before.sa_handler != SIG_DFL && after.sa_handler == SIG_DFL);
}

// What its handler would use is freed by then.
static void
test_no_signal_reaches_a_loop_that_ends_while_links_still_close(void **state)
{
    (void)state;
    held h = {.loop = net_loop_create()};
    counter c = {.loop = h.loop};
    T_OK(net_loop_on_signal(h.loop, SIGWINCH, counter_signalled, &c));
    h.wakeup = net_wakeup_create(h.loop, held_woken, &h);
    net_loop_hold(h.loop, 1);
    net_wakeup_send(h.wakeup);
    net_loop_destroy(h.loop);
    assert_int_equal(h.turns, 4);
    assert_int_equal(c.calls, 0);
}

// Runs this program in a mode of its own (see main) and returns its exit status.
static int
run_self(const char *mode, char *log, size_t log_size)
{
    const char *const argv[] = {"test_net_loop", mode, NULL};
    const char *log_path = net_test_path(mode);
    net_process_spec spec = {.file = own_file, .argv = argv, .folder = "/", .log_path = log_path};
    net_loop *loop = net_loop_create();
    net_test_daemon self;
    net_test_daemon_start(&self, loop, &spec);
    int exit_status = net_test_daemon_end(&self);
    net_loop_destroy(loop);
    net_test_read(log_path, log, log_size);
    return exit_status;
}

static void
test_exit_deadline_ends_a_process_that_hangs(void **state)
{
    (void)state;
    char log[1000];
    assert_int_equal(run_self("hang", log, sizeof(log)), 42);
    assert_non_null(strstr(log, " W NET-STUCK "));
}

static void
test_exit_deadline_is_disarmed_by_the_end_of_the_loop(void **state)
{
    (void)state;
    char log[1000];
    assert_int_equal(run_self("close", log, sizeof(log)), 7);
    assert_string_equal(log, "");
}

_Noreturn static void
mode_hang(void)
{
    net_loop *loop = net_loop_create();
    net_loop_exit_deadline(loop, 10, 42);
    net_loop_exit_deadline(loop, 0, 43); // the first one counts
    for (;;) {
        pause();
    }
}

static bool
thread_exists(const char *name)
{
    bool found = false;
    DIR *tasks = opendir("/proc/self/task");
    OCT_ASSERT(tasks != NULL);
    for (struct dirent *task; !found && (task = readdir(tasks)) != NULL;) {
        char path[300];
        char comm[20] = "";
        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
        FILE *file = fopen(path, "re");
        if (file != NULL) {
            found = fgets(comm, sizeof(comm), file) != NULL && strcmp(comm, name) == 0;
            fclose(file);
        }
    }
    closedir(tasks);
    return found;
}

// Waits until the thread of the deadline is gone: it has seen that it must not fire.
static int
mode_close(void)
{
    net_loop *loop = net_loop_create();
    net_loop_exit_deadline(loop, 500, 42);
    net_loop_destroy(loop);
    OCT_ASSERT(thread_exists("exit-deadline\n"));
    while (thread_exists("exit-deadline\n")) {
        sched_yield();
    }
    return 7;
}

int
main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "hang") == 0) {
        mode_hang();
    }
    if (argc == 2 && strcmp(argv[1], "close") == 0) {
        return mode_close();
    }
    own_file = realpath(argv[0], NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signal_that_cannot_be_caught_is_refused),
        cmocka_unit_test(test_input_calls_until_all_is_read_and_a_plain_file_is_refused),
        cmocka_unit_test(test_folder_of_certificates_is_none_where_its_variable_is_empty),
        cmocka_unit_test(test_loop_things_may_be_null),
        cmocka_unit_test(test_loop_runs_until_stopped_though_nothing_is_open),
        cmocka_unit_test(test_timer_repeats_and_may_stop_itself),
        cmocka_unit_test(test_timer_of_a_busy_loop_counts_from_its_start),
        cmocka_unit_test(test_wakeup_calls_once_for_many_sends),
        cmocka_unit_test(test_wakeup_from_many_threads_misses_nothing),
        cmocka_unit_test(test_signals_reach_the_loop),
        cmocka_unit_test(test_a_signal_that_is_watched_no_more_has_its_default_effect),
        cmocka_unit_test(test_no_signal_reaches_a_loop_that_ends_while_links_still_close),
        cmocka_unit_test(test_exit_deadline_ends_a_process_that_hangs),
        cmocka_unit_test(test_exit_deadline_is_disarmed_by_the_end_of_the_loop),
    };
    int failed = cmocka_run_group_tests(tests, NULL, net_test_folder_remove);
    free((char *)own_file);
    return failed;
}
