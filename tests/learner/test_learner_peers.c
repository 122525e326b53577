// The list of actors and evaluators: rates, lag, and those in most trouble first.
#include <math.h>
#include <stdio.h>

#include "learner/learner_peers.h"
#include "tests/proto/wire_bytes.h"
#include "tests/support/oct_test.h"

#define SECOND 1000000000ull
#define AT(s)  ((uint64_t)((s)*1e9) + SECOND * 10000) // the clock has run for a while

static learner_actors *actors;
static learner_peers *peers;

static int
setup(void **state)
{
    (void)state;
    actors = learner_actors_create(0);
    peers = learner_peers_create();
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    learner_peers_destroy(peers);
    learner_actors_destroy(actors);
    return 0;
}

static learner_actor *
joined(uint64_t session, wire_role role, uint64_t now_ns)
{
    learner_actor *actor = NULL;
    const learner_registrant who = {.role = role, .session = session};
    T_OK(learner_actors_register(actors, &who, now_ns, &actor));
    return actor;
}

// A report of an actor that has acted for acting_s, a quarter of that each way.
static void
report(learner_actor *actor, uint64_t env_steps, double acting_s, uint64_t version, uint64_t now_ns)
{
    static const char *const names[] = {"infer_s", "env_s",  "collect_s",
                                        "wait_s",  "resent", "unacked"};
    const double values[] = {
        acting_s * 0.25, acting_s * 0.25, acting_s * 0.125, acting_s * 0.375, 3, 5};
    wire_report message = {.report_sequence = actor->report_sequence + 1,
                           .env_steps = env_steps,
                           .policy_version = version,
                           .stat_count = OCT_COUNTOF(names),
                           .stat_name = names,
                           .stat_value = values};
    const char *what;
    T_OK(learner_actors_report(actors, actor, &message, now_ns, &what));
}

// An actor that does steps_per_s and holds version, heard of at AT(2).
static learner_actor *
acting(uint64_t session, double steps_per_s, uint64_t version)
{
    learner_actor *actor = joined(session, WIRE_ROLE_ACTOR, AT(0));
    report(actor, 0, 0, version, AT(0));
    report(actor, (uint64_t)(2 * steps_per_s), 2, version, AT(2));
    return actor;
}

static void
test_peers_of_nobody(void **state)
{
    (void)state;
    const wire_peers *answer = learner_peers_list(peers, actors, NULL, AT(0), 0, WIRE_PEERS_MAX);
    assert_int_equal(answer->count, 0);
    assert_int_equal(answer->actors + answer->evaluators + answer->silent + answer->gone, 0);
    assert_true(isnan(answer->lag_mean));
    assert_true(answer->env_steps_per_s == 0);
}

static void
test_peers_before_the_first_report_know_no_rates(void **state)
{
    (void)state;
    learner_actor_introduce(joined(7, WIRE_ROLE_ACTOR, AT(0)), "host-1", 4711);
    const wire_peers *answer = learner_peers_list(peers, actors, NULL, AT(1.5), 3, WIRE_PEERS_MAX);
    assert_int_equal(answer->count, 1);
    assert_int_equal(answer->id[0], 7);
    assert_int_equal(answer->pid[0], 4711);
    assert_string_equal(answer->host[0], "host-1");
    assert_true(answer->session_s[0] == 1.5 && answer->heard_s[0] == 1.5);
    assert_true(isnan(answer->steps_per_s[0]) && isnan(answer->wait_share[0]));
    assert_true(isnan(answer->lag_versions[0]) && isnan(answer->lag_mean));
}

static void
test_peers_tell_rates_shares_and_lag(void **state)
{
    (void)state;
    (void)acting(7, 100, 8);
    const wire_peers *answer = learner_peers_list(peers, actors, NULL, AT(3), 10, WIRE_PEERS_MAX);
    assert_true(answer->steps_per_s[0] == 100 && answer->env_steps[0] == 200);
    assert_true(answer->infer_share[0] == 0.25 && answer->env_share[0] == 0.25);
    assert_true(answer->collect_share[0] == 0.125 && answer->wait_share[0] == 0.375);
    assert_true(answer->resent[0] == 3 && answer->unacked[0] == 5);
    assert_true(answer->lag_versions[0] == 2 && answer->lag_mean == 2);
    assert_int_equal(answer->version[0], 8);
    assert_true(answer->heard_s[0] == 1);
    assert_true(answer->env_steps_per_s == 100);
}

