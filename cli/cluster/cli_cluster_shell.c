// Writes a plan for bash.

#include "cli/cluster/cli_cluster_shell.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_options.h"
#include "cli/cli_python.h"
#include "common/oct_base.h"
#include "common/oct_file.h"

#define PROGRAM_BYTES_MAX (1u << 20)
#define NAME_BYTES        64
#define REASON_BYTES      (2 * CLI_PATH_MAX)

static const struct mark {
    const char *mark, *variable;
} marks[] = {
    {CLI_SHELL_HEAD, "head"}, {CLI_SHELL_LEARNER, "learner_host"}, {CLI_SHELL_WORK, "work"},
    {CLI_SHELL_RUN, "run"},   {CLI_SHELL_PLACE, "place"},
};

// NULL: no mark begins here.
static const struct mark *
mark_at(const char *text)
{
    for (size_t i = 0; i < OCT_COUNTOF(marks); i++) {
        if (strncmp(text, marks[i].mark, strlen(marks[i].mark)) == 0) {
            return &marks[i];
        }
    }
    return NULL;
}

// The offset of a port's mark that begins here, and how long the mark is; 0: none does.
static size_t
port_at(const char *text, unsigned *offset)
{
    int length = 0;
    return sscanf(text, "@PORT+%3u@%n", offset, &length) == 1 && length > 0 ? (size_t)length : 0;
}

void
cli_cluster_shell_word(FILE *out, const char *word)
{
    fputc('"', out);
    while (*word != '\0') {
        unsigned offset;
        size_t length = port_at(word, &offset);
        if (length > 0) {
            fprintf(out, "$((port + %u))", offset);
            word += length;
            continue;
        }
        const struct mark *mark = mark_at(word);
        if (mark != NULL) {
            fprintf(out, "${%s}", mark->variable);
            word += strlen(mark->mark);
            continue;
        }
        if (strchr("\"\\$`", *word) != NULL) {
            fputc('\\', out);
        }
        fputc(*word++, out);
    }
    fputc('"', out);
}

void
cli_cluster_shell_set(FILE *out, const char *name, const char *word)
{
    fprintf(out, "%s=", name);
    cli_cluster_shell_word(out, word);
    fputc('\n', out);
}

// "replay-1" as bash can call a variable. Returns out.
static const char *
variable_of(char out[NAME_BYTES], const cli_cluster_daemon *daemon)
{
    (void)snprintf(out, NAME_BYTES, "%s", daemon->name);
    for (char *at = out; (at = strchr(at, '-')) != NULL;) {
        *at = '_';
    }
    return out;
}

void
cli_cluster_shell_plan(FILE *out, const cli_cluster_plan *plan)
{
    char name[NAME_BYTES], env[NAME_BYTES + 8];
    fputs("daemons=(", out);
    for (size_t i = 0; i < plan->count; i++) {
        fprintf(out, "%s%s", i > 0 ? " " : "", plan->daemon[i].name);
    }
    fputs(")\n", out);
    for (size_t i = 0; i < plan->count; i++) {
        const cli_cluster_daemon *daemon = &plan->daemon[i];
        (void)variable_of(name, daemon);
        fprintf(out, "%s_count=%u\n%s_role=%s\n", name, (unsigned)daemon->count, name,
                daemon->role);
        (void)snprintf(env, sizeof(env), "%s_env", name);
        cli_cluster_shell_set(out, env, daemon->env != NULL ? daemon->env : "");
    }
    fputs("# The command lines, when the hosts of learner and replay are known.\n"
          "plan() {\n",
          out);
    for (size_t i = 0; i < plan->count; i++) {
        fprintf(out, "    %s=(", variable_of(name, &plan->daemon[i]));
        for (size_t k = 0; plan->daemon[i].argv[k] != NULL; k++) {
            fputs(k > 0 ? " " : "", out);
            cli_cluster_shell_word(out, plan->daemon[i].argv[k]);
        }
        fputs(")\n", out);
    }
    fputs("}\n", out);
}

char *
cli_cluster_shell_program(const char *command, const char *name)
{
    char path[CLI_PATH_MAX], reason[REASON_BYTES];
    uint8_t *bytes;
    size_t length;
    if (cli_python_find(path, name, reason, sizeof(reason)) != OCT_OK) {
        cli_error(command, "%s", reason);
        exit(CLI_EXIT_FAILED);
    }
    if (oct_file_read(path, PROGRAM_BYTES_MAX, &bytes, &length) != OCT_OK) {
        cli_error(command, "cannot read '%s': %s", path, oct_file_strerror(errno));
        exit(CLI_EXIT_FAILED);
    }
    const char *text = (const char *)bytes;
    const char *line = memchr(text, '\n', length);
    size_t skipped = line != NULL ? (size_t)(line + 1 - text) : 0;
    char *copy = strndup(text + skipped, length - skipped);
    OCT_ASSERT(copy != NULL);
    free(bytes);
    return copy;
}
