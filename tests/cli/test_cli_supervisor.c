// The supervisor restarts, ends and reports its daemons. They are shell commands here, observed
// through its events; a hang is ended by meson's timeout.
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run/cli_report.h"
#include "cli/run/cli_supervisor.h"
#include "common/oct_clock.h"
#include "net/net_process.h"
#include "tests/support/oct_test.h"

typedef struct seen {
    net_loop *loop;
    cli_supervisor *supervisor;
    int deaths;
    uint32_t last_delay_ms;
    int ends;
    cli_end why;
    int end_status;
    bool gone;
    int deaths_wanted; // then SIGKILL for all
    int quiet, hangs;
    net_timer *look;
    uint32_t waiting;          // a daemon that waits, and a beat of it that was seen
    cli_watch_trouble trouble; // of the last hang
    const char *mark;          // a file made at the first death, or NULL
    const char *program;       // a link to a shell, away from its death to the next event, or NULL
    int starts_failed;
    double burnt_s; // CPU time of the daemon whose child has burnt some
} seen;

static const cli_backoff_rule quick = {
    .first_ms = 1, .last_ms = 1000, .restarts_max = 4, .window_s = 60};
static const cli_watch_rule watch = {.hang_s = 0.2, .env_hang_s = 0};
static const char *own_path;

static void
finish(seen *s)
{
    cli_supervisor_hold(s->supervisor);
    cli_supervisor_kill(s->supervisor, SIGKILL);
    if (cli_supervisor_running(s->supervisor) == 0) {
        net_loop_stop(s->loop);
    }
}

static void
death(void *arg, uint32_t daemon, int exit_status, uint32_t delay_ms)
{
    (void)daemon;
    seen *s = arg;
    s->last_delay_ms = delay_ms;
    s->starts_failed += exit_status == CLI_NO_START;
    if (s->program != NULL && s->deaths == 0) {
        assert_int_equal(unlink(s->program), 0);
    } else if (s->program != NULL && s->deaths == 1 && s->deaths_wanted > 0) {
        assert_int_equal(symlink("/bin/sh", s->program), 0);
    }
    if (s->mark != NULL && s->deaths == 0) {
        FILE *file = fopen(s->mark, "w");
        assert_non_null(file);
        (void)fclose(file);
    }
    if (++s->deaths == s->deaths_wanted) {
        finish(s);
    }
}

static void
watched(void *arg, uint32_t daemon, cli_watch_verdict verdict, const cli_watch_trouble *trouble)
{
    seen *s = arg;
    assert_int_not_equal(daemon, s->waiting);
    s->quiet += verdict == CLI_WATCH_QUIET;
    s->hangs += verdict == CLI_WATCH_HUNG;
    s->trouble = *trouble;
}

static void
look_due(void *arg)
{
    seen *s = arg;
    cli_supervisor_sample(s->supervisor);
}

static void
ended(void *arg, uint32_t daemon, int exit_status, cli_end why)
{
    (void)daemon;
    seen *s = arg;
    s->ends++;
    s->why = why;
    s->end_status = exit_status;
    finish(s);
}

static void
exited(void *arg, uint32_t daemon, int exit_status)
{
    (void)arg;
    (void)daemon;
    (void)exit_status;
}

static void
gone(void *arg)
{
    seen *s = arg;
    s->gone = true;
    net_loop_stop(s->loop);
}

static seen
seen_create(void)
{
    return (seen){.loop = net_loop_create(), .waiting = UINT32_MAX};
}

static void
seen_supervise(seen *s)
{
    cli_supervisor_events events = {.on_death = death,
                                    .on_watch = watched,
                                    .on_end = ended,
                                    .on_exit = exited,
                                    .on_gone = gone,
                                    .arg = s};
    s->supervisor = cli_supervisor_create(s->loop, ".", &quick, &watch, &events);
}

static uint32_t
add(seen *s, const char *name, const char *script, bool may_finish)
{
    const char *const argv[] = {"sh", "-c", script, "sh", NULL};
    cli_daemon_request request = {
        .name = name, .file = "/bin/sh", .argv = argv, .again = "again", .may_finish = may_finish};
    return cli_supervisor_add(s->supervisor, &request);
}

static void
seen_run(seen *s)
{
    cli_supervisor_start(s->supervisor);
    net_loop_run(s->loop);
    assert_int_equal(cli_supervisor_running(s->supervisor), 0);
}

static void
seen_destroy(seen *s)
{
    cli_supervisor_destroy(s->supervisor);
    net_loop_destroy(s->loop);
}

