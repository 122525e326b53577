// Action repeat: each step is several of the environment inside, which is played beside it.
#include <math.h>
#include <string.h>

#include "common/oct_action_repeat.h"
#include "common/oct_reason.h"
#include "envs/env.h"
#include "envs/env_repeat.h"
#include "tests/envs/env_test.h"
#include "tests/support/oct_test.h"

#define COUNT  3
#define REPEAT 3

// An action of environment i in its t-th step: whichever, as long as episodes end.
static void
act(const env *e, int32_t *action, uint32_t i, uint32_t t)
{
    uint32_t n = env_spec(e)->action.n;
    int32_t chosen = (int32_t)((t / 2 + i) % (n > 0 ? n : 1));
    float force = sinf((float)(t * (i + 1)));
    memcpy(action, n > 0 ? (const void *)&chosen : (const void *)&force, sizeof(*action));
}

// One step of environment i by steps of the one inside, as the header says it is.
typedef struct inside {
    env *e;
    struct rows r;
    double sum; // of the episode
    int32_t length;
} inside;

static void
inside_step(inside *in, int32_t action, double *reward, uint8_t *flags)
{
    *reward = 0;
    for (int k = 0; k < REPEAT; k++) {
        in->r.action[0] = action;
        T_OK(env_step(in->e, &in->r.io));
        *reward += in->r.reward64[0];
        *flags = in->r.flags[0];
        if (*flags != 0) {
            break;
        }
    }
    in->sum += *reward;
    in->length++;
}

static void
compare(const char *id, uint32_t obs_count, uint32_t steps, uint32_t episodes_min)
{
    env *e = env_opened(id, "action_repeat=3", COUNT, 7, true);
    struct rows r;
    inside in[COUNT];
    uint32_t episodes = 0;
    rows_init(&r);
    T_OK(env_reset(e, NULL, NULL, &r.io));
    for (uint32_t i = 0; i < COUNT; i++) {
        in[i] = (inside){.e = env_opened(id, "", 1, 7 + i, true)};
        rows_init(&in[i].r);
        T_OK(env_reset(in[i].e, NULL, NULL, &in[i].r.io));
        assert_memory_equal(r.obs[i], in[i].r.obs[0], obs_count * sizeof(float));
    }
    for (uint32_t t = 0; t < steps; t++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            act(e, &r.action[i], i, t);
        }
        T_OK(env_step(e, &r.io));
        for (uint32_t i = 0; i < COUNT; i++) {
            double reward;
            uint8_t flags;
            inside_step(&in[i], r.action[i], &reward, &flags);
            assert_int_equal(r.flags[i], flags);
            assert_true(r.reward64[i] == reward && r.reward[i] == (float)reward);
            assert_memory_equal(r.obs[i], in[i].r.obs[0], obs_count * sizeof(float));
            if (flags != 0) {
                episodes++;
                assert_memory_equal(r.final_obs[i], in[i].r.final_obs[0],
                                    obs_count * sizeof(float));
                assert_int_equal(r.ep_length[i], in[i].length);
                assert_true(r.ep_return[i] == (float)in[i].sum);
                in[i].sum = 0;
                in[i].length = 0;
            }
        }
    }
    assert_true(episodes >= episodes_min);
    env_close(e);
    for (uint32_t i = 0; i < COUNT; i++) {
        env_close(in[i].e);
    }
}

static void
test_a_step_is_several_of_the_one_inside(void **state)
{
    (void)state;
    compare("CartPole-v1", 4, 300, 20); // ends within a step
    compare("Pendulum-v1", 3, 300, 12); // ends at its limit, 200 = 66 * 3 + 2
}

static void
test_its_spec_is_the_one_inside_in_longer_steps(void **state)
{
    (void)state;
    env *one = env_opened("Pendulum-v1", "", 1, 0, true);
    env *e = env_opened("Pendulum-v1", "action_repeat=3", 1, 0, true);
    const octet_env_spec *its = env_spec(one), *spec = env_spec(e);
    assert_int_equal(its->max_episode_steps, 200);
    assert_int_equal(spec->max_episode_steps, 67);
    assert_string_equal(spec->id, its->id);
    assert_true(spec->step_seconds == 3 * its->step_seconds);
    assert_true(spec->reward_low == 3 * its->reward_low && spec->reward_high == its->reward_high);
    assert_int_equal(spec->capabilities & (OCTET_ENV_CAN_STATE | OCTET_ENV_CAN_DRAWS),
                     OCTET_ENV_CAN_STATE);
    assert_int_equal(spec->state_count, its->state_count);
    assert_int_equal(spec->capabilities & OCTET_ENV_CAN_SAVE, OCTET_ENV_CAN_SAVE);
    env_close(one);
    env_close(e);
    one = env_opened("CartPole-v1", "action_repeat=1", 1, 0, true); // as without
    assert_true((env_spec(one)->capabilities & OCTET_ENV_CAN_STATE) != 0);
    env_close(one);
}

