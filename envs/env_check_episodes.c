// The rules about episodes: how they end, begin, are counted, saved and loaded.
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_action_repeat.h"
#include "common/oct_base.h"
#include "envs/env_check_rules.h"
#include "envs/env_space.h"

#define POISON     0xFF
#define FLAGS_END  (OCTET_ENV_TERMINATED | OCTET_ENV_TRUNCATED)
#define SAVE_STEPS 200u       // steps compared after a load
#define SAVE_MAX   (1u << 26) // bytes of a saved state

#define CLIP_ROUNDS    8u
#define CLIP_STEPS     20u  // of a round
#define CLIP_TOLERANCE 1e-4 // relative; absolute below 1

// Two handles with the same seed and actions, the second without autoreset: it shows what final_obs
// and obs of the first must be. An environment of the second that has ended is reset by mask.
struct pair {
    env_check_rig resets, stays;
    uint32_t ends; // episodes
};

static bool
pair_open(env_check *check, struct pair *pair)
{
    uint64_t seed = check->request->seed;
    pair->ends = 0;
    return env_check_open(check, &pair->resets, ENV_CHECK_COUNT, seed, true, POISON) &&
           env_check_open(check, &pair->stays, ENV_CHECK_COUNT, seed, false, POISON) &&
           env_check_reset(check, &pair->resets, NULL, NULL) &&
           env_check_reset(check, &pair->stays, NULL, NULL);
}

static bool
pair_step(env_check *check, struct pair *pair)
{
    return env_check_step_random(check, &pair->resets) &&
           env_check_step_random(check, &pair->stays);
}

static bool
pair_reset_ended(env_check *check, struct pair *pair)
{
    uint8_t mask[ENV_CHECK_COUNT];
    uint32_t ended = 0;
    for (uint32_t i = 0; i < ENV_CHECK_COUNT; i++) {
        mask[i] = (pair->resets.flags[i] & FLAGS_END) != 0;
        ended += mask[i];
    }
    pair->ends += ended;
    return ended == 0 || env_check_reset(check, &pair->stays, mask, NULL);
}

static env_check_verdict
pair_done(env_check *check, struct pair *pair)
{
    uint32_t steps = env_check_steps(&pair->resets);
    env_check_rig_fini(&pair->resets);
    env_check_rig_fini(&pair->stays);
    return pair->ends > 0 ? ENV_CHECK_PASS
                          : env_check_skip(check, "no episode ended within %u steps", steps);
}

static bool
final_obs_is_right(env_check *check, const struct pair *pair, uint32_t i)
{
    const env_check_rig *rig = &pair->resets;
    const uint8_t *final = env_check_rig_final(rig, i);
    const uint8_t *want = env_check_rig_obs(&pair->stays, i);
    if (memcmp(final, want, rig->obs_bytes) == 0) {
        return true;
    }
    if (env_check_is_unwritten(rig, final)) {
        (void)env_check_fail(check, "the final observation is missing: final_obs is not written");
        return false;
    }
    if (memcmp(final, env_check_rig_obs(rig, i), rig->obs_bytes) == 0) {
        (void)env_check_fail(check, "final_obs holds the first observation of the next episode");
        return false;
    }
    return env_check_same_obs(check, rig, final, want, "final_obs", "without autoreset obs");
}

env_check_verdict
env_check_rule_final_obs(env_check *check)
{
    struct pair pair;
    if (!pair_open(check, &pair)) {
        return ENV_CHECK_FAIL;
    }
    for (uint32_t t = 0; t < env_check_steps(&pair.resets); t++) {
        if (!pair_step(check, &pair)) {
            return ENV_CHECK_FAIL;
        }
        for (uint32_t i = 0; i < ENV_CHECK_COUNT; i++) {
            bool ended = (pair.resets.flags[i] & FLAGS_END) != 0;
            if (ended && !final_obs_is_right(check, &pair, i)) {
                return ENV_CHECK_FAIL;
            }
        }
        if (!pair_reset_ended(check, &pair)) {
            return ENV_CHECK_FAIL;
        }
    }
    return pair_done(check, &pair);
}

