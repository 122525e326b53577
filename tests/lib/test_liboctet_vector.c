// liboctet.so through its public headers: what is refused, the three ways in which episodes follow
// each other, and that the number of threads changes nothing.
#include "common/oct_reason.h"
#include "include/octet/octet.h"

#include "envs/env.h"
#include "tests/support/oct_test.h"

#include <stdlib.h>

enum { COUNT = 7, STEPS = 300 };

// Buffers of a vector whose observations are 4 floats.
struct rows {
    int32_t action[COUNT];
    float obs[COUNT][4], final_obs[COUNT][4], reward[COUNT];
    double reward64[COUNT];
    uint8_t flags[COUNT];
    int32_t ep_length[COUNT];
};

static octet_env_io
io_of(struct rows *rows)
{
    return (octet_env_io){.size = sizeof(octet_env_io),
                          .action = rows->action,
                          .action_stride = sizeof(rows->action[0]),
                          .obs = rows->obs,
                          .obs_stride = sizeof(rows->obs[0]),
                          .final_obs = rows->final_obs,
                          .final_obs_stride = sizeof(rows->final_obs[0]),
                          .reward = rows->reward,
                          .flags = rows->flags,
                          .ep_length = rows->ep_length,
                          .reward64 = rows->reward64};
}

static octet_vector *
open_vector(const char *id, uint32_t threads, uint32_t autoreset)
{
    octet_vector_config config = {.size = sizeof(config),
                                  .id = id,
                                  .count = COUNT,
                                  .threads = threads,
                                  .autoreset = autoreset,
                                  .seed = 5};
    octet_vector *vector = NULL;
    char error[OCTET_VECTOR_ERROR_BYTES] = "";
    assert_int_equal(octet_vector_open(&vector, &config, error, sizeof(error)), OCTET_VECTOR_OK);
    assert_string_equal(error, "");
    assert_string_equal(octet_vector_error(vector), "");
    return vector;
}

// Left and right, differently in each environment: poles fall after different steps.
static void
actions_fill(struct rows *rows, int step)
{
    for (int i = 0; i < COUNT; i++) {
        rows->action[i] = step * (i + 1) / 3 % 2;
    }
}

static void
refuse(octet_vector_config config, int want, const char *words)
{
    octet_vector *vector = NULL;
    char error[OCTET_VECTOR_ERROR_BYTES] = "";
    assert_int_equal(octet_vector_open(&vector, &config, error, sizeof(error)), want);
    assert_int_equal(octet_vector_open(&vector, &config, NULL, 0), want);
    assert_null(vector);
    if (strstr(error, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error, words);
    }
}

static void
test_what_cannot_be_opened_is_refused_in_words(void **state)
{
    (void)state;
    octet_vector_config good = {.size = sizeof(good), .id = "CartPole-v1", .count = 4};
    octet_vector_config bad = good;
    bad.id = "CartPole-v2";
    refuse(bad, OCTET_VECTOR_ENOTFOUND, "did you mean CartPole-v1?");
    bad.id = NULL;
    refuse(bad, OCTET_VECTOR_EINVAL, "config.id");
    bad = good;
    bad.size = 8;
    refuse(bad, OCTET_VECTOR_EINVAL, "config.size");
    bad = good;
    bad.count = 0;
    refuse(bad, OCTET_VECTOR_EINVAL, "0 environments: not in 1 .. 1048576");
    bad = good;
    bad.threads = 5;
    refuse(bad, OCTET_VECTOR_EINVAL, "no more than environments");
    bad = good;
    bad.autoreset = 3;
    refuse(bad, OCTET_VECTOR_EINVAL, "autoreset 3");
    bad = good;
    bad.options = "gravity=3";
    refuse(bad, OCTET_VECTOR_EINVAL, "gravity");
    octet_vector_close(NULL);
}

