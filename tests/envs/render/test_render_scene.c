// Pictures of environments show the state they are drawn from, checked at single pixels.
#include "common/oct_reason.h"
#include "tests/envs/render/render_pixels.h"

#include "envs/env.h"
#include "envs/render/render_board.h"
#include "envs/render/render_classic.h"
#include "envs/render/render_scene.h"

#define WIDTH  600
#define HEIGHT 400

static const render_color white = {1, 1, 1};
static const render_color black = {0, 0, 0};
static const render_color pole = {0.79, 0.6, 0.4};
static const render_color cloth = {0.8, 0.8, 0};
static const render_color link_color = {0, 0.8, 0.8};
static const render_color rod = {0.8, 0.3, 0.3};

// A state drawn, with what the canvas still knows about where things are.
typedef struct drawn {
    render_canvas *canvas;
    pixels p;
} drawn;

static drawn
draw(const char *id, uint32_t width, uint32_t height, const double *state)
{
    const render_classic *classic = render_classic_find(id);
    assert_non_null(classic);
    drawn d = {.canvas = canvas_of(width, height)};
    classic->draw(d.canvas, state);
    d.p = pixels_of(d.canvas, width, height);
    return d;
}

static void
drawn_free(drawn *d)
{
    free(d->p.rgb);
    render_canvas_destroy(d->canvas);
}

// At a point of the world.
static void
sees(const drawn *d, double x, double y, render_color color)
{
    render_point at = render_canvas_pixel(d->canvas, x, y);
    T_COLOR(&d->p, at.x, at.y, color);
}

static void
test_cartpole_cart_and_pole_follow_the_state(void **state)
{
    (void)state;
    for (int k = -1; k <= 1; k++) {
        double x = 1.5 * k, angle = 0.15 * k; // right of upright is positive
        double physical[4] = {x, 0, angle, 0};
        drawn d = draw("CartPole-v1", WIDTH, HEIGHT, physical);
        sees(&d, x - 0.15, 0, black);
        sees(&d, x + 0.15, 0, black);
        double tip_x = x + 0.9 * sin(angle), tip_y = 0.06 + 0.9 * cos(angle);
        sees(&d, tip_x, tip_y, pole);
        sees(&d, tip_x + 0.1, tip_y, white);
        sees(&d, tip_x - 0.1, tip_y, white);
        sees(&d, x, -0.3, white);
        drawn_free(&d);
    }
}

static double
hill(double x)
{
    return 0.45 * sin(3 * x) + 0.55;
}

static void
test_mountain_car_stands_on_the_hill_and_the_flag_at_the_goal(void **state)
{
    (void)state;
    const char *const ids[] = {"MountainCar-v0", "MountainCarContinuous-v0"};
    const double goals[] = {0.5, 0.45};
    for (size_t i = 0; i < 2; i++) {
        double physical[2] = {-0.5236, 0}; // the valley
        drawn d = draw(ids[i], WIDTH, HEIGHT, physical);
        sees(&d, -0.5236, hill(-0.5236) + 0.06, black);
        sees(&d, 0.2, hill(0.2), black);
        sees(&d, 0.2, hill(0.2) + 0.06, white);
        double flag = hill(goals[i]) + 0.15 - 0.015;
        sees(&d, goals[i] + 0.02, flag, cloth);
        sees(&d, goals[i] - 0.02, flag, white);
        drawn_free(&d);
    }
    double uphill[2] = {0.2, 0.03};
    drawn d = draw(ids[0], WIDTH, HEIGHT, uphill);
    sees(&d, 0.2 - 0.06 * sin(atan(1.35 * cos(0.6))), hill(0.2) + 0.06 * cos(atan(1.35 * cos(0.6))),
         black);
    drawn_free(&d);
}

static void
test_acrobot_links_hang_by_their_angles(void **state)
{
    (void)state;
    const double cases[][2] = {{0, 0}, {1, 0}, {0.5, -1.2}, {3, 2}};
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        double first = cases[i][0], both = cases[i][0] + cases[i][1];
        double physical[4] = {first, cases[i][1], 0, 0};
        drawn d = draw("Acrobot-v1", 960, 960, physical);
        sees(&d, 0.5 * sin(first), -0.5 * cos(first), link_color);
        sees(&d, sin(first) + 0.9 * sin(both), -cos(first) - 0.9 * cos(both), link_color);
        sees(&d, 0, 0, cloth);
        sees(&d, 2, 1, black); // the bar
        drawn_free(&d);
    }
}

static void
test_pendulum_rod_points_where_its_angle_says(void **state)
{
    (void)state;
    const double angles[] = {0, 0.7, -2, 3.1};
    for (size_t i = 0; i < OCT_COUNTOF(angles); i++) {
        double physical[2] = {angles[i], 0};
        drawn d = draw("Pendulum-v1", 480, 480, physical);
        // Upright at 0, counter-clockwise positive.
        sees(&d, -0.95 * sin(angles[i]), 0.95 * cos(angles[i]), rod);
        sees(&d, 0.5 * sin(angles[i]), -0.5 * cos(angles[i]), white);
        drawn_free(&d);
    }
}

