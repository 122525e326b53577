// The rules of `octet env check` about opening, outputs, determinism, rewards, flags and seeds.
#include "envs/env_check_rules.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "envs/env_space.h"
#include "envs/gym/env_gym.h"

#define POISON_A   0xFF // a NaN as float
#define POISON_B   0x55
#define STEPS_MIN  600u
#define STEPS_MAX  20000u
#define SEEDS      8u // further seeds that are tried
#define FLAGS_END  (OCTET_ENV_TERMINATED | OCTET_ENV_TRUNCATED)
#define FLAGS_SEEN (FLAGS_END | OCTET_ENV_OBS_IS_RESET | OCTET_ENV_FAILED)

env_check_verdict
env_check_fail(env_check *check, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(check->detail, sizeof(check->detail), format, args);
    va_end(args);
    return ENV_CHECK_FAIL;
}

env_check_verdict
env_check_skip(env_check *check, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(check->detail, sizeof(check->detail), format, args);
    va_end(args);
    return ENV_CHECK_SKIP;
}

env_check_verdict
env_check_warn(env_check *check, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(check->detail, sizeof(check->detail), format, args);
    va_end(args);
    return ENV_CHECK_WARN;
}

bool
env_check_open(env_check *check, env_check_rig *rig, uint32_t count, uint64_t seed, bool autoreset,
               uint8_t poison)
{
    env_request request = {.id = check->request->id,
                           .options = check->request->options,
                           .count = count,
                           .seed = seed,
                           .autoreset = autoreset};
    oct_reason why;
    bool opened = env_check_rig_init(rig, &request, poison, &why) == OCT_OK;
    if (!opened) {
        oct_reason_copy(&why, check->detail, sizeof(check->detail));
    }
    return opened;
}

static bool
answered(env_check *check, env_check_rig *rig, const char *what, int answer)
{
    if (answer != 0) {
        char text[160];
        env_instance_error(&rig->its, text, sizeof(text));
        (void)env_check_fail(check, "%s returned an error: %s", what, text);
        return false;
    }
    return true;
}

bool
env_check_reset(env_check *check, env_check_rig *rig, const uint8_t *mask, const uint64_t *seeds)
{
    return answered(check, rig, "reset", env_check_rig_reset(rig, mask, seeds));
}

bool
env_check_begin(env_check *check, env_check_rig *rig, uint8_t poison)
{
    return env_check_open(check, rig, ENV_CHECK_COUNT, check->request->seed, true, poison) &&
           env_check_reset(check, rig, NULL, NULL);
}

bool
env_check_step(env_check *check, env_check_rig *rig)
{
    return answered(check, rig, "step", env_check_rig_step(rig));
}

bool
env_check_step_random(env_check *check, env_check_rig *rig)
{
    env_check_rig_draw(rig);
    return env_check_step(check, rig);
}

uint32_t
env_check_steps(const env_check_rig *rig)
{
    uint32_t limit = rig->its.spec.max_episode_steps;
    uint32_t steps = limit < STEPS_MAX / 2 ? 2 * limit + 10 : STEPS_MAX;
    return OCT_MAX(steps, STEPS_MIN);
}

bool
env_check_play(env_check *check, env_check_rig *rig)
{
    bool is_good = env_check_reset(check, rig, NULL, NULL);
    for (uint32_t t = 0; is_good && t < env_check_steps(rig); t++) {
        is_good = env_check_step_random(check, rig);
    }
    return is_good;
}

bool
env_check_is_unwritten(const env_check_rig *rig, const uint8_t *row)
{
    for (uint32_t k = 0; k < rig->obs_bytes; k++) {
        if (row[k] != rig->poison) {
            return false;
        }
    }
    return true;
}

bool
env_check_same_obs(env_check *check, const env_check_rig *rig, const uint8_t *a, const uint8_t *b,
                   const char *a_is, const char *b_is)
{
    if (memcmp(a, b, rig->obs_bytes) == 0) {
        return true;
    }
    const octet_env_space *space = &rig->its.spec.obs;
    uint32_t each = rig->obs_bytes / env_space_count(space);
    uint32_t k = 0;
    while (memcmp(a + (size_t)k * each, b + (size_t)k * each, each) == 0) {
        k++;
    }
    (void)env_check_fail(check, "observation number %u: %s is %.9g, %s is %.9g", k, a_is,
                         env_space_get(space, a, k), b_is, env_space_get(space, b, k));
    return false;
}

