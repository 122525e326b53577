// Reads the action repeat among the options of an environment.
#include "common/oct_action_repeat.h"

#include <stdio.h>
#include <string.h>

#include "common/oct_option.h"

uint32_t
oct_action_repeat_read(const char *value)
{
    uint32_t number = 0;
    for (const char *at = value; *at != '\0'; at++) {
        // The bound is tested before each digit, so the product cannot overflow.
        if (*at < '0' || *at > '9' || number > OCT_ACTION_REPEAT_MAX) {
            return 0;
        }
        number = 10 * number + (uint32_t)(*at - '0');
    }
    return number <= OCT_ACTION_REPEAT_MAX ? number : 0;
}

uint32_t
oct_action_repeat_of(const char *options)
{
    char value[16]; // a value that does not fit is above the maximum, or not a number
    const char *found = oct_option_find(options, OCT_ACTION_REPEAT_KEY);
    if (found == NULL) {
        return 1;
    }
    const char *end = oct_option_end(found), *begin = found + strcspn(found, "=,");
    begin += *begin == '=';
    int length = (int)(end != NULL ? (size_t)(end - begin) : strlen(begin));
    (void)snprintf(value, sizeof(value), "%.*s", length, begin);
    return (size_t)length < sizeof(value) ? oct_action_repeat_read(value) : 0;
}
