// Explains broken YAML: which line is wrong, what was found there and what is expected.
#include "config/config_yaml.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"

#define SHOWN_BYTES 96   // bytes of a line that are shown
#define NAME_BYTES  48   // bytes of a name that are shown
#define LINE_BYTES  1024 // bytes of a line that are searched for brackets

// ---- lines

typedef struct line_text {
    const char *at; // not 0-terminated
    size_t length;  // without the end of the line
    size_t indent;  // blanks and tabs before the first other character
} line_text;

// Returns the line that begins at a position of text.
static line_text
line_at(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    line_text out = {.at = at, .length = (size_t)((newline != NULL ? newline : end) - at)};
    out.length -= out.length > 0 && out.at[out.length - 1] == '\r';
    while (out.indent < out.length && (out.at[out.indent] == ' ' || out.at[out.indent] == '\t')) {
        out.indent++;
    }
    return out;
}

// Returns the line with this number. A line after the last one is empty.
static line_text
line_find(const char *text, size_t length, size_t line)
{
    const char *at = text, *end = text + length;
    for (; line > 0 && at < end; line--) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline != NULL ? newline + 1 : end;
    }
    return line_at(at, end);
}

// Moves to the line above. Returns false if there is none.
static bool
line_up(line_text *line, const char *text)
{
    if (line->at == text) {
        return false;
    }
    const char *end = line->at - 1; // '\n', unless text ends without one and line is after it
    end += *end != '\n';
    const char *newline = memrchr(text, '\n', (size_t)(end - text));
    *line = line_at(newline != NULL ? newline + 1 : text, end);
    return true;
}

static bool
is_blank(const line_text *line)
{
    return line->indent == line->length || line->at[line->indent] == '#';
}

// Returns the last line before line that has more than a comment, or line if there is none.
static size_t
line_before(const char *text, size_t length, size_t line)
{
    line_text before = line_find(text, length, line);
    for (size_t i = line; i-- > 0 && line_up(&before, text);) {
        if (!is_blank(&before)) {
            return i;
        }
    }
    return line;
}

// Returns the byte offset of a column, which counts characters.
static size_t
byte_at(const line_text *line, size_t column)
{
    size_t at = 0;
    for (; column > 0 && at < line->length; column--) {
        size_t bytes = oct_text_character((const uint8_t *)line->at + at, line->length - at);
        at += OCT_MAX(bytes, (size_t)1);
    }
    return OCT_MIN(at, line->length);
}

static size_t
column_of(const line_text *line, size_t byte)
{
    size_t column = 0;
    for (size_t at = 0; at < byte && at < line->length; column++) {
        size_t bytes = oct_text_character((const uint8_t *)line->at + at, line->length - at);
        at += OCT_MAX(bytes, (size_t)1);
    }
    return column;
}

void
config_yaml_show(oct_text *message, const char *text, size_t length, size_t line, size_t column)
{
    char shown[SHOWN_BYTES];
    line_text found = line_find(text, length, line);
    size_t at = byte_at(&found, column);
    // A long line is shown from somewhat before the column.
    size_t begin = at > SHOWN_BYTES / 2 ? byte_at(&found, column - SHOWN_BYTES / 3) : 0;
    (void)oct_text_quote(shown, sizeof(shown), found.at + begin, found.length - begin);
    for (size_t i = 0; shown[i] != '\0' && begin + i < found.indent; i++) {
        shown[i] = ' '; // oct_text_quote writes a tab as '?'
    }
    oct_text_add(message, "%5zu | %s\n      | %*s^\n", line + 1, shown,
                 (int)(column_of(&found, at) - column_of(&found, begin)), "");
}

// ---- mistakes

static bool OCT_PRINTF(4, 5)
    mistake_is(config_mistake *out, size_t line, size_t column, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(out->what, sizeof(out->what), format, args);
    va_end(args);
    out->line = out->from = line;
    out->column = column;
    return true;
}

// Returns the length of the name (batch_size, learner.batch_size) at the start of text, or 0.
static size_t
name_length(const char *text, size_t length)
{
    size_t i = 0;
    while (i < length && (isalnum((unsigned char)text[i]) || text[i] == '_' || text[i] == '.' ||
                          (text[i] == '-' && i > 0))) {
        i++;
    }
    return length > 0 && isalpha((unsigned char)text[0]) ? i : 0;
}