// Its state is the one inside's, and its episode's step counts its own.
static void
test_a_state_that_is_set_goes_on_as_the_one_inside_would(void **state)
{
    (void)state;
    env *one = env_opened("Pendulum-v1", "", 1, 0, true);
    env *e = env_opened("Pendulum-v1", "action_repeat=3", COUNT, 0, true);
    struct rows in, r;
    rows_init(&in);
    rows_init(&r);
    T_OK(env_reset(one, NULL, NULL, &in.io));
    T_OK(env_reset(e, NULL, NULL, &r.io));
    const double physical[2] = {0.5, -1};
    double got[2], want[2];
    uint32_t step = 0;
    T_OK(env_state_set(one, 0, physical, 195, &in.io));
    T_OK(env_state_set(e, 1, physical, 65, &r.io));
    assert_memory_equal(r.obs[1], in.obs[0], 3 * sizeof(float));
    T_OK(env_state_get(e, 1, got, &step));
    assert_int_equal(step, 65);
    assert_memory_equal(got, physical, sizeof(got));
    for (int k = 0; k < REPEAT; k++) {
        T_OK(env_step(one, &in.io));
    }
    T_OK(env_step(e, &r.io));
    T_OK(env_state_get(one, 0, want, &step));
    T_OK(env_state_get(e, 1, got, &step));
    assert_memory_equal(got, want, sizeof(got));
    assert_int_equal(step, 66);
    assert_int_equal(r.flags[1], 0);
    T_OK(env_step(e, &r.io)); // 200 = 66 * 3 + 2
    assert_int_equal(r.flags[1], OCTET_ENV_TRUNCATED | OCTET_ENV_OBS_IS_RESET);
    assert_int_equal(r.ep_length[1], 67);
    T_OK(env_state_set(e, 1, physical, UINT32_MAX, NULL)); // beyond the limit
    T_OK(env_step(e, &r.io));
    assert_int_equal(r.flags[1], OCTET_ENV_TRUNCATED | OCTET_ENV_OBS_IS_RESET);
    env_close(one);
    env_close(e);
}

static void
test_it_stays_at_its_end_without_autoreset(void **state)
{
    (void)state;
    env *e = env_opened("CartPole-v1", "action_repeat=4", 1, 3, false);
    struct rows r;
    rows_init(&r);
    T_OK(env_reset(e, NULL, NULL, &r.io));
    for (int t = 0; t < 200 && r.flags[0] == 0; t++) {
        T_OK(env_step(e, &r.io));
    }
    assert_int_equal(r.flags[0], OCTET_ENV_TERMINATED);
    struct rows end = r;
    T_OK(env_step(e, &r.io));
    assert_int_equal(r.flags[0], OCTET_ENV_TERMINATED);
    assert_true(r.reward[0] == 0);
    assert_memory_equal(r.obs[0], end.obs[0], sizeof(end.obs[0]));
    assert_int_equal(r.ep_length[0], end.ep_length[0]);
    assert_true(r.ep_return[0] == end.ep_return[0]);
    static uint8_t saved[65536];
    uint32_t length = 0;
    T_OK(env_save(e, 0, NULL, &length));
    assert_in_range(length, 1, sizeof(saved));
    T_OK(env_save(e, 0, saved, &length));
    env *other = env_opened("CartPole-v1", "action_repeat=4", 1, 5, false);
    T_OK(env_reset(other, NULL, NULL, &r.io));
    T_OK(env_load(other, 0, saved, length)); // another process goes on with it
    T_OK(env_step(other, &r.io));
    assert_int_equal(r.flags[0], OCTET_ENV_TERMINATED);
    assert_true(r.reward[0] == 0);
    env_close(other);
    T_OK(env_reset(e, NULL, NULL, &r.io));
    T_OK(env_step(e, &r.io));
    assert_int_equal(r.flags[0], 0);
    assert_true(r.reward[0] == 4);
    env_close(e);
}

