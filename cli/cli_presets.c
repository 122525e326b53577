// Finds the presets, and octet presets: prints the names of all with the first sentence of each, or
// the path of one.
#include "cli/cli_presets.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_commands.h"
#include "cli/cli_options.h"
#include "common/oct_file.h"
#include "common/oct_program.h"
#include "common/oct_reason.h"
#include "common/oct_suggest.h"
#include "common/oct_text.h"

#define SUFFIX         ".yaml"
#define DEPTH_MAX      2 // "dmc/cheetah_run"
#define PRESETS_MAX    512
#define SENTENCE_BYTES 512
#define LIST_WIDTH     100 // columns

static bool
is_there(const char *path, mode_t kind)
{
    struct stat is;
    return oct_file_stat(path, &is) == 0 && (is.st_mode & S_IFMT) == kind;
}

// Finds the folder of the presets: in an installation, or beside the sources for a program in
// build/ or build/NAME/.
static oct_err
folder_find(char out[CLI_PATH_MAX], oct_reason *why)
{
    static const char *const built[] = {"../..", "../../..", NULL};
    return oct_program_find(out, CLI_PATH_MAX, "presets", built, why);
}

// False, too, if others could change the preset: it names code that would run.
static bool
path_of(char out[CLI_PATH_MAX], const char *folder, const char *name)
{
    int length = snprintf(out, CLI_PATH_MAX, "%s/%s" SUFFIX, folder, name);
    return length < CLI_PATH_MAX && is_there(out, S_IFREG) && oct_program_trusts(out, NULL);
}

// A name is not a path: it has no "..", and begins with neither a slash nor a point.
oct_err
cli_preset_find(const char *name, char out[CLI_PATH_MAX])
{
    char folder[CLI_PATH_MAX];
    bool is_name =
        name[0] != '\0' && name[0] != '/' && name[0] != '.' && strstr(name, "..") == NULL;
    return is_name && folder_find(folder, NULL) == OCT_OK && path_of(out, folder, name)
               ? OCT_OK
               : OCT_ENOTFOUND;
}

bool
cli_preset_is(const char *path)
{
    char found[CLI_PATH_MAX], folder[PATH_MAX];
    if (folder_find(found, NULL) != OCT_OK || realpath(found, folder) == NULL) {
        return false;
    }
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/';
}

// ---- the list of all

typedef struct list {
    char **name;
    size_t count;
    size_t folder_length; // length of the path of the presets' folder, with its slash
} list;

static bool
has_suffix(const char *name)
{
    size_t length = strlen(name), end = strlen(SUFFIX);
    return length > end && strcmp(name + length - end, SUFFIX) == 0;
}

// Lists a file by its name below the folder, without the suffix.
static void
list_add(list *all, const char *path)
{
    if (all->count < PRESETS_MAX && has_suffix(path)) {
        const char *name = path + all->folder_length;
        all->name[all->count++] = strndup(name, strlen(name) - strlen(SUFFIX));
    }
}

static void
list_folder(list *all, const char *folder, int depth)
{
    struct dirent **entry;
    int count = scandir(folder, &entry, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char path[CLI_PATH_MAX];
        int length = snprintf(path, sizeof(path), "%s/%s", folder, entry[i]->d_name);
        bool fits = entry[i]->d_name[0] != '.' && length < CLI_PATH_MAX;
        if (fits && depth < DEPTH_MAX && is_there(path, S_IFDIR)) {
            list_folder(all, path, depth + 1);
        } else if (fits && is_there(path, S_IFREG)) {
            list_add(all, path);
        }
        free(entry[i]);
    }
    if (count >= 0) {
        free(entry);
    }
}

// Returns the names in a folder, sorted and NULL-terminated.
static char **
names_in(const char *folder)
{
    list all = {.name = oct_alloc((PRESETS_MAX + 1) * sizeof(*all.name)),
                .folder_length = strlen(folder) + 1};
    list_folder(&all, folder, 1);
    return all.name;
}

char **
cli_presets_list(void)
{
    char folder[CLI_PATH_MAX];
    return folder_find(folder, NULL) == OCT_OK ? names_in(folder) : oct_alloc(sizeof(char *));
}

