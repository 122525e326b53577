// octet status of a run that has ended: its summary, or other information from its folder.

#include "cli/run/cli_ended.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <jansson.h>

#include "cli/cli_options.h"
#include "cli/run/cli_report.h"
#include "common/oct_base.h"
#include "common/oct_file.h"

#define METRICS_BYTES_MAX (1u << 28)

static bool
has_supervisor(void)
{
    int fd = open(".lock", O_RDWR | O_CLOEXEC);
    bool held = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0) {
        (void)close(fd);
    }
    return held;
}

static void
print_json(const char *folder, const oct_config *config)
{
    json_t *summary = json_load_file("summary.json", 0, NULL);
    json_t *all = json_object();
    OCT_ASSERT(json_object_set_new(all, "folder", json_string(folder)) == 0 ||
               json_object_set_new(all, "folder", json_string("(not UTF-8)")) == 0);
    OCT_ASSERT(json_object_set_new(all, "ended", json_true()) == 0);
    OCT_ASSERT(json_object_set_new(all, "env", json_string(config->env.id)) == 0);
    OCT_ASSERT(json_object_set_new(all, "summary", summary != NULL ? summary : json_null()) == 0);
    char *line = json_dumps(all, JSON_COMPACT);
    OCT_ASSERT(line != NULL);
    printf("%s\n", line);
    free(line);
    json_decref(all);
}

static void
print_metrics(void)
{
    uint8_t *text = NULL;
    size_t length = 0;
    if (oct_file_read("metrics.csv", METRICS_BYTES_MAX, &text, &length) != OCT_OK) {
        printf("neither summary.json nor metrics.csv were written\n");
        return;
    }
    char *rows = (char *)text;
    char *names_end = strchrnul(rows, '\n');
    while (length > 0 && rows[length - 1] == '\n') {
        rows[--length] = '\0';
    }
    char *last = strrchr(rows, '\n');
    printf("no summary.json; last line of metrics.csv:\n%.*s\n%s\n", (int)(names_end - rows), rows,
           last != NULL ? last + 1 : "");
    free(text);
}

int
cli_ended_show(const char *folder, const oct_config *config, bool json)
{
    bool is_held = has_supervisor();
    if (json && is_held) {
        cli_error("status", "%s: its daemons do not answer", folder);
    } else if (json) {
        print_json(folder, config);
    } else {
        printf("%s: %s\n", folder, is_held ? "its daemons do not answer" : "the run has ended");
        if (!cli_report_print_ended(stdout, folder, config)) {
            print_metrics();
        }
    }
    return is_held ? CLI_EXIT_FAILED : 0;
}
