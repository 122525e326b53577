// Opens the one OpenGL context of the process without a window, by EGL or OSMesa, both loaded at
// run time, in a thread of its own.
#include "envs/dmc/dmc_gl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "common/oct_thread.h"

// The parts of EGL (Khronos, EGL 1.4 with platform and device extensions) and OSMesa that are
// needed, so that neither's headers must be installed.
#define EGL_OPENGL_API                0x30A2u
#define EGL_PLATFORM_DEVICE_EXT       0x313Fu
#define EGL_PLATFORM_SURFACELESS_MESA 0x31DDu
#define EGL_NONE                      0x3038
#define EGL_SURFACE_TYPE              0x3033
#define EGL_PBUFFER_BIT               0x0001
#define EGL_RENDERABLE_TYPE           0x3040
#define EGL_OPENGL_BIT                0x0008
#define EGL_RED_SIZE                  0x3024
#define EGL_DEPTH_SIZE                0x3025
#define EGL_WIDTH                     0x3057
#define EGL_HEIGHT                    0x3056
#define OSMESA_RGBA                   0x1908u
#define GL_UNSIGNED_BYTE              0x1401u

#define DEVICES_MAX 8
#define SIDE        16 // of the surface, on which nothing is drawn
#define DEPTH_BITS  24

struct egl {
    void *(*get_proc)(const char *name);
    void *(*get_display)(void *native);
    unsigned (*initialize)(void *display, int32_t *major, int32_t *minor);
    unsigned (*terminate)(void *display);
    unsigned (*bind_api)(unsigned api);
    unsigned (*choose_config)(void *display, const int32_t *wanted, void **configs, int32_t room,
                              int32_t *count);
    void *(*create_context)(void *display, void *config, void *share, const int32_t *wanted);
    void *(*create_pbuffer)(void *display, void *config, const int32_t *wanted);
    unsigned (*make_current)(void *display, void *draw, void *read, void *context);
    unsigned (*destroy_context)(void *display, void *context);
    unsigned (*destroy_surface)(void *display, void *surface);
};

struct osmesa {
    void *(*create_context)(unsigned format, int depth, int stencil, int accum, void *share);
    unsigned char (*make_current)(void *context, void *buffer, unsigned type, int width,
                                  int height);
    void (*destroy_context)(void *context);
};

// The context of this process; belongs to the drawing thread.
static struct {
    bool is_open;
    struct egl egl;
    void *display;
    void *surface;
    struct osmesa osmesa;
    uint8_t buffer[SIDE * SIDE * 4]; // of OSMesa
    void *context;
} gl;

// dlsym returns void *, which C does not allow to convert to a function pointer; the bits are the
// same.
static bool
symbol(void *from, const char *name, void *out)
{
    void *found = dlsym(from, name);
    memcpy(out, &found, sizeof(found));
    return found != NULL;
}

// ---- EGL

static bool
egl_symbols(struct egl *egl, void *from)
{
    return symbol(from, "eglGetProcAddress", &egl->get_proc) &&
           symbol(from, "eglGetDisplay", &egl->get_display) &&
           symbol(from, "eglInitialize", &egl->initialize) &&
           symbol(from, "eglTerminate", &egl->terminate) &&
           symbol(from, "eglBindAPI", &egl->bind_api) &&
           symbol(from, "eglChooseConfig", &egl->choose_config) &&
           symbol(from, "eglCreateContext", &egl->create_context) &&
           symbol(from, "eglCreatePbufferSurface", &egl->create_pbuffer) &&
           symbol(from, "eglMakeCurrent", &egl->make_current) &&
           symbol(from, "eglDestroyContext", &egl->destroy_context) &&
           symbol(from, "eglDestroySurface", &egl->destroy_surface);
}

// Makes gl's surface and context on gl's display.
static bool
egl_context(void)
{
    const struct egl *egl = &gl.egl;
    const int32_t wanted[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
                              EGL_OPENGL_BIT,   EGL_RED_SIZE,    8,
                              EGL_DEPTH_SIZE,   DEPTH_BITS,      EGL_NONE};
    const int32_t sides[] = {EGL_WIDTH, SIDE, EGL_HEIGHT, SIDE, EGL_NONE};
    void *config;
    int32_t count = 0;
    if (!egl->bind_api(EGL_OPENGL_API) ||
        !egl->choose_config(gl.display, wanted, &config, 1, &count) || count < 1) {
        return false;
    }
    gl.surface = egl->create_pbuffer(gl.display, config, sides);
    gl.context = egl->create_context(gl.display, config, NULL, NULL);
    if (gl.context != NULL && gl.surface != NULL &&
        egl->make_current(gl.display, gl.surface, gl.surface, gl.context)) {
        return true;
    }
    if (gl.context != NULL) {
        (void)egl->destroy_context(gl.display, gl.context);
    }
    if (gl.surface != NULL) {
        (void)egl->destroy_surface(gl.display, gl.surface);
    }
    return false;
}

