// Reads an experiment: the YAML text, and settings of the form key=value, checked against the table
// of keys. All mistakes in values are reported together.
#include "common/oct_config_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_config_synonyms.h"
#include "common/oct_config_yaml.h"
#include "common/oct_file.h"
#include "common/oct_option.h"
#include "common/oct_text.h"

#define BYTE_ORDER_MARK "\xEF\xBB\xBF" // UTF-8
#define MARK_BYTES      3
#define FILE_BYTES_MAX  (1u << 20)
#define ERRORS_MAX      10
#define REASON_MAX      1024
#define QUOTED_BYTES    48
#define SECTIONS_MAX    16
#define DEPTH_MAX       32

// One pass over the events of one text. Mistakes in values are collected, so that a person sees
// them all; mistakes that leave the structure in doubt set stop.
typedef struct parse {
    oct_config *config;
    const char *name;
    const char *text;
    size_t length;
    bool has_lines;     // false: --set, whose messages give no line and column
    const char *option; // --set env.options.OPTION; NULL: of a whole key
    yaml_parser_t parser;
    yaml_event_t event;
    oct_text message;
    size_t error_count;
    size_t error_line[ERRORS_MAX], error_begin[ERRORS_MAX]; // its line; where it is in message
    bool stop;
    size_t value_end;                     // --set: in characters
    size_t key_line[OCT_CONFIG_KEYS_MAX]; // 1-based line where a key was set, 0: not yet
    char section_name[SECTIONS_MAX][OCT_CONFIG_NAME_MAX];
    size_t section_line[SECTIONS_MAX];
    size_t section_count;
} parse;

static void OCT_PRINTF(3, 4) parse_error(parse *p, const yaml_mark_t *mark, const char *format, ...)
{
    char text[REASON_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (p->error_count < ERRORS_MAX) {
        p->error_line[p->error_count] = mark->line;
        p->error_begin[p->error_count] = p->message.used;
    }
    p->error_count++;
    if (p->error_count > ERRORS_MAX) {
        oct_text_add(&p->message, "%s: error: too many errors; the rest are not shown\n", p->name);
        p->stop = true;
    } else if (p->has_lines) {
        oct_text_add(&p->message, "%s:%zu:%zu: error: %s\n", p->name, mark->line + 1,
                     mark->column + 1, text);
    } else {
        oct_text_add(&p->message, "%s: error: %s\n", p->name, text);
    }
}

// A mistake that leaves the structure in doubt: what was found wrong from its first line on may
// follow from it and is taken back.
static void
parse_broken(parse *p, const oct_config_mistake *mistake)
{
    const yaml_mark_t mark = {.line = mistake->line, .column = mistake->column};
    while (p->error_count > 0 && p->error_line[p->error_count - 1] >= mistake->from) {
        p->error_count--;
        oct_text_cut_to(&p->message, p->error_begin[p->error_count]);
    }
    parse_error(p, &mark, "%s", mistake->what);
    if (p->has_lines) {
        oct_config_yaml_show(&p->message, p->text, p->length, mark.line, mark.column);
    }
    p->stop = true;
}

// The next event; false (and stop) when the text is broken there.
static bool
next(parse *p)
{
    yaml_event_delete(&p->event);
    if (!p->stop && !yaml_parser_parse(&p->parser, &p->event)) {
        oct_config_mistake mistake;
        oct_config_yaml_explain(&mistake, &p->parser, p->text, p->length, p->has_lines);
        parse_broken(p, &mistake);
    }
    return !p->stop;
}

// Passes over the node that begins with the current event.
static void
skip(parse *p)
{
    int depth = 0;
    do {
        switch (p->event.type) {
        case YAML_SEQUENCE_START_EVENT:
        case YAML_MAPPING_START_EVENT:
            depth++;
            break;
        case YAML_SEQUENCE_END_EVENT:
        case YAML_MAPPING_END_EVENT:
            depth--;
            break;
        default:
            break;
        }
        if (depth > DEPTH_MAX) {
            parse_error(p, &p->event.start_mark, "nested deeper than %d levels", DEPTH_MAX);
            p->stop = true;
        }
    } while (depth > 0 && next(p));
}

// Anchors, aliases and tags would need a second meaning for every line; experiments need none.
static bool
is_supported(parse *p)
{
    const yaml_event_t *event = &p->event;
    const yaml_char_t *anchor = NULL, *tag = NULL;
    if (event->type == YAML_ALIAS_EVENT) {
        parse_error(p, &event->start_mark,
                    "aliases (*%s) are not supported; text that begins with * needs quotes",
                    (const char *)event->data.alias.anchor);
        return false;
    }
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
    }
    if (anchor != NULL || tag != NULL) {
        parse_error(
            p, &event->start_mark, "%s are not supported; text that begins with %c needs quotes",
            anchor != NULL ? "anchors (&name)" : "tags (!name)", anchor != NULL ? '&' : '!');
        return false;
    }
    return true;
}

