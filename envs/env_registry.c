#include "envs/env_registry.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"
#include "envs/env.h"

struct row {
    const char *id;
    const octet_env_api *api;
};

#define ROWS(X)                                                                                    \
    X("CartPole-v1", env_cartpole_api)                                                             \
    X("MountainCar-v0", env_mountain_car_api)                                                      \
    X("MountainCarContinuous-v0", env_mountain_car_continuous_api)                                 \
    X("Acrobot-v1", env_acrobot_api)                                                               \
    X("Pendulum-v1", env_pendulum_api)

#define ROW(id, api)    {id, &api},
#define ROW_ID(id, api) id,
static const struct row rows[] = {ROWS(ROW)};
static const char *const row_ids[] = {ROWS(ROW_ID) NULL};

#define WORD_MAX 63

// Levenshtein's distance, upper and lower case alike; words are cut at WORD_MAX.
static uint32_t
distance(const char *a, const char *b)
{
    uint32_t line[WORD_MAX + 1];
    size_t b_length = OCT_MIN(strlen(b), (size_t)WORD_MAX);
    for (uint32_t j = 0; j <= b_length; j++) {
        line[j] = j;
    }
    for (uint32_t i = 0; i < WORD_MAX && a[i] != '\0'; i++) {
        uint32_t diagonal = line[0];
        line[0] = i + 1;
        for (uint32_t j = 0; j < b_length; j++) {
            bool same = tolower((unsigned char)a[i]) == tolower((unsigned char)b[j]);
            uint32_t replace = diagonal + (same ? 0 : 1);
            diagonal = line[j + 1];
            line[j + 1] = OCT_MIN(OCT_MIN(line[j] + 1, diagonal + 1), replace);
        }
    }
    return line[b_length];
}

const octet_env_api *
env_registry_find(const char *id)
{
    for (size_t i = 0; i < OCT_COUNTOF(rows); i++) {
        if (strcmp(rows[i].id, id) == 0) {
            return rows[i].api;
        }
    }
    return NULL;
}

void
env_registry_explain(const char *id, char *reason, size_t reason_size)
{
    const char *nearest = NULL;
    uint32_t best = 6;
    char known[200] = "";
    for (size_t i = 0; i < OCT_COUNTOF(rows); i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof(known) - used, "%s%s", i > 0 ? ", " : "", rows[i].id);
        uint32_t far = distance(id, rows[i].id);
        if (far < best) {
            best = far;
            nearest = rows[i].id;
        }
    }
    if (nearest != NULL) {
        snprintf(reason, reason_size, "no environment \"%.63s\"; did you mean %s? (known: %s)", id,
                 nearest, known);
    } else {
        snprintf(reason, reason_size,
                 "no environment \"%.63s\"; known: %s; or the path of a plug-in (./name.so)", id,
                 known);
    }
}

const char *const *
env_ids(void)
{
    return row_ids;
}
