// Shapes land on the pixels they should, and pictures are written as valid PNG files.
#include "common/oct_reason.h"
#include "tests/envs/render/render_pixels.h"

#include <unistd.h>

#include "common/oct_file.h"

static const render_color white = {1, 1, 1};
static const render_color red = {1, 0, 0};
static const render_color blue = {0, 0, 1};

// 200 x 100 pixels; the world's square from (-1, -1) to (1, 1) lies in the middle, y upwards.
static void
test_view_fits_the_world_into_the_picture(void **state)
{
    (void)state;
    render_canvas *canvas = canvas_of(200, 100);
    render_canvas_view(canvas, -1, -1, 2, 2);
    render_point middle = render_canvas_pixel(canvas, 0, 0);
    render_point corner = render_canvas_pixel(canvas, -1, 1);
    T_NEAR(middle.x, 100, 1e-9, 0);
    T_NEAR(middle.y, 50, 1e-9, 0);
    T_NEAR(corner.x, 50, 1e-9, 0);
    T_NEAR(corner.y, 0, 1e-9, 0);
    render_canvas_destroy(canvas);
}

static void
test_shapes_lie_where_they_are_told(void **state)
{
    (void)state;
    render_canvas *canvas = canvas_of(200, 100);
    render_canvas_view(canvas, 0, 0, 20, 10);
    render_canvas_clear(canvas, white);
    render_canvas_box(canvas, (render_point){1, 1}, (render_point){4, 2}, red);
    render_canvas_circle(canvas, 10, 5, 2, blue);
    render_point path[2] = {{15, 1}, {15, 9}};
    render_canvas_path(canvas, path, 2, 1, red);
    pixels p = pixels_of(canvas, 200, 100);
    T_COLOR(&p, 30, 80, red);
    T_COLOR(&p, 30, 65, white); // above the box
    T_COLOR(&p, 60, 80, white); // beside it
    T_COLOR(&p, 100, 50, blue);
    T_COLOR(&p, 117, 50, blue);
    T_COLOR(&p, 117, 33, white); // the corner that a square would have
    T_COLOR(&p, 147, 50, red);
    T_COLOR(&p, 158, 50, white);
    free(p.rgb);
    render_canvas_destroy(canvas);
}

static void
test_sizes_that_cannot_be_are_refused(void **state)
{
    (void)state;
    const uint32_t sizes[][2] = {{0, 10}, {10, 0}, {RENDER_SIDE_MAX + 1, 10}};
    for (size_t i = 0; i < OCT_COUNTOF(sizes); i++) {
        render_canvas *canvas = NULL;
        oct_reason why = {""};
        T_ERR(render_canvas_create(&canvas, sizes[i][0], sizes[i][1], &why), OCT_EINVAL);
        assert_non_null(strstr(why.text, "must be 1 to 8192"));
        assert_null(canvas);
    }
}

static uint32_t
big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void
test_png_has_its_size_and_replaces_the_old_file(void **state)
{
    (void)state;
    char path[] = "/tmp/octet-png-XXXXXX";
    oct_reason why = {""};
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, "old", 3) == 3);
    (void)close(file);
    uint8_t rgb[7 * 5 * 3] = {0};
    T_OK(render_png_write(path, rgb, 7, 5, &why));
    uint8_t *bytes;
    size_t length;
    T_OK(oct_file_read(path, 1 << 20, &bytes, &length));
    assert_true(length > 33);
    assert_memory_equal(bytes, "\x89PNG\r\n\x1a\n", 8);
    assert_memory_equal(bytes + 12, "IHDR", 4);
    assert_int_equal(big_endian(bytes + 16), 7);
    assert_int_equal(big_endian(bytes + 20), 5);
    free(bytes);
    (void)unlink(path);
}

static void
test_png_into_no_folder_names_the_file(void **state)
{
    (void)state;
    uint8_t rgb[3] = {0};
    oct_reason why = {""};
    T_ERR(render_png_write("/nowhere/at/all.png", rgb, 1, 1, &why), OCT_EIO);
    assert_non_null(strstr(why.text, "cannot write '/nowhere/at/all.png': No such file"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_view_fits_the_world_into_the_picture),
        cmocka_unit_test(test_shapes_lie_where_they_are_told),
        cmocka_unit_test(test_sizes_that_cannot_be_are_refused),
        cmocka_unit_test(test_png_has_its_size_and_replaces_the_old_file),
        cmocka_unit_test(test_png_into_no_folder_names_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