static oct_config_scalar
event_scalar(const yaml_event_t *event)
{
    return (oct_config_scalar){
        .text = (const char *)event->data.scalar.value,
        .length = event->data.scalar.length,
        .quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE,
    };
}

// The value of a key is not taken. reason is about the value, or what the key has or must be.
static void
parse_refused(parse *p, const yaml_mark_t *mark, const char *name, const char *reason)
{
    bool is_of_key = strncmp(reason, "has ", 4) == 0 || strncmp(reason, "must ", 5) == 0;
    parse_error(p, mark, "%s%s %s", name, is_of_key ? "" : ":", reason);
}

static void
parse_list(parse *p, const oct_config_key *key, const char *name)
{
    uint32_t value[OCT_CONFIG_INTS_MAX];
    char reason[REASON_MAX];
    size_t count = 0;
    size_t errors_before = p->error_count;
    yaml_mark_t begin = p->event.start_mark;
    while (next(p) && p->event.type != YAML_SEQUENCE_END_EVENT) {
        yaml_mark_t mark = p->event.start_mark;
        if (!is_supported(p)) {
            skip(p);
        } else if (p->event.type != YAML_SCALAR_EVENT) {
            parse_error(p, &mark, "%s: a list may contain only whole numbers", name);
            skip(p);
        } else {
            oct_config_scalar scalar = event_scalar(&p->event);
            uint32_t number = 0;
            if (oct_config_int_parse(&number, key, &scalar, reason, sizeof(reason)) != OCT_OK) {
                parse_refused(p, &mark, name, reason);
            } else if (count < OCT_CONFIG_INTS_MAX) {
                value[count] = number;
            }
        }
        count++;
    }
    if (!p->stop && p->error_count == errors_before &&
        oct_config_ints_set(p->config, key, value, count, reason, sizeof(reason)) != OCT_OK) {
        parse_refused(p, &begin, name, reason);
    }
}

// The name that the current event gives to a key or section, fit for messages; false: it is none.
static bool
parse_name(parse *p, char out[OCT_CONFIG_NAME_MAX])
{
    if (!is_supported(p)) {
        return false;
    }
    if (p->event.type != YAML_SCALAR_EVENT || p->event.data.scalar.length == 0) {
        parse_error(p, &p->event.start_mark, "a name is expected here");
        return false;
    }
    oct_config_scalar scalar = event_scalar(&p->event);
    (void)oct_text_quote(out, OCT_CONFIG_NAME_MAX, scalar.text, scalar.length);
    return true;
}

// ---- options of an environment

#define OPTIONS_SECTION "env"
#define OPTIONS_NAME    "options"

static bool
is_options(const oct_config_key *key)
{
    return key == oct_config_key_find(OPTIONS_SECTION, OPTIONS_NAME);
}

