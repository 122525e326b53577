// Runs commands by name, reads their options, and finds what completion can offer.

#include "cli/cli_options.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_failure.h"
#include "common/oct_reason.h"
#include "common/oct_suggest.h"
#include "policy/policy_format.h"

static void (*completer)(const cli_slot *slot); // NULL: commands run as usual

static void
error_print(const char *command, const char *format, va_list args)
{
    (void)fflush(stdout);
    char *text;
    OCT_ASSERT(vasprintf(&text, format, args) >= 0);
    fprintf(stderr, "octet%s%s: error: %s\n", command[0] != '\0' ? " " : "", command, text);
    oct_failure_write(OCT_FAILURE_ERROR, "-", text);
    free(text);
}

void
cli_error_at(const char *place, const char *format, ...)
{
    va_list args;
    char *text, *line;
    va_start(args, format);
    OCT_ASSERT(vasprintf(&text, format, args) >= 0);
    va_end(args);
    OCT_ASSERT(asprintf(&line, "%s: error: %s", place, text) >= 0);
    (void)fflush(stdout);
    fprintf(stderr, "%s\n", line);
    oct_failure_write(OCT_FAILURE_ERROR, "-", line); // octet sweep needs the position, too
    free(line);
    free(text);
}

int
cli_error(const char *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_print(command, format, args);
    va_end(args);
    return CLI_EXIT_FAILED;
}

void
cli_usage_error(const char *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_print(command, format, args);
    va_end(args);
    fprintf(stderr, "  help: octet %s%s--help\n", command, command[0] != '\0' ? " " : "");
    exit(CLI_EXIT_USAGE);
}

const char *const cli_precisions[] = {"fp32", "int8", "bf16", "fp16", "int4", NULL};
static_assert(POLICY_FP32 == 1 && POLICY_INT4 == OCT_COUNTOF(cli_precisions) - 1,
              "the names are in the order of policy_precision");

// ---- completion

void
cli_options_complete(void (*offer)(const cli_slot *slot))
{
    completer = offer;
}

// Completion ends the process here, before a command has done anything.
_Noreturn static void
slot_offer(const cli_slot *slot)
{
    completer(slot);
    exit(0);
}

// Finds the option whose value is the last word: "--set VALUE", or "--set=VALUE", of which word
// becomes VALUE. Returns NULL if the last word is not the value of an option.
static const oct_arg *
option_before(const oct_arg *const *known, size_t count, int argc, char **argv, const char **word)
{
    const char *last = argv[argc - 1], *given = argc > 2 ? argv[argc - 2] : "";
    size_t length = strlen(given);
    bool has_equals = strncmp(last, "--", 2) == 0;
    if (has_equals) {
        given = last;
        length = strcspn(last, "=");
        if (last[length] == '\0') {
            return NULL;
        }
        *word = last + length + 1;
    }
    for (size_t i = 0; strncmp(given, "--", 2) == 0 && i < count; i++) {
        bool may_have =
            has_equals ? oct_arg_may_have_value(known[i]) : oct_arg_takes_next(known[i]);
        if (may_have && strlen(known[i]->name) == length - 2 &&
            strncmp(known[i]->name, given + 2, length - 2) == 0) {
            return known[i];
        }
    }
    return NULL;
}

// Completes the last word: the value of an option, a name of an option, or an operand.
_Noreturn static void
options_complete(const oct_args *args, int argc, char **argv)
{
    const oct_arg *known[OCT_ARGS_MAX + 3];
    const char *shown[OCT_ARGS_MAX + 4];
    size_t count = oct_args_list(args, known), shown_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (oct_arg_is_shown(known[i])) {
            shown[shown_count++] = known[i]->name;
        }
    }
    shown[shown_count] = NULL;
    cli_slot slot = {.command = argv[0], .word = argv[argc - 1], .whole = argv[argc - 1]};
    slot.option = argc > 1 ? option_before(known, count, argc, argv, &slot.word) : NULL;
    slot.is_option = slot.option == NULL && slot.word[0] == '-';
    slot.names = slot.is_option ? shown : NULL;
    slot_offer(&slot);
}

static const cli_command *
family_get(const cli_family *family, const char *name)
{
    for (size_t i = 0; i < family->count; i++) {
        if (strcmp(family->list[i].name, name) == 0) {
            return &family->list[i];
        }
    }
    return NULL;
}