static void
test_a_step_that_cannot_be_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    static struct rows rows;
    octet_env_io io = io_of(&rows), small;
    for (uint32_t threads = 1; threads <= 3; threads++) {
        octet_vector *vector = open_vector("CartPole-v1", threads, OCTET_VECTOR_SAME_STEP);
        assert_int_equal(octet_vector_reset(vector, NULL, NULL, &io), 0);
        double before[4], after[4];
        uint32_t step;
        memset(rows.action, 0, sizeof(rows.action));
        rows.action[COUNT - 1] = 2; // the last part
        assert_int_equal(octet_vector_get_state(vector, 0, before, &step), 0);
        assert_int_equal(octet_vector_step(vector, &io), OCTET_VECTOR_EINVAL);
        assert_non_null(strstr(octet_vector_error(vector), "of environment 6"));
        assert_int_equal(octet_vector_get_state(vector, 0, after, &step), 0);
        assert_memory_equal(before, after, sizeof(before));
        assert_int_equal(step, 0);
        small = io;
        small.obs_stride = 15;
        assert_int_equal(octet_vector_step(vector, &small), OCTET_VECTOR_EINVAL);
        assert_int_equal(octet_vector_reset(vector, NULL, NULL, &small), OCTET_VECTOR_EINVAL);
        small = io;
        small.action = NULL;
        assert_int_equal(octet_vector_step(vector, &small), OCTET_VECTOR_EINVAL);
        assert_int_equal(octet_vector_get_state(vector, COUNT, after, &step), OCTET_VECTOR_EINVAL);
        assert_int_equal(octet_vector_render(vector, COUNT, rows.obs, 0, 0, NULL),
                         OCTET_VECTOR_EINVAL);
        octet_vector_close(vector);
    }
}

// The environments as the actors have them.
static void
test_it_steps_as_the_actors_do_with_any_number_of_threads(void **state)
{
    (void)state;
    static struct rows want, got;
    octet_env_io want_io = io_of(&want), got_io = io_of(&got);
    for (uint32_t threads = 1; threads <= COUNT; threads += 3) {
        env_request request = {
            .id = "CartPole-v1", .options = "", .count = COUNT, .seed = 5, .autoreset = true};
        env *e;
        oct_reason why;
        T_OK(env_open(&e, &request, &why));
        octet_vector *vector = open_vector("CartPole-v1", threads, OCTET_VECTOR_SAME_STEP);
        T_OK(env_reset(e, NULL, NULL, &want_io));
        assert_int_equal(octet_vector_reset(vector, NULL, NULL, &got_io), 0);
        int ends = 0;
        for (int step = 0; step < STEPS; step++) {
            actions_fill(&want, step);
            actions_fill(&got, step);
            T_OK(env_step(e, &want_io));
            assert_int_equal(octet_vector_step(vector, &got_io), 0);
            assert_memory_equal(&want, &got, sizeof(got));
            ends += got.flags[0] & OCTET_ENV_TERMINATED;
        }
        assert_true(ends >= 3);
        assert_int_equal(octet_vector_failures(vector), 0);
        env_close(e);
        octet_vector_close(vector);
    }
}

// What environment i shows after its end: that, in step, for the other two ways.
static void
test_after_an_end_the_next_step_resets_and_ignores_the_action(void **state)
{
    (void)state;
    static struct rows same, next;
    octet_env_io same_io = io_of(&same), next_io = io_of(&next);
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        octet_vector *a = open_vector("CartPole-v1", 1, OCTET_VECTOR_SAME_STEP);
        octet_vector *b = open_vector("CartPole-v1", threads, OCTET_VECTOR_NEXT_STEP);
        assert_int_equal(octet_vector_reset(a, NULL, NULL, &same_io), 0);
        assert_int_equal(octet_vector_reset(b, NULL, NULL, &next_io), 0);
        int i = 3, ends = 0;
        for (int step = 0; step < STEPS; step++) {
            actions_fill(&same, step);
            actions_fill(&next, step);
            assert_int_equal(octet_vector_step(a, &same_io), 0);
            assert_int_equal(octet_vector_step(b, &next_io), 0);
            assert_true(next.reward[i] == 1.0f && next.reward64[i] == 1.0);
            if ((same.flags[i] & OCTET_ENV_TERMINATED) == 0) {
                assert_memory_equal(next.obs[i], same.obs[i], sizeof(next.obs[i]));
                assert_int_equal(next.flags[i], 0);
                continue;
            }
            ends++;
            assert_int_equal(next.flags[i], OCTET_ENV_TERMINATED);
            assert_memory_equal(next.obs[i], same.final_obs[i], sizeof(next.obs[i]));
            next.action[i] = 99;
            assert_int_equal(octet_vector_step(b, &next_io), 0);
            assert_int_equal(next.flags[i], OCTET_ENV_OBS_IS_RESET);
            assert_true(next.reward[i] == 0.0f && next.reward64[i] == 0.0);
            assert_memory_equal(next.obs[i], same.obs[i], sizeof(next.obs[i]));
        }
        assert_true(ends >= 3);
        octet_vector_close(a);
        octet_vector_close(b);
    }
}