// Adds the value that begins with the current event as JSON.
static void
parse_json(parse *p, oct_text *text, uint32_t depth)
{
    bool is_list = p->event.type == YAML_SEQUENCE_START_EVENT;
    yaml_event_type_t end = is_list ? YAML_SEQUENCE_END_EVENT : YAML_MAPPING_END_EVENT;
    oct_config_scalar scalar;
    if (!is_supported(p)) {
        skip(p);
        return;
    }
    if (p->event.type == YAML_SCALAR_EVENT) {
        scalar = event_scalar(&p->event);
        oct_config_json_add(text, &scalar);
        return;
    }
    if (depth == DEPTH_MAX) {
        parse_error(p, &p->event.start_mark, "nested deeper than %d levels", DEPTH_MAX);
        p->stop = true;
    }
    oct_text_add(text, is_list ? "[" : "{");
    for (bool is_first = true; next(p) && p->event.type != end; is_first = false) {
        oct_text_add(text, is_first ? "" : ", ");
        if (!is_list && (!is_supported(p) || p->event.type != YAML_SCALAR_EVENT)) {
            parse_error(p, &p->event.start_mark, "a name is expected here");
            p->stop = true;
            return;
        }
        if (!is_list) {
            scalar = event_scalar(&p->event);
            oct_config_json_add_text(text, &scalar);
            oct_text_add(text, ": ");
        }
        if (is_list || next(p)) {
            parse_json(p, text, depth + 1);
        }
    }
    oct_text_add(text, is_list ? "]" : "}");
}

// Adds the option whose value begins with the current event.
static void
parse_option(parse *p, oct_text *text, const char *option)
{
    oct_text_add(text, "%s%s", text->used > 0 ? "," : "", option);
    if (p->event.type != YAML_SCALAR_EVENT) {
        oct_text_add(text, ":=");
        parse_json(p, text, 1);
    } else if (is_supported(p)) {
        oct_config_scalar scalar = event_scalar(&p->event);
        oct_config_option_add(text, &scalar);
    }
}

#define OPTION_BYTES (OCT_CONFIG_NAME_MAX - sizeof("env.options."))
#define OPTION_NAMES "a name of 1 to %zu bytes without = , : . and quotes"

static bool
is_option_name(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length <= OPTION_BYTES && strpbrk(name, "=,:.\"'") == NULL;
}

// The name of an option, which the current event gives; false: it is none, or comes again.
static bool
parse_option_name(parse *p, const oct_text *text, char out[OCT_CONFIG_NAME_MAX])
{
    const yaml_mark_t mark = p->event.start_mark;
    if (!parse_name(p, out)) {
        return false;
    }
    if (strlen(out) != p->event.data.scalar.length || !is_option_name(out)) {
        parse_error(p, &mark, "env.options: %s is not " OPTION_NAMES, out, OPTION_BYTES);
        return false;
    }
    if (oct_option_find(text->out, out) != NULL) {
        parse_error(p, &mark, "env.options: %s is given twice", out);
        return false;
    }
    return true;
}

// A section of options, or the value of one, which begins with the current event, in the form of
// oct_option.h.
static void
parse_options(parse *p, const oct_config_key *key)
{
    char options[OCT_CONFIG_OPTIONS_MAX], name[OCT_CONFIG_NAME_MAX], reason[REASON_MAX];
    const yaml_mark_t mark = p->event.start_mark;
    oct_text text;
    oct_text_init(&text, options, sizeof(options));
    if (p->option != NULL) {
        oct_option_add_others(&text, p->config->env.options, p->option);
        parse_option(p, &text, p->option);
    }
    while (p->option == NULL && next(p) && p->event.type != YAML_MAPPING_END_EVENT) {
        bool is_name = parse_option_name(p, &text, name);
        if (!is_name) {
            skip(p);
        }
        if (next(p) && is_name) {
            parse_option(p, &text, name);
        } else if (!p->stop) {
            skip(p);
        }
    }
    const oct_config_scalar all = {.text = options, .length = text.used, .quoted = true};
    if (text.truncated) {
        parse_error(p, &mark, "env.options: the options have more than %zu bytes as text",
                    sizeof(options) - 1);
    } else if (!p->stop &&
               oct_config_value_set(p->config, key, &all, reason, sizeof(reason)) != OCT_OK) {
        parse_refused(p, &mark, "env.options", reason);
    }
}

// ---- keys

static void
given(parse *p, const oct_config_key *key)
{
    p->config->is_given[key - oct_config_keys] = true;
}

static void
value_give(oct_config *config, const oct_config_key *key, const char *text)
{
    char reason[REASON_MAX];
    const oct_config_scalar scalar = {.text = text, .length = strlen(text)};
    oct_err err = oct_config_value_set(config, key, &scalar, reason, sizeof(reason));
    OCT_ASSERT(err == OCT_OK); // the table of synonyms has good values
}