// Returns the offset of the quote that begins a value at from and is not closed on its line, or 0.
static size_t
open_quote(const line_text *line, size_t from)
{
    while (from < line->length && line->at[from] == ' ') {
        from++;
    }
    char quote = from < line->length ? line->at[from] : '\0';
    if (quote != '"' && quote != '\'') {
        return 0;
    }
    for (size_t i = from + 1; i < line->length; i++) {
        if (line->at[i] == '\\' && quote == '"') {
            i++;
        } else if (line->at[i] == quote) {
            return 0;
        }
    }
    return from;
}

// Checks a line that begins with a name of length bytes, after the indent.
static bool
check_named_line(config_mistake *out, const line_text *line, size_t number, size_t length)
{
    const char *name = line->at + line->indent;
    size_t end = line->indent + length, next = end;
    int shown = (int)OCT_MIN(length, (size_t)NAME_BYTES);
    while (next < line->length && line->at[next] == ' ') {
        next++;
    }
    char after = next < line->length ? line->at[next] : '\0';
    if (after == ':' && next + 1 < line->length && line->at[next + 1] != ' ' &&
        line->at[next + 1] != '\t') {
        return mistake_is(out, number, column_of(line, next + 1),
                          "a space is missing after the colon; write %.*s: VALUE", shown, name);
    }
    if (after == ':') {
        size_t quote = open_quote(line, next + 1);
        return quote > 0 && mistake_is(out, number, column_of(line, quote),
                                       "the quote %c is not closed on its line", line->at[quote]);
    }
    if (after == '=') {
        return mistake_is(out, number, column_of(line, next),
                          "a colon and a space are needed instead of '='; write %.*s: VALUE", shown,
                          name);
    }
    if (after == '\0' || after == '#') {
        return mistake_is(out, number, column_of(line, end), "a colon is missing; write %.*s:%s",
                          shown, name, line->indent > 0 ? " VALUE" : "");
    }
    return next > end && mistake_is(out, number, column_of(line, end),
                                    "a colon is missing; write %.*s: VALUE", shown, name);
}

bool
config_yaml_check_line(config_mistake *out, const char *text, size_t length, size_t line)
{
    line_text found = line_find(text, length, line);
    const char *start = found.at + found.indent;
    size_t left = found.length - found.indent;
    const char *tab = memchr(found.at, '\t', found.indent);
    if (is_blank(&found)) {
        return false;
    }
    if (tab != NULL) {
        return mistake_is(out, line, (size_t)(tab - found.at),
                          "the line begins with a tab; YAML indents with spaces");
    }
    if (left >= 7 && (memcmp(start, "<<<<<<<", 7) == 0 || memcmp(start, "=======", 7) == 0 ||
                      memcmp(start, ">>>>>>>", 7) == 0)) {
        return mistake_is(out, line, 0,
                          "this line is a merge conflict marker; keep one of the two versions");
    }
    size_t name = name_length(start, left);
    return name > 0 && check_named_line(out, &found, line, name);
}

// ---- errors of libyaml

// Returns true if the bracket at byte at is closed on its line, unlike that of "[64, 64".
static bool
is_closed(const line_text *line, size_t at)
{
    size_t depth = 0;
    char quote = '\0';
    for (size_t end = OCT_MIN(line->length, (size_t)LINE_BYTES); at < end; at++) {
        char c = line->at[at];
        if (quote != '\0') {
            quote = c == quote ? '\0' : quote;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '[' || c == '{') {
            depth++;
        } else if ((c == ']' || c == '}') && --depth == 0) {
            return true;
        }
    }
    return false;
}

// Finds the last bracket before a position that is not closed on its own line. Returns false if
// there is none.
static bool
bracket_before(yaml_mark_t *out, const yaml_mark_t *position, const char *text, size_t length)
{
    line_text line = line_find(text, length, position->line);
    size_t number = position->line, at = byte_at(&line, position->column + 1);
    do {
        at = OCT_MIN(at, (size_t)LINE_BYTES);
        while (at-- > 0) {
            if ((line.at[at] == '[' || line.at[at] == '{') && !is_closed(&line, at)) {
                *out = (yaml_mark_t){.line = number, .column = column_of(&line, at)};
                return true;
            }
        }
        if (!line_up(&line, text)) {
            return false;
        }
        at = line.length;
    } while (number-- > 0);
    return false;
}