static env_check_verdict
rule_opens(env_check *check)
{
    env_check_rig one, many;
    if (!env_check_open(check, &one, 1, check->request->seed, true, POISON_A)) {
        return ENV_CHECK_FAIL;
    }
    if (!env_check_open(check, &many, ENV_CHECK_COUNT, check->request->seed, true, POISON_A)) {
        return ENV_CHECK_FAIL;
    }
    bool same = one.obs_bytes == many.obs_bytes && one.action_bytes == many.action_bytes &&
                one.its.spec.action.n == many.its.spec.action.n;
    env_check_rig_fini(&one);
    env_check_rig_fini(&many);
    return same ? ENV_CHECK_PASS
                : env_check_fail(check, "the spaces change with the number of environments");
}

static env_check_verdict
rule_runs(env_check *check)
{
    env_check_rig rig;
    if (!env_check_open(check, &rig, ENV_CHECK_COUNT, check->request->seed, true, POISON_A) ||
        !env_check_play(check, &rig)) {
        return ENV_CHECK_FAIL;
    }
    env_check_rig_fini(&rig);
    return ENV_CHECK_PASS;
}

static env_check_verdict
rule_options(env_check *check)
{
    static const char unknown[] = "no_such_option=1";
    const char *given = check->request->options != NULL ? check->request->options : "";
    size_t size = strlen(given) + sizeof(unknown) + 1;
    char *options = oct_alloc(size);
    oct_reason why;
    (void)snprintf(options, size, "%s%s%s", given, given[0] != '\0' ? "," : "", unknown);
    env_request request = {.id = check->request->id, .options = options, .count = 1};
    env_instance instance;
    oct_err err = env_instance_init(&instance, &request, &why);
    free(options);
    if (err == OCT_OK) {
        env_instance_fini(&instance);
        if (env_is_code(check->request->id) && !env_is_plugin(check->request->id)) {
            return env_check_skip(check, "its constructor accepts any option (**kwargs)");
        }
        return env_check_fail(check, "create accepted the unknown option no_such_option=1");
    }
    return ENV_CHECK_PASS;
}

static env_check_verdict
rule_rows_kept(env_check *check)
{
    env_check_rig rig;
    if (!env_check_begin(check, &rig, POISON_A)) {
        return ENV_CHECK_FAIL;
    }
    const char *where = env_check_rig_trespass(&rig);
    if (where != NULL) {
        return env_check_fail(check, "reset wrote outside the rows of %s (the spec says %u bytes)",
                              where, rig.obs_bytes);
    }
    for (uint32_t t = 0; t < env_check_steps(&rig); t++) {
        if (!env_check_step_random(check, &rig)) {
            return ENV_CHECK_FAIL;
        }
        // The guards are long, so they are checked in the first steps and in every 64th.
        where = t < 8 || t % 64 == 0 ? env_check_rig_trespass(&rig) : NULL;
        if (where != NULL) {
            return env_check_fail(check, "step wrote outside the rows of %s", where);
        }
    }
    where = env_check_rig_trespass(&rig);
    env_check_rig_fini(&rig);
    return where == NULL ? ENV_CHECK_PASS
                         : env_check_fail(check, "step wrote outside the rows of %s", where);
}

// Compares rows of two rigs that were poisoned differently: a byte that still is the poison in both
// was not written, any other difference is non-determinism.
static bool
row_same(env_check *check, const env_check_rig *a, const env_check_rig *b, const void *a_row,
         const void *b_row, uint32_t bytes, const char *what, uint32_t t)
{
    const uint8_t *x = a_row, *y = b_row;
    for (uint32_t k = 0; k < bytes; k++) {
        if (x[k] == a->poison && y[k] == b->poison) {
            (void)env_check_fail(check, "step %u: byte %u of %s is not written", t, k, what);
            return false;
        }
        if (x[k] != y[k]) {
            (void)env_check_fail(check,
                                 "step %u: %s differs between two handles with the same seed and "
                                 "actions",
                                 t, what);
            return false;
        }
    }
    return true;
}

