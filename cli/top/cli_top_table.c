// Orders, measures and prints the table of octet top.

#include "cli/top/cli_top_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

#define HOST_CELLS_MAX 32 // cells of a host's name; a longer one is cut
#define GAP            2  // cells between two columns

const char *const cli_top_column_names[CLI_TOP_COLUMNS + 1] = {"id",
                                                               "role",
                                                               "host",
                                                               "pid",
                                                               "state",
#define X(column, name, text, number, is_hidden) name,
                                                               CLI_TOP_NUMBERS(X)
#undef X
                                                                   "relay",
                                                               NULL};

void
cli_top_table_init(cli_top_table *table, cli_top_column sort, bool reversed)
{
    *table = (cli_top_table){.sort = sort, .reversed = reversed};
}

// ---- cells

static bool
is_text(cli_top_column column)
{
    return column == CLI_TOP_ROLE || column == CLI_TOP_HOST || column == CLI_TOP_STATE;
}

// Returns true for a column whose cells begin at its left edge: texts and ids. Numbers end at its
// right edge.
static bool
is_left(cli_top_column column)
{
    return column == CLI_TOP_ID || column == CLI_TOP_RELAY || is_text(column);
}

static const char *
text_of(const cli_peer *peer, cli_top_column column)
{
    switch (column) {
    case CLI_TOP_ROLE:
        return peer->role == WIRE_ROLE_EVALUATOR ? "evaluator" : "actor";
    case CLI_TOP_STATE:
        return cli_snapshot_health_word(peer->health);
    default:
        return peer->host;
    }
}

// Returns the relay that a peer goes through, or NULL.
static const cli_relay *
relay_of(const cli_snapshot *state, const cli_peer *peer)
{
    return peer->relay > 0 ? &state->relay[peer->relay - 1] : NULL;
}

// NaN: not known.
static double
number_of(const cli_peer *peer, cli_top_column column)
{
    switch (column) {
    case CLI_TOP_ID:
        return peer->id;
    case CLI_TOP_PID:
        return peer->pid;
#define X(column, name, text, number, is_hidden)                                                   \
    case CLI_TOP_##column:                                                                         \
        return peer->number;
        CLI_TOP_NUMBERS(X)
#undef X
    default:
        return NAN;
    }
}

// Prints the health, and its duration where that shows how serious it is.
static cli_plain_text
state_cell(const cli_peer *peer)
{
    cli_plain_text cell = {""};
    double since_s = peer->health == WIRE_PEER_STUCK     ? peer->stuck_s
                     : peer->health == WIRE_PEER_UNACKED ? peer->unacked_s
                                                         : NAN;
    (void)snprintf(cell.text, sizeof(cell.text), "%s%s%s", text_of(peer, CLI_TOP_STATE),
                   isnan(since_s) ? "" : " ", isnan(since_s) ? "" : cli_text_seconds(since_s).text);
    return cell;
}

