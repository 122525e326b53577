#ifndef ENVS_DMC_DMC_GL_H
#define ENVS_DMC_DMC_GL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/oct_reason.h"

// The process's OpenGL context, without a window, for MuJoCo to draw with: EGL where it works, else
// OSMesa. Both are loaded when the first picture is drawn; no program links them. MUJOCO_GL=egl or
// osmesa (dm_control's variable) allows only that library.
//
// There is one context for all, because MuJoCo finds OpenGL's functions once per process, and
// because Mesa leaks a little with every context. The context and its thread stay until the process
// ends: a context is current in a thread, and the caller may have a context of its own, of any
// kind.
//
// Threads: any; pieces of work run one at a time. Processes: a fork of the process that drew first
// has neither its thread nor its driver's threads, which a new context would need, so drawing is
// refused there.
// Owns: the context and its thread.

// Runs work(arg) in that thread. Returns false, with one line in reason, if work has not run;
// reason names what to install, or another way to start a forked process.
bool dmc_gl_run(void (*work)(void *arg), void *arg, oct_reason *why);

#endif // ENVS_DMC_DMC_GL_H