static void
test_rates_are_of_a_second_at_least(void **state)
{
    (void)state;
    learner_actor *actor = acting(7, 100, 8);
    report(actor, 10000, 2.5, 8, AT(2.5)); // too soon to tell
    assert_true(actor->rates.steps_per_s == 100);
    report(actor, 10200, 4, 8, AT(4));
    assert_true(actor->rates.steps_per_s == 5000); // of the two seconds since
}

static void
test_slow_and_lagging_actors_come_first(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 20; i++) {
        (void)acting(i, 1000, 10);
    }
    (void)acting(101, 100, 10);  // ten times slower
    (void)acting(102, 1000, 2);  // 8 versions behind
    (void)acting(103, 0, 10);    // stands still
    (void)acting(104, 2000, 10); // fast
    const wire_peers *answer = learner_peers_list(peers, actors, NULL, AT(2), 10, 4);
    assert_int_equal(answer->count, 4);
    assert_int_equal(answer->actors, 24);
    assert_int_equal(answer->id[0], 102);
    assert_int_equal(answer->id[1], 103);
    assert_int_equal(answer->id[2], 101);
    assert_int_equal(answer->id[3], 1); // of equals the lowest id
    static const uint32_t health[] = {WIRE_PEER_LAGS, WIRE_PEER_SLOW, WIRE_PEER_SLOW,
                                      WIRE_PEER_LIVE};
    assert_memory_equal(answer->health, health, sizeof(health));
    answer = learner_peers_list(peers, actors, NULL, AT(2), 10, WIRE_PEERS_MAX);
    assert_int_equal(answer->count, 24);
    assert_int_equal(answer->id[23], 104);
}

// A report of the same counts with further numbers.
static void
report_also(learner_actor *actor, const char *const *names, const double *values, uint32_t count,
            const char *unreached, uint64_t now_ns)
{
    wire_report message = {.report_sequence = actor->report_sequence + 1,
                           .env_steps = actor->env_steps,
                           .policy_version = actor->policy_version,
                           .stat_count = count,
                           .stat_name = names,
                           .stat_value = values,
                           .unreached = unreached};
    const char *what;
    T_OK(learner_actors_report(actors, actor, &message, now_ns, &what));
}

// Its counts of steps cannot tell: they stand still in every long step.
static void
test_a_stuck_actor_comes_first_and_makes_no_steps(void **state)
{
    (void)state;
    static const char *const names[] = {"stuck_s"};
    static const double minutes[] = {301}, none[] = {0};
    for (uint64_t i = 1; i <= 3; i++) {
        (void)acting(i, 1000, 10);
    }
    (void)joined(4, WIRE_ROLE_ACTOR, AT(0)); // silent by now
    learner_actor *stuck = acting(5, 1000, 10);
    learner_actor *evaluator = joined(6, WIRE_ROLE_EVALUATOR, AT(2));
    report_also(stuck, names, minutes, 1, NULL, AT(11));
    const wire_peers *answer = learner_peers_list(peers, actors, NULL, AT(11.5), 10, 8);
    assert_int_equal(answer->stuck, 1);
    assert_int_equal(answer->id[0], 5);
    assert_int_equal(answer->health[0], WIRE_PEER_STUCK);
    assert_true(answer->stuck_s[0] == 301.5 && answer->steps_per_s[0] == 0);
    assert_true(answer->env_steps_per_s == 3000);
    assert_int_equal(answer->health[1], WIRE_PEER_SILENT);
    report_also(evaluator, names, minutes, 1, NULL, AT(11.75));
    stuck->rates.steps_per_s = 1000; // of before
    report_also(learner_actors_find(actors, 1), names, minutes, 1, NULL, AT(11.25));
    answer = learner_peers_list(peers, actors, NULL, AT(11.75), 10, 8);
    assert_true(answer->id[0] == 5 && answer->id[1] == 1 && answer->id[2] == 6); // by duration
    assert_true(answer->steps_per_s[0] == 0 && answer->stuck == 3);
    report_also(learner_actors_find(actors, 1), names, none, 1, NULL, AT(11.5));
    learner_actors_totals totals;
    learner_actors_totals_get(actors, AT(11.75), 10, &totals);
    assert_int_equal(totals.stuck, 2); // an evaluator counts, too
    report_also(stuck, names, none, 1, NULL, AT(12));
    report_also(evaluator, names, none, 1, NULL, AT(12));
    answer = learner_peers_list(peers, actors, NULL, AT(12), 10, 8);
    assert_int_equal(answer->stuck, 0);
}