static void
test_a_saved_episode_goes_on_as_it_would_have(void **state)
{
    (void)state;
    env *e = env_opened("CartPole-v1", "action_repeat=2", COUNT, 11, true);
    static uint8_t saved[65536];
    struct rows r, first, second;
    rows_init(&r);
    T_OK(env_reset(e, NULL, NULL, &r.io));
    for (int t = 0; t < 3; t++) {
        T_OK(env_step(e, &r.io));
    }
    uint32_t length = 0;
    T_OK(env_save(e, 1, NULL, &length));
    assert_in_range(length, 1, sizeof(saved));
    T_OK(env_save(e, 1, saved, &length));
    for (int again = 0; again < 2; again++) {
        T_OK(env_load(e, 1, saved, length));
        struct rows *to = again ? &second : &first;
        rows_init(to);
        while (to->flags[1] == 0) {
            T_OK(env_step(e, &to->io));
        }
    }
    assert_int_equal(first.ep_length[1], second.ep_length[1]);
    assert_true(first.ep_length[1] > 3 && first.ep_return[1] == second.ep_return[1]);
    // A reward of 1 in each step inside, also in those before it was saved.
    assert_in_range(first.ep_return[1], 2 * first.ep_length[1] - 1, 2 * first.ep_length[1]);
    assert_memory_equal(first.final_obs[1], second.final_obs[1], sizeof(first.final_obs[1]));
    assert_memory_equal(first.obs[1], second.obs[1], sizeof(first.obs[1]));
    env_close(e);
}

// The last 16 bytes are those of action repeat: the sum of rewards, f64, the steps, i32, and
// whether the episode has ended, u32.
static void
test_what_is_no_saved_episode_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        double sum;
        int32_t length;
        uint32_t ended;
    } bad[] = {{NAN, 1, 0}, {INFINITY, 1, 0}, {2, -1, 0}, {2, 1, 2}, {2, 1, UINT32_MAX}};
    env *e = env_opened("CartPole-v1", "action_repeat=2", 1, 11, false);
    static uint8_t saved[65536], damaged[65536], after[65536];
    struct rows r;
    rows_init(&r);
    T_OK(env_reset(e, NULL, NULL, &r.io));
    uint32_t length = sizeof(saved);
    T_OK(env_save(e, 0, saved, &length));
    T_OK(env_step(e, &r.io));
    T_OK(env_save(e, 0, after, &length));
    for (size_t k = 0; k < OCT_COUNTOF(bad); k++) {
        memcpy(damaged, saved, length);
        memcpy(damaged + length - 16, &bad[k].sum, 8);
        memcpy(damaged + length - 8, &bad[k].length, 4);
        memcpy(damaged + length - 4, &bad[k].ended, 4);
        T_ERR(env_load(e, 0, damaged, length), OCT_EINTERNAL);
        assert_non_null(strstr(env_error(e), "not a saved state of an environment with "
                                             "action_repeat"));
    }
    T_ERR(env_load(e, 0, saved, 3), OCT_EINTERNAL);
    assert_non_null(strstr(env_error(e), "action_repeat"));
    saved[0]++;
    T_ERR(env_load(e, 0, saved, length), OCT_EINTERNAL);
    assert_non_null(strstr(env_error(e), "not a saved state of CartPole-v1"));
    uint32_t length_after = length;
    T_OK(env_save(e, 0, damaged, &length_after));
    assert_int_equal(length_after, length);
    assert_memory_equal(damaged, after, length);
    env_close(e);
}

// Fails at its third step, and then begins anew only at the third try.
struct octet_env_handle {
    int steps, refusals;
    int unsound;      // the step whose observation is not finite; 0: none
    uint8_t end;      // flags of the step that fails
    uint8_t recovers; // flags of a reset
    bool forgets;     // to write what it measures
    const char *error;
};

static int
frail_reset(octet_env_handle *h, const uint8_t *mask, const uint64_t *seeds, octet_env_io *io)
{
    (void)mask;
    (void)seeds;
    if (h->steps > 2 && h->refusals < 2) {
        h->refusals++;
        h->error = "it is not ready";
        return 1;
    }
    h->steps = 0;
    *(float *)io->obs = 0;
    if (io->flags != NULL) {
        io->flags[0] = h->recovers;
    }
    return 0;
}

