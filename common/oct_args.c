// Reads a command line by a table. argp prints --help and --usage from the same table.
#include "common/oct_args.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "common/oct_suggest.h"
#include "common/oct_text.h"

static const oct_arg standard[] = {
    {.name = "help", .kind = OCT_ARG_KIND_FLAG, .help = "Give this help list"},
    {.name = "usage", .kind = OCT_ARG_KIND_FLAG, .help = "Give a short usage message"},
    {.name = "version", .kind = OCT_ARG_KIND_FLAG, .help = "Print program version"},
};

// Rows of a program with where their structs begin.
typedef struct table {
    const oct_arg *row[OCT_ARGS_MAX + OCT_COUNTOF(standard) + 1]; // NULL ends it
    size_t offset[OCT_ARGS_MAX];
    int group[OCT_ARGS_MAX + OCT_COUNTOF(standard)];
    size_t count, own; // own: without the standard ones, which are last
} table;

static void
rows_add(table *all, const oct_arg *rows, size_t offset, int group)
{
    for (; rows != NULL && rows->kind != OCT_ARG_KIND_END; rows++) {
        OCT_ASSERT(all->count < OCT_ARGS_MAX);
        all->offset[all->count] = offset;
        all->group[all->count] = group;
        all->row[all->count++] = rows;
    }
}

// Rows of the program come first, then shared ones, then the standard options.
static void
table_init(table *all, const oct_args *args)
{
    *all = (table){.count = 0};
    rows_add(all, args->rows, 0, 0);
    for (size_t i = 0; i < OCT_COUNTOF(args->shared); i++) {
        rows_add(all, args->shared[i].rows, args->shared[i].offset, args->shared[i].group);
    }
    all->own = all->count;
    for (size_t i = 0; i < OCT_COUNTOF(standard) - (args->version == NULL); i++) {
        all->group[all->count] = &standard[i] == &standard[1] ? 0 : -1; // argp puts these last
        all->row[all->count++] = &standard[i];
    }
}

bool
oct_arg_is_shown(const oct_arg *row)
{
    return row->kind != OCT_ARG_KIND_OPERAND && row->help != NULL;
}

bool
oct_arg_may_have_value(const oct_arg *row)
{
    return row->kind != OCT_ARG_KIND_FLAG;
}

bool
oct_arg_takes_next(const oct_arg *row)
{
    return row->kind != OCT_ARG_KIND_FLAG && row->bare == NULL;
}

size_t
oct_args_list(const oct_args *args, const oct_arg *out[OCT_ARGS_MAX + 3])
{
    table all;
    size_t count = 0;
    table_init(&all, args);
    for (size_t i = 0; i < all.count; i++) {
        if (all.row[i]->kind != OCT_ARG_KIND_OPERAND) {
            out[count++] = all.row[i];
        }
    }
    return count;
}

// ---- help

// argp formats the help; it gets the table as its own options. Ends the process.
_Noreturn static void
help_print(const oct_args *args, const table *all, const char *program, const oct_arg *asked)
{
    char name[64];
    struct argp_option option[OCT_COUNTOF(all->row)] = {{0}};
    const struct argp argp = {.options = option, .args_doc = args->usage, .doc = args->doc};
    for (size_t i = 0, count = 0; i < all->count; i++) {
        const oct_arg *row = all->row[i];
        if (oct_arg_is_shown(row)) {
            option[count++] = (struct argp_option){
                .name = row->name,
                .key = row == &standard[0]   ? '?'
                       : row == &standard[2] ? 'V'
                                             : 0x100 + (int)i,
                .arg = row->value,
                .flags = row->bare != NULL ? OPTION_ARG_OPTIONAL : 0,
                .doc = row->help,
                .group = all->group[i],
            };
        }
    }
    (void)snprintf(name, sizeof(name), "%s", program);
    if (asked == &standard[2]) {
        puts(args->version);
    } else {
        argp_help(&argp, stdout,
                  asked == &standard[1] ? ARGP_HELP_USAGE
                                        : ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC,
                  name);
    }
    exit(0);
}

// ---- values

// The macros of oct_args.h allow only these types of a field.
static void
unsigned_store(void *field, size_t size, uint64_t value)
{
    if (size == sizeof(bool)) {
        *(bool *)field = value != 0;
    } else if (size == sizeof(uint32_t)) {
        memcpy(field, &(uint32_t){(uint32_t)value}, size);
    } else {
        OCT_ASSERT(size == sizeof(uint64_t));
        memcpy(field, &value, size);
    }
}