static void
test_an_actor_in_a_long_step_has_no_rate(void **state)
{
    (void)state;
    learner_actor *actor = acting(5, 1000, 10);
    report_also(actor, NULL, NULL, 0, NULL, AT(4));
    const wire_peers *answer = learner_peers_list(peers, actors, NULL, AT(4), 10, 8);
    assert_true(answer->steps_per_s[0] == 0 && answer->infer_share[0] == 0.25);
}

static void
test_every_number_of_an_actor_that_reports_all_is_known(void **state)
{
    (void)state;
    static const char *const names[] = {
#define X(kind, name) #name,
        LEARNER_ACTOR_NUMBERS(X)
#undef X
    };
    double values[OCT_COUNTOF(names)];
    learner_actor *actor = acting(5, 1000, 10);
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        values[i] = 1000;
    }
    report_also(actor, names, values, OCT_COUNTOF(names), NULL, AT(4));
    const wire_peers *answer = learner_peers_list(peers, actors, NULL, AT(4), 10, 8);
#define X(name)                                                                                    \
    if (!isfinite(answer->name[0]) && strcmp(#name, "lag_updates") != 0) {                         \
        fail_msg("%s is not known", #name);                                                        \
    }
    WIRE_PEER_NUMBERS(X)
    WIRE_PEER_LATER_NUMBERS(X)
#undef X
}

static void
test_peers_are_ordered_by_their_most_urgent_problem(void **state)
{
    (void)state;
    static const char *const names[] = {"unacked_s", "resident_bytes", "restarts"};
    static const double fine[] = {0, 1e9, 0}, large[] = {0, 3e9, 0}, restarted[] = {0, 1e9, 5},
                        cut_off[] = {39, 9e9, 9};
    for (uint64_t i = 1; i <= 4; i++) {
        report_also(acting(i, 1000, 10), names, fine, 3, NULL, AT(2));
    }
    report_also(acting(5, 1000, 10), names, restarted, 3, NULL, AT(2));
    report_also(acting(6, 1000, 10), names, large, 3, NULL, AT(2));
    report_also(acting(7, 1000, 10), names, cut_off, 3, "tls+tcp://replay.lab:5561", AT(2));
    report_also(acting(8, 400, 10), names, fine, 3, NULL, AT(2));
    const wire_peers *answer = learner_peers_list(peers, actors, NULL, AT(2), 10, 5);
    static const uint32_t ids[] = {7, 8, 6, 5, 1};
    static const uint32_t health[] = {WIRE_PEER_UNACKED, WIRE_PEER_SLOW, WIRE_PEER_MEMORY,
                                      WIRE_PEER_RESTARTS, WIRE_PEER_LIVE};
    assert_memory_equal(answer->id, ids, sizeof(ids));
    assert_memory_equal(answer->health, health, sizeof(health));
    assert_string_equal(answer->unreached[0], "tls+tcp://replay.lab:5561");
    assert_true(answer->unacked_s[0] == 39 && answer->resident_bytes[2] == 3e9);
    assert_true(answer->restarts[3] == 5);
}

// Two actors have nothing to be compared with, and evaluators are not compared.
static void
test_three_actors_are_compared_and_no_evaluator(void **state)
{
    (void)state;
    (void)acting(1, 1000, 10);
    (void)acting(2, 100, 10);
    const wire_peers *answer = learner_peers_list(peers, actors, NULL, AT(2), 10, 8);
    assert_int_equal(answer->health[0], WIRE_PEER_LIVE);
    (void)acting(3, 2000, 10);
    for (uint64_t i = 4; i <= 5; i++) {
        joined(i, WIRE_ROLE_EVALUATOR, AT(2))->rates.steps_per_s = 1;
    }
    answer = learner_peers_list(peers, actors, NULL, AT(2), 10, 8);
    assert_int_equal(answer->id[0], 2);
    assert_int_equal(answer->health[0], WIRE_PEER_SLOW);
    for (uint32_t i = 1; i < answer->count; i++) {
        assert_int_equal(answer->health[i], WIRE_PEER_LIVE);
    }
}

// Twice the median may be little memory, and 512 MiB more may be less than twice the median.
static void
test_little_memory_and_few_restarts_are_no_problem(void **state)
{
    (void)state;
    static const char *const names[] = {"resident_bytes", "restarts"};
    static const double others[][2] = {{1e8, 0}, {1e9, 0}}, own[][2] = {{6e8, 2}, {1.9e9, 2}};
    for (size_t k = 0; k < OCT_COUNTOF(own); k++) {
        for (uint64_t i = 1; i <= 4; i++) {
            learner_actor *actor = acting(i + 10 * k, 1000, 10);
            report_also(actor, names, i == 4 ? own[k] : others[k], 2, NULL, AT(2));
        }
        const wire_peers *answer = learner_peers_list(peers, actors, NULL, AT(2), 10, 1);
        assert_int_equal(answer->health[0], WIRE_PEER_LIVE);
        learner_actors_destroy(actors);
        actors = learner_actors_create(0);
    }
}

// All wait where the limiter holds inserts back: then nobody has a problem.
static void
test_a_ring_is_full_where_those_of_others_are_not(void **state)
{
    (void)state;
    static const char *const names[] = {"infer_s", "wait_s"};
    static const double waits[] = {1, 99}, acts[] = {99, 1};
    for (int others = 0; others < 2; others++) {
        for (uint64_t i = 1; i <= 4; i++) {
            learner_actor *actor = acting(i + 10 * (uint64_t)others, 1000, 10);
            bool is_waiting = others == 1 || i == 4;
            report_also(actor, names, is_waiting ? waits : acts, 2, NULL, AT(4));
        }
        const wire_peers *answer = learner_peers_list(peers, actors, NULL, AT(4), 10, 1);
        assert_int_equal(answer->health[0], others == 0 ? WIRE_PEER_RING_FULL : WIRE_PEER_LIVE);
        learner_actors_destroy(actors);
        actors = learner_actors_create(0);
    }
}

// A process that asks for its index again is a restart; one that gets a free index may be new.
static void
test_restarts_of_a_wanted_index_are_counted(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 3; i++) {
        learner_actor *actor;
        const learner_registrant who = {.role = WIRE_ROLE_ACTOR, .session = i, .place = 6};
        T_OK(learner_actors_register(actors, &who, AT(0), &actor));
        assert_true(actor->restarts == (double)(i - 1));
    }
    assert_true(isnan(joined(9, WIRE_ROLE_ACTOR, AT(0))->restarts));
}

