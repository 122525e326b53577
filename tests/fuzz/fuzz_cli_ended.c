// What octet status reads of a run that has ended: an input is whether it is JSON that is asked
// for, which file of the folder it is (summary.json, or metrics.csv where there is no summary), and
// that file. Nothing of it reaches a terminal as anything but letters.
#include "cli/run/cli_ended.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "tests/fuzz/fuzz.h"

enum { IS_JSON = 1, IS_METRICS = 2 };

static char folder[] = "/dev/shm/octet_fuzz_ended_XXXXXX";
static int home = -1, away; // the drivers' working folder, and a run's
static config_experiment config;

static void
folder_remove(void)
{
    (void)unlinkat(away, "summary.json", 0);
    (void)unlinkat(away, "metrics.csv", 0);
    (void)unlinkat(away, "policy.oct", 0);
    (void)rmdir(folder);
}

static void
put(const char *path, const uint8_t *bytes, size_t length)
{
    FILE *out = fopen(path, "wb");
    OCT_ASSERT(out != NULL && fwrite(bytes, 1, length, out) == length && fclose(out) == 0);
}

static void
begin(void)
{
    home = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    OCT_ASSERT(home >= 0 && mkdtemp(folder) != NULL);
    away = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    OCT_ASSERT(away >= 0 && fchdir(away) == 0);
    (void)atexit(folder_remove);
    put("policy.oct", (const uint8_t *)"", 0);
    config_default(&config);
    (void)snprintf(config.env.id, sizeof(config.env.id), "CartPole-v1");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    if (home < 0) {
        begin();
    }
    OCT_ASSERT(fchdir(away) == 0);
    bool is_json = (data[0] & IS_JSON) != 0, is_metrics = (data[0] & IS_METRICS) != 0;
    char *text;
    size_t length;
    put(is_metrics ? "metrics.csv" : "summary.json", data + 1, size - 1);
    (void)unlink(is_metrics ? "summary.json" : "metrics.csv");
    FILE *out = open_memstream(&text, &length);
    OCT_ASSERT(out != NULL);
    cli_ended_show(out, "runs/1", &config, is_json);
    OCT_ASSERT(fclose(out) == 0 && length > 0 && text[length - 1] == '\n');
    for (size_t i = 0; i < length; i++) {
        OCT_ASSERT((unsigned char)text[i] >= ' ' || text[i] == '\n');
    }
    if (strstr(text, is_json      ? "\"summary\":{"
                     : is_metrics ? "no summary.json"
                                  : "runs/1/summary.json") != NULL) {
        fuzz_accept();
    }
    free(text);
    OCT_ASSERT(fchdir(home) == 0);
    return 0;
}

static void
seed_of(uint8_t what, const char *text, bool is_good)
{
    fuzz_seed_of(what, text, strlen(text), is_good);
}

// As a run writes them.
void
fuzz_seeds(void)
{
    static const char summary[] =
        "{\n  \"env\": \"CartPole-v1\",\n  \"run_id\": \"62ab7d4d2e4ef5a1\",\n  \"seed\": 1,\n"
        "  \"reason\": \"solved\",\n  \"solved\": true,\n  \"goal\": 475,\n  \"return\": {\n"
        "    \"mean\": 499.25, \"std\": 3.5, \"min\": 470, \"max\": 500, \"episodes\": 100,\n"
        "    \"precision\": \"int8\", \"version\": 213, \"final\": true\n  },\n"
        "  \"last_return\": {\"mean\": 500, \"std\": 0, \"episodes\": 100},\n"
        "  \"last_screens\": {\"count\": 10, \"mean\": 488.1},\n  \"env_steps\": 81920,\n"
        "  \"updates\": 4096,\n  \"learner_wall_s\": 9.75,\n"
        "  \"daemons\": {\"learner\": {\"cpu_s\": 3.1, \"starts\": 1, \"exit_status\": 0}},\n"
        "  \"supervisor\": {\"wall_s\": 11.5, \"restarts\": 0, \"exit_reason\": \"finished\",\n"
        "    \"exit_code\": 0}\n}\n";
    static const char killed[] =
        "{\"reason\": \"interrupted\", \"solved\": false, \"return\": null,"
        " \"last_screens\": {\"count\": 1, \"mean\": -1e3}}";
    static const char measured[] =
        "{\"reason\": \"solved\", \"energy\": {\"source\": \"command\", \"reason\": null,"
        " \"joules\": 10.25, \"machine_joules\": 40.5, \"cpu_share\": 0.25, \"measured_s\": 2.5,"
        " \"gco2\": 0.001, \"cpu_s\": 1.125, \"model\": {\"watts\": 8, \"gco2_per_kwh\": 350,"
        " \"joules\": 9, \"gco2\": 0.0009}}}";
    static const char failed[] = "{\"supervisor\": {\"exit_reason\": \"failed\", \"exit_code\": 1},"
                                 " \"return\": {\"final\": false}}";
    static const char metrics[] = "time_s,wall_s,env_steps,loss\n1700000000,1.5,100,\n"
                                  "1700000001,2.5,200,0.25\n";
    for (uint8_t i = 0; i < 2; i++) {
        seed_of(i, summary, true);
        seed_of(i, killed, true);
        seed_of(i, measured, true);
        seed_of(i, failed, true);
        seed_of(i, "[1, 2]", false);
        seed_of(i, "{\"env\": ", false);
    }
    seed_of(IS_METRICS, metrics, true);
    seed_of(IS_METRICS, "time_s,wall_s\n", true);
    seed_of(IS_METRICS, "time_s", false);
}