// algo.name: rainbow sets several keys. Those that the text sets itself, before or after, stay.
static void
synonym_give(parse *p, const oct_config_key *key, const oct_config_synonym *synonym)
{
    const char *settings = synonym->settings;
    char value[OCT_CONFIG_NAME_MAX];
    value_give(p->config, key, synonym->algorithm);
    while ((key = oct_config_synonym_next(&settings, value)) != NULL) {
        if (p->key_line[key - oct_config_keys] == 0) {
            given(p, key);
            value_give(p->config, key, value);
        }
    }
}

// The value of key begins with the current event.
static void
parse_value(parse *p, const oct_config_key *key)
{
    char name[OCT_CONFIG_NAME_MAX], reason[REASON_MAX], allowed[OCT_CONFIG_VALUE_MAX];
    yaml_mark_t mark = p->event.start_mark;
    oct_config_key_name(key, name);
    given(p, key);
    if (!is_supported(p)) {
        skip(p);
    } else if (is_options(key) &&
               (p->option != NULL || p->event.type == YAML_MAPPING_START_EVENT)) {
        parse_options(p, key);
    } else if (p->event.type == YAML_SCALAR_EVENT) {
        oct_config_scalar scalar = event_scalar(&p->event);
        const oct_config_synonym *synonym =
            key == oct_config_key_find("algo", "name")
                ? oct_config_synonym_find(scalar.text, scalar.length)
                : NULL;
        if (synonym != NULL) {
            synonym_give(p, key, synonym);
        } else if (oct_config_value_set(p->config, key, &scalar, reason, sizeof(reason)) !=
                   OCT_OK) {
            parse_refused(p, &mark, name, reason);
        }
    } else if (p->event.type == YAML_SEQUENCE_START_EVENT && key->kind == OCT_CONFIG_INTS) {
        parse_list(p, key, name);
    } else {
        bool is_ints = key->kind == OCT_CONFIG_INTS;
        parse_error(p, &mark, "%s must be %s, not a %s%s%s", name,
                    is_ints ? OCT_CONFIG_LIST_TEXT : "one value",
                    p->event.type == YAML_SEQUENCE_START_EVENT ? "list" : "section",
                    is_ints ? "" : "; allowed ", is_ints ? "" : oct_config_allowed(key, allowed));
        skip(p);
    }
}

static void
parse_unknown(parse *p, const yaml_mark_t *mark, const char *section, const char *name)
{
    char hint[REASON_MAX];
    if (oct_config_section_exists(name)) {
        parse_error(p, mark, "section %s is inside section %s; sections are at the start of a line",
                    name, section);
    } else {
        parse_error(p, mark, "unknown key %s.%s%s", section, name,
                    oct_config_suggest(section, name, hint, sizeof(hint)));
    }
}

// The keys of a section, up to the end of its mapping.
static void
parse_keys(parse *p, const char *section)
{
    char name[OCT_CONFIG_NAME_MAX];
    while (next(p) && p->event.type != YAML_MAPPING_END_EVENT) {
        yaml_mark_t mark = p->event.start_mark;
        const oct_config_key *key = NULL;
        bool named = parse_name(p, name);
        if (!named) {
            skip(p);
        } else if ((key = oct_config_key_find(section, name)) == NULL) {
            parse_unknown(p, &mark, section, name);
        } else if (p->key_line[key - oct_config_keys] != 0) {
            parse_error(p, &mark, "%s.%s is given twice, first on line %zu", section, name,
                        p->key_line[key - oct_config_keys]);
            key = NULL;
        } else {
            p->key_line[key - oct_config_keys] = mark.line + 1;
        }
        if (!next(p)) {
            return;
        }
        if (key != NULL) {
            parse_value(p, key);
        } else {
            skip(p);
        }
    }
}

// Remembers that a section began at mark; the 1-based line where it began before, or 0.
static size_t
section_seen(parse *p, const char *name, const yaml_mark_t *mark)
{
    for (size_t i = 0; i < p->section_count; i++) {
        if (strcmp(p->section_name[i], name) == 0) {
            return p->section_line[i];
        }
    }
    OCT_ASSERT(p->section_count < SECTIONS_MAX);
    memcpy(p->section_name[p->section_count], name, OCT_CONFIG_NAME_MAX);
    p->section_line[p->section_count++] = mark->line + 1;
    return 0;
}

