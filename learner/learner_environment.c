// Describes the run's environment, compares it with an actor's, and reads it from its file.
#include "learner/learner_environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "proto/wire_env.h"

#define ARENA_BYTES (64u << 10)
#define WORDS_MAX   512

void
learner_environment_of(policy_spec *out, const wire_env_spec *env)
{
    *out = (policy_spec){
        .obs_dtype = (policy_dtype)env->obs_dtype,
        .obs_count = env->obs_count,
        .action_kind = (policy_action_kind)env->action_kind,
        .action_count = env->action_count,
    };
    oct_text_copy(out->env_id, sizeof(out->env_id), env->env_id);
    out->obs_rank = env->obs_rank;
    out->obs_high = env->obs_high;
    for (uint32_t i = 0; i < env->obs_rank; i++) {
        out->obs_shape[i] = env->obs_shape[i];
    }
    for (uint32_t i = 0; env->action_low != NULL && i < env->action_count; i++) {
        out->action_low[i] = env->action_low[i];
        out->action_high[i] = env->action_high[i];
    }
}

// ---- description

void
learner_environment_words(const policy_spec *spec, char *out, size_t out_size)
{
    char shape[16 * POLICY_RANK_MAX] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < spec->obs_rank && used < sizeof(shape); i++) {
        int added = snprintf(shape + used, sizeof(shape) - used, "%s%u", i > 0 ? " x " : "",
                             spec->obs_shape[i]);
        used += added > 0 ? (size_t)added : 0;
    }
    if (spec->obs_rank < 2) {
        (void)snprintf(shape, sizeof(shape), "%u", spec->obs_count);
    }
    char high[24] = "";
    if (spec->obs_high > 0) {
        (void)snprintf(high, sizeof(high), " up to %u", spec->obs_high);
    }
    (void)snprintf(out, out_size, "%s: observations %s %s%s, actions %u %s", spec->env_id, shape,
                   spec->obs_dtype == POLICY_U8 ? "uint8" : "float32", high, spec->action_count,
                   spec->action_kind == POLICY_BOX ? "numbers" : "discrete");
}

oct_err
learner_environment_alike(const policy_spec *run, const policy_spec *actor, oct_reason *why)
{
    char mine[WORDS_MAX], its[WORDS_MAX];
    learner_environment_words(run, mine, sizeof(mine));
    learner_environment_words(actor, its, sizeof(its));
    bool is_alike = actor->obs_dtype == run->obs_dtype && actor->obs_count == run->obs_count &&
                    actor->obs_high == run->obs_high && actor->action_kind == run->action_kind &&
                    actor->action_count == run->action_count && actor->obs_rank == run->obs_rank &&
                    memcmp(actor->obs_shape, run->obs_shape, sizeof(actor->obs_shape)) == 0;
    if (!is_alike) {
        return oct_refuse(why, "this run trains on %s; this actor has %s", mine, its);
    }
    for (uint32_t i = 0; i < actor->action_count; i++) {
        if (actor->action_low[i] != run->action_low[i] ||
            actor->action_high[i] != run->action_high[i]) {
            return oct_refuse(
                why, "in this run, action %u is in [%g, %g]; in this actor, it is in [%g, %g]", i,
                (double)run->action_low[i], (double)run->action_high[i],
                (double)actor->action_low[i], (double)actor->action_high[i]);
        }
    }
    return OCT_OK;
}

// ---- the file

oct_err
learner_environment_read(const char *path, policy_spec *out, oct_metric_names *metrics,
                         oct_reason *why)
{
    uint8_t *bytes;
    size_t length;
    oct_err err = oct_file_read(path, WIRE_ENV_BYTES_MAX, &bytes, &length);
    if (err != OCT_OK) {
        return oct_fail(why, err, "%s: %s", path, oct_file_strerror(errno));
    }
    wire_env_spec env;
    wire_arena *arena = wire_arena_create(ARENA_BYTES);
    err = wire_env_unpack(&env, arena, bytes, length);
    if (err == OCT_OK) {
        learner_environment_of(out, &env);
        if (metrics != NULL) {
            oct_metric_names_of(metrics, env.metric_name, env.metric_count);
        }
    } else {
        (void)oct_refuse(why, "%s: damaged, or written by another release: %s", path,
                         wire_arena_reason(arena));
        err = OCT_EPROTO;
    }
    wire_arena_destroy(arena);
    free(bytes);
    return err;
}
