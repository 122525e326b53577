#ifndef ENVS_DMC_DMC_GL_H
#define ENVS_DMC_DMC_GL_H

#include <stdbool.h>
#include <stddef.h>

// An OpenGL context without a window, for MuJoCo to draw with: EGL where it works, else OSMesa.
// Both are opened when the first context is wanted, nothing links them. MuJoCo finds the functions
// of whichever is open, once per process: so the first choice holds for its life. MUJOCO_GL=egl or
// osmesa (dm_control's variable) allows only that one.
//
// Threads: the caller runs one call at a time in the process; between enter and leave the context
// belongs to the calling thread. Owns: the context, until destroy; a library stays loaded.
typedef struct dmc_gl dmc_gl;

// False with one line in reason that names what to install.
bool dmc_gl_create(dmc_gl **out, char *reason, size_t reason_size);
void dmc_gl_destroy(dmc_gl *gl); // NULL is a no-op
bool dmc_gl_enter(dmc_gl *gl);   // false: the driver refused
void dmc_gl_leave(dmc_gl *gl);
const char *dmc_gl_name(const dmc_gl *gl); // "EGL", "OSMesa"

#endif // ENVS_DMC_DMC_GL_H
