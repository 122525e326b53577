// Writes a plan as text for bash.

#include "cli/cluster/cli_cluster_shell.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_options.h"
#include "cli/cli_python.h"
#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"

#define PROGRAM_BYTES_MAX (1u << 20)
#define NAME_BYTES        64

static const struct mark {
    const char *mark, *variable;
} marks[] = {
    {CLI_SHELL_HEAD, "head"}, {CLI_SHELL_LEARNER, "learner_host"},    {CLI_SHELL_WORK, "work"},
    {CLI_SHELL_RUN, "run"},   {CLI_SHELL_RELAY_INDEX, "relay_index"},
};

// Returns the mark that text begins with, or NULL.
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

// Reads the mark of a port at text. Returns its length, or 0 if there is none.
static size_t
port_at(const char *text, unsigned *offset)
{
    int length = 0;
    return sscanf(text, "@PORT+%3u@%n", offset, &length) == 1 && length > 0 ? (size_t)length : 0;
}

// Quotes a word for bash, and replaces marks by variables of the script: it knows hosts, folders
// and ports only when it runs.
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

// Writes a daemon's name as the name of a variable. Returns out.
static const char *
variable_of(char out[NAME_BYTES], const cli_cluster_daemon *daemon)
{
    (void)snprintf(out, NAME_BYTES, "%s", daemon->name);
    for (char *at = out; (at = strchr(at, '-')) != NULL;) {
        *at = '_';
    }
    return out;
}

// Writes counts, roles and environments as variables, and command lines in a function, which the
// script calls once the variables that they use are set.
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

// Returns the text of a script without its first line (#!), because it becomes part of another
// script. The caller frees it. Ends the process if it is missing.
char *
cli_cluster_shell_program(const char *command, const char *name)
{
    char path[CLI_PATH_MAX];
    oct_reason why;
    uint8_t *bytes;
    size_t length;
    if (cli_python_find(path, name, &why) != OCT_OK) {
        exit(cli_error(command, "%s", why.text));
    }
    if (oct_file_read(path, PROGRAM_BYTES_MAX, &bytes, &length) != OCT_OK) {
        exit(cli_error(command, "cannot read '%s': %s", path, oct_file_strerror(errno)));
    }
    const char *text = (const char *)bytes;
    const char *line = memchr(text, '\n', length);
    size_t skipped = line != NULL ? (size_t)(line + 1 - text) : 0;
    char *copy = strndup(text + skipped, length - skipped);
    OCT_ASSERT(copy != NULL);
    free(bytes);
    return copy;
}
