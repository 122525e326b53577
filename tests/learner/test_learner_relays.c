// Which relay an actor is given, and when none.
#include "common/oct_base.h"
#include "learner/learner_actors.h"
#include "learner/learner_relays.h"

#include "tests/support/oct_test.h"

#define SECOND UINT64_C(1000000000)
#define START  (100 * SECOND) // when the learner has learned who is there

static int
open_relays(void **state)
{
    *state = learner_relays_create(0);
    return 0;
}

static int
close_relays(void **state)
{
    learner_relays_destroy(*state);
    return 0;
}

static void
note(learner_relays *relays, uint64_t label, const char *host, const char *address, uint64_t now_ns)
{
    bool is_new;
    const wire_register relay = {.role = WIRE_ROLE_RELAY,
                                 .label = label,
                                 .host = host,
                                 .relay_address = address,
                                 .relay_above = "tcp://top:1"};
    T_OK(learner_relays_note(relays, &relay, now_ns, &is_new));
}

static uint32_t numbers[3]; // of actors: of tcp://a:1, tcp://b:1, tcp://b:2

static uint32_t
actors_of(void *arg, uint64_t key, uint64_t now_ns)
{
    static const char *const addresses[] = {"tcp://a:1", "tcp://b:1", "tcp://b:2"};
    (void)arg;
    (void)now_ns;
    for (size_t i = 0; i < OCT_COUNTOF(addresses); i++) {
        if (learner_relays_key(addresses[i]) == key) {
            return numbers[i];
        }
    }
    fail();
    return 0;
}

static void
count(learner_relays *relays, uint32_t a1, uint32_t b1, uint32_t b2, uint64_t now_ns)
{
    numbers[0] = a1;
    numbers[1] = b1;
    numbers[2] = b2;
    learner_relays_count(relays, now_ns, actors_of, NULL);
}

static const char *
choose(learner_relays *relays, const char *host, const char *has, bool lost, uint64_t now_ns)
{
    const wire_register actor = {
        .role = WIRE_ROLE_ACTOR, .host = host, .relay_address = has, .relay_lost = lost};
    return learner_relays_choose(relays, &actor, now_ns);
}

static void
test_relays_none_is_given_while_none_lives(void **state)
{
    learner_relays *relays = *state;
    assert_string_equal(choose(relays, "a", "", false, START), "");
    note(relays, 1, "a", "", START); // for relays alone
    assert_string_equal(choose(relays, "a", "", false, START), "");
    note(relays, 2, "a", "tcp://a:1", START);
    uint64_t last = START + LEARNER_RELAY_SILENT_S * SECOND - 1;
    assert_string_equal(choose(relays, "a", "", false, last), "tcp://a:1");
    assert_string_equal(choose(relays, "a", "", false, last + 1), "");
    assert_int_equal(learner_relays_live(relays, last), 2);
    assert_int_equal(learner_relays_live(relays, last + 1), 0);
}

static void
test_relays_the_same_host_first_then_the_fewest_actors(void **state)
{
    learner_relays *relays = *state;
    note(relays, 1, "a", "tcp://a:1", START);
    note(relays, 2, "b", "tcp://b:1", START);
    note(relays, 3, "b", "tcp://b:2", START);
    count(relays, 0, 9, 0, START);
    assert_string_equal(choose(relays, "b", "", false, START), "tcp://b:2");
    count(relays, 0, 9, 10, START);
    assert_string_equal(choose(relays, "b", "", false, START), "tcp://b:1");
    assert_string_equal(choose(relays, "c", "", false, START), "tcp://a:1");
    count(relays, 3, 0, 0, START);
    assert_string_equal(choose(relays, "a", "", false, START),
                        "tcp://a:1"); // its host, all the same
    const learner_relay *list[LEARNER_RELAYS_MAX];
    assert_int_equal(learner_relays_list(relays, START, list), 3);
    assert_int_equal(list[0]->actors, 3);
    assert_string_equal(list[0]->above, "tcp://top:1");
}

// A silent one is listed until it is gone, or another comes with its address, which then has its
// actors, too.
static void
test_relays_silent_ones_are_missed_for_a_while(void **state)
{
    learner_relays *relays = *state;
    const learner_relay *list[LEARNER_RELAYS_MAX];
    uint64_t silent = START + LEARNER_RELAY_SILENT_S * SECOND;
    note(relays, 1, "a", "tcp://a:1", START);
    note(relays, 2, "a", "", START);
    assert_int_equal(learner_relays_list(relays, silent, list), 2);
    assert_false(learner_relay_is_live(list[0], silent));
    note(relays, 3, "a", "tcp://a:1", silent);
    assert_int_equal(learner_relays_list(relays, silent, list), 2);
    count(relays, 1, 0, 0, silent);
    assert_true(list[0]->label == 2 && list[1]->label == 3);
    assert_true(list[0]->actors == 0 && list[1]->actors == 1);
    uint64_t gone = START + LEARNER_PEER_GONE_S * SECOND;
    assert_int_equal(learner_relays_list(relays, gone - 1, list), 2);
    assert_int_equal(learner_relays_list(relays, gone, list), 1);
    assert_int_equal(list[0]->label, 3);
}

static void
test_relays_a_local_socket_is_for_its_own_host(void **state)
{
    note(*state, 1, "a", "ipc:///run/relay", START);
    assert_string_equal(choose(*state, "b", "", false, START), "");
    assert_string_equal(choose(*state, "a", "", false, START), "ipc:///run/relay");
}