// Compares the rows of an end of environment i, which has ended in both.
static bool
ends_same(env_check *check, const env_check_rig *a, const env_check_rig *b, uint32_t i, uint32_t t)
{
    uint32_t metrics = a->its.spec.metric_count;
    size_t first = (size_t)i * metrics;
    return row_same(check, a, b, env_check_rig_final(a, i), env_check_rig_final(b, i), a->obs_bytes,
                    "final_obs", t) &&
           row_same(check, a, b, &a->ep_return[i], &b->ep_return[i], sizeof(float), "ep_return",
                    t) &&
           row_same(check, a, b, &a->ep_length[i], &b->ep_length[i], sizeof(int32_t), "ep_length",
                    t) &&
           row_same(check, a, b, a->metrics + first, b->metrics + first, metrics * sizeof(float),
                    "metrics", t);
}

static bool
outputs_same(env_check *check, const env_check_rig *a, const env_check_rig *b, uint32_t t)
{
    for (uint32_t i = 0; i < a->count; i++) {
        if (!row_same(check, a, b, env_check_rig_obs(a, i), env_check_rig_obs(b, i), a->obs_bytes,
                      "obs", t)) {
            return false;
        }
        if (t == 0) {
            continue; // a reset writes no other rows
        }
        if (!row_same(check, a, b, &a->flags[i], &b->flags[i], 1, "flags", t) ||
            !row_same(check, a, b, &a->reward[i], &b->reward[i], sizeof(float), "reward", t)) {
            return false;
        }
        if ((a->flags[i] & FLAGS_END) != 0 && !ends_same(check, a, b, i, t)) {
            return false;
        }
    }
    return true;
}

static env_check_verdict
rule_determinism(env_check *check)
{
    env_check_rig a, b;
    if (!env_check_open(check, &a, ENV_CHECK_COUNT, check->request->seed, true, POISON_A) ||
        !env_check_open(check, &b, ENV_CHECK_COUNT, check->request->seed, true, POISON_B) ||
        !env_check_reset(check, &a, NULL, NULL) || !env_check_reset(check, &b, NULL, NULL) ||
        !outputs_same(check, &a, &b, 0)) {
        return ENV_CHECK_FAIL;
    }
    for (uint32_t t = 1; t <= env_check_steps(&a); t++) {
        if (!env_check_step_random(check, &a) || !env_check_step_random(check, &b) ||
            !outputs_same(check, &a, &b, t)) {
            return ENV_CHECK_FAIL;
        }
    }
    env_check_rig_fini(&a);
    env_check_rig_fini(&b);
    return ENV_CHECK_PASS;
}

static bool
obs_is_sound(env_check *check, const env_check_rig *rig, const uint8_t *row, const char *what,
             uint32_t t)
{
    const octet_env_space *space = &rig->its.spec.obs;
    for (uint32_t k = 0; k < env_space_count(space); k++) {
        double value = env_space_get(space, row, k);
        if (!isfinite(value)) {
            (void)env_check_fail(check, "step %u: number %u of %s is %g", t, k, what, value);
            return false;
        }
        double low = space->n > 0 ? 0 : space->low != NULL ? space->low[k] : -INFINITY;
        double high = space->n > 0          ? space->n - 1.0
                      : space->high != NULL ? space->high[k]
                                            : INFINITY;
        if (value < env_space_round(space, low) || value > env_space_round(space, high)) {
            (void)env_check_fail(check, "step %u: number %u of %s is %.9g, outside %g .. %g", t, k,
                                 what, value, low, high);
            return false;
        }
    }
    return true;
}

static env_check_verdict
rule_observations(env_check *check)
{
    env_check_rig rig;
    if (!env_check_begin(check, &rig, POISON_B)) {
        return ENV_CHECK_FAIL;
    }
    for (uint32_t t = 0; t <= env_check_steps(&rig); t++) {
        env_check_rig_draw(&rig);
        if (t > 0 && !env_check_step(check, &rig)) {
            return ENV_CHECK_FAIL;
        }
        for (uint32_t i = 0; i < rig.count; i++) {
            // Another rule reports a final_obs that was not written.
            bool ended = t > 0 && (rig.flags[i] & FLAGS_END) != 0 &&
                         !env_check_is_unwritten(&rig, env_check_rig_final(&rig, i));
            if (!obs_is_sound(check, &rig, env_check_rig_obs(&rig, i), "obs", t) ||
                (ended &&
                 !obs_is_sound(check, &rig, env_check_rig_final(&rig, i), "final_obs", t))) {
                return ENV_CHECK_FAIL;
            }
        }
    }
    env_check_rig_fini(&rig);
    return ENV_CHECK_PASS;
}

