// Reads YAML text and settings KEY=VALUE into an experiment.
//
// One pass over libyaml's events checks each key and value against the table. A mistake in a value
// is recorded, and reading continues, so that a person sees all mistakes at once. A mistake that
// leaves the structure in doubt ends the pass, and mistakes recorded after its first line are taken
// back, because they may follow from it. The pass works on a copy: a refused text changes nothing.
#include "config/config_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_option.h"
#include "common/oct_text.h"
#include "config/config_synonyms.h"
#include "config/config_yaml.h"

#define BYTE_ORDER_MARK "\xEF\xBB\xBF" // UTF-8
#define MARK_BYTES      3
#define FILE_BYTES_MAX  (1u << 20)
#define ERRORS_MAX      10
#define REASON_MAX      1024
#define QUOTED_BYTES    48
#define SECTIONS_MAX    16
#define DEPTH_MAX       32

typedef struct parse {
    config_experiment *config;
    const char *name;
    const char *text;
    size_t length;
    bool has_lines;     // text is a file; false: a setting, whose messages give no line and column
    const char *option; // the NAME of a setting env.options.NAME, or NULL
    yaml_parser_t parser;
    yaml_event_t event;
    oct_text message;
    size_t error_count;
    size_t error_line[ERRORS_MAX];  // from 0
    size_t error_begin[ERRORS_MAX]; // offset of the error in message
    bool stop;
    size_t value_end;             // setting: length of the value in characters
    size_t key_line[CONFIG_KEYS]; // 1-based line where a key was set, 0: not yet
    char section_name[SECTIONS_MAX][CONFIG_NAME_MAX];
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

// Reports a mistake that leaves the structure in doubt. Errors from its first line on may follow
// from it and are taken back.
static void
parse_broken(parse *p, const config_mistake *mistake)
{
    const yaml_mark_t mark = {.line = mistake->line, .column = mistake->column};
    while (p->error_count > 0 && p->error_line[p->error_count - 1] >= mistake->from) {
        p->error_count--;
        oct_text_cut_to(&p->message, p->error_begin[p->error_count]);
    }
    parse_error(p, &mark, "%s", mistake->what);
    if (p->has_lines) {
        config_yaml_show(&p->message, p->text, p->length, mark.line, mark.column);
    }
    p->stop = true;
}

// Moves to the next event. Returns false, and sets stop, if the text is broken there.
static bool
next(parse *p)
{
    yaml_event_delete(&p->event);
    if (!p->stop && !yaml_parser_parse(&p->parser, &p->event)) {
        config_mistake mistake;
        config_yaml_explain(&mistake, &p->parser, p->text, p->length, p->has_lines);
        parse_broken(p, &mistake);
    }
    return !p->stop;
}

// Skips the node that begins with the current event.
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

// Refuses anchors, aliases and tags, which experiments do not need.
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

static config_scalar
event_scalar(const yaml_event_t *event)
{
    return (config_scalar){
        .text = (const char *)event->data.scalar.value,
        .length = event->data.scalar.length,
        .quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE,
    };
}

// Reports a refused value. reason is about the value, or says what the key has or must be.
static void
parse_refused(parse *p, const yaml_mark_t *mark, const char *name, const char *reason)
{
    bool is_of_key = strncmp(reason, "has ", 4) == 0 || strncmp(reason, "must ", 5) == 0;
    parse_error(p, mark, "%s%s %s", name, is_of_key ? "" : ":", reason);
}

static void
parse_list(parse *p, const config_key *key)
{
    uint32_t value[CONFIG_INTS_MAX];
    oct_reason why;
    size_t count = 0;
    size_t errors_before = p->error_count;
    yaml_mark_t begin = p->event.start_mark;
    while (next(p) && p->event.type != YAML_SEQUENCE_END_EVENT) {
        yaml_mark_t mark = p->event.start_mark;
        if (!is_supported(p)) {
            skip(p);
        } else if (p->event.type != YAML_SCALAR_EVENT) {
            parse_error(p, &mark, "%s: a list may contain only whole numbers", key->name);
            skip(p);
        } else {
            config_scalar scalar = event_scalar(&p->event);
            uint32_t number = 0;
            if (config_int_parse(&number, key, &scalar, &why) != OCT_OK) {
                parse_refused(p, &mark, key->name, why.text);
            } else if (count < CONFIG_INTS_MAX) {
                value[count] = number;
            }
        }
        count++;
    }
    if (!p->stop && p->error_count == errors_before &&
        config_ints_set(p->config, key, value, count, &why) != OCT_OK) {
        parse_refused(p, &begin, key->name, why.text);
    }
}

// Reads a list of layers, each a text.
static void
parse_layers(parse *p, const config_key *key)
{
    char list[CONFIG_LAYERS_MAX];
    oct_text text;
    oct_reason why;
    size_t errors_before = p->error_count;
    yaml_mark_t begin = p->event.start_mark;
    oct_text_init(&text, list, sizeof(list));
    for (bool is_first = true; next(p) && p->event.type != YAML_SEQUENCE_END_EVENT;
         is_first = false) {
        if (!is_supported(p)) {
            skip(p);
        } else if (p->event.type != YAML_SCALAR_EVENT) {
            parse_error(p, &p->event.start_mark, "%s: a list may contain only layers", key->name);
            skip(p);
        } else {
            config_scalar scalar = event_scalar(&p->event);
            oct_text_add(&text, "%s%.*s", is_first ? "" : ", ", (int)scalar.length, scalar.text);
        }
    }
    const config_scalar all = {.text = list, .length = text.used, .quoted = true};
    if (text.truncated) {
        parse_error(p, &begin, "%s: the list has more than %zu bytes as text", key->name,
                    sizeof(list) - 1);
    } else if (!p->stop && p->error_count == errors_before &&
               config_value_set(p->config, key, &all, &why) != OCT_OK) {
        parse_refused(p, &begin, key->name, why.text);
    }
}

// Reads the name of a key or section, made printable. Returns false if the event has no name.
static bool
parse_name(parse *p, char out[CONFIG_NAME_MAX])
{
    if (!is_supported(p)) {
        return false;
    }
    if (p->event.type != YAML_SCALAR_EVENT || p->event.data.scalar.length == 0) {
        parse_error(p, &p->event.start_mark, "a name is expected here");
        return false;
    }
    config_scalar scalar = event_scalar(&p->event);
    (void)oct_text_quote(out, CONFIG_NAME_MAX, scalar.text, scalar.length);
    return true;
}

// ---- options of an environment

static bool
is_options(const config_key *key)
{
    return key == &config_keys[CONFIG_KEY_env_options];
}

// Adds the value that begins with the current event, as JSON.
static void
parse_json(parse *p, oct_text *text, uint32_t depth)
{
    bool is_list = p->event.type == YAML_SEQUENCE_START_EVENT;
    yaml_event_type_t end = is_list ? YAML_SEQUENCE_END_EVENT : YAML_MAPPING_END_EVENT;
    config_scalar scalar;
    if (!is_supported(p)) {
        skip(p);
        return;
    }
    if (p->event.type == YAML_SCALAR_EVENT) {
        scalar = event_scalar(&p->event);
        config_json_add(text, &scalar);
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
            config_json_add_text(text, &scalar);
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
        config_scalar scalar = event_scalar(&p->event);
        config_option_add(text, &scalar);
    }
}

#define OPTION_BYTES (CONFIG_NAME_MAX - sizeof("env.options."))
#define OPTION_NAMES "a name of 1 to %zu bytes without = , : . and quotes"

static bool
is_option_name(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length <= OPTION_BYTES && strpbrk(name, "=,:.\"'") == NULL;
}

// Reads the name of an option. Returns false if the event has none, or repeats one.
static bool
parse_option_name(parse *p, const oct_text *text, char out[CONFIG_NAME_MAX])
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

// Reads a section of options, or the value of one option, and stores it in the form of
// oct_option.h.
static void
parse_options(parse *p, const config_key *key)
{
    char options[CONFIG_OPTIONS_MAX], name[CONFIG_NAME_MAX];
    oct_reason why;
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
    const config_scalar all = {.text = options, .length = text.used, .quoted = true};
    if (text.truncated) {
        parse_error(p, &mark, "env.options: the options have more than %zu bytes as text",
                    sizeof(options) - 1);
    } else if (!p->stop && config_value_set(p->config, key, &all, &why) != OCT_OK) {
        parse_refused(p, &mark, "env.options", why.text);
    }
}

// ---- keys

static void
given(parse *p, const config_key *key)
{
    p->config->is_given[key - config_keys] = true;
}

// Sets the keys of a synonym such as rainbow, but not those that the text sets before or after it.
static void
synonym_set(parse *p, const config_key *key, const config_synonym *synonym)
{
    const char *settings = synonym->settings;
    char value[CONFIG_NAME_MAX];
    config_value_store(p->config, key, synonym->algorithm);
    while ((key = config_synonym_next(&settings, value)) != NULL) {
        if (p->key_line[key - config_keys] == 0) {
            given(p, key);
            config_value_store(p->config, key, value);
        }
    }
}

// Reads the value of key, which begins with the current event.
static void
parse_value(parse *p, const config_key *key)
{
    oct_reason why;
    char allowed[CONFIG_VALUE_MAX];
    yaml_mark_t mark = p->event.start_mark;
    given(p, key);
    if (!is_supported(p)) {
        skip(p);
    } else if (is_options(key) &&
               (p->option != NULL || p->event.type == YAML_MAPPING_START_EVENT)) {
        parse_options(p, key);
    } else if (p->event.type == YAML_SCALAR_EVENT) {
        config_scalar scalar = event_scalar(&p->event);
        const config_synonym *synonym = key == &config_keys[CONFIG_KEY_algo_name]
                                            ? config_synonym_find(scalar.text, scalar.length)
                                            : NULL;
        if (synonym != NULL) {
            synonym_set(p, key, synonym);
        } else if (config_value_set(p->config, key, &scalar, &why) != OCT_OK) {
            parse_refused(p, &mark, key->name, why.text);
        }
    } else if (p->event.type == YAML_SEQUENCE_START_EVENT && key->kind == CONFIG_INTS) {
        parse_list(p, key);
    } else if (p->event.type == YAML_SEQUENCE_START_EVENT && key->kind == CONFIG_LAYERS) {
        parse_layers(p, key);
    } else {
        bool is_ints = key->kind == CONFIG_INTS || key->kind == CONFIG_LAYERS;
        parse_error(p, &mark, "%s must be %s, not a %s%s%s", key->name,
                    key->kind == CONFIG_LAYERS ? CONFIG_LAYERS_TEXT
                    : is_ints                  ? CONFIG_LIST_TEXT
                                               : "one value",
                    p->event.type == YAML_SEQUENCE_START_EVENT ? "list" : "section",
                    is_ints ? "" : "; allowed ", is_ints ? "" : config_allowed(key, allowed));
        skip(p);
    }
}

static void
parse_unknown(parse *p, const yaml_mark_t *mark, const char *section, const char *name)
{
    char hint[REASON_MAX];
    if (config_section_exists(name)) {
        parse_error(p, mark, "section %s is inside section %s; sections are at the start of a line",
                    name, section);
    } else {
        parse_error(p, mark, "unknown key %s.%s%s", section, name,
                    config_suggest(section, name, hint, sizeof(hint)));
    }
}

// Reads the keys of a section, up to the end of its mapping.
static void
parse_keys(parse *p, const char *section)
{
    char name[CONFIG_NAME_MAX], full[2 * CONFIG_NAME_MAX];
    while (next(p) && p->event.type != YAML_MAPPING_END_EVENT) {
        yaml_mark_t mark = p->event.start_mark;
        const config_key *key = NULL;
        bool named = parse_name(p, name);
        (void)snprintf(full, sizeof(full), "%s.%s", section, named ? name : "");
        if (!named) {
            skip(p);
        } else if ((key = config_key_find(full)) == NULL) {
            parse_unknown(p, &mark, section, name);
        } else if (p->key_line[key - config_keys] != 0) {
            parse_error(p, &mark, "%s is given twice, first on line %zu", full,
                        p->key_line[key - config_keys]);
            key = NULL;
        } else {
            p->key_line[key - config_keys] = mark.line + 1;
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

// Records that a section begins at mark. Returns the line, from 1, on which it began before, or 0.
static size_t
section_seen(parse *p, const char *name, const yaml_mark_t *mark)
{
    for (size_t i = 0; i < p->section_count; i++) {
        if (strcmp(p->section_name[i], name) == 0) {
            return p->section_line[i];
        }
    }
    OCT_ASSERT(p->section_count < SECTIONS_MAX);
    memcpy(p->section_name[p->section_count], name, CONFIG_NAME_MAX);
    p->section_line[p->section_count++] = mark->line + 1;
    return 0;
}

static void
parse_section(parse *p, const char *name)
{
    config_mistake mistake;
    yaml_mark_t mark = p->event.start_mark;
    if (!is_supported(p)) {
        skip(p);
    } else if (p->event.type == YAML_MAPPING_START_EVENT) {
        parse_keys(p, name);
    } else if (p->event.type == YAML_SCALAR_EVENT && p->event.data.scalar.length == 0) {
        return; // all keys are commented out
    } else if (!p->has_lines || !config_yaml_check_line(&mistake, p->text, p->length, mark.line)) {
        bool is_list = p->event.type == YAML_SEQUENCE_START_EVENT;
        parse_error(p, &mark, "%s is a section%s: its keys belong below it, indented%s", name,
                    is_list ? ", not a list" : "", is_list ? ", as name: value" : "");
        skip(p);
    } else {
        parse_broken(p, &mistake);
    }
}

// Reads the sections of the file, up to the end of the root mapping.
static void
parse_sections(parse *p)
{
    char name[CONFIG_NAME_MAX], hint[REASON_MAX];
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
        } else if (!config_section_exists(name)) {
            parse_error(p, &mark, "unknown section %s%s", name,
                        config_suggest(NULL, name, hint, sizeof(hint)));
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

// Explains a document that is a list or a single value.
static void
parse_no_sections(parse *p)
{
    config_mistake mistake;
    if (config_yaml_check_line(&mistake, p->text, p->length, p->event.start_mark.line)) {
        parse_broken(p, &mistake);
    } else {
        parse_error(p, &p->event.start_mark,
                    "an experiment has sections such as env: and run:, not a %s",
                    p->event.type == YAML_SEQUENCE_START_EVENT ? "list" : "single value");
    }
}

// Reads the only document of the text: the value of key, or an experiment if key is NULL.
static void
parse_document(parse *p, const config_key *key)
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
        oct_reason why;
        // On the command line nothing after '=' is the empty text.
        config_scalar nothing = {.text = "", .quoted = key->kind == CONFIG_TEXT};
        given(p, key);
        if (config_value_set(p->config, key, &nothing, &why) != OCT_OK) {
            parse_refused(p, &start, key->name, why.text);
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

// Returns true if a comment follows the first characters of text.
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

// Refuses a comment in a setting, which would drop a part of the value.
static void
refuse_comment(parse *p, const config_key *key, const char *text, size_t length)
{
    if (p->error_count == 0 && has_comment(text, length, p->value_end)) {
        parse_error(p, &p->event.start_mark, "%s: '#' begins a comment%s", key->name,
                    key->kind == CONFIG_TEXT ? "; quote a text that contains it, such as '\"#3\"'"
                                             : "");
    }
}

// A text that is parsed.
typedef struct source {
    const char *name; // in messages
    const char *text;
    size_t length;
    const config_key *key; // the text is its value; NULL: an experiment
    const char *option;    // as in struct parse
} source;

// Reads the value of a key, or an experiment. lines, unless NULL, receives the line of each key by
// config_key_index, or 0 if the text does not set the key.
static oct_err
parse_text(config_experiment *out, const source *from, size_t *lines, char *message,
           size_t message_size)
{
    const config_key *key = from->key;
    const char *text = from->text;
    const size_t length = from->length;
    config_experiment copy = *out;
    parse p = {
        .config = &copy, .name = from->name, .has_lines = key == NULL, .option = from->option};
    oct_text_init(&p.message, message, message_size);
    if (length > FILE_BYTES_MAX) {
        oct_text_add(&p.message, "%s: error: larger than %u bytes: not an experiment file\n",
                     from->name, FILE_BYTES_MAX);
        return OCT_EINVAL;
    }
    OCT_ASSERT(yaml_parser_initialize(&p.parser) == 1);
    bool has_mark = length >= MARK_BYTES && memcmp(text, BYTE_ORDER_MARK, MARK_BYTES) == 0;
    size_t skipped =
        key == NULL && has_mark ? MARK_BYTES : 0; // libyaml counts the mark as a column
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
    config_resolve(&copy);
    *out = copy;
    return OCT_OK;
}

oct_err
config_parse(config_experiment *out, const char *name, const char *text, size_t length,
             char *message, size_t message_size)
{
    const source from = {.name = name, .text = text, .length = length};
    return parse_text(out, &from, NULL, message, message_size);
}

oct_err
config_load_owner(config_experiment *out, const char *path, uid_t *owner, char *message,
                  size_t message_size)
{
    uint8_t *bytes = NULL;
    size_t length = 0;
    oct_err err = oct_file_read_owner(path, FILE_BYTES_MAX, &bytes, &length, owner);
    if (err == OCT_EINVAL) {
        (void)snprintf(message, message_size,
                       "%s: error: larger than %u bytes: not an experiment file\n", path,
                       FILE_BYTES_MAX);
    } else if (err != OCT_OK) {
        (void)snprintf(message, message_size, "%s: error: cannot be read: %s\n", path,
                       oct_file_strerror(errno));
    } else {
        err = config_parse(out, path, (const char *)bytes, length, message, message_size);
        free(bytes);
    }
    return err;
}

oct_err
config_load(config_experiment *out, const char *path, char *message, size_t message_size)
{
    uid_t owner;
    return config_load_owner(out, path, &owner, message, message_size);
}

size_t
config_line(const char *path, const char *name)
{
    size_t lines[CONFIG_KEYS] = {0}, length = 0;
    char message[REASON_MAX];
    uint8_t *bytes = NULL;
    config_experiment config;
    if (oct_file_read(path, FILE_BYTES_MAX, &bytes, &length) != OCT_OK) {
        return 0;
    }
    config_default(&config);
    const source from = {.name = path, .text = (const char *)bytes, .length = length};
    oct_err err = parse_text(&config, &from, lines, message, sizeof(message));
    free(bytes);
    const config_key *key = config_key_find(name);
    return err == OCT_OK && key != NULL ? lines[key - config_keys] : 0;
}

// before: text in front of the assignment in messages.
static oct_err
set(config_experiment *out, const char *before, const char *assignment, char *message,
    size_t message_size)
{
    char quoted[QUOTED_BYTES], name[CONFIG_NAME_MAX], hint[REASON_MAX], where[QUOTED_BYTES + 8];
    static const char options[] = "env.options.";
    const char *equals = strchr(assignment, '=');
    (void)oct_text_quote(quoted, sizeof(quoted), assignment, strlen(assignment));
    (void)snprintf(where, sizeof(where), "%s%s", before, quoted);
    if (equals == NULL) {
        (void)snprintf(message, message_size,
                       "%s: error: a value is missing, write section.key=value\n", where);
        return OCT_EINVAL;
    }
    size_t length = (size_t)(equals - assignment);
    (void)oct_text_quote(name, sizeof(name), assignment, length);
    bool is_option = strncmp(name, options, strlen(options)) == 0;
    const char *option = is_option ? name + strlen(options) : NULL;
    const config_key *key =
        is_option ? &config_keys[CONFIG_KEY_env_options] : config_key_find(name);
    if (is_option && (length != strlen(name) || !is_option_name(option))) {
        (void)snprintf(message, message_size,
                       "%s: error: env.options: %s is not " OPTION_NAMES
                       "; write deeper values as env.options.NAME={NAME: VALUE}\n",
                       where, option, OPTION_BYTES);
        return OCT_EINVAL;
    }
    if (key == NULL) {
        bool is_section = config_section_exists(name);
        (void)snprintf(message, message_size, "%s: error: %s%s%s%s\n", where,
                       is_section ? "" : "unknown key ", name, is_section ? " is a section" : "",
                       is_section ? config_suggest_value(name, equals + 1, hint, sizeof(hint))
                                  : config_suggest_key(name, hint, sizeof(hint)));
        return OCT_EINVAL;
    }
    const char *value = is_option && equals[1] == '\0' ? "''" : equals + 1;
    const source from = {where, value, strlen(value), key, option};
    return parse_text(out, &from, NULL, message, message_size);
}

oct_err
config_set(config_experiment *out, const char *assignment, char *message, size_t message_size)
{
    return set(out, "--set ", assignment, message, message_size);
}

oct_err
config_assign(config_experiment *out, const char *assignment, char *message, size_t message_size)
{
    return set(out, "", assignment, message, message_size);
}
