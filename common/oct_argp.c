// Checks the options of a command line against an argp table, and has argp parse them.
#include "common/oct_argp.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_suggest.h"
#include "common/oct_text.h"

static void
option_add(oct_argp_options *out, const char *name, oct_argp_value value, bool is_hidden)
{
    out->value[out->count] = value;
    out->is_hidden[out->count] = is_hidden;
    out->name[out->count++] = name;
}

static void
table_add(oct_argp_options *out, const struct argp *argp)
{
    for (const struct argp_option *option = argp->options;
         option != NULL && (option->name != NULL || option->key != 0 || option->doc != NULL);
         option++) {
        OCT_ASSERT(option->key > UCHAR_MAX); // a short option otherwise
        OCT_ASSERT(option->name != NULL && out->count < OCT_ARGP_OPTIONS_MAX);
        option_add(out, option->name,
                   option->arg == NULL                     ? OCT_ARGP_NONE
                   : (option->flags & OPTION_ARG_OPTIONAL) ? OCT_ARGP_OPTIONAL
                                                           : OCT_ARGP_NEEDED,
                   (option->flags & OPTION_HIDDEN) != 0);
    }
    for (const struct argp_child *child = argp->children; child != NULL && child->argp != NULL;
         child++) {
        table_add(out, child->argp);
    }
}

void
oct_argp_list(oct_argp_options *out, const struct argp *argp)
{
    memset(out, 0, sizeof(*out));
    table_add(out, argp);
    option_add(out, "help", OCT_ARGP_NONE, false);
    option_add(out, "usage", OCT_ARGP_NONE, false);
    if (argp_program_version != NULL) {
        option_add(out, "version", OCT_ARGP_NONE, false);
    }
}

static oct_err
refuse_unknown(const oct_argp_options *known, const char *option, const char *name, char *reason,
               size_t reason_size)
{
    const char *near = oct_suggest(name, known->name);
    oct_text text;
    oct_text_init(&text, reason, reason_size);
    oct_text_add(&text, "unknown option '%s'", option);
    if (near != NULL) {
        oct_text_add(&text, "; did you mean '--%s'?", near);
    }
    oct_text_add(&text, "\n  allowed:");
    for (size_t i = 0; i < known->count; i++) {
        if (!known->is_hidden[i]) {
            oct_text_add(&text, " --%s", known->name[i]);
        }
    }
    return OCT_EINVAL;
}

// Finds the one option that name is, or abbreviates.
static oct_err
option_find(size_t *out, const oct_argp_options *known, const char *name, char *reason,
            size_t reason_size)
{
    size_t found = known->count;
    for (size_t i = 0; i < known->count; i++) {
        if (strcmp(name, known->name[i]) == 0) {
            *out = i;
            return OCT_OK;
        }
        if (strncmp(name, known->name[i], strlen(name)) != 0) {
            continue;
        }
        if (found < known->count) {
            return oct_refuse(reason, reason_size, "option '--%s' is ambiguous: '--%s' or '--%s'",
                              name, known->name[found], known->name[i]);
        }
        found = i;
    }
    if (found == known->count) {
        char option[80];
        (void)snprintf(option, sizeof(option), "--%s", name);
        return refuse_unknown(known, option, name, reason, reason_size);
    }
    *out = found;
    return OCT_OK;
}

// *takes_next: the value of the option is the next word.
static oct_err
long_check(const oct_argp_options *known, const char *word, bool is_last, bool *takes_next,
           char *reason, size_t reason_size)
{
    char name[64];
    size_t length = strcspn(word + 2, "="), index = 0;
    bool has_value = word[2 + length] == '=';
    (void)snprintf(name, sizeof(name), "%.*s", (int)OCT_MIN(length, sizeof(name) - 1), word + 2);
    OCT_TRY(option_find(&index, known, name, reason, reason_size));
    if (has_value && known->value[index] == OCT_ARGP_NONE) {
        return oct_refuse(reason, reason_size, "option '--%s' takes no value", known->name[index]);
    }
    *takes_next = !has_value && known->value[index] == OCT_ARGP_NEEDED;
    if (*takes_next && is_last) {
        return oct_refuse(reason, reason_size, "option '--%s' needs a value", known->name[index]);
    }
    return OCT_OK;
}

static oct_err
names_check(const struct argp *argp, int argc, char **argv, char *reason, size_t reason_size)
{
    static char help[] = "--help", version[] = "--version";
    oct_argp_options known;
    oct_argp_list(&known, argp);
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        bool takes_next = false;
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "-?") == 0) {
            argv[i] = help;
        } else if (strcmp(argv[i], "-V") == 0 && argp_program_version != NULL) {
            argv[i] = version;
        }
        if (strncmp(argv[i], "--", 2) == 0) {
            OCT_TRY(long_check(&known, argv[i], i + 1 == argc, &takes_next, reason, reason_size));
        } else if (argv[i][0] == '-' && argv[i][1] != '\0') {
            return refuse_unknown(&known, argv[i], argv[i] + 1, reason, reason_size);
        }
        i += takes_next;
    }
    return OCT_OK;
}

oct_err
oct_argp_parse(const struct argp *argp, const char *program, int argc, char **argv, void *input,
               char *reason, size_t reason_size)
{
    char name[64], *before = argv[0];
    OCT_TRY(names_check(argp, argc, argv, reason, reason_size));
    (void)snprintf(name, sizeof(name), "%s", program);
    argv[0] = name;
    error_t failed = argp_parse(argp, argc, argv, 0, NULL, input);
    argv[0] = before;
    return failed == 0 ? OCT_OK : oct_refuse(reason, reason_size, "%s", strerror(failed));
}
