// The findings of octet doctor: adds, counts and prints them.

#include "cli/doctor/cli_doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli_json.h"
#include "common/oct_text.h"

const char *const cli_doctor_level_words[CLI_DOCTOR_LEVELS] = {
    [CLI_DOCTOR_OK] = "ok",
    [CLI_DOCTOR_NOTE] = "note",
    [CLI_DOCTOR_WARN] = "warn",
    [CLI_DOCTOR_FAIL] = "FAIL",
};

// Findings are printed in the order of the checks. One too many is dropped.
void
cli_doctor_add(cli_doctor *doctor, const char *name, cli_doctor_level level, const char *advice,
               const char *format, ...)
{
    if (doctor->count == CLI_DOCTOR_FINDINGS_MAX) {
        return;
    }
    cli_doctor_finding *finding = &doctor->finding[doctor->count++];
    va_list args;
    va_start(args, format);
    finding->level = level;
    (void)snprintf(finding->name, sizeof(finding->name), "%s", name);
    (void)snprintf(finding->advice, sizeof(finding->advice), "%s", advice);
    (void)vsnprintf(finding->text, sizeof(finding->text), format, args);
    va_end(args);
}

size_t
cli_doctor_count(const cli_doctor *doctor, cli_doctor_level level)
{
    size_t count = 0;
    for (size_t i = 0; i < doctor->count; i++) {
        count += doctor->finding[i].level == level;
    }
    return count;
}

// The level is first and has a fixed width, so that grep FAIL and the eye find it.
void
cli_doctor_print(const cli_doctor *doctor)
{
    for (size_t i = 0; i < doctor->count; i++) {
        const cli_doctor_finding *finding = &doctor->finding[i];
        printf("%-4s  %-12s %s%s%s\n", cli_doctor_level_words[finding->level], finding->name,
               finding->text, finding->advice[0] != '\0' ? "; " : "", finding->advice);
    }
    size_t failed = cli_doctor_count(doctor, CLI_DOCTOR_FAIL);
    size_t warned = cli_doctor_count(doctor, CLI_DOCTOR_WARN);
    if (failed == 0 && warned == 0) {
        printf("No problem was found.\n");
    } else {
        printf("%zu check%s failed, %zu warning%s.\n", failed, oct_text_plural((double)failed),
               warned, oct_text_plural((double)warned));
    }
}

json_t *
cli_doctor_json(const cli_doctor *doctor)
{
    json_t *checks = json_array();
    for (size_t i = 0; i < doctor->count; i++) {
        const cli_doctor_finding *finding = &doctor->finding[i];
        // Only the text for a person has the level in capitals.
        const char *word =
            finding->level == CLI_DOCTOR_FAIL ? "fail" : cli_doctor_level_words[finding->level];
        cli_json_append(checks, CLI_JSON_OBJECT({"name", json_string(finding->name)},
                                                {"level", json_string(word)},
                                                {"text", cli_json_text(finding->text)},
                                                {"advice", cli_json_text(finding->advice)}));
    }
    return CLI_JSON_OBJECT({"folder", cli_json_text(doctor->folder)},
                           {"failed", cli_json_whole(cli_doctor_count(doctor, CLI_DOCTOR_FAIL))},
                           {"warnings", cli_json_whole(cli_doctor_count(doctor, CLI_DOCTOR_WARN))},
                           {"checks", checks});
}