static void
test_daemon_that_keeps_dying_ends_the_run(void **state)
{
    (void)state;
    seen s = seen_create();
    seen_supervise(&s);
    uint32_t daemon = add(&s, "crash", "exit 7", false);
    seen_run(&s);
    assert_int_equal(s.deaths, 4);
    assert_int_equal(s.ends, 1);
    assert_int_equal(s.why, CLI_END_TOO_OFTEN);
    assert_int_equal(s.end_status, 7);
    assert_int_equal(s.last_delay_ms, 8);
    assert_int_equal(cli_supervisor_report(s.supervisor, daemon).starts, 5);
    assert_int_equal(cli_supervisor_restarts(s.supervisor), 4);
    seen_destroy(&s);
}

static void
test_daemon_that_refuses_is_not_started_again(void **state)
{
    (void)state;
    static const char *const commands[] = {"exit 3", "exit 2"};
    for (size_t i = 0; i < OCT_COUNTOF(commands); i++) {
        seen s = seen_create();
        seen_supervise(&s);
        uint32_t daemon = add(&s, "refuse", commands[i], true);
        seen_run(&s);
        assert_int_equal(s.deaths, 0);
        assert_int_equal(s.why, CLI_END_REFUSED);
        assert_int_equal(cli_supervisor_report(s.supervisor, daemon).starts, 1);
        seen_destroy(&s);
    }
}

// A daemon records its error in descriptor 4, which OCTET_FAILURE_FD names.
static void
test_reason_of_a_daemon_is_what_it_recorded(void **state)
{
    (void)state;
    static const struct {
        const char *command, *text;
    } daemons[] = {
        {"[ $OCTET_FAILURE_FD = 4 ] && printf '1 A-B why\\n' >&4; exit 3", "why"},
        {"[ -n \"$1\" ] && exit 3; printf '1 A-B of the start before\\n' >&4; exit 1",
         "of the start before"},
        {"printf '1 A-B half of it' >&4; kill -KILL $$", NULL},
        {"exit 3", NULL},
        {"kill -SEGV $$", NULL},
    };
    for (size_t i = 0; i < OCT_COUNTOF(daemons); i++) {
        oct_failure failure;
        seen s = seen_create();
        seen_supervise(&s);
        uint32_t daemon = add(&s, "reason", daemons[i].command, true);
        seen_run(&s);
        bool has_reason = cli_supervisor_failure(s.supervisor, daemon, OCT_FAILURE_ERROR, &failure);
        assert_int_equal(has_reason, daemons[i].text != NULL);
        if (has_reason) {
            assert_string_equal(failure.text, daemons[i].text);
        }
        seen_destroy(&s);
    }
}

static void
test_daemon_that_cannot_start_ends_the_run(void **state)
{
    (void)state;
    seen s = seen_create();
    seen_supervise(&s);
    const char *const argv[] = {"missing", NULL};
    cli_daemon_request request = {.name = "missing", .file = "/nonexistent", .argv = argv};
    uint32_t daemon = cli_supervisor_add(s.supervisor, &request);
    uint32_t never = add(&s, "never", "exit 0", false);
    cli_supervisor_start(s.supervisor);
    assert_int_equal(s.why, CLI_END_NO_START);
    assert_int_equal(cli_supervisor_report(s.supervisor, daemon).starts, 0);
    assert_int_equal(cli_supervisor_report(s.supervisor, never).starts, 0);
    seen_destroy(&s);
}

static void
test_daemon_whose_program_is_being_replaced_starts_later(void **state)
{
    (void)state;
    char program[128];
    (void)snprintf(program, sizeof(program), "/tmp/octet_supervisor_%d", (int)getpid());
    const char *const argv[] = {"sh", "-c", "exit 7", NULL};
    cli_daemon_request request = {.name = "replaced", .file = program, .argv = argv};
    for (int comes = 0; comes < 2; comes++) {
        assert_int_equal(symlink("/bin/sh", program), 0);
        seen s = seen_create();
        s.program = program;
        s.deaths_wanted = comes ? 3 : 0;
        seen_supervise(&s);
        uint32_t daemon = cli_supervisor_add(s.supervisor, &request);
        seen_run(&s);
        assert_int_equal(s.starts_failed, comes ? 1 : 3);
        assert_int_equal(s.ends, !comes);
        assert_int_equal(s.why, comes ? CLI_END_FINISHED : CLI_END_NO_START);
        assert_int_equal(cli_supervisor_report(s.supervisor, daemon).starts, comes ? 2 : 1);
        assert_int_equal(cli_supervisor_report(s.supervisor, daemon).exit_status, 7);
        seen_destroy(&s);
        (void)unlink(program);
    }
}

static void
test_exit_code_0_is_an_end_only_for_who_may_finish(void **state)
{
    (void)state;
    seen s = seen_create();
    seen_supervise(&s);
    (void)add(&s, "finishes", "exit 0", true);
    seen_run(&s);
    assert_int_equal(s.why, CLI_END_FINISHED);
    assert_int_equal(s.deaths, 0);
    seen_destroy(&s);

    s = seen_create();
    s.deaths_wanted = 1;
    seen_supervise(&s);
    (void)add(&s, "leaves", "exit 0", false);
    seen_run(&s);
    assert_int_equal(s.deaths, 1);
    assert_int_equal(s.ends, 0);
    seen_destroy(&s);
}

