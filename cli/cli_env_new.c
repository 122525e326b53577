// octet env new: writes the folder of a new plug-in, whose files are those of examples/env with the
// names of the new environment.

#include "cli/cli_env_new.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_env_settings.h"
#include "cli/cli_options.h"
#include "common/oct_base.h"
#include "common/oct_err.h"
#include "common/oct_file.h"

#define NAME_MAX_BYTES 48 // the id must fit OCTET_POLICY_NAME_MAX

typedef struct env_names {
    const char *name;            // "arm_2d"
    char id[NAME_MAX_BYTES + 4]; // "Arm2d-v0"
} env_names;

static bool
is_name(const char *text)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz"
                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    return isalpha((unsigned char)text[0]) && text[length] == '\0' && length <= NAME_MAX_BYTES;
}

// Makes the id: "arm_2d" becomes "Arm2d-v0".
static void
id_of(const char *name, char *id)
{
    bool is_start = true;
    for (; *name != '\0'; name++) {
        if (*name == '_' || *name == '-') {
            is_start = true;
            continue;
        }
        *id++ = is_start ? (char)toupper((unsigned char)*name) : *name;
        is_start = false;
    }
    memcpy(id, "-v0", sizeof("-v0"));
}

// Writes text with the example's names replaced. Returns false if writing fails.
static bool
text_write(const char *text, const env_names *names, FILE *file)
{
    const struct {
        const char *old, *new;
    } words[] = {{"Point-v0", names->id},
                 {"../../include", "include"},
                 {"point.so", NULL},
                 {"point.c", NULL},
                 {"point.yaml", NULL}};
    while (*text != '\0') {
        size_t length = 0;
        for (size_t i = 0; length == 0 && i < OCT_COUNTOF(words); i++) {
            if (strncmp(text, words[i].old, strlen(words[i].old)) == 0) {
                // Only the stem of a file's name is replaced.
                length = words[i].new != NULL ? strlen(words[i].old) : strlen("point");
                (void)fputs(words[i].new != NULL ? words[i].new : names->name, file);
            }
        }
        if (length == 0) {
            (void)fputc(*text, file);
            length = 1;
        }
        text += length;
    }
    return fflush(file) == 0 && ferror(file) == 0;
}

// Creates a file, which must not exist ("wx").
static bool
file_write(const char *path, const char *text, const env_names *names)
{
    FILE *file = oct_file_stream(path, "wx");
    if (file == NULL) {
        return false;
    }
    bool is_written = text_write(text, names, file);
    return fclose(file) == 0 && is_written;
}

int
cli_env_new(const cli_env_settings *settings)
{
    env_names names = {.name = settings->id};
    if (!is_name(settings->id)) {
        cli_usage_error(
            settings->command,
            "'%s' is not a valid name; allowed are at most %d letters, digits, _ and -, "
            "starting with a letter",
            settings->id, NAME_MAX_BYTES);
    }
    id_of(settings->id, names.id);
    char folder[OCT_FILE_PATH_MAX], source[OCT_FILE_PATH_MAX], experiment[OCT_FILE_PATH_MAX],
        header[OCT_FILE_PATH_MAX];
    (void)snprintf(folder, sizeof(folder), "%s/include/octet", names.name);
    (void)snprintf(source, sizeof(source), "%s/%s.c", names.name, names.name);
    (void)snprintf(experiment, sizeof(experiment), "%s/%s.yaml", names.name, names.name);
    (void)snprintf(header, sizeof(header), "%s/include/octet/env.h", names.name);
    uint32_t made = 0;
    if (oct_file_is_there(names.name)) {
        return cli_error(settings->command, "%s already exists; choose another name or folder",
                         names.name);
    }
    if (oct_file_make_folders(folder, &made) != OCT_OK ||
        !file_write(source, cli_env_new_text("point.c"), &names) ||
        !file_write(experiment, cli_env_new_text("point.yaml"), &names) ||
        !file_write(header, cli_env_new_text("env.h"), &names)) {
        return cli_error(settings->command, "%s cannot be written: %s", names.name,
                         oct_file_strerror(errno));
    }
    printf("%-24s the environment %s: a point in the plane moves to a goal\n"
           "%-24s an experiment that trains on it\n"
           "%-24s the interface and its rules\n"
           "Next:\n"
           "  cd %s\n"
           "  cc -O2 -shared -fPIC -I include -o %s.so %s.c -lm\n"
           "  octet env check ./%s.so\n"
           "  octet train %s.yaml\n",
           source, names.id, experiment, header, names.name, names.name, names.name, names.name,
           names.name);
    return 0;
}
