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
    static const char key[] = OCT_ACTION_REPEAT_KEY "=";
    for (const char *at = options; *at != '\0';) {
        const char *end = oct_option_end(at);
        size_t length = end != NULL ? (size_t)(end - at) : strlen(at);
        if (strncmp(at, key, sizeof(key) - 1) == 0) {
            char value[16];
            (void)snprintf(value, sizeof(value), "%.*s", (int)(length - (sizeof(key) - 1)),
                           at + sizeof(key) - 1);
            return length - (sizeof(key) - 1) < sizeof(value) ? oct_action_repeat_read(value) : 0;
        }
        at += length;
        at += *at == ',';
    }
    return 1;
}
