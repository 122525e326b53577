#ifndef COMMON_OCT_BASE_H
#define COMMON_OCT_BASE_H

#include <stddef.h>

// Assertions are of the program and stay on in release; errors are of the world (oct_err.h).
// A peer's bytes never reach an assertion.
#define OCT_ASSERT(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            oct_assert_failed(__FILE__, __LINE__, #condition);                                     \
        }                                                                                          \
    } while (0)

#define OCT_COUNTOF(array)  (sizeof(array) / sizeof((array)[0]))
#define OCT_MIN(a, b)       ((a) < (b) ? (a) : (b))
#define OCT_MAX(a, b)       ((a) > (b) ? (a) : (b))
#define OCT_PRINTF(fmt, va) __attribute__((format(printf, fmt, va)))

// Prints the place and aborts. Never returns.
_Noreturn void oct_assert_failed(const char *file, int line, const char *condition);

// Prints the place and how much was asked for, and aborts. Never returns.
#define oct_out_of_memory(bytes) oct_out_of_memory_at((bytes), __FILE__, __LINE__)
_Noreturn void oct_out_of_memory_at(size_t bytes, const char *file, int line);

// Memory reserved at start. Zeroed, 64-byte aligned; aborts with size and place when there is none:
// error paths that never run are not written. Free with free(). Threads: any.
#define oct_alloc(bytes) oct_alloc_at((bytes), __FILE__, __LINE__)
void *oct_alloc_at(size_t bytes, const char *file, int line);
// What oct_alloc takes for so many: whole cache lines, of much memory whole large pages.
size_t oct_alloc_size(size_t bytes);
// The same but not zeroed, for what is written at once: bytes rounded up to whole alignments (a
// power of two, at least 64).
#define oct_reserve(alignment, bytes) oct_reserve_at((alignment), (bytes), __FILE__, __LINE__)
void *oct_reserve_at(size_t alignment, size_t bytes, const char *file, int line);

#endif // COMMON_OCT_BASE_H
