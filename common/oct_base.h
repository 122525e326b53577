#ifndef COMMON_OCT_BASE_H
#define COMMON_OCT_BASE_H

#include <stddef.h>

// An assertion is about a mistake of this program, and stays on in releases. Everything that comes
// from outside is an error instead (oct_err.h): no bytes of a peer can make an assertion fail.
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

// Prints the file, the line and the condition, and aborts. Never returns.
_Noreturn void oct_assert_failed(const char *file, int line, const char *condition);

// Prints the file, the line and the size that was wanted, and aborts. Never returns.
#define oct_out_of_memory(bytes) oct_out_of_memory_at((bytes), __FILE__, __LINE__)
_Noreturn void oct_out_of_memory_at(size_t bytes, const char *file, int line);

// Allocates memory: zeroed, on a cache line of 64 bytes. When there is none, the program aborts and
// names size and caller, because Octet allocates at start, and an error path there would never be
// tested. Free with free(). Threads: any.
#define oct_alloc(bytes) oct_alloc_at((bytes), __FILE__, __LINE__)
void *oct_alloc_at(size_t bytes, const char *file, int line);
// Returns the bytes that oct_alloc takes for a request: whole cache lines, and whole large pages if
// it is large.
size_t oct_alloc_size(size_t bytes);
// Allocates without zeroing, for memory that the caller fills at once. alignment: a power of two,
// at least 64; bytes are rounded up to a multiple of it.
#define oct_reserve(alignment, bytes) oct_reserve_at((alignment), (bytes), __FILE__, __LINE__)
void *oct_reserve_at(size_t alignment, size_t bytes, const char *file, int line);

#endif // COMMON_OCT_BASE_H
