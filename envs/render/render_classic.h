#ifndef ENVS_RENDER_RENDER_CLASSIC_H
#define ENVS_RENDER_RENDER_CLASSIC_H

#include "envs/render/render_canvas.h"

// Draws classic control from the physical state, in the look that users of Gymnasium know.
//
// Threads: any; a canvas has one user at a time. Owns: nothing.
typedef struct render_classic {
    const char *id;         // for example "CartPole-v1"
    uint32_t width, height; // natural size of the picture, pixels
    double frames_per_second;
    uint32_t state_count; // numbers in state, as OCTET_ENV_CAN_STATE gives them
    void (*draw)(render_canvas *canvas, const double *state);
} render_classic;

// Returns the entry of an environment; NULL: it is none of classic control.
const render_classic *render_classic_find(const char *id);

#endif // ENVS_RENDER_RENDER_CLASSIC_H