static void
parse_section(parse *p, const char *name)
{
    oct_config_mistake mistake;
    yaml_mark_t mark = p->event.start_mark;
    if (!is_supported(p)) {
        skip(p);
    } else if (p->event.type == YAML_MAPPING_START_EVENT) {
        parse_keys(p, name);
    } else if (p->event.type == YAML_SCALAR_EVENT && p->event.data.scalar.length == 0) {
        return; // all of its keys are commented out
    } else if (!p->has_lines || !oct_config_yaml_look(&mistake, p->text, p->length, mark.line)) {
        bool is_list = p->event.type == YAML_SEQUENCE_START_EVENT;
        parse_error(p, &mark, "%s is a section%s: its keys belong below it, indented%s", name,
                    is_list ? ", not a list" : "", is_list ? ", as name: value" : "");
        skip(p);
    } else {
        parse_broken(p, &mistake);
    }
}

// The sections of the file, up to the end of the root mapping.
static void
parse_sections(parse *p)
{
    char name[OCT_CONFIG_NAME_MAX], hint[REASON_MAX];
    while (next(p) && p->event.type != YAML_MAPPING_END_EVENT) {
        yaml_mark_t mark = p->event.start_mark;
        size_t line = 0;
        bool known = false;
        if (!parse_name(p, name)) {
            skip(p);
        } else if (strchr(name, '.') != NULL) {
            parse_error(p, &mark,
                        "%s: a key belongs in its section; write the section's name, and the key "
                        "below it, indented",
                        name);
        } else if (!oct_config_section_exists(name)) {
            parse_error(p, &mark, "unknown section %s%s", name,
                        oct_config_suggest(NULL, name, hint, sizeof(hint)));
        } else if ((line = section_seen(p, name, &mark)) != 0) {
            parse_error(p, &mark, "section %s is given twice, first on line %zu", name, line);
        } else {
            known = true;
        }
        if (!next(p)) {
            return;
        }
        if (known) {
            parse_section(p, name);
        } else {
            skip(p);
        }
    }
}

// A document that is a list or a single value.
static void
parse_no_sections(parse *p)
{
    oct_config_mistake mistake;
    if (oct_config_yaml_look(&mistake, p->text, p->length, p->event.start_mark.line)) {
        parse_broken(p, &mistake);
    } else {
        parse_error(p, &p->event.start_mark,
                    "an experiment has sections such as env: and run:, not a %s",
                    p->event.type == YAML_SEQUENCE_START_EVENT ? "list" : "single value");
    }
}

// The one document of the text; key is NULL for a whole experiment, or the one whose value it is.
static void
parse_document(parse *p, const oct_config_key *key)
{
    static const yaml_mark_t start = {0};
    if (!next(p) || !next(p)) { // the first event is the start of the stream
        return;
    }
    bool empty = p->event.type == YAML_STREAM_END_EVENT;
    if (!empty && !next(p)) {
        return;
    }
    empty = empty || (p->event.type == YAML_SCALAR_EVENT && p->event.data.scalar.length == 0 &&
                      p->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE);
    if (key != NULL && !empty) {
        parse_value(p, key);
        p->value_end = p->event.end_mark.index;
    } else if (key != NULL) {
        char reason[REASON_MAX], name[OCT_CONFIG_NAME_MAX];
        // On the command line nothing after '=' is the empty text.
        oct_config_scalar nothing = {.text = "", .quoted = key->kind == OCT_CONFIG_TEXT};
        oct_config_key_name(key, name);
        given(p, key);
        if (oct_config_value_set(p->config, key, &nothing, reason, sizeof(reason)) != OCT_OK) {
            parse_refused(p, &start, name, reason);
        }
        return;
    } else if (empty) {
        parse_error(p, &start,
                    "the file is empty; an experiment has sections such as env: and run:");
        return;
    } else if (!is_supported(p)) {
        return;
    } else if (p->event.type == YAML_MAPPING_START_EVENT) {
        parse_sections(p);
    } else {
        parse_no_sections(p);
        return;
    }
    if (!p->stop && next(p) && next(p) && p->event.type != YAML_STREAM_END_EVENT) {
        parse_error(p, &p->event.start_mark, "a second document begins here; only one is allowed");
    }
}

