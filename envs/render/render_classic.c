// Draws the classic control environments (CartPole, MountainCar, Acrobot, Pendulum) from their
// state.
#include "envs/render/render_classic.h"

#include <math.h>
#include <string.h>

#include "common/oct_base.h"

static const render_color white = {1, 1, 1};
static const render_color black = {0, 0, 0};
static const render_color grey = {0.5, 0.5, 0.5};

// Returns (x, y) turned by angle, counter-clockwise, and moved to (at.x, at.y).
static render_point
placed(render_point at, double angle, double x, double y)
{
    double c = cos(angle), s = sin(angle);
    return (render_point){at.x + c * x - s * y, at.y + s * x + c * y};
}

// A rod along a line: from near to far, as measured from the line's beginning.
struct rod {
    double near, far, half_width;
};

// Draws a rod along angle from at. Returns its far end.
static render_point
rod_draw(render_canvas *canvas, render_point at, double angle, struct rod rod, render_color color)
{
    render_point corners[4] = {
        placed(at, angle, rod.near, -rod.half_width), placed(at, angle, rod.far, -rod.half_width),
        placed(at, angle, rod.far, rod.half_width), placed(at, angle, rod.near, rod.half_width)};
    render_canvas_polygon(canvas, corners, 4, color);
    return placed(at, angle, rod.far, 0);
}

// ---- CartPole: position, velocity, angle from upright (clockwise), angular velocity

#define CART_LIMIT  2.4 // position at which an episode ends
#define CART_TRACK  0.8 // height of the rail above the picture's lower edge
#define CART_WIDTH  0.4
#define CART_HEIGHT 0.24
#define POLE_LENGTH 1.0
#define POLE_HALF   0.04

static void
cartpole_draw(render_canvas *canvas, const double *state)
{
    const render_color pole = {0.79, 0.6, 0.4}, axle = {0.5, 0.52, 0.8};
    render_canvas_view(canvas, -CART_LIMIT, -CART_TRACK, 2 * CART_LIMIT, 3.2);
    render_canvas_clear(canvas, white);
    render_point rail[2] = {{-2 * CART_LIMIT, 0}, {2 * CART_LIMIT, 0}};
    render_canvas_path(canvas, rail, 2, 0.012, black);
    render_canvas_box(canvas, (render_point){state[0] - CART_WIDTH / 2, -CART_HEIGHT / 2},
                      (render_point){CART_WIDTH, CART_HEIGHT}, black);
    render_point joint = {state[0], CART_HEIGHT / 4};
    (void)rod_draw(canvas, joint, M_PI / 2 - state[2],
                   (struct rod){-POLE_HALF, POLE_LENGTH - POLE_HALF, POLE_HALF}, pole);
    render_canvas_circle(canvas, joint.x, joint.y, POLE_HALF, axle);
}

// ---- MountainCar: position, velocity

#define HILL_LEFT   (-1.2)
#define HILL_RIGHT  0.6
#define HILL_POINTS 100
#define CAR_LENGTH  0.12
#define CAR_HEIGHT  0.06
#define CAR_LIFT    0.03 // of the car's floor above the ground
#define WHEEL       0.024
#define FLAG_HEIGHT 0.15

static double
hill(double x)
{
    return 0.45 * sin(3 * x) + 0.55;
}

static void
flag_draw(render_canvas *canvas, double x)
{
    const render_color cloth = {0.8, 0.8, 0};
    double top = hill(x) + FLAG_HEIGHT;
    render_point mast[2] = {{x, hill(x)}, {x, top}};
    render_canvas_path(canvas, mast, 2, 0.004, black);
    render_point flag[3] = {{x, top}, {x, top - 0.03}, {x + 0.075, top - 0.015}};
    render_canvas_polygon(canvas, flag, 3, cloth);
}