// Steps until an episode ends; gives whose.
static uint32_t
step_to_an_end(octet_vector *vector, struct rows *rows, octet_env_io *io)
{
    for (int step = 0; step < STEPS; step++) {
        actions_fill(rows, step);
        assert_int_equal(octet_vector_step(vector, io), 0);
        for (uint32_t i = 0; i < COUNT; i++) {
            if ((rows->flags[i] & OCTET_ENV_TERMINATED) != 0) {
                return i;
            }
        }
    }
    fail_msg("no episode ends");
    return 0;
}

// One that ended is reset by the next step, unless its caller did so, or set its state.
static void
test_what_was_reset_or_set_after_its_end_goes_on_from_there(void **state)
{
    (void)state;
    static struct rows rows;
    octet_env_io io = io_of(&rows);
    double begin[4];
    uint32_t steps;
    octet_vector *vector = open_vector("CartPole-v1", 3, OCTET_VECTOR_NEXT_STEP);
    assert_int_equal(octet_vector_reset(vector, NULL, NULL, &io), 0);
    assert_int_equal(octet_vector_get_state(vector, 0, begin, &steps), 0);
    uint8_t others[COUNT] = {0}, its[COUNT] = {0};
    uint32_t i = step_to_an_end(vector, &rows, &io);
    others[(i + 1) % COUNT] = 1;
    assert_int_equal(octet_vector_reset(vector, others, NULL, &io), 0);
    assert_int_equal(octet_vector_step(vector, &io), 0);
    assert_int_equal(rows.flags[i], OCTET_ENV_OBS_IS_RESET);
    i = step_to_an_end(vector, &rows, &io);
    its[i] = 1;
    assert_int_equal(octet_vector_reset(vector, its, NULL, &io), 0);
    assert_int_equal(octet_vector_step(vector, &io), 0);
    assert_true(rows.flags[i] == 0 && rows.reward[i] == 1.0f);
    i = step_to_an_end(vector, &rows, &io);
    assert_int_equal(octet_vector_set_state(vector, i, begin, 0, NULL), 0);
    assert_int_equal(octet_vector_step(vector, &io), 0);
    assert_true(rows.flags[i] == 0 && rows.reward[i] == 1.0f);
    octet_vector_close(vector);
}

static void
test_seeds_are_of_environments_with_any_number_of_threads(void **state)
{
    (void)state;
    static struct rows one, several;
    octet_env_io io = io_of(&one), other = io_of(&several);
    uint64_t seeds[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        seeds[i] = 100 + i;
    }
    octet_vector *a = open_vector("CartPole-v1", 1, OCTET_VECTOR_SAME_STEP);
    octet_vector *b = open_vector("CartPole-v1", 3, OCTET_VECTOR_SAME_STEP);
    assert_int_equal(octet_vector_reset(a, NULL, seeds, &io), 0);
    assert_int_equal(octet_vector_reset(b, NULL, seeds, &other), 0);
    assert_memory_equal(one.obs, several.obs, sizeof(one.obs));
    octet_vector_close(a);
    octet_vector_close(b);
}