static bool
reward_is_sound(env_check *check, const env_check_rig *rig, uint32_t i, uint32_t t)
{
    const octet_env_spec *spec = &rig->its.spec;
    float reward = rig->reward[i];
    if (!isfinite(reward)) {
        (void)env_check_fail(check, "step %u: the reward is %g", t, (double)reward);
        return false;
    }
    if (reward < (float)spec->reward_low || reward > (float)spec->reward_high) {
        (void)env_check_fail(check, "step %u: the reward is %.9g, the spec says %g .. %g", t,
                             (double)reward, spec->reward_low, spec->reward_high);
        return false;
    }
    if ((spec->capabilities & OCTET_ENV_HAS_REWARD64) != 0 && (float)rig->reward64[i] != reward) {
        (void)env_check_fail(check, "step %u: reward64 is %.9g, reward is %.9g", t,
                             rig->reward64[i], (double)reward);
        return false;
    }
    return true;
}

// Steps the environments while all of them are sound.
static env_check_verdict
steps_judge(env_check *check,
            bool (*is_sound)(env_check *, const env_check_rig *, uint32_t i, uint32_t t))
{
    env_check_rig rig;
    if (!env_check_begin(check, &rig, POISON_A)) {
        return ENV_CHECK_FAIL;
    }
    for (uint32_t t = 1; t <= env_check_steps(&rig); t++) {
        if (!env_check_step_random(check, &rig)) {
            return ENV_CHECK_FAIL;
        }
        for (uint32_t i = 0; i < rig.count; i++) {
            if (!is_sound(check, &rig, i, t)) {
                return ENV_CHECK_FAIL;
            }
        }
    }
    env_check_rig_fini(&rig);
    return ENV_CHECK_PASS;
}

static env_check_verdict
rule_rewards(env_check *check)
{
    return steps_judge(check, reward_is_sound);
}

static bool
metrics_are_sound(env_check *check, const env_check_rig *rig, uint32_t i, uint32_t t)
{
    const octet_env_spec *spec = &rig->its.spec;
    const float *metrics = rig->metrics + (size_t)i * spec->metric_count;
    for (uint32_t k = 0; (rig->flags[i] & FLAGS_END) != 0 && k < spec->metric_count; k++) {
        if (isinf(metrics[k])) {
            (void)env_check_fail(check, "step %u: the metric \"%s\" is %g", t,
                                 spec->metric_names[k], (double)metrics[k]);
            return false;
        }
    }
    return true;
}

static env_check_verdict
rule_metrics(env_check *check)
{
    env_check_rig rig;
    if (!env_check_open(check, &rig, 1, check->request->seed, true, POISON_A)) {
        return ENV_CHECK_FAIL;
    }
    uint32_t count = rig.its.spec.metric_count;
    env_check_rig_fini(&rig);
    return count > 0 ? steps_judge(check, metrics_are_sound)
                     : env_check_skip(check, "it reports no metrics");
}

static bool
flags_are_sound(env_check *check, const env_check_rig *rig, uint32_t i, uint32_t t)
{
    uint8_t flags = rig->flags[i];
    bool ended = (flags & FLAGS_END) != 0;
    if ((flags & ~FLAGS_SEEN) != 0) {
        (void)env_check_fail(check, "step %u: flags are 0x%02x, which has unknown bits", t, flags);
        return false;
    }
    if ((flags & OCTET_ENV_FAILED) != 0) {
        char text[200];
        env_instance_error(&rig->its, text, sizeof(text));
        (void)env_check_fail(check, "step %u: the environment reports a failure: %s", t, text);
        return false;
    }
    if (ended != ((flags & OCTET_ENV_OBS_IS_RESET) != 0)) {
        (void)env_check_fail(check, "step %u: flags are 0x%02x: OBS_IS_RESET %s", t, flags,
                             ended ? "is missing at the end of an episode"
                                   : "is set though no episode ended");
        return false;
    }
    return true;
}

static env_check_verdict
rule_flags(env_check *check)
{
    return steps_judge(check, flags_are_sound);
}

// Compares the bytes of the first steps of environment 0 after resets with these seeds.
#define TRACE_STEPS 50u

