#ifndef TESTS_SUPPORT_OCT_PRELOAD_H
#define TESTS_SUPPORT_OCT_PRELOAD_H

#include <dlfcn.h>
#include <stdbool.h>

// For a library that is loaded before libc and lets calls fail. Together with oct_preload.c, which
// stands in front of openat in both of its names.

// Declares next, the function of that name that comes after this library's.
#define PRELOAD_NEXT(type, name, ...)                                                              \
    type (*next)(__VA_ARGS__);                                                                     \
    *(void **)&next = dlsym(RTLD_NEXT, name)

// Defined by the library: whether a call of openat that would make a file fails; errno says why.
bool preload_making_fails(void);

#endif // TESTS_SUPPORT_OCT_PRELOAD_H
