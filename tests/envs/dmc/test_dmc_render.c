// Pictures of the Control Suite. Skipped (77) where the machine has no OpenGL of the kind that
// MUJOCO_GL asks for; argument "absent": there is none, and the message says what to install;
// "unknown": it asks for another, and the message says which there are.
#include "tests/envs/env_test.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define WIDTH  64
#define HEIGHT 48
#define BYTES  (WIDTH * HEIGHT * 3)

static const uint8_t blank[BYTES];

static bool
works(char *text, size_t size)
{
    env *e = env_opened("dmc:pendulum_swingup", "", 1, 0, true);
    uint8_t rgb[BYTES];
    bool drawn = env_render(e, 0, WIDTH, HEIGHT, rgb) == OCT_OK;
    snprintf(text, size, "%s", drawn ? "" : env_error(e));
    env_close(e);
    return drawn;
}

static void
picture(env *e, uint32_t i, uint8_t *rgb)
{
    if (env_render(e, i, WIDTH, HEIGHT, rgb) != OCT_OK) {
        fail_msg("%s", env_error(e));
    }
}

static uint32_t
differing(const uint8_t *a, const uint8_t *b)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < BYTES; k++) {
        count += a[k] != b[k];
    }
    return count;
}

static void
test_picture_shows_the_state_and_repeats(void **state)
{
    (void)state;
    env *e = env_opened("dmc:pendulum_swingup", "", 2, 0, true);
    const double up[2] = {0, 0}, down[2] = {3.14, 0};
    T_OK(env_state_set(e, 0, up, 1, NULL));
    T_OK(env_state_set(e, 1, down, 1, NULL));
    uint8_t first[BYTES], second[BYTES], again[BYTES];
    picture(e, 0, first);
    picture(e, 1, second);
    picture(e, 0, again);
    assert_true(differing(first, blank) > BYTES / 2);
    assert_true(differing(first, second) > 60);
    assert_memory_equal(first, again, BYTES);
    T_OK(env_state_set(e, 1, up, 1, NULL));
    picture(e, 1, again);
    assert_memory_equal(first, again, BYTES);
    env_close(e);
}

// The sky is above, brighter and bluer than the floor.
static void
test_picture_is_the_right_way_up(void **state)
{
    (void)state;
    env *e = env_opened("dmc:pendulum_swingup", "", 1, 0, true);
    uint8_t rgb[BYTES];
    picture(e, 0, rgb);
    const uint8_t *above = rgb, *below = rgb + BYTES - 3 * (WIDTH / 2);
    assert_true(above[0] > 120 && above[2] >= above[0]);
    assert_true(below[0] < above[0] && below[2] < above[2]);
    env_close(e);
}

static void
test_models_have_pictures_of_their_own(void **state)
{
    (void)state;
    const char *const ids[] = {"ball_in_cup_catch", "humanoid_run", "reacher_easy",
                               "swimmer_swimmer6"};
    uint8_t last[BYTES] = {0};
    for (size_t k = 0; k < OCT_COUNTOF(ids); k++) {
        char id[64];
        snprintf(id, sizeof(id), "dmc:%s", ids[k]);
        env *e = env_opened(id, "", 1, 3, true);
        uint8_t rgb[BYTES];
        picture(e, 0, rgb);
        assert_true(differing(rgb, last) > BYTES / 10);
        memcpy(last, rgb, BYTES);
        env_close(e);
    }
}

// Its own camera keeps it in sight: a part of the picture is of the body's warm colours, and still
// is when it has moved.
static void
test_camera_follows_the_body(void **state)
{
    (void)state;
    env *e = env_opened("dmc:cheetah_run", "", 1, 0, true);
    double physical[18 + 9] = {0}; // with the start before settling
    for (int k = 0; k < 9; k++) {
        physical[18 + k] = NAN;
    }
    for (int place = 0; place < 2; place++) {
        physical[0] = 30 * place;
        T_OK(env_state_set(e, 0, physical, 1, NULL));
        uint8_t rgb[BYTES];
        picture(e, 0, rgb);
        uint32_t warm = 0;
        for (uint32_t k = 0; k < BYTES; k += 3) {
            warm += rgb[k] > rgb[k + 2] + 40;
        }
        assert_true(warm > WIDTH * HEIGHT / 100);
    }
    env_close(e);
}

static void
test_size_can_change_and_has_limits(void **state)
{
    (void)state;
    env *e = env_opened("dmc:cheetah_run", "", 1, 0, true);
    uint8_t small[BYTES], again[BYTES];
    picture(e, 0, small);
    uint8_t *large = oct_alloc(9 * BYTES);
    T_OK(env_render(e, 0, 3 * WIDTH, 3 * HEIGHT, large));
    picture(e, 0, again);
    assert_memory_equal(small, again, BYTES);
    T_ERR(env_render(e, 0, 0, 1, large), OCT_EINTERNAL);
    T_SAYS(env_error(e), "must be 1 to 4096");
    T_ERR(env_render(e, 0, 1, 4097, large), OCT_EINTERNAL);
    free(large);
    env_close(e);
}

