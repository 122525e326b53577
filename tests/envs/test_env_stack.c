// Stacks of frames: each observation is the newest ones of the environment inside, which is played
// beside it.
#include <string.h>

#include "common/oct_base.h"
#include "envs/env_stack.h"
#include "tests/envs/env_test.h"

#define COUNT      3
#define FRAMES_MAX 4
#define BYTES_MAX  1024 // of one frame

// An environment and its rows, of any size.
typedef struct player {
    env *e;
    size_t obs_bytes;
    int32_t action[COUNT];
    uint8_t *obs, *final_obs;
    float reward[COUNT];
    uint8_t flags[COUNT];
    octet_env_io io;
} player;

static player
player_begin(const char *id, const char *options, bool autoreset)
{
    player p = {.e = env_opened(id, options, COUNT, 7, autoreset)};
    const octet_env_space *space = &env_spec(p.e)->obs;
    p.obs_bytes = space->dtype == OCTET_ENV_U8 ? 1 : sizeof(float);
    for (uint32_t d = 0; d < space->rank; d++) {
        p.obs_bytes *= space->shape[d];
    }
    p.obs = oct_alloc(COUNT * p.obs_bytes);
    p.final_obs = oct_alloc(COUNT * p.obs_bytes);
    return p;
}

static void
player_bind(player *p)
{
    p->io = (octet_env_io){
        .size = sizeof(p->io),
        .action = p->action,
        .action_stride = sizeof(p->action[0]),
        .obs = p->obs,
        .obs_stride = (uint32_t)p->obs_bytes,
        .final_obs = p->final_obs,
        .final_obs_stride = (uint32_t)p->obs_bytes,
        .reward = p->reward,
        .flags = p->flags,
    };
}

static void
player_end(player *p)
{
    env_close(p->e);
    free(p->obs);
    free(p->final_obs);
}

// The newest frames of one environment, from the oldest on.
typedef struct window {
    uint8_t frame[FRAMES_MAX][BYTES_MAX];
} window;

static void
window_fill(window *w, const uint8_t *frame, size_t bytes)
{
    for (int k = 0; k < FRAMES_MAX; k++) {
        memcpy(w->frame[k], frame, bytes);
    }
}

static void
window_push(window *w, const uint8_t *frame, size_t bytes)
{
    memmove(w->frame[0], w->frame[1], sizeof(w->frame) - sizeof(w->frame[0]));
    memcpy(w->frame[FRAMES_MAX - 1], frame, bytes);
}

// How a row is made of frames: each frame has planes, and `cell` bytes of a plane stand together.
typedef struct layout {
    uint32_t frames;
    size_t planes, bytes, cell; // bytes: of a frame
} layout;

// Compares a row with the newest frames, byte by byte.
static void
expect_stack(const uint8_t *row, const window *w, const layout *l)
{
    const size_t plane_bytes = l->bytes / l->planes, beside = l->frames * l->planes;
    for (size_t at = 0; at < l->frames * l->bytes; at++) {
        size_t place = at / (beside * l->cell), which = at / l->cell % beside;
        const uint8_t *frame = w->frame[FRAMES_MAX - l->frames + which / l->planes];
        size_t byte = which % l->planes * plane_bytes + place * l->cell + at % l->cell;
        assert_int_equal(row[at], frame[byte]);
    }
}

static void
compare(const char *id, const char *options, uint32_t frames, bool autoreset, uint32_t episodes_min)
{
    player outer = player_begin(id, options, autoreset), inner = player_begin(id, "", autoreset);
    player_bind(&outer);
    player_bind(&inner);
    const octet_env_space *space = &env_spec(inner.e)->obs;
    const size_t bytes = inner.obs_bytes;
    const bool is_first = strstr(options, "channels_first=true") != NULL;
    const layout l = {
        .frames = frames,
        .planes = is_first ? space->shape[0] : 1,
        .bytes = bytes,
        .cell = is_first           ? 1
                : space->rank == 1 ? bytes
                                   : space->shape[space->rank - 1],
    };
    static window w[COUNT];
    bool ended[COUNT] = {false};
    uint32_t episodes = 0;
    assert_int_equal(outer.obs_bytes, frames * bytes);
    T_OK(env_reset(outer.e, NULL, NULL, &outer.io));
    T_OK(env_reset(inner.e, NULL, NULL, &inner.io));
    for (uint32_t t = 0; t < 300; t++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            const uint8_t *frame = inner.obs + i * bytes;
            bool has_end = t > 0 && (inner.flags[i] & 3) != 0;
            if (has_end && !ended[i]) {
                window_push(&w[i], inner.final_obs + i * bytes, bytes);
                expect_stack(outer.final_obs + i * frames * bytes, &w[i], &l);
                episodes++;
            }
            ended[i] = has_end && !autoreset;
            if (t == 0 || (inner.flags[i] & OCTET_ENV_OBS_IS_RESET) != 0) {
                window_fill(&w[i], frame, bytes);
            } else if (!has_end) {
                window_push(&w[i], frame, bytes);
            }
            expect_stack(outer.obs + i * frames * bytes, &w[i], &l);
            outer.action[i] = inner.action[i] =
                (int32_t)((t / 2 + i) % env_spec(inner.e)->action.n);
        }
        T_OK(env_step(outer.e, &outer.io));
        T_OK(env_step(inner.e, &inner.io));
        assert_memory_equal(outer.flags, inner.flags, COUNT);
        assert_memory_equal(outer.reward, inner.reward, sizeof(inner.reward));
    }
    assert_true(episodes >= episodes_min);
    player_end(&outer);
    player_end(&inner);
}

