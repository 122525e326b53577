// The parser of all options: argp, with messages for unknown options.

#include "cli/cli_options.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_suggest.h"
#include "common/oct_text.h"

#define OPTIONS_MAX 64

static void (*completer)(const cli_slot *slot); // NULL: commands run

static void
error_print(const char *command, const char *format, va_list args)
{
    (void)fflush(stdout);
    char *text;
    OCT_ASSERT(vasprintf(&text, format, args) >= 0);
    for (char *line = text, *end; *line != '\0'; line = end + (*end == '\n')) {
        end = line + strcspn(line, "\n");
        oct_text_tame(line, (size_t)(end - line), '?'); // names of files may have some
    }
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

// ---- options that argp does not know

typedef struct names {
    const char *name[OPTIONS_MAX + 3]; // argp's own two, NULL
    bool takes_value[OPTIONS_MAX + 3]; // the next word, if there is no "="
    bool may_have_value[OPTIONS_MAX + 3];
    bool is_hidden[OPTIONS_MAX + 3];
    size_t count;
} names;

static void
names_add(names *known, const struct argp *argp)
{
    for (const struct argp_option *option = argp->options;
         option != NULL && (option->name != NULL || option->key != 0 || option->doc != NULL);
         option++) {
        if (option->name != NULL && !(option->flags & OPTION_DOC)) {
            OCT_ASSERT(known->count < OPTIONS_MAX);
            bool is_optional = (option->flags & OPTION_ARG_OPTIONAL) != 0;
            known->takes_value[known->count] = option->arg != NULL && !is_optional;
            known->may_have_value[known->count] = option->arg != NULL;
            known->is_hidden[known->count] = (option->flags & OPTION_HIDDEN) != 0;
            known->name[known->count++] = option->name;
        }
    }
    for (const struct argp_child *child = argp->children; child != NULL && child->argp != NULL;
         child++) {
        names_add(known, child->argp);
    }
}

static names
names_of(const struct argp *argp)
{
    names known = {.count = 0};
    names_add(&known, argp);
    known.name[known.count++] = "help";
    known.name[known.count++] = "usage";
    return known;
}

static void
unknown_option(const char *command, const char *name, const names *known)
{
    char allowed[1024] = "";
    size_t used = 0;
    for (size_t i = 0; i < known->count && used < sizeof(allowed); i++) {
        if (!known->is_hidden[i]) {
            used +=
                (size_t)snprintf(allowed + used, sizeof(allowed) - used, " --%s", known->name[i]);
        }
    }
    const char *near = cli_suggest(name, known->name);
    if (near != NULL) {
        cli_usage_error(command, "unknown option '--%s'; did you mean '--%s'?\n  allowed:%s", name,
                        near, allowed);
    }
    cli_usage_error(command, "unknown option '--%s'\n  allowed:%s", name, allowed);
}

// The one known option that name is or abbreviates; ends the process when there is none.
static size_t
option_index(const char *command, const char *name, const names *known)
{
    size_t found = known->count;
    for (size_t i = 0; i < known->count; i++) {
        if (strcmp(name, known->name[i]) == 0) {
            return i;
        }
        if (strncmp(name, known->name[i], strlen(name)) == 0) {
            if (found < known->count) {
                cli_usage_error(command, "option '--%s' is ambiguous: '--%s' or '--%s'", name,
                                known->name[found], known->name[i]);
            }
            found = i;
        }
    }
    if (found == known->count) {
        unknown_option(command, name, known);
    }
    return found;
}

// argp says only "unrecognized option"; whoever mistypes wants to know what is allowed.
static void
check_names(const struct argp *argp, int argc, char **argv)
{
    const char *command = argv[0];
    names known = names_of(argp);
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (argv[i][0] == '-' && argv[i][1] != '-' && argv[i][1] != '\0' && argv[i][1] != '?') {
            cli_usage_error(command,
                            "unknown option '%s'; there are only long options, such as --help",
                            argv[i]);
        }
        if (strncmp(argv[i], "--", 2) != 0) {
            continue;
        }
        char name[64];
        size_t length = strcspn(argv[i] + 2, "=");
        (void)snprintf(name, sizeof(name), "%.*s", (int)OCT_MIN(length, sizeof(name) - 1),
                       argv[i] + 2);
        bool has_value = argv[i][2 + length] == '=';
        size_t index = option_index(command, name, &known);
        if (known.takes_value[index] && !has_value) {
            if (i + 1 >= argc) {
                cli_usage_error(command, "option '--%s' needs a value", known.name[index]);
            }
            i++;
        } else if (!known.may_have_value[index] && has_value) {
            cli_usage_error(command, "option '--%s' takes no value", known.name[index]);
        }
    }
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
// VALUE; NULL: it is none.
static const char *
option_before(const names *known, int argc, char **argv, const char **word)
{
    const char *last = argv[argc - 1], *given = argc > 2 ? argv[argc - 2] : "";
    size_t length = strlen(given);
    if (strncmp(last, "--", 2) == 0) {
        given = last;
        length = strcspn(last, "=");
        if (last[length] == '\0') {
            return NULL;
        }
        *word = last + length + 1;
    }
    for (size_t i = 0; strncmp(given, "--", 2) == 0 && i < known->count; i++) {
        if (known->takes_value[i] && strlen(known->name[i]) == length - 2 &&
            strncmp(known->name[i], given + 2, length - 2) == 0) {
            return known->name[i];
        }
    }
    return NULL;
}

_Noreturn static void
options_complete(const struct argp *argp, int argc, char **argv)
{
    const char *shown[OPTIONS_MAX + 3];
    size_t count = 0;
    names known = names_of(argp);
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
    static char help[] = "--help";
    if (completer != NULL) {
        options_complete(argp, argc, argv);
    }
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-h") == 0) {
            argv[i] = help;
        }
    }
    check_names(argp, argc, argv);
    char name[64];
    (void)snprintf(name, sizeof(name), "octet %s", argv[0]);
    char *command = argv[0];
    argv[0] = name;
    argp_err_exit_status = CLI_EXIT_USAGE;
    error_t failed = argp_parse(argp, argc, argv, 0, NULL, input);
    argv[0] = command;
    if (failed != 0) {
        cli_usage_error(command, "%s", strerror(failed));
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
    const char *near = cli_suggest(name, candidates);
    if (near != NULL) {
        cli_usage_error(family->name, "unknown command '%s'; did you mean '%s'?", name, near);
    }
    cli_usage_error(family->name, "unknown command '%s'\n  allowed:%s", name, allowed);
}

int
cli_family_run(const cli_family *family, int argc, char **argv)
{
    if (argc < 2) {
        cli_family_help(family, stderr);
        return CLI_EXIT_USAGE;
    }
    if (completer != NULL) {
        family_complete(family, argc, argv);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
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
