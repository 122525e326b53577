#ifndef CLI_CLI_IMPORT_REPORT_H
#define CLI_CLI_IMPORT_REPORT_H

#include "policy/import/import_parity.h"
#include "quantizer/quantizer_probe.h"

// Prints the results of octet import to standard output, as text or as one JSON document.
//
// Threads: main thread.

typedef struct cli_import_report {
    const char *model;
    const char *observed;     // "4096 observations of FILE"
    const char *const *notes; // [note_count] those of cli_import_source
    size_t note_count;
    const import_result *result; // what the model contains
    const policy_image *fp32;
    import_parity parity;          // of fp32 with the model
    const policy_image *image;     // the quantised policy; NULL: fp32 was asked for
    quantizer_divergence far;      // of image from fp32
    bool is_scaled, is_calibrated; // by the observations
    const char *fp32_path;
    const char *path;
    const char *env_path; // NULL: not written
    const char *env_note; // what octet eval needs to be given for the environment; NULL: nothing
} cli_import_report;

void cli_import_report_text(const cli_import_report *report);
void cli_import_report_json(const cli_import_report *report);

#endif // CLI_CLI_IMPORT_REPORT_H