static uint64_t
unsigned_load(const void *field, size_t size)
{
    uint32_t narrow;
    uint64_t wide;
    if (size == sizeof(narrow)) {
        memcpy(&narrow, field, size);
        return narrow;
    }
    memcpy(&wide, field, size);
    return wide;
}

// Digits only: strtoull would accept a sign and blanks. With take, the text is only checked.
static oct_err
count_read(const oct_arg *row, void *field, const char *text)
{
    char *end = NULL;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < row->min ||
        value > row->max) {
        return OCT_EINVAL;
    }
    if (row->take == NULL) {
        unsigned_store(field, row->size, value);
    }
    return OCT_OK;
}

static oct_err
number_read(const oct_arg *row, void *field, const char *text)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= row->low && value <= row->high)) {
        return OCT_EINVAL;
    }
    if (row->take == NULL) {
        memcpy(field, &value, row->size);
    }
    return OCT_OK;
}

// Finds the index of text in the row's words. Returns OCT_ENOTFOUND if it is none of them.
static oct_err
word_find(uint64_t *out, const oct_arg *row, const char *text)
{
    for (*out = 0; row->words[*out] != NULL; ++*out) {
        if (strcmp(text, row->words[*out]) == 0) {
            return OCT_OK;
        }
    }
    return OCT_ENOTFOUND;
}

// Returns OCT_EAGAIN if the list is full.
static oct_err
list_add(const oct_arg *row, void *base, const char *text)
{
    void *counted = (char *)base + row->count_offset;
    uint64_t count = unsigned_load(counted, row->count_size);
    if (count == row->size / sizeof(text)) {
        return OCT_EAGAIN;
    }
    memcpy((char *)base + row->offset + count * sizeof(text), &text, sizeof(text));
    unsigned_store(counted, row->count_size, count + 1);
    return OCT_OK;
}

// Adds what is allowed, which follows "allowed " in a message.
static void
allowed_add(oct_text *out, const oct_arg *row, const char *text)
{
    if (row->allowed != NULL) {
        oct_text_add(out, "%s", row->allowed);
    } else if (row->kind == OCT_ARG_KIND_COUNT) {
        oct_text_add(out, "is a whole number from %" PRIu64 " to %" PRIu64, row->min, row->max);
    } else if (row->kind == OCT_ARG_KIND_NUMBER) {
        oct_text_add(
            out, isfinite(row->high) ? "is a number from %g to %g" : "is a number of at least %g",
            row->low, row->high);
    } else {
        OCT_ASSERT(row->words != NULL);
        for (size_t i = 0; row->words[i] != NULL; i++) {
            oct_text_add(out, "%s%s",
                         i == 0                      ? "is "
                         : row->words[i + 1] != NULL ? ", "
                                                     : " or ",
                         row->words[i]);
        }
        const char *near = oct_suggest(text, row->words);
        if (near != NULL) {
            oct_text_add(out, "; did you mean '%s'?", near);
        }
    }
}

static oct_err
text_read(const oct_arg *row, void *base, const char *text, oct_reason *why)
{
    uint64_t index;
    if ((row->words != NULL && word_find(&index, row, text) != OCT_OK) ||
        (row->check != NULL && !row->check(text))) {
        return OCT_EINVAL;
    }
    if (row->count_size > 0 && list_add(row, base, text) != OCT_OK) {
        return oct_refuse(why, "more than %zu --%s", row->size / sizeof(text), row->name);
    }
    if (row->count_size == 0 && row->take == NULL) {
        memcpy((char *)base + row->offset, &text, row->size);
    }
    return OCT_OK;
}

static oct_err
value_read(const oct_arg *row, void *base, const char *text, oct_reason *why)
{
    void *field = (char *)base + row->offset;
    uint64_t index;
    switch (row->kind) {
    case OCT_ARG_KIND_FLAG:
        if (row->take == NULL) {
            *(bool *)field = true;
        }
        return OCT_OK;
    case OCT_ARG_KIND_COUNT:
        return count_read(row, field, text);
    case OCT_ARG_KIND_NUMBER:
        return number_read(row, field, text);
    case OCT_ARG_KIND_WORD:
        OCT_TRY(word_find(&index, row, text));
        unsigned_store(field, row->size, row->min + index);
        return OCT_OK;
    default:
        return text_read(row, base, text, why);
    }
}