static void
test_silent_ones_and_evaluators_come_before_actors(void **state)
{
    (void)state;
    (void)joined(1, WIRE_ROLE_ACTOR, AT(0));
    (void)joined(2, WIRE_ROLE_ACTOR, AT(5));
    (void)joined(3, WIRE_ROLE_EVALUATOR, AT(17));
    (void)joined(4, WIRE_ROLE_ACTOR, AT(18));
    const wire_peers *answer = learner_peers_list(peers, actors, NULL, AT(20), 0, WIRE_PEERS_MAX);
    static const uint32_t ids[] = {2, 1, 3, 4}, silent[] = {1, 1, 0, 0};
    assert_int_equal(answer->count, 4);
    assert_memory_equal(answer->id, ids, sizeof(ids));
    assert_memory_equal(answer->is_silent, silent, sizeof(silent));
    assert_int_equal(answer->role[2], WIRE_ROLE_EVALUATOR);
    assert_int_equal(answer->silent, 2);
    assert_int_equal(answer->actors, 1);
    assert_int_equal(answer->evaluators, 1);
    assert_true(answer->steps_per_s[0] == 0);
    answer =
        learner_peers_list(peers, actors, NULL, AT(LEARNER_PEER_GONE_S + 2), 0, WIRE_PEERS_MAX);
    assert_int_equal(answer->gone, 1);
    assert_int_equal(answer->silent, 3);
}

