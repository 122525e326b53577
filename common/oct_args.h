#ifndef COMMON_OCT_ARGS_H
#define COMMON_OCT_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"

// Command lines of octet's commands and of the daemons. A program has a table with a row for each
// option and operand; oct_args_parse fills the program's own struct from it:
//
//     typedef struct eval_options { const char *policy; uint32_t episodes; bool json; }
//     eval_options; static const oct_arg rows[] = {
//         {OCT_ARG_OPERAND("policies", eval_options, policy), .missing = "no POLICY file given"},
//         {OCT_ARG_COUNT("episodes", "N", eval_options, episodes, 1, 1000000), .help = "Episodes"},
//         {OCT_ARG_FLAG("json", eval_options, json), .help = "Print one line of JSON"},
//         {0},
//     };
//
// Fields keep the values that the caller gave them before (the defaults) where an option is not on
// the command line. An option that comes twice has its last value; a list of texts keeps all.
//
// All options are long and may be abbreviated to what only one of them begins with. Each program
// also has --help (-h, -?) and --usage, and --version (-V) where oct_args.version is set. Options
// and operands may be mixed; after "--" every word is an operand.
//
// Texts point into argv. Threads: the main thread, before any other starts. Owns: nothing.

#define OCT_ARGS_MAX 64 // rows of a table and of the tables that it shares

typedef enum oct_arg_kind {
    OCT_ARG_KIND_END,    // ends a table
    OCT_ARG_KIND_FLAG,   // bool, set to true
    OCT_ARG_KIND_TEXT,   // const char *
    OCT_ARG_KIND_PATH,   // the same; completion offers the names of files
    OCT_ARG_KIND_COUNT,  // uint32_t or uint64_t
    OCT_ARG_KIND_NUMBER, // double
    OCT_ARG_KIND_WORD,   // min + index in words: an enumeration, or a bool for two words
    OCT_ARG_KIND_OPERAND,
} oct_arg_kind;

typedef struct oct_arg oct_arg;

// An option of a command line, for a function that stores it.
typedef struct oct_arg_given {
    const oct_arg *row;
    void *field;      // the row's
    const char *text; // suits the row's kind; "true" of a flag
    oct_reason *why;  // may get the whole message of an error; otherwise the message is
                      // "--NAME is 'TEXT'; allowed " and what is allowed
} oct_arg_given;

typedef oct_err oct_arg_take(const oct_arg_given *given);

struct oct_arg {
    const char *name;  // without "--"; of an operand what it is in the plural, for messages
    const char *value; // as --help shows it: "N"
    const char *help;  // the option's text in --help; NULL: --help does not show the option
    oct_arg_kind kind;
    size_t offset, size;             // of the field in the struct; of a list, of all its texts
    size_t count_offset, count_size; // of a list: the count of its texts; count_size 0: no list
    uint64_t min, max;               // of a count; min also of a word: the value of the first one
    double low, high;                // of a number; high may be INFINITY
    const char *const *words;        // NULL-terminated; of a text, too; NULL: any text
    bool (*check)(const char *text); // returns true if a text is allowed; NULL: every text is
    oct_arg_take *take;              // stores the value instead of the kind's way; NULL: none
    const char *key;                 // for take
    const char *allowed; // ends "--NAME is 'TEXT'; allowed "; NULL: the kind's bounds or words
    const char *missing; // message if the field is NULL or the list empty; NULL: it may be
    const char *bare;    // the text of an option without "="; NULL: the option needs a value
};

// Most of a row: its name, its value's name, its kind and its field, which must be of the type
// above.
#define OCT_ARG_FLAG(name_, type, field)                                                           \
    .name = (name_), .kind = OCT_ARG_KIND_FLAG,                                                    \
    OCT_ARG_FIELD(type, field, OCT_ARG_SIZE(type, field, bool))
#define OCT_ARG_TEXT(name_, value_, type, field)                                                   \
    .name = (name_), .value = (value_), .kind = OCT_ARG_KIND_TEXT, OCT_ARG_TEXT_FIELD(type, field)
#define OCT_ARG_PATH(name_, value_, type, field)                                                   \
    .name = (name_), .value = (value_), .kind = OCT_ARG_KIND_PATH, OCT_ARG_TEXT_FIELD(type, field)
#define OCT_ARG_COUNT(name_, value_, type, field, min_, max_)                                      \
    .name = (name_), .value = (value_), .kind = OCT_ARG_KIND_COUNT, .min = (min_), .max = (max_),  \
    OCT_ARG_FIELD(type, field, OCT_ARG_SIZE_2(type, field, uint32_t, uint64_t))
