#ifndef ENVS_DMC_DMC_GL_H
#define ENVS_DMC_DMC_GL_H

#include <stdbool.h>
#include <stddef.h>

// The process's OpenGL context, without a window, for MuJoCo to draw with: EGL where it works, else
// OSMesa. Both are opened when a picture is first wanted, nothing links them. MUJOCO_GL=egl or
// osmesa (dm_control's variable) allows only that one.
//
// One context for all, because MuJoCo finds OpenGL's functions once per process, and because Mesa
// leaks a little with every context. It stays until the process ends.
//
// Threads: one at a time between enter and leave; the caller has a lock. Owns: the context.

// Makes it the calling thread's. False with one line in reason that names what to install.
bool dmc_gl_enter(char *reason, size_t reason_size);
void dmc_gl_leave(void);

#endif // ENVS_DMC_DMC_GL_H