env_check_verdict
env_check_rule_autoreset(env_check *check)
{
    struct pair pair;
    if (!pair_open(check, &pair)) {
        return ENV_CHECK_FAIL;
    }
    for (uint32_t t = 0; t < env_check_steps(&pair.resets); t++) {
        if (!pair_step(check, &pair)) {
            return ENV_CHECK_FAIL;
        }
        for (uint32_t i = 0; i < ENV_CHECK_COUNT; i++) {
            if (((pair.resets.flags[i] ^ pair.stays.flags[i]) & FLAGS_END) != 0) {
                return env_check_fail(
                    check, "step %u: an episode ends only with autoreset, or only without it",
                    t + 1);
            }
        }
        uint8_t flags[ENV_CHECK_COUNT];
        memcpy(flags, pair.resets.flags, sizeof(flags));
        if (!pair_reset_ended(check, &pair)) {
            return ENV_CHECK_FAIL;
        }
        for (uint32_t i = 0; i < ENV_CHECK_COUNT; i++) {
            if ((flags[i] & FLAGS_END) != 0 &&
                !env_check_same_obs(check, &pair.resets, env_check_rig_obs(&pair.resets, i),
                                    env_check_rig_obs(&pair.stays, i), "obs at an end",
                                    "a reset's")) {
                return ENV_CHECK_FAIL;
            }
        }
    }
    return pair_done(check, &pair);
}

static bool
stays_at_end(env_check *check, env_check_rig *rig, uint32_t i)
{
    uint8_t flags = rig->flags[i];
    uint8_t *obs = oct_alloc(rig->obs_bytes);
    memcpy(obs, env_check_rig_obs(rig, i), rig->obs_bytes);
    bool same = env_check_step_random(check, rig) &&
                env_check_same_obs(check, rig, obs, env_check_rig_obs(rig, i), "obs at the end",
                                   "one step later");
    free(obs);
    if (same && rig->reward[i] != 0) {
        (void)env_check_fail(check, "the reward of a step after the end is %g, not 0",
                             (double)rig->reward[i]);
        return false;
    }
    if (same && rig->flags[i] != flags) {
        (void)env_check_fail(check, "flags at the end are 0x%02x, one step later 0x%02x", flags,
                             rig->flags[i]);
        return false;
    }
    return same;
}

env_check_verdict
env_check_rule_stays(env_check *check)
{
    env_check_rig rig;
    if (!env_check_open(check, &rig, 1, check->request->seed, false, POISON) ||
        !env_check_reset(check, &rig, NULL, NULL)) {
        return ENV_CHECK_FAIL;
    }
    for (uint32_t t = 0; t < env_check_steps(&rig); t++) {
        if (!env_check_step_random(check, &rig)) {
            return ENV_CHECK_FAIL;
        }
        if ((rig.flags[0] & FLAGS_END) == 0) {
            continue;
        }
        if ((rig.flags[0] & OCTET_ENV_OBS_IS_RESET) != 0) {
            return env_check_fail(check, "OBS_IS_RESET is set without autoreset");
        }
        bool stays = stays_at_end(check, &rig, 0);
        env_check_rig_fini(&rig);
        return stays ? ENV_CHECK_PASS : ENV_CHECK_FAIL;
    }
    return env_check_skip(check, "no episode ended within %u steps", env_check_steps(&rig));
}