// Not taken for one that fell silent: a person would look for what is wrong with it.
static void
test_those_that_have_left_are_not_listed(void **state)
{
    (void)state;
    learner_actors_leave(actors, joined(1, WIRE_ROLE_ACTOR, AT(0)));
    (void)joined(2, WIRE_ROLE_ACTOR, AT(0));
    const wire_peers *answer = learner_peers_list(peers, actors, NULL, AT(1), 0, WIRE_PEERS_MAX);
    assert_int_equal(answer->count, 1);
    assert_int_equal(answer->id[0], 2);
    assert_int_equal(answer->silent, 0);
    assert_int_equal(answer->gone, 1); // and has its place yet
}

// Actors that left by the hundred do not hide those that are there.
static void
test_silent_ones_take_a_quarter_of_the_places(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 1000; i++) {
        (void)joined(i, WIRE_ROLE_ACTOR, AT(0));
    }
    for (uint64_t i = 1001; i <= 2000; i++) {
        (void)joined(i, WIRE_ROLE_ACTOR, AT(20));
    }
    const wire_peers *answer = learner_peers_list(peers, actors, NULL, AT(20), 0, WIRE_PEERS_MAX);
    uint32_t silent = 0;
    for (uint32_t i = 0; i < answer->count; i++) {
        silent += answer->is_silent[i];
    }
    assert_int_equal(answer->count, WIRE_PEERS_MAX);
    assert_int_equal(silent, WIRE_PEERS_MAX / 4);
    assert_int_equal(answer->silent, 1000);
    assert_int_equal(answer->actors, 1000);
}

static void
test_a_full_table_is_answered_within_bounds(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= LEARNER_ACTORS_MAX; i++) {
        (void)joined(i, WIRE_ROLE_ACTOR, AT(0));
    }
    const wire_peers *answer = learner_peers_list(peers, actors, NULL, AT(1), 0, WIRE_PEERS_MAX);
    assert_int_equal(answer->count, WIRE_PEERS_MAX);
    assert_int_equal(answer->actors, LEARNER_ACTORS_MAX);
    assert_int_equal(learner_peers_list(peers, actors, NULL, AT(1), 0, 1)->count, 1);
}

// Where all lag, the mean does not hide who is slow.
static void
test_lag_counts_by_the_mean_of_all(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 20; i++) {
        (void)acting(i, 1000, 12);
    }
    (void)acting(101, 300, 12); // three times slower
    (void)acting(102, 1000, 8); // 12 versions behind, the others 8
    const wire_peers *answer = learner_peers_list(peers, actors, NULL, AT(2), 20, 2);
    assert_int_equal(answer->id[0], 101);
    assert_int_equal(answer->id[1], 102);
}

static void
test_who_has_no_policy_has_no_lag(void **state)
{
    (void)state;
    (void)acting(7, 100, 0);
    const wire_peers *answer = learner_peers_list(peers, actors, NULL, AT(2), 10, WIRE_PEERS_MAX);
    assert_true(isnan(answer->lag_versions[0]) && isnan(answer->lag_mean));
}

// Of a short list, too, one place is for a silent one.
static void
test_a_silent_one_is_in_every_list(void **state)
{
    (void)state;
    (void)joined(1, WIRE_ROLE_ACTOR, AT(0));
    (void)joined(2, WIRE_ROLE_ACTOR, AT(0));
    (void)joined(3, WIRE_ROLE_ACTOR, AT(20));
    const wire_peers *answer = learner_peers_list(peers, actors, NULL, AT(20), 0, 2);
    assert_int_equal(answer->count, 2);
    assert_true(answer->is_silent[0] && !answer->is_silent[1]);
    assert_true(learner_peers_list(peers, actors, NULL, AT(20), 0, 1)->is_silent[0]);
}

