#ifndef TESTS_POLICY_IMPORT_STRCMP_COUNT_H
#define TESTS_POLICY_IMPORT_STRCMP_COUNT_H

#include <stddef.h>

// Counts the comparisons of names: a test that includes this is linked with --wrap=strcmp.

static size_t strcmp_count;

int __real_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b);

int
__wrap_strcmp(const char *a, const char *b)
{
    strcmp_count++;
    return __real_strcmp(a, b);
}

#endif // TESTS_POLICY_IMPORT_STRCMP_COUNT_H