// Compares two equal handles, one of which resets environment 1 on the way. Environments 0 and 2
// must not change.
env_check_verdict
env_check_rule_mask(env_check *check)
{
    env_check_rig a, b;
    uint64_t seed = check->request->seed;
    const uint8_t mask[ENV_CHECK_COUNT] = {0, 1, 0};
    if (!env_check_open(check, &a, ENV_CHECK_COUNT, seed, true, POISON) ||
        !env_check_open(check, &b, ENV_CHECK_COUNT, seed, true, POISON) ||
        !env_check_reset(check, &a, NULL, NULL) || !env_check_reset(check, &b, NULL, NULL)) {
        return ENV_CHECK_FAIL;
    }
    for (uint32_t t = 0; t < 40; t++) {
        if (t == 5 && !env_check_reset(check, &b, mask, NULL)) {
            return ENV_CHECK_FAIL;
        }
        for (uint32_t i = 0; t == 5 && i < ENV_CHECK_COUNT; i += 2) {
            if (!env_check_is_unwritten(&b, env_check_rig_obs(&b, i))) {
                return env_check_fail(check, "reset wrote obs of %u, which is not in its mask", i);
            }
        }
        if (!env_check_step_random(check, &a) || !env_check_step_random(check, &b)) {
            return ENV_CHECK_FAIL;
        }
        for (uint32_t i = 0; i < ENV_CHECK_COUNT; i += 2) {
            if (!env_check_same_obs(check, &a, env_check_rig_obs(&a, i), env_check_rig_obs(&b, i),
                                    "without a reset of others it", "after a reset of others it")) {
                return ENV_CHECK_FAIL;
            }
        }
    }
    env_check_rig_fini(&a);
    env_check_rig_fini(&b);
    return ENV_CHECK_PASS;
}

struct episode {
    double sum, sum_of_sizes;
    uint32_t length;
};

static bool
sums_are_right(env_check *check, const env_check_rig *rig, const struct episode *episode,
               uint32_t i)
{
    if (rig->ep_length[i] != (int32_t)episode->length) {
        (void)env_check_fail(check, "ep_length is %d, the episode had %u steps", rig->ep_length[i],
                             episode->length);
        return false;
    }
    // Tolerance for a float sum of that many numbers in any order.
    double tolerance = 1e-6 + episode->sum_of_sizes * 1.2e-7 * (2.0 + episode->length);
    // The rule about rewards reports a sum that is not finite.
    if (isfinite(episode->sum) && !(fabs((double)rig->ep_return[i] - episode->sum) <= tolerance)) {
        (void)env_check_fail(check, "ep_return is %.9g, the rewards sum to %.9g",
                             (double)rig->ep_return[i], episode->sum);
        return false;
    }
    return true;
}

// Plays episodes and calls judge at the end of each.
static env_check_verdict
episodes_judge(env_check *check,
               bool (*judge)(env_check *, const env_check_rig *, const struct episode *, uint32_t))
{
    env_check_rig rig;
    struct episode episodes[ENV_CHECK_COUNT] = {0};
    uint32_t ends = 0;
    if (!env_check_begin(check, &rig, POISON)) {
        return ENV_CHECK_FAIL;
    }
    for (uint32_t t = 0; t < env_check_steps(&rig); t++) {
        if (!env_check_step_random(check, &rig)) {
            return ENV_CHECK_FAIL;
        }
        for (uint32_t i = 0; i < ENV_CHECK_COUNT; i++) {
            episodes[i].sum += (double)rig.reward[i];
            episodes[i].sum_of_sizes += fabs((double)rig.reward[i]);
            episodes[i].length++;
            if (!judge(check, &rig, &episodes[i], i)) {
                return ENV_CHECK_FAIL;
            }
            if ((rig.flags[i] & (FLAGS_END | OCTET_ENV_FAILED)) != 0) {
                episodes[i] = (struct episode){0};
                ends++;
            }
        }
    }
    uint32_t steps = env_check_steps(&rig);
    env_check_rig_fini(&rig);
    return ends > 0 ? ENV_CHECK_PASS
                    : env_check_skip(check, "no episode ended within %u steps", steps);
}

static bool
sums_judge(env_check *check, const env_check_rig *rig, const struct episode *episode, uint32_t i)
{
    bool has_sums = (rig->flags[i] & FLAGS_END) != 0 && (rig->flags[i] & OCTET_ENV_FAILED) == 0;
    return !has_sums || sums_are_right(check, rig, episode, i);
}

static bool
limit_judge(env_check *check, const env_check_rig *rig, const struct episode *episode, uint32_t i)
{
    uint32_t limit = rig->its.spec.max_episode_steps;
    if (limit == 0 || episode->length < limit) {
        return true;
    }
    // A step that repeats its action may terminate before its last inner step, which is the one of
    // the limit.
    const char *options = check->request->options;
    bool repeats = options != NULL && oct_action_repeat_of(options) > 1;
    uint8_t wanted = repeats ? FLAGS_END : OCTET_ENV_TRUNCATED;
    if ((rig->flags[i] & wanted) == 0) {
        (void)env_check_fail(check,
                             "step %u of an episode is not truncated; the spec's limit is "
                             "%u",
                             episode->length, limit);
        return false;
    }
    return true;
}