// Lists displays that need no window system, the best first; the last is the system's default.
static uint32_t
egl_displays(const struct egl *egl, void *displays[DEVICES_MAX + 2])
{
    void *(*platform_display)(unsigned platform, void *native, const int32_t *wanted);
    unsigned (*query_devices)(int32_t room, void **devices, int32_t *count);
    void *found = egl->get_proc("eglGetPlatformDisplayEXT");
    memcpy(&platform_display, &found, sizeof(found));
    found = egl->get_proc("eglQueryDevicesEXT");
    memcpy(&query_devices, &found, sizeof(found));
    uint32_t n = 0;
    if (platform_display != NULL) {
        displays[n++] = platform_display(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
    }
    void *devices[DEVICES_MAX];
    int32_t count = 0;
    if (platform_display != NULL && query_devices != NULL &&
        query_devices(DEVICES_MAX, devices, &count)) {
        for (int32_t k = 0; k < count; k++) {
            displays[n++] = platform_display(EGL_PLATFORM_DEVICE_EXT, devices[k], NULL);
        }
    }
    displays[n++] = egl->get_display(NULL);
    return n;
}

static bool
egl_open(void)
{
    void *opened = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (opened == NULL) {
        return false;
    }
    void *displays[DEVICES_MAX + 2];
    uint32_t count = egl_symbols(&gl.egl, opened) ? egl_displays(&gl.egl, displays) : 0;
    for (uint32_t k = 0; k < count; k++) {
        int32_t major, minor;
        gl.display = displays[k];
        if (gl.display == NULL || !gl.egl.initialize(gl.display, &major, &minor)) {
            continue;
        }
        if (egl_context()) {
            return true;
        }
        (void)gl.egl.terminate(gl.display);
    }
    (void)dlclose(opened); // MuJoCo must not find its functions
    return false;
}

// ---- OSMesa

static bool
osmesa_open(void)
{
    static const char *const names[] = {"libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so"};
    void *opened = NULL;
    for (size_t k = 0; k < OCT_COUNTOF(names) && opened == NULL; k++) {
        opened = dlopen(names[k], RTLD_NOW | RTLD_LOCAL);
    }
    if (opened == NULL) {
        return false;
    }
    if (symbol(opened, "OSMesaCreateContextExt", &gl.osmesa.create_context) &&
        symbol(opened, "OSMesaMakeCurrent", &gl.osmesa.make_current) &&
        symbol(opened, "OSMesaDestroyContext", &gl.osmesa.destroy_context)) {
        gl.context = gl.osmesa.create_context(OSMESA_RGBA, DEPTH_BITS, 8, 0, NULL);
        if (gl.context != NULL &&
            gl.osmesa.make_current(gl.context, gl.buffer, GL_UNSIGNED_BYTE, SIDE, SIDE)) {
            return true;
        }
        if (gl.context != NULL) {
            gl.osmesa.destroy_context(gl.context);
        }
    }
    (void)dlclose(opened);
    return false;
}

// ---- the thread

// One piece of work. Two semaphores order it: the thread reads the call after wanted was posted,
// and the caller continues after done was.
struct call {
    void (*work)(void *arg);
    void *arg;
    oct_reason *why;
    bool has_run;
};

static struct {
    _Atomic pid_t process; // the first process that drew; 0: none
    pthread_mutex_t lock;  // held by the caller of dmc_gl_run
    bool is_there;
    sem_t wanted, done;
    struct call *call;
} drawing = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool
gl_open(oct_reason *why)
{
    const char *given = getenv("MUJOCO_GL"), *only = given != NULL ? given : "";
    bool no_osmesa = strcmp(only, "egl") == 0, no_egl = strcmp(only, "osmesa") == 0;
    if (only[0] != '\0' && !no_osmesa && !no_egl) {
        oct_reason_set(why, "MUJOCO_GL is '%.100s'; allowed are egl and osmesa", only);
        return false;
    }
    if ((!no_egl && egl_open()) || (!no_osmesa && osmesa_open())) {
        return true;
    }
    oct_reason_set(
        why, "drawing needs OpenGL through EGL or OSMesa, and neither works here: apt-get install "
             "libegl1 libgl1-mesa-dri, or libosmesa6");
    return false;
}

static void *
drawing_run(void *arg)
{
    (void)arg;
    for (;;) {
        oct_semaphore_wait(&drawing.wanted);
        struct call *call = drawing.call;
        gl.is_open = gl.is_open || gl_open(call->why);
        if (gl.is_open) {
            call->work(call->arg);
            call->has_run = true;
        }
        OCT_ASSERT(sem_post(&drawing.done) == 0);
    }
    return NULL;
}

static bool
drawing_start(void)
{
    OCT_ASSERT(sem_init(&drawing.wanted, 0, 0) == 0 && sem_init(&drawing.done, 0, 0) == 0);
    pthread_t thread;
    bool started = oct_thread_create(&thread, drawing_run, NULL) == 0;
    OCT_ASSERT(!started || pthread_detach(thread) == 0);
    return started;
}

static void
call_run(struct call *call)
{
    drawing.is_there = drawing.is_there || drawing_start();
    if (!drawing.is_there) {
        oct_reason_set(call->why, "cannot start a thread to draw in");
        return;
    }
    drawing.call = call;
    OCT_ASSERT(sem_post(&drawing.wanted) == 0);
    oct_semaphore_wait(&drawing.done);
}

// Makes this process the first if there is none. Runs before the lock is taken: a thread that does
// not exist after the fork may hold the lock.
static bool
is_fork_of_the_first(void)
{
    pid_t first = 0;
    return !atomic_compare_exchange_strong(&drawing.process, &first, getpid()) && first != getpid();
}

bool
dmc_gl_run(void (*work)(void *arg), void *arg, oct_reason *why)
{
    if (is_fork_of_the_first()) {
        oct_reason_set(
            why, "OpenGL is not usable in a forked process whose parent has drawn with it: draw in "
                 "the parent, or start the process by \"spawn\" or \"forkserver\"");
        return false;
    }
    struct call call = {.work = work, .arg = arg, .why = why};
    OCT_ASSERT(pthread_mutex_lock(&drawing.lock) == 0);
    call_run(&call);
    OCT_ASSERT(pthread_mutex_unlock(&drawing.lock) == 0);
    return call.has_run;
}
