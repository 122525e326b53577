#ifndef CLI_TOP_CLI_TOP_TABLE_H
#define CLI_TOP_CLI_TOP_TABLE_H

#include "cli/cli_text.h"
#include "cli/status/cli_view.h"

// The peers of a run as a table that can be sorted and scrolled: the order of rows, the widths of
// columns, the effect of keys. It does no input or output. Plain values. Threads: any, one at a
// time.

// X(column, name, text, number, is_hidden): the columns that are numbers of a peer (wire_peers.h).
// text: prints it (cli_text_…). is_hidden: without the column if no peer reports the number.
#define CLI_TOP_NUMBERS(X)                                                                         \
    X(LAG, "lag", count, lag_versions, false)                                                      \
    X(STEPS, "steps", count, steps_per_s, false)                                                   \
    X(INFER, "infer", share, infer_share, false)                                                   \
    X(ENV, "env", share, env_share, false)                                                         \
    X(WAIT, "wait", share, wait_share, false)                                                      \
    X(RESENT, "resent", count, resent, false)                                                      \
    X(UNACKED, "unacked", count, unacked, false)                                                   \
    X(MEMORY, "memory", bytes, resident_bytes, true)                                               \
    X(RESTARTS, "restarts", count, restarts, true)                                                 \
    X(HEARD, "heard", seconds, heard_s, false)

typedef enum cli_top_column {
    CLI_TOP_ID,
    CLI_TOP_ROLE,
    CLI_TOP_HOST,
    CLI_TOP_PID,
    CLI_TOP_STATE, // health; sorted with the most urgent first
#define X(column, name, text, number, is_hidden) CLI_TOP_##column,
    CLI_TOP_NUMBERS(X)
#undef X
        CLI_TOP_RELAY, // the relay that the peer goes through; hidden if there is none
    CLI_TOP_COLUMNS,
} cli_top_column;

typedef enum cli_top_key {
    CLI_TOP_KEY_NONE,
    CLI_TOP_KEY_UP,
    CLI_TOP_KEY_DOWN,
    CLI_TOP_KEY_PAGE_UP,
    CLI_TOP_KEY_PAGE_DOWN,
    CLI_TOP_KEY_HOME,
    CLI_TOP_KEY_END,
    CLI_TOP_KEY_LEFT,  // sort by the column to the left
    CLI_TOP_KEY_RIGHT, // sort by the column to the right
    CLI_TOP_KEY_REVERSE,
    CLI_TOP_KEY_QUIT,
} cli_top_key;

typedef struct cli_top_table {
    cli_top_column sort;
    bool reversed;
    size_t first;                   // row at the top of the visible part
    size_t count;                   // rows
    uint16_t order[WIRE_PEERS_MAX]; // [count] indices in state->peer
    size_t width[CLI_TOP_COLUMNS];  // cells; 0: hidden
} cli_top_table;

// The names of the columns for --sort, in the order of cli_top_column; NULL ends the list.
extern const char *const cli_top_column_names[CLI_TOP_COLUMNS + 1];

void cli_top_table_init(cli_top_table *table, cli_top_column sort, bool reversed);
// Takes the peers of state and sorts them. Texts and ids ascend; numbers and the urgency of a state
// descend; reversed turns both around. Unknown values come last in any case. Equal rows are ordered
// by id, and rows of one state in the learner's order.
void cli_top_table_take(cli_top_table *table, const cli_snapshot *state);
// Applies a key that scrolls or sorts. seen: rows that fit. False: the key has no meaning here.
// After a change of the order, call cli_top_table_take again.
bool cli_top_table_key(cli_top_table *table, cli_top_key key, size_t seen);
// Scrolls back to where there are rows.
void cli_top_table_fit(cli_top_table *table, size_t seen);

// Print the names of the columns, and row i of [0, count).
void cli_top_table_head(const cli_top_table *table, cli_line *line, const cli_view_style *style);
void cli_top_table_row(const cli_top_table *table, cli_line *line, const cli_view_style *style,
                       const cli_snapshot *state, size_t i);

// Decodes the next key of bytes[length] from a terminal, length > 0. *used: bytes of the key. An
// unknown or incomplete sequence is CLI_TOP_KEY_NONE.
cli_top_key cli_top_key_decode(const char *bytes, size_t length, size_t *used);

#endif // CLI_TOP_CLI_TOP_TABLE_H