static void
test_restarted_daemon_gets_one_more_argument_once_and_the_count(void **state)
{
    (void)state;
    (void)unlink("log/again.log");
    seen s = seen_create();
    s.deaths_wanted = 3;
    seen_supervise(&s);
    (void)add(&s, "again", "echo \"[$*] $OCTET_RESTARTS\"; exit 1", false);
    seen_run(&s);
    seen_destroy(&s);
    char text[64] = "";
    FILE *log = fopen("log/again.log", "r");
    assert_non_null(log);
    assert_true(fread(text, 1, sizeof(text) - 1, log) > 0);
    (void)fclose(log);
    assert_string_equal(text, "[] 0\n[again] 1\n[again] 2\n");
}

static void
test_kill_reaches_everyone_and_gone_comes_last(void **state)
{
    (void)state;
    seen s = seen_create();
    s.deaths_wanted = 1;
    seen_supervise(&s);
    uint32_t sleeper = add(&s, "sleeper", "trap '' TERM; sleep 1000", false);
    (void)add(&s, "trigger", "exit 1", false);
    seen_run(&s);
    assert_true(s.gone);
    assert_int_equal(cli_supervisor_report(s.supervisor, sleeper).exit_status, 128 + SIGKILL);
    assert_false(cli_supervisor_report(s.supervisor, sleeper).running);
    seen_destroy(&s);
}

static void
test_cpu_time_is_told_apart_by_daemon(void **state)
{
    (void)state;
    seen s = seen_create();
    s.deaths_wanted = 2;
    s.mark = "log/idle-died";
    (void)unlink(s.mark);
    seen_supervise(&s);
    // Reaped together they could not be told apart: the busy one waits, busily, for the other's
    // end.
    uint32_t busy = add(&s, "busy",
                        "i=0; while [ ! -e log/idle-died ]; do :; done; "
                        "while [ $i -lt 50000 ]; do i=$((i+1)); done; exit 1",
                        false);
    uint32_t idle = add(&s, "idle", "[ -z \"$1\" ] || exec sleep 1000; exit 1", false);
    seen_run(&s);
    double busy_s = cli_supervisor_report(s.supervisor, busy).cpu_s;
    double idle_s = cli_supervisor_report(s.supervisor, idle).cpu_s;
    assert_true(busy_s > idle_s && idle_s > 0);
    seen_destroy(&s);
}

#define BURNT   "log/child-burnt"
#define SAMPLES 16 // a search for new processes is among them

// This program again, as a daemon's child: uses 0.2 s of CPU time, says so, and does nothing more.
static int
burn_and_pause(void)
{
    if (!net_process_follow_parent(getppid())) {
        return 1;
    }
    while (oct_clock_process_cpu_ns() < 200000000) {
    }
    FILE *file = fopen(BURNT, "w");
    if (file != NULL) {
        (void)fclose(file);
    }
    (void)pause();
    return 0;
}

static void
burnt_due(void *arg)
{
    seen *s = arg;
    if (access(BURNT, F_OK) != 0) {
        return;
    }
    for (int i = 0; i < SAMPLES; i++) {
        cli_supervisor_sample(s->supervisor);
    }
    s->burnt_s = cli_supervisor_report(s->supervisor, 0).cpu_s;
    finish(s);
}

static void
test_cpu_time_of_a_daemons_child_counts_before_it_ends_and_is_kept(void **state)
{
    (void)state;
    seen s = seen_create();
    (void)unlink(BURNT);
    seen_supervise(&s);
    char script[512];
    (void)snprintf(script, sizeof(script), "'%s' burn & wait", own_path);
    uint32_t parent = add(&s, "parent", script, false);
    s.look = net_timer_start(s.loop, 10, 10, burnt_due, &s);
    seen_run(&s);
    net_timer_stop(s.look);
    // Killed, it has not waited for its child. User and system time are told in hundredths.
    assert_true(s.burnt_s >= 0.18);
    assert_true(cli_supervisor_report(s.supervisor, parent).cpu_s >= s.burnt_s);
    assert_int_equal(s.deaths + s.ends, 0);
    seen_destroy(&s);
}

// This program again, as a daemon that shows this and then does nothing.
static uint32_t
add_shower(seen *s, const char *name, const char *doing)
{
    const char *const argv[] = {own_path, doing, NULL};
    cli_daemon_request request = {.name = name, .file = own_path, .argv = argv, .has_pulse = true};
    return cli_supervisor_add(s->supervisor, &request);
}