static void
test_without_autoreset_it_stays_until_the_mask_names_it(void **state)
{
    (void)state;
    static struct rows rows;
    octet_env_io io = io_of(&rows);
    octet_vector *vector = open_vector("CartPole-v1", 2, OCTET_VECTOR_DISABLED);
    assert_int_equal(octet_vector_reset(vector, NULL, NULL, &io), 0);
    int ended = -1;
    for (int step = 0; ended < 0; step++) {
        assert_true(step < STEPS);
        actions_fill(&rows, step);
        assert_int_equal(octet_vector_step(vector, &io), 0);
        for (int i = 0; i < COUNT; i++) {
            ended = (rows.flags[i] & OCTET_ENV_TERMINATED) != 0 ? i : ended;
        }
    }
    float last[4];
    memcpy(last, rows.obs[ended], sizeof(last));
    assert_int_equal(octet_vector_step(vector, &io), 0);
    assert_memory_equal(rows.obs[ended], last, sizeof(last));
    assert_true(rows.reward[ended] == 0.0f && (rows.flags[ended] & OCTET_ENV_TERMINATED) != 0);
    uint8_t mask[COUNT] = {0};
    mask[ended] = 1;
    int other = (ended + 1) % COUNT;
    memcpy(last, rows.obs[other], sizeof(last));
    assert_int_equal(octet_vector_reset(vector, mask, NULL, &io), 0);
    assert_memory_equal(rows.obs[other], last, sizeof(last));
    assert_int_equal(octet_vector_step(vector, &io), 0);
    assert_int_equal(rows.flags[ended], 0);
    octet_vector_close(vector);
}

// One that says no more than that.
static void
test_after_a_failure_episodes_follow_each_other_as_ever(void **state)
{
    (void)state;
    enum { FAILED = OCTET_ENV_FAILED | OCTET_ENV_TRUNCATED, RESET = OCTET_ENV_OBS_IS_RESET };
    static const uint8_t want[][5] = {[OCTET_VECTOR_DISABLED] = {0, 0, FAILED, FAILED, FAILED},
                                      [OCTET_VECTOR_SAME_STEP] = {0, 0, FAILED | RESET, 0, 0},
                                      [OCTET_VECTOR_NEXT_STEP] = {0, 0, FAILED, RESET, 0}};
    char id[512];
    const char *folder = getenv("OCTET_TEST_PLUGINS");
    assert_non_null(folder);
    (void)snprintf(id, sizeof(id), "%s/bad_failed.so", folder);
    for (uint32_t autoreset = 0; autoreset < OCT_COUNTOF(want); autoreset++) {
        static struct rows rows;
        octet_env_io io = io_of(&rows);
        octet_vector *vector = open_vector(id, 2, autoreset);
        assert_int_equal(octet_vector_reset(vector, NULL, NULL, &io), 0);
        for (size_t step = 0; step < 5; step++) {
            assert_int_equal(octet_vector_step(vector, &io), 0);
            for (int i = 0; i < COUNT; i++) {
                assert_int_equal(rows.flags[i], want[autoreset][step]);
            }
        }
        assert_int_equal(octet_vector_failures(vector), COUNT);
        assert_string_equal(octet_vector_failure(vector), "the walker fell");
        octet_vector_close(vector);
    }
}

static void
test_a_state_that_was_set_is_the_state(void **state)
{
    (void)state;
    static struct rows rows;
    octet_env_io io = io_of(&rows);
    octet_vector *vector = open_vector("CartPole-v1", 3, OCTET_VECTOR_NEXT_STEP);
    assert_int_equal(octet_vector_reset(vector, NULL, NULL, &io), 0);
    const double set[4] = {0.5, -0.25, 0.125, 0.0625};
    double got[4];
    uint32_t step = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(octet_vector_set_state(vector, i, set, 40 + i, &io), 0);
        assert_int_equal(octet_vector_get_state(vector, i, got, &step), 0);
        assert_memory_equal(got, set, sizeof(set));
        assert_int_equal(step, 40 + i);
        for (int k = 0; k < 4; k++) {
            assert_true((double)rows.obs[i][k] == set[k]);
        }
    }
    octet_vector_close(vector);
}

// Also of those that know only float.
static void
test_every_environment_has_rewards_in_double(void **state)
{
    (void)state;
    const char *ids[128];
    size_t count = octet_vector_ids(ids, OCT_COUNTOF(ids));
    assert_true(count >= 21 && count < OCT_COUNTOF(ids));
    assert_int_equal(octet_vector_ids(NULL, 0), count);
    for (size_t k = 0; k < count; k++) {
        octet_vector *vector = open_vector(ids[k], 1, OCTET_VECTOR_SAME_STEP);
        static char actions[COUNT * 1024];
        float reward[COUNT];
        double reward64[COUNT];
        octet_env_io io = {.size = sizeof(io),
                           .action = actions,
                           .action_stride = 1024,
                           .reward = reward,
                           .reward64 = reward64};
        assert_int_equal(octet_vector_reset(vector, NULL, NULL, &io), 0);
        assert_int_equal(octet_vector_step(vector, &io), 0);
        for (int i = 0; i < COUNT; i++) {
            assert_true((float)reward64[i] == reward[i]);
        }
        octet_vector_close(vector);
    }
}

