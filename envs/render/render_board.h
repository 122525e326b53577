#ifndef ENVS_RENDER_RENDER_BOARD_H
#define ENVS_RENDER_RENDER_BOARD_H

#include <stdbool.h>

#include "envs/render/render_canvas.h"
#include "include/octet/env.h"

// Boards of cells: an observation u8 [rows][columns][channels] in which 0 means absent, such as
// MinAtar's. Every channel has a colour; where several are present, the highest one is drawn.
//
// Threads: any; a canvas has one user at a time. Owns: nothing.

#define RENDER_BOARD_SIDE_MAX 64u // rows and columns

// Returns true if an observation is such a board.
bool render_board_fits(const octet_env_space *obs);
// Returns the colour of a channel; the first ten differ.
render_color render_board_color(uint32_t channel);
// Draws cells over the whole canvas.
void render_board_draw(render_canvas *canvas, const octet_env_space *obs, const uint8_t *cells);

#endif // ENVS_RENDER_RENDER_BOARD_H
