// The status numbers that the command line shows, by the names that they are served under.

#include "cli/cli_numbers.h"

#include <math.h>
#include <string.h>

static const char *const number_names[] = {
#define X(id, name) [id] = name,
    CLI_NUMBERS_MAP(X)
#undef X
};

void
cli_numbers_clear(cli_numbers *numbers)
{
    for (size_t i = 0; i < CLI_NUMBERS_COUNT; i++) {
        numbers->value[i] = NAN;
    }
}

void
cli_numbers_take(cli_numbers *numbers, const char *const *names, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t known = 0; known < CLI_NUMBERS_COUNT; known++) {
            if (strcmp(names[i], number_names[known]) == 0) {
                numbers->value[known] = values[i];
            }
        }
    }
}