static void
explain_bracket(config_mistake *out, const yaml_parser_t *parser, const char *text, size_t length)
{
    const yaml_mark_t *at = &parser->problem_mark;
    yaml_mark_t open = parser->context_mark;
    line_text line = line_find(text, length, open.line);
    size_t byte = byte_at(&line, open.column);
    if (at->line == open.line && byte < line.length && is_closed(&line, byte)) {
        (void)mistake_is(out, at->line, at->column, "a comma or '%c' is expected",
                         line.at[byte] == '{' ? '}' : ']');
    } else if (bracket_before(&open, &parser->context_mark, text, length)) {
        line = line_find(text, length, open.line);
        char begun = line.at[byte_at(&line, open.column)];
        (void)mistake_is(out, open.line, open.column, "the '%c' is not closed; '%c' is missing",
                         begun, begun == '{' ? '}' : ']');
    } else {
        (void)mistake_is(out, at->line, at->column, "a value is expected");
    }
}

// Returns true if a position is the first word of its line, and the line is not the first one.
static bool
is_first(const yaml_mark_t *at, const char *text, size_t length)
{
    line_text line = line_find(text, length, at->line);
    return at->line > 0 && byte_at(&line, at->column) <= line.indent;
}

// Explains a key or a list item that libyaml did not expect.
static void
explain_unexpected(config_mistake *out, const yaml_mark_t *at, const char *text, size_t length)
{
    line_text line = line_find(text, length, at->line);
    size_t byte = byte_at(&line, at->column), before = line_before(text, length, at->line);
    char found = byte < line.length ? line.at[byte] : '\0';
    line_text above = line_find(text, length, before);
    if (found == ']' || found == '}') {
        (void)mistake_is(out, at->line, at->column, "the '%c' has no opening bracket", found);
    } else if (found == '\0') {
        (void)mistake_is(out, at->line, at->column, "a value is expected");
    } else if (byte > line.indent) {
        (void)mistake_is(out, at->line, at->column,
                         "text follows the quoted value; put quotes around the whole text");
    } else if (found == '-') {
        (void)mistake_is(out, at->line, at->column,
                         "a list item is among keys; write a list as [64, 64]");
    } else {
        (void)mistake_is(
            out, at->line, at->column,
            "the line is indented by %zu space%s, line %zu by %zu; keys of one section have "
            "the same indentation",
            line.indent, line.indent == 1 ? "" : "s", before + 1, above.indent);
    }
}

// Explains "a: b: c", or a line that is indented deeper than a key with a value.
static void
explain_second_colon(config_mistake *out, const yaml_mark_t *at, const char *text, size_t length)
{
    line_text line = line_find(text, length, at->line);
    size_t byte = byte_at(&line, at->column), before = line_before(text, length, at->line);
    line_text above = line_find(text, length, before);
    bool has_other = false;
    for (size_t i = 0; i + 1 < byte; i++) {
        has_other = has_other || (line.at[i] == ':' && line.at[i + 1] == ' ');
    }
    if (has_other || before == at->line || line.indent <= above.indent) {
        (void)mistake_is(out, at->line, at->column,
                         "a value with a colon and a space needs quotes, such as \"a: b\"");
        return;
    }
    (void)mistake_is(out, at->line, line.indent,
                     "the line is indented deeper than line %zu, which has a value; keys of one "
                     "section have the same indentation",
                     before + 1);
    out->from = before;
}

static void
explain_character(config_mistake *out, const yaml_mark_t *at, const char *text, size_t length)
{
    line_text line = line_find(text, length, at->line);
    size_t byte = byte_at(&line, at->column);
    char found = byte < line.length ? line.at[byte] : '\0';
    if (found == '\t') {
        (void)mistake_is(out, at->line, at->column, "a tab is not allowed here; use spaces");
    } else {
        (void)mistake_is(out, at->line, at->column,
                         "a value that begins with '%c' needs quotes, such as \"%cx\"", found,
                         found);
    }
}