// Stores a value, or calls take. Errors have take's message, or what the row allows.
static oct_err
option_take(const oct_arg *row, void *base, const char *text, oct_reason *why)
{
    const oct_arg_given given = {
        .row = row, .field = (char *)base + row->offset, .text = text, .why = why};
    why->text[0] = '\0';
    oct_err err = value_read(row, base, text, why);
    if (err == OCT_OK && row->take != NULL) {
        err = row->take(&given);
    }
    if (err != OCT_OK && why->text[0] == '\0') {
        char plain[1024];
        oct_text message;
        oct_text_init(&message, why->text, sizeof(why->text));
        oct_text_add(&message, "--%s is '%s'; allowed ", row->name,
                     oct_text_quote(plain, sizeof(plain), text, strlen(text)));
        allowed_add(&message, row, text);
    }
    return err == OCT_OK ? OCT_OK : OCT_EINVAL;
}

// Returns true if the word is a setting without its --set: a key of lower-case letters, digits, '_'
// and at least one '.' before a '='.
static bool
is_setting(const table *all, const char *word)
{
    size_t length = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_.");
    bool is_key = word[length] == '=' && memchr(word, '.', length) != NULL;
    for (size_t i = 0; is_key && i < all->own; i++) {
        if (all->row[i]->name != NULL && strcmp(all->row[i]->name, "set") == 0) {
            return access(word, F_OK) != 0;
        }
    }
    return false;
}

// Gives the word to the first row of operands that takes one more.
static oct_err
operand_take(const table *all, void *options, const char *word, oct_reason *why)
{
    if (is_setting(all, word)) {
        return oct_refuse(why, "unexpected argument '%s'; a setting is given as --set %s", word,
                          word);
    }
    const oct_arg *last = NULL;
    const char *before = NULL;
    size_t rows = 0;
    for (size_t i = 0; i < all->own; i++) {
        const oct_arg *row = all->row[i];
        char *base = (char *)options + all->offset[i];
        if (row->kind != OCT_ARG_KIND_OPERAND) {
            continue;
        }
        if (row->count_size > 0 && list_add(row, base, word) == OCT_OK) {
            return OCT_OK;
        }
        memcpy(&before, base + row->offset, sizeof(before));
        if (row->count_size == 0 && before == NULL) {
            memcpy(base + row->offset, &word, sizeof(word));
            return OCT_OK;
        }
        last = row;
        rows++;
    }
    return rows != 1 ? oct_refuse(why, "unexpected argument '%s'", word)
           : last->count_size > 0
               ? oct_refuse(why, "more than %zu %s", last->size / sizeof(word), last->name)
               : oct_refuse(why, "two %s, '%s' and '%s'; name one", last->name, before, word);
}

// Refuses a command line without something that it needs.
static oct_err
missing_check(const table *all, const void *options, oct_reason *why)
{
    for (size_t i = 0; i < all->own; i++) {
        const oct_arg *row = all->row[i];
        const char *base = (const char *)options + all->offset[i], *text = NULL;
        if (row->missing == NULL) {
            continue;
        }
        memcpy(&text, base + row->offset, sizeof(text));
        if (row->count_size > 0 ? unsigned_load(base + row->count_offset, row->count_size) == 0
                                : text == NULL) {
            return oct_refuse(why, "%s", row->missing);
        }
    }
    return OCT_OK;
}

// ---- names

// Names the nearest option, and all that --help shows.
static oct_err
refuse_unknown(const table *all, const char *option, const char *name, oct_reason *why)
{
    const char *names[OCT_COUNTOF(all->row)], *near;
    size_t count = 0;
    oct_text text;
    oct_text_init(&text, why->text, sizeof(why->text));
    for (size_t i = 0; i < all->count; i++) {
        if (oct_arg_is_shown(all->row[i])) {
            names[count++] = all->row[i]->name;
        }
    }
    names[count] = NULL;
    near = oct_suggest(name, names);
    oct_text_add(&text, "unknown option '%s'", option);
    if (near != NULL) {
        oct_text_add(&text, "; did you mean '--%s'?", near);
    }
    oct_text_add(&text, "\n  allowed:");
    for (size_t i = 0; i < count; i++) {
        oct_text_add(&text, " --%s", names[i]);
    }
    return OCT_EINVAL;
}

