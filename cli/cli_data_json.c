// octet data info --json: prints the same numbers as one line of JSON.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli_data.h"
#include "cli/cli_json.h"
#include "common/oct_base.h"
#include "policy/policy_spec.h"
#include "replay/data/data_numbers.h"

static json_t *
whole(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *
range(double least, double most)
{
    json_t *out = json_array();
    cli_json_append(out, cli_json_number(least));
    cli_json_append(out, cli_json_number(most));
    return out;
}

static json_t *
spread(const data_spread *s)
{
    json_t *out = json_object();
    cli_json_put(out, "mean", cli_json_number(s->mean));
    cli_json_put(out, "sd", cli_json_number(s->sd));
    cli_json_put(out, "least", cli_json_number(s->least));
    cli_json_put(out, "lower_quartile", cli_json_number(s->q25));
    cli_json_put(out, "median", cli_json_number(s->median));
    cli_json_put(out, "upper_quartile", cli_json_number(s->q75));
    cli_json_put(out, "most", cli_json_number(s->most));
    return out;
}

static json_t *
environment(const replay_data_env *env)
{
    json_t *out = json_object(), *shape = json_array();
    for (uint32_t i = 0; i < env->obs_rank; i++) {
        cli_json_append(shape, whole(env->obs_shape[i]));
    }
    if (env->obs_rank == 0) {
        cli_json_append(shape, whole(env->obs_count));
    }
    cli_json_put(out, "id", cli_json_text(env->id));
    cli_json_put(out, "observation_shape", shape);
    cli_json_put(out, "observation_type",
                 json_string(env->obs_dtype == POLICY_U8 ? "uint8" : "float32"));
    cli_json_put(out, "action_kind",
                 json_string(env->action_kind == POLICY_DISCRETE ? "discrete" : "box"));
    cli_json_put(out, "action_count", whole(env->action_count));
    return out;
}

static json_t *
episodes_json(const data_numbers *n)
{
    json_t *out = json_object();
    cli_json_put(out, "complete", whole(n->episodes));
    cli_json_put(out, "terminated", whole(n->terminated));
    cli_json_put(out, "truncated", whole(n->truncated));
    cli_json_put(out, "failed", whole(n->failed));
    cli_json_put(out, "parts", whole(n->incomplete));
    cli_json_put(out, "steps_of_parts", whole(n->steps_of_parts));
    cli_json_put(out, "returns", spread(&n->returns));
    cli_json_put(out, "lengths", spread(&n->lengths));
    return out;
}

// Discrete actions: how many steps took each. Otherwise: the range of each dimension.
static json_t *
actions(const data_numbers *n, const replay_data_env *env)
{
    json_t *out = json_array();
    for (uint32_t i = 0; i < env->action_count; i++) {
        cli_json_append(out, env->action_kind == POLICY_DISCRETE
                                 ? whole(n->action_steps[i])
                                 : range(n->action[i].least, n->action[i].most));
    }
    return out;
}

// Numbers that only make sense with steps are null without them.
static json_t *
info_json(const char *path, const data_source *source, const data_numbers *n)
{
    const replay_data_header *header = data_source_header(source);
    bool is_data_set = data_source_is_data_set(source);
    bool has_run = header->run_id != 0, has_steps = n->steps > 0;
    double random = has_steps ? (double)n->random / (double)n->steps : NAN;
    json_t *out = json_object();
    cli_json_put(out, "file", cli_json_text(path));
    cli_json_put(out, "kind", json_string(is_data_set ? "data set" : "replay file"));
    cli_json_put(out, "made_by", is_data_set ? cli_json_text(header->made_by) : json_null());
    cli_json_put(out, "run_id", has_run ? cli_json_hexadecimal(header->run_id) : json_null());
    cli_json_put(out, "seed", has_run ? whole(header->seed) : json_null());
    cli_json_put(out, "environment", environment(&header->env));
    cli_json_put(out, "damaged_blocks", whole(data_source_lost(source).blocks));
    cli_json_put(out, "rows_not_synced", whole(data_source_lost(source).rows));
    cli_json_put(out, "steps", whole(n->steps));
    cli_json_put(out, "stretches", whole(n->streams));
    cli_json_put(out, "episodes", episodes_json(n));
    cli_json_put(out, "rewards", has_steps ? range(n->reward.least, n->reward.most) : json_null());
    cli_json_put(out, "actions", has_steps ? actions(n, &header->env) : json_null());
    cli_json_put(out, "observed", has_steps ? range(n->obs.least, n->obs.most) : json_null());
    cli_json_put(out, "random_share", cli_json_number(random));
    cli_json_put(out, "policy_versions",
                 has_steps
                     ? json_pack("[II]", (json_int_t)n->version_least, (json_int_t)n->version_most)
                     : json_null());
    return out;
}

void
cli_data_print_json(const char *path, const data_source *source)
{
    data_episodes episodes;
    data_numbers n;
    data_episodes_find(&episodes, source);
    data_numbers_find(&n, source, &episodes);
    json_t *out = info_json(path, source, &n);
    char *line = cli_json_print(out, JSON_COMPACT);
    printf("%s\n", line);
    free(line);
    json_decref(out);
    data_numbers_free(&n);
    data_episodes_free(&episodes);
}