// Prints a cell as text without control characters.
static cli_plain_text
cell_of(const cli_snapshot *state, const cli_peer *peer, cli_top_column column)
{
    cli_plain_text cell = {""};
    const cli_relay *relay = relay_of(state, peer);
    switch (column) {
    case CLI_TOP_STATE:
        return state_cell(peer);
    case CLI_TOP_ROLE:
    case CLI_TOP_HOST:
        return cli_text_plain(text_of(peer, column), HOST_CELLS_MAX);
    case CLI_TOP_ID:
        (void)snprintf(cell.text, sizeof(cell.text), "%08x", (unsigned)peer->id);
        break;
    case CLI_TOP_PID:
        (void)snprintf(cell.text, sizeof(cell.text), "%u", (unsigned)peer->pid);
        break;
    case CLI_TOP_RELAY:
        return relay == NULL ? cli_text_plain("-", 1)
                             : cli_text_process(relay->host, HOST_CELLS_MAX, relay->pid);
#define X(column, name, print, number, is_hidden)                                                  \
    case CLI_TOP_##column:                                                                         \
        (void)snprintf(cell.text, sizeof(cell.text), "%s", cli_text_##print(peer->number).text);   \
        break;
        CLI_TOP_NUMBERS(X)
#undef X
    default:
        break;
    }
    return cell;
}

// ---- order

typedef struct ordering {
    const cli_top_table *table;
    const cli_snapshot *state;
} ordering;

static int
sign(double a, double b)
{
    return a < b ? -1 : a > b;
}

// Neither may be NULL.
static int
relays_compare(const cli_relay *a, const cli_relay *b)
{
    int result = strcmp(a->host, b->host);
    return result != 0 ? result : sign(a->pid, b->pid);
}

// Compares by the sort column. What is not known comes last, also in reversed order.
static int
peers_compare(const ordering *by, const cli_peer *a, const cli_peer *b)
{
    const cli_top_table *table = by->table;
    const cli_relay *above_a = relay_of(by->state, a), *above_b = relay_of(by->state, b);
    int result;
    if (table->sort == CLI_TOP_RELAY) {
        if (above_a == NULL || above_b == NULL) {
            return (above_a == NULL) - (above_b == NULL);
        }
        result = relays_compare(above_a, above_b);
    } else if (table->sort == CLI_TOP_STATE) {
        result = sign(b->health, a->health);
        result = result != 0 ? result
                             : sign((double)(a - by->state->peer), (double)(b - by->state->peer));
    } else if (is_text(table->sort)) {
        result = strcmp(text_of(a, table->sort), text_of(b, table->sort));
    } else {
        double x = number_of(a, table->sort), y = number_of(b, table->sort);
        if (isnan(x) || isnan(y)) {
            return isnan(x) - isnan(y); // also when reversed
        }
        bool ascends = table->sort == CLI_TOP_ID || table->sort == CLI_TOP_PID;
        result = ascends ? sign(x, y) : sign(y, x);
    }
    return table->reversed ? -result : result;
}

// Equal peers are ordered by id, so that rows do not jump between two rounds.
static int
order_compare(const void *left, const void *right, void *arg)
{
    const ordering *by = arg;
    const cli_peer *a = &by->state->peer[*(const uint16_t *)left];
    const cli_peer *b = &by->state->peer[*(const uint16_t *)right];
    int result = peers_compare(by, a, b);
    return result != 0 ? result : a->id < b->id ? -1 : a->id > b->id;
}

// Counts the cells of a text without control characters, one for each character.
static size_t
cells_of(const char *text)
{
    size_t cells = 0;
    for (; *text != '\0'; text++) {
        cells += ((unsigned char)*text & 0xC0) != 0x80;
    }
    return cells;
}

// A peer of an earlier release does not report these columns.
static void
hide_unknown(cli_top_table *table, const cli_snapshot *state, cli_top_column column)
{
    bool is_known = false;
    for (size_t i = 0; i < state->peer_count; i++) {
        is_known = is_known || !isnan(number_of(&state->peer[i], column));
    }
    table->width[column] = is_known ? table->width[column] : 0;
}

// Widths are those of all rows, not only of the visible ones, so that columns stay where they are
// when the table scrolls. A width of 0 hides a column.
void
cli_top_table_take(cli_top_table *table, const cli_snapshot *state)
{
    ordering by = {table, state};
    table->count = state->peer_count;
    for (size_t i = 0; i < table->count; i++) {
        table->order[i] = (uint16_t)i;
    }
    qsort_r(table->order, table->count, sizeof(table->order[0]), order_compare, &by);
    for (cli_top_column column = 0; column < CLI_TOP_COLUMNS; column++) {
        size_t width = strlen(cli_top_column_names[column]) + 1; // room for the arrow
        for (size_t i = 0; i < table->count; i++) {
            width = OCT_MAX(width, cells_of(cell_of(state, &state->peer[i], column).text));
        }
        table->width[column] = width;
    }
    if (state->relay_count == 0) {
        table->width[CLI_TOP_RELAY] = 0;
    }
#define X(column, name, text, number, is_hidden)                                                   \
    if (is_hidden) {                                                                               \
        hide_unknown(table, state, CLI_TOP_##column);                                              \
    }
    CLI_TOP_NUMBERS(X)
#undef X
}

// ---- keys

// Keeps the first row where the table still fills the screen.
void
cli_top_table_fit(cli_top_table *table, size_t seen)
{
    size_t last = table->count > seen ? table->count - seen : 0;
    table->first = OCT_MIN(table->first, last);
}

static void
sort_by(cli_top_table *table, cli_top_column column)
{
    table->sort = column;
    table->reversed = false;
    table->first = 0;
}

// Sorts by the next column that is shown, to the right with step 1, to the left with step
// CLI_TOP_COLUMNS - 1.
static void
sort_beside(cli_top_table *table, unsigned step)
{
    unsigned column = table->sort;
    do {
        column = (column + step) % CLI_TOP_COLUMNS;
    } while (table->width[column] == 0 && column != table->sort);
    sort_by(table, column);
}

bool
cli_top_table_key(cli_top_table *table, cli_top_key key, size_t seen)
{
    size_t page = OCT_MAX(seen, (size_t)1);
    switch (key) {
    case CLI_TOP_KEY_UP:
        table->first -= OCT_MIN(table->first, 1);
        break;
    case CLI_TOP_KEY_DOWN:
        table->first += 1;
        break;
    case CLI_TOP_KEY_PAGE_UP:
        table->first -= OCT_MIN(table->first, page);
        break;
    case CLI_TOP_KEY_PAGE_DOWN:
        table->first += page;
        break;
    case CLI_TOP_KEY_HOME:
        table->first = 0;
        break;
    case CLI_TOP_KEY_END:
        table->first = table->count;
        break;
    case CLI_TOP_KEY_LEFT:
        sort_beside(table, CLI_TOP_COLUMNS - 1);
        break;
    case CLI_TOP_KEY_RIGHT:
        sort_beside(table, 1);
        break;
    case CLI_TOP_KEY_REVERSE:
        table->reversed = !table->reversed;
        table->first = 0;
        break;
    default:
        return false;
    }
    cli_top_table_fit(table, seen);
    return true;
}

// Letters as in less and vi.
static cli_top_key
letter_decode(char letter)
{
    switch (letter) {
    case 'q':
    case 'Q':
    case 3: // Ctrl-C on a terminal that sends no signal for it
        return CLI_TOP_KEY_QUIT;
    case 'r':
        return CLI_TOP_KEY_REVERSE;
    case '<':
    case 'h':
        return CLI_TOP_KEY_LEFT;
    case '>':
    case 'l':
        return CLI_TOP_KEY_RIGHT;
    case 'k':
        return CLI_TOP_KEY_UP;
    case 'j':
        return CLI_TOP_KEY_DOWN;
    case 'g':
        return CLI_TOP_KEY_HOME;
    case 'G':
        return CLI_TOP_KEY_END;
    case ' ':
        return CLI_TOP_KEY_PAGE_DOWN;
    case 'b':
        return CLI_TOP_KEY_PAGE_UP;
    default:
        return CLI_TOP_KEY_NONE;
    }
}

// Decodes the first key of bytes that were read from the terminal; *used becomes its length. A lone
// ESC is no key.
cli_top_key
cli_top_key_decode(const char *bytes, size_t length, size_t *used)
{
    static const struct {
        const char *end; // after ESC [ or ESC O
        cli_top_key key;
    } sequences[] = {{"A", CLI_TOP_KEY_UP},       {"B", CLI_TOP_KEY_DOWN},
                     {"C", CLI_TOP_KEY_RIGHT},    {"D", CLI_TOP_KEY_LEFT},
                     {"H", CLI_TOP_KEY_HOME},     {"F", CLI_TOP_KEY_END},
                     {"1~", CLI_TOP_KEY_HOME},    {"4~", CLI_TOP_KEY_END},
                     {"5~", CLI_TOP_KEY_PAGE_UP}, {"6~", CLI_TOP_KEY_PAGE_DOWN}};
    *used = 1;
    if (bytes[0] != '\x1b') {
        return letter_decode(bytes[0]);
    }
    if (length < 2 || (bytes[1] != '[' && bytes[1] != 'O')) {
        return CLI_TOP_KEY_NONE;
    }
    // Skips to the letter or tilde that ends the sequence, so that no part of it counts as another
    // key.
    size_t end = 2;
    while (end < length && bytes[end] >= ' ' && bytes[end] < '@') {
        end++;
    }
    *used = OCT_MIN(end + 1, length);
    for (size_t i = 0; i < OCT_COUNTOF(sequences); i++) {
        size_t wanted = strlen(sequences[i].end);
        if (*used - 2 == wanted && memcmp(bytes + 2, sequences[i].end, wanted) == 0) {
            return sequences[i].key;
        }
    }
    return CLI_TOP_KEY_NONE;
}

// ---- lines

static void
cell_add(cli_line *line, cli_top_column column, size_t from, size_t width, const char *text)
{
    size_t cells = cells_of(text);
    size_t before = is_left(column) || cells > width ? 0 : width - cells;
    cli_line_pad(line, from + before);
    cli_line_add(line, "%s", text);
}

// The arrow shows the direction of the values. A text ascends when it is sorted; a number begins
// with the greatest.
void
cli_top_table_head(const cli_top_table *table, cli_line *line, const cli_view_style *style)
{
    size_t from = 0;
    const char *up = style->ascii ? "^" : "↑", *down = style->ascii ? "v" : "↓";
    cli_line_init(line, style->width);
    line->ascii = style->ascii;
    for (cli_top_column column = 0; column < CLI_TOP_COLUMNS; column++) {
        if (table->width[column] == 0) {
            continue;
        }
        bool is_sorted = column == table->sort;
        // a state begins with the most urgent one
        bool ascends = (is_left(column) && column != CLI_TOP_STATE) || column == CLI_TOP_PID;
        char text[32];
        (void)snprintf(text, sizeof(text), "%s%s", cli_top_column_names[column],
                       !is_sorted                     ? ""
                       : (ascends != table->reversed) ? up
                                                      : down);
        if (is_sorted && style->colour) {
            cli_line_style(line, CLI_VIEW_BOLD);
        }
        cell_add(line, column, from, table->width[column], text);
        if (is_sorted && style->colour) {
            cli_line_style(line, CLI_VIEW_PLAIN);
        }
        from += table->width[column] + GAP;
    }
}

void
cli_top_table_row(const cli_top_table *table, cli_line *line, const cli_view_style *style,
                  const cli_snapshot *state, size_t i)
{
    const cli_peer *peer = &state->peer[table->order[i]];
    size_t from = 0;
    cli_line_init(line, style->width);
    line->ascii = style->ascii;
    if (peer->health >= WIRE_PEER_SILENT && style->colour) {
        cli_line_style(line, CLI_VIEW_RED);
    }
    for (cli_top_column column = 0; column < CLI_TOP_COLUMNS; column++) {
        if (table->width[column] == 0) {
            continue;
        }
        cell_add(line, column, from, table->width[column], cell_of(state, peer, column).text);
        from += table->width[column] + GAP;
    }
    if (peer->health >= WIRE_PEER_SILENT && style->colour) {
        cli_line_style(line, CLI_VIEW_PLAIN);
    }
}
