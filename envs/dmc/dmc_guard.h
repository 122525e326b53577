#ifndef ENVS_DMC_DMC_GUARD_H
#define ENVS_DMC_DMC_GUARD_H

#include <stdbool.h>
#include <stddef.h>

// MuJoCo ends the process when it meets an error, after printing, writing MUJOCO_LOG.TXT and
// waiting for a key. Under the guard an error is a return value, and warnings (which write the same
// file) are silent: they are counted in mjData.warning.
//
// Threads: any, each guards its own calls. Owns: nothing.

// Once per process, before anything else of MuJoCo is called; again is free.
void dmc_guard_install(void);
// Runs work(arg). False when MuJoCo raised an error: work was left where it stood, and text has
// MuJoCo's message in one line. Work must not own anything that leaving it
// would lose; the mjData that it used has to be reset.
bool dmc_guard_run(void (*work)(void *arg), void *arg, char *text, size_t text_size);

#endif // ENVS_DMC_DMC_GUARD_H