void
cli_presets_free(char **names)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        free(names[i]);
    }
    free(names);
}

// Also finds "cheetah_run" as "dmc/cheetah_run".
const char *
cli_preset_near(const char *name, char *const *names)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        const char *slash = strrchr(names[i], '/');
        if (slash != NULL && strcmp(slash + 1, name) == 0) {
            return names[i];
        }
    }
    return oct_suggest(name, (const char *const *)names);
}

// ---- octet presets

typedef struct presets_options {
    const char *name; // NULL: list all
} presets_options;

static const oct_arg presets_rows[] = {{OCT_ARG_OPERAND("names", presets_options, name)}, {0}};

static const oct_args presets_args = {
    .rows = presets_rows,
    .usage = "[NAME]",
    .doc = "Lists the experiments that come with Octet, for octet train NAME, or prints the path "
           "of an experiment.",
};

static int
path_print(const char *name)
{
    char path[CLI_PATH_MAX];
    if (cli_preset_find(name, path) == OCT_OK) {
        puts(path);
        return 0;
    }
    char **names = cli_presets_list();
    const char *near = cli_preset_near(name, names);
    cli_error("presets", "no preset '%s'%s%s%s", name,
              near != NULL ? "; did you mean '" : "; octet presets lists the presets",
              near != NULL ? near : "", near != NULL ? "'?" : "");
    cli_presets_free(names);
    return CLI_EXIT_FAILED;
}

// Returns how many bytes of a line of a comment belong to the sentence that begins, or continues,
// in it.
static size_t
sentence_length(const char *line)
{
    for (const char *stop = strchr(line, '.'); stop != NULL; stop = strchr(stop + 1, '.')) {
        if (stop[1] == ' ' || stop[1] == '\0') {
            return (size_t)(stop + 1 - line);
        }
    }
    return strlen(line);
}

// Reads the first sentence of the comment at the beginning of a file; "": there is none.
static void
sentence_read(const char *path, char out[SENTENCE_BYTES])
{
    char line[SENTENCE_BYTES];
    oct_text text;
    oct_text_init(&text, out, SENTENCE_BYTES);
    FILE *file = oct_file_stream(path, "r");
    bool continues = file != NULL;
    while (continues && fgets(line, sizeof(line), file) != NULL && line[0] == '#') {
        line[strcspn(line, "\n")] = '\0';
        const char *words = line + strspn(line, "# ");
        size_t length = sentence_length(words);
        oct_text_add(&text, "%s%.*s", text.used > 0 ? " " : "", (int)length, words);
        continues = length == 0 || words[length - 1] != '.';
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

// Prints a name, and beside it a text that is wrapped to as many lines as it needs.
static void
entry_print(const char *name, size_t width, const char *text)
{
    size_t at = width, length;
    printf("%-*s", *text != '\0' ? (int)width : 0, name);
    for (; *text != '\0'; text += length + strspn(text + length, " ")) {
        length = strcspn(text, " ");
        if (at > width && at + 1 + length > LIST_WIDTH) {
            printf("\n%*s", (int)width, "");
            at = width;
        }
        printf("%s%.*s", at > width ? " " : "", (int)length, text);
        at += length + (at > width);
    }
    (void)putchar('\n');
}

int
cli_presets(int argc, char **argv)
{
    char folder[CLI_PATH_MAX], path[CLI_PATH_MAX], text[SENTENCE_BYTES];
    oct_reason why;
    presets_options options = {.name = NULL};
    cli_args_parse(&presets_args, argc, argv, &options);
    if (folder_find(folder, &why) != OCT_OK) {
        return cli_error("presets", "%s", why.text);
    }
    if (options.name != NULL) {
        return path_print(options.name);
    }
    char **names = names_in(folder);
    size_t width = 0;
    for (size_t i = 0; names[i] != NULL; i++) {
        width = OCT_MAX(width, strlen(names[i]) + 2);
    }
    for (size_t i = 0; names[i] != NULL; i++) {
        if (path_of(path, folder, names[i])) {
            sentence_read(path, text);
            entry_print(names[i], width, text);
        }
    }
    cli_presets_free(names);
    return 0;
}