// Whether a comment follows so many characters of text.
static bool
has_comment(const char *text, size_t length, size_t characters)
{
    size_t at = 0;
    for (; characters > 0 && at < length; characters--) {
        size_t bytes = oct_text_character((const uint8_t *)text + at, length - at);
        at += OCT_MAX(bytes, (size_t)1);
    }
    return at < length && text[at + strspn(text + at, " \t")] == '#';
}

// Of --set: a comment would take a part of the value away.
static void
refuse_comment(parse *p, const oct_config_key *key, const char *text, size_t length)
{
    char name[OCT_CONFIG_NAME_MAX];
    oct_config_key_name(key, name);
    if (p->error_count == 0 && has_comment(text, length, p->value_end)) {
        parse_error(p, &p->event.start_mark, "%s: '#' begins a comment%s", name,
                    key->kind == OCT_CONFIG_TEXT
                        ? "; quote a text that contains it, such as '\"#3\"'"
                        : "");
    }
}

// lines, unless NULL, gets the line of each key of the table, 0 where the text does not set it.
// option: of parse.
static oct_err
parse_text(oct_config *out, const oct_config_key *key, const char *option, const char *name,
           const char *text, size_t length, size_t *lines, char *message, size_t message_size)
{
    oct_config copy = *out;
    parse p = {.config = &copy, .name = name, .has_lines = key == NULL, .option = option};
    oct_text_init(&p.message, message, message_size);
    if (length > FILE_BYTES_MAX) {
        oct_text_add(&p.message, "%s: error: larger than %u bytes: not an experiment file\n", name,
                     FILE_BYTES_MAX);
        return OCT_EINVAL;
    }
    OCT_ASSERT(yaml_parser_initialize(&p.parser) == 1);
    bool has_mark = length >= MARK_BYTES && memcmp(text, BYTE_ORDER_MARK, MARK_BYTES) == 0;
    size_t skipped = key == NULL && has_mark ? MARK_BYTES : 0; // to libyaml it is a column
    yaml_parser_set_encoding(&p.parser, YAML_UTF8_ENCODING);
    p.text = text + skipped;
    p.length = length - skipped;
    yaml_parser_set_input_string(&p.parser, (const unsigned char *)p.text, p.length);
    parse_document(&p, key);
    if (key != NULL) {
        refuse_comment(&p, key, text, length);
    }
    yaml_event_delete(&p.event);
    yaml_parser_delete(&p.parser);
    if (lines != NULL) {
        memcpy(lines, p.key_line, sizeof(p.key_line));
    }
    if (p.error_count > 0) {
        return OCT_EINVAL;
    }
    oct_config_resolve(&copy);
    *out = copy;
    return OCT_OK;
}

oct_err
oct_config_parse(oct_config *out, const char *name, const char *text, size_t length, char *message,
                 size_t message_size)
{
    return parse_text(out, NULL, NULL, name, text, length, NULL, message, message_size);
}

// Takes what was read, if err says that it was.
static oct_err
parse_read(oct_config *out, const char *path, oct_err err, uint8_t *bytes, size_t length,
           char *message, size_t message_size)
{
    if (err == OCT_EINVAL) {
        (void)snprintf(message, message_size,
                       "%s: error: larger than %u bytes: not an experiment file\n", path,
                       FILE_BYTES_MAX);
    } else if (err != OCT_OK) {
        (void)snprintf(message, message_size, "%s: error: cannot be read: %s\n", path,
                       oct_file_strerror(errno));
    } else {
        err = oct_config_parse(out, path, (const char *)bytes, length, message, message_size);
        free(bytes);
    }
    return err;
}

oct_err
oct_config_load(oct_config *out, const char *path, char *message, size_t message_size)
{
    uint8_t *bytes = NULL;
    size_t length = 0;
    oct_err err = oct_file_read(path, FILE_BYTES_MAX, &bytes, &length);
    return parse_read(out, path, err, bytes, length, message, message_size);
}

