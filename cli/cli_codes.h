#ifndef CLI_CLI_CODES_H
#define CLI_CLI_CODES_H

#include "policy/policy_format.h"

// Shares of a quantised layer's codes. Threads: any.
typedef struct cli_codes {
    double zero; // codes that are 0
    double end;  // codes at either end of the range
} cli_codes;

// Counts the codes of layer l of an image of integer precision. A layer without weights has NaN.
cli_codes cli_codes_count(const policy_image *image, uint32_t l);

#endif // CLI_CLI_CODES_H
