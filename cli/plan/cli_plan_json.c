// Makes JSON of a plan.

#include "cli/plan/cli_plan_print.h"

#include "cli/cli_json.h"

// A range has the least, the likely and the greatest value.
static json_t *
range_of(const cli_plan_range *range)
{
    return CLI_JSON_OBJECT({"low", cli_json_number(range->low)},
                           {"mid", cli_json_number(range->mid)},
                           {"high", cli_json_number(range->high)});
}

static json_t *
budget_of(const cli_plan_shown *shown)
{
    const config_experiment *config = shown->input->config;
    return CLI_JSON_OBJECT({"env_steps", cli_json_whole(config->run.env_steps)},
                           {"updates", cli_json_whole(config->run.updates)},
                           {"wall_s", cli_json_number(config->run.wall_s)},
                           {"ends_by", json_string(shown->plan->ends_by)});
}

static json_t *
measured_of(const cli_plan_rates *rates)
{
    return CLI_JSON_OBJECT(
        {"seconds", cli_json_number(rates->seconds)}, {"start_s", cli_json_number(rates->start_s)},
        {"env_steps", cli_json_number(rates->env_steps)},
        {"updates", cli_json_number(rates->updates)}, {"spread", cli_json_number(rates->spread)});
}

static json_t *
limit_of(const cli_plan_shown *shown)
{
    char sentence[CLI_PLAN_SENTENCE_BYTES];
    cli_plan_sentence(sentence, sizeof(sentence), shown);
    return CLI_JSON_OBJECT({"is", json_string(cli_plan_limit_words[shown->plan->limit])},
                           {"text", json_string(sentence)});
}

static json_t *
actors_of(const cli_plan_shown *shown)
{
    const cli_plan_rates *rates = shown->input->rates;
    return CLI_JSON_OBJECT({"count", cli_json_whole(shown->input->needs->actors)},
                           {"envs", cli_json_whole(shown->input->config->actor.envs)},
                           {"env_steps_per_s", range_of(&shown->plan->env_steps_per_s)},
                           {"env_steps_per_s_max", cli_json_number(shown->plan->actors_max)},
                           {"wait_share", cli_json_number(rates->actor_wait)},
                           {"env_share", cli_json_number(rates->env_share)},
                           {"wanted", cli_json_number(shown->plan->actors_wanted)});
}

static json_t *
learner_of(const cli_plan_shown *shown)
{
    return CLI_JSON_OBJECT({"count", cli_json_whole(shown->input->needs->learners)},
                           {"batch_size", cli_json_whole(shown->input->config->learner.batch_size)},
                           {"updates_per_s", range_of(&shown->plan->updates_per_s)},
                           {"updates_per_s_max", cli_json_number(shown->plan->learner_max)},
                           {"wait_share", cli_json_number(shown->input->rates->learner_wait)});
}

static json_t *
cores_of(const cli_plan_shown *shown)
{
    const cli_plan_rates *rates = shown->input->rates;
    return CLI_JSON_OBJECT({"usable", cli_json_number(shown->input->cores)},
                           {"used", cli_json_number(shown->plan->cores_used)},
                           {"learner", cli_json_number(rates->learner.cores)},
                           {"replay", cli_json_number(rates->replay.cores)},
                           {"actors", cli_json_number(rates->actors.cores)},
                           {"evaluator", cli_json_number(rates->evaluator.cores)},
                           {"others", cli_json_number(rates->others_cores)});
}

static json_t *
memory_of(const cli_plan_shown *shown)
{
    const cli_plan *plan = shown->plan;
    const cli_plan_needs *needs = shown->input->needs;
    return CLI_JSON_OBJECT({"learner", cli_json_whole(plan->memory_learner)},
                           {"replay", cli_json_whole(plan->memory_replay)},
                           {"actors", cli_json_whole(plan->memory_actors)},
                           {"evaluator", cli_json_whole(plan->memory_evaluator)},
                           {"table", cli_json_whole(needs->shards * needs->table)},
                           {"table_in_file", json_boolean(needs->table_in_file)},
                           {"total", cli_json_whole(plan->memory_total)},
                           {"available", cli_json_whole(shown->input->memory_available)},
                           {"fits", json_boolean(plan->memory_fits)});
}

static json_t *
disk_of(const cli_plan_shown *shown)
{
    const cli_plan_needs *needs = shown->input->needs;
    return CLI_JSON_OBJECT({"table", cli_json_whole(needs->disk_table)},
                           {"checkpoints", cli_json_whole(needs->disk_checkpoints)},
                           {"total", cli_json_whole(shown->plan->disk_total)},
                           {"available", cli_json_whole(shown->input->disk_available)},
                           {"folder", cli_json_text(shown->folder)},
                           {"fits", json_boolean(shown->plan->disk_fits)});
}

static json_t *
goal_of(const cli_plan_goal *goal)
{
    return CLI_JSON_OBJECT(
        {"return", cli_json_number(goal->goal_return)}, {"runs", cli_json_whole(goal->runs)},
        {"env_steps", range_of(&goal->steps)}, {"time_s", range_of(&goal->time_s)});
}

static json_t *
network_of(const cli_plan_rates *rates)
{
    return CLI_JSON_OBJECT(
        {"experience_bytes_per_s", cli_json_number(rates->experience_bytes_per_s)},
        {"policy_bytes_per_s", cli_json_number(rates->policy_bytes_per_s)});
}

static json_t *
evaluation_of(const cli_plan_shown *shown)
{
    return CLI_JSON_OBJECT({"episodes", cli_json_whole(shown->input->config->evaluation.episodes)},
                           {"per_s", cli_json_number(shown->input->rates->evaluations_per_s)},
                           {"final_s", range_of(&shown->plan->final_s)});
}

// The result is part of the interface (docs/reference.md). Bytes are whole numbers, times are
// seconds, shares are 0 to 1, and what was not measured is null.
json_t *
cli_plan_json(const cli_plan_shown *shown)
{
    return CLI_JSON_OBJECT(
        {"env", cli_json_text(shown->env_id)},
        {"preset", shown->preset != NULL ? cli_json_text(shown->preset) : json_null()},
        {"budget", budget_of(shown)}, {"measured", measured_of(shown->input->rates)},
        {"time_s", range_of(&shown->plan->time_s)}, {"goal", goal_of(&shown->plan->goal)},
        {"limit", limit_of(shown)}, {"actors", actors_of(shown)}, {"learner", learner_of(shown)},
        {"cores", cores_of(shown)}, {"memory", memory_of(shown)}, {"disk", disk_of(shown)},
        {"network", network_of(shown->input->rates)}, {"evaluation", evaluation_of(shown)});
}
