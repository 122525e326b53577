// Draws boards of cells, such as MinAtar's.
#include "envs/render/render_board.h"

#include "common/oct_base.h"

#define GAP 0.03 // of a cell's side, on each side: shows the grid

static const render_color ground = {0.09, 0.1, 0.14};
static const render_color empty = {0.14, 0.16, 0.21};

bool
render_board_fits(const octet_env_space *obs)
{
    return obs->dtype == OCTET_ENV_U8 && obs->n == 0 && obs->rank == 3 &&
           obs->shape[0] <= RENDER_BOARD_SIDE_MAX && obs->shape[1] <= RENDER_BOARD_SIDE_MAX;
}

render_color
render_board_color(uint32_t channel)
{
    static const render_color palette[] = {
        {0.36, 0.78, 0.96}, {0.98, 0.92, 0.55}, {0.45, 0.8, 0.45}, {0.89, 0.37, 0.34},
        {0.55, 0.5, 0.36},  {0.75, 0.52, 0.89}, {0.97, 0.62, 0.3}, {0.35, 0.55, 0.9},
        {0.93, 0.55, 0.75}, {0.85, 0.87, 0.9},
    };
    return palette[channel % OCT_COUNTOF(palette)];
}

void
render_board_draw(render_canvas *canvas, const octet_env_space *obs, const uint8_t *cells)
{
    uint32_t rows = obs->shape[0], columns = obs->shape[1], channels = obs->shape[2];
    render_canvas_view(canvas, 0, 0, columns, rows);
    render_canvas_clear(canvas, ground);
    for (uint32_t row = 0; row < rows; row++) {
        for (uint32_t column = 0; column < columns; column++) {
            render_color color = empty;
            for (uint32_t channel = 0; channel < channels; channel++, cells++) {
                color = *cells != 0 ? render_board_color(channel) : color;
            }
            render_canvas_box(canvas, (render_point){column + GAP, rows - 1.0 - row + GAP},
                              (render_point){1 - 2 * GAP, 1 - 2 * GAP}, color);
        }
    }
}
