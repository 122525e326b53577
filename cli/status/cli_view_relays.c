// Prints the relays between the actors and the daemons as lines of text.

#include <stdio.h>
#include <string.h>

#include "cli/status/cli_view.h"

#define SHOWN_MAX 8 // relays that are listed

static cli_plain_text
name_of(const cli_relay *relay)
{
    return cli_text_process(relay->host, CLI_VIEW_HOST_CELLS, relay->pid);
}

// Names what a relay goes through: a listed relay by its name, any other by its address.
static cli_plain_text
above_of(const cli_snapshot *state, const cli_relay *relay)
{
    for (size_t i = 0; relay->above[0] != '\0' && i < state->relay_count; i++) {
        if (strcmp(state->relay[i].address, relay->above) == 0) {
            return name_of(&state->relay[i]);
        }
    }
    return cli_text_plain(relay->above, CLI_TEXT_PLAIN_MAX);
}

// A relay without an address of its own only serves other relays.
static void
relay_line(cli_view *view, const char *label, const cli_relay *relay)
{
    cli_line *line = cli_view_begin(view, label);
    cli_line_add(line, "%s", name_of(relay).text);
    if (relay->is_silent) {
        cli_view_add(line, "no report for ", cli_text_seconds(relay->heard_s).text, "");
    } else if (relay->address[0] == '\0') {
        cli_view_add(line, "", "serves other relays only", "");
    } else {
        cli_view_add(line, "", cli_text_count(relay->actors).text,
                     relay->actors == 1 ? " actor" : " actors");
    }
    if (relay->above[0] != '\0') {
        cli_view_add(line, "through ", above_of(view->state, relay).text, "");
    }
}

// Lists the relays that are silent, or those that are not, at most room of them. Returns the count.
static size_t
relays_add(cli_view *view, bool silent, size_t room)
{
    const cli_snapshot *state = view->state;
    size_t shown = 0;
    for (size_t i = 0; i < state->relay_count && shown < room; i++) {
        if (state->relay[i].is_silent == silent) {
            relay_line(view, shown > 0 ? "" : silent ? "  silent" : "  relay", &state->relay[i]);
            shown++;
        }
    }
    return shown;
}

void
cli_view_relays(cli_view *view)
{
    const cli_snapshot *state = view->state;
    uint32_t actors = 0, live = cli_snapshot_relays(state);
    if (state->relay_count == 0) {
        return;
    }
    for (size_t i = 0; i < state->relay_count; i++) {
        actors += state->relay[i].is_silent ? 0 : state->relay[i].actors;
    }
    cli_line *line = cli_view_begin(view, "relays");
    cli_line_add(line, "%u", (unsigned)live);
    cli_line_add(line, " · %u of %u actors connect through relays", (unsigned)actors,
                 (unsigned)state->actors);
    size_t shown = relays_add(view, true, SHOWN_MAX);
    shown += relays_add(view, false, SHOWN_MAX - shown);
    if (shown < state->relay_count) {
        cli_line_add(cli_view_begin(view, ""), "… %zu more", state->relay_count - shown);
    }
}
