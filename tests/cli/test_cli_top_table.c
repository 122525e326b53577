// The table of octet top: order, scrolling, keys, widths, text.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/top/cli_top_table.h"
#include "tests/support/oct_test.h"

static cli_snapshot run;
static cli_top_table table;
static const cli_view_style wide = {.width = 200};

static void
peer_add(uint32_t id, const char *host, double steps_per_s, bool is_silent)
{
    cli_peer *peer = &run.peer[run.peer_count++];
    *peer = (cli_peer){.id = id,
                       .pid = 100 + id,
                       .role = WIRE_ROLE_ACTOR,
                       .is_silent = is_silent,
                       .health = is_silent ? WIRE_PEER_SILENT : WIRE_PEER_LIVE,
                       .resident_bytes = NAN,
                       .restarts = NAN,
                       .steps_per_s = steps_per_s,
                       .lag_versions = NAN,
                       .infer_share = 0.125,
                       .env_share = 0.25,
                       .wait_share = 0.5,
                       .resent = 3,
                       .unacked = 4,
                       .heard_s = 0.75};
    (void)snprintf(peer->host, sizeof(peer->host), "%s", host);
}

static int
setup(void **state)
{
    (void)state;
    cli_snapshot_clear(&run);
    return 0;
}

// The ids from the top, "3 1 2".
static const char *
ids(void)
{
    static char text[256];
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < table.count && used < sizeof(text); i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u", i > 0 ? " " : "",
                                 (unsigned)run.peer[table.order[i]].id);
    }
    return text;
}

static const char *
ids_by(cli_top_column sort, bool reversed)
{
    cli_top_table_init(&table, sort, reversed);
    cli_top_table_take(&table, &run);
    return ids();
}

static void
test_numbers_descend_text_ascends_and_unknown_is_last_either_way(void **state)
{
    (void)state;
    peer_add(1, "b", 10, false);
    peer_add(2, "a", NAN, true);
    peer_add(3, "c", 30, false);
    peer_add(4, "b", 10, false);
    assert_string_equal(ids_by(CLI_TOP_STEPS, false), "3 1 4 2");
    assert_string_equal(ids_by(CLI_TOP_STEPS, true), "1 4 3 2");
    assert_string_equal(ids_by(CLI_TOP_HOST, false), "2 1 4 3");
    assert_string_equal(ids_by(CLI_TOP_HOST, true), "3 1 4 2");
    assert_string_equal(ids_by(CLI_TOP_STATE, false), "2 1 3 4"); // silent first
    assert_string_equal(ids_by(CLI_TOP_STATE, true), "4 3 1 2");
    assert_string_equal(ids_by(CLI_TOP_ID, false), "1 2 3 4");
    assert_string_equal(ids_by(CLI_TOP_PID, true), "4 3 2 1");
    assert_string_equal(ids_by(CLI_TOP_LAG, false), "1 2 3 4"); // nobody has told
}

static void
relay_add(const char *host, uint32_t pid)
{
    cli_relay *relay = &run.relay[run.relay_count++];
    *relay = (cli_relay){.pid = pid};
    (void)snprintf(relay->host, sizeof(relay->host), "%s", host);
}

static void
test_relays_are_a_column_where_there_are_some(void **state)
{
    (void)state;
    cli_line head, row;
    for (uint32_t i = 1; i <= 4; i++) {
        peer_add(i, "h", i, false);
    }
    assert_string_equal(ids_by(CLI_TOP_RELAY, false), "1 2 3 4"); // nobody goes through one
    assert_int_equal(table.width[CLI_TOP_RELAY], 0);
    cli_top_table_head(&table, &head, &wide);
    assert_null(strstr(head.bytes, "relay"));
    relay_add("rack", 20);
    relay_add("rack", 9);
    run.peer[0].relay = 1;
    run.peer[2].relay = 2;
    run.peer[3].relay = 2;
    assert_string_equal(ids_by(CLI_TOP_RELAY, false), "3 4 1 2");
    assert_string_equal(ids_by(CLI_TOP_RELAY, true), "1 3 4 2");
    cli_top_table_head(&table, &head, &wide);
    cli_top_table_row(&table, &row, &wide, &run, 0);
    assert_string_equal(strstr(head.bytes, "heard"), "heard  relay↓");
    assert_string_equal(row.bytes + row.used - 7, "rack/20");
    cli_top_table_row(&table, &row, &wide, &run, 3);
    assert_int_equal(row.bytes[row.used - 1], '-');
}