static bool
trace_same(env_check *check, env_check_rig *a, env_check_rig *b, uint64_t a_seed, uint64_t b_seed,
           bool *same)
{
    uint64_t seeds_a[ENV_CHECK_COUNT] = {a_seed, 1, 2};
    uint64_t seeds_b[ENV_CHECK_COUNT] = {b_seed, 3, 4};
    *same = true;
    if (!env_check_reset(check, a, NULL, seeds_a) || !env_check_reset(check, b, NULL, seeds_b)) {
        return false;
    }
    b->rng = a->rng;
    for (uint32_t t = 0; t < TRACE_STEPS; t++) {
        *same = *same && memcmp(a->obs, b->obs, a->obs_bytes) == 0;
        if (!env_check_step_random(check, a) || !env_check_step_random(check, b)) {
            return false;
        }
        *same =
            *same && memcmp(a->reward, b->reward, sizeof(float)) == 0 && a->flags[0] == b->flags[0];
    }
    return true;
}

static env_check_verdict
rule_seeds(env_check *check)
{
    env_check_rig a, b;
    uint64_t seed = check->request->seed;
    if (!env_check_open(check, &a, ENV_CHECK_COUNT, seed, true, POISON_A) ||
        !env_check_open(check, &b, ENV_CHECK_COUNT, seed + 1000, true, POISON_A)) {
        return ENV_CHECK_FAIL;
    }
    bool no_random = (a.its.spec.capabilities & OCTET_ENV_NO_RANDOM) != 0;
    bool all_same = true;
    for (uint32_t k = 0; k < SEEDS; k++) {
        bool same;
        if (!trace_same(check, &a, &b, seed + k, seed + k, &same)) {
            return ENV_CHECK_FAIL;
        }
        if (!same) {
            return env_check_fail(check, "two resets with seed %llu gave different episodes",
                                  (unsigned long long)(seed + k));
        }
        if (!trace_same(check, &a, &b, seed, seed + k + 1, &same)) {
            return ENV_CHECK_FAIL;
        }
        all_same = all_same && same;
    }
    env_check_rig_fini(&a);
    env_check_rig_fini(&b);
    // Gymnasium's cannot state that nothing is random
    if (all_same && env_gym_has(check->request->id)) {
        return env_check_warn(check,
                              "%u seeds gave the same episode: right if nothing in it is random, "
                              "else the seed is ignored",
                              SEEDS + 1);
    }
    if (all_same && !no_random) {
        return env_check_fail(check,
                              "%u seeds gave the same episode: the seed is ignored (or set "
                              "OCTET_ENV_NO_RANDOM)",
                              SEEDS + 1);
    }
    if (!all_same && no_random) {
        return env_check_fail(check, "OCTET_ENV_NO_RANDOM is set, but seeds change the episode");
    }
    return ENV_CHECK_PASS;
}

// Checks that environment i of a handle with seed s equals the only one of a handle with seed s +
// i.
static env_check_verdict
rule_alone(env_check *check)
{
    env_check_rig all, one[ENV_CHECK_COUNT];
    uint64_t seed = check->request->seed;
    if (!env_check_begin(check, &all, POISON_A)) {
        return ENV_CHECK_FAIL;
    }
    for (uint32_t i = 0; i < ENV_CHECK_COUNT; i++) {
        if (!env_check_open(check, &one[i], 1, seed + i, true, POISON_A) ||
            !env_check_reset(check, &one[i], NULL, NULL)) {
            return ENV_CHECK_FAIL;
        }
    }
    for (uint32_t t = 0; t <= env_check_steps(&all); t++) {
        for (uint32_t i = 0; i < ENV_CHECK_COUNT; i++) {
            if (!env_check_same_obs(check, &all, env_check_rig_obs(&all, i), one[i].obs,
                                    "together with others it", "alone with seed + i it")) {
                return ENV_CHECK_FAIL;
            }
            memcpy(one[i].action, all.action + (size_t)i * all.action_stride, all.action_bytes);
        }
        if (!env_check_step_random(check, &all)) {
            return ENV_CHECK_FAIL;
        }
        for (uint32_t i = 0; i < ENV_CHECK_COUNT; i++) {
            memcpy(one[i].action, all.action + (size_t)i * all.action_stride, all.action_bytes);
            if (!env_check_step(check, &one[i])) {
                return ENV_CHECK_FAIL;
            }
        }
    }
    return ENV_CHECK_PASS;
}