static int
show_and_pause(const char *doing)
{
    if (oct_pulse_join(NET_PROCESS_FD) != OCT_OK) {
        return 1;
    }
    oct_pulse_beat(OCT_PULSE_LOOP, OCT_PULSE_WAITS);
    oct_pulse_beat(OCT_PULSE_WORK, (oct_pulse_doing)strtol(doing, NULL, 10));
    for (;;) {
        (void)pause();
    }
}

static void
test_daemon_that_hangs_is_told_killed_and_restarted(void **state)
{
    (void)state;
    seen s = seen_create();
    s.deaths_wanted = 2;
    seen_supervise(&s);
    s.waiting = add_shower(&s, "waits", "2");
    uint32_t hangs = add_shower(&s, "hangs", "1");
    s.look = net_timer_start(s.loop, 1, 20, look_due, &s);
    seen_run(&s);
    assert_int_equal(s.hangs, 2);
    assert_int_equal(s.quiet, 2);
    assert_int_equal(s.trouble.thread, OCT_PULSE_WORK);
    assert_true(s.trouble.silent_s >= watch.hang_s);
    cli_daemon_report report = cli_supervisor_report(s.supervisor, hangs);
    assert_int_equal(report.hangs, 2);
    assert_true(report.has_hung);
    assert_int_equal(report.starts, 2);
    assert_int_equal(report.exit_status, 128 + SIGKILL);
    assert_int_equal(cli_supervisor_report(s.supervisor, s.waiting).starts, 1);
    net_timer_stop(s.look);
    seen_destroy(&s);
}

// The linker puts this in place of the counter of the kernel.
static uint64_t kernel_kills = 7;

uint64_t __wrap_oct_cgroup_oom_kills(const char *root);

uint64_t
__wrap_oct_cgroup_oom_kills(const char *root)
{
    (void)root;
    return kernel_kills;
}

static void
test_daemon_that_the_kernel_kills_for_memory_is_told_from_others(void **state)
{
    (void)state;
    seen s = seen_create();
    s.deaths_wanted = 3;
    seen_supervise(&s);
    kernel_kills++;
    uint32_t index = add(&s, "killed", "kill -9 $$", false);
    seen_run(&s);
    cli_daemon_report report = cli_supervisor_report(s.supervisor, index);
    assert_true(report.starts >= 3);
    assert_int_equal(report.exit_status, 128 + SIGKILL);
    assert_int_equal(report.oom_kills, 1); // the first death
    assert_false(report.was_out_of_memory);
    seen_destroy(&s);
    s = seen_create();
    s.deaths_wanted = 3;
    seen_supervise(&s);
    kernel_kills += 2; // of two daemons, or of one twice: each death takes one
    index = add(&s, "killed", "kill -9 $$", false);
    seen_run(&s);
    assert_int_equal(cli_supervisor_report(s.supervisor, index).oom_kills, 2);
    seen_destroy(&s);
    s = seen_create();
    s.deaths_wanted = 3;
    seen_supervise(&s);
    kernel_kills++; // of a process that is no daemon
    index = add(&s, "failed", "exit 1", false);
    seen_run(&s);
    assert_int_equal(cli_supervisor_report(s.supervisor, index).oom_kills, 0);
    char how[64];
    cli_report_exit_text(how, sizeof(how), 128 + SIGKILL, true);
    assert_string_equal(how, "was killed by the kernel: out of memory");
    seen_destroy(&s);
}

int
main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "burn") == 0) {
        return burn_and_pause();
    }
    if (argc > 1) {
        return show_and_pause(argv[1]);
    }
    own_path = realpath("/proc/self/exe", NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_daemon_that_keeps_dying_ends_the_run),
        cmocka_unit_test(test_daemon_that_refuses_is_not_started_again),
        cmocka_unit_test(test_reason_of_a_daemon_is_what_it_recorded),
        cmocka_unit_test(test_daemon_that_cannot_start_ends_the_run),
        cmocka_unit_test(test_daemon_whose_program_is_being_replaced_starts_later),
        cmocka_unit_test(test_exit_code_0_is_an_end_only_for_who_may_finish),
        cmocka_unit_test(test_restarted_daemon_gets_one_more_argument_once_and_the_count),
        cmocka_unit_test(test_kill_reaches_everyone_and_gone_comes_last),
        cmocka_unit_test(test_cpu_time_is_told_apart_by_daemon),
        cmocka_unit_test(test_cpu_time_of_a_daemons_child_counts_before_it_ends_and_is_kept),
        cmocka_unit_test(test_daemon_that_hangs_is_told_killed_and_restarted),
        cmocka_unit_test(test_daemon_that_the_kernel_kills_for_memory_is_told_from_others),
    };
    (void)mkdir("log", 0777);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