static int
frail_step(octet_env_handle *h, octet_env_io *io)
{
    h->steps++;
    *(float *)io->obs = h->steps == h->unsound ? NAN : (float)h->steps;
    bool fails = (h->end & OCTET_ENV_FAILED) != 0; // and earns something, too
    h->error = h->steps == 3 && fails ? "it slipped" : NULL;
    io->reward[0] = h->steps > 2 && !fails ? 0 : 1;
    io->flags[0] = h->steps > 2 ? h->end : 0;
    if ((io->flags[0] & (OCTET_ENV_TERMINATED | OCTET_ENV_TRUNCATED)) != 0 && !h->forgets) {
        io->metrics[0] = (h->end & OCTET_ENV_FAILED) != 0 ? NAN : 9;
    }
    return 0;
}

static void
frail_destroy(octet_env_handle *h)
{
    (void)h;
}

static const char *
frail_last_error(const octet_env_handle *h)
{
    return h->error;
}

// The frail one, with two of its steps for each.
static env_instance
frail_around(octet_env_handle *handle, bool autoreset)
{
    static const octet_env_api frail = {.size = sizeof(frail),
                                        .abi = OCTET_ENV_ABI,
                                        .destroy = frail_destroy,
                                        .reset = frail_reset,
                                        .step = frail_step,
                                        .last_error = frail_last_error};
    env_instance its = {.api = &frail, .handle = handle};
    its.spec.obs = (octet_env_space){.dtype = OCTET_ENV_F32, .rank = 1, .shape = {1}};
    its.spec.metric_count = 1;
    env_repeat_around(&its, 2, 1, autoreset);
    return its;
}

// The same with autoreset, in its first episode.
static env_instance
frail_begun(octet_env_handle *handle, struct rows *r)
{
    env_instance its = frail_around(handle, true);
    rows_init(r);
    assert_int_equal(its.api->reset(its.handle, NULL, NULL, &r->io), 0);
    return its;
}

static const uint8_t failed = OCTET_ENV_FAILED | OCTET_ENV_TRUNCATED;

// end: what the one inside says of a step that failed.
static void
one_that_failed_tries_to_begin_anew(uint8_t end)
{
    octet_env_handle handle = {.end = end};
    const uint8_t anew = failed | OCTET_ENV_OBS_IS_RESET;
    const uint8_t want[] = {0, failed, failed, anew, 0, anew};
    static const char *const why[] = {"it gave no reason", "it slipped",        "it is not ready",
                                      "it is not ready",   "it gave no reason", "it slipped"};
    struct rows r;
    env_instance its = frail_begun(&handle, &r);
    for (size_t t = 0; t < OCT_COUNTOF(want); t++) {
        assert_int_equal(its.api->step(its.handle, &r.io), 0);
        assert_int_equal(r.flags[0], want[t]);
        assert_true(r.reward[0] == (want[t] == 0 ? 2 : 0));
        if (want[t] != 0) { // an episode that nobody counts, or none
            assert_true(r.ep_return[0] == 0 && r.ep_length[0] == 0 && r.reward64[0] == 0);
        }
        assert_true(want[t] == 0 || isnan(r.metrics[0]));
        char said[64];
        env_instance_error(&its, said, sizeof(said));
        assert_string_equal(said, why[t]);
        r.metrics[0] = 7; // of an episode before
        assert_true((r.obs[0][0] == 0) == ((r.flags[0] & OCTET_ENV_OBS_IS_RESET) != 0));
    }
    env_instance_fini(&its);
}

static void
test_one_that_failed_tries_to_begin_anew(void **state)
{
    (void)state;
    one_that_failed_tries_to_begin_anew(OCTET_ENV_FAILED | OCTET_ENV_TRUNCATED);
    one_that_failed_tries_to_begin_anew(OCTET_ENV_FAILED);
}

static void
test_one_that_failed_stays_there_without_autoreset(void **state)
{
    (void)state;
    octet_env_handle handle = {.end = OCTET_ENV_FAILED, .refusals = 2};
    env_instance its = frail_around(&handle, false);
    const uint8_t want[] = {0, failed, failed, failed};
    struct rows r;
    rows_init(&r);
    for (int episode = 0; episode < 2; episode++) {
        assert_int_equal(its.api->reset(its.handle, NULL, NULL, &r.io), 0);
        for (size_t t = 0; t < OCT_COUNTOF(want); t++) {
            assert_int_equal(its.api->step(its.handle, &r.io), 0);
            assert_int_equal(r.flags[0], want[t]);
            assert_true(r.reward[0] == (t == 0 ? 2 : 0));
        }
    }
    env_instance_fini(&its);
}