// Finds the option that name is, or that alone begins with name.
static oct_err
option_find(size_t *out, const table *all, const char *name, oct_reason *why)
{
    const char *first = NULL, *second = NULL;
    for (size_t i = 0; i < all->count; i++) {
        const oct_arg *row = all->row[i];
        if (row->kind == OCT_ARG_KIND_OPERAND || strncmp(name, row->name, strlen(name)) != 0) {
            continue;
        }
        if (strcmp(name, row->name) == 0) {
            *out = i;
            return OCT_OK;
        }
        second = first != NULL && second == NULL ? row->name : second;
        first = first != NULL ? first : row->name;
        *out = i;
    }
    if (second != NULL) {
        return oct_refuse(why, "option '--%s' is ambiguous: '--%s' or '--%s'", name, first, second);
    }
    if (first == NULL) {
        char option[80];
        (void)snprintf(option, sizeof(option), "--%s", name);
        return refuse_unknown(all, option, name, why);
    }
    return OCT_OK;
}

// An option as it stands on the command line.
typedef struct given {
    size_t index;     // in the table
    const char *text; // its value; "true" of a flag
    bool is_next;     // the value is the next word
} given;

// next: the word after it; NULL: there is none.
static oct_err
option_read(given *out, const table *all, const char *word, const char *next, oct_reason *why)
{
    char name[64];
    if (strcmp(word, "-h") == 0 || strcmp(word, "-?") == 0) {
        word = "--help";
    } else if (strcmp(word, "-V") == 0 && all->row[all->count - 1] == &standard[2]) {
        word = "--version";
    } else if (strncmp(word, "--", 2) != 0) {
        return refuse_unknown(all, word, word + 1, why);
    }
    size_t length = strcspn(word + 2, "=");
    bool has_value = word[2 + length] == '=';
    (void)snprintf(name, sizeof(name), "%.*s", (int)OCT_MIN(length, sizeof(name) - 1), word + 2);
    OCT_TRY(option_find(&out->index, all, name, why));
    const oct_arg *row = all->row[out->index];
    if (has_value && !oct_arg_may_have_value(row)) {
        return oct_refuse(why, "option '--%s' takes no value", row->name);
    }
    out->is_next = !has_value && oct_arg_takes_next(row);
    if (out->is_next && next == NULL) {
        return oct_refuse(why, "option '--%s' needs a value", row->name);
    }
    out->text = has_value                        ? word + 2 + length + 1
                : out->is_next                   ? next
                : row->kind == OCT_ARG_KIND_FLAG ? "true"
                                                 : row->bare;
    return OCT_OK;
}

// ---- the command line

typedef struct line {
    const oct_args *args;
    const char *program;
    char **argv; // NULL-terminated
    void *options;
} line;

typedef enum pass { PASS_NAMES, PASS_OPTIONS, PASS_OPERANDS } pass;

// Goes through the words once: checks the names of options, stores options, or stores operands.
static oct_err
line_read(const line *l, const table *all, pass now, oct_reason *why)
{
    bool has_ended = false; // by "--"
    for (char **word = l->argv + 1; *word != NULL; word++) {
        given option = {.index = 0};
        if (has_ended || (*word)[0] != '-' || (*word)[1] == '\0') {
            if (now == PASS_OPERANDS) {
                OCT_TRY(operand_take(all, l->options, *word, why));
            }
            continue;
        }
        if (strcmp(*word, "--") == 0) {
            has_ended = true;
            continue;
        }
        OCT_TRY(option_read(&option, all, *word, word[1], why));
        const oct_arg *row = all->row[option.index];
        if (now == PASS_OPTIONS && option.index >= all->own) {
            help_print(l->args, all, l->program, row);
        }
        if (now == PASS_OPTIONS) {
            OCT_TRY(
                option_take(row, (char *)l->options + all->offset[option.index], option.text, why));
        }
        word += option.is_next;
    }
    return OCT_OK;
}

// Three passes, so that a wrong option is found before any is stored, and all options are known
// before operands.
oct_err
oct_args_parse(const oct_args *args, const char *program, int argc, char **argv, void *options,
               oct_reason *why)
{
    table all;
    const line l = {.args = args, .program = program, .argv = argv, .options = options};
    OCT_ASSERT(argv[argc] == NULL);
    table_init(&all, args);
    for (pass now = PASS_NAMES; now <= PASS_OPERANDS; now++) {
        OCT_TRY(line_read(&l, &all, now, why));
    }
    return missing_check(&all, options, why);
}

oct_err
oct_args_set(const oct_args *args, void *options, const char *name, const char *text,
             oct_reason *why)
{
    table all;
    size_t index = 0;
    table_init(&all, args);
    OCT_TRY(option_find(&index, &all, name, why));
    return option_take(all.row[index], (char *)options + all.offset[index], text, why);
}