#define OCT_ARG_NUMBER(name_, value_, type, field, low_, high_)                                    \
    .name = (name_), .value = (value_), .kind = OCT_ARG_KIND_NUMBER, .low = (low_),                \
    .high = (high_), OCT_ARG_FIELD(type, field, OCT_ARG_SIZE(type, field, double))
#define OCT_ARG_WORD(name_, value_, type, field, words_)                                           \
    .name = (name_), .value = (value_), .kind = OCT_ARG_KIND_WORD, .words = (words_),              \
    OCT_ARG_FIELD(type, field, sizeof(((type *)0)->field))
// A list: the option may be repeated, up to the length of the array field.
#define OCT_ARG_TEXTS(name_, value_, type, field, count)                                           \
    .name = (name_), .value = (value_), .kind = OCT_ARG_KIND_TEXT, OCT_ARG_LIST(type, field, count)
// take_ stores the text in the field, which is of any type.
#define OCT_ARG_TAKE(name_, value_, type, field, take_)                                            \
    .name = (name_), .value = (value_), .kind = OCT_ARG_KIND_TEXT, .take = (take_),                \
    OCT_ARG_FIELD(type, field, sizeof(((type *)0)->field))
// Operands fill the rows in their order. plural: "policies".
#define OCT_ARG_OPERAND(plural, type, field)                                                       \
    .name = (plural), .kind = OCT_ARG_KIND_OPERAND, OCT_ARG_TEXT_FIELD(type, field)
#define OCT_ARG_OPERANDS(plural, type, field, count)                                               \
    .name = (plural), .kind = OCT_ARG_KIND_OPERAND, OCT_ARG_LIST(type, field, count)

// Parts of the macros above. A field of another type does not compile.
// clang-format off
#define OCT_ARG_SIZE(type, field, a)      _Generic(((type *)0)->field, a: sizeof(a))
#define OCT_ARG_SIZE_2(type, field, a, b) _Generic(((type *)0)->field, a: sizeof(a), b: sizeof(b))
// clang-format on
#define OCT_ARG_FIELD(type, field, size_) .offset = offsetof(type, field), .size = (size_)
#define OCT_ARG_TEXT_FIELD(type, field)                                                            \
    OCT_ARG_FIELD(type, field, OCT_ARG_SIZE_2(type, field, const char *, char *))
#define OCT_ARG_LIST(type, field, count)                                                           \
    OCT_ARG_FIELD(type, field, sizeof(((type *)0)->field)),                                        \
        .count_offset = offsetof(type, count),                                                     \
        .count_size = OCT_ARG_SIZE_2(type, count, uint32_t, size_t)

// A table that several programs share. Its struct is at offset in the program's struct.
typedef struct oct_args_shared {
    const oct_arg *rows;
    size_t offset;
    int group; // --help sorts options by group, then by name; a program's own are in group 0
} oct_args_shared;

typedef struct oct_args {
    const char *usage;   // "FILE --over KEY=VALUES…", one line for each alternative; NULL: none
    const char *doc;     // in --help before the options, and after them what follows "\v"
    const char *version; // printed by --version; NULL: there is no such option
    const oct_arg *rows; // NULL: none
    oct_args_shared shared[2]; // rows NULL: none
} oct_args;

// Fills options. program is the name that --help shows, such as "octet train". --help, --usage and
// --version print to standard output and end the process with 0, after the options before them were
// taken. Returns OCT_EINVAL with a message of one or two lines in why, which is not NULL, if an
// option is unknown or ambiguous, lacks a value or has one and takes none (then options is
// unchanged), if a value is not allowed, if there are too many operands, or if something is
// missing.
OCT_CHECKED oct_err oct_args_parse(const oct_args *args, const char *program, int argc, char **argv,
                                   void *options, oct_reason *why);

// Takes text as the value of the option name, which has a row. Errors as above.
OCT_CHECKED oct_err oct_args_set(const oct_args *args, void *options, const char *name,
                                 const char *text, oct_reason *why);

// Lists all options, then --help, --usage and --version. Returns their number.
size_t oct_args_list(const oct_args *args, const oct_arg *out[OCT_ARGS_MAX + 3]);

// Returns true if --help shows an option.
bool oct_arg_is_shown(const oct_arg *row);
// Return true if an option may be written as --NAME=VALUE, and as --NAME VALUE.
bool oct_arg_may_have_value(const oct_arg *row);
bool oct_arg_takes_next(const oct_arg *row);

#endif // COMMON_OCT_ARGS_H