// Two alike, one of them looked at all the time: the same numbers.
static void
test_looking_changes_nothing(void **state)
{
    (void)state;
    env *seen = env_opened("dmc:walker_walk", "", 1, 5, true);
    env *other = env_opened("dmc:walker_walk", "", 1, 5, true);
    float action[6] = {0.3F, -0.2F, 0.9F, -1, 0.5F, 0.1F}, obs[2][24];
    uint8_t rgb[BYTES];
    for (int k = 0; k < 20; k++) {
        env *both[2] = {seen, other};
        picture(seen, 0, rgb);
        for (int i = 0; i < 2; i++) {
            octet_env_io io = {.size = sizeof(io),
                               .action = action,
                               .action_stride = sizeof(action),
                               .obs = obs[i],
                               .obs_stride = sizeof(obs[i])};
            T_OK(env_step(both[i], &io));
        }
        assert_memory_equal(obs[0], obs[1], sizeof(obs[0]));
    }
    env_close(seen);
    env_close(other);
}

static void *
draws_many(void *arg)
{
    uint8_t *last = arg;
    env *e = env_opened("dmc:reacher_easy", "", 1, 9, true);
    for (int k = 0; k < 5; k++) {
        picture(e, 0, last);
    }
    env_close(e);
    return NULL;
}

static void
test_threads_draw_the_same(void **state)
{
    (void)state;
    static uint8_t pictures[3][BYTES];
    pthread_t threads[3];
    for (int k = 0; k < 3; k++) {
        assert_int_equal(pthread_create(&threads[k], NULL, draws_many, pictures[k]), 0);
    }
    for (int k = 0; k < 3; k++) {
        assert_int_equal(pthread_join(threads[k], NULL), 0);
    }
    assert_memory_equal(pictures[0], pictures[1], BYTES);
    assert_memory_equal(pictures[0], pictures[2], BYTES);
}

static void
test_handles_come_and_go(void **state)
{
    (void)state;
    env *kept = env_opened("dmc:pendulum_swingup", "", 1, 2, true);
    uint8_t first[BYTES], rgb[BYTES];
    picture(kept, 0, first);
    for (int k = 0; k < 3; k++) {
        env *e = env_opened("dmc:pendulum_swingup", "", 1, 2, true);
        picture(e, 0, rgb);
        assert_memory_equal(first, rgb, BYTES);
        env_close(e);
    }
    picture(kept, 0, rgb);
    assert_memory_equal(first, rgb, BYTES);
    env_close(kept);
}

static bool
is_refused(env *e)
{
    uint8_t rgb[BYTES];
    return env_render(e, 0, WIDTH, HEIGHT, rgb) != OCT_OK &&
           strstr(env_error(e), "not usable in a forked process") != NULL;
}

// It has neither the thread that draws nor the driver's, and would wait for them.
static void
test_fork_is_refused_and_disturbs_nobody(void **state)
{
    (void)state;
    env *e = env_opened("dmc:pendulum_swingup", "", 1, 2, true);
    uint8_t first[BYTES], again[BYTES];
    picture(e, 0, first);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        env *own = env_opened("dmc:pendulum_swingup", "", 1, 2, true);
        int refused = is_refused(e) + is_refused(own);
        env_close(own);
        env_close(e);
        _exit(refused);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2);
    picture(e, 0, again);
    assert_memory_equal(first, again, BYTES);
    env_close(e);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_picture_shows_the_state_and_repeats),
        cmocka_unit_test(test_picture_is_the_right_way_up),
        cmocka_unit_test(test_models_have_pictures_of_their_own),
        cmocka_unit_test(test_camera_follows_the_body),
        cmocka_unit_test(test_size_can_change_and_has_limits),
        cmocka_unit_test(test_looking_changes_nothing),
        cmocka_unit_test(test_threads_draw_the_same),
        cmocka_unit_test(test_handles_come_and_go),
        cmocka_unit_test(test_fork_is_refused_and_disturbs_nobody),
    };
    char text[256];
    bool drawn = works(text, sizeof(text));
    if (argc > 1 && strcmp(argv[1], "absent") == 0) {
        bool told =
            !drawn && strstr(text, "apt-get install libegl1 libgl1-mesa-dri, or libosmesa6");
        fprintf(stderr, "without OpenGL: %s\n", drawn ? "it draws all the same" : text);
        return told ? 0 : 1;
    }
    if (argc > 1 && strcmp(argv[1], "unknown") == 0) {
        bool told = !drawn && strstr(text, "MUJOCO_GL is 'glfw'; allowed are egl and osmesa");
        fprintf(stderr, "%s\n", drawn ? "it draws all the same" : text);
        return told ? 0 : 1;
    }
    if (!drawn) {
        fprintf(stderr, "SKIPPED: pictures of the Control Suite: %s\n", text);
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
