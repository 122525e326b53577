// Options of commands, commands by name, and what completion can offer for both.

#include "cli/cli_options.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_argp.h"
#include "common/oct_suggest.h"
#include "common/oct_text.h"

static void (*completer)(const cli_slot *slot); // NULL: commands run

static void
error_print(const char *command, const char *format, va_list args)
{
    (void)fflush(stdout);
    char *text;
    OCT_ASSERT(vasprintf(&text, format, args) >= 0);
    fprintf(stderr, "octet%s%s: error: %s\n", command[0] != '\0' ? " " : "", command, text);
    free(text);
}

void
cli_error(const char *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_print(command, format, args);
    va_end(args);
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

uint64_t
cli_option_number(const char *command, const char *option, const char *text, uint64_t min,
                  uint64_t max)
{
    char *end = NULL;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < min ||
        value > max) {
        cli_usage_error(command,
                        "%s is '%s'; allowed is a whole number from %" PRIu64 " to %" PRIu64,
                        option, text, min, max);
    }
    return value;
}

int
cli_option_word(const char *command, const char *option, const char *text, const char *const *words,
                const char *allowed)
{
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(text, words[i]) == 0) {
            return i;
        }
    }
    cli_usage_error(command, "%s is '%s'; allowed is %s", option, text, allowed);
}

double
cli_option_real(const char *command, const char *option, const char *text, double min, double max)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= min && value <= max)) {
        char upper[32] = "";
        if (isfinite(max)) {
            (void)snprintf(upper, sizeof(upper), " to %g", max);
        }
        cli_usage_error(command, "%s is '%s'; allowed is a number from %g%s", option, text, min,
                        isfinite(max) ? upper : " on");
    }
    return value;
}

// ---- completion

void
cli_options_complete(void (*tell)(const cli_slot *slot))
{
    completer = tell;
}

_Noreturn static void
slot_tell(const cli_slot *slot)
{
    completer(slot);
    exit(0);
}

// The option whose value is the last word: "--set VALUE", or "--set=VALUE", of which word becomes
// VALUE. NULL: the last word is not the value of an option.
static const char *
option_before(const oct_argp_options *known, int argc, char **argv, const char **word)
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
    for (size_t i = 0; strncmp(given, "--", 2) == 0 && i < known->count; i++) {
        bool may_have =
            has_equals ? known->value[i] != OCT_ARGP_NONE : known->value[i] == OCT_ARGP_NEEDED;
        if (may_have && strlen(known->name[i]) == length - 2 &&
            strncmp(known->name[i], given + 2, length - 2) == 0) {
            return known->name[i];
        }
    }
    return NULL;
}

_Noreturn static void
options_complete(const struct argp *argp, int argc, char **argv)
{
    const char *shown[OCT_ARGP_NAMES_MAX];
    size_t count = 0;
    oct_argp_options known;
    oct_argp_list(&known, argp);
    for (size_t i = 0; i < known.count; i++) {
        if (!known.is_hidden[i]) {
            shown[count++] = known.name[i];
        }
    }
    shown[count] = NULL;
    cli_slot slot = {.command = argv[0], .word = argv[argc - 1], .whole = argv[argc - 1]};
    slot.option = argc > 1 ? option_before(&known, argc, argv, &slot.word) : NULL;
    slot.is_option = slot.option == NULL && slot.word[0] == '-';
    slot.names = slot.is_option ? shown : NULL;
    slot_tell(&slot);
}

static const cli_command *
family_look(const cli_family *family, const char *name)
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

static void
family_complete(const cli_family *family, int argc, char **argv)
{
    const char *known[CLI_FAMILY_MAX + 1];
    if (argc > 2 && family_look(family, argv[1]) != NULL) {
        return;
    }
    if (argc > 2) {
        exit(0);
    }
    family_names(family, known);
    slot_tell(
        &(cli_slot){.command = family->name, .word = argv[1], .whole = argv[1], .names = known});
}

void
cli_options_parse(const struct argp *argp, int argc, char **argv, void *input)
{
    char name[64], reason[OCT_ARGP_REASON_BYTES];
    if (completer != NULL) {
        options_complete(argp, argc, argv);
    }
    (void)snprintf(name, sizeof(name), "octet %s", argv[0]);
    argp_err_exit_status = CLI_EXIT_USAGE;
    if (oct_argp_parse(argp, name, argc, argv, input, reason, sizeof(reason)) != OCT_OK) {
        cli_usage_error(argv[0], "%s", reason);
    }
}

// ---- commands by name

void
cli_family_help(const cli_family *family, FILE *out)
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

const cli_command *
cli_family_find(const cli_family *family, const char *name)
{
    const char *candidates[CLI_FAMILY_MAX + 1];
    char allowed[512] = "";
    const cli_command *found = family_look(family, name);
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

// "help env check" is "env check --help".
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

int
cli_family_run(const cli_family *family, int argc, char **argv)
{
    if (argc < 2) {
        cli_family_help(family, stderr);
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
        cli_family_help(family, stdout);
        return 0;
    }
    if (argv[1][0] == '-') {
        cli_usage_error(family->name, "unknown option '%s'; name a command first", argv[1]);
    }
    const cli_command *found = cli_family_find(family, argv[1]);
    char name[64], *given = argv[1];
    (void)snprintf(name, sizeof(name), "%s%s%s", family->name, family->name[0] != '\0' ? " " : "",
                   found->name);
    argv[1] = name;
    int exit_code = found->run(argc - 1, argv + 1);
    argv[1] = given;
    return exit_code;
}
