#ifndef ENVS_DMC_DMC_GUARD_H
#define ENVS_DMC_DMC_GUARD_H

#include <stdbool.h>
#include <stddef.h>

// Turns errors of MuJoCo into return values. By itself MuJoCo prints an error, writes
// MUJOCO_LOG.TXT, waits for a key and ends the process. Warnings, which write the same file, are
// silent under the guard: mjData.warning counts them.
//
// Threads: any, each guards its own calls. Owns: nothing.

// Installs the guard. Call before anything else of MuJoCo; further calls do nothing.
void dmc_guard_install(void);
// Runs work(arg). Returns false if MuJoCo raised an error: work was left at that point, and text
// has MuJoCo's message in one line. Work must own nothing that would be lost then; the mjData that
// it used must be reset.
bool dmc_guard_run(void (*work)(void *arg), void *arg, char *text, size_t text_size);

#endif // ENVS_DMC_DMC_GUARD_H
