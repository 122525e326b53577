#ifndef RENDER_RENDER_CLASSIC_H
#define RENDER_RENDER_CLASSIC_H

#include "render/render_canvas.h"

// Classic control, drawn from the physical state in the look that Gymnasium's users know: which
// part of the world is seen, the picture's natural size, how fast it runs.
//
// Threads: any; the canvas' rules. Owns: nothing.
typedef struct render_classic {
    const char *id; // "CartPole-v1"
    uint32_t width, height;
    double frames_per_second;
    uint32_t state_count;
    void (*draw)(render_canvas *canvas, const double *state);
} render_classic;

// NULL: not one of them.
const render_classic *render_classic_find(const char *id);

#endif // RENDER_RENDER_CLASSIC_H