static void
test_pictures_have_the_size_that_was_asked_for(void **state)
{
    (void)state;
    static struct rows rows;
    octet_env_io io = io_of(&rows);
    octet_vector *vector = open_vector("CartPole-v1", 2, OCTET_VECTOR_SAME_STEP);
    assert_int_equal(octet_vector_reset(vector, NULL, NULL, &io), 0);
    uint32_t width, height;
    double rate;
    if (octet_vector_picture(vector, &width, &height, &rate) != 0) {
        print_message("%s\n", octet_vector_error(vector));
        octet_vector_close(vector);
        skip();
    }
    assert_true(width == 600 && height == 400 && rate == 50.0);
    enum { SMALL = 30 * 20 * 3 };
    uint8_t *rgb = oct_alloc((size_t)width * height * 3);
    memset(rgb, 1, SMALL + 1);
    assert_int_equal(octet_vector_render(vector, 5, rows.obs[5], 30, 20, rgb), 0);
    assert_int_equal(rgb[SMALL], 1);
    assert_int_equal(rgb[0], 255);
    assert_int_equal(octet_vector_render(vector, 5, rows.obs[5], 9000, 20, rgb),
                     OCTET_VECTOR_EINVAL);
    free(rgb);
    octet_vector_close(vector);
}

static void
test_a_picture_of_no_size_has_the_one_that_suits_whatever_was_drawn_before(void **state)
{
    (void)state;
    static struct rows rows;
    octet_env_io io = io_of(&rows);
    octet_vector *vector = open_vector("CartPole-v1", 2, OCTET_VECTOR_SAME_STEP);
    assert_int_equal(octet_vector_reset(vector, NULL, NULL, &io), 0);
    enum { SUITS = 600 * 400 * 3, LARGE = 1200 * 800 * 3 };
    uint8_t *rgb = oct_alloc(LARGE);
    if (octet_vector_render(vector, 0, rows.obs[0], 1200, 800, rgb) != 0) {
        print_message("%s\n", octet_vector_error(vector));
        free(rgb);
        octet_vector_close(vector);
        skip();
    }
    assert_int_equal(rgb[LARGE - 1], 255);
    for (int i = 0; i < 2; i++) { // the size is not known yet, and known
        memset(rgb, 1, LARGE);
        assert_int_equal(octet_vector_render(vector, 0, rows.obs[0], 0, 0, rgb), 0);
        assert_int_equal(rgb[SUITS - 1], 255);
        assert_int_equal(rgb[SUITS], 1);
        assert_int_equal(octet_vector_render(vector, 0, rows.obs[0], 1200, 800, rgb), 0);
    }
    uint32_t width, height;
    double rate;
    assert_int_equal(octet_vector_picture(vector, &width, &height, &rate), 0);
    assert_true(width == 600 && height == 400);
    free(rgb);
    octet_vector_close(vector);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_cannot_be_opened_is_refused_in_words),
        cmocka_unit_test(test_a_step_that_cannot_be_is_refused_and_changes_nothing),
        cmocka_unit_test(test_it_steps_as_the_actors_do_with_any_number_of_threads),
        cmocka_unit_test(test_after_an_end_the_next_step_resets_and_ignores_the_action),
        cmocka_unit_test(test_what_was_reset_or_set_after_its_end_goes_on_from_there),
        cmocka_unit_test(test_seeds_are_of_environments_with_any_number_of_threads),
        cmocka_unit_test(test_without_autoreset_it_stays_until_the_mask_names_it),
        cmocka_unit_test(test_after_a_failure_episodes_follow_each_other_as_ever),
        cmocka_unit_test(test_a_state_that_was_set_is_the_state),
        cmocka_unit_test(test_every_environment_has_rewards_in_double),
        cmocka_unit_test(test_pictures_have_the_size_that_was_asked_for),
        cmocka_unit_test(
            test_a_picture_of_no_size_has_the_one_that_suits_whatever_was_drawn_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