// Checks that the environment writes nothing to file, which replaces standard output and error.
// False: after env_check_fail.
static bool
stays_quiet(env_check *check, int file)
{
    char line[64];
    (void)fflush(NULL);
    ssize_t length = pread(file, line, sizeof(line) - 1, 0);
    if (length <= 0) {
        return true;
    }
    line[length] = '\0';
    line[strcspn(line, "\n")] = '\0';
    oct_text_tame(line, strlen(line), '?');
    (void)env_check_fail(check, "it printed \"%s\"", line);
    return false;
}

static env_check_verdict
rule_quiet(env_check *check)
{
    env_check_rig rig;
    if (!env_is_plugin(check->request->id)) {
        return env_check_skip(check, "it is not a plug-in");
    }
    int file = memfd_create("octet-env-check", MFD_CLOEXEC);
    if (file < 0 || dup2(file, STDOUT_FILENO) < 0 || dup2(file, STDERR_FILENO) < 0) {
        return env_check_skip(check, "output cannot be captured here: %s", strerror(errno));
    }
    if (!env_check_open(check, &rig, ENV_CHECK_COUNT, check->request->seed, true, POISON_A) ||
        !env_check_play(check, &rig)) {
        return ENV_CHECK_FAIL;
    }
    env_check_rig_fini(&rig);
    return stays_quiet(check, file) ? ENV_CHECK_PASS : ENV_CHECK_FAIL;
}

static env_check_verdict
rule_trains(env_check *check)
{
    env_check_rig rig;
    if (check->request->trains == NULL) {
        return env_check_skip(check, "not checked");
    }
    if (!env_check_open(check, &rig, 1, check->request->seed, true, POISON_A)) {
        return ENV_CHECK_FAIL;
    }
    oct_reason why;
    bool trains = check->request->trains(&rig.its.spec, &why) == OCT_OK;
    if (!trains) {
        oct_reason_copy(&why, check->detail, sizeof(check->detail));
    }
    env_check_rig_fini(&rig);
    return trains ? ENV_CHECK_PASS : ENV_CHECK_UNFIT;
}

const env_check_rule env_check_rules[] = {
    {"opens", "opens with one environment and with several; table and spec are sound", rule_opens},
    {"runs", "reset and step return no error, through several episodes", rule_runs},
    {"options", "an unknown option is refused", rule_options},
    {"rows", "nothing is written outside the rows", rule_rows_kept},
    {"unwanted", "rows that are NULL are left out", env_check_rule_unwanted},
    {"observations", "every number is finite and within the bounds of the spec", rule_observations},
    {"rewards", "every reward is finite and within the range of the spec", rule_rewards},
    {"metrics", "every metric of an episode is a finite number, or NaN", rule_metrics},
    {"flags", "only known bits; OBS_IS_RESET exactly at the end of an episode", rule_flags},
    {"seeds", "a reset with a seed repeats its episode; other seeds give others", rule_seeds},
    {"alone", "environment i with seed s is environment 0 with seed s + i", rule_alone},
    {"determinism", "same seed and actions, same bytes; everything is written", rule_determinism},
    {"final-obs", "final_obs is the last observation of the episode", env_check_rule_final_obs},
    {"autoreset", "obs at an end is the first of the next episode", env_check_rule_autoreset},
    {"stays", "without autoreset an environment stays at its end until reset",
     env_check_rule_stays},
    {"mask", "a reset changes only the environments of its mask", env_check_rule_mask},
    {"sums", "ep_return and ep_length are the episode's", env_check_rule_sums},
    {"limit", "no episode is longer than max_episode_steps, which truncates", env_check_rule_limit},
    {"ends", "episodes end by themselves or by a limit", env_check_rule_ends},
    {"save", "save and load continue bit for bit, in any handle", env_check_rule_save},
    {"state", "set_state and get_state agree", env_check_rule_state},
    {"actions", "an action outside its space is refused if discrete, clipped in a box",
     env_check_rule_action},
    {"quiet", "nothing is printed", rule_quiet},
    {"trains", "a policy can be trained on it", rule_trains},
};
const uint32_t env_check_rules_count = OCT_COUNTOF(env_check_rules);
