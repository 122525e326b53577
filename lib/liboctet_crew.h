#ifndef LIB_LIBOCTET_CREW_H
#define LIB_LIBOCTET_CREW_H

#include <stdint.h>

#include "common/oct_err.h"

// Threads that do the parts of one job together: part 0 on the caller's thread, every other part
// on its own thread, which sleeps between jobs.
//
// Threads: one caller at a time. Owns: its threads.
typedef struct liboctet_crew liboctet_crew;

#define LIBOCTET_CREW_PARTS_MAX 256

// parts: 1 … LIBOCTET_CREW_PARTS_MAX. While the caller waits for other parts, it calls pulse a few
// times per second and after each signal. OCT_EINTERNAL, with errno: a thread could not be
// started, and none is left.
OCT_CHECKED oct_err liboctet_crew_create(liboctet_crew **out, uint32_t parts, void (*pulse)(void));
void liboctet_crew_destroy(liboctet_crew *crew); // NULL is a no-op
// Calls work(context, part) once for each part. Returns when all calls have returned; the caller
// then sees everything that they wrote.
void liboctet_crew_run(liboctet_crew *crew, void (*work)(void *context, uint32_t part),
                       void *context);

#endif // LIB_LIBOCTET_CREW_H
