// The order, widths and text of the table of octet top.

#include "cli/top/cli_top_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

#define HOST_CELLS_MAX 32
#define GAP            2

const char *const cli_top_column_names[CLI_TOP_COLUMNS + 1] = {
    "id",   "role",   "host",    "pid",    "state",    "lag",   "steps", "infer", "env",
    "wait", "resent", "unacked", "memory", "restarts", "heard", "relay", NULL};

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

// To the left of its column; all others are numbers, to the right.
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
        return cli_state_health_word(peer->health);
    default:
        return peer->host;
    }
}

// NULL: it goes through none.
static const cli_relay *
relay_of(const cli_state *state, const cli_peer *peer)
{
    return peer->relay > 0 ? &state->relay[peer->relay - 1] : NULL;
}

static double
number_of(const cli_peer *peer, cli_top_column column)
{
    switch (column) {
    case CLI_TOP_ID:
        return peer->id;
    case CLI_TOP_PID:
        return peer->pid;
    case CLI_TOP_LAG:
        return peer->lag_versions;
    case CLI_TOP_STEPS:
        return peer->steps_per_s;
    case CLI_TOP_INFER:
        return peer->infer_share;
    case CLI_TOP_ENV:
        return peer->env_share;
    case CLI_TOP_WAIT:
        return peer->wait_share;
    case CLI_TOP_RESENT:
        return peer->resent;
    case CLI_TOP_UNACKED:
        return peer->unacked;
    case CLI_TOP_MEMORY:
        return peer->resident_bytes;
    case CLI_TOP_RESTARTS:
        return peer->restarts;
    default:
        return peer->heard_s;
    }
}

// The health, and for how long where that tells how bad it is.
static cli_plain_text
state_cell(const cli_peer *peer)
{
    cli_plain_text cell;
    double since_s = peer->health == WIRE_PEER_STUCK     ? peer->stuck_s
                     : peer->health == WIRE_PEER_UNACKED ? peer->unacked_s
                                                         : NAN;
    (void)snprintf(cell.text, sizeof(cell.text), "%s%s%s", text_of(peer, CLI_TOP_STATE),
                   isnan(since_s) ? "" : " ", isnan(since_s) ? "" : cli_text_seconds(since_s).text);
    return cell;
}

static cli_plain_text
cell_of(const cli_state *state, const cli_peer *peer, cli_top_column column)
{
    cli_plain_text cell;
    const cli_relay *relay = relay_of(state, peer);
    double number = is_text(column) ? NAN : number_of(peer, column);
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
    case CLI_TOP_INFER:
    case CLI_TOP_ENV:
    case CLI_TOP_WAIT:
        (void)snprintf(cell.text, sizeof(cell.text), "%s", cli_text_share(number).text);
        break;
    case CLI_TOP_MEMORY:
        (void)snprintf(cell.text, sizeof(cell.text), "%s", cli_text_bytes(number).text);
        break;
    case CLI_TOP_HEARD:
        (void)snprintf(cell.text, sizeof(cell.text), "%s", cli_text_seconds(number).text);
        break;
    default:
        (void)snprintf(cell.text, sizeof(cell.text), "%s", cli_text_count(number).text);
        break;
    }
    return cell;
}

// ---- order

typedef struct ordering {
    const cli_top_table *table;
    const cli_state *state;
} ordering;

static int
sign(double a, double b)
{
    return a < b ? -1 : a > b;
}

// Neither is NULL.
static int
relays_compare(const cli_relay *a, const cli_relay *b)
{
    int result = strcmp(a->host, b->host);
    return result != 0 ? result : sign(a->pid, b->pid);
}

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
            return isnan(x) - isnan(y); // either way last
        }
        bool ascends = table->sort == CLI_TOP_ID || table->sort == CLI_TOP_PID;
        result = ascends ? sign(x, y) : sign(y, x);
    }
    return table->reversed ? -result : result;
}

static int
order_compare(const void *left, const void *right, void *arg)
{
    const ordering *by = arg;
    const cli_peer *a = &by->state->peer[*(const uint16_t *)left];
    const cli_peer *b = &by->state->peer[*(const uint16_t *)right];
    int result = peers_compare(by, a, b);
    return result != 0 ? result : a->id < b->id ? -1 : a->id > b->id;
}

// Cells of a text that has no control characters.
static size_t
cells_of(const char *text)
{
    size_t cells = 0;
    for (; *text != '\0'; text++) {
        cells += ((unsigned char)*text & 0xC0) != 0x80;
    }
    return cells;
}

static void
hide_unknown(cli_top_table *table, const cli_state *state, cli_top_column column)
{
    bool is_known = false;
    for (size_t i = 0; i < state->peer_count; i++) {
        is_known = is_known || !isnan(number_of(&state->peer[i], column));
    }
    table->width[column] = is_known ? table->width[column] : 0;
}

void
cli_top_table_take(cli_top_table *table, const cli_state *state)
{
    ordering by = {table, state};
    table->count = state->peer_count;
    for (size_t i = 0; i < table->count; i++) {
        table->order[i] = (uint16_t)i;
    }
    qsort_r(table->order, table->count, sizeof(table->order[0]), order_compare, &by);
    for (cli_top_column column = 0; column < CLI_TOP_COLUMNS; column++) {
        size_t width = strlen(cli_top_column_names[column]) + 1; // and the arrow
        for (size_t i = 0; i < table->count; i++) {
            width = OCT_MAX(width, cells_of(cell_of(state, &state->peer[i], column).text));
        }
        table->width[column] = width;
    }
    if (state->relay_count == 0) {
        table->width[CLI_TOP_RELAY] = 0;
    }
    hide_unknown(table, state, CLI_TOP_MEMORY);
    hide_unknown(table, state, CLI_TOP_RESTARTS);
}

// ---- keys

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

// By the next column that is shown, at each step so many further.
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

static cli_top_key
letter_decode(char letter)
{
    switch (letter) {
    case 'q':
    case 'Q':
    case 3: // Ctrl-C of a terminal that sends no signal for it
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

cli_top_key
cli_top_key_decode(const char *bytes, size_t length, size_t *used)
{
    static const struct {
        const char *end; // behind ESC and [ or O
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
    // Up to the letter or tilde that ends it, so that nothing of it is taken for another key.
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
                  const cli_state *state, size_t i)
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
