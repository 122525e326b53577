#ifndef ENVS_DMC_DMC_GL_H
#define ENVS_DMC_DMC_GL_H

#include <stdbool.h>
#include <stddef.h>

// The process's OpenGL context, without a window, for MuJoCo to draw with: EGL where it works, else
// OSMesa. Both are opened when a picture is first wanted, nothing links them. MUJOCO_GL=egl or
// osmesa (dm_control's variable) allows only that one.
//
// One context for all, because MuJoCo finds OpenGL's functions once per process, and because Mesa
// leaks a little with every context. It stays until the process ends, and so does the thread that
// has it: a context is current in a thread, and the caller may have one of its own, of any kind.
//
// Threads: any; works run one at a time. Processes: a fork of the one that drew first has neither
// its thread nor its driver's threads, and a new context would want those: it is refused.
// Owns: the context and its thread.

// Runs work(arg) in that thread. False with one line in reason, and work has not run: it names what
// to install, or another way to start a forked process.
bool dmc_gl_run(void (*work)(void *arg), void *arg, char *reason, size_t reason_size);

#endif // ENVS_DMC_DMC_GL_H
