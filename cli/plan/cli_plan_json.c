// Makes JSON of a plan.

#include "cli/plan/cli_plan_print.h"

#include "cli/cli_json.h"

static void
put(json_t *object, const char *name, double value)
{
    cli_json_put(object, name, cli_json_number(value));
}

static void
put_whole(json_t *object, const char *name, uint64_t value)
{
    cli_json_put(object, name, json_integer((json_int_t)value));
}

// A range has the least, the likely and the greatest value.
static json_t *
range_of(const cli_plan_range *range)
{
    json_t *object = json_object();
    put(object, "low", range->low);
    put(object, "mid", range->mid);
    put(object, "high", range->high);
    return object;
}

static json_t *
budget_of(const cli_plan_shown *shown)
{
    const config_experiment *config = shown->input->config;
    json_t *object = json_object();
    put_whole(object, "env_steps", config->run.env_steps);
    put_whole(object, "updates", config->run.updates);
    put(object, "wall_s", config->run.wall_s);
    cli_json_put(object, "ends_by", json_string(shown->plan->ends_by));
    return object;
}

static json_t *
measured_of(const cli_plan_rates *rates)
{
    json_t *object = json_object();
    put(object, "seconds", rates->seconds);
    put(object, "start_s", rates->start_s);
    put(object, "env_steps", rates->env_steps);
    put(object, "updates", rates->updates);
    put(object, "spread", rates->spread);
    return object;
}

static json_t *
limit_of(const cli_plan_shown *shown)
{
    char sentence[CLI_PLAN_SENTENCE_BYTES];
    json_t *object = json_object();
    cli_plan_sentence(sentence, sizeof(sentence), shown);
    cli_json_put(object, "is", json_string(cli_plan_limit_words[shown->plan->limit]));
    cli_json_put(object, "text", json_string(sentence));
    return object;
}

static json_t *
actors_of(const cli_plan_shown *shown)
{
    const cli_plan_rates *rates = shown->input->rates;
    json_t *object = json_object();
    put_whole(object, "count", shown->input->needs->actors);
    put_whole(object, "envs", shown->input->config->actor.envs);
    cli_json_put(object, "env_steps_per_s", range_of(&shown->plan->env_steps_per_s));
    put(object, "env_steps_per_s_max", shown->plan->actors_max);
    put(object, "wait_share", rates->actor_wait);
    put(object, "env_share", rates->env_share);
    put(object, "wanted", shown->plan->actors_wanted);
    return object;
}

static json_t *
learner_of(const cli_plan_shown *shown)
{
    json_t *object = json_object();
    put_whole(object, "count", shown->input->needs->learners);
    put_whole(object, "batch_size", shown->input->config->learner.batch_size);
    cli_json_put(object, "updates_per_s", range_of(&shown->plan->updates_per_s));
    put(object, "updates_per_s_max", shown->plan->learner_max);
    put(object, "wait_share", shown->input->rates->learner_wait);
    return object;
}

static json_t *
cores_of(const cli_plan_shown *shown)
{
    const cli_plan_rates *rates = shown->input->rates;
    json_t *object = json_object();
    put(object, "usable", shown->input->cores);
    put(object, "used", shown->plan->cores_used);
    put(object, "learner", rates->learner.cores);
    put(object, "replay", rates->replay.cores);
    put(object, "actors", rates->actors.cores);
    put(object, "evaluator", rates->evaluator.cores);
    put(object, "others", rates->others_cores);
    return object;
}

static json_t *
memory_of(const cli_plan_shown *shown)
{
    const cli_plan *plan = shown->plan;
    const cli_plan_needs *needs = shown->input->needs;
    json_t *object = json_object();
    put_whole(object, "learner", plan->memory_learner);
    put_whole(object, "replay", plan->memory_replay);
    put_whole(object, "actors", plan->memory_actors);
    put_whole(object, "evaluator", plan->memory_evaluator);
    put_whole(object, "table", needs->shards * needs->table);
    cli_json_put(object, "table_in_file", json_boolean(needs->table_in_file));
    put_whole(object, "total", plan->memory_total);
    put_whole(object, "available", shown->input->memory_available);
    cli_json_put(object, "fits", json_boolean(plan->memory_fits));
    return object;
}

static json_t *
disk_of(const cli_plan_shown *shown)
{
    const cli_plan_needs *needs = shown->input->needs;
    json_t *object = json_object();
    put_whole(object, "table", needs->disk_table);
    put_whole(object, "checkpoints", needs->disk_checkpoints);
    put_whole(object, "total", shown->plan->disk_total);
    put_whole(object, "available", shown->input->disk_available);
    cli_json_put(object, "folder", cli_json_text(shown->folder));
    cli_json_put(object, "fits", json_boolean(shown->plan->disk_fits));
    return object;
}

static json_t *
goal_of(const cli_plan_goal *goal)
{
    json_t *object = json_object();
    put(object, "return", goal->goal_return);
    put_whole(object, "runs", goal->runs);
    cli_json_put(object, "env_steps", range_of(&goal->steps));
    cli_json_put(object, "time_s", range_of(&goal->time_s));
    return object;
}

static json_t *
network_of(const cli_plan_rates *rates)
{
    json_t *object = json_object();
    put(object, "experience_bytes_per_s", rates->experience_bytes_per_s);
    put(object, "policy_bytes_per_s", rates->policy_bytes_per_s);
    return object;
}

static json_t *
evaluation_of(const cli_plan_shown *shown)
{
    json_t *object = json_object();
    put_whole(object, "episodes", shown->input->config->evaluation.episodes);
    put(object, "per_s", shown->input->rates->evaluations_per_s);
    cli_json_put(object, "final_s", range_of(&shown->plan->final_s));
    return object;
}

// The result is part of the interface (docs/reference.md). Bytes are whole numbers, times are
// seconds, shares are 0 to 1, and what was not measured is null.
json_t *
cli_plan_json(const cli_plan_shown *shown)
{
    json_t *plan = json_object();
    cli_json_put(plan, "env", cli_json_text(shown->env_id));
    cli_json_put(plan, "preset",
                 shown->preset != NULL ? cli_json_text(shown->preset) : json_null());
    cli_json_put(plan, "budget", budget_of(shown));
    cli_json_put(plan, "measured", measured_of(shown->input->rates));
    cli_json_put(plan, "time_s", range_of(&shown->plan->time_s));
    cli_json_put(plan, "goal", goal_of(&shown->plan->goal));
    cli_json_put(plan, "limit", limit_of(shown));
    cli_json_put(plan, "actors", actors_of(shown));
    cli_json_put(plan, "learner", learner_of(shown));
    cli_json_put(plan, "cores", cores_of(shown));
    cli_json_put(plan, "memory", memory_of(shown));
    cli_json_put(plan, "disk", disk_of(shown));
    cli_json_put(plan, "network", network_of(shown->input->rates));
    cli_json_put(plan, "evaluation", evaluation_of(shown));
    return plan;
}