static void
family_names(const cli_family *family, const char *out[CLI_FAMILY_MAX + 1])
{
    OCT_ASSERT(family->count <= CLI_FAMILY_MAX);
    for (size_t i = 0; i < family->count; i++) {
        out[i] = family->list[i].name;
    }
    out[family->count] = NULL;
}

// Returns only if the word to complete belongs to a command of the family, which then completes it.
static void
family_complete(const cli_family *family, int argc, char **argv)
{
    const char *known[CLI_FAMILY_MAX + 1];
    if (argc > 2 && family_get(family, argv[1]) != NULL) {
        return;
    }
    if (argc > 2) {
        exit(0);
    }
    family_names(family, known);
    slot_offer(
        &(cli_slot){.command = family->name, .word = argv[1], .whole = argv[1], .names = known});
}

void
cli_args_parse(const oct_args *args, int argc, char **argv, void *options)
{
    char name[64];
    oct_reason why;
    if (completer != NULL) {
        options_complete(args, argc, argv);
    }
    (void)snprintf(name, sizeof(name), "octet %s", argv[0]);
    if (oct_args_parse(args, name, argc, argv, options, &why) != OCT_OK) {
        cli_usage_error(argv[0], "%s", why.text);
    }
}

// ---- commands by name

static void
family_help(const cli_family *family, FILE *out)
{
    const char *gap = family->name[0] != '\0' ? " " : "";
    fprintf(out, "Usage: octet %s%sCOMMAND [OPTION...]\n%s\n\n", family->name, gap, family->about);
    for (size_t i = 0; i < family->count; i++) {
        fprintf(out, "  %-10s %s\n", family->list[i].name, family->list[i].help);
    }
    fprintf(out, "\n  octet %s%sCOMMAND --help   options of a command\n%s\nStart here: %s\n",
            family->name, gap, family->name[0] == '\0' ? "  octet --version        version\n" : "",
            family->start);
}

// An unknown name ends the process as cli_usage_error does, with the nearest name or all names.
static const cli_command *
family_find(const cli_family *family, const char *name)
{
    const char *candidates[CLI_FAMILY_MAX + 1];
    char allowed[512] = "";
    const cli_command *found = family_get(family, name);
    if (found != NULL) {
        return found;
    }
    family_names(family, candidates);
    for (size_t i = 0; i < family->count; i++) {
        size_t used = strlen(allowed);
        (void)snprintf(allowed + used, sizeof(allowed) - used, " %s", candidates[i]);
    }
    const char *near = oct_suggest(name, candidates);
    if (near != NULL) {
        cli_usage_error(family->name, "unknown command '%s'; did you mean '%s'?", name, near);
    }
    cli_usage_error(family->name, "unknown command '%s'\n  allowed:%s", name, allowed);
}

// Runs "help env check" as "env check --help".
static int
family_run_help(const cli_family *family, int argc, char **argv)
{
    static char help[] = "--help";
    for (int i = 1; i + 1 < argc; i++) {
        argv[i] = argv[i + 1];
    }
    argv[argc - 1] = help;
    return cli_family_run(family, argc, argv);
}

// The command gets its full name as argv[0] ("env check"), for its messages and its help.
int
cli_family_run(const cli_family *family, int argc, char **argv)
{
    if (argc < 2) {
        family_help(family, stderr);
        return CLI_EXIT_USAGE;
    }
    bool is_help = strcmp(argv[1], "help") == 0;
    if (completer != NULL && is_help && argc > 2) {
        return cli_family_run(family, argc - 1, argv + 1);
    }
    if (completer != NULL) {
        family_complete(family, argc, argv);
    }
    if (is_help && argc > 2) {
        return family_run_help(family, argc, argv);
    }
    if (is_help || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "-?") == 0) {
        family_help(family, stdout);
        return 0;
    }
    if (argv[1][0] == '-') {
        cli_usage_error(family->name, "unknown option '%s'; name a command first", argv[1]);
    }
    const cli_command *found = family_find(family, argv[1]);
    char name[64], *given = argv[1];
    (void)snprintf(name, sizeof(name), "%s%s%s", family->name, family->name[0] != '\0' ? " " : "",
                   found->name);
    argv[1] = name;
    int exit_code = found->run(argc - 1, argv + 1);
    argv[1] = given;
    return exit_code;
}