env_check_verdict
env_check_rule_sums(env_check *check)
{
    return episodes_judge(check, sums_judge);
}

env_check_verdict
env_check_rule_limit(env_check *check)
{
    return episodes_judge(check, limit_judge);
}

// Octet's actors pass no sums and its benchmark passes no rows, so every buffer may be NULL.
env_check_verdict
env_check_rule_unwanted(env_check *check)
{
    env_check_rig rig;
    if (!env_check_open(check, &rig, ENV_CHECK_COUNT, check->request->seed, true, POISON)) {
        return ENV_CHECK_FAIL;
    }
    rig.io.obs = rig.io.final_obs = NULL;
    rig.io.ep_return = rig.io.metrics = NULL;
    rig.io.ep_length = NULL;
    rig.io.reward64 = NULL;
    if (!env_check_play(check, &rig)) {
        return ENV_CHECK_FAIL;
    }
    const char *where = env_check_rig_trespass(&rig);
    env_check_rig_fini(&rig);
    return where == NULL ? ENV_CHECK_PASS
                         : env_check_fail(check, "a step wrote outside the rows of %s", where);
}

env_check_verdict
env_check_rule_ends(env_check *check)
{
    env_check_rig rig;
    if (!env_check_begin(check, &rig, POISON)) {
        return ENV_CHECK_FAIL;
    }
    uint32_t steps = env_check_steps(&rig);
    bool ends = rig.its.spec.max_episode_steps > 0; // another rule checks the limit
    for (uint32_t t = 0; t < steps && !ends; t++) {
        if (!env_check_step_random(check, &rig)) {
            return ENV_CHECK_FAIL;
        }
        for (uint32_t i = 0; i < ENV_CHECK_COUNT; i++) {
            ends = ends || (rig.flags[i] & FLAGS_END) != 0;
        }
    }
    env_check_rig_fini(&rig);
    return ends ? ENV_CHECK_PASS
                : env_check_warn(check,
                                 "no episode ended within %u steps of random actions, and "
                                 "max_episode_steps is 0: a policy whose episodes do not end "
                                 "cannot be evaluated; give it a limit",
                                 steps);
}

static bool
saved(env_check *check, env_check_rig *rig, uint32_t i, uint8_t **out, uint32_t *length)
{
    *length = 0;
    if (rig->its.api->save(rig->its.handle, i, NULL, length) != 0 || *length > SAVE_MAX) {
        (void)env_check_fail(check, "save without a buffer did not return the length");
        return false;
    }
    *out = oct_alloc(*length);
    uint32_t room = *length;
    if (rig->its.api->save(rig->its.handle, i, *out, &room) != 0 || room != *length) {
        (void)env_check_fail(check, "save into a buffer of the length that it returned failed");
        return false;
    }
    return true;
}

// Checks that environment 0 of b, loaded with environment 1 of a, continues like it.
static bool
continues_alike(env_check *check, env_check_rig *a, env_check_rig *b)
{
    for (uint32_t t = 0; t < SAVE_STEPS; t++) {
        env_check_rig_draw(a);
        env_check_rig_draw(b);
        memcpy(b->action, a->action + a->action_stride, a->action_bytes);
        if (!env_check_step(check, a) || !env_check_step(check, b) ||
            !env_check_same_obs(check, a, env_check_rig_obs(a, 1), b->obs, "the saved one",
                                "the loaded one")) {
            return false;
        }
        bool ended = (a->flags[1] & FLAGS_END) != 0;
        bool same = memcmp(&a->reward[1], b->reward, sizeof(float)) == 0 &&
                    a->flags[1] == b->flags[0] &&
                    (!ended || (memcmp(&a->ep_return[1], b->ep_return, sizeof(float)) == 0 &&
                                a->ep_length[1] == b->ep_length[0]));
        if (!same) {
            (void)env_check_fail(check,
                                 "reward, flags, ep_return or ep_length differ %u steps "
                                 "after a load",
                                 t + 1);
            return false;
        }
    }
    return true;
}