static void
car_draw(render_canvas *canvas, double position)
{
    render_point ground = {position, hill(position)};
    double slope = atan(1.35 * cos(3 * position)); // the hill's derivative
    render_point body[4] = {placed(ground, slope, -CAR_LENGTH / 2, CAR_LIFT),
                            placed(ground, slope, CAR_LENGTH / 2, CAR_LIFT),
                            placed(ground, slope, CAR_LENGTH / 2, CAR_LIFT + CAR_HEIGHT),
                            placed(ground, slope, -CAR_LENGTH / 2, CAR_LIFT + CAR_HEIGHT)};
    render_canvas_polygon(canvas, body, 4, black);
    for (int side = -1; side <= 1; side += 2) {
        render_point wheel = placed(ground, slope, side * CAR_LENGTH / 4, CAR_LIFT);
        render_canvas_circle(canvas, wheel.x, wheel.y, WHEEL, grey);
    }
}

static void
mountain_draw(render_canvas *canvas, double position, double goal)
{
    render_canvas_view(canvas, HILL_LEFT, 0, HILL_RIGHT - HILL_LEFT, 1.2);
    render_canvas_clear(canvas, white);
    render_point track[HILL_POINTS];
    for (int k = 0; k < HILL_POINTS; k++) {
        track[k].x = HILL_LEFT + (HILL_RIGHT - HILL_LEFT) * k / (HILL_POINTS - 1);
        track[k].y = hill(track[k].x);
    }
    render_canvas_path(canvas, track, HILL_POINTS, 0.012, black);
    flag_draw(canvas, goal);
    car_draw(canvas, position);
}

static void
mountain_car_draw(render_canvas *canvas, const double *state)
{
    mountain_draw(canvas, state[0], 0.5);
}

static void
mountain_car_continuous_draw(render_canvas *canvas, const double *state)
{
    mountain_draw(canvas, state[0], 0.45);
}

// ---- Acrobot: both angles (the first from hanging, the second relative to it), both velocities

static void
acrobot_draw(render_canvas *canvas, const double *state)
{
    const render_color link = {0, 0.8, 0.8}, joint = {0.8, 0.8, 0};
    render_canvas_view(canvas, -2.2, -2.2, 4.4, 4.4);
    render_canvas_clear(canvas, white);
    render_point bar[2] = {{-2.2, 1}, {2.2, 1}}; // the height to reach
    render_canvas_path(canvas, bar, 2, 0.012, black);
    double angle = state[0] - M_PI / 2;
    render_point shoulder = {0, 0};
    render_point elbow = rod_draw(canvas, shoulder, angle, (struct rod){0, 1, 0.1}, link);
    render_canvas_circle(canvas, shoulder.x, shoulder.y, 0.1, joint);
    (void)rod_draw(canvas, elbow, angle + state[1], (struct rod){0, 1, 0.1}, link);
    render_canvas_circle(canvas, elbow.x, elbow.y, 0.1, joint);
}

// ---- Pendulum: angle from upright (counter-clockwise), angular velocity

static void
pendulum_draw(render_canvas *canvas, const double *state)
{
    const render_color rod = {0.8, 0.3, 0.3};
    render_canvas_view(canvas, -2.2, -2.2, 4.4, 4.4);
    render_canvas_clear(canvas, white);
    render_point ends[2] = {{0, 0}, placed((render_point){0, 0}, state[0] + M_PI / 2, 1, 0)};
    render_canvas_path(canvas, ends, 2, 0.2, rod);
    render_canvas_circle(canvas, 0, 0, 0.05, black);
}

const render_classic *
render_classic_find(const char *id)
{
    static const render_classic table[] = {
        {"CartPole-v1", 600, 400, 50, 4, cartpole_draw},
        {"MountainCar-v0", 600, 400, 30, 2, mountain_car_draw},
        {"MountainCarContinuous-v0", 600, 400, 30, 2, mountain_car_continuous_draw},
        {"Acrobot-v1", 480, 480, 15, 4, acrobot_draw},
        {"Pendulum-v1", 480, 480, 20, 2, pendulum_draw},
    };
    for (size_t k = 0; k < OCT_COUNTOF(table); k++) {
        if (strcmp(table[k].id, id) == 0) {
            return &table[k];
        }
    }
    return NULL;
}