// Of an earlier life of the learner: nobody can tell.
static void
test_version_above_the_newest_has_no_lag(void **state)
{
    (void)state;
    (void)acting(7, 100, 11);
    const wire_peers *answer = learner_peers_list(peers, actors, NULL, AT(2), 10, WIRE_PEERS_MAX);
    assert_true(isnan(answer->lag_versions[0]) && isnan(answer->lag_mean));
}

static void
test_long_names_of_hosts_are_cut_at_a_character(void **state)
{
    (void)state;
    char name[80];
    learner_actor *actor = joined(7, WIRE_ROLE_ACTOR, AT(0));
    memset(name, 'n', sizeof(name));
    memcpy(name + LEARNER_ACTOR_HOST_MAX - 2, "ö", 2); // half of it would fit
    name[sizeof(name) - 1] = '\0';
    learner_actor_introduce(actor, name, 1);
    assert_int_equal(strlen(actor->host), LEARNER_ACTOR_HOST_MAX - 2);
    assert_memory_equal(actor->host, name, LEARNER_ACTOR_HOST_MAX - 2);
}

// Whoever asks can read the answer.
static void
test_long_names_of_relays_are_cut_at_a_character(void **state)
{
    (void)state;
    char name[80];
    bool is_new;
    wire_peers out;
    learner_relays *relays = learner_relays_create(AT(0));
    wire_arena *arena = wire_arena_create(1u << 16);
    memset(name, 'x', sizeof(name));
    memcpy(name + LEARNER_RELAY_HOST_MAX - 2, "é", 3);
    const wire_register relay = {.role = WIRE_ROLE_RELAY,
                                 .label = 1,
                                 .host = name,
                                 .relay_address = "tcp://rack:1",
                                 .relay_above = ""};
    (void)joined(1, WIRE_ROLE_ACTOR, AT(0));
    T_OK(learner_relays_note(relays, &relay, AT(0), &is_new));
    const wire_peers *answer = learner_peers_list(peers, actors, relays, AT(1), 0, WIRE_PEERS_MAX);
    T_OK(wire_peers_through(&out, arena, answer));
    assert_int_equal(strlen(out.relays.host[0]), LEARNER_RELAY_HOST_MAX - 2);
    assert_memory_equal(out.relays.host[0], name, LEARNER_RELAY_HOST_MAX - 2);
    wire_arena_destroy(arena);
    learner_relays_destroy(relays);
}

// Who came with which certificate, and how many places it holds; without TLS nothing is told of
// any.
static void
test_peers_tell_whose_certificate_each_has(void **state)
{
    (void)state;
    static const oct_holder crowd = {.id = {0xab, 0xcd, 1, 2, 3}, .name = "crowd"},
                            other = {.id = {1}, .name = "crowd"};
    learner_actors_destroy(actors);
    actors = learner_actors_create(8);
    learner_actor *actor;
    (void)joined(1, WIRE_ROLE_ACTOR, AT(0));
    const wire_peers *answer = learner_peers_list(peers, actors, NULL, AT(1), 0, WIRE_PEERS_MAX);
    assert_true(answer->certificate == NULL && answer->places_max == 0);
    for (uint64_t i = 2; i <= 4; i++) {
        const learner_registrant who = {
            .role = WIRE_ROLE_ACTOR, .session = i, .holder = i < 4 ? &crowd : &other};
        T_OK(learner_actors_register(actors, &who, AT(0), &actor));
    }
    answer = learner_peers_list(peers, actors, NULL, AT(1), 0, WIRE_PEERS_MAX);
    assert_int_equal(answer->places_max, 8);
    static const char *const names[] = {"", "crowd", "crowd", "crowd"};
    static const uint32_t ids[] = {0, 0xabcd0102, 0xabcd0102, 0x01000000}, held[] = {0, 2, 2, 1};
    for (uint32_t i = 0; i < 4; i++) { // in the order of their ids
        assert_int_equal(answer->id[i], i + 1);
        assert_string_equal(answer->certificate[i], names[i]);
        assert_int_equal(answer->certificate_id[i], ids[i]);
        assert_int_equal(answer->places[i], held[i]);
    }
}