static void
test_what_a_reset_recovered_from_is_told_by_the_step(void **state)
{
    (void)state;
    octet_env_handle handle = {.end = OCTET_ENV_TERMINATED, .refusals = 2};
    struct rows r;
    env_instance its = frail_begun(&handle, &r);
    for (int episode = 0; episode < 2; episode++) {
        assert_int_equal(its.api->step(its.handle, &r.io), 0);
        assert_int_equal(r.flags[0], 0);
        handle.recovers = episode == 0 ? OCTET_ENV_FAILED : 0;
        assert_int_equal(its.api->step(its.handle, &r.io), 0);
        assert_int_equal(r.flags[0],
                         OCTET_ENV_OBS_IS_RESET | (episode == 0 ? failed : OCTET_ENV_TERMINATED));
        assert_true(r.ep_return[0] == (episode == 0 ? 0 : 2) && r.obs[0][0] == 0);
        assert_true(episode == 0 ? isnan(r.metrics[0]) : r.metrics[0] == 9);
    }
    env_instance_fini(&its);
}

static void
test_what_is_not_written_at_an_end_was_not_measured(void **state)
{
    (void)state;
    octet_env_handle handle = {.end = OCTET_ENV_TERMINATED, .refusals = 2};
    struct rows r;
    env_instance its = frail_begun(&handle, &r);
    for (int episode = 0; episode < 2; episode++) {
        handle.forgets = episode == 1;
        assert_int_equal(its.api->step(its.handle, &r.io), 0);
        assert_int_equal(its.api->step(its.handle, &r.io), 0);
        assert_int_equal(r.flags[0], OCTET_ENV_TERMINATED | OCTET_ENV_OBS_IS_RESET);
        assert_true(episode == 0 ? r.metrics[0] == 9 : isnan(r.metrics[0]));
    }
    env_instance_fini(&its);
}

// Two environments of one process: the first ends at its second step, the process is lost in the
// third, and the next one begins an episode in both.
static int
lost_reset(octet_env_handle *h, const uint8_t *mask, const uint64_t *seeds, octet_env_io *io)
{
    (void)h;
    (void)seeds;
    for (int i = 0; i < 2; i++) {
        if (mask == NULL || mask[i] != 0) {
            ((float *)io->obs)[i] = 0;
        }
    }
    return 0;
}

static int
lost_step(octet_env_handle *h, octet_env_io *io)
{
    h->steps++;
    h->error = h->steps == 3 ? "the process was lost" : NULL;
    for (int i = 0; i < 2; i++) {
        ((float *)io->obs)[i] = (float)(h->steps < 3 ? h->steps : 100 + h->steps);
        io->reward[i] = 1;
        io->flags[i] = i == 0 && h->steps == 2 ? OCTET_ENV_TERMINATED : 0;
        io->flags[i] = h->steps == 3 ? failed : io->flags[i];
    }
    return 0;
}

static void
one_that_has_ended_keeps_its_end_when_the_others_fail(bool autoreset)
{
    static const octet_env_api lost = {.size = sizeof(lost),
                                       .abi = OCTET_ENV_ABI,
                                       .destroy = frail_destroy,
                                       .reset = lost_reset,
                                       .step = lost_step,
                                       .last_error = frail_last_error};
    octet_env_handle handle = {0};
    env_instance its = {.api = &lost, .handle = &handle};
    its.spec.obs = (octet_env_space){.dtype = OCTET_ENV_F32, .rank = 1, .shape = {1}};
    env_repeat_around(&its, 4, 2, autoreset);
    struct rows r;
    rows_init(&r);
    r.io.obs_stride = r.io.final_obs_stride = sizeof(float);
    float *obs = r.io.obs, *final_obs = r.io.final_obs;
    assert_int_equal(its.api->reset(its.handle, NULL, NULL, &r.io), 0);
    for (int t = 0; t < (autoreset ? 1 : 2); t++) { // in the second it waits for its reset
        assert_int_equal(its.api->step(its.handle, &r.io), 0);
        uint8_t anew = autoreset ? OCTET_ENV_OBS_IS_RESET : 0;
        assert_int_equal(r.flags[0], OCTET_ENV_TERMINATED | anew);
        assert_int_equal(r.flags[1], failed | anew);
        assert_true(final_obs[0] == 2 && obs[0] == (autoreset ? 0 : 2));
        assert_true(r.reward[0] == (t == 0 ? 2 : 0) && r.ep_return[0] == 2 && r.ep_length[0] == 1);
        assert_true(t > 0 || strcmp(its.api->last_error(its.handle), "the process was lost") == 0);
    }
    env_instance_fini(&its);
}