static void
test_board_shows_each_cell_and_the_highest_channel(void **state)
{
    (void)state;
    octet_env_space space = {
        .size = sizeof(space), .dtype = OCTET_ENV_U8, .rank = 3, .shape = {10, 10, 4}};
    assert_true(render_board_fits(&space));
    uint8_t cells[10][10][4] = {0};
    cells[0][0][0] = 1; // top left
    cells[9][3][2] = 1; // lowest row
    cells[4][5][1] = 1;
    cells[4][5][3] = 1;
    render_canvas *canvas = canvas_of(200, 200);
    render_board_draw(canvas, &space, &cells[0][0][0]);
    pixels p = pixels_of(canvas, 200, 200);
    T_COLOR(&p, 10, 10, render_board_color(0));
    T_COLOR(&p, 70, 190, render_board_color(2));
    T_COLOR(&p, 110, 90, render_board_color(3));
    assert_false(is_color(pixel_at(&p, 30, 10), render_board_color(0)));
    // A line between cells.
    assert_memory_not_equal(pixel_at(&p, 20, 150), pixel_at(&p, 30, 150), 3);
    free(p.rgb);
    render_canvas_destroy(canvas);
    space.dtype = OCTET_ENV_F32;
    assert_false(render_board_fits(&space));
}

static env *
opened(const char *id)
{
    oct_reason why = {""};
    env *e = NULL;
    env_request request = {.id = id, .options = "", .count = 2, .seed = 1, .autoreset = true};
    oct_err err = env_open(&e, &request, &why);
    assert_string_equal(why.text, "");
    T_OK(err);
    return e;
}

static void
test_scene_draws_the_environment_that_is_asked_for(void **state)
{
    (void)state;
    env *e = opened("CartPole-v1");
    render_scene *scene = NULL;
    oct_reason why = {""};
    T_OK(render_scene_open(&scene, e, 0, 0, &why));
    assert_int_equal(render_scene_width(scene), WIDTH);
    assert_int_equal(render_scene_height(scene), HEIGHT);
    T_NEAR(render_scene_steps_per_second(scene), 50, 0, 0);
    const double left[4] = {-2, 0, 0, 0}, right[4] = {2, 0, 0, 0};
    T_OK(env_state_set(e, 0, left, 0, NULL));
    T_OK(env_state_set(e, 1, right, 0, NULL));
    pixels p = {WIDTH, HEIGHT, oct_alloc(WIDTH * HEIGHT * 3)};
    for (uint32_t i = 0; i < 2; i++) {
        T_OK(render_scene_draw(scene, e, i, NULL, p.rgb, &why));
        T_COLOR(&p, i == 0 ? 40 : 560, 300, black);
        T_COLOR(&p, i == 0 ? 560 : 40, 280, white);
    }
    free(p.rgb);
    render_scene_close(scene);
    env_close(e);
}

static void
test_scene_of_repeated_actions_shows_the_state_inside(void **state)
{
    (void)state;
    oct_reason why = {""};
    env *e = NULL;
    render_scene *scene = NULL;
    const env_request request = {
        .id = "CartPole-v1", .options = "action_repeat=2", .count = 1, .autoreset = true};
    T_OK(env_open(&e, &request, &why));
    T_OK(render_scene_open(&scene, e, 0, 0, &why));
    const double left[4] = {-2, 0, 0, 0};
    T_OK(env_state_set(e, 0, left, 0, NULL));
    pixels p = {WIDTH, HEIGHT, oct_alloc(WIDTH * HEIGHT * 3)};
    T_OK(render_scene_draw(scene, e, 0, NULL, p.rgb, &why));
    T_COLOR(&p, 40, 300, black);
    T_COLOR(&p, 560, 280, white);
    free(p.rgb);
    render_scene_close(scene);
    env_close(e);
}

// The example plug-in has neither a render function nor a board.
static void
test_scene_of_what_cannot_be_drawn_says_so(void **state)
{
    (void)state;
    const char *path = getenv("OCTET_TEST_POINT");
    assert_non_null(path);
    env *e = opened(path);
    render_scene *scene = NULL;
    oct_reason why = {""};
    T_ERR(render_scene_open(&scene, e, 0, 0, &why), OCT_ENOTFOUND);
    assert_non_null(strstr(why.text, "cannot be drawn: it does not claim OCTET_ENV_CAN_RENDER"));
    uint8_t rgb[3];
    T_ERR(env_render(e, 0, 1, 1, rgb), OCT_EINVAL);
    assert_non_null(strstr(env_error(e), "has no render"));
    env_close(e);
}

static void
test_size_is_read_or_refused(void **state)
{
    (void)state;
    uint32_t size[2] = {0};
    oct_arg_given given = {.field = size, .text = "640x480"};
    T_OK(render_size_take(&given));
    assert_int_equal(size[0], 640);
    assert_int_equal(size[1], 480);
    given.text = "1x8192";
    T_OK(render_size_take(&given));
    const char *const wrong[] = {"",     "640",   "640x",   "x480",
                                 "0x5",  "5x0",   "5x8193", "-5x5",
                                 "5 x5", "5x5x5", "5x5 ",   "99999999999999999999x5"};
    for (size_t i = 0; i < OCT_COUNTOF(wrong); i++) {
        given.text = wrong[i];
        T_ERR(render_size_take(&given), OCT_EINVAL);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cartpole_cart_and_pole_follow_the_state),
        cmocka_unit_test(test_mountain_car_stands_on_the_hill_and_the_flag_at_the_goal),
        cmocka_unit_test(test_acrobot_links_hang_by_their_angles),
        cmocka_unit_test(test_pendulum_rod_points_where_its_angle_says),
        cmocka_unit_test(test_board_shows_each_cell_and_the_highest_channel),
        cmocka_unit_test(test_scene_draws_the_environment_that_is_asked_for),
        cmocka_unit_test(test_scene_of_repeated_actions_shows_the_state_inside),
        cmocka_unit_test(test_scene_of_what_cannot_be_drawn_says_so),
        cmocka_unit_test(test_size_is_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