oct_err
oct_config_load_owner(oct_config *out, const char *path, uid_t *owner, char *message,
                      size_t message_size)
{
    uint8_t *bytes = NULL;
    size_t length = 0;
    oct_err err = oct_file_read_owner(path, FILE_BYTES_MAX, &bytes, &length, owner);
    return parse_read(out, path, err, bytes, length, message, message_size);
}

size_t
oct_config_line(const char *path, const char *name)
{
    size_t lines[OCT_CONFIG_KEYS_MAX] = {0}, length = 0;
    char message[REASON_MAX], full[OCT_CONFIG_NAME_MAX];
    uint8_t *bytes = NULL;
    oct_config config;
    if (oct_file_read(path, FILE_BYTES_MAX, &bytes, &length) != OCT_OK) {
        return 0;
    }
    oct_config_default(&config);
    oct_err err = parse_text(&config, NULL, NULL, path, (const char *)bytes, length, lines, message,
                             sizeof(message));
    free(bytes);
    for (size_t i = 0; err == OCT_OK && i < oct_config_key_count; i++) {
        oct_config_key_name(&oct_config_keys[i], full);
        if (strcmp(full, name) == 0) {
            return lines[i];
        }
    }
    return 0;
}

// place: before the assignment, in messages.
static oct_err
set(oct_config *out, const char *place, const char *assignment, char *message, size_t message_size)
{
    char quoted[QUOTED_BYTES], name[OCT_CONFIG_NAME_MAX], full[OCT_CONFIG_NAME_MAX];
    char hint[REASON_MAX], where[QUOTED_BYTES + 8];
    static const char options[] = OPTIONS_SECTION "." OPTIONS_NAME ".";
    const char *equals = strchr(assignment, '='), *option = NULL;
    (void)oct_text_quote(quoted, sizeof(quoted), assignment, strlen(assignment));
    (void)snprintf(where, sizeof(where), "%s%s", place, quoted);
    if (equals == NULL) {
        (void)snprintf(message, message_size,
                       "%s: error: a value is missing, write section.key=value\n", where);
        return OCT_EINVAL;
    }
    (void)oct_text_quote(full, sizeof(full), assignment, (size_t)(equals - assignment));
    memcpy(name, full, sizeof(name));
    char *dot = strchr(name, '.');
    const oct_config_key *key = NULL;
    if (dot != NULL) {
        *dot = 0;
        option = strncmp(full, options, strlen(options)) == 0 ? full + strlen(options) : NULL;
        key = oct_config_key_find(name, option != NULL ? OPTIONS_NAME : dot + 1);
    }
    if (option != NULL &&
        ((size_t)(equals - assignment) != strlen(full) || !is_option_name(option))) {
        (void)snprintf(message, message_size,
                       "%s: error: env.options: %s is not " OPTION_NAMES
                       "; write deeper values as env.options.NAME={NAME: VALUE}\n",
                       where, option, OPTION_BYTES);
        return OCT_EINVAL;
    }
    if (dot == NULL && oct_config_section_exists(full)) {
        (void)snprintf(message, message_size, "%s: error: %s is a section%s\n", where, full,
                       oct_config_suggest_value(full, equals + 1, hint, sizeof(hint)));
        return OCT_EINVAL;
    }
    if (key == NULL) {
        bool section = dot != NULL && oct_config_section_exists(name);
        (void)snprintf(message, message_size, "%s: error: unknown key %s%s\n", where, full,
                       oct_config_suggest(section ? name : NULL, section ? dot + 1 : full, hint,
                                          sizeof(hint)));
        return OCT_EINVAL;
    }
    const char *value = option != NULL && equals[1] == '\0' ? "''" : equals + 1;
    return parse_text(out, key, option, where, value, strlen(value), NULL, message, message_size);
}

oct_err
oct_config_set(oct_config *out, const char *assignment, char *message, size_t message_size)
{
    return set(out, "--set ", assignment, message, message_size);
}

oct_err
oct_config_assign(oct_config *out, const char *assignment, char *message, size_t message_size)
{
    return set(out, "", assignment, message, message_size);
}
