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
    return CLI_JSON_OBJECT(
        {"mean", cli_json_number(s->mean)}, {"sd", cli_json_number(s->sd)},
        {"least", cli_json_number(s->least)}, {"lower_quartile", cli_json_number(s->q25)},
        {"median", cli_json_number(s->median)}, {"upper_quartile", cli_json_number(s->q75)},
        {"most", cli_json_number(s->most)});
}

static json_t *
environment(const replay_data_env *env)
{
    json_t *shape = json_array();
    for (uint32_t i = 0; i < env->obs_rank; i++) {
        cli_json_append(shape, cli_json_whole(env->obs_shape[i]));
    }
    if (env->obs_rank == 0) {
        cli_json_append(shape, cli_json_whole(env->obs_count));
    }
    return CLI_JSON_OBJECT(
        {"id", cli_json_text(env->id)}, {"observation_shape", shape},
        {"observation_type", json_string(env->obs_dtype == POLICY_U8 ? "uint8" : "float32")},
        {"action_kind", json_string(env->action_kind == POLICY_DISCRETE ? "discrete" : "box")},
        {"action_count", cli_json_whole(env->action_count)});
}

static json_t *
episodes_json(const data_numbers *n)
{
    return CLI_JSON_OBJECT(
        {"complete", cli_json_whole(n->episodes)}, {"terminated", cli_json_whole(n->terminated)},
        {"truncated", cli_json_whole(n->truncated)}, {"failed", cli_json_whole(n->failed)},
        {"parts", cli_json_whole(n->incomplete)},
        {"steps_of_parts", cli_json_whole(n->steps_of_parts)}, {"returns", spread(&n->returns)},
        {"lengths", spread(&n->lengths)});
}

// Discrete actions: how many steps took each. Otherwise: the range of each dimension.
static json_t *
actions(const data_numbers *n, const replay_data_env *env)
{
    json_t *out = json_array();
    for (uint32_t i = 0; i < env->action_count; i++) {
        cli_json_append(out, env->action_kind == POLICY_DISCRETE
                                 ? cli_json_whole(n->action_steps[i])
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
    return CLI_JSON_OBJECT(
        {"file", cli_json_text(path)},
        {"kind", json_string(is_data_set ? "data set" : "replay file")},
        {"made_by", is_data_set ? cli_json_text(header->made_by) : json_null()},
        {"run_id", has_run ? cli_json_hexadecimal(header->run_id) : json_null()},
        {"seed", has_run ? cli_json_whole(header->seed) : json_null()},
        {"environment", environment(&header->env)},
        {"damaged_blocks", cli_json_whole(data_source_lost(source).blocks)},
        {"rows_not_synced", cli_json_whole(data_source_lost(source).rows)},
        {"steps", cli_json_whole(n->steps)}, {"stretches", cli_json_whole(n->streams)},
        {"episodes", episodes_json(n)},
        {"rewards", has_steps ? range(n->reward.least, n->reward.most) : json_null()},
        {"actions", has_steps ? actions(n, &header->env) : json_null()},
        {"observed", has_steps ? range(n->obs.least, n->obs.most) : json_null()},
        {"random_share", cli_json_number(random)},
        {"policy_versions",
         has_steps ? json_pack("[II]", (json_int_t)n->version_least, (json_int_t)n->version_most)
                   : json_null()});
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
