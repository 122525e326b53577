#ifndef TESTS_CONFIG_CONFIG_FIXTURE_H
#define TESTS_CONFIG_CONFIG_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "tests/support/oct_test.h"

// The defaults with CartPole and assignments, separated by ';'.
static inline config_experiment
config_with(const char *assignments)
{
    config_experiment config;
    char each[512], message[8192];
    config_default(&config);
    T_OK(config_set(&config, "env.id=CartPole-v1", message, sizeof(message)));
    for (const char *at = assignments; *at != 0;) {
        size_t length = strcspn(at, ";");
        (void)snprintf(each, sizeof(each), "%.*s", (int)length, at);
        T_OK(config_set(&config, each, message, sizeof(message)));
        at += length + (at[length] == ';');
    }
    return config;
}

#endif // TESTS_CONFIG_CONFIG_FIXTURE_H