// As the learner ordered them, and what tells how bad it is beside the word.
static void
test_the_most_urgent_problem_is_first(void **state)
{
    (void)state;
    cli_line head, row;
    for (uint32_t i = 1; i <= 4; i++) {
        peer_add(i, "h", i, false);
    }
    run.peer[1].health = WIRE_PEER_SLOW;
    run.peer[2].health = WIRE_PEER_STUCK;
    run.peer[2].stuck_s = 312;
    run.peer[3].health = WIRE_PEER_UNACKED;
    run.peer[3].unacked_s = 39;
    run.peer[3].resident_bytes = 2.5e9;
    assert_string_equal(ids_by(CLI_TOP_STATE, false), "3 4 2 1");
    cli_top_table_head(&table, &head, &wide);
    assert_non_null(strstr(head.bytes, "state↓"));
    assert_non_null(strstr(head.bytes, "memory"));
    assert_null(strstr(head.bytes, "restarts")); // no peer has told
    cli_top_table_row(&table, &row, &wide, &run, 0);
    assert_non_null(strstr(row.bytes, "  stuck 5:12  "));
    cli_top_table_row(&table, &row, &wide, &run, 1);
    assert_non_null(strstr(row.bytes, "no acks 39.0 s"));
    assert_non_null(strstr(row.bytes, "2.3 GiB"));
}

static void
test_every_column_has_a_name_and_sorts(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 5; i++) {
        peer_add(5 - i, "h", i, false);
    }
    for (cli_top_column column = 0; column < CLI_TOP_COLUMNS; column++) {
        assert_non_null(cli_top_column_names[column]);
        assert_int_equal(strlen(ids_by(column, false)), 9);
    }
    assert_null(cli_top_column_names[CLI_TOP_COLUMNS]);
}

// A new number of a peer is a column, or it is named here.
static void
test_every_number_of_a_peer_is_a_column_or_is_left_out_on_purpose(void **state)
{
    (void)state;
    static const char *const shown[] = {
#define X(column, name, text, number, is_hidden) #number,
        CLI_TOP_NUMBERS(X)
#undef X
            "stuck_s",
        "unacked_s", // in the state
        "session_s",
        "env_steps",
        "lag_updates",
        "collect_share", // in octet top --json
    };
    static const char *const numbers[] = {
#define X(name) #name,
        WIRE_PEER_NUMBERS(X) WIRE_PEER_LATER_NUMBERS(X)
#undef X
    };
    for (size_t i = 0; i < OCT_COUNTOF(numbers); i++) {
        bool is_shown = false;
        for (size_t k = 0; k < OCT_COUNTOF(shown); k++) {
            is_shown = is_shown || strcmp(shown[k], numbers[i]) == 0;
        }
        if (!is_shown) {
            fail_msg("%s is no column of octet top", numbers[i]);
        }
    }
}

static void
test_scrolling_stays_where_rows_are(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < WIRE_PEERS_MAX; i++) {
        peer_add(i + 1, "h", 1, false);
    }
    (void)ids_by(CLI_TOP_ID, false);
    assert_int_equal(table.count, WIRE_PEERS_MAX);
    assert_true(cli_top_table_key(&table, CLI_TOP_KEY_UP, 10));
    assert_int_equal(table.first, 0);
    assert_true(cli_top_table_key(&table, CLI_TOP_KEY_DOWN, 10));
    assert_true(cli_top_table_key(&table, CLI_TOP_KEY_PAGE_DOWN, 10));
    assert_int_equal(table.first, 11);
    assert_true(cli_top_table_key(&table, CLI_TOP_KEY_PAGE_UP, 20));
    assert_int_equal(table.first, 0);
    assert_true(cli_top_table_key(&table, CLI_TOP_KEY_END, 10));
    assert_int_equal(table.first, WIRE_PEERS_MAX - 10);
    assert_true(cli_top_table_key(&table, CLI_TOP_KEY_PAGE_DOWN, 10));
    assert_int_equal(table.first, WIRE_PEERS_MAX - 10);
    cli_top_table_fit(&table, 24); // the terminal grew
    assert_int_equal(table.first, WIRE_PEERS_MAX - 24);
    run.peer_count = 5; // most have left
    cli_top_table_take(&table, &run);
    cli_top_table_fit(&table, 24);
    assert_int_equal(table.first, 0);
    assert_true(cli_top_table_key(&table, CLI_TOP_KEY_HOME, 24));
    assert_false(cli_top_table_key(&table, CLI_TOP_KEY_QUIT, 24));
    assert_false(cli_top_table_key(&table, CLI_TOP_KEY_NONE, 24));
}

static void
test_keys_choose_the_column_and_begin_at_the_top(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 30; i++) {
        peer_add(i + 1, "h", i, false);
    }
    (void)ids_by(CLI_TOP_ID, false);
    table.first = 12;
    assert_true(cli_top_table_key(&table, CLI_TOP_KEY_LEFT, 10));
    assert_int_equal(table.sort, CLI_TOP_HEARD);
    assert_int_equal(table.first, 0);
    assert_true(cli_top_table_key(&table, CLI_TOP_KEY_REVERSE, 10));
    assert_true(table.reversed);
    assert_true(cli_top_table_key(&table, CLI_TOP_KEY_RIGHT, 10));
    assert_int_equal(table.sort, CLI_TOP_ID);
    assert_false(table.reversed);
}

