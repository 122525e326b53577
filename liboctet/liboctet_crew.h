#ifndef LIBOCTET_LIBOCTET_CREW_H
#define LIBOCTET_LIBOCTET_CREW_H

#include <stdint.h>

#include "common/oct_err.h"

// Threads that do the parts of one job together: part 0 in the caller's thread, each other part in
// a thread of its own, which sleeps between jobs.
//
// Threads: one caller at a time. Owns: its threads.
typedef struct liboctet_crew liboctet_crew;

#define LIBOCTET_CREW_PARTS_MAX 256

// parts: 1 .. LIBOCTET_CREW_PARTS_MAX. While the caller waits for the others, pulse is called in
// its thread, a few times a second and after each signal. OCT_EINTERNAL, with errno: a thread
// cannot be started; then there is none.
OCT_CHECKED oct_err liboctet_crew_create(liboctet_crew **out, uint32_t parts, void (*pulse)(void));
void liboctet_crew_destroy(liboctet_crew *crew); // NULL is a no-op
// Calls work(context, part) once for each part, and returns when all have returned: what they wrote
// is seen by the caller.
void liboctet_crew_run(liboctet_crew *crew, void (*work)(void *context, uint32_t part),
                       void *context);

#endif // LIBOCTET_LIBOCTET_CREW_H