// libyaml's reader works ahead of its scanner, so it knows only the offset of the byte.
static void
explain_bytes(config_mistake *out, const yaml_parser_t *parser, const char *text, size_t length)
{
    size_t line = 0, offset = OCT_MIN(parser->problem_offset, length), start = 0;
    for (size_t i = 0; i < offset; i++) {
        if (text[i] == '\n') {
            line++;
            start = i + 1;
        }
    }
    unsigned found = offset < length ? (unsigned char)text[offset] : 0;
    line_text whole = line_find(text, length, line);
    if (offset == 0 && (found == 0xFE || found == 0xFF)) {
        (void)mistake_is(out, 0, 0, "the file is UTF-16; save it as UTF-8");
    } else if (strstr(parser->problem, "control") != NULL) {
        (void)mistake_is(out, line, column_of(&whole, offset - start),
                         "a control character (code %u); an experiment is plain text", found);
    } else {
        (void)mistake_is(out, line, column_of(&whole, offset - start),
                         "the byte 0x%02X is not UTF-8; save the file as UTF-8", found);
    }
}

// Explains the rule of libyaml's grammar that was broken. Returns false if the rule is not known.
static bool
explain_rule(config_mistake *out, const yaml_parser_t *parser, const char *text, size_t length)
{
    const char *problem = parser->problem, *context = parser->context;
    const yaml_mark_t *at = &parser->problem_mark, *from = &parser->context_mark;
    context = context != NULL ? context : "";
    bool is_quoted = strstr(context, "quoted scalar") != NULL;
    if (is_quoted && strstr(problem, "escape character") != NULL) {
        return mistake_is(out, at->line, at->column,
                          "'\\' begins an escape in double quotes; write '\\\\', or use single "
                          "quotes");
    }
    if (is_quoted) {
        return mistake_is(out, from->line, from->column, "the quote is not closed");
    }
    if (strstr(context, "flow") != NULL) {
        explain_bracket(out, parser, text, length);
    } else if (strstr(problem, "document start") != NULL && is_first(at, text, length)) {
        return mistake_is(out, at->line, at->column,
                          "the line is indented less than the first one; sections are at the start "
                          "of a line");
    } else if (strstr(problem, "expected key") != NULL ||
               strstr(problem, "'-' indicator") != NULL ||
               strstr(problem, "node content") != NULL ||
               strstr(problem, "document start") != NULL) {
        explain_unexpected(out, at, text, length);
    } else if (strstr(problem, "mapping values") != NULL) {
        explain_second_colon(out, at, text, length);
    } else if (strstr(problem, "start any token") != NULL || strstr(problem, "tab char") != NULL) {
        explain_character(out, at, text, length);
    } else if (strstr(problem, "sequence entries") != NULL) {
        return mistake_is(out, at->line, at->column,
                          "a list item is not allowed here; write a list as [64, 64]");
    } else if (strstr(problem, "expected ':'") != NULL) {
        return mistake_is(out, from->line, from->column,
                          "the line has no colon; write a key as name: value");
    } else if (context[0] != '\0' && strstr(context, "while scanning a") != NULL) {
        explain_character(out, from, text, length); // '|', '>', '&', '*', '!', '%'
    } else {
        return false;
    }
    return true;
}

// Searches the line of the error, and the line before that libyaml read with it, for a mistake.
static bool
check_lines_near(config_mistake *out, const yaml_parser_t *parser, const char *text, size_t length)
{
    const char *context = parser->context != NULL ? parser->context : "";
    const yaml_mark_t *at = &parser->problem_mark, *from = &parser->context_mark;
    if (strstr(context, "quoted") != NULL || strstr(context, "flow") != NULL) {
        return false; // these may have several lines
    }
    size_t before = strstr(context, "simple key") != NULL ? from->line
                    : strstr(parser->problem, "mapping values") != NULL
                        ? line_before(text, length, at->line)
                        : at->line;
    return config_yaml_check_line(out, text, length, before) ||
           config_yaml_check_line(out, text, length, at->line);
}

void
config_yaml_explain(config_mistake *out, const yaml_parser_t *parser, const char *text,
                    size_t length, bool is_file)
{
    const char *context = parser->context != NULL ? parser->context : "";
    const yaml_mark_t *at = &parser->problem_mark;
    if (parser->error == YAML_READER_ERROR) {
        explain_bytes(out, parser, text, length);
    } else if (is_file && check_lines_near(out, parser, text, length)) {
        return;
    } else if (!explain_rule(out, parser, text, length)) {
        (void)mistake_is(out, at->line, at->column, "%s%s%s", parser->problem,
                         context[0] != '\0' ? " " : "", context);
    }
}
