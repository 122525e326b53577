#ifndef CLI_TOP_CLI_TOP_TABLE_H
#define CLI_TOP_CLI_TOP_TABLE_H

#include "cli/cli_text.h"
#include "cli/status/cli_view.h"

// The peers of a run as a table that is sorted and scrolled: which rows are where, how wide the
// columns are, what a key does. No input and no output. Plain values. Threads: any, one at a time.

typedef enum cli_top_column {
    CLI_TOP_ID,
    CLI_TOP_ROLE,
    CLI_TOP_HOST,
    CLI_TOP_PID,
    CLI_TOP_STATE,   // health, the most urgent first
    CLI_TOP_LAG,     // versions behind the newest
    CLI_TOP_STEPS,   // a second
    CLI_TOP_INFER,   // shares of the acting thread's time: policy,
    CLI_TOP_ENV,     // environment,
    CLI_TOP_WAIT,    // replay
    CLI_TOP_RESENT,  // batches
    CLI_TOP_UNACKED, // batches
    CLI_TOP_MEMORY,  // of the process; this and the next are hidden if no peer reports them
    CLI_TOP_RESTARTS,
    CLI_TOP_HEARD, // seconds ago
    CLI_TOP_RELAY, // that it goes through; not shown where there are none
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
    CLI_TOP_KEY_RIGHT, // by the one to the right
    CLI_TOP_KEY_REVERSE,
    CLI_TOP_KEY_QUIT,
} cli_top_key;

typedef struct cli_top_table {
    cli_top_column sort;
    bool reversed;
    size_t first; // row at the top of what is seen
    size_t count;
    uint16_t order[WIRE_PEERS_MAX]; // [count] of state->peer
    size_t width[CLI_TOP_COLUMNS];  // in cells; 0: not shown
} cli_top_table;

// The names that --sort takes, NULL at the end; in the order of cli_top_column.
extern const char *const cli_top_column_names[CLI_TOP_COLUMNS + 1];

void cli_top_table_init(cli_top_table *table, cli_top_column sort, bool reversed);
// Takes what is known now, in order: text and ids ascend, numbers and the urgency of a problem
// descend, all the other way round when reversed; what is not known comes last either way. Equals
// are ordered by id, those of one health as the learner listed them.
void cli_top_table_take(cli_top_table *table, const cli_state *state);
// Scrolls and sorts; seen: rows that have room. False: this key is for somebody else. After a
// change of the order take what is known once more.
bool cli_top_table_key(cli_top_table *table, cli_top_key key, size_t seen);
// Moves what is seen to where there are rows.
void cli_top_table_fit(cli_top_table *table, size_t seen);

// The names of the columns, and row i of [0, count).
void cli_top_table_head(const cli_top_table *table, cli_line *line, const cli_view_style *style);
void cli_top_table_row(const cli_top_table *table, cli_line *line, const cli_view_style *style,
                       const cli_state *state, size_t i);

// The next key of [length] bytes that a terminal sent, length > 0; used: of how many bytes it is.
// A sequence that is cut off at the end, or unknown, is CLI_TOP_KEY_NONE.
cli_top_key cli_top_key_decode(const char *bytes, size_t length, size_t *used);

#endif // CLI_TOP_CLI_TOP_TABLE_H