env_check_verdict
env_check_rule_save(env_check *check)
{
    env_check_rig a, b;
    uint64_t seed = check->request->seed;
    if (!env_check_open(check, &a, ENV_CHECK_COUNT, seed, true, POISON) ||
        !env_check_open(check, &b, ENV_CHECK_COUNT, seed + 77, true, POISON)) {
        return ENV_CHECK_FAIL;
    }
    if ((a.its.spec.capabilities & OCTET_ENV_CAN_SAVE) == 0) {
        return env_check_skip(check, "it does not claim OCTET_ENV_CAN_SAVE");
    }
    if (!env_check_reset(check, &a, NULL, NULL) || !env_check_reset(check, &b, NULL, NULL)) {
        return ENV_CHECK_FAIL;
    }
    for (uint32_t t = 0; t < 7; t++) {
        if (!env_check_step_random(check, &a) || !env_check_step_random(check, &b)) {
            return ENV_CHECK_FAIL;
        }
    }
    uint8_t *buf;
    uint32_t length;
    if (!saved(check, &a, 1, &buf, &length)) {
        return ENV_CHECK_FAIL;
    }
    if (length > 0 && b.its.api->load(b.its.handle, 0, buf, length - 1) == 0) {
        return env_check_fail(check, "load accepted a buffer that is one byte short");
    }
    if (b.its.api->load(b.its.handle, 0, buf, length) != 0) {
        return env_check_fail(check, "load refused what save wrote");
    }
    free(buf);
    return continues_alike(check, &a, &b) ? ENV_CHECK_PASS : ENV_CHECK_FAIL;
}

env_check_verdict
env_check_rule_state(env_check *check)
{
    env_check_rig a, b;
    uint64_t seed = check->request->seed;
    if (!env_check_open(check, &a, ENV_CHECK_COUNT, seed, true, POISON) ||
        !env_check_open(check, &b, ENV_CHECK_COUNT, seed + 5, true, POISON)) {
        return ENV_CHECK_FAIL;
    }
    uint32_t count = a.its.spec.state_count;
    if ((a.its.spec.capabilities & OCTET_ENV_CAN_STATE) == 0) {
        return env_check_skip(check, "it does not claim OCTET_ENV_CAN_STATE");
    }
    if (!env_check_reset(check, &a, NULL, NULL) || !env_check_reset(check, &b, NULL, NULL)) {
        return ENV_CHECK_FAIL;
    }
    if (!env_check_step_random(check, &a)) {
        return ENV_CHECK_FAIL;
    }
    double *set = oct_alloc(count * sizeof(*set)), *got = oct_alloc(count * sizeof(*got));
    uint32_t step = 0, got_step = 0;
    if (a.its.api->get_state(a.its.handle, 1, set, &step) != 0 ||
        b.its.api->set_state(b.its.handle, 0, set, step, &b.io) != 0 ||
        b.its.api->get_state(b.its.handle, 0, got, &got_step) != 0) {
        return env_check_fail(check, "get_state or set_state returned an error");
    }
    if (memcmp(set, got, count * sizeof(*set)) != 0 || step != got_step) {
        return env_check_fail(check, "get_state does not return the state that set_state received");
    }
    free(set);
    free(got);
    return env_check_same_obs(check, &a, env_check_rig_obs(&a, 1), b.obs, "obs of the state",
                              "obs written by set_state")
               ? ENV_CHECK_PASS
               : ENV_CHECK_FAIL;
}