static void
relay_note(learner_relays *relays, uint64_t label, const char *address, uint64_t now_ns)
{
    bool is_new;
    const wire_register relay = {.role = WIRE_ROLE_RELAY,
                                 .label = label,
                                 .host = "rack",
                                 .pid = (uint32_t)label,
                                 .relay_address = address,
                                 .relay_above = "tcp://top:1",
                                 .relay_sessions = 7};
    T_OK(learner_relays_note(relays, &relay, now_ns, &is_new));
}

static uint32_t
actors_of(void *arg, uint64_t key, uint64_t now_ns)
{
    (void)arg;
    return learner_actors_relayed(actors, key, now_ns);
}

// Which relays there are, and through which each peer goes.
static void
test_peers_tell_of_relays(void **state)
{
    (void)state;
    learner_relays *relays = learner_relays_create(AT(0));
    (void)joined(1, WIRE_ROLE_ACTOR, AT(0));
    learner_actors_set_relay(actors, joined(2, WIRE_ROLE_ACTOR, AT(0)),
                             learner_relays_key("tcp://rack:2"));
    learner_actors_set_relay(actors, joined(3, WIRE_ROLE_ACTOR, AT(0)),
                             learner_relays_key("tcp://forgotten:1"));
    const wire_peers *answer = learner_peers_list(peers, actors, relays, AT(1), 0, WIRE_PEERS_MAX);
    assert_true(answer->relay == NULL && answer->relays.count == 0);
    relay_note(relays, 1, "tcp://rack:1", AT(0));
    relay_note(relays, 2, "tcp://rack:2", AT(3.5));
    learner_relays_count(relays, AT(4), actors_of, NULL);
    answer = learner_peers_list(peers, actors, relays, AT(4), 0, WIRE_PEERS_MAX);
    assert_int_equal(answer->relays.count, 2);
    static const uint32_t places[] = {0, 2, 0};
    assert_memory_equal(answer->relay, places, sizeof(places)); // in the order of their ids
    for (uint32_t i = 0; i < 2; i++) {
        assert_string_equal(answer->relays.host[i], "rack");
        assert_string_equal(answer->relays.address[i], i == 0 ? "tcp://rack:1" : "tcp://rack:2");
        assert_string_equal(answer->relays.above[i], "tcp://top:1");
        assert_int_equal(answer->relays.pid[i], i + 1);
        assert_int_equal(answer->relays.is_silent[i], i == 0);
        assert_int_equal(answer->relays.actors[i], i);
        assert_int_equal(answer->relays.sessions[i], 7);
        T_NEAR(answer->relays.heard_s[i], i == 0 ? 4 : 0.5, 1e-9, 0);
    }
    learner_relays_destroy(relays);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_peers_of_nobody),
        TEST(test_peers_before_the_first_report_know_no_rates),
        TEST(test_peers_tell_rates_shares_and_lag),
        TEST(test_rates_are_of_a_second_at_least),
        TEST(test_slow_and_lagging_actors_come_first),
        TEST(test_a_stuck_actor_comes_first_and_makes_no_steps),
        TEST(test_an_actor_in_a_long_step_has_no_rate),
        TEST(test_every_number_of_an_actor_that_reports_all_is_known),
        TEST(test_peers_are_ordered_by_their_most_urgent_problem),
        TEST(test_three_actors_are_compared_and_no_evaluator),
        TEST(test_little_memory_and_few_restarts_are_no_problem),
        TEST(test_a_ring_is_full_where_those_of_others_are_not),
        TEST(test_restarts_of_a_wanted_index_are_counted),
        TEST(test_silent_ones_and_evaluators_come_before_actors),
        TEST(test_those_that_have_left_are_not_listed),
        TEST(test_silent_ones_take_a_quarter_of_the_places),
        TEST(test_a_full_table_is_answered_within_bounds),
        TEST(test_peers_tell_whose_certificate_each_has),
        TEST(test_peers_tell_of_relays),
        TEST(test_lag_counts_by_the_mean_of_all),
        TEST(test_who_has_no_policy_has_no_lag),
        TEST(test_a_silent_one_is_in_every_list),
        TEST(test_version_above_the_newest_has_no_lag),
        TEST(test_long_names_of_hosts_are_cut_at_a_character),
        TEST(test_long_names_of_relays_are_cut_at_a_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
