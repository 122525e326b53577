#ifndef RENDER_RENDER_BOARD_H
#define RENDER_RENDER_BOARD_H

#include <stdbool.h>

#include "include/octet/env.h"
#include "render/render_canvas.h"

// Boards of cells: an observation u8 [rows][columns][channels] of which 0 means absent, such as
// MinAtar's. Every channel has a colour; where several are present the highest channel is seen.
//
// Threads: any; the canvas' rules. Owns: nothing.

#define RENDER_BOARD_SIDE_MAX 64u // rows and columns

// Whether an observation is such a board.
bool render_board_fits(const octet_env_space *obs);
// The colour of a channel; colours of the first ten differ.
render_color render_board_color(uint32_t channel);
void render_board_draw(render_canvas *canvas, const octet_env_space *obs, const uint8_t *cells);

#endif // RENDER_RENDER_BOARD_H