static void
test_rows_stand_below_the_names(void **state)
{
    (void)state;
    cli_line head, row;
    peer_add(0xabc, "worker-7", 1234567, false);
    peer_add(1, "a", 0, true);
    (void)ids_by(CLI_TOP_STEPS, false);
    cli_top_table_head(&table, &head, &wide);
    cli_top_table_row(&table, &row, &wide, &run, 0);
    assert_string_equal(
        head.bytes, "id        role   host       pid  state    lag  steps↓   infer   env   wait   "
                    "resent   unacked   heard");
    assert_string_equal(
        row.bytes, "00000abc  actor  worker-7  2848  live       -   1.2 M    12 %  25 %   50 %   "
                   "     3         4  750 ms");
    assert_int_equal(head.cells, row.cells);
    const cli_view_style ascii = {.width = 200, .ascii = true};
    (void)ids_by(CLI_TOP_HOST, true);
    cli_top_table_head(&table, &head, &ascii);
    assert_non_null(strstr(head.bytes, " hostv "));
}

static void
test_lines_are_cut_and_hosts_are_only_shown(void **state)
{
    (void)state;
    const cli_view_style narrow = {.width = 20, .colour = true};
    cli_line line;
    peer_add(1, "\x1b[31mred\x07", 1, true);
    peer_add(2, "a-host-with-a-name-that-is-longer-than-any-column-of-a-table", 1, false);
    (void)ids_by(CLI_TOP_ID, false);
    assert_true(table.width[CLI_TOP_HOST] == 32);
    cli_top_table_row(&table, &line, &wide, &run, 0);
    assert_null(strchr(line.bytes, '\x1b'));
    assert_null(strchr(line.bytes, '\x07'));
    assert_non_null(strstr(line.bytes, "?[31mred?"));
    cli_top_table_row(&table, &line, &narrow, &run, 0);
    assert_int_equal(line.cells, 20);
    assert_memory_equal(line.bytes, CLI_VIEW_RED, strlen(CLI_VIEW_RED)); // silent
    assert_string_equal(line.bytes + line.used - strlen(CLI_VIEW_PLAIN), CLI_VIEW_PLAIN);
}

static void
test_bytes_become_keys(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        cli_top_key key;
        size_t used;
    } cases[] = {
        {"q", CLI_TOP_KEY_QUIT, 1},
        {"\x03", CLI_TOP_KEY_QUIT, 1},
        {"r", CLI_TOP_KEY_REVERSE, 1},
        {"<q", CLI_TOP_KEY_LEFT, 1},
        {"\x1b[A", CLI_TOP_KEY_UP, 3},
        {"\x1bOB", CLI_TOP_KEY_DOWN, 3},
        {"\x1b[C\x1b[D", CLI_TOP_KEY_RIGHT, 3},
        {"\x1b[D", CLI_TOP_KEY_LEFT, 3},
        {"\x1b[5~", CLI_TOP_KEY_PAGE_UP, 4},
        {"\x1b[6~q", CLI_TOP_KEY_PAGE_DOWN, 4},
        {"\x1b[H", CLI_TOP_KEY_HOME, 3},
        {"\x1b[4~", CLI_TOP_KEY_END, 4},
        {"\x1b[1;5Cq", CLI_TOP_KEY_NONE, 6}, // of nobody, and none of it is a key
        {"\x1b[200~q", CLI_TOP_KEY_NONE, 6},
        {"\x1b", CLI_TOP_KEY_NONE, 1},
        {"\x1b[", CLI_TOP_KEY_NONE, 2},
        {"\x1b[1;", CLI_TOP_KEY_NONE, 4},
        {"x", CLI_TOP_KEY_NONE, 1},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        size_t used = 0;
        assert_int_equal(cli_top_key_decode(cases[i].bytes, strlen(cases[i].bytes), &used),
                         cases[i].key);
        assert_int_equal(used, cases[i].used);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_numbers_descend_text_ascends_and_unknown_is_last_either_way,
                               setup),
        cmocka_unit_test_setup(test_relays_are_a_column_where_there_are_some, setup),
        cmocka_unit_test_setup(test_the_most_urgent_problem_is_first, setup),
        cmocka_unit_test_setup(test_every_column_has_a_name_and_sorts, setup),
        cmocka_unit_test(test_every_number_of_a_peer_is_a_column_or_is_left_out_on_purpose),
        cmocka_unit_test_setup(test_scrolling_stays_where_rows_are, setup),
        cmocka_unit_test_setup(test_keys_choose_the_column_and_begin_at_the_top, setup),
        cmocka_unit_test_setup(test_rows_stand_below_the_names, setup),
        cmocka_unit_test_setup(test_lines_are_cut_and_hosts_are_only_shown, setup),
        cmocka_unit_test(test_bytes_become_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