static void
test_an_observation_is_the_newest_ones_of_the_one_inside(void **state)
{
    (void)state;
    compare("CartPole-v1", "frame_stack=4", 4, true, 20);
    compare("CartPole-v1", "frame_stack=2", 2, false, 3); // it stays at its end
    compare("MinAtar/Breakout-v1", "frame_stack=3", 3, true, 5);
    compare("MinAtar/Breakout-v1", "channels_first=true", 1, true, 5);
    compare("MinAtar/Breakout-v1", "channels_first=true,frame_stack=2", 2, true, 5);
}

static void
test_its_spec_has_stacked_shapes_and_bounds(void **state)
{
    (void)state;
    env *e = env_opened("MinAtar/Breakout-v1", "frame_stack=3", 1, 0, true);
    const octet_env_space *obs = &env_spec(e)->obs;
    assert_int_equal(obs->rank, 3);
    assert_int_equal(obs->shape[0], 10);
    assert_int_equal(obs->shape[2], 12);
    assert_true(obs->low[1199] == 0 && obs->high[1199] == 1);
    env_close(e);
    e = env_opened("MinAtar/Breakout-v1", "frame_stack=3,channels_first=true", 1, 0, true);
    obs = &env_spec(e)->obs; // of 10 x 10 x 4, read as 10 channels
    assert_int_equal(obs->rank, 3);
    assert_int_equal(obs->shape[0], 10);
    assert_int_equal(obs->shape[1], 4);
    assert_int_equal(obs->shape[2], 30);
    assert_true(obs->low[1199] == 0 && obs->high[1199] == 1);
    env_close(e);
    env *one = env_opened("CartPole-v1", "", 1, 0, true);
    e = env_opened("CartPole-v1", "frame_stack=4", 1, 0, true);
    obs = &env_spec(e)->obs;
    assert_int_equal(obs->rank, 1);
    assert_int_equal(obs->shape[0], 16);
    for (int i = 0; i < 16; i++) {
        assert_true(obs->high[i] == env_spec(one)->obs.high[i % 4]);
    }
    env_close(e);
    env_close(one);
}

// A state that was saved continues with the frames before it.
static void
test_saved_states_have_their_frames(void **state)
{
    (void)state;
    player p = player_begin("CartPole-v1", "frame_stack=4", true);
    static uint8_t saved[1024], expected[COUNT * 64];
    uint32_t length = sizeof(saved);
    player_bind(&p);
    T_OK(env_reset(p.e, NULL, NULL, &p.io));
    for (int t = 0; t < 5; t++) {
        T_OK(env_step(p.e, &p.io));
    }
    T_OK(env_save(p.e, 1, saved, &length));
    T_OK(env_step(p.e, &p.io));
    memcpy(expected, p.obs, p.obs_bytes * COUNT);
    for (int t = 0; t < 3; t++) {
        T_OK(env_step(p.e, &p.io));
    }
    T_OK(env_load(p.e, 1, saved, length));
    T_OK(env_step(p.e, &p.io));
    assert_memory_equal(p.obs + p.obs_bytes, expected + p.obs_bytes, p.obs_bytes);
    T_ERR(env_load(p.e, 1, saved, length - 1), OCT_EINTERNAL);
    T_ERR(env_load(p.e, 1, saved, 3), OCT_EINTERNAL);
    player_end(&p);
}

static void
expect_refused(const char *id, const char *options, const char *words)
{
    oct_reason why = {""};
    env *e = NULL;
    env_request request = {.id = id, .options = options, .count = 1};
    T_ERR(env_open(&e, &request, &why), OCT_EINVAL);
    T_SAYS(why.text, words);
}

static void
test_what_cannot_be_stacked_is_refused(void **state)
{
    (void)state;
    expect_refused("CartPole-v1", "frame_stack=0", "frame_stack=0: not a whole number 1 .. 64");
    expect_refused("CartPole-v1", "frame_stack=65", "frame_stack=65: not a whole number 1 .. 64");
    expect_refused("CartPole-v1", "frame_stack=x", "not a whole number 1 .. 64");
    expect_refused("CartPole-v1", "channels_first=true", "are not channels x rows x columns");
    expect_refused("CartPole-v1", "channels_first=maybe", "=maybe: not one of true, false");
    expect_refused("FrozenLake-v1", "frame_stack=2", "has discrete observations");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_observation_is_the_newest_ones_of_the_one_inside),
        cmocka_unit_test(test_its_spec_has_stacked_shapes_and_bounds),
        cmocka_unit_test(test_saved_states_have_their_frames),
        cmocka_unit_test(test_what_cannot_be_stacked_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