// Of a long name as much is kept as has room, and compared: here a character would be cut.
static void
test_relays_of_a_host_with_a_long_name(void **state)
{
    char host[80], other[80];
    memset(host, 'x', sizeof(host));
    memcpy(host + LEARNER_RELAY_HOST_MAX - 2, "é", 3);
    memcpy(other, host, sizeof(host));
    other[LEARNER_RELAY_HOST_MAX - 3] = 'y';
    note(*state, 1, host, "ipc:///run/relay", START);
    assert_string_equal(choose(*state, host, "", false, START), "ipc:///run/relay");
    assert_string_equal(choose(*state, other, "", false, START), "");
    assert_string_equal(choose(*state, host + 1, "", false, START), "");
}

static void
test_relays_an_actor_keeps_its_own_until_it_has_lost_it(void **state)
{
    learner_relays *relays = *state;
    note(relays, 1, "a", "tcp://a:1", START);
    note(relays, 2, "b", "tcp://b:1", START);
    assert_string_equal(choose(relays, "a", "tcp://b:1", false, START), "tcp://b:1");
    assert_string_equal(choose(relays, "b", "tcp://b:1", true, START), "tcp://a:1");
    // One that this learner does not know.
    assert_string_equal(choose(relays, "b", "tcp://x:1", false, START), "tcp://b:1");
    // Soon after a start it may just not have been heard of yet, unless it was lost.
    uint64_t soon = LEARNER_RELAYS_LEARN_S * SECOND - 1;
    note(relays, 1, "a", "tcp://a:1", soon);
    assert_string_equal(choose(relays, "b", "tcp://x:1", false, soon), "tcp://x:1");
    assert_string_equal(choose(relays, "b", "tcp://x:1", true, soon), "tcp://a:1");
    uint64_t silent = soon - (LEARNER_RELAY_SILENT_S + 1) * SECOND; // it was, and is silent
    note(relays, 2, "b", "tcp://b:1", silent);
    assert_string_equal(choose(relays, "b", "tcp://b:1", false, soon), "tcp://a:1");
}

static void
test_relays_full_a_silent_one_makes_room(void **state)
{
    learner_relays *relays = *state;
    bool is_new;
    for (uint64_t i = 1; i <= LEARNER_RELAYS_MAX; i++) {
        note(relays, i, "a", "tcp://a:1", START + i);
    }
    const wire_register more = {.role = WIRE_ROLE_RELAY,
                                .label = 9999,
                                .host = "a",
                                .relay_address = "tcp://a:2",
                                .relay_above = ""};
    const wire_register nobody = {.role = WIRE_ROLE_RELAY, .host = "a", .relay_address = ""};
    T_ERR(learner_relays_note(relays, &nobody, START, &is_new), OCT_EINVAL);
    T_ERR(learner_relays_note(relays, &more, START + 300, &is_new), OCT_EAGAIN);
    uint64_t later = START + 1 + LEARNER_RELAY_SILENT_S * SECOND;
    T_OK(learner_relays_note(relays, &more, later, &is_new));
    assert_true(is_new);
    T_OK(learner_relays_note(relays, &more, later + 1, &is_new));
    assert_false(is_new);
}

// Says what it goes through, and whether that leads back to it. Number and label are the same.
static bool
is_loop(learner_relays *relays, uint64_t number, uint64_t above, uint64_t now_ns)
{
    bool is_new;
    const wire_register relay = {.role = WIRE_ROLE_RELAY,
                                 .label = number,
                                 .host = "a",
                                 .relay_address = "",
                                 .relay_above = "",
                                 .relay_number = number,
                                 .relay_above_number = above};
    if (learner_relays_is_loop(relays, &relay, now_ns)) {
        return true;
    }
    T_OK(learner_relays_note(relays, &relay, now_ns, &is_new));
    return false;
}

static void
test_relays_that_lead_back_to_themselves_are_told(void **state)
{
    learner_relays *relays = *state;
    assert_true(is_loop(relays, 1, 1, START));
    assert_false(is_loop(relays, 1, 2, START)); // which is not known
    assert_false(is_loop(relays, 2, 3, START));
    assert_false(is_loop(relays, 3, 0, START));
    assert_false(is_loop(relays, 4, 2, START)); // a tree
    assert_true(is_loop(relays, 3, 4, START));
    assert_true(is_loop(relays, 3, 1, START));
    assert_true(is_loop(relays, 3, 2, START));
    uint64_t silent = START + LEARNER_RELAY_SILENT_S * SECOND;
    assert_false(is_loop(relays, 3, 1, silent)); // they are no more
    // Those below a loop are not in it, and the search ends.
    assert_false(is_loop(relays, 5, 3, silent));
    assert_false(is_loop(relays, 1, 0, silent));
    assert_true(is_loop(relays, 1, 5, silent));
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, open_relays, close_relays)
    const struct CMUnitTest tests[] = {
        T(test_relays_none_is_given_while_none_lives),
        T(test_relays_full_a_silent_one_makes_room),
        T(test_relays_that_lead_back_to_themselves_are_told),
        T(test_relays_silent_ones_are_missed_for_a_while),
        T(test_relays_a_local_socket_is_for_its_own_host),
        T(test_relays_of_a_host_with_a_long_name),
        T(test_relays_an_actor_keeps_its_own_until_it_has_lost_it),
        T(test_relays_the_same_host_first_then_the_fewest_actors),
    };
#undef T
    return cmocka_run_group_tests(tests, NULL, NULL);
}