// Draws the same actions for both, except that where one lies at a bound, the other lies beyond it.
static void
actions_widen(env_check_rig *at, env_check_rig *beyond)
{
    const octet_env_space *space = &at->its.spec.action;
    env_check_rig_draw(at);
    for (uint32_t i = 0; i < at->count; i++) {
        uint8_t *row = at->action + (size_t)i * at->action_stride;
        uint8_t *far = beyond->action + (size_t)i * beyond->action_stride;
        memcpy(far, row, at->action_bytes);
        for (uint32_t k = 0; k < env_space_count(space); k++) {
            double low = space->low != NULL ? space->low[k] : -INFINITY;
            double high = space->high != NULL ? space->high[k] : INFINITY;
            double width = isfinite(high - low) ? high - low : 1;
            bool is_up = oct_rng_below(&at->rng, 2) == 1;
            double bound = is_up ? high : low;
            if (isfinite(bound) && oct_rng_below(&at->rng, 2) == 1) {
                double wide = is_up ? bound + width : bound - width;
                env_space_put(space, row, k, bound);
                env_space_put(space, far, k, fmin(fmax(wide, -FLT_MAX), FLT_MAX));
            }
        }
    }
}

// Compares with a tolerance: a clipped number may have another type and be rounded differently.
static bool
is_clipped(env_check *check, const env_check_rig *at, const env_check_rig *beyond, uint32_t i)
{
    const octet_env_space *space = &at->its.spec.obs;
    for (uint32_t k = 0; k < env_space_count(space); k++) {
        double want = env_space_get(space, env_check_rig_obs(at, i), k);
        double got = env_space_get(space, env_check_rig_obs(beyond, i), k);
        if (isfinite(want) && !(fabs(got - want) <= CLIP_TOLERANCE * fmax(1, fabs(want)))) {
            (void)env_check_fail(check,
                                 "actions are not clipped: observation number %u is %.9g after "
                                 "actions at their bounds, %.9g after actions beyond the bounds",
                                 k, want, got);
            return false;
        }
    }
    return true;
}

// Compares no rewards: the cost of an action beyond a bound may depend on the action as given.
static env_check_verdict
box_is_clipped(env_check *check)
{
    env_check_rig at, beyond;
    uint64_t seed = check->request->seed;
    if (!env_check_open(check, &at, ENV_CHECK_COUNT, seed, false, POISON) ||
        !env_check_open(check, &beyond, ENV_CHECK_COUNT, seed, false, POISON)) {
        return ENV_CHECK_FAIL;
    }
    if (at.its.spec.action.low == NULL && at.its.spec.action.high == NULL) {
        return env_check_skip(check, "its actions have no bounds");
    }
    for (uint32_t t = 0; t < CLIP_ROUNDS * CLIP_STEPS; t++) {
        if (t % CLIP_STEPS == 0 && (!env_check_reset(check, &at, NULL, NULL) ||
                                    !env_check_reset(check, &beyond, NULL, NULL))) {
            return ENV_CHECK_FAIL;
        }
        actions_widen(&at, &beyond);
        if (!env_check_step(check, &at) || !env_check_step(check, &beyond)) {
            return ENV_CHECK_FAIL;
        }
        for (uint32_t i = 0; i < ENV_CHECK_COUNT; i++) {
            if (!is_clipped(check, &at, &beyond, i)) {
                return ENV_CHECK_FAIL;
            }
        }
    }
    env_check_rig_fini(&at);
    env_check_rig_fini(&beyond);
    return ENV_CHECK_PASS;
}

env_check_verdict
env_check_rule_action(env_check *check)
{
    env_check_rig rig;
    if (!env_check_begin(check, &rig, POISON)) {
        return ENV_CHECK_FAIL;
    }
    const octet_env_space *space = &rig.its.spec.action;
    if (space->n == 0) {
        env_check_rig_fini(&rig);
        return box_is_clipped(check);
    }
    const double wrong[] = {-1, space->n, INT32_MAX};
    for (size_t k = 0; k < OCT_COUNTOF(wrong); k++) {
        env_check_rig_draw(&rig);
        env_space_put(space, rig.action + rig.action_stride, 0, wrong[k]);
        if (env_check_rig_step(&rig) == 0) {
            return env_check_fail(check, "step accepted action %.0f, but the space has 0 .. %u",
                                  wrong[k], space->n - 1);
        }
        const char *text = rig.its.api->last_error(rig.its.handle);
        if (text == NULL || text[0] == '\0') {
            return env_check_fail(check, "last_error says nothing after a refused action");
        }
    }
    env_check_rig_fini(&rig);
    return ENV_CHECK_PASS;
}