static void
test_one_that_has_ended_keeps_its_end_when_the_others_fail(void **state)
{
    (void)state;
    one_that_has_ended_keeps_its_end_when_the_others_fail(true);
    one_that_has_ended_keeps_its_end_when_the_others_fail(false);
}

static void
test_an_observation_in_between_that_is_not_finite_is_a_failure(void **state)
{
    (void)state;
    octet_env_handle handle = {.end = OCTET_ENV_TERMINATED, .refusals = 2};
    struct rows r;
    env_instance its = frail_begun(&handle, &r);
    for (int t = 0; t < 2; t++) { // of the episode that it begins anew, too
        handle.unsound = 1;
        r.final_obs[0][0] = 7;
        assert_int_equal(its.api->step(its.handle, &r.io), 0);
        assert_int_equal(r.flags[0], failed | OCTET_ENV_OBS_IS_RESET);
        assert_true(r.reward[0] == 0 && r.obs[0][0] == 0 && r.final_obs[0][0] == 0);
        assert_string_equal(its.api->last_error(its.handle),
                            "environment 0: the observation is not finite");
    }
    handle.unsound = 2;
    assert_int_equal(its.api->step(its.handle, &r.io), 0);
    assert_true(r.flags[0] == 0 && isnan(r.obs[0][0])); // for whoever sees it
    env_instance_fini(&its);
}

static void
test_what_is_no_repeat_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"0", "65", "-1", "2.0", "two", "4294967298"};
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        char options[64];
        oct_reason why;
        char want[128];
        (void)snprintf(options, sizeof(options), "action_repeat=%s", bad[i]);
        (void)snprintf(want, sizeof(want), "option action_repeat=%s: not a whole number 1 .. 64",
                       bad[i]);
        env *e = NULL;
        const env_request request = {.id = "CartPole-v1", .options = options, .count = 1};
        T_ERR(env_open(&e, &request, &why), OCT_EINVAL);
        assert_string_equal(why.text, want);
    }
}

static void
test_options_say_how_often(void **state)
{
    (void)state;
    assert_int_equal(oct_action_repeat_of(""), 1);
    assert_int_equal(oct_action_repeat_of("a=1,b=2"), 1);
    assert_int_equal(oct_action_repeat_of("my_action_repeat=4"), 1);
    assert_int_equal(oct_action_repeat_of("a=1,action_repeat=4,b=2"), 4);
    assert_int_equal(oct_action_repeat_of("action_repeat=64"), 64);
    assert_int_equal(oct_action_repeat_of("a=1,action_repeat=65"), 0);
    assert_int_equal(oct_action_repeat_of("action_repeat="), 0);
    assert_int_equal(oct_action_repeat_of("action_repeat=00000000000000000002"), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_step_is_several_of_the_one_inside),
        cmocka_unit_test(test_its_spec_is_the_one_inside_in_longer_steps),
        cmocka_unit_test(test_a_state_that_is_set_goes_on_as_the_one_inside_would),
        cmocka_unit_test(test_it_stays_at_its_end_without_autoreset),
        cmocka_unit_test(test_a_saved_episode_goes_on_as_it_would_have),
        cmocka_unit_test(test_what_is_no_saved_episode_is_refused_and_changes_nothing),
        cmocka_unit_test(test_one_that_failed_tries_to_begin_anew),
        cmocka_unit_test(test_one_that_failed_stays_there_without_autoreset),
        cmocka_unit_test(test_what_a_reset_recovered_from_is_told_by_the_step),
        cmocka_unit_test(test_what_is_not_written_at_an_end_was_not_measured),
        cmocka_unit_test(test_one_that_has_ended_keeps_its_end_when_the_others_fail),
        cmocka_unit_test(test_an_observation_in_between_that_is_not_finite_is_a_failure),
        cmocka_unit_test(test_what_is_no_repeat_is_refused),
        cmocka_unit_test(test_options_say_how_often),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
